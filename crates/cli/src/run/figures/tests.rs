//! Processes that are killed and started again: their sums are right, and what is kept of them does
//! not grow. This test's own program is the process, too.

use super::*;
use crossdock_comm::{
    Access, DoorbellOptions, EntityDescription, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Rendezvous, SubscriberOptions, WithHistogram,
};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, check};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::PointStamped;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const TEST: &str =
    "run::figures::tests::lives_of_a_process_add_up_and_what_is_kept_of_them_does_not_grow";
/// Where a child meets its parent.
const PLACE: &str = "CROSSDOCK_TEST_PLACE";
/// Longer than anything takes; a test that waits for so long has failed.
const LIMIT: Duration = Duration::from_secs(60);
/// Lives of the process behind the first two.
const LIVES: u64 = 10;

fn open(place: &Path, name: &str) -> Participant {
    let rendezvous = Rendezvous::Folder(place.to_owned());
    Participant::open(ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, name) })
        .expect("a participant")
}

fn publisher(participant: &Participant, topic: &str) -> Publisher<PointStamped> {
    let (node, qos) = ("square", Qos::reliable(8, LIMIT));
    let options = PublisherOptions { node, topic, qos, max_bytes: None, group: None };
    participant.publisher(options).expect("a publisher")
}

fn publish(publisher: &Publisher<PointStamped>) {
    publisher.loan(Extra::none()).expect("memory").publish().expect("room");
}

/// Follows lines `TAKEN FINISHED`: takes and answers so many messages, finishes so many of them.
fn process(place: &Path) {
    let participant = open(place, "square");
    let bell = participant.doorbell(DoorbellOptions::default()).expect("a doorbell");
    let (node, topic, doorbell) = ("square", "/numbers", Some(&bell));
    let of = |qos| SubscriberOptions { node, topic, qos, doorbell, group: None };
    // As a chain's latency limit has one: nothing is lost with it.
    let watch = participant.watching_subscriber(of(Qos::best_effort(1))).expect("a subscriber");
    let input = participant.subscriber::<PointStamped>(of(Qos::reliable(8, LIMIT)));
    let input = input.expect("a subscriber");
    let output = publisher(&participant, "/squares");
    let record = participant.status_table().add(EntityDescription {
        kind: kind::NODE,
        name: "square",
        detail: b"probe/square",
        histogram: WithHistogram::Yes,
    });
    let record = record.expect("a record");
    let connected = || input.matched() == 1 && watch.matched() == 1;
    assert!(participant.wait_until(LIMIT, connected));
    let say = || writeln!(std::io::stdout(), "> done").expect("the parent listens");
    say();
    for line in std::io::stdin().lines() {
        let line = line.expect("the parent speaks");
        let mut numbers = line.split(' ').map(|word| word.parse::<u64>().expect("a number"));
        let [taken, finished] = [0; 2].map(|_: u64| numbers.next().expect("two numbers"));
        for number in 1..=taken {
            assert!(input.take().expect("no error").is_some());
            publish(&output);
            record.add(node_counter::EXECUTIONS, 1);
            record.record_ns(1000);
            if number <= finished {
                input.handle().mark_processed();
            }
        }
        say();
    }
}

