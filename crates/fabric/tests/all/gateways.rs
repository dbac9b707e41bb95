//! Messages cross between host memory and a network once, whichever way they go.

use crate::image;
use crossdock_fabric::{
    Access, Board, HostEvent, IDLE_CYCLES, Outgoing, RunError, Sink, Source, Stop,
};
use crossdock_msg::frame::{FrameHeader, HEADER_BYTES, SegmentSource};
use image::{
    DATA_BYTES, FOREVER_PS, Host, PERIOD_PS, TIMING, board, frame, library, port, registers,
};

#[test]
fn a_message_from_software_reaches_all_hardware_subscribers_and_is_read_once() {
    let library = library("gateway");
    let mut board = board(&library, TIMING);
    let mut host = Host::new("gateway-down");
    let subscriber = host.bridge.subscriber.as_ref().expect("a subscriber");
    for (number, bytes) in [(1, DATA_BYTES), (2, 999), (3, 0)] {
        host.publish(number, bytes);
        let sample = subscriber.take().expect("no error").expect("a message");
        let (mut small, mut segments) = (vec![0; 4096], Vec::new());
        let payload = host.plan.gather(sample.block(), 256, &mut small, &mut segments);
        let payload = payload.expect("a message within its bounds");
        assert!(host.scratch.write(0, &small));
        let region = sample.region().expect("a region");
        assert!(board.reach(&[region, host.scratch.region()]));
        let places: Vec<(usize, u32)> = (segments.iter())
            .map(|segment| {
                let from = match segment.source {
                    SegmentSource::Scratch => host.scratch.region().address(),
                    SegmentSource::Block => sample.block().as_ptr() as usize,
                };
                (from + segment.offset, segment.bytes as u32)
            })
            .collect();
        let in_place = segments.iter().filter(|it| it.source == SegmentSource::Block);
        assert_eq!(in_place.map(|it| it.bytes).sum::<usize>(), if bytes > 256 { bytes } else { 0 });
        let outgoing = Outgoing {
            tag: number as u16,
            sequence: number,
            stamp_ns: sample.stamp_ns(),
            payload_bytes: payload as u32,
            segments: &places,
        };
        let before = board.traffic();
        board.send(0, &outgoing);
        let mut frames = [vec![0; DATA_BYTES + 256], vec![0; DATA_BYTES + 256]];
        let [left, right] = &mut frames;
        let mut sinks = [
            Sink::new(port(&library, "left_image"), left),
            Sink::new(port(&library, "right_image"), right),
        ];
        let mut sent = false;
        while !sent || sinks.iter().any(|sink| sink.done_ps().is_none()) {
            assert_eq!(board.run(&mut [], &mut sinks, FOREVER_PS), Ok(Stop::Done));
            while let Some(event) = board.event() {
                let HostEvent::Sent { gateway: 0, tag, status } = event else {
                    panic!("{event:?}")
                };
                assert_eq!((tag, status.is_good()), (number as u16, true));
                sent = true;
            }
        }
        let mut expected = Vec::new();
        host.plan.encode(sample.block(), &mut expected).expect("a payload");
        let received = sinks.map(|sink| sink.received() as usize);
        assert_eq!(received, [HEADER_BYTES + payload; 2]);
        for frame in &frames {
            let header = FrameHeader::read(frame).expect("a header");
            assert_eq!((header.sequence, header.stamp_ns), (number, sample.stamp_ns()));
            assert_eq!(frame[HEADER_BYTES..HEADER_BYTES + payload], expected);
        }
        // Whole beats: each segment may share its first and last one with others.
        let read = board.traffic().bytes_read - before.bytes_read;
        let slack = 8 * segments.len() as u64;
        assert!((payload as u64..=payload as u64 + slack).contains(&read), "{read} of {payload}");
        assert_eq!((board.traffic().refused, board.traffic().bytes_written), (0, 0));
    }
}

