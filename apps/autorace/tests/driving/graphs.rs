//! The shipped graph, mapping and parameter files against the package, and a drive in one process.

use crossdock_autorace::nodes::package;
use crossdock_autorace::simulator::renderer::Mount;
use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use crossdock_executor::{Executor, ExecutorOptions, Remote, RunEnd, Statistics};
use crossdock_graph::{
    Graph, Mapping, Pacing, PackageDescriptions, ParameterOverrides, ParameterValue, Plan,
    RunOptions, Time, check,
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
    let time = Time::Simulated { pacing: Pacing::Max };
    let plan = plan(&graph, &mapping("course.chain.mapping.yaml"), time);
    let process = &plan.processes[0];
    let folder = std::env::temp_dir().join(format!("crossdock-course-{}", std::process::id()));
    // Where processes meet is private to its user.
    std::fs::DirBuilder::new().mode(0o700).create(&folder).expect("a folder");
    let folder = Folder(folder);
    let participant = Participant::open(ParticipantOptions {
        rendezvous: Rendezvous::Folder(folder.0.clone()),
        ..ParticipantOptions::new(0, "course")
    })
    .expect("a participant");
    let mut executor = Executor::new(ExecutorOptions {
        duration_ns: None,
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
    let RunEnd::Finished { reason } = executor.run().expect("the lap is driven") else {
        panic!("nobody stopped it");
    };
    println!("{reason}");
    assert!(reason.starts_with("1.00 laps"), "{reason}");
    assert!(reason.contains("run 0;"), "{reason}");
}
