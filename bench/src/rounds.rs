//! Messages that go through several nodes: the head publishes one and waits on a word of shared
//! memory until the last node has what came of it. The word is the same for every system, so that
//! it costs all of them the same: one wake and one context switch per round.

use crate::Failure;
use crate::child::{await_connection, blocks};
use crate::control::{ChildPlan, Control, Way};
use crate::failure::While;
use crate::systems::shared_memory::SharedMemory;
use crate::systems::{Link, Opener, PATIENCE, Use};
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::atomic::Ordering::{Acquire, Release};

/// The word and the time behind it have a page of their own.
const BYTES: usize = 4096;
/// Where the time of the arrival is.
const TIME_AT: usize = 64;

/// The monotonic clock, which all processes of a machine share.
#[inline]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Where the last node tells the head that a message has arrived.
#[derive(Debug)]
pub struct Gate(SharedMemory);

impl Gate {
    /// Of the case of `plan`.
    pub fn open(plan: &ChildPlan) -> Result<Self, Failure> {
        let path = plan.folder.join(format!("gate-{}", plan.case_name.replace('/', "-")));
        SharedMemory::open(&path, BYTES).map(Self)
    }

    /// Message `number` is there since `time_ns`.
    pub fn arrived(&self, number: u64, time_ns: u64) -> Result<(), Failure> {
        // Release: pairs with the load in `wait`, so that the time is seen with the number.
        self.0.counter(TIME_AT).store(time_ns, Release);
        self.0.word(0).store(number as u32, Release);
        futex::wake(self.0.word(0), futex::Flags::empty(), 1).during("waking the head").map(drop)
    }

    /// Waits for message `number`; when it arrived.
    pub fn wait(&self, number: u64) -> Result<u64, Failure> {
        let word = self.0.word(0);
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        loop {
            let seen = word.load(Acquire);
            if seen == number as u32 {
                return Ok(self.0.counter(TIME_AT).load(Acquire));
            }
            match futex::wait(word, futex::Flags::empty(), seen, Some(&patience)) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => {
                    return Err(Failure::new(format!("waiting for message {number}"), error));
                }
            }
        }
    }
}

/// Publishes the messages; a sample is the time until the last node has one.
pub fn head(plan: &ChildPlan, opener: &impl Opener, control: &mut Control) -> Result<(), Failure> {
    opener.open(plan, Head { plan, control })
}

struct Head<'a> {
    plan: &'a ChildPlan,
    control: &'a mut Control,
}

impl Use for Head<'_> {
    fn run<L: Link>(self, link: &mut L) -> Result<(), Failure> {
        let gate = Gate::open(self.plan)?;
        await_connection(link, self.plan.way.listeners)?;
        serve(self.control, &gate, |number| link.send(number))
    }
}

/// The life of a head that publishes with `send`, once it is connected.
pub fn serve(
    control: &mut Control,
    gate: &Gate,
    mut send: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut number = 0;
    let mut round = || {
        number += 1;
        let sent_ns = now_ns();
        send(number)?;
        Ok(gate.wait(number)?.saturating_sub(sent_ns))
    };
    blocks(control, |samples| (0..samples).map(|_| round()).collect())
}

/// Takes a message of each topic, one topic after the other: asleep on one, it is not woken by
/// those that come on others.
pub fn tail(plan: &ChildPlan, opener: &impl Opener, control: &mut Control) -> Result<(), Failure> {
    let only = |name: &String| ChildPlan {
        way: Way { into: vec![name.clone()], ..plan.way.clone() },
        ..plan.clone()
    };
    let plans: Vec<ChildPlan> = plan.way.into.iter().map(only).collect();
    let (first, rest) = plans.split_first().during("finding the topics")?;
    opener.open(first, Tail { opener, rest, links: vec![], plan, control })
}

struct Tail<'a, O> {
    opener: &'a O,
    rest: &'a [ChildPlan],
    links: Vec<&'a mut dyn Link>,
    plan: &'a ChildPlan,
    control: &'a mut Control,
}

impl<O: Opener> Use for Tail<'_, O> {
    fn run<L: Link>(self, link: &mut L) -> Result<(), Failure> {
        let Tail { opener, rest, links, plan, control } = self;
        let mut links: Vec<&mut dyn Link> =
            links.into_iter().map(|link| link as &mut dyn Link).collect();
        links.push(link);
        if let Some((next, rest)) = rest.split_first() {
            return opener.open(next, Tail { opener, rest, links, plan, control });
        }
        let gate = Gate::open(plan)?;
        for link in &mut links {
            await_connection(*link, 0)?;
        }
        let mut number = 0;
        let mut round = || {
            number += 1;
            links.iter_mut().try_for_each(|link| link.receive(number))?;
            gate.arrived(number, now_ns())
        };
        blocks(control, |samples| {
            (0..samples).try_for_each(|_| round())?;
            Ok(vec![])
        })
    }
}
