//! Nodes that leave their work to a device.

use super::*;
use crossdock_graph::{
    Copies, CopyModel, DeviceUpload, GraphTopic, MappedDevice, NodePlan, Otherwise, ProcessPlan,
};

/// The course with what its package has kernels for, and one device.
fn on_device(nodes: &[&str]) -> (Graph, PackageDescriptions, Mapping) {
    let graph = Graph::from_yaml("course.graph.yaml", COURSE.as_bytes()).unwrap();
    let mut descriptions = descriptions();
    let types = descriptions.binaries.iter_mut().flat_map(|binary| &mut binary.packages);
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
    (graph, descriptions, mapping)
}

#[test]
fn what_cannot_be_on_a_device_is_refused_once() {
    let kinds = |nodes: &[&str], change: fn(&mut Mapping)| {
        let (graph, descriptions, mut mapping) = on_device(nodes);
        change(&mut mapping);
        let violations = check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).unwrap_err();
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
    let again = |mapping: &mut Mapping| {
        let nodes = vec!["compensation".to_owned()];
        let gpu = mapping.devices[0].clone();
        mapping.devices.push(MappedDevice { name: "again".into(), nodes, ..gpu });
    };
    assert_eq!(kinds(&["blur"], again), [(ViolationKind::Duplicate, None)]);
}

#[test]
fn a_node_is_told_its_device_and_who_reads_its_topics_elsewhere() {
    let (graph, descriptions, mut mapping) = on_device(&["compensation", "blur"]);
    let blurred = graph.node("blur").unwrap().outputs[0].topic.clone();
    mapping.devices[0].topics.insert(blurred.clone(), CopyModel::Device);
    mapping.devices[0].otherwise = Otherwise::Cpu;
    let plan = check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).unwrap();
    let nodes: Vec<_> = plan.processes.iter().flat_map(ProcessPlan::nodes).collect();
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
    let (graph, descriptions, mut mapping) = on_device(&["blur", "lane_planner"]);
    let between = graph.node("blur").unwrap().outputs[0].topic.clone();
    for apart in [false, true] {
        if apart {
            mapping.processes = Mapping::one_process_per_node(&graph).processes;
        }
        let plan = check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).unwrap();
        let mut nodes = plan.processes.iter().flat_map(ProcessPlan::nodes);
        let node = nodes.find(|node| node.name == "blur").unwrap();
        let topic = node.device.as_ref().unwrap().topics[&between];
        assert_eq!((topic.read_elsewhere, topic.other_processes), (false, apart));
        // Its own messages a node may write.
        let reads = |node: &str, topic: &str| {
            let mut nodes = plan.processes.iter().flat_map(ProcessPlan::nodes);
            let node = nodes.find(|it| it.name == node).unwrap();
            node.device.as_ref().unwrap().topics[topic].foreign
        };
        assert_eq!((topic.foreign, reads("lane_planner", &between)), (false, apart));
    }
}

#[test]
fn what_a_driver_is_to_move_is_made_by_its_publisher_where_all_who_have_it_are_in_one_process() {
    let readers = ["blur", "red_light", "green_light"];
    let found = |options: &RunOptions, change: fn(&mut Graph, &mut Mapping)| {
        let (mut graph, descriptions, mut mapping) = on_device(&readers);
        mapping.devices[0].topics.insert(COMPENSATED.into(), CopyModel::Managed);
        change(&mut graph, &mut mapping);
        let plan = check(&graph, &mapping, &descriptions, options).unwrap();
        let nodes: Vec<_> = plan.processes.iter().flat_map(ProcessPlan::nodes).collect();
        let made = nodes.iter().flat_map(|node| {
            node.managed.iter().map(|it| (node.name.clone(), it.name.clone(), it.device.clone()))
        });
        let blur = nodes.iter().find(|node| node.name == "blur").unwrap();
        assert!(
            nodes
                .iter()
                .all(|node| node.uploads.is_empty() && !node.managed.iter().any(|it| it.tokens))
        );
        let is_of_one = blur.device.as_ref().map(|device| device.topics[COMPENSATED].one_process);
        (made.collect::<Vec<_>>(), is_of_one.expect("it is on the device"))
    };
    // One process for each package, and these are of one.
    let made = ("compensation".to_owned(), COMPENSATED.to_owned(), "opencl:0".to_owned());
    assert_eq!(found(&RunOptions::PLAIN, |_, _| ()), (vec![made], true));
    let apart = |graph: &mut Graph, mapping: &mut Mapping| {
        mapping.processes = Mapping::one_process_per_node(graph).processes;
    };
    assert_eq!(found(&RunOptions::PLAIN, apart), (vec![], false));
    // A recorder is a process of its own, and so is any other publisher.
    let recorded = RunOptions { recorded: vec![COMPENSATED.into()], ..RunOptions::PLAIN };
    assert_eq!(found(&recorded, |_, _| ()), (vec![], false));
}

