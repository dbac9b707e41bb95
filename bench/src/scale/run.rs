//! Starts the processes of a layout for every system, lets the systems measure in turn, block by
//! block, and joins what the threads wrote down.

use super::{Block, Done, Layout, ProcessPlan, Record, Release, Role, payload::now_ns};
use crate::Failure;
use crate::control::System;
use crate::failure::While;
use crate::process::Process;
use crate::samples::{Percentiles, percentiles};
use crate::usage::Usage;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// From the order until the first message is due: all have heard it by then and sleep.
const AHEAD: Duration = Duration::from_millis(150);

/// What is measured of a layout.
#[derive(Debug)]
pub struct Contest<'a> {
    /// Who publishes and takes what.
    pub layout: &'a Layout,
    /// When publishers publish, each by itself.
    pub releases: &'a [Release],
    /// Blocks of each system and release.
    pub blocks: u32,
    /// Messages per publisher and block.
    pub messages: u32,
}

/// One system under one release.
#[derive(Debug, Default)]
pub struct Outcome {
    /// From a message's stamp until it was taken.
    pub from_stamp: Option<Percentiles>,
    /// The same of each block, p99.9.
    pub block_p999_ns: Vec<f64>,
    /// From the moment that it was due.
    pub from_due: Option<Percentiles>,
    /// From its stamp until it was read by the first and by the last of its subscribers; of layouts
    /// with one topic.
    pub first: Option<Percentiles>,
    /// See `first`.
    pub last: Option<Percentiles>,
    /// From its stamp until the last subscriber had read all of it.
    pub last_read: Option<Percentiles>,
    /// Of loan and publish, with whatever tells the subscribers, without writing the payload.
    pub publish: Option<Percentiles>,
    /// Messages taken.
    pub samples: usize,
    /// Messages published.
    pub published: u64,
    /// Messages that subscribers did not get.
    pub lost: u64,
    /// Releases left out.
    pub missed: u64,
    /// Copies that the system says it made.
    pub copies: u64,
    /// Of all processes together.
    pub usage: Usage,
    /// Time that the blocks were scheduled to take.
    pub wall_ns: u64,
    /// Most descriptors of one process, and mapped pieces of memory.
    pub descriptors: u64,
    /// See `descriptors`.
    pub maps: u64,
    /// From starting the processes until all were connected.
    pub set_up: Duration,
}

/// Where a thread writes its records.
pub(super) fn records_path(folder: &Path, layout: &str, thread: usize) -> PathBuf {
    folder.join(format!("records-{layout}-{thread}"))
}

#[derive(Default)]
struct Collected {
    stamp_ns: Vec<u64>,
    due_ns: Vec<u64>,
    first_ns: Vec<u64>,
    last_ns: Vec<u64>,
    last_read_ns: Vec<u64>,
    publish_ns: Vec<u64>,
    outcome: Outcome,
}

/// One system: its processes, and what has come out per release.
struct Contender<'a> {
    system: System,
    contest: &'a Contest<'a>,
    processes: Vec<Process>,
    folder: &'a Path,
    collected: Vec<Collected>,
    set_up: Duration,
    blocks: u32,
}

