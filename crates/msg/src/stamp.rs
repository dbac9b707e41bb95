//! Times in nanoseconds as the messages of ROS 2 have them.

/// The last time that `builtin_interfaces/msg/Time` can say, in ns since 1970: in January 2038.
pub const STAMP_NS_MAX: u64 = i32::MAX as u64 * SECOND_NS + (SECOND_NS - 1);

const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds as the fields of `builtin_interfaces/msg/Time`: seconds and nanoseconds. A time
/// after [`STAMP_NS_MAX`] is that time, in both fields: it stands still there, and never goes back.
#[inline]
pub const fn stamp_of(time_ns: u64) -> (i32, u32) {
    let time_ns = if time_ns > STAMP_NS_MAX { STAMP_NS_MAX } else { time_ns };
    ((time_ns / SECOND_NS) as i32, (time_ns % SECOND_NS) as u32)
}

#[cfg(test)]
mod tests {
    use super::{STAMP_NS_MAX, stamp_of};

    #[test]
    fn a_stamp_stands_still_at_the_last_time_that_its_fields_can_say() {
        let last = (i32::MAX, 999_999_999);
        assert_eq!([0, 7_000_000_008].map(stamp_of), [(0, 0), (7, 8)]);
        assert_eq!([STAMP_NS_MAX - 1, STAMP_NS_MAX].map(stamp_of), [(i32::MAX, 999_999_998), last]);
        // Half a second later, and at the end of time.
        let later = [STAMP_NS_MAX + 1, STAMP_NS_MAX + 500_000_000, u64::MAX];
        assert_eq!(later.map(stamp_of), [last; 3]);
    }
}
