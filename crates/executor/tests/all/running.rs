//! Starting and stopping executors: stops while busy and asleep, threads of one process, what is
//! wrong before the start.

use crate::support;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crossdock_comm::{Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous};
use crossdock_executor::{
    Context, Miss, Node, NodeDescription, NodeError, NodeType, Package, Publisher, Remote, RunEnd,
    Setup, Subscriber,
};
use crossdock_graph::{Graph, Mapping, Time, TimerClock};
use crossdock_msg::types::geometry_msgs::PointStamped;
use crossdock_msg::types::std_msgs::Bool;
use support::{Prepared, Process, checked_with, nodes, run};

static BUSY: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicBool = AtomicBool::new(false);
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

/// Is busy in its first execution until the test lets it go.
struct Busy;

impl NodeType for Busy {
    const NAME: &'static str = "busy";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("step", Duration::from_millis(1))
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

    fn description() -> NodeDescription {
        NodeDescription::new()
            .publisher::<PointStamped>("out")
            .parameter("mistake", "none", "which")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let mistake: String = setup.parameter("mistake")?;
        match mistake.as_str() {
            "unopened" => return Ok(Self),
            "unknown port" => drop(setup.publisher::<PointStamped>("outt")?),
            "type" => drop(setup.publisher::<Bool>("out")?),
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

/// Says on what it works, which the mapping chooses.
struct Either;

impl NodeType for Either {
    const NAME: &'static str = "either";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("step", Duration::from_secs(1)).on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let device = setup.device().map_or("the processor", |plan| &plan.device);
        support::log(format!("{}: {device}", setup.node()));
        Ok(Self)
    }
}

impl Node for Either {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        Ok(())
    }
}

fn package() -> Package {
    let special = Package::new("special").node::<Busy>().node::<Sloppy>().node::<Teller>();
    special.node::<Patient>().node::<Stopper>().node::<Either>().with(nodes::package())
}

fn process(test: &str, graph: &str, mapping: Option<&str>) -> Process {
    process_in(test, graph, mapping, Time::Wall)
}

fn process_in(test: &str, graph: &str, mapping: Option<&str>, time: Time) -> Process {
    let graph = format!("crossdock: 1\nname: {test}\n{graph}");
    let graph = Graph::from_yaml(test, graph.as_bytes()).expect("a graph");
    let mapping = match mapping {
        Some(text) => Mapping::from_yaml(test, text.as_bytes()).expect("a mapping"),
        None => Mapping::one_chain_per_package(&graph),
    };
    let plan = checked_with(&package(), &graph, &mapping, time);
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

thread_local! {
    /// What stops the executor of this thread.
    static STOPPING: RefCell<Option<Remote>> = const { RefCell::new(None) };
}

/// Has the executor stopped while it executes, and publishes then.
struct Stopper {
    input: Subscriber<PointStamped>,
    out: Publisher<PointStamped>,
}

impl NodeType for Stopper {
    const NAME: &'static str = "stopper";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<PointStamped>("in").publisher::<PointStamped>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")?, out: setup.publisher("out")? })
    }
}

impl Node for Stopper {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.input.take()?;
        support::log(context.node().to_owned());
        STOPPING.take().expect("it executes once").stop();
        nodes::publish(&self.out, 1.0)
    }
}

