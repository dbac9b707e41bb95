//! Lock step when processes of the loop die: who goes on, with which time, and how that is counted.

use std::time::Instant;

use crossdock_comm::Observer;
use crossdock_comm::status_records::{counter, kind};
use crossdock_executor::launch::{LaunchedProcess, ProcessEvent};
use crossdock_executor::status::node_counter;
use crossdock_graph::{Graph, Mapping, Plan};
use rustix::process::{Pid, Signal, kill_process};

use super::{PATIENCE, event, observer, spawn, start, stop};
use crate::support::{self, Folder, checked};

/// A loop in lock step, one process for each node.
struct Loop {
    plan: Plan,
    processes: Vec<LaunchedProcess>,
    observer: Observer,
    folder: Folder,
}

impl Loop {
    fn start(name: &str, nodes: &str) -> Self {
        let text = format!(
            "crossdock: 1
name: {name}
nodes:
  simulator: {{ package: probe, type: simulator, inputs: {{ command: /command }},
               outputs: {{ out: /image }}, lockstep: {{ timer: step, command: command }},
               parameters: {{ steps: 1000000 }} }}
{nodes}"
        );
        let graph = Graph::from_yaml(name, text.as_bytes()).expect("a graph");
        let plan = checked(&graph, &Mapping::one_process_per_node(&graph), support::SIMULATED);
        let folder = Folder::new(name);
        let processes = start(&plan, &folder);
        let observer = observer(&folder);
        assert_eq!(observer.status_tables().len(), processes.len());
        Self { plan, processes, observer, folder }
    }

    fn place(&self, process: &str) -> usize {
        self.plan.processes.iter().position(|it| it.name == process).expect("its process")
    }

    fn signal(&self, process: &str, signal: Signal) {
        let pid = self.processes[self.place(process)].id();
        let pid = Pid::from_raw(pid.cast_signed()).expect("a process id");
        kill_process(pid, signal).expect("a signal");
    }

    /// Kills a process that is there.
    fn kill(&mut self, process: &str) {
        self.signal(process, Signal::KILL);
        let place = self.place(process);
        // By itself: one that was killed before goes on saying that it has ended. What happens to
        // the others is seen when they are stopped.
        match event(&mut self.processes[place]) {
            ProcessEvent::Exited(status) => assert!(!status.success(), "{status}"),
            other => panic!("{other:?}"),
        }
    }

    /// Others take the places of processes that have ended; they have not begun.
    fn replace(&mut self, processes: &[&str]) {
        let places: Vec<usize> = processes.iter().map(|process| self.place(process)).collect();
        for &place in &places {
            self.processes[place] = spawn(self.folder.path());
            self.processes[place].launch(&self.plan.processes[place]).expect("sent");
        }
        // Each by itself: they become ready in any order.
        for &place in &places {
            assert_eq!(event(&mut self.processes[place]), ProcessEvent::Ready);
        }
    }

    /// What the node of a process counts in this life.
    fn count(&self, process: &str, index: usize) -> u64 {
        let pid = self.processes[self.place(process)].id();
        let tables = self.observer.status_tables();
        let table = tables.iter().find(|it| it.pid == pid).expect("its status table");
        let node = table.others.iter().find(|it| it.kind == kind::NODE).expect("its node");
        node.counters[index]
    }

    /// Messages that all lives have published on a topic.
    fn published(&self, topic: &str) -> u64 {
        let tables = self.observer.status_tables();
        let ports = tables.iter().flat_map(|it| &it.publishers).filter(|it| it.topic == topic);
        ports.map(|port| port.counters[counter::MESSAGES]).sum()
    }

    /// Lines in the log of a node.
    fn lines(&self, node: &str) -> usize {
        let path = self.folder.path().join(node).with_extension("log");
        if path.exists() { self.folder.read(node).lines().count() } else { 0 }
    }

    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE.expect("an end");
        while !is_so(self) {
            let published = ["/image", "/lane", "/command"].map(|topic| self.published(topic));
            assert!(Instant::now() < deadline, "{what} did not come about: {published:?}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_node_in_lock_step_goes_on_when_the_process_that_answers_has_died_and_is_back() {
    let mut graph = Loop::start(
        "lockstep",
        "  answer: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /command } }
",
    );
    graph.until("some steps", |graph| graph.lines("answer") >= 5);
    graph.kill("answer");
    graph.replace(&["answer"]);
    let (simulator, answer) = (graph.place("simulator"), graph.place("answer"));
    graph.processes[simulator].resume().expect("sent");
    graph.processes[answer].start().expect("sent");
    let before = graph.lines("answer");
    graph.until("more steps", |graph| graph.lines("answer") >= before + 5);
    assert_eq!(graph.count("simulator", node_counter::UNANSWERED), 1);
    stop(graph.processes);
}

/// The join is left with a message of the simulator that has died, and its counterpart is lost with
/// the process that held it. If time began anew, all messages of the next simulator would be older
/// than that one: the join would pass them over, and nobody would answer.
#[test]
fn a_simulator_that_takes_the_place_of_another_goes_on_behind_its_time() {
    let mut graph = Loop::start(
        "behind",
        "  slow: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /lane } }
  join: { package: probe, type: join, inputs: { a: /image, b: /lane }, outputs: { out: /command },
          condition: { all_of: [a, b], same: stamp } }
",
    );
    graph.until("some steps", |graph| graph.lines("join") >= 5);
    graph.signal("slow", Signal::STOP);
    let stat = format!("/proc/{}/stat", graph.processes[graph.place("slow")].id());
    let is_stopped = || {
        let text = std::fs::read_to_string(&stat).expect("a process");
        text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    graph.until("it stands still", |_| is_stopped());
    // The last message of the simulator is one that `slow` does not answer.
    graph.until("the loop stands still", |graph| {
        let [image, lane, command] = ["/image", "/lane", "/command"].map(|it| graph.published(it));
        command >= lane && image > command
    });
    graph.kill("slow");
    graph.kill("simulator");
    let made_ns = graph.count("simulator", node_counter::MADE_NS);
    assert!(made_ns >= graph.published("/image") * 1_000_000_000, "{made_ns}");
    graph.replace(&["slow", "simulator"]);
    let (simulator, slow) = (graph.place("simulator"), graph.place("slow"));
    let before = graph.lines("join");
    graph.processes[slow].start().expect("sent");
    graph.processes[simulator].start_behind(made_ns).expect("sent");
    graph.until("more steps", |graph| graph.lines("join") >= before + 5);
    let log = graph.folder.read("simulator");
    let seconds = log.lines().map(|line| {
        let second = line.strip_prefix("simulator:").and_then(|rest| rest.split(' ').next());
        second.and_then(|second| second.parse::<u64>().ok()).expect("a time")
    });
    assert!(seconds.is_sorted_by(|one, next| one < next), "time only rises: {log}");
    stop(graph.processes);
}
