//! Plays a bag: publishes its topics, with the recorded timing or as fast as the graph takes them.
//!
//! A thread of its own publishes the messages (`player_thread`). This module is the thread's
//! handle, its options and its reports.

use crate::bag::{BagReader, BagTopic, ReadError, TopicSchemaError};
use crate::caller::Calls;
use crate::ending::Ending;
use crate::names::{Shown, absolute};
use crate::pace::Rate;
use crate::player_thread::{self, Begin, Command};
use crate::qos::port_qos;
use crossdock_comm::step::StepError;
use crossdock_comm::{ObserveError, PUBLISHERS_OF_PEER_MAX, Participant, PortError, Qos};
use crossdock_msg::{EventSchema, SchemaError, ServiceSchema};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A topic that is to be played.
#[derive(Debug, Clone)]
pub struct TopicToPlay {
    /// Its name in the bag.
    pub name: String,
    /// Its name in the graph, if that is another one.
    pub renamed: Option<String>,
    /// What is offered; `None`: what was recorded, or reliable with a depth of 10.
    pub qos: Option<Qos>,
    /// Largest message in bytes, for planning memory; `None` lets memory grow.
    pub max_bytes: Option<usize>,
    /// Send the requests of its events to a service, in the place of publishing the events.
    pub requests: Option<RequestsToPlay>,
}

/// Requests that are sent again. Answers are not looked at; with [`Rate::Max`] they are waited for.
#[derive(Debug, Clone)]
pub struct RequestsToPlay {
    /// The service that is called.
    pub service: String,
    /// Whose events tell of the requests.
    pub source: RequestSource,
}

/// Whose events tell of requests: if client and server of a service have published events, each
/// request is in the bag twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestSource {
    /// The server's.
    #[default]
    Server,
    /// The clients'.
    Client,
}

impl TopicToPlay {
    /// A topic that is played as it was recorded.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), renamed: None, qos: None, max_bytes: None, requests: None }
    }
}

/// Which topics of a bag are played.
#[derive(Debug, Clone)]
pub enum PlayTopics {
    /// All that can be.
    All,
    /// These; each must be in the bag and playable.
    Only(Vec<TopicToPlay>),
}

/// How a bag is played.
#[derive(Debug, Clone)]
pub struct PlayerOptions {
    /// Name of the node that publishes.
    pub node: String,
    /// Which topics are played.
    pub topics: PlayTopics,
    /// How fast.
    pub rate: Rate,
    /// Recorded time that is left out at the start.
    pub start_offset: Duration,
    /// Recorded time to play, from the first message on that is played; `None`: all of it.
    pub duration: Option<Duration>,
    /// Log time after which nothing is played, in ns; `None`: the end of the bag.
    pub until_ns: Option<u64>,
    /// Play again from the start when the end is reached, until it is stopped.
    pub repeat: bool,
    /// Begin in the state after [`Player::pause`].
    pub paused: bool,
    /// Publish `/clock` for simulated time: at each message, and between messages at this distance
    /// in recorded time. `None`: no clock; a `/clock` in the bag is played like other topics.
    pub clock: Option<Duration>,
    /// With a clock: publish it at messages of these topics of the bag only, by their names there.
    /// `None`: at each message. [`Duration::MAX`] as the clock's distance leaves out all between.
    pub clock_topics: Option<Vec<String>>,
    /// Bytes that all its publishers may take for messages and the lists of these,
    /// [`KEPT_BYTES_MAX`] by default. Playing ends where they would take more: the recording says
    /// how many messages are kept.
    pub kept_bytes_max: u64,
}

/// Bytes that a player's publishers take at most for messages and the lists of these, if nothing
/// else is said: a thousand images of 8 MB.
pub const KEPT_BYTES_MAX: u64 = 8 << 30;

