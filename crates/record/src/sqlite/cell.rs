//! Cells of table pages, and the values in their records.
//!
//! Every length and pointer is untrusted: slices are made by checked access only.

use super::pages::{FILE_HEAD_BYTES, Pages};
use crate::damage::DamageKind;

/// Kinds of pages that hold a table.
const LEAF: u8 = 13;
const INTERIOR: u8 = 5;
/// Kinds of pages of an index, and of a table WITHOUT ROWID.
const INDEX_KINDS: [u8; 2] = [2, 10];

/// A page of a table.
#[derive(Debug)]
pub(super) enum TablePage<'p> {
    /// The pages below, in the order of their rows.
    Interior(Vec<u32>),
    /// Rows.
    Leaf(LeafPage<'p>),
}

/// The rows of one page.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeafPage<'p> {
    page: &'p [u8],
    pointers: &'p [u8],
    usable_bytes: usize,
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl<'p> TablePage<'p> {
    /// Looks at page `number`.
    pub(super) fn parse(
        page: &'p [u8],
        number: u32,
        pages: &Pages,
    ) -> Result<TablePage<'p>, DamageKind> {
        let head = if number == 1 { FILE_HEAD_BYTES } else { 0 };
        let cut = DamageKind::Malformed("the fields of a page are cut");
        let kind = *page.get(head).ok_or(cut.clone())?;
        let count = usize::from(be16(page, head + 3).ok_or(cut.clone())?);
        let head_bytes = match kind {
            LEAF => 8,
            INTERIOR => 12,
            kind if INDEX_KINDS.contains(&kind) => {
                return Err(DamageKind::Malformed(
                    "a table has the form WITHOUT ROWID, which no recorder makes",
                ));
            }
            _ => return Err(DamageKind::Malformed("a page of a table is of another kind")),
        };
        let start = head + head_bytes;
        let pointers = page.get(start..start + 2 * count);
        let pointers = pointers.ok_or(DamageKind::Malformed("a page has more rows than room"))?;
        if kind == LEAF {
            let usable_bytes = pages.usable_bytes();
            return Ok(TablePage::Leaf(LeafPage { page, pointers, usable_bytes }));
        }
        let mut below = Vec::with_capacity(count + 1);
        for index in 0..count {
            let at = be16(pointers, 2 * index).map_or(usize::MAX, usize::from);
            below.push(be32(page, at).ok_or(cut.clone())?);
        }
        below.push(be32(page, head + 8).ok_or(cut)?);
        Ok(TablePage::Interior(below))
    }
}

impl<'p> LeafPage<'p> {
    /// The rows; of a damaged one its error.
    pub(super) fn cells(self) -> impl Iterator<Item = Result<Cell<'p>, DamageKind>> {
        let cut = DamageKind::Malformed("a row of a table is cut");
        (0..self.pointers.len() / 2).map(move |index| {
            let at = be16(self.pointers, 2 * index).map_or(usize::MAX, usize::from);
            self.page
                .get(at..self.usable_bytes)
                .and_then(|bytes| Cell::parse(bytes, self.usable_bytes))
                .ok_or(cut.clone())
        })
    }
}

/// A variable-length integer, and the bytes behind it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        if index == 8 {
            return Some((value << 8 | u64::from(*byte), &bytes[9..]));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}

/// One row of a table, without the pages into which it overflows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<'p> {
    pub(super) rowid: i64,
    /// Bytes of the whole record.
    pub(super) record_bytes: u64,
    /// The part of the record in this page.
    pub(super) local: &'p [u8],
    /// The page with the next part; 0: none.
    overflow: u32,
}

