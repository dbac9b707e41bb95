//! After start-up the data path does not allocate: publish, hand-over, take, execute, sleep, wake.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{
    Context, Logger, Node, NodeDescription, NodeError, NodeType, Package, Remote, RunEnd, Setup,
    log_debug, log_info,
};
use crossdock_graph::{Graph, Mapping, Time};
use crossdock_msg::types::geometry_msgs::PointStamped;
use crossdock_trace::{EventKind, Events, Trace, TraceView, descriptors};
use support::{Process, checked_with};

/// Counts what a thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending allocates without being counted.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Executions after which everything has been used once.
const WARM_UP: u64 = 50;
/// Executions of which none may allocate.
const MEASURED: u64 = 200;

/// Nodes that have measured, and allocations that they have seen.
static MEASUREMENTS: AtomicU64 = AtomicU64::new(0);
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Counts the allocations of the node's thread over the measured executions.
#[derive(Default)]
struct Meter {
    executions: u64,
    before: u64,
}

impl Meter {
    /// True once all has been measured.
    fn step(&mut self) -> bool {
        self.executions += 1;
        let allocations = ALLOCATIONS.get();
        if self.executions == WARM_UP {
            self.before = allocations;
        } else if self.executions == WARM_UP + MEASURED {
            SEEN.fetch_add(allocations - self.before, Ordering::SeqCst);
            MEASUREMENTS.fetch_add(1, Ordering::SeqCst);
        }
        self.executions >= WARM_UP + MEASURED
    }
}

/// Publishes at each time of its timer.
struct Pulse {
    out: Publisher<PointStamped>,
    meter: Meter,
}

impl NodeType for Pulse {
    const NAME: &'static str = "pulse";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_micros(500))
            .publisher::<PointStamped>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { out: setup.publisher("out")?, meter: Meter::default() })
    }
}

impl Node for Pulse {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        self.meter.step();
        support::nodes::publish(&self.out, self.meter.executions as f64)
    }
}

/// Takes, logs, publishes, and ends the run when it has measured.
struct Echo {
    logger: Logger,
    input: Subscriber<PointStamped>,
    out: Option<Publisher<PointStamped>>,
    meter: Meter,
}

impl NodeType for Echo {
    const NAME: &'static str = "echo";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<PointStamped>("out")
            .optional()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let out = setup.optional_publisher("out")?;
        let (logger, input) = (setup.logger()?, setup.subscriber("in")?);
        Ok(Self { logger, input, out, meter: Meter::default() })
    }
}

impl Node for Echo {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let x = self.input.take()?.map_or(0.0, |sample| sample.message().point().x());
        let measured = self.meter.step();
        log_debug!(self.logger, "{x} is below the level");
        log_info!(self.logger, "has taken {x:.3}");
        match &self.out {
            Some(out) => support::nodes::publish(out, x)?,
            None if measured => context.finish("measured"),
            None => {}
        }
        Ok(())
    }
}

/// Joins two inputs under a condition that looks at a third one, all of whose messages it reads.
struct Fuse {
    a: Subscriber<PointStamped>,
    b: Subscriber<PointStamped>,
    side: Subscriber<PointStamped>,
    meter: Meter,
}

impl NodeType for Fuse {
    const NAME: &'static str = "fuse";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("a")
            .subscriber::<PointStamped>("b")
            .subscriber_since_last::<PointStamped>("side")
            .predicate("positive", "What waits on `a` and `side` is not negative.")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (a, b) = (setup.subscriber("a")?, setup.subscriber("b")?);
        Ok(Self { a, b, side: setup.subscriber("side")?, meter: Meter::default() })
    }
}

impl Node for Fuse {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        drop((self.a.take()?, self.b.take()?));
        for sample in self.side.read() {
            drop(sample?);
        }
        if self.meter.step() {
            context.finish("measured");
        }
        Ok(())
    }

    fn holds(&self, _: &str) -> Result<bool, NodeError> {
        let (a, side) = (self.a.waiting(), self.side.waiting());
        Ok(a.messages().chain(side.messages()).all(|message| message.point().x() >= 0.0))
    }
}

