//! A board of any graph in virtual time, with the software at its edge: one message goes in, and
//! all that nodes make of it comes out.
//!
//! The hardware is cycle-accurate, every access of the host to its registers included. What
//! software does between them is real, too (rings, plans, the driver of any host), only its time is
//! not this machine's: it is drawn by [`Latency`]. All gateways are served by one executor, which
//! does one step after the other and looks for the next one while the board is busy.

use super::latency::Latency;
use crate::caller::{GraphNetwork, Recorded};
use anyhow::{Context, Result, bail, ensure};
use crossdock_comm::{
    AnyPublisher, AnySample, AnySubscriber, BridgeOptions, Directions, ParkedLoan, Participant,
    ParticipantOptions, PublisherOptions, Qos, Region, Rendezvous, Scratch, SubscriberOptions,
};
use crossdock_fabric::{Board, HostEvent, Library, MemoryTiming, Outgoing, Profile, Traffic};
use crossdock_hwgen::board::gateways;
use crossdock_msg::frame::FramePlan;
use crossdock_msg::{Block, FlatBuffer, Schema};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Bytes from which on a sequence is read where it lies.
const IN_PLACE_BYTES: usize = 256;
/// Messages that wait: one at a time is under way.
const DEPTH: usize = 4;
/// Longer than anybody waits for a reader that is in the same thread.
const PATIENCE: Duration = Duration::from_secs(10);
/// Cycles in which a board that nobody uses has nothing left to do.
const SETTLED_CYCLES: u64 = 20_000;
/// Cycles after which a publisher looks again whether its message has been read.
const POLL_CYCLES: u64 = 100;
/// A segment shares its first and its last beat with others.
const BEAT_BYTES_MAX: u64 = 64;

/// What one message and all that came of it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// From the moment at which the executor has the message for the first hardware node until
    /// what the last one has published is published in software, ps.
    pub(crate) chain_ps: u64,
    /// From the start of publishing in software until a subscriber has the result, ps.
    pub(crate) whole_ps: u64,
    /// What passed between board and host memory.
    pub(crate) traffic: Traffic,
}

/// One gateway of the board.
struct Way {
    topic: String,
    plan: FramePlan,
    down: Option<Down>,
    up: Option<Up>,
}

struct Down {
    subscriber: AnySubscriber,
    /// Where its part of the scratch memory begins.
    scratch_at: usize,
    small: Vec<u8>,
    /// The message that the board reads.
    sample: Option<AnySample>,
    /// Where its payload lies, and how long it is.
    places: Vec<(usize, u32)>,
    payload_bytes: u32,
}

struct Up {
    publisher: AnyPublisher,
    lent: Option<ParkedLoan>,
}

/// Steps of the host, each over at its time.
enum Step {
    /// A message for this gateway is in the executor's hands and understood.
    Send(usize),
    /// A frame of so many bytes, from this gateway, is a message and published.
    Published(usize, u32),
    /// The subscriber in software has the result.
    Seen,
}

/// A board with its host.
pub(crate) struct Machine {
    board: Board,
    ways: Vec<Way>,
    latency: Latency,
    source: AnyPublisher,
    sink: AnySubscriber,
    result: String,
    regions: Vec<Region>,
    scratch: Scratch,
    period_ps: u64,
    sequence: u32,
    // Dropped last.
    _participant: Participant,
}

/// What a board is run with.
pub(crate) struct Conditions {
    pub(crate) profile: &'static Profile,
    pub(crate) timing: MemoryTiming,
    pub(crate) latency: Latency,
    pub(crate) seed: u32,
    /// Empty, for the ports to meet.
    pub(crate) folder: PathBuf,
}

