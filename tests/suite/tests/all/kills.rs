//! A graph of ten processes, two of them with a device, and a fabric with its host: processes are
//! killed at random moments, and the run goes on as its mapping says. At the end every message,
//! descriptor and process is accounted for. Needs an OpenCL driver (PoCL) and the tools of the
//! hardware.
//!
//! Twenty kills; with CROSSDOCK_LONG=1 two thousand, or as many as `CROSSDOCK_KILLS` says. The seed
//! is printed; `CROSSDOCK_SEED` repeats a run's decisions (the moments are the machine's).
#![allow(clippy::print_stdout, reason = "the decisions are printed")]

use crossdock_suite::{Run, Running, until};
use crossdock_test_support::{done, hardware_tools, long, number, seed, skip, workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The course, but its fabric gets every tenth picture: a simulated board is slower than the drive.
const GRAPH: &str = "crossdock: 1
name: ten
topics:
  /image: { max_bytes: 1000000 }
  /few: { max_bytes: 1000000, bounds: { data: 921600, header.frame_id: 64, encoding: 16 } }
  /compensated: { max_bytes: 1000000, bounds: { data: 921600, header.frame_id: 64, encoding: 16 } }
  /blurred: { max_bytes: 1000000 }
  /view: { max_bytes: 700000 }
  /features: { max_bytes: 60000 }
nodes:
  simulator:
    package: autorace
    type: simulator
    inputs: { command: { topic: /cmd_vel, trigger: false } }
    outputs: { image: /image, odometry: /odom, light: /course/light }
    timers: { step: { rate_hz: 15 } }
    lockstep: { timer: step, command: command }
  blur: { package: autorace, type: gaussian_blur, inputs: { image: /image }, outputs: { blurred: /blurred } }
  planner:
    package: autorace
    type: lane_planner
    inputs: { image: /blurred }
    outputs: { view: /view }
    parameters: { rectify: false }
  polyfit: { package: autorace, type: polyfit, inputs: { view: /view }, outputs: { lane: /lane } }
  red_light:
    package: autorace
    type: red_light
    inputs: { image: /image, other: { topic: /green, trigger: false } }
    outputs: { light: /red }
  green_light:
    package: autorace
    type: green_light
    inputs: { image: /image, other: { topic: /red, trigger: false } }
    outputs: { light: /green }
  control:
    package: autorace
    type: lane_control
    inputs: { lane: /lane, red: /red, green: /green }
    outputs: { command: /cmd_vel }
    condition: { all_of: [lane, red, green], same: stamp }
  lights:
    package: autorace
    type: traffic_light
    inputs: { red: /red, green: /green }
    outputs: { light: /light }
    condition: { all_of: [red, green], same: stamp }
  snapshot:
    package: autorace
    type: snapshot
    inputs: { image: /image }
    outputs: { snapshot: /few }
    parameters: { every: 10 }
  compensation:
    package: autorace
    type: image_compensation
    inputs: { image: /few }
    outputs: { compensated: /compensated }
  features: { package: autorace, type: features, inputs: { image: /compensated }, outputs: { points: /features } }
";

/// The processes that may be killed and are started again, each with the node of its name.
const PROCESSES: [&str; 10] = [
    "simulator",
    "blur",
    "planner",
    "polyfit",
    "red_light",
    "green_light",
    "control",
    "lights",
    "snapshot",
    "features",
];

/// The host of the fabric: its end is the end of the run.
const BOARD: &str = "board";

/// Topics each of whose subscribers is executed once for each message: with their publisher and
/// these subscribers. A gateway counts what it takes instead. Joins and inputs that trigger nothing
/// pass messages over.
const ACCOUNTED: [(&str, &str, &[&str]); 5] = [
    ("/image", "simulator", &["blur", "red_light", "green_light", "snapshot"]),
    ("/blurred", "blur", &["planner"]),
    ("/view", "planner", &["polyfit"]),
    ("/few", "snapshot", &[BOARD]),
    ("/compensated", BOARD, &["features"]),
];

/// Messages of a topic that wait for a subscriber at most: the depth of all topics here.
const QUEUE: u64 = 4;

/// Kills in one run of the graph.
const KILLS_OF_A_RUN: u64 = 100;

/// Where the messages of nodes on the device are: device, model.
const MODELS: [(&str, &str); 3] =
    [("opencl:0", "zero_copy"), ("opencl:0", "copy"), ("shadow:opencl:0", "device")];

/// A small generator, so that a seed repeats the decisions.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn mapping((device, model): (&str, &str)) -> String {
    let restart = "restart: { when: on_failure, limit: 1000000, within_s: 1, backoff_ms: 0 }";
    let mut text = "crossdock: 1\nprocesses:\n".to_owned();
    for name in PROCESSES {
        writeln!(
            text,
            "  {name}: {{ {restart}, executors: [{{ mode: event, nodes: [{name}] }}] }}"
        )
        .expect("a text");
    }
    text += &format!(
        "devices: {{ gpu: {{ device: \"{device}\", nodes: [blur, planner], topics: {{ /image: {model}, \
         /blurred: {model}, /view: {model} }} }} }}\nfabrics: {{ {BOARD}: {{ nodes: [compensation] }} }}\n\
         topics: {{ /few: {{ mapping: gateway }}, /compensated: {{ mapping: gateway }} }}\n"
    );
    text
}

