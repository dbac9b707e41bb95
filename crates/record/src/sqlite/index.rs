//! Finds out what a bag in a SQLite file holds: its topics, and which pages have which messages.

use super::cell::{TablePage, Value};
use super::pages::Pages;
use super::rows::{MessageColumns, MessageRow, for_each_leaf, for_each_row};
use super::tables::{Table, tables};
use crate::damage::{Damage, DamageKind};
use crate::file_index::{
    ChannelRecord, DEFINITIONS_BYTES_MAX, FileIndex, SchemaRecord, Segment, SegmentKind,
};
use crate::options::Opening;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of messages that are read together: as many as a chunk in an MCAP file has.
const SEGMENT_BYTES: u64 = 1 << 20;

/// Where the messages of a SQLite file lie.
#[derive(Debug, Clone)]
pub(crate) struct RowIndex {
    /// Pages with messages, in the order of the rows. Segments are ranges of this list.
    leaves: Vec<u32>,
    columns: MessageColumns,
    /// The channel of each topic, by the number that rows name.
    channels: BTreeMap<i64, u16>,
    /// Bytes of the records of each segment, by its first place in the list of pages.
    bytes: BTreeMap<u64, u64>,
}

/// A bag in a SQLite file.
#[derive(Debug)]
pub(crate) struct SqliteBag {
    pub(crate) index: FileIndex,
    pub(crate) rows: RowIndex,
}

/// Looks through the tables of a file. The error says why it is no bag.
pub(crate) fn index(path: &Path, pages: &Pages, opening: Opening<'_>) -> Result<SqliteBag, String> {
    let mut index = FileIndex::new(path);
    let mut damages = Vec::new();
    let tables = tables(pages, |page, kind| damages.push((page, kind)));
    for (page, kind) in damages {
        add_damage(&mut index, pages, page, kind);
    }
    let Some(messages) = tables.get("messages") else {
        return Err(match &index.damages.first {
            Some(damage) => format!("its tables cannot be read: {damage}"),
            None => "it has no table `messages`".to_owned(),
        });
    };
    let topics = tables.get("topics").ok_or("it has no table `topics`")?;
    let column = |name: &str| {
        messages.column(name).ok_or_else(|| format!("its table `messages` has no column `{name}`"))
    };
    let columns = MessageColumns {
        topic: column("topic_id")?,
        time: column("timestamp")?,
        data: column("data")?,
    };
    let schemas = match tables.get("message_definitions") {
        Some(table) => read_definitions(pages, table, &mut index),
        None => BTreeMap::new(),
    };
    let channels = read_topics(pages, topics, &schemas, &mut index)?;
    let mut rows = RowIndex { leaves: Vec::new(), columns, channels, bytes: BTreeMap::new() };
    rows.find_messages(pages, messages.root, opening, &mut index);
    index.segments.sort_by_key(|segment| (segment.start_ns, segment.offset));
    Ok(SqliteBag { index, rows })
}

fn add_damage(index: &mut FileIndex, pages: &Pages, page: u32, kind: DamageKind) {
    let offset = pages.offset(page);
    index.damages.add(Damage { path: index.path.clone(), offset, kind });
}

/// The definitions by the names of their types, as numbers of schemas.
fn read_definitions(pages: &Pages, table: &Table, index: &mut FileIndex) -> BTreeMap<String, u16> {
    let mut by_type = BTreeMap::new();
    let mut found = BTreeMap::new();
    let mut damages = Vec::new();
    let names = ["topic_type", "encoding", "encoded_message_definition"];
    let columns = names.map(|name| table.column(name));
    let visit = |_: i64, record: &[u8], values: &[Value]| {
        let bytes = |column: Option<usize>| {
            let value = column.and_then(|column| values.get(column)).copied();
            value.and_then(|value| value.bytes(record)).unwrap_or(&[])
        };
        let [name, encoding, text] = columns.map(bytes);
        let (name, text) = (pages.text(name), pages.text(text));
        // Recorders that find no definition write an empty one, of encoding `unknown`.
        let encoding = if text.is_empty() { String::new() } else { pages.text(encoding) };
        let Ok(id) = u16::try_from(found.len() + 1) else { return };
        if !encoding.is_empty() && !by_type.contains_key(&name) {
            by_type.insert(name.clone(), id);
            found.insert(id, SchemaRecord { name, encoding, text: text.into_bytes() });
        }
    };
    let damage = |page, kind| damages.push((page, kind));
    for_each_row(pages, table.root, DEFINITIONS_BYTES_MAX, visit, damage);
    damages.into_iter().for_each(|(page, kind)| add_damage(index, pages, page, kind));
    index.schemas = found;
    by_type
}

