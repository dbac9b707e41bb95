//! Random messages of random types: both directions of the codec, hashes, and damaged input.

use crate::common;
use common::random::{Random, random_cdr};
use common::types::{schema, types};
use crossdock_msg::{Block, CdrBuffer, CdrSlices, FlatBuffer, JsonOptions, Schema};
use proptest::prelude::*;

fn decode(schema: &Schema, bytes: &[u8]) -> FlatBuffer {
    let wanted = schema.flat_bytes_of_cdr(bytes).unwrap();
    let mut flat = FlatBuffer::with_bytes(wanted);
    assert_eq!(schema.decode_cdr(bytes, flat.as_mut_slice()).unwrap(), wanted);
    flat
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn random_messages_of_random_types_keep_their_bytes_both_ways(
        types in types(),
        seed in any::<u64>(),
        length_max in 0usize..40,
    ) {
        let schema = schema(&types);
        let bytes = random_cdr(schema.layout(), &mut Random::new(seed), length_max);
        let flat = decode(&schema, &bytes);
        let block = Block::new(flat.as_slice());
        prop_assert_eq!(schema.validate(block), Ok(()));
        prop_assert_eq!(schema.cdr_bytes(block), Ok(bytes.len()));
        let mut again = Vec::new();
        schema.encode_cdr(block, &mut again).unwrap();
        prop_assert_eq!(&again, &bytes);
        let mut buffer = CdrBuffer::new();
        let mut slices = CdrSlices::new(&mut buffer);
        schema.encode_cdr_slices(block, &mut slices).unwrap();
        prop_assert_eq!(slices.pieces().collect::<Vec<_>>().concat(), bytes);
        prop_assert!(schema.to_json(block).unwrap().is_object());
    }

    #[test]
    fn damaged_cdr_is_refused_or_decodes_to_a_valid_message(
        types in types(),
        seed in any::<u64>(),
        changes in 1usize..6,
    ) {
        let schema = schema(&types);
        let mut random = Random::new(seed);
        let mut bytes = random_cdr(schema.layout(), &mut random, 12);
        damage(&mut bytes, &mut random, changes);
        let Ok(wanted) = schema.flat_bytes_of_cdr(&bytes) else { return Ok(()) };
        // Bounded: at most a reference and an alignment gap of 64 bytes per 4 bytes of input.
        prop_assert!(wanted <= schema.root_bytes() + 24 * bytes.len() + 4096);
        let mut flat = FlatBuffer::with_bytes(wanted);
        prop_assert_eq!(schema.decode_cdr(&bytes, flat.as_mut_slice()), Ok(wanted));
        prop_assert_eq!(schema.validate(Block::new(flat.as_slice())), Ok(()));
    }

    #[test]
    fn damaged_flat_messages_are_refused_or_read_without_leaving_the_block(
        types in types(),
        seed in any::<u64>(),
        changes in 1usize..6,
    ) {
        let schema = schema(&types);
        let mut random = Random::new(seed);
        let bytes = random_cdr(schema.layout(), &mut random, 12);
        let mut flat = decode(&schema, &bytes);
        for _ in 0..changes {
            let words = flat.as_slice().len() / 8;
            let value = if random.below(2) == 0 { random.below(512) as u64 } else { random.next() };
            let at = random.below(words) * 8;
            if words > 0 {
                flat.as_mut_slice()[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        let cut = flat.as_slice().len() - random.below(2) * random.below(flat.as_slice().len());
        let block = Block::new(&flat.as_slice()[..cut]);
        let _ = schema.validate(block);
        let _ = schema.to_json_with(block, JsonOptions { elements_max: 8, ..JsonOptions::default() });
        let mut out = Vec::new();
        if schema.encode_cdr(block, &mut out).is_ok() {
            prop_assert_eq!(schema.cdr_bytes(block), Ok(out.len()));
        }
    }
}

/// Changes, removes and adds bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut Random, changes: usize) {
    for _ in 0..changes {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.next() as u8),
            2 if bytes.len() >= at + 4 => {
                let length = (random.next() as u32 >> random.below(32)).to_le_bytes();
                bytes[at..at + 4].copy_from_slice(&length);
            }
            _ if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
}
