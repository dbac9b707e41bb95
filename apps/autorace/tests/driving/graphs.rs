//! The shipped graph, mapping and parameter files against the package, and a drive in one process.

use crossdock_autorace::nodes::package;
use crossdock_autorace::simulator::renderer::Mount;
use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use crossdock_executor::{Executor, ExecutorOptions, Remote, RunEnd, Statistics};
use crossdock_graph::{
    Graph, HardwarePackage, Mapping, Pacing, PackageDescriptions, ParameterOverrides,
    ParameterValue, Plan, RunOptions, Time, check,
};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn file(name: &str) -> (String, Vec<u8>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    (name.to_owned(), std::fs::read(path).expect("the file is shipped"))
}

fn graph(name: &str) -> Graph {
    let (name, text) = file(name);
    Graph::from_yaml(&name, &text).unwrap_or_else(|violations| panic!("{violations:#?}"))
}

fn mapping(name: &str) -> Mapping {
    let (name, text) = file(name);
    Mapping::from_yaml(&name, &text).unwrap_or_else(|violations| panic!("{violations:#?}"))
}

fn plan(graph: &Graph, mapping: &Mapping, time: Time) -> Plan {
    let interfaces = PackageDescriptions {
        binaries: vec![package().description()],
        ..PackageDescriptions::default()
    };
    let options = RunOptions { time, ..RunOptions::PLAIN };
    check(graph, mapping, &interfaces, &options)
        .unwrap_or_else(|violations| panic!("{}: {violations:#?}", graph.name))
}

#[test]
fn both_graphs_pass_the_check_with_every_mapping() {
    for name in ["highway", "course"] {
        let graph = graph(&format!("{name}.graph.yaml"));
        let chain = mapping(&format!("{name}.chain.mapping.yaml"));
        let single = plan(&graph, &chain, Time::Wall);
        assert_eq!(single.processes.len(), 1);
        let apart = mapping(&format!("{name}.processes.mapping.yaml"));
        assert_eq!(plan(&graph, &apart, Time::Wall).processes.len(), graph.nodes.len());
        let default = Mapping::one_chain_per_package(&graph);
        assert_eq!(plan(&graph, &default, Time::Wall).processes.len(), 1);
    }
}

#[test]
fn the_graph_with_a_map_passes_the_check_and_no_node_reads_the_true_pose() {
    let graph = graph("course_slam.graph.yaml");
    let chain = mapping("course_slam.chain.mapping.yaml");
    assert_eq!(plan(&graph, &chain, Time::Wall).processes.len(), 1);
    let apart = mapping("course_slam.processes.mapping.yaml");
    assert_eq!(plan(&graph, &apart, Time::Wall).processes.len(), 2);
    for node in &graph.nodes {
        assert!(node.inputs.iter().all(|input| input.topic != "/odom"), "{}", node.name);
    }
    // It is the course: what both have in common is the same.
    let course = self::graph("course.graph.yaml");
    for node in &course.nodes {
        let same = graph.node(&node.name).expect("a node of the course");
        let differs = node.name == "simulator";
        assert_eq!(node.parameters == same.parameters, !differs, "{}", node.name);
    }
}

#[test]
fn on_a_board_the_map_is_in_software_and_the_compensated_picture_has_a_gateway() {
    let (graph, mapping) =
        (graph("course_slam.graph.yaml"), mapping("course_slam.board.mapping.yaml"));
    let (name, text) = file("hardware/autorace.hardware.yaml");
    let hardware = HardwarePackage::from_yaml(&name, &text).expect("the package file");
    let interfaces =
        PackageDescriptions { binaries: vec![package().description()], hardware: vec![hardware] };
    let options = RunOptions { time: Time::Wall, ..RunOptions::PLAIN };
    let plan = check(&graph, &mapping, &interfaces, &options);
    let plan = plan.unwrap_or_else(|violations| panic!("{violations:#?}"));
    let [fabric] = plan.fabrics.as_slice() else { panic!("one fabric: {:?}", plan.fabrics) };
    assert_eq!(fabric.nodes.len(), 7, "{:?}", fabric.nodes);
    assert!(["features", "slam"].iter().all(|node| !fabric.nodes.iter().any(|n| n == node)));
    let gateways = fabric.gateways.iter().filter(|g| g.topic == "/camera/image_compensated");
    assert_eq!(gateways.count(), 1, "{:?}", fabric.gateways);
}

