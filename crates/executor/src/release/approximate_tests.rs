//! The sets are those of `message_filters`, and what is written of its policy holds of them.

use super::{ApproximateTime, Options};

/// What `message_filters` publishes: see the head of the file.
const PUBLISHED: &str = include_str!("../../tests/data/approximate_time.txt");

/// A search with the messages that wait on each lane, as their owner keeps them.
struct Search {
    sets: ApproximateTime,
    waiting: Vec<Vec<i64>>,
}

impl Search {
    fn new(options: &Options) -> Self {
        let waiting = vec![Vec::new(); options.depths.len()];
        Self { sets: ApproximateTime::new(options), waiting }
    }

    /// Adds a message and gives the sets that are complete now.
    fn push(&mut self, lane: usize, stamp_ns: i64) -> Vec<Vec<i64>> {
        self.sets.push(lane, stamp_ns);
        self.waiting[lane].push(stamp_ns);
        let mut found = Vec::new();
        while self.next_set() {
            found.push(self.waiting.iter_mut().map(|waiting| waiting.remove(0)).collect());
        }
        found
    }

    fn next_set(&mut self) -> bool {
        let is_set = self.sets.next_set();
        for (lane, waiting) in self.waiting.iter_mut().enumerate() {
            waiting.drain(..self.sets.take_dropped(lane));
        }
        is_set
    }
}

fn integers(words: &[&str]) -> Vec<i64> {
    words.iter().map(|word| word.parse().expect("an integer")).collect()
}

#[test]
fn the_sets_are_those_of_message_filters() {
    let lines: Vec<&str> = PUBLISHED.lines().filter(|line| !line.starts_with('#')).collect();
    let (mut cases, mut sets) = (0, 0);
    for case in lines.chunks(3) {
        let words: Vec<&str> = case[0].split(' ').collect();
        let [lanes, depth, max_interval_ns] =
            [1, 3, 5].map(|at| words[at].parse::<i64>().expect("an integer"));
        let options = Options {
            depths: vec![depth as usize; lanes as usize],
            max_interval_ns: if max_interval_ns == 0 { i64::MAX } else { max_interval_ns },
            age_penalty: words[7].parse().expect("a number"),
            distance_min_ns: integers(&words[9..]),
        };
        let mut search = Search::new(&options);
        let mut found = Vec::new();
        for message in case[1].split(' ').skip(1) {
            let (lane, stamp_ns) = message.split_once(':').expect("lane and stamp");
            let stamp_ns = stamp_ns.parse().expect("a stamp");
            found.extend(search.push(lane.parse().expect("a lane"), stamp_ns));
        }
        let expected = case[2].split(' ').skip(1);
        let expected: Vec<_> =
            expected.map(|set| integers(&set.split(',').collect::<Vec<_>>())).collect();
        assert_eq!(found, expected, "{}", case[0]);
        cases += 1;
        sets += expected.len();
    }
    assert!(cases > 100 && sets > 1000, "{cases} cases, {sets} sets");
}

/// A reproducible sequence of numbers.
struct Numbers(u64);

impl Numbers {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// The smallest span of a set that leaves no lane without a message that is its first.
fn smallest_span(lanes: &[Vec<i64>]) -> Option<i64> {
    let mut smallest = None;
    let mut chosen = vec![0; lanes.len()];
    loop {
        let stamps = lanes.iter().zip(&chosen).map(|(lane, at)| lane.get(*at).copied());
        let stamps: Vec<i64> = stamps.collect::<Option<_>>()?;
        if chosen.contains(&0) {
            let span = stamps.iter().max()? - stamps.iter().min()?;
            smallest = Some(smallest.map_or(span, |other: i64| other.min(span)));
        }
        let next = (0..lanes.len()).find(|lane| chosen[*lane] + 1 < lanes[*lane].len());
        let Some(next) = next else { return smallest };
        chosen[next] += 1;
        chosen[..next].fill(0);
    }
}

#[test]
fn each_set_is_the_closest_of_all_that_follow_the_last_one_without_a_gap() {
    let mut sets = 0;
    for seed in 0..300 {
        let mut numbers = Numbers(seed);
        let lanes = 2 + numbers.below(2) as usize;
        let mut messages = Vec::new();
        for lane in 0..lanes {
            let period = 5 + numbers.below(40);
            let mut stamp = numbers.below(period);
            for _ in 0..10 {
                messages.push((stamp as i64, lane));
                stamp += 1 + numbers.below(2 * period);
            }
        }
        // What comes when between lanes makes no difference.
        let delays: Vec<i64> = (0..lanes).map(|_| numbers.below(60) as i64).collect();
        messages.sort_by_key(|(stamp, lane)| (stamp + delays[*lane], *lane));
        let options = Options {
            depths: vec![32; lanes],
            max_interval_ns: i64::MAX,
            age_penalty: 0.0,
            distance_min_ns: vec![0; lanes],
        };
        let mut left: Vec<Vec<i64>> = (0..lanes)
            .map(|lane| messages.iter().filter(|it| it.1 == lane).map(|it| it.0).collect())
            .collect();
        let mut search = Search::new(&options);
        for (stamp, lane) in messages {
            for set in search.push(lane, stamp) {
                let span = set.iter().max().expect("some") - set.iter().min().expect("some");
                assert_eq!(Some(span), smallest_span(&left), "seed {seed}: {set:?}");
                let first = |(lane, stamp): (&Vec<i64>, &i64)| lane.first() == Some(stamp);
                assert!(left.iter().zip(&set).any(first), "seed {seed}: {set:?} leaves a gap");
                for (lane, stamp) in left.iter_mut().zip(&set) {
                    let at = lane.iter().position(|other| other == stamp);
                    // Used once, and not before one of the last set.
                    lane.drain(..=at.unwrap_or_else(|| panic!("seed {seed}: {set:?} crosses")));
                }
                sets += 1;
            }
        }
    }
    assert!(sets > 1000, "{sets} sets");
}

#[test]
fn a_lane_that_lost_messages_gives_no_pivot_until_another_does() {
    let options = Options {
        depths: vec![4; 2],
        max_interval_ns: i64::MAX,
        age_penalty: 0.0,
        distance_min_ns: vec![0; 2],
    };
    let mut search = Search::new(&options);
    search.sets.note_gap(0);
    for (lane, stamp_ns) in [(0, 20), (1, 8)] {
        assert!(search.push(lane, stamp_ns).is_empty());
    }
    // Before 20 something better for 8 may have been lost: 8 is dropped.
    assert_eq!(search.waiting, [vec![20], vec![]]);
    assert!(search.sets.waits_for(1) && !search.sets.waits_for(0));
}

#[test]
fn a_set_that_is_the_best_already_is_complete_when_a_lane_overflows() {
    let options = Options {
        depths: vec![4, 4, 4, 1],
        max_interval_ns: i64::MAX,
        age_penalty: 0.0,
        distance_min_ns: vec![12, 0, 0, 0],
    };
    let mut search = Search::new(&options);
    // Behind 0 nothing comes before 12, so that 1 may still be followed by something better.
    for (lane, stamp_ns) in [(0, 0), (1, 1), (3, 3), (2, 10), (1, 1000)] {
        assert!(search.push(lane, stamp_ns).is_empty(), "{stamp_ns}");
    }
    // There is no room for 3 beside 4. With 4 the search finds that 1 is followed by 1000.
    assert_eq!(search.push(3, 4), [[0, 1, 10, 4]]);
}
