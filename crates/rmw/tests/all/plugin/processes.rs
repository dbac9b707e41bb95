//! Two processes. One is killed, again and again.

use super::calls::{answer, is_available, send, take_request, take_response};
use super::{DEFAULT, On, PLAIN, Plain, Ros, options, own_domain, plugin, zeroed};
use crate::rosidl::types;
use crossdock_test_support::{Random, done, long, number};
use rmw_crossdock::abi::current::EVENTS;
use rmw_crossdock::abi::shared::{Event, RMW_RET_OK};
use rmw_crossdock::introspection::Language;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::process::{Child, Command, Stdio};
use std::ptr::null;
use std::time::{Duration, Instant};

/// What makes a process of this program the other side.
const DOMAIN: &str = "CROSSDOCK_RMW_OTHER_SIDE";

/// Gives back each message on `/ping` as one on `/pong`, and answers each request with the next
/// number. Does nothing unless a test has started it.
#[test]
fn the_other_side() {
    let Some(domain) = std::env::var(DOMAIN).ok() else { return };
    let Some(mut ros) = Ros::new(domain.parse().unwrap(), "other") else { return };
    let support = ros.support(Language::Cpp, PLAIN);
    let pong = ros.publisher("/pong", support, &DEFAULT);
    let ping = ros.subscription("/ping", support, &DEFAULT, &options());
    let (service, set) = (ros.service("/move"), ros.wait_set());
    let on = On { subscriptions: vec![ping], services: vec![service], ..On::default() };
    let mut message: Plain = [0.0; 43];
    // As client libraries do for each subscription.
    let kind = EVENTS.iter().find(|(name, _)| *name == "RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE");
    let (kind, mut event): (u32, Event) = (kind.unwrap().1 as u32, zeroed());
    // SAFETY: as the API asks: it is zero, and ends with its port.
    let made = unsafe { (ros.api.rmw_subscription_event_init)(&mut event, ping, kind) };
    assert_eq!(made, RMW_RET_OK);
    if std::env::var_os(CALLED).is_some() {
        let called = Some(on_call as unsafe extern "C" fn(*const c_void, usize));
        // SAFETY: as the API asks.
        unsafe {
            (ros.api.rmw_event_set_callback)(&mut event, called, null());
            (ros.api.rmw_subscription_set_on_new_message_callback)(ping, called, null());
        }
    }
    // Until it is killed, or left alone.
    while ros.wait(set, &on, super::PATIENCE).contains(&true) {
        while ros.take(ping, message.as_mut_ptr().cast()) {
            ros.publish(pong, message.as_ptr().cast());
        }
        while let Some((id, value)) = take_request(&ros, service) {
            answer(&ros, service, id, value + 1.0);
        }
    }
}

/// What makes it set callbacks, as events executors do.
const CALLED: &str = "CROSSDOCK_RMW_CALLED";

unsafe extern "C" fn on_call(_user_data: *const c_void, _count: usize) {}

/// What makes a process of this program the side that lives on; its value is a domain.
const SURVIVOR: &str = "CROSSDOCK_RMW_SURVIVOR";

pub(super) fn other_side(domain: usize) -> Child {
    other_side_command(domain).spawn().unwrap()
}

fn other_side_command(domain: usize) -> Command {
    plugin();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "plugin::processes::the_other_side"]).env(DOMAIN, domain.to_string());
    command.stdout(Stdio::null());
    command
}

/// The plug-in's threads in a process.
fn threads_of(process: &Child) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.id())).unwrap();
    let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
    // One that ends meanwhile is none.
    let names = names.filter_map(|name| Some(name.ok()?.trim_end().to_owned()));
    names.filter(|name| name.starts_with("crossdock")).collect()
}

