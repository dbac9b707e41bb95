//! The kernels of `hw/kernels` that find lines through points, each alone.

use crossdock_hardware_tests::budget::{area_within_budget, rate_within_budget};
use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

/// Rows that are short and few enough for a proof.
fn runs() -> Design {
    let design = Design::module("row_runs").set("WIDTH", 16).set("ROWS", 2);
    design.set("RUN_MIN", 2).set("RUN_MAX", 5).set("PER_ROW", 2)
}

/// The same with beats of 16 pixels, of a single row: of two, the solver takes half an hour.
fn wide_runs() -> Design {
    runs().set("LANES", 16).set("WIDTH", 32).set("ROWS", 1)
}

fn shell() -> Design {
    Design::module("message_shell")
}

fn double(bits: u64) -> Design {
    Design::module("to_double").set("BITS", bits)
}

fn vote(slopes: u64, bins: u64) -> Design {
    Design::module("line_vote").set("SLOPES", slopes).set("BINS", bins)
}

fn simulated(design: &Design) -> Simulation {
    must(lint(design));
    let name = design.top();
    Simulation::new(design.clone(), &format!("kernels/{name}/{name}_tb.cpp"))
}

#[test]
fn runs_of_a_row_are_found_in_a_run_of_the_solver() {
    must(lint(&Design::module("row_runs")));
    for runs in [runs(), wide_runs()] {
        must(lint(&runs));
        must(Proof::reachable(runs, 10).check());
    }
}

#[test]
#[ignore = "long: a minute of the solver"]
fn runs_of_a_row_are_proved_to_be_given_once_from_the_left() {
    must(Proof::bounded(runs(), 8).check());
    must(Proof::bounded(wide_runs(), 6).check());
}

#[test]
fn messages_are_proved_to_be_answered_once_and_in_order() {
    must(lint(&shell()));
    must(Proof::inductive(shell(), 3).check());
    must(Proof::reachable(shell(), 16).check());
}

#[test]
#[ignore = "long: a minute of the solver"]
fn numbers_are_proved_to_become_what_they_are() {
    for bits in [2, 9, 33] {
        must(lint(&double(bits)));
    }
    must(Proof::inductive(double(9), 4).check());
    must(Proof::inductive(double(33), 4).check());
    must(Proof::reachable(double(9), 14).check());
}

#[test]
fn every_slope_has_the_best_two_bins_of_its_points() {
    for (slopes, bins) in [(8, 27), (3, 2), (15, 62)] {
        let report = must(simulated(&vote(slopes, bins)).run(&["--seed", "1"]));
        assert!(report.value("voted") > 1000, "{report:?}");
    }
}

#[test]
fn points_near_a_parabola_have_the_sums_that_they_have() {
    let report = must(simulated(&Design::module("point_moments")).run(&["--seed", "1"]));
    assert!(report.value("near") > 10_000 && report.value("far") > 10_000, "{report:?}");
}

#[test]
fn a_parabola_is_the_exact_one_of_its_sums() {
    let report = must(simulated(&Design::module("line_solve")).run(&["--seed", "1"]));
    assert!(report.value("limits") > 10, "{report:?}");
    // What its head says of its latency.
    let cycles = ["all", "slope", "base"].map(|it| report.value(it));
    assert!(cycles[0] <= 700 && cycles[1] <= 400 && cycles[2] <= 150, "{report:?}");
}

/// The proof of `line_solve`, which is about its program, not about its numbers.
fn solve_proofs() -> [Proof; 2] {
    let solve = Design::module("line_solve");
    [Proof::inductive(solve.clone(), 3), Proof::reachable(solve, 24)]
}

#[test]
fn a_parabola_is_proved_to_be_given_once_and_in_time_whatever_the_sums_are() {
    for proof in solve_proofs() {
        must(proof.check());
    }
}

#[test]
#[ignore = "long: a minute of the solver"]
fn sums_are_proved_to_have_every_near_point_once() {
    let moments = Design::module("point_moments");
    must(Proof::bounded(moments.clone(), 8).check());
    must(Proof::reachable(moments, 14).check());
}

#[test]
#[ignore = "long: a minute of the solver"]
fn votes_are_proved_to_be_counted_once_and_found() {
    must(lint(&vote(1, 2)));
    must(Proof::bounded(vote(1, 2), 16).check());
    must(Proof::reachable(vote(1, 2), 18).check());
}

const FAULTS_OF_RUNS: [Mutation; 3] = [
    Mutation {
        what: "a run at the edge is given",
        file: "row_runs.sv",
        from: "last_unseen || begins}",
        to: "last_unseen && !begins}",
    },
    Mutation {
        what: "a beat leaves with runs left in it",
        file: "row_runs.sv",
        from: "assign s_ready = !several;",
        to: "assign s_ready = 1'b1;",
    },
    Mutation {
        what: "a run that goes on has another neighbour",
        file: "row_runs.sv",
        from: "open_bare <= bare[highest(starts)];",
        to: "open_bare <= bare[0];",
    },
];

