//! Uploaders of publishers: when they are asked, who waits for them and who does not, and what
//! becomes of a message that is uploaded and not published. The device is none: what it does is the
//! test's to say.

use crate::common;
use common::users::told;
use common::{LIMIT, Place, check, drain, publish, publisher, reliable, subscriber, try_publish};
use crossdock_comm::{
    BackPressure, Participant, Publisher, Qos, Sample, SlabMemory, SlabTaker, Subscriber,
    SubscriberOptions, Uploader, Uploading,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::FencePoint;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What an uploader was told.
#[derive(Default)]
struct Told {
    /// Points of the messages that it uploads, and where these lie.
    uploaded: Vec<(FencePoint, usize)>,
    taken_back: Vec<u64>,
}

/// Uploads everything; when it is there the test says.
struct Noting(Rc<RefCell<Told>>);

impl Uploader for Noting {
    fn upload(&mut self, message: &Uploading<'_>) -> bool {
        let at = message.payload().as_ptr().addr();
        assert_eq!(message.point().value, message.seq());
        self.0.borrow_mut().uploaded.push((message.point(), at));
        true
    }

    fn take_back(&mut self, message: &Uploading<'_>) {
        self.0.borrow_mut().taken_back.push(message.seq());
    }
}

fn with_uploader(output: &Publisher<Image>) -> Rc<RefCell<Told>> {
    let told = Rc::default();
    assert!(output.handle().upload_by(Box::new(Noting(Rc::clone(&told)))));
    assert!(!output.handle().upload_by(Box::new(Noting(Rc::clone(&told)))), "it has one");
    told
}

struct Taker;

impl SlabTaker for Taker {
    fn device(&self) -> &str {
        "gpu:0"
    }

    fn import(&self, _: BorrowedFd<'_>, _: u64) -> Result<SlabMemory, String> {
        Ok(Arc::new(()))
    }
}

fn device_subscriber(participant: &Participant, qos: Qos) -> Subscriber<Image> {
    let (node, topic) = ("kernels", "/image");
    let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
    participant.subscriber_for_device(options, BackPressure::All).unwrap()
}

/// The next message, when it has come.
fn next(sink: &Participant, input: &Subscriber<Image>) -> Sample<Image> {
    let taken = RefCell::new(None);
    let is_there = || {
        *taken.borrow_mut() = input.take().unwrap();
        taken.borrow().is_some()
    };
    assert!(sink.wait_until(LIMIT, is_there), "no message came");
    taken.into_inner().unwrap()
}

#[test]
fn a_subscriber_on_the_processor_does_not_wait_for_the_uploader() {
    let place = Place::new("uploading-mixed");
    let (source, sink) = (place.open("source"), place.open("sink"));
    let output = publisher(&source, "/image", reliable(4));
    let told = with_uploader(&output);
    let (host, kernels) =
        (subscriber(&sink, "/image", reliable(4)), device_subscriber(&sink, reliable(4)));
    kernels.handle().take_slabs(Some(Arc::new(Taker)));
    assert!(source.wait_until(LIMIT, || output.matched() == 2));
    publish(&output, 1);
    let (seen, uploaded) = (next(&sink, &host), next(&sink, &kernels));
    assert_eq!((check(&seen), check(&uploaded)), (1, 1));
    let point = uploaded.uploaded_point().expect("it is uploaded");
    assert_eq!(point.is_reached(), Ok(false));
    told.borrow().uploaded[0].0.timeline.advance(1);
    assert!(kernels.handle().await_uploaded(&point));
    // A failed device, and a publisher that is gone, do not come; neither counts as a loss.
    publish(&output, 2);
    publish(&output, 3);
    told.borrow().uploaded[0].0.timeline.advance(2);
    drop(output);
    let point = || next(&sink, &kernels).uploaded_point().unwrap();
    let (second, third) = (point(), point());
    assert!(kernels.handle().await_uploaded(&second) && !kernels.handle().await_uploaded(&third));
    assert_eq!(kernels.handle().lost(), 0);
}

#[test]
fn a_device_that_never_uploads_stops_a_subscriber_once_and_its_publisher_is_cut_off() {
    let place = Place::new("uploading-never");
    let (source, sink) = (place.open("source"), place.open("sink"));
    let output = publisher(&source, "/image", reliable(4));
    let _told = with_uploader(&output);
    let kernels = device_subscriber(&sink, reliable(4));
    kernels.handle().take_slabs(Some(Arc::new(Taker)));
    assert!(source.wait_until(LIMIT, || output.matched() == 1));
    kernels.set_device_patience(Duration::from_millis(50));
    (1..=2).for_each(|number| publish(&output, number));
    let point = next(&sink, &kernels).uploaded_point().expect("it is uploaded");
    assert!(!kernels.handle().await_uploaded(&point));
    let is_cut_off = || kernels.matched() == 0;
    assert!(sink.wait_until(LIMIT, is_cut_off), "its publisher is matched still");
    let text = told(&sink, "its publisher is cut off");
    assert!(text.contains("`/image`") && text.contains("was not uploaded"), "{text}");
    // Another one lies there, and nobody waits for it; nor does the publisher for the subscriber.
    assert!(kernels.take().unwrap().is_none());
    assert!(source.wait_until(LIMIT, || output.matched() == 0));
    (3..=20).for_each(|number| publish(&output, number));
}

#[test]
fn only_what_somebody_takes_is_uploaded() {
    // In one process, and in two; decided before anything is published, and after.
    for (name, late) in [("one", false), ("one", true), ("two", false), ("two", true)] {
        let place = Place::new("uploading-taken");
        let source = place.open("source");
        let other = (name == "two").then(|| place.open("sink"));
        let sink = other.as_ref().unwrap_or(&source);
        let output = publisher(&source, "/image", Qos::best_effort(4));
        let told = with_uploader(&output);
        let uploaded = || told.borrow().uploaded.len();
        publish(&output, 1);
        let host = subscriber(sink, "/image", Qos::best_effort(4));
        assert!(source.wait_until(LIMIT, || output.matched() == 1));
        publish(&output, 2);
        assert_eq!(uploaded(), 0, "{name}: nobody is on a device");
        let declining = device_subscriber(sink, Qos::best_effort(4));
        if !late {
            declining.handle().take_slabs(None);
        }
        assert!(source.wait_until(LIMIT, || output.matched() == 2));
        // While it has not decided it may take them. What it says comes after its connection.
        let mut number = 2;
        let mut publish_next = || {
            number += 1;
            publish(&output, number);
        };
        if late {
            publish_next();
            assert_eq!(uploaded(), 1, "{name}");
            declining.handle().take_slabs(None);
        }
        let declined = || {
            let before = uploaded();
            publish_next();
            uploaded() == before
        };
        assert!(source.wait_until(LIMIT, declined), "{name} {late}");
        let kernels = device_subscriber(sink, Qos::best_effort(4));
        kernels.handle().take_slabs(Some(Arc::new(Taker)));
        assert!(source.wait_until(LIMIT, || output.matched() == 3));
        let before = uploaded();
        publish(&output, 100);
        assert_eq!(uploaded(), before + 1, "{name}");
        drop(kernels);
        assert!(source.wait_until(LIMIT, || output.matched() == 2));
        publish(&output, 101);
        assert_eq!(uploaded(), before + 1, "{name}: it has gone");
        let mut last = 0;
        let has_all = || {
            last = drain(&host).last().copied().unwrap_or(last);
            last == 101
        };
        assert!(sink.wait_until(LIMIT, has_all), "{name}");
    }
}

#[test]
fn a_message_that_is_not_published_is_taken_back_and_its_memory_kept_until_it_is_there() {
    let place = Place::new("uploading-refused");
    let (source, sink) = (place.open("source"), place.open("sink"));
    let qos = Qos::reliable(2, Duration::from_millis(20));
    let output = publisher(&source, "/image", qos);
    let told = with_uploader(&output);
    let kernels = device_subscriber(&sink, qos);
    kernels.handle().take_slabs(Some(Arc::new(Taker)));
    assert!(source.wait_until(LIMIT, || output.matched() == 1));
    (1..=2).for_each(|number| publish(&output, number));
    // The subscriber is two behind.
    assert!(try_publish(&output, 3).is_err());
    assert_eq!(told.borrow().taken_back, [3]);
    assert_eq!([(); 2].map(|()| check(&next(&sink, &kernels))), [1, 2]);
    publish(&output, 4);
    let sample = next(&sink, &kernels);
    assert_eq!((sample.seq(), check(&sample)), (3, 4));
    assert!(sample.uploaded_point().is_some());
    drop(sample);
    // All four that the device was given, until it says that it has them: the memory of one was
    // free again when it was taken back.
    let given: BTreeSet<usize> = told.borrow().uploaded.iter().map(|(_, at)| *at).collect();
    let used_again = || {
        let loans = std::iter::from_fn(|| output.loan(Extra::none().bytes(2000)).ok());
        let mut loans: Vec<_> = loans.collect();
        let used: BTreeSet<_> = loans.iter_mut().map(|it| it.bytes_mut().as_ptr().addr()).collect();
        used.intersection(&given).count()
    };
    let kept = given.len() - used_again();
    assert!(kept >= 2, "{kept} of {given:?} are kept");
    told.borrow().uploaded[0].0.timeline.advance(3);
    // The newest stays in the ring for who comes late, or not.
    assert!(given.len() - used_again() < kept);
}
