//! Who works in which turn of a run, and who has not answered yet. Pure data.

use crate::benchmark::Benchmark;
use crate::swap::{Share, Swap};
use std::fmt;

/// Workers that one scheduler has at most: tokens in a turn.
pub const WORKERS_MAX: u32 = 4;

/// How workers of one kind divide their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Each does its share of the part, all at once.
    Split,
    /// Each does the whole part, one after the other, since two cannot write it at once: as the
    /// paper's nodes, which repeat the work.
    Replicated,
}

impl Division {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Split, Self::Replicated];

    /// As commands and parameters name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Replicated => "replicated",
        }
    }

    /// The division of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// The workers of a scheduler: first those on processors, then those on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Team {
    /// Workers on processors; none: the scheduler does that part itself.
    pub processors: u32,
    /// Workers on devices.
    pub devices: u32,
    /// How workers of one kind divide their work.
    pub division: Division,
}

/// Which turn: one pass of one swap of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Number of the run, from 0.
    pub run: u32,
    /// Number of the swap, from 0.
    pub swap: u32,
    /// Which time the work of the swap is done, from 0.
    pub pass: u32,
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}, swap {}, pass {}", self.run, self.swap, self.pass)
    }
}

impl Team {
    /// How many workers there are.
    #[must_use]
    pub fn workers(self) -> u32 {
        self.processors + self.devices
    }

    /// How often the work of a swap is done.
    #[must_use]
    pub fn passes(self) -> u32 {
        match self.division {
            Division::Split => 1,
            Division::Replicated => self.processors.max(self.devices).max(1),
        }
    }

    /// What a worker does in a turn; `None`: nothing.
    ///
    /// # Panics
    /// When there is no such worker: a programmer's error.
    #[must_use]
    pub fn share(self, worker: u32, benchmark: Benchmark, swap: Swap, pass: u32) -> Option<Share> {
        assert!(worker < self.workers(), "worker {worker} of {}", self.workers());
        let on_device = worker >= self.processors;
        let (number, all) = match on_device {
            true => (worker - self.processors, self.devices),
            false => (worker, self.processors),
        };
        let share = match self.division {
            Division::Split => (number, all),
            // Where there are fewer of one kind, the last one repeats it.
            Division::Replicated if number == pass.min(all - 1) => (0, 1),
            Division::Replicated => return None,
        };
        Some(match on_device {
            true => swap.of_device(benchmark, share),
            false => swap.of_processor(share),
        })
    }

    /// What the scheduler does itself in a turn.
    #[must_use]
    pub fn own_share(self, swap: Swap) -> Option<Share> {
        (self.processors == 0).then(|| swap.of_processor((0, 1)))
    }

    /// The turn after this one of a run of so many swaps; `None`: it was the last.
    #[must_use]
    pub fn after(self, turn: Turn, swaps: u32) -> Option<Turn> {
        let next = match turn.pass + 1 < self.passes() {
            true => Turn { pass: turn.pass + 1, ..turn },
            false => Turn { swap: turn.swap + 1, pass: 0, ..turn },
        };
        (next.swap < swaps).then_some(next)
    }
}

/// Who has not answered in the turn that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    workers: [bool; WORKERS_MAX as usize],
    own: bool,
}

impl Awaited {
    /// These workers, and the scheduler's own part where `own`.
    pub fn new(workers: impl Iterator<Item = u32>, own: bool) -> Self {
        let mut awaited = Self { workers: [false; WORKERS_MAX as usize], own };
        workers.for_each(|worker| awaited.workers[worker as usize] = true);
        awaited
    }

    /// A worker has answered; false: nobody waits for it.
    pub fn answer(&mut self, worker: u32) -> bool {
        let place = self.workers.get_mut(worker as usize);
        place.is_some_and(|awaited| std::mem::replace(awaited, false))
    }

    /// The scheduler's own part is done; false: nobody waits for it.
    pub fn own_done(&mut self) -> bool {
        std::mem::replace(&mut self.own, false)
    }

    /// Nothing is left to wait for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.own && self.workers.iter().all(|awaited| !awaited)
    }

    /// The workers, for people.
    #[must_use]
    pub fn names(&self) -> String {
        let waiting = self.workers.iter().enumerate().filter(|(_, awaited)| **awaited);
        waiting.map(|(worker, _)| worker.to_string()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWAP: Swap = Swap { number: 0, elements: 64 };

    #[test]
    fn split_workers_do_each_element_once() {
        let team = Team { processors: 2, devices: 2, division: Division::Split };
        assert_eq!(team.passes(), 1);
        let shares = (0..4).filter_map(|it| team.share(it, Benchmark::Cache, SWAP, 0));
        let mut elements: Vec<u64> = shares.flat_map(|share| share.writes.elements()).collect();
        elements.sort_unstable();
        elements.dedup();
        assert_eq!(elements.len(), 32);
    }

    #[test]
    fn replicated_workers_take_turns_at_the_whole_part() {
        let team = Team { processors: 2, devices: 2, division: Division::Replicated };
        for pass in 0..team.passes() {
            let active = |it: &u32| team.share(*it, Benchmark::Cache, SWAP, pass).is_some();
            assert_eq!((0..4).filter(active).collect::<Vec<_>>(), [pass, 2 + pass]);
            let share = team.share(2 + pass, Benchmark::Cache, SWAP, pass);
            assert_eq!(share, Some(SWAP.of_device(Benchmark::Cache, (0, 1))));
        }
        let uneven = Team { processors: 1, ..team };
        assert!(uneven.share(0, Benchmark::Cache, SWAP, 1).is_some(), "the only one repeats it");
    }

    #[test]
    fn turns_come_pass_by_pass_and_swap_by_swap_and_end() {
        let team = Team { processors: 2, devices: 2, division: Division::Replicated };
        let mut turns = vec![Turn::default()];
        while let Some(next) = team.after(turns[turns.len() - 1], 3) {
            turns.push(next);
        }
        let numbers: Vec<_> = turns.iter().map(|turn| (turn.swap, turn.pass)).collect();
        assert_eq!(numbers, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
    }

    #[test]
    fn answers_count_once() {
        let mut awaited = Awaited::new([0, 2].into_iter(), true);
        assert_eq!(awaited.names(), "0, 2");
        assert!(
            awaited.answer(2) && !awaited.answer(2) && !awaited.answer(1) && !awaited.answer(9)
        );
        assert!(awaited.answer(0) && !awaited.is_empty());
        assert!(awaited.own_done() && !awaited.own_done() && awaited.is_empty());
    }
}
