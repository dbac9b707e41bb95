//! Fabrics of a run: each is generated, built once and kept, and its host told what it hosts.

use crate::definitions::{Definitions, definitions};
use crate::files::Violations;
use crate::hardware::{FabricFiles, generate_fabric};
use crate::load::Loaded;
use crate::output::{say, tell};
use anyhow::{Context, Result, bail, ensure};
use crossdock_fabric::{Cache, Library, Profile, Search, gateway_control};
use crossdock_gateway::{
    HOST_PLAN, HostCount, HostGateway, HostInput, HostPlan, HostRefusal, HostedNode,
};
use crossdock_graph::{
    FabricPlan, GatewayPlan, Graph, GraphInput, GraphNode, ParameterValue, Reliability,
};
use crossdock_hwgen::Generated;
use crossdock_hwgen::board::gateways;
use crossdock_hwgen::network::{Count, NetworkNode, PortOwner, Refusal, Register, TopicNetwork};
use crossdock_msg::Schema;
use crossdock_msg::frame::FramePlan;
use std::collections::BTreeMap;

/// What a run's boards stand for: width and clock of the papers' board, our way to host memory. In
/// a run the board's clock is free; its figures are a bench's business.
const PROFILE: &str = "zcu104-64";

/// Registers that reset leaves alone are the same in every run.
const SEED: u32 = 1;

/// By fabric: what its network counts, in the order in which its host shows it.
pub(crate) type Counts = BTreeMap<String, Vec<Count>>;

/// Generates and builds the board of every fabric with nodes, and completes the plan of its host.
///
/// Blocks while something is built for the first time, and says so.
pub(crate) fn prepare(loaded: &mut Loaded) -> Result<Counts> {
    let mut counts = Counts::new();
    if loaded.plan.fabrics.iter().all(|fabric| fabric.nodes.is_empty()) {
        return Ok(counts);
    }
    let Some(profile) = Profile::named(PROFILE) else { bail!("there is no profile {PROFILE}") };
    let definitions = definitions(&loaded.interfaces)?;
    let mut fabrics = std::mem::take(&mut loaded.plan.fabrics);
    for fabric in fabrics.iter_mut().filter(|fabric| !fabric.nodes.is_empty()) {
        let counted = prepare_fabric(fabric, loaded, &definitions, profile)
            .with_context(|| format!("fabric `{}`", fabric.name))?;
        counts.insert(fabric.name.clone(), counted);
    }
    loaded.plan.fabrics = fabrics;
    Ok(counts)
}

/// Refuses what [`prepare`] refuses before it builds anything.
///
/// Blocks while GHDL runs, if sources are VHDL.
pub(crate) fn check(loaded: &Loaded) -> Result<()> {
    let mut fabrics = loaded.plan.fabrics.iter().filter(|it| !it.nodes.is_empty()).peekable();
    if fabrics.peek().is_none() {
        return Ok(());
    }
    let definitions = definitions(&loaded.interfaces)?;
    for fabric in fabrics {
        let generated = generated(fabric, loaded, &definitions);
        warn(&generated.with_context(|| format!("fabric `{}`", fabric.name))?);
    }
    Ok(())
}

/// The network of a fabric, with its board.
fn generated(fabric: &FabricPlan, loaded: &Loaded, definitions: &Definitions) -> Result<Generated> {
    must_be_complete(fabric, loaded)?;
    ensure!(
        fabric.host.is_some(),
        "nothing passes between its nodes and software; map a topic of theirs to `gateway` in the \
         mapping file"
    );
    let generated = generate_fabric(&FabricFiles {
        graph: &loaded.graph,
        mapping: &loaded.mapping,
        packages: &loaded.packages,
        fabric: &fabric.name,
        types: &|name| schema(definitions, name),
    })?;
    if let Some(obstacle) = generated.obstacle_in(&loaded.mapping) {
        return Err(Violations::from(vec![obstacle]).into());
    }
    ensure!(generated.has_board(), "{}", generated.obstacle());
    Ok(generated)
}

