//! Subscriptions.

use super::handles::{
    IDENTIFIER, data, destroy, free_text, given, hand_out, handle, new_text, out, text,
};
use super::node::{node, open_node, topic_name};
use super::publisher::FLOWS_REQUIRED;
use super::{endings, functions, makers};
use crate::Plan;
use crate::abi::current::{
    Gid, MessageInfo, MessageSupport, Node, Subscription, SubscriptionOptions,
};
use crate::abi::shared::{MessageInfoSequence, MessageSequence, QosProfile, SerializedMessage};
use crate::convert::ConvertError;
use crate::failure::Failure;
use crate::introspection::{Current, read};
use crate::ports::{Registered, subscription};
use crossdock_comm::AnySample;
use crossdock_msg::FlatError;
use crossdock_shm::clock::now_ns;
use std::ffi::{c_char, c_void};

/// `RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED`.
const NO_NUMBER: u64 = u64::MAX;

type Port = Registered<subscription::Subscription>;

makers! {
    /// Makes a subscription. Allocates, maps memory.
    fn rmw_create_subscription(
        node: *const Node,
        type_support: *const MessageSupport,
        topic_name: *const c_char,
        qos_policies: *const QosProfile,
        subscription_options: *const SubscriptionOptions,
    ) -> Subscription {
        // SAFETY: null or a node (caller).
        let node = unsafe { open_node(node) }?;
        given(type_support, "type_support")?;
        // SAFETY: null or a text (caller).
        let topic = unsafe { text(topic_name, "topic_name") }?;
        given(qos_policies, "qos_policies")?;
        // SAFETY: a profile (caller).
        let profile = unsafe { &*qos_policies };
        given(subscription_options, "subscription_options")?;
        // SAFETY: options (caller).
        let options = unsafe { *subscription_options };
        if options.require_unique_network_flow_endpoints == FLOWS_REQUIRED {
            return Err(Failure::Unsupported { what: "a network flow of its own for a subscription" });
        }
        let name = self::topic_name(topic, profile.avoid_ros_namespace_conventions)?;
        // SAFETY: a type support (caller).
        let plan = Plan::of(&unsafe { read::<Current>(type_support) }?)?;
        let (context, ignores_own) = (&node.context, options.ignore_local_publications);
        let port = subscription::Subscription::create(
            context, &node.name, &name, plan, profile, ignores_own,
        )?;
        let can_loan_messages = port.lends();
        Ok(hand_out(node, Subscription {
            implementation_identifier: IDENTIFIER.as_ptr(),
            data: Box::into_raw(Box::new(Port::new(context, port))).cast(),
            topic_name: new_text(topic),
            options,
            can_loan_messages,
            is_cft_enabled: false,
        }))
    }
}

endings! {
    /// Destroys a subscription. Messages that it has lent stay readable until the process ends the
    /// connection; they must not be used any more.
    fn rmw_destroy_subscription(node: *mut Node, subscription: *mut Subscription) {
        // SAFETY: null or a node (caller).
        unsafe { self::node(node.cast_const()) }?;
        // SAFETY: null or a subscription (caller).
        let known = unsafe { handle(subscription.cast_const(), "subscription") }?;
        let name = known.topic_name;
        // SAFETY: of this library, and the caller gives it up.
        drop(unsafe { destroy(subscription) }?);
        // SAFETY: `rmw_create_subscription` has made it.
        unsafe { free_text(name) };
        Ok(())
    }
}

