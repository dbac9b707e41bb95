//! A graph whose mapping names two hosts: two computers that share no memory, each with its own
//! files and a bridge.

use crate::graphs::{free_place, until};
use crate::link::Link;
use crate::running::Computer;
use crossdock_suite::Running;
use crossdock_test_support::workspace;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStderr, Stdio};
use std::time::{Duration, Instant};

const GRAPH: &str = "apps/autorace/course.graph.yaml";
const MAPPING: &str = "apps/autorace/course.hosts.mapping.yaml";

/// A host that says nothing is given up after so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first host and the one that joins it, on a network of their own.
struct Shared {
    car: Computer,
    desk: Computer,
    place: String,
}

/// A host's command.
struct Host {
    running: Running,
    errors: BufReader<ChildStderr>,
}

impl Shared {
    fn new(test: &str) -> Self {
        let [car, desk] = ["car", "desk"].map(|name| Computer::new(&format!("{test}-{name}")));
        Self { car, desk, place: free_place() }
    }

    fn run(&self, mapping: &str, more: &[&str]) -> Host {
        let words = ["run", GRAPH, "--mapping", mapping, "--listen", &self.place, "--json"];
        Host::start(&self.car, &[&words, more].concat())
    }

    fn join(&self, mapping: &str, more: &[&str]) -> Host {
        let words =
            ["join", "desk", GRAPH, "--mapping", mapping, "--connect", &self.place, "--json"];
        Host::start(&self.desk, &[&words, more].concat())
    }

    /// Both, until the graph runs.
    fn running(&self) -> [Host; 2] {
        let hosts = [self.run(MAPPING, &[]), self.join(MAPPING, &[])];
        self.drives();
        hosts
    }

    /// Waits until pictures of the car have been seen at the desk and led to a command.
    fn drives(&self) {
        until("a command comes back to the car", || {
            let echo = ["topic", "echo", "/cmd_vel", "--once", "--timeout", "1"];
            // What fails before the graph runs is no matter.
            let output = self.car.crossdock(&echo).stderr(Stdio::null()).output().unwrap();
            !output.stdout.is_empty()
        });
    }
}

impl Host {
    fn start(computer: &Computer, words: &[&str]) -> Self {
        let (running, errors) = Running::with_errors(computer.crossdock(words));
        Self { running, errors: BufReader::new(errors) }
    }

    /// Waits until it says this.
    fn says(&mut self, part: &str) {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert!(self.errors.read_line(&mut line).unwrap() > 0, "it has ended without {part}");
        }
    }

    /// Waits for its end. Whether it succeeded, its closing table, and what it said.
    fn end(mut self) -> (bool, Value, String) {
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        let (status, text) = self.running.end();
        (status.success(), serde_json::from_str(&text).unwrap_or_default(), said)
    }
}

/// Executions of a node.
fn executions(table: &Value, node: &str) -> u64 {
    let nodes = table["nodes"].as_array().unwrap();
    let row = nodes.iter().find(|row| row["node"] == node);
    row.unwrap_or_else(|| panic!("no node {node}: {table}"))["executions"].as_u64().unwrap()
}

/// Messages of a topic.
fn messages(table: &Value, topic: &str) -> u64 {
    let topics = table["topics"].as_array().unwrap();
    let row = topics.iter().find(|row| row["topic"] == topic);
    row.unwrap_or_else(|| panic!("no topic {topic}: {table}"))["messages"].as_u64().unwrap()
}

#[test]
fn a_graph_runs_on_two_hosts_from_its_first_message_to_the_end_that_one_of_them_has() {
    let shared = Shared::new("drive");
    let desk = shared.join(MAPPING, &[]);
    let car = shared.run(MAPPING, &["--duration", "4"]);
    let (ok, table, said) = car.end();
    assert!(ok, "{said}");
    assert!(said.contains("waiting for the host `desk`"), "{said}");
    assert!(said.contains("camera_to_command"), "a chain over hosts is not measured: {said}");
    let (desk_ok, desk_table, desk_said) = desk.end();
    assert!(desk_ok, "{desk_said}");
    assert_eq!(desk_table["end"], "host `car` has ended: the time is over");

    // One node on each host sees each picture of the camera.
    let (here, there) = (executions(&table, "snapshot"), executions(&desk_table, "compensation"));
    assert!(here >= 50, "{here}");
    assert!(here.abs_diff(there) <= 2, "{here} pictures, {there} of them at the desk");
    let seen = messages(&desk_table, "/camera/image_raw");
    assert!(seen.abs_diff(there) <= 2, "{seen} pictures of the car in the table of the desk");
    assert!(executions(&table, "control") + 5 >= here, "commands come back");
    let of_car = |node| table["nodes"].as_array().unwrap().iter().any(|row| row["node"] == node);
    assert!(!of_car("compensation") && of_car("control"));
}

