//! Publishers.

use super::handles::{
    IDENTIFIER, data, destroy, free_text, given, hand_out, handle, new_text, out, text,
};
use super::node::{node, open_node, topic_name};
use super::{endings, functions, makers};
use crate::Plan;
use crate::abi::current::{MessageSupport, Node};
use crate::abi::shared::{Publisher, PublisherOptions, QosProfile, SerializedMessage, Time};
use crate::failure::Failure;
use crate::introspection::{Current, read};
use crate::ports::publisher;
use std::ffi::{c_char, c_void};

/// `RMW_UNIQUE_NETWORK_FLOW_ENDPOINTS_STRICTLY_REQUIRED`.
pub(super) const FLOWS_REQUIRED: u32 = 1;

makers! {
    /// Makes a publisher. Allocates, maps memory.
    fn rmw_create_publisher(
        node: *const Node,
        type_support: *const MessageSupport,
        topic_name: *const c_char,
        qos_policies: *const QosProfile,
        publisher_options: *const PublisherOptions,
    ) -> Publisher {
        // SAFETY: null or a node (caller).
        let node = unsafe { open_node(node) }?;
        given(type_support, "type_support")?;
        // SAFETY: null or a text (caller).
        let topic = unsafe { text(topic_name, "topic_name") }?;
        given(qos_policies, "qos_policies")?;
        // SAFETY: a profile (caller).
        let profile = unsafe { &*qos_policies };
        given(publisher_options, "publisher_options")?;
        // SAFETY: options (caller).
        let options = unsafe { *publisher_options };
        if options.require_unique_network_flow_endpoints == FLOWS_REQUIRED {
            return Err(Failure::Unsupported { what: "a network flow of its own for a publisher" });
        }
        let name = self::topic_name(topic, profile.avoid_ros_namespace_conventions)?;
        // SAFETY: a type support (caller).
        let plan = Plan::of(&unsafe { read::<Current>(type_support) }?)?;
        let can_loan_messages = plan.is_plain();
        let port =
            publisher::Publisher::create(&node.context, &node.name, &name, plan, profile)?;
        Ok(hand_out(node, Publisher {
            implementation_identifier: IDENTIFIER.as_ptr(),
            data: Box::into_raw(Box::new(port)).cast(),
            topic_name: new_text(topic),
            options,
            can_loan_messages,
        }))
    }
}

endings! {
    /// Destroys a publisher. Messages that it has lent are gone with it.
    fn rmw_destroy_publisher(node: *mut Node, publisher: *mut Publisher) {
        // SAFETY: null or a node (caller).
        unsafe { self::node(node.cast_const()) }?;
        // SAFETY: null or a publisher (caller).
        let known = unsafe { handle(publisher.cast_const(), "publisher") }?;
        let name = known.topic_name;
        // SAFETY: of this library, and the caller gives it up.
        drop(unsafe { destroy(publisher) }?);
        // SAFETY: `rmw_create_publisher` has made it.
        unsafe { free_text(name) };
        Ok(())
    }
}

functions! {
    /// Publishes a message: it is written once, into the memory from which subscriptions read it.
    ///
    /// No allocation, except to grow that memory. Waits only if the publisher keeps all messages
    /// and a subscription is behind.
    fn rmw_publish(
        publisher: *const Publisher,
        ros_message: *const c_void,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { data(publisher, "publisher") }?;
        given(ros_message, "ros_message")?;
        // SAFETY: a message of the publisher's type that nobody writes (caller).
        let bytes = unsafe { port.plan.flat_bytes(ros_message) };
        let bytes = bytes.map_err(|error| port.refusal(error))?;
        // SAFETY: as above.
        port.publish(bytes, |memory| unsafe { port.plan.write(ros_message, memory) })
    }

    /// Publishes a message given as CDR, as [`rmw_publish`].
    fn rmw_publish_serialized_message(
        publisher: *const Publisher,
        serialized_message: *const SerializedMessage,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { data(publisher, "publisher") }?;
        given(serialized_message, "serialized_message")?;
        // SAFETY: a serialised message (caller).
        let message = unsafe { &*serialized_message };
        // SAFETY: as above.
        port.publish_cdr(unsafe { super::serialization::bytes(message) }?)
    }

    /// Lends memory for a message of a plain type. It has the values of an earlier message, or
    /// zeros. No allocation, except to grow.
    fn rmw_borrow_loaned_message(
        publisher: *const Publisher,
        type_support: *const MessageSupport,
        ros_message: *mut *mut c_void,
    ) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { lending(publisher) }?;
        given(type_support, "type_support")?;
        // SAFETY: null or a place for a pointer (caller).
        let message = unsafe { out(ros_message, "ros_message") }?;
        if !message.is_null() {
            let what = "it points to a message already: give that one back first";
            return Err(Failure::Argument { name: "ros_message", what });
        }
        *message = port.lend()?.cast();
        Ok(())
    }

    /// Takes a message back that was lent and is not to be published.
    fn rmw_return_loaned_message_from_publisher(
        publisher: *const Publisher,
        loaned_message: *mut c_void,
    ) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { lending(publisher) }?;
        port.take_back(given(loaned_message.cast_const(), "loaned_message")?.addr())
    }

    /// Publishes a message that was lent: no copy. It is the subscriptions' afterwards.
    fn rmw_publish_loaned_message(
        publisher: *const Publisher,
        ros_message: *mut c_void,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { lending(publisher) }?;
        port.publish_lent(given(ros_message.cast_const(), "ros_message")?.addr())
    }

    /// How many subscriptions the next message reaches, on other computers, too.
    fn rmw_publisher_count_matched_subscriptions(
        publisher: *const Publisher,
        subscription_count: *mut usize,
    ) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { data(publisher, "publisher") }?;
        // SAFETY: null or a number (caller).
        *unsafe { out(subscription_count, "subscription_count") }? = port.matched();
        Ok(())
    }

    /// The profile with every policy decided.
    fn rmw_publisher_get_actual_qos(publisher: *const Publisher, qos: *mut QosProfile) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { data(publisher, "publisher") }?;
        // SAFETY: null or a profile (caller).
        *unsafe { out(qos, "qos") }? = port.qos;
        Ok(())
    }

    /// Says that a publisher whose liveliness is by topic is alive. Does not allocate.
    fn rmw_publisher_assert_liveliness(publisher: *const Publisher) {
        // SAFETY: null or a publisher (caller).
        unsafe { data(publisher, "publisher") }?.assert_liveliness();
        Ok(())
    }

    /// Does not wait: a message that was published lies in the memory of all subscriptions.
    fn rmw_publisher_wait_for_all_acked(publisher: *const Publisher, _wait_timeout: Time) {
        // SAFETY: null or a publisher (caller).
        unsafe { data(publisher, "publisher") }?;
        Ok(())
    }
}

/// A publisher that lends messages.
///
/// # Safety
///
/// The pointer is null or a publisher.
unsafe fn lending<'a>(pointer: *const Publisher) -> Result<&'a publisher::Publisher, Failure> {
    // SAFETY: null or a publisher (caller).
    let port = unsafe { data(pointer, "publisher") }?;
    if port.plan.is_plain() {
        return Ok(port);
    }
    Err(Failure::Unsupported { what: "a loan of a message that has texts, sequences or gaps" })
}
