//! The arbiter.
#![allow(missing_docs)]

use crossdock_hardware_tests::{Design, Mutation, Proof, Simulation, lint};

fn small() -> Design {
    Design::module("axis_arb").set("PORTS", 3).set("MAX_BYTES", 64).set("WATCHDOG_CYCLES", 3)
}

fn simulated(width: u64, ports: u64, check: u64, watchdog: u64) -> Simulation {
    let design = Design::module("axis_arb").set("WIDTH", width).set("PORTS", ports);
    let design = design.set("CHECK", check).set("MAX_BYTES", 700).set("WATCHDOG_CYCLES", watchdog);
    lint(&design).unwrap_or_else(|failure| panic!("{failure}"));
    Simulation::new(design, "axis_arb/axis_arb_tb.cpp")
}

#[test]
fn the_arbiter_is_proved_whole_fair_and_within_lengths() {
    Proof::inductive(small(), 4).check().unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_arbiter_delivers_what_the_reference_model_says_under_stalls() {
    for (width, ports, check, watchdog) in [(64, 2, 1, 16), (512, 5, 1, 8), (128, 3, 0, 0)] {
        let simulation = simulated(width, ports, check, watchdog);
        let report = simulation.run(&["--seed", "1"]).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(report.value("cycles"), report.value("beats"), "at {width} bit");
    }
}

/// Arbitrates after every beat instead of after every message, as published templates do.
const PER_BEAT: Mutation = Mutation {
    what: "re-arbitrate per beat",
    file: "axis_arb.sv",
    from: "owner <= m_axis_tlast ? '0 : grant;",
    to: "owner <= '0;",
};

#[test]
fn arbitration_per_beat_is_caught_by_proof_and_simulation() {
    Proof::bounded(small(), 10).catches(&PER_BEAT).unwrap_or_else(|what| panic!("{what}"));
    let simulation = simulated(64, 2, 1, 16);
    simulation.catches(&PER_BEAT, &["--seed", "1"]).unwrap_or_else(|what| panic!("{what}"));
}
