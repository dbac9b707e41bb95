//! Messages to the payload of frames and back: random types and the whole corpus, against an
//! encoder of the test's own; damaged frames and damaged blocks.

use crate::common;
use common::library;
use common::random::{Form, Lengths, Random, random_message};
use common::types::{schema, types};
use crossdock_msg::frame::{
    AdoptError, FrameHeader, FrameHeaderError, FramePlan, FramePlanError, GatherError,
    HEADER_BYTES, Segment, SegmentSource,
};
use crossdock_msg::types::{sensor_msgs, std_msgs};
use crossdock_msg::{Block, BlockMut, FlatBuffer, FlatError, Message, Schema};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CDR: Form = Form::Cdr { padding: 0 };

/// The type with every unbounded field bounded to `bound`.
fn plan_of(schema: &Schema, bound: u32) -> Result<FramePlan, FramePlanError> {
    match FramePlan::new(schema, &BTreeMap::new()) {
        Err(FramePlanError::Unbounded { fields, .. }) => {
            FramePlan::new(schema, &fields.into_iter().map(|field| (field, bound)).collect())
        }
        other => other,
    }
}

fn block_of(schema: &Schema, cdr: &[u8]) -> FlatBuffer {
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(cdr).unwrap());
    schema.decode_cdr(cdr, flat.as_mut_slice()).unwrap();
    flat
}

fn cdr_of(schema: &Schema, block: &[u8]) -> Vec<u8> {
    let mut cdr = Vec::new();
    schema.encode_cdr(Block::new(block), &mut cdr).unwrap();
    cdr
}

/// A chunk with the frame of this payload, as hardware leaves it.
fn chunk_with(plan: &FramePlan, payload: &[u8], chunk_bytes: usize) -> (FlatBuffer, usize) {
    let mut chunk = FlatBuffer::with_bytes(chunk_bytes);
    chunk.as_mut_slice().fill(0xa5);
    let header = FrameHeader {
        publisher_id: 7,
        payload_bytes: payload.len() as u32,
        sequence: 9,
        stamp_ns: 11,
    };
    let frame = &mut chunk.as_mut_slice()[plan.front_bytes()..];
    frame[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
    frame[HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
    (chunk, HEADER_BYTES + payload.len())
}

/// The payload that segments make up, after a look at what they promise.
fn payload_of(segments: &[Segment], block: &[u8], scratch: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        assert!(payload.len().is_multiple_of(8) && segment.offset.is_multiple_of(8));
        assert!(segment.bytes > 0);
        assert!(index + 1 == segments.len() || segment.bytes.is_multiple_of(8), "{segments:?}");
        let source = match segment.source {
            SegmentSource::Block => block,
            SegmentSource::Scratch => scratch,
        };
        payload.extend_from_slice(&source[segment.offset..][..segment.bytes]);
    }
    payload
}

/// The message with this seed: from CDR by way of block, segments and adopted frame, and back.
fn round_trip(schema: &Schema, plan: &FramePlan, seed: u64, lengths: Lengths, in_place: usize) {
    let write = |form| random_message(schema.layout(), &mut Random::new(seed), lengths, form);
    let (cdr, payload) = (write(CDR), write(Form::Payload));
    let name = schema.type_name();
    assert!(payload.len() as u64 <= plan.payload_bytes_max(), "{name}");
    // What lies in gaps of a block does not get into a payload.
    let block = block_of(schema, &write(Form::Cdr { padding: 0xee }));
    let mut encoded = Vec::new();
    plan.encode(Block::new(block.as_slice()), &mut encoded).unwrap();
    assert_eq!(encoded, payload, "{name}");

    let mut scratch = vec![0xcc; plan.scratch_bytes_max(in_place)];
    let mut segments = Vec::new();
    let bytes = plan
        .gather(Block::new(block.as_slice()), in_place, &mut scratch, &mut segments)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(payload_of(&segments, block.as_slice(), &scratch), payload, "{name}");
    assert_eq!(bytes, payload.len());
    assert!(segments.len() <= plan.segments_max(in_place), "{name}: {segments:?}");

    let (mut chunk, frame_bytes) = chunk_with(plan, &payload, plan.chunk_bytes_max());
    let adopted = plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), frame_bytes);
    let adopted = adopted.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!((adopted.header.publisher_id, adopted.header.sequence), (7, 9));
    assert_eq!(adopted.header.stamp_ns, 11);
    let found = &chunk.as_slice()[..adopted.block_bytes];
    schema.validate(Block::new(found)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(cdr_of(schema, found), cdr, "{name}");
    let json = |bytes| schema.to_json(Block::new(bytes)).unwrap();
    assert_eq!(json(found), json(block.as_slice()), "{name}");
    // An adopted block is a block like any other.
    plan.encode(Block::new(found), &mut encoded).unwrap();
    assert_eq!(encoded, payload, "{name}");
    let decoded = plan.decode(&payload).unwrap();
    assert_eq!(cdr_of(schema, decoded.as_slice()), cdr, "{name}");
}

