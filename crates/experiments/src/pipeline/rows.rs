//! Rows of results: the image pipeline in one place, beside what the RobotCore paper prints.

use crate::caller::Driven;
use crate::driving::{Passage, Statistics};
use crate::rows::{Record, rounded};
use anyhow::{Context, Result, ensure};
use crossdock_fabric::{Profile, Traffic};
use crossdock_trace::Share;
use serde_json::Value;

/// Both nodes, and the chain from the raw image to the resized one, in the graph `camera`.
const NODES: [&str; 2] = ["RectifyNode", "ResizeNode"];
const CHAIN: &str = "raw_to_resized";

/// What the paper prints, percent: the share of message passing of the software's time (IV.B), and
/// by how much less time each version takes than software (IV.C). It prints no times.
pub(crate) const PRINTED: [(&str, f64); 4] = [
    ("message passing in software", 73.3),
    ("nodes on the FPGA, topics through the processor", 6.22),
    ("one kernel", 26.96),
    ("a stream between the kernels", 24.42),
];
pub(crate) const SOURCE: &str = "RobotCore paper, IV.B and IV.C (text)";
/// A stream takes at most so many times what one node takes, in latency and in period.
const MOST_OVER_FUSED: f64 = 1.01;

/// How both nodes are on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The topic between them is in host memory.
    Topics,
    /// They are one node.
    Fused,
    /// The topic between them is a stream.
    Streamed,
}

impl Variant {
    pub(crate) const ALL: [Self; 3] = [Self::Topics, Self::Fused, Self::Streamed];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Topics => "topics through the processor",
            Self::Fused => "one node",
            Self::Streamed => "streamed",
        }
    }

    /// By how much less time than software it takes in the paper, percent.
    fn printed(self) -> f64 {
        PRINTED[1 + self as usize].1
    }
}

/// Where software runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    OneThread,
    Processes,
}

#[derive(Clone, Debug)]
enum Kind {
    Software {
        place: Where,
        /// How the time of both nodes divides.
        share: Share,
    },
    Board {
        variant: Variant,
        profile: &'static Profile,
        period_ms: f64,
        traffic: Option<Traffic>,
    },
}

/// The pipeline in one place.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    kind: Kind,
    /// From the image to the resized one, ms.
    pub(crate) p50_ms: f64,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) count: Option<usize>,
}

impl Row {
    /// Of a run with software alone.
    pub(crate) fn of_software(place: Where, driven: &Driven) -> Result<Self> {
        let mut chains = driven.summary["chains"].as_array().into_iter().flatten();
        let chain = chains.find(|it| it["chain"] == CHAIN);
        let p50_ns = chain.and_then(|it| it["p50_ns"].as_f64()).context("no time of the chain")?;
        let trace = driven.trace.as_ref().context("the run was not traced")?;
        let share = trace.share_of(|node| NODES.contains(&node));
        ensure!(share.messages > 0, "the trace has no execution of {}", NODES.join(" or "));
        let kind = Kind::Software { place, share };
        Ok(Self { kind, p50_ms: p50_ns / 1e6, mean_ms: None, count: None })
    }

    /// Of the images that passed through a board.
    pub(crate) fn of_board(
        variant: Variant,
        profile: &'static Profile,
        passages: &[Passage],
        period_ps: u64,
    ) -> Self {
        let ms = passages.iter().map(|passage| passage.chain_ps as f64 / 1e9);
        let Statistics { count, mean, p50, .. } = Statistics::of(ms.collect());
        let traffic = passages.last().map(|passage| passage.traffic);
        let kind = Kind::Board { variant, profile, period_ms: period_ps as f64 / 1e9, traffic };
        Self { kind, p50_ms: p50, mean_ms: Some(mean), count: Some(count) }
    }

    pub(crate) fn variant(&self) -> Option<Variant> {
        match self.kind {
            Kind::Board { variant, .. } => Some(variant),
            Kind::Software { .. } => None,
        }
    }

    pub(crate) fn period_ms(&self) -> Option<f64> {
        match self.kind {
            Kind::Board { period_ms, .. } => Some(period_ms),
            Kind::Software { .. } => None,
        }
    }

    pub(crate) fn word(&self) -> String {
        match self.kind {
            Kind::Software { place: Where::OneThread, .. } => "software, one thread".to_owned(),
            Kind::Software { place: Where::Processes, .. } => "software, two processes".to_owned(),
            Kind::Board { variant, .. } => format!("board, {}", variant.word()),
        }
    }

    /// The share of messages in the time of both nodes, percent; for software.
    pub(crate) fn passing_percent(&self) -> Option<f64> {
        match &self.kind {
            Kind::Software { share, .. } => Some(share.passing_percent()),
            Kind::Board { .. } => None,
        }
    }

    /// By how much less time it takes than software in one thread, percent; for boards.
    pub(crate) fn less_than_software(&self, rows: &[Self]) -> Option<f64> {
        self.variant()?;
        let is_one_thread =
            |row: &&Self| matches!(row.kind, Kind::Software { place: Where::OneThread, .. });
        let software = rows.iter().find(is_one_thread)?;
        Some((1.0 - self.p50_ms / software.p50_ms) * 100.0)
    }

    /// The paper's time by its own figures, in percent of its version with topics.
    pub(crate) fn paper_of_topics(&self) -> Option<f64> {
        let rest = |variant: Variant| 100.0 - variant.printed();
        Some(rest(self.variant()?) / rest(Variant::Topics) * 100.0)
    }

