//! Looking at running graphs: what is seen, what it costs those who are looked at, who does not
//! answer.

use crossdock_suite::{Run, Running, Terminal, children, settled, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";
const COURSE: &str = "apps/autorace/course.graph.yaml";
const HIGHWAY_PROCESSES: &str = "apps/autorace/highway.processes.mapping.yaml";
const COURSE_PROCESSES: &str = "apps/autorace/course.processes.mapping.yaml";

/// What threads have done so far, as the kernel counts it: context switches of both kinds, and time
/// on a processor with the number of turns. A thread for which all of these stay has not run: it
/// has made no system call and nobody has woken it.
fn work(pids: &[u32], wanted: impl Fn(&str) -> bool) -> BTreeMap<String, (Vec<String>, String)> {
    let mut work = BTreeMap::new();
    for pid in pids {
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).expect("tasks") {
            let task = task.expect("a task").path();
            let read = |name: &str| std::fs::read_to_string(task.join(name)).unwrap_or_default();
            let name = read("comm").trim().to_owned();
            if wanted(&name) {
                let status = read("status");
                let switches = status.lines().filter(|line| line.contains("ctxt_switches:"));
                let switches = switches.map(str::to_owned).collect();
                work.insert(format!("{} {name}", task.display()), (switches, read("schedstat")));
            }
        }
    }
    work
}

/// Ten observers of all kinds, each of which has looked at least once.
struct Observers {
    /// Nine with the number of lines that they have written since; what they write is read all the
    /// time.
    measuring: Vec<(Running, Arc<AtomicUsize>)>,
    echo: Running,
}

impl Observers {
    fn start(run: &Run, ring: &str) -> Self {
        let words: [&[&str]; 9] = [
            &["top", "--json", "-d", "0.1"],
            &["top", "--json", "-d", "0.3", "-o", "cpu"],
            &["top", "-d", "0.2"],
            &["topic", "hz", ring, "--interval", "0.1"],
            &["topic", "hz", "/cmd_vel", "--interval", "0.2", "--json"],
            &["topic", "bw", ring, "--interval", "0.1"],
            &["topic", "bw", "/cmd_vel", "--interval", "0.2", "--json"],
            &["topic", "delay", ring, "--age", "--interval", "0.1"],
            &["topic", "delay", "/cmd_vel", "--age", "--interval", "0.2", "--json"],
        ];
        let echo = run.start(&["topic", "echo", ring, "--json"]);
        let started: Vec<_> = words.into_iter().map(|words| (words, run.start(words))).collect();
        let measuring = started.into_iter().map(|(words, mut observer)| {
            assert!(observer.line().is_some(), "crossdock {words:?} ended");
            let lines = observer.count_lines();
            (observer, lines)
        });
        let measuring = measuring.collect();
        // It says nothing before there is a message, but has the ring in its memory.
        let maps = format!("/proc/{}/maps", echo.id());
        until("an echo", || {
            std::fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("memfd:crossdock:"))
        });
        Self { measuring, echo }
    }

    /// Waits until each of the nine has looked again.
    fn must_look_again(&self) {
        let before: Vec<usize> = self.measuring.iter().map(|(_, it)| it.load(Relaxed)).collect();
        until("another look of each observer", || {
            let pairs = self.measuring.iter().zip(&before);
            pairs.into_iter().all(|((_, lines), before)| lines.load(Relaxed) > *before)
        });
    }
}

