//! One graph out of several, and graphs whose topics and services are called otherwise.
//!
//! Names are whole here.

use crate::include::for_each_name;
use crate::model::{Copies, Graph, GraphTopic};
use crate::service::GraphService;
use crate::source::Source;
use crate::violation::{Violation, ViolationKind};
use std::collections::{BTreeMap, BTreeSet};

/// A graph that others are added to. What it says itself counts before what they say.
pub(crate) struct Merge {
    graph: Graph,
    topics: Places,
    services: Places,
    /// Topics and services that only a part calls external, and does not publish or serve itself:
    /// if another part does, they are not.
    open_topics: BTreeSet<String>,
    open_services: BTreeSet<String>,
}

impl Merge {
    pub(crate) fn new(graph: Graph) -> Self {
        let topics = places(graph.topics.iter().map(|topic| &topic.name));
        let services = places(graph.services.iter().map(|service| &service.name));
        let (open_topics, open_services) = Default::default();
        Self { graph, topics, services, open_topics, open_services }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.graph.source
    }

    /// Adds a part. Gives what is in both and may be in one only.
    pub(crate) fn add(&mut self, part: Graph) -> Vec<Violation> {
        let mut faults = self.twice("node", &part, |graph| {
            graph.nodes.iter().map(|node| ("nodes", node.name.as_str())).collect()
        });
        faults.extend(self.twice("chain", &part, |graph| {
            graph.chains.iter().map(|chain| ("chains", chain.name.as_str())).collect()
        }));
        let published = published_topics(&part);
        let served = served_services(&part);
        for topic in &part.topics {
            let declared = self.topics.get(&topic.name).map(|place| &self.graph.topics[*place]);
            if topic.external
                && !published.contains(&topic.name)
                && declared.is_none_or(|declared| !declared.external)
            {
                self.open_topics.insert(topic.name.clone());
            }
            let clash = declared.and_then(|it| it.message_type.as_ref());
            let clash = clash.zip(topic.message_type.as_ref()).filter(|(a, b)| a != b);
            if let Some((here, there)) = clash {
                let path = ["topics", topic.name.as_str(), "type"];
                let message = format!("the type is `{there}` here and `{here}` elsewhere");
                let (kind, advice) = (ViolationKind::TypeClash, "remap one of the two topics");
                let fault = Violation::at(kind, &part.source, &path, message, advice);
                faults.push(fault.for_topic(&topic.name));
            }
        }
        for service in part.services.iter().filter(|it| it.external && !served.contains(&it.name)) {
            let declared = self.services.get(&service.name);
            let declared = declared.map(|place| &self.graph.services[*place]);
            if declared.is_none_or(|declared| !declared.external) {
                self.open_services.insert(service.name.clone());
            }
        }
        let Graph { arguments, topics, services, nodes, chains, source, .. } = part;
        self.graph.arguments.extend(arguments);
        self.graph.nodes.extend(nodes);
        self.graph.chains.extend(chains);
        for topic in topics {
            add_topic(&mut self.graph.topics, &mut self.topics, topic);
        }
        for service in services {
            add_service(&mut self.graph.services, &mut self.services, service);
        }
        self.graph.source.absorb(source);
        faults
    }

    /// All of it.
    pub(crate) fn finish(self) -> Graph {
        let Self { mut graph, open_topics, open_services, .. } = self;
        let (published, served) = (published_topics(&graph), served_services(&graph));
        for topic in &mut graph.topics {
            topic.external &=
                !(open_topics.contains(&topic.name) && published.contains(&topic.name));
        }
        for service in &mut graph.services {
            service.external &=
                !(open_services.contains(&service.name) && served.contains(&service.name));
        }
        graph
    }

    /// Names of a table that both graphs have.
    fn twice(
        &self,
        what: &str,
        part: &Graph,
        names: impl for<'g> Fn(&'g Graph) -> Vec<(&'static str, &'g str)>,
    ) -> Vec<Violation> {
        let known: BTreeSet<&str> = names(&self.graph).into_iter().map(|(_, name)| name).collect();
        let both = names(part).into_iter().filter(|(_, name)| known.contains(name));
        let fault = |(table, name): (&'static str, &str)| {
            let (file, place) = self.graph.source.find(&[table, name]);
            let line = place.map(|place| format!(", line {}", place.line)).unwrap_or_default();
            let message = format!("{what} `{name}` is there already, in {file}{line}");
            let advice = "include one of the two files in a `namespace` of its own";
            let kind = ViolationKind::Duplicate;
            Violation::at(kind, &part.source, &[table, name], message, advice)
        };
        both.map(fault).collect()
    }
}

