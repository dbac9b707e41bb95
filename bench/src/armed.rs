//! Publishing to many sleepers, each a thread of its own in one other process. Measured are the
//! publish call with all the wakes it causes, and the time until the last sleeper has its message.

use crate::Failure;
use crate::child::block;
use crate::control::{ChildPlan, Command, Control, Reply};
use crate::failure::While;
use crate::systems::shared_memory::SharedMemory;
use crate::systems::{Link, PATIENCE, Use, with_link};
use crate::usage::Usage;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time for the last sleeper to fall asleep again after it has counted its message.
const SETTLE: Duration = Duration::from_millis(1);

/// Where the sleepers count what they took, for the publisher to see.
fn arrivals(plan: &ChildPlan) -> Result<SharedMemory, Failure> {
    let path = plan.folder.join(format!("arrivals-{}", plan.case_name.replace('/', "-")));
    SharedMemory::open(&path, 4096)
}

/// The publisher's life.
pub fn publish(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    with_link(plan, Publishing { plan, control })
}

struct Publishing<'a> {
    plan: &'a ChildPlan,
    control: &'a mut Control,
}

impl Use for Publishing<'_> {
    fn run<L: Link>(self, link: &mut L) -> Result<(), Failure> {
        let (plan, control) = (self.plan, self.control);
        let arrivals = arrivals(plan)?;
        await_until("connecting", || link.connected(plan.subscribers))?;
        control.reply(&Reply::Ready)?;
        let mut number = 0;
        while let Some(Command::Run { warm_up, count }) = control.await_command()? {
            let mut round = || {
                std::thread::sleep(SETTLE);
                number += 1;
                let start = Instant::now();
                link.send(number)?;
                let published_ns = start.elapsed().as_nanos() as u64;
                let due = number * plan.subscribers as u64;
                await_until("waiting for the sleepers", || {
                    Ok(arrivals.counter(0).load(Ordering::Acquire) >= due)
                })?;
                Ok((published_ns, start.elapsed().as_nanos() as u64))
            };
            for _ in 0..warm_up {
                round()?;
            }
            let rounds: Result<Vec<(u64, u64)>, Failure> = (0..count).map(|_| round()).collect();
            let (samples_ns, seconds_ns): (Vec<u64>, Vec<u64>) = rounds?.into_iter().unzip();
            // Only the publish calls count: the waiting between them belongs to the benchmark.
            let usage = Usage { cpu_ns: samples_ns.iter().sum(), context_switches: 0 };
            control.reply(&Reply::Block { samples_ns, seconds_ns, usage })?;
        }
        // The sleepers have been told to end, and see that when they wake.
        link.send(number + 1)
    }
}

/// The sleepers' life.
pub fn sleep(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    let arrivals = &arrivals(plan)?;
    let (ending, connected) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let sleeper = || with_link(plan, Sleeping { arrivals, ending, connected });
        let mut threads: Vec<_> = (0..plan.subscribers).map(|_| scope.spawn(sleeper)).collect();
        let count = || connected.load(Ordering::Acquire);
        let started = await_until("starting the sleepers", || {
            match threads.iter().position(|thread| thread.is_finished()) {
                Some(ended) => end(threads.swap_remove(ended)).map(|()| false),
                None => Ok(count() == plan.subscribers),
            }
        });
        if let Err(failure) = started {
            let why = format!("{failure}; {} of {} are connected", count(), plan.subscribers);
            control.reply(&Reply::Failed(why))?;
            // The others sleep for ever: they go with the process.
            std::process::exit(1);
        }
        control.reply(&Reply::Ready)?;
        let mut before = Usage::now()?;
        while let Some(command) = control.await_command()? {
            match command {
                Command::Run { .. } => before = Usage::now()?,
                Command::Report => control.reply(&block(vec![], Usage::now()?.since(before)))?,
            }
        }
        ending.store(true, Ordering::Release);
        threads.into_iter().try_for_each(end)
    })
}

type Sleeper<'scope> = std::thread::ScopedJoinHandle<'scope, Result<(), Failure>>;

fn end(thread: Sleeper<'_>) -> Result<(), Failure> {
    thread.join().map_err(|_| Failure::new("sleeping", "a sleeper panicked"))?
}

struct Sleeping<'a> {
    arrivals: &'a SharedMemory,
    ending: &'a AtomicBool,
    connected: &'a AtomicUsize,
}

impl Use for Sleeping<'_> {
    fn run<L: Link>(self, link: &mut L) -> Result<(), Failure> {
        await_until("connecting", || link.connected(0))?;
        self.connected.fetch_add(1, Ordering::AcqRel);
        let mut number = 0;
        while !self.ending.load(Ordering::Acquire) {
            number += 1;
            link.receive(number)?;
            self.arrivals.counter(0).fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

fn await_until(
    doing: &str,
    mut done: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let start = Instant::now();
    while !done()? {
        (start.elapsed() < PATIENCE).then_some(()).during(doing)?;
        std::thread::yield_now();
    }
    Ok(())
}
