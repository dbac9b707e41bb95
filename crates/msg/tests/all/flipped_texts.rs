//! Texts of 64 KiB that their publisher changes while they are converted. Whatever a converter
//! gives is a text: it is checked after it was copied, never before.

use crossdock_msg::types::sensor_msgs::JointState;
use crossdock_msg::{Block, BlockMut, CdrBuffer, Extra, FlatBuffer, FlatError, Message, Schema};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Length of each text; a copy of it takes some microseconds.
const TEXT_BYTES: usize = 64 << 10;
/// Rounds of all converters.
const ROUNDS: usize = 300;
/// How many times as many rounds there are at most.
const PATIENCE: usize = 100;

/// What each converter gave.
#[derive(Default)]
struct Seen(BTreeMap<&'static str, (u64, u64)>);

impl Seen {
    /// A text of safe code is UTF-8, whatever happened to what it was made of.
    fn text(&mut self, converter: &'static str, found: Result<&str, FlatError>) {
        let counts = self.0.entry(converter).or_default();
        match found {
            Ok(text) => {
                // Not what the type promises, but what is there.
                let bytes = std::hint::black_box(text.as_bytes());
                assert!(std::str::from_utf8(bytes).is_ok(), "{converter} gave no UTF-8");
                counts.0 += 1;
            }
            Err(FlatError::NotUtf8 { .. }) => counts.1 += 1,
            Err(other) => panic!("{converter}: {other}"),
        }
    }

    fn value(&mut self, converter: &'static str, found: &Value) {
        self.text(converter, Ok(found.as_str().unwrap()));
    }

    /// Texts that were whole, and texts that were caught while they were changed.
    fn shows_both(&self) -> bool {
        let exact = ["string", "copy_into", "frame_id_string", "element"];
        exact.iter().all(|name| self.0.get(name).is_some_and(|(whole, cut)| *whole > 0 && *cut > 0))
    }
}

/// A message of two long texts, as words that two threads may touch.
fn message() -> (Vec<AtomicU64>, Vec<usize>) {
    let text = "a".repeat(TEXT_BYTES);
    let extra = Extra::none().text(TEXT_BYTES).references(1).text(TEXT_BYTES);
    let mut flat =
        FlatBuffer::with_bytes((JointState::ROOT_BYTES + extra.total()).next_multiple_of(8));
    let mut top = 0;
    let mut builder = JointState::builder(BlockMut::new(flat.as_mut_slice(), &mut top));
    builder.header().set_frame_id(&text).unwrap();
    builder.name(1).unwrap().set_text(0, text.as_str().into()).unwrap();
    let bytes = flat.as_slice();
    // Near the end of each text: most of it is checked or copied before.
    let ends = bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"a\0");
    let places = ends.map(|(at, _)| at - 8).collect();
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    (words.map(AtomicU64::new).collect(), places)
}

/// Makes no UTF-8 of the texts and UTF-8 again, for spans about as long as a conversion.
fn flip(memory: &[AtomicU64], places: &[usize], done: &AtomicBool) {
    let first = memory.as_ptr().cast::<u8>().cast_mut();
    while !done.load(Ordering::Relaxed) {
        for byte in [0xff, b'a'] {
            for at in places {
                // SAFETY: inside the words, which outlive this thread.
                let byte_at = unsafe { first.add(*at) };
                // SAFETY: as above; all access to it is atomic, or racy by intent.
                let place = unsafe { AtomicU8::from_ptr(byte_at) };
                place.store(byte, Ordering::Relaxed);
            }
            (0..2000).for_each(|_| std::hint::spin_loop());
        }
    }
}

/// Ends the other thread, also if this one has found a fault.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn convert(block: Block<'_>, schema: &Schema, seen: &mut Seen, buffers: &mut (Vec<u8>, CdrBuffer)) {
    let state = JointState::view(block).unwrap();
    let text = state.header().frame_id().unwrap();
    let (copy, cdr) = buffers;
    seen.text("string", text.string().as_deref().map_err(Clone::clone));
    seen.text("string_lossy", Ok(&text.string_lossy()));
    seen.text("copy_into", text.copy_into(copy));
    let string = state.header().frame_id_string();
    seen.text("frame_id_string", string.as_deref().map_err(Clone::clone));
    let names = state.name().unwrap();
    let element = names.get(0).unwrap().unwrap().string();
    seen.text("element", element.as_deref().map_err(Clone::clone));
    seen.text("debug", Ok(&format!("{text:?}")));
    let json = schema.to_json(block).unwrap();
    seen.value("to_json", &json["header"]["frame_id"]);
    seen.value("to_json of an element", &json["name"][0]);
    // The same memory twice: equal or not, as its publisher has it.
    if let Some(found) = schema.first_difference(block, block).unwrap() {
        seen.value("first_difference", &found.left);
        seen.value("first_difference", &found.right);
    }
    let again = state.header().frame_id().unwrap();
    let _ = std::hint::black_box(text == "a" || text == again);
    // CDR holds bytes; its reader makes a text of them.
    JointState::encode_cdr(state, cdr).unwrap();
    assert!(schema.flat_bytes_of_cdr(cdr.as_bytes()).is_ok());
}

#[test]
fn a_text_that_changes_while_it_is_converted_never_becomes_an_invalid_string() {
    let (memory, places) = message();
    assert_eq!(places.len(), 2);
    let schema = Schema::of::<JointState>().unwrap();
    // SAFETY: the memory outlives the block; the other thread only changes values.
    let block = unsafe { Block::from_raw(memory.as_ptr().cast(), size_of_val(&memory[..])) };
    let (mut seen, mut buffers) = (Seen::default(), (vec![0; TEXT_BYTES], CdrBuffer::new()));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| flip(&memory, &places, &done));
        let _ends = Ends(&done);
        let mut round = 0;
        // On a busy machine the other thread may come late.
        while round < ROUNDS || !seen.shows_both() && round < ROUNDS * PATIENCE {
            convert(block, &schema, &mut seen, &mut buffers);
            round += 1;
        }
    });
    println!("whole and refused: {:?}", seen.0);
    assert!(seen.shows_both(), "both were met");
}

#[test]
fn a_text_is_compared_and_copied_without_a_string_of_its_own() {
    let (memory, _) = message();
    // SAFETY: the memory outlives the block, and nobody writes.
    let block = unsafe { Block::from_raw(memory.as_ptr().cast(), size_of_val(&memory[..])) };
    let state = JointState::view(block).unwrap();
    let text = state.header().frame_id().unwrap();
    let same = "a".repeat(TEXT_BYTES);
    assert!(
        text == same
            && text == same.as_bytes()
            && text == state.name().unwrap().get(0).unwrap().unwrap()
    );
    for length in [0, 1, TEXT_BYTES - 1] {
        assert!(text != same[..length]);
    }
    for at in [0, 63, 64, 65, TEXT_BYTES - 1] {
        let mut other = same.clone().into_bytes();
        other[at] = b'b';
        assert!(text != other[..], "another byte {at}");
    }
    let mut short = [0; 16];
    let refused = text.copy_into(&mut short).unwrap_err();
    assert_eq!(refused, FlatError::NoRoom { bytes: TEXT_BYTES, room: 16 });
    let mut long = vec![0; TEXT_BYTES + 5];
    assert_eq!(text.copy_into(&mut long).unwrap(), same);
}
