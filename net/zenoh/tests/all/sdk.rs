//! A peer that others have written, without ROS: zenoh-ros2-sdk in Python. It publishes,
//! subscribes, serves and calls.

use crate::adder::{Adder, Manner, add, caller_of};
use crate::graphs::{LIMIT, Place, free_place, heard, listener, reliable, say, talker, until};
use crossdock_suite::Running;
use crossdock_test_support::{ROSBAGS, python};
use std::path::Path;
use std::process::{Command, Stdio};

/// Pinned, with what it needs.
const PACKAGES: &[&str] = &[
    "zenoh-ros2-sdk==0.1.8",
    "eclipse-zenoh==1.10.2",
    "json5==0.17.3",
    "GitPython==3.2.1",
    "gitdb==4.0.12",
    "smmap==5.0.3",
    "tqdm==4.70.1",
];

#[test]
fn a_peer_that_others_have_written_is_heard_told_called_and_calls() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk");
    let python = match python(&folder, &[ROSBAGS, PACKAGES].concat()) {
        Ok(python) => python,
        Err(why) => return crossdock_test_support::skip(&why),
    };
    let (graph, place) = (Place::new("sdk"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let adder = Adder::start(&graph, Manner::Answers);
    let listens = listener(&here, "/from_sdk", reliable(10));
    let talks = talker(&here, "/to_sdk", reliable(10));

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/sdk_peer.py");
    let port = place.rsplit(':').next().unwrap();
    let mut command = Command::new(python);
    command.arg(script).arg(port).env_remove("ROS_DOMAIN_ID");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut peer = Running::spawn(command);
    until("it is heard", || heard(&listens).iter().any(|text| text == "bonjour"));
    let client = caller_of(&here, "/sdk_add");
    assert!(client.wait_for_server(LIMIT));
    for number in 0..10 {
        assert_eq!(add(&client, number, 7, LIMIT).unwrap(), number + 7);
    }
    until("it subscribes", || talks.matched() > 0);
    let said = std::thread::spawn(move || {
        let (mut has_heard, mut has_called) = (false, false);
        while !(has_heard && has_called) {
            let line = peer.line().expect("it runs");
            has_heard |= line == "heard salut\n";
            has_called |= line == "sum 42\n";
        }
    });
    until("it has heard us, and its call is answered", || {
        say(&talks, "salut");
        std::thread::sleep(std::time::Duration::from_millis(10));
        said.is_finished()
    });
    said.join().unwrap();
    assert_eq!(adder.taken(), 1, "called once");
    let counters = net.counters();
    assert_eq!((counters.calls_answered, counters.calls_replied), (10, 1), "{counters:?}");
    assert_eq!((counters.malformed, counters.tokens_refused), (0, 0), "{counters:?}");
}
