//! A graph of ten processes, two of them with a device, and a fabric with its host: processes are
//! killed at random moments, and the run goes on as its mapping says. Its nodes (`nodes`) look at
//! every message. After each round of kills everything of the dead has been given back, and the
//! others go on; at the end every message and every life is accounted for (`accounts`). Needs an
//! OpenCL driver (PoCL) and the tools of the hardware.
//!
//! A kill is a SIGKILL to a process of the graph that had joined it. Some successors are killed
//! while they start, which counts as no kill. Twenty kills; with CROSSDOCK_LONG=1 five thousand, or
//! as many as `CROSSDOCK_KILLS` says. The seed is printed; `CROSSDOCK_SEED` repeats a run's
//! decisions (the moments are the machine's).
#![allow(clippy::print_stdout, reason = "the decisions are printed")]

mod accounts;
mod nodes;

use crate::runs::probe::{self, Place, Running, send};
use accounts::account;
use crossdock_comm::status_records::kind;
use crossdock_comm::{Access, Observer, ObserverOptions, Rendezvous};
use crossdock_executor::status::node_counter;
use crossdock_test_support::{Random, done, hardware_tools, long, number, skip, workspace};
use rustix::process::Signal;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The shape of the course: a loop in lock step through two nodes on a device, a join of three, and
/// a way through hardware, which few messages take: a simulated board is slower than the rest.
/// There is room for the messages of several rounds: if a process dies, the next round begins
/// although messages of the one before were lost.
const GRAPH: &str = "topics:
  /image: { max_bytes: 1000, qos: { depth: 16 } }
  /blurred: { max_bytes: 1000, qos: { depth: 16 } }
  /view: { max_bytes: 1000, qos: { depth: 16 } }
  /lane: { max_bytes: 1000, qos: { depth: 16 } }
  /red: { max_bytes: 1000, qos: { depth: 16 } }
  /green: { max_bytes: 1000, qos: { depth: 16 } }
  /command: { max_bytes: 1000, qos: { depth: 16 } }
  /light: { max_bytes: 1000, qos: { depth: 16 } }
  /few: { max_bytes: 1000, bounds: { data: 576, header.frame_id: 64, encoding: 16 } }
  /compensated: { max_bytes: 1000000, bounds: { data: 921600, header.frame_id: 64, encoding: 16 } }
nodes:
  source:
    package: ten
    type: source
    inputs: { command: { topic: /command, trigger: false } }
    outputs: { image: /image }
    timers: { step: { rate_hz: 1000 } }
    lockstep: { timer: step, command: command }
  blur: { package: ten, type: stage, inputs: { in: /image }, outputs: { out: /blurred } }
  planner: { package: ten, type: stage, inputs: { in: /blurred }, outputs: { out: /view } }
  polyfit: { package: ten, type: stage, inputs: { in: /view }, outputs: { out: /lane } }
  red:
    package: ten
    type: stage
    inputs: { in: /image, other: { topic: /green, trigger: false } }
    outputs: { out: /red }
  green:
    package: ten
    type: stage
    inputs: { in: /image, other: { topic: /red, trigger: false } }
    outputs: { out: /green }
  control:
    package: ten
    type: join
    inputs: { a: /lane, b: /red, c: /green }
    outputs: { out: /command }
    condition: { all_of: [a, b, c], same: stamp }
  lights:
    package: ten
    type: join
    inputs: { a: /red, b: /green }
    outputs: { out: /light }
    condition: { all_of: [a, b], same: stamp }
  snapshot:
    package: ten
    type: stage
    inputs: { in: /image }
    outputs: { out: /few }
    parameters: { every: 40 }
  compensation:
    package: autorace
    type: image_compensation
    inputs: { image: /few }
    outputs: { compensated: /compensated }
  features: { package: ten, type: sink, inputs: { in: /compensated } }
";

/// The processes that may be killed and are started again, each with the node of its name.
const PROCESSES: [&str; 10] = [
    "source", "blur", "planner", "polyfit", "red", "green", "control", "lights", "snapshot",
    "features",
];

/// The host of the fabric: its end is the end of the run.
const BOARD: &str = "board";

/// Kills in one run of the graph: the launcher tells of each, and of no more than 500 things.
const KILLS_OF_A_RUN: u64 = 200;

/// Kills in some runs: what is kept of the last few hundred processes (texts, samples of times)
/// grows no more then, and memory that is kept of each shows.
const KILLS_OF_A_LONG_RUN: u64 = 1000;

/// Where the messages of nodes on the device are: device, model.
const MODELS: [(&str, &str); 3] =
    [("opencl:0", "zero_copy"), ("opencl:0", "copy"), ("shadow:opencl:0", "device")];

