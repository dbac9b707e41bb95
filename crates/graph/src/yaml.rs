//! YAML text to a tree of values with positions, within limits.
//!
//! Takes the part of YAML 1.2 that configuration needs: one document of maps, lists and scalars.
//! Anchors, aliases and tags are refused, so a small file cannot unfold into a large one; several
//! documents are taken as messages alone.

use crate::limits::{
    FILE_BYTES_MAX, FILE_DEPTH_MAX, FILE_VALUES_MAX, MESSAGES_BYTES_MAX, MESSAGES_VALUES_MAX,
    VIOLATIONS_MAX,
};
use crate::scalar::Scalar;
use crate::source::Place;
use crate::violation::{Violation, ViolationKind};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

/// One value of a file.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) place: Place,
    pub(crate) data: Data,
}

/// What a value holds.
#[derive(Debug)]
pub(crate) enum Data {
    /// Text; `plain` when it stood without quotes and may therefore mean a number or a boolean.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Tree>),
    Map(Vec<Entry>),
}

/// One entry of a map. Keys of a map are unique: the first one is kept.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) value: Tree,
}

/// Reads a file. Errors that leave the shape of the tree intact (a key twice) go to `violations`;
/// `None` means that there is no tree, and why is there too.
pub(crate) fn parse(file: &str, bytes: &[u8], violations: &mut Vec<Violation>) -> Option<Tree> {
    let tree = parse_any(file, bytes, violations)?;
    if tree.is_none() {
        let (message, advice) = ("the file is empty".to_owned(), "begin it with `crossdock: 1`");
        let place = Some(Place { line: 1, column: 1 });
        violations.push(Violation::placed(ViolationKind::Syntax, file, place, message, advice));
    }
    tree
}

/// The same of a file that may hold nothing: then there is no tree (`Some(None)`).
pub(crate) fn parse_any(
    file: &str,
    bytes: &[u8],
    violations: &mut Vec<Violation>,
) -> Option<Option<Tree>> {
    let text = checked_text(file, bytes, FILE_BYTES_MAX, violations)?;
    let mut reader = Reader::new(file, text, FILE_VALUES_MAX, violations);
    match reader.document() {
        Ok(tree) => Some(tree),
        Err(violation) => {
            violations.push(*violation);
            None
        }
    }
}

/// The text of a file within its limit; `None`: why not is in `violations`.
fn checked_text<'a>(
    file: &str,
    bytes: &'a [u8],
    bytes_max: usize,
    violations: &mut Vec<Violation>,
) -> Option<&'a str> {
    let fault = |kind, place, message: String, advice: &str| {
        Violation::placed(kind, file, place, message, advice)
    };
    if bytes.len() > bytes_max {
        let message = format!("the file has {} bytes, more than {bytes_max}", bytes.len());
        violations.push(fault(ViolationKind::Limit, None, message, "split it or check its name"));
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let place = place_of_byte(bytes, error.valid_up_to());
            let message = format!("byte {} is not UTF-8", error.valid_up_to());
            let advice = "save the file as UTF-8 text";
            violations.push(fault(ViolationKind::Syntax, Some(place), message, advice));
            None
        }
    }
}

/// A value written in YAML, as JSON: what a file holds that describes something. `file` names it in
/// messages. Pure; allocates.
///
/// # Errors
/// Everything that is wrong with the text, by position.
pub fn yaml_value(file: &str, text: &str) -> Result<serde_json::Value, Vec<Violation>> {
    let mut violations = Vec::new();
    let tree = parse(file, text.as_bytes(), &mut violations);
    match tree {
        _ if !violations.is_empty() => Err(violations),
        Some(tree) => Ok(json(&tree)),
        None => Ok(serde_json::Value::Null),
    }
}

