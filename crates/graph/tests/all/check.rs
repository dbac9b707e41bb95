//! The rules between graph, mapping and descriptions, each broken once.

mod clocks;
mod devices;
mod hosts;
mod lanes;
mod policies;
use crate::support;
use crossdock_graph::{
    BinaryDescription, ExecutorMode, Graph, GraphNode, InputReading, InputTopic, MappedExecutor,
    MappedProcess, Mapping, NodeTypeDescription, OnFailure, Pacing, PackageDescription,
    PackageDescriptions, ParameterOverrides, ParameterValue, Picture, Plan, PredicateDescription,
    ProcessPlan, Restart, RestartWhen, Route, RunOptions, Source, Time, TimerClock,
    TimerDescription, Violation, ViolationKind, check,
};
use std::collections::BTreeMap;
use support::*;

fn check_text(text: &str) -> Result<Plan, Vec<Violation>> {
    let graph = Graph::from_yaml("course.graph.yaml", text.as_bytes())?;
    let mapping = Mapping::one_chain_per_package(&graph);
    check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN)
}

/// Checks the course with one piece of text replaced and returns the violation.
#[track_caller]
fn broken(from: &str, to: &str, kind: ViolationKind) -> Violation {
    let violations = check_text(&course_with(from, to)).unwrap_err();
    let violation = only(&violations, kind);
    assert!(violation.place.is_some(), "{violation}");
    assert_eq!(violation.file, "course.graph.yaml");
    violation
}

#[test]
fn the_course_is_planned_as_one_chain_in_trigger_order() {
    let plan = check_text(COURSE).unwrap();
    assert_eq!(plan.processes.len(), 1);
    let process = &plan.processes[0];
    assert_eq!(
        (process.name.as_str(), process.binary.as_str()),
        ("autorace", "crossdock-autorace")
    );
    let names: Vec<&str> =
        process.executors[0].nodes.iter().map(|node| node.name.as_str()).collect();
    let wanted = [
        "simulator",
        "compensation",
        "blur",
        "lane_planner",
        "polyfit",
        "red_light",
        "green_light",
        "features",
        "control",
    ];
    assert_eq!(names, wanted);
    let simulator = &process.executors[0].nodes[0];
    assert_eq!(simulator.timers[0].period_ns, 66_666_667);
    assert_eq!(simulator.parameters["laps"], ParameterValue::Integer(3));
    assert_eq!(simulator.lockstep, None, "wall time has no lockstep");
    assert!(!simulator.inputs[0].trigger);
    let image = plan.topics.iter().find(|topic| topic.name == "/camera/image_raw").unwrap();
    assert_eq!(image.route, Route::InThread);
    let odometry = plan.topics.iter().find(|topic| topic.name == "/odom").unwrap();
    assert_eq!(odometry.route, Route::Unconnected);
    assert!(plan.warnings.is_empty());
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
}

#[test]
fn one_process_per_node_expects_every_connection_through_the_ring() {
    let graph = course();
    let mapping = Mapping::one_process_per_node(&graph);
    let time = Time::Simulated { pacing: Pacing::Max };
    let options = RunOptions { time, recorded: vec!["/lane".into()], ..RunOptions::PLAIN };
    let plan = check(&graph, &mapping, &descriptions(), &options).unwrap();
    assert_eq!(plan.processes.len(), 9);
    let compensation =
        plan.processes.iter().find(|process| process.name == "compensation").unwrap();
    let expected: Vec<_> = compensation
        .expected
        .iter()
        .map(|e| (e.topic.as_str(), e.publishers, e.subscribers, e.publishers_here))
        .collect();
    assert_eq!(expected, [("/camera/image_compensated", 1, 4, 1), ("/camera/image_raw", 1, 1, 0)]);
    let output = &compensation.executors[0].nodes[0].outputs[0];
    assert_eq!((output.routes.in_thread, output.routes.ring), (0, 4));
    let lane = plan.topics.iter().find(|topic| topic.name == "/lane").unwrap();
    assert_eq!((lane.route, lane.recorded), (Route::Ring, true));
    assert_eq!(lane.publishers[0].routes.ring, 2, "control and the recorder");
    assert_eq!(plan.launcher.len(), 1);
    assert_eq!(plan.launcher[0].subscribers_here, 1);
    let simulator = &plan.processes[0].executors[0].nodes[0];
    assert!(simulator.lockstep.is_some(), "simulated time without pacing runs in lock step");
}

#[test]
fn two_executors_of_one_process_use_function_calls_inside_and_the_ring_between() {
    let graph = course();
    let mut mapping = Mapping::one_chain_per_package(&graph);
    let executors = &mut mapping.processes[0].executors;
    executors[0].nodes.retain(|node| node != "features");
    executors.push(MappedExecutor {
        mode: ExecutorMode::Event,
        spin_us: 5,
        nodes: vec!["features".into()],
        ..MappedExecutor::default()
    });
    let plan = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap();
    let names: Vec<&str> =
        plan.processes[0].executors.iter().map(|executor| executor.name.as_str()).collect();
    assert_eq!(names, ["autorace.0", "autorace.1"]);
    let topic = plan.topics.iter().find(|t| t.name == "/camera/image_compensated").unwrap();
    assert_eq!(topic.route, Route::Both);
    assert_eq!((topic.publishers[0].routes.in_thread, topic.publishers[0].routes.ring), (3, 1));
}

