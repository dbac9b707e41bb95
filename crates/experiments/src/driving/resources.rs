//! What the board takes of an UltraScale+ part, beside table II of the fpgaDDS paper.

use crate::caller::GraphNetwork;
use crate::rows::Record;
use crossdock_graph::{NodeArea, NodeUltraRam};
use crossdock_hwgen::board::gateways;
use serde_json::{Value, json};

/// Area of modules, each synthesised alone.
const BUDGET: &str = include_str!("../../../../hw/budget.json");
/// The rows of table II: implementation, look-up tables, block memories of 36 kbit, URAM, DSP.
pub(crate) const TABLE_II: [(&str, u64, f64, u64, u64); 2] = [
    ("hardware, CycloneDDS", 134_252, 250.5, 95, 230),
    ("hardware, fpgaDDS", 44_939, 255.0, 91, 230),
];
pub(crate) const SOURCE: &str = "fpgaDDS paper, table II: the graph with image projection and lane following, \
                                 of a vendor's tools";
/// A part of a board.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) lut: u64,
    pub(crate) ff: u64,
    /// Block memories of 36 kbit.
    pub(crate) bram: f64,
    pub(crate) uram: u64,
    pub(crate) dsp: u64,
}

/// What a board takes.
pub(crate) struct Area {
    /// Which board it is, for sentences.
    pub(crate) what: String,
    pub(crate) parts: Vec<Part>,
}

impl Area {
    pub(crate) fn of(what: String, network: &GraphNetwork) -> Self {
        Self { what, parts: parts(network) }
    }
}

/// Nodes with a view of 128 bit, and their designs in the budget: package files have the areas of
/// nodes with streams of 64 bit.
const WIDE: [(&str, &str); 2] =
    [("lane_planner", "lane_planner-view_bits-128"), ("polyfit", "polyfit-gate-110-view_bits-128")];

/// What a board has beside its nodes: what it is, its design in the budget, and how many.
fn way(gateways: u64) -> [(&'static str, &'static str, u64); 9] {
    [
        ("gateways", "gateway-width-64-address_width-48", gateways),
        ("port of host memory", "memif_share-width-64-address_width-48-ports-8", 1),
        ("windows", "memif_mmu-width-64-address_width-48-windows-16-outstanding-32", 1),
        ("words of the host", "osif-clients-16-word_width-128-up_depth-64-down_depth-32", 1),
        ("registers of the host", "host_port-gateways-8-address_width-48", 1),
        ("port for registers", "register_bridge-clocks-1", 1),
        ("lease of the host", "host_lease", 1),
        ("stop of host memory", "memif_stop", 1),
        ("words of the network", "register_words-status-32-control-1", 1),
    ]
}

/// What a design takes, if the budget has it.
fn budgeted(budget: &Value, design: &str) -> Option<NodeArea> {
    let figures = &budget["designs"][design];
    let of = |what: &str| figures[what].as_u64();
    let (lut, ff, bram18) = (of("lut")?, of("ff")?, of("bram18")?);
    // There it says what is left.
    let in_uram = figures.get("in_uram").and_then(|deep| {
        let (left, uram) = (deep["bram18"].as_u64()?, deep["uram"].as_u64()?);
        Some(NodeUltraRam { bram18: bram18.checked_sub(left)?, uram })
    });
    Some(NodeArea { lut, ff, bram18, dsp: of("dsp").unwrap_or(0), in_uram })
}

/// The parts of a board, as far as its package files and the budget have them.
fn parts(network: &GraphNetwork) -> Vec<Part> {
    let budget: Value = serde_json::from_str(BUDGET).unwrap_or_default();
    let budgeted = |design: &str| budgeted(&budget, design);
    let of_nodes = network.generated.network.nodes.iter().filter_map(|node| {
        let is_wide = node.inputs.iter().chain(&node.outputs).any(|end| end.width == 128);
        let wide = WIDE.iter().find(|(name, _)| is_wide && *name == node.node_type);
        let area = wide.map_or(node.area, |(_, design)| budgeted(design))?;
        Some(part(&node.node_type, 1, area))
    });
    let way = way(gateways(&network.generated.network).len() as u64).into_iter();
    let way = way.filter_map(|(name, design, count)| Some(part(name, count, budgeted(design)?)));
    of_nodes.chain(way).collect()
}

/// So many of what takes this area each. What can keep its messages in UltraRAM does: the paper's
/// board does, too, and block memory alone does not suffice for a whole image.
fn part(name: &str, count: u64, NodeArea { lut, ff, bram18, dsp, in_uram }: NodeArea) -> Part {
    let (bram18, uram) = in_uram.map_or((bram18, 0), |deep| (bram18 - deep.bram18, deep.uram));
    let (lut, ff, uram, dsp) = (lut * count, ff * count, uram * count, dsp * count);
    Part { name: name.to_owned(), count, lut, ff, bram: (bram18 * count) as f64 / 2.0, uram, dsp }
}

