//! `crossdock node`: nodes of running graphs, seen without disturbing them.
//! It must not subscribe to anything; everything but the level of logs is on the status tables.

use crate::arguments::{NodeCommand, WatchArguments};
use crate::output;
use crate::output::{clean, near_name, say};
use crate::run::{log, observer_options};
use crate::table::{Align, Table};
use crate::topic::{port_json, qos};
use anyhow::{Result, bail};
use crossdock_comm::status_records::{NodeDetail, counter, kind};
use crossdock_comm::{
    EntitySnapshot, GraphSnapshot, Observer, PortKind, PortSnapshot, ProcessSnapshot, names,
};
use crossdock_executor::LogLevel;
use crossdock_executor::status::{executor_counter, node_counter, timer_counter};
use crossdock_sight::{
    NodeRow, Reading, Sight, bytes, detail, duration, executor_of, lost_of, node_detail, of_kind,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Runs one of the node commands.
pub(crate) fn node(command: &NodeCommand) -> Result<ExitCode> {
    match command {
        NodeCommand::List { count_nodes, watch } => list(*count_nodes, watch)?,
        NodeCommand::Info { node, watch } => info(node, watch)?,
        NodeCommand::LogLevel { node, level, watch } => log_level(node, *level, watch)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(count_only: bool, watch: &WatchArguments) -> Result<()> {
    let mut sight = Sight::open(watch.domain_id, "crossdock node")?;
    let look = sight.look()?;
    output::warn(&look.unreachable);
    output::must_be_seen(look.processes.len(), &look.unreachable, watch.domain_id)?;
    if count_only {
        return output::print(&format!("{}\n", look.nodes.len()));
    }
    let mut nodes: Vec<&NodeRow> = look.nodes.iter().collect();
    nodes.sort_by(|a, b| (&a.node, a.pid).cmp(&(&b.node, b.pid)));
    if watch.json {
        return output::print_json(&nodes);
    }
    if nodes.is_empty() {
        say!("{}", output::nothing_runs(watch.domain_id));
    }
    let mut table = Table::new(&[
        ("node", Align::Left),
        ("type", Align::Left),
        ("process", Align::Left),
        ("pid", Align::Right),
        ("executor", Align::Left),
        ("executions", Align::Right),
    ]);
    for row in nodes {
        table.row([
            row.node.clone(),
            row.node_type.clone(),
            row.process.clone(),
            row.pid.to_string(),
            row.executor.clone().unwrap_or_else(|| "-".to_owned()),
            row.executions.map_or_else(|| "-".to_owned(), |count| count.to_string()),
        ]);
    }
    output::print(&table.text())
}

/// Everything that is known of the nodes of one name.
fn info(name: &str, watch: &WatchArguments) -> Result<()> {
    let reading = Sight::open(watch.domain_id, "crossdock node")?.read()?;
    output::warn(&reading.graph.unreachable);
    let found = find(&reading.graph, name, watch)?;
    if watch.json {
        let all: Vec<Value> = found.iter().map(|it| it.json(&reading)).collect();
        return output::print_json(&all);
    }
    let texts: Vec<String> = found.iter().map(|it| it.text(&reading)).collect();
    output::print(&texts.join("\n"))
}

/// The nodes of one name; at least one.
fn find<'a>(
    graph: &'a GraphSnapshot,
    name: &'a str,
    watch: &WatchArguments,
) -> Result<Vec<Found<'a>>> {
    // As `ros2` writes it; nodes of a graph file have no slash.
    let plain = name.strip_prefix('/').unwrap_or(name);
    let processes = || graph.processes.iter().map(|process| &**process);
    let of = |process| [name, plain].into_iter().find_map(|name| Found::of(process, name));
    let found: Vec<Found<'_>> = processes().filter_map(of).collect();
    if found.is_empty() {
        output::must_be_seen(graph.processes.len(), &graph.unreachable, watch.domain_id)?;
        bail!(
            "no node `{}` is running in domain {}; {}`crossdock node list` shows those that are, \
             --domain-id looks elsewhere",
            clean(name),
            watch.domain_id,
            clean(&near_name(plain, processes().flat_map(Found::names)))
        );
    }
    Ok(found)
}

/// Prints the level of a node's log, after it was set if one is wanted.
fn log_level(name: &str, wanted: Option<LogLevel>, watch: &WatchArguments) -> Result<()> {
    let mut observer = Observer::open(observer_options(watch.domain_id, "crossdock node"))?;
    let graph = observer.snapshot()?;
    output::warn(&graph.unreachable);
    let found = find(&graph, name, watch)?;
    let ports = found.iter().flat_map(|node| node.publishers.iter().map(move |it| (node, it)));
    // One that nodes share, as those of ROS 2 do, has no level.
    let is_own = |node: &Found<'_>, port: &PortSnapshot| {
        node.process.publishers.iter().any(|own| own.gid == port.gid)
    };
    let loggers = ports.filter(|(node, port)| port.topic == log::TOPIC && is_own(node, port));
    let loggers: Vec<_> = loggers.collect();
    if loggers.is_empty() {
        bail!(
            "node `{}` has no logger, so it logs nothing: call `Setup::logger` in its `create`",
            clean(name)
        );
    }
    for (node, port) in loggers {
        let level = observer.level(node.process.name, port, wanted.map(LogLevel::number))?;
        let level = LogLevel::of_number(level.get()).name();
        match watch.json {
            true => {
                output::print(&output::json_line(&json!({ "node": node.name, "level": level }))?)?
            }
            false => output::print(&format!("{}: {level}\n", clean(node.name)))?,
        }
    }
    Ok(())
}