impl PlayerOptions {
    /// Plays these topics once and whole, without a clock.
    pub fn new(node: impl Into<String>, topics: PlayTopics, rate: Rate) -> Self {
        Self {
            node: node.into(),
            topics,
            rate,
            start_offset: Duration::ZERO,
            duration: None,
            until_ns: None,
            repeat: false,
            paused: false,
            clock: None,
            clock_topics: None,
            kept_bytes_max: KEPT_BYTES_MAX,
        }
    }
}

/// Why playing could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartPlayerError {
    /// The rate is not a number above zero.
    #[error("a rate of {rate} cannot be played; give a number above 0, such as 0.5 or 2, or `max`")]
    Rate {
        /// What was asked for.
        rate: f64,
    },
    /// The clock's distance is too small.
    #[error("the clock cannot be published every {tick:?}; choose at least {least:?}")]
    Clock {
        /// What was asked for.
        tick: Duration,
        /// The limit.
        least: Duration,
    },
    /// `/clock` is asked for twice.
    #[error(
        "topic {CLOCK_TOPIC} would be published by the bag and by the player's own clock; leave \
         one of them out"
    )]
    TwoClocks,
    /// The bag lacks a topic that is to be played.
    #[error("the bag has no topic {}; it has: {}", Shown(topic), Shown(&known.join(", ")))]
    UnknownTopic {
        /// What was asked for.
        topic: String,
        /// The topics of the bag.
        known: Vec<String>,
    },
    /// A topic that is to be played cannot be.
    #[error(transparent)]
    Topic(#[from] TopicSchemaError),
    /// A topic whose requests are to be sent has no events of a service.
    #[error("the requests of topic {} cannot be sent: {source}", Shown(topic))]
    Requests {
        /// The topic.
        topic: String,
        /// Why not.
        source: Box<SchemaError>,
    },
    /// No topic of the bag can be played.
    #[error("no topic of the bag can be played{}", first_reason(reasons))]
    NothingPlayable {
        /// Why each topic cannot be played.
        reasons: Vec<Unplayable>,
    },
    /// One process cannot publish so many topics.
    #[error(
        "{topics} topics of the bag would be published, more than the {limit} publishers that one \
         process may have; choose some of them, as by `--topics`"
    )]
    TooManyTopics {
        /// How many are asked for.
        topics: usize,
        /// The limit.
        limit: usize,
    },
    /// A topic cannot be published.
    #[error("topic {} of the bag cannot be published: {source}", Shown(topic))]
    Port {
        /// The topic.
        topic: String,
        /// What the communication layer says.
        source: PortError,
    },
    /// The lists that publishers have for the messages that they keep take more memory than all
    /// of it may.
    #[error(
        "the publishers up to that of topic {} take {bytes} bytes of memory before the first \
         message, because so many messages are to be kept, more than {limit}; play fewer topics, \
         give some of them a smaller depth (`--qos-profile-overrides-path`), or raise the limit \
         (`bag play --max-kept-bytes`)",
        Shown(topic)
    )]
    Kept {
        /// The topic that was opened last.
        topic: String,
        /// What they take.
        bytes: u64,
        /// What they and their messages may take.
        limit: u64,
    },
    /// The processes of the graph cannot be observed, which [`Rate::Max`] needs.
    #[error("playing at maximum rate needs to watch the graph, which failed: {source}")]
    Observe {
        /// What the communication layer says.
        source: Box<ObserveError>,
    },
    /// The thread could not be started.
    #[error("the player's thread cannot be started: {source}; close other programs")]
    Thread {
        /// The operating system's error.
        source: io::Error,
    },
}

fn first_reason(reasons: &[Unplayable]) -> String {
    reasons.first().map_or(String::new(), |first| format!(": {}", first.reason))
}

/// A topic of the bag that is not played.
#[derive(Debug, Clone)]
pub struct Unplayable {
    /// The topic.
    pub topic: String,
    /// Why not, as a sentence that names the topic.
    pub reason: String,
}

