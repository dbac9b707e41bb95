//! The network of one fabric as data: which streams there are, which library modules stand between
//! them, and what the host can read and write.

use crate::layout::PayloadLayout;
use crate::message::MessageShape;
use crate::names::{identifier, within};
use crossdock_graph::{NodeArea, REFUSED_BITS};
use serde::Serialize;

/// Subscribers of one broadcast; more get a tree. The ready path of a broadcast grows with its
/// subscribers.
pub const BROADCAST_PORTS: usize = 16;
/// Cycles through a keep-all FIFO.
const FIFO_CYCLES: u64 = 2;
/// Cycles from the end of a message to its first beat behind a keep-last FIFO.
const KEEP_LAST_CYCLES: u64 = 3;

/// The streams of all hardware-mapped topics and gateway topics of one fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Name of the graph.
    pub graph: String,
    /// Name of the fabric.
    pub fabric: String,
    /// Name of the top module.
    pub module: String,
    /// Clocks, the fabric's own first.
    pub clocks: Vec<Clock>,
    /// Topics, in the order of their names; of software-mapped ones the direct streams, those of
    /// publishers first.
    pub topics: Vec<TopicNetwork>,
    /// Topics with hardware nodes of the fabric whose messages live in host memory.
    pub software_topics: Vec<String>,
    /// Nodes whose implementation is part of the board; the others are attached to its ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NetworkNode>,
}

/// A node in a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkNode {
    /// Its name in the graph.
    pub name: String,
    /// Its name as an identifier.
    pub identifier: String,
    /// Its package.
    pub package: String,
    /// Its type in the package.
    pub node_type: String,
    /// Name of its module.
    pub module: String,
    /// Values of the module's parameters.
    pub parameters: Vec<ModuleParameter>,
    /// Values that the module was made with anew, and that its area depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// Clock.
    pub clock: Clock,
    /// Whether it says which messages it drops, so that the board counts them.
    #[serde(skip_serializing_if = "is_false")]
    pub drops: bool,
    /// Why it refuses messages, by the number that it gives, from 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuses: Vec<String>,
    /// What its package says that it takes of a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<NodeArea>,
    /// Inputs of its type.
    pub inputs: Vec<NodeEnd>,
    /// Outputs of its type.
    pub outputs: Vec<NodeEnd>,
}

impl NetworkNode {
    /// What the names of its instance and of the board's signals for it end in.
    pub(crate) fn place(&self) -> String {
        within("node", &self.identifier)
    }

    /// Parameters of the module, and values that it was made with, that are not those that the
    /// node's area is of.
    #[must_use]
    pub fn unlike_its_area(&self) -> Vec<&str> {
        let is_changed =
            |it: &&ModuleParameter| it.measured.is_some_and(|measured| it.value != measured);
        let changed = self.parameters.iter().filter(is_changed);
        changed.map(|it| &it.name).chain(&self.set_up).map(String::as_str).collect()
    }
}

/// A parameter of a node's module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModuleParameter {
    /// Its name in the module.
    pub name: String,
    /// Its value.
    pub value: i32,
    /// The value that the node's area is of; `None`: the area does not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<i32>,
}

/// A port of a node in a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeEnd {
    /// Port.
    pub port: String,
    /// Prefix of the network's signals that it is wired to; `None`: nothing.
    pub signals: Option<String>,
    /// Bits of a beat.
    pub width: u32,
    /// Publisher id of an output; 0 for inputs.
    pub publisher_id: u16,
}

/// A clock with its reset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Clock {
    /// Name in the mapping; `None`: the fabric's own.
    pub name: Option<String>,
}

impl Clock {
    /// Name of the clock's port.
    #[must_use]
    pub fn clk(&self) -> String {
        self.name.as_ref().map_or("clk".to_owned(), |name| format!("{name}_clk"))
    }

    /// Name of the port of its synchronous reset.
    #[must_use]
    pub fn rst(&self) -> String {
        self.name.as_ref().map_or("rst".to_owned(), |name| format!("{name}_rst"))
    }

    /// Name of a board's output that is high while the board is restarted for another host: what is
    /// joined to the board's streams in this clock has to be in reset then.
    #[must_use]
    pub fn restart(&self) -> String {
        self.name.as_ref().map_or("restart".to_owned(), |name| format!("{name}_restart"))
    }
}

