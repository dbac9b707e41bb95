//! Starting and stopping executors: stops while busy and asleep, threads of one process, what is
//! wrong before the start.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crossdock_executor::{
    Context, Interface, Node, NodeError, NodeType, Package, Publisher, Remote, RunEnd, Setup,
};
use crossdock_graph::{Graph, Mapping, Time};
use crossdock_msg::types::geometry_msgs::PointStamped;
use support::{Process, checked_with, nodes, run};

static BUSY: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicBool = AtomicBool::new(false);
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

/// Is busy in its first execution until the test lets it go.
struct Busy;

impl NodeType for Busy {
    const NAME: &'static str = "busy";

    fn interface() -> Interface {
        Interface::new().timer("step", Duration::from_millis(1))
    }

    fn create(_: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self)
    }
}

impl Node for Busy {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        EXECUTIONS.fetch_add(1, Ordering::SeqCst);
        BUSY.store(true, Ordering::SeqCst);
        while !RELEASED.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// Opens its port wrongly, in as many ways as `mistake` can say.
struct Sloppy;

impl NodeType for Sloppy {
    const NAME: &'static str = "sloppy";

    fn interface() -> Interface {
        Interface::new().output::<PointStamped>("out").parameter("mistake", "none", "which")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let mistake: String = setup.parameter("mistake")?;
        match mistake.as_str() {
            "unopened" => return Ok(Self),
            "unknown port" => drop(setup.publisher::<PointStamped>("outt")?),
            "type" => drop(setup.publisher::<crossdock_msg::types::std_msgs::Bool>("out")?),
            "unknown parameter" => drop(setup.parameter::<bool>("mistakes")?),
            "parameter type" => drop(setup.parameter::<u8>("mistake")?),
            "panic" => panic!("lost for words"),
            _ => {}
        }
        let _once: Publisher<PointStamped> = setup.publisher("out")?;
        let _twice: Publisher<PointStamped> = setup.publisher("out")?;
        Ok(Self)
    }
}

impl Node for Sloppy {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        Ok(())
    }
}

fn package() -> Package {
    Package::new("special").node::<Busy>().node::<Sloppy>().with(nodes::package())
}

fn process(test: &str, graph: &str, mapping: Option<&str>) -> Process {
    let graph = format!("crossdock: 1\nname: {test}\n{graph}");
    let graph = Graph::from_yaml(test, graph.as_bytes()).expect("a graph");
    let mapping = match mapping {
        Some(text) => Mapping::from_yaml(test, text.as_bytes()).expect("a mapping"),
        None => Mapping::one_chain_per_package(&graph),
    };
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    Process::with_package(test, plan, package())
}

#[test]
fn a_stop_waits_for_the_execution_under_way_and_for_no_other() {
    let process = process("busy", "nodes: { busy: { package: special, type: busy } }\n", None);
    let remote = Remote::new();
    std::thread::scope(|scope| {
        let runner = scope.spawn(|| process.executor(0, &remote).expect("made").run());
        while !BUSY.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        assert_eq!(remote.node().as_deref(), Some("busy"));
        remote.stop();
        RELEASED.store(true, Ordering::SeqCst);
        assert_eq!(runner.join().expect("no panic"), Ok(RunEnd::Stopped));
    });
    assert_eq!(EXECUTIONS.load(Ordering::SeqCst), 1);
}

/// Runs an executor that has nothing to do until it is stopped, with stops at many moments.
fn stop_asleep(test: &str, spin_us: u32) {
    let graph = "nodes:
  idle: { package: probe, type: relay, inputs: { in: /a } }
topics: { /a: { external: true } }
";
    let executor = format!("{{ mode: chain, nodes: [idle], spin_us: {spin_us} }}");
    let mapping = format!("crossdock: 1\nprocesses: {{ main: {{ executors: [{executor}] }} }}\n");
    let process = process(test, graph, Some(&mapping));
    for round in 0..200_u64 {
        let remote = Remote::new();
        let (send, connected) = channel();
        let (process, of_thread) = (&process, remote.clone());
        std::thread::scope(|scope| {
            let runner = scope.spawn(move || {
                let mut executor = process.executor(0, &of_thread).expect("made");
                send.send(()).expect("somebody waits");
                executor.run()
            });
            connected.recv().expect("connected");
            // Some stops come before the sleep, some into it.
            for _ in 0..round * 100 {
                std::hint::spin_loop();
            }
            remote.stop();
            assert_eq!(runner.join().expect("no panic"), Ok(RunEnd::Stopped));
        });
    }
}