/// All of them.
pub(crate) fn sum(parts: &[Part]) -> Part {
    let all = Part { name: "all".to_owned(), count: 1, lut: 0, ff: 0, bram: 0.0, uram: 0, dsp: 0 };
    parts.iter().fold(all, |sum, part| Part {
        lut: sum.lut + part.lut,
        ff: sum.ff + part.ff,
        bram: sum.bram + part.bram,
        uram: sum.uram + part.uram,
        dsp: sum.dsp + part.dsp,
        ..sum
    })
}

/// A row of table II: what an implementation takes.
pub(crate) struct Line {
    pub(crate) implementation: String,
    pub(crate) lut: u64,
    pub(crate) ff: Option<u64>,
    pub(crate) bram36: f64,
    pub(crate) uram: u64,
    pub(crate) dsp: u64,
    from: &'static str,
}

impl Record for Line {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("implementation", self.implementation.as_str().into()),
            ("lut", self.lut.into()),
            ("ff", self.ff.into()),
            ("bram36", self.bram36.into()),
            ("uram", self.uram.into()),
            ("dsp", self.dsp.into()),
            ("from", self.from.into()),
        ]
    }
}

/// The table: the paper's rows, then ours.
pub(crate) fn lines(areas: &[Area]) -> Vec<Line> {
    let printed = TABLE_II.map(|(name, lut, bram36, uram, dsp)| {
        let implementation = name.to_owned();
        Line { implementation, lut, ff: None, bram36, uram, dsp, from: SOURCE }
    });
    let ours = areas.iter().map(|Area { what, parts }| {
        let Part { lut, ff, bram, uram, dsp, .. } = sum(parts);
        let implementation = format!("Crossdock, {what}");
        Line { implementation, lut, ff: Some(ff), bram36: bram, uram, dsp, from: IS }
    });
    printed.into_iter().chain(ours).collect()
}

/// For the JSON file.
pub(crate) fn facts(areas: &[Area]) -> Value {
    let shown = |part: &Part| {
        json!({ "part": part.name, "count": part.count, "lut": part.lut, "ff": part.ff,
                "bram36": part.bram, "uram": part.uram, "dsp": part.dsp })
    };
    let printed = TABLE_II.map(|(name, lut, bram, uram, dsp)| {
        json!({ "implementation": name, "lut": lut, "bram36": bram, "uram": uram, "dsp": dsp })
    });
    let boards = areas.iter().map(|Area { what, parts }| {
        json!({ "board": what, "all": shown(&sum(parts)),
                "parts": parts.iter().map(shown).collect::<Vec<_>>() })
    });
    json!({ "paper": printed, "paper_source": SOURCE, "ours": boards.collect::<Vec<_>>(),
            "ours_is": IS })
}

/// What the figures of a board are.
pub(crate) const IS: &str = "Yosys 0.70, synth_xilinx -family xcup: the sum of modules that were synthesised \
                             alone (hw/budget.json), without the topics' networks, and what the host talks to \
                             for 8 gateways; a whole image is kept in UltraRAM";

#[cfg(test)]
mod tests {
    use super::{BUDGET, Part, WIDE, budgeted, part, sum, way};
    use serde_json::Value;

    const PAGE: &str = include_str!("../../../../docs/performance-hardware.md");
    /// The nodes of all boards that the page adds up.
    const COMMON: [&str; 5] = [
        "image_compensation-max_bytes-921600",
        "gaussian_blur-max_width-640-max_bytes-921600",
        "lane_control-blind_images-10",
        "red_light-area_min-40-width-640-height-480",
        "green_light-area_min-40-width-640-height-480",
    ];

    /// The whole board, of these nodes beside the common ones.
    fn board(nodes: [&str; 2], gateways: u64) -> Part {
        let budget: Value = serde_json::from_str(BUDGET).expect("JSON");
        let nodes = COMMON.into_iter().chain(nodes).map(|design| ("node", design, 1));
        let parts = nodes.chain(way(gateways)).map(|(name, design, count)| {
            let area = budgeted(&budget, design);
            part(name, count, area.unwrap_or_else(|| panic!("hw/budget.json has no {design}")))
        });
        sum(&parts.collect::<Vec<_>>())
    }

    #[test]
    fn the_page_on_performance_has_the_sums_of_the_budget() {
        let grouped = |number: u64| format!("{} {:03}", number / 1000, number % 1000);
        for (row, nodes, gateways) in [
            ("the same graph", ["image_projection", "lane_following"], 4),
            (
                "gateway paper's graph, topic A with a gateway",
                ["lane_planner", "polyfit-gate-110"],
                5,
            ),
            ("the same with a view of 128 bit", WIDE.map(|(_, design)| design), 5),
        ] {
            let Part { lut, ff, bram, uram, dsp, .. } = board(nodes, gateways);
            let (lut, ff) = (grouped(lut), grouped(ff));
            let said = format!("{row} | {lut} | {ff} | {bram} | {uram} | {dsp} |");
            let file = "docs/performance-hardware.md";
            assert!(PAGE.contains(&said), "{file} should say, by hw/budget.json:\n{said}");
        }
    }
}
