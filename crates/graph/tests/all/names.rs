//! Names: namespaces, relative and private names, files that include others, and remapping.

use crate::support::{course_with, descriptions};
use crossdock_graph::{
    Graph, IncludedFile, Mapping, ParameterOverrides, ParameterValue, RemapRule, RosParameters,
    RunOptions, Violation, ViolationKind, check,
};

const CAMERA: &str = "\
crossdock: 1
name: camera
arguments:
  clip: { node: compensation, parameter: clip_percent }
topics:
  image: { type: sensor_msgs/msg/Image, external: true, max_bytes: 1000000 }
nodes:
  compensation:
    package: autorace
    type: image_compensation
    inputs: { image: image }
    outputs: { image: ~/image }
  filters/blur:
    package: autorace
    type: gaussian_blur
    inputs: { image: /lights/image }
    outputs: { image: \"/blurred/{node}\" }
chains:
  through: { from: image, to: compensation/image }
";

/// A graph file with these files beside it.
fn read(text: &str, files: &[(&str, &str)]) -> Result<Graph, Vec<Violation>> {
    let mut open = |_: &str, name: &str| {
        let found = files.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or("there is no such file".to_owned())?;
        Ok(IncludedFile { name: (*name).to_owned(), text: text.as_bytes().to_vec() })
    };
    Graph::read("outer.yaml", text.as_bytes(), &mut open).map(|(graph, unknown)| {
        assert!(unknown.is_empty(), "{unknown:?}");
        graph
    })
}

fn remapped(
    graph: &Graph,
    rules: &[&str],
) -> Result<(Graph, Mapping, Vec<String>), Vec<Violation>> {
    let rules: Vec<RemapRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let (after, names, warnings) = graph.remapped(&rules)?;
    let mapping = Mapping::one_chain_per_package(graph).renamed(&names);
    Ok((after, mapping, warnings.iter().map(ToString::to_string).collect()))
}

fn topics(graph: &Graph) -> Vec<(&str, &str, &str)> {
    let nodes = graph.nodes.iter();
    let ports = nodes.map(|node| {
        let (input, output) = (&node.inputs[0].topic, &node.outputs[0].topic);
        (node.name.as_str(), input.as_str(), output.as_str())
    });
    ports.collect()
}

#[test]
fn names_are_spelt_out_in_their_namespaces() {
    let graph = read(CAMERA, &[]).unwrap();
    assert_eq!(
        topics(&graph),
        [
            ("compensation", "/image", "/compensation/image"),
            ("/filters/blur", "/lights/image", "/blurred/blur"),
        ]
    );
    let front = CAMERA.replace("name: camera", "name: camera\nnamespace: front");
    let graph = read(&front, &[]).unwrap();
    assert_eq!(
        topics(&graph),
        [
            ("/front/compensation", "/front/image", "/front/compensation/image"),
            ("/front/filters/blur", "/lights/image", "/blurred/blur"),
        ]
    );
    assert_eq!(graph.topics[0].name, "/front/image");
    assert_eq!(graph.chains[0].to, "/front/compensation/image");
    assert_eq!(graph.arguments[0].node, "/front/compensation");
    let of_node =
        CAMERA.replace("    type: gaussian_blur", "    type: gaussian_blur\n    namespace: /x");
    assert_eq!(read(&of_node, &[]).unwrap().nodes[1].name, "/x/filters/blur");
    // Written out, it is the same graph.
    let again = Graph::from_yaml("again", graph.to_yaml().as_bytes()).unwrap();
    assert_eq!(again.without_source(), graph.without_source());
}

#[test]
fn names_that_are_too_long_in_their_namespace_are_faults_at_their_place() {
    let long = format!("name: camera\nnamespace: /{}", "n".repeat(120));
    let violations = read(&CAMERA.replace("name: camera", &long), &[]).unwrap_err();
    assert_eq!(violations[0].kind, ViolationKind::InvalidName);
    assert!(violations[0].to_string().starts_with("outer.yaml:9:3: "), "{}", violations[0]);
    let topic = CAMERA.replace("image: image }", &format!("image: {} }}", "t".repeat(250)));
    let topic = topic.replace("name: camera", "name: camera\nnamespace: /front");
    let violations = read(&topic, &[]).unwrap_err();
    assert!(violations[0].to_string().contains("more than 255 characters"), "{}", violations[0]);
}

#[test]
fn a_mapping_names_nodes_as_the_graph_file_does() {
    let front = CAMERA.replace("name: camera", "name: camera\nnamespace: front");
    let graph = read(&front, &[]).unwrap();
    let text = "crossdock: 1\nprocesses:\n  p:\n    executors:\n      - { mode: chain, nodes: \
                [compensation, /front/filters/blur] }\ntopics: { image: { mapping: gateway } }\n";
    let mapping = Mapping::from_yaml("m.yaml", text.as_bytes()).unwrap().in_graph(&graph);
    let nodes = &mapping.processes[0].executors[0].nodes;
    assert_eq!(nodes[..], ["/front/compensation", "/front/filters/blur"]);
    assert_eq!(mapping.topics[0].name, "/front/image");
    let place = mapping.source.find(&["processes", "p", "0", "/front/compensation"]);
    assert_eq!(place.1.map(|place| (place.line, place.column)), Some((5, 32)));
}

const OUTER: &str = "\
crossdock: 1
name: robot
namespace: robot
include:
  - file: camera.yaml
    namespace: front
    remaps: { image: raw, compensation/image: /image }
    parameters: { compensation: { clip_percent: 2.5 } }
  - { file: camera.yaml, namespace: /rear }
topics:
  raw: { qos: { depth: 2 } }
nodes:
  lane_planner:
    package: autorace
    type: lane_planner
    inputs: { image: /image }
    outputs: { image: /rear/image }
";

#[test]
fn a_graph_file_is_included_with_a_namespace_remaps_and_parameters() {
    let graph = read(OUTER, &[("camera.yaml", CAMERA)]).unwrap();
    assert_eq!(
        topics(&graph),
        [
            ("/robot/lane_planner", "/image", "/rear/image"),
            ("/robot/front/compensation", "/robot/raw", "/image"),
            ("/robot/front/filters/blur", "/lights/image", "/blurred/blur"),
            ("/rear/compensation", "/rear/image", "/rear/compensation/image"),
            ("/rear/filters/blur", "/lights/image", "/blurred/blur"),
        ]
    );
    let raw = graph.topic("/robot/raw").unwrap();
    assert!(raw.external && raw.qos.depth == Some(2) && raw.max_bytes == Some(1_000_000));
    // The outer graph publishes what the camera had from outside.
    assert!(!graph.topic("/rear/image").unwrap().external);
    let chains: Vec<_> = graph.chains.iter().map(|it| (&*it.name, &*it.from, &*it.to)).collect();
    assert_eq!(
        chains,
        [
            ("/robot/front/through", "/robot/raw", "/image"),
            ("/rear/through", "/rear/image", "/rear/compensation/image"),
        ]
    );
    let clip = |node: &str| graph.node(node).unwrap().parameters.get("clip_percent").cloned();
    assert_eq!(clip("/robot/front/compensation"), Some(ParameterValue::Double(2.5)));
    assert_eq!(clip("/rear/compensation"), None);
    assert_eq!(graph.source.included(), ["camera.yaml"]);
    // One argument for both instances.
    let set = graph.with_argument(&descriptions(), "clip", "3").unwrap();
    let all = set.nodes.iter().filter_map(|node| node.parameters.get("clip_percent"));
    assert_eq!(all.collect::<Vec<_>>(), [&ParameterValue::Double(3.0); 2]);
}

#[test]
fn an_included_graph_is_planned_with_whole_names() {
    let outer = OUTER.replace("namespace: robot", "namespace: /");
    let camera = CAMERA.replace("/lights/image", "image");
    let camera = camera.replace("filters/blur", "blur").replace("\"/blurred/{node}\"", "~/image");
    let graph = read(&outer, &[("camera.yaml", &camera)]);
    let graph = graph.unwrap();
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN);
    let plan = plan.unwrap_or_else(|violations| panic!("{violations:#?}"));
    let nodes = plan.processes[0].executors[0].nodes.iter().map(|node| node.name.as_str());
    let mut nodes: Vec<&str> = nodes.collect();
    nodes.sort_unstable();
    let wanted =
        ["/front/blur", "/front/compensation", "/rear/blur", "/rear/compensation", "lane_planner"];
    assert_eq!(nodes, wanted);
    let separate = Mapping::one_process_per_node(&graph);
    assert!(separate.processes.iter().any(|process| process.name == "front_blur"));
    check(&graph, &separate, &descriptions(), &RunOptions::PLAIN).unwrap();
}