functions! {
    /// How many publishers it is connected to.
    fn rmw_subscription_count_matched_publishers(
        subscription: *const Subscription,
        publisher_count: *mut usize,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription, "subscription") }?;
        // SAFETY: null or a number (caller).
        *unsafe { out(publisher_count, "publisher_count") }? = port.port.matched();
        Ok(())
    }

    /// The profile with every policy decided.
    fn rmw_subscription_get_actual_qos(subscription: *const Subscription, qos: *mut QosProfile) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription, "subscription") }?;
        // SAFETY: null or a profile (caller).
        *unsafe { out(qos, "qos") }? = port.port.qos;
        Ok(())
    }

    /// Takes the next message: it is read once, where its publisher wrote it. Texts and sequences
    /// keep the memory that they have. Does not block.
    fn rmw_take(
        subscription: *const Subscription,
        ros_message: *mut c_void,
        taken: *mut bool,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription, "subscription") }?;
        given(ros_message.cast_const(), "ros_message")?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = Default::default();
        // SAFETY: a message of the subscription's type (caller).
        *taken = unsafe { take(port, ros_message) }?.is_some();
        Ok(())
    }

    /// As [`rmw_take`], with who has published the message and when.
    fn rmw_take_with_info(
        subscription: *const Subscription,
        ros_message: *mut c_void,
        taken: *mut bool,
        message_info: *mut MessageInfo,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription, "subscription") }?;
        given(ros_message.cast_const(), "ros_message")?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = Default::default();
        // SAFETY: null or a message's information (caller).
        let message_info = unsafe { out(message_info, "message_info") }?;
        // SAFETY: a message of the subscription's type (caller).
        let found = unsafe { take(port, ros_message) }?;
        *taken = found.is_some();
        if let Some(sample) = found {
            *message_info = info(&sample);
        }
        Ok(())
    }

    /// Takes up to `count` messages.
    fn rmw_take_sequence(
        subscription: *const Subscription,
        count: usize,
        message_sequence: *mut MessageSequence,
        message_info_sequence: *mut MessageInfoSequence<MessageInfo>,
        taken: *mut usize,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription, "subscription") }?;
        // SAFETY: null or a sequence (caller).
        let messages = unsafe { out(message_sequence, "message_sequence") }?;
        // SAFETY: as above.
        let infos = unsafe { out(message_info_sequence, "message_info_sequence") }?;
        // SAFETY: null or a number (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = Default::default();
        if count == 0 || count > messages.capacity || count > infos.capacity {
            let what = "it is 0, or more than a sequence has room for";
            return Err(Failure::Argument { name: "count", what });
        }
        *taken = 0;
        let done = (0..count).try_for_each(|place| {
            // SAFETY: there is room for as many messages (caller).
            let message = unsafe { messages.data.add(place) };
            // SAFETY: as above.
            let message = unsafe { *message };
            // SAFETY: a message of the subscription's type (caller).
            let Some(sample) = unsafe { take(port, message) }? else { return Ok(()) };
            // SAFETY: there is room for as many.
            let to = unsafe { infos.data.add(*taken) };
            // SAFETY: as above.
            unsafe { to.write(info(&sample)) };
            *taken += 1;
            Ok(())
        });
        (messages.size, infos.size) = (*taken, *taken);
        done
    }

    /// Takes the next message as CDR.
    fn rmw_take_serialized_message(
        subscription: *const Subscription,
        serialized_message: *mut SerializedMessage,
        taken: *mut bool,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription, "subscription") }?;
        // SAFETY: null or a serialised message (caller).
        let message = unsafe { out(serialized_message, "serialized_message") }?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = Default::default();
        // SAFETY: an initialised serialised message (caller).
        *taken = unsafe { take_serialized(port, message) }?.is_some();
        Ok(())
    }

    /// As [`rmw_take_serialized_message`], with who has published the message and when.
    fn rmw_take_serialized_message_with_info(
        subscription: *const Subscription,
        serialized_message: *mut SerializedMessage,
        taken: *mut bool,
        message_info: *mut MessageInfo,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { data(subscription, "subscription") }?;
        // SAFETY: null or a serialised message (caller).
        let message = unsafe { out(serialized_message, "serialized_message") }?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = Default::default();
        // SAFETY: null or a message's information (caller).
        let message_info = unsafe { out(message_info, "message_info") }?;
        // SAFETY: an initialised serialised message (caller).
        let found = unsafe { take_serialized(port, message) }?;
        *taken = found.is_some();
        if let Some(sample) = found {
            *message_info = info(&sample);
        }
        Ok(())
    }

    /// Lends the next message of a plain type where its publisher wrote it, to be read only.
    fn rmw_take_loaned_message(
        subscription: *const Subscription,
        loaned_message: *mut *mut c_void,
        taken: *mut bool,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { lending(subscription) }?;
        // SAFETY: null or a place for a pointer (caller).
        let message = unsafe { out(loaned_message, "loaned_message") }?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = Default::default();
        *taken = lend(port, message)?.is_some();
        Ok(())
    }

    /// As [`rmw_take_loaned_message`], with who has published the message and when.
    fn rmw_take_loaned_message_with_info(
        subscription: *const Subscription,
        loaned_message: *mut *mut c_void,
        taken: *mut bool,
        message_info: *mut MessageInfo,
        _allocation: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { lending(subscription) }?;
        // SAFETY: null or a place for a pointer (caller).
        let message = unsafe { out(loaned_message, "loaned_message") }?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = Default::default();
        // SAFETY: null or a message's information (caller).
        let message_info = unsafe { out(message_info, "message_info") }?;
        let found = lend(port, message)?;
        *taken = found.is_some();
        if let Some(found) = found {
            *message_info = found;
        }
        Ok(())
    }

    /// Gives back a message that was lent: its publisher may use the memory again.
    fn rmw_return_loaned_message_from_subscription(
        subscription: *const Subscription,
        loaned_message: *mut c_void,
    ) {
        // SAFETY: null or a subscription (caller).
        let port = unsafe { lending(subscription) }?;
        port.port.take_back(given(loaned_message.cast_const(), "loaned_message")?.addr())
    }
}

