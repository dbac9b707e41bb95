//! Events of publishers and subscriptions, and callbacks of all ports.

use super::functions;
use super::handles::{IDENTIFIER, data, given, handle, out, set};
use crate::abi::current::{EVENTS, Subscription};
use crate::abi::shared::{
    Client, CountStatus, Event, EventCallback, LivelinessChangedStatus, MatchedStatus,
    MessageLostStatus, Publisher, QosIncompatibleStatus, Service,
};
use crate::callbacks::Callback;
use crate::failure::Failure;
use crate::ports::events::{EventKind, Happenings, Status};
use crate::qos::policy_kind;
use std::ffi::c_void;
use std::sync::Arc;

const UNSUPPORTED: Failure = Failure::Unsupported {
    what: "the event: rmw_crossdock has none of that kind for this end of a topic",
};

/// Whether an event can be asked for. From Jazzy on.
#[unsafe(no_mangle)]
pub extern "C" fn rmw_event_type_is_supported(event_type: u32) -> bool {
    kind_of(event_type).is_some()
}

functions! {
    /// Makes an event of a publisher. Allocates.
    fn rmw_publisher_event_init(event: *mut Event, publisher: *const Publisher, event_type: u32) {
        given(event.cast_const(), "rmw_event")?;
        // SAFETY: null or a publisher (caller).
        let port = unsafe { data(publisher, "publisher") }?;
        let kind = name_of(event_type).and_then(EventKind::of_publisher).ok_or(UNSUPPORTED)?;
        // SAFETY: a zeroed event (caller).
        unsafe { init(event, &port.happenings, kind, event_type) }
    }

    /// Makes an event of a subscription. Allocates.
    fn rmw_subscription_event_init(
        event: *mut Event,
        subscription: *const Subscription,
        event_type: u32,
    ) {
        given(event.cast_const(), "rmw_event")?;
        // SAFETY: null or a subscription (caller).
        let port = &unsafe { data(subscription, "subscription") }?.port;
        let kind = name_of(event_type).and_then(EventKind::of_subscription).ok_or(UNSUPPORTED)?;
        // SAFETY: a zeroed event (caller).
        unsafe { init(event, &port.happenings, kind, event_type) }
    }

    /// Takes the status of an event, and what has changed since it was taken the last time.
    fn rmw_take_event(event_handle: *const Event, event_info: *mut c_void, taken: *mut bool) {
        // SAFETY: null or an event (caller).
        let (happenings, kind) = unsafe { event(event_handle) }?;
        given(event_info.cast_const(), "event_info")?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = false;
        // SAFETY: the status of this kind of event lies there (caller).
        unsafe { write(happenings.take(kind), event_info) };
        *taken = true;
        Ok(())
    }

    /// Sets what is called for each event, or ends it (null).
    fn rmw_event_set_callback(
        event_handle: *mut Event,
        callback: EventCallback,
        user_data: *const c_void,
    ) {
        // SAFETY: null or an event (caller).
        let event = unsafe { event(event_handle.cast_const()) };
        let set = event.and_then(|(happenings, kind)| {
            happenings.set_callback(kind, of_c(callback, user_data))
        });
        ended(callback, set)
    }

    /// Sets what is called for each message, or ends it (null).
    fn rmw_subscription_set_on_new_message_callback(
        subscription: *mut Subscription,
        callback: EventCallback,
        user_data: *const c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription.cast_const(), "subscription") };
        ended(callback, port.and_then(|port| port.set_callback(of_c(callback, user_data))))
    }

    /// Sets what is called for each request, or ends it (null).
    fn rmw_service_set_on_new_request_callback(
        service: *mut Service,
        callback: EventCallback,
        user_data: *const c_void,
    ) {
        // SAFETY: null or a service (caller).
        let port = unsafe { data(service.cast_const(), "service") };
        ended(callback, port.and_then(|port| port.set_callback(of_c(callback, user_data))))
    }

    /// Sets what is called for each response, or ends it (null).
    fn rmw_client_set_on_new_response_callback(
        client: *mut Client,
        callback: EventCallback,
        user_data: *const c_void,
    ) {
        // SAFETY: null or a client (caller).
        let port = unsafe { data(client.cast_const(), "client") };
        ended(callback, port.and_then(|port| port.set_callback(of_c(callback, user_data))))
    }
}

