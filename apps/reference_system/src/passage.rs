//! What nodes do alike: take a message and see how many were missed; pass on which nodes it has
//! come from, each once, and add themselves.

use crate::messages::reference_interfaces::{Message4kb, Message4kbView, TransmissionStats};
use crossdock_comm::{Loan, Publisher, Sample, Subscriber};
use crossdock_executor::NodeError;
use crossdock_msg::block::Text;
use crossdock_msg::{Extra, Message};

/// Nodes that one message can name.
pub(crate) const PASSAGES_MAX: usize = 63;
/// Bytes of a node's name in a message.
const NAME_BYTES: usize = 48;
/// Bytes of what one node adds, and where its name lies in them.
const PASSAGE_BYTES: usize = TransmissionStats::ROOT_BYTES;
const NAME_AT: usize = PASSAGE_BYTES - NAME_BYTES;

const _: () = assert!(Message4kb::ROOT_BYTES == 4096 && PASSAGE_BYTES == 64);

/// A node's passage of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    pub(crate) node: String,
    pub(crate) timestamp_ns: u64,
    pub(crate) sequence_number: u32,
    pub(crate) dropped: u32,
}

/// The nodes that a message has passed. What the message says of their number is not trusted.
pub(crate) fn passages(message: Message4kbView<'_>) -> impl Iterator<Item = Passage> {
    message.stats().iter().take(count(message)).map(|stats| {
        let name = stats.node_name();
        let bytes = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Passage {
            node: Text::new(bytes).string_lossy(),
            timestamp_ns: stats.timestamp(),
            sequence_number: stats.sequence_number(),
            dropped: stats.dropped_samples(),
        }
    })
}

/// How many they are.
pub(crate) fn passages_of(message: Message4kbView<'_>) -> u32 {
    count(message) as u32
}

fn count(message: Message4kbView<'_>) -> usize {
    usize::try_from(message.size()).unwrap_or(PASSAGES_MAX).min(PASSAGES_MAX)
}

/// An input, which knows the sequence number of the last message that it has given.
#[derive(Debug)]
pub(crate) struct Input {
    subscriber: Subscriber<Message4kb>,
    sequence_number: u32,
}

impl Input {
    pub(crate) fn new(subscriber: Subscriber<Message4kb>) -> Self {
        Self { subscriber, sequence_number: 0 }
    }

    /// The message that is there, and how many of its node's were missed before it.
    pub(crate) fn take(&mut self) -> Result<Option<(Sample<Message4kb>, u32)>, NodeError> {
        let taken = self.subscriber.take()?;
        Ok(taken.map(|sample| self.counted(sample)))
    }

    /// The same with the newest one.
    pub(crate) fn latest(&mut self) -> Result<Option<(Sample<Message4kb>, u32)>, NodeError> {
        let taken = self.subscriber.latest()?;
        Ok(taken.map(|sample| self.counted(sample)))
    }

    fn counted(&mut self, sample: Sample<Message4kb>) -> (Sample<Message4kb>, u32) {
        let message = sample.message();
        let last = count(message).checked_sub(1).and_then(|last| message.stats().get(last));
        let number = last.map_or(0, |stats| stats.sequence_number());
        let missed = number.saturating_sub(self.sequence_number).saturating_sub(1);
        self.sequence_number = number;
        (sample, missed)
    }
}

/// An output, which numbers the messages of its node.
#[derive(Debug)]
pub(crate) struct Output {
    publisher: Publisher<Message4kb>,
    node: [u8; NAME_BYTES],
    sequence_number: u32,
}

impl Output {
    /// `node` is the name that messages carry; what is longer than their field is cut.
    pub(crate) fn new(publisher: Publisher<Message4kb>, node: &str) -> Self {
        let mut name = [0; NAME_BYTES];
        // The last byte stays zero: readers in C look for it.
        let bytes = node.as_bytes().iter().take(NAME_BYTES - 1);
        name.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Self { publisher, node: name, sequence_number: 0 }
    }

    /// A message that has passed no node yet.
    pub(crate) fn begin(&mut self) -> Result<Outgoing<'_>, NodeError> {
        let loan = self.publisher.loan(Extra::none())?;
        let number = self.sequence_number;
        self.sequence_number = number.wrapping_add(1);
        Ok(Outgoing { loan, node: &self.node, number, size: 0, dropped: 0 })
    }
}

/// A message that is being built.
pub(crate) struct Outgoing<'p> {
    loan: Loan<'p, Message4kb>,
    node: &'p [u8; NAME_BYTES],
    number: u32,
    size: usize,
    dropped: u32,
}

impl Outgoing<'_> {
    /// Adds the nodes that another message has passed and this one has not, and the messages that
    /// were missed before it.
    pub(crate) fn merge(&mut self, (sample, missed): &(Sample<Message4kb>, u32)) {
        let from = sample.message();
        let known = self.size;
        let mut message = self.loan.message();
        let mut stats = message.stats();
        let to = stats.bytes_mut();
        let passages = from.stats().bytes().chunks_exact(PASSAGE_BYTES).take(count(from));
        for passage in passages {
            let (before, after) = to.split_at_mut(self.size * PASSAGE_BYTES);
            let mut before = before.chunks_exact(PASSAGE_BYTES).take(known);
            let is_known = before.any(|known| known[NAME_AT..] == passage[NAME_AT..]);
            if let (false, Some(place)) = (is_known, after.get_mut(..PASSAGE_BYTES)) {
                place.copy_from_slice(passage);
                self.size += 1;
            }
        }
        self.dropped = self.dropped.saturating_add(*missed);
    }

    /// Adds the node itself, whose execution began at `timestamp_ns`, and publishes.
    pub(crate) fn publish(mut self, timestamp_ns: u64, result: i64) -> Result<(), NodeError> {
        let mut message = self.loan.message();
        if self.size < PASSAGES_MAX {
            let mut stats = message.stats();
            let mut own = stats.at(self.size);
            own.set_timestamp(timestamp_ns);
            own.set_sequence_number(self.number);
            own.set_dropped_samples(self.dropped);
            own.set_node_name(self.node);
            self.size += 1;
        }
        message.set_size(self.size as u64);
        message.data_mut()[0] = result;
        self.loan.publish()?;
        Ok(())
    }
}