#[test]
fn faults_of_included_files_are_told_at_their_own_places() {
    let outer = |line: &str| format!("crossdock: 1\nname: robot\ninclude:\n  - {{ {line} }}\n");
    let camera = [("camera.yaml", CAMERA)];
    for (line, files, told) in [
        ("file: lens.yaml", &camera, "outer.yaml:4:5: `lens.yaml` cannot be included: there is no"),
        (
            "file: camera.yaml, remaps: { imaeg: /a }",
            &camera,
            "outer.yaml:4:36: graph `camera` has no topic or service `/imaeg` to be remapped; did \
             you mean `/image`?",
        ),
        (
            "file: camera.yaml, parameters: { blurr: { kernel: 3 } }",
            &camera,
            "outer.yaml:4:40: node `blurr`: graph `camera` has no such node; remove it",
        ),
        (
            "file: camera.yaml, namespaces: front",
            &camera,
            "outer.yaml:4:26: an include has no key `namespaces`; did you mean `namespace`?",
        ),
        ("file: c.yaml", &[("c.yaml", "crossdock: 1\n")], "c.yaml:1:1: a graph file needs the key"),
        (
            "file: outer.yaml",
            &[("outer.yaml", CAMERA)],
            "outer.yaml:4:5: the file includes itself: outer.yaml includes outer.yaml",
        ),
    ] {
        let read = Graph::read("outer.yaml", outer(line).as_bytes(), &mut |_, name| {
            let found = files.iter().find(|(known, _)| *known == name);
            let (name, text) = found.ok_or("there is no such file".to_owned())?;
            Ok(IncludedFile { name: (*name).to_owned(), text: text.as_bytes().to_vec() })
        });
        let violations = read.map_or_else(|faults| faults, |(_, unknown)| unknown);
        assert!(violations[0].to_string().starts_with(told), "{line}: {}", violations[0]);
    }
    let twice =
        "crossdock: 1\nname: robot\ninclude: [ { file: camera.yaml }, { file: camera.yaml } ]\n";
    let violations = read(twice, &camera).unwrap_err();
    let told = "camera.yaml:7:3: node `compensation` is there already, in camera.yaml, line 7";
    assert!(
        violations.iter().any(|violation| violation.to_string().contains("is there already")),
        "{told}: {violations:?}"
    );
    // What the check finds later points into the included file, too.
    let broken = CAMERA.replace("clip_percent", "clip_percents").replace(
        "    outputs: { image: ~/image }",
        "    outputs: { image: ~/image }\n    parameters: { clip: 3 }",
    );
    let graph = read(&outer("file: camera.yaml, namespace: front"), &[("camera.yaml", &broken)]);
    let graph = graph.unwrap();
    let mapping = Mapping::one_chain_per_package(&graph);
    let violations = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap_err();
    let told =
        "camera.yaml:13:25: node `/front/compensation`: `image_compensation` has no parameter";
    let found = violations.iter().any(|violation| violation.to_string().starts_with(told));
    assert!(found, "{violations:#?}");
}

