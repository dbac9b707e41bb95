//! Types that untyped subscribers learned from publishers' definitions.
//!
//! A definition from another process is believed only if its hashes are the ones that the publisher
//! advertised.

use std::collections::HashMap;
use std::sync::Arc;

use crossdock_msg::Schema;

use crate::wire::port_info::PortInfo;

/// Types that are kept; ports keep theirs in any case.
const KNOWN_MAX: usize = 1024;

/// A definition that is on its way.
#[derive(Default)]
pub(crate) struct Pending {
    text: Vec<u8>,
    /// Local subscribers that wait for it.
    pub(crate) waiting: Vec<u64>,
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Schemas {
    /// By type hash.
    known: HashMap<[u8; 32], Arc<Schema>>,
    /// By peer and port of the publisher.
    pub(crate) pending: HashMap<(u64, u64), Pending>,
}

impl Pending {
    /// Adds a piece. `Ok(Some(text))` when it was the last one.
    pub(crate) fn add(
        &mut self,
        offset: u32,
        total: u32,
        piece: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        if offset as usize != self.text.len() || (piece.is_empty() && total != 0) {
            return Err("it sent the pieces of a definition out of order".to_string());
        }
        self.text.extend_from_slice(piece);
        let complete = self.text.len() == total as usize;
        Ok(complete.then(|| std::mem::take(&mut self.text)))
    }
}

impl Schemas {
    /// The type of a publisher, if it was learned before.
    pub(crate) fn known(&self, publisher: &PortInfo) -> Option<Arc<Schema>> {
        let schema = self.known.get(&publisher.type_hash)?;
        fits(schema, publisher).then(|| Arc::clone(schema))
    }

    /// Learns a publisher's type from its definition.
    pub(crate) fn learn(
        &mut self,
        publisher: &PortInfo,
        definition: &str,
    ) -> Result<Arc<Schema>, String> {
        if let Some(schema) = self.known(publisher) {
            return Ok(schema);
        }
        let schema = Schema::parse(&publisher.type_name, definition)
            .map_err(|error| format!("its definition of `{}`: {error}", publisher.type_name))?;
        if !fits(&schema, publisher) {
            return Err(format!(
                "its definition of `{}` gives {}, which is not the type hash or layout that it \
                 advertised; build it with the same version of Crossdock",
                publisher.type_name,
                schema.type_hash()
            ));
        }
        let schema = Arc::new(schema);
        if self.known.len() < KNOWN_MAX {
            self.known.insert(publisher.type_hash, Arc::clone(&schema));
        }
        Ok(schema)
    }
}

fn fits(schema: &Schema, publisher: &PortInfo) -> bool {
    schema.type_name() == publisher.type_name
        && schema.type_hash().0 == publisher.type_hash
        && schema.layout_hash().0 == publisher.layout_hash
}

#[cfg(test)]
mod tests {
    use crossdock_msg::Message;
    use crossdock_msg::types::std_msgs;

    use super::*;
    use crate::wire::port_info::Maker;
    use crate::wire::qos::Qos;

    fn publisher() -> PortInfo {
        PortInfo {
            port: 1,
            node: "/source".into(),
            topic: "/chatter".into(),
            type_name: std_msgs::String::TYPE_NAME.into(),
            type_hash: std_msgs::String::TYPE_HASH.0,
            layout_hash: std_msgs::String::LAYOUT_HASH.0,
            qos: Qos::best_effort(1),
            maker: Maker::Native,
        }
    }

    #[test]
    fn a_type_is_that_of_a_publisher_only_if_name_hash_and_layout_are_as_advertised() {
        let definition = std_msgs::String::DEFINITION;
        let others = [
            PortInfo { type_name: "std_msgs/msg/Text".into(), ..publisher() },
            PortInfo { type_hash: [1; 32], ..publisher() },
            PortInfo { layout_hash: [1; 32], ..publisher() },
        ];
        let mut schemas = Schemas::default();
        for other in &others {
            assert!(schemas.learn(other, definition).is_err(), "not yet known: {other:?}");
        }
        schemas.learn(&publisher(), definition).unwrap();
        assert!(schemas.known(&publisher()).is_some());
        for other in &others {
            assert!(schemas.known(other).is_none(), "known: {other:?}");
            assert!(schemas.learn(other, definition).is_err(), "known: {other:?}");
        }
    }
}
