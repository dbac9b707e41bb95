//! The node: gateways, their board, and what one poll does.

use crate::counts::Counts;
use crate::down::Down;
use crate::lag::Lag;
use crate::last::Last;
use crate::plan::{HostGateway, HostPlan};
use crate::record::fabric_counter;
use crate::up::Up;
use crate::windows::Windows;
use crossdock_comm::status_records::{NodeDetail, kind};
use crossdock_comm::{Entity, EntityDescription, WithHistogram};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Package, Setup};
use crossdock_fabric::{Board, Cache, HostEvent, IDLE_CYCLES, Library, Profile, Stop};
use crossdock_msg::Schema;
use crossdock_msg::frame::FramePlan;
use crossdock_shm::Scratch;
use crossdock_trace::GatewayTrace;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// The parameter that holds the [`HostPlan`], as [`HostPlan::to_text`] gives it.
pub const HOST_PLAN: &str = "host";

/// Simulated cycles per poll at most: some milliseconds, after which new messages are looked for.
const CYCLES_PER_POLL: u64 = 8192;
/// Polls after which the counts of a board that never rests are read.
const POLLS_PER_READING: u32 = 16;
/// Time on the board, ps, after which it lets go of a host that it has not heard of: a host that
/// polls is late by a few milliseconds, unless the computer stands still.
const LEASE_PS: u64 = 100_000_000_000;
/// Messages whose triggers are remembered.
const ORIGINS: usize = 64;

/// The package with the node type `gateways`, for the process that hosts a fabric.
#[must_use]
pub fn package() -> Package {
    Package::new("crossdock").node::<Gateways>()
}

/// What all gateways of a fabric use.
pub(crate) struct BoardAccess {
    pub(crate) board: Board,
    pub(crate) windows: Windows,
    pub(crate) scratch: Scratch,
    pub(crate) origins: Origins,
    /// The board has been given something, or was under way, since its counts were read at rest.
    pub(crate) unread: bool,
}

impl Drop for BoardAccess {
    /// Before anybody's memory goes, the board lets go of it. A board that does not come to rest
    /// has no host that could wait for it any more.
    fn drop(&mut self) {
        let _ = self.board.restart();
    }
}

/// What triggered the messages that went down lately, by their stamp: a node in hardware hands on
/// the stamp of what triggered it, and nothing else.
#[derive(Default)]
pub(crate) struct Origins {
    known: VecDeque<(u64, [u64; 2])>,
}

impl Origins {
    pub(crate) fn note(&mut self, stamp_ns: u64, origin: [u64; 2]) {
        if self.known.len() >= ORIGINS {
            self.known.pop_front();
        }
        self.known.push_back((stamp_ns, origin));
    }

    /// All zeros: not known.
    pub(crate) fn of(&self, stamp_ns: u64) -> [u64; 2] {
        let found = self.known.iter().rev().find(|(known, _)| *known == stamp_ns);
        found.map_or([0; 2], |(_, origin)| *origin)
    }
}

/// One topic's ways.
struct Gateway {
    topic: String,
    plan: FramePlan,
    down: Option<Down>,
    up: Option<Up>,
    entity: Entity,
}

/// See the head of the crate.
struct Gateways {
    // Dropped first: it reaches the memory of the others.
    access: BoardAccess,
    gateways: Vec<Gateway>,
    entity: Entity,
    /// The nodes on the board. No executor runs them, so that nothing is counted here.
    _nodes: Vec<Entity>,
    counts: Counts,
    slice_ps: u64,
    /// Publishers that were connected at the last look.
    matched: usize,
    /// Polls since the counts were read.
    polls: u32,
    /// How far it is behind real time, where that matters.
    lag: Option<Lag>,
}

