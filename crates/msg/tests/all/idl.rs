//! `.idl` files: what is read of them, what is refused and how the error says so.

use crossdock_msg::Schema;
use crossdock_msg::definition::{
    DefinitionError, Element, IdlFile, Primitive, Shape, TypeName, Value, parse_idl,
};
use crossdock_msg::resolve::Library;

fn parse(body: &str) -> Result<IdlFile, String> {
    let text = format!("module my_msgs {{\n module msg {{\n{body}\n }};\n}};\n");
    parse_idl("My.idl", &text).map_err(|error| error.to_string())
}

/// A file of all that interfaces have.
const WHOLE: &str = "typedef double double__3[3];
module My_Constants {
  @verbatim (language=\"comment\", text=\"How \" \"many.\")
  const unsigned long COUNT = 0x10;
  const string NAME = \"a\\tb\" \"c\";
  const double TURN = -1.5e-3;
  const boolean ON = TRUE;
  const short LEAST = -COUNT;
  const double SAME = COUNT;
  const double BACK = -TURN;
};
@verbatim (language=\"comment\", text=\"Of my own.\")
@extensibility(FINAL)
struct My { // a comment
  @default (value=-7) short a, b;
  @unit(value=\"m\") string<COUNT> name;
  sequence<wstring<4>, 5> wides; /* another
  comment */
  double__3 turns;
  geometry_msgs::msg::Point points[2];
  msg::Other other;
  @default (value=\"(1, 2)\") sequence<octet> bytes;
  unsigned long long big;
  char letter;
  wchar wide;
  long double exact;
};
struct Other { uint8 structure_needs_at_least_one_member; };";

#[test]
fn types_bounds_typedefs_constants_and_annotations_are_read() {
    let file = parse(WHOLE).unwrap();
    let [mine, other] = file.messages.as_slice() else { panic!("{file:?}") };
    assert_eq!(mine.type_name, TypeName::message("my_msgs", "My"));
    assert_eq!(mine.documentation, "Of my own.");
    let constants: Vec<_> = mine.constants.iter().map(|it| (it.name.as_str(), &it.value)).collect();
    assert_eq!(
        constants,
        [
            ("COUNT", &Value::Integer(16)),
            ("NAME", &Value::Text("a\tbc".to_owned())),
            ("TURN", &Value::Float(-1.5e-3)),
            ("ON", &Value::Bool(true)),
            ("LEAST", &Value::Integer(-16)),
            ("SAME", &Value::Float(16.0)),
            ("BACK", &Value::Float(1.5e-3)),
        ]
    );
    assert_eq!(mine.constants[0].documentation, "How many.");
    let field = |name: &str| mine.fields.iter().find(|field| field.name == name).unwrap();
    assert_eq!(field("b").default, Some(Value::Integer(-7)));
    assert_eq!(field("name").field_type.element, Element::Text { bound: Some(16) });
    assert_eq!(field("wides").field_type.shape, Shape::Sequence { bound: Some(5) });
    assert_eq!(field("turns").field_type.shape, Shape::Array(3));
    assert_eq!(
        field("points").field_type.element,
        Element::Message(TypeName::message("geometry_msgs", "Point"))
    );
    assert_eq!(
        field("other").field_type.element,
        Element::Message(TypeName::message("my_msgs", "Other"))
    );
    let list = Value::List(vec![Value::Integer(1), Value::Integer(2)]);
    assert_eq!(field("bytes").default, Some(list));
    assert_eq!(field("big").field_type.element, Element::Primitive(Primitive::Uint64));
    assert_eq!(field("exact").field_type.element, Element::Primitive(Primitive::Float128));
    assert!(other.fields.is_empty(), "ROS 2's place-holder is no field");
}

#[test]
fn a_field_and_a_constant_of_one_name_are_refused_with_both_lines() {
    let text = "module m { module msg {
        module A_Constants { const short S = 1; };
        struct A { short S; }; }; };";
    let error = parse_idl("x.idl", text).unwrap_err();
    let found = matches!(error, DefinitionError::Duplicate { line: 3, first_line: 2, .. });
    assert!(found, "{error}");
}

#[test]
fn services_and_actions_are_put_together_of_their_parts() {
    let text = "module m { module srv { struct A_Request { long a; }; struct A_Response { }; };
        module action { struct B_Goal { long a; }; struct B_Result { }; struct B_Feedback { }; }; };";
    let file = parse_idl("x.idl", text).unwrap();
    assert!(file.messages.is_empty());
    assert_eq!(file.services[0].type_name.to_string(), "m/srv/A");
    assert_eq!(file.actions[0].type_name.to_string(), "m/action/B");
    let mut library = Library::new();
    library.add_idl(file);
    for name in ["m/srv/A_Event", "m/action/B_GetResult_Response", "m/action/B_FeedbackMessage"] {
        Schema::from_library(&library, name).unwrap();
    }
}

#[test]
fn types_that_only_idl_has_survive_their_merged_text() {
    let file = parse(
        "struct Odd { char c; wchar w; long double f; sequence<long double, 3> more; long camelCase;
        @default (value=\"two\\nlines\") string text; };",
    );
    let mut library = Library::new();
    library.add_idl(file.unwrap());
    let schema = Schema::from_library(&library, "my_msgs/msg/Odd").unwrap();
    let again = Schema::parse("my_msgs/msg/Odd", schema.definition()).unwrap();
    assert_eq!(again.type_hash(), schema.type_hash());
    assert_eq!(again.layout_hash(), schema.layout_hash());
    // A definition has no place for a text of two lines.
    assert!(!schema.definition().contains("two"), "{}", schema.definition());
    let value = serde_json::json!({
        "c": 65, "w": 0x20ac, "f": -1.5, "more": [0.25, 3.0], "camelCase": 7, "text": "it",
    });
    let cdr = schema.cdr_of_json(&value).unwrap();
    let mut flat = crossdock_msg::FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).unwrap());
    schema.decode_cdr(&cdr, flat.as_mut_slice()).unwrap();
    let block = crossdock_msg::Block::new(flat.as_slice());
    schema.validate(block).unwrap();
    assert_eq!(schema.to_json(block).unwrap(), value);
    let mut encoded = Vec::new();
    schema.encode_cdr(block, &mut encoded).unwrap();
    assert_eq!(encoded, cdr);
}

