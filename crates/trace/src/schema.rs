//! The events: one table with provider, name and fields of each.
//!
//! Names and fields of provider `ros2` are the same as in ros2_tracing, so that its tools read our
//! traces; provider `crossdock` has what ROS 2 has no name for.

/// What a field holds, and in what form others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// An unsigned number of 64 bits that names something: shown in hexadecimal.
    Handle,
    /// An unsigned number of 64 bits.
    U64,
    /// A signed number of 64 bits.
    I64,
    /// A signed number of 32 bits.
    I32,
    /// An unsigned number of 32 bits.
    U32,
    /// A floating-point number of 64 bits.
    F64,
    /// Text. In initialisation events only.
    Text,
    /// The 16 bytes that name a port across processes. In initialisation events only.
    Gid,
}

/// One field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, without the underscore that CTF puts before it.
    pub name: &'static str,
    /// What it holds.
    pub kind: FieldType,
}

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventClass {
    /// `ros2` or `crossdock`.
    pub provider: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its fields, in order.
    pub fields: &'static [Field],
}

/// Makes the table and the numbers by which events name their rows.
macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $provider:literal $name:literal {
        $($field:ident: $kind:ident),* $(,)?
    })*) => {
        /// The events of the table [`EVENTS`]; the number of each is its place there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum EventKind {
            $($(#[$doc])* $variant,)*
        }

        /// Every event of Crossdock itself. Events of node authors are added at run time.
        pub static EVENTS: &[EventClass] = &[
            $(EventClass {
                provider: $provider,
                name: $name,
                fields: &[$(Field { name: stringify!($field), kind: FieldType::$kind }),*],
            },)*
        ];

        impl EventKind {
            /// All of them, in the order of the table.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$variant,)*];
        }
    };
}

