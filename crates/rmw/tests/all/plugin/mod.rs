//! The plug-in as ROS 2's client libraries load it: from the built library, by the names of its
//! functions, with prototypes declared here.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "every call of the API is one, and tests make many in a row"
)]

mod allocation;
mod api;
mod arguments;
mod calls;
mod damaged;
mod ends;
mod graph;
mod lives;
mod messages;
mod processes;
mod waits;

use crate::rosidl::{Types, types};
use api::Api;
use rmw_crossdock::abi::current::{
    Context, GuardCondition, InitOptions, MessageSupport, Node, ServiceMembers, ServiceSupport,
    Subscription, SubscriptionOptions,
};
use rmw_crossdock::abi::shared::{
    Allocator, Client, Clients, Event, Events, Function, GuardConditions, Publisher,
    PublisherOptions, QosProfile, RMW_RET_OK, RMW_RET_TIMEOUT, Ret, Service, Services,
    Subscriptions, Time, WaitSet,
};
use rmw_crossdock::introspection::Language;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// No test waits longer; none that passes waits nearly as long.
const PATIENCE: Time = Time { sec: 20, nsec: 0 };
const NO_TIME: Time = Time { sec: 0, nsec: 0 };

/// `rmw_qos_profile_default`.
const DEFAULT: QosProfile = QosProfile {
    history: 1,
    depth: 10,
    reliability: 1,
    durability: 2,
    deadline: NO_TIME,
    lifespan: NO_TIME,
    liveliness: 0,
    liveliness_lease_duration: NO_TIME,
    avoid_ros_namespace_conventions: false,
};

/// A plain type without bools, and what a program has of it.
const PLAIN: &str = "geometry_msgs/msg/PoseWithCovariance";
type Plain = [f64; 43];

const IMAGE: &str = "sensor_msgs/msg/Image";

unsafe extern "C" fn allocate(bytes: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: malloc takes any size.
    unsafe { libc::malloc(bytes) }
}

unsafe extern "C" fn deallocate(memory: *mut c_void, _: *mut c_void) {
    // SAFETY: memory of this allocator.
    unsafe { libc::free(memory) };
}

unsafe extern "C" fn reallocate(memory: *mut c_void, bytes: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: memory of this allocator.
    unsafe { libc::realloc(memory, bytes) }
}

unsafe extern "C" fn zero_allocate(count: usize, bytes: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: calloc takes any size.
    unsafe { libc::calloc(count, bytes) }
}

/// `rcutils_get_default_allocator`.
const ALLOCATOR: Allocator = Allocator {
    allocate: Some(allocate),
    deallocate: Some(deallocate),
    reallocate: Some(reallocate),
    zero_allocate: Some(zero_allocate),
    state: null_mut(),
};

/// A struct of C whose bytes are zero, as ROS has its handles before they are initialised.
fn zeroed<T>() -> T {
    // SAFETY: used for structs of numbers, pointers and optional functions.
    unsafe { std::mem::zeroed() }
}

/// The plug-in, and the processes of this test alone in its domains.
fn plugin() -> &'static Api {
    static PLUGIN: OnceLock<Api> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        if std::env::var_os("CROSSDOCK_RENDEZVOUS").is_none() {
            let folder = std::env::temp_dir().join(format!("crossdock-rmw-{}", std::process::id()));
            // SAFETY: tests of this program read the environment through std alone.
            unsafe { std::env::set_var("CROSSDOCK_RENDEZVOUS", folder) };
            // SAFETY: a function that takes nothing.
            unsafe { libc::atexit(remove_rendezvous) };
        }
        Api::load()
    })
}

