//! Services: which ports stand for servers and clients over there, and where the network may ask.

use super::Bridge;
use crate::calls::CALLS_OF_CLIENT;
use crate::local::{Local, LocalEnd};
use crate::remote::{RemoteEnd, TopicKey};
use crossdock_comm::{FreeClientOptions, FreeServerOptions, PortKind};
use crossdock_msg::ServiceSchema;
use crossdock_wire::{Gid, WireHash, key};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use zenoh::Wait as _;
use zenoh::query::Queryable;
use zenoh::sample::Locality;

/// What the bridge has of services.
#[derive(Default)]
pub(super) struct Services {
    /// Where the network asks servers here.
    queryables: BTreeMap<TopicKey, Queryable<()>>,
    /// Servers here that stand for those over there.
    servers: BTreeSet<Gid>,
    /// Clients here that stand for those over there.
    clients: BTreeSet<Gid>,
    /// Clients here by the names that the network has for them.
    names: BTreeMap<[u8; 16], Gid>,
    /// Types that were looked for; `None`: not known here.
    schemas: BTreeMap<(String, WireHash), Option<Arc<ServiceSchema>>>,
}

impl Bridge {
    /// Servers and clients here for those over there, and the other way round.
    pub(super) fn carry_calls(&mut self, local: &Local, served: &BTreeSet<TopicKey>) {
        self.name_clients(local);
        self.show_servers(local);
        self.show_clients(served);
    }

    /// The services of servers here, as the network has them.
    pub(super) fn served(&self, local: &Local) -> BTreeSet<TopicKey> {
        let servers = local.ends.iter().filter(|end| end.kind == PortKind::Server);
        let named = servers.map(|LocalEnd { port, .. }| TopicKey {
            topic: port.topic.clone(),
            type_name: port.type_name.clone(),
            hash: self.hashes.on_wire(port.type_hash),
        });
        named.collect()
    }

    /// Nothing of services is carried any more.
    pub(super) fn drop_calls(&mut self) {
        let Services { queryables, servers, clients, .. } = &mut self.services;
        queryables.clear();
        for gid in std::mem::take(servers).into_iter().chain(std::mem::take(clients)) {
            self.calls.remove(gid);
        }
    }

    /// By which names the network knows the clients here.
    fn name_clients(&mut self, local: &Local) {
        let clients = local.ends.iter().filter(|end| end.kind == PortKind::Client);
        let named = clients.filter_map(|LocalEnd { port, .. }| {
            Some((port.gid, self.end_tokens.get(&port.gid)?.gid))
        });
        let names: BTreeMap<[u8; 16], Gid> = named.collect();
        if names != self.services.names {
            self.calls.name(names.clone());
            self.services.names = names;
        }
    }

    /// Servers here for those over there. A service that nodes here serve stays theirs.
    fn show_servers(&mut self, local: &Local) {
        let mut there = self.remote.ends(PortKind::Server);
        there.retain(|service, _| !local.serves(&service.topic));
        let gids: BTreeSet<Gid> = there.values().flat_map(BTreeMap::keys).copied().collect();
        self.drop_gone(&gids, |services| &mut services.servers);
        for (service, servers) in there {
            if !self.is_of_our_kind(&service) {
                continue;
            }
            for (gid, RemoteEnd { node, .. }) in servers {
                if self.services.servers.contains(&gid) {
                    continue;
                }
                let Some(schema) = self.service_schema(&service, true) else { continue };
                let doorbell = Some(&self.calls.bell);
                let options = FreeServerOptions {
                    node: &node,
                    service: &service.topic,
                    doorbell,
                    ..FreeServerOptions::default()
                };
                match self.participant.free_any_server(schema, options) {
                    Ok(server) => {
                        self.calls.add_server(gid, &self.key_of(&service), server);
                        self.services.servers.insert(gid);
                    }
                    Err(error) => self.tell(format!("{} is not carried: {error}", service.topic)),
                }
            }
        }
    }

