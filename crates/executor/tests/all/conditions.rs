//! When nodes run: execution conditions, what they read, rate groups.

mod beside;

use crate::support;
use std::time::Duration;

use crossdock_comm::status_records::kind;
use crossdock_comm::{Publisher, Sample, Subscriber};
use crossdock_executor::status::node_counter;
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Package, Remote, RunEnd, Setup, Trigger,
};
use crossdock_graph::{Graph, Mapping, Time};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::PointStamped;
use support::{Process, checked_with, log, take_log};

/// Publishes `x` with a stamp in milliseconds.
fn publish(publisher: &Publisher<PointStamped>, x: f64, stamp_ms: u64) -> Result<(), NodeError> {
    let mut loan = publisher.loan(Extra::none())?;
    let mut message = loan.message();
    message.header().stamp().set_sec((stamp_ms / 1000) as i32);
    message.header().stamp().set_nanosec((stamp_ms % 1000) as u32 * 1_000_000);
    message.point().set_x(x);
    loan.publish()?;
    Ok(())
}

/// Publishes what its parameter says, one message each time: `a 3` is `x` 3 on output `a` with the
/// stamp of 3 s, `a 3 now` with that of the time, `a 3 250` with that of 250 ms.
struct Script {
    outputs: Vec<(String, Option<Publisher<PointStamped>>)>,
    lines: Vec<String>,
    next: usize,
}

impl NodeType for Script {
    const NAME: &'static str = "script";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .publisher::<PointStamped>("a")
            .optional()
            .publisher::<PointStamped>("b")
            .optional()
            .publisher::<PointStamped>("c")
            .optional()
            .parameter("lines", "", "what to publish, separated by commas")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let mut outputs = Vec::new();
        for port in ["a", "b", "c"] {
            outputs.push((port.to_owned(), setup.optional_publisher(port)?));
        }
        let lines: String = setup.parameter("lines")?;
        let lines = lines.split(',').map(|line| line.trim().to_owned()).collect();
        Ok(Self { outputs, lines, next: 0 })
    }
}

impl Node for Script {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(line) = self.lines.get(self.next) else {
            context.finish("all is said");
            return Ok(());
        };
        self.next += 1;
        let words: Vec<&str> = line.split(' ').collect();
        let x: f64 = words[1].parse()?;
        let stamp_ms = match words.get(2) {
            None => x as u64 * 1000,
            Some(&"now") => context.now_ns() / 1_000_000,
            Some(ms) => ms.parse()?,
        };
        let output = self.outputs.iter().find(|(port, _)| port == words[0]);
        let publisher = output.and_then(|(_, publisher)| publisher.as_ref());
        publish(publisher.expect("a connected output"), x, stamp_ms)
    }
}

/// Says what released it and what it took.
struct Observer {
    a: Option<Subscriber<PointStamped>>,
    b: Option<Subscriber<PointStamped>>,
    side: Option<Subscriber<PointStamped>>,
    reads_side: bool,
    is_greedy: bool,
    takes_b: bool,
    kept: Vec<Sample<PointStamped>>,
    keeps: usize,
    finish_at: f64,
}

impl NodeType for Observer {
    const NAME: &'static str = "observer";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("a")
            .optional()
            .subscriber::<PointStamped>("b")
            .optional()
            .subscriber_since_last::<PointStamped>("side")
            .optional()
            .timer("tick", Duration::from_secs(3600))
            .predicate("ten", "What waits on `a` is 10 or more in all.")
            .predicate("rising", "The newest on `side` is more than the first on `a`.")
            .predicate("unanswered", "Nobody knows.")
            .parameter("reads_side", true, "whether it reads `side`")
            .parameter("greedy", false, "whether it takes all on `a`, whatever runs it")
            .parameter("takes_b", true, "whether it takes what runs it on `b`")
            .parameter("keeps", 0, "samples of `a` that it keeps")
            .parameter("finish_at", 0.0, "x of `a` at which the run is to end; 0: none")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            a: setup.optional_subscriber("a")?,
            b: setup.optional_subscriber("b")?,
            side: setup.optional_subscriber("side")?,
            reads_side: setup.parameter("reads_side")?,
            is_greedy: setup.parameter("greedy")?,
            takes_b: setup.parameter("takes_b")?,
            kept: Vec::new(),
            keeps: setup.parameter::<u32>("keeps")? as usize,
            finish_at: setup.parameter("finish_at")?,
        })
    }
}

