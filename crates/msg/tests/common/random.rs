//! Random messages as CDR, written field by field straight from the layout: an encoder that shares
//! nothing with the crate's codec but the order of the fields.

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

/// A random message of this layout; sequences have up to `length_max` elements.
pub(crate) fn random_cdr(layout: &Layout, random: &mut Random, length_max: usize) -> Vec<u8> {
    let mut out = Encoder { bytes: vec![0, 1, 0, 0], layout, random, length_max };
    out.put_struct(0);
    out.bytes
}

struct Encoder<'a> {
    bytes: Vec<u8>,
    layout: &'a Layout,
    random: &'a mut Random,
    length_max: usize,
}

impl Encoder<'_> {
    fn put_struct(&mut self, index: usize) {
        let layout = self.layout;
        for field in &layout.structs[index].fields {
            let count = match field.shape {
                Shape::One => 1,
                Shape::Array(count) => count as usize,
                Shape::Sequence { bound } => self.put_count(bound),
            };
            (0..count).for_each(|_| self.put_element(field.element));
        }
    }

    fn put_element(&mut self, element: ElementLayout) {
        match element {
            ElementLayout::Struct(index) => self.put_struct(index),
            ElementLayout::Primitive(primitive) => self.put_number(primitive),
            ElementLayout::Text { bound } => {
                let most = bound.map_or(self.length_max, |bound| bound as usize);
                let length = self.random.below(most.min(self.length_max) + 1);
                self.put_u32(length as u32 + 1);
                for _ in 0..length {
                    // Any byte but NUL, UTF-8 or not.
                    let byte = (self.random.below(255) + 1) as u8;
                    self.bytes.push(byte);
                }
                self.bytes.push(0);
            }
            ElementLayout::WideText { bound } => {
                let count = self.put_count(bound);
                for _ in 0..count {
                    let unit = self.random.next() as u16;
                    self.put_u32(u32::from(unit));
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

    fn put_count(&mut self, bound: Option<u32>) -> usize {
        let most = bound.map_or(self.length_max, |bound| bound as usize);
        let count = self.random.below(most.min(self.length_max) + 1);
        self.put_u32(count as u32);
        count
    }

    fn put_u32(&mut self, value: u32) {
        self.align(4);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn align(&mut self, size: usize) {
        let end = (self.bytes.len() - 4).next_multiple_of(size) + 4;
        self.bytes.resize(end, 0);
    }
}
