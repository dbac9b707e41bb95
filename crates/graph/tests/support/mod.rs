//! Graphs and descriptions that several tests use.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)]

use crossdock_graph::{
    BinaryDescription, Graph, InputDescription, NodeTypeDescription, OutputDescription,
    PackageDescription, PackageDescriptions, ParameterDescription, ParameterValue, QosRequest,
    TimerClock, TimerDescription, Violation, ViolationKind,
};

pub(crate) const IMAGE: &str = "sensor_msgs/msg/Image";
pub(crate) const LANE: &str = "autorace_msgs/msg/Lane";
pub(crate) const LIGHT: &str = "autorace_msgs/msg/TrafficLight";
pub(crate) const TWIST: &str = "geometry_msgs/msg/TwistStamped";
pub(crate) const COURSE: &str = include_str!("../data/course.graph.yaml");

pub(crate) fn input(port: &str, message_type: &str, trigger: bool) -> InputDescription {
    InputDescription {
        port: port.into(),
        message_type: message_type.into(),
        type_hash: None,
        trigger,
        reading: None,
        optional: false,
        qos: QosRequest::default(),
    }
}

pub(crate) fn output(port: &str, message_type: &str) -> OutputDescription {
    OutputDescription {
        port: port.into(),
        message_type: message_type.into(),
        type_hash: None,
        tokens: false,
        optional: false,
        qos: QosRequest::default(),
    }
}

pub(crate) fn parameter(name: &str, default: impl Into<ParameterValue>) -> ParameterDescription {
    ParameterDescription {
        name: name.into(),
        default: default.into(),
        doc: "share of pixels".into(),
    }
}

pub(crate) fn node_type(
    name: &str,
    inputs: Vec<InputDescription>,
    outputs: Vec<OutputDescription>,
    parameters: Vec<ParameterDescription>,
) -> NodeTypeDescription {
    NodeTypeDescription {
        node_type: name.into(),
        inputs,
        outputs,
        parameters,
        ..NodeTypeDescription::default()
    }
}

/// What the package of the course describes.
pub(crate) fn autorace() -> PackageDescription {
    let filter = |name: &str, parameters| {
        node_type(name, vec![input("image", IMAGE, true)], vec![output("image", IMAGE)], parameters)
    };
    let mut simulator = node_type(
        "simulator",
        vec![input("command", TWIST, false)],
        vec![output("image", IMAGE), output("odometry", "nav_msgs/msg/Odometry")],
        vec![parameter("laps", 1_i64), parameter("seed", 0_i64)],
    );
    simulator.timers.push(TimerDescription {
        name: "step".into(),
        period_ns: None,
        clock: TimerClock::Ros,
    });
    let light_inputs = vec![input("image", IMAGE, true), input("other", LIGHT, false)];
    let control_inputs =
        vec![input("lane", LANE, true), input("red", LIGHT, true), input("green", LIGHT, true)];
    let points = output("points", "sensor_msgs/msg/PointCloud2");
    let nodes = vec![
        simulator,
        filter("image_compensation", vec![parameter("clip_percent", 0.5)]),
        filter("gaussian_blur", vec![]),
        filter("lane_planner", vec![parameter("yellow_h", vec![0_i64, 0])]),
        node_type("polyfit", vec![input("image", IMAGE, true)], vec![output("lane", LANE)], vec![]),
        node_type(
            "traffic_light",
            light_inputs,
            vec![output("light", LIGHT)],
            vec![parameter("color", "red")],
        ),
        node_type("features", vec![input("image", IMAGE, true)], vec![points], vec![]),
        node_type("lane_control", control_inputs, vec![output("command", TWIST)], vec![]),
    ];
    PackageDescription { name: "autorace".into(), nodes }
}

pub(crate) fn descriptions() -> PackageDescriptions {
    let binary =
        BinaryDescription { binary: "crossdock-autorace".into(), packages: vec![autorace()] };
    PackageDescriptions { binaries: vec![binary], ..PackageDescriptions::default() }
}

pub(crate) fn course() -> Graph {
    Graph::from_yaml("course.graph.yaml", COURSE.as_bytes()).unwrap()
}

/// The course with one piece of its text replaced.
pub(crate) fn course_with(from: &str, to: &str) -> String {
    assert!(COURSE.contains(from), "{from}");
    COURSE.replacen(from, to, 1)
}

/// The violation of this kind; panics with all of them if there is none.
#[track_caller]
pub(crate) fn only(violations: &[Violation], kind: ViolationKind) -> Violation {
    let shown: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let mut found = violations.iter().filter(|violation| violation.kind == kind);
    let violation = found.next();
    violation.unwrap_or_else(|| panic!("no {kind:?} in:\n{}", shown.join("\n"))).clone()
}

/// A package for every package of the graph that describes each node exactly as the graph uses it;
/// every topic without a type has that of an image.
pub(crate) fn described(graph: &Graph) -> PackageDescriptions {
    let type_of = |topic: &str| {
        let declared = graph.topic(topic).and_then(|topic| topic.message_type.clone());
        declared.unwrap_or_else(|| IMAGE.to_owned())
    };
    let mut packages: Vec<PackageDescription> = Vec::new();
    for node in &graph.nodes {
        let inputs = node.inputs.iter();
        let inputs =
            inputs.map(|it| input(&it.port, &type_of(&it.topic), it.trigger != Some(false)));
        let outputs = node.outputs.iter().map(|it| output(&it.port, &type_of(&it.topic)));
        let described = node_type(&node.node_type, inputs.collect(), outputs.collect(), vec![]);
        match packages.iter_mut().find(|package| package.name == node.package) {
            Some(package) => package.nodes.push(described),
            None => packages
                .push(PackageDescription { name: node.package.clone(), nodes: vec![described] }),
        }
    }
    let binary = |package: PackageDescription| BinaryDescription {
        binary: format!("crossdock-{}", package.name),
        packages: vec![package],
    };
    PackageDescriptions {
        binaries: packages.into_iter().map(binary).collect(),
        ..PackageDescriptions::default()
    }
}
