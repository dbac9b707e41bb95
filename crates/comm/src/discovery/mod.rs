//! How the processes of a domain meet and connect their ports: the participant, its control thread,
//! and the rules of connecting.
//!
//! It does not use ports: it sees them as descriptions, mailboxes and rings (`local_ports`).

pub(crate) mod bells;
pub(crate) mod buffer_exchange;
pub(crate) mod callbacks;
pub(crate) mod control_thread;
pub(crate) mod copying;
pub mod event;
mod event_callback;
pub(crate) mod graph_state;
pub(crate) mod graph_view;
pub(crate) mod graph_watch;
pub(crate) mod handover;
pub(crate) mod handshake;
pub(crate) mod local_ports;
pub(crate) mod mailbox;
#[cfg(test)]
pub(crate) mod met;
pub(crate) mod namesakes;
pub(crate) mod node_entry;
pub(crate) mod own_name;
pub(crate) mod pair_reports;
pub(crate) mod pairs;
pub(crate) mod participant;
pub(crate) mod participant_core;
pub(crate) mod participant_state;
pub(crate) mod peer_link;
pub(crate) mod port_events;
pub(crate) mod publishing_side;
pub(crate) mod refusals;
pub(crate) mod scarce;
pub(crate) mod schemas;
pub(crate) mod service_standby;
pub(crate) mod slab_exchange;
pub(crate) mod subscribing_side;
pub(crate) mod unwelcome;
pub(crate) mod view_callbacks;
pub(crate) mod watches;
