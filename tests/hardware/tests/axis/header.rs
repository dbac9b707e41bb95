//! The header in front of a payload.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn framer(width: u64) -> Design {
    Design::module("axis_header").set("WIDTH", width)
}

fn simulated(width: u64) -> Simulation {
    must(lint(&framer(width)));
    Simulation::new(framer(width), "axis_header/axis_header_tb.cpp")
}

#[test]
#[ignore = "long: a minute of the solver"]
fn every_word_of_header_and_payload_is_proved_to_be_in_its_place() {
    for width in [64, 128] {
        must(Proof::inductive(framer(width), 2).check());
    }
}

#[test]
#[ignore = "long: the widest beats"]
fn every_word_is_proved_to_be_in_its_place_in_the_widest_beats() {
    for width in [256, 512] {
        must(Proof::inductive(framer(width), 2).check());
    }
}

#[test]
fn what_the_proof_of_headers_is_about_can_happen() {
    must(Proof::reachable(framer(128), 12).check());
}

#[test]
fn frames_follow_each_other_without_a_gap_and_are_packed_at_every_width() {
    for width in [64, 128, 256, 512] {
        let report = must(simulated(width).run(&["--seed", "1"]));
        assert_eq!(report.value("cycles"), report.value("beats"), "at {width} bit");
        assert!(report.value("empty") > 100 && report.value("damaged") > 100);
    }
}

#[test]
#[ignore = "long: many seeds"]
fn frames_agree_with_the_reference_model_for_many_seeds() {
    for width in [64, 128, 256, 512] {
        let simulation = simulated(width);
        for seed in 2..10 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "10000"]));
        }
    }
}

const END_LOST: Mutation = Mutation {
    what: "the end that is pushed over a beat is lost",
    file: "axis_header.sv",
    from: "flush <= s_axis_tlast && over;",
    to: "flush <= 1'b0;",
};

const DAMAGE_FORGOTTEN: Mutation = Mutation {
    what: "damage is not passed on where the end is pushed over",
    file: "axis_header.sv",
    from: "flush_user <= s_axis_tuser || header_damaged;",
    to: "flush_user <= s_axis_tuser;",
};

const EMPTY_TAKES: Mutation = Mutation {
    what: "a frame without payload takes that of the next",
    file: "axis_header.sv",
    from: "header_valid && !header_empty && !in_front && !flush && m_axis_tready;",
    to: "header_valid && !in_front && !flush && m_axis_tready;",
};

const HEADER_TWICE: Mutation = Mutation {
    what: "every beat carries a part of the header",
    file: "axis_header.sv",
    from: "carried ? carry : header[191 -: Carry]};",
    to: "header[191 -: Carry]};",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_headers_are_caught_by_proof_and_simulation() {
    let simulation = simulated(128);
    for mutation in [END_LOST, DAMAGE_FORGOTTEN, EMPTY_TAKES, HEADER_TWICE] {
        must(Proof::bounded(framer(128), 10).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_headers_are_found() {
    Mutants::of("axis_header")
        .simulated(simulated(64), &["--seed", "1"])
        .simulated(simulated(512), &["--seed", "1"])
        .proved([64, 128].map(|width| Proof::inductive(framer(width), 2)))
        .proved([Proof::reachable(framer(128), 12)])
        .are_found();
}
