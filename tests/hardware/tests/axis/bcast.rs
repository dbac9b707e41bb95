//! The broadcast.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small() -> Design {
    Design::module("axis_bcast").set("PORTS", 4).set("LOOP_FILTER", 5)
}

fn simulated(width: u64, ports: u64, enable: u64, filter: u64) -> Simulation {
    let design = Design::module("axis_bcast").set("WIDTH", width).set("PORTS", ports);
    let design = design.set("ENABLE", enable).set("LOOP_FILTER", filter);
    must(lint(&design));
    Simulation::new(design, "axis_bcast/axis_bcast_tb.cpp")
}

#[test]
fn the_broadcast_is_proved_to_reach_everyone_once() {
    must(Proof::inductive(small(), 4).check());
    must(Proof::inductive(small().set("ENABLE", 0).set("LOOP_FILTER", 0), 4).check());
    must(Proof::reachable(small(), 12).check());
}

#[test]
fn the_broadcast_reaches_who_is_enabled_and_not_the_publisher_itself() {
    for (width, ports, enable, filter) in [(64, 8, 1, 5), (512, 3, 0, 0)] {
        let report = must(simulated(width, ports, enable, filter).run(&["--seed", "1"]));
        assert_eq!(report.value("cycles"), report.value("beats") + 1, "at {width} bit");
    }
}

#[test]
#[ignore = "long: many seeds"]
fn the_broadcast_reaches_the_right_ones_for_many_seeds() {
    for (width, ports, enable, filter) in [(64, 16, 1, 9), (128, 1, 1, 1), (256, 32, 1, 0)] {
        let simulation = simulated(width, ports, enable, filter);
        for seed in 2..12 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "2000"]));
        }
    }
}

const NOT_DONE: Mutation = Mutation {
    what: "a subscriber that has the beat gets it again",
    file: "axis_bcast.sv",
    from: "pending <= pending & ~m_axis_tready;",
    to: "pending <= pending;",
};

const ENABLE_INVERTED: Mutation = Mutation {
    what: "enable inverted",
    file: "axis_bcast.sv",
    from: "(ENABLE ? enable : '1)",
    to: "(ENABLE ? ~enable : '1)",
};

const LOOP_INVERTED: Mutation = Mutation {
    what: "loop filter inverted",
    file: "axis_bcast.sv",
    from: "own_id[i*16 +: 16] == next[31:16]",
    to: "own_id[i*16 +: 16] != next[31:16]",
};

const SAMPLED_LATE: Mutation = Mutation {
    what: "enable is read at every beat",
    file: "axis_bcast.sv",
    from: "assign receivers = starts ? admitted : members;",
    to: "assign receivers = admitted;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_broadcast_are_caught_by_proof_and_simulation() {
    let simulation = simulated(64, 8, 1, 5);
    for mutation in [NOT_DONE, ENABLE_INVERTED, LOOP_INVERTED, SAMPLED_LATE] {
        must(Proof::bounded(small(), 10).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_broadcast_are_found() {
    Mutants::of("axis_bcast")
        .simulated(simulated(64, 8, 1, 5), &["--seed", "1"])
        .simulated(simulated(512, 3, 0, 0), &["--seed", "1"])
        .proved([Proof::inductive(small(), 4), Proof::reachable(small(), 12)])
        .are_found();
}
