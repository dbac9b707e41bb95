//! Each node against the description of its node type: ports, timers, parameters.

use super::{Check, Resolved};
use crate::description::{NodeTypeDescription, ParameterDescription, TimerClock};
use crate::hardware_package::{HARDWARE_PACKAGE_ENDING, HardwareNode};
use crate::limits::{QOS_DEPTH_MAX, VIOLATIONS_MAX};
use crate::model::{GraphNode, is_period};
use crate::names::{did_you_mean, listed};
use crate::parameters::USE_SIM_TIME;
use crate::qos::is_time;
use crate::value::ParameterValue;
use crate::violation::{Violation, ViolationKind};

impl<'a> Check<'a> {
    pub(super) fn nodes(&mut self, nodes: &[Resolved<'a>]) {
        for (node, resolved) in self.graph.nodes.iter().zip(nodes) {
            if self.is_full() {
                return;
            }
            match resolved.description {
                Some(description) => self.known_node(node, resolved, description),
                None => self.unknown_type(node, resolved),
            }
            self.condition(node, resolved.description);
            self.readings(node, resolved.description);
            self.lockstep(node, resolved.description);
        }
    }

    /// Those whose types somebody describes.
    pub(super) fn known_nodes(&mut self, nodes: &[Resolved<'a>]) {
        for (node, resolved) in self.graph.nodes.iter().zip(nodes) {
            if let (Some(description), false) = (resolved.description, self.is_full()) {
                self.known_node(node, resolved, description);
            }
        }
    }

    fn known_node(
        &mut self,
        node: &GraphNode,
        resolved: &Resolved<'a>,
        description: &'a NodeTypeDescription,
    ) {
        self.description(node, description);
        self.ports(node, description);
        self.timers(node, description);
        self.parameters(node, resolved, description);
        self.built_in_condition(node, resolved);
        self.built_in_inputs(node, resolved);
    }

    pub(super) fn node_fault(
        &mut self,
        kind: ViolationKind,
        node: &GraphNode,
        path: &[&str],
        message: String,
        advice: String,
    ) {
        let path: Vec<&str> =
            ["nodes", &node.name].into_iter().chain(path.iter().copied()).collect();
        let violation = Violation::at(kind, &self.graph.source, &path, message, advice);
        self.note(violation.for_node(&node.name));
    }

    fn unknown_type(&mut self, node: &GraphNode, resolved: &Resolved<'a>) {
        if let (Some((package, _)), false) = (resolved.hardware, resolved.in_fabric) {
            let message = format!(
                "`{}` of package `{}` exists in hardware only ({}), and the mapping places the node in \
                 a process",
                node.node_type,
                node.package,
                package.source.file()
            );
            let advice = format!(
                "place it in a fabric, or put a `crossdock-{}` that has it on the package path",
                node.package
            );
            let kind = ViolationKind::UnknownNodeType;
            return self.node_fault(kind, node, &["type"], message, advice);
        }
        let or_hardware = match resolved.in_fabric {
            true => format!(", or `{}{HARDWARE_PACKAGE_ENDING}` for its hardware", node.package),
            false => String::new(),
        };
        let package = resolved.binary.and_then(|binary| binary.package(&node.package));
        let Some(package) = package else {
            let binaries = self.descriptions.binaries.iter();
            let packages = binaries.flat_map(|binary| &binary.packages);
            let known: Vec<&str> = packages.map(|package| package.name.as_str()).collect();
            let near = did_you_mean(&node.package, known.iter().copied());
            let message = format!("no binary offers package `{}`", node.package);
            let advice = format!(
                "{near}{}build `crossdock-{}` and put it on the package path{or_hardware}; found: {}",
                if near.is_empty() { "" } else { " else " },
                node.package,
                listed(known)
            );
            let kind = ViolationKind::UnknownPackage;
            return self.node_fault(kind, node, &["package"], message, advice);
        };
        let known = || package.nodes.iter().map(|known| known.node_type.as_str());
        let message = format!("package `{}` has no node type `{}`", package.name, node.node_type);
        let advice = near_or_list(&node.node_type, "its node types are", known());
        self.node_fault(ViolationKind::UnknownNodeType, node, &["type"], message, advice);
    }

    /// A description comes from another program: what it says about time and depth must be sound.
    fn description(&mut self, node: &GraphNode, description: &NodeTypeDescription) {
        let advice = || format!("correct the description in package `{}`", node.package);
        for timer in &description.timers {
            let period_ns = timer.period_ns.filter(|period_ns| !is_period(*period_ns));
            if let Some(period_ns) = period_ns {
                let message = format!(
                    "`{}` describes timer `{}` with a period of {period_ns} ns, not 1 us to 1 day",
                    node.node_type, timer.name
                );
                self.node_fault(ViolationKind::Timer, node, &["type"], message, advice());
            }
        }
        let inputs = description.inputs.iter().map(|input| (&input.port, &input.qos));
        let outputs = description.outputs.iter().map(|output| (&output.port, &output.qos));
        for (port, qos) in inputs.chain(outputs) {
            let depth_fits = qos.depth.is_none_or(|d| (1..=QOS_DEPTH_MAX).contains(&u64::from(d)));
            let times_fit = qos.times().iter().all(|(_, ns)| ns.is_none_or(is_time));
            if !depth_fits || !times_fit || qos.timeout_ms == Some(0) {
                let message = format!(
                    "`{}` describes port `{port}` with a depth or a time out of range",
                    node.node_type
                );
                self.node_fault(ViolationKind::OutOfRange, node, &["type"], message, advice());
            }
        }
        for parameter in description.parameters.iter().filter(|p| !p.default.is_finite()) {
            let message = format!(
                "`{}` describes parameter `{}` with a default that is not finite",
                node.node_type, parameter.name
            );
            self.node_fault(ViolationKind::OutOfRange, node, &["type"], message, advice());
        }
    }

    fn ports(&mut self, node: &GraphNode, description: &NodeTypeDescription) {
        let known = || description.inputs.iter().map(|input| input.port.as_str());
        for input in node.inputs.iter().filter(|input| description.input(&input.port).is_none()) {
            let message = format!("`{}` has no input `{}`", node.node_type, input.port);
            let advice = near_or_list(&input.port, "its inputs are", known());
            let path = ["inputs", input.port.as_str()];
            self.node_fault(ViolationKind::UnknownPort, node, &path, message, advice);
        }
        let known = || description.outputs.iter().map(|output| output.port.as_str());
        for output in node.outputs.iter().filter(|o| description.output(&o.port).is_none()) {
            let message = format!("`{}` has no output `{}`", node.node_type, output.port);
            let advice = near_or_list(&output.port, "its outputs are", known());
            let path = ["outputs", output.port.as_str()];
            self.node_fault(ViolationKind::UnknownPort, node, &path, message, advice);
        }
        let inputs = description.inputs.iter().filter(|input| !input.optional);
        for input in inputs.filter(|input| node.input(&input.port).is_none()) {
            let message =
                format!("input `{}` ({}) is not connected", input.port, input.message_type);
            let advice = format!("add `{}: /topic` under `inputs`", input.port);
            self.node_fault(ViolationKind::UnconnectedPort, node, &["inputs"], message, advice);
        }
        let outputs = description.outputs.iter().filter(|output| !output.optional);
        for output in outputs.filter(|output| node.output(&output.port).is_none()) {
            let message =
                format!("output `{}` ({}) is not connected", output.port, output.message_type);
            let advice = format!("add `{}: /topic` under `outputs`", output.port);
            self.node_fault(ViolationKind::UnconnectedPort, node, &["outputs"], message, advice);
        }
    }

    fn timers(&mut self, node: &GraphNode, description: &NodeTypeDescription) {
        let known = || description.timers.iter().map(|timer| timer.name.as_str());
        for timer in node.timers.iter().filter(|timer| description.timer(&timer.name).is_none()) {
            let message = format!("`{}` has no timer `{}`", node.node_type, timer.name);
            let advice = near_or_list(&timer.name, "its timers are", known());
            let path = ["timers", timer.name.as_str()];
            self.node_fault(ViolationKind::Timer, node, &path, message, advice);
        }
        let open = description.timers.iter().filter(|timer| timer.period_ns.is_none());
        for timer in open.filter(|open| node.timers.iter().all(|timer| timer.name != open.name)) {
            let message = format!("timer `{}` has no period", timer.name);
            let advice = format!("add `{}: {{ rate_hz: ... }}` under `timers`", timer.name);
            self.node_fault(ViolationKind::Timer, node, &["timers"], message, advice);
        }
    }

    /// Parameters of the implementation that the mapping chooses. What only the other one has may
    /// be said, so that a graph fits both, but it is told.
    fn parameters(
        &mut self,
        node: &GraphNode,
        resolved: &Resolved<'a>,
        description: &'a NodeTypeDescription,
    ) {
        let hardware = resolved.hardware.map(|(_, hardware)| &hardware.description);
        let (used, other) = match (hardware, resolved.in_fabric) {
            (Some(hardware), true) => (hardware, Some(description)),
            (other, _) => (description, other),
        };
        let built_in = resolved.hardware.filter(|_| resolved.in_fabric);
        let built_in = built_in.map(|(_, hardware)| &hardware.built_in);
        if let (Some((_, hardware)), Some(software), true) =
            (resolved.hardware, other, resolved.in_fabric)
        {
            self.built_in(node, hardware, software);
        }
        let of_other = || other.into_iter().flat_map(|it| &it.parameters);
        let of_other = || of_other().filter(|it| used.parameter(&it.name).is_none());
        let known = || used.parameters.iter().chain(of_other()).map(|it| it.name.as_str());
        for (name, value) in &node.parameters {
            let path = ["parameters", name.as_str()];
            let elsewhere = other.and_then(|description| description.parameter(name));
            let is_built_in = built_in.is_some_and(|built_in| built_in.contains_key(name));
            if let (None, Some(elsewhere), false) = (used.parameter(name), elsewhere, is_built_in)
                && value.converted_to(elsewhere.default.parameter_type()).as_ref()
                    != Some(&elsewhere.default)
            {
                self.unused_parameter(node, name, resolved.in_fabric, &used.parameters);
            }
            let parameter = used.parameter(name).or(elsewhere);
            if parameter.is_none() && name == USE_SIM_TIME {
                self.use_sim_time(node, value);
                continue;
            }
            let Some(parameter) = parameter else {
                let message = format!("`{}` has no parameter `{name}`", node.node_type);
                let advice = near_or_list(name, "its parameters are", known());
                self.node_fault(ViolationKind::UnknownParameter, node, &path, message, advice);
                continue;
            };
            let wanted = parameter.default.parameter_type();
            if value.converted_to(wanted).is_none() {
                let is = value.parameter_type();
                let message = format!("parameter `{name}` must be of type {wanted}, not {is}");
                let about = parameter.doc.trim().trim_end_matches('.');
                let advice = match about {
                    "" => format!("write a value of type {wanted}"),
                    about => format!("write a value of type {wanted} ({about})"),
                };
                self.node_fault(ViolationKind::ParameterType, node, &path, message, advice);
            } else if resolved.in_fabric {
                self.in_range(node, resolved, (name, value));
            }
        }
    }

    /// A value for which the module cannot be made ends here, not when the board is built.
    fn in_range(
        &mut self,
        node: &GraphNode,
        resolved: &Resolved<'a>,
        (name, value): (&String, &ParameterValue),
    ) {
        let Some((_, hardware)) = resolved.hardware else { return };
        let Some(range) = hardware.ranges.get(name) else { return };
        if hardware.is_in_range(name, value) {
            return;
        }
        let scaled = hardware.scaled.get(name).filter(|scaled| scaled.times != 1);
        let times = scaled.map_or(String::new(), |scaled| format!(" times {}", scaled.times));
        let (of, text) = (&node.node_type, range.text());
        let message = format!("parameter `{name}`{times} of `{of}` in hardware must be {text}");
        let advice = "choose such a value, or keep the node in a process".to_owned();
        let path = ["parameters", name.as_str()];
        self.node_fault(ViolationKind::OutOfRange, node, &path, message, advice);
    }

    /// Every node has this parameter, whatever its type says.
    fn use_sim_time(&mut self, node: &GraphNode, value: &ParameterValue) {
        if !matches!(value, ParameterValue::Bool(_)) {
            let is = value.parameter_type();
            let message = format!("parameter `{USE_SIM_TIME}` must be of type bool, not {is}");
            let advice = "write true or false".to_owned();
            let path = ["parameters", USE_SIM_TIME];
            self.node_fault(ViolationKind::ParameterType, node, &path, message, advice);
        }
    }

    /// What a module was made with is what the node has, said or by default: else the hardware
    /// would silently do something else than the software. A source that the package sets up is
    /// made anew for the node.
    fn built_in(
        &mut self,
        node: &GraphNode,
        hardware: &HardwareNode,
        software: &NodeTypeDescription,
    ) {
        for (name, made_with) in &hardware.built_in {
            let Some(parameter) = software.parameter(name) else {
                let message = format!(
                    "`{}` in hardware was made with a value of `{name}`, which the software does not have",
                    node.node_type
                );
                let advice = "correct the name under `built_in` in the hardware package file";
                let kind = ViolationKind::UnknownParameter;
                self.node_fault(kind, node, &["parameters"], message, advice.to_owned());
                continue;
            };
            let wanted = parameter.default.parameter_type();
            let said = node.parameters.get(name);
            let value = said.unwrap_or(&parameter.default).converted_to(wanted);
            // What a file holds matters, not how it is called. The command that reads files looks.
            let is_file = hardware.made_from.contains(name);
            let is_made_anew = is_file || !hardware.set_up.is_empty();
            // A value of another type is a fault of its own.
            if value.is_none() || is_made_anew || value == made_with.converted_to(wanted) {
                continue;
            }
            let how = if said.is_some() { "is" } else { "is by default" };
            let message = format!(
                "parameter `{name}` {how} another value than `{}` in hardware was made with",
                node.node_type
            );
            let advice = "make it the same as under `built_in` in the hardware package file, or make \
                          the module anew with this value";
            let path = ["parameters", name.as_str()];
            let kind = ViolationKind::UnknownParameter;
            self.node_fault(kind, node, &path, message, advice.to_owned());
        }
    }

    fn unused_parameter(
        &mut self,
        node: &GraphNode,
        name: &str,
        in_fabric: bool,
        used: &[ParameterDescription],
    ) {
        let (here, there) =
            if in_fabric { ("hardware", "software") } else { ("software", "hardware") };
        let message = format!(
            "parameter `{name}` would have no effect: `{}` has it in {there}, and the node is {here}",
            node.node_type
        );
        let known = listed(used.iter().map(|parameter| parameter.name.as_str()));
        let advice = format!("its parameters in {here} are: {known}");
        let path = ["nodes", &node.name, "parameters", name];
        let kind = ViolationKind::UnknownParameter;
        let found = self.fault(kind, &path, message, advice).for_node(&node.name);
        // A hardware node that silently does something else than its software would be found late.
        if in_fabric {
            self.note(found);
        } else if self.warnings.len() < VIOLATIONS_MAX {
            self.warnings.push(found);
        }
    }

    fn lockstep(&mut self, node: &GraphNode, description: Option<&NodeTypeDescription>) {
        let Some(lockstep) = &node.lockstep else { return };
        let kind = ViolationKind::Lockstep;
        let has_timer = node.timers.iter().any(|timer| timer.name == lockstep.timer)
            || description.is_some_and(|description| description.timer(&lockstep.timer).is_some());
        if !has_timer {
            let message = format!("the lockstep's timer `{}` is no timer of it", lockstep.timer);
            let advice = "name one of the node's timers".to_owned();
            self.node_fault(kind, node, &["lockstep"], message, advice);
        }
        let described = description.and_then(|description| description.timer(&lockstep.timer));
        if described.is_some_and(|timer| timer.clock != TimerClock::Ros) {
            let message = format!("the lockstep's timer `{}` is not of ROS time", lockstep.timer);
            let advice = "name a timer that follows simulated time".to_owned();
            self.node_fault(ViolationKind::Lockstep, node, &["lockstep"], message, advice);
        }
        let command = &lockstep.command;
        if node.input(command).is_none() {
            let known = node.inputs.iter().map(|input| input.port.as_str());
            let message = format!("the lockstep's command `{command}` is no connected input");
            let advice = near_or_list(command, "connected inputs are", known);
            self.node_fault(kind, node, &["lockstep"], message, advice);
        } else if triggers(node, description, command) {
            let message = format!("the lockstep's command `{command}` triggers the node");
            let advice = format!("set `trigger: false` on `{command}`: the timer runs the node");
            self.node_fault(kind, node, &["lockstep"], message, advice);
        }
    }

    pub(super) fn arguments(&mut self, nodes: &[Resolved<'a>]) {
        let graph = self.graph;
        for argument in &graph.arguments {
            let path = ["arguments", argument.name.as_str()];
            let position = graph.nodes.iter().position(|node| node.name == argument.node);
            let Some(index) = position else {
                let known = graph.nodes.iter().map(|node| node.name.as_str());
                let message =
                    format!("argument `{}` is for a node that is not there", argument.name);
                let advice = near_or_list(&argument.node, "the nodes are", known);
                let violation = self.fault(ViolationKind::UnknownNode, &path, message, advice);
                self.note(violation.for_node(&argument.node));
                continue;
            };
            let Some(description) = nodes[index].description else { continue };
            let hardware = nodes[index].hardware.map(|(_, hardware)| &hardware.description);
            let has = |description: &NodeTypeDescription| {
                description.parameter(&argument.parameter).is_some()
            };
            if !has(description) && !hardware.is_some_and(has) {
                let known = description.parameters.iter().map(|parameter| parameter.name.as_str());
                let message = format!(
                    "argument `{}` sets the parameter `{}`, which `{}` does not have",
                    argument.name, argument.parameter, description.node_type
                );
                let advice = near_or_list(&argument.parameter, "its parameters are", known);
                let violation = self.fault(ViolationKind::UnknownParameter, &path, message, advice);
                self.note(violation.for_node(&argument.node));
            }
        }
    }
}

/// Whether a message on this input runs the node: as the graph says, else as the node type says,
/// else yes.
pub(super) fn triggers(
    node: &GraphNode,
    description: Option<&NodeTypeDescription>,
    port: &str,
) -> bool {
    let said = node.input(port).and_then(|input| input.trigger);
    let described = description.and_then(|description| description.input(port));
    said.or(described.map(|input| input.trigger)).unwrap_or(true)
}

pub(super) fn near_or_list<'b>(
    name: &str,
    what: &str,
    known: impl Iterator<Item = &'b str> + Clone,
) -> String {
    let near = did_you_mean(name, known.clone());
    if near.is_empty() { format!("{what}: {}", listed(known)) } else { near }
}
