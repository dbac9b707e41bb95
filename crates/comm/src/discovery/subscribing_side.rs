//! Which publishers and subscribers of this participant are connected to which, here and elsewhere.
//!
//! A pair lives like this. The subscribing side leads, because its tables are used:
//! 1. **Asked**: places in our tables are leased, `Subscribe` names them.
//! 2. **Live**: the publisher has attached them and sent its ring (`Accept`). A connection lies in
//!    the subscriber's mailbox, and its bell has rung.
//! 3. **Gone**: the publisher went (`Withdraw`, `Bye`, or end of file). The subscriber hears of it,
//!    drains the connection and then drops it.
//! 4. **Leaving**: we end the pair while samples may be held, because the subscriber has dropped
//!    the connection, or because there is no room for new memory of the publisher. `Leave`: the
//!    publisher stops serving the pair, and does not use again what is held.
//! 5. **Releasing**: the connection and its last sample are gone: `Release`. The publisher detaches
//!    and answers `Released`. Only then do the leases end, and places are used again. Only the drop
//!    of the pair's `PairEnd`, which the last sample holds, leads here.
//!
//! Pairs inside this process go through the same steps without frames. Everything here runs under
//! the participant's lock. What a peer says was decoded, but is not believed.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;

use crossdock_msg::Schema;
use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::status::Entity;
use crossdock_shm::{
    Lifeline, PairMemory, ReceivedFd, RingMemory, RingSubscriber, SubscriberConfig,
    SubscriberControl, WeakRingMemory,
};

use crate::device::slabs::Wish;
use crate::discovery::handover::{Counterpart, LetGo, PairEnd, PublisherKey, RingConnection};
use crate::discovery::local_ports::{Depth, LocalPublisher, LocalSubscriber, Wake};
use crate::discovery::pairs::{Incoming, IncomingStage, LOCAL, Theirs};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::{ParticipantState, Peer};
use crate::discovery::scarce::{Failure, Unconnected};
use crate::discovery::watches::Pulse;
use crate::discovery::{bells, copying, publishing_side, slab_exchange};
use crate::quotas;
use crate::wire::frame::Frame;
use crate::wire::geometry::{Places, RingShape, WakePlaces};
use crate::wire::mismatch::{clash, conflict, never_meet};
use crate::wire::port_info::{PortInfo, gid_of};
use crate::wire::status_records::{CONNECTION_POSITION, Carrier, ConnectionDetail, Triggering};

mod misfits;
mod parting;

pub(crate) use misfits::refused;
use misfits::{is_unheard, misfit};
pub(crate) use parting::{hear_of_pairs, released, segment_given_back};
use parting::{leave, release_for_now, tell_gone};

/// Pairs in which this process subscribes.
const PAIRS_MAX: usize = 16_384;
/// Samples that a subscriber may hold of one publisher, if that allows it.
const HOLDS: usize = 15;
/// Address space that this process spends on one publisher's memory.
const MAPPED_BYTES_MAX: u64 = 1 << 37;

/// Pairs of one publisher and one subscriber that leave while they are connected anew: each holds a
/// few samples, and the shortage that ended it may last.
const LEAVING_MAX: usize = 4;

/// See [`Participant::topic_connections`](crate::Participant::topic_connections).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicConnections {
    /// Pairs in which this process subscribes.
    pub incoming: usize,
    /// Pairs in which this process publishes.
    pub outgoing: usize,
}

/// Counts for supervisors.
pub(crate) fn topic_connections(state: &ParticipantState, topic: &str) -> TopicConnections {
    let incoming = state.incoming.values().filter(|pair| {
        let of_topic =
            state.subscribers.get(&pair.subscriber).is_some_and(|s| s.info.topic == topic);
        of_topic && matches!(pair.stage, IncomingStage::Live(_)) && state.waits_for(pair.peer)
    });
    let outgoing = publishing_side::pairs_of_topic(state, topic);
    TopicConnections { incoming: incoming.count(), outgoing }
}

