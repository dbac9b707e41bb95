//! Random messages as CDR and as the payload of frames, written field by field straight from the
//! layout: an encoder that shares nothing with the crate's codecs but the order of the fields.

use crossdock_msg::definition::{Primitive, Shape};
use crossdock_msg::layout::{ElementLayout, Layout};

/// A small generator of random numbers (xorshift); its seed reproduces a message.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }
}

/// How a message is written. The same random numbers give the same message in every form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// XCDR1; padding has this value.
    Cdr { padding: u8 },
    /// The canonical payload of a frame.
    Payload,
}

/// How long sequences and texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Up to so many elements, and up to their bound.
    UpTo(usize),
    /// Their bound, or so many where there is none.
    Longest(usize),
}

/// A random message of this layout as CDR; sequences have up to `length_max` elements.
pub(crate) fn random_cdr(layout: &Layout, random: &mut Random, length_max: usize) -> Vec<u8> {
    random_message(layout, random, Lengths::UpTo(length_max), Form::Cdr { padding: 0 })
}

/// A random message of this layout.
pub(crate) fn random_message(
    layout: &Layout,
    random: &mut Random,
    lengths: Lengths,
    form: Form,
) -> Vec<u8> {
    let bytes = if form == Form::Payload { vec![] } else { vec![0, 1, 0, 0] };
    let mut out = Encoder { bytes, layout, random, lengths, form };
    out.put_struct(0);
    out.bytes
}

struct Encoder<'a> {
    bytes: Vec<u8>,
    layout: &'a Layout,
    random: &'a mut Random,
    lengths: Lengths,
    form: Form,
}

impl Encoder<'_> {
    fn put_struct(&mut self, index: usize) {
        let layout = self.layout;
        self.begin(ElementLayout::Struct(index));
        for field in &layout.structs[index].fields {
            let count = match field.shape {
                Shape::One => {
                    self.put_element(field.element);
                    continue;
                }
                Shape::Array(count) => count as usize,
                Shape::Sequence { bound } => self.put_count(bound),
            };
            (0..count).for_each(|_| {
                self.begin(field.element);
                self.put_element(field.element);
            });
        }
        if self.form == Form::Payload && !self.varies(ElementLayout::Struct(index)) {
            self.align(layout.structs[index].alignment as usize);
        }
    }

    /// Payloads: a struct at its alignment, and what differs in length at a multiple of 8. A text
    /// that is a field by itself begins with its length, wherever that goes.
    fn begin(&mut self, element: ElementLayout) {
        if self.form != Form::Payload {
            return;
        }
        match element {
            ElementLayout::Primitive(_) => {}
            ElementLayout::Struct(index) if !self.varies(element) => {
                self.align(self.layout.structs[index].alignment as usize);
            }
            _ => self.align(8),
        }
    }

    fn varies(&self, element: ElementLayout) -> bool {
        match element {
            ElementLayout::Primitive(_) => false,
            ElementLayout::Struct(index) => (self.layout.structs[index].fields.iter())
                .any(|it| matches!(it.shape, Shape::Sequence { .. }) || self.varies(it.element)),
            _ => true,
        }
    }

    fn put_element(&mut self, element: ElementLayout) {
        match element {
            ElementLayout::Struct(index) => self.put_struct(index),
            ElementLayout::Primitive(primitive) => self.put_number(primitive),
            ElementLayout::Text { bound } => {
                let length = self.length(bound);
                let (cdr, end) = match self.form {
                    Form::Cdr { .. } => (1, Some(0)),
                    Form::Payload => (0, None),
                };
                self.put_u32(length as u32 + cdr);
                self.data();
                for _ in 0..length {
                    // Any byte but NUL, UTF-8 or not.
                    let byte = (self.random.below(255) + 1) as u8;
                    self.bytes.push(byte);
                }
                self.bytes.extend(end);
            }
            ElementLayout::WideText { bound } => {
                let count = self.put_count(bound);
                for _ in 0..count {
                    let unit = self.random.next() as u16;
                    match self.form {
                        Form::Cdr { .. } => self.put_u32(u32::from(unit)),
                        Form::Payload => self.bytes.extend_from_slice(&unit.to_le_bytes()),
                    }
                }
            }
        }
    }

    fn put_number(&mut self, primitive: Primitive) {
        let size = primitive.bytes() as usize;
        self.align(size);
        let value = match primitive {
            Primitive::Bool => self.random.next() & 1,
            _ => self.random.next(),
        };
        self.bytes.extend_from_slice(&value.to_le_bytes()[..size]);
    }

    fn length(&mut self, bound: Option<u32>) -> usize {
        let bound = bound.map(|bound| bound as usize);
        match self.lengths {
            Lengths::UpTo(most) => self.random.below(bound.map_or(most, |it| it.min(most)) + 1),
            Lengths::Longest(most) => bound.unwrap_or(most),
        }
    }

    fn put_count(&mut self, bound: Option<u32>) -> usize {
        let count = self.length(bound);
        self.put_u32(count as u32);
        self.data();
        count
    }

    fn put_u32(&mut self, value: u32) {
        self.align(4);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Payloads: data begin at a multiple of 8.
    fn data(&mut self) {
        if self.form == Form::Payload {
            self.align(8);
        }
    }

    fn align(&mut self, size: usize) {
        let (header, padding) = match self.form {
            Form::Cdr { padding } => (4, padding),
            Form::Payload => (0, 0),
        };
        let end = (self.bytes.len() - header).next_multiple_of(size) + header;
        self.bytes.resize(end, padding);
    }
}
