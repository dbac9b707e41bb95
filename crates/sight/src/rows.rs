//! Rows of two readings: rates, shares and ages of processes, executors, nodes, topics and chains.

use crate::{
    Losses, ProcessUse, Reading, ThreadUse, detail, executor_of, node_detail, of_kind, sum,
};
use crossdock_comm::names;
use crossdock_comm::status_records::{Carrier, NodeDetail, Triggering, counter, kind};
use crossdock_comm::{EntitySnapshot, HistogramSnapshot, PeerName, PortSnapshot, ProcessSnapshot};
use crossdock_executor::status::{chain_counter, executor_counter, node_counter};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What is there, and what it did since the look before. Rates are `None` for what was not there
/// then.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Look {
    /// Time of day of the look, ns.
    pub time_ns: u64,
    /// Seconds since the look before; 0: there was none.
    pub interval_s: f64,
    /// The processes.
    pub processes: Vec<ProcessRow>,
    /// Their executors.
    pub executors: Vec<ExecutorRow>,
    /// Their nodes.
    pub nodes: Vec<NodeRow>,
    /// All topics.
    pub topics: Vec<TopicRow>,
    /// Measured spans of chains.
    pub chains: Vec<ChainRow>,
    /// Why processes are left out, sentences.
    pub unreachable: Vec<String>,
}

/// A process.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessRow {
    /// Name that its process gave itself.
    pub process: String,
    /// Process id.
    pub pid: u32,
    /// Whether a signal or a debugger has stopped it.
    pub stopped: bool,
    /// Processors that it kept busy: 1 is one of them all the time.
    pub cpu: Option<f64>,
    /// Context switches per second.
    pub switches_per_s: Option<f64>,
    /// Its threads.
    pub threads: usize,
    /// Bytes of memory that are resident.
    pub resident_bytes: u64,
    /// Its nodes.
    pub nodes: usize,
    /// Number of publishers.
    pub publishers: usize,
    /// Number of subscribers.
    pub subscribers: usize,
}

