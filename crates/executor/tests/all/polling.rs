//! Nodes that drive a device: polled until they have nothing to do, at their own pace, with bridges
//! to topics.

use crate::support;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crossdock_comm::{AnySample, ParkedLoan, PublisherOptions, Qos, SubscriberOptions};
use crossdock_executor::{
    Bridge, Context, Node, NodeDescription, NodeError, NodeType, Package, Remote, RunEnd, Setup,
    Subscriber, Trigger,
};
use crossdock_graph::{Graph, Mapping, Time};
use crossdock_msg::Schema;
use crossdock_msg::types::geometry_msgs::PointStamped;
use support::{Process, StopOnPanic, checked_with, log, nodes, take_log};

const PATIENCE: Duration = Duration::from_secs(60);
/// Polls that a message stays in the device.
const POLLS: u32 = 3;

/// A device that holds one message at a time, for a few polls, and gives it back elsewhere.
struct Device {
    incoming: Bridge,
    outgoing: Bridge,
    inside: Option<(AnySample, ParkedLoan)>,
    left: u32,
    polls: u32,
    messages: u32,
}

impl NodeType for Device {
    const NAME: &'static str = "device";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<PointStamped>("out")
            .parameter("mistake", "none", "which")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let schema = Arc::new(Schema::of::<PointStamped>()?);
        let mistake: String = setup.parameter("mistake")?;
        match mistake.as_str() {
            "two topics" => drop(setup.bridge(&schema, Some("in"), Some("out"))?),
            "unknown port" => drop(setup.bridge(&schema, Some("inn"), None)?),
            "type" => {
                let other = Schema::of::<crossdock_msg::types::std_msgs::Bool>()?;
                drop(setup.bridge(&Arc::new(other), Some("in"), None)?);
            }
            "twice" => drop(setup.bridge(&schema, None, Some("out"))?),
            _ => {}
        }
        let outgoing = setup.bridge(&schema, None, Some("out"))?;
        let incoming = setup.bridge(&schema, Some("in"), None)?;
        Ok(Self { incoming, outgoing, inside: None, left: 0, polls: 0, messages: 0 })
    }
}

impl Node for Device {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        assert_eq!(context.trigger(), Trigger::Poll);
        self.polls += 1;
        let (Some(subscriber), Some(publisher)) =
            (&self.incoming.subscriber, &self.outgoing.publisher)
        else {
            return Err(NodeError::new("an end is missing"));
        };
        if self.inside.is_none() {
            self.inside = subscriber.take()?.map(|sample| {
                // Memory that is lent to the device does not keep the node from its publisher.
                let loan = publisher.loan(sample.block().len()).expect("memory").park();
                (sample, loan)
            });
            self.left = POLLS;
        }
        if let Some((sample, loan)) = self.inside.take() {
            self.left -= 1;
            if self.left > 0 {
                self.inside = Some((sample, loan));
            } else {
                let mut loan = publisher.resume(loan).expect("its own loan");
                let block = sample.block();
                let memory = loan.bytes_mut();
                (0..block.len()).for_each(|at| memory[at] = block.read(at).expect("a byte"));
                loan.publish().map_err(|refused| refused.reason)?;
                self.messages += 1;
                log(format!("device: {} messages in {} polls", self.messages, self.polls));
            }
        }
        if self.inside.is_some() || subscriber.is_ready() {
            context.poll_again();
        } else {
            subscriber.handle().mark_processed();
            if self.messages == 3 {
                context.finish("three messages");
            }
        }
        Ok(())
    }
}

/// Has no room for its messages before one comes on another topic.
struct Held {
    messages: Bridge,
    room: Bridge,
    polls: u32,
}

impl NodeType for Held {
    const NAME: &'static str = "held";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<PointStamped>("in").subscriber::<PointStamped>("room")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let schema = Arc::new(Schema::of::<PointStamped>()?);
        let messages = setup.bridge(&schema, Some("in"), None)?;
        let room = setup.bridge(&schema, Some("room"), None)?;
        Ok(Self { messages, room, polls: 0 })
    }
}

