//! Device memory on its way from publishers to subscribers: who gets it, who knows of it, and what
//! becomes of messages that somebody cannot reach. The device is none: its memory is a memory
//! object.

use crate::common;
use common::{LIMIT, Place, check, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    BackPressure, Event, Participant, Publisher, Region, Scratch, Slab, SlabMemory, SlabTaker,
    Subscriber, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_shm::Sharing;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// Maps what it gets.
struct Taker {
    device: &'static str,
    imported: AtomicUsize,
}

impl Taker {
    fn of(device: &'static str) -> Arc<Taker> {
        Arc::new(Taker { device, imported: AtomicUsize::new(0) })
    }
}

impl SlabTaker for Taker {
    fn device(&self) -> &str {
        self.device
    }

    fn import(&self, memory: BorrowedFd<'_>, bytes: u64) -> Result<SlabMemory, String> {
        let region = Region::open("slab", memory, bytes, Sharing::Shown);
        self.imported.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(region.map_err(|error| error.to_string())?))
    }
}

fn device_subscriber(participant: &Participant) -> Subscriber<Image> {
    let (topic, qos) = ("/image", reliable(4));
    let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group: None };
    participant.subscriber_for_device(options, BackPressure::All).unwrap()
}

/// A slab for the chunk that the next loan gets, and its memory.
fn offer(output: &Publisher<Image>) -> (Arc<Slab>, Scratch) {
    offer_with(output, |shape_bytes| shape_bytes)
}

/// The same with memory of another size.
fn offer_with(output: &Publisher<Image>, bytes: fn(u64) -> u64) -> (Arc<Slab>, Scratch) {
    let mut loan = output.loan(Extra::none().bytes(100)).unwrap();
    let region = loan.region();
    let offset = (loan.bytes_mut().as_ptr().addr() - region.address()) as u64;
    let shape = region.grid().unwrap().slab_around(offset, 0, 4).unwrap();
    let memory = Scratch::create_open("slab", bytes(shape.bytes().unwrap())).unwrap();
    let slab = Arc::new(Slab::create("gpu:0", shape, Arc::new(())).unwrap());
    assert!(region.add_slab(&slab));
    output.handle().offer_slab(&slab, Some(memory.fd().try_clone_to_owned().unwrap()));
    (slab, memory)
}

/// Publishes a message whose pixels lie in the slab.
fn publish_away(output: &Publisher<Image>, slab: &Slab) {
    let mut loan = output.loan(Extra::none().bytes(100)).unwrap();
    let region = loan.region();
    let pixels = loan.message().data_uninit(100).unwrap().as_ptr().addr();
    let offset = (pixels - region.address()) as u64;
    assert!(slab.note(output.handle().published() + 1, offset, 100));
    loan.leave_on_device();
    loan.publish().map_err(|refused| refused.reason).unwrap();
}

/// Takes a message whose pixels lie in a slab of the device, and answers the slab.
fn take_away(input: &Subscriber<Image>) -> Arc<Slab> {
    let sample = input.take().unwrap().expect("a message");
    assert!(sample.away());
    let region = sample.region().unwrap();
    let pixels = sample.message().data().unwrap();
    let offset = (pixels.as_ptr().addr() - region.address()) as u64;
    let slab = region.slab_at(offset, 100).expect("a slab");
    assert!(slab.holds(sample.seq(), offset, 100));
    Arc::clone(slab)
}

#[test]
fn a_slab_reaches_subscribers_in_another_process_once() {
    let place = Place::new("slabs");
    let (source, sink) = (place.open("source"), place.open("sink"));
    let output = publisher(&source, "/image", reliable(4));
    let (input, taker) = (device_subscriber(&sink), Taker::of("gpu:0"));
    input.handle().take_slabs(Some(taker.clone()));
    assert!(source.wait_until(LIMIT, || output.matched() == 1));
    let (slab, mut memory) = offer(&output);
    assert!(output.handle().slabs_reach_all());
    publish_away(&output, &slab);
    let received = take_away(&input);
    assert_eq!((received.device(), received.shape()), ("gpu:0", slab.shape()));
    // It is the same memory.
    let theirs = Arc::clone(received.memory()).downcast::<Region>().expect("as imported");
    assert_eq!(theirs.bytes() as u64, slab.shape().bytes().unwrap());
    assert!(memory.write(0, &[7]) && !theirs.is_writable());
    // One that comes later gets what was offered before, and what its process has already.
    let late = device_subscriber(&sink);
    late.handle().take_slabs(Some(taker.clone()));
    assert!(source.wait_until(LIMIT, || output.matched() == 2));
    assert!(output.handle().slabs_reach_all());
    publish_away(&output, &slab);
    assert!(Arc::ptr_eq(&take_away(&late), &take_away(&input)));
    assert_eq!(taker.imported.load(Ordering::SeqCst), 1);
}

