//! The JSON Schemas in `docs/formats` and the readers agree on good and bad files.

use crate::hardware_package::HardwarePackage;
use crate::mapping::Mapping;
use crate::model::Graph;
use crate::placement::Placement;
use crate::scalar::Scalar;
use crate::yaml::{self, Data, Tree};
use jsonschema::Validator;
use serde_json::Value;

const GRAPH_SCHEMA: &str = include_str!("../../../docs/formats/graph.schema.json");
const MAPPING_SCHEMA: &str = include_str!("../../../docs/formats/mapping.schema.json");
const PLACEMENT_SCHEMA: &str = include_str!("../../../docs/formats/placement.schema.json");
const HARDWARE_PACKAGE_SCHEMA: &str =
    include_str!("../../../docs/formats/hardware-package.schema.json");
const HARDWARE_PACKAGE_GUIDE: &str = include_str!("../../../docs/formats/hardware-package.md");
const PLACEMENT_GUIDE: &str = include_str!("../../../docs/formats/placement.md");
const HARDWARE_GUIDE: &str = include_str!("../../../docs/formats/hardware-network.md");
const GUIDE: &str = include_str!("../../../docs/formats/graph-and-mapping.md");
const CONDITIONS_GUIDE: &str = include_str!("../../../docs/how-to/conditions.md");
const COURSE: &str = include_str!("../tests/data/course.graph.yaml");

fn validator(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// The file as JSON, as an editor would see it; `None` when it is no YAML.
fn json(text: &str) -> Option<Value> {
    fn value(tree: &Tree) -> Value {
        match &tree.data {
            Data::List(items) => items.iter().map(value).collect(),
            Data::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), value(&entry.value))).collect(),
            ),
            Data::Scalar { .. } => match Scalar::of(tree).unwrap() {
                Scalar::Null => Value::Null,
                Scalar::Bool(value) => value.into(),
                Scalar::Integer(value) => value.into(),
                Scalar::TooLarge => 1e300.into(),
                // JSON has no NaN: an editor shows such text as it is.
                Scalar::Double(value) if !value.is_finite() => Value::Null,
                Scalar::Double(value) => value.into(),
                Scalar::Text(text) => text.into(),
            },
        }
    }
    let mut violations = Vec::new();
    yaml::parse("x", text.as_bytes(), &mut violations).map(|tree| value(&tree))
}

/// The course with one piece of its text replaced.
fn with(from: &str, to: &str) -> String {
    assert!(COURSE.contains(from), "{from}");
    COURSE.replacen(from, to, 1)
}

#[test]
fn the_guides_examples_are_valid_by_schema_and_reader() {
    let blocks = |guide: &'static str| -> Vec<&str> {
        let blocks = guide.split("```yaml\n").skip(1);
        blocks.map(|block| block.split("```").next().unwrap()).collect()
    };
    let placement = blocks(PLACEMENT_GUIDE);
    assert_eq!(placement.len(), 1);
    Placement::from_yaml("guide", placement[0].as_bytes()).unwrap();
    assert!(validator(PLACEMENT_SCHEMA).is_valid(&json(placement[0]).unwrap()));
    let package = blocks(HARDWARE_PACKAGE_GUIDE);
    assert_eq!(package.len(), 1);
    HardwarePackage::from_yaml("guide", package[0].as_bytes()).unwrap();
    assert!(validator(HARDWARE_PACKAGE_SCHEMA).is_valid(&json(package[0]).unwrap()));
    let hardware = blocks(HARDWARE_GUIDE);
    assert_eq!(hardware.len(), 1);
    Mapping::from_yaml("guide", hardware[0].as_bytes()).unwrap();
    assert!(validator(MAPPING_SCHEMA).is_valid(&json(hardware[0]).unwrap()));
    let conditions = blocks(CONDITIONS_GUIDE);
    assert_eq!(conditions.len(), 1);
    Graph::from_yaml("guide", conditions[0].as_bytes()).unwrap();
    assert!(validator(GRAPH_SCHEMA).is_valid(&json(conditions[0]).unwrap()));
    let blocks = blocks(GUIDE);
    assert_eq!(blocks.len(), 11);
    assert!(validator(GRAPH_SCHEMA).is_valid(&json(blocks[1]).unwrap()));
    for graph in [&blocks[0], &blocks[2]] {
        Graph::from_yaml("guide", graph.as_bytes()).unwrap();
        assert!(validator(GRAPH_SCHEMA).is_valid(&json(graph).unwrap()));
    }
    for mapping in &blocks[3..10] {
        Mapping::from_yaml("guide", mapping.as_bytes()).unwrap();
        assert!(validator(MAPPING_SCHEMA).is_valid(&json(mapping).unwrap()));
    }
    crate::ParameterOverrides::from_yaml("guide", blocks[10].as_bytes()).unwrap();
}

