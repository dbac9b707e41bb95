//! CDR that other writers may send: what is refused and how the error says so, and the pieces of
//! messages with many large arrays.

use crate::common;
use common::random::{Random, random_cdr};
use crossdock_msg::{Block, CdrBuffer, CdrError, CdrSlices, FlatBuffer, Schema};

/// A text and a bounded sequence.
fn schema() -> Schema {
    Schema::parse("my_msgs/My", "string text\nwstring wide\nuint16[<=2] few\n").unwrap()
}

/// `text` = "hi", `wide` = "a", `few` = [1, 2].
const GOOD: [u8; 28] =
    [0, 1, 0, 0, 3, 0, 0, 0, b'h', b'i', 0, 0, 1, 0, 0, 0, b'a', 0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0];

fn decode(bytes: &[u8]) -> Result<usize, CdrError> {
    schema().flat_bytes_of_cdr(bytes).map_err(|error| match error {
        CdrError::InField { cause, .. } => *cause,
        other => other,
    })
}

#[test]
fn foreign_encodings_and_damage_are_refused_with_the_place() {
    assert!(decode(&GOOD).is_ok());
    let changed = |at: usize, value: u8| {
        let mut bytes = GOOD;
        bytes[at] = value;
        decode(&bytes).unwrap_err()
    };
    assert_eq!(changed(1, 3), CdrError::Encoding { header: [0, 3] });
    assert_eq!(changed(10, 1), CdrError::NotTerminated { at: 8 });
    assert_eq!(changed(7, 0xff), CdrError::TooShort { at: 8, wanted: 0xff00_0003, bytes: 28 });
    assert_eq!(changed(18, 1), CdrError::WideUnit { at: 16, unit: 0x10061 });
    assert_eq!(changed(20, 3), CdrError::TooShort { at: 24, wanted: 6, bytes: 28 });
    let long = [&GOOD[..20], &[3, 0, 0, 0, 1, 0, 2, 0, 3, 0]].concat();
    assert_eq!(decode(&long), Err(CdrError::OverBound { at: 30, length: 3, bound: 2 }));
    assert_eq!(decode(&GOOD[..3]), Err(CdrError::TooShort { at: 0, wanted: 4, bytes: 3 }));
    for end in 4..GOOD.len() {
        assert!(matches!(decode(&GOOD[..end]), Err(CdrError::TooShort { .. })), "{end}");
    }
}

#[test]
fn up_to_three_bytes_of_padding_are_accepted_and_more_are_refused() {
    let padded = |count: usize| [GOOD.as_slice(), &[0; 8][..count]].concat();
    assert!(decode(&padded(3)).is_ok());
    assert_eq!(decode(&padded(4)), Err(CdrError::Trailing { at: 28, bytes: 32 }));
}

#[test]
fn memory_that_is_too_small_is_refused_with_the_size_needed() {
    let wanted = decode(&GOOD).unwrap();
    let mut flat = FlatBuffer::with_bytes(wanted - 1);
    let result = schema().decode_cdr(&GOOD, flat.as_mut_slice());
    assert_eq!(result, Err(CdrError::Room { wanted, room: wanted - 1 }));
}

#[test]
fn large_arrays_stay_in_place_and_those_beyond_the_limit_are_copied() {
    let mut text = String::from("uint8[5000] fixed\n");
    (0..10).for_each(|index| text.push_str(&format!("uint8 a{index}\nfloat64[] data{index}\n")));
    let schema = Schema::parse("my_msgs/Large", &text).unwrap();
    for seed in 0..8 {
        let bytes = random_cdr(schema.layout(), &mut Random::new(seed), 1500);
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&bytes).unwrap());
        schema.decode_cdr(&bytes, flat.as_mut_slice()).unwrap();
        let block = Block::new(flat.as_slice());
        let mut buffer = CdrBuffer::new();
        let mut slices = CdrSlices::new(&mut buffer);
        schema.encode_cdr_slices(block, &mut slices).unwrap();
        assert_eq!(slices.total_bytes(), bytes.len());
        let pieces: Vec<_> = slices.pieces().collect();
        assert!((3..=17).contains(&pieces.len()), "{}", pieces.len());
        let range = flat.as_slice().as_ptr_range();
        assert!(range.contains(&pieces[1].as_ptr()), "the fixed array stays in place");
        assert_eq!(pieces.concat(), bytes);
    }
}