/// A node of one process.
struct Found<'a> {
    name: &'a str,
    process: &'a ProcessSnapshot,
    /// What its executor tells of it; a node without an executor has only ports.
    record: Option<&'a EntitySnapshot>,
    publishers: Vec<&'a PortSnapshot>,
    subscribers: Vec<&'a PortSnapshot>,
    clients: Vec<&'a PortSnapshot>,
    servers: Vec<&'a PortSnapshot>,
}

impl<'a> Found<'a> {
    /// The nodes of a process, by what its executors tell.
    fn names(process: &ProcessSnapshot) -> impl Iterator<Item = &str> {
        of_kind(&process.others, kind::NODE).map(|it| it.name.as_str())
    }

    fn of(process: &'a ProcessSnapshot, name: &'a str) -> Option<Self> {
        let record = of_kind(&process.others, kind::NODE).find(|it| it.name == name);
        let ports = |kind| -> Vec<&'a PortSnapshot> {
            process.ends(kind).filter(|port| port.node == name).collect()
        };
        let (publishers, subscribers) = (ports(PortKind::Publisher), ports(PortKind::Subscriber));
        let (clients, servers) = (ports(PortKind::Client), ports(PortKind::Server));
        let all = [&publishers, &subscribers, &clients, &servers];
        let is_there = record.is_some() || all.iter().any(|ports| !ports.is_empty());
        is_there.then_some(Self {
            name,
            process,
            record,
            publishers,
            subscribers,
            clients,
            servers,
        })
    }

    fn detail(&self) -> NodeDetail {
        let of_ports = || {
            let maker = self.publishers.iter().chain(&self.subscribers).map(|port| port.maker);
            let maker = maker.chain(self.servers.iter().chain(&self.clients).map(|it| it.maker));
            NodeDetail {
                maker: { maker }.next().unwrap_or_default(),
                ..NodeDetail::native(String::new())
            }
        };
        self.record.map_or_else(of_ports, node_detail)
    }

    fn count(&self, index: usize) -> u64 {
        self.record.map_or(0, |record| record.counters[index])
    }

    fn executor(&self) -> Option<&'a EntitySnapshot> {
        executor_of(&self.process.others, self.count(node_counter::THREAD))
    }

    /// Its timers: name and period in ns.
    fn timers(&self) -> Vec<(String, u64)> {
        let timers = of_kind(&self.process.others, kind::TIMER);
        let own = timers.filter(|timer| timer.name == self.name);
        own.map(|timer| (detail(timer), timer.counters[timer_counter::PERIOD_NS])).collect()
    }

    fn times(&self, reading: &Reading) -> Vec<(&'static str, u64)> {
        let histogram = self.record.and_then(|it| reading.histogram(self.process.name, it));
        let Some(times) = histogram else { return Vec::new() };
        let mean = times.mean_ns().map(|ns| ns as u64);
        let all = [
            ("mean", mean),
            ("p50", times.quantile_ns(0.5)),
            ("p99", times.quantile_ns(0.99)),
            ("max", mean.map(|_| times.max_ns)),
        ];
        all.into_iter().filter_map(|(name, ns)| Some((name, ns?))).collect()
    }

    fn json(&self, reading: &Reading) -> Value {
        let process = self.process;
        let ports = |ports: &[&PortSnapshot]| -> Vec<Value> {
            ports.iter().map(|port| port_json(&process.process, port)).collect()
        };
        let services = |ports: &[&PortSnapshot]| -> Vec<Value> {
            ports.iter().map(|it| json!({ "service": it.topic, "type": it.type_name })).collect()
        };
        let executor = self.executor().map(|it| {
            let thread = it.counters[executor_counter::THREAD];
            json!({ "name": it.name, "mode": detail(it), "thread": thread })
        });
        let timers = self.timers().into_iter();
        let timers: Vec<Value> = timers
            .map(|(name, period_ns)| json!({ "timer": name, "period_ns": period_ns }))
            .collect();
        let times: serde_json::Map<String, Value> = self
            .times(reading)
            .into_iter()
            .map(|(name, ns)| (format!("{name}_ns"), Value::from(ns)))
            .collect();
        json!({
            "node": self.name,
            "namespace": names::split_node_name(self.name).0,
            "enclave": self.detail().enclave,
            "maker": self.detail().maker.to_string(),
            "type": self.record.map(|_| self.detail().node_type),
            "process": process.process,
            "pid": process.pid,
            "stopped": reading.processor(process.pid).is_some_and(|it| it.is_stopped),
            "executor": executor,
            "executions": self.record.map(|it| it.counters[node_counter::EXECUTIONS]),
            "execution_times": times,
            "timer_skipped": self.count(node_counter::TIMER_SKIPPED),
            "unmatched": self.count(node_counter::UNMATCHED),
            "not_taken": self.count(node_counter::NOT_TAKEN),
            "held_back": self.count(node_counter::HELD_BACK),
            "unanswered": self.count(node_counter::UNANSWERED),
            "over_budget": self.count(node_counter::OVER_BUDGET),
            "stale": self.count(node_counter::STALE),
            "failed": self.count(node_counter::FAILED),
            "timers": timers,
            "publishers": ports(&self.publishers),
            "subscribers": ports(&self.subscribers),
            "servers": services(&self.servers),
            "clients": services(&self.clients),
        })
    }

    fn text(&self, reading: &Reading) -> String {
        let process = self.process;
        let mut text = format!("{}\n", clean(self.name));
        let mut line = |name: &str, value: String| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {name}: {}", clean(&value));
        };
        let stopped = reading.processor(process.pid).is_some_and(|it| it.is_stopped);
        let stopped = if stopped { ", stopped" } else { "" };
        let NodeDetail { node_type, enclave, maker } = self.detail();
        let seldom = [
            ("Type", node_type, ""),
            ("Enclave", enclave, "/"),
            ("Made by", maker.to_string(), "native"),
        ];
        for (what, value, _) in seldom.into_iter().filter(|(_, value, usual)| value != usual) {
            line(what, value);
        }
        line("Process", format!("{} (pid {}{stopped})", process.process, process.pid));
        if let Some(it) = self.executor() {
            let thread = it.counters[executor_counter::THREAD];
            line("Executor", format!("{}, {} mode, thread {thread}", it.name, detail(it)));
        }
        // A node that no executor runs does not count.
        if self.count(node_counter::THREAD) != 0 {
            let times = self.times(reading).into_iter();
            let times = times.map(|(name, ns)| format!(", {name} {}", duration(ns)));
            let times: String = times.collect();
            line("Executions", format!("{}{times}", self.count(node_counter::EXECUTIONS)));
            let others = [
                ("timer times passed over", node_counter::TIMER_SKIPPED),
                ("unmatched", node_counter::UNMATCHED),
                ("not taken", node_counter::NOT_TAKEN),
                ("held back", node_counter::HELD_BACK),
                ("unanswered", node_counter::UNANSWERED),
                ("over budget", node_counter::OVER_BUDGET),
                ("stale input", node_counter::STALE),
                ("failed", node_counter::FAILED),
            ];
            let others = others.map(|(what, index)| format!("{what} {}", self.count(index)));
            line("Counters", others.join(", "));
        }
        text.push_str("  Subscribers:\n");
        self.subscribers.iter().for_each(|port| port_text(process, port, "taken", &mut text));
        text.push_str("  Publishers:\n");
        self.publishers.iter().for_each(|port| port_text(process, port, "published", &mut text));
        for (what, ports) in
            [("Service Servers", &self.servers), ("Service Clients", &self.clients)]
        {
            let _ = writeln!(text, "  {what}:");
            for port in ports {
                let (service, type_name) = (clean(&port.topic), clean(&port.type_name));
                let _ = writeln!(text, "    {service}: {type_name}");
            }
        }
        text.push_str("  Timers:\n");
        for (name, period_ns) in self.timers() {
            let _ = writeln!(text, "    {}: {}", clean(&name), duration(period_ns));
        }
        text
    }
}

fn port_text(process: &ProcessSnapshot, port: &PortSnapshot, what: &str, text: &mut String) {
    let (topic, type_name) = (clean(&port.topic), clean(&port.type_name));
    let _ = write!(text, "    {topic}: {type_name}\n      {}; ", qos(&port.qos));
    if process.members.iter().any(|member| member.port.gid == port.gid) {
        text.push_str("nodes of the process share what carries its messages\n");
        return;
    }
    let messages = port.counters[counter::MESSAGES];
    let size = bytes(port.counters[counter::BYTES]);
    let losses = lost_of(port);
    let lost = match losses.total() {
        0 => "0".to_owned(),
        total => format!("{total} ({})", losses.causes()),
    };
    let copies = port.counters[counter::COPIES];
    let _ = writeln!(text, "{what} {messages} ({size}), copies {copies}, lost {lost}");
}