#[test]
fn a_cycle_of_triggers_is_shown_with_the_way_to_break_it() {
    let violation = broken(
        "command: { topic: /cmd_vel, trigger: false }",
        "command: { topic: /cmd_vel, trigger: true }",
        ViolationKind::TriggerCycle,
    );
    assert!(violation.message.contains("simulator -[/camera/image_raw]-> compensation -["));
    assert!(violation.message.ends_with("control -[/cmd_vel]-> simulator"), "{violation}");
    assert!(violation.advice.contains("`command: { topic: /cmd_vel, trigger: false }` at"));
    assert_eq!(violation.place.unwrap().line, 12);
    let both = COURSE.replace(", trigger: false }", ", trigger: true }");
    let violations = check_text(&both).unwrap_err();
    let cycles = violations.iter().filter(|v| v.kind == ViolationKind::TriggerCycle).count();
    assert_eq!(cycles, 1, "the lights are tied up with the big cycle: {violations:#?}");
    let lights = COURSE.replace("/green, trigger: false }", "/green, trigger: true }");
    let lights = lights
        .replace("/traffic_light/red, trigger: false }", "/traffic_light/red, trigger: true }");
    let violation = only(&check_text(&lights).unwrap_err(), ViolationKind::TriggerCycle);
    assert!(violation.message.contains(
        "red_light -[/traffic_light/red]-> green_light -[/traffic_light/green]-> red_light"
    ));
}

#[test]
fn a_loop_that_is_said_to_be_one_is_planned_from_the_node_that_closes_it_on() {
    let says = |what: &str| {
        let to = format!("command: {{ topic: /cmd_vel, trigger: true{what} }}");
        course_with("command: { topic: /cmd_vel, trigger: false }", &to)
    };
    let text = says(", closes_loop: true").replace("lockstep", "# lockstep");
    let plan = check_text(&text).unwrap();
    let nodes = &plan.processes[0].executors[0].nodes;
    let place = |name: &str| nodes.iter().position(|node| node.name == name).unwrap();
    assert!(place("simulator") < place("compensation") && place("polyfit") < place("control"));
    let command = nodes[place("simulator")].inputs.iter().find(|it| it.port == "command");
    assert!(command.unwrap().trigger);
    let graph = Graph::from_yaml("course.graph.yaml", text.as_bytes()).unwrap();
    let written = Graph::from_yaml("written", graph.to_yaml().as_bytes()).unwrap();
    assert_eq!(written.nodes, graph.nodes);
}

#[test]
fn what_is_said_to_close_a_loop_and_does_not_is_refused() {
    let v = broken(
        "command: { topic: /cmd_vel, trigger: false }",
        "command: { topic: /cmd_vel, trigger: false, closes_loop: true }",
        ViolationKind::TriggerCycle,
    );
    assert!(v.message.contains("does not trigger"), "{v}");
    let v = broken(
        "inputs: { lane: /lane,",
        "inputs: { lane: { topic: /lane, closes_loop: true },",
        ViolationKind::TriggerCycle,
    );
    assert!(v.message.contains("no triggers lead from its node"), "{v}");
}

#[test]
fn a_node_that_triggers_itself_is_a_cycle() {
    let text = course_with(
        "{ image: /camera/image_raw }\n    outputs: { image: /camera/image_compensated }",
        "{ image: /camera/image_compensated }\n    outputs: { image: /camera/image_compensated }",
    );
    let violation = only(&check_text(&text).unwrap_err(), ViolationKind::TriggerCycle);
    assert!(violation.message.contains("compensation -[/camera/image_compensated]-> compensation"));
}

#[test]
fn unknown_and_unconnected_ports_types_packages_and_timers_are_named() {
    let v = broken("inputs: { lane: /lane,", "inputs: { lan: /lane,", ViolationKind::UnknownPort);
    assert!(v.advice.contains("did you mean `lane`?"), "{v}");
    assert_eq!(v.node.as_deref(), Some("control"));
    let v = broken("outputs: { points: /features }", "outputs: {}", ViolationKind::UnconnectedPort);
    assert!(v.message.contains("output `points` (sensor_msgs/msg/PointCloud2)"), "{v}");
    let v = broken("type: gaussian_blur", "type: gausian_blur", ViolationKind::UnknownNodeType);
    assert!(v.advice.contains("did you mean `gaussian_blur`?"), "{v}");
    let v = broken(
        "package: autorace\n    type: polyfit",
        "package: autorase\n    type: polyfit",
        ViolationKind::UnknownPackage,
    );
    assert!(
        v.advice.contains("did you mean `autorace`?") && v.advice.contains("crossdock-autorase")
    );
    let v = broken("timers: { step: { rate_hz: 15 } }", "timers: {}", ViolationKind::Timer);
    assert!(v.message.contains("timer `step` has no period"), "{v}");
    let violations = check_text(&course_with("timers: { step:", "timers: { stop:")).unwrap_err();
    let unknown = violations.iter().filter(|v| v.message.contains("has no timer `stop`"));
    assert_eq!(unknown.count(), 1, "{violations:#?}");
}

