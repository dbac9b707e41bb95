//! What a new user tries first, with the habits of ROS 2.

use crossdock_suite::{Run, Running, binaries, build_beside_tests, until};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

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

    let mut build = Command::new("cargo");
    build
        .args(["build", "--quiet"])
        .args(binaries().ends_with("release").then_some("--release"))
        .current_dir(&folder);
    build_beside_tests(&mut build);
    let built = build.output().expect("cargo runs");
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
    levels_and_parameters_are_set_from_outside(&run, &graph);
    each_death_leaves_its_last_events(&run, &graph);
}

/// A level changes while the graph runs; a parameter is set as ROS 2 does it.
fn levels_and_parameters_are_set_from_outside(run: &Run, graph: &str) {
    let set = ["-p", "talker.text:=bye", "--log-level", "listener:=error"];
    let mut command = run.crossdock(&[&["run", graph], &set[..]].concat());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let (running, errors) = Running::with_errors(command);
    let mut lines = BufReader::new(errors).lines();
    let level = |words: &[&str]| said(&run.output(&[&["node", "log-level"], words].concat()));
    until("the listener", || level(&["listener"]) == "listener: ERROR\n");
    assert!(level(&["talker"]).contains("has no logger"), "{}", level(&["talker"]));
    assert!(level(&["nobody"]).contains("crossdock node list"));
    assert!(level(&["listener", "loud"]).contains("debug, info, warn, error, fatal"));
    assert_eq!(level(&["/listener", "info"]), "listener: INFO\n");
    let line = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("says bye")));
    assert!(line.is_some(), "no line after the level was set");
    running.interrupt();
    lines.for_each(drop);
    assert!(running.end().0.success());
    let wrong = said(&run.output(&["run", graph, "-p", "text:=bye"]));
    assert!(wrong.contains("like `pilot.speed:=0.2`"), "{wrong}");
    let unknown = said(&run.output(&["check", graph, "-p", "talker.txt:=bye"]));
    assert!(unknown.contains("-p talker.txt:=bye: node `talker`"), "{unknown}");
    assert!(unknown.contains("has no parameter `txt`"), "{unknown}");
}

/// A process that is started again leaves a trace each time that it dies.
fn each_death_leaves_its_last_events(run: &Run, graph: &str) {
    let (mapping, folder) = (run.file("restart.mapping.yaml"), run.file("deaths"));
    let text = "crossdock: 1
processes:
  talking:
    restart: { when: on_failure, limit: 1, within_s: 60, backoff_ms: 0 }
    executors: [ { mode: event, nodes: [talker] } ]
  listening: { executors: [ { mode: event, nodes: [listener] } ] }
";
    std::fs::write(&mapping, text).expect("a file");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let (mapping, traces) = (path(&mapping), path(&folder));
    let options = ["--mapping", &mapping, "--trace-on-failure", &traces, "--json"];
    let running = run.start(&[&["run", graph], &options[..]].concat());
    let mut killed = 0;
    for _ in 0..2 {
        let mut pid = 0;
        until("a talker that has talked", || {
            let info = run.output(&["node", "info", "talker", "--json"]);
            let info = serde_json::from_slice::<serde_json::Value>(&info.stdout);
            let info = info.unwrap_or_default()[0].clone();
            pid = info["pid"].as_u64().unwrap_or(0);
            pid != killed && info["executions"].as_u64() > Some(0)
        });
        let victim = rustix::process::Pid::from_raw(pid as i32).expect("a process id");
        rustix::process::kill_process(victim, rustix::process::Signal::KILL).expect("a signal");
        killed = pid;
    }
    let (status, summary) = running.end();
    assert_eq!(status.code(), Some(1), "{summary}");
    for life in ["talking.1", "talking.2"] {
        let shown = said(&run.output(&["trace", "show", &path(&folder.join(life))]));
        assert!(summary.contains(life) && shown.contains("talker"), "{life}: {shown}");
    }
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 2);
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
        (&["bag", "burst", "x"], "--start-paused"),
        (&["topic", "pub", "--use-sim-time", "/x", "std_msgs/msg/Bool"], "time of this computer"),
        (&["param", "set", "/n", "p", "1"], "-p NODE.PARAMETER:=VALUE"),
        (&["interface", "shows", "x"], "`show TYPE`"),
        (&["doctor"], "crossdock check GRAPH"),
        (&["lifecycle", "nodes"], "no life cycle"),
        (&["component", "list"], "the mapping file says"),
    ] {
        let output = run.output(words);
        assert_eq!(output.status.code(), Some(2));
        let told = said(&output);
        assert!(told.contains(answer) && !told.contains("similar"), "{words:?}: {told}");
    }
    let shown = said(&run.output(&["interface", "show", "geometry_msgs/msg/PointStamped"]));
    assert!(shown.contains("Point point") && shown.contains("float64 x"), "{shown}");
    let service = said(&run.output(&["interface", "show", "std_srvs/srv/SetBool"]));
    assert!(service.contains("bool data\n---\nbool success"), "{service}");
    let listed = said(&run.output(&["interface", "list"]));
    assert!(listed.lines().any(|line| line == "sensor_msgs/msg/Image"), "{listed}");
    let unknown = said(&run.output(&["interface", "show", "my_msgs/msg/Own"]));
    assert!(unknown.contains("--interfaces FOLDER"), "{unknown}");
    for near in ["Image", "sensor_msgs/msg/Imag"] {
        let near = said(&run.output(&["interface", "show", near]));
        assert!(near.contains("did you mean `sensor_msgs/msg/Image`?"), "{near}");
    }
    let none = said(&run.output(&["service", "find", "std_srvs/srv/SetBool"]));
    assert!(none.contains("no service is known"), "{none}");
}

