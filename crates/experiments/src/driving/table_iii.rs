//! Table III of the fpgaDDS paper, as the model of its board predicts it: another graph, with image
//! projection and lane following in place of lane planner and polyfit.

use super::course::{OF_TOPIC_A, PIXEL_BYTES, PIXELS};
use super::paper::{Phase, compensation_and_blur, passes};
use super::rows::Statistics;
use super::stripes::Measured;
use crate::paper::{PROFILE, holds, residual_percent};
use crate::rows::{Record, rounded};
use anyhow::{Context, Result};
use crossdock_fabric::Profile;
use serde_json::{Value, json};

/// Pixels of the view that image projection publishes.
const VIEW_PIXELS: u64 = 1000 * 600;

/// A row of the table.
pub(crate) struct Version {
    pub(crate) name: &'static str,
    /// Mean and deviation as printed, ms.
    pub(crate) printed: [&'static str; 2],
    /// What the model gives; none: nothing here can.
    pub(crate) phases: Vec<Phase>,
    /// Why the figure is not met.
    pub(crate) because: &'static str,
}

impl Version {
    /// What the model gives, ms.
    pub(crate) fn model_ms(&self) -> Option<f64> {
        let sum = self.phases.iter().map(|phase| phase.ms).sum();
        (!self.phases.is_empty()).then_some(sum)
    }

    /// How far that is from the printed mean, percent.
    pub(crate) fn residual_percent(&self) -> Option<f64> {
        residual_percent(self.printed[0], self.model_ms()?)
    }

    pub(crate) fn holds(&self) -> Option<bool> {
        Some(holds(self.printed[0], self.model_ms()?))
    }

    fn facts(&self) -> Value {
        let phases = self.phases.iter();
        let phases =
            phases.map(|it| json!({ "phase": it.name, "ms": it.ms, "because": it.because }));
        json!({ "version": self.name, "paper_mean_ms": self.printed[0],
                "paper_deviation_ms": self.printed[1], "paper_profile_ms": self.model_ms(),
                "residual_percent": self.residual_percent(), "holds": self.holds(),
                "because": self.because, "phases": phases.collect::<Vec<_>>() })
    }
}

/// What a board takes for a version: the model of the paper's, or ours.
pub(crate) enum Line<'a> {
    Model(&'a Version),
    Ours(&'a Measured),
}

impl Record for Line<'_> {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let (version, profile, load_percent, statistics) = match self {
            Self::Model(it) => (it.name, PROFILE, 0, None),
            Self::Ours(it) => {
                (it.topics.version(), it.profile.name, it.load_percent, Some(&it.statistics))
            }
        };
        let of = |take: fn(&Statistics) -> f64| statistics.map(|it| rounded(take(it)));
        let model = match self {
            Self::Model(it) => Some(it),
            Self::Ours(_) => None,
        };
        let mean = of(|it| it.mean).or(model.and_then(|it| it.model_ms()).map(rounded));
        let p99 = statistics.and_then(Statistics::told_p99).map(rounded);
        vec![
            ("version", version.into()),
            ("profile", profile.into()),
            ("load_percent", load_percent.into()),
            ("messages", statistics.map(|it| it.count).into()),
            ("mean_ms", mean.into()),
            ("deviation_ms", of(|it| it.deviation).into()),
            ("p50_ms", of(|it| it.p50).into()),
            ("p99_ms", p99.into()),
            ("paper_mean_ms", model.map(|it| it.printed[0]).into()),
            ("paper_deviation_ms", model.map(|it| it.printed[1]).into()),
            ("residual_percent", model.and_then(|it| it.residual_percent()).map(rounded).into()),
            ("holds", model.and_then(|it| it.holds()).into()),
            ("because", model.map(|it| it.because).into()),
        ]
    }
}

/// The table: what the model predicts, then what our board takes.
pub(crate) fn lines<'a>(versions: &'a [Version], measured: &'a [Measured]) -> Vec<Line<'a>> {
    versions.iter().map(Line::Model).chain(measured.iter().map(Line::Ours)).collect()
}

