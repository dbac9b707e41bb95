//! Services: `.srv` files, type hashes of others, generated types, and the parser under random
//! text.

use crate::common;
use common::files;
use crossdock_msg::definition::{DefinitionError, TypeName, parse_service, service_text};
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_msg::types::{nav_msgs, std_srvs};
use crossdock_msg::{
    Block, BlockMut, Extra, FlatBuffer, Message, Schema, Service, ServiceSchema, TypeHash,
};
use proptest::prelude::*;

fn service(text: &str) -> Result<crossdock_msg::definition::ServiceDefinition, DefinitionError> {
    parse_service(&TypeName::service("a_srvs", "Do"), "Do.srv", text)
}

#[test]
fn a_service_hashes_as_ros_2_publishes_it() {
    // The first from the design document of rmw_zenoh, which prints the key of this service; the
    // others are what tools of others print for Jazzy's definitions.
    let published = [
        (AddTwoInts::TYPE_NAME, "e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a"),
        ("std_srvs/Empty", "5888399dedec5ccc85ea6451949fd2c9f97bfdf963f9a588821639fcd31b5d19"),
        ("std_srvs/SetBool", "abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a"),
        ("std_srvs/Trigger", "eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f"),
        (
            "sensor_msgs/SetCameraInfo",
            "a10cca5d33dc637c8d49db50ab288701a3592bb9cd854f2f16a0659613b68984",
        ),
    ];
    for (name, hash) in published {
        let hash = format!("RIHS01_{hash}").parse::<TypeHash>().unwrap();
        assert_eq!(ServiceSchema::shipped(name).unwrap().type_hash(), hash, "{name}");
    }
    let shipped = ServiceSchema::shipped("example_interfaces/AddTwoInts").unwrap();
    assert_eq!(shipped.type_name(), "example_interfaces/srv/AddTwoInts");
    assert_eq!(shipped.type_hash(), AddTwoInts::TYPE_HASH);
    assert_eq!(shipped.request().type_hash(), <AddTwoInts as Service>::Request::TYPE_HASH);
}

#[test]
fn every_srv_file_of_the_corpus_parses_reads_back_and_resolves() {
    let Some(data) = crossdock_test_support::data() else { return };
    let mut library = common::library(&data);
    let found = files(&data.join("interfaces"), "srv");
    assert_eq!(found.len(), 35);
    let mut names = Vec::new();
    for file in found {
        let package = file.parent().unwrap().parent().unwrap().file_name().unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let name = TypeName::service(package.to_str().unwrap(), stem);
        let text = std::fs::read_to_string(&file).unwrap();
        let parsed = parse_service(&name, "", &text).unwrap();
        let again = parse_service(&name, "", &service_text(&parsed)).unwrap();
        assert_eq!(service_text(&again), service_text(&parsed), "{name}");
        library.add_service(parsed);
        names.push(name.to_string());
    }
    for name in &names {
        let schema = ServiceSchema::from_library(&library, name).unwrap();
        assert_eq!(schema.type_name(), name);
        assert!(schema.request().type_name().ends_with("_Request"));
        if let Ok(shipped) = ServiceSchema::shipped(name) {
            assert_eq!(shipped.type_hash(), schema.type_hash(), "{name}");
            assert_eq!(shipped.response().layout_hash(), schema.response().layout_hash());
        }
    }
}

#[test]
fn a_text_without_exactly_one_separator_is_refused_with_its_place() {
    let missing = service("int32 a\n").unwrap_err().to_string();
    assert!(missing.contains("Do.srv:1:1: expected a line `---`"), "{missing}");
    let action = service("---\n\n---\n").unwrap_err().to_string();
    assert!(action.contains("Do.srv:3:1") && action.contains("action"), "{action}");
    let wrong = service("int32 a\n---\nbool ok\nint32 Wrong\n").unwrap_err().to_string();
    assert!(wrong.contains("Do.srv:4:7"), "{wrong}");
    // A name may stand in both halves, once in each.
    assert!(service("int32 a\n---\nint32 a\n").is_ok());
    let twice = service("---\nint32 a\nint32 a\n").unwrap_err();
    assert!(matches!(twice, DefinitionError::Duplicate { line: 3, first_line: 2, .. }), "{twice}");
}