#[test]
fn parameters_are_checked_by_name_and_type() {
    let v =
        broken("{ clip_percent: 1.0 }", "{ clip_procent: 1.0 }", ViolationKind::UnknownParameter);
    assert!(v.advice.contains("did you mean `clip_percent`?"), "{v}");
    let v = broken("{ clip_percent: 1.0 }", "{ clip_percent: much }", ViolationKind::ParameterType);
    assert!(v.message.contains("type double, not string"), "{v}");
    assert!(v.advice.contains("share of pixels"), "{v}");
    let plan = check_text(&course_with("{ clip_percent: 1.0 }", "{ clip_percent: 1 }")).unwrap();
    let node = &plan.processes[0].executors[0].nodes[1];
    assert_eq!(node.parameters["clip_percent"], ParameterValue::Double(1.0));
}

#[test]
fn type_clashes_between_ports_and_with_the_declaration_name_both_sides() {
    let v = broken("red: /traffic_light/red,", "red: /lane,", ViolationKind::TypeClash);
    assert!(
        v.message.contains("`autorace_msgs/msg/TrafficLight`, but output `lane` of node"),
        "{v}"
    );
    assert_eq!(v.topic.as_deref(), Some("/lane"));
    let v = broken(
        "{ type: sensor_msgs/msg/Image,",
        "{ type: sensor_msgs/msg/Imu,",
        ViolationKind::TypeClash,
    );
    assert!(v.message.contains("the topic's declaration says `sensor_msgs/msg/Imu`"), "{v}");
    let mut other = descriptions();
    other.binaries[0].packages[0].nodes[0].outputs[0].type_hash = Some("RIHS01_aa".into());
    other.binaries[0].packages[0].nodes[1].inputs[0].type_hash = Some("RIHS01_bb".into());
    let graph = course();
    let mapping = Mapping::one_chain_per_package(&graph);
    let violations = check(&graph, &mapping, &other, &RunOptions::PLAIN).unwrap_err();
    let v = only(&violations, ViolationKind::TypeClash);
    assert!(v.message.contains("RIHS01_aa against RIHS01_bb"), "{v}");
}

#[test]
fn a_triggering_input_needs_a_publisher_unless_the_topic_is_external() {
    let from = "inputs: { image: /lane/birds_eye }";
    let v = broken(from, "inputs: { image: /lane/bird_eye }", ViolationKind::NoPublisher);
    assert!(v.advice.contains("did you mean `/lane/birds_eye`?"), "{v}");
    assert!(v.advice.contains("external: true"), "{v}");
    let external = course_with(from, "inputs: { image: /lane/bird_eye }")
        .replace("topics:\n", "topics:\n  /lane/bird_eye: { external: true }\n")
        .replace("chains:\n  camera_to_command: { from: /camera/image_raw, to: /cmd_vel }\n", "");
    check_text(&external).unwrap();
    let reader = course_with("{ topic: /traffic_light/green, trigger", "{ topic: /nobody, trigger");
    let plan = check_text(&reader).unwrap();
    assert_eq!(plan.warnings.len(), 1);
    assert_eq!(plan.warnings[0].topic.as_deref(), Some("/nobody"));
}

#[test]
fn two_publishers_of_a_topic_are_said_unless_the_graph_says_that_they_are_meant() {
    let two = COURSE.replace("/traffic_light/green", "/traffic_light/red");
    let warnings = check_text(&two).unwrap().warnings;
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert_eq!(warning.kind, ViolationKind::SeveralPublishers);
    assert!(warning.message.contains("`red_light`, `green_light`"), "{warning}");
    let declared = "topics:\n  /traffic_light/red: { several_publishers: true }\n";
    let meant = two.replace("topics:\n", declared);
    assert_eq!(check_text(&meant).unwrap().warnings, []);
}

#[test]
fn a_depth_that_memory_is_not_sure_to_hold_is_said() {
    let topics =
        "topics:\n  /lane: { max_bytes: 1000 }\n  /camera/image_raw: { max_bytes: 1000000 }\n";
    let graph = |from: &str, to: &str| {
        let old = "topics:\n  /camera/image_raw: { type: sensor_msgs/msg/Image, max_bytes: 1000000, qos: { depth: 4 } }\n";
        assert!(COURSE.contains(old));
        course_with(from, to).replace(old, topics)
    };
    let deep = |depth: u32| {
        let wanted = format!("inputs: {{ lane: {{ topic: /lane, qos: {{ depth: {depth} }} }}, red");
        check_text(&graph("inputs: { lane: /lane, red", &wanted)).unwrap().warnings
    };
    // Small messages are kept, large ones as many as the publisher's depth says.
    assert_eq!((deep(300), deep(1023)), (Vec::new(), Vec::new()));
    let [warning] = &deep(3000)[..] else { panic!("one warning") };
    let text = warning.to_string();
    assert!(text.contains("asks for 3000 messages of up to 1000 bytes"), "{text}");
    assert!(text.contains("hold 1023") && text.contains("`depth: 3000` on the output"), "{text}");
    assert!(!text.contains("  "), "{text}");
    assert_eq!(warning.topic.as_deref(), Some("/lane"));
    let from = "inputs: { image: /camera/image_raw }";
    let to = "inputs: { image: { topic: /camera/image_raw, qos: { depth: 5 } } }";
    let warnings = check_text(&graph(from, to)).unwrap().warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].message.contains("hold 4"), "{}", warnings[0]);
}