/// Measures all systems; of a system that cannot go on, why. One outcome per release.
pub fn measure(
    contest: &Contest<'_>,
    systems: &[System],
    folder: &Path,
) -> Vec<(System, Result<Vec<Outcome>, Failure>)> {
    let mut contenders: Vec<(System, Result<Contender<'_>, Failure>)> = vec![];
    for &system in systems {
        contenders.push((system, Contender::start(system, contest, folder)));
    }
    for _ in 0..contest.blocks {
        for release in 0..contest.releases.len() {
            for (_, contender) in &mut contenders {
                let Ok(running) = contender else { continue };
                if let Err(failure) = running.measure(release) {
                    *contender = Err(failure);
                }
            }
        }
    }
    let finished = contenders.into_iter();
    finished.map(|(system, contender)| (system, contender.map(Contender::finish))).collect()
}

impl<'a> Contender<'a> {
    fn start(system: System, contest: &'a Contest<'a>, folder: &'a Path) -> Result<Self, Failure> {
        let started = Instant::now();
        let processes = contest.layout.processes.iter().map(|threads| {
            let (shape, threads) = (contest.layout.shape.clone(), threads.clone());
            let name = format!("{system:?} in {}, {:?}", shape.name, threads.first());
            let plan = ProcessPlan { system, shape, threads, folder: folder.to_owned() };
            Process::start(&plan, name)
        });
        let processes: Result<Vec<_>, Failure> = processes.collect();
        let mut contender = Self {
            system,
            contest,
            processes: processes?,
            folder,
            collected: contest.releases.iter().map(|_| Collected::default()).collect(),
            set_up: Duration::ZERO,
            blocks: 0,
        };
        contender.answers()?;
        contender.set_up = started.elapsed();
        // Connections that are made with the first message, and memory that is touched with it.
        let warm_up = (contest.messages / 4).clamp(4, 20);
        contender.block(Release::Staggered, warm_up)?;
        Ok(contender)
    }

    fn answers(&mut self) -> Result<Vec<Done>, Failure> {
        let answers = self.processes.iter_mut().map(|process| {
            let answer: Result<Done, String> = process.answer()?;
            answer.map_err(|why| Failure::new(process.name(), why))
        });
        answers.collect()
    }

    fn block(&mut self, release: Release, messages: u32) -> Result<Vec<Done>, Failure> {
        self.blocks += 1;
        let begin_ns = now_ns() + AHEAD.as_nanos() as u64;
        let block = Block { number: self.blocks, begin_ns, messages, release };
        for process in &mut self.processes {
            process.order(&block)?;
        }
        self.answers()
    }

    fn measure(&mut self, release: usize) -> Result<(), Failure> {
        let messages = self.contest.messages;
        let answers = self.block(self.contest.releases[release], messages)?;
        let shape = &self.contest.layout.shape;
        let collected = &mut self.collected[release];
        let outcome = &mut collected.outcome;
        outcome.wall_ns += u64::from(messages) * shape.period_ns;
        let (mut published, mut taken, mut copies) = (0, 0, 0);
        for done in answers {
            published += done.published;
            taken += done.taken;
            copies += done.copies;
            outcome.missed += done.missed;
            outcome.usage = outcome.usage.plus(done.usage);
            outcome.descriptors = outcome.descriptors.max(done.descriptors);
            outcome.maps = outcome.maps.max(done.maps);
        }
        outcome.copies = copies;
        outcome.published += published;
        outcome.lost += (published * shape.subscribers as u64).saturating_sub(taken);
        let threads = self.contest.layout.processes.iter().flatten();
        let before = collected.stamp_ns.len();
        let mut spans =
            vec![Span::default(); if shape.topics == 1 { messages as usize } else { 0 }];
        for thread in threads {
            let path = records_path(self.folder, &shape.name, thread.number);
            for record in read_records(&path)? {
                collected.add(thread.role, record, &mut spans);
            }
        }
        let mut of_block = collected.stamp_ns[before..].to_vec();
        let p999_ns = percentiles(&mut of_block, 1.0).map(|found| found.p999_ns);
        collected.outcome.block_p999_ns.extend(p999_ns);
        for span in spans.iter().filter(|span| span.takes == shape.subscribers) {
            collected.first_ns.push(span.first_ns);
            collected.last_ns.push(span.last_ns);
            collected.last_read_ns.push(span.last_read_ns);
        }
        Ok(())
    }

    fn finish(self) -> Vec<Outcome> {
        debug_assert!(!self.processes.is_empty(), "{:?}", self.system);
        let set_up = self.set_up;
        self.collected.into_iter().map(|collected| collected.finish(set_up)).collect()
    }
}

/// One message over all its subscribers.
#[derive(Clone, Copy, Default)]
struct Span {
    takes: usize,
    first_ns: u64,
    last_ns: u64,
    last_read_ns: u64,
}

impl Collected {
    fn add(&mut self, role: Role, record: Record, spans: &mut [Span]) {
        let [number, first, second, third] = record;
        let [first, second, third] = [first, second, third].map(u64::from);
        if role != Role::Subscribe {
            self.publish_ns.push(first + second);
            return;
        }
        self.stamp_ns.push(first);
        self.due_ns.push(second);
        if let Some(span) = spans.get_mut(number as usize) {
            span.first_ns = if span.takes == 0 { first } else { span.first_ns.min(first) };
            span.last_ns = span.last_ns.max(first);
            span.last_read_ns = span.last_read_ns.max(third);
            span.takes += 1;
        }
    }

    fn finish(mut self, set_up: Duration) -> Outcome {
        let of = |samples: &mut Vec<u64>| percentiles(samples, 1.0);
        Outcome {
            samples: self.stamp_ns.len(),
            from_stamp: of(&mut self.stamp_ns),
            from_due: of(&mut self.due_ns),
            first: of(&mut self.first_ns),
            last: of(&mut self.last_ns),
            last_read: of(&mut self.last_read_ns),
            publish: of(&mut self.publish_ns),
            set_up,
            ..self.outcome
        }
    }
}

fn read_records(path: &Path) -> Result<Vec<Record>, Failure> {
    let bytes = std::fs::read(path).during("reading what was measured")?;
    let words: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Ok(words.as_chunks::<4>().0.to_vec())
}
