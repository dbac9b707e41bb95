//! The description of a port, as processes exchange it and as the status table keeps it.

use std::time::Duration;

use crossdock_shm::rendezvous::PeerName;

use crate::wire::fields::{FieldError, Flag, Reader, TEXT_BYTES_MAX, Writer};
use crate::wire::names::{NameKind, check_name};
use crate::wire::qos::{
    DEPTH_MAX, Durability, History, INFINITE, Liveliness, Qos, Reliability, WhenFull,
};

/// What a process says of one of its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortInfo {
    /// Number of the port in its process, never used twice.
    pub(crate) port: u64,
    pub(crate) node: String,
    pub(crate) topic: String,
    /// Empty of a subscriber that takes whatever type the publisher has.
    pub(crate) type_name: String,
    pub(crate) type_hash: [u8; 32],
    pub(crate) layout_hash: [u8; 32],
    pub(crate) qos: Qos,
    /// Who has made it.
    pub(crate) maker: Maker,
}

/// Whether two GIDs name ports of one process.
pub(crate) fn is_of_one_process(one: [u8; 16], other: [u8; 16]) -> bool {
    one[..8] == other[..8]
}

/// What names a port across processes: half of its process's name, and its number there.
pub(crate) fn gid_of(process: PeerName, port: u64) -> [u8; 16] {
    let mut gid = process.to_bytes();
    gid[8..].copy_from_slice(&port.to_le_bytes());
    gid
}

/// Who has made a port or a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Maker {
    /// A program that uses Crossdock itself.
    #[default]
    Native,
    /// A ROS client library, through a plug-in for the middleware.
    Rmw,
    /// A gateway, for somebody in another domain or on another computer. Gateways carry nothing
    /// further that another gateway has carried in.
    Gateway,
}

impl Maker {
    /// All of them.
    pub(super) const ALL: [Maker; 3] = [Maker::Native, Maker::Rmw, Maker::Gateway];

    pub(super) const fn number(self) -> u8 {
        match self {
            Maker::Native => 0,
            Maker::Rmw => 1,
            Maker::Gateway => 2,
        }
    }

    pub(super) const fn of_number(number: u8) -> Option<Maker> {
        match number {
            0 => Some(Maker::Native),
            1 => Some(Maker::Rmw),
            2 => Some(Maker::Gateway),
            _ => None,
        }
    }
}

impl std::fmt::Display for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Maker::Native => "native",
            Maker::Rmw => "rmw",
            Maker::Gateway => "gateway",
        })
    }
}

impl PortInfo {
    /// How the port is called in errors: node, process, topic.
    pub(crate) fn label(&self, process: &str) -> String {
        format!("{} in process {} on {}", self.node, process, self.topic)
    }
}

impl Writer {
    pub(super) fn port(&mut self, port: &PortInfo) {
        self.u64(port.port).text(&port.node).text(&port.topic).text(&port.type_name);
        self.raw(&port.type_hash).raw(&port.layout_hash);
        write_qos(self, &port.qos);
        self.u8(port.maker.number());
    }
}

fn write_qos(out: &mut Writer, qos: &Qos) {
    let timeout = match qos.reliability {
        Reliability::Reliable { timeout } => timeout,
        Reliability::BestEffort => Duration::ZERO,
    };
    out.u8(u8::from(qos.is_reliable())).u64(nanos(timeout));
    out.u8(u8::from(qos.when_full == WhenFull::Overwrite)).u8(u8::from(qos.keeps_all()));
    out.u32(qos.depth as u32).u8(u8::from(qos.is_transient_local()));
    out.u64(nanos(qos.deadline)).u64(nanos(qos.lifespan));
    out.u8(u8::from(qos.liveliness == Liveliness::ManualByTopic)).u64(nanos(qos.lease));
}

