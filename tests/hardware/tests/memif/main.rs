//! The memory-side modules of `hw/`: lint, proofs, simulations, faults that must be caught,
//! budgets.
#![allow(missing_docs)]

mod budget;
mod event_count;
mod gateway;
mod host_port;
mod mmu;
mod osif;
mod paper;
mod read;
mod registers;
mod share;
mod tlb;
mod write;
