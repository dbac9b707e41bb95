//! Quality of service between rmw's structs and comm's.

use crate::abi::shared::{
    QosProfile, RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE,
    RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL, RMW_QOS_POLICY_DURABILITY_VOLATILE,
    RMW_QOS_POLICY_HISTORY_KEEP_ALL, RMW_QOS_POLICY_HISTORY_KEEP_LAST,
    RMW_QOS_POLICY_LIVELINESS_AUTOMATIC, RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE,
    RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC, RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE,
    RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT, RMW_QOS_POLICY_RELIABILITY_RELIABLE, Time,
};
use crate::failure::Failure;
use crossdock_comm::qos::{DEPTH_MAX, KEEP_ALL_DEPTH};
use crossdock_comm::{Durability, History, Liveliness, Qos, QosConflict, Reliability, WhenFull};
use std::time::Duration;

/// `..._SYSTEM_DEFAULT` of every policy.
const SYSTEM_DEFAULT: u32 = 0;
/// The depth of a profile that leaves it to the middleware.
const DEPTH: usize = 1;
/// How long a publisher that keeps all waits for a slow subscriber, as in DDS.
const BLOCKING_MAX: Duration = Duration::from_millis(100);

/// Which end of a topic a profile is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Publisher,
    Subscription,
}

/// What a profile means for a port, and the profile with every policy decided.
pub(crate) fn decide(profile: &QosProfile, end: End) -> Result<(Qos, QosProfile), Failure> {
    let actual = resolved(profile, end)?;
    Ok((of_resolved(&actual, end), actual))
}

/// The profiles of a service's requests and responses with every policy decided, for one side of
/// the service: what it is to each of the two topics.
pub(crate) fn decide_service(
    profile: &QosProfile,
    requests: End,
    responses: End,
) -> Result<[QosProfile; 2], Failure> {
    Ok([resolved(profile, requests)?, resolved(profile, responses)?])
}

/// `RMW_QOS_DEADLINE_BEST_AVAILABLE`, and the same of a lease.
const BEST_LIMIT: Time = Time { sec: INFINITE.sec, nsec: INFINITE.nsec - 1 };

fn is_best(limit: Time) -> bool {
    (limit.sec, limit.nsec) == (BEST_LIMIT.sec, BEST_LIMIT.nsec)
}

/// Whether a policy of the profile follows the ports on the other side of the topic.
pub(crate) fn follows_others(profile: &QosProfile) -> bool {
    profile.reliability == RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE
        || profile.durability == RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE
        || profile.liveliness == RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE
        || is_best(profile.deadline)
        || is_best(profile.liveliness_lease_duration)
}

/// The profile of a port whose best available policies follow the ports on the other side that are
/// there: a subscription requests as much as all publishers offer, a publisher offers as much as
/// any subscription requests.
pub(crate) fn best_available(profile: &QosProfile, end: End, others: &[Qos]) -> QosProfile {
    let mut best = *profile;
    let all = |is: fn(&Qos) -> bool| !others.is_empty() && others.iter().all(is);
    // A publisher offers the most of these two anyway.
    if end == End::Subscription {
        if best.reliability == RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE && all(Qos::is_reliable) {
            best.reliability = RMW_QOS_POLICY_RELIABILITY_RELIABLE;
        }
        if best.durability == RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE
            && all(Qos::is_transient_local)
        {
            best.durability = RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL;
        }
    }
    let is_manual: fn(&Qos) -> bool = |qos| qos.liveliness == Liveliness::ManualByTopic;
    let wants_manual = match end {
        End::Subscription => all(is_manual),
        End::Publisher => others.iter().any(is_manual),
    };
    if best.liveliness == RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE && wants_manual {
        best.liveliness = RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC;
    }
    let limit = |of: fn(&Qos) -> Duration| {
        let limits = others.iter().map(of);
        let limits = limits.map(|it| crossdock_comm::qos::limit(it).unwrap_or(Duration::MAX));
        let found = match end {
            End::Subscription => limits.max(),
            End::Publisher => limits.min(),
        };
        time(found.unwrap_or(Duration::MAX))
    };
    if is_best(best.deadline) {
        best.deadline = limit(|qos| qos.deadline);
    }
    if is_best(best.liveliness_lease_duration) {
        best.liveliness_lease_duration = limit(|qos| qos.lease);
    }
    best
}

