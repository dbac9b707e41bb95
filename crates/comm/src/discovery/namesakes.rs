//! Names that somebody else has taken. Who owns the folder of a domain can put a socket of its own
//! in the place of another one, and take it away again. So a name that we know may be another
//! process's by now, and its owner's again later: then its owner is to be met.
//!
//! Who is met already stays, unless the other one is trusted more.

use crossdock_shm::rendezvous::{FileId, PeerName};

use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::peer_link::{Broken, PeerLink, Stage};

/// Whether a process is known by this name, which `file` has now, so that it is not greeted. If
/// that is another file than we connected to, whom we wait for gives way: its owner is greeted
/// soon.
pub(crate) fn is_known(core: &ParticipantCore, name: PeerName, file: Option<FileId>) -> bool {
    let mut state = core.lock();
    let Some(token) = state.tokens_by_name.get(&name).copied() else { return false };
    // Behind it, who closes without a welcome counts as new.
    state.unwelcome.forget(name);
    let Some(link) = state.peers.get_mut(&token).map(|peer| &mut peer.link) else { return true };
    if link.file.is_none() || file.is_none() || link.file == file {
        return true;
    }
    match link.stage {
        Stage::AwaitWelcome => link.breaks(Broken::Closed),
        Stage::Live if link.standing.is_stranger() => {
            drop(state);
            if is_of_trusted(core, name) {
                let mut state = core.lock();
                state.unwelcome.note(name);
                if let Some(peer) = state.peers.get_mut(&token) {
                    give_way(&mut peer.link);
                }
            }
        }
        _ => {}
    }
    true
}

/// Whether the process that listens under this name is trusted.
fn is_of_trusted(core: &ParticipantCore, name: PeerName) -> bool {
    // An error: it is announced, or comes, once more.
    let Ok(Some(socket)) = core.rendezvous.visit().connect(name) else { return false };
    let judged = socket.peer().ok().map(|identity| core.trust.judge(core.access, &identity));
    judged.is_some_and(|judged| judged.is_ok_and(|standing| !standing.is_stranger()))
}

/// A stranger is met under a name that a process has that is trusted.
pub(crate) fn give_way(link: &mut PeerLink) {
    let why = "it was met under a name that is another process's, which is trusted";
    link.breaks(Broken::Violation(why.to_owned()));
}
