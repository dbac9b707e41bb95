//! `crossdock run`: launches the processes of a plan, plays and records, and closes with a table.
//!
//! The launcher's main thread sleeps in one poll until something happens: a process reports, the
//! player or recorder ends, a signal comes, the time is over.

mod agreement;
mod calls;
mod counts;
mod devices;
mod fabrics;
mod figures;
mod fleet;
mod hosts;
mod left;
mod listening;
pub(crate) mod log;
mod notes;
mod pipes;
mod process_figures;
mod progress;
mod recorded;
mod restarts;
mod standstill;
mod tracing;
mod usage;
mod wake;

use crate::arguments::{JoinArguments, Rate, RunArguments, ViewOptions};
use crate::load::{Chosen, Loaded, OnHost, Settings, Wishes, load, must_have_time};
use crate::output::say;
use crate::summary::{ProcessRow, Summary};
use anyhow::{Context, Result, bail};
use crossdock_comm::{Participant, ParticipantOptions, Quiescence, RunId, Troubles};
use crossdock_graph::{Plan, Time};
use crossdock_record::{
    BagWriter, Compression, PlayTopics, Player, PlayerOptions, Recorder, TopicToPlay, WriterOptions,
};
use fabrics::Counts;
pub(crate) use fabrics::check as check_fabrics;
use figures::Figures;
pub(crate) use figures::observer_options;
use fleet::{End, Fleet};
use hosts::Hosts;
use left::LastWords;
use log::LogPrinter;
pub(crate) use log::set_levels;
use notes::Notes;
use pipes::Target;
use progress::Progress;
use recorded::recorder_options;
use standstill::Standstill;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tracing::Tracing;
use usage::Usage;
pub(crate) use wake::{Suspension, Wake, Woken};

/// Name of the launcher's nodes and process.
const LAUNCHER: &str = "crossdock_run";

/// How long processes may take to come up: a package's `create` may load models or maps.
const START_TIMEOUT: Duration = Duration::from_secs(70);

/// How long a process may take to end before it is killed: longer than it gives its own nodes.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

/// The same after a signal that did not wait for what was in flight.
const HASTY_STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the graph may take for what is in flight at the end of a simulated run, and for one
/// message of a recording played at maximum rate.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the graph may take for what is in flight at the end of a run of real time, in which
/// publishers outside of it may go on.
const REST_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a Ctrl-C may go unheard meanwhile.
const DRAIN_SLICE: Duration = Duration::from_millis(100);

/// How often is looked whether player and recorder are connected.
const CONNECTION_SLICE: Duration = Duration::from_millis(20);

/// Distance of the messages on `/clock` in recorded time, between those at each message.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// Runs a graph to its end and prints the closing table.
pub(crate) fn run(arguments: &RunArguments, settings: &Settings) -> Result<ExitCode> {
    run_part(arguments, settings, OnHost::First)
}

/// The same for one host of the mapping.
pub(crate) fn join(arguments: &JoinArguments, settings: &Settings) -> Result<ExitCode> {
    run_part(&arguments.run, settings, OnHost::Named(&arguments.host))
}

fn run_part(arguments: &RunArguments, settings: &Settings, host: OnHost<'_>) -> Result<ExitCode> {
    if let Some(path) = &arguments.summary {
        crate::output::must_be_writable(path).context("--summary")?;
    }
    let wishes = Wishes {
        domain_id: arguments.domain_id,
        input: arguments.input.as_deref(),
        rate: arguments.rate,
        duration_s: arguments.duration,
        record: arguments.record.is_some(),
        topics: &arguments.topics,
        settings: settings.clone(),
        chosen: Chosen::of(&arguments.play_topics, &arguments.without),
        without: None,
        host,
    };
    let loaded = load(&arguments.files, &wishes)?;
    must_have_time(&loaded, wishes.input.is_some())?;
    if let (None, Some(option)) = (&loaded.host, arguments.hosts.given()) {
        bail!(
            "{option}: the mapping names no hosts; to join a graph to other computers, run \
             `crossdock net` beside it"
        );
    }
    let summary = carry_out(loaded, arguments)?;
    let json = crate::output::json(&summary)?;
    if let Some(path) = &arguments.summary {
        crate::output::write(Some(path), &json).context("--summary")?;
    }
    let text = if arguments.json { json } else { summary.text() };
    crate::output::print_result(&text)?;
    Ok(summary.exit_code())
}

