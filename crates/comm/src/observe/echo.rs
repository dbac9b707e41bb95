//! What an observer reads of one ring: copies of messages, and further memory when the publisher
//! has made some.

use std::sync::Arc;

use crossdock_msg::{Block, FlatBuffer, Schema};
use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::{CopyError, CopyTarget, Meta, RingObserver};

use crate::observe::asking::{Asking, ObserveError, add_segments, open_ring};

/// The longest message that is copied to be looked at.
const ECHOED_BYTES_MAX: usize = 256 << 20;

/// Why an echo has no copy of a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EchoError {
    /// The publisher's ring is damaged: there is no use in going on.
    #[error(
        "the publisher of {topic} of node {node} in {process} is corrupt ({damage}): its messages are \
         not read any more; start its process anew"
    )]
    Damaged {
        /// Its topic.
        topic: String,
        /// Its node.
        node: String,
        /// Its process.
        process: String,
        /// What was found.
        damage: String,
    },
    /// A message lies in memory that was made later and cannot be had: it counts as missed, and
    /// the next call goes on behind it.
    #[error("message {seq} lies in new memory of its publisher, which cannot be mapped: {source}")]
    Memory {
        /// The message.
        seq: u64,
        /// Why not.
        source: Box<ObserveError>,
    },
    /// A message says that it is longer than what is copied: it counts as missed, and the next call
    /// goes on behind it.
    #[error(
        "message {seq} of {process} has {bytes} bytes, and at most {limit} are copied to be looked at: it \
         is missed; subscribe to the topic to get it"
    )]
    TooLong {
        /// Its process.
        process: String,
        /// The message.
        seq: u64,
        /// Its bytes, as its publisher says.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// There is no memory to copy a message to: it counts as missed, and the next call goes on
    /// behind it.
    #[error(
        "there is no memory to copy the {bytes} bytes of message {seq} of {process}: it is missed"
    )]
    NoRoom {
        /// Its process.
        process: String,
        /// The message.
        seq: u64,
        /// What was to be copied.
        bytes: usize,
    },
}

impl EchoError {
    /// Is there no use in going on? Otherwise a message is missed, and the next one can be had.
    pub fn is_final(&self) -> bool {
        matches!(self, EchoError::Damaged { .. })
    }
}

/// Memory that echoes copy messages to, one for any number of them. It stays as large as the
/// largest message was, at most 256 MiB.
#[derive(Clone, Debug, Default)]
pub struct EchoBuffer(FlatBuffer);

impl CopyTarget for EchoBuffer {
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        self.0.try_resize(bytes).then(|| self.0.as_mut_slice())
    }
}

/// Where an echo's ring comes from, to ask for further memory.
pub(crate) struct EchoSource {
    pub(crate) asking: Arc<Asking>,
    pub(crate) process: PeerName,
    /// How the process is called in errors.
    pub(crate) label: String,
    pub(crate) port: u64,
    /// Topic and node of the publisher.
    pub(crate) topic: String,
    pub(crate) node: String,
}

impl EchoSource {
    fn damaged(&self, damage: CopyError) -> EchoError {
        let damage = match damage {
            CopyError::Corrupt { seq, fault } => format!("{fault:?} at message {seq}"),
            other => other.to_string(),
        };
        let (topic, node, process) = (self.topic.clone(), self.node.clone(), self.label.clone());
        EchoError::Damaged { topic, node, process, damage }
    }
}

/// Reads what one publisher writes to its ring; the publisher does not know.
///
/// `Send`. Nothing wakes it: the caller looks as often as it likes. It asks the process again when
/// the publisher has made further memory for larger messages, which wakes that process's control
/// thread once.
pub struct Echo {
    source: EchoSource,
    ring: RingObserver,
    /// Segments that are known beside the ring's own.
    segments: u32,
    schema: Arc<Schema>,
    /// Of a header's stamp.
    first: Vec<u8>,
}

impl std::fmt::Debug for Echo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Echo").field("process", &self.source.label).finish_non_exhaustive()
    }
}

/// A copy of a message that an observer has read.
#[derive(Clone, Copy, Debug)]
pub struct Echoed<'a> {
    /// The message in the flat layout; a copy, whole.
    pub block: Block<'a>,
    /// Its number at its publisher.
    pub seq: u64,
    /// Its stamp in ns.
    pub stamp_ns: u64,
}

/// What an observer has read of a message without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// Its number at its publisher.
    pub seq: u64,
    /// Bytes of its payload.
    pub bytes: usize,
    /// When it was published, ns.
    pub stamp_ns: u64,
    /// `header.stamp`, seconds and nanoseconds, if its type has one.
    pub header: Option<(i32, u32)>,
}