#[test]
fn files_that_include_each_other_end() {
    let including =
        |file: &str| format!("crossdock: 1\nname: a\ninclude: [ {{ file: {file} }} ]\n");
    let (a, b) = (including("b.yaml"), including("a.yaml"));
    let violations = read(&a, &[("a.yaml", &a), ("b.yaml", &b)]).unwrap_err();
    let told = "a.yaml:3:12: the file includes itself: b.yaml includes a.yaml includes b.yaml";
    assert!(violations[0].to_string().starts_with(told), "{}", violations[0]);

    let names: Vec<String> = (0..20).map(|number| format!("f{number}.yaml")).collect();
    let texts: Vec<String> = names[1..].iter().map(|next| including(next)).collect();
    let files: Vec<(&str, &str)> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let violations = read(&including("f0.yaml"), &files).unwrap_err();
    assert!(violations[0].message.contains("more than 8 deep"), "{}", violations[0]);

    // Each file includes the next one ten times: the number of files is what ends it.
    let ten = |file: &str| {
        let items = format!("{{ file: {file} }}, ").repeat(10);
        format!("crossdock: 1\nname: a\ninclude: [ {items} ]\n")
    };
    let texts: Vec<String> = names[1..].iter().map(|next| ten(next)).collect();
    let files: Vec<(&str, &str)> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let violations = read(&ten("f0.yaml"), &files[..7]).unwrap_err();
    assert!(violations.len() <= 200);
}

