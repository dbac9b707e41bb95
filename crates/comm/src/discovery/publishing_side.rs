//! The publishing side of pairs: peers and this process attach subscribers to our rings, get
//! segments, and let go.
//!
//! Everything here runs under the participant's lock. What a peer says was decoded, but is not
//! believed.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossdock_shm::faults::{self, fault};
use crossdock_shm::{
    Attached, PeerConfig, ReceivedFd, RingControl, SegmentFd, Standing, TRUST_BY_NAME, WakeTarget,
};

use crate::device::slabs::Progress;
use crate::discovery::local_ports::{Audience, LocalPublisher, Wake};
use crate::discovery::pairs::{LOCAL, Outgoing, OutgoingKey, Theirs};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::{ParticipantState, Peer};
use crate::discovery::scarce::{Failure, is_scarce};
use crate::discovery::service_standby::ServiceStandby;
use crate::discovery::{bells, copying, slab_exchange};
use crate::quotas;
use crate::wire::frame::Frame;
use crate::wire::geometry::{Places, RingShape, WakePlaces};
use crate::wire::mismatch::conflict;
use crate::wire::names::carries_requests;
use crate::wire::port_info::{Maker, PortInfo, gid_of};

/// Pairs in which we publish to one process.
const PAIRS_MAX: usize = 16_384;

/// The tables of a peer that wants to subscribe.
pub(crate) fn received_memory(
    state: &mut ParticipantState,
    token: u64,
    fds: Vec<ReceivedFd>,
) -> Result<(), String> {
    let Some(peer) = state.peers.get_mut(&token) else { return Ok(()) };
    if peer.tables.theirs.is_some() || peer.tables.unopened.is_some() {
        return Err("it sent its memory twice".to_string());
    }
    let fds = fds.try_into().map_err(|_| "its memory is incomplete".to_string())?;
    peer.tables.unopened = Some(fds);
    match tables(peer, None) {
        // No room to map it: with each subscription it is tried again.
        Ok(_) | Err(Failure { scarce: true, .. }) => Ok(()),
        Err(Failure { reason, .. }) => Err(reason),
    }
}

/// A subscribing peer's tables, mapped if they are not yet.
fn tables(peer: &mut Peer, wake: Option<WakePlaces>) -> Result<Theirs, Failure> {
    if peer.tables.theirs.is_none() {
        let unopened = peer.tables.unopened.as_ref();
        let fds = unopened.ok_or("it subscribed before it sent its memory")?;
        let theirs = Theirs::open(&peer.link.peer().to_string(), fds.each_ref().map(AsFd::as_fd))?;
        peer.tables.unopened = None;
        peer.tables.theirs = Some(theirs);
    }
    if let Some(wake) = wake {
        bells::open(peer, wake.bell)?;
    }
    peer.tables.theirs.clone().ok_or_else(|| "it has no tables".into())
}

/// A peer's subscriber wants to be connected to a publisher of ours.
pub(crate) fn subscribe_requested(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    pair: u32,
    publisher: u64,
    subscriber: &PortInfo,
    geometry: &[u8],
) -> Result<(), String> {
    if state.outgoing.contains_key(&(token, pair)) {
        return Err(format!("it asked for pair {pair} twice"));
    }
    let stranger = state.standing(token).is_stranger();
    if pairs_with(state, token).count() >= PAIRS_MAX {
        return Err(format!("it asked for more than {PAIRS_MAX} pairs"));
    }
    let places = Places::decode(geometry).ok_or("its places are not legal")?;
    if let Some(reason) = refuses_pair(state, token, publisher, places.copies) {
        refuse(core, state, (token, pair), publisher, subscriber, reason);
        return Ok(());
    }
    let Some(peer) = state.peers.get_mut(&token) else { return Ok(()) };
    let label = format!("{} in {} on {}", subscriber.node, peer.link.peer(), subscriber.topic);
    let attached = match tables(peer, places.wake) {
        Ok(theirs) => attach(state, (token, pair), publisher, subscriber, label, (theirs, &places)),
        Err(failure) if failure.scarce => Err(failure),
        Err(failure) => return Err(failure.reason),
    };
    let parts = attached.and_then(|(control, attached)| {
        ring_parts(&control, attached, !stranger).map_err(|error| {
            detach(state, (token, pair));
            let scarce = is_scarce(&error);
            Failure {
                reason: format!("no file descriptor is free to pass the ring on: {error}"),
                scarce,
                beyond: None,
            }
        })
    });
    match parts {
        Ok(parts) => {
            let fds: Vec<_> = parts.fds.iter().map(AsFd::as_fd).collect();
            if let Some(peer) = state.peers.get_mut(&token) {
                peer.link.send(&Frame::Accept { pair, geometry: parts.shape.encode() }, &fds);
            }
            slab_exchange::attached(state, (token, pair));
        }
        Err(Failure { reason, scarce: later, .. }) => {
            slab_exchange::recount(state, publisher);
            state.send(token, &Frame::Refuse { pair, later, reason });
        }
    }
    Ok(())
}