/// Runs what was loaded to its end.
pub(crate) fn carry_out(mut loaded: Loaded, arguments: &RunArguments) -> Result<Summary> {
    crate::output::warn(&loaded.about_bag);
    log::set_levels(&mut loaded.plan, &arguments.log_level)?;
    let counts = fabrics::prepare(&mut loaded)?;
    for warning in &loaded.plan.warnings {
        say!("warning: {warning}");
    }
    // First: from now on a signal ends the run in order, and no process stays behind.
    let wake = Wake::new(match &arguments.record {
        Some(_) => Suspension::Refused,
        None => Suspension::Allowed,
    })?;
    // Before the processes: nothing is started for a view that does not. It ends after them.
    let packages = &arguments.files.beside.package_path;
    let domain_id = arguments.domain_id;
    let viewer = arguments.view.map(|port| ViewOptions::here(port, arguments.no_browser));
    let viewer = viewer.map(|it| crate::view::beside_run(&it, domain_id, packages)).transpose()?;
    let hosts = match loaded.host.take() {
        None => None,
        Some(run) => {
            let mut hosts = Hosts::join(run, &loaded.interfaces, &loaded.plan, arguments, &wake)?;
            hosts.meet(&wake, arguments.hosts.wait())?;
            Some(hosts)
        }
    };
    let mut session = Session::open(loaded, counts, wake, hosts, arguments)?;
    let end = match session.carry_out(arguments) {
        Ok(end) => end,
        Err(error) => {
            session.tell_hosts(&End::Failed(crate::output::sentence(&error)));
            return Err(error);
        }
    };
    let summary = session.close(end);
    drop(viewer);
    summary
}

/// Everything that is open during a run.
struct Session {
    plan: Plan,
    run: RunId,
    /// What its fabrics count.
    counts: Counts,
    wake: Wake,
    fleet: Fleet,
    /// Attached once the processes stand.
    figures: Option<Figures>,
    player: Option<Player>,
    recorder: Option<Recorder>,
    log: LogPrinter,
    tracing: Option<Tracing>,
    usage: Usage,
    participant: Participant,
    started: Instant,
    /// What of the recording is not there: the run is not what it was to be.
    incomplete: Option<String>,
    notes: Notes,
    /// What the player's and the recorder's connections gave reason to.
    troubles: Troubles,
    /// A signal came that does not wait for what is in flight.
    in_haste: bool,
    /// The graph had work in flight when it was no longer waited for.
    left_busy: bool,
    /// The others of a run on several hosts. They hear of the end when all else has ended.
    hosts: Option<Hosts>,
}

