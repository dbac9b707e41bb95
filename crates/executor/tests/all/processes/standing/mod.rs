//! Graphs in which one process stands still, or dies and is started again, in the middle.

use std::time::{Duration, Instant};

use crossdock_comm::{Participant, ParticipantOptions, Qos, Rendezvous, SubscriberOptions};
use crossdock_executor::launch::{LaunchedProcess, ProcessEvent};
use crossdock_graph::{Graph, Mapping, Plan, Time};
use crossdock_msg::types::geometry_msgs::PointStamped;
use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, event_of, spawn, start};
use crate::support::{Folder, checked};

/// A graph in processes of their own, which are killed when the test fails.
struct Graphed {
    plan: Plan,
    folder: Folder,
    processes: Vec<LaunchedProcess>,
}

impl Graphed {
    fn start(test: &str, nodes: &str) -> Self {
        let text = format!("crossdock: 1\nname: {test}\n{nodes}");
        let graph = Graph::from_yaml(test, text.as_bytes()).expect("a graph");
        let plan = checked(&graph, &Mapping::one_process_per_node(&graph), Time::Wall);
        let folder = Folder::new(test);
        let processes = start(&plan, &folder);
        Self { plan, folder, processes }
    }

    fn place(&self, process: &str) -> usize {
        self.plan.processes.iter().position(|it| it.name == process).expect("its process")
    }

    fn signal(&self, process: &str, signal: Signal) {
        let id = self.processes[self.place(process)].id();
        let pid = Pid::from_raw(id as i32).expect("a process id");
        kill_process(pid, signal).expect("a signal");
        let stat = format!("/proc/{id}/stat");
        let stands = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "));
        while signal == Signal::STOP && !stands() {
            std::thread::yield_now();
        }
    }

    /// Lines that a node has written, without its name.
    fn lines(&self, node: &str) -> Vec<String> {
        let path = self.folder.path().join(node).with_extension("log");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // The last one may not be whole yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let prefix = format!("{node}:");
        whole.lines().map(|line| line.strip_prefix(&prefix).unwrap_or(line).to_owned()).collect()
    }

    /// Waits until a node has written so many lines more than now.
    fn goes_on(&self, node: &str, lines: usize) {
        self.comes_to(node, self.lines(node).len() + lines);
    }

    fn comes_to(&self, node: &str, lines: usize) {
        let comes = self.waits_until(node, |written| written.len() >= lines);
        assert!(comes, "{node} does not come to {lines} lines");
    }

