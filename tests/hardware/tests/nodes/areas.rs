//! What package files say that their nodes take, against `hw/budget.json`.

use crossdock_graph::{HardwarePackage, NodeArea, NodeUltraRam};
use crossdock_hardware_tests::must;
use crossdock_test_support::workspace;
use serde_json::Value;

/// Package files with their nodes, and the designs that were measured of these: with the default
/// values of parameters that change the area.
const PACKAGES: [(&str, &[(&str, &str)]); 2] = [
    (
        "apps/autorace/hardware/autorace.hardware.yaml",
        &[
            ("image_compensation", "image_compensation-max_bytes-921600"),
            ("gaussian_blur", "gaussian_blur-max_width-640-max_bytes-921600"),
            ("lane_planner", "lane_planner"),
            ("image_projection", "image_projection"),
            ("polyfit", "polyfit-gate-110"),
            ("lane_following", "lane_following"),
            ("lane_control", "lane_control-blind_images-10"),
            ("red_light", "red_light-area_min-40-width-640-height-480"),
            ("green_light", "green_light-area_min-40-width-640-height-480"),
        ],
    ),
    (
        "apps/image_pipeline/hardware/image_pipeline.hardware.yaml",
        &[
            ("rectify", "rectify"),
            ("resize", "resize-max_width-640-max_bytes-921600-width-0-height-0"),
            ("rectify_resize", "rectify_resize-width-0-height-0"),
        ],
    ),
];

/// As a package file would say what a design takes.
fn budgeted(design: &Value) -> Option<NodeArea> {
    let figure = |name: &str| design[name].as_u64();
    let in_uram = &design["in_uram"];
    let area = NodeArea {
        lut: figure("lut")?,
        ff: figure("ff")?,
        bram18: figure("bram18")?,
        dsp: figure("dsp").unwrap_or(0),
        in_uram: None,
    };
    let Some(uram) = in_uram["uram"].as_u64() else { return Some(area) };
    let bram18 = area.bram18 - in_uram["bram18"].as_u64()?;
    Some(NodeArea { in_uram: Some(NodeUltraRam { bram18, uram }), ..area })
}

#[test]
fn packages_say_of_every_node_what_the_budget_has() {
    let budget = must(std::fs::read_to_string(workspace().join("hw/budget.json")));
    let budget: Value = serde_json::from_str(&budget).expect("hw/budget.json is JSON");
    for (file, nodes) in PACKAGES {
        let text = must(std::fs::read_to_string(workspace().join(file)));
        let package = HardwarePackage::from_yaml(file, text.as_bytes()).expect("a package file");
        let said = package.nodes.iter().map(|it| (it.description.node_type.as_str(), it.area));
        let measured = nodes.iter().map(|(node, design)| {
            let area = budgeted(&budget["designs"][design]);
            (*node, Some(area.unwrap_or_else(|| panic!("hw/budget.json has no {design}"))))
        });
        assert_eq!(said.collect::<Vec<_>>(), measured.collect::<Vec<_>>(), "{file}");
    }
}
