//! The systems under measurement behind one trait, so that one loop measures all of them. The loop
//! is compiled for each system on its own: no virtual call lies in a measured path.

pub mod copying;
pub mod crossdock;
pub mod floor;
pub mod iceoryx;
pub mod shared_memory;
pub mod udp;

use crate::Failure;
use crate::control::{ChildPlan, Role, System};
use std::time::{Duration, Instant};

/// Longest wait for something that must come, unless the other side is gone.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Looks between two readings of the clock in a bounded poll.
const LOOKS_PER_CLOCK_READ: u32 = 1 << 16;

/// One side's end: a topic that it publishes on and one that it takes from.
pub trait Link {
    /// True: `peers` subscribers listen to this side, and a publisher that it takes from is there.
    fn connected(&mut self, peers: usize) -> Result<bool, Failure>;

    /// Publishes message `number`. Does not wait.
    fn send(&mut self, number: u64) -> Result<(), Failure>;

    /// Takes message `number`, checks and drops it; waits for it in the way of the case.
    fn receive(&mut self, number: u64) -> Result<(), Failure>;

    /// Takes where nothing is expected. True: there was a message.
    fn poll(&mut self) -> Result<bool, Failure>;
}

/// What is done with a link once it is open.
pub trait Use {
    /// Uses the link until nothing is left to do.
    fn run<L: Link>(self, link: &mut L) -> Result<(), Failure>;
}

/// Names of the topic that this side publishes on and of the one that it takes from, if any.
pub struct Topics {
    /// Published on.
    pub out: Option<String>,
    /// Taken from.
    pub into: Option<String>,
}

impl Topics {
    /// The topics of a role: two for a round trip, one where messages flow one way.
    pub fn of(plan: &ChildPlan) -> Self {
        let in_case = |name: &String| format!("{}/{name}", plan.case_name);
        let there = || Some(format!("{}/there", plan.case_name));
        let back = || Some(format!("{}/back", plan.case_name));
        let (out, into) = match plan.role {
            Role::Ping => (there(), back()),
            Role::Pong => (back(), there()),
            Role::Publisher | Role::ArmedPublisher => (there(), None),
            Role::Subscribers | Role::Sleepers => (None, there()),
            Role::HandOver | Role::EmptyPoll => (there(), there()),
            Role::Head | Role::Relay | Role::Tail | Role::Nodes | Role::OneThread => {
                let way = &plan.way;
                (way.out.as_ref().map(in_case), way.into.first().map(in_case))
            }
        };
        Self { out, into }
    }
}

/// Opens the link of `plan` and hands it to `work`.
pub fn with_link(plan: &ChildPlan, work: impl Use) -> Result<(), Failure> {
    match plan.system {
        System::Floor | System::FloorWord | System::FloorEach | System::FloorTree => {
            floor::with_link(plan, work)
        }
        System::Iceoryx2 | System::Iceoryx2Waitset | System::Iceoryx2Listener => {
            iceoryx::with_link::<iceoryx2::prelude::ipc::Service>(plan, work)
        }
        System::Iceoryx2Local => {
            iceoryx::with_link::<iceoryx2::prelude::local::Service>(plan, work)
        }
        System::Crossdock
        | System::CrossdockSpin
        | System::CrossdockRing
        | System::CrossdockStamped
        | System::CrossdockEvent
        | System::CrossdockGraph => crossdock::with_link(plan, work),
        System::Udp => udp::with_link(plan, work),
        System::Shared => copying::with_link(plan, copying::Taker::Waiting, work),
        System::SharedThread => copying::with_link(plan, copying::Taker::Middleware, work),
        other => Err(Failure::new("opening a link", format!("{other:?} is another program's"))),
    }
}

/// What opens the links of a program: of this library's systems, or of a peer that is a program of
/// its own.
pub trait Opener {
    /// Opens the link of `plan` and hands it to `work`.
    fn open(&self, plan: &ChildPlan, work: impl Use) -> Result<(), Failure>;
}

/// The systems of this library.
#[derive(Debug)]
pub struct Builtin;

impl Opener for Builtin {
    fn open(&self, plan: &ChildPlan, work: impl Use) -> Result<(), Failure> {
        with_link(plan, work)
    }
}

/// Holds `plan.subscribers` connected subscribers that never run, while `work` is done.
pub fn with_subscribers(
    plan: &ChildPlan,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    match plan.system {
        System::Crossdock | System::CrossdockStamped => crossdock::with_subscribers(plan, work),
        System::Iceoryx2 => iceoryx::with_subscribers(plan, work),
        other => Err(Failure::new("holding subscribers", format!("{other:?} has none"))),
    }
}

/// Looks until something is there, with the processor's hint for waiting between two looks, for
/// [`PATIENCE`] at most.
#[inline]
pub fn poll_until<T>(mut look: impl FnMut() -> Result<Option<T>, Failure>) -> Result<T, Failure> {
    let mut since = None;
    loop {
        for _ in 0..LOOKS_PER_CLOCK_READ {
            if let Some(found) = look()? {
                return Ok(found);
            }
            std::hint::spin_loop();
        }
        if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return Err(Failure::new("polling for a message", format!("none in {PATIENCE:?}")));
        }
    }
}