    /// Waits for what a node has written; false if it does not come.
    fn waits_until(&self, node: &str, is_met: impl Fn(&[String]) -> bool) -> bool {
        let end = Instant::now() + PATIENCE.expect("an end");
        while !is_met(&self.lines(node)) {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn stop(self) {
        super::stop(self.processes);
    }
}

/// Numbers of lines that each are one number.
fn numbers(lines: &[String]) -> Vec<f64> {
    lines.iter().map(|line| line.parse().expect("a number")).collect()
}

fn in_order(numbers: &[f64]) -> bool {
    numbers.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
}

#[test]
fn a_stopped_process_costs_who_waits_for_it_a_named_error_and_catches_up_when_it_goes_on() {
    let mut graph = Graphed::start(
        "stopped",
        "topics:
  /waits: { qos: { reliability: reliable, timeout_ms: 1000, depth: 4 } }
  /steady: { qos: { reliability: best_effort, depth: 4 } }
nodes:
  patient: { package: probe, type: source, outputs: { out: /waits }, on_failure: drop_node,
             parameters: { count: 100000000 } }
  steady: { package: probe, type: source, outputs: { out: /steady },
            parameters: { count: 100000000 } }
  stands: { package: probe, type: relay, inputs: { in: /waits } }
  goes: { package: probe, type: relay, inputs: { in: /steady } }
  middle: { package: probe, type: relay, inputs: { in: /steady }, outputs: { out: /after } }
  last: { package: probe, type: relay, inputs: { in: /after } }
",
    );
    for node in ["stands", "goes", "last"] {
        graph.comes_to(node, 5);
    }
    for process in ["stands", "middle"] {
        graph.signal(process, Signal::STOP);
    }
    // The one that is bound to wait says for whom it has waited; its process goes on.
    let patient = graph.place("patient");
    match event_of(&mut graph.processes, patient) {
        ProcessEvent::NodeDropped { node, error } => {
            assert_eq!(node, "patient");
            let parts =
                ["reliable subscriber", "stands in process `stands`", "did not move within"];
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // Others do not wait, those that have nothing to do with it lose nothing.
    graph.goes_on("goes", 50);
    let seen = graph.lines("middle").len();
    let passed: f64 = *numbers(&graph.lines("goes")).last().expect("lines");
    for process in ["stands", "middle"] {
        graph.signal(process, Signal::CONT);
    }
    // It catches up with what was kept for it, and is back.
    graph.goes_on("last", 20);
    let stands = numbers(&graph.lines("stands"));
    assert!(in_order(&stands) && stands[0] == 1.0, "reliable: none is missing, {stands:?}");
    let middle = numbers(&graph.lines("middle"));
    assert!(middle.len() > seen && middle.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(middle.last() > Some(&passed), "what it sees is new");
    assert_eq!(
        numbers(&graph.lines("last")),
        middle[..graph.lines("last").len().min(middle.len())]
    );
    graph.stop();
}

#[test]
fn a_process_in_the_middle_that_is_killed_begins_anew_with_what_topics_keep_for_it() {
    let mut graph = Graphed::start(
        "middle",
        "topics:
  /base: { qos: { durability: transient_local, depth: 1 } }
  /count: { qos: { durability: transient_local, depth: 4 } }
nodes:
  base: { package: probe, type: source, outputs: { out: /base }, parameters: { finish: false } }
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 100000000 } }
  middle: { package: probe, type: counter, inputs: { in: /a, base: /base },
            outputs: { out: /count } }
  sink: { package: probe, type: relay, inputs: { in: /count } }
",
    );
    graph.comes_to("sink", 20);
    // What was published once on the other topic is there, however late that process has come.
    let ends = |line: &String| line.ends_with(" after Some(1.0)");
    assert!(graph.waits_until("middle", |lines| lines.last().is_some_and(ends)), "no base");
    let place = graph.place("middle");
    graph.signal("middle", Signal::KILL);
    match event_of(&mut graph.processes, place) {
        ProcessEvent::Exited(status) => assert!(!status.success(), "{status}"),
        other => panic!("{other:?}"),
    }
    // Everything that it had published arrives, nothing else.
    let first_life = graph.lines("middle");
    graph.processes[place] = spawn(graph.folder.path());
    let plan = graph.plan.processes[place].clone();
    graph.processes[place].launch(&plan).expect("sent");
    assert_eq!(event_of(&mut graph.processes, place), ProcessEvent::Ready);
    graph.processes[place].start().expect("sent");
    graph.comes_to("middle", first_life.len() + 20);
    // Who comes late gets what the process in its second life keeps.
    let mut options = ParticipantOptions::new(0, "late");
    options.rendezvous = Rendezvous::Folder(graph.folder.path().join("crossdock"));
    let late = Participant::open(options).expect("a participant");
    graph.signal("source", Signal::STOP);
    let qos = Qos { durability: crossdock_comm::Durability::TransientLocal, ..Qos::best_effort(4) };
    let (node, topic) = ("late", "/count");
    let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
    let input = late.subscriber::<PointStamped>(options).expect("a subscriber");
    assert!(late.wait_until(PATIENCE.expect("an end"), || input.matched() == 1));
    let kept = input.take().expect("a message").expect("history").message().point().x();
    graph.signal("source", Signal::CONT);
    graph.goes_on("sink", 5);
    graph.signal("source", Signal::STOP);
    // Nothing new comes: what is there is compared when it stands still and the last is delivered,
    // for which a busy computer may take its time.
    let whole = || (graph.lines("middle"), graph.lines("sink"));
    let is_through = |(middle, sink): &(Vec<String>, Vec<String>)| {
        numbers(sink).last() == Some(&((middle.len() - first_life.len()) as f64))
    };
    let end = Instant::now() + PATIENCE.expect("an end");
    let mut last = whole();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let now = whole();
        if now == last && (is_through(&now) || Instant::now() >= end) {
            break;
        }
        last = now;
    }
    let (middle, sink) = last;
    let second_life = &middle[first_life.len()..];
    assert!(kept >= 1.0 && kept <= second_life.len() as f64, "{kept}");
    // Anew: its count begins at 1. What it reads of a topic that keeps it is there at once, though
    // it was published once, before it died.
    let after = second_life.iter().enumerate().map(|(number, line)| {
        let end = format!(" is number {} after Some(1.0)", number + 1);
        let taken = line.strip_suffix(&end).and_then(|taken| taken.parse().ok());
        taken.unwrap_or_else(|| panic!("{line}: a number and {end:?} are wanted"))
    });
    let after: Vec<f64> = after.collect();
    // Delivered and lost, exactly: in each life one after the other; between them what was
    // published for it while it was away, or what it had taken and not finished.
    let taken = first_life.iter().map(|line| line.split(' ').next().expect("a number").to_owned());
    let before = numbers(&taken.collect::<Vec<_>>());
    assert!(in_order(&before) && before[0] == 1.0, "{before:?}");
    assert!(in_order(&after) && after[0] > before[before.len() - 1], "{after:?}");
    let counted = numbers(&sink);
    let delivered =
        counted.iter().skip(1).position(|count| *count == 1.0).expect("a second life") + 1;
    // The last that it wrote down in its first life may not have been published.
    assert!(delivered == first_life.len() || delivered + 1 == first_life.len(), "{delivered}");
    let (one, two) = counted.split_at(delivered);
    assert!(in_order(one) && one[0] == 1.0 && in_order(two), "{counted:?}");
    assert_eq!(two.len(), second_life.len(), "all of its second life is delivered");
    graph.signal("source", Signal::CONT);
    graph.stop();
}
