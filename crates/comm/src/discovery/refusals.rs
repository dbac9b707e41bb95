//! Processes that exceed a limit: they are refused, each side tells why, and no side tells it again
//! and again.
//!
//! Who is refused hears the limit in one frame, which fits in an empty socket, so nobody waits. It
//! has words of its own for it, and is as sparing with them as we are: a user who starts processes
//! without end can both be refused and refuse without end. It believes only who answers it: a
//! process that it has greeted or knocked at, once.

use std::collections::{BTreeMap, BTreeSet};

use crossdock_shm::Standing;
use crossdock_shm::socket::{ControlSocket, PeerIdentity};

use crate::discovery::event::Event;
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::ParticipantState;
use crate::discovery::peer_link::{Broken, PeerLink, Stage};
use crate::quotas;
use crate::wire::frame::Frame;
use crate::wire::limit::Limit;
use crate::wire::peer_process::PeerProcess;

/// Users whose refusals are kept apart. Further users count as one.
const USERS_MAX: usize = 64;
/// Different refusals of one user that are told.
const TOLD_MAX: usize = 16;
/// What further users count as: nobody has this number.
const FURTHER_USERS: u32 = u32::MAX;

/// Refusals that were told.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    users: BTreeMap<u32, OfUser>,
}

#[derive(Debug, Default)]
struct OfUser {
    told: BTreeSet<String>,
    /// Those that were not told, since the last one that was.
    untold: u64,
}

impl Refusals {
    /// Notes one more refusal of a user, of a kind. What is to be told behind its reason; `None`:
    /// it is not to be told, but counted.
    pub(crate) fn note(&mut self, uid: u32, kind: &str) -> Option<String> {
        let has_place = self.users.len() < USERS_MAX || self.users.contains_key(&uid);
        let user = self.users.entry(if has_place { uid } else { FURTHER_USERS }).or_default();
        if user.told.len() >= TOLD_MAX || !user.told.insert(kind.to_string()) {
            user.untold += 1;
            return None;
        }
        let untold = match std::mem::take(&mut user.untold) {
            0 => String::new(),
            count => format!(" (and {count} more of user {uid} since the last one that was told)"),
        };
        let last = match user.told.len() {
            TOLD_MAX => "; no more of this user are told",
            _ => "",
        };
        Some(untold + last)
    }
}

/// The limit that one more connection exceeds. `stage`: how it would begin.
pub(crate) fn exceeded(
    state: &ParticipantState,
    (identity, standing): (&PeerIdentity, Standing),
    stage: Stage,
) -> Option<Limit> {
    let of_stranger = || match stage {
        Stage::AwaitHello => quotas::refuses_visit(identity.uid, users(state, PeerLink::is_visit)),
        _ => quotas::refuses_process(identity.uid, users(state, PeerLink::is_process)),
    };
    let quota = standing.is_stranger().then(of_stranger).flatten();
    quota.or((state.peers.len() >= quotas::PEERS_MAX).then_some(Limit::Peers))
}

/// The users of the strangers' connections of a kind.
fn users(
    state: &ParticipantState,
    is_counted: impl Fn(&PeerLink) -> bool,
) -> impl Iterator<Item = u32> {
    let links = state.peers.values().map(|peer| &peer.link);
    let counted = links.filter(move |link| link.standing.is_stranger() && is_counted(link));
    counted.map(|link| link.identity.uid)
}

/// Tells a process at the other end of a fresh connection that it is not let in.
pub(crate) fn tell(core: &ParticipantCore, socket: &ControlSocket, limit: Limit) {
    // Who has gone, or cannot be told, finds the end of the connection.
    let _ = socket.send(&turn_away(core, limit).encode(), &[]);
}

/// What a process is told that exceeds a limit of ours.
pub(crate) fn turn_away(core: &ParticipantCore, limit: Limit) -> Frame {
    Frame::TurnAway { limit, process: core.process.clone() }
}

/// Refuses a process that has greeted, if its user has as many as one may. True: it is refused.
pub(crate) fn refuse_process(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
) -> bool {
    let Some(link) = state.peers.get(&token).map(|peer| &peer.link) else { return true };
    let (who, peer) = ((&link.identity, link.standing), link.peer());
    // It has its place among all connections already.
    let limit = exceeded(state, who, Stage::Live).filter(|limit| *limit != Limit::Peers);
    let Some(limit) = limit else { return false };
    let reason = quotas::refusal(limit, peer.uid);
    state.turn_away(peer, reason);
    if let Some(peer) = state.peers.get_mut(&token) {
        peer.link.send(&turn_away(core, limit), &[]);
        peer.link.stage = Stage::Closing;
    }
    true
}

