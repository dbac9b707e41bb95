//! The matrix of offers and requests, held against ROS 2's documentation ("About Quality of Service
//! settings", section "QoS compatibilities"): its tables, row by row.

use super::*;

const ANY: Qos = Qos { reliability: Reliability::BestEffort, ..Qos::UNSAID };
const DEFAULT: u64 = 0;
const X: u64 = 100_000_000;
/// Larger than `X`.
const Y: u64 = 101_000_000;

/// What a table says of an offer and a request, and the policy that it is about.
#[track_caller]
fn row(offered: Qos, requested: Qos, compatible: bool, policy: QosPolicy) {
    let expected: &[QosPolicy] = if compatible { &[] } else { &[policy] };
    let found: Vec<_> = offered.conflicts_with(&requested).collect();
    assert_eq!(found, expected, "{offered:?} for {requested:?}");
}

#[test]
fn every_row_of_ros_2s_tables_is_kept() {
    let reliable = Qos::UNSAID;
    let latched = Qos { durability: Durability::TransientLocal, ..ANY };
    let manual = Qos { liveliness: Liveliness::ManualByTopic, ..ANY };
    for (offered, requested, compatible, policy) in [
        (ANY, ANY, true, QosPolicy::Reliability),
        (ANY, reliable, false, QosPolicy::Reliability),
        (reliable, ANY, true, QosPolicy::Reliability),
        (reliable, reliable, true, QosPolicy::Reliability),
        (ANY, latched, false, QosPolicy::Durability),
        (latched, ANY, true, QosPolicy::Durability),
        (latched, latched, true, QosPolicy::Durability),
        (ANY, manual, false, QosPolicy::Liveliness),
        (manual, ANY, true, QosPolicy::Liveliness),
        (manual, manual, true, QosPolicy::Liveliness),
    ] {
        row(offered, requested, compatible, policy);
    }
    for (offered, requested, compatible) in [
        (DEFAULT, DEFAULT, true),
        (DEFAULT, X, false),
        (X, DEFAULT, true),
        (X, X, true),
        (X, Y, true),
        (Y, X, false),
    ] {
        let deadline = |deadline_ns| Qos { deadline_ns, ..ANY };
        row(deadline(offered), deadline(requested), compatible, QosPolicy::Deadline);
        let lease = |lease_duration_ns| Qos { lease_duration_ns, ..ANY };
        row(lease(offered), lease(requested), compatible, QosPolicy::LeaseDuration);
        let lease = |lease_duration_ns| Qos { lease_duration_ns, ..manual };
        row(lease(offered), lease(requested), compatible, QosPolicy::LeaseDuration);
    }
}

#[test]
fn history_depth_and_lifespan_are_each_sides_own() {
    let all = Qos { history: History::KeepAll, ..ANY };
    let own = [ANY, all, Qos { depth: 1000, ..ANY }, Qos { lifespan_ns: X, ..ANY }];
    for offered in own {
        for requested in own {
            assert_eq!(offered.conflicts_with(&requested).count(), 0);
        }
    }
}

#[test]
fn one_that_keeps_all_has_a_depth_of_its_own_unless_one_is_said() {
    let history = |history| QosRequest { history: Some(history), ..QosRequest::default() };
    let all = history(History::KeepAll).over(Qos::UNSAID);
    assert_eq!((all.history, all.depth), (History::KeepAll, KEEP_ALL_DEPTH));
    assert_eq!(QosRequest::default().over(all).depth, KEEP_ALL_DEPTH);
    assert_eq!(history(History::KeepLast).over(all).depth, 4);
    let said = QosRequest { depth: Some(9), ..history(History::KeepAll) };
    assert_eq!(said.over(Qos::UNSAID).depth, 9);
    assert_eq!(history(History::KeepAll).over(said.over(Qos::UNSAID)).depth, 9);
}
