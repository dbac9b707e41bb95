//! An idle process does nothing at all.

use crate::{common, turn};
use std::time::Duration;

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place, publisher, reliable, switches};
use crossdock_comm::{DoorbellOptions, SubscriberOptions};
use crossdock_msg::types::sensor_msgs::Image;

/// How long nothing may happen.
const REST: Duration = Duration::from_secs(5);
/// How often it is tried.
const TIMES: usize = 4;

#[test]
fn connected_processes_make_no_context_switch_while_nothing_happens() {
    let _turn = turn();
    let test = "idle::connected_processes_make_no_context_switch_while_nothing_happens";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "idle");
        let _output = publisher(&participant, "/from_child", reliable(4));
        let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
        let input = participant
            .subscriber::<Image>(SubscriberOptions {
                node: "sink",
                topic: "/to_child",
                qos: reliable(4),
                doorbell: Some(&bell),
                group: None,
            })
            .unwrap();
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        let handle = input.handle();
        let mut told = false;
        while !input.is_ready() {
            bell.drain(|_| ());
            participant.announce_idle();
            if !told {
                tell("idle");
                told = true;
            }
            bell.sleep(None, || handle.arm());
        }
        tell("woken");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("idle");
    let participant = place.open("parent");
    let output = publisher(&participant, "/to_child", reliable(4));
    let input = common::subscriber(&participant, "/from_child", reliable(4));
    let mut children: Vec<_> = (0..2).map(|_| Process::start(test, "idle", place.path())).collect();
    children.iter_mut().for_each(|child| child.expect("idle"));
    assert!(participant.wait_until(LIMIT, || output.peers() == 2 && input.matched() == 2));
    let control = |mut threads: Vec<(String, u64, u64)>| {
        // Of this process only the control thread counts: the test's own thread looks around.
        threads.retain(|(name, ..)| name.ends_with("crossdock-ctl"));
        threads
    };
    let own = std::process::id();
    children.iter().for_each(|child| common::settled_switches(child.pid()));
    let all = || {
        let mut counts: Vec<_> = children.iter().map(|child| switches(child.pid())).collect();
        counts.push(control(switches(own)));
        counts
    };
    let mut before = all();
    assert_eq!(before.last().map(Vec::len), Some(1));
    // On a busy machine what the start has caused may take longer than it looks settled: whatever
    // goes on by itself goes on in every one of these times.
    let rested = (0..TIMES).any(|_| {
        // The time is what is measured; nothing is waited for.
        std::thread::sleep(REST);
        let now = all();
        let rested = now == before;
        if !rested {
            println!("switches: {before:?}, then {now:?}");
        }
        before = now;
        rested
    });
    assert!(rested, "something goes on while nothing happens");
    common::publish(&output, 1);
    children.iter_mut().for_each(|child| child.expect("woken"));
    children.into_iter().for_each(Process::finish);
}
