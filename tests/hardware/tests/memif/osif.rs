//! The queues and the doorbell between clients and host.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small() -> Design {
    let design = Design::module("osif").set("CLIENTS", 3).set("WORD_WIDTH", 64);
    design.set("UP_DEPTH", 2).set("DOWN_DEPTH", 2)
}

fn simulated(clients: u64, word: u64, up: u64, down: u64) -> Simulation {
    let design = Design::module("osif").set("CLIENTS", clients).set("WORD_WIDTH", word);
    let design = design.set("UP_DEPTH", up).set("DOWN_DEPTH", down);
    must(lint(&design));
    Simulation::new(design, "osif/osif_tb.cpp")
}

#[test]
#[ignore = "long: a minute of the solver"]
fn no_word_is_lost_and_the_doorbell_is_proved_to_ring_for_every_one() {
    must(Proof::inductive(small(), 2).check());
}

#[test]
fn what_the_proof_of_queues_and_doorbell_is_about_can_happen() {
    must(Proof::reachable(small(), 16).check());
}

#[test]
#[ignore = "long: other shapes"]
fn queues_and_doorbell_are_proved_in_other_shapes() {
    must(Proof::inductive(small().set("CLIENTS", 1), 3).check());
    must(Proof::inductive(small().set("UP_DEPTH", 8).set("DOWN_DEPTH", 4), 3).check());
    must(Proof::inductive(small().set("WORD_WIDTH", 128), 3).check());
}

#[test]
fn a_host_that_sleeps_between_rings_gets_every_word() {
    for (clients, word, up, down) in [(4, 128, 16, 8), (1, 64, 2, 2)] {
        let report = must(simulated(clients, word, up, down).run(&["--seed", "1"]));
        assert!(report.value("edges") < report.value("received"), "rings are not coalesced");
        assert!(report.value("delivered") > 50, "too few words go down");
        assert!(report.value("refused") > 10, "wrong writes are too rare");
    }
}

#[test]
#[ignore = "long: many seeds"]
fn a_host_that_sleeps_between_rings_gets_every_word_for_many_seeds() {
    for (clients, word, up, down) in [(2, 64, 64, 2), (9, 448, 8, 16)] {
        let simulation = simulated(clients, word, up, down);
        for seed in 2..10 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "5000"]));
        }
    }
}

/// An acknowledgement silences what came while the host was reading.
const WRONG_EVENT: Mutation = Mutation {
    what: "doorbell cleared by the wrong event",
    file: "osif.sv",
    from: "doorbell <= !acknowledge && up_level != '0;",
    to: "doorbell <= push || (doorbell && !acknowledge);",
};

const NEVER_SEEN: Mutation = Mutation {
    what: "an acknowledgement takes what the host has not seen",
    file: "osif.sv",
    from: "up_taken <= acknowledged;",
    to: "up_taken <= up_written;",
};

const NO_EDGE: Mutation = Mutation {
    what: "no edge after an acknowledgement",
    file: "osif.sv",
    from: "doorbell <= !acknowledge && up_level != '0;",
    to: "doorbell <= up_level != '0;",
};

const UNCHECKED: Mutation = Mutation {
    what: "the host may acknowledge what does not wait",
    file: "osif.sv",
    from: "(acknowledged - up_taken) <= up_level;",
    to: "(acknowledged - up_taken) <= up_level + 1;",
};

const OVERWRITTEN: Mutation = Mutation {
    what: "a word goes into a full queue",
    file: "osif.sv",
    from: "== i\n        && !down_full[i];",
    to: "== i;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_queues_and_doorbell_are_caught_by_proof_and_simulation() {
    let simulation = simulated(4, 128, 16, 8);
    for mutation in [WRONG_EVENT, NEVER_SEEN, NO_EDGE] {
        must(Proof::bounded(small(), 12).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
    // Its queues are full more often.
    must(Proof::bounded(small(), 12).catches(&OVERWRITTEN));
    must(simulated(1, 64, 2, 2).catches(&OVERWRITTEN, &["--seed", "1"]));
    // One entry too many is beyond what the simulated host tries.
    must(Proof::bounded(small(), 12).catches(&UNCHECKED));
}

const NO_REGISTER: &str = "registers that the map does not have may say anything";

const HARMLESS: [(&str, &str); 2] = [
    ("osif.sv: `default: register_read_data <= '0;`: `'0` becomes `'1`", NO_REGISTER),
    (
        "osif.sv: `entry_part = (register_address[3:0] == '0) ? 64'(entry[WORD_WIDTH +: Number]) : '0;`: 2 of 2 \
         `'0` becomes `'1`",
        NO_REGISTER,
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_queues_and_doorbell_are_found() {
    Mutants::of("osif")
        .simulated(simulated(4, 128, 16, 8), &["--seed", "1"])
        .simulated(simulated(1, 64, 2, 2), &["--seed", "1"])
        .proved([Proof::inductive(small(), 2), Proof::reachable(small(), 16)])
        .but(&HARMLESS)
        .are_found();
}