fn resolved(profile: &QosProfile, end: End) -> Result<QosProfile, Failure> {
    let unknown = |what| Failure::Argument { name: "qos_policies", what };
    let history = match profile.history {
        SYSTEM_DEFAULT | RMW_QOS_POLICY_HISTORY_KEEP_LAST => RMW_QOS_POLICY_HISTORY_KEEP_LAST,
        RMW_QOS_POLICY_HISTORY_KEEP_ALL => RMW_QOS_POLICY_HISTORY_KEEP_ALL,
        _ => return Err(unknown("the history is none that ROS 2 knows")),
    };
    // Best available: a publisher offers as much as it can, a subscription takes what comes, unless
    // it knows better.
    let reliability = match (profile.reliability, end) {
        (SYSTEM_DEFAULT | RMW_QOS_POLICY_RELIABILITY_RELIABLE, _)
        | (RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE, End::Publisher) => {
            RMW_QOS_POLICY_RELIABILITY_RELIABLE
        }
        (RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT, _)
        | (RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE, End::Subscription) => {
            RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT
        }
        _ => return Err(unknown("the reliability is none that ROS 2 knows")),
    };
    let durability = match (profile.durability, end) {
        (RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL, _)
        | (RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE, End::Publisher) => {
            RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL
        }
        (SYSTEM_DEFAULT | RMW_QOS_POLICY_DURABILITY_VOLATILE, _)
        | (RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE, End::Subscription) => {
            RMW_QOS_POLICY_DURABILITY_VOLATILE
        }
        _ => return Err(unknown("the durability is none that ROS 2 knows")),
    };
    let liveliness = match profile.liveliness {
        SYSTEM_DEFAULT
        | RMW_QOS_POLICY_LIVELINESS_AUTOMATIC
        | RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE => RMW_QOS_POLICY_LIVELINESS_AUTOMATIC,
        RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC => RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC,
        _ => return Err(unknown("the liveliness is none that rmw_crossdock knows")),
    };
    let depth = if profile.depth == 0 { DEPTH } else { profile.depth.min(DEPTH_MAX) };
    // One that follows an unknown other side is none.
    let decided = |limit| if is_best(limit) { INFINITE } else { time(duration(limit)) };
    Ok(QosProfile {
        history,
        depth,
        reliability,
        durability,
        liveliness,
        deadline: decided(profile.deadline),
        lifespan: decided(profile.lifespan),
        liveliness_lease_duration: decided(profile.liveliness_lease_duration),
        ..*profile
    })
}

fn of_resolved(profile: &QosProfile, end: End) -> Qos {
    let keeps_all = profile.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL;
    let is_reliable = profile.reliability == RMW_QOS_POLICY_RELIABILITY_RELIABLE;
    // A publisher of ROS that keeps the last messages waits for nobody.
    let overwrites = end == End::Publisher && is_reliable && !keeps_all;
    Qos {
        reliability: match is_reliable {
            true => Reliability::Reliable { timeout: BLOCKING_MAX },
            false => Reliability::BestEffort,
        },
        when_full: if overwrites { WhenFull::Overwrite } else { WhenFull::Wait },
        history: if keeps_all { History::KeepAll } else { History::KeepLast },
        depth: if keeps_all { KEEP_ALL_DEPTH } else { profile.depth },
        durability: match profile.durability {
            RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL => Durability::TransientLocal,
            _ => Durability::Volatile,
        },
        deadline: duration(profile.deadline),
        lifespan: duration(profile.lifespan),
        liveliness: match profile.liveliness {
            RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC => Liveliness::ManualByTopic,
            _ => Liveliness::Automatic,
        },
        lease: duration(profile.liveliness_lease_duration),
    }
}

/// A duration of rmw; what is too long becomes the longest.
pub(crate) fn duration(time: Time) -> Duration {
    Duration::from_secs(time.sec).saturating_add(Duration::from_nanos(time.nsec))
}