/// Pairs in which we publish to one process.
fn pairs_with(state: &ParticipantState, token: u64) -> impl Iterator<Item = &Outgoing> {
    state.outgoing.range((token, 0)..=(token, u32::MAX)).map(|(_, pair)| pair)
}

/// Why a process gets no (further) pair with a publisher of ours. `copies`: it would copy what it
/// takes.
fn refuses_pair(
    state: &ParticipantState,
    token: u64,
    publisher: u64,
    copies: bool,
) -> Option<String> {
    let known = state.publishers.get(&publisher)?;
    let topic = &known.info.topic;
    let stranger = state.standing(token).is_stranger();
    let quota = stranger.then(|| refuses_stranger(state, token, publisher, topic)).flatten();
    quota.or_else(|| copying::refuses(state, token, topic, copies))
}

/// Why a stranger gets no (further) pair with a publisher of ours, whatever its topic's copies are.
fn refuses_stranger(
    state: &ParticipantState,
    token: u64,
    publisher: u64,
    topic: &str,
) -> Option<String> {
    let (all, here) = pairs_with(state, token).fold((0, 0), |(all, here), pair| {
        (all + 1, here + usize::from(pair.publisher == publisher))
    });
    let trust = format!(
        "have the publisher's process trust the subscriber's user ({TRUST_BY_NAME}), or run both as one user"
    );
    let has_many = all >= quotas::PAIRS_MAX || here >= quotas::PAIRS_OF_PUBLISHER_MAX;
    if has_many && quotas::hold(Standing::Stranger) {
        return Some(format!(
            "a process that is not trusted may have {} connections here, {} of them at one publisher; {trust}",
            quotas::PAIRS_MAX,
            quotas::PAIRS_OF_PUBLISHER_MAX
        ));
    }
    // A process that takes requests answers them; a response goes to the process that asked.
    if carries_requests(topic) {
        return Some(format!("requests are served by trusted processes alone; {trust}"));
    }
    None
}

/// A subscriber of a peer is not connected to a publisher of ours, for good: both processes tell.
fn refuse(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    (token, pair): OutgoingKey,
    publisher: u64,
    subscriber: &PortInfo,
    reason: String,
) {
    misfit(core, state, token, publisher, subscriber, reason.clone());
    state.send(token, &Frame::Refuse { pair, later: false, reason });
}

/// Tells that a subscriber of a peer cannot be connected to a publisher of ours.
pub(crate) fn misfit(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    publisher: u64,
    subscriber: &PortInfo,
    reason: String,
) {
    let process = state.peers.get(&token).map(|peer| peer.link.process.clone());
    let ours = state.publishers.get(&publisher).map(|known| known.info.clone());
    if let (Some(process), Some(ours)) = (process, ours) {
        state.mismatch(token, (&ours, &core.process), (subscriber, &process), reason);
    }
}

/// A ring's descriptors and its shape, as a subscriber or an observer gets them.
pub(crate) struct RingParts {
    pub(crate) shape: RingShape,
    pub(crate) fds: Vec<OwnedFd>,
}

