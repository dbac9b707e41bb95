//! Messages that programs of C and C++ fill and compare field by field: an oracle that knows no
//! plan.

use crate::rosidl::{LANGUAGES, Message, types};
use crate::values::flat_of_cdr;
use crossdock_msg::Block;
use rmw_crossdock::introspection::Language;
use serde_json::{Value, json};
use std::ffi::c_void;

fn sequences() -> Value {
    json!({
        "bool_values": [true, false, true],
        "byte_values": [1, 255],
        "float32_values": [1.5, -2.25],
        "float64_values": [0.1],
        "int16_values": [-32768, 7],
        "uint64_values": [u64::MAX],
        "string_values": ["", "longer than a short string of C++", "x"],
        "basic_types_values": [{}, { "bool_value": true, "int64_value": -5 }],
        "alignment_check": 42,
    })
}

fn all() -> [(&'static str, &'static str, Value); 4] {
    [
        ("sequences", "test_msgs/msg/UnboundedSequences", sequences()),
        (
            "nested",
            "test_msgs/msg/MultiNested",
            json!({
                "array_of_arrays": [{}, { "string_values": ["", "", "deep"] }, {}],
                "unbounded_sequence_of_unbounded_sequences": [{}, sequences()],
            }),
        ),
        (
            "wide",
            "test_msgs/msg/WStrings",
            json!({
                "wstring_value": "h\u{e4}\u{2028}\u{1f600}",
                "array_of_wstrings": ["", "b", ""],
                "unbounded_sequence_of_wstrings": ["", "three"],
            }),
        ),
        (
            "image",
            "sensor_msgs/msg/Image",
            json!({
                "header": { "stamp": { "sec": -3 }, "frame_id": "camera" },
                "height": 2, "width": 3, "encoding": "mono8", "is_bigendian": 1, "step": 3,
                "data": [1, 2, 3, 4, 5, 6],
            }),
        ),
    ]
}

/// Puts what the definition says by default into what a value leaves out.
fn with_defaults(value: &Value, defaults: &Value) -> Value {
    match (value, defaults) {
        (Value::Object(value), Value::Object(defaults)) => {
            let mut all = defaults.clone();
            for (name, field) in value {
                all.insert(name.clone(), with_defaults(field, &defaults[name]));
            }
            all.into()
        }
        (Value::Array(list), Value::Array(defaults)) if list.len() == defaults.len() => {
            list.iter().zip(defaults).map(|(one, default)| with_defaults(one, default)).collect()
        }
        _ => value.clone(),
    }
}

#[test]
fn messages_that_programs_fill_and_compare_have_the_values_of_their_fields() {
    let Some(types) = types() else { return };
    for (filled, name, value) in all() {
        for language in LANGUAGES {
            let prefix = if language == Language::C { "c" } else { "cpp" };
            let plan = types.plan(language, name);
            let schema = plan.schema();
            let json = |message: &Message<'_>| {
                schema.to_json(Block::new(message.flat().unwrap().as_slice())).unwrap()
            };
            let mut message = Message::new(&plan);
            // Elements of sequences have their defaults, too.
            let mut wanted = with_defaults(&value, &json(&message));
            if filled != "wide" && filled != "image" {
                fill_in(&mut wanted, &default_of(types, language));
            }
            let symbol = types.symbol(&format!("fill_{prefix}_{filled}"));
            // SAFETY: the functions of `filled.c` and `filled.cpp` with this name have this type.
            let fill =
                unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void)>(symbol) };
            fill(message.at_mut());
            assert_eq!(json(&message), wanted, "{name} in {language:?}");

            let cdr = schema.cdr_of_json(&wanted).unwrap();
            let mut taken = Message::new(&plan);
            taken.take(flat_of_cdr(schema, &cdr).as_slice()).unwrap();
            let symbol = types.symbol(&format!("is_{prefix}_{filled}"));
            // SAFETY: as above.
            let is = unsafe {
                std::mem::transmute::<*mut c_void, extern "C" fn(*const c_void) -> bool>(symbol)
            };
            assert!(is(taken.at()), "{name} in {language:?}");
        }
    }
}

/// The defaults of the structs that the values above hold in sequences, by a field that only they
/// have.
fn default_of(types: &crate::rosidl::Types, language: Language) -> [(&'static str, Value); 2] {
    ["BasicTypes", "UnboundedSequences"].map(|name| {
        let plan = types.plan(language, &format!("test_msgs/msg/{name}"));
        let flat = Message::new(&plan).flat().unwrap();
        (name, plan.schema().to_json(Block::new(flat.as_slice())).unwrap())
    })
}

/// Completes elements of sequences.
fn fill_in(value: &mut Value, defaults: &[(&'static str, Value); 2]) {
    let complete = |list: &mut Value, default: &Value| {
        for one in list.as_array_mut().into_iter().flatten() {
            *one = with_defaults(one, default);
        }
    };
    if let Some(list) = value.get_mut("unbounded_sequence_of_unbounded_sequences") {
        complete(list, &defaults[1].1);
        list.as_array_mut().into_iter().flatten().for_each(|one| fill_in(one, defaults));
    }
    if let Some(list) = value.get_mut("basic_types_values") {
        complete(list, &defaults[0].1);
    }
}
