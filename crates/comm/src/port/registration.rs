//! What ports of both directions do when they are created: their names are checked, and they get a
//! number, a description and a record on the status table.

use crossdock_shm::status::{Entity, EntityDescription, WithHistogram};

use crate::discovery::participant_core::ParticipantCore;
use crate::error::PortError;
use crate::port::message_type::MessageType;
use crate::wire::mismatch::{Mismatch, Side};
use crate::wire::names::{NameKind, check_name};
use crate::wire::port_info::{PortInfo, encode_port};
use crate::wire::qos::{DEPTH_MAX, Qos};

/// A port that is to be created.
pub(crate) struct NewPort<'a> {
    pub(crate) node: &'a str,
    pub(crate) topic: &'a str,
    /// A topic's name, or one behind a service.
    pub(crate) topic_kind: NameKind,
    pub(crate) qos: Qos,
    pub(crate) message: MessageType<'a>,
}

impl NewPort<'_> {
    /// Checks what ports of both directions have in common.
    pub(crate) fn check(&self) -> Result<(), PortError> {
        let NewPort { node, topic, topic_kind, qos, .. } = *self;
        check_name(NameKind::Node, node)?;
        check_name(topic_kind, topic)?;
        if qos.depth == 0 || qos.depth > DEPTH_MAX {
            return Err(PortError::Depth {
                topic: topic.to_string(),
                node: node.to_string(),
                depth: qos.depth,
                limit: DEPTH_MAX,
            });
        }
        if let Some(why) = qos.contradiction() {
            let (topic, node) = (topic.to_string(), node.to_string());
            return Err(PortError::Contradiction { topic, node, why });
        }
        Ok(())
    }

    /// The port's description, with a new number.
    pub(crate) fn describe(&self, core: &ParticipantCore) -> PortInfo {
        PortInfo {
            port: core.lock().port(),
            node: self.node.to_string(),
            topic: self.topic.to_string(),
            type_name: self.message.type_name.to_string(),
            type_hash: self.message.type_hash,
            layout_hash: self.message.layout_hash,
            qos: self.qos,
            maker: core.maker,
        }
    }
}

/// A port's record on the status table, of this kind.
pub(crate) fn record(
    core: &ParticipantCore,
    kind: u32,
    info: &PortInfo,
) -> Result<Entity, PortError> {
    Ok(core.status_table.add(EntityDescription {
        kind,
        name: &info.topic,
        detail: &encode_port(info),
        histogram: WithHistogram::No,
    })?)
}

/// Two ports of this process that do not fit.
pub(crate) fn mismatch(
    core: &ParticipantCore,
    publisher: &PortInfo,
    subscriber: &PortInfo,
    reason: String,
) -> PortError {
    PortError::Mismatch(Box::new(Mismatch {
        topic: subscriber.topic.clone(),
        publisher: Side::new(publisher, &core.process),
        subscriber: Side::new(subscriber, &core.process),
        reason,
        within_run: true,
    }))
}
