//! The events of ports, executors, gateways and devices, as methods to call where they happen.
//!
//! If its event is not traced, a method is one load and one branch; else it writes one to three
//! records. No method allocates, locks or makes a system call, except at a thread's first event and
//! at the event of a kernel, which comes on a driver's thread. Times are [`monotonic_ns`]; if the
//! caller has read that clock, its reading is used.

use crate::schema::EventKind;
use crate::tracer::{self, Defined, Mask, define, new_handle, new_handles, record};
use crossdock_shm::clock::{both_ns, monotonic_ns, now_ns};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PUBLISH: u64 =
    EventKind::RclcppPublish.bit() | EventKind::RclPublish.bit() | EventKind::RmwPublish.bit();
const TAKE: u64 = EventKind::RmwTake.bit() | EventKind::RclTake.bit() | EventKind::RclcppTake.bit();
const START: u64 = EventKind::ExecutorExecute.bit() | EventKind::CallbackStart.bit();

/// Events of one publisher. `!Sync`.
#[derive(Debug)]
pub struct PublisherTrace {
    mask: Mask,
    /// The publisher; the transport's half is the next number.
    handle: u64,
    /// When the message was stamped that is published next; 0: it was not, or nothing is traced.
    stamped_ns: Cell<u64>,
}

impl PublisherTrace {
    /// Defines a publisher; `gid` names it across processes. Allocates, takes a lock.
    #[must_use]
    pub fn new(node: &str, topic: &str, depth: usize, gid: [u8; 16]) -> Self {
        use Defined::{Gid, Text, Word};
        let handle = new_handles(2);
        let rmw = Word(handle + 1);
        define(EventKind::RmwPublisherInit, &[rmw, Gid(gid)]);
        let node = Word(tracer::node(node));
        let values = [Word(handle), node, rmw, Text(topic), Word(depth as u64)];
        define(EventKind::RclPublisherInit, &values);
        Self { mask: tracer::mask(), handle, stamped_ns: Cell::new(0) }
    }

    /// The time of day for a message's stamp, as [`now_ns`]. Where publishing is traced, the same
    /// reading of the clock dates the event.
    #[inline]
    pub fn stamp_ns(&self) -> u64 {
        if !self.mask.has(PUBLISH) {
            return now_ns();
        }
        let (stamp_ns, at_ns) = both_ns();
        self.stamped_ns.set(at_ns);
        stamp_ns
    }

    /// Memory was lent for a message that will lie at `message`.
    #[inline]
    pub fn loan(&self, message: impl FnOnce() -> usize, bytes: usize) {
        if self.mask.has(EventKind::Loan.bit()) {
            let fields = [self.handle, message() as u64, bytes as u64];
            record(EventKind::Loan as u16, monotonic_ns(), fields);
        }
    }

    /// The message at `message` is about to be published with this stamp.
    #[inline]
    pub fn publish(&self, message: impl FnOnce() -> usize, stamp_ns: u64) {
        if self.mask.has(PUBLISH) {
            self.published(message() as u64, stamp_ns);
        }
    }

    fn published(&self, message: u64, stamp_ns: u64) {
        let at_ns = match self.stamped_ns.take() {
            0 => monotonic_ns(),
            stamped_ns => stamped_ns,
        };
        if self.mask.has(EventKind::RclcppPublish.bit()) {
            record(EventKind::RclcppPublish as u16, at_ns, [message]);
        }
        if self.mask.has(EventKind::RclPublish.bit()) {
            record(EventKind::RclPublish as u16, at_ns, [self.handle, message]);
        }
        if self.mask.has(EventKind::RmwPublish.bit()) {
            record(EventKind::RmwPublish as u16, at_ns, [self.handle + 1, message, stamp_ns]);
        }
    }
}

/// Events of one subscriber.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionTrace {
    mask: Mask,
    /// The subscriber; the next numbers are the transport's half, the library's, and its callback.
    handle: u64,
}

impl SubscriptionTrace {
    /// Defines a subscriber; `gid` names it across processes. Allocates, takes a lock.
    #[must_use]
    pub fn new(node: &str, topic: &str, depth: usize, gid: [u8; 16]) -> Self {
        use Defined::{Gid, Text, Word};
        let handle = new_handles(4);
        let (rmw, rclcpp) = (Word(handle + 1), Word(handle + 2));
        define(EventKind::RmwSubscriptionInit, &[rmw, Gid(gid)]);
        let node = Word(tracer::node(node));
        let values = [Word(handle), node, rmw, Text(topic), Word(depth as u64)];
        define(EventKind::RclSubscriptionInit, &values);
        define(EventKind::RclcppSubscriptionInit, &[Word(handle), rclcpp]);
        Self { mask: tracer::mask(), handle }
    }

