//! The probe.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn simulated(bits: u64) -> Simulation {
    let design = Design::module("axis_probe").set("COUNT_WIDTH", bits);
    must(lint(&design));
    Simulation::new(design, "axis_probe/axis_probe_tb.cpp")
}

#[test]
fn the_probe_is_proved_to_count_each_event() {
    must(Proof::inductive(Design::module("axis_probe").set("COUNT_WIDTH", 16), 3).check());
}

#[test]
fn what_the_probes_proof_is_about_can_happen() {
    must(Proof::reachable(Design::module("axis_probe").set("COUNT_WIDTH", 16), 12).check());
}

#[test]
fn the_probe_counts_what_the_reference_model_counts() {
    for bits in [16, 64] {
        must(simulated(bits).run(&["--seed", "1"]));
    }
}

const GAPS_OUTSIDE: Mutation = Mutation {
    what: "gaps are counted between messages too",
    file: "axis_probe.sv",
    from: "!s_axis_tvalid && !between,",
    to: "!s_axis_tvalid,",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_probe_are_caught_by_proof_and_simulation() {
    let small = Design::module("axis_probe").set("COUNT_WIDTH", 16);
    must(Proof::bounded(small, 6).catches(&GAPS_OUTSIDE));
    must(simulated(64).catches(&GAPS_OUTSIDE, &["--seed", "1"]));
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_probe_are_found() {
    let small = || Design::module("axis_probe").set("COUNT_WIDTH", 16);
    Mutants::of("axis_probe")
        .simulated(simulated(16), &["--seed", "1"])
        .simulated(simulated(64), &["--seed", "1"])
        .proved([Proof::inductive(small(), 3), Proof::reachable(small(), 12)])
        .are_found();
}
