//! Random types, for property tests.

use crossdock_msg::Schema;
use crossdock_msg::definition::{TypeName, merged_text, parse_message};
use crossdock_msg::resolve::Library;
use proptest::prelude::*;

const ELEMENTS: [&str; 17] = [
    "bool",
    "byte",
    "char",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "string",
    "wstring",
    "string<=5",
    "wstring<=3",
];

/// An element: one of [`ELEMENTS`], or an earlier type.
fn element() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..ELEMENTS.len(), 1 => ELEMENTS.len()..ELEMENTS.len() + 4]
}

fn shape() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        1 => (1u32..5).prop_map(|count| format!("[{count}]")),
        2 => Just("[]".to_owned()),
        1 => (1u32..5).prop_map(|bound| format!("[<={bound}]")),
    ]
}

/// Types T0 .. Tn, each of which may use those before it; the last is the root.
pub(crate) fn types() -> impl Strategy<Value = Vec<String>> {
    let fields = prop::collection::vec((element(), shape()), 0..7);
    prop::collection::vec(fields, 1..5).prop_map(|types| {
        let texts = types.iter().enumerate().map(|(number, fields)| {
            let lines = fields.iter().enumerate().map(|(index, (element, shape))| {
                let name = match ELEMENTS.get(*element) {
                    Some(name) => (*name).to_owned(),
                    None if number == 0 => "uint16".to_owned(),
                    None => format!("T{}", (element - ELEMENTS.len()) % number),
                };
                format!("{name}{shape} f{index}\n")
            });
            lines.collect::<String>()
        });
        texts.collect()
    })
}

/// The last of [`types`], resolved.
pub(crate) fn schema(types: &[String]) -> Schema {
    let mut library = Library::new();
    for (index, text) in types.iter().enumerate() {
        let name = TypeName::message("random_msgs", &format!("T{index}"));
        library.add(parse_message(&name, "random", text).unwrap());
    }
    let root = format!("random_msgs/msg/T{}", types.len() - 1);
    let schema = Schema::from_library(&library, &root).unwrap();
    let resolved = library.resolve(&TypeName::parse(&root).unwrap()).unwrap();
    let again = Schema::parse(&root, &merged_text(&resolved.definitions)).unwrap();
    assert_eq!(schema.type_hash(), again.type_hash());
    assert_eq!(schema.layout_hash(), again.layout_hash());
    schema
}
