//! Random messages through plans: flat, into a program's message, and back.

use crate::rosidl::{LANGUAGES, Message, types};
use crate::values::random;
use crossdock_msg::{Block, FlatError, Schema};
use crossdock_test_support::Random;
use rmw_crossdock::ConvertError;
use rmw_crossdock::introspection::Language;

#[test]
fn random_messages_of_all_types_come_back_as_they_were_in_both_languages() {
    let Some(types) = types() else { return };
    let mut seed = Random::new("messages_come_back");
    assert!(types.names.len() > 80, "{} types", types.names.len());
    for name in &types.names {
        for language in LANGUAGES {
            let plan = types.plan(language, name);
            let schema = plan.schema();
            let mut message = Message::new(&plan);
            // One message in the program's memory is used again and again: it grows and shrinks.
            for _ in 0..8 {
                let (flat, cdr) = random(schema, &mut seed);
                message.take(flat.as_slice()).unwrap();
                let again = message.flat().unwrap();
                let (left, right) = (Block::new(flat.as_slice()), Block::new(again.as_slice()));
                schema.validate(right).unwrap();
                let difference = schema.first_difference(left, right).unwrap();
                assert!(difference.is_none(), "{name} in {language:?}: {difference:?}");
                assert_eq!(flat.as_slice().len(), again.as_slice().len(), "{name}");
                let mut encoded = Vec::new();
                schema.encode_cdr(right, &mut encoded).unwrap();
                assert_eq!(encoded, cdr, "{name} in {language:?}");
            }
        }
    }
}

#[test]
fn members_give_the_schema_of_the_definition() {
    let Some(types) = types() else { return };
    let mut shipped = 0;
    for name in &types.names {
        let [c, cpp] = LANGUAGES.map(|language| types.plan(language, name));
        assert_eq!(c.schema().type_hash(), cpp.schema().type_hash(), "{name}");
        assert_eq!(c.schema().definition(), cpp.schema().definition(), "{name}");
        let Ok(known) = Schema::shipped(name) else { continue };
        assert_eq!(c.schema().type_hash(), known.type_hash(), "{name}");
        assert_eq!(c.schema().layout_hash(), known.layout_hash(), "{name}");
        shipped += 1;
    }
    assert!(shipped > 60, "{shipped} types");
}

#[test]
fn a_type_is_plain_if_every_byte_has_its_place_in_both() {
    let Some(types) = types() else { return };
    for language in LANGUAGES {
        for (name, is_plain) in [
            ("geometry_msgs/msg/PoseWithCovariance", true),
            ("builtin_interfaces/msg/Time", true),
            ("test_msgs/msg/BasicTypes", true),
            ("std_msgs/msg/Empty", true),
            ("std_msgs/msg/Header", false),
            ("sensor_msgs/msg/Image", false),
            ("test_msgs/msg/Arrays", false),
        ] {
            assert_eq!(types.plan(language, name).is_plain(), is_plain, "{name} in {language:?}");
        }
    }
}

#[test]
fn padding_of_a_program_is_not_published() {
    let Some(types) = types() else { return };
    for language in LANGUAGES {
        let plan = types.plan(language, "test_msgs/msg/BasicTypes");
        // `Message::new` makes messages of C++ in memory that is not zero.
        let flat = Message::new(&plan).flat().unwrap();
        let mut used = vec![false; flat.as_slice().len()];
        for field in &plan.schema().layout().root().fields {
            let bytes = plan.schema().layout().element_bytes(field.element).0 as usize;
            used[field.offset as usize..field.offset as usize + bytes].fill(true);
        }
        assert!(used.contains(&false), "the type has padding");
        let padding = flat.as_slice().iter().zip(used).filter(|(_, used)| !used);
        assert!(padding.into_iter().all(|(byte, _)| *byte == 0), "{language:?}");
    }
}