#[test]
fn subscribers_in_the_same_process_share_the_slab_itself() {
    let place = Place::new("slabs-inside");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(4));
    let (slab, _memory) = offer(&output);
    let (input, taker) = (device_subscriber(&participant), Taker::of("gpu:0"));
    input.handle().take_slabs(Some(taker.clone()));
    assert!(output.handle().slabs_reach_all());
    publish_away(&output, &slab);
    assert!(Arc::ptr_eq(&take_away(&input), &slab));
    assert_eq!(taker.imported.load(Ordering::SeqCst), 0);
    // A message that no device keeps is not there.
    publish(&output, 2);
    assert!(!input.take().unwrap().expect("a message").away());
}

#[test]
fn a_publisher_waits_until_a_subscriber_has_decided() {
    for takes in [true, false] {
        let place = Place::new("slabs-undecided");
        let source = place.open("source");
        let output = publisher(&source, "/image", reliable(4));
        let (offered, decides) = channel();
        let (is_decided, end) = (AtomicBool::new(false), channel::<()>());
        std::thread::scope(|scope| {
            let (place, is_decided) = (&place, &is_decided);
            scope.spawn(move || {
                let sink = place.open("sink");
                let input = device_subscriber(&sink);
                decides.recv().unwrap();
                is_decided.store(true, Ordering::SeqCst);
                input.handle().take_slabs(takes.then(|| Taker::of("gpu:0") as _));
                let _ = end.1.recv();
            });
            assert!(source.wait_until(LIMIT, || output.matched() == 1));
            let _slab = offer(&output);
            offered.send(()).unwrap();
            assert_eq!(output.handle().slabs_reach_all(), takes);
            assert!(is_decided.load(Ordering::SeqCst), "it did not wait");
            drop(end.0);
        });
        // Nobody is left who does not have it.
        assert!(source.wait_until(LIMIT, || output.matched() == 0));
        assert!(output.handle().slabs_reach_all());
    }
}

#[test]
fn a_slab_that_cannot_be_used_is_refused_and_both_sides_know() {
    // It is of another device; its memory is smaller than it says.
    refused("gpu:1", |bytes| bytes, &["gpu:0", "its node is on gpu:1"]);
    refused("gpu:0", |bytes| bytes / 2, &["gpu:0", "are needed; the peer is at fault"]);
}

fn refused(device: &'static str, bytes: fn(u64) -> u64, expected: &[&str]) {
    let place = Place::new("slabs-refused");
    let (source, sink) = (place.open("source"), place.open("sink"));
    let output = publisher(&source, "/image", reliable(4));
    let input = device_subscriber(&sink);
    input.handle().take_slabs(Some(Taker::of(device)));
    assert!(source.wait_until(LIMIT, || output.matched() == 1));
    let _slab = offer_with(&output, bytes);
    assert!(!output.handle().slabs_reach_all());
    let told = Mutex::new(Vec::new());
    let is_told = || {
        let mut told = told.lock().unwrap();
        told.extend(sink.take_events().0.iter().filter_map(|event| match event {
            Event::Trouble(text) => Some(text.clone()),
            _ => None,
        }));
        !told.is_empty()
    };
    assert!(sink.wait_until(LIMIT, is_told));
    let told = told.lock().unwrap();
    let parts = ["`/image`", "copied through memory of the host"];
    let mut parts = parts.iter().chain(expected);
    assert!(parts.all(|part| told[0].contains(part)), "{told:?}");
    // What is left on the device all the same is passed over, and everything else comes.
    publish(&output, 1);
    assert!(sink.wait_until(LIMIT, || input.take().unwrap().is_some()));
}

#[test]
fn who_cannot_reach_a_message_passes_it_over_and_counts_it() {
    let place = Place::new("slabs-away");
    let (source, sink) = (place.open("source"), place.open("sink"));
    let output = publisher(&source, "/image", reliable(4));
    // On the processor, and on a device whose node has not got the slab.
    let (plain, without) = (subscriber(&sink, "/image", reliable(4)), device_subscriber(&sink));
    without.handle().take_slabs(None);
    assert!(source.wait_until(LIMIT, || output.matched() == 2));
    assert!(sink.wait_until(LIMIT, || plain.matched() + without.matched() == 2));
    let (slab, _memory) = offer(&output);
    assert!(!output.handle().slabs_reach_all());
    publish_away(&output, &slab);
    publish(&output, 2);
    for input in [plain, without] {
        assert_eq!(check(&input.take().unwrap().expect("the second")), 2);
        assert_eq!((input.counters().corrupt, input.lost()), (1, 1));
    }
}