/// For the JSON file.
pub(crate) fn facts(versions: &[Version]) -> Value {
    versions.iter().map(Version::facts).collect()
}

/// The three versions.
///
/// # Errors
/// The paper's profile is missing.
pub(crate) fn versions() -> Result<Vec<Version>> {
    let board = Profile::named(PROFILE).context("the paper's profile")?;
    let (image, view) = (PIXELS * PIXEL_BYTES, VIEW_PIXELS * PIXEL_BYTES);
    let beats_ms = |bytes: u64| board.cycles_ms(bytes.div_ceil(u64::from(board.width_bits / 8)));
    let pass = |bytes: u64| board.memory.pass_cycles(bytes, board.width_bits / 8, 0);
    let hardware_mapped = |bytes: u64, _: usize| (beats_ms(bytes), "beats of 64 bit");
    // Nodes that read it take turns.
    let software_mapped = |bytes: u64, readers: usize| {
        let further = (readers - 1) as f64 * pass(bytes) * board.cycles_ms(1);
        (board.software_mapped_ms(bytes, 0) + further, "up, and down to each node in turns")
    };
    let chain = |topic: &dyn Fn(u64, usize) -> (f64, &'static str)| {
        let of = |name: &str, bytes: u64, readers: usize| {
            let (ms, because) = topic(bytes, readers);
            Phase { name: name.to_owned(), ms, because: because.to_owned() }
        };
        let [compensation, blur] = compensation_and_blur(board);
        vec![
            Phase {
                name: "image to compensation".to_owned(),
                ms: pass(image) * board.cycles_ms(1),
                because: "a pass over host memory".to_owned(),
            },
            compensation,
            of("topic A", image, OF_TOPIC_A),
            blur,
            of("topic B", image, 1),
            passes(
                board,
                "image projection",
                PIXELS + VIEW_PIXELS,
                "the warp, then the resized view",
            ),
            of("topic C", view, 1),
            passes(board, "lane following", VIEW_PIXELS, "the stripes in all pixels of the view"),
        ]
    };
    Ok(vec![
        Version {
            name: "software (CycloneDDS)",
            printed: ["274.44", "14.96"],
            phases: Vec::new(),
            because: "not reproducible here: neither paper says what nodes take on the board's processor",
        },
        Version {
            name: "hardware (CycloneDDS)",
            printed: ["110.72", "7.73"],
            phases: chain(&software_mapped),
            because: "its messages would have to take 85 ms, and take 13.5 by table I",
        },
        Version {
            name: "hardware (fpgaDDS)",
            printed: ["20.58", "0.13"],
            phases: chain(&hardware_mapped),
            because: "phases of its nodes may overlap, or lane following may look at a part of the view; \
                      the paper does not say",
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/performance-hardware.md");

    #[test]
    fn the_page_on_performance_has_what_the_model_gives_and_how_far_that_is_off() {
        let versions = versions().expect("the profile");
        for Version { name, printed: [mean, deviation], .. } in &versions {
            assert!(PAGE.contains(&format!("| {name} | {mean} ± {deviation} |")), "{name}");
        }
        assert_eq!(versions[0].model_ms(), None);
        for version in &versions[1..] {
            let [mean, deviation] = version.printed;
            let [ms, off] =
                [version.model_ms(), version.residual_percent()].map(|it| it.expect("a model"));
            let word = if version.holds() == Some(true) { "holds" } else { "missed" };
            let row = format!(
                "| {} | {mean} ± {deviation} | {ms:.3} | {off:+.1} %, {word} |",
                version.name
            );
            assert!(PAGE.contains(&row), "the page lacks `{row}`");
        }
        let [mapped, unmapped] = [1, 2].map(|it: usize| versions[it].model_ms().expect("a model"));
        assert!(mapped > unmapped + 5.0, "{mapped} and {unmapped}");
    }
}
