//! The MEMIF read engine.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

/// As small as it gets with more than one lane per beat, for proofs: what comes behind the buffer
/// is proved by itself.
fn small() -> Design {
    let design = Design::module("memif_read").set("WIDTH", 128).set("PACK", 0);
    let design = design.set("ADDRESS_WIDTH", 13).set("TAG_WIDTH", 2).set("LENGTH_WIDTH", 8);
    let design = design.set("BURST_BEATS", 4).set("BUFFER_BEATS", 8);
    design.set("DESCRIPTORS", 2).set("COUNT_WIDTH", 32)
}

/// Bursts of a whole page: the 4 KiB rule leaves no room.
fn pages() -> Design {
    small().set("WIDTH", 512).set("LENGTH_WIDTH", 13).set("BURST_BEATS", 64).set("BUFFER_BEATS", 64)
}

pub(crate) fn complete() -> Design {
    Design::new("memif_read", &["memif_read", "axis_pack"])
}

/// With as many descriptors as short segments need for a latency of 20 cycles.
fn simulated(width: u64) -> Simulation {
    let design = complete().set("WIDTH", width).set("DESCRIPTORS", 32);
    must(lint(&design));
    Simulation::new(design, "memif_read/memif_read_tb.cpp")
}

#[test]
#[ignore = "long: a minute of the solver"]
fn the_read_engine_is_proved_within_segments_pages_and_its_buffer() {
    must(Proof::inductive(small(), 2).check());
}

#[test]
fn what_the_read_engines_proof_is_about_can_happen() {
    must(Proof::reachable(small(), 20).check());
}

#[test]
#[ignore = "long: other shapes"]
fn the_read_engine_is_proved_at_other_widths_and_bursts() {
    must(Proof::inductive(small().set("WIDTH", 64), 2).check());
    must(Proof::inductive(small().set("BUFFER_BEATS", 4), 2).check());
    must(Proof::inductive(small().set("DESCRIPTORS", 4), 2).check());
}

#[test]
fn the_read_engine_reads_one_beat_per_cycle_and_each_byte_once() {
    for width in [64, 512] {
        let report = must(simulated(width).run(&["--seed", "1"]));
        let beats = report.value("message_beats");
        assert_eq!(report.value("beat_cycles"), beats, "at {width} bit");
        // A beat more for the small segment and for what begins and ends in mid-beat.
        assert!(report.value("beats") <= beats + 2, "at {width} bit");
        assert_eq!(report.value("count_bytes"), report.value("message_bytes"));
        assert!(report.value("most_outstanding") >= 4, "at {width} bit");
        // The memory's 40 cycles and those of the module; at 512 bit a beat is full with the third
        // beat of memory, whose burst is requested 2 cycles after the first.
        let packing = if width == 64 { 0 } else { 4 };
        assert!(report.value("first_beat_cycles") <= 45 + packing, "at {width} bit");
        assert_eq!(report.value("small_cycles"), report.value("small_beats"), "at {width} bit");
        assert!(report.value("failed") > 10, "errors are too rare");
        assert!(report.value("unharmed") > 100, "errors are too frequent");
    }
}

#[test]
#[ignore = "long: many seeds"]
fn the_read_engine_agrees_with_the_reference_model_for_many_seeds() {
    for (width, burst, buffer) in [(64, 32, 32), (128, 64, 128), (256, 16, 64), (512, 64, 512)] {
        let design = complete().set("WIDTH", width).set("BURST_BEATS", burst);
        let design = design.set("BUFFER_BEATS", buffer);
        let simulation = Simulation::new(design, "memif_read/memif_read_tb.cpp");
        for seed in 2..8 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "600"]));
        }
    }
}

const EARLY: Mutation = Mutation {
    what: "a segment ends a beat early",
    file: "memif_read.sv",
    from: "wire finish = beat && left == '0;",
    to: "wire finish = beat && left <= 1;",
};

const OVER_THE_PAGE: Mutation = Mutation {
    what: "a burst is one beat longer than to the page end",
    file: "memif_read.sv",
    from: "to_block_end = ~issue_address[LogBytes +: LogBurst];",
    to: "to_block_end = -issue_address[LogBytes +: LogBurst];",
};

const NO_ROOM: Mutation = Mutation {
    what: "a burst too many is requested",
    file: "memif_read.sv",
    from: "claimed <= (LogBuffer+1)'(BUFFER_BEATS - BURST_BEATS);",
    to: "claimed <= (LogBuffer+1)'(BUFFER_BEATS);",
};

const ONE_BYTE_MORE: Mutation = Mutation {
    what: "one byte more than the length",
    file: "memif_read.sv",
    from: "(left != '0 || i <= 32'(head_end));",
    to: "(left != '0 || i <= 32'(head_end) + 1);",
};

const FROM_LANE_0: Mutation = Mutation {
    what: "what lies before the segment in its first beat goes on too",
    file: "memif_read.sv",
    from: "(!fresh || i >= 8 * 32'(head_lane))",
    to: "(!fresh || i + 8 >= 8 * 32'(head_lane))",
};

const ERROR_FORGOTTEN: Mutation = Mutation {
    what: "only the last beat counts",
    file: "memif_read.sv",
    from: "wire bad = error || head_faulty || m_axi_rresp[1];",
    to: "wire bad = head_faulty || m_axi_rresp[1];",
};

const ERROR_KEPT: Mutation = Mutation {
    what: "an error of a message harms the next one",
    file: "memif_read.sv",
    from: "error <= bad && !last;",
    to: "error <= bad;",
};

const TOO_MANY_REPORTS: Mutation = Mutation {
    what: "every segment is reported",
    file: "memif_read.sv",
    from: "done_valid = oldest && oldest_final;",
    to: "done_valid = oldest;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_read_engine_are_caught_by_proof_and_simulation() {
    let simulation = simulated(512);
    must(simulation.catches(&OVER_THE_PAGE, &["--seed", "1"]));
    must(Proof::bounded(pages(), 5).catches(&OVER_THE_PAGE));
    for mutation in [EARLY, ERROR_FORGOTTEN] {
        must(simulation.catches(&mutation, &["--seed", "1"]));
        must(Proof::bounded(small(), 12).catches(&mutation));
    }
}

#[test]
#[ignore = "long: more faults"]
fn more_faults_of_the_read_engine_are_caught_by_proof_and_simulation() {
    let simulation = simulated(512);
    for mutation in [NO_ROOM, ONE_BYTE_MORE, FROM_LANE_0, ERROR_KEPT, TOO_MANY_REPORTS] {
        must(simulation.catches(&mutation, &["--seed", "1"]));
        must(Proof::bounded(small(), 12).catches(&mutation));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_read_engine_are_found() {
    Mutants::of("memif_read")
        .simulated(simulated(64), &["--seed", "1"])
        .simulated(simulated(512), &["--seed", "1"])
        .proved([Proof::inductive(small(), 2), Proof::reachable(small(), 20)])
        .are_found();
}
