//! Messages for the testbench: frames, whether they are right, and their values as they lie in the
//! flat layout, which knows nothing of the order of payloads.

use crate::Case;
use crate::random::{Form, Lengths, Random, random_message};
use crossdock_hardware_tests::must;
use crossdock_hwgen::message::{Content, MessageShape, Structure};
use crossdock_msg::definition::Shape;
use crossdock_msg::frame::{FrameHeader, FramePlan, HEADER_BYTES};
use crossdock_msg::layout::{ElementLayout, Layout};
use crossdock_msg::{Block, FlatBuffer};
use std::fmt::Write as _;

/// `count` random messages, as many damaged ones between them, and one above each bound, as lines
/// of a text in C++: `M` frame, damaged, right; `V` field, kind, item, bytes; `C` frame with zero
/// padding.
pub(crate) fn vectors(case: &Case, shape: &MessageShape, lengths: Lengths, count: u64) -> String {
    let plan = must(FramePlan::new(&case.schema, &case.bounds));
    let mut text = String::from("static const char vectors_text[] =\n");
    for seed in 1..=count {
        let mut random = Random::new(seed);
        let payload = message(case, &plan, seed, lengths);
        let header = FrameHeader {
            publisher_id: random.next() as u16,
            payload_bytes: payload.len() as u32,
            sequence: random.next() as u32,
            stamp_ns: random.next(),
        };
        let frame = [&header.to_bytes()[..], &payload].concat();
        put(&mut text, &plan, case, shape, &frame, false);
        let mut damaged = frame.clone();
        match seed % 6 {
            0 => damaged.truncate(random.below(frame.len()).max(1)),
            1 => damaged.extend((0..=random.below(80)).map(|it| it as u8)),
            // A length or number, with luck.
            2 => damaged[HEADER_BYTES + random.below(payload.len()) / 4 * 4] ^= 0x55,
            3 => damaged[4 + random.below(4)] ^= 1 << random.below(8),
            4 => damaged[random.below(2)] ^= 4,
            _ => {
                let cut = HEADER_BYTES + random.below(payload.len());
                damaged.truncate(cut);
                damaged[4..8].copy_from_slice(&((cut - HEADER_BYTES) as u32).to_le_bytes());
            }
        }
        put(&mut text, &plan, case, shape, &damaged, seed % 5 == 0);
    }
    // Right but for one length, which is one above its bound.
    for field in case.bounds.keys() {
        let mut larger = case.clone();
        larger.bounds.entry(field.clone()).and_modify(|bound| *bound += 1);
        let plan_of_larger = must(FramePlan::new(&larger.schema, &larger.bounds));
        let payload = message(&larger, &plan_of_larger, count, Lengths::Longest(0));
        let header = FrameHeader { payload_bytes: payload.len() as u32, ..FrameHeader::default() };
        let frame = [&header.to_bytes()[..], &payload].concat();
        put(&mut text, &plan, case, shape, &frame, false);
    }
    text + ";\n"
}

/// A payload: Rust's own encoding of a random message.
fn message(case: &Case, plan: &FramePlan, seed: u64, lengths: Lengths) -> Vec<u8> {
    let layout = bounded(case);
    let form = Form::Cdr { padding: 0 };
    let cdr = random_message(&layout, &mut Random::new(seed), lengths, form);
    let mut flat = FlatBuffer::with_bytes(must(case.schema.flat_bytes_of_cdr(&cdr)));
    must(case.schema.decode_cdr(&cdr, flat.as_mut_slice()));
    let mut payload = Vec::new();
    must(plan.encode(Block::new(flat.as_slice()), &mut payload));
    payload
}

