//! The MEMIF write engine.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small() -> Design {
    let design = Design::module("memif_write").set("ADDRESS_WIDTH", 13).set("TAG_WIDTH", 2);
    let design = design.set("LENGTH_WIDTH", 8).set("COUNT_WIDTH", 32);
    design.set("BURST_BEATS", 4).set("OUTSTANDING", 2)
}

/// Bursts of a whole page: the 4 KiB rule leaves no room.
fn pages() -> Design {
    small().set("WIDTH", 512).set("LENGTH_WIDTH", 13).set("BURST_BEATS", 64)
}

/// As many bursts as this are requested before the first of them is answered.
fn simulated(width: u64, outstanding: u64) -> Simulation {
    let design = Design::module("memif_write").set("WIDTH", width).set("OUTSTANDING", outstanding);
    must(lint(&design));
    Simulation::new(design, "memif_write/memif_write_tb.cpp")
}

#[test]
#[ignore = "long: half a minute of the solver"]
fn the_write_engine_is_proved_within_buffers_pages_and_responses() {
    must(Proof::inductive(small(), 2).check());
}

#[test]
fn what_the_write_engines_proof_is_about_can_happen() {
    must(Proof::reachable(small(), 28).check());
}

#[test]
#[ignore = "long: other shapes"]
fn the_write_engine_is_proved_at_other_widths_and_bursts() {
    must(Proof::inductive(small().set("WIDTH", 128), 2).check());
    must(Proof::inductive(small().set("BURST_BEATS", 2), 2).check());
    must(Proof::inductive(small().set("OUTSTANDING", 1), 2).check());
    must(Proof::inductive(small().set("OUTSTANDING", 4), 2).check());
}

#[test]
fn the_write_engine_writes_one_beat_per_cycle_and_each_message_once() {
    for width in [64, 512] {
        let report = must(simulated(width, 8).run(&["--seed", "1"]));
        let beats = report.value("message_beats");
        assert_eq!(report.value("beat_cycles"), beats, "at {width} bit");
        assert_eq!(report.value("beats"), beats, "at {width} bit");
        assert_eq!(report.value("bytes_written"), report.value("message_bytes"));
        assert!(report.value("most_outstanding") >= 4, "at {width} bit");
        assert_eq!(report.value("first_beat_cycles"), 3, "at {width} bit");
        // The memory's 40 cycles and those of the module.
        assert_eq!(report.value("completion_cycles"), 42, "at {width} bit");
        assert!(report.value("small_cycles") < report.value("small_beats") / 4 * 7);
        for rare in ["cut", "damaged", "failed"] {
            assert!(report.value(rare) > 10, "{rare} messages are too rare");
        }
    }
}

#[test]
#[ignore = "long: many seeds"]
fn the_write_engine_agrees_with_the_reference_model_for_many_seeds() {
    for (width, outstanding) in [(64, 1), (128, 8), (256, 2), (512, 4)] {
        let simulation = simulated(width, outstanding);
        for seed in 2..8 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "600"]));
        }
    }
}

const EARLY: Mutation = Mutation {
    what: "commit before the last write response",
    file: "memif_write.sv",
    from: "marks_level != '0 && answered == head_mark;",
    to: "marks_level != '0 && (answered == head_mark || answered + 1'b1 == head_mark);",
};

const OVER_THE_PAGE: Mutation = Mutation {
    what: "a burst is one beat longer than to the page end",
    file: "memif_write.sv",
    from: "to_block_end = ~issue_address[LogBytes +: LogBurst];",
    to: "to_block_end = -issue_address[LogBytes +: LogBurst];",
};

const OVER_THE_BUFFER: Mutation = Mutation {
    what: "a message may be one byte longer than the buffer",
    file: "memif_write.sv",
    from: "no_room || total > 33'(room);",
    to: "no_room || total > 33'(room) + 1'b1;",
};

const UNANSWERED_ERROR: Mutation = Mutation {
    what: "only the last response counts",
    file: "memif_write.sv",
    from: "error <= error || m_axi_bresp[1];",
    to: "error <= m_axi_bresp[1];",
};

const LAST_STROBES: Mutation = Mutation {
    what: "the last beat has a strobe too many",
    file: "memif_write.sv",
    from: "allowed[i] = !final_beat || i <= 32'(tail);",
    to: "allowed[i] = !final_beat || i <= 32'(tail) + 1;",
};

const PAST_THE_END: Mutation = Mutation {
    what: "padding keeps its strobes",
    file: "memif_write.sv",
    from: "ended ? '0 : present & allowed;",
    to: "present & allowed;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_write_engine_are_caught_by_proof_and_simulation() {
    let simulation = simulated(512, 8);
    must(simulation.catches(&OVER_THE_PAGE, &["--seed", "1"]));
    must(Proof::bounded(pages(), 6).catches(&OVER_THE_PAGE));
    must(simulation.catches(&OVER_THE_BUFFER, &["--seed", "1"]));
    must(Proof::bounded(small(), 14).catches(&OVER_THE_BUFFER));
}

#[test]
#[ignore = "long: more faults"]
fn more_faults_of_the_write_engine_are_caught_by_proof_and_simulation() {
    let simulation = simulated(512, 8);
    for mutation in [EARLY, UNANSWERED_ERROR, LAST_STROBES, PAST_THE_END] {
        must(simulation.catches(&mutation, &["--seed", "1"]));
        must(Proof::bounded(small(), 14).catches(&mutation));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_write_engine_are_found() {
    Mutants::of("memif_write")
        .simulated(simulated(64, 8), &["--seed", "1"])
        .simulated(simulated(512, 8), &["--seed", "1"])
        .simulated(simulated(64, 1), &["--seed", "1"])
        .proved([Proof::inductive(small(), 2), Proof::reachable(small(), 28)])
        .are_found();
}
