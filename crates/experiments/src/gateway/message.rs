//! One message through a board in virtual time, with what its host does meanwhile.
//!
//! The hardware is cycle-accurate, every access of the host to its registers included. What
//! software does between them is real too (rings, plans, the same driver as any host's), only its
//! time is not this machine's: each step costs what [`Costs`] says. The host's half of all
//! gateways is one executor, whose steps come one after the other; publisher and software
//! subscriber have threads of their own.

use super::board::{self, Mapped, Shape, Side};
use super::host::{Gathered, Host};
use super::tables::{Tables, table_address};
use anyhow::{Context, Result, bail, ensure};
use crossdock_comm::{AnyLoan, AnyPublisher, AnySample, Region};
use crossdock_fabric::{Board, HostEvent, Library, MemoryTiming, Outgoing, Sink, Source, Traffic};
use crossdock_hwgen::network::Network;
use std::path::PathBuf;

/// What steps of software take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// Publishing, and a byte of what software publishes.
    pub(crate) publish_ns: f64,
    pub(crate) publish_byte_ns: f64,
    /// From publishing until somebody who looks has it, and a byte of what software published.
    pub(crate) take_ns: f64,
    pub(crate) take_byte_ns: f64,
    /// What it takes longer if the thread that takes it sleeps.
    pub(crate) wake_ns: f64,
    /// Making segments of a message, or a message of a frame.
    pub(crate) convert_ns: f64,
    /// A byte into the software subscriber's own memory.
    pub(crate) copy_byte_ns: f64,
    /// How often the delegate of a gateway looks; 0: it is told.
    pub(crate) poll_ns: f64,
    /// Processors that delegates share, one thread each; `None`: one executor serves all gateways,
    /// and looks for itself.
    pub(crate) delegates_on: Option<u32>,
}

impl Costs {
    /// Time in which each of so many threads that are awake takes a message of so many bytes.
    fn takes_ns(&self, takers: usize, bytes: usize, by_software: bool) -> f64 {
        let byte_ns = if by_software { self.take_byte_ns } else { 0.0 };
        let alone = self.take_ns + byte_ns * bytes as f64;
        let share = self.delegates_on.map_or(1.0, |cores| takers as f64 / f64::from(cores));
        alone * share.max(1.0)
    }
}

/// How a board reaches host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Own,
    Paper,
}

/// What a message took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Took {
    /// From the start of publishing to the last beat at the slowest hardware subscriber,
    /// picoseconds.
    pub(crate) hardware_ps: u64,
    /// The same to the end of the software subscriber's copy.
    pub(crate) software_ps: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) traffic: Traffic,
}

/// Steps of the host, each at its time.
enum Step {
    /// The software publisher has published.
    Published,
    /// A gateway's message is in the executor's hands: it goes down.
    Send(usize),
    /// A frame lies in the lent memory: it becomes a message.
    Adopt { bytes: usize },
    /// The software subscriber has the message.
    Shown,
}

/// A board with its host.
pub(crate) struct Machine {
    shape: Shape,
    board: Board,
    host: Host,
    source: Option<(u32, u16)>,
    sinks: Vec<u32>,
    /// Numbers of the gateways: up, down.
    up: Option<u32>,
    down: Vec<u32>,
    period_ps: u64,
    costs: Costs,
    buffers: Vec<Vec<u8>>,
    /// What the board reaches, and by which tables; `None`: by windows.
    regions: Vec<Region>,
    tables: Option<Tables>,
}

/// Cycles in which nothing is to do, so that what was posted is in place.
const SETTLE_CYCLES: u64 = 2000;

