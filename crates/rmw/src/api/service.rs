//! Services.

use super::handles::{
    IDENTIFIER, data, destroy, free_text, given, hand_out, handle, new_text, out, text,
};
use super::node::{node, open_node};
use super::subscription::time;
use super::{endings, functions, makers};
use crate::abi::current::{GuidByte, Node, RequestId, ServiceInfo, ServiceSupport};
use crate::abi::shared::{QosProfile, Service};
use crate::convert::ConvertError;
use crate::failure::Failure;
use crate::introspection::{Current, read_service};
use crate::ports::service::{RequestKey, ServicePlans};
use crate::ports::{Registered, service};
use crate::{Plan, service_schema_of};
use crossdock_shm::clock::now_ns;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

makers! {
    /// Makes a service. Allocates, maps memory.
    fn rmw_create_service(
        node: *const Node,
        type_support: *const ServiceSupport,
        service_name: *const c_char,
        qos_policies: *const QosProfile,
    ) -> Service {
        // SAFETY: null or a node (caller).
        let node = unsafe { open_node(node) }?;
        given(type_support, "type_support")?;
        // SAFETY: null or a text (caller).
        let name = unsafe { text(service_name, "service_name") }?;
        given(qos_policies, "qos_policies")?;
        // SAFETY: a profile (caller).
        let profile = unsafe { &*qos_policies };
        // SAFETY: a type support (caller).
        let plans = unsafe { plans(type_support) }?;
        let port = service::Service::create(&node.context, &node.name, name, plans, profile)?;
        let port = Registered::new(&node.context, port);
        Ok(hand_out(node, Service {
            implementation_identifier: IDENTIFIER.as_ptr(),
            data: Box::into_raw(Box::new(port)).cast(),
            service_name: new_text(name),
        }))
    }
}

endings! {
    /// Destroys a service. Its clients hear that their open requests get no answer.
    fn rmw_destroy_service(node: *mut Node, service: *mut Service) {
        // SAFETY: null or a node (caller).
        unsafe { self::node(node.cast_const()) }?;
        // SAFETY: null or a service (caller).
        let known = unsafe { handle(service.cast_const(), "service") }?;
        let name = known.service_name;
        // SAFETY: of this library, and the caller gives it up.
        drop(unsafe { destroy(service) }?);
        // SAFETY: `rmw_create_service` has made it.
        unsafe { free_text(name) };
        Ok(())
    }
}

functions! {
    /// Takes the next request; it is answered by what is written to `request_header`. Does not
    /// block.
    fn rmw_take_request(
        service: *const Service,
        request_header: *mut ServiceInfo,
        ros_request: *mut c_void,
        taken: *mut bool,
    ) {
        // SAFETY: null or a service (caller).
        let port = &unsafe { data(service, "service") }?.port;
        // SAFETY: null or the information of a request (caller).
        let header = unsafe { out(request_header, "request_header") }?;
        given(ros_request.cast_const(), "ros_request")?;
        // SAFETY: null or a bool (caller).
        let taken = unsafe { out(taken, "taken") }?;
        *taken = false;
        while let Some((key, request)) = port.take()? {
            // SAFETY: a request of the service's type (caller).
            match unsafe { port.plans.request.take(request.block(), ros_request) } {
                Ok(()) => {}
                Err(ConvertError::Flat(damage)) => {
                    port.pass_damaged(key, &damage);
                    continue;
                }
                Err(error) => {
                    port.refuse(key);
                    return Err(error.into());
                }
            }
            *header = ServiceInfo {
                source_timestamp: time(request.stamp_ns()),
                received_timestamp: time(now_ns()),
                request_id: request_id(key),
            };
            *taken = true;
            break;
        }
        Ok(())
    }

    /// Answers a request that was taken, from any thread and in any order. That its client has gone
    /// is no error.
    fn rmw_send_response(
        service: *const Service,
        request_header: *mut RequestId,
        ros_response: *mut c_void,
    ) {
        // SAFETY: null or a service (caller).
        let port = &unsafe { data(service, "service") }?.port;
        given(request_header.cast_const(), "request_header")?;
        // SAFETY: the identity of a request (caller).
        let key = key(unsafe { &*request_header });
        given(ros_response.cast_const(), "ros_response")?;
        let plan = &port.plans.response;
        let response = ros_response.cast_const();
        // SAFETY: a response of the service's type that nobody writes (caller).
        let bytes = unsafe { plan.flat_bytes(response) }?;
        // SAFETY: as above.
        port.answer(key, bytes, |memory| unsafe { plan.write(response, memory) })
    }

    /// The profile of requests with every policy decided.
    fn rmw_service_request_subscription_get_actual_qos(
        service: *const Service,
        qos: *mut QosProfile,
    ) {
        // SAFETY: null or a service (caller).
        let port = unsafe { data(service, "service") }?;
        // SAFETY: null or a profile (caller).
        *unsafe { out(qos, "qos") }? = port.port.qos[0];
        Ok(())
    }

    /// The profile of responses with every policy decided.
    fn rmw_service_response_publisher_get_actual_qos(
        service: *const Service,
        qos: *mut QosProfile,
    ) {
        // SAFETY: null or a service (caller).
        let port = unsafe { data(service, "service") }?;
        // SAFETY: null or a profile (caller).
        *unsafe { out(qos, "qos") }? = port.port.qos[1];
        Ok(())
    }
}

/// How the messages of a service are converted.
///
/// # Safety
///
/// The type support is whole.
pub(super) unsafe fn plans(support: *const ServiceSupport) -> Result<ServicePlans, Failure> {
    // SAFETY: a type support (caller).
    let found = unsafe { read_service::<Current>(support) }?;
    let schema = Arc::new(service_schema_of(&found)?);
    let (request, response) = (Plan::of(&found.request)?, Plan::of(&found.response)?);
    Ok(ServicePlans { schema, request, response })
}

/// The identity of a request as rmw has it.
pub(super) fn request_id(key: RequestKey) -> RequestId {
    let writer_guid = key.client.map(|byte| GuidByte::from_ne_bytes([byte]));
    RequestId { writer_guid, sequence_number: key.sequence }
}

fn key(id: &RequestId) -> RequestKey {
    let client = id.writer_guid.map(|byte| byte.to_ne_bytes()[0]);
    RequestKey { client, sequence: id.sequence_number }
}
