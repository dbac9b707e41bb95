//! The ports of nodes with an implementation: each against its stream in the network, and the
//! layout of its messages.

use super::{Implementation, fault};
use crate::Request;
use crate::layout::{ElementCount, PayloadLayout};
use crate::message::MessageShape;
use crate::names::identifier;
use crate::network::{
    Clock, ModuleParameter, Network, NetworkNode, NetworkPort, NodeEnd, PortOwner, TopicNetwork,
};
use crossdock_graph::{GraphNode, HardwareNode, USE_SIM_TIME, Violation, ViolationKind};
use std::collections::BTreeMap;

/// A port of a node type.
#[derive(Clone, Copy)]
pub(super) struct TypePort<'a> {
    pub(super) name: &'a str,
    pub(super) message_type: &'a str,
    pub(super) publishes: bool,
    /// Of an input: whether its messages make the node run.
    pub(super) triggers: bool,
    optional: bool,
}

/// The layout of a port's messages, with the port's bounds.
pub(super) struct PortLayout {
    payload: PayloadLayout,
    pub(super) shape: MessageShape,
}

/// Inputs, then outputs.
pub(super) fn of_type(node: &HardwareNode) -> Vec<TypePort<'_>> {
    let inputs = node.description.inputs.iter().map(|it| TypePort {
        name: &it.port,
        message_type: &it.message_type,
        publishes: false,
        triggers: it.trigger,
        optional: it.optional,
    });
    let outputs = node.description.outputs.iter().map(|it| TypePort {
        name: &it.port,
        message_type: &it.message_type,
        publishes: true,
        triggers: false,
        optional: it.optional,
    });
    inputs.chain(outputs).collect()
}

/// Where a port is written.
fn path<'a>(port: &TypePort<'a>) -> [&'a str; 2] {
    [if port.publishes { "outputs" } else { "inputs" }, port.name]
}

/// The layout of a port's messages; what is wrong is noted once per node type.
pub(super) fn layout(
    request: &Request<'_>,
    implementation: &Implementation<'_>,
    port: &TypePort<'_>,
    violations: &mut Vec<Violation>,
) -> Option<PortLayout> {
    let kind = ViolationKind::Layout;
    let type_name = port.message_type;
    let schema = match (request.types)(type_name) {
        Ok(schema) => schema,
        Err(error) => {
            let message = format!("the type {type_name} cannot be used in hardware: {error}");
            let advice = "name the folder with its package by `--interfaces`";
            violations.push(fault(implementation, kind, &path(port), message, advice));
            return None;
        }
    };
    let none = BTreeMap::new();
    let bounds = implementation.node.bounds(port.publishes, port.name).unwrap_or(&none);
    let hash = schema.type_hash().to_string();
    let faults = match PayloadLayout::new(schema.layout(), hash, bounds) {
        Ok(payload) => {
            let shape = MessageShape::new(schema.layout(), &payload);
            return Some(PortLayout { payload, shape });
        }
        Err(faults) => faults,
    };
    for found in faults {
        let (field, message, advice) =
            found.told(type_name, "the port in the hardware package file");
        let mut path = path(port).to_vec();
        if let Some(field) = &field {
            path.extend(["bounds", field]);
        }
        violations.push(fault(implementation, kind, &path, message, advice));
    }
    None
}

/// A node with its streams in the network; what does not fit is noted.
pub(super) fn attach(
    request: &Request<'_>,
    network: &Network,
    node: &GraphNode,
    implementation: &Implementation<'_>,
    violations: &mut Vec<Violation>,
) -> NetworkNode {
    let mut attached = NetworkNode {
        name: node.name.clone(),
        identifier: identifier(&node.name),
        package: node.package.clone(),
        node_type: node.node_type.clone(),
        module: implementation.node.module.clone(),
        parameters: parameters(request, node, implementation, violations),
        set_up: implementation
            .set_up
            .iter()
            .filter(|it| implementation.node.is_sized_by(it))
            .cloned()
            .collect(),
        clock: Clock { name: None },
        drops: implementation.node.drops,
        refuses: implementation.node.refuses.clone(),
        area: implementation.node.area,
        inputs: Vec::new(),
        outputs: Vec::new(),
    };
    let mut check = PortCheck { request, node, implementation, violations, clock: None };
    for port in of_type(implementation.node) {
        let found = network.ports().find(|(_, publishes, found)| {
            *publishes == port.publishes && check.is_owner(&found.owner, port.name)
        });
        if let Some((topic, _, found)) = found {
            check.stream(&port, topic, found);
        } else {
            check.absent(&port);
        }
        let default = implementation.node.default_width(port.publishes, port.name);
        let width = found.map_or(default, |(_, _, found)| found.width);
        if implementation.node.widths(port.publishes, port.name).is_some() {
            let name = HardwareNode::width_parameter(port.name);
            let (value, measured) = (width as i32, Some(default as i32));
            attached.parameters.push(ModuleParameter { name, value, measured });
        }
        let end = NodeEnd {
            port: port.name.to_owned(),
            signals: found.map(|(_, _, found)| found.signals.clone()),
            width,
            publisher_id: found.map_or(0, |(_, _, found)| found.publisher_id),
        };
        let ends = if port.publishes { &mut attached.outputs } else { &mut attached.inputs };
        ends.push(end);
    }
    check.unknown();
    attached.clock = check.clock.map_or(Clock { name: None }, |(clock, _)| clock);
    attached
}

