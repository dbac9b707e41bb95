//! Typed reading of a file's values: each function notes what is wrong and goes on, so that one
//! run finds as many errors as possible.

use crate::limits::VIOLATIONS_MAX;
use crate::names::{did_you_mean, listed};
use crate::scalar::Scalar;
use crate::source::{Place, Source};
use crate::violation::{Violation, ViolationKind};
use crate::yaml::{Data, Entry, Tree};
use std::ops::RangeInclusive;

/// The state of reading one file.
pub(crate) struct Reading {
    pub(crate) source: Source,
    pub(crate) violations: Vec<Violation>,
    /// Node and topic that everything noted now concerns.
    pub(crate) node: Option<String>,
    pub(crate) topic: Option<String>,
}

/// The entries of a map whose keys are fixed.
pub(crate) struct Fields<'t> {
    entries: &'t [Entry],
}

impl<'t> Fields<'t> {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'t Tree> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

/// What a map may and must hold.
pub(crate) struct Keys {
    /// What the map is, for messages: `a node`.
    pub(crate) what: &'static str,
    pub(crate) required: &'static [&'static str],
    pub(crate) optional: &'static [&'static str],
}

impl Reading {
    pub(crate) fn new(file: &str) -> Self {
        let source = Source::new(file);
        Self { source, violations: Vec::new(), node: None, topic: None }
    }

    pub(crate) fn note(
        &mut self,
        kind: ViolationKind,
        place: Place,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        if self.violations.len() >= VIOLATIONS_MAX {
            return;
        }
        let file = self.source.file();
        let mut violation = Violation::placed(kind, file, Some(place), message, advice);
        violation.node.clone_from(&self.node);
        violation.topic.clone_from(&self.topic);
        self.violations.push(violation);
    }

