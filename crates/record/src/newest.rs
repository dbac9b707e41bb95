//! The newest messages of a recording, kept in memory until a snapshot asks for them.

use crate::recorder::{LogTime, RecorderOptions, StartRecorderError};
use crate::write_error::WriteError;
use crate::writer::WrittenTopic;
use std::collections::VecDeque;
use std::io::IoSlice;

/// A message in memory, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Place of the topic among those that are recorded.
    pub(crate) place: usize,
    pub(crate) topic: WrittenTopic,
    pub(crate) time_ns: u64,
    pub(crate) bytes: usize,
}

/// Messages in the order in which they came; the oldest make room for the newest.
#[derive(Debug)]
pub(crate) struct Newest {
    /// The bytes of all messages, one behind the other. Taken once; the system gives the memory
    /// when it is used for the first time.
    bytes: VecDeque<u8>,
    messages: VecDeque<Kept>,
    bytes_max: usize,
}

impl Newest {
    /// The memory for snapshots, if there shall be any.
    pub(crate) fn of(options: &RecorderOptions) -> Result<Option<Self>, StartRecorderError> {
        let steps = options.log_time == LogTime::Stepped;
        let Some(bytes_max) = options.snapshot_bytes.filter(|_| !steps) else { return Ok(None) };
        let mut bytes = VecDeque::new();
        bytes
            .try_reserve_exact(bytes_max)
            .map_err(|source| StartRecorderError::Memory { bytes: bytes_max, source })?;
        Ok(Some(Self { bytes, messages: VecDeque::new(), bytes_max }))
    }

    /// Messages in memory.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Bytes of messages and of their list that are kept at most.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Keeps a message, whose bytes are the concatenation of `pieces`, in the place of the oldest
    /// ones. False: it is larger than the memory.
    pub(crate) fn keep(&mut self, kept: Kept, pieces: &[IoSlice<'_>]) -> bool {
        let cost = kept.bytes.saturating_add(size_of::<Kept>());
        if cost > self.bytes_max {
            return false;
        }
        while self.cost() + cost > self.bytes_max {
            self.forget_oldest();
        }
        for piece in pieces {
            self.bytes.extend(piece.iter());
        }
        self.messages.push_back(kept);
        true
    }

    fn cost(&self) -> usize {
        self.bytes.len() + self.messages.len() * size_of::<Kept>()
    }

    fn forget_oldest(&mut self) {
        let bytes = self.messages.pop_front().map_or(0, |kept| kept.bytes);
        self.bytes.drain(..bytes);
    }

    /// Gives each message to `write`, and forgets those that were written; says how many.
    pub(crate) fn write_out(
        &mut self,
        mut write: impl FnMut(&Kept, &[IoSlice<'_>]) -> Result<(), WriteError>,
    ) -> Result<u64, WriteError> {
        let mut written = 0;
        while let Some(kept) = self.messages.front() {
            // The bytes lie in a ring: a message may begin at its end and go on at its start.
            let (first, second) = self.bytes.as_slices();
            let first = &first[..kept.bytes.min(first.len())];
            let second = &second[..kept.bytes - first.len()];
            write(kept, &[IoSlice::new(first), IoSlice::new(second)])?;
            self.forget_oldest();
            written += 1;
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BagReader, BagWriter, Compression, TopicDescription, WriterOptions};
    use std::path::PathBuf;

    fn newest(bytes: usize) -> Newest {
        let mut options = RecorderOptions::new("r", Vec::new(), LogTime::Wall);
        options.snapshot_bytes = Some(bytes);
        Newest::of(&options).expect("memory").expect("it is asked for")
    }

    /// A bag with one topic.
    fn bag(name: &str) -> (PathBuf, BagWriter, WrittenTopic) {
        let path = std::env::temp_dir().join(format!("xd-{name}-{}.mcap", std::process::id()));
        let options = WriterOptions::new(Compression::None);
        let mut writer = BagWriter::create(&path, options).expect("a bag");
        let topic = TopicDescription {
            name: "/a".to_owned(),
            type_name: "std_msgs/msg/String".to_owned(),
            definition: "string data".to_owned(),
            type_hash: String::new(),
            qos: Vec::new(),
        };
        let topic = writer.add_topic(topic).expect("a topic");
        (path, writer, topic)
    }

    #[test]
    fn the_newest_messages_are_written_whole_wherever_they_lie_in_the_ring() {
        let (path, mut writer, topic) = bag("newest");
        // Room for ten to forty messages, so that the ring goes round many times.
        let mut newest = newest(4000);
        let body = |number: u64| vec![number as u8; (number * 37 % 300) as usize];
        let mut wanted = VecDeque::new();
        for number in 0..5000 {
            let body = body(number);
            let kept = Kept { place: 0, topic, time_ns: number, bytes: body.len() };
            let (left, right) = body.split_at(body.len() / 3);
            assert!(newest.keep(kept, &[IoSlice::new(left), IoSlice::new(right)]));
            wanted.push_back(number);
            let forgotten = wanted.len() - newest.messages() as usize;
            wanted.drain(..forgotten);
            assert!(newest.cost() <= 4000);
            let full = newest.cost() + 300 + size_of::<Kept>() > 4000;
            assert!(full || forgotten == 0, "more is forgotten than must be");
            if number % 997 == 0 {
                let count = newest.write_out(|kept, pieces| {
                    writer.write(topic, kept.time_ns, 0, pieces).map(drop)
                });
                assert_eq!(count.expect("room"), wanted.len() as u64);
                assert_eq!(newest.cost(), 0);
                wanted.clear();
            }
        }
        writer.finish().expect("a bag");
        let reader = BagReader::open(&path).expect("a bag");
        let (mut messages, mut count) = (reader.messages(), 0);
        while let Some(message) = messages.next_message() {
            let message = message.expect("sound");
            assert_eq!(message.data, body(message.log_time_ns));
            count += 1;
        }
        assert!(count > 50, "{count} messages");
        std::fs::remove_file(&path).expect("the bag");
    }

    #[test]
    fn a_message_that_is_larger_than_the_memory_is_refused_and_costs_no_other() {
        let (path, writer, topic) = bag("newest-large");
        let mut newest = newest(100);
        let kept = |bytes| Kept { place: 0, topic, time_ns: 0, bytes };
        assert!(newest.keep(kept(10), &[IoSlice::new(&[1; 10])]));
        assert!(!newest.keep(kept(100), &[IoSlice::new(&[2; 100])]));
        assert_eq!(newest.messages(), 1);
        drop(writer);
        std::fs::remove_file(&path).expect("the bag");
        let mut options = RecorderOptions::new("r", Vec::new(), LogTime::Wall);
        options.snapshot_bytes = Some(usize::MAX);
        let error = Newest::of(&options).expect_err("nobody has so much");
        assert!(error.to_string().contains("keep fewer"), "{error}");
    }
}
