//! The scheduler: hands out turns, waits for all parts, measures runs.

use super::native_runs::{declare_native, natives};
use super::settings::{Answer, Settings, count, count_copied, crew, declare_threads};
use super::store::Store;
use super::team::{Awaited, Division, Team, Turn, WORKERS_MAX};
use crate::energy::Meter;
use crate::gpu::Crew;
use crate::messages::cpu_gpu_interfaces::Turn as TurnMessage;
use crate::messages::cpu_gpu_interfaces::srv::Work;
use crate::messages::cpu_gpu_interfaces::{Done, DoneView, Run, TurnBuilder};
use crate::native::Native;
use crate::reference::{compare, computed};
use crate::swap::Swap;
use crossdock_executor::{
    Client, Context, Node, NodeDescription, NodeError, NodeType, Publisher, Setup, Subscriber,
    Trigger,
};
use crossdock_msg::Extra;
use std::time::{Duration, Instant};

/// How often it looks whether the workers go on. The first time begins the first run.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// Hands an array out to workers, swap by swap, with what each shall do to it; if there is no
/// worker on a processor it does the processor's part itself, while the devices work. It runs the
/// benchmark `warm_up` and `runs` times, each time once natively, too, and publishes what each run
/// has taken and whether the array is right. Then it ends the run of the graph. Allocates between
/// runs, never within one but for arrays that travel.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    team: Team,
    /// Does the processor's part, if no worker does.
    crew: Crew,
    meter: Meter,
    ports: Ports,
    store: Store,
    native: Vec<Native>,
    warm_up: u32,
    runs: u32,
    patience: Duration,
    first: Vec<u32>,
    /// What one thread computes, and what it does where workers repeat the work.
    expected: [Vec<u32>; 2],
    state: State,
}

#[derive(Debug)]
struct Ports {
    turn: Option<Publisher<TurnMessage>>,
    done: Vec<Subscriber<Done>>,
    work: Option<Client<Work>>,
    run: Publisher<Run>,
}

/// What it is doing.
#[derive(Debug)]
enum State {
    /// Run `.0` comes next.
    Between(u32),
    Running(Box<Running>),
    Finished,
}

/// A run that is under way.
#[derive(Debug)]
struct Running {
    turn: Turn,
    awaited: Awaited,
    begun: Instant,
    begin_ns: u64,
    begin_uj: Option<u64>,
    /// When somebody answered last.
    heard: Instant,
    native_ns: [u64; 2],
    tally: Tally,
}

/// What the nodes said of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    copied_bytes: u64,
    /// Of each worker: instances of the array on the host and on its device.
    instances: [(u32, u32); WORKERS_MAX as usize],
    /// Answers of workers whose device uses the array where the scheduler has it.
    in_place: bool,
}

impl NodeType for Scheduler {
    const NAME: &'static str = "scheduler";

    fn description() -> NodeDescription {
        let interface = NodeDescription::new()
            .doc("Hands an array out to workers on processors and devices, and measures how long they take.")
            .publisher::<TurnMessage>("turn")
            .optional()
            .publisher::<Run>("run")
            .client::<Work>("work")
            .optional();
        let done = |interface: NodeDescription, worker| {
            interface.subscriber::<Done>(&done_port(worker)).optional()
        };
        declare_threads(declare_native((0..WORKERS_MAX).fold(interface, done)))
            .timer("look", LOOK_PERIOD)
            .parameter("transport", "shared", "shared: the array stays; serialised: it travels")
            .parameter("processors", 0, "workers on processors; 0: the scheduler does their part")
            .parameter("devices", 1, "workers on devices")
            .parameter("division", "split", "split or replicated: how workers of a kind share work")
            .parameter("patience_ms", 30_000, "how long no worker may answer")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let settings = Settings::read(setup)?;
        let team = team(setup)?;
        let crew = if team.processors == 0 { crew(setup)? } else { Crew::alone() };
        let ports = Ports::open(setup, team)?;
        let store = Store::of(setup, settings, (ports.turn.as_ref(), ports.work.as_ref()))?;
        let (benchmark, elements) = (settings.benchmark, settings.elements());
        let expected = [1, team.passes()].map(|times| computed(benchmark, elements, times));
        Ok(Self {
            settings,
            team,
            crew,
            meter: Meter::open(),
            ports,
            store,
            native: natives(setup, settings)?,
            warm_up: count(setup, "warm_up")?,
            runs: count(setup, "runs")?,
            patience: Duration::from_millis(count(setup, "patience_ms")?.into()),
            first: benchmark.first(elements),
            expected,
            state: State::Between(0),
        })
    }
}

