//! Chain alpha on the paper's board: sequential nodes, a pixel per cycle, and what the profile of
//! that board says of host memory. Nothing here was fitted on the chain's own figures.

use super::course::{OF_TOPIC_A, PIXEL_BYTES, PIXELS};
use crate::caller::Caller;
use crate::gateway::{Mapped, on_the_paper_s_board};
use crate::networks::Random;
use anyhow::{Context, Result};
use crossdock_fabric::Profile;

/// Section 6: mean and standard deviation, ms.
pub(crate) const PRINTED: [(Mapped, &str, &str); 2] =
    [(Mapped::Software, "28.264", "3.21"), (Mapped::Gateway, "20.270", "0.239")];
pub(crate) const SOURCE: &str = "gateway paper, section 6 (text)";
/// Deviation of a software-mapped message of 786 kB, the size of table I of the fpgaDDS paper next
/// to an image, ms.
const DEVIATION_MS: f64 = 0.03;
/// Messages of the simulated hop over topic A.
const SIMULATED: u32 = 10;
/// Passes over all pixels, by node, and why.
const PASSES: [(&str, u64, &str); 4] = [
    ("compensation", 2, "the histogram of the whole image, then every pixel"),
    ("blur", 1, "every pixel"),
    (
        "lane planner",
        2,
        "the mask, pixel by pixel, then the change of perspective of the whole mask",
    ),
    ("polyfit", 1, "the sums of least squares over all pixels of the view"),
];

/// A part of the chain, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) name: String,
    pub(crate) ms: f64,
    pub(crate) because: String,
}

/// The chain under one load.
pub(crate) struct Chain {
    pub(crate) phases: Vec<Phase>,
    /// What single messages take, ms, with the deviation of software-mapped messages.
    pub(crate) samples_ms: Vec<f64>,
}

/// A node that looks at so many pixels, one per cycle.
pub(crate) fn passes(board: &Profile, node: &str, pixels: u64, because: &str) -> Phase {
    let because = format!("a pixel per cycle: {because}");
    Phase { name: format!("{node} computes"), ms: board.cycles_ms(pixels), because }
}

/// The node of this index of the gateway paper's graph.
fn computes(board: &Profile, node: usize) -> Phase {
    let (name, times, because) = PASSES[node];
    passes(board, name, times * PIXELS, because)
}

/// The nodes that both papers' graphs have.
pub(crate) fn compensation_and_blur(board: &Profile) -> [Phase; 2] {
    [0, 1].map(|node| computes(board, node))
}

/// The phases of the chain, and so many messages.
///
/// # Errors
/// The paper's board cannot be built or simulated.
pub(crate) fn chain(
    topic_a: Mapped,
    load_percent: u32,
    (messages, seed): (usize, u64),
    caller: &mut dyn Caller,
) -> Result<Chain> {
    let board = Profile::named(crate::paper::PROFILE).context("the paper's profile")?;
    let image_bytes = PIXELS * PIXEL_BYTES;
    let ms = |cycles: f64| cycles * board.cycles_ms(1);
    let beats = |name: &str, bytes: u64, because: &str| {
        let cycles = bytes.div_ceil(u64::from(board.width_bits / 8)) as f64;
        Phase { name: name.to_owned(), ms: ms(cycles), because: because.to_owned() }
    };
    let hop = (topic_a, OF_TOPIC_A);
    let image = (u32::try_from(image_bytes)?, SIMULATED);
    let hops = on_the_paper_s_board(hop, image, load_percent, seed, caller)?;
    let hop_ps = hops.iter().map(|took| took.hardware_ps).sum::<u64>() as f64;
    let of_topic_a = match topic_a {
        Mapped::Software => "up, and down to each of three nodes in turns",
        Mapped::Gateway => "at the pace at which its gateway writes it to memory",
    };
    let phases = vec![
        Phase {
            name: "image to compensation".to_owned(),
            ms: ms(board.memory.pass_cycles(image_bytes, board.width_bits / 8, load_percent)),
            because: "a pass over host memory; the chain begins with it".to_owned(),
        },
        computes(board, 0),
        Phase {
            name: "topic A".to_owned(),
            ms: hop_ps / hops.len().max(1) as f64 / 1e9,
            because: format!("simulated on the paper's board: {of_topic_a}"),
        },
        computes(board, 1),
        beats("topic B", image_bytes, "an image of 3 bytes per pixel"),
        computes(board, 2),
        beats("topic C", PIXELS, "a view of a byte per pixel, of an image's size: assumed"),
        computes(board, 3),
        beats("topic D and lane control", 64, "some numbers; nothing else is known"),
    ];
    let mean_ms: f64 = phases.iter().map(|phase| phase.ms).sum();
    let mut random = Random(seed);
    let crossings = match topic_a {
        Mapped::Software => 2.0_f64,
        Mapped::Gateway => 1.0,
    };
    let noise = DEVIATION_MS * crossings.sqrt();
    let samples_ms = (0..messages).map(|_| mean_ms + noise * random.normal()).collect();
    Ok(Chain { phases, samples_ms })
}