impl Machine {
    /// Software publishes on `first` and takes what comes on `result`.
    pub(crate) fn new(
        network: &GraphNetwork,
        library: &Library,
        (first, result): (&str, &str),
        conditions: Conditions,
    ) -> Result<Self> {
        let Conditions { profile, timing, latency, seed, folder } = conditions;
        let periods = vec![profile.period_ps; library.clocks().len()];
        let model = library.model(seed, &periods);
        let model = model.context("there is no memory for the simulation")?;
        let board = Board::new(model, &timing, profile.memory.register_cycles.value);
        let mut board = board.context("the board refuses the profile's memory")?;
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder),
            ..ParticipantOptions::new(0, "bench")
        };
        let participant = Participant::open(options)?;
        let (mut ways, mut scratch_bytes) = (Vec::new(), 0);
        for (number, gateway) in gateways(&network.generated.network).iter().enumerate() {
            let directions = match (gateway.up.is_some(), gateway.down.is_some()) {
                (true, true) => Directions::Both,
                (true, false) => Directions::In,
                _ => Directions::Out,
            };
            let topic = &gateway.topic.name;
            let (schema, bounds) = network.topics.get(topic).context("a topic without a type")?;
            let plan = FramePlan::new(schema, bounds)?;
            let name = format!("gateway_{number}");
            let way = way(&participant, (&name, topic), schema, plan, directions);
            ways.push(way.and_then(|way| placed(way, &mut scratch_bytes))?);
            board.set_reliable(u32::try_from(number)?, true);
        }
        let scratch = Scratch::create("bench", scratch_bytes.max(1) as u64)?;
        let of = |topic: &str| network.topics.get(topic).with_context(|| format!("no {topic}"));
        let schema = Arc::new(of(first)?.0.clone());
        let max_bytes = max_bytes(&ways, first)?;
        let qos = Qos::reliable(DEPTH, PATIENCE);
        let options =
            PublisherOptions { node: "source", topic: first, qos, max_bytes, group: None };
        let source = participant.any_publisher(schema, options)?;
        let options =
            SubscriberOptions { node: "sink", topic: result, qos, doorbell: None, group: None };
        let sink = participant.any_subscriber(options)?;
        Ok(Self {
            board,
            ways,
            latency,
            source,
            sink,
            result: result.to_owned(),
            regions: vec![scratch.region()],
            scratch,
            period_ps: profile.period_ps,
            sequence: 0,
            _participant: participant,
        })
    }

    /// Publishes a message, waits until all that comes of it is there, and holds the result against
    /// what software makes of the same message.
    pub(crate) fn message(
        &mut self,
        message: &Recorded,
        expected: &Recorded,
        until_cycles: u64,
    ) -> Result<Passage> {
        self.lend()?;
        self.source.publish_cdr(&message.cdr, message.stamp_ns, [0; 2])?;
        let first = self.source.topic().to_owned();
        let sent = self.take_all(&first)?;
        self.settle()?;
        let (before, begin_ps) = (self.board.traffic(), self.board.now_ps());
        let processor = self.latency.processor;
        let published_ps = begin_ps + self.latency.of(processor.publish_ns);
        let woken = [processor.take_ns, processor.wake_ns];
        let taken_ps = published_ps + self.latency.of_all(&woken);
        let mut run = Run { steps: Vec::new(), free_ps: taken_ps, sent: 0, read_bytes: 0, came: 0 };
        let (mut written_bytes, mut command_ps, mut seen_ps) = (0, None, None);
        self.plan_sends(&mut run, &sent, taken_ps, true);
        let until_ps = begin_ps + until_cycles * self.period_ps;
        while seen_ps.is_none() || !self.is_over(&run) {
            let now_ps = self.board.now_ps();
            ensure!(now_ps < until_ps, "no result in {until_cycles} cycles");
            let Some((at_ps, step)) = run.due(now_ps) else {
                let next_ps = run.steps.iter().map(|(at_ps, _)| *at_ps).min();
                self.board.run(&mut [], &mut [], next_ps.unwrap_or(until_ps).min(until_ps))?;
                self.hear(&mut run)?;
                continue;
            };
            match step {
                Step::Send(way) => run.read_bytes += self.send(way)?,
                Step::Published(way, bytes) => {
                    written_bytes += u64::from(bytes);
                    self.publish(way, bytes)?;
                    let topic = self.ways[way].topic.clone();
                    if topic == self.result {
                        command_ps = Some(at_ps);
                        let seen = at_ps + self.latency.of_all(&woken);
                        run.steps.push((seen, Step::Seen));
                    }
                    let readers = self.take_all(&topic)?;
                    self.plan_sends(&mut run, &readers, at_ps, false);
                }
                Step::Seen => {
                    self.compare(expected)?;
                    seen_ps = Some(at_ps);
                }
            }
        }
        let traffic = self.board.traffic().since(before);
        self.crossed_once(&run, &traffic, written_bytes)?;
        let (command_ps, seen_ps) = command_ps.zip(seen_ps).context("no result")?;
        Ok(Passage { chain_ps: command_ps - taken_ps, whole_ps: seen_ps - begin_ps, traffic })
    }

    /// Publishes messages so that one always waits at the board, and gives the time from one result
    /// to the next, the mean of all but the first, ps. Every result is held against what software
    /// makes of its message.
    pub(crate) fn period(
        &mut self,
        messages: &[Recorded],
        expected: &[Recorded],
        until_cycles: u64,
    ) -> Result<u64> {
        ensure!(messages.len() > 1, "a period needs two messages");
        self.lend()?;
        self.settle()?;
        let begin_ps = self.board.now_ps();
        let until_ps = begin_ps + until_cycles * messages.len() as u64 * self.period_ps;
        let first = self.source.topic().to_owned();
        let mut run = Run { steps: Vec::new(), free_ps: begin_ps, sent: 0, read_bytes: 0, came: 0 };
        let (mut published, mut results_ps) = (0, Vec::new());
        while results_ps.len() < messages.len() {
            let now_ps = self.board.now_ps();
            ensure!(
                now_ps < until_ps,
                "{} results in {until_cycles} cycles each",
                results_ps.len()
            );
            if published < messages.len() && self.has_read(&first) {
                let Recorded { cdr, stamp_ns } = &messages[published];
                self.source.publish_cdr(cdr, *stamp_ns, [0; 2])?;
                published += 1;
                let readers = self.take_all(&first)?;
                self.plan_sends(&mut run, &readers, now_ps, false);
            }
            let Some((at_ps, step)) = run.due(now_ps) else {
                let next_ps = run.steps.iter().map(|(at_ps, _)| *at_ps).min();
                self.board.run(&mut [], &mut [], next_ps.unwrap_or(until_ps).min(until_ps))?;
                self.hear(&mut run)?;
                continue;
            };
            match step {
                Step::Send(way) => run.read_bytes += self.send(way)?,
                // Gateways read one message at a time here: the publisher looks again.
                Step::Published(way, _) if !self.has_read(&self.ways[way].topic) => {
                    run.steps.push((now_ps + POLL_CYCLES * self.period_ps, step));
                }
                Step::Published(way, bytes) => {
                    self.publish(way, bytes)?;
                    self.lend_to(way)?;
                    let topic = self.ways[way].topic.clone();
                    if topic == self.result {
                        let expected = expected.get(results_ps.len()).context("a result more")?;
                        self.compare(expected)?;
                        results_ps.push(at_ps);
                    }
                    let readers = self.take_all(&topic)?;
                    self.plan_sends(&mut run, &readers, at_ps, false);
                }
                Step::Seen => {}
            }
        }
        let whole_ps = results_ps[results_ps.len() - 1] - results_ps[0];
        Ok(whole_ps / (results_ps.len() as u64 - 1))
    }

    /// Whether no gateway is reading a message of this topic.
    fn has_read(&self, topic: &str) -> bool {
        let readers = self.ways.iter().filter(|way| way.topic == topic);
        readers.filter_map(|way| way.down.as_ref()).all(|down| down.sample.is_none())
    }

    /// Cycles of the board so far.
    pub(crate) fn cycles(&self) -> u64 {
        self.board.now_ps() / self.period_ps
    }

    /// Whether all ways are done with the message.
    fn is_over(&self, run: &Run) -> bool {
        let count = |has: fn(&Way) -> bool| self.ways.iter().filter(|way| has(way)).count();
        run.steps.is_empty()
            && run.came == count(|way| way.up.is_some())
            && run.sent == count(|way| way.down.is_some())
    }

    /// Lends room for a message to each gateway that brings some up and has none.
    fn lend(&mut self) -> Result<()> {
        (0..self.ways.len()).try_for_each(|number| self.lend_to(number))
    }

    /// The same for one gateway.
    fn lend_to(&mut self, number: usize) -> Result<()> {
        let Way { plan, up: Some(up), .. } = &mut self.ways[number] else { return Ok(()) };
        if up.lent.is_some() {
            return Ok(());
        }
        let mut loan = up.publisher.loan(plan.chunk_bytes_max())?;
        let region = loan.region();
        let memory = loan.bytes_mut();
        let at = memory.as_ptr() as usize + plan.front_bytes();
        let room = memory.len() - plan.front_bytes() - plan.behind_bytes_max();
        up.lent = Some(loan.park());
        self.reach(vec![region])?;
        self.board.lend(u32::try_from(number)?, 0, at, u32::try_from(room)?);
        Ok(())
    }

    /// Lets the board reach these too. Takes time only if one of them is new.
    fn reach(&mut self, wanted: Vec<Region>) -> Result<()> {
        let known = self.regions.len();
        for region in wanted {
            if self.regions.iter().all(|it| it.address() != region.address()) {
                self.regions.push(region);
            }
        }
        // The first message makes the scratch memory known, too.
        if self.regions.len() > known {
            ensure!(self.board.reach(&self.regions), "the board has too few windows");
        }
        Ok(())
    }

    /// Lets the board do what the last message has left to do.
    fn settle(&mut self) -> Result<()> {
        let until_ps = self.board.now_ps() + SETTLED_CYCLES * self.period_ps;
        while self.board.now_ps() < until_ps {
            self.board.run(&mut [], &mut [], until_ps)?;
            if let Some(event) = self.board.event() {
                bail!("the board told {event:?} without a message under way");
            }
        }
        Ok(())
    }

    /// What all gateways that bring this topic down take. Gives their numbers.
    fn take_all(&mut self, topic: &str) -> Result<Vec<usize>> {
        let scratch = self.scratch.region().address();
        let (mut wanted, mut numbers) = (Vec::new(), Vec::new());
        for (number, way) in self.ways.iter_mut().enumerate() {
            let Way { topic: of, plan, down: Some(down), .. } = way else { continue };
            if of != topic {
                continue;
            }
            let sample = down.subscriber.take()?.context("a gateway did not hear the message")?;
            let block = sample.block();
            let mut segments = Vec::new();
            let payload = plan.gather(block, IN_PLACE_BYTES, &mut down.small, &mut segments)?;
            let written = self.scratch.write(down.scratch_at, &down.small);
            ensure!(written, "the scratch memory is too small");
            let (block, scratch) = (block.as_ptr() as usize, scratch + down.scratch_at);
            let places = segments.iter().map(|it| (it.address(block, scratch), it.bytes as u32));
            down.places = places.collect();
            down.payload_bytes = u32::try_from(payload)?;
            wanted.push(sample.region().context("the message lies in no shared memory")?);
            down.sample = Some(sample);
            numbers.push(number);
        }
        self.reach(wanted)?;
        Ok(numbers)
    }

    /// The executor takes a message, which is there at `at_ps`, for one gateway after the other.
    /// `is_taken`: for the first one it has.
    fn plan_sends(&mut self, run: &mut Run, ways: &[usize], at_ps: u64, is_taken: bool) {
        let processor = self.latency.processor;
        for (turn, way) in ways.iter().enumerate() {
            let is_taken = is_taken && turn == 0;
            let take = if is_taken { 0 } else { self.latency.of(processor.take_ns) };
            let over = run.work(at_ps, take + self.latency.of(processor.convert_ns));
            run.steps.push((over, Step::Send(*way)));
        }
    }

    /// Gives the board what a gateway has taken. Gives its bytes.
    fn send(&mut self, number: usize) -> Result<u64> {
        let down = self.ways[number].down.as_ref().context("no way down")?;
        let sample = down.sample.as_ref().context("no message")?;
        let outgoing = Outgoing {
            tag: 0,
            sequence: self.sequence,
            stamp_ns: sample.stamp_ns(),
            payload_bytes: down.payload_bytes,
            segments: &down.places,
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.board.send(u32::try_from(number)?, &outgoing);
        Ok(u64::from(down.payload_bytes))
    }

    /// Makes a message of a frame of so many bytes, and publishes it.
    fn publish(&mut self, number: usize, bytes: u32) -> Result<()> {
        let Way { plan, up: Some(up), .. } = &mut self.ways[number] else { bail!("no way up") };
        let lent = up.lent.take().context("two messages in one loan")?;
        let loan = up.publisher.resume(lent);
        let Ok(mut loan) = loan else { bail!("a loan of another publisher") };
        let adopted = plan.adopt(loan.bytes_mut(), plan.front_bytes(), bytes as usize)?;
        loan.set_len(adopted.block_bytes);
        loan.publish().map_err(|refused| refused.reason)?;
        Ok(())
    }

    /// Hears what the board tells.
    fn hear(&mut self, run: &mut Run) -> Result<()> {
        while let Some(event) = self.board.event() {
            match event {
                HostEvent::Sent { gateway, status, .. } if status.is_good() => {
                    let way = self.ways.get_mut(gateway as usize);
                    let down = way.and_then(|way| way.down.as_mut());
                    down.context("a gateway that is not there")?.sample = None;
                    run.sent += 1;
                }
                HostEvent::Arrived { gateway, bytes, status, .. } if status.is_good() => {
                    let processor = self.latency.processor;
                    let steps = [processor.convert_ns, processor.publish_ns];
                    let over = run.work(self.board.now_ps(), self.latency.of_all(&steps));
                    run.steps.push((over, Step::Published(gateway as usize, bytes)));
                    run.came += 1;
                }
                other => bail!("the board told {other:?}"),
            }
        }
        Ok(())
    }

    /// Holds the result against a recorded message.
    fn compare(&self, expected: &Recorded) -> Result<()> {
        let sample = self.sink.take()?.context("the result was published and is not there")?;
        let schema: &Schema = sample.schema();
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&expected.cdr)?);
        schema.decode_cdr(&expected.cdr, flat.as_mut_slice())?;
        let way = self.ways.iter().find(|way| way.topic == self.result);
        let plan = &way.context("no gateway for the result")?.plan;
        let [mut found, mut wanted] = [Vec::new(), Vec::new()];
        plan.encode(sample.block(), &mut found)?;
        plan.encode(Block::new(flat.as_slice()), &mut wanted)?;
        ensure!(found == wanted, "hardware gives another result than software");
        Ok(())
    }

    /// Every message passes host memory once for each gateway that reads it, and once if hardware
    /// has written it.
    fn crossed_once(&self, run: &Run, traffic: &Traffic, written_bytes: u64) -> Result<()> {
        let segments = self.ways.iter().filter_map(|way| way.down.as_ref());
        let segments: usize = segments.map(|down| down.places.len()).sum();
        let most = run.read_bytes + 2 * BEAT_BYTES_MAX * segments as u64;
        let is_once = traffic.bytes_written == written_bytes
            && (run.read_bytes..=most).contains(&traffic.bytes_read)
            && traffic.refused == 0;
        ensure!(
            is_once,
            "{} bytes of messages down and {written_bytes} up, but {traffic:?}",
            run.read_bytes
        );
        Ok(())
    }
}