    /// Defines what its messages run: its callback. Allocates, takes a lock.
    #[must_use]
    pub fn callback(&self, symbol: &str) -> u64 {
        use Defined::{Text, Word};
        let (rclcpp, callback) = (Word(self.handle + 2), Word(self.handle + 3));
        define(EventKind::RclcppSubscriptionCallbackAdded, &[rclcpp, callback]);
        define(EventKind::RclcppCallbackRegister, &[callback, Text(symbol)]);
        self.handle + 3
    }

    /// The message at `message`, which carries this stamp, has been taken.
    #[inline]
    pub fn take(&self, message: impl FnOnce() -> usize, stamp_ns: u64) {
        if self.mask.has(TAKE) {
            self.taken(message() as u64, stamp_ns);
        }
    }

    fn taken(&self, message: u64, stamp_ns: u64) {
        let at_ns = monotonic_ns();
        if self.mask.has(EventKind::RmwTake.bit()) {
            let fields = [self.handle + 1, message, stamp_ns, 1];
            record(EventKind::RmwTake as u16, at_ns, fields);
        }
        if self.mask.has(EventKind::RclTake.bit()) {
            record(EventKind::RclTake as u16, at_ns, [message]);
        }
        if self.mask.has(EventKind::RclcppTake.bit()) {
            record(EventKind::RclcppTake as u16, at_ns, [message]);
        }
    }

    /// For a sample of its: to be called when it is let go of.
    #[inline]
    #[must_use]
    pub fn release(&self) -> ReleaseTrace {
        ReleaseTrace { mask: self.mask }
    }
}

/// The event at a sample's end, on whatever thread that is.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseTrace {
    mask: Mask,
}

impl Default for ReleaseTrace {
    /// Of a sample that no subscription hands out: the response to a call.
    fn default() -> Self {
        Self { mask: tracer::mask() }
    }
}

impl ReleaseTrace {
    /// The message at `message` is let go of.
    #[inline]
    pub fn released(self, message: impl FnOnce() -> usize) {
        if self.mask.has(EventKind::Release.bit()) {
            record(EventKind::Release as u16, monotonic_ns(), [message() as u64]);
        }
    }
}

/// Events of an executor.
#[derive(Clone, Copy, Debug)]
pub struct ExecutorTrace {
    mask: Mask,
}

impl Default for ExecutorTrace {
    fn default() -> Self {
        Self { mask: tracer::mask() }
    }
}

impl ExecutorTrace {
    /// Defines a timer of a node, and gives its callback. Allocates, takes a lock.
    #[must_use]
    pub fn timer(&self, node: &str, period_ns: u64, symbol: &str) -> u64 {
        use Defined::{Text, Word};
        let (timer, callback) = (Word(new_handle()), new_handle());
        define(EventKind::RclTimerInit, &[timer, Word(period_ns)]);
        define(EventKind::RclcppTimerCallbackAdded, &[timer, Word(callback)]);
        define(EventKind::RclcppTimerLinkNode, &[timer, Word(tracer::node(node))]);
        define(EventKind::RclcppCallbackRegister, &[Word(callback), Text(symbol)]);
        callback
    }

    /// Defines what of a node neither a timer nor a single message runs, and gives its callback.
    /// Allocates, takes a lock.
    #[must_use]
    pub fn callback(&self, node: &str, symbol: &str) -> u64 {
        use Defined::{Text, Word};
        let (node, callback) = (tracer::node(node), new_handle());
        define(EventKind::NodeCallbackAdded, &[Word(node), Word(callback)]);
        define(EventKind::RclcppCallbackRegister, &[Word(callback), Text(symbol)]);
        callback
    }

    /// Defines a measured span, once by each name. Allocates, takes a lock.
    #[must_use]
    pub fn chain(&self, name: &str, first: &str, last: &str) -> u64 {
        tracer::chain(name, first, last)
    }

    /// An execution begins, released by a message from inside the executor or otherwise; `at_ns` is
    /// the caller's reading of the clock, if it has one.
    #[inline]
    pub fn start(self, callback: u64, inside: bool, at_ns: Option<u64>) {
        if self.mask.has(START) {
            self.started(callback, inside, at_ns);
        }
    }

    #[inline(never)]
    fn started(self, callback: u64, inside: bool, at_ns: Option<u64>) {
        let at_ns = at_ns.unwrap_or_else(monotonic_ns);
        if self.mask.has(EventKind::ExecutorExecute.bit()) {
            record(EventKind::ExecutorExecute as u16, at_ns, [callback]);
        }
        if self.mask.has(EventKind::CallbackStart.bit()) {
            record(EventKind::CallbackStart as u16, at_ns, [callback, inside.into()]);
        }
    }

    /// The execution has ended; `at_ns` as for [`start`](Self::start).
    #[inline]
    pub fn end(self, callback: u64, at_ns: Option<u64>) {
        if self.mask.has(EventKind::CallbackEnd.bit()) {
            Self::ended(callback, at_ns);
        }
    }

    #[inline(never)]
    fn ended(callback: u64, at_ns: Option<u64>) {
        let at_ns = at_ns.unwrap_or_else(monotonic_ns);
        record(EventKind::CallbackEnd as u16, at_ns, [callback]);
    }

