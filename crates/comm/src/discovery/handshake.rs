//! What each frame of a peer makes this process do, and which frames a peer may send when.
//!
//! Everything here runs on the control thread. If a peer breaks a rule, a function returns the rule
//! as text, and the caller cuts the peer off with it.

use std::num::NonZeroU8;
use std::os::fd::AsFd;
use std::sync::Arc;

use crossdock_shm::faults::{self, fault};
use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::{Attached, ElementType, ReceivedFd, RingControl, TRUST_BY_NAME};

use crate::buffer::registry::Offer;
use crate::device::slabs;
use crate::discovery::event::Event;
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::ParticipantState;
use crate::discovery::peer_link::{Broken, Stage};
use crate::discovery::publishing_side::RingParts;
use crate::discovery::{
    bells, buffer_exchange, copying, graph_watch, namesakes, publishing_side, refusals,
    slab_exchange, subscribing_side,
};
use crate::quotas;
use crate::wire::frame::{DEFINITION_BYTES_MAX, Frame, PIECE_BYTES_MAX, Purpose, VERSION};
use crate::wire::limit::Limit;
use crate::wire::mismatch::clash;
use crate::wire::port_info::PortInfo;

/// Publishers that one process may advertise. Who has as many makes no more.
pub const PUBLISHERS_OF_PEER_MAX: usize = 16_384;

/// How many descriptors come with a frame.
fn descriptors_of(frame: &Frame) -> std::ops::RangeInclusive<usize> {
    match frame {
        Frame::Memory => 2..=2,
        Frame::Bell { .. } | Frame::StatusTable => 1..=1,
        Frame::Segment { .. } => 1..=1,
        Frame::Buffer { devices, .. } => 1 + devices.len()..=1 + devices.len(),
        Frame::Slab { .. } => 2..=2,
        Frame::Accept { .. } => 1..=crossdock_shm::socket::FRAME_FDS_MAX,
        _ => 0..=0,
    }
}

/// Carries out one frame. `Some`: a process that has knocked and is to be greeted.
pub(crate) fn handle(
    core: &Arc<ParticipantCore>,
    token: u64,
    frame: Frame,
    fds: Vec<ReceivedFd>,
) -> Result<Option<PeerName>, String> {
    if !descriptors_of(&frame).contains(&fds.len()) {
        return Err(format!("it sent {} file descriptors with a frame", fds.len()));
    }
    let impostor = match &frame {
        // Looked up without the lock: it asks the kernel.
        Frame::Hello { name, purpose: Purpose::Peer, .. } => impostor(core, token, *name),
        _ => None,
    };
    let mut guard = core.lock();
    let state = &mut *guard;
    let Some(peer) = state.peers.get_mut(&token) else { return Ok(None) };
    let stage = peer.link.stage;
    let shares = matches!(&frame, Frame::Slab { .. } | Frame::Buffer { .. });
    if shares && peer.link.standing.is_stranger() {
        return Err(format!(
            "it shares memory that several write, which is taken of trusted processes alone; trust its \
             user by name ({TRUST_BY_NAME})"
        ));
    }
    match (stage, frame) {
        (Stage::AwaitHello, Frame::Hello { version, name, process, purpose }) => {
            peer.link.process = process;
            if version != VERSION {
                return Err(format!(
                    "it speaks version {version} of the control protocol, we speak {VERSION}; run \
                     one version of Crossdock"
                ));
            }
            if let Some(broken) = impostor {
                peer.link.breaks(broken);
                return Ok(None);
            }
            if let Some(to_greet) = hello(core, state, token, name, purpose)? {
                return Ok(Some(to_greet));
            }
        }
        (Stage::AwaitWelcome, Frame::Welcome { version, name, process }) => {
            if version != VERSION || peer.link.name != Some(name) {
                return Err("its welcome is of another version or another process".to_string());
            }
            peer.link.process = process;
            state.unwelcome.forget(name);
            become_live(state, token);
        }
        (Stage::Live, Frame::Slab { pair, slab, shape, device }) => {
            drop(guard);
            let fds = fds.try_into().map_err(|_| "its slab is incomplete".to_string())?;
            let offer = slabs::Offer { number: slab, shape, device, fds };
            slab_exchange::received(core, token, pair, offer)?;
            return Ok(None);
        }
        (
            Stage::AwaitHello | Stage::AwaitWelcome | Stage::Live,
            Frame::TurnAway { limit, process },
        ) if !limit.leaves_out_publishers() => refusals::heard(state, token, limit, process),
        (Stage::Live, frame) => live(core, state, token, frame, fds)?,
        (Stage::Closing | Stage::Ending, _) => {}
        (stage, _) => return Err(format!("it sent an unexpected frame in stage {stage:?}")),
    }
    core.publish(guard);
    Ok(None)
}

