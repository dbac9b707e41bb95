//! Ports that others see in the place of the one that carries their messages.

use std::sync::Mutex;

use crossdock_shm::status::{Entity, EntityDescription, WithHistogram};

use crate::discovery::participant::Participant;
use crate::error::PortError;
use crate::wire::names::{NameKind, check_name};
use crate::wire::port_info::{PortInfo, encode_member};
use crate::wire::qos::{DEPTH_MAX, Qos};
use crate::wire::snapshot::PortKind;
use crate::wire::status_records::kind;

/// A publisher or a subscriber of a node that is elsewhere, to be shown to others.
#[derive(Clone, Copy, Debug)]
pub struct MemberOptions<'a> {
    /// Whether it publishes; else it subscribes.
    pub publishes: bool,
    /// The whole name of its node.
    pub node: &'a str,
    /// Its topic, absolute.
    pub topic: &'a str,
    /// Its type.
    pub type_name: &'a str,
    /// RIHS01 of its type.
    pub type_hash: [u8; 32],
    /// What it offers or requests. A depth beyond the deepest is shown as the deepest.
    pub qos: Qos,
    /// The GID of the port of this process that carries its messages, in whose place it is seen;
    /// `None`: none does.
    pub carrier: Option<[u8; 16]>,
}

/// A port that others see until this is dropped, and that has no memory, no connections and no
/// counters of its own. `Send` and `Sync`.
#[derive(Debug)]
pub struct Member {
    gid: [u8; 16],
    /// Kept, because a record stays on the status table as long as its entity. A record's counters
    /// are one thread's; nobody counts here.
    _entity: Mutex<Entity>,
}

impl Participant {
    /// Shows a port of a node that is elsewhere: one port of this process may carry the messages of
    /// many.
    ///
    /// Allocates, and takes the participant's and the status table's lock.
    ///
    /// # Errors
    /// [`PortError`] when a name is not legal or the status table is full.
    pub fn add_member(&self, options: MemberOptions<'_>) -> Result<Member, PortError> {
        self.check_process()?;
        let MemberOptions { publishes, node, topic, type_name, type_hash, qos, carrier } = options;
        check_name(NameKind::Node, node)?;
        check_name(NameKind::Topic, topic)?;
        check_name(NameKind::Type, type_name)?;
        let kind = if publishes { PortKind::Publisher } else { PortKind::Subscriber };
        let member = PortInfo {
            port: 0,
            node: node.to_string(),
            topic: topic.to_string(),
            type_name: type_name.to_string(),
            type_hash,
            layout_hash: [0; 32],
            qos: Qos { depth: qos.depth.clamp(1, DEPTH_MAX), ..qos },
            maker: self.handle.core.maker,
        };
        let carrier = carrier.and_then(|gid| gid.last_chunk().map(|it| u64::from_le_bytes(*it)));
        Member::add(self, kind, carrier, member)
    }
}

impl Member {
    /// A member that `carrier`, a port of the participant, stands for. Its number is a new one.
    pub(crate) fn add(
        participant: &Participant,
        kind: PortKind,
        carrier: Option<u64>,
        member: PortInfo,
    ) -> Result<Member, PortError> {
        let core = &participant.handle.core;
        let port = core.lock().port();
        let member = PortInfo { port, ..member };
        let entity = core.status_table.add(EntityDescription {
            kind: match kind {
                PortKind::Publisher | PortKind::Server => kind::MEMBER_PUBLISHER,
                PortKind::Subscriber | PortKind::Client => kind::MEMBER_SUBSCRIBER,
            },
            name: &member.topic,
            // A member that nothing carries hides nothing.
            detail: &encode_member(carrier.unwrap_or(port), &member),
            histogram: WithHistogram::No,
        })?;
        Ok(Member { gid: core.gid(port), _entity: Mutex::new(entity) })
    }

    /// What names it across processes.
    pub fn gid(&self) -> [u8; 16] {
        self.gid
    }
}
