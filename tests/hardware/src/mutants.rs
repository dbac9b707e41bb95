//! Faults that nobody has chosen: every place of a source at which an operator, a constant, a
//! condition or a statement can be changed. The tests of a module have to notice nearly all of a
//! sample.

use crate::design::{Change, Design};
use crate::proof::{Proof, ProofFailure};
use crate::simulation::{Report, Simulation};
use crate::{must, on_all_cores};
use crossdock_test_support::{done, number, sample, seed};

/// What stands for what. Assignments are no operators: `<=` is left alone.
const OPERATORS: [(&str, &str); 16] = [
    (" && ", " || "),
    (" || ", " && "),
    (" == ", " != "),
    (" != ", " == "),
    (" + ", " - "),
    (" - ", " + "),
    (" < ", " >= "),
    (" >= ", " < "),
    (" > ", " < "),
    (" & ", " | "),
    (" | ", " & "),
    (" ^ ", " & "),
    ("1'b1", "1'b0"),
    ("1'b0", "1'b1"),
    ("'0", "'1"),
    ("'1", "'0"),
];

/// Mutants of a module that one run tries, if `MUTANTS` does not say otherwise.
const SAMPLE: usize = 8;

/// Seconds for a proof of one mutant: the longest takes a minute unchanged.
const SOLVER_PATIENCE: u32 = 300;
/// Seconds for a simulation of one, which takes some unchanged: a mutant may never come to an end.
const SIMULATION_PATIENCE: u32 = 60;

/// A module with the tests that have to notice its mutants.
#[derive(Debug)]
#[must_use = "nothing is tried before `are_found`"]
pub struct Mutants<'a> {
    module: &'a str,
    simulations: Vec<Simulated>,
    proofs: Vec<Proof>,
    harmless: &'a [(&'a str, &'a str)],
}

/// A simulation with its arguments, and what it may measure.
#[derive(Debug)]
struct Simulated {
    simulation: Simulation,
    arguments: Vec<String>,
    allowed: fn(&Report) -> bool,
}

/// What became of a mutant.
enum Fate {
    Found,
    Survived,
    /// No tool reads it, so that nobody can use it.
    Unviable,
}

impl<'a> Mutants<'a> {
    /// Of this module: its file is its name with `.sv`. Nothing notices them yet.
    pub fn of(module: &'a str) -> Self {
        Self { module, simulations: Vec::new(), proofs: Vec::new(), harmless: &[] }
    }

    /// A simulation that has to notice them, with its arguments.
    pub fn simulated(self, simulation: Simulation, arguments: &[&str]) -> Self {
        self.measured(simulation, arguments, |_| true)
    }

    /// The same. What it measures has to be allowed, too: a mutant may be right, and slow.
    pub fn measured(
        mut self,
        simulation: Simulation,
        arguments: &[&str],
        allowed: fn(&Report) -> bool,
    ) -> Self {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        self.simulations.push(Simulated { simulation, arguments, allowed });
        self
    }

    /// Proofs that have to notice what no simulation does.
    pub fn proved(mut self, proofs: impl IntoIterator<Item = Proof>) -> Self {
        self.proofs.extend(proofs);
        self
    }

    /// Changes that change no behaviour: text as a survivor is told, and the reason.
    pub fn but(mut self, harmless: &'a [(&'a str, &'a str)]) -> Self {
        self.harmless = harmless;
        self
    }

    /// Tries a sample, which the seed chooses, and fails if less than 95 % of it are found; one
    /// survivor alone is no failure, however small the sample is: the long tests look at all
    /// modules together, too. Counts what was done, and prints the survivors for people to read.
    /// Minutes.
    ///
    /// # Panics
    /// When too many survive: with all of them. When a test does not pass without a change: it
    /// would find everything.
    #[allow(clippy::print_stdout, reason = "a test's output: survivors that are few enough")]
    pub fn are_found(&self) {
        self.pass_unchanged();
        let size = number("MUTANTS").map_or(SAMPLE, |wanted| wanted as usize);
        let all = changes(self.module, self.design());
        let total = all.len();
        let tried = sample(all, size, seed());
        let wanted = tried.len() as u64;
        let fates = on_all_cores(tried, |change| (self.fate(&change), change));
        let (mut found, mut unviable, mut survivors) = (0, 0, Vec::new());
        for (fate, change) in fates {
            let said = change.to_string();
            match fate {
                Fate::Found => found += 1,
                Fate::Unviable => unviable += 1,
                // What changes no behaviour counts as nothing.
                Fate::Survived if self.harmless.iter().any(|(change, _)| *change == said) => {}
                Fate::Survived => survivors.push(said),
            }
        }
        let (module, survived) = (self.module, survivors.len() as u64);
        // Tests that cannot be built find nothing, and let nothing survive.
        assert!(2 * unviable <= wanted, "{module}: {unviable} of {wanted} mutants cannot be built");
        done(total as u64, &format!("{module}-mutants"));
        done(unviable, &format!("{module}-unviable"));
        done(found, &format!("{module}-found"));
        done(survived, &format!("{module}-survived"));
        println!("{module}: {found} found, {unviable} unviable, survived: {survivors:#?}");
        let is_enough = survived <= 1 || 20 * survived <= found + survived;
        assert!(is_enough, "{module}: survived: {survivors:#?}");
    }

