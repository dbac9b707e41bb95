//! Import of published computation graphs.

#![allow(clippy::unwrap_used)]

mod support;

use crossdock_graph::{Graph, ViolationKind};
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
    let chain = &autoware.graph.chains[0];
    assert_eq!(
        (chain.name.as_str(), chain.from.as_str(), chain.to.as_str()),
        ("hot_path", "/FrontLidarDriver", "/ObjectCollisionEstimator")
    );
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