fn good_graphs() -> Vec<String> {
    let q = "qos: { depth: 4 }";
    vec![
        COURSE.to_owned(),
        with(q, "qos: { depth: 16384, timeout_ms: 1, reliability: best_effort }"),
        with(q, "qos: { when_full: overwrite }"),
        with(q, "qos: { history: keep_all, deadline_ms: 0.001, lifespan_ms: 86400000 }"),
        with(q, "qos: { history: keep_last, liveliness: manual_by_topic, lease_duration_ms: 50 }"),
        with(q, "qos: { liveliness: automatic, deadline_ms: 0, lifespan_ms: 0.0 }"),
        with(q, "copies: forbidden, external: true, several_publishers: true"),
        with(q, "bounds: { data: 1000000, header.frame_id: 32 }"),
        with(q, "qos: { depth: 4.0 }"),
        with("    timers:", "    servers: { a: { service: /a, introspection: contents } }\n    timers:"),
        with("    timers:", "    servers: { a: { service: /a } }\n    timers:"),
        with(
            "    timers:",
            "    clients: { a: { service: /a, depth: 2, introspection: metadata } }\n    timers:",
        ),
        with("rate_hz: 15", "period_ms: 0.5"),
        with("clip_percent: 1.0", "clip_percent: [1, 2.5]"),
        with("clip_percent: 1.0", "clip_percent: []"),
        with("clip_percent: 1.0", "any thing: \"12\""),
        with("laps: { node", "lap-count: { node"),
        with("  blur:", "  /camera/blur:"),
        with("  blur:", "  camera/blur:"),
        with("    type: polyfit\n", "    type: polyfit\n    namespace: /lane\n"),
        with("    type: polyfit\n", "    type: polyfit\n    namespace: lane/fit\n"),
        with("name: course", "name: course\nnamespace: /"),
        with("image: /camera/image_raw }", "image: camera/image_raw }"),
        with("image: /camera/image_raw }", "image: ~/image }"),
        with("image: /camera/image_raw }", "image: \"~\" }"),
        with("image: /camera/image_raw }", "image: \"{ns}/of_{node}/image\" }"),
        with("  /camera/image_raw: {", "  camera/image_raw: {"),
        with("crossdock: 1", "crossdock: 1.0"),
        with(", same: stamp", ""),
        with(JOIN, "any_of: [lane], newest_not_older_than_ms: { red: 0.5, green: 100 }"),
        with(JOIN, "fresh: [lane], predicate: near"),
        with(JOIN, "all_of: [lane, red], approximate_time: {}, fresh: [green]"),
        with(
            JOIN,
            "all_of: [lane, red], approximate_time: { max_interval_ms: 20, age_penalty: 0, \
             lower_bounds_ms: { lane: 30 } }",
        ),
        with("rate_hz: 15", "rate_hz: 15, offset_ms: 3.5, priority: 99"),
        with("trigger: false } }\n    outputs: { image", "read: latest } }\n    outputs: { image"),
        with("trigger: false", "trigger: false, read: since_last"),
        with("trigger: false", "closes_loop: true"),
        with("timer: step, command", "timer: step, command").replace(
            "    type: polyfit\n",
            "    type: polyfit\n    budget_ms: 2.5\n    on_overrun: stop\n    on_failure: drop_node\n",
        ),
        with("image: /camera/image_raw }", "image: { topic: /camera/image_raw, max_age_ms: 50 } }"),
        with(
            "image: /camera/image_raw }",
            "image: { topic: /camera/image_raw, max_age_ms: 0.001, on_miss: count } }",
        ),
        with("from: /camera/image_raw, to", "max_latency_ms: 80, on_miss: stop, from: /camera/image_raw, to"),
    ]
}

/// The condition of the course.
const JOIN: &str = "all_of: [lane, red, green], same: stamp";

