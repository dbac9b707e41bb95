//! Nodes that leave their work to a device.

use super::*;
use crossdock_graph::{CopyModel, MappedDevice, Otherwise};

/// The course with what its package has kernels for, and one device.
fn on_device(nodes: &[&str]) -> (Graph, Interfaces, Mapping) {
    let graph = Graph::from_yaml("course.graph.yaml", COURSE.as_bytes()).unwrap();
    let mut interfaces = interfaces();
    let types = interfaces.binaries.iter_mut().flat_map(|binary| &mut binary.packages);
    for node_type in types.flat_map(|package| &mut package.nodes) {
        node_type.on_device = node_type.node_type != "simulator";
    }
    let mut mapping = Mapping::one_chain_per_package(&graph);
    mapping.devices.push(MappedDevice {
        name: "gpu".into(),
        device: "opencl:0".into(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        ..MappedDevice::default()
    });
    (graph, interfaces, mapping)
}

#[test]
fn what_cannot_be_on_a_device_is_refused_once() {
    let kinds = |nodes: &[&str], change: fn(&mut Mapping)| {
        let (graph, interfaces, mut mapping) = on_device(nodes);
        change(&mut mapping);
        let violations = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).unwrap_err();
        violations.iter().map(|it| (it.kind, it.node.clone())).collect::<Vec<_>>()
    };
    let of = |kind, node: &str| vec![(kind, Some(node.to_owned()))];
    assert_eq!(kinds(&["blurr"], |_| ()), of(ViolationKind::UnknownNode, "blurr"));
    assert_eq!(kinds(&["simulator"], |_| ()), of(ViolationKind::UnknownNodeType, "simulator"));
    assert_eq!(kinds(&["blur", "blur"], |_| ()), of(ViolationKind::MappedTwice, "blur"));
    let elsewhere = |mapping: &mut Mapping| {
        mapping.devices[0].topics.insert("/odom".into(), CopyModel::Copy);
    };
    assert_eq!(kinds(&["blur"], elsewhere), [(ViolationKind::UnknownTopic, None)]);
}

#[test]
fn a_node_is_told_its_device_and_who_reads_its_topics_elsewhere() {
    let (graph, interfaces, mut mapping) = on_device(&["compensation", "blur"]);
    let blurred = graph.node("blur").unwrap().outputs[0].topic.clone();
    mapping.devices[0].topics.insert(blurred.clone(), CopyModel::Device);
    mapping.devices[0].otherwise = Otherwise::Cpu;
    let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).unwrap();
    let nodes = plan.processes.iter().flat_map(|process| &process.executors);
    let nodes: Vec<_> = nodes.flat_map(|executor| &executor.nodes).collect();
    let device = |name: &str| nodes.iter().find(|node| node.name == name).unwrap().device.clone();
    assert_eq!(device("polyfit"), None);
    let blur = device("blur").unwrap();
    assert_eq!((blur.device.as_str(), blur.otherwise), ("opencl:0", Otherwise::Cpu));
    assert_eq!(blur.topics.len(), 2);
    let topic = blur.topics[&blurred];
    assert_eq!((topic.model, topic.may_copy), (CopyModel::Device, true));
    // The lane's nodes read it, and are on the processor.
    assert!(topic.read_elsewhere && !topic.other_processes);
}

#[test]
fn a_topic_between_nodes_of_a_device_is_needed_by_other_processes_where_they_are_apart() {
    let (graph, interfaces, mut mapping) = on_device(&["blur", "lane_planner"]);
    let between = graph.node("blur").unwrap().outputs[0].topic.clone();
    for apart in [false, true] {
        if apart {
            mapping.processes = Mapping::one_process_per_node(&graph).processes;
        }
        let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).unwrap();
        let nodes = plan.processes.iter().flat_map(|process| &process.executors);
        let node = nodes.flat_map(|it| &it.nodes).find(|node| node.name == "blur").unwrap();
        let topic = node.device.as_ref().unwrap().topics[&between];
        assert_eq!((topic.read_elsewhere, topic.other_processes), (false, apart));
    }
}