/// Publishers of processes outside our run that a subscriber of ours counts.
pub(crate) fn outsiders(state: &ParticipantState, subscriber: u64) -> usize {
    let counted = state.incoming.values().filter(|it| it.subscriber == subscriber && it.counted);
    counted.filter(|pair| !state.waits_for(pair.peer)).count()
}

// ---- ports come and go ---------------------------------------------------------------------

/// A publisher was created.
pub(crate) fn add_publisher(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    publisher: LocalPublisher,
) {
    let port = publisher.info.port;
    state.broadcast(&Frame::Advertise(publisher.info.clone()));
    let topic = publisher.info.topic.clone();
    state.publishers.insert(port, publisher);
    for subscriber in subscribers_on(state, &topic) {
        connect(core, state, LOCAL, port, subscriber);
    }
}

/// A subscriber was created.
pub(crate) fn add_subscriber(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    subscriber: LocalSubscriber,
) {
    let port = subscriber.info.port;
    let topic = subscriber.info.topic.clone();
    state.subscribers.insert(port, subscriber);
    let local = state.publishers.iter().filter(|(_, known)| known.info.topic == topic);
    let mut publishers: Vec<_> = local.map(|(port, _)| (LOCAL, *port)).collect();
    for (token, peer) in &state.peers {
        let remote = peer.publishers.values().filter(|info| info.topic == topic);
        publishers.extend(remote.map(|info| (*token, info.port)));
    }
    for (token, publisher) in publishers {
        connect(core, state, token, publisher, port);
    }
}

/// A publisher was dropped.
pub(crate) fn remove_publisher(state: &mut ParticipantState, port: u64) {
    if let Some(publisher) = state.publishers.remove(&port) {
        state.services.forget(port, &publisher.info.topic);
    }
    state.watches.remove_publisher(port);
    state.broadcast(&Frame::Withdraw { port });
    publisher_gone(state, LOCAL, port);
}

/// A subscriber was dropped; its mailbox is closed already.
pub(crate) fn remove_subscriber(state: &mut ParticipantState, port: u64) {
    state.subscribers.remove(&port);
    state.watches.remove_subscriber(port);
    for pending in state.schemas.pending.values_mut() {
        pending.waiting.retain(|waiting| *waiting != port);
    }
}

/// A process that is connected has advertised a publisher.
pub(crate) fn remote_publisher_arrived(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    port: u64,
) {
    let publisher = state.peers.get(&token).and_then(|peer| peer.publishers.get(&port));
    let Some(topic) = publisher.map(|info| info.topic.clone()) else { return };
    for subscriber in subscribers_on(state, &topic) {
        connect(core, state, token, port, subscriber);
    }
}

/// A publisher is gone: its subscribers drain what it left.
pub(crate) fn publisher_gone(state: &mut ParticipantState, token: u64, port: u64) {
    state.schemas.pending.remove(&(token, port));
    if let Some(peer) = state.peers.get_mut(&token) {
        peer.tables.rings.remove(&port);
    }
    let pairs = state.incoming.iter().filter(|(_, pair)| {
        pair.peer == token && pair.publisher == port && matches!(pair.stage, IncomingStage::Live(_))
    });
    let pairs: Vec<_> = pairs.map(|(number, _)| *number).collect();
    pairs.into_iter().for_each(|number| tell_gone(state, number));
}

/// The connection to a process ends: everything that connected us ends, and all topics of it are
/// marked ready (it may have died between taking an armed bit and ringing for it). What either side
/// holds it goes on holding.
pub(crate) fn peer_left(state: &mut ParticipantState, token: u64, peer: &mut Peer) {
    state.schemas.pending.retain(|(owner, _), _| *owner != token);
    publishing_side::peer_left(state, token);
    let incoming = state.incoming.iter().filter(|(_, pair)| pair.peer == token);
    let incoming: Vec<_> = incoming.map(|(number, _)| *number).collect();
    for number in incoming {
        tell_gone(state, number);
        // Leases that the connection still uses live on in it.
        state.incoming.remove(&number);
    }
    if let Some(ours) = &peer.tables.ours {
        peer.tables.joined.drain(..).for_each(|bell| bell.leave(ours));
    }
}

