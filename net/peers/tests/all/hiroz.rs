//! A peer that others have written, without ROS: hiroz in Rust. It publishes, subscribes, serves,
//! calls, and sees the graph.

use crate::adder::{Adder, Manner, add, caller_of};
use crate::graphs::{LIMIT, Place, free_place, heard, listener, reliable, say, talker, until};
use crossdock_comm::PortKind;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use hiroz::Builder as _;
use hiroz::context::ZContextBuilder;
use hiroz::msg::{SerdeCdrSerdes, ZMessage, ZService};
use hiroz::{MessageTypeInfo, ServiceTypeInfo, TypeHash, TypeInfo};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Its hash is what hiroz makes of its fields.
#[derive(Debug, Serialize, Deserialize, MessageTypeInfo)]
#[ros_msg(type_name = "std_msgs/msg/String")]
struct Text {
    data: String,
}

impl ZMessage for Text {
    type Serdes = SerdeCdrSerdes<Self>;
}

#[derive(Debug, Serialize, Deserialize, MessageTypeInfo)]
#[ros_msg(type_name = "example_interfaces/srv/AddTwoInts_Request")]
struct Addends {
    a: i64,
    b: i64,
}

impl ZMessage for Addends {
    type Serdes = SerdeCdrSerdes<Self>;
}

#[derive(Debug, Serialize, Deserialize, MessageTypeInfo)]
#[ros_msg(type_name = "example_interfaces/srv/AddTwoInts_Response")]
struct Sum {
    sum: i64,
}

impl ZMessage for Sum {
    type Serdes = SerdeCdrSerdes<Self>;
}

struct Adding;

impl ZService for Adding {
    type Request = Addends;
    type Response = Sum;
}

impl ServiceTypeInfo for Adding {
    fn service_type_info() -> TypeInfo {
        let hash = <AddTwoInts as crossdock_msg::Service>::TYPE_HASH.to_string();
        let hash = TypeHash::from_rihs_string(&hash).unwrap();
        TypeInfo::new("example_interfaces::srv::dds_::AddTwoInts_", hash)
    }
}

fn pair(name: &str, kind: &str) -> (String, String) {
    (name.to_owned(), kind.to_owned())
}

#[test]
fn a_node_of_hiroz_is_heard_told_called_and_calls_and_both_see_each_other() {
    let (graph, place) = (Place::new("hiroz"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let adder = Adder::start(&graph, Manner::Answers);
    let listens = listener(&here, "/from_hiroz", reliable(10));
    let talks = talker(&here, "/to_hiroz", reliable(10));
    let context = ZContextBuilder::default()
        .with_domain_id(0)
        .with_mode("client")
        .with_connect_endpoints([place.as_str()])
        .disable_multicast_scouting()
        .build()
        .unwrap();
    let node = context.create_node("others").build().unwrap();
    let says = node.create_pub::<Text>("/from_hiroz").build().unwrap();
    let hears = node.create_sub::<Text>("/to_hiroz").build().unwrap();
    let mut serves = node.create_service::<Adding>("/hiroz_add").build().unwrap();
    let calls = node.create_client::<Adding>("/add_two_ints").build().unwrap();

    until("it is heard", || {
        says.publish(&Text { data: "bonjour".to_owned() }).unwrap();
        std::thread::sleep(Duration::from_millis(10));
        heard(&listens).iter().any(|text| text == "bonjour")
    });
    until("it has heard us", || {
        say(&talks, "salut");
        hears.recv_timeout(Duration::from_millis(10)).is_ok_and(|text| text.data == "salut")
    });

    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let serving = std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            match serves.try_take_request().unwrap() {
                Some(request) => {
                    let sum = request.message().a + request.message().b;
                    request.reply_blocking(&Sum { sum }).unwrap();
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    });
    let client = caller_of(&here, "/hiroz_add");
    assert!(client.wait_for_server(LIMIT));
    for number in 0..10 {
        assert_eq!(add(&client, number, 7, LIMIT).unwrap(), number + 7);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut sum = None;
    until("its call is answered", || {
        let call = calls.call_with_timeout(&Addends { a: 2, b: 40 }, LIMIT);
        sum = runtime.block_on(call).ok();
        sum.is_some()
    });
    assert_eq!(sum.unwrap().sum, 42);

    let sees = context.graph();
    until("it sees our graph", || {
        let (topics, services) =
            (sees.get_topic_names_and_types(), sees.get_service_names_and_types());
        let nodes = sees.get_node_names();
        topics.contains(&pair("/to_hiroz", "std_msgs::msg::dds_::String_"))
            && services
                .contains(&pair("/add_two_ints", "example_interfaces::srv::dds_::AddTwoInts_"))
            && ["talker", "listener", "adder"].iter().all(|name| nodes.contains(&pair(name, "/")))
    });
    let view = here.graph().unwrap();
    let is_seen = |kind, topic: &str| {
        let graph = view.snapshot();
        graph.ports(kind).any(|(_, port)| port.node == "others" && port.topic == topic)
    };
    until("we see it", || {
        is_seen(PortKind::Publisher, "/from_hiroz") && is_seen(PortKind::Server, "/hiroz_add")
    });
    is_over.store(true, Ordering::Relaxed);
    serving.join().unwrap();
    // It has been dropped: the thread had it.
    until("its server is gone", || !is_seen(PortKind::Server, "/hiroz_add"));
    assert_eq!(adder.taken(), 1, "called once");
    let counters = net.counters();
    assert_eq!((counters.calls_answered, counters.calls_replied), (10, 1), "{counters:?}");
    assert_eq!((counters.malformed, counters.tokens_refused), (0, 0), "{counters:?}");
}
