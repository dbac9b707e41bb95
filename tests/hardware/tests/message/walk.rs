//! The two modules that walk along payloads: proofs for any program, faults, cost.

use crate::random::Lengths;
use crate::{Case, NESTED, flat};
use crossdock_hardware_tests::budget::{area_within_budget, rate_within_budget};
use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, must};

fn design(module: &str, width: u64) -> Design {
    Design::module(module).set("WIDTH", width)
}

#[test]
#[ignore = "long: a minute of the solver"]
fn taking_is_proved_for_any_program() {
    must(Proof::inductive(design("frame_take", 64), 4).check());
}

#[test]
#[ignore = "long: a minute of the solver"]
fn publishing_is_proved_for_any_program() {
    must(Proof::inductive(design("frame_publish", 64), 4).check());
}

#[test]
fn what_the_proofs_are_about_happens() {
    for module in ["frame_take", "frame_publish"] {
        must(Proof::reachable(design(module, 64), 14).check());
    }
}

const TAKE_FAULTS: [Mutation; 5] = [
    Mutation {
        what: "lengths may be one above their bounds",
        file: "frame_take.sv",
        from: "number[31:0] > op_count) wrong",
        to: "number[31:0] > op_count + 1) wrong",
    },
    Mutation {
        what: "bytes behind the message are let pass",
        file: "frame_take.sv",
        from: "if (beyond_end) wrong = FaultLong;",
        to: "if (1'b0) wrong = FaultLong;",
    },
    Mutation {
        what: "the length in the header is not looked at",
        file: "frame_take.sv",
        from: "else if (frame_bytes != header_payload_bytes + 32'd24) wrong = FaultLength;",
        to: "else if (1'b0) wrong = FaultLength;",
    },
    Mutation {
        what: "a cut frame is waited for",
        file: "frame_take.sv",
        from: "end else if (ended) wrong = FaultShort;",
        to: "end else if (1'b0) wrong = FaultShort;",
    },
    Mutation {
        what: "the last word of data is used up whole",
        file: "frame_take.sv",
        from: "pop = (data_ends && data_rest != 3'd0) ? data_words - CountWidth'(1) : data_words;",
        to: "pop = data_words;",
    },
];

const PUBLISH_FAULTS: [Mutation; 2] = [
    Mutation {
        what: "padding behind data keeps what was there",
        file: "frame_publish.sv",
        from: "data[8*i +: 8] = (BytesWidth'(i) < data_bytes) ? give_data[8*i +: 8] : 8'd0;",
        to: "data[8*i +: 8] = give_data[8*i +: 8];",
    },
    Mutation {
        what: "a full beat does not wait for what follows",
        file: "frame_publish.sv",
        from: "assign m_axis_tvalid = (count > CountWidth'(Words)) || ended;",
        to: "assign m_axis_tvalid = (count >= CountWidth'(Words)) || ended;",
    },
];

/// The proofs are for any program, and say nothing of how two runs of the same one agree.
const LENGTH_WITHOUT_PADDING: Mutation = Mutation {
    what: "the length leaves the alignment out",
    file: "frame_publish.sv",
    from: "(op_kind == KindAlign) ? at_place : at;",
    to: "(op_kind == KindAlign) ? at : at;",
};

/// A small type with all kinds of padding.
const SMALL: &str = "uint8 a\nuint16[] numbers\nE e\nuint64 last\n===\n\
                     MSG: test_msgs/E\nuint8 a\nfloat64 b\nuint8 c\n";

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_are_noticed_by_simulation() {
    let case = Case::text("small", SMALL, 64).bounded("numbers", 50);
    let simulation = case.simulation(Lengths::UpTo(40), 12);
    for fault in TAKE_FAULTS.iter().chain(&PUBLISH_FAULTS).chain([&LENGTH_WITHOUT_PADDING]) {
        must(simulation.catches(fault, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_are_noticed_by_proof() {
    for fault in &TAKE_FAULTS {
        must(Proof::bounded(design("frame_take", 64), 12).catches(fault));
    }
    for fault in &PUBLISH_FAULTS {
        // Without the first run of the program, which is two cycles more.
        must(Proof::bounded(design("frame_publish", 64).set("MEASURE", 0), 10).catches(fault));
    }
}

#[test]
#[ignore = "long: synthesis of the engine"]
fn walking_takes_no_more_area_than_its_budget() {
    for module in ["frame_take", "frame_publish"] {
        must(area_within_budget(&design(module, 64)));
    }
}

#[test]
#[ignore = "long: synthesis of the largest width, place and route"]
fn walking_at_the_largest_width_keeps_its_budget_and_none_is_slower() {
    for module in ["frame_take", "frame_publish"] {
        must(area_within_budget(&design(module, 512)));
        must(rate_within_budget(&design(module, 64)));
    }
}

/// Messages of all kinds of fields, at the narrowest width and at the widest.
fn walked(module: &str) -> Mutants<'_> {
    let small = Case::text("small", SMALL, 64).bounded("numbers", 50);
    let all = [small, flat(64), Case::text("nested", NESTED, 512)];
    let simulations = all.map(|case| case.simulation(Lengths::UpTo(40), 12)).into_iter();
    simulations
        .fold(Mutants::of(module), |all, simulation| all.simulated(simulation, &["--seed", "1"]))
        .proved([Proof::inductive(design(module, 64), 4), Proof::reachable(design(module, 64), 14)])
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_taking_are_found() {
    walked("frame_take").are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_publishing_are_found() {
    walked("frame_publish").are_found();
}