/// Messages written in YAML, as JSON: one in each document that is not empty, as `topic echo`
/// prints them. `file` names the text in messages. Pure; allocates.
///
/// # Errors
/// Everything that is wrong with the text, by position.
pub fn yaml_messages(file: &str, text: &[u8]) -> Result<Vec<serde_json::Value>, Vec<Violation>> {
    let mut violations = Vec::new();
    let text = checked_text(file, text, MESSAGES_BYTES_MAX, &mut violations);
    let mut values = Vec::new();
    if let Some(text) = text {
        let mut reader = Reader::new(file, text, MESSAGES_VALUES_MAX, &mut violations);
        match reader.documents(|tree| values.push(json(&tree))) {
            Ok(()) => values.retain(|value| !value.is_null()),
            Err(violation) => violations.push(*violation),
        }
    }
    if violations.is_empty() { Ok(values) } else { Err(violations) }
}

fn json(tree: &Tree) -> serde_json::Value {
    use serde_json::Value;
    match &tree.data {
        Data::List(items) => items.iter().map(json).collect(),
        Data::Map(entries) => {
            let entries = entries.iter();
            Value::Object(entries.map(|it| (it.key.clone(), json(&it.value))).collect())
        }
        Data::Scalar { text, plain: false } => Value::String(text.clone()),
        Data::Scalar { text, plain: true } => match Scalar::resolve(text) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => value.into(),
            Scalar::Integer(value) => value.into(),
            // Beyond 63 bits, for unsigned fields; else text, which no number accepts.
            Scalar::TooLarge => {
                text.parse::<u64>().map_or_else(|_| text.as_str().into(), Value::from)
            }
            Scalar::Double(value) if value.is_nan() => "nan".into(),
            Scalar::Double(value) if value == f64::INFINITY => "inf".into(),
            Scalar::Double(value) if value == f64::NEG_INFINITY => "-inf".into(),
            Scalar::Double(value) => value.into(),
            Scalar::Text(text) => text.into(),
        },
    }
}

/// Line and column of a byte in text that is valid up to there.
fn place_of_byte(bytes: &[u8], offset: usize) -> Place {
    let before = String::from_utf8_lossy(&bytes[..offset]);
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count());
    Place { line: count(line + 1), column: count(column + 1) }
}

/// Files have at most [`FILE_BYTES_MAX`] bytes, so their counts fit.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn place(marker: &Marker) -> Place {
    Place { line: count(marker.line()), column: count(marker.col() + 1) }
}

struct Reader<'a, 'b> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    file: &'b str,
    values: usize,
    values_max: usize,
    violations: &'b mut Vec<Violation>,
}

type Read<T> = Result<T, Box<Violation>>;

impl<'a, 'b> Reader<'a, 'b> {
    fn new(
        file: &'b str,
        text: &'a str,
        values_max: usize,
        violations: &'b mut Vec<Violation>,
    ) -> Self {
        Self { parser: Parser::new_from_str(text), file, values: 0, values_max, violations }
    }

    fn fault<T>(&self, kind: ViolationKind, at: Place, message: &str, advice: &str) -> Read<T> {
        Err(Box::new(Violation::placed(kind, self.file, Some(at), message, advice)))
    }

    fn syntax<T>(&self, at: Place, message: &str, advice: &str) -> Read<T> {
        self.fault(ViolationKind::Syntax, at, message, advice)
    }

