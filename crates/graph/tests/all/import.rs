//! Import of published computation graphs.

use crate::support;
use crossdock_graph::{Graph, ImportJoin, ImportOptions, ParameterValue, ViolationKind};
use support::only;

const GRAPHS: [(&str, usize, usize); 7] = [
    ("autodrive_fpgadds", 7, 8),
    ("autodrive_gateway", 8, 9),
    ("autoware_reference_system", 24, 23),
    ("autoware_universe_control", 7, 42),
    ("image_pipeline", 2, 5),
    ("planner_figure8", 11, 5),
    ("turtlebot3_autorace_ros2", 9, 20),
];

#[test]
fn every_published_graph_becomes_a_graph_file_that_reads_back_as_the_same_graph() {
    let Some(shared) = crossdock_test_support::shared() else { return };
    for (name, nodes, topics) in GRAPHS {
        let file = shared.join(format!("data/graphs/{name}.json"));
        let text = std::fs::read(&file).unwrap();
        let imported = Graph::import_json(&format!("{name}.json"), &text).unwrap();
        assert_eq!(imported.graph.nodes.len(), nodes, "{name}");
        assert_eq!(imported.graph.topics.len(), topics, "{name}");
        let read = Graph::from_yaml("imported.yaml", imported.text.as_bytes());
        let read = read.unwrap_or_else(|violations| panic!("{name}: {violations:#?}"));
        assert_eq!(read.without_source(), imported.graph.without_source(), "{name}");
        let again = Graph::import_json(&format!("{name}.json"), &text).unwrap();
        assert_eq!(again.text, imported.text, "{name}");
    }
}

#[test]
fn periods_rules_chains_and_the_world_outside_are_kept() {
    let Some(shared) = crossdock_test_support::shared() else {
        return;
    };
    let read = |name: &str| {
        let text = std::fs::read(shared.join(format!("data/graphs/{name}.json"))).unwrap();
        Graph::import_json(&format!("{name}.json"), &text).unwrap()
    };
    let autoware = read("autoware_reference_system");
    let planner = autoware.graph.node("behavior_planner").unwrap();
    assert_eq!(planner.timers[0].period.period_ns(), Some(100_000_000));
    assert!(planner.inputs.iter().all(|input| input.trigger == Some(false)));
    assert!(autoware.text.contains("publishes once both inputs have a new sample"));
    // The hot path begins at two nodes, which have a period each.
    let chains = autoware.graph.chains.iter();
    let chains: Vec<_> =
        chains.map(|it| (it.name.as_str(), it.from.as_str(), it.max_latency)).collect();
    assert_eq!(
        chains.iter().map(|(name, from, _)| (*name, *from)).collect::<Vec<_>>(),
        [
            ("hot_path_front_lidar_driver", "/FrontLidarDriver"),
            ("hot_path_rear_lidar_driver", "/RearLidarDriver"),
        ]
    );
    for (chain, (.., max_latency)) in autoware.graph.chains.iter().zip(&chains) {
        assert_eq!(chain.to, "/ObjectCollisionEstimator");
        assert_eq!(max_latency.map(|it| it.limit_ns), Some(100_000_000));
    }
    let drive = read("autodrive_fpgadds");
    let chain = &drive.graph.chains[0];
    assert_eq!((chain.from.as_str(), chain.to.as_str()), ("/image_in", "/cmd_vel"));
    assert!(drive.graph.topic("/image_in").unwrap().external);
    let untied = drive.graph.nodes.iter().flat_map(|node| &node.inputs);
    assert_eq!(untied.filter(|input| input.trigger == Some(false)).count(), 1);
    assert!(drive.text.contains("# would close a cycle of triggers"));
    let turtlebot = read("turtlebot3_autorace_ros2");
    assert!(turtlebot.graph.topic("/control/max_vel").unwrap().external);
    assert!(turtlebot.text.contains("# nobody in the graph publishes it"));
}

