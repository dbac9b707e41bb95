//! What nodes see of the graph: names, types and endpoints of all processes of the domain, native
//! ones and those of ROS alike. It is what the status tables of the processes say.

use super::functions;
use super::handles::{check_allocator, data, given, out, text};
use super::lists::{DEFAULT, Making, check_zero, check_zero_names};
use super::node::NodeData;
use crate::abi::current::{Node, TopicEndpointInfo};
use crate::abi::shared::{
    Allocator, EndpointInfoArray, NamesAndTypes, RMW_ENDPOINT_PUBLISHER, RMW_ENDPOINT_SUBSCRIPTION,
    StringArray,
};
use crate::failure::Failure;
use crate::qos::profile_of;
use crossdock_comm::names::{NameKind, check_name, split_node_name};
use crossdock_comm::{GraphSnapshot, PortKind, PortSnapshot};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::Arc;

functions! {
    /// Names and namespaces of all nodes. Allocates.
    fn rmw_get_node_names(
        node: *const Node,
        node_names: *mut StringArray,
        node_namespaces: *mut StringArray,
    ) {
        // SAFETY: null or a node (caller).
        let graph = unsafe { graph(node) }?;
        // SAFETY: null or a list (caller).
        let names = unsafe { out(node_names, "node_names") }?;
        // SAFETY: as above.
        let namespaces = unsafe { out(node_namespaces, "node_namespaces") }?;
        check_zero(names, "node_names")?;
        check_zero(namespaces, "node_namespaces")?;
        // SAFETY: the allocator is ours, the lists are zero.
        unsafe { set_columns(&graph, [names, namespaces]) }
    }

    /// Names, namespaces and enclaves of all nodes. Allocates.
    fn rmw_get_node_names_with_enclaves(
        node: *const Node,
        node_names: *mut StringArray,
        node_namespaces: *mut StringArray,
        enclaves: *mut StringArray,
    ) {
        // SAFETY: null or a node (caller).
        let graph = unsafe { graph(node) }?;
        // SAFETY: null or a list (caller).
        let names = unsafe { out(node_names, "node_names") }?;
        // SAFETY: as above.
        let namespaces = unsafe { out(node_namespaces, "node_namespaces") }?;
        // SAFETY: as above.
        let enclaves = unsafe { out(enclaves, "enclaves") }?;
        check_zero(names, "node_names")?;
        check_zero(namespaces, "node_namespaces")?;
        check_zero(enclaves, "enclaves")?;
        // SAFETY: the allocator is ours, the lists are zero.
        unsafe { set_columns(&graph, [names, namespaces, enclaves]) }
    }

    /// How many publishers a topic has.
    fn rmw_count_publishers(node: *const Node, topic_name: *const c_char, count: *mut usize) {
        // SAFETY: as the caller says.
        unsafe { count_ports(node, topic_name, count, PortKind::Publisher) }
    }

    /// How many subscriptions a topic has.
    fn rmw_count_subscribers(node: *const Node, topic_name: *const c_char, count: *mut usize) {
        // SAFETY: as the caller says.
        unsafe { count_ports(node, topic_name, count, PortKind::Subscriber) }
    }

    /// How many clients a service has. From Jazzy on.
    fn rmw_count_clients(node: *const Node, service_name: *const c_char, count: *mut usize) {
        // SAFETY: as the caller says.
        unsafe { count_ports(node, service_name, count, PortKind::Client) }
    }

    /// How many servers a service has. From Jazzy on.
    fn rmw_count_services(node: *const Node, service_name: *const c_char, count: *mut usize) {
        // SAFETY: as the caller says.
        unsafe { count_ports(node, service_name, count, PortKind::Server) }
    }

    /// All topics and their types. Names are names of ROS in any case. Allocates.
    fn rmw_get_topic_names_and_types(
        node: *const Node,
        allocator: *mut Allocator,
        _no_demangle: bool,
        topic_names_and_types: *mut NamesAndTypes,
    ) {
        let kinds = &[PortKind::Publisher, PortKind::Subscriber];
        // SAFETY: as the caller says.
        unsafe { names(node, allocator, None, kinds, topic_names_and_types) }
    }

    /// All services and their types. Allocates.
    fn rmw_get_service_names_and_types(
        node: *const Node,
        allocator: *mut Allocator,
        service_names_and_types: *mut NamesAndTypes,
    ) {
        let kinds = &[PortKind::Server, PortKind::Client];
        // SAFETY: as the caller says.
        unsafe { names(node, allocator, None, kinds, service_names_and_types) }
    }

    /// Topics that a node subscribes to. Allocates.
    fn rmw_get_subscriber_names_and_types_by_node(
        node: *const Node,
        allocator: *mut Allocator,
        node_name: *const c_char,
        node_namespace: *const c_char,
        _no_demangle: bool,
        topic_names_and_types: *mut NamesAndTypes,
    ) {
        let (of, kinds) = (Some((node_name, node_namespace)), &[PortKind::Subscriber]);
        // SAFETY: as the caller says.
        unsafe { names(node, allocator, of, kinds, topic_names_and_types) }
    }

    /// Topics that a node publishes. Allocates.
    fn rmw_get_publisher_names_and_types_by_node(
        node: *const Node,
        allocator: *mut Allocator,
        node_name: *const c_char,
        node_namespace: *const c_char,
        _no_demangle: bool,
        topic_names_and_types: *mut NamesAndTypes,
    ) {
        let (of, kinds) = (Some((node_name, node_namespace)), &[PortKind::Publisher]);
        // SAFETY: as the caller says.
        unsafe { names(node, allocator, of, kinds, topic_names_and_types) }
    }

    /// Services that a node offers. Allocates.
    fn rmw_get_service_names_and_types_by_node(
        node: *const Node,
        allocator: *mut Allocator,
        node_name: *const c_char,
        node_namespace: *const c_char,
        service_names_and_types: *mut NamesAndTypes,
    ) {
        let (of, kinds) = (Some((node_name, node_namespace)), &[PortKind::Server]);
        // SAFETY: as the caller says.
        unsafe { names(node, allocator, of, kinds, service_names_and_types) }
    }

    /// Services that a node calls. Allocates.
    fn rmw_get_client_names_and_types_by_node(
        node: *const Node,
        allocator: *mut Allocator,
        node_name: *const c_char,
        node_namespace: *const c_char,
        service_names_and_types: *mut NamesAndTypes,
    ) {
        let (of, kinds) = (Some((node_name, node_namespace)), &[PortKind::Client]);
        // SAFETY: as the caller says.
        unsafe { names(node, allocator, of, kinds, service_names_and_types) }
    }

    /// The publishers of a topic: node, type, GID and quality of service. Allocates.
    fn rmw_get_publishers_info_by_topic(
        node: *const Node,
        allocator: *mut Allocator,
        topic_name: *const c_char,
        _no_mangle: bool,
        publishers_info: *mut EndpointInfoArray<TopicEndpointInfo>,
    ) {
        // SAFETY: as the caller says.
        unsafe { infos(node, allocator, topic_name, PortKind::Publisher, publishers_info, topic_info) }
    }

    /// The subscriptions of a topic: node, type, GID and quality of service. Allocates.
    fn rmw_get_subscriptions_info_by_topic(
        node: *const Node,
        allocator: *mut Allocator,
        topic_name: *const c_char,
        _no_mangle: bool,
        subscriptions_info: *mut EndpointInfoArray<TopicEndpointInfo>,
    ) {
        // SAFETY: as the caller says.
        unsafe { infos(node, allocator, topic_name, PortKind::Subscriber, subscriptions_info, topic_info) }
    }
}