/// The ring and its first segments, at most `segments` of them.
/// `held`: whether what is held of it is left alone.
pub(crate) fn ring_parts(
    control: &RingControl,
    attached: Attached,
    held: bool,
) -> std::io::Result<RingParts> {
    let mut fds = vec![control.ring_fd().try_clone_to_owned()?];
    let mut sizes = Vec::new();
    for segment in control.segments()?.into_iter().filter(|it| it.index <= attached.segments) {
        sizes.resize(segment.index as usize, 0);
        sizes[segment.index as usize - 1] = segment.bytes;
        fds.push(segment.fd);
    }
    let shape = RingShape { geometry: control.geometry(), attached, held, segments: sizes };
    Ok(RingParts { shape, fds })
}

/// Where a triggering subscriber is woken.
fn wake_target(theirs: &Theirs, wake: Option<WakePlaces>) -> Result<Option<WakeTarget>, Failure> {
    let Some(wake) = wake else { return Ok(None) };
    let bell = theirs.bells.get(&wake.bell).ok_or("its bell is not there")?;
    Ok(Some(WakeTarget {
        pair: theirs.pair.clone(),
        bell: bell.clone(),
        armed_line: wake.armed_line,
        armed_bit: wake.armed_bit,
        ready_line: wake.ready_line,
        input: wake.input,
        index: wake.bell,
    }))
}

/// May this subscriber be attached to `known`, a publisher of ours?
fn check_attachment(
    known: &LocalPublisher,
    outgoing: &BTreeMap<OutgoingKey, Outgoing>,
    services: &mut ServiceStandby,
    (token, _): OutgoingKey,
    subscriber: &PortInfo,
) -> Result<(), Failure> {
    let publisher = known.info.port;
    if known.info.topic != subscriber.topic {
        return Err(format!("port {publisher} publishes `{}`", known.info.topic).into());
    }
    if let Some(reason) = conflict(&known.info, subscriber) {
        return Err(reason.into());
    }
    if known.audience == Audience::One
        && let Some(other) =
            outgoing.values().find(|pair| pair.publisher == publisher && !pair.retired)
    {
        let reason = format!(
            "it is served by {} already, and by one at a time; this one is asked when that one has \
             gone",
            other.label
        );
        services.stand_by(publisher, token);
        return Err(reason.into());
    }
    if token != LOCAL && known.control.is_private() {
        let reason = "the mapping says `managed` of the topic: its messages lie in memory that a driver moves, \
                      which only its process has; say `copy`, `zero_copy` or `auto`";
        return Err(reason.into());
    }
    Ok(())
}

/// Attaches a subscriber to a publisher of ours, and answers its ring.
pub(crate) fn attach(
    state: &mut ParticipantState,
    key: OutgoingKey,
    publisher: u64,
    subscriber: &PortInfo,
    label: String,
    (theirs, places): (Theirs, &Places),
) -> Result<(Arc<RingControl>, Attached), Failure> {
    let known = state.publishers.get(&publisher).ok_or("the publisher is gone")?;
    let ParticipantState { outgoing, services, .. } = state;
    check_attachment(known, outgoing, services, key, subscriber)?;
    // A stranger copies what it takes, in time or not at all; it costs this process nothing that
    // others would miss: no chunk that it holds, no wait, no queue deeper than the publisher's.
    let trusted = !state.standing(key.0).is_stranger();
    let wants_slabs = places.slabs && trusted;
    let depth = match trusted {
        true => subscriber.qos.depth,
        false => subscriber.qos.depth.min(known.info.qos.depth),
    };
    // The other end of a service has a ring of its own, with room for all its calls.
    let of_service = known.audience == Audience::One;
    let is_insider = of_service || state.waits_for(key.0);
    let control = Arc::clone(&known.control);
    let wake_publisher = known.wake.clone();
    let events = known.events.clone();
    known.reach.expect(wants_slabs);
    let wake = wake_target(&theirs, places.wake)?;
    let reliable =
        subscriber.qos.is_reliable() && places.waited_for && is_insider && known.info.qos.waits();
    let config = PeerConfig {
        label: label.clone(),
        conns: theirs.conns,
        conn: places.conn,
        depth,
        reliable,
        // A side of a service looks before it sends.
        may_fall_behind: of_service || !reliable,
        trusted,
        history: places.history as usize,
        wake,
    };
    let attached = control.attach(config).map_err(|error| error.to_string())?;
    let segments = attached.segments;
    let slabs = Progress::new(wants_slabs);
    let ring = Arc::clone(&control);
    let (peer, retired) = (attached.peer, false);
    let told = 0;
    let process = state.peers.get(&key.0).and_then(|peer| peer.link.name);
    let gateway = process
        .filter(|_| subscriber.maker == Maker::Gateway)
        .map(|process| gid_of(process, subscriber.port));
    let pair =
        Outgoing { publisher, control, peer, segments, told, retired, label, gateway, slabs };
    state.outgoing.insert(key, pair);
    state.changes += 1;
    state.watches.attached(publisher);
    events.matched();
    if let Some(Wake { bell, input }) = wake_publisher {
        bell.ring(input);
    }
    Ok((ring, attached))
}