/// Why the process that greets as `name` is not the one that listens under it; `None`: it is.
/// What a name stands for (publishers, shared buffers) is believed of that process alone.
fn impostor(core: &ParticipantCore, token: u64, name: PeerName) -> Option<Broken> {
    if faults::is(fault::ANY_NAME) {
        return None;
    }
    let caller = core.socket_of(token)?;
    let why = match core.rendezvous.visit().connect(name) {
        Ok(Some(listener)) => match caller.is_of_same_process(&listener) {
            Ok(true) => return None,
            Ok(false) => {
                let owner =
                    listener.peer().map_or_else(|error| error.to_string(), |it| it.to_string());
                format!("it greets as {name}, which is {owner}")
            }
            Err(error) => error.to_string(),
        },
        // It has gone since, which is no violation.
        Ok(None) if caller.has_hung_up() => return Some(Broken::Closed),
        Ok(None) => format!("it greets as {name}, and nobody listens there"),
        Err(error) => format!("who it is cannot be seen just now: {error}"),
    };
    Some(Broken::Violation(why))
}

/// Somebody who connected to us says why. Returns whom to connect to after a knock.
fn hello(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    name: PeerName,
    purpose: Purpose,
) -> Result<Option<PeerName>, String> {
    let process = core.process.clone();
    let welcome = Frame::Welcome { version: VERSION, name: core.name, process };
    let Some(peer) = state.peers.get_mut(&token) else { return Ok(None) };
    // A process that has a trace can switch it on, each watcher costs a call before each sleep, and
    // a level makes nodes log.
    let costly = matches!(purpose, Purpose::Trace | Purpose::Watch | Purpose::Level { .. });
    if costly && peer.link.standing.is_stranger() {
        let reason = format!(
            "only processes that are trusted may trace or watch it, or set what it logs; trust the user by \
             name ({TRUST_BY_NAME})"
        );
        peer.link.send(&Frame::Nothing { reason }, &[]);
        peer.link.stage = Stage::Closing;
        return Ok(None);
    }
    match purpose {
        Purpose::Peer => welcome_peer(core, state, token, name, &welcome)?,
        Purpose::Knock => {
            if name <= core.name {
                return Err("it knocked where it should connect".to_string());
            }
            peer.link.stage = Stage::Closing;
            return Ok(Some(name));
        }
        Purpose::Status => {
            peer.link.send(&welcome, &[core.status_table.read_only_fd()]);
            peer.link.stage = Stage::Closing;
        }
        Purpose::Watch => {
            peer.link.stage = Stage::Watching;
            let socket = Arc::clone(&peer.link.socket);
            let status_table = core.status_table.read_only_fd();
            core.add_watcher(token, socket, || peer.link.send(&welcome, &[status_table]));
        }
        Purpose::Trace => {
            let reason = "its trace memory could not be had when it started".to_string();
            match crossdock_trace::descriptors() {
                Some(fds) => peer.link.send(&welcome, &fds),
                None => peer.link.send(&Frame::Nothing { reason }, &[]),
            }
            peer.link.stage = Stage::Closing;
        }
        Purpose::Definition { port } => {
            send_once(state, token, |it| send_definition(it, token, port))
        }
        Purpose::Ring { port } => send_once(state, token, |it| send_ring(it, token, port)),
        Purpose::Level { port, level } => {
            send_once(state, token, |it| send_level(it, token, port, level));
        }
    }
    Ok(None)
}

