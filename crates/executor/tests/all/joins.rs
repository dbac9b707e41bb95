//! Joins across executors: what stamps that leap, and inputs on which nothing comes, cost the
//! others.

use crate::support;
use std::sync::mpsc::channel;
use std::time::Duration;

use crossdock_comm::status_records::kind;
use crossdock_comm::{Publisher, PublisherOptions, Qos};
use crossdock_executor::status::node_counter;
use crossdock_executor::{Remote, RunEnd};
use crossdock_graph::{Graph, Mapping, Time};
use crossdock_msg::types::geometry_msgs::PointStamped;
use crossdock_test_support::OwnMemory;
use support::{Process, SIMULATED, Stop, checked, nodes, take_log};

const PATIENCE: Duration = Duration::from_secs(60);

/// An executor of its own with a node that joins `/a` and `/b`, published by the test.
struct Joining {
    process: Process,
}

impl Joining {
    /// With topics of this depth and patience; the run ends with the pair of this number.
    fn new(test: &str, qos: (usize, u64), last: i32) -> Self {
        Self::in_time(Time::Wall, test, qos, last)
    }

    fn in_time(time: Time, test: &str, (depth, timeout_ms): (usize, u64), last: i32) -> Self {
        let topic = format!(
            "{{ type: geometry_msgs/msg/PointStamped, external: true, qos: {{ depth: {depth}, timeout_ms: {timeout_ms} }} }}"
        );
        let graph = format!(
            "crossdock: 1
name: joining
topics: {{ /a: {topic}, /b: {topic} }}
nodes:
  join: {{ package: probe, type: join, inputs: {{ a: /a, b: /b }},
          condition: {{ all_of: [a, b], same: stamp }}, parameters: {{ finish_at: {last} }} }}
"
        );
        let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
        let plan = checked(&graph, &Mapping::one_chain_per_package(&graph), time);
        Self { process: Process::new(test, plan) }
    }

    fn publisher(&self, topic: &str, depth: usize) -> Publisher<PointStamped> {
        self.publisher_of("outside", topic, depth)
    }

    fn publisher_of(&self, node: &str, topic: &str, depth: usize) -> Publisher<PointStamped> {
        let options = PublisherOptions {
            node,
            topic,
            // As long as a test lasts: a publisher that is held up is one that fails.
            qos: Qos::reliable(depth, PATIENCE),
            max_bytes: None,
            group: None,
        };
        self.process.participant.publisher(options).expect("a publisher")
    }

    fn connected(&self, publisher: &Publisher<PointStamped>) {
        let met = || publisher.matched() > 0;
        assert!(self.process.participant.wait_until(PATIENCE, met));
    }

    /// Runs the executor beside `publish` to its end, and gives what has been joined.
    fn joined(&self, publish: impl FnOnce()) -> Vec<String> {
        self.joined_and_unmatched(publish).0
    }

    /// The same, with how many messages were passed over.
    fn joined_and_unmatched(&self, publish: impl FnOnce()) -> (Vec<String>, u64) {
        let remote = &Remote::new();
        std::thread::scope(|scope| {
            let stop = Stop(remote);
            let (tell, told) = channel();
            let thread = scope.spawn(move || {
                let mut executor = self.process.executor(0, remote).expect("an executor");
                tell.send(()).expect("the test waits");
                let end = executor.run().expect("a good end");
                assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
                let seen = self.process.observer().snapshot().expect("a snapshot").processes;
                let mut nodes = seen.iter().flat_map(|it| &it.others);
                let join = nodes.find(|it| it.kind == kind::NODE && it.name == "join");
                (take_log(), join.expect("its record").counters[node_counter::UNMATCHED])
            });
            told.recv().expect("an executor");
            publish();
            let log = thread.join().expect("a log");
            drop(stop);
            log
        })
    }
}

fn publish(publisher: &Publisher<PointStamped>, number: i32) {
    nodes::publish(publisher, number.into()).expect("it is not held up");
}

