//! The integration tests of this crate as one program: one is built and linked faster than many.
#![allow(missing_docs)]

mod hostile;
mod names;
mod packages;
mod runs;
mod service;
