//! Guard conditions, wait sets, and the wait.

use super::handles::{Belongs, IDENTIFIER, data, destroy, given, handle};
use super::node::clone_of;
use super::{endings, functions, makers};
use crate::abi::current::{Context, GuardCondition};
use crate::abi::shared::{
    Clients, Event, Events, GuardConditions, Services, Subscriptions, Time, WaitSet,
};
use crate::across::Across;
use crate::bell::Rings;
use crate::callbacks::Hub;
use crate::context;
use crate::failure::Failure;
use crate::ports::Registered;
use crate::ports::{client::Client, service::Service, subscription::Subscription};
use crate::qos::duration;
use crate::waiting::{EntityId, Kind, SetId};
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What a guard condition of C stands for.
pub struct Guard {
    context: Arc<context::Context>,
    entity: EntityId,
}

impl Guard {
    pub(super) fn new(context: &Arc<context::Context>) -> Self {
        let entity = context.hub.waiting.add(Kind::Guard);
        Self { context: Arc::clone(context), entity }
    }

    pub(super) fn entity(&self) -> EntityId {
        self.entity
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.context.hub.waiting.remove(self.entity);
    }
}

/// What a wait set of C stands for.
pub struct WaitSetData {
    context: Arc<context::Context>,
    set: SetId,
    lists: Mutex<Lists>,
}

/// Members of a wait, and those that have something; kept for their memory.
#[derive(Default)]
struct Lists {
    members: Vec<EntityId>,
    fired: Vec<EntityId>,
}

impl Belongs for Guard {
    fn hub(&self) -> &Hub {
        &self.context.hub
    }
}

impl Belongs for WaitSetData {
    fn hub(&self) -> &Hub {
        &self.context.hub
    }
}

/// A guard condition for C.
pub(super) fn new_guard(context: *mut Context, guard: Guard) -> *mut GuardCondition {
    Box::into_raw(Box::new(GuardCondition {
        implementation_identifier: IDENTIFIER.as_ptr(),
        data: Box::into_raw(Box::new(guard)).cast(),
        context,
    }))
}

/// Frees a guard condition of [`new_guard`].
///
/// # Safety
///
/// It is one, and is not used afterwards.
pub(super) unsafe fn free_guard(guard: *mut GuardCondition) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    drop(unsafe { destroy(guard) }?);
    Ok(())
}

makers! {
    /// Makes a guard condition. Allocates.
    fn rmw_create_guard_condition(context: *mut Context) -> GuardCondition {
        // SAFETY: null or a context (caller).
        unsafe { handle(context.cast_const(), "context") }?;
        let own = clone_of(context)?;
        Ok(new_guard(context, Guard::new(&own)))
    }

    /// Makes a wait set; it takes any number of conditions. Allocates.
    fn rmw_create_wait_set(context: *mut Context, _max_conditions: usize) -> WaitSet {
        // SAFETY: null or a context (caller).
        unsafe { handle(context.cast_const(), "context") }?;
        let own = clone_of(context)?;
        let set = own.hub.waiting.add_set();
        let data = Box::new(WaitSetData { context: own, set, lists: Mutex::default() });
        Ok(Box::into_raw(Box::new(WaitSet {
            implementation_identifier: IDENTIFIER.as_ptr(),
            guard_conditions: std::ptr::null_mut(),
            data: Box::into_raw(data).cast(),
        })))
    }
}

endings! {
    /// Wakes the threads that wait for a guard condition. No allocation; a short lock. Destructors
    /// of client libraries trigger, too; in a forked child nobody waits.
    fn rmw_trigger_guard_condition(guard_condition: *const GuardCondition) {
        // SAFETY: null or a guard condition (caller).
        let guard = unsafe { data(guard_condition, "guard_condition") }?;
        guard.context.hub.waiting.trigger(guard.entity);
        Ok(())
    }

    /// Destroys a guard condition.
    fn rmw_destroy_guard_condition(guard_condition: *mut GuardCondition) {
        // SAFETY: null or a guard condition (caller).
        unsafe { handle(guard_condition.cast_const(), "guard_condition") }?;
        // SAFETY: of this library, and the caller gives it up.
        unsafe { free_guard(guard_condition) }
    }

    /// Destroys a wait set that no thread waits with.
    fn rmw_destroy_wait_set(wait_set: *mut WaitSet) {
        // SAFETY: null or a wait set (caller).
        let set = unsafe { data(wait_set.cast_const(), "wait_set") };
        let set = set.map_err(Failure::of_missing)?;
        set.context.hub.waiting.remove_set(set.set)?;
        // SAFETY: of this library, and the caller gives it up.
        drop(unsafe { destroy(wait_set) }?);
        Ok(())
    }
}

