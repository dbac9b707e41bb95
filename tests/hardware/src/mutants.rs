//! Faults that nobody has chosen: every place of a source at which an operator, a constant, a
//! condition or a statement can be changed. The tests of a module have to notice nearly all of a
//! sample.

use crate::design::{Change, Design};
use crate::proof::{Proof, ProofFailure};
use crate::simulation::{Report, Simulation};
use crate::{must, on_all_cores};
use crossdock_test_support::{done, number, sample, seed};

/// What stands for what. `<=` may be an assignment: it is among the boundaries, if it compares.
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

/// Comparisons that differ where both sides are equal.
const BOUNDARIES: [(&str, &str); 4] =
    [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > ")];

/// A limit is changed by so small a part of it, or by 1: it may have a finer unit than what is held
/// against it.
const PART_OF_A_LIMIT: u64 = 64;

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
    /// would find everything. When the module lacks a change that is listed as harmless.
    #[allow(clippy::print_stdout, reason = "a test's output: survivors that are few enough")]
    pub fn are_found(&self) {
        self.pass_unchanged();
        let size = number("MUTANTS").map_or(SAMPLE, |wanted| wanted as usize);
        let all = changes(self.module, self.design());
        let total = all.len();
        self.still_has(&all);
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

    /// What changes no behaviour is still a change of this module: lists tell of several modules.
    fn still_has(&self, all: &[Change]) {
        let own = format!("{}.sv: ", self.module);
        let told: Vec<String> = all.iter().map(Change::to_string).collect();
        for (change, _) in self.harmless.iter().filter(|(change, _)| change.starts_with(&own)) {
            let is_there = told.iter().any(|it| it == change);
            assert!(is_there, "the module has no such change any more; mend the list: {change}");
        }
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
        let mut changes = if checks { Vec::new() } else { changes_of(line) };
        changes.extend(changes_of_a_limit(&lines, number));
        let is_such = |other: &&&str| other.trim() == line.trim();
        let such =
            (lines[..=number].iter().filter(is_such).count(), lines.iter().filter(is_such).count());
        for (start, from, to) in changes {
            let before = line[..start].matches(&from).count();
            let which = (before + 1, line.matches(&from).count());
            let (place, line) = (at + start, line.trim().to_owned());
            found.push(Change { file: file.clone(), place, from, to, line, such, which });
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
    for (from, to) in BOUNDARIES {
        let places = code.match_indices(from).filter(|(at, _)| is_boundary(code, *at, from));
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

/// Whether the comparison at this byte is one that may be wrong where both sides are equal. The
/// ends of loops are none: what lies behind an array has no meaning.
fn is_boundary(code: &str, at: usize, operator: &str) -> bool {
    let is_loop = code.trim_start().starts_with("for (");
    let compares = operator != " <= " || compares(&code[..at]);
    !is_loop && compares && !chooses_a_side(code, at, operator)
}

/// Whether a `<=` behind this beginning of a line compares. It assigns if all that stands before it
/// in its statement is a target.
fn compares(before: &str) -> bool {
    let (mut depth, mut outside) = (0, String::new());
    for letter in before.chars() {
        depth += i32::from("([{".contains(letter)) - i32::from(")]}".contains(letter));
        match letter {
            ';' if depth == 0 => outside.clear(),
            _ if depth == 0 => outside.push(letter),
            _ => {}
        }
    }
    // The line may go on with what the one before has begun.
    let continues = ["&&", "||", "?", ":"].iter().any(|it| outside.trim_start().starts_with(it));
    let operators = [" = ", " <= ", " && ", " || ", " == ", " != ", " < ", " > ", " >= "];
    depth > 0 || continues || operators.iter().any(|it| outside.contains(it))
}

/// Whether a comparison chooses the smaller or the larger one of its sides, for which it does not
/// matter what happens if they are equal.
fn chooses_a_side(code: &str, at: usize, operator: &str) -> bool {
    let mut depth = 0;
    let open = code[..at].char_indices().rev().find(|(_, letter)| {
        depth += i32::from(*letter == '(') - i32::from(*letter == ')');
        depth == 1
    });
    let Some((open, _)) = open else { return false };
    let Some(condition) = enclosed(&code[open..]) else { return false };
    let left = &code[open + 1..at];
    let right = &code[at + operator.len()..open + condition.len() - 1];
    let behind = &code[open + condition.len()..];
    if behind.trim_end() == format!(" {right} <= {left};") {
        return true;
    }
    let Some((yes, no)) = behind.strip_prefix(" ? ").and_then(|it| it.split_once(" : ")) else {
        return false;
    };
    let is_other = |side| no.strip_prefix(side).is_some_and(|it| it.starts_with([';', ')', ',']));
    (yes == left && is_other(right)) || (yes == right && is_other(left))
}

/// The constant that a line declares: its type, its name, and what it is.
fn constant(line: &str) -> Option<[&str; 3]> {
    let code = line.split("//").next().unwrap_or_default();
    let (declared, value) = code.trim().strip_prefix("localparam ")?.split_once(" = ")?;
    let (of_type, name) = declared.rsplit_once(' ')?;
    Some([of_type.trim(), name, value.strip_suffix(';')?])
}

/// Changes of the constant of this line, to both sides, if it is a limit: neither what something is
/// made as large as, nor one of a list.
fn changes_of_a_limit(lines: &[&str], line: usize) -> Vec<(usize, String, String)> {
    let Some([of_type, name, value]) = constant(lines[line]) else { return Vec::new() };
    let counted = |line: Option<&&str>| {
        let [other_type, _, value] = constant(line?)?;
        let (_, digits) = value.split_once("'d").filter(|_| other_type == of_type)?;
        digits.parse::<u64>().ok()
    };
    let own = counted(lines.get(line));
    let beside = [line.checked_sub(1), line.checked_add(1)].into_iter().flatten();
    let is_of_a_list = beside
        .filter_map(|it| counted(lines.get(it)).zip(own))
        .any(|(one, own)| one.abs_diff(own) == 1);
    let is_made_of_others = value.contains(['?', '/', '$', '=']);
    if is_of_a_list || is_made_of_others || is_size(name, lines) {
        return Vec::new();
    }
    let start = lines[line].find(" = ").map_or(0, |at| at + 3);
    let changed = |(at, number, most): (usize, u64, u64)| {
        let step = (number / PART_OF_A_LIMIT).max(1);
        let others = [number.checked_sub(step), Some(number + step).filter(|it| *it <= most)];
        let others = others.into_iter().flatten();
        others.map(move |other| (start + at, number.to_string(), other.to_string()))
    };
    numbers(value).into_iter().flat_map(changed).collect()
}

/// Whether something is made as large as this constant says, or one that is made of it: a width, a
/// memory, a module.
fn is_size(name: &str, lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        let code = line.split("//").next().unwrap_or_default();
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
        let is_parameter = code
            .trim_start()
            .strip_prefix('.')
            .is_some_and(|it| it.starts_with(|letter: char| letter.is_uppercase()));
        code.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&code[..at], &code[at + name.len()..]);
            if before.ends_with(is_part) || behind.starts_with(is_part) {
                return false;
            }
            let is_inside = before.matches('[').count() > before.matches(']').count();
            let makes = constant(line).filter(|[_, other, _]| *other != name);
            is_inside
                || is_parameter
                || behind.starts_with("'(")
                || code.contains("$clog2")
                || makes.is_some_and(|[_, other, _]| is_size(other, lines))
        })
    })
}