fn wake_up(subscriber: &LocalSubscriber) {
    if let Some(wake) = &subscriber.wake {
        wake.bell.ring(wake.input);
    }
}

fn subscribers_on(state: &ParticipantState, topic: &str) -> Vec<u64> {
    let on_topic = state.subscribers.iter().filter(|(_, known)| known.info.topic == topic);
    on_topic.map(|(port, _)| *port).collect()
}

// ---- a pair is made: subscribing side ------------------------------------------------------

/// Connects a publisher (of a peer, or ours) and a subscriber of ours, if they fit.
fn connect(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    publisher: u64,
    subscriber: u64,
) {
    let Some((info, process)) = publisher_info(core, state, token, publisher) else { return };
    if is_unheard(state, token, (&info, &process)) {
        return;
    }
    let Some(known) = state.subscribers.get(&subscriber) else { return };
    let ours = known.info.clone();
    if token == LOCAL && same_group(state, publisher, known) || never_meet(&info, &ours) {
        return;
    }
    if let Some(reason) = conflict(&info, &ours) {
        let publisher = info.port;
        if let Some(clash) = clash(&info, &ours) {
            known.events.clashed(clash);
            let publisher = state.publishers.get(&publisher).filter(|_| token == LOCAL);
            publisher.into_iter().for_each(|it| it.events.clashed(clash));
        }
        misfit(core, state, token, (&info, &process), subscriber, reason);
        return;
    }
    if known.takes.any().is_some() && !learn(core, state, token, &info, subscriber) {
        return;
    }
    match ask(core, state, token, &info, subscriber) {
        Ok(()) => {}
        Err(Failure { reason, scarce: true, .. }) => {
            let pair = Unconnected { peer: token, publisher, subscriber };
            state.scarce_pair(pair, &format!("`{}` is not connected: {reason}", info.topic));
        }
        Err(Failure { reason, .. }) => {
            misfit(core, state, token, (&info, &process), subscriber, reason);
            if token == LOCAL {
                // One that stands by fits.
                state.services.forget_mismatch_of_standby(publisher, &info.topic);
            }
        }
    }
}

/// Tries a pair again that found no descriptor, if both sides are still there and nothing has
/// connected them meanwhile.
pub(crate) fn connect_again(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    unconnected: Unconnected,
) {
    let Unconnected { peer, publisher, subscriber } = unconnected;
    let same = state.incoming.values().filter(|pair| {
        (pair.peer, pair.publisher, pair.subscriber) == (peer, publisher, subscriber)
    });
    let (mut connected, mut leaving) = (false, 0);
    for pair in same {
        connected |= matches!(pair.stage, IncomingStage::Asked(_) | IncomingStage::Live(_));
        leaving += usize::from(matches!(pair.stage, IncomingStage::Leaving));
    }
    if leaving >= LEAVING_MAX {
        // Its samples first.
        let _ = state.scarcity.note_pair(unconnected);
    } else if !connected {
        connect(core, state, peer, publisher, subscriber);
    }
}

/// Offers publishers for one that have lost their subscriber to those that stand by.
pub(crate) fn offer_vacant(core: &Arc<ParticipantCore>, state: &mut ParticipantState) {
    while let Some((publisher, standing_by)) = state.services.take_vacant() {
        for token in standing_by {
            if token == LOCAL {
                offer_again(core, state, publisher);
            } else if let Some(info) = state.publishers.get(&publisher).map(|it| it.info.clone()) {
                // To the other process it is a publisher that has just come.
                state.send(token, &Frame::Withdraw { port: publisher });
                state.send(token, &Frame::Advertise(info));
            }
        }
    }
}