/// Longer than anything takes: what waits for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked whether something has come about.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Descriptors, threads and memory objects that a process may have more of than at the start: what
/// is made at the first use.
const MORE_MAX: usize = 4;

/// Memory that a process may have more of at the end than after half of the kills, KiB.
const GROWTH_MAX_KIB: u64 = 256;

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

/// Not a test of its own: what this binary does when it is launched as the graph's package.
#[test]
fn package_binary() {
    if std::env::var_os("CROSSDOCK_CONTROL").is_some() {
        probe::be_package(nodes::package());
    }
}

/// A process of the graph: its id, and how often its node was executed.
#[derive(Clone, Copy, Debug)]
struct Life {
    pid: u32,
    executions: u64,
}

type Seen = BTreeMap<String, Life>;

/// What of a process may grow: descriptors, threads, memory objects that it has mapped.
type Held = [usize; 3];

/// A run of the graph.
struct Ten {
    place: Place,
    launcher: Running,
    observer: RefCell<Observer>,
    /// Lives of each process that were ended.
    killed: BTreeMap<&'static str, u64>,
    /// Ids of the processes that were killed.
    dead: BTreeSet<u32>,
    /// How many of them had not joined the graph yet.
    early: usize,
}

impl Ten {
    fn start(model: (&str, &str)) -> Self {
        let place = Place::without_package("ten");
        place.package("ten", "kills::package_binary", "");
        let mapping = place.written("mapping.yaml", &mapping(model));
        let hardware = workspace().join("apps/autorace/hardware");
        std::os::unix::fs::symlink(hardware, place.file("hardware")).expect("a link");
        let mut command = place.run(GRAPH, &["--mapping", &mapping, "--rate", "max", "--json"]);
        command.env("CROSSDOCK_TOOLS", hardware_tools());
        command.env("CROSSDOCK_CACHE", workspace().join("target/hw/cache"));
        command.stderr(File::create(place.file("told")).expect("a file"));
        let observer = Observer::open(ObserverOptions {
            domain_id: 0,
            name: "kills".to_owned(),
            rendezvous: Rendezvous::Folder(place.rendezvous()),
            access: Access::SameUser,
        });
        let observer = RefCell::new(observer.expect("a meeting place"));
        let launcher = Running::start(command);
        let (killed, dead, early) = Default::default();
        let ten = Self { place, launcher, observer, killed, dead, early };
        // The board is built first, for as long as that takes.
        while ten.seen().len() <= PROCESSES.len() {
            assert!(!ten.launcher.has_ended(), "{}", ten.told());
            std::thread::sleep(LOOK_EVERY);
        }
        ten
    }

    /// What it has said on its standard error.
    fn told(&self) -> String {
        std::fs::read_to_string(self.place.file("told")).expect("a text in UTF-8")
    }

    /// The processes with nodes that are there, as an observer sees them.
    fn seen(&self) -> Seen {
        let snapshot = self.observer.borrow_mut().snapshot().expect("a look");
        let life = |process: &crossdock_comm::ProcessSnapshot| {
            // The host of the fabric has the node in hardware, too, which counts nothing itself.
            let nodes = process.others.iter().filter(|it| it.kind == kind::NODE);
            let executions = nodes.map(|it| it.counters[node_counter::EXECUTIONS]).max()?;
            let is_dead = self.dead.contains(&process.pid);
            let life = Life { pid: process.pid, executions };
            (!is_dead).then(|| (process.process.clone(), life))
        };
        snapshot.processes.iter().filter_map(|it| life(it)).collect()
    }

