//! A step: the next node and its cause, in one word.

use std::num::NonZeroU64;

/// Which node is next, and why.
///
/// One word, because it is handed from the choice to the execution of each node: with several
/// fields the compiler passes it through memory in pieces, and reading them back together costs
/// more than the rest of the step (10 ns of 25, measured). Bits: kind 56..64, node 32..56, index
/// 0..32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step(NonZeroU64);

/// Why a node is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The message on the input of this index.
    Input(usize),
    /// The node's condition holds.
    Condition,
    /// The timer of this index is due.
    Timer(usize),
    /// The lockstep of this index is released.
    Lockstep(usize),
    /// A call of the client of this index has ended.
    Response(usize),
    /// A request has come to the server of this index.
    Request(usize),
    /// The node is polled: it has asked for that, or a message for it has come.
    Poll,
    /// The node is told of a limit of time that was missed.
    Limit,
    /// The node is told that simulated time jumps.
    Jump,
}

const INPUT: u64 = 1;
const CONDITION: u64 = 2;
const TIMER: u64 = 3;
const LOCKSTEP: u64 = 4;
const POLL: u64 = 5;
const RESPONSE: u64 = 6;
const REQUEST: u64 = 7;
const LIMIT: u64 = 8;
const JUMP: u64 = 9;

/// Nodes that one executor can have.
pub(crate) const NODES_MAX: usize = 1 << 24;

impl Step {
    /// A node (below [`NODES_MAX`]) is released by the message on an input.
    #[inline]
    pub(crate) fn input(node: usize, input: usize) -> Self {
        Self::new(INPUT, node, input)
    }

    /// A node is released by its condition.
    pub(crate) fn condition(node: usize) -> Self {
        Self::new(CONDITION, node, 0)
    }

    /// A node is released by a timer.
    pub(crate) fn timer(node: usize, timer: usize) -> Self {
        Self::new(TIMER, node, timer)
    }

    /// A node is released by a lockstep.
    pub(crate) fn lockstep(node: usize, lockstep: usize) -> Self {
        Self::new(LOCKSTEP, node, lockstep)
    }

    /// A node is released by the end of a call of its client.
    pub(crate) fn response(node: usize, client: usize) -> Self {
        Self::new(RESPONSE, node, client)
    }

    /// A node is released by a request to its server.
    pub(crate) fn request(node: usize, server: usize) -> Self {
        Self::new(REQUEST, node, server)
    }

    /// A node is polled.
    pub(crate) fn poll(node: usize) -> Self {
        Self::new(POLL, node, 0)
    }

    /// A node is told of a missed limit.
    pub(crate) fn limit(node: usize) -> Self {
        Self::new(LIMIT, node, 0)
    }

    /// A node is told of a jump of time.
    pub(crate) fn jump(node: usize) -> Self {
        Self::new(JUMP, node, 0)
    }

    #[inline]
    fn new(kind: u64, node: usize, index: usize) -> Self {
        let word = kind << 56 | (node as u64) << 32 | index as u64;
        // The kind is not 0, so this never takes the other value.
        Self(NonZeroU64::new(word).unwrap_or(NonZeroU64::MIN))
    }

    /// The step as a word, never 0.
    #[inline]
    pub(crate) fn word(self) -> u64 {
        self.0.get()
    }

    /// The step of a word; `None` of 0.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        NonZeroU64::new(word).map(Self)
    }

    /// The node.
    #[inline]
    pub(crate) fn node(self) -> usize {
        (self.0.get() >> 32) as usize & (NODES_MAX - 1)
    }

    /// Why it is next.
    #[inline]
    pub(crate) fn cause(self) -> Cause {
        let index = self.0.get() as u32 as usize;
        match self.0.get() >> 56 {
            INPUT => Cause::Input(index),
            TIMER => Cause::Timer(index),
            LOCKSTEP => Cause::Lockstep(index),
            POLL => Cause::Poll,
            RESPONSE => Cause::Response(index),
            REQUEST => Cause::Request(index),
            LIMIT => Cause::Limit,
            JUMP => Cause::Jump,
            _ => Cause::Condition,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_gives_back_what_it_was_made_of() {
        let last = NODES_MAX - 1;
        let steps = [
            (Step::input(last, 7), Cause::Input(7)),
            (Step::condition(last), Cause::Condition),
            (Step::limit(last), Cause::Limit),
            (Step::jump(last), Cause::Jump),
            (Step::timer(last, u32::MAX as usize), Cause::Timer(u32::MAX as usize)),
            (Step::lockstep(last, 0), Cause::Lockstep(0)),
            (Step::response(last, 3), Cause::Response(3)),
            (Step::request(last, 4), Cause::Request(4)),
            (Step::poll(last), Cause::Poll),
        ];
        for (step, cause) in steps {
            assert_eq!((step.node(), step.cause()), (last, cause));
        }
        assert_eq!(size_of::<Option<Step>>(), 8);
    }
}
