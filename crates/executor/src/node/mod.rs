//! What authors of nodes see: the traits, the description of a node type, and what a node gets
//! while it is made and while it executes.

pub(crate) mod context;
pub(crate) mod description;
pub(crate) mod error;
pub(crate) mod logger;
pub(crate) mod miss;
pub(crate) mod node_type;
pub(crate) mod opened;
pub(crate) mod package;
pub(crate) mod parameter;
pub(crate) mod qos;
pub(crate) mod setup;
pub(crate) mod shown;
pub(crate) mod time_jump;
pub(crate) mod uploaders;
