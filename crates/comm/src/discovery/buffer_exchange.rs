//! How shared buffers get from their owner's process to others, and what becomes of them when a
//! process ends.
//!
//! The owner's process hands the descriptor to a process that asks for it, once, over the control
//! socket of the two. It gives that process a number, which the claims of the process carry. It
//! hears of the process's death like of any other, and flags what the process held as abandoned.
//! docs/decisions/0010-shared-buffers.md explains the choice.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::{TRUST_BY_NAME, protocol};

use crate::buffer::claims::{MEMBERS_MAX, Mapped};
use crate::buffer::registry::{Answer, Member, Offer};
use crate::buffer::token::BufferId;
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::{ParticipantState, Peer};
use crate::discovery::peer_link::Stage;
use crate::wire::frame::Frame;

/// What can be done now about a buffer that a node wants.
pub(crate) enum Step {
    Have(Arc<Mapped>),
    Arrived(Offer),
    Refused(String),
    Wait,
}

impl ParticipantState {
    /// How far a buffer is, and what can be done about it now.
    pub(crate) fn buffer_step(&mut self, own_name: PeerName, id: BufferId) -> Step {
        let gone = || Step::Refused("it is gone".to_owned());
        if id.owner == own_name {
            let owned = self.buffers.owned.get(&id.number);
            return owned.map_or_else(gone, |owned| Step::Have(Arc::clone(&owned.mapped)));
        }
        let opened = self.buffers.opened.get(&id).and_then(Weak::upgrade);
        if let Some(mapped) = opened.filter(|it| !it.lost.load(Ordering::Relaxed)) {
            return Step::Have(mapped);
        }
        match self.buffers.asked.remove(&id) {
            Some(Answer::Refused(reason)) => return Step::Refused(reason),
            Some(Answer::Arrived(offer)) => {
                self.buffers.asked.insert(id, Answer::Opening);
                return Step::Arrived(offer);
            }
            Some(waiting) => _ = self.buffers.asked.insert(id, waiting),
            None => {
                let token = self.tokens_by_name.get(&id.owner).copied();
                let peer = token.and_then(|token| self.peers.get_mut(&token));
                if let Some(peer) = peer.filter(|peer| peer.link.stage == Stage::Live) {
                    peer.link.send(&Frame::AskBuffer { buffer: id.number }, &[]);
                    self.buffers.asked.insert(id, Answer::Awaited);
                }
            }
        }
        Step::Wait
    }
}

/// A peer wants a buffer of ours.
pub(crate) fn asked_for(state: &mut ParticipantState, token: u64, buffer: u64) {
    let ParticipantState { peers, buffers, .. } = state;
    let Some(peer) = peers.get_mut(&token) else { return };
    let refuse = |peer: &mut Peer, reason: String| {
        peer.link.send(&Frame::NoBuffer { buffer, reason }, &[]);
    };
    if peer.link.standing.is_stranger() {
        let reason = format!(
            "all that have a shared buffer write it, and only processes that are trusted get one; trust \
             this user by name ({TRUST_BY_NAME})"
        );
        return refuse(peer, reason);
    }
    let Some(owned) = buffers.owned.get_mut(&buffer) else {
        return refuse(peer, "it is gone".to_owned());
    };
    let mapped = &owned.mapped;
    let Some(fd) = mapped.memory.fd() else {
        let reason = "the mapping says `managed` of what its tokens come by: it lies in memory that a driver \
                      moves, which only its owner's process has; say `copy`, `zero_copy` or `auto`";
        return refuse(peer, reason.to_owned());
    };
    let known = owned.members.iter().find(|member| member.token == Some(token));
    let member = match known {
        Some(member) => member.number,
        None => {
            // Numbers are not used twice: late claims of the dead would be another's.
            if usize::from(owned.last_member) >= MEMBERS_MAX {
                let reason = format!("{MEMBERS_MAX} processes have had it; make another one");
                return refuse(peer, reason);
            }
            owned.last_member += 1;
            let number = owned.last_member;
            let process = peer.link.peer();
            owned.members.push(Member { number, token: Some(token), process, pidfd: None });
            if let Some(living) = &mapped.living {
                living.come(number);
            }
            number
        }
    };
    let (element, count, label) = (mapped.element as u8, mapped.count, mapped.label.clone());
    let instances = mapped.instances.iter();
    let exported = instances.filter_map(|it| Some((it.device().to_owned(), it.export()?)));
    let (devices, exports): (Vec<String>, Vec<OwnedFd>) = exported.unzip();
    let frame = Frame::Buffer { buffer, member, element, count, label, devices };
    let fds: Vec<BorrowedFd<'_>> =
        std::iter::once(fd).chain(exports.iter().map(AsFd::as_fd)).collect();
    peer.link.send(&frame, &fds);
}

