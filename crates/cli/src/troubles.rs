//! What keeps the ports of a command from ports of other processes, for commands that take part in
//! a graph.

use crate::output::{clean, say};
use crossdock_comm::{Participant, Troubles};

/// Tells it on standard error from now on, each sentence once.
pub(crate) fn tell(participant: &Participant) {
    let mut troubles = Troubles::default();
    participant.set_event_callback(move |event| {
        if let Some(sentence) = troubles.news(&event) {
            say!("warning: {}", clean(&sentence));
        }
    });
}