fn bad_graphs() -> Vec<String> {
    let q = "qos: { depth: 4 }";
    vec![
        with("crossdock: 1", "crossdock: 2"),
        with("crossdock: 1\n", ""),
        with("name: course", "name: 3"),
        with("name: course", "name: 3d"),
        with("name: course", "title: course"),
        with("name: course", "name: course\nextra: 1"),
        with(q, "qos: { depth: 0 }"),
        with(q, "qos: { depth: 65537 }"),
        with(q, "qos: { depth: -1 }"),
        with(q, "qos: { depth: 1.5 }"),
        with(q, "qos: { depth: \"4\" }"),
        with(q, "qos: { deep: 4 }"),
        with(q, "qos: { reliability: maybe }"),
        with(q, "qos: { when_full: drop }"),
        with(q, "qos: { history: keep_some }"),
        with(q, "qos: { liveliness: manual_by_node }"),
        with(q, "qos: { deadline_ms: 0.0001 }"),
        with(q, "qos: { deadline_ms: -1 }"),
        with(q, "qos: { lifespan_ms: 86400001 }"),
        with(q, "qos: { lease_duration_ms: .inf }"),
        with(q, "qos: { lease_duration_ms: soon }"),
        with(q, "bounds: { data: 0 }"),
        with(q, "bounds: { header..frame_id: 1 }"),
        with(q, "bounds: [4]"),
        with(q, "external: yes"),
        with(q, "several_publishers: 2"),
        with("max_bytes: 1000000", "max_bytes: 0"),
        with("type: sensor_msgs/msg/Image", "type: sensor_msgs/Image"),
        with("type: sensor_msgs/msg/Image", "type: sensor_msgs/msg/image"),
        with("  /camera/image_raw: {", "  ~/image_raw: {"),
        with("  /camera/image_raw: {", "  /{node}/image_raw: {"),
        with("image: /camera/image_raw }", "image: /camera//image_raw }"),
        with("image: /camera/image_raw }", "image: camera/image_raw/ }"),
        with("image: /camera/image_raw }", "image: ~image }"),
        with("image: /camera/image_raw }", "image: \"{nod}/image\" }"),
        with("image: /camera/image_raw }", "image: \"{node/image\" }"),
        with("name: course", "name: course\nnamespace: a//b"),
        with("name: course", "name: course\nnamespace: /a/"),
        with("name: course", "name: course\ninclude: camera.yaml"),
        with("name: course", "name: course\ninclude: [ camera.yaml ]"),
        with("name: course", "name: course\ninclude: [ { namespace: /a } ]"),
        with("name: course", "name: course\ninclude: [ { file: c.yaml, remap: {} } ]"),
        with("name: course", "name: course\ninclude: [ { file: c.yaml, remaps: { ~/a: b } } ]"),
        with("name: course", "name: course\ninclude: [ { file: c.yaml, remaps: { a: 3 } } ]"),
        with("    type: polyfit\n", "    type: polyfit\n    namespace: 3d\n"),
        with("image: /camera/image_raw }", "image: /camera/9 }"),
        with("image: /camera/image_raw }", "image: { trigger: true } }"),
        with("trigger: false", "closes_loop: always"),
        with("image: /camera/image_raw }", "image: [/camera/image_raw] }"),
        with("image: /camera/image_raw }", "image: }"),
        with("    timers:", "    servers: { a: { service: /a, introspection: off } }\n    timers:"),
        with("    timers:", "    servers: { a: { introspection: contents } }\n    timers:"),
        with("    timers:", "    servers: { a: { service: /a, depth: 2 } }\n    timers:"),
        with("    timers:", "    clients: { a: { service: /a, introspection: all } }\n    timers:"),
        with("rate_hz: 15", "rate_hz: 0"),
        with("rate_hz: 15", "rate_hz: .nan"),
        with("rate_hz: 15", "rate_hz: 1e12"),
        with("rate_hz: 15", "rate_hz: 15, period_ms: 3"),
        with("{ rate_hz: 15 }", "{}"),
        with("{ rate_hz: 15 }", "15"),
        with("all_of: [lane, red, green]", "all_of: [lane]"),
        with("all_of: [lane, red, green]", "all_of: [lane, lane]"),
        with("same: stamp", "same: time"),
        with(", same: stamp", ", any_of: [lane]"),
        with("all_of: [lane, red, green], ", ""),
        with("all_of: [lane, red, green], same", "any_of: [lane], same"),
        with(JOIN, ""),
        with(JOIN, "any_of: []"),
        with(JOIN, "any_of: lane"),
        with(JOIN, "fresh: []"),
        with(JOIN, "fresh: [lane, lane]"),
        with(JOIN, "approximate_time: {}"),
        with(JOIN, "all_of: [lane, red], same: stamp, approximate_time: {}"),
        with(JOIN, "all_of: [lane, red], approximate_time: true"),
        with(JOIN, "all_of: [lane, red], approximate_time: { slop_ms: 3 }"),
        with(JOIN, "all_of: [lane, red], approximate_time: { max_interval_ms: 0 }"),
        with(JOIN, "all_of: [lane, red], approximate_time: { age_penalty: -1 }"),
        with(JOIN, "all_of: [lane, red], approximate_time: { lower_bounds_ms: {} }"),
        with(JOIN, "newest_not_older_than_ms: {}"),
        with(JOIN, "newest_not_older_than_ms: { lane: 0 }"),
        with(JOIN, "newest_not_older_than_ms: { lane: .nan }"),
        with(JOIN, "newest_not_older_than_ms: { lane: soon }"),
        with(JOIN, "predicate: [near]"),
        with("rate_hz: 15", "rate_hz: 15, offset_ms: -1"),
        with("rate_hz: 15", "rate_hz: 15, priority: 100"),
        with("rate_hz: 15", "offset_ms: 3"),
        with("trigger: false } }\n    outputs: { image", "read: newest } }\n    outputs: { image"),
        with("clip_percent: 1.0", "clip_percent: { a: 1 }"),
        with("clip_percent: 1.0", "clip_percent: [1, a]"),
        with("clip_percent: 1.0", "clip_percent: [[1]]"),
        with("clip_percent: 1.0", "clip_percent: ~"),
        with("timer: step, command", "timer: step, input"),
        with("from: /camera/image_raw, to", "to"),
        with("    type: polyfit\n", ""),
        with("    type: polyfit\n", "    type: polyfit\n    budget_ms: 0\n"),
        with("    type: polyfit\n", "    type: polyfit\n    on_overrun: count\n"),
        with("    type: polyfit\n", "    type: polyfit\n    on_failure: restart\n"),
        with("image: /camera/image_raw }", "image: { topic: /a, max_age_ms: 1e9 } }"),
        with("image: /camera/image_raw }", "image: { topic: /a, on_miss: count } }"),
        with("from: /camera/image_raw, to", "on_miss: stop, from: /camera/image_raw, to"),
        with("from: /camera/image_raw, to", "max_latency_ms: soon, from: /camera/image_raw, to"),
        with(
            "from: /camera/image_raw, to",
            "max_latency_ms: 80, on_miss: warn, from: /camera/image_raw, to",
        ),
        with("  blur:", "  blur blur:"),
        with("  blur:", "  a__b:"),
        "crossdock: 1\nname: a\nnodes: {}\n".to_owned(),
        "crossdock: 1\nname: a\nnodes: []\n".to_owned(),
        "[]".to_owned(),
        "text".to_owned(),
    ]
}