#[test]
fn ten_observers_leave_an_idle_graph_asleep() {
    let run = Run::new("idle_observed");
    let mut command = run.crossdock(&["run", HIGHWAY, "--mapping", HIGHWAY_PROCESSES]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let graph = Running::spawn(command);
    let ready = |info: &Value| info["connections"]["ring"].as_u64() == Some(3);
    until("the graph", || {
        let info = run.output(&["topic", "info", "/traffic_light/red", "--json"]);
        serde_json::from_slice::<Value>(&info.stdout).is_ok_and(|info| ready(&info))
    });
    let observed = children(graph.id());
    assert_eq!(observed.len(), 10);
    let observers = Observers::start(&run, "/traffic_light/red");
    let look = || work(&observed, |_| true);
    // The attach wakes each process's control thread: wait until a second passes without anything.
    let before = settled("an idle graph", look);
    // The length of the observation, not a synchronisation.
    std::thread::sleep(Duration::from_secs(3));
    observers.must_look_again();
    assert_eq!(look(), before);
}

#[test]
fn ten_observers_of_a_driving_graph_take_nothing_and_wake_no_control_thread() {
    let run = Run::new("driving_observed");
    let arguments = ["run", COURSE, "--mapping", COURSE_PROCESSES, "--json"];
    let graph = run.start(&arguments);
    until("some driving", || run.published("/cmd_vel") >= 5);
    let observed = children(graph.id());
    let connections = || run.json(&["topic", "info", "/cmd_vel", "--json"])["connections"].clone();
    let before = connections();
    let mut observers = Observers::start(&run, "/cmd_vel");
    assert_eq!(connections(), before, "an observer is no subscriber");
    let control = || work(&observed, |thread| thread == "crossdock-ctl");
    assert_eq!(control().len(), observed.len());
    let seen = settled("control threads at rest", control);
    for _ in 0..10 {
        let message = observers.echo.line().expect("a message");
        let message: Value = serde_json::from_str(&message).expect("JSON");
        assert!(message["message"]["twist"]["linear"].is_object(), "{message}");
    }
    observers.must_look_again();
    assert_eq!(control(), seen, "nothing but the graph's own threads has worked");
    graph.interrupt();
    let (status, summary) = graph.end();
    assert!(status.success(), "{summary}");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let topics = summary["topics"].as_array().expect("topics");
    let row = topics.iter().find(|row| row["topic"] == "/cmd_vel").expect("its row");
    assert_eq!(row["copies"], 0, "{row}");
}

/// What `crossdock ARGUMENTS` prints once it is as wanted: on a busy machine not the first time.
fn seen(run: &Run, arguments: &[&str], is_so: impl Fn(&Value) -> bool) -> Value {
    let mut seen = Value::Null;
    until("what is to be seen", || {
        seen = run.json(arguments);
        is_so(&seen)
    });
    seen
}

/// The row of a table with this value in this column.
fn row<'a>(rows: &'a Value, column: &str, value: &str) -> &'a Value {
    let rows = rows.as_array().expect("rows");
    rows.iter().find(|row| row[column] == value).unwrap_or_else(|| panic!("{value} in {rows:?}"))
}

