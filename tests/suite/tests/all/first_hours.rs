//! What a new user tries first, with the habits of ROS 2.

use crossdock_suite::{Run, binaries};
use std::process::{Command, Output};

const COURSE: &str = "apps/autorace/course.graph.yaml";
/// Part of the course: what it publishes is in a recording of the course, too.
const COMPENSATION: &str = "crossdock: 1
name: compensation
topics:
  /camera/image_raw: { max_bytes: 1000000 }
  /camera/image_compensated: { max_bytes: 1000000 }
nodes:
  compensation:
    package: autorace
    type: image_compensation
    inputs: { image: /camera/image_raw }
    outputs: { compensated: /camera/image_compensated }
";

fn said(output: &Output) -> String {
    let (out, errors) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(errors))
}

#[test]
fn a_new_package_builds_and_runs_in_one_process_and_in_two() {
    let run = Run::new("new");
    let folder = run.file("my_robot");
    let path = folder.to_str().expect("a path");
    let made = run.output(&["new", path]);
    assert!(made.status.success(), "{}", said(&made));
    let again = run.output(&["new", path]);
    assert!(said(&again).contains("name a folder that does not exist"), "{}", said(&again));
    let elsewhere = run.file("other");
    let wrong = run.output(&["new", elsewhere.to_str().expect("a path"), "--crossdock", path]);
    assert!(said(&wrong).contains("name the folder of a clone"), "{}", said(&wrong));
    assert!(!elsewhere.exists());
    let bad = run.output(&["new", run.file("My-Robot").to_str().expect("a path")]);
    assert!(said(&bad).contains("named like `my_robot`"), "{}", said(&bad));

    let built = Command::new("cargo")
        .args(["build", "--quiet"])
        .args(binaries().ends_with("release").then_some("--release"))
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", binaries().parent().expect("the target folder"))
        .env("CARGO_NET_OFFLINE", "true")
        // The profile of the tests, so that what they have built is used again.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", said(&built));
    let file = |name: &str| folder.join(name).to_str().expect("a path").to_owned();
    let (graph, mapping) = (file("my_robot.graph.yaml"), file("processes.mapping.yaml"));
    for mapped in [&[][..], &["--mapping", &mapping]] {
        let ran = run.output(&[&["run", &graph, "--duration", "1.2"], mapped].concat());
        assert!(ran.status.success(), "{}", said(&ran));
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(
            errors.contains("[INFO] [") && errors.contains("] [listener]: 1 says hello"),
            "{errors}"
        );
    }
    logs_are_filtered_and_recorded(&run, &graph);
}

/// What nodes log is shown above a level, and recorded.
fn logs_are_filtered_and_recorded(run: &Run, graph: &str) {
    let quiet = ["run", graph, "--duration", "1.2", "--log-level", "listener:=warn"];
    let ran = run.output(&quiet);
    assert!(ran.status.success() && !said(&ran).contains("says hello"), "{}", said(&ran));
    let unknown = run.output(&["run", graph, "--log-level", "nobody:=warn"]);
    assert!(said(&unknown).contains("the nodes are"), "{}", said(&unknown));
    let bag = run.file("logs.mcap");
    let record = ["run", graph, "--duration", "1.2", "--record", bag.to_str().expect("a path")];
    assert!(run.output(&record).status.success());
    let bytes = std::fs::read(&bag).expect("a recording");
    let messages = mcap::MessageStream::new(&bytes).expect("MCAP").map(|it| it.expect("a message"));
    let logs: Vec<_> = messages.filter(|it| it.channel.topic == "/rosout").collect();
    let schema = logs[0].channel.schema.as_ref().expect("a schema");
    assert_eq!(schema.name, "rcl_interfaces/msg/Log");
    assert!(logs.iter().any(|it| it.data.windows(12).any(|text| text == b"1 says hello")));
}

#[test]
fn a_shell_gets_words_to_complete() {
    let run = Run::new("completions");
    for (shell, mark) in
        [("bash", "complete -F"), ("zsh", "#compdef crossdock"), ("fish", "complete -c")]
    {
        let output = run.output(&["completions", shell]);
        assert!(output.status.success());
        assert!(said(&output).contains(mark) && said(&output).contains("mapping"), "{shell}");
    }
}

