//! Fuzzes message definitions: `.msg` text, merged text, resolution, RIHS01, flat layout.
//!
//! What is accepted must survive being written and read again with the same hashes.
#![no_main]

use crossdock_msg::definition::{
    MessageDefinition, TypeName, merged_text, message_text, parse_merged, parse_message,
};
use crossdock_msg::resolve::Library;
use crossdock_msg::rihs::type_hash;
use crossdock_msg::{Schema, types};
use libfuzzer_sys::fuzz_target;

const EVERYTHING: &str =
    include_str!("../../crates/msg/tests/user/interfaces/odd_msgs/msg/Everything.msg");

fn seeds() -> Vec<Vec<u8>> {
    let shipped = types::ALL.iter().map(|(_, text)| *text).filter(|text| text.len() < 2000);
    let odd = [
        EVERYTHING,
        "int32 X=-5\nstring NAME='a # b'\nfloat64 F=1e-3\nuint8[] data [1, 2]\nbool on true\n",
        "wstring<=9 wide\nstring<=5[<=3] texts ['a', \"b\"]\nfloat32[4] array\n",
        "Header header\n===\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
         ===\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n",
        "B b\n===\nMSG: fuzz_msgs/B\nC[2] c\nC[] d\n===\nMSG: fuzz_msgs/C\nbyte x\n",
    ];
    shipped.chain(odd).map(|text| text.as_bytes().to_vec()).collect()
}

/// One file: its text as written by the product says the same.
fn single(name: &TypeName, text: &str) {
    let Ok(definition) = parse_message(name, "fuzz", text) else { return };
    let written = message_text(&definition);
    let again = parse_message(name, "fuzz", &written).expect("what is written can be read");
    assert_eq!(message_text(&again), written);
    assert_eq!(shape(&again), shape(&definition));
}

/// What hashes and layouts depend on.
fn shape(definition: &MessageDefinition) -> Vec<(&str, String)> {
    let fields = definition.fields.iter();
    fields.map(|field| (field.name.as_str(), format!("{:?}", field.field_type))).collect()
}

/// A merged text: resolution, hashes, layout.
fn merged(name: &TypeName, text: &str) {
    let Ok(definitions) = parse_merged(name, text) else { return };
    let mut library = Library::new();
    definitions.into_iter().for_each(|definition| library.add(definition));
    let schema = Schema::parse(&name.to_string(), text);
    let Ok(resolved) = library.resolve(name) else {
        assert!(schema.is_err());
        return;
    };
    let written = merged_text(&resolved.definitions);
    let again = Schema::parse(&name.to_string(), &written);
    let Ok(schema) = schema else {
        assert!(again.is_err());
        return;
    };
    let again = again.expect("what is written can be read");
    assert_eq!(schema.type_hash(), type_hash(&resolved));
    assert_eq!(schema.type_hash(), again.type_hash(), "{written}");
    assert_eq!(schema.layout_hash(), again.layout_hash(), "{written}");
    assert_eq!(schema.type_hash().to_string().parse(), Ok(schema.type_hash()));
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let name = TypeName::message("fuzz_msgs", "Root");
    single(&name, &text);
    merged(&name, &text);
    let _ = TypeName::parse(&text).map(|name| assert_eq!(TypeName::parse(&name.to_string()), Some(name)));
});