functions! {
    /// Waits until something is there to take, a guard condition was triggered, the time is over,
    /// or the context is shut down. What has nothing becomes null in the lists.
    ///
    /// Allocates if there are more conditions than in any wait with this set before, or if one is
    /// of another context than the set.
    fn rmw_wait(
        subscriptions: *mut Subscriptions,
        guard_conditions: *mut GuardConditions,
        services: *mut Services,
        clients: *mut Clients,
        events: *mut Events,
        wait_set: *mut WaitSet,
        wait_timeout: *const Time,
    ) {
        given(wait_set.cast_const(), "wait_set")?;
        // SAFETY: a wait set (caller).
        let set = unsafe { data(wait_set.cast_const(), "wait_set") }?;
        // SAFETY: null or a time (caller).
        let timeout = unsafe { wait_timeout.as_ref() }.map(|time| duration(*time));
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        // SAFETY: null, or lists of conditions that this process has made (caller).
        let lists = unsafe {
            Conditions::of(subscriptions, guard_conditions, services, clients, events)
        };
        let Ok(mut kept) = set.lists.try_lock() else {
            return Err(crate::waiting::WaitError::InUse.into());
        };
        let Lists { members, fired } = &mut *kept;
        members.clear();
        fired.clear();
        let mut is_across = false;
        // SAFETY: as above.
        unsafe { lists.each(|hub, entity, _| {
            is_across |= !Arc::ptr_eq(hub, &set.context.hub);
            members.push(entity);
            Ok(())
        }) }?;
        if is_across {
            // SAFETY: as above.
            return unsafe { wait_across(&lists, deadline) };
        }
        set.context.hub.waiting.wait(set.set, members, deadline, fired)?;
        // SAFETY: as above.
        unsafe { lists.each(|_, entity, place| {
            if !fired.contains(&entity) {
                *place = std::ptr::null_mut();
            }
            Ok(())
        }) }?;
        ending(!fired.is_empty(), deadline)
    }
}

/// A wait for conditions of several contexts, or of another one than the wait set's.
///
/// # Safety
///
/// As [`Conditions::each`].
unsafe fn wait_across(lists: &Conditions, deadline: Option<Instant>) -> Result<(), Failure> {
    let mut across = Across::default();
    // SAFETY: as the caller says.
    unsafe {
        lists.each(|hub, entity, _| {
            across.add(hub, entity);
            Ok(())
        })
    }?;
    let has_any = across.wait(deadline)?;
    // SAFETY: as above.
    unsafe {
        lists.each(|hub, entity, place| {
            if !across.has_fired(hub, entity) {
                *place = std::ptr::null_mut();
            }
            Ok(())
        })
    }?;
    ending(has_any, deadline)
}

/// How a wait ends. The shutdown of a context ends one with nothing before its time is over, and
/// client libraries bear that, but no time-out of a wait that has no limit.
fn ending(has_any: bool, deadline: Option<Instant>) -> Result<(), Failure> {
    let is_over = deadline.is_some_and(|deadline| deadline <= Instant::now());
    if !has_any && is_over { Err(Failure::TimedOut) } else { Ok(()) }
}

/// The lists of a wait.
struct Conditions {
    subscriptions: List,
    guard_conditions: List,
    services: List,
    clients: List,
    events: List,
}

/// A condition: what its threads wait with, and its number there.
type Found<'a> = (&'a Arc<Hub>, EntityId);

