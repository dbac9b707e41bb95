//! An hour of the course in eleven processes while programs look at it, stop it, kill parts of it
//! and come and go beside it: every message is accounted for, and nothing grows.
#![allow(clippy::print_stdout, reason = "the seed is printed")]

use crossdock_suite::{Run, Running, until};
use crossdock_test_support::{Random, done, long, workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

const COURSE: &str = "apps/autorace/course.graph.yaml";
const PROCESSES: &str = "apps/autorace/course.processes.mapping.yaml";

/// The processes that are killed and started again. All others live as long as the run.
const KILLED: [&str; 3] = ["features", "snapshot", "lights"];

/// Topics each of whose subscribers is executed once for each message, with these subscribers.
const ACCOUNTED: [(&str, &[&str]); 4] = [
    ("/camera/image_raw", &["compensation", "snapshot"]),
    ("/camera/image_compensated", &["blur", "red_light", "green_light", "features"]),
    ("/camera/image_blurred", &["planner"]),
    ("/lane/view", &["polyfit"]),
];

/// A second graph on the vehicle's command, deeper than its publisher.
const LISTENER: &str = "crossdock: 1
name: listener
topics: { /cmd_vel: { type: geometry_msgs/msg/TwistStamped, external: true } }
nodes:
  simulator:
    package: autorace
    type: simulator
    inputs: { command: { topic: /cmd_vel, qos: { depth: 1000 }, trigger: false } }
    timers: { step: { rate_hz: 5 } }
";

/// What a process uses: descriptors, threads, resident KiB.
#[derive(Clone, Copy, Debug)]
struct Usage {
    descriptors: usize,
    threads: usize,
    resident_kib: usize,
}

fn usage(pid: u32) -> Usage {
    let entries = |name: &str| {
        std::fs::read_dir(format!("/proc/{pid}/{name}")).expect("a living process").count()
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let resident_kib = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    Usage { descriptors: entries("fd"), threads: entries("task"), resident_kib }
}

/// Process ids of the run's processes by name.
fn processes(run: &Run) -> BTreeMap<String, u32> {
    let output = run.output(&["node", "list", "--json"]);
    let nodes = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
    let nodes = nodes.as_array().cloned().unwrap_or_default();
    let row = |node: &Value| {
        Some((node["process"].as_str()?.to_owned(), u32::try_from(node["pid"].as_u64()?).ok()?))
    };
    nodes.iter().filter_map(row).collect()
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process id");
    // A process that has just ended needs no signal.
    let _ = kill_process(pid, signal);
}

/// Those that look: each is started, reads for a while, and is killed.
const OBSERVERS: [&[&str]; 5] = [
    &["top", "--json"],
    &["topic", "hz", "/cmd_vel", "--json"],
    &["topic", "bw", "/camera/image_raw", "--json"],
    &["topic", "echo", "/lane", "--json"],
    &["topic", "echo", "/features", "--json"],
];

/// Does one thing to the run.
fn disturb(run: &Run, random: &mut Random, listener: &str) {
    let processes = processes(run);
    match random.below(4) {
        0 => {
            let observer = *random.one_of(&OBSERVERS);
            let mut observer = run.start(observer);
            // Until it has seen something; it is killed when it is dropped.
            let _ = observer.line();
        }
        1 => {
            let mut second = run.start(&["run", listener]);
            second.signal(if random.below(2) == 0 { Signal::KILL } else { Signal::INT });
            let _ = second.line();
        }
        2 => {
            let names: Vec<&String> = processes.keys().collect();
            let Some(name) = (!names.is_empty()).then(|| *random.one_of(&names)) else {
                return;
            };
            signal(processes[name], Signal::STOP);
            // How long it stands still, not a synchronisation.
            std::thread::sleep(Duration::from_millis(random.below(700)));
            signal(processes[name], Signal::CONT);
        }
        _ => {
            let name = *random.one_of(&KILLED);
            let Some(pid) = processes.get(name).copied() else { return };
            signal(pid, Signal::KILL);
            until("its next life", || {
                let now = self::processes(run);
                now.is_empty() || now.get(name).is_some_and(|next| *next != pid)
            });
        }
    }
}

fn mapping(run: &Run) -> String {
    let mut text = std::fs::read_to_string(workspace().join(PROCESSES)).expect("the mapping");
    let restart = "restart: { when: on_failure, limit: 100000, within_s: 60, backoff_ms: 10 }";
    for name in KILLED {
        let line = format!("  {name}: {{ ");
        assert!(text.contains(&line), "{name} has a process");
        text = text.replace(&line, &format!("{line}{restart}, "));
    }
    let file = run.file("restarts.mapping.yaml");
    std::fs::write(&file, text).expect("a file");
    file.to_str().expect("a path in UTF-8").to_owned()
}

/// Every message is either an execution of its subscriber or a loss with a cause.
fn account(summary: &Value) {
    let number = |value: &Value| value.as_u64().expect("a count");
    let rows = |key: &str| summary[key].as_array().expect("rows").clone();
    let executions = |name: &str| {
        let nodes = rows("nodes");
        let node = nodes.iter().find(|node| node["node"] == name).expect("the node").clone();
        number(&node["executions"])
    };
    for (topic, subscribers) in ACCOUNTED {
        let topics = rows("topics");
        let row = topics.iter().find(|row| row["topic"] == topic).expect("the topic");
        let messages = number(&row["messages"]);
        let losses = row["losses"].as_object().expect("losses").values().map(number);
        let lost: u64 = losses.sum();
        let executed: u64 = subscribers.iter().map(|name| executions(name)).sum();
        let wanted = messages * subscribers.len() as u64;
        assert_eq!(executed + lost, wanted, "{topic}: {row}\n{}", summary["nodes"]);
    }
}

#[test]
#[ignore = "long: a quarter of an hour"]
fn an_hour_of_the_course_under_disturbance_accounts_for_every_message_and_grows_by_nothing() {
    let simulated_s = if long() { 3600 } else { 60 };
    let mut random = Random::new("hour");
    let run = Run::new("hour");
    let listener = run.file("listener.graph.yaml");
    std::fs::write(&listener, LISTENER).expect("a file");
    let listener = listener.to_str().expect("a path in UTF-8");
    let mut command = run.crossdock(&[
        "run",
        COURSE,
        "--mapping",
        &mapping(&run),
        "--rate",
        "max",
        "--duration",
        &simulated_s.to_string(),
        "--json",
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let course = Running::spawn(command);
    until("the drive", || run.published("/odom") > 0);
    let frames = simulated_s * 15;
    let started = Instant::now();
    let mut warm: Option<BTreeMap<String, (u32, Usage)>> = None;
    let mut last = BTreeMap::new();
    let mut disturbances = 0;
    loop {
        let done = run.published("/odom");
        if done == 0 || done + 30 >= frames {
            break;
        }
        disturb(&run, &mut random, listener);
        disturbances += 1;
        let lasting =
            processes(&run).into_iter().filter(|(name, _)| !KILLED.contains(&name.as_str()));
        let now: BTreeMap<_, _> = lasting
            .filter(|(_, pid)| std::path::Path::new(&format!("/proc/{pid}/status")).exists())
            .map(|(name, pid)| (name, (pid, usage(pid))))
            .collect();
        if warm.is_none() && done > frames / 10 && !now.is_empty() {
            warm = Some(now.clone());
        }
        // At the end of the run some have gone already.
        if warm.iter().flatten().all(|(name, _)| now.contains_key(name)) {
            last = now;
        }
    }
    let (status, summary) = course.end();
    assert!(status.success(), "{summary}");
    println!("disturbed for {:.0} s", started.elapsed().as_secs_f64());
    done(disturbances, "disturbances");
    done(simulated_s, "simulated_s");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    account(&summary);
    for (name, (pid, before)) in warm.expect("a tenth of the way") {
        let (same, after) = &last[&name];
        assert_eq!(pid, *same, "{name} is the process that it was");
        // What an observer or a second graph opens, it may have open at the moment of the look.
        assert!(after.descriptors < before.descriptors + 16, "{name}: {before:?} {after:?}");
        assert!(after.threads <= before.threads + 1, "{name}: {before:?} {after:?}");
        assert!(
            after.resident_kib < before.resident_kib + (16 << 10),
            "{name}: {before:?} {after:?}"
        );
    }
    // A command that looks removes what those left that were killed.
    until("no name stays behind", || processes(&run).is_empty() && run.names(0).is_empty());
}