    fn until(&self, what: &str, mut is_so: impl FnMut(&Seen) -> bool) -> Seen {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = self.seen();
            if is_so(&seen) {
                return seen;
            }
            assert!(!self.launcher.has_ended(), "{what}: the run has ended: {}", self.told());
            assert!(Instant::now() < end, "{what}: not within a minute: {seen:?}\n{}", self.told());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Every process is there, and every node was executed: in this life of its process, and since
    /// it was seen `before`.
    fn whole(&self, before: &Seen) -> Seen {
        self.until("the graph is whole and goes on", |seen| {
            let goes_on = |name: &str| {
                let Some(now) = seen.get(name) else { return false };
                let before = before.get(name).filter(|before| before.pid == now.pid);
                now.executions > before.map_or(0, |before| before.executions)
            };
            PROCESSES.into_iter().chain([BOARD]).all(goes_on)
        })
    }

    /// Kills some processes, each at a random moment, and waits until others have taken their
    /// places; how many.
    fn kill(&mut self, random: &mut Random, spared: &BTreeSet<&str>) -> u64 {
        let seen = self.seen();
        let may_be = |name: &&str| !spared.contains(name) && seen.contains_key(*name);
        let mut there: Vec<_> = PROCESSES.into_iter().filter(may_be).collect();
        let count = 1 + random.below(4);
        let mut victims = vec![];
        while victims.len() < count as usize && !there.is_empty() {
            // Together, or one after the other.
            if victims.is_empty() || random.below(2) == 0 {
                std::thread::sleep(Duration::from_micros(random.below(8_000)));
            }
            let victim = there.swap_remove(random.below(there.len() as u64) as usize);
            let pid = seen[victim].pid;
            if random.below(8) == 0 {
                send(pid, Signal::STOP);
            }
            send(pid, Signal::KILL);
            *self.killed.entry(victim).or_default() += 1;
            self.dead.insert(pid);
            victims.push(victim);
        }
        if let ([victim], 0) = (&victims[..], random.below(3)) {
            self.kill_the_next(victim, random);
        }
        self.until(&format!("{victims:?} are back"), |now| {
            victims.iter().all(|name| now.contains_key(*name))
        });
        victims.len() as u64
    }

    /// Kills the one that takes the place of the only one that is away, at a random moment of its
    /// start or soon after.
    fn kill_the_next(&mut self, victim: &'static str, random: &mut Random) {
        let known: BTreeSet<u32> = self.seen().values().map(|life| life.pid).collect();
        let mut next = None;
        self.until(&format!("{victim} is started again"), |_| {
            let mut new = self.launcher.nodes().into_iter();
            next = new.find(|pid| !known.contains(pid) && !self.dead.contains(pid));
            next.is_some()
        });
        std::thread::sleep(Duration::from_micros(random.below(12_000)));
        let pid = next.expect("a process");
        send(pid, Signal::KILL);
        *self.killed.entry(victim).or_default() += 1;
        self.dead.insert(pid);
        self.early += 1;
    }

    /// What each process holds: processes of the graph, the host of the fabric, the launcher.
    /// `None`: one of them is not there.
    fn held(&self, seen: &Seen) -> Option<BTreeMap<String, Held>> {
        let lives = seen.iter().map(|(name, life)| (name.clone(), life.pid));
        let lives = lives.chain([("launcher".to_owned(), self.launcher.id())]);
        lives.map(|(name, pid)| Some((name, held(pid)?))).collect()
    }

    /// No process holds more than at the start: all that the dead had has been given back, and all
    /// that was made for them.
    fn returns_to(&self, first: &BTreeMap<String, Held>) {
        let mut last = None;
        let more = |(name, held): (&String, &Held)| {
            let first = first.get(name).unwrap_or_else(|| panic!("who is {name}?"));
            held.iter().zip(first).any(|(now, first)| *now > first + MORE_MAX)
        };
        let end = Instant::now() + PATIENCE;
        while last.as_ref().is_none_or(|held: &BTreeMap<_, _>| held.iter().any(more)) {
            let told = "descriptors, threads, memory objects are kept";
            assert!(Instant::now() < end, "{told}: {first:?}, now {last:?}\n{}", self.told());
            std::thread::sleep(LOOK_EVERY);
            last = self.held(&self.seen());
        }
    }

    /// The launcher has told of the kills and of nothing else.
    fn tells_of_kills_alone(&self) {
        let told = self.told();
        let is_kill = |line: &&str| {
            let pid = line.split_once("(pid ").and_then(|(_, rest)| rest.split_once(')'));
            let pid = pid.and_then(|(pid, _)| pid.parse().ok());
            let is_known = pid.is_some_and(|pid| self.dead.contains(&pid));
            is_known && line.contains("died: signal: 9 (SIGKILL)")
        };
        // One that is killed before it has its part of the plan has no id yet.
        let is_early = |line: &&str| line.contains("the other side of the control socket is gone");
        let (early, other): (Vec<_>, Vec<_>) =
            told.lines().filter(|line| !is_kill(line)).partition(is_early);
        assert!(other.is_empty() && early.len() <= self.early, "{other:#?}\n{early:#?}\n{told}");
    }

    /// Ends the run in one of three ways; its closing table, unless nobody was left to write it.
    fn end(self, way: u64) -> (Place, Option<Value>) {
        let board = self.seen()[BOARD].pid;
        let told = self.place.file("told");
        let Self { place, launcher, .. } = self;
        match way {
            0 => launcher.signal(Signal::INT),
            1 => send(board, Signal::KILL),
            _ => launcher.signal(Signal::KILL),
        }
        let ended = launcher.end();
        let told = std::fs::read_to_string(told).expect("a text in UTF-8");
        let (code, text) = (ended.code, &ended.output);
        match way {
            0 => assert_eq!(code, Some(0), "{told}"),
            1 => assert!(code == Some(1) && text.contains("process `board`"), "{code:?}: {told}"),
            _ => assert!(code.is_none() && text.is_empty(), "{code:?}: {text}"),
        }
        (place, (way < 2).then(|| ended.summary()))
    }
}

/// What a process holds; `None`: it has gone.
fn held(pid: u32) -> Option<Held> {
    let entries = |name: &str| Some(std::fs::read_dir(format!("/proc/{pid}/{name}")).ok()?.count());
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let maps = maps.lines().filter(|line| line.contains("/memfd:crossdock")).count();
    Some([entries("fd")?, entries("task")?, maps])
}

/// Memory of a process that is its own, KiB.
fn own_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a living process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let size = line.and_then(|line| line.trim().strip_suffix(" kB"));
    size.and_then(|size| size.parse().ok()).expect("its memory")
}

