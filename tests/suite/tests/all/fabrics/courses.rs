//! Other driving graphs on boards: with the stripes of the fpgaDDS paper, of recordings, and with a
//! map.

use super::{HIGHWAY, INSIDE, count, drive, lit, the_mapping_does_not_matter, written};
use crossdock_suite::Run;

const FOLLOWING: &str = "apps/autorace/course_following.graph.yaml";
const SLAM: &str = "apps/autorace/course_slam.graph.yaml";
/// A graph with seven nodes that exist in hardware.
struct Placeable {
    graph: &'static str,
    /// Parameters of a camera that the planner has to rectify.
    params: &'static [&'static str],
    /// The nodes that exist in software alone.
    software: &'static [&'static str],
    /// What makes the pictures.
    camera: &'static str,
    /// Topics that something in software reads, too.
    readers: &'static [(&'static str, &'static str)],
    /// What makes of a blurred picture what the lane is found in, the topic between them, and what
    /// finds the lane.
    lane: [&'static str; 3],
}

const STRIPES: Placeable = Placeable {
    graph: FOLLOWING,
    params: &[],
    software: &["simulator"],
    camera: "simulator",
    readers: &[("/cmd_vel", "simulator")],
    lane: ["projection", "/lane/projected", "following"],
};
const ON_HIGHWAYS: Placeable = Placeable {
    graph: HIGHWAY,
    params: &["--params", "apps/autorace/params/highway.yaml"],
    software: &["decode", "lights", "features"],
    camera: "decode",
    readers: &[
        ("/camera/image_compensated", "features"),
        ("/traffic_light/red", "lights"),
        ("/traffic_light/green", "lights"),
        ("/cmd_vel", "a recording"),
    ],
    lane: ["planner", "/lane/view", "polyfit"],
};

impl Placeable {
    fn nodes(&self) -> [&'static str; 7] {
        let [sees, _, finds] = self.lane;
        ["compensation", "blur", sees, finds, "red_light", "green_light", "control"]
    }

    /// Its topics, each with its publisher and its subscribers.
    fn topics(&self) -> [(&'static str, &'static str, Vec<&'static str>); 8] {
        let [sees, between, finds] = self.lane;
        let mut topics = [
            ("/camera/image_raw", self.camera, vec!["compensation"]),
            ("/camera/image_compensated", "compensation", vec!["blur", "red_light", "green_light"]),
            ("/camera/image_blurred", "blur", vec![sees]),
            (between, sees, vec![finds]),
            ("/lane", finds, vec!["control"]),
            ("/traffic_light/red", "red_light", vec!["green_light", "control"]),
            ("/traffic_light/green", "green_light", vec!["red_light", "control"]),
            ("/cmd_vel", "control", vec![]),
        ];
        for (topic, _, subscribers) in &mut topics {
            let read = self.readers.iter().filter(|(of, _)| of == topic);
            subscribers.extend(read.map(|(_, reader)| reader));
        }
        topics
    }

    /// The mapping with these nodes in a fabric and all others in one chain, and the topics that
    /// never leave the fabric.
    fn placed(&self, hardware: &[&str]) -> (String, Vec<&'static str>) {
        let is_there = |node: &str| hardware.contains(&node);
        let mut software = self.software.to_vec();
        software.extend(self.nodes().into_iter().filter(|node| !is_there(node)));
        let mut text = format!(
            "crossdock: 1\nprocesses: {{ drive: {{ executors: [ {{ mode: chain, nodes: [{}] }} ] }} }}\nfabrics: \
             {{ board: {{ nodes: [{}] }} }}\ntopics:\n",
            software.join(", "),
            hardware.join(", ")
        );
        let mut inside = Vec::new();
        for (topic, publisher, subscribers) in self.topics() {
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
}

#[test]
fn any_nodes_of_a_driving_graph_may_be_in_hardware_whatever_the_camera() {
    let run = Run::new("subsets");
    for of in [STRIPES, ON_HIGHWAYS] {
        let all = of.nodes();
        for number in 1..1 << all.len() {
            let nodes = all.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
            let nodes: Vec<&str> = nodes.map(|(_, node)| *node).collect();
            let mapping = written(&run, "subset.mapping.yaml", &of.placed(&nodes).0);
            let words = ["check", of.graph, "--mapping", &mapping, "--json"];
            let plan = run.json(&[&words, of.params].concat());
            let found = plan["fabrics"][0]["nodes"].as_array().map(Vec::len);
            assert_eq!(found, Some(nodes.len()), "{nodes:?}: {plan:#}");
        }
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
        let (mapping, inside) = STRIPES.placed(nodes);
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
