//! What a calibration claims makes no node allocate: memory for a table is taken when an image of
//! that size has come.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Duration;

use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, RunEnd, Setup, Statistics,
};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, Time, check};
use crossdock_image_pipeline::nodes::Rectify;
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::{CameraInfo, Image};

/// Adds up what a thread allocates.
struct Counting;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// What `rectify` has allocated when it was executed, by the turn of [`Camera`].
    static EXECUTED: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
    static TURN: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is ending allocates without being counted.
    let _ = BYTES.try_with(|all| all.set(all.get() + bytes));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Of the images that come.
const SIDE: usize = 128;
/// Of the images that never come.
const CLAIMED: u32 = 4096;

/// Says that images are large, and then that they are small, and sends one.
struct Camera {
    image: Publisher<Image>,
    camera_info: Publisher<CameraInfo>,
}

impl NodeType for Camera {
    const NAME: &'static str = "camera";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .publisher::<Image>("image")
            .publisher::<CameraInfo>("camera_info")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { image: setup.publisher("image")?, camera_info: setup.publisher("camera_info")? })
    }
}

impl Camera {
    fn inform(&self, side: u32) -> Result<(), NodeError> {
        let model = "plumb_bob";
        let mut loan = self.camera_info.loan(Extra::none().text(model.len()).values::<f64>(5))?;
        let mut message = loan.message();
        message.set_width(side);
        message.set_height(side);
        message.set_distortion_model(model)?;
        message.set_d(&[0.0; 5])?;
        // Every pixel lies on the border: half a pixel left of the picture.
        message.set_k(&[500.0, 0.0, -0.5, 0.0, 500.0, 10.0, 0.0, 0.0, 1.0]);
        message.set_r(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        message.set_p(&[1e300, 0.0, 0.0, 0.0, 0.0, 1e300, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        loan.publish()?;
        Ok(())
    }
}

impl Node for Camera {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match TURN.replace(TURN.get() + 1) {
            0 => self.inform(CLAIMED)?,
            1 => {
                self.inform(SIDE as u32)?;
                let encoding = "mono8";
                let extra = Extra::none().text(encoding.len()).bytes(SIDE * SIDE);
                let mut loan = self.image.loan(extra)?;
                let mut message = loan.message();
                message.set_width(SIDE as u32);
                message.set_height(SIDE as u32);
                message.set_step(SIDE as u32);
                message.set_encoding(encoding)?;
                message.data_uninit(SIDE * SIDE)?.fill(0);
                loan.publish()?;
            }
            _ => context.finish("told"),
        }
        Ok(())
    }
}

struct Metered(Rectify);

impl NodeType for Metered {
    const NAME: &'static str = "rectify";

    fn description() -> NodeDescription {
        Rectify::description()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Rectify::create(setup).map(Self)
    }
}

impl Node for Metered {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let before = BYTES.get();
        let result = self.0.execute(context);
        let mut executed = EXECUTED.get();
        executed[TURN.get() - 1] += BYTES.get() - before;
        EXECUTED.set(executed);
        result
    }
}

/// A folder of this test's own, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const GRAPH: &str = "crossdock: 1
name: claims
nodes:
  camera:
    package: claims
    type: camera
    outputs: { image: /image_raw, camera_info: /camera_info }
  rectify:
    package: claims
    type: rectify
    inputs: { image: /image_raw, camera_info: { topic: /camera_info, trigger: true } }
    outputs: { image_rect: /image_rect }
";

const MAPPING: &str = "crossdock: 1
processes: { all: { executors: [ { mode: event, nodes: [camera, rectify] } ] } }
";

#[test]
fn a_calibration_takes_memory_when_an_image_of_its_size_has_come() {
    let graph = Graph::from_yaml("graph", GRAPH.as_bytes()).unwrap_or_else(|v| panic!("{v:#?}"));
    let mapping = Mapping::from_yaml("mapping", MAPPING.as_bytes()).expect("a mapping");
    let package = Package::new("claims").node::<Camera>().node::<Metered>();
    let interfaces = PackageDescriptions {
        binaries: vec![package.description()],
        ..PackageDescriptions::default()
    };
    let options = RunOptions { time: Time::Wall, ..RunOptions::PLAIN };
    let plan = check(&graph, &mapping, &interfaces, &options).unwrap_or_else(|v| panic!("{v:#?}"));
    let folder = format!("crossdock-claims-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(folder));
    std::fs::DirBuilder::new().mode(0o700).create(&folder.0).expect("a folder");
    let participant = Participant::open(ParticipantOptions {
        rendezvous: Rendezvous::Folder(folder.0.clone()),
        ..ParticipantOptions::new(0, "claims")
    })
    .expect("a participant");
    let process = &plan.processes[0];
    let mut executor = Executor::new(ExecutorOptions {
        participant: &participant,
        package: &package,
        plan: &process.executors[0],
        time: process.time,
        duration_ns: None,
        chains: &process.chains,
        statistics: Statistics::On,
        remote: Remote::new(),
    })
    .expect("an executor");
    executor.connect(Duration::from_secs(60)).expect("it is connected");
    let end = executor.run().expect("a good end");
    assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
    let [claimed, come] = EXECUTED.get();
    let table = 8 * SIDE * SIDE;
    // What else is allocated is far less than a table.
    assert!(claimed < table, "{claimed} bytes for {CLAIMED} x {CLAIMED} pixels that never came");
    assert!((table..2 * table).contains(&come), "{come} bytes for {SIDE} x {SIDE} pixels");
}