/// Offers a publisher of ours to the subscribers of this process that are not connected to it.
fn offer_again(core: &Arc<ParticipantCore>, state: &mut ParticipantState, publisher: u64) {
    let Some(topic) = state.publishers.get(&publisher).map(|it| it.info.topic.clone()) else {
        return;
    };
    for subscriber in subscribers_on(state, &topic) {
        connect_again(core, state, Unconnected { peer: LOCAL, publisher, subscriber });
    }
}

/// The publisher has attached a pair of ours, but no descriptor was free to receive its ring.
pub(crate) fn accepted_without_memory(state: &mut ParticipantState, token: u64, number: u32) {
    let asked = state.incoming.get(&number).filter(|known| known.peer == token);
    if !asked.is_some_and(|known| matches!(known.stage, IncomingStage::Asked(_))) {
        return;
    }
    let reason =
        "no file descriptor is free for its publisher's memory, raise the limit (`ulimit -n`)";
    release_for_now(state, number, reason);
}

/// Ports of one group are linked inside the thread, except if only the ring has the history;
/// those of one bridge do not meet.
fn same_group(state: &ParticipantState, publisher: u64, subscriber: &LocalSubscriber) -> bool {
    let group = state.publishers.get(&publisher).and_then(|known| known.group);
    group.is_some() && group == subscriber.group
}

/// A publisher's description and the name of its process.
fn publisher_info(
    core: &ParticipantCore,
    state: &ParticipantState,
    token: u64,
    port: u64,
) -> Option<(PortInfo, String)> {
    if token == LOCAL {
        return Some((state.publishers.get(&port)?.info.clone(), core.process.clone()));
    }
    let peer = state.peers.get(&token)?;
    Some((peer.publishers.get(&port)?.clone(), peer.link.process.clone()))
}

/// Makes sure that an untyped subscriber has the publisher's type; false: not yet, or never.
fn learn(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    publisher: &PortInfo,
    subscriber: u64,
) -> bool {
    let definition = match token {
        LOCAL => state.publishers.get(&publisher.port).map(|known| Arc::clone(&known.definition)),
        _ => None,
    };
    let learned = match (state.schemas.known(publisher), definition) {
        (Some(schema), _) => Ok(schema),
        (None, Some(definition)) => state.schemas.learn(publisher, &definition),
        (None, None) => {
            let pending = state.schemas.pending.entry((token, publisher.port)).or_default();
            let first = pending.waiting.is_empty();
            pending.waiting.push(subscriber);
            if first {
                state.send(token, &Frame::AskDefinition { port: publisher.port });
            }
            return false;
        }
    };
    match learned {
        Ok(schema) => {
            fix_type(state, subscriber, publisher, schema);
            true
        }
        Err(reason) => {
            let ours = state.subscribers.get(&subscriber).map(|known| known.info.clone());
            let process = publisher_info(core, state, token, publisher.port);
            if let (Some(ours), Some((_, process))) = (ours, process) {
                state.mismatch(token, (publisher, &process), (&ours, &core.process), reason);
            }
            false
        }
    }
}

/// From now on the subscriber takes this type only.
fn fix_type(
    state: &mut ParticipantState,
    subscriber: u64,
    publisher: &PortInfo,
    schema: Arc<Schema>,
) {
    if let Some(known) = state.subscribers.get_mut(&subscriber) {
        // The subscriber looks at it when it has a message, which comes later.
        if let Some(learned) = known.takes.any() {
            // It stays the first one.
            let _ = learned.set(schema);
        }
        known.info.type_name = publisher.type_name.clone();
        known.info.type_hash = publisher.type_hash;
        known.info.layout_hash = publisher.layout_hash;
    }
}

