//! The computer's time is set while a graph runs: limits of time neither miss what is too old nor
//! see age where there is none. The time of the whole computer is everybody's, so the launched
//! process reads it from a clock of this program, which a node sets.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::launch::ProcessEvent;
use crossdock_executor::{
    Context, Miss, Node, NodeDescription, NodeError, NodeType, Package, Setup,
};
use crossdock_graph::{Graph, Mapping, Time};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::PointStamped;

use super::{event, start, stop};
use crate::support::{Folder, checked_with, log, nodes};

/// By how much this process's time is ahead of the computer's, ns.
static AHEAD_NS: AtomicI64 = AtomicI64::new(0);

/// What this process's time loses each time it is read, ns: a time service makes it go slower.
static LOSES_NS: AtomicI64 = AtomicI64::new(0);

const SECOND_NS: i64 = 1_000_000_000;

/// The C library's function, as the standard library calls it for `SystemTime`: the program's own
/// one takes its place.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    // SAFETY: the caller's pointer, as the function's contract has it.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if result == 0 && clock == libc::CLOCK_REALTIME {
        // SAFETY: the kernel has just written there.
        let time = unsafe { &mut *time };
        let loses_ns = LOSES_NS.load(Ordering::Relaxed);
        let ahead_ns = time.tv_nsec + AHEAD_NS.fetch_sub(loses_ns, Ordering::Relaxed);
        time.tv_sec += ahead_ns.div_euclid(SECOND_NS);
        time.tv_nsec = ahead_ns.rem_euclid(SECOND_NS);
    }
    result as libc::c_int
}

/// The nodes of all tests of processes.
pub(crate) fn package() -> Package {
    nodes::package().node::<Map>().node::<Setter>().node::<Reader>().node::<Answerer>()
}

/// Publishes one message, stamped with the time.
struct Map {
    out: Publisher<PointStamped>,
    published: bool,
}

impl NodeType for Map {
    const NAME: &'static str = "map";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .publisher::<PointStamped>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { out: setup.publisher("out")?, published: false })
    }
}

impl Node for Map {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        if !std::mem::replace(&mut self.published, true) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            let mut loan = self.out.loan(Extra::none())?;
            loan.message().header().stamp().set_sec(now.as_secs() as i32);
            loan.publish()?;
        }
        Ok(())
    }
}

/// Between two messages in which it publishes nothing else, sets the time: an hour ahead, then an
/// hour behind. Tells of messages that are late.
struct Setter {
    input: Subscriber<PointStamped>,
    out: Publisher<PointStamped>,
}

/// The messages at which the time is set, and the one that ends the run.
const AHEAD_AT: f64 = 100.0;
const BEHIND_AT: f64 = 200.0;
const LAST: f64 = 300.0;

impl NodeType for Setter {
    const NAME: &'static str = "setter";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<PointStamped>("in").publisher::<PointStamped>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")?, out: setup.publisher("out")? })
    }
}

impl Node for Setter {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let sample = self.input.take()?.ok_or_else(|| NodeError::new("no message"))?;
        let x = sample.message().point().x();
        if x == AHEAD_AT {
            AHEAD_NS.store(3600 * SECOND_NS, Ordering::Relaxed);
        } else if x == BEHIND_AT {
            AHEAD_NS.store(-3600 * SECOND_NS, Ordering::Relaxed);
        }
        // The clock of messages reads the computer's one at least each millisecond.
        std::thread::sleep(Duration::from_millis(2));
        nodes::publish(&self.out, x)
    }

    fn limit_missed(&mut self, miss: &Miss<'_>, _: &mut Context<'_>) -> Result<(), NodeError> {
        log(format!("late:{miss}"));
        Ok(())
    }
}

/// Notes the messages with which it runs, and those with which its map was too old.
struct Reader {
    input: Subscriber<PointStamped>,
    map: Subscriber<PointStamped>,
    last: f64,
}

impl NodeType for Reader {
    const NAME: &'static str = "reader";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .subscriber_latest::<PointStamped>("map")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (input, map) = (setup.subscriber("in")?, setup.subscriber("map")?);
        Ok(Self { input, map, last: 0.0 })
    }
}

