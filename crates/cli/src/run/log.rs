//! What nodes log, on its way from `/rosout` to people and recordings.
//!
//! A thread of the launcher prints the lines in the form of ROS 2.

use super::listening::{Heard, Listening};
use crate::output::{clean, say};
use anyhow::{Context, Result, bail};
use crossdock_comm::{Participant, Qos, Subscriber};
use crossdock_graph::{LogLevel, NodePlan, Plan, ProcessPlan, logger_name};
use crossdock_msg::Message;
use crossdock_msg::types::rcl_interfaces::Log;
use crossdock_record::TopicToRecord;
use std::collections::BTreeSet;

/// The topic of all logs, as in ROS 2.
pub(crate) const TOPIC: &str = "/rosout";

/// The node that reads it: hidden, as its name begins with `_`.
const NODE: &str = "_log";

/// Lines that may wait for a slow terminal; what a node logs beyond is lost, and said.
const DEPTH: usize = 256;

/// Sets the levels that the command line asks for, in their order.
///
/// # Errors
/// The graph has no node of a name.
pub(crate) fn set_levels(plan: &mut Plan, levels: &[(Option<String>, LogLevel)]) -> Result<()> {
    for (named, level) in levels {
        let processes = plan.processes.iter_mut();
        let nodes = processes.flat_map(|it| &mut it.executors).flat_map(|it| &mut it.nodes);
        let mut found = false;
        for node in nodes.filter(|node| named.as_ref().is_none_or(|name| is_named(node, name))) {
            (node.log_level, found) = (*level, true);
        }
        if let (Some(name), false) = (named, found) {
            let nodes = plan.processes.iter().flat_map(ProcessPlan::nodes);
            let names: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
            bail!("--log-level {name}:=...: no such node; the nodes are {}", names.join(", "));
        }
    }
    Ok(())
}

/// Whether a node or its logger, which has dots for slashes as in ROS 2, is called `name`.
fn is_named(node: &NodePlan, name: &str) -> bool {
    logger_name(&node.name) == logger_name(name)
}

/// The logs as a topic of a recording of all topics. Not of a replay: lines have the computer's
/// time, which differs from run to run.
pub(super) fn to_record(plan: &Plan, chosen: &[String]) -> Option<TopicToRecord> {
    let is_wanted = plan.steps.is_none() && chosen.is_empty();
    is_wanted.then(|| TopicToRecord::new(TOPIC, Qos::best_effort(DEPTH)))
}

/// Prints the lines of a run's nodes on standard error.
pub(super) struct LogPrinter(Listening);

/// The thread's side.
struct Printing {
    /// The loggers of the run's nodes: others log to the same topic.
    loggers: BTreeSet<String>,
    lost: u64,
}

impl LogPrinter {
    /// Starts the thread, which sleeps while nobody logs.
    pub(super) fn start(participant: &Participant, plan: &Plan) -> Result<Self> {
        let nodes = plan.all_processes().flat_map(ProcessPlan::nodes);
        let loggers = nodes.map(|node| logger_name(&node.name)).collect();
        let mut printing = Printing { loggers, lost: 0 };
        let (name, node, topic) = ("crossdock-log", NODE.to_owned(), TOPIC);
        let heard = Heard { name, node, topic, qos: Qos::best_effort(DEPTH) };
        let listening = Listening::start::<Log>(participant, heard, move |lines| {
            while printing.print_next(lines) {}
            printing.tell_lost(lines);
        });
        Ok(Self(listening.context("nothing that nodes log would be shown")?))
    }

    /// Prints what there is, and ends.
    pub(super) fn finish(&mut self) {
        self.0.finish();
    }
}

impl Printing {
    /// Prints the next line. False: there is none.
    fn print_next(&mut self, lines: &Subscriber<Log>) -> bool {
        match lines.take() {
            Ok(None) => return false,
            Ok(Some(sample)) => {
                let text = text(&sample.message(), &self.loggers);
                if let Some(text) = text {
                    say!("{text}");
                }
            }
            // Its publisher has damaged the line.
            Err(error) => say!("warning: a line of a log is lost: {}", clean(&error.to_string())),
        }
        lines.handle().mark_processed();
        true
    }

    fn tell_lost(&mut self, lines: &Subscriber<Log>) {
        let lost = lines.lost();
        if lost > self.lost {
            say!("warning: {} lines of logs came faster than they were shown", lost - self.lost);
            self.lost = lost;
        }
    }
}

/// A line in the form of ROS 2, `[INFO] [seconds] [logger]: text`; `None`: of another run.
fn text(line: &<Log as Message>::View<'_>, loggers: &BTreeSet<String>) -> Option<String> {
    let name = line.name().ok()?.string_lossy();
    let stamp = line.stamp();
    let text = line.msg().ok()?.string_lossy();
    loggers.contains(&name).then(|| {
        let level = LogLevel::of_number(line.level()).name();
        let (sec, nanosec) = (stamp.sec(), stamp.nanosec());
        format!("[{level}] [{sec}.{nanosec:09}] [{}]: {}", clean(&name), clean(&text))
    })
}
