//! A table of aligned columns for a terminal.

use crate::output::clean;
use crossdock_experiments::{self as experiments, Column};

/// On which side a column is flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of texts under named columns.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: &[(&'static str, Align); N]) -> Self {
        Self { columns: *columns, rows: Vec::new() }
    }

    /// Adds a row, without what would drive a terminal: cells may be another process's words.
    pub(crate) fn row(&mut self, row: [String; N]) {
        self.rows.push(row.map(|cell| clean(&cell)));
    }

    /// Head and rows, each line ended; empty when there is no row.
    pub(crate) fn text(&self) -> String {
        text(&self.columns, &self.rows)
    }
}

/// The table of an experiment.
pub(crate) fn aligned(table: experiments::Table) -> String {
    let columns = table.columns.iter().map(|column| match column {
        Column::Words(name) => (*name, Align::Left),
        Column::Numbers(name) => (*name, Align::Right),
    });
    let rows = table.rows.into_iter();
    let rows: Vec<_> =
        rows.map(|row| row.iter().map(|cell| clean(cell)).collect::<Vec<_>>()).collect();
    text(&columns.collect::<Vec<_>>(), &rows)
}

/// Rows with a cell for each column.
fn text(columns: &[(&str, Align)], rows: &[impl AsRef<[String]>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = || std::iter::once(&head[..]).chain(rows.iter().map(AsRef::as_ref));
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| rows().map(|row| row[at].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows() {
        let cells =
            row.iter().zip(&widths).zip(columns).map(|((cell, &width), (_, align))| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[("topic", Align::Left), ("n", Align::Right)]);
        assert_eq!(table.text(), "");
        table.row(["/camera".into(), "12".into()]);
        table.row(["/a".into(), "3".into()]);
        assert_eq!(table.text(), "topic     n\n/camera  12\n/a        3\n");
    }
}
