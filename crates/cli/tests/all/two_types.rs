//! A topic that two publishers publish with different types, as commands show it.

use crate::place::Place;
use crossdock_comm::{PublisherOptions, Qos};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::{Header, UInt32};
use std::time::Duration;

const TOPIC: &str = "/both";
const TYPES: [&str; 2] = ["std_msgs/msg/Header", "std_msgs/msg/UInt32"];

#[test]
fn all_types_are_shown_and_echo_shows_the_one_that_is_named_and_says_what_is_left_out() {
    let place = Place::new("two-types");
    let participant = place.participant("both");
    let options = |node| {
        let qos = Qos::best_effort(4).transient_local();
        PublisherOptions { node, topic: TOPIC, qos, max_bytes: Some(512), group: None }
    };
    let header = participant.publisher::<Header>(options("header")).expect("a publisher");
    let number = participant.publisher::<UInt32>(options("number")).expect("a publisher");
    let said = |arguments: &[&str]| place.said(&[&["topic"], arguments].concat());
    assert_eq!(said(&["type", TOPIC]), format!("{}\n{}\n", TYPES[0], TYPES[1]));
    assert_eq!(said(&["list", "-t"]), format!("{TOPIC} [{}, {}]\n", TYPES[0], TYPES[1]));
    assert!(said(&["list"]).contains(&TYPES.join(", ")));
    let info = said(&["info", TOPIC]);
    assert!(info.starts_with(&format!("{TOPIC}: {}, {}\n", TYPES[0], TYPES[1])), "{info}");
    let info = said(&["info", "-v", TOPIC]);
    assert!(info.starts_with(&format!("Type: ['{}', '{}']\n", TYPES[0], TYPES[1])), "{info}");
    for message_type in TYPES {
        assert_eq!(said(&["find", message_type]), format!("{TOPIC}\n"));
    }
    let subscribes = ["--qos-durability", "transient_local", "--qos-reliability", "best_effort"];
    let echoes = |(named, left_out, value): (usize, usize, &str)| {
        for options in [&[][..], &subscribes] {
            let arguments = [&["topic", "echo", TOPIC, TYPES[named], "--once"], options].concat();
            let output = place.crossdock(&arguments);
            let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
            assert!(output.status.success() && text.contains(value), "{arguments:?}: {text}");
            let told = format!("which are not shown: {} of node", TYPES[left_out]);
            assert!(text.contains(&told), "{arguments:?}: {text}");
        }
    };
    std::thread::scope(|scope| {
        let all = scope.spawn(|| [(0, 1, "frame_id"), (1, 0, "42")].map(echoes));
        while !all.is_finished() {
            let loan = header.loan(Extra::none()).expect("room");
            loan.publish().map_err(|refused| refused.reason).expect("published");
            let mut loan = number.loan(Extra::none()).expect("room");
            loan.message().set_data(42);
            loan.publish().map_err(|refused| refused.reason).expect("published");
            // As fast as a sensor.
            std::thread::sleep(Duration::from_millis(2));
        }
        all.join().expect("each shows its type");
    });
    let said = place.refused(&["topic", "echo", TOPIC, "std_msgs/msg/Bool"]);
    assert!(said.contains("not std_msgs/msg/Bool"), "{said}");
}
