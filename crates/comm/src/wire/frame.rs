//! The frames that two processes exchange on their control socket, as bytes.
//!
//! A frame is one kind byte, then the fields in order, little endian; texts and byte strings carry
//! a `u16` length. Every length has a limit, names are checked, and a frame must end where its last
//! field ends. Whatever a hostile peer sends is either one of these frames or a [`FieldError`].

use std::num::NonZeroU8;

use crossdock_shm::SlabShape;
use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::socket::{FRAME_BYTES_MAX, FRAME_FDS_MAX};

use crate::wire::fields::{FieldError, Reader, Writer, cut};
use crate::wire::limit::Limit;
use crate::wire::names::NameKind;
use crate::wire::port_info::PortInfo;

/// The version of the control protocol. It changes whenever a frame changes; processes of different
/// versions do not talk.
pub const VERSION: u32 = 11;
/// The longest opaque part: what the data plane of both sides agrees on.
const GEOMETRY_BYTES_MAX: usize = 4096;
/// The longest piece of a definition in one frame, in bytes.
pub(crate) const PIECE_BYTES_MAX: usize = 24 * 1024;
/// The longest definition in bytes (the longest known one, with comments, has about 60 KiB).
pub(crate) const DEFINITION_BYTES_MAX: usize = 1 << 20;

/// Devices that one frame hands out instances of a shared buffer for.
pub(crate) const INSTANCES_MAX: usize = 4;

const _: () = assert!(PIECE_BYTES_MAX + 64 < FRAME_BYTES_MAX);
// A buffer's own descriptor comes before them.
const _: () = assert!(INSTANCES_MAX < FRAME_FDS_MAX);

/// Why a process connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To exchange messages: this becomes the control socket of the pair.
    Peer,
    /// To announce itself to a process that opens the control socket of the pair.
    Knock,
    /// To read the status table.
    Status,
    /// To read the definition of a publisher's type.
    Definition { port: u64 },
    /// To read a publisher's ring.
    Ring { port: u64 },
    /// To be rung when the process has nothing to do.
    Watch,
    /// To switch its trace and to read it.
    Trace,
    /// To learn the level of a publisher of logs, or to set it.
    Level { port: u64, level: Option<NonZeroU8> },
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Hello {
        version: u32,
        name: PeerName,
        process: String,
        purpose: Purpose,
    },
    Welcome {
        version: u32,
        name: PeerName,
        process: String,
    },
    /// A publisher is there.
    Advertise(PortInfo),
    /// A publisher is gone.
    Withdraw {
        port: u64,
    },
    /// What the sender shares as a subscribing process, once before its first `Subscribe`: two
    /// descriptors (connections, the memory of this pair of processes).
    Memory,
    /// The bell of one of the sender's executors, as a descriptor, before the first `Subscribe`
    /// that triggers it.
    Bell {
        bell: u16,
    },
    /// A subscriber wants a publisher's messages; carries its share of the data plane.
    Subscribe {
        pair: u32,
        publisher: u64,
        subscriber: PortInfo,
        geometry: Vec<u8>,
    },
    /// The publisher has connected the pair; carries its share of the data plane.
    Accept {
        pair: u32,
        geometry: Vec<u8>,
    },
    /// The publisher refuses the pair.
    Refuse {
        pair: u32,
        /// It may be asked for again: the publisher's process is short of descriptors.
        later: bool,
        reason: String,
    },
    /// The subscriber's side saw why the two cannot be connected.
    Mismatch {
        publisher: u64,
        subscriber: PortInfo,
        reason: String,
    },
    /// The subscriber wants no more messages; what it holds it goes on holding.
    Leave {
        pair: u32,
    },
    /// The subscriber uses nothing of the publisher's any more.
    Release {
        pair: u32,
    },
    /// The publisher uses nothing of the subscriber's any more.
    Released {
        pair: u32,
    },
    /// The last frame of the sender's: it serves and takes nothing more. The end of its socket
    /// follows when it holds nothing of the receiver's any more.
    Bye,
    /// A new segment of a publisher's memory, as a file descriptor.
    Segment {
        pair: u32,
        segment: u32,
        bytes: u64,
    },
    /// The segment can be named in descriptors now.
    SegmentMapped {
        pair: u32,
        segment: u32,
    },
    /// Nobody holds anything in the segment, and the publisher uses it no more.
    GiveBack {
        pair: u32,
        segment: u32,
    },
    /// Memory of a device that stands for chunks of a publisher's, as two descriptors: the memory
    /// and its index.
    Slab {
        pair: u32,
        slab: u32,
        shape: SlabShape,
        device: String,
    },
    /// Whether the subscriber has it.
    SlabAnswer {
        pair: u32,
        slab: u32,
        taken: bool,
    },
    /// Asks for the definition of a publisher's type.
    AskDefinition {
        port: u64,
    },
    /// A piece of it.
    Definition {
        port: u64,
        offset: u32,
        total: u32,
        piece: Vec<u8>,
    },
    /// A publisher's ring for reading only; carries its share of the data plane.
    Ring {
        port: u64,
        geometry: Vec<u8>,
    },
    /// The level of a publisher of logs, as it is now.
    Level {
        level: NonZeroU8,
    },
    /// To a watcher: an executor of this process has nothing to do.
    Idle,
    /// What was asked for is not there.
    Nothing {
        reason: String,
    },
    /// Asks for a shared buffer of the receiver's.
    AskBuffer {
        buffer: u64,
    },
    /// A shared buffer, as a file descriptor, and what the receiver is called in its claims. Behind
    /// it a descriptor for each of its instances in memory of these devices.
    Buffer {
        buffer: u64,
        member: u16,
        element: u8,
        count: u64,
        label: String,
        devices: Vec<String>,
    },
    /// The buffer that was asked for cannot be had.
    NoBuffer {
        buffer: u64,
        reason: String,
    },
    /// Asks for the receiver's status table, once.
    AskStatusTable,
    /// The sender's status table, as a descriptor.
    StatusTable,
    /// Asks to be told once that the receiver's part of the graph has changed since its status
    /// table had told this much.
    WatchGraph {
        seen: u64,
    },
    /// The sender's part of the graph has changed.
    GraphChanged,
    /// The receiver exceeds a limit of the sender's: it is not let in or is cut off, or some of
    /// its publishers are left out. The first frame on a connection that ends with it, or one
    /// between processes that know each other.
    TurnAway {
        limit: Limit,
        /// The sender's name of itself.
        process: String,
    },
}

