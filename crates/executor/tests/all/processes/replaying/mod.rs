//! Replay in steps: graphs made to show every race, at random and by hand, in several mappings,
//! with executions that take another time in each run. What the graph publishes must be the same,
//! bit by bit: bytes, order on each topic, stamps.

mod nodes;

use std::fmt::Write as _;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crossdock_comm::{Access, ObserverOptions, Participant, ParticipantOptions, Qos, Rendezvous};
use crossdock_executor::{Executor, ExecutorOptions, Remote, RunEnd, Statistics};
use crossdock_graph::{
    ExecutorMode, Graph, MappedExecutor, MappedProcess, Mapping, Pacing, PackageDescriptions, Plan,
    ProcessPlan, RunOptions, Time, check,
};
use crossdock_msg::Schema;
use crossdock_record::compare::{CompareOptions, compare};
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, PlayTopics, Player, PlayerOptions, Rate, Recorder,
    RecorderOptions, StepTimer, Steps, TopicDescription, TopicToRecord, WriterOptions,
};
use nodes::{mixed, set_delays};

use crate::support::Folder;

const PATIENCE: Duration = Duration::from_secs(60);
const POINT: &str = "geometry_msgs/msg/PointStamped";
/// Topics of the recording.
const INPUTS: [&str; 2] = ["/in0", "/in1"];

/// Numbers at random that a seed decides.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = mixed(self.0, 7);
        self.0 % sides
    }

    fn pick<'t>(&mut self, of: &'t [String]) -> &'t str {
        &of[self.roll(of.len() as u64) as usize]
    }
}

/// A graph at random: triggers lead forward, reads anywhere; some topics have several publishers.
fn graph(dice: &mut Dice) -> Graph {
    let count = 4 + dice.roll(5);
    let inputs = INPUTS.map(str::to_owned).to_vec();
    let mut text = "crossdock: 1\nname: random\ntopics:\n".to_owned();
    for topic in &inputs {
        writeln!(text, "  {topic}: {{ type: {POINT}, external: true }}").expect("a string");
    }
    text += "nodes:\n";
    let topic = |node: u64| format!("/t{node}");
    let everything: Vec<String> =
        inputs.iter().cloned().chain((0..count).map(topic)).chain(["/shared".to_owned()]).collect();
    let mut known = inputs.clone();
    for node in 0..count {
        // The first half may publish on the shared topic, the second half may be triggered by it.
        let late = node >= count / 2;
        let ticks = node == 0 || dice.roll(3) == 0;
        let kind = if ticks { "ticker" } else { "mixer" };
        write!(text, "  n{node}:\n    package: mixing\n    type: {kind}\n    inputs: {{ ")
            .expect("a string");
        let triggers = dice.roll(3).max(u64::from(!ticks));
        for port in ["a", "b"].into_iter().take(triggers as usize) {
            let shared = late && dice.roll(3) == 0;
            let topic = if shared { "/shared" } else { dice.pick(&known) };
            write!(text, "{port}: {topic}, ").expect("a string");
        }
        for port in ["latest", "all"] {
            if dice.roll(2) == 0 {
                let (topic, depth) = (dice.pick(&everything).to_owned(), 1 + dice.roll(3));
                write!(
                    text,
                    "{port}: {{ topic: {topic}, trigger: false, qos: {{ depth: {depth} }} }}, "
                )
                .expect("a string");
            }
        }
        text += "}\n";
        let y = if !late && dice.roll(2) == 0 || node == 1 { ", y: /shared" } else { "" };
        writeln!(text, "    outputs: {{ x: /t{node}{y} }}").expect("a string");
        if ticks {
            let period = [5, 7, 10, 20][dice.roll(4) as usize];
            let offset = if dice.roll(3) == 0 { ", offset_ms: 3" } else { "" };
            writeln!(text, "    timers: {{ tick: {{ period_ms: {period}{offset} }} }}")
                .expect("a string");
        }
        if triggers == 2 && !ticks {
            let condition = match dice.roll(6) {
                0 => "    condition: { all_of: [a, b], same: stamp }\n",
                1 => "    condition: { all_of: [a, b] }\n",
                2 => {
                    "    condition: { all_of: [a, b], approximate_time: { max_interval_ms: 20 } }\n"
                }
                3 => "    condition: { fresh: [a, b] }\n",
                _ => "",
            };
            text += condition;
        }
        known.push(format!("/t{node}"));
    }
    Graph::from_yaml("random.graph.yaml", text.as_bytes()).unwrap_or_else(|error| {
        panic!("{error:?}\n{text}");
    })
}