/// A process says that we exceed a limit of it.
pub(crate) fn heard(state: &mut ParticipantState, token: u64, limit: Limit, process: String) {
    let Some(link) = state.peers.get_mut(&token).map(|peer| &mut peer.link) else { return };
    let kind = match (link.stage, limit) {
        (Stage::Live, Limit::Publishers) if state.publishers.len() > quotas::PUBLISHERS_MAX => {
            "publishers"
        }
        // It serves us all the same.
        (Stage::Live, _) => return,
        (stage, limit) => {
            link.process = process;
            // Whom we greeted is greeted again after a while.
            link.breaks(Broken::Left);
            let is_answer = match stage {
                Stage::AwaitWelcome => true,
                // Of two, the one with the lower name connects: it may answer our knock so, once.
                _ => link.socket.process_mark().is_ok_and(|mark| state.knocked.remove(&mark)),
            };
            match limit {
                _ if !is_answer => return,
                Limit::ProcessesOfUser | Limit::Processes | Limit::Peers => "processes",
                Limit::VisitsOfUser | Limit::Visits => "visits",
                // Of ports, only whom it serves can have too many.
                Limit::Publishers | Limit::Descriptors | Limit::Addresses => return,
            }
        }
    };
    let peer: PeerProcess = link.peer();
    let reason = quotas::refusal_of_ours(limit, peer.uid);
    if let Some(behind) = state.refused.note(peer.uid, kind) {
        let reason = format!("{reason}; told once for all processes of user {}{behind}", peer.uid);
        state.events.push(Event::TurnedAway { peer, reason });
        state.changes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::met::met;
    use crossdock_test_support::skip;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    #[test]
    fn one_process_more_than_may_be_connected_at_all_is_refused_whosever_it_is() {
        // Each process that is met here takes two descriptors.
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        if maximum.is_some_and(|maximum| maximum < 2 * quotas::PEERS_MAX as u64 + 1000) {
            return skip("this process may not have as many descriptors as there may be peers");
        }
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("it may");
        let mut state = ParticipantState::new(None);
        while state.peers.len() < quotas::PEERS_MAX - 1 {
            met(&mut state, 1001, Standing::Own);
        }
        let identity = PeerIdentity { pid: 1, uid: 1001, gid: 1001, groups: Vec::new() };
        let refused = |state: &ParticipantState| {
            [Standing::Own, Standing::Trusted, Standing::Stranger].map(|standing| {
                [Stage::AwaitHello, Stage::AwaitWelcome, Stage::Live]
                    .map(|stage| exceeded(state, (&identity, standing), stage))
            })
        };
        assert_eq!(refused(&state), [[None; 3]; 3]);
        met(&mut state, 1001, Standing::Own);
        assert_eq!(refused(&state), [[Some(Limit::Peers); 3]; 3]);
    }

    #[test]
    fn a_refusal_is_told_once_for_each_user_and_kind_and_the_others_are_counted() {
        let mut refusals = Refusals::default();
        assert_eq!(refusals.note(1, "a").as_deref(), Some(""));
        (0..40).for_each(|_| assert_eq!(refusals.note(1, "a"), None));
        assert_eq!(refusals.note(2, "a").as_deref(), Some(""), "another user");
        let text = refusals.note(1, "b").expect("another kind");
        assert!(text.contains("and 40 more of user 1"), "{text}");
        assert_eq!(refusals.note(1, "c").as_deref(), Some(""), "they were told");
    }

    #[test]
    fn however_many_users_and_kinds_there_are_only_so_many_are_kept() {
        let mut refusals = Refusals::default();
        let mut told = Vec::new();
        for uid in 0..2 * USERS_MAX as u32 {
            told.extend((0..100).filter_map(|kind: u32| refusals.note(uid, &kind.to_string())));
        }
        assert_eq!(refusals.users.len(), USERS_MAX + 1);
        assert!(refusals.users.values().all(|user| user.told.len() == TOLD_MAX));
        assert_eq!(told.len(), (USERS_MAX + 1) * TOLD_MAX);
        let last = told.iter().filter(|text| text.ends_with("no more of this user are told"));
        assert_eq!(last.count(), USERS_MAX + 1);
    }
}
