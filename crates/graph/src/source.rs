//! Where the parts of a file were written, so that a check made later can still point at a line.
//!
//! A part is a path of keys, like `nodes/blur/inputs/image`.

use crate::expansion::ROOT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A position in a text file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column, counted in characters.
    pub column: u32,
}

/// A file and the positions of the parts that were read from it. Parts that another file changed,
/// such as overridden parameters, point there. Names that were not written out are kept as they
/// were written, for those who rename nodes later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    file: String,
    places: BTreeMap<Vec<String>, (Option<String>, Option<Place>)>,
    /// The namespace of the names in the file; empty: the root.
    namespace: String,
    /// Relative and private names, by the paths of their parts.
    written: BTreeMap<Vec<String>, String>,
    /// Files that were included, by the names that messages give them.
    included: Vec<String>,
}

impl Source {
    /// A source for the file of this name, with no position in it yet.
    #[must_use]
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Name of the file; empty for what was built in code.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Files that the file includes, directly or not, as they were found.
    #[must_use]
    pub fn included(&self) -> &[String] {
        &self.included
    }

    /// The namespace of relative names in the file.
    pub(crate) fn namespace(&self) -> &str {
        if self.namespace.is_empty() { ROOT } else { &self.namespace }
    }

    pub(crate) fn set_namespace(&mut self, namespace: &str) {
        namespace.clone_into(&mut self.namespace);
    }

    pub(crate) fn include(&mut self, file: &str) {
        if !self.included.iter().any(|known| known == file) {
            self.included.push(file.to_owned());
        }
    }

    /// Notes how a name was written that means another one in each namespace.
    pub(crate) fn set_written(&mut self, path: &[&str], name: &str) {
        self.written.insert(owned(path), name.to_owned());
    }

    /// The name at this path means the same in each namespace now.
    pub(crate) fn clear_written(&mut self, path: &[&str]) {
        self.written.remove(&owned(path));
    }

    /// How the name at this path was written, if that is not its whole form.
    pub(crate) fn written(&self, path: &[&str]) -> Option<&str> {
        self.written.get(&owned(path)).map(String::as_str)
    }

    /// Puts the parts of `table` (such as `nodes`) under new names: a part `t/a/b` is at `t/c/b` if
    /// `names` has `a: c`.
    pub(crate) fn rename(&mut self, table: &str, names: &BTreeMap<String, String>) {
        if names.iter().all(|(old, new)| old == new) {
            return;
        }
        self.move_parts(|path| {
            let is_in_table = path.first().is_some_and(|first| first == table);
            if let Some(new) = path.get(1).filter(|_| is_in_table).and_then(|name| names.get(name))
            {
                new.clone_into(&mut path[1]);
            }
        });
    }

    /// Changes the paths of all parts.
    pub(crate) fn move_parts(&mut self, change: impl Fn(&mut Vec<String>)) {
        let moved = |mut path| {
            change(&mut path);
            path
        };
        let places = std::mem::take(&mut self.places).into_iter();
        self.places = places.map(|(path, place)| (moved(path), place)).collect();
        let written = std::mem::take(&mut self.written).into_iter();
        self.written = written.map(|(path, name)| (moved(path), name)).collect();
    }

    /// Takes over the parts of another file, which keep their positions there.
    pub(crate) fn absorb(&mut self, other: Self) {
        let Self { file, places, written, included, .. } = other;
        let places = places.into_iter().filter(|(path, _)| !path.is_empty());
        for (path, (elsewhere, place)) in places {
            let elsewhere = elsewhere.or_else(|| Some(file.clone()));
            self.places.entry(path).or_insert((elsewhere, place));
        }
        self.written.extend(written);
        self.include(&file);
        included.iter().for_each(|file| self.include(file));
    }

    /// Notes where the part at this path of keys was written.
    pub fn set(&mut self, path: &[&str], place: Place) {
        self.places.insert(owned(path), (None, Some(place)));
    }

    /// Notes that the part at this path of keys now comes from another file, or from words of a
    /// command line, which have no place.
    pub fn set_elsewhere(&mut self, path: &[&str], file: &str, place: Option<Place>) {
        self.places.insert(owned(path), (Some(file.to_owned()), place));
    }

    /// Leaves the name of the file alone.
    pub(crate) fn forget_places(&mut self) {
        self.places.clear();
    }

    /// File and position of the part at this path of keys, or else of the nearest part around it.
    #[must_use]
    pub fn find(&self, path: &[&str]) -> (&str, Option<Place>) {
        let mut path = owned(path);
        loop {
            if let Some((file, place)) = self.places.get(&path) {
                return (file.as_deref().unwrap_or(&self.file), *place);
            }
            if path.pop().is_none() {
                return (&self.file, None);
            }
        }
    }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|key| (*key).to_owned()).collect()
}
