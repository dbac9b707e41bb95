//! A publisher that goes on writing offsets and lengths while a subscriber reads: no access may
//! leave the block. The block lies inside a larger buffer, and every slice that an accessor hands
//! out is compared with the block's bounds before it is touched.

use crate::common;
use common::random::{Random, random_cdr};
use crossdock_msg::block::Text;
use crossdock_msg::frame::{FramePlan, SegmentSource};
use crossdock_msg::types::sensor_msgs::PointCloud2;
use crossdock_msg::{Block, CdrBuffer, FlatBuffer, FlatError, Message, Schema};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes before and behind the block.
const MARGIN_BYTES: usize = 4096;

/// How many times as many reads as asked for there are at most.
const PATIENCE: u64 = 1000;

/// Reads whose results are checked.
#[derive(Default)]
struct Outcome {
    reads: u64,
    slices: u64,
    refused: u64,
}

#[test]
fn a_subscriber_never_leaves_the_block_while_its_publisher_mutates_it_1e6_times() {
    read_while_mutated(1_000_000);
}

#[test]
#[ignore = "2 to 5 minutes: 10^9 reads, on two cores"]
fn a_subscriber_never_leaves_the_block_while_its_publisher_mutates_it_1e9_times() {
    read_while_mutated(1_000_000_000);
}

fn read_while_mutated(reads_min: u64) {
    let schema = Schema::of::<PointCloud2>().unwrap();
    let bytes = random_cdr(schema.layout(), &mut Random::new(3), 24);
    let flat_bytes = schema.flat_bytes_of_cdr(&bytes).unwrap().next_multiple_of(8);
    let mut flat = FlatBuffer::with_bytes(flat_bytes);
    schema.decode_cdr(&bytes, flat.as_mut_slice()).unwrap();
    let first = flat.as_slice().chunks_exact(8);
    let first: Vec<u64> = first.map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let margin = MARGIN_BYTES / 8;
    let memory: Vec<AtomicU64> = std::iter::repeat_n(u64::MAX, margin)
        .chain(first.iter().copied())
        .chain(std::iter::repeat_n(u64::MAX, margin))
        .map(AtomicU64::new)
        .collect();
    let shared = &memory[margin..margin + first.len()];
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| mutate(shared, &first, &stop));
        let outcome = read(shared, &schema, reads_min);
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    println!("{} reads: {} slices, {} refused", outcome.reads, outcome.slices, outcome.refused);
    assert!(outcome.slices > 0 && outcome.refused > 0, "both outcomes occurred");
    let margins = memory[..margin].iter().chain(&memory[margin + first.len()..]);
    assert!(margins.map(|word| word.load(Ordering::Relaxed)).all(|word| word == u64::MAX));
}

/// Writes random, extreme and right values into random words, mostly those of references.
fn mutate(shared: &[AtomicU64], first: &[u64], stop: &AtomicBool) {
    let mut random = Random::new(11);
    while !stop.load(Ordering::Relaxed) {
        let at = match random.below(3) {
            0 => random.below(shared.len()),
            _ => random.below(PointCloud2::ROOT_BYTES / 8),
        };
        let value = match random.below(6) {
            0 => random.next(),
            1 => random.below(shared.len() * 8) as u64,
            2 => u64::from(random.next() as u32 % 4096) * 0x1_0000_0001,
            3 => u64::MAX - random.below(4096) as u64,
            _ => first[at],
        };
        shared[at].store(value, Ordering::Relaxed);
    }
}

fn read(shared: &[AtomicU64], schema: &Schema, reads_min: u64) -> Outcome {
    let start = shared.as_ptr() as usize;
    let bounds = start..start + size_of_val(shared);
    // SAFETY: the memory outlives the block; the other thread only changes values.
    let block = unsafe { Block::from_raw(shared.as_ptr().cast(), size_of_val(shared)) };
    let mut outcome = Outcome::default();
    let mut buffer = CdrBuffer::new();
    let mut encoded = Vec::new();
    let fields = ["header.frame_id", "fields", "fields.name", "data"];
    let plan = FramePlan::new(schema, &fields.map(|it| (it.to_owned(), 64)).into()).unwrap();
    let mut scratch = vec![0; plan.scratch_bytes_max(8)];
    let mut segments = Vec::new();
    let mut round = 0u64;
    // On a busy machine the other thread may come late: then reading goes on until it has.
    let both = |outcome: &Outcome| outcome.slices > 0 && outcome.refused > 0;
    while outcome.reads < reads_min || !both(&outcome) && outcome.reads / reads_min < PATIENCE {
        round += 1;
        let cloud = PointCloud2::view(block).unwrap();
        check_text(cloud.header().frame_id(), &bounds, &mut outcome);
        check(cloud.data(), &bounds, &mut outcome);
        match cloud.fields() {
            Ok(fields) => {
                for field in fields.iter().take(8) {
                    std::hint::black_box((field.offset(), field.datatype()));
                    check_text(field.name(), &bounds, &mut outcome);
                }
            }
            Err(_) => outcome.refused += 1,
        }
        if round.is_multiple_of(64) {
            let _ = schema.validate(block);
            let _ = PointCloud2::encode_cdr(cloud, &mut buffer);
            let _ = schema.encode_cdr(block, &mut encoded);
            if let Ok(payload) = plan.gather(block, 8, &mut scratch, &mut segments) {
                let mut ends = segments.iter().map(|it| match it.source {
                    SegmentSource::Block => (it.offset + it.bytes, block.len()),
                    SegmentSource::Scratch => (it.offset + it.bytes, scratch.len()),
                });
                assert!(ends.all(|(end, limit)| end <= limit), "{segments:?}");
                assert_eq!(segments.iter().map(|it| it.bytes).sum::<usize>(), payload);
            }
            outcome.reads += 4;
        }
    }
    outcome
}

fn check_text(found: Result<Text<'_>, FlatError>, bounds: &Range<usize>, outcome: &mut Outcome) {
    outcome.reads += 1;
    match found {
        Ok(text) if text.is_empty() => {}
        Ok(text) => {
            let start = text.as_ptr() as usize;
            assert!(bounds.contains(&start) && text.len() <= bounds.end - start);
            std::hint::black_box(text.to_vec());
            outcome.slices += 1;
        }
        Err(_) => outcome.refused += 1,
    }
}

fn check(found: Result<&[u8], FlatError>, bounds: &Range<usize>, outcome: &mut Outcome) {
    outcome.reads += 1;
    match found {
        Ok([]) => {}
        Ok(slice) => {
            let start = slice.as_ptr() as usize;
            assert!(bounds.contains(&start) && slice.len() <= bounds.end - start);
            std::hint::black_box((slice[0], slice[slice.len() - 1]));
            outcome.slices += 1;
        }
        Err(_) => outcome.refused += 1,
    }
}