#[test]
fn schema_and_reader_accept_the_same_graph_files() {
    let validator = validator(GRAPH_SCHEMA);
    for text in good_graphs() {
        let read = Graph::from_yaml("g", text.as_bytes());
        assert!(read.is_ok(), "{:#?}", read.err());
        assert!(validator.is_valid(&json(&text).unwrap()), "{text}");
    }
    // Only what is in the included file is missing.
    let text = with(
        "name: course",
        "name: course\ninclude: [ { file: c.yaml, namespace: front, remaps: { image: /a/image }, \
         parameters: { blur: { kernel: 3 } } } ]",
    );
    let fault = Graph::from_yaml("g", text.as_bytes()).unwrap_err().remove(0);
    assert_eq!(fault.kind, crate::ViolationKind::Include);
    assert!(validator.is_valid(&json(&text).unwrap()), "{text}");
    for text in bad_graphs() {
        assert!(Graph::from_yaml("g", text.as_bytes()).is_err(), "the reader accepts {text}");
        assert!(!validator.is_valid(&json(&text).unwrap()), "the schema accepts {text}");
    }
}

#[test]
fn schema_and_reader_accept_the_same_mapping_files() {
    let validator = validator(MAPPING_SCHEMA);
    let file = |process: &str| format!("crossdock: 1\nprocesses: {{ {process} }}\n");
    let with = |more: &str| format!("crossdock: 1\nprocesses: {{}}\n{more}\n");
    let good = [
        file("a: { executors: [ { mode: chain, nodes: [x, y] } ] }"),
        file("a: { executors: [ { name: e, mode: event, nodes: [x], spin_us: 1000000 } ] }"),
        file("a: { executors: [ { mode: graph, threads: 2, nodes: [x], costs_us: { x: 5 } } ] }"),
        file("a: { executors: [ { mode: graph, threads: 64, nodes: [x], costs_us: {} } ] }"),
        with("trust: { users: [alice, _apt, r2-d2.robots$], groups: [robots] }"),
        with("trust: {}"),
        with("trust: { users: [] }"),
        file(""),
        file(
            "a: { executors: [ { mode: chain, nodes: [x], priority: 99, affinity: [0, 1023] } ] }",
        ),
        file(
            "a: { lock_memory: true, realtime: preferred, executors: [ { mode: chain, nodes: [x] } ] }",
        ),
        file("a: { restart: always, executors: [ { mode: chain, nodes: [x] } ] }"),
        file(
            "a: { restart: { when: on_failure, limit: 2, within_s: 10, backoff_ms: 0 }, \
             executors: [ { mode: chain, nodes: [x] } ] }",
        ),
        with("fabrics: { board: { nodes: [x, y] }, b2: { nodes: [z] } }"),
        with("fabrics: { board: { nodes: [x], on_lag: slow_time } }"),
        with("fabrics: { board: { nodes: [x], part: KV260 } }"),
        with("fabrics: {}\ntopics: {}"),
        with("hosts: { car: { processes: [a, b] }, desk: { processes: [c] } }"),
        with("hosts: {}"),
        with("devices: { gpu: { device: \"opencl:0\", nodes: [x] } }"),
        with(
            "devices: { gpu: { device: cuda, nodes: [x, y], otherwise: cpu, topics: { /a: copy, \
             /b: zero_copy, /c/d: device, /e: auto, /f: managed } }, b: { device: d, nodes: [z] } }",
        ),
        with("topics: { /a: { mapping: software, width: 128 }, /a/b: { mapping: hardware } }"),
        with("topics: { /a: { mapping: gateway } }"),
        with("topics: { /a: { mapping: hardware, width: 128, clock: fast, check: false } }"),
        with("topics: { /a: { mapping: hardware, watchdog_cycles: 65536, probe: true } }"),
        with("topics: { /a: { mapping: gateway, gateway: { fifo_messages: 2, width: 64 } } }"),
        with(
            "topics: { /a: { mapping: hardware, subscribers: { x: { in: { keep_last: 2 } }, \
             /y/z: { in: { fifo_beats: 512, width: 512, converter: true, clock: c } } } } }",
        ),
        with("topics: { /a: { mapping: hardware, publishers: { x: { out: { probe: true } } } } }"),
    ];
    let bad = [
        with("trust: alice"),
        with("trust: { users: alice }"),
        with("trust: { users: [1000] }"),
        with("trust: { users: [\"\"] }"),
        with("trust: { groups: [\"a b\"] }"),
        with("trust: { groups: [\"group:a\"] }"),
        with("trust: { users: [\"a,b\"] }"),
        with("trust: { everybody: true }"),
        with("devices: { gpu: { nodes: [x] } }"),
        with("devices: { gpu: { device: d, nodes: [] } }"),
        with("devices: { gpu: { device: d, nodes: [x], otherwise: maybe } }"),
        with("devices: { gpu: { device: d, nodes: [x], topics: { /a: fast } } }"),
        with("devices: { gpu: { device: d, nodes: [x], topics: { ~/a: copy } } }"),
        with("devices: { 2nd: { device: d, nodes: [x] } }"),
        with("fabrics: { board: { nodes: [] } }"),
        with("fabrics: { board: { nodes: [1] } }"),
        with("fabrics: { board: { nodes: x } }"),
        with("fabrics: { board: [x] }"),
        with("fabrics: { board: {} }"),
        with("fabrics: { board: { nodes: [x], clock: 1 } }"),
        with("fabrics: { board: { nodes: [x], on_lag: wait } }"),
        with("fabrics: { board: { nodes: [x], part: [KV260] } }"),
        with("fabrics: { 2nd: { nodes: [x] } }"),
        with("fabrics: [board]"),
        with("hosts: [car]"),
        with("hosts: { car: [a] }"),
        with("hosts: { car: {} }"),
        with("hosts: { car: { processes: [] } }"),
        with("hosts: { car: { processes: a } }"),
        with("hosts: { car: { processes: [1] } }"),
        with("hosts: { 2nd: { processes: [a] } }"),
        with("hosts: { car: { processes: [a], address: b } }"),
        with("topics: { /a: gateway }"),
        with("topics: { /a: {} }"),
        with("topics: { /a: { mapping: gate } }"),
        with("topics: { /a: { mapping: gateway, fabric: board } }"),
        with("topics: { a/: { mapping: gateway } }"),
        with("topics: [/a]"),
        with("topics: { /a: { mapping: hardware, width: 96 } }"),
        with("topics: { /a: { mapping: hardware, clock: 2 } }"),
        with("topics: { /a: { mapping: hardware, watchdog_cycles: 1 } }"),
        with("topics: { /a: { mapping: software, probe: true } }"),
        with("topics: { /a: { mapping: hardware, gateway: {} } }"),
        with(
            "topics: { /a: { mapping: hardware, subscribers: { x: { in: { fifo_beats: 6 } } } } }",
        ),
        with(
            "topics: { /a: { mapping: hardware, subscribers: { x: { in: { keep_last: 15 } } } } }",
        ),
        with(
            "topics: { /a: { mapping: hardware, subscribers: { x: { in: { keep_last: 1, \
             fifo_messages: 1 } } } } }",
        ),
        with("topics: { /a: { mapping: hardware, subscribers: { x: { keep_last: 1 } } } }"),
        with("topics: { /a: { mapping: hardware, publishers: { x: { o: { keep_last: 1 } } } } }"),
        file("a: {}"),
        file("a: { executors: [] }"),
        file("a: { executors: [ { mode: chain } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [] } ] }"),
        file("a: { executors: [ { mode: chains, nodes: [x] } ] }"),
        file("a: { executors: [ { nodes: [x] } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [1] } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], spin_us: -1 } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], spin_us: 1000001 } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], name: 9 } ] }"),
        file("a: { executors: [ { mode: graph, nodes: [x] } ] }"),
        file("a: { executors: [ { mode: graph, threads: 0, nodes: [x] } ] }"),
        file("a: { executors: [ { mode: graph, threads: 65, nodes: [x] } ] }"),
        file("a: { executors: [ { mode: graph, threads: 2, nodes: [x], costs_us: { x: 0 } } ] }"),
        file("a: { executors: [ { mode: chain, threads: 2, nodes: [x] } ] }"),
        file("a: { executors: [ { mode: event, nodes: [x], costs_us: { x: 5 } } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], cpu: 1 } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], priority: 100 } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], affinity: [] } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], affinity: [1, 1] } ] }"),
        file("a: { executors: [ { mode: chain, nodes: [x], affinity: 1 } ] }"),
        file("a: { lock_memory: 1, executors: [ { mode: chain, nodes: [x] } ] }"),
        file("a: { realtime: maybe, executors: [ { mode: chain, nodes: [x] } ] }"),
        file("a: { restart: sometimes, executors: [ { mode: chain, nodes: [x] } ] }"),
        file("a: { restart: { limit: 2 }, executors: [ { mode: chain, nodes: [x] } ] }"),
        file(
            "a: { restart: { when: always, limit: 0 }, executors: [ { mode: chain, nodes: [x] } ] }",
        ),
        file("a b: { executors: [ { mode: chain, nodes: [x] } ] }"),
        "crossdock: 1\n".to_owned(),
        "processes: {}\n".to_owned(),
    ];
    for text in good {
        let read = Mapping::from_yaml("m", text.as_bytes());
        assert!(read.is_ok(), "{:#?}", read.err());
        assert!(validator.is_valid(&json(&text).unwrap()), "{text}");
    }
    for text in bad {
        assert!(Mapping::from_yaml("m", text.as_bytes()).is_err(), "the reader accepts {text}");
        assert!(!validator.is_valid(&json(&text).unwrap()), "the schema accepts {text}");
    }
}