/// Discriminants of purposes and frames on the wire.
mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const WELCOME: u8 = 2;
    pub(super) const ADVERTISE: u8 = 3;
    pub(super) const WITHDRAW: u8 = 4;
    pub(super) const SUBSCRIBE: u8 = 5;
    pub(super) const ACCEPT: u8 = 6;
    pub(super) const REFUSE: u8 = 7;
    pub(super) const MISMATCH: u8 = 8;
    pub(super) const RELEASE: u8 = 9;
    pub(super) const RELEASED: u8 = 10;
    pub(super) const SEGMENT: u8 = 11;
    pub(super) const SEGMENT_MAPPED: u8 = 12;
    pub(super) const ASK_DEFINITION: u8 = 13;
    pub(super) const DEFINITION: u8 = 14;
    pub(super) const RING: u8 = 15;
    pub(super) const NOTHING: u8 = 16;
    pub(super) const MEMORY: u8 = 17;
    pub(super) const IDLE: u8 = 18;
    pub(super) const ASK_BUFFER: u8 = 19;
    pub(super) const BUFFER: u8 = 20;
    pub(super) const NO_BUFFER: u8 = 21;
    pub(super) const SLAB: u8 = 22;
    pub(super) const SLAB_ANSWER: u8 = 23;
    pub(super) const LEAVE: u8 = 24;
    pub(super) const BYE: u8 = 25;
    pub(super) const BELL: u8 = 26;
    pub(super) const LEVEL: u8 = 27;
    pub(super) const ASK_STATUS_TABLE: u8 = 28;
    pub(super) const STATUS_TABLE: u8 = 29;
    pub(super) const WATCH_GRAPH: u8 = 30;
    pub(super) const GRAPH_CHANGED: u8 = 31;
    pub(super) const GIVE_BACK: u8 = 32;
    pub(super) const TURN_AWAY: u8 = 33;
}