impl Session {
    /// Opens the launcher's own ports, then starts the processes.
    fn open(
        loaded: Loaded,
        counts: Counts,
        wake: Wake,
        hosts: Option<Hosts>,
        arguments: &RunArguments,
    ) -> Result<Self> {
        let Loaded { plan, packages, bag, incomplete, options, .. } = loaded;
        let tracing = Tracing::wanted(arguments)?;
        let _ = figures::must_have_topics_alone(options.domain_id, LAUNCHER, &plan, &[])?;
        // The bag first: nothing is started for a recording that cannot be written.
        let writer = match &arguments.record {
            Some(path) => Some(BagWriter::create(path, WriterOptions::new(Compression::Zstd))?),
            None => None,
        };
        let run = RunId::random()?;
        let participant = Participant::open(ParticipantOptions {
            run: Some(run),
            trust: fleet::trusted(&plan),
            ..ParticipantOptions::new(options.domain_id, LAUNCHER)
        })?;
        plan.uncopied_topics().for_each(|topic| participant.forbid_copies(topic));
        let recorder = match writer {
            Some(writer) => {
                let options = recorder_options(&plan, bag.as_ref(), &arguments.topics);
                Some(Recorder::start(&participant, writer, options)?)
            }
            None => None,
        };
        let player = match bag {
            Some(bag) => {
                let options = player_options(&plan, arguments);
                Some(Player::start(&participant, bag, options)?)
            }
            None => None,
        };
        if let Some(recorder) = &recorder {
            recorder.when_finished(wake.caller());
        }
        if let Some(player) = &player {
            player.when_finished(wake.caller());
        }
        let log = LogPrinter::start(&participant, &plan)?;
        let output = if arguments.json { Target::StandardError } else { Target::Same };
        let fleet = Fleet::launch(&plan, &packages, run, output)?;
        let notes = Notes::default();
        let started = Instant::now();
        let figures = None;
        Ok(Self {
            plan,
            run,
            counts,
            wake,
            fleet,
            figures,
            player,
            recorder,
            log,
            tracing,
            usage: Usage::default(),
            participant,
            started,
            incomplete,
            notes,
            troubles: Troubles::default(),
            in_haste: false,
            left_busy: false,
            hosts,
        })
    }

    /// From the barrier to the reason for the end.
    fn carry_out(&mut self, arguments: &RunArguments) -> Result<End> {
        if let Some(end) = self.wait_barrier()? {
            self.tell_hosts(&end);
            return Ok(end);
        }
        self.observe()?;
        // Again, should another run have come up meanwhile.
        let pids = self.fleet.pids();
        let domain_id = self.participant.domain_id();
        let strangers = figures::must_have_topics_alone(domain_id, LAUNCHER, &self.plan, &pids)?;
        strangers.into_iter().for_each(|sentence| self.notes.warn(sentence));
        if let Some(tracing) = &mut self.tracing {
            self.notes.extend(tracing.begin(domain_id, &pids)?);
        }
        self.usage = Usage::begin(&pids);
        self.started = Instant::now();
        self.fleet.start()?;
        if let Some(player) = &self.player {
            player.play();
        }
        // The nodes themselves end a run of simulated time; the wall clock is the launcher's.
        let duration = arguments.duration.filter(|_| self.plan_time() == Time::Wall);
        let deadline = duration.and_then(|seconds| {
            // One that no clock will show is none.
            self.started.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
        });
        let end = self.wait_end(deadline)?;
        self.tell_hosts(&end);
        self.come_to_rest(end)
    }

    /// Tells other hosts why this one ends.
    fn tell_hosts(&mut self, end: &End) {
        if let Some(hosts) = &mut self.hosts {
            hosts.tell(end);
        }
    }

    /// What other hosts say that ends the run.
    fn hear_hosts(&mut self) -> Option<End> {
        self.hosts.as_mut().and_then(Hosts::listen)
    }

    /// Attaches to the status tables of the processes.
    fn observe(&mut self) -> Result<()> {
        let pids = self.fleet.pids();
        let options = figures::observer_options(self.participant.domain_id(), LAUNCHER);
        self.figures = Some(Figures::attach(options, pids)?);
        Ok(())
    }