/// Bytes of `header.stamp`: seconds and nanoseconds.
const HEADER_STAMP_BYTES: usize = 8;

impl Echo {
    pub(crate) fn open(source: EchoSource, schema: Arc<Schema>) -> Result<Echo, ObserveError> {
        let (shape, fds) = source.asking.ring(source.process, &source.label, source.port)?;
        let ring = open_ring(&source.label, &shape, &fds)?;
        let segments = count(shape.segments.len());
        Ok(Echo { source, ring, segments, schema, first: Vec::new() })
    }

    /// The type.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Messages that were overtaken before they could be copied.
    pub fn missed(&self) -> u64 {
        self.ring.missed()
    }

    /// A copy of the next message, if one is there. Copies, allocates for larger messages; blocks
    /// for at most one second while a process whose publisher has made new memory answers.
    ///
    /// # Errors
    /// [`EchoError`] when the publisher's ring is damaged, or a message lies in new memory that its
    /// process does not hand out (any more), or is longer than 256 MiB, or finds no memory.
    pub fn copy_next<'a>(
        &mut self,
        buffer: &'a mut EchoBuffer,
    ) -> Result<Option<Echoed<'a>>, EchoError> {
        let copied = self.copy(|ring| ring.copy_whole(buffer, ECHOED_BYTES_MAX))?;
        Ok(copied.map(|(seq, meta)| Echoed {
            block: Block::new(buffer.0.as_slice()),
            seq,
            stamp_ns: meta.stamp_ns,
        }))
    }

    /// What the next message says of itself, if one is there; of its payload only a header's stamp
    /// is read, and that only if `header` says so. Otherwise as [`Echo::copy_next`].
    ///
    /// # Errors
    /// As [`Echo::copy_next`].
    pub fn next_stamps(&mut self, header: bool) -> Result<Option<Stamps>, EchoError> {
        let stamp_at = self.schema.stamp_offset().filter(|_| header);
        let bytes_max = stamp_at.map_or(0, |at| at + HEADER_STAMP_BYTES);
        let mut first = std::mem::take(&mut self.first);
        let copied = self.copy(|ring| ring.copy_next(&mut first, bytes_max));
        self.first = first;
        let Some((seq, meta)) = copied? else { return Ok(None) };
        let header = stamp_at.and_then(|at| {
            let bytes: [u8; HEADER_STAMP_BYTES] =
                self.first.get(at..at + HEADER_STAMP_BYTES)?.try_into().ok()?;
            let [a, b, c, d, e, f, g, h] = bytes;
            Some((i32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])))
        });
        Ok(Some(Stamps { seq, bytes: meta.len, stamp_ns: meta.stamp_ns, header }))
    }

    /// Copies of the next message what `each` asks for.
    fn copy(
        &mut self,
        mut each: impl FnMut(&mut RingObserver) -> Result<Option<(u64, Meta)>, CopyError>,
    ) -> Result<Option<(u64, Meta)>, EchoError> {
        let process = |echo: &Echo| echo.source.label.clone();
        // Each turn opens a segment that was not known (there are few), or is the last.
        loop {
            match each(&mut self.ring) {
                Ok(found) => return Ok(found),
                Err(CopyError::UnknownSegment { seq, segment }) => {
                    if let Err(source) = self.fetch(segment.into()) {
                        self.ring.pass_over();
                        return Err(EchoError::Memory { seq, source: Box::new(source) });
                    }
                }
                Err(CopyError::TooLong { seq, bytes, limit }) => {
                    return Err(EchoError::TooLong { process: process(self), seq, bytes, limit });
                }
                Err(CopyError::NoRoom { seq, bytes }) => {
                    return Err(EchoError::NoRoom { process: process(self), seq, bytes });
                }
                Err(damage) => return Err(self.source.damaged(damage)),
            }
        }
    }

    /// Opens what the publisher has made since, `segment` among it.
    fn fetch(&mut self, segment: u32) -> Result<(), ObserveError> {
        let EchoSource { asking, process, label, port, .. } = &self.source;
        let (shape, fds) = asking.ring(*process, label, *port)?;
        let known = count(shape.segments.len());
        if segment <= self.segments || segment > known {
            let reason = format!(
                "it names segment {segment}, and {known} are handed out: memory that a driver moves (`managed` in \
                 the mapping) only that process has"
            );
            return Err(ObserveError::Nothing { process: label.clone(), reason });
        }
        let segments = fds.get(1..).unwrap_or_default();
        add_segments(&mut self.ring, label, &shape, segments, self.segments + 1)?;
        self.segments = known;
        Ok(())
    }
}

/// A number of segments, which is small.
fn count(segments: usize) -> u32 {
    u32::try_from(segments).unwrap_or(u32::MAX)
}