/// Nothing of a run is left: no process, no name.
fn assert_gone(place: &Place) {
    let runtime = format!("XDG_RUNTIME_DIR={}", place.runtime().display());
    probe::until("every process has gone", || {
        let entries = std::fs::read_dir("/proc").expect("proc").flatten();
        !entries.into_iter().any(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == runtime.as_bytes())
        })
    });
    // The next process that comes removes what those left that were killed.
    let next = place.outsider("next");
    probe::until("names of the dead are gone", || place.names().len() == 1);
    drop(next);
    assert_eq!(place.names(), Vec::<PathBuf>::new());
}

/// One run of the graph, with `wanted` kills; how many there were.
fn run(random: &mut Random, wanted: u64) -> u64 {
    let model = *random.one_of(&MODELS);
    let spared: BTreeSet<_> = PROCESSES.into_iter().filter(|_| random.below(4) == 0).collect();
    let mut ten = Ten::start(model);
    let mut seen = ten.whole(&Seen::new());
    let first = ten.held(&seen).expect("all are there");
    std::fs::write(ten.place.file("told"), "").expect("what it has told of the start");
    println!("{model:?}, {spared:?} spared: {first:?}");
    let lasting = [BOARD].into_iter().chain(spared.iter().copied());
    let lasting: Vec<_> = lasting.map(|name| seen[name].pid).chain([ten.launcher.id()]).collect();
    let memory = |pids: &[u32]| pids.iter().map(|pid| own_kib(*pid)).collect::<Vec<_>>();
    let (mut kills, mut half) = (0, None);
    while kills < wanted {
        for _ in 0..1 + random.below(3) {
            kills += ten.kill(random, &spared);
        }
        seen = ten.whole(&seen);
        ten.returns_to(&first);
        ten.tells_of_kills_alone();
        // Who starts removes them, unless two do so at once: then the next one does.
        let names = ten.place.names();
        assert!(names.len() <= first.len() + MORE_MAX, "names of the dead: {names:?}");
        if kills * 2 >= wanted && half.is_none() {
            half = Some(memory(&lasting));
        }
    }
    let (half, late) = (half.expect("half of the kills"), memory(&lasting));
    let at_work = ten.told().lines().filter(|line| line.contains(" while node ")).count();
    println!("{kills} kills, {at_work} at work; KiB: {half:?}, at last {late:?}");
    let grows = half.iter().zip(&late).any(|(half, late)| *late > half + GROWTH_MAX_KIB);
    assert!(!grows, "KiB of processes that lasted: {half:?}, at last {late:?}");
    let killed = std::mem::take(&mut ten.killed);
    // A closing table that says how often each was started again, if not all was told.
    let tells_all = wanted <= KILLS_OF_A_RUN;
    let way = if long() && tells_all { random.below(3) } else { 0 };
    let (place, summary) = ten.end(way);
    if let Some(summary) = summary {
        account(&summary, &killed, way == 0);
    }
    assert_gone(&place);
    kills + u64::from(way > 0)
}

#[test]
#[ignore = "long: minutes, the part `graph` of the long tests"]
fn a_graph_of_ten_processes_with_a_device_and_a_fabric_bears_random_kills() {
    let has_device = crossdock_device::devices().iter().any(|it| it.name == "opencl:0");
    if !has_device {
        return skip("no OpenCL driver");
    }
    let mut random = Random::new("kills");
    let wanted = number("CROSSDOCK_KILLS").unwrap_or(if long() { 5000 } else { 20 });
    let mut kills = 0;
    while kills < wanted {
        let is_long = random.below(10) == 0;
        let most = if is_long { KILLS_OF_A_LONG_RUN } else { KILLS_OF_A_RUN };
        kills += run(&mut random, most.min(wanted - kills));
    }
    done(kills, "graph_kills");
}
