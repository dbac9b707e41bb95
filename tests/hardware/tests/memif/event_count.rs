//! The count of events for the host.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn counting(bits: u64) -> Design {
    Design::module("event_count").set("COUNT_WIDTH", bits)
}

fn simulated(bits: u64) -> Simulation {
    must(lint(&counting(bits)));
    Simulation::new(counting(bits), "event_count/event_count_tb.cpp")
}

#[test]
fn every_event_is_proved_to_be_counted_once_up_to_the_highest_value() {
    must(Proof::inductive(counting(16), 2).check());
    must(Proof::reachable(counting(3), 16).check());
}

#[test]
fn events_are_counted_as_by_the_reference_model() {
    let report = must(simulated(4).run(&["--seed", "1"]));
    assert!(report.value("full") > 100 && report.value("resets") > 10, "{report:?}");
    must(simulated(16).run(&["--seed", "1"]));
}

const WRAPS: Mutation = Mutation {
    what: "the count begins anew behind its highest value",
    file: "event_count.sv",
    from: "if (happened && !(&count))",
    to: "if (happened)",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn a_count_that_wraps_is_caught_by_proof_and_simulation() {
    must(Proof::bounded(counting(3), 12).catches(&WRAPS));
    must(simulated(4).catches(&WRAPS, &["--seed", "1"]));
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_event_count_are_found() {
    Mutants::of("event_count")
        .simulated(simulated(4), &["--seed", "1"])
        .proved([Proof::inductive(counting(16), 2), Proof::reachable(counting(3), 16)])
        .are_found();
}
