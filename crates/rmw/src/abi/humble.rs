//! Humble: no type hashes, identifiers of 24 bytes, `RMW_EVENT_INVALID` behind the seven kinds of
//! events.

#![allow(missing_docs, reason = "types, fields and constants are named as in C")]

use super::shared::{
    Allocator, ContentFilterOptions, Function, QosProfile, RMW_RET_ERROR, Ret, SecurityOptions,
};
use std::ffi::{c_char, c_void};

pub type Node = super::shared::Node<Context>;
pub type GuardCondition = super::shared::GuardCondition<Context>;

#[derive(Debug)]
#[repr(C)]
pub struct InitOptions {
    pub instance_id: u64,
    pub implementation_identifier: *const c_char,
    pub domain_id: usize,
    pub security_options: SecurityOptions,
    pub localhost_only: u32,
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

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SubscriptionOptions {
    pub rmw_specific_subscription_payload: *mut c_void,
    pub ignore_local_publications: bool,
    pub require_unique_network_flow_endpoints: u32,
    pub content_filter_options: *mut ContentFilterOptions,
}

#[derive(Debug)]
#[repr(C)]
pub struct Subscription {
    pub implementation_identifier: *const c_char,
    pub data: *mut c_void,
    pub topic_name: *const c_char,
    pub options: SubscriptionOptions,
    pub can_loan_messages: bool,
    pub is_cft_enabled: bool,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Gid {
    pub implementation_identifier: *const c_char,
    pub data: [u8; 24],
}

/// Bytes of a GID.
pub const GID_BYTES: usize = 24;
/// What the GID in a request's identity is made of.
pub type GuidByte = i8;
/// What `rmw_destroy_wait_set` and `rmw_service_server_is_available` answer to a null argument.
pub const RET_OF_MISSING: Ret = RMW_RET_ERROR;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RequestId {
    pub writer_guid: [i8; 16],
    pub sequence_number: i64,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ServiceInfo {
    pub source_timestamp: i64,
    pub received_timestamp: i64,
    pub request_id: RequestId,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MessageInfo {
    pub source_timestamp: i64,
    pub received_timestamp: i64,
    pub publication_sequence_number: u64,
    pub reception_sequence_number: u64,
    pub publisher_gid: Gid,
    pub from_intra_process: bool,
}

#[derive(Debug)]
#[repr(C)]
pub struct TopicEndpointInfo {
    pub node_name: *const c_char,
    pub node_namespace: *const c_char,
    pub topic_type: *const c_char,
    pub endpoint_type: u32,
    pub endpoint_gid: [u8; 24],
    pub qos_profile: QosProfile,
}

super::constants! {
    /// Kinds of events.
    EVENTS: u32 {
        RMW_EVENT_LIVELINESS_CHANGED = 0,
        RMW_EVENT_REQUESTED_DEADLINE_MISSED = 1,
        RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE = 2,
        RMW_EVENT_MESSAGE_LOST = 3,
        RMW_EVENT_LIVELINESS_LOST = 4,
        RMW_EVENT_OFFERED_DEADLINE_MISSED = 5,
        RMW_EVENT_OFFERED_QOS_INCOMPATIBLE = 6,
        RMW_EVENT_INVALID = 7,
    }
}

#[derive(Debug)]
#[repr(C)]
pub struct MessageSupport {
    pub typesupport_identifier: *const c_char,
    pub data: *const c_void,
    pub func: Function,
}

#[derive(Debug)]
#[repr(C)]
pub struct ServiceSupport {
    pub typesupport_identifier: *const c_char,
    pub data: *const c_void,
    pub func: Function,
}

#[derive(Debug)]
#[repr(C)]
pub struct MessageMember {
    pub name_: *const c_char,
    pub type_id_: u8,
    pub string_upper_bound_: usize,
    pub members_: *const MessageSupport,
    pub is_array_: bool,
    pub array_size_: usize,
    pub is_upper_bound_: bool,
    pub offset_: u32,
    pub default_value_: *const c_void,
    pub size_function: Function,
    pub get_const_function: Function,
    pub get_function: Function,
    pub fetch_function: Function,
    pub assign_function: Function,
    pub resize_function: Function,
}

#[derive(Debug)]
#[repr(C)]
pub struct MessageMembers {
    pub message_namespace_: *const c_char,
    pub message_name_: *const c_char,
    pub member_count_: u32,
    pub size_of_: usize,
    pub members_: *const MessageMember,
    pub init_function: Function,
    pub fini_function: Function,
}

#[derive(Debug)]
#[repr(C)]
pub struct ServiceMembers {
    pub service_namespace_: *const c_char,
    pub service_name_: *const c_char,
    pub request_members_: *const MessageMembers,
    pub response_members_: *const MessageMembers,
}

/// Of numbers and texts of a C message.
#[derive(Debug)]
#[repr(C)]
pub struct PrimitiveSequence {
    pub data: *mut c_void,
    pub size: usize,
    pub capacity: usize,
}

super::layouts! {
    /// Sizes and offsets of the types of this distribution, as C has them.
    "rmw_init_options_t", InitOptions, 104, {
        instance_id = 0, implementation_identifier = 8, domain_id = 16, security_options = 24,
        localhost_only = 40, enclave = 48, allocator = 56, impl_ = 96,
    }
    "rmw_context_t", Context, 136, {
        instance_id = 0, implementation_identifier = 8, options = 16, actual_domain_id = 120,
        impl_ = 128,
    }
    "rmw_subscription_options_t", SubscriptionOptions, 24, {
        rmw_specific_subscription_payload = 0, ignore_local_publications = 8,
        require_unique_network_flow_endpoints = 12, content_filter_options = 16,
    }
    "rmw_subscription_t", Subscription, 56, {
        implementation_identifier = 0, data = 8, topic_name = 16, options = 24,
        can_loan_messages = 48, is_cft_enabled = 49,
    }
    "rmw_gid_t", Gid, 32, {
        implementation_identifier = 0, data = 8,
    }
    "rmw_request_id_t", RequestId, 24, {
        writer_guid = 0, sequence_number = 16,
    }
    "rmw_service_info_t", ServiceInfo, 40, {
        source_timestamp = 0, received_timestamp = 8, request_id = 16,
    }
    "rmw_message_info_t", MessageInfo, 72, {
        source_timestamp = 0, received_timestamp = 8, publication_sequence_number = 16,
        reception_sequence_number = 24, publisher_gid = 32, from_intra_process = 64,
    }
    "rmw_topic_endpoint_info_t", TopicEndpointInfo, 144, {
        node_name = 0, node_namespace = 8, topic_type = 16, endpoint_type = 24, endpoint_gid = 28,
        qos_profile = 56,
    }
    "rosidl_message_type_support_t", MessageSupport, 24, {
        typesupport_identifier = 0, data = 8, func = 16,
    }
    "rosidl_service_type_support_t", ServiceSupport, 24, {
        typesupport_identifier = 0, data = 8, func = 16,
    }
    "rosidl_typesupport_introspection_c__MessageMember", MessageMember, 112, {
        name_ = 0, type_id_ = 8, string_upper_bound_ = 16, members_ = 24, is_array_ = 32,
        array_size_ = 40, is_upper_bound_ = 48, offset_ = 52, default_value_ = 56,
        size_function = 64, get_const_function = 72, get_function = 80, fetch_function = 88,
        assign_function = 96, resize_function = 104,
    }
    "rosidl_typesupport_introspection_c__MessageMembers", MessageMembers, 56, {
        message_namespace_ = 0, message_name_ = 8, member_count_ = 16, size_of_ = 24,
        members_ = 32, init_function = 40, fini_function = 48,
    }
    "rosidl_typesupport_introspection_c__ServiceMembers", ServiceMembers, 32, {
        service_namespace_ = 0, service_name_ = 8, request_members_ = 16, response_members_ = 24,
    }
    "rosidl_runtime_c__uint8__Sequence", PrimitiveSequence, 24, {
        data = 0, size = 8, capacity = 16,
    }
}