/// A process that is no impostor wants to exchange messages.
fn welcome_peer(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    name: PeerName,
    welcome: &Frame,
) -> Result<(), String> {
    if name >= core.name {
        return Err("it opened a socket that is ours to open".to_string());
    }
    if let Some(known) = state.tokens_by_name.get(&name).copied() {
        let is_trusted = |token| !state.standing(token).is_stranger();
        if is_trusted(known) || !is_trusted(token) {
            return Err("it is connected already".to_string());
        }
        if let Some(known) = state.peers.get_mut(&known) {
            namesakes::give_way(&mut known.link);
        }
        // It greets again, and finds room.
        if let Some(peer) = state.peers.get_mut(&token) {
            peer.link.breaks(Broken::Closed);
        }
        return Ok(());
    }
    if refusals::refuse_process(core, state, token) {
        return Ok(());
    }
    let Some(peer) = state.peers.get_mut(&token) else { return Ok(()) };
    peer.link.name = Some(name);
    peer.link.send(welcome, &[]);
    state.tokens_by_name.insert(name, token);
    become_live(state, token);
    Ok(())
}

/// Sends an answer, after which nothing follows.
fn send_once(state: &mut ParticipantState, token: u64, send: impl FnOnce(&mut ParticipantState)) {
    send(state);
    if let Some(peer) = state.peers.get_mut(&token) {
        peer.link.stage = Stage::Closing;
    }
}

/// The pair of processes is connected: tell the peer what we publish.
fn become_live(state: &mut ParticipantState, token: u64) {
    let Some(peer) = state.peers.get_mut(&token) else { return };
    peer.link.stage = Stage::Live;
    state.events.push(Event::PeerJoined(peer.link.peer()));
    for publisher in state.publishers.values() {
        peer.link.send(&Frame::Advertise(publisher.info.clone()), &[]);
    }
    peer.link.watch_process();
    graph_watch::became_live(state, token);
}

/// Frames between processes that know each other.
fn live(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    frame: Frame,
    fds: Vec<ReceivedFd>,
) -> Result<(), String> {
    match frame {
        Frame::Advertise(info) => advertise(core, state, token, info),
        Frame::Withdraw { port } => {
            if let Some(peer) = state.peers.get_mut(&token) {
                peer.publishers.remove(&port);
            }
            subscribing_side::publisher_gone(state, token, port);
            Ok(())
        }
        Frame::Memory => publishing_side::received_memory(state, token, fds),
        Frame::Bell { bell } => bells::received(state, token, bell, fds),
        Frame::Subscribe { pair, publisher, subscriber, geometry } => {
            publishing_side::subscribe_requested(
                core,
                state,
                token,
                pair,
                publisher,
                &subscriber,
                &geometry,
            )
        }
        Frame::Accept { pair, geometry } => {
            subscribing_side::accepted(core, state, token, pair, &geometry, &fds)
        }
        Frame::Refuse { pair, later, reason } => {
            subscribing_side::refused(core, state, token, pair, later, reason)
        }
        Frame::Mismatch { publisher, subscriber, reason } => {
            mismatched(core, state, token, publisher, &subscriber, reason);
            Ok(())
        }
        Frame::Leave { pair } => publishing_side::leave_requested(state, token, pair),
        Frame::Release { pair } => publishing_side::release_requested(state, token, pair),
        Frame::Released { pair } => subscribing_side::released(state, token, pair),
        Frame::Segment { pair, segment, bytes } => {
            subscribing_side::received_segment(core, state, token, (pair, segment, bytes), &fds)
        }
        Frame::Bye => {
            if let Some(peer) = state.peers.get_mut(&token) {
                peer.link.breaks(Broken::Left);
            }
            Ok(())
        }
        Frame::SegmentMapped { pair, segment } => {
            publishing_side::segment_mapped(state, token, pair, segment)
        }
        Frame::GiveBack { pair, segment } => {
            subscribing_side::segment_given_back(state, token, pair, segment)
        }
        Frame::SlabAnswer { pair, slab, taken } => {
            slab_exchange::answered(state, token, (pair, slab, taken))
        }
        frame => hand_over(core, state, token, frame, fds),
    }
}

