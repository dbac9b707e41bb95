//! Messages and shared buffers in memory that only one process has: who gets them there, who is
//! refused, and that the memory goes back. The driver is none: its memory is the heap's.

use crate::common;
use common::{LIMIT, Place, check, publish, reliable, subscriber};
use crossdock_comm::{
    Access, BufferError, DriverMemory, Echo, EchoBuffer, EchoError, Event, MemoryMaker, Observer,
    ObserverOptions, Part, Participant, PortError, PortGroup, Publisher, PublisherOptions,
    Rendezvous, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one memory is made of; says when it has gone.
#[derive(Debug)]
struct Heap {
    bytes: Box<[UnsafeCell<u8>]>,
    alive: Arc<AtomicUsize>,
}

// SAFETY: it gives out its address only.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Drop for Heap {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Debug, Default)]
struct Maker {
    made: Arc<AtomicUsize>,
    alive: Arc<AtomicUsize>,
    /// It makes none.
    is_full: bool,
}

impl MemoryMaker for Maker {
    fn make(&self, bytes: u64) -> Result<DriverMemory, String> {
        if self.is_full {
            return Err("gpu:0 has no room".to_owned());
        }
        self.made.fetch_add(1, Ordering::SeqCst);
        self.alive.fetch_add(1, Ordering::SeqCst);
        // Nothing is zero that need not be, and nothing aligned.
        let bytes: Box<[_]> = (0..bytes + 64).map(|_| UnsafeCell::new(0xA5)).collect();
        let heap = Arc::new(Heap { bytes, alive: Arc::clone(&self.alive) });
        let start = UnsafeCell::raw_get(heap.bytes.as_ptr());
        let all = std::ptr::slice_from_raw_parts_mut(start, heap.bytes.len());
        // SAFETY: its cells live as long as it does, and nobody else uses them.
        Ok(unsafe { DriverMemory::new(all, heap) }.unwrap())
    }

    fn bytes_max(&self) -> u64 {
        64 << 10
    }
}

impl Maker {
    fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }
}

fn publisher_in(
    participant: &Participant,
    maker: &Maker,
    max_bytes: Option<usize>,
    group: Option<&PortGroup>,
) -> Publisher<Image> {
    try_publisher_in(participant, maker, max_bytes, group).unwrap()
}

fn try_publisher_in(
    participant: &Participant,
    maker: &Maker,
    max_bytes: Option<usize>,
    group: Option<&PortGroup>,
) -> Result<Publisher<Image>, PortError> {
    let (topic, qos) = ("/image", reliable(4));
    let options = PublisherOptions { node: "source", topic, qos, max_bytes, group };
    participant.publisher_in(options, Box::new(maker.clone()))
}

/// Whether bytes lie in memory of a driver's, and where a subscriber's region has them.
fn is_private(region: &crossdock_comm::Region, bytes: &[u8]) -> bool {
    let offset = bytes.as_ptr().addr() - region.address();
    region.driver().is_some() && offset < region.bytes() && region.address().is_multiple_of(64)
}

#[test]
fn messages_are_read_where_they_were_written_by_all_executors_of_the_process() {
    let place = Place::new("private");
    let participant = place.open("both");
    let maker = Maker::default();
    let (here, there) = (PortGroup::new(), PortGroup::new());
    let output = publisher_in(&participant, &maker, Some(8192), Some(&here));
    let qos = reliable(4);
    let input = |group| {
        let options =
            SubscriberOptions { node: "sink", topic: "/image", qos, doorbell: None, group };
        participant.subscriber::<Image>(options).unwrap()
    };
    let inputs = [input(Some(&here)), input(Some(&there)), input(None)];
    assert_eq!(maker.alive(), 1, "it is made before the first message");
    for number in 0..40 {
        publish(&output, number);
        let samples = inputs.each_ref().map(|input| input.take().unwrap().expect("a message"));
        let places = samples.each_ref().map(|sample| {
            assert_eq!(check(sample), number);
            let data = sample.message().data().unwrap();
            assert!(is_private(&sample.region().unwrap(), data));
            data.as_ptr().addr()
        });
        assert_eq!(places, [places[0]; 3]);
    }
    assert_eq!(maker.made.load(Ordering::SeqCst), 1);
    // A larger message makes memory grow, in the same way; one that is kept keeps its memory.
    let mut loan = output.loan(Extra::none().bytes(20_000)).unwrap();
    loan.message().data_uninit(20_000).unwrap().fill(7);
    loan.publish().map_err(|refused| refused.reason).unwrap();
    let kept = inputs[1].take().unwrap().expect("a message");
    assert!(is_private(&kept.region().unwrap(), kept.message().data().unwrap()));
    assert_eq!(maker.alive(), 2);
    // One that comes later finds what there is.
    let late = input(None);
    publish(&output, 41);
    assert_eq!(check(&late.take().unwrap().unwrap()), 41);
    drop((output, inputs, late, participant));
    assert!(kept.message().data().unwrap().iter().all(|byte| *byte == 7));
    drop(kept);
    assert_eq!(maker.alive(), 0, "it has gone back");
}

