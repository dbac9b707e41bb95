//! The error of a node: a sentence for a person.

use std::error::Error;
use std::fmt;

/// Why a node could not be made or could not go on: a sentence for a person.
///
/// `?` turns every [`std::error::Error`] into one, with the sentences of its sources. Making one
/// allocates; the data path without errors does not.
pub struct NodeError(String);

impl NodeError {
    /// An error with this sentence, which should name the object, the limit and the next step.
    #[must_use]
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

// `NodeError` is not itself a `std::error::Error`, which is what makes this possible.
impl<E: Error> From<E> for NodeError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        // Bounded: a chain of sources that runs in a circle must not hang a failing node.
        for _ in 0..16 {
            let Some(cause) = source else { break };
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
