//! What in a text of somebody else a terminal would obey instead of showing it.

/// Whether a terminal may do something else than show this character: it controls the terminal (C0,
/// DEL and C1 of Unicode's category Cc, ends of lines and tabs among them), ends a line in a way
/// that nobody looks for (U+2028, U+2029), or changes the direction in which what follows is shown
/// (UAX #9, table 4).
///
/// Everything that prints text of files, messages or other processes asks this.
pub fn drives_terminal(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_ends_lines_or_turns_text_drives_a_terminal_and_letters_do_not() {
        let driving = |codes: std::ops::RangeInclusive<u32>| -> Vec<u32> {
            codes.filter(|&code| char::from_u32(code).is_some_and(drives_terminal)).collect()
        };
        let controls: Vec<u32> = (0..=0x1f).chain(0x7f..=0x9f).collect();
        assert_eq!(driving(0..=0x5ff), controls);
        assert_eq!(driving(0x600..=0x6ff), [0x61c]);
        let turning = (0x200e..=0x200f).chain(0x2028..=0x202e).chain(0x2066..=0x2069);
        assert_eq!(driving(0x700..=0x10_ffff), turning.collect::<Vec<_>>());
    }
}
