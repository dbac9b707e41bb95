//! The date of a result.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY_S: u64 = 86_400;

/// Now, in UTC: `2026-11-22T23:20:10Z`.
#[must_use]
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    text(since.map_or(0, |since| since.as_secs()))
}

fn text(unix_s: u64) -> String {
    let (year, month, day) = date(unix_s / DAY_S);
    let second = unix_s % DAY_S;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut year, mut left) = (1970, days);
    // As many turns as years have passed.
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        (year, left) = (year + 1, left - length);
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        (month, left) = (month + 1, left - length);
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(text(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(text(1_772_323_200), "2026-03-01T00:00:00Z");
        assert_eq!(text(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
