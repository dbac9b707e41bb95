//! What one process has counted, in one life or in several: its status table, and the histograms of
//! its records.

use super::left::made_ns;
use crossdock_comm::status_records::{device_counter, kind};
use crossdock_comm::{EntitySnapshot, HistogramSnapshot, Observer, PortSnapshot, ProcessSnapshot};
use crossdock_executor::status::node_counter;
use std::collections::BTreeMap;

/// See the head of this file.
#[derive(Clone)]
pub(super) struct ProcessFigures {
    pub(super) table: ProcessSnapshot,
    /// By kind and name of the record; of several alike all together.
    histograms: BTreeMap<(u32, String), HistogramSnapshot>,
}

impl ProcessFigures {
    /// The figures of the process with this status table.
    pub(super) fn read(observer: &Observer, table: ProcessSnapshot) -> Self {
        let mut histograms = BTreeMap::new();
        for record in &table.others {
            if let Some(histogram) = observer.histogram(table.name, record) {
                merge(&mut histograms, (record.kind, record.name.clone()), &histogram);
            }
        }
        Self { table, histograms }
    }

    /// Adds what another life of the process has counted. What stands for the same there and here
    /// becomes one, so the figures do not grow with the number of lives.
    pub(super) fn add(&mut self, other: &Self) {
        let (sum, more) = (&mut self.table, &other.table);
        add_ports(&mut sum.publishers, &more.publishers);
        add_ports(&mut sum.subscribers, &more.subscribers);
        add_ports(&mut sum.clients, &more.clients);
        add_ports(&mut sum.servers, &more.servers);
        let is_same = |one: &EntitySnapshot, other: &EntitySnapshot| {
            (one.kind, &one.name, &one.detail) == (other.kind, &other.name, &other.detail)
        };
        let made_ns = made_ns(&sum.others).max(made_ns(&more.others));
        add_all(&mut sum.others, &more.others, is_same, |record| &mut record.counters);
        // A time, not a count.
        for record in sum.others.iter_mut().filter(|it| it.kind == kind::NODE) {
            let made = &mut record.counters[node_counter::MADE_NS];
            *made = made_ns.min(*made);
        }
        // These say yes or no.
        for record in sum.others.iter_mut().filter(|it| it.kind == kind::DEVICE_TOPIC) {
            for mark in [device_counter::SHARED, device_counter::OWN] {
                record.counters[mark] = record.counters[mark].min(1);
            }
        }
        for (key, histogram) in &other.histograms {
            merge(&mut self.histograms, key.clone(), histogram);
        }
    }

    /// The records of this kind and name.
    pub(super) fn records<'a>(
        &'a self,
        kind: u32,
        name: &'a str,
    ) -> impl Iterator<Item = &'a EntitySnapshot> {
        self.table.others.iter().filter(move |it| it.kind == kind && it.name == name)
    }

    /// What their histograms have counted, all together.
    pub(super) fn histogram(&self, kind: u32, name: &str) -> Option<&HistogramSnapshot> {
        self.histograms.get(&(kind, name.to_owned()))
    }
}

fn merge(
    histograms: &mut BTreeMap<(u32, String), HistogramSnapshot>,
    key: (u32, String),
    more: &HistogramSnapshot,
) {
    histograms.entry(key).or_insert_with(HistogramSnapshot::empty).merge(more);
}

fn add_ports(sum: &mut Vec<PortSnapshot>, more: &[PortSnapshot]) {
    let is_same = |one: &PortSnapshot, other: &PortSnapshot| {
        (&one.topic, &one.node) == (&other.topic, &other.node)
    };
    add_all(sum, more, is_same, |port| &mut port.counters);
}

/// Adds the counters of each of `more` to its equal in `sum`, or else appends it.
/// Of several that are the same each stands for one: first for first.
fn add_all<T: Clone>(
    sum: &mut Vec<T>,
    more: &[T],
    is_same: impl Fn(&T, &T) -> bool,
    counters: impl Fn(&mut T) -> &mut [u64],
) {
    let mut is_free = vec![true; sum.len()];
    for other in more {
        let mut other = other.clone();
        match (0..is_free.len()).find(|&at| is_free[at] && is_same(&sum[at], &other)) {
            None => sum.push(other),
            Some(at) => {
                is_free[at] = false;
                let both = counters(&mut sum[at]).iter_mut().zip(counters(&mut other));
                both.for_each(|(sum, more)| *sum = sum.saturating_add(*more));
            }
        }
    }
}
