//! Service types: a request and a response, known when compiled (`Service`) or at run time
//! (`ServiceSchema`), with the hash of both.

#![forbid(unsafe_code)]

use crate::definition::TypeName;
use crate::hash::TypeHash;
use crate::message::Message;
use crate::resolve::{Library, ResolveError};
use crate::rihs::type_hash;
use crate::schema::{Schema, SchemaError};

/// A service type. Implemented by the generated marker types; values of it are never made.
pub trait Service: Sized + 'static {
    /// Full ROS 2 name, such as `std_srvs/srv/SetBool`.
    const TYPE_NAME: &'static str;
    /// RIHS01 type hash of the service: of request, response and event message together.
    const TYPE_HASH: TypeHash;
    /// What a client sends.
    type Request: Message;
    /// What the server answers.
    type Response: Message;
}

/// A resolved service type. Immutable; may be shared between threads.
#[derive(Clone, Debug)]
pub struct ServiceSchema {
    type_name: String,
    type_hash: TypeHash,
    request: Schema,
    response: Schema,
}

impl ServiceSchema {
    /// Makes a type from a library of definitions. `type_name` is `package/srv/Name`, or
    /// `package/Name`. Allocates.
    ///
    /// # Errors
    ///
    /// The name has another form, the service or a used type is missing, or one of its messages has
    /// no flat layout.
    pub fn from_library(library: &Library, type_name: &str) -> Result<Self, SchemaError> {
        let name = parse_name(type_name)?;
        Ok(Self {
            type_name: name.to_string(),
            type_hash: service_hash(library, &name)?,
            request: Schema::from_library(library, &name.request().to_string())?,
            response: Schema::from_library(library, &name.response().to_string())?,
        })
    }

    /// Makes a shipped type from its name. Allocates.
    ///
    /// # Errors
    ///
    /// The name has another form, or the type is not shipped.
    pub fn shipped(type_name: &str) -> Result<Self, SchemaError> {
        let name = parse_name(type_name)?;
        let known = name.to_string();
        let shipped = crate::types::SERVICES.iter().find(|service| service.type_name == known);
        let service = shipped.ok_or(SchemaError::NotShipped { type_name: known })?;
        Ok(Self {
            type_name: service.type_name.to_owned(),
            type_hash: service.type_hash,
            request: Schema::parse(&name.request().to_string(), service.request)?,
            response: Schema::parse(&name.response().to_string(), service.response)?,
        })
    }

    /// The run-time form of a generated type. Allocates.
    ///
    /// # Errors
    ///
    /// None for types that the generator wrote.
    pub fn of<S: Service>() -> Result<Self, SchemaError> {
        Ok(Self {
            type_name: S::TYPE_NAME.to_owned(),
            type_hash: S::TYPE_HASH,
            request: Schema::of::<S::Request>()?,
            response: Schema::of::<S::Response>()?,
        })
    }

    /// Full name, such as `std_srvs/srv/SetBool`.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// RIHS01 type hash of the service.
    pub fn type_hash(&self) -> TypeHash {
        self.type_hash
    }

    /// The type of requests.
    pub fn request(&self) -> &Schema {
        &self.request
    }

    /// The type of responses.
    pub fn response(&self) -> &Schema {
        &self.response
    }
}

/// What is shipped of a service type.
#[derive(Clone, Copy, Debug)]
pub struct ShippedService {
    /// Full name.
    pub type_name: &'static str,
    /// RIHS01 type hash.
    pub type_hash: TypeHash,
    /// Merged definition of the request.
    pub request: &'static str,
    /// Merged definition of the response.
    pub response: &'static str,
}

impl ShippedService {
    /// What is shipped of a generated type.
    pub const fn of<S: Service>() -> Self {
        Self {
            type_name: S::TYPE_NAME,
            type_hash: S::TYPE_HASH,
            request: S::Request::DEFINITION,
            response: S::Response::DEFINITION,
        }
    }
}

/// The RIHS01 type hash of a service or an action in a library. ROS 2 hashes a synthetic type, for
/// a service of three fields: request, response and event message.
///
/// # Errors
///
/// The service or a used type is not in the library.
pub(crate) fn service_hash(library: &Library, name: &TypeName) -> Result<TypeHash, ResolveError> {
    Ok(type_hash(&library.resolve(name)?))
}

fn parse_name(text: &str) -> Result<TypeName, SchemaError> {
    TypeName::parse_service(text).ok_or_else(|| SchemaError::ServiceName { text: text.to_owned() })
}
