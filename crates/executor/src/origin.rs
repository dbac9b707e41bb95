//! Where a message's cause lies: for each measured span, when the message that began it was
//! published. It travels with every message as two words and costs no look-up anywhere.
//!
//! A span begins on a topic and ends on another (graph file, `chains`). When a message on a topic
//! where a span begins runs a node, the executor notes that message's publication time in the
//! origin; everything that the node publishes inherits the origin; when a message is published on
//! the topic where the span ends, the difference is the span's latency.
//!
//! One word: bits 48..64 the number of the beginning topic (from 1), bits 0..48 the publication
//! time modulo 2^48 ns (78 hours, far more than any latency). Two words: spans with two different
//! beginnings may overlap on one path; a third one displaces the older of the two.

use crossdock_graph::Chain;

/// Bits of a word that hold the time.
const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Times that a word can tell apart.
pub(crate) const TIMES: u64 = 1 << TIME_BITS;

/// The two words that a message carries.
pub(crate) type Origin = [u64; 2];

/// The origin of a message that no measured span has led to.
pub(crate) const NO_ORIGIN: Origin = [0; 2];

/// Number of a topic on which spans begin; the same in every process of a run, from 1 to 65535.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning(u16);

impl Beginning {
    /// The number of `topic`, if a span begins on it. Every process has the same list of chains,
    /// so the first chain that begins on a topic numbers it.
    pub(crate) fn of(topic: &str, chains: &[Chain]) -> Option<Self> {
        let first = chains.iter().position(|chain| chain.from == topic)?;
        u16::try_from(first + 1).ok().map(Self)
    }

    fn word(self, stamp_ns: u64) -> u64 {
        u64::from(self.0) << TIME_BITS | stamp_ns & TIME_MASK
    }

    fn began(self, word: u64) -> bool {
        word >> TIME_BITS == u64::from(self.0)
    }
}

/// The origin of what follows from a message published at `stamp_ns` on the topic `beginning` that
/// carried `inherited`.
pub(crate) fn begin(inherited: Origin, beginning: Beginning, stamp_ns: u64) -> Origin {
    let word = beginning.word(stamp_ns);
    match inherited {
        [first, _] if first == 0 || beginning.began(first) => [word, inherited[1]],
        [_, second] if second == 0 || beginning.began(second) => [inherited[0], word],
        [first, second] if is_older(first, second) => [word, second],
        [first, _] => [first, word],
    }
}

/// What becomes of the origins of messages of one topic that an executor does not hand on itself.
#[derive(Clone, Copy, Debug)]
pub struct Tracing(Option<Beginning>);

impl Tracing {
    pub(crate) fn of(topic: &str, chains: &[Chain]) -> Self {
        Self(Beginning::of(topic, chains))
    }

    /// The origin of everything that follows from a message of the topic, published at `stamp_ns`
    /// with the origin `inherited`. Does not block or allocate.
    #[must_use]
    pub fn origin(self, inherited: [u64; 2], stamp_ns: u64) -> [u64; 2] {
        self.0.map_or(inherited, |beginning| begin(inherited, beginning, stamp_ns))
    }
}

/// Of several messages that run a node together: all their origins, the first come first kept.
pub(crate) fn join(origins: impl IntoIterator<Item = Origin>) -> Origin {
    let mut joined = NO_ORIGIN;
    for word in origins.into_iter().flatten().filter(|word| *word != 0) {
        let known = joined.iter().any(|held| *held >> TIME_BITS == word >> TIME_BITS);
        if let (false, Some(free)) = (known, joined.iter_mut().find(|held| **held == 0)) {
            *free = word;
        }
    }
    joined
}

/// Nanoseconds from the message on the topic `beginning` that led to `origin` until `stamp_ns`.
pub(crate) fn latency_ns(origin: Origin, beginning: Beginning, stamp_ns: u64) -> Option<u64> {
    let word = origin.into_iter().find(|word| beginning.began(*word))?;
    Some(stamp_ns.wrapping_sub(word) & TIME_MASK)
}