/// A file of its own in a merged text.
fn file(name: &str, text: &str) -> String {
    format!("{}\nIDL: {name}\n{text}\n", "=".repeat(80))
}

#[test]
fn types_are_made_of_the_merged_idl_texts_that_recordings_carry() {
    let odd = "#include \"my_msgs/msg/Pair.idl\"\nmodule my_msgs { module msg {\n\
               module Odd_Constants { const short MOST = 3; };\n\
               /* a comment\n=====\nwith a line */\n\
               struct Odd { my_msgs::msg::Pair pair; sequence<my_msgs::msg::Pair, 3> more; }; }; };";
    let pair =
        "module my_msgs { module msg { typedef double two[2]; struct Pair { two at; }; }; };";
    let merged = file("my_msgs/msg/Odd", odd) + &file("my_msgs/msg/Pair", pair);
    let schema = Schema::parse_idl("my_msgs/msg/Odd", &merged).unwrap();
    let of_msg = "int16 MOST=3\nPair pair\nPair[<=3] more\n===\nMSG: my_msgs/Pair\nfloat64[2] at\n";
    let same = Schema::parse("my_msgs/msg/Odd", of_msg).unwrap();
    assert_eq!(schema.type_hash(), same.type_hash());
    assert_eq!(schema.layout_hash(), same.layout_hash());
    let again = Schema::parse("my_msgs/msg/Odd", schema.definition()).unwrap();
    assert_eq!(again.type_hash(), same.type_hash());
    assert!(schema.definition().contains("MOST"), "{}", schema.definition());
    // The first file may have no head, and a service stands for the types of its events.
    let headless = format!("{odd}\n{}", file("my_msgs/msg/Pair", pair));
    let schema = Schema::parse_idl("my_msgs/msg/Odd", &headless).unwrap();
    assert_eq!(schema.type_hash(), same.type_hash());
    let service =
        "module m { module srv { struct A_Request { long a; }; struct A_Response { }; }; };";
    let merged = file("m/srv/A", service);
    let event = Schema::parse_idl("m/srv/A_Event", &merged).unwrap();
    assert!(event.definition().contains("A_Request[<=1] request"), "{}", event.definition());
}

