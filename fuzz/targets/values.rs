//! Fuzzes what is typed and told as text and becomes a message or is one: values in YAML for
//! requests of services, definitions of services.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_graph::yaml_messages;
use crossdock_msg::{Block, FlatBuffer, Schema};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

const TYPES: [&str; 5] = [
    "std_msgs/msg/String",
    "sensor_msgs/msg/Image",
    "sensor_msgs/msg/CameraInfo",
    "nav_msgs/msg/Path",
    "geometry_msgs/msg/PoseWithCovarianceStamped",
];

fn schemas() -> &'static [Schema] {
    static SCHEMAS: OnceLock<Vec<Schema>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        TYPES.iter().map(|name| Schema::shipped(name).expect("a shipped type")).collect()
    })
}

fn seeds() -> Vec<Vec<u8>> {
    let texts: [(u8, &str); 6] = [
        (0, "{data: hello}"),
        (0, "data: \"\\u009b\\e[2J\""),
        (1, "{width: 2, height: 1, encoding: mono8, step: 2, data: [1, 2]}"),
        (2, "{k: [1, 0, 0, 0, 1, 0, 0, 0, 1], d: [.nan, -.inf, 1e300], distortion_model: x}"),
        (3, "{poses: [{pose: {position: {x: 1}}}, {}]}"),
        (4, "header: {stamp: {sec: -1, nanosec: 4294967295}, frame_id: a}"),
    ];
    texts.iter().map(|(kind, text)| [&[*kind], text.as_bytes()].concat()).collect()
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let schema = &schemas()[usize::from(input.u8()) % TYPES.len()];
    let Ok(values) = yaml_messages("fuzz", input.rest()) else { return };
    values.iter().for_each(|value| must_read_back(schema, value));
});

/// What is accepted is a message, and says again what it was made from.
fn must_read_back(schema: &Schema, value: &serde_json::Value) {
    let cdr = match schema.cdr_of_json(value) {
        Ok(cdr) => cdr,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let bytes = schema.flat_bytes_of_cdr(&cdr).expect("a message");
    let mut flat = FlatBuffer::with_bytes(bytes);
    assert_eq!(schema.decode_cdr(&cdr, flat.as_mut_slice()), Ok(bytes));
    let block = Block::new(flat.as_slice());
    assert_eq!(schema.validate(block), Ok(()));
    let json = schema.to_json(block).expect("a valid message");
    if let Ok(again) = schema.cdr_of_json(&json) {
        assert_eq!(again, cdr, "{json}");
    }
}