/// A peer says that its subscriber does not fit to a publisher of ours.
fn mismatched(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    publisher: u64,
    subscriber: &PortInfo,
    reason: String,
) {
    // What the peer says of its port was decoded; what follows from it we see ourselves.
    if let Some(known) = state.publishers.get(&publisher)
        && let Some(clash) = clash(&known.info, subscriber)
    {
        known.events.clashed(clash);
    }
    publishing_side::misfit(core, state, token, publisher, subscriber, reason);
}

/// Frames about what processes hand to each other beside pairs: definitions of types, shared
/// buffers, and the graph.
fn hand_over(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    frame: Frame,
    fds: Vec<ReceivedFd>,
) -> Result<(), String> {
    match frame {
        Frame::AskDefinition { port } => {
            send_definition(state, token, port);
            Ok(())
        }
        Frame::Definition { port, offset, total, piece } => {
            subscribing_side::received_definition(core, state, token, port, (offset, total), &piece)
        }
        Frame::Nothing { .. } => Ok(()),
        Frame::TurnAway { limit, .. } => {
            copying::left_out(state, token, limit);
            Ok(())
        }
        Frame::AskBuffer { buffer } => {
            buffer_exchange::asked_for(state, token, buffer);
            Ok(())
        }
        Frame::Buffer { buffer, member, element, count, label, devices } => {
            let element = ElementType::of_number(element);
            let element = element.ok_or("it handed out a buffer of unknown elements")?;
            let mut fds = fds.into_iter();
            let fd = fds.next().ok_or("it handed out a buffer without memory")?;
            let instances = devices.into_iter().zip(fds).collect();
            let offer = Offer { connection: token, member, element, count, label, fd, instances };
            buffer_exchange::received(state, buffer, offer);
            Ok(())
        }
        Frame::NoBuffer { buffer, reason } => {
            buffer_exchange::refused(state, token, buffer, reason);
            Ok(())
        }
        Frame::AskStatusTable => graph_watch::asked(core, state, token),
        Frame::StatusTable => graph_watch::received(core, state, token, &fds),
        Frame::WatchGraph { seen } => {
            graph_watch::watched(core, state, token, seen);
            Ok(())
        }
        Frame::GraphChanged => graph_watch::changed(core, state, token),
        _ => Err("it sent a frame that has no place between connected processes".to_string()),
    }
}

/// A frame has come whose descriptors found no room in this process. `None`: what it was about is
/// tried again later; else why the connection to its sender is of no more use.
pub(crate) fn handle_without_descriptors(
    core: &Arc<ParticipantCore>,
    token: u64,
    frame: &Frame,
) -> Option<String> {
    let mut state = core.lock();
    let text = "no file descriptor is free for the memory that";
    match frame {
        Frame::Accept { pair, .. } => {
            subscribing_side::accepted_without_memory(&mut state, token, *pair);
            core.publish(state);
            None
        }
        Frame::Segment { pair, .. } => {
            subscribing_side::segment_without_memory(&mut state, token, *pair);
            core.publish(state);
            None
        }
        Frame::Buffer { buffer, .. } => {
            let reason = format!("{text} it is made of; raise the limit (`ulimit -n`)");
            buffer_exchange::refused(&mut state, token, *buffer, reason);
            core.publish(state);
            None
        }
        Frame::Slab { pair, slab, .. } => {
            slab_exchange::received_without_memory(&mut state, token, *pair, *slab);
            core.publish(state);
            None
        }
        _ => {
            let peer = state.peers.get(&token).map(|peer| peer.link.peer().to_string());
            Some(format!("{text} {} sent; raise the limit (`ulimit -n`)", peer.unwrap_or_default()))
        }
    }
}

