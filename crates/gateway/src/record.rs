//! What a host tells of its gateways and its board, on the process's status table where observers
//! read it.

/// Counters of a gateway (kind [`GATEWAY`](crossdock_comm::status_records::kind::GATEWAY)). The
/// record's name is the topic, its detail the fabric's name. Its histogram is empty.
pub mod gateway_counter {
    /// Messages that the fabric has taken whole.
    pub const DOWN: usize = 0;
    /// Bytes of their payloads.
    pub const DOWN_BYTES: usize = 1;
    /// Messages that the fabric could not be given: damaged, longer than a bound, or not readable.
    pub const DOWN_REFUSED: usize = 2;
    /// Bytes of messages that were first copied together, because they lie in many small pieces.
    pub const DOWN_COPIED: usize = 3;
    /// Messages of the fabric that were published.
    pub const UP: usize = 4;
    /// Bytes of their payloads.
    pub const UP_BYTES: usize = 5;
    /// Messages of the fabric that were not published: cut, damaged, or not of their type.
    pub const UP_REFUSED: usize = 6;
    /// Messages of the fabric that a reliable subscriber did not take in time.
    pub const UP_TIMED_OUT: usize = 7;
}

/// Counters of a board (kind [`FABRIC`](crossdock_comm::status_records::kind::FABRIC)). The
/// record's name is the fabric's, its detail the profile's.
pub mod fabric_counter {
    /// Bytes that were read from host memory, whole beats.
    pub const BYTES_READ: usize = 0;
    /// Bytes that were written to host memory.
    pub const BYTES_WRITTEN: usize = 1;
    /// Accesses outside of what the board may reach, all refused.
    pub const REFUSED: usize = 2;
    /// Simulated time, microseconds.
    pub const SIMULATED_US: usize = 3;
}

/// Counters of what a fabric counts in its registers (kind
/// [`FABRIC_COUNTS`](crossdock_comm::status_records::kind::FABRIC_COUNTS)): those of the host's
/// plan in their order, as many to a record as it has counters. The record's name is the fabric's,
/// its detail the position in the plan of its first count, in decimal digits.
pub mod fabric_counts {
    /// The position in the plan of a record's first count; `None`: the detail is of another form.
    #[must_use]
    pub fn first(detail: &[u8]) -> Option<usize> {
        std::str::from_utf8(detail).ok()?.parse().ok()
    }
}