impl NodeType for Gateways {
    const NAME: &'static str = "gateways";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Carries messages between topics and the hardware nodes of a fabric.")
            .parameter(HOST_PLAN, "", "what it hosts; written by the launcher")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let text: String = setup.parameter(HOST_PLAN)?;
        let plan: HostPlan = serde_json::from_str(&text).map_err(|error| {
            NodeError::new(format!("the parameter `{HOST_PLAN}` is no host plan: {error}"))
        })?;
        let profile = Profile::named(&plan.profile)
            .ok_or_else(|| NodeError::new(format!("there is no profile `{}`", plan.profile)))?;
        let (mut scratch_bytes, mut gateways) = (0, Vec::new());
        for (number, gateway) in plan.gateways.iter().enumerate() {
            let made = make(setup, &plan.fabric, (number as u32, gateway), &mut scratch_bytes);
            gateways.push(made.map_err(|error| {
                NodeError::new(format!("gateway of {}: {error}", gateway.topic))
            })?);
        }
        let mut board = board(&plan, profile)?;
        // Another host may have left it in mid-message.
        board.restart()?;
        board.set_lease(LEASE_PS / profile.period_ps);
        board.set_idle_cycles(IDLE_CYCLES);
        for (number, gateway) in plan.gateways.iter().enumerate() {
            board.set_reliable(number as u32, gateway.reliable);
        }
        let scratch = Scratch::create(&plan.fabric, scratch_bytes.max(1) as u64)?;
        let mut windows = Windows::default();
        windows.enter(&scratch.region());
        let entity = setup.status_table().add(EntityDescription {
            kind: kind::FABRIC,
            name: &plan.fabric,
            detail: profile.name.as_bytes(),
            histogram: WithHistogram::No,
        })?;
        let nodes = plan.nodes.iter().map(|node| {
            setup.status_table().add(EntityDescription {
                kind: kind::NODE,
                name: &node.name,
                detail: NodeDetail::native(node.node_type.clone()).encode().as_bytes(),
                histogram: WithHistogram::No,
            })
        });
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let counts = Counts::new(setup, &plan)?;
        let origins = Origins::default();
        Ok(Self {
            access: BoardAccess { board, windows, scratch, origins, unread: true },
            gateways,
            entity,
            _nodes: nodes,
            counts,
            slice_ps: CYCLES_PER_POLL * profile.period_ps,
            matched: 0,
            polls: 0,
            lag: plan.real_time.then(|| Lag::new(plan.fabric)),
        })
    }
}

/// The board in reset state.
fn board(plan: &HostPlan, profile: &Profile) -> Result<Board, NodeError> {
    let library = Library::kept(&Cache::at(plan.cache.clone()), &plan.key, plan.identity)?;
    let periods_ps = vec![profile.period_ps; library.clocks().len()];
    let model = library.model(plan.seed, &periods_ps);
    let timing = profile.memory.timing(0, plan.seed);
    let cycles = profile.memory.register_cycles.value;
    let board = model.and_then(|model| Board::new(model, &timing, cycles));
    board.ok_or_else(|| {
        NodeError::new(format!(
            "the board of fabric `{}` cannot be simulated with profile `{}`",
            plan.fabric, profile.name
        ))
    })
}

fn make(
    setup: &mut Setup<'_>,
    fabric: &str,
    (number, gateway): (u32, &HostGateway),
    scratch_bytes: &mut usize,
) -> Result<Gateway, NodeError> {
    let schema = Arc::new(Schema::parse(&gateway.message_type, &gateway.definition)?);
    let plan = FramePlan::new(&schema, &gateway.bounds)?;
    let bridge = setup.bridge(&schema, gateway.down.as_deref(), gateway.up.as_deref())?;
    let tracing = setup.tracing(&gateway.topic);
    let trace = GatewayTrace::new(&gateway.topic, fabric);
    let down = bridge.subscriber;
    let of_down = (&plan, Last::new(&schema));
    let down = down.map(|it| Down::new((it, tracing, trace), number, of_down, scratch_bytes));
    let up = bridge.publisher.map(|it| Up::new((it, trace), number, &plan));
    let entity = setup.status_table().add(EntityDescription {
        kind: kind::GATEWAY,
        name: &gateway.topic,
        detail: fabric.as_bytes(),
        histogram: WithHistogram::No,
    })?;
    Ok(Gateway { topic: gateway.topic.clone(), plan, down, up, entity })
}

impl Node for Gateways {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let stop = self.poll()?;
        self.must_keep_up(stop)?;
        let moves = match stop {
            Stop::Idle => self.rest()?,
            Stop::Done | Stop::Time => true,
        };
        self.access.unread |= stop != Stop::Idle;
        if moves {
            self.polls += 1;
            // Where the registers are in use, it is tried again after the next poll.
            if self.polls >= POLLS_PER_READING && self.read_counts()? {
                self.polls = 0;
            }
        }
        self.show();
        if moves {
            context.poll_again();
        }
        Ok(())
    }
}

impl Gateways {
    /// Serves host and board for a slice of time, or until the board has nothing left to do.
    fn poll(&mut self) -> Result<Stop, NodeError> {
        self.forget_the_gone();
        let until_ps = self.access.board.now_ps() + self.slice_ps;
        loop {
            self.serve()?;
            let stop = self.access.board.run(&mut [], &mut [], until_ps)?;
            if stop != Stop::Done {
                return Ok(stop);
            }
            // Each event is about a message, and there are only so many under way.
            while let Some(event) = self.access.board.event() {
                self.hear(event)?;
            }
        }
    }