/// The graph now.
///
/// # Safety
///
/// The pointer is null or a node.
unsafe fn graph(node: *const Node) -> Result<Arc<GraphSnapshot>, Failure> {
    // SAFETY: as the caller says.
    let node: &NodeData = unsafe { data(node, "node") }?;
    Ok(node.context.graph.snapshot())
}

/// Sets lists of the names, namespaces and enclaves of all nodes, as far as there are lists.
///
/// # Safety
///
/// The lists are zero.
unsafe fn set_columns<const N: usize>(
    graph: &GraphSnapshot,
    columns: [&mut StringArray; N],
) -> Result<(), Failure> {
    let nodes: Vec<_> = graph.nodes().map(|(_, node)| node).collect();
    // SAFETY: the allocator is ours.
    let mut making = unsafe { Making::new(&DEFAULT) };
    let mut made = Vec::with_capacity(N);
    for column in 0..N {
        made.push(making.texts(nodes.iter().map(|node| match column {
            0 => node.own_name(),
            1 => node.namespace(),
            _ => node.detail.enclave.as_str(),
        }))?);
    }
    making.keep();
    for (column, list) in columns.into_iter().zip(made) {
        *column = list;
    }
    Ok(())
}

/// # Safety
///
/// The pointers are null or what rmw's API asks for.
unsafe fn count_ports(
    node: *const Node,
    name: *const c_char,
    count: *mut usize,
    kind: PortKind,
) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    let graph = unsafe { graph(node) }?;
    // SAFETY: as the caller says.
    let name = unsafe { text(name, "name") }?;
    check_name(NameKind::Topic, name)?;
    // SAFETY: as the caller says.
    let count = unsafe { out(count, "count") }?;
    *count = graph.ports(kind).filter(|(_, port)| port.topic == name).count();
    Ok(())
}

