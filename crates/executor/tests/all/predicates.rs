//! Predicates that panic: the report names the node that was asked, whichever ran last, and what
//! follows is what the graph says of that node.

use crate::support;
use crossdock_comm::Subscriber;
use crossdock_executor::{
    Context, Executor, Node, NodeDescription, NodeError, NodeType, Package, Remote, RunEnd, Setup,
};
use crossdock_graph::{Graph, Mapping, OnFailure, Time};
use crossdock_msg::types::geometry_msgs::PointStamped;
use support::{Process, checked_with, log, nodes, take_log};

/// Runs at each message for which its predicate holds, which panics at the third.
struct Moody {
    input: Subscriber<PointStamped>,
}

impl NodeType for Moody {
    const NAME: &'static str = "moody";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .timer_of_graph("tick")
            .predicate("calm", "What waits is not the third.")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")? })
    }
}

impl Node for Moody {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let x = self.input.take()?.map(|sample| sample.message().point().x());
        log(format!("{}:{x:?}", context.node()));
        Ok(())
    }

    fn holds(&self, _: &str) -> Result<bool, NodeError> {
        let first = self.input.waiting().first().map(|message| message.point().x());
        assert_ne!(first, Some(3.0), "cannot stand threes");
        Ok(true)
    }
}

/// Its timer asks a predicate that panics.
struct Sleeper;

impl NodeType for Sleeper {
    const NAME: &'static str = "sleeper";

    fn description() -> NodeDescription {
        NodeDescription::new().timer_of_graph("tick").predicate("awake", "Never asked in vain.")
    }

    fn create(_: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self)
    }
}

impl Node for Sleeper {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        Err(NodeError::new("it does not execute"))
    }

    fn holds(&self, _: &str) -> Result<bool, NodeError> {
        panic!("not before noon")
    }
}

/// Does not answer the predicate that it declares.
struct Mute;

impl NodeType for Mute {
    const NAME: &'static str = "mute";

    fn description() -> NodeDescription {
        NodeDescription::new().timer_of_graph("tick").predicate("heard", "Nobody knows.")
    }

    fn create(_: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self)
    }
}

impl Node for Mute {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        context.finish("it executes");
        Ok(())
    }
}

fn package() -> Package {
    nodes::package().node::<Moody>().node::<Sleeper>().node::<Mute>()
}

/// A source, a node with a predicate, and one that runs before it for the same messages.
fn process(test: &str, mode: &str, policy: &str) -> Process {
    take_log();
    let graph = format!(
        "crossdock: 1
name: {test}
nodes:
  source: {{ package: probe, type: source, outputs: {{ out: /a }}, parameters: {{ count: 6 }} }}
  other: {{ package: probe, type: relay, inputs: {{ in: /a }} }}
  moody: {{ package: probe, type: moody, inputs: {{ in: /a }}, timers: {{ tick: {{ period_ms: 3600000 }} }},
           condition: {{ any_of: [in], predicate: calm }}, on_failure: {policy} }}
"
    );
    let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
    let restart = if policy == "restart_process" { "restart: { when: on_failure }," } else { "" };
    let mapping = format!(
        "crossdock: 1
processes:
  main: {{ {restart} executors: [ {{ mode: {mode}, nodes: [source, other, moody] }} ] }}
"
    );
    let mapping = Mapping::from_yaml("test.mapping.yaml", mapping.as_bytes()).expect("a mapping");
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    Process::with_package(test, plan, package())
}

fn executor(process: &Process) -> Executor {
    process.executor(0, &Remote::new()).expect("an executor")
}

const MODES: [&str; 2] = ["chain", "event"];

#[test]
fn a_predicate_that_panics_ends_the_run_in_the_name_of_its_node() {
    for mode in MODES {
        for (policy, expected) in
            [("stop_run", OnFailure::StopRun), ("restart_process", OnFailure::RestartProcess)]
        {
            let process = process(&format!("panics_{mode}_{policy}"), mode, policy);
            let mut executor = executor(&process);
            let error = executor.run().expect_err("a failure");
            assert_eq!(error.node, "moody", "{mode}: {error}");
            let words = ["it panicked", "when asked for predicate `calm`", "cannot stand threes"];
            assert!(words.iter().all(|word| error.error.contains(word)), "{error}");
            assert_eq!(executor.on_failure(&error), expected);
        }
    }
}

#[test]
fn a_node_whose_predicate_panics_is_taken_out_and_all_others_go_on() {
    for mode in MODES {
        let process = process(&format!("dropped_{mode}"), mode, "drop_node");
        let mut executor = executor(&process);
        match executor.run() {
            Ok(RunEnd::NodeDropped(error)) => assert_eq!(error.node, "moody", "{mode}: {error}"),
            other => panic!("{mode}: {other:?}"),
        }
        assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })), "{mode}");
        let log = take_log();
        let of = |node: &str| log.iter().filter(|line| line.starts_with(node)).count();
        assert_eq!((of("other:"), of("moody:")), (6, 2), "{mode}: {log:?}");
    }
}

#[test]
fn a_predicate_that_panics_when_a_timer_asks_is_that_of_its_node() {
    for mode in MODES {
        take_log();
        let graph = "crossdock: 1
name: timers
nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 60 } }
  other: { package: probe, type: relay, inputs: { in: /a } }
  sleeper: { package: probe, type: sleeper, timers: { tick: { period_ms: 20 } },
             condition: { predicate: awake }, on_failure: drop_node }
";
        let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
        let mapping = format!(
            "crossdock: 1
processes: {{ main: {{ executors: [ {{ mode: {mode}, nodes: [source, other, sleeper] }} ] }} }}
"
        );
        let mapping = Mapping::from_yaml("test.mapping.yaml", mapping.as_bytes()).expect("legal");
        let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
        let process = Process::with_package(&format!("timers_{mode}"), plan, package());
        let mut executor = executor(&process);
        match executor.run() {
            Ok(RunEnd::NodeDropped(error)) => {
                assert_eq!(error.node, "sleeper", "{mode}: {error}");
                let words = ["timer `tick`", "predicate `awake`", "not before noon"];
                assert!(words.iter().all(|word| error.error.contains(word)), "{error}");
            }
            other => panic!("{mode}: {other:?}"),
        }
        assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })), "{mode}");
        assert_eq!(take_log().len(), 60, "{mode}");
    }
}

#[test]
fn a_predicate_that_its_node_does_not_answer_ends_the_run() {
    let graph = b"crossdock: 1
name: mute
nodes:
  mute: { package: probe, type: mute, timers: { tick: { period_ms: 1 } },
          condition: { predicate: heard } }
";
    let graph = Graph::from_yaml("test.graph.yaml", graph).expect("a graph");
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let process = Process::with_package("mute", plan, package());
    let error = executor(&process).run().expect_err("nobody answers");
    assert_eq!(error.node, "mute");
    let sentence = "predicate `heard` is declared and not answered in `holds`";
    assert!(error.error.ends_with(sentence), "{error}");
}