impl Node for Reader {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        while let Some(sample) = self.input.take()? {
            self.last = sample.message().point().x();
        }
        drop(self.map.latest()?);
        log(format!("{}:{}", context.node(), self.last));
        if self.last == LAST && context.node() == "young" {
            context.finish("the last has come");
        }
        Ok(())
    }

    fn limit_missed(&mut self, miss: &Miss<'_>, _: &mut Context<'_>) -> Result<(), NodeError> {
        assert!(matches!(miss, Miss::Age { input: "map", .. }), "{miss}");
        log(format!("misses:{}", self.last));
        Ok(())
    }
}

#[test]
fn limits_of_time_hold_while_the_computers_time_is_set() {
    // `young` must go on, and `old` must hear that its map is old, whatever time it is.
    let graph = Graph::from_yaml(
        "time_set",
        b"crossdock: 1
name: time_set
nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 300, finish: false } }
  map: { package: probe, type: map, outputs: { out: /map } }
  setter: { package: probe, type: setter, inputs: { in: /a }, outputs: { out: /b } }
  old: { package: probe, type: reader,
         inputs: { in: /b, map: { topic: /map, max_age_ms: 1, trigger: false } } }
  young: { package: probe, type: reader,
           inputs: { in: /b, map: { topic: /map, max_age_ms: 1800000, trigger: false } },
           condition: { any_of: [in], newest_not_older_than_ms: { map: 1800000 } } }
chains: { whole: { from: /a, to: /b, max_latency_ms: 1800000 } }
",
    )
    .expect("a graph");
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let folder = Folder::new("time_set");
    let mut processes = start(&plan, &folder);
    let finished = ProcessEvent::Finished { reason: "the last has come".to_owned() };
    assert_eq!(event(&mut processes[0]), finished);
    stop(processes);
    assert!(!folder.path().join("late.log").exists(), "{}", folder.read("late"));
    let misses = folder.read("misses");
    let numbers = misses.lines().map(|line| line["misses:".len()..].parse::<f64>());
    let numbers: Vec<f64> = numbers.map(|number| number.expect("a number")).collect();
    let between = |from: f64, to: f64| numbers.iter().filter(|it| (from..to).contains(*it)).count();
    // Each execution is one too late, and the other node's are none.
    for (from, to) in [(10.0, AHEAD_AT), (AHEAD_AT, BEHIND_AT), (BEHIND_AT, LAST)] {
        assert_eq!(between(from, to) as f64, to - from, "{from} to {to}: {numbers:?}");
    }
}

/// Passes on what it takes, while the computer's time goes slower than the steady clock. Ends the
/// run long after that.
struct Answerer {
    input: Subscriber<PointStamped>,
    out: Publisher<PointStamped>,
    answered: bool,
    ticks: u32,
}

impl NodeType for Answerer {
    const NAME: &'static str = "answerer";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<PointStamped>("out")
            .timer("step", Duration::from_millis(100))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (input, out) = (setup.subscriber("in")?, setup.publisher("out")?);
        Ok(Self { input, out, answered: false, ticks: 0 })
    }
}

impl Node for Answerer {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if let Some(sample) = self.input.take()? {
            LOSES_NS.store(1000, Ordering::Relaxed);
            nodes::publish(&self.out, sample.message().point().x())?;
            self.answered = true;
        } else if self.answered {
            self.ticks += 1;
            // The limit is over after five.
            if self.ticks == 10 {
                context.finish("the watch has looked");
            }
        }
        Ok(())
    }

    fn limit_missed(&mut self, miss: &Miss<'_>, _: &mut Context<'_>) -> Result<(), NodeError> {
        if matches!(miss, Miss::Stalled { .. }) {
            log(format!("stalled:{miss}"));
        }
        Ok(())
    }
}

#[test]
fn a_chain_that_has_ended_is_not_stalled_if_the_computers_time_is_adjusted() {
    let graph = Graph::from_yaml(
        "adjusted",
        b"crossdock: 1
name: adjusted
nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 1, finish: false } }
  answerer: { package: probe, type: answerer, inputs: { in: /a }, outputs: { out: /b } }
chains: { whole: { from: /a, to: /b, max_latency_ms: 500 } }
",
    )
    .expect("a graph");
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let folder = Folder::new("adjusted");
    let mut processes = start(&plan, &folder);
    let finished = ProcessEvent::Finished { reason: "the watch has looked".to_owned() };
    assert_eq!(event(&mut processes[0]), finished);
    stop(processes);
    assert!(!folder.path().join("stalled.log").exists(), "{}", folder.read("stalled"));
}
