//! The one error of the benchmark: what was being done, and why it did not work. A benchmark has
//! one reader of its errors, the person who started it, so the cause is kept as text.

use std::fmt::Display;

/// Something that a measurement needs did not work. One pointer, so that results of measured
/// operations stay in registers.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {}", .0.doing, .0.why)]
pub struct Failure(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    doing: String,
    why: String,
}

impl Failure {
    /// A failure while `doing` something, because of `why`.
    #[cold]
    pub fn new(doing: impl Into<String>, why: impl Display) -> Self {
        Self(Box::new(Parts { doing: doing.into(), why: why.to_string() }))
    }
}

/// Adds to a result what was being done.
pub trait While<T> {
    /// Turns the error into a [`Failure`] that happened while `doing`.
    fn during(self, doing: &str) -> Result<T, Failure>;
}

impl<T, E: Display> While<T> for Result<T, E> {
    fn during(self, doing: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(doing, error))
    }
}

impl<T> While<T> for Option<T> {
    fn during(self, doing: &str) -> Result<T, Failure> {
        self.ok_or_else(|| Failure::new(doing, "there is none"))
    }
}
