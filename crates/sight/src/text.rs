//! Figures as people read them: times and sizes with three digits, counts with their names.

/// The counts that are not 0, named.
pub fn some(counts: &[(&str, u64)]) -> String {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    some.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// A time with three digits and a unit.
pub fn duration(time_ns: u64) -> String {
    let time = time_ns as f64;
    match time_ns {
        0..1_000 => format!("{time_ns} ns"),
        1_000..1_000_000 => three_digits(time / 1e3, "us"),
        1_000_000..1_000_000_000 => three_digits(time / 1e6, "ms"),
        _ => three_digits(time / 1e9, "s"),
    }
}

/// A number of bytes with three digits and a binary unit.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = None;
    for candidate in UNITS {
        if value < 1000.0 {
            break;
        }
        value /= 1024.0;
        unit = Some(candidate);
    }
    unit.map_or_else(|| format!("{count} B"), |unit| three_digits(value, unit))
}

fn three_digits(value: f64, unit: &str) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_three_digits_and_a_unit() {
        let times = [7, 1_234, 45_600, 789_000, 12_300_000, 61_000_000_000];
        let texts = times.map(duration);
        assert_eq!(texts, ["7 ns", "1.23 us", "45.6 us", "789 us", "12.3 ms", "61.0 s"]);
        assert_eq!([0, 999, 1000, 1 << 20].map(bytes), ["0 B", "999 B", "0.98 KiB", "1.00 MiB"]);
    }
}
