//! The MEMIF page table.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Report, Simulation, lint, must};

pub(crate) fn paged() -> Design {
    Design::new("memif_tlb", &["memif_tlb", "memif_gate"])
}

fn small() -> Design {
    let design = paged().set("ADDRESS_WIDTH", 22).set("LEVELS", 2);
    design.set("LINES", 4).set("OUTSTANDING", 1)
}

fn simulated(width: u64, levels: u64) -> Simulation {
    let design = paged().set("WIDTH", width).set("LEVELS", levels).set("ADDRESS_WIDTH", 40);
    must(lint(&design));
    Simulation::new(design, "memif_tlb/memif_tlb_tb.cpp")
}

#[test]
#[ignore = "long: half a minute of the solver"]
fn pages_are_proved_to_be_what_the_table_says() {
    must(Proof::inductive(small(), 3).check());
}

#[test]
#[ignore = "long: a minute of the solver"]
fn what_the_proof_of_the_page_table_is_about_can_happen() {
    must(Proof::reachable(small(), 22).check());
}

#[test]
#[ignore = "long: other shapes"]
fn pages_are_proved_to_be_what_the_table_says_in_other_shapes() {
    must(Proof::inductive(small().set("LEVELS", 3).set("ADDRESS_WIDTH", 36), 3).check());
    must(Proof::inductive(small().set("ADDRESS_WIDTH", 32), 3).check());
}

#[test]
fn bursts_go_where_the_page_table_says_and_linear_data_has_no_gap() {
    for (width, levels) in [(64, 3), (512, 2)] {
        let report = must(simulated(width, levels).run(&["--seed", "1"]));
        assert!(flows(&report), "{report:?}, at {width} bit");
        assert!(report.value("refused") > 100 && report.value("passed") > 100);
    }
}

/// Linear data has no gap. Pages 500 to 539, and the line behind: no line is fetched twice.
fn flows(report: &Report) -> bool {
    ["both", "write", "read"].iter().all(|directions| {
        let value = |name: &str| report.value(&format!("{directions}_{name}"));
        [value("read_gaps"), value("write_gaps"), value("walks")] == [0, 0, 7]
    })
}

#[test]
#[ignore = "long: many seeds"]
fn bursts_go_where_the_page_table_says_for_many_seeds() {
    for (width, levels) in [(64, 2), (128, 3), (256, 4)] {
        for seed in 2..10 {
            must(simulated(width, levels).run(&["--seed", &seed.to_string(), "--rounds", "300"]));
        }
    }
}

const RIGHTS_MIXED: Mutation = Mutation {
    what: "who may read may write",
    file: "memif_tlb.sv",
    from: "wire aw_allowed = aw_hit && aw_entry[1];",
    to: "wire aw_allowed = aw_hit && aw_entry[0];",
};

const OLD_PAGES: Mutation = Mutation {
    what: "a walk under way survives a change of the table",
    file: "memif_tlb.sv",
    from: "valid[oldest] <= !stale;",
    to: "valid[oldest] <= 1'b1;",
};

const OLD_LOOKUP: Mutation = Mutation {
    what: "a lookup under way survives a change of the table",
    file: "memif_tlb.sv",
    from: "aw_looks = s_axi_awvalid && !aw_take && !table_write;",
    to: "aw_looks = s_axi_awvalid && !aw_take;",
};

const OUT_OF_SPACE: Mutation = Mutation {
    what: "a page outside the address space is cut to fit",
    file: "memif_tlb.sv",
    from: "good = !t_axi_rresp[1] && (t_axi_rdata >> ADDRESS_WIDTH) == '0;",
    to: "good = !t_axi_rresp[1];",
};

const HALF_A_LINE: Mutation = Mutation {
    what: "a line is used while it is filled",
    file: "memif_tlb.sv",
    from: "        valid[oldest] <= 1'b0;\n",
    to: "",
};

const FAULTS: [Mutation; 5] = [RIGHTS_MIXED, OLD_PAGES, OLD_LOOKUP, OUT_OF_SPACE, HALF_A_LINE];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_page_table_are_caught_by_simulation() {
    let simulation = simulated(64, 3);
    for mutation in FAULTS {
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
}

const TABLE_AFTER_RESET: Mutation = Mutation {
    what: "the table survives a reset",
    file: "memif_tlb.sv",
    from: "      on <= 1'b0;\n",
    to: "",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn a_table_that_outlives_a_reset_is_caught_by_proof() {
    must(Proof::bounded(small(), 4).catches(&TABLE_AFTER_RESET));
}

/// The gate is not what is changed, and is proved by itself.
const GATE: &str = "*memif_gate*/*";

#[test]
#[ignore = "long: from reset to the first page known takes 18 cycles"]
fn faults_of_the_page_table_are_caught_by_proof() {
    let proof = Proof::bounded(small(), 24);
    must(proof.catches_among(&RIGHTS_MIXED, &[GATE, "memif_tlb/i_*", "memif_tlb/$assert*"]));
    for mutation in [OLD_PAGES, OLD_LOOKUP, OUT_OF_SPACE] {
        must(proof.catches_among(&mutation, &[GATE]));
    }
    // HALF_A_LINE shows when the first line makes room: after four walks, some 50 cycles.
}

const AHEAD: &str =
    "a line that is fetched ahead of its time, and without need, is one all the same";
const ANY_LINE: &str = "any line may make room for a new one";
const HARMLESS: [(&str, &str); 5] = [
    ("memif_tlb.sv: `aw_ahead <= 1'b0;`: line 2 of 2: `aw_ahead <= 1'b0;` becomes `;`", AHEAD),
    ("memif_tlb.sv: `ar_ahead <= 1'b0;`: `ar_ahead <= 1'b0;` becomes `;`", AHEAD),
    ("memif_tlb.sv: `oldest <= oldest + 1'b1;`: `+` becomes `-`", ANY_LINE),
    ("memif_tlb.sv: `aw_place = '0;`: `'0` becomes `'1`", "a place that no line has is not used"),
    ("memif_tlb.sv: `ar_place = '0;`: `'0` becomes `'1`", "a place that no line has is not used"),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_page_table_are_found() {
    Mutants::of("memif_tlb")
        .measured(simulated(64, 3), &["--seed", "1"], flows)
        .measured(simulated(512, 2), &["--seed", "1"], flows)
        .proved([Proof::inductive(small(), 3), Proof::reachable(small(), 22)])
        .but(&HARMLESS)
        .are_found();
}
