//! ROS time from `/clock`, which another process publishes: zero before it comes, jumps forward and
//! back, a time that stands still; and timers of the computer's clocks beside it.

use std::io::{BufRead, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crossdock_comm::{Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous};
use crossdock_executor::{
    Context, JumpThreshold, Node, NodeDescription, NodeError, NodeType, Package, Remote, RunError,
    Setup, TimeJump, TimerClock, Trigger,
};
use crossdock_graph::{Graph, Mapping, Pacing, Time};
use crossdock_msg::Extra;
use crossdock_msg::types::rosgraph_msgs::Clock;

use crate::support::{self, Process};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The folder in which the other process publishes `/clock`.
const FOLDER: &str = "TIME_TEST_FOLDER";

/// What nodes of the test that has its turn say.
static LINES: Mutex<Option<Sender<String>>> = Mutex::new(None);
static TURN: Mutex<()> = Mutex::new(());
static STEADY: AtomicU64 = AtomicU64::new(0);
static SYSTEM: AtomicU64 = AtomicU64::new(0);
/// The newest time that a node without simulated time has seen, ns.
static WALL_NS: AtomicU64 = AtomicU64::new(0);

/// Not a test of its own: the process that publishes `/clock`, at the times that it reads.
#[test]
fn the_clock() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut options = ParticipantOptions::new(0, "clock");
    options.rendezvous = Rendezvous::Folder(folder.into());
    let participant = Participant::open(options).expect("a participant");
    let publisher = participant
        .publisher::<Clock>(PublisherOptions {
            node: "clock",
            topic: "/clock",
            qos: Qos::best_effort(16),
            max_bytes: None,
            group: None,
        })
        .expect("a publisher");
    assert!(participant.wait_until(PATIENCE, || publisher.matched() > 0));
    for line in std::io::stdin().lock().lines() {
        let time_ms: u64 = line.expect("a line").parse().expect("milliseconds");
        let mut loan = publisher.loan(Extra::none()).expect("a loan");
        loan.message().clock().set_sec((time_ms / 1000) as i32);
        loan.message().clock().set_nanosec((time_ms % 1000) as u32 * 1_000_000);
        loan.publish().expect("published");
    }
    // Its messages are to be read before its memory goes.
    participant.wait_until(PATIENCE, || publisher.matched() == 0);
    std::process::exit(0);
}

/// Says when its timer fires and how time jumps.
struct Timed {
    is_wall: bool,
    fails: bool,
}

impl NodeType for Timed {
    const NAME: &'static str = "timed";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("tick", Duration::from_secs(1))
            .timer("steady", Duration::from_millis(2))
            .on_clock(TimerClock::Steady)
            .timer("system", Duration::from_millis(2))
            .on_clock(TimerClock::System)
            .parameter("fails", false, "whether it fails when time jumps")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let threshold = JumpThreshold::new()
            .forward(Duration::from_millis(1500))
            .backward(Duration::from_millis(500));
        setup.tell_time_jumps(threshold);
        Ok(Self { is_wall: setup.node() == "wall", fails: setup.parameter("fails")? })
    }
}

fn say(line: String) {
    let lines = LINES.lock().expect("nobody has panicked");
    lines.as_ref().expect("a test").send(line).expect("heard");
}

impl Node for Timed {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match context.trigger() {
            Trigger::Timer("tick") if self.is_wall => {
                WALL_NS.store(context.now_ns(), Ordering::Release);
            }
            Trigger::Timer("tick") => say(format!("tick at {}", context.now_ns() / 1_000_000)),
            Trigger::Timer("steady")
                if !self.is_wall && STEADY.fetch_add(1, Ordering::AcqRel) == 0 =>
            {
                say(format!("steady at {}", context.now_ns() / 1_000_000));
            }
            Trigger::Timer("system") => _ = SYSTEM.fetch_add(1, Ordering::AcqRel),
            _ => {}
        }
        Ok(())
    }

    fn before_time_jump(
        &mut self,
        jump: TimeJump,
        context: &mut Context<'_>,
    ) -> Result<(), NodeError> {
        assert_eq!(context.trigger(), Trigger::TimeJump);
        let (delta, now) = (jump.delta_ns() / 1_000_000, context.now_ns() / 1_000_000);
        say(format!("before {delta} at {now}"));
        Ok(())
    }

    fn after_time_jump(
        &mut self,
        jump: TimeJump,
        context: &mut Context<'_>,
    ) -> Result<(), NodeError> {
        let (delta, now) = (jump.delta_ns() / 1_000_000, context.now_ns() / 1_000_000);
        say(format!("after {delta} at {now}"));
        if self.fails { Err(NodeError::new("it cannot stand that")) } else { Ok(()) }
    }
}

/// A process that publishes `/clock`, and what the nodes here say.
struct Bench {
    clock: Child,
    times: ChildStdin,
    lines: Receiver<String>,
    _turn: MutexGuard<'static, ()>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.clock.kill();
        let _ = self.clock.wait();
    }
}

impl Bench {
    fn publish(&mut self, time_ms: u64) {
        writeln!(self.times, "{time_ms}").expect("the clock reads");
    }