/// A mapping at random.
fn mapping(dice: &mut Dice, graph: &Graph) -> Mapping {
    let mut seats: Vec<Vec<Vec<String>>> = vec![vec![Vec::new(); 2]; 3];
    for node in &graph.nodes {
        let (process, executor) = (dice.roll(3) as usize, dice.roll(2) as usize);
        seats[process][executor].push(node.name.clone());
    }
    let modes = [ExecutorMode::Chain, ExecutorMode::Event, ExecutorMode::Graph];
    mapped(seats, |_| modes[dice.roll(3) as usize])
}

fn mapped(seats: Vec<Vec<Vec<String>>>, mut mode: impl FnMut(usize) -> ExecutorMode) -> Mapping {
    let mut processes = Vec::new();
    for (index, executors) in seats.into_iter().enumerate() {
        let executors = executors.into_iter().filter(|nodes| !nodes.is_empty());
        let executors = executors.map(|mut nodes| {
            // What the order of the list says must not matter.
            nodes.reverse();
            let mode = mode(index);
            let threads = if mode == ExecutorMode::Graph { 2 } else { 1 };
            MappedExecutor { mode, nodes, threads, ..MappedExecutor::default() }
        });
        let executors: Vec<_> = executors.collect();
        if !executors.is_empty() {
            let name = format!("p{index}");
            processes.push(MappedProcess { name, executors, ..MappedProcess::default() });
        }
    }
    Mapping { processes, ..Mapping::default() }
}

/// All nodes in one executor, and each in one of its own.
fn together(graph: &Graph) -> Mapping {
    let nodes = graph.nodes.iter().map(|node| node.name.clone()).collect();
    mapped(vec![vec![nodes]], |_| ExecutorMode::Chain)
}

fn apart(graph: &Graph) -> Mapping {
    let nodes = graph.nodes.iter().map(|node| vec![vec![node.name.clone()]]).collect();
    mapped(nodes, |index| [ExecutorMode::Event, ExecutorMode::Chain][index % 2])
}

/// A bag with messages on both inputs, some of them at one time.
fn bag(path: &Path, messages: u64, dice: &mut Dice) {
    bag_with(path, messages, dice, &[]);
}

/// The same with a message at each of some later times, ns.
fn bag_with(path: &Path, messages: u64, dice: &mut Dice, later_ns: &[u64]) {
    let schema = Schema::shipped(POINT).expect("shipped");
    let mut writer = BagWriter::create(path, WriterOptions::new(Compression::Lz4)).expect("a bag");
    let topics = INPUTS.map(|name| {
        let topic = TopicDescription {
            name: name.to_owned(),
            type_name: POINT.to_owned(),
            definition: schema.definition().to_owned(),
            type_hash: schema.type_hash().to_string(),
            qos: Vec::new(),
        };
        writer.add_topic(topic).expect("added")
    });
    let mut time_ns = 5_000_000_000;
    for number in 0..messages as usize + later_ns.len() {
        time_ns += 5_000_000 * dice.roll(5);
        time_ns = *number.checked_sub(messages as usize).map_or(&time_ns, |at| &later_ns[at]);
        let mut cdr = vec![0, 1, 0, 0];
        cdr.extend(((time_ns / 1_000_000_000) as u32).to_le_bytes());
        cdr.extend(((time_ns % 1_000_000_000) as u32).to_le_bytes());
        cdr.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        for _ in 0..3 {
            cdr.extend((dice.roll(1000) as f64).to_le_bytes());
        }
        let topic = topics[dice.roll(2) as usize];
        writer.write(topic, time_ns, time_ns, &[IoSlice::new(&cdr)]).expect("written");
    }
    writer.finish().expect("finished");
}

