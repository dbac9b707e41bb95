//! Words, numbers, texts and marks of OMG IDL, each with its place. Comments, includes and white
//! space are left out.

use super::super::DefinitionError;

/// One token and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// From 1.
    pub(super) line: u32,
    /// From 1, in characters.
    pub(super) column: u32,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A word.
    Word(String),
    /// A number as it is written.
    Number(String),
    /// A text without its quotes, escapes resolved.
    Text(String),
    /// `::` or one character.
    Mark(&'static str),
    /// The end of the file.
    End,
}

/// Every mark; longer ones first.
const MARKS: [&str; 17] =
    ["::", "{", "}", "(", ")", "<", ">", "[", "]", ";", ",", "=", "@", ":", "-", "+", "~"];

/// Splits a text. The last token is [`Kind::End`].
///
/// # Errors
///
/// A character that IDL does not have, or a text or comment without end.
pub(super) fn tokens(file: &str, text: &str) -> Result<Vec<Token>, DefinitionError> {
    let mut cursor = Cursor { file, rest: text.trim_start_matches('\u{feff}'), line: 1, column: 1 };
    let mut found = Vec::new();
    // Each round takes at least one character.
    loop {
        cursor.skip()?;
        let (line, column) = (cursor.line, cursor.column);
        let kind = cursor.token()?;
        let is_end = kind == Kind::End;
        found.push(Token { kind, line, column });
        if is_end {
            return Ok(found);
        }
    }
}

struct Cursor<'a> {
    file: &'a str,
    rest: &'a str,
    line: u32,
    column: u32,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for character in taken.chars() {
            match character {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                _ => self.column += 1,
            }
        }
        taken
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len()))
    }

    /// Skips white space, comments and lines of the preprocessor.
    fn skip(&mut self) -> Result<(), DefinitionError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    return Err(self.expected("`*/` at the end of the comment"));
                };
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Kind, DefinitionError> {
        let Some(first) = self.rest.chars().next() else { return Ok(Kind::End) };
        let second = self.rest[first.len_utf8()..].chars().next();
        if first == '"' || (first == 'L' && matches!(second, Some('"' | '\''))) || first == '\'' {
            if first == 'L' {
                self.take(1);
            }
            return self.quoted().map(Kind::Text);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            return Ok(Kind::Word(word.to_owned()));
        }
        if first.is_ascii_digit() || (first == '.' && second.is_some_and(|c| c.is_ascii_digit())) {
            return Ok(Kind::Number(self.number()));
        }
        match MARKS.iter().find(|mark| self.rest.starts_with(**mark)) {
            Some(mark) => {
                self.take(mark.len());
                Ok(Kind::Mark(mark))
            }
            None => Err(self.expected("a word, a number, a text or a mark of OMG IDL")),
        }
    }

    fn number(&mut self) -> String {
        let mut text = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.').to_owned();
        let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
        if text.ends_with(['e', 'E']) && !is_hexadecimal && self.rest.starts_with(['+', '-']) {
            text.push_str(self.take(1));
            text.push_str(self.take_while(|c| c.is_ascii_digit()));
        }
        text
    }

    fn quoted(&mut self) -> Result<String, DefinitionError> {
        let start = (self.line, self.column);
        let quote = self.take(1);
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != '\\' && c != '\n' && !quote.contains(c)));
            if self.rest.starts_with(quote) {
                self.take(1);
                return Ok(text);
            }
            if !self.rest.starts_with('\\') {
                (self.line, self.column) = start;
                return Err(self.expected(&format!("a text that ends with {quote}")));
            }
            self.take(1);
            text.push(self.escape()?);
        }
    }

    /// What an escape means whose backslash is taken.
    fn escape(&mut self) -> Result<char, DefinitionError> {
        let Some(first) = self.rest.chars().next() else {
            return Err(self.expected("an escape"));
        };
        let (radix, digits_max) = match first {
            'x' => (16, 2),
            'u' => (16, 4),
            '0'..='7' => (8, 3),
            _ => {
                self.take(first.len_utf8());
                return Ok(match first {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'v' => '\u{b}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'a' => '\u{7}',
                    other => other,
                });
            }
        };
        if radix == 16 {
            self.take(1);
        }
        let is_digit = |c: &char| c.is_digit(radix);
        let count = self.rest.chars().take(digits_max).take_while(is_digit).count();
        let code = u32::from_str_radix(&self.rest[..count], radix).ok().and_then(char::from_u32);
        let Some(character) = code else {
            return Err(self.expected("the digits of a character's code"));
        };
        self.take(count);
        Ok(character)
    }

    fn expected(&self, expected: &str) -> DefinitionError {
        let found: String = self.rest.chars().take_while(|c| *c != '\n').take(24).collect();
        DefinitionError::Syntax {
            file: self.file.to_owned(),
            line: self.line,
            column: self.column,
            expected: expected.to_owned(),
            found: match found.is_empty() {
                true => "the end of the line".to_owned(),
                false => format!("`{found}`"),
            },
        }
    }
}
