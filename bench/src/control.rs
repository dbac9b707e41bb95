//! How the coordinator and its child processes talk: one JSON document per line, over the child's
//! standard input and output. Not in use while a block is measured.

use crate::machine::Cores;
use crate::usage::Usage;
use crate::{Failure, failure::While};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::PathBuf;

/// A way to pass messages. The variants of one system differ in how the receiver waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// Typed publishers and subscribers.
    Crossdock,
    /// The same with a bounded spin before the receiver sleeps.
    CrossdockSpin,
    /// Publisher and subscriber on one thread that are not joined there: through the ring.
    CrossdockRing,
    /// The same as `Crossdock` with the stamp given, so that publishing reads no clock.
    CrossdockStamped,
    /// The peer, polled.
    Iceoryx2,
    /// The peer, woken through its WaitSet.
    Iceoryx2Waitset,
    /// The peer, woken through a blocking Listener.
    Iceoryx2Listener,
    /// The peer's variant for one process only.
    Iceoryx2Local,
    /// Bare shared memory: the payload and a word; woken by a futex.
    Floor,
    /// Bare shared memory: nothing but the word.
    FloorWord,
    /// Bare shared memory: a word for each sleeper, woken one after the other.
    FloorEach,
    /// The same; the sender wakes two, and everybody who is woken wakes two others.
    FloorTree,
    /// Nodes of executors in event mode.
    CrossdockEvent,
    /// Nodes of one executor in chain mode.
    CrossdockChain,
    /// Nodes of one executor in graph mode.
    CrossdockGraph,
    /// Datagrams through the kernel's loopback interface, and nothing else.
    Udp,
    /// Copies through shared memory; the waiting thread takes messages itself.
    Shared,
    /// Copies through shared memory; a thread of the middleware takes messages and hands them on.
    SharedThread,
    /// Eclipse Cyclone DDS with its defaults, over the loopback interface.
    Cyclone,
    /// The same with the buffers and datagrams that its users set for large messages.
    CycloneTuned,
    /// The same through Eclipse iceoryx: loaned messages in shared memory.
    CycloneShared,
    /// Eclipse Zenoh, peer to peer, messages in its shared memory.
    Zenoh,
    /// Tasks of a copper application.
    Copper,
    /// Nodes of a dora dataflow.
    Dora,
    /// Nothing: nodes call each other.
    Calls,
}

/// How the receiver waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It looks again and again.
    Poll,
    /// It sleeps in the kernel.
    Wake,
}

/// What one child process does in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends a message, waits for the answer, measures the round trip.
    Ping,
    /// Answers each message with one of the same size.
    Pong,
    /// Publishes to subscribers in another process that do not run; measures batches.
    Publisher,
    /// Holds subscribers that are connected and do nothing.
    Subscribers,
    /// Publishes, takes and drops on one thread; measures batches.
    HandOver,
    /// Asks for messages where there are none; measures batches.
    EmptyPoll,
    /// Publishes to sleeping threads of another process; measures single messages.
    ArmedPublisher,
    /// Holds one thread per subscriber, each asleep until a message comes.
    Sleepers,
    /// Publishes what goes through several nodes, one message at a time; measures until the last
    /// node has it.
    Head,
    /// Answers each message with one of the same size on another topic, to all who listen there.
    Relay,
    /// Takes a message of each of its topics, and tells the head.
    Tail,
    /// Runs the executors of one process of a mapping.
    Nodes,
    /// Runs all nodes on one thread, and measures itself.
    OneThread,
}

/// How nodes are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// So many nodes in a row.
    Chain(usize),
    /// A head, a node behind it that all of so many workers listen to, and one that joins their
    /// answers.
    Fork(usize),
}

impl Shape {
    /// Messages one after the other from the first node to the last.
    pub fn hops(self) -> usize {
        match self {
            Shape::Chain(nodes) => nodes - 1,
            Shape::Fork(_) => 3,
        }
    }

    /// Messages of one round.
    pub fn messages(self) -> usize {
        match self {
            Shape::Chain(nodes) => nodes - 1,
            Shape::Fork(workers) => 2 + workers,
        }
    }
}

/// One process's part in a shape.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Way {
    /// Topic that it publishes on.
    pub out: Option<String>,
    /// Topics that it takes from.
    pub into: Vec<String>,
    /// Subscribers of `out`.
    pub listeners: usize,
    /// All of it.
    pub shape: Option<Shape>,
    /// Where executors run it.
    pub launch: Option<Launch>,
    /// Processors of its threads, or of the processes that it starts.
    pub cpus: Vec<usize>,
}

/// One process of a graph.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Launch {
    /// Graph file.
    pub graph: String,
    /// Mapping file.
    pub mapping: String,
    /// Which of the mapping's processes.
    pub process: String,
}

/// Everything that a child process needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChildPlan {
    /// What it does.
    pub role: Role,
    /// What it does it with.
    pub system: System,
    /// How it waits.
    pub mode: Mode,
    /// For the record; `cpu` is what counts.
    pub cores: Cores,
    /// Processor that all its threads run on.
    pub cpu: usize,
    /// Length of every message.
    pub payload_bytes: usize,
    /// Whether payloads are written and read.
    pub touched: bool,
    /// Subscribers on the topic.
    pub subscribers: usize,
    /// Operations per sample, where one is too short for the clock.
    pub batch: u32,
    /// How long a receiver that may spin does so before it sleeps.
    pub spin_us: u32,
    /// Where the processes of this run meet.
    pub folder: PathBuf,
    /// Names the case among all cases of the run.
    pub case_name: String,
    /// Where it is one of several nodes.
    #[serde(default)]
    pub way: Way,
}

/// From the coordinator to a child.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Make this many samples after `warm_up` others that are not counted.
    Run {
        /// Samples before the counted ones.
        warm_up: u32,
        /// Counted samples.
        count: u32,
    },
    /// The block is over: say what it took. For sides that cannot know that themselves.
    Report,
}

/// From a child to the coordinator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Everything is connected.
    Ready,
    /// A block is over.
    Block {
        /// Empty where this side does not measure.
        samples_ns: Vec<u64>,
        /// A second measurement per sample, where there is one.
        seconds_ns: Vec<u64>,
        /// Of this process, in the counted part.
        usage: Usage,
    },
    /// This side cannot go on.
    Failed(String),
}

/// The child's end. Ends of file mean that the coordinator is gone or done.
#[derive(Debug, Default)]
pub struct Control;

impl Control {
    /// Blocks until the next command; `None`: there will be none.
    pub fn await_command(&mut self) -> Result<Option<Command>, Failure> {
        hear()
    }

    /// Sends one line.
    pub fn reply(&mut self, reply: &Reply) -> Result<(), Failure> {
        tell(reply)
    }
}

/// Blocks until the coordinator says something; `None`: it has nothing more to say.
pub fn hear<T: DeserializeOwned>() -> Result<Option<T>, Failure> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).during("waiting for a command")?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&line).during("understanding a command").map(Some)
}

/// Says something to the coordinator.
pub fn tell(what: &impl Serialize) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(what).during("writing a reply")?;
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    output.write_all(&line).during("sending a reply")?;
    output.flush().during("sending a reply")
}