const FAULT_OF_THE_SHELL: Mutation = Mutation {
    what: "a message that is not good uses up a number",
    file: "message_shell.sv",
    from: "if (published) m_sequence",
    to: "if (s_ready) m_sequence",
};

const FAULT_OF_DOUBLES: Mutation = Mutation {
    what: "the exponent is one too low",
    file: "to_double.sv",
    from: "11'(1023 + BITS - 1)",
    to: "11'(1023 + BITS - 2)",
};

const FAULTS_OF_MOMENTS: [Mutation; 2] = [
    Mutation {
        what: "a point at the edge is not near",
        file: "point_moments.sv",
        from: "&& distance >= -reach",
        to: "&& distance > -reach",
    },
    Mutation {
        what: "a column counts with a power too few",
        file: "point_moments.sv",
        from: "x2 <= x2 + 45'(second)",
        to: "x2 <= x2 + 45'(moment[1])",
    },
];

const FAULTS_OF_SOLVING: [Mutation; 2] = [
    Mutation {
        what: "the slope is solved for where it is given",
        file: "line_solve.sv",
        from: ": (wanted == 2'd2) ? Middle : Base;",
        to: ": Middle;",
    },
    Mutation {
        what: "a start in between gives another parabola",
        file: "line_solve.sv",
        from: "Load: begin\n",
        to: "Load: begin\n        if (start) k0 <= given_k0;\n",
    },
];

const FAULTS_OF_VOTES: [Mutation; 2] = [
    Mutation {
        what: "a scan leaves the votes",
        file: "line_vote.sv",
        from: "votes[at] <= scanning ? '0 : here + 1'b1;",
        to: "votes[at] <= scanning ? here : here + 1'b1;",
    },
    Mutation {
        what: "a point left of the origin votes",
        file: "line_vote.sv",
        from: "is_close && !place[11] && place",
        to: "is_close && place",
    },
];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_kernels_of_points_are_caught_by_proof() {
    for fault in &FAULTS_OF_VOTES {
        must(Proof::bounded(vote(1, 2), 16).catches(fault));
    }
    for fault in &FAULTS_OF_SOLVING {
        must(Proof::bounded(Design::module("line_solve"), 6).catches(fault));
    }
    for fault in &FAULTS_OF_MOMENTS {
        must(Proof::bounded(Design::module("point_moments"), 8).catches(fault));
    }
    for fault in &FAULTS_OF_RUNS {
        must(Proof::bounded(runs(), 8).catches(fault));
        must(Proof::bounded(wide_runs(), 6).catches(fault));
    }
    must(Proof::bounded(shell(), 8).catches(&FAULT_OF_THE_SHELL));
    must(Proof::bounded(double(9), 14).catches(&FAULT_OF_DOUBLES));
}

/// As polyfit uses them.
fn shipped() -> [Design; 7] {
    let [runs, moments, solve] = ["row_runs", "point_moments", "line_solve"].map(Design::module);
    let wide = runs.clone().set("LANES", 16);
    [runs, wide, moments, solve, vote(8, 27), double(33), shell()]
}

#[test]
#[ignore = "long: synthesis of every kernel"]
fn no_kernel_of_points_takes_more_area_than_its_budget() {
    for design in shipped() {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: place and route"]
fn no_kernel_of_points_is_slower_than_its_budget() {
    for design in shipped() {
        must(rate_within_budget(&design));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_runs_of_points_are_found() {
    Mutants::of("row_runs")
        .proved([Proof::bounded(runs(), 8), Proof::reachable(runs(), 10)])
        .proved([Proof::bounded(wide_runs(), 6)])
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_shell_of_messages_are_found() {
    Mutants::of("message_shell")
        .proved([Proof::inductive(shell(), 3), Proof::reachable(shell(), 16)])
        .are_found();
}

const HARMLESS: [(&str, &str); 1] = [(
    "to_double.sv: `assign m_double = (exponent == '0) ? '0 : {negative, exponent, size[BITS-2:0], \
     (53-BITS)'(0)};`: 1 of 2 `'0` becomes `'1`",
    "the exponent is 0 for zero alone, and so are all its other bits",
)];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_doubles_are_found() {
    Mutants::of("to_double")
        .proved([Proof::inductive(double(9), 4), Proof::reachable(double(9), 14)])
        .but(&HARMLESS)
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_sums_of_points_are_found() {
    let moments = Design::module("point_moments");
    Mutants::of("point_moments")
        .simulated(simulated(&moments), &["--seed", "1"])
        .proved([Proof::bounded(moments, 8)])
        .are_found();
    Mutants::of("line_vote")
        .simulated(simulated(&vote(3, 5)), &["--seed", "1"])
        .proved([Proof::bounded(vote(1, 2), 16)])
        .are_found();
    Mutants::of("line_solve")
        .simulated(simulated(&Design::module("line_solve")), &["--seed", "1"])
        .proved(solve_proofs())
        .are_found();
}