events! {
    /// The process: its library version.
    RclInit = "ros2" "rcl_init" { context_handle: Handle, version: Text }
    /// The name of the process.
    ProcessInit = "crossdock" "process_init" { context_handle: Handle, process_name: Text }
    /// A node.
    RclNodeInit = "ros2" "rcl_node_init" {
        node_handle: Handle, rmw_handle: Handle, node_name: Text, namespace: Text
    }
    /// The transport's half of a publisher.
    RmwPublisherInit = "ros2" "rmw_publisher_init" { rmw_publisher_handle: Handle, gid: Gid }
    /// A publisher.
    RclPublisherInit = "ros2" "rcl_publisher_init" {
        publisher_handle: Handle, node_handle: Handle, rmw_publisher_handle: Handle,
        topic_name: Text, queue_depth: U64
    }
    /// The transport's half of a subscriber.
    RmwSubscriptionInit = "ros2" "rmw_subscription_init" {
        rmw_subscription_handle: Handle, gid: Gid
    }
    /// A subscriber.
    RclSubscriptionInit = "ros2" "rcl_subscription_init" {
        subscription_handle: Handle, node_handle: Handle, rmw_subscription_handle: Handle,
        topic_name: Text, queue_depth: U64
    }
    /// The library's half of a subscriber.
    RclcppSubscriptionInit = "ros2" "rclcpp_subscription_init" {
        subscription_handle: Handle, subscription: Handle
    }
    /// What a message on a subscriber runs.
    RclcppSubscriptionCallbackAdded = "ros2" "rclcpp_subscription_callback_added" {
        subscription: Handle, callback: Handle
    }
    /// A timer.
    RclTimerInit = "ros2" "rcl_timer_init" { timer_handle: Handle, period: I64 }
    /// What a timer runs.
    RclcppTimerCallbackAdded = "ros2" "rclcpp_timer_callback_added" {
        timer_handle: Handle, callback: Handle
    }
    /// Whose timer it is.
    RclcppTimerLinkNode = "ros2" "rclcpp_timer_link_node" {
        timer_handle: Handle, node_handle: Handle
    }
    /// What is run, in words.
    RclcppCallbackRegister = "ros2" "rclcpp_callback_register" { callback: Handle, symbol: Text }
    /// What a condition of several inputs, or a device, runs: a callback that is neither a timer's
    /// nor a subscriber's.
    NodeCallbackAdded = "crossdock" "node_callback_added" { node_handle: Handle, callback: Handle }
    /// A measured span, from topic to topic.
    ChainInit = "crossdock" "chain_init" { chain: Handle, chain_name: Text, first: Text, last: Text }
    /// A gateway between a topic and a fabric.
    GatewayInit = "crossdock" "gateway_init" { gateway: Handle, topic_name: Text, fabric: Text }
    /// The work of an executor on a device, which runs in order there.
    DeviceQueueInit = "crossdock" "device_queue_init" {
        queue: Handle, device_name: Text, executor: Text
    }
    /// A kernel of a device.
    DeviceKernelInit = "crossdock" "device_kernel_init" { kernel: Handle, kernel_name: Text }
    /// An event of a node author's.
    TracepointInit = "crossdock" "tracepoint_init" { tracepoint: U64, event: Text, fields: Text }

    /// A node publishes.
    RclcppPublish = "ros2" "rclcpp_publish" { message: Handle }
    /// The same, one layer below.
    RclPublish = "ros2" "rcl_publish" { publisher_handle: Handle, message: Handle }
    /// The same at the transport; the time is what the message carries.
    RmwPublish = "ros2" "rmw_publish" {
        rmw_publisher_handle: Handle, message: Handle, timestamp: I64
    }
    /// The transport hands out a message; the time is what it carries.
    RmwTake = "ros2" "rmw_take" {
        rmw_subscription_handle: Handle, message: Handle, source_timestamp: I64, taken: I32
    }
    /// The same, one layer above.
    RclTake = "ros2" "rcl_take" { message: Handle }
    /// The same at the node.
    RclcppTake = "ros2" "rclcpp_take" { message: Handle }
    /// An execution begins.
    CallbackStart = "ros2" "callback_start" { callback: Handle, is_intra_process: I32 }
    /// It has ended.
    CallbackEnd = "ros2" "callback_end" { callback: Handle }
    /// An executor looks for what is next.
    ExecutorGetNextReady = "ros2" "rclcpp_executor_get_next_ready" { }
    /// An executor has nothing to do: it sleeps for at most so many ns, or without end (-1).
    ExecutorWaitForWork = "ros2" "rclcpp_executor_wait_for_work" { timeout: I64 }
    /// An executor has found what is next.
    ExecutorExecute = "ros2" "rclcpp_executor_execute" { handle: Handle }
    /// Memory for a message was lent to a node.
    Loan = "crossdock" "loan" { publisher_handle: Handle, message: Handle, bytes: U64 }
    /// A node has let go of a message.
    Release = "crossdock" "release" { message: Handle }
    /// A message on the first topic of a span runs a node; its source_timestamp tells which.
    ChainStart = "crossdock" "chain_start" { chain: Handle, source_timestamp: I64 }
    /// A message has been published on the last topic of a span.
    ChainEnd = "crossdock" "chain_end" { chain: Handle, latency_ns: I64 }
    /// A message is handed to a fabric.
    GatewayDown = "crossdock" "gateway_down" { gateway: Handle, message: Handle, bytes: U64 }
    /// A message of a fabric is published.
    GatewayUp = "crossdock" "gateway_up" { gateway: Handle, message: Handle, bytes: U64 }
    /// A fabric has read a message to its end (down), or written one (up).
    FabricMessage = "crossdock" "fabric_message" {
        gateway: Handle, direction: I32, virtual_time_ns: U64
    }
    /// A device has run a kernel; when, by the clock of all events, and how exact that is.
    DeviceKernel = "crossdock" "device_kernel" {
        queue: Handle, kernel: Handle, begin_ns: U64, end_ns: U64, uncertainty_ns: U64
    }
}

/// Fields that a record has room for.
pub(crate) const FIELDS_MAX: usize = 6;

/// Numbers of events of node authors begin here.
pub(crate) const USER_EVENTS: u16 = 1024;