/// A process of the graph: its id, and how often its node was executed.
type Seen = BTreeMap<String, (u32, u64)>;

/// What of a process may grow: descriptors, threads, memory objects that it has mapped.
type Held = [usize; 3];

/// A run of the graph.
struct Ten {
    run: Run,
    launcher: Running,
    /// Lives of each process that were ended.
    killed: BTreeMap<&'static str, u64>,
}

impl Ten {
    fn start(model: (&str, &str)) -> Self {
        let run = Run::new("ten");
        let write = |name: &str, text: &str| {
            std::fs::write(run.file(name), text).expect("a file");
            run.file(name).to_str().expect("a path in UTF-8").to_owned()
        };
        let (graph, mapping) =
            (write("ten.graph.yaml", GRAPH), write("mapping.yaml", &mapping(model)));
        let hardware = workspace().join("apps/autorace/hardware");
        if !run.file("hardware").exists() {
            std::os::unix::fs::symlink(hardware, run.file("hardware")).expect("a link");
        }
        let mut command: Command =
            run.crossdock(&["run", &graph, "--mapping", &mapping, "--rate", "max", "--json"]);
        command.env("CROSSDOCK_TOOLS", hardware_tools());
        command.env("CROSSDOCK_CACHE", workspace().join("target/hw/cache"));
        let told = File::create(run.file("told")).expect("a file");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(told);
        let launcher = Running::spawn(command);
        let ten = Self { run, launcher, killed: BTreeMap::new() };
        // The board is built first, for as long as that takes.
        while ten.seen().is_empty() {
            assert!(!ten.launcher.has_ended(), "{}", ten.told());
        }
        ten
    }

    /// What it has said on its standard error.
    fn told(&self) -> String {
        std::fs::read_to_string(self.run.file("told")).expect("a text in UTF-8")
    }

    /// The processes that are there, as an observer sees them.
    fn seen(&self) -> Seen {
        let output = self.run.output(&["node", "list", "--json"]);
        let nodes: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let row = |node: &Value| {
            let pid = u32::try_from(node["pid"].as_u64()?).ok()?;
            Some((
                node["process"].as_str()?.to_owned(),
                (pid, node["executions"].as_u64().unwrap_or(0)),
            ))
        };
        nodes.as_array().map(|nodes| nodes.iter().filter_map(row).collect()).unwrap_or_default()
    }

    fn until(&self, what: &str, mut is_so: impl FnMut(&Seen) -> bool) -> Seen {
        let mut seen = Seen::new();
        until(what, || {
            assert!(!self.launcher.has_ended(), "{what}: the run has ended: {}", self.told());
            seen = self.seen();
            is_so(&seen)
        });
        seen
    }

