//! Faults that nobody has chosen: every place of a source at which an operator, a constant, a
//! condition or a statement can be changed. The tests of a module have to notice nearly all of a
//! sample.

use crate::design::{Change, Design};
use crate::proof::{Proof, ProofFailure};
use crate::simulation::Simulation;
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
const SAMPLE: usize = 15;

/// A module with the tests that have to notice its mutants.
#[derive(Debug)]
pub struct Mutants<'a> {
    /// The module: its file is its name with `.sv`.
    pub module: &'a str,
    /// Its simulations, with their arguments.
    pub simulations: Vec<(Simulation, Vec<&'a str>)>,
    /// Its proofs.
    pub proofs: Vec<Proof>,
    /// Changes that change no behaviour: text as a survivor is told, and the reason.
    pub harmless: &'a [(&'a str, &'a str)],
}

/// What became of a mutant.
enum Fate {
    Found,
    Survived,
    /// No tool reads it, so that nobody can use it.
    Unviable,
}

impl Mutants<'_> {
    /// Tries a sample, which the seed chooses, and fails if less than 95 % of it are found. Counts
    /// what was done, and returns the survivors for people to read. Minutes.
    ///
    /// # Panics
    /// When too many survive: with all of them.
    #[must_use]
    pub fn survivors(&self, design: &Design) -> Vec<String> {
        let size = number("MUTANTS").map_or(SAMPLE, |wanted| wanted as usize);
        let all = changes(self.module, design);
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
        assert!(20 * survived <= found + survived, "{module}: survived: {survivors:#?}");
        survivors
    }

    /// The first test that does not pass has found it.
    fn fate(&self, change: &Change) -> Fate {
        for (simulation, arguments) in &self.simulations {
            match simulation.notices(change, arguments) {
                Ok(true) => return Fate::Found,
                Ok(false) => {}
                Err(_) => return Fate::Unviable,
            }
        }
        for proof in &self.proofs {
            match proof.changed(change).check() {
                Err(ProofFailure::Broken { .. }) if self.simulations.is_empty() => {
                    return Fate::Unviable;
                }
                Err(ProofFailure::Broken { .. }) | Ok(()) => {}
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
    for line in text[body..end].split_inclusive('\n') {
        for (start, from, to) in changes_of(line) {
            let place = at + start;
            found.push(Change {
                file: file.clone(),
                place,
                from,
                to,
                line: line.trim().to_owned(),
            });
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

/// What a line of a source becomes: one line for each change that is made to it.
#[must_use]
pub fn changed_lines(line: &str) -> Vec<String> {
    let apply = |(at, from, to): (usize, String, String)| {
        format!("{}{to}{}", &line[..at], &line[at + from.len()..])
    };
    changes_of(line).into_iter().map(apply).collect()
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