impl Observer {
    /// What is taken from an input that released the node.
    fn taken(&mut self, port: &str) -> Result<Option<f64>, NodeError> {
        let subscriber = if port == "a" { &self.a } else { &self.b };
        let sample = subscriber.as_ref().map(Subscriber::take).transpose()?.flatten();
        let Some(sample) = sample else { return Ok(None) };
        let x = sample.message().point().x();
        if port == "a" && self.kept.len() < self.keeps {
            self.kept.push(sample);
        }
        Ok(Some(x))
    }
}

impl Node for Observer {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let trigger = context.trigger();
        let mut words = Vec::new();
        for port in ["a", "b"] {
            let is_for = [Trigger::Condition, Trigger::Input(port)].contains(&trigger);
            if (is_for && (port == "a" || self.takes_b) || self.is_greedy && port == "a")
                && let Some(x) = self.taken(port)?
            {
                words.push(format!("{port}{x}"));
                if port == "a" && x == self.finish_at {
                    context.finish("it has come");
                }
                while self.is_greedy
                    && port == "a"
                    && let Some(x) = self.taken(port)?
                {
                    words.push(format!("{port}{x}"));
                }
            }
        }
        if let (Some(side), true) = (&self.side, self.reads_side) {
            let mut read = Vec::new();
            for sample in side.read() {
                read.push(sample?.message().point().x().to_string());
            }
            words.push(format!("[{}]", read.join(" ")));
        }
        if let Trigger::Timer(name) = trigger {
            words.push(name.to_owned());
        }
        log(format!("{}:{}", context.node(), words.join(" ")));
        Ok(())
    }

    fn holds(&self, predicate: &str) -> Result<bool, NodeError> {
        let a = self.a.as_ref().expect("connected").waiting();
        match predicate {
            "ten" => Ok(a.messages().map(|message| message.point().x()).sum::<f64>() >= 10.0),
            "rising" => {
                let side = self.side.as_ref().expect("connected").waiting();
                let newest = side.newest().map(|message| message.point().x());
                let first = a.first().map(|message| message.point().x());
                Ok(newest.zip(first).is_some_and(|(newest, first)| newest > first))
            }
            _ => Err(NodeError::new("nobody knows")),
        }
    }
}

/// One of a rate group.
struct Member {
    rounds: u64,
    last: u64,
}

impl NodeType for Member {
    const NAME: &'static str = "member";

    fn description() -> NodeDescription {
        NodeDescription::new().timer_of_graph("step").parameter(
            "last",
            0,
            "round at which the run is to end; 0: none",
        )
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { rounds: 0, last: setup.parameter::<i64>("last")? as u64 })
    }
}

impl Node for Member {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.rounds += 1;
        let now_ms = context.now_ns() / 1_000_000;
        log(format!("{}:{} {now_ms}", context.node(), sleeps()));
        if self.rounds == self.last {
            context.finish("the last round");
        }
        Ok(())
    }
}

/// How often this thread has given up the processor to wait.
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("procfs");
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
    let words = line.expect("a counter").split_whitespace();
    words.last().and_then(|count| count.parse().ok()).expect("a number")
}

fn package() -> Package {
    let package = Package::new("probe").node::<Script>().node::<Observer>().node::<Member>();
    package.node::<support::nodes::Clockwork>()
}

/// The process of a graph in these executors.
fn process(test: &str, graph: &str, executors: &str, time: Time) -> Process {
    take_log();
    let graph = format!("crossdock: 1\nname: {test}\n{graph}");
    let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
    let mapping = format!("crossdock: 1\nprocesses: {{ main: {{ executors: [{executors}] }} }}\n");
    let mapping = Mapping::from_yaml("test.mapping.yaml", mapping.as_bytes()).expect("a mapping");
    let plan = checked_with(&package(), &graph, &mapping, time);
    Process::with_package(test, plan, package())
}

