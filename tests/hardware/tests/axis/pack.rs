//! What makes the beats of gathered messages full.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn pack(width: u64) -> Design {
    Design::module("axis_pack").set("WIDTH", width)
}

fn simulated(width: u64) -> Simulation {
    must(lint(&pack(width)));
    Simulation::new(pack(width), "axis_pack/axis_pack_tb.cpp")
}

#[test]
fn packing_is_proved_to_keep_every_lane_in_its_place() {
    must(Proof::inductive(pack(64), 3).check());
    must(Proof::inductive(pack(128), 3).check());
}

#[test]
fn what_the_proof_of_packing_is_about_can_happen() {
    must(Proof::reachable(pack(128), 10).check());
}

/// Lanes move whole: with eight of them it is for two bytes each what it is for eight, of which one
/// can be missing at the end. The solver comes to no end on the 512 bit of the latter.
#[test]
#[ignore = "long: the wider beats"]
fn packing_is_proved_to_keep_every_lane_of_wider_beats_in_its_place() {
    must(Proof::inductive(pack(256), 3).check());
    must(Proof::inductive(pack(128).set("LANE_BYTES", 2), 3).check());
}

#[test]
fn packing_leaves_no_gap_in_bytes_and_none_in_cycles() {
    for width in [64, 128, 256, 512] {
        let report = must(simulated(width).run(&["--seed", "1"]));
        // At 64 bit every beat is full anyhow; above, the first one holds 8 bytes of both messages.
        assert_eq!(report.value("long_beats"), 202, "at {width} bit");
        // Of each message's first beat nothing can go out before the second has come.
        let pauses = if width == 64 { 0 } else { 1 };
        assert!(report.value("long_cycles") <= 202 + pauses, "at {width} bit");
        let latency = if width == 64 { 1 } else { 3 };
        assert_eq!(report.value("first_beat_cycles"), latency, "at {width} bit");
    }
}

#[test]
#[ignore = "long: many seeds"]
fn packing_agrees_with_the_reference_model_for_many_seeds() {
    for width in [64, 128, 256, 512] {
        let simulation = simulated(width);
        for seed in 2..10 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "4000"]));
        }
    }
}

const REST_LOST: Mutation = Mutation {
    what: "what does not fit is forgotten at the end",
    file: "axis_pack.sv",
    from: "rest <= s_axis_tlast && over;",
    to: "rest <= 1'b0;",
};

const NOT_TURNED: Mutation = Mutation {
    what: "a run is moved as if it began at lane 0",
    file: "axis_pack.sv",
    from: "turn = first - fill;",
    to: "turn = -fill;",
};

const EXACT: Mutation = Mutation {
    what: "a message that fills its last beat has a rest",
    file: "axis_pack.sv",
    from: "over = (total[LogLanes-1:0] != '0) && full;",
    to: "over = full;",
};

const STALE: Mutation = Mutation {
    what: "the rest keeps bytes of the next beat",
    file: "axis_pack.sv",
    from: ": rest ? '0 : turned_keep[i];",
    to: ": turned_keep[i];",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_packing_are_caught_by_proof_and_simulation() {
    let simulation = simulated(256);
    for mutation in [REST_LOST, NOT_TURNED, EXACT, STALE] {
        must(Proof::bounded(pack(128), 8).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_packing_are_found() {
    Mutants::of("axis_pack")
        .simulated(simulated(64), &["--seed", "1"])
        .simulated(simulated(256), &["--seed", "1"])
        .proved([64, 128].map(|width| Proof::inductive(pack(width), 3)))
        .proved([Proof::reachable(pack(128), 10)])
        .are_found();
}