fn advertise(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    info: PortInfo,
) -> Result<(), String> {
    let Some(peer) = state.peers.get_mut(&token) else { return Ok(()) };
    let publishers_max = match quotas::hold(peer.link.standing) {
        true => quotas::PUBLISHERS_MAX,
        false => PUBLISHERS_OF_PEER_MAX,
    };
    if peer.publishers.len() >= publishers_max {
        if !peer.link.standing.is_stranger() {
            return Err(format!(
                "it advertises more than {publishers_max} publishers; have fewer in one process"
            ));
        }
        peer.link.send(&refusals::turn_away(core, Limit::Publishers), &[]);
        return Err(quotas::refusal(Limit::Publishers, peer.link.peer().uid));
    }
    if peer.publishers.contains_key(&info.port) {
        return Err(format!("it advertised port {} twice", info.port));
    }
    let port = info.port;
    peer.publishers.insert(port, info);
    subscribing_side::remote_publisher_arrived(core, state, token, port);
    Ok(())
}

/// The definition of the type of a publisher or subscriber in pieces that fit in frames.
fn send_definition(state: &mut ParticipantState, token: u64, port: u64) {
    let of_publisher = state.publishers.get(&port).map(|known| Arc::clone(&known.definition));
    let of_subscriber = || state.subscribers.get(&port)?.takes.definition();
    let definition = of_publisher.or_else(of_subscriber);
    let Some(peer) = state.peers.get_mut(&token) else { return };
    let Some(definition) = definition.filter(|it| it.len() <= DEFINITION_BYTES_MAX) else {
        let reason = format!("there is no port {port} any more whose type is known");
        return peer.link.send(&Frame::Nothing { reason }, &[]);
    };
    let bytes = definition.as_bytes();
    let total = bytes.len() as u32;
    let mut offset = 0u32;
    // A message without fields has an empty definition: that is one empty piece, because the peer
    // waits for an answer.
    loop {
        let rest = &bytes[offset as usize..];
        let piece = rest[..rest.len().min(PIECE_BYTES_MAX)].to_vec();
        let end = offset + piece.len() as u32;
        peer.link.send(&Frame::Definition { port, offset, total, piece }, &[]);
        offset = end;
        if offset == total {
            return;
        }
    }
}

/// A publisher's ring and segments, for an observer that reads and never answers.
fn send_ring(state: &mut ParticipantState, token: u64, port: u64) {
    let control = state.publishers.get(&port).map(|known| Arc::clone(&known.control));
    let Some(peer) = state.peers.get_mut(&token) else { return };
    let parts = match control {
        Some(control) => observed_parts(&control).map_err(|error| error.to_string()),
        None => Err("it is gone".to_owned()),
    };
    let parts = match parts {
        Ok(parts) => parts,
        Err(why) => {
            let reason = format!("the ring of port {port} cannot be shown: {why}");
            return peer.link.send(&Frame::Nothing { reason }, &[]);
        }
    };
    let fds: Vec<_> = parts.fds.iter().map(AsFd::as_fd).collect();
    peer.link.send(&Frame::Ring { port, geometry: parts.shape.encode() }, &fds);
}

/// Sets the level of a publisher of logs if one is wanted, and says what it is.
fn send_level(state: &mut ParticipantState, token: u64, port: u64, wanted: Option<NonZeroU8>) {
    let level = state.publishers.get(&port).and_then(|known| known.level.set(wanted));
    let Some(peer) = state.peers.get_mut(&token) else { return };
    let answer = match level {
        Some(level) => Frame::Level { level },
        None => Frame::Nothing { reason: format!("port {port} publishes no logs any more") },
    };
    peer.link.send(&answer, &[]);
}

/// An observer looks at what there is; nobody waits for it.
fn observed_parts(control: &RingControl) -> std::io::Result<RingParts> {
    let next = control.published() + 1;
    let attached = Attached { peer: 0, start: next, joined: next, segments: u32::MAX };
    publishing_side::ring_parts(control, attached, false)
}
