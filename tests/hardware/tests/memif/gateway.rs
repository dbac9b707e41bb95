//! The gateway: its two halves alone, and whole gateways between topics and host memory.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Report, Simulation, lint, must};

fn down() -> Design {
    let design = Design::new("gateway_down", &["gateway_down", "gateway_words"]);
    let design = design.set("ADDRESS_WIDTH", 13).set("MESSAGES", 2).set("COUNT_WIDTH", 16);
    design.set("MAX_BYTES", 63)
}

fn up() -> Design {
    let design = Design::new("gateway_up", &["gateway_up", "gateway_words"]);
    let design = design.set("ADDRESS_WIDTH", 13).set("CREDITS", 2).set("COUNT_WIDTH", 16);
    design.set("BURST_BEATS", 4)
}

/// The folders of all that a gateway is made of.
const PARTS: [&str; 9] = [
    "gateway",
    "gateway_words",
    "gateway_up",
    "gateway_down",
    "memif_read",
    "memif_write",
    "axis_pack",
    "axis_header",
    "axis_fifo",
];

pub(crate) fn complete() -> Design {
    Design::new("gateway", &PARTS)
}

/// Gateways that share one memory and one host.
fn simulated(width: u64, gateways: u64, credits: u64, isolate: u64, fifo: u64) -> Simulation {
    let others =
        ["testbench/gateway", "axis_arb", "osif", "memif_mmu", "memif_gate", "memif_share"];
    let folders: Vec<&str> = PARTS.into_iter().chain(others).collect();
    let design = Design::new("gateway_system", &folders).set("WIDTH", width);
    let design = design.set("GATEWAYS", gateways).set("CREDITS", credits);
    let design = design.set("ISOLATE", isolate).set("FIFO_BEATS", fifo);
    must(lint(&design));
    Simulation::new(design, "gateway/gateway_tb.cpp")
}

#[test]
#[ignore = "long: a minute of the solver"]
fn every_message_down_is_proved_to_be_sent_and_reported_once_with_its_own_bytes() {
    must(Proof::inductive(down(), 2).check());
}

#[test]
fn every_message_up_is_proved_to_use_one_credit_and_its_own_ones_never_to_pass() {
    must(Proof::inductive(up(), 2).check());
}

/// The upper half with the FIFO before it and the engine behind it.
fn up_half() -> Design {
    let parts =
        ["testbench/gateway_up_half", "gateway_up", "gateway_words", "axis_fifo", "memif_write"];
    Design::new("gateway_up_half", &parts)
}

/// The same with bursts so short that few cycles meet all that it assumes.
fn short_up_half() -> Design {
    up_half().set("BURST_BEATS", 2).set("FIFO_BEATS", 4)
}

#[test]
#[ignore = "long: three modules at once"]
fn what_the_upper_half_assumes_of_its_neighbours_holds_with_them() {
    must(Proof::bounded(short_up_half(), 11).composed().check());
    must(Proof::reachable(up_half(), 26).composed().check());
}

/// What the half's own proof once assumed: the engine violates it after eight cycles.
const ONE_BURST_LESS: Mutation = Mutation {
    what: "the engine is assumed to ask for one burst less behind a message's end",
    file: "gateway_up_formal.svh",
    from: "`NEIGHBOUR(n_no_more, formal_ahead < 3);",
    to: "`NEIGHBOUR(n_no_more, formal_ahead < 2);",
};

/// The same: it forgets that data may leave before its address.
const NOTHING_ON_OFFER: Mutation = Mutation {
    what: "no address is assumed to be on offer where the rest of a block is discarded",
    file: "gateway_up_formal.svh",
    from: "formal_ahead < 0 || (formal_ahead == 0 && !address_valid));",
    to: "formal_ahead <= 0 && !address_valid);",
};

#[test]
#[ignore = "long: three modules at once"]
fn false_assumptions_of_the_upper_half_are_caught_with_its_neighbours() {
    must(Proof::bounded(up_half(), 9).composed().catches(&ONE_BURST_LESS));
    must(Proof::bounded(short_up_half(), 9).composed().catches(&NOTHING_ON_OFFER));
}

