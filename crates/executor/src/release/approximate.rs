//! Sets of messages with nearly the same stamp, as ROS's `ApproximateTime` forms them. Numbers
//! only.
//!
//! What is published about that policy, and holds here: a set has one message of each lane; each
//! message is used at most once; of two sets one is not before the other on any lane; there is a
//! lane on which nothing was dropped between two neighbouring sets; and of all sets that follow the
//! last one without such a gap, the one whose stamps lie closest together is chosen. The result
//! depends on the stamps and not on the order of arrival between lanes, as long as no queue
//! overflows.
//!
//! How it is found. The *heads* are the first messages of the lanes that the search has not passed.
//! The latest of the first heads is the *pivot*: a set that leaves it out could be made smaller
//! with it. The heads are the first candidate. From there the search passes the earliest head again
//! and again; whenever the heads lie closer together than the candidate, they replace it. It ends
//! when the pivot itself would be passed, or when what is left cannot become better: a later set
//! ends where the heads end or later and begins with the pivot at the latest. Where a lane has no
//! head yet, what it can bring is bounded from below by its last stamp and the smallest distance of
//! its messages, so that a good set need not wait for messages that could not improve it.

/// Between which stamps a set lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    first_ns: i64,
    last_ns: i64,
}

/// A lane: the stamps of the messages that wait on one input, in order.
#[derive(Debug)]
struct LaneStamps {
    /// Up to `depth + 1` of them. With a candidate, the first is the candidate's.
    stamps_ns: Vec<i64>,
    /// How many of them the search has passed.
    passed: usize,
    /// Two messages are never closer together than this.
    distance_min_ns: i64,
    /// Messages were lost since the lane last gave way to another's head.
    has_gap: bool,
    /// Messages dropped from the front since the owner last asked.
    dropped: usize,
}

impl LaneStamps {
    fn head_ns(&self) -> Option<i64> {
        self.stamps_ns.get(self.passed).copied()
    }

    /// The earliest stamp that the head can have, be it there or not. A head before the pivot would
    /// make no set end earlier than one at it.
    fn head_min_ns(&self, passed: usize, pivot_ns: i64) -> i64 {
        let expected = || {
            let last = self.stamps_ns.last().copied().unwrap_or(pivot_ns);
            last.saturating_add(self.distance_min_ns).max(pivot_ns)
        };
        self.stamps_ns.get(passed).copied().unwrap_or_else(expected)
    }

    fn drop_first(&mut self, messages: usize) {
        self.stamps_ns.drain(..messages);
        self.dropped += messages;
    }
}

/// The set that the search has found best so far.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    span: Span,
    pivot: usize,
    pivot_ns: i64,
}

/// How sets are formed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    /// Messages that wait on a lane at most; beyond that the oldest is dropped.
    pub(crate) depths: Vec<usize>,
    /// Largest distance of two stamps in a set, ns; `i64::MAX`: any.
    pub(crate) max_interval_ns: i64,
    /// By what share more a later set must be better, 0 or more.
    pub(crate) age_penalty: f64,
    /// Smallest distance of two messages by lane, ns; 0: nothing is known.
    pub(crate) distance_min_ns: Vec<i64>,
}

/// The search over all lanes. Only [`ApproximateTime::new`] allocates.
#[derive(Debug)]
pub(crate) struct ApproximateTime {
    lanes: Box<[LaneStamps]>,
    depths: Box<[usize]>,
    max_interval_ns: i64,
    age_penalty: f64,
    candidate: Option<Candidate>,
    /// A lane that may hold more than its depth.
    filled: Option<usize>,
    /// Scratch of `is_settled`: how far each lane would have been passed.
    ahead: Box<[usize]>,
}

impl ApproximateTime {
    /// A search with a lane for each depth, all empty.
    pub(crate) fn new(options: &Options) -> Self {
        let lane = |(depth, distance_min_ns): (&usize, &i64)| LaneStamps {
            stamps_ns: Vec::with_capacity(depth + 1),
            passed: 0,
            distance_min_ns: *distance_min_ns,
            has_gap: false,
            dropped: 0,
        };
        let lanes = options.depths.iter().zip(&options.distance_min_ns).map(lane);
        Self {
            lanes: lanes.collect(),
            depths: options.depths.clone().into_boxed_slice(),
            max_interval_ns: options.max_interval_ns,
            age_penalty: options.age_penalty,
            candidate: None,
            filled: None,
            ahead: vec![0; options.depths.len()].into_boxed_slice(),
        }
    }

    /// Adds a message to a lane. Only after [`next_set`](Self::next_set) has given `None`.
    pub(crate) fn push(&mut self, lane: usize, stamp_ns: i64) {
        self.lanes[lane].stamps_ns.push(stamp_ns);
        self.filled = Some(lane);
    }

    /// Messages behind the last one of a lane were lost.
    pub(crate) fn note_gap(&mut self, lane: usize) {
        self.restart();
        self.lanes[lane].has_gap = true;
    }

    /// The owner has lost messages at the front of a lane; how many.
    pub(crate) fn forget(&mut self, lane: usize, messages: usize) {
        self.restart();
        let lane = &mut self.lanes[lane];
        lane.stamps_ns.drain(..messages.min(lane.stamps_ns.len()));
        lane.has_gap = true;
    }

    /// Whether nothing can happen before this lane has another message.
    pub(crate) fn waits_for(&self, lane: usize) -> bool {
        self.lanes[lane].head_ns().is_none()
    }

    /// How many messages at the front of a lane have been dropped since the last call.
    pub(crate) fn take_dropped(&mut self, lane: usize) -> usize {
        std::mem::take(&mut self.lanes[lane].dropped)
    }

