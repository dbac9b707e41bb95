//! Three nodes in a row in both execution modes: the relation of phases that the modes stand for.

use crossdock_hardware_tests::{Design, Report, Simulation, lint, must};

/// `beat_cycles`: in which the kernel of each node computes a beat.
fn chain(sequential: u64, beat_cycles: [u64; 3]) -> Report {
    let [first, second, third] = beat_cycles;
    let cycles = first | second << 8 | third << 16;
    let design = Design::new("chain", &["testbench/chain", "node_shell", "axis_fifo"]);
    let design = design.set("SEQUENTIAL", sequential).set("MAX_BYTES", 8192);
    let design = design.set("BEAT_CYCLES", cycles);
    must(lint(&design));
    must(Simulation::new(design, "testbench/chain/chain_tb.cpp").run(&["--seed", "1"]))
}

#[test]
fn sequential_is_the_sum_of_all_phases_and_dataflow_the_longest_one_and_its_fill() {
    for beat_cycles in [[1, 1, 1], [2, 3, 1]] {
        modes(beat_cycles);
    }
}

fn modes(beat_cycles: [u64; 3]) {
    let (sequential, dataflow) = (chain(1, beat_cycles), chain(0, beat_cycles));
    let slowest = beat_cycles.into_iter().max().expect("three nodes");
    // Per node, the cycle in which the shell hands over to its kernel.
    let between = 3;
    // Per node two cycles through its FIFO, and its kernel's time for one beat; but the slowest
    // kernel's is in the longest phase already, except for the cycle of the transfer.
    let fill = 3 * 2 + beat_cycles.iter().sum::<u64>() - slowest + 1;
    for payload in [80, 800, 8000_u64] {
        let value = |report: &Report, what: &str| report.value(&format!("{what} {payload}"));
        let beats = value(&sequential, "beats");
        let computing = value(&sequential, "computing");
        // Four transfers: into the first node, between them, out of the last one.
        let phases = 4 * beats + computing;
        let (one, overlapped) = (value(&sequential, "cycles"), value(&dataflow, "cycles"));
        let beats_of_payload = payload / 8;
        assert_eq!(computing, beat_cycles.iter().sum::<u64>() * beats_of_payload);
        assert_eq!(one, phases + between);
        // The header has three beats.
        let longest = 3 + slowest * beats_of_payload;
        assert_eq!(overlapped, longest + fill);
        // The next message follows without a gap where phases overlap: the slowest kernel computes
        // meanwhile, or its topic sends the header.
        let period = slowest * beats_of_payload + 4_u64.saturating_sub(slowest);
        assert_eq!(value(&dataflow, "eleven") - overlapped, 10 * period);
    }
}