/// A piece of a definition has come.
pub(crate) fn received_definition(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    port: u64,
    (offset, total): (u32, u32),
    piece: &[u8],
) -> Result<(), String> {
    let Some(pending) = state.schemas.pending.get_mut(&(token, port)) else {
        // The publisher or the subscriber went meanwhile.
        return Ok(());
    };
    let Some(text) = pending.add(offset, total, piece)? else { return Ok(()) };
    let waiting = std::mem::take(&mut pending.waiting);
    state.schemas.pending.remove(&(token, port));
    let Some((info, process)) = publisher_info(core, state, token, port) else { return Ok(()) };
    let text = String::from_utf8(text).map_err(|_| "its definition is not UTF-8".to_string())?;
    let learned = state.schemas.learn(&info, &text);
    for subscriber in waiting {
        match &learned {
            Ok(_) => connect(core, state, token, port, subscriber),
            Err(reason) => {
                let ours = state.subscribers.get(&subscriber).map(|known| known.info.clone());
                if let Some(ours) = ours {
                    let reason = reason.clone();
                    state.mismatch(token, (&info, &process), (&ours, &core.process), reason);
                }
            }
        }
    }
    Ok(())
}

/// Leases places in our tables and asks the publisher to use them.
fn ask(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    publisher: &PortInfo,
    subscriber: u64,
) -> Result<(), Failure> {
    if state.incoming.len() >= PAIRS_MAX {
        return Err(format!("this process has {PAIRS_MAX} connections already; split it").into());
    }
    let known = state.subscribers.get(&subscriber).ok_or("the subscriber is gone")?;
    let (info, wake) = (known.info.clone(), known.wake.clone());
    let copies = state.standing(token).is_stranger();
    if quotas::hold(state.standing(token)) {
        let of_peer = state.incoming.values().filter(|pair| pair.peer == token);
        if of_peer.count() >= quotas::PAIRS_MAX {
            let uid = state.peers.get(&token).map_or(u32::MAX, |peer| peer.link.peer().uid);
            return Err(quotas::refusal_of_pair(uid).into());
        }
    }
    if let Some(reason) = copying::refuses(state, token, &info.topic, false) {
        return Err(reason.into());
    }
    let (waited_for, slabs) = (known.is_waited_for(), !matches!(known.slabs, Wish::No));
    let ours = our_memory(core, state, token)?;
    let conn = core.conns.allocate().map_err(|error| Failure::of(&error))?;
    let mut armed = None;
    let mut wake_places = None;
    if let Some(Wake { bell, input }) = wake {
        let lease = ours.allocate_armed(publisher.port).map_err(|error| Failure::of(&error))?;
        let joined = bell.join(&ours).map_err(|error| Failure::of(&error))?;
        bells::hand_out(state, token, bell)?;
        let (armed_line, armed_bit) = lease.place();
        let (ready_line, bell) = (joined.ready_line, joined.bell);
        wake_places = Some(WakePlaces { armed_line, armed_bit, ready_line, input, bell });
        armed = Some(lease);
    }
    let history = if info.qos.is_transient_local() { info.qos.depth as u32 } else { 0 };
    let conn_index = conn.index();
    let places = Places { conn: conn_index, history, waited_for, slabs, copies, wake: wake_places };
    let pair = state.pair();
    let publisher = publisher.port;
    let _grip = state.peers.get(&token).and_then(|peer| peer.link.grip());
    let stage = IncomingStage::Asked(Some(PairEnd {
        reports: Arc::downgrade(&core.pair_reports),
        pair,
        _grip,
    }));
    let (peer, counted, offers) = (token, false, Vec::new());
    let gid = gid_of(process_name(core, state, token), publisher);
    let entry = Incoming { peer, publisher, gid, subscriber, conn, armed, stage, counted, offers };
    state.incoming.insert(pair, entry);
    if token == LOCAL {
        return connect_inside(core, state, pair, publisher, &info, &places);
    }
    let geometry = places.encode();
    state.send(token, &Frame::Subscribe { pair, publisher, subscriber: info, geometry });
    Ok(())
}