const _: () = {
    // One bit of the mask for each, and one for the events of node authors.
    assert!(EVENTS.len() < 64 && EVENTS.len() < USER_EVENTS as usize);
    let mut row = EventKind::RclcppPublish as usize;
    while row < EVENTS.len() {
        assert!(EVENTS[row].fields.len() <= FIELDS_MAX);
        row += 1;
    }
};

impl EventKind {
    /// Its row of the table.
    #[must_use]
    pub fn class(self) -> &'static EventClass {
        &EVENTS[self as usize]
    }

    /// Its bit in the mask of what is traced.
    #[must_use]
    pub const fn bit(self) -> u64 {
        1 << self as u16
    }

    /// Whether it is written once, when something is made, whatever is traced.
    #[must_use]
    pub fn is_init(self) -> bool {
        self < EventKind::RclcppPublish
    }
}

/// The bit of the mask for events of node authors.
pub(crate) const USER_BIT: u64 = 1 << 63;

/// What [`Events::usual`] leaves out: it would cost a third reading of the clock per message.
const UNUSUAL: u64 = EventKind::Release.bit();

/// Which run-time events are traced. Initialisation events are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events(u64);

impl Events {
    /// None: tracing is off.
    #[must_use]
    pub fn none() -> Self {
        Self(0)
    }

    /// All but `crossdock:release`.
    #[must_use]
    pub fn usual() -> Self {
        Self(Self::all().0 & !UNUSUAL)
    }

    /// All.
    #[must_use]
    pub fn all() -> Self {
        let runs = EventKind::ALL.iter().filter(|kind| !kind.is_init());
        Self(runs.fold(USER_BIT, |mask, kind| mask | kind.bit()))
    }

    /// Those that are named: `PROVIDER:NAME`, `PROVIDER:*`, `user` for events of node authors,
    /// `all`.
    ///
    /// # Errors
    /// The name that nothing has.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownEvent> {
        let mut mask = 0;
        for name in names {
            let bits = match name {
                "all" => Self::all().0,
                "user" => USER_BIT,
                _ => EventKind::ALL
                    .iter()
                    .filter(|kind| kind.is_named(name))
                    .fold(0, |bits, kind| bits | kind.bit()),
            };
            if bits == 0 {
                return Err(UnknownEvent { name: name.to_owned() });
            }
            mask |= bits;
        }
        Ok(Self(mask))
    }

    pub(crate) fn mask(self) -> u64 {
        self.0
    }

    pub(crate) fn from_mask(mask: u64) -> Self {
        Self(mask)
    }

    /// Whether any is traced.
    #[must_use]
    pub fn is_any(self) -> bool {
        self.0 != 0
    }
}

/// No event has such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no event `{name}`; name events as `ros2:callback_start`, `ros2:*`, `crossdock:*`, \
     `user` or `all`; docs/formats/trace.md lists them"
)]
pub struct UnknownEvent {
    name: String,
}

impl EventKind {
    fn is_named(self, name: &str) -> bool {
        let EventClass { provider, name: own, .. } = self.class();
        let Some((of, rest)) = name.split_once(':') else { return false };
        !self.is_init() && of == *provider && (rest == "*" || rest == *own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_named_one_by_one_and_together() {
        let two = Events::named(["ros2:callback_start", "crossdock:loan"]).expect("known");
        assert_eq!(two.mask(), EventKind::CallbackStart.bit() | EventKind::Loan.bit());
        let all = Events::named(["ros2:*", "crossdock:*", "user"]).expect("known");
        assert_eq!(all, Events::all());
        assert!(Events::named(["ros2:rcl_init"]).is_err(), "always kept, not to be chosen");
        let error = Events::named(["callback_start"]).expect_err("without provider");
        assert!(error.to_string().contains("`callback_start`"));
    }

    #[test]
    fn every_event_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> =
            EVENTS.iter().map(|event| (event.provider, event.name)).collect();
        assert_eq!(names.len(), EVENTS.len());
    }
}
