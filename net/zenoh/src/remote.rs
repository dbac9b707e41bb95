//! What the network has: its tokens, read once each.

use crate::counters::count;
use crate::shared::Shared;
use crossdock_comm::PortKind;
use crossdock_wire::{Endpoint, Gid, NodeNames, Token, WireHash, gid_of};
use std::collections::{BTreeMap, BTreeSet};

/// A topic of a type, as endpoints over there have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TopicKey {
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) hash: WireHash,
}

/// An endpoint over there.
#[derive(Clone, Debug)]
pub(crate) struct RemoteEnd {
    /// The whole name of its node.
    pub(crate) node: String,
    pub(crate) endpoint: Endpoint,
}

/// The tokens that are there now.
#[derive(Default)]
pub(crate) struct Remote {
    /// `None`: it is no token, or our own.
    read: BTreeMap<String, Option<Token>>,
}

impl Remote {
    /// Follows the set of tokens. What is none is counted, and said once.
    pub(crate) fn follow(&mut self, tokens: &BTreeSet<String>, own: &str, shared: &Shared) {
        self.read.retain(|text, _| tokens.contains(text));
        for text in tokens {
            if self.read.contains_key(text) {
                continue;
            }
            let token = match Token::parse(text) {
                Ok(token) => Some(token).filter(|token| token.session != own),
                Err(error) => {
                    count(&shared.counters.tokens_refused);
                    shared.note(format!("a node on the network is left out: {error}"));
                    None
                }
            };
            self.read.insert(text.clone(), token);
        }
    }

    fn tokens(&self) -> impl Iterator<Item = (&String, &Token)> {
        self.read.iter().filter_map(|(text, token)| Some((text, token.as_ref()?)))
    }

    /// The nodes.
    pub(crate) fn nodes(&self) -> BTreeMap<(&str, u64), &NodeNames> {
        self.tokens().map(|(_, it)| ((it.session.as_str(), it.node_id), &it.node)).collect()
    }

    /// The endpoints of one kind by topic and GID.
    pub(crate) fn ends(&self, kind: PortKind) -> BTreeMap<TopicKey, BTreeMap<Gid, RemoteEnd>> {
        let mut ends: BTreeMap<TopicKey, BTreeMap<Gid, RemoteEnd>> = BTreeMap::new();
        for (text, token) in self.tokens() {
            let Some(endpoint) = token.endpoint.as_ref().filter(|it| it.kind == kind) else {
                continue;
            };
            let Endpoint { name, type_name, hash, .. } = endpoint.clone();
            let key = TopicKey { topic: name, type_name, hash };
            let end = RemoteEnd { node: token.node.whole(), endpoint: endpoint.clone() };
            ends.entry(key).or_default().insert(gid_of(text), end);
        }
        ends
    }
}