fn planned(graph: &Graph, mapping: &Mapping) -> Plan {
    let binaries = vec![nodes::package().description()];
    let descriptions = PackageDescriptions { binaries, ..PackageDescriptions::default() };
    let outputs = graph.nodes.iter().flat_map(|node| &node.outputs);
    let mut recorded: Vec<String> = outputs.map(|output| output.topic.clone()).collect();
    recorded.sort();
    recorded.dedup();
    let read = |topic: &&&str| {
        graph.nodes.iter().any(|node| node.inputs.iter().any(|input| input.topic == ***topic))
    };
    let options = RunOptions {
        time: Time::Simulated { pacing: Pacing::Steps },
        played: INPUTS.iter().filter(read).map(|topic| (*topic).to_owned()).collect(),
        recorded,
        ..RunOptions::PLAIN
    };
    check(graph, mapping, &descriptions, &options).expect("a plan")
}

/// A thread with one executor, in what stands for a process of its own.
struct Thread {
    remote: Remote,
    start: Sender<()>,
    thread: JoinHandle<()>,
}

impl Thread {
    fn spawn(participant: &Participant, plan: &ProcessPlan, index: usize) -> (Self, Receiver<()>) {
        let remote = Remote::new();
        let (start, started) = channel();
        let (ready, is_ready) = channel();
        let (participant, plan, own) = (participant.clone(), plan.clone(), remote.clone());
        let thread = std::thread::spawn(move || {
            let mut executor = Executor::new(ExecutorOptions {
                participant: &participant,
                package: &nodes::package(),
                plan: &plan.executors[index],
                time: plan.time,
                duration_ns: None,
                chains: &plan.chains,
                statistics: Statistics::Off,
                remote: own,
            })
            .expect("an executor");
            executor.connect(PATIENCE).expect("connected");
            ready.send(()).expect("heard");
            started.recv().expect("started");
            while executor.run().expect("no node fails") != RunEnd::Stopped {}
        });
        (Self { remote, start, thread }, is_ready)
    }
}

/// Replays a bag; gives whether a node ended the run.
fn replay(
    folder: &Folder,
    name: &str,
    plan: &Plan,
    bag: &Path,
    factor: Option<f64>,
) -> (PathBuf, bool) {
    let meet = folder.path().join(name);
    let participant = |name: &str| {
        let mut options = ParticipantOptions::new(0, name);
        options.rendezvous = Rendezvous::Folder(meet.clone());
        Participant::open(options).expect("a participant")
    };
    let launcher = participant("launcher");
    let out = folder.path().join(format!("{name}.mcap"));
    let writer = BagWriter::create(&out, WriterOptions::new(Compression::Lz4)).expect("a bag");
    let recorded = plan.topics.iter().filter(|topic| topic.recorded);
    // As deep as the inputs in steps are, so that publishers wait for it.
    let qos = Qos::reliable(512, PATIENCE);
    let recording = recorded.map(|topic| TopicToRecord::new(topic.name.as_str(), qos));
    let options = RecorderOptions::new("recorder", recording.collect(), LogTime::Stepped);
    let recorder = Recorder::start(&launcher, writer, options).expect("recording");
    let steps = plan.steps.clone().expect("a run in steps");
    let rate = Rate::Steps(Box::new(Steps {
        observer: ObserverOptions {
            domain_id: 0,
            name: "player".to_owned(),
            rendezvous: Rendezvous::Folder(meet.clone()),
            access: Access::SameUser,
        },
        drain_timeout: PATIENCE,
        factor,
        phases: steps.phases,
        topics: steps.topics,
        timers: steps.timers.into_iter().map(timer).collect(),
        executors: plan.processes.iter().map(|process| process.executors.len()).sum(),
        recorders: 1,
    }));
    let played = plan.topics.iter().filter(|topic| topic.played);
    let topics = played.map(|topic| crossdock_record::TopicToPlay::new(topic.name.as_str()));
    let options = PlayerOptions {
        clock: Some(Duration::from_millis(10)),
        ..PlayerOptions::new("player", PlayTopics::Only(topics.collect()), rate)
    };
    let reader = BagReader::open(bag).expect("the bag");
    let player = Player::start(&launcher, reader, options).expect("a player");
    let mut threads = Vec::new();
    let mut participants = Vec::new();
    for process in &plan.processes {
        let own = participant(&process.name);
        for index in 0..process.executors.len() {
            threads.push(Thread::spawn(&own, process, index));
        }
        participants.push(own);
    }
    for (_, is_ready) in &threads {
        is_ready.recv_timeout(PATIENCE).expect("an executor that is ready");
    }
    let stands = launcher.wait_until(PATIENCE, || {
        plan.launcher.iter().all(|expected| {
            let found = launcher.topic_connections(&expected.topic);
            found.incoming >= (expected.subscribers_here * expected.publishers) as usize
                && found.outgoing >= (expected.publishers_here * expected.subscribers) as usize
        })
    });
    assert!(stands, "player and recorder are connected");
    threads.iter().for_each(|(thread, _)| thread.start.send(()).expect("it waits"));
    player.play();
    let (told, heard) = channel();
    player.when_finished(move || told.send(()).expect("the test waits"));
    heard.recv_timeout(PATIENCE).expect("the replay does not end");
    let asked = player.was_asked_to_end();
    let report = player.wait().expect("everything was played");
    for topic in &report.topics {
        assert_eq!((topic.refused, topic.mismatched), (0, 0), "{topic:?}");
    }
    for (thread, _) in threads {
        thread.remote.stop();
        thread.thread.join().expect("an executor that ends well");
    }
    let report = recorder.stop().expect("a complete bag");
    for topic in &report.topics {
        assert_eq!((topic.lost, topic.damaged, &topic.first_error), (0, 0, &None), "{topic:?}");
    }
    (out, asked)
}

