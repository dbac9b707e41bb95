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
pub(crate) const FABRIC: &str = "board";

/// Places all nodes of the gateway paper's graph in a fabric; what uses the compensated images for
/// a map, the features here, is software as there. Topics between hardware nodes alone stay in
/// hardware.
fn mapping(topic_a: Mapped) -> String {
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
         \x20 /lane/view: {{ mapping: hardware }}\n\
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
    topic_a: Mapped,
    caller: &mut dyn Caller,
) -> Result<GraphNetwork> {
    let mapping = mapping(topic_a);
    caller.network(&FabricOf { graph, mapping: &mapping, fabric: FABRIC })
}
