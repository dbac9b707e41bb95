//! The host half of gateways: one node, which carries messages between topics in shared memory and
//! a fabric.
//!
//! A hardware subscriber's message is read by hardware where its publisher has written it, once
//! for all subscribers of the fabric. What hardware publishes it writes into memory that the
//! gateway's own publisher has lent, and there it is published. So a gateway is an ordinary
//! publisher and an ordinary subscriber, and everything that works on topics works with it.
//!
//! [`package`] has the node type `gateways`. It has no thread of its own: its executor polls it as
//! long as the fabric has something to do
//! ([`Context::poll_again`](crossdock_executor::Context::poll_again)), and sleeps when it has not.
//! [`HostPlan`] says what it hosts; the launcher makes one per fabric and gives it as the parameter
//! [`HOST_PLAN`].
//!
//! # What goes wrong, and what comes of it
//! A message that hardware cannot take (damaged, longer than its bounds) is passed over and
//! counted. One that hardware sends damaged, or longer than its bound, is counted and not
//! published. A reliable subscriber that does not take in time costs the message, counted at its
//! publisher as always; until then hardware goes on with what memory it has, and once it has none,
//! the host waits for that subscriber, and the board with it. Hardware without memory to write to
//! waits (reliable) or drops and counts (best effort). What the network itself cuts, ends or drops
//! it counts in registers; the host reads them when the board has come to rest, and shows them.
//!
//! The host restarts the board before it begins, as another one may have died on it, and when it
//! ends, before its memory goes. The board reaches memory on a lease, which is renewed by the polls
//! and given back at rest: a host that dies is no danger to who has its memory next.

#![forbid(unsafe_code)]

mod counts;
mod down;
mod lag;
mod last;
mod node;
mod plan;
pub mod record;
mod up;
mod windows;

pub use node::{HOST_PLAN, package};
pub use plan::{HostCount, HostGateway, HostInput, HostPlan, HostRefusal, HostedNode};