fn done_port(worker: u32) -> String {
    format!("done_{worker}")
}

fn team(setup: &Setup<'_>) -> Result<Team, NodeError> {
    let division: String = setup.parameter("division")?;
    let division = Division::named(&division).ok_or_else(|| {
        NodeError::new(format!("division is `{division}`, but must be split or replicated"))
    })?;
    let counts: [i64; 2] = [setup.parameter("processors")?, setup.parameter("devices")?];
    let known = |count: i64| u32::try_from(count).ok().filter(|count| *count <= WORKERS_MAX);
    match counts.map(known) {
        [Some(processors), Some(devices @ 1..)] if processors + devices <= WORKERS_MAX => {
            Ok(Team { processors, devices, division })
        }
        _ => Err(NodeError::new(format!(
            "there are {} workers on processors and {} on devices, but there must be one on a device at least, \
             and {WORKERS_MAX} in all at most",
            counts[0], counts[1]
        ))),
    }
}

impl Ports {
    fn open(setup: &mut Setup<'_>, team: Team) -> Result<Self, NodeError> {
        let turn = setup.optional_publisher("turn")?;
        let work = setup.optional_client("work")?;
        let mut done = Vec::new();
        for worker in 0..WORKERS_MAX {
            done.extend(setup.optional_subscriber(&done_port(worker))?);
        }
        let over_topics = turn.is_some() && done.len() == team.workers() as usize;
        let is_alone = turn.is_none() && done.is_empty() && team.workers() == 1;
        let over_service = is_alone && work.is_some();
        if !over_topics && !over_service {
            return Err(NodeError::new(format!(
                "the scheduler asks {} workers over the topic `turn`, and hears of each over one of `done_0`, \
                 `done_1` and so on; one worker alone may be asked over the service `work` instead: connect \
                 these ports and no others",
                team.workers()
            )));
        }
        Ok(Self { turn, done, work, run: setup.publisher("run")? })
    }
}

impl Node for Scheduler {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match context.trigger() {
            Trigger::Timer(_) => self.look(context),
            Trigger::Poll => self.go_on(context),
            Trigger::Response(_) => self.hear_of_call(context),
            _ => self.hear(context),
        }
    }
}

impl Scheduler {
    /// Begins the first run; afterwards looks whether somebody still answers.
    fn look(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match &self.state {
            State::Between(0) => self.begin(0, context),
            State::Running(running) => self.check_workers(running),
            State::Between(_) | State::Finished => Ok(()),
        }
    }

    /// Is there hope for the turn that is under way?
    fn check_workers(&self, running: &Running) -> Result<(), NodeError> {
        let (turn, waiting) = (running.turn, running.awaited.names());
        // Who died before it claimed anything, or lives and is silent, is found out by patience
        // alone.
        if let Some(left) = self.store.abandoned() {
            return Err(NodeError::new(format!(
                "{turn}: {left}: what the array is now, nobody knows; look why that process has ended, and run \
                 the graph again"
            )));
        }
        if running.heard.elapsed() <= self.patience {
            return Ok(());
        }
        Err(NodeError::new(format!(
            "{turn}: workers {waiting} have not answered in {} ms; look at their processes with `crossdock top`, \
             or give them a longer `patience_ms`",
            self.patience.as_millis()
        )))
    }

