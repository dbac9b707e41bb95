//! The width converter.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn design(from: u64, to: u64) -> Design {
    Design::module("axis_width").set("S_WIDTH", from).set("M_WIDTH", to)
}

fn simulated(from: u64, to: u64) -> Simulation {
    must(lint(&design(from, to)));
    Simulation::new(design(from, to), "axis_width/axis_width_tb.cpp")
}

fn simulate(from: u64, to: u64) {
    let report = must(simulated(from, to).run(&["--seed", "1"]));
    // The narrow side never waits.
    let narrow = if from < to { "beats_in" } else { "beats_out" };
    let latency = u64::from(from != to);
    assert_eq!(report.value("cycles"), report.value(narrow) + latency, "{from} to {to} bit");
}

#[test]
fn the_width_converter_is_proved_in_both_directions() {
    must(Proof::inductive(design(64, 256), 4).check());
    must(Proof::inductive(design(256, 64), 4).check());
}

#[test]
fn what_the_width_converters_proof_is_about_can_happen() {
    must(Proof::reachable(design(64, 256), 14).check());
    must(Proof::reachable(design(256, 64), 14).check());
}

#[test]
fn the_width_converter_keeps_every_byte_under_stalls_and_resets() {
    for (from, to) in [(64, 512), (512, 64), (128, 64)] {
        simulate(from, to);
    }
}

#[test]
#[ignore = "long: all pairs of widths"]
fn the_width_converter_keeps_every_byte_for_all_pairs_of_widths() {
    let widths = [64, 128, 256, 512];
    for (from, to) in widths.into_iter().flat_map(|from| widths.map(|to| (from, to))) {
        simulate(from, to);
        must(Proof::inductive(design(from, to), 4).check());
    }
}

const PARTS_LOST: Mutation = Mutation {
    what: "the end of a narrowed message is cut",
    file: "axis_width.sv",
    from: "final_part <= s_axis_tlast ? holds : '1;",
    to: "final_part <= s_axis_tlast ? '0 : '1;",
};

const KEEP_STALE: Mutation = Mutation {
    what: "a widened last beat keeps old bytes",
    file: "axis_width.sv",
    from: "if (part == '0) m_axis_tkeep",
    to: "if (part == '0 && !s_axis_tlast) m_axis_tkeep",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_width_converter_are_caught_by_proof_and_simulation() {
    let testbench = "axis_width/axis_width_tb.cpp";
    must(Proof::bounded(design(256, 64), 10).catches(&PARTS_LOST));
    must(Simulation::new(design(512, 64), testbench).catches(&PARTS_LOST, &["--seed", "1"]));
    must(Proof::bounded(design(64, 256), 10).catches(&KEEP_STALE));
    must(Simulation::new(design(64, 512), testbench).catches(&KEEP_STALE, &["--seed", "1"]));
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_width_converter_are_found() {
    Mutants::of("axis_width")
        .simulated(simulated(64, 512), &["--seed", "1"])
        .simulated(simulated(512, 64), &["--seed", "1"])
        .simulated(simulated(128, 64), &["--seed", "1"])
        .proved([(64, 256), (256, 64)].map(|(from, to)| Proof::inductive(design(from, to), 4)))
        .proved([(64, 256), (256, 64)].map(|(from, to)| Proof::reachable(design(from, to), 14)))
        .are_found();
}
