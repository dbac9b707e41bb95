//! Each node's condition against its inputs, the description of its type and the queues it needs.

use super::nodes::{near_or_list, triggers};
use super::{Check, Resolved, Topics};
use crate::condition::Condition;
use crate::description::NodeTypeDescription;
use crate::limits::APPROXIMATE_DEPTH_MAX;
use crate::model::{GraphNode, InputReading};
use crate::violation::ViolationKind;

/// Messages of a publisher that a subscriber may hold at least, whatever the publisher's depth.
const QUEUED_ALWAYS: u32 = 3;

impl<'a> Check<'a> {
    pub(super) fn condition(
        &mut self,
        node: &GraphNode,
        description: Option<&NodeTypeDescription>,
    ) {
        let Some(condition) = &node.condition else { return };
        let triggering = |port: &str| triggers(node, description, port);
        for port in condition.inputs() {
            if node.input(port).is_none() {
                let known = node.inputs.iter().map(|input| input.port.as_str());
                let message = format!("the condition names `{port}`, which is no connected input");
                let advice = near_or_list(port, "connected inputs are", known);
                self.condition_fault(node, message, advice);
            } else if node.lockstep.as_ref().is_some_and(|lockstep| lockstep.command == *port) {
                let message = format!("the condition names `{port}`, the lockstep's command");
                let advice = format!("take `{port}` out of the condition: the timer waits for it");
                self.condition_fault(node, message, advice);
            }
        }
        for (key, ports) in [("all_of", &condition.all_of), ("any_of", &condition.any_of)] {
            for port in ports.iter().filter(|port| node.input(port).is_some()) {
                if !triggering(port) {
                    let message =
                        format!("the condition waits for `{port}`, which does not trigger");
                    let advice = format!(
                        "set `trigger: true` on `{port}` or take it out of `{key}`; `fresh` asks \
                         for a message on it"
                    );
                    self.condition_fault(node, message, advice);
                }
            }
        }
        self.fresh(node, condition, triggering);
        self.releasing(node, description, condition, triggering);
        if let Some(approximate) = &condition.approximate_time {
            for port in approximate.lower_bounds_ns.keys() {
                if !condition.all_of.contains(port) {
                    let message = format!("`lower_bounds_ms` names `{port}`, which is not joined");
                    let known = condition.all_of.iter().map(String::as_str);
                    let advice = near_or_list(port, "`all_of` has", known);
                    self.condition_fault(node, message, advice);
                }
            }
        }
        if let (Some(name), Some(description)) = (&condition.predicate, description)
            && !description.predicates.iter().any(|predicate| predicate.name == *name)
        {
            let message = format!("`{}` has no predicate `{name}`", node.node_type);
            let known = description.predicates.iter().map(|predicate| predicate.name.as_str());
            let advice = match description.predicates.is_empty() {
                true => "it declares none; remove `predicate`, or declare it in code".to_owned(),
                false => near_or_list(name, "its predicates are", known),
            };
            self.condition_fault(node, message, advice);
        }
    }

    /// Beside `all_of` and `any_of`, which say what releases the node, `fresh` only guards.
    fn fresh(
        &mut self,
        node: &GraphNode,
        condition: &Condition,
        triggering: impl Fn(&str) -> bool,
    ) {
        let (key, joined) = match (condition.all_of.is_empty(), condition.any_of.is_empty()) {
            (false, _) => ("all_of", &condition.all_of),
            (true, false) => ("any_of", &condition.any_of),
            (true, true) => return,
        };
        let connected = condition.fresh.iter().filter(|port| node.input(port).is_some());
        for port in connected.filter(|port| triggering(port)) {
            let message = format!("`fresh` names `{port}`, which triggers, beside `{key}`");
            let advice = match joined.contains(port) {
                true => format!("take `{port}` out of `fresh`: what `{key}` gives is unread"),
                false => format!("set `trigger: false` on `{port}`, or add it to `{key}`"),
            };
            self.condition_fault(node, message, advice);
        }
    }

    /// Every triggering input releases the node, and something does.
    fn releasing(
        &mut self,
        node: &GraphNode,
        description: Option<&NodeTypeDescription>,
        condition: &Condition,
        triggering: impl Fn(&str) -> bool,
    ) {
        let joins = condition.all_of.iter().chain(&condition.any_of).chain(&condition.fresh);
        let joined: Vec<&String> = joins.filter(|port| triggering(port)).collect();
        let said = !condition.all_of.is_empty() || !condition.any_of.is_empty();
        let fresh = condition.fresh.iter().any(|port| triggering(port));
        let key = match (condition.all_of.is_empty(), condition.any_of.is_empty()) {
            (false, _) => "all_of",
            (true, false) => "any_of",
            (true, true) => "fresh",
        };
        let mut all = node.inputs.iter().filter(|input| triggering(&input.port));
        if said || fresh {
            for input in all.filter(|input| !joined.contains(&&input.port)) {
                let port = &input.port;
                let message = format!("input `{port}` triggers but is not part of the condition");
                let advice = format!("add `{port}` to `{key}` or set `trigger: false` on it");
                self.condition_fault(node, message, advice);
            }
        } else if all.next().is_none()
            && node.timers.is_empty()
            && description.is_some_and(|description| description.timers.is_empty())
        {
            let message = "the condition guards a node that nothing releases".to_owned();
            let advice = "let one of its inputs trigger, or give it a timer".to_owned();
            self.condition_fault(node, message, advice);
        }
    }

