//! What holds publishers up and what ends a lockstep, with messages from outside the executor.

use std::time::Duration;

use crossdock_comm::{
    Participant, ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous,
    SubscriberHandle, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::PointStamped;

use super::holding::{HeldUp, Holding};
use super::input::Input;
use super::lockstep::{Lockstep, LockstepState};
use crate::node::opened::Purpose;

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);
const DEPTH: usize = 4;

/// Calls `trial` with a subscriber to each of these topics, and a publisher that it has met.
fn with_ports<const N: usize>(
    test: &str,
    topics: [&str; N],
    trial: impl FnOnce([(SubscriberHandle, Publisher<PointStamped>); N]),
) {
    let folder = std::env::temp_dir().join(format!("xd-{test}-{}", std::process::id()));
    let mut options = ParticipantOptions::new(0, test);
    options.rendezvous = Rendezvous::Folder(folder.clone());
    let participant = Participant::open(options).expect("a participant");
    let qos = Qos::reliable(DEPTH, PATIENCE);
    let subscribers = topics.map(|topic| {
        let options = SubscriberOptions { node: "inside", topic, qos, doorbell: None, group: None };
        participant.subscriber::<PointStamped>(options).expect("a subscriber")
    });
    let publishers = topics.map(|topic| {
        let options =
            PublisherOptions { node: "outside", topic, qos, max_bytes: None, group: None };
        participant.publisher(options).expect("a publisher")
    });
    let mut publishers = publishers.into_iter();
    trial(subscribers.each_ref().map(|subscriber| {
        let publisher: Publisher<PointStamped> = publishers.next().expect("one for each");
        let met = || publisher.matched() == 1 && subscriber.matched() == 1;
        assert!(participant.wait_until(PATIENCE, met));
        (subscriber.handle(), publisher)
    }));
    drop((subscribers, participant));
    // What is left of the meeting place.
    let _ = std::fs::remove_dir_all(folder);
}

fn publish(publisher: &Publisher<PointStamped>, messages: usize) {
    for _ in 0..messages {
        publisher.loan(Extra::none()).expect("a loan").publish().expect("there is room");
    }
}

/// An input of a join.
fn input(handle: SubscriberHandle) -> Input {
    Input {
        node: 0,
        port: String::new(),
        place: 0,
        topic: handle.topic().to_owned(),
        handle,
        purpose: Purpose::Condition,
        callback: 0,
        beginning: None,
        chain: 0,
        depth: DEPTH,
        window: DEPTH,
        inside: false,
        released: 0,
        fed: 0,
        fed_at_once: 0,
    }
}

#[test]
fn a_join_that_holds_a_publisher_up_rests_before_it_looks_again() {
    with_ports("rests", ["/a", "/b"], |[(a, fast), (b, _silent)]| {
        let inputs = [a, b].map(input);
        let (mut holding, begin_ns, patience_ns) = (Holding::default(), 5_000_000_000, 250_000_000);
        publish(&fast, DEPTH - 1);
        assert_eq!(holding.look(&inputs, patience_ns, begin_ns), HeldUp::Nobody);
        publish(&fast, 1);
        let (mut now_ns, mut looks) = (begin_ns, 0);
        while let HeldUp::Until(next_ns) = holding.look(&inputs, patience_ns, now_ns) {
            assert!(next_ns > now_ns, "look {looks}");
            now_ns = next_ns;
            looks += 1;
        }
        // Every tenth of a second, and when the patience is over.
        assert_eq!((now_ns - begin_ns, looks), (patience_ns, 3));
        assert_eq!(holding.look(&inputs, 0, now_ns), HeldUp::Away);
    });
}

#[test]
fn a_lockstep_that_has_ended_leaves_no_command_behind() {
    with_ports("ended", ["/command"], |[(command, commander)]| {
        publish(&commander, DEPTH - 1);
        let mut lockstep = Lockstep {
            node: 0,
            timer: "step".to_owned(),
            callback: 0,
            place: 0,
            period_ns: 1,
            due_ns: 1,
            command: command.clone(),
            depth: DEPTH,
            outputs: Vec::new(),
            state: LockstepState::Ended,
            pace: None,
        };
        assert!(lockstep.may_be_due());
        assert_eq!(lockstep.is_due().ok(), Some(false));
        assert!(!lockstep.may_be_due(), "there is something left to look at");
        assert_eq!(command.passed(), DEPTH as u64 - 1);
    });
}
