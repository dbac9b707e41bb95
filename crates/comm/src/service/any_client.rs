//! A client whose service type is known at run time only: for tools.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossdock_msg::{Block, ServiceSchema};
use crossdock_shm::RawSample;

use super::client::ClientOptions;
use super::client_core::ClientCore;
use super::{CallError, ServiceType};
use crate::discovery::participant::Participant;
use crate::error::{PortError, PublishCdrError};
use crate::port::message_type::MessageType;

/// Calls a service of a type that is known at run time only. Neither `Send` nor `Sync`.
pub struct AnyClient {
    core: Rc<ClientCore>,
    schema: Arc<ServiceSchema>,
}

impl std::fmt::Debug for AnyClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyClient").field(&self.core.service()).finish()
    }
}

impl Participant {
    /// As [`Participant::client`], of a type that is known at run time only.
    ///
    /// # Errors
    /// As [`Participant::client`].
    pub fn any_client(
        &self,
        schema: Arc<ServiceSchema>,
        options: ClientOptions<'_>,
    ) -> Result<AnyClient, PortError> {
        let service_type = ServiceType {
            type_name: schema.type_name(),
            type_hash: schema.type_hash().0,
            request: MessageType::of_schema(schema.request()),
            response: MessageType::of_schema(schema.response()),
        };
        let core = ClientCore::create(self, &options, service_type)?;
        Ok(AnyClient { core, schema })
    }
}

/// A call with an encoded request did not end with a response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallCdrError {
    /// The bytes are no request of the service's type, or there is no memory for it.
    #[error(transparent)]
    Request(#[from] PublishCdrError),
    /// What became of the call.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl AnyClient {
    /// The type.
    pub fn schema(&self) -> &Arc<ServiceSchema> {
        &self.schema
    }

    /// As [`super::Client::wait_for_server`].
    pub fn wait_for_server(&self, timeout: Duration) -> bool {
        self.core.wait_for_server(timeout)
    }

    /// Node and process of the server.
    pub fn server(&self) -> Option<String> {
        self.core.server().map(|server| server.label.clone())
    }

    /// Sends a request given as CDR and waits for the response, at most for `timeout`. Outside
    /// executors.
    ///
    /// # Errors
    /// [`CallCdrError`].
    pub fn call_cdr(&self, cdr: &[u8], timeout: Duration) -> Result<AnyResponse, CallCdrError> {
        let service = self.core.service();
        let request = self.schema.request();
        let wrong = |source| PublishCdrError::Cdr { topic: service.to_string(), source };
        let bytes = request.flat_bytes_of_cdr(cdr).map_err(wrong)?;
        let mut loan = self.core.loan(bytes).map_err(PublishCdrError::from)?;
        let len = request.decode_cdr(cdr, loan.bytes_mut()).map_err(wrong)?;
        loan.meta_mut().len = len;
        let Some(bell) = self.core.bell() else {
            return Err(CallError::InsideExecutor { service: service.to_string() }.into());
        };
        let sent = self.core.send(loan, timeout).map_err(|(_, reason)| reason);
        let call = sent.map_err(CallError::from)?;
        let raw = self.core.wait(bell, call)?;
        Ok(AnyResponse { raw, schema: Arc::clone(&self.schema) })
    }
}

/// A response and its type; as [`crate::AnySample`].
#[derive(Debug)]
pub struct AnyResponse {
    raw: RawSample,
    schema: Arc<ServiceSchema>,
}

impl AnyResponse {
    /// The payload in the flat layout.
    pub fn block(&self) -> Block<'_> {
        Block::new(self.raw.bytes())
    }

    /// The service's type.
    pub fn schema(&self) -> &Arc<ServiceSchema> {
        &self.schema
    }
}
