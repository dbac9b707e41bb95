//! The MEMIF translation.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

pub(crate) fn translation() -> Design {
    Design::new("memif_mmu", &["memif_mmu", "memif_gate"])
}

fn small() -> Design {
    translation().set("ADDRESS_WIDTH", 16).set("WINDOWS", 2).set("OUTSTANDING", 2)
}

fn gate() -> Design {
    Design::module("memif_gate").set("ADDRESS_WIDTH", 16).set("OUTSTANDING", 2)
}

#[test]
#[ignore = "long: a minute of the solver"]
fn the_translation_is_proved_to_let_nothing_out_of_its_windows() {
    must(Proof::inductive(small(), 3).check());
}

#[test]
fn the_gate_is_proved_to_let_through_what_is_allowed_and_to_answer_all() {
    must(Proof::inductive(gate(), 3).check());
}

#[test]
#[ignore = "long: a minute of the solver"]
fn what_the_gates_proof_is_about_can_happen() {
    must(Proof::reachable(gate(), 20).check());
    must(Proof::reachable(small(), 12).check());
}

fn simulated(width: u64) -> Simulation {
    let design = translation().set("WIDTH", width).set("WINDOWS", 4).set("ADDRESS_WIDTH", 40);
    must(lint(&design));
    Simulation::new(design, "memif_mmu/memif_mmu_tb.cpp")
}

#[test]
#[ignore = "long: other shapes"]
fn the_translation_is_proved_in_other_shapes() {
    must(Proof::inductive(gate().set("WIDTH", 512), 3).check());
    must(Proof::inductive(gate().set("OUTSTANDING", 8), 3).check());
    must(Proof::inductive(small().set("WINDOWS", 3), 3).check());
}

#[test]
fn the_translation_leads_bursts_where_the_reference_model_says_without_a_gap() {
    for width in [64, 512] {
        let report = must(simulated(width).run(&["--seed", "1"]));
        assert_eq!(report.value("read_cycles"), report.value("read_beats"), "at {width} bit");
        assert_eq!(report.value("write_cycles"), report.value("write_beats"), "at {width} bit");
        assert!(report.value("refused") > 100 && report.value("passed") > 100);
    }
}

#[test]
#[ignore = "long: many seeds"]
fn the_translation_agrees_with_the_reference_model_for_many_seeds() {
    for width in [64, 128, 256] {
        for seed in 2..10 {
            must(simulated(width).run(&["--seed", &seed.to_string(), "--rounds", "200"]));
        }
    }
}

const ONE_PAGE_MORE: Mutation = Mutation {
    what: "a window is one page longer",
    file: "memif_mmu.sv",
    from: "&& s_axi_awaddr[ADDRESS_WIDTH-1:12] <= last[i]) begin",
    to: "&& s_axi_awaddr[ADDRESS_WIDTH-1:12] <= last[i] + 1'b1) begin",
};

const RIGHTS_MIXED: Mutation = Mutation {
    what: "who may read may write",
    file: "memif_mmu.sv",
    from: "if (writable[i] && s_axi_awaddr",
    to: "if (readable[i] && s_axi_awaddr",
};

const OVER_THE_PAGE: Mutation = Mutation {
    what: "a burst may cross the page by one beat",
    file: "memif_gate.sv",
    from: "in_page = 32'(from) + 32'(len) < (4096 >> LogBytes);",
    to: "in_page = 32'(from) + 32'(len) <= (4096 >> LogBytes);",
};

const DATA_ASTRAY: Mutation = Mutation {
    what: "data of a refused burst goes to memory",
    file: "memif_gate.sv",
    from: "m_axi_wvalid = s_axi_wvalid && w_open != '0;",
    to: "m_axi_wvalid = s_axi_wvalid && (w_open != '0 || w_swallow);",
};

const OUT_OF_TURN: Mutation = Mutation {
    what: "a refusal overtakes the answers before it",
    file: "memif_gate.sv",
    from: "(aw_step == Answer) && aw_open == '0;",
    to: "(aw_step == Answer);",
};

/// Each direction's rights outlive a reset.
const OPEN_AFTER_RESET: [Mutation; 2] = [
    Mutation {
        what: "windows stay readable through a reset",
        file: "memif_mmu.sv",
        from: "      readable <= '0;\n",
        to: "",
    },
    Mutation {
        what: "windows stay writable through a reset",
        file: "memif_mmu.sv",
        from: "      writable <= '0;\n",
        to: "",
    },
];

const WRITE_AS_READ: Mutation = Mutation {
    what: "a refused write is reported as a read",
    file: "memif_gate.sv",
    from: "refused_write <= b_refused;",
    to: "refused_write <= !b_refused;",
};

#[test]
#[ignore = "long: a minute of the solver"]
fn windows_that_outlive_a_reset_are_caught_by_proof_and_simulation() {
    let simulation = simulated(64);
    for mutation in &OPEN_AFTER_RESET {
        must(Proof::bounded(small(), 6).catches(mutation));
        must(simulation.catches(mutation, &["--seed", "1"]));
    }
}

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_translation_are_caught_by_proof_and_simulation() {
    let simulation = simulated(64);
    for mutation in [ONE_PAGE_MORE, RIGHTS_MIXED] {
        must(Proof::bounded(small(), 12).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
    for mutation in [OVER_THE_PAGE, DATA_ASTRAY, OUT_OF_TURN, WRITE_AS_READ] {
        must(Proof::bounded(gate(), 12).catches(&mutation));
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

const OUTSIDE: &str = "a burst outside of all windows is refused, wherever it would lead";

const HARMLESS: [(&str, &str); 2] = [
    ("memif_mmu.sv: `aw_offset = '0;`: `'0` becomes `'1`", OUTSIDE),
    ("memif_mmu.sv: `ar_offset = '0;`: `'0` becomes `'1`", OUTSIDE),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_translation_are_found() {
    Mutants::of("memif_mmu")
        .simulated(simulated(64), &["--seed", "1"])
        .proved([Proof::inductive(small(), 3), Proof::reachable(small(), 12)])
        .but(&HARMLESS)
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_gate_are_found() {
    Mutants::of("memif_gate")
        .simulated(simulated(64), &["--seed", "1"])
        .proved([Proof::inductive(gate(), 3), Proof::reachable(gate(), 20)])
        .are_found();
}