#[test]
fn nodes_of_a_kind_share_a_node_type_with_parameters_and_a_condition() {
    let text = br#"{"nodes": [
        {"name": "Left", "kind": "sensor", "pub": ["left"], "period_ms": 20},
        {"name": "Right", "kind": "sensor", "pub": ["right"], "period_ms": 20, "gain": 0.5},
        {"name": "Both", "kind": "fusion", "sub": ["left", "right"], "pub": ["both"], "limit": 7,
         "rule": "once both are new", "on": true},
        {"name": "Late", "kind": "fusion", "sub": ["both"], "period_ms": 40},
        {"name": "Plain", "sub": ["both"], "limit": 3}
    ]}"#;
    let mut options = ImportOptions { package: Some("pair".to_owned()), ..Default::default() };
    options.conditions.insert("fusion".to_owned(), ImportJoin::Fresh);
    let imported = Graph::import_json_with("pair.json", text, &options).unwrap();
    let read = Graph::from_yaml("pair.yaml", imported.text.as_bytes()).unwrap();
    assert_eq!(read.without_source(), imported.graph);
    let types: Vec<&str> = read.nodes.iter().map(|node| node.node_type.as_str()).collect();
    assert_eq!(types, ["sensor", "sensor", "fusion", "fusion", "plain"]);
    assert!(read.nodes.iter().all(|node| node.package == "pair"));
    let both = read.node("both").unwrap();
    let ports: Vec<&str> = both.inputs.iter().map(|input| input.port.as_str()).collect();
    assert_eq!((ports, both.outputs[0].port.as_str()), (vec!["input_1", "input_2"], "output_1"));
    assert_eq!(both.condition.as_ref().unwrap().fresh, ["input_1", "input_2"]);
    let parameters: Vec<_> = both.parameters.iter().collect();
    let (limit, on) = (ParameterValue::Integer(7), ParameterValue::Bool(true));
    assert_eq!(parameters, [(&"limit".to_owned(), &limit), (&"on".to_owned(), &on)]);
    assert!(imported.text.contains("# rule: \"once both are new\""));
    let gain = &read.node("right").unwrap().parameters["gain"];
    assert_eq!(*gain, ParameterValue::Double(0.5));
    // Its timer runs it: there is nothing that it could wait for.
    assert_eq!(read.node("late").unwrap().condition, None);
    let plain = read.node("plain").unwrap();
    assert_eq!((plain.inputs[0].port.as_str(), plain.parameters.len()), ("both", 0));

    options.conditions.insert("fusoin".to_owned(), ImportJoin::AllOf);
    let refused = Graph::import_json_with("pair.json", text, &options).unwrap_err();
    only(&refused, ViolationKind::UnknownNodeType);
    assert!(refused[0].advice.contains("`fusion` and `sensor`"), "{}", refused[0]);
}

#[test]
fn json_that_is_no_graph_is_refused_with_the_reason() {
    let refuse = |text: &str| Graph::import_json("x.json", text.as_bytes()).unwrap_err();
    only(&refuse("{"), ViolationKind::Syntax);
    only(&refuse("[]"), ViolationKind::WrongValue);
    only(&refuse("{}"), ViolationKind::MissingKey);
    only(&refuse(r#"{"nodes": [{"pub": []}]}"#), ViolationKind::MissingKey);
    only(&refuse(r#"{"nodes": [{"name": "a"}, {"name": "a"}]}"#), ViolationKind::Duplicate);
    only(&refuse(r#"{"nodes": [{"name": "a", "pub": 3}]}"#), ViolationKind::WrongValue);
    only(&refuse(r#"{"nodes": [{"name": "a", "period_ms": -3}]}"#), ViolationKind::OutOfRange);
    let nested = "[".repeat(100_000);
    only(&refuse(&nested), ViolationKind::Syntax);
    let huge = " ".repeat(2 << 20);
    only(&refuse(&huge), ViolationKind::Limit);
}

#[test]
fn odd_names_become_valid_ones() {
    let text = r#"{"nodes": [
        {"name": "1", "pub": ["a b", "a_b", ""]},
        {"name": "node_1", "sub": ["a b", "a_b", "", "9", ":"]}
    ]}"#;
    let imported = Graph::import_json("/odd/my file.json", text.as_bytes()).unwrap();
    let read = Graph::from_yaml("x", imported.text.as_bytes()).unwrap();
    assert_eq!(read.without_source(), imported.graph);
    assert_eq!(read.name, "my_file");
    let names: Vec<&str> = read.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["node_1", "node_1_2"]);
    let topics: Vec<&str> = read.nodes[1].inputs.iter().map(|i| i.topic.as_str()).collect();
    assert_eq!(topics, ["/a_b", "/a_b_2", "/topic", "/topic_9", "/topic_2"]);
}