/// What the lower half meets only behind the cycles of its proofs, which more would cost too much.
const LATE: [&str; 4] =
    ["n_packed", "n_s_axis_tvalid_*", "n_frame_has_a_payload", "n_done_valid_*"];

/// The lower half with the engine and the header behind it.
fn down_half() -> Design {
    let parts = [
        "testbench/gateway_down_half",
        "gateway_down",
        "gateway_words",
        "memif_read",
        "axis_pack",
        "axis_header",
    ];
    Design::new("gateway_down_half", &parts)
}

#[test]
#[ignore = "long: three modules at once"]
fn what_the_lower_half_assumes_of_its_neighbours_holds_with_them() {
    let whole = Proof::bounded(down_half(), 12).composed().beyond(&LATE);
    must(whole.check());
    let wide = Proof::bounded(down_half().set("WIDTH", 128), 11).composed().beyond(&LATE);
    must(wide.check());
    must(Proof::reachable(down_half(), 24).composed().check());
}

/// The header goes out while its payload may still turn out to be damaged.
const STANDS_TOO_EARLY: Mutation = Mutation {
    what: "the header is assumed to know whether it is damaged from its first beat on",
    file: "axis_header_formal.svh",
    from: " && (header_empty || (s_axis_tvalid && s_axis_tlast))",
    to: "",
};

#[test]
#[ignore = "long: three modules at once"]
fn a_false_assumption_of_the_lower_half_is_caught_with_its_neighbours() {
    must(Proof::bounded(down_half(), 12).composed().catches(&STANDS_TOO_EARLY));
}

#[test]
fn what_the_proofs_of_the_gateway_are_about_can_happen() {
    must(Proof::reachable(down(), 14).check());
    must(Proof::reachable(up(), 14).check());
}

#[test]
#[ignore = "long: other shapes"]
fn the_gateway_is_proved_in_other_shapes() {
    must(Proof::inductive(up().set("WIDTH", 128), 2).check());
    must(Proof::inductive(up().set("CREDITS", 4), 2).check());
    must(Proof::inductive(up().set("ISOLATE", 0), 2).check());
}

fn moves_a_beat_per_cycle(shapes: &[(u64, u64, u64, u64)]) {
    for &(width, gateways, isolate, fifo) in shapes {
        let simulation = simulated(width, gateways, 4, isolate, fifo);
        let report = must(simulation.run(&["--seed", "1", "--messages", "150"]));
        let in_time = if isolate == 0 { in_time::<0>(&report) } else { in_time::<1>(&report) };
        assert!(in_time, "at {width} bit: {report:?}");
        for rare in ["up_bad", "down_bad", "own", "dropped", "refused", "in_message"] {
            assert!(report.value(rare) > 5, "{rare} is too rare");
        }
    }
}

/// A beat per cycle, each message once, and what a message waits for besides.
fn in_time<const ISOLATE: u64>(report: &Report) -> bool {
    let value = |name: &str| report.value(name);
    let beats = value("beats");
    [value("up_cycles"), value("down_cycles")] == [beats; 2]
        // One transfer: the payload is read once, the frame is written once.
        && value("read_beats") == value("payload_beats")
        && value("write_beats") == beats
        && value("bytes_written") == value("frame_bytes")
        // Short messages: gathering costs a cycle of each whose payload begins and ends in
        // mid-beat.
        && value("short_cycles") <= value("short_beats") + 40
        // From a message's last beat to the doorbell: the memory's 40 cycles and the modules' own,
        // with isolation a burst's beats more.
        && ["short_arrival", "long_arrival"].iter().all(|it| value(it) <= 40 + 20 + 16 * ISOLATE)
}

#[test]
fn a_gateway_moves_one_beat_per_cycle_in_both_directions_and_each_message_once() {
    moves_a_beat_per_cycle(&[(64, 1, 0, 16), (64, 2, 1, 64)]);
}

