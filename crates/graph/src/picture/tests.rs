//! Pictures: nothing overlaps, all is inside, the same each time, text escaped.

use super::place::{Area, Layout, text_width};
use super::{Drawing, Picture, svg};
use crate::{
    Graph, GraphInput, GraphNode, GraphOutput, GraphTopic, MappedExecutor, MappedFabric,
    MappedProcess, MappedTopic, Mapping, OnLag, Source, TopicMapping, TopicStream,
};
use proptest::prelude::*;

const COURSE: &str = include_str!("../../tests/data/course.graph.yaml");

fn course() -> Graph {
    Graph::from_yaml("course", COURSE.as_bytes()).unwrap()
}

fn overlap(a: &Area, b: &Area) -> bool {
    let apart = 0.5;
    a.x + a.width > b.x + apart
        && b.x + b.width > a.x + apart
        && a.y + a.height > b.y + apart
        && b.y + b.height > a.y + apart
}

fn inside(outer: &Area, inner: &Area) -> bool {
    let tolerance = 0.5;
    inner.x >= outer.x - tolerance
        && inner.y >= outer.y - tolerance
        && inner.x + inner.width <= outer.x + outer.width + tolerance
        && inner.y + inner.height <= outer.y + outer.height + tolerance
}

/// Panics with names if anything overlaps or leaves the picture.
fn assert_tidy(graph: &Graph, mapping: Option<&Mapping>) {
    let drawing = Drawing::new(&Picture { graph, mapping, descriptions: None, figures: None });
    let layout = Layout::new(&drawing, svg::key_width(&drawing));
    let page = Area { x: 0.0, y: 0.0, width: layout.width, height: layout.height };
    for (index, area) in layout.vertices.iter().enumerate() {
        let name = &drawing.vertices[index].name;
        assert!(inside(&page, area), "{name} leaves the picture: {area:?} in {page:?}");
        for (other, other_area) in layout.vertices.iter().enumerate().skip(index + 1) {
            let other = &drawing.vertices[other].name;
            assert!(!overlap(area, other_area), "{name} over {other}: {area:?} {other_area:?}");
        }
        let label = text_width(&super::shown(name), super::place::NAME_SIZE) * 0.8;
        assert!(label <= area.width, "{name} is wider than its shape");
    }
    for (at, drawn) in layout.boxes.iter().enumerate() {
        assert!(inside(&page, &drawn.area), "{drawn:?} leaves the picture {page:?}");
        for other in &layout.boxes[at + 1..] {
            assert!(!overlap(&drawn.area, &other.area), "boxes overlap: {drawn:?} {other:?}");
        }
        for (index, area) in layout.vertices.iter().enumerate() {
            let vertex = &drawing.vertices[index];
            if vertex.group == Some(drawn.group) {
                assert!(inside(&drawn.area, area), "{} leaves its process", vertex.name);
            } else {
                assert!(!overlap(&drawn.area, area), "{} lies on a process", vertex.name);
            }
        }
    }
}

#[test]
fn nothing_overlaps_in_the_course_with_any_mapping() {
    let graph = course();
    assert_tidy(&graph, None);
    assert_tidy(&graph, Some(&Mapping::one_chain_per_package(&graph)));
    assert_tidy(&graph, Some(&Mapping::one_process_per_node(&graph)));
    let text = "crossdock: 1\nprocesses:
  lane:
    executors:
      - { mode: chain, nodes: [compensation, blur, lane_planner, polyfit] }
      - { mode: chain, nodes: [control] }
  lights: { executors: [ { mode: event, nodes: [red_light, green_light, features] } ] }
  simulation: { executors: [ { mode: event, nodes: [simulator] } ] }
";
    assert_tidy(&graph, Some(&Mapping::from_yaml("m", text.as_bytes()).unwrap()));
}

#[test]
fn nothing_overlaps_in_published_graphs() {
    let Some(data) = crossdock_test_support::data() else { return };
    let files = std::fs::read_dir(data.join("graphs")).unwrap();
    for file in files {
        let path = file.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        let graph = Graph::import_json(&path.to_string_lossy(), &text).unwrap().graph;
        assert_tidy(&graph, None);
        assert_tidy(&graph, Some(&Mapping::one_chain_per_package(&graph)));
        assert_tidy(&graph, Some(&Mapping::one_process_per_node(&graph)));
    }
}

