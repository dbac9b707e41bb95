//! The interconnect of several masters of host memory.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn small() -> Design {
    let design = Design::module("memif_share").set("ADDRESS_WIDTH", 13);
    design.set("PORTS", 3).set("OUTSTANDING", 2)
}

fn simulated(width: u64, ports: u64, outstanding: u64) -> Simulation {
    let design = Design::module("memif_share").set("WIDTH", width).set("PORTS", ports);
    let design = design.set("OUTSTANDING", outstanding);
    must(lint(&design));
    Simulation::new(design, "memif_share/memif_share_tb.cpp")
}

#[test]
fn bursts_of_several_masters_are_proved_to_stay_whole_and_get_their_own_answers() {
    must(Proof::inductive(small(), 2).check());
}

#[test]
fn what_the_proof_of_the_interconnect_is_about_can_happen() {
    must(Proof::reachable(small(), 16).check());
}

#[test]
#[ignore = "long: other shapes"]
fn the_interconnect_is_proved_in_other_shapes() {
    must(Proof::inductive(small().set("PORTS", 1), 2).check());
    must(Proof::inductive(small().set("OUTSTANDING", 8), 2).check());
    must(Proof::inductive(small().set("PORTS", 5), 2).check());
}

#[test]
fn several_masters_fill_every_cycle_and_are_served_alike() {
    for (width, ports) in [(64, 3), (512, 2)] {
        let report = must(simulated(width, ports, 32).run(&["--seed", "1"]));
        let beats = report.value("beats");
        assert_eq!(report.value("write_cycles"), beats, "{ports} masters, {width} bit");
        assert_eq!(report.value("read_cycles"), beats, "{ports} masters, {width} bit");
        assert!(report.value("apart") <= 16 * ports, "somebody was served at another's expense");
        assert!(report.value("errors") > 10, "errors are too rare");
    }
}

#[test]
#[ignore = "long: many seeds"]
fn the_interconnect_agrees_with_the_reference_model_for_many_seeds() {
    for (width, ports, outstanding) in [(64, 1, 8), (128, 5, 2), (256, 2, 64), (512, 16, 16)] {
        let simulation = simulated(width, ports, outstanding);
        for seed in 2..8 {
            must(simulation.run(&["--seed", &seed.to_string(), "--bursts", "500"]));
        }
    }
}

const PER_BEAT: Mutation = Mutation {
    what: "bursts mix beat by beat",
    file: "memif_share.sv",
    from: "m_axi_wvalid && m_axi_wready && m_axi_wlast;",
    to: "m_axi_wvalid && m_axi_wready;",
};

const TOO_MANY: Mutation = Mutation {
    what: "a burst too many is open",
    file: "memif_share.sv",
    from: "(!m_axi_awvalid || m_axi_awready) && !b_open[LogOpen];",
    to: "(!m_axi_awvalid || m_axi_awready);",
};

const UNFAIR: Mutation = Mutation {
    what: "the lowest master always goes first",
    file: "memif_share.sv",
    from: "aw_after <= aw_behind_winner;",
    to: "aw_after <= '0;",
};

const NOT_TAKEN: Mutation = Mutation {
    what: "an answer is passed over that was not taken",
    file: "memif_share.sv",
    from: "if (m_axi_bvalid && m_axi_bready) b_rp",
    to: "if (m_axi_bvalid) b_rp",
};

const EARLY: Mutation = Mutation {
    what: "a read burst is over before its last beat",
    file: "memif_share.sv",
    from: "m_axi_rvalid && m_axi_rready && m_axi_rlast) r_rp",
    to: "m_axi_rvalid && m_axi_rready) r_rp",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_interconnect_are_caught_by_proof_and_simulation() {
    let simulation = simulated(64, 3, 2);
    for mutation in [PER_BEAT, TOO_MANY, UNFAIR, NOT_TAKEN, EARLY] {
        must(Proof::bounded(small(), 10).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_interconnect_are_found() {
    Mutants::of("memif_share")
        .simulated(simulated(64, 3, 32), &["--seed", "1"])
        .proved([Proof::inductive(small(), 2), Proof::reachable(small(), 16)])
        .are_found();
}
