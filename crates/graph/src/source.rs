//! Where the parts of a file were written, so that a check made later can still point at a line.
//!
//! Must not know what the parts mean: a part is a path of keys, like `nodes/blur/inputs/image`.

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
/// such as overridden parameters, point there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    file: String,
    places: BTreeMap<Vec<String>, (Option<String>, Place)>,
}

impl Source {
    /// A source for the file of this name, with no position in it yet.
    #[must_use]
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), places: BTreeMap::new() }
    }

    /// Name of the file; empty for what was built in code.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Notes where the part at this path of keys was written.
    pub fn set(&mut self, path: &[&str], place: Place) {
        self.places.insert(owned(path), (None, place));
    }

    /// Notes that the part at this path of keys now comes from another file.
    pub fn set_elsewhere(&mut self, path: &[&str], file: &str, place: Option<Place>) {
        let place = place.unwrap_or(Place { line: 1, column: 1 });
        self.places.insert(owned(path), (Some(file.to_owned()), place));
    }

    /// File and position of the part at this path of keys, or else of the nearest part around it.
    #[must_use]
    pub fn find(&self, path: &[&str]) -> (&str, Option<Place>) {
        let mut path = owned(path);
        loop {
            if let Some((file, place)) = self.places.get(&path) {
                return (file.as_deref().unwrap_or(&self.file), Some(*place));
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