#[test]
fn topics_are_named_and_found_as_in_ros_2() {
    let run = Run::new("habits");
    let driving = run.start(&["run", COURSE]);
    let echo = |more: &[&str]| run.output(&[&["topic", "echo", "--once"], more].concat());
    until("a command", || run.published("/cmd_vel") > 0);
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
    let near = said(&run.output(&["topic", "info", "/odm"]));
    assert!(near.contains("did you mean `/odom`?"), "{near}");
    let near = said(&run.output(&["node", "info", "simulatr"]));
    assert!(near.contains("did you mean `simulator`?"), "{near}");
    let none = said(&run.output(&["topic", "find", "nav_msgs/msg/Path"]));
    assert!(none.contains("the types are") && none.contains("sensor_msgs/msg/Image"), "{none}");
    a_chain_is_measured_from_outside(&run);
    driving.interrupt();
    assert!(driving.end().0.success());
}

/// The default mapping is one chain, whose messages are in no ring.
fn a_chain_is_measured_from_outside(run: &Run) {
    let topics = ["camera/image_compensated", "/lane"];
    let hz = || {
        let lines = run.output(&[&["topic", "hz", "-n", "1", "--json"], &topics[..]].concat());
        let text = String::from_utf8(lines.stdout).expect("text");
        let rows = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        rows.collect::<Vec<serde_json::Value>>()
    };
    until("intervals of both topics", || {
        let rows = hz();
        let names: Vec<_> = rows.iter().filter_map(|row| row["topic"].as_str()).collect();
        assert_eq!(names, ["/camera/image_compensated", "/lane"]);
        rows.iter().all(|row| row["interval_s"]["max"].as_f64() > Some(0.0))
    });
    let text = said(&run.output(&[&["topic", "hz", "-n", "1"], &topics[..]].concat()));
    assert!(text.contains("/lane\naverage rate:"), "{text}");
    let delay = run.output(&["topic", "delay", topics[0], "-n", "1", "--json", "--interval", "3"]);
    assert!(String::from_utf8_lossy(&delay.stderr).contains("nobody outside the executor of "));
    let delay: serde_json::Value = serde_json::from_slice(&delay.stdout).expect("JSON");
    assert!(delay["delay_s"]["mean"].as_f64() > Some(0.0), "{delay}");
    let odom = run.output(&["topic", "echo", "--once", "--csv", "odom"]);
    let line = String::from_utf8_lossy(&odom.stdout).into_owned();
    let cells: Vec<&str> = line.trim_end().split(',').collect();
    assert!(cells.len() > 10 && cells[0].parse::<i32>().is_ok(), "{line}");
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
    // Half of a recording is the same as itself, and incomplete.
    let bytes = std::fs::read(bag).expect("a recording");
    std::fs::write(bag, &bytes[..bytes.len() / 2]).expect("a file");
    let compared = run.output(&["replay", "--compare", bag, bag]);
    let told = said(&compared);
    assert_eq!(compared.status.code(), Some(1), "{told}");
    assert!(told.contains("but incomplete") && told.contains("record again"), "{told}");
    assert!(!told.contains("differ\n"), "{told}");
}
