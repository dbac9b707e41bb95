//! Replay as a user asks for it: what is refused, and what the words and the exit status say.

mod reference;

use crossdock_suite::Run;
use serde_json::Value;
use std::path::Path;

const COURSE: &str = "apps/autorace/course.graph.yaml";

/// Two nodes that a recorded drive feeds, one of which reads what nobody has recorded.
const GRAPH: &str = "crossdock: 1
name: fed
nodes:
  lights:
    package: autorace
    type: traffic_light
    inputs: { red: /traffic_light/red, green: /traffic_light/green }
    outputs: { light: /traffic_light }
    condition: { all_of: [red, green], same: stamp }
  control:
    package: autorace
    type: lane_control
    inputs: { lane: /lane, red: /traffic_light/red, green: /traffic_light/green }
    outputs: { command: /cmd_vel }
    condition: { all_of: [lane, red, green], same: stamp }
";

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn json(run: &Run, words: &[&str], code: i32) -> Value {
    let output = run.output(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_replay_says_what_it_lacks_and_compares_with_a_live_run() {
    let run = Run::new("replay");
    let graph = run.file("fed.graph.yaml");
    std::fs::write(&graph, GRAPH).expect("a file");
    let graph = text(&graph);
    // All of a drive, what the two nodes publish among it.
    let (whole, lights) = (run.file("whole.mcap"), run.file("lights.mcap"));
    let words = ["run", COURSE, "--rate", "max", "--duration", "1", "--json", "--record"];
    let topics = "/lane,/traffic_light/red,/traffic_light/green,/traffic_light,/cmd_vel";
    assert_eq!(run.json(&[&words[..], &[text(&whole), "--topics", topics]].concat())["ok"], true);
    let few = "/traffic_light/red,/traffic_light/green";
    assert_eq!(run.json(&[&words[..], &[text(&lights), "--topics", few]].concat())["ok"], true);
    let (whole, lights) = (text(&whole), text(&lights));

    let lacking = run.output(&["replay", graph, lights]);
    let errors = String::from_utf8_lossy(&lacking.stderr).into_owned();
    assert_eq!(lacking.status.code(), Some(1), "{errors}");
    let told = "topic /lane is an input of the graph, read by `control` (input `lane`), and is not in the \
                recording";
    assert!(errors.contains(told) && errors.contains("--without /lane"), "{errors}");
    let checked = run.output(&["check", graph, "--input", lights, "--replay"]);
    assert!(String::from_utf8_lossy(&checked.stderr).contains(told));
    let out = run.file("out.mcap");
    let report = json(
        &run,
        &["replay", graph, lights, "--without", "/lane", "--record", text(&out), "--json"],
        0,
    );
    let rows = report["runs"][0]["nodes"].as_array().expect("nodes");
    let executions = |node: &str| {
        rows.iter().find(|row| row["node"] == node).expect("a row")["executions"].clone()
    };
    assert_eq!((executions("lights"), executions("control")), (15.into(), 0.into()));

    // What the graph publishes is not played but compared: bytes and order.
    let compare = ["replay", graph, whole, "--compare", whole, "--ignore-stamps", "--json"];
    let report = json(&run, &compare, 0);
    let rows = report["comparison"]["topics"].as_array().expect("topics");
    let names: Vec<_> = rows.iter().map(|row| row["topic"].as_str().expect("a name")).collect();
    assert_eq!(names, ["/cmd_vel", "/traffic_light"]);
    assert!(rows.iter().all(|row| row["messages"] == serde_json::json!([15, 15])), "{report:#}");
    // The stamps are equal, too: messages are recorded with their own times.
    json(&run, &["replay", graph, whole, "--compare", whole, "--json"], 0);

    // Two recordings, of which one lacks a topic.
    let output = run.output(&["replay", "--compare", text(&out), whole]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let missing = said.lines().find(|line| line.contains("message 1 of /cmd_vel"));
    assert!(missing.is_some_and(|line| line.ends_with(&format!("is only in {whole}"))), "{said}");
    assert!(run.output(&["replay", "--compare", whole, whole]).status.success());

    for (words, told) in [
        (&["replay", "--compare", whole][..], "nothing to replay"),
        (&["replay", graph, whole, "--compare", whole, lights], "leave out GRAPH and BAG"),
        (&["replay", graph, whole, "--topics", "/cmd_vel"], "--record"),
    ] {
        let output = run.output(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {errors}");
        assert!(errors.contains(told), "{words:?}: {errors}");
    }
}
