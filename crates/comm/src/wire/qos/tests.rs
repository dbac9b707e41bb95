//! The matrix of offers and requests, held against ROS 2's documentation ("About Quality of Service
//! settings", section "QoS compatibilities"): its tables, row by row.

use super::*;

const ANY: Qos = Qos::best_effort(1);
const RELIABLE: Qos = Qos::reliable(1, Duration::from_secs(1));
const X: Duration = Duration::from_millis(100);
/// Larger than `X`.
const Y: Duration = Duration::from_millis(101);

/// What a table says of an offer and a request, and the policy that it is about.
#[track_caller]
fn row(offered: Qos, requested: Qos, compatible: bool, policy: QosConflict) {
    let expected = (!compatible).then_some(policy);
    assert_eq!(offered.conflict_with(&requested), expected, "{offered} for {requested}");
}

#[test]
fn reliability_and_durability_fit_as_ros_2_says() {
    row(ANY, ANY, true, QosConflict::Reliability);
    row(ANY, RELIABLE, false, QosConflict::Reliability);
    row(RELIABLE, ANY, true, QosConflict::Reliability);
    row(RELIABLE, RELIABLE, true, QosConflict::Reliability);
    let latched = ANY.transient_local();
    row(ANY, ANY, true, QosConflict::Durability);
    row(ANY, latched, false, QosConflict::Durability);
    row(latched, ANY, true, QosConflict::Durability);
    row(latched, latched, true, QosConflict::Durability);
}

#[test]
fn deadline_and_lease_fit_as_ros_2_says() {
    // "Default" of the tables is unspecified or infinite.
    let table = |with: fn(Duration) -> Qos, policy| {
        for default in [Duration::ZERO, INFINITE, Duration::from_nanos(i64::MAX as u64)] {
            for other in [Duration::ZERO, INFINITE] {
                row(with(default), with(other), true, policy);
            }
            row(with(default), with(X), false, policy);
            row(with(X), with(default), true, policy);
        }
        row(with(X), with(X), true, policy);
        row(with(X), with(Y), true, policy);
        row(with(Y), with(X), false, policy);
    };
    table(|deadline| ANY.deadline(deadline), QosConflict::Deadline);
    table(|lease| ANY.liveliness(Liveliness::Automatic, lease), QosConflict::Lease);
    table(|lease| ANY.liveliness(Liveliness::ManualByTopic, lease), QosConflict::Lease);
}

#[test]
fn kinds_of_liveliness_fit_as_ros_2_says() {
    let automatic = ANY.liveliness(Liveliness::Automatic, X);
    let manual = ANY.liveliness(Liveliness::ManualByTopic, X);
    row(automatic, automatic, true, QosConflict::Liveliness);
    row(automatic, manual, false, QosConflict::Liveliness);
    row(manual, automatic, true, QosConflict::Liveliness);
    row(manual, manual, true, QosConflict::Liveliness);
}

/// All combinations at once: a pair fits exactly if it fits in each policy alone.
#[test]
fn policies_do_not_touch_each_other() {
    let mut all = Vec::new();
    for reliable in [ANY, RELIABLE] {
        for durable in [reliable, reliable.transient_local()] {
            for deadline in [INFINITE, X, Y] {
                for kind in [Liveliness::Automatic, Liveliness::ManualByTopic] {
                    for lease in [Duration::ZERO, X, Y] {
                        all.push(durable.deadline(deadline).liveliness(kind, lease));
                    }
                }
            }
        }
    }
    let rank = |duration: Duration| limit(duration).unwrap_or(INFINITE);
    for offered in &all {
        for requested in &all {
            let fits = offered.is_reliable() >= requested.is_reliable()
                && offered.is_transient_local() >= requested.is_transient_local()
                && rank(offered.deadline) <= rank(requested.deadline)
                && (offered.liveliness as u8) >= (requested.liveliness as u8)
                && rank(offered.lease) <= rank(requested.lease);
            assert_eq!(offered.conflict_with(requested).is_none(), fits, "{offered}; {requested}");
        }
    }
}

/// "History, depth and lifespan have no part in compatibility."
#[test]
fn history_depth_lifespan_and_overwriting_are_each_sides_own() {
    let own = [Qos::best_effort(1000), ANY.keep_all(), ANY.lifespan(X), ANY.overwriting()];
    for offered in own {
        for requested in own {
            assert_eq!(offered.conflict_with(&requested), None);
        }
    }
}

#[test]
fn only_a_publisher_that_keeps_the_last_overwrites() {
    assert_eq!(RELIABLE.overwriting().contradiction(), None);
    assert_eq!(RELIABLE.keep_all().contradiction(), None);
    assert!(RELIABLE.keep_all().overwriting().contradiction().is_some());
}

#[test]
fn the_text_names_what_is_not_usual() {
    assert_eq!(RELIABLE.to_string(), "reliable, depth 1, volatile");
    let all = RELIABLE.keep_all().deadline(X).lifespan(Y);
    let all = all.liveliness(Liveliness::ManualByTopic, Duration::from_secs(2));
    assert_eq!(
        all.to_string(),
        "reliable, keep all, volatile, deadline 100ms, lifespan 101ms, liveliness by topic, \
         lease 2s"
    );
    assert!(RELIABLE.overwriting().to_string().ends_with(", overwrites"));
    assert!(!ANY.overwriting().to_string().contains("overwrites"));
}
