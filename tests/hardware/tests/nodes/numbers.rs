//! The kernels of `hw/kernels` that calculate with numbers of messages, and the one that joins
//! messages, each alone.

use crossdock_hardware_tests::budget::{area_within_budget, rate_within_budget};
use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

fn join(inputs: u64) -> Design {
    Design::module("stamp_join").set("INPUTS", inputs).set("PATIENCE", 2)
}

fn number(bits: u64, fraction: u64) -> Design {
    Design::module("from_double").set("BITS", bits).set("FRACTION", fraction)
}

fn math(width: u64) -> Design {
    Design::module("serial_math").set("WIDTH", width)
}

#[test]
#[ignore = "long: a minute of the solver"]
fn messages_of_one_stamp_are_proved_to_be_joined_and_all_others_to_be_told() {
    for (inputs, depth) in [(2, 9), (3, 8)] {
        must(lint(&join(inputs)));
        must(Proof::bounded(join(inputs), depth).check());
    }
    must(Proof::reachable(join(3), 12).check());
}

#[test]
fn numbers_of_messages_are_proved_to_become_the_nearest_whole_ones() {
    for (bits, fraction) in [(32, 16), (2, 0)] {
        must(lint(&number(bits, fraction)));
        must(Proof::inductive(number(bits, fraction), 4).check());
    }
    must(Proof::reachable(number(52, 63), 8).check());
}

#[test]
fn results_are_what_they_say() {
    must(lint(&math(4)));
    must(Proof::bounded(math(4), 9).check());
    must(Proof::reachable(math(4), 9).check());
    for width in [72, 128] {
        must(lint(&math(width)));
        let tested = "kernels/serial_math/serial_math_tb.cpp";
        let report = must(Simulation::new(math(width), tested).run(&["--seed", "1"]));
        // What its head says of its latency.
        assert!(report.value("longest") <= width + 2, "{report:?}");
    }
}

const FAULTS_OF_THE_JOIN: [Mutation; 3] = [
    Mutation {
        what: "stamps have no sign",
        file: "stamp_join.sv",
        from: "if (s_valid[i] && s_valid[j]\n            && {!s_stamp[64*i+63]",
        to: "if (s_valid[i] && s_valid[j]\n            && {s_stamp[64*i+63]",
    },
    Mutation {
        what: "a stamp of the future is passed over too early",
        file: "stamp_join.sv",
        from: "gone == Patience && !is_complete",
        to: "gone != '0 && !is_complete",
    },
    Mutation {
        what: "two that fail at once are told as one",
        file: "stamp_join.sv",
        from: "owed <= owed + told",
        to: "owed <= owed + 3'(told != '0)",
    },
];

const FAULT_OF_NUMBERS: Mutation = Mutation {
    what: "a number that is too large by one is not limited",
    file: "from_double.sv",
    from: "rounded[53:BITS] != '0",
    to: "rounded[53:BITS+1] != '0",
};

const FAULT_OF_MATH: Mutation = Mutation {
    what: "a root takes one bit after the other",
    file: "serial_math.sv",
    from: "given <= (doing == Root) ? given << 2 : given << 1;",
    to: "given <= given << 1;",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_kernels_of_numbers_are_caught_by_proof() {
    for fault in &FAULTS_OF_THE_JOIN {
        must(Proof::bounded(join(3), 8).catches(fault));
    }
    must(Proof::bounded(number(52, 63), 6).catches(&FAULT_OF_NUMBERS));
    must(Proof::bounded(math(4), 9).catches(&FAULT_OF_MATH));
}

/// As lane control uses them.
fn shipped() -> [Design; 3] {
    [Design::module("stamp_join").set("INPUTS", 3), number(32, 16), math(72)]
}

#[test]
#[ignore = "long: synthesis of every kernel"]
fn no_kernel_of_numbers_takes_more_area_than_its_budget() {
    for design in shipped() {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: place and route"]
fn no_kernel_of_numbers_is_slower_than_its_budget() {
    for design in shipped() {
        must(rate_within_budget(&design));
    }
}

const HARMLESS: [(&str, &str); 1] = [(
    "stamp_join.sv: `was_newest <= '0;`: `'0` becomes `'1`",
    "one input is the newest at most, so neither value is one that counts go on with",
)];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_join_are_found() {
    Mutants::of("stamp_join")
        .proved([Proof::bounded(join(2), 9), Proof::bounded(join(3), 8)])
        .proved([Proof::reachable(join(3), 12)])
        .but(&HARMLESS)
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_numbers_are_found() {
    Mutants::of("from_double")
        .proved([Proof::inductive(number(32, 16), 4), Proof::reachable(number(52, 63), 8)])
        .are_found();
    let simulation = Simulation::new(math(72), "kernels/serial_math/serial_math_tb.cpp");
    Mutants::of("serial_math")
        .simulated(simulation, &["--seed", "1"])
        .proved([Proof::bounded(math(4), 9), Proof::reachable(math(4), 9)])
        .are_found();
}
