//! Prints what many nodes cost that are made as ROS 2's client libraries make them: 7 services, 2
//! publishers and 1 subscriber each. `/parameter_events` joins everybody with everybody.
//!
//! `cargo run --release -p crossdock-comm --example default_nodes -- NODES [own]`: once all in this
//! process, then each in a process of its own. `own`: each node has rings of its own instead of
//! those that a participant shares.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock_comm::{
    AnyThread, BackPressure, DoorbellOptions, FreePublisherOptions, FreeServerOptions,
    FreeSubscriberOptions, Participant, ParticipantOptions, Publisher, Qos, Server, SharedDoorbell,
    SharedPublisher, SharedSubscriber, SharedTopic, SharedTopicOptions, Subscriber,
};
use crossdock_msg::Schema;
use crossdock_msg::types::rcl_interfaces::Log;
use crossdock_msg::types::std_srvs::srv::Trigger;

const TOPICS: [&str; 2] = ["/parameter_events", "/rosout"];
const SERVICES: usize = 7;
/// Longer than this nobody waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// The ports of one node.
enum Node {
    Own {
        _publishers: Vec<Publisher<Log, AnyThread>>,
        subscriber: Subscriber<Log, AnyThread>,
        _servers: Vec<Server<Trigger, AnyThread>>,
    },
    Shared {
        _publishers: Vec<SharedPublisher>,
        _subscriber: SharedSubscriber,
        _servers: Vec<Server<Trigger, AnyThread>>,
    },
}

/// What the nodes of one process are made with.
struct Process {
    participant: Participant,
    bell: SharedDoorbell,
    shared: Option<[SharedTopic; 2]>,
}

fn qos(topic: &str) -> Qos {
    let qos = Qos::reliable(1000, Duration::from_millis(100));
    if topic == "/rosout" { qos.transient_local() } else { qos }
}

impl Process {
    fn open(domain: u32, own: bool) -> Process {
        let options = ParticipantOptions::new(domain, "default_nodes");
        let participant = Participant::open(options).unwrap();
        let bell = participant.shared_doorbell(DoorbellOptions::default()).unwrap();
        let schema = Arc::new(Schema::of::<Log>().unwrap());
        let open = |topic| {
            let (node, qos, doorbell) = ("context", qos(topic), Some(&bell));
            let options = SharedTopicOptions { node, topic, qos, max_bytes: None, doorbell };
            participant.shared_topic(&schema, options)
        };
        let shared = (!own).then(|| TOPICS.map(open));
        Process { participant, bell, shared }
    }

    fn servers(&self, node: &str) -> Vec<Server<Trigger, AnyThread>> {
        let serve = |number| {
            let service = format!("/{node}/service_{number}");
            let (service, doorbell) = (service.as_str(), Some(&self.bell));
            let options =
                FreeServerOptions { node, service, doorbell, ..FreeServerOptions::default() };
            self.participant.free_server(options).unwrap()
        };
        (0..SERVICES).map(serve).collect()
    }

    fn node(&self, name: &str) -> Node {
        let _servers = self.servers(name);
        if let Some(topics) = &self.shared {
            let _publishers = topics.iter().map(|topic| topic.publisher(name).unwrap()).collect();
            let _subscriber = topics[0].subscriber(name, 1000).unwrap();
            return Node::Shared { _publishers, _subscriber, _servers };
        }
        let publish = |topic| {
            let options =
                FreePublisherOptions { node: name, topic, qos: qos(topic), max_bytes: None };
            self.participant.free_publisher(options).unwrap()
        };
        let _publishers = TOPICS.map(publish).into();
        let [topic, _] = TOPICS;
        let (qos, doorbell) = (qos(topic), Some(&self.bell));
        let back_pressure = BackPressure::Never;
        let options = FreeSubscriberOptions { node: name, topic, qos, back_pressure, doorbell };
        let subscriber = self.participant.free_subscriber(options).unwrap();
        Node::Own { _publishers, subscriber, _servers }
    }

    /// Is everybody connected with everybody?
    fn is_matched(&self, nodes: &[Node], processes: usize, all: usize) -> bool {
        match &self.shared {
            Some([events, _]) => {
                events.matched_publishers() == processes
                    && events.matched_subscribers() == processes
            }
            None => nodes.iter().all(|node| match node {
                Node::Own { subscriber, .. } => subscriber.matched() == all,
                Node::Shared { .. } => false,
            }),
        }
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Nodes of this process, until all are connected; prints how that went.
fn run(process: &Process, own_nodes: usize, processes: usize) -> Vec<Node> {
    let started = Instant::now();
    let nodes: Vec<_> = (0..own_nodes)
        .map(|node| process.node(&format!("node_{}_{node}", std::process::id())))
        .collect();
    let made = started.elapsed();
    let all = processes * own_nodes;
    let is_matched = || process.is_matched(&nodes, processes, all);
    let matched = process.participant.wait_until(PATIENCE, is_matched);
    let took = started.elapsed();
    println!(
        "{} {:.3} {:.3} {}",
        if matched { "matched" } else { "NOT" },
        made.as_secs_f64(),
        took.as_secs_f64(),
        descriptors()
    );
    nodes
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count: usize = arguments.first().and_then(|it| it.parse().ok()).unwrap_or(150);
    let own = arguments.iter().any(|it| it == "own");
    let domain = 201;
    if arguments.iter().any(|it| it == "child") {
        let nodes = run(&Process::open(domain, own), 1, count);
        // Until the parent ends it.
        let _ = std::io::stdin().read(&mut [0]);
        drop(nodes);
        return;
    }
    println!("{count} nodes in one process: outcome, made after s, matched after s, descriptors");
    drop(run(&Process::open(domain - 1, own), count, 1));
    let started = Instant::now();
    let arguments = [count.to_string(), if own { "own" } else { "shared" }.into(), "child".into()];
    let mut children: Vec<_> = (0..count)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut worst = (true, 0);
    for child in &mut children {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let descriptors = line.split(' ').next_back().map(str::trim).unwrap_or_default();
        worst =
            (worst.0 && line.starts_with("matched"), worst.1.max(descriptors.parse().unwrap_or(0)));
    }
    println!(
        "{count} processes with one node each: all matched {}, {:.3} s from the first start, at \
         most {} descriptors each",
        worst.0,
        started.elapsed().as_secs_f64(),
        worst.1
    );
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    children.iter_mut().for_each(|child| _ = child.wait());
}
