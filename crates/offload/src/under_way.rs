//! Pieces of work that a device has and that are not done.

use crossdock_device::{Device, DeviceError, FencePoint};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// At most: enough that the device never waits for the host, few enough that messages do not pile
/// up before it, nor the chunks that are kept for them.
const MAX: usize = 4;

/// Whether the device may be given one piece more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It may.
    Free,
    /// The oldest piece did not end in time.
    Late,
}

/// Their ends, oldest first, and what they keep.
///
/// A device that tells an end itself does so before the driver's thread has dropped what the piece
/// kept: a node that went by ends alone would hold more samples than there are pieces.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    ends: VecDeque<FencePoint>,
    kept: Arc<Kept>,
    /// The oldest did not come in time: nobody waits for it again.
    is_overdue: bool,
}

/// How many pieces still keep something.
#[derive(Debug, Default)]
struct Kept {
    pieces: Mutex<usize>,
    fewer: Condvar,
}

impl Kept {
    fn pieces(&self) -> MutexGuard<'_, usize> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until fewer than [`MAX`] do, at most so long; false: they do not.
    fn wait(&self, limit: Duration) -> bool {
        let wait = self.fewer.wait_timeout_while(self.pieces(), limit, |pieces| *pieces >= MAX);
        let (pieces, _) = wait.unwrap_or_else(PoisonError::into_inner);
        *pieces < MAX
    }
}

/// Goes with what a piece keeps, and is dropped after it, on any thread.
#[derive(Debug)]
pub(crate) struct Keeping(Arc<Kept>);

impl Drop for Keeping {
    fn drop(&mut self) {
        *self.0.pieces() -= 1;
        self.0.fewer.notify_one();
    }
}

impl UnderWay {
    /// One more.
    pub(crate) fn add(&mut self, end: FencePoint) {
        self.ends.push_back(end);
    }

    /// A piece keeps something: it is under way until this is dropped.
    pub(crate) fn keeping(&self) -> Keeping {
        *self.kept.pieces() += 1;
        Keeping(Arc::clone(&self.kept))
    }

    /// Waits for room, at most so long, and not again for a piece that was late once.
    ///
    /// # Errors
    /// [`DeviceError::Poisoned`]: one of them has failed.
    pub(crate) fn room(&mut self, device: &Device, limit: Duration) -> Result<Room, DeviceError> {
        let failed = |source| DeviceError::Poisoned { device: device.info().name.clone(), source };
        // Ends: at most as many turns as there are points.
        while let Some(oldest) = self.ends.front() {
            if !oldest.is_reached().map_err(failed)? {
                if self.ends.len() < MAX {
                    break;
                }
                if self.is_overdue || !oldest.wait(limit).map_err(failed)? {
                    self.is_overdue = true;
                    return Ok(Room::Late);
                }
            }
            self.is_overdue = false;
            self.ends.pop_front();
        }
        if !self.kept.wait(limit) {
            return Ok(Room::Late);
        }
        Ok(Room::Free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_device::{Timeline, devices};
    use crossdock_test_support::skip;

    #[test]
    fn the_fifth_piece_waits_for_the_first_and_for_a_late_one_only_once() {
        if devices().is_empty() {
            return skip("no OpenCL driver");
        }
        let device = Device::open("opencl:0").expect("it was listed");
        let timeline = Timeline::create("work").expect("memory");
        let point = |value| FencePoint { timeline: timeline.clone(), value };
        let mut under_way = UnderWay::default();
        let long = Duration::from_secs(60);
        for value in 1..=4 {
            assert_eq!(under_way.room(&device, long), Ok(Room::Free), "{value}");
            under_way.add(point(value));
        }
        assert_eq!(under_way.room(&device, Duration::ZERO), Ok(Room::Late));
        // At once, or this takes a minute.
        assert_eq!(under_way.room(&device, long), Ok(Room::Late));
        timeline.advance(2);
        assert_eq!(under_way.room(&device, long), Ok(Room::Free));
        // Ends that are told leave no room as long as what the pieces kept is there.
        timeline.advance(4);
        let mut keeping: Vec<_> = (0..4).map(|_| under_way.keeping()).collect();
        assert_eq!(under_way.room(&device, Duration::ZERO), Ok(Room::Late));
        std::thread::scope(|scope| {
            let last = keeping.pop();
            scope.spawn(move || drop(last));
            assert_eq!(under_way.room(&device, long), Ok(Room::Free));
        });
        under_way.add(point(5));
        timeline.poison();
        let failed = under_way.room(&device, long).expect_err("poison");
        assert!(matches!(failed, DeviceError::Poisoned { .. }), "{failed}");
    }
}