#[test]
fn a_message_from_hardware_is_written_once_and_published_where_it_lies() {
    let library = library("gateway");
    let mut board = board(&library, TIMING);
    let host = Host::new("gateway-up");
    let publisher = host.bridge.publisher.as_ref().expect("a publisher");
    let renderer = library.ports().iter().find(|port| port.name.contains("renderer"));
    let id = renderer.expect("the port").publisher_id;
    for number in 1..=3_u32 {
        host.publish(number, 1000 * number as usize);
        let model = host.show.take().expect("no error").expect("the model of what hardware sends");
        let mut frame = vec![0; HEADER_BYTES];
        let mut payload = Vec::new();
        host.plan.encode(model.block(), &mut payload).expect("a payload");
        let header = FrameHeader {
            publisher_id: id,
            payload_bytes: payload.len() as u32,
            sequence: number,
            stamp_ns: 77,
        };
        frame.copy_from_slice(&header.to_bytes());
        frame.extend(&payload);

        let mut loan = publisher.loan(host.plan.chunk_bytes_max()).expect("a loan");
        let front = host.plan.front_bytes();
        let (region, at) = (loan.region(), loan.bytes_mut().as_ptr() as usize + front);
        let capacity = loan.bytes_mut().len() - front - host.plan.behind_bytes_max();
        assert!(board.reach(&[region]));
        board.lend(0, 40 + number as u16, at, capacity as u32);
        let before = board.traffic();
        let mut sources = [Source::new(port(&library, "renderer"), &frame)];
        let mut taken = [vec![0; DATA_BYTES + 256], vec![0; DATA_BYTES + 256]];
        let [left, right] = &mut taken;
        let mut sinks = [
            Sink::new(port(&library, "left_image"), left),
            Sink::new(port(&library, "right_image"), right),
        ];
        let arrived = loop {
            assert_eq!(board.run(&mut sources, &mut sinks, FOREVER_PS), Ok(Stop::Done));
            if let Some(event) = board.event() {
                break event;
            }
        };
        let HostEvent::Arrived { gateway: 0, tag, bytes, publisher_id, sequence, status } = arrived
        else {
            panic!("{arrived:?}")
        };
        assert_eq!((tag, publisher_id, sequence), (40 + number as u16, id, number));
        assert!(status.is_good() && bytes as usize == frame.len(), "{arrived:?}");
        let adopted = host.plan.adopt(loan.bytes_mut(), front, bytes as usize);
        loan.set_len(adopted.expect("a message within its bounds").block_bytes);
        loan.publish().map_err(|refused| refused.reason).expect("published");

        let shown = host.show.take().expect("no error").expect("the message");
        let (sent, came) = (model.message(), shown.message());
        assert_eq!((came.height(), came.encoding()), (sent.height(), sent.encoding()));
        assert_eq!(came.header().frame_id(), sent.header().frame_id());
        assert_eq!(came.data(), sent.data());
        assert_eq!(host.bridge.subscriber.as_ref().map(|it| it.counters().taken), Some(0));
        assert_eq!(publisher.counters().copies, 0);
        let traffic = board.traffic();
        assert_eq!(traffic.bytes_written - before.bytes_written, frame.len() as u64);
        assert_eq!((traffic.refused, traffic.bytes_read), (0, 0));
    }
}

#[test]
fn memory_that_was_not_opened_is_neither_read_nor_does_it_stop_the_topic() {
    let library = library("gateway");
    let mut board = board(&library, TIMING);
    let host = Host::new("gateway-closed");
    host.publish(1, 1000);
    let sample = host.bridge.subscriber.as_ref().expect("a subscriber").take();
    let sample = sample.expect("no error").expect("a message");
    // The message's own region is open, the scratch memory is not.
    assert!(board.reach(&[sample.region().expect("a region")]));
    let closed = (host.scratch.region().address(), 64);
    let open = (sample.block().as_ptr() as usize, 64);
    let mut ended = Vec::new();
    for (tag, segment) in [(1, closed), (2, open)] {
        let segments = [segment];
        let (sequence, stamp_ns, payload_bytes) = (1, 2, 64);
        let outgoing = Outgoing { tag, sequence, stamp_ns, payload_bytes, segments: &segments };
        board.send(0, &outgoing);
        let mut taken = [vec![0; 256], vec![0; 256]];
        let [left, right] = &mut taken;
        let mut sinks = [
            Sink::new(port(&library, "left_image"), left),
            Sink::new(port(&library, "right_image"), right),
        ];
        let mut sent = None;
        while sent.is_none() || sinks.iter().any(|sink| sink.done_ps().is_none()) {
            assert_eq!(board.run(&mut [], &mut sinks, FOREVER_PS), Ok(Stop::Done));
            sent = board.event().or(sent);
        }
        ended.push((sent, sinks.map(|sink| sink.is_damaged())));
    }
    let [(Some(HostEvent::Sent { tag: 1, status, .. }), damaged), (Some(second), whole)] =
        &ended[..]
    else {
        panic!("{ended:?}")
    };
    assert!(status.memory_error && *damaged == [true, true], "{ended:?}");
    let HostEvent::Sent { tag: 2, status, .. } = second else { panic!("{ended:?}") };
    assert!(status.is_good() && *whole == [false, false], "{ended:?}");
    // The window was asked before the memory: nothing came out of the board.
    assert_eq!(board.traffic().refused, 0);
}