#[test]
fn a_subscriber_may_not_ask_for_more_than_is_offered() {
    let v = broken(
        "outputs: { lane: /lane }",
        "outputs: { lane: { topic: /lane, qos: { reliability: best_effort } } }",
        ViolationKind::QosMismatch,
    );
    assert!(
        v.message.contains("input `lane` asks for reliable, but output `lane` of node `polyfit`")
    );
    let v = broken(
        "{ lane: /lane, red",
        "{ lane: { topic: /lane, qos: { durability: transient_local } }, red",
        ViolationKind::QosMismatch,
    );
    assert!(v.advice.contains("durability: volatile"), "{v}");
}

#[test]
fn deadlines_liveliness_and_leases_are_held_against_each_other() {
    let broken = |offers: &str, asks: &str| {
        let port = |qos: &str| format!("{{ lane: {{ topic: /lane, qos: {{ {qos} }} }}");
        let text = COURSE
            .replace("outputs: { lane: /lane", &format!("outputs: {}", port(offers)))
            .replace("{ lane: /lane, red", &format!("{}, red", port(asks)));
        let violations = check_text(&text).unwrap_err();
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0].kind, ViolationKind::QosMismatch);
        (violations[0].message.clone(), violations[0].advice.clone())
    };
    let (message, advice) = broken("deadline_ms: 100", "deadline_ms: 50");
    assert!(message.contains("asks for a deadline of 50.0 ms, but"), "{message}");
    assert!(message.ends_with("offers a deadline of 100.0 ms"), "{message}");
    assert_eq!(
        advice,
        "set `deadline_ms: 100.0` on the input or `deadline_ms: 50.0` on the output"
    );
    let (message, _) = broken("depth: 4", "lease_duration_ms: 50");
    assert!(message.ends_with("offers no lease duration of liveliness"), "{message}");
    let (message, advice) = broken("depth: 4", "liveliness: manual_by_topic");
    assert!(message.contains("liveliness manual_by_topic, but"), "{message}");
    assert!(advice.contains("`liveliness: automatic` on the input"), "{advice}");
    let (message, advice) = broken("history: keep_all, when_full: overwrite", "depth: 4");
    assert!(message.contains("keeps all messages and overwrites them"), "{message}");
    assert!(advice.contains("history: keep_last"), "{advice}");
}

#[test]
fn conditions_locksteps_chains_and_arguments_are_checked() {
    let v = broken(
        "all_of: [lane, red, green]",
        "all_of: [lane, rad, green]",
        ViolationKind::Condition,
    );
    assert!(v.message.contains("`rad`"), "{v}");
    broken("all_of: [lane, red, green]", "all_of: [lane, red]", ViolationKind::Condition);
    let v = broken(
        "timer: step, command: command",
        "timer: step, command: cmd",
        ViolationKind::Lockstep,
    );
    assert!(v.message.contains("`cmd` is no connected input"), "{v}");
    broken("timer: step, command", "timer: stop, command", ViolationKind::Lockstep);
    let v = broken("to: /cmd_vel }", "to: /cmd_val }", ViolationKind::UnknownTopic);
    assert!(v.advice.contains("/cmd_vel"), "{v}");
    broken(
        "from: /camera/image_raw, to: /cmd_vel",
        "from: /lane, to: /features",
        ViolationKind::ChainUnreachable,
    );
    broken(
        "node: simulator, parameter: laps",
        "node: simulater, parameter: laps",
        ViolationKind::UnknownNode,
    );
    broken(
        "node: simulator, parameter: laps",
        "node: simulator, parameter: lap",
        ViolationKind::UnknownParameter,
    );
}

/// The course with another condition of its controller.
fn with_condition(condition: &str) -> Result<Plan, Vec<Violation>> {
    let inputs = "{ lane: /lane, red: /traffic_light/red, green: /traffic_light/green }";
    let green = "{ lane: /lane, red: /traffic_light/red, \
                 green: { topic: /traffic_light/green, trigger: false } }";
    let (condition, trigger) = match condition.strip_prefix("green waits: ") {
        Some(condition) => (condition, green),
        None => (condition, inputs),
    };
    let text = course_with("all_of: [lane, red, green], same: stamp", condition);
    assert!(text.contains(inputs));
    let text = text.replace(inputs, trigger);
    let graph = Graph::from_yaml("g.yaml", text.as_bytes())?;
    let mapping = Mapping::one_chain_per_package(&graph);
    let mut offered = descriptions();
    let nodes = &mut offered.binaries[0].packages[0].nodes;
    let control = nodes.iter_mut().find(|node| node.node_type == "lane_control").unwrap();
    control.predicates.push(PredicateDescription { name: "in_lane".into(), doc: String::new() });
    check(&graph, &mapping, &offered, &RunOptions::PLAIN)
}

