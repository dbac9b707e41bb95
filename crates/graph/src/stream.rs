//! What a mapping says of a topic's AXI stream in a fabric: width, clock, checks, and what stands
//! between the topic and each of its ports. Model and reading.
//!
//! Whether the ports exist is for `check`.

use crate::names::{node_fault, token_fault};
use crate::read::{Fields, Keys, Reading};
use crate::violation::ViolationKind;
use crate::yaml::{Entry, Tree};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Widths of a stream, bits.
pub const STREAM_WIDTHS: [u32; 4] = [64, 128, 256, 512];
/// Default width of a stream, bits.
pub const STREAM_WIDTH_DEFAULT: u32 = 64;
/// Beats of a FIFO: what the module `axis_fifo` can be made for.
const FIFO_BEATS: RangeInclusive<u64> = 4..=1 << 20;
/// Whole messages of a keep-all FIFO; their beats have the bound of `FIFO_BEATS` too.
const FIFO_MESSAGES: RangeInclusive<u64> = 1..=1024;
/// Whole messages of a keep-last FIFO: what the module `axis_fifo_last` can be made for.
const KEEP_LAST: RangeInclusive<u64> = 1..=14;
/// Cycles of a watchdog: what the module `axis_arb` can be made for.
const WATCHDOG_CYCLES: RangeInclusive<u64> = 2..=1 << 30;

pub(crate) const TOPIC_KEYS: [&str; 9] = [
    "width",
    "clock",
    "check",
    "watchdog_cycles",
    "runtime_enable",
    "probe",
    "publishers",
    "subscribers",
    "gateway",
];
const PUBLISHER: Keys = Keys {
    what: "a publisher's stream",
    required: &[],
    optional: &["width", "converter", "clock", "probe"],
};
const SUBSCRIBER: Keys = Keys {
    what: "a subscriber's stream",
    required: &[],
    optional: &["width", "converter", "clock", "probe", "fifo_beats", "fifo_messages", "keep_last"],
};

/// The AXI stream of a hardware-mapped topic, or of the hardware side of a gateway topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopicStream {
    /// Bits of a beat: 64, 128, 256 or 512; `None`: [`STREAM_WIDTH_DEFAULT`].
    pub width: Option<u32>,
    /// Name of the topic's clock; `None`: the fabric's own.
    pub clock: Option<String>,
    /// Whether messages are held against the length in their header; `None`: where there are
    /// several publishers.
    pub check: Option<bool>,
    /// Cycles of silence in mid-message after which a publisher's message is ended for it.
    pub watchdog_cycles: Option<u32>,
    /// Whether the host says at run time which subscribers get messages.
    pub runtime_enable: bool,
    /// Whether the host can read counts of the topic's stream.
    pub probe: bool,
    /// Publishers with something to say of their streams.
    pub publishers: Vec<NodeStream>,
    /// Subscribers with something to say of their streams.
    pub subscribers: Vec<NodeStream>,
    /// The gateway's stream, both directions; FIFO and probe stand in the way up.
    pub gateway: PortStream,
}

/// The stream of one port of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeStream {
    /// Node.
    pub node: String,
    /// Port of the node.
    pub port: String,
    /// What is said of it.
    #[serde(flatten)]
    pub stream: PortStream,
}

/// What stands between a topic and one of its ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortStream {
    /// Bits of a beat at the port; `None`: as the topic.
    pub width: Option<u32>,
    /// Whether a width converter may stand between.
    pub converter: bool,
    /// Name of the port's clock; `None`: as the topic. Another clock takes a crossing.
    pub clock: Option<String>,
    /// FIFO before a subscriber.
    pub fifo: Option<StreamFifo>,
    /// Whether the host can read counts of the port's stream.
    pub probe: bool,
}

/// A FIFO before a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamFifo {
    /// Keep-all, of this many beats, a power of two.
    Beats(u32),
    /// Keep-all, of at least this many of the longest messages.
    Messages(u32),
    /// Keep-last: the newest of this many whole messages wait; it never stalls the topic.
    KeepLast(u32),
}