fn pair(number: i32) -> String {
    format!("join:Some({number}.0)+Some({number}.0)")
}

#[test]
fn a_stamp_from_the_future_costs_some_messages_and_stops_nobody() {
    for depth in [3, 4, 8] {
        let joining = Joining::new(&format!("future-{depth}"), (depth, 60_000), 40);
        let (a, b) = (joining.publisher("/a", depth), joining.publisher("/b", depth));
        let (log, unmatched) = joining.joined_and_unmatched(|| {
            [&a, &b].into_iter().for_each(|it| joining.connected(it));
            publish(&a, 1_000_000);
            // One after the other, as one node publishes them: who waits for the one keeps the
            // other.
            for number in 1..=40 {
                publish(&a, number);
                publish(&b, number);
            }
        });
        // What had to go until the offender was known: as many as are kept.
        let expected: Vec<String> = (1..=40).map(pair).collect();
        assert!(log.len() >= 40 - depth, "depth {depth}: {log:?}");
        assert_eq!(log[..], expected[40 - log.len()..], "depth {depth}");
        // The offender, and both messages of each pair that it cost.
        assert_eq!(unmatched, 1 + 2 * (40 - log.len() as u64), "depth {depth}");
    }
}

#[test]
fn stamps_that_begin_anew_are_joined_again() {
    let joining = Joining::new("anew", (4, 60_000), 40);
    let (a, b) = (joining.publisher("/a", 4), joining.publisher("/b", 4));
    let log = joining.joined(|| {
        [&a, &b].into_iter().for_each(|it| joining.connected(it));
        for number in 100..=110 {
            publish(&a, number);
            publish(&b, number);
        }
        // Of the last pair one was never published.
        publish(&b, 111);
        for number in 1..=40 {
            publish(&a, number);
            publish(&b, number);
        }
    });
    let mut expected: Vec<String> = (100..=110).map(pair).collect();
    assert_eq!(log[..11], expected[..]);
    expected = (1..=40).map(pair).collect();
    let again = &log[11..];
    assert!(again.len() >= 32, "{log:?}");
    assert_eq!(again, &expected[40 - again.len()..]);
}

#[test]
fn a_join_of_which_nobody_publishes_the_other_input_holds_nobody_up() {
    let joining = Joining::new("deserted", (4, 600_000), 60);
    let a = joining.publisher("/a", 4);
    let log = joining.joined(|| {
        joining.connected(&a);
        (1..=50).for_each(|number| publish(&a, number));
        // It is there again: what is still kept of the other input is joined.
        let b = joining.publisher("/b", 4);
        joining.connected(&b);
        for number in 51..=60 {
            publish(&a, number);
            publish(&b, number);
        }
    });
    assert_eq!(log, (51..=60).map(pair).collect::<Vec<_>>());
}

#[test]
fn a_join_whose_other_input_is_silent_holds_nobody_up_for_long() {
    let joining = Joining::new("silent", (4, 200), 60);
    let (a, b) = (joining.publisher("/a", 4), joining.publisher("/b", 4));
    let log = joining.joined(|| {
        [&a, &b].into_iter().for_each(|it| joining.connected(it));
        (1..=50).for_each(|number| publish(&a, number));
        for number in 51..=60 {
            publish(&a, number);
            publish(&b, number);
        }
    });
    assert_eq!(log, (51..=60).map(pair).collect::<Vec<_>>());
}

#[test]
fn a_join_that_waits_or_has_passed_messages_over_has_nothing_left_to_do() {
    let joining = Joining::in_time(SIMULATED, "at_rest", (4, 60_000), 3);
    let (a, b) = (joining.publisher("/a", 4), joining.publisher("/b", 4));
    let log = joining.joined(|| {
        [&a, &b].into_iter().for_each(|it| joining.connected(it));
        let mut quiescence = joining.process.quiescence();
        // One that waits, one because of which it goes, one more that waits behind that.
        for (publisher, number) in [(&a, 1), (&b, 2), (&b, 3)] {
            publish(publisher, number);
            assert!(quiescence.wait(PATIENCE), "message {number}");
        }
        publish(&a, 3);
    });
    assert_eq!(log, [pair(3)]);
}

