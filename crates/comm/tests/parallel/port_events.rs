//! What ports tell of themselves, polled and by callback; and that no callback can stop the control
//! thread.

use crate::common;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};

use common::{LIMIT, Place, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    FreePublisherOptions, Maker, Participant, ParticipantOptions, PortEvent, PortGroup,
    PublisherOptions, Qos, QosConflict, SubscriberOptions,
};
use crossdock_msg::types::{sensor_msgs, std_msgs};

/// Waits for a call of this kind; others are passed over.
fn wait_for(calls: &Receiver<PortEvent>, kind: PortEvent) {
    while calls.recv_timeout(LIMIT).unwrap() != kind {}
}

fn tell(sender: &Sender<PortEvent>) -> impl FnMut(PortEvent) + Send + 'static {
    let sender = sender.clone();
    move |kind| sender.send(kind).unwrap_or_default()
}

#[test]
fn both_sides_hear_that_they_are_matched_and_that_the_other_has_gone() {
    let place = Place::new("matched");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let output = publisher(&talker, "/image", reliable(4));
    let (sender, calls) = channel();
    output.events().set_callback(PortEvent::Matched, tell(&sender)).unwrap();
    let input = subscriber(&listener, "/image", reliable(4));
    wait_for(&calls, PortEvent::Matched);
    let status = output.events().take_matched();
    assert_eq!((status.total, status.current, status.total_change), (1, 1, 1));
    assert!(listener.wait_until(LIMIT, || input.matched() == 1));
    assert_eq!(input.events().take_matched().current, 1);
    drop(input);
    wait_for(&calls, PortEvent::Matched);
    let status = output.events().take_matched();
    assert_eq!((status.total, status.current, status.current_change), (1, 0, -1));
    assert_eq!((status.total_change, output.events().take_matched().current_change), (0, 0));
    let input = subscriber(&listener, "/image", reliable(4));
    assert!(listener.wait_until(LIMIT, || input.matched() == 1));
    drop(output);
    assert!(listener.wait_until(LIMIT, || input.matched() == 0));
    let status = input.events().take_matched();
    assert_eq!((status.total, status.current, status.current_change), (1, 0, 0));
}

#[test]
fn ports_of_one_group_and_of_one_process_are_matched_as_well() {
    let place = Place::new("matched-group");
    let participant = place.open("both");
    let group = PortGroup::new();
    for group in [None, Some(&group)] {
        let (topic, qos) = ("/image", reliable(2));
        let options = PublisherOptions { node: "source", topic, qos, max_bytes: Some(8192), group };
        let output = participant.publisher::<sensor_msgs::Image>(options).unwrap();
        let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group };
        let input = participant.subscriber::<sensor_msgs::Image>(options).unwrap();
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        assert_eq!(output.events().take_matched().current, 1);
        assert_eq!(input.events().take_matched().current, 1);
        drop(input);
        let current = || output.events().take_matched().current;
        assert!(participant.wait_until(LIMIT, || current() == 0));
    }
}

#[test]
fn what_does_not_fit_is_told_on_both_sides_with_the_policy() {
    let place = Place::new("incompatible");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let output = publisher(&talker, "/image", Qos::best_effort(1));
    let (sender, calls) = channel();
    output.events().set_callback(PortEvent::IncompatibleQos, tell(&sender)).unwrap();
    let input = subscriber(&listener, "/image", reliable(1));
    wait_for(&calls, PortEvent::IncompatibleQos);
    for events in [output.events(), input.events()] {
        let status = events.take_incompatible_qos();
        assert_eq!(status.last, Some(QosConflict::Reliability));
        assert_eq!((status.count.total, status.count.change), (1, 1));
        assert_eq!(events.take_incompatible_qos().count.change, 0);
        assert_eq!(events.take_incompatible_type().total, 0);
        assert_eq!(events.take_matched().total, 0);
    }
    output.events().set_callback(PortEvent::IncompatibleType, tell(&sender)).unwrap();
    let options = SubscriberOptions {
        node: "text",
        topic: "/image",
        qos: Qos::best_effort(1),
        doorbell: None,
        group: None,
    };
    let text = listener.subscriber::<std_msgs::String>(options).unwrap();
    wait_for(&calls, PortEvent::IncompatibleType);
    assert_eq!(output.events().take_incompatible_type().total, 1);
    assert_eq!(text.events().take_incompatible_type().change, 1);
}