#[test]
fn a_sleeping_executor_stops_at_once() {
    stop_asleep("asleep", 0);
}

#[test]
fn a_spinning_executor_stops_at_once() {
    stop_asleep("spinning", 50);
}

#[test]
fn a_stop_before_the_run_is_not_lost() {
    let process = process("early", "nodes: { busy: { package: special, type: busy } }\n", None);
    let remote = Remote::new();
    remote.stop();
    let mut executor = process.executor(0, &remote).expect("made");
    assert_eq!(executor.run(), Ok(RunEnd::Stopped));
}

#[test]
fn what_a_node_does_wrong_while_it_is_made_is_said_with_its_name() {
    let mistakes = [
        ("unopened", "node type `sloppy` declares port `out` and does not open it; "),
        ("unknown port", "node type `sloppy` opens output `outt`, which is not connected; "),
        ("type", "opens port `out` as std_msgs/msg/Bool, but its interface says geometry_msgs"),
        ("unknown parameter", "node type `sloppy` reads parameter `mistakes`, which its interface"),
        ("parameter type", "but the node accepts an integer from 0 to 255"),
        ("twice", "node type `sloppy` opens port `out` twice; "),
        ("panic", "it panicked while it was made: lost for words"),
    ];
    for (mistake, sentence) in mistakes {
        let graph = format!(
            "nodes:
  sloppy: {{ package: special, type: sloppy, outputs: {{ out: /a }},
            parameters: {{ mistake: {mistake} }} }}
"
        );
        let process = process("sloppy", &graph, None);
        let error = process.executor(0, &Remote::new()).expect_err(mistake);
        assert_eq!(error.node, "sloppy");
        assert!(error.error.contains(sentence), "{mistake}: {error}");
    }
}

#[test]
fn missing_connections_are_named() {
    let process = process(
        "alone",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a } }
  sink: { package: probe, type: relay, inputs: { in: /a } }
",
        Some(
            "crossdock: 1
processes: { one: { executors: [ { mode: chain, nodes: [source] } ] },
             two: { executors: [ { mode: chain, nodes: [sink] } ] } }
",
        ),
    );
    let error = process
        .executor_within(0, &Remote::new(), Duration::from_millis(50))
        .expect_err("nobody runs the other process");
    assert_eq!(error.node, "source");
    let sentence = "output `out` on topic /a has 0 of its 1 subscribers after 0 s; ";
    assert!(error.error.starts_with(sentence), "{error}");
}

#[test]
fn simulated_timers_without_a_clock_are_named() {
    let graph = "nodes: { ticker: { package: probe, type: ticker } }\n";
    let prepared = support::Prepared::new("clockless", graph, "chain", support::SIMULATED);
    let error = prepared
        .process()
        .executor_within(0, &Remote::new(), Duration::from_millis(50))
        .expect_err("nobody publishes the time");
    assert!(error.error.contains("nobody publishes on /clock"), "{error}");
}

#[test]
fn timers_of_real_time_run_a_node_again_and_again() {
    let log = run(
        "wall",
        "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 25 } }
  sink: { package: probe, type: relay, inputs: { in: /a } }
",
        "event",
        Time::Wall,
    );
    let expected: Vec<String> = (1..=25).map(|x| format!("sink:{x}")).collect();
    assert_eq!(log.expect("a good end"), expected);
}

#[test]
fn executors_of_one_process_pass_every_message() {
    let graph = "nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 300, burst: 3, finish: false } }
  relay: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  sink: { package: probe, type: relay, inputs: { in: /b }, parameters: { finish_at: 300 } }
";
    let mapping = "crossdock: 1
processes:
  main:
    executors:
      - { mode: chain, nodes: [source] }
      - { mode: event, nodes: [relay] }
      - { mode: chain, nodes: [sink] }
";
    let process = process("threads", graph, Some(mapping));
    let remotes = [Remote::new(), Remote::new(), Remote::new()];
    let logs = std::thread::scope(|scope| {
        let threads = [0, 1, 2].map(|index| {
            let (process, remotes) = (&process, &remotes);
            scope.spawn(move || {
                let mut executor = process.executor(index, &remotes[index]).expect("made");
                if let RunEnd::Finished { .. } = executor.run().expect("a good end") {
                    remotes.iter().for_each(Remote::stop);
                }
                support::take_log()
            })
        });
        threads.map(|thread| thread.join().expect("no panic"))
    });
    let lines = |node: &str| (1..=300).map(|x| format!("{node}:{x}")).collect::<Vec<_>>();
    assert_eq!(logs[1], lines("relay"));
    assert_eq!(logs[2], lines("sink"));
}
