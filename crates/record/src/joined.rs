//! Several bags as one: their messages in the order of their times.

use crate::bag::{BagReader, BagTopic, TopicProblem};
use std::collections::BTreeMap;

impl BagReader {
    /// Makes one bag of several. Topics of one name become one topic. If their types differ, the
    /// bag that comes first counts, and [`BagTopic::problems`] of the other topic say so.
    ///
    /// Definitions that one of the bags lacks should be given to it before
    /// ([`BagReader::define`]). Allocates; parses definitions that differ.
    pub fn join(readers: impl IntoIterator<Item = BagReader>) -> BagReader {
        let mut joined = BagReader {
            bags: Vec::new(),
            topics: Vec::new(),
            remarks: Vec::new(),
            missing: Vec::new(),
        };
        let mut delivered = BTreeMap::new();
        for reader in readers {
            let places = reader.topics.into_iter().map(|topic| {
                let place = adopt(&mut joined.topics, topic, &delivered)?;
                delivered.entry(joined.topics[place].name.clone()).or_insert(place);
                Some(place)
            });
            let places: Vec<Option<usize>> = places.collect();
            let bags = reader.bags.into_iter().map(|(bag, topics)| {
                (bag, topics.into_iter().map(|topic| places[topic?]).collect())
            });
            joined.bags.extend(bags);
            joined.remarks.extend(reader.remarks);
            joined.missing.extend(reader.missing);
        }
        joined
    }
}

/// Adds a topic to those that are known; gives its place if its messages are delivered.
fn adopt(
    known: &mut Vec<BagTopic>,
    mut topic: BagTopic,
    delivered: &BTreeMap<String, usize>,
) -> Option<usize> {
    if !topic.is_delivered() {
        known.push(topic);
        return None;
    }
    let Some(first) = delivered.get(&topic.name).copied() else {
        known.push(topic);
        return Some(known.len() - 1);
    };
    if known[first].is_of_type(&topic) {
        known[first].absorb(topic);
        return Some(first);
    }
    topic.problems.push(TopicProblem::conflict(&known[first], &topic));
    known.push(topic);
    None
}