    #[track_caller]
    fn hears(&self, lines: &[&str]) {
        for wanted in lines {
            let heard = self.lines.recv_timeout(PATIENCE).expect("a line in time");
            assert_eq!(heard, *wanted);
        }
    }
}

/// Runs a graph of one executor on a thread of its own, and lets the test speak to the clock.
fn with_clock(
    test: &str,
    nodes: &str,
    time: Time,
    speak: impl FnOnce(&mut Bench),
) -> Result<(), RunError> {
    // A test that has failed does not keep the others from theirs.
    let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (sender, lines) = channel();
    *LINES.lock().expect("nobody has panicked") = Some(sender);
    STEADY.store(0, Ordering::Release);
    SYSTEM.store(0, Ordering::Release);
    let text = format!("crossdock: 1\nname: {test}\nnodes:\n{nodes}");
    let graph = Graph::from_yaml(test, text.as_bytes()).expect("a graph");
    let package = Package::new("probe").node::<Timed>();
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = support::checked_with(&package, &graph, &mapping, time);
    let process = Process::with_package(test, plan, package);
    let mut clock = Command::new(std::env::current_exe().expect("this test's own file"))
        .args(["time::the_clock", "--exact", "--nocapture", "--test-threads=1", "--quiet"])
        .env(FOLDER, process.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the clock starts");
    let times = clock.stdin.take().expect("a pipe");
    let mut bench = Bench { clock, times, lines, _turn: turn };
    let remote = Remote::new();
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| process.executor(0, &remote)?.run());
        let spoken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| speak(&mut bench)));
        remote.stop();
        let ended = runs.join().expect("it does not panic").map(|_| ());
        spoken.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended
    })
}

const SIM: &str = "  sim: { package: probe, type: timed, parameters: { use_sim_time: true } }\n";

#[test]
fn ros_time_is_zero_until_the_clock_comes_and_timers_follow_its_jumps_as_in_ros_2() {
    let nodes = format!(
        "{SIM}  wall: {{ package: probe, type: timed, timers: {{ tick: {{ period_ms: 2 }} }} }}\n"
    );
    let run = with_clock("ros_time", &nodes, Time::Wall, |bench| {
        // Timers of the computer's clock run, and time is 0.
        bench.hears(&["steady at 0"]);
        // The first time is a jump: the timer is overdue and fires once.
        bench.publish(10_000);
        bench.hears(&["before 10000 at 0", "after 10000 at 10000", "tick at 10000"]);
        for time_ms in [10_500, 11_000, 11_999, 12_100] {
            bench.publish(time_ms);
        }
        bench.hears(&["tick at 11000", "tick at 12100"]);
        // Forward: once, however many periods have gone; then on the grid.
        bench.publish(20_000);
        bench.hears(&["before 7900 at 12100", "after 7900 at 20000", "tick at 20000"]);
        // Back by less than the threshold, but behind the last tick: one period from there.
        for time_ms in [19_700, 20_650, 20_700] {
            bench.publish(time_ms);
        }
        bench.hears(&["tick at 20700"]);
        // Far back, and on from there.
        for time_ms in [5_000, 5_900, 6_000] {
            bench.publish(time_ms);
        }
        bench.hears(&["before -15700 at 20700", "after -15700 at 5000", "tick at 6000"]);
        // A pause: time stands still, and timers of the computer's clock go on.
        let before = (STEADY.load(Ordering::Acquire), SYSTEM.load(Ordering::Acquire));
        let end = Instant::now() + PATIENCE;
        while STEADY.load(Ordering::Acquire) < before.0 + 5
            || SYSTEM.load(Ordering::Acquire) < before.1 + 5
        {
            bench.publish(6_000);
            assert!(Instant::now() < end, "timers stand still");
            std::thread::sleep(Duration::from_millis(1));
        }
        bench.publish(7_000);
        bench.hears(&["tick at 7000"]);
        // A node without simulated time sees the computer's, in the same executor.
        assert!(WALL_NS.load(Ordering::Acquire) > 1_600_000_000_000_000_000);
    });
    run.expect("it ends as it should");
}

#[test]
fn jumps_are_told_in_a_run_with_simulated_time_too_and_a_node_may_fail_of_one() {
    let simulated = Time::Simulated { pacing: Pacing::Rate(1.0) };
    let node = |name| {
        format!("  {name}: {{ package: probe, type: timed, parameters: {{ fails: true }} }}\n")
    };
    let nodes = node("first") + &node("second");
    let run = with_clock("jumps", &nodes, simulated, |bench| {
        bench.hears(&["steady at 0"]);
        bench.publish(10_000);
        bench.hears(&["before 10000 at 0", "before 10000 at 0", "after 10000 at 10000"]);
    });
    let error = run.expect_err("it fails").to_string();
    assert!(error.contains("node `first`"), "the first failure is the one that counts: {error}");
    let told = "released by the jump of simulated time, it failed when it was told of a jump of \
                time by 10.000000000 s: it cannot stand that";
    assert!(error.contains(told), "{error}");
}