#[test]
#[ignore = "long: the largest width"]
fn a_gateway_of_512_bit_moves_one_beat_per_cycle_in_both_directions() {
    moves_a_beat_per_cycle(&[(512, 2, 1, 512)]);
}

#[test]
#[ignore = "long: many seeds"]
fn gateways_agree_with_the_reference_model_for_many_seeds() {
    for (width, gateways, credits, isolate, fifo) in
        [(64, 1, 2, 1, 32), (128, 3, 4, 1, 512), (256, 2, 8, 0, 64), (512, 4, 2, 1, 128)]
    {
        let simulation = simulated(width, gateways, credits, isolate, fifo);
        for seed in 2..12 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "400"]));
        }
    }
}

const COMMIT_EARLY: Mutation = Mutation {
    what: "commit before the last write response",
    file: "memif_write.sv",
    from: "marks_level != '0 && answered == head_mark;",
    to: "marks_level != '0 && (answered == head_mark || answered + 1'b1 == head_mark);",
};

const ARRIVED_EARLY: Mutation = Mutation {
    what: "arrived before the write engine says so",
    file: "gateway_up.sv",
    from: "assign arrived_valid = (reported != completed);",
    to: "assign arrived_valid = (reported != used);",
};

const FILTER_INVERTED: Mutation = Mutation {
    what: "loop filter inverted",
    file: "gateway_up.sv",
    from: "wire own = (s_axis_tdata[31:16] == 16'(PUBLISHER_ID));",
    to: "wire own = (s_axis_tdata[31:16] != 16'(PUBLISHER_ID));",
};

const CREDIT_TWICE: Mutation = Mutation {
    what: "a credit is used twice",
    file: "gateway_up.sv",
    from: "if (begins) used <= used + 1'b1;",
    to: "if (begins && m_axis_tlast) used <= used + 1'b1;",
};

const PARTLY_DROPPED: Mutation = Mutation {
    what: "part of a message is dropped when credits run out",
    file: "gateway_up.sv",
    from: "dropping || (between && (own || (!has_credit && !reliable)));",
    to: "dropping || (between && own) || (!has_credit && !reliable);",
};

const NOT_ISOLATED: Mutation = Mutation {
    what: "a burst begins before its data is there",
    file: "gateway_up.sv",
    from: "begun || ends != '0 || level >= 21'(BURST_BEATS);",
    to: "begun || ends != '0 || level != '0;",
};

const ADDRESS_EARLY: Mutation = Mutation {
    what: "an address leaves before its data is there",
    file: "gateway_up.sv",
    from: "|| (ahead == 1 && next_entered);",
    to: "|| (ahead == 1);",
};

const SENT_EARLY: Mutation = Mutation {
    what: "memory is given back before it has been read",
    file: "gateway_down.sv",
    from: "(!read[report_place] || done_valid);",
    to: "1'b1;",
};

const UNMARKED: Mutation = Mutation {
    what: "segments that do not add up go unnoticed",
    file: "gateway_down.sv",
    from: "cuts || (close_empty ? left != '0 : (bytes != left || todo != 8'd1));",
    to: "cuts;",
};

const SEGMENT_LOST: Mutation = Mutation {
    what: "a segment is overwritten by the next one",
    file: "gateway_down.sv",
    from: "wire load = gathers && is_segment && good && (!held || offers);",
    to: "wire load = gathers && is_segment && good;",
};

