//! The thread of a player: waits until a message is due, publishes it, goes on.
//!
//! It sleeps on the inbox of its commands, so that stopping is heard at once.

use crate::bag::{BagReader, ReadError};
use crate::caller::{CallAgainError, Caller};
use crate::drain::Drain;
use crate::ending::EndGuard;
use crate::messages::{BagMessage, Messages};
use crate::names::Shown;
use crate::pace::{GAP_MAX, Pace, Rate};
use crate::player::{
    CLOCK_TOPIC, PlayError, PlayReport, PlayedTopic, PlayerOptions, Prepared, Progress,
    StartPlayerError,
};
use crate::stepper::Stepper;
use crossdock_comm::{
    AnyPublisher, Participant, PublishCdrError, Publisher, PublisherOptions, Qos,
};
use crossdock_msg::types::rosgraph_msgs::Clock;
use crossdock_msg::{Extra, Message, STAMP_NS_MAX, stamp_of};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the handle tells the thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    Play,
    Stop,
    Pause,
    Resume,
    /// The next message may go out in a pause.
    Step,
    SetRate(f64),
    /// Go on at this log time.
    Seek(u64),
    /// The publishers are not needed any longer once the end is reached.
    Release,
}

/// What the thread starts with.
pub(crate) struct Begin {
    pub(crate) participant: Participant,
    pub(crate) reader: BagReader,
    pub(crate) options: PlayerOptions,
    pub(crate) prepared: Vec<Prepared>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) inbox: Receiver<Command>,
    pub(crate) ready: Sender<Result<(), StartPlayerError>>,
}

/// Whether playing goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    Stop,
    /// A node has asked for the end.
    Asked,
}

/// A topic that is played, and its counts.
struct PlayingTopic {
    output: Output,
    played: PlayedTopic,
    /// What its messages and their list took when this was looked at last.
    kept_bytes: u64,
}

/// Where the messages of a topic go.
enum Output {
    Topic(AnyPublisher),
    /// They are events, and their requests go to the service.
    Requests(Box<Caller>),
}

impl PlayingTopic {
    fn open(
        participant: &Participant,
        node: &str,
        prepared: Prepared,
        patience: Option<Duration>,
    ) -> Result<PlayingTopic, StartPlayerError> {
        let Prepared { name, qos, max_bytes, schema, calls, .. } = prepared;
        let port = PublisherOptions { node, topic: &name, qos, max_bytes, group: None };
        let opened = match calls {
            None => participant.any_publisher(schema, port).map(Output::Topic),
            Some(calls) => Caller::open(participant, node, calls, patience)
                .map(|caller| Output::Requests(Box::new(caller))),
        };
        let output = match opened {
            Ok(output) => output,
            Err(source) => return Err(StartPlayerError::Port { topic: name, source }),
        };
        let kept_bytes = match &output {
            Output::Topic(publisher) => publisher.memory_bytes(),
            Output::Requests(_) => 0,
        };
        Ok(PlayingTopic { output, played: PlayedTopic::new(name), kept_bytes })
    }
}

/// Which message is being played, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) topic: usize,
    pub(crate) number: u64,
    pub(crate) time_ns: u64,
}

/// What decides when the next message goes out.
enum Timing {
    Recorded(Pace),
    /// When the graph has worked off the one before, and at this pace at most.
    Drained(Box<Drain>, Option<Pace>),
    Stepped(Box<Stepper>),
}

impl Timing {
    fn drain(&mut self) -> Option<&mut Drain> {
        match self {
            Timing::Recorded(_) => None,
            Timing::Drained(drain, _) => Some(drain),
            Timing::Stepped(stepper) => Some(&mut stepper.drain),
        }
    }
}

struct Playing {
    inbox: Receiver<Command>,
    /// By index into the bag's topics.
    topics: Vec<Option<PlayingTopic>>,
    /// What the messages of all topics take, and may take.
    kept_bytes: u64,
    kept_bytes_max: u64,
    clock: Option<SimulatedClock>,
    timing: Timing,
    /// In steps, with no topic to be played: all that is taken from the bag is how time passes.
    only_time: bool,
    /// Nobody looks at the publishers' counters after the end.
    released: bool,
    /// Since when it is paused, or since the last step in the pause.
    paused: Option<Instant>,
    /// Messages that may go out in the pause.
    steps: u64,
    /// Where to go on.
    jump_ns: Option<u64>,
    repeat: bool,
    start_offset: Duration,
    /// Recorded time to play, and the recorded time at which that is over.
    duration: Option<Duration>,
    end_ns: Option<u64>,
    until_ns: u64,
    progress: Arc<Progress>,
}

