//! What the project wants to reach, as quotients of rows of one run. Reported, never asserted: a
//! busy machine is not a defect.

use crate::control::{Mode, System};
use crate::coordinator::{Row, ratios};
use crate::machine::Cores;
use crate::plan::{FAN_OUT, Operation, WOKEN_EACH};
use serde::Serialize;

/// Two rows and how their p50 shall relate.
#[derive(Debug, Clone)]
struct Target {
    name: &'static str,
    ours: Find,
    theirs: Find,
    at_most: Option<f64>,
}

/// Describes one row.
#[derive(Debug, Clone, Copy)]
struct Find {
    operation: Operation,
    system: System,
    mode: Mode,
    cores: Cores,
    payload_bytes: usize,
    subscribers: usize,
    touched: bool,
}

/// How a target was met.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// What is compared.
    pub name: String,
    /// Which two systems.
    pub systems: [System; 2],
    /// p50 of both, where both were measured.
    pub p50_ns: Option<[f64; 2]>,
    /// Quotient of the two p50.
    pub ratio: Option<f64>,
    /// Median of the quotients of blocks that ran next to each other: less sensitive to drift.
    pub ratio_of_paired_blocks: Option<f64>,
    /// The largest quotient that is good enough; none: for comparison only.
    pub at_most: Option<f64>,
    /// Whether the quotient of the p50 is good enough.
    pub reached: Option<bool>,
}

const MIB: usize = 1 << 20;

const POLL_64: Find = Find {
    operation: Operation::OneWay,
    system: System::Crossdock,
    mode: Mode::Poll,
    cores: Cores::Different,
    payload_bytes: 64,
    subscribers: 1,
    touched: false,
};
const WAKE_SAME: Find = Find { mode: Mode::Wake, cores: Cores::Same, ..POLL_64 };
const WAKE_DIFFERENT: Find = Find { mode: Mode::Wake, ..POLL_64 };
const HAND_OVER: Find = Find { operation: Operation::HandOver, cores: Cores::Same, ..POLL_64 };
const EMPTY_POLL: Find = Find { operation: Operation::EmptyPoll, ..HAND_OVER };
const PUBLISH_128: Find =
    Find { operation: Operation::Publish, subscribers: 128, cores: Cores::Same, ..POLL_64 };
const ARMED_128: Find =
    Find { operation: Operation::PublishArmed, subscribers: 128, ..WAKE_DIFFERENT };
const PUBLISH_8_MIB: Find = Find { subscribers: 1, payload_bytes: 8 * MIB, ..PUBLISH_128 };
const ARMED_64: Find = Find { subscribers: WOKEN_EACH, ..ARMED_128 };
const LAST_OF_64: Find = Find { operation: Operation::LastOfArmed, ..ARMED_64 };
const POLL_1_MIB: Find = Find { payload_bytes: MIB, touched: true, ..POLL_64 };
const POLL_8_MIB: Find = Find { payload_bytes: 8 * MIB, ..POLL_1_MIB };
const WAKE_1_MIB: Find = Find { payload_bytes: MIB, touched: true, ..WAKE_SAME };
const WAKE_8_MIB: Find = Find { payload_bytes: 8 * MIB, ..WAKE_1_MIB };