    /// Queues of approximate time hold messages, so each publisher lends so many.
    pub(super) fn queues(&mut self, nodes: &[Resolved<'a>], topics: &Topics<'a>) {
        for (index, node) in self.graph.nodes.iter().enumerate() {
            let condition = node.condition.as_ref().filter(|_| !nodes[index].in_fabric);
            let Some(condition) = condition.filter(|it| it.approximate_time.is_some()) else {
                continue;
            };
            let inputs = node.inputs.iter().filter(|it| condition.all_of.contains(&it.port));
            for input in inputs {
                let Some(ports) = topics.get(input.topic.as_str()) else { continue };
                let mut subscribers = ports.subscribers.iter();
                let own = subscribers.find(|it| it.node == index && it.port == input.port);
                let Some(depth) = own.map(|port| port.qos.depth) else { continue };
                let port = &input.port;
                if depth > APPROXIMATE_DEPTH_MAX {
                    let message = format!(
                        "input `{port}` is to queue {depth} messages for `approximate_time`, which \
                         can be {APPROXIMATE_DEPTH_MAX} at most"
                    );
                    let advice = format!("set `qos: {{ depth: {APPROXIMATE_DEPTH_MAX} }}` on it");
                    self.condition_fault(node, message, advice);
                }
                let few = ports.publishers.iter().find(|it| it.qos.depth < depth);
                if let Some(few) = few.filter(|_| depth > QUEUED_ALWAYS) {
                    let message = format!(
                        "input `{port}` is to queue {depth} messages for `approximate_time`, but \
                         `{}` keeps {} of `{}`",
                        self.node_name(few.node),
                        few.qos.depth,
                        input.topic
                    );
                    let advice = format!("set `qos: {{ depth: {depth} }}` on the topic");
                    self.condition_fault(node, message, advice);
                }
            }
        }
    }

    /// What an input gives the node that asks for what has come.
    pub(super) fn readings(&mut self, node: &GraphNode, description: Option<&NodeTypeDescription>) {
        for input in node.inputs.iter().filter(|input| input.reading.is_some()) {
            let port = &input.port;
            if triggers(node, description, port) {
                let message = format!("input `{port}` triggers, so the node reads each message");
                let advice = "remove `read`, or set `trigger: false`".to_owned();
                let path = ["inputs", port.as_str()];
                self.node_fault(ViolationKind::Condition, node, &path, message, advice);
            }
        }
    }

    /// A module runs for messages on the inputs that its package file says, and takes them in its
    /// own way. A graph that says otherwise would run another node than the software is.
    pub(super) fn built_in_inputs(&mut self, node: &GraphNode, resolved: &Resolved<'a>) {
        let Some((_, module)) = resolved.hardware.filter(|_| resolved.in_fabric) else { return };
        let module = &module.description;
        for input in &node.inputs {
            let Some(made) = module.input(&input.port) else { continue };
            let (port, node_type) = (&input.port, &node.node_type);
            let described = resolved.description.and_then(|it| it.input(port));
            let reads = described.and_then(|it| it.reading).unwrap_or(InputReading::Latest);
            let is = triggers(node, resolved.description, port);
            let (message, advice) = if is != made.trigger {
                let (here, there) =
                    if is { ("triggers", "does not run") } else { ("does not trigger", "runs") };
                let message = format!(
                    "input `{port}` {here}, but `{node_type}` in hardware {there} for its messages"
                );
                (message, format!("set `trigger: {}`", made.trigger))
            } else if !is && input.reading.is_some_and(|said| said != reads) {
                let message = format!(
                    "`{node_type}` in hardware takes the messages on `{port}` in its own way, and \
                     `read` does not change that"
                );
                (message, "take `read` away".to_owned())
            } else {
                continue;
            };
            let advice = format!("{advice}, or map the node to a process");
            let path = ["inputs", port.as_str()];
            self.node_fault(ViolationKind::HardwareNode, node, &path, message, advice);
        }
    }

    /// What a module sees to is what the graph says: else the hardware would silently run for other
    /// messages than the software.
    pub(super) fn built_in_condition(&mut self, node: &GraphNode, resolved: &Resolved<'a>) {
        let module = resolved.hardware.filter(|_| resolved.in_fabric);
        let Some(built_in) = module.and_then(|(_, module)| module.condition.as_ref()) else {
            return;
        };
        if node.condition.as_ref().is_some_and(|said| said.is_the_same_as(built_in)) {
            return;
        }
        let how = if node.condition.is_some() { "another" } else { "no" };
        let message = format!(
            "it has {how} condition, but `{}` in hardware sees to `{}`",
            node.node_type,
            built_in.text()
        );
        let advice = "write this condition, or map the node to a process".to_owned();
        self.condition_fault(node, message, advice);
    }

    fn condition_fault(&mut self, node: &GraphNode, message: String, advice: String) {
        self.node_fault(ViolationKind::Condition, node, &["condition"], message, advice);
    }
}
