//! A value that lasts as long as a subscriber or any of its samples.
//!
//! A publisher may use memory again only when nobody holds it. The code that has to tell the
//! publisher so does it in the drop of this value. The value is dropped when the subscriber and its
//! last sample are gone, never before.

use std::any::Any;

/// Anything that must end only when nothing of a publisher is held any more.
///
/// Dropped on whatever thread ends the subscriber or its last sample; dropping it must not block.
#[derive(Default)]
pub struct Lifeline(Option<Box<dyn Any + Send + Sync>>);

impl Lifeline {
    /// Nothing: the maker of the subscriber looks at
    /// [`SubscriberControl::is_released`](crate::SubscriberControl::is_released).
    pub const fn none() -> Self {
        Lifeline(None)
    }

    /// Keeps this.
    pub fn of(kept: impl Send + Sync + 'static) -> Self {
        Lifeline(Some(Box::new(kept)))
    }
}

impl std::fmt::Debug for Lifeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keeps = if self.0.is_some() { "something" } else { "nothing" };
        write!(f, "Lifeline({keeps})")
    }
}