/// Topics that nodes publish.
pub(crate) fn published_topics(graph: &Graph) -> BTreeSet<String> {
    graph.nodes.iter().flat_map(|node| &node.outputs).map(|it| it.topic.clone()).collect()
}

/// Services that nodes serve.
pub(crate) fn served_services(graph: &Graph) -> BTreeSet<String> {
    graph.nodes.iter().flat_map(|node| &node.servers).map(|it| it.service.clone()).collect()
}

/// Where the declarations of a list are, by name: a file may have a hundred thousand of them.
pub(crate) type Places = BTreeMap<String, usize>;

/// The places of these names; of a name that is there twice, the first.
fn places<'a>(names: impl Iterator<Item = &'a String>) -> Places {
    let mut places = Places::new();
    for (place, name) in names.enumerate() {
        places.entry(name.clone()).or_insert(place);
    }
    places
}

/// Adds a declaration to those of other topics. What stands there already about the topic counts.
pub(crate) fn add_topic(topics: &mut Vec<GraphTopic>, places: &mut Places, topic: GraphTopic) {
    let place = *places.entry(topic.name.clone()).or_insert(topics.len());
    let Some(known) = topics.get_mut(place) else { return topics.push(topic) };
    known.message_type = known.message_type.take().or(topic.message_type);
    known.external |= topic.external;
    known.several_publishers |= topic.several_publishers;
    if topic.copies == Copies::Forbidden {
        known.copies = Copies::Forbidden;
    }
    known.max_bytes = known.max_bytes.or(topic.max_bytes);
    for (field, bound) in topic.bounds {
        known.bounds.entry(field).or_insert(bound);
    }
    known.qos = known.qos.or(topic.qos);
}

/// As [`add_topic`], for services.
pub(crate) fn add_service(
    services: &mut Vec<GraphService>,
    places: &mut Places,
    service: GraphService,
) {
    let place = *places.entry(service.name.clone()).or_insert(services.len());
    let Some(known) = services.get_mut(place) else { return services.push(service) };
    known.service_type = known.service_type.take().or(service.service_type);
    known.external |= service.external;
    known.max_request_bytes = known.max_request_bytes.or(service.max_request_bytes);
    known.max_response_bytes = known.max_response_bytes.or(service.max_response_bytes);
}

/// The graph with other names for those topics and services that `new` has one for, wherever they
/// stand. Gives the names that were replaced, too.
pub(crate) fn replace_names(
    mut graph: Graph,
    new: impl Fn(&str) -> Option<String>,
) -> (Graph, BTreeSet<String>) {
    let mut used = BTreeSet::new();
    let mut source = std::mem::take(&mut graph.source);
    let mut replace = |name: &mut String| {
        let Some(new) = new(name) else { return false };
        used.insert(std::mem::replace(name, new));
        true
    };
    for node in &mut graph.nodes {
        let key = node.name.clone();
        for_each_name(node, |table, port, name, _| {
            if replace(name) {
                source.clear_written(&["nodes", &key, table, port]);
            }
        });
    }
    for chain in &mut graph.chains {
        replace(&mut chain.from);
        replace(&mut chain.to);
    }
    let (mut moved, mut places) = (BTreeMap::new(), Places::new());
    for mut topic in std::mem::take(&mut graph.topics) {
        let old = topic.name.clone();
        replace(&mut topic.name);
        moved.insert(old, topic.name.clone());
        add_topic(&mut graph.topics, &mut places, topic);
    }
    source.rename("topics", &moved);
    moved.clear();
    places.clear();
    for mut service in std::mem::take(&mut graph.services) {
        let old = service.name.clone();
        replace(&mut service.name);
        moved.insert(old, service.name.clone());
        add_service(&mut graph.services, &mut places, service);
    }
    source.rename("services", &moved);
    (Graph { source, ..graph }, used)
}