/// What the proof of the write engine catches by itself is tried in its own tests.
#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_gateway_are_caught_by_simulation() {
    let simulation = simulated(64, 1, 2, 1, 64);
    for mutation in [COMMIT_EARLY, FILTER_INVERTED, CREDIT_TWICE, PARTLY_DROPPED] {
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_gateway_are_caught_by_proof() {
    for mutation in [ARRIVED_EARLY, FILTER_INVERTED, CREDIT_TWICE, PARTLY_DROPPED] {
        must(Proof::bounded(up(), 8).catches(&mutation));
    }
}

#[test]
#[ignore = "long: more faults"]
fn more_faults_of_the_gateway_are_caught_by_proof_and_simulation() {
    let simulation = simulated(64, 1, 2, 1, 64);
    for mutation in [ARRIVED_EARLY, NOT_ISOLATED, ADDRESS_EARLY, SENT_EARLY, UNMARKED, SEGMENT_LOST]
    {
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
    // The other two take a proof from reset longer than they are worth.
    must(Proof::bounded(up(), 8).catches(&NOT_ISOLATED));
    for mutation in [SENT_EARLY, UNMARKED] {
        must(Proof::bounded(down(), 7).catches(&mutation));
    }
}

/// What holds the halves and the engines together has no proof of its own: the simulation does.
const WIRING: [Mutation; 7] = [
    Mutation {
        what: "the stalls of one direction stand for those of the other",
        file: "gateway.sv",
        from: "4'd7: register_read_data <= 64'(down_stall);",
        to: "4'd7: register_read_data <= 64'(up_stall);",
    },
    Mutation {
        what: "errors of the read engine do not reach the host",
        file: "gateway.sv",
        from: ".done_error    (read_done_error)",
        to: ".done_error    (1'b0)",
    },
    Mutation {
        what: "ends of messages are counted behind the FIFO",
        file: "gateway.sv",
        from: ".entering_last    (s_axis_tlast)",
        to: ".entering_last    (queued_tlast)",
    },
    Mutation {
        what: "addresses leave though they are held",
        file: "gateway.sv",
        from: "assign m_axi_awvalid = address_valid && address_open;",
        to: "assign m_axi_awvalid = address_valid;",
    },
    Mutation {
        what: "a message that has begun is taken for one that has ended",
        file: "gateway.sv",
        from: "in_message <= !s_axis_tlast;",
        to: "in_message <= 1'b0;",
    },
    Mutation {
        what: "refused messages stand for damaged ones",
        file: "gateway.sv",
        from: "4'd5: register_read_data <= 64'(down_damaged);",
        to: "4'd5: register_read_data <= 64'(down_refused);",
    },
    Mutation {
        what: "messages are dropped though the topic is reliable",
        file: "gateway.sv",
        from: "reliable <= RELIABLE;",
        to: "reliable <= 1'b0;",
    },
];

#[test]
#[ignore = "long: faults of the wiring"]
fn faults_of_the_gateways_wiring_are_caught_by_simulation() {
    let simulation = simulated(64, 1, 2, 1, 64);
    for mutation in &WIRING {
        must(simulation.catches(mutation, &["--seed", "1"]));
    }
}

const TAGS: &str = "a gateway asks its engines for one message at a time, and looks at no tag";
const HARMLESS: [(&str, &str); 2] = [
    ("gateway.sv: `.desc_tag     (1'b0),`: line 1 of 2: `1'b0` becomes `1'b1`", TAGS),
    ("gateway.sv: `.desc_tag     (1'b0),`: line 2 of 2: `1'b0` becomes `1'b1`", TAGS),
];

/// Whole gateways in their testbench, which checks the halves and what joins them.
fn whole(module: &str) -> Mutants<'_> {
    Mutants::of(module)
        .simulated(simulated(64, 1, 2, 1, 64), &["--seed", "1"])
        .measured(simulated(64, 1, 4, 0, 16), &["--seed", "1"], in_time::<0>)
        .measured(simulated(64, 2, 4, 1, 64), &["--seed", "1"], in_time::<1>)
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_gateways_upper_half_are_found() {
    let proofs = [Proof::inductive(up(), 2), Proof::reachable(up(), 14)];
    whole("gateway_up").proved(proofs).are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_gateways_lower_half_are_found() {
    let proofs = [Proof::inductive(down(), 2), Proof::reachable(down(), 14)];
    whole("gateway_down").proved(proofs).are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_gateways_wiring_are_found() {
    whole("gateway").but(&HARMLESS).are_found();
}