/// Says that no board has room for it, or that nobody knows whether the named one has. A run is a
/// simulation, in which a part that is too small is no reason to say anything else: `report.md` has
/// all of them.
fn warn(generated: &Generated) {
    for warning in generated.warnings.iter().filter(|_| generated.room_is_in_doubt) {
        say!("warning: {warning}");
    }
}

/// The message type of this name, or why there is none.
fn schema(definitions: &Definitions, name: &str) -> Result<Schema, String> {
    Schema::from_library(definitions.library(), name).map_err(|error| error.to_string())
}

fn prepare_fabric(
    fabric: &mut FabricPlan,
    loaded: &Loaded,
    definitions: &Definitions,
    profile: &Profile,
) -> Result<Vec<Count>> {
    let generated = generated(fabric, loaded, definitions)?;
    warn(&generated);
    let cache = Cache::from_environment()?;
    let search = Search::from_environment();
    let built = Library::build_board(&generated, &search, &cache, &mut tell)?;
    let library = built.with_context(|| generated.obstacle())?;
    let counts = counts(&generated);
    let mut plan = HostPlan {
        fabric: fabric.name.clone(),
        cache: cache.folder().to_owned(),
        key: library.key().to_owned(),
        identity: generated.identity,
        profile: profile.name.to_owned(),
        seed: SEED,
        real_time: fabric.host.as_ref().is_some_and(|host| !host.time.is_unpaced()),
        nodes: generated.network.nodes.iter().map(hosted).collect(),
        gateways: Vec::new(),
        counts: counts.iter().map(|(_, place)| *place).collect(),
        refusals: refusals(&generated, loaded).collect(),
    };
    let host = fabric.host.as_mut().context("it has no host")?;
    let node = host.executors.iter_mut().flat_map(|executor| &mut executor.nodes).next();
    let node = node.context("its host has no node")?;
    for gateway in gateways(&generated.network) {
        let found = planned(&fabric.gateways, gateway.topic);
        let found = found.with_context(|| format!("{} has no gateway", gateway.topic.shown()))?;
        let schema = schema(definitions, &found.message_type).map_err(anyhow::Error::msg)?;
        let bounds = loaded.graph.topic(&found.topic).map(|topic| topic.bounds.clone());
        let bounds: BTreeMap<String, u32> = bounds.unwrap_or_default();
        let frames = FramePlan::new(&schema, &bounds)?;
        let mut reliable = true;
        for output in node.outputs.iter_mut().filter(|it| Some(&it.port) == found.up.as_ref()) {
            output.max_bytes = Some(frames.chunk_bytes_max() as u64);
            reliable = output.qos.reliability == Reliability::Reliable;
        }
        plan.gateways.push(HostGateway {
            topic: found.topic.clone(),
            message_type: found.message_type.clone(),
            definition: schema.definition().to_owned(),
            bounds,
            down: found.down.clone(),
            up: found.up.clone(),
            reliable,
        });
    }
    let value = ParameterValue::String(plan.to_text());
    node.parameters.insert(HOST_PLAN.to_owned(), value);
    Ok(counts.into_iter().map(|(count, _)| count).collect())
}

fn hosted(node: &NetworkNode) -> HostedNode {
    let NetworkNode { name, package, node_type, .. } = node;
    HostedNode { name: name.clone(), node_type: format!("{package}/{node_type}") }
}

/// What registers of the network and of its gateways count, and where it stands.
fn counts(generated: &Generated) -> Vec<(Count, HostCount)> {
    let placed = |address, count: Count| {
        let place = HostCount { address, low: count.low, bits: count.bits };
        (count, place)
    };
    let of_register = |register: &Register| {
        let address = register.address;
        let counts = register.counts.iter().cloned();
        counts.map(|count| placed(address, count)).collect::<Vec<_>>()
    };
    let gateways = gateways(&generated.network).into_iter().zip(0..);
    let unended = gateways.filter_map(|(gateway, number)| {
        gateway.unended().map(|count| placed(gateway_control(number), count))
    });
    generated.registers.iter().flat_map(of_register).chain(unended).collect()
}