#[test]
fn a_stop_in_the_middle_of_a_chain_runs_no_node_behind_it() {
    support::take_log();
    let graph = "nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { finish: false } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  stopper: { package: special, type: stopper, inputs: { in: /b }, outputs: { out: /c } }
  last: { package: probe, type: relay, inputs: { in: /c } }
";
    let mapping = "crossdock: 1
processes: { main: { executors: [ { mode: chain, nodes: [source, first, stopper, last] } ] } }
";
    let process = process("stop_within", graph, Some(mapping));
    let remote = Remote::new();
    STOPPING.set(Some(remote.clone()));
    let mut executor = process.executor(0, &remote).expect("made");
    assert_eq!(executor.run(), Ok(RunEnd::Stopped));
    assert_eq!(support::take_log(), ["first:1", "stopper"]);
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
fn a_stop_ends_the_wait_for_connections() {
    let process = unconnected("unconnected");
    let remote = Remote::new();
    remote.stop();
    // Longer than a stop takes, but it is not waited for.
    let executor = process.executor_within(0, &remote, Duration::from_secs(5));
    assert_eq!(executor.expect("no time-out").run(), Ok(RunEnd::Stopped));
}

#[test]
fn what_a_node_does_wrong_while_it_is_made_is_said_with_its_name() {
    let mistakes = [
        ("unopened", "node type `sloppy` declares port `out` and does not open it; "),
        ("unknown port", "node type `sloppy` opens publisher `outt`, which is not connected; "),
        ("type", "opens port `out` as std_msgs/msg/Bool, but its description says geometry_msgs"),
        (
            "unknown parameter",
            "node type `sloppy` reads parameter `mistakes`, which its description",
        ),
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

/// A process whose publisher waits for a subscriber in another one, which nobody runs.
fn unconnected(test: &str) -> Process {
    let graph = "nodes:
  source: { package: probe, type: source, outputs: { out: /a } }
  sink: { package: probe, type: relay, inputs: { in: /a } }
";
    let mapping = "crossdock: 1
processes: { one: { executors: [ { mode: chain, nodes: [source] } ] },
             two: { executors: [ { mode: chain, nodes: [sink] } ] } }
";
    process(test, graph, Some(mapping))
}

#[test]
fn a_node_is_told_while_it_is_made_on_which_device_it_works() {
    support::take_log();
    let graph = "nodes:
  on: { package: special, type: either }
  off: { package: special, type: either }
";
    let mapping = "crossdock: 1
processes: { main: { executors: [ { mode: chain, nodes: [on, off] } ] } }
devices: { gpu: { device: \"cuda:1\", nodes: [on] } }
";
    let process = process("device", graph, Some(mapping));
    process.executor(0, &Remote::new()).expect("made");
    assert_eq!(support::take_log(), ["on: cuda:1", "off: the processor"]);
}

#[test]
fn missing_connections_are_named() {
    let error = unconnected("alone")
        .executor_within(0, &Remote::new(), Duration::from_millis(50))
        .expect_err("nobody runs the other process");
    assert_eq!(error.node, "source");
    let sentence = "publisher `out` on topic /a has 0 of its 1 subscribers after 0 s; ";
    assert!(error.error.starts_with(sentence), "{error}");
}

#[test]
fn a_connection_that_cannot_be_is_an_error_of_the_node_here() {
    let graph = "nodes:
  source: { package: probe, type: source, outputs: { out: /a } }
  sink: { package: probe, type: relay, inputs: { in: /a } }
";
    let mapping = "crossdock: 1
processes: { one: { executors: [ { mode: chain, nodes: [sink] } ] },
             two: { executors: [ { mode: chain, nodes: [source] } ] } }
";
    let process = process("unfit", graph, Some(mapping));
    let mut options = ParticipantOptions::new(0, "other");
    options.rendezvous = Rendezvous::Folder(process.folder.path().to_owned());
    let other = Participant::open(options).expect("a participant");
    let publisher = other.publisher::<Bool>(PublisherOptions {
        node: "outside",
        topic: "/a",
        qos: Qos::reliable(4, Duration::from_secs(1)),
        max_bytes: None,
        group: None,
    });
    let _publisher = publisher.expect("a publisher");
    let error = process.executor(0, &Remote::new()).expect_err("the types differ");
    assert_eq!(error.node, "sink");
    assert!(error.error.contains("outside") && error.error.contains("/a"), "{error}");
}

#[test]
fn an_executor_that_watches_a_chain_waits_for_those_who_publish_its_first_topic() {
    let graph = "nodes:
  source: { package: probe, type: source, outputs: { out: /a } }
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  last: { package: probe, type: relay, inputs: { in: /b }, outputs: { out: /c } }
chains: { whole: { from: /a, to: /c, max_latency_ms: 1000 } }
";
    let mapping = "crossdock: 1
processes: { one: { executors: [ { mode: chain, nodes: [last] } ] },
             two: { executors: [ { mode: chain, nodes: [source, first] } ] } }
";
    let prepared = Prepared::of(process("watching", graph, Some(mapping)));
    let _first = prepared.publisher("/b");
    let error = prepared
        .process()
        .executor_within(0, &Remote::new(), Duration::from_millis(50))
        .expect_err("nobody publishes the first topic");
    let sentence = "executor `one`, which watches a chain from topic /a, has 0 of its 1 publishers";
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

/// Ends the run at the fifth tick of a clock that simulated time does not move.
struct Patient {
    ticks: u32,
}

impl NodeType for Patient {
    const NAME: &'static str = "patient";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("tick", Duration::from_millis(1)).on_clock(TimerClock::Steady)
    }

    fn create(_: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { ticks: 0 })
    }
}

impl Node for Patient {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.ticks += 1;
        if self.ticks == 5 {
            context.finish("long enough");
        }
        Ok(())
    }
}

#[test]
fn simulated_time_stands_still_when_the_node_that_makes_it_is_taken_out() {
    let graph = "nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image }, lockstep: { timer: step, command: command },
               on_failure: drop_node, parameters: { steps: 1, fails: true } }
  driver: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /command } }
  ticker: { package: probe, type: ticker }
  patient: { package: special, type: patient }
";
    support::take_log();
    let mapping = "crossdock: 1
processes:
  main: { executors: [ { mode: chain, nodes: [simulator, driver, ticker, patient] } ] }
";
    let process = process_in("made_no_more", graph, Some(mapping), support::SIMULATED);
    let mut executor = process.executor(0, &Remote::new()).expect("made");
    let dropped = executor.run();
    assert!(matches!(&dropped, Ok(RunEnd::NodeDropped(error)) if error.node == "simulator"));
    assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
    let ticks = support::take_log().into_iter().filter(|line| line.starts_with("ticker"));
    // The time of its last step is made before it fails in that.
    let expected = [
        "ticker:timer `fast` at 1400 ms",
        "ticker:timer `fast` at 1800 ms",
        "ticker:timer `slow` at 2000 ms",
    ];
    assert_eq!(ticks.collect::<Vec<_>>(), expected);
}