/// The layout with the smallest bound everywhere: bounds of a case belong to paths, not to structs.
fn bounded(case: &Case) -> Layout {
    let mut layout = case.schema.layout().clone();
    let names: Vec<String> = layout.structs.iter().map(|it| it.type_name.clone()).collect();
    let last = |path: &str| path.trim_end_matches(".element").rsplit('.').next().map(str::to_owned);
    let bound_of = |name: &str, element: bool| {
        let found = case.bounds.iter().filter(|(path, _)| {
            last(path).as_deref() == Some(name) && path.ends_with(".element") == element
        });
        found.map(|(_, bound)| *bound).min()
    };
    for index in 0..names.len() {
        for field in &mut layout.structs[index].fields {
            let name = field.name.clone();
            let single = field.shape == Shape::One;
            if let Shape::Sequence { bound: bound @ None } = &mut field.shape {
                *bound = bound_of(&name, false);
            }
            if let ElementLayout::Text { bound: bound @ None }
            | ElementLayout::WideText { bound: bound @ None } = &mut field.element
            {
                *bound = bound_of(&name, !single);
            }
        }
    }
    layout
}

fn put(
    text: &mut String,
    plan: &FramePlan,
    case: &Case,
    shape: &MessageShape,
    frame: &[u8],
    damaged: bool,
) {
    let block = FrameHeader::read(frame).ok().and_then(|header| {
        let payload = &frame[HEADER_BYTES..];
        let is_whole = header.payload_bytes as usize == payload.len();
        plan.decode(payload).ok().filter(|_| is_whole && !damaged)
    });
    let _ = writeln!(
        text,
        "\"M {} {} {}\\n\"",
        hex(frame),
        u8::from(damaged),
        u8::from(block.is_some())
    );
    if let Some(block) = block {
        let block = Block::new(block.as_slice());
        let mut values = Values { layout: case.schema.layout(), block, text };
        values.structure(&shape.root, 0, 0, false);
        // What is published has zeros for padding, whatever was taken.
        let mut payload = Vec::new();
        must(plan.encode(block, &mut payload));
        let _ = writeln!(text, "\"C {}\\n\"", hex(&[&frame[..HEADER_BYTES], &payload].concat()));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The values of a block in the order of the definition.
struct Values<'a> {
    layout: &'a Layout,
    block: Block<'a>,
    text: &'a mut String,
}

impl Values<'_> {
    fn value(&mut self, field: usize, kind: u32, at: usize, count: usize, item: bool) {
        let found = self.block.bytes(at, count).expect("a valid block");
        let _ = writeln!(self.text, "\"V {field} {kind} {} {}\\n\"", u8::from(item), hex(found));
    }

    fn structure(&mut self, structure: &Structure, index: usize, base: usize, item: bool) {
        let layout = self.layout;
        for (member, field) in structure.members.iter().zip(&layout.structs[index].fields) {
            let number = member.field.unwrap_or_default();
            let place = base + field.offset as usize;
            self.content(&member.content, field.element, number, place, item);
        }
    }

    fn content(
        &mut self,
        content: &Content,
        element: ElementLayout,
        field: usize,
        at: usize,
        item: bool,
    ) {
        let stride = self.layout.element_bytes(element).0 as usize;
        match content {
            Content::Number(_) => self.value(field, 0, at, stride, item),
            Content::Numbers(_, count) => {
                (0..*count as usize)
                    .for_each(|i| self.value(field, 0, at + i * stride, stride, item));
            }
            Content::Sequence(unit, _) => {
                let reference = self.block.reference(at).expect("a valid block");
                self.value(field, 1, at + 8, 4, item);
                let count = reference.length as usize * unit.bytes() as usize;
                if count > 0 {
                    self.value(field, 2, reference.offset as usize, count, item);
                }
            }
            Content::Struct(structure) => {
                let ElementLayout::Struct(index) = element else { unreachable!("a struct") };
                self.structure(structure, index, at, item);
            }
            Content::Array(inner, count) => {
                let starts = (0..*count as usize).map(|i| at + i * stride);
                starts.for_each(|start| self.content(inner, element, field + 1, start, true));
            }
            Content::Records(inner, _) => {
                let reference = self.block.reference(at).expect("a valid block");
                self.value(field, 1, at + 8, 4, true);
                for i in 0..reference.length as usize {
                    let start = reference.offset as usize + i * stride;
                    self.content(inner, element, field + 1, start, true);
                }
            }
        }
    }
}
