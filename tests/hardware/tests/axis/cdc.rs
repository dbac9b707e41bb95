//! The clock crossing.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Report, Simulation, lint, must};

fn small() -> Design {
    Design::module("axis_cdc").set("DEPTH", 4)
}

fn simulated(width: u64, depth: u64) -> Simulation {
    let design = Design::module("axis_cdc").set("WIDTH", width).set("DEPTH", depth);
    must(lint(&design));
    Simulation::new(design, "axis_cdc/axis_cdc_tb.cpp")
}

#[test]
fn the_clock_crossing_is_proved_for_any_two_clocks() {
    must(Proof::inductive(small(), 3).several_clocks().check());
}

#[test]
fn what_the_clock_crossings_proof_is_about_can_happen() {
    must(Proof::reachable(small(), 24).several_clocks().check());
}

#[test]
fn the_clock_crossing_keeps_every_beat_for_clocks_of_any_rate() {
    for (width, depth) in [(64, 16), (512, 16)] {
        let report = must(simulated(width, depth).run(&["--seed", "1"]));
        assert!(crosses_in_time(&report), "{report:?}");
    }
}

/// The way through the registers, once; then one beat in each cycle of the slower clock.
fn crosses_in_time(report: &Report) -> bool {
    ["equal", "slower", "faster"].iter().all(|clocks| {
        let [cycles, beats] = ["cycles", "beats"].map(|it| report.value(&format!("{clocks}_{it}")));
        cycles <= beats + 8
    })
}

const ONE_TOO_MANY: Mutation = Mutation {
    what: "full one beat too late",
    file: "axis_cdc.sv",
    from: "wire                full = wp_gray ==",
    to: "wire                full = (wp_gray ^ (wp_gray >> 1)) ==",
};

const BINARY_CROSSES: Mutation = Mutation {
    what: "the write position crosses in binary",
    file: "axis_cdc.sv",
    from: "wp_gray <= wp_next ^ (wp_next >> 1);",
    to: "wp_gray <= wp_next;",
};

/// Both lose no beat in any simulation: what they lack is time for a register to settle.
const ONE_REGISTER: [Mutation; 2] = [
    Mutation {
        what: "the write position is used after one register",
        file: "axis_cdc.sv",
        from: "wp_seen = wp_crossing[(SYNC-1)*Position +: Position];",
        to: "wp_seen = wp_crossing[0 +: Position];",
    },
    Mutation {
        what: "the read position is used after one register",
        file: "axis_cdc.sv",
        from: "rp_seen = rp_crossing[(SYNC-1)*Position +: Position];",
        to: "rp_seen = rp_crossing[0 +: Position];",
    },
];

const NEVER_READS: Mutation = Mutation {
    what: "the output side never reads",
    file: "axis_cdc.sv",
    from: "wire                read = (rp_gray != wp_seen)",
    to: "wire                read = 1'b0 && (rp_gray != wp_seen)",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn a_position_that_is_used_too_early_is_caught_by_proof() {
    for mutation in &ONE_REGISTER {
        must(Proof::bounded(small(), 12).several_clocks().catches(mutation));
    }
}

#[test]
#[ignore = "long: faults that must be caught"]
fn a_crossing_that_never_reads_is_caught() {
    must(Proof::reachable(small(), 24).several_clocks().catches(&NEVER_READS));
}

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_clock_crossing_are_caught() {
    for mutation in [ONE_TOO_MANY, BINARY_CROSSES] {
        must(Proof::bounded(small(), 12).several_clocks().catches(&mutation));
        must(simulated(64, 16).catches(&mutation, &["--seed", "1"]));
    }
}

const FLUSHED: &str = "a reset lasts until the position that it sets has passed the crossing";

const HARMLESS: [(&str, &str); 2] = [
    ("axis_cdc.sv: `wp_crossing <= '0;`: `wp_crossing <= '0;` becomes `;`", FLUSHED),
    ("axis_cdc.sv: `rp_crossing <= '0;`: `rp_crossing <= '0;` becomes `;`", FLUSHED),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_clock_crossing_are_found() {
    Mutants::of("axis_cdc")
        .measured(simulated(64, 16), &["--seed", "1"], crosses_in_time)
        .proved([
            Proof::inductive(small(), 3).several_clocks(),
            Proof::reachable(small(), 24).several_clocks(),
        ])
        .but(&HARMLESS)
        .are_found();
}
