//! The last message that went down on a topic. Hardware that refuses a message does not say which:
//! people look for it by its time and its sizes.

use crossdock_msg::definition::{Primitive, Shape};
use crossdock_msg::layout::{ElementLayout, FieldLayout};
use crossdock_msg::{Block, Schema};
use std::fmt::Write;

/// Numbers of a message that are kept: an image has three that say its size.
const SIZES_MAX: usize = 4;

/// When it was published, and its numbers of 32 bits.
pub(crate) struct Last {
    /// Their names, and where they lie in the message.
    sizes: Vec<(String, usize)>,
    values: [u32; SIZES_MAX],
    /// `None`: nothing went down.
    stamp_ns: Option<u64>,
}

impl Last {
    pub(crate) fn new(schema: &Schema) -> Self {
        let is_size = |it: &&FieldLayout| {
            it.shape == Shape::One && it.element == ElementLayout::Primitive(Primitive::Uint32)
        };
        let sizes = schema.layout().root().fields.iter().filter(is_size).take(SIZES_MAX);
        let sizes = sizes.map(|it| (it.name.clone(), it.offset as usize)).collect();
        Self { sizes, values: [0; SIZES_MAX], stamp_ns: None }
    }

    /// Notes a message. Does not allocate.
    pub(crate) fn note(&mut self, block: Block<'_>, stamp_ns: u64) {
        for ((_, at), value) in self.sizes.iter().zip(&mut self.values) {
            *value = block.read(*at).unwrap_or_default();
        }
        self.stamp_ns = Some(stamp_ns);
    }

    /// What is known of it, as a part of a sentence.
    #[cold]
    pub(crate) fn told(&self) -> Option<String> {
        let stamp_ns = self.stamp_ns?;
        let (seconds, rest) = (stamp_ns / 1_000_000_000, stamp_ns % 1_000_000_000);
        let mut told = format!("the last message there was published at {seconds}.{rest:09} s");
        for (at, ((name, _), value)) in self.sizes.iter().zip(&self.values).enumerate() {
            let before = if at == 0 { " with" } else { "," };
            let _ = write!(told, "{before} {name} = {value}");
        }
        Some(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_msg::FlatBuffer;

    #[test]
    fn the_last_message_is_told_by_its_time_and_its_sizes() {
        let schema = Schema::shipped("sensor_msgs/msg/Image").unwrap();
        let mut last = Last::new(&schema);
        assert_eq!(last.told(), None);
        let image = serde_json::json!({ "height": 480, "width": 639, "step": 1917 });
        let cdr = schema.cdr_of_json(&image).unwrap();
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).unwrap());
        schema.decode_cdr(&cdr, flat.as_mut_slice()).unwrap();
        last.note(Block::new(flat.as_slice()), 33_333_333);
        assert_eq!(
            last.told().unwrap(),
            "the last message there was published at 0.033333333 s with height = 480, width = 639, \
             step = 1917"
        );
        let mut plain = Last::new(&Schema::shipped("std_msgs/msg/Float64").unwrap());
        plain.note(Block::new(&[0; 8]), 2_000_000_000);
        assert_eq!(plain.told().unwrap(), "the last message there was published at 2.000000000 s");
    }
}