impl TopicStream {
    /// The same with other names of nodes.
    pub(crate) fn with_nodes(&self, node: &dyn Fn(&str) -> String) -> Self {
        let mut renamed = self.clone();
        for stream in renamed.publishers.iter_mut().chain(&mut renamed.subscribers) {
            stream.node = node(&stream.node);
        }
        renamed
    }

    /// What is said of a publisher's stream.
    #[must_use]
    pub fn publisher(&self, node: &str, port: &str) -> PortStream {
        said(&self.publishers, node, port)
    }

    /// What is said of a subscriber's stream.
    #[must_use]
    pub fn subscriber(&self, node: &str, port: &str) -> PortStream {
        said(&self.subscribers, node, port)
    }
}

fn said(streams: &[NodeStream], node: &str, port: &str) -> PortStream {
    let found = streams.iter().find(|stream| stream.node == node && stream.port == port);
    found.map(|stream| stream.stream.clone()).unwrap_or_default()
}

/// The stream keys of a topic of a mapping file.
pub(crate) fn read_stream(reading: &mut Reading, topic: &str, fields: &Fields<'_>) -> TopicStream {
    TopicStream {
        width: read_width(reading, fields),
        clock: clock(reading, fields),
        check: fields.get("check").and_then(|tree| reading.boolean(tree, "`check`")),
        watchdog_cycles: count(reading, fields, "watchdog_cycles", WATCHDOG_CYCLES),
        runtime_enable: flag(reading, fields, "runtime_enable"),
        probe: flag(reading, fields, "probe"),
        publishers: ports(reading, topic, fields, "publishers", &PUBLISHER),
        subscribers: ports(reading, topic, fields, "subscribers", &SUBSCRIBER),
        gateway: match fields.get("gateway") {
            Some(tree) => {
                reading.source.set(&["topics", topic, "gateway"], tree.place);
                port(reading, tree, &SUBSCRIBER)
            }
            None => PortStream::default(),
        },
    }
}

/// Nodes, and below each its ports.
fn ports(
    reading: &mut Reading,
    topic: &str,
    fields: &Fields<'_>,
    key: &str,
    keys: &Keys,
) -> Vec<NodeStream> {
    let mut streams = Vec::new();
    let Some(tree) = fields.get(key) else { return streams };
    for node in reading.map(tree, &format!("`{key}`")) {
        reading.check_name(&node.key, node.key_place, "the node", node_fault);
        for entry in reading.map(&node.value, "a node's streams") {
            streams.push(node_stream(reading, &[topic, key, &node.key], entry, keys));
        }
    }
    streams
}

fn node_stream(reading: &mut Reading, at: &[&str; 3], entry: &Entry, keys: &Keys) -> NodeStream {
    let [topic, key, node] = *at;
    let path = ["topics", topic, key, node, &entry.key];
    reading.source.set(&path, entry.key_place);
    reading.check_name(&entry.key, entry.key_place, "the port", token_fault);
    let stream = port(reading, &entry.value, keys);
    NodeStream { node: node.to_owned(), port: entry.key.clone(), stream }
}

fn port(reading: &mut Reading, tree: &Tree, keys: &Keys) -> PortStream {
    let fields = reading.fields(tree, keys);
    let fifos = [
        count(reading, &fields, "fifo_beats", FIFO_BEATS).map(StreamFifo::Beats),
        count(reading, &fields, "fifo_messages", FIFO_MESSAGES).map(StreamFifo::Messages),
        count(reading, &fields, "keep_last", KEEP_LAST).map(StreamFifo::KeepLast),
    ];
    if let Some(StreamFifo::Beats(beats)) = fifos[0]
        && !beats.is_power_of_two()
    {
        let message = format!("`fifo_beats` must be a power of two, not {beats}");
        let advice = format!("write {}", beats.next_power_of_two());
        reading.note(ViolationKind::OutOfRange, tree.place, message, advice);
    }
    if ["fifo_beats", "fifo_messages", "keep_last"]
        .into_iter()
        .filter(|key| fields.get(key).is_some())
        .count()
        > 1
    {
        let message = "a subscriber has one FIFO, but several are named";
        let advice = "keep one of `fifo_beats`, `fifo_messages` and `keep_last`";
        reading.note(ViolationKind::WrongValue, tree.place, message, advice);
    }
    PortStream {
        width: read_width(reading, &fields),
        converter: flag(reading, &fields, "converter"),
        clock: clock(reading, &fields),
        fifo: fifos.into_iter().flatten().next(),
        probe: flag(reading, &fields, "probe"),
    }
}