/// As many conditions as a list of C has.
#[derive(Clone, Copy)]
struct List {
    first: *mut *mut c_void,
    count: usize,
}

/// The list of a struct of C, which may be null.
macro_rules! list {
    ($from:expr, $first:ident, $count:ident) => {{
        // SAFETY: null or valid, as the caller says.
        let list = unsafe { $from.as_ref() };
        list.map_or(List { first: std::ptr::null_mut(), count: 0 }, |list| List {
            first: list.$first,
            count: list.$count,
        })
    }};
}

impl Conditions {
    /// # Safety
    ///
    /// Each pointer is null or valid.
    unsafe fn of(
        subscriptions: *const Subscriptions,
        guard_conditions: *const GuardConditions,
        services: *const Services,
        clients: *const Clients,
        events: *const Events,
    ) -> Self {
        Self {
            subscriptions: list!(subscriptions, subscribers, subscriber_count),
            guard_conditions: list!(guard_conditions, guard_conditions, guard_condition_count),
            services: list!(services, services, service_count),
            clients: list!(clients, clients, client_count),
            events: list!(events, events, event_count),
        }
    }

    /// Calls `each` with every condition: its context, its entity, and its place in the list.
    ///
    /// # Safety
    ///
    /// The lists are valid, and each place is null or what its kind of handle stands for.
    unsafe fn each(
        &self,
        mut each: impl FnMut(&Arc<Hub>, EntityId, &mut *mut c_void) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // SAFETY: a list of what subscriptions stand for (caller).
        unsafe { self.subscriptions.each(port_of::<Subscription>, &mut each) }?;
        // SAFETY: a list of what guard conditions stand for (caller).
        unsafe { self.guard_conditions.each(guard_of, &mut each) }?;
        // SAFETY: a list of what services stand for (caller).
        unsafe { self.services.each(port_of::<Service>, &mut each) }?;
        // SAFETY: a list of what clients stand for (caller).
        unsafe { self.clients.each(port_of::<Client>, &mut each) }?;
        // SAFETY: a list of events (caller).
        unsafe { self.events.each(event_of, &mut each) }
    }
}

impl List {
    /// # Safety
    ///
    /// The list is valid, and each place is null or what `find` takes.
    unsafe fn each<'a>(
        self,
        find: unsafe fn(*mut c_void) -> Result<Found<'a>, Failure>,
        each: &mut impl FnMut(&Arc<Hub>, EntityId, &mut *mut c_void) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.first.is_null() {
            return Ok(());
        }
        // SAFETY: as many places lie there, the caller's alone.
        let places = unsafe { std::slice::from_raw_parts_mut(self.first, self.count) };
        for place in places.iter_mut().filter(|place| !place.is_null()) {
            // SAFETY: not null, so of this kind (caller).
            let (hub, entity) = unsafe { find(*place) }?;
            each(hub, entity, place)?;
        }
        Ok(())
    }
}

/// # Safety
///
/// What a subscription, client or service of this library stands for lies there.
unsafe fn port_of<'a, P: Rings + 'static>(from: *mut c_void) -> Result<Found<'a>, Failure> {
    // SAFETY: as the caller says.
    let port = unsafe { &*from.cast::<Registered<P>>() };
    Ok((&port.context.hub, port.entity))
}

/// # Safety
///
/// What a guard condition of this library stands for lies there.
unsafe fn guard_of<'a>(from: *mut c_void) -> Result<Found<'a>, Failure> {
    // SAFETY: as the caller says.
    let guard = unsafe { &*from.cast::<Guard>() };
    Ok((&guard.context.hub, guard.entity))
}

/// # Safety
///
/// An event of C lies there.
unsafe fn event_of<'a>(from: *mut c_void) -> Result<Found<'a>, Failure> {
    let from = from.cast::<Event>().cast_const();
    // SAFETY: as the caller says.
    let (happenings, kind) = unsafe { super::events::event(from) }?;
    let what = "it was not initialised";
    let entity = happenings.entity(kind).ok_or(Failure::Argument { name: "events", what })?;
    Ok((happenings.hub(), entity))
}
