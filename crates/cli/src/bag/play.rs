//! `crossdock bag play`: publishes the messages of a bag in the domain.

use super::arguments::{PlayArguments, RequestsSource, TopicFilter};
use super::bar::{Bar, Part, ns};
use super::copy::{must_have, warn_of_nothing};
use super::keys::Keys;
use super::remote::{Call, Offered, Remote};
use super::{open_joined, overrides, troubles, watched};
use crate::arguments::Rate;
use crate::output::{self, clean, counted, say};
use crate::run::{Suspension, Wake, Woken, observer_options};
use crate::top::keys::Key;
use anyhow::{Result, bail};
use crossdock_comm::{Observer, Participant, ParticipantOptions, ProcessSnapshot};
use crossdock_record::{
    BagReader, PlayReport, PlayTopics, Player, PlayerOptions, Rate as PlayRate, RequestSource,
    RequestsToPlay, TopicToPlay, port_qos,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Name of the process in the domain.
const NAME: &str = "crossdock_bag_play";
/// Name of its node, as in ROS 2.
const NODE: &str = "rosbag2_player";
/// How long is waited for subscribers that are there already.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the subscribers may take for one message at maximum rate.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between two looks at player and terminal.
const TICK: Duration = Duration::from_millis(100);
/// By how much a key changes the rate.
const RATE_STEP: f64 = 1.1;

pub(super) fn play(arguments: &PlayArguments) -> Result<ExitCode> {
    let reader = open_joined(arguments.input.paths(), &arguments.definitions)?;
    let topics = topics(&reader, arguments)?;
    let participant = Participant::open(ParticipantOptions::new(arguments.domain_id, NAME))?;
    let looks = observer_options(arguments.domain_id, NAME);
    let mut observer = Observer::open(looks.clone())?;
    let rate = match arguments.rate {
        Rate::Factor(factor) => PlayRate::Factor(factor),
        Rate::Max => PlayRate::Max { observer: looks, drain_timeout: DRAIN_TIMEOUT, factor: None },
    };
    let published = topics.iter().filter(|it| it.requests.is_none());
    let names: Vec<String> =
        published.map(|it| it.renamed.clone().unwrap_or_else(|| it.name.clone())).collect();
    let part = part(&reader, arguments);
    let options = PlayerOptions {
        start_offset: Duration::try_from_secs_f64(arguments.start_offset)?,
        until_ns: until_ns(&reader, arguments),
        repeat: arguments.repeat,
        paused: arguments.start_paused,
        clock: clock(arguments)?,
        kept_bytes_max: arguments.max_kept_bytes,
        clock_topics: Some(arguments.clock_topics.clone()).filter(|topics| !topics.is_empty()),
        ..PlayerOptions::new(NODE, PlayTopics::Only(topics), rate)
    };
    let bounds = (reader.start_ns(), reader.end_ns());
    let player = Player::start(&participant, reader, options)?;
    let wake = Wake::new(Suspension::Allowed)?;
    player.when_finished(wake.caller());
    let remote = Remote::open(&participant, NODE, SERVICES, wake.caller())?;
    let mut keys = Keys::open(arguments.disable_keyboard_controls)?;
    if keys.is_some() {
        say!("space: pause; right: next message; up, down: rate; q: end");
    }
    wait_connected(&participant, &mut observer, &names)?;
    let mut steering = Steering::new(&participant, &player, arguments, part, bounds);
    let delay = Duration::try_from_secs_f64(arguments.delay)?;
    let mut goes_on = true;
    if !delay.is_zero() {
        let begin = Instant::now().checked_add(delay);
        goes_on = steering.steer(&wake, &remote, &mut keys, begin)?.is_continue();
    }
    if goes_on {
        if matches!(arguments.rate, Rate::Max) {
            output::warn(&passed_over(&mut observer, &names)?);
        }
        // Nothing is looked at while it plays.
        drop(observer);
        player.play();
        // What ends it is told by the player.
        let _ = steering.steer(&wake, &remote, &mut keys, None)?;
    }
    drop((steering, remote, keys));
    output::warn(&troubles(&participant));
    player.stop();
    let played = player.wait()?;
    if part.is_some() && played.completed && played.topics.iter().all(|it| it.published == 0) {
        warn_of_nothing(bounds);
    }
    report(&played)
}

/// Recorded time from one message on `/clock` to the next, beside those at messages; `None`: there
/// is no clock.
fn clock(arguments: &PlayArguments) -> Result<Option<Duration>> {
    let PlayArguments { clock, clock_topics, clock_topics_all, .. } = arguments;
    Ok(match clock {
        Some(hz) => Some(Duration::try_from_secs_f64(1.0 / hz)?),
        None if *clock_topics_all || !clock_topics.is_empty() => Some(Duration::MAX),
        None => None,
    })
}

/// The topics that are chosen and can be played, with their new names and quality of service.
fn topics(reader: &BagReader, arguments: &PlayArguments) -> Result<Vec<TopicToPlay>> {
    let filter = &arguments.filter;
    must_have(reader, filter)?;
    let clock_topics = arguments.clock_topics.clone();
    must_have(reader, &TopicFilter { topics: clock_topics, ..TopicFilter::default() })?;
    let overrides = overrides(arguments.qos_profile_overrides_path.as_deref())?;
    let has_clock = clock(arguments)?.is_some();
    let mut topics = Vec::new();
    for topic in reader.topics().iter().filter(|topic| filter.chooses(&topic.name)) {
        let own_clock = has_clock && topic.name == "/clock";
        let problem = match topic.schema() {
            Err(error) => Some(error.to_string()),
            Ok(_) if own_clock => Some("topic /clock gives way to --clock".to_owned()),
            Ok(_) => None,
        };
        // Another entry of the same name may be usable.
        let is_named = filter.names(&topic.name) && topic.is_delivered();
        match problem {
            Some(problem) if is_named => bail!("{}", clean(&problem)),
            Some(problem) => output::warn(&[format!("{problem}; it is not played")]),
            None => topics.push(TopicToPlay {
                renamed: renamed(&topic.name, arguments),
                requests: requests(&topic.name, arguments),
                qos: overrides.get(&topic.name).map(|qos| port_qos(&[*qos])),
                ..TopicToPlay::new(topic.name.as_str())
            }),
        }
    }
    if topics.is_empty() {
        bail!("no topic of the bag is played; `crossdock bag info` shows which it has");
    }
    one_type_each(reader, &topics)?;
    Ok(topics)
}

/// Refuses topics of two types that would be published under one new name.
fn one_type_each(reader: &BagReader, topics: &[TopicToPlay]) -> Result<()> {
    let mut known: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    for topic in reader.topics() {
        types.entry(&topic.name).or_insert(&topic.type_name);
    }
    for topic in topics.iter().filter(|it| it.requests.is_none()) {
        let name = topic.renamed.as_ref().unwrap_or(&topic.name);
        let Some(found) = types.get(topic.name.as_str()).copied() else { continue };
        let (other, other_type) = *known.entry(name).or_insert((&topic.name, found));
        if other != topic.name && other_type != found {
            bail!(
                "`{other}` ({other_type}) and `{}` ({}) would both be published as `{name}`; give \
                 one of them another name by --remap, or leave it out by --exclude-topics",
                topic.name,
                found
            );
        }
    }
    Ok(())
}

/// The service to which the requests of a topic's events are sent, if they are. Those of an
/// action's services are not: their goals would have no client.
fn requests(topic: &str, arguments: &PlayArguments) -> Option<RequestsToPlay> {
    let service = watched::service_of(topic).filter(|_| arguments.publish_service_requests)?;
    let service = renamed(service, arguments).unwrap_or_else(|| service.to_owned());
    let source = match arguments.service_requests_source {
        RequestsSource::ServiceIntrospection => RequestSource::Server,
        RequestsSource::ClientIntrospection => RequestSource::Client,
    };
    Some(RequestsToPlay { service, source })
}

fn renamed(topic: &str, arguments: &PlayArguments) -> Option<String> {
    let remap = arguments.remap.iter().find(|remap| remap.from == topic)?;
    Some(remap.to.clone())
}

/// Waits until the subscribers that are in the domain already are connected: not for strangers', as
/// the player does not either.
fn wait_connected(
    participant: &Participant,
    observer: &mut Observer,
    topics: &[String],
) -> Result<()> {
    let snapshot = observer.snapshot()?;
    let processes = || snapshot.processes.iter();
    let ours = || processes().filter(|process| observer.stranger(process.name).is_none());
    let ports = || ours().flat_map(|process| &process.subscribers);
    let expected: Vec<(&String, usize)> = topics
        .iter()
        .map(|topic| (topic, ports().filter(|port| port.topic == *topic).count()))
        .filter(|(_, count)| *count > 0)
        .collect();
    let stands = || {
        let outgoing = |topic: &str| participant.topic_connections(topic).outgoing;
        expected.iter().all(|(topic, count)| outgoing(topic) >= *count)
    };
    // Who does not fit, by type or quality of service, never comes.
    if !participant.wait_until(CONNECT_TIMEOUT, stands) {
        for (topic, count) in &expected {
            let found = participant.topic_connections(topic).outgoing;
            if found < *count {
                say!("warning: {found} of {count} subscribers of {} are connected", clean(topic));
            }
        }
    }
    Ok(())
}

/// What is to be told of strangers with subscribers of these topics, for whom a player at maximum
/// rate does not wait: once for each user.
fn passed_over(observer: &mut Observer, topics: &[String]) -> Result<Vec<String>> {
    let snapshot = observer.snapshot()?;
    let hears = |process: &ProcessSnapshot| {
        process.subscribers.iter().any(|port| topics.contains(&port.topic))
    };
    let hearers = snapshot.processes.iter().filter(|process| hears(process));
    let users: BTreeSet<u32> = hearers.filter_map(|it| observer.stranger(it.name)).collect();
    let told = users.into_iter().map(|uid| {
        format!(
            "subscribers of user {uid}, who is not trusted, are not waited for and may miss \
             messages; to wait for them, trust the user by name (CROSSDOCK_TRUST)"
        )
    });
    Ok(told.collect())
}

/// Recorded time at which playing begins.
fn start_ns(reader: &BagReader, arguments: &PlayArguments) -> u64 {
    reader.start_ns().saturating_add(ns(arguments.start_offset))
}

/// Recorded time of the last message that is played, if it is not the end of the bag.
fn until_ns(reader: &BagReader, arguments: &PlayArguments) -> Option<u64> {
    let start_ns = start_ns(reader, arguments);
    let of_duration = arguments.playback_duration.map(|it| start_ns.saturating_add(ns(it)));
    of_duration.or(arguments.playback_until_sec).or(arguments.playback_until_nsec)
}

/// The part of the bag that is played, if not all of it is.
fn part(reader: &BagReader, arguments: &PlayArguments) -> Option<Part> {
    let until_ns = until_ns(reader, arguments);
    if arguments.start_offset == 0.0 && until_ns.is_none() {
        return None;
    }
    let start_ns = start_ns(reader, arguments);
    Part::of(reader, start_ns, until_ns.unwrap_or(u64::MAX))
}

/// The services of a player, as ROS 2 names them.
const SERVICES: &[Offered] = &[
    ("pause", "Pause"),
    ("resume", "Resume"),
    ("toggle_paused", "TogglePaused"),
    ("is_paused", "IsPaused"),
    ("set_rate", "SetRate"),
    ("get_rate", "GetRate"),
    ("play_next", "PlayNext"),
    ("seek", "Seek"),
    ("stop", "Stop"),
];

/// The state of a player as those see it who steer it: a person with keys, others by services.
struct Steering<'a> {
    participant: &'a Participant,
    player: &'a Player,
    paused: bool,
    /// `None`: as fast as the graph takes it.
    rate: Option<f64>,
    bar: Bar,
    part: Option<Part>,
    /// First and last log time of the bag, in ns.
    bounds: (u64, u64),
}