/// The main function of the thread.
///
/// `guard` says that playing has ended; the publishers live on until they are released, so that
/// observers can still read what they counted.
pub(crate) fn run(begin: Begin, guard: EndGuard) -> Result<PlayReport, PlayError> {
    let Begin { participant, reader, options, prepared, progress, inbox, ready } = begin;
    let opened = Playing::open(&participant, &reader, options, prepared, progress, inbox);
    let mut playing = match opened {
        Ok(playing) => playing,
        Err(error) => {
            // The thread that started the player waits for this.
            let _ = ready.send(Err(error));
            return Ok(PlayReport {
                topics: Vec::new(),
                damage: None,
                completed: false,
                clock_stood: false,
            });
        }
    };
    if ready.send(Ok(())).is_err() || !playing.is_begun() {
        return Ok(playing.report(None, Flow::Stop));
    }
    let report = playing.play(&reader);
    playing.progress.failed.store(report.is_err(), Ordering::Relaxed);
    drop(guard);
    // A thread that stops a player does not wait until it is read. Bounded by the commands sent.
    while !playing.released && report.as_ref().is_ok_and(|report| report.completed) {
        match playing.inbox.recv() {
            Ok(Command::Stop | Command::Release) | Err(_) => break,
            Ok(_) => {}
        }
    }
    report
}

impl Playing {
    fn open(
        participant: &Participant,
        reader: &BagReader,
        options: PlayerOptions,
        prepared: Vec<Prepared>,
        progress: Arc<Progress>,
        inbox: Receiver<Command>,
    ) -> Result<Playing, StartPlayerError> {
        let mut topics: Vec<Option<PlayingTopic>> = Vec::new();
        topics.resize_with(reader.topics().len(), || None);
        let patience = match &options.rate {
            Rate::Max { drain_timeout, .. } => Some(*drain_timeout),
            _ => None,
        };
        let (mut kept_bytes, limit) = (0, options.kept_bytes_max);
        for prepared in prepared {
            let index = prepared.index;
            let opened = PlayingTopic::open(participant, &options.node, prepared, patience)?;
            kept_bytes += opened.kept_bytes;
            if kept_bytes > limit {
                let topic = opened.played.name;
                return Err(StartPlayerError::Kept { topic, bytes: kept_bytes, limit });
            }
            topics[index] = Some(opened);
        }
        let clock = match options.clock {
            Some(tick) => {
                let mut clock = SimulatedClock::open(participant, &options.node, tick)?;
                clock.topics = options.clock_topics.map(|names| {
                    reader.topics().iter().map(|topic| names.contains(&topic.name)).collect()
                });
                Some(clock)
            }
            None => None,
        };
        let timing = match options.rate {
            Rate::Factor(factor) => Timing::Recorded(Pace::new(factor)),
            Rate::Max { observer, drain_timeout, factor } => {
                let drain = Drain::open(observer, drain_timeout, participant.run());
                let drain = drain.map_err(|source| StartPlayerError::Observe { source })?;
                Timing::Drained(Box::new(drain), factor.map(Pace::new))
            }
            Rate::Steps(steps) => {
                Timing::Stepped(Box::new(Stepper::open(participant, &options.node, *steps)?))
            }
        };
        let duration = options.duration;
        let stepped = matches!(timing, Timing::Stepped(_));
        Ok(Playing {
            inbox,
            only_time: stepped && topics.iter().all(Option::is_none),
            topics,
            kept_bytes,
            kept_bytes_max: options.kept_bytes_max,
            clock,
            timing,
            duration,
            end_ns: None,
            until_ns: options.until_ns.unwrap_or(u64::MAX),
            released: false,
            paused: options.paused.then(Instant::now),
            steps: 0,
            jump_ns: None,
            repeat: options.repeat,
            start_offset: options.start_offset,
            progress,
        })
    }

    /// Waits for the beginning; false: it is stopped before.
    fn is_begun(&mut self) -> bool {
        // Bounded by the commands that were sent.
        loop {
            match self.inbox.recv() {
                Ok(Command::Play) => return true,
                Ok(command) if self.obey(command) == Flow::GoOn => {}
                _ => return false,
            }
        }
    }