/// An executor.
#[derive(Clone, Debug, Serialize)]
pub struct ExecutorRow {
    /// Its name.
    pub executor: String,
    /// Name that its process gave itself.
    pub process: String,
    /// Chain or event.
    pub mode: String,
    /// Id of its thread.
    pub thread: u64,
    /// Its nodes.
    pub nodes: u64,
    /// Processors that it kept busy: 1 is one of them all the time.
    pub cpu: Option<f64>,
    /// Context switches per second.
    pub switches_per_s: Option<f64>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRow {
    /// Its whole name.
    pub node: String,
    /// Its namespace, `/` without one.
    pub namespace: String,
    /// Its security enclave.
    pub enclave: String,
    /// Who has made it: native, rmw, gateway.
    pub maker: String,
    /// `<package>/<node type>`; empty: a node without an executor.
    #[serde(rename = "type")]
    pub node_type: String,
    /// Name that its process gave itself.
    pub process: String,
    /// Process id.
    pub pid: u32,
    /// The executor that runs it.
    pub executor: Option<String>,
    /// Since the start.
    pub executions: Option<u64>,
    /// Executions per second.
    pub executions_per_s: Option<f64>,
    /// Of its executions since the look before; without one, since the start.
    pub mean_ns: Option<u64>,
    /// The time that 99 of 100 of them stay below.
    pub p99_ns: Option<u64>,
    /// Share of a processor that its executions took.
    pub cpu: Option<f64>,
    /// Losses of its inputs and outputs since the start.
    pub lost: u64,
    /// Times of its timers that were passed over.
    pub timer_skipped: u64,
    /// Executions that took longer than its budget.
    pub over_budget: u64,
    /// Executions with a message that was older than its input allows.
    pub stale: u64,
    /// Errors and panics.
    pub failed: u64,
    /// Number of publishers.
    pub publishers: usize,
    /// Number of subscribers.
    pub subscribers: usize,
}

/// A topic.
#[derive(Clone, Debug, Serialize)]
pub struct TopicRow {
    /// Its name.
    pub topic: String,
    /// Its type; empty: no port says one.
    #[serde(rename = "type")]
    pub message_type: String,
    /// Number of publishers.
    pub publishers: usize,
    /// Number of subscribers.
    pub subscribers: usize,
    /// Messages per second.
    pub rate_hz: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Since its newest message was published.
    pub age_ns: Option<u64>,
    /// Since the message was published that a subscriber took last: of the one that is behind most.
    pub taken_age_ns: Option<u64>,
    /// Messages that the slowest of the subscribers that they trigger has not taken.
    pub waiting: u64,
    /// Messages per second that a subscriber did not get.
    pub lost_per_s: Option<f64>,
    /// Since the start, as the rest.
    pub losses: Losses,
    /// Messages that were published.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Copies that were made of them.
    pub copies: u64,
    /// Published while nobody was connected.
    pub unheard: u64,
    /// Passed over by those who read the newest only.
    pub skipped: u64,
}

/// A measured span of a chain.
#[derive(Clone, Debug, Serialize)]
pub struct ChainRow {
    /// Its name.
    pub chain: String,
    /// The topic that it begins with.
    pub from: String,
    /// The topic that it ends with.
    pub to: String,
    /// Messages per second that end it.
    pub per_s: Option<f64>,
    /// Since the look before; without one, since the start.
    pub p50_ns: Option<u64>,
    /// The time that 99 of 100 of them stay below.
    pub p99_ns: Option<u64>,
    /// Its latency limit, if it has one.
    pub max_latency_ns: Option<u64>,
    /// Messages that ended it later, since the start.
    pub late: u64,
    /// How often nothing came in time.
    pub stalled: u64,
}

/// What is known of a chain, from all processes that end it.
struct ChainSum {
    per_s: Option<f64>,
    times: HistogramSnapshot,
    max_latency_ns: u64,
    late: u64,
    stalled: u64,
}

impl ChainSum {
    fn new() -> Self {
        let times = HistogramSnapshot::empty();
        Self { per_s: None, times, max_latency_ns: 0, late: 0, stalled: 0 }
    }
}

/// Two readings; the older one may be missing.
#[derive(Debug)]
pub struct Span<'a> {
    now: &'a Reading,
    before: Option<&'a Reading>,
    seconds: f64,
    ports: BTreeMap<(PeerName, u64), &'a PortSnapshot>,
    records: BTreeMap<(PeerName, usize), &'a EntitySnapshot>,
}

impl<'a> Span<'a> {
    /// Compares two readings.
    pub fn new(now: &'a Reading, before: Option<&'a Reading>) -> Self {
        let seconds = before.map_or(0.0, |it| now.at.duration_since(it.at).as_secs_f64());
        let ports = before.map(Reading::ports).unwrap_or_default();
        let records = before.map(Reading::records).unwrap_or_default();
        Self { now, before, seconds, ports, records }
    }

    /// Per second; `None` without an earlier value.
    fn rate(&self, now: u64, before: Option<u64>) -> Option<f64> {
        let more = now.saturating_sub(before?);
        (self.seconds > 0.0).then(|| more as f64 / self.seconds)
    }

    /// Rate of a port's counter.
    pub fn port_rate(
        &self,
        process: PeerName,
        port: &PortSnapshot,
        value: impl Fn(&PortSnapshot) -> u64,
    ) -> Option<f64> {
        let before = self.ports.get(&(process, port.port)).map(|port| value(port));
        self.rate(value(port), before)
    }

    /// How often a node executes per second, and how long that takes on average.
    pub fn executions(
        &self,
        process: PeerName,
        record: &EntitySnapshot,
    ) -> (Option<f64>, Option<u64>) {
        let count = |record: &EntitySnapshot| record.counters[node_counter::EXECUTIONS];
        let before = self.earlier(process, record).map(count);
        let times = self.counted(process, record);
        let mean_ns = times.as_ref().and_then(HistogramSnapshot::mean_ns).map(|ns| ns as u64);
        (self.rate(count(record), before), mean_ns)
    }

