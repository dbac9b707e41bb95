//! Slabs on their way: a publisher offers memory of a device to the subscribers that give its
//! messages to that device, and knows which of them have it.
//!
//! 1. A subscriber that may take slabs says so when it asks for its publisher. It may be
//!    *undecided* then, because its node is still being made. It *decides* once.
//! 2. A publisher offers each slab once: it is sent to each such subscriber, with its index, and
//!    kept for later subscribers. Pairs inside this process send nothing: they share the slab.
//! 3. A subscriber answers each offer, in order: it has the slab, or it does not, and gets no more.
//!    It may decline before anything is offered. The thread that heard of the slab last (the
//!    control thread, or the node's) imports the memory, without the participant's lock, because a
//!    driver may take its time.
//! 4. As long as a subscriber outside the publisher's group does not have all slabs, messages are
//!    copied to memory of the host. While one is undecided the publisher waits for it, once.
//!
//! What a peer says is not believed: shapes are checked against the memory that they stand for,
//! answers against what was sent. A descriptor that is no memory of the device is refused by the
//! device's driver.

use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock_shm::{Region, SLABS_MAX, Slab};

use crate::device::slabs::{Offer, Offered, Reach, SlabTaker, Wish};
use crate::discovery::pairs::{LOCAL, OutgoingKey};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::ParticipantState;
use crate::wire::frame::Frame;

/// Slabs that one publisher may offer: as many as hang on 16 segments.
const OFFERED_MAX: usize = 16 * SLABS_MAX;
/// How long a publisher waits for a subscriber whose node is still being made: as long as a device
/// may take for anything.
const DECISION_LIMIT: Duration = Duration::from_secs(10);

// ---- publishing side -----------------------------------------------------------------------

/// A publisher of this process offers a slab, which hangs on its own mapping already.
pub(crate) fn offer(core: &ParticipantCore, port: u64, slab: Arc<Slab>, memory: Option<OwnedFd>) {
    let mut guard = core.lock();
    let state = &mut *guard;
    let Some(known) = state.publishers.get_mut(&port) else { return };
    known.slabs.push(Offered { slab, memory });
    let pairs = state.outgoing.iter().filter(|(_, pair)| pair.publisher == port);
    let pairs: Vec<_> = pairs.map(|(key, _)| *key).collect();
    pairs.into_iter().for_each(|key| hand_out(state, key));
    recount(state, port);
    core.publish(guard);
}

/// Gives a pair the slabs that it was not given yet.
pub(crate) fn hand_out(state: &mut ParticipantState, key: OutgoingKey) {
    let Some(pair) = state.outgoing.get_mut(&key) else { return };
    if pair.retired || !pair.slabs.is_taker() {
        return;
    }
    let (token, number) = key;
    if token == LOCAL {
        return hand_over(state, number);
    }
    let Some(known) = state.publishers.get(&pair.publisher) else { return };
    let Some(peer) = state.peers.get_mut(&token) else { return };
    for Offered { slab, memory } in known.slabs.iter().skip(pair.slabs.sent as usize) {
        let (Some(memory), Some(index)) = (memory, slab.index_fd()) else {
            pair.slabs.refused = true;
            break;
        };
        let (shape, device) = (slab.shape(), slab.device().to_owned());
        let frame = Frame::Slab { pair: number, slab: pair.slabs.sent, shape, device };
        peer.link.send(&frame, &[memory.as_fd(), index]);
        pair.slabs.sent += 1;
    }
}

/// The same inside this process.
fn hand_over(state: &mut ParticipantState, number: u32) {
    let Some(control) = state.live_control(number) else { return };
    let Some(pair) = state.outgoing.get_mut(&(LOCAL, number)) else { return };
    let Some(known) = state.publishers.get(&pair.publisher) else { return };
    let subscriber = state.incoming.get(&number).map(|incoming| incoming.subscriber);
    let wish = subscriber.and_then(|port| state.subscribers.get(&port)).map(|it| &it.slabs);
    let taker = match wish {
        Some(Wish::Undecided) => return,
        Some(Wish::Yes(taker)) => taker,
        Some(Wish::No) | None => {
            pair.slabs.refused = true;
            return;
        }
    };
    for Offered { slab, .. } in known.slabs.iter().skip(pair.slabs.taken as usize) {
        let region = control.segment(slab.shape().segment);
        let has = taker.device() == slab.device() && region.is_some_and(|it| it.add_slab(slab));
        pair.slabs.refused |= !has;
        pair.slabs.taken += u32::from(has);
    }
}

