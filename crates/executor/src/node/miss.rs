//! A missed limit of time, as a node hears of it.

use std::fmt;

/// A limit of time that a node has missed. [`Node::limit_missed`] tells the node.
///
/// [`Node::limit_missed`]: crate::Node::limit_missed
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Miss<'a> {
    /// A message of the node ended a chain too late.
    Late {
        /// Name of the chain.
        chain: &'a str,
        /// From the message that began it, nanoseconds.
        latency_ns: u64,
        /// The chain's latency limit, nanoseconds.
        max_latency_ns: u64,
    },
    /// A chain that the node ends has begun and has not ended in time.
    Stalled {
        /// Name of the chain.
        chain: &'a str,
        /// Since the message that began it, nanoseconds.
        waited_ns: u64,
        /// The chain's latency limit, nanoseconds.
        max_latency_ns: u64,
    },
    /// The newest message that the node has from a subscriber was too old when the node ran.
    Age {
        /// The port of the subscriber.
        input: &'a str,
        /// From its publication to the start of the execution, nanoseconds.
        age_ns: u64,
        /// The greatest age, nanoseconds.
        max_age_ns: u64,
    },
    /// The execution took too long.
    Budget {
        /// What it took, nanoseconds.
        took_ns: u64,
        /// The chain's latency limit, nanoseconds.
        budget_ns: u64,
    },
}

impl fmt::Display for Miss<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time_ns: &u64| *time_ns as f64 / 1e6;
        match self {
            Self::Late { chain, latency_ns, max_latency_ns } => write!(
                f,
                "ended chain `{chain}` after {:.3} ms, later than its latency limit of {} ms",
                ms(latency_ns),
                ms(max_latency_ns)
            ),
            Self::Stalled { chain, waited_ns, max_latency_ns } => write!(
                f,
                "has not ended chain `{chain}`, which began {:.3} ms ago, within its latency limit of \
                 {} ms",
                ms(waited_ns),
                ms(max_latency_ns)
            ),
            Self::Age { input, age_ns, max_age_ns } => write!(
                f,
                "ran with a message on input `{input}` that was {:.3} ms old, more than {} ms",
                ms(age_ns),
                ms(max_age_ns)
            ),
            Self::Budget { took_ns, budget_ns } => write!(
                f,
                "took {:.3} ms, more than its budget of {} ms",
                ms(took_ns),
                ms(budget_ns)
            ),
        }
    }
}
