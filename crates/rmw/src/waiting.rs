//! How the threads of one context wait: one leads, the others follow.
//!
//! A context has one bell ([`Bell`]), which its ports ring, and any number of threads in
//! `rmw_wait`, each with a set of entities: subscriptions, services, clients, events, guard
//! conditions. The state is under one lock.
//!
//! 1. At most one thread leads: it alone sleeps on the bell, without the lock. The others sleep on
//!    condition variables of their own.
//! 2. The leader marks what rang. Of every set that holds something marked, the thread is woken;
//!    the leader needs no waking. A wait that finds no leader when it begins marks what has rung,
//!    too: so one that does not sleep, because it only looks or always has something, misses
//!    nothing.
//! 3. A mark stays until a wait finds that the entity has nothing left. Only marked entities are
//!    looked at, and only they are armed again ([`Bell::has_something`]): the work follows what
//!    fired, not what exists.
//! 4. A thread that leads and returns passes the lead to one that sleeps, if there is one. A thread
//!    that begins to sleep while nobody leads takes the lead. So while any thread sleeps, one
//!    sleeps on the bell.
//! 5. A guard condition is a mark that anybody sets. If its set's thread leads, the bell is nudged;
//!    if it follows, its condition variable is notified; if nobody waits, the mark is all.
//! 6. After [`Waiting::end`] a wait sleeps at most once, and at most for [`REST`].
//!
//! A single thread that waits always leads: it is woken once per message, by the publisher itself.
//! No wake-up is lost: marks and the change between leading, following and running are under the
//! lock, and a nudge lasts until the next sleep.
//!
//! Nothing here knows ports, messages or C.

use crate::sync::{self, Condvar, Mutex, MutexGuard, lock};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a wait lasts at most after [`Waiting::end`].
///
/// Client libraries end their loops if the context is not valid any more. They look before each
/// wait, and make it invalid only after `rmw_shutdown`: a thread that looks in between would wait
/// for ever.
pub const REST: Duration = Duration::from_millis(100);

/// What the leader sleeps on.
pub trait Bell {
    /// Sleeps until an entity rings, somebody nudges, or the time is over, and adds the entities
    /// that rang since the last sleep to `rang`. Ringing and nudging before the sleep end it at
    /// once. May end early.
    fn sleep(&self, deadline: Option<Instant>, rang: &mut Vec<EntityId>);

    /// Adds the entities that rang since the last sleep or drain. Never while a thread sleeps, and
    /// under the lock; it must not block.
    fn drain(&self, rang: &mut Vec<EntityId>);

    /// Ends the present or the next sleep.
    fn nudge(&self);

    /// Whether the entity has something to take. If not, it rings when it next has: it is armed
    /// first and looked at afterwards. Called under the lock; it must not block.
    fn has_something(&self, entity: EntityId) -> bool;
}

/// An entity of the context. Numbers are used again after [`Waiting::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

/// A set that one thread at a time waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetId(usize);

/// What rings for an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The bell: a port.
    Port,
    /// [`Waiting::trigger`]: a guard condition. A wait that reports it clears it.
    Guard,
}

/// Why a wait cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// Another thread waits with the same set.
    #[error("the wait set is in use by another thread: give each thread a wait set of its own")]
    InUse,
    /// The set or one of its entities does not exist.
    #[error("the wait set holds an entity that was destroyed: take it out before it is destroyed")]
    Unknown,
}

/// The waiting threads of one context. Any thread may call anything.
#[derive(Debug)]
pub struct Waiting<B> {
    bell: B,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entities: Vec<Option<Entity>>,
    sets: Vec<Option<Set>>,
    /// Entities with a mark, in the order of the marks.
    marked: Vec<EntityId>,
    /// The set whose thread leads.
    leader: Option<usize>,
    /// What rang; kept for its memory.
    rang: Vec<EntityId>,
    /// Rule 6 holds.
    has_ended: bool,
    /// The negative control of the model: rule 4 without its first sentence.
    #[cfg(loom)]
    keeps_lead: bool,
}