/// What is said first of a graph that includes this file 255 times, each time in a namespace of its
/// own, and how often the file was opened.
fn included_often(file: &str) -> (String, usize) {
    let items = (0..255).map(|index| format!("  - {{ file: a.yaml, namespace: n{index} }}\n"));
    let text = format!("crossdock: 1\nname: outer\ninclude:\n{}", items.collect::<String>());
    let mut opened = 0;
    let mut open = |_: &str, name: &str| {
        opened += 1;
        Ok(IncludedFile { name: name.to_owned(), text: file.as_bytes().to_vec() })
    };
    let violations = Graph::read("outer.yaml", text.as_bytes(), &mut open).unwrap_err();
    assert_eq!(violations.len(), 1, "{violations:?}");
    (violations[0].to_string(), opened)
}

#[test]
fn what_all_files_hold_together_ends_their_reading() {
    let file = |nodes: usize, node: &dyn Fn(usize) -> String| {
        let nodes = (0..nodes).map(node).collect::<String>();
        format!("crossdock: 1\nname: inner\nnodes:\n{nodes}")
    };
    let node = |index| format!("  n{index}: {{ package: p, type: t }}\n");
    let told =
        "outer.yaml:5:5: the graph has 3998 nodes up to here, more than 2000; split the graph";
    assert_eq!(included_often(&file(1999, &node)), (told.to_owned(), 2));
    let ports = |node: usize| {
        let ports: String = (0..12).map(|index| format!("p{index}: /t{index}, ")).collect();
        format!("  n{node}: {{ package: p, type: t, inputs: {{ {ports} }} }}\n")
    };
    let told = "outer.yaml:5:5: the graph has 24000 ports up to here, more than 20000; split the \
                graph";
    assert_eq!(included_often(&file(1000, &ports)), (told.to_owned(), 2));
    let long = file(1, &node) + &"#".repeat(1_000_000);
    let (told, opened) = included_often(&long);
    assert_eq!(opened, (4 << 20) / long.len() + 1);
    let wanted = "bytes up to here, each as often as it is included, more than 4194304";
    assert!(told.contains(wanted), "{told}");
    // One file alone, which is not checked.
    let violations = read(&file(2001, &node), &[]).unwrap_err();
    let told = "outer.yaml:1:1: the graph has 2001 nodes, more than 2000; split the graph";
    assert_eq!(violations.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
    assert_eq!(read(&file(2000, &node), &[]).unwrap().nodes.len(), 2000);
}

#[test]
fn rules_rename_topics_as_in_ros_2() {
    let front = CAMERA.replace("name: camera", "name: camera\nnamespace: front");
    let graph = read(&front, &[]).unwrap();
    let inputs = |rules: &[&str]| -> Vec<String> {
        let (graph, _, warnings) = remapped(&graph, rules).unwrap();
        assert_eq!(warnings, [""; 0], "{rules:?}");
        let all = graph.nodes.iter();
        all.flat_map(|it| [it.inputs[0].topic.clone(), it.outputs[0].topic.clone()]).collect()
    };
    let written = ["/front/image", "/front/compensation/image", "/lights/image", "/blurred/blur"];
    let with = |place: usize, name: &str| {
        let mut names = written.map(str::to_owned);
        name.clone_into(&mut names[place]);
        names
    };
    assert_eq!(inputs(&[]), written);
    // Both sides are names as the node would write them.
    assert_eq!(inputs(&["image:=raw"]), with(0, "/front/raw"));
    assert_eq!(inputs(&["/front/image:=/raw"]), with(0, "/raw"));
    assert_eq!(inputs(&["~/image:=out"]), with(1, "/front/out"));
    assert_eq!(inputs(&["image:=~/in"]), with(0, "/front/compensation/in"));
    assert_eq!(inputs(&["blur:/lights/image:=light"]), with(2, "/front/filters/light"));
    assert_eq!(inputs(&["/front/filters/blur:/lights/image:=/a"]), with(2, "/a"));
    assert_eq!(inputs(&["rostopic://image:=raw"]), with(0, "/front/raw"));
    // The first rule that fits counts, and only one.
    let first = &["compensation:image:=/a", "/a:=/b", "image:=/c"];
    let (after, _, warnings) = remapped(&graph, first).unwrap();
    assert_eq!(after.nodes[0].inputs[0].topic, "/a");
    assert_eq!(warnings.len(), 2);
    // Declarations and chains go along.
    let (after, _, _) = remapped(&graph, &["image:=raw"]).unwrap();
    assert!(after.topic("/front/raw").unwrap().external && after.topic("/front/image").is_none());
    assert_eq!(after.chains[0].from, "/front/raw");
}

#[test]
fn rules_rename_nodes_before_namespaces_before_topics() {
    let graph = read(CAMERA, &[]).unwrap();
    let (after, mapping, warnings) = remapped(
        &graph,
        &["corrected:image:=raw", "compensation:__node:=corrected", "corrected:__ns:=/rear"],
    )
    .unwrap();
    assert_eq!(warnings, [""; 0]);
    assert_eq!(topics(&after)[0], ("/rear/corrected", "/rear/raw", "/rear/corrected/image"));
    // The mapping of the files still fits, and so does what names the node.
    assert_eq!(mapping.processes[0].executors[0].nodes, ["/rear/corrected", "/filters/blur"]);
    assert_eq!(after.arguments[0].node, "/rear/corrected");

    let (_, _, warnings) =
        remapped(&graph, &["compensation:__node:=corrected", "compensation:image:=raw"]).unwrap();
    assert_eq!(
        warnings,
        [
            "`-r compensation:image:=raw` changes nothing: node `compensation` is called `corrected` \
          by then; rules for topics and namespaces name a node by its new name"
        ]
    );
    // As in ROS 2, a rule without a node's name is for all of them.
    let (after, _, _) = remapped(&graph, &["__ns:=/rear"]).unwrap();
    let names: Vec<&str> = after.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["/rear/compensation", "/rear/blur"]);
    let faults = remapped(&graph, &["__ns:=/rear", "__node:=one"]).unwrap_err();
    let told = "nodes `compensation` and `/filters/blur` would both be `/rear/one`";
    assert!(faults[0].to_string().contains(told), "{}", faults[0]);
}