#[test]
fn a_picture_is_the_same_each_time_and_says_all_names() {
    let graph = course();
    let mapping = Mapping::one_chain_per_package(&graph);
    let picture =
        Picture { graph: &graph, mapping: Some(&mapping), descriptions: None, figures: None };
    let svg = picture.to_svg();
    assert_eq!(svg, picture.to_svg());
    let dot = picture.to_dot();
    for node in &graph.nodes {
        assert!(svg.contains(&format!(">{}</text>", node.name)), "{}", node.name);
        assert!(dot.contains(&format!("label=\"{}\\n", node.name)), "{}", node.name);
    }
    for topic in graph.topic_names() {
        assert!(svg.contains(&format!(">{topic}</text>")) && dot.contains(topic), "{topic}");
    }
    assert!(svg.contains("class=\"edge read\"") && svg.contains("class=\"edge measured\""));
    assert!(dot.contains("[style=dashed") && dot.contains("subgraph cluster_0 {"));
}

#[test]
fn names_are_escaped_and_long_ones_shortened() {
    let nasty = "</text><script>\"&'\u{7}".to_owned();
    let long = format!("/{}", "x".repeat(300));
    let node = GraphNode {
        name: nasty,
        outputs: vec![GraphOutput { port: "p".into(), topic: long.clone(), ..Default::default() }],
        ..GraphNode::default()
    };
    let graph = Graph { name: "a\"b".into(), nodes: vec![node], ..Graph::default() };
    assert_tidy(&graph, None);
    let picture = Picture { graph: &graph, mapping: None, descriptions: None, figures: None };
    let svg = picture.to_svg();
    assert!(!svg.contains("<script") && !svg.contains('\u{7}'));
    assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&quot;&amp;&#39;"));
    assert!(svg.contains(&format!("<title>{long}</title>")) && svg.contains('\u{2026}'));
    assert!(picture.to_dot().contains("digraph \"a\\\"b\""));
}

#[test]
fn an_empty_graph_and_unknown_nodes_in_a_mapping_are_drawn() {
    let mapping = Mapping::one_chain_per_package(&course());
    let graph = Graph::default();
    assert_tidy(&graph, Some(&mapping));
    let svg = Picture { graph: &graph, mapping: Some(&mapping), descriptions: None, figures: None }
        .to_svg();
    assert!(svg.ends_with("</svg>\n") && !svg.contains("inf") && !svg.contains("NaN"));
}

