//! A peer that others have written, without ROS: ros2-client in Rust. It publishes, subscribes,
//! serves and calls.

use crate::adder::{Adder, Manner, add, caller_of};
use crate::graphs::{LIMIT, Place, free_place, heard, listener, reliable, say, talker, until};
use ros2_client::zenoh::{Context, ContextOptions, Node};
use ros2_client::{MessageTypeName, Name, NodeName, NodeOptions, QosProfile, ServiceTypeName};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Serialize, Deserialize)]
struct Addends {
    a: i64,
    b: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sum {
    sum: i64,
}

fn node(place: &str) -> Node {
    let mut config = zenoh::Config::default();
    config.insert_json5("mode", "\"client\"").unwrap();
    config.insert_json5("connect/endpoints", &format!("[{place:?}]")).unwrap();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    let context = Context::with_options(ContextOptions::new().zenoh_config(config)).unwrap();
    let name = NodeName::new("/", "others").unwrap();
    context.new_node(name, NodeOptions::new().enable_rosout(false)).unwrap()
}

fn name(name: &str) -> Name {
    Name::new("/", name).unwrap()
}

#[test]
fn a_client_of_ros_2_by_others_is_heard_told_called_and_calls() {
    let (graph, place) = (Place::new("ros2-client"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let adder = Adder::start(&graph, Manner::Answers);
    let listens = listener(&here, "/from_others", reliable(10));
    let talks = talker(&here, "/to_others", reliable(10));
    let others = node(&place);
    let text = || MessageTypeName::new("std_msgs", "String");
    let qos = QosProfile::publisher_default();
    let topic = |topic: &str| others.create_topic(&name(topic), text(), &qos);
    let says = others.create_publisher::<String>(&topic("from_others"), None).unwrap();
    let hears = others.create_subscription::<String>(&topic("to_others"), None).unwrap();
    let adding = ServiceTypeName::new("example_interfaces", "AddTwoInts");
    let serves = others.create_server::<Addends, Sum>(&name("others_add"), &adding).unwrap();
    let calls = others.create_client::<Addends, Sum>(&name("add_two_ints"), &adding).unwrap();

    until("it is heard", || {
        says.publish("bonjour".to_owned()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(10));
        heard(&listens).iter().any(|text| text == "bonjour")
    });
    until("it has heard us", || {
        say(&talks, "salut");
        std::thread::sleep(std::time::Duration::from_millis(10));
        hears.try_take().unwrap().is_some_and(|(text, _)| text == "salut")
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let serving = std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            match serves.try_receive_request().unwrap() {
                Some((id, Addends { a, b })) => {
                    serves.send_response(id, Sum { sum: a + b }).unwrap()
                }
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        }
    });
    let client = caller_of(&here, "/others_add");
    assert!(client.wait_for_server(LIMIT));
    for number in 0..10 {
        assert_eq!(add(&client, number, 7, LIMIT).unwrap(), number + 7);
    }
    let mut sum = None;
    until("its call is answered", || {
        sum = calls.call(Addends { a: 2, b: 40 }).ok();
        sum.is_some()
    });
    assert_eq!(sum.unwrap().sum, 42);
    is_over.store(true, Ordering::Relaxed);
    serving.join().unwrap();
    assert_eq!(adder.taken(), 1, "called once");
    let counters = net.counters();
    assert_eq!((counters.calls_answered, counters.calls_replied), (10, 1), "{counters:?}");
    assert_eq!((counters.malformed, counters.tokens_refused), (0, 0), "{counters:?}");
}
