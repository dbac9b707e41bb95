//! What brings a port of host memory to rest.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small() -> Design {
    Design::module("memif_stop").set("ADDRESS_WIDTH", 13).set("OUTSTANDING", 2)
}

fn simulated(width: u64, outstanding: u64) -> Simulation {
    let design = Design::module("memif_stop").set("WIDTH", width).set("OUTSTANDING", outstanding);
    must(lint(&design));
    Simulation::new(design, "memif_stop/memif_stop_tb.cpp")
}

#[test]
fn a_stop_is_proved_to_cut_no_burst_and_to_let_nothing_through_at_rest() {
    must(Proof::inductive(small(), 2).check());
    must(Proof::reachable(small(), 12).check());
}

#[test]
#[ignore = "long: other shapes"]
fn a_stop_is_proved_in_other_shapes() {
    must(Proof::inductive(small().set("OUTSTANDING", 64), 2).check());
    must(Proof::inductive(small().set("WIDTH", 512).set("OUTSTANDING", 8), 2).check());
}

#[test]
fn a_master_that_is_reset_while_its_port_is_stopped_leaves_memory_whole() {
    for (width, outstanding) in [(64, 64), (512, 4)] {
        let report = must(simulated(width, outstanding).run(&["--seed", "1"]));
        assert_eq!(report.value("resets") + report.value("kept"), 200);
        for rare in ["resets", "kept", "cut", "held", "taken_back"] {
            assert!(report.value(rare) > 20, "{rare} is too rare");
        }
    }
    let report = must(simulated(64, 64).run(&["--seed", "1"]));
    assert_eq!((report.value("write_gaps"), report.value("read_gaps")), (0, 0));
}

#[test]
#[ignore = "long: many seeds"]
fn stops_agree_with_the_reference_model_for_many_seeds() {
    for (width, outstanding) in [(64, 2), (128, 16), (256, 64), (512, 256)] {
        let simulation = simulated(width, outstanding);
        for seed in 2..8 {
            must(simulation.run(&["--seed", &seed.to_string(), "--stops", "600"]));
        }
    }
}

const TAKEN_BACK: Mutation = Mutation {
    what: "an address that memory has seen is taken back",
    file: "memif_stop.sv",
    from: "wire aw_passes = aw_seen || (!stop",
    to: "wire aw_passes = (!stop",
};

const EARLY: Mutation = Mutation {
    what: "at rest before the last response",
    file: "memif_stop.sv",
    from: "!aw_seen && !ar_seen && aw_open == '0 && ar_open == '0;",
    to: "!aw_seen && !ar_seen && w_open == '0 && ar_open == '0;",
};

const READS_LEFT: Mutation = Mutation {
    what: "at rest with a read under way",
    file: "memif_stop.sv",
    from: "!aw_seen && !ar_seen && aw_open == '0 && ar_open == '0;",
    to: "!aw_seen && !ar_seen && aw_open == '0;",
};

const DATA_ALONE: Mutation = Mutation {
    what: "data goes without its address",
    file: "memif_stop.sv",
    from: "wire w_passes = w_open != '0 || aw_opens;",
    to: "wire w_passes = 1'b1;",
};

const READS_BEGIN: Mutation = Mutation {
    what: "reads begin during a stop",
    file: "memif_stop.sv",
    from: "wire ar_passes = ar_seen || (!stop && ar_open",
    to: "wire ar_passes = ar_seen || (ar_open",
};

/// A fault that shows only if a stop is taken back before memory is at rest.
const FORGOTTEN: Mutation = Mutation {
    what: "the end of a stop forgets the writes under way",
    file: "memif_stop.sv",
    from: "    aw_open <= aw_open +",
    to: "    aw_open <= ($past(stop) && !stop ? '0 : aw_open) +",
};

/// The same: memory at rest ends what is remembered.
const REMEMBERED: Mutation = Mutation {
    what: "a stop that is taken back goes on",
    file: "memif_stop.sv",
    from: "  wire aw_passes = aw_seen || (!stop",
    to: "  logic stops;\n  always_ff @(posedge clk) stops <= !rst && !stopped && (stop || stops);\n  \
         wire aw_passes = aw_seen || (!stop && !stops",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_a_stop_are_caught_by_proof_and_simulation() {
    let simulation = simulated(64, 64);
    for mutation in [TAKEN_BACK, EARLY, READS_LEFT, DATA_ALONE, READS_BEGIN, FORGOTTEN, REMEMBERED]
    {
        must(Proof::bounded(small(), 8).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

const UNASKED: &str = "memory answers for bursts that it has, and for no others";

const HARMLESS: [(&str, &str); 2] = [
    (
        "memif_stop.sv: `assign s_axi_bvalid = m_axi_bvalid && aw_open != '0;`: `'0` becomes `'1`",
        UNASKED,
    ),
    (
        "memif_stop.sv: `assign s_axi_rvalid = m_axi_rvalid && ar_open != '0;`: `'0` becomes `'1`",
        UNASKED,
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_stop_are_found() {
    Mutants::of("memif_stop")
        .simulated(simulated(64, 64), &["--seed", "1"])
        .proved([Proof::inductive(small(), 2), Proof::reachable(small(), 12)])
        .but(&HARMLESS)
        .are_found();
}