/// Sends further segments of our publishers' memory to peers that do not have them.
pub(crate) fn send_segments(core: &ParticipantCore, state: &mut ParticipantState) {
    if !core.new_segments.swap(false, Ordering::AcqRel) {
        return;
    }
    let mut wanted = Vec::new();
    for (key, pair) in &mut state.outgoing {
        let sent = pair.segments;
        for segment in pair.control.unacknowledged(pair.peer).filter(|segment| *segment > sent) {
            pair.segments = segment;
            wanted.push((*key, Arc::clone(&pair.control), segment));
        }
    }
    tell_given_back(state);
    tell_outgrown(core, state);
    for ((token, pair), control, segment) in wanted {
        if token == LOCAL {
            share_segments(state, pair, &control, segment);
            continue;
        }
        match control.segment(segment) {
            Ok(Some(part)) => send_segment(state, token, pair, &part),
            Ok(None) => {}
            Err(error) => {
                // It is sent when it can be; the publisher's loan waits or fails meanwhile.
                if let Some(outgoing) = state.outgoing.get_mut(&(token, pair)) {
                    outgoing.segments = outgoing.segments.min(segment - 1);
                }
                core.new_segments.store(true, Ordering::Release);
                let label = control.label();
                let text =
                    format!("{label}: no file descriptor is free to pass new memory on ({error})");
                state.scarce(&text);
            }
        }
    }
}

/// Tells once of each publisher of a topic whose memory has grown for a message that is larger than
/// its `max_bytes`: else nobody would see why messages wait for memory.
fn tell_outgrown(core: &ParticipantCore, state: &mut ParticipantState) {
    let on_topics = state.publishers.values().filter(|it| it.audience == Audience::Topic);
    let outgrown: Vec<_> = on_topics
        .filter_map(|it| {
            let (max_bytes, bytes) = (it.max_bytes?, it.control.outgrown()?);
            Some((it.info.label(&core.process), max_bytes, bytes))
        })
        .collect();
    for (label, max_bytes, bytes) in outgrown {
        let text = format!(
            "publisher `{label}`: a message takes {bytes} bytes, more than the topic's max_bytes, \
             {max_bytes}; it waited until there was memory for it: set max_bytes to the largest \
             message, or leave it out"
        );
        state.trouble_once_for(format!("outgrown: {label}"), text);
    }
}

/// Tells peers of segments that were given back. Inside this process nothing is mapped twice.
fn tell_given_back(state: &mut ParticipantState) {
    let ParticipantState { outgoing, peers, .. } = state;
    for ((token, number), pair) in outgoing.iter_mut().filter(|((token, _), _)| *token != LOCAL) {
        let given = pair.control.given_back();
        let mut news = given & !pair.told;
        pair.told = given;
        let Some(peer) = peers.get_mut(token) else { continue };
        while news != 0 {
            let segment = news.trailing_zeros();
            peer.link.send(&Frame::GiveBack { pair: *number, segment }, &[]);
            news &= news - 1;
        }
    }
}

fn send_segment(state: &mut ParticipantState, token: u64, pair: u32, part: &SegmentFd) {
    let SegmentFd { index, bytes, fd } = part;
    if let Some(peer) = state.peers.get_mut(&token) {
        let frame = Frame::Segment { pair, segment: *index, bytes: *bytes };
        peer.link.send(&frame, &[fd.as_fd()]);
    }
}

