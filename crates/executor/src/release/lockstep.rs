//! Lockstep: a timer in a run without real-time pacing, which fires when the graph has answered the
//! last message of its node.

use crossdock_comm::{PublisherHandle, SubscriberHandle, TakeError};
use crossdock_graph::{InputPlan, TimerPlan};

use crate::clock::monotonic_ns;

/// A `header.stamp`: seconds and nanoseconds.
pub(crate) type Stamp = (i32, u32);

/// A timer of a node that is released by the command on one of its inputs.
#[derive(Debug)]
pub(crate) struct Lockstep {
    pub(crate) node: usize,
    pub(crate) timer: String,
    /// What its executions are called in traces.
    pub(crate) callback: u64,
    /// Place of the timer in the node's plan.
    pub(crate) place: u32,
    /// Simulated time from one release to the next, ns.
    pub(crate) period_ns: u64,
    /// Simulated time of the next release, ns.
    pub(crate) due_ns: u64,
    pub(crate) command: SubscriberHandle,
    /// Messages that can wait in the command's input.
    pub(crate) depth: usize,
    /// All outputs of the node, with the number of messages published on each so far.
    pub(crate) outputs: Vec<(PublisherHandle, u64)>,
    pub(crate) state: LockstepState,
    pub(crate) pace: Option<Pace>,
}

/// How fast simulated time may pass at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Real time from one release to the next, ns.
    period_ns: u64,
    /// The earliest time of the next release, on the clock that never jumps.
    not_before_ns: u64,
}

impl Pace {
    /// So many simulated seconds per second.
    pub(crate) fn new(rate: f64, period_ns: u64) -> Self {
        Self { period_ns: (period_ns as f64 / rate) as u64, not_before_ns: 0 }
    }

    /// Goes on to the next release. One that is late makes up for a period at most.
    fn advance(&mut self, now_ns: u64) {
        self.not_before_ns = self.not_before_ns.saturating_add(self.period_ns).max(now_ns);
    }
}

/// What a lockstep waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockstepState {
    /// Nothing: the timer is due.
    Due,
    /// The command with this stamp.
    Command(Stamp),
    /// Nothing will come any more: the run is to end.
    Ended,
}

impl Lockstep {
    /// The lockstep of a timer, due at once: nothing has been published that could be answered.
    pub(crate) fn new(
        node: usize,
        (place, timer, callback): (usize, &TimerPlan, u64),
        command: &InputPlan,
        handle: &SubscriberHandle,
        outputs: &[PublisherHandle],
        at_most: Option<f64>,
    ) -> Self {
        Self {
            node,
            timer: timer.name.clone(),
            callback,
            place: place as u32,
            period_ns: timer.period_ns,
            due_ns: timer.period_ns,
            command: handle.clone(),
            depth: command.qos.depth as usize,
            outputs: outputs.iter().map(|output| (output.clone(), 0)).collect(),
            state: LockstepState::Due,
            pace: at_most.map(|rate| Pace::new(rate, timer.period_ns)),
        }
    }

    /// For how long its release waits for real time, ns.
    pub(crate) fn rest_ns(&self) -> Option<u64> {
        let rest_ns = self.pace?.not_before_ns.saturating_sub(monotonic_ns());
        (rest_ns > 0).then_some(rest_ns)
    }

    /// Whether the timer is due. Older commands answer nothing that is still open; they are
    /// skipped.
    ///
    /// # Errors
    ///
    /// The command cannot be looked at: the node holds too many samples, or it is damaged.
    #[inline]
    pub(crate) fn is_due(&mut self) -> Result<bool, TakeError> {
        let wanted = match self.state {
            LockstepState::Ended => return self.discard().map(|()| false),
            _ if self.rest_ns().is_some() => return Ok(false),
            LockstepState::Due => return Ok(true),
            LockstepState::Command(wanted) => wanted,
        };
        for _ in 0..=self.depth {
            match self.command.peek_header_stamp()? {
                Some(stamp) if stamp < wanted => self.command.skip()?,
                Some(_) => {
                    self.state = LockstepState::Due;
                    return Ok(true);
                }
                None => return Ok(false),
            };
        }
        Ok(false)
    }

    /// It is released: the next one has its earliest time.
    pub(crate) fn begin(&mut self) -> &Self {
        if let Some(pace) = &mut self.pace {
            pace.advance(monotonic_ns());
        }
        self
    }

    /// Whether the next release lies after this simulated time. A period is a rounded number of
    /// nanoseconds, so that the last release of a whole second may be due a little after it.
    pub(crate) fn is_after(&self, end_ns: u64) -> bool {
        self.due_ns > end_ns.saturating_add(self.period_ns / 2)
    }

    /// Passes over the commands that answer the last outputs of a run that is over, so that it can
    /// be seen from outside that nothing is in flight any more.
    fn discard(&mut self) -> Result<(), TakeError> {
        for _ in 0..=self.depth {
            if !self.command.skip()? {
                break;
            }
        }
        self.command.mark_processed();
        Ok(())
    }

    /// The answer to what its node published last may never come: it goes on without. A late one
    /// answers nothing any more. Whether it was waiting for one.
    pub(crate) fn resume(&mut self) -> bool {
        let is_waiting = matches!(self.state, LockstepState::Command(_));
        if is_waiting {
            self.state = LockstepState::Due;
        }
        is_waiting
    }

    /// An earlier life of its process has made the time up to this one: it goes on behind that,
    /// because stamps on a topic only rise. Before the first release.
    pub(crate) fn go_on_behind(&mut self, made_ns: u64) {
        self.due_ns = made_ns.saturating_add(self.period_ns);
    }

    /// Whether there is something that [`is_due`](Self::is_due) has to look at.
    pub(crate) fn may_be_due(&self) -> bool {
        match self.state {
            LockstepState::Ended => self.command.is_ready(),
            _ if self.rest_ns().is_some() => false,
            LockstepState::Due => true,
            LockstepState::Command(_) => self.command.is_ready(),
        }
    }

    /// After the node has run: what it waits for next is the answer to the newest message that it
    /// has just published; a run that published nothing with a stamp needs no answer.
    pub(crate) fn settle(&mut self) {
        let mut newest = None;
        for (output, published) in &mut self.outputs {
            if output.published() != *published {
                *published = output.published();
                newest = newest.max(output.last_header_stamp());
            }
        }
        self.state = newest.map_or(LockstepState::Due, LockstepState::Command);
        self.due_ns = self.due_ns.saturating_add(self.period_ns);
    }
}