impl Node for Held {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let ends = [&self.messages, &self.room].map(|bridge| bridge.subscriber.as_ref());
        let [Some(messages), Some(room)] = ends else {
            return Err(NodeError::new("an end is missing"));
        };
        if room.take()?.is_none() {
            messages.handle().arm_to_gather();
            messages.handle().mark_waiting();
            // Last: what is published before that is left together with what is here.
            self.polls += 1;
            POLLED.store(self.polls, Ordering::Release);
            return Ok(());
        }
        let mut taken = 0;
        while messages.take()?.is_some() {
            taken += 1;
        }
        log(format!("{taken} messages"));
        context.finish("room");
        Ok(())
    }
}

/// How often [`Held`] was polled and has left what was there.
static POLLED: AtomicU32 = AtomicU32::new(0);

/// Has a message begin what it then looks after in one poll.
struct Starter {
    input: Subscriber<PointStamped>,
}

impl NodeType for Starter {
    const NAME: &'static str = "starter";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<PointStamped>("in")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")? })
    }
}

impl Node for Starter {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        log(context.trigger().to_string());
        if self.input.take()?.is_some() {
            context.poll_again();
        }
        Ok(())
    }
}

fn process(test: &str, mistake: &str) -> Process {
    let package = Package::new("probe").node::<Device>();
    let graph = format!(
        "crossdock: 1\nname: {test}\ntopics: {{ /a: {{ external: true }} }}\nnodes:\n  device: {{ \
         package: probe, type: device, inputs: {{ in: /a }}, outputs: {{ out: /b }}, parameters: {{ \
         mistake: {mistake} }} }}\n"
    );
    let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
    let mapping = Mapping::one_process_per_node(&graph);
    let plan = checked_with(&package, &graph, &mapping, Time::Wall);
    Process::with_package(test, plan, package)
}

#[test]
fn a_device_is_polled_at_its_own_pace_and_loses_no_message_by_it() {
    take_log();
    let process = process("device", "none");
    let remote = Remote::new();
    let mut executor = process.executor(0, &remote).expect("an executor");
    let (ready, started) = channel();
    let participant = process.participant.clone();
    let outside = std::thread::spawn(move || {
        let _no_run_without_it = StopOnPanic(remote);
        let qos = Qos::reliable(16, PATIENCE);
        let options =
            SubscriberOptions { node: "outside", topic: "/b", qos, doorbell: None, group: None };
        let heard = participant.subscriber::<PointStamped>(options).expect("a subscriber");
        let options =
            PublisherOptions { node: "outside", topic: "/a", qos, max_bytes: None, group: None };
        let publisher = participant.publisher::<PointStamped>(options).expect("a publisher");
        let connected = || publisher.matched() > 0 && heard.matched() > 0;
        assert!(participant.wait_until(PATIENCE, connected));
        // All at once: the device has to come back for the others.
        for x in 1..=3 {
            nodes::publish(&publisher, f64::from(x)).expect("published");
        }
        ready.send(()).expect("the test waits");
        let end = std::time::Instant::now() + PATIENCE;
        let mut found = Vec::new();
        while found.len() < 3 {
            assert!(std::time::Instant::now() < end, "three messages, not {found:?}");
            match heard.take().expect("no error") {
                Some(sample) => found.push(sample.message().point().x()),
                None => std::thread::yield_now(),
            }
        }
        found
    });
    started.recv().expect("messages");
    let end = executor.run();
    assert_eq!(outside.join().expect("no panic"), [1.0, 2.0, 3.0]);
    assert_eq!(end, Ok(RunEnd::Finished { reason: "three messages".to_owned() }));
    // No message had the device polled that was busy with another one.
    let expected = [1, 2, 3].map(|n: u32| format!("device: {n} messages in {} polls", n * POLLS));
    assert_eq!(take_log(), expected);
}

