//! Messages that people write as text: what they leave out, and what is refused.

use crossdock_msg::{Block, FlatBuffer, JsonOptions, Schema};
use serde_json::{Value, json};

const WITH_DEFAULTS: &str = "\
int32 count 42
uint64 most 18446744073709551615
int64 least -9223372036854775808
bool on true
string name \"full of \\\"it\\\"\"
wstring wide 'ä'
float32 part 0.5
float64 endless inf
int16[3] three [1, -2, 3]
string[] words ['a', \"b\"]
uint8[<=4] few [7]
int32 none
my_msgs/Inner inner
my_msgs/Inner[2] both
my_msgs/Inner[] more
===
MSG: my_msgs/Inner
int8 depth -1
int8 plain
";

/// The message that `cdr` is, as JSON.
fn read(schema: &Schema, cdr: &[u8]) -> Value {
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(cdr).unwrap());
    schema.decode_cdr(cdr, flat.as_mut_slice()).unwrap();
    let options = JsonOptions::default();
    schema.to_json_with(Block::new(flat.as_slice()), options).unwrap()
}

fn refused(schema: &Schema, value: &Value) -> String {
    schema.cdr_of_json(value).unwrap_err().to_string()
}

#[test]
fn a_field_that_is_left_out_has_the_default_of_its_definition() {
    let schema = Schema::parse("my_msgs/msg/Outer", WITH_DEFAULTS).unwrap();
    let inner = json!({ "depth": -1, "plain": 0 });
    let whole = json!({
        "count": 42, "most": u64::MAX, "least": i64::MIN, "on": true,
        "name": "full of \"it\"", "wide": "ä", "part": 0.5, "endless": "inf",
        "three": [1, -2, 3], "words": ["a", "b"], "few": [7], "none": 0,
        "inner": inner, "both": [inner, inner], "more": [],
    });
    for nothing in [json!({}), Value::Null, json!({ "count": null, "inner": {} })] {
        assert_eq!(read(&schema, &schema.cdr_of_json(&nothing).unwrap()), whole, "{nothing}");
    }
    let some =
        json!({ "count": 0, "words": [], "more": [{ "plain": 5 }], "both": [{ "depth": 3 }, {}] });
    let message = read(&schema, &schema.cdr_of_json(&some).unwrap());
    assert_eq!((&message["count"], &message["words"]), (&json!(0), &json!([])));
    assert_eq!(message["more"], json!([{ "depth": -1, "plain": 5 }]));
    assert_eq!(message["both"], json!([{ "depth": 3, "plain": 0 }, inner]));
}

#[test]
fn what_people_type_for_ros_2_is_taken_if_it_can_mean_one_thing_only() {
    let schema = Schema::parse("my_msgs/msg/Outer", WITH_DEFAULTS).unwrap();
    let typed = |value: Value| schema.written(&value).map(|it| read(&schema, it.cdr()));
    let message =
        typed(json!({ "name": 5, "wide": 1.5, "words": [7, "x"], "none": 2.0, "few": [3e0] }));
    let message = message.unwrap();
    assert_eq!((&message["name"], &message["wide"]), (&json!("5"), &json!("1.5")));
    assert_eq!((&message["words"], &message["none"]), (&json!(["7", "x"]), &json!(2)));
    assert_eq!(message["few"], json!([3]));
    for (flag, expected) in
        [(json!(1), true), (json!(0), false), (json!("yes"), true), (json!("Off"), false)]
    {
        assert_eq!(typed(json!({ "on": flag })).unwrap()["on"], json!(expected), "{flag}");
    }
    for wrong in [
        json!({ "none": 2.5 }),
        json!({ "none": "2" }),
        json!({ "most": 1e17 }),
        json!({ "few": [256.0] }),
        json!({ "on": 2 }),
        json!({ "on": "y" }),
        json!({ "name": true }),
        json!({ "part": "1" }),
    ] {
        assert!(typed(wrong.clone()).is_err(), "{wrong}");
    }
    // Programs are taken at their word.
    for strict in [json!({ "name": 5 }), json!({ "none": 2.0 }), json!({ "on": 1 })] {
        assert!(refused(&schema, &strict).contains("is expected"), "{strict}");
    }
}

