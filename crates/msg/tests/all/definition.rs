//! Definitions: what is read, and how errors say where and what was expected.

use crossdock_msg::definition::{
    DefinitionError, Element, MessageDefinition, Primitive, Shape, TypeName, Value, message_text,
    parse_merged, parse_message,
};
use crossdock_msg::layout::ElementLayout;
use crossdock_msg::resolve::Library;
use crossdock_msg::{Schema, SchemaError};

fn parse(text: &str) -> Result<MessageDefinition, DefinitionError> {
    parse_message(&TypeName::message("my_msgs", "My"), "My.msg", text)
}

#[test]
fn every_comment_is_documentation_of_something() {
    let text = "# Of the message.\n\n# A part:\n# its words\n\n# of a\nint32 a # behind\n\
        # alone\n\n\nint32 B=1\n# of c\n\nint32 c\n\n# at the end\n\n";
    let definition = parse(text).unwrap();
    assert_eq!(definition.documentation, "Of the message.\n\nat the end");
    assert_eq!(definition.fields[0].documentation, "A part:\nits words\n\nof a\nbehind");
    assert_eq!(definition.constants[0].documentation, "alone");
    assert_eq!(definition.fields[1].documentation, "of c");
    // A block behind the first field speaks of the next one, not of the message.
    let definition = parse("int32 a\n# of b\nint32 b").unwrap();
    assert_eq!(definition.documentation, "");
    assert_eq!(definition.fields[1].documentation, "of b");
}

#[test]
fn the_whole_syntax_is_read() {
    let text = "\u{feff}# comment\n\
        string<=5[<=3]  names [\"a\", 'b#']   # comment\n\
        wstring wide \"ä\"\r\n\
        \tfloat64[3] p [1, -2.5, 1e3]\n\
        Other[] others\n\
        other_msgs/Thing thing\n\
        other_msgs/msg/Thing again\n\
        uint8 HEX=0xff\n\
        int8   LOW =  -128 # comment\n\
        string TEXT=\"a \\\"b\\\" # no comment\"\n\
        string BARE=bare text # comment\n\
        bool yes True\n";
    let parsed = parse(text).unwrap();
    let types: Vec<_> = parsed.fields.iter().map(|field| field.field_type.clone()).collect();
    assert_eq!(types[0].element, Element::Text { bound: Some(5) });
    assert_eq!(types[0].shape, Shape::Sequence { bound: Some(3) });
    assert_eq!(types[1].element, Element::WideText { bound: None });
    assert_eq!(types[2].element, Element::Primitive(Primitive::Float64));
    assert_eq!(types[2].shape, Shape::Array(3));
    assert_eq!(types[3].element, Element::Message(TypeName::message("my_msgs", "Other")));
    assert_eq!(types[4], types[5]);
    let list = Value::List(vec![Value::Text("a".into()), Value::Text("b#".into())]);
    assert_eq!(parsed.fields[0].default, Some(list));
    assert_eq!(parsed.fields[6].default, Some(Value::Bool(true)));
    let values: Vec<_> = parsed.constants.iter().map(|one| one.value.clone()).collect();
    assert_eq!(values[0], Value::Integer(255));
    assert_eq!(values[1], Value::Integer(-128));
    assert_eq!(values[2], Value::Text("a \"b\" # no comment".into()));
    assert_eq!(values[3], Value::Text("bare text".into()));
}

#[test]
fn errors_name_line_and_column_and_say_what_was_expected() {
    let cases = [
        ("int32 a\nunit32 b", "My.msg:2:1: expected a type"),
        ("int32", "My.msg:1:6: expected `[`, or a space and the name"),
        ("int32[ a", "My.msg:1:7: expected `]`, `<=` or the length of an array"),
        ("int32[0] a", "My.msg:1:7: expected `]`, `<=` or the length of an array"),
        ("int32[3 a", "My.msg:1:8: expected `]`, found ` a`"),
        ("string<= a", "My.msg:1:9: expected the bound of a text"),
        ("int32 Name", "My.msg:1:7: expected the name of a field"),
        ("int32 a__b", "My.msg:1:7: expected the name of a field"),
        ("int32 lower=3", "My.msg:1:7: expected the name of a constant"),
        ("int32[2] LIST=3", "My.msg:1:10: expected a field: only numbers"),
        ("uint8 a 256", "My.msg:1:9: expected a value of type uint8, found `256`"),
        ("uint8 A=+-1", "My.msg:1:9: expected a value of type uint8"),
        ("int32[2] a [1]", "My.msg:1:12: expected a list of at least 2 and at most 2 values"),
        ("int32[<=1] a [1, 2]", "expected a list of at least 0 and at most 1 values"),
        ("int32[] a [1, 2", "expected `,` or `]`, found the end of the line"),
        ("string a \"open", "expected a text that ends with \""),
        ("string<=2 a \"abc\"", "expected a text of at most 2 units"),
        ("Other a 3", "expected a comment or the end of the line, found `3`"),
        ("string a \"x\" y", "expected a comment or the end of the line, found `y`"),
        ("int32 a\nfloat32 a", "My.msg:2: the name `a` was used in line 1 already"),
        ("int32 ä", "My.msg:1:7: expected the name of a field"),
        ("ä b", "My.msg:1:1: expected a type"),
    ];
    for (text, wanted) in cases {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text:?}: {error}");
    }
}

