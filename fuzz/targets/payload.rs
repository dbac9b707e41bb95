//! Fuzzes the frames of hardware: any bytes as a frame that was received into a chunk.
//!
//! A frame must be refused, or become a valid block in place, from which the same payload comes
//! again, but for its padding.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_msg::frame::{AdoptError, FrameHeader, FramePlan, HEADER_BYTES, SegmentSource};
use crossdock_msg::{Block, FlatBuffer, Schema};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::sync::OnceLock;

struct Case {
    schema: Schema,
    plan: FramePlan,
}

fn cases() -> &'static [Case] {
    fn case(schema: Schema, bounds: &[(&str, u32)]) -> Case {
        let bounds: BTreeMap<String, u32> =
            bounds.iter().map(|(field, bound)| ((*field).to_owned(), *bound)).collect();
        let plan = FramePlan::new(&schema, &bounds).expect("right bounds");
        Case { schema, plan }
    }
    fn shipped(name: &str, bounds: &[(&str, u32)]) -> Case {
        case(Schema::shipped(name).expect("a shipped type"), bounds)
    }
    fn text(text: &str) -> Case {
        case(Schema::parse("fuzz_msgs/msg/Case", text).expect("a right definition"), &[])
    }
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        vec![
            shipped("geometry_msgs/msg/Twist", &[]),
            shipped("std_msgs/msg/Header", &[("frame_id", 16)]),
            shipped(
                "sensor_msgs/msg/Image",
                &[("header.frame_id", 16), ("encoding", 8), ("data", 512)],
            ),
            shipped(
                "sensor_msgs/msg/PointCloud2",
                &[("header.frame_id", 16), ("fields", 4), ("fields.name", 8), ("data", 256)],
            ),
            shipped(
                "sensor_msgs/msg/JointState",
                &[
                    ("header.frame_id", 16),
                    ("name", 4),
                    ("name.element", 8),
                    ("position", 4),
                    ("velocity", 4),
                    ("effort", 4),
                ],
            ),
            text(
                "string<=9 text\nwstring<=3 wide\nuint16[<=2] few\nwstring<=3[<=2] wides\nbool b\n",
            ),
            text(
                "A[<=3] a\nA[2] b\nuint8 z\n===\nMSG: fuzz_msgs/A\nB[<=2] b\nuint8 x\n===\n\
                 MSG: fuzz_msgs/B\nC[<=2] c\nD[<=3] d\n===\nMSG: fuzz_msgs/C\nstring<=5 s\n\
                 float64[<=4] f\n===\nMSG: fuzz_msgs/D\nuint8 a\nfloat32 b\nuint16 c\n",
            ),
        ]
    })
}

fn seeds() -> Vec<Vec<u8>> {
    let empty = cases().iter().enumerate().map(|(index, case)| {
        let zeros = FlatBuffer::with_bytes(case.schema.root_bytes());
        let mut payload = Vec::new();
        case.plan.encode(Block::new(zeros.as_slice()), &mut payload).expect("an empty message");
        [&[index as u8], &payload[..]].concat()
    });
    let mut seeds: Vec<Vec<u8>> = empty.collect();
    let text = |text: &str| {
        let mut bytes = vec![text.len() as u8, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    seeds.push([&[1, 7, 0, 0, 0, 9, 0, 0, 0], &text("camera")[..]].concat());
    seeds
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let Case { schema, plan } = &cases()[usize::from(input.u8()) % cases().len()];
    let mut payload = input.rest();
    payload = &payload[..payload.len().min(plan.payload_bytes_max() as usize)];
    let front = plan.front_bytes();
    let mut chunk = plan.chunk();
    chunk.as_mut_slice().fill(0xa5);
    let header =
        FrameHeader { payload_bytes: payload.len() as u32, ..FrameHeader::default() };
    let frame = &mut chunk.as_mut_slice()[front..];
    frame[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
    frame[HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
    let adopted = match plan.adopt(chunk.as_mut_slice(), front, HEADER_BYTES + payload.len()) {
        Ok(adopted) => adopted,
        Err(AdoptError::Room { field, wanted, room }) => {
            panic!("no room for `{field}`: {wanted} of {room}");
        }
        Err(_) => return,
    };
    let block = Block::new(&chunk.as_slice()[..adopted.block_bytes]);
    assert_eq!(schema.validate(block), Ok(()));
    let mut first = Vec::new();
    plan.encode(block, &mut first).expect("a valid block within its bounds");
    assert_eq!(first.len(), payload.len());
    let mut scratch = vec![0; plan.scratch_bytes_max(16)];
    let mut segments = Vec::new();
    plan.gather(block, 16, &mut scratch, &mut segments).expect("a valid block");
    let parts = segments.iter().map(|it| match it.source {
        SegmentSource::Block => &block.as_bytes()[it.offset..][..it.bytes],
        SegmentSource::Scratch => &scratch[it.offset..][..it.bytes],
    });
    assert_eq!(parts.collect::<Vec<_>>().concat(), first);
    // A canonical payload comes back as it was.
    let again = plan.decode(&first).expect("what was encoded");
    let mut second = Vec::new();
    plan.encode(Block::new(again.as_slice()), &mut second).expect("a valid block");
    assert_eq!(second, first);
});
