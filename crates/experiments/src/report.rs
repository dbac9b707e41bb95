//! What an experiment leaves.

use crate::rows::{self, Record};
use serde_json::{Value, json};

/// A column of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Words, flush left.
    Words(&'static str),
    /// Numbers, flush right.
    Numbers(&'static str),
}

/// A table for a terminal: the caller aligns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The columns by name.
    pub columns: Vec<Column>,
    /// The cells of each row, as many as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// What to show of an experiment that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Lines as they stand.
    Lines(String),
    /// A table.
    Table(Table),
}

/// What an experiment leaves.
#[derive(Clone, Debug)]
pub struct Report {
    /// What to show of it; no lines if all was shown while it ran.
    pub shown: Shown,
    /// The rows as CSV (RFC 4180, with line feeds).
    pub csv: String,
    /// Further tables as CSV, by name: files of their own.
    pub tables: Vec<(&'static str, String)>,
    /// The rows as JSON, with what holds for all of them.
    pub json: Value,
    /// A page (Markdown).
    pub page: String,
    /// What holds on this machine alone and is in no file; often empty.
    pub remark: String,
    /// What is not as it has to be. The experiment has failed if there is anything.
    pub faults: Vec<String>,
}

impl Report {
    /// The report of these rows. `facts`: what holds for all of them.
    pub(crate) fn of<R: Record>(
        experiment: &str,
        rows: &[R],
        facts: &Value,
        page: String,
        shown: Shown,
    ) -> Self {
        let values: Vec<Value> = rows.iter().map(rows::json).collect();
        Self {
            shown,
            csv: rows::csv(rows),
            tables: Vec::new(),
            json: json!({ "experiment": experiment, "facts": facts, "rows": values }),
            page,
            remark: String::new(),
            faults: Vec::new(),
        }
    }

    /// The same with a further table of this name.
    pub(crate) fn with_table<R: Record>(mut self, name: &'static str, rows: &[R]) -> Self {
        self.tables.push((name, rows::csv(rows)));
        self
    }

    /// The same with what is not as it has to be.
    pub(crate) fn with_faults(self, faults: Vec<String>) -> Self {
        Self { faults, ..self }
    }
}