    /// The same record a look before.
    fn earlier(&self, process: PeerName, record: &EntitySnapshot) -> Option<&'a EntitySnapshot> {
        let earlier = self.records.get(&(process, record.index)).copied();
        earlier.filter(|it| it.version == record.version)
    }

    /// What a record's histogram has counted since the look before, else since the start.
    fn counted(&self, process: PeerName, record: &EntitySnapshot) -> Option<HistogramSnapshot> {
        let now = self.now.histogram(process, record)?;
        let before = self.before.and_then(|before| before.histogram(process, record));
        Some(before.map_or_else(|| now.clone(), |before| now.since(before)))
    }

    fn thread(&self, pid: u32, thread: u64) -> Option<(ThreadUse, Option<ThreadUse>)> {
        let thread = u32::try_from(thread).ok()?;
        let of = |used: &ProcessUse| used.threads.get(&thread).copied();
        let now = self.now.processor(pid).and_then(of)?;
        Some((now, self.before.and_then(|before| before.processor(pid)).and_then(of)))
    }

    /// Processors kept busy, and context switches per second.
    fn used(&self, now: ThreadUse, before: Option<ThreadUse>) -> (Option<f64>, Option<f64>) {
        let busy_ns = self.rate(now.processor_ns, before.map(|it| it.processor_ns));
        let switches = self.rate(now.switches, before.map(|it| it.switches));
        (busy_ns.map(|ns| ns / 1e9), switches)
    }

    fn process(&self, process: &ProcessSnapshot) -> ProcessRow {
        let used = self.now.processor(process.pid).cloned().unwrap_or_default();
        let before = self.before.and_then(|before| before.processor(process.pid));
        let (cpu, switches_per_s) = self.used(used.total(), before.map(ProcessUse::total));
        ProcessRow {
            process: process.process.clone(),
            pid: process.pid,
            stopped: used.is_stopped,
            cpu,
            switches_per_s,
            threads: used.threads.len(),
            resident_bytes: used.resident_bytes,
            nodes: node_names(process).len(),
            publishers: process.publishers.len(),
            subscribers: process.subscribers.len(),
        }
    }

    fn executor(&self, process: &ProcessSnapshot, record: &EntitySnapshot) -> ExecutorRow {
        let thread = record.counters[executor_counter::THREAD];
        let used = self.thread(process.pid, thread);
        let (cpu, switches_per_s) =
            used.map_or((None, None), |(now, before)| self.used(now, before));
        ExecutorRow {
            executor: record.name.clone(),
            process: process.process.clone(),
            mode: detail(record),
            thread,
            nodes: record.counters[executor_counter::NODES],
            cpu,
            switches_per_s,
        }
    }

    /// The nodes of a process: nodes of executors, then nodes that only have ports.
    fn nodes(&self, process: &ProcessSnapshot) -> Vec<NodeRow> {
        let mut ports: BTreeMap<&str, [Vec<&PortSnapshot>; 2]> = BTreeMap::new();
        for (side, of_side) in [&process.publishers, &process.subscribers].into_iter().enumerate() {
            for port in of_side {
                ports.entry(&port.node).or_default()[side].push(port);
            }
        }
        let mut rows = Vec::new();
        let records = of_kind(&process.others, kind::NODE);
        for record in records.filter(|record| !is_hidden_node(&record.name)) {
            let own = ports.remove(record.name.as_str()).unwrap_or_default();
            let mut row = self.port_node(process, &record.name, &own);
            self.add_record(&mut row, process, record);
            rows.push(row);
        }
        let shown = ports.iter().filter(|(name, _)| !is_hidden_node(name));
        rows.extend(shown.map(|(name, own)| self.port_node(process, name, own)));
        rows
    }

    fn port_node(
        &self,
        process: &ProcessSnapshot,
        name: &str,
        [publishers, subscribers]: &[Vec<&PortSnapshot>; 2],
    ) -> NodeRow {
        let lost = publishers.iter().chain(subscribers).map(|port| lost_of(port).total());
        let maker = publishers.iter().chain(subscribers).map(|port| port.maker).next();
        NodeRow {
            node: name.to_owned(),
            namespace: names::split_node_name(name).0.to_owned(),
            enclave: "/".to_owned(),
            maker: maker.unwrap_or_default().to_string(),
            node_type: String::new(),
            process: process.process.clone(),
            pid: process.pid,
            executor: None,
            executions: None,
            executions_per_s: None,
            mean_ns: None,
            p99_ns: None,
            cpu: None,
            lost: sum(lost),
            timer_skipped: 0,
            over_budget: 0,
            stale: 0,
            failed: 0,
            publishers: publishers.len(),
            subscribers: subscribers.len(),
        }
    }

    fn add_record(&self, row: &mut NodeRow, process: &ProcessSnapshot, record: &EntitySnapshot) {
        let executions = record.counters[node_counter::EXECUTIONS];
        let earlier = self.earlier(process.name, record);
        let before = earlier.map(|it| it.counters[node_counter::EXECUTIONS]);
        let counted = self.counted(process.name, record);
        let thread = record.counters[node_counter::THREAD];
        let NodeDetail { node_type, enclave, maker } = node_detail(record);
        (row.node_type, row.enclave, row.maker) = (node_type, enclave, maker.to_string());
        row.executor = executor_of(&process.others, thread).map(|it| it.name.clone());
        // A node that no executor runs does not count.
        row.executions = (thread != 0).then_some(executions);
        row.executions_per_s = row.executions.and_then(|it| self.rate(it, before));
        row.mean_ns = counted.as_ref().and_then(HistogramSnapshot::mean_ns).map(|ns| ns as u64);
        row.p99_ns = counted.as_ref().and_then(|it| it.quantile_ns(0.99));
        let measured = counted.filter(|_| earlier.is_some() && self.seconds > 0.0);
        row.cpu = measured.map(|it| it.sum_ns as f64 / 1e9 / self.seconds);
        row.timer_skipped = record.counters[node_counter::TIMER_SKIPPED];
        row.over_budget = record.counters[node_counter::OVER_BUDGET];
        row.stale = record.counters[node_counter::STALE];
        row.failed = record.counters[node_counter::FAILED];
    }

    fn topics(&self) -> Vec<TopicRow> {
        let mut topics: BTreeMap<&str, TopicPorts<'_>> = BTreeMap::new();
        let mut published = BTreeMap::new();
        for process in &self.now.graph.processes {
            for port in &process.publishers {
                let of = topics.entry(&port.topic).or_default();
                of.publishers.push((process.name, port));
                published.insert((process.name, port.port), port.counters[counter::MESSAGES]);
            }
            for port in &process.subscribers {
                let of = topics.entry(&port.topic).or_default();
                of.subscribers.push((process.name, port));
            }
        }
        for connection in self.now.graph.processes.iter().flat_map(|it| &it.connections) {
            let detail = &connection.detail;
            let waits = detail.carrier == Carrier::Ring && detail.triggering == Triggering::Yes;
            let from = published.get(&(detail.publisher_process, detail.publisher));
            if let (true, Some(from), Some(of)) =
                (waits, from, topics.get_mut(connection.topic.as_str()))
            {
                of.waiting = of.waiting.max(from.saturating_sub(connection.position));
            }
        }
        topics.into_iter().map(|(name, of)| self.topic(name, &of)).collect()
    }

    fn topic(&self, name: &str, of: &TopicPorts<'_>) -> TopicRow {
        let published =
            |index: usize| sum(of.publishers.iter().map(|(_, port)| port.counters[index]));
        let both = || of.publishers.iter().chain(&of.subscribers);
        let counted = |index: usize| sum(both().map(|(_, port)| port.counters[index]));
        let rate = |ports: &[(PeerName, &PortSnapshot)], value: &dyn Fn(&PortSnapshot) -> u64| {
            let rates = ports.iter().map(|(process, port)| self.port_rate(*process, port, value));
            rates.flatten().fold(None, |sum: Option<f64>, rate| Some(sum.unwrap_or(0.0) + rate))
        };
        let lost = |port: &PortSnapshot| lost_of(port).total();
        let lost_per_s = [&of.publishers, &of.subscribers].map(|ports| rate(ports, &lost));
        let types = both().map(|(_, port)| port.type_name.as_str());
        let age = |stamp_ns: u64| self.now.now_ns.saturating_sub(stamp_ns);
        let stamps = |ports: &[(PeerName, &PortSnapshot)]| -> Vec<u64> {
            let stamps = ports.iter().map(|(_, port)| port.counters[counter::NEWEST_NS]);
            stamps.filter(|stamp_ns| *stamp_ns > 0).collect()
        };
        TopicRow {
            topic: name.to_owned(),
            message_type: types.clone().find(|it| !it.is_empty()).unwrap_or("").to_owned(),
            publishers: of.publishers.len(),
            subscribers: of.subscribers.len(),
            rate_hz: rate(&of.publishers, &|port| port.counters[counter::MESSAGES]),
            bytes_per_s: rate(&of.publishers, &|port| port.counters[counter::BYTES]),
            age_ns: stamps(&of.publishers).into_iter().max().map(age),
            taken_age_ns: stamps(&of.subscribers).into_iter().min().map(age),
            waiting: of.waiting,
            lost_per_s: match lost_per_s {
                [None, None] => None,
                [a, b] => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
            },
            losses: both().fold(Losses::default(), |all, (_, port)| all.and(&lost_of(port))),
            messages: published(counter::MESSAGES),
            bytes: published(counter::BYTES),
            copies: counted(counter::COPIES),
            unheard: published(counter::LOST_UNMATCHED),
            skipped: counted(counter::SKIPPED),
        }
    }

    /// One row per measured span, from all processes that publish on its last topic.
    fn chains(&self) -> Vec<ChainRow> {
        let mut chains: BTreeMap<(&str, String), ChainSum> = BTreeMap::new();
        for process in &self.now.graph.processes {
            for record in of_kind(&process.others, kind::CHAIN) {
                let key = (record.name.as_str(), detail(record));
                let chain = chains.entry(key).or_insert_with(ChainSum::new);
                let count = |record: &EntitySnapshot| record.counters[chain_counter::MESSAGES];
                let before = self.earlier(process.name, record).map(count);
                if let Some(rate) = self.rate(count(record), before) {
                    chain.per_s = Some(chain.per_s.unwrap_or(0.0) + rate);
                }
                if let Some(counted) = self.counted(process.name, record) {
                    chain.times.merge(&counted);
                }
                let at = |index: usize| record.counters[index];
                chain.max_latency_ns = chain.max_latency_ns.max(at(chain_counter::MAX_LATENCY_NS));
                chain.late = chain.late.saturating_add(at(chain_counter::LATE));
                chain.stalled = chain.stalled.saturating_add(at(chain_counter::STALLED));
            }
        }
        let rows = chains.into_iter().map(|((name, ends), sum)| {
            let (from, to) = ends.split_once(' ').unwrap_or((&ends, ""));
            ChainRow {
                chain: name.to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
                per_s: sum.per_s,
                p50_ns: sum.times.quantile_ns(0.5),
                p99_ns: sum.times.quantile_ns(0.99),
                max_latency_ns: (sum.max_latency_ns != 0).then_some(sum.max_latency_ns),
                late: sum.late,
                stalled: sum.stalled,
            }
        });
        rows.collect()
    }
}

