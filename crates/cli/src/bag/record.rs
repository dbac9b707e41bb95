//! `crossdock bag record`: records topics of the domain until Ctrl-C, also those that come later.
//! Keys and services let it pause, write what it keeps in memory, and begin the next file.

use super::arguments::RecordArguments;
use super::keys::Keys;
use super::remote::{Call, Offered, Remote};
use super::{copy, date, overrides, troubles, watched};
use crate::output::{self, clean, counted, say};
use crate::run::{Suspension, Wake, Woken, observer_options};
use crate::top::keys::Key;
use anyhow::{Result, bail};
use crossdock_comm::{GraphSnapshot, Observer, Participant, ParticipantOptions, Qos};
use crossdock_record::{
    BagWriter, LogTime, OfferedQos, RecordError, RecordReport, Recorder, RecorderOptions,
    TopicToRecord, port_qos,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Name of the process in the domain.
const NAME: &str = "crossdock_bag_record";
/// How many messages of a topic may wait for the recorder. Beyond it they are lost, and counted.
const DEPTH: usize = 256;

pub(super) fn record(arguments: &RecordArguments) -> Result<ExitCode> {
    let wished = Wished::of(arguments)?;
    if arguments.snapshot_mode && arguments.max_cache_size == 0 {
        bail!("--snapshot-mode keeps messages in memory: give --max-cache-size more than 0 bytes");
    }
    let output = arguments.output.clone().unwrap_or_else(default_name);
    let options = copy::writer_options(&arguments.form, &output)?;
    // Ctrl-Z would let publishers wait for a recorder with reliable topics.
    let wake = Wake::new(Suspension::Refused)?;
    let mut observer = Observer::open(observer_options(arguments.domain_id, NAME))?;
    let participant = Participant::open(ParticipantOptions::new(arguments.domain_id, NAME))?;
    let writer = BagWriter::create(&output, options)?;
    let mut session = Session::new(&participant, arguments, writer);
    let remote = Remote::open(&participant, &arguments.node_name, SERVICES, wake.caller())?;
    let mut keys = Keys::open(arguments.disable_keyboard_controls)?;
    let began = Instant::now();
    let end = arguments
        .duration
        .and_then(|seconds| began.checked_add(Duration::try_from_secs_f64(seconds).ok()?));
    let mut known = BTreeSet::new();
    let pauses = if keys.is_some() { "space: pause; " } else { "" };
    say!("recording into {}; {pauses}Ctrl-C ends", clean(&output.display().to_string()));
    if session.paused {
        say!("paused");
    }
    let mut looks = true;
    loop {
        if looks {
            session.add(wished.new_topics(&observer.snapshot()?, &mut known))?;
            looks = !arguments.no_discovery;
        }
        session.warn();
        if session.is_over() {
            break;
        }
        let look = Instant::now() + Duration::from_millis(arguments.polling_interval);
        let deadline = end.map_or(look, |end| end.min(look));
        let key = keys.as_ref().and_then(Keys::fd);
        match wake.wait(key.into_iter(), Some(deadline))? {
            Woken::Signal => break,
            Woken::Suspension => say!("Ctrl-Z would hold up publishers; Ctrl-C ends the recording"),
            _ => {}
        }
        while let Some(call) = remote.next() {
            session.answer(call);
        }
        let pressed = keys.as_mut().map_or(Ok(None), Keys::next)?;
        if pressed == Some(Key::Letter(' ')) {
            session.set_paused(!session.paused);
        }
        if pressed == Some(Key::Quit) || end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
    }
    drop((remote, keys));
    session.end(known.len())
}

/// The services of a recorder, as ROS 2 names them.
const SERVICES: &[Offered] = &[
    ("snapshot", "Snapshot"),
    ("split_bagfile", "SplitBagfile"),
    ("pause", "Pause"),
    ("resume", "Resume"),
    ("is_paused", "IsPaused"),
];

/// A recording, which may wait for its first topic.
struct Session<'a> {
    participant: &'a Participant,
    arguments: &'a RecordArguments,
    /// Until the recorder has it.
    writer: Option<BagWriter>,
    recorder: Option<Recorder>,
    paused: bool,
    line: Line,
}

impl<'a> Session<'a> {
    fn new(
        participant: &'a Participant,
        arguments: &'a RecordArguments,
        writer: BagWriter,
    ) -> Self {
        let (paused, line) = (arguments.start_paused, Line::new(Instant::now()));
        Self { participant, arguments, writer: Some(writer), recorder: None, paused, line }
    }

