//! A network in virtual time.

use crate::loaded::{Access, Clock, Handle, HostRun, LoadedPort, Sink, Source};
use std::sync::Arc;

/// The end of virtual time. Periods are at most as long, so that no sum of two wraps.
const TIME_END_PS: u64 = 1 << 62;
/// Cycles of the slowest clock in which a register is answered for: several times the way through
/// two crossings.
const ANSWER_CYCLES: u64 = 64;

/// A stream at the edge of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Prefix of its signals.
    pub name: String,
    /// Topic.
    pub topic: String,
    /// Bits of a beat.
    pub width_bits: u32,
    /// Index of its clock.
    pub clock: usize,
    /// Longest payload.
    pub payload_bytes_max: u32,
    /// For the headers of a publisher; 0 for a subscriber.
    pub publisher_id: u16,
    /// Messages go into the network here; else they come out.
    pub publishes: bool,
}

impl From<LoadedPort> for Port {
    fn from(port: LoadedPort) -> Self {
        let LoadedPort { name, topic, width_bits, clock, payload_bytes_max, .. } = port;
        let (publisher_id, publishes) = (port.publisher_id, port.publishes);
        Self { name, topic, width_bits, clock, payload_bytes_max, publisher_id, publishes }
    }
}

/// Why a run came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A source has sent its message or a sink has one.
    Done,
    /// No clock has an edge left up to the time that was given.
    Time,
    /// Nothing will happen on the board until its host does something. Only if that was asked
    /// for.
    Idle,
}

/// What was asked of a network cannot be done, and nothing has happened; or a node is not as it has
/// to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// There is no such port, or it is of the other direction.
    #[error("no port {port} {wanted} ({ports} ports): take a number of `network.h`")]
    Port {
        /// The number that was given.
        port: u32,
        /// What the port should do.
        wanted: &'static str,
        /// Ports of the network.
        ports: usize,
    },
    /// Two sources or two sinks name one port.
    #[error("port {port} is named twice in one run: name it once")]
    Twice {
        /// The number of the port.
        port: u32,
    },
    /// A frame has no byte.
    #[error("the frame for port {port} is empty; it needs its header at least")]
    Empty {
        /// The number of the port.
        port: u32,
    },
    /// A node of the board has something to do and does not say so.
    #[error(
        "node `{node}` goes on of its own accord although its `busy` was low and no stream of it \
         offered a beat for 255 cycles: in a simulation its clock stands still then, and what it has \
         to do is never done. Let its module raise `busy` while it has something to do \
         (docs/formats/hardware-package.md)"
    )]
    Late {
        /// Its name in the graph.
        node: String,
    },
    /// There is no such word to read.
    #[error("there is no register at address {address:#x}: take an address of `registers.md`")]
    Register {
        /// The byte address that was given.
        address: u32,
    },
    /// The port for registers does not answer.
    #[error(
        "the board has not answered for its register at address {address:#x} in {cycles} cycles of \
         its slowest clock: remove the folder of built networks and start again"
    )]
    Silent {
        /// The byte address.
        address: u32,
        /// How long was waited.
        cycles: u64,
    },
    /// A restart does not come to its end.
    #[error(
        "the restart of the board has not ended in {cycles} cycles of its slowest clock: host memory \
         does not answer for a burst, or one of the board's clocks stands still; reset the board \
         by its input `rst`"
    )]
    Restart {
        /// How long was waited.
        cycles: u64,
    },
    /// Virtual time has an end.
    #[error(
        "a run cannot go on until {until_ps} ps: virtual time ends at 2^62 ps, choose an earlier \
         time"
    )]
    Time {
        /// The time that was given.
        until_ps: u64,
    },
}

/// A network in simulation.
///
/// Time is virtual, in picoseconds from 0 on; clocks tick with their periods whatever the calls.
/// One thread at a time uses a model. Nothing blocks or allocates.
///
/// A run goes from edge to edge. Before each edge, what feeds the network offers its next beat; at
/// the edge beats pass; after it, what is done stops the run. Beats of the sinks' ports that are
/// not named in a run wait in the network: that is back-pressure.
pub struct Model {
    handle: Handle,
    ports: Arc<[Port]>,
    clocks: Box<[Clock]>,
    now_ps: u64,
    edges: u64,
    /// The last run ended because nothing happened.
    is_idle: bool,
}

impl Model {
    pub(crate) fn new(handle: Handle, ports: Arc<[Port]>, periods_ps: &[u64]) -> Self {
        let clock = |period: &u64| Clock { period_ps: *period, next_ps: *period };
        let clocks = periods_ps.iter().map(clock).collect();
        Self { handle, ports, clocks, now_ps: 0, edges: 0, is_idle: false }
    }

    /// The time of the last edge, or the time up to which the last run went without one.
    #[must_use]
    pub fn now_ps(&self) -> u64 {
        self.now_ps
    }

