//! The communication mapping: the example of the paper, the rule on any graph, and what the check
//! makes of the mapping that comes out.

use crate::support;
use crossdock_graph::{
    CommunicationMapping, Crossings, FABRIC_BINARY, GatewayPlan, Graph, GraphInput, GraphNode,
    GraphOutput, GraphTopic, MappedFabric, Mapping, OnLag, OpenTopics, Picture, Placement, Plan,
    RunOptions, Sides, TopicChoice, TopicMapping, ViolationKind, check,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use support::*;

/// Camera and lights in software, the images in hardware.
const GRAPH: &str = "crossdock: 1
name: drive
topics:
  /raw: { external: true }
nodes:
  compensation: { package: p, type: a, inputs: { i: /raw }, outputs: { o: /image } }
  blur: { package: p, type: b, inputs: { i: /image }, outputs: { o: /blurred } }
  red: { package: p, type: c, inputs: { i: /image }, outputs: { o: /red } }
  planner: { package: p, type: d, inputs: { i: /blurred }, outputs: { o: /lane } }
  control: { package: q, type: e, inputs: { a: /lane, b: /red }, outputs: { o: /command } }
";

fn graph() -> Graph {
    Graph::from_yaml("drive.graph.yaml", GRAPH.as_bytes()).unwrap()
}

fn placed(fabrics: &str) -> Placement {
    let text = format!("crossdock: 1\nfabrics: {{ {fabrics} }}\n");
    Placement::from_yaml("drive.placement.yaml", text.as_bytes()).unwrap()
}

fn mapped(fabrics: &str, open: OpenTopics) -> CommunicationMapping {
    CommunicationMapping::new(&graph(), &placed(fabrics), open).unwrap()
}

fn choice<'a>(mapped: &'a CommunicationMapping, topic: &str) -> &'a TopicChoice {
    mapped.topics.iter().find(|choice| choice.topic == topic).unwrap()
}

fn topics_of(mapped: &CommunicationMapping, mapping: TopicMapping) -> Vec<&str> {
    let topics = mapped.mapping.topics.iter().filter(|topic| topic.mapping == mapping);
    topics.map(|topic| topic.name.as_str()).collect()
}

#[test]
fn the_example_of_the_paper_has_its_sets_and_its_counts() {
    let Some(data) = crossdock_test_support::data() else { return };
    let text = std::fs::read(data.join("graphs/planner_figure8.json")).unwrap();
    let graph = Graph::import_json("planner_figure8.json", &text).unwrap().graph;
    let placement = Placement::from_json("planner_figure8.json", &text).unwrap();
    for open in [OpenTopics::Gateway, OpenTopics::Software] {
        let mapped = CommunicationMapping::new(&graph, &placement, open).unwrap();
        assert_eq!(topics_of(&mapped, TopicMapping::Software), ["/D"]);
        assert_eq!(topics_of(&mapped, TopicMapping::Hardware), ["/B"]);
        assert_eq!(topics_of(&mapped, TopicMapping::Gateway), ["/A", "/C", "/E"]);
        assert_eq!(mapped.all_software, Crossings { up: 3, down: 7 });
        assert_eq!(mapped.without_gateways, Crossings { up: 2, down: 6 });
        assert_eq!(mapped.mapped, Crossings { up: 2, down: 1 });
        assert!(mapped.topics.iter().all(|choice| !choice.open));
        let totals = [mapped.all_software, mapped.without_gateways, mapped.mapped];
        assert_eq!(totals.map(Crossings::total), [10, 8, 3]);
        check(&graph, &mapped.mapping, &described(&graph), &RunOptions::PLAIN).unwrap();
    }
}

