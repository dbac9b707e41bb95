//! The page docs/formats/flat-layout.md says what the crate does, and layouts stay what they are.

use crossdock_msg::types::{sensor_msgs, std_msgs};
use crossdock_msg::{Block, BlockMut, FlatBuffer, FlatError, JsonOptions, Message, Schema};

const PAGE: &str = include_str!("../../../../docs/formats/flat-layout.md");

/// A header with stamp 1 s 2 ns and frame `camera`.
fn header() -> FlatBuffer {
    let mut memory = FlatBuffer::with_bytes(64);
    let mut top = 0;
    let mut header = std_msgs::Header::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    header.stamp().set_sec(1);
    header.stamp().set_nanosec(2);
    header.set_frame_id("camera").unwrap();
    FlatBuffer::from_bytes(&memory.as_slice()[..top])
}

#[test]
fn the_pages_examples_are_what_the_crate_writes() {
    let image = Schema::of::<sensor_msgs::Image>().unwrap();
    assert!(PAGE.contains(&image.layout().canonical_text()));
    assert!(PAGE.contains(&image.layout_hash().to_string()), "{}", image.layout_hash());
    let header = header();
    let rows = header
        .as_slice()
        .chunks(16)
        .map(|row| row.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "));
    let rows = rows.collect::<Vec<_>>().join("\n");
    assert!(PAGE.contains(&rows), "{rows}");
}

#[test]
fn the_sizes_of_known_structs_are_those_of_a_c_compiler() {
    assert_eq!(sensor_msgs::Image::ROOT_BYTES, 72);
    assert_eq!(sensor_msgs::PointCloud2::ROOT_BYTES, 88);
    assert_eq!(sensor_msgs::PointField::ROOT_BYTES, 32);
    assert_eq!((std_msgs::Empty::ROOT_BYTES, std_msgs::Empty::ROOT_ALIGNMENT), (1, 1));
    assert_eq!((std_msgs::Header::ROOT_BYTES, std_msgs::Header::STAMP_OFFSET), (24, None));
}

#[test]
fn the_validator_names_each_broken_rule() {
    let schema = Schema::of::<std_msgs::Header>().unwrap();
    let broken = |at: usize, value: u8| {
        let mut memory = header();
        memory.as_mut_slice()[at] = value;
        match schema.validate(Block::new(memory.as_slice())).unwrap_err() {
            FlatError::InField { field, cause } => {
                assert_eq!(&*field, "frame_id");
                *cause
            }
            other => other,
        }
    };
    assert!(matches!(broken(8, 200), FlatError::OutOfBlock { at: 8, offset: 200, .. }));
    assert!(matches!(broken(15, 255), FlatError::OutOfBlock { .. }));
    assert!(matches!(broken(8, 8), FlatError::OutOfBlock { offset: 8, .. }));
    assert!(matches!(broken(16, 32), FlatError::OutOfBlock { bytes: 32, .. }));
    assert!(matches!(broken(20, 6), FlatError::Capacity { length: 6, capacity: 6, .. }));
    assert!(matches!(broken(20, 9), FlatError::OutOfBlock { .. }));
    assert!(matches!(broken(23, 0x80), FlatError::ExternalBuffer { at: 8 }));
    assert!(matches!(broken(30, 1), FlatError::Capacity { .. }));
    let memory = header();
    let short = schema.validate(Block::new(&memory.as_slice()[..20]));
    assert_eq!(short, Err(FlatError::TooShort { block_bytes: 20, root_bytes: 24 }));
    assert_eq!(schema.validate(Block::new(memory.as_slice())), Ok(()));
}

#[test]
fn numbers_may_lie_at_any_multiple_of_eight() {
    let schema = Schema::parse("my_msgs/Numbers", "uint8[] few\nwstring wide\n").unwrap();
    let valid = |offsets: [u64; 2]| {
        let mut memory = FlatBuffer::with_bytes(64);
        for (field, offset) in offsets.into_iter().enumerate() {
            let words = [offset, 4 | (4 << 32)].map(u64::to_le_bytes).concat();
            memory.as_mut_slice()[16 * field..][..16].copy_from_slice(&words);
        }
        schema.validate(Block::new(memory.as_slice()))
    };
    assert_eq!(valid([32, 40]), Ok(()));
    for (field, offsets) in [("few", [36, 48]), ("wide", [32, 46])] {
        let error = valid(offsets).unwrap_err();
        let FlatError::InField { field: found, cause } = error else { panic!("{error}") };
        assert_eq!(&*found, field);
        assert!(matches!(*cause, FlatError::Misaligned { alignment: 8, .. }), "{cause}");
    }
}

#[test]
fn views_refuse_external_buffers_and_unaligned_blocks() {
    let mut memory = header();
    let unaligned = Block::new(&memory.as_slice()[1..]);
    assert!(matches!(std_msgs::Header::view(unaligned), Err(FlatError::Misaligned { .. })));
    memory.as_mut_slice()[23] = 0x80;
    let header = std_msgs::Header::view(Block::new(memory.as_slice())).unwrap();
    assert_eq!(header.frame_id(), Err(FlatError::ExternalBuffer { at: 8 }));
}

#[test]
fn errors_of_texts_say_where_their_reference_lies() {
    // The reference to the names lies behind the header of 24 bytes, its mark in its last byte.
    let mut memory = FlatBuffer::with_bytes(sensor_msgs::JointState::ROOT_BYTES);
    memory.as_mut_slice()[24 + 15] = 0x80;
    let block = Block::new(memory.as_slice());
    let state = sensor_msgs::JointState::view(block).unwrap();
    assert_eq!(state.name().err(), Some(FlatError::ExternalBuffer { at: 24 }));
    assert!(!block.is_empty() && Block::new(&[]).is_empty());
}

#[test]
fn numbers_of_sixteen_bytes_that_leave_the_block_are_refused_where_their_reference_lies() {
    let schema = Schema::parse("my_msgs/Long", "float128[] numbers\n").unwrap();
    let mut memory = FlatBuffer::with_bytes(16 + 24);
    // Two of them need 32 bytes.
    let words = [16, 2 | (2 << 32)].map(u64::to_le_bytes).concat();
    memory.as_mut_slice()[..16].copy_from_slice(&words);
    let error = schema.to_json(Block::new(memory.as_slice())).unwrap_err();
    let outside = FlatError::OutOfBlock { at: 0, offset: 16, bytes: 32, block_bytes: 40 };
    assert_eq!(error, outside);
}

#[test]
fn references_that_overlap_do_not_blow_up_a_conversion() {
    let schema = Schema::parse("my_msgs/Many", "string[] texts\n").unwrap();
    // 60 references to one text of 1000 bytes.
    let (count, length) = (60u64, 1000u64);
    let text_at = 16 + count * 16;
    let mut memory = FlatBuffer::with_bytes((text_at + length + 1) as usize);
    let mut put = |at: u64, offset: u64, length: u64, capacity: u64| {
        let counts = (length | (capacity << 32)).to_le_bytes();
        memory.as_mut_slice()[at as usize..][..8].copy_from_slice(&offset.to_le_bytes());
        memory.as_mut_slice()[at as usize + 8..][..8].copy_from_slice(&counts);
    };
    put(0, 16, count, count);
    (0..count).for_each(|index| put(16 + 16 * index, text_at, length, length + 1));
    let block = Block::new(memory.as_slice());
    let overlap = FlatError::Overlap { block_bytes: memory.as_slice().len() };
    let mut out = Vec::new();
    assert_eq!(schema.encode_cdr(block, &mut out), Err(overlap.clone()));
    assert!(out.len() <= 2 * memory.as_slice().len());
    assert_eq!(schema.to_json(block), Err(overlap));
    assert!(schema.validate(block).is_err());
}

#[test]
fn long_arrays_are_cut_in_json_and_numbers_that_json_lacks_become_texts() {
    let mut memory = FlatBuffer::with_bytes(1024);
    let mut top = 0;
    let mut scan = sensor_msgs::LaserScan::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    scan.set_ranges(&[0.1, f32::NAN, f32::INFINITY, 4.0]).unwrap();
    let schema = Schema::of::<sensor_msgs::LaserScan>().unwrap();
    let block = Block::new(&memory.as_slice()[..top]);
    let whole = schema.to_json(block).unwrap();
    assert_eq!(whole["ranges"], serde_json::json!([0.1, "nan", "inf", 4.0]));
    let options = JsonOptions { elements_max: 1, ..Default::default() };
    let cut = schema.to_json_with(block, options).unwrap();
    assert_eq!(cut["ranges"], serde_json::json!([0.1, "... 3 more"]));
}

/// A message of a type in which each of `levels` types has two of the one before, all zeros.
fn nested(levels: usize) -> (Schema, FlatBuffer) {
    let types = (1..levels).rev().map(|level| format!("===\nMSG: a_msgs/L{level}\n"));
    let fields = (0..levels - 1).rev().map(|level| match level {
        0 => "uint8[2] a\n".to_owned(),
        _ => format!("L{level}[2] a\n"),
    });
    let text: String = types.zip(fields).map(|(head, field)| head + &field).collect();
    let text = format!("L{}[2] a\nstring text\nwstring wide\n{text}", levels - 1);
    let schema = Schema::parse("a_msgs/A", &text).unwrap();
    let value = serde_json::json!({ "text": "a text", "wide": "wide" });
    let cdr = schema.cdr_of_json(&value).unwrap();
    let mut memory = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).unwrap());
    schema.decode_cdr(&cdr, memory.as_mut_slice()).unwrap();
    (schema, memory)
}

