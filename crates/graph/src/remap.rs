//! What the remapping rules of a command line do to a graph: nodes, topics and services get other
//! names, as in ROS 2.
//!
//! Of each node first the name is replaced, then the namespace, then its topics and services, each
//! by the first rule that fits. Both sides of a rule are names as the node would write them. Names
//! that the graph file writes relative or private follow the node into its new namespace.

use crate::expansion::{NodeName, expanded_service, expanded_topic, join};
use crate::include::for_each_name;
use crate::mapping::Mapping;
use crate::merge::{Places, add_service, add_topic, published_topics, served_services};
use crate::model::{Graph, GraphNode};
use crate::names::{did_you_mean, node_fault};
use crate::ros_arguments::{RemapRule, Remapped};
use crate::source::Source;
use crate::violation::{Violation, ViolationKind};
use std::collections::{BTreeMap, BTreeSet};

/// What nodes, topics and services of a graph are called after a remapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewNames {
    /// By the old name; only those that have changed.
    nodes: BTreeMap<String, String>,
    /// By the old name: the names that ports have instead, and the old one if some keep it.
    names: BTreeMap<String, Vec<String>>,
}

impl NewNames {
    /// What a node is called now.
    #[must_use]
    pub fn node<'a>(&'a self, old: &'a str) -> &'a str {
        self.nodes.get(old).map_or(old, String::as_str)
    }

    /// Whether nothing has another name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.names.is_empty()
    }

    fn of(&self, old: &str) -> Vec<String> {
        self.names.get(old).cloned().unwrap_or_else(|| vec![old.to_owned()])
    }
}

impl Mapping {
    /// The mapping of the graph whose nodes and topics have these new names.
    #[must_use]
    pub fn renamed(&self, names: &NewNames) -> Self {
        if names.is_empty() {
            return self.clone();
        }
        self.with_names(&|node| names.node(node).to_owned(), &|topic| names.of(topic))
    }
}

impl Graph {
    /// The graph with what remapping rules make of it, the new names, and a warning for each rule
    /// that changes nothing.
    ///
    /// # Errors
    /// Two nodes would have one name, or a name would break a rule.
    pub fn remapped(
        &self,
        rules: &[RemapRule],
    ) -> Result<(Self, NewNames, Vec<Violation>), Vec<Violation>> {
        let mut remapping = Remapping {
            rules,
            used: vec![false; rules.len()],
            names: NewNames::default(),
            faults: Vec::new(),
        };
        let mut graph = self.clone();
        let Self { nodes, source, .. } = &mut graph;
        nodes.iter_mut().for_each(|node| remapping.node(node, source));
        let mut seen = BTreeMap::new();
        for (node, old) in graph.nodes.iter().zip(&self.nodes) {
            if let Some(first) = seen.insert(node.name.as_str(), old.name.as_str()) {
                let message =
                    format!("nodes `{first}` and `{}` would both be `{}`", old.name, node.name);
                let whole = NodeName::of(&old.name).whole();
                let advice = format!(
                    "begin the rule with a node's whole name and `:`, as in `{whole}:__ns:=/other`"
                );
                let (kind, path) = (ViolationKind::Duplicate, ["nodes", old.name.as_str()]);
                let fault = Violation::at(kind, &self.source, &path, message, advice);
                remapping.faults.push(fault);
            }
        }
        if !remapping.faults.is_empty() {
            return Err(remapping.faults);
        }
        remapping.declarations(&mut graph);
        let warnings = remapping.unused(self, &graph);
        Ok((graph, remapping.names, warnings))
    }
}

struct Remapping<'r> {
    rules: &'r [RemapRule],
    /// Which of them have changed something.
    used: Vec<bool>,
    names: NewNames,
    faults: Vec<Violation>,
}