    /// Every process is there, and every node was executed in this life of its process.
    fn whole(&self) -> Seen {
        self.until("the graph is whole", |seen| {
            PROCESSES
                .iter()
                .all(|name| seen.get(*name).is_some_and(|(_, executions)| *executions > 0))
        })
    }

    /// Kills some processes at a random moment and waits until others have taken their places; how
    /// many.
    fn kill(&mut self, random: &mut Random, spared: &BTreeSet<&str>) -> u64 {
        let seen = self.seen();
        let there =
            PROCESSES.iter().filter(|name| !spared.contains(**name) && seen.contains_key(**name));
        let mut there: Vec<_> = there.copied().collect();
        let count = if random.below(4) == 0 { 1 + random.below(4) } else { 1 };
        let moment = Instant::now() + Duration::from_micros(random.below(40_000));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        let mut victims = vec![];
        while victims.len() < count as usize && !there.is_empty() {
            let victim = there.swap_remove(random.below(there.len() as u64) as usize);
            if random.below(8) == 0 {
                signal(seen[victim].0, Signal::STOP);
            }
            signal(seen[victim].0, Signal::KILL);
            *self.killed.entry(victim).or_default() += 1;
            victims.push(victim);
        }
        self.until(&format!("{victims:?} are back"), |now| {
            let is_back =
                |name: &&str| now.get(*name).is_some_and(|(pid, _)| *pid != seen[*name].0);
            victims.iter().all(is_back)
        });
        victims.len() as u64
    }

    /// What the processes hold that live as long as the run.
    fn held(&self, seen: &Seen) -> [Held; 2] {
        [self.launcher.id(), seen[BOARD].0].map(|pid| {
            let entries = |name: &str| {
                std::fs::read_dir(format!("/proc/{pid}/{name}")).expect("a living process").count()
            };
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("its memory");
            let maps = maps.lines().filter(|line| line.contains("/memfd:crossdock")).count();
            [entries("fd"), entries("task"), maps]
        })
    }

