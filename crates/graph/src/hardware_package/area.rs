//! What a node takes of a part, as its package file says: the key `area` of a node type.

use crate::read::{Fields, Keys, Reading};
use crate::violation::ViolationKind;
use crate::yaml::Tree;
use serde::{Deserialize, Serialize};

const AREA: Keys = Keys {
    what: "the area of a node type",
    required: &["lut", "ff", "bram18", "dsp"],
    optional: &["in_uram"],
};
const IN_URAM: Keys =
    Keys { what: "`in_uram` of an area", required: &["bram18", "uram"], optional: &[] };
/// Most of anything: the largest parts have some millions of look-up tables and flip-flops.
const COUNT_MAX: u64 = 100_000_000;
/// Most blocks of 18 kbit whose place one UltraRAM can take: it holds 288 kbit, and a block in use
/// holds 16 kbit if its parity bits lie idle (AMD UG573, chapters 1 and 2).
const BLOCKS_PER_URAM: u64 = 18;

/// What a node takes of an UltraScale+ part, with the default values of the parameters that it
/// depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeArea {
    /// Look-up tables, those that serve as memory included.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Block memory in units of 18 kbit.
    pub bram18: u64,
    /// Multipliers.
    pub dsp: u64,
    /// The block memory that may lie in UltraRAM instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_uram: Option<NodeUltraRam>,
}

/// Block memory of a node that may lie in UltraRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeUltraRam {
    /// The blocks of 18 kbit that it then does not take, some of the node's.
    pub bram18: u64,
    /// What it takes of UltraRAM in place of them, in units of 288 kbit.
    pub uram: u64,
}

/// The key `area` of a node type; `None`: something is wrong with it, and noted.
pub(super) fn read(reading: &mut Reading, tree: &Tree, node: &str) -> Option<NodeArea> {
    reading.source.set(&["nodes", node, "area"], tree.place);
    let fields = reading.fields(tree, &AREA);
    let figures = ["lut", "ff", "bram18", "dsp"].map(|key| count(reading, &fields, key, 0));
    let in_uram = fields.get("in_uram").map(|tree| ultra_ram(reading, tree, figures[2], node));
    let [lut, ff, bram18, dsp] = figures;
    let area = NodeArea { lut: lut?, ff: ff?, bram18: bram18?, dsp: dsp?, in_uram: None };
    match in_uram {
        Some(in_uram) => Some(NodeArea { in_uram: Some(in_uram?), ..area }),
        None => Some(area),
    }
}

/// `blocks`: all that the node takes, if that was read.
fn ultra_ram(
    reading: &mut Reading,
    tree: &Tree,
    blocks: Option<u64>,
    node: &str,
) -> Option<NodeUltraRam> {
    let fields = reading.fields(tree, &IN_URAM);
    let [bram18, uram] = ["bram18", "uram"].map(|key| count(reading, &fields, key, 1));
    let (bram18, uram, blocks) = (bram18?, uram?, blocks?);
    let (limit, advice) = if bram18 > blocks {
        let limit = format!("the {blocks} that it takes");
        (limit, "`in_uram.bram18` is a part of `bram18`: correct one of them")
    } else if bram18 > uram * BLOCKS_PER_URAM {
        let limit = format!("the {} that {uram} of UltraRAM can hold", uram * BLOCKS_PER_URAM);
        (limit, "correct `bram18` or `uram` of `in_uram`")
    } else {
        return Some(NodeUltraRam { bram18, uram });
    };
    let message = format!("{bram18} blocks of `{node}` may lie in UltraRAM, more than {limit}");
    reading.note(ViolationKind::OutOfRange, tree.place, message, advice);
    None
}

/// One of the figures. That it is missing has been noted.
fn count(reading: &mut Reading, fields: &Fields<'_>, key: &str, least: u64) -> Option<u64> {
    let tree = fields.get(key)?;
    reading.integer(tree, &format!("`{key}` of an area"), least..=COUNT_MAX)
}