/// The profile of a port of the graph.
pub(crate) fn profile_of(qos: &Qos) -> QosProfile {
    QosProfile {
        history: match qos.history {
            History::KeepLast => RMW_QOS_POLICY_HISTORY_KEEP_LAST,
            History::KeepAll => RMW_QOS_POLICY_HISTORY_KEEP_ALL,
        },
        depth: qos.depth,
        reliability: match qos.is_reliable() {
            true => RMW_QOS_POLICY_RELIABILITY_RELIABLE,
            false => RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT,
        },
        durability: match qos.is_transient_local() {
            true => RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL,
            false => RMW_QOS_POLICY_DURABILITY_VOLATILE,
        },
        deadline: time(qos.deadline),
        lifespan: time(qos.lifespan),
        liveliness: match qos.liveliness {
            Liveliness::Automatic => RMW_QOS_POLICY_LIVELINESS_AUTOMATIC,
            Liveliness::ManualByTopic => RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC,
        },
        liveliness_lease_duration: time(qos.lease),
        avoid_ros_namespace_conventions: false,
    }
}

/// `RMW_DURATION_INFINITE`.
const INFINITE: Time = Time { sec: 9_223_372_036, nsec: 854_775_807 };

/// A duration as rmw has it; one without limit as `RMW_DURATION_INFINITE`.
fn time(duration: Duration) -> Time {
    let limit = crossdock_comm::qos::limit(duration);
    limit.map_or(INFINITE, |it| Time { sec: it.as_secs(), nsec: u64::from(it.subsec_nanos()) })
}

/// `rmw_qos_policy_kind_t`: a bit for each policy.
pub(crate) const fn policy_kind(conflict: QosConflict) -> u32 {
    match conflict {
        QosConflict::Durability => 1 << 1,
        QosConflict::Deadline => 1 << 2,
        // As in DDS, the lease is a part of the liveliness.
        QosConflict::Liveliness | QosConflict::Lease => 1 << 3,
        QosConflict::Reliability => 1 << 4,
    }
}

/// Whether two profiles fit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    /// It depends on what the middleware decides.
    Open(&'static str),
    No(QosConflict),
}