/// The value of every parameter of the module.
fn parameters(
    request: &Request<'_>,
    node: &GraphNode,
    implementation: &Implementation<'_>,
    violations: &mut Vec<Violation>,
) -> Vec<ModuleParameter> {
    let description = &implementation.node.description;
    let known = |name: &str| {
        let Request { descriptions, .. } = request;
        let described = || descriptions.parameter(&node.package, &node.node_type, name);
        // Every node has the last one, whatever its type says.
        description.parameter(name).or_else(described).is_some() || name == USE_SIM_TIME
    };
    let mut note = |kind, name: &str, message: String, advice: String| {
        let path = ["nodes", node.name.as_str(), "parameters", name];
        let violation = Violation::at(kind, &request.graph.source, &path, message, advice);
        violations.push(violation.for_node(&node.name));
    };
    for name in node.parameters.keys().filter(|name| !known(name)) {
        let names: Vec<&str> = description.parameters.iter().map(|it| it.name.as_str()).collect();
        let message = format!("`{}` has no parameter `{name}` in hardware", node.node_type);
        let advice = match names.as_slice() {
            [] => "remove it: it has none".to_owned(),
            names => format!("its parameters in hardware are {}", names.join(", ")),
        };
        note(ViolationKind::UnknownParameter, name, message, advice);
    }
    let values = description.parameters.iter().map(|parameter| {
        let name = &parameter.name;
        let said = node.parameters.get(name).unwrap_or(&parameter.default);
        let value = implementation.node.module_value(name, said);
        if value.is_none() {
            let message = format!("parameter `{name}` must be an integer of 32 bits in the module");
            let advice = format!("choose {} to {}", i32::MIN, i32::MAX);
            note(ViolationKind::ParameterType, name, message, advice);
        }
        let sizes = implementation.node.is_sized_by(name);
        let default = || implementation.node.module_value(name, &parameter.default);
        let measured = if sizes { default() } else { None };
        let name = implementation.node.module_parameter(name);
        ModuleParameter { name, value: value.unwrap_or_default(), measured }
    });
    values.collect()
}

/// One node's ports against their streams.
struct PortCheck<'a> {
    request: &'a Request<'a>,
    node: &'a GraphNode,
    implementation: &'a Implementation<'a>,
    violations: &'a mut Vec<Violation>,
    /// The node's clock, and the port that said so.
    clock: Option<(Clock, String)>,
}

