//! The hardware node of the lane planner against the software one, frame by frame.

use crate::board;
use crate::frames::{self, Limits};
use crate::kernels;
use crate::picture_node::{HARMLESS, PictureNode};
use crossdock_autorace::lane_setup::lane_setup_of;
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Mutation, lint, must, on_all_cores};
use crossdock_test_support::{done, workspace};
use std::collections::BTreeMap;

const NODE: PictureNode = PictureNode {
    twin: ("lane_planner", "view"),
    package: board::package,
    expected: frames::expected,
    kernels: &["byte_gear", "pixel_hsv", "row_contrast", "row_warp", "band_remap", "remap_places"],
    parameters: |_| Vec::new(),
    streams: true,
    // A view has 614 400 pixels, whatever the picture's size; all kinds of odd frames are among
    // them.
    pictures: 69,
    picture: frames::picture,
    told,
    made: |limits| vec![(SETUP, made(package(limits)))],
};

/// The setup that is made of a package file.
fn made(package: HardwarePackage) -> String {
    must(lane_setup_of(&package))
}

/// The values that the hardware is made with.
fn values(package: &HardwarePackage) -> &BTreeMap<String, ParameterValue> {
    &package.node_type("lane_planner").expect("the node type").built_in
}

/// The parameters of the software node with what the hardware is made with.
pub(crate) fn told(limits: Limits) -> String {
    in_yaml(values(&package(limits)))
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
    package_of(limits, None)
}

/// The same with the parameters of this name in `params`.
fn package_of(limits: Limits, name: Option<&str>) -> HardwarePackage {
    let mut package = board::package(limits);
    let (width, height) = limits.size.expect("a size");
    let node = package.nodes.iter_mut().find(|it| it.description.node_type == "lane_planner");
    let values = &mut node.expect("the node type").built_in;
    if let Some(name) = name {
        values.extend(board::params(name, "planner"));
    }
    values.insert("width".to_owned(), ParameterValue::Integer(width.into()));
    values.insert("height".to_owned(), ParameterValue::Integer(height.into()));
    let scale = [f64::from(width) / 640.0, f64::from(height) / 480.0];
    let mut numbers = |name: &str, change: &dyn Fn(&mut [f64])| {
        let Some(ParameterValue::DoubleArray(numbers)) = values.get_mut(name) else {
            panic!("no {name}");
        };
        change(numbers);
    };
    // fx, fy, cx, cy.
    numbers("intrinsics", &|all| {
        all.iter_mut().zip(scale.repeat(2)).for_each(|(it, by)| *it *= by)
    });
    numbers("homography", &|all| {
        for row in all.chunks_exact_mut(3) {
            row[0] /= scale[0];
            row[1] /= scale[1];
        }
    });
    package
}

/// The node that rectifies, with the parameters of the highway.
const HIGHWAY: PictureNode = PictureNode {
    told: |limits| in_yaml(values(&package_of(limits, Some("highway")))),
    made: |limits| vec![(SETUP, made(package_of(limits, Some("highway"))))],
    ..NODE
};
const WIDE_HIGHWAY: PictureNode = PictureNode { parameters: WIDE.parameters, ..HIGHWAY };
/// With the parameters of the course, whose lens is weaker.
const AUTORACE: PictureNode = PictureNode {
    told: |limits| in_yaml(values(&package_of(limits, Some("autorace")))),
    made: |limits| vec![(SETUP, made(package_of(limits, Some("autorace"))))],
    ..NODE
};
/// With the parameters of a highway whose pictures need no rectification.
const WHITE_LANES: PictureNode = PictureNode {
    told: |limits| in_yaml(values(&package_of(limits, Some("white_lanes")))),
    made: |limits| vec![(SETUP, made(package_of(limits, Some("white_lanes"))))],
    ..NODE
};

#[test]
fn what_is_shipped_is_made_of_the_values_in_the_package_file() {
    let path = workspace().join("apps/autorace/hardware/lane_planner").join(SETUP);
    let shipped = must(std::fs::read_to_string(path));
    assert!(
        made(package(SHIPPED)) == shipped,
        "make it anew: crossdock-autorace lane-setup apps/autorace/hardware/autorace.hardware.yaml -o \
         apps/autorace/hardware/lane_planner/{SETUP}"
    );
}

/// The value of a constant of a setup.
fn constant(setup: &str, name: &str) -> u64 {
    let (_, rest) = setup.split_once(&format!(" {name} = ")).expect("a constant");
    must(rest.split(';').next().expect("a number").parse())
}