/// `u64::MAX`: without limit.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Reader<'_> {
    pub(super) fn port(&mut self) -> Result<PortInfo, FieldError> {
        let port = self.u64("port")?;
        let node = self.name("node", NameKind::Node)?;
        let topic = self.topic()?;
        let type_name = self.text("type", TEXT_BYTES_MAX)?;
        if !type_name.is_empty() {
            check_name(NameKind::Type, type_name)?;
        }
        Ok(PortInfo {
            port,
            node,
            topic,
            type_name: type_name.to_string(),
            type_hash: self.array("type hash")?,
            layout_hash: self.array("layout hash")?,
            qos: self.qos()?,
            maker: self.maker()?,
        })
    }

    /// A publisher always has a type.
    pub(super) fn publisher_info(&mut self) -> Result<PortInfo, FieldError> {
        let port = self.port()?;
        check_name(NameKind::Type, &port.type_name)?;
        Ok(port)
    }

    /// A topic, or one behind a service.
    fn topic(&mut self) -> Result<String, FieldError> {
        let name = self.text("topic", TEXT_BYTES_MAX)?;
        let kind = if name.starts_with('/') { NameKind::Topic } else { NameKind::Inner };
        check_name(kind, name)?;
        Ok(name.to_string())
    }

    pub(super) fn maker(&mut self) -> Result<Maker, FieldError> {
        let number = self.u8("maker")?;
        Maker::of_number(number).ok_or_else(|| self.range("maker", number.into()))
    }

    fn qos(&mut self) -> Result<Qos, FieldError> {
        let reliable = self.flag("reliable")?;
        let timeout = Duration::from_nanos(self.u64("timeout")?);
        let when_full = self.either("overwrites", WhenFull::Wait, WhenFull::Overwrite)?;
        let history = self.either("keep all", History::KeepLast, History::KeepAll)?;
        let depth = self.u32("depth")?;
        if depth == 0 || depth as usize > DEPTH_MAX {
            return Err(self.range("depth", depth.into()));
        }
        Ok(Qos {
            reliability: match reliable {
                Flag::On => Reliability::Reliable { timeout },
                Flag::Off => Reliability::BestEffort,
            },
            when_full,
            history,
            depth: depth as usize,
            durability: self.either(
                "transient local",
                Durability::Volatile,
                Durability::TransientLocal,
            )?,
            deadline: self.duration("deadline")?,
            lifespan: self.duration("lifespan")?,
            liveliness: self.either(
                "manual by topic",
                Liveliness::Automatic,
                Liveliness::ManualByTopic,
            )?,
            lease: self.duration("lease")?,
        })
    }

    fn either<T>(&mut self, field: &'static str, off: T, on: T) -> Result<T, FieldError> {
        Ok(match self.flag(field)? {
            Flag::On => on,
            Flag::Off => off,
        })
    }

    fn duration(&mut self, field: &'static str) -> Result<Duration, FieldError> {
        Ok(match self.u64(field)? {
            u64::MAX => INFINITE,
            nanos => Duration::from_nanos(nanos),
        })
    }
}

/// A port's description as bytes, for the status table.
pub(crate) fn encode_port(port: &PortInfo) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(512));
    out.port(port);
    out.0
}

/// A member's description as bytes, for the status table: the port that carries its messages, and
/// its own description.
pub(crate) fn encode_member(carrier: u64, port: &PortInfo) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(512));
    out.u64(carrier).port(port);
    out.0
}

/// A member's description from a status table.
pub(crate) fn decode_member(bytes: &[u8]) -> Result<(u64, PortInfo), FieldError> {
    let mut input = Reader { kind: 0, rest: bytes };
    let carrier = input.u64("carrier")?;
    Ok((carrier, decode_port(input.rest)?))
}

/// A port's description from a status table.
pub(crate) fn decode_port(bytes: &[u8]) -> Result<PortInfo, FieldError> {
    let mut input = Reader { kind: 0, rest: bytes };
    let port = input.port()?;
    match input.rest.len() {
        0 => Ok(port),
        bytes => Err(FieldError::Long { kind: 0, bytes }),
    }
}
