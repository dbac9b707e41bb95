//! A wait for conditions of several contexts.
//!
//! Each context has a bell of its own, on which one thread sleeps. So each context but one gets a
//! thread for the time of the wait. What fires first ends the waits of the others.
//!
//! Client libraries wait for one context at a time, so the threads are made anew each time.

use crate::callbacks::Hub;
use crate::failure::Failure;
use crate::waiting::{EntityId, Kind, SetId};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// The conditions of one context.
struct Part {
    hub: Arc<Hub>,
    set: SetId,
    /// Ends the wait.
    stop: EntityId,
    members: Vec<EntityId>,
    fired: Vec<EntityId>,
}

impl Part {
    fn new(hub: &Arc<Hub>) -> Self {
        let (set, stop) = (hub.waiting.add_set(), hub.waiting.add(Kind::Guard));
        Self { hub: Arc::clone(hub), set, stop, members: vec![stop], fired: Vec::new() }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // No thread waits with it any more.
        let _ = self.hub.waiting.remove_set(self.set);
        self.hub.waiting.remove(self.stop);
    }
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Across {
    parts: Vec<Part>,
}

impl Across {
    /// Adds a condition. Allocates.
    pub(crate) fn add(&mut self, hub: &Arc<Hub>, entity: EntityId) {
        let known = self.parts.iter().position(|part| Arc::ptr_eq(&part.hub, hub));
        let place = known.unwrap_or_else(|| {
            self.parts.push(Part::new(hub));
            self.parts.len() - 1
        });
        self.parts[place].members.push(entity);
    }

    /// Waits until a condition has something, or the time is over. Says whether one has.
    ///
    /// # Errors
    /// A thread cannot be started, or a condition was destroyed.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, Failure> {
        let stops: Vec<_> =
            self.parts.iter().map(|part| (Arc::clone(&part.hub), part.stop)).collect();
        let stop_all = || stops.iter().for_each(|(hub, stop)| hub.waiting.trigger(*stop));
        let wait = |part: &mut Part| {
            let Part { hub, set, members, fired, .. } = part;
            let ended = hub.waiting.wait(*set, members, deadline, fired);
            stop_all();
            ended
        };
        thread::scope(|scope| {
            let Some((own, others)) = self.parts.split_first_mut() else {
                return Ok::<_, Failure>(());
            };
            let mut threads = Vec::with_capacity(others.len());
            for part in others {
                let builder = thread::Builder::new().name("crossdock-wait".to_owned());
                let started = builder.spawn_scoped(scope, || wait(part));
                threads.push(started.inspect_err(|_| stop_all()).map_err(Failure::Thread)?);
            }
            let mut ended = wait(own);
            for thread in threads {
                ended = ended.and(thread.join().unwrap_or_else(|it| std::panic::resume_unwind(it)));
            }
            Ok(ended?)
        })?;
        for part in &mut self.parts {
            part.fired.retain(|entity| *entity != part.stop);
        }
        Ok(self.parts.iter().any(|part| !part.fired.is_empty()))
    }

    /// Whether the condition had something.
    pub(crate) fn has_fired(&self, hub: &Arc<Hub>, entity: EntityId) -> bool {
        let part = self.parts.iter().find(|part| Arc::ptr_eq(&part.hub, hub));
        part.is_some_and(|part| part.fired.contains(&entity))
    }
}