/// The same inside this process, up to this segment.
fn share_segments(state: &ParticipantState, pair: u32, control: &RingControl, segment: u32) {
    let Some(subscriber) = state.live_control(pair) else { return };
    control.share_segments(&subscriber);
    if let Some(outgoing) = state.outgoing.get(&(LOCAL, pair)) {
        control.acknowledge(outgoing.peer, segment);
    }
}

/// A peer has mapped a segment.
pub(crate) fn segment_mapped(
    state: &ParticipantState,
    token: u64,
    pair: u32,
    segment: u32,
) -> Result<(), String> {
    let Some(pair) = state.outgoing.get(&(token, pair)) else {
        return Err(format!("it mapped a segment of pair {pair}, which does not exist"));
    };
    if segment > pair.segments {
        return Err(format!("it mapped segment {segment}, which it was not sent"));
    }
    pair.control.acknowledge(pair.peer, segment);
    Ok(())
}

/// Serves a pair no more, which may hold samples; false when there is none.
pub(crate) fn retire(state: &mut ParticipantState, key: OutgoingKey) -> bool {
    let Some(pair) = state.outgoing.get_mut(&key) else { return false };
    if !std::mem::replace(&mut pair.retired, true) {
        pair.control.retire(pair.peer);
        let publisher = pair.publisher;
        slab_exchange::recount(state, publisher);
        state.services.has_room(publisher);
        unmatched(state, publisher);
    }
    true
}

/// A peer's subscriber takes no more messages of a publisher of ours.
pub(crate) fn leave_requested(
    state: &mut ParticipantState,
    token: u64,
    pair: u32,
) -> Result<(), String> {
    match retire(state, (token, pair)) {
        true => Ok(()),
        false => Err(format!("it left pair {pair}, which does not exist")),
    }
}

/// Ends a pair in which we publish, and whose subscriber holds nothing; false when there is none.
pub(crate) fn detach(state: &mut ParticipantState, key: OutgoingKey) -> bool {
    let Some(pair) = state.outgoing.remove(&key) else { return false };
    pair.control.detach(pair.peer);
    slab_exchange::recount(state, pair.publisher);
    state.services.has_room(pair.publisher);
    if !pair.retired {
        unmatched(state, pair.publisher);
    }
    state.changes += 1;
    true
}

/// A publisher of ours has lost a subscriber.
fn unmatched(state: &ParticipantState, publisher: u64) {
    if let Some(known) = state.publishers.get(&publisher) {
        known.events.unmatched();
    }
}

/// A peer's subscriber does not use a publisher of ours any more.
pub(crate) fn release_requested(
    state: &mut ParticipantState,
    token: u64,
    pair: u32,
) -> Result<(), String> {
    if !detach(state, (token, pair)) {
        return Err(format!("it released pair {pair}, which does not exist"));
    }
    state.send(token, &Frame::Released { pair });
    Ok(())
}

/// Pairs with processes of our run in which we publish on a topic.
pub(crate) fn pairs_of_topic(state: &ParticipantState, topic: &str) -> usize {
    let of_topic = state.outgoing.iter().filter(|((token, _), pair)| {
        let known = state.publishers.get(&pair.publisher).filter(|_| !pair.retired);
        known.is_some_and(|known| known.info.topic == topic) && state.waits_for(*token)
    });
    of_topic.count()
}

/// Subscribers of processes outside our run that a publisher of ours serves.
pub(crate) fn outsiders(state: &ParticipantState, publisher: u64) -> usize {
    let served = state.outgoing.iter();
    let served = served.filter(|(_, pair)| pair.publisher == publisher && !pair.retired);
    served.filter(|((token, _), _)| !state.waits_for(*token)).count()
}

fn pairs_of_peer(state: &ParticipantState, token: u64) -> Vec<OutgoingKey> {
    state.outgoing.range((token, 0)..=(token, u32::MAX)).map(|(key, _)| *key).collect()
}

/// May a process hold samples of ours?
pub(crate) fn may_hold(state: &ParticipantState, token: u64) -> bool {
    state.outgoing.range((token, 0)..=(token, u32::MAX)).next().is_some()
}

