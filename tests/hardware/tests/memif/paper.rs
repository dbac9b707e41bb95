//! The published way to host memory, for reproductions.

use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

pub(crate) fn complete() -> Design {
    Design::module("paper_memif").set("PORTS", 4)
}

fn small() -> Design {
    Design::module("paper_memif").set("PORTS", 2).set("ENTRIES", 2).set("ADDRESS_WIDTH", 40)
}

fn simulated(width: u64, ports: u64, testbench: &str) -> Simulation {
    let design = Design::module("paper_memif").set("WIDTH", width).set("PORTS", ports);
    let design = design.set("ENTRIES", 16).set("ADDRESS_WIDTH", 40);
    must(lint(&design));
    Simulation::new(design, testbench)
}

fn alone(width: u64) -> Simulation {
    simulated(width, 1, "paper_memif/paper_memif_tb.cpp")
}

fn shared(width: u64, ports: u64) -> Simulation {
    simulated(width, ports, "memif_share/memif_share_tb.cpp")
}

#[test]
fn bursts_are_proved_to_go_on_one_at_a_time_and_be_answered_to_their_masters() {
    must(Proof::inductive(small(), 2).check());
}

#[test]
#[ignore = "long: a minute of the solver"]
fn what_the_proof_of_the_published_way_is_about_can_happen() {
    must(Proof::reachable(small(), 22).check());
}

#[test]
fn one_burst_is_open_at_a_time_and_goes_where_the_page_tables_say() {
    for width in [64, 512] {
        let report = must(alone(width).run(&["--seed", "1"]));
        // 16 translations serve 16 pages for ever, and none of 17.
        assert_eq!(report.value("kept_walks"), 16, "at {width} bit");
        assert_eq!(report.value("lost_walks"), 34, "at {width} bit");
        // A chunk: 3 cycles to its address, the memory's 10, and its beats. A walk: 3 reads, each
        // of 1 cycle and the memory's.
        let chunk = 3 + 9 + 256 * 8 / width;
        let cycles = 2 * 17 * 16 * chunk + 33 * 3 * 11;
        assert!(
            report.value("lost_cycles").abs_diff(cycles) <= 34 * 16,
            "at {width} bit: {cycles}"
        );
        assert!(report.value("refused") > 100 && report.value("passed") > 100);
    }
}

#[test]
fn several_masters_share_it_and_wait_for_each_other() {
    let report = must(shared(64, 3).run(&["--seed", "1"]));
    // Reads and writes in turn, and nothing while memory thinks.
    assert!(report.value("read_cycles") > 2 * report.value("beats"));
    assert!(report.value("errors") > 10, "errors are too rare");
}

#[test]
#[ignore = "long: many seeds"]
fn it_agrees_with_the_reference_models_for_many_seeds() {
    for seed in 2..8 {
        let seed = seed.to_string();
        for width in [64, 128, 256] {
            must(alone(width).run(&["--seed", &seed, "--rounds", "200"]));
        }
        for (width, ports) in [(64, 1), (128, 5), (512, 16)] {
            must(shared(width, ports).run(&["--seed", &seed, "--bursts", "500"]));
        }
    }
}

const RIGHTS_MIXED: Mutation = Mutation {
    what: "who may read may write",
    file: "paper_memif.sv",
    from: "(is_write && !entry[1]) ? REFUSE : OFFER;",
    to: "OFFER;",
};

const FORGETFUL: Mutation = Mutation {
    what: "a translation is known whatever the page",
    file: "paper_memif.sv",
    from: "if (known[i] && known_page[i] == page[Known-1:0])",
    to: "if (known[i])",
};

const STALE: Mutation = Mutation {
    what: "translations outlive their table",
    file: "paper_memif.sv",
    from: "      root <= table_root;\n      known <= '0;",
    to: "      root <= table_root;",
};

const UNANSWERED: Mutation = Mutation {
    what: "the next burst begins before a write is answered",
    file: "paper_memif.sv",
    from: "m_axi_wlast) state <= RESPONSE;",
    to: "m_axi_wlast) state <= CHOOSE;",
};

const FAR: Mutation = Mutation {
    what: "addresses beyond the tables wrap",
    file: "paper_memif.sv",
    from: "(page >> Known) == '0 && has_table;",
    to: "has_table;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_translation_are_caught() {
    let simulation = alone(64);
    for mutation in [RIGHTS_MIXED, FORGETFUL, STALE, UNANSWERED, FAR] {
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
    // The first burst needs a walk through three tables.
    for mutation in [UNANSWERED, FAR] {
        must(Proof::bounded(small(), 16).catches(&mutation));
    }
}

const UNFAIR: Mutation = Mutation {
    what: "the lowest master always goes first",
    file: "paper_memif.sv",
    from: "after <= behind_winner;",
    to: "after <= '0;",
};

const MISDIRECTED: Mutation = Mutation {
    what: "answers go to everybody",
    file: "paper_memif.sv",
    from: "s_axi_bvalid = answers ? owner : '0;",
    to: "s_axi_bvalid = answers ? '1 : '0;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_the_sharing_are_caught() {
    let simulation = shared(64, 3);
    for mutation in [UNFAIR, MISDIRECTED] {
        must(simulation.catches(&mutation, &["--seed", "1"]));
    }
    must(Proof::bounded(small(), 16).catches(&MISDIRECTED));
}

const UNKNOWN: &str = "then all entries are unknown: any of them may be filled first";
const HARMLESS: [(&str, &str); 2] = [
    ("paper_memif.sv: `oldest <= '0;`: line 1 of 2: `oldest <= '0;` becomes `;`", UNKNOWN),
    ("paper_memif.sv: `oldest <= '0;`: line 2 of 2: `oldest <= '0;` becomes `;`", UNKNOWN),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_published_way_are_found() {
    Mutants::of("paper_memif")
        .simulated(alone(64), &["--seed", "1"])
        .simulated(shared(64, 3), &["--seed", "1"])
        .proved([Proof::inductive(small(), 2), Proof::reachable(small(), 22)])
        .but(&HARMLESS)
        .are_found();
}
