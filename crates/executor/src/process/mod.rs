//! Processes of nodes: the launcher's side, the side of a package binary, and the socket between
//! them.

pub(crate) mod alone;
mod event;
mod executor_thread;
pub(crate) mod inquiry;
pub mod launch;
pub(crate) mod node_process;
mod notices;
mod protocol;
mod realtime;
mod set_up;
pub(crate) mod short_run;
pub(crate) mod shortage;
mod socket;