#[test]
fn fingers_that_know_ros_2_are_told_what_to_type() {
    let run = Run::new("fingers");
    for (words, answer) in [
        (&["launch", "x.py"][..], "crossdock run GRAPH"),
        (&["bag", "play", "x"], "--input BAG"),
        (&["topic", "pub", "/x", "std_msgs/msg/Bool"], "crossdock new"),
        (&["param", "set", "/n", "p", "1"], "--params FILE"),
    ] {
        let output = run.output(words);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(answer), "{words:?}: {}", said(&output));
    }
}

#[test]
fn topics_are_named_and_found_as_in_ros_2() {
    let run = Run::new("habits");
    let driving = run.start(&["run", COURSE]);
    let echo = |more: &[&str]| run.output(&[&["topic", "echo", "--once"], more].concat());
    crossdock_suite::until("a command", || run.published("/cmd_vel") > 0);
    // Without the first `/`, with a type, and in the order of the definition.
    let odom = said(&echo(&["odom", "nav_msgs/msg/Odometry"]));
    let at = |field: &str| odom.find(field).unwrap_or_else(|| panic!("{field} in {odom}"));
    assert!(at("header:") < at("child_frame_id:") && at("child_frame_id:") < at("pose:"), "{odom}");
    let other = said(&echo(&["/odom", "std_msgs/msg/Bool"]));
    assert!(other.contains("nav_msgs/msg/Odometry, not std_msgs/msg/Bool"), "{other}");
    let of = run.output(&["topic", "type", "odom"]);
    assert_eq!(String::from_utf8_lossy(&of.stdout), "nav_msgs/msg/Odometry\n");
    let found = run.output(&["topic", "find", "nav_msgs/msg/Odometry"]);
    assert_eq!(String::from_utf8_lossy(&found.stdout), "/odom\n");
    let none = said(&run.output(&["topic", "find", "nav_msgs/msg/Path"]));
    assert!(none.contains("the types are") && none.contains("sensor_msgs/msg/Image"), "{none}");
    driving.interrupt();
    assert!(driving.end().0.success());
}

#[test]
fn a_lock_step_that_waits_for_nobodys_command_is_an_error_before_the_run() {
    let run = Run::new("nobody");
    let text =
        std::fs::read_to_string(crossdock_test_support::workspace().join(COURSE)).expect("it");
    let graph = run.file("course.graph.yaml");
    // The simulator listens on a topic that nobody publishes.
    let odd = text.replacen("topic: /cmd_vel, trigger: false", "topic: /cmd_vl, trigger: false", 1);
    assert_ne!(odd, text);
    std::fs::write(&graph, odd).expect("a file");
    let output = run.output(&["run", graph.to_str().expect("a path"), "--rate", "max"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("the lock step waits for its messages"), "{}", said(&output));
}

#[test]
fn a_recording_that_holds_outputs_of_the_graph_is_played_without_them() {
    let run = Run::new("without");
    let (bag, graph) = (run.file("drive.mcap"), run.file("compensation.graph.yaml"));
    std::fs::write(&graph, COMPENSATION).expect("a file");
    let (bag, graph) = (bag.to_str().expect("a path"), graph.to_str().expect("a path"));
    let record = ["run", COURSE, "--rate", "max", "--duration", "1", "--record", bag];
    let topics = ["--topics", "/camera/image_raw,/camera/image_compensated"];
    let made = run.output(&[&record[..], &topics].concat());
    assert!(made.status.success(), "{}", said(&made));
    let play = |more: &[&str]| {
        run.output(&[&["run", graph, "--rate", "max", "--input", bag], more].concat())
    };
    let refused = said(&play(&[]));
    assert!(refused.contains("--without /camera/image_compensated"), "{refused}");
    let named = said(&play(&["--without", "/nothing"]));
    assert!(
        named.contains("holds no such topic") && named.contains("/camera/image_raw"),
        "{named}"
    );
    for chosen in
        [["--play-topics", "/camera/image_raw"], ["--without", "camera/image_compensated"]]
    {
        let played = play(&[&chosen[..], &["--json"]].concat());
        assert!(played.status.success(), "{}", said(&played));
        let summary: serde_json::Value = serde_json::from_slice(&played.stdout).expect("JSON");
        let executions = summary["nodes"].as_array().and_then(|rows| {
            rows.iter().find(|row| row["node"] == "compensation")?["executions"].as_u64()
        });
        assert!(executions > Some(10), "{summary}");
    }
}
