//! Records topics into a bag.
//!
//! A thread of its own takes and writes the messages (`recorder_thread`). This module is the
//! thread's handle, its options and its reports.

use crate::ending::Ending;
use crate::names::Shown;
use crate::qos::OfferedQos;
use crate::recorder_thread::{self, Begin};
use crate::write_error::{Saved, WriteError};
use crate::writer::BagWriter;
use crossdock_comm::{DoorbellControl, Participant, PortError, Qos};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A topic that is to be recorded.
#[derive(Debug, Clone)]
pub struct TopicToRecord {
    /// The topic, absolute.
    pub name: String,
    /// What is requested. Reliable loses nothing but lets a slow disk hold up the publishers; with
    /// best effort the losses are counted.
    pub qos: Qos,
    /// What the publishers offer, which is written into the bag; empty: what is requested.
    pub offered: Vec<OfferedQos>,
}

impl TopicToRecord {
    /// A topic whose publishers offer what is requested.
    pub fn new(name: impl Into<String>, qos: Qos) -> Self {
        Self { name: name.into(), qos, offered: Vec::new() }
    }
}

/// Which time a message gets in the bag, as its log time and as its publish time: its own in each
/// case, so that it does not depend on when the recorder has come to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogTime {
    /// When it was published, by the computer's clock: the stamp that its publisher gave it, if it
    /// lies between the beginning of the recording and now. Otherwise it is when the recorder
    /// has taken it, so that no publisher decides how long a recording is.
    Wall,
    /// When it was published, in simulated time: what `/clock` said last before. If the maker of
    /// the time waits until everything that followed from the last message is done, each message
    /// has the same time in every run.
    Simulated {
        /// The time before the first message on `/clock`, in ns.
        start_ns: u64,
    },
    /// As [`LogTime::Simulated`]. What is published before the first message on `/clock` is not
    /// recorded.
    FromClock,
    /// As [`LogTime::Simulated`] from 0 on, for graphs that go in lock step: there nodes beside the
    /// way to the command may be behind the time. A message with a `header.stamp` has that time.
    Lockstep,
    /// The stamp that its publisher gave it, in a run in steps: there that is simulated
    /// time. The messages of several publishers on one topic are written in the same order in each
    /// run: step by step, in a step in the order of the publishers' nodes.
    Stepped,
}

/// How topics are recorded.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    /// Name of the node that subscribes.
    pub node: String,
    /// The topics.
    pub topics: Vec<TopicToRecord>,
    /// Which time messages get.
    pub log_time: LogTime,
    /// Begin in the state after [`Recorder::pause`].
    pub paused: bool,
    /// Keep the newest messages in memory, so many bytes of them, and write them when
    /// [`Recorder::snapshot`] asks for it. `None`: write each message when it comes. In runs in
    /// steps it has no effect.
    pub snapshot_bytes: Option<usize>,
}

impl RecorderOptions {
    /// Records each message of these topics from the start.
    pub fn new(node: impl Into<String>, topics: Vec<TopicToRecord>, log_time: LogTime) -> Self {
        Self { node: node.into(), topics, log_time, paused: false, snapshot_bytes: None }
    }
}

/// Why recording could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartRecorderError {
    /// No topic is named.
    #[error("there is no topic to record into {}: name at least one", path.display())]
    NoTopics {
        /// The bag.
        path: PathBuf,
    },
    /// A topic cannot be subscribed to.
    #[error("topic {} cannot be recorded: {source}", Shown(topic))]
    Port {
        /// The topic.
        topic: String,
        /// What the communication layer says.
        source: PortError,
    },
    /// The memory for snapshots is not there.
    #[error(
        "there is no memory of {bytes} bytes for the messages of a snapshot: {source}; keep fewer"
    )]
    Memory {
        /// What was asked for.
        bytes: usize,
        /// What the allocator says.
        source: std::collections::TryReserveError,
    },
    /// The thread could not be started.
    #[error("the recorder's thread cannot be started: {source}; close other programs")]
    Thread {
        /// The operating system's error.
        source: io::Error,
    },
}

/// What was recorded of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTopic {
    /// The topic.
    pub name: String,
    /// Messages in the bag.
    pub recorded: u64,
    /// Messages that were lost on the way to the recorder.
    pub lost: u64,
    /// Messages that were taken and could not be encoded, because their publisher damaged them.
    pub damaged: u64,
    /// Messages whose stamp was more than a second later than the recorder's time.
    pub ahead: u64,
    /// The first error of this topic: a sentence that names it.
    pub first_error: Option<String>,
}

impl RecordedTopic {
    /// What is to be known of the stamps of its messages.
    pub fn stamp_note(&self) -> Option<String> {
        (self.ahead > 0).then(|| {
            format!(
                "{} messages of {} have stamps that lie in the future, and are recorded with the time at which \
                 they came; check the clock of their publisher",
                self.ahead, self.name
            )
        })
    }
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordReport {
    /// The topics, in the order in which they were asked for.
    pub topics: Vec<RecordedTopic>,
    /// What is safe on the disk.
    pub saved: Saved,
    /// Messages that were in memory at the end, and that no snapshot asked for.
    pub kept: u64,
}

/// Why recording ended early or the bag could not be completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The bag could not be written on.
    #[error("{source}")]
    Write {
        /// What is wrong, at which place, what is safe, and the next step.
        source: WriteError,
        /// What was recorded until then.
        report: Box<RecordReport>,
    },
    /// The recorder's thread panicked, which is a defect of this program.
    #[error("the recorder stopped because of a defect in it; please report this")]
    Defect,
}

/// How far recording is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordProgress {
    /// Messages that were written.
    pub messages: u64,
    /// Their bytes in CDR.
    pub bytes: u64,
}

