//! What was found of a case.

use super::case::{Architecture, Case, Transport};
use super::figures::{Figures, Overhead};
use super::paper;
use super::runs::Run;
use crate::rows::{Record, rounded};
use serde_json::Value;

/// How a native program does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NativeForm {
    /// As the paper's programs.
    Paper,
    /// Registered memory, asynchronous.
    Best,
}

impl NativeForm {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Paper => "as in the paper",
            Self::Best => "asynchronous",
        }
    }
}

/// What was found of a case.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) case: Case,
    pub(super) swaps: u32,
    pub(super) took_ms: Figures,
    pub(super) native_best_ms: Figures,
    pub(super) native_paper_ms: Figures,
    /// The native form that was faster: what nodes are measured against.
    pub(super) native: NativeForm,
    pub(super) overhead: Option<Overhead>,
    pub(super) energy_mj: Option<f64>,
    pub(super) copied_bytes_per_swap: u64,
    pub(super) host_instances: u32,
    pub(super) device_instances: u32,
    pub(super) in_place: bool,
    /// What was wrong with the first array that was not right.
    pub(super) fault: Option<String>,
}

impl Row {
    pub(super) fn of(case: &Case, runs: &[Run]) -> Self {
        let fault = runs.iter().find(|run| !run.right).map(|run| run.fault.clone());
        let counted: Vec<&Run> = runs.iter().filter(|run| !run.warm_up).collect();
        let ms = |of: fn(&Run) -> u64| -> Vec<f64> {
            counted.iter().map(|run| of(run) as f64 / 1e6).collect()
        };
        let took = ms(|run| run.took_ns);
        let (best, paper) = (ms(|run| run.native_best_ns), ms(|run| run.native_paper_ns));
        let (native_best_ms, native_paper_ms) = (Figures::of(&best), Figures::of(&paper));
        // Which form is the better one, the runs say, not its name: on a device whose driver spins
        // the synchronous one may be.
        let (native, better) = match native_paper_ms.mean < native_best_ms.mean {
            true => (NativeForm::Paper, &paper),
            false => (NativeForm::Best, &best),
        };
        let pairs: Vec<(f64, f64)> = took.iter().copied().zip(better.iter().copied()).collect();
        let energy = ms(|run| run.energy_uj);
        let last = counted.last();
        let swaps = last.map_or(0, |run| run.swaps);
        let most = |of: fn(&Run) -> u64| counted.iter().map(|run| of(run)).max().unwrap_or(0);
        Self {
            case: case.clone(),
            swaps,
            took_ms: Figures::of(&took),
            native_best_ms,
            native_paper_ms,
            native,
            overhead: match case.architecture {
                Architecture::Native => None,
                _ => Overhead::of(&pairs),
            },
            // `ms` divides microjoules by a million: joules.
            energy_mj: energy.iter().all(|it| *it > 0.0).then(|| Figures::of(&energy).mean * 1e3),
            copied_bytes_per_swap: most(|run| run.copied_bytes) / u64::from(swaps.max(1)),
            host_instances: most(|run| run.host_instances.into()) as u32,
            device_instances: most(|run| run.device_instances.into()) as u32,
            in_place: counted.iter().all(|run| run.in_place),
            fault,
        }
    }

    /// Of the better native form.
    pub(super) fn native_ms(&self) -> Figures {
        match self.native {
            NativeForm::Paper => self.native_paper_ms,
            NativeForm::Best => self.native_best_ms,
        }
    }