#[test]
fn the_picture_of_the_paper_has_two_hardware_subgraphs_with_the_gateways_inside() {
    let Some(data) = crossdock_test_support::data() else { return };
    let text = std::fs::read(data.join("graphs/planner_figure8.json")).unwrap();
    let graph = Graph::import_json("planner_figure8.json", &text).unwrap().graph;
    let placement = Placement::from_json("planner_figure8.json", &text).unwrap();
    let mapped = CommunicationMapping::new(&graph, &placement, OpenTopics::Gateway).unwrap();
    let mapping = Mapping { processes: vec![], ..mapped.mapping };
    let picture =
        Picture { graph: &graph, mapping: Some(&mapping), descriptions: None, figures: None };
    let dot = picture.to_dot();
    let clusters: Vec<&str> = dot.split("subgraph cluster_").skip(1).collect();
    let members = |cluster: &str| -> Vec<String> {
        let inside = cluster.split("  }\n").next().unwrap();
        let labels = inside.split("[shape=").skip(1).filter_map(|it| it.split("label=\"").nth(1));
        labels.map(|label| label.split(['\\', '"']).next().unwrap().to_owned()).collect()
    };
    assert_eq!(clusters.len(), 2, "{dot}");
    let first = ["node_1", "node_2", "node_3", "node_4", "node_5", "node_7", "/A", "/B", "/C"];
    assert_eq!(members(clusters[0]), first);
    assert_eq!(members(clusters[1]), ["node_10", "node_11", "/E"]);
    let svg = picture.to_svg();
    assert_eq!(svg.matches("class=\"fabric\"").count(), 3, "two boxes and the key");
    assert_eq!(svg.matches("class=\"pill gateway\"").count(), 4, "three topics and the key");
    assert!(svg.contains("<title>/B (hardware-mapped)</title>"));
    assert!(svg.contains("<title>/D (software-mapped)</title>"));
}

#[test]
fn publishers_outside_the_graph_are_software() {
    let mapped = mapped("f: { nodes: [compensation, blur, red] }", OpenTopics::Gateway);
    assert_eq!(topics_of(&mapped, TopicMapping::Hardware), ["/image"]);
    let raw = choice(&mapped, "/raw");
    assert!(raw.external && raw.open);
    assert_eq!(raw.mapping, TopicMapping::Gateway);
    assert_eq!(raw.crossings, Crossings { up: 0, down: 1 });
    assert_eq!(raw.fabrics, ["f"]);
}

#[test]
fn only_topics_that_the_rule_leaves_open_follow_the_preference() {
    let fabrics = "f: { nodes: [blur, red, planner] }";
    let gateway = mapped(fabrics, OpenTopics::Gateway);
    let software = mapped(fabrics, OpenTopics::Software);
    // Two subscribers in hardware: nothing is open.
    for mapped in [&gateway, &software] {
        let image = choice(mapped, "/image");
        assert_eq!((image.mapping, image.open), (TopicMapping::Gateway, false));
        assert_eq!(image.publishers, Sides { software: 1, hardware: 0 });
        assert_eq!(image.subscribers, Sides { software: 0, hardware: 2 });
        assert_eq!(image.as_software.total(), 2);
        assert_eq!(image.as_gateway.unwrap().total(), 1);
        assert_eq!(choice(mapped, "/blurred").mapping, TopicMapping::Hardware);
        assert_eq!(choice(mapped, "/raw").mapping, TopicMapping::Software);
    }
    for topic in ["/red", "/lane"] {
        let (with, without) = (choice(&gateway, topic), choice(&software, topic));
        assert!(with.open && without.open);
        assert_eq!(with.mapping, TopicMapping::Gateway);
        assert_eq!(without.mapping, TopicMapping::Software);
        assert_eq!(with.as_software, without.as_software);
        assert_eq!(with.as_gateway, without.as_gateway);
    }
}

#[test]
fn nodes_in_two_fabrics_are_joined_by_gateways() {
    let mapped = mapped(
        "east: { nodes: [compensation] }, west: { nodes: [blur, red] }",
        OpenTopics::Gateway,
    );
    let image = choice(&mapped, "/image");
    assert_eq!(image.mapping, TopicMapping::Gateway);
    assert_eq!(image.fabrics, ["east", "west"]);
    assert_eq!(image.as_software, Crossings { up: 1, down: 2 });
    assert_eq!(image.crossings, Crossings { up: 1, down: 1 });
    let check =
        |mapping: &Mapping| check(&graph(), mapping, &described(&graph()), &RunOptions::PLAIN);
    check(&mapped.mapping).unwrap();
    let mut wrong = mapped.mapping;
    wrong.topics.iter_mut().find(|it| it.name == "/image").unwrap().mapping =
        TopicMapping::Hardware;
    let found = only(&check(&wrong).unwrap_err(), ViolationKind::TopicMapping);
    assert_eq!(found.topic.as_deref(), Some("/image"));
    assert!(found.message.contains("`east` and `west`"), "{found}");
}

