//! Topics as nodes on devices have them: rows of the closing table.

use super::figures::hosted;
use crate::summary::DeviceRow;
use crossdock_comm::status_records::{counter, device_counter, kind};
use crossdock_comm::{EntitySnapshot, ProcessSnapshot};
use std::collections::BTreeMap;

/// The memory that a payload without a device lies in.
const HOST: &str = "host";

/// What a process says of a topic of one of its nodes.
struct Said<'a> {
    record: &'a EntitySnapshot,
    node: String,
    device: String,
    model: String,
    reason: String,
}

/// One row for each topic of each node that leaves its work to a device.
pub(super) fn rows(status_tables: &[ProcessSnapshot]) -> Vec<DeviceRow> {
    let said = hosted(status_tables, kind::DEVICE_TOPIC).map(|(record, detail)| {
        let mut parts = detail.split('\n').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        Said { record, node: part(), device: part(), model: part(), reason: part() }
    });
    let said: Vec<Said<'_>> = said.collect();
    said.iter()
        .map(|it| row(it, resident(&it.record.name, &said, status_tables), status_tables))
        .collect()
}

fn row(
    said: &Said<'_>,
    resident: BTreeMap<String, u64>,
    status_tables: &[ProcessSnapshot],
) -> DeviceRow {
    let Said { record, node, device, model, reason } = said;
    let ports = status_tables.iter().flat_map(|it| it.publishers.iter().chain(&it.subscribers));
    let ports = ports.filter(|it| it.topic == record.name && it.node == *node);
    let of_ports = |index: usize| ports.clone().map(|it| it.counters[index]).sum::<u64>();
    // What came by a service is counted at the record: its port has no such counters.
    let sum = |index: usize| record.counters[index] + of_ports(index);
    DeviceRow {
        topic: record.name.clone(),
        node: node.clone(),
        device: device.clone(),
        model: model.clone(),
        reason: reason.clone(),
        messages: of_ports(counter::MESSAGES),
        copies: sum(counter::COPIES),
        copied_bytes: sum(counter::COPIED_BYTES),
        resident,
    }
}

/// In how many places of each memory a payload of the topic lies.
fn resident(
    topic: &str,
    said: &[Said<'_>],
    status_tables: &[ProcessSnapshot],
) -> BTreeMap<String, u64> {
    let mut resident = BTreeMap::new();
    let mut away = 0;
    let mut shared: BTreeMap<&str, bool> = BTreeMap::new();
    for Said { record, device, .. } in said.iter().filter(|it| it.record.name == topic) {
        let counters = &record.counters;
        *resident.entry(device.clone()).or_default() += counters[device_counter::OWN];
        // Of several publishers each has its own messages.
        *shared.entry(device).or_default() |= counters[device_counter::SHARED] > 0;
        away += counters[device_counter::AWAY];
    }
    for (device, is_shared) in shared {
        *resident.entry(device.to_owned()).or_default() += u64::from(is_shared);
    }
    let publishers =
        status_tables.iter().flat_map(|it| &it.publishers).filter(|it| it.topic == topic);
    let published: u64 = publishers.map(|it| it.counters[counter::MESSAGES]).sum();
    resident.insert(HOST.to_owned(), u64::from(published == 0 || away < published));
    resident.retain(|_, instances| *instances > 0);
    resident
}