/// What joins the publishers and subscribers of one topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopicNetwork {
    /// Name of the topic.
    pub name: String,
    /// The topic's name as an identifier; of a direct stream, with its port.
    pub identifier: String,
    /// Whether it is the direct stream of one port on a software-mapped topic: a gateway at the
    /// other end, so that its messages pass between host memory and this port alone. A
    /// software-mapped topic has one per port in the fabric, all of its name.
    #[serde(skip_serializing_if = "is_false")]
    pub direct: bool,
    /// Bits of a beat.
    pub width: u32,
    /// Clock.
    pub clock: Clock,
    /// Where the fields of its messages lie.
    pub layout: PayloadLayout,
    /// What the adapters of its messages are made from.
    #[serde(skip)]
    pub shape: MessageShape,
    /// Publishers, each with its own id.
    pub publishers: Vec<NetworkPort>,
    /// Subscribers.
    pub subscribers: Vec<NetworkPort>,
    /// Joins the publishers; `None`: there is one, and it is the topic's stream.
    pub arbiter: Option<Arbiter>,
    /// Broadcasts per level, the topic's own first: subscribers of each. Empty: wires.
    pub broadcasts: Vec<Vec<usize>>,
    /// Whether the host says which subscribers get messages.
    pub runtime_enable: bool,
    /// Whether the host can read counts of the topic's stream.
    pub probe: bool,
}

// The form that serde calls.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(value: &bool) -> bool {
    !*value
}

/// What the arbiter of a topic does besides joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Arbiter {
    /// Compares lengths with headers and with the topic's bound.
    pub check: bool,
    /// Cycles of silence that end a message; 0: none do.
    pub watchdog_cycles: u32,
    /// Whether a register lies between joining and checking, for the clock rate.
    pub register: bool,
}

/// A stream at the edge of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkPort {
    /// Whose stream it is.
    pub owner: PortOwner,
    /// Prefix of its signals (`s_axis_blur_image`).
    pub signals: String,
    /// Bits of a beat.
    pub width: u32,
    /// Clock.
    pub clock: Clock,
    /// Publisher id that the headers of its messages carry; 0 for subscribers.
    pub publisher_id: u16,
    /// Publisher id whose messages it does not get; 0: it gets all.
    pub filtered_id: u16,
    /// What stands between port and topic, in the order in which messages pass.
    pub stages: Vec<Stage>,
    /// Whether the host can read counts of the stream.
    pub probe: bool,
}

/// Whose stream it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PortOwner {
    /// A port of a node.
    Node {
        /// Node.
        node: String,
        /// Port.
        port: String,
    },
    /// The topic's gateway, which is attached from outside.
    Gateway,
}

impl PortOwner {
    /// The port for people: `blur.image`, `gateway`.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Node { node, port } => format!("{node}.{port}"),
            Self::Gateway => "gateway".to_owned(),
        }
    }
}

/// One library module between a port and its topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Width converter.
    Width {
        /// Bits of a beat before.
        from: u32,
        /// Bits of a beat behind.
        to: u32,
        /// Clock.
        clock: Clock,
    },
    /// Clock crossing.
    Crossing {
        /// Clock before.
        from: Clock,
        /// Clock behind.
        to: Clock,
        /// Bits of a beat.
        width: u32,
    },
    /// Keep-all FIFO in the topic's clock and width.
    Fifo {
        /// Beats, a power of two.
        beats: u32,
    },
    /// Keep-last FIFO in the topic's clock and width.
    KeepLast {
        /// Whole messages that wait.
        messages: u32,
        /// Beats of a slot, a power of two.
        slot_beats: u32,
    },
}

/// A word of 64 bits that the host reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Register {
    /// Byte address.
    pub address: u32,
    /// Name, unique in the network.
    pub name: String,
    /// `read` or `write`.
    pub access: &'static str,
    /// Topic it belongs to; empty: the network.
    pub topic: String,
    /// Name of the clock in which it changes or is sampled.
    pub clock: String,
    /// Bits that mean something, from bit 0 on.
    pub bits: u32,
    /// Meaning, and which bits hold what.
    pub meaning: String,
    /// What in it a host adds up and tells: messages that did not pass as they came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
    /// The reason in it that ends a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Port of the topic's module.
    #[serde(skip)]
    pub port: String,
}

impl Register {
    /// What it holds after a reset, if the host writes it: subscribers that can be switched get
    /// messages.
    #[must_use]
    pub fn reset(&self) -> u64 {
        match (self.access, self.port.as_str()) {
            ("write", "enable") => !0 >> (64 - self.bits.clamp(1, 64)),
            _ => 0,
        }
    }
}