#[test]
fn conditions_that_can_hold_are_in_the_plan() {
    for condition in [
        "all_of: [lane, red, green]",
        "any_of: [lane, red, green]",
        "any_of: [lane, red, green], newest_not_older_than_ms: { green: 50 }",
        "fresh: [lane, red, green]",
        "green waits: fresh: [lane, red, green]",
        "green waits: all_of: [lane, red], fresh: [green]",
        "green waits: all_of: [lane, red], same: stamp, newest_not_older_than_ms: { green: 50 }",
        "all_of: [lane, red, green], approximate_time: { lower_bounds_ms: { red: 5 } }",
        "green waits: fresh: [green], predicate: in_lane",
        "predicate: in_lane",
    ] {
        let plan =
            with_condition(condition).unwrap_or_else(|found| panic!("{condition}: {found:#?}"));
        let mut nodes = plan.processes.iter().flat_map(ProcessPlan::nodes);
        let control = nodes.find(|node| node.name == "control").unwrap();
        assert!(control.condition.is_some(), "{condition}");
    }
}

#[test]
fn conditions_that_cannot_hold_are_refused_with_place_and_advice() {
    for (condition, message, advice) in [
        ("all_of: [lane, red]", "`green` triggers but is not part", "add `green` to `all_of`"),
        ("any_of: [lane, red]", "`green` triggers but is not part", "add `green` to `any_of`"),
        ("fresh: [lane, red]", "`green` triggers but is not part", "add `green` to `fresh`"),
        ("any_of: [lane, red, greens, green]", "names `greens`", "did you mean `green`"),
        (
            "newest_not_older_than_ms: { greens: 5 }",
            "names `greens`, which is no connected input",
            "did you mean `green`",
        ),
        ("green waits: all_of: [lane, red, green]", "`green`, which does not trigger", "`fresh`"),
        (
            "green waits: any_of: [lane, green, red]",
            "`green`, which does not trigger",
            "take it out of `any_of`",
        ),
        (
            "all_of: [lane, red], fresh: [green]",
            "`fresh` names `green`, which triggers, beside `all_of`",
            "set `trigger: false` on `green`",
        ),
        (
            "any_of: [lane, red, green], fresh: [lane]",
            "`fresh` names `lane`, which triggers, beside `any_of`",
            "take `lane` out of `fresh`",
        ),
        (
            "green waits: all_of: [lane, red], approximate_time: { lower_bounds_ms: { green: 5 } }",
            "names `green`, which is not joined",
            "`all_of` has",
        ),
        ("predicate: in_line", "has no predicate `in_line`", "did you mean `in_lane`"),
        ("all_of: [lane, red, green], any_of: [lane]", "either `all_of` or `any_of`", "keep one"),
        ("same: stamp", "not whose", "add `all_of"),
        ("", "says nothing", "remove it"),
    ] {
        let violations = with_condition(condition).expect_err(condition);
        let found = violations.iter().find(|v| v.message.contains(message));
        let found = found.unwrap_or_else(|| panic!("{condition}: {violations:#?}"));
        assert!(found.advice.contains(advice), "{found}");
        assert_eq!(found.kind, ViolationKind::Condition, "{found}");
        assert_eq!(found.node.as_deref(), Some("control"), "{found}");
        assert!(found.file == "g.yaml" && found.place.is_some(), "{found}");
    }
}

/// Everything that the graph of the page on conditions uses is described as it uses it.
#[test]
fn the_guide_to_conditions_is_a_graph_that_can_run() {
    let page = include_str!("../../../../docs/how-to/conditions.md");
    let text = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let graph = Graph::from_yaml("conditions.md", text.as_bytes()).unwrap();
    let of_type = |node: &GraphNode| {
        let inputs = node.inputs.iter().map(|it| input(&it.port, IMAGE, true));
        let outputs = node.outputs.iter().map(|it| output(&it.port, IMAGE));
        let timers = node.timers.iter();
        let timers = timers.map(|it| TimerDescription {
            name: it.name.clone(),
            period_ns: None,
            clock: TimerClock::Ros,
        });
        let predicates = node.condition.iter().filter_map(|it| it.predicate.clone());
        NodeTypeDescription {
            timers: timers.collect(),
            predicates: predicates
                .map(|name| PredicateDescription { name, doc: String::new() })
                .collect(),
            ..node_type(&node.node_type, inputs.collect(), outputs.collect(), Vec::new())
        }
    };
    let nodes = graph.nodes.iter().map(of_type).collect();
    let fusion = PackageDescription { name: "fusion".into(), nodes };
    let binary = BinaryDescription { binary: "crossdock-fusion".into(), packages: vec![fusion] };
    let descriptions =
        PackageDescriptions { binaries: vec![binary], ..PackageDescriptions::default() };
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = check(&graph, &mapping, &descriptions, &RunOptions::PLAIN).unwrap();
    let nodes = &plan.processes[0].executors[0].nodes;
    assert!(nodes.iter().filter(|node| node.condition.is_some()).count() == 5);
    let control = nodes.iter().find(|node| node.name == "control").unwrap();
    assert_eq!(control.timers[0].offset_ns, Some(3_000_000));
}