#[derive(Debug)]
struct Entity {
    kind: Kind,
    is_marked: bool,
    /// Positions of the sets that hold it; most entities are in one.
    sets: Vec<usize>,
}

#[derive(Debug)]
struct Set {
    members: Vec<EntityId>,
    at: At,
    /// Wakes the thread if it follows.
    wake: Arc<Condvar>,
}

/// Where the thread of a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In no wait.
    Away,
    /// In a wait, and running or about to.
    Awake,
    /// On its condition variable.
    Following,
    /// On the bell.
    Leading,
}

impl<B: Bell> Waiting<B> {
    /// Nothing to wait for so far.
    pub fn new(bell: B) -> Self {
        Self { bell, state: Mutex::new(State::default()) }
    }

    /// Breaks rule 4, to show that the model finds it.
    #[cfg(loom)]
    #[must_use]
    pub fn without_passing_on(self) -> Self {
        lock(&self.state).keeps_lead = true;
        self
    }

    /// The bell.
    pub fn bell(&self) -> &B {
        &self.bell
    }

    /// Adds an entity; allocates. A port is looked at in the first wait.
    pub fn add(&self, kind: Kind) -> EntityId {
        let mut state = lock(&self.state);
        let entity = Entity { kind, is_marked: false, sets: Vec::new() };
        let id = EntityId(place(&mut state.entities, entity) as u32);
        if kind == Kind::Port {
            state.mark(id);
        }
        id
    }

    /// Removes an entity, and takes it out of the sets that hold it.
    pub fn remove(&self, id: EntityId) {
        let mut state = lock(&self.state);
        let Some(entity) = state.entities.get_mut(id.0 as usize).and_then(Option::take) else {
            return;
        };
        state.marked.retain(|marked| *marked != id);
        for set in entity.sets {
            if let Some(set) = &mut state.sets[set] {
                set.members.retain(|member| *member != id);
            }
        }
    }

    /// Adds a set; allocates.
    pub fn add_set(&self) -> SetId {
        let (members, wake) = (Vec::new(), Arc::new(Condvar::new()));
        let set = Set { members, at: At::Away, wake };
        SetId(place(&mut lock(&self.state).sets, set))
    }

    /// Removes a set.
    ///
    /// # Errors
    ///
    /// A thread waits with it.
    pub fn remove_set(&self, id: SetId) -> Result<(), WaitError> {
        let mut state = lock(&self.state);
        match state.sets.get(id.0) {
            Some(Some(set)) if set.at == At::Away => {}
            Some(Some(_)) => return Err(WaitError::InUse),
            _ => return Err(WaitError::Unknown),
        }
        state.set_members(id.0, &[])?;
        state.sets[id.0] = None;
        Ok(())
    }

    /// Marks a guard condition and wakes the threads whose sets hold it. Never blocks for longer
    /// than the lock is held.
    pub fn trigger(&self, id: EntityId) {
        let mut state = lock(&self.state);
        if state.mark(id) {
            self.wake(&mut state, id);
        }
    }

    /// Ends all waits that are under way, and shortens later ones: see [`REST`].
    pub fn end(&self) {
        let mut state = lock(&self.state);
        state.has_ended = true;
        state.sets.iter_mut().flatten().for_each(|set| self.wake_set(set));
    }

    /// Waits until a member has something, or the time is over, and adds those that have to
    /// `fired`, in the order of `members`. A deadline in the past only looks, and sees everything
    /// that came before. Allocates if the set changes.
    ///
    /// # Errors
    ///
    /// Another thread waits with the set, or the set or a member does not exist.
    pub fn wait(
        &self,
        id: SetId,
        members: &[EntityId],
        deadline: Option<Instant>,
        fired: &mut Vec<EntityId>,
    ) -> Result<(), WaitError> {
        let mut state = lock(&self.state);
        state.begin(id.0, members)?;
        let before = fired.len();
        let is_over = || deadline.is_some_and(|deadline| deadline <= Instant::now());
        match state.leader {
            None => {
                let mut rang = std::mem::take(&mut state.rang);
                self.bell.drain(&mut rang);
                self.mark_all(&mut state, rang);
            }
            // The leader may not have marked yet what rang.
            Some(_) if is_over() => state.mark_ports(id.0),
            Some(_) => {}
        }
        let mut has_slept = false;
        loop {
            self.collect(&mut state, id.0, fired);
            if fired.len() > before || is_over() || (state.has_ended && has_slept) {
                break;
            }
            let deadline = match state.has_ended {
                true => Some(earlier(deadline, Instant::now() + REST)),
                false => deadline,
            };
            has_slept = true;
            state = match state.leader {
                None => self.lead(state, id.0, deadline),
                Some(_) => follow(state, id.0, deadline),
            };
        }
        if let Some(set) = &mut state.sets[id.0] {
            set.at = At::Away;
        }
        state.pass_on();
        Ok(())
    }