#[test]
fn a_picture_takes_its_beats_and_half_as_many_cycles_as_pixels_in_rows_of_the_view() {
    let (_, latency, period) = NODE.pace(SHIPPED);
    let rows = constant(&made(package(SHIPPED)), "Rows");
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

#[test]
fn a_picture_that_is_rectified_takes_a_cycle_per_pixel_in_rows_that_are_needed() {
    // With the course's lens 7 rows of the view leave while those that come wait for room.
    for (node, name, alone) in [(&HIGHWAY, "highway", 0), (&AUTORACE, "autorace", 7)] {
        let (_, latency, period) = node.pace(SHIPPED);
        let raw = constant(&made(package_of(SHIPPED, Some(name))), "RawRows");
        let cycles = (480 - raw) * 240 + (raw + alone) * 640;
        assert!((cycles..cycles + 300).contains(&latency), "{name}: {latency} for {cycles}");
        assert!((cycles..cycles + 300).contains(&period), "{name}: {period} for {cycles}");
    }
}

#[test]
#[ignore = "long: one more simulator"]
fn a_picture_that_is_rectified_takes_as_long_if_its_view_has_128_bits() {
    assert_eq!(WIDE_HIGHWAY.pace(SHIPPED), HIGHWAY.pace(SHIPPED));
}

/// Recordings with the nodes that are made for their cameras.
const RECORDINGS: [(&PictureNode, &str, usize); 4] = [
    (&HIGHWAY, "driving/highway_a_25hz/highway_a_25hz.mcap", 60),
    (&AUTORACE, "autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap", 100),
    (&WHITE_LANES, "driving/white_lanes_25hz/white_lanes_25hz.mcap", 60),
    (&HIGHWAY, "driving/highway_drive_1hz/highway_drive_1hz.mcap", 20),
];

#[test]
fn pictures_of_recordings_become_what_the_software_node_with_their_parameters_makes_of_them() {
    on_all_cores(RECORDINGS[..3].to_vec(), |(node, bag, every)| {
        node.equals_its_twin_on_recording(SHIPPED, bag, Some(every))
    });
}

#[test]
#[ignore = "long: all pictures of recordings"]
fn all_pictures_of_recordings_become_what_the_software_node_with_their_parameters_makes_of_them() {
    let all = on_all_cores(RECORDINGS.to_vec(), |(node, bag, _)| {
        node.equals_its_twin_on_recording(SHIPPED, bag, None)
    });
    done(all.iter().sum(), "lane-views of their cameras");
}

#[test]
fn the_node_that_rectifies_is_clean_under_all_warnings() {
    on_all_cores(vec![(&HIGHWAY, SHIPPED), (&HIGHWAY, SMALL), (&AUTORACE, SHIPPED)], |it| {
        must(lint(&it.0.design(it.1)));
    });
}

#[test]
fn frames_of_all_kinds_are_rectified_and_become_what_the_software_node_makes_of_them() {
    let (path, count) = HIGHWAY.file(&HIGHWAY.chance(1, HIGHWAY.pictures, SMALL), SMALL);
    let report = HIGHWAY.run(SMALL, &path, &["--seed", "5", "--stalls", "30"]);
    assert_eq!(report.value("published"), count);
    assert!(report.value("dropped") > 20 && report.value("damaged") > 0, "{report:?}");
}

#[test]
#[ignore = "long: few stalls and none, slow pictures, many resets, and views of 128 bit"]
fn the_node_that_rectifies_equals_its_twin_at_any_pace_and_after_resets() {
    for node in [&HIGHWAY, &WIDE_HIGHWAY] {
        node.equals_its_twin(SMALL);
        let (path, _) = node.file(&node.chance(2, 30, SMALL), SMALL);
        node.run(SMALL, &path, &["--seed", "4", "--resets", "1"]);
    }
}

const FAULTS_OF_RECTIFICATION: [Mutation; 4] = [
    Mutation {
        what: "a picture that was cut goes on in the next one",
        file: "rectify_rows.sv",
        from: ".rst(rst || start),",
        to: ".rst,",
    },
    Mutation {
        what: "places begin a cycle before the pixels do",
        file: "rectify_rows.sv",
        from: "    .rst,\n    .start(starts),\n    .line_at,",
        to: "    .rst,\n    .start(1'b0),\n    .line_at,",
    },
    Mutation {
        what: "the last row that is needed is left out",
        file: "mark_lanes.sv",
        from: "row < Row'(FirstRaw + RawRows);",
        to: "row + 1'b1 < Row'(FirstRaw + RawRows);",
    },
    Mutation {
        what: "rows above those that are needed are taken for them",
        file: "mark_lanes.sv",
        from: "row >= Row'(FirstRaw)",
        to: "row + 1'b1 >= Row'(FirstRaw)",
    },
];

#[test]
#[ignore = "long: a simulator for each fault"]
fn faults_of_rectification_are_caught() {
    HIGHWAY.catches(SMALL, &FAULTS_OF_RECTIFICATION);
}

#[test]
#[ignore = "long: synthesis of a whole node"]
fn the_node_that_rectifies_takes_no_more_area_than_its_budget() {
    must(area_within_budget(&HIGHWAY.design(SHIPPED).made_of("highway")));
}

/// The node with a view of 128 bit.
mod wide {
    use super::{FAULTS, SHIPPED, SMALL, WIDE as NODE, area_within_budget, done, lint, must};

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

const LATER: [(&str, &str); 1] = [(
    "row_contrast.sv: `wire [Place-1:0]  need = (end_0 + Place'(PIXELS - 1) < Place'(WIDTH)) ? out + \
     Place'(PIXELS)`: `-` becomes `+`",
    "near the end of a row a group waits for the row to be there, which it is soon",
)];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_contrast_are_found() {
    WIDE.notices(NODE.mutants("row_contrast", SMALL), SMALL)
        .proved(kernels::of_contrast())
        .but(&LATER)
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
fn mutants_of_rectification_are_found() {
    HIGHWAY.mutants("rectify_rows", SMALL).are_found();
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_planner_are_found() {
    let mutants = WIDE.notices(NODE.mutants("mark_lanes", SMALL), SMALL);
    mutants.but(&HARMLESS).are_found();
}
