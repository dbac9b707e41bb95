//! Many topics, and many subscribers of a large one: how many messages arrive when, and what that
//! costs, with every subscriber asleep between messages. One loop for all systems.
//!
//! `layouts` says who publishes and takes what in which process; `run` starts the processes and
//! lets the systems measure in turn; `child` is one such process; a system is known only in
//! `crossdock` and `iceoryx`.

mod child;
mod crossdock;
mod iceoryx;
pub mod layouts;
mod payload;
mod run;

pub use child::be_child;
pub use layouts::Layout;
pub use run::{Contest, Outcome, measure};

use crate::Failure;
use crate::control::System;
use payload::Head;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// What all processes of a layout agree on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shape {
    /// Names the layout.
    pub name: String,
    /// Topics.
    pub topics: usize,
    /// Publishers of each topic.
    pub publishers: usize,
    /// Subscribers of each topic.
    pub subscribers: usize,
    /// Threads that have ports on one topic.
    pub threads_per_topic: usize,
    /// Length of every message.
    pub bytes: usize,
    /// Whether every byte is written and read, or only the first 64.
    pub touched: bool,
    /// Messages kept for a subscriber that is behind.
    pub depth: usize,
    /// Between two messages of a publisher.
    pub period_ns: u64,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Publishes on its topics, a timer releases it. The number: which of a topic's publishers it
    /// is.
    Publish(usize),
    /// Takes from its topics, asleep between messages.
    Subscribe,
}

/// One thread of one process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThreadPlan {
    /// Unique in the layout.
    pub number: usize,
    /// What it does.
    pub role: Role,
    /// The topics that it has ports on.
    pub topics: Range<usize>,
    /// The processor that it runs on.
    pub cpu: usize,
}

/// Everything that a process needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessPlan {
    /// What it does it with.
    pub system: System,
    /// Of the layout.
    pub shape: Shape,
    /// Its threads.
    pub threads: Vec<ThreadPlan>,
    /// Where the processes of this run meet.
    pub folder: PathBuf,
}

/// When publishers publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// All topics of all processes at the same moment, one after the other in each thread.
    AtOnce,
    /// The topics spread evenly over the period, each by a timer of its own.
    Staggered,
}

/// From the coordinator to a process: one block.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Block {
    /// Tells messages of this block from late ones of another.
    pub number: u32,
    /// When the first message is due, on the monotonic clock.
    pub begin_ns: u64,
    /// Messages per publisher.
    pub messages: u32,
    /// When they are due.
    pub release: Release,
}

/// From a process to the coordinator.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Done {
    /// Processor time and context switches.
    pub usage: crate::usage::Usage,
    /// Messages published.
    pub published: u64,
    /// Releases that were left out because the one before took more than a period too long.
    pub missed: u64,
    /// Messages taken.
    pub taken: u64,
    /// Payloads that the system says it has copied; for systems that say it.
    pub copies: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Mapped pieces of memory.
    pub maps: u64,
}

/// One message at one subscriber, as the thread writes it down: message number, time from its stamp
/// and from the moment that it was due until it was taken, and from its stamp until it was read; of
/// a publisher: message number, time of loan and of publish (with whatever tells the
/// subscribers), 0.
pub(crate) type Record = [u32; 4];

/// What one publish cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) loan_ns: u64,
    pub(crate) publish_ns: u64,
}

/// The publishers of one thread.
pub(crate) trait Outputs {
    /// Publishes on the topic at this place of the thread's, stamped as late as possible.
    fn publish(&mut self, place: usize, head: Head) -> Result<Cost, Failure>;
    /// Does everybody hear everybody?
    fn connected(&mut self) -> bool;
    /// Payloads copied so far, of systems that count them.
    fn copies(&self) -> u64 {
        0
    }
}

/// The subscribers of one thread.
pub(crate) trait Inputs {
    /// Sleeps until something comes, at most for `limit`, and calls `each` with every message that
    /// is there. May return without a message.
    fn sleep_and_take(
        &mut self,
        limit: Duration,
        each: &mut impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure>;
    /// Does everybody hear everybody?
    fn connected(&mut self) -> bool;
}

/// What is done with the ports of a thread once they are open.
pub(crate) trait Work {
    fn publish(self, outputs: &mut impl Outputs) -> Result<(), Failure>;
    fn subscribe(self, inputs: &mut impl Inputs) -> Result<(), Failure>;
}