    fn next(&mut self) -> Read<Option<(Event<'a>, Span)>> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Ok(event)) => Ok(Some(event)),
            Some(Err(error)) => {
                let message = format!("not YAML: {}", error.info());
                let advice = "check the indentation, colons and quotes here and one line above";
                self.syntax(place(error.marker()), &message, advice)
            }
        }
    }

    fn document(&mut self) -> Read<Option<Tree>> {
        let mut tree = None;
        while let Some((event, span)) = self.next()? {
            match event {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::StreamEnd => break,
                Event::DocumentStart(_) if tree.is_none() => {}
                Event::DocumentStart(_) => {
                    let advice = "keep one document per file and remove `---`";
                    return self.syntax(place(&span.start), "a second YAML document", advice);
                }
                first => tree = Some(self.value(first, span, 0)?),
            }
        }
        Ok(tree)
    }

    /// All documents, one after the other.
    fn documents(&mut self, mut each: impl FnMut(Tree)) -> Read<()> {
        while let Some((event, span)) = self.next()? {
            match event {
                Event::StreamEnd => break,
                Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Nothing => {}
                first => each(self.value(first, span, 0)?),
            }
        }
        Ok(())
    }

    fn value(&mut self, event: Event<'a>, span: Span, depth: usize) -> Read<Tree> {
        let at = place(&span.start);
        self.values += 1;
        if self.values > self.values_max {
            let message = format!("the file holds more than {} values", self.values_max);
            return self.fault(ViolationKind::Limit, at, &message, "split it");
        }
        if depth > FILE_DEPTH_MAX {
            let message = format!("maps and lists are nested more than {FILE_DEPTH_MAX} deep");
            return self.fault(ViolationKind::Limit, at, &message, "remove a level");
        }
        self.refuse_anchor_and_tag(&event, at)?;
        let data = match event {
            Event::Scalar(text, style, ..) => {
                Data::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
            }
            Event::SequenceStart(..) => Data::List(self.list(depth)?),
            Event::MappingStart(..) => Data::Map(self.map(depth)?),
            Event::Alias(_) => {
                return self.syntax(at, "YAML aliases are not used here", "write the value out");
            }
            _ => return self.syntax(at, "a value is missing", "write it or remove the key"),
        };
        Ok(Tree { place: at, data })
    }

    fn refuse_anchor_and_tag(&self, event: &Event<'_>, at: Place) -> Read<()> {
        let (anchor, tag) = match event {
            Event::Scalar(_, _, anchor, tag)
            | Event::SequenceStart(anchor, tag)
            | Event::MappingStart(anchor, tag) => (*anchor, tag),
            _ => return Ok(()),
        };
        if anchor != 0 {
            return self.syntax(at, "YAML anchors are not used here", "write the value out");
        }
        match tag {
            Some(tag) => {
                let message = format!("YAML tags are not used here (`{tag}`)");
                self.syntax(at, &message, "remove the tag")
            }
            None => Ok(()),
        }
    }

    fn list(&mut self, depth: usize) -> Read<Vec<Tree>> {
        let mut items = Vec::new();
        while let Some((event, span)) = self.next()? {
            if event == Event::SequenceEnd {
                break;
            }
            items.push(self.value(event, span, depth + 1)?);
        }
        Ok(items)
    }

    fn map(&mut self, depth: usize) -> Read<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = std::collections::BTreeMap::new();
        while let Some((event, span)) = self.next()? {
            if event == Event::MappingEnd {
                break;
            }
            let key_place = place(&span.start);
            self.refuse_anchor_and_tag(&event, key_place)?;
            let Event::Scalar(key, ..) = event else {
                return self.syntax(key_place, "a key is not plain text", "use a name as the key");
            };
            let key = key.into_owned();
            let value = match self.next()? {
                Some((event, span)) => self.value(event, span, depth + 1)?,
                None => return self.syntax(key_place, "a value is missing", "write it"),
            };
            if let Some(first) = seen.insert(key.clone(), key_place) {
                self.note_duplicate(&key, key_place, first);
                seen.insert(key, first);
                continue;
            }
            entries.push(Entry { key, key_place, value });
        }
        Ok(entries)
    }

    fn note_duplicate(&mut self, key: &str, at: Place, first: Place) {
        if self.violations.len() < VIOLATIONS_MAX {
            let message = format!("`{key}` is here twice, first on line {}", first.line);
            let kind = ViolationKind::Duplicate;
            let advice = "rename or remove one of them";
            self.violations.push(Violation::placed(kind, self.file, Some(at), message, advice));
        }
    }
}
