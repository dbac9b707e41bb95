//! Small changes of modules of `hw/`, chosen by a seed: the module's own proofs and simulations
//! have to notice at least 95 %. `CROSSDOCK_SEED` repeats a sample, `MUTANTS` says how many are
//! tried.
#![allow(missing_docs)]

use crossdock_hardware_tests::{Design, Mutants, Proof, Simulation, changed_lines};

/// A module with what its short tests do: simulations of these designs, and proofs.
fn mutants<'a>(module: &'a str, simulated: Vec<Design>, proofs: Vec<Proof>) -> Mutants<'a> {
    let testbench = format!("{module}/{module}_tb.cpp");
    let simulations = simulated.into_iter().map(|design| Simulation::new(design, &testbench));
    let simulations = simulations.map(|simulation| (simulation, vec!["--seed", "1"])).collect();
    Mutants { module, simulations, proofs, harmless: &[] }
}

#[test]
fn a_line_is_changed_at_each_operator_condition_and_statement() {
    assert_eq!(
        changed_lines("    if (a && !b) c <= d;"),
        ["    if (a || !b) c <= d;", "    if (a && b) c <= d;", "    if (!(a && !b)) c <= d;"]
    );
    let constants = changed_lines("  x <= '0;  // a && b");
    assert_eq!(constants, ["  x <= '1;  // a && b", "  ;  // a && b"]);
    assert_eq!(changed_lines("  wire y = (a != b);"), ["  wire y = (a == b);"]);
    assert!(changed_lines("  localparam int unsigned N = A + 1;").is_empty());
    assert!(changed_lines("  mem[i +: 4];").is_empty());
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_register_slice_find_its_mutants() {
    let design = Design::module("axis_reg").set("WIDTH", 64);
    let proofs = vec![Proof::inductive(design.clone(), 4), Proof::reachable(design.clone(), 10)];
    let found = mutants("axis_reg", vec![design.clone(), design.clone().set("WIDTH", 512)], proofs);
    println!("{:#?}", found.survivors(&design));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_fifo_find_its_mutants() {
    let sized = |width, depth| Design::module("axis_fifo").set("WIDTH", width).set("DEPTH", depth);
    let small = Design::module("axis_fifo").set("DEPTH", 4);
    let proofs = vec![Proof::inductive(small.clone(), 4), Proof::reachable(small.clone(), 20)];
    let found = mutants("axis_fifo", vec![sized(64, 16), sized(512, 4)], proofs);
    println!("{:#?}", found.survivors(&small));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_width_converter_find_its_mutants() {
    let design = |from, to| Design::module("axis_width").set("S_WIDTH", from).set("M_WIDTH", to);
    let simulated = [(64, 512), (512, 64), (128, 64)].map(|(from, to)| design(from, to)).into();
    let proofs = vec![
        Proof::inductive(design(64, 256), 4),
        Proof::inductive(design(256, 64), 4),
        Proof::reachable(design(64, 256), 14),
        Proof::reachable(design(256, 64), 14),
    ];
    println!("{:#?}", mutants("axis_width", simulated, proofs).survivors(&design(64, 256)));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_clock_crossing_find_its_mutants() {
    let design = |width, depth| Design::module("axis_cdc").set("WIDTH", width).set("DEPTH", depth);
    let small = Design::module("axis_cdc").set("DEPTH", 4);
    let proofs = vec![
        Proof::inductive(small.clone(), 3).several_clocks(),
        Proof::reachable(small.clone(), 24).several_clocks(),
    ];
    let found = mutants("axis_cdc", vec![design(64, 16), design(512, 16)], proofs);
    println!("{:#?}", found.survivors(&small));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_probe_find_its_mutants() {
    let design = |bits| Design::module("axis_probe").set("COUNT_WIDTH", bits);
    let proofs = vec![Proof::inductive(design(16), 3), Proof::reachable(design(16), 12)];
    let found = mutants("axis_probe", vec![design(16), design(64)], proofs);
    println!("{:#?}", found.survivors(&design(16)));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_event_count_find_its_mutants() {
    let design = |bits| Design::module("event_count").set("COUNT_WIDTH", bits);
    let proofs = vec![Proof::inductive(design(16), 2), Proof::reachable(design(3), 16)];
    let found = mutants("event_count", vec![design(4), design(16)], proofs);
    println!("{:#?}", found.survivors(&design(16)));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_reset_synchroniser_find_its_mutants() {
    let design = Design::module("reset_sync");
    let proofs = vec![Proof::inductive(design.clone(), 2), Proof::reachable(design.clone(), 16)];
    println!("{:#?}", mutants("reset_sync", vec![], proofs).survivors(&design));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_hosts_port_find_its_mutants() {
    let port = |gateways, address_width| {
        let design = Design::module("host_port").set("GATEWAYS", gateways);
        design.set("ADDRESS_WIDTH", address_width)
    };
    let proofs = vec![
        Proof::inductive(port(3, 16), 2),
        Proof::inductive(port(64, 48), 2),
        Proof::reachable(port(3, 16), 8),
    ];
    println!("{:#?}", mutants("host_port", vec![], proofs).survivors(&port(3, 16)));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_register_bridge_find_its_mutants() {
    let bridge = |status, control, clocks| {
        let design = Design::module("register_bridge").set("STATUS", status);
        design.set("CONTROL", control).set("CLOCKS", clocks)
    };
    let proofs = vec![
        Proof::inductive(bridge(3, 2, 2), 2),
        Proof::inductive(bridge(2, 0, 1), 2),
        Proof::reachable(bridge(3, 2, 2), 12),
    ];
    println!("{:#?}", mutants("register_bridge", vec![], proofs).survivors(&bridge(3, 2, 2)));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_register_words_find_its_mutants() {
    let words = Design::module("register_words").set("STATUS", 3).set("CONTROL", 2);
    let proofs = vec![Proof::inductive(words.clone(), 2), Proof::reachable(words.clone(), 8)];
    println!("{:#?}", mutants("register_words", vec![], proofs).survivors(&words));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_lease_find_its_mutants() {
    let lease = |clocks, hold| Design::module("host_lease").set("CLOCKS", clocks).set("HOLD", hold);
    let proofs = vec![
        Proof::inductive(lease(2, 4), 2),
        Proof::inductive(lease(0, 8), 2),
        Proof::reachable(lease(2, 4), 14),
    ];
    println!("{:#?}", mutants("host_lease", vec![lease(3, 8)], proofs).survivors(&lease(2, 4)));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_stop_find_its_mutants() {
    let small = Design::module("memif_stop").set("ADDRESS_WIDTH", 13).set("OUTSTANDING", 2);
    let simulated = Design::module("memif_stop").set("WIDTH", 64).set("OUTSTANDING", 64);
    let proofs = vec![Proof::inductive(small.clone(), 2), Proof::reachable(small.clone(), 12)];
    let unasked = "memory answers for bursts that it has, and for no others";
    let found = Mutants {
        harmless: &[
            (
                "memif_stop.sv: `assign s_axi_bvalid = m_axi_bvalid && aw_open != '0;`: `'0` \
                 becomes `'1`",
                unasked,
            ),
            (
                "memif_stop.sv: `assign s_axi_rvalid = m_axi_rvalid && ar_open != '0;`: `'0` \
                 becomes `'1`",
                unasked,
            ),
        ],
        ..mutants("memif_stop", vec![simulated], proofs)
    };
    println!("{:#?}", found.survivors(&small));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_the_byte_gear_find_its_mutants() {
    let gear = Design::module("byte_gear");
    let small = gear.clone().set("LANE", 2);
    let proofs = vec![Proof::inductive(small.clone(), 3), Proof::reachable(small, 14)];
    let simulation = Simulation::new(gear.clone(), "kernels/byte_gear/byte_gear_tb.cpp");
    let simulations = vec![(simulation, vec!["--seed", "1"])];
    let found = Mutants { module: "byte_gear", simulations, proofs, harmless: &[] };
    println!("{:#?}", found.survivors(&gear));
}

#[test]
#[ignore = "long: mutants"]
fn the_simulations_of_the_band_remap_find_its_mutants() {
    let design = Design::new("band_remap", &["band_remap", "byte_gear"]);
    let design = design.set("MAX_WIDTH", 21).set("BAND", 4);
    let simulation = Simulation::new(design.clone(), "kernels/band_remap/band_remap_tb.cpp");
    let simulations = [vec!["--seed", "1"], vec!["--stalls", "0", "--pictures", "4"]];
    let simulations = simulations.map(|it| (simulation.clone(), it)).into();
    let found = Mutants { module: "band_remap", simulations, proofs: Vec::new(), harmless: &[] };
    println!("{:#?}", found.survivors(&design));
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_the_line_window_find_its_mutants() {
    let lines = |reach| {
        let design = Design::module("line_window").set("REACH", reach).set("WIDTH", 2);
        design.set("COLUMNS", 2).set("ROW_BITS", 2)
    };
    let proofs = vec![
        Proof::inductive(lines(1), 4),
        Proof::inductive(lines(2), 4),
        Proof::reachable(lines(1), 16),
    ];
    println!("{:#?}", mutants("line_window", vec![], proofs).survivors(&lines(1)));
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_the_row_window_find_its_mutants() {
    let row = |channels, reach| {
        let design = Design::module("row_window").set("CHANNELS", channels).set("LANE", 2);
        design.set("REACH", reach)
    };
    let proofs = vec![
        Proof::bounded(row(3, 2), 8),
        Proof::bounded(row(1, 3), 8),
        Proof::reachable(row(3, 2), 10),
    ];
    println!("{:#?}", mutants("row_window", vec![], proofs).survivors(&row(3, 2)));
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_the_picture_check_find_its_mutants() {
    let check = |channels, max_bytes| {
        let design = Design::module("picture_check").set("CHANNELS", channels);
        design.set("MAX_BYTES", max_bytes).set("MAX_ROW_BYTES", max_bytes / 2)
    };
    let proofs = vec![
        Proof::bounded(check(3, 60), 10),
        Proof::bounded(check(1, 31), 10),
        Proof::reachable(check(3, 60), 10),
    ];
    println!("{:#?}", mutants("picture_check", vec![], proofs).survivors(&check(3, 60)));
}

/// The simulation of a kernel of points, and its proofs.
fn kernel<'a>(module: &'a str, design: &Design, proofs: Vec<Proof>) -> Mutants<'a> {
    let simulation = Simulation::new(design.clone(), &format!("kernels/{module}/{module}_tb.cpp"));
    let simulations = vec![(simulation, vec!["--seed", "1"])];
    Mutants { module, simulations, proofs, harmless: &[] }
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_the_row_runs_find_its_mutants() {
    let runs = Design::module("row_runs").set("WIDTH", 16).set("ROWS", 2).set("RUN_MIN", 2);
    let runs = runs.set("RUN_MAX", 5).set("PER_ROW", 2);
    let proofs = vec![Proof::bounded(runs.clone(), 8), Proof::reachable(runs.clone(), 10)];
    println!("{:#?}", mutants("row_runs", vec![], proofs).survivors(&runs));
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_the_message_shell_find_its_mutants() {
    let shell = Design::module("message_shell");
    let proofs = vec![Proof::inductive(shell.clone(), 3), Proof::reachable(shell.clone(), 16)];
    println!("{:#?}", mutants("message_shell", vec![], proofs).survivors(&shell));
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_numbers_find_their_mutants() {
    let double = Design::module("to_double").set("BITS", 9);
    let proofs = vec![Proof::inductive(double.clone(), 4), Proof::reachable(double.clone(), 14)];
    println!("{:#?}", mutants("to_double", vec![], proofs).survivors(&double));
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_the_stamp_join_find_its_mutants() {
    let join = |inputs| {
        let design = Design::module("stamp_join").set("INPUTS", inputs);
        design.set("PATIENCE", 2)
    };
    let proofs =
        vec![Proof::bounded(join(2), 9), Proof::bounded(join(3), 8), Proof::reachable(join(3), 12)];
    let found = Mutants {
        harmless: &[(
            "stamp_join.sv: `was_newest <= '0;`: `'0` becomes `'1`",
            "one input is the newest at most, so neither value is one that counts go on with",
        )],
        ..mutants("stamp_join", vec![], proofs)
    };
    println!("{:#?}", found.survivors(&join(3)));
}

#[test]
#[ignore = "long: mutants"]
fn the_proofs_of_numbers_of_messages_find_their_mutants() {
    let number = Design::module("from_double").set("BITS", 32).set("FRACTION", 16);
    let proofs = vec![
        Proof::inductive(number.clone(), 4),
        Proof::reachable(number.clone().set("BITS", 52).set("FRACTION", 63), 8),
    ];
    println!("{:#?}", mutants("from_double", vec![], proofs).survivors(&number));
}

#[test]
#[ignore = "long: mutants"]
fn the_tests_of_serial_math_find_its_mutants() {
    let math = |width| Design::module("serial_math").set("WIDTH", width);
    let proofs = vec![Proof::bounded(math(4), 9), Proof::reachable(math(4), 9)];
    println!("{:#?}", kernel("serial_math", &math(72), proofs).survivors(&math(72)));
}

#[test]
#[ignore = "long: mutants"]
fn the_simulations_of_kernels_of_points_find_their_mutants() {
    let vote = Design::module("line_vote").set("SLOPES", 3).set("BINS", 5);
    println!("{:#?}", kernel("line_vote", &vote, vec![]).survivors(&vote));
    for module in ["point_moments", "line_solve"] {
        let design = Design::module(module);
        println!("{:#?}", kernel(module, &design, vec![]).survivors(&design));
    }
}
