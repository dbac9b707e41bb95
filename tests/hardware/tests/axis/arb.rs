//! The arbiter.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small(width: u64) -> Design {
    let design = Design::module("axis_arb").set("WIDTH", width).set("PORTS", 3);
    design.set("MAX_BYTES", 64).set("WATCHDOG_CYCLES", 3).set("REGISTER", 1)
}

fn simulated(width: u64, ports: u64, check: u64, watchdog: u64, register: u64) -> Simulation {
    let design = Design::module("axis_arb").set("WIDTH", width).set("PORTS", ports);
    let design = design.set("CHECK", check).set("MAX_BYTES", 700).set("WATCHDOG_CYCLES", watchdog);
    let design = design.set("REGISTER", register);
    must(lint(&design));
    Simulation::new(design, "axis_arb/axis_arb_tb.cpp")
}

#[test]
#[ignore = "long: a minute of the solver"]
fn the_arbiter_is_proved_whole_fair_and_within_lengths() {
    must(Proof::inductive(small(64), 4).check());
    must(Proof::inductive(small(64).set("REGISTER", 0), 4).check());
}

#[test]
fn what_the_arbiters_proof_is_about_can_happen() {
    must(Proof::reachable(small(64), 12).check());
}

const SILENT: Mutation = Mutation {
    what: "nothing is ever joined",
    file: "axis_arb.sv",
    from: "wire join_valid = ending || (offered && !oversize);",
    to: "wire join_valid = 1'b0;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn an_arbiter_that_joins_nothing_is_caught() {
    must(Proof::reachable(small(64), 12).catches(&SILENT));
}

#[test]
#[ignore = "long: other shapes"]
fn the_arbiter_is_proved_at_other_widths_and_port_counts() {
    must(Proof::inductive(small(128).set("PORTS", 2), 4).check());
    must(Proof::inductive(small(256).set("PORTS", 2), 4).check());
    must(Proof::inductive(small(64).set("CHECK", 0), 4).check());
    must(Proof::inductive(small(64).set("PORTS", 1), 4).check());
}

fn delivers(shapes: &[(u64, u64, u64, u64, u64)]) {
    for &(width, ports, check, watchdog, register) in shapes {
        let simulation = simulated(width, ports, check, watchdog, register);
        let report = must(simulation.run(&["--seed", "1"]));
        assert_eq!(report.value("cycles"), report.value("beats") + register, "at {width} bit");
    }
}

#[test]
fn the_arbiter_delivers_what_the_reference_model_says_under_stalls() {
    delivers(&[(64, 2, 1, 16, 1), (256, 2, 1, 16, 0)]);
}

#[test]
#[ignore = "long: other shapes"]
fn the_arbiter_delivers_what_the_reference_model_says_in_other_shapes() {
    delivers(&[(512, 5, 1, 8, 1), (128, 3, 0, 0, 0)]);
}

#[test]
#[ignore = "long: many seeds"]
fn the_arbiter_delivers_what_the_reference_model_says_for_many_seeds() {
    let shapes = [(64, 2, 16, 1), (64, 2, 16, 0), (128, 7, 3, 1), (256, 1, 2, 1), (512, 33, 99, 1)];
    for (width, ports, watchdog, register) in shapes {
        let simulation = simulated(width, ports, 1, watchdog, register);
        for seed in 2..12 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "2000"]));
        }
    }
}

/// Published templates arbitrate after every beat.
const PER_BEAT: Mutation = Mutation {
    what: "re-arbitrate per beat",
    file: "axis_arb.sv",
    from: "owner <= join_last ? '0 : grant;",
    to: "owner <= '0;",
};

const NO_END: Mutation = Mutation {
    what: "messages longer than announced are not cut",
    file: "axis_arb.sv",
    from: "assign at_end = begun ? (left == -extra) : only_beat;",
    to: "assign at_end = last && (begun ? (left == -extra) : only_beat);",
};

const NO_BOUND: Mutation = Mutation {
    what: "the bound is not checked",
    file: "axis_arb.sv",
    from: "+: 32] > MAX_BYTES)",
    to: "+: 32] > MAX_BYTES + 1)",
};

const UNFAIR: Mutation = Mutation {
    what: "the lowest port always goes first",
    file: "axis_arb.sv",
    from: "(|behind) ? behind : request",
    to: "request",
};

const OVERWRITTEN: Mutation = Mutation {
    what: "a beat is joined while the register is full",
    file: "axis_arb.sv",
    from: "assign join_ready = !full || m_axis_tready;",
    to: "assign join_ready = 1'b1;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_arbiter_are_caught_by_proof_and_simulation() {
    let simulation = simulated(64, 2, 1, 16, 1);
    for mutation in [PER_BEAT, NO_END, NO_BOUND, UNFAIR, OVERWRITTEN] {
        must(Proof::bounded(small(64), 12).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_arbiter_are_found() {
    Mutants::of("axis_arb")
        .simulated(simulated(64, 2, 1, 16, 1), &["--seed", "1"])
        .simulated(simulated(128, 3, 0, 0, 0), &["--seed", "1"])
        .proved([
            Proof::reachable(small(64), 12),
            Proof::inductive(small(64), 4),
            Proof::inductive(small(64).set("REGISTER", 0), 4),
            Proof::inductive(small(64).set("CHECK", 0), 4),
        ])
        .are_found();
}