/// The reason in a register for which a node has refused the first message that it could not work
/// on. A node in software ends the run with such a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The node.
    pub node: String,
    /// Its lowest bit.
    pub low: u32,
    /// Its bits; 0: the node has refused nothing.
    pub bits: u32,
    /// The reasons by their number, from 1.
    pub reasons: Vec<String>,
}

/// A count in a register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// What is counted.
    pub what: Counted,
    /// Topic, with its port where it is a direct stream; the node where it is one that drops.
    pub of: String,
    /// Ports of the topic that it concerns, for people (`blur.image`); of a node, its type.
    pub at: String,
    /// Its lowest bit.
    pub low: u32,
    /// Its bits; at its highest value it stands still.
    pub bits: u32,
}

/// What a count is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Messages that ended before the length in their header; they go on, marked as damaged.
    Short,
    /// Messages that were longer than the length in their header; they were cut.
    OverLong,
    /// Messages that were longer than the topic's bounds; they were dropped.
    OverBound,
    /// Messages whose publisher fell silent; they were ended, marked as damaged.
    Silent,
    /// 1: a publisher has not delivered the rest of a message that was ended.
    Dead,
    /// Messages that were dropped for newer ones.
    KeepLast,
    /// Messages that a node took and dropped on purpose.
    Dropped,
    /// Messages that a keep-last FIFO did not take: damaged, or too long for it.
    Discarded,
    /// 1: a message has begun to reach its gateway, and has not ended.
    Unended,
}

/// What the word of a node that drops messages holds.
fn dropped_meaning(node: &NetworkNode) -> String {
    let name = &node.name;
    if node.refuses.is_empty() {
        return format!(
            "messages that node {name} took and dropped on purpose; saturating; the board's, not the \
             network's"
        );
    }
    let reasons = node.refuses.iter().zip(1..).map(|(reason, number)| format!("{number} {reason}"));
    format!(
        "messages that node {name} took and dropped on purpose (15:0, saturating), and why it refused the \
         first of them that it could not work on (18:16): 0 none, {}; the board's, not the network's",
        reasons.collect::<Vec<_>>().join(", ")
    )
}

/// Bits of the count of what a node drops.
pub(crate) const DROPPED_BITS: u32 = 16;
/// Byte address of the first word that the host writes; what it reads begins at 0.
pub const CONTROL_ADDRESS: u32 = 0x8000;
/// Byte address of the first register of a board's `host_port`.
pub const HOST_PORT_ADDRESS: u32 = 0x1_0000;
/// The first word of the registers: `XDNET` and the version of this map, 1.
pub const REGISTERS_MAGIC: u64 = 0x5844_4e45_5400_0001;

impl TopicNetwork {
    /// Name of the topic's module.
    #[must_use]
    pub fn module(&self) -> String {
        format!("{}_{}", if self.direct { "direct" } else { "hmt" }, self.identifier)
    }

    /// Name of its messages: of their struct in C++ and, with `_take` and `_publish`, of their
    /// adapters. All direct streams of a topic have the same.
    #[must_use]
    pub fn message(&self) -> String {
        format!("message_{}", identifier(&self.name))
    }

    /// The topic for people; a direct stream with its port: `/image to left.image`.
    #[must_use]
    pub fn shown(&self) -> String {
        let is_node = |port: &&NetworkPort| port.owner != PortOwner::Gateway;
        let from = self.publishers.iter().find(is_node).map(|port| ("from", port));
        let end = from.or(self.subscribers.iter().find(is_node).map(|port| ("to", port)));
        match end {
            Some((word, port)) if self.direct => {
                format!("{} {word} {}", self.name, port.owner.shown())
            }
            _ => self.name.clone(),
        }
    }

    /// Name of the package with the layout of its messages.
    #[must_use]
    pub fn package(&self) -> String {
        format!("layout_{}", self.identifier)
    }

    /// Beats of the longest frame at a width.
    #[must_use]
    pub fn beats_max(&self, width: u32) -> u64 {
        self.layout.frame_bytes_max().div_ceil(u64::from(width / 8))
    }

    /// Cycles of the topic's clock from the first beat at a publisher until the last beat has been
    /// taken by every subscriber, above the sum of all beats of all publishers. Stages of single
    /// ports are not counted.
    #[must_use]
    pub fn constant_cycles(&self) -> u64 {
        let register = self.arbiter.is_some_and(|arbiter| arbiter.register);
        self.broadcasts.len() as u64 + u64::from(register)
    }