    /// Records these topics, too; the first ones start the recorder.
    fn add(&mut self, topics: Vec<TopicToRecord>) -> Result<()> {
        for topic in &topics {
            self.line.end();
            say!("recording {}", clean(&topic.name));
        }
        if let Some(recorder) = &self.recorder {
            topics.into_iter().for_each(|topic| recorder.add(topic));
            return Ok(());
        }
        if topics.is_empty() {
            return Ok(());
        }
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let log_time = match self.arguments.use_sim_time {
            true => LogTime::FromClock,
            false => LogTime::Wall,
        };
        let snapshot_bytes = self.arguments.snapshot_mode.then_some(self.arguments.max_cache_size);
        let options = RecorderOptions {
            paused: self.paused,
            snapshot_bytes,
            ..RecorderOptions::new(&self.arguments.node_name, topics, log_time)
        };
        self.recorder = Some(Recorder::start(self.participant, writer, options)?);
        Ok(())
    }

    /// Whether the recorder has ended by itself; if not, says how far it is.
    fn is_over(&mut self) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        self.line.show(recorder);
        recorder.is_finished()
    }

    /// Says whose messages cannot be recorded.
    fn warn(&mut self) {
        let troubles = troubles(self.participant);
        if !troubles.is_empty() {
            self.line.end();
            output::warn(&troubles);
        }
    }

    fn set_paused(&mut self, paused: bool) {
        if std::mem::replace(&mut self.paused, paused) == paused {
            return;
        }
        match (&self.recorder, paused) {
            (Some(recorder), true) => recorder.pause(),
            (Some(recorder), false) => recorder.resume(),
            // It begins so.
            (None, _) => {}
        }
        self.line.end();
        say!("{}", if paused { "paused" } else { "recording" });
    }

    /// Whether messages that were kept are written.
    fn snapshot(&mut self) -> bool {
        self.line.end();
        if !self.arguments.snapshot_mode {
            say!(
                "a snapshot is asked for, but each message is written: start with --snapshot-mode"
            );
            return false;
        }
        let written = self.recorder.as_ref().map_or(Some(0), Recorder::snapshot);
        if let Some(messages) = written {
            say!("snapshot: {messages} messages");
        }
        written.is_some()
    }

    fn answer(&mut self, call: Call) {
        let response = match call.service {
            "snapshot" => json!({ "success": self.snapshot() }),
            "is_paused" => json!({ "paused": self.paused }),
            service => {
                match (service, &self.recorder) {
                    ("pause" | "resume", _) => self.set_paused(service == "pause"),
                    ("split_bagfile", Some(recorder)) => recorder.split(),
                    _ => {}
                }
                json!({})
            }
        };
        call.answer(response);
    }

    /// Completes the bag, and says what it has.
    fn end(mut self, topics: usize) -> Result<ExitCode> {
        self.line.end();
        match (self.recorder, self.writer) {
            (Some(recorder), _) => {
                let ended = recorder.stop();
                let none = ended.as_ref().is_ok_and(|report| report.saved.messages == 0);
                if self.arguments.use_sim_time && none {
                    let why = "with --use-sim-time, nothing is recorded before a message on /clock";
                    output::warn(&[why.to_owned()]);
                }
                report(ended, topics)
            }
            (None, Some(writer)) => {
                writer.finish()?;
                bail!("nobody published a topic that was to be recorded; the bag is empty")
            }
            (None, None) => bail!("the recorder did not start"),
        }
    }
}

/// `rosbag2_2020_04_02-22_23_55`, as `ros2 bag record` names it, in UTC.
fn default_name() -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ns = u64::try_from(now.as_nanos()).unwrap_or(0);
    PathBuf::from(format!("rosbag2_{}", date::file_date(now_ns)))
}

/// Which topics are recorded, and how.
struct Wished<'a> {
    arguments: &'a RecordArguments,
    overrides: BTreeMap<String, OfferedQos>,
}

impl<'a> Wished<'a> {
    fn of(arguments: &'a RecordArguments) -> Result<Self> {
        let filter = &arguments.filter;
        let RecordArguments { names, all, all_topics, all_services, all_actions, .. } = arguments;
        let typed = !arguments.topic_types.is_empty();
        let any = !names.is_empty() || filter.has_names() || filter.regex.is_some() || typed;
        if !any && ![all, all_topics, all_services, all_actions].into_iter().any(|it| *it) {
            bail!("name the topics to record, or record all of them with --all");
        }
        let overrides = overrides(arguments.qos_profile_overrides_path.as_deref())?;
        Ok(Self { arguments, overrides })
    }

    fn chooses(&self, topic: &str, type_name: &str) -> bool {
        let RecordArguments { names, filter, all, all_topics, .. } = self.arguments;
        let RecordArguments { topic_types, exclude_topic_types, .. } = self.arguments;
        let is_among = |types: &[String]| types.iter().any(|it| it == type_name);
        if names.iter().any(|name| name == topic) || filter.names(topic) {
            return true;
        }
        // Those behind services have names of their own, and carry no messages of a topic.
        if !topic.starts_with('/') {
            return false;
        }
        let RecordArguments { all_services, all_actions, include_hidden_topics, .. } =
            self.arguments;
        let watches = (watched::service_of(topic).is_some() && (*all || *all_services))
            || (watched::action_of(topic).is_some() && (*all || *all_actions));
        if watches {
            return !filter.excludes(topic);
        }
        if topic.split('/').any(|part| part.starts_with('_')) && !include_hidden_topics {
            return false;
        }
        let fits = filter.regex.as_ref().is_some_and(|regex| regex.is_match(topic));
        let chosen = match (topic_types.is_empty(), &filter.regex) {
            (true, None) => *all || *all_topics,
            _ => fits || is_among(topic_types),
        };
        chosen && !filter.excludes(topic) && !is_among(exclude_topic_types)
    }

