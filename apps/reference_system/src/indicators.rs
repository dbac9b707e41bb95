//! The reference system's own performance indicators, from the messages of a run.
//!
//! Pure. Processor time, memory and losses are the product's to tell.

use crate::passage::Passage;
use serde::Serialize;
use std::fmt::Write;

/// Nodes whose missed messages count as drops of the hot path.
pub(crate) const HOT_PATH: [&str; 8] = [
    "front_lidar_driver",
    "rear_lidar_driver",
    "points_transformer_front",
    "points_transformer_rear",
    "point_cloud_fusion",
    "ray_ground_filter",
    "euclidean_cluster_detector",
    "object_collision_estimator",
];
/// Nodes that begin it, and the one that ends it.
const FRONT_LIDAR: &str = HOT_PATH[0];
const ROOTS: [&str; 2] = [HOT_PATH[0], HOT_PATH[1]];
const SINK: &str = HOT_PATH[7];
/// The node that should be as cyclical as possible.
const PLANNER: &str = "behavior_planner";

/// A message for the indicators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    /// The nodes that it has passed.
    pub(crate) passages: Vec<Passage>,
    /// When it was published, ns.
    pub(crate) published_ns: u64,
}

/// What a recording holds.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// Messages of the node that ends the hot path, in order.
    pub(crate) estimates: Vec<Arrival>,
    /// Messages of the behaviour planner, in order.
    pub(crate) plans: Vec<Arrival>,
}

/// Of a set of times, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Their number.
    pub count: usize,
    /// The shortest.
    pub min_ns: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Half of them are no longer.
    pub p50_ns: u64,
    /// 99 % of them are no longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Standard deviation (of a sample).
    pub deviation_ns: f64,
}

impl Spread {
    /// `None` without times.
    fn of(mut times_ns: Vec<u64>) -> Option<Self> {
        times_ns.sort_unstable();
        let (count, last) = (times_ns.len(), *times_ns.last()?);
        let mean_ns = times_ns.iter().map(|time| *time as f64).sum::<f64>() / count as f64;
        let squares = times_ns.iter().map(|time| (*time as f64 - mean_ns).powi(2)).sum::<f64>();
        let rank = |share: f64| (share * count as f64).ceil() as usize;
        let at = |share: f64| times_ns[rank(share).clamp(1, count) - 1];
        Some(Self {
            count,
            min_ns: times_ns[0],
            mean_ns,
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            max_ns: last,
            deviation_ns: (squares / count.saturating_sub(1).max(1) as f64).sqrt(),
        })
    }
}

/// The performance indicators of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Indicators {
    /// From the later release of the two lidars that a message of the object collision estimator
    /// goes back to, until that node begins to work on it: the reference system's own measure.
    pub hot_path: Option<Spread>,
    /// The same until the node publishes, which its own work is part of.
    pub hot_path_until_published: Option<Spread>,
    /// Messages that nodes of the hot path have missed.
    pub hot_path_drops: u64,
    /// Messages of the front lidar, from the first to the last one that is seen.
    pub front_lidar_samples: u64,
    /// How many of them led to no message of the object collision estimator.
    pub front_lidar_without_update: u64,
    /// From one execution of the behaviour planner to the next.
    pub behavior_planner_period: Option<Spread>,
}

impl Indicators {
    /// Evaluates everything but the first `skip` messages of each kind, in which a start may show.
    #[must_use]
    pub fn of(arrivals: &Arrivals, skip: usize) -> Self {
        let estimates = arrivals.estimates.get(skip..).unwrap_or_default();
        let plans = arrivals.plans.get(skip..).unwrap_or_default();
        let (mut begun, mut published, mut lidar) = (Vec::new(), Vec::new(), Vec::new());
        let mut drops = 0;
        for estimate in estimates {
            let of = |node: &str| estimate.passages.iter().find(|it| it.node == node);
            let release = ROOTS.iter().filter_map(|root| Some(of(root)?.timestamp_ns)).max();
            if let (Some(release_ns), Some(sink)) = (release, of(SINK)) {
                begun.push(sink.timestamp_ns.saturating_sub(release_ns));
                published.push(estimate.published_ns.saturating_sub(release_ns));
            }
            let hot = estimate.passages.iter().filter(|it| HOT_PATH.contains(&it.node.as_str()));
            drops += hot.map(|passage| u64::from(passage.dropped)).sum::<u64>();
            lidar.extend(of(FRONT_LIDAR).map(|passage| passage.sequence_number));
        }
        lidar.dedup();
        let samples = match (lidar.first(), lidar.last()) {
            (Some(first), Some(last)) => u64::from(last.saturating_sub(*first)) + 1,
            _ => 0,
        };
        Self {
            hot_path: Spread::of(begun),
            hot_path_until_published: Spread::of(published),
            hot_path_drops: drops,
            front_lidar_samples: samples,
            front_lidar_without_update: samples.saturating_sub(lidar.len() as u64),
            behavior_planner_period: Spread::of(periods(plans)),
        }
    }

