//! The hardware node of the Gaussian blur against the software one, frame by frame, and its kernel
//! against its specification.

use crate::board;
use crate::frames::{self, Limits};
use crate::image_compensation;
use crate::kernels;
use crate::picture_node::PictureNode;
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Design, Mutants, Mutation, Report, Simulation, lint, must};
use crossdock_test_support::done;

pub(crate) const NODE: PictureNode = PictureNode {
    twin: ("gaussian_blur", "blurred"),
    package: board::package,
    expected: frames::expected,
    kernels: &["byte_gear", "line_window", "row_window"],
    parameters: |limits| vec![("MAX_WIDTH", limits.max_width), ("MAX_BYTES", limits.max_bytes)],
    streams: true,
    pictures: 300,
    picture: frames::picture,
    told: |_| "{}".to_owned(),
    made: |_| Vec::new(),
};
/// A small node whose messages may be longer and wider than its pictures.
pub(crate) const SMALL: Limits = Limits { bound: 4000, max_bytes: 3000, max_width: 45, size: None };
/// The node as it is shipped.
const SHIPPED: Limits = Limits { bound: 921_600, max_bytes: 921_600, max_width: 640, size: None };

/// The kernel, for pictures of so many channels, bytes per row and bytes.
fn kernel(channels: u64, row_bytes: u64, bytes: u64) -> Simulation {
    let design = Design::new("blur_picture", &["byte_gear", "line_window", "row_window"])
        .with_file("apps/autorace/hardware/gaussian_blur/blur_picture.sv")
        .set("CHANNELS", channels)
        .set("MAX_ROW_BYTES", row_bytes)
        .set("MAX_BYTES", bytes);
    must(lint(&design));
    Simulation::new(design, "../apps/autorace/hardware/gaussian_blur/blur_picture_tb.cpp")
}

#[test]
fn pictures_of_all_sizes_are_blurred_as_specified_under_stalls_cuts_and_resets() {
    for (channels, row_bytes, bytes) in [(3, 96, 1500), (1, 33, 900)] {
        let simulation = kernel(channels, row_bytes, bytes);
        for (seed, stalls) in [("1", "30"), ("2", "2")] {
            must(simulation.run(&["--seed", seed, "--stalls", stalls]));
        }
    }
}

/// Pictures without stalls.
const STEADY: [&str; 4] = ["--stalls", "0", "--pictures", "3"];

fn is_a_beat_per_cycle(report: &Report) -> bool {
    let (row, beats) = (report.value("row_beats"), report.value("beats"));
    (2 * row..=2 * row + 7).contains(&report.value("latency"))
        && (beats..=beats + 2 * row + 10).contains(&report.value("period"))
}

#[test]
fn the_kernel_takes_and_gives_a_beat_per_cycle() {
    let report = must(kernel(3, 96, 9600).run(&STEADY));
    assert!(is_a_beat_per_cycle(&report), "{report:?}");
}

#[test]
fn a_picture_takes_its_beats_and_those_of_two_rows() {
    let (beats, latency, period) = NODE.pace(SHIPPED);
    let rows = 2 * 240;
    assert!((beats + rows..beats + rows + 110).contains(&latency), "{latency} for {beats}");
    assert!((beats + rows..beats + rows + 120).contains(&period), "{period} for {beats}");
}

const FAULTS: [Mutation; 7] = [
    Mutation {
        what: "a damaged message is published as if it were none",
        file: "picture_shell.sv",
        from: "doomed <= s_failed;",
        to: "doomed <= 1'b0;",
    },
    Mutation {
        what: "the end of a picture does not wait for that of its message",
        file: "picture_shell.sv",
        from: "assign m_given = k_made_valid && !(k_made_last && feeds);",
        to: "assign m_given = k_made_valid;",
    },
    Mutation {
        what: "a damaged message takes a sequence number",
        file: "picture_shell.sv",
        from: "if (!m_damaged) m_sequence",
        to: "m_sequence",
    },
    Mutation {
        what: "a picture that is cut never ends",
        file: "picture_shell.sv",
        from: "assign cut = feeds && (s_failed || (s_data_valid && s_data_user));",
        to: "assign cut = 1'b0;",
    },
    Mutation {
        what: "what is no message is dropped without a word",
        file: "picture_shell.sv",
        from: "dropped <= !rst && ends && (s_failed || !good);",
        to: "dropped <= !rst && ends && !good;",
    },
    Mutation {
        what: "the clock stops while the last rows are still to leave",
        file: "picture_shell.sv",
        from: "assign waits = held && (m_given || !feeds);",
        to: "assign waits = 1'b0;",
    },
    Mutation {
        what: "wider pictures than there is memory for are taken",
        file: "gaussian_blur.sv",
        from: ".MAX_WIDTH(MAX_WIDTH)\n  ) u_pictures",
        to: ".MAX_WIDTH(MAX_BYTES)\n  ) u_pictures",
    },
];

crate::picture_node::common_tests! {
    small: SMALL, shipped: SHIPPED, area: SHIPPED,
    resets: 300, amount: "blurred-pictures"
}

const HARMLESS: [(&str, &str); 4] = [
    (
        "picture_shell.sv: `doomed <= 1'b0;`: line 2 of 2: `1'b0` becomes `1'b1`",
        "in the reset of a node that streams: a picture that begins is not doomed",
    ),
    (
        "picture_shell.sv: `begun <= 1'b0;`: `1'b0` becomes `1'b1`",
        "nothing is held behind a reset, so that it is low a cycle later anyhow",
    ),
    (
        "picture_shell.sv: `k_bytes = '0;`: `'0` becomes `'1`",
        "a beat without bytes ends a message that is damaged, whose picture is dropped or marked",
    ),
    (
        "blur_picture.sv: `assign m_bytes = (left > Size'(8)) ? 4'd8 : left[3:0];`: `>` becomes `>=`",
        "8 bytes that are left are 8",
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_shell_of_pictures_are_found() {
    // This node streams, and the other one stores.
    let mutants = NODE.mutants("picture_shell", SMALL);
    let mutants = image_compensation::NODE.notices(mutants, image_compensation::SMALL);
    mutants.proved(kernels::of_the_shell()).but(&HARMLESS).are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_blur_are_found() {
    let simulation = kernel(3, 96, 1500);
    let mutants =
        Mutants::of("blur_picture").simulated(simulation, &["--seed", "1", "--stalls", "30"]);
    let mutants = mutants.measured(kernel(3, 96, 9600), &STEADY, is_a_beat_per_cycle);
    NODE.notices(mutants, SMALL).but(&HARMLESS).are_found();
}
