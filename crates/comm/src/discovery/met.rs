//! Processes that unit tests say we have met.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use crossdock_shm::Standing;
use crossdock_shm::socket::ControlSocket;
use rustix::event::epoll;

use crate::discovery::participant_state::{ParticipantState, Peer};
use crate::discovery::peer_link::{PeerLink, Stage};

/// A process of a user to us: its token, and its end of the connection. Nobody watches ours.
pub(crate) fn met(
    state: &mut ParticipantState,
    uid: u32,
    standing: Standing,
) -> (u64, ControlSocket) {
    let (ours, theirs) = ControlSocket::pair().unwrap();
    let mut identity = ours.peer().unwrap();
    identity.uid = uid;
    let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap().into());
    let token = state.token();
    let link = PeerLink::new(token, ours, (identity, standing), Stage::Live, epoll);
    let (publishers, tables, graph) = Default::default();
    state.peers.insert(token, Peer { link, publishers, tables, graph });
    (token, theirs)
}
