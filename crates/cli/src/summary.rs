//! The closing table of a run: per node, per topic, per chain. As data, as JSON, as text.

use crate::output::{say, with_margin};
use crate::table::{Align, Table};
use crossdock_hwgen::network::Counted;
use crossdock_sight::{Losses, bytes, duration, some};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

/// What a run did, from its start to its end.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// Name of the graph.
    pub(crate) graph: String,
    /// Why it ended, a phrase.
    pub(crate) end: String,
    /// Whether it ended as it should: no node failed, no process died.
    pub(crate) ok: bool,
    /// Seconds of real time between start and end.
    pub(crate) real_s: f64,
    /// Seconds of the run's own time where that is simulated.
    pub(crate) simulated_s: Option<f64>,
    /// Processes.
    pub(crate) processes: Vec<ProcessRow>,
    /// Nodes.
    pub(crate) nodes: Vec<NodeRow>,
    /// Topics.
    pub(crate) topics: Vec<TopicRow>,
    /// Services; none where no node has a client or server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) services: Vec<ServiceRow>,
    /// Ways between topics and hardware; none where no node is hardware.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) gateways: Vec<GatewayRow>,
    /// Boards; none where no node is hardware.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fabrics: Vec<FabricRow>,
    /// Topics as nodes on devices have them; none where no node is on one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) devices: Vec<DeviceRow>,
    /// Measured spans.
    pub(crate) chains: Vec<ChainRow>,
    /// What went wrong or was noteworthy, sentences.
    pub(crate) notes: Vec<String>,
}

/// A topic of a node that leaves its work to a device.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeviceRow {
    pub(crate) topic: String,
    pub(crate) node: String,
    pub(crate) device: String,
    /// How its messages get there and back, and why so.
    pub(crate) model: String,
    pub(crate) reason: String,
    /// Messages of the topic that this node has taken or published.
    pub(crate) messages: u64,
    /// Messages that this node had copied to the device or from it, and their bytes.
    pub(crate) copies: u64,
    pub(crate) copied_bytes: u64,
    /// In how many places of each memory a payload of the topic lies, for all who have it there.
    pub(crate) resident: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ServiceRow {
    pub(crate) service: String,
    #[serde(rename = "type")]
    pub(crate) service_type: String,
    /// Nodes that serve it.
    pub(crate) servers: Vec<String>,
    pub(crate) clients: u64,
    /// Requests that the clients sent, and responses that they got.
    pub(crate) calls: u64,
    pub(crate) responses: u64,
    /// What became of the others.
    #[serde(flatten)]
    pub(crate) others: CallEnds,
}

/// How calls ended that were not answered, or not in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CallEnds {
    pub(crate) timed_out: u64,
    pub(crate) cancelled: u64,
    /// The server died or closed the service.
    pub(crate) server_gone: u64,
    pub(crate) unanswered: u64,
    /// Not sent: no server, or too many calls under way.
    pub(crate) refused: u64,
    /// Responses that came when nobody waited any more.
    pub(crate) late: u64,
}

impl CallEnds {
    pub(crate) fn add(&mut self, more: Self) {
        self.timed_out += more.timed_out;
        self.cancelled += more.cancelled;
        self.server_gone += more.server_gone;
        self.unanswered += more.unanswered;
        self.refused += more.refused;
        self.late += more.late;
    }