/// A message under way.
struct Run {
    /// What software does next, each with the time at which it is over.
    steps: Vec<(u64, Step)>,
    /// When the executor has nothing to do.
    free_ps: u64,
    /// Messages that the board has read, and that came up.
    sent: usize,
    came: usize,
    /// Bytes of messages that were given to the board.
    read_bytes: u64,
}

impl Run {
    /// The executor does something that takes so long, from this time on at the earliest. Gives
    /// when it is over.
    fn work(&mut self, at_ps: u64, takes_ps: u64) -> u64 {
        self.free_ps = self.free_ps.max(at_ps) + takes_ps;
        self.free_ps
    }

    /// The first step whose time has come.
    fn due(&mut self, now_ps: u64) -> Option<(u64, Step)> {
        let steps = self.steps.iter().enumerate();
        let (index, (at_ps, _)) = steps.min_by_key(|(index, (at_ps, _))| (*at_ps, *index))?;
        (*at_ps <= now_ps).then(|| self.steps.remove(index))
    }
}

/// The ends of a gateway on the side of software.
fn way(
    participant: &Participant,
    (node, topic): (&str, &str),
    schema: &Schema,
    plan: FramePlan,
    directions: Directions,
) -> Result<Way> {
    let qos = Qos::reliable(DEPTH, PATIENCE);
    let options = BridgeOptions {
        node,
        topic,
        offered: qos,
        requested: qos,
        directions,
        max_bytes: Some(plan.chunk_bytes_max()),
        doorbell: None,
    };
    let bridge = participant.bridge(&Arc::new(schema.clone()), options)?;
    let down = bridge.subscriber.map(|subscriber| Down {
        subscriber,
        scratch_at: 0,
        small: vec![0; plan.scratch_bytes_max(IN_PLACE_BYTES)],
        sample: None,
        places: Vec::new(),
        payload_bytes: 0,
    });
    let up = bridge.publisher.map(|publisher| Up { publisher, lent: None });
    Ok(Way { topic: topic.to_owned(), plan, down, up })
}

/// The gateway with its part of the scratch memory, behind the others'.
fn placed(mut way: Way, scratch_bytes: &mut usize) -> Result<Way> {
    if let Some(down) = &mut way.down {
        down.scratch_at = *scratch_bytes;
        *scratch_bytes += down.small.len().next_multiple_of(64);
    }
    Ok(way)
}

/// Most bytes of a message of this topic.
fn max_bytes(ways: &[Way], topic: &str) -> Result<Option<usize>> {
    let way = ways.iter().find(|way| way.topic == topic);
    Ok(Some(way.with_context(|| format!("{topic} has no gateway"))?.plan.chunk_bytes_max()))
}