#[test]
fn queues_of_approximate_time_are_as_long_as_messages_can_be_held() {
    let join = "all_of: [lane, red, green], same: stamp";
    let approximate = "all_of: [lane, red, green], approximate_time: {}";
    let queued = |depth: u32, topic: bool| {
        let text = course_with(join, approximate);
        let input = format!("lane: {{ topic: /lane, qos: {{ depth: {depth} }} }}");
        let text = text.replace("lane: /lane, red", &format!("{input}, red"));
        let declared = format!("topics:\n  /lane: {{ qos: {{ depth: {depth} }} }}\n");
        let text = if topic { text.replace("topics:\n", &declared) } else { text };
        let graph = Graph::from_yaml("g.yaml", text.as_bytes()).unwrap();
        let mapping = Mapping::one_chain_per_package(&graph);
        check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN)
    };
    queued(12, true).unwrap();
    queued(3, false).unwrap();
    let violations = queued(10, false).unwrap_err();
    let v = only(&violations, ViolationKind::Condition);
    assert!(v.message.contains("`polyfit` keeps 4 of `/lane`"), "{v}");
    assert!(v.advice.contains("depth: 10"), "{v}");
    let violations = queued(13, true).unwrap_err();
    assert!(only(&violations, ViolationKind::Condition).message.contains("12 at most"));
}

#[test]
fn what_a_node_reads_is_said_of_inputs_that_do_not_trigger() {
    let said = |read: &str| {
        let text = course_with(
            "other: { topic: /traffic_light/green, trigger: false }",
            &format!("other: {{ topic: /traffic_light/green, {read} }}"),
        );
        let graph = Graph::from_yaml("g.yaml", text.as_bytes()).unwrap();
        let mapping = Mapping::one_chain_per_package(&graph);
        check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN)
    };
    let reading = |plan: Plan, port: &str| {
        let mut nodes = plan.processes.iter().flat_map(ProcessPlan::nodes);
        let node = nodes.find(|node| node.name == "red_light").unwrap();
        node.inputs.iter().find(|input| input.port == port).unwrap().reading
    };
    assert_eq!(reading(said("trigger: false").unwrap(), "other"), InputReading::Latest);
    assert_eq!(reading(said("trigger: false").unwrap(), "image"), InputReading::Next);
    assert_eq!(reading(said("read: since_last").unwrap(), "other"), InputReading::SinceLast);
    let violations = said("trigger: true, read: latest").unwrap_err();
    let v = violations.iter().find(|v| v.kind == ViolationKind::Condition).unwrap();
    assert!(v.message.contains("`other` triggers, so"), "{v}");
}

#[test]
fn nodes_are_mapped_once_and_only_those_of_the_graph() {
    let graph = course();
    let text = "crossdock: 1\nprocesses:\n  one:\n    executors:\n      \
                - { mode: chain, nodes: [simulator, blur, blurr, simulator] }\n";
    let mapping = Mapping::from_yaml("m.yaml", text.as_bytes()).unwrap();
    let violations = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap_err();
    let v = only(&violations, ViolationKind::UnknownNode);
    assert_eq!((v.file.as_str(), v.place.unwrap().line), ("m.yaml", 5));
    assert!(v.advice.contains("did you mean `blur`?"), "{v}");
    assert!(only(&violations, ViolationKind::MappedTwice).message.contains("process `one`"));
    let unmapped = violations.iter().filter(|v| v.kind == ViolationKind::Unmapped).count();
    assert_eq!(unmapped, 7);
}

#[test]
fn packages_share_a_process_only_if_one_binary_links_them() {
    let text =
        course_with("package: autorace\n    type: features", "package: slam\n    type: features");
    let graph = Graph::from_yaml("g.yaml", text.as_bytes()).unwrap();
    let mut offered = descriptions();
    let features = offered.binaries[0].packages[0].nodes[6].clone();
    let slam = PackageDescription { name: "slam".into(), nodes: vec![features] };
    offered
        .binaries
        .push(BinaryDescription { binary: "crossdock-slam".into(), packages: vec![slam.clone()] });
    let two = Mapping::one_chain_per_package(&graph);
    let plan = check(&graph, &two, &offered, &RunOptions::PLAIN).unwrap();
    let binaries: Vec<&str> = plan.processes.iter().map(|p| p.binary.as_str()).collect();
    assert_eq!(binaries, ["crossdock-autorace", "crossdock-slam"]);
    let mut one = two.clone();
    let moved = one.processes.pop().unwrap().executors.remove(0).nodes;
    one.processes[0].executors[0].nodes.extend(moved);
    let violations = check(&graph, &one, &offered, &RunOptions::PLAIN).unwrap_err();
    let v = only(&violations, ViolationKind::NotLinkedTogether);
    assert!(v.message.contains("`autorace` and `slam`"), "{v}");
    assert!(v.advice.contains("build a binary"), "{v}");
    offered.binaries.push(BinaryDescription {
        binary: "crossdock-both".into(),
        packages: vec![autorace(), slam],
    });
    let plan = check(&graph, &one, &offered, &RunOptions::PLAIN).unwrap();
    assert_eq!(plan.processes[0].binary, "crossdock-both");
}