#[test]
fn a_lockstep_ends_the_run_when_the_time_of_the_run_is_over() {
    let graph = "nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image }, lockstep: { timer: step, command: command },
               parameters: { steps: 100 } }
  driver: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /command } }
";
    let expected =
        ["simulator:1 after None", "simulator:2 after Some(1.0)", "simulator:3 after Some(2.0)"];
    // A release that comes half a period after the end is still one of the run.
    for (duration_ns, count) in [(3_000_000_000, 3), (2_500_000_000, 3), (2_499_999_999, 2)] {
        support::take_log();
        let test = format!("duration_{duration_ns}");
        let mut process = process_in(&test, graph, None, support::SIMULATED);
        process.duration_ns = Some(duration_ns);
        let mut executor = process.executor(0, &Remote::new()).expect("made");
        let reason = "the time is over".to_owned();
        assert_eq!(executor.run(), Ok(RunEnd::Finished { reason }));
        let steps = support::take_log().into_iter().filter(|line| line.starts_with("simulator"));
        assert_eq!(steps.collect::<Vec<_>>(), expected[..count], "{duration_ns} ns");
    }
}

/// Nanoseconds since 1970, `ago` before now.
fn stamp_ns(ago: Duration) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    (now.expect("after 1970") - ago).as_nanos() as u64
}

/// Publishes `x` as if it had been published that long ago.
fn publish_ago(publisher: &Publisher<PointStamped>, x: f64, ago: Duration) {
    let mut loan = publisher.loan(crossdock_msg::Extra::none()).expect("a loan");
    loan.message().point().set_x(x);
    loan.set_stamp_ns(stamp_ns(ago));
    loan.publish().expect("published");
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn messages_that_end_a_chain_too_late_are_told_one_by_one() {
    for mode in ["chain", "event"] {
        let graph = "topics: { /a: { external: true, qos: { depth: 16 } } }
nodes:
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  last: { package: special, type: teller, inputs: { in: /b }, outputs: { out: /c },
          parameters: { count: 5 } }
chains: { whole: { from: /a, to: /c, max_latency_ms: 1800000 } }
";
        let log = in_one(&format!("late_{mode}"), mode, graph, |publisher| {
            for (x, ago) in [(1.0, 2 * HOUR), (2.0, HOUR), (3.0, Duration::ZERO)] {
                publish_ago(publisher, x, ago);
            }
            publish_ago(publisher, 4.0, HOUR);
            publish_ago(publisher, 5.0, Duration::ZERO);
        });
        let mut log = log.expect("a good end");
        log.retain(|line| line.starts_with("late"));
        assert_eq!(log, ["late 1", "late 2", "late 4"], "{mode}");
    }
}

#[test]
fn a_chain_that_begins_and_does_not_end_is_told_without_another_message() {
    let graph = "topics: { /a: { external: true } }
nodes:
  swallow: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b },
             parameters: { copies: 0 } }
  last: { package: probe, type: guard, inputs: { in: /b }, outputs: { out: /c },
          parameters: { misses: 1 } }
