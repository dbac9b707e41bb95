//! Nodes: a name for ports, and a record on the status table.

use super::handles::{
    Belongs, IDENTIFIER, data, destroy, free_text, given, handle, new_text, text,
};
use super::wait::{Guard, free_guard, new_guard};
use super::{endings, makers};
use crate::abi::current::{Context, GuardCondition, Node};
use crate::callbacks::Hub;
use crate::context;
use crate::failure::Failure;
use crate::waiting::EntityId;
use crossdock_comm::names::{NameKind, check_name, whole_node_name};
use crossdock_comm::{NodeEntry, NodeOptions};
use std::borrow::Cow;
use std::ffi::c_char;
use std::sync::Arc;

/// What a node of C stands for.
pub struct NodeData {
    pub(super) context: Arc<context::Context>,
    /// The name as ports have it: with its namespace, unless that is `/`.
    pub(super) name: String,
    /// Triggered when the graph changes. A struct of C, until the node is destroyed.
    graph: *mut GuardCondition,
    watch: EntityId,
    /// Shows the node to others.
    _entry: NodeEntry,
}

impl Belongs for NodeData {
    fn hub(&self) -> &Hub {
        &self.context.hub
    }
}

impl std::fmt::Debug for NodeData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NodeData").field(&self.name).finish()
    }
}

makers! {
    /// Makes a node. Allocates.
    fn rmw_create_node(
        context: *mut Context,
        name: *const c_char,
        namespace_: *const c_char,
    ) -> Node {
        // SAFETY: null or a context (caller).
        unsafe { handle(context.cast_const(), "context") }?;
        // SAFETY: a text or null (caller).
        let name = unsafe { text(name, "name") }?;
        // SAFETY: as above.
        let namespace = unsafe { text(namespace_, "namespace_") }?;
        let full = full_name(namespace, name)?;
        let own = clone_of(context)?;
        own.check_open()?;
        let entry = own.participant.add_node(NodeOptions {
            namespace,
            name,
            enclave: &own.enclave,
            node_type: "",
        })?;
        let guard = Guard::new(&own);
        let watch = guard.entity();
        own.watch_graph(watch);
        let graph = new_guard(context, guard);
        let data = NodeData { context: own, name: full, graph, watch, _entry: entry };
        let data = Box::new(data);
        Ok(Box::into_raw(Box::new(Node {
            implementation_identifier: IDENTIFIER.as_ptr(),
            data: Box::into_raw(data).cast(),
            name: new_text(name),
            namespace_: new_text(namespace),
            context,
        })))
    }

    /// The guard condition that is triggered when the graph changes. It belongs to the node.
    fn rmw_node_get_graph_guard_condition(node: *const Node) -> GuardCondition {
        // SAFETY: null or a node (caller).
        Ok(unsafe { data(node, "node") }?.graph)
    }
}

endings! {
    /// Destroys a node. Ports that were not destroyed before end with it.
    fn rmw_destroy_node(node: *mut Node) {
        // SAFETY: null or a node (caller).
        let known = unsafe { handle(node.cast_const(), "node") }?;
        let texts = [known.name, known.namespace_];
        // SAFETY: as above.
        let own = unsafe { data(node.cast_const(), "node") }?;
        for (handle, end) in own.hub().handles.take_all_of(std::ptr::from_ref(own).addr()) {
            // SAFETY: a port of this node, which nobody uses any more (caller).
            unsafe { end(handle) };
        }
        // SAFETY: a node of this library, which the caller gives up.
        let data = unsafe { destroy(node) }?;
        data.context.unwatch_graph(data.watch);
        for text in texts {
            // SAFETY: `rmw_create_node` has made it.
            unsafe { free_text(text) };
        }
        // SAFETY: the node has made it, and it goes with the node.
        unsafe { free_guard(data.graph) }
    }
}

/// Nodes need not say that they are alive: their process does. Humble and Jazzy have this function.
///
/// # Safety
///
/// Each pointer is null or what rmw's API asks for.
#[cfg(any(feature = "humble", feature = "jazzy"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmw_node_assert_liveliness(node: *const Node) -> crate::abi::shared::Ret {
    super::answer("rmw_node_assert_liveliness", || {
        // SAFETY: null or a node (caller).
        unsafe { data(node, "node") }?;
        Ok(())
    })
}

/// The name of a node as ports have it.
pub(super) fn full_name(namespace: &str, name: &str) -> Result<String, Failure> {
    if name.contains('/') {
        let what = "it has a `/`: the namespace is a separate argument";
        return Err(Failure::Argument { name: "name", what });
    }
    check_name(NameKind::Node, name)?;
    if namespace == "/" {
        return Ok(name.to_owned());
    }
    check_name(NameKind::Topic, namespace)?;
    let full = whole_node_name(namespace, name);
    check_name(NameKind::Node, &full)?;
    Ok(full)
}

/// A further handle of a context.
pub(super) fn clone_of(context: *mut Context) -> Result<Arc<context::Context>, Failure> {
    given(context.cast_const(), "context")?;
    // SAFETY: a context that was checked.
    let own: *const context::Context = unsafe { data(context.cast_const(), "context") }?;
    // SAFETY: `rmw_init` has made it of an `Arc`, which the context holds.
    unsafe { Arc::increment_strong_count(own) };
    // SAFETY: as above.
    Ok(unsafe { Arc::from_raw(own) })
}

/// The node that a port is made for or destroyed with.
///
/// # Safety
///
/// The pointer is null or a node.
pub(super) unsafe fn node<'a>(pointer: *const Node) -> Result<&'a NodeData, Failure> {
    // SAFETY: null or a node (caller).
    unsafe { data(pointer, "node") }
}

/// As [`node`], of one whose context makes ports still.
///
/// # Safety
///
/// As [`node`].
pub(super) unsafe fn open_node<'a>(pointer: *const Node) -> Result<&'a NodeData, Failure> {
    // SAFETY: as the caller says.
    let node = unsafe { node(pointer) }?;
    node.context.check_open()?;
    Ok(node)
}

/// The name of a topic as ports have it, from one of ROS.
pub(super) fn topic_name(topic: &str, is_native: bool) -> Result<Cow<'_, str>, Failure> {
    // A name outside ROS's conventions may be without a slash at its head.
    let name: Cow<'_, str> = match is_native && !topic.is_empty() && !topic.starts_with('/') {
        true => format!("/{topic}").into(),
        false => topic.into(),
    };
    check_name(NameKind::Topic, &name)?;
    Ok(name)
}