    fn play(&mut self, reader: &BagReader) -> Result<PlayReport, PlayError> {
        let offset_ns = u64::try_from(self.start_offset.as_nanos()).unwrap_or(u64::MAX);
        let start_ns = match offset_ns {
            0 => 0,
            _ => reader.start_ns().saturating_add(offset_ns),
        };
        let mut damage = None;
        self.wait_for_servers();
        if let Timing::Stepped(stepper) = &self.timing {
            stepper.connect()?;
        }
        if let Some(drain) = self.timing.drain() {
            // The graph's processes have come since the player was started.
            drain.refresh().map_err(|source| PlayError::Observe { source })?;
        }
        let mut from_ns = start_ns;
        // Ends after the first time, or with a command, or if there is nothing to play.
        loop {
            let before = self.progress.messages.load(Ordering::Relaxed);
            let flow = self.play_once(&mut reader.messages_from(from_ns), &mut damage)?;
            if let Some(jump_ns) = self.jump_ns.take() {
                from_ns = jump_ns;
                self.begin_anew();
                continue;
            }
            from_ns = start_ns;
            let nothing = self.progress.messages.load(Ordering::Relaxed) == before;
            if !self.repeat || nothing || flow != Flow::GoOn {
                let stopped = flow == Flow::Stop;
                if !stopped {
                    self.topics.iter_mut().flatten().for_each(PlayingTopic::finish);
                }
                let damage = damage.filter(|_| !stopped);
                return Ok(self.report(damage, if stopped { Flow::Stop } else { Flow::GoOn }));
            }
            self.end_ns = None;
            self.begin_anew();
        }
    }

    /// The next message begins the time-line.
    fn begin_anew(&mut self) {
        if let Timing::Recorded(pace) = &mut self.timing {
            pace.restart();
        }
        if let Some(clock) = &mut self.clock {
            clock.last_ns = None;
        }
    }

    /// Waits for the servers of requests that are to be sent.
    fn wait_for_servers(&self) {
        let began = Instant::now();
        for topic in self.topics.iter().flatten() {
            if let Output::Requests(caller) = &topic.output {
                caller.wait_for_server(SERVER_TIMEOUT.saturating_sub(began.elapsed()));
            }
        }
    }

    /// Plays the messages once.
    fn play_once(
        &mut self,
        messages: &mut Messages,
        damage: &mut Option<ReadError>,
    ) -> Result<Flow, PlayError> {
        while let Some(message) = messages.next_message() {
            let message = match message {
                Ok(message) => message,
                Err(error) => {
                    *damage = Some(error);
                    break;
                }
            };
            if self.is_over(message.log_time_ns) {
                break;
            }
            match self.play_one(&message)? {
                Flow::GoOn => {}
                Flow::Stop => return Ok(Flow::Stop),
                Flow::Asked => {
                    self.progress.asked.store(true, Ordering::Relaxed);
                    return Ok(Flow::Asked);
                }
            }
        }
        Ok(Flow::GoOn)
    }

    /// Whether the time to play has passed before a message of this recorded time.
    fn is_over(&mut self, time_ns: u64) -> bool {
        if time_ns > self.until_ns {
            return true;
        }
        let Some(duration) = self.duration else { return false };
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        time_ns > *self.end_ns.get_or_insert(time_ns.saturating_add(duration_ns))
    }

    fn play_one(&mut self, message: &BagMessage<'_>) -> Result<Flow, PlayError> {
        let (topic, time_ns) = (message.topic, message.log_time_ns);
        let place = Place { topic, number: message.number, time_ns };
        self.progress.time_ns.store(time_ns, Ordering::Relaxed);
        if self.only_time {
            self.progress.messages.fetch_add(1, Ordering::Relaxed);
            return self.pass_time(place);
        }
        if self.topics[message.topic].is_none() {
            return Ok(Flow::GoOn);
        }
        self.progress.messages.fetch_add(1, Ordering::Relaxed);
        if matches!(self.timing, Timing::Stepped(_)) {
            return self.play_step(message, place);
        }
        if self.advance_clock(place)? == Flow::Stop || self.wait_due(time_ns) == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let Some(topic) = &mut self.topics[message.topic] else { return Ok(Flow::GoOn) };
        topic.publish(message, wall_ns());
        self.count_kept(place)?;
        self.steps = self.steps.saturating_sub(1);
        self.drain(place)
    }

