//! Graph, mapping and parameter files: what is refused, with which words.

use crate::support;
use crossdock_graph::{Graph, Mapping, ParameterOverrides, Violation, ViolationKind};
use support::*;

fn refused(text: impl AsRef<[u8]>) -> Vec<Violation> {
    Graph::from_yaml("g.yaml", text.as_ref()).unwrap_err()
}

#[test]
fn an_error_is_one_line_with_position_node_and_advice() {
    let text = course_with("    parameters: { clip_percent: 1.0 }", "    paramters: {}");
    assert_eq!(
        refused(&text)[0].to_string(),
        "g.yaml:22:5: node `compensation`: a node has no key `paramters`; did you mean \
         `parameters`? its keys are `package`, `type`, `namespace`, `inputs`, `outputs`, `clients`, \
         `servers`, `condition`, `timers`, `lockstep` and 4 more"
    );
    let json = serde_json::to_value(&refused(&text)[0]).unwrap();
    assert_eq!((&json["kind"], &json["line"]), (&"unknown_key".into(), &22.into()));
    let back: Violation = serde_json::from_value(json).unwrap();
    assert_eq!(back, refused(&text)[0]);
}

#[test]
fn all_errors_of_a_file_are_found_in_one_go_and_in_file_order() {
    let text = COURSE
        .replace("depth: 4", "depth: 0")
        .replace("rate_hz: 15", "rate_hz: -1")
        .replace("type: polyfit\n", "typ: polyfit\n")
        .replace("to: /cmd_vel", "to: cmd_vel/");
    let violations = refused(text);
    let found: Vec<_> = violations.iter().map(|v| (v.kind, v.place.unwrap().line)).collect();
    let wanted = [
        (ViolationKind::OutOfRange, 7),
        (ViolationKind::OutOfRange, 14),
        (ViolationKind::MissingKey, 35),
        (ViolationKind::UnknownKey, 36),
        (ViolationKind::InvalidName, 63),
    ];
    assert_eq!(found, wanted, "{violations:#?}");
    assert_eq!(violations[0].topic.as_deref(), Some("/camera/image_raw"));
    assert_eq!(violations[1].node.as_deref(), Some("simulator"));
}

#[test]
fn names_twice_are_refused_with_the_first_place() {
    let violations = refused(course_with("  polyfit:\n", "  blur:\n"));
    let v = only(&violations, ViolationKind::Duplicate);
    assert!(v.message.contains("`blur` is here twice, first on line 23"), "{v}");
    only(&refused("crossdock: 1\ncrossdock: 1\nname: a\n"), ViolationKind::Duplicate);
}

#[test]
fn text_that_is_not_utf8_is_refused_with_the_place() {
    let v = only(&refused(b"crossdock: 1\nname: \xff\n"), ViolationKind::Syntax);
    assert_eq!((v.place.unwrap().line, v.place.unwrap().column), (2, 7));
    assert!(v.message.contains("not UTF-8"), "{v}");
}

#[test]
fn a_byte_order_mark_is_no_error() {
    Graph::from_yaml("g", format!("\u{feff}{COURSE}").as_bytes()).unwrap();
}

#[test]
fn text_that_is_not_yaml_is_refused_with_the_place() {
    let v = only(&refused("crossdock: 1\nname: {a\nnodes: 3\n"), ViolationKind::Syntax);
    assert!(v.message.starts_with("not YAML") && v.place.is_some(), "{v}");
    only(&refused(""), ViolationKind::Syntax);
    only(&refused("# nothing\n"), ViolationKind::Syntax);
    let v = only(&refused(format!("{COURSE}---\n{COURSE}")), ViolationKind::Syntax);
    assert!(v.message.contains("second YAML document"), "{v}");
    only(&refused(course_with("clip_percent: 1.0", "? [a] : b")), ViolationKind::Syntax);
    only(
        &refused(course_with("clip_percent: 1.0", "clip_percent: !!int 1")),
        ViolationKind::Syntax,
    );
}