/// Names and types of the ports of some kinds: of one node, or of all (`None`).
///
/// # Safety
///
/// The pointers are null or what rmw's API asks for.
unsafe fn names(
    node: *const Node,
    allocator: *const Allocator,
    of: Option<(*const c_char, *const c_char)>,
    kinds: &[PortKind],
    list: *mut NamesAndTypes,
) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    let graph = unsafe { graph(node) }?;
    given(allocator, "allocator")?;
    // SAFETY: an allocator (caller).
    let allocator = unsafe { &*allocator };
    check_allocator(allocator, "allocator")?;
    let owner = match of {
        None => None,
        Some((name, namespace)) => {
            // SAFETY: as the caller says.
            let name = unsafe { text(name, "node_name") }?;
            // SAFETY: as the caller says.
            let namespace = unsafe { text(namespace, "node_namespace") }?;
            Some(super::node::full_name(namespace, name)?)
        }
    };
    // SAFETY: as the caller says.
    let list = unsafe { out(list, "names_and_types") }?;
    check_zero_names(list, "names_and_types")?;
    if let Some(owner) = &owner
        && !graph.nodes().any(|(_, node)| node.name == *owner)
    {
        return Err(Failure::NoNode { name: owner.clone() });
    }
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let ports = kinds.iter().flat_map(|kind| graph.ports(*kind)).map(|(_, port)| port);
    for port in ports.filter(|port| owner.as_ref().is_none_or(|owner| port.node == *owner)) {
        let types = found.entry(&port.topic).or_default();
        if !port.type_name.is_empty() && !types.contains(&port.type_name.as_str()) {
            types.push(&port.type_name);
        }
    }
    // SAFETY: an allocator of C (caller).
    let mut making = unsafe { Making::new(allocator) };
    let types = found.values().map(|types| making.texts(types.iter().copied()));
    let types = types.collect::<Result<Vec<_>, _>>()?;
    let types = making.values(types)?;
    *list = NamesAndTypes { names: making.texts(found.keys().copied())?, types };
    making.keep();
    Ok(())
}

/// # Safety
///
/// The pointers are null or what rmw's API asks for.
unsafe fn infos<I>(
    node: *const Node,
    allocator: *const Allocator,
    topic: *const c_char,
    kind: PortKind,
    list: *mut EndpointInfoArray<I>,
    info: impl Fn(&mut Making, &PortSnapshot, PortKind) -> Result<I, Failure>,
) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    let graph = unsafe { graph(node) }?;
    given(allocator, "allocator")?;
    // SAFETY: an allocator (caller).
    let allocator = unsafe { &*allocator };
    check_allocator(allocator, "allocator")?;
    // SAFETY: as the caller says.
    let topic = unsafe { text(topic, "topic_name") }?;
    // SAFETY: as the caller says.
    let list = unsafe { out(list, "info_array") }?;
    if list.size != 0 || !list.info_array.is_null() {
        return Err(Failure::Argument { name: "info_array", what: "it is not zero" });
    }
    // SAFETY: an allocator of C (caller).
    let mut making = unsafe { Making::new(allocator) };
    let ports = graph.ports(kind).filter(|(_, port)| port.topic == topic);
    let made =
        ports.map(|(_, port)| info(&mut making, port, kind)).collect::<Result<Vec<_>, _>>()?;
    *list = EndpointInfoArray { size: made.len(), info_array: making.values(made)? };
    making.keep();
    Ok(())
}

