//! Topics: which publishers and subscribers stand for those over there, and what is subscribed to
//! and published on the network.

use super::{Bridge, Out, services};
use crate::incoming::Incoming;
use crate::local::{Local, LocalEnd};
use crate::outgoing::{Outgoing, Source, Sources, WirePublisher};
use crate::remote::TopicKey;
use crossdock_comm::{MemberOptions, PortKind, Qos};
use crossdock_msg::Schema;
use crossdock_wire::{Gid, Hashes, WireHash, key};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use zenoh::qos::{CongestionControl, Reliability};
use zenoh::{Session, Wait as _};
use zenoh_ext::{AdvancedPublisherBuilderExt as _, CacheConfig};

/// A type that no node here has had for so long is said to be unknown; so many types at most.
const UNKNOWN_FOR: Duration = Duration::from_secs(2);
const UNKNOWN_MAX: usize = 1000;

/// Messages that a publisher here keeps for latecomers over there, at most.
const KEPT_MAX: usize = 1000;

impl Bridge {
    /// The type of a topic; says so if it is not known.
    fn schema(&mut self, topic: &TopicKey, local: &Local) -> Option<Arc<Schema>> {
        let schema = self.known_schema(topic, local);
        if schema.is_none() {
            self.tell_unknown(topic);
        }
        schema
    }

    /// Says so of a type that stays unknown: a node here that has it may only be on its way.
    fn tell_unknown(&mut self, topic: &TopicKey) {
        let TopicKey { topic: name, type_name, hash } = topic;
        if self.unknown.len() == UNKNOWN_MAX {
            return;
        }
        let since = self.unknown.entry((type_name.clone(), *hash));
        let since = since.or_insert_with(|| Some(Instant::now()));
        match since {
            None => {}
            Some(since) if since.elapsed() < UNKNOWN_FOR => self.is_waiting = true,
            Some(_) => {
                *since = None;
                let note = services::not_carried(
                    &format!("messages, such as on {name},"),
                    type_name,
                    self.definitions.message_of_any_hash(type_name).is_some(),
                );
                self.tell(note);
            }
        }
    }

    /// The type of a topic: from the definitions that are known here, or from a node here.
    fn known_schema(&mut self, topic: &TopicKey, local: &Local) -> Option<Arc<Schema>> {
        let TopicKey { topic: name, type_name, hash } = topic;
        let known_as = (type_name.clone(), *hash);
        if let Some(schema) = self.schemas.get(&known_as) {
            return Some(Arc::clone(schema));
        }
        let defined = match hash {
            WireHash::Rihs01(hash) => self.definitions.message(type_name, *hash),
            WireHash::NotSupported => self.definitions.message_of_any_hash(type_name),
        };
        let schema = defined.map(Arc::new).or_else(|| {
            let of_hash = |end: &&LocalEnd| self.hashes.on_wire(end.port.type_hash) == *hash;
            let subscribers = local.subscribers(name, type_name);
            let mut ends = local.publishers(name, type_name).chain(subscribers).filter(of_hash);
            let first = ends.next()?;
            // Processes that have come since are met.
            self.observer.refresh().ok()?;
            let schema = |end: &LocalEnd| self.observer.schema(end.process, &end.port).ok();
            schema(first).or_else(|| ends.find_map(schema))
        });
        if let Some(schema) = &schema {
            self.schemas.insert(known_as, Arc::clone(schema));
        }
        schema
    }

    /// Whether the other side speaks of hashes as we do; says so if not.
    pub(super) fn is_of_our_kind(&mut self, topic: &TopicKey) -> bool {
        let has_hash = topic.hash != WireHash::NotSupported;
        let fits = has_hash == (self.hashes == Hashes::Rihs01);
        if !fits {
            let (other, advice) = match has_hash {
                true => ("a later ROS 2 than Humble", "leave out --humble"),
                false => ("ROS 2 Humble", "say --humble"),
            };
            let name = &topic.topic;
            self.tell(format!(
                "{name} is not carried: nodes of {other} have it, which tell types in another way; \
                 {advice}"
            ));
        }
        fits
    }

    /// Publishers here for those over there, and subscriptions while somebody here wants them.
    /// Topics whose publishers here are not connected yet with all who want them.
    pub(super) fn carry_in(&mut self, local: &Local) -> BTreeSet<String> {
        let mut ends = self.remote.ends(PortKind::Publisher);
        // Who comes over there may publish before we have seen its token.
        for topic in self.wanted(local) {
            ends.entry(topic).or_default();
        }
        self.into.retain(|topic, incoming| {
            if !ends.contains_key(topic) {
                incoming.follow(&self.participant, &BTreeMap::new());
            }
            ends.contains_key(topic)
        });
        let mut unheard = BTreeSet::new();
        for (topic, publishers) in ends {
            if !self.is_of_our_kind(&topic) {
                continue;
            }
            let Some(schema) = self.known_schema(&topic, local) else {
                if !publishers.is_empty() {
                    self.tell_unknown(&topic);
                }
                continue;
            };
            let publishers: BTreeMap<Gid, (String, Qos)> =
                publishers.into_iter().map(|(gid, it)| (gid, (it.node, it.endpoint.qos))).collect();
            let TopicKey { topic: name, type_name, hash } = &topic;
            let incoming = self.into.entry(topic.clone()).or_insert_with(|| {
                let key = key(self.participant.domain_id(), name, type_name, hash);
                Incoming::new(&self.shared, &self.session, (name, &key), schema)
            });
            let mut failed = incoming.follow(&self.participant, &publishers);
            let wanted: Vec<Qos> =
                local.subscribers(name, type_name).map(|it| it.port.qos).collect();
            let subscribed = incoming.subscribe(&self.session, &wanted);
            if matches!(subscribed, Ok(true)) {
                failed.extend(incoming.follow(&self.participant, &publishers));
            }
            if !incoming.connect(&wanted) {
                unheard.insert(name.clone());
            }
            self.is_waiting |= incoming.is_waiting();
            self.has_failed |= !failed.is_empty();
            failed.into_iter().for_each(|error| self.tell(error));
            if let Err(error) = subscribed {
                self.has_failed = true;
                self.tell(format!("{name} cannot be subscribed to on the network: {error}"));
            }
        }
        self.is_waiting |= !unheard.is_empty();
        unheard
    }

