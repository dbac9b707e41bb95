//! Random graphs survive writing and reading; random damage to a file is refused without panic.

use crate::support;
use crossdock_graph::{
    ApproximateTime, Argument, CLIENT_DEPTH_MAX, Chain, Condition, Copies, Durability, Graph,
    GraphClient, GraphInput, GraphNode, GraphOutput, GraphServer, GraphService, GraphTimer,
    GraphTopic, History, InputReading, Introspection, Limit, Liveliness, Lockstep, Mapping,
    OnFailure, OnMiss, PackageDescriptions, ParameterValue, Period, Picture, Placement, QosRequest,
    Reliability, RunOptions, Same, Source, WhenFull, check,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use support::*;

const HARDWARE: &str = "crossdock: 1
processes: { p: { executors: [ { mode: chain, nodes: [a] } ] } }
fabrics: { board: { nodes: [b, c] } }
topics:
  /x: { mapping: gateway, gateway: { fifo_messages: 1 }, probe: true, clock: fast }
  /y:
    mapping: hardware
    width: 128
    subscribers: { b: { in: { keep_last: 2, width: 64, converter: true } } }
";
const PLACED: &str =
    "crossdock: 1\nfabrics: { board: { nodes: [b, c] }, second: { nodes: [d] } }\n";

fn token() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,3}){0,2}"
}

fn topic_name() -> impl Strategy<Value = String> {
    vec(token(), 1..4).prop_map(|tokens| format!("/{}", tokens.join("/")))
}

/// Any text: YAML must quote it right.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        any::<String>(),
        Just("true".to_owned()),
        Just("0x1f".to_owned()),
        Just("- a: b # c".to_owned()),
        Just(" \t\n\r\u{85}\u{2028}\u{feff}\u{0}\"\\'".to_owned()),
    ]
}

fn value() -> impl Strategy<Value = ParameterValue> {
    let double = || any::<f64>().prop_filter("finite", |value| value.is_finite());
    prop_oneof![
        any::<bool>().prop_map(ParameterValue::Bool),
        any::<i64>().prop_map(ParameterValue::Integer),
        double().prop_map(ParameterValue::Double),
        any_text().prop_map(ParameterValue::String),
        vec(any::<bool>(), 1..4).prop_map(ParameterValue::BoolArray),
        vec(any::<i64>(), 0..4).prop_map(ParameterValue::IntegerArray),
        vec(double(), 1..4).prop_map(ParameterValue::DoubleArray),
        vec(any_text(), 1..4).prop_map(ParameterValue::StringArray),
    ]
}

fn qos() -> impl Strategy<Value = QosRequest> {
    let reliability = prop_oneof![Just(Reliability::Reliable), Just(Reliability::BestEffort)];
    let durability = prop_oneof![Just(Durability::Volatile), Just(Durability::TransientLocal)];
    let when_full = prop_oneof![Just(WhenFull::Wait), Just(WhenFull::Overwrite)];
    let parts = (
        option::of(reliability),
        option::of(when_full),
        option::of(1_u32..3_600_000),
        option::of(1_u32..16_384),
        option::of(durability),
    );
    let history = prop_oneof![Just(History::KeepLast), Just(History::KeepAll)];
    let liveliness = prop_oneof![Just(Liveliness::Automatic), Just(Liveliness::ManualByTopic)];
    let time = || option::of(prop_oneof![Just(0), 1_000_u64..=86_400_000_000_000]);
    let more = (option::of(history), option::of(liveliness), [time(), time(), time()]);
    (parts, more).prop_map(|((reliability, when_full, timeout_ms, depth, durability), more)| {
        let (history, liveliness, [deadline_ns, lifespan_ns, lease_duration_ns]) = more;
        QosRequest {
            reliability,
            when_full,
            timeout_ms,
            history,
            depth,
            durability,
            deadline_ns,
            lifespan_ns,
            liveliness,
            lease_duration_ns,
        }
    })
}