    /// Counts the memory of a topic whose message was published. How much publishers keep is what
    /// the recording says, and a small one can say much.
    fn count_kept(&mut self, place: Place) -> Result<(), PlayError> {
        let Some(topic) = &mut self.topics[place.topic] else { return Ok(()) };
        let Output::Topic(publisher) = &topic.output else { return Ok(()) };
        let before = std::mem::replace(&mut topic.kept_bytes, publisher.memory_bytes());
        self.kept_bytes = self.kept_bytes - before + topic.kept_bytes;
        if self.kept_bytes <= self.kept_bytes_max {
            return Ok(());
        }
        Err(PlayError::Kept {
            topic: topic.played.name.clone(),
            number: place.number,
            topic_bytes: topic.kept_bytes,
            bytes: self.kept_bytes,
            limit: self.kept_bytes_max,
        })
    }

    /// In steps: lets time go on to a message, and then plays it as a step of its own.
    fn play_step(&mut self, message: &BagMessage<'_>, place: Place) -> Result<Flow, PlayError> {
        let flow = self.pass_time(place)?;
        if flow != Flow::GoOn {
            return Ok(flow);
        }
        let Timing::Stepped(stepper) = &self.timing else { return Ok(Flow::GoOn) };
        let target_ns = stepper.reach(place.time_ns);
        let Some(topic) = &mut self.topics[message.topic] else { return Ok(Flow::GoOn) };
        topic.publish(message, target_ns);
        self.count_kept(place)?;
        self.steps = self.steps.saturating_sub(1);
        let Some(topic) = &self.topics[message.topic] else { return Ok(Flow::GoOn) };
        let Timing::Stepped(stepper) = &self.timing else { return Ok(Flow::GoOn) };
        let phases = stepper.phases_of(&topic.played.name);
        self.step(place, target_ns, &phases)
    }

    /// In steps: lets time go on from one due time to the next, a step for each that leads to
    /// anything, until it has reached the time of a message.
    fn pass_time(&mut self, place: Place) -> Result<Flow, PlayError> {
        let Timing::Stepped(stepper) = &self.timing else { return Ok(Flow::GoOn) };
        let target_ns = stepper.reach(place.time_ns);
        // Bounded: each turn goes on to a later time, by the clock's tick or a timer's period.
        loop {
            let Timing::Stepped(stepper) = &mut self.timing else { return Ok(Flow::GoOn) };
            let tick_ns = self.clock.as_ref().and_then(|clock| clock.coming(target_ns));
            let Some((now_ns, phases)) = stepper.next(target_ns, tick_ns) else { break };
            if self.wait_due(now_ns) == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if let Some(clock) = &mut self.clock {
                clock.last_ns = Some(now_ns);
                clock.publish(now_ns, now_ns);
            }
            let flow = self.step(place, now_ns, &phases)?;
            if flow != Flow::GoOn {
                return Ok(flow);
            }
        }
        Ok(self.wait_due(target_ns))
    }

    /// One step: its phases, one after the other, each when the one before is worked off.
    fn step(&mut self, place: Place, now_ns: u64, phases: &[u32]) -> Result<Flow, PlayError> {
        for (index, phase) in phases.iter().enumerate() {
            let Timing::Stepped(stepper) = &mut self.timing else { return Ok(Flow::GoOn) };
            stepper
                .grant(now_ns, *phase, index == 0)
                .map_err(|source| PlayError::Step { time_ns: now_ns, source })?;
            let flow = self.drain(place)?;
            if flow != Flow::GoOn {
                return Ok(flow);
            }
        }
        let Timing::Stepped(stepper) = &self.timing else { return Ok(Flow::GoOn) };
        Ok(if stepper.is_end_asked() { Flow::Asked } else { Flow::GoOn })
    }

    /// Publishes the clock up to the time of the next message.
    fn advance_clock(&mut self, place: Place) -> Result<Flow, PlayError> {
        let Some(mut clock) = self.clock.take() else { return Ok(Flow::GoOn) };
        let mut flow = Flow::GoOn;
        // Bounded: `next` gives at most GAP_MAX / TICK_MIN times for one message.
        while let Some(tick_ns) = clock.next(place) {
            flow = self.wait_due(tick_ns);
            if flow == Flow::Stop {
                break;
            }
            clock.publish(tick_ns, wall_ns());
            flow = self.drain(place)?;
            if flow == Flow::Stop {
                break;
            }
        }
        self.clock = Some(clock);
        Ok(flow)
    }

