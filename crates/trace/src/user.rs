//! Tracepoints of node authors: events of their own on the same timeline.

use crate::schema::{FIELDS_MAX, USER_BIT, USER_EVENTS};
use crate::tracer::{self, Mask, record};
use crossdock_shm::clock::monotonic_ns;
use std::marker::PhantomData;

/// A value of a tracepoint.
pub trait FieldValue: Copy {
    /// What its type is called in definitions.
    #[doc(hidden)]
    const TYPE: &'static str;
    /// It as a word.
    #[doc(hidden)]
    fn word(self) -> u64;
}

macro_rules! values {
    ($($value:ty, $name:literal, $word:expr;)*) => {$(
        impl FieldValue for $value {
            const TYPE: &'static str = $name;
            #[inline(always)]
            fn word(self) -> u64 {
                let word: fn($value) -> u64 = $word;
                word(self)
            }
        }
    )*};
}

values! {
    u64, "u64", |it| it;
    u32, "u32", u64::from;
    i64, "i64", |it| it as u64;
    i32, "i32", |it| i64::from(it) as u64;
    f64, "f64", f64::to_bits;
    bool, "u32", u64::from;
}

/// The values of a tracepoint: a tuple of up to six of `u64`, `u32`, `i64`, `i32`, `f64`, `bool`.
pub trait FieldValues: Copy {
    /// Their number.
    const COUNT: usize;
    /// What their types are called.
    #[doc(hidden)]
    const TYPES: &'static [&'static str];
    /// Writes them into a thread's ring.
    #[doc(hidden)]
    fn record(self, event: u16, at_ns: u64);
}

macro_rules! tuples {
    ($(($($value:ident $place:tt),*);)*) => {$(
        impl<$($value: FieldValue),*> FieldValues for ($($value,)*) {
            const COUNT: usize = [$($value::TYPE),*].len();
            const TYPES: &'static [&'static str] = &[$($value::TYPE),*];
            #[inline(always)]
            fn record(self, event: u16, at_ns: u64) {
                const { assert!(Self::COUNT <= FIELDS_MAX) };
                record(event, at_ns, [$(self.$place.word()),*]);
            }
        }
    )*};
}

impl FieldValues for () {
    const COUNT: usize = 0;
    const TYPES: &'static [&'static str] = &[];
    #[inline(always)]
    fn record(self, event: u16, at_ns: u64) {
        record(event, at_ns, []);
    }
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// A tracepoint could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TracepointError {
    /// A name is not legal.
    #[error(
        "`{name}` cannot be the name of a tracepoint's {what}; use at most 64 letters, digits and \
         `_`, a letter first"
    )]
    Name {
        /// Event or field.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// More or fewer names than values.
    #[error("tracepoint `{event}` has {values} values and {names} names; name each value")]
    Count {
        /// The event.
        event: String,
        /// Its values.
        values: usize,
        /// The names given.
        names: usize,
    },
    /// Another one of this name has other fields, or there are 4096 in this process.
    #[error(
        "tracepoint `{event}` cannot be made: this process has another one of this name with other \
         fields, or 4096 already; choose another name"
    )]
    Taken {
        /// The event.
        event: String,
    },
}

/// An event of a node author's, with values of types `F`.
///
/// `Send + Sync + Copy`. Made once, with its names ([`Tracepoint::new`]); emitting it with tracing
/// off is one load and one branch, with tracing on one record.
///
/// ```
/// use crossdock_trace::Tracepoint;
///
/// # fn main() -> Result<(), crossdock_trace::TracepointError> {
/// let found = Tracepoint::<(u32, f64)>::new("lane_found", ["points", "offset_m"])?;
/// found.emit((120, -0.25));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Tracepoint<F: FieldValues> {
    mask: Mask,
    event: u16,
    values: PhantomData<fn(F)>,
}

impl<F: FieldValues> Clone for Tracepoint<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: FieldValues> Copy for Tracepoint<F> {}

impl<F: FieldValues> Tracepoint<F> {
    /// Makes the tracepoint `event`, with a name for each value. One that was made before in this
    /// process is the same. Allocates, takes a lock.
    ///
    /// # Errors
    /// [`TracepointError`] when a name is not legal or taken.
    pub fn new<const N: usize>(event: &str, names: [&str; N]) -> Result<Self, TracepointError> {
        for (what, name) in [("event", event)].into_iter().chain(names.map(|it| ("field", it))) {
            if !is_name(name) {
                return Err(TracepointError::Name { what, name: name.to_owned() });
            }
        }
        let count = TracepointError::Count { event: event.to_owned(), values: F::COUNT, names: N };
        if N != F::COUNT {
            return Err(count);
        }
        let fields = F::TYPES.iter().zip(names).map(|(kind, name)| format!("{kind} {name}"));
        let fields = fields.collect::<Vec<_>>().join(",");
        let number = tracer::tracepoint(event, &fields);
        let number = number.ok_or_else(|| TracepointError::Taken { event: event.to_owned() })?;
        Ok(Self { mask: tracer::mask(), event: USER_EVENTS + number, values: PhantomData })
    }

    /// The event happens now.
    #[inline]
    pub fn emit(self, values: F) {
        if self.mask.has(USER_BIT) {
            self.happens(values);
        }
    }

    /// Apart, so that what a node executes while tracing is off is small.
    #[inline(never)]
    fn happens(self, values: F) {
        values.record(self.event, monotonic_ns());
    }
}

/// Legal in CTF and in everything that reads it.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= 64
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_when_a_tracepoint_is_made() {
        let wrong = Tracepoint::<(u32,)>::new("a b", ["x"]).expect_err("a space");
        assert!(wrong.to_string().contains("`a b`"), "{wrong}");
        let wrong = Tracepoint::<(u32, f64)>::new("pair", ["x"]).expect_err("one name for two");
        assert!(wrong.to_string().contains("2 values and 1 names"), "{wrong}");
        Tracepoint::<(u32,)>::new("once", ["x"]).expect("free");
        Tracepoint::<(u32,)>::new("once", ["x"]).expect("the same");
        let wrong = Tracepoint::<(f64,)>::new("once", ["x"]).expect_err("another type");
        assert!(wrong.to_string().contains("other fields"), "{wrong}");
    }
}
