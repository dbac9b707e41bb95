//! The hardware node of the lane planner against the software one, frame by frame.

use crate::board;
use crate::frames::{self, Limits};
use crate::kernels;
use crate::picture_node::{HARMLESS, PictureNode};
use crossdock_autorace::lane_setup::lane_setup_of;
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Mutation, lint, must};
use crossdock_test_support::{done, workspace};
use std::collections::BTreeMap;

const NODE: PictureNode = PictureNode {
    twin: ("lane_planner", "view"),
    package: board::package,
    expected: frames::expected,
    kernels: &["byte_gear", "pixel_hsv", "row_contrast", "row_warp"],
    parameters: |_| Vec::new(),
    streams: true,
    // A view has 614 400 pixels, whatever the picture's size; all kinds of odd frames are among
    // them.
    pictures: 69,
    told,
    made: |limits| vec![(SETUP, must(lane_setup_of(&package(limits))))],
};
/// The parameters of the software node with what the hardware is made with.
pub(crate) fn told(limits: Limits) -> String {
    let package = package(limits);
    let values = &package.node_type("lane_planner").expect("the node type").built_in;
    in_yaml(values)
}

/// Parameters in YAML.
pub(crate) fn in_yaml(values: &BTreeMap<String, ParameterValue>) -> String {
    let shown = |value: &ParameterValue| match value {
        ParameterValue::DoubleArray(numbers) => format!("{numbers:?}"),
        ParameterValue::IntegerArray(numbers) => format!("{numbers:?}"),
        ParameterValue::Integer(number) => number.to_string(),
        ParameterValue::Double(number) => format!("{number:?}"),
        ParameterValue::Bool(is) => is.to_string(),
        other => panic!("{other:?}"),
    };
    let values = values.iter().map(|(name, value)| format!("{name}: {}", shown(value)));
    format!("{{ {} }}", values.collect::<Vec<_>>().join(", "))
}

/// The same with views of 128 bit.
const WIDE: PictureNode = PictureNode { parameters: |_| vec![("VIEW_BITS", 128)], ..NODE };

const SETUP: &str = "lane_planner_setup.sv";

/// A small picture: every tenth pixel of the camera's.
const SMALL: Limits = limits((64, 48));
/// The node as it is shipped.
const SHIPPED: Limits = limits((640, 480));

const fn limits(size: (u32, u32)) -> Limits {
    let max_bytes = size.0 * size.1 * 3;
    Limits { bound: max_bytes + 100, max_bytes, max_width: 1 << 20, size: Some(size) }
}

/// The package file for cameras of this size that look at the same road.
fn package(limits: Limits) -> HardwarePackage {
    let mut package = board::package(limits);
    let (width, height) = limits.size.expect("a size");
    let node = package.nodes.iter_mut().find(|it| it.description.node_type == "lane_planner");
    let values = &mut node.expect("the node type").built_in;
    values.insert("width".to_owned(), ParameterValue::Integer(width.into()));
    values.insert("height".to_owned(), ParameterValue::Integer(height.into()));
    let Some(ParameterValue::DoubleArray(homography)) = values.get_mut("homography") else {
        panic!("no homography");
    };
    for row in homography.chunks_exact_mut(3) {
        row[0] *= 640.0 / f64::from(width);
        row[1] *= 480.0 / f64::from(height);
    }
    package
}

#[test]
fn what_is_shipped_is_made_of_the_values_in_the_package_file() {
    let path = workspace().join("apps/autorace/hardware/lane_planner").join(SETUP);
    let shipped = must(std::fs::read_to_string(path));
    let made = must(lane_setup_of(&package(SHIPPED)));
    assert!(
        made == shipped,
        "make it anew: crossdock-autorace lane-setup apps/autorace/hardware/autorace.hardware.yaml -o \
         apps/autorace/hardware/lane_planner/{SETUP}"
    );
}

#[test]
fn a_picture_takes_its_beats_and_half_as_many_cycles_as_pixels_in_rows_of_the_view() {
    let (_, latency, period) = NODE.pace(SHIPPED);
    let setup = must(lane_setup_of(&package(SHIPPED)));
    let (_, rest) = setup.split_once("Rows = ").expect("rows of the view");
    let rows: u64 = must(rest.split(';').next().expect("a number").parse());
    let cycles = (480 - rows) * 240 + rows * 321;
    assert!((cycles..cycles + 300).contains(&latency), "{latency} for {cycles}");
    assert!((cycles..cycles + 300).contains(&period), "{period} for {cycles}");
}

#[test]
fn a_picture_takes_its_beats_alone_if_its_view_has_128_bits() {
    let (beats, latency, period) = WIDE.pace(SHIPPED);
    assert!((beats..beats + 300).contains(&latency), "{latency} for {beats}");
    assert!((beats..beats + 300).contains(&period), "{period} for {beats}");
}

/// The node with a view of 128 bit.
mod wide {
    use super::{
        FAULTS, SHIPPED, SMALL, WIDE as NODE, area_within_budget, done, frames, lint, must,
    };

    crate::picture_node::common_tests! {
        small: SMALL, shipped: SHIPPED, area: SHIPPED,
        resets: 30, amount: "wide lane-views"
    }
}

const FAULTS: [Mutation; 6] = [
    Mutation {
        what: "pictures of another size are taken",
        file: "lane_planner.sv",
        from: "    .WIDTH(Width),\n    .HEIGHT(Height),",
        to: "    .WIDTH(0),\n    .HEIGHT(0),",
    },
    kernels::LEAVES_TOO_EARLY,
    Mutation {
        what: "a view that is cut never ends",
        file: "row_warp.sv",
        from: "if (cut && busy) is_cut <= 1'b1;",
        to: "",
    },
    Mutation {
        what: "the window on the right ends a pixel early",
        file: "row_contrast.sv",
        from: "wire [Place-1:0]  end_0 = x + out + 1'b1;",
        to: "wire [Place-1:0]  end_0 = x + out;",
    },
    Mutation {
        what: "sums are read before they are written",
        file: "row_contrast.sv",
        from: "32'({ahead, Lane'(0)}) > 32'(need) + 32'(PIXELS - 1);",
        to: "32'({ahead, Lane'(0)}) + 32'(PIXELS) > 32'(need);",
    },
    Mutation {
        what: "a pixel right of the row is seen",
        file: "row_warp.sv",
        from: "$unsigned(columns[i]) < 12'(WIDTH);",
        to: "$unsigned(columns[i]) <= 12'(WIDTH);",
    },
];

crate::picture_node::common_tests! {
    small: SMALL, shipped: SHIPPED, area: SHIPPED,
    resets: 30, amount: "lane-views"
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_contrast_are_found() {
    WIDE.notices(NODE.mutants("row_contrast", SMALL), SMALL)
        .proved(kernels::of_contrast())
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_warp_are_found() {
    WIDE.notices(NODE.mutants("row_warp", SMALL), SMALL)
        .proved(kernels::of_the_warp())
        .proved([kernels::of_odd_warp()])
        .are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_planner_are_found() {
    let mutants = WIDE.notices(NODE.mutants("mark_lanes", SMALL), SMALL);
    mutants.but(&HARMLESS).are_found();
}
