//! Which cases a run measures, and for how long.

use crate::control::{Mode, Role, System};
use crate::machine::Cores;
use serde::{Deserialize, Serialize};

/// What one sample of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A message from one process to another: half of a round trip.
    OneWay,
    /// Loan, number written, publish; the subscribers do not run.
    Publish,
    /// Publish with the wakes that it causes.
    PublishArmed,
    /// From the start of publishing until the last sleeper has its message.
    LastOfArmed,
    /// Publish, take and drop on one thread.
    HandOver,
    /// Take where there is nothing.
    EmptyPoll,
}

/// What is measured of several systems in turn.
#[derive(Debug, Clone)]
pub struct Case {
    /// What a sample is.
    pub operation: Operation,
    /// How receivers wait.
    pub mode: Mode,
    /// Where the processes run.
    pub cores: Cores,
    /// Length of every message.
    pub payload_bytes: usize,
    /// Subscribers on the topic.
    pub subscribers: usize,
    /// Whether payloads are written and read.
    pub touched: bool,
    /// Operations per sample.
    pub batch: u32,
    /// Who takes part.
    pub systems: Vec<System>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// Under a minute: the cases that the targets are about, few blocks.
    Quick,
    /// Everything.
    Full,
}

/// Length of a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Schedule {
    /// Blocks of each system in each case, alternating.
    pub blocks: u32,
    /// Aimed length of a block.
    pub block_ms: u64,
    /// Most samples in a block.
    pub samples_per_block_max: u32,
    /// Fewest samples in a block.
    pub samples_per_block_min: u32,
}

/// How long a receiver spins before it sleeps, where that is measured.
pub const SPIN_US: u32 = 50;

/// Sleepers of the case in which the floor wakes one after the other.
pub const WOKEN_EACH: usize = 64;

/// Subscribers of the large topic that publishing shall not notice.
pub const FAN_OUT: usize = 200;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

impl Extent {
    /// Blocks and their length.
    pub fn schedule(self) -> Schedule {
        let (blocks, block_ms) = match self {
            Extent::Quick => (6, 25),
            Extent::Full => (24, 75),
        };
        Schedule { blocks, block_ms, samples_per_block_max: 20_000, samples_per_block_min: 20 }
    }

    fn payloads(self) -> Vec<(usize, bool)> {
        match self {
            Extent::Quick => vec![(64, false), (MIB, true), (8 * MIB, true)],
            Extent::Full => {
                let sizes = [64, 4 * KIB, 64 * KIB, MIB, 8 * MIB];
                sizes.into_iter().flat_map(|size| [(size, false), (size, true)]).collect()
            }
        }
    }

    /// All cases, in the order in which they run.
    pub fn cases(self) -> Vec<Case> {
        let mut cases = vec![];
        let placements = [
            (Mode::Poll, Cores::Different),
            (Mode::Poll, Cores::Siblings),
            (Mode::Wake, Cores::Same),
            (Mode::Wake, Cores::Different),
        ];
        for (mode, cores) in placements {
            for (payload_bytes, touched) in self.payloads() {
                cases.push(one_way(mode, cores, payload_bytes, touched));
            }
        }
        for subscribers in [0, 1, 8, 32, 128] {
            cases.push(Case {
                operation: Operation::Publish,
                subscribers,
                batch: 64,
                ..single(vec![System::Crossdock, System::Iceoryx2, System::CrossdockStamped])
            });
        }
        for subscribers in [1, FAN_OUT] {
            cases.push(Case {
                operation: Operation::Publish,
                payload_bytes: 8 * MIB,
                subscribers,
                batch: 8,
                ..single(vec![System::Crossdock])
            });
        }
        let armed = [1, 8, 32, WOKEN_EACH, 128].into_iter();
        let armed = armed.filter(|&n| self == Extent::Full || n >= WOKEN_EACH);
        cases.extend(armed.map(publish_armed));
        cases.push(Case {
            operation: Operation::HandOver,
            batch: 64,
            ..single(vec![
                System::Crossdock,
                System::CrossdockStamped,
                System::CrossdockRing,
                System::Iceoryx2,
                System::Iceoryx2Local,
            ])
        });
        cases.push(Case {
            operation: Operation::EmptyPoll,
            batch: 1024,
            ..single(vec![System::Crossdock, System::CrossdockRing, System::Iceoryx2])
        });
        cases
    }
}

fn one_way(mode: Mode, cores: Cores, payload_bytes: usize, touched: bool) -> Case {
    let mut systems = match mode {
        Mode::Poll => vec![System::Crossdock, System::Iceoryx2, System::Floor],
        Mode::Wake => vec![
            System::Crossdock,
            System::Iceoryx2Waitset,
            System::Floor,
            System::Iceoryx2Listener,
        ],
    };
    if mode == Mode::Poll && payload_bytes == 64 && !touched {
        systems.push(System::FloorWord);
    }
    // On one core a spin only keeps the sender from running.
    if mode == Mode::Wake && cores == Cores::Different {
        systems.push(System::CrossdockSpin);
    }
    Case {
        operation: Operation::OneWay,
        mode,
        cores,
        payload_bytes,
        subscribers: 1,
        touched,
        batch: 1,
        systems,
    }
}

/// A case of short operations in one thread.
fn single(systems: Vec<System>) -> Case {
    Case {
        operation: Operation::HandOver,
        mode: Mode::Poll,
        cores: Cores::Same,
        payload_bytes: 64,
        subscribers: 1,
        touched: false,
        batch: 1,
        systems,
    }
}

fn publish_armed(subscribers: usize) -> Case {
    let mut systems =
        vec![System::Crossdock, System::Iceoryx2Waitset, System::Floor, System::Iceoryx2Listener];
    if subscribers == WOKEN_EACH {
        systems.extend([System::FloorEach, System::FloorTree]);
    }
    Case {
        operation: Operation::PublishArmed,
        mode: Mode::Wake,
        cores: Cores::Different,
        subscribers,
        ..single(systems)
    }
}

impl Case {
    /// The role that measures, then the role beside it, if it takes two processes.
    pub fn roles(&self) -> (Role, Option<Role>) {
        match self.operation {
            Operation::OneWay => (Role::Ping, Some(Role::Pong)),
            Operation::Publish if self.subscribers == 0 => (Role::Publisher, None),
            Operation::Publish => (Role::Publisher, Some(Role::Subscribers)),
            Operation::PublishArmed | Operation::LastOfArmed => {
                (Role::ArmedPublisher, Some(Role::Sleepers))
            }
            Operation::HandOver => (Role::HandOver, None),
            Operation::EmptyPoll => (Role::EmptyPoll, None),
        }
    }

    /// Messages that one sample stands for.
    pub fn messages_per_sample(&self) -> f64 {
        match self.operation {
            Operation::OneWay => 2.0,
            _ => f64::from(self.batch),
        }
    }

    /// Names the case in file names and in progress.
    pub fn name(&self) -> String {
        let part = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let of = |value: Option<serde_json::Value>| value.map(part).unwrap_or_default();
        let operation = of(serde_json::to_value(self.operation).ok());
        let (mode, cores) =
            (of(serde_json::to_value(self.mode).ok()), of(serde_json::to_value(self.cores).ok()));
        let touched = if self.touched { "touched" } else { "untouched" };
        let (bytes, subscribers) = (self.payload_bytes, self.subscribers);
        format!("{operation}-{mode}-{cores}-{bytes}-{touched}-{subscribers}")
    }
}
