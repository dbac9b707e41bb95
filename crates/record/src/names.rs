//! Names of topics as bags have them.

use std::fmt::{self, Write as _};

use crossdock_msg::drives_terminal;

/// A name or another text of a file, as a sentence says it: it ends no line and drives no terminal.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.chars().map(|c| match drives_terminal(c) {
            true => char::REPLACEMENT_CHARACTER,
            false => c,
        });
        shown.try_for_each(|c| f.write_char(c))
    }
}

/// Some tools record `chatter` where the topic was `/chatter`.
pub(crate) fn absolute(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names_become_absolute() {
        assert_eq!(absolute("chatter"), "/chatter");
        assert_eq!(absolute("/chatter"), "/chatter");
    }

    #[test]
    fn a_name_that_is_said_stays_on_its_line() {
        let said = Shown("/a\nerror: b\u{1b}[31m\r\u{2028}\u{85}ä").to_string();
        assert_eq!(said, "/a\u{fffd}error: b\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}ä");
    }
}
