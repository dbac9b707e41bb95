//! Measures transports of messages between processes, all by one loop: Crossdock, its peer
//! iceoryx2, and floors made of bare shared memory. Nothing of the product depends on this.
//!
//! `coordinator` starts child processes (`child`) that run one `Link` each and alternates blocks
//! between them; `report` writes what came out. A system is known only in `systems`.

pub mod armed;
pub mod between;
pub mod calls;
pub mod chain;
pub mod child;
pub mod codec;
pub mod control;
pub mod coordinator;
pub mod death;
pub mod failure;
pub mod figures;
pub mod findings;
pub mod hand_over;
pub mod machine;
pub mod nodes;
pub mod payload;
pub mod peers;
pub mod perception;
pub mod plan;
pub mod process;
pub mod programs;
pub mod reference;
pub mod report;
pub mod roudi;
pub mod rounds;
pub mod samples;
pub mod scale;
pub mod scope;
pub mod service;
pub mod systems;
pub mod targets;
pub mod usage;
pub mod yardsticks;

pub use failure::Failure;