/// Ports of one topic.
#[derive(Default)]
struct TopicPorts<'a> {
    publishers: Vec<(PeerName, &'a PortSnapshot)>,
    subscribers: Vec<(PeerName, &'a PortSnapshot)>,
    waiting: u64,
}

impl Look {
    /// Rows of a reading, with rates against an earlier one.
    pub fn new(now: &Reading, before: Option<&Reading>) -> Self {
        let span = Span::new(now, before);
        let processes = &now.graph.processes;
        let executors = processes.iter().flat_map(|process| {
            of_kind(&process.others, kind::EXECUTOR).map(|it| span.executor(process, it))
        });
        Self {
            time_ns: now.now_ns,
            interval_s: span.seconds,
            processes: processes.iter().map(|process| span.process(process)).collect(),
            executors: executors.collect(),
            nodes: processes.iter().flat_map(|process| span.nodes(process)).collect(),
            topics: span.topics(),
            chains: span.chains(),
            unreachable: now.graph.unreachable.clone(),
        }
    }
}

/// What a port lost, by cause.
pub fn lost_of(port: &PortSnapshot) -> Losses {
    Losses {
        lapped: port.counters[counter::LOST_LAPPED],
        keep_last: port.counters[counter::LOST_KEEP_LAST],
        overwritten: port.counters[counter::LOST_OVERWRITTEN],
        expired: port.counters[counter::LOST_EXPIRED],
        timed_out: port.counters[counter::LOST_TIMEOUT],
        corrupt: port.counters[counter::LOST_CORRUPT],
        network: port.counters[counter::LOST_NETWORK],
        oversize: port.counters[counter::LOST_OVERSIZE],
        no_room: port.counters[counter::LOST_NO_ROOM],
        // Of that the run knows that has started the process again.
        restart: 0,
    }
}

/// Whether a node is left out of lists: its name, or one of its namespaces, begins with `_`, as in
/// ROS 2.
pub(crate) fn is_hidden_node(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('_'))
}

