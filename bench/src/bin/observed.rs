//! `observed`: what ten observers cost a publisher and its subscriber. Writes `observed.json`.
//!
//! The observers are `crossdock` commands, started once and attached; between blocks they are
//! stopped and let go by signals, so that blocks with none of them and with all of them alternate.

use crossdock_bench::Failure;
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Findings, Table, report, run_command};
use crossdock_bench::machine::pin;
use crossdock_bench::plan::Extent;
use crossdock_bench::scope::Scope;
use crossdock_bench::usage::ProcessUsage;
use crossdock_comm::{
    DoorbellOptions, Participant, ParticipantOptions, PublisherOptions, Qos, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const TOPIC: &str = "/observed";
const PERIOD: Duration = Duration::from_millis(1);
const PAYLOAD_BYTES: usize = 1024;
/// Length of one block.
const BLOCK: Duration = Duration::from_millis(500);
/// Between the signals and a block: until the observers have settled.
const SETTLE: Duration = Duration::from_millis(100);
const PAIRS: usize = 40;
const PAIRS_QUICK: usize = 12;

/// All observers, two of each kind, as people start them.
const OBSERVERS: [&[&str]; 10] = [
    &["top", "--json"],
    &["top"],
    &["topic", "hz", TOPIC],
    &["topic", "hz", TOPIC, "--json"],
    &["topic", "bw", TOPIC],
    &["topic", "bw", TOPIC, "--json"],
    &["topic", "delay", TOPIC],
    &["topic", "delay", TOPIC, "--age"],
    &["topic", "echo", TOPIC, "--no-arr"],
    &["topic", "echo", TOPIC, "--json"],
];

/// Of one block.
#[derive(Clone, Copy)]
struct Block {
    cpu_ns_per_message: f64,
    switches_per_message: f64,
}

/// A mean with the ends of its 95 % interval.
#[derive(Clone, Copy)]
struct Estimate {
    mean: f64,
    low: f64,
    high: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["publisher", cpu] => report(publish(cpu)),
        ["subscriber", cpu] => report(subscribe(cpu)),
        _ => run_command(run),
    }
}

/// Ends this process when the one that has started it is gone.
fn end_with_parent() {
    std::thread::spawn(|| {
        let mut nothing = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut nothing);
        std::process::exit(0);
    });
}

fn open(name: &str, cpu: &str) -> Result<Participant, Failure> {
    end_with_parent();
    pin(cpu.parse().during("reading the processor")?)?;
    Participant::open(ParticipantOptions::new(0, name)).during("opening the participant")
}

fn publish(cpu: &str) -> Result<(), Failure> {
    let participant = open("publisher", cpu)?;
    let (qos, max_bytes) = (Qos::best_effort(16), Some(4096));
    let options = PublisherOptions { node: "source", topic: TOPIC, qos, max_bytes, group: None };
    let publisher = participant.publisher::<Image>(options).during("making the publisher")?;
    let patience = Duration::from_secs(20);
    if !participant.wait_until(patience, || publisher.peers() == 1) {
        return Err(Failure::new("connecting", "no subscriber"));
    }
    println!("ready");
    let mut due = Instant::now() + PERIOD;
    loop {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += PERIOD;
        let extra = Extra::none().bytes(PAYLOAD_BYTES);
        let mut loan = publisher.loan(extra).during("loaning")?;
        loan.message().data_uninit(PAYLOAD_BYTES).during("writing")?.fill(7);
        loan.publish().map_err(|refused| Failure::new("publishing", refused.reason))?;
    }
}

fn subscribe(cpu: &str) -> Result<(), Failure> {
    let participant = open("subscriber", cpu)?;
    let doorbell = participant.doorbell(DoorbellOptions { spin: Duration::ZERO });
    let doorbell = doorbell.during("making the doorbell")?;
    let options = SubscriberOptions {
        node: "sink",
        topic: TOPIC,
        qos: Qos::best_effort(16),
        doorbell: Some(&doorbell),
        group: None,
    };
    let subscriber = participant.subscriber::<Image>(options).during("making the subscriber")?;
    let handle = subscriber.handle();
    println!("ready");
    let mut sum = 0u64;
    loop {
        doorbell.drain(|_| ());
        while let Some(sample) = subscriber.take().during("taking")? {
            let data = sample.message().data().during("reading")?;
            sum = data.iter().fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)));
        }
        std::hint::black_box(sum);
        doorbell.sleep(None, || handle.arm());
    }
}

/// A process that ends with the run.
struct Started(Child);

impl Started {
    fn spawn(command: &mut Command) -> Result<Self, Failure> {
        Ok(Self(command.spawn().during("starting a process")?))
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        kill_process(Pid::from_child(&self.0), signal).during("sending a signal")
    }