#[test]
fn every_type_of_the_corpus_goes_through_a_frame_and_back() {
    let Some(data) = crossdock_test_support::data() else { return };
    let library = library(&data);
    let (mut count, mut fixed) = (0, 0);
    for definition in library.iter() {
        let schema = Schema::from_library(&library, &definition.type_name.to_string()).unwrap();
        let plan = plan_of(&schema, 5).unwrap();
        for seed in 1..=6 {
            let in_place = [8, 64, 256][seed as usize % 3];
            round_trip(&schema, &plan, seed, Lengths::UpTo(5), in_place);
        }
        round_trip(&schema, &plan, 7, Lengths::Longest(5), 16);
        let longest = random_message(
            schema.layout(),
            &mut Random::new(8),
            Lengths::Longest(5),
            Form::Payload,
        );
        assert_eq!(longest.len() as u64, plan.payload_bytes_max(), "{}", schema.type_name());
        count += 1;
        fixed += u32::from(plan.is_fixed());
    }
    assert!(count > 200 && fixed > 50, "{count} types, {fixed} of one length");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn random_messages_of_random_types_go_through_a_frame_and_back(
        types in types(),
        seed in any::<u64>(),
        bound in 1u32..40,
        in_place in 0usize..80,
    ) {
        let schema = schema(&types);
        let plan = plan_of(&schema, bound).unwrap();
        round_trip(&schema, &plan, seed, Lengths::UpTo(bound as usize), in_place);
        if plan.payload_bytes_max() < 1 << 20 {
            round_trip(&schema, &plan, seed, Lengths::Longest(bound as usize), in_place);
        }
    }

    #[test]
    fn damaged_frames_are_refused_or_become_valid_blocks(
        types in types(),
        seed in any::<u64>(),
        changes in 1usize..6,
    ) {
        let schema = schema(&types);
        let plan = plan_of(&schema, 12).unwrap();
        let mut random = Random::new(seed);
        let lengths = Lengths::UpTo(12);
        let mut payload = random_message(schema.layout(), &mut random, lengths, Form::Payload);
        for _ in 0..changes {
            let at = random.below(payload.len());
            match random.below(4) {
                0 => payload.truncate(at),
                1 => payload.insert(at, random.next() as u8),
                _ if payload.len() >= at / 4 * 4 + 4 => {
                    let length = (random.next() as u32 >> random.below(32)).to_le_bytes();
                    payload[at / 4 * 4..][..4].copy_from_slice(&length);
                }
                _ => {}
            }
        }
        payload.truncate(plan.payload_bytes_max() as usize);
        let (mut chunk, bytes) = chunk_with(&plan, &payload, plan.chunk_bytes_max());
        // Nothing that the type allows is refused for want of room.
        match plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), bytes) {
            Ok(adopted) => {
                let block = Block::new(&chunk.as_slice()[..adopted.block_bytes]);
                prop_assert_eq!(schema.validate(block), Ok(()));
                prop_assert!(plan.encode(block, &mut Vec::new()).is_ok());
            }
            Err(AdoptError::Room { field, wanted, room }) => {
                prop_assert!(false, "{} {} {}", field, wanted, room);
            }
            Err(_) => {}
        }
        // A chunk that ends with the frame is refused, not left.
        let (mut chunk, bytes) = chunk_with(&plan, &payload, plan.front_bytes() + bytes);
        let _ = plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), bytes);
    }

    #[test]
    fn damaged_blocks_are_refused_or_gathered_without_leaving_them(
        types in types(),
        seed in any::<u64>(),
        changes in 1usize..6,
    ) {
        let schema = schema(&types);
        let plan = plan_of(&schema, 12).unwrap();
        let mut random = Random::new(seed);
        let cdr = random_message(schema.layout(), &mut random, Lengths::UpTo(12), CDR);
        let mut flat = block_of(&schema, &cdr);
        for _ in 0..changes {
            let words = flat.as_slice().len() / 8;
            let value = if random.below(2) == 0 { random.below(512) as u64 } else { random.next() };
            let at = random.below(words) * 8;
            if words > 0 {
                flat.as_mut_slice()[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        let block = flat.as_slice();
        let mut scratch = vec![0; plan.scratch_bytes_max(16)];
        let mut segments = Vec::new();
        match plan.gather(Block::new(block), 16, &mut scratch, &mut segments) {
            Ok(bytes) => {
                prop_assert!(bytes as u64 <= plan.payload_bytes_max());
                let mut whole = Vec::new();
                plan.encode(Block::new(block), &mut whole).unwrap();
                prop_assert_eq!(payload_of(&segments, block, &scratch), whole);
            }
            Err(GatherError::Scratch { field, .. }) => prop_assert!(false, "{}", field),
            Err(_) => prop_assert!(segments.is_empty()),
        }
    }
}

/// An image of `data` bytes, with texts around it.
fn image(data: usize) -> FlatBuffer {
    let mut memory = FlatBuffer::with_bytes(16_384);
    let mut top = 0;
    let mut image = sensor_msgs::Image::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    image.header().set_frame_id("camera").unwrap();
    image.set_height(3);
    image.set_encoding("mono8").unwrap();
    let place = image.data_uninit(data).unwrap();
    (0..data).for_each(|index| place[index] = index as u8);
    memory.resize(top);
    memory
}

fn image_plan() -> (Schema, FramePlan) {
    let schema = Schema::of::<sensor_msgs::Image>().unwrap();
    let bounds = [("data", 4096), ("encoding", 8), ("header.frame_id", 16)];
    let bounds = bounds.map(|(field, bound)| (field.to_owned(), bound));
    let plan = FramePlan::new(&schema, &BTreeMap::from(bounds)).unwrap();
    (schema, plan)
}

#[test]
fn an_images_data_stay_where_they_are_both_ways() {
    let (_, plan) = image_plan();
    let block = image(1000);
    let mut scratch = vec![0; plan.scratch_bytes_max(256)];
    let mut segments = Vec::new();
    plan.gather(Block::new(block.as_slice()), 256, &mut scratch, &mut segments).unwrap();
    let sources: Vec<_> = segments.iter().map(|it| (it.source, it.bytes)).collect();
    // Stamp, length and text; height and width; length, text and a byte; step and length.
    let head = 8 + 8 + 8 + 8 + 8 + 8 + 8;
    assert_eq!(sources, [(SegmentSource::Scratch, head), (SegmentSource::Block, 1000)]);
    let view = sensor_msgs::Image::view(Block::new(block.as_slice())).unwrap();
    let at = view.data().unwrap().as_ptr() as usize - block.as_slice().as_ptr() as usize;
    assert_eq!(segments[1].offset, at);
    let (memory, own) = (block.as_slice().as_ptr() as usize, scratch.as_ptr() as usize);
    let addresses = [own, view.data().unwrap().as_ptr() as usize];
    assert_eq!([0, 1].map(|index: usize| segments[index].address(memory, own)), addresses);

    let payload = payload_of(&segments, block.as_slice(), &scratch);
    let (mut chunk, bytes) = chunk_with(&plan, &payload, plan.chunk_bytes_max());
    let adopted = plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), bytes).unwrap();
    let block = Block::new(&chunk.as_slice()[..adopted.block_bytes]);
    let found = sensor_msgs::Image::view(block).unwrap();
    assert_eq!(found.header().frame_id().unwrap(), b"camera");
    assert_eq!(found.encoding().unwrap(), "mono8");
    assert_eq!(found.height(), 3);
    let at = found.data().unwrap().as_ptr() as usize - block.as_ptr() as usize;
    assert_eq!(at, plan.front_bytes() + HEADER_BYTES + head);
}

