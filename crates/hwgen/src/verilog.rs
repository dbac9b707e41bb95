//! The network as SystemVerilog: one module per topic, one that holds them all, one package per
//! topic with the layout of its messages. Only wires and instances of library modules: whatever
//! needs logic belongs into the library. Must not decide anything about the network.

use crate::layout::{ElementCount, FieldPlace};
use crate::library::{Instance, LibraryModule, Parameter};
use crate::names::within;
use crate::network::{
    CONTROL_ADDRESS, Clock, Network, NetworkPort, REGISTERS_MAGIC, Register, Stage, TopicNetwork,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The signals of a stream: name and bits, `None` for one.
pub(crate) fn signals(width: u32) -> [(&'static str, Option<u32>); 6] {
    [
        ("tdata", Some(width)),
        ("tkeep", Some(width / 8)),
        ("tlast", None),
        ("tuser", None),
        ("tvalid", None),
        ("tready", None),
    ]
}

fn number(value: u32) -> Parameter {
    Parameter::Number(u64::from(value))
}

fn range(bits: Option<u32>) -> String {
    bits.map_or(String::new(), |bits| format!("[{}:0]", bits - 1))
}

/// A module under construction: its ports and body, and the library modules that it uses.
pub(crate) struct Body {
    ports: Vec<(&'static str, String, String)>,
    /// Ports that only a simulation has.
    simulated: Vec<String>,
    text: String,
    /// Signals that nothing reads.
    unread: Vec<String>,
    used: Vec<Instance>,
}

impl Body {
    pub(crate) fn new() -> Self {
        Self {
            ports: Vec::new(),
            simulated: Vec::new(),
            text: String::new(),
            unread: Vec::new(),
            used: Vec::new(),
        }
    }

    pub(crate) fn port(&mut self, direction: &'static str, bits: Option<u32>, name: &str) {
        self.ports.push((direction, range(bits), name.to_owned()));
    }

    /// A port of simulations only, beside others that all have.
    pub(crate) fn simulated_port(
        &mut self,
        direction: &'static str,
        bits: Option<u32>,
        name: &str,
    ) {
        let range = range(bits);
        let space = if range.is_empty() { "" } else { " " };
        self.simulated.push(format!("  {direction} wire {range}{space}{name},\n"));
    }

    pub(crate) fn clocks(&mut self, clocks: &[Clock]) {
        for clock in clocks {
            self.port("input", None, &clock.clk());
            self.port("input", None, &clock.rst());
        }
    }

    pub(crate) fn stream_port(&mut self, port: &NetworkPort, publishes: bool) {
        for (signal, bits) in signals(port.width) {
            let forward = signal != "tready";
            let direction = if forward == publishes { "input" } else { "output" };
            self.port(direction, bits, &format!("{}_{signal}", port.signals));
        }
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(crate) fn wire(&mut self, bits: Option<u32>, name: &str) {
        let range = range(bits);
        let space = if range.is_empty() { "" } else { " " };
        self.line(&format!("  wire {range}{space}{name};"));
    }

    pub(crate) fn stream(&mut self, width: u32, name: &str) {
        for (signal, bits) in signals(width) {
            self.wire(bits, &format!("{name}_{signal}"));
        }
    }

    /// `to` is `from`.
    fn join(&mut self, from: &str, to: &str) {
        for signal in ["tdata", "tkeep", "tlast", "tuser", "tvalid"] {
            self.line(&format!("  assign {to}_{signal} = {from}_{signal};"));
        }
        self.line(&format!("  assign {from}_tready = {to}_tready;"));
    }

    pub(crate) fn instance(
        &mut self,
        module: LibraryModule,
        name: &str,
        parameters: &[(&'static str, Parameter)],
        connections: &[(String, String)],
    ) {
        self.used.push(Instance { module, parameters: parameters.to_vec() });
        let parameters = parameters.iter().map(|(name, value)| format!("    .{name}({value})"));
        let connections = connections.iter().map(|(port, to)| format!("    .{port}({to})"));
        let parameters = parameters.collect::<Vec<_>>().join(",\n");
        let connections = connections.collect::<Vec<_>>().join(",\n");
        self.line(&format!("  {module} #(\n{parameters}\n  ) {name} (\n{connections}\n  );\n"));
    }

    /// A module of the network's own, without parameters.
    pub(crate) fn plain_instance(
        &mut self,
        module: &str,
        name: &str,
        connections: &[(String, String)],
    ) {
        let connections = connections.iter().map(|(port, to)| format!("    .{port}({to})"));
        let connections = connections.collect::<Vec<_>>().join(",\n");
        self.line(&format!("  {module} {name} (\n{connections}\n  );\n"));
    }

    /// A module that is not the library's, with parameters by name and value.
    pub(crate) fn node_instance(
        &mut self,
        module: &str,
        name: &str,
        parameters: &[(String, String)],
        connections: &[(String, String)],
    ) {
        let list = |pairs: &[(String, String)]| {
            let pairs = pairs.iter().map(|(name, value)| format!("    .{name}({value})"));
            pairs.collect::<Vec<_>>().join(",\n")
        };
        let parameters = match parameters {
            [] => String::new(),
            parameters => format!("#(\n{}\n  ) ", list(parameters)),
        };
        let connections = list(connections);
        self.line(&format!("  {module} {parameters}{name} (\n{connections}\n  );\n"));
    }

    pub(crate) fn module(mut self, name: &str, comment: &str) -> (String, Vec<Instance>) {
        if !self.unread.is_empty() {
            let unread = self.unread.join(", ");
            self.line(&format!("  wire unused = &{{1'b0, {unread}}};\n"));
        }
        let ports = self.ports.iter().map(|(direction, range, name)| {
            let space = if range.is_empty() { "" } else { " " };
            format!("  {direction} wire {range}{space}{name}")
        });
        let ports = ports.collect::<Vec<_>>().join(",\n");
        let simulated = match self.simulated.as_slice() {
            [] => String::new(),
            ports => format!("`ifdef VERILATOR\n{}`endif\n", ports.concat()),
        };
        let text = format!(
            "{comment}`default_nettype none\n\nmodule {name} (\n{simulated}{ports}\n);\n\n{}endmodule\n\n\
             `default_nettype wire\n",
            self.text
        );
        (text, self.used)
    }
}

/// Names of one direction of a stream in an instance, connected to the stream `to`.
fn connected(direction: &str, to: &str) -> Vec<(String, String)> {
    let pairs = signals(64).into_iter();
    pairs
        .map(|(signal, _)| (format!("{direction}_axis_{signal}"), format!("{to}_{signal}")))
        .collect()
}

fn clocked(clock: &Clock) -> Vec<(String, String)> {
    vec![("clk".to_owned(), clock.clk()), ("rst".to_owned(), clock.rst())]
}

/// A signal of several streams side by side, the first one lowest.
fn lanes(streams: &[String], signal: &str) -> String {
    let names = streams.iter().rev().map(|stream| format!("{stream}_{signal}"));
    let names = names.collect::<Vec<_>>().join(", ");
    if streams.len() == 1 { names } else { format!("{{{names}}}") }
}

// One topic ---------------------------------------------------------------------------------------

/// The module of a topic and the instances of library modules in it.
pub(crate) fn topic(
    network: &Network,
    topic: &TopicNetwork,
    registers: &[Register],
) -> (String, Vec<Instance>) {
    let mut body = Body::new();
    body.clocks(&topic.clocks());
    for register in registers.iter().filter(|register| register.topic == topic.name) {
        let direction = if register.access == "read" { "output" } else { "input" };
        body.port(direction, Some(register.bits), &register.port);
    }
    for port in &topic.publishers {
        body.stream_port(port, true);
    }
    for port in &topic.subscribers {
        body.stream_port(port, false);
    }
    body.stream(topic.width, "topic");
    body.line("");
    publishers(&mut body, topic);
    subscribers(&mut body, topic);
    let direct = "topic".to_owned();
    let topic_probe = topic.probe.then_some((&direct, &direct, &topic.clock));
    let probes = topic.probed().map(|port| (&port.signals, &port.signals, &port.clock));
    for (name, stream, clock) in topic_probe.into_iter().chain(probes) {
        probe(&mut body, name, stream, clock);
    }
    // A module has all clocks of its topic, also one that only wires belong to.
    let is_used = |name: &str| body.text.contains(&format!("({name})"));
    let clocks: Vec<String> = (topic.clocks().iter())
        .flat_map(|clock| [clock.clk(), clock.rst()])
        .filter(|name| !is_used(name))
        .collect();
    body.unread.extend(clocks);
    let comment = format!(
        "// Generated from graph `{}`, fabric `{}`: topic {} of {}, {} publishers, {} subscribers.\n",
        network.graph,
        network.fabric,
        topic.name,
        topic.layout.type_name,
        topic.publishers.len(),
        topic.subscribers.len()
    );
    body.module(&topic.module(), &comment)
}

/// From the publishers' ports to the stream `topic`.
fn publishers(body: &mut Body, topic: &TopicNetwork) {
    let mut ends = Vec::new();
    for (index, port) in topic.publishers.iter().enumerate() {
        ends.push(chain(body, topic, port, &format!("p{index}"), &port.signals, None));
    }
    if topic.publishers.is_empty() {
        for (signal, bits) in &signals(topic.width)[..5] {
            let zeros = bits.map_or("1'b0".to_owned(), |_| "'0".to_owned());
            body.line(&format!("  assign topic_{signal} = {zeros};"));
        }
        body.unread.push("topic_tready".to_owned());
        return;
    }
    let Some(arbiter) = topic.arbiter else { return body.join(&ends[0], "topic") };
    let dead = arbiter.watchdog_cycles > 0;
    body.line("");
    if !dead {
        body.wire(Some(topic.publishers.len() as u32), "dead");
        body.unread.push("dead".to_owned());
    }
    let parameters = [
        ("WIDTH", number(topic.width)),
        ("PORTS", Parameter::Number(topic.publishers.len() as u64)),
        ("CHECK", Parameter::Bit(arbiter.check)),
        ("REGISTER", Parameter::Bit(arbiter.register)),
        ("MAX_BYTES", Parameter::Word(topic.layout.payload_bytes_max)),
        ("WATCHDOG_CYCLES", number(arbiter.watchdog_cycles)),
    ];
    let mut connections = clocked(&topic.clock);
    for (signal, _) in signals(topic.width) {
        connections.push((format!("s_axis_{signal}"), lanes(&ends, signal)));
    }
    connections.extend(connected("m", "topic"));
    connections.push(("dead".to_owned(), "dead".to_owned()));
    for (name, low) in [("short", 0), ("overlong", 16), ("oversize", 32), ("timeout", 48)] {
        connections.push((format!("count_{name}"), format!("counts[{low} +: 16]")));
    }
    body.instance(LibraryModule::AxisArb, "u_arb", &parameters, &connections);
}

/// From the stream `topic` to the subscribers' ports.
fn subscribers(body: &mut Body, topic: &TopicNetwork) {
    if topic.subscribers.is_empty() {
        // What nobody subscribes to is taken and gone, as with topics in software.
        body.line("  assign topic_tready = 1'b1;");
        let signals = ["tdata", "tkeep", "tlast", "tuser", "tvalid"];
        body.unread.extend(signals.map(|signal| format!("topic_{signal}")));
        return;
    }
    let starts: Vec<String> = if topic.broadcasts.is_empty() {
        vec!["topic".to_owned()]
    } else {
        broadcasts(body, topic)
    };
    for (index, port) in topic.subscribers.iter().enumerate() {
        let end = Some(port.signals.as_str());
        chain(body, topic, port, &format!("s{index}"), &starts[index], end);
    }
}

/// The broadcasts of all levels; gives the streams that they end in.
fn broadcasts(body: &mut Body, topic: &TopicNetwork) -> Vec<String> {
    let mut inputs = vec!["topic".to_owned()];
    let levels = topic.broadcasts.len();
    for (level, broadcasts) in topic.broadcasts.iter().enumerate() {
        let is_last = level + 1 == levels;
        let mut outputs = Vec::new();
        for (index, (ports, input)) in broadcasts.iter().zip(&inputs).enumerate() {
            let first = outputs.len();
            let streams: Vec<String> =
                (0..*ports).map(|port| format!("b{level}_{}", first + port)).collect();
            for stream in &streams {
                body.stream(topic.width, stream);
            }
            let shared = format!("b{level}_shared{index}");
            for (signal, bits) in &signals(topic.width)[..4] {
                body.wire(*bits, &format!("{shared}_{signal}"));
                for stream in &streams {
                    body.line(&format!("  assign {stream}_{signal} = {shared}_{signal};"));
                }
            }
            body.line("");
            let served = is_last.then(|| &topic.subscribers[first..first + ports]);
            broadcast(
                body,
                topic,
                &format!("u_bcast_{level}_{index}"),
                input,
                &shared,
                &streams,
                served,
                first,
            );
            outputs.extend(streams);
        }
        inputs = outputs;
    }
    inputs
}

#[allow(clippy::too_many_arguments, reason = "one instance and everything that it is connected to")]
fn broadcast(
    body: &mut Body,
    topic: &TopicNetwork,
    name: &str,
    input: &str,
    shared: &str,
    streams: &[String],
    served: Option<&[NetworkPort]>,
    first: usize,
) {
    let ports = streams.len();
    let filter = served.into_iter().flatten().enumerate();
    let filter: u32 = filter.map(|(bit, port)| u32::from(port.filtered_id != 0) << bit).sum();
    let ids = served.into_iter().flatten().rev();
    let ids: Vec<String> = ids.map(|port| format!("16'd{}", port.filtered_id)).collect();
    let enable = topic.runtime_enable && served.is_some();
    let parameters = [
        ("WIDTH", number(topic.width)),
        ("PORTS", Parameter::Number(ports as u64)),
        ("ENABLE", Parameter::Bit(enable)),
        ("LOOP_FILTER", number(filter)),
    ];
    let mut connections = clocked(&topic.clock);
    let enabled = if enable { format!("enable[{first} +: {ports}]") } else { "'1".to_owned() };
    let own_ids = if filter == 0 { "'0".to_owned() } else { format!("{{{}}}", ids.join(", ")) };
    connections.push(("enable".to_owned(), enabled));
    connections.push(("own_id".to_owned(), own_ids));
    connections.extend(connected("s", input));
    for (signal, _) in &signals(topic.width)[..4] {
        connections.push((format!("m_axis_{signal}"), format!("{shared}_{signal}")));
    }
    for signal in ["tvalid", "tready"] {
        connections.push((format!("m_axis_{signal}"), lanes(streams, signal)));
    }
    body.instance(LibraryModule::AxisBcast, name, &parameters, &connections);
}

/// The stages of a port, from the stream `start` to the stream `end`, or to one of their own. Gives
/// the name of the stream that they end in.
fn chain(
    body: &mut Body,
    topic: &TopicNetwork,
    port: &NetworkPort,
    prefix: &str,
    start: &str,
    end: Option<&str>,
) -> String {
    let mut from = start.to_owned();
    if port.stages.is_empty() {
        if let Some(end) = end {
            body.join(&from, end);
            body.line("");
            return end.to_owned();
        }
        return from;
    }
    let mut width = if end.is_none() { port.width } else { topic.width };
    for (index, stage) in port.stages.iter().enumerate() {
        if let Stage::Width { to, .. } = stage {
            width = *to;
        }
        let to = match end {
            Some(end) if index + 1 == port.stages.len() => end.to_owned(),
            _ => {
                let name = format!("{prefix}_{index}");
                body.stream(width, &name);
                body.line("");
                name
            }
        };
        let name = format!("u_{prefix}_{index}");
        stage_instance(body, topic, stage, &name, prefix, [&from, &to]);
        from = to;
    }
    from
}

fn stage_instance(
    body: &mut Body,
    topic: &TopicNetwork,
    stage: &Stage,
    name: &str,
    prefix: &str,
    [from, to]: [&str; 2],
) {
    let streams = || connected("s", from).into_iter().chain(connected("m", to));
    let width = ("WIDTH", number(topic.width));
    match stage {
        Stage::Width { from, to, clock } => {
            let parameters = [("S_WIDTH", number(*from)), ("M_WIDTH", number(*to))];
            let connections: Vec<_> = clocked(clock).into_iter().chain(streams()).collect();
            body.instance(LibraryModule::AxisWidth, name, &parameters, &connections);
        }
        Stage::Crossing { from, to, width } => {
            let clocks = [("s", from), ("m", to)].into_iter().flat_map(|(side, clock)| {
                [(format!("{side}_clk"), clock.clk()), (format!("{side}_rst"), clock.rst())]
            });
            let connections: Vec<_> = clocks.chain(streams()).collect();
            let parameters = [("WIDTH", number(*width))];
            body.instance(LibraryModule::AxisCdc, name, &parameters, &connections);
        }
        Stage::Fifo { beats } => {
            let connections: Vec<_> = clocked(&topic.clock).into_iter().chain(streams()).collect();
            let parameters = [width, ("DEPTH", number(*beats))];
            body.instance(LibraryModule::AxisFifo, name, &parameters, &connections);
        }
        Stage::KeepLast { messages, slot_beats } => {
            let mut connections: Vec<_> =
                clocked(&topic.clock).into_iter().chain(streams()).collect();
            let counts = prefix.replacen('s', "fifo_", 1);
            for (count, low) in [("dropped", 0), ("discarded", 16)] {
                connections.push((format!("count_{count}"), format!("{counts}[{low} +: 16]")));
            }
            let parameters =
                [width, ("KEEP", number(*messages)), ("SLOT_BEATS", number(*slot_beats))];
            body.instance(LibraryModule::AxisFifoLast, name, &parameters, &connections);
        }
    }
}

fn probe(body: &mut Body, name: &str, stream: &str, clock: &Clock) {
    let mut connections = clocked(clock);
    for signal in ["tlast", "tuser", "tvalid", "tready"] {
        connections.push((format!("s_axis_{signal}"), format!("{stream}_{signal}")));
    }
    let set = format!("probe_{name}_set");
    connections.push(("clear".to_owned(), format!("{set}[0]")));
    connections.push(("snapshot".to_owned(), format!("{set}[1]")));
    connections.push(("read_address".to_owned(), format!("{set}[4:2]")));
    connections.push(("read_data".to_owned(), format!("probe_{name}_count")));
    let parameters = [("COUNT_WIDTH", number(48))];
    body.instance(LibraryModule::AxisProbe, &within("u_probe", name), &parameters, &connections);
}

// The network -------------------------------------------------------------------------------------

/// The top module. `identity` is what the host reads to know which network it talks to.
pub(crate) fn network(network: &Network, registers: &[Register], identity: u64) -> String {
    let mut body = Body::new();
    body.clocks(&network.clocks);
    let written = registers.iter().filter(|register| register.access == "write");
    let (reads, writes) = (registers.len() - written.clone().count(), written.count());
    body.port("output", Some(64 * reads as u32), "status");
    if writes > 0 {
        body.port("input", Some(64 * writes as u32), "control");
    }
    for (_, publishes, port) in network.ports() {
        body.stream_port(port, publishes);
    }
    body.line(&format!("  assign status[0 +: 64] = 64'h{REGISTERS_MAGIC:016x};"));
    body.line(&format!("  assign status[64 +: 64] = 64'h{identity:016x};"));
    for register in registers.iter().filter(|register| register.access == "read") {
        let low = register.address * 8;
        if register.bits < 64 && low >= 128 {
            let (from, zeros) = (low + register.bits, 64 - register.bits);
            body.line(&format!("  assign status[{from} +: {zeros}] = '0;"));
        }
    }
    body.line("");
    let mut clocks = BTreeSet::new();
    for topic in &network.topics {
        let mut connections = Vec::new();
        for clock in topic.clocks() {
            clocks.insert(clock.clone());
            connections.extend([clock.clk(), clock.rst()].map(|name| (name.clone(), name)));
        }
        for register in registers.iter().filter(|register| register.topic == topic.name) {
            let (word, low) = match register.access {
                "read" => ("status", register.address * 8),
                _ => ("control", (register.address - CONTROL_ADDRESS) * 8),
            };
            let bits = format!("{word}[{low} +: {}]", register.bits);
            connections.push((register.port.clone(), bits));
        }
        for port in topic.publishers.iter().chain(&topic.subscribers) {
            let names = signals(port.width).map(|(signal, _)| format!("{}_{signal}", port.signals));
            connections.extend(names.map(|name| (name.clone(), name)));
        }
        body.plain_instance(&topic.module(), &within("u_topic", &topic.identifier), &connections);
    }
    let idle = network.clocks.iter().filter(|clock| !clocks.contains(clock));
    body.unread.extend(idle.flat_map(|clock| [clock.clk(), clock.rst()]));
    if writes > 0 {
        body.unread.push("control".to_owned());
    }
    let comment = format!(
        "// Generated from graph `{}`: the streams between the hardware nodes of fabric `{}`.\n",
        network.graph, network.fabric
    );
    body.module(&network.module, &comment).0
}

// Layouts -----------------------------------------------------------------------------------------

/// The package with the layout of a topic's messages.
pub(crate) fn package(topic: &TopicNetwork) -> String {
    let layout = &topic.layout;
    let mut text = format!(
        "// Generated: topic {}, {}, {}.\n// docs/formats/hardware-network.md says what the names \
         mean. All lengths in bytes.\n",
        topic.name, layout.type_name, layout.type_hash
    );
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        text,
        "// Who includes a table uses what it needs of it.\n/* verilator lint_off UNUSEDPARAM */\npackage {};\n",
        topic.package()
    );
    let mut constant = |name: &str, value: u64| {
        let _ = writeln!(text, "  localparam int unsigned {name} = 32'd{value};");
    };
    constant("WIDTH", u64::from(topic.width));
    constant("HEADER__BYTES", crate::layout::HEADER_BYTES);
    constant("PAYLOAD__BYTES_MAX", layout.payload_bytes_max);
    constant("FRAME__BEATS_MAX", topic.beats_max(topic.width));
    for field in &layout.fields {
        // Names of fields are lower case without double underscores: no two become one.
        let path = field.path.replace("[]", "").replace('.', "__").to_uppercase();
        let inner = field.path.contains("[]");
        let name = if inner { format!("ITEM__{path}") } else { format!("FIELD__{path}") };
        match field.place {
            FieldPlace::Offset(offset) => constant(&format!("{name}__OFFSET"), offset),
            FieldPlace::Aligned(bytes) => constant(&format!("{name}__ALIGNMENT"), bytes),
        }
        if let Some(bytes) = field.element_bytes {
            constant(&format!("{name}__ELEMENT_BYTES"), bytes);
        }
        match field.count {
            ElementCount::Fixed(count) => constant(&format!("{name}__COUNT"), count),
            ElementCount::Bounded(bound) => constant(&format!("{name}__BOUND"), bound),
        }
    }
    for port in &topic.publishers {
        let of = port.signals.strip_prefix("s_axis_").unwrap_or(&port.signals);
        constant(&format!("PUBLISHER__{of}__ID"), u64::from(port.publisher_id));
    }
    text.push_str("\nendpackage\n/* verilator lint_on UNUSEDPARAM */\n");
    text
}
