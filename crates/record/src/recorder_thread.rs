//! The thread of a recorder: an executor of its own that takes, encodes and writes messages, and
//! sleeps on its doorbell while there is nothing to do.

use crate::names::Shown;
use crate::newest::{Kept, Newest};
use crate::player_thread::wall_ns;
use crate::qos::OfferedQos;
use crate::recorder::{
    Command, LogTime, RecordError, RecordReport, RecordedTopic, RecorderOptions, RecorderState,
    StartRecorderError, TopicToRecord, Wish,
};
use crate::run_clock::RunClock;
use crate::write_error::{Saved, WriteError};
use crate::writer::{BagWriter, TopicDescription, WrittenTopic};
use crossdock_comm::step::{STEP_TOPIC, StepSubscriber};
use crossdock_comm::{
    AnySample, AnySubscriber, Doorbell, DoorbellControl, DoorbellOptions, Participant, PortError,
    SubscriberHandle, SubscriberOptions,
};
use crossdock_msg::{CdrBuffer, CdrSlices};
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// What the thread starts with.
pub(crate) struct Begin {
    pub(crate) participant: Participant,
    pub(crate) writer: BagWriter,
    pub(crate) options: RecorderOptions,
    pub(crate) shared: Arc<RecorderState>,
    pub(crate) inbox: Receiver<Command>,
    pub(crate) ready: Sender<Result<DoorbellControl, StartRecorderError>>,
}

/// Messages taken from one topic before the others have their turn.
const TURN_MESSAGES: usize = 64;
/// Turns in which is taken what was published before a command: publishers that go on must not put
/// the command off for ever.
const WAITING_TURNS: usize = 16;
/// How long publishers that go on after the stop are still recorded. What those have left that are
/// gone is recorded in any case: their rings bound it.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Bytes of messages of one step that wait to be sorted; what is beyond comes as it
/// comes, which is said.
const HELD_BYTES_MAX: usize = 256 << 20;

/// Pieces of a message that are written together; what has more is joined before.
const PIECES_MAX: usize = 24;

/// A topic that is recorded.
struct Recording {
    subscriber: AnySubscriber,
    handle: SubscriberHandle,
    /// What the publishers offer, as it is written.
    offered: Vec<OfferedQos>,
    /// Known with the first message.
    written: Option<WrittenTopic>,
    counts: RecordedTopic,
}

/// Where the log times come from.
enum LogClock {
    Wall(WallClock),
    Simulated(RunClock),
    FromClock(RunClock),
    Lockstep(RunClock),
    Stepped(Held),
}

/// The computer's time.
struct WallClock {
    /// When the recording began, ns.
    began_ns: u64,
}

impl WallClock {
    fn begin() -> Self {
        Self { began_ns: wall_ns() }
    }

    /// The time of a message with this stamp that is taken at `now_ns`.
    fn time_ns(&self, stamp_ns: u64, now_ns: u64) -> u64 {
        if (self.began_ns..=now_ns).contains(&stamp_ns) { stamp_ns } else { now_ns }
    }
}

/// A stamp that is so much later than the time at which its message is taken, ns, comes from a
/// clock that is wrong, and not from one that is a little ahead.
const AHEAD_NS: u64 = 1_000_000_000;

/// Messages of topics with several publishers, until their step is over.
struct Held {
    grants: StepSubscriber,
    /// The last step that is known of.
    step: u64,
    messages: Vec<HeldMessage>,
    bytes: usize,
}

struct HeldMessage {
    /// Place of the topic and of its publisher, and the number there: what orders them.
    key: (usize, usize, u64),
    topic: WrittenTopic,
    stamp_ns: u64,
    cdr: Vec<u8>,
}

impl Held {
    /// Whether a step has begun since the last call. The messages of a step are taken before the
    /// next one is granted, so that one that is taken now belongs to the last step granted.
    fn has_new_step(&mut self) -> bool {
        // A damaged message is no grant; it is counted at the port.
        let Ok(Some(grant)) = self.grants.latest() else { return false };
        self.grants.handle().mark_processed();
        // A step has several grants, one for each phase.
        std::mem::replace(&mut self.step, grant.step) != grant.step
    }
}

