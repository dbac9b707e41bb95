//! Tells when simulated time stands still, because the answer that a node in lock step waits for
//! does not come.

use super::figures::Figures;
use super::left::{made_ns, what_runs};
use crossdock_comm::ProcessSnapshot;
use crossdock_graph::{NodePlan, Plan, Time};
use crossdock_sight::ProcessUse;
use std::time::{Duration, Instant};

/// Real time without simulated time that is worth a warning. One execution of a large graph on a
/// simulated board takes seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// The slowest pace that is told apart from a standstill.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 3600);

/// The simulated time of a run as the launcher saw it last.
pub(super) struct Standstill {
    /// The node in lock step.
    node: String,
    patience: Duration,
    /// When it is looked at next.
    due: Instant,
    made_ns: u64,
    /// One warning is enough for one standstill.
    was_told: bool,
}

impl Standstill {
    /// `None`: no node of these processes makes the time.
    pub(super) fn of(plan: &Plan, now: Instant) -> Option<Self> {
        let paced = plan.all_processes().filter(|process| process.time.is_in_lockstep());
        let mut nodes = paced.flat_map(|process| process.nodes().map(|node| (node, process.time)));
        let (node, time) = nodes.find(|(node, _)| node.lockstep.is_some())?;
        let patience = PATIENCE.saturating_add(pause(node, time));
        let due = now + patience;
        Some(Self { node: node.name.clone(), patience, due, made_ns: 0, was_told: false })
    }

    /// When it is to be looked at again.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// A warning if simulated time stands still, once for each time that it does. Reads shared
    /// memory, and `/proc` only if there is something to tell.
    pub(super) fn look(&mut self, plan: &Plan, figures: &Figures, now: Instant) -> Option<String> {
        if now < self.due {
            return None;
        }
        let tables = figures.status_tables();
        let made_ns = made_ns(tables.iter().flat_map(|table| &table.others));
        self.is_news(made_ns, now).then(|| {
            format!(
                "simulated time, which node `{}` makes, has stood at {:.3} s for {} s: {}",
                self.node,
                made_ns as f64 / 1e9,
                self.patience.as_secs(),
                reason(plan, &tables)
            )
        })
    }

    /// Whether simulated time has stood since the last look, and that was not told.
    fn is_news(&mut self, made_ns: u64, now: Instant) -> bool {
        self.due = now + self.patience;
        let stands = std::mem::replace(&mut self.made_ns, made_ns) == made_ns;
        let was_told = std::mem::replace(&mut self.was_told, stands);
        stands && !was_told
    }
}

/// Real time from one release of a node in lock step to the next, if the run is paced.
fn pause(node: &NodePlan, time: Time) -> Duration {
    let longest_ns = node.timers.iter().map(|timer| timer.period_ns).max().unwrap_or(0);
    let pause_s = time.at_most().map_or(0.0, |rate| longest_ns as f64 / 1e9 / rate);
    Duration::try_from_secs_f64(pause_s).unwrap_or(PAUSE_MAX).min(PAUSE_MAX)
}

/// What keeps the graph from answering, as far as it can be seen: processes that do nothing first.
fn reason(plan: &Plan, tables: &[ProcessSnapshot]) -> String {
    let (mut idle, mut running) = (Vec::new(), Vec::new());
    for process in plan.all_processes() {
        let name = &process.name;
        let Some(table) = tables.iter().find(|table| table.process == *name) else {
            idle.push(format!("process `{name}` is not there"));
            continue;
        };
        let pid = table.pid;
        if ProcessUse::read(pid).is_some_and(|it| it.is_stopped) {
            idle.push(format!("process `{name}` is stopped, `kill -CONT {pid}` continues it"));
        }
        running.extend(process.nodes().filter_map(|node| {
            Some(format!("node `{}` runs on {}", node.name, what_runs(table, node)?))
        }));
    }
    idle.append(&mut running);
    match idle.is_empty() {
        true => "no node runs and no process is stopped; `crossdock topic list` shows up to which \
                 topic the messages came"
            .to_owned(),
        false => idle.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standstill_is_told_once_until_time_has_passed_again() {
        let start = Instant::now();
        let patience = Duration::from_secs(10);
        let node = "course".to_owned();
        let mut time = Standstill { node, patience, due: start, made_ns: 0, was_told: false };
        let mut news = |made_ns| time.is_news(made_ns, start);
        let seen = [5, 5, 5, 6, 6, 6, 7].map(&mut news);
        assert_eq!(seen, [false, true, false, false, true, false, false]);
        assert_eq!(time.due(), start + patience);
    }
}