#[test]
fn rules_that_change_nothing_are_reported_with_a_proposal() {
    let graph = read(CAMERA, &[]).unwrap();
    for (rule, told) in [
        ("imaeg:=a", "nobody has a topic or service `imaeg`; did you mean `image`?"),
        ("/lights/imge:=a", "did you mean `/lights/image`?"),
        ("blur:=a", "nobody has a topic or service `blur`; did you mean `/blurred/blur`?"),
        ("blur:blur:=a", "node `blur` has no topic or service `blur`; remove the rule"),
        ("blurr:image:=a", "no node is called `blurr`; did you mean `blur`?"),
        (
            "rosservice://image:=a",
            "`image` is a topic, no service; begin it with `rostopic://image`",
        ),
    ] {
        let (_, _, warnings) = remapped(&graph, &[rule]).unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains(told), "{rule}: {warnings:?}");
    }
}

#[test]
fn a_remapped_topic_of_a_part_of_the_graph_takes_its_declaration_along() {
    let graph = Graph::from_yaml("course", course_with("", "").as_bytes()).unwrap();
    // One of several subscribers goes elsewhere: both names are declared.
    let (after, _, warnings) =
        remapped(&graph, &["compensation:/camera/image_raw:=/other"]).unwrap();
    assert_eq!(warnings, [""; 0]);
    assert_eq!(after.topic("/other").unwrap().max_bytes, Some(1_000_000));
    assert_eq!(after.topic("/camera/image_raw").unwrap().max_bytes, Some(1_000_000));
}