#[test]
fn both_ports_of_a_plug_ins_process_hear_what_does_not_fit() {
    let place = Place::new("incompatible-inside");
    let options = ParticipantOptions { maker: Maker::Rmw, ..place.options("plug-in") };
    let plug_in = Participant::open(options).unwrap();
    let output = publisher(&plug_in, "/image", Qos::best_effort(1));
    let input = subscriber(&plug_in, "/image", reliable(1));
    for events in [output.events(), input.events()] {
        assert_eq!(events.take_incompatible_qos().count.total, 1);
    }
}

#[test]
fn lost_messages_are_told_with_total_and_change() {
    let place = Place::new("lost");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(2).overwriting());
    let input = subscriber(&participant, "/image", reliable(2));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    let (sender, calls) = channel();
    input.events().set_callback(PortEvent::MessageLost, tell(&sender)).unwrap();
    (1..=5).for_each(|number| publish(&output, number));
    assert_eq!(drain(&input), [4, 5]);
    wait_for(&calls, PortEvent::MessageLost);
    let lost = input.events().take_lost();
    assert_eq!((lost.total, lost.change), (3, 3));
    (6..=10).for_each(|number| publish(&output, number));
    drain(&input);
    let lost = input.events().take_lost();
    assert_eq!((lost.total, lost.change), (6, 3));
    assert_eq!(input.lost(), 6);
}

#[test]
fn a_callback_hears_of_what_happened_before_it_was_set_and_of_nothing_after_it_was_cleared() {
    let place = Place::new("late-callback");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(2));
    let input = subscriber(&participant, "/image", reliable(2));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    let (sender, calls) = channel();
    output.events().set_callback(PortEvent::Matched, tell(&sender)).unwrap();
    wait_for(&calls, PortEvent::Matched);
    output.events().clear_callback(PortEvent::Matched);
    drop(sender);
    drop(input);
    // The sender has gone with the callback.
    assert!(calls.recv_timeout(LIMIT).is_err());
    assert!(participant.wait_until(LIMIT, || output.peers() == 0));
}

/// The control thread connects further ports.
fn control_thread_lives(place: &Place, participant: &Participant) {
    let other = place.open("other");
    let output = publisher(participant, "/alive", reliable(2));
    let input = subscriber(&other, "/alive", reliable(2));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    assert!(other.wait_until(LIMIT, || input.matched() == 1));
    publish(&output, 1);
    assert_eq!(drain(&input), [1]);
}

#[test]
fn a_callback_that_blocks_does_not_stop_the_control_thread() {
    let place = Place::new("blocking");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(2));
    let (inside, end) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let barriers = (Arc::clone(&inside), Arc::clone(&end));
    output
        .events()
        .set_callback(PortEvent::Matched, move |_| {
            barriers.0.wait();
            barriers.1.wait();
        })
        .unwrap();
    let _input = subscriber(&participant, "/image", reliable(2));
    inside.wait();
    control_thread_lives(&place, &participant);
    // What happens meanwhile is told when it has returned.
    output.events().clear_callback(PortEvent::Matched);
    let (sender, calls) = channel();
    output.events().set_callback(PortEvent::Matched, tell(&sender)).unwrap();
    end.wait();
    wait_for(&calls, PortEvent::Matched);
}

#[test]
fn a_callback_that_panics_is_not_called_again_and_stops_nothing() {
    let place = Place::new("panicking");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(2));
    let (sender, dropped) = channel::<()>();
    output
        .events()
        .set_callback(PortEvent::Matched, move |_| {
            let _dropped_with_it = &sender;
            panic!("a test's callback panics");
        })
        .unwrap();
    let input = subscriber(&participant, "/image", reliable(2));
    assert!(dropped.recv_timeout(LIMIT).is_err());
    control_thread_lives(&place, &participant);
    let (sender, calls) = channel();
    output.events().take_matched();
    output.events().set_callback(PortEvent::Matched, tell(&sender)).unwrap();
    drop(input);
    wait_for(&calls, PortEvent::Matched);
}