    /// What is left to do once everybody else has had its turn: its own part, or the next run.
    fn go_on(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match &self.state {
            State::Between(number) => self.begin(*number, context),
            State::Running(_) => {
                self.do_own_part()?;
                self.advance(context)
            }
            State::Finished => Ok(()),
        }
    }

    /// Native runs, then the first turn.
    fn begin(&mut self, number: u32, context: &mut Context<'_>) -> Result<(), NodeError> {
        let mut native_ns = [0; 2];
        for (native, took_ns) in self.native.iter_mut().zip(&mut native_ns) {
            let run = native.run(&self.expected[0])?;
            run.outcome.map_err(|wrong| NodeError::new(format!("a native run: {wrong}")))?;
            *took_ns = u64::try_from(run.took.as_nanos())?;
        }
        self.store.fill(&self.first)?;
        let now = Instant::now();
        let running = Running {
            turn: Turn { run: number, swap: 0, pass: 0 },
            awaited: Awaited::default(),
            begun: now,
            begin_uj: self.meter.read_uj(),
            begin_ns: crossdock_shm::clock::monotonic_ns(),
            heard: now,
            native_ns,
            tally: Tally { in_place: true, ..Tally::default() },
        };
        self.state = State::Running(Box::new(running));
        self.hand_out(context)
    }