impl Machine {
    pub(crate) fn new(
        (shape, folder): (Shape, PathBuf),
        (network, library): (&Network, &Library),
        (period_ps, timing): (u64, &MemoryTiming),
        (access_cycles, costs, way): (u32, Costs, Way),
        seed: u64,
    ) -> Result<Self> {
        let model = library.model(seed as u32, &[period_ps]);
        let model = model.context("there is no memory for the simulation")?;
        let board = Board::new(model, timing, access_cycles).context("the profile's memory")?;
        let mut gateways = (None, Vec::new());
        for (number, topic) in (0..).zip(network.gateways()) {
            // One publisher: a stream goes either way.
            match topic.publishers.iter().any(|it| it.publisher_id != 0 && is_gateway(it)) {
                true => gateways.1.push(number),
                false => gateways.0 = Some(number),
            }
        }
        let nodes = (0..shape.subscribers).map(|index| board::port(library, &format!("s{index}")));
        let sinks = nodes.collect::<Result<Vec<u32>>>()?;
        let source = match shape.publisher {
            Side::Hardware => {
                let index = board::port(library, "source")?;
                Some((index, library.ports()[index as usize].publisher_id))
            }
            Side::Software => None,
        };
        let host = Host::new(gateways.1.len(), shape.data_bytes_max, folder)?;
        let buffers = vec![Vec::new(); shape.subscribers];
        let (up, down) = gateways;
        let tables = (way == Way::Paper).then(Tables::new).transpose()?;
        let regions = Vec::new();
        let mut machine = Self {
            shape,
            board,
            host,
            source,
            sinks,
            up,
            down,
            period_ps,
            costs,
            buffers,
            regions,
            tables,
        };
        // The first message makes the publishers' memory known to the board, as for any host.
        machine.message(0, &[7; 64])?;
        Ok(machine)
    }

    /// Lets the board reach these too. Takes time only where one of them is new.
    fn reach(&mut self, wanted: Vec<Region>) -> Result<()> {
        let known = self.regions.len();
        for region in wanted {
            if self.regions.iter().all(|it| it.address() != region.address()) {
                self.regions.push(region);
            }
        }
        if self.regions.len() == known {
            return Ok(());
        }
        let reached = match &mut self.tables {
            None => self.board.reach(&self.regions),
            Some(tables) => {
                tables.write(&self.regions)?;
                let all = [&self.regions[..], &[tables.region()]].concat();
                self.board.reach_by_table(&all, tables.root())
            }
        };
        reached.then_some(()).context("the board has too few windows")
    }

    /// The address by which the board knows one of this process.
    fn address(&self, address: usize) -> usize {
        if self.tables.is_some() { table_address(address) } else { address }
    }

    /// Publishes a picture of these bytes, and waits until all have it.
    pub(crate) fn message(&mut self, number: u32, data: &[u8]) -> Result<Took> {
        let payload = self.host.payload(number, data)?;
        let frame = match self.source {
            Some((_, id)) => self.host.frame(id, number, &payload)?,
            None => Vec::new(),
        };
        let mut buffers = std::mem::take(&mut self.buffers);
        for buffer in &mut buffers {
            buffer.clear();
            buffer.resize(payload.len() + 64, 0);
        }
        let sinks = self.sinks.iter().zip(&mut buffers);
        let sinks: Vec<Sink<'_>> = sinks.map(|(port, buffer)| Sink::new(*port, buffer)).collect();
        let took = self.pass((number, data), &frame, payload.len(), sinks)?;
        for (index, buffer) in buffers.iter().enumerate() {
            let got = &buffer[crossdock_msg::frame::HEADER_BYTES..][..payload.len()];
            ensure!(got == payload, "hardware subscriber {index} got other bytes");
        }
        self.buffers = buffers;
        Ok(took)
    }

