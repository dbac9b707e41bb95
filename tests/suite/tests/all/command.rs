//! The command line as a user meets it: idle graphs, dead processes, wrong files.

use crossdock_suite::{Run, Running, Terminal, children, settled, until};
use crossdock_test_support::{nvrtc, skip, workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";
const COURSE: &str = "apps/autorace/course.graph.yaml";
const PROCESSES: &str = "apps/autorace/highway.processes.mapping.yaml";

/// The process and its children.
fn family(parent: u32) -> Vec<u32> {
    std::iter::once(parent).chain(children(parent)).collect()
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
        // On a terminal, where progress is shown while there is any.
        let terminal = Terminal::open();
        let mut command = run.crossdock(&["run", HIGHWAY, "--mapping", mapping]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(terminal.side());
        let graph = Running::spawn(command);
        until("a line", || terminal.text().contains(" 0 messages"));
        until("the graph", || is_up(&run));
        let look = || -> Vec<_> { family(graph.id()).into_iter().flat_map(switches).collect() };
        // The start has its own switches: wait until a second passes without one.
        let before = settled("an idle graph", look);
        // The length of the observation, not a synchronisation.
        std::thread::sleep(Duration::from_secs(5));
        assert_eq!(look(), before, "mapping {mapping}");
    }
}

#[test]
fn ctrl_c_ends_a_run_cleanly_and_prints_the_table() {
    let run = Run::new("ctrl_c");
    let graph = run.start(&["run", HIGHWAY, "--mapping", PROCESSES, "--json"]);
    until("the graph", || is_up(&run));
    let family = family(graph.id());
    assert_eq!(family.len(), 11, "the launcher and a process per node");
    graph.interrupt();
    let (status, table) = graph.end();
    assert!(status.success());
    let summary: serde_json::Value = serde_json::from_str(&table).expect("JSON");
    assert_eq!(summary["end"], "interrupted");
    assert_eq!(summary["nodes"].as_array().expect("nodes").len(), 10);
    assert_eq!(run.names(0), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_killed_process_ends_the_run_with_its_name_and_leaves_its_figures() {
    let run = Run::new("killed");
    let mapping = "apps/autorace/course.processes.mapping.yaml";
    let trace = run.file("last-events");
    let trace = trace.to_str().expect("UTF-8");
    let options = ["--json", "--trace-on-failure", trace];
    let graph = run.start(&[&["run", COURSE, "--mapping", mapping], &options[..]].concat());
    until("some driving", || run.published("/traffic_light") >= 20);
    let victim = *family(graph.id()).last().expect("a child");
    let signalled = rustix::process::Pid::from_raw(victim as i32).expect("a process id");
    rustix::process::kill_process(signalled, rustix::process::Signal::KILL).expect("a signal");
    let (status, table) = graph.end();
    assert_eq!(status.code(), Some(1));
    let summary: Value = serde_json::from_str(&table).expect("JSON");
    let rows = |key: &str| summary[key].as_array().expect("rows").clone();
    let dead = rows("processes").into_iter().find(|row| row["pid"] == victim).expect("its row");
    let name = dead["name"].as_str().expect("a name");
    assert_eq!(dead["end"], "signal: 9 (SIGKILL)");
    let end = summary["end"].as_str().expect("a sentence");
    assert!(end.contains(name) && end.contains("died"), "{end}");
    for row in rows("nodes") {
        assert!(row["executions"].as_u64() > Some(0), "{row}");
        let ended = if row["process"] == name { dead["end"].clone() } else { Value::Null };
        assert_eq!(row["process_ended"], ended, "{row}");
    }
    let notes = summary["notes"].to_string();
    assert!(notes.contains(&format!("figures of process `{name}`")), "{notes}");
    // What it did last is there, although it could not say anything any more.
    let trace = &format!("{trace}/{name}.1");
    assert!(notes.contains("trace show") && notes.contains(trace), "{notes}");
    let of_victim = timeline(&run, trace).into_iter().filter(|event| event["pid"] == victim);
    let of_victim: Vec<Value> = of_victim.collect();
    let named = |event: &&Value| event["event"] == "crossdock:process_init";
    let process = of_victim.iter().find(named).expect("its name");
    assert_eq!(process["fields"]["process_name"], name);
    let ends = of_victim.iter().filter(|event| event["event"] == "ros2:callback_end").count();
    let row = rows("nodes").into_iter().find(|row| row["process"] == name).expect("its node");
    let executions = row["executions"].as_u64().expect("a count");
    // What is older than its ring is overwritten.
    let lost = run.json(&["trace", "show", trace, "--json"])["lost"] != 0;
    assert!(ends > 0 && (lost || executions.abs_diff(ends as u64) <= 1), "{ends} {row}");
    assert_eq!(babeltrace_lines(trace), timeline(&run, trace).len());
}

/// Every event of a trace.
fn timeline(run: &Run, trace: &str) -> Vec<Value> {
    let output = run.output(&["trace", "show", trace, "--timeline", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Events that babeltrace2 finds in a trace of which it has nothing to say.
fn babeltrace_lines(trace: &str) -> usize {
    let output = Command::new("babeltrace2").arg(trace).output().expect("babeltrace2 runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    output.stdout.iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn a_traced_run_has_every_execution_and_every_message_of_the_table() {
    // So short that no thread writes more than its ring holds: nothing can be lost.
    for mapping in ["course.chain", "course.processes"] {
        let run = Run::new("traced");
        let trace = run.file("trace");
        let trace = trace.to_str().expect("UTF-8");
        let mapping = format!("apps/autorace/{mapping}.mapping.yaml");
        let ride = ["--rate", "max", "--duration", "2", "--json", "--trace", trace];
        let table = run.json(&[&["run", COURSE, "--mapping", &mapping], &ride[..]].concat());
        let shown = run.json(&["trace", "show", trace, "--json"]);
        assert_eq!(shown["lost"], 0);
        let rows = |value: &Value| value.as_array().expect("rows").clone();
        for row in rows(&table["nodes"]) {
            let traced = rows(&shown["nodes"]).into_iter().find(|it| it["node"] == row["node"]);
            let traced = traced.unwrap_or_else(|| panic!("{} is not in the trace", row["node"]));
            assert_eq!(traced["executions"]["count"], row["executions"], "{row}");
        }
        for row in rows(&table["topics"]) {
            let traced = rows(&shown["topics"]).into_iter().find(|it| it["topic"] == row["topic"]);
            let published = traced.map_or(Value::from(0), |it| it["published"].clone());
            assert_eq!(published, row["messages"], "{row}");
        }
        assert!(shown["share"]["messages"].as_u64() > Some(0), "{shown:#}");
        assert_eq!(babeltrace_lines(trace), timeline(&run, trace).len());
        let picture = run.file("trace.svg");
        let drawn =
            run.output(&["trace", "show", trace, "--svg", picture.to_str().expect("UTF-8")]);
        assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
        let picture = std::fs::read_to_string(picture).expect("a picture");
        assert!(picture.contains("compensation") && picture.ends_with("</svg>\n"));
        let used = run.output(&["run", COURSE, "--trace", trace]);
        let refusal = String::from_utf8_lossy(&used.stderr).into_owned();
        assert!(!used.status.success() && refusal.contains("not empty"), "{refusal}");
    }
}

#[test]
fn tracing_is_switched_on_and_off_while_a_graph_runs() {
    let run = Run::new("switched");
    let graph = run.start(&["run", COURSE, "--mapping", "apps/autorace/course.chain.mapping.yaml"]);
    until("some driving", || run.published("/traffic_light") >= 1);
    assert_eq!(run.json(&["trace", "show", "--json"])["events"], 0, "off at first");
    let started = run.json(&["trace", "start", "--json"]);
    assert!(
        started["traced"].as_array().expect("processes").contains(&"drive".into()),
        "{started}"
    );
    until("executions", || {
        let nodes = run.json(&["trace", "show", "--json"])["nodes"].clone();
        nodes.as_array().expect("nodes").len() >= 11
    });
    let trace = run.file("trace");
    let trace = trace.to_str().expect("UTF-8");
    let stopped = run.json(&["trace", "stop", "--json", "--output", trace]);
    assert_eq!(timeline(&run, trace).len() as u64, stopped["events"].as_u64().expect("a count"));
    // Off again: what a later look finds is what was kept then.
    let kept = run.json(&["trace", "show", "--json"])["events"].clone();
    let driven = run.published("/traffic_light");
    until("more driving", || run.published("/traffic_light") > driven);
    assert_eq!(run.json(&["trace", "show", "--json"])["events"], kept);
    let perfetto = run.file("drive.perfetto-trace");
    let converted =
        run.output(&["trace", "convert", trace, "-o", perfetto.to_str().expect("UTF-8")]);
    assert!(converted.status.success(), "{}", String::from_utf8_lossy(&converted.stderr));
    assert!(std::fs::metadata(perfetto).expect("a file").len() > 1000);
    graph.interrupt();
    assert!(graph.end().0.success());
}

/// A mapping of the course with its features in a process that is started again once.
const RESTARTED: &str = "crossdock: 1
processes:
  drive:
    executors:
      - mode: chain
        nodes: [simulator, compensation, blur, planner, polyfit, red_light, green_light, lights,
                control, snapshot]
  apart:
    restart: { when: on_failure, limit: 1, within_s: 86400, backoff_ms: 0 }
    executors: [{ mode: event, nodes: [features] }]
";

#[test]
fn a_killed_process_comes_back_with_its_names_and_is_given_up_when_it_dies_again() {
    let run = Run::new("restarted");
    let mapping = run.file("restarted.mapping.yaml");
    std::fs::write(&mapping, RESTARTED).expect("a mapping");
    let mapping = mapping.to_str().expect("a path in UTF-8");
    let graph = run.start(&["run", COURSE, "--mapping", mapping, "--json"]);
    until("some driving", || run.published("/features") >= 5);
    let last = || *family(graph.id()).last().expect("a child");
    let kill = |pid: u32| {
        let pid = rustix::process::Pid::from_raw(pid as i32).expect("a process id");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a signal");
    };
    let first = last();
    kill(first);
    until("another process", || last() != first && last() != graph.id());
    until("more features", || run.published("/features") >= 5);
    kill(last());
    let (status, table) = graph.end();
    assert_eq!(status.code(), Some(1));
    let summary: Value = serde_json::from_str(&table).expect("JSON");
    let end = summary["end"].as_str().expect("a sentence");
    assert!(end.contains("process `apart` has ended more than 1 times within 86400 s"), "{end}");
    assert!(end.contains("died: signal: 9 (SIGKILL) while "), "{end}");
    let row = |key: &str, of: &str, name: &str| -> Value {
        let rows = summary[key].as_array().expect("rows");
        rows.iter().find(|row| row[of] == name).expect("its row").clone()
    };
    assert_eq!(row("processes", "name", "apart")["restarts"], 1);
    assert_eq!(row("processes", "name", "apart")["end"], "signal: 9 (SIGKILL); given up");
    assert_eq!(row("processes", "name", "drive")["restarts"], 0);
    // The figures of both.
    assert!(row("nodes", "node", "features")["executions"].as_u64() >= Some(8), "{table}");
    let notes = summary["notes"].to_string();
    let died = format!("process `apart` (pid {first}) died: signal: 9 (SIGKILL) while ");
    for part in [died.as_str(), "it is started again in 0 ms", "process `apart` is back (pid "] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

/// A mapping of the course with the simulator and one node of its loop in processes of their own.
const LOOP: &str = "crossdock: 1
processes:
  simulator:
    restart: { when: on_failure, backoff_ms: 0 }
    executors: [{ mode: event, nodes: [simulator] }]
  blur:
    restart: { when: on_failure, backoff_ms: 0 }
    executors: [{ mode: event, nodes: [blur] }]
  rest:
    executors:
      - mode: event
        nodes: [compensation, planner, polyfit, red_light, green_light, lights, control, features,
                snapshot]
";

/// A message that is lost with `blur` leaves `control` with lights that nothing matches any more.
/// The next simulator must not publish older ones.
#[test]
fn a_loop_in_lock_step_goes_on_when_its_simulator_and_a_process_that_holds_a_message_die() {
    let run = Run::new("loop");
    let mapping = run.file("loop.mapping.yaml");
    std::fs::write(&mapping, LOOP).expect("a mapping");
    let mapping = mapping.to_str().expect("a path in UTF-8");
    let graph = run.start(&["run", COURSE, "--mapping", mapping, "--rate", "max", "--json"]);
    until("some driving", || run.published("/cmd_vel") >= 5);
    let nodes = run.json(&["node", "list", "--json"]);
    let victims = ["simulator", "blur"].map(|process| {
        let rows = nodes.as_array().expect("rows");
        let row = rows.iter().find(|row| row["process"] == process).expect("its row");
        Pid::from_raw(row["pid"].as_i64().expect("a process id") as i32).expect("a process id")
    });
    let send = |pid, signal| kill_process(pid, signal).expect("a signal");
    send(victims[1], Signal::STOP);
    let driven = settled("the loop stands still", || run.published("/cmd_vel"));
    victims.into_iter().for_each(|pid| send(pid, Signal::KILL));
    until("more driving", || run.published("/cmd_vel") >= driven + 10);
    graph.interrupt();
    let (status, table) = graph.end();
    assert!(status.success(), "{status}: {table}");
    let summary: Value = serde_json::from_str(&table).expect("JSON");
    let rows = summary["nodes"].as_array().expect("rows");
    let steps = rows.iter().find(|row| row["node"] == "simulator").expect("its row");
    let steps = steps["executions"].as_f64().expect("a count");
    // The time of both lives: a step is a fifteenth of a second.
    let simulated_s = summary["simulated_s"].as_f64().expect("a time");
    assert!(simulated_s > (steps - 0.5) / 15.0, "{simulated_s} s, {steps} steps");
}

/// What `sh` limits, and what of a run then is missing.
const LIMITS: [(&str, &[&str]); 7] = [
    ("-n 8", &["Too many open files"]),
    ("-n 20", &["Too many open files"]),
    ("-n 30", &["Too many open files"]),
    ("-f 0", &["File too large"]),
    ("-f 4000", &["File too large"]),
    ("-v 150000", NO_ADDRESS_SPACE),
    ("-v 300000", NO_ADDRESS_SPACE),
];

/// Of what is mapped, or of a thread's stack.
const NO_ADDRESS_SPACE: &[&str] =
    &["Cannot allocate memory", "check the limits on threads and address space"];

#[test]
fn a_run_that_lacks_something_says_what_and_leaves_nothing() {
    let run = Run::new("limited");
    let record = run.file("drive.mcap");
    let words = ["run", COURSE, "--rate", "max", "--duration", "0.1", "--record"];
    let limited = |limit: &str| {
        let mut command = std::process::Command::new("sh");
        let own = run.crossdock(&words);
        command.args(["-c", &format!("ulimit {limit} && exec \"$@\""), "sh"]);
        command.arg(own.get_program()).args(own.get_args()).arg(&record);
        command.current_dir(own.get_current_dir().expect("a folder"));
        let variables = own.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        command.output().expect("a shell")
    };
    for (limit, missing) in LIMITS {
        let output = limited(limit);
        let said =
            [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        let said = said.join("\n");
        assert_eq!(output.status.code(), Some(1), "{limit}: {said}");
        let is_said = missing.iter().any(|missing| said.contains(missing));
        assert!(is_said && !said.contains("panicked"), "{limit}: {said}");
        let sockets = std::fs::read_dir(run.runtime().join("crossdock/0"));
        assert_eq!(sockets.map_or(0, Iterator::count), 0, "{limit}: {said}");
        // As far as it came.
        let _ = std::fs::remove_file(&record);
    }
    let output = limited("-n 1024");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
}

#[test]
fn the_shipped_chains_make_the_command_before_what_no_command_waits_for() {
    let run = Run::new("order");
    for graph in [COURSE, HIGHWAY] {
        let plan = run.json(&["check", graph, "--json"]);
        let nodes = plan["processes"][0]["executors"][0]["nodes"].as_array().expect("nodes");
        let names: Vec<&str> = nodes.iter().map(|it| it["name"].as_str().expect("text")).collect();
        let control = names.iter().position(|name| *name == "control").expect("control");
        for later in ["lights", "features", "snapshot"] {
            let place = names.iter().position(|name| *name == later);
            assert!(place.is_none_or(|place| place > control), "{later} in {names:?}");
        }
    }
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
    // A wrong key hides nothing: not the wrong node type above it, nor a wrong node of the mapping.
    let both = wrong_key.replace("type: decode", "type: decoed");
    assert_ne!(both, wrong_key);
    refused("both.yaml", &both, &["both.yaml:", "inptus", "decoed", "decode"]);
    let mapping = "crossdock: 1\nproceses: {}\nprocesses:\n  all: { executors: [ { mode: chain, \
                   nodes: [nobody] } ] }\n";
    std::fs::write(run.file("mapping.yaml"), mapping).expect("a file");
    let mapping = run.file("mapping.yaml").display().to_string();
    let output = run.output(&["check", HIGHWAY, "--mapping", &mapping]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("proceses") && errors.contains("`nobody`"), "{errors}");
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
fn a_second_run_in_the_domain_is_refused_and_does_not_disturb_the_first() {
    let run = Run::new("two_runs");
    let first = run.start(&["run", COURSE, "--duration", "6", "--json"]);
    until("some driving", || run.published("/cmd_vel") > 0);
    let output = run.output(&["run", COURSE, "--rate", "max", "--duration", "1"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for part in ["domain 0", "process `autorace` (pid ", "--domain-id"] {
        assert!(errors.contains(part), "`{part}` is missing in: {errors}");
    }
    let beside = ["run", COURSE, "--rate", "max", "--duration", "1", "--domain-id", "7", "--json"];
    assert_eq!(run.json(&beside)["ok"], true);
    let (status, summary) = first.end();
    assert!(status.success(), "{summary}");
}

#[test]
fn wrong_places_are_refused_once_with_place_and_advice_before_anything_runs() {
    let run = Run::new("wrong_places");
    let refused = |words: &[&str], told: &[&str]| {
        let output = run.output(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {errors}");
        assert_eq!(errors.matches("os error").count(), 1, "told once: {errors}");
        for part in told {
            assert!(errors.contains(part), "{words:?}: `{part}` is missing in: {errors}");
        }
    };
    let nowhere = run.file("no_folder/file");
    let nowhere = nowhere.to_str().expect("UTF-8");
    refused(&["run", "nosuch.yaml"], &["nosuch.yaml", "check the name"]);
    refused(&["check", "apps"], &["graph file apps", "name a file in it"]);
    refused(&["graph", COURSE, "-o", nowhere], &[nowhere, "make its folder first"]);
    let max = ["run", COURSE, "--rate", "max", "--summary"];
    refused(&[&max[..], &[nowhere]].concat(), &["--summary", nowhere, "make its folder first"]);
    // Nobody can create a file there, whatever the rights.
    let record = ["run", COURSE, "--rate", "max", "--record", "/proc/out.mcap"];
    refused(&record, &["/proc/out.mcap cannot be created", "give a place"]);
    // The magic, and nothing after it.
    let stub = run.file("stub.mcap");
    std::fs::write(&stub, b"\x89MCAP0\r\n").expect("a file");
    let output = run.output(&["run", HIGHWAY, "--input", stub.to_str().expect("UTF-8")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("no topic that can be read"), "{errors}");
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

/// The kernels of the tree: files that end in `.cl`, beside the code that launches them.
fn kernel_files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            kernel_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "cl") {
            let inside = path.strip_prefix(workspace()).expect("inside");
            found.push(inside.to_str().expect("UTF-8").to_owned());
        }
    }
}

#[test]
fn every_kernel_of_the_tree_compiles_for_the_gpus_that_are_named() {
    let run = Run::new("kernels");
    let mut files = Vec::new();
    for folder in ["apps", "crates"] {
        kernel_files(&workspace().join(folder), &mut files);
    }
    let compile = |files: &[String]| {
        let mut command = run.crossdock(&["device", "compile", "--json"]);
        let output = command.args(files).env("CROSSDOCK_NVRTC", nvrtc()).output().expect("a start");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{printed}{errors}");
        serde_json::from_str::<Value>(&printed).expect("JSON")
    };
    // Crossdock's own are inside the command.
    let mut rows = compile(&[])["compiled"].as_array().expect("rows").clone();
    assert!(rows.iter().any(|row| row["kernels"] == "examination"), "{rows:?}");
    if !files.is_empty() {
        rows.extend(compile(&files)["compiled"].as_array().expect("rows").iter().cloned());
    }
    assert_eq!(rows.len(), (3 + files.len()) * 4);
    for row in rows {
        let architecture = row["architecture"].as_str().expect("a name");
        assert!(["sm_75", "sm_87", "sm_90", "sm_110"].contains(&architecture), "{row}");
        assert_eq!((&row["compiled"], &row["error"]), (&Value::Bool(true), &Value::Null), "{row}");
    }
}

#[test]
fn kernels_that_do_not_compile_and_a_compiler_that_is_not_there_are_told_with_the_next_step() {
    let run = Run::new("no_kernels");
    let file = run.file("blur.cl");
    std::fs::write(&file, "\nXD_KERNEL k(XD_OUT(image)) {\n    blur(1);\n}\n").expect("a file");
    let file = file.to_str().expect("UTF-8");
    let compile = |arguments: &[&str], nvrtc: &Path| {
        let mut command = run.crossdock(&[&["device", "compile"], arguments].concat());
        let output = command.env("CROSSDOCK_NVRTC", nvrtc).output().expect("a start");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        (String::from_utf8_lossy(&output.stdout).into_owned(), errors)
    };
    let (table, errors) = compile(&[file, "--architecture", "sm_87,sm_52"], &nvrtc());
    assert_eq!(table.matches("FAILED").count(), 2, "{table}");
    let place = format!("{file}:3: error: identifier \"blur\" is undefined");
    let told = [&*place, "cannot be made for sm_52", "CROSSDOCK_NVRTC"];
    assert!(told.iter().all(|part| errors.contains(part)), "{errors}");
    let (_, errors) = compile(&[file], Path::new("/nowhere"));
    assert_eq!(
        errors,
        "error: CUDA: kernels cannot be compiled: no NVRTC: /nowhere has no libnvrtc.so; \
         name the folder that has it in CROSSDOCK_NVRTC\n"
    );
    let (_, errors) = compile(&["/nowhere/blur.cl"], &nvrtc());
    assert!(errors.contains("/nowhere/blur.cl cannot be read"), "{errors}");
    let output = run.output(&["device", "compile", "--architecture", "87"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("such as sm_87"));
}

#[test]
fn a_machine_without_a_cuda_driver_is_told_so_by_every_command_and_none_panics() {
    let run = Run::new("no_cuda");
    let list = run.json(&["device", "list", "--json"]);
    let rows = list.as_array().expect("rows");
    if rows.iter().any(|row| row["backend"] == "cuda") {
        skip("this machine has a CUDA device");
        return;
    }
    for device in ["cuda:0", "shadow:cuda:0"] {
        for command in ["info", "test"] {
            let output = run.output(&["device", command, device]);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{errors}");
            let told =
                ["error: there is no device \"cuda:0\" here (", "CUDA driver", "device list"];
            assert!(told.iter().all(|part| errors.contains(part)), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
