//! Calls of services for viewers: each is a call of a client of our own.

use crate::studio::service_schema;
use crossdock_comm::service::AnyClient;
use crossdock_comm::service::CallCdrError;
use crossdock_comm::{AnyThread, FreeClientOptions, Participant, PortError};
use crossdock_msg::{FlatError, JsonOptions, ServiceSchema, ValueError};
use foxglove::websocket::service::{Request, Service};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a call may take, its turn and the way to the server included: what a viewer has asked
/// for longer ago, nobody expects any more.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A call did not end with a response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("other calls of the service took {} s; call it again", TIMEOUT.as_secs())]
    Late,
    #[error("the view ends")]
    Over,
    #[error("the request cannot be written: {0}")]
    Request(#[from] ValueError),
    #[error(transparent)]
    Call(#[from] CallCdrError),
    #[error("the response is damaged: {0}")]
    Response(#[from] FlatError),
}

/// One service, and our client of it, which is made with the first call.
struct Calls {
    participant: Participant,
    node: String,
    service: String,
    schema: Arc<ServiceSchema>,
    client: Mutex<Option<AnyClient<AnyThread>>>,
}

impl Calls {
    /// Calls the service; blocks until it answers, and while another viewer calls it.
    fn call(&self, request: &[u8], asked: Instant) -> Result<Vec<u8>, ServiceError> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let left = || TIMEOUT.saturating_sub(asked.elapsed());
        if left().is_zero() {
            return Err(ServiceError::Late);
        }
        let client = match &mut *client {
            Some(client) => client,
            none => {
                let Self { participant, node, service, schema, .. } = self;
                none.insert(client_of(participant, node, service, schema)?)
            }
        };
        // Without a server the call says so.
        client.wait_for_server(left());
        let response = client.call_cdr(request, left())?;
        let mut cdr = Vec::new();
        self.schema.response().encode_cdr(response.block(), &mut cdr)?;
        Ok(cdr)
    }
}

fn client_of(
    participant: &Participant,
    node: &str,
    service: &str,
    schema: &Arc<ServiceSchema>,
) -> Result<AnyClient<AnyThread>, PortError> {
    let options = FreeClientOptions { node, service, ..FreeClientOptions::default() };
    participant.free_any_client(Arc::clone(schema), options)
}

/// Calls a service once, in words of JSON; blocks until it answers, at most for `timeout` after it
/// has been found.
pub(crate) fn ask(
    participant: &Participant,
    node: &str,
    service: &str,
    schema: &Arc<ServiceSchema>,
    request: &Value,
    timeout: Duration,
) -> Result<Value, ServiceError> {
    let request = schema.request().cdr_of_json(request)?;
    let client = client_of(participant, node, service, schema)?;
    // Without a server the call says so.
    client.wait_for_server(timeout);
    let response = client.call_cdr(&request, timeout)?;
    let options = JsonOptions::shown(usize::MAX);
    Ok(schema.response().to_json_with(response.block(), options)?)
}

/// A service as viewers see it.
pub(crate) fn service(
    participant: &Participant,
    node: &str,
    name: &str,
    schema: ServiceSchema,
) -> Service {
    let told = service_schema(&schema);
    let calls = Arc::new(Calls {
        participant: participant.clone(),
        node: node.to_owned(),
        service: name.to_owned(),
        schema: Arc::new(schema),
        client: Mutex::new(None),
    });
    Service::builder(name, told).async_handler_fn(move |request: Request| {
        let (calls, asked) = (Arc::clone(&calls), Instant::now());
        async move {
            let call = move || calls.call(request.payload(), asked);
            tokio::task::spawn_blocking(call).await.unwrap_or(Err(ServiceError::Over))
        }
    })
}
