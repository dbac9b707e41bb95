//! Quality of service of a plan as the transport has it.

use std::time::Duration;

use crossdock_comm::qos::INFINITE;
use crossdock_comm::{Durability, History, Liveliness, Qos, Reliability, WhenFull};

/// What a port of a plan asks the transport for. Does not block or allocate.
#[must_use]
pub fn transport_qos(plan: &crossdock_graph::Qos) -> Qos {
    let timeout = Duration::from_millis(plan.timeout_ms.into());
    let time = |ns| if ns == 0 { INFINITE } else { Duration::from_nanos(ns) };
    Qos {
        when_full: match plan.when_full {
            crossdock_graph::WhenFull::Wait => WhenFull::Wait,
            crossdock_graph::WhenFull::Overwrite => WhenFull::Overwrite,
        },
        reliability: match plan.reliability {
            crossdock_graph::Reliability::Reliable => Reliability::Reliable { timeout },
            crossdock_graph::Reliability::BestEffort => Reliability::BestEffort,
        },
        history: match plan.history {
            crossdock_graph::History::KeepLast => History::KeepLast,
            crossdock_graph::History::KeepAll => History::KeepAll,
        },
        depth: plan.depth as usize,
        durability: match plan.durability {
            crossdock_graph::Durability::Volatile => Durability::Volatile,
            crossdock_graph::Durability::TransientLocal => Durability::TransientLocal,
        },
        deadline: time(plan.deadline_ns),
        lifespan: time(plan.lifespan_ns),
        liveliness: match plan.liveliness {
            crossdock_graph::Liveliness::Automatic => Liveliness::Automatic,
            crossdock_graph::Liveliness::ManualByTopic => Liveliness::ManualByTopic,
        },
        lease: time(plan.lease_duration_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_comm::QosConflict;
    use crossdock_graph::QosPolicy;

    /// Everything that takes part in the matrix of offers and requests.
    fn all() -> Vec<crossdock_graph::Qos> {
        use crossdock_graph::{Durability::*, Liveliness::*, Qos, Reliability::*};
        let mut all = Vec::new();
        for reliability in [Reliable, BestEffort] {
            for durability in [Volatile, TransientLocal] {
                for deadline_ns in [0, 1_000, 2_000] {
                    for liveliness in [Automatic, ManualByTopic] {
                        for lease_duration_ns in [0, 1_000, 2_000] {
                            let base = Qos { reliability, durability, ..Qos::UNSAID };
                            all.push(Qos { deadline_ns, liveliness, lease_duration_ns, ..base });
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn the_check_of_a_graph_and_the_transport_refuse_the_same_pairs() {
        let all = all();
        for offered in &all {
            for requested in &all {
                let of_check = offered.conflicts_with(requested).next();
                let of_transport = transport_qos(offered).conflict_with(&transport_qos(requested));
                let same = of_check.map(|policy| match policy {
                    QosPolicy::Reliability => QosConflict::Reliability,
                    QosPolicy::Durability => QosConflict::Durability,
                    QosPolicy::Deadline => QosConflict::Deadline,
                    QosPolicy::Liveliness => QosConflict::Liveliness,
                    QosPolicy::LeaseDuration => QosConflict::Lease,
                });
                assert_eq!(same, of_transport, "{offered:?} for {requested:?}");
            }
        }
    }

    #[test]
    fn what_is_each_sides_own_arrives_as_well() {
        use crossdock_graph::{History as Keep, Qos as Planned, WhenFull as Full};
        let planned = Planned {
            history: Keep::KeepAll,
            depth: 9,
            lifespan_ns: 5_000_000,
            timeout_ms: 7,
            ..Planned::UNSAID
        };
        let qos = transport_qos(&planned);
        assert!(qos.keeps_all() && qos.waits());
        assert_eq!((qos.depth, qos.lifespan), (9, Duration::from_millis(5)));
        assert_eq!(qos.reliability, Reliability::Reliable { timeout: Duration::from_millis(7) });
        assert!(transport_qos(&Planned { when_full: Full::Overwrite, ..planned }).overwrites());
        assert_eq!(crossdock_graph::KEEP_ALL_DEPTH as usize, crossdock_comm::qos::KEEP_ALL_DEPTH);
    }
}