/// Makes a channel of each topic; gives the channels by the topics' numbers.
fn read_topics(
    pages: &Pages,
    table: &Table,
    known: &BTreeMap<String, u16>,
    index: &mut FileIndex,
) -> Result<BTreeMap<i64, u16>, String> {
    let names = ["id", "name", "type", "serialization_format"];
    let [id, name, of_type, format] = names.map(|name| table.column(name));
    if name.is_none() || of_type.is_none() {
        return Err("its table `topics` has no columns `name` and `type`".to_owned());
    }
    let [qos, hash] =
        ["offered_qos_profiles", "type_description_hash"].map(|name| table.column(name));
    let mut by_type = known.clone();
    let (mut channels, mut damages) = (BTreeMap::new(), Vec::new());
    let visit = |rowid: i64, record: &[u8], values: &[Value]| {
        let value = |column: Option<usize>| {
            column.and_then(|column| values.get(column)).copied().unwrap_or(Value::Null)
        };
        let text = |column| value(column).bytes(record).map(|bytes| pages.text(bytes));
        // The column is another name of the row's number, unless an editor has changed the table.
        let topic = value(id).integer().unwrap_or(rowid);
        let Ok(channel) = u16::try_from(channels.len()) else { return };
        if channels.contains_key(&topic) {
            return;
        }
        let type_name = text(of_type).unwrap_or_default();
        let fresh = u16::try_from(index.schemas.len() + 1).unwrap_or(u16::MAX);
        let schema = *by_type.entry(type_name.clone()).or_insert(fresh);
        index.schemas.entry(schema).or_insert_with(|| SchemaRecord {
            name: type_name,
            encoding: String::new(),
            text: Vec::new(),
        });
        let mut metadata = BTreeMap::new();
        for (key, column) in [("offered_qos_profiles", qos), ("topic_type_hash", hash)] {
            metadata.insert(key.to_owned(), text(column).unwrap_or_default());
        }
        channels.insert(topic, channel);
        let encoding = text(format).unwrap_or_else(|| "cdr".to_owned());
        let topic = text(name).unwrap_or_default();
        index.channels.insert(channel, ChannelRecord { schema, topic, encoding, metadata });
    };
    let damage = |page, kind| damages.push((page, kind));
    for_each_row(pages, table.root, DEFINITIONS_BYTES_MAX, visit, damage);
    damages.into_iter().for_each(|(page, kind)| add_damage(index, pages, page, kind));
    Ok(channels)
}

/// What is known of the segment that grows.
struct Growing {
    first: usize,
    bytes: u64,
    span_ns: Option<(u64, u64)>,
}