/// A publisher has an uploader from now on: who takes slabs is counted before there are any.
pub(crate) fn count_takers(core: &ParticipantCore, port: u64) {
    let mut state = core.lock();
    let Some(known) = state.publishers.get(&port) else { return };
    known.reach.set_uploader();
    recount(&mut state, port);
    core.publish(state);
}

/// Counts again who has what; only publishers with slabs or an uploader are asked for it.
pub(crate) fn recount(state: &mut ParticipantState, publisher: u64) {
    let Some(known) = state.publishers.get(&publisher) else { return };
    let slabs = known.slabs.len();
    if slabs == 0 && !known.reach.has_uploader() {
        return;
    }
    let served = state.outgoing.values().filter(|pair| !pair.retired);
    let pairs = served.filter(|pair| pair.publisher == publisher);
    known.reach.recount(pairs.map(|pair| pair.slabs), slabs);
    state.changes += 1;
}

/// A subscriber has just been attached and told.
pub(crate) fn attached(state: &mut ParticipantState, key: OutgoingKey) {
    hand_out(state, key);
    if let Some(publisher) = state.outgoing.get(&key).map(|pair| pair.publisher) {
        recount(state, publisher);
    }
}

/// A peer says whether it has a slab.
pub(crate) fn answered(
    state: &mut ParticipantState,
    token: u64,
    (number, slab, taken): (u32, u32, bool),
) -> Result<(), String> {
    let Some(pair) = state.outgoing.get_mut(&(token, number)) else {
        // Who declines before anything is offered does not know yet whether it was connected.
        if !taken {
            return Ok(());
        }
        return Err(format!("it answered a slab of pair {number}, which does not exist"));
    };
    let slabs = &mut pair.slabs;
    if taken && (slab >= slabs.sent || slab != slabs.taken && !slabs.refused) {
        return Err(format!("it answered slab {slab} of pair {number} out of turn"));
    }
    // After a refusal the answers to what was sent before it came do not matter.
    slabs.refused |= !taken;
    slabs.taken += u32::from(!slabs.refused);
    let publisher = pair.publisher;
    recount(state, publisher);
    Ok(())
}

/// Whether all subscribers have all slabs of a publisher. If an answer is to come it waits, at most
/// once for 10 s; `is_overdue` is the caller's note that it did in vain.
pub(crate) fn wait_for_all(core: &ParticipantCore, reach: &Reach, is_overdue: &Cell<bool>) -> bool {
    if !reach.is_open() {
        is_overdue.set(false);
        return reach.is_complete();
    }
    let started = Instant::now();
    while !is_overdue.get() {
        // Before the look: a change after it ends the wait.
        let seen = core.lock().changes;
        if !reach.is_open() {
            break;
        }
        match DECISION_LIMIT.checked_sub(started.elapsed()) {
            Some(left) => _ = core.wait_change(seen, left),
            None => is_overdue.set(true),
        }
    }
    reach.is_complete()
}

// ---- subscribing side ----------------------------------------------------------------------

/// A peer offers a slab to a subscriber of this process.
pub(crate) fn received(
    core: &ParticipantCore,
    token: u64,
    pair: u32,
    offer: Offer,
) -> Result<(), String> {
    let mut guard = core.lock();
    let state = &mut *guard;
    let Some(known) = state.incoming.get_mut(&pair).filter(|known| known.peer == token) else {
        return Err(format!("it sent a slab for pair {pair}, which does not exist"));
    };
    let subscriber = state.subscribers.get(&known.subscriber);
    match subscriber.map_or(Wish::No, |subscriber| subscriber.slabs.clone()) {
        Wish::No => {
            let slab = offer.number;
            state.send(token, &Frame::SlabAnswer { pair, slab, taken: false });
        }
        Wish::Undecided if known.offers.len() >= OFFERED_MAX => {
            return Err(format!("it sent more than {OFFERED_MAX} slabs for pair {pair}"));
        }
        Wish::Undecided => known.offers.push(offer),
        Wish::Yes(taker) => {
            drop(guard);
            take_in(core, (token, pair), &offer, &*taker);
            return Ok(());
        }
    }
    core.publish(guard);
    Ok(())
}