/// Why playing ended before the end of the bag.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// With [`Rate::Max`]: the graph did not work off a message.
    #[error(
        "message {number} of topic {} (recorded at {time_ns} ns) was not processed within \
         {timeout:?}: {waiting}; see what it waits for, or play with a rate instead of `max`",
        Shown(topic)
    )]
    NotDrained {
        /// The topic.
        topic: String,
        /// Number of the message in its topic, from 1.
        number: u64,
        /// When it was recorded, in ns.
        time_ns: u64,
        /// How long was waited.
        timeout: Duration,
        /// Who still had messages.
        waiting: String,
    },
    /// The messages of all publishers take more memory than they may.
    #[error(
        "after message {number} of topic {} ({topic_bytes} bytes of messages), the messages of all \
         played topics take {bytes} bytes of memory, more than {limit}; play fewer topics, give \
         some of them a smaller depth (`--qos-profile-overrides-path`), or raise the limit (`bag \
         play --max-kept-bytes`)",
        Shown(topic)
    )]
    Kept {
        /// The topic whose message came last.
        topic: String,
        /// Number of that message in its topic, from 1.
        number: u64,
        /// What the messages of this topic take.
        topic_bytes: u64,
        /// What the messages of all topics take.
        bytes: u64,
        /// What they may take.
        limit: u64,
    },
    /// The processes of the graph could not be observed.
    #[error("playing at maximum rate needs to watch the graph, which failed: {source}")]
    Observe {
        /// What the communication layer says.
        source: Box<ObserveError>,
    },
    /// With [`Rate::Steps`]: an executor or recorder that is to be stepped is not connected.
    #[error(
        "only {found} of the {expected} executors and recorders that run in steps are connected to \
         the player after {timeout:?}; look at the reports of their processes"
    )]
    NotConnected {
        /// Who was to come.
        expected: usize,
        /// Who came.
        found: usize,
        /// How long was waited.
        timeout: Duration,
    },
    /// With [`Rate::Steps`]: the graph could not be told to go on.
    #[error("the step at {time_ns} ns could not begin: {source}")]
    Step {
        /// Recorded time.
        time_ns: u64,
        /// What the communication layer says.
        source: StepError,
    },
    /// The player's thread panicked, which is a defect of this program.
    #[error("the player stopped because of a defect in it; please report this with the bag")]
    Defect,
}

/// What was played of one topic.
#[derive(Debug, Clone)]
pub struct PlayedTopic {
    /// The topic.
    pub name: String,
    /// Messages published.
    pub published: u64,
    /// Messages that do not match their definition, and the first such error.
    pub mismatched: u64,
    /// Messages that subscribers or memory did not admit.
    pub refused: u64,
    /// The first error of this topic: a sentence that names topic, number and time.
    pub first_error: Option<String>,
}

/// What was played.
#[derive(Debug)]
pub struct PlayReport {
    /// The topics that were played.
    pub topics: Vec<PlayedTopic>,
    /// What of the bag could not be read.
    pub damage: Option<ReadError>,
    /// Whether the end of the bag was reached.
    pub completed: bool,
    /// Times of the bag lie after the last one that a message can say,
    /// [`crossdock_msg::STAMP_NS_MAX`]: `/clock` stood still there.
    pub clock_stood: bool,
}

impl PlayReport {
    /// What is to be known of the simulated time that was published.
    pub fn clock_note(&self) -> Option<String> {
        self.clock_stood.then(|| {
            "the bag has times after 2147483647.999999999 s (January 2038), the last one that /clock can say, \
             where simulated time stood still; leave these messages out with `crossdock bag cut`, or make \
             the bag again on a computer with the right time"
                .to_owned()
        })
    }
}

/// How far playing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayProgress {
    /// Messages of topics that are played, read from the bag so far.
    pub messages: u64,
    /// Messages that the bag says that it holds of these topics, whatever part of it is played; do
    /// not rely on it.
    pub total: u64,
    /// Recorded time of the last one, in ns.
    pub time_ns: u64,
}