struct RecordingThread {
    participant: Participant,
    doorbell: Doorbell,
    writer: BagWriter,
    topics: Vec<Recording>,
    /// Added topics that cannot be subscribed to.
    refused: Vec<RecordedTopic>,
    clock: LogClock,
    /// What snapshots write.
    newest: Option<Newest>,
    paused: bool,
    node: String,
    shared: Arc<RecorderState>,
    inbox: Receiver<Command>,
    /// The parts of a message that are encoded, used again for each one.
    head: CdrBuffer,
}

/// The main function of the thread.
pub(crate) fn run(begin: Begin) -> Result<RecordReport, RecordError> {
    let Begin { participant, writer, options, shared, inbox, ready } = begin;
    let opened =
        open_ports(&participant, &options).and_then(|ports| Ok((ports, Newest::of(&options)?)));
    let ((doorbell, topics, clock), newest) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            // A bag that holds nothing would only be in the way of the next attempt.
            writer.discard_empty();
            // The thread that started the recorder waits for this.
            let _ = ready.send(Err(error));
            let saved = Saved { messages: 0, bytes: 0 };
            return Ok(RecordReport { topics: Vec::new(), saved, kept: 0 });
        }
    };
    if ready.send(Ok(doorbell.control())).is_err() {
        shared.stop.store(true, Ordering::Relaxed);
    }
    let mut recorder = RecordingThread {
        participant,
        doorbell,
        writer,
        topics,
        refused: Vec::new(),
        clock,
        newest,
        paused: options.paused,
        node: options.node,
        shared,
        inbox,
        head: CdrBuffer::default(),
    };
    let ended = recorder.record();
    recorder.complete(ended)
}

impl RecordingThread {
    /// Records until the stop, or until the bag cannot be written on.
    fn record(&mut self) -> Result<(), WriteError> {
        let mut stopped_at: Option<Instant> = None;
        // Ends with the stop; each turn that finds nothing sleeps.
        loop {
            self.obey()?;
            // Looked at before the messages: what is there at the stop is recorded.
            let stop = self.shared.stop.load(Ordering::Acquire);
            let taken = self.take_turn()?;
            if stop {
                let since = *stopped_at.get_or_insert_with(Instant::now);
                let goes_on = self.topics.iter().any(|topic| topic.subscriber.matched() > 0);
                if taken == 0 || (goes_on && since.elapsed() > DRAIN_MAX) {
                    return Ok(());
                }
            }
            let due = self.writer.flush_due();
            if due.is_some_and(|due| due <= Instant::now()) {
                self.writer.flush()?;
            }
            if taken == 0 && !stop {
                self.sleep();
            }
        }
    }

    /// Does what the handle has asked for since the last call.
    fn obey(&mut self) -> Result<(), WriteError> {
        // Bounded by the commands that were sent.
        while let Ok((wish, reply)) = self.inbox.try_recv() {
            let mut written = 0;
            if let Wish::Add(topic) = wish {
                self.add_topic(topic);
                continue;
            }
            self.take_waiting()?;
            match wish {
                Wish::Add(_) => {}
                Wish::Pause => self.paused = true,
                Wish::Resume => self.paused = false,
                Wish::Split => self.writer.split()?,
                Wish::Snapshot => written = self.snapshot()?,
            }
            if let Some(reply) = reply {
                // Who asked may have gone.
                let _ = reply.send(written);
            }
        }
        Ok(())
    }

    fn add_topic(&mut self, topic: TopicToRecord) {
        let name = topic.name.clone();
        match Recording::open(&self.participant, &self.node, &self.doorbell, topic) {
            Ok(topic) => self.topics.push(topic),
            Err(error) => self.refused.push(RecordedTopic {
                first_error: Some(format!("topic {} cannot be recorded: {error}", Shown(&name))),
                ..RecordedTopic::none(name)
            }),
        }
    }

