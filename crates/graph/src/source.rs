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

/// A file and the positions of the parts that were read from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    file: String,
    places: BTreeMap<Vec<String>, Place>,
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
        self.places.insert(path.iter().map(|key| (*key).to_owned()).collect(), place);
    }

    /// Where the part at this path of keys was written, or else the nearest part around it.
    #[must_use]
    pub fn place(&self, path: &[&str]) -> Option<Place> {
        let mut path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        loop {
            if let Some(place) = self.places.get(&path) {
                return Some(*place);
            }
            path.pop()?;
        }
    }
}
