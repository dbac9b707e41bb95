//! Publishers and subscribers as `ros2 topic info -v` prints them, for people who know its words
//! and for programs that read them.

use crate::output::clean;
use crossdock_comm::qos::limit;
use crossdock_comm::{History, Liveliness, PortSnapshot, Qos, names};
use crossdock_msg::TypeHash;
use std::fmt::Write as _;
use std::time::Duration;

/// The lines of `ros2 topic info -v`: publishers, then subscribers.
pub(super) fn in_ros2_form(types: &[&str], sides: [Vec<&PortSnapshot>; 2]) -> String {
    let shown = match types {
        [] => String::new(),
        [one] => clean(one),
        // A list as Python prints it.
        many => {
            let names: Vec<String> = many.iter().map(|name| format!("'{}'", clean(name))).collect();
            format!("[{}]", names.join(", "))
        }
    };
    let mut text = format!("Type: {shown}\n");
    for (ports, (count, kind)) in
        sides.iter().zip([("Publisher", "PUBLISHER"), ("Subscription", "SUBSCRIPTION")])
    {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{count} count: {}", ports.len());
        ports.iter().for_each(|port| endpoint(port, kind, &mut text));
    }
    text
}

fn endpoint(port: &PortSnapshot, kind: &str, text: &mut String) {
    let (namespace, name) = names::split_node_name(&port.node);
    let lines = [
        ("Node name", clean(name)),
        ("Node namespace", clean(namespace)),
        ("Topic type", clean(&port.type_name)),
        ("Topic type hash", hash(port)),
        ("Endpoint type", kind.to_owned()),
        ("GID", gid(port)),
    ];
    text.push('\n');
    for (what, value) in lines {
        let _ = writeln!(text, "{what}: {value}");
    }
    text.push_str("QoS profile:\n");
    for (what, value) in profile(&port.qos) {
        let _ = writeln!(text, "  {what}: {value}");
    }
}

/// The hash of a port's type; a subscriber of any type has none.
pub(super) fn hash(port: &PortSnapshot) -> String {
    match port.type_hash {
        [0, rest @ ..] if rest == [0; 31] => "INVALID".to_owned(),
        hash => TypeHash(hash).to_string(),
    }
}

/// A port's GID as ROS 2 writes it: bytes in hexadecimal, with dots.
pub(super) fn gid(port: &PortSnapshot) -> String {
    port.gid.map(|byte| format!("{byte:02x}")).join(".")
}

fn profile(qos: &Qos) -> [(&'static str, String); 7] {
    let word = |is: bool, yes: &str, no: &str| if is { yes } else { no }.to_owned();
    let history = match qos.history {
        History::KeepLast => format!("KEEP_LAST ({})", qos.depth),
        History::KeepAll => "KEEP_ALL".to_owned(),
    };
    let liveliness = match qos.liveliness {
        Liveliness::Automatic => "AUTOMATIC",
        Liveliness::ManualByTopic => "MANUAL_BY_TOPIC",
    };
    [
        ("Reliability", word(qos.is_reliable(), "RELIABLE", "BEST_EFFORT")),
        ("History (Depth)", history),
        ("Durability", word(qos.is_transient_local(), "TRANSIENT_LOCAL", "VOLATILE")),
        ("Lifespan", time(qos.lifespan)),
        ("Deadline", time(qos.deadline)),
        ("Liveliness", liveliness.to_owned()),
        ("Liveliness lease duration", time(qos.lease)),
    ]
}

fn time(duration: Duration) -> String {
    match limit(duration) {
        None => "Infinite".to_owned(),
        Some(time) => format!("{} nanoseconds", time.as_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_comm::Maker;

    #[test]
    fn an_endpoint_is_printed_in_the_words_of_ros_2() {
        let port = PortSnapshot {
            port: 1,
            node: "/front/talker".to_owned(),
            topic: "/chatter".to_owned(),
            type_name: "std_msgs/msg/String".to_owned(),
            type_hash: [0xab; 32],
            qos: Qos {
                deadline: Duration::from_millis(20),
                ..Qos::reliable(7, Duration::ZERO).transient_local()
            },
            gid: [1, 0x0f, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            maker: Maker::Rmw,
            counters: [0; 24],
            index: 0,
            version: 0,
        };
        let hash = format!("RIHS01_{}", "ab".repeat(32));
        let expected = format!(
            "Type: std_msgs/msg/String\n\nPublisher count: 1\n\nNode name: talker\n\
             Node namespace: /front\nTopic type: std_msgs/msg/String\nTopic type hash: {hash}\n\
             Endpoint type: PUBLISHER\nGID: 01.0f.02.03.04.05.06.07.08.09.0a.0b.0c.0d.0e.0f\n\
             QoS profile:\n  Reliability: RELIABLE\n  History (Depth): KEEP_LAST (7)\n  \
             Durability: TRANSIENT_LOCAL\n  Lifespan: Infinite\n  Deadline: 20000000 nanoseconds\n  \
             Liveliness: AUTOMATIC\n  Liveliness lease duration: Infinite\n\nSubscription count: 0\n"
        );
        assert_eq!(in_ros2_form(&["std_msgs/msg/String"], [vec![&port], vec![]]), expected);
        let two = in_ros2_form(&["a/msg/A", "b/msg/B"], [vec![], vec![]]);
        assert!(two.starts_with("Type: ['a/msg/A', 'b/msg/B']\n"), "{two}");
    }
}