/// A script and an observer of its three topics, with this condition.
fn graph(lines: &str, condition: &str, more: &str) -> String {
    format!(
        "nodes:
  script: {{ package: probe, type: script, outputs: {{ a: /a, b: /b, c: /c }},
            parameters: {{ lines: \"{lines}\" }} }}
  o: {{ package: probe, type: observer, inputs: {{ a: /a, b: {{ topic: /b, trigger: true }},
       side: /c }}, {condition}{more} }}
"
    )
}

/// What an observer of a script says in a chain and in event mode, which must be the same.
fn observed(test: &str, graph: &str) -> Vec<String> {
    let logs = ["chain", "event"].map(|mode| {
        let executor = format!("{{ mode: {mode}, nodes: [script, o] }}");
        let process = process(&format!("{test}_{mode}"), graph, &executor, Time::Wall);
        let mut executor = process.executor(0, &Remote::new()).expect("an executor");
        assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })), "{test} {mode}");
        take_log()
    });
    let [chain, event] = logs;
    assert_eq!(chain, event, "{test}");
    chain
}

#[test]
fn all_of_runs_a_node_with_one_message_of_each_input() {
    let graph = graph("a 1, a 2, b 1, a 3, b 2, b 3", "condition: { all_of: [a, b] }", "");
    assert_eq!(observed("all_of", &graph), ["o:a1 b1 []", "o:a2 b2 []", "o:a3 b3 []"]);
}

#[test]
fn any_of_runs_a_node_with_the_message_that_has_come() {
    let graph = graph("a 1, b 2, c 3, a 4", "condition: { any_of: [a, b] }", "");
    assert_eq!(observed("any_of", &graph), ["o:a1 []", "o:b2 []", "o:a4 [3]"]);
}

#[test]
fn fresh_runs_a_node_with_the_newest_message_of_each_input_since_its_last_run() {
    let graph = graph("a 1, a 2, b 1, b 2, b 3, a 3", "condition: { fresh: [a, b] }", "");
    assert_eq!(observed("fresh", &graph), ["o:a2 b1 []", "o:a3 b3 []"]);
}

#[test]
fn fresh_asks_for_a_message_on_an_input_that_does_not_trigger() {
    let condition = "condition: { any_of: [a, b], fresh: [side] }";
    let lines = "a 1, c 1, b 2, a 3, c 2, a 4";
    // `a 1` stays until `b 2` comes, because `c 1` wakes nobody; each `c` serves one run.
    let expected = ["o:a1 [1]", "o:b2 [2]"];
    assert_eq!(observed("fresh_side", &graph(lines, condition, "")), expected);
    // What the node does not read is not fresh for its next run either.
    let unread = graph(lines, condition, ", parameters: { reads_side: false }");
    assert_eq!(observed("fresh_unread", &unread), ["o:a1", "o:b2"]);
}

#[test]
fn an_input_that_is_too_old_holds_a_node_back_and_its_messages_stay() {
    let condition = "condition: { any_of: [a, b], newest_not_older_than_ms: { side: 60000 } }";
    let graph = graph("a 1, c 1, a 2, c 3 now, b 3, a 4", condition, "");
    // Nothing has come at first, then something of 1970, then something of now, which stays young
    // when it has been read.
    let expected = ["o:a1 [1 3]", "o:a2 []", "o:b3 []", "o:a4 []"];
    assert_eq!(observed("old", &graph), expected);
}

#[test]
fn of_messages_that_are_held_back_as_many_stay_as_the_depth_says() {
    let condition = "condition: { any_of: [a, b], fresh: [side] }";
    let lines = "a 1, a 2, a 3, a 4, a 5, a 6, c 1, a 7, c 2, a 8";
    assert_eq!(observed("deep", &graph(lines, condition, "")), ["o:a4 [1]", "o:a5 [2]"]);
}