#[test]
fn odd_ends_of_large_sequences_are_completed_from_scratch_unless_they_end_the_payload() {
    let (_, plan) = image_plan();
    let block = image(1003);
    let mut scratch = vec![0; plan.scratch_bytes_max(256)];
    let mut segments = Vec::new();
    plan.gather(Block::new(block.as_slice()), 256, &mut scratch, &mut segments).unwrap();
    assert_eq!(segments.last().map(|it| (it.source, it.bytes)), Some((SegmentSource::Block, 1003)));
    let schema = Schema::parse("p/msg/Two", "uint8[<=2000] a\nuint8 b\n").unwrap();
    let plan = FramePlan::new(&schema, &BTreeMap::new()).unwrap();
    let mut cdr = vec![0, 1, 0, 0, 0xeb, 3, 0, 0];
    cdr.extend((0..1003u32).map(|index| index as u8));
    cdr.push(77);
    let block = block_of(&schema, &cdr);
    plan.gather(Block::new(block.as_slice()), 256, &mut scratch, &mut segments).unwrap();
    let sources: Vec<_> = segments.iter().map(|it| (it.source, it.bytes)).collect();
    let scratch_of = |bytes| (SegmentSource::Scratch, bytes);
    assert_eq!(sources, [scratch_of(8), (SegmentSource::Block, 1000), scratch_of(4)]);
    assert_eq!(segments[2].address(0, 1 << 20), (1 << 20) + 8, "behind the length");
    // At most a length with its padding, data too short to stay where they are, and the number.
    assert_eq!(plan.scratch_bytes_max(256), 3 + 4 + 4 + 255 + 1);
}

