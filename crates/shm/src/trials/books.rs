//! The oracle of the trials: books of its own about every message and every chunk.
//!
//! What it says follows from what was asked for and what came back.

use std::collections::BTreeSet;

/// Who uses a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    /// An open or a parked loan, by its own number.
    Loan(u64),
    /// A sample of the reader with this number.
    Sample(u64, u64),
    /// A device that is not done with this message.
    Device(u64),
}

/// What is in use, and what every message was.
#[derive(Debug, Default)]
pub(super) struct Books {
    /// What was written into each message, by its number less one.
    written: Vec<u64>,
    /// Address of a chunk and who uses it.
    uses: Vec<(usize, User)>,
    /// Ends of the messages that a device works on, `[early, uploaded]`: last one, and last one
    /// done.
    device: [(u64, u64); 2],
    /// The ring was opened behind this message.
    opened: u64,
}

impl Books {
    /// Last message.
    pub(super) fn last(&self) -> u64 {
        self.written.len() as u64
    }

    /// Nobody may use memory that is handed out.
    pub(super) fn loaned(&mut self, address: usize, mark: u64) {
        let user = self.uses.iter().find(|(at, _)| *at == address);
        assert!(user.is_none(), "loan {mark} has the memory that {user:?} uses");
        self.uses.push((address, User::Loan(mark)));
    }

    pub(super) fn begin(&mut self, address: usize, user: User) {
        self.uses.push((address, user));
    }

    pub(super) fn end(&mut self, user: User) {
        let place = self.uses.iter().position(|(_, by)| *by == user);
        self.uses.swap_remove(place.unwrap_or_else(|| panic!("{user:?} uses nothing")));
    }

    /// A loan is published under the next number.
    pub(super) fn published(&mut self, mark: u64, seq: u64, marks: [bool; 2]) {
        let place = self.uses.iter_mut().find(|(_, by)| *by == User::Loan(mark));
        let place = place.unwrap_or_else(|| panic!("loan {mark} is not open"));
        self.written.push(mark);
        assert_eq!(seq, self.written.len() as u64, "numbers are consecutive");
        place.1 = User::Device(seq);
        if !marks[0] && !marks[1] {
            self.end(User::Device(seq));
        }
        for (end, is_marked) in self.device.iter_mut().zip(marks) {
            end.0 = if is_marked { seq } else { end.0 };
        }
    }

    /// A device has done what it does with the messages up to `done`; answers that number.
    pub(super) fn advance(&mut self, which: usize, steps: u64) -> u64 {
        let (last, done) = &mut self.device[which];
        *done = (*done + steps).min(*last);
        let answer = *done;
        let ends = self.device;
        let over = |seq: u64| ends.iter().all(|(last, done)| seq > *last || seq <= *done);
        self.uses.retain(|(_, by)| !matches!(by, User::Device(seq) if over(*seq)));
        answer
    }

    /// What must be read of a message.
    pub(super) fn written(&self, seq: u64) -> u64 {
        self.written[seq as usize - 1]
    }

    /// The ring was opened: nobody can read what came before.
    pub(super) fn opens(&mut self) {
        self.opened = self.last();
    }

    /// Chunks that are in use for a reason: loans, samples, devices, the contract's depth of an
    /// open ring, and what those in `wanted` are still to get, each from this message on.
    pub(super) fn needed(&self, depth: u64, is_open: bool, wanted: &[u64]) -> usize {
        let mut messages = BTreeSet::new();
        let mut loans = 0;
        for (_, user) in &self.uses {
            match user {
                User::Loan(_) => loans += 1,
                User::Sample(_, seq) | User::Device(seq) => {
                    messages.insert(*seq);
                }
            }
        }
        for (last, done) in self.device {
            messages.extend(done + 1..=last);
        }
        if is_open {
            let first = (self.last() + 1).saturating_sub(depth).max(self.opened + 1);
            messages.extend(first..=self.last());
        }
        for first in wanted {
            messages.extend(*first..=self.last());
        }
        messages.len() + loans
    }
}

/// How a reader counts on what it gets.
#[derive(Debug)]
pub(super) struct Claim {
    /// From this message on everything is its own.
    pub(super) joined: u64,
    /// What it looks for next.
    next: u64,
    lost: u64,
}

impl Claim {
    pub(super) fn new(start: u64, joined: u64) -> Self {
        Claim { joined, next: start, lost: 0 }
    }

    /// Next message that it looks for.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// It has passed over so many messages, as it was asked to.
    pub(super) fn skipped(&mut self, messages: u64) {
        self.next += messages;
    }

    /// It has got message `seq`, and says that it has lost so many so far. `may_lose`: what it was
    /// behind is more than it may count on.
    pub(super) fn got(&mut self, seq: u64, lost: u64, may_lose: bool) {
        assert!(seq >= self.next, "message {seq} after {}", self.next - 1);
        let missed = seq.saturating_sub(self.next.max(self.joined));
        assert_eq!(lost, self.lost + missed, "messages lost up to {seq}, as it counts them");
        assert!(missed == 0 || may_lose, "{missed} messages before {seq} are lost");
        (self.next, self.lost) = (seq + 1, lost);
    }
}
