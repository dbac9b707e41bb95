//! Frames survive their encoding, and what is no frame is refused.

use std::time::Duration;

use super::*;
use crate::wire::port_info::{Maker, decode_port, encode_port};
use crate::wire::qos::Qos;

fn port() -> PortInfo {
    PortInfo {
        port: 9,
        node: "/front/camera".into(),
        topic: "/camera/image".into(),
        type_name: "sensor_msgs/msg/Image".into(),
        type_hash: [1; 32],
        layout_hash: [2; 32],
        qos: Qos::reliable(4, Duration::from_millis(250)).transient_local(),
        maker: Maker::Gateway,
    }
}

fn all() -> Vec<Frame> {
    let name = PeerName::from_bytes([7; 16]);
    let hello = |purpose| Frame::Hello { version: 1, name, process: "drive".into(), purpose };
    vec![
        hello(Purpose::Peer),
        hello(Purpose::Knock),
        hello(Purpose::Status),
        hello(Purpose::Definition { port: 3 }),
        hello(Purpose::Ring { port: 4 }),
        hello(Purpose::Watch),
        hello(Purpose::Trace),
        hello(Purpose::Level { port: 5, level: None }),
        hello(Purpose::Level { port: 5, level: NonZeroU8::new(30) }),
        Frame::Level { level: NonZeroU8::MAX },
        Frame::Welcome { version: 1, name, process: "drive".into() },
        Frame::Advertise(port()),
        Frame::Withdraw { port: 9 },
        Frame::Memory,
        Frame::Idle,
        Frame::Subscribe {
            pair: 1,
            publisher: 9,
            subscriber: PortInfo { type_name: String::new(), ..port() },
            geometry: vec![1, 2, 3],
        },
        Frame::Accept { pair: 1, geometry: vec![4; GEOMETRY_BYTES_MAX] },
        Frame::Refuse { pair: 1, later: true, reason: "no".into() },
        Frame::Mismatch { publisher: 9, subscriber: port(), reason: "other type".into() },
        Frame::Leave { pair: 1 },
        Frame::Bye,
        Frame::Release { pair: 1 },
        Frame::Released { pair: 1 },
        Frame::Segment { pair: 9, segment: 2, bytes: 1 << 40 },
        Frame::SegmentMapped { pair: 9, segment: 2 },
        Frame::GiveBack { pair: 9, segment: 2 },
        Frame::Bell { bell: 7 },
        Frame::Slab {
            pair: 9,
            slab: 1,
            shape: SlabShape { segment: 2, first: 4096, chunk_bytes: 320, chunks: 7 },
            device: "cuda:0".into(),
        },
        Frame::SlabAnswer { pair: 9, slab: 1, taken: true },
        Frame::AskDefinition { port: 9 },
        Frame::Definition { port: 9, offset: 5, total: 10, piece: vec![b'x'; 5] },
        Frame::Ring { port: 9, geometry: vec![] },
        Frame::Nothing { reason: "gone".into() },
        Frame::AskBuffer { buffer: 7 },
        Frame::Buffer {
            buffer: 7,
            member: 2,
            element: 7,
            count: 1 << 23,
            label: "m".into(),
            devices: vec!["cuda:0".into(); INSTANCES_MAX],
        },
        Frame::NoBuffer { buffer: 7, reason: "gone".into() },
        Frame::AskStatusTable,
        Frame::StatusTable,
        Frame::WatchGraph { seen: 7 },
        Frame::GraphChanged,
        Frame::TurnAway { limit: Limit::Publishers, process: "drive".into() },
    ]
}

#[test]
fn every_frame_survives_the_wire() {
    for frame in all() {
        let bytes = frame.encode();
        assert!(bytes.len() <= FRAME_BYTES_MAX);
        assert_eq!(Frame::decode(&bytes).unwrap(), frame);
    }
}

#[test]
fn a_cut_or_lengthened_frame_is_refused() {
    for frame in all() {
        let bytes = frame.encode();
        for len in 0..bytes.len() {
            assert!(Frame::decode(&bytes[..len]).is_err(), "{frame:?} cut to {len}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Frame::decode(&longer).is_err(), "{frame:?}");
    }
}

#[test]
fn damaged_frames_never_do_more_than_fail() {
    // A small generator with a fixed seed: the same damage in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let frames: Vec<_> = all().iter().map(Frame::encode).collect();
    for _ in 0..200_000 {
        let mut bytes = frames[random() as usize % frames.len()].clone();
        for _ in 0..=random() % 4 {
            let at = random() as usize % bytes.len();
            bytes[at] = random() as u8;
        }
        if let Ok(frame) = Frame::decode(&bytes) {
            assert_eq!(Frame::decode(&frame.encode()).unwrap(), frame);
        }
    }
}

#[test]
fn what_a_person_will_read_has_no_control_characters() {
    let bytes = Frame::Nothing { reason: "a\x1b[2Jb\n".into() }.encode();
    assert_eq!(Frame::decode(&bytes).unwrap(), Frame::Nothing { reason: "a [2Jb ".into() });
}

#[test]
fn who_turns_us_away_has_a_clean_name_and_a_known_limit() {
    let bytes = Frame::TurnAway { limit: Limit::Peers, process: "a\x1b[2Jb".into() }.encode();
    assert!(Frame::decode(&bytes).unwrap_err().to_string().contains("process name"));
    let mut bytes = Frame::TurnAway { limit: Limit::Peers, process: "drive".into() }.encode();
    bytes[1] = u8::MAX;
    assert!(Frame::decode(&bytes).unwrap_err().to_string().contains("`limit`"));
}

#[test]
fn a_port_fits_on_the_board() {
    let long = PortInfo {
        node: "n".repeat(128),
        topic: format!("/{}", "t".repeat(254)),
        type_name: format!("a/msg/{}", "T".repeat(122)),
        ..port()
    };
    let bytes = encode_port(&PortInfo { topic: "/".into(), ..long.clone() });
    assert!(bytes.len() <= crossdock_shm::status::DETAIL_BYTES_MAX);
    assert!(decode_port(&bytes).is_err(), "`/` is no topic");
    assert_eq!(decode_port(&encode_port(&long)).unwrap(), long);
}