impl RowIndex {
    /// Looks at the head of each message, and groups pages into segments.
    fn find_messages(
        &mut self,
        pages: &Pages,
        root: u32,
        opening: Opening<'_>,
        index: &mut FileIndex,
    ) {
        // Payloads do not share pages in a sound file: what claims more than there is, is damaged.
        let mut bytes_left = pages.total_bytes();
        let mut damages = Vec::new();
        let mut growing = Growing { first: 0, bytes: 0, span_ns: None };
        let limit_bytes = opening.options.record_bytes_max;
        let (columns, mut scratch) = (self.columns, (Vec::new(), Vec::new()));
        let visit = |number: u32, page: &[u8]| {
            (opening.progress)(pages.total_bytes() - bytes_left, pages.total_bytes());
            let (count, bytes) = (index.message_count, growing.bytes);
            let Ok(TablePage::Leaf(leaf)) = TablePage::parse(page, number, pages) else { return };
            let mut error = None;
            for cell in leaf.cells() {
                let row = cell.and_then(|cell| {
                    let row = columns.row(&cell, cell.local).or_else(|_| {
                        let (other, record) = &mut scratch;
                        record.clear();
                        cell.read_record(pages, limit_bytes, other, record)?;
                        columns.row(&cell, record)
                    })?;
                    bytes_left = bytes_left.checked_sub(cell.record_bytes).ok_or(SHARED)?;
                    Ok((row, cell.record_bytes))
                });
                match row {
                    Ok((row, bytes)) => {
                        index.count(self.channels.get(&row.topic).copied(), row.log_ns);
                        growing.bytes += bytes;
                        let span = growing.span_ns.get_or_insert((row.log_ns, row.log_ns));
                        *span = (span.0.min(row.log_ns), span.1.max(row.log_ns));
                    }
                    Err(kind) => error = error.take().or(Some(kind)),
                }
            }
            damages.extend(error.map(|kind| (number, kind)));
            if index.message_count > count || growing.bytes > bytes {
                self.leaves.push(number);
            }
            if growing.bytes >= SEGMENT_BYTES {
                index.segments.extend(growing.close(self.leaves.len(), &mut self.bytes));
            }
        };
        let mut lost = Vec::new();
        for_each_leaf(pages, root, visit, |number, kind| lost.push((number, kind)));
        index.segments.extend(growing.close(self.leaves.len(), &mut self.bytes));
        damages.extend(lost);
        damages.into_iter().for_each(|(page, kind)| add_damage(index, pages, page, kind));
    }

    /// Reads the records of a segment behind what is in `bytes`, and hands each message to `list`:
    /// its channel, its time and the place of its payload in `bytes`.
    ///
    /// Gives what could not be read, with the page. Damaged heads of rows are known from opening.
    pub(crate) fn load(
        &self,
        pages: &Pages,
        segment: &Segment,
        limit_bytes: u64,
        bytes: &mut Vec<u8>,
        mut list: impl FnMut(u16, u64, (usize, usize)) -> Result<(), DamageKind>,
    ) -> Vec<(u32, DamageKind)> {
        let mut damages = Vec::new();
        let leaves = self.leaves.get(segment.offset as usize..segment.end as usize);
        // Rows that did not count when the file was opened claim pages of others.
        let most_bytes = self.bytes.get(&segment.offset).copied().unwrap_or(0);
        let (mut page, mut other) = (Vec::new(), Vec::new());
        for number in leaves.unwrap_or(&[]) {
            let read = pages.read(*number, &mut page);
            let leaf = match read.and_then(|()| TablePage::parse(&page, *number, pages)) {
                Ok(TablePage::Leaf(leaf)) => leaf,
                Ok(TablePage::Interior(_)) => continue,
                Err(kind) => {
                    damages.push((*number, kind));
                    continue;
                }
            };
            for cell in leaf.cells().filter_map(Result::ok) {
                let start = bytes.len();
                if (start as u64).saturating_add(cell.record_bytes) > most_bytes {
                    damages.push((*number, SHARED));
                    return damages;
                }
                let row = cell.read_record(pages, limit_bytes, &mut other, bytes);
                let row = row.and_then(|()| self.columns.row(&cell, &bytes[start..]));
                let listed = row.and_then(|row| {
                    let MessageRow { topic, log_ns, data } = row;
                    let unknown = DamageKind::UnknownTopic(topic);
                    let channel = *self.channels.get(&topic).ok_or(unknown)?;
                    list(channel, log_ns, (start + data.0, start + data.1))
                });
                if let Err(kind) = listed {
                    bytes.truncate(start);
                    // One report of a page is enough: the count of damages is of places.
                    if damages.last().is_none_or(|(last, _)| last != number) {
                        damages.push((*number, kind));
                    }
                }
            }
        }
        damages
    }
}

/// Rows that claim the same pages.
const SHARED: DamageKind =
    DamageKind::Malformed("the messages of this file claim more bytes than it has");

impl Growing {
    /// The segment that ends before leaf `end`, if it has messages; the next one begins there.
    fn close(&mut self, end: usize, bytes: &mut BTreeMap<u64, u64>) -> Option<Segment> {
        let first = std::mem::replace(&mut self.first, end);
        bytes.insert(first as u64, std::mem::take(&mut self.bytes));
        let (start_ns, end_ns) = self.span_ns.take()?;
        let (kind, offset, end) = (SegmentKind::Rows, first as u64, end as u64);
        Some(Segment { kind, offset, end, start_ns, end_ns })
    }
}
