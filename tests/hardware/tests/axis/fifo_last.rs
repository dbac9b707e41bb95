//! The keep-last FIFO.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small() -> Design {
    Design::module("axis_fifo_last").set("KEEP", 2).set("SLOT_BEATS", 4)
}

fn simulated(width: u64, keep: u64, slot: u64) -> Simulation {
    let design = Design::module("axis_fifo_last").set("WIDTH", width).set("KEEP", keep);
    let design = design.set("SLOT_BEATS", slot);
    must(lint(&design));
    Simulation::new(design, "axis_fifo_last/axis_fifo_last_tb.cpp")
}

#[test]
#[ignore = "long: a minute of the solver"]
fn the_keep_last_fifo_is_proved_to_drop_only_for_newer_messages() {
    must(Proof::inductive(small(), 4).check());
    must(Proof::reachable(small(), 24).check());
}

#[test]
#[ignore = "long: other depths"]
fn the_keep_last_fifo_is_proved_for_other_depths() {
    must(Proof::inductive(small().set("KEEP", 1), 4).check());
    must(Proof::inductive(small().set("KEEP", 4), 4).check());
}

#[test]
fn the_keep_last_fifo_gives_the_newest_whole_messages() {
    for (width, keep, slot) in [(64, 1, 16), (512, 4, 4)] {
        let report = must(simulated(width, keep, slot).run(&["--seed", "1"]));
        assert!(report.value("dropped") > 50, "the stalls of the test are too rare");
        // The first message is complete before it is shown; then there is no gap.
        let expected = report.value("beats") + report.value("slot_beats") + 2;
        assert_eq!(report.value("cycles"), expected, "at {width} bit");
    }
}

const DAMAGED_PASS: Mutation = Mutation {
    what: "damaged messages are kept",
    file: "axis_fifo_last.sv",
    from: "wire push = ends && !s_axis_tuser && !too_long;",
    to: "wire push = ends && !too_long;",
};

const NEWEST_DROPPED: Mutation = Mutation {
    what: "a dropped slot is written while it is still queued",
    file: "axis_fifo_last.sv",
    from: "wire leaves = pop || drop;",
    to: "wire leaves = pop;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_keep_last_fifo_are_caught() {
    let simulation = simulated(64, 1, 16);
    must(simulation.catches(&DAMAGED_PASS, &["--seed", "1"]));
    must(simulation.catches(&NEWEST_DROPPED, &["--seed", "1"]));
    must(Proof::bounded(small(), 16).catches(&NEWEST_DROPPED));
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_keep_last_fifo_are_found() {
    Mutants::of("axis_fifo_last")
        .simulated(simulated(64, 1, 16), &["--seed", "1"])
        .simulated(simulated(512, 4, 4), &["--seed", "1"])
        .proved([Proof::inductive(small(), 4), Proof::reachable(small(), 24)])
        .are_found();
}