fn topic_info(
    making: &mut Making,
    port: &PortSnapshot,
    kind: PortKind,
) -> Result<TopicEndpointInfo, Failure> {
    let (namespace, name) = split_node_name(&port.node);
    Ok(TopicEndpointInfo {
        node_name: making.text(name)?,
        node_namespace: making.text(namespace)?,
        topic_type: making.text(&port.type_name)?,
        #[cfg(not(feature = "humble"))]
        topic_type_hash: crate::abi::shared::TypeHash { version: 1, value: port.type_hash },
        endpoint_type: match kind {
            PortKind::Publisher => RMW_ENDPOINT_PUBLISHER,
            _ => RMW_ENDPOINT_SUBSCRIPTION,
        },
        endpoint_gid: super::subscription::gid(port.gid).data,
        qos_profile: profile_of(&port.qos),
    })
}

/// Endpoints of services, which Lyrical's nodes ask for.
#[cfg(feature = "lyrical")]
mod of_services {
    use super::{Making, infos};
    use crate::abi::current::{Node, ServiceEndpointInfo};
    use crate::abi::shared::{Allocator, EndpointInfoArray, TypeHash};
    use crate::api::functions;
    use crate::failure::Failure;
    use crate::qos::profile_of;
    use crossdock_comm::names::split_node_name;
    use crossdock_comm::{PortKind, PortSnapshot};
    use std::ffi::c_char;

    /// `RMW_ENDPOINT_CLIENT` and `RMW_ENDPOINT_SERVER`.
    const ENDPOINT_CLIENT: u32 = 3;
    const ENDPOINT_SERVER: u32 = 4;

    functions! {
        /// The clients of a service: node, type, GID and quality of service. Allocates.
        fn rmw_get_clients_info_by_service(
            node: *const Node,
            allocator: *mut Allocator,
            service_name: *const c_char,
            _no_mangle: bool,
            clients_info: *mut EndpointInfoArray<ServiceEndpointInfo>,
        ) {
            // SAFETY: as the caller says.
            unsafe { infos(node, allocator, service_name, PortKind::Client, clients_info, info) }
        }

        /// The servers of a service: node, type, GID and quality of service. Allocates.
        fn rmw_get_servers_info_by_service(
            node: *const Node,
            allocator: *mut Allocator,
            service_name: *const c_char,
            _no_mangle: bool,
            servers_info: *mut EndpointInfoArray<ServiceEndpointInfo>,
        ) {
            // SAFETY: as the caller says.
            unsafe { infos(node, allocator, service_name, PortKind::Server, servers_info, info) }
        }
    }

    fn info(
        making: &mut Making,
        port: &PortSnapshot,
        kind: PortKind,
    ) -> Result<ServiceEndpointInfo, Failure> {
        let (namespace, name) = split_node_name(&port.node);
        Ok(ServiceEndpointInfo {
            node_name: making.text(name)?,
            node_namespace: making.text(namespace)?,
            service_type: making.text(&port.type_name)?,
            service_type_hash: TypeHash { version: 1, value: port.type_hash },
            endpoint_type: match kind {
                PortKind::Client => ENDPOINT_CLIENT,
                _ => ENDPOINT_SERVER,
            },
            endpoint_count: 1,
            endpoint_gids: making.values(vec![port.gid])?,
            qos_profiles: making.values(vec![profile_of(&port.qos)])?,
        })
    }
}
#[cfg(feature = "lyrical")]
pub use of_services::*;