#[test]
fn short_arrays_that_nest_are_cut_as_a_whole_and_say_how_much_is_left_out() {
    let (schema, memory) = nested(16);
    let block = Block::new(memory.as_slice());
    assert_eq!(memory.as_slice().len() >> 16, 1);
    let text = |options| schema.to_json_with(block, options).unwrap().to_string();
    let whole = JsonOptions::shown(16);
    assert_eq!(text(whole), schema.to_json(block).unwrap().to_string(), "65536 numbers fit");
    let cut = text(JsonOptions { bytes_max: 1 << 16, ..whole });
    assert!(cut.len() < 1 << 16, "{}", cut.len());
    assert!(cut.contains("[0,0]"), "it begins with what fits: {cut}");
    assert!(cut.contains("\"... 1 more\"]"), "{cut}");
    assert!(cut.ends_with(r#","...":"2 more"}"#), "{cut}");
    let field = schema.field_json(block, "a[0]", JsonOptions { bytes_max: 1 << 14, ..whole });
    assert!(field.unwrap().to_string().len() < 1 << 14);
}

#[test]
fn a_text_that_does_not_fit_says_its_length_and_what_is_behind_it_is_shown() {
    let schema = Schema::parse("a_msgs/A", "string long\nstring short\nwstring wide\n").unwrap();
    let value =
        serde_json::json!({ "long": "x".repeat(5000), "short": "s", "wide": "ä".repeat(2500) });
    let cdr = schema.cdr_of_json(&value).unwrap();
    let mut memory = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).unwrap());
    schema.decode_cdr(&cdr, memory.as_mut_slice()).unwrap();
    let options = JsonOptions { bytes_max: 5000, ..JsonOptions::default() };
    let cut = schema.to_json_with(Block::new(memory.as_slice()), options).unwrap();
    let expected =
        serde_json::json!({ "long": "<5000 bytes>", "short": "s", "wide": "<5000 bytes>" });
    assert_eq!(cut, expected);
}

