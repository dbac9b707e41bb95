//! What nodes hold: publishers, subscribers, doorbells and shared buffers.
//!
//! Each lives on one thread, or is used by one at a time. The control thread reaches a subscriber
//! through its mailbox alone.

pub(crate) mod buffers;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod doorbell;
pub(crate) mod erased;
pub(crate) mod group;
pub(crate) mod lookahead;
pub(crate) mod member;
pub(crate) mod message_type;
pub(crate) mod owner;
pub(crate) mod publisher;
pub(crate) mod publisher_core;
pub(crate) mod registration;
pub(crate) mod shared_topic;
pub(crate) mod subscriber;
pub(crate) mod subscriber_core;
pub(crate) mod untyped;