/// The memory of this process and one peer, made and sent when it is needed first.
fn our_memory(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
) -> Result<PairMemory, Failure> {
    let tables = match token {
        LOCAL => &mut state.own,
        _ => &mut state.peers.get_mut(&token).ok_or("the process is gone")?.tables,
    };
    if let Some(ours) = &tables.ours {
        return Ok(ours.clone());
    }
    let ours = PairMemory::create(&core.process).map_err(|error| Failure::of(&error))?;
    let fds = [core.conns.fd(), ours.fd()];
    match state.peers.get_mut(&token) {
        Some(peer) => {
            peer.link.send(&Frame::Memory, &fds);
            peer.tables.ours = Some(ours.clone());
        }
        None => {
            state.own.theirs = Some(Theirs::open(&core.process, fds)?);
            state.own.ours = Some(ours.clone());
        }
    }
    Ok(ours)
}

/// The publisher has attached a pair of ours and sent its ring.
pub(crate) fn accepted(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    token: u64,
    pair: u32,
    geometry: &[u8],
    fds: &[ReceivedFd],
) -> Result<(), String> {
    let asked = state.incoming.get(&pair).filter(|known| known.peer == token);
    if !asked.is_some_and(|known| matches!(known.stage, IncomingStage::Asked(_))) {
        return Err(format!("it accepted pair {pair}, which was not asked for"));
    }
    let shape = RingShape::decode(geometry, fds.len()).ok_or("its ring has no legal shape")?;
    match open_connection(core, state, pair, &shape, fds) {
        Ok(()) => Ok(()),
        Err(Failure { scarce: true, reason, .. }) => {
            release_for_now(state, pair, &reason);
            Ok(())
        }
        Err(Failure { reason, beyond, .. }) => {
            // What it sent is wrong or too much: this pair ends, its process may go on.
            match beyond {
                Some(limit) => copying::leaves_out(core, state, token, limit),
                None => state.trouble(reason),
            }
            leave(state, pair);
            Ok(())
        }
    }
}

/// Maps a ring and leaves the connection in the subscriber's mailbox.
fn open_connection(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    number: u32,
    shape: &RingShape,
    fds: &[ReceivedFd],
) -> Result<(), Failure> {
    let pair = state.incoming.get(&number).ok_or("the pair is gone")?;
    let (token, publisher, subscriber) = (pair.peer, pair.publisher, pair.subscriber);
    let Some((info, process)) = publisher_info(core, state, token, publisher) else {
        return Err("a publisher went while it was being connected".into());
    };
    if !state.subscribers.contains_key(&subscriber) {
        // Dropped meanwhile: nobody to connect.
        leave(state, number);
        return Ok(());
    }
    if let Some(reason) = copying::refuses(state, token, &info.topic, !shape.held) {
        leave(state, number);
        misfit(core, state, token, (&info, &process), subscriber, reason);
        return Ok(());
    }
    let label = info.label(&process);
    let memory = ring_memory(state, (token, publisher), &label, shape, fds)?;
    let copies = copying::copies_for(state, token, &label, shape)?;
    let gid = gid_of(process_name(core, state, token), publisher);
    let config = subscriber_config(core, state, number, (&info, label, gid))?;
    let ring = RingSubscriber::connect_mapped(config, &memory, shape.attached)
        .map_err(|error| Failure::of(&error))?;
    let control = ring.control();
    if token == LOCAL {
        let ours = state.publishers.get(&publisher).ok_or("the publisher is gone")?;
        ours.control.share_segments(&control);
    }
    add_segments(&control, shape, fds)?;
    let counterpart = Counterpart {
        process: process_name(core, state, token),
        port: publisher,
        depth: info.qos.depth,
        label: format!("node `{}` in process `{process}`", info.node),
        stranger: state.stranger(token),
    };
    let (pulse, before) = (memory.pulse(), ring.next() - 1);
    let connection = Box::new(RingConnection {
        copies,
        record: ring_record(core, state, subscriber, (&info, &counterpart), &ring),
        ring,
        counterpart,
        qos: info.qos,
        publisher: PublisherKey::of(&info),
        let_go: LetGo { reports: Arc::downgrade(&core.pair_reports), pair: number },
    });
    if let Some(pair) = state.incoming.get_mut(&number) {
        pair.stage = IncomingStage::Live(control);
        pair.counted = true;
    }
    if let Some(known) = state.subscribers.get(&subscriber) {
        // Refused only when the subscriber was dropped just now: dropping it lets the pair go.
        if known.mailbox.connected(connection).is_ok() {
            known.events.connected();
            if let Some(ring) = pulse {
                let port = (subscriber, &known.info.qos, &known.events);
                state.watches.connected(port, (gid, &info.qos), Pulse::Ring { ring, before });
            }
        }
        wake_up(known);
    }
    state.changes += 1;
    Ok(())
}