#[test]
fn structs_without_gaps_stay_where_they_are_whatever_they_begin_with() {
    let text = "Sample[<=100] samples\n===\nMSG: p/Sample\nuint32 a\nuint32 b\nfloat64 c\n";
    let schema = Schema::parse("p/msg/Samples", text).unwrap();
    let plan = FramePlan::new(&schema, &BTreeMap::new()).unwrap();
    let samples = vec![serde_json::json!({ "a": 1, "b": 2, "c": 3.5 }); 100];
    let cdr = schema.cdr_of_json(&serde_json::json!({ "samples": samples })).unwrap();
    let block = block_of(&schema, &cdr);
    let mut scratch = vec![0; plan.scratch_bytes_max(256)];
    let mut segments = Vec::new();
    plan.gather(Block::new(block.as_slice()), 256, &mut scratch, &mut segments).unwrap();
    let sources: Vec<_> = segments.iter().map(|it| (it.source, it.bytes)).collect();
    assert_eq!(sources, [(SegmentSource::Scratch, 8), (SegmentSource::Block, 1600)]);
}

#[test]
fn what_is_wrong_with_a_block_or_its_buffers_is_told_with_the_field() {
    let (_, plan) = image_plan();
    let mut segments = Vec::new();
    let block = image(5000);
    let mut gather = |block: &[u8], room| {
        plan.gather(Block::new(block), 256, &mut vec![0; room], &mut segments).unwrap_err()
    };
    let over = gather(block.as_slice(), 1000);
    assert_eq!(over, GatherError::OverBound { field: "data".into(), length: 5000, bound: 4096 });
    let full = gather(image(64).as_slice(), 20);
    assert_eq!(full, GatherError::Scratch { field: "header.frame_id".into(), room: 20 });
    let mut unaligned = image(1000);
    unaligned.as_mut_slice()[56] -= 4;
    let error = gather(unaligned.as_slice(), 1000);
    let FlatError::InField { field, cause } = (match error {
        GatherError::Block(error) => error,
        other => panic!("{other}"),
    }) else {
        panic!("without a field")
    };
    assert_eq!((&*field, *cause), ("data", FlatError::Misaligned { at: 56, alignment: 8 }));
    let mut far = image(64);
    far.as_mut_slice()[8..12].copy_from_slice(&0xff00_u32.to_le_bytes());
    let error = gather(far.as_slice(), 1000).to_string();
    let place = "field `header.frame_id`: the reference at byte 8 covers 6 bytes from byte 65280, ";
    assert!(error.starts_with(place), "{error}");
    let short = gather(&image(1).as_slice()[..40], 100);
    assert_eq!(short, FlatError::TooShort { block_bytes: 40, root_bytes: 72 }.into());
}