#[test]
fn a_text_that_ends_with_a_backslash_is_written_so_that_it_can_be_read() {
    let text = "string DRIVE=C:\\\nstring[] folders [a\\, \"b\\c\"]\nstring<=3 d e\\ # f\n";
    let parsed = parse(text).unwrap();
    assert_eq!(parsed.constants[0].value, Value::Text("C:\\".into()));
    let again = parse(&message_text(&parsed)).unwrap();
    assert_eq!(again.constants[0].value, parsed.constants[0].value);
    let defaults = |definition: &MessageDefinition| -> Vec<Option<Value>> {
        definition.fields.iter().map(|field| field.default.clone()).collect()
    };
    assert_eq!(defaults(&again), defaults(&parsed));
    assert!(defaults(&again).iter().all(Option::is_some));
}

#[test]
fn any_text_is_read_or_refused_without_a_panic() {
    let text =
        "string<=5[<=3] n [\"a\", 'b'] # c\nfloat64[3] p [1, -2.5, 1e3]\nuint8 H=0xff\nT/U[] x\n";
    let signs: Vec<char> = "[]<=\"'\\#/,-0aZ_ é\n".chars().collect();
    let characters: Vec<char> = text.chars().collect();
    for at in 0..characters.len() {
        for sign in &signs {
            let mut changed = characters.clone();
            changed[at] = *sign;
            let _ = parse(&changed.iter().collect::<String>());
            changed.truncate(at + 1);
            let changed = changed.iter().collect::<String>();
            let _ = parse(&changed);
            let _ = parse_merged(&TypeName::message("my_msgs", "My"), &changed);
        }
    }
}

#[test]
fn the_names_of_actions_are_read_with_and_without_their_folder() {
    let count = TypeName::action("my_msgs", "Count");
    for text in ["my_msgs/action/Count", "my_msgs/Count"] {
        assert_eq!(TypeName::parse_action(text), Some(count.clone()), "{text}");
    }
    // What belongs to an action has a `_` in its name.
    for text in ["my_msgs/msg/Count", "my_msgs/Count_Goal", "my_msgs/count", "My/Count", "Count"] {
        assert_eq!(TypeName::parse_action(text), None, "{text}");
    }
}

