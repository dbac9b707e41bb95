//! Text for people's terminals.

use std::fmt::{self, Write};

use crossdock_msg::drives_terminal;

/// Before the second and every other line of a text: what somebody else has written never begins a
/// line.
const MARGIN: &str = "    ";

/// Shows a text that files, messages or other processes may have had a part in: its `Display` text
/// without what would drive a terminal.
///
/// Control characters, and those that change the direction in which text is shown, become U+FFFD.
/// Ends of lines and tabs stay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<T> {
    text: T,
    margin: &'static str,
}

impl<T: fmt::Display> Shown<T> {
    /// Shows this text, its second and every other line with a margin.
    pub(crate) const fn new(text: T) -> Self {
        Self { text, margin: MARGIN }
    }

    /// Shows this text with its lines as they are.
    pub(crate) const fn without_margin(text: T) -> Self {
        Self { text, margin: "" }
    }
}

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Filter { out: f, margin: self.margin, line_has_ended: false }, "{}", self.text)
    }
}

/// Passes on what is only shown.
struct Filter<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    margin: &'static str,
    /// The margin is missing, which an empty line has no need of.
    line_has_ended: bool,
}

impl Write for Filter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            if self.line_has_ended && line != "\n" {
                self.out.write_str(self.margin)?;
            }
            self.line_has_ended = line.ends_with('\n');
            for piece in line.split_inclusive(is_obeyed) {
                let shown = piece.strip_suffix(is_obeyed);
                self.out.write_str(shown.unwrap_or(piece))?;
                if shown.is_some() {
                    self.out.write_char(char::REPLACEMENT_CHARACTER)?;
                }
            }
        }
        Ok(())
    }
}

/// Ends of lines and tabs stay.
fn is_obeyed(c: char) -> bool {
    drives_terminal(c) && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_that_a_terminal_obeys_is_left() {
        let codes = (0..=0x2ff).chain(0x600..=0x6ff).chain(0x2000..=0x20ff).chain([0x1f600]);
        let text: String = codes.filter_map(char::from_u32).collect();
        let shown = Shown::without_margin(&text).to_string();
        assert_eq!(shown.chars().count(), text.chars().count());
        for (shown, c) in shown.chars().zip(text.chars()) {
            let expected = if is_obeyed(c) { char::REPLACEMENT_CHARACTER } else { c };
            assert_eq!(shown, expected);
            assert!(!shown.is_control() || matches!(shown, '\n' | '\t'), "{c:?}");
        }
        assert!(shown.contains('\u{e9}') && shown.contains('\u{1f600}'));
    }

    #[test]
    fn a_line_of_somebody_else_has_a_margin_however_the_text_comes() {
        let told = |text: fmt::Arguments<'_>| Shown::new(text).to_string();
        let end = "one\n";
        assert_eq!(told(format_args!("{end}{}", "two")), "one\n    two");
        assert_eq!(
            told(format_args!("{end}{end}\r\n{}", '\u{7}')),
            "one\n    one\n    \u{fffd}\n    \u{fffd}"
        );
        assert_eq!(told(format_args!("{end}\n{end}")), "one\n\n    one\n");
    }
}