#[test]
fn what_is_wrong_with_a_frame_is_told_with_field_and_offset() {
    let text = "p/Named[<=3] items\nuint8 last\n\
                ================================================================================\n\
                MSG: p/Named\nstring<=4[<=2] names\n";
    let schema = Schema::parse("p/msg/Names", text).unwrap();
    let plan = FramePlan::new(&schema, &BTreeMap::new()).unwrap();
    // One item with one text of two bytes, then the number.
    let payload: Vec<u8> = [1u64, 1, 2, u64::from_le_bytes(*b"ab\x09\0\0\0\0\0")]
        .iter()
        .flat_map(|it| it.to_le_bytes())
        .collect();
    let payload = &payload[..27];
    let adopt = |payload: &[u8]| {
        let (mut chunk, bytes) = chunk_with(&plan, payload, plan.chunk_bytes_max());
        plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), bytes)
    };
    assert!(adopt(payload).is_ok());
    let changed = |at: usize, value: u8| {
        let mut payload = payload.to_vec();
        payload[at] = value;
        adopt(&payload).unwrap_err()
    };
    let over = |field: &str, at, length, bound| AdoptError::OverBound {
        field: field.into(),
        at,
        length,
        bound,
    };
    assert_eq!(changed(0, 4), over("items", 0, 4, 3));
    assert_eq!(changed(8, 3), over("items[0].names", 8, 3, 2));
    assert_eq!(changed(16, 5), over("items[0].names[0]", 16, 5, 4));
    let field: Box<str> = "items[0].names[0]".into();
    let short = AdoptError::TooShort { field, at: 24, wanted: 4, bytes: 27 };
    assert_eq!(changed(16, 4), short);
    assert_eq!(changed(16, 1), AdoptError::Trailing { at: 26, bytes: 27 });
    let (mut chunk, bytes) = chunk_with(&plan, payload, plan.chunk_bytes_max());
    let wrong = plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), bytes - 1);
    assert_eq!(wrong, Err(AdoptError::Length { header: 27, received: 26 }));
    let short = plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), 23);
    assert_eq!(short, Err(FrameHeaderError::TooShort { bytes: 23 }.into()));
    chunk.as_mut_slice()[plan.front_bytes()] = 2;
    let version = plan.adopt(chunk.as_mut_slice(), plan.front_bytes(), bytes);
    assert_eq!(version, Err(FrameHeaderError::Version { version: 2, flags: 0 }.into()));
    let front = plan.adopt(chunk.as_mut_slice(), 8, bytes);
    assert!(matches!(front, Err(AdoptError::Room { wanted: 64, room: 8, .. })), "{front:?}");
}

#[test]
fn adopting_takes_no_more_room_than_it_says() {
    // A text at the very end: its NUL is the byte behind the frame.
    let schema = Schema::of::<std_msgs::String>().unwrap();
    let plan = FramePlan::new(&schema, &BTreeMap::from([("data".to_owned(), 3)])).unwrap();
    assert_eq!((plan.front_bytes(), plan.behind_bytes_max()), (64, 8));
    let payload = [3, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', b'c'];
    let (mut chunk, bytes) = chunk_with(&plan, &payload, 64 + 24 + 11 + 1);
    let adopted = plan.adopt(chunk.as_mut_slice(), 64, bytes).unwrap();
    assert_eq!(adopted.block_bytes, 100);
    assert_eq!(schema.validate(Block::new(chunk.as_slice())), Ok(()));
    let (mut chunk, bytes) = chunk_with(&plan, &payload, 64 + 24 + 11);
    let full = plan.adopt(chunk.as_mut_slice(), 64, bytes);
    assert!(matches!(full, Err(AdoptError::Room { wanted: 100, room: 99, .. })), "{full:?}");
}

#[test]
fn bounds_that_cannot_be_are_refused() {
    let schema = Schema::parse("p/msg/One", "string<=4 a\nuint64[] b\nstring[] c\n").unwrap();
    let plan = |bounds: &[(&str, u32)]| {
        let bounds = bounds.iter().map(|(field, bound)| ((*field).to_owned(), *bound)).collect();
        FramePlan::new(&schema, &bounds).map(|plan| plan.payload_bytes_max())
    };
    let type_name = || "p/msg/One".to_owned();
    let fields = ["c.element", "c"].map(str::to_owned);
    assert!(matches!(
        plan(&[("b", 1)]),
        Err(FramePlanError::Unbounded { fields: found, .. }) if fields.iter().all(|it| found.contains(it))
    ));
    let above = FramePlanError::AboveType { field: "a".to_owned(), given: 5, bound: 4 };
    assert_eq!(plan(&[("a", 5)]), Err(above));
    assert!(plan(&[("a", 4), ("b", 1), ("c", 1), ("c.element", 1)]).is_ok());
    let all = [("b", 1), ("c", 1), ("c.element", 1)];
    let unknown = FramePlanError::UnknownField { type_name: type_name(), field: "d".to_owned() };
    assert_eq!(plan(&[&all[..], &[("d", 1)]].concat()), Err(unknown));
    assert_eq!(plan(&all), Ok(8 + 4 + 4 + 8 + 8 + 8 + 1));
    let long = Schema::parse("p/msg/Long", "float64 a\nfloat128 b\n").unwrap();
    let refused = FramePlanError::LongDouble { type_name: "p/msg/Long".into(), field: "b".into() };
    assert_eq!(FramePlan::new(&long, &BTreeMap::new()).unwrap_err(), refused);
    for large in [[("b", 1 << 30), all[1], all[2]], [("b", u32::MAX), all[1], all[2]]] {
        assert!(matches!(plan(&large), Err(FramePlanError::TooLarge { .. })));
    }
}