#[test]
fn merged_text_resolves_with_and_without_msg_in_its_names() {
    let separator = "=".repeat(80);
    let text = format!(
        "Header header\nbuiltin_interfaces/msg/Time t\n{separator}\nMSG: std_msgs/msg/Header\n\
         builtin_interfaces/Time stamp\nstring frame_id\n{separator}\n\
         MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    );
    let schema = Schema::parse("my_msgs/My", &text).unwrap();
    assert_eq!(schema.type_name(), "my_msgs/msg/My");
    assert_eq!(schema.stamp_offset(), Some(0));
    let headed = format!("{separator}\nMSG: my_msgs/My\n{text}");
    assert_eq!(Schema::parse("my_msgs/My", &headed).unwrap().type_hash(), schema.type_hash());
    let wrong = text.replace("MSG: std_msgs", "IDL: std_msgs");
    let error = Schema::parse("my_msgs/My", &wrong).unwrap_err().to_string();
    assert!(error.contains("my_msgs/msg/My:4:1: expected `MSG: package/Name`"), "{error}");
    let nameless = format!("int32 a\n{separator}\n");
    let error = Schema::parse("my_msgs/My", &nameless).unwrap_err().to_string();
    assert!(error.contains("my_msgs/msg/My:3:1: expected `MSG: package/Name`"), "{error}");
    // Writers repeat types that several others use: both are the same, whatever their comments.
    let again = |seconds: &str| {
        let again =
            format!("{text}{separator}\nMSG: builtin_interfaces/Time\n{seconds}\nuint32 nanosec\n");
        Schema::parse("my_msgs/My", &again).map_err(|error| error.to_string())
    };
    assert_eq!(again("int32 sec  # again").unwrap().type_hash(), schema.type_hash());
    let error = again("uint32 sec").unwrap_err();
    assert!(error.contains("builtin_interfaces/msg/Time") && error.contains(":13:"), "{error}");
    let missing = text.split(&separator).next().unwrap();
    let error = Schema::parse("my_msgs/My", missing).unwrap_err().to_string();
    assert!(error.contains("field `header` of my_msgs/msg/My has the type"), "{error}");
}

#[test]
fn cycles_unknown_types_and_oversized_types_are_refused_with_the_place() {
    let mut library = Library::new();
    for (name, text) in [
        ("A", "int32 x\nB b\n"),
        ("B", "C[] c\n"),
        ("C", "A[<=2] a\n"),
        ("Unknown", "\n   far_msgs/Thing thing\n"),
        ("Big", "uint8[1000000] a\nuint8[4000000000] b\n"),
        ("D0", "uint8[64][] x\n"),
    ] {
        let name = TypeName::message("my_msgs", name);
        if let Ok(definition) = parse_message(&name, "My.msg", text) {
            library.add(definition);
        }
    }
    let error = |name: &str| Schema::from_library(&library, name).unwrap_err().to_string();
    let cycle = error("my_msgs/A");
    assert!(cycle.contains("my_msgs/msg/A -> my_msgs/msg/B -> my_msgs/msg/C -> my_msgs/msg/A"));
    assert!(error("my_msgs/Unknown").starts_with("My.msg:2:4: field `thing`"));
    assert!(error("my_msgs/Big").contains("field `b` of my_msgs/msg/Big"));
    assert!(error("my_msgs/Nothing").contains("the type my_msgs/msg/Nothing is not known"));
    assert!(matches!(Schema::from_library(&library, "nonsense"), Err(SchemaError::Name { .. })));
}

#[test]
fn a_type_that_uses_very_many_others_is_made_without_a_comparison_of_each_with_each() {
    let fields: String = (0..30_000).map(|number| format!("T{number}[] f{number}\n")).collect();
    let used = (0..30_000).map(|number| format!("===\nMSG: a/T{number}\nint32 x\n"));
    let schema = Schema::parse("a/msg/Root", &(fields + &used.collect::<String>())).unwrap();
    // Each is found as what it is, whatever the order of the names.
    let layout = schema.layout();
    assert_eq!(layout.structs.len(), 30_001);
    for field in &layout.root().fields {
        let ElementLayout::Struct(index) = field.element else { panic!("{field:?}") };
        let name = field.name.replace('f', "a/msg/T");
        assert_eq!(layout.structs[index].type_name, name);
    }
    let cdr = schema.cdr_of_json(&serde_json::json!({ "f7": [{ "x": 5 }] })).unwrap();
    assert_eq!(cdr.len(), 4 + 30_000 * 4 + 4);
}

#[test]
fn types_that_explode_when_they_are_flattened_are_refused() {
    let mut library = Library::new();
    for level in 0..40 {
        let text = match level {
            0 => "string a\nstring b\n".to_owned(),
            _ => format!("L{0} a\nL{0} b\n", level - 1),
        };
        let name = TypeName::message("my_msgs", &format!("L{level}"));
        library.add(parse_message(&name, "L.msg", &text).unwrap());
    }
    let error = Schema::from_library(&library, "my_msgs/L39").unwrap_err().to_string();
    assert!(error.contains("larger than"), "{error}");
    let error = Schema::from_library(&library, "my_msgs/L18").unwrap_err().to_string();
    assert!(error.contains("conversion steps"), "{error}");
    Schema::from_library(&library, "my_msgs/L8").unwrap();
}

#[test]
fn shipped_types_are_found_by_name_and_others_are_refused_with_advice() {
    let image = Schema::shipped("sensor_msgs/Image").unwrap();
    assert_eq!(image.type_name(), "sensor_msgs/msg/Image");
    assert_eq!(image.root_bytes(), 72);
    let error = Schema::shipped("my_msgs/msg/Thing").unwrap_err().to_string();
    assert!(error.contains("neither given nor shipped"), "{error}");
}
