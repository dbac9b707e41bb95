//! Commands that look at processes whose shared memory is nonsense: they say so and go on.

use crate::place::Place;
use crossdock_test_support::OwnMemory;

/// Where the last rows of threads lie in a trace's memory, and what of a row is written.
mod row {
    /// Bytes of the head and of the 62 rows before.
    pub(super) const LAST_TWO: [u64; 2] = [8 * (64 + 62 * 16), 8 * (64 + 63 * 16)];
    pub(super) const GENERATION: u64 = 8 * 2;
    pub(super) const BEGUN: u64 = 8 * 8;
}

#[test]
fn a_trace_of_a_process_whose_threads_count_to_the_end_of_the_numbers_is_written() {
    let place = Place::new("spoiled-trace");
    let _traced = place.participant("traced");
    let memory = OwnMemory::open();
    let [trace] = &memory.shared("trace (")[..] else { panic!("one trace") };
    for at in row::LAST_TWO.map(|row| trace.start + row) {
        memory.write(at + row::GENERATION, &[1]);
        memory.write(at + row::BEGUN, &[u64::MAX; 2]);
    }
    let said = place.said(&["trace", "stop", "-o", "kept", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["lost"], u64::MAX, "{said}");
}