    /// Edges so far; edges of several clocks at one time are one.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Lets time pass until a source or sink is done, or no edge is left up to `until_ps`. Sources
    /// and sinks that are done are passed over; the others go on in the next run that names them.
    ///
    /// # Errors
    /// What was asked cannot be done, and nothing has happened; or [`RunError::Late`], after which
    /// the simulation is of no use.
    pub fn run(
        &mut self,
        sources: &mut [Source<'_>],
        sinks: &mut [Sink<'_>],
        until_ps: u64,
    ) -> Result<Stop, RunError> {
        self.run_with(sources, sinks, &mut HostRun::default(), until_ps)
    }

    /// The same beside what a board's host does: accesses to its registers, and waiting for its
    /// doorbell.
    pub(crate) fn run_with(
        &mut self,
        sources: &mut [Source<'_>],
        sinks: &mut [Sink<'_>],
        host: &mut HostRun<'_>,
        until_ps: u64,
    ) -> Result<Stop, RunError> {
        let ran = self.handle.run(&mut self.clocks, sources, sinks, host, until_ps, self.now_ps);
        let Some(ran) = ran else { return Err(self.refusal(sources, sinks, until_ps)) };
        self.edges += ran.edges;
        self.is_idle = ran.idle;
        if let Some(node) = ran.late {
            return Err(RunError::Late { node });
        }
        if ran.idle {
            self.now_ps = self.now_ps.max(ran.now_ps);
            return Ok(Stop::Idle);
        }
        if ran.done {
            self.now_ps = ran.now_ps;
            return Ok(Stop::Done);
        }
        self.now_ps = self.now_ps.max(until_ps);
        Ok(Stop::Time)
    }

    /// Lets time pass up to this moment without simulating it: the clocks go on afterwards as if
    /// their edges had come. False, and nothing has happened, unless the last run ended idle, time
    /// would go back, or its end would be passed.
    pub(crate) fn skip_to(&mut self, now_ps: u64) -> bool {
        if !self.is_idle || now_ps < self.now_ps || now_ps > TIME_END_PS {
            return false;
        }
        for clock in &mut self.clocks {
            // An edge at that moment has passed, as in a run up to it.
            if let Some(since_ps) = now_ps.checked_sub(clock.next_ps) {
                clock.next_ps += (since_ps / clock.period_ps + 1) * clock.period_ps;
            }
        }
        self.now_ps = now_ps;
        true
    }

    /// Reads and writes registers of a board, one after the other, `cycles` of its own clock each,
    /// while no source or sink takes part.
    ///
    /// # Errors
    /// There is no such register, or no answer; or as [`Model::run`].
    pub(crate) fn access(&mut self, accesses: &mut [Access], cycles: u32) -> Result<(), RunError> {
        let longest_ps = self.slowest_ps().saturating_mul(ANSWER_CYCLES.max(cycles.into()));
        let all_ps = longest_ps.saturating_mul(accesses.len() as u64);
        let until_ps = self.now_ps.saturating_add(all_ps).min(TIME_END_PS);
        let mut host = HostRun { accesses, cycles, ..HostRun::default() };
        if !host.accesses.is_empty() {
            self.run_with(&mut [], &mut [], &mut host, until_ps)?;
        }
        let HostRun { accesses, done, .. } = host;
        match accesses.iter().enumerate().find(|(at, it)| *at >= done as usize || !it.is_good()) {
            Some((at, access)) if at < done as usize => {
                Err(RunError::Register { address: access.address() })
            }
            Some((_, access)) => {
                Err(RunError::Silent { address: access.address(), cycles: ANSWER_CYCLES })
            }
            None => Ok(()),
        }
    }

    /// The period of its own clock, which is the first.
    pub(crate) fn period_ps(&self) -> u64 {
        self.clocks.first().map_or(1, |clock| clock.period_ps)
    }

    /// The longest period of its clocks.
    pub(crate) fn slowest_ps(&self) -> u64 {
        self.clocks.iter().map(|clock| clock.period_ps).max().unwrap_or(1)
    }

    /// The simulation behind it, for the host of a board.
    pub(crate) fn handle(&mut self) -> &mut Handle {
        &mut self.handle
    }

    /// Why the network refuses what it was asked.
    fn refusal(&self, sources: &[Source<'_>], sinks: &[Sink<'_>], until_ps: u64) -> RunError {
        let mut seen = vec![false; self.ports.len()];
        let sources = sources.iter().map(|it| (it.port(), true, it.bytes() == 0));
        let sinks = sinks.iter().map(|it| (it.port(), false, false));
        for (port, publishes, is_empty) in sources.chain(sinks) {
            let found = self.ports.get(port as usize);
            if found.is_none_or(|found| found.publishes != publishes) {
                let wanted = if publishes { "publishes" } else { "subscribes" };
                return RunError::Port { port, wanted, ports: self.ports.len() };
            }
            if is_empty {
                return RunError::Empty { port };
            }
            if std::mem::replace(&mut seen[port as usize], true) {
                return RunError::Twice { port };
            }
        }
        RunError::Time { until_ps }
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("now_ps", &self.now_ps).finish_non_exhaustive()
    }
}