#[test]
fn a_recording_feeds_topics_and_conflicts_with_their_publishers() {
    let recorded = |name: &str, message_type: &str| InputTopic {
        name: name.into(),
        message_type: message_type.into(),
    };
    let topics = [recorded("/camera/image_raw", IMAGE), recorded("/unused", IMAGE)];
    let violations = course().with_input("drive.mcap", &topics).unwrap_err();
    let v = only(&violations, ViolationKind::InputConflict);
    assert!(v.message.contains("`drive.mcap` and node `simulator` (output `image`)"), "{v}");
    assert_eq!(v.place.unwrap().line, 13);

    let open = COURSE.replace(
        "outputs: { image: /camera/image_raw, odometry: /odom }",
        "outputs: { image: /other, odometry: /odom }",
    );
    let open = Graph::from_yaml("open.yaml", open.as_bytes()).unwrap();
    let (graph, played) = open.with_input("drive.mcap", &topics).unwrap();
    assert_eq!(played, ["/camera/image_raw"]);
    let options = RunOptions { played, ..RunOptions::PLAIN };
    let mapping = Mapping::one_chain_per_package(&graph);
    let plan = check(&graph, &mapping, &descriptions(), &options).unwrap();
    assert_eq!((plan.launcher[0].publishers_here, plan.launcher[0].subscribers), (1, 1));
    let wrong = [recorded("/lane/birds_eye", LANE)];
    let text = COURSE.replace("outputs: { image: /lane/birds_eye }", "outputs: { image: /x }");
    let (graph, played) =
        Graph::from_yaml("g", text.as_bytes()).unwrap().with_input("b.mcap", &wrong).unwrap();
    let options = RunOptions { played, ..RunOptions::PLAIN };
    let violations = check(&graph, &mapping, &descriptions(), &options).unwrap_err();
    let v = only(&violations, ViolationKind::TypeClash);
    assert!(v.message.contains("but `b.mcap` says `autorace_msgs/msg/Lane`"), "{v}");
}

#[test]
fn parameter_files_and_arguments_override_and_are_pointed_at() {
    let file =
        b"crossdock: 1\nnodes:\n  compensation: { clip_percent: 2 }\n  blur: { sigma: 1.5 }\n";
    let overrides = ParameterOverrides::from_yaml("p.yaml", file).unwrap();
    let graph = course().with_parameters(&overrides).unwrap();
    assert_eq!(
        graph.node("compensation").unwrap().parameters["clip_percent"],
        ParameterValue::Integer(2)
    );
    let mapping = Mapping::one_chain_per_package(&graph);
    let violations = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap_err();
    let v = only(&violations, ViolationKind::UnknownParameter);
    assert_eq!(
        (v.file.as_str(), v.place.unwrap().line, v.place.unwrap().column),
        ("p.yaml", 4, 18)
    );
    // Words of a command line have no lines.
    let words = ParameterOverrides::from_words("-p blur.sigma:=1.5", file).unwrap();
    let graph = course().with_parameters(&words).unwrap();
    let violations = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap_err();
    let v = only(&violations, ViolationKind::UnknownParameter);
    assert_eq!((v.file.as_str(), v.place), ("-p blur.sigma:=1.5", None));
    let unreadable = ParameterOverrides::from_words("-p blur.sigma:={", b"{").unwrap_err();
    assert!(unreadable.iter().all(|v| v.file == "-p blur.sigma:={" && v.place.is_none()));
    let unknown =
        ParameterOverrides::from_yaml("p.yaml", b"crossdock: 1\nnodes: { blurr: {} }\n").unwrap();
    let v = only(&course().with_parameters(&unknown).unwrap_err(), ViolationKind::UnknownNode);
    assert!(v.advice.contains("did you mean `blur`?"), "{v}");

    let graph = course().with_argument(&descriptions(), "laps", "5").unwrap();
    assert_eq!(graph.node("simulator").unwrap().parameters["laps"], ParameterValue::Integer(5));
    let v = &course().with_argument(&descriptions(), "laps", "many").unwrap_err()[0];
    assert!(v.message.contains("must be of type integer, not `many`"), "{v}");
    let v = &course().with_argument(&descriptions(), "lap", "5").unwrap_err()[0];
    assert!(v.advice.contains("did you mean `laps`?"), "{v}");
}

