//! The adapter of node types that give a short message for each message, or for each set of
//! messages of one stamp: the adapters of all ports and `message_shell` in one module, so that
//! such a node is its kernel.

use super::ports::TypePort;
use crate::library::LibraryModule;
use crate::message::{Member, MessageShape, Port, adapter_name, range};
use crate::verilog::signals;
use crossdock_graph::{HardwareNode, REFUSED_BITS};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const IMAGE: &str = "sensor_msgs/msg/Image";
/// What goes from the first input's header into that of the message that is published.
const HEADER: [&str; 3] = ["header.stamp.sec", "header.stamp.nanosec", FRAME];
const FRAME: &str = "header.frame_id";
/// Fields of an image that `picture_check` looks at; its size is the kernel's to know, too.
const CHECKED: [&str; 3] = ["encoding", "is_bigendian", "step"];
/// What `stamp_join` can join.
const JOINED_MAX: usize = 3;

/// A port of the node type, and the fields of its messages.
pub(super) struct MessagePort<'a> {
    pub(super) port: TypePort<'a>,
    /// Bits of a beat, unless the node says otherwise.
    pub(super) width: u32,
    pub(super) shape: MessageShape,
}

/// How messages of an input reach the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Each of them starts it.
    Alone,
    /// A set with one of each input starts it; this is the input of this index.
    Joined(usize),
    /// They do not trigger: the kernel takes them as they come.
    Beside,
}

impl Turn {
    /// Whether the header of what is published comes from here.
    fn is_first(self) -> bool {
        matches!(self, Self::Alone | Self::Joined(0))
    }
}

/// The ports of a node type by what they are for.
struct Ports<'a> {
    triggers: Vec<&'a MessagePort<'a>>,
    beside: Option<&'a MessagePort<'a>>,
    output: &'a MessagePort<'a>,
}

/// Name of the adapter of a node type.
pub(super) fn name(node: &HardwareNode) -> String {
    format!("{}_messages", node.description.node_type)
}

/// The library modules that stand in it between the adapters of ports.
pub(super) fn parts(node: &HardwareNode) -> Vec<LibraryModule> {
    let triggers = || node.description.inputs.iter().filter(|it| it.trigger);
    let check = triggers().any(|it| it.message_type == IMAGE);
    let join = (triggers().count() > 1).then_some(LibraryModule::StampJoin);
    let check = check.then_some(LibraryModule::PictureCheck);
    [LibraryModule::MessageShell].into_iter().chain(check).chain(join).collect()
}

/// The adapter of a node type with these ports.
///
/// # Errors
/// What the node type must be like, if it cannot have one.
pub(super) fn text(node: &HardwareNode, ports: &[MessagePort<'_>]) -> Result<String, &'static str> {
    let ports = sorted(node, ports)?;
    fits(node, &ports)?;
    let mut adapter = Adapter {
        node_type: &node.description.node_type,
        ports: String::new(),
        body: String::new(),
        unread: Vec::new(),
    };
    adapter.shared(&ports);
    for (index, input) in ports.triggers.iter().enumerate() {
        let turn = if ports.triggers.len() > 1 { Turn::Joined(index) } else { Turn::Alone };
        adapter.take(turn, input);
    }
    if let Some(input) = ports.beside {
        adapter.take(Turn::Beside, input);
    }
    adapter.between(&ports);
    adapter.publish(ports.triggers[0], ports.output);
    Ok(adapter.text(&ports))
}

/// What the ports are for, if they are as many as can be.
fn sorted<'a>(
    node: &HardwareNode,
    ports: &'a [MessagePort<'a>],
) -> Result<Ports<'a>, &'static str> {
    let (outputs, inputs): (Vec<_>, Vec<_>) = ports.iter().partition(|it| it.port.publishes);
    let (triggers, beside): (Vec<_>, Vec<_>) = inputs.into_iter().partition(|it| it.port.triggers);
    let ([output], false) = (outputs.as_slice(), triggers.is_empty()) else {
        return Err("it must have inputs that trigger and one output");
    };
    if node.description.inputs.iter().any(|it| it.optional) {
        return Err("all its inputs must be connected");
    }
    if beside.len() > 1 || (!beside.is_empty() && triggers.len() > 1) {
        return Err("beside an input that does not trigger it must have exactly one that does");
    }
    Ok(Ports { triggers, beside: beside.first().copied(), output })
}