#[test]
fn a_placement_that_does_not_fit_is_refused_with_line_node_and_advice() {
    let text = "crossdock: 1\nfabrics:\n  f: { nodes: [blur, compensatoin] }\n  \
                g:\n    nodes: [blur]\n";
    let placement = Placement::from_yaml("p.yaml", text.as_bytes()).unwrap();
    let violations =
        CommunicationMapping::new(&graph(), &placement, OpenTopics::Gateway).unwrap_err();
    let unknown = only(&violations, ViolationKind::UnknownNode);
    assert_eq!(
        unknown.to_string(),
        "p.yaml:3:22: node `compensatoin`: graph `drive` has no such node; did you mean \
         `compensation`?"
    );
    let twice = only(&violations, ViolationKind::MappedTwice);
    assert_eq!(
        twice.to_string(),
        "p.yaml:5:13: node `blur`: the node is placed twice, first in fabric `f`; remove one of \
         the two places"
    );
    for (text, kind, place) in [
        ("crossdock: 1\nfabrics:\n  f: [blur]\n", ViolationKind::WrongValue, (3, 6)),
        ("crossdock: 1\nfabrics:\n  f: { nodes: [] }\n", ViolationKind::MissingKey, (3, 15)),
        ("crossdock: 1\nfabrics:\n  1f: { nodes: [a] }\n", ViolationKind::InvalidName, (3, 3)),
        ("crossdock: 1\nfabric: {}\n", ViolationKind::UnknownKey, (2, 1)),
        ("crossdock: 1\n", ViolationKind::MissingKey, (1, 1)),
    ] {
        let violations = Placement::from_yaml("p.yaml", text.as_bytes()).unwrap_err();
        let place_of = only(&violations, kind).place.unwrap();
        assert_eq!((place_of.line, place_of.column), place, "{violations:#?}");
    }
}

#[test]
fn a_placement_in_json_says_hw_or_sw_for_every_node() {
    let json = |mapping: &str| {
        format!(
            "{{\"nodes\": [{{\"name\": \"NodeA\", \"mapping\": \"hw\"}}, \
             {{\"name\": \"World\", \"env\": true}}, {{\"name\": \"NodeB\"{mapping}}}]}}"
        )
    };
    let read = |text: &str| Placement::from_json("g.json", text.as_bytes());
    let placement = read(&json(", \"mapping\": \"sw\"")).unwrap();
    let fabric = MappedFabric {
        name: "fabric".into(),
        nodes: vec!["node_a".into()],
        on_lag: OnLag::default(),
        part: None,
    };
    assert_eq!(placement.fabrics, [fabric]);
    let violations = read(&json("")).unwrap_err();
    let missing = only(&violations, ViolationKind::MissingKey);
    assert!(violations.len() == 1 && missing.to_string().contains("`NodeB`"), "{missing}");
    only(&read(&json(", \"mapping\": \"gpu\"")).unwrap_err(), ViolationKind::WrongValue);
    only(&read("{").unwrap_err(), ViolationKind::Syntax);
}