/// What a callback owns, and what it panics with: it panics once more when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "what a callback owns panics when it goes");
    }
}

#[test]
fn a_callback_that_panics_again_when_it_is_dropped_keeps_no_other_from_being_called() {
    let place = Place::new("bomb");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let (first, output) =
        (publisher(&talker, "/first", reliable(1)), publisher(&talker, "/image", reliable(1)));
    let (began, begins) = channel();
    let (go, goes) = channel::<()>();
    let hold_up = move |_| {
        began.send(()).unwrap_or_default();
        goes.recv().unwrap_or_default();
    };
    first.events().set_callback(PortEvent::Matched, hold_up).unwrap();
    let bomb = Bomb;
    let explode = move |_| {
        let _owned = &bomb;
        std::panic::panic_any(Bomb)
    };
    let (sender, calls) = channel();
    output.events().set_callback(PortEvent::Matched, explode).unwrap();
    output.events().set_callback(PortEvent::IncompatibleQos, tell(&sender)).unwrap();
    let _first = subscriber(&listener, "/first", reliable(1));
    begins.recv_timeout(LIMIT).unwrap();
    // Meanwhile both kinds are due: one turn of the thread tells them, one after the other.
    let _fits = subscriber(&listener, "/image", reliable(1));
    let _never_fits = subscriber(&listener, "/image", reliable(1).transient_local());
    let kinds = [PortEvent::Matched, PortEvent::IncompatibleQos];
    let is_due = || kinds.iter().all(|kind| output.events().has_news(*kind));
    assert!(talker.wait_until(LIMIT, is_due));
    go.send(()).unwrap();
    wait_for(&calls, PortEvent::IncompatibleQos);
}

#[test]
fn a_port_and_its_participant_may_go_while_its_callback_runs() {
    let place = Place::new("dropping");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(2));
    let (ask, asked) = channel();
    let (gone, has_gone) = channel();
    // What the callback owns keeps the participant; it goes with the callback.
    let kept = participant.clone();
    output
        .events()
        .set_callback(PortEvent::Matched, move |_| {
            let _ = kept.peers();
            ask.send(()).unwrap();
            has_gone.recv_timeout(LIMIT).unwrap();
        })
        .unwrap();
    let input = subscriber(&participant, "/image", reliable(2));
    asked.recv_timeout(LIMIT).unwrap();
    drop(output);
    drop(input);
    control_thread_lives(&place, &participant);
    drop(participant);
    gone.send(()).unwrap();
    // The callback, and with it the participant, is dropped on its thread; the files go last.
    let end = std::time::Instant::now() + LIMIT;
    while place.files() > 0 && std::time::Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!(place.files(), 0);
}

#[test]
fn a_callback_that_drops_its_own_port_stops_nothing_and_is_not_called_again() {
    let place = Place::new("dropping-its-own");
    let participant = place.open("both");
    let (topic, qos) = ("/image", reliable(2));
    let options = FreePublisherOptions { node: "free", topic, qos, max_bytes: Some(8192) };
    let output = participant.free_publisher::<sensor_msgs::Image>(options).unwrap();
    let events = output.events();
    let port = Arc::new(Mutex::new(Some(output)));
    let (its_port, (sender, calls)) = (Arc::clone(&port), channel());
    events
        .set_callback(PortEvent::Matched, move |kind| {
            let dropped = its_port.lock().unwrap().take();
            sender.send((kind, dropped.is_some())).unwrap();
            drop(dropped);
        })
        .unwrap();
    let input = subscriber(&participant, "/image", reliable(2));
    assert_eq!(calls.recv_timeout(LIMIT), Ok((PortEvent::Matched, true)));
    assert!(participant.wait_until(LIMIT, || input.matched() == 0));
    // The callback, and with it the sender, has gone with its port.
    assert!(calls.recv_timeout(LIMIT).is_err());
    assert!(port.lock().unwrap().is_none());
    control_thread_lives(&place, &participant);
}
