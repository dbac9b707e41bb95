//! A child process: one role in one case. Loops of measurement are here and nowhere else.

use crate::control::{ChildPlan, Command, Control, Reply, Role, System};
use crate::machine::pin;
use crate::systems::{Builtin, Link, Opener, PATIENCE, Use, with_subscribers};
use crate::usage::Usage;
use crate::{Failure, armed, calls, nodes, rounds};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Runs the child's whole life. Failures go to the coordinator.
pub fn run(plan: &ChildPlan) {
    live(plan, |control| play(plan, control));
}

/// The same in the program of a peer, which opens its own links.
pub fn run_peer(plan: &ChildPlan, opener: &impl Opener) {
    live(plan, |control| with_opener(plan, opener, control));
}

/// Pins this process to its processor and does `work`. Failures go to the coordinator.
pub fn live(plan: &ChildPlan, work: impl FnOnce(&mut Control) -> Result<(), Failure>) {
    let mut control = Control;
    let outcome = pin(plan.cpu).and_then(|()| work(&mut control));
    if let Err(failure) = outcome {
        // When the coordinator is gone there is nobody left to tell.
        let _ = control.reply(&Reply::Failed(failure.to_string()));
    }
}

fn play(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    match plan.role {
        Role::ArmedPublisher => armed::publish(plan, control),
        Role::Sleepers => armed::sleep(plan, control),
        Role::Subscribers => with_subscribers(plan, || {
            control.reply(&Reply::Ready)?;
            idle(control)
        }),
        Role::Nodes => nodes::serve(plan, control),
        Role::OneThread if plan.system == System::Calls => calls::measure(plan, control),
        Role::OneThread => nodes::one_thread(plan, control),
        _ => with_opener(plan, &Builtin, control),
    }
}

fn with_opener(
    plan: &ChildPlan,
    opener: &impl Opener,
    control: &mut Control,
) -> Result<(), Failure> {
    match plan.role {
        Role::Head => rounds::head(plan, opener, control),
        Role::Tail => rounds::tail(plan, opener, control),
        _ => opener.open(plan, Measure { plan, control }),
    }
}

/// Takes part in every block without doing anything.
pub fn idle(control: &mut Control) -> Result<(), Failure> {
    while control.await_command()?.is_some() {
        control.reply(&block(vec![], Usage::default()))?;
    }
    Ok(())
}

struct Measure<'a> {
    plan: &'a ChildPlan,
    control: &'a mut Control,
}

impl Use for Measure<'_> {
    fn run<L: Link>(self, link: &mut L) -> Result<(), Failure> {
        let (plan, control) = (self.plan, self.control);
        let peers = match plan.role {
            Role::Publisher => plan.subscribers,
            Role::Relay => plan.way.listeners,
            _ => 1,
        };
        await_connection(link, peers)?;
        let mut number = 1;
        blocks(control, |samples| match plan.role {
            Role::Ping => ping(link, &mut number, samples),
            Role::Pong | Role::Relay => pong(link, &mut number, samples),
            Role::Publisher => batches(samples, plan.batch, || send_next(link, &mut number)),
            Role::HandOver => batches(samples, plan.batch, || {
                send_next(link, &mut number)?;
                link.receive(number - 1)
            }),
            _ => batches(samples, plan.batch, || match link.poll()? {
                true => Err(Failure::new("polling", "there is a message")),
                false => Ok(()),
            }),
        })
    }
}

/// Says that this side is ready and takes part in every block: `measure` takes as many samples as
/// it is told, first those of the warm-up.
pub fn blocks(
    control: &mut Control,
    mut measure: impl FnMut(u32) -> Result<Vec<u64>, Failure>,
) -> Result<(), Failure> {
    control.reply(&Reply::Ready)?;
    while let Some(Command::Run { warm_up, count }) = control.await_command()? {
        measure(warm_up)?;
        let before = Usage::now()?;
        let samples_ns = measure(count)?;
        control.reply(&block(samples_ns, Usage::now()?.since(before)))?;
    }
    Ok(())
}

/// What a side without a second measurement answers.
pub fn block(samples_ns: Vec<u64>, usage: Usage) -> Reply {
    Reply::Block { samples_ns, seconds_ns: vec![], usage }
}

/// Waits until a link has who it is for.
pub fn await_connection<L: Link + ?Sized>(link: &mut L, peers: usize) -> Result<(), Failure> {
    let start = Instant::now();
    while !link.connected(peers)? {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new("connecting", format!("not done after {PATIENCE:?}")));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// One clock reading per round trip: the end of one is the start of the next.
fn ping<L: Link>(link: &mut L, number: &mut u64, count: u32) -> Result<Vec<u64>, Failure> {
    let mut samples_ns = vec![0; count as usize];
    let mut before = Instant::now();
    for sample in &mut samples_ns {
        link.send(*number)?;
        link.receive(*number)?;
        *number += 1;
        let now = Instant::now();
        *sample = (now - before).as_nanos() as u64;
        before = now;
    }
    Ok(samples_ns)
}

fn pong<L: Link>(link: &mut L, number: &mut u64, count: u32) -> Result<Vec<u64>, Failure> {
    for _ in 0..count {
        link.receive(*number)?;
        link.send(*number)?;
        *number += 1;
    }
    Ok(vec![])
}

#[inline]
fn send_next<L: Link>(link: &mut L, number: &mut u64) -> Result<(), Failure> {
    link.send(*number)?;
    *number += 1;
    Ok(())
}

/// Each sample is the time of `batch` operations.
fn batches(
    count: u32,
    batch: u32,
    mut operation: impl FnMut() -> Result<(), Failure>,
) -> Result<Vec<u64>, Failure> {
    let mut samples_ns = vec![0; count as usize];
    for sample in &mut samples_ns {
        let start = Instant::now();
        for _ in 0..batch {
            black_box(operation())?;
        }
        *sample = start.elapsed().as_nanos() as u64;
    }
    Ok(samples_ns)
}
