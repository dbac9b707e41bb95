//! What shall happen when something takes too long or fails, and what a process needs of the
//! computer: limits of time, failures of nodes, restarts, rights.
//!
//! Pure data, for graphs, mappings and plans alike.

use serde::{Deserialize, Serialize};

/// A limit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What is longer misses the limit, nanoseconds; 1 us to 1 day.
    pub limit_ns: u64,
    /// What follows from a miss, beside its count.
    pub on_miss: OnMiss,
}

/// What follows from a missed limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnMiss {
    /// It is counted, and the node is told.
    #[default]
    Count,
    /// The same, and the run ends as failed.
    Stop,
}

impl OnMiss {
    /// The word for it in a file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Stop => "stop",
        }
    }
}

/// What follows when a node returns an error or panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The run ends as failed.
    StopRun,
    /// The node is taken out; everything else goes on.
    DropNode,
    /// Its process ends and is started again, as often as the mapping allows.
    RestartProcess,
}

impl OnFailure {
    /// The word for it in a file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::StopRun => "stop_run",
            Self::DropNode => "drop_node",
            Self::RestartProcess => "restart_process",
        }
    }
}

/// What follows if the simulation of a fabric falls behind in a run in real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLag {
    /// The run ends as failed, with an error that says how far behind it is.
    #[default]
    StopRun,
    /// It does not fall behind: the time of the run is simulated, at most as fast as real time, and
    /// waits for the graph.
    SlowTime,
}

impl OnLag {
    /// The word for it in a file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::StopRun => "stop_run",
            Self::SlowTime => "slow_time",
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What follows if rights that the mapping asks for are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Realtime {
    /// The run does not start.
    #[default]
    Required,
    /// It goes on without, and says so.
    Preferred,
}

/// When a process is started again, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// After which ends.
    pub when: RestartWhen,
    /// Starts within `within_s` after which the process is given up, the first one not counted.
    pub limit: u32,
    /// Seconds.
    pub within_s: u32,
    /// From an end to the start that follows it, milliseconds; doubled for each further one within
    /// `within_s`.
    pub backoff_ms: u32,
}

impl Restart {
    /// Never; once some other word is said, five times in a minute, the first after 100 ms.
    pub const NEVER: Self =
        Self { when: RestartWhen::Never, limit: 5, within_s: 60, backoff_ms: 100 };

    /// Whether the process is ever started again.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.when != RestartWhen::Never
    }
}

impl Default for Restart {
    fn default() -> Self {
        Self::NEVER
    }
}

/// After which ends a process is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestartWhen {
    /// None: the run ends as failed.
    #[default]
    Never,
    /// A signal, an exit with an error, or a node that failed.
    OnFailure,
    /// Every end that nobody asked for.
    Always,
}

impl RestartWhen {
    /// The word for it in a file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnFailure => "on_failure",
            Self::Always => "always",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_files_are_those_of_plans() {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        for value in [OnMiss::Count, OnMiss::Stop] {
            assert_eq!(word(serde_json::to_value(value).unwrap()), value.word());
        }
        for value in [OnFailure::StopRun, OnFailure::DropNode, OnFailure::RestartProcess] {
            assert_eq!(word(serde_json::to_value(value).unwrap()), value.word());
        }
        for value in [RestartWhen::Never, RestartWhen::OnFailure, RestartWhen::Always] {
            assert_eq!(word(serde_json::to_value(value).unwrap()), value.word());
        }
    }
}