/// A graph of nodes joined at random, cycles included.
fn any_graph() -> impl Strategy<Value = (Graph, Mapping)> {
    let node = (
        proptest::collection::vec((0..8_usize, any::<bool>()), 0..4),
        proptest::collection::vec(0..8_usize, 0..3),
        0..7_usize,
    );
    let mappings = proptest::collection::vec(0..3_usize, 8);
    (proptest::collection::vec(node, 1..14), mappings).prop_map(|(described, mappings)| {
        let mut graph = Graph { name: "g".into(), ..Graph::default() };
        let topic = |number: usize| format!("/topic_{number}");
        let external = GraphTopic { name: topic(0), external: true, ..GraphTopic::default() };
        graph.topics.push(external);
        let executor =
            || MappedExecutor { mode: crate::ExecutorMode::Event, ..MappedExecutor::default() };
        let process = |number: usize| MappedProcess {
            name: format!("p{number}"),
            executors: vec![executor()],
            ..MappedProcess::default()
        };
        let fabric = |number: usize| MappedFabric {
            name: format!("f{number}"),
            nodes: vec![],
            on_lag: OnLag::default(),
            part: None,
        };
        let any_mapping = [TopicMapping::Software, TopicMapping::Hardware, TopicMapping::Gateway];
        let mapped = |(number, mapping): (usize, usize)| MappedTopic {
            stream: TopicStream::default(),
            name: topic(number),
            mapping: any_mapping[mapping],
        };
        let mut mapping = Mapping {
            devices: vec![],
            processes: (0..4).map(process).collect(),
            fabrics: (0..3).map(fabric).collect(),
            topics: mappings.into_iter().enumerate().map(mapped).collect(),
            trust: Default::default(),
            hosts: Vec::new(),
            source: Source::default(),
        };
        for (index, (inputs, outputs, process)) in described.into_iter().enumerate() {
            let name = format!("node_{index}");
            match mapping.processes.get_mut(process) {
                Some(process) => process.executors[0].nodes.push(name.clone()),
                None => mapping.fabrics[process - 4].nodes.push(name.clone()),
            }
            let input = |(at, (number, trigger)): (usize, (usize, bool))| GraphInput {
                port: format!("i{at}"),
                topic: topic(number),
                trigger: Some(trigger),
                ..GraphInput::default()
            };
            let output = |(at, number): (usize, usize)| GraphOutput {
                port: format!("o{at}"),
                topic: topic(number),
                ..GraphOutput::default()
            };
            graph.nodes.push(GraphNode {
                name,
                inputs: inputs.into_iter().enumerate().map(input).collect(),
                outputs: outputs.into_iter().enumerate().map(output).collect(),
                ..GraphNode::default()
            });
        }
        (graph, mapping)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_overlaps_in_any_graph((graph, mapping) in any_graph()) {
        assert_tidy(&graph, None);
        assert_tidy(&graph, Some(&mapping));
        assert_tidy(&graph, Some(&Mapping { processes: vec![], ..mapping.clone() }));
        assert_tidy(&graph, Some(&Mapping { fabrics: vec![], ..mapping }));
        assert_tidy(&graph, Some(&Mapping::one_process_per_node(&graph)));
    }
}

#[test]
fn services_are_drawn_between_their_clients_and_servers() {
    let text = "crossdock: 1
name: evening
services: { /map: { external: true } }
nodes:
  dusk: { package: lamps, type: dusk, clients: { lamp: /lamp/switch }, outputs: { light: /light } }
  door: { package: lamps, type: door, clients: { lamp: /lamp/switch, map: /map } }
  lamp: { package: lamps, type: lamp, servers: { switch: /lamp/switch }, inputs: { light: /light } }
";
    let graph = Graph::from_yaml("evening.graph.yaml", text.as_bytes()).unwrap();
    let picture = Picture { graph: &graph, mapping: None, descriptions: None, figures: None };
    let golden = r##"digraph "evening" {
  rankdir=TB;
  node [fontname="sans-serif", fontsize=11];
  v0 [shape=box, style=rounded, label="dusk\nlamps/dusk"];
  v1 [shape=box, style=rounded, label="door\nlamps/door"];
  v2 [shape=box, style=rounded, label="lamp\nlamps/lamp"];
  v3 [shape=ellipse, label="/light"];
  v4 [shape=hexagon, color="#2b7a78", label="/lamp/switch"];
  v5 [shape=hexagon, style=dashed, color="#2b7a78", label="/map"];
  v0 -> v3 [style=solid, tooltip="light"];
  v0 -> v4 [style=dashed, color="#2b7a78", tooltip="lamp"];
  v1 -> v4 [style=dashed, color="#2b7a78", tooltip="lamp"];
  v1 -> v5 [style=dashed, color="#2b7a78", tooltip="map"];
  v3 -> v2 [style=solid, tooltip="light"];
  v4 -> v2 [style=dashed, color="#2b7a78", tooltip="switch"];
}
"##;
    assert_eq!(picture.to_dot(), golden);
    let svg = picture.to_svg();
    let parts = [
        "<title>/lamp/switch (service)</title>",
        "<title>/map (external service)</title>",
        "class=\"edge call\"",
        "<title>dusk \u{2192} /lamp/switch (client lamp)</title>",
        "<title>/lamp/switch \u{2192} lamp (server switch)</title>",
        ">service</text>",
        ">external service</text>",
        ">calls</text>",
    ];
    for part in parts {
        assert!(svg.contains(part), "{part} is missing in {svg}");
    }
    assert_tidy(&graph, None);
    assert_tidy(&graph, Some(&Mapping::one_process_per_node(&graph)));
    assert_tidy(&graph, Some(&Mapping::one_chain_per_package(&graph)));
    // Two that call each other, and a node that calls itself, are drawn too; pictures without
    // services have nothing of theirs.
    let circle =
        text.replace("type: lamp,", "type: lamp, clients: { back: /door, own: /lamp/switch },");
    let circle = circle.replace("type: door,", "type: door, servers: { open: /door },");
    assert_tidy(&Graph::from_yaml("circle", circle.as_bytes()).unwrap(), None);
    let course = course();
    let plain =
        Picture { graph: &course, mapping: None, descriptions: None, figures: None }.to_svg();
    assert!(!plain.contains("service") && !plain.contains("id=\"s\""));
}