    /// Cycles that the stages of a subscriber add, each of its own clock; a keep-last FIFO adds a
    /// whole message, a crossing depends on both clocks and gives `None`.
    #[must_use]
    pub fn stage_cycles(&self, port: &NetworkPort) -> Option<u64> {
        let stages = port.stages.iter().map(|stage| match stage {
            // A narrower side needs more beats for the same message.
            Stage::Width { from, to, .. } => {
                Some(1 + self.beats_max(*to).saturating_sub(self.beats_max(*from)))
            }
            Stage::Crossing { .. } => None,
            Stage::Fifo { .. } => Some(FIFO_CYCLES),
            Stage::KeepLast { .. } => Some(KEEP_LAST_CYCLES + self.beats_max(self.width) - 1),
        });
        stages.sum()
    }

    /// Ports that have a probe, in the order of the registers.
    pub fn probed(&self) -> impl Iterator<Item = &NetworkPort> {
        self.publishers.iter().chain(&self.subscribers).filter(|port| port.probe)
    }

    /// Clocks of the topic and its ports, each once, the fabric's own first.
    #[must_use]
    pub fn clocks(&self) -> Vec<Clock> {
        let ports = self.publishers.iter().chain(&self.subscribers);
        let mut clocks: Vec<Clock> = ports.map(|port| port.clock.clone()).collect();
        clocks.push(self.clock.clone());
        clocks.sort();
        clocks.dedup();
        clocks
    }

    /// A register of the topic, without an address yet.
    fn register(
        &self,
        access: &'static str,
        name: &str,
        clock: &Clock,
        bits: u32,
        meaning: String,
    ) -> Register {
        Register {
            address: 0,
            name: format!("{}.{name}", self.identifier),
            access,
            topic: self.name.clone(),
            clock: clock.clk(),
            bits,
            meaning,
            counts: Vec::new(),
            refusal: None,
            port: name.to_owned(),
        }
    }

    /// What the host reads and writes of the topic; addresses are given by the network.
    fn registers(&self) -> Vec<Register> {
        let of = self.shown();
        let count = |what, at: String, low, bits| Count { what, of: of.clone(), at, low, bits };
        let mut registers = Vec::new();
        if let Some(arbiter) = self.arbiter {
            let meaning = "messages that were short (15:0), cut because over-long (31:16), dropped \
                           because over the bound (47:32), ended by the watchdog (63:48); \
                           saturating";
            let kinds = [Counted::Short, Counted::OverLong, Counted::OverBound, Counted::Silent];
            let counts = kinds.into_iter().zip([0, 16, 32, 48]);
            // Without a look at lengths the first three are always 0.
            let counts = counts.map(|(what, low)| count(what, shown(&self.publishers), low, 16));
            let counts = counts.collect();
            let counted = self.register("read", "counts", &self.clock, 64, meaning.into());
            registers.push(Register { counts, ..counted });
            if arbiter.watchdog_cycles > 0 {
                let meaning = "one bit per publisher: it fell silent in mid-message and has not \
                               delivered the rest; order: ";
                let meaning = format!("{meaning}{}", shown(&self.publishers));
                let bits = self.publishers.len() as u32;
                let publishers = (0..bits).zip(&self.publishers);
                let counts = publishers
                    .map(|(bit, port)| count(Counted::Dead, port.owner.shown(), bit, 1))
                    .collect();
                let dead = self.register("read", "dead", &self.clock, bits, meaning);
                registers.push(Register { counts, ..dead });
            }
        }
        for (index, port) in self.subscribers.iter().enumerate() {
            if port.stages.iter().any(|stage| matches!(stage, Stage::KeepLast { .. })) {
                let meaning = format!(
                    "keep-last FIFO of {}: messages dropped for newer ones (15:0), discarded as \
                     damaged or too long (31:16); saturating",
                    port.owner.shown()
                );
                let name = format!("fifo_{index}");
                let counts = [(Counted::KeepLast, 0), (Counted::Discarded, 16)];
                let counts = counts.map(|(what, low)| count(what, port.owner.shown(), low, 16));
                let fifo = self.register("read", &name, &self.clock, 32, meaning);
                registers.push(Register { counts: counts.into(), ..fifo });
            }
        }
        if self.runtime_enable {
            let meaning = "one bit per subscriber: it gets messages, from the next one on; order: ";
            let meaning = format!("{meaning}{}", shown(&self.subscribers));
            let bits = self.subscribers.len() as u32;
            registers.push(self.register("write", "enable", &self.clock, bits, meaning));
        }
        let topic = self.probe.then(|| ("topic".to_owned(), &self.clock, "the topic".to_owned()));
        let ports =
            self.probed().map(|port| (port.signals.clone(), &port.clock, port.owner.shown()));
        for (name, clock, of) in topic.into_iter().chain(ports) {
            let meaning = format!(
                "probe of {of}: clear (0), snapshot (1), number of the count to read (4:2): \
                 0 messages, 1 beats, 2 stall cycles, 3 gap cycles, 4 damaged, 5 cycles"
            );
            registers.push(self.register("write", &format!("probe_{name}_set"), clock, 5, meaning));
            let meaning = format!("probe of {of}: the count that was asked for, a cycle later");
            let name = format!("probe_{name}_count");
            registers.push(self.register("read", &name, clock, 64, meaning));
        }
        registers
    }
}

