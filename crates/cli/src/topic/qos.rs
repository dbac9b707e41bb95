//! The quality of service that options and profiles of ROS 2 stand for.

use crate::arguments::{
    DurabilityWord, HistoryWord, LivelinessWord, QosArguments, QosProfile, ReliabilityWord,
};
use crossdock_comm::{Durability, Liveliness, Qos};
use std::time::Duration;

/// How long a publisher that keeps all messages waits for a subscriber that is slow. One that keeps
/// the last overwrites them, as in ROS 2.
const PATIENCE: Duration = Duration::from_secs(1);

/// Depths of the profiles.
const DEFAULT_DEPTH: usize = 10;
const SENSOR_DEPTH: usize = 5;
const PARAMETER_DEPTH: usize = 1000;

const RELIABLE: Qos = Qos::reliable(DEFAULT_DEPTH, PATIENCE).overwriting();

impl QosProfile {
    /// What the profile means for a port; `best` is the most that fits the other side.
    fn qos(self, best: Qos) -> Qos {
        let deep = |depth| Qos { depth, ..RELIABLE };
        match self {
            Self::Default | Self::SystemDefault | Self::ServicesDefault => RELIABLE,
            Self::SensorData => Qos::best_effort(SENSOR_DEPTH),
            Self::Parameters | Self::ParameterEvents => deep(PARAMETER_DEPTH),
            Self::ActionStatusDefault => deep(1).transient_local(),
            Self::RosoutDefault => {
                deep(PARAMETER_DEPTH).transient_local().lifespan(Duration::from_secs(10))
            }
            Self::BestAvailable => best,
        }
    }
}

impl QosArguments {
    /// Whether anything was asked for.
    pub(super) fn is_given(&self) -> bool {
        self.qos_profile.is_some() || self.has_parts()
    }

    /// Whether parts of a profile were replaced.
    fn has_parts(&self) -> bool {
        self.qos_depth.is_some()
            || self.qos_history.is_some()
            || self.qos_reliability.is_some()
            || self.qos_durability.is_some()
            || self.qos_liveliness.is_some()
            || self.qos_liveliness_lease_duration_seconds.is_some()
    }

    /// What a publisher offers. The best available is what fits every subscriber.
    pub(super) fn offered(&self) -> Qos {
        let best = RELIABLE.transient_local();
        self.apply(self.qos_profile.unwrap_or(QosProfile::Default).qos(best), best)
    }

    /// What a subscriber requests of these publishers. As in `ros2 topic echo`, reliability and
    /// durability of a profile whose parts are not replaced are the most that all of them offer.
    pub(super) fn requested(&self, publishers: &[Qos]) -> Qos {
        let all = |has: fn(&Qos) -> bool| !publishers.is_empty() && publishers.iter().all(has);
        let Qos { depth, .. } = RELIABLE;
        let mut best = if all(Qos::is_reliable) { RELIABLE } else { Qos::best_effort(depth) };
        if all(Qos::is_transient_local) {
            best = best.transient_local();
        }
        let profile = self.qos_profile.unwrap_or(QosProfile::SensorData).qos(best);
        if self.has_parts() {
            return self.apply(profile, best);
        }
        let Qos { reliability, when_full, durability, .. } = best;
        Qos { reliability, when_full, durability, ..profile }
    }