#[test]
fn errors_in_merged_idl_texts_name_the_line_there() {
    let pair = "module my_msgs { module msg {\n  struct Pair { two at; };\n}; };";
    let odd = "module my_msgs { module msg { struct Odd { my_msgs::msg::Pair pair; }; }; };";
    let merged = file("my_msgs/msg/Odd", odd) + &file("my_msgs/msg/Pair", pair);
    let error = Schema::parse_idl("my_msgs/msg/Odd", &merged).unwrap_err().to_string();
    assert!(error.contains("my_msgs/msg/Odd:7:"), "{error}");
    let error = Schema::parse_idl("my_msgs/msg/Odd", &file("my_msgs/msg/Odd", odd)).unwrap_err();
    assert!(error.to_string().contains("my_msgs/msg/Pair, which is not known"), "{error}");
    let error = Schema::parse_idl("my_msgs/msg/Even", &merged.replace("two", "long")).unwrap_err();
    assert!(error.to_string().contains("my_msgs/msg/Even is not known"), "{error}");
}

#[test]
fn a_text_that_ends_too_early_is_refused_wherever_it_ends() {
    let text = format!("module my_msgs {{ module msg {{ {WHOLE} }}; }};");
    parse_idl("My.idl", &text).unwrap();
    for end in 1..text.len() - 1 {
        let Err(error) = parse_idl("My.idl", &text[..end]) else { panic!("{}", &text[..end]) };
        assert!(error.to_string().starts_with("My.idl:"), "{error}");
    }
}

#[test]
fn a_long_idl_text_takes_time_in_proportion_to_its_length() {
    // A struct with very many members, and very many structs beside as many constants: each is
    // looked up, none is compared with all others.
    let members: String = (0..60_000).map(|number| format!("long a{number};")).collect();
    let structs: String = (0..40_000).map(|number| format!("struct A{number}{{}};")).collect();
    let constants: String = (0..40_000).map(|number| format!("const long C{number}=1;")).collect();
    let text = format!(
        "module m {{ module msg {{ module B_Constants {{ {constants} }}; struct B {{ {members} }}; \
         {structs} }}; }};"
    );
    let file = parse_idl("x.idl", &text).unwrap();
    let long = file.messages.iter().find(|it| it.type_name.name() == "B").unwrap();
    assert_eq!((long.fields.len(), long.constants.len()), (60_000, 40_000));
    assert_eq!(long.constants[39_999].name, "C39999");
    assert_eq!(file.messages.len(), 40_001);
}

#[test]
fn what_ros_2_interfaces_do_not_have_is_refused_with_its_place() {
    for (body, wanted) in [
        ("struct A { long a; long a; };", "My.idl:3: the name `a` was used in line 3 already"),
        ("struct A { any x; };", "My.idl:3:12: expected a type"),
        ("struct A { sequence<sequence<long>> x; };", "no sequences of sequences"),
        ("struct A { long x[2][3]; };", "no arrays of arrays"),
        ("struct A { long x[0]; };", "the length of an array from 1"),
        ("struct A { string<N> x; };", "the bound of a text from 1"),
        ("union A { };", "My.idl:3:1: expected `module`, `const`, `typedef` or `struct`"),
        ("const short A = 40000;", "a value of type int16"),
        ("const long A = 0x1e-1;", "expected `;`, found `-`"),
        ("const char A = \"ab\";", "a value of type"),
        ("const char A = \"\u{20ac}\";", "a value of type"),
        ("const A_Type A = 1;", "the type of a constant"),
        ("const boolean A = TRUE; const boolean B = -A;", "expected a value of type bool"),
        ("struct A { long x }; ", "expected `;`, found `}`"),
        ("struct A { long __a; };", "My.idl:3:17: expected the name of a member (a letter, then"),
        ("const long _A = 1;", "expected the name of a constant (a letter, then"),
        ("struct A { string x", "found `}`"),
        ("struct lower { long x; };", "a struct like `Name`"),
        ("const string A = \"open;", "a text that ends with \""),
        ("/* open", "`*/` at the end"),
        ("%", "a word, a number, a text or a mark"),
    ] {
        let error = parse(body).unwrap_err();
        assert!(error.contains(wanted), "{body}: {error}");
    }
    let deep = "module a { ".repeat(100);
    assert!(parse_idl("x.idl", &deep).unwrap_err().to_string().contains("at most 8 modules"));
}
