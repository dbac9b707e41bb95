//! Names in runs: namespaces, files that include others, `--ros-args`, and a package binary that
//! runs by itself. The program of the tests of runs is the package binary.

use std::process::Command;

use crate::runs::probe::{Place, Running, look, until};
use rustix::process::Signal;

/// Names of the nodes that run, and of the topics that they publish.
fn live(place: &Place) -> (Vec<String>, Vec<String>) {
    let Some(snapshot) = look(&place.rendezvous()) else {
        return Default::default();
    };
    let ports = || snapshot.processes.iter().flat_map(|process| &process.publishers);
    let mut nodes: Vec<String> = ports().map(|port| port.node.clone()).collect();
    let mut topics: Vec<String> = ports().map(|port| port.topic.clone()).collect();
    for names in [&mut nodes, &mut topics] {
        names.sort();
        names.dedup();
    }
    (nodes, topics)
}

const PAIR: &str = "crossdock: 1
name: pair
arguments: { number: { node: relay, parameter: panics_at } }
nodes:
  source: { package: probe, type: source, outputs: { out: numbers } }
  relay: { package: probe, type: relay, inputs: { in: numbers }, outputs: { out: ~/numbers } }
";

/// The pair twice, in two namespaces.
const TWICE: &str = "include:
  - { file: pair.yaml, namespace: left }
  - { file: pair.yaml, namespace: /right, remaps: { relay/numbers: /out } }
";

#[test]
fn an_included_graph_runs_twice_and_every_table_shows_whole_names() {
    let place = Place::new("twice", "");
    place.written("pair.yaml", PAIR);
    let mapping = place.mapping(&[
        ("first", "left/source, /left/relay", ""),
        ("second", "/right/source, /right/relay", ""),
    ]);
    let mut command = place.run(
        TWICE,
        &["--json", "--mapping", &mapping, "--ros-args", "-r", "/right/relay:__node:=echo"],
    );
    command.args(["-r", "echo:/out:=/final", "-r", "nobody:a:=b", "-p", "echo:panics_at:=-1"]);
    let run = Running::start(command);
    // Each process shows its own.
    until("all nodes and topics", || {
        let (nodes, topics) = live(&place);
        let nodes_are = ["/left/relay", "/left/source", "/right/echo", "/right/source"];
        let topics_are = ["/final", "/left/numbers", "/left/relay/numbers", "/right/numbers"];
        nodes_are.iter().all(|node| nodes.iter().any(|it| it == node))
            && topics_are.iter().all(|topic| topics.iter().any(|it| it == topic))
    });
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let summary = ended.summary();
    let rows = summary["nodes"].as_array().expect("nodes").iter();
    let rows: Vec<_> = rows.map(|row| (&row["node"], &row["process"])).collect();
    assert!(rows.iter().any(|row| *row.0 == "/right/echo" && *row.1 == "second"), "{rows:?}");
    let told = "warning: `-r nobody:a:=b` changes nothing: no node is called `nobody`";
    assert!(ended.errors.contains(told), "{}", ended.errors);
}

#[test]
fn lines_of_nodes_in_namespaces_are_shown_under_the_names_of_their_loggers() {
    let place = Place::new("clerks", "");
    let graph = "nodes:\n  clerk: { package: probe, type: clerk }\n  \
                 front/clerk: { package: probe, type: clerk }\n";
    let ended = Running::start(place.run(graph, &["--duration", "1"])).end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    for logger in ["clerk", "front.clerk"] {
        let line = format!("] [{logger}]: a line");
        assert!(ended.errors.contains(&line), "{line} is not in:\n{}", ended.errors);
    }
}

#[test]
fn a_run_says_that_time_stood_still_if_nobody_published_the_clock() {
    let place = Place::new("no-clock", "");
    let graph = "nodes:\n  source: { package: probe, type: source, outputs: { out: /a } }\n";
    let words = ["--duration", "0.2", "--json", "--ros-args", "-p", "use_sim_time:=true"];
    let summary = Running::start(place.run(graph, &words)).end().summary();
    let notes = summary["notes"].to_string();
    assert!(notes.contains("time stood still for node `source`; play"), "{notes}");
}