    /// What the paper prints of such a case. Its five nodes repeat the work of a kind, and its
    /// transport hands pointers over: beside anything else there is nothing of it to print.
    pub(super) fn printed(&self) -> Option<[&'static str; 2]> {
        let Case { benchmark, model, architecture, transport, .. } = &self.case;
        let is_other = matches!(transport, Transport::Serialised | Transport::None)
            || *architecture == (Architecture::Five { replicated: false });
        (!is_other).then(|| paper::printed(benchmark, architecture.word(), model)).flatten()
    }
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let Case { benchmark, model, architecture, transport, power } = &self.case;
        let per_swap = |ms: f64| rounded(ms * 1e3 / f64::from(self.swaps.max(1)));
        let percent = |of: fn(&Overhead) -> f64| self.overhead.as_ref().map(|it| rounded(of(it)));
        let printed = self.printed();
        vec![
            ("benchmark", (*benchmark).into()),
            ("model", (*model).into()),
            ("architecture", architecture.word().into()),
            ("division", architecture.division().into()),
            ("transport", transport.word().into()),
            ("power", (*power).into()),
            ("swaps", self.swaps.into()),
            ("right", self.fault.is_none().into()),
            ("mean_ms", rounded(self.took_ms.mean).into()),
            ("sd_ms", rounded(self.took_ms.sd).into()),
            ("median_ms", rounded(self.took_ms.median).into()),
            ("swap_us", per_swap(self.took_ms.mean).into()),
            ("native_form", self.native.word().into()),
            ("native_mean_ms", rounded(self.native_ms().mean).into()),
            ("native_swap_us", per_swap(self.native_ms().mean).into()),
            ("native_best_mean_ms", rounded(self.native_best_ms.mean).into()),
            ("native_best_sd_ms", rounded(self.native_best_ms.sd).into()),
            ("native_paper_mean_ms", rounded(self.native_paper_ms.mean).into()),
            ("native_paper_sd_ms", rounded(self.native_paper_ms.sd).into()),
            ("overhead_percent", percent(|it| it.percent).into()),
            ("overhead_low_percent", percent(|it| it.low).into()),
            ("overhead_high_percent", percent(|it| it.high).into()),
            ("overhead_swap_us", per_swap(self.took_ms.mean - self.native_ms().mean).into()),
            ("copied_bytes_per_swap", self.copied_bytes_per_swap.into()),
            ("host_instances", self.host_instances.into()),
            ("device_instances", self.device_instances.into()),
            ("in_place", self.in_place.into()),
            ("energy_mj", self.energy_mj.map(rounded).into()),
            ("paper_tx2_percent", printed.map(|it| it[0]).into()),
            ("paper_xavier_percent", printed.map(|it| it[1]).into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(took_ns: u64, native_paper_ns: u64, native_best_ns: u64) -> Run {
        Run {
            warm_up: false,
            swaps: 10,
            took_ns,
            native_paper_ns,
            native_best_ns,
            energy_uj: 0,
            right: true,
            fault: String::new(),
            copied_bytes: 0,
            host_instances: 1,
            device_instances: 0,
            in_place: true,
        }
    }

    fn case(architecture: Architecture) -> Case {
        let (benchmark, model, transport) = ("concurrent", "zc", Transport::Shared);
        Case { benchmark, model, architecture, transport, power: 16 }
    }

    #[test]
    fn nodes_are_measured_against_the_native_form_that_was_faster_whatever_it_is_called() {
        let three = case(Architecture::Three);
        let row = Row::of(&three, &[run(1_200_000, 500_000, 1_000_000)]);
        assert_eq!((row.native, row.native_ms().mean), (NativeForm::Paper, 0.5));
        assert!((row.overhead.expect("pairs").percent - 140.0).abs() < 1e-9);
        let row = Row::of(&three, &[run(1_200_000, 1_500_000, 1_000_000)]);
        assert_eq!((row.native, row.native_ms().mean), (NativeForm::Best, 1.0));
        assert!((row.overhead.expect("pairs").percent - 20.0).abs() < 1e-9);
        // By the means of all runs, not run by run.
        let runs = [run(10, 4_000_000, 3_000_000), run(10, 1_000_000, 3_000_000)];
        assert_eq!(Row::of(&three, &runs).native, NativeForm::Paper);
    }

    #[test]
    fn the_papers_five_nodes_stand_beside_those_that_repeat_the_work_only() {
        let of = |architecture| Row::of(&case(architecture), &[run(1, 1, 1)]).printed();
        assert_eq!(of(Architecture::Five { replicated: true }), Some(["50", "234"]));
        assert_eq!(of(Architecture::Five { replicated: false }), None);
        assert_eq!(of(Architecture::Three), Some(["-11", "76"]));
    }
}
