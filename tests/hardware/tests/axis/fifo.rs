//! The keep-all FIFO.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn simulated(width: u64, depth: u64) -> Simulation {
    let design = Design::module("axis_fifo").set("WIDTH", width).set("DEPTH", depth);
    must(lint(&design));
    Simulation::new(design, "axis_fifo/axis_fifo_tb.cpp")
}

#[test]
fn the_fifo_is_proved_to_keep_everything() {
    let small = Design::module("axis_fifo").set("DEPTH", 4);
    must(Proof::inductive(small.clone(), 4).check());
    must(Proof::reachable(small, 20).check());
}

#[test]
fn the_fifo_keeps_every_beat_under_stalls_and_resets() {
    for (width, depth) in [(64, 16), (512, 4)] {
        let report = must(simulated(width, depth).run(&["--seed", "1"]));
        assert_eq!(report.value("cycles"), report.value("beats_in") + 2, "at {width} bit");
    }
}

/// The difference of two counts has 32 bits in this comparison: after a wrap the FIFO is never
/// full. Lint and a simulation without stalls see nothing wrong.
const NEVER_FULL: Mutation = Mutation {
    what: "the level is compared at the wrong width",
    file: "axis_fifo.sv",
    from: "assign s_axis_tready = !level[LogDepth];",
    to: "assign s_axis_tready = (wp - rp) != (1 << LogDepth);",
};

const LOST_ON_FULL: Mutation = Mutation {
    what: "one beat too few is kept",
    file: "axis_fifo.sv",
    from: "assign s_axis_tready = !level[LogDepth];",
    to: "assign s_axis_tready = !(&level[LogDepth-1:0]);",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_fifo_are_caught_by_proof_and_simulation() {
    let small = Design::module("axis_fifo").set("DEPTH", 4);
    must(Proof::bounded(small.clone(), 14).catches(&NEVER_FULL));
    must(simulated(64, 16).catches(&NEVER_FULL, &["--seed", "1"]));
    // Nothing is lost by this one, so only the proof can see it.
    must(Proof::bounded(small, 8).catches(&LOST_ON_FULL));
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_fifo_are_found() {
    let small = || Design::module("axis_fifo").set("DEPTH", 4);
    Mutants::of("axis_fifo")
        .simulated(simulated(64, 16), &["--seed", "1"])
        .proved([Proof::inductive(small(), 4), Proof::reachable(small(), 20)])
        .are_found();
}