    /// Ends reading: the value if nothing was wrong.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<(T, Source), Vec<Violation>> {
        match value {
            Some(value) if self.violations.is_empty() => Ok((value, self.source)),
            _ => {
                self.violations.sort_by_key(|violation| violation.place);
                Err(self.violations)
            }
        }
    }

    /// The same of a text that stands for words of a command line: what is wrong is told with these
    /// words alone, without lines and columns.
    pub(crate) fn finish_words<T>(self, value: Option<T>) -> Result<(T, Source), Vec<Violation>> {
        match self.finish(value) {
            Ok((value, mut source)) => {
                source.forget_places();
                Ok((value, source))
            }
            Err(mut violations) => {
                violations.iter_mut().for_each(|violation| violation.place = None);
                Err(violations)
            }
        }
    }

    /// Ends reading if nothing was wrong but keys that nobody knows: the value without them, and
    /// what was told of them.
    pub(crate) fn finish_without_unknown_keys<T>(
        mut self,
        value: Option<T>,
    ) -> Result<(T, Source, Vec<Violation>), Vec<Violation>> {
        let is_unknown_key = |it: &Violation| it.kind == ViolationKind::UnknownKey;
        self.violations.sort_by_key(|violation| violation.place);
        match value {
            Some(value) if self.violations.iter().all(is_unknown_key) => {
                Ok((value, self.source, self.violations))
            }
            _ => Err(self.violations),
        }
    }

    /// A map with keys of the writer's choice.
    pub(crate) fn map<'t>(&mut self, tree: &'t Tree, what: &str) -> &'t [Entry] {
        match &tree.data {
            Data::Map(entries) => entries,
            other => {
                let message = format!("{what} must be a map, not {}", kind_of(tree, other));
                let advice = "write `key: value` lines under it, or remove it";
                self.note(ViolationKind::WrongValue, tree.place, message, advice);
                &[]
            }
        }
    }

    /// A map with fixed keys.
    pub(crate) fn fields<'t>(&mut self, tree: &'t Tree, keys: &Keys) -> Fields<'t> {
        let noted = self.violations.len();
        let entries = self.map(tree, keys.what);
        let known = || keys.required.iter().chain(keys.optional).copied();
        for entry in entries {
            if !known().any(|key| key == entry.key) {
                let near = did_you_mean(&entry.key, known());
                let near = if near.is_empty() { near } else { format!("{near} ") };
                let message = format!("{} has no key `{}`", keys.what, entry.key);
                let advice = format!("{near}its keys are {}", listed(known()));
                self.note(ViolationKind::UnknownKey, entry.key_place, message, advice);
            }
        }
        let fields = Fields { entries };
        let is_map = self.violations.len() == noted || matches!(tree.data, Data::Map(_));
        for key in keys.required.iter().filter(|key| is_map && fields.get(key).is_none()) {
            let message = format!("{} needs the key `{key}`", keys.what);
            let advice = format!("add `{key}: ...`");
            self.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
        fields
    }

    /// A list.
    pub(crate) fn list<'t>(&mut self, tree: &'t Tree, what: &str) -> &'t [Tree] {
        match &tree.data {
            Data::List(items) => items,
            other => {
                let message = format!("{what} must be a list, not {}", kind_of(tree, other));
                self.note(ViolationKind::WrongValue, tree.place, message, "write it as `[a, b]`");
                &[]
            }
        }
    }

    /// The names of nodes in a list, `what` each of them is, with their places below `path`. A list
    /// without any is a fault of `owner`, which begins the sentence.
    pub(crate) fn nodes(
        &mut self,
        tree: &Tree,
        path: &[&str],
        what: &str,
        owner: &str,
    ) -> Vec<String> {
        let mut nodes = Vec::new();
        for item in self.list(tree, "`nodes`") {
            let Some(node) = self.text(item, what) else { continue };
            self.source.set(&[path, &[node.as_str()]].concat(), item.place);
            nodes.push(node);
        }
        if nodes.is_empty() && matches!(tree.data, Data::List(_)) {
            let message = format!("{owner} has no node");
            self.note(ViolationKind::MissingKey, tree.place, message, "add one or remove it");
        }
        nodes
    }

    /// Text that no one can take for a number.
    pub(crate) fn text(&mut self, tree: &Tree, what: &str) -> Option<String> {
        match Scalar::of(tree) {
            Some(Scalar::Text(text)) => Some(text),
            _ => {
                let message = format!("{what} must be text, not {}", kind_of(tree, &tree.data));
                let advice = "put it in quotes if the text is meant";
                self.note(ViolationKind::WrongValue, tree.place, message, advice);
                None
            }
        }
    }

    /// Text that a rule for names accepts.
    pub(crate) fn name(
        &mut self,
        tree: &Tree,
        what: &str,
        fault: fn(&str) -> Option<String>,
    ) -> Option<String> {
        let name = self.text(tree, what)?;
        self.check_name(&name, tree.place, what, fault).then_some(name)
    }

    /// Whether a rule for names accepts this one.
    pub(crate) fn check_name(
        &mut self,
        name: &str,
        place: Place,
        what: &str,
        fault: fn(&str) -> Option<String>,
    ) -> bool {
        match fault(name) {
            None => true,
            Some(fault) => {
                let shown: String = name.chars().take(60).collect();
                let message = format!("{what} `{shown}` is no valid ROS name: it {fault}");
                self.note(ViolationKind::InvalidName, place, message, advice_for_names(what));
                false
            }
        }
    }

    pub(crate) fn boolean(&mut self, tree: &Tree, what: &str) -> Option<bool> {
        match Scalar::of(tree) {
            Some(Scalar::Bool(value)) => Some(value),
            _ => {
                let is = kind_of(tree, &tree.data);
                let message = format!("{what} must be true or false, not {is}");
                self.note(ViolationKind::WrongValue, tree.place, message, "write true or false");
                None
            }
        }
    }

    pub(crate) fn integer(
        &mut self,
        tree: &Tree,
        what: &str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let value = match Scalar::of(tree) {
            Some(Scalar::Integer(value)) => u64::try_from(value).ok(),
            Some(Scalar::TooLarge) => None,
            Some(Scalar::Double(value)) if value.fract() == 0.0 && value.is_finite() => {
                (0.0..9e15).contains(&value).then_some(value as u64)
            }
            _ => {
                let is = kind_of(tree, &tree.data);
                let message = format!("{what} must be an integer, not {is}");
                self.note(ViolationKind::WrongValue, tree.place, message, "write a whole number");
                return None;
            }
        };
        let in_range = value.filter(|value| range.contains(value));
        if in_range.is_none() {
            let message = format!("{what} must be {} to {}", range.start(), range.end());
            self.note(ViolationKind::OutOfRange, tree.place, message, "choose a value in between");
        }
        in_range
    }

    /// A number, finite and above 0.
    pub(crate) fn positive(&mut self, tree: &Tree, what: &str) -> Option<f64> {
        let value = self.number(tree, what)?;
        if value.is_finite() && value > 0.0 {
            return Some(value);
        }
        let message = format!("{what} must be a finite number above 0");
        self.note(ViolationKind::OutOfRange, tree.place, message, "choose a larger value");
        None
    }

    /// A number.
    pub(crate) fn number(&mut self, tree: &Tree, what: &str) -> Option<f64> {
        match Scalar::of(tree) {
            Some(Scalar::Integer(value)) => Some(value as f64),
            Some(Scalar::Double(value)) => Some(value),
            _ => {
                let is = kind_of(tree, &tree.data);
                let message = format!("{what} must be a number, not {is}");
                self.note(ViolationKind::WrongValue, tree.place, message, "write a number");
                None
            }
        }
    }

    /// A number in a range.
    pub(crate) fn number_within(
        &mut self,
        tree: &Tree,
        what: &str,
        range: RangeInclusive<f64>,
    ) -> Option<f64> {
        let value = self.number(tree, what)?;
        // NaN is in no range.
        if range.contains(&value) {
            return Some(value);
        }
        let message = format!("{what} must be {} to {}", range.start(), range.end());
        self.note(ViolationKind::OutOfRange, tree.place, message, "choose a value in between");
        None
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        tree: &Tree,
        what: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let known = || words.iter().map(|(word, _)| *word);
        let text = match Scalar::of(tree) {
            Some(Scalar::Text(text)) => text,
            _ => {
                let is = kind_of(tree, &tree.data);
                let message = format!("{what} must be one of {}, not {is}", listed(known()));
                self.note(ViolationKind::WrongValue, tree.place, message, "write one of these");
                return None;
            }
        };
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let shown: String = text.chars().take(60).collect();
            let message = format!("{what} must be one of {}, not `{shown}`", listed(known()));
            let near = did_you_mean(&text, known());
            let advice = if near.is_empty() { "write one of these".to_owned() } else { near };
            self.note(ViolationKind::WrongValue, tree.place, message, advice);
        }
        found
    }

    /// The version line of every file, `crossdock: 1`.
    pub(crate) fn version(&mut self, fields: &Fields<'_>) {
        /// The only version so far.
        const VERSION: u64 = 1;
        let Some(tree) = fields.get("crossdock") else { return };
        match Scalar::of(tree) {
            Some(Scalar::Integer(1)) => {}
            Some(Scalar::Double(1.0)) => {}
            _ => {
                let message = format!("`crossdock` must be the format version {VERSION}");
                let advice = "write `crossdock: 1`, or use the program version that wrote the file";
                self.note(ViolationKind::WrongValue, tree.place, message, advice);
            }
        }
    }
}

fn advice_for_names(what: &str) -> &'static str {
    match what {
        _ if what.contains("message type") => "write it like `sensor_msgs/msg/Image`",
        _ if what.contains("topic") => "write it like `/camera/image`: letters, digits, `_`, `/`",
        _ => "use letters, digits and single `_`, and a letter first",
    }
}

fn kind_of(tree: &Tree, data: &Data) -> &'static str {
    match data {
        Data::Map(_) => "a map",
        Data::List(_) => "a list",
        Data::Scalar { .. } => Scalar::of(tree).map_or("text", |scalar| scalar.kind()),
    }
}
