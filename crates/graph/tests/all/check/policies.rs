//! Plans of failures, restarts and deadlines.

use super::*;

#[test]
fn a_process_is_started_again_after_failures_of_its_nodes_where_the_mapping_says_so() {
    let polyfit = "    type: polyfit\n";
    let wanting = course_with(polyfit, &format!("{polyfit}    on_failure: restart_process\n"));
    let violations = check_text(&wanting).unwrap_err();
    let violation = only(&violations, ViolationKind::Restart);
    assert!(violation.place.is_some() && violation.node.as_deref() == Some("polyfit"));
    assert!(violation.advice.contains("`restart: on_failure`"), "{violation}");

    let taken_out = course_with(polyfit, &format!("{polyfit}    on_failure: drop_node\n"));
    let graph = Graph::from_yaml("course.graph.yaml", taken_out.as_bytes()).unwrap();
    let mut mapping = Mapping::one_chain_per_package(&graph);
    let policies = |mapping: &Mapping| {
        let plan = check(&graph, mapping, &descriptions(), &RunOptions::PLAIN).unwrap();
        let nodes = plan.processes[0].executors[0].nodes.iter();
        let policies = nodes.map(|node| (node.name == "polyfit", node.on_failure));
        policies.collect::<std::collections::BTreeMap<_, _>>()
    };
    let of = |others| [(false, others), (true, OnFailure::DropNode)].into_iter().collect();
    assert_eq!(policies(&mapping), of(OnFailure::StopRun));
    mapping.processes[0].restart = Restart { when: RestartWhen::OnFailure, ..Restart::NEVER };
    assert_eq!(policies(&mapping), of(OnFailure::RestartProcess));
}

#[test]
fn the_executor_that_ends_a_chain_with_a_latency_limit_watches_its_beginning() {
    let chain = "from: /camera/image_raw, to";
    let text = course_with(chain, &format!("max_latency_ms: 80, {chain}"));
    let graph = Graph::from_yaml("course.graph.yaml", text.as_bytes()).unwrap();
    let mapping = Mapping::one_process_per_node(&graph);
    let plan = |time| {
        let options = RunOptions { time, ..RunOptions::PLAIN };
        check(&graph, &mapping, &descriptions(), &options).unwrap()
    };
    let watching = |plan: &Plan| {
        let watching = plan.processes.iter().filter(|it| !it.executors[0].watches.is_empty());
        watching.map(|process| process.name.clone()).collect::<Vec<_>>()
    };
    let raw = |plan: &Plan| {
        let mut nodes = plan.processes.iter().flat_map(|process| &process.executors[0].nodes);
        let simulator = nodes.find(|node| node.name == "simulator").unwrap();
        let mut outputs = simulator.outputs.iter();
        outputs.find(|output| output.topic == "/camera/image_raw").unwrap().routes.ring
    };
    let wall = plan(Time::Wall);
    let to = graph.chains.iter().find(|chain| chain.max_latency.is_some()).unwrap().to.clone();
    let topic = wall.topics.iter().find(|topic| topic.name == to).unwrap();
    assert_eq!(watching(&wall), [topic.publishers[0].process.clone()]);
    // The barrier counts the watch among the subscribers.
    let unpaced = plan(Time::Simulated { pacing: Pacing::Max });
    assert_eq!(watching(&unpaced), Vec::<String>::new());
    assert_eq!(raw(&wall), raw(&unpaced) + 1);
}
