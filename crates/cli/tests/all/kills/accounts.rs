//! The closing table of a run in which processes were killed: every message is an execution or a
//! loss with a cause, and every life is there.

use super::{BOARD, PROCESSES};
use serde_json::Value;
use std::collections::BTreeMap;

/// Topics each of whose subscribers is executed once for each message: with their publisher and
/// these subscribers. A gateway counts what it takes instead. Joins and inputs that trigger nothing
/// pass messages over.
const ACCOUNTED: [(&str, &str, &[&str]); 5] = [
    ("/image", "source", &["blur", "red", "green", "snapshot"]),
    ("/blurred", "blur", &["planner"]),
    ("/view", "planner", &["polyfit"]),
    ("/few", "snapshot", &[BOARD]),
    ("/compensated", BOARD, &["features"]),
];

/// Messages of a topic that wait for a subscriber at most: the largest depth of the graph.
const QUEUE: u64 = 16;

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

fn row(summary: &Value, rows: &str, key: &str, name: &str) -> Value {
    let rows = summary[rows].as_array().expect("rows");
    let found = rows.iter().find(|row| row[key] == name);
    found.unwrap_or_else(|| panic!("{name}: {summary:#}")).clone()
}

/// Every message of a topic is an execution of each subscriber or a loss with a cause. The sums may
/// differ only by what a death cuts in two:
///
/// - A publisher dies between a message and its count: each subscriber may have one more, once for
///   each death of the publisher.
/// - A subscriber dies while it takes, finishes or counts a message: one more or one less, once for
///   each death of the subscriber.
/// - A message that the device of a dead publisher had not finished is a loss (`corrupt`), and may
///   have released an execution that did not get it: it may count twice.
/// - A run that fails is not brought to rest: a queue and one may be on the way to each subscriber.
///   It fails when the board ends, which nobody replaces: what is published for it from then on
///   until the others have ended is counted as unheard.
pub(super) fn account(summary: &Value, killed: &BTreeMap<&str, u64>, rests: bool) {
    let deaths = |name: &str| killed.get(name).copied().unwrap_or(0);
    for name in PROCESSES {
        let restarts = count(&row(summary, "processes", "name", name)["restarts"]);
        assert_eq!(restarts, deaths(name), "{name} was started again");
    }
    let taken = |topic: &str, name: &str| match name == BOARD {
        true => {
            let gateway = row(summary, "gateways", "topic", topic);
            count(&gateway["down"]) + count(&gateway["down_refused"])
        }
        false => count(&row(summary, "nodes", "node", name)["executions"]),
    };
    let in_flight = if rests { 0 } else { QUEUE + 1 };
    for (topic, publisher, subscribers) in ACCOUNTED {
        let counts = row(summary, "topics", "topic", topic);
        let losses = counts["losses"].as_object().expect("losses");
        // No subscriber is so slow that a publisher goes on without it.
        for cause in ["lapped", "keep_last", "timed_out"] {
            assert_eq!(losses[cause], 0, "{topic} lost messages: {cause}: {counts}");
        }
        // What a node has published before its device has written it is lost with the node, for
        // each subscriber: as many as wait for them at most.
        let of_publisher = deaths(publisher) * subscribers.len() as u64;
        let corrupt = count(&losses["corrupt"]);
        assert!(corrupt <= of_publisher * QUEUE, "{topic}: {corrupt} damaged: {counts}");
        let found = subscribers.iter().map(|name| taken(topic, name)).sum::<u64>()
            + losses.values().map(count).sum::<u64>()
            + if !rests && subscribers == [BOARD] { count(&counts["unheard"]) } else { 0 };
        let wanted = count(&counts["messages"]) * subscribers.len() as u64;
        let of_subscribers = subscribers.iter().map(|name| deaths(name) + in_flight).sum::<u64>();
        let may_differ = of_publisher + of_subscribers;
        let range = wanted.saturating_sub(may_differ)..=wanted + corrupt + may_differ;
        println!("{topic}: {found} of {wanted}, which may be {range:?}: {counts}");
        assert!(range.contains(&found), "{topic}: {found} of {wanted}, not {range:?}: {counts}");
    }
}