#[test]
fn a_message_that_must_be_exact_is_refused_if_it_does_not_fit() {
    let (schema, memory) = nested(10);
    let block = Block::new(memory.as_slice());
    let options = JsonOptions { exact: true, ..JsonOptions::default() };
    assert!(schema.to_json_with(block, options).is_ok());
    let refused = schema.to_json_with(block, JsonOptions { bytes_max: 1000, ..options });
    assert_eq!(refused, Err(FlatError::JsonTooLarge { limit: 1000 }));
}

#[test]
fn a_picture_of_a_camera_is_whole_in_json() {
    let mut memory = FlatBuffer::with_bytes(8 << 20);
    let mut top = 0;
    let mut image = sensor_msgs::Image::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    let bytes = 1920 * 1080 * 3;
    image.data_uninit(bytes).unwrap().fill(200);
    let schema = Schema::of::<sensor_msgs::Image>().unwrap();
    let block = Block::new(&memory.as_slice()[..top]);
    let whole = schema.to_json(block).unwrap();
    assert_eq!(whole["data"].as_array().map(Vec::len), Some(bytes));
    assert_eq!(whole["data"][bytes - 1], 200);
    let shown = schema.to_json_with(block, JsonOptions::shown(2)).unwrap();
    assert_eq!(shown["data"], serde_json::json!([200, 200, "... 6220798 more"]));
}