    /// Those that occurred, by name.
    fn text(&self) -> String {
        let counts = [
            ("timed out", self.timed_out),
            ("cancelled", self.cancelled),
            ("server gone", self.server_gone),
            ("unanswered", self.unanswered),
            ("refused", self.refused),
            ("late", self.late),
        ];
        let occurred = counts.iter().filter(|(_, count)| *count > 0);
        let texts: Vec<String> = occurred.map(|(name, count)| format!("{name} {count}")).collect();
        texts.join(", ")
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProcessRow {
    pub(crate) name: String,
    /// Of the last one, where it was started again.
    pub(crate) pid: u32,
    pub(crate) end: String,
    /// How often it was started again.
    pub(crate) restarts: u32,
    /// Processor time of all its threads from the start of the run to its end, or from its own
    /// start where that came later; `None`, as what follows, when it ended before.
    pub(crate) processor_ns: Option<u64>,
    /// Context switches of all its threads in the same time, its own and those forced on it.
    pub(crate) context_switches: Option<u64>,
    /// Memory that was resident at the end.
    pub(crate) resident_bytes: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct NodeRow {
    pub(crate) node: String,
    pub(crate) process: String,
    /// How the process ended, if it did before it was told to: the figures are of that moment.
    #[serde(rename = "process_ended", skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<String>,
    pub(crate) executions: u64,
    /// Messages passed over because of the node's condition.
    pub(crate) unmatched: u64,
    /// Times that it was released and its condition did not let it run.
    pub(crate) held_back: u64,
    /// Times that one of its timers was skipped because it was late by more than its period.
    pub(crate) timer_skips: u64,
    /// Releases in lock step without the answer to the last output.
    pub(crate) unanswered: u64,
    /// Executions that took longer than the node's budget.
    pub(crate) over_budget: u64,
    /// Executions with a message that was older than its input allows.
    pub(crate) stale: u64,
    /// Errors and panics.
    pub(crate) failed: u64,
    #[serde(flatten)]
    pub(crate) execute: Percentiles,
}

/// Of a distribution of times, nanoseconds. `None` when nothing was measured.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    pub(crate) max_ns: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct TopicRow {
    pub(crate) topic: String,
    #[serde(rename = "type")]
    pub(crate) message_type: String,
    /// Its messages never leave a fabric: nobody counts them, and all that follows is zero.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) in_hardware: bool,
    /// Messages that were published and their bytes. If no process of the run publishes it, as many
    /// as one of its subscribers has taken.
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) copies: u64,
    /// Messages published while nobody was connected.
    pub(crate) unheard: u64,
    pub(crate) losses: Losses,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct GatewayRow {
    /// The topic.
    pub(crate) topic: String,
    pub(crate) fabric: String,
    /// Messages into the fabric, and bytes of their payloads.
    pub(crate) down: u64,
    pub(crate) down_bytes: u64,
    /// Messages out of the fabric, and bytes of their payloads.
    pub(crate) up: u64,
    pub(crate) up_bytes: u64,
    /// Messages that were not handed on, by cause.
    pub(crate) down_refused: u64,
    pub(crate) up_refused: u64,
    pub(crate) up_timed_out: u64,
    /// Bytes of small pieces that were copied together before the fabric read them.
    pub(crate) copied_bytes: u64,
}

impl GatewayRow {
    fn refused(&self) -> u64 {
        self.down_refused + self.up_refused + self.up_timed_out
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct FabricRow {
    pub(crate) fabric: String,
    /// What the board stands for.
    pub(crate) profile: String,
    /// Bytes that it read from and wrote to host memory, whole beats.
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    /// Accesses outside of what it may reach.
    pub(crate) refused: u64,
    /// Time on the board, in which its clock did not stand.
    pub(crate) simulated_us: u64,
    /// What it had to do to messages, where it did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) counts: Vec<CountRow>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct CountRow {
    /// What was done.
    pub(crate) what: Counted,
    /// The topic.
    pub(crate) of: String,
    /// Ports of the topic that it concerns.
    pub(crate) at: String,
    /// How often.
    pub(crate) count: u64,
    /// Whether the register counts no further: it may have been more often.
    pub(crate) at_least: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChainRow {
    pub(crate) chain: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) count: u64,
    /// What it may take.
    pub(crate) max_latency_ns: Option<u64>,
    /// Messages on the last topic that came later.
    pub(crate) late: u64,
    /// How often nothing had come by then.
    pub(crate) stalled: u64,
    #[serde(flatten)]
    pub(crate) time: Percentiles,
}

impl Summary {
    /// The exit code of a command that has printed it. Why a run has failed is told on standard
    /// error, too: its table may go into a file.
    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.ok {
            return ExitCode::SUCCESS;
        }
        say!("error: {}", self.end);
        ExitCode::FAILURE
    }

    /// The table as text, with a final line break.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}: {}", self.graph, self.end);
        match self.simulated_s {
            Some(simulated_s) => writeln!(
                text,
                "; {simulated_s:.1} simulated seconds in {:.1} s ({:.1} x real time)",
                self.real_s,
                simulated_s / self.real_s.max(1e-9)
            ),
            None => writeln!(text, "; {:.1} s", self.real_s),
        }
        .expect("writing to a string does not fail");
        let hardware = [self.gateway_table(), self.fabric_table(), self.device_table()];
        let software = [self.node_table(), self.topic_table(), self.service_table()];
        let last =
            [self.chain_table(), self.limit_table(), self.process_table(), self.restart_table()];
        for part in software.into_iter().chain(hardware).chain(last) {
            if !part.is_empty() {
                text.push('\n');
                text.push_str(&part);
            }
        }
        for note in &self.notes {
            text.push_str("\nnote: ");
            text.push_str(&with_margin(note));
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        text
    }

    fn node_table(&self) -> String {
        let first = |row: &NodeRow| {
            let process = match &row.ended {
                Some(how) => format!("{}, ended: {how}", row.process),
                None => row.process.clone(),
            };
            let (executions, unmatched) = (row.executions.to_string(), row.unmatched.to_string());
            [row.node.clone(), process, executions, unmatched]
        };
        // Most graphs have nothing to say of what is rare.
        if self.nodes.iter().all(|row| row.held_back == 0 && row.timer_skips == 0) {
            let mut table = Table::new(&[
                ("node", Align::Left),
                ("process", Align::Left),
                ("executions", Align::Right),
                ("unmatched", Align::Right),
                ("p50", Align::Right),
                ("p99", Align::Right),
                ("max", Align::Right),
            ]);
            for row in &self.nodes {
                let ([a, b, c, d], [p50, p99, max]) = (first(row), row.execute.texts());
                table.row([a, b, c, d, p50, p99, max]);
            }
            return table.text();
        }
        let mut table = Table::new(&[
            ("node", Align::Left),
            ("process", Align::Left),
            ("executions", Align::Right),
            ("unmatched", Align::Right),
            ("held back", Align::Right),
            ("timer skips", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
        ]);
        for row in &self.nodes {
            let ([a, b, c, d], [p50, p99, max]) = (first(row), row.execute.texts());
            let (held_back, skips) = (row.held_back.to_string(), row.timer_skips.to_string());
            table.row([a, b, c, d, held_back, skips, p50, p99, max]);
        }
        table.text()
    }

    fn topic_table(&self) -> String {
        let mut table = Table::new(&[
            ("topic", Align::Left),
            ("messages", Align::Right),
            ("bytes", Align::Right),
            ("copies", Align::Right),
            ("lost", Align::Right),
            ("by cause", Align::Left),
        ]);
        for row in &self.topics {
            if row.in_hardware {
                let [a, b, c, d] = ["-"; 4].map(str::to_owned);
                table.row([row.topic.clone(), a, b, c, d, "in hardware".to_owned()]);
                continue;
            }
            table.row([
                row.topic.clone(),
                row.messages.to_string(),
                bytes(row.bytes),
                row.copies.to_string(),
                row.losses.total().to_string(),
                row.losses.causes(),
            ]);
        }
        table.text()
    }

    fn service_table(&self) -> String {
        let mut table = Table::new(&[
            ("service", Align::Left),
            ("server", Align::Left),
            ("clients", Align::Right),
            ("calls", Align::Right),
            ("responses", Align::Right),
            ("others", Align::Left),
        ]);
        for row in &self.services {
            table.row([
                row.service.clone(),
                row.servers.join(", "),
                row.clients.to_string(),
                row.calls.to_string(),
                row.responses.to_string(),
                row.others.text(),
            ]);
        }
        table.text()
    }

    fn gateway_table(&self) -> String {
        let mut table = Table::new(&[
            ("gateway", Align::Left),
            ("fabric", Align::Left),
            ("down", Align::Right),
            ("bytes", Align::Right),
            ("up", Align::Right),
            ("bytes", Align::Right),
            ("refused", Align::Right),
        ]);
        for row in &self.gateways {
            table.row([
                row.topic.clone(),
                row.fabric.clone(),
                row.down.to_string(),
                bytes(row.down_bytes),
                row.up.to_string(),
                bytes(row.up_bytes),
                row.refused().to_string(),
            ]);
        }
        table.text()
    }

    fn fabric_table(&self) -> String {
        let mut table = Table::new(&[
            ("fabric", Align::Left),
            ("simulated as", Align::Left),
            ("read from host", Align::Right),
            ("written to host", Align::Right),
            ("time on board", Align::Right),
        ]);
        for row in &self.fabrics {
            table.row([
                row.fabric.clone(),
                row.profile.clone(),
                bytes(row.bytes_read),
                bytes(row.bytes_written),
                duration(row.simulated_us * 1000),
            ]);
        }
        table.text()
    }

    fn device_table(&self) -> String {
        let mut table = Table::new(&[
            ("on device", Align::Left),
            ("node", Align::Left),
            ("topic", Align::Left),
            ("copies", Align::Right),
            ("bytes", Align::Right),
            ("per message", Align::Right),
            ("resident", Align::Left),
            ("model", Align::Left),
        ]);
        for row in &self.devices {
            let per_message = row.copied_bytes.checked_div(row.messages);
            let resident = row.resident.iter().map(|(memory, count)| format!("{count} {memory}"));
            table.row([
                row.device.clone(),
                row.node.clone(),
                row.topic.clone(),
                row.copies.to_string(),
                bytes(row.copied_bytes),
                per_message.map_or_else(|| "-".to_owned(), bytes),
                resident.collect::<Vec<_>>().join(", "),
                format!("{}: {}", row.model, row.reason),
            ]);
        }
        table.text()
    }

    fn chain_table(&self) -> String {
        let mut table = Table::new(&[
            ("chain", Align::Left),
            ("from", Align::Left),
            ("to", Align::Left),
            ("count", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
        ]);
        for row in &self.chains {
            let [p50, p99, max] = row.time.texts();
            let count = row.count.to_string();
            table.row([row.chain.clone(), row.from.clone(), row.to.clone(), count, p50, p99, max]);
        }
        table.text()
    }
}

impl Summary {
    /// Limits of time that were missed or are set for chains; nothing where there is none.
    fn limit_table(&self) -> String {
        let mut table = Table::new(&[
            ("limit", Align::Left),
            ("of", Align::Left),
            ("allowed", Align::Right),
            ("missed", Align::Right),
            ("by cause", Align::Left),
        ]);
        for row in &self.chains {
            let Some(max_latency_ns) = row.max_latency_ns else { continue };
            let causes = [("late", row.late), ("stalled", row.stalled)];
            let missed = row.late.saturating_add(row.stalled).to_string();
            let (of, allowed) = (format!("chain {}", row.chain), duration(max_latency_ns));
            table.row(["limit".to_owned(), of, allowed, missed, some(&causes)]);
        }
        for row in &self.nodes {
            let causes = [("over budget", row.over_budget), ("stale input", row.stale)];
            for (cause, count) in causes.into_iter().filter(|(_, count)| *count > 0) {
                let of = format!("node {}", row.node);
                let missed = count.to_string();
                table.row([cause.to_owned(), of, String::new(), missed, String::new()]);
            }
        }
        table.text()
    }

    /// What each process has used.
    fn process_table(&self) -> String {
        let mut table = Table::new(&[
            ("process", Align::Left),
            ("processor", Align::Right),
            ("of a core", Align::Right),
            ("switches", Align::Right),
            ("memory", Align::Right),
        ]);
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        for row in &self.processes {
            let share = row.processor_ns.map(|ns| ns as f64 / 1e7 / self.real_s.max(1e-9));
            table.row([
                row.name.clone(),
                or_none(row.processor_ns.map(duration)),
                or_none(share.map(|percent| format!("{percent:.1} %"))),
                or_none(row.context_switches.map(|count| count.to_string())),
                or_none(row.resident_bytes.map(bytes)),
            ]);
        }
        table.text()
    }

    /// Processes that were started again and nodes that failed; nothing where there is none.
    fn restart_table(&self) -> String {
        let mut table = Table::new(&[("failed", Align::Left), ("times", Align::Right)]);
        for row in self.processes.iter().filter(|row| row.restarts > 0) {
            let times = row.restarts.to_string();
            table.row([format!("process {}, started again", row.name), times]);
        }
        for row in self.nodes.iter().filter(|row| row.failed > 0) {
            table.row([format!("node {}", row.node), row.failed.to_string()]);
        }
        table.text()
    }
}

impl Percentiles {
    fn texts(&self) -> [String; 3] {
        [self.p50_ns, self.p99_ns, self.max_ns]
            .map(|time_ns| time_ns.map_or_else(|| "-".to_owned(), duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_calls_name_only_those_that_occurred() {
        let mut ends = CallEnds { timed_out: 2, ..CallEnds::default() };
        ends.add(CallEnds { timed_out: 1, server_gone: 4, ..CallEnds::default() });
        assert_eq!(ends.text(), "timed out 3, server gone 4");
        assert_eq!(CallEnds::default().text(), "");
    }

    #[test]
    fn what_never_leaves_hardware_is_not_shown_as_nothing() {
        let row = |topic: &str, in_hardware| TopicRow {
            topic: topic.to_owned(),
            message_type: String::new(),
            in_hardware,
            messages: 0,
            bytes: 0,
            copies: 0,
            unheard: 0,
            losses: Losses::default(),
        };
        let summary = Summary {
            graph: "g".to_owned(),
            end: "interrupted".to_owned(),
            ok: true,
            real_s: 1.0,
            simulated_s: None,
            processes: Vec::new(),
            nodes: Vec::new(),
            topics: vec![row("/silent", false), row("/inside", true)],
            services: Vec::new(),
            gateways: Vec::new(),
            fabrics: Vec::new(),
            devices: Vec::new(),
            chains: Vec::new(),
            notes: Vec::new(),
        };
        let table = summary.topic_table();
        let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines[0], ["/silent", "0", "0", "B", "0", "0"], "{table}");
        assert_eq!(lines[1], ["/inside", "-", "-", "-", "-", "in", "hardware"], "{table}");
        let json = serde_json::to_value(&summary).expect("JSON");
        assert_eq!(json["topics"][0].get("in_hardware"), None);
        assert_eq!(json["topics"][1]["in_hardware"], true);
    }
}
