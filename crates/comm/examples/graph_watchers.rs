//! How long it takes until a new node is known to 100 watchers in 10 other processes: each watcher
//! is told, reads the graph and finds the node in it. Prints the distribution over all watchers,
//! and that of the last watcher of each change.
//!
//! `cargo run --release -p crossdock-comm --example graph_watchers [one]`: each watcher has a
//! participant of its own; `one`: those of a process share one.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossdock_comm::{GraphView, NodeOptions, Participant, ParticipantOptions};
use rustix::time::{ClockId, clock_gettime};

const PROCESSES: usize = 10;
const WATCHERS: usize = 10;
/// Nodes that come and go.
const CHANGES: usize = 500;
/// Between two changes.
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(30);
const DOMAIN: u32 = 202;
const PREFIX: &str = "probe_";

/// The same clock in all processes.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// When each watcher of this process knew of each change, by change.
type Known = Arc<Mutex<BTreeMap<usize, Vec<u64>>>>;

/// Has `known` written by the callback of a new view.
fn watch(participant: &Participant, known: &Known) -> Result<Arc<GraphView>, Box<dyn Error>> {
    let view = Arc::new(participant.graph()?);
    let (weak, known, mut last) = (Arc::downgrade(&view), Arc::clone(known), None);
    view.set_callback(move || {
        let Some(view) = weak.upgrade() else { return };
        let graph = view.snapshot();
        let mut numbers = graph.nodes().filter_map(|(_, it)| it.name.strip_prefix(PREFIX));
        let number: Option<usize> = numbers.next().and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|number| last.replace(*number) != Some(*number)) {
            let at = now_ns();
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(number).or_default().push(at);
        }
    })?;
    Ok(view)
}

/// Watches until its input ends, then prints what its watchers knew when.
fn child(one: bool) -> Result<(), Box<dyn Error>> {
    let open = || Participant::open(ParticipantOptions::new(DOMAIN, "watchers"));
    let participants = (0..if one { 1 } else { WATCHERS }).map(|_| open());
    let participants = participants.collect::<Result<Vec<_>, _>>()?;
    let known = Known::default();
    let of = |index: usize| &participants[index % participants.len()];
    let views = (0..WATCHERS).map(|index| watch(of(index), &known));
    let views = views.collect::<Result<Vec<_>, _>>()?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop(views);
    for (number, times) in known.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        for time in times {
            println!("{number} {time}");
        }
    }
    Ok(())
}

fn print(what: &str, mut times: Vec<u64>) {
    times.sort_unstable();
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or(0) as f64 / 1e6
    };
    println!(
        "{what}: {} times, p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn start(one: bool) -> Result<(Child, BufReader<impl Read>), Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("child").args(one.then_some("one"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(child.stdout.take().ok_or("no output")?);
    Ok((child, output))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let one = arguments.iter().any(|it| it == "one");
    if arguments.iter().any(|it| it == "child") {
        return child(one);
    }
    let participant = Participant::open(ParticipantOptions::new(DOMAIN, "changing"))?;
    let children = (0..PROCESSES).map(|_| start(one)).collect::<Result<Vec<_>, _>>()?;
    let (mut children, mut outputs): (Vec<_>, Vec<_>) = children.into_iter().unzip();
    for output in &mut outputs {
        output.read_line(&mut String::new())?;
    }
    let peers = PROCESSES * if one { 1 } else { WATCHERS };
    if !participant.wait_until(PATIENCE, || participant.peers().len() == peers) {
        return Err(format!("{} of {peers} peers are there", participant.peers().len()).into());
    }
    std::thread::sleep(Duration::from_secs(1));
    let mut begun = Vec::with_capacity(CHANGES);
    for number in 0..CHANGES {
        let name = format!("{PREFIX}{number}");
        begun.push(now_ns());
        let node = participant.add_node(NodeOptions {
            namespace: "/",
            name: &name,
            enclave: "/",
            node_type: "",
        })?;
        std::thread::sleep(PAUSE);
        drop(node);
        std::thread::sleep(PAUSE);
    }
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    let mut known: Vec<Vec<u64>> = vec![Vec::new(); CHANGES];
    for line in outputs.into_iter().flat_map(BufRead::lines) {
        let line = line?;
        let (number, time) = line.split_once(' ').ok_or("an unexpected line")?;
        let number: usize = number.parse()?;
        known[number].push(time.parse::<u64>()?.saturating_sub(begun[number]));
    }
    for mut child in children {
        child.wait()?;
    }
    let missed: usize = known.iter().map(|times| PROCESSES * WATCHERS - times.len()).sum();
    print("each watcher", known.iter().flatten().copied().collect());
    print(
        "the last of all",
        known.iter().filter_map(|times| times.iter().max().copied()).collect(),
    );
    println!("changes that a watcher has not seen within {:?}: {missed}", PAUSE);
    Ok(())
}