#[test]
fn a_process_with_callbacks_has_one_more_thread_of_the_plug_in() {
    let domain = own_domain();
    let Some(ros) = Ros::new(domain, "here") else { return };
    let support = ros.support(Language::C, PLAIN);
    let (ping, mut message) = (ros.publisher("/ping", support, &DEFAULT), [0.0; 43]);
    let pong = ros.subscription("/pong", support, &DEFAULT, &options());
    let mut other = other_side_command(domain).env(CALLED, "1").spawn().unwrap();
    ros.until(|| {
        ros.publish(ping, message.as_ptr().cast());
        ros.take(pong, message.as_mut_ptr().cast())
    });
    // A thread has its name a moment after it has begun.
    let mut threads = Vec::new();
    ros.until(|| {
        threads = threads_of(&other);
        threads.len() > 1
    });
    threads.sort();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(threads, ["crossdock-ctl", "crossdock-rmw"]);
}

#[test]
fn messages_and_calls_go_to_another_process_until_it_is_killed() {
    let domain = own_domain();
    let Some(mut ros) = Ros::new(domain, "here") else { return };
    let support = ros.support(Language::C, PLAIN);
    let ping = ros.publisher("/ping", support, &DEFAULT);
    let pong = ros.subscription("/pong", support, &DEFAULT, &options());
    let (client, set) = (ros.client("/move"), ros.wait_set());
    let mut message: Plain = [0.0; 43];
    let (mut last, mut heard) = (0, 0);
    for round in 0..3 {
        let mut other = other_side(domain);
        ros.until(|| ros.matched(ping) == 1 && is_available(&ros, client));
        let mut publishers = 0;
        // SAFETY: as the API asks.
        ros.until(|| unsafe {
            (ros.api.rmw_subscription_count_matched_publishers)(pong, &mut publishers);
            publishers == 1
        });
        for value in 0..20 {
            let value = f64::from(round * 100 + value);
            ros.publish(ping, [value; 43].as_ptr().cast());
            ros.wait_for(set, &On { subscriptions: vec![pong], ..On::default() });
            assert!(ros.take(pong, message.as_mut_ptr().cast()));
            assert_eq!(message, [value; 43]);
            let sequence = send(&ros, client, value);
            assert!(sequence > last, "and no later one has it");
            heard = sequence;
            ros.wait_for(set, &On { clients: vec![client], ..On::default() });
            assert_eq!(take_response(&ros, client), Some((sequence, value + 1.0)));
        }
        assert_eq!(threads_of(&other), ["crossdock-ctl"]);
        // The server is known: a client that has just been made can call it.
        let new = ros.client("/move");
        assert!(is_available(&ros, new));
        // SAFETY: as the API asks.
        unsafe { (ros.api.rmw_destroy_client)(ros.node, new) };
        other.kill().unwrap();
        other.wait().unwrap();
        ros.until(|| ros.matched(ping) == 0 && !is_available(&ros, client));
        // Nobody hears these; both are no error.
        ros.publish(ping, message.as_ptr().cast());
        last = send(&ros, client, 0.0);
        assert!(last > heard, "a lost request has a number of its own");
    }
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_wait_set)(set);
        (ros.api.rmw_destroy_client)(ros.node, client);
        (ros.api.rmw_destroy_subscription)(ros.node, pong);
        (ros.api.rmw_destroy_publisher)(ros.node, ping);
    }
}

/// What this process has open, and what it has mapped of files: how often each thing, by the part
/// of its name that says what it is.
fn resources() -> BTreeMap<String, i64> {
    let mut found = BTreeMap::new();
    let mut add = |how: &str, name: &str| {
        let kind = name.split_once('[').filter(|(kind, _)| *kind != "anon_inode:");
        *found.entry(format!("{how} {}", kind.map_or(name, |(kind, _)| kind))).or_default() += 1;
    };
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        // The folder that is being read is gone when its turn comes.
        if let Ok(name) = std::fs::read_link(entry.unwrap().path()) {
            add("open", &name.to_string_lossy());
        }
    }
    for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() {
        // Memory without a name is the allocator's.
        if let Some(place) = line.find('/') {
            add("mapped", &line[place..]);
        }
    }
    found
}

/// What there is more or less of than before.
fn difference(before: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    let mut difference = resources();
    for (name, count) in before {
        *difference.entry(name.clone()).or_default() -= count;
    }
    difference.retain(|_, count| *count != 0);
    difference
}