impl<'a> Steering<'a> {
    fn new(
        participant: &'a Participant,
        player: &'a Player,
        arguments: &PlayArguments,
        part: Option<Part>,
        bounds: (u64, u64),
    ) -> Self {
        let rate = match arguments.rate {
            Rate::Factor(factor) => Some(factor),
            Rate::Max => None,
        };
        let (paused, bar) = (arguments.start_paused, Bar::begin());
        Self { participant, player, paused, rate, bar, part, bounds }
    }

    fn show(&mut self) {
        let progress = self.player.progress();
        self.bar.at(self.part, (progress.messages, progress.total), progress.time_ns);
    }

    fn set_paused(&mut self, paused: bool) {
        if std::mem::replace(&mut self.paused, paused) == paused {
            return;
        }
        match paused {
            true => self.player.pause(),
            false => self.player.resume(),
        }
        self.bar.end();
        say!("{}", if paused { "paused" } else { "playing" });
    }

    /// False: it is no rate, or the bag is played as fast as the graph takes it.
    fn set_rate(&mut self, rate: f64) -> bool {
        if self.rate.is_none() || !(rate > 0.0 && rate.is_finite()) {
            return false;
        }
        self.rate = Some(rate);
        self.player.set_rate(rate);
        self.bar.end();
        say!("rate {rate:.2}");
        true
    }

