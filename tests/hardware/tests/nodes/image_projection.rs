//! The hardware node of image projection against the software one, frame by frame.

use crate::board;
use crate::frames::{self, Limits};
use crate::lane_planner::in_yaml;
use crate::picture_node::{HARMLESS, PictureNode};
use crossdock_autorace::projection_setup::projection_setup_of;
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Mutation, lint, must, on_all_cores};
use crossdock_test_support::{done, workspace};

const NODE: PictureNode = PictureNode {
    twin: ("image_projection", "projected"),
    package: board::package,
    expected: frames::expected,
    kernels: &["byte_gear", "band_remap"],
    parameters: |_| Vec::new(),
    streams: true,
    pictures: 69,
    picture: frames::picture,
    told: |limits| told(limits, None),
    made: |limits| made(limits, None),
};

/// With the parameters of a camera on a highway.
const HIGHWAYS: PictureNode = PictureNode {
    told: |limits| told(limits, Some(OF_HIGHWAYS)),
    made: |limits| made(limits, Some(OF_HIGHWAYS)),
    ..NODE
};
/// The file in `params` for it. The camera of the other recordings looks at its road nearly alike,
/// and nothing removes the distortion of its lens here: they have no file of their own.
pub(crate) const OF_HIGHWAYS: &str = "following_white_lanes";

/// The parameters of the software node with what the hardware is made with.
pub(crate) fn told(limits: Limits, params: Option<&str>) -> String {
    let package = package_of(limits, params);
    in_yaml(&package.node_type("image_projection").expect("the node type").built_in)
}

/// The setup that is made with the same.
fn made(limits: Limits, params: Option<&str>) -> Vec<(&'static str, String)> {
    vec![(SETUP, must(projection_setup_of(&package_of(limits, params))))]
}

const SETUP: &str = "image_projection_setup.sv";

/// A small picture: every tenth pixel of the camera's, and of the projected one.
const SMALL: Limits = limits((64, 48));
const SMALL_VIEW: (u32, u32) = (104, 60);
/// The node as it is shipped.
pub(crate) const SHIPPED: Limits = limits((640, 480));

const fn limits(size: (u32, u32)) -> Limits {
    let max_bytes = size.0 * size.1 * 3;
    Limits { bound: max_bytes + 100, max_bytes, max_width: 1 << 20, size: Some(size) }
}

/// The package file for cameras of this size that look at the same road.
fn package(limits: Limits) -> HardwarePackage {
    package_of(limits, None)
}

/// The same with the parameters of this name in `params`.
fn package_of(limits: Limits, params: Option<&str>) -> HardwarePackage {
    let mut package = board::package(limits);
    let node = package.nodes.iter_mut().find(|it| it.description.node_type == "image_projection");
    let values = &mut node.expect("the node type").built_in;
    if let Some(name) = params {
        values.extend(board::params(name, "projection"));
    }
    let (width, height) = limits.size.expect("a size");
    if (width, height) == (640, 480) {
        return package;
    }
    let (view_width, view_height) = SMALL_VIEW;
    for (name, value) in [
        ("width", width),
        ("height", height),
        ("projected_width", view_width),
        ("projected_height", view_height),
    ] {
        values.insert(name.to_owned(), ParameterValue::Integer(value.into()));
    }
    let Some(ParameterValue::DoubleArray(homography)) = values.get_mut("homography") else {
        panic!("no homography");
    };
    let scales = [f64::from(view_width) / 1000.0, f64::from(view_height) / 600.0, 1.0];
    for (row, scale) in homography.chunks_exact_mut(3).zip(scales) {
        row[0] *= 640.0 / f64::from(width);
        row[1] *= 480.0 / f64::from(height);
        row.iter_mut().for_each(|it| *it *= scale);
    }
    package
}

#[test]
fn what_is_shipped_is_made_of_the_values_in_the_package_file() {
    let path = workspace().join("apps/autorace/hardware/image_projection").join(SETUP);
    let shipped = must(std::fs::read_to_string(path));
    let made = must(projection_setup_of(&package(SHIPPED)));
    assert!(
        made == shipped,
        "make it anew: crossdock-autorace projection-setup \
         apps/autorace/hardware/autorace.hardware.yaml -o \
         apps/autorace/hardware/image_projection/{SETUP}"
    );
}

#[test]
fn a_picture_takes_its_first_rows_and_a_cycle_per_projected_pixel() {
    let (_, latency, period) = NODE.pace(SHIPPED);
    // Rows above the road pass at the pace of pixels; then a row of the road gives two and a half
    // of the view, which take longer.
    let pixels = 1000 * 600;
    assert!((pixels..pixels + 160_000).contains(&latency), "{latency}");
    assert!((pixels..pixels + 160_000).contains(&period), "{period}");
}

#[test]
#[ignore = "long: all pictures of recordings"]
fn all_pictures_of_highways_become_what_the_software_node_with_their_parameters_makes_of_them() {
    let bags = [
        "driving/highway_a_25hz/highway_a_25hz.mcap",
        "driving/highway_drive_1hz/highway_drive_1hz.mcap",
        "driving/white_lanes_25hz/white_lanes_25hz.mcap",
    ];
    let all = on_all_cores(bags.to_vec(), |bag| {
        HIGHWAYS.equals_its_twin_on_recording(SHIPPED, bag, None)
    });
    done(all.iter().sum(), "projections of their cameras");
}

const FAULTS: [Mutation; 5] = [
    Mutation {
        what: "pictures of another size are taken",
        file: "image_projection.sv",
        from: "    .WIDTH(image_projection_setup::Width),\n    \
               .HEIGHT(image_projection_setup::Height),",
        to: "    .WIDTH(0),\n    .HEIGHT(0),",
    },
    Mutation {
        what: "places are rounded instead of cut",
        file: "projection_places.sv",
        from: "26'(place >>> Shift);",
        to: "26'((place + (Place'(1) << (Shift - 1))) >>> Shift);",
    },
    Mutation {
        what: "a row is read before it is whole",
        file: "projection_places.sv",
        from: "p_need} <= line[Place+Step+25 +: 30];",
        to: "p_need} <= line[Place+Step+25 +: 30] - 30'd1;",
    },
    Mutation {
        what: "all rows have the first one's line",
        file: "projection_places.sv",
        from: "if (row_at != Row'(Height - 1)) row_at <= row_at + 1'b1;",
        to: "",
    },
    Mutation {
        what: "a picture that is cut never ends",
        file: "band_remap.sv",
        from: "if (cut && busy) is_cut <= 1'b1;",
        to: "",
    },
];

crate::picture_node::common_tests! {
    small: SMALL, shipped: SHIPPED, area: SHIPPED,
    resets: 30, amount: "projections"
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_projection_are_found() {
    for module in ["project_picture", "projection_places"] {
        NODE.mutants(module, SMALL).but(&HARMLESS).are_found();
    }
}