/// Talks to processes that are killed in the middle of it. Does nothing unless a test has started
/// it: what a process has open is looked at, and tests have much open at the same time.
#[test]
fn the_side_that_lives_on() {
    let Some(domain) = std::env::var(SURVIVOR).ok() else { return };
    let domain = domain.parse().unwrap();
    let Some(mut ros) = Ros::new(domain, "here") else { return };
    let mut random = Random::new("kills");
    let support = ros.support(Language::C, PLAIN);
    let ping = ros.publisher("/ping", support, &DEFAULT);
    let pong = ros.subscription("/pong", support, &DEFAULT, &options());
    let (client, set) = (ros.client("/move"), ros.wait_set());
    let on = On { subscriptions: vec![pong], clients: vec![client], ..On::default() };
    let mut message: Plain = [0.0; 43];
    let kills = number("CROSSDOCK_KILLS").unwrap_or(if long() { 1000 } else { 50 });
    let before = resources();
    for kill in 0..kills {
        let mut other = other_side(domain);
        ros.until(|| ros.matched(ping) == 1 && is_available(&ros, client));
        let mut last = None;
        for value in 0..random.below(40) {
            let value = (kill * 100 + value) as f64;
            ros.publish(ping, [value; 43].as_ptr().cast());
            let sequence = send(&ros, client, value);
            // Every call is answered, by whom it was sent to.
            while last.is_none_or(|last| last < sequence) {
                assert!(ros.wait(set, &on, super::PATIENCE).contains(&true), "an answer");
                while ros.take(pong, message.as_mut_ptr().cast()) {
                    assert_eq!(message, [message[0]; 43], "whole");
                }
                while let Some((sequence, answered)) = take_response(&ros, client) {
                    assert!(last.is_none_or(|last| last < sequence), "in order, and once");
                    assert_eq!(answered, value + 1.0);
                    last = Some(sequence);
                }
            }
        }
        // It is killed with these before it.
        for value in 0..random.below(8) {
            ros.publish(ping, [value as f64; 43].as_ptr().cast());
            send(&ros, client, value as f64);
        }
        other.kill().unwrap();
        other.wait().unwrap();
        ros.until(|| {
            while ros.take(pong, message.as_mut_ptr().cast()) {}
            while take_response(&ros, client).is_some() {}
            ros.matched(ping) == 0 && !is_available(&ros, client)
        });
    }
    // All that belonged to those that were killed is given back when the last end has been worked
    // off and their messages have been taken, which stay readable until then.
    let end = Instant::now() + Duration::from_secs(super::PATIENCE.sec);
    while !difference(&before).is_empty() {
        let left = difference(&before);
        assert!(Instant::now() < end, "more (or less) than before the kills: {left:#?}");
        while ros.take(pong, message.as_mut_ptr().cast()) {}
        while take_response(&ros, client).is_some() {}
        std::thread::yield_now();
    }
    // Ports that nobody uses keep nothing either.
    for _ in 0..10 {
        let mut other = other_side(domain);
        ros.until(|| ros.matched(ping) == 1);
        other.kill().unwrap();
        other.wait().unwrap();
        ros.until(|| ros.matched(ping) == 0);
    }
    let end = Instant::now() + Duration::from_secs(super::PATIENCE.sec);
    while !difference(&before).is_empty() {
        let left = difference(&before);
        assert!(Instant::now() < end, "idle ports have more (or less) than before: {left:#?}");
        std::thread::yield_now();
    }
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_wait_set)(set);
        (ros.api.rmw_destroy_client)(ros.node, client);
        (ros.api.rmw_destroy_subscription)(ros.node, pong);
        (ros.api.rmw_destroy_publisher)(ros.node, ping);
    }
    done(kills, "kills");
}

#[test]
fn kills_of_the_other_side_leave_nothing_behind() {
    plugin();
    if types().is_none() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "plugin::processes::the_side_that_lives_on"]);
    let output = command.env(SURVIVOR, own_domain().to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
