//! The driving graph on a board: which of its topics an experiment feeds and reads, and where its
//! mapping places it.

use crate::caller::{Caller, FabricOf, GraphNetwork};
use crate::gateway::Mapped;
use anyhow::Result;
use std::path::Path;

/// What the camera sees, and what the vehicle is told.
pub(crate) const IMAGE: &str = "/camera/image_raw";
pub(crate) const COMMAND: &str = "/cmd_vel";
/// Topic A of the gateway paper.
const TOPIC_A: &str = "/camera/image_compensated";
/// Hardware nodes that subscribe to it.
pub(crate) const OF_TOPIC_A: usize = 3;
/// Images per second.
pub(crate) const IMAGES_HZ: f64 = 15.0;
/// Pixels of an image, and bytes of one.
pub(crate) const PIXELS: u64 = 640 * 480;
pub(crate) const PIXEL_BYTES: u64 = 3;
/// Bits of a beat of the nodes' streams, if the mapping says nothing.
pub(crate) const NODE_BITS: u32 = 64;
pub(crate) const FABRIC: &str = "board";

/// What the boards of the experiment differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) topic_a: Mapped,
    /// Bits of a beat of the bird's-eye view.
    pub(crate) view_bits: u32,
}

impl Variant {
    /// Those that have a counterpart in the paper, and one with a wider view.
    pub(crate) const ALL: [Self; 3] = [
        Self { topic_a: Mapped::Software, view_bits: NODE_BITS },
        Self { topic_a: Mapped::Gateway, view_bits: NODE_BITS },
        Self { topic_a: Mapped::Gateway, view_bits: 2 * NODE_BITS },
    ];

    /// Whether all streams are as wide as the paper's.
    pub(crate) fn is_of_paper(self) -> bool {
        self.view_bits == NODE_BITS
    }

    /// For sentences.
    pub(crate) fn words(self) -> String {
        let Self { topic_a, view_bits } = self;
        format!("topic A with mapping {}, view of {view_bits} bit", topic_a.word())
    }
}

/// Places all nodes of the gateway paper's graph in a fabric; what uses the compensated images for
/// a map, the features here, is software as there. Topics between hardware nodes alone stay in
/// hardware.
fn mapping(variant: Variant) -> String {
    let Variant { topic_a, view_bits } = variant;
    format!(
        "crossdock: 1\n\
         processes: {{ drive: {{ executors: [ {{ mode: chain, nodes: [simulator, lights, features, \
         snapshot] }} ] }} }}\n\
         fabrics: {{ {FABRIC}: {{ nodes: [compensation, blur, planner, polyfit, red_light, green_light, \
         control] }} }}\n\
         topics:\n\
         \x20 {IMAGE}: {{ mapping: gateway }}\n\
         \x20 {TOPIC_A}: {{ mapping: {} }}\n\
         \x20 /camera/image_blurred: {{ mapping: hardware }}\n\
         \x20 /lane/view: {{ mapping: hardware, width: {view_bits} }}\n\
         \x20 /lane: {{ mapping: hardware }}\n\
         \x20 /traffic_light/red: {{ mapping: gateway, subscribers: {{ green_light: {{ other: {{ \
         fifo_messages: 1 }} }} }} }}\n\
         \x20 /traffic_light/green: {{ mapping: gateway, subscribers: {{ red_light: {{ other: {{ \
         fifo_messages: 1 }} }} }} }}\n\
         \x20 {COMMAND}: {{ mapping: gateway }}\n",
        topic_a.word()
    )
}

/// The board of the graph in this file.
///
/// # Errors
/// The file is not as the driving graph of the package `autorace`.
pub(crate) fn network(
    graph: &Path,
    variant: Variant,
    caller: &mut dyn Caller,
) -> Result<GraphNetwork> {
    let mapping = mapping(variant);
    caller.network(&FabricOf { graph, mapping: &mapping, fabric: FABRIC })
}