#[test]
fn a_fabric_has_a_host_with_a_port_for_each_end_of_a_gateway() {
    let file = |topics: &str| {
        let process = |name: &str, node: &str| {
            format!("{name}: {{ executors: [ {{ mode: chain, nodes: [{node}] }} ] }}")
        };
        let (left, right) = (process("left", "planner"), process("right", "control"));
        let fabric = "f: { nodes: [compensation, blur, red] }";
        format!(
            "crossdock: 1\nprocesses: {{ {left}, {right} }}\nfabrics: {{ {fabric} }}\n\
             topics: {{ {topics} }}\n"
        )
    };
    let checked = |text: &str| {
        let mapping = Mapping::from_yaml("m.yaml", text.as_bytes()).unwrap();
        check(&graph(), &mapping, &described(&graph()), &RunOptions::PLAIN)
    };
    // Topic, input, output, and the hardware node that has the gateway for itself.
    let gateways = |plan: &Plan| -> Vec<String> {
        let told = |it: &GatewayPlan| {
            let port = |port: &Option<String>| port.clone().unwrap_or("-".to_owned());
            let end = it.end.as_ref().map_or("-", |end| end.node.as_str());
            format!("{} {} {} {end}", it.topic, port(&it.down), port(&it.up))
        };
        plan.fabrics[0].gateways.iter().map(told).collect()
    };
    let mapped = "/raw: { mapping: gateway }, /image: { mapping: gateway }, \
                  /blurred: { mapping: gateway }, /red: { mapping: gateway }";
    let plan = checked(&file(mapped)).unwrap();
    let shared = ["/blurred - /blurred -", "/image - /image -", "/raw /raw - -", "/red - /red -"];
    assert_eq!(gateways(&plan), shared, "what only the fabric publishes is not brought down");
    let host = plan.fabrics[0].host.as_ref().unwrap();
    assert_eq!((host.name.as_str(), host.binary.as_str()), ("f", FABRIC_BINARY));
    let names = plan.all_processes().map(|it| it.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["left", "right", "f"]);
    let output = |topic: &str| {
        let outputs = host.executors[0].nodes[0].outputs.iter();
        outputs.filter(|it| it.topic == topic).map(|it| it.routes.ring).collect::<Vec<_>>()
    };
    assert_eq!((output("/blurred"), output("/image")), (vec![1], vec![0]));
    let input = &plan.processes[0].executors[0].nodes[0].inputs[0];
    assert_eq!((input.topic.as_str(), input.routes.ring), ("/blurred", 1));

    let plan = checked(&file("/image: { mapping: hardware }")).unwrap();
    let direct =
        ["/blurred - blur.o blur", "/raw compensation.i - compensation", "/red - red.o red"];
    assert_eq!(
        gateways(&plan),
        direct,
        "each hardware port of a software-mapped topic has its own"
    );

    let violations = checked(&file(mapped).replace("f: {", "left: {")).unwrap_err();
    let twice = only(&violations, ViolationKind::Duplicate);
    assert!(twice.message.contains("a process and a fabric are both called `left`"), "{twice}");
}

#[test]
fn a_mapping_that_contradicts_itself_is_refused_by_node_and_topic() {
    let process = "processes: { p: { executors: [ { mode: chain, nodes: [control] } ] } }";
    let file = |fabrics: &str, topics: &str| {
        format!("crossdock: 1\n{process}\nfabrics: {{ {fabrics} }}\ntopics: {{ {topics} }}\n")
    };
    let fabric = "f: { nodes: [compensation, blur, red, planner] }";
    let checked = |graph: &Graph, text: &str| {
        let mapping = Mapping::from_yaml("m.yaml", text.as_bytes()).unwrap();
        check(graph, &mapping, &described(graph), &RunOptions::PLAIN)
    };
    let plan = checked(&graph(), &file(fabric, "/image: { mapping: hardware }")).unwrap();
    assert_eq!(plan.fabrics[0].nodes.len(), 4);
    let mapping_of = |topic: &str| plan.topics.iter().find(|it| it.name == topic).unwrap().mapping;
    assert_eq!(mapping_of("/image"), TopicMapping::Hardware);
    assert_eq!(mapping_of("/lane"), TopicMapping::Software, "what is not named is in software");
    let refused = |fabrics: &str, topics: &str, kind, told: &[&str]| {
        let violations = checked(&graph(), &file(fabrics, topics)).unwrap_err();
        let found = only(&violations, kind).to_string();
        for part in told {
            assert!(found.contains(part), "`{part}` is missing in: {found}");
        }
    };
    let wrong = ViolationKind::TopicMapping;
    refused(
        fabric,
        "/lane: { mapping: hardware }",
        wrong,
        &["m.yaml:4:11: node `control`, topic `/lane`: ", "subscribes to it", "`gateway`"],
    );
    refused(fabric, "/command: { mapping: hardware }", wrong, &["`control`", "publishes it"]);
    refused(fabric, "/raw: { mapping: hardware }", wrong, &["/raw", "outside the graph"]);
    refused(fabric, "/command: { mapping: gateway }", wrong, &["/command", "no hardware node"]);
    refused(fabric, "/imag: { mapping: gateway }", ViolationKind::UnknownTopic, &["`/image`?"]);
    let twice = "f: { nodes: [compensation, blur, red, planner, control] }";
    refused(twice, "", ViolationKind::MappedTwice, &["m.yaml:2", "`control`", "fabric `f`"]);
    refused("f: { nodes: [blur] }", "", ViolationKind::Unmapped, &["no place", "a fabric"]);
    let unknown = "f: { nodes: [compensation, blur, red, planner, ghost] }";
    refused(unknown, "", ViolationKind::UnknownNode, &["m.yaml:3", "`ghost`"]);

    let text =
        GRAPH.replace("external: true }", "external: true }\n  /image: { copies: forbidden }");
    let forbidden = Graph::from_yaml("g.yaml", text.as_bytes()).unwrap();
    checked(&forbidden, &file(fabric, "/image: { mapping: hardware }")).unwrap();
    for topics in ["/image: { mapping: gateway }", ""] {
        let found = checked(&forbidden, &file(fabric, topics)).unwrap_err();
        assert!(only(&found, wrong).message.contains("forbids copies"), "{found:?}");
    }
}