fn topic() -> impl Strategy<Value = GraphTopic> {
    let copies = prop_oneof![Just(Copies::Allowed), Just(Copies::Forbidden)];
    let message_type = option::of(token().prop_map(|package| format!("{package}/msg/Type")));
    let fields = vec(token(), 1..3).prop_map(|tokens| tokens.join("."));
    let bounds = btree_map(fields, 1_u32..1 << 30, 0..3);
    let max_bytes = option::of(1_u64..1 << 30);
    let flags = any::<[bool; 2]>();
    let parts = (topic_name(), message_type, flags, copies, max_bytes, bounds, qos());
    parts.prop_map(|(name, message_type, flags, copies, max_bytes, bounds, qos)| GraphTopic {
        name,
        message_type,
        external: flags[0],
        several_publishers: flags[1],
        copies,
        max_bytes,
        bounds,
        qos,
    })
}

fn reading() -> impl Strategy<Value = Option<InputReading>> {
    option::of(prop_oneof![Just(InputReading::Latest), Just(InputReading::SinceLast)])
}

fn condition() -> impl Strategy<Value = Condition> {
    let times = || btree_map(token(), 1_000_u64..86_400_000_000_000, 0..3);
    let ports = |least: usize| {
        vec(token(), 0..3).prop_map(move |mut ports| {
            ports.sort();
            ports.dedup();
            ports.extend(["z_last", "z_very_last"].map(str::to_owned).into_iter().take(least));
            ports
        })
    };
    let max_interval_ns = option::of(1_000_u64..86_400_000_000_000);
    let age_penalty = option::of(0.0..1000.0_f64);
    let approximate = (max_interval_ns, age_penalty, times()).prop_map(
        |(max_interval_ns, age_penalty, lower_bounds_ns)| ApproximateTime {
            max_interval_ns,
            age_penalty,
            lower_bounds_ns,
        },
    );
    let join = prop_oneof![
        (ports(2), option::of(Just(Same::Stamp))).prop_map(|(all_of, same)| Condition {
            all_of,
            same,
            ..Condition::default()
        }),
        (ports(2), approximate).prop_map(|(all_of, approximate)| Condition {
            all_of,
            approximate_time: Some(approximate),
            ..Condition::default()
        }),
        ports(1).prop_map(|any_of| Condition { any_of, ..Condition::default() }),
        ports(1).prop_map(|fresh| Condition { fresh, ..Condition::default() }),
    ];
    let guards = (times(), option::of(token()));
    (join, guards).prop_map(|(join, (newest_not_older_than_ns, predicate))| Condition {
        newest_not_older_than_ns,
        predicate,
        ..join
    })
}

fn limit() -> impl Strategy<Value = Option<Limit>> {
    let on_miss = prop_oneof![Just(OnMiss::Count), Just(OnMiss::Stop)];
    let limit = (1_000..86_400_000_000_000_u64, on_miss);
    option::of(limit.prop_map(|(limit_ns, on_miss)| Limit { limit_ns, on_miss }))
}