#[test]
fn damaged_flat_messages_are_errors_and_leave_a_valid_message() {
    let Some(types) = types() else { return };
    let mut seed = Random::new("damaged");
    for name in
        ["test_msgs/msg/MultiNested", "sensor_msgs/msg/PointCloud2", "test_msgs/msg/WStrings"]
    {
        for language in LANGUAGES {
            let plan = types.plan(language, name);
            let mut message = Message::new(&plan);
            let mut refused = 0;
            for _ in 0..300 {
                let (mut flat, _) = random(plan.schema(), &mut seed);
                for _ in 0..=seed.below(8) {
                    let at = seed.below(flat.as_slice().len() as u64) as usize;
                    flat.as_mut_slice()[at] = seed.next() as u8;
                }
                match message.take(flat.as_slice()) {
                    Ok(()) => assert!(message.flat().is_ok()),
                    Err(ConvertError::Flat(_)) => refused += 1,
                    Err(other) => panic!("{name} in {language:?}: {other}"),
                }
            }
            assert!(refused > 10, "{name} in {language:?}: {refused}");
            let (flat, _) = random(plan.schema(), &mut seed);
            message.take(flat.as_slice()).unwrap();
        }
    }
}

#[test]
fn bools_of_a_program_are_0_or_1_whatever_a_publisher_wrote() {
    let Some(types) = types() else { return };
    for language in LANGUAGES {
        let plan = types.plan(language, "test_msgs/msg/BasicTypes");
        let mut flat = Message::new(&plan).flat().unwrap();
        let field = &plan.schema().layout().root().fields[0];
        assert_eq!(field.name, "bool_value");
        flat.as_mut_slice()[field.offset as usize] = 170;
        let mut message = Message::new(&plan);
        message.take(flat.as_slice()).unwrap();
        assert_eq!(message.flat().unwrap().as_slice()[field.offset as usize], 1);
    }
}

#[test]
fn a_sequence_above_its_bound_is_an_error_both_ways() {
    let Some(types) = types() else { return };
    // Structs of C do not enforce bounds: the type without them has the same members.
    let unbounded = types.plan(Language::C, "test_msgs/msg/UnboundedSequences");
    let bounded = types.plan(Language::C, "test_msgs/msg/BoundedSequences");
    assert_eq!(unbounded.message_bytes(), bounded.message_bytes());
    let value = serde_json::json!({ "int16_values": [1, 2, 3, 4, 5, 6, 7] });
    let cdr = unbounded.schema().cdr_of_json(&value).unwrap();
    let flat = crate::values::flat_of_cdr(unbounded.schema(), &cdr);
    let mut message = Message::new(&unbounded);
    message.take(flat.as_slice()).unwrap();
    // SAFETY: the two structs have the same layout.
    let error = unsafe { bounded.flat_bytes(message.at()) }.unwrap_err();
    assert_eq!(error, ConvertError::OverBound { length: 7, bound: 3 });
    let mut message = Message::new(&bounded);
    let error = message.take(flat.as_slice()).unwrap_err();
    assert!(matches!(error, ConvertError::Flat(FlatError::OverBound { length: 7, bound: 3, .. })));
}

#[test]
fn too_little_room_is_an_error_that_names_it() {
    let Some(types) = types() else { return };
    for language in LANGUAGES {
        let plan = types.plan(language, "std_msgs/msg/String");
        let cdr = plan.schema().cdr_of_json(&serde_json::json!({ "data": "text" })).unwrap();
        let mut message = Message::new(&plan);
        message.take(crate::values::flat_of_cdr(plan.schema(), &cdr).as_slice()).unwrap();
        for room in [0, 15, 20] {
            let mut memory = vec![0; room];
            // SAFETY: an initialised message of the plan's type.
            let error = unsafe { plan.write(message.at(), &mut memory) }.unwrap_err();
            assert!(matches!(error, ConvertError::Room { room: of, .. } if of == room), "{error}");
        }
    }
}
