//! The description of a port, as processes exchange it and as the status table keeps it.

use std::time::Duration;

use crate::wire::fields::{FieldError, Flag, Reader, TEXT_BYTES_MAX, Writer};
use crate::wire::names::{NameKind, check_name};
use crate::wire::qos::{DEPTH_MAX, Durability, Qos, Reliability};

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
    }
}

fn write_qos(out: &mut Writer, qos: &Qos) {
    let timeout_ns = match qos.reliability {
        Reliability::Reliable { timeout } => u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
        Reliability::BestEffort => 0,
    };
    out.u8(u8::from(qos.is_reliable())).u64(timeout_ns);
    out.u32(qos.depth as u32).u8(u8::from(qos.is_transient_local()));
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

    fn qos(&mut self) -> Result<Qos, FieldError> {
        let reliable = self.flag("reliable")?;
        let timeout = Duration::from_nanos(self.u64("timeout")?);
        let depth = self.u32("depth")?;
        if depth == 0 || depth as usize > DEPTH_MAX {
            return Err(self.range("depth", depth.into()));
        }
        Ok(Qos {
            reliability: match reliable {
                Flag::On => Reliability::Reliable { timeout },
                Flag::Off => Reliability::BestEffort,
            },
            depth: depth as usize,
            durability: match self.flag("transient local")? {
                Flag::On => Durability::TransientLocal,
                Flag::Off => Durability::Volatile,
            },
        })
    }
}

/// A port's description as bytes, for the status table.
pub(crate) fn encode_port(port: &PortInfo) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(512));
    out.port(port);
    out.0
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