chains: { whole: { from: /a, to: /c, max_latency_ms: 20 } }
";
    let prepared = Prepared::new("stalled", graph, "chain", Time::Wall);
    let publisher = prepared.publisher("/a");
    let participant = prepared.process().participant.clone();
    let log = prepared.finish_after(&[&publisher], || {
        // The node and the watch.
        let connected = || publisher.matched() == 2;
        assert!(participant.wait_until(Duration::from_secs(60), connected));
        nodes::publish(&publisher, 1.0).expect("published");
    });
    let log = log.expect("a good end");
    assert_eq!(log, ["swallow:1", "last:stalled"]);
}

#[test]
fn an_executor_that_watches_a_chain_on_which_nothing_begins_sleeps() {
    let graph = "topics: { /a: { external: true } }
nodes:
  relay: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
chains: { whole: { from: /a, to: /b, max_latency_ms: 3600000 } }
";
    let process = process("unbegun", graph, None);
    let remote = Remote::new();
    let (send, running) = channel();
    std::thread::scope(|scope| {
        let (process, of_thread) = (&process, remote.clone());
        let runner = scope.spawn(move || {
            let mut executor = process.executor(0, &of_thread).expect("made");
            send.send(support::this_thread()).expect("somebody waits");
            executor.run()
        });
        let stop = support::Stop(&remote);
        support::asleep(running.recv().expect("made"));
        drop(stop);
        assert_eq!(runner.join().expect("no panic"), Ok(RunEnd::Stopped));
    });
}

#[test]
fn a_limit_that_stops_the_run_is_an_error_of_the_run_and_no_failure_of_the_node() {
    let graph = "topics: { /a: { external: true } }
nodes:
  old: { package: probe, type: guard, on_failure: drop_node,
         inputs: { in: { topic: /a, max_age_ms: 1800000, on_miss: stop } } }
";
    let prepared = Prepared::new("stale", graph, "chain", Time::Wall);
    let publisher = prepared.publisher("/a");
    let ended = prepared.finish_after(&[&publisher], || {
        publish_ago(&publisher, 1.0, Duration::ZERO);
        publish_ago(&publisher, 2.0, HOUR);
    });
    let error = ended.expect_err("the second message is too old");
    assert_eq!(error.node, "old");
    assert!(error.error.contains("ran with a message on input `in` that was 36"), "{error}");
    assert!(error.error.ends_with("more than 1800000 ms"), "{error}");
    assert_eq!(support::take_log(), ["old:age"]);
}

/// Publishes what it takes, and logs which of these were late.
struct Teller {
    input: Subscriber<PointStamped>,
    out: Publisher<PointStamped>,
    taken: i64,
    count: i64,
}

impl NodeType for Teller {
    const NAME: &'static str = "teller";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<PointStamped>("out")
            .parameter("count", 1, "messages until the end")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (input, out) = (setup.subscriber("in")?, setup.publisher("out")?);
        Ok(Self { input, out, taken: 0, count: setup.parameter("count")? })
    }
}

impl Node for Teller {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.input.take()?;
        self.taken += 1;
        if self.taken == self.count {
            context.finish("all");
        }
        nodes::publish(&self.out, self.taken as f64)
    }

    fn limit_missed(&mut self, miss: &Miss<'_>, _: &mut Context<'_>) -> Result<(), NodeError> {
        assert!(matches!(miss, Miss::Late { chain: "whole", .. }), "{miss}");
        support::log(format!("late {}", self.taken));
        Ok(())
    }
}

/// Runs a graph of the special package on one thread until its end, fed on /a.
fn in_one(
    test: &str,
    mode: &str,
    graph: &str,
    publish: impl FnOnce(&Publisher<PointStamped>),
) -> Result<Vec<String>, crossdock_executor::RunError> {
    support::take_log();
    let graph = format!("crossdock: 1\nname: {test}\n{graph}");
    let graph = Graph::from_yaml(test, graph.as_bytes()).expect("a graph");
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    let executor = format!("{{ mode: {mode}, nodes: [{}] }}", names.join(", "));
    let mapping = format!("crossdock: 1\nprocesses: {{ main: {{ executors: [{executor}] }} }}\n");
    let mapping = Mapping::from_yaml(test, mapping.as_bytes()).expect("a mapping");
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let prepared = Prepared::of(Process::with_package(test, plan, package()));
    let publisher = prepared.publisher("/a");
    prepared.finish_after(&[&publisher], || publish(&publisher))
}