    /// Adds the members that have something to `fired`. Looks at what is marked alone.
    fn collect(&self, state: &mut State, set: usize, fired: &mut Vec<EntityId>) {
        let before = fired.len();
        let State { marked, entities, .. } = state;
        marked.retain(|id| {
            let Some(Some(entity)) = entities.get_mut(id.0 as usize) else { return false };
            if !entity.sets.contains(&set) {
                return true;
            }
            let is_ready = entity.kind == Kind::Guard || self.bell.has_something(*id);
            if is_ready {
                fired.push(*id);
            }
            // A guard condition is reported once; a port stays marked until it has nothing.
            entity.is_marked = is_ready && entity.kind == Kind::Port;
            entity.is_marked
        });
        if let Some(Some(set)) = state.sets.get(set) {
            let place = |id: &EntityId| set.members.iter().position(|member| member == id);
            if fired.len() > before + 1 {
                fired[before..].sort_by_key(place);
            }
        }
    }

    /// Sleeps on the bell, once, and marks what rang.
    fn lead<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        set: usize,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        state.leader = Some(set);
        state.place(set, At::Leading);
        let mut rang = std::mem::take(&mut state.rang);
        drop(state);
        self.bell.sleep(deadline, &mut rang);
        let mut state = lock(&self.state);
        state.leader = None;
        state.place(set, At::Awake);
        self.mark_all(&mut state, rang);
        state
    }

    /// Marks what rang, wakes the threads that sleep for it, and gives the list back.
    fn mark_all(&self, state: &mut State, mut rang: Vec<EntityId>) {
        for id in rang.drain(..) {
            if state.mark(id) {
                self.wake(state, id);
            }
        }
        state.rang = rang;
    }

    /// Wakes the threads that sleep and whose sets hold the entity.
    fn wake(&self, state: &mut State, id: EntityId) {
        let State { entities, sets, .. } = state;
        let Some(Some(entity)) = entities.get(id.0 as usize) else { return };
        for set in &entity.sets {
            if let Some(set) = &mut sets[*set] {
                self.wake_set(set);
            }
        }
    }

    /// Wakes the thread of a set if it sleeps.
    fn wake_set(&self, set: &mut Set) {
        match set.at {
            At::Leading => self.bell.nudge(),
            At::Following => {
                set.at = At::Awake;
                set.wake.notify_one();
            }
            At::Away | At::Awake => {}
        }
    }
}

/// Sleeps until the thread is woken or the time is over. May end early.
fn follow<'a>(
    mut state: MutexGuard<'a, State>,
    set: usize,
    deadline: Option<Instant>,
) -> MutexGuard<'a, State> {
    let Some(wake) = state.sets[set].as_ref().map(|set| Arc::clone(&set.wake)) else {
        return state;
    };
    state.place(set, At::Following);
    let mut state = sync::wait(&wake, state, deadline);
    state.place(set, At::Awake);
    state
}

/// The earlier one of two deadlines; none is the latest.
fn earlier(deadline: Option<Instant>, other: Instant) -> Instant {
    deadline.map_or(other, |deadline| deadline.min(other))
}

/// Puts a value at the first free place.
fn place<T>(all: &mut Vec<Option<T>>, value: T) -> usize {
    let free = all.iter().position(Option::is_none).unwrap_or(all.len());
    if free == all.len() {
        all.push(None);
    }
    all[free] = Some(value);
    free
}