/// A peer hands a buffer out.
pub(crate) fn received(state: &mut ParticipantState, buffer: u64, offer: Offer) {
    answered(state, offer.connection, buffer, Answer::Arrived(offer));
}

/// A peer does not hand a buffer out, or it got lost on the way.
pub(crate) fn refused(state: &mut ParticipantState, token: u64, buffer: u64, reason: String) {
    answered(state, token, buffer, Answer::Refused(reason));
}

/// Nobody waits for an answer that comes too late.
fn answered(state: &mut ParticipantState, token: u64, number: u64, answer: Answer) {
    let owner = state.peers.get(&token).and_then(|peer| peer.link.name);
    let id = owner.map(|owner| BufferId { owner, number });
    let awaited = id.and_then(|id| state.buffers.asked.get_mut(&id));
    if let Some(awaited @ Answer::Awaited) = awaited {
        *awaited = answer;
    }
}

/// A process is gone: what it held is abandoned, and what it owned is lost.
pub(crate) fn peer_gone(state: &mut ParticipantState, token: u64, peer: &mut Peer) {
    let pidfd = peer.link.pidfd.clone();
    let process = peer.link.peer();
    let mut told = Vec::new();
    for owned in state.buffers.owned.values_mut() {
        let of_peer = |member: &Member| member.token == Some(token);
        let Some(place) = owned.members.iter().position(of_peer) else { continue };
        let member = &mut owned.members[place];
        member.token = None;
        member.pidfd.clone_from(&pidfd);
        let (number, mapped) = (member.number, &owned.mapped);
        if let Some(living) = &mapped.living {
            living.go(number);
        }
        mapped.abandon();
        // Who wants to claim may have flagged them before.
        let left = |seen: &protocol::Seen| seen.abandoned && seen.member == number;
        match mapped.memory.claims().seen().filter(left).count() {
            0 => _ = owned.members.swap_remove(place),
            claims => told.push(format!(
                "{process} is gone and has left {claims} claims of buffer `{}`: they are abandoned",
                owned.mapped.label
            )),
        }
    }
    told.into_iter().for_each(|text| state.trouble(text));
    let Some(owner) = peer.link.name else { return };
    state.buffers.opened.retain(|id, opened| {
        let opened = opened.upgrade().filter(|_| id.owner == owner);
        opened.is_none_or(|mapped| {
            mapped.lost.store(true, Ordering::Relaxed);
            false
        })
    });
    for (_, answer) in state.buffers.asked.iter_mut().filter(|(id, _)| id.owner == owner) {
        if !matches!(answer, Answer::Opening) {
            *answer = Answer::Refused("its process is gone".to_owned());
        }
    }
}

/// The members of a buffer whose processes are gone. What they held is flagged as abandoned.
pub(crate) fn gone_members(core: &ParticipantCore, number: u64) -> Vec<Member> {
    let state = core.lock();
    let Some(owned) = state.buffers.owned.get(&number) else { return Vec::new() };
    owned.mapped.abandon();
    owned.members.iter().filter(|member| member.token.is_none()).cloned().collect()
}