/// Where nodes say why they refused a message.
fn refusals(generated: &Generated, loaded: &Loaded) -> impl Iterator<Item = HostRefusal> {
    generated.registers.iter().filter_map(|register| {
        let Refusal { node, low, bits, reasons } = register.refusal.clone()?;
        let at = HostCount { address: register.address, low, bits };
        let there = generated.network.nodes.iter().find(|it| it.name == node);
        let parameters = there.map_or(&[][..], |it| &it.parameters);
        let made_with = parameters.iter().map(|it| format!("{} = {}", it.name, it.value));
        let in_graph = loaded.graph.node(&node);
        let built_in = in_graph.into_iter().flat_map(|node| built_in(node, loaded));
        let made_with = made_with.chain(built_in).collect();
        let inputs = in_graph.map_or(Vec::new(), |node| inputs(node, &loaded.graph));
        Some(HostRefusal { at, node, reasons, inputs, made_with })
    })
}

/// The values that a node's module was made with, as far as they may be limits: lists are none.
fn built_in(node: &GraphNode, loaded: &Loaded) -> Vec<String> {
    let descriptions = &loaded.packages.descriptions;
    let Some((_, hardware)) = descriptions.hardware_node(&node.package, &node.node_type) else {
        return Vec::new();
    };
    let value = |(name, made_with): (&String, &ParameterValue)| {
        let described = descriptions.parameter(&node.package, &node.node_type, name);
        let default = described.map_or(made_with, |it| &it.default);
        match node.parameters.get(name).unwrap_or(default) {
            ParameterValue::Integer(value) => Some(format!("{name} = {value}")),
            ParameterValue::String(value) => Some(format!("{name} = {value}")),
            _ => None,
        }
    };
    hardware.built_in.iter().filter_map(value).collect()
}

/// The inputs of a node, with those that publish there.
fn inputs(node: &GraphNode, graph: &Graph) -> Vec<HostInput> {
    let publishers = |topic: &str| {
        let publishes = |it: &&GraphNode| it.outputs.iter().any(|output| output.topic == topic);
        graph.nodes.iter().filter(publishes).map(|it| it.name.clone()).collect()
    };
    let input = |GraphInput { port, topic, .. }: &GraphInput| HostInput {
        port: port.clone(),
        topic: topic.clone(),
        publishers: publishers(topic),
    };
    node.inputs.iter().map(input).collect()
}

/// The gateway of the plan that is this one of the network.
fn planned<'a>(gateways: &'a [GatewayPlan], topic: &TopicNetwork) -> Option<&'a GatewayPlan> {
    let owners = topic.publishers.iter().chain(&topic.subscribers).map(|port| &port.owner);
    let mut ends = owners.filter_map(|owner| match owner {
        PortOwner::Node { node, port } => Some((node.as_str(), port.as_str())),
        PortOwner::Gateway => None,
    });
    let end = ends.next().filter(|_| topic.direct);
    let of_plan = |it: &'a GatewayPlan| it.end.as_ref().map(|end| (&*end.node, &*end.port));
    gateways.iter().find(|it| it.topic == topic.name && of_plan(it) == end)
}

/// Every node of a fabric that runs is there in hardware.
fn must_be_complete(fabric: &FabricPlan, loaded: &Loaded) -> Result<()> {
    let descriptions = &loaded.packages.descriptions;
    let mut nodes = fabric.nodes.iter().filter_map(|name| loaded.graph.node(name));
    let missing =
        |node: &&GraphNode| descriptions.hardware_node(&node.package, &node.node_type).is_none();
    let Some(node) = nodes.find(missing) else { return Ok(()) };
    bail!(
        "node `{}` is placed there, but its type `{}` of package `{}` does not exist in hardware; \
         describe it in `{}{}` on the package path, beside the graph file or in the folder \
         `hardware` there, or move the node to a process of the mapping",
        node.name,
        node.node_type,
        node.package,
        node.package,
        crossdock_graph::HARDWARE_PACKAGE_ENDING
    )
}