/// No descriptor was free to receive a slab.
pub(crate) fn received_without_memory(
    state: &mut ParticipantState,
    token: u64,
    pair: u32,
    slab: u32,
) {
    let text = "no file descriptor is free for the device memory of a publisher, whose messages are \
                copied now; raise the limit (`ulimit -n`)";
    state.trouble(text.to_owned());
    state.send(token, &Frame::SlabAnswer { pair, slab, taken: false });
}

/// A subscriber that was undecided takes slabs from now on, or does not.
pub(crate) fn decide(core: &ParticipantCore, port: u64, taker: Option<Arc<dyn SlabTaker>>) {
    let mut guard = core.lock();
    let state = &mut *guard;
    let Some(known) = state.subscribers.get_mut(&port) else { return };
    if !matches!(known.slabs, Wish::Undecided) {
        return;
    }
    known.slabs = taker.clone().map_or(Wish::No, Wish::Yes);
    let pairs = state.incoming.iter_mut().filter(|(_, pair)| pair.subscriber == port);
    let pairs: Vec<_> = pairs
        .map(|(number, pair)| (pair.peer, *number, std::mem::take(&mut pair.offers)))
        .collect();
    for (token, pair, _) in &pairs {
        if *token == LOCAL {
            attached(state, (LOCAL, *pair));
        } else if taker.is_none() {
            // Once for all that is offered now or later: an uploader need not upload anything for
            // it.
            state.send(*token, &Frame::SlabAnswer { pair: *pair, slab: 0, taken: false });
        }
    }
    core.publish(guard);
    let Some(taker) = taker else { return };
    for (token, pair, offers) in pairs {
        offers.iter().for_each(|offer| take_in(core, (token, pair), offer, &*taker));
    }
}

/// Imports a slab and tells its publisher.
fn take_in(
    core: &ParticipantCore,
    (token, pair): (u64, u32),
    offer: &Offer,
    taker: &dyn SlabTaker,
) {
    let control = core.lock().live_control(pair);
    let region = control.and_then(|control| control.segment(offer.shape.segment));
    let taken = match region {
        Some(region) => hung_up(&region, offer, taker),
        None => Err("it stands for memory that this process does not have".to_owned()),
    };
    let mut state = core.lock();
    // The pair may have ended meanwhile: then nobody waits for an answer.
    let subscriber = state.incoming.get(&pair).filter(|known| known.peer == token);
    let Some(subscriber) = subscriber.map(|known| known.subscriber) else { return };
    if let Err(reason) = &taken {
        let topic = state.subscribers.get(&subscriber).map(|known| known.info.topic.clone());
        state.trouble(format!(
            "`{}`: memory of device {} cannot be used here: {reason}; messages are copied through \
             memory of the host",
            topic.unwrap_or_default(),
            offer.device
        ));
    }
    let slab = offer.number;
    state.send(token, &Frame::SlabAnswer { pair, slab, taken: taken.is_ok() });
    core.publish(state);
}

/// Hangs a slab on the mapping of the segment that it stands for, unless another subscriber has.
fn hung_up(region: &Region, offer: &Offer, taker: &dyn SlabTaker) -> Result<(), String> {
    let Offer { shape, device, fds: [memory, index], .. } = offer;
    if device != taker.device() {
        return Err(format!("its node is on {}", taker.device()));
    }
    let bytes = shape.bytes().ok_or("its shape is not legal")?;
    if shape.first + bytes > region.bytes() as u64 {
        return Err("it does not lie in its publisher's memory".to_owned());
    }
    if let Some(there) = region.slab_at(shape.first, 1) {
        let is_same = there.shape() == *shape && there.device() == device;
        return is_same.then_some(()).ok_or_else(|| "another one stands there".to_owned());
    }
    let memory = taker.import(memory.as_fd(), bytes)?;
    let slab = Slab::open(device, *shape, memory, index.as_fd());
    let slab = Arc::new(slab.map_err(|error| error.to_string())?);
    let is_new = region.add_slab(&slab);
    is_new.then_some(()).ok_or_else(|| "there is no room for one more".to_owned())
}
