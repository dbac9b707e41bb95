//! Without pacing nothing is lost; what paces a run; replays; progress while one runs.

mod replaying;

use crossdock_suite::{Run, Running, Terminal, children, until};
use crossdock_test_support::workspace;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const COURSE: &str = "apps/autorace/course.graph.yaml";
const PROCESSES: &str = "apps/autorace/course.processes.mapping.yaml";

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Writes a file into the folder of the run; gives its name.
fn written(run: &Run, name: &str, content: &str) -> String {
    let file = run.file(name);
    std::fs::write(&file, content).expect("a file");
    text(&file).to_owned()
}

/// Messages by topic of a recording.
fn recorded(path: &Path) -> BTreeMap<String, u64> {
    let bytes = std::fs::read(path).expect("the recording");
    let mut topics = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("MCAP") {
        let topic = message.expect("a message").channel.topic.clone();
        *topics.entry(topic).or_default() += 1;
    }
    topics
}

#[test]
fn at_maximum_rate_a_disk_that_hangs_holds_the_graph_up_and_costs_no_message() {
    let run = Run::new("slow_disk");
    let graph = std::fs::read_to_string(workspace().join(COURSE)).expect("the graph file");
    let mut graph = graph;
    // Not those of the lights: where an input does not trigger, best effort means the newest.
    for topic in ["/odom", "/lane", "/cmd_vel", "/traffic_light", "/course/light", "/features"] {
        let line = graph.find(&format!("  {topic}: {{ ")).expect("the topic") + topic.len() + 6;
        graph.insert_str(line, "qos: { reliability: best_effort, depth: 1 }, ");
    }
    let graph = written(&run, "lossy.graph.yaml", &graph);
    let out = run.file("out.mcap");
    let topics = "/odom,/lane,/cmd_vel,/traffic_light,/traffic_light/red,/features";
    let words = ["run", &graph, "--mapping", PROCESSES, "--rate", "max", "--duration", "20"];
    let recording = ["--record", text(&out), "--topics", topics, "--json"];
    let graph = run.start(&[&words[..], &recording[..]].concat());
    until("the drive", || run.published("/odom") > 0);
    // The recorder is in the launcher: stopped, it is a disk that takes nothing.
    graph.signal(Signal::STOP);
    // A launcher that does not answer costs each look a second, so that four of them with the same
    // result are longer than the patience that a reliable topic has otherwise.
    let mut looks = Vec::new();
    until("a graph that is held up", || {
        looks.push(run.published("/odom"));
        let last = &looks[looks.len().saturating_sub(4)..];
        last.len() == 4 && last.iter().all(|count| *count == last[0])
    });
    graph.signal(Signal::CONT);
    let (status, summary) = graph.end();
    assert!(status.success(), "{summary}");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    for topic in summary["topics"].as_array().expect("topics") {
        let losses = topic["losses"].as_object().expect("losses");
        assert!(losses.values().all(|count| count == 0), "{topic}");
    }
    let recorded = recorded(&out);
    assert_eq!(recorded.len(), 6);
    for (topic, count) in recorded {
        assert_eq!(count, 300, "{topic}: 20 s at 15 Hz");
    }
}

