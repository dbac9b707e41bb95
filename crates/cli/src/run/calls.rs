//! Services of a run: as its processes count them, rows of the closing table; and their events as
//! topics of a recording.

use crate::summary::{CallEnds, ServiceRow};
use crossdock_comm::service::{EVENT_QOS, event_topic};
use crossdock_comm::status_records::client_counter;
use crossdock_comm::{ProcessSnapshot, Qos};
use crossdock_graph::{Introspection, Plan, ProcessPlan};
use crossdock_record::TopicToRecord;
use std::collections::{BTreeMap, BTreeSet};

/// The events that clients and servers publish, as topics of a recording of all topics. Not of a
/// replay: a client is called otherwise in every run.
pub(super) fn to_record(plan: &Plan, chosen: &[String], depth: usize) -> Vec<TopicToRecord> {
    if plan.steps.is_some() || !chosen.is_empty() {
        return Vec::new();
    }
    let nodes = || plan.all_processes().flat_map(ProcessPlan::nodes);
    let clients = nodes().flat_map(|node| &node.clients);
    let servers = nodes().flat_map(|node| &node.servers);
    let ends = clients.map(|it| (&it.service, it.introspection));
    let ends = ends.chain(servers.map(|it| (&it.service, it.introspection)));
    let told = ends.filter(|(_, told)| *told != Introspection::Disabled);
    let topics: BTreeSet<String> = told.map(|(service, _)| event_topic(service)).collect();
    let qos = Qos::best_effort(depth);
    let topic =
        |topic| TopicToRecord { offered: vec![EVENT_QOS.into()], ..TopicToRecord::new(topic, qos) };
    topics.into_iter().map(topic).collect()
}

/// One row for each service that has a port in these processes. Calls are counted at the clients,
/// which know how each of them ended.
pub(super) fn rows(status_tables: &[ProcessSnapshot]) -> Vec<ServiceRow> {
    let mut rows: BTreeMap<&str, ServiceRow> = BTreeMap::new();
    for process in status_tables {
        for port in process.servers.iter().chain(&process.clients) {
            let row = rows.entry(&port.topic).or_default();
            row.service.clone_from(&port.topic);
            row.service_type.clone_from(&port.type_name);
        }
        for port in &process.servers {
            if let Some(row) = rows.get_mut(port.topic.as_str()) {
                row.servers.push(port.node.clone());
            }
        }
        for port in &process.clients {
            let Some(row) = rows.get_mut(port.topic.as_str()) else { continue };
            let count = |index: usize| port.counters[index];
            row.clients += 1;
            row.calls += count(client_counter::CALLS);
            row.responses += count(client_counter::RESPONSES);
            row.others.add(CallEnds {
                timed_out: count(client_counter::TIMED_OUT),
                cancelled: count(client_counter::CANCELLED),
                server_gone: count(client_counter::SERVER_GONE),
                unanswered: count(client_counter::UNANSWERED),
                refused: count(client_counter::REFUSED),
                late: count(client_counter::LATE),
            });
        }
    }
    rows.into_values().collect()
}