fn is_older(first: u64, second: u64) -> bool {
    second.wrapping_sub(first) & TIME_MASK <= TIME_MASK / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(from: &str, to: &str) -> Chain {
        let (name, from, to) = (format!("{from} to {to}"), from.to_owned(), to.to_owned());
        Chain { name, from, to, max_latency: None }
    }

    #[test]
    fn spans_with_two_beginnings_overlap_on_one_path() {
        let chains = [chain("/image", "/command"), chain("/lane", "/command")];
        let image = Beginning::of("/image", &chains).expect("begins a span");
        let lane = Beginning::of("/lane", &chains).expect("begins a span");
        assert_eq!(Beginning::of("/command", &chains), None);

        let origin = begin(begin(NO_ORIGIN, image, 1_000), lane, 5_000);
        assert_eq!(latency_ns(origin, image, 9_000), Some(8_000));
        assert_eq!(latency_ns(origin, lane, 9_000), Some(4_000));
        let next = begin(origin, image, 7_000);
        assert_eq!(latency_ns(next, image, 9_000), Some(2_000));
        assert_eq!(latency_ns(next, lane, 9_000), Some(4_000));
        assert_eq!(latency_ns(NO_ORIGIN, image, 9_000), None);
    }

    #[test]
    fn a_third_beginning_displaces_the_oldest() {
        let chains = [chain("/a", "/z"), chain("/b", "/z"), chain("/c", "/z")];
        let numbers =
            ["/a", "/b", "/c"].map(|topic| Beginning::of(topic, &chains).expect("begins"));
        let origin = begin(begin(begin(NO_ORIGIN, numbers[0], 1), numbers[1], 2), numbers[2], 3);
        assert_eq!(latency_ns(origin, numbers[0], 10), None);
        assert_eq!(latency_ns(origin, numbers[1], 10), Some(8));
        assert_eq!(latency_ns(origin, numbers[2], 10), Some(7));
        // Now the older of the two stands second.
        let origin = begin(origin, numbers[0], 4);
        assert_eq!(numbers.map(|number| latency_ns(origin, number, 10)), [Some(6), None, Some(7)]);
        // Older by less than half the times that a word can tell apart.
        let edge_ns = TIME_MASK - 10;
        let origin = begin(begin(NO_ORIGIN, numbers[0], edge_ns + 15), numbers[1], edge_ns);
        let origin = begin(origin, numbers[2], edge_ns + 20);
        let latencies = numbers.map(|number| latency_ns(origin, number, edge_ns + 50));
        assert_eq!(latencies, [Some(35), None, Some(30)]);
    }

    #[test]
    fn times_of_today_survive_the_cut_to_48_bits() {
        let chains = [chain("/a", "/z")];
        let a = Beginning::of("/a", &chains).expect("begins a span");
        let now_ns = 1_790_000_000_000_000_000;
        assert_eq!(latency_ns(begin(NO_ORIGIN, a, now_ns), a, now_ns + 123), Some(123));
        let edge_ns = TIME_MASK - 10;
        assert_eq!(latency_ns(begin(NO_ORIGIN, a, edge_ns), a, edge_ns + 50), Some(50));
    }

    #[test]
    fn a_join_keeps_the_origin_of_every_span() {
        let chains = [chain("/a", "/z"), chain("/b", "/z")];
        let a = Beginning::of("/a", &chains).expect("begins a span");
        let b = Beginning::of("/b", &chains).expect("begins a span");
        let joined = join([begin(NO_ORIGIN, a, 1), begin(NO_ORIGIN, a, 5), begin(NO_ORIGIN, b, 3)]);
        assert_eq!(latency_ns(joined, a, 10), Some(9));
        assert_eq!(latency_ns(joined, b, 10), Some(7));
    }
}
