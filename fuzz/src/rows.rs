//! Small bags in SQLite files, built page by page: the product does not write such files.

/// Bytes of a page: the smallest, so that rows overflow.
pub const PAGE_BYTES: usize = 512;
/// Bytes of a record that stay in its page.
const LOCAL_MAX: usize = PAGE_BYTES - 35;
/// Bytes of a record in an overflow page.
const OVERFLOW_BYTES: usize = PAGE_BYTES - 4;
/// Kinds of pages of a table.
const LEAF: u8 = 13;
const INTERIOR: u8 = 5;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

fn varint(value: usize) -> Vec<u8> {
    assert!(value < 1 << 14, "what is longer is not needed");
    match value {
        ..128 => vec![value as u8],
        _ => vec![0x80 | (value >> 7) as u8, (value & 0x7f) as u8],
    }
}

fn record(values: &[Value<'_>]) -> Vec<u8> {
    let (mut head, mut body) = (Vec::new(), Vec::new());
    for value in values {
        let (kind, bytes) = match value {
            Value::Null => (0, Vec::new()),
            Value::Integer(value) => (6, value.to_be_bytes().to_vec()),
            Value::Text(text) => (13 + 2 * text.len(), text.as_bytes().to_vec()),
            Value::Blob(bytes) => (12 + 2 * bytes.len(), bytes.to_vec()),
        };
        head.extend(varint(kind));
        body.extend(bytes);
    }
    assert!(head.len() < 127);
    [vec![head.len() as u8 + 1], head, body].concat()
}

/// A file that grows by pages.
struct Pages(Vec<Vec<u8>>);

impl Pages {
    fn add(&mut self, page: Vec<u8>) -> u32 {
        self.0.push(page);
        self.0.len() as u32
    }

    /// The cell of a row; what does not fit goes into pages of its own.
    fn cell(&mut self, rowid: usize, values: &[Value<'_>]) -> Vec<u8> {
        let record = record(values);
        let mut cell = [varint(record.len()), varint(rowid)].concat();
        if record.len() <= LOCAL_MAX {
            cell.extend(record);
            return cell;
        }
        let least = (PAGE_BYTES - 12) * 32 / 255 - 23;
        let wanted = least + (record.len() - least) % OVERFLOW_BYTES;
        let (local, rest) = record.split_at(if wanted <= LOCAL_MAX { wanted } else { least });
        let next = rest.chunks(OVERFLOW_BYTES).rev().fold(0, |next: u32, part| {
            let mut page = [&next.to_be_bytes()[..], part].concat();
            page.resize(PAGE_BYTES, 0);
            self.add(page)
        });
        cell.extend(local);
        cell.extend(next.to_be_bytes());
        cell
    }
}

/// A page with `cells`, of which an interior one has its last page beside them.
fn page(kind: u8, head: usize, cells: &[Vec<u8>], last: u32) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    page[head] = kind;
    page[head + 3..head + 5].copy_from_slice(&(cells.len() as u16).to_be_bytes());
    page[head + 8..head + 12].copy_from_slice(&last.to_be_bytes());
    let pointers = head + if kind == LEAF { 8 } else { 12 };
    let mut end = PAGE_BYTES;
    for (index, cell) in cells.iter().enumerate() {
        end -= cell.len();
        page[end..end + cell.len()].copy_from_slice(cell);
        let place = pointers + 2 * index;
        page[place..place + 2].copy_from_slice(&(end as u16).to_be_bytes());
        assert!(place + 2 <= end, "a page has room for its rows");
    }
    page[head + 5..head + 7].copy_from_slice(&(end as u16).to_be_bytes());
    page
}

/// A bag with messages on two topics; the last one overflows.
///
/// # Panics
/// Never: the bag has always the same form.
#[must_use]
pub fn bag(messages: usize) -> Vec<u8> {
    let mut pages = Pages(vec![Vec::new()]);
    let topics = ["/a", "/b"].map(|name| {
        let of =
            [Value::Text("std_msgs/msg/String"), Value::Text("cdr"), Value::Text("- depth: 3")];
        [&[Value::Null, Value::Text(name)], &of[..]].concat()
    });
    let cells = [1, 2].map(|number| pages.cell(number, &topics[number - 1]));
    let topics = pages.add(page(LEAF, 0, &cells, 0));
    let text = "string data\n";
    let definition = ["std_msgs/msg/String", "ros2msg", text].map(Value::Text);
    let cell = pages.cell(1, &[&[Value::Null], &definition[..]].concat());
    let definitions = pages.add(page(LEAF, 0, &[cell], 0));
    let rows: Vec<Vec<u8>> = (0..messages)
        .map(|number| {
            let size = if number + 1 == messages { 1200 } else { 10 };
            let cdr = crate::recording::cdr_of_text(&"x".repeat(size));
            let topic = Value::Integer(number as i64 % 2 + 1);
            let time = Value::Integer(1_000_000 * number as i64);
            pages.cell(number + 1, &[Value::Null, topic, time, Value::Blob(&cdr)])
        })
        .collect();
    let leaves: Vec<u32> =
        rows.chunks(4).map(|rows| page(LEAF, 0, rows, 0)).map(|leaf| pages.add(leaf)).collect();
    let messages = match leaves.split_last() {
        Some((last, others)) => {
            let keys = others.iter().enumerate();
            let cells: Vec<Vec<u8>> = keys
                .map(|(index, leaf)| [&leaf.to_be_bytes()[..], &varint(4 * index + 4)].concat())
                .collect();
            pages.add(page(INTERIOR, 0, &cells, *last))
        }
        None => pages.add(page(LEAF, 0, &[], 0)),
    };
    let tables = [
        ("topics", topics, "(id, name, type, serialization_format, offered_qos_profiles)"),
        (
            "message_definitions",
            definitions,
            "(id, topic_type, encoding, encoded_message_definition)",
        ),
        ("messages", messages, "(id, topic_id, timestamp, data)"),
    ];
    let cells = tables.map(|(name, root, columns)| {
        let statement = format!("CREATE TABLE {name}{columns}");
        let [kind, name, statement] = ["table", name, &statement].map(Value::Text);
        pages.cell(1, &[kind, name, name, Value::Integer(i64::from(root)), statement])
    });
    pages.0[0] = page(LEAF, 100, &cells, 0);
    let count = (pages.0.len() as u32).to_be_bytes();
    let mut file = pages.0.concat();
    file[..16].copy_from_slice(b"SQLite format 3\0");
    file[16..24].copy_from_slice(&[2, 0, 1, 1, 0, 64, 32, 32]);
    file[28..32].copy_from_slice(&count);
    file[56..60].copy_from_slice(&[0, 0, 0, 1]);
    file
}

/// A write-ahead log with these pages of a file, of which the last completes a transaction.
#[must_use]
pub fn log(file: &[u8], numbers: &[u32]) -> Vec<u8> {
    let mut log =
        [0x377f_0682, 3_007_000, PAGE_BYTES as u32, 0, 7, 8, 0, 0].map(u32::to_be_bytes).concat();
    for (index, number) in numbers.iter().enumerate() {
        let commit = if index + 1 == numbers.len() { 9 } else { 0 };
        log.extend([*number, commit, 7, 8, 0, 0].map(u32::to_be_bytes).concat());
        let start = (*number as usize).saturating_sub(1) * PAGE_BYTES;
        let page = file.get(start..start + PAGE_BYTES);
        log.extend(page.unwrap_or(&[0; PAGE_BYTES]));
    }
    sign(&mut log);
    log
}

/// Puts the right checksums into a log: with wrong ones, nearly every input ends at the same place.
pub fn sign(log: &mut [u8]) {
    let mut sums = (0_u32, 0_u32);
    let mut add = |bytes: &[u8]| {
        for words in bytes.chunks_exact(8) {
            let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| words[at + byte]));
            sums.0 = sums.0.wrapping_add(word(0)).wrapping_add(sums.1);
            sums.1 = sums.1.wrapping_add(word(4)).wrapping_add(sums.0);
        }
        [sums.0.to_be_bytes(), sums.1.to_be_bytes()].concat()
    };
    let Some((head, frames)) = log.split_at_mut_checked(32) else { return };
    let sum = add(&head[..24]);
    head[24..].copy_from_slice(&sum);
    for frame in frames.chunks_exact_mut(24 + PAGE_BYTES) {
        add(&frame[..8]);
        let sum = add(&frame[24..]);
        frame[16..24].copy_from_slice(&sum);
    }
}
