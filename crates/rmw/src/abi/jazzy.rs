//! Jazzy: type hashes, identifiers of 16 bytes, `RMW_EVENT_INVALID` behind eleven kinds of events.

#![allow(missing_docs, reason = "types, fields and constants are named as in C")]

use super::shared::{
    Allocator, ContentFilterOptions, DiscoveryOptions, Function, QosProfile, RMW_RET_ERROR, Ret,
    SecurityOptions, TypeHash,
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
    pub data: [u8; 16],
}

/// Bytes of a GID.
pub const GID_BYTES: usize = 16;
/// What the GID in a request's identity is made of.
pub type GuidByte = u8;
/// What `rmw_destroy_wait_set` and `rmw_service_server_is_available` answer to a null argument.
pub const RET_OF_MISSING: Ret = RMW_RET_ERROR;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RequestId {
    pub writer_guid: [u8; 16],
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
    pub topic_type_hash: TypeHash,
    pub endpoint_type: u32,
    pub endpoint_gid: [u8; 16],
    pub qos_profile: QosProfile,
}

super::constants! {
    /// Kinds of events.
    EVENTS: u32 {
        RMW_EVENT_LIVELINESS_CHANGED = 0,
        RMW_EVENT_REQUESTED_DEADLINE_MISSED = 1,
        RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE = 2,
        RMW_EVENT_MESSAGE_LOST = 3,
        RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE = 4,
        RMW_EVENT_SUBSCRIPTION_MATCHED = 5,
        RMW_EVENT_LIVELINESS_LOST = 6,
        RMW_EVENT_OFFERED_DEADLINE_MISSED = 7,
        RMW_EVENT_OFFERED_QOS_INCOMPATIBLE = 8,
        RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE = 9,
        RMW_EVENT_PUBLICATION_MATCHED = 10,
        RMW_EVENT_INVALID = 11,
    }
}

#[derive(Debug)]
#[repr(C)]
pub struct MessageSupport {
    pub typesupport_identifier: *const c_char,
    pub data: *const c_void,
    pub func: Function,
    pub get_type_hash_func: Option<unsafe extern "C" fn(*const Self) -> *const TypeHash>,
    pub get_type_description_func: Function,
    pub get_type_description_sources_func: Function,
}

#[derive(Debug)]
#[repr(C)]
pub struct ServiceSupport {
    pub typesupport_identifier: *const c_char,
    pub data: *const c_void,
    pub func: Function,
    pub request_typesupport: *const MessageSupport,
    pub response_typesupport: *const MessageSupport,
    pub event_typesupport: *const MessageSupport,
    pub event_message_create_handle_function: Function,
    pub event_message_destroy_handle_function: Function,
    pub get_type_hash_func: Option<unsafe extern "C" fn(*const Self) -> *const TypeHash>,
    pub get_type_description_func: Function,
    pub get_type_description_sources_func: Function,
}

#[derive(Debug)]
#[repr(C)]
pub struct MessageMember {
    pub name_: *const c_char,
    pub type_id_: u8,
    pub string_upper_bound_: usize,
    pub members_: *const MessageSupport,
    pub is_key_: bool,
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
    pub has_any_key_member_: bool,
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
    pub event_members_: *const MessageMembers,
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
    "rmw_init_options_t", InitOptions, 168, {
        instance_id = 0, implementation_identifier = 8, domain_id = 16, security_options = 24,
        localhost_only = 40, discovery_options = 48, enclave = 112, allocator = 120, impl_ = 160,
    }
    "rmw_context_t", Context, 200, {
        instance_id = 0, implementation_identifier = 8, options = 16, actual_domain_id = 184,
        impl_ = 192,
    }
    "rmw_subscription_options_t", SubscriptionOptions, 24, {
        rmw_specific_subscription_payload = 0, ignore_local_publications = 8,
        require_unique_network_flow_endpoints = 12, content_filter_options = 16,
    }
    "rmw_subscription_t", Subscription, 56, {
        implementation_identifier = 0, data = 8, topic_name = 16, options = 24,
        can_loan_messages = 48, is_cft_enabled = 49,
    }
    "rmw_gid_t", Gid, 24, {
        implementation_identifier = 0, data = 8,
    }
    "rmw_request_id_t", RequestId, 24, {
        writer_guid = 0, sequence_number = 16,
    }
    "rmw_service_info_t", ServiceInfo, 40, {
        source_timestamp = 0, received_timestamp = 8, request_id = 16,
    }
    "rmw_message_info_t", MessageInfo, 64, {
        source_timestamp = 0, received_timestamp = 8, publication_sequence_number = 16,
        reception_sequence_number = 24, publisher_gid = 32, from_intra_process = 56,
    }
    "rmw_topic_endpoint_info_t", TopicEndpointInfo, 168, {
        node_name = 0, node_namespace = 8, topic_type = 16, topic_type_hash = 24,
        endpoint_type = 60, endpoint_gid = 64, qos_profile = 80,
    }
    "rosidl_message_type_support_t", MessageSupport, 48, {
        typesupport_identifier = 0, data = 8, func = 16, get_type_hash_func = 24,
        get_type_description_func = 32, get_type_description_sources_func = 40,
    }
    "rosidl_service_type_support_t", ServiceSupport, 88, {
        typesupport_identifier = 0, data = 8, func = 16, request_typesupport = 24,
        response_typesupport = 32, event_typesupport = 40,
        event_message_create_handle_function = 48, event_message_destroy_handle_function = 56,
        get_type_hash_func = 64, get_type_description_func = 72,
        get_type_description_sources_func = 80,
    }
    "rosidl_typesupport_introspection_c__MessageMember", MessageMember, 112, {
        name_ = 0, type_id_ = 8, string_upper_bound_ = 16, members_ = 24, is_key_ = 32,
        is_array_ = 33, array_size_ = 40, is_upper_bound_ = 48, offset_ = 52, default_value_ = 56,
        size_function = 64, get_const_function = 72, get_function = 80, fetch_function = 88,
        assign_function = 96, resize_function = 104,
    }
    "rosidl_typesupport_introspection_c__MessageMembers", MessageMembers, 64, {
        message_namespace_ = 0, message_name_ = 8, member_count_ = 16, size_of_ = 24,
        has_any_key_member_ = 32, members_ = 40, init_function = 48, fini_function = 56,
    }
    "rosidl_typesupport_introspection_c__ServiceMembers", ServiceMembers, 40, {
        service_namespace_ = 0, service_name_ = 8, request_members_ = 16, response_members_ = 24,
        event_members_ = 32,
    }
    "rosidl_runtime_c__uint8__Sequence", PrimitiveSequence, 24, {
        data = 0, size = 8, capacity = 16,
    }
}
