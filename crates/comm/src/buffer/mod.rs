//! Shared buffers as one process has them: parts, claims, tokens, and instances in memory of
//! devices.
//!
//! It uses `wire` alone. How a buffer gets to another process is in `discovery::buffer_exchange`.

pub(crate) mod claims;
pub(crate) mod instance;
pub(crate) mod parts;
pub(crate) mod registry;
pub(crate) mod token;