#[test]
fn a_driving_graph_is_seen_from_all_sides() {
    let run = Run::new("sides");
    let graph = run.start(&["run", COURSE, "--mapping", COURSE_PROCESSES, "--json"]);
    until("some driving", || run.published("/cmd_vel") >= 10);
    let top = seen(&run, &["top", "--once", "--json"], |top| {
        row(&top["nodes"], "node", "control")["executions_per_s"].as_f64() > Some(0.0)
    });
    let control = row(&top["nodes"], "node", "control");
    assert!(control["mean_ns"].as_u64() > Some(0) && control["p99_ns"].as_u64() > Some(0));
    assert!(control["cpu"].as_f64().is_some_and(|share| share > 0.0 && share < 2.0), "{control}");
    assert_eq!(control["type"], "autorace/lane_control");
    let process = row(&top["processes"], "process", control["process"].as_str().expect("a name"));
    assert!(process["cpu"].as_f64() > Some(0.0) && process["resident_bytes"].as_u64() > Some(0));
    let executor = row(&top["executors"], "executor", control["executor"].as_str().expect("one"));
    assert!(executor["cpu"].as_f64() > Some(0.0) && executor["nodes"] == 1, "{executor}");
    let topic = row(&top["topics"], "topic", "/cmd_vel");
    assert!(topic["rate_hz"].as_f64() > Some(0.0) && topic["age_ns"].as_u64().is_some());
    assert!(topic["taken_age_ns"].as_u64().is_some() && topic["subscribers"] == 1, "{topic}");
    assert!(top["chains"][0]["from"].is_string(), "{}", top["chains"]);

    let list = run.json(&["node", "list", "--json"]);
    assert_eq!(row(&list, "node", "control")["pid"], process["pid"]);
    let info = run.json(&["node", "info", "/control", "--json"]);
    let info = &info[0];
    assert_eq!(info["executor"]["name"], executor["executor"]);
    assert!(info["execution_times"]["p99_ns"].as_u64() > Some(0), "{info}");
    let published = row(&info["publishers"], "topic", "/cmd_vel");
    assert!(published["messages"].as_u64() >= Some(10), "{published}");
    let simulator = run.json(&["node", "info", "simulator", "--json"]);
    assert!(simulator[0]["timers"][0]["period_ns"].as_u64() > Some(0), "{simulator}");
    let shown = run.output(&["node", "info", "control"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for part in
        ["Subscribers:", "Publishers:", "/cmd_vel: geometry_msgs/msg/TwistStamped", "Executor:"]
    {
        assert!(shown.contains(part), "`{part}` is missing in: {shown}");
    }

    let picture = run.output(&["graph", "--live", "--format", "svg", "--interval", "0.5"]);
    let picture = String::from_utf8_lossy(&picture.stdout).into_owned();
    for part in [">control</text>", ">/cmd_vel</text>", " Hz</title>", " /s, "] {
        assert!(picture.contains(part), "`{part}` is missing in the picture");
    }
    let dot = run.output(&["graph", "--live", "--interval", "0.3"]);
    assert!(String::from_utf8_lossy(&dot.stdout).contains(" Hz\"];"));

    let hz = seen(&run, &["topic", "hz", "/cmd_vel", "-n", "1", "--json"], |hz| {
        hz["interval_s"]["window"].as_u64() > Some(1)
    });
    assert!(hz["hz"].as_f64() > Some(0.0) && hz["interval_s"]["min"].as_f64() > Some(0.0), "{hz}");
    let bw = ["topic", "bw", "/cmd_vel", "-n", "1", "-w", "10", "--json"];
    let bw = seen(&run, &bw, |bw| bw["bytes_per_s"].as_f64() > Some(0.0));
    assert_eq!(bw["message_bytes"]["min"], bw["message_bytes"]["max"], "{bw}");
    let camera = "/camera/image_compensated";
    let delay = seen(&run, &["topic", "delay", camera, "-n", "1", "--json"], |delay| {
        delay["messages"].as_u64() > Some(0)
    });
    assert!(delay["delay_s"]["mean"].is_number(), "{delay}");
    let age = run.json(&["topic", "delay", "/cmd_vel", "--age", "-n", "1", "--json"]);
    assert_eq!(row(&age["ages"], "port", "published")["node"], "control");
    let field = ["topic", "echo", "/cmd_vel", "--once", "--field", "twist.linear.x", "--json"];
    assert!(run.json(&field)["message"].is_number());
    let typed = run.output(&["topic", "list", "-t"]);
    let typed = String::from_utf8_lossy(&typed.stdout).into_owned();
    assert!(
        typed.lines().any(|line| line == "/cmd_vel [geometry_msgs/msg/TwistStamped]"),
        "{typed}"
    );
    graph.interrupt();
    assert!(graph.end().0.success());
}

/// Sends a signal to a process that the test has not started itself.
fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("a process id");
    kill_process(pid, signal).expect("a signal");
}

#[test]
fn a_stopped_process_holds_nobody_up_and_is_seen_when_it_goes_on() {
    let run = Run::new("stopped");
    let graph = run.start(&["run", HIGHWAY, "--mapping", HIGHWAY_PROCESSES, "--json"]);
    until("the graph", || {
        let count = run.output(&["node", "list", "-c"]);
        String::from_utf8_lossy(&count.stdout).trim() == "10"
    });
    let stopped = children(graph.id())[3];
    signal(stopped, Signal::STOP);
    let stat = format!("/proc/{stopped}/stat");
    until("a stopped process", || {
        std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "))
    });
    let list = run.output(&["node", "list", "--json"]);
    let errors = String::from_utf8_lossy(&list.stderr).into_owned();
    let nodes: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    assert_eq!(nodes.as_array().map(Vec::len), Some(9), "{errors}");
    for part in [&*format!("pid {stopped}"), "kill -CONT"] {
        assert!(errors.contains(part), "`{part}` is missing in: {errors}");
    }
    let mut top = run.start(&["top", "--json", "-d", "0.1"]);
    let mut look =
        || -> Value { serde_json::from_str(&top.line().expect("a look")).expect("JSON") };
    let seen = look();
    assert_eq!(seen["nodes"].as_array().map(Vec::len), Some(9), "{seen}");
    assert!(seen["unreachable"][0].as_str().is_some_and(|why| why.contains("kill -CONT")));
    signal(stopped, Signal::CONT);
    until("all nodes", || {
        let seen = look();
        seen["nodes"].as_array().map(Vec::len) == Some(10) && seen["unreachable"][0].is_null()
    });
    // One that stops later is still read, as it was, and marked.
    signal(stopped, Signal::STOP);
    until("a mark", || {
        let seen = look();
        let rows = seen["processes"].as_array().cloned().unwrap_or_default();
        rows.iter().any(|row| row["pid"] == stopped && row["stopped"] == true)
    });
    signal(stopped, Signal::CONT);
    graph.interrupt();
    assert!(graph.end().0.success());
    until("an empty domain", || look()["nodes"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn where_nothing_runs_commands_say_what_to_do() {
    let run = Run::new("nothing");
    let told = |words: &[&str], code: i32| {
        let output = run.output(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.contains("--domain-id"), "crossdock {words:?}: {text}");
    };
    for words in [&["topic", "list"][..], &["node", "list"], &["top", "--once", "-d", "0.01"]] {
        told(words, 0);
    }
    for command in ["hz", "bw", "delay", "echo", "info"] {
        told(&["topic", command, "/nothing"], 1);
    }
    told(&["node", "info", "nobody"], 1);
    told(&["graph", "--live"], 1);
    // A run that was killed leaves its sockets; the next look removes them, in its domain only.
    let graph = ["run", HIGHWAY, "--mapping", HIGHWAY_PROCESSES, "--domain-id", "5"];
    let graph = run.start(&graph);
    let count = |domain: &str| {
        let count = run.output(&["node", "list", "-c", "--domain-id", domain]);
        String::from_utf8_lossy(&count.stdout).trim().to_owned()
    };
    until("the graph", || count("5") == "10");
    assert_eq!(count("0"), "0");
    // Its launcher clears none of them away meanwhile.
    signal(graph.id(), Signal::STOP);
    let all = [children(graph.id()), vec![graph.id()]].concat();
    all.into_iter().for_each(|pid| signal(pid, Signal::KILL));
    drop(graph);
    // One that is not gone yet when it is looked for is cleared away by a later look.
    until("an empty folder", || count("5") == "0" && run.names(5).is_empty());
}

/// `crossdock top` on a terminal.
fn top_on(run: &Run, terminal: &Terminal) -> Running {
    let mut command = run.crossdock(&["top", "-d", "0.1"]);
    command.stdin(terminal.side()).stdout(terminal.side()).stderr(Stdio::null());
    Running::spawn(command)
}

#[test]
fn top_lives_through_the_end_of_what_it_shows_and_gives_the_terminal_back() {
    const ENTERED: &str = "\u{1b}[?1049h";
    const LEFT: &str = "\u{1b}[?1049l";
    let run = Run::new("top");
    let terminal = Terminal::open();
    let top = top_on(&run, &terminal);
    until("an empty table", || terminal.text().contains("no graph is running in domain 0"));
    let graph = run.start(&["run", COURSE, "--json"]);
    until("nodes", || terminal.text().contains("compensation"));
    assert!(terminal.text().starts_with(ENTERED) && !terminal.text().contains(LEFT));
    terminal.press("s");
    until("another order", || terminal.text().contains("sorted by cpu"));
    graph.interrupt();
    assert!(graph.end().0.success());
    let before = terminal.text().len();
    until("an empty table again", || terminal.text()[before..].contains("no graph is running"));
    terminal.press("q");
    assert!(top.end().0.success());
    until("the terminal as it was", || terminal.text().ends_with(LEFT));
    // A signal ends it just as cleanly.
    let terminal = Terminal::open();
    let top = top_on(&run, &terminal);
    until("a table", || terminal.text().contains("no graph is running"));
    top.signal(Signal::TERM);
    assert!(top.end().0.success());
    until("the terminal as it was", || terminal.text().ends_with(LEFT));
}

#[test]
fn a_thousand_nodes_are_listed() {
    const NODES: usize = 1000;
    const PROCESSES: usize = 4;
    let run = Run::new("thousand");
    let mut graph = "crossdock: 1\nname: thousand\ntopics:\n".to_owned();
    graph.push_str("  /camera: { type: sensor_msgs/msg/Image, external: true, max_bytes: 1000 }\n");
    let mut nodes = String::new();
    let mut processes = vec![Vec::new(); PROCESSES];
    for node in 0..NODES {
        let next = (node + 1) % NODES;
        graph.push_str(&format!("  /light_{node}: {{ max_bytes: 1000 }}\n"));
        nodes.push_str(&format!(
            "  n_{node}:\n    package: autorace\n    type: red_light\n    inputs: {{ image: /camera, \
             other: {{ topic: /light_{next}, trigger: false }} }}\n    outputs: {{ light: \
             /light_{node} }}\n"
        ));
        processes[node * PROCESSES / NODES].push(format!("n_{node}"));
    }
    graph.push_str("nodes:\n");
    graph.push_str(&nodes);
    let mut mapping = "crossdock: 1\nprocesses:\n".to_owned();
    for (index, nodes) in processes.iter().enumerate() {
        let nodes = nodes.join(", ");
        mapping.push_str(&format!(
            "  p_{index}: {{ executors: [{{ mode: event, nodes: [{nodes}] }}] }}\n"
        ));
    }
    let files = [("thousand.graph.yaml", graph), ("thousand.mapping.yaml", mapping)];
    let [graph, mapping] = files.map(|(name, content)| {
        let file = run.file(name);
        std::fs::write(&file, content).expect("a file");
        file.to_str().expect("a path in UTF-8").to_owned()
    });
    let running = run.start(&["run", &graph, "--mapping", &mapping, "--json"]);
    let mut seen = 0;
    until("a thousand nodes", || {
        let nodes = run.json(&["node", "list", "--json"]);
        let nodes = nodes.as_array().expect("rows");
        seen = nodes.iter().filter(|row| row["type"] == "autorace/red_light").count();
        seen == NODES
    });
    assert_eq!(run.json(&["node", "info", "n_999", "--json"])[0]["process"], "p_3");
    let top = run.json(&["top", "--once", "-d", "0.1", "--json"]);
    assert_eq!(top["nodes"].as_array().map(Vec::len), Some(NODES), "of {seen}");
    assert_eq!(row(&top["topics"], "topic", "/light_999")["subscribers"], 1);
    running.interrupt();
    let (status, told) = running.end();
    assert!(status.success(), "{told}");
}
