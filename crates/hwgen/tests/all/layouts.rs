//! The canonical order of payloads, held against types that use all of it.

use crossdock_hwgen::layout::{ElementCount, FieldPlace, LayoutFault, PayloadLayout};
use crossdock_msg::Schema;
use crossdock_msg::frame::{FramePlan, FramePlanError};
use std::collections::BTreeMap;

fn layout(
    name: &str,
    text: &str,
    bounds: &[(&str, u32)],
) -> Result<PayloadLayout, Vec<LayoutFault>> {
    let schema = Schema::parse(name, text).unwrap();
    let bounds: BTreeMap<String, u32> =
        bounds.iter().map(|(path, bound)| ((*path).to_owned(), *bound)).collect();
    PayloadLayout::new(schema.layout(), schema.type_hash().to_string(), &bounds)
}

#[test]
fn a_type_of_one_length_lies_as_in_the_flat_layout() {
    let text = "uint8 a\nfloat64 b\nuint16[3] c\np/Pair[2] pairs\n\
                ================================================================================\n\
                MSG: p/Pair\nint32 x\nuint8 y\n";
    let found = layout("p/msg/All", text, &[]).unwrap();
    let schema = Schema::parse("p/msg/All", text).unwrap();
    assert!(found.fixed);
    assert_eq!(found.payload_bytes_max, schema.root_bytes() as u64);
    for field in &schema.layout().root().fields {
        let same = found.fields.iter().find(|it| it.path == field.name).unwrap();
        assert_eq!(same.place, FieldPlace::Offset(u64::from(field.offset)), "{}", field.name);
    }
}

#[test]
fn data_of_sequences_begin_at_multiples_of_eight_and_later_fields_are_aligned() {
    let text = "uint8 a\nstring name\nuint16 b\nfloat64[<=3] values\nuint8 c\n";
    let found = layout("p/msg/Some", text, &[("name", 5)]).unwrap();
    let place = |path: &str| found.fields.iter().find(|it| it.path == path).unwrap().place;
    assert_eq!(place("name"), FieldPlace::Offset(4));
    assert_eq!(place("b"), FieldPlace::Aligned(2));
    assert_eq!(place("values"), FieldPlace::Aligned(4));
    // a, length of name at 4, its 5 bytes from 8, b at 14, length of values at 16, data from 24 to
    // 48, c.
    assert_eq!(found.payload_bytes_max, 49);
    assert!(!found.fixed);
}

#[test]
fn items_of_varying_length_begin_at_multiples_of_eight() {
    let text = "p/Named[<=2] items\n\
                ================================================================================\n\
                MSG: p/Named\nuint8 id\nstring[<=3] names\n";
    let found = layout("p/msg/Names", text, &[("items.names", 2)]).unwrap_err();
    assert_eq!(found, [LayoutFault::Unbounded(vec!["items.names.element".to_owned()])]);
    let text = text.replace("string[<=3]", "string<=6[<=3]");
    let found = layout("p/msg/Names", &text, &[("items.names", 2)]).unwrap();
    let names = found.fields.iter().find(|it| it.path == "items[].names").unwrap();
    assert_eq!((names.place, names.count), (FieldPlace::Offset(4), ElementCount::Bounded(2)));
    // Item: id, length at 4, texts from 8: 8 + 6, then at 24 8 + 6 again: 38. Second item at 48 of
    // the first one's: 8 + 40 + 38.
    assert_eq!(found.payload_bytes_max, 8 + 40 + 38);
}

#[test]
fn a_nested_message_aligns_its_first_field_and_the_one_behind_it() {
    let text = "string<=3 name\np/Pair pair\nuint8 c\nuint8 d\n\
                ================================================================================\n\
                MSG: p/Pair\nuint8 x\nfloat64 y\nuint8 z\n";
    let found = layout("p/msg/All", text, &[]).unwrap();
    let place = |path: &str| found.fields.iter().find(|it| it.path == path).unwrap().place;
    assert_eq!(place("pair.x"), FieldPlace::Aligned(8));
    assert_eq!(place("pair.z"), FieldPlace::Aligned(1));
    assert_eq!((place("c"), place("d")), (FieldPlace::Aligned(8), FieldPlace::Aligned(1)));
}

#[test]
fn bounds_that_cannot_be_are_told() {
    let fault = |bounds: &[(&str, u32)]| layout("p/msg/One", "string<=4 a\nuint8[] b\n", bounds);
    let above = LayoutFault::AboveType { path: "a".to_owned(), bound: 4 };
    assert_eq!(fault(&[("a", 5), ("b", 1)]), Err(vec![above]));
    let known = vec!["a".to_owned(), "b".to_owned()];
    let unknown = LayoutFault::UnknownField { path: "c".to_owned(), known };
    assert_eq!(fault(&[("b", 1), ("c", 1)]), Err(vec![unknown]));
    let many = layout("p/msg/One", "uint64[] b\n", &[("b", 1 << 30)]);
    assert_eq!(many, Err(vec![LayoutFault::TooLarge]));
}

#[test]
fn hardware_and_software_agree_on_the_longest_message_of_every_type() {
    for (name, text) in crossdock_msg::types::ALL {
        let schema = Schema::parse(name, text).unwrap();
        let bounds = match FramePlan::new(&schema, &BTreeMap::new()) {
            Err(FramePlanError::Unbounded { fields, .. }) => {
                fields.into_iter().zip(3..).collect::<BTreeMap<_, _>>()
            }
            _ => BTreeMap::new(),
        };
        let plan = FramePlan::new(&schema, &bounds).unwrap();
        let found = PayloadLayout::new(schema.layout(), String::new(), &bounds).unwrap();
        assert_eq!(found.payload_bytes_max, plan.payload_bytes_max(), "{name}");
        assert_eq!(found.fixed, plan.is_fixed(), "{name}");
    }
}