/// The player's thread writes these, anybody reads them: statistics, so Relaxed is enough.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) messages: AtomicU64,
    pub(crate) time_ns: AtomicU64,
    /// A node has asked for the end, which is why playing has ended.
    pub(crate) asked: AtomicBool,
    /// Playing has failed.
    pub(crate) failed: AtomicBool,
}

/// A topic and its type, ready to be published.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Index into the bag's topics.
    pub(crate) index: usize,
    /// Absolute.
    pub(crate) name: String,
    pub(crate) qos: Qos,
    pub(crate) max_bytes: Option<usize>,
    pub(crate) schema: Arc<crossdock_msg::Schema>,
    pub(crate) calls: Option<Calls>,
}

/// Smallest distance of clock messages: 100 kHz would keep a core busy already.
const TICK_MIN: Duration = Duration::from_micros(10);
/// Name of the topic with the simulated time.
pub(crate) const CLOCK_TOPIC: &str = "/clock";

/// Plays a bag on a thread of its own.
///
/// [`Player::start`] creates the publishers, so that subscribers can connect; [`Player::play`]
/// begins. Between messages the thread sleeps. Dropping a player stops it. `Send` and `Sync`.
#[derive(Debug)]
pub struct Player {
    commands: Sender<Command>,
    thread: Option<JoinHandle<Result<PlayReport, PlayError>>>,
    ending: Ending,
    progress: Arc<Progress>,
    total: u64,
    played: Vec<String>,
    unplayable: Vec<Unplayable>,
}

impl Player {
    /// Creates the publishers for the topics of `reader`'s bag.
    ///
    /// Allocates, starts a thread, blocks until the publishers stand.
    ///
    /// # Errors
    /// When a topic that is asked for is not there or cannot be published, or none can.
    pub fn start(
        participant: &Participant,
        reader: BagReader,
        options: PlayerOptions,
    ) -> Result<Player, StartPlayerError> {
        match options.rate {
            Rate::Factor(rate) if !(rate > 0.0 && rate.is_finite()) => {
                return Err(StartPlayerError::Rate { rate });
            }
            Rate::Steps(ref steps) => match steps.factor {
                Some(rate) if !(rate > 0.0 && rate.is_finite()) => {
                    return Err(StartPlayerError::Rate { rate });
                }
                _ => {}
            },
            _ => {}
        }
        if let Some(tick) = options.clock.filter(|tick| *tick < TICK_MIN) {
            return Err(StartPlayerError::Clock { tick, least: TICK_MIN });
        }
        let (prepared, unplayable) = prepare(&reader, &options)?;
        let topics = prepared.iter().filter(|topic| topic.calls.is_none()).count();
        if topics > PUBLISHERS_OF_PEER_MAX {
            let limit = PUBLISHERS_OF_PEER_MAX;
            return Err(StartPlayerError::TooManyTopics { topics, limit });
        }
        let played = prepared.iter().map(|prepared| prepared.name.clone()).collect();
        let progress = Arc::new(Progress::default());
        let counts = reader.topic_counts();
        let total = match prepared.is_empty() {
            // All that is taken from the bag is how time passes.
            true => reader.message_count(),
            false => prepared.iter().fold(0, |sum: u64, it| sum.saturating_add(counts[it.index])),
        };
        let (commands, inbox) = channel();
        let (ready, is_ready): (Sender<Result<(), StartPlayerError>>, Receiver<_>) = channel();
        let begin = Begin {
            participant: participant.clone(),
            reader,
            options,
            prepared,
            progress: Arc::clone(&progress),
            inbox,
            ready,
        };
        let ending = Ending::default();
        let guard = ending.guard();
        let thread = std::thread::Builder::new()
            .name("crossdock-play".to_owned())
            .spawn(move || player_thread::run(begin, guard))
            .map_err(|source| StartPlayerError::Thread { source })?;
        let thread = Some(thread);
        let player = Player { commands, thread, ending, progress, total, played, unplayable };
        match is_ready.recv() {
            Ok(result) => result.map(|()| player),
            // Only a panic ends the thread without a word; its hook has reported it.
            Err(gone) => Err(StartPlayerError::Thread { source: io::Error::other(gone) }),
        }
    }

