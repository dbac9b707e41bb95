//! What happens to one port: with whom it is matched, with whom it is not and why, what it lost,
//! which deadlines were missed, and which publishers are alive.
//!
//! As in ROS 2, each kind of event has a status of counts since the port's creation and since the
//! last look. It can be polled, and a callback tells that there is something to look at.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::discovery::callbacks::{Callbacks, Calls, contained};
use crate::wire::mismatch::Clash;
use crate::wire::qos::QosConflict;

/// Kinds of events of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortEvent {
    /// A port on the other side was connected, or has gone.
    Matched,
    /// A port on the other side has a quality of service that does not fit.
    IncompatibleQos,
    /// A port on the other side has another type.
    IncompatibleType,
    /// Of subscribers: messages were lost. It is noticed when the subscriber looks for messages.
    /// Messages that are older than their publisher's lifespan are counted, and are no event.
    MessageLost,
    /// A message did not come before the deadline that a publisher offers or a subscriber requests.
    DeadlineMissed,
    /// Of publishers: nothing was said of being alive for the lease that they offer.
    LivelinessLost,
    /// Of subscribers: a publisher has come, gone, fallen silent or spoken again.
    LivelinessChanged,
}

impl PortEvent {
    const COUNT: usize = 7;
}

/// With how many ports of the other side a port is connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchedStatus {
    /// Connections so far.
    pub total: u64,
    /// Those since the last look.
    pub total_change: u64,
    /// Connections now.
    pub current: u64,
    /// How much that has changed since the last look.
    pub current_change: i64,
}

/// Which publishers of a subscriber are alive.
///
/// A publisher is alive from the connection on. It is not alive if it has said nothing of it for
/// its own lease. One that has gone, because it was dropped or its process died, is neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivelinessStatus {
    /// Publishers that are connected and alive.
    pub alive: u64,
    /// How much that has changed since the last look.
    pub alive_change: i64,
    /// Publishers that are connected and silent.
    pub not_alive: u64,
    /// How much that has changed since the last look.
    pub not_alive_change: i64,
}

/// How often something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountStatus {
    /// Since the port's creation.
    pub total: u64,
    /// Since the last look.
    pub change: u64,
}

impl CountStatus {
    fn add(&mut self, more: u64) {
        self.total = self.total.saturating_add(more);
        self.change = self.change.saturating_add(more);
    }

    fn take(&mut self) -> CountStatus {
        let now = *self;
        self.change = 0;
        now
    }
}

/// How often a port of the other side did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncompatibleQosStatus {
    /// How often.
    pub count: CountStatus,
    /// The policy of the last one; `None`: there was none.
    pub last: Option<QosConflict>,
}

type Callback = Box<dyn FnMut(PortEvent) + Send>;

#[derive(Default)]
struct State {
    matched: MatchedStatus,
    incompatible_qos: IncompatibleQosStatus,
    incompatible_type: CountStatus,
    lost: CountStatus,
    deadline_missed: CountStatus,
    liveliness_lost: CountStatus,
    liveliness: LivelinessStatus,
    /// Publishers that are not alive, by GID.
    silent: BTreeSet<[u8; 16]>,
    /// `None` also while it runs.
    callbacks: [Option<Callback>; PortEvent::COUNT],
    /// Counts what was set, so that a callback that has run does not replace a newer one.
    settings: [u64; PortEvent::COUNT],
    /// Events that the callbacks have to be told of, in the order of [`KINDS`].
    due: [bool; PortEvent::COUNT],
    queued: bool,
    /// A callback of this port runs: it is out of its place.
    running: bool,
    closed: bool,
}

const KINDS: [PortEvent; PortEvent::COUNT] = [
    PortEvent::Matched,
    PortEvent::IncompatibleQos,
    PortEvent::IncompatibleType,
    PortEvent::MessageLost,
    PortEvent::DeadlineMissed,
    PortEvent::LivelinessLost,
    PortEvent::LivelinessChanged,
];