/// A life of the process; killed when dropped.
struct Life {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Life {
    fn start(place: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this test's own file"))
            .args([TEST, "--exact", "--nocapture", "--test-threads=1"])
            .env(PLACE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut life = Self { child, output };
        life.wait_done();
        life
    }

    fn wait_done(&mut self) {
        let mut line = String::new();
        while !line.contains("> done") {
            line.clear();
            assert!(self.output.read_line(&mut line).expect("a line") > 0, "it has ended");
        }
    }

    fn take(&mut self, taken: u64, finished: u64) {
        let input = self.child.stdin.as_mut().expect("its input");
        writeln!(input, "{taken} {finished}").expect("it listens");
        self.wait_done();
    }

    /// SIGKILL; gives its id.
    fn kill(mut self) -> u32 {
        self.child.kill().expect("it runs");
        self.child.wait().expect("its end");
        self.child.id()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder, removed when dropped.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn plan() -> Plan {
    let graph = "
crossdock: 1
name: sums
topics:
  /numbers: { type: geometry_msgs/msg/PointStamped, external: true, qos: { depth: 8 } }
nodes:
  square: { package: probe, type: square, inputs: { in: /numbers }, outputs: { out: /squares } }
";
    let message_type = "geometry_msgs/msg/PointStamped";
    let input = serde_json::json!({ "port": "in", "type": message_type, "trigger": true });
    let output = serde_json::json!({ "port": "out", "type": message_type });
    let descriptions: PackageDescriptions = serde_json::from_value(serde_json::json!({
        "binaries": [{
            "binary": "crossdock-probe",
            "packages": [{
                "name": "probe",
                "nodes": [{ "type": "square", "inputs": [input], "outputs": [output] }],
            }],
        }],
    }))
    .expect("a description");
    let graph = Graph::from_yaml("sums.graph.yaml", graph.as_bytes()).expect("a graph");
    let mapping = Mapping::one_process_per_node(&graph);
    check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).expect("a plan")
}

/// What is kept of processes that have ended: ports, records, connections.
fn kept(figures: &Figures) -> Vec<[usize; 4]> {
    let tables = figures.sums.values().map(|sum| &sum.table);
    let sizes = |table: &ProcessSnapshot| {
        let ports = [table.publishers.len(), table.subscribers.len()];
        [ports[0], ports[1], table.others.len(), table.connections.len()]
    };
    tables.map(sizes).collect()
}

#[test]
fn lives_of_a_process_add_up_and_what_is_kept_of_them_does_not_grow() {
    if let Some(place) = std::env::var_os(PLACE) {
        return process(Path::new(&place));
    }
    let place = Place(std::env::temp_dir().join(format!("xd-figures-{}", std::process::id())));
    let plan = plan();
    let participant = open(&place.0, "launcher");
    let numbers = publisher(&participant, "/numbers");
    let options = ObserverOptions {
        domain_id: 0,
        name: "launcher".to_owned(),
        rendezvous: Rendezvous::Folder(place.0.clone()),
        access: Access::SameUser,
    };
    // The node and its watch.
    let connected = || assert!(participant.wait_until(LIMIT, || numbers.peers() == 2));
    let gone = || assert!(participant.wait_until(LIMIT, || numbers.peers() == 0));

    let mut first = Life::start(&place.0);
    connected();
    let mut figures = Figures::attach(options, vec![first.child.id()]).expect("it answers");
    (0..5).for_each(|_| publish(&numbers));
    first.take(3, 2);
    let words = figures.retire(&plan, "square", first.kill());
    assert_eq!(words.doing, " while none of its nodes ran");
    gone();
    (0..2).for_each(|_| publish(&numbers));

    // Taken and not finished: one. Not taken: two, and the two that came when nobody was there.
    let lost = |figures: &Figures, returning: &[&str]| {
        let exits = BTreeMap::from([("square".to_owned(), "killed".to_owned())]);
        let reading = figures.read(&plan, &Counts::default(), &exits, (returning, true));
        let lost = reading.topics.iter().map(|row| row.losses.restart).sum::<u64>();
        (lost, reading.notes.iter().any(|it| it.ends_with("messages that it left: /numbers 3")))
    };
    assert_eq!(lost(&figures, &["square"]), (5, false), "the run may end before it is back");
    assert_eq!(lost(&figures, &[]), (0, true), "what came behind its end was not for it");
    let mut life = Life::start(&place.0);
    connected();
    assert_eq!(figures.revive("square", life.child.id()).expect("it answers"), 5);
    let (sizes, lives) = (kept(&figures), figures.left.len());
    for _ in 0..LIVES {
        publish(&numbers);
        life.take(1, 1);
        figures.retire(&plan, "square", life.kill());
        gone();
        publish(&numbers);
        life = Life::start(&place.0);
        connected();
        assert_eq!(figures.revive("square", life.child.id()).expect("it answers"), 1);
    }
    assert_eq!((kept(&figures), figures.left.len()), (sizes.clone(), lives));
    assert_eq!(sizes.len(), 1);
    publish(&numbers);
    life.take(1, 1);

    let reading = figures.read(&plan, &Counts::default(), &BTreeMap::new(), (&["square"], true));
    let row = |topic: &str| reading.topics.iter().find(|row| row.topic == topic).expect("a row");
    let taken = 3 + LIVES + 1;
    assert_eq!(row("/numbers").messages, 7 + 2 * LIVES + 1);
    assert_eq!(row("/numbers").losses.restart, 5 + LIVES);
    assert_eq!(row("/squares").messages, taken);
    assert_eq!(figures.published(), row("/numbers").messages + taken);
    let [node] = &reading.nodes[..] else { panic!("one node") };
    assert_eq!((node.executions, node.execute.max_ns), (taken, Some(1000)));
    assert!(reading.notes.is_empty(), "{:?}", reading.notes);

    // Who ends before what is in flight has arrived says so.
    publish(&numbers);
    life.take(1, 0);
    publish(&numbers);
    let read = |at_rest| figures.read(&plan, &Counts::default(), &BTreeMap::new(), (&[], at_rest));
    let in_flight = "messages that were in flight at the end of the run: /numbers 2";
    assert_eq!((read(true).notes, read(false).notes), (vec![], vec![in_flight.to_owned()]));
}
