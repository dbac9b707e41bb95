//! The bridge from AXI4-Lite to a board's registers, and the words behind it, some of them of
//! another clock.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn bridge(status: u64, control: u64, clocks: u64) -> Design {
    let design = Design::module("register_bridge").set("STATUS", status).set("CONTROL", control);
    design.set("CLOCKS", clocks)
}

fn words(status: u64, control: u64) -> Design {
    Design::module("register_words").set("STATUS", status).set("CONTROL", control)
}

fn simulated(status: u64, control: u64) -> Simulation {
    let parts = ["testbench/registers", "register_bridge", "register_words", "axis_cdc"];
    let design = Design::new("registers", &parts).set("STATUS", status).set("CONTROL", control);
    must(lint(&design));
    Simulation::new(design, "testbench/registers/registers_tb.cpp")
}

#[test]
fn each_access_is_proved_to_reach_its_register_once_and_to_be_answered_once() {
    must(lint(&bridge(2, 0, 1)));
    must(lint(&bridge(4096, 4096, 3)));
    must(Proof::inductive(bridge(3, 2, 2), 2).check());
    must(Proof::inductive(bridge(2, 0, 1), 2).check());
}

#[test]
fn words_are_proved_to_hold_what_was_written_and_to_tell_what_they_hold() {
    must(lint(&words(4, 1)));
    must(Proof::inductive(words(3, 2), 2).check());
}

#[test]
fn what_the_proofs_of_the_bridge_and_its_words_are_about_can_happen() {
    must(Proof::reachable(bridge(3, 2, 2), 12).check());
    must(Proof::reachable(words(3, 2), 8).check());
}

#[test]
fn registers_of_two_clocks_are_read_and_written_under_stalls() {
    let report = must(simulated(5, 3).run(&["--seed", "1"]));
    assert!(report.value("refused") > 500, "wrong accesses are too rare");
    assert_eq!(report.value("port_cycles"), 3);
    // There and back through two registers of a crossing each.
    assert!(report.value("word_cycles") <= 16, "{}", report.value("word_cycles"));
}

const STARVED: Mutation = Mutation {
    what: "reads wait as long as there are writes",
    file: "register_bridge.sv",
    from: "wire         write_turn = write_waits && (!s_axil_arvalid || !wrote);",
    to: "wire         write_turn = write_waits;",
};

const IN_PART: Mutation = Mutation {
    what: "a write of some bytes is one of all",
    file: "register_bridge.sv",
    from: "wire         is_good = write_turn ? (&s_axil_wstrb) && (is_port || is_control)",
    to: "wire         is_good = write_turn ? (|s_axil_wstrb) && (is_port || is_control)",
};

const ONE_BEHIND: Mutation = Mutation {
    what: "a word behind the last one is there",
    file: "register_bridge.sv",
    from: "32'(next_word[11:0]) < STATUS;",
    to: "32'(next_word[11:0]) <= STATUS;",
};

const TOO_EARLY: Mutation = Mutation {
    what: "an access ends when one clock has answered",
    file: "register_bridge.sv",
    from: "if (&(answered | answers)) step <= Answer;",
    to: "if (|(answered | answers)) step <= Answer;",
};

const VALUE_EARLY: Mutation = Mutation {
    what: "a register is read a cycle early",
    file: "register_bridge.sv",
    from: "Port: step <= writes ? Answer : Read;",
    to: "Port: begin step <= Answer; if (!writes) data <= register_read_data; end",
};

const ALL_BITS: Mutation = Mutation {
    what: "bits that are not kept are",
    file: "register_words.sv",
    from: "control[i*64 +: 64] <= request_data & keeps[i*64 +: 64];",
    to: "control[i*64 +: 64] <= request_data;",
};

const ANYBODYS: Mutation = Mutation {
    what: "words of another clock are read",
    file: "register_words.sv",
    from: "32'(request_number[11:0]) == i && reads[i])",
    to: "32'(request_number[11:0]) == i)",
};

const TWICE: Mutation = Mutation {
    what: "a request is taken while an answer waits",
    file: "register_words.sv",
    from: "assign request_ready = !answer_valid;",
    to: "assign request_ready = 1'b1;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_bridge_are_caught_by_proof_and_simulation() {
    let simulation = simulated(5, 3);
    for mutation in [IN_PART, ONE_BEHIND, TOO_EARLY, VALUE_EARLY] {
        must(Proof::bounded(bridge(3, 2, 2), 6).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
    // A host that waits long enough is no wrong one, so that only the proof sees it.
    must(Proof::bounded(bridge(3, 2, 2), 10).catches(&STARVED));
}

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_words_are_caught_by_proof_and_simulation() {
    let simulation = simulated(5, 3);
    for mutation in [ALL_BITS, ANYBODYS] {
        must(Proof::bounded(words(3, 2), 6).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
    // The bridge sends a request only when the one before is answered.
    must(Proof::bounded(words(3, 2), 6).catches(&TWICE));
}

const EITHER: &str = "a write and a read that wait together behind a reset: either may go first";

const HARMLESS: [(&str, &str); 3] = [
    ("register_bridge.sv: `wrote <= 1'b0;`: `1'b0` becomes `1'b1`", EITHER),
    ("register_bridge.sv: `wrote <= 1'b0;`: `wrote <= 1'b0;` becomes `;`", EITHER),
    (
        "register_bridge.sv: `assign answer_ready = step == Words ? asked & ~answered : '0;`: \
         `&` becomes `|`",
        "a clock answers once, after it has taken the request",
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_bridge_are_found() {
    Mutants::of("register_bridge")
        .proved([Proof::inductive(bridge(3, 2, 2), 2), Proof::inductive(bridge(2, 0, 1), 2)])
        .proved([Proof::reachable(bridge(3, 2, 2), 12)])
        .but(&HARMLESS)
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_words_are_found() {
    Mutants::of("register_words")
        .simulated(simulated(5, 3), &["--seed", "1"])
        .proved([Proof::inductive(words(3, 2), 2), Proof::reachable(words(3, 2), 8)])
        .are_found();
}
