//! Clients of services.

use super::handles::{
    IDENTIFIER, data, destroy, free_text, given, hand_out, handle, new_text, out, text,
};
use super::node::{node, open_node};
use super::service::{plans, request_id};
use super::subscription::time;
use super::{endings, functions, makers};
use crate::abi::current::{Node, ServiceInfo, ServiceSupport};
use crate::abi::shared::{Client, QosProfile};
use crate::convert::ConvertError;
use crate::failure::Failure;
use crate::ports::service::RequestKey;
use crate::ports::{Registered, client};
use crossdock_shm::clock::now_ns;
use std::ffi::{c_char, c_void};

makers! {
    /// Makes a client. Allocates, maps memory.
    fn rmw_create_client(
        node: *const Node,
        type_support: *const ServiceSupport,
        service_name: *const c_char,
        qos_policies: *const QosProfile,
    ) -> Client {
        // SAFETY: null or a node (caller).
        let node = unsafe { open_node(node) }?;
        given(type_support, "type_support")?;
        // SAFETY: null or a text (caller).
        let service = unsafe { text(service_name, "service_name") }?;
        given(qos_policies, "qos_policies")?;
        // SAFETY: a profile (caller).
        let profile = unsafe { &*qos_policies };
        // SAFETY: a type support (caller).
        let plans = unsafe { plans(type_support) }?;
        let port = client::Client::create(&node.context, &node.name, service, plans, profile)?;
        let port = Registered::new(&node.context, port);
        Ok(hand_out(node, Client {
            implementation_identifier: IDENTIFIER.as_ptr(),
            data: Box::into_raw(Box::new(port)).cast(),
            service_name: new_text(service),
        }))
    }
}

endings! {
    /// Destroys a client. Its requests are given up.
    fn rmw_destroy_client(node: *mut Node, client: *mut Client) {
        // SAFETY: null or a node (caller).
        unsafe { self::node(node.cast_const()) }?;
        // SAFETY: null or a client (caller).
        let known = unsafe { handle(client.cast_const(), "client") }?;
        let name = known.service_name;
        // SAFETY: of this library, and the caller gives it up.
        drop(unsafe { destroy(client) }?);
        // SAFETY: `rmw_create_client` has made it.
        unsafe { free_text(name) };
        Ok(())
    }
}

functions! {
    /// Sends a request and gives its number. Does not wait for the response. Without a server the
    /// request is lost.
    fn rmw_send_request(
        client: *const Client,
        ros_request: *const c_void,
        sequence_id: *mut i64,
    ) {
        // SAFETY: null or a client (caller).
        let client = unsafe { data(client, "client") }?;
        let port = &client.port;
        given(ros_request, "ros_request")?;
        // SAFETY: null or a number (caller).
        let sequence = unsafe { out(sequence_id, "sequence_id") }?;
        // A server that has just come is heard of here.
        port.has_server(&client.context);
        let plan = &port.plans.request;
        // SAFETY: a request of the client's type that nobody writes (caller).
        let bytes = unsafe { plan.flat_bytes(ros_request) }?;
        // SAFETY: as above.
        *sequence = port.send(bytes, |memory| unsafe { plan.write(ros_request, memory) })?;
        Ok(())
    }

    /// Takes the next response, and says which request it answers. Does not block.
    fn rmw_take_response(
        client: *const Client,
        request_header: *mut ServiceInfo,
        ros_response: *mut c_void,
        taken: *mut bool,
    ) {
        // SAFETY: null or a client (caller).
        let port = &unsafe { data(client, "client") }?.port;
        // SAFETY: null or the information of a response (caller).
        let header = unsafe { out(request_header, "request_header") }?;
        given(ros_response.cast_const(), "ros_response")?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = false;
        while let Some((sequence, response)) = port.take()? {
            // SAFETY: a response of the client's type (caller).
            match unsafe { port.plans.response.take(response.block(), ros_response) } {
                Ok(()) => {}
                Err(ConvertError::Flat(damage)) => {
                    port.pass_damaged(response, &damage);
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            *header = ServiceInfo {
                source_timestamp: time(response.stamp_ns()),
                received_timestamp: time(now_ns()),
                request_id: request_id(RequestKey { client: port.gid, sequence }),
            };
            *taken = true;
            break;
        }
        Ok(())
    }

    /// Whether a server is connected.
    fn rmw_service_server_is_available(
        node: *const Node,
        client: *const Client,
        is_available: *mut bool,
    ) {
        // SAFETY: null or a node (caller).
        unsafe { self::node(node) }.map_err(Failure::of_missing)?;
        // SAFETY: null or a client (caller).
        let port = unsafe { data(client, "client") }.map_err(Failure::of_missing)?;
        // SAFETY: null or a bool (caller).
        let is_available = unsafe { out(is_available, "is_available") };
        *is_available.map_err(Failure::of_missing)? = port.port.has_server(&port.context);
        Ok(())
    }

    /// The profile of requests with every policy decided.
    fn rmw_client_request_publisher_get_actual_qos(client: *const Client, qos: *mut QosProfile) {
        // SAFETY: null or a client (caller).
        let port = unsafe { data(client, "client") }?;
        // SAFETY: null or a profile (caller).
        *unsafe { out(qos, "qos") }? = port.port.qos[0];
        Ok(())
    }

    /// The profile of responses with every policy decided.
    fn rmw_client_response_subscription_get_actual_qos(
        client: *const Client,
        qos: *mut QosProfile,
    ) {
        // SAFETY: null or a client (caller).
        let port = unsafe { data(client, "client") }?;
        // SAFETY: null or a profile (caller).
        *unsafe { out(qos, "qos") }? = port.port.qos[1];
        Ok(())
    }
}