    /// Topics that are published, wished for and not known yet.
    fn new_topics(
        &self,
        graph: &GraphSnapshot,
        known: &mut BTreeSet<String>,
    ) -> Vec<TopicToRecord> {
        let mut offers: BTreeMap<&str, Vec<Qos>> = BTreeMap::new();
        let subscribers = graph.processes.iter().flat_map(|process| &process.subscribers);
        let subscribed: BTreeSet<&str> = subscribers.map(|port| port.topic.as_str()).collect();
        let is_leaf = |topic: &str| !subscribed.contains(topic);
        for port in graph.processes.iter().flat_map(|process| &process.publishers) {
            if self.arguments.ignore_leaf_topics && is_leaf(&port.topic) {
                continue;
            }
            if !known.contains(&port.topic) && self.chooses(&port.topic, &port.type_name) {
                offers.entry(&port.topic).or_default().push(port.qos);
            }
        }
        let topics = offers.into_iter().map(|(topic, offers)| {
            known.insert(topic.to_owned());
            self.to_record(topic, &offers)
        });
        topics.collect()
    }

    /// A topic with what its publishers offer, and what is requested of them: that they do not
    /// wait, unless the user wishes so.
    fn to_record(&self, topic: &str, offers: &[Qos]) -> TopicToRecord {
        let mut offered: Vec<OfferedQos> = Vec::new();
        for offer in offers.iter().map(|qos| OfferedQos::from(*qos)) {
            if !offered.contains(&offer) {
                offered.push(offer);
            }
        }
        let depth = offers.iter().map(|qos| qos.depth).max().unwrap_or(0).max(DEPTH);
        let latched = offers.iter().all(Qos::is_transient_local);
        let qos = match self.overrides.get(topic) {
            Some(wished) => port_qos(&[*wished]),
            None if latched => Qos::best_effort(depth).transient_local(),
            None => Qos::best_effort(depth),
        };
        TopicToRecord { offered, ..TopicToRecord::new(topic, qos) }
    }
}

/// Says on a terminal how far the recording is.
struct Line {
    began: Instant,
    due: Option<Instant>,
    shown: bool,
}

impl Line {
    /// Time from one line to the next.
    const TICK: Duration = Duration::from_millis(500);

    fn new(began: Instant) -> Self {
        let due = std::io::stderr().is_terminal().then(|| began + Self::TICK);
        Self { began, due, shown: false }
    }

    fn show(&mut self, recorder: &Recorder) {
        let now = Instant::now();
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        self.due = Some(now + Self::TICK);
        self.shown = true;
        let (progress, elapsed) = (recorder.progress(), now - self.began);
        let bytes = crossdock_sight::bytes(progress.bytes);
        let seconds = elapsed.as_secs_f64();
        output::say_over(&format!("{seconds:8.1} s  {} messages, {bytes}", progress.messages));
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            output::end_line();
        }
    }
}

/// Says what was recorded and what was lost.
fn report(ended: Result<RecordReport, RecordError>, topics: usize) -> Result<ExitCode> {
    let (report, error) = match ended {
        Ok(report) => (report, None),
        Err(RecordError::Write { source, report }) => (*report, Some(source)),
        Err(error) => return Err(error.into()),
    };
    let mut fine = error.is_none();
    for topic in &report.topics {
        if topic.lost > 0 {
            output::warn(&[format!("{} messages of {} were lost", topic.lost, topic.name)]);
        }
        if topic.damaged > 0 {
            output::warn(&[format!(
                "{} messages of {} were damaged by their publisher, and are not recorded",
                topic.damaged, topic.name
            )]);
        }
        if let Some(note) = topic.stamp_note() {
            output::warn(&[note]);
        }
        if let Some(error) = &topic.first_error {
            fine = false;
            output::warn(std::slice::from_ref(error));
        }
    }
    if let Some(error) = error {
        say!("error: {}", clean(&error.to_string()));
    }
    if report.kept > 0 {
        let kept = report.kept;
        output::warn(&[format!(
            "{kept} messages were in memory at the end, and no snapshot has written them"
        )]);
    }
    let lost: u64 = report.topics.iter().map(|topic| topic.lost + topic.damaged).sum();
    let messages = counted(report.saved.messages, "message", "messages");
    let topics = counted(topics as u64, "topic", "topics");
    output::print_result(&format!("{messages} of {topics}, {lost} lost\n"))?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
