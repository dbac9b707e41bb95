//! Shared memory between the processes of one computer.

pub mod board;
pub mod histogram;
pub mod rendezvous;
pub mod socket;