#[test]
fn ros_parameters_count_in_the_order_of_the_command_line() {
    let front = CAMERA.replace("name: camera", "name: camera\nnamespace: front");
    let graph = read(&front, &[]).unwrap();
    let overrides = b"crossdock: 1\nnodes: { compensation: { clip_percent: 1 } }\n";
    let overrides = ParameterOverrides::from_yaml("o.yaml", overrides).unwrap();
    let graph = graph.with_parameters(&overrides).unwrap();
    let file = b"/**:\n  ros__parameters: { clip_percent: 2.0, use_sim_time: true }\n\
                 front:\n  compensation:\n    ros__parameters: { clip_percent: 3.0, clop: 1 }\n\
                 /rear/blur:\n  ros__parameters: { kernel: 1 }\n";
    let file = RosParameters::from_yaml("p.yaml", file).unwrap();
    let rule = |text: &str| RosParameters::from_rule(text).unwrap();
    let set = |sources: &[RosParameters]| {
        let (graph, unused) = graph.with_ros_parameters(sources, &descriptions());
        let value = graph.nodes[0].parameters["clip_percent"].clone();
        (value, unused.iter().map(ToString::to_string).collect::<Vec<_>>(), graph)
    };
    let (value, unused, after) = set(std::slice::from_ref(&file));
    assert_eq!(value, ParameterValue::Double(3.0));
    let told = [
        "p.yaml:5:49: no node has the parameter `clop` that is set for `/front/compensation`",
        "p.yaml:7:30: no node is called `/rear/blur`, so its parameter `kernel` has no effect",
    ];
    assert!(unused.iter().zip(told).all(|(is, told)| is.starts_with(told)), "{unused:#?}");
    let sim = after.nodes.iter().map(|node| node.parameters.get("use_sim_time"));
    assert_eq!(sim.collect::<Vec<_>>(), [Some(&ParameterValue::Bool(true)); 2]);
    assert_eq!(set(&[file.clone(), rule("clip_percent:=4")]).0, ParameterValue::Integer(4));
    assert_eq!(set(&[rule("compensation:clip_percent:=4"), file]).0, ParameterValue::Double(3.0));
    let (_, unused, _) = set(&[rule("blurr:kernel:=4")]);
    assert!(unused[0].contains("no node is called `blurr`"), "{unused:?}");
    assert!(unused[0].contains("did you mean `blur`?"), "{unused:?}");

    let wrong = rule("use_sim_time:=3");
    let (graph, _) = graph.with_ros_parameters(&[wrong], &descriptions());
    let mapping = Mapping::one_chain_per_package(&graph);
    let violations = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap_err();
    let told = "-p use_sim_time:=3: node `/front/compensation`: parameter `use_sim_time` must be of type \
                bool, not integer; write true or false";
    assert!(violations.iter().any(|it| it.to_string() == told), "{violations:#?}");
}
