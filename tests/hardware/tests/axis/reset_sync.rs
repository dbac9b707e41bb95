//! The reset synchroniser. Its proof says of every cycle what its output is: it has no simulation.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, lint, must};

fn module() -> Design {
    Design::module("reset_sync")
}

#[test]
fn a_reset_is_proved_to_be_what_was_requested_and_to_last() {
    for (sync, hold) in [(2, 8), (4, 2), (3, 64)] {
        let design = module().set("SYNC", sync).set("HOLD", hold);
        must(lint(&design));
        must(Proof::inductive(design, 2).check());
    }
    must(Proof::reachable(module(), 16).check());
}

const FAULTS: [Mutation; 3] = [
    Mutation {
        what: "the request is used after one register",
        file: "reset_sync.sv",
        from: "holding <= crossing[SYNC-1] ?",
        to: "holding <= crossing[0] ?",
    },
    Mutation {
        what: "the reset does not last",
        file: "reset_sync.sv",
        from: "assign rst = holding[HOLD-1];",
        to: "assign rst = holding[HOLD-2];",
    },
    Mutation {
        what: "there is no reset at the beginning",
        file: "reset_sync.sv",
        from: "logic [HOLD-1:0] holding = '1;",
        to: "logic [HOLD-1:0] holding = '0;",
    },
];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_reset_synchroniser_are_caught_by_proof() {
    for fault in &FAULTS {
        must(Proof::bounded(module(), 14).catches(fault));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_reset_synchroniser_are_found() {
    let proofs = [Proof::inductive(module(), 2), Proof::reachable(module(), 16)];
    Mutants::of("reset_sync").proved(proofs).are_found();
}