fn timer(planned: crossdock_graph::StepTimer) -> StepTimer {
    let crossdock_graph::StepTimer { period_ns, offset_ns, phases } = planned;
    StepTimer { period_ns, offset_ns, phases }
}

#[track_caller]
fn same(left: &Path, right: &Path, what: &str) {
    let open = |path| BagReader::open(path).expect("a recording");
    let found = compare(&open(left), &open(right), &CompareOptions::default());
    assert!(found.is_equal(), "{what}: {:#?}", found.first());
    let messages: u64 = found.topics.iter().map(|topic| topic.messages[0]).sum();
    assert!(messages > 0, "{what}: nothing was published");
}

/// Replays one graph at random in several mappings.
fn graph_at_random(seed: u64, messages: u64) {
    let folder = Folder::new(&format!("replay-{seed}"));
    let dice = &mut Dice(seed);
    let graph = graph(dice);
    let input = folder.path().join("in.mcap");
    bag(&input, messages, dice);
    let mut first = None;
    let mappings = [together(&graph), apart(&graph), mapping(dice, &graph), mapping(dice, &graph)];
    for (index, mapping) in mappings.iter().enumerate() {
        set_delays(mixed(seed, index as u64));
        let plan = planned(&graph, mapping);
        let (out, _) = replay(&folder, &format!("m{index}"), &plan, &input, None);
        let first = first.get_or_insert_with(|| out.clone());
        same(first, &out, &format!("seed {seed}, mapping {index}"));
    }
}

#[test]
fn graphs_at_random_give_the_same_in_every_mapping() {
    for seed in 1..=3 {
        graph_at_random(seed, 20);
    }
}

#[test]
#[ignore = "takes minutes"]
fn many_graphs_at_random_give_the_same_in_every_mapping() {
    let start = crossdock_test_support::seed();
    println!("seeds from {start}");
    for seed in 0..200 {
        graph_at_random(start.wrapping_add(seed), 100);
    }
}

/// Two publishers on one topic, a circle of reads, a join whose sides rarely meet, timers that fall
/// together with each other and with messages.
const RACES: &str = "crossdock: 1
name: races
topics:
  /in0: { type: geometry_msgs/msg/PointStamped, external: true }
  /in1: { type: geometry_msgs/msg/PointStamped, external: true }
