//! Hosts: the part of a graph that each of them runs, and what a mapping may not say of them.

use super::*;
use crossdock_graph::{FarPort, HostPart, PortEnd};

/// The car drives, the desk looks at the pictures.
const SHARED: &str = "\
crossdock: 1
processes:
  world: { executors: [ { mode: chain, nodes: [simulator, compensation] } ] }
  drive: { executors: [ { mode: event, nodes: [control] } ] }
  look: { executors: [ { mode: chain, nodes: [blur, lane_planner, polyfit, features] } ] }
  lights: { executors: [ { mode: chain, nodes: [red_light, green_light] } ] }
devices:
  gpu: { device: cuda, nodes: [blur] }
hosts:
  car: { processes: [world, drive] }
  desk: { processes: [look, lights] }
";

fn mapping(text: &str) -> Mapping {
    Mapping::from_yaml("shared.mapping.yaml", text.as_bytes()).unwrap()
}

fn part(host: &str) -> HostPart {
    course().part_of_host(&mapping(SHARED), host).unwrap()
}

fn far(host: &str, node: &str, end: PortEnd, name: &str) -> FarPort {
    FarPort { host: host.into(), node: node.into(), end, name: name.into() }
}

#[test]
fn each_host_plans_its_own_part_with_the_topics_of_the_others_external() {
    let car = part("car");
    let nodes: Vec<&str> = car.graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["simulator", "compensation", "control"]);
    assert!(car.mapping.hosts.is_empty() && car.mapping.devices.is_empty());
    let plan = check(&car.graph, &car.mapping, &descriptions(), &RunOptions::PLAIN).unwrap();
    let names: Vec<&str> = plan.processes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["world", "drive"]);
    let external: Vec<&str> =
        plan.topics.iter().filter(|it| it.external).map(|it| it.name.as_str()).collect();
    assert_eq!(external, ["/lane", "/traffic_light/green", "/traffic_light/red"]);
    let expected = plan.processes[1].expected.iter().find(|it| it.topic == "/lane").unwrap();
    assert_eq!(expected.publishers, 0, "no barrier waits for what comes over the network");
    let (picture, command) = ("/camera/image_compensated", "/cmd_vel");
    assert_eq!(
        car.far,
        [
            far("desk", "blur", PortEnd::Subscriber, picture),
            far("desk", "features", PortEnd::Subscriber, picture),
            far("desk", "green_light", PortEnd::Publisher, "/traffic_light/green"),
            far("desk", "green_light", PortEnd::Subscriber, picture),
            far("desk", "polyfit", PortEnd::Publisher, "/lane"),
            far("desk", "red_light", PortEnd::Publisher, "/traffic_light/red"),
            far("desk", "red_light", PortEnd::Subscriber, picture),
        ]
    );
    assert!(plan.topics.iter().all(|it| it.name != "/lane/birds_eye"));
    assert!(plan.topics.iter().any(|it| it.name == command && !it.external));

    let mut desk = part("desk");
    assert_eq!(desk.mapping.devices[0].nodes, ["blur"], "the desk has the device");
    desk.mapping.devices.clear();
    check(&desk.graph, &desk.mapping, &descriptions(), &RunOptions::PLAIN).unwrap();
    assert!(desk.far.iter().any(|it| it.node == "compensation" && it.host == "car"));
    assert!(desk.graph.arguments.is_empty(), "laps are the car's");
}

#[test]
fn a_chain_over_hosts_is_told_and_left_out() {
    let car = part("car");
    assert!(car.graph.chains.is_empty());
    assert_eq!(car.warnings.len(), 1);
    let warning = &car.warnings[0];
    assert!(warning.message.contains("camera_to_command"), "{warning}");
    assert!(warning.place.is_some(), "{warning}");
    let text = course_with("from: /camera/image_raw, to: /cmd_vel", "from: /lane, to: /cmd_vel");
    let graph = Graph::from_yaml("course.graph.yaml", text.as_bytes()).unwrap();
    for (host, chains) in [("car", 1), ("desk", 0)] {
        let part = graph.part_of_host(&mapping(SHARED), host).unwrap();
        assert_eq!(part.graph.chains.len(), chains, "all of it is in the car");
        assert!(part.warnings.is_empty(), "{:?}", part.warnings);
    }
}

