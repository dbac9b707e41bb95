//! Notices from the executors' threads of a process to its main thread.

use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use crossdock_comm::PrivateFd;
use rustix::event::{EventfdFlags, eventfd};

use crate::process::event::ProcessEvent;
use crate::process::socket::ControlError;

/// What an executor's thread tells the main thread.
pub(super) enum Notice {
    /// Something has happened in the executor; [`ProcessEvent::Ready`] and
    /// [`ProcessEvent::AtRest`] are about this executor alone.
    Event(ProcessEvent),
    /// The backtrace of the last failure, which the main thread turns into text.
    Backtrace(Box<Backtrace>),
    /// The executor has ended.
    Ended,
}

impl Notice {
    /// Whether the process cannot go on correctly without it. An executor gives few of these.
    fn is_vital(&self) -> bool {
        match self {
            Self::Ended => true,
            Self::Backtrace(_) => false,
            Self::Event(event) => {
                !matches!(event, ProcessEvent::NodeDropped { .. } | ProcessEvent::Warning(_))
            }
        }
    }
}

/// Notices that wait for the main thread, without the vital ones: each node is taken out at most
/// once, and few nodes of a run are.
pub(super) const NOTICES_MAX: usize = 256;

/// Notices on their way to the main thread, with a descriptor that it can sleep on.
pub(super) struct Notices {
    waiting: Mutex<Waiting>,
    bell: PrivateFd,
}

#[derive(Default)]
struct Waiting {
    queue: VecDeque<(usize, Notice)>,
    /// Notices that found no room since the last look.
    left_out: u64,
}

impl Notices {
    pub(super) fn new() -> Result<Self, ControlError> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waiting: Mutex::default(), bell: bell.into() })
    }

    /// Adds a notice of the executor of this index.
    pub(super) fn give(&self, index: usize, notice: Notice) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.queue.len() >= NOTICES_MAX && !notice.is_vital() {
            waiting.left_out += 1;
            return;
        }
        waiting.queue.push_back((index, notice));
        // Cannot fail: a counter of 64 bits does not overflow by ones.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// The oldest notice, with the index of its executor.
    pub(super) fn take(&self) -> Option<(usize, Notice)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let notice = waiting.queue.pop_front();
        if waiting.queue.is_empty() {
            // Nothing to read means that the bell is quiet already.
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.bell, &mut count);
        }
        notice
    }

    /// How many notices found no room since the last call.
    pub(super) fn take_left_out(&self) -> u64 {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut waiting.left_out)
    }
}

impl AsFd for Notices {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_come_in_order_and_only_those_that_are_not_vital_may_find_no_room() {
        let notices = Notices::new().expect("a descriptor");
        let warning = |number: usize| Notice::Event(ProcessEvent::Warning(number.to_string()));
        (0..NOTICES_MAX + 2).for_each(|number| notices.give(number, warning(number)));
        let error = "a sentence".to_owned();
        let dropped = ProcessEvent::NodeDropped { node: "node".to_owned(), error };
        notices.give(0, Notice::Event(dropped));
        notices.give(0, Notice::Backtrace(Box::new(Backtrace::disabled())));
        notices.give(7, Notice::Event(ProcessEvent::AtRest));
        notices.give(8, Notice::Ended);
        for number in 0..NOTICES_MAX {
            let Some((index, Notice::Event(ProcessEvent::Warning(text)))) = notices.take() else {
                panic!("warning {number}");
            };
            assert_eq!((index, text), (number, number.to_string()));
        }
        assert!(matches!(notices.take(), Some((7, Notice::Event(ProcessEvent::AtRest)))));
        assert!(matches!(notices.take(), Some((8, Notice::Ended))));
        assert!(notices.take().is_none());
        assert_eq!([notices.take_left_out(), notices.take_left_out()], [4, 0]);
    }
}
