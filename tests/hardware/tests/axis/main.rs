//! The AXI-stream modules of `hw/`: lint, proofs, simulations, faults that must be caught, budgets.
#![allow(missing_docs)]

mod arb;
mod bcast;
mod budget;
mod cdc;
mod chain;
mod covers;
mod faults;
mod fifo;
mod fifo_last;
mod header;
mod node_shell;
mod pack;
mod probe;
mod reg;
mod reset_sync;
mod topic;
mod width;
