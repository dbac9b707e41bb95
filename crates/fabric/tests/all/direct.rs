//! Nodes in a fabric read and write the messages of a software-mapped topic themselves, each on its
//! own: one transfer per node.

use crate::image;
use crossdock_comm::{AnySample, Directions};
use crossdock_fabric::{Board, HostEvent, Library, Outgoing, Sink, Source, Stop};
use crossdock_msg::frame::{FrameHeader, HEADER_BYTES, SegmentSource};
use image::{DATA_BYTES, FOREVER_PS, Host, TIMING, board, frame, library, port};

/// Gateways in the order of the topic's streams: the publisher's, then those of its subscribers.
const FROM_RENDERER: u32 = 0;
const TO: [(u32, &str); 2] = [(1, "left_image"), (2, "right_image")];
/// Bytes of a region of the scratch memory, one per subscriber.
const SCRATCH_BYTES: usize = 1024;

/// What both subscribers got of their samples of one message, which the board reads meanwhile.
fn down(
    host: &mut Host,
    library: &Library,
    board: &mut Board,
    samples: &[AnySample; 2],
) -> [Vec<u8>; 2] {
    let mut segments = Vec::new();
    for (sample, (gateway, _)) in samples.iter().zip(TO) {
        let at = (gateway as usize - 1) * SCRATCH_BYTES;
        let (mut small, mut found) = (vec![0; SCRATCH_BYTES], Vec::new());
        let payload = host.plan.gather(sample.block(), 256, &mut small, &mut found);
        assert!(host.scratch.write(at, &small));
        let places: Vec<(usize, u32)> = (found.iter())
            .map(|segment| {
                let from = match segment.source {
                    SegmentSource::Scratch => host.scratch.region().address() + at,
                    SegmentSource::Block => sample.block().as_ptr() as usize,
                };
                (from + segment.offset, segment.bytes as u32)
            })
            .collect();
        let payload_bytes = payload.expect("a message within its bounds") as u32;
        segments.push((gateway, payload_bytes, places));
    }
    for (gateway, payload_bytes, segments) in &segments {
        let (tag, sequence, stamp_ns) = (*gateway as u16, 5, 6);
        let payload_bytes = *payload_bytes;
        board.send(*gateway, &Outgoing { tag, sequence, stamp_ns, payload_bytes, segments });
    }
    let mut frames = TO.map(|_| vec![0; DATA_BYTES + 256]);
    let [left, right] = &mut frames;
    let mut sinks =
        [Sink::new(port(library, TO[0].1), left), Sink::new(port(library, TO[1].1), right)];
    let mut sent = Vec::new();
    while sent.len() < 2 || sinks.iter().any(|sink| sink.done_ps().is_none()) {
        assert_eq!(board.run(&mut [], &mut sinks, FOREVER_PS), Ok(Stop::Done));
        while let Some(event) = board.event() {
            let HostEvent::Sent { gateway, status, .. } = event else { panic!("{event:?}") };
            assert!(status.is_good(), "{event:?}");
            sent.push(gateway);
        }
    }
    sent.sort_unstable();
    assert_eq!(sent, TO.map(|(gateway, _)| gateway));
    let received = sinks.map(|sink| sink.received() as usize);
    for (frame, bytes) in frames.iter_mut().zip(received) {
        frame.truncate(bytes);
    }
    frames
}

/// Both frames hold the message of these samples, and each node has read it for itself.
fn check(host: &Host, samples: &[AnySample; 2], frames: &[Vec<u8>; 2], read: u64) {
    let mut payload = Vec::new();
    host.plan.encode(samples[0].block(), &mut payload).expect("a payload");
    for frame in frames {
        let header = FrameHeader::read(frame).expect("a header");
        assert_eq!((header.sequence, header.stamp_ns), (5, 6));
        assert_eq!(frame[HEADER_BYTES..], payload);
    }
    // Whole beats: the part in scratch memory and that in the message may share one.
    let bytes = 2 * payload.len() as u64;
    assert!((bytes..=bytes + 32).contains(&read), "{read} read, {bytes} in two payloads");
}