#[test]
fn a_node_that_has_no_room_is_polled_for_new_messages_and_not_for_those_that_it_left() {
    take_log();
    let package = Package::new("probe").node::<Held>();
    let graph = "crossdock: 1\nname: held\ntopics: { /a: { external: true }, /room: { external: \
                 true } }\nnodes:\n  held: { package: probe, type: held, inputs: { in: /a, room: \
                 /room } }\n";
    let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
    let mapping = Mapping::one_process_per_node(&graph);
    let plan = checked_with(&package, &graph, &mapping, Time::Wall);
    let process = Process::with_package("held", plan, package);
    let remote = Remote::new();
    let mut executor = process.executor(0, &remote).expect("an executor");
    let participant = process.participant.clone();
    let outside = std::thread::spawn(move || {
        let _no_run_without_it = StopOnPanic(remote);
        let publisher = |topic| {
            let qos = Qos::reliable(16, PATIENCE);
            let (node, max_bytes, group) = ("outside", None, None);
            let options = PublisherOptions { node, topic, qos, max_bytes, group };
            participant.publisher::<PointStamped>(options).expect("a publisher")
        };
        let (messages, room) = (publisher("/a"), publisher("/room"));
        let connected = || messages.matched() > 0 && room.matched() > 0;
        assert!(participant.wait_until(PATIENCE, connected));
        for x in 1..=3 {
            let before = POLLED.load(Ordering::Acquire);
            nodes::publish(&messages, f64::from(x)).expect("published");
            let end = std::time::Instant::now() + PATIENCE;
            while POLLED.load(Ordering::Acquire) == before {
                assert!(std::time::Instant::now() < end, "message {x} is told");
                std::thread::yield_now();
            }
        }
        let polled = POLLED.load(Ordering::Acquire);
        // Time for many more polls, if there were a reason for them.
        (0..1000).for_each(|_| std::thread::yield_now());
        let meanwhile = POLLED.load(Ordering::Acquire) - polled;
        nodes::publish(&room, 0.0).expect("published");
        meanwhile
    });
    let end = executor.run();
    let meanwhile = outside.join().expect("no panic");
    assert!(matches!(end, Ok(RunEnd::Finished { .. })), "{end:?}");
    assert!(meanwhile <= 2, "nothing has come, and it was polled {meanwhile} times");
    assert_eq!(take_log(), ["3 messages"]);
}

#[test]
fn a_node_that_a_message_has_run_is_polled_if_it_asks_for_that() {
    // Whether or not there is more to an execution than itself.
    for (test, limit) in [("asks", ""), ("asks_limit", ", budget_ms: 86400000")] {
        take_log();
        let package = nodes::package().node::<Starter>();
        let graph = format!(
            "crossdock: 1
name: {test}
nodes:
  source: {{ package: probe, type: source, outputs: {{ out: /a }} }}
  starter: {{ package: probe, type: starter, inputs: {{ in: /a }}{limit} }}
"
        );
        let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
        let mapping = Mapping::one_chain_per_package(&graph);
        let plan = checked_with(&package, &graph, &mapping, Time::Wall);
        let process = Process::with_package(test, plan, package);
        let mut executor = process.executor(0, &Remote::new()).expect("an executor");
        assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })), "{test}");
        assert_eq!(take_log(), ["input `in`", "poll"], "{test}");
    }
}

#[test]
fn a_bridge_that_does_not_fit_its_ports_is_refused_by_name() {
    for (mistake, told) in [
        ("two topics", "connect both ports of a bridge to one topic"),
        ("unknown port", "opens subscriber `inn`"),
        ("type", "opens port `in` as std_msgs/msg/Bool"),
        ("twice", "opens port `out` twice"),
    ] {
        let process = process(&format!("bridge_{}", mistake.replace(' ', "_")), mistake);
        let error = process.executor(0, &Remote::new()).expect_err("a mistake").to_string();
        assert!(error.contains(told), "{mistake}: {error}");
    }
}