impl Remapping<'_> {
    /// Gives a node its new name and its ports theirs.
    fn node(&mut self, node: &mut GraphNode, source: &Source) {
        let old = node.name.clone();
        let NodeName { namespace, name } = NodeName::of(&old);
        let new_name = self.first(NodeName { namespace, name }, |what| match what {
            Remapped::Node(name) => Some(name.clone()),
            _ => None,
        });
        let name = new_name.as_deref().unwrap_or(name);
        let new_namespace = self.first(NodeName { namespace, name }, |what| match what {
            Remapped::Namespace(namespace) => Some(namespace.clone()),
            _ => None,
        });
        let namespace = new_namespace.as_deref().unwrap_or(namespace);
        let new = NodeName { namespace, name };
        if let Some(fault) = node_fault(&new.whole()) {
            let message = format!("the node would be `{}`: it {fault}", new.whole());
            self.fault(source, &["nodes", &old], message);
        }
        for_each_name(node, |table, port, topic, is_service| {
            let path = ["nodes", old.as_str(), table, port];
            let expand = if is_service { expanded_service } else { expanded_topic };
            let before = expand(source.written(&path).unwrap_or(topic), new);
            let after = before.and_then(|before| {
                let to = self.first(new, |what| match what {
                    Remapped::Name { from, to, topics, services } => {
                        let is_kind = if is_service { *services } else { *topics };
                        let fits = is_kind && expand(from, new).as_ref() == Ok(&before);
                        fits.then(|| expand(to, new))
                    }
                    _ => None,
                });
                to.unwrap_or(Ok(before))
            });
            match after {
                Ok(after) => {
                    let known = self.names.names.entry(topic.clone()).or_default();
                    if !known.contains(&after) {
                        known.push(after.clone());
                    }
                    *topic = after;
                }
                Err(fault) => {
                    let message = format!("`{topic}` would get no valid name: it {fault}");
                    self.fault(source, &path, message);
                }
            }
        });
        node.name = new.shown();
        if node.name != old {
            self.names.nodes.insert(old, node.name.clone());
        }
    }

    fn fault(&mut self, source: &Source, path: &[&str], message: String) {
        let (kind, advice) = (ViolationKind::InvalidName, "correct the remapping rules");
        self.faults.push(Violation::at(kind, source, path, message, advice));
    }

    /// What the first rule that is for a node and fits makes of it.
    fn first<T>(&mut self, node: NodeName<'_>, fits: impl Fn(&Remapped) -> Option<T>) -> Option<T> {
        let is_for = |rule: &RemapRule| rule.node.as_deref().is_none_or(|it| names(it, node));
        let rules = self.rules.iter().enumerate().filter(|(_, rule)| is_for(rule));
        let (index, found) =
            rules.into_iter().find_map(|(index, rule)| Some((index, fits(&rule.what)?)))?;
        self.used[index] = true;
        Some(found)
    }

    /// Declarations, chains and arguments follow the ports and nodes that they speak of.
    fn declarations(&mut self, graph: &mut Graph) {
        let nodes = self.names.nodes.clone();
        graph.arguments.iter_mut().for_each(|argument| {
            if let Some(new) = nodes.get(&argument.node) {
                new.clone_into(&mut argument.node);
            }
        });
        let unported: Vec<String> = (graph.topics.iter().map(|it| &it.name))
            .chain(graph.services.iter().map(|it| &it.name))
            .chain(graph.chains.iter().flat_map(|it| [&it.from, &it.to]))
            .filter(|name| !self.names.names.contains_key(*name))
            .cloned()
            .collect();
        for name in unported {
            let new = self.without_node(&name, graph.source.namespace());
            self.names.names.insert(name, vec![new]);
        }
        let published = published_topics(graph);
        let mut places = Places::new();
        for mut topic in std::mem::take(&mut graph.topics) {
            let old = topic.name.clone();
            for new in self.names.of(&old) {
                topic.name.clone_from(&new);
                let mut declared = topic.clone();
                // Those who publish there now are in the graph.
                declared.external &= new == old || !published.contains(&new);
                add_topic(&mut graph.topics, &mut places, declared);
            }
        }
        let served = served_services(graph);
        places.clear();
        for mut service in std::mem::take(&mut graph.services) {
            let old = service.name.clone();
            for new in self.names.of(&old) {
                service.name.clone_from(&new);
                let mut declared = service.clone();
                declared.external &= new == old || !served.contains(&new);
                add_service(&mut graph.services, &mut places, declared);
            }
        }
        // A chain whose topic has become several stays with the ports that have kept its name.
        for end in graph.chains.iter_mut().flat_map(|chain| [&mut chain.from, &mut chain.to]) {
            let new = self.names.of(end);
            if let Some(first) = new.first().filter(|_| !new.contains(end)) {
                first.clone_into(end);
            }
        }
        self.names.names.retain(|old, new| new.len() != 1 || new[0] != *old);
        let first = |(old, new): (&String, &Vec<String>)| Some((old.clone(), new.first()?.clone()));
        let moved: BTreeMap<String, String> = self.names.names.iter().filter_map(first).collect();
        graph.source.rename("nodes", &nodes);
        graph.source.rename("topics", &moved);
        graph.source.rename("services", &moved);
    }

    /// What a name that no port has becomes: rules for all nodes count, from the graph's namespace.
    fn without_node(&mut self, name: &str, namespace: &str) -> String {
        for (rule, used) in self.rules.iter().zip(&mut self.used) {
            let Remapped::Name { from, to, .. } = &rule.what else { continue };
            let is_free = rule.node.is_none() && !from.starts_with('~') && !to.starts_with('~');
            if is_free && join(namespace, from) == name {
                *used = true;
                return join(namespace, to);
            }
        }
        name.to_owned()
    }

    /// Rules that have changed nothing.
    fn unused(&self, before: &Graph, after: &Graph) -> Vec<Violation> {
        let rules = self.rules.iter().zip(&self.used).filter(|(_, used)| !**used);
        let unused = rules.map(|(rule, _)| {
            let (why, advice) = self.why_unused(rule, before, after);
            let message = format!("`-r {}` changes nothing: {why}", rule.text);
            Violation::placed(ViolationKind::UnusedRemap, "", None, message, advice)
        });
        unused.collect()
    }

    fn why_unused(&self, rule: &RemapRule, before: &Graph, after: &Graph) -> (String, String) {
        let or = |near: String, other: &str| if near.is_empty() { other.to_owned() } else { near };
        if let Some(prefix) = rule.node.as_deref()
            && !after.nodes.iter().any(|node| names(prefix, NodeName::of(&node.name)))
        {
            let renamed = self.names.nodes.iter().find(|(old, _)| names(prefix, NodeName::of(old)));
            if let Some((_, new)) = renamed {
                let advice = "rules for topics and namespaces name a node by its new name";
                return (format!("node `{prefix}` is called `{new}` by then"), advice.to_owned());
            }
            let known = before.nodes.iter();
            let known: BTreeSet<&str> =
                known.flat_map(|it| [it.name.as_str(), NodeName::of(&it.name).name]).collect();
            let advice = or(did_you_mean(prefix, known), "remove the rule");
            return (format!("no node is called `{prefix}`"), advice);
        }
        let Remapped::Name { from, topics, services, .. } = &rule.what else {
            return ("an earlier rule does".to_owned(), "remove one of the two".to_owned());
        };
        let is_named = |name: &str| match from.starts_with('/') {
            true => name == from,
            false => name.rsplit('/').next() == Some(from),
        };
        if !services && before.service_names().into_iter().any(is_named) {
            let advice = format!("begin it with `rosservice://{from}`");
            return (format!("`{from}` is a service, no topic"), advice);
        }
        if !topics && before.topic_names().into_iter().any(is_named) {
            let advice = format!("begin it with `rostopic://{from}`");
            return (format!("`{from}` is a topic, no service"), advice);
        }
        let known = || before.topic_names().into_iter().chain(before.service_names());
        let elsewhere = known().find(|name| !from.starts_with('/') && is_named(name));
        let near = match elsewhere {
            // Below no node's namespace.
            Some(whole) if rule.node.is_none() => format!("did you mean `{whole}`?"),
            Some(_) => String::new(),
            None if from.starts_with('/') => did_you_mean(from, known()),
            None => did_you_mean(from, known().filter_map(|name| name.rsplit('/').next())),
        };
        let who = match &rule.node {
            None => "nobody has a".to_owned(),
            Some(node) => format!("node `{node}` has no"),
        };
        (format!("{who} topic or service `{from}`"), or(near, "remove the rule"))
    }
}

/// Whether the prefix of a rule means a node: by the last part of its name, as in ROS 2, or by the
/// whole one.
fn names(prefix: &str, node: NodeName<'_>) -> bool {
    prefix == node.name || (prefix.contains('/') && join("/", prefix) == node.whole())
}
