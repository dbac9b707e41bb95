//! Random lives of publishers: the shipped engine under everything that can happen to it, with an
//! oracle that keeps its own books.
//!
//! A life is a contract, drawn by lot, and some hundred steps: loans, messages, readers that come,
//! go, die, are slow, hold samples, or are waited for until they move or die; links of the same
//! thread; devices that are not done; memory that grows. After each step, all held messages must be
//! unchanged. Its seed alone determines a life: `CROSSDOCK_SEED` repeats a run, and
//! `CROSSDOCK_LIFE` begins it with the life of this number.

mod books;
mod life;
mod readers;

use crate::faults::{self, fault};
use crossdock_test_support::{number, seed};
use life::Life;

/// Steps of one life at most.
const LIFE_STEPS: u64 = 1000;

/// Numbers by lot (splitmix64).
#[derive(Clone, Debug)]
struct Lot(u64);

impl Lot {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Less than `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True once in so many times.
    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }
}

/// One life of a run: its steps, or what was wrong.
fn live_once(run: u64, life: u64) -> Result<u64, String> {
    let mut lot = Lot(run ^ life.wrapping_mul(0xd134_2543_de82_ef95));
    let steps = 1 + lot.below(LIFE_STEPS);
    let outcome = std::panic::catch_unwind(move || Life::run(&mut lot, steps));
    outcome.map(|()| steps).map_err(|reason| {
        let text = reason.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| reason.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

/// Lives until so many steps are done, from the life on that the environment names.
fn live(run: u64, steps: u64) {
    let (mut life, mut done) = (number("CROSSDOCK_LIFE").unwrap_or(0), 0);
    while done < steps {
        match live_once(run, life) {
            Ok(steps) => done += steps,
            Err(said) => panic!("CROSSDOCK_SEED={run} CROSSDOCK_LIFE={life}: {said}"),
        }
        life += 1;
    }
    crossdock_test_support::done(done, "steps");
}

#[test]
fn whatever_happens_nothing_that_is_held_is_written_and_nothing_is_lost_uncounted() {
    live(seed(), number("CROSSDOCK_STEPS").unwrap_or(2_000_000));
}

#[test]
#[ignore = "minutes: ten million steps"]
fn long_whatever_happens_nothing_that_is_held_is_written_and_nothing_is_lost_uncounted() {
    live(seed(), 10_000_000);
}

/// Lives with one fault put back, until one says this.
fn is_found(fault: &'static str, expected: &str) {
    // The same lives in each run: a fault is found or not.
    let lives = || (0..2000).filter_map(|life| live_once(1, life).err());
    let found = faults::with(fault, || lives().any(|said| said.contains(expected)));
    assert!(found, "the fault is not found");
}

#[test]
fn memory_of_a_sample_that_is_handed_out_after_a_ring_was_closed_in_a_wait_is_found() {
    is_found(fault::CLOSED_IN_WAIT, "Sample");
}

#[test]
fn memory_of_a_device_that_is_handed_out_after_a_ring_was_closed_in_a_wait_is_found() {
    is_found(fault::CLOSED_IN_WAIT, "Device");
}

#[test]
fn messages_kept_for_deep_readers_without_limit_are_found() {
    is_found(fault::KEPT_WITHOUT_LIMIT, "are in use for a reason");
}