    /// Sends the turn that is next.
    fn hand_out(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let State::Running(running) = &mut self.state else { return Ok(()) };
        let (turn, swap) = (running.turn, swap(self.settings, running.turn));
        let (team, benchmark, store) = (self.team, self.settings.benchmark, &self.store);
        let shares = || {
            let share =
                move |worker| Some((worker, team.share(worker, benchmark, swap, turn.pass)?));
            (0..team.workers()).filter_map(share)
        };
        let own = team.own_share(swap).is_some();
        running.awaited = Awaited::new(shares().map(|(worker, _)| worker), own);
        let array = store.travelling();
        let number = u64::from(swap.number) * u64::from(team.passes()) + u64::from(turn.pass);
        let write = |message: &mut TurnBuilder<'_>| -> Result<(), NodeError> {
            message.set_run(turn.run);
            message.set_swap(turn.swap);
            message.set_pass(turn.pass);
            for (worker, share) in shares() {
                store.hand_out(message, worker, share, number);
            }
            Ok(message.set_array(array)?)
        };
        let extra = Extra::none().values::<u32>(array.len());
        if let Some(publisher) = &self.ports.turn {
            let mut loan = publisher.loan(extra)?;
            write(&mut loan.message())?;
            loan.publish()?;
            count_copied(size_of_val(array) as u64, |bytes| publisher.handle().count_copied(bytes));
        } else if let Some(client) = &self.ports.work {
            let mut request = client.loan(extra)?;
            write(&mut request.message().turn())?;
            request.send(self.patience).map_err(|refused| refused.reason)?;
        }
        running.tally.copied_bytes += size_of_val(array) as u64;
        if own {
            // After the devices' nodes, if they are in this executor: they only launch.
            context.poll_again();
        }
        Ok(())
    }

    /// The processor's part, where it is the scheduler's and not done yet.
    fn do_own_part(&mut self) -> Result<(), NodeError> {
        let State::Running(running) = &mut self.state else { return Ok(()) };
        let share = self.team.own_share(swap(self.settings, running.turn));
        if let Some(share) = share.filter(|_| running.awaited.own_done()) {
            self.store.on_processor(self.settings, share, &self.crew)?;
        }
        Ok(())
    }

    /// Workers have answered over topics.
    fn hear(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        // Before it waits for a device, which it does when it takes an answer.
        self.do_own_part()?;
        for at in 0..self.ports.done.len() {
            if let Some(sample) = self.ports.done[at].take()? {
                let merged = self.receive(sample.message())?;
                count_copied(merged, |bytes| self.ports.done[at].handle().count_copied(bytes));
            }
        }
        self.advance(context)
    }

    /// The worker has answered over the service, or not.
    fn hear_of_call(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.do_own_part()?;
        let outcome = self.ports.work.as_ref().map(Client::take).transpose()?.flatten();
        let Some(outcome) = outcome else { return Ok(()) };
        let response = outcome.result?;
        self.receive(response.message().done())?;
        self.advance(context)
    }

    /// A worker has answered. Gives the bytes that were copied out of the answer.
    fn receive(&mut self, done: DoneView<'_>) -> Result<u64, NodeError> {
        let answer = Answer::of(done);
        let State::Running(running) = &mut self.state else {
            return Err(NodeError::new(format!("{}: an answer to no turn", answer.turn)));
        };
        if answer.turn != running.turn || !running.awaited.answer(answer.worker) {
            return Err(NodeError::new(format!(
                "worker {} answers {}, but it is {}; give each worker a number of its own",
                answer.worker, answer.turn, running.turn
            )));
        }
        running.heard = Instant::now();
        let (benchmark, pass) = (self.settings.benchmark, running.turn.pass);
        let swap = swap(self.settings, running.turn);
        let merged = match self.team.share(answer.worker, benchmark, swap, pass) {
            Some(share) => self.store.merge(done.array()?, share.writes)?,
            None => 0,
        };
        let tally = &mut running.tally;
        tally.copied_bytes += answer.copied_bytes + merged;
        tally.instances[answer.worker as usize] = (answer.host_instances, answer.device_instances);
        tally.in_place &= answer.in_place || answer.worker < self.team.processors;
        Ok(merged)
    }

    /// Goes on if nothing is left to wait for: to the next turn, or to the end of the run.
    fn advance(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let State::Running(running) = &mut self.state else { return Ok(()) };
        if !running.awaited.is_empty() {
            return Ok(());
        }
        match self.team.after(running.turn, self.settings.benchmark.swaps()) {
            Some(next) => {
                running.turn = next;
                self.hand_out(context)
            }
            None => self.end(context),
        }
    }

    /// Tells what the run has taken.
    fn end(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let State::Running(running) = std::mem::replace(&mut self.state, State::Finished) else {
            return Ok(());
        };
        let took_ns = u64::try_from(running.begun.elapsed().as_nanos())?;
        let energy_uj = self.meter.since_uj(running.begin_uj).unwrap_or(0);
        let (number, tally) = (running.turn.run, running.tally);
        let outcome = compare(self.settings.benchmark, &self.store.words()?, &self.expected[1]);
        let fault = outcome.map_or_else(|wrong| wrong.to_string(), |()| String::new());
        let mut loan = self.ports.run.loan(Extra::none().text(fault.len()))?;
        let mut message = loan.message();
        message.set_number(number);
        message.set_warm_up(number < self.warm_up);
        message.set_swaps(self.settings.benchmark.swaps());
        message.set_begin_ns(running.begin_ns);
        message.set_took_ns(took_ns);
        message.set_native_paper_ns(running.native_ns[0]);
        message.set_native_best_ns(running.native_ns[1]);
        message.set_energy_uj(energy_uj);
        message.set_right(outcome.is_ok());
        message.set_fault(&fault)?;
        message.set_copied_bytes(tally.copied_bytes);
        let sum = |of: fn(&(u32, u32)) -> u32| tally.instances.iter().map(of).sum::<u32>();
        // Its own is one of them.
        message.set_host_instances(1 + sum(|it| it.0));
        message.set_device_instances(self.store.device_instances() + sum(|it| it.1));
        message.set_in_place(tally.in_place);
        loan.publish()?;
        if number + 1 < self.warm_up + self.runs {
            self.state = State::Between(number + 1);
            context.poll_again();
        } else {
            context.finish("all runs are done");
        }
        Ok(())
    }
}

fn swap(settings: Settings, turn: Turn) -> Swap {
    Swap { number: turn.swap, elements: settings.elements() }
}