/// A subscription that lends messages.
///
/// # Safety
///
/// The pointer is null or a subscription.
unsafe fn lending<'a>(pointer: *const Subscription) -> Result<&'a Port, Failure> {
    // SAFETY: null or a subscription (caller).
    let port = unsafe { data(pointer, "subscription") }?;
    if port.port.lends() {
        return Ok(port);
    }
    Err(Failure::Unsupported {
        what: "a loan of a message that has texts, sequences, bools or gaps",
    })
}

/// Takes the next message that is whole; damaged ones are passed over and counted.
///
/// # Safety
///
/// The message is of the subscription's type, initialised, and nobody else uses it.
unsafe fn take(port: &Port, message: *mut c_void) -> Result<Option<AnySample>, Failure> {
    while let Some(sample) = port.port.take()? {
        // SAFETY: as the caller says.
        match unsafe { port.port.plan.take(sample.block(), message) } {
            Ok(()) => return Ok(Some(sample)),
            Err(ConvertError::Flat(damage)) => port.port.pass_damaged(sample, &damage),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// # Safety
///
/// The serialised message is initialised.
unsafe fn take_serialized(
    port: &Port,
    message: &mut SerializedMessage,
) -> Result<Option<AnySample>, Failure> {
    while let Some(sample) = port.port.take()? {
        // SAFETY: as the caller says.
        let put = |cdr: &[u8]| unsafe { super::serialization::set(message, cdr) };
        match port.port.encode(&sample, put) {
            Ok(()) => return Ok(Some(sample)),
            Err(Failure::Flat(damage)) => port.port.pass_damaged(sample, &damage),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn lend(port: &Port, message: &mut *mut c_void) -> Result<Option<MessageInfo>, Failure> {
    let bytes = port.port.plan.message_bytes();
    while let Some(sample) = port.port.take()? {
        let block_bytes = sample.block().len();
        if block_bytes < bytes {
            let damage = FlatError::TooShort { block_bytes, root_bytes: bytes };
            port.port.pass_damaged(sample, &damage);
            continue;
        }
        let info = info(&sample);
        *message = port.port.lend(sample).cast_mut().cast();
        return Ok(Some(info));
    }
    Ok(None)
}

fn info(sample: &AnySample) -> MessageInfo {
    MessageInfo {
        source_timestamp: time(sample.stamp_ns()),
        received_timestamp: time(now_ns()),
        publication_sequence_number: sample.seq(),
        reception_sequence_number: NO_NUMBER,
        publisher_gid: gid(sample.publisher_gid()),
        from_intra_process: false,
    }
}

/// A time in ns since 1970 as rmw has it.
pub(super) fn time(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// A GID as rmw has it.
pub(super) fn gid(of: [u8; 16]) -> Gid {
    let mut gid = Gid {
        implementation_identifier: IDENTIFIER.as_ptr(),
        data: [0; crate::abi::current::GID_BYTES],
    };
    gid.data[..of.len()].copy_from_slice(&of);
    gid
}
