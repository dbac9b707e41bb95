//! The register slice.

use crossdock_hardware_tests::{Design, Mutants, Proof, Simulation, lint, must};

#[test]
fn a_register_slice_is_proved() {
    must(Proof::inductive(Design::module("axis_reg"), 4).check());
    must(Proof::reachable(Design::module("axis_reg"), 10).check());
}

#[test]
fn a_register_slice_keeps_every_beat_under_stalls_and_resets() {
    for width in [64, 512] {
        let design = Design::module("axis_reg").set("WIDTH", width);
        must(lint(&design));
        let simulation = Simulation::new(design, "axis_reg/axis_reg_tb.cpp");
        let report = must(simulation.run(&["--seed", "1"]));
        assert_eq!(report.value("cycles"), report.value("beats_in") + 1, "at {width} bit");
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_register_slice_are_found() {
    let design = || Design::module("axis_reg").set("WIDTH", 64);
    let simulation = Simulation::new(design(), "axis_reg/axis_reg_tb.cpp");
    let proofs = [Proof::inductive(design(), 4), Proof::reachable(design(), 10)];
    Mutants::of("axis_reg").simulated(simulation, &["--seed", "1"]).proved(proofs).are_found();
}
