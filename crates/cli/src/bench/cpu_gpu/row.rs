//! What was found of a case.

use super::case::{Architecture, Case};
use super::figures::{Figures, Overhead};
use super::paper;
use super::runs::Run;
use crate::bench::rows::{Record, rounded};
use serde_json::Value;

/// What was found of a case.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) case: Case,
    pub(super) swaps: u32,
    pub(super) took_ms: Figures,
    pub(super) native_best_ms: Figures,
    pub(super) native_paper_ms: Figures,
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
        let (took, best) = (ms(|run| run.took_ns), ms(|run| run.native_best_ns));
        let pairs: Vec<(f64, f64)> = took.iter().copied().zip(best.iter().copied()).collect();
        let energy = ms(|run| run.energy_uj);
        let last = counted.last();
        let swaps = last.map_or(0, |run| run.swaps);
        let most = |of: fn(&Run) -> u64| counted.iter().map(|run| of(run)).max().unwrap_or(0);
        Self {
            case: case.clone(),
            swaps,
            took_ms: Figures::of(&took),
            native_best_ms: Figures::of(&best),
            native_paper_ms: Figures::of(&ms(|run| run.native_paper_ns)),
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
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let Case { benchmark, model, architecture, transport, power } = &self.case;
        let per_swap = |ms: f64| rounded(ms * 1e3 / f64::from(self.swaps.max(1)));
        let percent = |of: fn(&Overhead) -> f64| self.overhead.as_ref().map(|it| rounded(of(it)));
        let printed = paper::printed(benchmark, architecture.word(), model);
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
            ("native_best_mean_ms", rounded(self.native_best_ms.mean).into()),
            ("native_best_sd_ms", rounded(self.native_best_ms.sd).into()),
            ("native_best_swap_us", per_swap(self.native_best_ms.mean).into()),
            ("native_paper_mean_ms", rounded(self.native_paper_ms.mean).into()),
            ("native_paper_sd_ms", rounded(self.native_paper_ms.sd).into()),
            ("overhead_percent", percent(|it| it.percent).into()),
            ("overhead_low_percent", percent(|it| it.low).into()),
            ("overhead_high_percent", percent(|it| it.high).into()),
            ("overhead_swap_us", per_swap(self.took_ms.mean - self.native_best_ms.mean).into()),
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
