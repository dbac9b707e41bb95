//! Executors in graph mode: which thread gets which node.

use super::*;

/// The course in one executor in graph mode: the nodes of each thread, and what each is expected
/// to take, µs.
fn in_graph_mode(threads: u32, costs_us: &[(&str, u32)]) -> Result<Plan, Vec<Violation>> {
    let graph = course();
    let mut mapping = Mapping::one_chain_per_package(&graph);
    let executor = &mut mapping.processes[0].executors[0];
    executor.mode = ExecutorMode::Graph;
    executor.threads = threads;
    executor.costs_us = costs_us.iter().map(|(node, us)| ((*node).to_owned(), *us)).collect();
    let read = Mapping::from_yaml("m", mapping.to_yaml().as_bytes()).unwrap();
    assert_eq!(read.without_source(), mapping);
    check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN)
}

fn lanes(plan: &Plan) -> Vec<(&str, Vec<&str>)> {
    let executors = plan.processes[0].executors.iter();
    let lane = executors.map(|executor| {
        assert_eq!(executor.mode, ExecutorMode::Chain, "the plan says what each thread does");
        let nodes = executor.nodes.iter().map(|node| node.name.as_str());
        (executor.name.as_str(), nodes.collect())
    });
    lane.collect()
}

#[test]
fn graph_mode_puts_what_can_run_at_the_same_time_on_several_threads() {
    let plan = in_graph_mode(2, &[]).unwrap();
    let wanted = [
        // The longest way first, and on one thread: it never waits for another to wake.
        (
            "autorace.0",
            vec!["simulator", "compensation", "blur", "lane_planner", "polyfit", "control"],
        ),
        ("autorace.1", vec!["red_light", "green_light", "features"]),
    ];
    assert_eq!(lanes(&plan), wanted);
    let topic = |name: &str| plan.topics.iter().find(|topic| topic.name == name).unwrap();
    let compensated = &topic("/camera/image_compensated").publishers[0];
    assert_eq!((compensated.routes.in_thread, compensated.routes.ring), (1, 3));
    assert_eq!(topic("/camera/image_blurred").route, Route::InThread);
    assert_eq!(topic("/traffic_light/red").subscribers[1].executor, "autorace.0");

    // A third thread takes what would otherwise wait.
    let plan = in_graph_mode(3, &[]).unwrap();
    assert_eq!(lanes(&plan)[1].1, ["red_light", "features"]);
    assert_eq!(lanes(&plan)[2].1, ["green_light"]);
}

#[test]
fn priority_and_cpus_of_an_executor_in_graph_mode_are_those_of_all_its_threads() {
    let graph = course();
    let mut mapping = Mapping::one_chain_per_package(&graph);
    let executor = &mut mapping.processes[0].executors[0];
    (executor.mode, executor.threads) = (ExecutorMode::Graph, 3);
    (executor.priority, executor.affinity) = (Some(80), vec![0, 1]);
    let plan = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap();
    let claims: Vec<_> =
        plan.processes[0].executors.iter().map(|it| (it.priority, it.affinity.clone())).collect();
    assert_eq!(claims, vec![(Some(80), vec![0, 1]); 3]);
}

#[test]
fn graph_mode_wakes_no_thread_for_less_than_that_costs() {
    let one = in_graph_mode(1, &[]).unwrap();
    let (_, nodes) = lanes(&one).remove(0);
    let all: Vec<(&str, u32)> = nodes.into_iter().map(|name| (name, 3)).collect();
    let plan = in_graph_mode(8, &all).unwrap();
    assert_eq!(lanes(&plan).len(), 1, "all of it is done before a second thread would be awake");
    // One long node is worth it: it stays where its message is, and all others go on beside it.
    let long: Vec<(&str, u32)> =
        all.iter().map(|(name, us)| (*name, if *name == "features" { 900 } else { *us })).collect();
    let plan = in_graph_mode(8, &long).unwrap();
    assert_eq!(lanes(&plan).len(), 2);
    assert_eq!(lanes(&plan)[0].1, ["simulator", "compensation", "features"]);
}

#[test]
fn a_cost_must_be_that_of_a_node_of_the_executor() {
    let violations = in_graph_mode(2, &[("blurr", 10)]).unwrap_err();
    let violation = only(&violations, ViolationKind::UnknownNode);
    assert!(violation.message.contains("`costs_us`"), "{violation}");
    assert_eq!(violation.node.as_deref(), Some("blurr"));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Whatever the graph: every node has one place, and no thread runs a node before one whose
    /// messages release it.
    #[test]
    fn graph_mode_gives_every_node_one_place_in_an_order_that_triggers_allow(
        nodes in proptest::collection::vec(
            (proptest::collection::vec(0..40_usize, 0..3), 1..5_000_u32),
            1..40,
        ),
        threads in 1..6_u32,
    ) {
        let ports = ["a", "b", "c"];
        let mut text = "crossdock: 1\nname: random\nnodes:\n".to_owned();
        let mut costs_us = BTreeMap::new();
        for (index, (sources, cost_us)) in nodes.iter().enumerate() {
            let earlier = sources.iter().filter(|_| index > 0).zip(ports);
            let inputs: Vec<String> =
                earlier.map(|(source, port)| format!("{port}: /t{}", source % index.max(1))).collect();
            text += &format!("  n{index}: {{ package: random, type: n{index}, \
                inputs: {{ {} }}, outputs: {{ out: /t{index} }} }}\n", inputs.join(", "));
            costs_us.insert(format!("n{index}"), *cost_us);
        }
        let graph = Graph::from_yaml("random", text.as_bytes()).unwrap();
        let mut mapping = Mapping::one_chain_per_package(&graph);
        let executor = &mut mapping.processes[0].executors[0];
        *executor = MappedExecutor {
            mode: ExecutorMode::Graph, threads, costs_us, nodes: executor.nodes.clone(),
            ..MappedExecutor::default()
        };
        let descriptions = described(&graph);
        let plan = check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).unwrap();
        let lanes = lanes(&plan);
        proptest::prop_assert!(lanes.len() <= threads as usize);
        let mut seen: Vec<&str> = lanes.iter().flat_map(|(_, nodes)| nodes.clone()).collect();
        for (_, lane) in &lanes {
            for (place, name) in lane.iter().enumerate() {
                for input in &graph.node(name).unwrap().inputs {
                    let publisher = input.topic.replace("/t", "n");
                    let before = lane.iter().position(|node| *node == publisher);
                    proptest::prop_assert!(before.is_none_or(|before| before < place));
                }
            }
        }
        seen.sort_unstable();
        seen.dedup();
        proptest::prop_assert_eq!(seen.len(), graph.nodes.len());
    }
}
