//! After start-up no node of the driving graphs allocates, and nothing between them does. The one
//! exception is `decode`, whose JPEG library makes its tables anew for each picture: its
//! allocations are counted and bounded here.

#![allow(clippy::print_stdout, reason = "figures are printed")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossdock_autorace::nodes::*;
use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, RunEnd, Setup, Statistics,
};
use crossdock_graph::{Graph, Mapping, Pacing, PackageDescriptions, RunOptions, Time, check};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::CompressedImage;

/// Counts what a thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is ending allocates without being counted.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
    let _ = BYTES.try_with(|all| all.set(all.get() + bytes as u64));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Executions of a node after which everything has been used once.
const WARM_UP: u64 = 40;
/// Pictures of which none may make anything but `decode` allocate.
const MEASURED: u64 = 60;
/// What the JPEG library takes for one picture of the recordings (640 x 480, three components):
/// its list of components, tables of quantisation and of codes, scratch rows of each component.
const DECODE_ALLOCATIONS_MAX: u64 = 24;
const DECODE_BYTES_MAX: u64 = 160 << 10;

/// What a node has allocated since its warm-up, in how many executions.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    executions: u64,
    allocations: u64,
    bytes: u64,
}

/// The key of what was allocated between nodes.
const BETWEEN: &str = "between nodes";

thread_local! {
    static SEEN: RefCell<BTreeMap<&'static str, Seen>> = const { RefCell::new(BTreeMap::new()) };
    /// What all nodes have allocated, warm-up included.
    static INSIDE: Cell<u64> = const { Cell::new(0) };
}

/// A node of the package, its allocations counted.
struct Metered<N: NodeType> {
    node: N,
    executions: u64,
    seen: Seen,
    /// What the thread had allocated outside nodes when this one's warm-up was over, and when it
    /// executed last: the end of a run has words, which are allocated.
    outside: (u64, u64),
}

impl<N: NodeType> NodeType for Metered<N> {
    const NAME: &'static str = N::NAME;

    fn description() -> NodeDescription {
        N::description()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { node: N::create(setup)?, executions: 0, seen: Seen::default(), outside: (0, 0) })
    }
}

impl<N: NodeType> Node for Metered<N> {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let (allocations, bytes) = (ALLOCATIONS.get(), BYTES.get());
        self.executions += 1;
        self.outside.1 = allocations - INSIDE.get();
        if self.executions <= WARM_UP {
            self.outside.0 = self.outside.1;
        }
        let result = self.node.execute(context);
        let (allocations, bytes) = (ALLOCATIONS.get() - allocations, BYTES.get() - bytes);
        INSIDE.set(INSIDE.get() + allocations);
        if self.executions > WARM_UP {
            self.seen.executions += 1;
            self.seen.allocations += allocations;
            self.seen.bytes += bytes;
        }
        result
    }
}

impl<N: NodeType> Drop for Metered<N> {
    fn drop(&mut self) {
        SEEN.with_borrow_mut(|seen| {
            seen.insert(N::NAME, self.seen);
            let between = seen.entry(BETWEEN).or_default();
            between.executions += 1;
            between.allocations = between.allocations.max(self.outside.1 - self.outside.0);
        });
    }
}

/// Publishes pictures of a recording, one at each time of its timer, and ends the run.
struct Camera {
    compressed: Publisher<CompressedImage>,
    pictures: Vec<Vec<u8>>,
    number: u64,
}

thread_local! {
    static PICTURES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl NodeType for Camera {
    const NAME: &'static str = "camera";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .publisher::<CompressedImage>("compressed")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let compressed = setup.publisher("compressed")?;
        Ok(Self { compressed, pictures: PICTURES.take(), number: 0 })
    }
}

impl Node for Camera {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let picture = &self.pictures[self.number as usize % self.pictures.len()];
        self.number += 1;
        if self.number > WARM_UP + MEASURED {
            context.finish("measured");
            return Ok(());
        }
        let extra = Extra::none().text("camera".len()).text("jpeg".len()).bytes(picture.len());
        let mut loan = self.compressed.loan(extra)?;
        let mut message = loan.message();
        message.header().stamp().set_sec(self.number as i32);
        message.header().set_frame_id("camera")?;
        message.set_format("jpeg")?;
        message.data_uninit(picture.len())?.copy_from_slice(picture);
        loan.publish()?;
        Ok(())
    }
}

fn metered() -> Package {
    Package::new("autorace")
        .node::<Metered<Camera>>()
        .node::<Metered<Decode>>()
        .node::<Metered<ImageCompensation>>()
        .node::<Metered<GaussianBlurNode>>()
        .node::<Metered<LanePlanner>>()
        .node::<Metered<Polyfit>>()
        .node::<Metered<LaneControlNode>>()
        .node::<Metered<RedLight>>()
        .node::<Metered<GreenLight>>()
        .node::<Metered<TrafficLightNode>>()
        .node::<Metered<Features>>()
        .node::<Metered<Snapshot>>()
        .node::<Metered<Simulator>>()
}

