//! Services of a run as its processes count them: rows of the closing table.

use crate::summary::{CallEnds, ServiceRow};
use crossdock_comm::ProcessSnapshot;
use crossdock_comm::status_records::client_counter;
use std::collections::BTreeMap;

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
