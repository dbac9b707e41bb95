//! What is said of a failure, by where it happened, what becomes of its node, and when a budget is
//! missed.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, check};

use super::*;
use crate::node::context::Context;
use crate::node::description::NodeDescription;
use crate::node::miss::Miss;
use crate::node::node_type::{Node, NodeType};
use crate::node::package::Package;
use crate::node::setup::Setup;
use crate::run::options::ExecutorOptions;
use crate::status::Statistics;

/// Ends the run in its first execution, or when it has missed a limit.
struct Once;

impl NodeType for Once {
    const NAME: &'static str = "once";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("step", Duration::from_millis(1))
    }

    fn create(_: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self)
    }
}

impl Node for Once {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        context.finish("once is enough");
        Ok(())
    }

    fn limit_missed(&mut self, _: &Miss<'_>, context: &mut Context<'_>) -> Result<(), NodeError> {
        context.finish("it took too long");
        Ok(())
    }
}

/// Has an executor of such a node.
fn with_executor(test: &str, trial: impl FnOnce(&mut Executor)) {
    let package = Package::new("probe").node::<Once>();
    let text = b"crossdock: 1
name: once
nodes: { once: { package: probe, type: once, budget_ms: 3600000, on_failure: drop_node } }
";
    let graph = Graph::from_yaml("once", text).expect("a graph");
    let binaries = vec![package.description()];
    let descriptions = PackageDescriptions { binaries, ..PackageDescriptions::default() };
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).expect("a plan");
    let folder = std::env::temp_dir().join(format!("xd-{test}-{}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&folder).expect("a folder");
    let mut options = ParticipantOptions::new(0, test);
    options.rendezvous = Rendezvous::Folder(folder.clone());
    let participant = Participant::open(options).expect("a participant");
    let mut executor = Executor::new(ExecutorOptions {
        participant: &participant,
        package: &package,
        plan: &plan.processes[0].executors[0],
        time: plan.processes[0].time,
        duration_ns: None,
        chains: &[],
        statistics: Statistics::Off,
        remote: Remote::new(),
    })
    .expect("an executor");
    trial(&mut executor);
    drop(executor);
    drop(participant);
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_panic_after_an_execution_is_said_of_the_executor_and_of_no_node() {
    with_executor("blame", |executor| {
        assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
        let error = executor.panicked("lost");
        assert_eq!(error.node, "");
        assert!(error.error.starts_with("the executor panicked"), "{error}");
        assert!(error.error.ends_with(": lost"), "{error}");
    });
}

#[test]
fn an_execution_may_take_all_of_its_budget() {
    with_executor("budget", |executor| {
        let (step, hour_ns) = (Step::timer(0, 0), 3_600_000_000_000);
        executor.tell_misses(step, hour_ns).expect("nobody is told");
        assert!(!executor.finish.has_begun());
        executor.tell_misses(step, hour_ns + 1).expect("the node is told");
        assert!(executor.finish.has_begun());
    });
}

#[test]
fn a_further_failure_of_a_node_that_was_taken_out_ends_the_run() {
    with_executor("taken-out", |executor| {
        let failure = |text: &str| RunError { node: "once".to_owned(), error: text.to_owned() };
        let first = executor.after_failure(failure("the first one"));
        assert_eq!(first, Ok(RunEnd::NodeDropped(failure("the first one"))));
        // Nothing is left to take out: to go on would be to fail again, without end.
        let further = executor.after_failure(failure("a further one"));
        assert_eq!(further, Err(failure("a further one")));
    });
}
