//! Three nodes in a row in both execution modes: the relation of phases that the modes stand for.

use crossdock_hardware_tests::{Design, Report, Simulation, lint, must};

fn chain(sequential: u64) -> Report {
    let design = Design::new("chain", &["testbench/chain", "node_shell", "axis_fifo"]);
    let design = design.set("SEQUENTIAL", sequential).set("MAX_BYTES", 8192);
    must(lint(&design));
    must(Simulation::new(design, "testbench/chain/chain_tb.cpp").run(&["--seed", "1"]))
}

#[test]
fn sequential_is_the_sum_of_all_phases_and_dataflow_the_longest_one_and_its_fill() {
    let (sequential, dataflow) = (chain(1), chain(0));
    // Per node: the cycles in which the shell hands over between phases, and through which it fills.
    let (between, fill) = (3 * 2, 3 * 4);
    for payload in [80, 800, 8000_u64] {
        let value = |report: &Report, what: &str| report.value(&format!("{what} {payload}"));
        let beats = value(&sequential, "beats");
        let computing = value(&sequential, "computing");
        // Four transfers: into the first node, between them, out of the last one.
        let phases = 4 * beats + computing;
        let (one, overlapped) = (value(&sequential, "cycles"), value(&dataflow, "cycles"));
        println!(
            "{payload} bytes, {beats} beats: sequential {one} cycles (phases {phases}), dataflow \
             {overlapped}; eleven messages {} and {}",
            value(&sequential, "eleven"),
            value(&dataflow, "eleven")
        );
        assert_eq!(computing, 3 * payload / 8);
        assert!((phases..=phases + between).contains(&one), "{one} cycles, phases {phases}");
        assert!((beats..=beats + fill).contains(&overlapped), "{overlapped} cycles, {beats} beats");
        // The next message follows without a gap where phases overlap.
        assert_eq!(value(&dataflow, "eleven") - overlapped, 10 * beats);
    }
}
