//! Rows of results: a span of the graph on a board under a load, and what it is to reach.

use super::course::{NODE_BITS, Variant};
use super::paper::{self, Chain, PRINTED};
use crate::gateway::Mapped;
use crate::paper::{PROFILE, holds, residual_percent};
use crate::rows::{Record, rounded};
use crossdock_fabric::{Profile, Traffic};
use serde_json::Value;

/// Chain alpha is to take so many ms at most at 64 bit and 100 MHz, and with a view of 128 bit; and
/// its 99th percentile so many percent more than its median at this load.
const TO_REACH: (&str, f64) = ("zcu104-64", 2.9);
const TO_REACH_WIDE: f64 = 2.5;
const SPREAD_PERCENT: f64 = 2.0;
const SPREAD_LOAD: u32 = 50;

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// From the moment at which software has the image for compensation until it has published the
    /// drive command of lane control.
    ChainAlpha,
    /// From the start of publishing the image until a subscriber has the command.
    CameraToCommand,
}

impl Span {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ChainAlpha => "chain alpha",
            Self::CameraToCommand => "camera to command",
        }
    }
}

/// Messages from which on a 99th percentile is told.
const P99_COUNT_MIN: usize = 100;

/// Messages in a few figures, ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Statistics {
    pub(crate) count: usize,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Statistics {
    /// Percentiles are by the nearest rank.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count.max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count.max(2) - 1) as f64).sqrt();
        let ranked = |percent: usize| {
            let rank = (count * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or_default()
        };
        Self { count, mean, deviation, p50: ranked(50), p99: ranked(99) }
    }

    /// The 99th percentile, if there are enough messages: of fewer it is the highest of them.
    pub(crate) fn told_p99(&self) -> Option<f64> {
        (self.count >= P99_COUNT_MIN).then_some(self.p99)
    }

    /// The same as the cell of a table.
    pub(crate) fn p99_cell(&self) -> String {
        self.told_p99().map_or_else(|| "-".to_owned(), |p99| format!("{p99:.3}"))
    }

    /// How much more the 99th percentile is than the median, percent.
    pub(crate) fn spread_percent(&self) -> f64 {
        (self.p99 / self.p50 - 1.0) * 100.0
    }
}

/// A span on a board under a load.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) profile: &'static Profile,
    pub(crate) variant: Variant,
    pub(crate) load_percent: u32,
    pub(crate) span: Span,
    pub(crate) statistics: Statistics,
    /// Between board and host memory, for one message; `None`: it is a model.
    pub(crate) traffic: Option<Traffic>,
    pub(crate) seed: u64,
}

/// Something to reach.
pub(crate) struct Target {
    pub(crate) says: String,
    pub(crate) reached: bool,
}

impl Row {
    /// The row of the model of the paper's board.
    pub(crate) fn of_paper(topic_a: Mapped, load_percent: u32, chain: &Chain, seed: u64) -> Self {
        let statistics = Statistics::of(chain.samples_ms.clone());
        // The name is one of the profiles'.
        let profile = Profile::named(PROFILE).unwrap_or(&Profile::ALL[0]);
        let (span, variant) = (Span::ChainAlpha, Variant { topic_a, view_bits: NODE_BITS });
        Self { profile, variant, load_percent, span, statistics, traffic: None, seed }
    }

    pub(crate) fn is_model(&self) -> bool {
        self.traffic.is_none()
    }

    /// What the paper prints for it: mean and deviation. It prints nothing under load.
    pub(crate) fn paper(&self) -> Option<(&'static str, &'static str)> {
        let found = PRINTED.iter().find(|(mapped, ..)| *mapped == self.variant.topic_a);
        let found = found.filter(|_| self.load_percent == 0 && self.span == Span::ChainAlpha);
        let found = found.filter(|_| self.variant.is_of_paper());
        found.map(|(_, mean, deviation)| (*mean, *deviation))
    }

    /// How far the model is from the paper: mean and deviation, percent, and whether each holds.
    pub(crate) fn residuals(&self) -> Option<[(f64, bool); 2]> {
        let (mean, deviation) = self.paper().filter(|_| self.is_model())?;
        let of =
            |text: &str, value: f64| Some((residual_percent(text, value)?, holds(text, value)));
        Some([of(mean, self.statistics.mean)?, of(deviation, self.statistics.deviation)?])
    }

