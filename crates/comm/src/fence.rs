//! Waiting for what the device of a publisher does with one of its messages. It must not know ports.

use std::time::{Duration, Instant};

use crossdock_shm::timeline::{FencePoint, SPIN};

/// How often who waits for a device looks whether its process is there at all.
const SLICE: Duration = Duration::from_millis(20);
/// How long a device may take for a message before it is given up.
const LIMIT: Duration = Duration::from_secs(10);

/// Blocks until the point is reached; else why it will not be: part of a sentence. `is_alive` says whether its
/// publisher is.
pub(crate) fn wait_reached(
    point: &FencePoint,
    is_alive: impl Fn() -> bool,
) -> Result<(), &'static str> {
    let started = Instant::now();
    // Mostly the device is about to be done, and a wake-up takes as long.
    if point.spin(SPIN) == Ok(true) {
        return Ok(());
    }
    loop {
        match point.sleep(SLICE) {
            Ok(true) => return Ok(()),
            Err(_) => return Err("the device has failed"),
            // Nobody will say that it is finished.
            Ok(false) if !is_alive() => return Err("its publisher is gone"),
            Ok(false) if started.elapsed() > LIMIT => {
                return Err("the device took over 10 s");
            }
            Ok(false) => {}
        }
    }
}