extern "C" fn remove_rendezvous() {
    if let Some(folder) = std::env::var_os("CROSSDOCK_RENDEZVOUS") {
        // What cannot be removed is left.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// A domain that no other test uses.
fn own_domain() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn text(from: &str) -> CString {
    CString::new(from).unwrap()
}

/// A context with one node.
struct Ros {
    api: &'static Api,
    types: &'static Types,
    options: Box<InitOptions>,
    context: Box<Context>,
    node: *mut Node,
}

impl Ros {
    /// `None`: the test is skipped, because there is no type support.
    fn new(domain: usize, node: &str) -> Option<Self> {
        Self::of(plugin(), domain, node)
    }

    fn of(api: &'static Api, domain: usize, node: &str) -> Option<Self> {
        let types = types()?;
        let mut options = Box::new(zeroed::<InitOptions>());
        let mut context = Box::new(zeroed::<Context>());
        // SAFETY: as the API asks, here and below.
        assert_eq!(unsafe { (api.rmw_init_options_init)(&mut *options, ALLOCATOR) }, RMW_RET_OK);
        options.domain_id = domain;
        // SAFETY: a text, copied by malloc.
        options.enclave = unsafe { libc::strdup(c"/".as_ptr()) };
        // SAFETY: see above.
        assert_eq!(unsafe { (api.rmw_init)(&*options, &mut *context) }, RMW_RET_OK);
        let name = text(node);
        // SAFETY: see above.
        let node = unsafe { (api.rmw_create_node)(&mut *context, name.as_ptr(), c"/".as_ptr()) };
        assert!(!node.is_null(), "a node");
        Some(Self { api, types, options, context, node })
    }

    fn support(&self, language: Language, name: &str) -> *const MessageSupport {
        self.types.current(language, name)
    }

    fn publisher(
        &self,
        topic: &str,
        support: *const MessageSupport,
        qos: &QosProfile,
    ) -> *mut Publisher {
        let options = PublisherOptions {
            rmw_specific_publisher_payload: null_mut(),
            require_unique_network_flow_endpoints: 0,
        };
        let topic = text(topic);
        // SAFETY: as the API asks.
        let made = unsafe {
            (self.api.rmw_create_publisher)(self.node, support, topic.as_ptr(), qos, &options)
        };
        assert!(!made.is_null(), "a publisher");
        made
    }

    fn subscription(
        &self,
        topic: &str,
        support: *const MessageSupport,
        qos: &QosProfile,
        options: &SubscriptionOptions,
    ) -> *mut Subscription {
        let topic = text(topic);
        // SAFETY: as the API asks.
        let made = unsafe {
            (self.api.rmw_create_subscription)(self.node, support, topic.as_ptr(), qos, options)
        };
        assert!(!made.is_null(), "a subscription");
        made
    }

    fn client(&self, service: &str) -> *mut Client {
        self.client_with(service, &DEFAULT)
    }

    fn client_with(&self, service: &str, profile: &QosProfile) -> *mut Client {
        let name = text(service);
        let support = service_support(self.types);
        // SAFETY: as the API asks.
        let made =
            unsafe { (self.api.rmw_create_client)(self.node, support, name.as_ptr(), profile) };
        assert!(!made.is_null(), "a client");
        made
    }

    fn service(&self, service: &str) -> *mut Service {
        self.service_with(service, &DEFAULT)
    }

    fn service_with(&self, service: &str, profile: &QosProfile) -> *mut Service {
        let name = text(service);
        let support = service_support(self.types);
        // SAFETY: as the API asks.
        let made =
            unsafe { (self.api.rmw_create_service)(self.node, support, name.as_ptr(), profile) };
        assert!(!made.is_null(), "a service");
        made
    }

    fn guard(&mut self) -> *mut GuardCondition {
        // SAFETY: as the API asks.
        let made = unsafe { (self.api.rmw_create_guard_condition)(&mut *self.context) };
        assert!(!made.is_null(), "a guard condition");
        made
    }

    fn wait_set(&mut self) -> *mut WaitSet {
        // SAFETY: as the API asks.
        let made = unsafe { (self.api.rmw_create_wait_set)(&mut *self.context, 8) };
        assert!(!made.is_null(), "a wait set");
        made
    }

    /// Waits once. Which of the conditions have something, in the order in which they are given.
    fn wait(&self, set: *mut WaitSet, on: &On, timeout: Time) -> Vec<bool> {
        let (ret, fired) = self.wait_or_end(set, on, timeout);
        let wanted = if fired.contains(&true) { RMW_RET_OK } else { RMW_RET_TIMEOUT };
        assert_eq!(ret, wanted);
        fired
    }

    /// The same, in a context that may be shut down, and what the function answers.
    fn wait_or_end(&self, set: *mut WaitSet, on: &On, timeout: Time) -> (Ret, Vec<bool>) {
        let mut lists = on.lists();
        let [subscribers, guards, services, clients, events] = &mut lists;
        let mut subscriptions = Subscriptions {
            subscriber_count: subscribers.len(),
            subscribers: subscribers.as_mut_ptr(),
        };
        let mut guards = GuardConditions {
            guard_condition_count: guards.len(),
            guard_conditions: guards.as_mut_ptr(),
        };
        let mut services =
            Services { service_count: services.len(), services: services.as_mut_ptr() };
        let mut clients = Clients { client_count: clients.len(), clients: clients.as_mut_ptr() };
        let mut events = Events { event_count: events.len(), events: events.as_mut_ptr() };
        // SAFETY: as the API asks.
        let ret = unsafe {
            (self.api.rmw_wait)(
                &mut subscriptions,
                &mut guards,
                &mut services,
                &mut clients,
                &mut events,
                set,
                &timeout,
            )
        };
        (ret, lists.iter().flatten().map(|place| !place.is_null()).collect())
    }

    /// Waits until one condition has something.
    fn wait_for(&self, set: *mut WaitSet, on: &On) {
        assert_eq!(self.wait(set, on, PATIENCE), [true]);
    }

    /// Looks again and again, whenever something happens to the port, until `is_met` holds.
    #[track_caller]
    fn until(&self, mut is_met: impl FnMut() -> bool) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(PATIENCE.sec);
        while !is_met() {
            assert!(std::time::Instant::now() < end, "nothing happens");
            std::thread::yield_now();
        }
    }

    fn matched(&self, publisher: *const Publisher) -> usize {
        let mut count = usize::MAX;
        // SAFETY: as the API asks.
        let ret =
            unsafe { (self.api.rmw_publisher_count_matched_subscriptions)(publisher, &mut count) };
        assert_eq!(ret, RMW_RET_OK);
        count
    }

    fn publish(&self, publisher: *const Publisher, message: *const c_void) {
        // SAFETY: as the API asks.
        assert_eq!(unsafe { (self.api.rmw_publish)(publisher, message, null_mut()) }, RMW_RET_OK);
    }

    /// Takes a message; whether there was one.
    fn take(&self, subscription: *const Subscription, message: *mut c_void) -> bool {
        let mut taken = false;
        // SAFETY: as the API asks.
        let ret = unsafe { (self.api.rmw_take)(subscription, message, &mut taken, null_mut()) };
        assert_eq!(ret, RMW_RET_OK);
        taken
    }
}

impl Drop for Ros {
    fn drop(&mut self) {
        // SAFETY: as the API asks; ports that tests leave keep what they need.
        unsafe {
            (self.api.rmw_destroy_node)(self.node);
            (self.api.rmw_shutdown)(&mut *self.context);
            (self.api.rmw_context_fini)(&mut *self.context);
            (self.api.rmw_init_options_fini)(&mut *self.options);
        }
    }
}

/// What a wait is for.
#[derive(Default)]
struct On {
    subscriptions: Vec<*mut Subscription>,
    guards: Vec<*mut GuardCondition>,
    services: Vec<*mut Service>,
    clients: Vec<*mut Client>,
    events: Vec<*mut Event>,
}

impl On {
    fn lists(&self) -> [Vec<*mut c_void>; 5] {
        // SAFETY: handles of the plug-in, here and below.
        [
            self.subscriptions.iter().map(|it| unsafe { (**it).data }).collect(),
            self.guards.iter().map(|it| unsafe { (**it).data }).collect(),
            self.services.iter().map(|it| unsafe { (**it).data }).collect(),
            self.clients.iter().map(|it| unsafe { (**it).data }).collect(),
            self.events.iter().map(|it| it.cast()).collect(),
        ]
    }
}

fn options() -> SubscriptionOptions {
    zeroed()
}

/// Type support of a service whose request and response have the members of [`PLAIN`]. Never freed.
fn service_support(types: &Types) -> *const ServiceSupport {
    use rmw_crossdock::abi::current::MessageMembers;
    let message = types.current(Language::C, PLAIN);
    let named = |name: &'static CStr| -> *const MessageMembers {
        // SAFETY: the members of a type support, whose copy has another name.
        let members = unsafe { (*message).data.cast::<MessageMembers>().read() };
        Box::leak(Box::new(MessageMembers {
            message_namespace_: c"example__srv".as_ptr(),
            message_name_: name.as_ptr(),
            ..members
        }))
    };
    let mut members: ServiceMembers = zeroed();
    members.service_namespace_ = c"example__srv".as_ptr();
    members.service_name_ = c"Move".as_ptr();
    members.request_members_ = named(c"Move_Request");
    members.response_members_ = named(c"Move_Response");
    let mut support: ServiceSupport = zeroed();
    // SAFETY: the type support of a message; that of a service begins alike.
    support.typesupport_identifier = unsafe { (*message).typesupport_identifier };
    support.data = std::ptr::from_ref(Box::leak(Box::new(members))).cast();
    // SAFETY: only the number of arguments counts; it is called as what it is.
    support.func = unsafe { std::mem::transmute::<*const c_void, Function>(same as *const c_void) };
    Box::leak(Box::new(support))
}

/// Gives the type support if it is of the language that is asked for, as rosidl's function does.
extern "C" fn same(
    support: *const ServiceSupport,
    identifier: *const c_char,
) -> *const ServiceSupport {
    // SAFETY: a type support that was made here.
    let own = unsafe { (*support).typesupport_identifier };
    // SAFETY: two texts of C.
    let is_same = unsafe { libc::strcmp(own, identifier) } == 0;
    if is_same { support } else { null() }
}
