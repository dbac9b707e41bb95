//! Callbacks for executors that are driven by events: a thread of the context waits for the ports
//! and events that have one, and calls.
//!
//! 1. The thread starts with the first callback and ends with the context.
//! 2. A callback is called with the number of messages that have come since the last call, of this
//!    callback or of the one before it: each message is told once. It runs under no lock but its
//!    own, which only its removal waits for.
//! 3. After its removal a callback does not run any more, except if it removes itself.
//! 4. A publisher of the same context calls the callbacks of its topic itself, on the thread that
//!    publishes: between nodes of one process no thread is woken ([`Near`]). What a callback
//!    publishes on its own topic is told when it returns.

use crate::bell::{Entity, PortBell, Rings, lock};
use crate::failure::Failure;
use crate::owned::Handles;
use crate::waiting::{EntityId, Kind, Waiting};
use crossdock_shm::ForkMark;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What is called with the number of new messages or events.
pub(crate) type Callback = Box<dyn FnMut(usize) + Send>;

/// A callback, and whether it may run.
pub(crate) struct Slot {
    callback: Mutex<Callback>,
    is_over: AtomicBool,
    /// [`this_thread`] of the thread that it runs on; 0: it does not run. Only that thread asks
    /// with success, so no order is needed.
    runs_on: AtomicUsize,
}

/// A number of this thread that no other one has while it runs, without the count that a handle
/// of the standard library keeps.
fn this_thread() -> usize {
    thread_local! {
        static PLACE: Cell<u8> = const { Cell::new(0) };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

impl Slot {
    pub(crate) fn new(callback: Callback) -> Self {
        Self {
            callback: Mutex::new(callback),
            is_over: AtomicBool::new(false),
            runs_on: AtomicUsize::new(0),
        }
    }

    pub(crate) fn call(&self, count: usize) {
        self.call_with(|| count);
    }

    /// Calls with what `count` says, unless the callback is over or it says 0. Whether it was
    /// called. `count` runs under the lock that ends a callback: what it takes away is told.
    fn call_with(&self, count: impl FnOnce() -> usize) -> bool {
        let mut callback = lock(&self.callback);
        if self.is_over.load(Ordering::Acquire) {
            return false;
        }
        let count = count();
        if count == 0 {
            return false;
        }
        self.runs_on.store(this_thread(), Ordering::Relaxed);
        // One that panics is not called again; the hook for panics has reported it.
        let is_whole = catch_unwind(AssertUnwindSafe(|| callback(count))).is_ok();
        self.runs_on.store(0, Ordering::Relaxed);
        if !is_whole {
            self.is_over.store(true, Ordering::Release);
        }
        true
    }

    /// Whether the caller is called by the callback.
    fn runs_here(&self) -> bool {
        self.runs_on.load(Ordering::Relaxed) == this_thread()
    }

    /// Rule 3.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        if !self.runs_here() {
            drop(lock(&self.callback));
        }
    }
}

/// New messages of a port that has a callback.
pub(crate) struct News {
    port: Arc<dyn Rings>,
    /// Messages that were counted and not told yet. The lock is held from the look at the port on:
    /// else another thread would neither count a message nor find it counted.
    count: Mutex<u64>,
    was_seen: AtomicBool,
    /// The callback has published on its own topic, and nobody has told it of that.
    told_itself: AtomicBool,
    slot: Slot,
}

impl News {
    pub(crate) fn port(&self) -> &dyn Rings {
        &*self.port
    }

    /// Arms the port and counts what has come; whether something is to be told.
    pub(crate) fn look(&self) -> bool {
        // Counting takes in publishers that have come; those are armed afterwards. What comes
        // between the two looks is counted by the second, or rings.
        self.was_seen.store(true, Ordering::Relaxed);
        // A publisher that has not seen this yet has published what is counted here.
        fence(Ordering::SeqCst);
        let mut count = lock(&self.count);
        *count += self.port.arrived();
        self.port.arm_others();
        *count += self.port.arrived();
        *count > 0
    }

    /// What was counted and not told yet.
    fn take_count(&self) -> usize {
        told(&mut lock(&self.count))
    }

    /// Calls with what was counted, if anything was.
    fn call(&self) {
        // Again, if the callback has published.
        while self.slot.call_with(|| self.take_count()) {}
    }

    /// Rule 4, behind the fence with which a message is published.
    fn tell(&self) {
        if !self.was_seen.load(Ordering::Relaxed) {
            return;
        }
        if self.slot.runs_here() {
            *lock(&self.count) += self.port.arrived();
            self.told_itself.store(true, Ordering::Relaxed);
            return;
        }
        let count_all = || {
            let mut count = lock(&self.count);
            *count += self.port.arrived();
            told(&mut count)
        };
        // What others count meanwhile, they tell.
        if self.slot.call_with(count_all) && self.told_itself.swap(false, Ordering::Relaxed) {
            self.call();
        }
    }
}

/// Takes a count away that is told now.
fn told(count: &mut u64) -> usize {
    usize::try_from(std::mem::take(count)).unwrap_or(usize::MAX)
}

/// Callbacks of one topic's subscriptions in a context: rule 4.
#[derive(Default)]
pub(crate) struct Near {
    is_any: AtomicBool,
    /// Taken out as a whole, because a callback may publish, or end a callback.
    news: Mutex<Arc<[Arc<News>]>>,
}

impl Near {
    /// A message was published. One load if the topic has no callback in the context. No
    /// allocation.
    #[inline]
    pub(crate) fn tell(&self) {
        if self.has_any() {
            let all = Arc::clone(&lock(&self.news));
            all.iter().for_each(|news| news.tell());
        }
    }