    /// A board that never rests has less and less of what there is for it, and nobody would see
    /// why.
    fn must_keep_up(&mut self, stop: Stop) -> Result<(), NodeError> {
        let Some(lag) = &mut self.lag else { return Ok(()) };
        let now_ps = self.access.board.now_ps();
        if !lag.is_too_long(stop == Stop::Idle, Instant::now(), now_ps) {
            return Ok(());
        }
        let waiting = |it: &&Gateway| it.down.as_ref().is_some_and(Down::has_more);
        match self.gateways.iter().find(waiting) {
            Some(Gateway { topic, .. }) => Err(lag.error(topic)),
            None => Ok(()),
        }
    }

    /// Gives the board what there is for it, and publishes what it has given.
    fn serve(&mut self) -> Result<(), NodeError> {
        for Gateway { topic, plan, down, up, entity } in &mut self.gateways {
            if let Some(up) = up {
                up.publish(up.is_stuck(), entity);
                up.lend(&mut self.access);
            }
            if let Some(down) = down {
                down.send(plan, &mut self.access, entity).map_err(|error| {
                    NodeError::new(format!("a message of {topic} cannot enter hardware: {error}"))
                })?;
            }
        }
        let BoardAccess { board, windows, .. } = &mut self.access;
        windows.show(board);
        Ok(())
    }

    fn hear(&mut self, event: HostEvent) -> Result<(), NodeError> {
        let known = match event {
            HostEvent::Sent { gateway, tag, status } => {
                let Some(it) = self.gateways.get_mut(gateway as usize) else {
                    return Err(unknown(&event));
                };
                let down = it.down.as_mut();
                down.is_some_and(|down| down.sent(tag, status, &mut self.access, &it.entity))
            }
            HostEvent::Arrived { gateway, tag, bytes, status, .. } => {
                let Some(it) = self.gateways.get_mut(gateway as usize) else {
                    return Err(unknown(&event));
                };
                let message = (tag, bytes, status);
                let up = it.up.as_mut();
                up.is_some_and(|up| up.arrived(message, &it.plan, &mut self.access, &it.entity))
            }
            HostEvent::Unknown { .. } => false,
        };
        if known { Ok(()) } else { Err(unknown(&event)) }
    }

    /// The board has nothing to do. What is left waits for subscribers, or for the next message.
    /// True: it is to be polled again.
    fn rest(&mut self) -> Result<bool, NodeError> {
        let mut again = false;
        for Gateway { up, entity, .. } in &mut self.gateways {
            if let Some(up) = up {
                up.publish(true, entity);
                again |= up.is_waiting() || up.is_short();
            }
        }
        if again {
            return Ok(true);
        }
        // First: who sees that all was processed also sees what became of it.
        if self.access.unread && self.read_counts()? {
            self.access.unread = false;
        }
        let downs = || self.gateways.iter().filter_map(|it| it.down.as_ref());
        // A host that sleeps renews nothing. Its next message begins the lease anew. What a node
        // lets wait stands in the board's streams, and its memory stays the board's.
        if downs().all(|down| down.under_way() == 0) {
            self.access.board.rest()?;
        }
        self.polls = 0;
        downs().for_each(Down::settle);
        Ok(false)
    }

    /// Reads what the board counts. False: not now.
    fn read_counts(&mut self) -> Result<bool, NodeError> {
        let last = |topic: &str| {
            let mut of_topic = self.gateways.iter().filter(|it| it.topic == topic);
            of_topic.find_map(|it| it.down.as_ref()?.last().told())
        };
        self.counts.read(&mut self.access.board, &last)
    }

    /// Memory of publishers that have gone is not kept for them.
    fn forget_the_gone(&mut self) {
        let downs = self.gateways.iter().filter_map(|gateway| gateway.down.as_ref());
        let matched = downs.map(Down::matched).sum();
        if matched < self.matched {
            self.access.windows.forget();
        }
        self.matched = matched;
    }

    /// Shows what the board has done.
    fn show(&mut self) {
        let traffic = self.access.board.traffic();
        self.entity.set(fabric_counter::BYTES_READ, traffic.bytes_read);
        self.entity.set(fabric_counter::BYTES_WRITTEN, traffic.bytes_written);
        self.entity.set(fabric_counter::REFUSED, traffic.refused);
        self.entity.set(fabric_counter::SIMULATED_US, self.access.board.now_ps() / 1_000_000);
    }
}

#[cold]
fn unknown(event: &HostEvent) -> NodeError {
    NodeError::new(format!(
        "the board tells of a message that is not under way ({event:?}): what was built is not what \
         was planned; remove the folder of built networks and start again"
    ))
}