nodes:
  left: { package: mixing, type: mixer, inputs: { a: /in0, latest: { topic: /right, trigger: false } },
          outputs: { x: /left, y: /both } }
  right: { package: mixing, type: mixer, inputs: { a: /in0, latest: { topic: /left, trigger: false } },
           outputs: { x: /right, y: /both } }
  merge: { package: mixing, type: mixer, inputs: { a: /both, b: /left, all: { topic: /in1, trigger: false } },
           outputs: { x: /merged } }
  slow: { package: mixing, type: ticker, inputs: { latest: { topic: /merged, trigger: false } },
          outputs: { x: /ticks }, timers: { tick: { period_ms: 10 } } }
  fast: { package: mixing, type: ticker, inputs: { latest: { topic: /ticks, trigger: false } },
          outputs: { x: /ticks }, timers: { tick: { period_ms: 5 } } }
  join: { package: mixing, type: mixer, inputs: { a: /ticks, b: /right, all: { topic: /joined, trigger: false } },
          outputs: { x: /joined }, condition: { all_of: [a, b], same: stamp } }
  last: { package: mixing, type: mixer, inputs: { a: /joined, b: /ticks }, outputs: { x: /last },
          parameters: { finish_after: FINISH } }
";

fn races(finish_after: u32) -> Graph {
    let text = RACES.replace("FINISH", &finish_after.to_string());
    Graph::from_yaml("races.graph.yaml", text.as_bytes()).expect("a graph")
}

#[test]
fn races_are_decided_the_same_way_paced_or_not() {
    let folder = Folder::new("races");
    let (graph, input) = (races(0), folder.path().join("in.mcap"));
    bag(&input, 60, &mut Dice(3));
    let runs = [
        ("together", together(&graph), None),
        ("apart", apart(&graph), None),
        ("apart-again", apart(&graph), None),
        ("paced", apart(&graph), Some(4.0)),
    ];
    for (index, (name, mapping, factor)) in runs.iter().enumerate() {
        set_delays(1000 * index as u64);
        let (out, asked) = replay(&folder, name, &planned(&graph, mapping), &input, *factor);
        assert!(!asked, "nobody asks for the end");
        same(&folder.path().join("together.mcap"), &out, name);
    }
}

#[test]
fn a_node_ends_the_run_with_the_same_step_in_every_mapping() {
    let folder = Folder::new("finish");
    let (graph, input) = (races(40), folder.path().join("in.mcap"));
    bag(&input, 60, &mut Dice(3));
    for (name, mapping) in [("together", together(&graph)), ("apart", apart(&graph))] {
        set_delays(name.len() as u64);
        let (out, asked) = replay(&folder, name, &planned(&graph, &mapping), &input, None);
        assert!(asked, "the last node asks for the end");
        same(&folder.path().join("together.mcap"), &out, name);
    }
}

#[test]
fn a_node_that_asks_the_computer_for_the_time_is_found_by_its_topic() {
    let folder = Folder::new("clock");
    let text = RACES.replace("FINISH", "0").replace(
        "outputs: { x: /merged } }",
        "outputs: { x: /merged }, parameters: { asks_the_time: true } }",
    );
    let graph = Graph::from_yaml("races.graph.yaml", text.as_bytes()).expect("a graph");
    let input = folder.path().join("in.mcap");
    bag(&input, 20, &mut Dice(3));
    let plan = planned(&graph, &together(&graph));
    let [one, other] = ["one", "other"].map(|name| replay(&folder, name, &plan, &input, None).0);
    let open = |path: &PathBuf| BagReader::open(path).expect("a recording");
    let found = compare(&open(&one), &open(&other), &CompareOptions::default());
    let differ = found.topics.iter().filter(|topic| topic.differing > 0);
    let differ: Vec<&str> = differ.map(|topic| topic.name.as_str()).collect();
    // `slow` reads what it publishes, and `fast` what that one does.
    assert!(differ.contains(&"/merged") && !differ.contains(&"/left"), "{differ:?}");
}

#[test]
fn a_replay_with_timers_ends_at_the_last_time_that_a_recording_can_name() {
    let folder = Folder::new("last_time");
    let (graph, input) = (races(0), folder.path().join("in.mcap"));
    // A step before it, so that timers do not only jump there.
    bag_with(&input, 10, &mut Dice(3), &[u64::MAX - 40_000_000, u64::MAX]);
    for (name, mapping) in [("together", together(&graph)), ("apart", apart(&graph))] {
        set_delays(0);
        let (out, asked) = replay(&folder, name, &planned(&graph, &mapping), &input, None);
        assert!(!asked, "nobody asks for the end");
        same(&folder.path().join("together.mcap"), &out, name);
    }
}