    /// The network may ask the servers here.
    pub(super) fn open_to_network(&mut self, here: &BTreeSet<TopicKey>) {
        self.services.queryables.retain(|service, _| here.contains(service));
        for service in here {
            // What nobody over there wants need not be known.
            if self.services.queryables.contains_key(service)
                || self.service_schema(service, false).is_none()
            {
                continue;
            }
            let (key, inbox) = (self.key_of(service), self.calls.inbox());
            let asked_at = key.clone();
            let queryable = self
                .session
                .declare_queryable(key)
                .complete(true)
                .allowed_origin(Locality::Remote)
                .callback(move |query| inbox.ask(&asked_at, query))
                .wait();
            match queryable {
                Ok(queryable) => {
                    self.services.queryables.insert(service.clone(), queryable);
                }
                Err(error) => {
                    self.has_failed = true;
                    self.tell(format!("{} cannot be served there: {error}", service.topic));
                }
            }
        }
    }

    /// Clients here for those over there whose service has a server here.
    fn show_clients(&mut self, here: &BTreeSet<TopicKey>) {
        let mut there = self.remote.ends(PortKind::Client);
        there.retain(|service, _| here.contains(service));
        let gids: BTreeSet<Gid> = there.values().flat_map(BTreeMap::keys).copied().collect();
        self.drop_gone(&gids, |services| &mut services.clients);
        for (service, clients) in there {
            for (gid, RemoteEnd { node, .. }) in clients {
                if self.services.clients.contains(&gid) {
                    continue;
                }
                let Some(schema) = self.service_schema(&service, true) else { continue };
                let options = FreeClientOptions {
                    node: &node,
                    service: &service.topic,
                    depth: CALLS_OF_CLIENT,
                    doorbell: Some(&self.calls.bell),
                    ..FreeClientOptions::default()
                };
                match self.participant.free_any_client(schema, options) {
                    Ok(client) => {
                        let key = self.key_of(&service);
                        self.calls.add_client(gid, &key, &service.topic, client);
                        self.services.clients.insert(gid);
                    }
                    Err(error) => self.tell(format!("{} is not carried: {error}", service.topic)),
                }
            }
        }
    }

    fn drop_gone(
        &mut self,
        there: &BTreeSet<Gid>,
        ports: impl Fn(&mut Services) -> &mut BTreeSet<Gid>,
    ) {
        let known = ports(&mut self.services);
        let gone: Vec<Gid> = known.difference(there).copied().collect();
        known.retain(|gid| there.contains(gid));
        gone.into_iter().for_each(|gid| self.calls.remove(gid));
    }

    /// Where a service is asked.
    fn key_of(&self, service: &TopicKey) -> String {
        let TopicKey { topic, type_name, hash } = service;
        key(self.participant.domain_id(), topic, type_name, hash)
    }

    /// The type of a service. `is_wanted`: somebody is to hear that it is not known here.
    fn service_schema(
        &mut self,
        service: &TopicKey,
        is_wanted: bool,
    ) -> Option<Arc<ServiceSchema>> {
        let TopicKey { type_name, hash, .. } = service;
        let (definitions, wanted) = (&self.definitions, (type_name.clone(), *hash));
        let schema = self.services.schemas.entry(wanted).or_insert_with(|| {
            let schema = match hash {
                WireHash::Rihs01(hash) => definitions.service(type_name, *hash),
                WireHash::NotSupported => definitions.service_of_any_hash(type_name),
            };
            schema.map(Arc::new)
        });
        let schema = schema.clone();
        if is_wanted && schema.is_none() {
            // Not of each service: the parameters of every node have the same types.
            let has_another = self.definitions.service_of_any_hash(type_name).is_some();
            self.tell(not_carried("services", type_name, has_another));
        }
        schema
    }
}

/// What to do about a type that is not known here, or has another definition over there.
pub(super) fn not_carried(what: &str, type_name: &str, has_another: bool) -> String {
    let why = match has_another {
        true => "its definition over there is another one than here",
        false => "it is not known here",
    };
    format!(
        "{what} of the type {type_name} are not carried: {why}; name the folder of its definition \
         (--interfaces FOLDER)"
    )
}