impl State {
    /// Marks an entity; false if it does not exist.
    fn mark(&mut self, id: EntityId) -> bool {
        let Some(Some(entity)) = self.entities.get_mut(id.0 as usize) else { return false };
        if !entity.is_marked {
            entity.is_marked = true;
            self.marked.push(id);
        }
        true
    }

    /// Has the next look of a set look at all of its ports.
    fn mark_ports(&mut self, set: usize) {
        let State { entities, sets, marked, .. } = self;
        for id in sets[set].iter().flat_map(|set| &set.members) {
            if let Some(Some(entity)) = entities.get_mut(id.0 as usize)
                && entity.kind == Kind::Port
                && !entity.is_marked
            {
                entity.is_marked = true;
                marked.push(*id);
            }
        }
    }

    fn place(&mut self, set: usize, at: At) {
        if let Some(set) = &mut self.sets[set] {
            set.at = at;
        }
    }

    /// Begins a wait: the set is free, and holds the members.
    fn begin(&mut self, set: usize, members: &[EntityId]) -> Result<(), WaitError> {
        match self.sets.get(set) {
            Some(Some(known)) if known.at != At::Away => return Err(WaitError::InUse),
            Some(Some(known)) if known.members == members => {}
            Some(Some(_)) => self.set_members(set, members)?,
            _ => return Err(WaitError::Unknown),
        }
        self.place(set, At::Awake);
        Ok(())
    }

    /// Changes the members of a set. After an error it has none.
    fn set_members(&mut self, set: usize, members: &[EntityId]) -> Result<(), WaitError> {
        let Some(Some(known)) = self.sets.get_mut(set) else { return Err(WaitError::Unknown) };
        for old in std::mem::take(&mut known.members) {
            if let Some(Some(entity)) = self.entities.get_mut(old.0 as usize) {
                entity.sets.retain(|one| *one != set);
            }
        }
        let exists = |id: &EntityId| matches!(self.entities.get(id.0 as usize), Some(Some(_)));
        if !members.iter().all(exists) {
            return Err(WaitError::Unknown);
        }
        for id in members {
            if let Some(Some(entity)) = self.entities.get_mut(id.0 as usize)
                && !entity.sets.contains(&set)
            {
                entity.sets.push(set);
            }
        }
        if let Some(Some(known)) = self.sets.get_mut(set) {
            known.members.extend_from_slice(members);
        }
        Ok(())
    }

