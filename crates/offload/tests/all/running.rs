//! Runs a graph of the tests in this process: one participant, a thread for each executor.

use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use crossdock_executor::{
    Executor, ExecutorOptions, Package, Remote, RunEnd, RunError, Statistics,
};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, check};
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

/// Longer than anything takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a graph, by its name and text: one list of nodes per executor, all in chain mode, and what
/// the mapping says of devices. Ends when the first node finishes.
pub(crate) fn run(
    (name, graph): (&str, &str),
    executors: &[&str],
    devices: &str,
    package: fn() -> Package,
) -> Result<(), RunError> {
    let graph = Graph::from_yaml("graph", graph.as_bytes()).expect("a graph");
    let executors: Vec<String> =
        executors.iter().map(|nodes| format!("{{ mode: chain, nodes: [{nodes}] }}")).collect();
    let mapping = format!(
        "crossdock: 1\nprocesses: {{ main: {{ executors: [ {} ] }} }}\n{devices}",
        executors.join(", ")
    );
    let mapping = Mapping::from_yaml("mapping", mapping.as_bytes()).expect("a mapping");
    let interfaces = PackageDescriptions {
        binaries: vec![package().description()],
        ..PackageDescriptions::default()
    };
    let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).expect("a plan");
    let folder = std::env::temp_dir().join(format!("xd-{name}-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).expect("a folder");
    let mut options = ParticipantOptions::new(0, name);
    options.rendezvous = Rendezvous::Folder(folder.clone());
    let participant = Participant::open(options).expect("a participant");
    let process = &plan.processes[0];
    let remotes: Vec<Remote> = process.executors.iter().map(|_| Remote::new()).collect();
    let outcome = std::thread::scope(|scope| {
        let threads: Vec<_> = process
            .executors
            .iter()
            .zip(&remotes)
            .map(|(plan, remote)| {
                let (participant, remotes) = (&participant, &remotes);
                scope.spawn(move || {
                    let mut executor = Executor::new(ExecutorOptions {
                        participant,
                        package: &package(),
                        plan,
                        time: process.time,
                        duration_ns: None,
                        chains: &[],
                        statistics: Statistics::On,
                        remote: remote.clone(),
                    })
                    .and_then(|mut executor| executor.connect(PATIENCE).map(|()| executor));
                    let end = match &mut executor {
                        Ok(executor) => executor.run(),
                        Err(error) => Err(error.clone()),
                    };
                    // One has seen all, or cannot go on: so do the others.
                    remotes.iter().for_each(Remote::stop);
                    end
                })
            })
            .collect();
        let ends: Vec<_> = threads.into_iter().map(|it| it.join().expect("no panic")).collect();
        let finished = |end: &RunEnd| matches!(end, RunEnd::Finished { .. });
        if let Some(error) = ends.iter().find_map(|end| end.as_ref().err()) {
            return Err(error.clone());
        }
        assert!(ends.iter().flatten().any(finished), "{ends:?}");
        Ok(())
    });
    drop(participant);
    let _ = std::fs::remove_dir_all(folder);
    outcome
}
