//! Fuzzes definitions: `.msg`, `.srv`, `.action`, `.idl` and merged text, resolution, RIHS01, flat
//! layout.
//!
//! What is accepted must survive being written and read again with the same hashes.
#![no_main]

use crossdock_msg::definition::{
    MessageDefinition, TypeName, action_text, merged_text, message_text, parse_action, parse_idl,
    parse_merged, parse_message, parse_service, service_text,
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
        "# a goal\nint32 x # far\n---\nstring[] y\n---\nfloat64 z 0.5\n",
        "wchar w\nchar8 c\nfloat128[] f\n",
        IDL,
        "===\nIDL: fuzz_msgs/msg/A\nmodule fuzz_msgs { module msg { struct A { fuzz_msgs::msg::B b; }; }; };\n\
         ===\nIDL: fuzz_msgs/msg/B\nmodule fuzz_msgs { module msg { struct B { long x; }; }; };\n",
    ];
    shipped.chain(odd).map(|text| text.as_bytes().to_vec()).collect()
}

const IDL: &str = "#include \"x.idl\"\nmodule fuzz_msgs { module msg { typedef double double__3[3];
    module A_Constants { const unsigned long N = 4; const string S = \"a\" \"b\\t\"; };
    @verbatim (language=\"comment\", text=\"Of it.\") struct A { // comment
    @default (value=-7) short a, b; string<N> s; sequence<wstring<4>, 5> w; double__3 d; A2 x[2];
    @default (value=\"(1, 2)\") sequence<octet> o; char c; wchar v; long double f; };
    struct A2 { }; }; module srv { struct B_Request { long a; }; struct B_Response { }; }; };";

/// Services and actions: what is accepted is written and read again.
fn parts(text: &str) {
    let name = TypeName::service("fuzz_msgs", "Root");
    if let Ok(service) = parse_service(&name, "fuzz", text) {
        let written = service_text(&service);
        let again = parse_service(&name, "fuzz", &written).expect("what is written can be read");
        assert_eq!(service_text(&again), written);
    }
    let name = TypeName::action("fuzz_msgs", "Root");
    if let Ok(action) = parse_action(&name, "fuzz", text) {
        let written = action_text(&action);
        let again = parse_action(&name, "fuzz", &written).expect("what is written can be read");
        assert_eq!(action_text(&again), written);
        resolved(|library| library.add_action(action));
    }
}

/// OMG IDL: types that can be resolved keep their hashes through their merged text.
fn idl(text: &str) {
    if let Ok(schema) = Schema::parse_idl("fuzz_msgs/msg/A", text) {
        let again = Schema::parse("fuzz_msgs/msg/A", schema.definition());
        assert_eq!(again.map(|it| it.type_hash()), Ok(schema.type_hash()));
    }
    let Ok(file) = parse_idl("fuzz", text) else { return };
    resolved(|library| library.add_idl(file));
}

fn resolved(add: impl FnOnce(&mut Library)) {
    let mut library = Library::new();
    add(&mut library);
    let names: Vec<_> = library.iter().map(|it| it.type_name.clone()).collect();
    let derived = library.actions().flat_map(|it| library.derived_from(&it.type_name));
    for name in names.iter().cloned().chain(derived) {
        let Ok(schema) = Schema::from_library(&library, &name.to_string()) else { continue };
        let again = Schema::parse(&name.to_string(), schema.definition());
        let again = again.expect("what is written can be read");
        assert_eq!(schema.type_hash(), again.type_hash(), "{}", schema.definition());
        assert_eq!(schema.layout_hash(), again.layout_hash(), "{}", schema.definition());
    }
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
    parts(&text);
    idl(&text);
    merged(&name, &text);
    let _ = TypeName::parse(&text).map(|name| assert_eq!(TypeName::parse(&name.to_string()), Some(name)));
});