/// The gateways of a plan in which each node is a process, and which device nodes look for messages
/// in slabs.
fn gateways(
    nodes: &[&str],
    change: fn(&mut Graph, &mut Mapping),
) -> (Vec<(String, DeviceUpload)>, Vec<String>) {
    let (mut graph, descriptions, mut mapping) = on_device(nodes);
    mapping.processes = Mapping::one_process_per_node(&graph).processes;
    change(&mut graph, &mut mapping);
    let plan = check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).unwrap();
    let nodes: Vec<_> = plan.processes.iter().flat_map(ProcessPlan::nodes).collect();
    let gateways = nodes.iter().flat_map(|node| {
        let of_node = node.uploads.iter().cloned();
        of_node.map(|gateway| (node.name.clone(), gateway))
    });
    let reads = |node: &NodePlan, topic: &str| node.inputs.iter().any(|it| it.topic == topic);
    let takers = nodes.iter().filter(|node| {
        let mut topics = node.device.iter().flat_map(|device| &device.topics);
        topics.any(|(topic, it)| reads(node, topic) && it.in_slabs)
    });
    (gateways.collect(), takers.map(|node| node.name.clone()).collect())
}

const COMPENSATED: &str = "/camera/image_compensated";

#[test]
fn a_publisher_on_the_processor_brings_what_several_executors_read_on_a_device() {
    let readers = ["blur", "red_light", "green_light"];
    let gateway = |model, executors, executors_here| {
        let (topic, device) = (COMPENSATED.to_owned(), "opencl:0".to_owned());
        let tokens = false;
        let gateway = DeviceUpload { topic, device, model, executors, executors_here, tokens };
        vec![("compensation".to_owned(), gateway)]
    };
    let named = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let (found, takers) = gateways(&readers, |_, _| ());
    assert_eq!((found, takers), (gateway(CopyModel::Auto, 3, 0), named(&readers)));
    let copied = |_: &mut Graph, mapping: &mut Mapping| {
        mapping.devices[0].topics.insert(COMPENSATED.into(), CopyModel::Copy);
    };
    let (found, takers) = gateways(&readers, copied);
    assert_eq!((found, takers), (gateway(CopyModel::Copy, 3, 0), named(&readers)));
    // Two of them share a queue, which is in the publisher's process.
    let beside = |_: &mut Graph, mapping: &mut Mapping| {
        mapping.processes.retain(|it| {
            let mut nodes = it.executors.iter().flat_map(|executor| &executor.nodes);
            !nodes.any(|node| ["red_light", "green_light"].contains(&node.as_str()))
        });
        let is_of = |it: &&mut MappedProcess| it.executors[0].nodes == ["compensation"];
        let process = mapping.processes.iter_mut().find(is_of).unwrap();
        let mut executor = process.executors[0].clone();
        executor.nodes = vec!["red_light".into(), "green_light".into()];
        process.executors.push(executor);
    };
    assert_eq!(gateways(&readers, beside).0, gateway(CopyModel::Auto, 2, 1));
}

#[test]
fn there_is_no_gateway_where_a_queue_does_or_nothing_may_be_copied_or_the_host_has_no_message() {
    let none = |nodes: &[&str], change: fn(&mut Graph, &mut Mapping)| {
        let (gateways, takers) = gateways(nodes, change);
        assert!(gateways.is_empty(), "{gateways:?}");
        takers
    };
    let readers = ["blur", "red_light"];
    assert!(none(&["blur"], |_, _| ()).is_empty(), "one executor");
    let in_place = |_: &mut Graph, mapping: &mut Mapping| {
        mapping.devices[0].topics.insert(COMPENSATED.into(), CopyModel::ZeroCopy);
    };
    assert!(none(&readers, in_place).is_empty());
    let forbidden = |graph: &mut Graph, _: &mut Mapping| {
        let declared = graph.topics[0].clone();
        graph.topics.push(GraphTopic {
            name: COMPENSATED.into(),
            copies: Copies::Forbidden,
            ..declared
        });
    };
    assert!(none(&readers, forbidden).is_empty());
    // Its publisher is on the device, or on another one.
    assert_eq!(none(&["compensation", "blur", "red_light"], |_, _| ()), readers);
    let elsewhere = |_: &mut Graph, mapping: &mut Mapping| {
        mapping.devices.push(MappedDevice {
            name: "other".into(),
            device: "opencl:1".into(),
            nodes: vec!["compensation".into()],
            ..MappedDevice::default()
        });
    };
    assert!(none(&readers, elsewhere).is_empty());
}

#[test]
fn of_two_devices_the_one_that_more_executors_use_has_the_gateway() {
    let second = |_: &mut Graph, mapping: &mut Mapping| {
        mapping.devices.push(MappedDevice {
            name: "second".into(),
            device: "opencl:1".into(),
            nodes: vec!["green_light".into(), "features".into()],
            ..MappedDevice::default()
        });
    };
    let devices = |readers: &[&str], change| {
        let (gateways, takers) = gateways(readers, change);
        (gateways.iter().map(|(_, it)| it.device.clone()).collect::<Vec<_>>(), takers)
    };
    let first = (vec!["opencl:0".to_owned()], vec!["blur".to_owned(), "red_light".to_owned()]);
    assert_eq!(devices(&["blur", "red_light"], second), first);
    assert_eq!(devices(&["blur"], second).0, ["opencl:1"]);
}