    /// Waits until all nodes and all expected connections stand.
    fn wait_barrier(&mut self) -> Result<Option<End>> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let events = self.fleet.events(&mut |_: &str, _: u32| LastWords::default());
            self.warn();
            if let Some(end) = events.or_else(|| self.hear_hosts()) {
                return Ok(Some(end));
            }
            // The connections of the launcher itself tell nobody when they come.
            let mut until = deadline;
            let is_ready = self.fleet.is_ready() && self.is_connected();
            let may_run = match &mut self.hosts {
                Some(hosts) if is_ready => hosts.may_run()?,
                Some(_) => false,
                None => is_ready,
            };
            if may_run {
                return Ok(None);
            }
            until = self.hosts.as_ref().map_or(until, |hosts| hosts.due().min(until));
            if self.fleet.is_ready() && !is_ready {
                until = until.min(Instant::now() + CONNECTION_SLICE);
            }
            let woken = self.wake.wait(self.fleet.descriptors(), Some(until))?;
            match woken {
                Woken::Signal => return Ok(Some(End::Interrupted)),
                Woken::Suspension => refuse_suspension(),
                Woken::Deadline if deadline > Instant::now() => {}
                Woken::Deadline if is_ready => bail!(
                    "the run did not begin within {} s; {}",
                    START_TIMEOUT.as_secs(),
                    self.hosts.as_ref().map_or_else(String::new, Hosts::waits_for)
                ),
                Woken::Deadline if self.fleet.is_ready() => bail!(
                    "the player or the recorder is not connected to the graph; {}",
                    self.trouble()
                ),
                Woken::Deadline => bail!(
                    "processes {} did not get ready within {} s; {}",
                    self.fleet.starting().join(", "),
                    START_TIMEOUT.as_secs(),
                    self.trouble()
                ),
                Woken::Called | Woken::Process => {}
            }
        }
    }

    /// Whether the player and the recorder have all the connections that the plan expects.
    fn is_connected(&self) -> bool {
        self.plan.launcher.iter().all(|expected| {
            let found = self.participant.topic_connections(&expected.topic);
            let incoming = expected.subscribers_here * expected.publishers;
            let outgoing = expected.publishers_here * expected.subscribers;
            found.incoming >= incoming as usize && found.outgoing >= outgoing as usize
        })
    }

    /// What the participant heard of: mismatches, peers that were cut off.
    fn trouble(&mut self) -> String {
        self.warn();
        let told: Vec<&str> = self.troubles.told().collect();
        match told.is_empty() {
            true => "nothing else was reported".to_owned(),
            false => told.join("; "),
        }
    }

    /// Sleeps until the run is to end.
    fn wait_end(&mut self, deadline: Option<Instant>) -> Result<End> {
        let mut progress = Progress::new(self.started);
        let mut standstill = Standstill::of(&self.plan, self.started);
        let end = loop {
            if let Some(end) = self.events()?.or_else(|| self.hear_hosts()) {
                break end;
            }
            let player = self.player.as_ref();
            // A node's wish is told by its process, with its reason.
            if let Some(player) = player.filter(|it| it.is_finished() && !it.was_asked_to_end()) {
                break match player.has_failed() {
                    // Why is said when it is let go.
                    true => End::Failed("the recording was not played to its end".to_owned()),
                    false => End::Finished("the recording has been played".to_owned()),
                };
            }
            if let Some(recorder) = self.recorder.take_if(|recorder| recorder.is_finished()) {
                let why = recorder.stop().err().map(|error| format!(": {error}"));
                break End::Failed(format!("the recording has stopped{}", why.unwrap_or_default()));
            }
            let figures = self.figures.as_ref();
            let tick = figures.and_then(|figures| progress.next(self.player.as_ref(), figures));
            if let (Some(standstill), Some(figures)) = (&mut standstill, figures)
                && let Some(warning) = standstill.look(&self.plan, figures, Instant::now())
            {
                self.notes.warn(warning);
            }
            let hosts = self.hosts.as_ref().map(Hosts::due);
            let look = standstill.as_ref().map(Standstill::due);
            let until = [deadline, tick, self.fleet.due(), hosts, look].into_iter().flatten().min();
            let descriptors = self.fleet.descriptors().chain(progress.descriptors());
            match self.wake.wait(descriptors, until)? {
                Woken::Signal => break End::Interrupted,
                Woken::Suspension => refuse_suspension(),
                Woken::Deadline if deadline.is_some_and(|it| it <= Instant::now()) => {
                    break End::Finished("the time is over".to_owned());
                }
                Woken::Deadline | Woken::Called | Woken::Process => {}
            }
        };
        progress.end();
        Ok(end)
    }

    /// What the processes report. Those that come back after an end are let go again.
    fn events(&mut self) -> Result<Option<End>> {
        let Self { plan, fleet, figures, notes, usage, tracing, .. } = self;
        let mut dead = Vec::new();
        let mut witness = |process: &str, pid: u32| {
            dead.push((process.to_owned(), pid));
            let figures = figures.as_mut();
            figures.map_or_else(LastWords::default, |figures| figures.retire(plan, process, pid))
        };
        let end = fleet.events(&mut witness);
        if let Some(tracing) = tracing {
            notes.extend(tracing.note_deaths(&dead, end.as_ref()));
        }
        fleet.take_lives().into_iter().for_each(|life| usage.note_life(life));
        for (name, pid) in fleet.back() {
            let lost = match figures.as_mut() {
                Some(figures) => figures.revive(&name, pid)?,
                None => 0,
            };
            if let Some(tracing) = tracing {
                notes.extend(tracing.join(pid)?);
            }
            let lost = match lost {
                0 => String::new(),
                1 => "; 1 message was lost".to_owned(),
                lost => format!("; {lost} messages were lost"),
            };
            notes.push(format!("process `{name}` is back (pid {pid}){lost}"));
        }
        fleet.begin()?;
        self.warn();
        Ok(end)
    }

    /// Tells at once what the closing table will repeat.
    fn warn(&mut self) {
        let events = self.participant.take_events().0;
        let own: Vec<_> = events.iter().filter_map(|event| self.troubles.news(event)).collect();
        for text in self.fleet.take_notes().into_iter().chain(own) {
            self.notes.warn(text);
        }
    }

    /// Ends what begins by itself, and lets the graph do what is in flight. A failed run stops as
    /// it is. Gives the end of the run, which is another one if a node fails meanwhile.
    fn come_to_rest(&mut self, end: End) -> Result<End> {
        let is_wall = self.plan_time() == Time::Wall;
        let interrupted = match end {
            End::Failed(_) => return Ok(end),
            End::Interrupted => true,
            End::Finished(_) => false,
        };
        if let (true, Some(player)) = (interrupted, &self.player) {
            player.stop();
        }
        // In simulated time that nobody makes any more, what is due by then still fires.
        let patience = if is_wall { REST_TIMEOUT } else { DRAIN_TIMEOUT };
        let until = Instant::now() + patience;
        if is_wall || interrupted && self.player.is_none() {
            self.fleet.drain();
            if let Some(failed) = self.wait_for_rest(until)? {
                return Ok(failed);
            }
        }
        let failed = match self.drain(until, patience)? {
            None => self.hear_deaths()?,
            failed => failed,
        };
        Ok(failed.unwrap_or(end))
    }

    /// Hears why processes have left by now. Nobody waits for one that has died: a recording may be
    /// played to its end, and the graph come to rest, before the kernel says how it ended.
    fn hear_deaths(&mut self) -> Result<Option<End>> {
        loop {
            if let Some(failed @ End::Failed(_)) = self.events()? {
                return Ok(Some(failed));
            }
            if self.in_haste || !self.fleet.is_leaving() {
                return Ok(None);
            }
            match self.wake.wait(self.fleet.descriptors(), self.fleet.due())? {
                Woken::Signal => self.in_haste = true,
                Woken::Suspension => refuse_suspension(),
                Woken::Deadline | Woken::Called | Woken::Process => {}
            }
        }
    }

    /// Waits until no process begins anything any more: before that, a graph without work in flight
    /// may get some. Gives the failure that ends the run, if there is one.
    fn wait_for_rest(&mut self, until: Instant) -> Result<Option<End>> {
        loop {
            if let Some(failed @ End::Failed(_)) = self.events()? {
                return Ok(Some(failed));
            }
            if self.fleet.is_at_rest() {
                return Ok(None);
            }
            let due = self.fleet.due().map_or(until, |due| due.min(until));
            match self.wake.wait(self.fleet.descriptors(), Some(due))? {
                Woken::Signal => {
                    self.in_haste = true;
                    return Ok(None);
                }
                Woken::Deadline if until <= Instant::now() => {
                    self.note_incomplete("a node that nothing triggers still executed at");
                    return Ok(None);
                }
                Woken::Suspension => refuse_suspension(),
                Woken::Deadline | Woken::Called | Woken::Process => {}
            }
        }
    }

    /// In a run that is stepped: lets the player complete the step in which a node asked for the
    /// end.
    fn end_step(&mut self) -> Result<()> {
        let Some(player) = self.player.as_ref().filter(|_| self.plan.steps.is_some()) else {
            return Ok(());
        };
        let until = Instant::now() + DRAIN_TIMEOUT;
        while !player.is_finished() {
            match self.wake.wait(std::iter::empty(), Some(until))? {
                Woken::Signal => {
                    self.in_haste = true;
                    break;
                }
                Woken::Deadline => break,
                Woken::Suspension | Woken::Called | Woken::Process => {}
            }
        }
        Ok(())
    }

    /// Lets the graph work off what is in flight, so that a recording holds all of it. Another
    /// Ctrl-C ends that, too. Gives the failure that ends the run meanwhile, if there is one.
    fn drain(&mut self, until: Instant, patience: Duration) -> Result<Option<End>> {
        self.end_step()?;
        if self.in_haste {
            return Ok(None);
        }
        let options = figures::observer_options(self.participant.domain_id(), LAUNCHER);
        let note = match Quiescence::open(options) {
            Ok(quiescence) => {
                // Others may look on, however slowly.
                let mut quiescence = quiescence.of_run(self.run);
                // Bounded, a slice at a time.
                loop {
                    if quiescence.wait(DRAIN_SLICE) {
                        return Ok(None);
                    }
                    if let Some(failed @ End::Failed(_)) = self.events()? {
                        return Ok(Some(failed));
                    }
                    let now = Instant::now();
                    if self.wake.wait(std::iter::empty(), Some(now))? == Woken::Signal {
                        self.in_haste = true;
                        break "the graph was still busy when it was interrupted at".to_owned();
                    }
                    if now >= until {
                        let seconds = patience.as_secs();
                        break format!("the graph was still busy {seconds} s after");
                    }
                }
            }
            Err(error) => format!("whether the graph has drained is not known: {error}, at"),
        };
        self.note_incomplete(&note);
        Ok(None)
    }

    fn note_incomplete(&mut self, note: &str) {
        self.left_busy = true;
        self.notes
            .push(format!("{note} the end of the run; a recording may lack its last messages"));
    }

    /// Stops the player, the processes, the recorder and the trace, in this order. Gives what
    /// failed.
    fn stop(&mut self, end: &End) -> Vec<String> {
        let mut failures = Vec::new();
        if let Some(player) = self.player.take() {
            player.stop();
            match player.wait() {
                Ok(report) => self.notes.extend(figures::play_notes(&report)),
                Err(error) => failures.push(error.to_string()),
            }
        }
        self.fleet.stop();
        // What the nodes have logged to the end.
        self.log.finish();
        let patience = if self.in_haste { HASTY_STOP_TIMEOUT } else { STOP_TIMEOUT };
        match self.fleet.wait(&self.wake, patience) {
            Ok(unusual) => failures.extend(unusual),
            Err(error) => failures.push(crate::output::sentence(&error)),
        }
        if let Some(recorder) = self.recorder.take() {
            match recorder.stop() {
                Ok(report) => self.notes.extend(figures::record_notes(&report)),
                Err(error) => failures.push(error.to_string()),
            }
        }
        if let Some(tracing) = self.tracing.take() {
            match tracing.close(end) {
                Ok(notes) => self.notes.extend(notes),
                Err(error) => failures.push(crate::output::sentence(&error)),
            }
        }
        failures
    }

    /// Stops everything and collects the figures.
    fn close(mut self, end: End) -> Result<Summary> {
        let real_s = self.started.elapsed().as_secs_f64();
        let mut failures = Vec::from_iter(self.incomplete.take());
        if self.figures.is_none()
            // The end came before the start: the table says how far each part got.
            && let Err(error) = self.observe()
        {
            failures.push(crate::output::sentence(&error));
        }
        // Status tables are read before their owners take their records down.
        let exits = self.fleet.exits();
        let figures = self.figures.as_ref();
        let returning = self.fleet.returning();
        let at_rest = !self.left_busy && !self.in_haste && !matches!(end, End::Failed(_));
        let of_processes = (&returning[..], at_rest);
        let read = figures.map(|it| it.read(&self.plan, &self.counts, &exits, of_processes));
        let used = self.fleet.ends().into_iter().filter(|(.., end)| end.is_none());
        let used = used.filter_map(|(name, pid, _)| Some((self.usage.of(&name, pid)?, name)));
        let used: BTreeMap<_, _> = used.map(|(used, name)| (name, used)).collect();
        failures.extend(self.stop(&end));
        let (end, mut ok) = match end {
            End::Finished(reason) => (reason, true),
            End::Interrupted => ("interrupted".to_owned(), true),
            End::Failed(reason) => (reason, false),
        };
        ok &= failures.is_empty();
        failures.retain(|failure| *failure != end);
        let mut read = read.unwrap_or_default();
        self.notes.extend(std::mem::take(&mut read.notes));
        self.warn();
        let notes = self.notes.take(failures);
        let restarts = self.fleet.restarts();
        let processes = self.fleet.ends().into_iter();
        let processes = processes.map(|(name, pid, end)| ProcessRow {
            restarts: restarts.get(&name).copied().unwrap_or(0),
            processor_ns: used.get(&name).map(|used| used.processor_ns),
            context_switches: used.get(&name).map(|used| used.context_switches),
            resident_bytes: used.get(&name).map(|used| used.resident_bytes),
            name,
            pid,
            end: end.unwrap_or_else(|| "running".to_owned()),
        });
        Ok(Summary {
            graph: self.plan.graph.clone(),
            end,
            ok,
            real_s,
            simulated_s: read.simulated_s,
            processes: processes.collect(),
            nodes: read.nodes,
            topics: read.topics,
            services: read.services,
            gateways: read.gateways,
            fabrics: read.fabrics,
            devices: read.devices,
            chains: read.chains,
            notes,
        })
    }

    fn plan_time(&self) -> Time {
        self.plan.all_processes().next().map_or(Time::Wall, |process| process.time)
    }
}