#[test]
fn the_page_shows_the_mapping_that_is_run_here_and_checks_it() {
    let text = |path: &str| std::fs::read_to_string(workspace().join(path)).unwrap();
    let mapping = text(MAPPING);
    let (_, mapping) = mapping.split_once('\n').unwrap();
    let page = text("docs/network.md");
    assert!(page.contains(mapping));
    let computer = Computer::new("checks");
    let commands = page.lines().filter_map(|line| line.strip_prefix("crossdock check "));
    let said: Vec<String> = commands
        .map(|command| {
            let words: Vec<&str> = ["check"].into_iter().chain(command.split(' ')).collect();
            computer.output(&words)
        })
        .collect();
    assert_eq!(said.len(), 2, "the whole, and one part");
    assert!(said[0].contains("11 nodes in 4 processes") && said[1].contains("8 nodes in 2"));
}

#[test]
fn ctrl_c_on_either_host_ends_the_run_on_both() {
    for name in ["car", "desk"] {
        let shared = Shared::new("interrupted");
        let [car, desk] = shared.running();
        let info = shared.car.output(&["topic", "info", "/camera/image_raw"]);
        let is_far =
            |line: &str| line.trim_start().starts_with("for ") && line.contains("compensation");
        assert!(info.lines().any(is_far), "a subscriber at the desk has its own name: {info}");
        let (first, second) = if name == "car" { (car, desk) } else { (desk, car) };
        let begin = Instant::now();
        first.running.interrupt();
        let (ok, table, said) = first.end();
        assert!(ok, "{said}");
        assert_eq!(table["end"], "interrupted");
        let (ok, table, said) = second.end();
        assert!(ok, "{said}");
        assert_eq!(table["end"], format!("host `{name}` has ended: interrupted"));
        assert!(begin.elapsed() < PATIENCE, "nobody waits for who says that it ends");
    }
}

#[test]
fn a_host_that_is_killed_ends_the_run_with_an_error() {
    let shared = Shared::new("killed");
    let [car, desk] = shared.running();
    desk.running.signal(Signal::KILL);
    let begin = Instant::now();
    let (ok, table, said) = car.end();
    assert!(!ok, "{said}");
    let end = table["end"].as_str().unwrap();
    assert!(end.contains("host `desk` has left the network and has said nothing for 4 s"), "{end}");
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    until("nothing of the killed host is left", || {
        !shared.desk.output(&["node", "list"]).contains("compensation")
    });
}

#[test]
fn a_short_break_of_the_network_ends_nothing_and_a_long_one_the_run_on_both_hosts() {
    let mut shared = Shared::new("break");
    let car = shared.run(MAPPING, &[]);
    let address = shared.place.trim_start_matches("tcp/").to_owned();
    until("the router listens", || std::net::TcpStream::connect(&address).is_ok());
    let link = Link::to(&shared.place);
    shared.place.clone_from(&link.place);
    let desk = shared.join(MAPPING, &[]);
    shared.drives();
    link.hold(true);
    std::thread::sleep(PATIENCE / 4);
    link.hold(false);
    shared.drives();
    assert!(!car.running.has_ended() && !desk.running.has_ended());
    link.hold(true);
    for (host, other) in [(car, "desk"), (desk, "car")] {
        let (ok, table, said) = host.end();
        assert!(!ok, "{said}");
        let end = table["end"].as_str().unwrap();
        // Zenoh gives a silent connection up in about the same time.
        let silent = format!("host `{other}` has said nothing for 10 s");
        let left = format!("host `{other}` has left the network and has said nothing for ");
        assert!(end.contains(&silent) || end.contains(&left), "{end}");
    }
}

#[test]
fn a_host_whose_process_dies_fails_the_run_on_both() {
    let shared = Shared::new("failed");
    let [car, desk] = shared.running();
    let lane = child_of(desk.running.id(), "crossdock-autorace");
    rustix::process::kill_process(lane, Signal::KILL).unwrap();
    let (ok, table, said) = desk.end();
    assert!(!ok, "{said}");
    let reason = table["end"].as_str().unwrap().to_owned();
    let (ok, table, said) = car.end();
    assert!(!ok, "{said}");
    assert_eq!(table["end"], format!("host `desk` has failed: {reason}"));
}

#[test]
fn a_host_whose_bridge_dies_says_so_itself() {
    let shared = Shared::new("bridge");
    let [car, desk] = shared.running();
    let bridge = child_of(desk.running.id(), "crossdock-net");
    rustix::process::kill_process(bridge, Signal::KILL).unwrap();
    let (ok, table, said) = desk.end();
    assert!(!ok, "{said}");
    let end = table["end"].as_str().unwrap();
    assert!(end.contains("the package `net`, has ended (signal: 9"), "{end}");
    // The other one cannot be told: it sees that the desk has left.
    assert!(!car.end().0);
}