/// The numbers of an expression: from which byte, which one, and which one has room there at most.
/// How many bits a number has is none.
fn numbers(text: &str) -> Vec<(usize, u64, u64)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(next) = text[at..].find(|letter: char| letter.is_ascii_alphanumeric()) {
        let start = at + next;
        let end = |from: usize| {
            let behind =
                text[from..].find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            behind.map_or(text.len(), |it| from + it)
        };
        at = end(start);
        let number = text[start..at].parse::<u64>();
        let Some(base) = text[at..].strip_prefix('\'') else {
            let is_whole = !text[..start].ends_with(['\'', '.', '_', '$']);
            found.extend(
                number.ok().filter(|_| is_whole).map(|it| (start, it, u64::from(u32::MAX))),
            );
            continue;
        };
        let is_signed = base.starts_with('s');
        let bits = number.ok().filter(|bits| (1..=64).contains(bits));
        if base.starts_with("sd") || base.starts_with('d') {
            let digits = at + 2 + usize::from(is_signed);
            at = end(digits);
            let most = bits.map(|bits| (u64::MAX >> (64 - bits)) >> u8::from(is_signed));
            let number = text[digits..at].parse::<u64>();
            found.extend(number.ok().zip(most).map(|(number, most)| (digits, number, most)));
        } else {
            // Behind a cast stands its value, behind another base a word of it.
            at = if base.starts_with('(') { at + 1 } else { end(at + 1) };
        }
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
    use super::{BOUNDARIES, changes_of, changes_of_a_limit};

    fn changed(line: &str, (at, from, to): (usize, String, String)) -> String {
        assert_eq!(line[at..at + from.len()], from);
        format!("{}{to}{}", &line[..at], &line[at + from.len()..])
    }

    /// What a line of a source becomes: one line for each change that is made to it.
    fn changed_lines(line: &str) -> Vec<String> {
        changes_of(line).into_iter().map(|change| changed(line, change)).collect()
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

    /// What becomes of a line whose comparisons are moved to what is equal.
    fn moved(line: &str) -> Vec<String> {
        let changes = changes_of(line).into_iter();
        let boundaries =
            changes.filter(|(_, from, to)| BOUNDARIES.contains(&(from.as_str(), to.as_str())));
        boundaries.map(|change| changed(line, change)).collect()
    }

    #[test]
    fn a_comparison_is_moved_to_what_is_equal_and_an_assignment_is_none() {
        assert_eq!(moved("  if (a < b) c <= d;"), ["  if (a <= b) c <= d;"]);
        assert_eq!(moved("  if (a <= b) c <= d;"), ["  if (a < b) c <= d;"]);
        assert_eq!(moved("  wire x = a > b || a >= c;").len(), 2);
        assert_eq!(moved("  c <= d || a <= b;"), ["  c <= d || a < b;"]);
        assert_eq!(moved("      && a <= b)"), ["      && a < b)"]);
        assert_eq!(moved("  f(a) < b && f(c) <= d,").len(), 2);
        for line in [
            "  c <= d;",
            "  {a, b} <= c;",
            "  Look: if (a) b <= c; else d <= e;",
            "  mem[a] <= b;",
            "  for (int i = 0; i < 4; i++) a[i] <= b[i];",
            "  for (int i = 0; i <= 4; i++) begin",
        ] {
            assert_eq!(moved(line), [""; 0], "{line}");
        }
        // If both are equal, either is right.
        for line in
            ["  a = (b > C) ? C : b;", "  a <= 4'((f(b) < c) ? f(b) : c);", "  if (a < b) b <= a;"]
        {
            assert_eq!(moved(line), [""; 0], "{line}");
        }
        assert_eq!(moved("  a = (b > C) ? D : b;").len(), 1);
    }

    /// What becomes of the first line of a module.
    fn limits(text: &str) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let changes = changes_of_a_limit(&lines, 0).into_iter();
        changes.map(|change| changed(lines[0], change)).collect()
    }

    #[test]
    fn a_limit_is_changed_to_both_sides_where_its_type_has_room() {
        assert_eq!(
            limits("  localparam logic [9:0] Rows = 10'd160;  // 3'd2\n  wire a = b >= Rows;"),
            ["158", "162"].map(|it| format!("  localparam logic [9:0] Rows = 10'd{it};  // 3'd2"))
        );
        assert_eq!(
            limits("localparam logic signed [4:0] A = 5'sd15;"),
            ["localparam logic signed [4:0] A = 5'sd14;"]
        );
        assert_eq!(
            limits("localparam logic [1:0] A = 2'd0;"),
            ["localparam logic [1:0] A = 2'd1;"]
        );
        assert_eq!(limits("localparam logic [Bits-1:0] A = Bits'(1) << 28;").len(), 4);
        assert_eq!(limits("localparam logic [63:0] A = 64'(B_2) * C[1] + 64'd3;").len(), 4);
        for line in ["logic [17:0] A = '1;", "logic [1:0] A = 2'b10;", "logic [7:0] A = 8'h1f;"] {
            assert_eq!(limits(&format!("localparam {line}")), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_constant_that_says_how_large_something_is_or_counts_a_list_is_left_alone() {
        let size = "  localparam int unsigned Size = 12;";
        for use_of_it in [
            "  logic [Size-1:0] a;",
            "  assign a = Size'(b);",
            "  localparam int unsigned Bits = $clog2(Size);",
            "    .WIDTH(Size),",
            "  localparam int unsigned Half = Size + 1;\n  logic a [Half];",
        ] {
            assert_eq!(limits(&format!("{size}\n{use_of_it}")), [""; 0], "{use_of_it}");
        }
        for use_of_it in
            ["  assign a[0] = b > Size;", "    .start(a == Size),", "  logic [BigSize:0] a;"]
        {
            assert_eq!(limits(&format!("{size}\n{use_of_it}")).len(), 2, "{use_of_it}");
        }
        let list = "localparam logic [1:0] Wait = 2'd0;\nlocalparam logic [1:0] Look = 2'd1;";
        assert_eq!(limits(list), [""; 0]);
        assert_eq!(limits("localparam int unsigned A = (B < 5) ? 1 : B / 5;"), [""; 0]);
    }
}