fn refuse_suspension() {
    say!(
        "Ctrl-Z does nothing while a run is recorded: nodes would wait for it; Ctrl-C ends the run"
    );
}

fn player_options(plan: &Plan, arguments: &RunArguments) -> PlayerOptions {
    let played = plan.topics.iter().filter(|topic| topic.played);
    let topics = played.map(|topic| TopicToPlay {
        max_bytes: topic.max_bytes.map(|bytes| bytes as usize),
        ..TopicToPlay::new(topic.name.as_str())
    });
    let observer = observer_options(arguments.domain_id, LAUNCHER);
    let drained = |factor| {
        let drain_timeout = DRAIN_TIMEOUT;
        crossdock_record::Rate::Max { observer: observer.clone(), drain_timeout, factor }
    };
    let at_most = plan.all_processes().find_map(|process| process.time.at_most());
    let rate = match (arguments.rate, at_most) {
        (rate, _) if plan.steps.is_some() => {
            crate::replay::player_rate(plan, rate, observer, DRAIN_TIMEOUT)
        }
        (_, Some(rate)) => drained(Some(rate)),
        (Some(Rate::Max), None) => drained(None),
        (Some(Rate::Factor(rate)), None) => crossdock_record::Rate::Factor(rate),
        (None, None) => crossdock_record::Rate::Factor(1.0),
    };
    let simulated = plan.all_processes().any(|process| process.time != Time::Wall);
    PlayerOptions {
        duration: arguments
            .duration
            .filter(|_| simulated)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        clock: simulated.then_some(CLOCK_TICK),
        ..PlayerOptions::new("player", PlayTopics::Only(topics.collect()), rate)
    }
}
