//! Fuzzes the flat layout: any bytes as a block that a publisher sent.
//!
//! The validator, the encoders, JSON and the generated accessors must refuse or read; what the
//! schema-driven and the generated code say must agree.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_msg::types::{geometry_msgs, nav_msgs, sensor_msgs, std_msgs};
use crossdock_msg::{
    Block, BlockMut, CdrBuffer, Extra, FieldError, FlatBuffer, JsonOptions, Message, Schema,
};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

struct Case {
    schema: Schema,
    generated: Option<fn(&Case, Block<'_>)>,
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
            of::<std_msgs::Float64MultiArray>(),
            of::<sensor_msgs::Image>(),
            of::<sensor_msgs::PointCloud2>(),
            of::<sensor_msgs::JointState>(),
            of::<sensor_msgs::MultiEchoLaserScan>(),
            of::<sensor_msgs::MultiDOFJointState>(),
            of::<nav_msgs::Path>(),
            of::<geometry_msgs::PolygonStamped>(),
            text("float128 exact\nfloat128[<=3] more\nwchar w\nchar8[] letters\n"),
            text("string text\nwstring wide\nuint16[<=2] few\nwstring<=3[<=2] wides\nbool b\n"),
            // Records in records in records, which damaged references can make large.
            text(
                "A[] a\nA[2] b\n===\nMSG: fuzz_msgs/A\nB[] b\nuint8 x\n===\nMSG: fuzz_msgs/B\n\
                 C[] c\n===\nMSG: fuzz_msgs/C\nstring s\nfloat64[<=4] f\n",
            ),
        ]
    })
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (index, case) in cases().iter().enumerate() {
        let zeros = vec![0; case.schema.root_bytes()];
        seeds.push([&[index as u8, 0], &zeros[..]].concat());
    }
    let extra =
        Extra::none().text(3).sequence::<sensor_msgs::PointField>(2).text(1).text(1).bytes(24);
    let mut flat = FlatBuffer::with_bytes(sensor_msgs::PointCloud2::ROOT_BYTES + extra.total());
    let mut used = 0;
    let mut cloud =
        sensor_msgs::PointCloud2::builder(BlockMut::new(flat.as_mut_slice(), &mut used));
    cloud.header().set_frame_id("map").expect("room");
    cloud.set_width(2);
    let mut fields = cloud.fields(2).expect("room");
    fields.at(0).set_name("x").expect("room");
    fields.at(1).set_name("y").expect("room");
    cloud.data_uninit(24).expect("room").fill(7);
    seeds.push([&[3, 0], &flat.as_slice()[..used]].concat());
    seeds
}

fn schema_driven(case: &Case, block: Block<'_>) {
    let schema = &case.schema;
    let valid = schema.validate(block);
    let mut cdr = Vec::new();
    let encoded = schema.encode_cdr(block, &mut cdr);
    assert_eq!(schema.cdr_bytes(block).is_ok(), encoded.is_ok());
    if valid.is_ok() {
        let json =
            schema.to_json_with(block, JsonOptions { elements_max: 4, ..JsonOptions::default() });
        assert!(json.is_ok(), "{json:?}");
    }
    // Each field by its path, and elements of it that may not be there.
    for field in &schema.layout().root().fields {
        for path in [field.name.clone(), format!("{}[1]", field.name)] {
            let one = schema.field_json(block, &path, JsonOptions { elements_max: 4, ..options() });
            let is_damage = matches!(one, Err(FieldError::Flat(_)));
            assert!(!(valid.is_ok() && is_damage), "{path}: {one:?}");
        }
    }
    if encoded.is_err() {
        return;
    }
    assert_eq!(schema.cdr_bytes(block), Ok(cdr.len()));
    // An encoding is no larger than what its block can hold: references may not multiply it.
    assert!(cdr.len() <= 64 + 8 * block.len(), "{} bytes of {}", cdr.len(), block.len());
    if valid.is_ok() {
        let wanted = schema.flat_bytes_of_cdr(&cdr).expect("what is encoded can be decoded");
        let mut flat = FlatBuffer::with_bytes(wanted);
        assert_eq!(schema.decode_cdr(&cdr, flat.as_mut_slice()), Ok(wanted));
        let mut again = Vec::new();
        schema.encode_cdr(Block::new(flat.as_slice()), &mut again).expect("a valid message");
        assert_eq!(again, cdr);
    }
}

fn options() -> JsonOptions {
    JsonOptions { exact: true, ..JsonOptions::default() }
}

fn generated<M: Message>(case: &Case, block: Block<'_>) {
    let Ok(view) = M::view(block) else {
        assert!(case.schema.validate(block).is_err());
        return;
    };
    let mut buffer = CdrBuffer::new();
    let encoded = M::encode_cdr(view, &mut buffer);
    let mut cdr = Vec::new();
    let other = case.schema.encode_cdr(block, &mut cdr);
    assert_eq!(encoded.is_ok(), other.is_ok(), "{encoded:?} {other:?}");
    if encoded.is_ok() {
        assert_eq!(buffer.as_bytes(), cdr);
    }
}

/// Accessors that no encoder uses; every slice that they give is read whole.
fn accessors(block: Block<'_>) {
    let sum = |bytes: &[u8]| bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    if let Ok(cloud) = sensor_msgs::PointCloud2::view(block) {
        std::hint::black_box(cloud.data().map(sum)).ok();
        std::hint::black_box(cloud.header().frame_id_string()).ok();
        for field in cloud.fields().iter().flat_map(|fields| fields.iter().take(64)) {
            std::hint::black_box(field.name().map(|name| sum(&name.to_vec()))).ok();
        }
    }
    if let Ok(state) = sensor_msgs::JointState::view(block) {
        for name in state.name().iter().flat_map(|names| names.iter().take(64)) {
            std::hint::black_box(name.map(|name| sum(&name.to_vec()))).ok();
        }
        std::hint::black_box(state.position().map(|it| it.iter().sum::<f64>())).ok();
    }
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let case = &cases()[usize::from(input.u8()) % cases().len()];
    // Blocks come at any address. The memory ends where the block does: AddressSanitizer finds a
    // read of one byte more.
    let shift = usize::from(input.u8() & 7);
    let memory = [&[0; 8][..shift], input.rest()].concat().into_boxed_slice();
    let block = Block::new(&memory[shift..]);
    schema_driven(case, block);
    accessors(block);
    if let Some(generated) = case.generated {
        generated(case, block);
    }
});