/// A child of a process that runs this program.
fn child_of(parent: u32, program: &str) -> rustix::process::Pid {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(path).unwrap();
    let children = children.split_whitespace().map(|pid| pid.parse::<i32>().unwrap());
    let runs = |pid: &i32| {
        let program_of = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program_of.ends_with(program)
    };
    let child = { children }.find(runs).unwrap();
    rustix::process::Pid::from_raw(child).unwrap()
}

#[test]
fn other_files_are_an_error_on_both_hosts_and_nothing_is_started() {
    let shared = Shared::new("other");
    let text = std::fs::read_to_string(workspace().join(MAPPING)).unwrap();
    let other = shared.desk.folder.join("other.mapping.yaml");
    std::fs::write(&other, text.replace("mode: chain", "mode: event")).unwrap();
    let other = other.to_str().unwrap();
    let parameter = ["-p", "blur.use_sim_time:=true"];
    for (mapping, more, what) in
        [(other, &[][..], "another mapping"), (MAPPING, &parameter[..], "another graph")]
    {
        let hosts = [shared.run(MAPPING, &[]), shared.join(mapping, more)];
        for (host, name) in hosts.into_iter().zip(["desk", "car"]) {
            let (ok, _, said) = host.end();
            let told = format!("error: host `{name}` has {what}");
            assert!(!ok && said.contains(&told) && said.contains("copy"), "{said}");
        }
    }
}

#[test]
fn a_host_that_does_not_come_or_is_not_known_is_said() {
    let shared = Shared::new("missing");
    let (ok, _, said) = shared.run(MAPPING, &["--wait", "1"]).end();
    assert!(!ok, "{said}");
    let way = format!("--connect {}", shared.place);
    let advice = format!("start `crossdock join desk {GRAPH} --mapping {MAPPING} {way}` there");
    assert!(said.contains("host `desk` did not come within 1 s"), "{said}");
    assert!(said.contains(&advice), "{said}");

    let mut waits = shared.run(MAPPING, &[]);
    waits.says("waiting for the host `desk`");
    waits.running.interrupt();
    let (ok, _, said) = waits.end();
    assert!(!ok && said.contains("interrupted while waiting for the host `desk`"), "{said}");

    let words = ["join", "dekc", GRAPH, "--mapping", MAPPING];
    let (ok, _, said) = Host::start(&shared.desk, &words).end();
    assert!(!ok && said.contains("no host `dekc`; did you mean `desk`?"), "{said}");
    let (ok, _, said) = Host::start(&shared.desk, &["join", "desk", GRAPH]).end();
    assert!(!ok && said.contains("names no hosts"), "{said}");
    let words = ["run", GRAPH, "--listen", &shared.place];
    let (ok, _, said) = Host::start(&shared.car, &words).end();
    assert!(!ok && said.contains("--listen: the mapping names no hosts"), "{said}");
    for simulated in [["--rate", "max"], ["--input", "nothing.mcap"]] {
        let (ok, _, said) = shared.run(MAPPING, &simulated).end();
        assert!(!ok && said.contains("no simulated time"), "{said}");
    }
}

#[test]
fn a_host_that_has_another_graph_is_named_at_once() {
    let shared = Shared::new("strange");
    let text = std::fs::read_to_string(workspace().join(GRAPH)).unwrap();
    let other = shared.desk.folder.join("highway.graph.yaml");
    std::fs::write(&other, text.replace("name: course", "name: highway")).unwrap();
    let graph = other.to_str().unwrap();
    let mut waits = shared.run(MAPPING, &[]);
    let packages = ["--package-path", "apps/autorace"];
    let join = ["join", "desk", graph, "--mapping", MAPPING, "--connect", &shared.place];
    let mut strange = Host::start(&shared.desk, &[&join[..], &packages].concat());
    waits.says("heard of other runs: host `desk` of graph `highway`");
    strange.says("heard of other runs: host `car` of graph `course`");
    for host in [waits, strange] {
        host.running.interrupt();
        assert!(!host.end().0);
    }
}

#[test]
fn a_second_host_of_one_name_gives_way_and_the_run_goes_on() {
    let shared = Shared::new("twice");
    let [car, desk] = shared.running();
    let again = Computer::new("twice-again");
    let words = ["join", "desk", GRAPH, "--mapping", MAPPING, "--connect", &shared.place];
    let (ok, _, said) = Host::start(&again, &words).end();
    assert!(!ok, "{said}");
    assert!(said.contains("is there already") || said.contains("runs already"), "{said}");
    assert!(!car.running.has_ended() && !desk.running.has_ended());
    car.running.interrupt();
    for host in [car, desk] {
        let (ok, _, said) = host.end();
        assert!(ok, "{said}");
    }
}
