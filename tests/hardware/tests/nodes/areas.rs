//! What package files and the page on performance say that nodes take, against `hw/budget.json`.

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

/// All that was measured.
fn budget() -> Value {
    let budget = must(std::fs::read_to_string(workspace().join("hw/budget.json")));
    serde_json::from_str(&budget).expect("hw/budget.json is JSON")
}

#[test]
fn packages_say_of_every_node_what_the_budget_has() {
    let budget = budget();
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

/// What the page on performance says of a design: words of the page with `LUT`, `FF`, `BRAM` and
/// `DSP` in place of figures.
const SAID: [(&str, &str); 15] = [
    ("image_compensation-max_bytes-921600", "| `image_compensation` | LUT | FF | BRAM | DSP |"),
    ("image_projection", "| `image_projection` | LUT | FF | BRAM | DSP |"),
    ("lane_following", "| `lane_following` | LUT | FF | BRAM | DSP |"),
    (
        "gaussian_blur-max_width-640-max_bytes-921600",
        "for pictures of 640 columns takes LUT look-up tables, FF flip-flops and BRAM block memories",
    ),
    (
        "lane_planner",
        "with the camera of the closed course takes LUT look-up tables, FF flip-flops, BRAM block \
         memories of 18 kbit and DSP multipliers",
    ),
    (
        "lane_planner-view_bits-128",
        "It then takes LUT look-up tables, FF flip-flops, as many memories and DSP multipliers.",
    ),
    (
        "lane_planner-of-highway",
        "with a view of 64 bit takes LUT look-up tables, FF flip-flops, BRAM block memories and DSP \
         multipliers.",
    ),
    (
        "polyfit-gate-110",
        "The node of polyfit takes LUT look-up tables, FF flip-flops, BRAM block memories of 18 kbit \
         and DSP multipliers,",
    ),
    (
        "polyfit-gate-110-view_bits-128",
        "With a view of 128 bit it takes LUT look-up tables and FF flip-flops,",
    ),
    (
        "lane_control-blind_images-10",
        "The node of lane control takes LUT look-up tables and FF flip-flops,",
    ),
    (
        "red_light-area_min-40-width-640-height-480",
        "Red takes LUT look-up tables and FF flip-flops,",
    ),
    (
        "green_light-area_min-40-width-640-height-480",
        "green LUT and FF, in the same terms. Each takes BRAM block memories of 18 kbit and DSP \
         multipliers.",
    ),
    ("rectify", "| `rectify` | LUT | FF | BRAM | DSP |"),
    (
        "resize-max_width-640-max_bytes-921600-width-0-height-0",
        "| `resize` | LUT | FF | BRAM | DSP |",
    ),
    ("rectify_resize-width-0-height-0", "| `rectify_resize` | LUT | FF | BRAM | DSP |"),
];

/// As pages write a number: 1 234.
fn grouped(number: u64) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands} {rest:03}"),
    }
}

#[test]
fn the_page_on_performance_has_the_figures_of_the_budget() {
    let (budget, file) = (budget(), "docs/performance-hardware.md");
    let page = must(std::fs::read_to_string(workspace().join(file)));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for (design, words) in SAID {
        let area = budgeted(&budget["designs"][design]);
        let area = area.unwrap_or_else(|| panic!("hw/budget.json has no {design}"));
        let figures =
            [("LUT", area.lut), ("FF", area.ff), ("BRAM", area.bram18), ("DSP", area.dsp)];
        let said = figures
            .into_iter()
            .fold(words.to_owned(), |said, (name, figure)| said.replace(name, &grouped(figure)));
        assert!(page.contains(&said), "of {design}, {file} should say, by hw/budget.json:\n{said}");
    }
}