    /// Names of the topics that are played.
    pub fn topics(&self) -> &[String] {
        &self.played
    }

    /// Topics of the bag that are not played although all were asked for, and why.
    pub fn unplayable(&self) -> &[Unplayable] {
        &self.unplayable
    }

    /// Begins to publish; subscribers that are not connected yet miss messages. Does not block.
    pub fn play(&self) {
        // A thread that is gone has its report ready.
        let _ = self.commands.send(Command::Play);
    }

    /// Lets no message go out until [`Player::resume`]; the recorded distances stay as they are.
    /// Does not block.
    pub fn pause(&self) {
        let _ = self.commands.send(Command::Pause);
    }

    /// Goes on after a pause. Does not block.
    pub fn resume(&self) {
        let _ = self.commands.send(Command::Resume);
    }

    /// In a pause, lets the next message go out at once. Does not block.
    pub fn step(&self) {
        let _ = self.commands.send(Command::Step);
    }

    /// From the next message on, plays this many times as fast as recorded. A rate that is not a
    /// number above zero, and players without [`Rate::Factor`], change nothing. Does
    /// not block.
    pub fn set_rate(&self, factor: f64) {
        let _ = self.commands.send(Command::SetRate(factor));
    }

    /// Goes on with the first message of this log time or a later one, in ns. In a pause it waits
    /// there. At the end of the bag and with [`Rate::Steps`] it changes nothing. Does not block.
    pub fn seek(&self, log_time_ns: u64) {
        let _ = self.commands.send(Command::Seek(log_time_ns));
    }

    /// Stops after the current message. Does not block.
    pub fn stop(&self) {
        let _ = self.commands.send(Command::Stop);
    }

    /// How far playing is. Does not block.
    pub fn progress(&self) -> PlayProgress {
        PlayProgress {
            messages: self.progress.messages.load(Ordering::Relaxed),
            total: self.total,
            time_ns: self.progress.time_ns.load(Ordering::Relaxed),
        }
    }

    /// Whether the end was reached, or playing failed or was stopped. Does not block.
    pub fn is_finished(&self) -> bool {
        self.ending.has_come()
    }

    /// With [`Rate::Steps`]: whether playing has ended because a node asked for the end of the run.
    /// Known once [`Player::is_finished`]. Does not block.
    pub fn was_asked_to_end(&self) -> bool {
        self.progress.asked.load(Ordering::Relaxed)
    }

    /// Whether playing has failed; [`Player::wait`] says why. Known once [`Player::is_finished`].
    /// Does not block.
    pub fn has_failed(&self) -> bool {
        self.progress.failed.load(Ordering::Relaxed)
    }

    /// Calls `listener` on the player's thread when [`Player::is_finished`] has become true, or at
    /// once when it is already. Of several listeners the last one counts. Allocates.
    pub fn when_finished(&self, listener: impl FnOnce() + Send + 'static) {
        self.ending.listen(Box::new(listener));
    }

    /// Blocks until playing ends, and gives what was played.
    ///
    /// # Errors
    /// When playing failed.
    pub fn wait(mut self) -> Result<PlayReport, PlayError> {
        // A thread that is gone has its report ready.
        let _ = self.commands.send(Command::Release);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(PlayError::Defect),
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // The report is not wanted any more.
            let _ = thread.join();
        }
    }
}