    /// The topics that somebody here wants, as the network has them.
    fn wanted(&self, local: &Local) -> BTreeSet<TopicKey> {
        let typed = local
            .ends
            .iter()
            .filter(|end| end.kind == PortKind::Subscriber && !end.port.type_name.is_empty());
        let named = typed.map(|LocalEnd { port, .. }| TopicKey {
            topic: port.topic.clone(),
            type_name: port.type_name.clone(),
            hash: self.hashes.on_wire(port.type_hash),
        });
        named.collect()
    }

    /// Subscribers here for those over there, and publishers on the network for those here.
    pub(super) fn carry_out(&mut self, local: &Local) {
        let ends = self.remote.ends(PortKind::Subscriber);
        self.out.retain(|topic, _| ends.contains_key(topic));
        for (topic, subscribers) in ends {
            if !self.is_of_our_kind(&topic) {
                continue;
            }
            let Some(schema) = self.schema(&topic, local) else { continue };
            if !self.out.contains_key(&topic) {
                let opened = Outgoing::open(
                    &self.participant,
                    &self.shared,
                    &self.name,
                    &topic.topic,
                    &schema,
                );
                match opened {
                    Ok(carrier) => {
                        let (sources, members) = Default::default();
                        self.out.insert(topic.clone(), Out { carrier, sources, members });
                    }
                    Err(error) => {
                        self.tell(format!("{} is not carried: {error}", topic.topic));
                        continue;
                    }
                }
            }
            let sources = self.sources(&topic, local);
            let Some(out) = self.out.get_mut(&topic) else { continue };
            out.members.retain(|gid, _| subscribers.contains_key(gid));
            let mut failed = Vec::new();
            for (gid, end) in &subscribers {
                if out.members.contains_key(gid) {
                    continue;
                }
                let options = MemberOptions {
                    publishes: false,
                    node: &end.node,
                    topic: &topic.topic,
                    type_name: &topic.type_name,
                    type_hash: schema.type_hash().0,
                    qos: end.endpoint.qos,
                    carrier: Some(out.carrier.gid),
                };
                match self.participant.add_member(options) {
                    Ok(member) => drop(out.members.insert(*gid, member)),
                    Err(error) => failed.push(error.to_string()),
                }
            }
            if let Some(sources) = sources {
                out.sources = Arc::clone(&sources);
                if let Err(error) = out.carrier.follow(&self.participant, &self.name, sources) {
                    failed.push(format!("{} is not carried: {error}", topic.topic));
                    self.has_failed = true;
                    self.out.remove(&topic);
                }
            }
            failed.into_iter().for_each(|error| self.tell(error));
        }
    }

    /// The publishers of a topic here as the network sees them; `None`: they are the same.
    fn sources(&mut self, topic: &TopicKey, local: &Local) -> Option<Sources> {
        let known = self.out.get(topic).map(|out| Arc::clone(&out.sources))?;
        let TopicKey { topic: name, type_name, hash } = topic;
        let key = key(self.participant.domain_id(), name, type_name, hash);
        let mut sources = BTreeMap::new();
        for LocalEnd { port, .. } in local.publishers(name, type_name) {
            let Some(declared) = self.end_tokens.get(&port.gid) else { continue };
            if self.hashes.on_wire(port.type_hash) != *hash {
                continue;
            }
            if let Some(source) = known.get(&port.gid) {
                sources.insert(port.gid, Arc::clone(source));
                continue;
            }
            let gid = declared.gid;
            match wire_publisher(&self.session, &key, &port.qos) {
                Ok(publisher) => {
                    sources.insert(port.gid, Arc::new(Source { gid, publisher }));
                }
                Err(error) => {
                    self.has_failed = true;
                    self.tell(format!("{name} cannot be published on the network: {error}"));
                }
            }
        }
        let is_same = sources.len() == known.len() && sources.keys().eq(known.keys());
        (!is_same).then(|| Arc::new(sources))
    }
}

/// A publisher on the network with the quality of service of one here. A reliable one waits for a
/// slow link, on the thread of its topic; zenoh closes a link that takes nothing for long.
fn wire_publisher(session: &Session, key: &str, qos: &Qos) -> zenoh::Result<WirePublisher> {
    let (reliability, congestion) = match qos.is_reliable() {
        true => (Reliability::Reliable, CongestionControl::Block),
        false => (Reliability::BestEffort, CongestionControl::Drop),
    };
    let publisher = session
        .declare_publisher(key.to_owned())
        .reliability(reliability)
        .congestion_control(congestion);
    Ok(match qos.is_transient_local() {
        false => WirePublisher::Plain(publisher.wait()?),
        true => {
            let cache = CacheConfig::default().max_samples(qos.depth.min(KEPT_MAX));
            WirePublisher::Keeping(publisher.advanced().cache(cache).publisher_detection().wait()?)
        }
    })
}