/// Maps the segments that came with a ring.
fn add_segments(
    control: &SubscriberControl,
    shape: &RingShape,
    fds: &[ReceivedFd],
) -> Result<(), Failure> {
    let segments = fds.get(1..).unwrap_or_default();
    for (fd, (number, bytes)) in segments.iter().zip(shape.sent()) {
        let added = control.add_segment(number, bytes, fd.as_fd());
        added.map_err(|error| Failure::of(&error))?;
    }
    Ok(())
}

/// How the subscriber of a pair that was asked for reads its publisher's ring. Takes the pair's
/// end.
fn subscriber_config(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    number: u32,
    (publisher, label, gid): (&PortInfo, String, [u8; 16]),
) -> Result<SubscriberConfig, Failure> {
    let pair = state.incoming.get_mut(&number).ok_or("the pair is gone")?;
    let asked = std::mem::replace(&mut pair.stage, IncomingStage::Asked(None));
    let IncomingStage::Asked(Some(end)) = asked else {
        return Err("the pair was not asked for".into());
    };
    let known = state.subscribers.get(&pair.subscriber).ok_or("the subscriber is gone")?;
    let depth = match known.depth {
        Depth::Own if known.info.qos.keeps_all() => u64::MAX,
        Depth::Own => known.info.qos.depth as u64,
        Depth::OfPublisher => publisher.qos.depth as u64,
    };
    Ok(SubscriberConfig {
        label: known.info.label(&core.process),
        publisher: label,
        conn: pair.conn.clone(),
        armed: pair.armed.clone(),
        depth,
        reliable: known.is_waited_for() && publisher.qos.waits(),
        holds: HOLDS,
        memory_limit_bytes: MAPPED_BYTES_MAX,
        lifeline: Lifeline::of(end),
        source: gid,
    })
}

/// The record of a connection through a ring on the status table.
fn ring_record(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    subscriber: u64,
    (publisher, counterpart): (&PortInfo, &Counterpart),
    ring: &RingSubscriber,
) -> Option<Entity> {
    let releases = state.subscribers.get(&subscriber).is_some_and(LocalSubscriber::releases);
    let detail = ConnectionDetail {
        subscriber,
        publisher_process: counterpart.process,
        publisher: counterpart.port,
        carrier: Carrier::Ring,
        triggering: if releases { Triggering::Yes } else { Triggering::No },
    };
    let record = core.connection_record(state, &publisher.topic, &detail)?;
    // What the subscriber will not get is known from now on, whenever it looks first.
    record.set(CONNECTION_POSITION, ring.next() - 1);
    Some(record)
}

/// A publisher's ring: ours, or one that is mapped already, or the one that has just come.
fn ring_memory(
    state: &mut ParticipantState,
    (token, publisher): (u64, u64),
    label: &str,
    shape: &RingShape,
    fds: &[ReceivedFd],
) -> Result<RingMemory, Failure> {
    let allowance = copying::allowance(state, token);
    let Some(peer) = state.peers.get_mut(&token) else {
        let ours = state.publishers.get(&publisher).ok_or("the publisher is gone")?;
        return Ok(ours.control.memory());
    };
    let mapped = peer.tables.rings.get(&publisher).and_then(WeakRingMemory::upgrade);
    if let Some(mapped) = mapped {
        if mapped.geometry() != shape.geometry {
            return Err(format!("{} gives one ring two shapes", peer.link.peer()).into());
        }
        return Ok(mapped);
    }
    let fd = fds.first().ok_or("a ring came without its memory")?;
    let (geometry, limit) = (shape.geometry, MAPPED_BYTES_MAX);
    let memory = copying::open_ring(label, fd, geometry, limit, allowance.as_ref())?;
    peer.tables.rings.insert(publisher, memory.downgrade());
    Ok(memory)
}

