//! Waits, events and callbacks.

use super::calls::{answer, send, take_request, take_response};
use super::{DEFAULT, NO_TIME, On, PLAIN, Plain, Ros, options, own_domain, zeroed};
use rmw_crossdock::abi::current::{EVENTS, Subscription};
use rmw_crossdock::abi::shared::{
    CountStatus, Event, LivelinessChangedStatus, MatchedStatus, Publisher, QosIncompatibleStatus,
    QosProfile, RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC, RMW_RET_OK, RMW_RET_UNSUPPORTED, Time,
};
use rmw_crossdock::introspection::Language;
use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(super) fn kind(name: &str) -> Option<u32> {
    EVENTS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number as u32)
}

#[test]
fn a_wait_ends_by_a_guard_condition_a_message_or_its_time() {
    let Some(mut ros) = Ros::new(own_domain(), "waits") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    let (guard, set) = (ros.guard(), ros.wait_set());
    let on = On { subscriptions: vec![subscription], guards: vec![guard], ..On::default() };
    assert_eq!(ros.wait(set, &on, NO_TIME), [false, false]);
    assert_eq!(ros.wait(set, &on, Time { sec: 0, nsec: 1_000_000 }), [false, false]);
    let mut message: Plain = [0.5; 43];
    for _ in 0..3 {
        // SAFETY: as the API asks.
        unsafe { (ros.api.rmw_trigger_guard_condition)(guard) };
        assert_eq!(ros.wait(set, &on, super::PATIENCE), [false, true]);
        assert_eq!(ros.wait(set, &on, NO_TIME), [false, false]);
        ros.publish(publisher, message.as_ptr().cast());
        // What is not taken stays there.
        assert_eq!(ros.wait(set, &on, super::PATIENCE), [true, false]);
        assert_eq!(ros.wait(set, &on, super::PATIENCE), [true, false]);
        assert!(ros.take(subscription, message.as_mut_ptr().cast()));
        assert_eq!(ros.wait(set, &on, NO_TIME), [false, false]);
    }
    // SAFETY: as the API asks.
    unsafe {
        assert_eq!((ros.api.rmw_destroy_guard_condition)(guard), RMW_RET_OK);
        assert_eq!((ros.api.rmw_destroy_wait_set)(set), RMW_RET_OK);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

#[test]
fn waits_without_time_see_what_was_published_before() {
    let Some(mut ros) = Ros::new(own_domain(), "looks") else { return };
    let support = ros.support(Language::C, PLAIN);
    let topics = ["/busy", "/looks"];
    let publishers = topics.map(|topic| ros.publisher(topic, support, &DEFAULT));
    let subscriptions = topics.map(|to| ros.subscription(to, support, &DEFAULT, &options()));
    let [busy, looks] = subscriptions;
    let (guard, set, other_set) = (ros.guard(), ros.wait_set(), ros.wait_set());
    let on = On { subscriptions: vec![busy, looks], ..On::default() };
    let mut message: Plain = [0.5; 43];
    let mut sees_and_takes = || {
        for _ in 0..3 {
            assert!(!ros.wait(set, &on, NO_TIME)[1]);
            ros.publish(publishers[1], message.as_ptr().cast());
            assert!(ros.wait(set, &on, NO_TIME)[1]);
            assert!(ros.take(looks, message.as_mut_ptr().cast()));
        }
    };
    sees_and_takes();
    // While another subscription always has something.
    ros.publish(publishers[0], [0.0; 43].as_ptr().cast::<f64>().cast());
    assert_eq!(ros.wait(set, &on, super::PATIENCE), [true, false]);
    sees_and_takes();
    // While another thread sleeps.
    let (shared, ends) = (Shared(&ros), (Pointer(guard), Pointer(other_set)));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (Shared(ros), (Pointer(guard), Pointer(set))) = (shared, ends);
            ros.wait_for(set, &On { guards: vec![guard], ..On::default() });
        });
        sees_and_takes();
        // SAFETY: as the API asks.
        unsafe { (ros.api.rmw_trigger_guard_condition)(guard) };
    });
    // SAFETY: as the API asks.
    unsafe {
        assert_eq!((ros.api.rmw_destroy_guard_condition)(guard), RMW_RET_OK);
        for set in [set, other_set] {
            assert_eq!((ros.api.rmw_destroy_wait_set)(set), RMW_RET_OK);
        }
        for (subscription, publisher) in subscriptions.into_iter().zip(publishers) {
            (ros.api.rmw_destroy_subscription)(ros.node, subscription);
            (ros.api.rmw_destroy_publisher)(ros.node, publisher);
        }
    }
}