fn all() -> Vec<Target> {
    use System::{
        Floor, FloorEach, FloorTree, FloorWord, Iceoryx2, Iceoryx2Listener, Iceoryx2Local,
        Iceoryx2Waitset,
    };
    let target = |name, ours: Find, system, at_most| Target {
        name,
        ours,
        theirs: Find { system, ..ours },
        at_most,
    };
    let stamped = Find { system: System::CrossdockStamped, ..HAND_OVER };
    let stamped_128 = Find { system: System::CrossdockStamped, ..PUBLISH_128 };
    let ring = Find { system: System::CrossdockRing, ..HAND_OVER };
    let spin = Find { system: System::CrossdockSpin, ..WAKE_DIFFERENT };
    vec![
        target("one way, busy poll, 64 B, two cores", POLL_64, Iceoryx2, Some(0.45)),
        target("one way, busy poll, 64 B, two cores", POLL_64, FloorWord, Some(2.0)),
        target("one way, busy poll, 64 B, two cores", POLL_64, Floor, None),
        target("sleeping subscriber, 64 B, one core", WAKE_SAME, Iceoryx2Waitset, Some(0.45)),
        target("sleeping subscriber, 64 B, one core", WAKE_SAME, Iceoryx2Listener, None),
        target("sleeping subscriber, 64 B, one core", WAKE_SAME, Floor, Some(1.2)),
        target("sleeping subscriber, 64 B, two cores", WAKE_DIFFERENT, Iceoryx2Waitset, None),
        target("sleeping subscriber, 64 B, two cores", WAKE_DIFFERENT, Iceoryx2Listener, None),
        target("sleeping subscriber, 64 B, two cores", WAKE_DIFFERENT, Floor, Some(1.2)),
        target("spin before sleep, 64 B, two cores", spin, Iceoryx2Waitset, None),
        target("spin before sleep, 64 B, two cores", spin, Floor, None),
        target("publish, 128 subscribers, not armed", PUBLISH_128, Iceoryx2, Some(1.0 / 250.0)),
        target("the same with the stamp given", stamped_128, Iceoryx2, None),
        target("publish, 64 sleepers: the wakes that it makes", ARMED_64, FloorTree, Some(1.2)),
        target("the last of 64 sleepers", LAST_OF_64, FloorEach, Some(1.0)),
        target("the last of 64 sleepers", LAST_OF_64, FloorTree, None),
        Target {
            name: "publish 8 MiB, 200 subscribers of 1, not armed",
            ours: Find { subscribers: FAN_OUT, ..PUBLISH_8_MIB },
            theirs: PUBLISH_8_MIB,
            at_most: Some(1.2),
        },
        target("publish, 128 sleepers", ARMED_128, Iceoryx2Waitset, None),
        target("publish, 128 sleepers", ARMED_128, Floor, None),
        target("1 MiB written and read, busy poll", POLL_1_MIB, Iceoryx2, Some(1.05)),
        target("8 MiB written and read, busy poll", POLL_8_MIB, Iceoryx2, Some(1.05)),
        target("1 MiB written and read, one core", WAKE_1_MIB, Iceoryx2Waitset, Some(1.05)),
        target("8 MiB written and read, one core", WAKE_8_MIB, Iceoryx2Waitset, Some(1.05)),
        target("publish + take + drop, one thread", HAND_OVER, Iceoryx2, Some(0.2)),
        target("publish + take + drop, one thread", HAND_OVER, Iceoryx2Local, None),
        target("the same with the stamp given", stamped, Iceoryx2, None),
        target("the same through the ring", ring, Iceoryx2, None),
        target("take where nothing is", EMPTY_POLL, Iceoryx2, None),
    ]
}

impl Find {
    fn among(self, rows: &[Row]) -> Option<&Row> {
        rows.iter().find(|row| {
            row.operation == self.operation
                && row.system == self.system
                && row.mode == self.mode
                && row.cores == self.cores
                && row.payload_bytes == self.payload_bytes
                && row.subscribers == self.subscribers
                && row.touched == self.touched
        })
    }
}

/// Judges every target, also those whose rows are missing.
pub fn judge(rows: &[Row]) -> Vec<Verdict> {
    let verdict = |target: Target| {
        let found = target.ours.among(rows).zip(target.theirs.among(rows));
        let quotients = found.map(|(ours, theirs)| ratios(ours, theirs));
        let ratio = quotients.map(|(ratio, _)| ratio);
        Verdict {
            name: target.name.to_owned(),
            systems: [target.ours.system, target.theirs.system],
            p50_ns: found
                .map(|(ours, theirs)| [ours.percentiles.p50_ns, theirs.percentiles.p50_ns]),
            ratio,
            ratio_of_paired_blocks: quotients.and_then(|(_, paired)| paired),
            at_most: target.at_most,
            reached: ratio.zip(target.at_most).map(|(ratio, most)| ratio <= most),
        }
    };
    all().into_iter().map(verdict).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::samples::Percentiles;

    pub(crate) fn row(find: (Operation, System, Mode, Cores), p50_ns: f64) -> Row {
        let (operation, system, mode, cores) = find;
        Row {
            operation,
            system,
            mode,
            cores,
            payload_bytes: 64,
            subscribers: 1,
            touched: false,
            percentiles: Percentiles { p50_ns, p99_ns: p50_ns, p999_ns: p50_ns, max_ns: p50_ns },
            cpu_ns_per_msg: Some(p50_ns),
            context_switches_per_msg: None,
            samples: 1,
            operations_per_sample: 1.0,
            block_p50_ns: vec![p50_ns],
        }
    }

    pub(crate) fn hand_over(system: System, p50_ns: f64) -> Row {
        row((Operation::HandOver, system, Mode::Poll, Cores::Same), p50_ns)
    }

    #[test]
    fn a_target_is_judged_by_the_quotient_of_two_rows_of_the_run() {
        for (ours, reached) in [(20.0, true), (21.0, false)] {
            let rows = [hand_over(System::Crossdock, ours), hand_over(System::Iceoryx2, 100.0)];
            let found = judge(&rows);
            let judged: Vec<&Verdict> =
                found.iter().filter(|verdict| verdict.reached.is_some()).collect();
            assert_eq!(judged.len(), 1);
            assert_eq!(judged[0].reached, Some(reached));
            assert_eq!(judged[0].ratio_of_paired_blocks, Some(ours / 100.0));
        }
    }

    #[test]
    fn a_target_without_rows_is_kept_and_not_judged() {
        assert!(judge(&[]).iter().all(|verdict| verdict.ratio.is_none()));
        assert_eq!(judge(&[]).len(), all().len());
    }
}
