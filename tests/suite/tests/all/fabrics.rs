//! Graphs with nodes in hardware as a user runs them: the mapping alone places a node, its results
//! are those of its software twin, and everything that works on topics works with it.

mod control;
mod courses;
mod refused_pictures;
mod set_ups;

use crossdock_suite::{Run, Running, until};
use crossdock_test_support::{hardware_tools, long, shared, skip, workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

const COURSE: &str = "apps/autorace/course.graph.yaml";
const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";
const CAMERA: &str = "apps/image_pipeline/camera.graph.yaml";
const CAMERA_STREAMED: &str = "apps/image_pipeline/camera.streamed.mapping.yaml";
const COMPENSATED: &str = "/camera/image_compensated";
/// Between blur, planner and polyfit: inside the fabric if they are.
const INSIDE: [&str; 2] = ["/camera/image_blurred", "/lane/view"];
const SNAPSHOT: &str = "/camera/snapshot";

/// `crossdock ARGUMENTS` with the tools that build boards, and boards kept from test to test.
fn crossdock(run: &Run, arguments: &[&str]) -> Command {
    let mut command = run.crossdock(arguments);
    command.env("CROSSDOCK_TOOLS", hardware_tools());
    command.env("CROSSDOCK_CACHE", workspace().join("target/hw/cache"));
    command
}

/// Among the arguments of [`drive`]: without `--rate max`.
const IN_REAL_TIME: &str = "in real time";

/// Runs a graph and gives its summary, and the payloads of every topic of the recording that it
/// made.
fn drive(name: &str, arguments: &[&str]) -> (Value, BTreeMap<String, Vec<Vec<u8>>>) {
    drive_in(&Run::new(name), arguments)
}

/// The same where others have met before.
fn drive_in(run: &Run, arguments: &[&str]) -> (Value, BTreeMap<String, Vec<Vec<u8>>>) {
    let out = run.file("drive.mcap");
    let mut all = vec!["run"];
    all.extend(arguments);
    if !arguments.contains(&IN_REAL_TIME) {
        all.extend(["--rate", "max"]);
    }
    all.retain(|word| *word != IN_REAL_TIME);
    all.extend(["--json", "--record", out.to_str().expect("UTF-8")]);
    let output = crossdock(run, &all).output().expect("crossdock starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{all:?}: {errors}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["ok"], true, "{summary:#}");
    for topic in summary["topics"].as_array().expect("topics") {
        for (cause, count) in topic["losses"].as_object().expect("losses") {
            assert_eq!(count, 0, "{} lost messages: {cause}", topic["topic"]);
        }
    }
    (summary, recorded(&out))
}

/// The payloads of every topic of a recording.
fn recorded(bag: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let bytes = std::fs::read(bag).expect("the recording");
    let mut topics: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("MCAP") {
        let message = message.expect("a message");
        topics.entry(message.channel.topic.clone()).or_default().push(message.data.into_owned());
    }
    topics
}

/// A file of the test's own; its name.
fn written(run: &Run, name: &str, text: &str) -> String {
    let path = run.file(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

/// The mapping in one chain and this one, with hardware, give the same messages on all topics but
/// those inside the fabric; the summary of the one with hardware, and the messages.
fn the_mapping_does_not_matter(
    graph: &str,
    [name, kind]: [&str; 2],
    inside: &[&str],
    arguments: &[&str],
) -> (Value, BTreeMap<String, Vec<Vec<u8>>>) {
    let mapped = |kind: &str| {
        let mapping = format!("apps/autorace/{name}.{kind}.mapping.yaml");
        let all = [&[graph, "--mapping", &mapping], arguments].concat();
        drive(&format!("{name}_{kind}"), &all)
    };
    let (_, mut software) = mapped("chain");
    assert!(software[COMPENSATED].len() >= 5, "too few pictures to say anything");
    for topic in inside {
        assert!(software.remove(*topic).is_some(), "{topic}");
    }
    let (summary, hardware) = mapped(kind);
    let count = |topics: &BTreeMap<String, Vec<Vec<u8>>>| -> BTreeMap<String, usize> {
        topics.iter().map(|(topic, messages)| (topic.clone(), messages.len())).collect()
    };
    assert_eq!(count(&software), count(&hardware));
    for (topic, messages) in &software {
        let first = messages.iter().zip(&hardware[topic]).position(|(a, b)| a != b);
        assert_eq!(first, None, "{topic}: the first message that differs");
    }
    (summary, hardware)
}

/// How many messages have a byte that is not 0 among so many behind their header.
fn flagged(messages: &[Vec<u8>], flags: usize) -> usize {
    // CDR: they stand behind the stamp and the frame's name.
    let is_flagged = |message: &&Vec<u8>| {
        let length = u32::from_le_bytes(message[12..16].try_into().expect("four bytes"));
        message[16 + length as usize..][..flags].iter().any(|it| *it != 0)
    };
    messages.iter().filter(is_flagged).count()
}

/// How many messages of lights say that one is seen.
fn lit(messages: &[Vec<u8>]) -> usize {
    flagged(messages, 1)
}

#[test]
fn the_course_is_driven_the_same_with_all_nodes_from_picture_to_command_in_hardware() {
    let duration = if long() { "10" } else { "0.5" };
    let arguments = ["--duration", duration];
    let mapping = ["course", "hardware"];
    let (summary, _) = the_mapping_does_not_matter(COURSE, mapping, &INSIDE, &arguments);
    let topic = |name: &str| {
        let topics = summary["topics"].as_array().expect("topics");
        topics.iter().find(|topic| topic["topic"] == name).expect("the topic").clone()
    };
    let images = count(&topic(COMPENSATED)["messages"]);
    // Nobody copies but the recorder: into the chunk that it compresses.
    assert_eq!(topic(COMPENSATED)["copies"], images);
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = |key: &str| gateways.iter().map(|gateway| count(&gateway[key])).sum::<u64>();
    // Down the raw picture and both lights; up the compensated one, the lane and the command.
    assert_eq!((of("down"), of("up")), (3 * images, 3 * images), "{summary:#}");
    assert_eq!(of("down_refused") + of("up_refused") + of("up_timed_out"), 0, "{summary:#}");
    // Each message crossed host memory once each way: its payload, and not a beat per segment more.
    let fabric = &summary["fabrics"][0];
    let read = count(&fabric["bytes_read"]);
    assert!(read >= of("down_bytes") && read < of("down_bytes") + 3 * 64 * images, "{summary:#}");
    let header_bytes = 24;
    assert_eq!(count(&fabric["bytes_written"]), of("up_bytes") + header_bytes * 3 * images);
    assert_eq!(fabric["refused"], 0, "{summary:#}");
    // Measured spans go on through hardware.
    for chain in summary["chains"].as_array().expect("chains") {
        assert!(count(&chain["count"]) >= images - 1, "{chain:#}");
    }
}

/// The mapping with hardware of a graph, for runs that wait for it.
fn waiting(run: &Run, name: &str) -> String {
    let path = workspace().join(format!("apps/autorace/{name}.hardware.mapping.yaml"));
    let text = std::fs::read_to_string(path).expect("the mapping");
    let nodes = text.find("  board: { nodes: [").expect("the fabric");
    let end = nodes + text[nodes..].find(" }").expect("its end");
    let slow = format!("{}, on_lag: slow_time{}", &text[..end], &text[end..]);
    written(run, "slow.mapping.yaml", &slow)
}

#[test]
fn a_board_that_cannot_keep_up_with_real_time_ends_the_run_at_once_or_is_waited_for() {
    // A picture takes several times as long in the simulation as the camera gives it.
    let run = Run::new("course_too_slow");
    let mapping = "apps/autorace/course.hardware.mapping.yaml";
    let output =
        crossdock(&run, &["run", COURSE, "--mapping", mapping, "--duration", "60"]).output();
    let output = output.expect("crossdock starts");
    let [said, errors] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(!output.status.success(), "{said}{errors}");
    assert!(said.contains("fabric `board` cannot keep up with real time"), "{said}{errors}");
    assert!(said.contains("`on_lag: slow_time`"), "{said}");
    assert!(!said.contains("has not ended a message"), "a node is blamed for the end: {said}");

    let mapping = waiting(&run, "course");
    let arguments = [COURSE, "--duration", "0.4", "--mapping"];
    let chain = "apps/autorace/course.chain.mapping.yaml";
    let (_, mut software) = drive("course_paced", &[&arguments[..], &[chain]].concat());
    INSIDE.iter().for_each(|topic| _ = software.remove(*topic));
    let slow = [&arguments[..], &[&mapping, IN_REAL_TIME]].concat();
    let (_, hardware) = drive("course_slow", &slow);
    assert!(software[COMPENSATED].len() >= 5);
    assert!(software == hardware, "not the messages of software");
}

#[test]
#[ignore = "long: a recording through a board"]
fn a_recording_that_is_played_in_real_time_waits_for_a_board_that_is_told_to_be_waited_for() {
    let Some(shared) = shared() else { return };
    let run = Run::new("highway_slow");
    let mapping = waiting(&run, "highway");
    let bag = shared.join("data/autorace_sim/autorace_a_15hz");
    let params = "apps/autorace/params/autorace.yaml";
    let bag = bag.to_str().expect("UTF-8");
    let input = ["--input", bag, "--params", params, "--duration", "1", "--mapping"];
    let in_software = "apps/autorace/highway.chain.mapping.yaml";
    let (_, software) = drive("highway_max", &[&[HIGHWAY], &input[..], &[in_software]].concat());
    let slow = [&[HIGHWAY], &input[..], &[&mapping, IN_REAL_TIME]].concat();
    let (_, hardware) = drive("highway_waits", &slow);
    assert!(!hardware.is_empty());
    for (topic, messages) in &hardware {
        assert!(*messages == software[topic], "{topic}");
    }
}

#[test]
#[ignore = "long: a board with seven nodes"]
fn the_course_is_driven_the_same_with_the_whole_driving_graph_on_a_board() {
    let arguments = ["--duration", "6"];
    let mapping = ["course", "board"];
    let (summary, topics) = the_mapping_does_not_matter(COURSE, mapping, &INSIDE, &arguments);
    // It comes near the first light, which turns from green to red.
    let lit = ["/traffic_light/red", "/traffic_light/green"].map(|it| lit(&topics[it]));
    assert!(lit.iter().all(|it| *it >= 5), "{lit:?}");
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = |key: &str| gateways.iter().map(|gateway| count(&gateway[key])).sum::<u64>();
    let images = of("down");
    // Down the raw picture alone; up the compensated one, the lane, both lights and the command.
    assert!(images >= 89, "{summary:#}");
    assert_eq!(of("up"), 5 * images, "{summary:#}");
    assert_eq!(of("down_refused") + of("up_refused") + of("up_timed_out"), 0, "{summary:#}");
}

#[test]
fn a_recording_gives_the_same_lights_with_compensation_and_blur_in_hardware() {
    let Some(shared) = shared() else { return };
    let bag = shared.join("data/autorace_sim/autorace_a_15hz");
    let bag = bag.to_str().expect("UTF-8");
    let duration = if long() { "5" } else { "0.4" };
    let params = "apps/autorace/params/autorace.yaml";
    // The module has this parameter in another unit.
    let clip = ["-p", "compensation.clip_percent:=2.5"];
    let arguments = ["--input", bag, "--params", params, "--duration", duration];
    let arguments = [&arguments[..], &clip].concat();
    the_mapping_does_not_matter(HIGHWAY, ["highway", "hardware"], &[], &arguments);
}

#[test]
#[ignore = "long: a board of five nodes at topics in host memory"]
fn topics_in_host_memory_reach_hardware_without_a_shared_gateway() {
    let run = Run::new("fabric_direct");
    let text =
        std::fs::read_to_string(workspace().join("apps/autorace/course.hardware.mapping.yaml"));
    let text = text.expect("the mapping").replace("gateway }", "software }");
    let mapping = written(&run, "direct.mapping.yaml", &text);
    let duration = ["--duration", "0.4"];
    let direct = [&[COURSE, "--mapping", &mapping], &duration[..]].concat();
    let (summary, hardware) = drive("fabric_direct_hardware", &direct);
    let (_, software) = drive("fabric_direct_software", &[&[COURSE], &duration[..]].concat());
    assert_eq!(hardware[COMPENSATED], software[COMPENSATED]);
    assert_eq!(hardware["/cmd_vel"], software["/cmd_vel"]);
    // Eight ports of nodes at topics in host memory; two topics are inside the fabric.
    assert_eq!(summary["gateways"].as_array().map(Vec::len), Some(8), "{summary:#}");
}

#[test]
fn a_parameter_that_a_module_refuses_ends_the_run_with_the_modules_words() {
    let run = Run::new("fabric_refused");
    // Sides of pictures are a pair, which no range of one of them says.
    let given = ["--mapping", CAMERA_STREAMED, "--rate", "max", "-p", "ResizeNode.width:=9"];
    let output = run.output(&[&["run", CAMERA][..], &given].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    let reason = "TO_WIDTH and TO_HEIGHT are both 0 or both not";
    for wanted in
        ["modules refuse their parameters", "resize_picture.sv", "u_node__ResizeNode", reason]
    {
        assert!(said.contains(wanted), "{wanted} is not in {said}");
    }
}

#[test]
#[ignore = "long: a board of its own"]
fn a_light_alone_in_hardware_hands_over_to_the_other_in_software() {
    let run = Run::new("fabric_light");
    let mapping = "crossdock: 1\nprocesses: { drive: { executors: [ { mode: chain, nodes: [simulator, \
                   compensation, blur, planner, polyfit, red_light, control, lights, features, \
                   snapshot] } ] } }\nfabrics: { board: { nodes: [green_light] } }\ntopics:\n  \
                   /camera/image_compensated: { mapping: gateway }\n  /traffic_light/red: { mapping: \
                   gateway }\n  /traffic_light/green: { mapping: gateway }\n";
    let mapping = written(&run, "light.mapping.yaml", mapping);
    let duration = ["--duration", "6"];
    let placed = [&[COURSE, "--mapping", &mapping], &duration[..]].concat();
    let (_, hardware) = drive("fabric_light_hardware", &placed);
    let (_, software) = drive("fabric_light_software", &[&[COURSE], &duration[..]].concat());
    for topic in ["/traffic_light/green", "/traffic_light/red", "/cmd_vel"] {
        assert!(hardware[topic].len() >= 89, "{topic}");
        assert!(hardware[topic] == software[topic], "{topic}");
    }
    assert!(lit(&hardware["/traffic_light/green"]) >= 5, "it comes near the first light");
}

/// Pictures of the course, about one in two simulated seconds.
fn pictures(run: &Run) -> String {
    let bag = run.file("pictures.mcap").to_str().expect("UTF-8").to_owned();
    let arguments = ["run", COURSE, "--rate", "max", "--duration", "5", "--record", &bag];
    let output = run.output(&[&arguments[..], &["--topics", "/camera/snapshot"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bag
}

/// A topic of pictures of so many bytes at most.
fn topic(data_bytes: usize, more: &str) -> String {
    let bounds = format!("bounds: {{ data: {data_bytes}, header.frame_id: 32, encoding: 16 }}");
    format!("{{ type: sensor_msgs/msg/Image, {more}{bounds} }}")
}

/// A hardware node that inverts pictures.
fn invert(name: &str, from: &str, to: &str) -> String {
    format!(
        "  {name}: {{ package: pictures, type: invert, inputs: {{ image: {from} }}, outputs: {{ inverted: \
         {to} }} }}\n"
    )
}

/// The package that [`invert`] names, for pictures of the course, beside the graph.
fn with_pictures_package(run: &Run) {
    let from = workspace().join("crates/fabric/tests/pictures");
    let package = std::fs::read_to_string(from.join("pictures.hardware.yaml")).expect("a package");
    let package =
        package.replace("data: 50000", "data: 921600").replace("data: 40000", "data: 921600");
    written(run, "hardware/pictures.hardware.yaml", &package);
    for source in ["rtl/invert_picture.sv", "rtl/invert_bytes.sv"] {
        let text = std::fs::read_to_string(from.join(source)).expect("a source");
        written(run, &format!("hardware/{source}"), &text);
    }
}

/// A graph whose two nodes invert pictures, each in a fabric of its own; those that come from
/// outside have so many bytes at most.
fn inverting_twice(run: &Run, data_bytes: usize) -> [String; 2] {
    with_pictures_package(run);
    let (external, topic) = (topic(data_bytes, "external: true, "), topic(921_600, ""));
    let graph = format!(
        "crossdock: 1\nname: twice\ntopics:\n  /camera/snapshot: {external}\n  /once: {topic}\n  \
         /twice: {topic}\nnodes:\n{}{}",
        invert("first", "/camera/snapshot", "/once"),
        invert("second", "/once", "/twice")
    );
    let mapping = "crossdock: 1\nprocesses: {}\nfabrics:\n  east: { nodes: [first] }\n  west: { nodes: \
                   [second] }\ntopics:\n  /camera/snapshot: { mapping: gateway }\n  /once: { mapping: \
                   gateway }\n  /twice: { mapping: gateway }\n";
    [written(run, "g.yaml", &graph), written(run, "m.yaml", mapping)]
}

#[test]
fn a_topic_with_publishers_and_subscribers_on_both_sides_reaches_each_once() {
    let run = Run::new("fabric_mixed");
    let bag = pictures(&run);
    with_pictures_package(&run);
    let (external, topic) = (topic(921_600, "external: true, "), topic(921_600, ""));
    let graph = format!(
        "crossdock: 1\nname: mixed\ntopics:\n  /camera/snapshot: {external}\n  /mixed: {topic}\n  \
         /out: {topic}\nnodes:\n{}{}  pass: {{ package: autorace, type: snapshot, inputs: {{ image: \
         /camera/snapshot }}, outputs: {{ snapshot: /mixed }}, parameters: {{ every: 1 }} }}\n",
        invert("first", "/camera/snapshot", "/mixed"),
        invert("second", "/mixed", "/out")
    );
    let mapping = "crossdock: 1\nprocesses: { soft: { executors: [ { mode: chain, nodes: [pass] } ] } }\n\
                   fabrics: { board: { nodes: [first, second] } }\ntopics:\n  /camera/snapshot: { \
                   mapping: gateway }\n  /mixed: { mapping: gateway }\n  /out: { mapping: gateway }\n";
    let (graph, mapping) = (written(&run, "g.yaml", &graph), written(&run, "m.yaml", mapping));
    let arguments = [graph.as_str(), "--mapping", &mapping, "--input", &bag];
    let (summary, topics) = drive("fabric_mixed_run", &arguments);
    // Of every picture one as it is, from software, and one inverted, from hardware.
    let inverted = |picture: &Vec<u8>| {
        let at = picture.len() - 640 * 480 * 3;
        let bytes = picture.iter().enumerate();
        bytes.map(|(index, byte)| if index < at { *byte } else { !*byte }).collect::<Vec<u8>>()
    };
    let sorted = |mut pictures: Vec<Vec<u8>>| {
        pictures.sort();
        pictures
    };
    let mixed = sorted(topics["/mixed"].clone());
    assert!(mixed.len() > 2 && mixed.len().is_multiple_of(2));
    // It is closed under inversion, and so is what comes out of it: each message went through once.
    assert_eq!(sorted(mixed.iter().map(inverted).collect()), mixed);
    assert_eq!(sorted(topics["/out"].clone()), mixed);
    // Down comes what software has published, up what hardware has: nothing both ways.
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = gateways.iter().find(|it| it["topic"] == "/mixed").expect("a gateway");
    let each = mixed.len() as u64 / 2;
    assert_eq!((count(&of["down"]), count(&of["up"])), (each, each), "{summary:#}");
}

#[test]
fn a_topic_between_two_fabrics_passes_host_memory_and_comes_out_whole() {
    let run = Run::new("two_fabrics");
    let bag = pictures(&run);
    let [graph, mapping] = inverting_twice(&run, 921_600);
    let arguments = [graph.as_str(), "--mapping", &mapping, "--input", &bag];
    let (summary, topics) = drive("two_fabrics_run", &arguments);
    let pictures = &recorded(Path::new(&bag))[SNAPSHOT];
    assert!(pictures.len() > 1);
    assert_eq!(&topics["/twice"], pictures, "inverted twice");
    assert_ne!(&topics["/once"], pictures, "inverted once");
    assert_eq!(summary["fabrics"].as_array().map(Vec::len), Some(2), "{summary:#}");
}

#[test]
fn a_message_beyond_the_bounds_of_its_topic_ends_the_run_with_what_is_too_long() {
    let run = Run::new("fabric_bounds");
    let bag = pictures(&run);
    let [graph, mapping] = inverting_twice(&run, 1000);
    let arguments =
        ["run", &graph, "--mapping", &mapping, "--input", &bag, "--rate", "max", "--json"];
    let output = crossdock(&run, &arguments).output().expect("crossdock starts");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(1), "{summary:#}");
    let said = summary["end"].as_str().expect("why it ended");
    for part in [
        "a message of /camera/snapshot cannot enter hardware",
        "field `data` holds 921600 elements, but hardware has room for 1000",
        "raise this bound of the topic in the graph file",
    ] {
        assert!(said.contains(part), "`{part}` is missing in: {said}");
    }
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = |topic: &str| gateways.iter().find(|it| it["topic"] == topic).expect("a gateway");
    assert_eq!((&of("/twice")["up"], &of("/camera/snapshot")["down"]), (&0.into(), &0.into()));
}

#[test]
fn what_hardware_cannot_take_at_the_end_of_a_recording_still_ends_the_run_with_its_reason() {
    let run = Run::new("fabric_last");
    let bag = pictures(&run);
    let last = run.file("last.mcap");
    let last = last.to_str().expect("UTF-8");
    // One picture: the recording has been played before the board has looked at it.
    let cut = run.output(&["bag", "cut", &bag, "-o", last, "--end", "0.1"]);
    assert!(cut.status.success(), "{}", String::from_utf8_lossy(&cut.stderr));
    assert_eq!(recorded(Path::new(last))[SNAPSHOT].len(), 1);
    let [graph, mapping] = inverting_twice(&run, 1000);
    let arguments = ["run", &graph, "--mapping", &mapping, "--input", last, "--json"];
    let output = crossdock(&run, &arguments).output().expect("crossdock starts");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(1), "{summary:#}");
    let said = summary["end"].as_str().expect("why it ended");
    assert!(said.contains("a message of /camera/snapshot cannot enter hardware"), "{summary:#}");
}

/// A folder in which processes of another user and ours meet.
fn meeting_of_two_users(run: &Run) -> String {
    let meeting = run.file("meeting");
    std::fs::create_dir(&meeting).expect("a folder");
    chown(&meeting, Some(0), Some(GROUP)).expect("we are root");
    let all_of_the_group = std::fs::Permissions::from_mode(0o2770);
    std::fs::set_permissions(&meeting, all_of_the_group).expect("our own folder");
    meeting.to_str().expect("UTF-8").to_owned()
}

/// A group that no machine has.
const GROUP: u32 = 64_101;

#[test]
fn hardware_reads_a_strangers_pictures_in_copies_of_its_host_and_they_are_counted() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can start processes of other users");
    }
    let run = Run::new("fabric_stranger");
    let bag = pictures(&run);
    let [graph, mapping] = inverting_twice(&run, 921_600);
    let meeting = meeting_of_two_users(&run);
    let own_command = run.file("crossdock");
    std::fs::copy(crossdock_suite::binaries().join("crossdock"), &own_command).expect("room");
    let out = run.file("out.mcap").to_str().expect("UTF-8").to_owned();

    let arguments = ["run", &graph, "--mapping", &mapping, "--json", "--record", &out];
    // Nothing else is recorded: the recorder copies what it takes, too.
    let mut command = crossdock(&run, &[&arguments[..], &["--topics", "/twice"]].concat());
    command.env("CROSSDOCK_RENDEZVOUS", &meeting);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = Running::spawn(command);
    let mut player = Command::new("setpriv");
    player.args(["--reuid", "daemon", "--regid", &GROUP.to_string(), "--clear-groups"]);
    player.arg(&own_command).args(["bag", "play", &bag, "--loop"]).current_dir("/");
    player.env("CROSSDOCK_RENDEZVOUS", &meeting).env_remove("ROS_DOMAIN_ID");
    player.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    let player = Running::spawn(player);
    until("pictures that went through both fabrics", || {
        let mut list = run.crossdock(&["topic", "list", "--json"]);
        let list = list.env("CROSSDOCK_RENDEZVOUS", &meeting).output().expect("crossdock starts");
        let list: Value = serde_json::from_slice(&list.stdout).unwrap_or_default();
        let rows = list.as_array().map(Vec::as_slice).unwrap_or_default();
        rows.iter().any(|row| row["topic"] == "/twice" && row["messages"].as_u64() > Some(4))
    });
    running.interrupt();
    let (status, summary) = running.end();
    assert_eq!(status.code(), Some(0), "{summary}");
    player.interrupt();
    let _ = player.end();

    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = gateways.iter().find(|it| it["topic"] == "/camera/snapshot").expect("a gateway");
    assert!(count(&of["down"]) > 4 && of["down_refused"] == 0, "{summary:#}");
    let topics = summary["topics"].as_array().expect("topics");
    let of = |name: &str| topics.iter().find(|it| it["topic"] == name).expect("the topic");
    assert!(count(&of("/camera/snapshot")["copies"]) >= count(&of("/once")["messages"]));
    let played = &recorded(Path::new(&bag))[SNAPSHOT];
    let twice = &recorded(Path::new(&out))["/twice"];
    assert!(twice.len() > 4 && twice.iter().all(|it| played.contains(it)), "inverted twice");
}

/// A node that sends, on the first picture, five numbers each of which has another fault and half a
/// message, and drops all later pictures.
const FAULTY: &str =
    "// Sends numbers that are right, short, over-long, over the bound, and none whole; and half a one.
module faulty (
  input  wire        clk, rst,
  input  wire [63:0] s_axis_image_tdata,
  input  wire [7:0]  s_axis_image_tkeep,
  input  wire        s_axis_image_tlast, s_axis_image_tuser, s_axis_image_tvalid,
  output wire        s_axis_image_tready,
  output wire [63:0] m_axis_number_tdata,
  output wire [7:0]  m_axis_number_tkeep,
  output wire        m_axis_number_tlast, m_axis_number_tuser, m_axis_number_tvalid,
  input  wire        m_axis_number_tready,
  input  wire [15:0] number_publisher_id,
  output wire [63:0] m_axis_half_tdata,
  output wire [7:0]  m_axis_half_tkeep,
  output wire        m_axis_half_tlast, m_axis_half_tuser, m_axis_half_tvalid,
  input  wire        m_axis_half_tready,
  input  wire [15:0] half_publisher_id,
  output wire        dropped,
  output wire        busy
);
  logic       begun, halved;
  logic [2:0] frame, beat;
  wire        came = s_axis_image_tvalid && s_axis_image_tlast;
  wire        silent = frame == 3'd4 && beat == 3'd2;
  wire [2:0]  ends = frame == 3'd1 ? 3'd2 : frame == 3'd2 ? 3'd5 : 3'd3;
  wire [31:0] length = frame == 3'd3 ? 32'd4096 : 32'd4;
  wire        unused = &{1'b0, s_axis_image_tdata, s_axis_image_tkeep, s_axis_image_tuser};
  assign s_axis_image_tready = 1'b1;
  assign m_axis_number_tdata = beat == 3'd0 ? {length, number_publisher_id, 16'd1} : 64'(frame);
  assign m_axis_number_tkeep = m_axis_number_tlast && frame == 3'd0 ? 8'h0f : 8'hff;
  assign m_axis_number_tlast = beat == ends;
  assign m_axis_number_tuser = 1'b0;
  assign m_axis_number_tvalid = begun && !silent;
  assign m_axis_half_tdata = {32'd4, half_publisher_id, 16'd1};
  assign m_axis_half_tkeep = 8'hff;
  assign {m_axis_half_tlast, m_axis_half_tuser} = 2'b00;
  assign m_axis_half_tvalid = begun && !halved;
  assign dropped = came && begun;
  assign busy = m_axis_number_tvalid || m_axis_half_tvalid;
  always_ff @(posedge clk) begin
    if (came) begun <= 1'b1;
    if (m_axis_half_tvalid && m_axis_half_tready) halved <= 1'b1;
    if (m_axis_number_tvalid && m_axis_number_tready) begin
      beat <= m_axis_number_tlast ? 3'd0 : beat + 3'd1;
      frame <= m_axis_number_tlast ? frame + 3'd1 : frame;
    end
    if (rst) begin
      begun <= 1'b0;
      halved <= 1'b0;
      beat <= 3'd0;
      frame <= 3'd0;
    end
  end
endmodule
";

#[test]
fn what_hardware_cuts_ends_or_drops_is_told_at_the_end() {
    let run = Run::new("fabric_counts");
    let bag = pictures(&run);
    let package = "crossdock: 1\npackage: faults\nnodes:\n  faulty:\n    sources: [faulty.sv]\n    drops: true\n    \
                   inputs: { image: { type: sensor_msgs/msg/Image, bounds: { data: 921600, header.frame_id: 32, \
                   encoding: 16 } } }\n    outputs: { number: { type: std_msgs/msg/UInt32 }, half: { type: \
                   std_msgs/msg/UInt32 } }\n";
    written(&run, "hardware/faults.hardware.yaml", package);
    written(&run, "hardware/faulty.sv", FAULTY);
    let graph = "crossdock: 1\nname: faults\ntopics:\n  /camera/snapshot: { type: sensor_msgs/msg/Image, external: true, \
                 bounds: { data: 921600, header.frame_id: 32, encoding: 16 } }\n  /number: { type: \
                 std_msgs/msg/UInt32 }\n  /half: { type: std_msgs/msg/UInt32 }\nnodes:\n  broken: { package: \
                 faults, type: faulty, inputs: { image: /camera/snapshot }, outputs: { number: /number, \
                 half: /half } }\n";
    let mapping = "crossdock: 1\nprocesses: {}\nfabrics: { board: { nodes: [broken] } }\ntopics:\n  \
                   /camera/snapshot: { mapping: gateway }\n  /number: { mapping: gateway, check: true, \
                   watchdog_cycles: 1024 }\n  /half: { mapping: gateway }\n";
    let graph = written(&run, "g.yaml", graph);
    let mapping = written(&run, "m.yaml", mapping);
    let arguments =
        ["run", &graph, "--mapping", &mapping, "--input", &bag, "--rate", "max", "--json"];
    let output = crossdock(&run, &arguments).output().expect("crossdock starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let gateways = summary["gateways"].as_array().expect("gateways");
    let of = |topic: &str| gateways.iter().find(|it| it["topic"] == topic).expect("a gateway");
    let pictures = count(&of("/camera/snapshot")["down"]);
    assert!(pictures > 1, "{summary:#}");
    // The short one, the cut one and the ended one go on as damaged.
    assert_eq!((&of("/number")["up"], &of("/number")["up_refused"]), (&1.into(), &3.into()));
    let counts = summary["fabrics"][0]["counts"].as_array().expect("counts");
    let found: BTreeMap<&str, (u64, &str)> = counts
        .iter()
        .map(|it| (it["what"].as_str().expect("what"), it))
        .map(|(what, it)| (what, (count(&it["count"]), it["of"].as_str().expect("whose"))))
        .collect();
    let expected = [
        ("short", (1, "/number")),
        ("over_long", (1, "/number")),
        ("over_bound", (1, "/number")),
        ("silent", (1, "/number")),
        ("dead", (1, "/number")),
        ("dropped", (pictures - 1, "broken")),
        ("unended", (1, "/half")),
    ];
    assert_eq!(found, BTreeMap::from(expected), "{summary:#}");
    let notes: Vec<&str> =
        summary["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    let told = |parts: [&str; 3]| {
        let is_told = |note: &&&str| parts.iter().all(|part| note.contains(part));
        assert_eq!(notes.iter().filter(is_told).count(), 1, "{parts:?} in {notes:#?}");
    };
    told(["fabric `board` dropped 1 message of /number", "`bounds`", "broken.number"]);
    told(["ended 1 message of /number", "fell silent", "`watchdog_cycles`"]);
    told(["broken.number has not delivered", "/number", "`board`"]);
    told(["broken.half", "has not ended a message of /half", "`tlast`"]);
    told(["node `broken`", &format!("dropped {} message", pictures - 1), "faulty of faults"]);
}

/// The host of a fabric among the processes that `crossdock run` has started.
fn host_of(run: &Running) -> Pid {
    let parent = format!("PPid:\t{}\n", run.id());
    let entries = std::fs::read_dir("/proc").expect("proc").flatten();
    let host = entries.filter_map(|entry| {
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let command = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let is_host = status.contains(&parent) && command.contains("host-fabric");
        is_host.then(|| entry.file_name().to_string_lossy().parse::<i32>().ok()).flatten()
    });
    let pids: Vec<i32> = host.collect();
    assert_eq!(pids.len(), 1, "one host");
    Pid::from_raw(pids[0]).expect("a process id")
}

#[test]
fn hardware_is_seen_from_outside_and_its_end_takes_down_the_run_and_nothing_else() {
    let run = Run::new("fabric_killed");
    let mapping = "apps/autorace/course.hardware.mapping.yaml";
    // The board is built now, for as long as that takes.
    let short = [COURSE, "--mapping", mapping, "--duration", "0.3"];
    let (_, before) = drive("fabric_killed_built", &short);
    let arguments = ["run", COURSE, "--mapping", mapping, "--rate", "max"];
    let mut command = crossdock(&run, &arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = Running::spawn(command);
    until("pictures of hardware", || run.published(COMPENSATED) > 1);
    let echoed = run.json(&["topic", "echo", COMPENSATED, "--once", "--json"]);
    let message = echoed.get("message").unwrap_or(&echoed);
    assert_eq!((&message["height"], &message["encoding"]), (&480.into(), &"rgb8".into()));
    let info = run.output(&["topic", "info", COMPENSATED]);
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(info.contains("gateways_board"), "{info}");
    let nodes = run.json(&["node", "list", "--json"]);
    let is_blur = |node: &&Value| node["node"] == "blur";
    let blur = nodes.as_array().and_then(|nodes| nodes.iter().find(is_blur)).expect("a node");
    assert_eq!(blur["type"], "autorace/gaussian_blur", "{blur:#}");
    assert_eq!((&blur["process"], &blur["executor"]), (&"board".into(), &Value::Null), "{blur:#}");

    kill_process(host_of(&running), Signal::KILL).expect("a signal");
    let (status, told) = running.end();
    assert_eq!(status.code(), Some(1), "{told}");
    for part in
        ["process `board`", "died", "SIGKILL", "fabric `board`, which it hosts", COMPENSATED]
    {
        assert!(told.contains(part), "`{part}` is missing in: {told}");
    }
    let inside = told.lines().find(|line| line.starts_with("/lane/view ")).expect("a row");
    assert!(inside.contains(" - ") && inside.ends_with("in hardware"), "{told}");
    let list = run.output(&["topic", "list"]);
    let list = String::from_utf8_lossy(&list.stderr).into_owned();
    assert!(list.contains("no graph is running"), "{list}");

    // What was under way leaves nothing behind.
    let (_, after) = drive_in(&run, &short);
    assert!(before[COMPENSATED].len() > 1, "too few pictures to say anything");
    let first = before.iter().find(|(topic, messages)| after.get(*topic) != Some(messages));
    assert_eq!(first.map(|(topic, _)| topic), None, "the next run publishes something else");
}

#[test]
fn what_hardware_cannot_do_is_refused_before_anything_starts() {
    let run = Run::new("fabric_refused");
    let text =
        std::fs::read_to_string(workspace().join("apps/autorace/course.hardware.mapping.yaml"));
    let text = text.expect("the mapping");
    let refused = |name: &str, mapping: &str, arguments: &[&str], told: &[&str]| {
        let path = written(&run, name, mapping);
        let all = [&["run", COURSE, "--mapping", &path, "--rate", "max"], arguments].concat();
        let output = crossdock(&run, &all).output().expect("crossdock starts");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        for part in told {
            assert!(errors.contains(part), "{name}: `{part}` is missing in: {errors}");
        }
    };
    let without =
        text.replace("features, ", "").replace("[compensation, ", "[features, compensation, ");
    let software = ["node `features`", "does not exist in hardware", "autorace.hardware.yaml"];
    refused("no_hardware", &without, &[], &software);
    let inside = text.replace(
        "/camera/image_compensated: { mapping: gateway }",
        "/camera/image_compensated: { mapping: hardware }",
    );
    refused("not_inside", &inside, &[], &["node `red_light`", "hardware-mapped", "`gateway`"]);
    let twice = text.replace("board:", "drive:");
    refused("same_name", &twice, &[], &["a process and a fabric are both called `drive`"]);
    let told =
        ["`interpolation` would have no effect", "`width`, `height`, `max_width` and `max_bytes`"];
    let area =
        ["check", CAMERA, "--mapping", CAMERA_STREAMED, "-p", "ResizeNode.interpolation:=area"];
    let errors = run.output(&area).stderr;
    let errors = String::from_utf8_lossy(&errors);
    assert!(told.iter().all(|part| errors.contains(part)), "{errors}");
    let told = ["parameter `gate` of `polyfit` in hardware must be 10 to 160"];
    refused("range", &text, &["-p", "polyfit.gate:=500"], &told);

    // What has no time that could wait, is right only with a recording.
    let mapping = waiting(&run, "highway");
    let of_highway = |command: &str| {
        crossdock(&run, &[command, HIGHWAY, "--mapping", &mapping])
            .output()
            .expect("crossdock starts")
    };
    let checked = of_highway("check");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let errors = String::from_utf8_lossy(&of_highway("run").stderr).into_owned();
    assert!(errors.contains("needs something that makes the time"), "{errors}");
}