    fn pass(
        &mut self,
        (number, data): (u32, &[u8]),
        frame: &[u8],
        payload_bytes: usize,
        mut sinks: Vec<Sink<'_>>,
    ) -> Result<Took> {
        let up = std::rc::Rc::clone(&self.host.up);
        let publisher = up.publisher.as_ref().context("no publisher")?;
        let mut passage = self.prepare(publisher, number, data)?;
        self.board.run(&mut [], &mut [], self.board.now_ps() + SETTLE_CYCLES * self.period_ps)?;
        let before = self.board.traffic();
        let begin_ps = self.board.now_ps();
        let passes = self.shape.subscribers as u64 + 2;
        let until_ps = begin_ps + (payload_bytes as u64 * passes + 100_000) * self.period_ps;
        let mut sources: Vec<Source<'_>> =
            self.source.iter().map(|(port, _)| Source::new(*port, frame)).collect();
        if self.source.is_none() {
            let published = self.costs.publish_ns + self.costs.publish_byte_ns * data.len() as f64;
            passage.steps.push((begin_ps + ps(published), Step::Published));
        }
        while passage.software_ps.is_none()
            || passage.sent < self.down.len()
            || sinks.iter().any(|sink| sink.done_ps().is_none())
        {
            let now_ps = self.board.now_ps();
            ensure!(now_ps < until_ps, "the message did not arrive by {until_ps} ps");
            if let Some((at_ps, step)) = passage.due(now_ps) {
                self.step(&mut passage, at_ps, step)?;
                continue;
            }
            let next_ps = passage.steps.iter().map(|(at_ps, _)| *at_ps).min();
            self.board.run(&mut sources, &mut sinks, next_ps.unwrap_or(until_ps))?;
            self.hear(&mut passage)?;
        }
        let traffic = self.board.traffic();
        let hardware_ps = sinks.iter().filter_map(Sink::done_ps).max().unwrap_or(begin_ps);
        ensure!(sinks.iter().all(|sink| !sink.is_damaged()), "a message came damaged");
        ensure!(traffic.refused == before.refused, "the board reached for closed memory");
        Ok(Took {
            hardware_ps: hardware_ps - begin_ps,
            software_ps: passage.software_ps.unwrap_or(begin_ps) - begin_ps,
            payload_bytes: payload_bytes as u64,
            traffic: traffic.since(before),
        })
    }

