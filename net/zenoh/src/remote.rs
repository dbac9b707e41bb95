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

/// Endpoints over there that are carried: ten times what a large robot has. Each may cost 0.1 MB of
/// memory and a descriptor here.
const ENDPOINTS_MAX: usize = 8192;

/// The tokens that are there now.
#[derive(Default)]
pub(crate) struct Remote {
    /// `None`: it is no token, or our own.
    read: BTreeMap<String, Option<Token>>,
    /// Endpoints beyond the limit. They are read when others have gone.
    left_out: BTreeSet<String>,
}

impl Remote {
    /// Follows the set of tokens. What is none is counted, and said once.
    pub(crate) fn follow(&mut self, tokens: &BTreeSet<String>, own: &str, shared: &Shared) {
        self.read.retain(|text, _| tokens.contains(text));
        self.left_out.retain(|text| tokens.contains(text));
        let mut endpoints = self.tokens().filter(|(_, token)| token.endpoint.is_some()).count();
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
            if token.as_ref().is_some_and(|token| token.endpoint.is_some()) {
                if endpoints == ENDPOINTS_MAX {
                    self.leave_out(text, shared);
                    continue;
                }
                endpoints += 1;
            }
            self.left_out.remove(text);
            self.read.insert(text.clone(), token);
        }
    }

    /// There is no room for an endpoint. It is counted once.
    fn leave_out(&mut self, text: &str, shared: &Shared) {
        if !self.left_out.insert(text.to_owned()) {
            return;
        }
        count(&shared.counters.tokens_refused);
        if self.left_out.len() == 1 {
            shared.note(format!(
                "nodes on the network have more than {ENDPOINTS_MAX} publishers, subscribers, servers and \
                 clients: the others are not carried; divide the graph into domains"
            ));
        }
    }

    fn tokens(&self) -> impl Iterator<Item = (&String, &Token)> {
        self.read.iter().filter_map(|(text, token)| Some((text, token.as_ref()?)))
    }

    /// Whether nobody is there.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens().next().is_none()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn publisher(number: usize) -> String {
        let hash = "0".repeat(64);
        let of = "std_msgs::msg::dds_::String_";
        format!("@ros2_lv/0/aa/0/{number}/MP/%/%/x/%t{number}/{of}/RIHS01_{hash}/::,10:,:,:,,")
    }

    #[test]
    fn endpoints_beyond_the_limit_are_counted_once_and_come_when_others_have_gone() {
        let (mut remote, shared) = (Remote::default(), Shared::default());
        let mut tokens: BTreeSet<String> = (0..ENDPOINTS_MAX + 2).map(publisher).collect();
        tokens.insert("@ros2_lv/0/aa/0/0/NN/%/%/x".to_owned());
        let carried = |remote: &Remote| remote.ends(PortKind::Publisher).len();
        for _ in 0..2 {
            remote.follow(&tokens, "own", &shared);
            assert_eq!(carried(&remote), ENDPOINTS_MAX);
            assert_eq!(shared.counters.read().tokens_refused, 2);
        }
        assert_eq!(remote.nodes().len(), 1, "a node costs little");
        let notes = shared.take_notes();
        assert!(notes.len() == 1 && notes[0].contains("8192"), "{notes:?}");
        for number in 0..3 {
            tokens.remove(&publisher(number));
        }
        remote.follow(&tokens, "own", &shared);
        assert_eq!(carried(&remote), ENDPOINTS_MAX - 1);
        assert!(remote.left_out.is_empty());
    }
}
