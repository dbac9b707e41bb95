//! Mended faults that a test build can put back, one at a time, to prove that the tests find such
//! faults.
//!
//! It must not exist in the product: outside test builds the question "is it put back?" is `false`
//! at compile time. `weaken` does the same with the orderings of the protocol, for the model
//! checker.
//!
//! To add one: name it in `fault`, ask `is` where it was mended, and have a test fail because of
//! it: in a unit test `with` the fault, or in a line of `tests/faults.txt`. `scripts/faults` builds
//! all crates with the feature `faults` and runs each of these tests with `CROSSDOCK_FAULT`. A
//! fault of `with` is the calling thread's own, so tests run side by side; one of the environment
//! holds for the process and for all that it starts.

/// The faults that a test can put back.
pub mod fault {
    /// publish: a ring that was closed while its publisher waited is written as if it were open,
    /// and messages are retired under numbers that are counted back from the newest one.
    pub const CLOSED_IN_WAIT: &str = "closed in wait";
    /// loan: what is kept for peers that are deeper than the contract is never given up.
    pub const KEPT_WITHOUT_LIMIT: &str = "kept without limit";
    /// publish: a message has its number before its descriptor is written.
    pub const NUMBER_FIRST: &str = "number first";
    /// rendezvous: a folder is joined without a look at its owner and its mode.
    pub const ANY_FOLDER: &str = "any folder";
    /// trust: all who are let in are treated as our own user.
    pub const ALL_ARE_OWN: &str = "all are own";
    /// The memory of strangers' publishers is mapped.
    pub const MAPPED_STRANGERS: &str = "mapped strangers";
    /// shared buffers: memory that its owner has not taken is taken by its members.
    pub const SPARSE_MEMORY: &str = "sparse memory";
    /// The end of a connection is told as its release, although samples of it are held.
    pub const RELEASED_WHILE_HELD: &str = "released while held";
    /// What a dead subscriber holds is never given back.
    pub const DEAD_HOLD_ON: &str = "dead hold on";
    /// What a subscriber that was cut off holds is used again.
    pub const DETACHED_WHILE_HELD: &str = "detached while held";
    /// A greeting is believed in whatever name it comes.
    pub const ANY_NAME: &str = "any name";
    /// Who is not welcomed three times is given up.
    pub const GIVEN_UP: &str = "given up";
    /// Strangers have no quotas.
    pub const NO_QUOTAS: &str = "no quotas";
    /// A publisher whose device never finishes or uploads anything is waited for again and again.
    pub const WAITED_FOR_EVER: &str = "waited for ever";
}

#[cfg(any(test, feature = "faults"))]
std::thread_local! {
    static FAULT: std::cell::Cell<&'static str> = const { std::cell::Cell::new("") };
}

/// Runs `each` with one fault put back on this thread.
#[cfg(any(test, feature = "faults"))]
pub fn with<R>(fault: &'static str, each: impl FnOnce() -> R) -> R {
    struct Restore(&'static str);
    impl Drop for Restore {
        fn drop(&mut self) {
            FAULT.with(|it| it.set(self.0));
        }
    }
    let _restore = Restore(FAULT.with(|it| it.replace(fault)));
    each()
}

/// Is `fault` put back on this thread, or in this process?
#[cfg(any(test, feature = "faults"))]
pub fn is(fault: &str) -> bool {
    static OF_PROCESS: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let of_process = || std::env::var("CROSSDOCK_FAULT").unwrap_or_default();
    FAULT.with(|it| it.get() == fault) || OF_PROCESS.get_or_init(of_process) == fault
}

/// No fault is ever put back into the product.
#[cfg(not(any(test, feature = "faults")))]
#[inline(always)]
pub const fn is(_fault: &str) -> bool {
    false
}
