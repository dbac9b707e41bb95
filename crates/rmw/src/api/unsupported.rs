//! Functions of rmw's API that this implementation does not support. All of them say so, as ROS 2
//! expects; its client libraries do without.

use super::functions;
use super::handles::{data, given};
use crate::abi::current::{MessageSupport, Subscription};
use crate::abi::shared::{Allocator, ContentFilterOptions, NetworkFlowEndpointArray, Publisher};
use crate::failure::Failure;
use std::ffi::{c_char, c_void};

functions! {
    /// Not supported: memory for messages is the transport's.
    fn rmw_init_publisher_allocation(
        _type_support: *const MessageSupport,
        _message_bounds: *const c_void,
        _allocation: *mut c_void,
    ) {
        Err(Failure::Unsupported { what: "an allocation of its own for a publisher" })
    }

    /// Not supported, as [`rmw_init_publisher_allocation`].
    fn rmw_fini_publisher_allocation(_allocation: *mut c_void) {
        Err(Failure::Unsupported { what: "an allocation of its own for a publisher" })
    }

    /// Not supported: memory for messages is the transport's.
    fn rmw_init_subscription_allocation(
        _type_support: *const MessageSupport,
        _message_bounds: *const c_void,
        _allocation: *mut c_void,
    ) {
        Err(Failure::Unsupported { what: "an allocation of its own for a subscription" })
    }

    /// Not supported, as [`rmw_init_subscription_allocation`].
    fn rmw_fini_subscription_allocation(_allocation: *mut c_void) {
        Err(Failure::Unsupported { what: "an allocation of its own for a subscription" })
    }

    /// Not supported: messages travel in shared memory.
    fn rmw_publisher_get_network_flow_endpoints(
        publisher: *const Publisher,
        allocator: *mut Allocator,
        network_flow_endpoint_array: *mut NetworkFlowEndpointArray,
    ) {
        // SAFETY: null or a publisher (caller).
        unsafe { data(publisher, "publisher") }?;
        given(allocator.cast_const(), "allocator")?;
        given(network_flow_endpoint_array.cast_const(), "network_flow_endpoint_array")?;
        Err(Failure::Unsupported { what: "a network flow of a publisher in shared memory" })
    }

    /// Not supported: messages travel in shared memory.
    fn rmw_subscription_get_network_flow_endpoints(
        subscription: *const Subscription,
        allocator: *mut Allocator,
        network_flow_endpoint_array: *mut NetworkFlowEndpointArray,
    ) {
        // SAFETY: null or a subscription (caller).
        unsafe { data(subscription, "subscription") }?;
        given(allocator.cast_const(), "allocator")?;
        given(network_flow_endpoint_array.cast_const(), "network_flow_endpoint_array")?;
        Err(Failure::Unsupported { what: "a network flow of a subscription in shared memory" })
    }

    /// Not supported: a client library filters what it has taken.
    fn rmw_subscription_set_content_filter(
        subscription: *mut Subscription,
        options: *const ContentFilterOptions,
    ) {
        // SAFETY: null or a subscription (caller).
        unsafe { data(subscription.cast_const(), "subscription") }?;
        given(options, "options")?;
        Err(Failure::Unsupported { what: "a filter of contents" })
    }

    /// Not supported, as [`rmw_subscription_set_content_filter`].
    fn rmw_subscription_get_content_filter(
        subscription: *const Subscription,
        allocator: *mut Allocator,
        options: *mut ContentFilterOptions,
    ) {
        // SAFETY: null or a subscription (caller).
        unsafe { data(subscription, "subscription") }?;
        given(allocator.cast_const(), "allocator")?;
        given(options.cast_const(), "options")?;
        Err(Failure::Unsupported { what: "a filter of contents" })
    }

    /// Not supported: messages have the type of their type support. From Jazzy on.
    fn rmw_take_dynamic_message(
        subscription: *const Subscription,
        dynamic_message: *mut c_void,
        taken: *mut bool,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        unsafe { data(subscription, "subscription") }?;
        given(dynamic_message.cast_const(), "dynamic_message")?;
        given(taken.cast_const(), "taken")?;
        Err(Failure::Unsupported { what: "a dynamic message" })
    }

    /// Not supported, as [`rmw_take_dynamic_message`].
    fn rmw_take_dynamic_message_with_info(
        subscription: *const Subscription,
        dynamic_message: *mut c_void,
        taken: *mut bool,
        message_info: *mut crate::abi::current::MessageInfo,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        unsafe { data(subscription, "subscription") }?;
        given(dynamic_message.cast_const(), "dynamic_message")?;
        given(taken.cast_const(), "taken")?;
        given(message_info.cast_const(), "message_info")?;
        Err(Failure::Unsupported { what: "a dynamic message" })
    }

    /// Not supported, as [`rmw_take_dynamic_message`].
    fn rmw_serialization_support_init(
        serialization_lib_name: *const c_char,
        allocator: *mut Allocator,
        serialization_support: *mut c_void,
    ) {
        given(serialization_lib_name, "serialization_lib_name")?;
        given(allocator.cast_const(), "allocator")?;
        given(serialization_support.cast_const(), "serialization_support")?;
        Err(Failure::Unsupported { what: "a dynamic message" })
    }
}