    fn await_line(&mut self) -> Result<(), Failure> {
        let output = self.0.stdout.as_mut().during("reading a process's output")?;
        let mut line = String::new();
        BufReader::with_capacity(1, output).read_line(&mut line).during("reading a line")?;
        match line.is_empty() {
            true => Err(Failure::new("waiting for a process", "it has ended")),
            false => Ok(()),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What processes have used, together.
fn used(all: &[Started]) -> Result<ProcessUsage, Failure> {
    all.iter()
        .try_fold(ProcessUsage::default(), |sum, one| Ok(sum.plus(ProcessUsage::of(one.0.id())?)))
}

fn run(extent: Extent) -> Result<Findings, Failure> {
    let mut found =
        Findings::new("observed", "What ten observers cost a publisher and its subscriber")?;
    let machine = &found.machine;
    let pairs = if extent == Extent::Quick { PAIRS_QUICK } else { PAIRS };
    let crossdock = std::env::var("CROSSDOCK").unwrap_or_else(|_| "crossdock".to_owned());
    let scope = Scope::create()?;
    let [own, theirs] = machine.different.or(machine.siblings).during("finding two processors")?;
    let watched = watched(scope.folder(), own)?;
    let observers = observers(&crossdock, scope.folder(), theirs)?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let mut observing_ns = 0;
    for pair in 0..pairs {
        // The second of a pair may find another machine than the first: neither is always second.
        let order = if pair % 2 == 0 { [false, true] } else { [true, false] };
        for observed in order {
            let signal = if observed { Signal::CONT } else { Signal::STOP };
            observers.iter().try_for_each(|observer| observer.signal(signal))?;
            std::thread::sleep(SETTLE);
            let before = used(&observers)?.cpu_ns;
            let block = block(&watched)?;
            observing_ns += used(&observers)?.cpu_ns - before;
            if observed { with.push(block) } else { without.push(block) }
        }
    }
    let difference = |of: fn(&Block) -> f64| {
        let pairs = with.iter().zip(&without);
        estimate(&pairs.map(|(with, without)| of(with) - of(without)).collect::<Vec<_>>())
    };
    let cpu = |block: &Block| block.cpu_ns_per_message;
    let mut table = Table::new("Mean and 95 % interval", &["what", "mean", "from", "to"]);
    let mut line = |name: &str, Estimate { mean, low, high }| {
        table.row([name.into(), mean.into(), low.into(), high.into()]);
    };
    line("CPU ns per message, no observer", estimate(&without.iter().map(cpu).collect::<Vec<_>>()));
    line("CPU ns per message, ten observers more", difference(cpu));
    let switches = difference(|block| block.switches_per_message);
    line("context switches per message, ten observers more", switches);
    found.table(table);
    let busy = observing_ns as f64 / (BLOCK.as_nanos() as f64 * pairs as f64);
    found.comparison("processors that the ten observers keep busy", busy, "");
    let observers = OBSERVERS.map(|words| words.join(" ")).join(", ");
    let (rate_hz, block_ms) = (1.0 / PERIOD.as_secs_f64(), BLOCK.as_millis());
    found.note(format!(
        "{PAYLOAD_BYTES} bytes at {rate_hz} Hz; {pairs} pairs of blocks of {block_ms} ms; observers: {observers}"
    ));
    Ok(found)
}

/// Publisher and subscriber, connected and running.
fn watched(place: &Path, cpu: usize) -> Result<[Started; 2], Failure> {
    let own = std::env::current_exe().during("finding this program")?;
    let start = |role: &str| {
        let mut command = Command::new(&own);
        command.args([role, &cpu.to_string()]).env("XDG_RUNTIME_DIR", place);
        Started::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()))
    };
    let mut both = [start("subscriber")?, start("publisher")?];
    both.iter_mut().try_for_each(Started::await_line)?;
    Ok(both)
}

fn observers(crossdock: &str, place: &Path, cpu: usize) -> Result<Vec<Started>, Failure> {
    let mut set = CpuSet::new();
    set.set(cpu);
    let mut observers = Vec::new();
    for words in OBSERVERS {
        let mut command = Command::new(crossdock);
        command.args(words).env("XDG_RUNTIME_DIR", place).env_remove("ROS_DOMAIN_ID");
        let mut observer = Started::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        sched_setaffinity(Some(Pid::from_child(&observer.0)), &set).during("pinning")?;
        // It has attached when it has something to say. From then on nobody reads but to discard.
        observer.await_line()?;
        let output = observer.0.stdout.take().during("reading an observer's output")?;
        std::thread::spawn(move || std::io::copy(&mut { output }, &mut std::io::sink()));
        observers.push(observer);
    }
    Ok(observers)
}

fn block(watched: &[Started; 2]) -> Result<Block, Failure> {
    let (start, before) = (Instant::now(), used(watched)?);
    std::thread::sleep(BLOCK);
    let (seconds, after) = (start.elapsed().as_secs_f64(), used(watched)?);
    let messages = seconds / PERIOD.as_secs_f64();
    Ok(Block {
        cpu_ns_per_message: (after.cpu_ns - before.cpu_ns) as f64 / messages,
        switches_per_message: (after.context_switches() - before.context_switches()) as f64
            / messages,
    })
}

/// Mean and 95 % interval by Student's t, which for the numbers of blocks here is 2.2 (12) and 2.02
/// (40).
fn estimate(values: &[f64]) -> Estimate {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let deviation = (spread / (count - 1.0).max(1.0)).sqrt() / count.sqrt();
    let t = if values.len() < PAIRS { 2.201 } else { 2.023 };
    Estimate { mean, low: mean - t * deviation, high: mean + t * deviation }
}