#[test]
fn names_of_services_are_told_from_those_of_messages() {
    let name = TypeName::parse_service("std_srvs/SetBool").unwrap();
    assert_eq!(name.to_string(), "std_srvs/srv/SetBool");
    assert_eq!(name.request().to_string(), "std_srvs/srv/SetBool_Request");
    for wrong in ["std_srvs/msg/SetBool", "SetBool", "a/srv/B_Request", "A/srv/B", "a/srv/B/C"] {
        assert!(TypeName::parse_service(wrong).is_none(), "{wrong}");
    }
    let error = ServiceSchema::shipped("std_srvs/srv/Missing").unwrap_err().to_string();
    assert!(error.contains("std_srvs/srv/Missing") && error.contains("--interfaces"), "{error}");
}

#[test]
fn requests_and_responses_are_messages_of_their_own() {
    type Response = <std_srvs::srv::SetBool as Service>::Response;
    let extra = Extra::none().text(4);
    let mut memory = FlatBuffer::with_bytes(Response::ROOT_BYTES + extra.total());
    let mut used = 0;
    let mut response = Response::builder(BlockMut::new(memory.as_mut_slice(), &mut used));
    response.set_success(true);
    response.set_message("done").unwrap();
    let block = Block::new(&memory.as_slice()[..used]);
    let schema = ServiceSchema::of::<std_srvs::srv::SetBool>().unwrap();
    schema.response().validate(block).unwrap();
    let json = schema.response().to_json(block).unwrap();
    assert_eq!(json, serde_json::json!({ "success": true, "message": "done" }));
    let map = ServiceSchema::of::<nav_msgs::srv::GetMap>().unwrap();
    assert_eq!(map.request().root_bytes(), 1, "an empty request has ROS 2's one byte");
    assert_eq!(map.response().type_name(), "nav_msgs/srv/GetMap_Response");
}

#[test]
fn a_message_written_as_json_encodes_to_what_reads_back_as_the_same_json() {
    let schema = Schema::shipped("sensor_msgs/msg/CameraInfo").unwrap();
    let given = serde_json::json!({
        "header": { "frame_id": "camera" }, "height": 480, "d": [0.5, -1.0], "roi": { "do_rectify": true },
    });
    let cdr = schema.cdr_of_json(&given).unwrap();
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).unwrap());
    schema.decode_cdr(&cdr, flat.as_mut_slice()).unwrap();
    let json = schema.to_json(Block::new(flat.as_slice())).unwrap();
    assert_eq!(
        json["header"],
        serde_json::json!({ "stamp": { "sec": 0, "nanosec": 0 }, "frame_id": "camera" })
    );
    assert_eq!((&json["height"], &json["d"]), (&given["height"], &given["d"]));
    assert_eq!(json["k"].as_array().unwrap().len(), 9);
    assert_eq!(schema.cdr_of_json(&json).unwrap(), cdr, "the whole message is the same");
    let refused = |value: serde_json::Value| schema.cdr_of_json(&value).unwrap_err().to_string();
    assert!(refused(serde_json::json!({ "hight": 1 })).contains("`hight`; its fields are header"));
    assert!(
        refused(serde_json::json!({ "height": -1 }))
            .contains("`height` is -1, but a value of type uint32")
    );
    assert!(
        refused(serde_json::json!({ "header": { "frame_id": 3 } })).contains("`header.frame_id`")
    );
    assert!(refused(serde_json::json!({ "k": [1.0] })).contains("a list of 9 elements"));
    assert!(refused(serde_json::json!(3)).contains("sensor_msgs/msg/CameraInfo"));
}

/// The text of a service or an action as a recording of ROS 2 carries it.
fn recorded(own: &str, used: &[(&str, &str)]) -> String {
    let line = "=".repeat(80);
    let used = used.iter().map(|(name, text)| format!("{line}\nMSG: {name}\n{text}"));
    own.to_owned() + &used.collect::<String>()
}

