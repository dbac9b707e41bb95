//! What the user should know of a run: told at once where it cannot wait, and again below the
//! closing table.

use crate::output::say;

/// Sentences that are kept: a process that reports without end fills neither memory nor terminal.
const NOTES_MAX: usize = 500;

/// See the head of this file.
#[derive(Default)]
pub(super) struct Notes {
    sentences: Vec<String>,
    /// Those that came after as many as are kept.
    left_out: u64,
}

impl Notes {
    /// Keeps a sentence for the end.
    pub(super) fn push(&mut self, sentence: String) {
        if self.sentences.len() < NOTES_MAX {
            self.sentences.push(sentence);
        } else {
            self.left_out += 1;
        }
    }

    /// Keeps a sentence for the end and tells it now.
    pub(super) fn warn(&mut self, sentence: String) {
        if self.sentences.len() < NOTES_MAX {
            say!("warning: {sentence}");
        }
        self.push(sentence);
    }

    /// All sentences: `first`, then those kept, then how many are missing.
    pub(super) fn take(&mut self, first: Vec<String>) -> Vec<String> {
        let mut all = first;
        all.append(&mut self.sentences);
        if self.left_out > 0 {
            all.push(format!("{} more notes are left out", self.left_out));
        }
        all
    }
}

impl Extend<String> for Notes {
    fn extend<I: IntoIterator<Item = String>>(&mut self, sentences: I) {
        sentences.into_iter().for_each(|sentence| self.push(sentence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_beyond_the_limit_are_counted() {
        let mut notes = Notes::default();
        notes.extend((0..NOTES_MAX + 7).map(|number| number.to_string()));
        let all = notes.take(vec!["first".to_owned()]);
        assert_eq!(all.len(), NOTES_MAX + 2);
        assert_eq!(all[..2], ["first", "0"]);
        assert_eq!(all[NOTES_MAX + 1], "7 more notes are left out");
    }
}
