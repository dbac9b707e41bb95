//! What an observer reads of one ring: copies of messages, and further memory when the publisher
//! has made some.

use std::sync::Arc;

use crossdock_msg::{Block, FlatBuffer, Schema};
use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::{CopyError, Meta, RingObserver};

use crate::observe::asking::{Asking, ObserveError, add_segments, map_ring};

/// Why an echo has no copy of a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EchoError {
    /// The publisher's ring is damaged: there is no use in going on.
    #[error(transparent)]
    Damaged(CopyError),
    /// A message lies in memory that was made later and cannot be had: it counts as missed, and
    /// the next call goes on behind it.
    #[error("message {seq} lies in new memory of its publisher, which cannot be mapped: {source}")]
    Memory {
        /// The message.
        seq: u64,
        /// Why not.
        source: Box<ObserveError>,
    },
}

/// Where an echo's ring comes from, to ask for further memory.
pub(crate) struct EchoSource {
    pub(crate) asking: Arc<Asking>,
    pub(crate) process: PeerName,
    /// How the process is called in errors.
    pub(crate) label: String,
    pub(crate) port: u64,
}

/// Reads what one publisher writes to its ring; the publisher does not know.
///
/// `Send`. Nothing wakes it: the caller looks as often as it likes. It asks the process again when
/// the publisher has made further memory for larger messages, which wakes that process's control
/// thread once.
pub struct Echo {
    source: EchoSource,
    ring: RingObserver,
    /// Segments that are mapped beside the ring's own.
    segments: u32,
    schema: Arc<Schema>,
    copied: Vec<u8>,
    /// The same, aligned as blocks need it.
    aligned: FlatBuffer,
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
        let ring = map_ring(&source.label, &shape, &fds)?;
        let segments = count(shape.segments.len());
        let aligned = FlatBuffer::default();
        Ok(Echo { source, ring, segments, schema, copied: Vec::new(), aligned })
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
    /// process does not hand out (any more).
    pub fn copy_next(&mut self) -> Result<Option<Echoed<'_>>, EchoError> {
        let Some((seq, meta)) = self.copy(usize::MAX)? else { return Ok(None) };
        self.aligned.resize(self.copied.len());
        self.aligned.as_mut_slice().copy_from_slice(&self.copied);
        let block = Block::new(self.aligned.as_slice());
        Ok(Some(Echoed { block, seq, stamp_ns: meta.stamp_ns }))
    }

    /// What the next message says of itself, if one is there; of its payload only a header's stamp
    /// is read, and that only if `header` says so. Otherwise as [`Echo::copy_next`].
    ///
    /// # Errors
    /// As [`Echo::copy_next`].
    pub fn next_stamps(&mut self, header: bool) -> Result<Option<Stamps>, EchoError> {
        let stamp_at = self.schema.stamp_offset().filter(|_| header);
        let bytes_max = stamp_at.map_or(0, |at| at + HEADER_STAMP_BYTES);
        let Some((seq, meta)) = self.copy(bytes_max)? else { return Ok(None) };
        let header = stamp_at.and_then(|at| {
            let bytes: [u8; HEADER_STAMP_BYTES] =
                self.copied.get(at..at + HEADER_STAMP_BYTES)?.try_into().ok()?;
            let [a, b, c, d, e, f, g, h] = bytes;
            Some((i32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])))
        });
        Ok(Some(Stamps { seq, bytes: meta.len, stamp_ns: meta.stamp_ns, header }))
    }

    /// Copies the first bytes of the next message.
    fn copy(&mut self, bytes_max: usize) -> Result<Option<(u64, Meta)>, EchoError> {
        // Each turn maps a segment that was not mapped (there are few), or is the last.
        loop {
            match self.ring.copy_next(&mut self.copied, bytes_max) {
                Ok(found) => return Ok(found),
                Err(CopyError::UnknownSegment { seq, segment }) => {
                    if let Err(source) = self.fetch(segment.into()) {
                        self.ring.pass_over();
                        return Err(EchoError::Memory { seq, source: Box::new(source) });
                    }
                }
                Err(damage) => return Err(EchoError::Damaged(damage)),
            }
        }
    }

    /// Maps what the publisher has made since, `segment` among it.
    fn fetch(&mut self, segment: u32) -> Result<(), ObserveError> {
        let EchoSource { asking, process, label, port } = &self.source;
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
