//! Mended faults that a test build can put back, one at a time, to prove that the tests find such
//! faults.
//!
//! It must not exist in the product: outside test builds the question "is it put back?" is `false`
//! at compile time. `weaken` does the same with the orderings of the protocol, for the model
//! checker.
//!
//! To add one: name it in `fault`, ask `is` where it was mended, and have a test run `with` it that
//! fails unless the fault is found. The choice is the calling thread's own, so tests run side by
//! side; a fault shows on the thread that runs the code that asks.

/// The faults that a test can put back.
pub mod fault {
    /// publish: a ring that was closed while its publisher waited is written as if it were open,
    /// and messages are retired under numbers that are counted back from the newest one.
    pub const CLOSED_IN_WAIT: u32 = 1;
    /// loan: what is kept for peers that are deeper than the contract is never given up.
    pub const KEPT_WITHOUT_LIMIT: u32 = 2;
}

#[cfg(any(test, feature = "faults"))]
std::thread_local! {
    static FAULT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Runs `each` with one fault put back on this thread.
#[cfg(any(test, feature = "faults"))]
pub fn with<R>(fault: u32, each: impl FnOnce() -> R) -> R {
    struct Restore(u32);
    impl Drop for Restore {
        fn drop(&mut self) {
            FAULT.with(|it| it.set(self.0));
        }
    }
    let _restore = Restore(FAULT.with(|it| it.replace(fault)));
    each()
}

/// Is `fault` put back on this thread?
#[cfg(any(test, feature = "faults"))]
pub fn is(fault: u32) -> bool {
    FAULT.with(|it| it.get() == fault)
}

/// No fault is ever put back into the product.
#[cfg(not(any(test, feature = "faults")))]
#[inline(always)]
pub const fn is(_fault: u32) -> bool {
    false
}
