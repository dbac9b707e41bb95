//! The integration tests of this crate as one program: one is built and linked faster than many.
#![allow(missing_docs)]

mod bag;
mod bag_keys;
mod bag_memory;
mod hostile;
mod interfaces;
mod kills;
mod names;
mod packages;
mod patience;
mod place;
mod publish;
mod ros;
mod runs;
mod service;
mod shortages;
mod spoiled;
mod two_types;