impl State {
    fn has_news(&self, kind: PortEvent) -> bool {
        match kind {
            PortEvent::Matched => self.matched.total_change > 0 || self.matched.current_change != 0,
            PortEvent::IncompatibleQos => self.incompatible_qos.count.change > 0,
            PortEvent::IncompatibleType => self.incompatible_type.change > 0,
            PortEvent::MessageLost => self.lost.change > 0,
            PortEvent::DeadlineMissed => self.deadline_missed.change > 0,
            PortEvent::LivelinessLost => self.liveliness_lost.change > 0,
            PortEvent::LivelinessChanged => {
                self.liveliness.alive_change != 0 || self.liveliness.not_alive_change != 0
            }
        }
    }

    fn count_matched(&mut self) {
        self.matched.total += 1;
        self.matched.total_change += 1;
        self.matched.current += 1;
        self.matched.current_change += 1;
    }

    fn count_unmatched(&mut self) {
        self.matched.current = self.matched.current.saturating_sub(1);
        self.matched.current_change -= 1;
    }

    fn count_alive(&mut self, more: i64) {
        self.liveliness.alive = self.liveliness.alive.saturating_add_signed(more);
        self.liveliness.alive_change += more;
    }

    fn count_not_alive(&mut self, more: i64) {
        self.liveliness.not_alive = self.liveliness.not_alive.saturating_add_signed(more);
        self.liveliness.not_alive_change += more;
    }
}

struct PortStatus {
    state: Mutex<State>,
    thread: Arc<Callbacks>,
}

/// The events of one port.
///
/// `Send` and `Sync`; cloning gives another handle. It does not keep the port. No call waits for a
/// callback; each takes a lock that nobody holds for long.
#[derive(Clone)]
pub struct PortEvents {
    shared: Arc<PortStatus>,
}

impl std::fmt::Debug for PortEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortEvents").field("matched", &self.lock().matched).finish_non_exhaustive()
    }
}