#[test]
fn a_message_made_from_its_type_in_a_recording_has_the_same_defaults() {
    let schema = Schema::parse("my_msgs/msg/Outer", WITH_DEFAULTS).unwrap();
    let again = Schema::parse(schema.type_name(), schema.definition()).unwrap();
    assert_eq!(again.cdr_of_json(&json!({})), schema.cdr_of_json(&json!({})));
}

#[test]
fn a_field_that_is_not_there_is_named_with_the_field_that_should_hold_it() {
    let schema = Schema::shipped("geometry_msgs/msg/PoseArray").unwrap();
    let error = refused(&schema, &json!({ "poses": [{}, { "position": { "w": 1 } }] }));
    assert_eq!(
        error,
        "geometry_msgs/msg/Point (`poses[1].position`) has no field `w`; its fields are x, y, z"
    );
    let error = refused(&schema, &json!({ "pose": 1 }));
    assert_eq!(
        error,
        "geometry_msgs/msg/PoseArray has no field `pose`; its fields are header, poses"
    );
}

#[test]
fn a_number_that_a_float32_does_not_hold_is_refused() {
    let schema = Schema::parse("my_msgs/msg/One", "float32 x\nfloat64 y\n").unwrap();
    let error = refused(&schema, &json!({ "x": 3.5e38 }));
    assert!(error.contains("`x` is 3.5e+38, but a value of type float32 is expected"), "{error}");
    assert!(refused(&schema, &json!({ "x": -1e300 })).contains("`x`"));
    for value in [json!(f32::MAX), json!(f32::MIN), json!(1e-50), json!("inf"), json!("-inf")] {
        schema.cdr_of_json(&json!({ "x": value, "y": 1e300 })).unwrap();
    }
}

#[test]
fn a_text_with_the_character_0_is_refused() {
    let schema = Schema::parse("my_msgs/msg/Two", "string x\nwstring[] y\n").unwrap();
    let error = refused(&schema, &json!({ "x": "a\0b" }));
    assert!(error.contains("`x`") && error.contains("without the character 0"), "{error}");
    assert!(refused(&schema, &json!({ "y": ["", "\0"] })).contains("`y[1]`"));
}

#[test]
fn now_and_auto_stand_for_the_time_of_publication() {
    let schema = Schema::parse(
        "my_msgs/msg/Stamped",
        "uint8 first\nstd_msgs/Header header\nbuiltin_interfaces/Time at\nstring now\n\
         builtin_interfaces/Duration for_long\n===\nMSG: std_msgs/Header\n\
         builtin_interfaces/Time stamp\nstring frame_id\n===\nMSG: builtin_interfaces/Time\n\
         int32 sec\nuint32 nanosec\n===\nMSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec\n",
    )
    .unwrap();
    let value = json!({ "first": 1, "header": "auto", "at": "now", "now": "now" });
    let mut written = schema.written(&value).unwrap();
    for (at_ns, sec, nanosec) in
        [(0, 0, 0), (1_500_000_007, 1, 500_000_007), (9 << 30, 9, 663_676_416)]
    {
        written.set_now(at_ns);
        let time = json!({ "sec": sec, "nanosec": nanosec });
        let message = read(&schema, written.cdr());
        assert_eq!(message["header"], json!({ "stamp": time, "frame_id": "" }));
        assert_eq!((&message["at"], &message["now"]), (&time, &json!("now")));
    }
    let value = json!({ "header": { "stamp": "now", "frame_id": "map" } });
    let mut written = schema.written(&value).unwrap();
    written.set_now(2_000_000_001);
    let message = read(&schema, written.cdr());
    let stamp = json!({ "sec": 2, "nanosec": 1 });
    assert_eq!(message["header"], json!({ "stamp": stamp, "frame_id": "map" }));
    assert_eq!(message["at"], json!({ "sec": 0, "nanosec": 0 }), "what is left out is no time");
    // Elsewhere they are what they say: texts in the place of maps.
    for wrong in [json!({ "header": "now" }), json!({ "at": "auto" }), json!({ "for_long": "now" })]
    {
        assert!(schema.written(&wrong).unwrap_err().to_string().contains("a map of fields"));
    }
    assert!(schema.cdr_of_json(&json!({ "at": "now" })).is_err());
}
