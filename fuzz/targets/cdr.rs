//! Fuzzes the CDR decoder: any bytes as a message of any of several types.
//!
//! What is decoded must be a valid flat message whose encoding is a fixed point, and generated and
//! schema-driven code must agree in everything. Also big endian and XCDR2; an error names a field.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_msg::types::{geometry_msgs, nav_msgs, sensor_msgs, std_msgs};
use crossdock_msg::{
    Block, BlockMut, CdrBuffer, CdrSlices, FlatBuffer, JsonOptions, Message, Schema,
};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

const EVERYTHING: &str =
    include_str!("../../crates/msg/tests/user/interfaces/odd_msgs/msg/Everything.msg");

/// A type, and what is done with it where Rust code for it was generated.
struct Case {
    schema: Schema,
    generated: Option<fn(&Case, &[u8])>,
}

fn cases() -> &'static [Case] {
    fn of<M: Message>() -> Case {
        let schema = Schema::of::<M>().expect("a shipped type");
        Case { schema, generated: Some(generated::<M>) }
    }
    fn text(text: &str) -> Case {
        let schema = Schema::parse("fuzz_msgs/msg/Case", text).expect("a right definition");
        Case { schema, generated: None }
    }
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        vec![
            of::<std_msgs::Header>(),
            of::<std_msgs::String>(),
            of::<std_msgs::Empty>(),
            of::<std_msgs::Float64MultiArray>(),
            of::<sensor_msgs::Image>(),
            of::<sensor_msgs::CompressedImage>(),
            of::<sensor_msgs::PointCloud2>(),
            of::<sensor_msgs::JointState>(),
            of::<sensor_msgs::BatteryState>(),
            of::<sensor_msgs::MultiEchoLaserScan>(),
            of::<sensor_msgs::CameraInfo>(),
            of::<sensor_msgs::MultiDOFJointState>(),
            of::<nav_msgs::Path>(),
            of::<nav_msgs::Odometry>(),
            of::<geometry_msgs::PolygonStamped>(),
            text(&odd()),
            text("string text\nwstring wide\nuint16[<=2] few\nwstring<=3[<=2] wides\nbool b\n"),
            text(
                "A[] a\nA[2] b\n===\nMSG: fuzz_msgs/A\nB[<=3] b\nuint8 x\n===\nMSG: fuzz_msgs/B\n",
            ),
        ]
    })
}

/// Every kind of field, as far as it needs no other package.
fn odd() -> String {
    let own = |line: &&str| !line.contains('/');
    let fields: Vec<_> = EVERYTHING.lines().filter(own).collect();
    format!(
        "{}\n===\nMSG: fuzz_msgs/Record\n{}\n===\nMSG: fuzz_msgs/Result\n{}\n",
        fields.join("\n"),
        include_str!("../../crates/msg/tests/user/interfaces/odd_msgs/msg/Record.msg"),
        include_str!("../../crates/msg/tests/user/interfaces/odd_msgs/msg/Result.msg"),
    )
}

/// Each type with all fields zero or empty, and with some text and elements.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (index, case) in cases().iter().enumerate() {
        // A block of zeros is the message whose fields are all 0, false or empty.
        let flat = FlatBuffer::with_bytes(case.schema.root_bytes());
        let mut cdr = Vec::new();
        case.schema.encode_cdr(Block::new(flat.as_slice()), &mut cdr).expect("an empty message");
        for fill in [0u8, 1, 2] {
            // Small numbers everywhere: also as counts of what comes next.
            let head = if fill == 0 { cdr.len() } else { 4 };
            let mut seed = [&[index as u8], &cdr[..head]].concat();
            let ones = [fill, 0, 0, 0].repeat(64);
            seed.extend_from_slice(if fill == 0 { &[] } else { &ones });
            for header in [0, 6, 7, 8, 9] {
                let mut foreign = seed.clone();
                foreign[2] = header;
                seeds.push(foreign);
            }
            seeds.push(seed);
        }
    }
    seeds
}

fn decoded(schema: &Schema, cdr: &[u8], wanted: usize) -> FlatBuffer {
    let mut flat = FlatBuffer::with_bytes(wanted);
    assert_eq!(schema.decode_cdr(cdr, flat.as_mut_slice()), Ok(wanted));
    flat
}

fn encoded(schema: &Schema, block: Block<'_>) -> Vec<u8> {
    let mut cdr = Vec::new();
    schema.encode_cdr(block, &mut cdr).expect("a valid message is encoded");
    assert_eq!(schema.cdr_bytes(block), Ok(cdr.len()));
    cdr
}

fn schema_driven(case: &Case, cdr: &[u8]) {
    let schema = &case.schema;
    let Ok(wanted) = schema.flat_bytes_of_cdr(cdr) else {
        let mut flat = FlatBuffer::with_bytes(4096);
        assert!(schema.decode_cdr(cdr, flat.as_mut_slice()).is_err());
        return;
    };
    // A reference and an alignment gap per 4 bytes of input at most.
    assert!(wanted <= schema.root_bytes() + 24 * cdr.len() + 4096, "{wanted} bytes");
    let flat = decoded(schema, cdr, wanted);
    let block = Block::new(flat.as_slice());
    assert_eq!(schema.validate(block), Ok(()));
    let first = encoded(schema, block);
    let mut buffer = CdrBuffer::new();
    let mut slices = CdrSlices::new(&mut buffer);
    schema.encode_cdr_slices(block, &mut slices).expect("a valid message is encoded");
    assert_eq!(slices.pieces().collect::<Vec<_>>().concat(), first);
    let again = schema.flat_bytes_of_cdr(&first).expect("what is encoded can be decoded");
    let again = decoded(schema, &first, again);
    assert_eq!(encoded(schema, Block::new(again.as_slice())), first);
    assert!(
        schema
            .to_json_with(block, JsonOptions { elements_max: 4, ..JsonOptions::default() })
            .is_ok()
    );
}

fn generated<M: Message>(case: &Case, cdr: &[u8]) {
    let wanted = case.schema.flat_bytes_of_cdr(cdr);
    let extra = M::cdr_extra(cdr);
    assert_eq!(wanted.is_ok(), extra.is_ok(), "{wanted:?} {extra:?}");
    let (Ok(wanted), Ok(extra)) = (wanted, extra) else { return };
    assert_eq!(wanted, M::ROOT_BYTES + extra.total());
    let mut flat = FlatBuffer::with_bytes(wanted);
    let mut used = 0;
    {
        let mut builder = M::builder(BlockMut::new(flat.as_mut_slice(), &mut used));
        M::decode_cdr(cdr, &mut builder).expect("the schema's code decodes it");
    }
    assert_eq!(used, wanted);
    assert_eq!(flat.as_slice(), decoded(&case.schema, cdr, wanted).as_slice());
    let block = Block::new(flat.as_slice());
    let mut buffer = CdrBuffer::new();
    let view = M::view(block).expect("it was just built");
    M::encode_cdr(view, &mut buffer).expect("a valid message is encoded");
    assert_eq!(buffer.as_bytes(), encoded(&case.schema, block));
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let case = &cases()[usize::from(input.u8()) % cases().len()];
    schema_driven(case, input.rest());
    if let Some(generated) = case.generated {
        generated(case, input.rest());
    }
});
