//! Kilted: as Jazzy, but `RMW_EVENT_INVALID` is 0, which moves every kind of event, and the options
//! of a context have no `localhost_only`. A null argument is an invalid one everywhere.

#![allow(missing_docs, reason = "types, fields and constants are named as in C")]

pub use super::jazzy::{
    GID_BYTES, Gid, GuidByte, MessageInfo, MessageMember, MessageMembers, MessageSupport,
    PrimitiveSequence, RequestId, ServiceInfo, ServiceMembers, ServiceSupport, Subscription,
    SubscriptionOptions, TopicEndpointInfo,
};
use super::shared::{Allocator, DiscoveryOptions, RMW_RET_INVALID_ARGUMENT, Ret, SecurityOptions};
use std::ffi::{c_char, c_void};

pub type Node = super::shared::Node<Context>;
pub type GuardCondition = super::shared::GuardCondition<Context>;

/// What `rmw_destroy_wait_set` and `rmw_service_server_is_available` answer to a null argument.
pub const RET_OF_MISSING: Ret = RMW_RET_INVALID_ARGUMENT;

#[derive(Debug)]
#[repr(C)]
pub struct InitOptions {
    pub instance_id: u64,
    pub implementation_identifier: *const c_char,
    pub domain_id: usize,
    pub security_options: SecurityOptions,
    pub discovery_options: DiscoveryOptions,
    pub enclave: *mut c_char,
    pub allocator: Allocator,
    pub impl_: *mut c_void,
}

#[derive(Debug)]
#[repr(C)]
pub struct Context {
    pub instance_id: u64,
    pub implementation_identifier: *const c_char,
    pub options: InitOptions,
    pub actual_domain_id: usize,
    pub impl_: *mut c_void,
}

super::constants! {
    /// Kinds of events.
    EVENTS: u32 {
        RMW_EVENT_INVALID = 0,
        RMW_EVENT_LIVELINESS_CHANGED = 1,
        RMW_EVENT_REQUESTED_DEADLINE_MISSED = 2,
        RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE = 3,
        RMW_EVENT_MESSAGE_LOST = 4,
        RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE = 5,
        RMW_EVENT_SUBSCRIPTION_MATCHED = 6,
        RMW_EVENT_LIVELINESS_LOST = 7,
        RMW_EVENT_OFFERED_DEADLINE_MISSED = 8,
        RMW_EVENT_OFFERED_QOS_INCOMPATIBLE = 9,
        RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE = 10,
        RMW_EVENT_PUBLICATION_MATCHED = 11,
    }
}

super::layouts! {
    /// Sizes and offsets of the types of this distribution, as C has them.
    "rmw_init_options_t", InitOptions, 160, {
        instance_id = 0, implementation_identifier = 8, domain_id = 16, security_options = 24,
        discovery_options = 40, enclave = 104, allocator = 112, impl_ = 152,
    }
    "rmw_context_t", Context, 192, {
        instance_id = 0, implementation_identifier = 8, options = 16, actual_domain_id = 176,
        impl_ = 184,
    }
}