#[test]
#[ignore = "long: ten seconds and more in which time stands still"]
fn a_run_whose_time_stands_still_says_which_process_does_not_answer() {
    let run = Run::new("standstill");
    let mut command = run.crossdock(&["run", COURSE, "--rate", "max", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let (graph, errors) = Running::with_errors(command);
    until("the drive", || run.published("/odom") > 0);
    let [pid] = children(graph.id())[..] else { panic!("one process") };
    let process = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a process id");
    let signal = |signal| rustix::process::kill_process(process, signal).expect("a signal");
    signal(Signal::STOP);
    let mut lines = BufReader::new(errors).lines().map(|line| line.expect("text"));
    let warning = lines.find(|line| line.contains("has stood at")).expect("a warning");
    assert!(warning.starts_with("warning: simulated time, which node `simulator` makes, "));
    let advice = format!(" is stopped, `kill -CONT {pid}` continues it");
    assert!(warning.contains(&advice), "{warning}");
    signal(Signal::CONT);
    let published = run.published("/odom");
    until("it goes on", || run.published("/odom") > published);
    graph.interrupt();
    let more = lines.filter(|line| line.contains("has stood at")).count();
    assert_eq!(more, 0, "it is said once");
    let (status, summary) = graph.end();
    assert!(status.success(), "{summary}");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(format!("warning: {}", summary["notes"][0].as_str().expect("a note")), warning);
}

#[test]
fn ctrl_c_at_maximum_rate_ends_the_run_where_it_is() {
    let run = Run::new("stopped_at_max");
    let out = run.file("out.mcap");
    let recording = ["--record", text(&out), "--topics", "/odom"];
    let words = ["run", COURSE, "--rate", "max", "--json"];
    let graph = run.start(&[&words[..], &recording[..]].concat());
    until("the drive", || run.published("/odom") > 0);
    graph.interrupt();
    let (status, summary) = graph.end();
    assert!(status.success(), "{summary}");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["end"], "interrupted");
    assert_eq!(summary["notes"], serde_json::json!([]), "no word of a graph that would not rest");
    assert!(recorded(&out)["/odom"] > 0);
}

/// A simulator of which nothing comes back, and a node that a recording feeds.
const TWO_SOURCES: &str = "crossdock: 1
name: two_sources
topics:
  /camera/image_raw: { type: sensor_msgs/msg/Image, external: true }
  /cmd_vel: { type: geometry_msgs/msg/TwistStamped, external: true }
nodes:
  simulator:
    package: autorace
    type: simulator
    inputs: { command: { topic: /cmd_vel, trigger: false } }
    outputs: { image: /simulated }
    timers: { step: { rate_hz: 15 } }
    lockstep: { timer: step, command: command }
  blur:
    package: autorace
    type: gaussian_blur
    inputs: { image: /camera/image_raw }
    outputs: { blurred: /blurred }
";

#[test]
fn a_simulator_is_paced_and_gives_the_messages_that_it_gives_without_pacing() {
    let run = Run::new("paced");
    let out = run.file("drive.mcap");
    let drive = |rate: &str| {
        let words =
            ["run", COURSE, "--rate", rate, "--duration", "2", "--topics", "/lane,/cmd_vel"];
        let began = Instant::now();
        let summary = run.json(&[&words[..], &["--record", text(&out), "--json"]].concat());
        assert_eq!(summary["end"], "the time is over", "{summary:#}");
        let bytes = std::fs::read(&out).expect("the recording");
        std::fs::remove_file(&out).expect("the recording");
        let messages = mcap::MessageStream::new(&bytes).expect("MCAP").map(|message| {
            let message = message.expect("a message");
            (message.channel.topic.clone(), message.log_time, message.data.into_owned())
        });
        // Which topic the recorder takes first is open.
        let messages: BTreeSet<_> = messages.collect();
        (began.elapsed(), messages)
    };
    let (_, free) = drive("max");
    let (took, paced) = drive("2");
    assert!(took >= Duration::from_millis(900), "two simulated seconds in {took:?}");
    assert_eq!(free.len(), 2 * 30);
    assert!(free == paced, "other messages, or at other times");
}

#[test]
fn a_rate_that_nothing_can_follow_is_refused_with_what_can_be_done() {
    let run = Run::new("rates");
    let bag = run.file("images.mcap");
    let record = ["--record", text(&bag), "--topics", "/camera/image_raw", "--json"];
    let words = ["run", COURSE, "--rate", "max", "--duration", "1"];
    assert_eq!(run.json(&[&words[..], &record[..]].concat())["ok"], true);
    let lockstep = TWO_SOURCES.find("    lockstep").expect("a line");
    let end = lockstep + TWO_SOURCES[lockstep..].find('\n').expect("its end") + 1;
    let plain = [&TWO_SOURCES[..lockstep], &TWO_SOURCES[end..]].concat();
    let both = written(&run, "both.graph.yaml", TWO_SOURCES);
    let plain = written(&run, "plain.graph.yaml", &plain);
    let input = ["--input", text(&bag)];
    let refused = |words: &[&str], told: &[&str]| {
        let output = run.output(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {errors}");
        for part in told {
            assert!(errors.contains(part), "{words:?}: `{part}` is missing in: {errors}");
        }
    };
    refused(&["run", &plain, "--rate", "2"], &["--rate 2", "--input", "real time"]);
    refused(&["run", &plain, "--rate", "max"], &["--input", "lockstep", "real time"]);
    let max = ["run", &both, input[0], input[1], "--rate", "max"];
    refused(&max, &["--input", "`simulator`", "rate such as 1"]);
    for rate in ["0", "-1", "fast"] {
        let output = run.output(&["run", COURSE, "--rate", rate]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{rate}: {errors}");
        assert!(errors.contains("--rate") && errors.contains("`max`"), "{rate}: {errors}");
    }
    // What is left does what it says: the recorded second, faster or without pacing.
    for words in [
        &["run", &both, input[0], input[1], "--json"][..],
        &["run", &both, input[0], input[1], "--rate", "4", "--json"],
        &["run", &plain, input[0], input[1], "--rate", "max", "--json"],
    ] {
        let summary = run.json(words);
        assert_eq!(summary["end"], "the recording has been played", "{summary:#}");
        let nodes = summary["nodes"].as_array().expect("nodes");
        let blur = nodes.iter().find(|row| row["node"] == "blur").expect("its row");
        assert_eq!(blur["executions"], 15, "{summary:#}");
    }
    let summary = run.json(&["run", COURSE, "--duration", "1", "--json"]);
    assert!(summary["real_s"].as_f64() >= Some(1.0), "{summary:#}");
    assert_eq!(summary["end"], "the time is over");
}

/// A node that is fed from outside.
const FED: &str = "crossdock: 1
name: fed
topics:
  /simulated: { type: sensor_msgs/msg/Image, external: true }
nodes:
  blur:
    package: autorace
    type: gaussian_blur
    inputs: { image: /simulated }
    outputs: { blurred: /blurred }
";

#[test]
fn progress_comes_back_when_messages_flow_again() {
    let run = Run::new("progress");
    let fed = written(&run, "fed.graph.yaml", FED);
    let feeding = TWO_SOURCES.find("  blur:").expect("a node");
    let feeding = TWO_SOURCES[..feeding]
        .replace("  /camera/image_raw: { type: sensor_msgs/msg/Image, external: true }\n", "");
    let feeding = written(&run, "feeding.graph.yaml", &feeding);
    let terminal = Terminal::open();
    let mut command = run.crossdock(&["run", &fed]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(terminal.side());
    let graph = Running::spawn(command);
    let shown = || {
        let text = terminal.text();
        let counts = text.split("\u{1b}[K").filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.windows(2).find(|pair| pair[1] == "messages")?[0].parse::<u64>().ok()
        });
        counts.collect::<Vec<_>>()
    };
    until("the first line", || shown() == [0]);
    // Twice, so that it is idle again in between.
    for round in 1..=2 {
        let before = *shown().last().expect("a line");
        assert!(run.output(&["run", &feeding, "--duration", "1"]).status.success());
        until("lines while messages flow", || shown().last() > Some(&before));
        // It ends with a line that says what the one before said.
        until("the last line", || matches!(shown()[..], [.., a, b] if a == b));
        let counted = run.published("/blurred");
        assert_eq!(shown().last(), Some(&counted), "round {round}");
    }
    graph.interrupt();
    assert!(graph.end().0.success());
}