fn process_name(core: &ParticipantCore, state: &ParticipantState, token: u64) -> PeerName {
    state.peers.get(&token).and_then(|peer| peer.link.name).unwrap_or(core.name)
}

/// A further segment of a publisher's memory has come.
pub(crate) fn received_segment(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    (pair, segment, bytes): (u32, u32, u64),
    fds: &[ReceivedFd],
) -> Result<(), String> {
    let Some(known) = state.incoming.get(&pair).filter(|known| known.peer == token) else {
        return Err(format!("it sent a segment for pair {pair}, which does not exist"));
    };
    let IncomingStage::Live(control) = &known.stage else { return Ok(()) };
    let fd = fds.first().ok_or("a segment came without its memory")?;
    let added = control.add_segment(segment, bytes, fd.as_fd());
    match added.map_err(|error| Failure::of(&error)) {
        Ok(()) => state.send(token, &Frame::SegmentMapped { pair, segment }),
        // The publisher does not wait for it, and gives it everything when there is room.
        Err(Failure { scarce: true, reason, .. }) => release_for_now(state, pair, &reason),
        // The publisher is not at fault.
        Err(Failure { beyond: Some(limit), .. }) => {
            copying::leaves_out(core, state, token, limit);
            leave(state, pair);
        }
        Err(Failure { reason, .. }) => return Err(reason),
    }
    Ok(())
}

/// The same, but no descriptor was free to receive it.
pub(crate) fn segment_without_memory(state: &mut ParticipantState, token: u64, number: u32) {
    let known = state.incoming.get(&number).filter(|known| known.peer == token);
    if known.is_some_and(|known| matches!(known.stage, IncomingStage::Live(_))) {
        let reason = "no file descriptor is free for new memory of its publisher, raise the limit \
                      (`ulimit -n`)";
        release_for_now(state, number, reason);
    }
}

/// Both sides of a pair are in this process.
fn connect_inside(
    core: &Arc<ParticipantCore>,
    state: &mut ParticipantState,
    pair: u32,
    publisher: u64,
    subscriber: &PortInfo,
    places: &Places,
) -> Result<(), Failure> {
    let theirs = state.own.theirs.clone().ok_or("this process has no tables")?;
    let label = subscriber.label(&core.process);
    let key = (LOCAL, pair);
    let connected =
        publishing_side::attach(state, key, publisher, subscriber, label, (theirs, places))
            .and_then(|(control, attached)| {
                let (geometry, segments) = (control.geometry(), Vec::new());
                let shape = RingShape { geometry, attached, held: true, segments };
                open_connection(core, state, pair, &shape, &[])
            });
    if connected.is_err() {
        state.incoming.remove(&pair);
        publishing_side::detach(state, key);
    }
    slab_exchange::hand_out(state, key);
    slab_exchange::recount(state, publisher);
    connected
}

// ---- the rest ------------------------------------------------------------------------------

/// Local publishers that a new port would clash with, and why: the same process can be told at
/// once.
pub(crate) fn local_conflict(
    publishers: &BTreeMap<u64, LocalPublisher>,
    subscriber: &PortInfo,
) -> Option<(PortInfo, String)> {
    let on_topic = publishers.values().filter(|known| known.info.topic == subscriber.topic);
    on_topic.into_iter().find_map(|known| {
        let reason = conflict(&known.info, subscriber)?;
        Some((known.info.clone(), reason))
    })
}
