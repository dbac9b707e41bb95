//! A client: as many calls under way as ROS 2's programs have, none of which ends by time.

use super::newest::Newest;
use super::service::ServicePlans;
use crate::abi::shared::QosProfile;
use crate::bell::{Rings, lock};
use crate::context::Context;
use crate::convert::ConvertError;
use crate::failure::Failure;
use crate::idle::Settles;
use crate::qos::{End, decide_service};
use crossdock_comm::service::{AnyClient, AnyOutcome, AnyResponse, SendError, SendFlatError};
use crossdock_comm::{
    AnyThread, CallError, CallId, FreeClientOptions, GraphSnapshot, PortKind, TakeError,
};
use crossdock_msg::FlatError;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// Calls under way at most: programs send without waiting, and an error is an exception there.
const DEPTH: usize = 128;

/// How long a look for a server waits for one that is there and not connected yet. Connecting takes
/// a few milliseconds; client libraries that look before sleep for a quarter of a second or longer.
const CONNECTING: Duration = Duration::from_millis(100);

/// See the head of this file.
pub(crate) struct Client {
    service: String,
    pub(crate) plans: ServicePlans,
    pub(crate) gid: [u8; 16],
    /// The profiles of requests and responses with every policy decided.
    pub(crate) qos: [QosProfile; 2],
    port: Mutex<Port>,
    doorbell_index: Option<u16>,
    /// The graph with a server that did not connect while it was waited for: it does not fit.
    in_vain: Mutex<Weak<GraphSnapshot>>,
}

struct Port {
    client: AnyClient<AnyThread>,
    /// With a small depth: responses that wait to be taken.
    newest: Option<Newest<(i64, AnyResponse)>>,
}

impl Port {
    /// The next response. Those above a small depth are left out and counted.
    fn next(&mut self) -> Result<Option<(i64, AnyResponse)>, TakeError> {
        let client = &self.client;
        match &mut self.newest {
            None => next_of(client),
            Some(newest) => newest.take(
                || next_of(client),
                |(_, response)| response.stamp_ns(),
                |(_, response)| client.leave_out(response),
            ),
        }
    }
}

/// The next response, and the number of its request. Calls that end without one are passed over:
/// ROS 2 has no word for them.
fn next_of(client: &AnyClient<AnyThread>) -> Result<Option<(i64, AnyResponse)>, TakeError> {
    while let Some(AnyOutcome { call, result }) = client.take()? {
        if let Ok(response) = result {
            return Ok(Some((number(call), response)));
        }
    }
    Ok(None)
}

impl Client {
    pub(crate) fn create(
        context: &Arc<Context>,
        node: &str,
        service: &str,
        plans: ServicePlans,
        profile: &QosProfile,
    ) -> Result<Self, Failure> {
        let qos = decide_service(profile, End::Publisher, End::Subscription)?;
        let options = FreeClientOptions {
            node,
            service,
            depth: DEPTH,
            max_request_bytes: None,
            doorbell: Some(&context.doorbell),
            // The client library publishes events of its own.
            ..FreeClientOptions::default()
        };
        let schema = Arc::clone(&plans.schema);
        let client = context.participant.free_any_client(schema, options)?;
        Ok(Self {
            service: service.to_owned(),
            plans,
            gid: client.gid(),
            qos,
            doorbell_index: client.doorbell_index(),
            port: Mutex::new(Port { client, newest: Newest::of(profile) }),
            in_vain: Mutex::default(),
        })
    }

    /// Sends a request of `bytes` bytes, which `write` writes, and gives its number: 1, 2, …
    /// Without a server the request is lost, as in ROS 2, and no other one has its number.
    pub(crate) fn send(
        &self,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, ConvertError>,
    ) -> Result<i64, Failure> {
        let port = &lock(&self.port).client;
        match port.send_flat(bytes, Duration::MAX, write) {
            Ok(call) => Ok(number(call)),
            Err(error @ SendFlatError::Call(CallError::NotSent(SendError::NoServer { .. }))) => {
                Ok(number(port.lose().ok_or(error)?))
            }
            Err(SendFlatError::Call(CallError::NotSent(SendError::Busy {
                service,
                server,
                under_way,
                ..
            }))) => Err(Failure::Unanswered { service, server, under_way }),
            Err(error) => Err(error.into()),
        }
    }

    /// The next response, and the number of its request.
    pub(crate) fn take(&self) -> Result<Option<(i64, AnyResponse)>, Failure> {
        Ok(lock(&self.port).next()?)
    }

    /// A response that was taken is none of the type, which is its server's fault: it is lost, and
    /// counted.
    #[cold]
    pub(crate) fn pass_damaged(&self, response: AnyResponse, damage: &FlatError) {
        lock(&self.port).client.pass_damaged(response, damage);
    }

    /// Whether a server is connected, both ways. One of this process connects now. Waits a moment
    /// for one that is in the graph and not connected yet, once for each graph.
    pub(crate) fn has_server(&self, context: &Context) -> bool {
        if lock(&self.port).client.has_server() {
            return true;
        }
        let is_connected = || {
            context.hub.waiting.bell().meet_all();
            lock(&self.port).client.has_server()
        };
        if is_connected() {
            return true;
        }
        let graph = context.graph.snapshot();
        let is_there =
            graph.ports(PortKind::Server).any(|(_, server)| server.topic == self.service);
        let in_vain = std::mem::replace(&mut *lock(&self.in_vain), Arc::downgrade(&graph));
        let is_new = !std::ptr::eq(in_vain.as_ptr(), Arc::as_ptr(&graph));
        is_there && is_new && context.participant.wait_until(CONNECTING, is_connected)
    }
}

fn number(call: CallId) -> i64 {
    i64::try_from(call.sequence()).unwrap_or(i64::MAX)
}

impl Rings for Client {
    fn doorbell_index(&self) -> Option<u16> {
        self.doorbell_index
    }

    fn arm(&self) -> bool {
        let port = lock(&self.port);
        // Takes in servers that have come: they are no response.
        port.client.has_server();
        // What waits here is no reason not to ring for what comes.
        port.client.arm() | port.newest.as_ref().is_some_and(Newest::has_some)
    }

    fn arrived(&self) -> u64 {
        lock(&self.port).client.arrived()
    }
}

impl Settles for Client {
    fn settle(&self) {
        if let Ok(port) = self.port.try_lock() {
            port.client.settle();
        }
    }
}
