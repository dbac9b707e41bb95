//! The shell round a hardware node's kernel.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small(sequential: u64) -> Design {
    let design = Design::module("node_shell").set("SEQUENTIAL", sequential).set("IN_FLIGHT", 2);
    design.set("MAX_BYTES", 24).set("MAX_OUTPUT_BYTES", 24)
}

fn simulated(sequential: u64, latest: u64) -> Simulation {
    let design = Design::module("node_shell").set("SEQUENTIAL", sequential).set("LATEST", latest);
    let design = design.set("MAX_BYTES", 250).set("MAX_OUTPUT_BYTES", 140);
    let design = design.set("PUBLISHER_ID", 4711);
    must(lint(&design));
    Simulation::new(design, "node_shell/node_shell_tb.cpp")
}

#[test]
#[ignore = "long: a minute of the solver"]
fn the_shell_is_proved_to_keep_messages_whole_and_their_lengths() {
    must(Proof::inductive(small(0), 3).check());
    must(Proof::inductive(small(1), 3).check());
}

#[test]
fn what_the_shells_proof_is_about_can_happen() {
    must(Proof::reachable(small(0), 20).check());
}

#[test]
fn the_shell_gives_kernel_and_topic_what_the_reference_model_says_under_stalls() {
    for (sequential, latest) in [(0, 2), (1, 0)] {
        let report = must(simulated(sequential, latest).run(&["--seed", "1"]));
        assert!(report.value("beats") <= report.value("busy"));
    }
}

#[test]
#[ignore = "long: many seeds"]
fn the_shell_does_what_the_reference_model_says_for_many_seeds() {
    for (sequential, latest) in [(0, 4), (0, 1), (1, 1)] {
        let simulation = simulated(sequential, latest);
        for seed in 2..12 {
            must(simulation.run(&["--seed", &seed.to_string(), "--messages", "2000"]));
        }
    }
}

const STAMP_OF_ANOTHER: Mutation = Mutation {
    what: "an output carries the stamp of the newest input",
    file: "node_shell.sv",
    from: "OutThird: m_axis_tdata = flight_stamp[oldest];",
    to: "OutThird: m_axis_tdata = kernel_stamp;",
};

const NOT_MARKED: Mutation = Mutation {
    what: "what comes of a damaged input is not marked",
    file: "node_shell.sv",
    from: "(out_overlong || out_short || flight_damaged[oldest]",
    to: "(out_overlong || out_short",
};

const ENDS_EARLY: Mutation = Mutation {
    what: "an output ends before its input has",
    file: "node_shell.sv",
    from: "kernel_out_tvalid && (!out_last || out_ended) && may_send;",
    to: "kernel_out_tvalid && may_send;",
};

const NOT_CUT: Mutation = Mutation {
    what: "a kernel that says too much is not cut",
    file: "node_shell.sv",
    from: "out_last = kernel_out_tlast || out_at_end;",
    to: "out_last = kernel_out_tlast;",
};

const NO_ROOM: Mutation = Mutation {
    what: "one message more is begun than there is room for",
    file: "node_shell.sv",
    from: ": !under_way[LogDepth];",
    to: ": (under_way <= (LogDepth+1)'(Depth));",
};

const PHASES_OVERLAP: Mutation = Mutation {
    what: "sequential sends before the kernel has computed",
    file: "node_shell.sv",
    from: "out_ended && kernel_done)",
    to: "out_ended)",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_shell_are_caught_by_proof_and_simulation() {
    let overlapped = [STAMP_OF_ANOTHER, NOT_MARKED, ENDS_EARLY, NOT_CUT, NO_ROOM];
    let overlapped = overlapped.map(|mutation| (0, mutation));
    for (sequential, mutation) in overlapped.into_iter().chain([(1, PHASES_OVERLAP)]) {
        must(Proof::bounded(small(sequential), 20).catches(&mutation));
        must(simulated(sequential, 0).catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_shell_are_found() {
    Mutants::of("node_shell")
        .simulated(simulated(0, 2), &["--seed", "1"])
        .simulated(simulated(1, 0), &["--seed", "1"])
        .proved([0, 1].map(|sequential| Proof::inductive(small(sequential), 3)))
        .proved([Proof::reachable(small(0), 20)])
        .are_found();
}