fn node() -> impl Strategy<Value = GraphNode> {
    let input = (topic_name(), option::of(any::<bool>()), reading(), limit(), qos());
    let inputs = btree_map(token(), input, 0..5);
    let outputs = btree_map(token(), (topic_name(), qos()), 0..4);
    let period = prop_oneof![
        (1e-4..1e6_f64).prop_map(Period::RateHz),
        (1e-3..8e7_f64).prop_map(Period::PeriodMs),
    ];
    let condition = option::of(condition());
    let lockstep = option::of((token(), token()))
        .prop_map(|names| names.map(|(timer, command)| Lockstep { timer, command }));
    let parameters = btree_map(any_text(), value(), 0..4);
    // Every period is longer than these offsets.
    let timing = (period, option::of(0_u64..1_000), 0_u32..100);
    let timers = btree_map(token(), timing, 0..3);
    let told = prop_oneof![
        Just(Introspection::Disabled),
        Just(Introspection::Metadata),
        Just(Introspection::Contents),
    ];
    let depth = option::of(1..=CLIENT_DEPTH_MAX);
    let clients = btree_map(token(), (topic_name(), depth, told.clone()), 0..3);
    let calls = (clients, btree_map(token(), (topic_name(), told), 0..3));
    let failures = prop_oneof![
        Just(None),
        Just(Some(OnFailure::StopRun)),
        Just(Some(OnFailure::DropNode)),
        Just(Some(OnFailure::RestartProcess)),
    ];
    let policies = (limit(), failures);
    let ports = (inputs, outputs, calls, condition);
    let parts = ((token(), token()), ports, timers, lockstep, policies, parameters);
    parts.prop_map(
        |((package, node_type), ports, timers, lockstep, (budget, on_failure), parameters)| {
            let (inputs, outputs, (clients, servers), condition) = ports;
            let client = |(port, (service, depth, introspection))| GraphClient {
                port,
                service,
                depth,
                introspection,
            };
            let server =
                |(port, (service, introspection))| GraphServer { port, service, introspection };
            let input = |(port, (topic, trigger, reading, max_age, qos))| GraphInput {
                port,
                topic,
                trigger,
                closes_loop: trigger == Some(true),
                reading,
                max_age,
                qos,
            };
            let output = |(port, (topic, qos))| GraphOutput { port, topic, qos };
            let timer = |(name, (period, offset_ns, priority))| GraphTimer {
                name,
                period,
                offset_ns,
                priority,
            };
            GraphNode {
                name: String::new(),
                package,
                node_type,
                inputs: inputs.into_iter().map(input).collect(),
                outputs: outputs.into_iter().map(output).collect(),
                clients: clients.into_iter().map(client).collect(),
                servers: servers.into_iter().map(server).collect(),
                condition,
                timers: timers.into_iter().map(timer).collect(),
                lockstep,
                budget,
                on_failure,
                parameters,
            }
        },
    )
}

fn service() -> impl Strategy<Value = GraphService> {
    let service_type = option::of(token().prop_map(|package| format!("{package}/srv/Type")));
    let bytes = || option::of(1_u64..1 << 30);
    (service_type, any::<bool>(), bytes(), bytes()).prop_map(
        |(service_type, external, max_request_bytes, max_response_bytes)| GraphService {
            name: String::new(),
            service_type,
            external,
            max_request_bytes,
            max_response_bytes,
        },
    )
}

fn graph() -> impl Strategy<Value = Graph> {
    let arguments = btree_map(token(), (token(), any_text(), any_text()), 0..3);
    let chains = btree_map(token(), (topic_name(), topic_name(), limit()), 0..3);
    let topics_and_services = (vec(topic(), 0..5), btree_map(topic_name(), service(), 0..3));
    let nodes = btree_map(token(), node(), 1..6);
    let parts = (token(), arguments, topics_and_services, nodes, chains);
    parts.prop_map(|(name, arguments, (mut topics, services), nodes, chains)| {
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        topics.dedup_by(|a, b| a.name == b.name);
        let argument = |(name, (node, parameter, doc))| Argument { name, node, parameter, doc };
        Graph {
            name,
            arguments: arguments.into_iter().map(argument).collect(),
            topics,
            services: (services.into_iter())
                .map(|(name, service)| GraphService { name, ..service })
                .collect(),
            nodes: nodes.into_iter().map(|(name, node)| GraphNode { name, ..node }).collect(),
            chains: chains
                .into_iter()
                .map(|(name, (from, to, max_latency))| Chain { name, from, to, max_latency })
                .collect(),
            source: Source::default(),
        }
    })
}

/// Published topics, subscribed topics and the kind of a node in JSON.
type Described = (Vec<String>, Vec<String>, u32);

fn described() -> impl Strategy<Value = Described> {
    (vec(any_text(), 0..4), vec(any_text(), 0..4), 0..6_u32)
}