    /// Makes the memory known to the board that the message will lie in: lends it room for a frame
    /// that goes up, or publishes what goes down. The board hears of that only when its time comes.
    fn prepare<'a>(
        &mut self,
        publisher: &'a AnyPublisher,
        number: u32,
        data: &'a [u8],
    ) -> Result<Passage<'a>> {
        let mut passage = Passage {
            number,
            data,
            loan: None,
            samples: Vec::new(),
            gathered: Vec::new(),
            steps: Vec::new(),
            sent: 0,
            software_ps: None,
        };
        let Some(up) = self.up else {
            self.host.publish(number, data)?;
            self.take_all(&mut passage)?;
            return Ok(passage);
        };
        let loan_bytes = self.host.plan.chunk_bytes_max();
        let front = self.host.plan.front_bytes();
        let loan = passage.loan.insert(publisher.loan(loan_bytes)?);
        let capacity = loan_bytes - front - self.host.plan.behind_bytes_max();
        let (region, at) = (loan.region(), loan.bytes_mut().as_ptr() as usize + front);
        self.reach(vec![region])?;
        let at = self.address(at);
        self.board.lend(up, 1, at, u32::try_from(capacity)?);
        Ok(passage)
    }

    /// Does a step of the host, which is over at `at_ps`.
    fn step(&mut self, passage: &mut Passage<'_>, at_ps: u64, step: Step) -> Result<()> {
        match step {
            Step::Published => self.published(passage, at_ps),
            Step::Send(index) => {
                let Gathered { payload_bytes, places } = &passage.gathered[index];
                let places: Vec<(usize, u32)> =
                    places.iter().map(|(at, bytes)| (self.address(*at), *bytes)).collect();
                let outgoing = Outgoing {
                    tag: index as u16,
                    sequence: passage.number,
                    stamp_ns: 0,
                    payload_bytes: *payload_bytes,
                    segments: &places,
                };
                self.board.send(self.down[index], &outgoing);
            }
            Step::Adopt { bytes } => {
                let mut loan = passage.loan.take().context("two messages in one loan")?;
                let front = self.host.plan.front_bytes();
                let adopted = self.host.plan.adopt(loan.bytes_mut(), front, bytes)?;
                loan.set_len(adopted.block_bytes);
                loan.publish().map_err(|refused| refused.reason)?;
                passage.steps.push((at_ps + ps(self.costs.publish_ns), Step::Published));
                self.take_all(passage)?;
            }
            Step::Shown => {
                let (shown, got) = self.host.shown()?;
                let is_it = shown == passage.number && got == passage.data;
                ensure!(is_it, "software got other bytes");
                let copied = ps(self.costs.copy_byte_ns * passage.data.len() as f64);
                passage.software_ps = Some(at_ps + copied);
            }
        }
        Ok(())
    }

    /// When those who take the message have it, which is published at `at_ps`.
    fn published(&self, passage: &mut Passage<'_>, at_ps: u64) {
        let (costs, takers) = (&self.costs, self.down.len() + 1);
        let takes = costs.takes_ns(takers, passage.data.len(), self.source.is_none());
        passage.steps.push((at_ps + ps(takes + costs.wake_ns), Step::Shown));
        // The executor that has published a frame of hardware is awake.
        let woken = if self.source.is_none() { costs.wake_ns } else { 0.0 };
        for index in 0..self.down.len() {
            // An executor serves one gateway after the other, delegates look by themselves, that of
            // a gateway in the mean half a poll later.
            let turn = if costs.delegates_on.is_some() { 0 } else { index };
            let converted = costs.convert_ns * (turn + 1) as f64;
            let after = takes + woken + converted + self.waited_ns();
            passage.steps.push((at_ps + ps(after), Step::Send(index)));
        }
    }

    /// Hears what the board tells.
    fn hear(&mut self, passage: &mut Passage<'_>) -> Result<()> {
        while let Some(event) = self.board.event() {
            match event {
                HostEvent::Sent { status, .. } if status.is_good() => passage.sent += 1,
                HostEvent::Arrived { bytes, status, .. } if status.is_good() => {
                    let step = Step::Adopt { bytes: bytes as usize };
                    // The published gateway cancels its request before it publishes.
                    let after = self.costs.convert_ns + self.waited_ns();
                    passage.steps.push((self.board.now_ps() + ps(after), step));
                }
                other => bail!("the board told {other:?}"),
            }
        }
        Ok(())
    }

    /// What a gateway's delegate that polls is late by, in the mean.
    fn waited_ns(&self) -> f64 {
        if self.shape.mapped == Mapped::Gateway { self.costs.poll_ns / 2.0 } else { 0.0 }
    }

    /// What all gateways down take.
    fn take_all(&mut self, passage: &mut Passage<'_>) -> Result<()> {
        let mut regions = Vec::new();
        for index in 0..self.host.down.len() {
            let sample = self.host.taken(index)?;
            passage.gathered.push(self.host.gather(index, &sample)?);
            regions.push(sample.region().context("a sample in memory of this process")?);
            passage.samples.push(sample);
        }
        if !passage.samples.is_empty() {
            regions.push(self.host.scratch.region());
        }
        self.reach(regions)
    }
}

/// A message under way.
struct Passage<'a> {
    number: u32,
    data: &'a [u8],
    /// What is lent to the board for a frame that goes up.
    loan: Option<AnyLoan<'a>>,
    /// What gateways have taken: the board reads it until the end.
    samples: Vec<AnySample>,
    gathered: Vec<Gathered>,
    /// What the host does next, each with its time.
    steps: Vec<(u64, Step)>,
    /// Messages that the board has read.
    sent: usize,
    /// When the software subscriber had its copy.
    software_ps: Option<u64>,
}

impl Passage<'_> {
    /// The first step whose time has come, in the order in which they were put.
    fn due(&mut self, now_ps: u64) -> Option<(u64, Step)> {
        let steps = self.steps.iter().enumerate();
        let (index, (at_ps, _)) = steps.min_by_key(|(index, (at_ps, _))| (*at_ps, *index))?;
        (*at_ps <= now_ps).then(|| self.steps.remove(index))
    }
}

/// Time that a step takes, in whole picoseconds.
fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

fn is_gateway(port: &crossdock_hwgen::network::NetworkPort) -> bool {
    port.owner == crossdock_hwgen::network::PortOwner::Gateway
}
