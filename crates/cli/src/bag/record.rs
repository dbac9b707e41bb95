//! `crossdock bag record`: records topics of the domain until Ctrl-C, also those that come later.

use super::arguments::RecordArguments;
use super::{copy, date, overrides, watched};
use crate::output::{self, clean, say};
use crate::run::{Suspension, Wake, Woken, observer_options};
use anyhow::{Result, bail};
use crossdock_comm::{GraphSnapshot, Observer, Participant, ParticipantOptions, Qos};
use crossdock_record::{
    BagWriter, LogTime, OfferedQos, RecordError, RecordReport, Recorder, RecorderOptions,
    TopicToRecord, port_qos,
};
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
    let output = arguments.output.clone().unwrap_or_else(default_name);
    let options = copy::writer_options(&arguments.form, &output)?;
    // Ctrl-Z would let publishers wait for a recorder with reliable topics.
    let wake = Wake::new(Suspension::Refused)?;
    let mut observer = Observer::open(observer_options(arguments.domain_id, NAME))?;
    let participant = Participant::open(ParticipantOptions::new(arguments.domain_id, NAME))?;
    let began = Instant::now();
    let end = arguments
        .duration
        .and_then(|seconds| began.checked_add(Duration::try_from_secs_f64(seconds).ok()?));
    let mut line = Line::new(began);
    let mut known = BTreeSet::new();
    let mut recorder: Option<Recorder> = None;
    let mut writer = Some(BagWriter::create(&output, options)?);
    say!("recording into {}; Ctrl-C ends", clean(&output.display().to_string()));
    let mut looks = true;
    loop {
        if looks {
            let new = wished.new_topics(&observer.snapshot()?, &mut known);
            recorder = add(&participant, arguments, &mut writer, recorder, new)?;
            looks = !arguments.no_discovery;
        }
        if let Some(recorder) = &recorder {
            if recorder.is_finished() {
                break;
            }
            line.show(recorder);
        }
        let look = Instant::now() + Duration::from_millis(arguments.polling_interval);
        let deadline = end.map_or(look, |end| end.min(look));
        match wake.wait(std::iter::empty(), Some(deadline))? {
            Woken::Signal => break,
            Woken::Suspension => say!("Ctrl-Z would hold up publishers; Ctrl-C ends the recording"),
            _ => {}
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
    }
    line.end();
    match (recorder, writer) {
        (Some(recorder), _) => report(recorder.stop(), known.len()),
        (None, Some(writer)) => {
            writer.finish()?;
            bail!("nobody published a topic that was to be recorded; the bag is empty")
        }
        (None, None) => bail!("the recorder did not start"),
    }
}

/// `rosbag2_2020_04_02-22_23_55`, as `ros2 bag record` names it, in UTC.
fn default_name() -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ns = u64::try_from(now.as_nanos()).unwrap_or(0);
    PathBuf::from(format!("rosbag2_{}", date::file_date(now_ns)))
}

/// Lets the recorder record these topics, too; the first ones start it.
fn add(
    participant: &Participant,
    arguments: &RecordArguments,
    writer: &mut Option<BagWriter>,
    recorder: Option<Recorder>,
    topics: Vec<TopicToRecord>,
) -> Result<Option<Recorder>> {
    for topic in &topics {
        say!("recording {}", clean(&topic.name));
    }
    if let Some(recorder) = recorder {
        topics.into_iter().for_each(|topic| recorder.add(topic));
        return Ok(Some(recorder));
    }
    if topics.is_empty() {
        return Ok(None);
    }
    let Some(writer) = writer.take() else { return Ok(None) };
    let log_time = match arguments.use_sim_time {
        true => LogTime::Simulated { start_ns: 0 },
        false => LogTime::Wall,
    };
    let options = RecorderOptions { node: "recorder".to_owned(), topics, log_time };
    Ok(Some(Recorder::start(participant, writer, options)?))
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
        if crossdock_comm::names::carries_requests(topic) {
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
        for port in graph.processes.iter().flat_map(|process| &process.publishers) {
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

    fn end(&self) {
        if self.shown {
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
        if let Some(error) = &topic.first_error {
            fine = false;
            output::warn(std::slice::from_ref(error));
        }
    }
    if let Some(error) = error {
        say!("error: {}", clean(&error.to_string()));
    }
    let lost: u64 = report.topics.iter().map(|topic| topic.lost).sum();
    let messages = report.saved.messages;
    output::print_result(&format!("{messages} messages of {topics} topics, {lost} lost\n"))?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