impl Frame {
    /// The frame as bytes; at most [`FRAME_BYTES_MAX`].
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(128));
        match self {
            Frame::Hello { version, name, process, purpose } => {
                out.u8(kind::HELLO).u32(*version).raw(&name.to_bytes()).text(process);
                out.purpose(*purpose);
            }
            Frame::Welcome { version, name, process } => {
                out.u8(kind::WELCOME).u32(*version).raw(&name.to_bytes()).text(process);
            }
            Frame::Advertise(port) => out.u8(kind::ADVERTISE).port(port),
            Frame::Idle => _ = out.u8(kind::IDLE),
            Frame::Level { level } => _ = out.u8(kind::LEVEL).u8(level.get()),
            Frame::Memory => _ = out.u8(kind::MEMORY),
            Frame::Bell { bell } => _ = out.u8(kind::BELL).u16(*bell),
            Frame::Withdraw { port } => _ = out.u8(kind::WITHDRAW).u64(*port),
            Frame::Subscribe { pair, publisher, subscriber, geometry } => {
                out.u8(kind::SUBSCRIBE).u32(*pair).u64(*publisher).port(subscriber);
                out.bytes(geometry);
            }
            Frame::Accept { pair, geometry } => {
                out.u8(kind::ACCEPT).u32(*pair).bytes(geometry);
            }
            Frame::Refuse { pair, later, reason } => {
                out.u8(kind::REFUSE).u32(*pair).u8(u8::from(*later)).text(cut(reason));
            }
            Frame::Mismatch { publisher, subscriber, reason } => {
                out.u8(kind::MISMATCH).u64(*publisher).port(subscriber);
                out.text(cut(reason));
            }
            Frame::Leave { pair } => _ = out.u8(kind::LEAVE).u32(*pair),
            Frame::Bye => _ = out.u8(kind::BYE),
            Frame::Release { pair } => _ = out.u8(kind::RELEASE).u32(*pair),
            Frame::Released { pair } => _ = out.u8(kind::RELEASED).u32(*pair),
            Frame::Segment { pair, segment, bytes } => {
                out.u8(kind::SEGMENT).u32(*pair).u32(*segment).u64(*bytes);
            }
            Frame::SegmentMapped { pair, segment } => {
                out.segment(kind::SEGMENT_MAPPED, *pair, *segment);
            }
            Frame::GiveBack { pair, segment } => out.segment(kind::GIVE_BACK, *pair, *segment),
            Frame::Slab { pair, slab, shape, device } => out.slab(*pair, *slab, shape, device),
            Frame::SlabAnswer { pair, slab, taken } => {
                out.u8(kind::SLAB_ANSWER).u32(*pair).u32(*slab).u8(u8::from(*taken));
            }
            Frame::AskDefinition { port } => _ = out.u8(kind::ASK_DEFINITION).u64(*port),
            Frame::Definition { port, offset, total, piece } => {
                out.u8(kind::DEFINITION).u64(*port).u32(*offset).u32(*total).bytes(piece);
            }
            Frame::Ring { port, geometry } => _ = out.u8(kind::RING).u64(*port).bytes(geometry),
            Frame::Nothing { reason } => _ = out.u8(kind::NOTHING).text(cut(reason)),
            Frame::AskBuffer { buffer } => _ = out.u8(kind::ASK_BUFFER).u64(*buffer),
            Frame::Buffer { buffer, member, element, count, label, devices } => {
                out.u8(kind::BUFFER).u64(*buffer).u16(*member).u8(*element).u64(*count);
                out.text(label).u8(devices.len() as u8);
                devices.iter().for_each(|device| _ = out.text(device));
            }
            Frame::NoBuffer { buffer, reason } => out.no_buffer(*buffer, reason),
            Frame::AskStatusTable => _ = out.u8(kind::ASK_STATUS_TABLE),
            Frame::StatusTable => _ = out.u8(kind::STATUS_TABLE),
            Frame::WatchGraph { seen } => _ = out.u8(kind::WATCH_GRAPH).u64(*seen),
            Frame::GraphChanged => _ = out.u8(kind::GRAPH_CHANGED),
            Frame::TurnAway { limit, process } => {
                out.u8(kind::TURN_AWAY).u8(limit.number()).text(process);
            }
        }
        debug_assert!(out.0.len() <= FRAME_BYTES_MAX, "limits of the fields keep frames short");
        out.0
    }

    /// Reads a frame that came from a peer.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Frame, FieldError> {
        let Some((&kind, fields)) = bytes.split_first() else { return Err(FieldError::Kind(0)) };
        let mut input = Reader { kind, rest: fields };
        let frame = match kind {
            kind::HELLO => input.hello()?,
            kind::WELCOME => Frame::Welcome {
                version: input.u32("version")?,
                name: PeerName::from_bytes(input.array("name")?),
                process: input.name("process", NameKind::Process)?,
            },
            kind::ADVERTISE => Frame::Advertise(input.publisher_info()?),
            kind::IDLE => Frame::Idle,
            kind::LEVEL => Frame::Level { level: input.level()? },
            kind::MEMORY => Frame::Memory,
            kind::BELL => Frame::Bell { bell: input.u16("bell")? },
            kind::WITHDRAW => Frame::Withdraw { port: input.u64("port")? },
            kind::SUBSCRIBE => input.subscribe()?,
            kind::ACCEPT => Frame::Accept {
                pair: input.u32("pair")?,
                geometry: input.bytes("geometry", GEOMETRY_BYTES_MAX)?.to_vec(),
            },
            kind::REFUSE => Frame::Refuse {
                pair: input.u32("pair")?,
                later: input.u8("later")? != 0,
                reason: input.shown("reason")?,
            },
            kind::MISMATCH => Frame::Mismatch {
                publisher: input.u64("publisher")?,
                subscriber: input.port()?,
                reason: input.shown("reason")?,
            },
            kind::LEAVE => Frame::Leave { pair: input.u32("pair")? },
            kind::BYE => Frame::Bye,
            kind::RELEASE => Frame::Release { pair: input.u32("pair")? },
            kind::RELEASED => Frame::Released { pair: input.u32("pair")? },
            kind::SEGMENT => Frame::Segment {
                pair: input.u32("pair")?,
                segment: input.u32("segment")?,
                bytes: input.u64("bytes")?,
            },
            kind::SEGMENT_MAPPED | kind::GIVE_BACK => input.segment()?,
            kind::SLAB => input.slab()?,
            kind::SLAB_ANSWER => Frame::SlabAnswer {
                pair: input.u32("pair")?,
                slab: input.u32("slab")?,
                taken: input.u8("taken")? != 0,
            },
            kind::ASK_DEFINITION => Frame::AskDefinition { port: input.u64("port")? },
            kind::DEFINITION => input.definition()?,
            kind::RING => Frame::Ring {
                port: input.u64("port")?,
                geometry: input.bytes("geometry", GEOMETRY_BYTES_MAX)?.to_vec(),
            },
            kind::NOTHING => Frame::Nothing { reason: input.shown("reason")? },
            kind::ASK_BUFFER => Frame::AskBuffer { buffer: input.u64("buffer")? },
            kind::BUFFER => input.buffer()?,
            kind::NO_BUFFER => input.no_buffer()?,
            kind::ASK_STATUS_TABLE => Frame::AskStatusTable,
            kind::STATUS_TABLE => Frame::StatusTable,
            kind::WATCH_GRAPH => Frame::WatchGraph { seen: input.u64("seen")? },
            kind::GRAPH_CHANGED => Frame::GraphChanged,
            kind::TURN_AWAY => input.turn_away()?,
            other => return Err(FieldError::Kind(other)),
        };
        match input.rest.len() {
            0 => Ok(frame),
            bytes => Err(FieldError::Long { kind, bytes }),
        }
    }
}

