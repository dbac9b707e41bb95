//! The hardware node of image compensation against the software one, frame by frame.

use crate::board;
use crate::frames::{self, Limits};
use crate::picture_node::PictureNode;
use crate::simulated;
use crossdock_hardware_tests::budget::{area_in_uram_is_the_budget, area_within_budget};
use crossdock_hardware_tests::{Mutation, lint, must};
use crossdock_test_support::done;

pub(crate) const NODE: PictureNode = PictureNode {
    twin: ("image_compensation", "compensated"),
    package: board::package,
    expected: frames::expected,
    kernels: &["pixel_gear", "pixel_levels", "replay"],
    parameters: |limits| vec![("MAX_BYTES", limits.max_bytes)],
    streams: false,
    pictures: 300,
    picture: frames::picture,
    told: |_| "{}".to_owned(),
    made: |_| Vec::new(),
};
/// A small node whose messages may be longer than its pictures.
pub(crate) const SMALL: Limits = limits(4000, 3000);
/// The node as it is shipped.
const SHIPPED: Limits = limits(921_600, 921_600);

const fn limits(bound: u32, max_bytes: u32) -> Limits {
    Limits { bound, max_bytes, max_width: 1 << 20, size: None }
}

#[test]
fn a_picture_takes_its_beats_twice_and_a_table_and_the_next_one_overlaps() {
    let (beats, latency, period) = NODE.pace(SHIPPED);
    assert!((2 * beats..2 * beats + 630).contains(&latency), "{latency} for {beats}");
    assert!((beats..beats + 630).contains(&period), "{period} for {beats}");
}

const FAULTS: [Mutation; 10] = [
    Mutation {
        what: "rows that are not packed are told as another encoding",
        file: "picture_check.sv",
        from: "!packs ? 2'd2",
        to: "!packs ? 2'd1",
    },
    Mutation {
        what: "what is no message is dropped without a word",
        file: "picture_shell.sv",
        from: "dropped <= !rst && ends && (s_failed || !good);",
        to: "dropped <= !rst && ends && !good;",
    },
    Mutation {
        what: "another encoding is a picture",
        file: "picture_check.sv",
        from: "is_rgb = encoding_length == 32'd4 && encoding[31:0] == \"8bgr\";",
        to: "is_rgb = encoding_length == 32'd4;",
    },
    Mutation {
        what: "rows may have any length",
        file: "picture_check.sv",
        from: "packs = row_bytes == {2'd0, step};",
        to: "packs = 1'b1;",
    },
    Mutation {
        what: "the area is looked at modulo a power of two",
        file: "picture_check.sv",
        from: "over <= ((step >> Bits) != '0 && height != '0) || ((height >> Bits) != '0 && step != '0);",
        to: "over <= 1'b0;",
    },
    Mutation {
        what: "pictures longer than the memory are cut",
        file: "picture_check.sv",
        from: "= length <= 32'(MAX_BYTES)\n      && (",
        to: "= (",
    },
    Mutation {
        what: "the picture of a damaged message stays in the kernel",
        file: "picture_shell.sv",
        from: "if (feeds && (s_failed || (s_valid && settled && !good))) doomed <= 1'b1;",
        to: "if (feeds && s_valid && settled && !good) doomed <= 1'b1;",
    },
    Mutation {
        what: "a picture is fed before a refused one is gone",
        file: "picture_shell.sv",
        from: "assign k_valid = s_data_valid && feeds && !doomed;",
        to: "assign k_valid = s_data_valid && feeds;",
    },
    Mutation {
        what: "a refused picture leaves in place of the one before it",
        file: "picture_shell.sv",
        from: "wire drains = doomed && !held;",
        to: "wire drains = doomed;",
    },
    Mutation {
        what: "the clock stops while a message is held",
        file: "picture_shell.sv",
        from: "assign waits = held || doomed;",
        to: "assign waits = 1'b0;",
    },
];

crate::picture_node::common_tests! {
    small: SMALL, shipped: SHIPPED, area: SHIPPED, resets: 300, amount: "compensated-pictures"
}

/// The memory of a whole picture is most of what small parts have of blocks.
#[test]
#[ignore = "long: synthesis of a whole node"]
fn its_picture_may_lie_in_ultra_ram() {
    must(area_in_uram_is_the_budget(&NODE.design(SHIPPED)));
}

const ENDS: &str = "between the ends, the entries of the table begin with 0 and end with 255, too";
const HARMLESS: [(&str, &str); 6] = [
    (
        "stretch_levels.sv: `assign table_value = (level <= low) ? 8'd0 : (level >= high) ? 8'd255 : value;`: \
         `<=` becomes `<`",
        ENDS,
    ),
    (
        "stretch_levels.sv: `assign table_value = (level <= low) ? 8'd0 : (level >= high) ? 8'd255 : value;`: \
         `>=` becomes `>`",
        ENDS,
    ),
    (
        "stretch_levels.sv: `todo <= Steps'(8);`: `todo <= Steps'(8);` becomes `;`",
        "the first of the eight steps begins all anew: those before it take some cycles and change nothing",
    ),
    (
        "stretch_levels.sv: `low <= 8'd0;`: line 1 of 2: `low <= 8'd0;` becomes `;`",
        "at least half of all pixels are no outliers: a lowest level is always found",
    ),
    (
        "stretch_levels.sv: `high <= 8'd255;`: line 1 of 2: `high <= 8'd255;` becomes `;`",
        "at least half of all pixels are no outliers: a highest level is always found",
    ),
    (
        "stretch_levels.sv: `wire [15:0] rest = goes ? 16'(shifted - {1'b0, divisor}) : shifted[15:0];`: \
         `1'b0` becomes `1'b1`",
        "the difference has 16 bits, and this is the 17th",
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_compensation_are_found() {
    for module in ["stretch_levels", "compensate_picture"] {
        // Among so many sizes are some whose share of outliers is a whole number of pixels.
        NODE.mutants(module, SMALL)
            .simulated(simulated(3000), &["--seed", "1", "--pictures", "300"])
            .but(&HARMLESS)
            .are_found();
    }
}