/// Whether a publisher with one profile serves a subscription with the other one.
pub(crate) fn fit(offered: &QosProfile, requested: &QosProfile) -> Fit {
    let (Ok((publisher, _)), Ok((subscription, _))) =
        (decide(offered, End::Publisher), decide(requested, End::Subscription))
    else {
        return Fit::Open("a policy is unknown");
    };
    if let Some(conflict) = publisher.conflict_with(&subscription) {
        return Fit::No(conflict);
    }
    let is_open = |profile: &QosProfile| {
        [profile.reliability, profile.durability, profile.liveliness]
            .iter()
            .zip([
                RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE,
                RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE,
                RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE,
            ])
            .any(|(policy, best)| *policy == SYSTEM_DEFAULT || *policy == best)
    };
    if is_open(offered) || is_open(requested) {
        return Fit::Open("a policy is left to the middleware");
    }
    Fit::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Time = Time { sec: 0, nsec: 0 };
    const DEFAULT: QosProfile = QosProfile {
        history: RMW_QOS_POLICY_HISTORY_KEEP_LAST,
        depth: 10,
        reliability: RMW_QOS_POLICY_RELIABILITY_RELIABLE,
        durability: RMW_QOS_POLICY_DURABILITY_VOLATILE,
        deadline: NONE,
        lifespan: NONE,
        liveliness: RMW_QOS_POLICY_LIVELINESS_AUTOMATIC,
        liveliness_lease_duration: NONE,
        avoid_ros_namespace_conventions: false,
    };

    #[test]
    fn a_reliable_publisher_overwrites_unless_it_keeps_all() {
        let (qos, actual) = decide(&DEFAULT, End::Publisher).unwrap();
        assert!(qos.overwrites());
        assert_eq!((qos.depth, actual.depth), (10, 10));
        let all = QosProfile { history: RMW_QOS_POLICY_HISTORY_KEEP_ALL, ..DEFAULT };
        assert!(decide(&all, End::Publisher).unwrap().0.waits());
    }

    #[test]
    fn what_is_left_to_the_middleware_is_decided() {
        let open = QosProfile {
            history: 0,
            depth: 0,
            reliability: 0,
            durability: 0,
            liveliness: 0,
            ..DEFAULT
        };
        for end in [End::Publisher, End::Subscription] {
            let (_, actual) = decide(&open, end).unwrap();
            let policies =
                [actual.history, actual.reliability, actual.durability, actual.liveliness];
            assert!(policies.iter().all(|policy| *policy != 0), "{actual:?}");
            assert_eq!(actual.depth, 1);
            let limits = [actual.deadline, actual.lifespan, actual.liveliness_lease_duration];
            assert!(limits.iter().all(|it| (it.sec, it.nsec) == (INFINITE.sec, INFINITE.nsec)));
        }
        assert_eq!(fit(&open, &DEFAULT), Fit::Open("a policy is left to the middleware"));
    }

    #[test]
    fn a_subscription_requests_the_best_that_all_publishers_offer() {
        let open = QosProfile {
            reliability: RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE,
            durability: RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE,
            ..DEFAULT
        };
        let (reliable, best_effort) = (Qos::reliable(1, BLOCKING_MAX), Qos::best_effort(1));
        for (offers, wanted) in [
            (&[][..], (false, false)),
            (&[reliable][..], (true, false)),
            (&[reliable.transient_local()][..], (true, true)),
            (&[reliable, best_effort][..], (false, false)),
        ] {
            let (qos, _) = {
                let best = best_available(&open, End::Subscription, offers);
                decide(&best, End::Subscription).unwrap()
            };
            assert_eq!((qos.is_reliable(), qos.is_transient_local()), wanted);
        }
    }

    #[test]
    fn limits_that_are_left_open_follow_the_other_side() {
        let open = QosProfile {
            liveliness: RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE,
            deadline: BEST_LIMIT,
            liveliness_lease_duration: BEST_LIMIT,
            ..DEFAULT
        };
        let automatic = Qos { deadline: Duration::from_secs(1), ..Qos::best_effort(1) };
        let manual = Qos {
            liveliness: Liveliness::ManualByTopic,
            deadline: Duration::from_secs(2),
            lease: Duration::from_secs(3),
            ..automatic
        };
        let endless = INFINITE.sec;
        for (end, others, (is_manual, deadline_s, lease_s)) in [
            (End::Subscription, &[][..], (false, endless, endless)),
            (End::Subscription, &[manual], (true, 2, 3)),
            (End::Subscription, &[manual, automatic], (false, 2, endless)),
            (End::Publisher, &[], (false, endless, endless)),
            (End::Publisher, &[manual, automatic], (true, 1, 3)),
        ] {
            assert!(follows_others(&open));
            let (qos, actual) = decide(&best_available(&open, end, others), end).unwrap();
            assert_eq!(qos.liveliness == Liveliness::ManualByTopic, is_manual);
            let found = (actual.deadline.sec, actual.liveliness_lease_duration.sec);
            assert_eq!(found, (deadline_s, lease_s));
        }
        assert!(!follows_others(&DEFAULT));
    }

    #[test]
    fn unknown_policies_are_refused_and_conflicts_named() {
        let unknown = QosProfile { reliability: 3, ..DEFAULT };
        assert!(decide(&unknown, End::Publisher).is_err());
        let best_effort =
            QosProfile { reliability: RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT, ..DEFAULT };
        assert_eq!(fit(&best_effort, &DEFAULT), Fit::No(QosConflict::Reliability));
        assert_eq!(fit(&DEFAULT, &best_effort), Fit::Yes);
        let lease =
            |sec| QosProfile { liveliness_lease_duration: Time { sec, nsec: 0 }, ..DEFAULT };
        assert_eq!(fit(&lease(2), &lease(1)), Fit::No(QosConflict::Lease));
        // `RMW_QOS_POLICY_LIVELINESS`: DDS has no other word for it.
        assert_eq!(policy_kind(QosConflict::Lease), policy_kind(QosConflict::Liveliness));
        let endless = Time { sec: u64::MAX, nsec: u64::MAX };
        assert_eq!(crossdock_comm::qos::limit(duration(endless)), None);
    }
}