    /// As a table, with a final line break.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from(
            "milliseconds                            count      min     mean      p50      p99      \
             max  deviation\n",
        );
        let rows = [
            ("hot path", self.hot_path),
            ("hot path until published", self.hot_path_until_published),
            ("behaviour planner period", self.behavior_planner_period),
        ];
        let ms = |ns: f64| ns / 1e6;
        for (name, spread) in rows {
            let Some(it) = spread else {
                let _ = writeln!(text, "{name:<36} none in the recording");
                continue;
            };
            let times = [it.min_ns as f64, it.mean_ns, it.p50_ns as f64, it.p99_ns as f64];
            let [min, mean, p50, p99] = times.map(ms);
            let (max, deviation) = (ms(it.max_ns as f64), ms(it.deviation_ns));
            // Writing to a text does not fail.
            let _ = writeln!(
                text,
                "{name:<36} {:>8} {min:>8.3} {mean:>8.3} {p50:>8.3} {p99:>8.3} {max:>8.3} \
                 {deviation:>10.3}",
                it.count
            );
        }
        let _ = writeln!(
            text,
            "hot path drops {}; {} of {} front lidar messages without an update of the object \
             collision estimator",
            self.hot_path_drops, self.front_lidar_without_update, self.front_lidar_samples
        );
        text
    }
}

/// Times from one execution of the planner to the next; where messages are missing, on average.
fn periods(plans: &[Arrival]) -> Vec<u64> {
    let own = |plan: &Arrival| -> Option<(u64, u32)> {
        let passage = plan.passages.iter().find(|passage| passage.node == PLANNER)?;
        Some((passage.timestamp_ns, passage.sequence_number))
    };
    let own: Vec<(u64, u32)> = plans.iter().filter_map(own).collect();
    let period = |pair: &[(u64, u32)]| {
        let (time_ns, executions) =
            (pair[1].0.saturating_sub(pair[0].0), pair[1].1.saturating_sub(pair[0].1));
        time_ns / u64::from(executions.max(1))
    };
    own.windows(2).map(period).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(node: &str, timestamp_ns: u64, sequence_number: u32, dropped: u32) -> Passage {
        Passage { node: node.to_owned(), timestamp_ns, sequence_number, dropped }
    }

    /// An estimate that goes back to two lidars, with times in ns.
    fn estimate(front: (u64, u32), rear_ns: u64, begun_ns: u64, published_ns: u64) -> Arrival {
        let passages = vec![
            passage("front_lidar_driver", front.0, front.1, 0),
            passage("points_transformer_front", front.0 + 1, front.1, 2),
            passage("rear_lidar_driver", rear_ns, front.1, 0),
            passage("visualizer", 1, 1, 9),
            passage("object_collision_estimator", begun_ns, front.1, 1),
        ];
        Arrival { passages, published_ns }
    }

    #[test]
    fn the_hot_path_begins_at_the_later_lidar_and_ends_where_its_last_node_begins() {
        let estimates = vec![
            estimate((0, 1), 0, 900, 900),
            estimate((1_000, 4), 1_010, 1_110, 1_150),
            estimate((2_000, 7), 1_990, 2_200, 2_260),
        ];
        let found = Indicators::of(&Arrivals { estimates, plans: Vec::new() }, 1);
        let path = found.hot_path.expect("a path");
        assert_eq!((path.count, path.min_ns, path.p50_ns, path.max_ns), (2, 100, 100, 200));
        assert_eq!((path.mean_ns, path.deviation_ns.round()), (150.0, 71.0));
        let published = found.hot_path_until_published.expect("a path");
        assert_eq!((published.min_ns, published.max_ns), (140, 260));
        // Messages of the visualizer are no drops of the hot path.
        assert_eq!(found.hot_path_drops, 2 * 3);
        assert_eq!((found.front_lidar_samples, found.front_lidar_without_update), (4, 2));
        assert_eq!(found.behavior_planner_period, None);
    }

    #[test]
    fn a_period_over_missing_messages_is_their_average() {
        let plan = |time_ns, number| Arrival {
            passages: vec![passage("behavior_planner", time_ns, number, 0)],
            published_ns: time_ns,
        };
        let plans = vec![plan(100, 0), plan(200, 1), plan(500, 4)];
        let found = Indicators::of(&Arrivals { estimates: Vec::new(), plans }, 0);
        let period = found.behavior_planner_period.expect("periods");
        assert_eq!((period.count, period.min_ns, period.max_ns), (2, 100, 100));
        assert!(
            found.text().contains("hot path                             none"),
            "{}",
            found.text()
        );
    }
}