    /// Ends the run in one of three ways; its closing table, unless nobody was left to write it.
    fn end(self, way: u64) -> (Run, Option<Value>) {
        let board = self.seen()[BOARD].0;
        let told = self.run.file("told");
        let Self { run, launcher, .. } = self;
        match way {
            0 => launcher.interrupt(),
            1 => signal(board, Signal::KILL),
            _ => launcher.signal(Signal::KILL),
        }
        let (status, text) = launcher.end();
        let told = std::fs::read_to_string(told).expect("a text in UTF-8");
        let summary = serde_json::from_str(&text).ok();
        match way {
            0 => assert!(status.success(), "{status}: {told}"),
            1 => assert!(
                status.code() == Some(1) && text.contains("process `board`"),
                "{status}: {told}"
            ),
            _ => assert!(status.code().is_none() && text.is_empty(), "{status}: {text}"),
        }
        (run, summary)
    }
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process id");
    // A process that has just ended needs no signal.
    let _ = kill_process(pid, signal);
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

/// Every message of a topic is an execution of each subscriber or a loss with a cause. The sums may
/// differ only by what a death cuts in two:
///
/// - A publisher dies between a message and its count: each subscriber may have one more, once for
///   each death of the publisher.
/// - A subscriber dies while it takes, finishes or counts a message: one more or one less, once for
///   each death of the subscriber.
/// - A message that the device of a dead publisher had not finished is a loss (`corrupt`), and may
///   have released an execution that did not get it: it may count twice.
/// - A run that fails is not brought to rest: `in_flight` messages may be on the way to each
///   subscriber.
fn account(summary: &Value, killed: &BTreeMap<&str, u64>, in_flight: u64) {
    let row = |rows: &str, key: &str, name: &str| {
        let rows = summary[rows].as_array().expect("rows");
        rows.iter()
            .find(|row| row[key] == name)
            .unwrap_or_else(|| panic!("{name}: {summary:#}"))
            .clone()
    };
    let taken = |topic: &str, name: &str| match name == BOARD {
        true => {
            let gateway = row("gateways", "topic", topic);
            count(&gateway["down"]) + count(&gateway["down_refused"])
        }
        false => count(&row("nodes", "node", name)["executions"]),
    };
    let deaths = |name: &str| killed.get(name).copied().unwrap_or(0);
    for (topic, publisher, subscribers) in ACCOUNTED {
        let counts = row("topics", "topic", topic);
        let losses = counts["losses"].as_object().expect("losses");
        // No subscriber is so slow that a publisher goes on without it.
        for cause in ["lapped", "keep_last", "timed_out"] {
            assert_eq!(losses[cause], 0, "{topic} lost messages: {cause}: {counts}");
        }
        // What a node has published before its device has written it is lost with the node, for
        // each subscriber: as many as wait for them at most.
        let of_publisher = deaths(publisher) * subscribers.len() as u64;
        let corrupt = count(&losses["corrupt"]);
        assert!(corrupt <= of_publisher * QUEUE, "{topic}: {corrupt} damaged: {counts}");
        let found = subscribers.iter().map(|name| taken(topic, name)).sum::<u64>()
            + losses.values().map(count).sum::<u64>();
        let wanted = count(&counts["messages"]) * subscribers.len() as u64;
        let of_subscribers = subscribers.iter().map(|name| deaths(name) + in_flight).sum::<u64>();
        let may_differ = of_publisher + of_subscribers;
        let range = wanted.saturating_sub(may_differ)..=wanted + corrupt + may_differ;
        println!("{topic}: {found} of {wanted}, which may be {range:?}: {counts}");
        assert!(range.contains(&found), "{topic}: {found} of {wanted}, not {range:?}: {counts}");
    }
}

/// Nothing of a run is left: no process, no name.
fn assert_gone(run: &Run) {
    let place = run.runtime();
    let place = format!("XDG_RUNTIME_DIR={}", place.to_str().expect("a path in UTF-8"));
    until("every process has gone", || {
        let entries = std::fs::read_dir("/proc").expect("proc").flatten();
        !entries.into_iter().any(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == place.as_bytes())
        })
    });
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|it| it.path().is_file()).map(|it| it.path().display().to_string()).collect()
}

#[test]
#[ignore = "long: minutes, the part `graph` of the long tests"]
fn a_graph_of_ten_processes_with_a_device_and_a_fabric_bears_random_kills() {
    let listed = Run::new("ten").json(&["device", "list", "--json"]);
    if !listed.as_array().expect("devices").iter().any(|it| it["name"] == "opencl:0") {
        return skip("no OpenCL driver");
    }
    let mut random = Random(seed() | 1);
    let wanted = number("CROSSDOCK_KILLS").unwrap_or(if long() { 2000 } else { 20 });
    let mut kills = 0;
    while kills < wanted {
        let model = MODELS[random.below(3) as usize];
        let spared = PROCESSES.into_iter().filter(|_| random.below(4) == 0).collect();
        let mut ten = Ten::start(model);
        let before = ten.held(&ten.whole());
        let end = wanted.min(kills + KILLS_OF_A_RUN);
        while kills < end {
            kills += ten.kill(&mut random, &spared);
            if random.below(2) == 0 {
                ten.whole();
            }
        }
        let after = ten.held(&ten.whole());
        println!("{model:?}, {spared:?} spared: {before:?}, {after:?} at last");
        for (before, after) in before.iter().zip(&after) {
            let grown = before.iter().zip(after).any(|(before, after)| *after > before + 4);
            assert!(!grown, "{before:?} descriptors, threads, memory objects; {after:?} at last");
        }
        let killed = std::mem::take(&mut ten.killed);
        let way = if long() { random.below(3) } else { 0 };
        kills += u64::from(way > 0);
        let (run, summary) = ten.end(way);
        if let Some(summary) = summary {
            account(&summary, &killed, if way == 0 { 0 } else { QUEUE + 1 });
        }
        assert_gone(&run);
        assert_eq!(files(&run.runtime().join("crossdock")), Vec::<String>::new());
    }
    done(kills, "graph_kills");
}
