//! The memory-side modules of `hw/`: lint, proofs, simulations, faults that must be caught,
//! budgets.
#![allow(missing_docs)]

mod budget;
mod event_count;
mod gateway;
mod host_port;
mod lease;
mod mmu;
mod osif;
mod paper;
mod read;
mod registers;
mod share;
mod stop;
mod tlb;
mod write;
