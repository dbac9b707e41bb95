//! One line of a definition with a position in it, for errors that say where.

use super::DefinitionError;

/// A cursor in one line.
pub(super) struct Line<'a> {
    file: &'a str,
    number: u32,
    text: &'a str,
    /// Byte position; always at a character boundary.
    at: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(file: &'a str, number: u32, text: &'a str) -> Self {
        Self { file, number, text, at: 0 }
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Column of the cursor from 1, in characters.
    pub(super) fn column(&self) -> u32 {
        self.text[..self.at].chars().count() as u32 + 1
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to an earlier [`Line::position`], so that an error names the place.
    pub(super) fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Whether only a comment or nothing follows.
    pub(super) fn is_done(&self) -> bool {
        self.rest().is_empty() || self.rest().starts_with('#')
    }

    pub(super) fn take(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|character| !wanted(character)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A decimal count from 1 to u32::MAX.
    pub(super) fn count(&mut self, what: &str) -> Result<u32, DefinitionError> {
        let start = self.at;
        let digits = self.take_while(|character| character.is_ascii_digit());
        match digits.parse::<u32>() {
            Ok(count) if count > 0 => Ok(count),
            _ => {
                self.at = start;
                Err(self.expected(&format!("{what} from 1 to {}", u32::MAX)))
            }
        }
    }

    pub(super) fn expected(&self, expected: &str) -> DefinitionError {
        let rest = self.rest().trim_end();
        let found = match rest.chars().take(24).collect::<String>() {
            text if text.is_empty() => "the end of the line".to_owned(),
            text => format!("`{text}`"),
        };
        DefinitionError::Syntax {
            file: self.file.to_owned(),
            line: self.number,
            column: self.column(),
            expected: expected.to_owned(),
            found,
        }
    }
}