fn package() -> Package {
    Package::new("meter").node::<Pulse>().node::<Echo>().node::<Fuse>()
}

const CONDITIONS: [&str; 3] = [
    "all_of: [a, b], approximate_time: {}, predicate: positive",
    "all_of: [a, b], same: stamp, predicate: positive",
    "fresh: [a, b], predicate: positive",
];

/// Two sources and their join under a condition.
fn joined(condition: &str) -> String {
    format!(
        "crossdock: 1
name: meter
nodes:
  pulse: {{ package: meter, type: pulse, outputs: {{ out: /a }} }}
  other: {{ package: meter, type: pulse, outputs: {{ out: /b }} }}
  fuse: {{ package: meter, type: fuse, inputs: {{ a: /a, b: /b, side: /a }},
          condition: {{ {condition} }} }}
"
    )
}

const GRAPH: &[u8] = b"crossdock: 1
name: meter
nodes:
  pulse: { package: meter, type: pulse, outputs: { out: /a } }
  first: { package: meter, type: echo, inputs: { in: /a }, outputs: { out: /b } }
  second: { package: meter, type: echo, inputs: { in: /b } }
chains: { all: { from: /a, to: /b } }
";

/// Runs the graph with these executors, a thread each, until its last node has measured.
fn run(test: &str, executors: &str) -> u64 {
    run_graph(test, GRAPH, executors)
}

fn run_graph(test: &str, graph: &[u8], executors: &str) -> u64 {
    let graph = Graph::from_yaml("meter", graph).expect("a graph");
    let mapping = format!("crossdock: 1\nprocesses: {{ main: {{ executors: [{executors}] }} }}\n");
    let mapping = Mapping::from_yaml("meter", mapping.as_bytes()).expect("a mapping");
    let plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    let process = &Process::with_package(test, plan, package());
    let remotes: Vec<_> = process.plan.executors.iter().map(|_| Remote::new()).collect();
    let remotes = &remotes;
    let before = SEEN.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for (index, remote) in remotes.iter().enumerate() {
            scope.spawn(move || {
                let mut executor = process.executor(index, remote).expect("an executor");
                let end = executor.run();
                // Whatever it is, the others have nothing left to wait for.
                if end != Ok(RunEnd::Stopped) {
                    remotes.iter().for_each(Remote::stop);
                }
                end.expect("a good end");
            });
        }
    });
    SEEN.load(Ordering::SeqCst) - before
}

#[test]
fn nothing_allocates_after_start_up() {
    // One test, so that no other runs beside it and shares the counters.
    assert_eq!(run("one_chain", "{ mode: chain, nodes: [pulse, first, second] }"), 0);
    assert_eq!(run("one_event", "{ mode: event, nodes: [pulse, first, second] }"), 0);
    let apart = "{ mode: chain, nodes: [pulse] }, { mode: event, nodes: [first, second] }";
    assert_eq!(run("two_threads", apart), 0);
    for (index, condition) in CONDITIONS.into_iter().enumerate() {
        let one = "{ mode: chain, nodes: [pulse, other, fuse] }";
        let graph = joined(condition);
        let seen = run_graph(&format!("joined_{index}"), graph.as_bytes(), one);
        assert_eq!(seen, 0, "{condition}");
    }
    // Traced, too: every event goes into a ring that is there.
    let [switch, record] = descriptors().expect("trace memory");
    let mut view = TraceView::open("meter", switch, record).expect("a trace");
    view.skip();
    view.trace(Events::all());
    assert_eq!(run("traced", "{ mode: chain, nodes: [pulse, first, second] }"), 0);
    assert_eq!(run("two_traced_threads", apart), 0);
    view.trace(Events::none());
    let mut trace = Trace::new();
    view.read(&mut trace);
    let ends = trace.events.iter().filter(|it| it.kind() == Some(EventKind::CallbackEnd)).count();
    assert!(ends as u64 >= 6 * MEASURED, "{ends}");
    assert!(MEASUREMENTS.load(Ordering::SeqCst) >= 16, "too few nodes have measured");
}
