//! The lease of a host, and the restart for the next one.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn lease(clocks: u64, hold: u64) -> Design {
    Design::module("host_lease").set("CLOCKS", clocks).set("HOLD", hold)
}

fn simulated(clocks: u64, hold: u64) -> Simulation {
    must(lint(&lease(clocks, hold)));
    Simulation::new(lease(clocks, hold), "host_lease/host_lease_tb.cpp")
}

#[test]
fn a_lease_that_is_over_is_proved_to_stop_memory_and_a_restart_to_reset_all_clocks_together() {
    must(lint(&lease(0, 8)));
    must(Proof::inductive(lease(0, 8), 2).check());
    must(Proof::inductive(lease(2, 4), 2).check());
    must(Proof::reachable(lease(2, 4), 14).check());
}

#[test]
fn a_host_that_forgets_its_lease_and_one_that_restarts_see_what_the_reference_model_says() {
    for clocks in [1, 3] {
        let report = must(simulated(clocks, 8).run(&["--seed", "1"]));
        for rare in ["restarts", "ran_out"] {
            assert!(report.value(rare) > 50, "{rare} is too rare");
        }
    }
}

#[test]
#[ignore = "long: other shapes"]
fn a_lease_is_proved_in_other_shapes() {
    must(Proof::inductive(lease(63, 64), 2).check());
    must(Proof::inductive(lease(1, 8), 2).check());
}

const LATE_STOP: Mutation = Mutation {
    what: "clocks are reset before memory is at rest",
    file: "host_lease.sv",
    from: "restart <= stopped;",
    to: "restart <= 1'b1;",
};

const ANY_CLOCK: Mutation = Mutation {
    what: "one clock in reset stands for all",
    file: "host_lease.sv",
    from: "wire all_reset = CLOCKS == 0 || (&others);",
    to: "wire all_reset = CLOCKS == 0 || (|others);",
};

const OUT_EARLY: Mutation = Mutation {
    what: "memory is let through while a clock is in reset",
    file: "host_lease.sv",
    from: "end else if (none_reset) begin",
    to: "end else begin",
};

const NEVER_OVER: Mutation = Mutation {
    what: "a lease that is over begins anew",
    file: "host_lease.sv",
    from: "wire counts = lease != Endless && !over;",
    to: "wire counts = lease != Endless;",
};

const KEPT: Mutation = Mutation {
    what: "the old lease outlives a restart",
    file: "host_lease.sv",
    from: "if (ask) lease <= Endless;\n    else if",
    to: "if",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_lease_are_caught_by_proof_and_simulation() {
    let simulation = simulated(3, 8);
    for mutation in [LATE_STOP, ANY_CLOCK, OUT_EARLY, NEVER_OVER, KEPT] {
        must(Proof::bounded(lease(2, 4), 14).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_lease_are_found() {
    Mutants::of("host_lease")
        .simulated(simulated(3, 8), &["--seed", "1"])
        .proved([Proof::inductive(lease(2, 4), 2), Proof::inductive(lease(0, 8), 2)])
        .proved([Proof::reachable(lease(2, 4), 14)])
        .are_found();
}