fn shown(ports: &[NetworkPort]) -> String {
    ports.iter().map(|port| port.owner.shown()).collect::<Vec<_>>().join(", ")
}

impl Network {
    /// Name of the module that holds the network and its gateways.
    #[must_use]
    pub fn board(&self) -> String {
        self.module.replacen("network_", "board_", 1)
    }

    /// Whether a port is joined inside the board: to a gateway or to a node that is part of it.
    #[must_use]
    pub fn is_inside(&self, port: &NetworkPort) -> bool {
        match &port.owner {
            PortOwner::Gateway => true,
            PortOwner::Node { node, .. } => self.nodes.iter().any(|it| it.name == *node),
        }
    }

    /// Every word that the host reads or writes, those that it reads first.
    #[must_use]
    pub fn registers(&self) -> Vec<Register> {
        let fixed = |name: &str, meaning: &str| Register {
            address: 0,
            name: name.to_owned(),
            access: "read",
            topic: String::new(),
            clock: "clk".to_owned(),
            bits: 64,
            meaning: meaning.to_owned(),
            counts: Vec::new(),
            refusal: None,
            port: String::new(),
        };
        let mut registers = vec![
            fixed("magic", "0x58444e4554000001: a network with this form of register map"),
            fixed("identity", "first 8 bytes of the SHA-256 of the network's files"),
        ];
        registers.extend(self.topics.iter().flat_map(TopicNetwork::registers));
        registers.sort_by_key(|register| register.access == "write");
        let (mut read, mut write) = (0, CONTROL_ADDRESS);
        for register in &mut registers {
            let next = if register.access == "read" { &mut read } else { &mut write };
            register.address = *next;
            *next += 8;
        }
        registers
    }

    /// The words that a board has beside those of its network ([`Network::registers`], which are
    /// given): behind what the host reads there, one per node that says what it drops.
    #[must_use]
    pub fn board_registers(&self, network: &[Register]) -> Vec<Register> {
        let reads = network.iter().filter(|register| register.access == "read").count();
        let dropping = self.nodes.iter().filter(|node| node.drops);
        let words = dropping.zip(reads as u32..).map(|(node, word)| Register {
            address: 8 * word,
            name: format!("{}.dropped", node.identifier),
            access: "read",
            topic: String::new(),
            clock: node.clock.clk(),
            bits: DROPPED_BITS + if node.refuses.is_empty() { 0 } else { REFUSED_BITS },
            meaning: dropped_meaning(node),
            counts: vec![Count {
                what: Counted::Dropped,
                of: node.name.clone(),
                at: format!("{} of {}", node.node_type, node.package),
                low: 0,
                bits: DROPPED_BITS,
            }],
            refusal: (!node.refuses.is_empty()).then(|| Refusal {
                node: node.name.clone(),
                low: DROPPED_BITS,
                bits: REFUSED_BITS,
                reasons: node.refuses.clone(),
            }),
            port: String::new(),
        });
        words.collect()
    }

    /// The topics and direct streams that have a gateway, in the order of the board's gateways.
    pub fn gateways(&self) -> impl Iterator<Item = &TopicNetwork> {
        let is_gateway = |port: &NetworkPort| port.owner == PortOwner::Gateway;
        let topics = self.topics.iter();
        topics.filter(move |it| it.publishers.iter().chain(&it.subscribers).any(is_gateway))
    }

    /// Every port with its topic and whether it is a publisher, in the order of the C interface.
    pub fn ports(&self) -> impl Iterator<Item = (&TopicNetwork, bool, &NetworkPort)> {
        self.topics.iter().flat_map(|topic| {
            let publishers = topic.publishers.iter().map(move |port| (topic, true, port));
            publishers.chain(topic.subscribers.iter().map(move |port| (topic, false, port)))
        })
    }
}