    /// Sleeps until a message of this time is due, or until a command stops what is played.
    fn wait_due(&mut self, time_ns: u64) -> Flow {
        // Bounded by the commands that were sent.
        loop {
            if self.jump_ns.is_some() {
                return Flow::Stop;
            }
            let now = Instant::now();
            let due = match &mut self.timing {
                Timing::Recorded(pace) => pace.due(time_ns, now),
                Timing::Drained(_, None) => now,
                Timing::Drained(_, Some(pace)) => pace.due_at_most(time_ns, now),
                Timing::Stepped(stepper) => stepper.due(time_ns, now),
            };
            let command = match self.paused {
                Some(since) if self.steps > 0 => {
                    // What follows is as far behind this message as it was recorded.
                    if let Timing::Recorded(pace) = &mut self.timing {
                        pace.restart();
                        pace.due(time_ns, since.max(now));
                    }
                    self.paused = Some(now);
                    return Flow::GoOn;
                }
                Some(_) => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                None => self.inbox.recv_timeout(due.saturating_duration_since(now)),
            };
            match command {
                Err(RecvTimeoutError::Timeout) => return Flow::GoOn,
                Err(RecvTimeoutError::Disconnected) => return Flow::Stop,
                Ok(command) if self.obey(command) == Flow::Stop => return Flow::Stop,
                Ok(_) => {}
            }
        }
    }

    fn obey(&mut self, command: Command) -> Flow {
        match command {
            Command::Play => {}
            Command::Release => self.released = true,
            Command::Stop => {
                self.jump_ns = None;
                return Flow::Stop;
            }
            Command::Seek(time_ns) => {
                if !matches!(self.timing, Timing::Stepped(_)) {
                    self.jump_ns = Some(time_ns);
                }
            }
            Command::Pause => {
                self.paused.get_or_insert_with(Instant::now);
            }
            Command::Resume => {
                let pause = self.paused.take().map_or(Duration::ZERO, |since| since.elapsed());
                self.steps = 0;
                if let Timing::Recorded(pace) = &mut self.timing {
                    pace.delay(pause);
                }
            }
            Command::Step => self.steps += u64::from(self.paused.is_some()),
            Command::SetRate(factor) => {
                if let Timing::Recorded(pace) = &mut self.timing {
                    pace.set_factor(factor);
                }
            }
        }
        Flow::GoOn
    }

    /// At maximum rate: waits until the graph has worked off what was published.
    fn drain(&mut self, place: Place) -> Result<Flow, PlayError> {
        let Some(drain) = self.timing.drain() else { return Ok(Flow::GoOn) };
        let (timeout, deadline) = (drain.timeout, Instant::now() + drain.timeout);
        // Each turn waits for a slice of the time-out, which bounds their number.
        while self.timing.drain().is_some_and(|drain| !drain.wait_slice()) {
            match self.inbox.try_recv() {
                Err(TryRecvError::Disconnected) => return Ok(Flow::Stop),
                Ok(command) if self.obey(command) == Flow::Stop => return Ok(Flow::Stop),
                Ok(_) | Err(TryRecvError::Empty) => {}
            }
            let Some(drain) = self.timing.drain() else { return Ok(Flow::GoOn) };
            if Instant::now() >= deadline {
                let topic = self.topics[place.topic].as_ref();
                return Err(PlayError::NotDrained {
                    topic: topic.map_or(String::new(), |topic| topic.played.name.clone()),
                    number: place.number,
                    time_ns: place.time_ns,
                    timeout,
                    waiting: drain.who_waits(),
                });
            }
        }
        Ok(Flow::GoOn)
    }
}

/// Nanoseconds since 1970, by the computer's clock: the stamps of messages if time does not run in
/// steps.
pub(crate) fn wall_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

impl Playing {
    fn report(&self, damage: Option<ReadError>, flow: Flow) -> PlayReport {
        let topics = self.topics.iter().flatten();
        let topics = topics.map(|topic| topic.played.clone()).collect();
        let clock_stood = self.clock.as_ref().is_some_and(|clock| clock.stood);
        PlayReport { topics, damage, completed: flow != Flow::Stop, clock_stood }
    }
}

impl PlayedTopic {
    fn new(name: String) -> Self {
        PlayedTopic { name, published: 0, mismatched: 0, refused: 0, first_error: None }
    }

    /// Counts a message that was not published.
    fn count(&mut self, mismatched: bool) {
        match mismatched {
            true => self.mismatched += 1,
            false => self.refused += 1,
        }
    }
}

