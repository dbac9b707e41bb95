//! Upper bounds of what a file may hold. Each is far above what a real graph needs and low enough
//! that a hostile file costs neither time nor memory worth mentioning.

/// Bytes of one file. The largest graph at hand (autoware control, 42 topics) takes 8 kB.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Nesting of maps and lists. The formats use 6 levels (`nodes/x/inputs/y/qos/depth`).
pub const FILE_DEPTH_MAX: usize = 16;
/// Values of one file, keys not counted.
pub const FILE_VALUES_MAX: usize = 100_000;
/// Bytes of messages in YAML: a few large images.
pub const MESSAGES_BYTES_MAX: usize = 64 << 20;
/// Values of messages in YAML: as many as those bytes hold if each takes 16.
pub const MESSAGES_VALUES_MAX: usize = 4 << 20;
/// Characters of one topic, node, process or parameter name (ROS 2 allows 255 for a topic).
pub const NAME_CHARS_MAX: usize = 255;
/// Characters of the whole name of a node (`/front/blur`): as many as a status table holds.
pub const NODE_CHARS_MAX: usize = 128;
/// Files that include each other, one in the other.
pub const INCLUDE_DEPTH_MAX: usize = 8;
/// Files that one graph includes, each as often as it is included.
pub const INCLUDES_MAX: usize = 256;
/// Bytes of all files of one graph, each as often as it is included: 2 kB for each of its nodes.
pub const GRAPH_BYTES_MAX: usize = 4 << 20;
/// Nodes of one graph.
pub const NODES_MAX: usize = 2_000;
/// Ports of one graph, inputs and outputs together.
pub const PORTS_MAX: usize = 20_000;
/// Violations that one operation reports; those after it are dropped.
pub const VIOLATIONS_MAX: usize = 200;
/// Messages kept for a subscriber: as many as a port may ask for.
pub const QOS_DEPTH_MAX: u64 = 16_384;
/// Patience of a reliable publisher: one hour, milliseconds.
pub const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// Largest message: 1 GiB.
pub const MESSAGE_BYTES_MAX: u64 = 1 << 30;
/// Longest polling before sleep: one second, microseconds.
pub const SPIN_US_MAX: u64 = 1_000_000;
/// Threads of one executor.
pub const LANES_MAX: u64 = 64;
/// What one execution of a node may be expected to take: one minute, microseconds.
pub const COST_US_MAX: u64 = 60_000_000;
/// Highest number of a CPU that an executor may be bound to: as many as Linux keeps sets of.
pub const CPU_MAX: u64 = 1023;
/// Most restarts of a process within its window.
pub const RESTARTS_MAX: u64 = 1_000_000;
/// Longest window in which restarts are counted: one day, seconds.
pub const RESTART_WITHIN_S_MAX: u64 = 86_400;
/// Longest first wait before a restart: one hour, milliseconds.
pub const BACKOFF_MS_MAX: u64 = 3_600_000;
/// ROS 2 domain ids end here: the highest that gives valid UDP ports on every platform.
pub const DOMAIN_ID_MAX: u32 = 232;

/// The number of a domain as `ROS_DOMAIN_ID` writes it, read as ROS 2 does (`rcl` by `strtoul` with
/// base 0): `0x10` is 16, `010` is 8, and no text is 0. `None`: it is no number, or above
/// [`DOMAIN_ID_MAX`].
pub fn domain_id(text: &str) -> Option<u32> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    match text {
        "" => Some(0),
        _ => u32::from_str_radix(digits, radix).ok().filter(|id| *id <= DOMAIN_ID_MAX),
    }
}
/// Highest priority of a timer.
pub const TIMER_PRIORITY_MAX: u64 = 99;
/// Messages that an input of an approximate-time condition can queue: a subscriber holds 15
/// messages of a publisher at most, and the node needs some of them.
pub const APPROXIMATE_DEPTH_MAX: u32 = 12;

/// Messages that a publisher keeps for certain for a subscriber of another executor that asks for
/// more than the publisher's own depth. More stay as long as memory holds them: a topic without
/// `max_bytes` has plenty. The transport's numbers, which this crate must not know; the runtime's
/// tests compare them.
pub fn kept_for_deeper(depth: u64, max_bytes: Option<u64>) -> u64 {
    const SLOTS_MIN: u64 = 1024;
    const BYTES: u64 = 4 << 20;
    let slots = (depth + 1).next_power_of_two().max(SLOTS_MIN);
    let fits = max_bytes.map_or(slots, |bytes| {
        let held = 8 * (depth + 1).clamp(4, 15) + 2;
        (BYTES / bytes.max(1).next_multiple_of(64)).saturating_sub(held)
    });
    fits.min(slots - 1).max(depth)
}

#[cfg(test)]
mod tests {
    use super::domain_id;

    #[test]
    fn a_domain_has_the_number_that_rcl_reads() {
        for (text, id) in [("", 0), ("0", 0), ("7", 7), ("232", 232), ("061", 49), ("0xE8", 232)] {
            assert_eq!(domain_id(text), Some(id), "{text}");
        }
        for text in ["233", "-1", "08", "0x", "seven", "7 ", "99999999999"] {
            assert_eq!(domain_id(text), None, "{text}");
        }
    }
}
