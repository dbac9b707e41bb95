//! What lies between nodes that run one after the other on one thread: noted by the nodes, of every
//! other message, so that the readings of the clock do not go into the time of the whole. Knows no
//! system.

use crate::rounds::now_ns;
use std::cell::{Cell, RefCell};

thread_local! {
    /// Is this a message whose nodes note when they start and return?
    static TIMED: Cell<bool> = const { Cell::new(false) };
    static SENT_NS: Cell<u64> = const { Cell::new(0) };
    static RETURNED_NS: Cell<u64> = const { Cell::new(0) };
    static BETWEEN_NS: Cell<u64> = const { Cell::new(0) };
    static SAMPLES: RefCell<Samples> = const { RefCell::new((vec![], vec![])) };
}

/// From the first node's start to the last node's message; sums of the times between nodes. Of
/// every other message each.
pub type Samples = (Vec<u64>, Vec<u64>);

/// The first node begins message `number`.
#[inline]
pub fn begin(number: u64) {
    TIMED.set(number.is_multiple_of(2));
    BETWEEN_NS.set(0);
    SENT_NS.set(now_ns());
}

/// A node starts: the time since the one before has returned is between nodes.
#[inline]
pub fn note_start() {
    if TIMED.get() {
        BETWEEN_NS.set(BETWEEN_NS.get() + now_ns().saturating_sub(RETURNED_NS.get()));
    }
}

/// A node returns.
#[inline]
pub fn note_return() {
    if TIMED.get() {
        RETURNED_NS.set(now_ns());
    }
}

/// The time since the message began: to be read as soon as the last node has read it.
#[inline]
pub fn since_begin_ns() -> u64 {
    now_ns().saturating_sub(SENT_NS.get())
}

/// Keeps what this message has told; `whole_ns` is from [`since_begin_ns`].
pub fn keep(whole_ns: u64) {
    SAMPLES.with_borrow_mut(|(whole, between)| match TIMED.get() {
        true => between.push(BETWEEN_NS.get()),
        false => whole.push(whole_ns),
    });
}

/// Makes room for a block, so that nothing is allocated in it.
pub fn clear(count: usize) {
    SAMPLES.set((Vec::with_capacity(count), Vec::with_capacity(count)));
}

/// What was kept since the last [`clear`].
pub fn take() -> Samples {
    SAMPLES.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_message_tells_the_whole_and_the_others_what_lies_between() {
        clear(4);
        for number in 1..=4 {
            begin(number);
            note_return();
            note_start();
            keep(since_begin_ns());
        }
        let (whole, between) = take();
        assert_eq!((whole.len(), between.len()), (2, 2));
    }
}