#[test]
fn without_a_bound_memory_is_made_for_what_comes_and_what_cannot_be_made_is_an_error() {
    let place = Place::new("private-full");
    let participant = place.open("both");
    let maker = Maker::default();
    let output = publisher_in(&participant, &maker, None, None);
    let input = subscriber(&participant, "/image", reliable(4));
    for number in 0..200 {
        publish(&output, number);
        let sample = input.take().unwrap().unwrap();
        assert_eq!(check(&sample), number);
        assert!(is_private(&sample.region().unwrap(), sample.message().data().unwrap()));
    }
    assert_eq!(maker.alive(), 1);
    let full = Maker { is_full: true, ..Maker::default() };
    let error = try_publisher_in(&participant, &full, Some(8192), None).unwrap_err().to_string();
    assert!(error.contains("/image") && error.contains("gpu:0 has no room"), "{error}");
}

#[test]
fn other_processes_are_refused_and_told_why_and_observers_see_only_that_messages_come() {
    let place = Place::new("private-apart");
    let (source, sink) = (place.open("source"), place.open("sink"));
    let maker = Maker::default();
    let output = publisher_in(&source, &maker, Some(8192), None);
    let inside = subscriber(&source, "/image", reliable(4));
    let outside = subscriber(&sink, "/image", reliable(4));
    let told = |participant: &Participant| {
        let mut texts = Vec::new();
        let found = |texts: &mut Vec<String>| {
            let events = participant.take_events().0;
            texts.extend(events.iter().filter_map(|event| match event {
                Event::Mismatch(mismatch) => Some(mismatch.reason.clone()),
                _ => None,
            }));
            !texts.is_empty()
        };
        assert!(participant.wait_until(LIMIT, || found(&mut texts)));
        texts.remove(0)
    };
    let reason = told(&sink);
    assert!(reason.contains("`managed`") && reason.contains("say `copy`"), "{reason}");
    assert_eq!(output.peers(), 1, "only the one inside");
    let options = ObserverOptions {
        domain_id: 0,
        name: "observer".to_owned(),
        rendezvous: Rendezvous::Folder(place.0.clone()),
        access: Access::SameUser,
    };
    let mut observer = Observer::open(options).unwrap();
    let seen = observer.snapshot().unwrap();
    let of_source = seen.processes.iter().find(|process| !process.publishers.is_empty()).unwrap();
    let port = &of_source.publishers[0];
    let [mut echo, mut stamps]: [Echo; 2] =
        std::array::from_fn(|_| observer.echo(of_source.name, port).unwrap());
    for number in 0..3 {
        publish(&output, number);
        assert_eq!(check(&inside.take().unwrap().unwrap()), number);
        assert_eq!(stamps.next_stamps(false).unwrap().unwrap().stamp_ns, u64::from(number));
        let error = echo.copy_next(&mut EchoBuffer::default()).unwrap_err();
        assert!(matches!(error, EchoError::Memory { .. }), "{error}");
        assert!(error.to_string().contains("`managed`"), "{error}");
    }
    assert!(echo.copy_next(&mut EchoBuffer::default()).unwrap().is_none());
    assert!(outside.take().unwrap().is_none());
}

#[test]
fn a_shared_buffer_in_it_is_of_its_process_and_begins_with_zeros() {
    let place = Place::new("private-buffers");
    let (owner, member) = (place.open("owner"), place.open("member"));
    for process in [&owner, &member] {
        assert!(process.wait_until(LIMIT, || process.peers().len() == 1));
    }
    let maker = Maker::default();
    let buffers = owner.buffers("scheduler").in_memory(Box::new(maker.clone()));
    let made = buffers.create::<u32>("array", 1000).unwrap();
    let token = made.token(Part::NONE, Part::NONE, 1);
    let worker = owner.buffers("worker").open::<u32>(&token).unwrap();
    assert_eq!(worker.address(), made.address());
    assert!(made.read(Part::range(0, 1000)).unwrap().iter().all(|element| element == 0));
    let part = |first| Part::every(2, first, 1000).unwrap();
    let (mine, other) = (made.write(part(0)).unwrap(), worker.write(part(1)).unwrap());
    mine.update(|at, _| at as u32);
    other.update(|at, _| at as u32 * 3);
    assert!(made.read(Part::range(0, 2)).is_err(), "it is claimed");
    drop((mine, other));
    let all = made.read(Part::range(0, 1000)).unwrap();
    let right = all.iter().enumerate().all(|(at, it)| it as usize == at / 2 * [1, 3][at % 2]);
    assert!(right);
    let error = member.buffers("worker").open::<u32>(&token).unwrap_err();
    assert!(matches!(error, BufferError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("say `copy`"), "{error}");
    drop((all, worker, made, buffers, owner));
    assert_eq!(maker.alive(), 0, "it has gone back");
    let full = Maker { is_full: true, ..Maker::default() };
    let buffers = member.buffers("scheduler").in_memory(Box::new(full));
    let error = buffers.create::<u32>("array", 1000).unwrap_err().to_string();
    assert!(error.contains("array") && error.contains("gpu:0 has no room"), "{error}");
}