#[test]
fn a_branch_that_is_only_slow_keeps_the_other_back_and_nothing_is_lost() {
    let joining = Joining::new("slow", (4, 60_000), 30);
    let (a, b) = (joining.publisher("/a", 4), joining.publisher("/b", 4));
    let log = joining.joined(|| {
        [&a, &b].into_iter().for_each(|it| joining.connected(it));
        // Ports stay on their threads: the fast branch fills what it may, then waits for the slow
        // one.
        (1..=4).for_each(|number| publish(&a, number));
        for number in 1..=30 {
            std::thread::sleep(Duration::from_millis(3));
            publish(&b, number);
            publish(&a, number + 4);
        }
    });
    assert_eq!(log, (1..=30).map(pair).collect::<Vec<_>>());
}

#[test]
fn a_corrupt_publisher_beside_a_good_one_stops_no_join() {
    /// Where the first message of a ring lies.
    const FIRST_AT: u64 = 4096 + 64;
    let joining = Joining::new("corrupt", (4, 60_000), 20);
    let (a, b) = (joining.publisher("/a", 4), joining.publisher("/b", 4));
    let bad = joining.publisher_of("bad", "/a", 4);
    let log = joining.joined(|| {
        [&a, &b, &bad].into_iter().for_each(|it| joining.connected(it));
        let memory = OwnMemory::open();
        let rings = memory.shared("badinprocess");
        let [ring] = &rings[..] else { panic!("{rings:?}") };
        // Its first message seems to be there, and nothing of it fits.
        memory.write(ring.start + FIRST_AT, &[1]);
        for number in 1..=20 {
            publish(&a, number);
            publish(&b, number);
        }
    });
    assert_eq!(log, (1..=20).map(pair).collect::<Vec<_>>());
    let told = joining.process.participant.take_events().0;
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|text| text.contains("is corrupt")), "{told:?}");
}

#[test]
fn a_condition_that_chooses_keeps_publishers_back_only_without_pacing() {
    for (condition, time, waits) in [
        ("all_of: [a, b], same: stamp", Time::Wall, true),
        ("all_of: [a, b]", Time::Wall, true),
        ("any_of: [a, b]", Time::Wall, true),
        ("fresh: [a, b]", Time::Wall, false),
        ("all_of: [a, b], approximate_time: {}", Time::Wall, false),
        // Without pacing nothing depends on how long anything takes.
        ("fresh: [a, b]", SIMULATED, true),
        ("all_of: [a, b], approximate_time: {}", SIMULATED, true),
    ] {
        let graph = format!(
            "crossdock: 1
name: choosing
topics: {{ /a: {{ external: true }}, /b: {{ external: true }} }}
nodes:
  join: {{ package: probe, type: join, inputs: {{ a: /a, b: /b }}, condition: {{ {condition} }} }}
"
        );
        let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
        let plan = checked(&graph, &Mapping::one_chain_per_package(&graph), time);
        let joining = Joining { process: Process::new("choosing", plan) };
        // It stands and takes nothing.
        let _executor = joining.process.executor(0, &Remote::new()).expect("an executor");
        let options = PublisherOptions {
            node: "outside",
            topic: "/a",
            qos: Qos::reliable(4, Duration::from_millis(20)),
            max_bytes: None,
            group: None,
        };
        let publisher = joining.process.participant.publisher(options).expect("a publisher");
        joining.connected(&publisher);
        let published = (0..32).try_for_each(|x| nodes::publish(&publisher, x.into()));
        assert_eq!(published.is_err(), waits, "{condition}, {time:?}: {published:?}");
    }
}
