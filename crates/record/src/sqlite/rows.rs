//! The pages of a table, and its rows.

use super::cell::{Cell, TablePage, Value, values};
use super::pages::Pages;
use crate::damage::DamageKind;
use std::collections::BTreeSet;

/// Finds the pages with the rows of the table below page `root`, in the order of the rows, and
/// hands each to `visit`. What cannot be read goes to `damage`, and its neighbours are read.
///
/// Bounded by the file: each page is looked at once.
pub(super) fn for_each_leaf(
    pages: &Pages,
    root: u32,
    mut visit: impl FnMut(u32, &[u8]),
    mut damage: impl FnMut(u32, DamageKind),
) {
    let mut seen = BTreeSet::new();
    let mut ahead = vec![root];
    let mut page = Vec::new();
    while let Some(number) = ahead.pop() {
        if !seen.insert(number) {
            damage(number, DamageKind::Malformed("this page is part of a table twice"));
            continue;
        }
        let read = pages.read(number, &mut page);
        match read.and_then(|()| TablePage::parse(&page, number, pages)) {
            Ok(TablePage::Leaf(_)) => visit(number, &page),
            Ok(TablePage::Interior(below)) => ahead.extend(below.into_iter().rev()),
            Err(kind) => damage(number, kind),
        }
    }
}

/// Bytes of one row of a table that is read as a whole; the longest definitions have 100 KiB.
const ROW_BYTES_MAX: u64 = 16 << 20;

/// Hands each row of a small table to `visit`: its number, its record, and the values in it.
///
/// Stops with an error when the rows have more than `limit_bytes`.
pub(super) fn for_each_row(
    pages: &Pages,
    root: u32,
    limit_bytes: u64,
    mut visit: impl FnMut(i64, &[u8], &[Value]),
    mut damage: impl FnMut(u32, DamageKind),
) {
    let mut leaves = Vec::new();
    for_each_leaf(pages, root, |number, _| leaves.push(number), &mut damage);
    let (mut page, mut other, mut record) = (Vec::new(), Vec::new(), Vec::new());
    let mut read_bytes = 0;
    for number in leaves {
        let read = pages.read(number, &mut page);
        let leaf = match read.and_then(|()| TablePage::parse(&page, number, pages)) {
            Ok(TablePage::Leaf(leaf)) => leaf,
            // It was another page a moment ago.
            Ok(TablePage::Interior(_)) => continue,
            Err(kind) => {
                damage(number, kind);
                continue;
            }
        };
        for cell in leaf.cells() {
            record.clear();
            let row = cell.and_then(|cell| {
                cell.read_record(pages, ROW_BYTES_MAX, &mut other, &mut record)?;
                let head = DamageKind::Malformed("the values of a row are cut");
                Ok((cell.rowid, values(&record).ok_or(head)?))
            });
            read_bytes += record.len() as u64;
            if read_bytes > limit_bytes {
                return damage(number, DamageKind::TooLarge { bytes: read_bytes, limit_bytes });
            }
            match row {
                Ok((rowid, values)) => visit(rowid, &record, &values),
                Err(kind) => damage(number, kind),
            }
        }
    }
}

/// Where a table of messages keeps what a reader needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageColumns {
    pub(super) topic: usize,
    pub(super) time: usize,
    pub(super) data: usize,
}

/// What a row of a table of messages says, without its payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageRow {
    pub(super) topic: i64,
    pub(super) log_ns: u64,
    /// The payload's place in the record.
    pub(super) data: (usize, usize),
}

impl MessageColumns {
    /// Reads the values of a message from its record, or from the start of the record.
    pub(super) fn row(self, cell: &Cell<'_>, record: &[u8]) -> Result<MessageRow, DamageKind> {
        let malformed = DamageKind::Malformed;
        let values = values(record).ok_or(malformed("the values of a message are cut"))?;
        let value = |column: usize| values.get(column).copied().unwrap_or(Value::Null);
        let topic = value(self.topic).integer();
        let topic = topic.ok_or(malformed("a message has no topic"))?;
        let time = value(self.time).integer().and_then(|time| u64::try_from(time).ok());
        let log_ns = time.ok_or(malformed("a message has no time, or one before 1970"))?;
        match value(self.data) {
            Value::Bytes { start, end } if end as u64 <= cell.record_bytes => {
                Ok(MessageRow { topic, log_ns, data: (start, end) })
            }
            _ => Err(malformed("a message has no data, or a longer one than its row")),
        }
    }
}
