//! Services that viewers may call: each call is a call of a client of our own.

use crate::studio::service_schema;
use crossdock_comm::service::AnyClient;
use crossdock_comm::service::CallCdrError;
use crossdock_comm::{AnyThread, FreeClientOptions, Participant, PortError};
use crossdock_msg::{FlatError, ServiceSchema};
use foxglove::websocket::service::{Request, Service};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a call may take, the way to the server included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A call did not end with a response.
#[derive(Debug, thiserror::Error)]
enum ServiceError {
    #[error(transparent)]
    Port(#[from] PortError),
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
    fn call(&self, request: &[u8]) -> Result<Vec<u8>, ServiceError> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match &mut *client {
            Some(client) => client,
            none => {
                let options = FreeClientOptions {
                    node: &self.node,
                    service: &self.service,
                    ..FreeClientOptions::default()
                };
                none.insert(self.participant.free_any_client(Arc::clone(&self.schema), options)?)
            }
        };
        // Without a server the call says so.
        client.wait_for_server(TIMEOUT);
        let response = client.call_cdr(request, TIMEOUT)?;
        let mut cdr = Vec::new();
        self.schema.response().encode_cdr(response.block(), &mut cdr)?;
        Ok(cdr)
    }
}

/// A service as viewers see it.
pub(crate) fn service(
    participant: &Participant,
    node: &str,
    name: &str,
    schema: ServiceSchema,
) -> Service {
    let told = service_schema(&schema);
    let calls = Calls {
        participant: participant.clone(),
        node: node.to_owned(),
        service: name.to_owned(),
        schema: Arc::new(schema),
        client: Mutex::new(None),
    };
    Service::builder(name, told)
        .blocking_handler_fn(move |request: Request| calls.call(request.payload()))
}