fn fits(node: &HardwareNode, ports: &Ports<'_>) -> Result<(), &'static str> {
    let Ports { triggers, beside, output } = ports;
    let joined = node.condition.as_ref().map(|it| it.same_stamp().map_or(0, <[String]>::len));
    let has_condition = match triggers.len() {
        1 => joined.is_none(),
        many => many <= JOINED_MAX && joined == Some(many),
    };
    if !has_condition {
        return Err("with one input that triggers it must have no condition, with two or three \
                    `condition: { all_of: [...], same: stamp }` of all of them");
    }
    let all = || triggers.iter().chain(beside).chain([output]).copied();
    if all().any(|it| it.shape.has_items()) {
        return Err("its messages must have no arrays or sequences of messages or texts");
    }
    let names: BTreeSet<String> =
        all().map(|it| HardwareNode::width_parameter(it.port.name)).collect();
    if names.len() < all().count() {
        return Err("the names of its ports must differ in more than their case");
    }
    let bound = |port: &MessagePort<'_>| match field(port, FRAME)?.port()? {
        Port::Bounded { bound, .. } => Some(bound),
        _ => None,
    };
    let has_header = |port: &MessagePort<'_>| HEADER.iter().all(|it| field(port, it).is_some());
    if !all().all(has_header) || bound(triggers[0]).is_none() {
        return Err(
            "its messages must have a std_msgs/msg/Header `header` with a bound of at most 64 \
                    for header.frame_id",
        );
    }
    if bound(triggers[0]) != bound(output) {
        return Err(
            "the bounds of header.frame_id must be the same at the first input and the output",
        );
    }
    let is_large = |port: &MessagePort<'_>| port.shape.leaves().into_iter().any(is_stream);
    let is_alone = triggers.len() == 1;
    if all().skip(usize::from(is_alone)).any(is_large) {
        return Err("only messages of a single input that triggers may have large fields");
    }
    if triggers[0].port.message_type == IMAGE {
        let encoding = field(triggers[0], "encoding").and_then(Member::port);
        if !matches!(encoding, Some(Port::Bounded { bound: 5.., .. })) {
            return Err("the bound of an image's encoding must be 5 to 64");
        }
    }
    Ok(())
}

fn field<'a>(port: &'a MessagePort<'_>, path: &str) -> Option<&'a Member> {
    port.shape.leaves().into_iter().find(|it| it.path == path)
}

fn is_stream(member: &Member) -> bool {
    matches!(member.port(), Some(Port::ValueStream { .. } | Port::DataStream { .. }))
}

/// Whether a field is the kernel's to see, or to set.
fn is_shown(port: &MessagePort<'_>, member: &Member) -> bool {
    let is_image = port.port.message_type == IMAGE && !port.port.publishes;
    let path = member.path.as_str();
    !(HEADER.contains(&path) || is_image && CHECKED.contains(&path))
}

/// A field's name beside those of other ports.
fn shown(port: &MessagePort<'_>, member: &Member) -> String {
    format!("{}__{}", port.port.name, member.path.replace('.', "__"))
}

/// The module under construction.
struct Adapter<'a> {
    node_type: &'a str,
    ports: String,
    body: String,
    /// Signals that nothing reads.
    unread: Vec<String>,
}