    /// Takes what was published before a command: it belongs to the state before.
    fn take_waiting(&mut self) -> Result<(), WriteError> {
        for _ in 0..WAITING_TURNS {
            if self.take_turn()? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Writes the messages that are in memory; gives how many.
    fn snapshot(&mut self) -> Result<u64, WriteError> {
        let Some(newest) = &mut self.newest else { return Ok(0) };
        let (topics, writer, shared) = (&mut self.topics, &mut self.writer, &self.shared);
        let written = newest.write_out(|kept, pieces| {
            let Kept { place, topic, time_ns, bytes } = *kept;
            let copies = writer.write(topic, time_ns, time_ns, pieces)?;
            topics[place].count_written(copies, bytes, shared);
            Ok(())
        })?;
        self.writer.flush()?;
        Ok(written)
    }

    fn sleep(&self) {
        self.doorbell.drain(|_| {});
        self.participant.announce_idle();
        let due = self.writer.flush_due();
        let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
        let topics = &self.topics;
        self.doorbell.sleep(timeout, || {
            // All of them are armed, even after one had something.
            topics.iter().fold(false, |ready, topic| topic.handle.arm() | ready)
        });
    }

    /// Gives every topic a turn; says how many messages were taken.
    fn take_turn(&mut self) -> Result<usize, WriteError> {
        let mut taken = 0;
        for place in 0..self.topics.len() {
            for _ in 0..TURN_MESSAGES {
                let topic = &mut self.topics[place];
                match topic.subscriber.take() {
                    Ok(None) => break,
                    Ok(Some(sample)) => {
                        taken += 1;
                        if !self.paused {
                            self.write(place, &sample)?;
                        }
                        drop(sample);
                        self.topics[place].handle.mark_processed();
                    }
                    Err(error) => {
                        taken += 1;
                        topic.counts.note(error.to_string());
                        break;
                    }
                }
            }
        }
        Ok(taken)
    }

    /// Writes a message from where it lies: only what is not plain is encoded.
    fn write(&mut self, place: usize, sample: &AnySample) -> Result<(), WriteError> {
        let topic = &mut self.topics[place];
        let mut slices = CdrSlices::new(&mut self.head);
        if let Err(error) = sample.schema().encode_cdr_slices(sample.block(), &mut slices) {
            topic.counts.damaged += 1;
            let (name, seq) = (&topic.counts.name, sample.seq());
            let sentence =
                format!("message {seq} of topic {} is not recorded: {error}", Shown(name));
            topic.counts.note(sentence);
            return Ok(());
        }
        let written = match topic.written {
            Some(written) => written,
            None => *topic.written.insert(self.writer.add_topic(describe(topic, sample))?),
        };
        let bytes = slices.total_bytes();
        let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
        let mut count = 0;
        for (place, piece) in pieces.iter_mut().zip(slices.pieces()) {
            *place = IoSlice::new(piece);
            count += 1;
        }
        let pieces = &pieces[..count];
        // A message without a long array is encoded as a whole, which copies it.
        let mut copies = u64::from(count == 1);
        match &mut self.clock {
            LogClock::Stepped(held) if topic.subscriber.matched() > 1 => {
                let full = held.bytes + bytes > HELD_BYTES_MAX;
                if full {
                    topic.counts.note(format!(
                        "topic {}: one step has more than {HELD_BYTES_MAX} bytes of messages of \
                         several publishers, so that their order is that in which they came",
                        topic.counts.name
                    ));
                }
                if held.has_new_step() || full {
                    release(held, &mut self.writer)?;
                }
                // Here, and later into the open chunk.
                copies += 2;
                held.bytes += bytes;
                held.messages.push(HeldMessage {
                    key: (place, sample.publisher(), sample.seq()),
                    topic: written,
                    stamp_ns: sample.stamp_ns(),
                    cdr: pieces.iter().flat_map(|piece| piece.iter().copied()).collect(),
                });
            }
            clock => {
                let head = pieces.first().map_or(&[][..], |piece| piece);
                let Some(time_ns) = clock.time_ns(sample, head) else { return Ok(()) };
                let is_ahead = clock.is_wall() && sample.stamp_ns() > time_ns + AHEAD_NS;
                topic.counts.ahead += u64::from(is_ahead);
                if let Some(newest) = &mut self.newest {
                    let kept = Kept { place, topic: written, time_ns, bytes };
                    topic.keep(newest, kept, pieces, copies);
                    return Ok(());
                }
                copies += self.writer.write(written, time_ns, time_ns, pieces)?;
            }
        }
        topic.count_written(copies, bytes, &self.shared);
        Ok(())
    }

    /// Completes the bag, also after an error that leaves it writable.
    fn complete(mut self, ended: Result<(), WriteError>) -> Result<RecordReport, RecordError> {
        let ended = match &mut self.clock {
            LogClock::Stepped(held) => ended.and_then(|()| release(held, &mut self.writer)),
            _ => ended,
        };
        let counts = self
            .topics
            .iter()
            .map(|topic| RecordedTopic { lost: topic.subscriber.lost(), ..topic.counts.clone() });
        let topics: Vec<_> = counts.chain(self.refused).collect();
        // Without subscribers nobody waits for a recorder that has stopped.
        drop((self.topics, self.clock));
        let before = self.writer.saved();
        let finished = self.writer.finish();
        let saved = finished.as_ref().map_or(before, |saved| *saved);
        let kept = self.newest.map_or(0, |newest| newest.messages());
        let report = RecordReport { topics, saved, kept };
        match ended.and(finished) {
            Ok(_) => Ok(report),
            Err(source) => Err(RecordError::Write { source, report: Box::new(report) }),
        }
    }
}

type Ports = (Doorbell, Vec<Recording>, LogClock);

fn open_ports(
    participant: &Participant,
    options: &RecorderOptions,
) -> Result<Ports, StartRecorderError> {
    let error = |topic: &str| {
        let topic = topic.to_owned();
        move |source: PortError| StartRecorderError::Port { topic, source }
    };
    let bell = participant.doorbell(DoorbellOptions::default());
    let doorbell = bell.map_err(error(&options.topics[0].name))?;
    let mut topics = Vec::new();
    for topic in &options.topics {
        let name = &topic.name;
        let opened = Recording::open(participant, &options.node, &doorbell, topic.clone());
        topics.push(opened.map_err(error(name))?);
    }
    let clock = match options.log_time {
        LogTime::Wall => LogClock::Wall(WallClock::begin()),
        LogTime::Simulated { start_ns } => {
            let clock = RunClock::open(participant, &options.node, start_ns);
            LogClock::Simulated(clock.map_err(error(crate::player::CLOCK_TOPIC))?)
        }
        LogTime::FromClock => {
            let clock = RunClock::open(participant, &options.node, 0);
            LogClock::FromClock(clock.map_err(error(crate::player::CLOCK_TOPIC))?)
        }
        LogTime::Lockstep => {
            let clock = RunClock::open(participant, &options.node, 0);
            LogClock::Lockstep(clock.map_err(error(crate::player::CLOCK_TOPIC))?)
        }
        LogTime::Stepped => {
            let grants = StepSubscriber::open(participant, &options.node, None, None);
            let grants = grants.map_err(error(STEP_TOPIC))?;
            LogClock::Stepped(Held { grants, step: 0, messages: Vec::new(), bytes: 0 })
        }
    };
    Ok((doorbell, topics, clock))
}

impl Recording {
    fn open(
        participant: &Participant,
        node: &str,
        doorbell: &Doorbell,
        topic: TopicToRecord,
    ) -> Result<Recording, PortError> {
        let TopicToRecord { name, qos, mut offered } = topic;
        let port =
            SubscriberOptions { node, topic: &name, qos, doorbell: Some(doorbell), group: None };
        let subscriber = participant.any_subscriber(port)?;
        let handle = subscriber.handle();
        if offered.is_empty() {
            offered.push(OfferedQos::from(qos));
        }
        let counts = RecordedTopic::none(name);
        Ok(Recording { subscriber, handle, offered, written: None, counts })
    }

    /// A message is in the bag, or among those that are sorted before.
    fn count_written(&mut self, copies: u64, bytes: usize, shared: &RecorderState) {
        self.handle.count_copies(copies);
        self.counts.recorded += 1;
        shared.messages.fetch_add(1, Ordering::Relaxed);
        shared.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Keeps a message in memory for a snapshot, which copies it.
    fn keep(&mut self, newest: &mut Newest, kept: Kept, pieces: &[IoSlice<'_>], copies: u64) {
        if newest.keep(kept, pieces) {
            self.handle.count_copies(copies + 1);
            return;
        }
        self.counts.note(format!(
            "topic {}: a message of {} bytes is not kept for snapshots, which have {} bytes of \
             memory; give more",
            self.counts.name,
            kept.bytes,
            newest.bytes_max()
        ));
    }
}

fn describe(topic: &Recording, sample: &AnySample) -> TopicDescription {
    let schema = sample.schema();
    TopicDescription {
        name: topic.counts.name.clone(),
        type_name: schema.type_name().to_owned(),
        definition: schema.definition().to_owned(),
        type_hash: schema.type_hash().to_string(),
        qos: topic.offered.clone(),
    }
}

/// Writes the messages of a step that is over.
fn release(held: &mut Held, writer: &mut BagWriter) -> Result<(), WriteError> {
    held.bytes = 0;
    held.messages.sort_by_key(|message| message.key);
    held.messages.drain(..).try_for_each(|message| {
        let HeldMessage { topic, stamp_ns, cdr, .. } = message;
        writer.write(topic, stamp_ns, stamp_ns, &[IoSlice::new(&cdr)]).map(drop)
    })
}

impl RecordedTopic {
    fn none(name: String) -> Self {
        Self { name, recorded: 0, lost: 0, damaged: 0, ahead: 0, first_error: None }
    }

    fn note(&mut self, error: String) {
        self.first_error.get_or_insert(error);
    }
}

impl LogClock {
    fn is_wall(&self) -> bool {
        matches!(self, LogClock::Wall(_))
    }

    /// The own time of a message that has just been taken; `cdr` is the start of its payload.
    /// `None`: it has none yet.
    fn time_ns(&mut self, sample: &AnySample, cdr: &[u8]) -> Option<u64> {
        Some(match self {
            // In steps, stamps are simulated time.
            LogClock::Stepped(_) => sample.stamp_ns(),
            LogClock::Wall(clock) => clock.time_ns(sample.stamp_ns(), wall_ns()),
            LogClock::FromClock(clock) => {
                clock.follow();
                // As in ROS 2, 0 is no time.
                return Some(clock.time_ns(sample.stamp_ns())).filter(|time_ns| *time_ns > 0);
            }
            LogClock::Simulated(clock) => {
                clock.follow();
                clock.time_ns(sample.stamp_ns())
            }
            LogClock::Lockstep(clock) => {
                clock.follow();
                // No stamp of the run's time lies after the newest one; others are not of it.
                let of_run = 1..=clock.newest_ns();
                let own = header_stamp_ns(sample, cdr).filter(|own| of_run.contains(own));
                own.unwrap_or_else(|| clock.time_ns(sample.stamp_ns()))
            }
        })
    }
}

/// `header.stamp` of a message, in ns. Its type has it in the first place, behind the four bytes
/// that open each payload.
fn header_stamp_ns(sample: &AnySample, cdr: &[u8]) -> Option<u64> {
    sample.schema().stamp_offset()?;
    let word = |at: usize| cdr.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let seconds = u64::try_from(word(4)?.cast_signed()).ok()?;
    Some(seconds * 1_000_000_000 + u64::from(word(8)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compression, WriterOptions};
    use crossdock_comm::step::{Grant, StepPublisher};
    use crossdock_comm::{ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous, Woken};
    use crossdock_msg::{Extra, types};
    use std::os::unix::fs::DirBuilderExt;
    use std::path::Path;
    use std::sync::mpsc::channel;

    /// Longer than anything takes.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn messages_are_held_for_a_whole_step_with_all_its_phases() {
        let folder = std::env::temp_dir().join(format!("xd-held-{}", std::process::id()));
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder.clone()),
            ..ParticipantOptions::new(0, "steps")
        };
        let participant = Participant::open(options).expect("a participant");
        let conductor = StepPublisher::open(&participant, "player").expect("a conductor");
        let grants =
            StepSubscriber::open(&participant, "recorder", None, None).expect("a subscriber");
        let mut held = Held { grants, step: 0, messages: Vec::new(), bytes: 0 };
        assert!(!held.has_new_step(), "nothing was granted");
        for (step, phase, is_new) in [(1, 0, true), (1, 1, false), (2, 0, true), (2, 1, false)] {
            conductor.grant(Grant { step, phase, now_ns: step }).expect("a grant");
            assert_eq!(held.has_new_step(), is_new, "step {step}, phase {phase}");
            assert!(!held.has_new_step(), "the grant was seen");
        }
        drop((held, conductor, participant));
        // What is left of the meeting place.
        let _ = std::fs::remove_dir_all(folder);
    }

    /// A recorder of `/a` and `/b`, and who publishes on `/a`, which are connected.
    fn connected(folder: &Path) -> (RecordingThread, Publisher<types::std_msgs::String>) {
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder.to_owned()),
            ..ParticipantOptions::new(0, "sleep")
        };
        let participant = Participant::open(options).expect("a participant");
        let qos = Qos::reliable(4, PATIENCE);
        let options =
            PublisherOptions { node: "talker", topic: "/a", qos, max_bytes: None, group: None };
        let publisher = participant.publisher(options).expect("a publisher");
        let bag = folder.join("bag.mcap");
        let writer = BagWriter::create(bag, WriterOptions::new(Compression::None)).expect("a bag");
        let doorbell = participant.doorbell(DoorbellOptions::default()).expect("a doorbell");
        let open = |name| {
            let topic = TopicToRecord::new(name, qos);
            Recording::open(&participant, "recorder", &doorbell, topic).expect("a subscriber")
        };
        let recorder = RecordingThread {
            topics: ["/a", "/b"].map(open).into(),
            writer,
            refused: Vec::new(),
            clock: LogClock::Wall(WallClock::begin()),
            newest: None,
            paused: false,
            node: "recorder".to_owned(),
            shared: Arc::default(),
            inbox: channel().1,
            head: CdrBuffer::default(),
            doorbell,
            participant,
        };
        let met = || publisher.matched() == 1 && recorder.topics[0].subscriber.matched() == 1;
        assert!(recorder.participant.wait_until(PATIENCE, met));
        (recorder, publisher)
    }

    #[test]
    fn a_recorder_does_not_sleep_while_a_message_waits_for_which_nobody_rings_any_more() {
        let folder = std::env::temp_dir().join(format!("xd-sleep-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder).expect("a folder");
        let (awake, woken) = channel();
        let of_thread = folder.clone();
        std::thread::spawn(move || {
            let (recorder, publisher) = connected(&of_thread);
            let loan = publisher.loan(Extra::none()).expect("a loan");
            loan.publish().expect("published");
            // Whatever has rung so far ends no sleep any more.
            while recorder.doorbell.sleep(Some(Duration::ZERO), || false) != Woken::TimedOut {
                recorder.doorbell.drain(|_| {});
            }
            recorder.sleep();
            drop((recorder, publisher));
            awake.send(()).expect("the test waits");
        });
        woken.recv_timeout(PATIENCE).expect("it sleeps beside a message");
        // What is left of the meeting place.
        let _ = std::fs::remove_dir_all(folder);
    }
}