#[test]
fn a_message_longer_than_its_room_is_cut_and_what_lies_behind_stays() {
    let library = library("gateway");
    let mut board = board(&library, TIMING);
    let host = Host::new("gateway-cut");
    let publisher = host.bridge.publisher.as_ref().expect("a publisher");
    let id = library.ports()[port(&library, "renderer") as usize].publisher_id;
    let sent = frame(&host, id, 1, 5000);
    let mut loan = publisher.loan(8192).expect("a loan");
    loan.bytes_mut().fill(0xa5);
    assert!(board.reach(&[loan.region()]));
    // No multiple of anything: the last beat is written in part.
    board.lend(0, 7, loan.bytes_mut().as_ptr() as usize + 64, 1003);
    let mut sources = [Source::new(port(&library, "renderer"), &sent)];
    let mut taken = [vec![0; 8192], vec![0; 8192]];
    let [left, right] = &mut taken;
    let mut sinks = [
        Sink::new(port(&library, "left_image"), left),
        Sink::new(port(&library, "right_image"), right),
    ];
    let event = loop {
        assert_eq!(board.run(&mut sources, &mut sinks, FOREVER_PS), Ok(Stop::Done));
        if let Some(event) = board.event() {
            break event;
        }
    };
    let HostEvent::Arrived { tag: 7, bytes: 1003, status, .. } = event else { panic!("{event:?}") };
    assert!(status.cut, "{event:?}");
    let memory = loan.bytes_mut();
    assert_eq!(memory[64..64 + 1003], sent[..1003]);
    assert!(memory[..64].iter().chain(&memory[64 + 1003..]).all(|byte| *byte == 0xa5));
}