#[test]
fn a_shutdown_ends_the_waits_of_its_context_and_later_ones_are_short() {
    let Some(mut ros) = Ros::new(own_domain(), "ends") else { return };
    let sets = [(ros.guard(), ros.wait_set()), (ros.guard(), ros.wait_set())];
    let context = Pointer(&raw mut *ros.context);
    let (shared, begin) = (Shared(&ros), std::time::Instant::now());
    std::thread::scope(|scope| {
        for (guard, set) in sets {
            let (shared, ends) = (Shared(shared.0), (Pointer(guard), Pointer(set)));
            scope.spawn(move || {
                let (Shared(ros), (Pointer(guard), Pointer(set))) = (shared, ends);
                let on = On { guards: vec![guard], ..On::default() };
                // The second wait begins after the shutdown, the first one probably before.
                // Neither is a time-out: rclcpp ends the process if a wait without a limit has one.
                let nothing = (RMW_RET_OK, vec![false]);
                assert_eq!(ros.wait_or_end(set, &on, super::PATIENCE), nothing);
                assert_eq!(ros.wait_or_end(set, &on, super::PATIENCE), nothing);
            });
        }
        let Pointer(context) = context;
        // SAFETY: as the API asks.
        assert_eq!(unsafe { (shared.0.api.rmw_shutdown)(context) }, RMW_RET_OK);
    });
    let patience = std::time::Duration::from_secs(super::PATIENCE.sec);
    assert!(begin.elapsed() < patience, "no wait lasted until its time was over");
    // A guard condition still ends a wait.
    for (guard, set) in sets {
        // SAFETY: as the API asks.
        unsafe {
            assert_eq!((ros.api.rmw_trigger_guard_condition)(guard), RMW_RET_OK);
            let on = On { guards: vec![guard], ..On::default() };
            assert_eq!(ros.wait(set, &on, super::PATIENCE), [true]);
            assert_eq!((ros.api.rmw_destroy_guard_condition)(guard), RMW_RET_OK);
            assert_eq!((ros.api.rmw_destroy_wait_set)(set), RMW_RET_OK);
        }
    }
}