#[test]
fn every_parameter_file_fits_the_highway_graph() {
    for name in ["highway", "white_lanes", "autorace"] {
        let (file, text) = file(&format!("params/{name}.yaml"));
        let overrides = ParameterOverrides::from_yaml(&file, &text)
            .unwrap_or_else(|violations| panic!("{violations:#?}"));
        let graph = graph("highway.graph.yaml");
        let graph = graph.with_parameters(&overrides).unwrap_or_else(|v| panic!("{v:#?}"));
        plan(&graph, &Mapping::one_chain_per_package(&graph), Time::Wall);
    }
}

#[test]
fn the_course_graph_has_the_homography_of_the_simulated_camera() {
    let graph = graph("course.graph.yaml");
    let planner = graph.node("planner").expect("it has a planner");
    let ParameterValue::DoubleArray(numbers) = &planner.parameters["homography"] else {
        panic!("the homography is a list of doubles");
    };
    let expected = Mount::SHIPPED.view(0.22, 0.70).expect("it has an inverse").matrix();
    assert_eq!(numbers.len(), 9);
    for (found, expected) in numbers.iter().zip(expected.as_flattened()) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }
}

/// A folder of this test's own, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn one_lap_in_one_chain_keeps_to_the_lane_and_to_the_lights() {
    let mut graph = graph("course.graph.yaml");
    let simulator = graph.nodes.iter_mut().find(|node| node.name == "simulator");
    let parameters = &mut simulator.expect("it has a simulator").parameters;
    parameters.insert("laps".to_owned(), ParameterValue::Integer(1));
    let reason = run(&graph, "course", None);
    println!("{reason}");
    assert!(reason.starts_with("1.00 laps"), "{reason}");
    assert!(reason.contains("run 0;"), "{reason}");
}

#[test]
fn seven_seconds_with_a_map_run_in_one_chain() {
    let graph = graph("course_slam.graph.yaml");
    let reason = run(&graph, "course_slam", Some(7_000_000_000));
    assert!(reason.contains("time is over"), "{reason}");
}

/// Runs a graph in one chain until it ends, and says why it did.
fn run(graph: &Graph, name: &str, duration_ns: Option<u64>) -> String {
    let time = Time::Simulated { pacing: Pacing::Max };
    let plan = plan(graph, &mapping(&format!("{name}.chain.mapping.yaml")), time);
    let process = &plan.processes[0];
    let folder = std::env::temp_dir().join(format!("crossdock-{name}-{}", std::process::id()));
    // Where processes meet is private to its user.
    std::fs::DirBuilder::new().mode(0o700).create(&folder).expect("a folder");
    let folder = Folder(folder);
    let participant = Participant::open(ParticipantOptions {
        rendezvous: Rendezvous::Folder(folder.0.clone()),
        ..ParticipantOptions::new(0, name)
    })
    .expect("a participant");
    let mut executor = Executor::new(ExecutorOptions {
        duration_ns,
        participant: &participant,
        package: &package(),
        plan: &process.executors[0],
        time: process.time,
        chains: &process.chains,
        statistics: Statistics::On,
        remote: Remote::new(),
    })
    .expect("an executor");
    executor.connect(Duration::from_secs(60)).expect("it is connected");
    let RunEnd::Finished { reason } = executor.run().expect("it is driven") else {
        panic!("nobody stopped it");
    };
    reason
}
