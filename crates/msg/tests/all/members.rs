//! Types that are given by their members.

use crate::common;
use common::files;
use crossdock_msg::definition::{
    Element, FieldType, MessageDefinition, Primitive, Shape, TypeName, parse_message,
};
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_msg::types::std_srvs::srv::Trigger;
use crossdock_msg::{Member, Schema, SchemaError, Service, ServiceSchema, TypeMembers};

fn members(definition: &MessageDefinition) -> TypeMembers {
    let member = |field: &crossdock_msg::definition::Field| Member {
        name: field.name.clone(),
        field_type: field.field_type.clone(),
    };
    let members = definition.fields.iter().map(member).collect();
    TypeMembers { type_name: definition.type_name.clone(), members }
}

fn number(name: &str, primitive: Primitive) -> Member {
    let field_type = FieldType { element: Element::Primitive(primitive), shape: Shape::One };
    Member { name: name.to_owned(), field_type }
}

#[test]
fn every_type_of_the_corpus_made_of_its_members_has_its_hash_and_a_text_that_reads_back() {
    let Some(data) = crossdock_test_support::data() else { return };
    let library = common::library(&data);
    let all: Vec<TypeMembers> = library.iter().map(members).collect();
    let mut made = 0;
    for file in files(&data.join("interfaces"), "msg") {
        let package = file.parent().unwrap().parent().unwrap().file_name().unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let name = TypeName::message(package.to_str().unwrap(), stem);
        let Ok(of_text) = Schema::from_library(&library, &name.to_string()) else { continue };
        let root = all.iter().find(|it| it.type_name == name).unwrap();
        let of_members = Schema::from_members(root, &all).unwrap();
        assert_eq!(of_members.type_hash(), of_text.type_hash(), "{name}");
        assert_eq!(of_members.layout_hash(), of_text.layout_hash(), "{name}");
        let again = Schema::parse(&name.to_string(), of_members.definition()).unwrap();
        assert_eq!(again.type_hash(), of_text.type_hash(), "{name}");
        made += 1;
    }
    assert!(made > 100, "{made} types");
}

#[test]
fn services_of_members_hash_as_those_of_texts() {
    let message = |name: &TypeName, members| TypeMembers { type_name: name.clone(), members };
    let name = TypeName::service("example_interfaces", "AddTwoInts");
    let request = vec![number("a", Primitive::Int64), number("b", Primitive::Int64)];
    let (request, response) = (
        message(&name.request(), request),
        message(&name.response(), vec![number("sum", Primitive::Int64)]),
    );
    let made = ServiceSchema::from_members(AddTwoInts::TYPE_NAME, [&request, &response], &[]);
    assert_eq!(made.unwrap().type_hash(), AddTwoInts::TYPE_HASH);
    let swapped = ServiceSchema::from_members(AddTwoInts::TYPE_NAME, [&response, &request], &[]);
    assert!(matches!(swapped, Err(SchemaError::ServiceName { .. })));
    // A message without fields, as ROS 2's generators describe it.
    let name = TypeName::service("std_srvs", "Trigger");
    let empty = number("structure_needs_at_least_one_member", Primitive::Uint8);
    let text = FieldType { element: Element::Text { bound: None }, shape: Shape::One };
    let text = Member { name: "message".to_owned(), field_type: text };
    let request = message(&name.request(), vec![empty]);
    let response = message(&name.response(), vec![number("success", Primitive::Bool), text]);
    let made = ServiceSchema::from_members(Trigger::TYPE_NAME, [&request, &response], &[]);
    assert_eq!(made.unwrap().type_hash(), Trigger::TYPE_HASH);
}

#[test]
fn members_that_no_text_can_have_are_refused() {
    let refused = |name: &str| {
        let type_name = TypeName::message("a_msgs", "T");
        let members = vec![number("good", Primitive::Uint8), number(name, Primitive::Int32)];
        Schema::from_members(&TypeMembers { type_name, members }, &[]).unwrap_err().to_string()
    };
    for name in ["", "Upper", "a b", "a\nint8 c", "x # y", "x=3", "X=3", "good", "9x"] {
        let error = refused(name);
        assert!(error.contains("a_msgs/msg/T") || error.contains("line"), "{name:?}: {error}");
    }
    let unknown = TypeName::message("b_msgs", "Missing");
    let field_type = FieldType { element: Element::Message(unknown), shape: Shape::One };
    let members = vec![Member { name: "part".to_owned(), field_type }];
    let root = TypeMembers { type_name: TypeName::message("a_msgs", "T"), members };
    assert!(matches!(Schema::from_members(&root, &[]), Err(SchemaError::Resolve(_))));
    let text = parse_message(&root.type_name, "T.msg", "b_msgs/Missing part").unwrap();
    assert_eq!(members_of(&text), root.members);
}

fn members_of(definition: &MessageDefinition) -> Vec<Member> {
    members(definition).members
}
