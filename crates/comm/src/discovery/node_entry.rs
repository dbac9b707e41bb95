//! Nodes of a participant, as others see them.

use std::sync::Mutex;

use crossdock_shm::status::{Entity, EntityDescription, WithHistogram};

use crate::discovery::participant::Participant;
use crate::error::PortError;
use crate::wire::names::{NameKind, check_name, legal_node_name};
use crate::wire::status_records::{NodeDetail, kind};

/// A node to be shown to others.
#[derive(Clone, Copy, Debug)]
pub struct NodeOptions<'a> {
    /// Its namespace, absolute; `/` or empty: the root.
    pub namespace: &'a str,
    /// Its name without the namespace.
    pub name: &'a str,
    /// Its security enclave, which is only shown; `/`: none of its own.
    pub enclave: &'a str,
    /// `<package>/<node type>`; empty: unknown.
    pub node_type: &'a str,
}

/// A node that others see until this is dropped. `Send` and `Sync`.
///
/// A node is a name to others: ports belong to it that have its whole name as their `node`.
#[derive(Debug)]
pub struct NodeEntry {
    name: String,
    /// Kept, because a record stays on the status table as long as its entity. A record's counters
    /// are one thread's; nobody counts here.
    _entity: Mutex<Entity>,
}

impl NodeEntry {
    /// Its whole name, for the ports that belong to it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Participant {
    /// Shows a node to others. Nodes that an executor runs are shown by it.
    ///
    /// Allocates, and takes the status table's lock.
    ///
    /// # Errors
    /// [`PortError`] when a name is not legal or the status table is full.
    pub fn add_node(&self, options: NodeOptions<'_>) -> Result<NodeEntry, PortError> {
        self.check_process()?;
        let NodeOptions { namespace, name, enclave, node_type } = options;
        let name = legal_node_name(namespace, name)?;
        check_name(NameKind::Enclave, enclave)?;
        check_name(NameKind::NodeType, node_type)?;
        let (node_type, enclave) = (node_type.to_string(), enclave.to_string());
        let core = &self.handle.core;
        let detail = NodeDetail { node_type, enclave, maker: core.maker };
        let entity = core.status_table.add(EntityDescription {
            kind: kind::NODE,
            name: &name,
            detail: detail.encode().as_bytes(),
            histogram: WithHistogram::No,
        })?;
        Ok(NodeEntry { name, _entity: Mutex::new(entity) })
    }
}
