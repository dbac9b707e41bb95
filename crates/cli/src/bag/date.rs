//! Times of bags as people read them.

const NS_PER_S: u64 = 1_000_000_000;
const S_PER_DAY: u64 = 86_400;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Year, month from 1 and day of a time since 1970, UTC.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March, so that the day that some have more is the last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, of_month)
}

/// `Apr 2 2020 22:23:55.112411371 UTC (1585866235.112411371)`.
pub(super) fn date(time_ns: u64) -> String {
    let (seconds, ns) = (time_ns / NS_PER_S, time_ns % NS_PER_S);
    let (year, month, day) = civil(seconds / S_PER_DAY);
    let of_day = seconds % S_PER_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let month = MONTHS[month as usize - 1];
    format!(
        "{month} {day} {year} {hour:02}:{minute:02}:{second:02}.{ns:09} UTC ({seconds}.{ns:09})"
    )
}

/// `2020_04_02-22_23_55`: part of a file name, in UTC.
pub(super) fn file_date(time_ns: u64) -> String {
    let seconds = time_ns / NS_PER_S;
    let (year, month, day) = civil(seconds / S_PER_DAY);
    let of_day = seconds % S_PER_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}_{month:02}_{day:02}-{hour:02}_{minute:02}_{second:02}")
}

/// `4.531096768s`.
pub(super) fn seconds(ns: u64) -> String {
    format!("{}.{:09}s", ns / NS_PER_S, ns % NS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_dates() {
        let talker = 1_585_866_235_112_411_371;
        assert_eq!(date(talker), "Apr 2 2020 22:23:55.112411371 UTC (1585866235.112411371)");
        assert_eq!(date(0), "Jan 1 1970 00:00:00.000000000 UTC (0.000000000)");
        assert_eq!(file_date(951_782_400 * NS_PER_S), "2000_02_29-00_00_00");
        assert_eq!(file_date(4_107_542_399 * NS_PER_S), "2100_02_28-23_59_59");
        assert_eq!(seconds(4_531_096_768), "4.531096768s");
        // The last time that a bag can have.
        assert!(date(u64::MAX).starts_with("Jul 21 2554"));
    }
}
