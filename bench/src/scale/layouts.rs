//! Who publishes and takes what in which process, and on which processor. Knows no system.

use super::{Role, Shape, ThreadPlan};
use std::ops::Range;

/// Topics of the layouts with many.
pub const TOPICS: usize = 200;
/// Between two messages of a publisher: 100 Hz.
const PERIOD_NS: u64 = 10_000_000;
/// Length of their messages.
const BYTES: usize = 1024;
/// Messages kept for a subscriber that is behind.
const DEPTH: usize = 4;

/// Topics of one process of the layout `apart`.
const TOPICS_APART: usize = 10;

/// Publishing and subscribing threads that have all topics.
const PUBLISHING: usize = 2;
const SUBSCRIBING: usize = 8;

/// Length of a message of the fan-out.
pub const LARGE_BYTES: usize = 8 << 20;
/// Between two of them: 30 Hz.
const LARGE_PERIOD_NS: u64 = 33_333_333;
/// Processes that the subscribers of the fan-out are dealt out to.
const FAN_OUT_PROCESSES: usize = 8;

/// The processes of a system.
#[derive(Debug, Clone)]
pub struct Layout {
    /// What all of them agree on.
    pub shape: Shape,
    /// The threads of each process.
    pub processes: Vec<Vec<ThreadPlan>>,
}

struct Builder {
    cpus: [usize; 2],
    threads: usize,
    processes: Vec<Vec<ThreadPlan>>,
}

impl Builder {
    fn new(cpus: [usize; 2]) -> Self {
        Self { cpus, threads: 0, processes: vec![] }
    }

    fn thread(&mut self, role: Role, topics: Range<usize>, turn: usize) -> ThreadPlan {
        self.threads += 1;
        ThreadPlan { number: self.threads - 1, role, topics, cpu: self.cpus[turn % 2] }
    }

    fn process(&mut self, role: Role, topics: Range<usize>, turn: usize) {
        let thread = self.thread(role, topics, turn);
        self.processes.push(vec![thread]);
    }

    fn finish(self, shape: Shape) -> Layout {
        Layout { shape, processes: self.processes }
    }
}

fn shape(name: &str, publishers: usize, subscribers: usize) -> Shape {
    Shape {
        name: name.to_owned(),
        topics: TOPICS,
        publishers,
        subscribers,
        threads_per_topic: publishers + subscribers,
        bytes: BYTES,
        touched: false,
        depth: DEPTH,
        period_ns: PERIOD_NS,
    }
}

/// 20 processes that publish 10 topics each, 40 that take 10 topics each: every topic has its
/// publisher and its two subscribers in three processes. A topic's subscribers run on different
/// processors, publishers on either in turn.
pub fn apart(cpus: [usize; 2]) -> Layout {
    let mut builder = Builder::new(cpus);
    for part in 0..TOPICS / TOPICS_APART {
        let topics = part * TOPICS_APART..(part + 1) * TOPICS_APART;
        builder.process(Role::Publish(0), topics.clone(), part);
        builder.process(Role::Subscribe, topics.clone(), 0);
        builder.process(Role::Subscribe, topics, 1);
    }
    builder.finish(shape("apart", 1, 2))
}

/// 2 processes that publish and 8 that take, all topics each, on the processors in turn.
pub fn two_and_eight(cpus: [usize; 2]) -> Layout {
    let mut builder = Builder::new(cpus);
    for publisher in 0..PUBLISHING {
        builder.process(Role::Publish(publisher), 0..TOPICS, publisher);
    }
    for subscriber in 0..SUBSCRIBING {
        builder.process(Role::Subscribe, 0..TOPICS, subscriber);
    }
    builder.finish(shape("two_and_eight", PUBLISHING, SUBSCRIBING))
}

/// The same as ten threads of one process.
pub fn together(cpus: [usize; 2]) -> Layout {
    let mut layout = two_and_eight(cpus);
    layout.shape.name = "together".to_owned();
    layout.processes = vec![layout.processes.into_iter().flatten().collect()];
    layout
}

/// One publisher of a large topic on one processor; its subscribers, each a thread that sleeps by
/// itself, in at most 8 processes, which are on the processors in turn, beginning with the other
/// one.
pub fn fan_out(subscribers: usize, touched: bool, cpus: [usize; 2]) -> Layout {
    let mut builder = Builder::new(cpus);
    builder.process(Role::Publish(0), 0..1, 0);
    let processes = subscribers.min(FAN_OUT_PROCESSES);
    for process in 0..processes {
        let threads = (process..subscribers).step_by(processes);
        let threads = threads.map(|_| builder.thread(Role::Subscribe, 0..1, process + 1));
        let threads = threads.collect();
        builder.processes.push(threads);
    }
    let touch = if touched { "touched" } else { "looked_at" };
    builder.finish(Shape {
        topics: 1,
        bytes: LARGE_BYTES,
        touched,
        depth: 2,
        period_ns: LARGE_PERIOD_NS,
        ..shape(&format!("fan_out_{touch}_{subscribers}"), 1, subscribers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every topic has the publishers and subscribers that the shape says, and threads have numbers
    /// of their own.
    fn check(layout: &Layout) {
        let threads: Vec<&ThreadPlan> = layout.processes.iter().flatten().collect();
        for topic in 0..layout.shape.topics {
            let on = |publishes: bool| {
                let on = threads.iter().filter(|thread| thread.topics.contains(&topic));
                on.filter(|thread| (thread.role != Role::Subscribe) == publishes).count()
            };
            assert_eq!((on(true), on(false)), (layout.shape.publishers, layout.shape.subscribers));
        }
        let mut numbers: Vec<usize> = threads.iter().map(|thread| thread.number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..threads.len()));
    }

    #[test]
    fn layouts_are_what_their_shapes_say() {
        for layout in [apart([0, 1]), two_and_eight([0, 1]), together([0, 1])] {
            check(&layout);
        }
        for subscribers in [1, 2, 7, 8, 9, 200] {
            let layout = fan_out(subscribers, false, [0, 1]);
            check(&layout);
            assert!(layout.processes.len() <= 9);
        }
    }
}