    /// Whether a set is complete: it was the first message of each lane that is not dropped, and is
    /// forgotten here. To be called until it is false.
    pub(crate) fn next_set(&mut self) -> bool {
        loop {
            if self.search() {
                self.restart();
                self.lanes.iter_mut().for_each(|lane| _ = lane.stamps_ns.remove(0));
                return true;
            }
            let Some(filled) = self.filled.take() else { return false };
            if self.lanes[filled].stamps_ns.len() <= self.depths[filled] {
                return false;
            }
            // The oldest may belong to the candidate: the search begins anew without it.
            let searched = self.candidate.is_some();
            self.restart();
            self.lanes[filled].drop_first(1);
            self.lanes[filled].has_gap = true;
            if !searched {
                return false;
            }
        }
    }

    /// The search begins anew with what is there.
    fn restart(&mut self) {
        self.candidate = None;
        self.lanes.iter_mut().for_each(|lane| lane.passed = 0);
    }

    /// Goes on as far as there are heads. True: the first messages of the lanes are a set.
    fn search(&mut self) -> bool {
        while let Some((span, earliest, latest)) = self.heads() {
            // A lane that is not the latest could not have brought a better pivot with what it
            // lost.
            let others = self.lanes.iter_mut().enumerate().filter(|(lane, _)| *lane != latest);
            others.for_each(|(_, lane)| lane.has_gap = false);
            let candidate = match self.candidate {
                None if self.is_too_long(span) || self.lanes[latest].has_gap => {
                    self.lanes[earliest].drop_first(1);
                    continue;
                }
                None => self.choose(span, latest, span.last_ns),
                Some(Candidate { span: best, pivot, pivot_ns })
                    if !self.is_later_better(best, span.last_ns, span.first_ns) =>
                {
                    Candidate { span: best, pivot, pivot_ns }
                }
                Some(Candidate { pivot, pivot_ns, .. }) => self.choose(span, pivot, pivot_ns),
            };
            self.lanes[earliest].passed += 1;
            let Candidate { span: best, pivot, pivot_ns } = candidate;
            if earliest == pivot || !self.is_later_better(best, span.last_ns, pivot_ns) {
                return true;
            }
            if self.lanes.iter().any(|lane| lane.head_ns().is_none()) {
                return self.is_settled(candidate);
            }
        }
        false
    }

    /// The heads, if all are there, with the first of the earliest and the last of the latest.
    fn heads(&self) -> Option<(Span, usize, usize)> {
        extremes(self.lanes.iter().map(LaneStamps::head_ns))
    }

    /// The heads become the candidate; what is before them is of no more use.
    fn choose(&mut self, span: Span, pivot: usize, pivot_ns: i64) -> Candidate {
        for lane in &mut self.lanes {
            let before = std::mem::take(&mut lane.passed);
            lane.drop_first(before);
        }
        let candidate = Candidate { span, pivot, pivot_ns };
        self.candidate = Some(candidate);
        candidate
    }

    /// Whether the candidate stays the best whatever comes on the lanes that have no head.
    fn is_settled(&mut self, candidate: Candidate) -> bool {
        let Candidate { span: best, pivot_ns, .. } = candidate;
        let Self { lanes, ahead, .. } = self;
        ahead.iter_mut().zip(lanes.iter()).for_each(|(ahead, lane)| *ahead = lane.passed);
        // Each round passes a message that is there: one without a head is not before the pivot.
        let rounds: usize = self.lanes.iter().map(|lane| lane.stamps_ns.len()).sum();
        for _ in 0..=rounds {
            let heads = self.lanes.iter().zip(&self.ahead);
            let heads = heads.map(|(lane, passed)| Some(lane.head_min_ns(*passed, pivot_ns)));
            let Some((span, earliest, _)) = extremes(heads) else { return false };
            if !self.is_later_better(best, span.last_ns, pivot_ns) {
                return true;
            }
            if self.is_later_better(best, span.last_ns, span.first_ns) {
                return false;
            }
            self.ahead[earliest] += 1;
        }
        false
    }

    fn is_too_long(&self, span: Span) -> bool {
        span.last_ns.saturating_sub(span.first_ns) > self.max_interval_ns
    }

    /// Whether a later set that ends and begins at these stamps is better: its end is later by
    /// less than its beginning is.
    fn is_later_better(&self, best: Span, last_ns: i64, first_ns: i64) -> bool {
        let later_end_ns = last_ns.saturating_sub(best.last_ns);
        // Rounded to whole ns, so that a share like 0.1 of a round number is a round number.
        let weighted_ns = match self.age_penalty {
            0.0 => later_end_ns,
            penalty => (later_end_ns as f64 * (1.0 + penalty)).round() as i64,
        };
        weighted_ns < first_ns.saturating_sub(best.first_ns)
    }
}

/// The span of all stamps, the first lane of the earliest and the last lane of the latest; `None`
/// when one is missing.
fn extremes(stamps_ns: impl Iterator<Item = Option<i64>>) -> Option<(Span, usize, usize)> {
    let mut found: Option<(Span, usize, usize)> = None;
    for (lane, stamp_ns) in stamps_ns.enumerate() {
        let stamp_ns = stamp_ns?;
        let (span, earliest, latest) =
            found.get_or_insert((Span { first_ns: stamp_ns, last_ns: stamp_ns }, lane, lane));
        if stamp_ns < span.first_ns {
            (span.first_ns, *earliest) = (stamp_ns, lane);
        }
        if stamp_ns >= span.last_ns {
            (span.last_ns, *latest) = (stamp_ns, lane);
        }
    }
    found
}

#[cfg(test)]
#[path = "approximate_tests.rs"]
mod tests;