#[test]
fn a_graph_built_in_code_meets_the_same_rules() {
    let mut graph = course();
    graph.source = Source::default();
    let twin = graph.nodes[1].clone();
    graph.nodes.push(twin);
    graph.nodes[0].parameters.insert("gain".into(), ParameterValue::Double(f64::NAN));
    graph.nodes[2].outputs[0].topic = "relative".into();
    graph.topics[0].qos.depth = Some(0);
    let mapping = Mapping::default();
    let violations =
        check(&graph, &mapping, &PackageDescriptions::default(), &RunOptions::PLAIN).unwrap_err();
    only(&violations, ViolationKind::Duplicate);
    only(&violations, ViolationKind::InvalidName);
    assert_eq!(violations.iter().filter(|v| v.kind == ViolationKind::OutOfRange).count(), 2);
    let process = |name: &str| MappedProcess { name: name.into(), ..MappedProcess::default() };
    let mapping = Mapping { processes: vec![process("a"), process("a")], ..Mapping::default() };
    let violations = check(&course(), &mapping, &descriptions(), &RunOptions::PLAIN).unwrap_err();
    assert!(only(&violations, ViolationKind::Duplicate).message.contains("process `a`"));
}

#[test]
fn a_run_needs_a_valid_domain_and_rate() {
    let graph = course();
    let mapping = Mapping::one_chain_per_package(&graph);
    let time = Time::Simulated { pacing: Pacing::Rate(f64::NAN) };
    let options = RunOptions { domain_id: 500, time, ..RunOptions::PLAIN };
    let violations = check(&graph, &mapping, &descriptions(), &options).unwrap_err();
    assert_eq!(violations.iter().filter(|v| v.kind == ViolationKind::OutOfRange).count(), 2);
}

#[test]
fn nodes_run_in_the_order_of_the_mapping_where_triggers_allow() {
    let graph = course();
    let mut mapping = Mapping::one_chain_per_package(&graph);
    mapping.processes[0].executors[0].nodes.reverse();
    let plan = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN).unwrap();
    let names: Vec<&str> =
        plan.processes[0].executors[0].nodes.iter().map(|node| node.name.as_str()).collect();
    let wanted = [
        "simulator",
        "compensation",
        "features",
        "green_light",
        "red_light",
        "blur",
        "lane_planner",
        "polyfit",
        "control",
    ];
    assert_eq!(names, wanted);
}

/// The order of the nodes of this graph, as one chain.
fn order_of(text: &str) -> Vec<String> {
    let plan = check_text(text).unwrap();
    plan.processes[0].executors[0].nodes.iter().map(|node| node.name.clone()).collect()
}

#[test]
fn nodes_that_read_each_other_come_before_one_that_stands_last_in_the_file() {
    let features = "  features:
    package: autorace
    type: features
    inputs: { image: /camera/image_compensated }
    outputs: { points: /features }
";
    let moved = course_with(features, "").replace("chains:", &format!("{features}chains:"));
    let names = order_of(&moved);
    assert_eq!(names[5..], ["red_light", "green_light", "control", "features"]);
}

#[test]
fn a_reader_comes_after_its_publisher_whatever_the_list_says() {
    let mutual = "other: { topic: /traffic_light/red, trigger: false }";
    let alone = "other: { topic: /traffic_light/green, trigger: false }";
    let names = order_of(&course_with(mutual, alone));
    assert_eq!(names[5..], ["green_light", "red_light", "features", "control"]);
}

#[test]
fn a_description_that_cannot_be_is_refused() {
    let mut wrong = descriptions();
    let simulator = &mut wrong.binaries[0].packages[0].nodes[0];
    simulator.timers[0].period_ns = Some(0);
    simulator.outputs[0].qos.depth = Some(0);
    simulator.parameters[0].default = ParameterValue::Double(f64::INFINITY);
    let graph = course();
    let mapping = Mapping::one_chain_per_package(&graph);
    let violations = check(&graph, &mapping, &wrong, &RunOptions::PLAIN).unwrap_err();
    assert!(only(&violations, ViolationKind::Timer).advice.contains("package `autorace`"));
    assert_eq!(violations.iter().filter(|v| v.kind == ViolationKind::OutOfRange).count(), 2);
}

#[test]
fn a_graph_as_large_as_allowed_is_checked_and_drawn() {
    // Two hubs with as many ports as a graph may have: work that grew with pairs of ports would
    // not end within the patience of a test run.
    let nodes: String = (0..2000)
        .map(|n| {
            let reads: String = (0..4).map(|t| format!("i{t}: /hub_{}, ", (n + t) % 40)).collect();
            format!(
                "  n{n}:\n    package: p\n    type: t\n    inputs: {{ {reads} a: /a }}\n    \
                 outputs: {{ b: /b, o: /hub_{} }}\n",
                n % 37
            )
        })
        .collect();
    let text = format!("crossdock: 1\nname: hubs\nnodes:\n{nodes}");
    let graph = Graph::from_yaml("hubs", text.as_bytes()).unwrap();
    let mapping = Mapping::one_process_per_node(&graph);
    let violations = check(&graph, &mapping, &PackageDescriptions::default(), &RunOptions::PLAIN);
    assert!(!violations.unwrap_err().is_empty());
    let picture =
        Picture { graph: &graph, mapping: Some(&mapping), descriptions: None, figures: None };
    assert!(picture.to_svg().len() > 100_000);
}