impl PlayingTopic {
    /// Publishes a message; errors are counted, the first one is kept as a sentence.
    fn publish(&mut self, message: &BagMessage<'_>, stamp_ns: u64) {
        let error = match &mut self.output {
            Output::Topic(publisher) => {
                match publisher.publish_cdr(message.data, stamp_ns, [0; 2]) {
                    Ok(()) => {
                        self.played.published += 1;
                        return;
                    }
                    Err(error) => {
                        let mismatched = matches!(error, PublishCdrError::Cdr { .. });
                        self.played.count(mismatched);
                        error.to_string()
                    }
                }
            }
            Output::Requests(caller) => match caller.send(message.data) {
                Ok(sent) => {
                    self.played.published += u64::from(sent);
                    return;
                }
                Err(error) => {
                    self.played.count(matches!(error, CallAgainError::Event(_)));
                    error.to_string()
                }
            },
        };
        let (name, number, time_ns) = (&self.played.name, message.number, message.log_time_ns);
        self.played.first_error.get_or_insert_with(|| {
            format!(
                "message {number} of topic {}, recorded at {time_ns} ns, was not published: {error}",
                Shown(name)
            )
        });
    }

    /// Waits for the answers of requests; what got none was not played.
    fn finish(&mut self) {
        let Output::Requests(caller) = &mut self.output else { return };
        if let Some((count, reason)) = caller.finish() {
            self.played.published = self.played.published.saturating_sub(count);
            self.played.refused += count;
            let name = Shown(&self.played.name);
            let text = || format!("a request of topic {name} was sent and not answered: {reason}");
            self.played.first_error.get_or_insert_with(text);
        }
    }
}

/// How long is waited for the servers of requests.
const SERVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Clock messages that a subscriber may lag behind: a recorder that waits for its disk must not
/// miss the times of the messages that wait for it.
pub(crate) const CLOCK_DEPTH: usize = 256;
/// How long a reliable subscriber of the clock may hold it up.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Publishes simulated time.
struct SimulatedClock {
    publisher: Publisher<Clock>,
    tick_ns: u64,
    last_ns: Option<u64>,
    /// There were times that a message cannot say.
    stood: bool,
    /// Of each topic of the bag, whether its messages tell the time; `None`: all of them do.
    topics: Option<Vec<bool>>,
}

impl SimulatedClock {
    fn open(
        participant: &Participant,
        node: &str,
        tick: Duration,
    ) -> Result<Self, StartPlayerError> {
        let options = PublisherOptions {
            node,
            topic: CLOCK_TOPIC,
            qos: Qos::reliable(CLOCK_DEPTH, CLOCK_TIMEOUT),
            max_bytes: Some(Clock::ROOT_BYTES),
            group: None,
        };
        let publisher = participant
            .publisher(options)
            .map_err(|source| StartPlayerError::Port { topic: CLOCK_TOPIC.to_owned(), source })?;
        let tick_ns = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { publisher, tick_ns, last_ns: None, stood: false, topics: None })
    }

    /// The next time to publish on the way to a message; `None` when it is reached.
    fn next(&mut self, place: Place) -> Option<u64> {
        let is_told = self.topics.as_ref().is_none_or(|topics| topics[place.topic]);
        if !is_told && !self.is_due(place.time_ns) {
            return None;
        }
        self.last_ns = Some(self.coming(place.time_ns)?);
        self.last_ns
    }

    /// Whether the distance between two times of the clock ends by `target_ns`.
    fn is_due(&self, target_ns: u64) -> bool {
        let due_ns = self.last_ns.map_or(target_ns, |last| last.saturating_add(self.tick_ns));
        self.tick_ns != u64::MAX && due_ns <= target_ns
    }

    /// The next time to publish if each message tells the time. Over long gaps the clock jumps.
    fn coming(&self, target_ns: u64) -> Option<u64> {
        Some(match self.last_ns {
            None => target_ns,
            Some(last) if target_ns <= last => return None,
            Some(last) if u128::from(target_ns - last) > GAP_MAX.as_nanos() => target_ns,
            Some(last) => last.saturating_add(self.tick_ns).min(target_ns),
        })
    }

    fn publish(&mut self, time_ns: u64, stamp_ns: u64) {
        self.stood |= time_ns > STAMP_NS_MAX;
        // A clock message that does not get through is followed by the next one; it is counted at
        // the port.
        let Ok(mut loan) = self.publisher.loan(Extra::none()) else { return };
        loan.set_stamp_ns(stamp_ns);
        let mut message = loan.message();
        let mut clock = message.clock();
        let (seconds, nanoseconds) = stamp_of(time_ns);
        clock.set_sec(seconds);
        clock.set_nanosec(nanoseconds);
        let _ = loan.publish();
    }
}