/// The connection to a process ends: none of its subscribers holds us up any more. What they hold
/// stays.
pub(crate) fn peer_left(state: &mut ParticipantState, token: u64) {
    state.services.peer_gone(token);
    let end = if faults::is(fault::DETACHED_WHILE_HELD) { detach } else { retire };
    pairs_of_peer(state, token).into_iter().for_each(|key| _ = end(state, key));
}

/// A process holds nothing any more: it has said so, or is dead.
pub(crate) fn peer_holds_nothing(state: &mut ParticipantState, token: u64) {
    if !faults::is(fault::DEAD_HOLD_ON) {
        pairs_of_peer(state, token).into_iter().for_each(|key| _ = detach(state, key));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::discovery::met::met;
    use crate::{Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous};
    use crossdock_msg::Extra;
    use crossdock_msg::types::sensor_msgs::Image;
    use crossdock_shm::PairMemory;
    use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received};

    /// Subscribers of one process to one publisher.
    const PAIRS: u32 = 8;

    /// Attaches a process that never says that it has mapped anything.
    fn attach_all(core: &ParticipantCore, state: &mut ParticipantState, token: u64) {
        let memory = PairMemory::create("sink").unwrap();
        let theirs = Theirs::open("sink", [core.conns.fd(), memory.fd()]).unwrap();
        let (port, known) = state.publishers.first_key_value().unwrap();
        let (port, of_publisher) = (*port, known.info.clone());
        for pair in 0..PAIRS {
            let info = PortInfo { port: 1000 + u64::from(pair), ..of_publisher.clone() };
            let (history, waited_for, slabs, copies, wake) = Default::default();
            let places = Places { conn: pair, history, waited_for, slabs, copies, wake };
            let label = format!("sink {pair}");
            attach(state, (token, pair), port, &info, label, (theirs.clone(), &places)).unwrap();
        }
    }

    /// The segments that a process was sent so far, with their pairs.
    fn segments_sent(socket: &ControlSocket) -> Vec<(u32, u32)> {
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        let mut sent = Vec::new();
        while let Received::Frame { len, .. } = socket.receive(&mut buffer).unwrap() {
            if let Frame::Segment { pair, segment, .. } = Frame::decode(&buffer[..len]).unwrap() {
                sent.push((segment, pair));
            }
        }
        sent
    }

    #[test]
    fn a_segment_is_sent_once_to_each_pair_however_often_memory_grows() {
        let folder = std::env::temp_dir().join(format!("xd-segments-{}", std::process::id()));
        let rendezvous = Rendezvous::Folder(folder.clone());
        let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "source") };
        let participant = Participant::open(options).unwrap();
        let (node, topic, qos) = ("source", "/image", Qos::best_effort(4));
        let options = PublisherOptions { node, topic, qos, max_bytes: None, group: None };
        let output = participant.publisher::<Image>(options).unwrap();
        let core = &participant.handle.core;
        let (token, socket) = met(&mut core.lock(), 1001, crossdock_shm::Standing::Own);
        attach_all(core, &mut core.lock(), token);
        let mut sent = Vec::new();
        for growth in 1..=3 {
            let bytes = 1 << (18 + 2 * growth);
            let mut loan = output.loan(Extra::none().bytes(bytes)).unwrap();
            loan.message().data_uninit(bytes).unwrap().fill(1);
            loan.publish().map_err(|refused| refused.reason).unwrap();
            // Whether the control thread has done it already or not.
            send_segments(core, &mut core.lock());
            sent.extend(segments_sent(&socket));
        }
        sent.sort_unstable();
        let segments = sent.last().map_or(0, |(segment, _)| *segment);
        assert!(segments >= 3, "memory has grown: {sent:?}");
        let first = sent[0].0;
        let each =
            (first..=segments).flat_map(|segment| (0..PAIRS).map(move |pair| (segment, pair)));
        assert_eq!(sent, each.collect::<Vec<_>>(), "(segment, pair)");
        peer_holds_nothing(&mut core.lock(), token);
        core.lock().peers.remove(&token);
        drop((output, participant));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
