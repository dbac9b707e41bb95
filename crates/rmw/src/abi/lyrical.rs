//! Lyrical: as Kilted, but a `uint8[]` of C++ is a `rosidl::Buffer`, sequences of C have two flags
//! more, and subscriptions name the back ends of buffers that they accept.

#![allow(missing_docs, reason = "types, fields and constants are named as in C")]

pub use super::kilted::*;
use super::shared::{ContentFilterOptions, Function, QosProfile, TypeHash};
use std::ffi::{c_char, c_void};

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SubscriptionOptions {
    pub rmw_specific_subscription_payload: *mut c_void,
    pub ignore_local_publications: bool,
    pub require_unique_network_flow_endpoints: u32,
    pub content_filter_options: *mut ContentFilterOptions,
    pub acceptable_buffer_backends: *const c_char,
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
    pub is_rosidl_buffer_: bool,
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
    pub is_rosidl_buffer: bool,
    pub owns_rosidl_buffer: bool,
}

#[derive(Debug)]
#[repr(C)]
pub struct ServiceEndpointInfo {
    pub node_name: *const c_char,
    pub node_namespace: *const c_char,
    pub service_type: *const c_char,
    pub service_type_hash: TypeHash,
    pub endpoint_type: u32,
    pub endpoint_count: usize,
    pub endpoint_gids: *mut [u8; 16],
    pub qos_profiles: *mut QosProfile,
}

super::layouts! {
    /// Sizes and offsets of the types of this distribution, as C has them.
    "rmw_subscription_options_t", SubscriptionOptions, 32, {
        rmw_specific_subscription_payload = 0, ignore_local_publications = 8,
        require_unique_network_flow_endpoints = 12, content_filter_options = 16,
        acceptable_buffer_backends = 24,
    }
    "rmw_subscription_t", Subscription, 64, {
        implementation_identifier = 0, data = 8, topic_name = 16, options = 24,
        can_loan_messages = 56, is_cft_enabled = 57,
    }
    "rosidl_typesupport_introspection_c__MessageMember", MessageMember, 120, {
        name_ = 0, type_id_ = 8, string_upper_bound_ = 16, members_ = 24, is_key_ = 32,
        is_array_ = 33, array_size_ = 40, is_upper_bound_ = 48, offset_ = 52, default_value_ = 56,
        size_function = 64, get_const_function = 72, get_function = 80, fetch_function = 88,
        assign_function = 96, resize_function = 104, is_rosidl_buffer_ = 112,
    }
    "rosidl_typesupport_introspection_c__MessageMembers", MessageMembers, 64, {
        message_namespace_ = 0, message_name_ = 8, member_count_ = 16, size_of_ = 24,
        has_any_key_member_ = 32, members_ = 40, init_function = 48, fini_function = 56,
    }
    "rosidl_typesupport_introspection_c__ServiceMembers", ServiceMembers, 40, {
        service_namespace_ = 0, service_name_ = 8, request_members_ = 16, response_members_ = 24,
        event_members_ = 32,
    }
    "rosidl_runtime_c__uint8__Sequence", PrimitiveSequence, 32, {
        data = 0, size = 8, capacity = 16, is_rosidl_buffer = 24, owns_rosidl_buffer = 25,
    }
    "rmw_service_endpoint_info_t", ServiceEndpointInfo, 88, {
        node_name = 0, node_namespace = 8, service_type = 16, service_type_hash = 24,
        endpoint_type = 60, endpoint_count = 64, endpoint_gids = 72, qos_profiles = 80,
    }
}