    pub(crate) fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        let is_fair = self.profile.name == TO_REACH.0 && self.variant.topic_a == Mapped::Gateway;
        if !is_fair || self.span != Span::ChainAlpha {
            return targets;
        }
        let mean = self.statistics.mean;
        if self.load_percent == 0 {
            let most = if self.variant.is_of_paper() { TO_REACH.1 } else { TO_REACH_WIDE };
            let says = format!("{mean:.3} ms, at most {most}");
            targets.push(Target { says, reached: mean <= most });
        }
        if self.load_percent == SPREAD_LOAD && self.variant.is_of_paper() {
            let spread = self.statistics.spread_percent();
            let what = self.statistics.told_p99().map_or("highest", |_| "p99");
            let says = format!("{what} {spread:.2} % above p50, at most {SPREAD_PERCENT}");
            targets.push(Target { says, reached: spread <= SPREAD_PERCENT });
        }
        targets
    }

    /// What is not reached, in a line each.
    pub(crate) fn faults(&self) -> Vec<String> {
        let missed = self.targets().into_iter().filter(|target| !target.reached);
        let of =
            format!("{}, {}, {} % load", self.span.word(), self.variant.words(), self.load_percent);
        missed.map(|target| format!("{of}: {}", target.says)).collect()
    }
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let Statistics { count, mean, deviation, p50, .. } = self.statistics;
        let p99 = self.statistics.told_p99();
        let paper = self.paper();
        let residuals = self.residuals();
        let targets = self.targets();
        let says: Vec<&str> = targets.iter().map(|target| target.says.as_str()).collect();
        let reached = targets.iter().all(|target| target.reached);
        vec![
            ("span", self.span.word().into()),
            ("topic_a", self.variant.topic_a.word().into()),
            ("view_bits", self.variant.view_bits.into()),
            ("load_percent", self.load_percent.into()),
            ("is", if self.is_model() { "model of the paper's board" } else { "ours" }.into()),
            ("messages", count.into()),
            ("mean_ms", rounded(mean).into()),
            ("deviation_ms", rounded(deviation).into()),
            ("p50_ms", rounded(p50).into()),
            ("p99_ms", p99.map(rounded).into()),
            ("p99_over_p50_percent", p99.map(|_| rounded(self.statistics.spread_percent())).into()),
            ("memif_bytes_read", self.traffic.map(|it| it.bytes_read).into()),
            ("memif_bytes_written", self.traffic.map(|it| it.bytes_written).into()),
            ("paper_mean_ms", paper.map(|it| it.0).into()),
            ("paper_deviation_ms", paper.map(|it| it.1).into()),
            ("paper_source", paper.map(|_| paper::SOURCE).into()),
            ("paper_profile_is", residuals.map(|_| "predicted").into()),
            ("mean_residual_percent", residuals.map(|it| rounded(it[0].0)).into()),
            ("mean_holds", residuals.map(|it| it[0].1).into()),
            ("deviation_residual_percent", residuals.map(|it| rounded(it[1].0)).into()),
            ("deviation_holds", residuals.map(|it| it[1].1).into()),
            ("targets", says.join("; ").into()),
            ("targets_reached", (!says.is_empty()).then_some(reached).into()),
            ("profile", self.profile.name.into()),
            ("seed", self.seed.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(topic_a: Mapped, load_percent: u32, values: Vec<f64>) -> Row {
        row_of(Variant { topic_a, view_bits: NODE_BITS }, load_percent, values)
    }

    fn row_of(variant: Variant, load_percent: u32, values: Vec<f64>) -> Row {
        Row {
            profile: Profile::named("zcu104-64").expect("the profile"),
            variant,
            load_percent,
            span: Span::ChainAlpha,
            statistics: Statistics::of(values),
            traffic: Some(Traffic::default()),
            seed: 1,
        }
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let statistics = Statistics::of((1..=100).rev().map(f64::from).collect());
        assert_eq!((statistics.p50, statistics.p99, statistics.mean), (50.0, 99.0, 50.5));
        assert!((statistics.deviation - 29.011).abs() < 0.001, "{statistics:?}");
        assert_eq!(statistics.told_p99(), Some(99.0));
        let few = Statistics::of(vec![3.0]);
        assert_eq!((few.p99, few.told_p99(), few.p99_cell().as_str()), (3.0, None, "-"));
    }

    #[test]
    fn a_long_chain_and_a_wide_spread_are_faults_of_the_fair_row_alone() {
        assert!(row(Mapped::Gateway, 0, vec![2.8, 2.9]).faults().is_empty());
        assert_eq!(row(Mapped::Gateway, 0, vec![2.8, 3.2]).faults().len(), 1);
        assert!(row(Mapped::Software, 0, vec![2.8, 3.2]).faults().is_empty());
        assert!(row(Mapped::Gateway, 50, vec![5.0, 5.09]).faults().is_empty());
        assert_eq!(row(Mapped::Gateway, 50, vec![5.0, 5.11]).faults().len(), 1);
        let wide = |load, value| {
            let variant = Variant { topic_a: Mapped::Gateway, view_bits: 2 * NODE_BITS };
            row_of(variant, load, value)
        };
        assert!(wide(0, vec![2.4, 2.6]).faults().is_empty());
        assert_eq!(wide(0, vec![2.5, 2.6]).faults().len(), 1);
        assert!(wide(50, vec![5.0, 5.11]).faults().is_empty());
        assert_eq!(wide(0, vec![2.4]).paper(), None, "the paper has no such board");
        let other = Span::CameraToCommand;
        assert!(Row { span: other, ..row(Mapped::Gateway, 0, vec![9.0]) }.faults().is_empty());
    }

    #[test]
    fn a_model_is_held_against_what_is_printed_and_printed_is_nothing_under_load() {
        let chain = Chain { phases: Vec::new(), samples_ms: vec![24.0, 24.0] };
        let row = Row::of_paper(Mapped::Gateway, 0, &chain, 1);
        let [mean, deviation] = row.residuals().expect("residuals");
        assert!((mean.0 - 18.4).abs() < 0.1 && mean.1 && !deviation.1, "{mean:?} {deviation:?}");
        assert_eq!(Row::of_paper(Mapped::Gateway, 50, &chain, 1).residuals(), None);
        assert_eq!(Row::of_paper(Mapped::Software, 0, &chain, 1).paper(), Some(("28.264", "3.21")));
    }
}
