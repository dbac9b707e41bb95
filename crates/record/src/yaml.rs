//! Turns small YAML texts of bags (metadata.yaml, QoS profiles) into a tree of plain text.
//!
//! The texts are untrusted: size, depth and node count are bounded, and aliases are refused so that
//! a short text cannot grow into a huge tree.

use saphyr_parser::{Event, Parser};

/// Longest text that is looked at. The largest real metadata.yaml files have some 100 KiB.
pub(crate) const YAML_BYTES_MAX: usize = 8 << 20;
/// Deepest nesting. rosbag2 writes at most six levels.
const DEPTH_MAX: usize = 32;

/// A YAML node; scalars keep their text, because callers know what they expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Yaml {
    Scalar(String),
    Sequence(Vec<Yaml>),
    Mapping(Vec<(String, Yaml)>),
}

/// Why a YAML text could not be read: a sentence fragment with line and column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlError(pub(crate) String);

impl Yaml {
    /// Reads the first document of `text`.
    pub(crate) fn parse(text: &str) -> Result<Yaml, YamlError> {
        if text.len() > YAML_BYTES_MAX {
            return Err(YamlError(format!("it is longer than {YAML_BYTES_MAX} bytes")));
        }
        let mut builder = Builder::default();
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| YamlError(error.to_string()))?;
            let done = builder
                .add(event)
                .map_err(|what| YamlError(format!("line {}: {what}", span.start.line())))?;
            if let Some(root) = done {
                return Ok(root);
            }
        }
        Err(YamlError("it holds no document".to_owned()))
    }

    /// The value of `key` when this is a mapping that has it.
    pub(crate) fn field(&self, key: &str) -> Option<&Yaml> {
        match self {
            Yaml::Mapping(entries) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Yaml::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The elements; empty for anything but a sequence.
    pub(crate) fn elements(&self) -> &[Yaml] {
        match self {
            Yaml::Sequence(elements) => elements,
            _ => &[],
        }
    }

    pub(crate) fn number(&self) -> Option<u64> {
        self.text()?.parse().ok()
    }
}

/// A collection that has been opened and not yet closed.
enum Open {
    Sequence(Vec<Yaml>),
    Mapping { entries: Vec<(String, Yaml)>, key: Option<String> },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
}

impl Builder {
    /// Takes one event; gives the root node when it is complete.
    fn add(&mut self, event: Event<'_>) -> Result<Option<Yaml>, &'static str> {
        match event {
            Event::Scalar(text, ..) => self.close(Yaml::Scalar(text.into_owned())),
            Event::SequenceStart(..) => self.start(Open::Sequence(Vec::new())),
            Event::MappingStart(..) => self.start(Open::Mapping { entries: Vec::new(), key: None }),
            Event::SequenceEnd => match self.open.pop() {
                Some(Open::Sequence(elements)) => self.close(Yaml::Sequence(elements)),
                _ => Err("a sequence ends that was not open"),
            },
            Event::MappingEnd => match self.open.pop() {
                Some(Open::Mapping { entries, .. }) => self.close(Yaml::Mapping(entries)),
                _ => Err("a mapping ends that was not open"),
            },
            Event::Alias(_) => Err("aliases are not used in bags"),
            _ => Ok(None),
        }
    }

    fn start(&mut self, collection: Open) -> Result<Option<Yaml>, &'static str> {
        if self.open.len() == DEPTH_MAX {
            return Err("it is nested too deeply");
        }
        self.open.push(collection);
        Ok(None)
    }

    /// Puts a complete node into the collection around it; a node with none around is the root.
    fn close(&mut self, node: Yaml) -> Result<Option<Yaml>, &'static str> {
        match self.open.last_mut() {
            None => return Ok(Some(node)),
            Some(Open::Sequence(elements)) => elements.push(node),
            Some(Open::Mapping { entries, key }) => match (key.take(), node) {
                (Some(key), node) => entries.push((key, node)),
                (None, Yaml::Scalar(text)) => *key = Some(text),
                (None, _) => return Err("a key is not plain text"),
            },
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_text_becomes_a_tree() {
        let tree = Yaml::parse("a:\n  - b: 1\n    c: 'x y'\n  - 2\n").unwrap();
        let elements = tree.field("a").unwrap().elements();
        assert_eq!(elements[0].field("b").unwrap().number(), Some(1));
        assert_eq!(elements[0].field("c").unwrap().text(), Some("x y"));
        assert_eq!(elements[1].number(), Some(2));
    }

    #[test]
    fn aliases_depth_and_broken_texts_are_refused_with_the_line() {
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\n";
        assert!(Yaml::parse(bomb).unwrap_err().0.contains("line 2"));
        assert!(Yaml::parse(&"[".repeat(DEPTH_MAX + 1)).unwrap_err().0.contains("deeply"));
        assert!(Yaml::parse("a: [1, 2").is_err());
        assert!(Yaml::parse("").is_err());
    }
}
