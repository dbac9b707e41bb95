//! The command line as a user meets it: idle graphs, dead processes, wrong files.
#![allow(missing_docs)]

use crossdock_suite::Run;
use crossdock_test_support::workspace;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";
const PROCESSES: &str = "apps/autorace/highway.processes.mapping.yaml";

/// Ends the child even when the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // A child that has ended already is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    }
}

fn start(run: &Run, arguments: &[&str]) -> Running {
    let mut command = run.crossdock(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(command.spawn().expect("crossdock starts"))
}

/// Looks again until it is so; the bound is only there so that a broken product ends the test.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about within a minute");
        std::thread::yield_now();
    }
}

/// The process and its children.
fn family(parent: u32) -> Vec<u32> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let children = children.split_whitespace().map(|pid| pid.parse().expect("a process id"));
    std::iter::once(parent).chain(children).collect()
}

/// Context switches so far of every thread of a process.
fn switches(pid: u32) -> Vec<(String, u64)> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("tasks");
    let mut counts: Vec<(String, u64)> = tasks
        .map(|task| {
            let task = task.expect("a task").path();
            let status = std::fs::read_to_string(task.join("status")).expect("a status");
            let sum = status.lines().filter(|line| line.contains("ctxt_switches:"));
            let sum = sum.map(|line| {
                let count = line.split_whitespace().last().expect("a count");
                count.parse::<u64>().expect("a number")
            });
            (task.display().to_string(), sum.sum())
        })
        .collect();
    counts.sort();
    counts
}

/// Whether every topic port of the graph is there.
fn is_up(run: &Run) -> bool {
    let output = run.output(&["topic", "info", "/traffic_light/red", "--json"]);
    let Ok(info) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else {
        return false;
    };
    let connections = &info["connections"];
    let count = |key: &str| connections[key].as_u64().unwrap_or(0);
    count("ring") + count("in_thread") >= 3
}

#[test]
fn an_idle_graph_makes_no_context_switch_in_any_thread_of_any_process() {
    for mapping in ["apps/autorace/highway.chain.mapping.yaml", PROCESSES] {
        let run = Run::new("idle");
        let graph = start(&run, &["run", HIGHWAY, "--mapping", mapping]);
        until("the graph", || is_up(&run));
        let look = || -> Vec<_> { family(graph.0.id()).into_iter().flat_map(switches).collect() };
        // The start has its own switches: wait until a second passes without one.
        let mut before = look();
        until("an idle graph", || {
            std::thread::sleep(Duration::from_secs(1));
            let now = look();
            let idle = now == before;
            before = now;
            idle
        });
        // The length of the observation, not a synchronisation.
        std::thread::sleep(Duration::from_secs(5));
        assert_eq!(look(), before, "mapping {mapping}");
    }
}

#[test]
fn ctrl_c_ends_a_run_cleanly_and_prints_the_table() {
    let run = Run::new("ctrl_c");
    let mut graph = start(&run, &["run", HIGHWAY, "--mapping", PROCESSES, "--json"]);
    until("the graph", || is_up(&run));
    let family = family(graph.0.id());
    assert_eq!(family.len(), 11, "the launcher and a process per node");
    graph.interrupt();
    let mut table = String::new();
    graph.0.stdout.take().expect("a pipe").read_to_string(&mut table).expect("the table");
    assert!(graph.0.wait().expect("the end").success());
    let summary: serde_json::Value = serde_json::from_str(&table).expect("JSON");
    assert_eq!(summary["end"], "interrupted");
    assert_eq!(summary["nodes"].as_array().expect("nodes").len(), 10);
    let left = std::fs::read_dir(run.runtime().join("crossdock/0")).expect("the rendezvous");
    let left: Vec<_> = left
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".lock") && !name.starts_with('.'))
        .collect();
    assert!(left.is_empty(), "left in the rendezvous folder: {left:?}");
}

#[test]
fn a_killed_process_ends_the_run_with_its_name() {
    let run = Run::new("killed");
    let mut graph = start(&run, &["run", HIGHWAY, "--mapping", PROCESSES]);
    until("the graph", || is_up(&run));
    let victim = *family(graph.0.id()).last().expect("a child");
    let victim = rustix::process::Pid::from_raw(victim as i32).expect("a process id");
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).expect("a signal");
    assert_eq!(graph.0.wait().expect("the end").code(), Some(1));
    let mut table = String::new();
    graph.0.stdout.take().expect("a pipe").read_to_string(&mut table).expect("the table");
    assert!(table.contains("died") && table.contains("signal: 9"), "{table}");
}

#[test]
fn wrong_files_are_refused_with_place_and_advice() {
    let run = Run::new("wrong_files");
    let graph = std::fs::read_to_string(workspace().join(HIGHWAY)).expect("the graph file");
    let refused = |name: &str, content: &str, told: &[&str]| {
        let file = run.file(name);
        std::fs::write(&file, content).expect("a file");
        let output = run.output(&["check", file.to_str().expect("UTF-8")]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        for part in told {
            assert!(errors.contains(part), "{name}: `{part}` is missing in: {errors}");
        }
    };
    let wrong_key = graph.replace("inputs: { image: /camera/image_raw }", "inptus: { image: /x }");
    refused("key.yaml", &wrong_key, &["key.yaml:", "inptus", "inputs"]);
    let no_publisher = graph.replace("external: true, ", "");
    refused("publisher.yaml", &no_publisher, &["/camera/image_raw/compressed", "decode"]);
    let unknown =
        graph.replace("package: autorace\n    type: decode", "package: nobody\n    type: decode");
    refused("package.yaml", &unknown, &["nobody", "CROSSDOCK_PACKAGE_PATH"]);
    refused("text.yaml", "just: [text", &["text.yaml:"]);
    let output = run.output(&["run", HIGHWAY, "--input", "README.md", "--rate", "max"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("README.md"));
}

#[test]
fn a_graph_is_drawn_and_one_is_imported() {
    let run = Run::new("drawn");
    let picture = run.file("graph.svg");
    let picture_name = picture.to_str().expect("UTF-8");
    let output = run.output(&["graph", HIGHWAY, "--mapping", PROCESSES, "-o", picture_name]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let picture = std::fs::read_to_string(picture).expect("the picture");
    assert!(picture.starts_with("<svg") || picture.starts_with("<?xml"), "{picture}");
    assert!(picture.contains("compensation") && picture.contains("/lane"));
    let Some(data) = crossdock_test_support::data() else { return };
    let graph = data.join("graphs/autodrive_gateway.json");
    let file = run.file("imported.graph.yaml");
    let (graph, name) = (graph.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
    assert!(run.output(&["graph", "import", graph, "-o", name]).status.success());
    assert!(run.output(&["graph", name]).status.success(), "what was imported can be drawn");
}