/// Finds the topics that are to be played and their types.
fn prepare(
    reader: &BagReader,
    options: &PlayerOptions,
) -> Result<(Vec<Prepared>, Vec<Unplayable>), StartPlayerError> {
    match &options.topics {
        PlayTopics::Only(topics) => {
            let is_clock = |topic: &TopicToPlay| {
                absolute(topic.renamed.as_ref().unwrap_or(&topic.name)) == CLOCK_TOPIC
            };
            if options.clock.is_some() && topics.iter().any(is_clock) {
                return Err(StartPlayerError::TwoClocks);
            }
            let places = places(reader);
            let prepared = topics.iter().map(|topic| prepare_one(reader, &places, topic));
            Ok((prepared.collect::<Result<_, _>>()?, Vec::new()))
        }
        PlayTopics::All => {
            let (mut prepared, mut reasons) = (Vec::new(), Vec::new());
            for (index, topic) in reader.topics().iter().enumerate() {
                match prepare_any(index, topic, options) {
                    Ok(topic) => prepared.push(topic),
                    Err(reason) => reasons.push(Unplayable { topic: topic.name.clone(), reason }),
                }
            }
            if prepared.is_empty() {
                return Err(StartPlayerError::NothingPlayable { reasons });
            }
            Ok((prepared, reasons))
        }
    }
}

/// Where the topics of a bag are, by name: there may be tens of thousands. At most one topic of a
/// name is delivered; of the others `schema` says what is wrong.
fn places(reader: &BagReader) -> BTreeMap<&str, usize> {
    let mut places = BTreeMap::new();
    for (index, topic) in reader.topics().iter().enumerate() {
        let place = places.entry(topic.name.as_str()).or_insert(index);
        if topic.is_delivered() || !reader.topics()[*place].is_delivered() {
            *place = index;
        }
    }
    places
}

fn prepare_one(
    reader: &BagReader,
    places: &BTreeMap<&str, usize>,
    wanted: &TopicToPlay,
) -> Result<Prepared, StartPlayerError> {
    let found = places.get(absolute(&wanted.name).as_str());
    let index = *found.ok_or_else(|| StartPlayerError::UnknownTopic {
        topic: wanted.name.clone(),
        known: reader.topics().iter().map(|topic| topic.name.clone()).collect(),
    })?;
    let topic = &reader.topics()[index];
    let schema = topic.schema()?;
    let name = absolute(wanted.renamed.as_ref().unwrap_or(&wanted.name));
    let calls = wanted.requests.as_ref().map(|requests| calls(requests, &schema)).transpose();
    let calls = calls.map_err(|source| StartPlayerError::Requests {
        topic: topic.name.clone(),
        source: Box::new(source),
    })?;
    Ok(Prepared {
        index,
        name: calls.as_ref().map_or(name, |calls| calls.service.clone()),
        qos: wanted.qos.unwrap_or_else(|| port_qos(&topic.qos)),
        max_bytes: wanted.max_bytes,
        schema: Arc::new(schema),
        calls,
    })
}

/// The service whose requests are sent again, by the type of its events.
fn calls(requests: &RequestsToPlay, events: &crossdock_msg::Schema) -> Result<Calls, SchemaError> {
    let schema = ServiceSchema::of_events(events)?;
    let events = EventSchema::of(&schema)?;
    let service = absolute(&requests.service);
    Ok(Calls { service, source: requests.source, schema: Arc::new(schema), events })
}

fn prepare_any(
    index: usize,
    topic: &BagTopic,
    options: &PlayerOptions,
) -> Result<Prepared, String> {
    let name = topic.name.clone();
    if options.clock.is_some() && name == CLOCK_TOPIC {
        return Err(format!(
            "topic {} of the bag gives way to the clock of the player",
            Shown(&name)
        ));
    }
    let schema = topic.schema().map_err(|error| error.to_string())?;
    let qos = port_qos(&topic.qos);
    Ok(Prepared { index, name, qos, max_bytes: None, schema: Arc::new(schema), calls: None })
}