fn node_names(process: &ProcessSnapshot) -> BTreeSet<&str> {
    let records = of_kind(&process.others, kind::NODE).map(|record| record.name.as_str());
    let ports = process.publishers.iter().chain(&process.subscribers);
    let names = records.chain(ports.map(|port| port.node.as_str()));
    names.filter(|name| !is_hidden_node(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_comm::{GraphSnapshot, Maker, Qos};
    use std::time::{Duration, Instant};

    fn port(number: u64, count: u64) -> PortSnapshot {
        PortSnapshot {
            port: number,
            node: "n".to_owned(),
            topic: "/t".to_owned(),
            type_name: "std_msgs/msg/String".to_owned(),
            type_hash: [0; 32],
            qos: Qos::best_effort(1),
            gid: [0; 16],
            maker: Maker::Native,
            counters: [count; 24],
            index: 0,
            version: 0,
        }
    }

    /// A reading of one process with two publishers, `at` seconds after `start`.
    fn reading(start: Instant, at: u64, counts: [u64; 2]) -> Reading {
        let process = ProcessSnapshot {
            name: PeerName::from_bytes([1; 16]),
            process: "drive".to_owned(),
            pid: 0,
            nodes: Vec::new(),
            publishers: vec![port(1, counts[0]), port(2, counts[1])],
            subscribers: vec![port(3, counts[0])],
            clients: Vec::new(),
            servers: Vec::new(),
            members: Vec::new(),
            connections: Vec::new(),
            others: Vec::new(),
        };
        let graph = GraphSnapshot { processes: vec![process.into()], unreachable: Vec::new() };
        let at = start + Duration::from_secs(at);
        let (histograms, processors) = Default::default();
        Reading { at, now_ns: 1_000_000_000, graph, histograms, processors }
    }

    #[test]
    fn rates_are_of_the_time_between_two_looks() {
        let start = Instant::now();
        let (before, now) = (reading(start, 0, [100, 10]), reading(start, 2, [300, 10]));
        let look = Look::new(&now, Some(&before));
        let topic = &look.topics[0];
        assert_eq!((topic.rate_hz, topic.messages), (Some(100.0), 310));
        assert_eq!((topic.age_ns, topic.taken_age_ns), (Some(999_999_700), Some(999_999_700)));
        assert_eq!((look.interval_s, look.nodes.len()), (2.0, 1));
        let first = Look::new(&now, None);
        assert_eq!((first.topics[0].rate_hz, first.interval_s), (None, 0.0));
    }

    #[test]
    fn whatever_a_board_says_is_survived() {
        let start = Instant::now();
        let sane = reading(start, 0, [5, 7]);
        let absurd = reading(start, 1, [u64::MAX, u64::MAX]);
        for (before, now) in [(&sane, &absurd), (&absurd, &sane), (&absurd, &absurd)] {
            let look = Look::new(now, Some(before));
            let topic = &look.topics[0];
            // None: a count that goes down belongs to another port.
            assert!(topic.rate_hz.is_none_or(f64::is_finite), "{topic:?}");
            serde_json::to_string(&look).unwrap();
        }
        let topic = &Look::new(&absurd, None).topics[0];
        assert_eq!((topic.messages, topic.losses.total()), (u64::MAX, u64::MAX));
        assert_eq!(topic.age_ns, Some(0), "a stamp in the future");
    }
}