impl Writer {
    fn segment(&mut self, kind: u8, pair: u32, segment: u32) {
        self.u8(kind).u32(pair).u32(segment);
    }

    fn slab(&mut self, pair: u32, slab: u32, shape: &SlabShape, device: &str) {
        self.u8(kind::SLAB).u32(pair).u32(slab).u32(shape.segment).u64(shape.first);
        self.u64(shape.chunk_bytes).u32(shape.chunks).text(device);
    }

    fn no_buffer(&mut self, buffer: u64, reason: &str) {
        self.u8(kind::NO_BUFFER).u64(buffer).text(cut(reason));
    }

    fn purpose(&mut self, purpose: Purpose) {
        let (number, port) = match purpose {
            Purpose::Peer => (0, 0),
            Purpose::Knock => (1, 0),
            Purpose::Status => (2, 0),
            Purpose::Definition { port } => (3, port),
            Purpose::Ring { port } => (4, port),
            Purpose::Watch => (5, 0),
            Purpose::Trace => (6, 0),
            Purpose::Level { port, .. } => (7, port),
        };
        self.u8(number).u64(port);
        if let Purpose::Level { level, .. } = purpose {
            self.u8(level.map_or(0, NonZeroU8::get));
        }
    }
}

impl Reader<'_> {
    /// A frame about a segment of a pair's publisher.
    fn segment(&mut self) -> Result<Frame, FieldError> {
        let (pair, segment) = (self.u32("pair")?, self.u32("segment")?);
        Ok(match self.kind {
            kind::GIVE_BACK => Frame::GiveBack { pair, segment },
            _ => Frame::SegmentMapped { pair, segment },
        })
    }

    fn hello(&mut self) -> Result<Frame, FieldError> {
        Ok(Frame::Hello {
            version: self.u32("version")?,
            name: PeerName::from_bytes(self.array("name")?),
            process: self.name("process", NameKind::Process)?,
            purpose: self.purpose()?,
        })
    }

    fn subscribe(&mut self) -> Result<Frame, FieldError> {
        Ok(Frame::Subscribe {
            pair: self.u32("pair")?,
            publisher: self.u64("publisher")?,
            subscriber: self.port()?,
            geometry: self.bytes("geometry", GEOMETRY_BYTES_MAX)?.to_vec(),
        })
    }

    fn slab(&mut self) -> Result<Frame, FieldError> {
        Ok(Frame::Slab {
            pair: self.u32("pair")?,
            slab: self.u32("slab")?,
            shape: SlabShape {
                segment: self.u32("segment")?,
                first: self.u64("first")?,
                chunk_bytes: self.u64("chunk bytes")?,
                chunks: self.u32("chunks")?,
            },
            device: self.shown("device")?,
        })
    }

    fn buffer(&mut self) -> Result<Frame, FieldError> {
        Ok(Frame::Buffer {
            buffer: self.u64("buffer")?,
            member: self.u16("member")?,
            element: self.u8("element")?,
            count: self.u64("count")?,
            label: self.name("label", NameKind::Process)?,
            devices: self.devices()?,
        })
    }

    fn no_buffer(&mut self) -> Result<Frame, FieldError> {
        Ok(Frame::NoBuffer { buffer: self.u64("buffer")?, reason: self.shown("reason")? })
    }

    fn purpose(&mut self) -> Result<Purpose, FieldError> {
        let number = self.u8("purpose")?;
        let port = self.u64("purpose's port")?;
        match (number, port) {
            (0, 0) => Ok(Purpose::Peer),
            (1, 0) => Ok(Purpose::Knock),
            (2, 0) => Ok(Purpose::Status),
            (3, port) => Ok(Purpose::Definition { port }),
            (4, port) => Ok(Purpose::Ring { port }),
            (5, 0) => Ok(Purpose::Watch),
            (6, 0) => Ok(Purpose::Trace),
            (7, port) => Ok(Purpose::Level { port, level: NonZeroU8::new(self.u8("level")?) }),
            (number, _) => Err(self.range("purpose", number.into())),
        }
    }

    fn turn_away(&mut self) -> Result<Frame, FieldError> {
        let number = self.u8("limit")?;
        let limit = Limit::of_number(number);
        let limit = limit.ok_or_else(|| self.range("limit", number.into()))?;
        Ok(Frame::TurnAway { limit, process: self.name("process", NameKind::Process)? })
    }

    fn level(&mut self) -> Result<NonZeroU8, FieldError> {
        NonZeroU8::new(self.u8("level")?).ok_or_else(|| self.range("level", 0))
    }

    fn devices(&mut self) -> Result<Vec<String>, FieldError> {
        let count = self.u8("devices")?;
        match usize::from(count) {
            0..=INSTANCES_MAX => (0..count).map(|_| self.shown("device")).collect(),
            _ => Err(self.range("devices", count.into())),
        }
    }

    fn definition(&mut self) -> Result<Frame, FieldError> {
        let port = self.u64("port")?;
        let offset = self.u32("offset")?;
        let total = self.u32("total")?;
        let piece = self.bytes("piece", PIECE_BYTES_MAX)?.to_vec();
        let end = u64::from(offset) + piece.len() as u64;
        if total as usize > DEFINITION_BYTES_MAX || end > u64::from(total) {
            return Err(self.range("total", total.into()));
        }
        Ok(Frame::Definition { port, offset, total, piece })
    }
}

#[cfg(test)]
mod tests;