#[test]
fn the_check_says_what_a_command_line_makes_of_a_graph_and_where_a_file_is_wrong() {
    let place = Place::new("names", "");
    place.written("pair.yaml", PAIR);
    place.written("params.yaml", "/**/relay:\n  ros__parameters: { panics_at: 3 }\n");
    let check = |graph: &str, words: &[&str]| {
        let graph = place.written("graph.yaml", &format!("crossdock: 1\nname: g\n{graph}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
        command.args(["check", &graph]).args(words);
        place.prepare(&mut command);
        let output = command.output().expect("crossdock runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // Later words count; a graph's argument counts more than all of them.
    let params = place.text("params.yaml");
    let value = |words: &[&str]| {
        let (code, json, errors) = check(TWICE, &[&["--json"], words].concat());
        assert_eq!(code, Some(0), "{errors}");
        let plan: serde_json::Value = serde_json::from_str(&json).expect("a plan");
        let nodes = plan["processes"][0]["executors"][0]["nodes"].as_array().expect("nodes").iter();
        let relay = nodes.filter(|node| node["name"] == "/left/relay");
        relay.map(|node| node["parameters"]["panics_at"]["double"].as_f64()).next().flatten()
    };
    assert_eq!(value(&[]), Some(0.0));
    let own = ["-p", "left/relay.panics_at:=1"];
    assert_eq!(value(&own), Some(1.0));
    let of_file = [&own[..], &["--ros-args", "--params-file", &params]].concat();
    assert_eq!(value(&of_file), Some(3.0));
    assert_eq!(value(&[&of_file[..], &["-p", "relay:panics_at:=4"]].concat()), Some(4.0));

    let (code, _, errors) = check("include: [ { file: pare.yaml } ]\n", &[]);
    let told = "graph.yaml:3:12: `pare.yaml` cannot be included: No such file or directory";
    assert!(code == Some(1) && errors.contains(told), "{errors}");
    // What would be waited for, or may do something when it is opened.
    let made = Command::new("mkfifo").arg(place.file("pipe.yaml")).status().expect("mkfifo");
    assert!(made.success());
    for (file, what) in [("pipe.yaml", "pipe"), (".", "folder"), ("/dev/zero", "device")] {
        let (code, _, errors) = check(&format!("include: [ {{ file: {file} }} ]\n"), &[]);
        let told = format!("`{file}` cannot be included: it is a {what}, no file");
        assert!(code == Some(1) && errors.contains(&told), "{errors}");
    }
    let (code, _, errors) = check("include: [ { file: sub/../graph.yaml } ]\n", &[]);
    assert!(code == Some(1) && errors.contains("the file includes itself"), "{errors}");
    let (code, _, errors) = check(TWICE, &["--ros-args", "-r", "a"]);
    assert!(code == Some(2) && errors.contains("`-r a` has no `:=`"), "{errors}");
    let (_, _, errors) = check(TWICE, &["--ros-args", "--disable-stdout-logs"]);
    assert!(errors.contains("--disable-stdout-logs has no effect here"), "{errors}");
}

#[test]
fn a_package_binary_runs_a_node_by_itself_with_the_words_of_ros_2() {
    let place = Place::new("alone", "");
    let start = |words: &str| {
        let mut command = Command::new(place.file("crossdock-probe"));
        place.prepare(&mut command);
        command.env("PROBE_WORDS", words).env("ROS_DOMAIN_ID", "");
        Running::start(command)
    };
    let source = start("source --ros-args -r __ns:=/left -r out:=numbers -p prints:=true");
    let relay = start("relay --ros-args -r __node:=echo -r in:=/left/numbers -r imaginary:=b");
    until("nodes and topics with the names that were given", || {
        let (nodes, topics) = live(&place);
        let all =
            |of: &[String], names: [&str; 2]| names.iter().all(|it| of.iter().any(|is| is == it));
        all(&nodes, ["/left/source", "echo"]) && all(&topics, ["/left/numbers", "/out"])
    });
    crate::runs::flows(&place, "/out");
    for run in [&source, &relay] {
        run.signal(Signal::INT);
    }
    let ended = source.end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    assert!(ended.output.contains("source: 3"), "{}", ended.output);
    let ended = relay.end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let told = "`-r imaginary:=b` changes nothing: nobody has a topic or service `imaginary`";
    assert!(ended.errors.contains(told), "{}", ended.errors);

    for (words, told) in [
        ("sorce", "there is no node type `sorce`"),
        ("", "name a node type"),
        ("source --ros-args -p prints:=3", "parameter `prints` must be of type bool"),
        ("source --ros-args -r a", "has no `:=`"),
        ("relay --ros-args -r out:=in", "trigger"),
    ] {
        let ended = start(words).end();
        assert_eq!(ended.code, Some(1), "{words}: {}", ended.output);
        assert!(ended.errors.contains(told), "{words}: {}", ended.errors);
    }
    let ended = start("--help").end();
    assert_eq!(ended.code, Some(0));
    assert!(ended.output.contains("--ros-args") && ended.output.contains("relay"));
}