    /// False: the bag does not reach there.
    fn seek(&mut self, time: &Value) -> bool {
        let [seconds, rest] = ["sec", "nanosec"].map(|key| time[key].as_u64());
        let (Some(seconds), Some(rest)) = (seconds, rest) else { return false };
        let time_ns = seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let (start_ns, end_ns) = self.bounds;
        if !(start_ns..=end_ns).contains(&time_ns) {
            return false;
        }
        // Messages do not count how far it is any more.
        self.part.get_or_insert_with(|| Part::between(start_ns, end_ns));
        self.player.seek(time_ns);
        true
    }

    fn obey(&mut self, key: Key) -> ControlFlow<()> {
        let rate = self.rate.unwrap_or(1.0);
        match key {
            Key::Quit => return ControlFlow::Break(()),
            Key::Letter(' ') => self.set_paused(!self.paused),
            Key::Right => self.player.step(),
            Key::Up => {
                self.set_rate(rate * RATE_STEP);
            }
            Key::Down => {
                self.set_rate(rate / RATE_STEP);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn answer(&mut self, call: Call) -> ControlFlow<()> {
        let response = match call.service {
            "is_paused" => json!({ "paused": self.paused }),
            "get_rate" => json!({ "rate": self.rate.map_or(json!("Infinity"), |it| json!(it)) }),
            "set_rate" => {
                let wished = call.request["rate"].as_f64().unwrap_or(0.0);
                json!({ "success": self.set_rate(wished) })
            }
            "seek" => json!({ "success": self.seek(&call.request["time"]) }),
            "play_next" => {
                self.player.step();
                json!({ "success": self.paused })
            }
            service => {
                let pauses = service == "pause" || (service == "toggle_paused" && !self.paused);
                if service != "stop" {
                    self.set_paused(pauses);
                }
                json!({})
            }
        };
        let ends = call.service == "stop";
        call.answer(response);
        if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Does what is wished until the end of the bag or this time; breaks if the end is wished.
    fn steer(
        &mut self,
        wake: &Wake,
        remote: &Remote,
        keys: &mut Option<Keys>,
        until: Option<Instant>,
    ) -> Result<ControlFlow<()>> {
        while !self.player.is_finished() && until.is_none_or(|until| Instant::now() < until) {
            let tick = std::io::stderr().is_terminal().then(|| Instant::now() + TICK);
            let deadline = tick.into_iter().chain(until).min();
            let key = keys.as_ref().and_then(Keys::fd);
            if wake.wait(key.into_iter(), deadline)? == Woken::Signal {
                return Ok(ControlFlow::Break(()));
            }
            while let Some(key) = keys.as_mut().map_or(Ok(None), Keys::next)? {
                if self.obey(key).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            while let Some(call) = remote.next() {
                if self.answer(call).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let troubles = troubles(self.participant);
            if !troubles.is_empty() {
                self.bar.end();
                output::warn(&troubles);
            }
            self.show();
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Says what was not played.
fn report(report: &PlayReport) -> Result<ExitCode> {
    let (mut published, mut fine) = (0, report.damage.is_none());
    for topic in &report.topics {
        published += topic.published;
        if let Some(error) = &topic.first_error {
            fine = false;
            let missing = topic.mismatched + topic.refused;
            output::warn(&[format!(
                "{missing} messages of {} were not played: {error}",
                topic.name
            )]);
        }
    }
    if let Some(damage) = &report.damage {
        output::warn(&[damage.to_string()]);
    }
    if let Some(note) = report.clock_note() {
        output::warn(&[note]);
    }
    let messages = counted(published, "message", "messages");
    let topics = counted(report.topics.len() as u64, "topic", "topics");
    output::print_result(&format!("{messages} of {topics}\n"))?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