#[test]
fn without_room_in_the_host_a_reliable_topic_waits_and_a_best_effort_one_goes_on() {
    let library = library("gateway");
    let id = library.ports()[port(&library, "renderer") as usize].publisher_id;
    for reliable in [true, false] {
        let mut board = board(&library, TIMING);
        let host = Host::new(&format!("gateway-{reliable}"));
        let publisher = host.bridge.publisher.as_ref().expect("a publisher");
        board.set_reliable(0, reliable);
        let frames: Vec<_> = (1..=3).map(|number| frame(&host, id, number, 9000)).collect();
        let mut loan = publisher.loan(host.plan.chunk_bytes_max()).expect("a loan");
        assert!(board.reach(&[loan.region()]));
        let mut arrived = Vec::new();
        for (index, sent) in frames.iter().enumerate() {
            if index == 2 {
                board.lend(0, 9, loan.bytes_mut().as_ptr() as usize + 64, 16_384);
                // The room is there before the message.
                let end_ps = board.now_ps() + 1000 * PERIOD_PS;
                assert_eq!(board.run(&mut [], &mut [], end_ps), Ok(Stop::Time));
            }
            let mut sources = [Source::new(port(&library, "renderer"), sent)];
            let mut taken = [vec![0; 16_384], vec![0; 16_384]];
            let [left, right] = &mut taken;
            let mut sinks = [
                Sink::new(port(&library, "left_image"), left),
                Sink::new(port(&library, "right_image"), right),
            ];
            // Ten times what the message takes.
            let end_ps = board.now_ps() + 12_000 * PERIOD_PS;
            while sinks.iter().any(|sink| sink.done_ps().is_none()) || index == 2 {
                let stop = board.run(&mut sources, &mut sinks, end_ps).expect("a run");
                arrived.extend(board.event());
                if stop == Stop::Time {
                    break;
                }
            }
            let passed = sinks.map(|sink| sink.done_ps().is_some());
            if reliable && index < 2 {
                // The gateway holds more than a kilobyte of each message back: nobody has it whole.
                assert_eq!(passed, [false, false], "message {index}");
                break;
            }
            assert_eq!(passed, [true, true], "message {index}");
        }
        let sequences: Vec<u32> = (arrived.iter())
            .map(|event| match event {
                HostEvent::Arrived { sequence, status, .. } if status.is_good() => *sequence,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(sequences, if reliable { vec![] } else { vec![3] });
    }
}

#[test]
fn words_that_the_host_reads_take_the_time_of_their_accesses_and_wait_for_others() {
    let library = library("gateway");
    let mut board = board(&library, TIMING);
    board.set_idle_cycles(IDLE_CYCLES);
    board.set_reliable(0, true);
    let mut words = [(8, 0), (0, 0)];
    assert_eq!(board.read_status(&mut words), Ok(false), "the register port is in use");
    assert_eq!((board.now_ps(), words), (0, [(8, 0), (0, 0)]));
    assert_eq!(board.run(&mut [], &mut [], FOREVER_PS), Ok(Stop::Idle));
    let before_ps = board.now_ps();
    assert_eq!(board.read_status(&mut words), Ok(true));
    let [(_, identity), (_, magic)] = words;
    assert_eq!(magic, crossdock_hwgen::network::REGISTERS_MAGIC);
    assert_ne!(identity, 0);
    let took_ps = board.now_ps() - before_ps;
    assert_eq!(took_ps, 2 * 4 * PERIOD_PS, "4 cycles each, as `board` makes it");
    // A write takes effect before its answer, and one of a word that is only read has none.
    let mut accesses = [Access::write(0x1_4000, 0), Access::read(0x1_4000), Access::read(0x1_6030)];
    assert_eq!(board.access(&mut accesses), Ok(true));
    assert_eq!(
        accesses.map(|it| it.value()),
        [0, 0, 1 | 48 << 8],
        "CONTROL, and SHAPE of the port"
    );
    let constant = RunError::Register { address: 0 };
    assert_eq!(board.access(&mut [Access::write(0, 1)]), Err(constant));
    let absent = RunError::Register { address: 0x7ff8 };
    assert_eq!(board.read_status(&mut [(0x7ff8, 0)]), Err(absent));
    // It goes on where it was.
    assert_eq!(board.run(&mut [], &mut [], FOREVER_PS), Ok(Stop::Idle));
}

#[test]
fn words_of_another_clock_are_read_and_written_through_the_same_port() {
    let mapped = "gateway, probe: true, runtime_enable: true, \
                  subscribers: { left: { image: { clock: pixel, probe: true } } }";
    let library = library(mapped);
    let id = library.ports()[port(&library, "renderer") as usize].publisher_id;
    let host = Host::new("gateway-clocks");
    let sent = frame(&host, id, 1, 500);
    let registers = registers(mapped);
    let address = |name: &str| {
        let found = registers.iter().find(|register| register.name.ends_with(name));
        found.unwrap_or_else(|| panic!("no {name}")).address
    };
    // Slower, faster, and of nearly the same rate.
    for pixel_ps in [73_001, 900, PERIOD_PS + 1] {
        let model = library.model(1, &[PERIOD_PS, pixel_ps]).expect("two clocks");
        let mut board = Board::new(model, &TIMING, 4).expect("a board");
        let mut words = [Access::read(address("image.enable")), Access::read(0)];
        assert_eq!(board.access(&mut words), Ok(true));
        let all = words[0].value();
        assert_eq!(all & (all + 1), 0, "after a reset all subscribers get messages: {all:b}");
        assert_eq!(words[1].value(), crossdock_hwgen::network::REGISTERS_MAGIC);
        // A publisher's message reaches those that are switched on. The gateway is not.
        let nodes = Access::write(address("image.enable"), all & 0b11);
        assert_eq!(board.access(&mut [nodes]), Ok(true));
        let mut taken = [vec![0; 1024], vec![0; 1024]];
        let [left, right] = &mut taken;
        let mut sources = [Source::new(port(&library, "renderer"), &sent)];
        let mut sinks = [
            Sink::new(port(&library, "left_image"), left),
            Sink::new(port(&library, "right_image"), right),
        ];
        while sinks.iter().any(|sink| sink.done_ps().is_none()) {
            assert_eq!(board.run(&mut sources, &mut sinks, FOREVER_PS), Ok(Stop::Done));
        }
        assert_eq!(sinks.map(|sink| sink.received() as usize), [sent.len(); 2]);
        // Snapshot, then the beats (1) at the topic and at the port of the other clock.
        let beats = sent.len().div_ceil(8) as u64;
        for probe in ["probe_topic", "probe_m_axis_left_image"] {
            let set = address(&format!("{probe}_set"));
            let mut accesses = [
                Access::write(set, 0b10 | 1 << 2),
                Access::write(set, 1 << 2),
                Access::read(address(&format!("{probe}_count"))),
                Access::read(set),
            ];
            assert_eq!(board.access(&mut accesses), Ok(true));
            assert_eq!(accesses[2].value(), beats, "{probe} at {pixel_ps} ps");
            assert_eq!(accesses[3].value(), 1 << 2);
        }
    }
}