impl PortCheck<'_> {
    fn is_owner(&self, owner: &PortOwner, port: &str) -> bool {
        let PortOwner::Node { node, port: of } = owner else { return false };
        *node == self.node.name && of == port
    }

    fn note(&mut self, violation: Violation, topic: &str) {
        self.violations.push(violation.for_node(&self.node.name).for_topic(topic));
    }

    /// A port with a stream: its type, width, clock and bounds.
    fn stream(&mut self, port: &TypePort<'_>, topic: &TopicNetwork, found: &NetworkPort) {
        let node_type = self.node.node_type.as_str();
        let (what, key) = match port.publishes {
            true => ("output", "publishers"),
            false => ("input", "subscribers"),
        };
        let file = self.implementation.package.source.file();
        let at = ["topics", topic.name.as_str(), key, &self.node.name, port.name];
        let source = &self.request.mapping.source;
        if topic.layout.type_name != port.message_type {
            let message = format!(
                "{what} `{}` of `{node_type}` is of type `{}` ({file}), the topic of type `{}`",
                port.name, port.message_type, topic.layout.type_name
            );
            let advice = "connect it to another topic, or make the types the same";
            let graph = &self.request.graph.source;
            let at = ["nodes", &self.node.name, path(port)[0], port.name];
            let violation = Violation::at(ViolationKind::TypeClash, graph, &at, message, advice);
            return self.note(violation, &topic.name);
        }
        let implementation = self.implementation.node;
        let own = [implementation.width];
        let widths = implementation.widths(port.publishes, port.name).unwrap_or(&own);
        if !widths.contains(&found.width) {
            let listed = widths.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ");
            let message = format!(
                "{what} `{}` of `{node_type}` has {listed} bits ({file}), its stream has {}",
                port.name, found.width
            );
            // As wide as the stream at least, so that it keeps its pace.
            let enough = widths.iter().filter(|width| **width > found.width).min();
            let width = enough.or(widths.iter().max()).copied().unwrap_or(implementation.width);
            let advice = format!(
                "add `{key}: {{ {}: {{ {}: {{ width: {width}, converter: true }} }} }}` to the topic in \
                 the mapping file",
                self.node.name, port.name
            );
            let violation = Violation::at(ViolationKind::Stream, source, &at, message, advice);
            self.note(violation, &topic.name);
        }
        let first = self.clock.get_or_insert_with(|| (found.clock.clone(), port.name.to_owned()));
        if first.0 != found.clock {
            let message = format!(
                "{what} `{}` has the clock `{}`, port `{}` of the same node `{}`: a node has one clock",
                port.name,
                found.clock.clk(),
                first.1,
                first.0.clk()
            );
            let advice = "give all ports of the node one `clock`; a crossing stands before them";
            let violation = Violation::at(ViolationKind::Stream, source, &at, message, advice);
            self.note(violation, &topic.name);
        }
        self.bounds(port, topic, what);
    }

    /// Messages of the topic fit the input, messages of the output fit the topic.
    fn bounds(&mut self, port: &TypePort<'_>, topic: &TopicNetwork, what: &str) {
        // What is wrong with the port's own layout is noted with its node type.
        let found = layout(self.request, self.implementation, port, &mut Vec::new());
        let Some(PortLayout { payload, .. }) = found else { return };
        for (of_topic, of_port) in topic.layout.fields.iter().zip(&payload.fields) {
            let (ElementCount::Bounded(room), ElementCount::Bounded(bound)) =
                (of_topic.count, of_port.count)
            else {
                continue;
            };
            let fits = if port.publishes { bound <= room } else { room <= bound };
            if fits {
                continue;
            }
            let field = bounded_path(&of_port.path);
            let file = self.implementation.package.source.file();
            let node_type = &self.node.node_type;
            let message = match port.publishes {
                true => format!(
                    "{what} `{}` of `{node_type}` publishes up to {bound} in `{field}` ({file}), \
                     messages of the topic have {room} at most",
                    port.name
                ),
                false => format!(
                    "messages of the topic have up to {room} in `{field}`, {what} `{}` of \
                     `{node_type}` has room for {bound} ({file})",
                    port.name
                ),
            };
            let advice = match port.publishes {
                true => format!("raise the topic's bound of `{field}` in the graph file"),
                false => format!("lower the topic's bound of `{field}` in the graph file"),
            };
            let at = ["topics", topic.name.as_str(), "bounds", &field];
            let (kind, source) = (ViolationKind::Layout, &self.request.graph.source);
            let violation = Violation::at(kind, source, &at, message, advice);
            self.note(violation, &topic.name);
        }
    }

    /// A port without a stream: it is not connected.
    fn absent(&mut self, port: &TypePort<'_>) {
        let node_type = &self.node.node_type;
        let what = if port.publishes { "output" } else { "input" };
        if connected(self.node, port).is_none() && !port.optional {
            let message = format!("{what} `{}` of `{node_type}` is not connected", port.name);
            let advice = format!("add `{}: /topic` under `{}`", port.name, path(port)[0]);
            let at = ["nodes", &self.node.name, path(port)[0]];
            let (kind, source) = (ViolationKind::UnconnectedPort, &self.request.graph.source);
            let violation = Violation::at(kind, source, &at, message, advice);
            self.violations.push(violation.for_node(&self.node.name));
        }
    }

    /// Ports of the node that its type does not have.
    fn unknown(&mut self) {
        let description = &self.implementation.node.description;
        let inputs = self.node.inputs.iter().filter(|it| description.input(&it.port).is_none());
        let outputs = self.node.outputs.iter().filter(|it| description.output(&it.port).is_none());
        let inputs = inputs.map(|it| ("input", "inputs", &it.port, &it.topic));
        let outputs = outputs.map(|it| ("output", "outputs", &it.port, &it.topic));
        let file = self.implementation.package.source.file();
        for (what, key, port, topic) in inputs.chain(outputs) {
            let message =
                format!("`{}` has no {what} `{port}` in hardware ({file})", self.node.node_type);
            let known = of_type(self.implementation.node).into_iter();
            let known = known.filter(|port| path(port)[0] == key).map(|port| port.name);
            let known = known.collect::<Vec<_>>().join(", ");
            let advice = format!("its {key} in hardware are: {known}");
            let at = ["nodes", &self.node.name, key, port];
            let (kind, source) = (ViolationKind::UnknownPort, &self.request.graph.source);
            let violation = Violation::at(kind, source, &at, message, advice);
            self.violations.push(violation.for_node(&self.node.name).for_topic(topic));
        }
    }
}

/// The topic that a node's port is on.
fn connected<'a>(node: &'a GraphNode, port: &TypePort<'_>) -> Option<&'a str> {
    match port.publishes {
        true => node.outputs.iter().find(|it| it.port == port.name).map(|it| it.topic.as_str()),
        false => node.inputs.iter().find(|it| it.port == port.name).map(|it| it.topic.as_str()),
    }
}

/// A field as bounds name it.
fn bounded_path(path: &str) -> String {
    match path.strip_suffix("[]") {
        Some(texts) => format!("{}.element", texts.replace("[]", "")),
        None => path.replace("[]", ""),
    }
}