#[test]
fn a_predicate_in_code_looks_at_what_waits() {
    let ten = "condition: { any_of: [a, b], predicate: ten }";
    let ran = observed("ten", &graph("a 1, a 4, b 2, a 5, a 9", ten, ""));
    // 1 + 4 + 5 is enough for the first; 4 + 5 is not, 4 + 5 + 9 is, and so is 5 + 9.
    assert_eq!(ran, ["o:a1 []", "o:a4 []", "o:b2 []", "o:a5 []"]);
    let rising = "condition: { all_of: [a, b], same: stamp, predicate: rising }";
    let lines = "c 1, a 2, b 2, c 3, c 4, a 3, b 3, a 9, b 9";
    let ran = observed("rising", &graph(lines, rising, ""));
    assert_eq!(ran, ["o:a2 b2 [1 3 4]"]);
}

#[test]
fn a_predicate_that_fails_ends_the_run_with_its_name() {
    let graph = graph("a 1", "condition: { any_of: [a, b], predicate: unanswered }", "");
    let executor = "{ mode: chain, nodes: [script, o] }";
    let process = process("unanswered", &graph, executor, Time::Wall);
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    let error = executor.run().expect_err("a failure");
    assert_eq!(error.node, "o");
    assert!(
        error.error.ends_with("it asked its predicate `unanswered`, which failed: nobody knows"),
        "{error}"
    );
}

#[test]
fn guards_hold_back_timers_too() {
    let more = ", timers: { tick: { period_ms: 1 } }";
    let condition = "condition: { any_of: [a, b], fresh: [side] }";
    let ran = observed("timers", &graph("c 1, a 2, c 3, c 4", condition, more));
    // Script and tick are one rate group: the tick comes behind each line of the script.
    assert_eq!(ran, ["o:[1] tick", "o:[3] tick", "o:[4] tick"]);
    // Of ticks that run the node none is counted as held back.
    let process = process(
        "timers_pass",
        &graph("c 1, c 2, c 3", condition, more),
        "{ mode: chain, nodes: [script, o] }",
        Time::Wall,
    );
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
    assert_eq!(take_log(), ["o:[1] tick", "o:[2] tick", "o:[3] tick"]);
    let seen = process.observer().snapshot().expect("a snapshot").processes;
    let mut nodes = seen.iter().flat_map(|it| &it.others);
    let node = nodes.find(|it| it.kind == kind::NODE && it.name == "o").expect("its record");
    assert_eq!(node.counters[node_counter::HELD_BACK], 0);
}

/// Two sensors at 30 and 20 Hz with jitter, and what approximate time makes of them.
const SENSORS: &str = "a 1 7, b 1 11, a 2 40, b 2 61, a 3 72, a 4 107, b 3 109, a 5 139, b 4 162, \
                       a 6 171, a 7 204, b 5 210, a 8 240, b 6 258";
const SETS: [&str; 5] = ["o:a1 b1 []", "o:a3 b2 []", "o:a4 b3 []", "o:a6 b4 []", "o:a7 b5 []"];

#[test]
fn approximate_time_joins_the_messages_whose_stamps_lie_closest() {
    let condition = "condition: { all_of: [a, b], approximate_time: { age_penalty: 0 } }";
    assert_eq!(observed("approximate", &graph(SENSORS, condition, "")), SETS);
    let within = "condition: { all_of: [a, b], approximate_time: { age_penalty: 0, \
                  max_interval_ms: 5 } }";
    let ran = observed("within", &graph(SENSORS, within, ""));
    assert_eq!(ran, ["o:a1 b1 []", "o:a4 b3 []"]);
}

#[test]
fn a_node_that_takes_more_than_its_set_finds_the_next_one_behind_that() {
    let condition = "condition: { all_of: [a, b], approximate_time: { age_penalty: 0 } }, \
                     parameters: { greedy: true }";
    // Each set is complete when the next message on `a` has come, which is taken with it.
    let lines = "a 1 10, b 1 11, a 2 20, a 3 30, b 2 31, a 4 40";
    let ran = observed("greedy", &graph(lines, condition, ""));
    assert_eq!(ran, ["o:a1 a2 b1 []", "o:a3 a4 b2 []"]);
}

#[test]
fn a_message_of_a_join_that_the_node_does_not_take_is_gone() {
    let condition = "condition: { all_of: [a, b] }, parameters: { takes_b: false }";
    let ran = observed("left", &graph("a 1, b 1, a 2, a 3, b 2, a 4", condition, ""));
    assert_eq!(ran, ["o:a1 []", "o:a2 []"]);
}

