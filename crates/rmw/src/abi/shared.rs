//! What is the same in every distribution: rcutils, strings and sequences of C messages, and most
//! of rmw.

#![allow(missing_docs, reason = "types, fields and constants are named as in C")]

use std::ffi::{c_char, c_void};

/// A function whose type only its user knows.
pub type Function = Option<unsafe extern "C" fn()>;

/// What every function of rmw returns.
pub type Ret = i32;
super::constants! {
    /// What functions of rmw return.
    RESULTS: Ret {
        RMW_RET_OK = 0,
        RMW_RET_ERROR = 1,
        RMW_RET_TIMEOUT = 2,
        RMW_RET_UNSUPPORTED = 3,
        RMW_RET_BAD_ALLOC = 10,
        RMW_RET_INVALID_ARGUMENT = 11,
        RMW_RET_INCORRECT_RMW_IMPLEMENTATION = 12,
        RMW_RET_NODE_NAME_NON_EXISTENT = 203,
    }
}

pub const RCUTILS_ERROR_STATE_MESSAGE_MAX_LENGTH: usize = 768;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Allocator {
    pub allocate: Option<unsafe extern "C" fn(usize, *mut c_void) -> *mut c_void>,
    pub deallocate: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub reallocate: Option<unsafe extern "C" fn(*mut c_void, usize, *mut c_void) -> *mut c_void>,
    pub zero_allocate: Option<unsafe extern "C" fn(usize, usize, *mut c_void) -> *mut c_void>,
    pub state: *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct StringArray {
    pub size: usize,
    pub data: *mut *mut c_char,
    pub allocator: Allocator,
}

/// `rcutils_uint8_array_t`, which is `rmw_serialized_message_t`.
#[derive(Debug)]
#[repr(C)]
pub struct SerializedMessage {
    pub buffer: *mut u8,
    pub buffer_length: usize,
    pub buffer_capacity: usize,
    pub allocator: Allocator,
}

/// A text of a C message; `capacity` counts the NUL byte behind it.
#[derive(Debug)]
#[repr(C)]
pub struct CString {
    pub data: *mut u8,
    pub size: usize,
    pub capacity: usize,
}

/// A wide text of a C message; `capacity` counts the zero behind it.
#[derive(Debug)]
#[repr(C)]
pub struct CWideString {
    pub data: *mut u16,
    pub size: usize,
    pub capacity: usize,
}

/// The head of every sequence of a C message. In Lyrical two flags follow in those of numbers and
/// texts.
#[derive(Debug)]
#[repr(C)]
pub struct CSequence {
    pub data: *mut c_void,
    pub size: usize,
    pub capacity: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Time {
    pub sec: u64,
    pub nsec: u64,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct QosProfile {
    pub history: u32,
    pub depth: usize,
    pub reliability: u32,
    pub durability: u32,
    pub deadline: Time,
    pub lifespan: Time,
    pub liveliness: u32,
    pub liveliness_lease_duration: Time,
    pub avoid_ros_namespace_conventions: bool,
}

/// `RMW_SECURITY_ENFORCEMENT_ENFORCE`.
pub const SECURITY_ENFORCE: u32 = 1;

#[derive(Debug)]
#[repr(C)]
pub struct SecurityOptions {
    pub enforce_security: u32,
    pub security_root_path: *mut c_char,
}

/// From Jazzy on.
#[derive(Debug)]
#[repr(C)]
pub struct DiscoveryOptions {
    pub automatic_discovery_range: u32,
    pub static_peers: *mut [c_char; 256],
    pub static_peers_count: usize,
    pub allocator: Allocator,
}

/// `C` is the distribution's context.
#[derive(Debug)]
#[repr(C)]
pub struct Node<C> {
    pub implementation_identifier: *const c_char,
    pub data: *mut c_void,
    pub name: *const c_char,
    pub namespace_: *const c_char,
    pub context: *mut C,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PublisherOptions {
    pub rmw_specific_publisher_payload: *mut c_void,
    pub require_unique_network_flow_endpoints: u32,
}

#[derive(Debug)]
#[repr(C)]
pub struct Publisher {
    pub implementation_identifier: *const c_char,
    pub data: *mut c_void,
    pub topic_name: *const c_char,
    pub options: PublisherOptions,
    pub can_loan_messages: bool,
}

#[derive(Debug)]
#[repr(C)]
pub struct ContentFilterOptions {
    pub filter_expression: *mut c_char,
    pub expression_parameters: StringArray,
}

#[derive(Debug)]
#[repr(C)]
pub struct Service {
    pub implementation_identifier: *const c_char,
    pub data: *mut c_void,
    pub service_name: *const c_char,
}

#[derive(Debug)]
#[repr(C)]
pub struct Client {
    pub implementation_identifier: *const c_char,
    pub data: *mut c_void,
    pub service_name: *const c_char,
}

/// `C` is the distribution's context.
#[derive(Debug)]
#[repr(C)]
pub struct GuardCondition<C> {
    pub implementation_identifier: *const c_char,
    pub data: *mut c_void,
    pub context: *mut C,
}

#[derive(Debug)]
#[repr(C)]
pub struct Subscriptions {
    pub subscriber_count: usize,
    pub subscribers: *mut *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct Services {
    pub service_count: usize,
    pub services: *mut *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct Clients {
    pub client_count: usize,
    pub clients: *mut *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct Events {
    pub event_count: usize,
    pub events: *mut *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct GuardConditions {
    pub guard_condition_count: usize,
    pub guard_conditions: *mut *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct WaitSet {
    pub implementation_identifier: *const c_char,
    pub guard_conditions: *mut GuardConditions,
    pub data: *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct Event {
    pub implementation_identifier: *const c_char,
    pub data: *mut c_void,
    pub event_type: u32,
}

pub type EventCallback = Option<unsafe extern "C" fn(*const c_void, usize)>;

#[derive(Debug)]
#[repr(C)]
pub struct NamesAndTypes {
    pub names: StringArray,
    pub types: *mut StringArray,
}

#[derive(Debug)]
#[repr(C)]
pub struct MessageSequence {
    pub data: *mut *mut c_void,
    pub size: usize,
    pub capacity: usize,
    pub allocator: *mut Allocator,
}

#[derive(Debug)]
#[repr(C)]
pub struct MessageInfoSequence<I> {
    pub data: *mut I,
    pub size: usize,
    pub capacity: usize,
    pub allocator: *mut Allocator,
}

#[derive(Debug)]
#[repr(C)]
pub struct EndpointInfoArray<I> {
    pub size: usize,
    pub info_array: *mut I,
}

#[derive(Debug)]
#[repr(C)]
pub struct NetworkFlowEndpointArray {
    pub size: usize,
    pub network_flow_endpoint: *mut c_void,
    pub allocator: *mut Allocator,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LivelinessChangedStatus {
    pub alive_count: i32,
    pub not_alive_count: i32,
    pub alive_count_change: i32,
    pub not_alive_count_change: i32,
}

/// Of deadlines missed, liveliness lost and types that do not fit.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CountStatus {
    pub total_count: i32,
    pub total_count_change: i32,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct QosIncompatibleStatus {
    pub total_count: i32,
    pub total_count_change: i32,
    pub last_policy_kind: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MessageLostStatus {
    pub total_count: usize,
    pub total_count_change: usize,
}

/// From Jazzy on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MatchedStatus {
    pub total_count: usize,
    pub total_count_change: usize,
    pub current_count: usize,
    pub current_count_change: i32,
}

/// From Jazzy on: version 1 and the 32 bytes of a RIHS01 hash.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TypeHash {
    pub version: u8,
    pub value: [u8; 32],
}

super::constants! {
    /// Types of members, the same in C and C++.
    MEMBER_TYPES: u8 {
        ROS_TYPE_FLOAT = 1,
        ROS_TYPE_DOUBLE = 2,
        ROS_TYPE_LONG_DOUBLE = 3,
        ROS_TYPE_CHAR = 4,
        ROS_TYPE_WCHAR = 5,
        ROS_TYPE_BOOLEAN = 6,
        ROS_TYPE_OCTET = 7,
        ROS_TYPE_UINT8 = 8,
        ROS_TYPE_INT8 = 9,
        ROS_TYPE_UINT16 = 10,
        ROS_TYPE_INT16 = 11,
        ROS_TYPE_UINT32 = 12,
        ROS_TYPE_INT32 = 13,
        ROS_TYPE_UINT64 = 14,
        ROS_TYPE_INT64 = 15,
        ROS_TYPE_STRING = 16,
        ROS_TYPE_WSTRING = 17,
        ROS_TYPE_MESSAGE = 18,
    }
}

super::constants! {
    /// Policies of quality of service, and kinds of endpoints.
    POLICIES: u32 {
        RMW_QOS_POLICY_RELIABILITY_RELIABLE = 1,
        RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT = 2,
        RMW_QOS_POLICY_RELIABILITY_UNKNOWN = 3,
        RMW_QOS_POLICY_HISTORY_KEEP_LAST = 1,
        RMW_QOS_POLICY_HISTORY_KEEP_ALL = 2,
        RMW_QOS_POLICY_HISTORY_UNKNOWN = 3,
        RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL = 1,
        RMW_QOS_POLICY_DURABILITY_VOLATILE = 2,
        RMW_QOS_POLICY_DURABILITY_UNKNOWN = 3,
        RMW_QOS_POLICY_LIVELINESS_AUTOMATIC = 1,
        RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC = 3,
        RMW_QOS_POLICY_LIVELINESS_UNKNOWN = 4,
        RMW_ENDPOINT_PUBLISHER = 1,
        RMW_ENDPOINT_SUBSCRIPTION = 2,
    }
}

super::constants! {
    /// From Jazzy on.
    POLICIES_FROM_JAZZY: u32 {
        RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE = 4,
        RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE = 4,
        RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE = 5,
    }
}

super::layouts! {
    /// Sizes and offsets of the types of this module, as C has them.
    "rcutils_allocator_t", Allocator, 40, {
        allocate = 0, deallocate = 8, reallocate = 16, zero_allocate = 24, state = 32,
    }
    "rcutils_string_array_t", StringArray, 56, {
        size = 0, data = 8, allocator = 16,
    }
    "rcutils_uint8_array_t", SerializedMessage, 64, {
        buffer = 0, buffer_length = 8, buffer_capacity = 16, allocator = 24,
    }
    "rosidl_runtime_c__String", CString, 24, {
        data = 0, size = 8, capacity = 16,
    }
    "rosidl_runtime_c__U16String", CWideString, 24, {
        data = 0, size = 8, capacity = 16,
    }
    "rmw_time_t", Time, 16, {
        sec = 0, nsec = 8,
    }
    "rmw_qos_profile_t", QosProfile, 88, {
        history = 0, depth = 8, reliability = 16, durability = 20, deadline = 24, lifespan = 40,
        liveliness = 56, liveliness_lease_duration = 64, avoid_ros_namespace_conventions = 80,
    }
    "rmw_security_options_t", SecurityOptions, 16, {
        enforce_security = 0, security_root_path = 8,
    }
    "rmw_discovery_options_t", DiscoveryOptions, 64, {
        automatic_discovery_range = 0, static_peers = 8, static_peers_count = 16, allocator = 24,
    }
    "rmw_node_t", Node<()>, 40, {
        implementation_identifier = 0, data = 8, name = 16, namespace_ = 24, context = 32,
    }
    "rmw_publisher_options_t", PublisherOptions, 16, {
        rmw_specific_publisher_payload = 0, require_unique_network_flow_endpoints = 8,
    }
    "rmw_publisher_t", Publisher, 48, {
        implementation_identifier = 0, data = 8, topic_name = 16, options = 24,
        can_loan_messages = 40,
    }
    "rmw_subscription_content_filter_options_t", ContentFilterOptions, 64, {
        filter_expression = 0, expression_parameters = 8,
    }
    "rmw_service_t", Service, 24, {
        implementation_identifier = 0, data = 8, service_name = 16,
    }
    "rmw_client_t", Client, 24, {
        implementation_identifier = 0, data = 8, service_name = 16,
    }
    "rmw_guard_condition_t", GuardCondition<()>, 24, {
        implementation_identifier = 0, data = 8, context = 16,
    }
    "rmw_subscriptions_t", Subscriptions, 16, {
        subscriber_count = 0, subscribers = 8,
    }
    "rmw_services_t", Services, 16, {
        service_count = 0, services = 8,
    }
    "rmw_clients_t", Clients, 16, {
        client_count = 0, clients = 8,
    }
    "rmw_events_t", Events, 16, {
        event_count = 0, events = 8,
    }
    "rmw_guard_conditions_t", GuardConditions, 16, {
        guard_condition_count = 0, guard_conditions = 8,
    }
    "rmw_wait_set_t", WaitSet, 24, {
        implementation_identifier = 0, guard_conditions = 8, data = 16,
    }
    "rmw_event_t", Event, 24, {
        implementation_identifier = 0, data = 8, event_type = 16,
    }
    "rmw_names_and_types_t", NamesAndTypes, 64, {
        names = 0, types = 56,
    }
    "rmw_message_sequence_t", MessageSequence, 32, {
        data = 0, size = 8, capacity = 16, allocator = 24,
    }
    "rmw_message_info_sequence_t", MessageInfoSequence<()>, 32, {
        data = 0, size = 8, capacity = 16, allocator = 24,
    }
    "rmw_topic_endpoint_info_array_t", EndpointInfoArray<()>, 16, {
        size = 0, info_array = 8,
    }
    "rmw_network_flow_endpoint_array_t", NetworkFlowEndpointArray, 24, {
        size = 0, network_flow_endpoint = 8, allocator = 16,
    }
    "rmw_liveliness_changed_status_t", LivelinessChangedStatus, 16, {
        alive_count = 0, not_alive_count = 4, alive_count_change = 8, not_alive_count_change = 12,
    }
    "rmw_offered_deadline_missed_status_t", CountStatus, 8, {
        total_count = 0, total_count_change = 4,
    }
    "rmw_qos_incompatible_event_status_t", QosIncompatibleStatus, 12, {
        total_count = 0, total_count_change = 4, last_policy_kind = 8,
    }
    "rmw_message_lost_status_t", MessageLostStatus, 16, {
        total_count = 0, total_count_change = 8,
    }
    "rmw_matched_status_t", MatchedStatus, 32, {
        total_count = 0, total_count_change = 8, current_count = 16, current_count_change = 24,
    }
    "rosidl_type_hash_t", TypeHash, 33, {
        version = 0, value = 1,
    }
}