impl PortEvents {
    pub(crate) fn new(thread: &Arc<Callbacks>) -> PortEvents {
        let thread = Arc::clone(thread);
        PortEvents { shared: Arc::new(PortStatus { state: Mutex::default(), thread }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.lock()
    }

    /// Whether something has happened of this kind since the last look.
    pub fn has_news(&self, kind: PortEvent) -> bool {
        self.lock().has_news(kind)
    }

    /// With how many ports of the other side it is connected, and what changed since the last call.
    pub fn take_matched(&self) -> MatchedStatus {
        let matched = &mut self.lock().matched;
        let now = *matched;
        (matched.total_change, matched.current_change) = (0, 0);
        now
    }

    /// How often a port of the other side has a quality of service that does not fit.
    pub fn take_incompatible_qos(&self) -> IncompatibleQosStatus {
        let status = &mut self.lock().incompatible_qos;
        IncompatibleQosStatus { count: status.count.take(), last: status.last }
    }

    /// How often a port of the other side has another type.
    pub fn take_incompatible_type(&self) -> CountStatus {
        self.lock().incompatible_type.take()
    }

    /// How many messages a subscriber has lost, whatever the cause; what was skipped is not lost.
    pub fn take_lost(&self) -> CountStatus {
        self.lock().lost.take()
    }

    /// How often a message did not come before the deadline: each period without one counts. It
    /// runs from the first message on.
    pub fn take_deadline_missed(&self) -> CountStatus {
        self.lock().deadline_missed.take()
    }

    /// How often a publisher whose liveliness is by topic has let its lease pass.
    pub fn take_liveliness_lost(&self) -> CountStatus {
        self.lock().liveliness_lost.take()
    }

    /// Which publishers of a subscriber are alive.
    pub fn take_liveliness(&self) -> LivelinessStatus {
        let liveliness = &mut self.lock().liveliness;
        let now = *liveliness;
        (liveliness.alive_change, liveliness.not_alive_change) = (0, 0);
        now
    }

    /// Has `callback` called when there is something new of this kind, at once if there is now;
    /// it takes the place of the one before. Several events may be told by one call.
    ///
    /// Callbacks of all ports of a participant run on one thread, which does nothing else: one that
    /// blocks holds up the others alone. One that panics is not called again. It may use and drop
    /// everything. After the port was dropped none begins; one that runs then is not waited for.
    ///
    /// # Errors
    ///
    /// The system has no thread for callbacks. The one before stays.
    pub fn set_callback(
        &self,
        kind: PortEvent,
        callback: impl FnMut(PortEvent) + Send + 'static,
    ) -> io::Result<()> {
        self.shared.thread.start()?;
        self.set_prompt_callback(kind, callback);
        Ok(())
    }

    /// As [`PortEvents::set_callback`], for a callback that returns at once: it needs no thread of
    /// its own. See [`GraphView::set_prompt_callback`](crate::GraphView::set_prompt_callback).
    pub fn set_prompt_callback(
        &self,
        kind: PortEvent,
        callback: impl FnMut(PortEvent) + Send + 'static,
    ) {
        self.replace(kind, Some(Box::new(callback)));
    }

    /// Nobody is called for this kind any more.
    pub fn clear_callback(&self, kind: PortEvent) {
        self.replace(kind, None);
    }

    fn replace(&self, kind: PortEvent, callback: Option<Callback>) {
        let is_set = callback.is_some();
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let place = kind as usize;
        state.settings[place] += 1;
        let before = std::mem::replace(&mut state.callbacks[place], callback);
        if is_set && state.has_news(kind) {
            self.tell(&mut state, kind);
        }
        // What a callback owns is dropped outside the lock.
        drop(state);
        drop(before);
    }

    /// Something of this kind is new.
    fn tell(&self, state: &mut State, kind: PortEvent) {
        state.due[kind as usize] = true;
        let is_wanted = state.running || state.callbacks.iter().any(Option::is_some);
        if is_wanted && !std::mem::replace(&mut state.queued, true) {
            let calls: Arc<dyn Calls> = Arc::<PortStatus>::clone(&self.shared);
            let weak: Weak<dyn Calls> = Arc::downgrade(&calls);
            self.shared.thread.queue(weak);
        }
    }

    /// A port of the other side was connected.
    pub(crate) fn matched(&self) {
        let mut state = self.lock();
        state.count_matched();
        self.tell(&mut state, PortEvent::Matched);
    }

    /// One that was connected is so no more.
    pub(crate) fn unmatched(&self) {
        let mut state = self.lock();
        state.count_unmatched();
        self.tell(&mut state, PortEvent::Matched);
    }

    /// Of a subscriber: a publisher was connected. It counts as alive.
    pub(crate) fn connected(&self) {
        let mut state = self.lock();
        state.count_matched();
        state.count_alive(1);
        self.tell(&mut state, PortEvent::Matched);
        self.tell(&mut state, PortEvent::LivelinessChanged);
    }

    /// Of a subscriber: a publisher that was connected is so no more.
    pub(crate) fn parted(&self, publisher: [u8; 16]) {
        let mut state = self.lock();
        state.count_unmatched();
        match state.silent.remove(&publisher) {
            true => state.count_not_alive(-1),
            false => state.count_alive(-1),
        }
        self.tell(&mut state, PortEvent::Matched);
        self.tell(&mut state, PortEvent::LivelinessChanged);
    }

    /// A connected publisher has said nothing for its lease.
    pub(crate) fn publisher_silent(&self, publisher: [u8; 16]) {
        let mut state = self.lock();
        if state.silent.insert(publisher) {
            state.count_alive(-1);
            state.count_not_alive(1);
            self.tell(&mut state, PortEvent::LivelinessChanged);
        }
    }

    /// A silent publisher has spoken.
    pub(crate) fn publisher_back(&self, publisher: [u8; 16]) {
        let mut state = self.lock();
        if state.silent.remove(&publisher) {
            state.count_alive(1);
            state.count_not_alive(-1);
            self.tell(&mut state, PortEvent::LivelinessChanged);
        }
    }

    /// Of a publisher: it has let its lease pass.
    pub(crate) fn liveliness_lost(&self) {
        let mut state = self.lock();
        state.liveliness_lost.add(1);
        self.tell(&mut state, PortEvent::LivelinessLost);
    }

    /// No message came before the deadline, so many times.
    pub(crate) fn deadline_missed(&self, times: u64) {
        if times > 0 {
            let mut state = self.lock();
            state.deadline_missed.add(times);
            self.tell(&mut state, PortEvent::DeadlineMissed);
        }
    }

    /// A port of the other side does not fit.
    pub(crate) fn clashed(&self, clash: Clash) {
        let mut state = self.lock();
        let kind = match clash {
            Clash::Type => {
                state.incompatible_type.add(1);
                PortEvent::IncompatibleType
            }
            Clash::Qos(policy) => {
                state.incompatible_qos.count.add(1);
                state.incompatible_qos.last = Some(policy);
                PortEvent::IncompatibleQos
            }
        };
        self.tell(&mut state, kind);
    }

    /// Messages were lost.
    pub(crate) fn lost(&self, messages: u64) {
        if messages > 0 {
            let mut state = self.lock();
            state.lost.add(messages);
            self.tell(&mut state, PortEvent::MessageLost);
        }
    }

    /// The port is dropped: no callback begins any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let callbacks = std::mem::take(&mut state.callbacks);
        drop(state);
        drop(callbacks);
    }
}

impl PortStatus {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls for PortStatus {
    fn call(&self) {
        self.lock().queued = false;
        for kind in KINDS {
            let place = kind as usize;
            let mut state = self.lock();
            if !std::mem::take(&mut state.due[place]) {
                continue;
            }
            let Some(mut callback) = state.callbacks[place].take() else { continue };
            let setting = state.settings[place];
            state.running = true;
            drop(state);
            // One that panics is not called again.
            let is_whole = contained(|| callback(kind));
            let mut state = self.lock();
            state.running = false;
            if is_whole && !state.closed && state.settings[place] == setting {
                state.callbacks[place] = Some(callback);
            } else {
                // What it owns is dropped outside the lock. It must not keep the other kinds from
                // being told.
                drop(state);
                contained(|| drop(callback));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crossdock_shm::PrivateFd;
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;
    use crate::discovery::pair_reports::Waker;

    #[test]
    fn what_has_happened_is_news_of_its_kind_until_somebody_looks() {
        let waker = Waker::new(PrivateFd::from(eventfd(0, EventfdFlags::NONBLOCK).unwrap()));
        let events = PortEvents::new(&Arc::new(Callbacks::new(Arc::new(waker))));
        let news =
            || -> Vec<_> { KINDS.into_iter().filter(|kind| events.has_news(*kind)).collect() };
        let look = || {
            events.take_matched();
            events.take_incompatible_qos();
            events.take_incompatible_type();
            events.take_lost();
            events.take_deadline_missed();
            events.take_liveliness_lost();
            events.take_liveliness();
        };
        let happens: [(&dyn Fn(), &[PortEvent]); 9] = [
            (&|| events.matched(), &[PortEvent::Matched]),
            (&|| events.unmatched(), &[PortEvent::Matched]),
            (&|| events.clashed(Clash::Qos(QosConflict::Lease)), &[PortEvent::IncompatibleQos]),
            (&|| events.clashed(Clash::Type), &[PortEvent::IncompatibleType]),
            (&|| events.lost(1), &[PortEvent::MessageLost]),
            (&|| events.deadline_missed(1), &[PortEvent::DeadlineMissed]),
            (&|| events.liveliness_lost(), &[PortEvent::LivelinessLost]),
            (&|| events.connected(), &[PortEvent::Matched, PortEvent::LivelinessChanged]),
            (&|| events.publisher_silent([1; 16]), &[PortEvent::LivelinessChanged]),
        ];
        assert_eq!(news(), []);
        for (happen, kinds) in happens {
            happen();
            assert_eq!(news(), kinds);
            look();
            assert_eq!(news(), []);
        }
        // Who has come and gone since the last look was there.
        events.matched();
        events.unmatched();
        assert_eq!(news(), [PortEvent::Matched]);
    }
}
