//! The clocks of nodes and timers.

use super::*;
use crossdock_graph::TimerClock;

/// The course whose simulator has one more timer, on this clock.
fn planned(text: &str, clock: TimerClock, time: Time) -> Result<Plan, Vec<Violation>> {
    let graph = Graph::from_yaml("course.graph.yaml", text.as_bytes())?;
    let mut descriptions = descriptions();
    let nodes = &mut descriptions.binaries[0].packages[0].nodes;
    let simulator = nodes.iter_mut().find(|node| node.node_type == "simulator").unwrap();
    let (name, period_ns) = ("beat".to_owned(), Some(1_000_000));
    simulator.timers.push(TimerDescription { name, period_ns, clock });
    let mapping = Mapping::one_chain_per_package(&graph);
    check(&graph, &mapping, &descriptions, &RunOptions { time, ..RunOptions::PLAIN })
}

#[test]
fn a_timer_keeps_the_clock_of_its_node_type() {
    let plan = planned(COURSE, TimerClock::Steady, Time::Wall).unwrap();
    let timers = &plan.processes[0].executors[0].nodes[0].timers;
    let clocks: Vec<_> = timers.iter().map(|timer| (timer.name.as_str(), timer.clock)).collect();
    assert_eq!(clocks, [("step", TimerClock::Ros), ("beat", TimerClock::Steady)]);
}

#[test]
fn a_lockstep_needs_a_timer_of_ros_time() {
    let text = course_with("timer: step, command", "timer: beat, command");
    planned(&text, TimerClock::Ros, Time::Wall).unwrap();
    let violations = planned(&text, TimerClock::System, Time::Wall).unwrap_err();
    let violation = only(&violations, ViolationKind::Lockstep);
    assert!(violation.message.contains("timer `beat` is not of ROS time"), "{violation}");
}

#[test]
fn timers_of_the_computers_clocks_cannot_be_repeated_bit_by_bit() {
    let stepped = Time::Simulated { pacing: Pacing::Steps };
    let is_told = |clock| {
        let violations = planned(COURSE, clock, stepped).err().unwrap_or_default();
        violations.iter().any(|it| it.message.contains("timer `beat` goes by the computer's clock"))
    };
    assert!(is_told(TimerClock::Steady) && is_told(TimerClock::System));
    assert!(!is_told(TimerClock::Ros));
}

#[test]
fn a_node_on_a_fabric_that_cannot_be_repeated_bit_by_bit_is_named_once() {
    let graph = Graph::from_yaml("course.graph.yaml", COURSE.as_bytes()).unwrap();
    let mapping = "crossdock: 1\nprocesses: {}\nfabrics: { board: { nodes: [compensation] } }\n";
    let mapping = Mapping::from_yaml("m.yaml", mapping.as_bytes()).unwrap();
    let options =
        RunOptions { time: Time::Simulated { pacing: Pacing::Steps }, ..RunOptions::PLAIN };
    let violations = check(&graph, &mapping, &descriptions(), &options).unwrap_err();
    let of_fabric = |it: &&Violation| it.message.contains("mapped to a fabric, which takes");
    let told = violations.iter().find(of_fabric).expect("a violation").to_string();
    assert_eq!(told.matches("`compensation`").count(), 1, "{told}");
}

#[test]
fn use_sim_time_counts_in_runs_by_the_computers_time() {
    let text = course_with("clip_percent: 1.0", "clip_percent: 1.0, use_sim_time: true");
    let uses = |time| {
        let plan = planned(&text, TimerClock::Ros, time).unwrap();
        let nodes = plan.processes[0].executors[0].nodes.iter();
        let all: Vec<String> =
            nodes.filter(|node| node.use_sim_time).map(|node| node.name.clone()).collect();
        assert!(
            plan.processes[0].executors[0]
                .nodes
                .iter()
                .all(|node| { !node.parameters.contains_key("use_sim_time") })
        );
        all
    };
    assert_eq!(uses(Time::Wall), ["compensation"]);
    assert_eq!(uses(Time::Simulated { pacing: Pacing::Max }), [""; 0]);
}
