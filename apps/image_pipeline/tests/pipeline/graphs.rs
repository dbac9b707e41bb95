//! The shipped graph and mapping files against the package and against the graph that they are
//! taken from.

use crossdock_graph::{Graph, HardwarePackage, Mapping, PackageDescriptions, RunOptions, check};
use crossdock_image_pipeline::nodes::package;
use std::collections::BTreeSet;
use std::path::Path;

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read(path).expect("the file is shipped")
}

fn graph(name: &str) -> Graph {
    let name = format!("{name}.graph.yaml");
    Graph::from_yaml(&name, &file(&name)).unwrap_or_else(|violations| panic!("{violations:#?}"))
}

fn mapping(name: &str) -> Mapping {
    let name = format!("{name}.mapping.yaml");
    Mapping::from_yaml(&name, &file(&name)).unwrap_or_else(|violations| panic!("{violations:#?}"))
}

#[test]
fn the_graph_passes_the_check_with_every_mapping() {
    let graph = graph("pipeline");
    let binaries = vec![package().description()];
    let interfaces = PackageDescriptions { binaries, ..PackageDescriptions::default() };
    for (name, processes) in [("chain", 1), ("processes", 2)] {
        let mapping = mapping(&format!("pipeline.{name}"));
        let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN);
        let plan = plan.unwrap_or_else(|violations| panic!("{name}: {violations:#?}"));
        assert_eq!(plan.processes.len(), processes, "{name}");
    }
}

#[test]
fn the_camera_s_graphs_pass_the_check_in_software_and_on_a_board() {
    let name = "hardware/image_pipeline.hardware.yaml";
    let hardware = HardwarePackage::from_yaml(name, &file(name));
    let hardware = hardware.unwrap_or_else(|violations| panic!("{violations:#?}"));
    let (binaries, hardware) = (vec![package().description()], vec![hardware]);
    let interfaces = PackageDescriptions { binaries, hardware };
    let mappings = [
        ("camera", "camera.chain", 1),
        ("camera", "camera.processes", 3),
        ("camera", "camera.topics", 1),
        ("camera", "camera.streamed", 1),
        ("fused", "fused.board", 1),
    ];
    for (name, mapped, processes) in mappings {
        let plan = check(&graph(name), &mapping(mapped), &interfaces, &RunOptions::PLAIN);
        let plan = plan.unwrap_or_else(|violations| panic!("{mapped}: {violations:#?}"));
        assert_eq!((plan.processes.len(), &plan.warnings[..]), (processes, &[][..]), "{mapped}");
    }
}

#[test]
fn nodes_and_topics_are_those_of_the_published_pipeline() {
    let Some(shared) = crossdock_test_support::data() else { return };
    let text = std::fs::read_to_string(shared.join("graphs/image_pipeline.json")).expect("a file");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let graph = graph("pipeline");
    let nodes = json["nodes"].as_array().expect("nodes");
    let nodes: Vec<_> = nodes.iter().filter(|node| node["env"] != true).collect();
    assert_eq!(nodes.len(), graph.nodes.len());
    for node in nodes {
        let ours = graph.node(node["name"].as_str().expect("a name")).expect("we have it");
        let theirs = |key: &str| -> BTreeSet<String> {
            let topics = node[key].as_array().expect("topics");
            topics.iter().map(|topic| topic.as_str().expect("a name").to_owned()).collect()
        };
        let inputs: BTreeSet<_> = ours.inputs.iter().map(|input| input.topic.clone()).collect();
        let outputs: BTreeSet<_> = ours.outputs.iter().map(|output| output.topic.clone()).collect();
        assert_eq!((inputs, outputs), (theirs("sub"), theirs("pub")), "{}", ours.name);
    }
}