#[test]
fn a_loop_over_hosts_closes_on_none_of_them() {
    let text = course_with(
        "command: { topic: /cmd_vel, trigger: false }",
        "command: { topic: /cmd_vel, closes_loop: true, trigger: true }",
    );
    let graph = Graph::from_yaml("course.graph.yaml", text.as_bytes()).unwrap();
    let car = graph.part_of_host(&mapping(SHARED), "car").unwrap();
    assert!(!car.graph.nodes[0].inputs[0].closes_loop);
}

#[test]
fn services_of_another_host_are_external() {
    let text = "\
crossdock: 1
name: calls
nodes:
  asks: { package: a, type: asks, clients: { ask: /add } }
  adds: { package: b, type: adds, servers: { add: /add } }
";
    let shared = "\
crossdock: 1
processes:
  a: { executors: [ { mode: event, nodes: [asks] } ] }
  b: { executors: [ { mode: event, nodes: [adds] } ] }
hosts: { car: { processes: [a] }, desk: { processes: [b] } }
";
    let graph = Graph::from_yaml("calls.graph.yaml", text.as_bytes()).unwrap();
    let car = graph.part_of_host(&mapping(shared), "car").unwrap();
    assert!(car.graph.service("/add").unwrap().external);
    assert_eq!(car.far, [far("desk", "adds", PortEnd::Server, "/add")]);
    let desk = graph.part_of_host(&mapping(shared), "desk").unwrap();
    assert!(desk.graph.service("/add").is_none());
    assert_eq!(desk.far, [far("car", "asks", PortEnd::Client, "/add")]);
}

#[test]
fn shared_buffers_stay_on_one_host() {
    let mut descriptions = descriptions();
    let car = part("car");
    assert!(car.graph.buffers_between_hosts(&car.far, &descriptions).is_empty());
    let nodes = &mut descriptions.binaries[0].packages[0].nodes;
    let filters = nodes.iter_mut().filter(|node| node.node_type == "image_compensation");
    filters.for_each(|node| node.outputs[0].tokens = true);
    let told = car.graph.buffers_between_hosts(&car.far, &descriptions);
    let told = only(&told, ViolationKind::Host).to_string();
    assert!(told.contains("`compensation`") && told.contains("shared buffers"), "{told}");
}

#[test]
fn what_a_mapping_says_wrongly_of_hosts_is_told_with_its_place() {
    let broken = |from: &str, to: &str, kind| {
        assert!(SHARED.contains(from), "{from}");
        let mapping = mapping(&SHARED.replacen(from, to, 1));
        let of_part = course().part_of_host(&mapping, "car").unwrap_err();
        let violation = only(&of_part, kind);
        assert!(violation.place.is_some(), "{violation}");
        assert_eq!(violation.file, "shared.mapping.yaml");
        let whole = check(&course(), &mapping, &descriptions(), &RunOptions::PLAIN).unwrap_err();
        assert!(whole.contains(&violation), "{whole:?}");
        violation.to_string()
    };
    let told = broken("processes: [look, lights]", "processes: [look]", ViolationKind::Unmapped);
    assert!(told.contains("process `lights` is on no host"), "{told}");
    let told = broken("[world, drive]", "[world, drvie]", ViolationKind::Host);
    assert!(told.contains("did you mean `drive`"), "{told}");
    let told = broken("[look, lights]", "[look, lights, drive]", ViolationKind::MappedTwice);
    assert!(told.contains("first on host `car`"), "{told}");
    let fabrics = "fabrics: { board: { nodes: [features] } }\nhosts:";
    let told = broken("hosts:", fabrics, ViolationKind::Host);
    assert!(told.contains("fabrics"), "{told}");

    let unknown = course().part_of_host(&mapping(SHARED), "dekc").unwrap_err();
    assert!(only(&unknown, ViolationKind::Host).to_string().contains("did you mean `desk`?"));
    let text = course_with(
        "/camera/image_raw: {",
        "/camera/image_compensated: { copies: forbidden }\n  /camera/image_raw: {",
    );
    let graph = Graph::from_yaml("course.graph.yaml", text.as_bytes()).unwrap();
    let uncopied = graph.part_of_host(&mapping(SHARED), "desk").unwrap_err();
    let told = only(&uncopied, ViolationKind::Host).to_string();
    assert!(told.contains("copies: forbidden") && told.contains("course.graph.yaml"), "{told}");
}

#[test]
fn hosts_are_written_and_read_again() {
    let shared = mapping(SHARED).without_source();
    let text = Mapping { devices: Vec::new(), ..shared }.to_yaml();
    let read = mapping(&text);
    assert_eq!(read.hosts.len(), 2);
    assert_eq!(read.to_yaml(), text);
}