    /// All tests on the module as it is (cached).
    fn pass_unchanged(&self) {
        for Simulated { simulation, arguments, allowed } in &self.simulations {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let report = must(simulation.run(&arguments));
            assert!(allowed(&report), "{}: {report:?} is not allowed", self.module);
        }
        self.proofs.iter().for_each(|proof| must(proof.check()));
    }

    /// One that has the module in it.
    fn design(&self) -> &Design {
        let simulated = self.simulations.first().map(|first| first.simulation.design());
        let design = simulated.or(self.proofs.first().map(Proof::design));
        design.expect("a simulation or a proof has to notice mutants")
    }

    /// The first test that does not pass has found it.
    fn fate(&self, change: &Change) -> Fate {
        for Simulated { simulation, arguments, allowed } in &self.simulations {
            match simulation.notices(change, arguments, *allowed, SIMULATION_PATIENCE) {
                Ok(true) => return Fate::Found,
                Ok(false) => {}
                Err(_) => return Fate::Unviable,
            }
        }
        for proof in &self.proofs {
            match proof.changed(change, SOLVER_PATIENCE).check() {
                Err(ProofFailure::Broken { .. }) if self.simulations.is_empty() => {
                    return Fate::Unviable;
                }
                // That the solver found nothing in its time is no finding.
                Err(ProofFailure::Broken { .. } | ProofFailure::OutOfTime { .. }) | Ok(()) => {}
                Err(_) => return Fate::Found,
            }
        }
        Fate::Survived
    }
}

/// All changes of a module's body: of its behaviour, not of its ports and the checks of parameters.
fn changes(module: &str, design: &Design) -> Vec<Change> {
    let file = format!("{module}.sv");
    let text = must(design.source(&file).ok_or(format!("no file {file}")));
    let body = text.find("\n);\n").map_or(0, |end| end + 4);
    let end = text.find("`ifdef FORMAL").unwrap_or(text.len());
    let (mut found, mut at) = (Vec::new(), body);
    let lines: Vec<&str> = text[body..end].split_inclusive('\n').collect();
    for (number, line) in lines.iter().enumerate() {
        // A check of parameters may begin a line before its name.
        let checks = lines.get(number + 1).is_some_and(|next| next.contains("g_bad"));
        let changes = if checks { Vec::new() } else { changes_of(line) };
        for (start, from, to) in changes {
            let before = line[..start].matches(&from).count();
            let which = (before + 1, line.matches(&from).count());
            let (place, line) = (at + start, line.trim().to_owned());
            found.push(Change { file: file.clone(), place, from, to, line, which });
        }
        at += line.len();
    }
    found
}

/// Changes of a line: from which byte, what, and what stands there instead.
fn changes_of(line: &str) -> Vec<(usize, String, String)> {
    let code = line.split("//").next().unwrap_or_default();
    let apart = ["localparam", "parameter", "$fatal", "g_bad", "unused", "typedef", " : g_"];
    if apart.iter().any(|word| line.contains(word)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (from, to) in OPERATORS {
        let places = code.match_indices(from);
        found.extend(places.map(|(at, _)| (at, from.to_owned(), to.to_owned())));
    }
    for (at, _) in code.match_indices('!') {
        if !code[at + 1..].starts_with('=') {
            found.push((at, "!".to_owned(), String::new()));
        }
    }
    for (at, _) in code.match_indices("if (") {
        if let Some(condition) = enclosed(&code[at + 3..]) {
            found.push((at + 3, condition.to_owned(), format!("(!{condition})")));
        }
    }
    // A statement of one line.
    let start = code.len() - code.trim_start().len();
    let statement = code.trim();
    let keyword = ["if ", "for ", "assign ", "wire ", "logic ", "else ", "end", "default"];
    let is_assignment =
        statement.split_once(" <= ").is_some_and(|(to, _)| !to.contains(['(', ':']));
    if is_assignment
        && statement.ends_with(';')
        && !keyword.iter().any(|word| statement.starts_with(word))
    {
        found.push((start, statement.to_owned(), ";".to_owned()));
    }
    found
}

/// The text in parentheses with which this begins, with them.
fn enclosed(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if depth == 0 {
            return Some(&text[..=at]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::changes_of;

    /// What a line of a source becomes: one line for each change that is made to it.
    fn changed_lines(line: &str) -> Vec<String> {
        let apply = |(at, from, to): (usize, String, String)| {
            format!("{}{to}{}", &line[..at], &line[at + from.len()..])
        };
        changes_of(line).into_iter().map(apply).collect()
    }

    #[test]
    fn a_line_is_changed_at_each_operator_condition_and_statement() {
        assert_eq!(
            changed_lines("    if (a && !b) c <= d;"),
            ["    if (a || !b) c <= d;", "    if (a && b) c <= d;", "    if (!(a && !b)) c <= d;"]
        );
        let constants = changed_lines("  x <= '0;  // a && b");
        assert_eq!(constants, ["  x <= '1;  // a && b", "  ;  // a && b"]);
        assert_eq!(changed_lines("  wire y = (a != b);"), ["  wire y = (a == b);"]);
        assert!(changed_lines("  localparam int unsigned N = A + 1;").is_empty());
        assert!(changed_lines("  mem[i +: 4];").is_empty());
    }
}