impl Adapter<'_> {
    fn port(&mut self, direction: &str, bits: u64, name: &str) {
        self.ranged(direction, &range(bits), name);
    }

    fn ranged(&mut self, direction: &str, range: &str, name: &str) {
        let space = if range.is_empty() { "" } else { " " };
        let comma = if self.ports.is_empty() { "" } else { ",\n" };
        let _ = write!(self.ports, "{comma}  {direction} {range}{space}{name}");
    }

    fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn wire(&mut self, bits: u64, name: &str) {
        let range = range(bits);
        let space = if range.is_empty() { "" } else { " " };
        self.line(&format!("  wire {range}{space}{name};"));
    }

    /// A wire that nothing reads.
    fn unread(&mut self, bits: u64, name: &str) {
        self.wire(bits, name);
        self.unread.push(name.to_owned());
    }

    fn instance(
        &mut self,
        module: &str,
        parameters: &[(&str, &str)],
        name: &str,
        to: &[[&str; 2]],
    ) {
        let list = |all: Vec<String>| all.join(",\n");
        let said = parameters.iter().map(|(name, value)| format!("    .{name}({value})"));
        let parameters = match parameters {
            [] => String::new(),
            _ => format!(" #(\n{}\n  )", list(said.collect())),
        };
        let to = list(to.iter().map(|[port, to]| format!("    .{port}({to})")).collect());
        self.line(&format!("\n  {module}{parameters} {name} (\n{to}\n  );"));
    }

    /// Streams, and what every kernel has.
    fn shared(&mut self, of: &Ports<'_>) {
        let Ports { triggers, beside, output } = of;
        for name in ["clk", "rst"] {
            self.port("input  wire", 1, name);
        }
        let publisher = format!("{}_publisher_id", output.port.name);
        let inputs = triggers.iter().chain(beside).map(|it| (*it, 's'));
        for (port, letter) in inputs.chain([(*output, 'm')]) {
            if letter == 'm' {
                self.port("input  wire", 16, &publisher);
            }
            for (signal, range) in stream(port) {
                let enters = (letter == 's') == (signal != "tready");
                let direction = if enters { "input  wire" } else { "output wire" };
                let name = format!("{letter}_axis_{}_{signal}", port.port.name);
                self.ranged(direction, &range, &name);
            }
        }
        self.port("output wire", 1, "start");
        self.port("input  wire", 1, "made");
        self.port("output wire", 1, "next");
        self.port("output wire", 32, "sec");
        self.port("output wire", 32, "nanosec");
        self.port("output wire", 1, "dropped");
        if triggers[0].port.message_type == IMAGE {
            self.port("output wire", REFUSED_BITS.into(), "refused");
        }
        self.port("output wire", 1, "busy");
        let last = triggers.len() as u64;
        for name in ["came", "go_on", "failed", "passes"] {
            self.wire(last, name);
        }
    }

    /// The adapter of an input, with its fields.
    fn take(&mut self, turn: Turn, input: &MessagePort<'_>) {
        let name = input.port.name;
        let own = |of: &str| match turn {
            Turn::Alone => of.to_owned(),
            Turn::Joined(index) => format!("{of}[{index}]"),
            Turn::Beside => format!("{name}_{of}"),
        };
        let mut to: Vec<[String; 2]> = vec![same("clk"), same("rst")];
        let stream = |signal: &str| format!("s_axis_{name}_{signal}");
        for (signal, _) in signals(input.width) {
            to.push([format!("s_axis_{signal}"), stream(signal)]);
        }
        if turn == Turn::Beside {
            self.port("output wire", 1, &own("came"));
            self.port("input  wire", 1, &own("go_on"));
            self.wire(1, &own("failed"));
            self.wire(1, &own("passes"));
        }
        for (port, of) in [("valid", "came"), ("ready", "go_on"), ("failed", "failed")] {
            to.push([port.to_owned(), own(of)]);
        }
        for (port, bits) in [
            ("fault", 3),
            ("header_publisher_id", 16),
            ("header_payload_bytes", 32),
            ("header_sequence", 32),
            ("header_stamp", 64),
            ("parsed", input.shape.fields as u64),
        ] {
            let wire = format!("{name}_{port}");
            match (port, turn.is_first()) {
                ("header_stamp", true) => self.wire(bits, &wire),
                _ => self.unread(bits, &wire),
            }
            to.push([port.to_owned(), wire]);
        }
        for member in input.shape.leaves() {
            self.taken(turn, input, member, &mut to);
        }
        let passes = own("passes");
        self.line(&format!("  assign {passes} = {} && {};", stream("tvalid"), stream("tready")));
        self.whole_instance(input, "u_take", &to);
    }

    /// A field that comes.
    fn taken(
        &mut self,
        turn: Turn,
        input: &MessagePort<'_>,
        member: &Member,
        to: &mut Vec<[String; 2]>,
    ) {
        let Some(port) = member.port() else { return };
        let (field, shown_name) = (member.port_name(), shown(input, member));
        let is_stamp = HEADER[..2].contains(&member.path.as_str());
        let mut give = |adapter: &mut Self, bits: u64, suffix: &str| {
            let wire = format!("{shown_name}{suffix}");
            let is_read = match member.path.as_str() {
                FRAME => turn.is_first(),
                // Bytes have no order.
                "is_bigendian" => false,
                _ => true,
            };
            let is_shown = is_shown(input, member) || (is_stamp && turn == Turn::Beside);
            match (is_shown, is_read) {
                (true, _) => adapter.port("output wire", bits, &wire),
                (false, true) => adapter.wire(bits, &wire),
                (false, false) => adapter.unread(bits, &wire),
            }
            to.push([format!("{field}{suffix}"), wire]);
        };
        match port {
            Port::Values { bits, count } => {
                give(self, u64::from(bits) * u64::from(count), "");
                if is_stamp && turn.is_first() {
                    let name = member.path.rsplit('.').next().unwrap_or_default();
                    self.line(&format!("  assign {name} = {shown_name};"));
                }
            }
            Port::Bounded { bits, bound } => {
                give(self, 32, "__length");
                give(self, u64::from(bits) * u64::from(bound), "");
            }
            Port::ValueStream { .. } | Port::DataStream { .. } => {
                if matches!(port, Port::DataStream { .. }) {
                    give(self, 32, "__length");
                }
                give(self, 1, "__tlast");
                for (signal, range) in stream(input).into_iter().take(2) {
                    self.ranged("output wire", &range, &format!("{shown_name}__{signal}"));
                    to.push([format!("{field}__{signal}"), format!("{shown_name}__{signal}")]);
                }
                self.stream_of_whole(&field, &shown_name, to);
            }
        }
    }

    /// The end of data of a frame that was cut is none of the kernel's business.
    fn stream_of_whole(&mut self, field: &str, name: &str, to: &mut Vec<[String; 2]>) {
        let wires = [("tindex", 32, "index"), ("tuser", 1, "cut"), ("tvalid", 1, "offered")];
        for (signal, bits, what) in wires {
            let wire = format!("{name}_{what}");
            match what {
                "index" => self.unread(bits, &wire),
                _ => self.wire(bits, &wire),
            }
            to.push([format!("{field}__{signal}"), wire]);
        }
        self.port("output wire", 1, &format!("{name}__tvalid"));
        self.port("input  wire", 1, &format!("{name}__tready"));
        self.line(&format!("  assign {name}__tvalid = {name}_offered && !{name}_cut;"));
        to.push([format!("{field}__tready"), format!("{name}__tready || {name}_cut")]);
    }

    /// What decides: the join of several inputs or the check of a picture, and the shell.
    fn between(&mut self, ports: &Ports<'_>) {
        let inputs = ports.triggers.as_slice();
        for name in ["publishes", "published"] {
            self.wire(1, name);
        }
        self.wire(32, "made_sequence");
        let several = inputs.len() > 1;
        if several {
            self.join(inputs);
        }
        let is_image = inputs[0].port.message_type == IMAGE;
        if is_image {
            self.check(inputs[0].port.name);
        }
        let (settled, fault) =
            if is_image { ("settled", "picture_fault") } else { ("1'b1", "3'd0") };
        let refused = if is_image { "refused" } else { "none_refused" };
        if !is_image {
            self.unread(REFUSED_BITS.into(), refused);
        }
        let of = |one, all| if several { all } else { one };
        let mut passes = of("passes", "passes != '0 || dropped").to_owned();
        let mut told = of("dropped", "none_dropped");
        if let Some(input) = ports.beside {
            self.tell(input.port.name);
            passes = format!("passes || {}_passes", input.port.name);
            told = "told";
        }
        self.instance(
            LibraryModule::MessageShell.name(),
            &[],
            "u_shell",
            &[
                ["clk", "clk"],
                ["rst", "rst"],
                ["passes", &passes],
                ["s_valid", of("came", "all_came")],
                ["s_ready", of("go_on", "all_go_on")],
                ["s_failed", of("failed", "1'b0")],
                ["s_settled", settled],
                ["s_fault", fault],
                ["start", "start"],
                ["made", "made"],
                ["next", "next"],
                ["m_valid", "publishes"],
                ["m_ready", "published"],
                ["m_sequence", "made_sequence"],
                ["dropped", told],
                ["refused", refused],
                ["busy", "busy"],
            ],
        );
    }

    /// Counts what fails of an input that does not trigger beside what the shell drops. Both come
    /// every third cycle at most, so that two wait at most.
    fn tell(&mut self, name: &str) {
        self.wire(1, "told");
        self.line(&format!(
            "  reg [1:0] untold;\n  wire tells = untold != 2'd0 && !told;\n  \
             assign dropped = told || untold != 2'd0;\n  \
             always @(posedge clk)\n    \
             untold <= rst ? 2'd0 : untold + {{1'b0, {name}_failed}} - {{1'b0, tells}};"
        ));
    }

    fn join(&mut self, inputs: &[&MessagePort<'_>]) {
        for name in ["all_came", "all_go_on"] {
            self.wire(1, name);
        }
        // What fails is told by the join.
        self.unread(1, "none_dropped");
        let names = || inputs.iter().rev().map(|it| it.port.name);
        let stamps = names()
            .map(|name| format!("{name}__header__stamp__sec, {name}__header__stamp__nanosec"));
        let stamps = format!("{{{}}}", stamps.collect::<Vec<_>>().join(",\n        "));
        let more = names().map(|name| format!("s_axis_{name}_tvalid")).collect::<Vec<_>>();
        let more = format!("{{{}}}", more.join(", "));
        self.instance(
            LibraryModule::StampJoin.name(),
            &[("INPUTS", &inputs.len().to_string())],
            "u_join",
            &[
                ["clk", "clk"],
                ["rst", "rst"],
                ["s_valid", "came"],
                ["s_stamp", &stamps],
                ["s_more", &more],
                ["s_failed", "failed"],
                ["s_ready", "go_on"],
                ["m_valid", "all_came"],
                ["m_ready", "all_go_on"],
                ["dropped", "dropped"],
            ],
        );
    }

    /// The check of a picture that comes at this input.
    fn check(&mut self, input: &str) {
        for name in ["fits", "looked"] {
            self.unread(1, name);
        }
        self.unread(2, "kind");
        self.wire(1, "settled");
        self.wire(REFUSED_BITS.into(), "picture_fault");
        let of = |field: &str| format!("{input}__{field}");
        let parameters = ["CHANNELS", "MAX_BYTES", "MAX_WIDTH", "WIDTH", "HEIGHT"];
        self.instance(
            LibraryModule::PictureCheck.name(),
            &parameters.map(|it| (it, it)),
            "u_check",
            &[
                ["clk", "clk"],
                ["rst", "rst"],
                ["look", &format!("{} || came", of("data_offered"))],
                ["next", "next"],
                ["encoding_length", &of("encoding__length")],
                ["encoding", &format!("40'({})", of("encoding"))],
                ["height", &of("height")],
                ["width", &of("width")],
                ["step", &of("step")],
                ["length", &of("data__length")],
                ["fits", "fits"],
                ["kind", "kind"],
                ["looked", "looked"],
                ["settled", "settled"],
                ["fault", "picture_fault"],
            ],
        );
        // Of its longest names only the beginning matters.
        self.unread.push(of("encoding"));
    }

    /// The adapter of the output, with its fields.
    fn publish(&mut self, first: &MessagePort<'_>, output: &MessagePort<'_>) {
        let (name, from) = (output.port.name, first.port.name);
        // The bounds of the ports are such that publishing cannot fail.
        self.unread(1, "unpublished");
        let mut to: Vec<[String; 2]> = vec![same("clk"), same("rst")];
        for (port, wire) in [
            ("valid", "publishes".to_owned()),
            ("ready", "published".to_owned()),
            ("failed", "unpublished".to_owned()),
            ("header_publisher_id", format!("{name}_publisher_id")),
            ("header_sequence", "made_sequence".to_owned()),
            ("header_stamp", format!("{from}_header_stamp")),
        ] {
            to.push([port.to_owned(), wire]);
        }
        for (signal, _) in signals(output.width) {
            to.push([format!("m_axis_{signal}"), format!("m_axis_{name}_{signal}")]);
        }
        for member in output.shape.leaves() {
            let (field, own) = (member.port_name(), shown(output, member));
            let copied = field_name(from, member);
            let mut give = |adapter: &mut Self, bits: u64, suffix: &str| {
                let wire = if is_shown(output, member) { &own } else { &copied };
                let wire = format!("{wire}{suffix}");
                if is_shown(output, member) {
                    adapter.port("input  wire", bits, &wire);
                }
                to.push([format!("{field}{suffix}"), wire]);
            };
            match member.port() {
                Some(Port::Values { bits, count }) => {
                    give(self, u64::from(bits) * u64::from(count), "");
                }
                Some(Port::Bounded { bits, bound }) => {
                    give(self, 32, "__length");
                    give(self, u64::from(bits) * u64::from(bound), "");
                }
                // Large fields are refused.
                _ => {}
            }
        }
        self.whole_instance(output, "u_publish", &to);
    }

    /// The generated adapter of a port.
    fn whole_instance(&mut self, port: &MessagePort<'_>, what: &str, to: &[[String; 2]]) {
        let TypePort { name, publishes, .. } = port.port;
        let module = adapter_name(&format!("{}_{name}", self.node_type), publishes);
        let to: Vec<[&str; 2]> = to.iter().map(|[port, to]| [port.as_str(), to.as_str()]).collect();
        let width = HardwareNode::width_parameter(name);
        self.instance(&module, &[("WIDTH", &width)], &format!("{what}_{name}"), &to);
    }

    fn text(self, of: &Ports<'_>) -> String {
        let Self { node_type, ports, body, unread } = self;
        let (inputs, output) = (of.triggers.as_slice(), of.output);
        let first = inputs[0].port.name;
        let names: Vec<&str> = inputs.iter().map(|it| it.port.name).collect();
        let (each, made_of) = match inputs {
            [one] if one.port.message_type == IMAGE => {
                (format!("picture of `{first}`"), "picture_check and message_shell")
            }
            [_] => (format!("message of `{first}`"), "message_shell"),
            _ => (format!("set of {}", names.join(", ")), "stamp_join and message_shell"),
        };
        let is_image = inputs[0].port.message_type == IMAGE;
        let all = inputs.iter().chain(&of.beside).chain([&output]);
        let widths =
            all.map(|it| (HardwareNode::width_parameter(it.port.name), it.width.to_string()));
        let of_image = [
            ("CHANNELS", "3"),
            ("MAX_BYTES", "640 * 480 * 3"),
            ("MAX_WIDTH", "MAX_BYTES"),
            ("WIDTH", "0"),
            ("HEIGHT", "0"),
        ];
        let of_image = of_image.iter().filter(|_| is_image);
        let of_image = of_image.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let parameters = of_image
            .chain(widths)
            .map(|(name, value)| format!("  parameter int unsigned {name} = {value}"))
            .collect::<Vec<_>>()
            .join(",\n");
        let of_output = output.port.name;
        let beside = of.beside.map_or(String::new(), |it| {
            let name = it.port.name;
            format!(
                "// Beside        `{name}_came`: a message of `{name}` is there, with fields {name}__FIELD, until\n\
                 //               {name}_go_on. It starts nothing.\n"
            )
        });
        format!(
            "// Messages of node type {node_type}: all that the node needs beside its kernel, made of the\n\
             // adapters of its ports, {made_of}, which have the contracts. Generated.\n\
             //\n\
             // Kernel        `start`: a {each} is there. Its fields, {first}__FIELD\n\
             //               and so on, stand until `next`; large ones pass before. `made` says that the\n\
             //               fields {of_output}__FIELD of the result stand, and they do until `next`.\n\
             {beside}\
             // Streams       NAME_BITS are the bits of a beat of stream NAME: 64, 128, 256 or 512.\n\
             // Header        Stamp and frame come from {first}: sec and nanosec are the stamp.\n\
             `default_nettype none\n\n\
             module {node_type}_messages #(\n{parameters}\n) (\n{ports}\n);\n\n{body}\n  wire unused = &{{1'b0, \
             {}}};\n\nendmodule\n\n`default_nettype wire\n",
            unread.join(",\n      ")
        )
    }
}

/// Signals of a port's stream with their ranges: how many bits a beat has is a parameter.
fn stream(port: &MessagePort<'_>) -> [(&'static str, String); 6] {
    let bits = HardwareNode::width_parameter(port.port.name);
    signals(port.width).map(|(signal, _)| {
        let range = match signal {
            "tdata" => format!("[{bits}-1:0]"),
            "tkeep" => format!("[{bits}/8-1:0]"),
            _ => String::new(),
        };
        (signal, range)
    })
}

/// A port and a signal of the same name.
fn same(name: &str) -> [String; 2] {
    [name.to_owned(), name.to_owned()]
}

/// The same field of another port.
fn field_name(port: &str, member: &Member) -> String {
    format!("{port}__{}", member.path.replace('.', "__"))
}