    /// The executor looks for what is next.
    #[inline]
    pub fn next(self) {
        if self.mask.has(EventKind::ExecutorGetNextReady.bit()) {
            record(EventKind::ExecutorGetNextReady as u16, monotonic_ns(), []);
        }
    }

    /// The executor is about to sleep, at most so long.
    #[inline]
    pub fn wait(self, timeout: Option<Duration>) {
        if self.mask.has(EventKind::ExecutorWaitForWork.bit()) {
            let timeout_ns =
                timeout.map_or(-1, |it| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX));
            record(EventKind::ExecutorWaitForWork as u16, monotonic_ns(), [timeout_ns as u64]);
        }
    }

    /// A message on the first topic of a span, published at `stamp_ns`, is about to run a node;
    /// `at_ns` as for [`start`](Self::start).
    #[inline]
    pub fn chain_start(self, chain: u64, stamp_ns: u64, at_ns: Option<u64>) {
        if self.mask.has(EventKind::ChainStart.bit()) {
            let at_ns = at_ns.unwrap_or_else(monotonic_ns);
            record(EventKind::ChainStart as u16, at_ns, [chain, stamp_ns]);
        }
    }

    /// An execution has published on the last topic of a span; `at_ns` as for
    /// [`start`](Self::start).
    #[inline]
    pub fn chain_end(self, chain: u64, latency_ns: u64, at_ns: Option<u64>) {
        if self.mask.has(EventKind::ChainEnd.bit()) {
            let at_ns = at_ns.unwrap_or_else(monotonic_ns);
            record(EventKind::ChainEnd as u16, at_ns, [chain, latency_ns]);
        }
    }
}

/// Events of a gateway between a topic and a fabric.
#[derive(Clone, Copy, Debug)]
pub struct GatewayTrace {
    mask: Mask,
    handle: u64,
}

/// Which way a message goes through a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Way {
    /// Into the fabric.
    Down = 0,
    /// Out of it.
    Up = 1,
}

impl GatewayTrace {
    /// Defines a gateway. Allocates, takes a lock.
    #[must_use]
    pub fn new(topic: &str, fabric: &str) -> Self {
        use Defined::{Text, Word};
        let handle = new_handle();
        define(EventKind::GatewayInit, &[Word(handle), Text(topic), Text(fabric)]);
        Self { mask: tracer::mask(), handle }
    }

    /// The host hands a message over, or publishes one that has come.
    #[inline]
    pub fn message(self, way: Way, message: impl FnOnce() -> usize, bytes: usize) {
        let kind = match way {
            Way::Down => EventKind::GatewayDown,
            Way::Up => EventKind::GatewayUp,
        };
        if self.mask.has(kind.bit()) {
            record(kind as u16, monotonic_ns(), [self.handle, message() as u64, bytes as u64]);
        }
    }

    /// The fabric has done with a message, at its own time.
    #[inline]
    pub fn fabric_message(self, way: Way, virtual_time_ns: u64) {
        if self.mask.has(EventKind::FabricMessage.bit()) {
            let fields = [self.handle, way as u64, virtual_time_ns];
            record(EventKind::FabricMessage as u16, monotonic_ns(), fields);
        }
    }
}

/// Events of the work of one executor on a device. `Send + Sync`: they are told by the driver's
/// threads.
#[derive(Debug)]
pub struct DeviceTrace {
    mask: Mask,
    queue: u64,
    /// Handles of kernels by their names; kernels are few.
    kernels: Mutex<HashMap<String, u64>>,
}

impl DeviceTrace {
    /// Defines the queue of an executor on a device. Allocates, takes a lock.
    #[must_use]
    pub fn new(device: &str, executor: &str) -> Self {
        use Defined::{Text, Word};
        let queue = new_handle();
        define(EventKind::DeviceQueueInit, &[Word(queue), Text(device), Text(executor)]);
        Self { mask: tracer::mask(), queue, kernels: Mutex::default() }
    }

    /// Whether kernels are traced: whether anybody has to find out when they run.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.mask.has(EventKind::DeviceKernel.bit())
    }

    /// The device has run a kernel from `begin_ns` to `end_ns`, by [`monotonic_ns`], each known to
    /// within `uncertainty_ns`. Takes a lock; the first one of a name allocates.
    pub fn kernel(&self, name: &str, (begin_ns, end_ns): (u64, u64), uncertainty_ns: u64) {
        if self.is_on() {
            let fields = [self.queue, self.handle(name), begin_ns, end_ns, uncertainty_ns];
            record(EventKind::DeviceKernel as u16, monotonic_ns(), fields);
        }
    }

    fn handle(&self, name: &str) -> u64 {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = kernels.get(name) {
            return *handle;
        }
        let handle = new_handle();
        kernels.insert(name.to_owned(), handle);
        define(EventKind::DeviceKernelInit, &[Defined::Word(handle), Defined::Text(name)]);
        handle
    }
}
