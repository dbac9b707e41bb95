//! Other graphs of the closed course on boards: with the stripes of the fpgaDDS paper, and with a
//! map.

use super::{INSIDE, count, drive, lit, the_mapping_does_not_matter, written};
use crossdock_suite::Run;

const FOLLOWING: &str = "apps/autorace/course_following.graph.yaml";
const SLAM: &str = "apps/autorace/course_slam.graph.yaml";
/// Nodes of the graph with stripes that exist in hardware.
const NODES: [&str; 7] =
    ["compensation", "blur", "projection", "following", "red_light", "green_light", "control"];
/// Its topics, each with its publisher and its subscribers.
const TOPICS: [(&str, &str, &[&str]); 8] = [
    ("/camera/image_raw", "simulator", &["compensation"]),
    ("/camera/image_compensated", "compensation", &["blur", "red_light", "green_light"]),
    ("/camera/image_blurred", "blur", &["projection"]),
    ("/lane/projected", "projection", &["following"]),
    ("/lane", "following", &["control"]),
    ("/traffic_light/red", "red_light", &["green_light", "control"]),
    ("/traffic_light/green", "green_light", &["red_light", "control"]),
    ("/cmd_vel", "control", &["simulator"]),
];

/// The mapping with these nodes in a fabric and all others in one chain, and the topics that never
/// leave the fabric.
fn placed(hardware: &[&str]) -> (String, Vec<&'static str>) {
    let is_there = |node: &str| hardware.contains(&node);
    let software: Vec<&str> = NODES.into_iter().filter(|node| !is_there(node)).collect();
    let mut text = format!(
        "crossdock: 1\nprocesses: {{ drive: {{ executors: [ {{ mode: chain, nodes: [simulator, {}] }} ] }} \
         }}\nfabrics: {{ board: {{ nodes: [{}] }} }}\ntopics:\n",
        software.join(", "),
        hardware.join(", ")
    );
    let mut inside = Vec::new();
    for (topic, publisher, subscribers) in TOPICS {
        let ends = || subscribers.iter().copied().chain([publisher]);
        if !ends().any(is_there) {
            continue;
        }
        let is_inside = ends().all(is_there);
        if is_inside {
            inside.push(topic);
        }
        let word = if is_inside { "hardware" } else { "gateway" };
        // Each light waits for nothing of the other one's.
        let other = subscribers.iter().find(|node| node.ends_with("_light") && is_there(node));
        let streams = match other {
            Some(light) if topic.starts_with("/traffic_light") && is_there(publisher) => {
                format!(", subscribers: {{ {light}: {{ other: {{ fifo_messages: 1 }} }} }}")
            }
            _ => String::new(),
        };
        text.push_str(&format!("  {topic}: {{ mapping: {word}{streams} }}\n"));
    }
    (text, inside)
}

#[test]
fn any_nodes_of_the_graph_with_stripes_may_be_in_hardware() {
    let run = Run::new("stripes_subsets");
    for number in 1..1 << NODES.len() {
        let nodes = NODES.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
        let nodes: Vec<&str> = nodes.map(|(_, node)| *node).collect();
        let mapping = written(&run, "subset.mapping.yaml", &placed(&nodes).0);
        let plan = run.json(&["check", FOLLOWING, "--mapping", &mapping, "--json"]);
        let found = plan["fabrics"][0]["nodes"].as_array().map(Vec::len);
        assert_eq!(found, Some(nodes.len()), "{nodes:?}: {plan:#}");
    }
}

#[test]
#[ignore = "long: a board with seven nodes"]
fn the_course_is_driven_the_same_with_the_whole_graph_with_stripes_on_a_board() {
    let inside = ["/camera/image_compensated", "/camera/image_blurred", "/lane/projected", "/lane"];
    let mapping = ["course_following", "board"];
    let arguments = ["--duration", "6"];
    let (summary, topics) = the_mapping_does_not_matter(FOLLOWING, mapping, &inside, &arguments);
    assert!(topics["/cmd_vel"].len() >= 89, "{}", topics["/cmd_vel"].len());
    // It comes near the first light, which turns from green to red.
    let lit = ["/traffic_light/red", "/traffic_light/green"].map(|it| lit(&topics[it]));
    assert!(lit.iter().all(|it| *it >= 5), "{lit:?}");
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = |key: &str| gateways.iter().map(|gateway| count(&gateway[key])).sum::<u64>();
    // Down the raw picture alone; up both lights and the command.
    assert_eq!(of("up"), 3 * of("down"), "{summary:#}");
    assert_eq!(of("down_refused") + of("up_refused") + of("up_timed_out"), 0, "{summary:#}");
}

#[test]
#[ignore = "long: three boards of their own"]
fn some_nodes_of_the_graph_with_stripes_in_hardware_drive_the_course_the_same() {
    let duration = ["--duration", "1"];
    let chain = "apps/autorace/course_following.chain.mapping.yaml";
    let software = [&[FOLLOWING, "--mapping", chain], &duration[..]].concat();
    let (_, software) = drive("stripes_software", &software);
    assert!(software["/cmd_vel"].len() >= 14, "too few commands to say anything");
    let run = Run::new("stripes_some");
    let some: [&[&str]; 3] =
        [&["projection", "following"], &["following", "control"], &["compensation", "projection"]];
    for nodes in some {
        let (mapping, inside) = placed(nodes);
        let mapping = written(&run, "some.mapping.yaml", &mapping);
        let arguments = [&[FOLLOWING, "--mapping", &mapping], &duration[..]].concat();
        let (_, hardware) = drive(&format!("stripes_{}", nodes.join("_")), &arguments);
        assert_eq!(hardware.len() + inside.len(), software.len(), "{nodes:?}");
        for (topic, messages) in &hardware {
            assert!(*messages == software[topic], "{nodes:?}: {topic}");
        }
    }
}

#[test]
#[ignore = "long: a board with seven nodes"]
fn the_map_is_the_same_with_all_other_perception_on_a_board() {
    let inside = [&INSIDE[..], &["/lane"]].concat();
    let mapping = ["course_slam", "board"];
    let arguments = ["--duration", "2"];
    let (summary, topics) = the_mapping_does_not_matter(SLAM, mapping, &inside, &arguments);
    for topic in ["/cmd_vel", "/camera/image_compensated", "/slam/pose", "/slam/state"] {
        assert!(topics[topic].len() >= 29, "{topic}: {}", topics[topic].len());
    }
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = |key: &str| gateways.iter().map(|gateway| count(&gateway[key])).sum::<u64>();
    // Down the raw picture alone; up the compensated one once, both lights and the command.
    assert_eq!(of("up"), 4 * of("down"), "{summary:#}");
    assert_eq!(of("down_refused") + of("up_refused") + of("up_timed_out"), 0, "{summary:#}");
}
