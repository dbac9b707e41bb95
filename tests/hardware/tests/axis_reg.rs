//! The register slice.
#![allow(missing_docs)]

use crossdock_hardware_tests::{Design, Proof, Simulation, lint};

#[test]
fn a_register_slice_is_proved() {
    let design = Design::module("axis_reg");
    Proof::inductive(design.clone(), 4).check().unwrap_or_else(|failure| panic!("{failure}"));
    Proof::reachable(design, 10).check().unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_register_slice_keeps_every_beat_under_stalls_and_resets() {
    for width in [64, 512] {
        let design = Design::module("axis_reg").set("WIDTH", width);
        lint(&design).unwrap_or_else(|failure| panic!("{failure}"));
        let simulation = Simulation::new(design, "axis_reg/axis_reg_tb.cpp");
        let report = simulation.run(&["--seed", "1"]).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(report.value("cycles"), report.value("beats") + 1, "at {width} bit");
    }
}