/// A folder of this test's own, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(path).expect("the file is shipped")
}

/// Runs a graph in one executor on this thread and gives what was allocated, by node type.
fn run(
    name: &str,
    text: &str,
    mode: &str,
    time: Time,
    duration_ns: Option<u64>,
) -> BTreeMap<&'static str, Seen> {
    let graph = Graph::from_yaml(name, text.as_bytes()).unwrap_or_else(|v| panic!("{v:#?}"));
    let nodes: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    let executor = format!("{{ mode: {mode}, nodes: [{}] }}", nodes.join(", "));
    let mapping =
        format!("crossdock: 1\nprocesses: {{ drive: {{ executors: [ {executor} ] }} }}\n");
    let mapping = Mapping::from_yaml(name, mapping.as_bytes()).expect("a mapping");
    let package = metered();
    let interfaces = PackageDescriptions {
        binaries: vec![package.description()],
        ..PackageDescriptions::default()
    };
    let options = RunOptions { time, ..RunOptions::PLAIN };
    let plan = check(&graph, &mapping, &interfaces, &options).unwrap_or_else(|v| panic!("{v:#?}"));
    let folder = format!("crossdock-allocation-{name}-{mode}-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(folder));
    std::fs::DirBuilder::new().mode(0o700).create(&folder.0).expect("a folder");
    let participant = Participant::open(ParticipantOptions {
        rendezvous: Rendezvous::Folder(folder.0.clone()),
        ..ParticipantOptions::new(0, name)
    })
    .expect("a participant");
    let process = &plan.processes[0];
    let mut executor = Executor::new(ExecutorOptions {
        participant: &participant,
        package: &package,
        plan: &process.executors[0],
        time: process.time,
        duration_ns,
        chains: &process.chains,
        statistics: Statistics::On,
        remote: Remote::new(),
    })
    .expect("an executor");
    executor.connect(Duration::from_secs(60)).expect("it is connected");
    let end = executor.run().expect("a good end");
    assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
    SEEN.take();
    drop(executor);
    SEEN.take()
}

/// Nothing but `excepted` has allocated, and everybody has executed.
fn check_nothing(what: &str, seen: &BTreeMap<&'static str, Seen>, excepted: &[&str]) {
    let allocating = seen.iter().filter(|(_, seen)| seen.allocations > 0);
    let allocating: Vec<_> = allocating.filter(|(name, _)| !excepted.contains(name)).collect();
    assert!(allocating.is_empty(), "{what}: {allocating:#?}");
    let idle: Vec<_> = seen.iter().filter(|(_, seen)| seen.executions == 0).collect();
    assert!(idle.is_empty(), "{what}: never executed after the warm-up: {idle:?}");
}

#[test]
fn the_closed_course_allocates_nothing_after_start_up() {
    let time = Time::Simulated { pacing: Pacing::Max };
    // 15 pictures a second.
    let duration_ns = Some((WARM_UP + MEASURED) * 1_000_000_000 / 15);
    for mode in ["chain", "event"] {
        let seen = run("course", &file("course.graph.yaml"), mode, time, duration_ns);
        assert_eq!(seen.len(), 11 + 1, "{seen:?}");
        check_nothing(mode, &seen, &[]);
    }
}

#[test]
fn on_a_recording_only_the_jpeg_library_allocates() {
    let Some(data) = crossdock_test_support::data() else { return };
    let bag = data.join("driving/highway_a_25hz/highway_a_25hz.mcap");
    // A camera in place of the player.
    let text = file("highway.graph.yaml").replace(", external: true", "").replace(
        "nodes:\n",
        "nodes:
  camera:
    package: autorace
    type: camera
    outputs: { compressed: /camera/image_raw/compressed }
",
    );
    PICTURES.set(common::pictures(&bag, 20));
    let seen = run("highway", &text, "chain", Time::Wall, None);
    assert_eq!(seen.len(), 11 + 1, "{seen:?}");
    check_nothing("highway", &seen, &["decode", "camera"]);
    let decode = seen["decode"];
    let (each, bytes) = (decode.allocations / decode.executions, decode.bytes / decode.executions);
    println!("decode allocates {each} times, {bytes} bytes for a picture");
    assert!(each > 0, "decode allocates nothing any more: take the exception out");
    assert!(each <= DECODE_ALLOCATIONS_MAX && bytes <= DECODE_BYTES_MAX, "{decode:?}");
}