    fn has_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<News>>)) {
        let mut news = lock(&self.news);
        let mut all = news.to_vec();
        change(&mut all);
        self.is_any.store(!all.is_empty(), Ordering::Relaxed);
        *news = all.into();
    }
}

/// What the threads of a context share: who waits, and who is called.
pub(crate) struct Hub {
    pub(crate) waiting: Waiting<PortBell>,
    pub(crate) handles: Handles,
    /// Entities with a callback.
    called: Mutex<Vec<EntityId>>,
    /// By topic.
    near: Mutex<HashMap<String, Arc<Near>>>,
    /// Wakes the thread to look at `called` and `is_over`.
    changed: EntityId,
    is_over: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    fork: ForkMark,
}

impl Hub {
    pub(crate) fn new(bell: PortBell) -> Self {
        let waiting = Waiting::new(bell);
        let changed = waiting.add(Kind::Guard);
        Self {
            waiting,
            handles: Handles::default(),
            called: Mutex::default(),
            near: Mutex::default(),
            changed,
            is_over: AtomicBool::new(false),
            thread: Mutex::default(),
            fork: ForkMark::new(),
        }
    }

    /// Refuses to go on in a forked child: its parent's threads may hold the locks, and do not run
    /// there.
    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        if self.fork.in_child() { Err(Failure::Forked) } else { Ok(()) }
    }

    /// Adds something to wait for.
    pub(crate) fn add(&self, entity: Entity) -> EntityId {
        let id = self.waiting.add(Kind::Port);
        self.waiting.bell().add(id, entity);
        // It may have rung before the bell knew it.
        self.waiting.trigger(id);
        id
    }

    /// Removes it.
    pub(crate) fn remove(&self, id: EntityId) {
        self.waiting.bell().remove(id);
        self.waiting.remove(id);
    }

    /// Has `callback` called for each new message of a port, those that came while there was no
    /// callback and `untold` that the one before was not told of ([`Hub::end_call`]) among them.
    /// `is_there` gets the number with which it is ended, before the first call.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn call(
        self: &Arc<Self>,
        port: Arc<dyn Rings>,
        callback: Callback,
        untold: u64,
        is_there: impl FnOnce(EntityId),
    ) -> Result<(), Failure> {
        // Before a publisher of this context may know of it.
        self.start()?;
        let news = Arc::new(News {
            port,
            count: Mutex::new(untold),
            was_seen: AtomicBool::new(false),
            told_itself: AtomicBool::new(false),
            slot: Slot::new(callback),
        });
        if let Some(topic) = news.port.topic() {
            self.near(topic).change(|all| all.push(Arc::clone(&news)));
        }
        let id = self.add(Entity::News(Arc::clone(&news)));
        is_there(id);
        self.have_called(id);
        // At once, as in other implementations: afterwards the caller has heard of what was there.
        news.look();
        news.call();
        Ok(())
    }

    /// Has the thread call for an entity when it has something: [`Entity::News`], [`Entity::Call`].
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn add_called(self: &Arc<Self>, entity: Entity) -> Result<EntityId, Failure> {
        self.start()?;
        let id = self.add(entity);
        self.have_called(id);
        Ok(id)
    }

    /// From now on the thread calls for the entity.
    fn have_called(&self, id: EntityId) {
        lock(&self.called).push(id);
        self.waiting.trigger(self.changed);
    }

    /// Nothing is called for it any more, but what is under way.
    pub(crate) fn remove_called(&self, id: EntityId) {
        lock(&self.called).retain(|other| *other != id);
        self.remove(id);
    }

    /// Ends a callback: rule 3. Says how many messages it was not told of.
    pub(crate) fn end_call(&self, id: EntityId) -> u64 {
        let entity = self.waiting.bell().entity(id);
        // Afterwards no wait looks at it.
        self.remove_called(id);
        let Some(Entity::News(news)) = entity.as_deref() else { return 0 };
        if let Some(topic) = news.port.topic() {
            self.near(topic).change(|all| all.retain(|other| !Arc::ptr_eq(other, news)));
        }
        news.slot.end();
        std::mem::take(&mut *lock(&news.count))
    }

    /// The callbacks of a topic. Forgets topics that have neither a publisher nor a callback.
    /// Allocates.
    pub(crate) fn near(&self, topic: &str) -> Arc<Near> {
        let mut topics = lock(&self.near);
        if !topics.contains_key(topic) {
            topics.retain(|_, near| Arc::strong_count(near) > 1 || near.has_any());
        }
        Arc::clone(topics.entry(topic.to_owned()).or_default())
    }

    fn start(self: &Arc<Self>) -> Result<(), Failure> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let hub = Arc::clone(self);
            let builder = std::thread::Builder::new().name("crossdock-rmw".to_owned());
            *thread = Some(builder.spawn(move || hub.run()).map_err(Failure::Thread)?);
        }
        Ok(())
    }

    /// Ends the thread and waits for it, unless it is the caller.
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        self.waiting.trigger(self.changed);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // Its callbacks catch panics; another one has been reported by the hook.
            let _ = thread.join();
        }
    }

    fn run(&self) {
        let set = self.waiting.add_set();
        let (mut members, mut fired) = (Vec::new(), Vec::new());
        while !self.is_over.load(Ordering::Acquire) {
            members.clear();
            members.push(self.changed);
            members.extend_from_slice(&lock(&self.called));
            fired.clear();
            // A member that has just gone is an error: the next list lacks it.
            if self.waiting.wait(set, &members, None, &mut fired).is_err() {
                continue;
            }
            for id in &fired {
                match self.waiting.bell().entity(*id).as_deref() {
                    Some(Entity::News(news)) => news.call(),
                    Some(Entity::Call(happenings, kind)) => happenings.call(*kind),
                    _ => {}
                }
            }
        }
    }
}
