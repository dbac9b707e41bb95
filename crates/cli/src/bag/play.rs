//! `crossdock bag play`: publishes the messages of a bag in the domain.

use super::arguments::{PlayArguments, RequestsSource};
use super::bar::{Bar, Part, ns};
use super::copy::{must_have, warn_of_nothing};
use super::{open_defined, overrides, watched};
use crate::arguments::Rate;
use crate::output::{self, clean, say};
use crate::run::{Suspension, Wake, Woken, observer_options};
use crate::top::keys::{Key, Keyboard};
use anyhow::{Context, Result, bail};
use crossdock_comm::{Observer, Participant, ParticipantOptions};
use crossdock_record::{
    BagReader, PlayReport, PlayTopics, Player, PlayerOptions, Rate as PlayRate, RequestSource,
    RequestsToPlay, TopicToPlay, port_qos,
};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Name of the process in the domain.
const NAME: &str = "crossdock_bag_play";
/// How long is waited for subscribers that are there already.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the subscribers may take for one message at maximum rate.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between two looks at player and terminal.
const TICK: Duration = Duration::from_millis(100);
/// By how much a key changes the rate.
const RATE_STEP: f64 = 1.1;

pub(super) fn play(arguments: &PlayArguments) -> Result<ExitCode> {
    let reader = open_defined(&arguments.bag, &arguments.definitions)?;
    let topics = topics(&reader, arguments)?;
    let participant = Participant::open(ParticipantOptions::new(arguments.domain_id, NAME))?;
    let observer = observer_options(arguments.domain_id, NAME);
    let rate = match arguments.rate {
        Rate::Factor(factor) => PlayRate::Factor(factor),
        Rate::Max => PlayRate::Max { observer, drain_timeout: DRAIN_TIMEOUT },
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
        clock: arguments.clock.map(|hz| Duration::try_from_secs_f64(1.0 / hz)).transpose()?,
        ..PlayerOptions::new("player", PlayTopics::Only(topics), rate)
    };
    let bounds = (reader.start_ns(), reader.end_ns());
    let player = Player::start(&participant, reader, options)?;
    wait_connected(&participant, &names)?;
    std::thread::sleep(Duration::try_from_secs_f64(arguments.delay)?);
    player.play();
    let keys = std::io::stdin().is_terminal() && !arguments.disable_keyboard_controls;
    match keys {
        true => with_keys(&player, arguments, part)?,
        false => until_end(&player, part)?,
    }
    player.stop();
    let played = player.wait()?;
    if part.is_some() && played.completed && played.topics.iter().all(|it| it.published == 0) {
        warn_of_nothing(bounds);
    }
    report(&played)
}

/// The topics that are chosen and can be played, with their new names and quality of service.
fn topics(reader: &BagReader, arguments: &PlayArguments) -> Result<Vec<TopicToPlay>> {
    let filter = &arguments.filter;
    must_have(std::slice::from_ref(reader), filter)?;
    let overrides = overrides(arguments.qos_profile_overrides_path.as_deref())?;
    let mut topics = Vec::new();
    for topic in reader.topics().iter().filter(|topic| filter.chooses(&topic.name)) {
        let own_clock = arguments.clock.is_some() && topic.name == "/clock";
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
    Ok(topics)
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

/// Waits until the subscribers that are in the domain already are connected.
fn wait_connected(participant: &Participant, topics: &[String]) -> Result<()> {
    let mut observer = Observer::open(observer_options(participant.domain_id(), NAME))?;
    let snapshot = observer.snapshot()?;
    let ports = || snapshot.processes.iter().flat_map(|process| &process.subscribers);
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

/// Waits for the end, or for a signal.
fn until_end(player: &Player, part: Option<Part>) -> Result<()> {
    let wake = Wake::new(Suspension::Allowed)?;
    player.when_finished(wake.caller());
    let mut bar = Bar::begin();
    while !player.is_finished() {
        let deadline = std::io::stderr().is_terminal().then(|| Instant::now() + TICK);
        if wake.wait(std::iter::empty(), deadline)? == Woken::Signal {
            break;
        }
        show(player, &mut bar, part);
    }
    Ok(())
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
    Part::of(std::slice::from_ref(reader), start_ns, until_ns.unwrap_or(u64::MAX))
}

fn show(player: &Player, bar: &mut Bar, part: Option<Part>) {
    let progress = player.progress();
    bar.at(part, (progress.messages, progress.total), progress.time_ns);
}

/// Listens to keys until the end.
fn with_keys(player: &Player, arguments: &PlayArguments, part: Option<Part>) -> Result<()> {
    let _settings = KeysAtOnce::set()?;
    let mut keyboard = Keyboard::open()?;
    let (mut bar, mut paused) = (Bar::begin(), arguments.start_paused);
    let mut rate = match arguments.rate {
        Rate::Factor(factor) => Some(factor),
        Rate::Max => None,
    };
    say!("space: pause; right: next message; up, down: rate; q: end");
    while !player.is_finished() {
        let change = match keyboard.wait(Instant::now() + TICK)? {
            Some(Key::Quit) => break,
            Some(Key::Suspend) => {
                keyboard.suspend()?;
                continue;
            }
            Some(Key::Letter(' ')) => {
                paused = !paused;
                if paused {
                    player.pause()
                } else {
                    player.resume()
                }
                bar.end();
                say!("{}", if paused { "paused" } else { "playing" });
                continue;
            }
            Some(Key::Right) => {
                player.step();
                continue;
            }
            Some(Key::Up) => RATE_STEP,
            Some(Key::Down) => 1.0 / RATE_STEP,
            _ => {
                show(player, &mut bar, part);
                continue;
            }
        };
        if let Some(rate) = &mut rate {
            *rate *= change;
            player.set_rate(*rate);
            bar.end();
            say!("rate {rate:.2}");
        }
    }
    Ok(())
}

/// The terminal of standard input hands out each key at once and does not show it. Dropping sets it
/// back.
struct KeysAtOnce(Termios);

impl KeysAtOnce {
    fn set() -> Result<Self> {
        let before =
            tcgetattr(std::io::stdin()).context("the terminal does not say how it is set")?;
        let mut own = before.clone();
        own.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Now, &own)
            .context("the terminal cannot be set")?;
        Ok(Self(before))
    }
}

impl Drop for KeysAtOnce {
    fn drop(&mut self) {
        // A terminal that has gone needs no settings.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
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
    output::print_result(&format!("{published} messages of {} topics\n", report.topics.len()))?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