/// A graph of nodes joined at random and a random placement in up to three fabrics.
fn any_placed_graph() -> impl Strategy<Value = (Graph, Placement)> {
    const TOPICS: usize = 8;
    let node = (vec(0..TOPICS, 0..4), vec(0..TOPICS, 0..3), 0..6_usize);
    let nodes = vec(node, 1..14);
    (nodes, vec(any::<bool>(), TOPICS)).prop_map(|(described, external)| {
        let topic = |number: usize| format!("/topic_{number}");
        let declared = |(number, external)| GraphTopic {
            name: topic(number),
            external,
            ..GraphTopic::default()
        };
        let topics = external.into_iter().enumerate().filter(|(number, _)| number % 2 == 0);
        let mut graph = Graph {
            name: "random".into(),
            topics: topics.map(declared).collect(),
            ..Graph::default()
        };
        let mut fabrics: Vec<MappedFabric> = (0..3)
            .map(|number| MappedFabric {
                name: format!("f{number}"),
                nodes: vec![],
                on_lag: OnLag::default(),
                part: None,
            })
            .collect();
        for (index, (inputs, outputs, place)) in described.into_iter().enumerate() {
            let name = format!("node_{index}");
            if let Some(fabric) = fabrics.get_mut(place) {
                fabric.nodes.push(name.clone());
            }
            // Without triggers there is no cycle of triggers.
            let input = |(port, number)| GraphInput {
                port: format!("i{port}"),
                topic: topic(number),
                trigger: Some(false),
                ..GraphInput::default()
            };
            let output = |(port, number)| GraphOutput {
                port: format!("o{port}"),
                topic: topic(number),
                ..GraphOutput::default()
            };
            graph.nodes.push(GraphNode {
                name: name.clone(),
                package: format!("package_{}", index % 2),
                node_type: name,
                inputs: inputs.into_iter().enumerate().map(input).collect(),
                outputs: outputs.into_iter().enumerate().map(output).collect(),
                ..GraphNode::default()
            });
        }
        fabrics.retain(|fabric| !fabric.nodes.is_empty());
        (graph, Placement { fabrics, ..Placement::default() })
    })
}

