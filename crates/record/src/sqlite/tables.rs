//! Which tables a SQLite file has, and which columns.
//!
//! The statements that made the tables are read for the names of columns only.

use super::cell::Value;
use super::pages::Pages;
use super::rows::for_each_row;
use crate::damage::DamageKind;
use std::collections::BTreeMap;

/// A table of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// The page at its top.
    pub(super) root: u32,
    pub(super) columns: Vec<String>,
}

impl Table {
    /// Place of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
}

/// Bytes of the statements of all tables, views and triggers of a file; real bags have 1 KiB.
const TABLES_BYTES_MAX: u64 = 4 << 20;

/// The tables by their names in small letters. Views, triggers and indexes are passed over.
pub(super) fn tables(
    pages: &Pages,
    damage: impl FnMut(u32, DamageKind),
) -> BTreeMap<String, Table> {
    let mut tables = BTreeMap::new();
    let visit = |_: i64, record: &[u8], values: &[Value]| {
        let text = |column: usize| {
            let value = values.get(column).copied().unwrap_or(Value::Null);
            value.bytes(record).map_or(String::new(), |bytes| pages.text(bytes))
        };
        let root = values.get(3).and_then(|value| value.integer());
        let root = root.and_then(|root| u32::try_from(root).ok()).unwrap_or(0);
        // A virtual table has no pages.
        if text(0) == "table" && root != 0 {
            let name = text(1).to_ascii_lowercase();
            tables.entry(name).or_insert(Table { root, columns: columns(&text(4)) });
        }
    };
    for_each_row(pages, 1, TABLES_BYTES_MAX, visit, damage);
    tables
}

/// Words that begin a rule of a table, behind its columns.
const RULES: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];

/// The names of the columns in a statement `CREATE TABLE name (column type, ...)`.
fn columns(statement: &str) -> Vec<String> {
    let mut columns = Vec::new();
    let mut depth = 0;
    // Whether the next word is the first of a column.
    let mut first = false;
    for token in Tokens(statement) {
        match token {
            Token::Mark('(') => {
                depth += 1;
                first = depth == 1 && columns.is_empty();
            }
            Token::Mark(')') => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            Token::Mark(',') if depth == 1 => first = true,
            Token::Mark(_) => {}
            Token::Word(word) => {
                let begins = std::mem::take(&mut first) && depth == 1;
                if begins && RULES.iter().any(|rule| word.eq_ignore_ascii_case(rule)) {
                    break;
                }
                if begins {
                    columns.push(word.to_owned());
                }
            }
            Token::Quoted(name) => {
                if std::mem::take(&mut first) && depth == 1 {
                    columns.push(name.to_owned());
                }
            }
        }
    }
    columns
}

#[derive(Debug, PartialEq, Eq)]
enum Token<'s> {
    Word(&'s str),
    /// A name or text in quotes, without them. Names with quotes inside are of no bag.
    Quoted(&'s str),
    Mark(char),
}

/// The tokens of a statement, without comments.
struct Tokens<'s>(&'s str);

impl<'s> Iterator for Tokens<'s> {
    type Item = Token<'s>;

    fn next(&mut self) -> Option<Token<'s>> {
        // Bounded: each turn takes a character off the rest.
        loop {
            self.0 = self.0.trim_start();
            let rest = self.0;
            let first = rest.chars().next()?;
            let split = |at: Option<usize>| rest.split_at(at.unwrap_or(rest.len()));
            if rest.starts_with("--") {
                self.0 = split(rest.find('\n')).1;
            } else if rest.starts_with("/*") {
                self.0 = split(rest.find("*/").map(|at| at + 2)).1;
            } else if let Some(end) = closing_quote(first) {
                let inside = &rest[1..];
                let (text, tail) = match inside.find(end) {
                    Some(at) => (&inside[..at], &inside[at + 1..]),
                    None => (inside, ""),
                };
                self.0 = tail;
                return Some(Token::Quoted(text));
            } else if is_word(first) {
                let (word, tail) = split(rest.find(|c| !is_word(c)));
                self.0 = tail;
                return Some(Token::Word(word));
            } else {
                self.0 = &rest[first.len_utf8()..];
                return Some(Token::Mark(first));
            }
        }
    }
}

/// What closes a quotation that `first` opens.
fn closing_quote(first: char) -> Option<char> {
    match first {
        '"' | '\'' | '`' => Some(first),
        '[' => Some(']'),
        _ => None,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_in_the_statements_of_recorders() {
        let recorded = "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,\
                        timestamp INTEGER NOT NULL, data BLOB NOT NULL)";
        assert_eq!(columns(recorded), ["id", "topic_id", "timestamp", "data"]);
        let edited = "CREATE TABLE IF NOT EXISTS \"topics\"\n(\n  id -- the (first), one\n  INTEGER \
                      primary key,\n [name] TEXT default \"a,b\" not null, `type` DECIMAL(10, 2), \
                      /* none (or, all) */ 'x' TEXT, CONSTRAINT c UNIQUE (id, name))";
        assert_eq!(columns(edited), ["id", "name", "type", "x"]);
        assert_eq!(columns("CREATE TABLE messages AS SELECT 1"), [""; 0]);
        assert_eq!(columns("CREATE TABLE t(a, b /* "), ["a", "b"]);
        assert_eq!(columns("CREATE TABLE t(a, \"b"), ["a", "b"]);
    }
}