/// The key `width` of a stream.
pub(crate) fn read_width(reading: &mut Reading, fields: &Fields<'_>) -> Option<u32> {
    width_of(reading, fields.get("width")?, "`width`")
}

/// The width of a stream, `what` it is called.
pub(crate) fn width_of(reading: &mut Reading, tree: &Tree, what: &str) -> Option<u32> {
    let width = reading.integer(tree, what, 64..=512)?;
    let known = STREAM_WIDTHS.into_iter().find(|known| u64::from(*known) == width);
    if known.is_none() {
        let message = format!("{what} must be 64, 128, 256 or 512 bits, not {width}");
        reading.note(ViolationKind::OutOfRange, tree.place, message, "choose one of these");
    }
    known
}

fn clock(reading: &mut Reading, fields: &Fields<'_>) -> Option<String> {
    reading.name(fields.get("clock")?, "the clock", token_fault)
}

fn flag(reading: &mut Reading, fields: &Fields<'_>, key: &str) -> bool {
    let tree = fields.get(key);
    tree.and_then(|tree| reading.boolean(tree, &format!("`{key}`"))).unwrap_or_default()
}

fn count(
    reading: &mut Reading,
    fields: &Fields<'_>,
    key: &str,
    range: RangeInclusive<u64>,
) -> Option<u32> {
    let value = reading.integer(fields.get(key)?, &format!("`{key}`"), range)?;
    u32::try_from(value).ok()
}

/// The stream keys as the text of a mapping file, only those that say something.
pub(crate) fn stream_fields(stream: &TopicStream, quoted: fn(&str) -> String) -> Vec<String> {
    let mut fields = Vec::new();
    fields.extend(stream.width.map(|width| format!("width: {width}")));
    fields.extend(stream.clock.as_ref().map(|clock| format!("clock: {}", quoted(clock))));
    fields.extend(stream.check.map(|check| format!("check: {check}")));
    fields.extend(stream.watchdog_cycles.map(|cycles| format!("watchdog_cycles: {cycles}")));
    fields.extend(stream.runtime_enable.then(|| "runtime_enable: true".to_owned()));
    fields.extend(stream.probe.then(|| "probe: true".to_owned()));
    for (key, streams) in [("publishers", &stream.publishers), ("subscribers", &stream.subscribers)]
    {
        let mut nodes: Vec<(&str, Vec<String>)> = Vec::new();
        for one in streams {
            let text =
                format!("{}: {}", quoted(&one.port), braced(&port_fields(&one.stream, quoted)));
            match nodes.iter_mut().find(|(node, _)| *node == one.node) {
                Some((_, ports)) => ports.push(text),
                None => nodes.push((&one.node, vec![text])),
            }
        }
        let nodes: Vec<String> = (nodes.iter())
            .map(|(node, ports)| format!("{}: {}", quoted(node), braced(ports)))
            .collect();
        fields.extend((!nodes.is_empty()).then(|| format!("{key}: {}", braced(&nodes))));
    }
    if stream.gateway != PortStream::default() {
        fields.push(format!("gateway: {}", braced(&port_fields(&stream.gateway, quoted))));
    }
    fields
}

fn port_fields(stream: &PortStream, quoted: fn(&str) -> String) -> Vec<String> {
    let mut fields = Vec::new();
    fields.extend(stream.width.map(|width| format!("width: {width}")));
    fields.extend(stream.converter.then(|| "converter: true".to_owned()));
    fields.extend(stream.clock.as_ref().map(|clock| format!("clock: {}", quoted(clock))));
    fields.extend(stream.probe.then(|| "probe: true".to_owned()));
    fields.extend(stream.fifo.map(|fifo| match fifo {
        StreamFifo::Beats(beats) => format!("fifo_beats: {beats}"),
        StreamFifo::Messages(messages) => format!("fifo_messages: {messages}"),
        StreamFifo::KeepLast(messages) => format!("keep_last: {messages}"),
    }));
    fields
}

fn braced(fields: &[String]) -> String {
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}