    /// By how much less time than software the paper's version takes, percent.
    pub(crate) fn printed(&self) -> Option<f64> {
        self.variant().map(Variant::printed)
    }

    /// The time in percent of the version with topics.
    pub(crate) fn of_topics(&self, rows: &[Self]) -> Option<f64> {
        self.variant()?;
        let topics = rows.iter().find(|row| row.variant() == Some(Variant::Topics))?;
        Some(self.p50_ms / topics.p50_ms * 100.0)
    }
}

/// The rows with what relates them.
pub(crate) struct Related<'a>(pub(crate) &'a Row, pub(crate) &'a [Row]);

impl Record for Related<'_> {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let Self(row, rows) = self;
        let (profile, traffic) = match &row.kind {
            Kind::Board { profile, traffic, .. } => (Some(profile.name), *traffic),
            Kind::Software { .. } => (None, None),
        };
        let (ours, paper) = (row.of_topics(rows), row.paper_of_topics());
        let residual = ours.zip(paper).map(|(ours, paper)| rounded(ours - paper));
        let is_software = row.variant().is_none();
        vec![
            ("where", row.word().into()),
            ("is", if is_software { "measured here" } else { "simulation" }.into()),
            ("images", row.count.into()),
            ("p50_ms", rounded(row.p50_ms).into()),
            ("mean_ms", row.mean_ms.map(rounded).into()),
            ("period_ms", row.period_ms().map(rounded).into()),
            ("passing_percent", row.passing_percent().map(rounded).into()),
            ("paper_passing_percent", is_software.then_some(PRINTED[0].1).into()),
            ("of_topics_percent", ours.map(rounded).into()),
            ("less_than_software_percent", row.less_than_software(rows).map(rounded).into()),
            ("paper_less_than_software_percent", row.printed().into()),
            ("paper_of_topics_percent", paper.map(rounded).into()),
            ("residual_percent_points", residual.into()),
            ("memif_bytes_read", traffic.map(|it| it.bytes_read).into()),
            ("memif_bytes_written", traffic.map(|it| it.bytes_written).into()),
            ("paper_source", SOURCE.into()),
            ("profile", profile.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

/// How many times what one node takes a stream takes: latency and period.
pub(crate) fn over_fused(rows: &[Row]) -> Option<[f64; 2]> {
    let of = |variant| rows.iter().find(|row| row.variant() == Some(variant));
    let (streamed, fused) = (of(Variant::Streamed)?, of(Variant::Fused)?);
    let period = streamed.period_ms()? / fused.period_ms()?;
    Some([streamed.p50_ms / fused.p50_ms, period])
}

/// What is not reached.
pub(crate) fn faults(rows: &[Row]) -> Vec<String> {
    let Some(times) = over_fused(rows) else { return vec!["rows are missing".to_owned()] };
    let missed = ["latency", "period"].into_iter().zip(times);
    let missed = missed.filter(|(_, times)| *times > MOST_OVER_FUSED);
    missed
        .map(|(what, times)| {
            format!(
                "a stream between the nodes has {times:.4} times the {what} of one node, at most \
                 {MOST_OVER_FUSED}"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_trace::Summary;
    use serde_json::json;

    fn board(variant: Variant, chain_ps: u64, period_ps: u64) -> Row {
        let profile = Profile::named("kv260-250").expect("the profile");
        let passage = Passage { chain_ps, whole_ps: chain_ps, traffic: Traffic::default() };
        Row::of_board(variant, profile, &[passage], period_ps)
    }

    #[test]
    fn a_stream_that_is_slower_than_one_node_is_a_fault() {
        let rows = |latency, period| {
            [
                board(Variant::Topics, 4_000_000, 2_000_000),
                board(Variant::Fused, 2_000_000, 1_000_000),
                board(Variant::Streamed, latency, period),
            ]
        };
        assert!(faults(&rows(2_010_000, 1_010_000)).is_empty());
        assert_eq!(faults(&rows(2_030_000, 1_000_000)).len(), 1);
        assert_eq!(faults(&rows(2_030_000, 1_020_000)).len(), 2);
        let all = rows(2_000_000, 1_000_000);
        assert_eq!(all[2].of_topics(&all), Some(50.0));
        // 75.58 of 93.78.
        assert!((all[2].paper_of_topics().unwrap() - 80.59).abs() < 0.01);
    }

    #[test]
    fn software_is_a_run_with_a_trace_and_boards_are_compared_with_it() {
        let summary = json!({ "chains": [{ "chain": CHAIN, "p50_ns": 4_000_000 }] });
        let driven = |trace| Driven { messages: Vec::new(), summary: summary.clone(), trace };
        assert!(Row::of_software(Where::OneThread, &driven(None)).is_err());
        let nothing = driven(Some(Summary::default()));
        assert!(Row::of_software(Where::OneThread, &nothing).is_err(), "no node has run");
        let share = Share { computation_ns: 3_000_000, passing_ns: 1_000_000, messages: 2 };
        let kind = Kind::Software { place: Where::OneThread, share };
        let software = Row { kind, p50_ms: 4.0, mean_ms: None, count: None };
        assert_eq!(software.passing_percent(), Some(25.0));
        let rows = [software, board(Variant::Fused, 3_000_000_000, 1)];
        assert_eq!(rows[1].less_than_software(&rows), Some(25.0));
        assert_eq!(rows[0].less_than_software(&rows), None);
    }
}