/// Nobody is called in a forked child: a callback has ended there. Ending it is no failure, which
/// destructors of client libraries would throw.
fn ended(callback: EventCallback, set: Result<(), Failure>) -> Result<(), Failure> {
    match set {
        Err(Failure::Forked) if callback.is_none() => Ok(()),
        set => set,
    }
}

fn name_of(event_type: u32) -> Option<&'static str> {
    let known = EVENTS.iter().find(|(_, number)| *number == i64::from(event_type));
    known.map(|(name, _)| *name)
}

/// # Safety
///
/// The event is valid for writing, and zero.
unsafe fn init(
    event: *mut Event,
    happenings: &Arc<Happenings>,
    kind: EventKind,
    event_type: u32,
) -> Result<(), Failure> {
    // SAFETY: valid (caller).
    if !unsafe { (*event).implementation_identifier }.is_null() {
        let what = "it is initialised already: finalise it first";
        return Err(Failure::Argument { name: "rmw_event", what });
    }
    happenings.watch(kind);
    let made = Event {
        implementation_identifier: IDENTIFIER.as_ptr(),
        // The port keeps them; an event does not outlive its port.
        data: Arc::as_ptr(happenings).cast_mut().cast(),
        event_type,
    };
    // SAFETY: valid for writing (caller).
    unsafe { set(event, made) };
    Ok(())
}

/// What an event stands for.
///
/// # Safety
///
/// The pointer is null or an event whose port is there during `'a`.
pub(super) unsafe fn event<'a>(
    pointer: *const Event,
) -> Result<(&'a Happenings, EventKind), Failure> {
    // SAFETY: null or an event (caller).
    let known = unsafe { handle(pointer, "rmw_event") }?;
    // SAFETY: as above.
    let happenings = unsafe { data(pointer, "rmw_event") }?;
    Ok((happenings, kind_of(known.event_type).ok_or(UNSUPPORTED)?))
}

/// The kind of an event of either side; `None`: it cannot be asked for.
fn kind_of(event_type: u32) -> Option<EventKind> {
    let name = name_of(event_type)?;
    EventKind::of_publisher(name).or_else(|| EventKind::of_subscription(name))
}

/// Statuses count in `int32_t`.
fn count(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// # Safety
///
/// There is room for the status of C of this kind.
unsafe fn write(status: Status, to: *mut c_void) {
    match status {
        Status::Matched(matched) => {
            let status = MatchedStatus {
                total_count: matched.total as usize,
                total_count_change: matched.total_change as usize,
                current_count: matched.current as usize,
                current_count_change: change(matched.current_change),
            };
            // SAFETY: as the caller says.
            unsafe { set(to.cast(), status) };
        }
        Status::Liveliness(found) => {
            let status = LivelinessChangedStatus {
                alive_count: count(found.alive),
                not_alive_count: count(found.not_alive),
                alive_count_change: change(found.alive_change),
                not_alive_count_change: change(found.not_alive_change),
            };
            // SAFETY: as the caller says.
            unsafe { set(to.cast(), status) };
        }
        Status::IncompatibleQos(found) => {
            let status = QosIncompatibleStatus {
                total_count: count(found.count.total),
                total_count_change: count(found.count.change),
                // `RMW_QOS_POLICY_INVALID`: there was none.
                last_policy_kind: found.last.map_or(1, policy_kind),
            };
            // SAFETY: as the caller says.
            unsafe { set(to.cast(), status) };
        }
        Status::Count(found) => {
            let (total_count, total_count_change) = (count(found.total), count(found.change));
            // SAFETY: as the caller says.
            unsafe { set(to.cast(), CountStatus { total_count, total_count_change }) };
        }
        Status::Lost(found) => {
            let status = MessageLostStatus {
                total_count: found.total as usize,
                total_count_change: found.change as usize,
            };
            // SAFETY: as the caller says.
            unsafe { set(to.cast(), status) };
        }
    }
}

fn change(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX })
}

/// A callback of C and what it is called with.
fn of_c(callback: EventCallback, user_data: *const c_void) -> Option<Callback> {
    let callback = callback?;
    let user_data = UserData(user_data);
    Some(Box::new(move |count| {
        // The whole value moves here, not the pointer alone, which no thread may be given.
        let UserData(pointer) = &user_data;
        // SAFETY: the caller of the API has given both, until the callback is ended.
        unsafe { callback(*pointer, count) };
    }))
}

struct UserData(*const c_void);

// SAFETY: only the callback of C follows it, which any thread may call.
unsafe impl Send for UserData {}
