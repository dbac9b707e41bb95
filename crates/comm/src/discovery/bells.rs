//! Bells: which executors of ours a peer process can wake, and which executors of a peer we can.
//!
//! The word that an executor sleeps on is a memory object of its own. A peer gets it with the first
//! pair in which it triggers that executor, and gets no other one. What the peer writes there can
//! only delay wake-ups of this executor (decision record 0001).

use std::collections::btree_map::Entry;
use std::os::fd::AsFd;
use std::time::Duration;

use crossdock_shm::{DoorbellControl, PeerBell, ReceivedFd};

use crate::discovery::participant_state::{ParticipantState, Peer};
use crate::discovery::scarce::Failure;
use crate::wire::frame::Frame;

/// Executors of one process.
const BELLS_MAX: u16 = 512;

/// How long an executor sleeps at most while a stranger may ring its bell.
const RECHECK: Duration = Duration::from_millis(100);

/// Gives the peer of a pair (or this process itself) the bell of an executor of ours that the pair
/// triggers, if it does not have it.
pub(crate) fn hand_out(
    state: &mut ParticipantState,
    token: u64,
    bell: DoorbellControl,
) -> Result<(), Failure> {
    let (index, fd) = bell.bell().ok_or("the executor is gone")?;
    let Some(peer) = state.peers.get_mut(&token) else {
        // Inside this process bells and pair memory live equally long.
        let theirs = state.own.theirs.as_mut().ok_or("this process has no tables")?;
        if let Entry::Vacant(place) = theirs.bells.entry(index) {
            place.insert(PeerBell::open("own bell", fd).map_err(|error| Failure::of(&error))?);
        }
        return Ok(());
    };
    if peer.tables.joined.iter().any(|known| known.is_same(&bell)) {
        return Ok(());
    }
    // Such a peer might keep wake-ups from other peers: bound the harm, before it can do any.
    if peer.link.standing.is_stranger() {
        bell.expose(RECHECK);
    }
    peer.link.send(&Frame::Bell { bell: index }, &[fd]);
    peer.tables.joined.push(bell);
    Ok(())
}

/// A peer has handed out the bell of one of its executors. Mapped when it is needed.
pub(crate) fn received(
    state: &mut ParticipantState,
    token: u64,
    bell: u16,
    fds: Vec<ReceivedFd>,
) -> Result<(), String> {
    let Some(peer) = state.peers.get_mut(&token) else { return Ok(()) };
    if bell >= BELLS_MAX {
        return Err(format!("it handed out bell {bell}, and processes have {BELLS_MAX}"));
    }
    let fd = fds.into_iter().next().ok_or("it handed out a bell without memory")?;
    // An executor that was made later may have the number of one that is gone.
    if let Some(theirs) = &mut peer.tables.theirs {
        theirs.bells.remove(&bell);
    }
    peer.tables.unopened_bells.insert(bell, fd);
    Ok(())
}

/// Maps the bell of a peer's executor, if it is not mapped.
pub(crate) fn open(peer: &mut Peer, bell: u16) -> Result<(), Failure> {
    let Some(theirs) = &mut peer.tables.theirs else {
        return Err("it subscribed before it sent its memory".into());
    };
    if theirs.bells.contains_key(&bell) {
        return Ok(());
    }
    let fd = peer.tables.unopened_bells.get(&bell);
    let fd = fd.ok_or("it wants to be woken by a bell that it did not send")?;
    let opened = PeerBell::open(&peer.link.peer().to_string(), fd.as_fd());
    theirs.bells.insert(bell, opened.map_err(|error| Failure::of(&error))?);
    peer.tables.unopened_bells.remove(&bell);
    Ok(())
}