    /// The profile with the parts that were replaced.
    fn apply(&self, profile: Qos, best: Qos) -> Qos {
        let mut qos = profile;
        match self.qos_reliability {
            None => {}
            Some(ReliabilityWord::Reliable | ReliabilityWord::SystemDefault) => {
                qos.reliability = RELIABLE.reliability;
            }
            Some(ReliabilityWord::BestEffort) => {
                qos.reliability = Qos::best_effort(1).reliability;
            }
            Some(ReliabilityWord::BestAvailable) => qos.reliability = best.reliability,
        }
        match self.qos_durability {
            None => {}
            Some(DurabilityWord::TransientLocal) => qos.durability = Durability::TransientLocal,
            Some(DurabilityWord::Volatile | DurabilityWord::SystemDefault) => {
                qos.durability = Durability::Volatile;
            }
            Some(DurabilityWord::BestAvailable) => qos.durability = best.durability,
        }
        match self.qos_liveliness {
            None => {}
            Some(LivelinessWord::ManualByTopic) => qos.liveliness = Liveliness::ManualByTopic,
            Some(_) => qos.liveliness = Liveliness::Automatic,
        }
        if let Some(seconds) = self.qos_liveliness_lease_duration_seconds {
            qos.lease = Duration::from_secs_f64(seconds);
        }
        qos = match self.qos_history {
            // One that keeps all waits.
            Some(HistoryWord::KeepAll) => {
                Qos { when_full: Qos::reliable(1, PATIENCE).when_full, ..qos }.keep_all()
            }
            _ if qos.is_reliable() => qos.overwriting(),
            _ => qos,
        };
        match self.qos_depth {
            Some(depth) => Qos { depth: depth as usize, ..qos },
            None => qos,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        qos: QosArguments,
    }

    fn of(line: &str) -> QosArguments {
        Line::try_parse_from(line.split_whitespace()).expect("options").qos
    }

    #[test]
    fn a_publisher_offers_what_its_options_and_profile_say() {
        let offered = |line: &str| of(line).offered().to_string();
        assert_eq!(offered("x"), "reliable, depth 10, volatile, overwrites");
        assert_eq!(offered("x --qos-profile sensor_data"), "best effort, depth 5, volatile");
        assert_eq!(
            offered("x --qos-profile sensor_data --qos-reliability reliable --qos-depth 3"),
            "reliable, depth 3, volatile, overwrites"
        );
        assert_eq!(
            offered("x --qos-profile action_status_default"),
            "reliable, depth 1, transient local, overwrites"
        );
        assert_eq!(offered("x --qos-history keep_all"), "reliable, keep all, volatile");
        assert_eq!(
            offered("x --qos-durability transient_local --qos-reliability best_effort"),
            "best effort, depth 10, transient local"
        );
        assert_eq!(
            offered("x --qos-profile best_available"),
            "reliable, depth 10, transient local, overwrites"
        );
        assert_eq!(
            offered(
                "x --qos-liveliness manual_by_topic --qos-liveliness-lease-duration-seconds 2.5"
            ),
            "reliable, depth 10, volatile, overwrites, liveliness by topic, lease 2.5s"
        );
        assert!(Line::try_parse_from(["x", "--qos-depth", "0"]).is_err());
    }

    #[test]
    fn a_subscriber_requests_the_most_that_all_publishers_offer_unless_it_is_told() {
        let latched = Qos::reliable(1, PATIENCE).transient_local();
        let plain = Qos::reliable(1, PATIENCE);
        let lossy = Qos::best_effort(1);
        let requested = |line: &str, offers: &[Qos]| {
            let qos = of(line).requested(offers);
            (qos.is_reliable(), qos.is_transient_local(), qos.depth)
        };
        let profile = "x --qos-profile default";
        assert_eq!(requested(profile, &[latched, latched]), (true, true, 10));
        assert_eq!(requested(profile, &[latched, plain]), (true, false, 10));
        assert_eq!(requested(profile, &[latched, lossy]), (false, false, 10));
        assert_eq!(requested(profile, &[]), (false, false, 10));
        assert_eq!(requested("x --qos-depth 7", &[latched]), (false, false, 7));
        let told = "x --qos-reliability reliable --qos-durability best_available";
        assert_eq!(requested(told, &[lossy, latched]), (true, false, 5));
        assert_eq!(requested(told, &[latched]), (true, true, 5));
        assert!(!of("x").is_given() && of(profile).is_given() && of(told).is_given());
    }
}