    /// If nobody leads and none is about to look: wakes a thread that follows, which then leads.
    fn pass_on(&mut self) {
        #[cfg(loom)]
        if self.keeps_lead {
            return;
        }
        if self.leader.is_some() || self.sets.iter().flatten().any(|set| set.at == At::Awake) {
            return;
        }
        if let Some(set) = self.sets.iter_mut().flatten().find(|set| set.at == At::Following) {
            set.at = At::Awake;
            set.wake.notify_one();
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// Ports that ring when they are told to; counts how often each is looked at.
    #[derive(Default)]
    struct Quiet {
        looks: [AtomicU32; 8],
        ready: [AtomicU32; 8],
        rang: std::sync::Mutex<Vec<EntityId>>,
    }

    impl Quiet {
        /// A message comes.
        fn publish(&self, to: EntityId) {
            self.ready[to.0 as usize].fetch_add(1, Ordering::Relaxed);
            self.rang.lock().unwrap().push(to);
        }
    }

    impl Bell for Quiet {
        fn sleep(&self, deadline: Option<Instant>, _: &mut Vec<EntityId>) {
            let left = deadline.expect("a deadline").saturating_duration_since(Instant::now());
            std::thread::sleep(left);
        }

        fn drain(&self, rang: &mut Vec<EntityId>) {
            rang.append(&mut self.rang.lock().unwrap());
        }

        fn nudge(&self) {}

        fn has_something(&self, entity: EntityId) -> bool {
            self.looks[entity.0 as usize].fetch_add(1, Ordering::Relaxed);
            self.ready[entity.0 as usize].load(Ordering::Relaxed) > 0
        }
    }

    fn wait(waiting: &Waiting<Quiet>, set: SetId, members: &[EntityId]) -> Vec<EntityId> {
        let mut fired = Vec::new();
        waiting.wait(set, members, Some(Instant::now()), &mut fired).expect("a free set");
        fired
    }

    #[test]
    fn a_wait_looks_only_at_what_fired() {
        let waiting = Waiting::new(Quiet::default());
        let ports: Vec<_> = (0..8).map(|_| waiting.add(Kind::Port)).collect();
        let set = waiting.add_set();
        // The first wait looks at all of them: they are new.
        assert_eq!(wait(&waiting, set, &ports), []);
        waiting.bell().ready[5].store(1, Ordering::Relaxed);
        lock(&waiting.state).mark(ports[5]);
        assert_eq!(wait(&waiting, set, &ports), [ports[5]]);
        // It has not been taken: it stays ready.
        assert_eq!(wait(&waiting, set, &ports), [ports[5]]);
        waiting.bell().ready[5].store(0, Ordering::Relaxed);
        assert_eq!(wait(&waiting, set, &ports), []);
        assert_eq!(wait(&waiting, set, &ports), []);
        let looks = waiting.bell().looks.each_ref().map(|looks| looks.load(Ordering::Relaxed));
        assert_eq!(looks, [1, 1, 1, 1, 1, 4, 1, 1]);
    }

    #[test]
    fn a_wait_that_never_sleeps_sees_every_port() {
        let waiting = Waiting::new(Quiet::default());
        let ports = [waiting.add(Kind::Port), waiting.add(Kind::Port)];
        let (guard, set) = (waiting.add(Kind::Guard), waiting.add_set());
        let members = [ports[0], ports[1], guard];
        assert_eq!(wait(&waiting, set, &members), []);
        waiting.bell().publish(ports[0]);
        assert_eq!(wait(&waiting, set, &members), [ports[0]]);
        // The first one always has something, and the guard condition is always triggered.
        waiting.trigger(guard);
        waiting.bell().publish(ports[1]);
        assert_eq!(wait(&waiting, set, &members), members);
    }

    #[test]
    fn what_fired_comes_in_the_order_of_the_members() {
        let waiting = Waiting::new(Quiet::default());
        let guards: Vec<_> = (0..3).map(|_| waiting.add(Kind::Guard)).collect();
        let set = waiting.add_set();
        guards.iter().rev().for_each(|guard| waiting.trigger(*guard));
        assert_eq!(wait(&waiting, set, &guards), guards);
        assert_eq!(wait(&waiting, set, &guards), []);
    }

    #[test]
    fn a_removed_entity_is_in_no_set_and_its_number_is_used_again() {
        let waiting = Waiting::new(Quiet::default());
        let (guard, other) = (waiting.add(Kind::Guard), waiting.add(Kind::Guard));
        let set = waiting.add_set();
        waiting.trigger(guard);
        assert_eq!(wait(&waiting, set, &[guard, other]), [guard]);
        waiting.trigger(guard);
        waiting.remove(guard);
        assert_eq!(wait(&waiting, set, &[other]), []);
        let gone = waiting.wait(set, &[guard], Some(Instant::now()), &mut Vec::new());
        assert_eq!(gone, Err(WaitError::Unknown));
        assert_eq!(waiting.add(Kind::Guard), guard);
        assert_eq!(wait(&waiting, set, &[guard]), []);
        assert_eq!(waiting.remove_set(set), Ok(()));
        assert_eq!(waiting.remove_set(set), Err(WaitError::Unknown));
    }

    #[test]
    fn a_deadline_ends_a_wait_that_leads() {
        let waiting = Waiting::new(Quiet::default());
        let (guard, set) = (waiting.add(Kind::Guard), waiting.add_set());
        let deadline = Instant::now() + Duration::from_millis(2);
        let mut fired = Vec::new();
        assert_eq!(waiting.wait(set, &[guard], Some(deadline), &mut fired), Ok(()));
        assert!(fired.is_empty() && Instant::now() >= deadline);
    }
}
