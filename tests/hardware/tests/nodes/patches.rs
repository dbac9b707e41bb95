//! The kernels of `hw/kernels` that find patches of one colour, each alone.

use crate::lights;
use crossdock_hardware_tests::budget::{area_within_budget, rate_within_budget};
use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

/// Rows that are short and few enough for a proof.
fn runs() -> Design {
    Design::module("mark_runs").set("WIDTH", 16).set("ROWS", 2)
}

fn patches(width: u64, rows: u64, runs: u64) -> Design {
    Design::module("run_patches").set("WIDTH", width).set("ROWS", rows).set("RUNS", runs)
}

fn margin(width: u64, height: u64) -> Design {
    Design::module("margin_count").set("WIDTH", width).set("HEIGHT", height)
}

fn simulation(design: Design) -> Simulation {
    let name = design.top().to_owned();
    Simulation::new(design, &format!("kernels/{name}/{name}_tb.cpp"))
}

#[test]
#[ignore = "long: a minute of the solver"]
fn all_runs_of_a_row_are_proved_to_be_given_once_and_whole() {
    must(lint(&Design::module("mark_runs")));
    must(lint(&runs()));
    must(Proof::bounded(runs(), 6).check());
    must(Proof::bounded(runs().set("ROWS", 1), 6).check());
    must(Proof::reachable(runs(), 10).check());
}

#[test]
fn runs_become_the_patches_that_a_flood_finds() {
    must(lint(&Design::module("run_patches")));
    let simulation = simulation(patches(36, 23, 256));
    let report = must(simulation.run(&["--seed", "1"]));
    assert!(report.value("given") > 1500 && report.value("cut") > 10, "{report:?}");
    // The longest way: from the last of many arms to the first of them.
    let report = must(simulation.run(&["--seed", "2", "--stalls", "0"]));
    assert!(report.value("longest") < 200, "{report:?}");
}

#[test]
fn pixels_of_a_margin_are_counted_once() {
    must(lint(&Design::module("margin_count")));
    let report = must(simulation(margin(40, 21)).run(&["--seed", "1"]));
    assert!(report.value("counted") == 1800 && report.value("edges") > 500, "{report:?}");
}

/// Few enough runs and pixels for a proof.
fn small_patches() -> Design {
    patches(16, 4, 16)
}

#[test]
#[ignore = "long: a minute of the solver"]
fn patches_are_proved_to_be_of_the_runs_that_touch() {
    must(Proof::inductive(small_patches(), 3).check());
    must(Proof::reachable(small_patches(), 26).check());
}

#[test]
#[ignore = "long: a minute of the solver"]
fn margins_are_proved_to_be_counted_whole_and_in_time() {
    // Two words in a row: none is without an end of it. Three words: one may be.
    for width in [16, 24] {
        must(Proof::inductive(margin(width, 3), 4).check());
    }
    must(Proof::reachable(margin(16, 3), 16).check());
}

const FAULTS_OF_RUNS: [Mutation; 3] = [
    Mutation {
        what: "a run at the end of its row is not given",
        file: "mark_runs.sv",
        from: "{row_ends && s_marks[7], left & ~s_marks}",
        to: "{1'b0, left & ~s_marks}",
    },
    Mutation {
        what: "a row goes on where the one before stopped",
        file: "mark_runs.sv",
        from: "last_mark && !begins}",
        to: "last_mark}",
    },
    Mutation {
        what: "a beat leaves with runs left in it",
        file: "mark_runs.sv",
        from: "assign s_ready = ends == '0 || (m_ready && !several);",
        to: "assign s_ready = ends == '0 || m_ready;",
    },
];

const FAULTS_OF_PATCHES: [Mutation; 5] = [
    Mutation {
        what: "corners do not connect on the left",
        file: "run_patches.sv",
        from: "{1'b0, above_last} + 1'b1 < {1'b0, first};",
        to: "above_last < first;",
    },
    Mutation {
        what: "corners do not connect on the right",
        file: "run_patches.sv",
        from: "{1'b0, above_first} > {1'b0, last} + 1'b1;",
        to: "above_first > last;",
    },
    Mutation {
        what: "the later patch stays what it is",
        file: "run_patches.sv",
        from: "writes = is_root && joined && !is_same;",
        to: "writes = 1'b0;",
    },
    Mutation {
        what: "a patch is added twice",
        file: "run_patches.sv",
        from: "wire is_same = joined && at == root;",
        to: "wire is_same = 1'b0;",
    },
    Mutation {
        what: "the run above is not looked at by the next run",
        file: "run_patches.sv",
        from: "wire stays = above_last > last;",
        to: "wire stays = 1'b0;",
    },
];

const FAULTS_OF_THE_MARGIN: [Mutation; 2] = [
    Mutation {
        what: "the box counts, too",
        file: "margin_count.sv",
        from: "&& (beside || ",
        to: "&& (1'b1 || ",
    },
    Mutation {
        what: "the last word is left out",
        file: "margin_count.sv",
        from: "    is_read <= scans;",
        to: "    is_read <= scans && !ends;",
    },
];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_runs_are_caught_by_proof() {
    for fault in &FAULTS_OF_RUNS {
        must(Proof::bounded(runs(), 6).catches(fault));
    }
}

#[test]
#[ignore = "long: minutes of the solver"]
fn faults_of_patches_and_margins_are_caught_by_proof() {
    // From a reset, the others show after more runs than the solver comes to.
    for fault in &FAULTS_OF_PATCHES[..2] {
        must(Proof::bounded(small_patches(), 10).catches(fault));
    }
    for fault in &FAULTS_OF_THE_MARGIN {
        must(Proof::bounded(margin(16, 3), 12).catches(fault));
    }
}

#[test]
#[ignore = "long: a simulator for each fault"]
fn faults_of_patches_and_margins_are_caught() {
    for fault in &FAULTS_OF_PATCHES {
        must(simulation(patches(36, 23, 256)).catches(fault, &["--seed", "1"]));
    }
    for fault in &FAULTS_OF_THE_MARGIN {
        must(simulation(margin(40, 21)).catches(fault, &["--seed", "1"]));
    }
}

/// Smaller than lights use them: what grows with the picture is memory alone, and the tool takes
/// minutes for much of it.
fn measured() -> [Design; 3] {
    [Design::module("mark_runs"), patches(640, 336, 1024), margin(640, 48)]
}

#[test]
#[ignore = "long: synthesis of every kernel"]
fn no_kernel_of_patches_takes_more_area_than_its_budget() {
    for design in measured() {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: place and route"]
fn no_kernel_of_patches_is_slower_than_its_budget() {
    for design in measured() {
        must(rate_within_budget(&design));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_runs_are_found() {
    let one = runs().set("ROWS", 1);
    lights::seen(Mutants::of("mark_runs"), lights::SMALL_RED)
        .proved([Proof::bounded(one, 6), Proof::bounded(runs(), 6), Proof::reachable(runs(), 10)])
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_patches_and_margins_are_found() {
    Mutants::of("run_patches")
        .simulated(simulation(patches(36, 23, 256)), &["--seed", "1"])
        .proved([Proof::inductive(small_patches(), 3)])
        .are_found();
    Mutants::of("margin_count")
        .simulated(simulation(margin(40, 21)), &["--seed", "1"])
        .proved([Proof::inductive(margin(16, 3), 4)])
        .are_found();
}
