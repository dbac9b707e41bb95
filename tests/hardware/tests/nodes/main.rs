//! Kernels of hardware nodes against their specifications, nodes against their software twins.
#![allow(missing_docs)]

mod areas;
mod board;
mod frames;
mod gaussian_blur;
mod image_compensation;
mod image_pipeline;
mod image_projection;
mod kernels;
mod lane_control;
mod lane_following;
mod lane_planner;
mod lights;
mod numbers;
mod patches;
mod picture_node;
#[path = "../../../../apps/image_pipeline/tests/pipeline/pictures.rs"]
mod pictures;
mod points;
mod polyfit;
mod twin;

use crossdock_hardware_tests::budget::{area_within_budget, rate_within_budget};
use crossdock_hardware_tests::{Design, Mutants, Mutation, Proof, Simulation, lint, must};

/// The levels of a picture, with their parts.
const LEVELS: [&str; 3] = ["pixel_levels", "pixel_gear", "replay"];

/// Image compensation of the driving graph, for pictures of so many bytes.
fn compensation(max_bytes: u64) -> Design {
    let folder = "apps/autorace/hardware/image_compensation";
    Design::new("compensate_picture", &LEVELS)
        .with_file(&format!("{folder}/stretch_levels.sv"))
        .with_file(&format!("{folder}/compensate_picture.sv"))
        .set("MAX_BYTES", max_bytes)
        .set("CLIP_PER_MYRIAD", 100)
}

fn simulated(max_bytes: u64) -> Simulation {
    let design = compensation(max_bytes);
    must(lint(&design));
    let testbench = "../apps/autorace/hardware/image_compensation/compensate_picture_tb.cpp";
    Simulation::new(design, testbench)
}

#[test]
fn compensation_equals_its_specification_under_stalls_and_resets() {
    for max_bytes in [900, 3000] {
        must(simulated(max_bytes).run(&["--seed", "1", "--pictures", "300"]));
    }
}

#[test]
fn compensation_takes_and_gives_a_beat_per_cycle() {
    let report = must(simulated(24_000).run(&["--stalls", "0", "--pictures", "5"]));
    let (beats, latency) = (report.value("beats"), report.value("latency"));
    assert!((beats..beats + 600).contains(&latency), "{report:?}");
    assert!((beats..beats + 600).contains(&report.value("period")), "{report:?}");
}

const FAULTS: [Mutation; 3] = [
    Mutation {
        what: "the pixel over a beat's edge is counted wrongly",
        file: "pixel_gear.sv",
        from: "2'd1: m_pixels = bytes[0 +: 72];",
        to: "2'd1: m_pixels = bytes[8 +: 72];",
    },
    Mutation {
        what: "the range begins one level too early",
        file: "stretch_levels.sv",
        from: "Product'(reached) > cut",
        to: "Product'(reached) >= cut",
    },
    Mutation {
        what: "a beat is overwritten before it is sent",
        file: "replay.sv",
        from: "write_at < read_at);",
        to: "write_at <= read_at);",
    },
];

#[test]
#[ignore = "long: faults that must be caught"]
fn faults_of_compensation_are_caught() {
    for fault in &FAULTS {
        must(simulated(900).catches(fault, &["--seed", "1", "--pictures", "300"]));
    }
}

/// Few enough bytes for a proof.
fn replayed() -> Design {
    Design::module("replay").set("MAX_BYTES", 24)
}

#[test]
fn what_is_replayed_is_proved_to_leave_as_it_came() {
    must(lint(&replayed()));
    must(Proof::inductive(replayed(), 4).check());
    must(Proof::reachable(replayed(), 16).check());
    must(Proof::bounded(replayed(), 16).catches(&FAULTS[2]));
}

/// The kernel alone, of few enough bytes for a proof.
fn levels() -> Design {
    Design::new("pixel_levels", &LEVELS).set("MAX_BYTES", 24)
}

/// From a reset, the solver does not come to the end of the 256 cycles in which bins are cleared. A
/// module that clears a few shows, too, what the assumptions leave room for.
const CLEARS_A_FEW: Mutation = Mutation {
    what: "a few bins are cleared",
    file: "pixel_levels.sv",
    from: "if (&cleared) clearing",
    to: "if (cleared[1]) clearing",
};

fn levels_are_counted() -> Proof {
    Proof::inductive(levels(), 3).asked_anew().with_arrays()
}

#[test]
fn bins_are_proved_to_have_the_pixels_of_their_brightness() {
    must(lint(&levels()));
    must(levels_are_counted().check());
    let few = levels().mutated(&CLEARS_A_FEW);
    must(Proof::reachable(few, 24).asked_anew().with_arrays().check());
}

/// What grows with the picture is memory alone, and the tools take minutes for much of it.
fn stored() -> [Design; 2] {
    let levels = Design::new("pixel_levels", &LEVELS);
    [Design::module("replay"), levels].map(|design| design.set("MAX_BYTES", 24_000))
}

#[test]
#[ignore = "long: synthesis of every kernel"]
fn nothing_that_kernels_are_made_of_takes_more_area_than_its_budget() {
    for design in stored() {
        must(area_within_budget(&design));
    }
}

#[test]
#[ignore = "long: place and route"]
fn nothing_that_kernels_are_made_of_is_slower_than_its_budget() {
    for design in stored() {
        must(rate_within_budget(&design));
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_levels_and_replay_are_found() {
    let pictures = ["--seed", "1", "--pictures", "300"];
    Mutants::of("pixel_levels")
        .simulated(simulated(900), &pictures)
        .proved([levels_are_counted()])
        .are_found();
    let proofs = [Proof::inductive(replayed(), 4), Proof::reachable(replayed(), 16)];
    Mutants::of("replay").simulated(simulated(900), &pictures).proved(proofs).are_found();
}