#[test]
fn four_threads_wait_and_each_gets_its_own_messages() {
    const MESSAGES: usize = 200;
    let Some(mut ros) = Ros::new(own_domain(), "threads") else { return };
    let support = ros.support(Language::C, PLAIN);
    let all = QosProfile { depth: MESSAGES, ..DEFAULT };
    let topics = ["/a", "/b", "/c", "/d"];
    let publishers = topics.map(|topic| ros.publisher(topic, support, &all));
    let subscriptions = topics.map(|topic| ros.subscription(topic, support, &all, &options()));
    let sets = topics.map(|_| ros.wait_set());
    let shared = Shared(&ros);
    std::thread::scope(|scope| {
        for (subscription, set) in subscriptions.into_iter().zip(sets) {
            let ends = (Pointer(subscription), Pointer(set));
            scope.spawn(move || {
                let (Shared(ros), (Pointer(subscription), Pointer(set))) = (shared, ends);
                let on = On { subscriptions: vec![subscription], ..On::default() };
                let (mut message, mut next): (Plain, f64) = ([0.0; 43], 0.0);
                while next < MESSAGES as f64 {
                    ros.wait_for(set, &on);
                    while ros.take(subscription, message.as_mut_ptr().cast()) {
                        assert_eq!(message, [next; 43]);
                        next += 1.0;
                    }
                }
            });
        }
        for value in 0..MESSAGES {
            let message: Plain = [value as f64; 43];
            publishers.iter().for_each(|to| ros.publish(*to, message.as_ptr().cast()));
        }
    });
    // SAFETY: as the API asks.
    unsafe {
        for ((set, subscription), publisher) in sets.iter().zip(subscriptions).zip(publishers) {
            (ros.api.rmw_destroy_wait_set)(*set);
            (ros.api.rmw_destroy_subscription)(ros.node, subscription);
            (ros.api.rmw_destroy_publisher)(ros.node, publisher);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Shared<'a>(pub(super) &'a Ros);
// SAFETY: rmw's functions may be called from any thread.
unsafe impl Send for Shared<'_> {}

#[derive(Clone, Copy)]
pub(super) struct Pointer<T>(pub(super) *mut T);
// SAFETY: a handle of rmw, which any thread may use.
unsafe impl<T> Send for Pointer<T> {}

#[test]
fn a_profile_that_does_not_fit_is_an_event_on_both_sides() {
    let Some(mut ros) = Ros::new(own_domain(), "misfits") else { return };
    let support = ros.support(Language::C, PLAIN);
    let best_effort = QosProfile { reliability: 2, ..DEFAULT };
    let publisher = ros.publisher("/pose", support, &best_effort);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    assert_eq!(ros.matched(publisher), 0);
    let (mut offered, mut requested): (Event, Event) = (zeroed(), zeroed());
    let set = ros.wait_set();
    // SAFETY: as the API asks.
    unsafe {
        let offers = kind("RMW_EVENT_OFFERED_QOS_INCOMPATIBLE").unwrap();
        let requests = kind("RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE").unwrap();
        let init = ros.api.rmw_publisher_event_init;
        assert_eq!(init(&mut offered, publisher, requests), RMW_RET_UNSUPPORTED);
        assert_eq!(init(&mut offered, publisher, offers), RMW_RET_OK);
        let init = ros.api.rmw_subscription_event_init;
        assert_eq!(init(&mut requested, subscription, requests), RMW_RET_OK);
        for event in [&mut offered, &mut requested] {
            ros.wait_for(set, &On { events: vec![&mut *event], ..On::default() });
            let (mut status, mut taken): (QosIncompatibleStatus, bool) = (zeroed(), false);
            let place = std::ptr::from_mut(&mut status).cast();
            let ret = (ros.api.rmw_take_event)(event, place, &mut taken);
            assert_eq!((ret, taken), (RMW_RET_OK, true));
            assert_eq!((status.total_count, status.total_count_change), (1, 1));
            assert_eq!(status.last_policy_kind, 1 << 4, "reliability");
            let on = On { events: vec![event], ..On::default() };
            assert_eq!(ros.wait(set, &on, NO_TIME), [false]);
        }
        (ros.api.rmw_destroy_wait_set)(set);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

/// Takes the status of an event.
pub(super) fn status<T>(ros: &Ros, event: &Event) -> T {
    let (mut status, mut taken): (T, bool) = (zeroed(), false);
    let place = std::ptr::from_mut(&mut status).cast();
    // SAFETY: as the API asks.
    let ret = unsafe { (ros.api.rmw_take_event)(event, place, &mut taken) };
    assert_eq!((ret, taken), (RMW_RET_OK, true));
    status
}

#[test]
fn missed_deadlines_and_silent_publishers_are_events_on_both_sides() {
    let Some(mut ros) = Ros::new(own_domain(), "deadlines") else { return };
    let support = ros.support(Language::C, PLAIN);
    let deadline = Time { sec: 0, nsec: 50_000_000 };
    let profile = QosProfile {
        deadline,
        liveliness: RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC,
        liveliness_lease_duration: deadline,
        ..DEFAULT
    };
    let publisher = ros.publisher("/pose", support, &profile);
    let subscription = ros.subscription("/pose", support, &profile, &options());
    ros.until(|| ros.matched(publisher) == 1);
    let mut events: [Event; 4] = std::array::from_fn(|_| zeroed());
    let set = ros.wait_set();
    // SAFETY: as the API asks.
    unsafe {
        let [missed, lost, late, changed] = &mut events;
        for (event, name) in [
            (&mut *missed, "RMW_EVENT_OFFERED_DEADLINE_MISSED"),
            (lost, "RMW_EVENT_LIVELINESS_LOST"),
        ] {
            let ret = (ros.api.rmw_publisher_event_init)(event, publisher, kind(name).unwrap());
            assert_eq!(ret, RMW_RET_OK, "{name}");
        }
        for (event, name) in [
            (&mut *late, "RMW_EVENT_REQUESTED_DEADLINE_MISSED"),
            (changed, "RMW_EVENT_LIVELINESS_CHANGED"),
        ] {
            let ret =
                (ros.api.rmw_subscription_event_init)(event, subscription, kind(name).unwrap());
            assert_eq!(ret, RMW_RET_OK, "{name}");
        }
    }
    let message: Plain = [0.5; 43];
    ros.publish(publisher, message.as_ptr().cast());
    for event in &mut events {
        ros.wait_for(set, &On { events: vec![event], ..On::default() });
    }
    let [missed, lost, late, changed] = &events;
    for event in [missed, lost, late] {
        let CountStatus { total_count, total_count_change } = status(&ros, event);
        assert!(total_count > 0 && total_count == total_count_change);
    }
    let alive = |wanted: (i32, i32)| {
        let LivelinessChangedStatus { alive_count, not_alive_count, .. } = status(&ros, changed);
        (alive_count, not_alive_count) == wanted
    };
    ros.until(|| alive((0, 1)));
    ros.until(|| {
        // SAFETY: as the API asks.
        let ret = unsafe { (ros.api.rmw_publisher_assert_liveliness)(publisher) };
        assert_eq!(ret, RMW_RET_OK);
        alive((1, 0))
    });
    // SAFETY: as the API asks.
    unsafe { (ros.api.rmw_destroy_publisher)(ros.node, publisher) };
    ros.until(|| alive((0, 0)));
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_wait_set)(set);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
    }
}

unsafe extern "C" fn add(total: *const c_void, count: usize) {
    // SAFETY: a total that lives as long as the callback is set.
    let total = unsafe { &*total.cast::<AtomicUsize>() };
    total.fetch_add(count, Ordering::SeqCst);
}

#[test]
fn callbacks_tell_of_every_message_request_response_and_match() {
    let Some(ros) = Ros::new(own_domain(), "callbacks") else { return };
    let support = ros.support(Language::C, PLAIN);
    let totals: [AtomicUsize; 4] = Default::default();
    let [messages, requests, responses, matches] = &totals;
    let at = |total: &AtomicUsize| std::ptr::from_ref(total).cast::<c_void>();
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let (client, service) = (ros.client("/move"), ros.service("/move"));
    let mut event: Event = zeroed();
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    let mut message: Plain = [0.5; 43];
    // What is there before the callback is told, too.
    ros.publish(publisher, message.as_ptr().cast());
    // SAFETY: as the API asks.
    unsafe {
        let set = ros.api.rmw_subscription_set_on_new_message_callback;
        assert_eq!(set(subscription, Some(add), at(messages)), RMW_RET_OK);
        let set = ros.api.rmw_service_set_on_new_request_callback;
        assert_eq!(set(service, Some(add), at(requests)), RMW_RET_OK);
        let set = ros.api.rmw_client_set_on_new_response_callback;
        assert_eq!(set(client, Some(add), at(responses)), RMW_RET_OK);
        if let Some(kind) = kind("RMW_EVENT_PUBLICATION_MATCHED") {
            let ret = (ros.api.rmw_publisher_event_init)(&mut event, publisher, kind);
            assert_eq!(ret, RMW_RET_OK);
            (ros.api.rmw_event_set_callback)(&mut event, Some(add), at(matches));
            ros.until(|| matches.load(Ordering::SeqCst) > 0);
        }
    }
    ros.until(|| messages.load(Ordering::SeqCst) == 1);
    for _ in 0..4 {
        ros.publish(publisher, message.as_ptr().cast());
    }
    ros.until(|| messages.load(Ordering::SeqCst) == 5);
    while ros.take(subscription, message.as_mut_ptr().cast()) {}
    ros.until(|| super::calls::is_available(&ros, client));
    send(&ros, client, 2.0);
    ros.until(|| requests.load(Ordering::SeqCst) == 1);
    let (id, _) = take_request(&ros, service).unwrap();
    answer(&ros, service, id, 3.0);
    ros.until(|| responses.load(Ordering::SeqCst) == 1);
    assert_eq!(take_response(&ros, client).unwrap().1, 3.0);
    // SAFETY: as the API asks.
    unsafe {
        let set = ros.api.rmw_subscription_set_on_new_message_callback;
        assert_eq!(set(subscription, None, null()), RMW_RET_OK);
        ros.publish(publisher, message.as_ptr().cast());
        (ros.api.rmw_destroy_client)(ros.node, client);
        (ros.api.rmw_destroy_service)(ros.node, service);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
    assert_eq!(messages.load(Ordering::SeqCst), 5);
}

#[test]
fn callbacks_of_ports_with_a_small_depth_tell_of_every_call() {
    let small = QosProfile { depth: 3, ..DEFAULT };
    every_call_is_told(&DEFAULT, &small);
    every_call_is_told(&small, &DEFAULT);
}

fn every_call_is_told(of_client: &QosProfile, of_service: &QosProfile) {
    let Some(ros) = Ros::new(own_domain(), "few") else { return };
    let totals: [AtomicUsize; 2] = Default::default();
    let [requests, responses] = &totals;
    let at = |total: &AtomicUsize| std::ptr::from_ref(total).cast::<c_void>();
    let client = ros.client_with("/move", of_client);
    let service = ros.service_with("/move", of_service);
    ros.until(|| super::calls::is_available(&ros, client));
    // SAFETY: as the API asks.
    unsafe {
        let set = ros.api.rmw_service_set_on_new_request_callback;
        assert_eq!(set(service, Some(add), at(requests)), RMW_RET_OK);
        let set = ros.api.rmw_client_set_on_new_response_callback;
        assert_eq!(set(client, Some(add), at(responses)), RMW_RET_OK);
    }
    for round in 1..20 {
        (0..3).for_each(|_| assert!(send(&ros, client, 1.0) > 0));
        ros.until(|| requests.load(Ordering::SeqCst) == 3 * round);
        // One at a time: the others wait inside while further ones come.
        let (id, _) = take_request(&ros, service).unwrap();
        assert_eq!(answer(&ros, service, id, 2.0), RMW_RET_OK);
        // That a request is left out is told, too: there is nothing to take then.
        ros.until(|| responses.load(Ordering::SeqCst) >= round);
        if round % 3 == 0 {
            assert!(take_response(&ros, client).is_some());
        }
    }
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_client)(ros.node, client);
        (ros.api.rmw_destroy_service)(ros.node, service);
    }
}

#[test]
fn callbacks_that_follow_each_other_tell_of_each_message_once() {
    let Some(ros) = Ros::new(own_domain(), "followers") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    let (client, service) = (ros.client("/move"), ros.service("/move"));
    ros.until(|| super::calls::is_available(&ros, client));
    let message: Plain = [0.5; 43];
    let totals: [[AtomicUsize; 2]; 3] = Default::default();
    let counts = |at: usize| totals[at].each_ref().map(|total| total.load(Ordering::SeqCst));
    let add_to = |at: Option<usize>| {
        let call = at.map(|_| add as unsafe extern "C" fn(*const c_void, usize));
        let [messages, requests] = [0, 1]
            .map(|of| at.map_or(null(), |at| std::ptr::from_ref(&totals[at][of]).cast::<c_void>()));
        // SAFETY: as the API asks. rclcpp sets each callback twice.
        unsafe {
            for _ in 0..2 {
                let set = ros.api.rmw_subscription_set_on_new_message_callback;
                assert_eq!(set(subscription, call, messages), RMW_RET_OK);
                let set = ros.api.rmw_service_set_on_new_request_callback;
                assert_eq!(set(service, call, requests), RMW_RET_OK);
            }
        }
    };
    // Nothing is taken.
    let come = |count: usize| {
        for _ in 0..count {
            ros.publish(publisher, message.as_ptr().cast());
            send(&ros, client, 1.0);
        }
    };
    add_to(Some(0));
    come(1);
    ros.until(|| counts(0) == [1, 1]);
    add_to(Some(1));
    come(1);
    ros.until(|| counts(1) == [1, 1]);
    add_to(None);
    come(3);
    add_to(Some(2));
    assert_eq!(counts(2), [3, 3], "told by the time that it is set");
    come(2);
    ros.until(|| counts(2) == [5, 5]);
    add_to(None);
    assert_eq!([0, 1, 2].map(counts), [[1, 1], [1, 1], [5, 5]]);
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_client)(ros.node, client);
        (ros.api.rmw_destroy_service)(ros.node, service);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

/// A callback that runs until it may go on.
#[derive(Default)]
struct Slow {
    runs: AtomicBool,
    may_go_on: AtomicBool,
}

unsafe extern "C" fn run_slowly(slow: *const c_void, _: usize) {
    // SAFETY: one that lives as long as the callback is set.
    let slow = unsafe { &*slow.cast::<Slow>() };
    slow.runs.store(true, Ordering::SeqCst);
    while !slow.may_go_on.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

#[test]
fn a_callback_for_an_event_has_run_when_a_wait_for_the_event_ends() {
    let Some(kind) = kind("RMW_EVENT_PUBLICATION_MATCHED") else { return };
    let Some(mut ros) = Ros::new(own_domain(), "slow") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let (set, slow, mut event) = (ros.wait_set(), Slow::default(), zeroed::<Event>());
    // SAFETY: as the API asks.
    unsafe {
        let ret = (ros.api.rmw_publisher_event_init)(&mut event, publisher, kind);
        assert_eq!(ret, RMW_RET_OK);
        let told = (&raw const slow).cast();
        (ros.api.rmw_event_set_callback)(&mut event, Some(run_slowly), told);
    }
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    ros.until(|| slow.runs.load(Ordering::SeqCst));
    let on = On { events: vec![&raw mut event], ..On::default() };
    assert_eq!(ros.wait(set, &on, NO_TIME), [false], "its callback runs still");
    slow.may_go_on.store(true, Ordering::SeqCst);
    ros.wait_for(set, &on);
    // The status is taken with the next event in it, whose callback runs still: a thread that waits
    // for what the callback does is woken when it has run.
    slow.may_go_on.store(false, Ordering::SeqCst);
    slow.runs.store(false, Ordering::SeqCst);
    let other = ros.subscription("/pose", support, &DEFAULT, &options());
    ros.until(|| slow.runs.load(Ordering::SeqCst));
    let take = |changes: usize| {
        let (mut status, mut taken): (MatchedStatus, bool) = (zeroed(), false);
        let place = std::ptr::from_mut(&mut status).cast();
        // SAFETY: as the API asks.
        assert_eq!(unsafe { (ros.api.rmw_take_event)(&event, place, &mut taken) }, RMW_RET_OK);
        assert_eq!((status.total_count, status.total_count_change), (2, changes));
    };
    take(2);
    assert_eq!(ros.wait(set, &on, NO_TIME), [false]);
    slow.may_go_on.store(true, Ordering::SeqCst);
    ros.wait_for(set, &on);
    take(0);
    assert_eq!(ros.wait(set, &on, NO_TIME), [false]);
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_subscription)(ros.node, other);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
        (ros.api.rmw_destroy_wait_set)(set);
    }
}

