//! Waiting for what the device of a publisher does with one of its messages.

use std::time::{Duration, Instant};

use crossdock_shm::timeline::{FencePoint, SPIN};

/// How often who waits for a device looks whether its process is there at all.
const SLICE: Duration = Duration::from_millis(20);
/// How long a device may take for a message before it is given up, if nothing else is said.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Why a message will not be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreached {
    /// The device says so.
    Failed,
    /// Nobody will say that it is finished.
    PublisherGone,
    /// Nobody waits any longer.
    TimedOut,
}

impl Unreached {
    /// Part of a sentence.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Unreached::Failed => "the device has failed",
            Unreached::PublisherGone => "its publisher is gone",
            Unreached::TimedOut => "the device took longer than this subscriber waits",
        }
    }
}

/// Blocks until the point is reached, at most for `patience`; else why it will not be. `is_alive`
/// says whether its publisher is.
pub(crate) fn wait_reached(
    point: &FencePoint,
    patience: Duration,
    is_alive: impl Fn() -> bool,
) -> Result<(), Unreached> {
    let started = Instant::now();
    // Mostly the device is about to be done, and a wake-up takes as long.
    if point.spin(SPIN) == Ok(true) {
        return Ok(());
    }
    loop {
        match point.sleep(SLICE.min(patience)) {
            Ok(true) => return Ok(()),
            Err(_) => return Err(Unreached::Failed),
            Ok(false) if !is_alive() => return Err(Unreached::PublisherGone),
            Ok(false) if started.elapsed() > patience => return Err(Unreached::TimedOut),
            Ok(false) => {}
        }
    }
}