#[test]
fn conditions_hold_across_threads_too() {
    let approximate = "condition: { all_of: [a, b], approximate_time: { age_penalty: 0 } }";
    let same = "condition: { all_of: [a, b], same: stamp }";
    let (finish, deep) = (
        ", parameters: { finish_at: 7 }",
        "topics:\n  /a: { qos: { depth: 12 } }\n  /b: { qos: { depth: 12 } }\n",
    );
    let stamped: Vec<String> = (1..=7).map(|x| format!("a {x}, b {x}")).collect();
    let joined: Vec<String> = (1..=7).map(|x| format!("o:a{x} b{x} []")).collect();
    for (test, lines, condition, expected) in [
        ("apart_approximate", SENSORS, approximate, SETS.map(str::to_owned).to_vec()),
        ("apart_same", &stamped.join(", "), same, joined),
    ] {
        let graph = format!("{}{deep}", graph(lines, condition, finish));
        let executors = "{ mode: chain, nodes: [script] }, { mode: chain, nodes: [o] }";
        let process = &process(test, &graph, executors, Time::Wall);
        let remotes = [Remote::new(), Remote::new()];
        let log = std::thread::scope(|scope| {
            let remotes = &remotes;
            let observer = scope.spawn(move || {
                let mut executor = process.executor(1, &remotes[1]).expect("an executor");
                let end = executor.run().expect("a good end");
                assert!(matches!(end, RunEnd::Finished { .. }));
                take_log()
            });
            let mut executor = process.executor(0, &remotes[0]).expect("an executor");
            let end = executor.run().expect("a good end");
            assert!(matches!(end, RunEnd::Finished { .. }));
            observer.join().expect("a log")
        });
        assert_eq!(log, expected, "{test}");
    }
}

#[test]
fn inputs_are_read_as_the_newest_message_or_as_all_since_the_last_run() {
    let lines = "c 1, c 2, c 3, a 1, a 2, c 4, c 5, c 6, c 7, c 8, a 3";
    let any = "condition: { any_of: [a, b] }";
    let all = observed("since_last", &graph(lines, any, ""));
    // Four fit, the oldest of five is skipped.
    assert_eq!(all, ["o:a1 [1 2 3]", "o:a2 []", "o:a3 [5 6 7 8]"]);
    let latest = graph(lines, any, "").replace("side: /c", "side: { topic: /c, read: latest }");
    assert_eq!(observed("read_latest", &latest), ["o:a1 [3]", "o:a2 []", "o:a3 [8]"]);
}

#[test]
fn one_timer_releases_all_nodes_of_a_rate_with_one_wake_up() {
    let member = |name: &str, more: &str| {
        format!(
            "  {name}: {{ package: probe, type: member, timers: {{ step: {{ period_ms: 10 }} }}{more} }}\n"
        )
    };
    let graph = format!(
        "nodes:\n{}{}{}{}",
        member("first", ""),
        member("second", ""),
        member("third", ""),
        member("last", ", parameters: { last: 20 }")
    );
    for mode in ["chain", "event"] {
        let executor = format!("{{ mode: {mode}, nodes: [first, second, third, last] }}");
        let process = process(&format!("rate_{mode}"), &graph, &executor, Time::Wall);
        let mut executor = process.executor(0, &Remote::new()).expect("an executor");
        assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
        let log = take_log();
        assert_eq!(log.len(), 80, "{mode}");
        let mut between = 0;
        for round in log.chunks(4) {
            let names: Vec<_> = round.iter().map(|line| line.split(':').next()).collect();
            assert_eq!(names, ["first", "second", "third", "last"].map(Some), "{mode}");
            let sleeps = |line: &String| -> u64 {
                line.split([':', ' ']).nth(1).and_then(|it| it.parse().ok()).expect("a count")
            };
            between += sleeps(&round[3]) - sleeps(&round[0]);
        }
        // None; but the machine may have to fetch a page for the thread.
        assert!(between < 10, "{mode}: {between} sleeps inside 20 releases");
    }
}