/// A publisher whose callback publishes again until it has been told of five messages.
struct Echo<'a> {
    ros: &'a Ros,
    publisher: *const Publisher,
    told: AtomicUsize,
}

unsafe extern "C" fn publish_again(echo: *const c_void, count: usize) {
    // SAFETY: an echo that lives as long as the callback is set.
    let echo = unsafe { &*echo.cast::<Echo<'_>>() };
    if echo.told.fetch_add(count, Ordering::SeqCst) + count < 5 {
        let message: Plain = [0.5; 43];
        echo.ros.publish(echo.publisher, message.as_ptr().cast());
    }
}

#[test]
fn a_callback_has_run_when_a_publisher_of_its_context_returns_and_may_publish_itself() {
    let Some(ros) = Ros::new(own_domain(), "near") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    let (total, message) = (AtomicUsize::new(0), [0.5; 43]);
    ros.until(|| ros.matched(publisher) == 1);
    let set = ros.api.rmw_subscription_set_on_new_message_callback;
    ros.publish(publisher, message.as_ptr().cast());
    // SAFETY: as the API asks.
    assert_eq!(unsafe { set(subscription, Some(add), (&raw const total).cast()) }, RMW_RET_OK);
    // The first time a thread of the plug-in calls, for what was there.
    ros.until(|| total.load(Ordering::SeqCst) == 1);
    for number in 2..100 {
        ros.publish(publisher, message.as_ptr().cast());
        assert_eq!(total.load(Ordering::SeqCst), number);
    }
    let echo = Echo { ros: &ros, publisher, told: AtomicUsize::new(0) };
    let mut taken: Plain = [0.0; 43];
    while ros.take(subscription, taken.as_mut_ptr().cast()) {}
    // SAFETY: as the API asks.
    let set_echo = unsafe { set(subscription, Some(publish_again), (&raw const echo).cast()) };
    assert_eq!(set_echo, RMW_RET_OK);
    ros.publish(publisher, message.as_ptr().cast());
    assert_eq!(echo.told.load(Ordering::SeqCst), 5);
    // SAFETY: as the API asks.
    unsafe {
        assert_eq!(set(subscription, None, null()), RMW_RET_OK);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
    assert_eq!((total.into_inner(), echo.told.into_inner()), (99, 5));
}

/// A subscription whose callback ends itself.
struct Once<'a> {
    ros: &'a Ros,
    subscription: *mut Subscription,
    calls: AtomicUsize,
}

unsafe extern "C" fn end_itself(once: *const c_void, _: usize) {
    // SAFETY: one that lives as long as the callback is set.
    let once = unsafe { &*once.cast::<Once<'_>>() };
    once.calls.fetch_add(1, Ordering::SeqCst);
    let set = once.ros.api.rmw_subscription_set_on_new_message_callback;
    // SAFETY: as the API asks.
    assert_eq!(unsafe { set(once.subscription, None, null()) }, RMW_RET_OK);
}

#[test]
fn a_callback_may_end_itself_in_its_first_call() {
    let Some(ros) = Ros::new(own_domain(), "once") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    let message = [0.5; 43];
    ros.until(|| ros.matched(publisher) == 1);
    ros.publish(publisher, message.as_ptr().cast());
    let once = Once { ros: &ros, subscription, calls: AtomicUsize::new(0) };
    let set = ros.api.rmw_subscription_set_on_new_message_callback;
    // SAFETY: as the API asks.
    let was_set = unsafe { set(subscription, Some(end_itself), (&raw const once).cast()) };
    assert_eq!((was_set, once.calls.load(Ordering::SeqCst)), (RMW_RET_OK, 1));
    for _ in 0..10 {
        ros.publish(publisher, message.as_ptr().cast());
    }
    assert_eq!(once.calls.load(Ordering::SeqCst), 1);
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}