/// The rule in the paper's words, node by node.
fn rule(graph: &Graph, placement: &Placement, topic: &str) -> TopicMapping {
    let mut places: BTreeSet<Option<&str>> = BTreeSet::new();
    for node in &graph.nodes {
        let inputs = node.inputs.iter().map(|input| &input.topic);
        let outputs = node.outputs.iter().map(|output| &output.topic);
        if inputs.chain(outputs).any(|it| it == topic) {
            let fabric = placement.fabrics.iter().find(|it| it.nodes.contains(&node.name));
            places.insert(fabric.map(|fabric| fabric.name.as_str()));
        }
    }
    if graph.topic(topic).is_some_and(|topic| topic.external) {
        places.insert(None);
    }
    let places: Vec<Option<&str>> = places.into_iter().collect();
    match places.as_slice() {
        [] | [None] => TopicMapping::Software,
        [Some(_)] => TopicMapping::Hardware,
        _ => TopicMapping::Gateway,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_rule_holds_on_any_graph_and_the_check_accepts_what_comes_out(
        (graph, placement) in any_placed_graph(),
    ) {
        let mapped = CommunicationMapping::new(&graph, &placement, OpenTopics::Gateway).unwrap();
        let again = CommunicationMapping::new(&graph, &placement, OpenTopics::Gateway).unwrap();
        prop_assert_eq!(&mapped, &again);
        let names: Vec<&str> = mapped.mapping.topics.iter().map(|it| it.name.as_str()).collect();
        prop_assert_eq!(names, graph.topic_names(), "every topic once");
        for choice in &mapped.topics {
            prop_assert_eq!(choice.mapping, rule(&graph, &placement, &choice.topic));
            prop_assert!(choice.crossings.up <= choice.as_software.up);
            prop_assert!(choice.crossings.down <= choice.as_software.down);
            let crosses = choice.crossings.total() > 0;
            prop_assert!(!crosses || choice.mapping == TopicMapping::Gateway);
        }
        prop_assert!(mapped.mapped.total() <= mapped.without_gateways.total());
        prop_assert!(mapped.without_gateways.total() <= mapped.all_software.total());

        let text = mapped.mapping.to_yaml();
        let read = Mapping::from_yaml("m.yaml", text.as_bytes());
        prop_assert!(read.is_ok(), "{:#?}\n{}", read, text);
        let read = read.unwrap();
        prop_assert_eq!(&read.without_source(), &mapped.mapping);
        let plan = check(&graph, &read, &described(&graph), &RunOptions::PLAIN);
        prop_assert!(plan.is_ok(), "{:#?}\n{}", plan, text);
        for topic in plan.unwrap().topics {
            prop_assert_eq!(topic.mapping, read.topic_mapping(&topic.name));
        }
    }

    #[test]
    fn a_preference_changes_open_topics_only(
        (graph, placement) in any_placed_graph(),
    ) {
        let gateway = CommunicationMapping::new(&graph, &placement, OpenTopics::Gateway).unwrap();
        let software = CommunicationMapping::new(&graph, &placement, OpenTopics::Software).unwrap();
        for (with, without) in gateway.topics.iter().zip(&software.topics) {
            prop_assert_eq!(with.open, without.open);
            match with.open {
                true => prop_assert_eq!(without.mapping, TopicMapping::Software),
                false => prop_assert_eq!(with, without),
            }
        }
        let descriptions = described(&graph);
        prop_assert!(check(&graph, &software.mapping, &descriptions, &RunOptions::PLAIN).is_ok());
    }

    #[test]
    fn the_check_refuses_hardware_wherever_the_rule_does(
        (graph, placement) in any_placed_graph(),
        pick in any::<prop::sample::Index>(),
    ) {
        let mut mapping =
            CommunicationMapping::new(&graph, &placement, OpenTopics::Gateway).unwrap().mapping;
        prop_assume!(!mapping.topics.is_empty());
        let picked = pick.index(mapping.topics.len());
        mapping.topics[picked].mapping = TopicMapping::Hardware;
        let topic = mapping.topics[picked].name.clone();
        let checked = check(&graph, &mapping, &described(&graph), &RunOptions::PLAIN);
        if rule(&graph, &placement, &topic) == TopicMapping::Hardware {
            prop_assert!(checked.is_ok(), "{:#?}", checked);
        } else {
            let found = only(&checked.unwrap_err(), ViolationKind::TopicMapping);
            prop_assert_eq!(found.topic, Some(topic));
        }
    }
}
