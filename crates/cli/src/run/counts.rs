//! What fabrics had to do to messages, as their registers count it: rows and notes of the closing
//! table.

use super::fabrics::Counts;
use super::figures::hosted;
use crate::summary::{CountRow, FabricRow};
use crossdock_comm::ProcessSnapshot;
use crossdock_comm::status_records::kind;
use crossdock_gateway::record::fabric_counts;
use crossdock_hwgen::network::Counted;

/// The counts of a fabric that are not zero.
pub(super) fn rows(
    fabric: &str,
    counts: &Counts,
    status_tables: &[ProcessSnapshot],
) -> Vec<CountRow> {
    let Some(counts) = counts.get(fabric) else { return Vec::new() };
    let mut rows = Vec::new();
    for (record, _) in
        hosted(status_tables, kind::FABRIC_COUNTS).filter(|(it, _)| it.name == fabric)
    {
        let Some(first) = fabric_counts::first(&record.detail) else { continue };
        for (count, &value) in counts.iter().skip(first).zip(&record.counters) {
            if value > 0 {
                rows.push(CountRow {
                    what: count.what,
                    of: count.of.clone(),
                    at: count.at.clone(),
                    count: value,
                    at_least: count.bits > 1 && value == !0 >> (64 - count.bits.clamp(1, 64)),
                });
            }
        }
    }
    rows
}

/// What the user should know of it: what, how many, where, and what to do. `at_rest`: the board had
/// done all that there was to do.
pub(super) fn notes(fabric: &FabricRow, at_rest: bool) -> Vec<String> {
    fabric.counts.iter().map(|row| note(&fabric.fabric, row, at_rest)).collect()
}

fn note(fabric: &str, row: &CountRow, at_rest: bool) -> String {
    let CountRow { of, at, .. } = row;
    let messages = match (row.at_least, row.count) {
        (true, count) => format!("at least {count} messages"),
        (false, 1) => "1 message".to_owned(),
        (false, count) => format!("{count} messages"),
    };
    match row.what {
        Counted::Short => format!(
            "fabric `{fabric}` marked {messages} of {of} as damaged that ended before the length in the \
             header: look at what {at} announces and sends"
        ),
        Counted::OverLong => format!(
            "fabric `{fabric}` cut {messages} of {of} that went on behind the length in the header: look \
             at what {at} announces and sends"
        ),
        Counted::OverBound => format!(
            "fabric `{fabric}` dropped {messages} of {of} longer than `bounds` of the topic in the graph \
             file: raise them, or look at what {at} sends"
        ),
        Counted::Silent => format!(
            "fabric `{fabric}` ended {messages} of {of} because the publisher fell silent: look at why \
             {at} stops in mid-message, or raise `watchdog_cycles` of the topic in the mapping file"
        ),
        Counted::Dead => format!(
            "{at} has not delivered the rest of a message of {of} that fabric `{fabric}` ended, and is \
             not heard until it does: look at why it stops in mid-message"
        ),
        Counted::Dropped => format!(
            "node `{of}` in fabric `{fabric}` dropped {messages} that it took: look at what {at} takes, \
             and at what is sent to it"
        ),
        Counted::KeepLast => format!(
            "fabric `{fabric}` dropped {messages} of {of} before {at} for newer ones: raise its \
             `keep_last` in the mapping file, or give it `fifo_messages` instead if it needs them all"
        ),
        Counted::Discarded => format!(
            "fabric `{fabric}` discarded {messages} of {of} before {at}: they were damaged, or longer \
             than `bounds` of the topic in the graph file"
        ),
        Counted::Unended if !at_rest => format!(
            "the run ended before {at} in fabric `{fabric}` had ended a message of {of}, which is lost; \
             if all of it was sent, look at whether it sets `tlast` with the last beat"
        ),
        Counted::Unended => format!(
            "{at} in fabric `{fabric}` has not ended a message of {of}, which is lost: look at whether \
             it sets `tlast` with the last beat, and at what it waits for"
        ),
    }
}