/// A small edit somewhere in the text.
fn damage(text: &str, edits: &[(u16, u8, u8)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, how, with) in edits {
        let at = usize::from(*at) % bytes.len().max(1);
        let tail = bytes.len().min(at + usize::from(*with));
        match how % 5 {
            0 => bytes[at] = *with,
            1 => bytes.insert(at, *with),
            2 => drop(bytes.drain(at..tail)),
            3 => {
                let piece = bytes[at..tail].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                const SIGNS: &[u8] = b":-[]{}&*!|>%@`#,?\"'\n \t~0";
                bytes[at] = SIGNS[usize::from(*with) % SIGNS.len()];
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_graph_that_is_written_reads_back_the_same(graph in graph()) {
        let text = graph.to_yaml();
        let read = Graph::from_yaml("g", text.as_bytes());
        prop_assert!(read.is_ok(), "{:#?}\n{}", read, text);
        let read = read.unwrap();
        prop_assert_eq!(&read.without_source(), &graph, "{}", text);
        prop_assert_eq!(read.to_yaml(), text);
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_but_never_panics(
        edits in vec(any::<(u16, u8, u8)>(), 1..6),
    ) {
        let bytes = damage(COURSE, &edits);
        let _ = Mapping::from_yaml("m", &bytes);
        let _ = Mapping::from_yaml("m", &damage(HARDWARE, &edits));
        let _ = Placement::from_yaml("p", &damage(PLACED, &edits));
        match Graph::from_yaml("g", &bytes) {
            Ok(graph) => {
                let mapping = Mapping::one_chain_per_package(&graph);
                let _ = check(&graph, &mapping, &descriptions(), &RunOptions::PLAIN);
            }
            Err(violations) => prop_assert!(!violations.is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        let _ = Graph::from_yaml("g", &bytes);
        let _ = Graph::import_json("g", &bytes);
        let _ = Placement::from_yaml("p", &bytes);
        let _ = Placement::from_json("p", &bytes);
    }

    #[test]
    fn any_published_graph_reads_back_after_import(
        nodes in btree_map(any_text(), described(), 1..8),
        long in 0..400_usize,
    ) {
        let node = |(name, (publishes, subscribes, kind)): (String, Described)| {
            let name = format!("{name}{}", "x".repeat(long));
            let lengthen = |topic: String| format!("{topic}{}", "y".repeat(long));
            let publishes: Vec<String> = publishes.into_iter().map(lengthen).collect();
            match kind {
                0 => json!({"name": name, "pub": publishes, "sub": subscribes, "env": true}),
                1 => json!({"name": name, "pub": publishes, "sub": subscribes, "period_ms": 7}),
                _ => json!({"name": name, "pub": publishes, "sub": subscribes, "note": name}),
            }
        };
        let mut list: Vec<_> = nodes.into_iter().map(node).collect();
        list.push(json!({"name": "inside"}));
        let text = json!({"nodes": list, "note": "# a: b\n c"}).to_string();
        let imported = Graph::import_json("random.json", text.as_bytes());
        prop_assert!(imported.is_ok(), "{:?}", imported.err());
        let imported = imported.unwrap();
        let read = Graph::from_yaml("g", imported.text.as_bytes());
        prop_assert!(read.is_ok(), "{:#?}\n{}", read.err(), imported.text);
        prop_assert_eq!(read.unwrap().without_source(), imported.graph);
    }

    #[test]
    fn any_graph_is_checked_and_drawn_without_panic(graph in graph()) {
        let chain = Mapping::one_chain_per_package(&graph);
        for mapping in [chain, Mapping::one_process_per_node(&graph)] {
            let violations = check(&graph, &mapping, &PackageDescriptions::default(), &RunOptions::PLAIN);
            prop_assert!(violations.is_err(), "no package is known");
            let picture = Picture { graph: &graph, mapping: Some(&mapping), descriptions: None, figures: None };
            prop_assert!(picture.to_svg().ends_with("</svg>\n"));
            let dot = picture.to_dot();
            prop_assert!(dot.ends_with("}\n"), "not closed");
        }
    }
}