/// What the handle and the thread share.
#[derive(Debug, Default)]
pub(crate) struct RecorderState {
    /// The thread shall end. Release / Acquire, though the doorbell orders it as well.
    pub(crate) stop: AtomicBool,
    /// Statistics: Relaxed.
    pub(crate) messages: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// What the handle wants of the thread, which it wakes.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Record this topic, too.
    Add(TopicToRecord),
    Pause,
    Resume,
    /// Write what is in memory.
    Snapshot,
    /// Begin the next file.
    Split,
}

/// A wish, and who waits until it is done: he is told how many messages were written for it.
pub(crate) type Command = (Wish, Option<Sender<u64>>);

/// Records topics on a thread of its own, which sleeps while no message comes.
///
/// [`Recorder::stop`] takes what is there and completes the bag; dropping does the same and hides
/// errors. Memory is bounded by the writer's, one message, and what is kept for snapshots. `Send`
/// and `Sync`.
pub struct Recorder {
    shared: Arc<RecorderState>,
    commands: Sender<Command>,
    bell: DoorbellControl,
    thread: Option<JoinHandle<Result<RecordReport, RecordError>>>,
    ending: Ending,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("progress", &self.progress()).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Subscribes to the topics and records from now on into `writer`'s bag.
    ///
    /// A topic is added to the bag with its first message, with the type of its publisher.
    /// Allocates, starts a thread, blocks until the subscribers stand (not until they are
    /// connected).
    ///
    /// # Errors
    /// When a topic cannot be subscribed to.
    pub fn start(
        participant: &Participant,
        writer: BagWriter,
        options: RecorderOptions,
    ) -> Result<Recorder, StartRecorderError> {
        if options.topics.is_empty() {
            return Err(StartRecorderError::NoTopics { path: writer.path().to_owned() });
        }
        let shared = Arc::new(RecorderState::default());
        let (ready, is_ready) = channel();
        let (commands, inbox) = channel();
        let begin = Begin {
            participant: participant.clone(),
            writer,
            options,
            shared: Arc::clone(&shared),
            inbox,
            ready,
        };
        let ending = Ending::default();
        let guard = ending.guard();
        let thread = std::thread::Builder::new()
            .name("crossdock-rec".to_owned())
            .spawn(move || {
                let _guard = guard;
                recorder_thread::run(begin)
            })
            .map_err(|source| StartRecorderError::Thread { source })?;
        match is_ready.recv() {
            Ok(Ok(bell)) => {
                let thread = Some(thread);
                Ok(Recorder { shared, commands, bell, thread, ending })
            }
            Ok(Err(error)) => Err(error),
            // Only a panic ends the thread without a word; its hook has reported it.
            Err(gone) => Err(StartRecorderError::Thread { source: io::Error::other(gone) }),
        }
    }

    /// Also records this topic from now on. If it cannot be subscribed to, the report says so.
    ///
    /// Allocates. Does not wait until it is subscribed to.
    pub fn add(&self, topic: TopicToRecord) {
        self.tell((Wish::Add(topic), None));
    }

    /// Records what was published before, and not what is published after the return, until
    /// [`Recorder::resume`]. That goes for publishers that the recorder is connected to by then.
    /// Publishers do not wait, and what is left out does not count as lost. Allocates, blocks until
    /// the recorder is there.
    pub fn pause(&self) {
        self.ask(Wish::Pause);
    }

    /// Records again what is published after the return. Allocates, blocks until the recorder is
    /// there.
    pub fn resume(&self) {
        self.ask(Wish::Resume);
    }

    /// With [`RecorderOptions::snapshot_bytes`]: writes the messages that are in memory and forgets
    /// them. Gives how many they were; without the option none. They are safe from a killed process
    /// then. `None`: recording has ended. Allocates, blocks on the disk.
    pub fn snapshot(&self) -> Option<u64> {
        self.ask(Wish::Snapshot)
    }

    /// Completes the file if the bag is a folder and the file has a message. What is published
    /// after the return comes into the next one. Allocates, blocks on the disk.
    pub fn split(&self) {
        self.ask(Wish::Split);
    }

    /// `None`: recording has ended.
    fn ask(&self, wish: Wish) -> Option<u64> {
        let (reply, answer) = channel();
        self.tell((wish, Some(reply)));
        // A thread that ends drops the command.
        answer.recv().ok()
    }

    fn tell(&self, command: Command) {
        // A thread that is gone has its report ready.
        let _ = self.commands.send(command);
        self.bell.wake();
    }

    /// How far recording is. Does not block.
    pub fn progress(&self) -> RecordProgress {
        RecordProgress {
            messages: self.shared.messages.load(Ordering::Relaxed),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
        }
    }

    /// Whether recording has ended by itself, which it does only after an error. Does not block.
    pub fn is_finished(&self) -> bool {
        self.ending.has_come()
    }

    /// Calls `listener` on the recorder's thread when [`Recorder::is_finished`] has become true, or
    /// at once when it is already. Of several listeners the last one counts. Allocates.
    pub fn when_finished(&self, listener: impl FnOnce() + Send + 'static) {
        self.ending.listen(Box::new(listener));
    }

    /// Records what is there, completes the bag and gives what was recorded. Blocks until the disk
    /// has everything.
    ///
    /// # Errors
    /// When the bag could not be written on; it says what is safe.
    pub fn stop(mut self) -> Result<RecordReport, RecordError> {
        self.end().unwrap_or(Err(RecordError::Defect))
    }

    fn end(&mut self) -> Option<Result<RecordReport, RecordError>> {
        let thread = self.thread.take()?;
        self.shared.stop.store(true, Ordering::Release);
        self.bell.wake();
        thread.join().ok()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Errors can only be had from `stop`.
        let _ = self.end();
    }
}
