//! Our own name at the meeting place, which others can remove: people who tidy, what tidies folders
//! for temporary files, the end of a user's session. Who owns the folder of a domain can put
//! something else in its place, too. Connections stay, but nobody who comes then would find us. So
//! the name is made anew as soon as it can be, and somebody is told.

use std::time::{Duration, Instant};

use crossdock_shm::rendezvous::{Presence, RendezvousError};
use rustix::event::epoll;

use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::{TOKEN_ARRIVALS, TOKEN_LISTENER};

/// Before the second try, because what was removed was perhaps not removed as a whole yet; each
/// further pause is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// The longest pause. A name that stayed for longer is made anew at once.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A try that failed is told from this pause on.
const TOLD_FROM: Duration = Duration::from_secs(1);

/// See the head of this file.
#[derive(Debug, Default)]
pub(crate) struct OwnName {
    /// When it was to be made anew for the last time, and how long not again then.
    tried: Option<(Instant, Duration)>,
    /// It is not there.
    is_lost: bool,
    /// It could not be made anew, because something else had it.
    is_blocked: bool,
}

impl OwnName {
    /// How long the control thread may sleep; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let left = |(tried, pause): (Instant, Duration)| pause.saturating_sub(tried.elapsed());
        self.is_lost.then(|| self.tried.map_or(Duration::ZERO, left))
    }

    /// Notes whether it is there. Answers the pause after the try that is due now, if one is.
    fn note(&mut self, presence: Presence) -> Option<Duration> {
        self.is_lost = presence != Presence::Found;
        // Once for each pause: who takes it and gives it back again and again keeps nobody busy.
        let is_free = self.is_blocked && presence == Presence::Gone;
        self.patience().filter(|left| left.is_zero() || is_free)?;
        self.is_blocked = false;
        let recent = self.tried.filter(|(tried, pause)| tried.elapsed() <= *pause + PAUSE_MAX);
        let pause = recent.map_or(PAUSE_MIN, |(_, pause)| (2 * pause).min(PAUSE_MAX));
        self.tried = Some((Instant::now(), pause));
        Some(pause)
    }
}

/// Tries again, when it is time. True: all who are there are to be greeted.
pub(crate) fn look_again(core: &ParticipantCore) -> bool {
    let is_due = core.lock().own_name.patience().is_some_and(|left| left.is_zero());
    is_due && look(core)
}

/// Looks whether our name is there, and makes it anew if it is not. True: it was made, and all who
/// are there are to be greeted.
pub(crate) fn look(core: &ParticipantCore) -> bool {
    let presence = core.rendezvous.presence();
    let Some(pause) = core.lock().own_name.note(presence) else { return false };
    let made = make_anew(core);
    let mut state = core.lock();
    state.own_name.is_lost = made.is_err();
    state.own_name.is_blocked = matches!(made, Err(RendezvousError::Taken { .. }));
    if made.is_ok() || pause >= TOLD_FROM {
        let place = core.rendezvous.place().display().to_string();
        state.trouble_once(lost_text(&place, presence, &made));
    }
    made.is_ok()
}

/// What is told of a name that was lost, and of the try to make it anew.
fn lost_text(place: &str, presence: Presence, made: &Result<(), RendezvousError>) -> String {
    let lost = match presence {
        Presence::Taken { user } => format!("was replaced by user {user}"),
        Presence::Gone | Presence::Found => "was removed".to_owned(),
    };
    let next = match made {
        Ok(()) if matches!(presence, Presence::Taken { .. }) => {
            "it was made anew, and they meet again".to_owned()
        }
        Ok(()) => "it was made anew, and they meet again; let nothing remove what is in that \
                   folder while processes run (systemd-tmpfiles(8) does after days in /tmp)"
            .to_owned(),
        Err(error) => {
            format!("it cannot be made anew: {error}; it is tried again, at last once a minute")
        }
    };
    format!(
        "the socket {place} by which others find this process {lost}, so processes that started \
         since have not met it; {next}"
    )
}

fn make_anew(core: &ParticipantCore) -> Result<(), RendezvousError> {
    let rendezvous = &core.rendezvous;
    let watched =
        [(Some(rendezvous.listener()), TOKEN_LISTENER), (rendezvous.arrivals(), TOKEN_ARRIVALS)];
    // The numbers become numbers of other files, and epoll knows files.
    for fd in watched.iter().filter_map(|(fd, _)| *fd) {
        let _ = epoll::delete(&*core.epoll, fd);
    }
    let made = rendezvous.join_again();
    for (fd, token) in watched {
        let data = epoll::EventData::new_u64(token);
        // What was there a moment ago has room.
        let _ = fd.map(|fd| epoll::add(&*core.epoll, fd, data, epoll::EventFlags::IN));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_anew_at_once_and_then_after_pauses_that_grow() {
        let mut own_name = OwnName::default();
        assert_eq!((own_name.note(Presence::Found), own_name.patience()), (None, None));
        let mut pauses = Vec::new();
        for _ in 0..15 {
            let pause = own_name.note(Presence::Gone).expect("it is due");
            assert_eq!(own_name.note(Presence::Gone), None, "not again at once");
            assert!(own_name.patience().is_some_and(|left| left <= pause));
            pauses.push(pause);
            own_name.tried = Instant::now().checked_sub(pause).map(|tried| (tried, pause));
        }
        assert!(pauses.is_sorted() && pauses[0] == PAUSE_MIN && pauses[14] == PAUSE_MAX);
        // It was there for a while.
        let long_ago = Instant::now().checked_sub(3 * PAUSE_MAX).expect("a time");
        own_name.tried = Some((long_ago, PAUSE_MAX));
        assert_eq!(own_name.note(Presence::Gone), Some(PAUSE_MIN));
    }

    #[test]
    fn a_name_that_something_else_had_is_made_anew_at_once_when_it_is_free_but_once_in_a_pause() {
        let taken = Presence::Taken { user: 7 };
        let mut own_name = OwnName::default();
        assert!(own_name.note(taken).is_some());
        own_name.is_blocked = true;
        assert_eq!(own_name.note(taken), None, "it has it still");
        assert!(own_name.note(Presence::Gone).is_some());
        assert!(own_name.note(taken).is_none() && own_name.note(Presence::Gone).is_none());
        assert!(own_name.patience().is_some_and(|left| !left.is_zero()), "it is tried again");
    }
}