#[test]
fn a_yaml_bomb_is_refused_before_it_unfolds() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (now, before) in ["b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        bomb += &format!(
            "{now}: &{now} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}]\n"
        );
    }
    let v = only(&refused(&bomb), ViolationKind::Syntax);
    assert!(v.message.contains("anchors"), "{v}");
    assert!(only(&refused("a: *b\n"), ViolationKind::Syntax).message.len() < 200);
}

#[test]
fn huge_and_deep_files_are_refused_quickly() {
    only(&refused(vec![b' '; 2 << 20]), ViolationKind::Limit);
    let kinds = |text: String| refused(text)[0].kind;
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(kinds(nested(100)), ViolationKind::Limit);
    let refused_at_all = |text: String| !refused(text).is_empty();
    assert!(refused_at_all(nested(100_000)));
    assert!(refused_at_all("[".repeat(1 << 20)));
    assert!(refused_at_all("{".repeat(1 << 20)));
    assert!(refused_at_all("a: {b: ".repeat(1 << 17)));
    let deep: String = (0..200).map(|depth| format!("{:depth$}a:\n", "")).collect();
    assert_eq!(kinds(deep), ViolationKind::Limit);
    assert_eq!(kinds(format!("nodes: [{}]", "a,".repeat(200_000))), ViolationKind::Limit);
    assert_eq!(kinds("- ".repeat(1 << 19)), ViolationKind::Limit);
    assert!(refused("a".repeat(1 << 20)).len() == 1);
    assert!(refused("?".repeat(1 << 20)).len() <= 2);
    assert!(!refused("!".repeat(1 << 20)).is_empty());
    assert!(!refused("a: \"".to_owned() + &"\\\"".repeat(1 << 18)).is_empty());
}

#[test]
fn many_errors_are_cut_off() {
    let nodes: String = (0..5000).map(|n| format!("  n{n}: {{ pack: a }}\n")).collect();
    let violations = refused(format!("crossdock: 1\nname: a\nnodes:\n{nodes}"));
    assert_eq!(violations.len(), crossdock_graph::limits::VIOLATIONS_MAX);
}

#[test]
fn numbers_that_are_not_finite_are_refused_as_parameters() {
    for value in [".nan", ".inf", "[1.0, .inf]", "99999999999999999999"] {
        let text = course_with("clip_percent: 1.0", &format!("clip_percent: {value}"));
        only(&refused(text), ViolationKind::WrongValue);
    }
}

#[test]
fn mapping_and_parameter_files_have_the_same_quality_of_errors() {
    let text =
        b"crossdock: 1\nprocesses:\n  a:\n    executors:\n      - { mod: chain, nodes: [x] }\n";
    let violations = Mapping::from_yaml("m.yaml", text).unwrap_err();
    assert_eq!(violations[0].place.unwrap().line, 5);
    assert!(only(&violations, ViolationKind::UnknownKey).advice.contains("did you mean `mode`?"));
    let text = b"crossdock: 1\nnodes:\n  blur:\n    gain: {}\n    gain: 2\n  1x: 3\n";
    let violations = ParameterOverrides::from_yaml("p.yaml", text).unwrap_err();
    let kinds: Vec<_> = violations.iter().map(|v| v.kind).collect();
    let wanted = [
        ViolationKind::WrongValue,
        ViolationKind::Duplicate,
        ViolationKind::InvalidName,
        ViolationKind::WrongValue,
    ];
    assert_eq!(kinds, wanted, "{violations:#?}");
}

#[test]
fn default_mappings_and_their_text_read_back() {
    for mapping in
        [Mapping::one_chain_per_package(&course()), Mapping::one_process_per_node(&course())]
    {
        let read = Mapping::from_yaml("m", mapping.to_yaml().as_bytes()).unwrap();
        assert_eq!(read.without_source(), mapping);
    }
}