#[test]
fn each_hardware_subscriber_reads_a_message_from_software_itself() {
    let library = library("software");
    let mut board = board(&library, TIMING);
    let mut host = Host::new("direct-down");
    let listeners = ["left", "right"].map(|node| host.bridge(node, Directions::Out));
    for (number, bytes) in [(1, DATA_BYTES), (2, 999)] {
        host.publish(number, bytes);
        let samples = listeners.each_ref().map(|bridge| {
            let subscriber = bridge.subscriber.as_ref().expect("a subscriber");
            subscriber.take().expect("no error").expect("a message")
        });
        let regions = samples.each_ref().map(|sample| sample.region().expect("a region"));
        let [left, right] = regions;
        assert!(board.reach(&[left, right, host.scratch.region()]));
        let before = board.traffic();
        let frames = down(&mut host, &library, &mut board, &samples);
        check(&host, &samples, &frames, board.traffic().bytes_read - before.bytes_read);
        assert_eq!((board.traffic().refused, board.traffic().bytes_written), (0, 0));
    }
}

#[test]
fn a_message_of_a_hardware_publisher_is_written_once_and_read_by_each_hardware_subscriber() {
    let library = library("software");
    let mut board = board(&library, TIMING);
    let mut host = Host::new("direct-up");
    let listeners = ["left", "right"].map(|node| host.bridge(node, Directions::Out));
    let renderer = host.bridge("renderer", Directions::In);
    let publisher = renderer.publisher.as_ref().expect("a publisher");
    let id = library.ports()[port(&library, "renderer") as usize].publisher_id;
    let sent = frame(&host, id, 5, DATA_BYTES);
    for bridge in &listeners {
        // The frame was made from a message that everybody on the topic got.
        let model = bridge.subscriber.as_ref().expect("a subscriber").take();
        assert!(model.expect("no error").is_some());
    }

    let mut loan = publisher.loan(host.plan.chunk_bytes_max()).expect("a loan");
    let front = host.plan.front_bytes();
    let at = loan.bytes_mut().as_ptr() as usize + front;
    let capacity = loan.bytes_mut().len() - front - host.plan.behind_bytes_max();
    assert!(board.reach(&[loan.region()]));
    board.lend(FROM_RENDERER, 40, at, capacity as u32);
    let mut sources = [Source::new(port(&library, "renderer"), &sent)];
    let arrived = loop {
        assert_eq!(board.run(&mut sources, &mut [], FOREVER_PS), Ok(Stop::Done));
        if let Some(event) = board.event() {
            break event;
        }
    };
    let HostEvent::Arrived { gateway: FROM_RENDERER, tag: 40, bytes, status, .. } = arrived else {
        panic!("{arrived:?}")
    };
    assert!(status.is_good() && bytes as usize == sent.len(), "{arrived:?}");
    let adopted = host.plan.adopt(loan.bytes_mut(), front, bytes as usize);
    loan.set_len(adopted.expect("a message within its bounds").block_bytes);
    loan.publish().map_err(|refused| refused.reason).expect("published");

    let shown = host.show.take().expect("no error").expect("the message");
    assert_eq!(shown.message().data().expect("data").len(), DATA_BYTES);
    let samples = listeners.each_ref().map(|bridge| {
        let subscriber = bridge.subscriber.as_ref().expect("a subscriber");
        subscriber.take().expect("no error").expect("a message")
    });
    let [left, right] = samples.each_ref().map(|sample| sample.region().expect("a region"));
    assert!(board.reach(&[left, right, host.scratch.region()]));
    let frames = down(&mut host, &library, &mut board, &samples);
    assert_eq!(frames[0][HEADER_BYTES..], sent[HEADER_BYTES..], "what the publisher sent");
    check(&host, &samples, &frames, board.traffic().bytes_read);
    assert_eq!((board.traffic().bytes_written, board.traffic().refused), (sent.len() as u64, 0));
}
