//! Shared buffers as one process has them: parts, claims, tokens, instances in memory of devices.

pub(crate) mod claims;
pub(crate) mod instance;
pub(crate) mod parts;
pub(crate) mod registry;
pub(crate) mod token;