#[test]
fn the_types_of_events_are_made_from_the_text_of_their_service() {
    let text = "my_msgs/Lamp lamp\n---\nbool success\nstring message # why\n";
    let lamp = "uint8 OFF=0\nuint8 state 1\n";
    let text = recorded(text, &[("my_msgs/msg/Lamp", lamp)]);
    let schema = Schema::parse("my_msgs/srv/Switch_Event", &text).unwrap();
    let event = serde_json::json!({
        "info": { "event_type": 3, "sequence_number": 7 },
        "response": [{ "success": true, "message": "on" }],
    });
    let cdr = schema.cdr_of_json(&event).unwrap();
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).unwrap());
    schema.decode_cdr(&cdr, flat.as_mut_slice()).unwrap();
    let json = schema.to_json(Block::new(flat.as_slice())).unwrap();
    assert_eq!((&json["response"], &json["request"]), (&event["response"], &serde_json::json!([])));
    assert_eq!(json["info"]["event_type"], 3);
    let again = Schema::parse(schema.type_name(), schema.definition()).unwrap();
    assert_eq!(
        (again.type_hash(), again.layout_hash()),
        (schema.type_hash(), schema.layout_hash())
    );
    let request = Schema::parse("my_msgs/srv/Switch_Request", &text).unwrap();
    assert_eq!(request.layout().root().fields[0].name, "lamp");
    // A shipped one has the hash that everybody computes.
    let text = "bool data\n---\nbool success\nstring message\n";
    let event = Schema::parse("std_srvs/srv/SetBool_Event", text).unwrap();
    let known = crossdock_msg::generate::Generator::new().into_library();
    let known = Schema::from_library(&known, "std_srvs/srv/SetBool_Event").unwrap();
    assert_eq!(event.type_hash(), known.type_hash());
    assert!(Schema::parse("std_srvs/srv/SetBool", "bool data\n---\n---\n").is_err());
}

#[test]
fn the_types_of_an_actions_topics_are_made_from_the_text_of_the_action() {
    let text = "int32 order\n---\nint32[] sequence\n---\nint32[] partial_sequence\n";
    let fields = |type_name: &str| {
        let schema = Schema::parse(type_name, text).unwrap();
        let names: Vec<_> =
            schema.layout().root().fields.iter().map(|it| it.name.clone()).collect();
        let again = Schema::parse(type_name, schema.definition()).unwrap();
        assert_eq!(again.type_hash(), schema.type_hash());
        names.join(" ")
    };
    let of = |suffix: &str| fields(&format!("my_msgs/action/Count_{suffix}"));
    assert_eq!(of("FeedbackMessage"), "goal_id feedback");
    assert_eq!(of("SendGoal_Event"), "info request response");
    assert_eq!(of("GetResult_Event"), "info request response");
    // These have the same types for all actions, and are recorded with the action's text.
    assert_eq!(fields("action_msgs/msg/GoalStatusArray"), "status_list");
    assert_eq!(fields("action_msgs/srv/CancelGoal_Event"), "info request response");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_line_that_is_there(text in "([a-z0-9 \\[\\]<=#/A-Z_.]{0,12}\n|---\n){0,8}") {
        match service(&text) {
            Ok(service) => prop_assert!(text.lines().filter(|line| line.trim_end() == "---").count() == 1
                && service.request.fields.iter().all(|field| field.line <= 8)),
            Err(DefinitionError::Syntax { line, .. }) => {
                prop_assert!(line as usize <= text.lines().count().max(1));
            }
            Err(_) => {}
        }
    }

    #[test]
    fn what_is_written_reads_back(request in 0usize..5, response in 0usize..5) {
        let fields = |count: usize| -> String {
            (0..count).map(|index| format!("string<={} field_{index}\n", index + 1)).collect()
        };
        let parsed = service(&format!("{}---\n{}", fields(request), fields(response))).unwrap();
        prop_assert_eq!(parsed.request.fields.len(), request);
        prop_assert_eq!(parsed.response.fields.len(), response);
        prop_assert_eq!(service(&service_text(&parsed)).unwrap().response.fields.len(), response);
    }
}