impl<'p> Cell<'p> {
    fn parse(bytes: &'p [u8], usable_bytes: usize) -> Option<Cell<'p>> {
        let (record_bytes, rest) = varint(bytes)?;
        let (rowid, rest) = varint(rest)?;
        let rowid = rowid.cast_signed();
        let local_max = usable_bytes - 35;
        if record_bytes <= local_max as u64 {
            let local = rest.get(..record_bytes as usize)?;
            return Some(Cell { rowid, record_bytes, local, overflow: 0 });
        }
        let least = (usable_bytes - 12) * 32 / 255 - 23;
        let beyond = record_bytes - least as u64;
        let wanted = least + (beyond % (usable_bytes as u64 - 4)) as usize;
        let local_bytes = if wanted <= local_max { wanted } else { least };
        let local = rest.get(..local_bytes)?;
        let overflow = be32(rest, local_bytes)?;
        Some(Cell { rowid, record_bytes, local, overflow })
    }

    /// Puts the whole record behind what is in `out`, which grows with bytes that are there only.
    ///
    /// `page` is used for pages on the way.
    pub(super) fn read_record(
        &self,
        pages: &Pages,
        limit_bytes: u64,
        page: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), DamageKind> {
        if self.record_bytes > limit_bytes {
            return Err(DamageKind::TooLarge { bytes: self.record_bytes, limit_bytes });
        }
        out.extend_from_slice(self.local);
        let mut left = self.record_bytes as usize - self.local.len();
        let mut next = self.overflow;
        // Each turn takes bytes off what is left.
        while left > 0 {
            pages.read(next, page)?;
            let part = left.min(pages.usable_bytes() - 4);
            let cut = DamageKind::Malformed("a page of a long row is cut");
            out.extend_from_slice(page.get(4..4 + part).ok_or(cut.clone())?);
            left -= part;
            next = be32(page, 0).ok_or(cut)?;
        }
        Ok(())
    }
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Real,
    /// A text or blob: its place in the record.
    Bytes {
        start: usize,
        end: usize,
    },
}

impl Value {
    pub(super) fn integer(self) -> Option<i64> {
        match self {
            Value::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes of a text or blob in its record.
    pub(super) fn bytes(self, record: &[u8]) -> Option<&[u8]> {
        match self {
            Value::Bytes { start, end } => record.get(start..end),
            _ => None,
        }
    }
}

/// Columns of a table that are looked at; real tables have at most six.
const COLUMNS_MAX: usize = 64;

/// The values at the start of a record. `record` has at least its head. Gives `None` if a
/// number is not in `record`, or if the head is damaged. Texts and blobs may lie beyond it.
pub(super) fn values(record: &[u8]) -> Option<Vec<Value>> {
    let (head_bytes, _) = varint(record)?;
    let head_bytes = usize::try_from(head_bytes).ok()?;
    let head = record.get(..head_bytes)?;
    let (_, mut kinds) = varint(head)?;
    let mut values = Vec::with_capacity(8);
    let mut at = head_bytes;
    while !kinds.is_empty() && values.len() < COLUMNS_MAX {
        let (kind, rest) = varint(kinds)?;
        kinds = rest;
        let bytes = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => usize::try_from((kind - 12) / 2).ok()?,
        };
        let end = at.checked_add(bytes)?;
        values.push(match kind {
            0 => Value::Null,
            1..=6 => Value::Integer(integer(record.get(at..end)?)),
            7 => Value::Real,
            8 | 9 => Value::Integer(i64::from(kind == 9)),
            _ => Value::Bytes { start: at, end },
        });
        at = end;
    }
    Some(values)
}

/// A signed number of one to eight bytes, the highest first.
fn integer(bytes: &[u8]) -> i64 {
    let sign = bytes.first().map_or(0, |first| i64::from(first.cast_signed()) >> 7);
    bytes.iter().fold(sign, |value, byte| value << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths_are_read() {
        assert_eq!(integer(&[0xff]), -1);
        assert_eq!(integer(&[0x7f]), 127);
        assert_eq!(integer(&[0x80, 0, 0]), -(1 << 23));
        assert_eq!(integer(&[0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc]), 0x1234_5678_9abc);
        assert_eq!(integer(&i64::MIN.to_be_bytes()), i64::MIN);
    }

    #[test]
    fn integers_of_variable_length_end_after_nine_bytes() {
        assert_eq!(varint(&[0x7f, 9]), Some((0x7f, &[9][..])));
        assert_eq!(varint(&[0x81, 0x00]), Some((128, &[][..])));
        assert_eq!(varint(&[0xff; 9]), Some((u64::MAX, &[][..])));
        assert_eq!(varint(&[0xff; 8]), None);
        assert_eq!(varint(&[]), None);
    }

    #[test]
    fn values_are_found_without_the_bytes_of_a_blob() {
        // Head of 5 bytes: NULL, 1, a number of 2 bytes, a blob of 100 bytes.
        let record = [6, 0, 9, 2, 0x81, 0x54, 0x01, 0x02];
        let found = values(&record).unwrap();
        let blob = Value::Bytes { start: 8, end: 108 };
        assert_eq!(found, [Value::Null, Value::Integer(1), Value::Integer(0x102), blob]);
        assert_eq!(blob.bytes(&record), None);
        assert_eq!(values(&record[..7]), None);
    }

    #[test]
    fn every_kind_of_value_takes_the_bytes_that_it_has_and_unknown_kinds_are_damage() {
        // 0, 1, numbers of one to eight bytes, a real, a blob of one byte and a text of two.
        let head = [12, 8, 9, 1, 2, 3, 4, 5, 6, 7, 14, 17];
        let record = [&head[..], &[1; 1 + 2 + 3 + 4 + 6 + 8 + 8 + 1 + 2]].concat();
        let ones = |bytes| (0..bytes).fold(0, |value: i64, _| value << 8 | 1);
        let numbers = [0, 1, ones(1), ones(2), ones(3), ones(4), ones(6), ones(8)];
        let at = head.len() + 24;
        let rest = [
            Value::Real,
            Value::Bytes { start: at + 8, end: at + 9 },
            Value::Bytes { start: at + 9, end: at + 11 },
        ];
        let wanted: Vec<Value> = numbers.map(Value::Integer).into_iter().chain(rest).collect();
        assert_eq!(values(&record), Some(wanted));
        assert_eq!([Value::Real.bytes(&record), Value::Integer(0).bytes(&record)], [None; 2]);
        for unknown in [10, 11] {
            assert_eq!(values(&[2, unknown, 0, 0]), None);
        }
    }
}