#[test]
fn schema_and_reader_accept_the_same_placement_files() {
    let validator = validator(PLACEMENT_SCHEMA);
    let file = |fabrics: &str| format!("crossdock: 1\nfabrics: {fabrics}\n");
    let good = [file("{}"), file("{ board: { nodes: [x, y] }, b2: { nodes: [z] } }")];
    let bad = [
        file("[x]"),
        file("{ board: { nodes: [] } }"),
        file("{ board: { nodes: [true] } }"),
        file("{ board: { node: [x] } }"),
        file("{ a__b: { nodes: [x] } }"),
        file("{}\nsoftware: [x]"),
        "crossdock: 2\nfabrics: {}\n".to_owned(),
        "fabrics: {}\n".to_owned(),
        "crossdock: 1\n".to_owned(),
    ];
    for text in good {
        let read = Placement::from_yaml("p", text.as_bytes());
        assert!(read.is_ok(), "{:#?}", read.err());
        assert!(validator.is_valid(&json(&text).unwrap()), "{text}");
    }
    for text in bad {
        assert!(Placement::from_yaml("p", text.as_bytes()).is_err(), "the reader accepts {text}");
        assert!(!validator.is_valid(&json(&text).unwrap()), "the schema accepts {text}");
    }
}

#[test]
fn schema_and_reader_accept_the_same_hardware_package_files() {
    let validator = validator(HARDWARE_PACKAGE_SCHEMA);
    let file = |nodes: &str| format!("crossdock: 1\npackage: p\nnodes: {nodes}\n");
    let node = |more: &str| {
        file(&format!("{{ n: {{ inputs: {{ i: {{ type: a/msg/B }} }}, sources: [n.sv]{more} }} }}"))
    };
    let source = |name: &str| node("").replace("n.sv", name);
    let good = [
        node(""),
        node(", doc: what it does, module: other, width: 512, drops: true"),
        node(", parameters: { clip: -2147483648, size: 2147483647, whole: 3.0 }"),
        node(", parameters: { a: { default: 8, from_value: 0, to_value: 16, step: 8 } }"),
        node(", parameters: { a: { default: -3 } }"),
        node(", parameters: { a: { default: 3, of: b, times: 100 } }"),
        node(", drops: true, refuses: pictures"),
        node(", made_from: [a/b.yaml]"),
        node(", drops: true, refuses: [it is too long, b, c, d, e, f, g]"),
        node(", built_in: { a: b.yaml }, made_from: [a]"),
        node(", built_in: { a: true, b: 2.5, c: text, d: [1, 2], e: [], f: [x] }"),
        node(", built_in: { a: 1 }, sized_by: [a], set_up: { n.sv: n-setup2 }"),
        node(", area: { lut: 1, ff: 0, bram18: 2.0, dsp: 100000000 }"),
        node(", area: { lut: 1, ff: 0, bram18: 2, dsp: 0, in_uram: { bram18: 2, uram: 1 } }"),
        node(", sized_by: []"),
        node(", parameters: { a: 1, b: 2 }, sized_by: [a]"),
        node(", condition: { any_of: [i], newest_not_older_than_ms: { i: 3 } }"),
        node(", outputs: { o: { type: a/msg/B, bounds: { data: 1, header.frame_id: 3 } } }"),
        node("").replace("type: a/msg/B", "type: a/msg/B, trigger: false, optional: true"),
        node("").replace("type: a/msg/B", "type: a/msg/B, widths: [512, 64]"),
        node(", outputs: { o: { type: a/msg/B, widths: [128] } }"),
        file("{ n: { outputs: { o: { type: a/msg/B, optional: true } }, sources: [n.v] } }"),
        source("..shared/v1.0/n.v"),
        source("a-b/n.x.sv, n.svh, table.mem"),
        source("n.vhd, m.vhdl"),
    ];
    let bad = [
        node(", drops: 3"),
        node(", parameters: { a: { from_value: 0 } }"),
        node(", parameters: { a: { default: 3, times: 100 } }"),
        node(", parameters: { a: { default: 3, of: 4, times: 100 } }"),
        node(", parameters: { a: { default: 3, of: b, times: 0 } }"),
        node(", parameters: { a: { default: 1.5 } }"),
        node(", parameters: { a: { default: 1, from_value: 0, step: 0 } }"),
        node(", parameters: { a: { default: 1, to_value: 9, step: 1 } }"),
        node(", parameters: { a: { default: 1, most: 2 } }"),
        node(", refuses: pictures"),
        node(", drops: true, refuses: images"),
        node(", drops: true, refuses: []"),
        node(", drops: true, refuses: [a, b, c, d, e, f, g, h]"),
        node(", drops: true, refuses: [3]"),
        node(", drops: true, refuses: [' ']"),
        node(", drops: true, refuses: [\"a\\nb\"]"),
        node(", built_in: { a: b.yaml }, made_from: a"),
        node(", built_in: { a: b.yaml }, made_from: [[a]]"),
        node(", set_up: { n.sv: n-setup }"),
        node(", built_in: {}, set_up: { n.sv: n-setup }"),
        node(", built_in: { a: 1 }, set_up: [n.sv]"),
        node(", built_in: { a: 1 }, set_up: { n.sv: [n-setup] }"),
        node(", built_in: { a: 1 }, set_up: { n.sv: --help }"),
        node(", built_in: { a: 1 }, set_up: { n.sv: n setup }"),
        node(", built_in: [1]"),
        node(", built_in: { a: { b: 1 } }"),
        node(", drops: [late]"),
        node(", area: 3"),
        node(", area: {}"),
        node(", sized_by: 3"),
        node(", parameters: { a: 1 }, sized_by: a"),
        node(", area: { lut: 1, ff: 0, bram18: 2 }"),
        node(", area: { lut: 1, ff: 0, bram18: 2, dsp: -1 }"),
        node(", area: { lut: 1, ff: 0, bram18: 2, dsp: 0.5 }"),
        node(", area: { lut: 100000001, ff: 0, bram18: 2, dsp: 0 }"),
        node(", area: { lut: 1, ff: 0, bram18: 2, dsp: 0, uram: 1 }"),
        node(", area: { lut: 1, ff: 0, bram18: 2, dsp: 0, in_uram: 1 }"),
        node(", area: { lut: 1, ff: 0, bram18: 2, dsp: 0, in_uram: { bram18: 2 } }"),
        node(", area: { lut: 1, ff: 0, bram18: 2, dsp: 0, in_uram: { bram18: 2, uram: 0 } }"),
        node(", condition: {}"),
        node(", condition: { all_of: [i] }"),
        node(", condition: { any_of: [i], same: stamp }"),
        file("{}"),
        file("[n]"),
        file("{ n: {} }"),
        file("{ n: { sources: [n.sv] } }"),
        file("{ n: { sources: [n.sv], inputs: {} } }"),
        node("").replace("package: p\n", ""),
        node("").replace("package: p", "package: p__q"),
        node("").replace("crossdock: 1", "crossdock: 2"),
        node(", widths: 64"),
        node(", width: 96"),
        node(", module: 3d"),
        node(", parameters: { clip: 1.5 }"),
        node(", parameters: { clip: true }"),
        node(", parameters: { clip: text }"),
        node(", parameters: { clip: 2147483648 }"),
        node(", parameters: { 3d: 1 }"),
        node(", outputs: { o: { type: a/B } }"),
        node(", outputs: { o: {} }"),
        node(", outputs: { o: { type: a/msg/B, widths: [] } }"),
        node(", outputs: { o: { type: a/msg/B, widths: [64, 64] } }"),
        node(", outputs: { o: { type: a/msg/B, widths: [96] } }"),
        node(", outputs: { o: { type: a/msg/B, widths: 128 } }"),
        node(", outputs: { o: { type: a/msg/B, width: 128 } }"),
        node(", outputs: { o: { type: a/msg/B, trigger: true } }"),
        node(", outputs: { o: { type: a/msg/B, bounds: { data: 0 } } }"),
        node(", outputs: { o: { type: a/msg/B, bounds: { a..b: 1 } } }"),
        source(""),
        source("/n.sv"),
        source("n"),
        source(".sv"),
        source("n.txt"),
        source("n.svh"),
        source("'n m.sv'"),
        source("n/"),
        source("-n.sv"),
        source("-rtl/n.sv"),
        source("../shared/n.v"),
        source("rtl/../n.v"),
        source("3"),
    ];
    for text in good {
        let read = HardwarePackage::from_yaml("h", text.as_bytes());
        assert!(read.is_ok(), "{:#?}\n{text}", read.err());
        assert!(validator.is_valid(&json(&text).unwrap()), "{text}");
    }
    for text in bad {
        let read = HardwarePackage::from_yaml("h", text.as_bytes());
        assert!(read.is_err(), "the reader accepts {text}");
        assert!(!validator.is_valid(&json(&text).unwrap()), "the schema accepts {text}");
    }
}
