//! The functions that C calls, and nothing else does anything with what C passes.
//!
//! Each of them runs under `answer`: a panic becomes an error, an error becomes a text in
//! rcutils' error state and a number. Arguments are checked for null, and handles for the
//! implementation that made them, before they are used (`handles`). Texts of errors are those of
//! the crate's error types.

mod client;
mod context;
mod events;
mod graph;
mod handles;
mod identity;
mod lists;
mod node;
mod publisher;
mod serialization;
mod service;
mod subscription;
mod unsupported;
mod wait;

pub use client::*;
pub use context::*;
pub use events::*;
pub use graph::*;
pub use identity::*;
pub use node::*;
pub use publisher::*;
pub use serialization::*;
pub use service::*;
pub use subscription::*;
pub use unsupported::*;
pub use wait::*;

use crate::abi::shared::{RMW_RET_ERROR, RMW_RET_OK, RMW_RET_TIMEOUT, Ret};
use crate::error_state;
use crate::failure::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Declares functions of rmw's API that return `rmw_ret_t`: their bodies give
/// `Result<(), Failure>`.
macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $of:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// Each pointer is null or what rmw's API asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $of),*) -> $crate::abi::shared::Ret {
            $crate::api::answer(stringify!($name), || $body)
        }
    )*};
}

/// As [`functions`], for those that give something up. In a forked child that is the parent's: they
/// do nothing there, so that destructors at the end of the child find no error.
macro_rules! endings {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $of:ty),* $(,)?) $body:block)*) => {
        $crate::api::functions! {$(
            $(#[$doc])*
            fn $name($($argument: $of),*) {
                let end = || -> Result<(), $crate::failure::Failure> { $body };
                match end() {
                    Err($crate::failure::Failure::Forked) => Ok(()),
                    ended => ended,
                }
            }
        )*}
    };
}

/// Declares functions of rmw's API that return a pointer, null after an error: their bodies give
/// `Result<*mut T, Failure>`.
macro_rules! makers {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $of:ty),* $(,)?) -> $made:ty $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// Each pointer is null or what rmw's API asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $of),*) -> *mut $made {
            $crate::api::answer_with(stringify!($name), || $body)
        }
    )*};
}
use {endings, functions, makers};

/// Carries out a function of the API and gives what C gets.
fn answer(function: &'static str, run: impl FnOnce() -> Result<(), Failure>) -> Ret {
    match guarded(function, run) {
        Ok(()) => RMW_RET_OK,
        Err(ret) => ret,
    }
}

/// As [`answer`], of a function that gives a pointer.
fn answer_with<T>(function: &'static str, run: impl FnOnce() -> Result<*mut T, Failure>) -> *mut T {
    guarded(function, run).unwrap_or(std::ptr::null_mut())
}

fn guarded<T>(function: &'static str, run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Ret> {
    // Nothing of ours is left half-changed: what `run` changes is behind locks that are taken
    // whatever their holder has met, or belongs to the caller.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        // As in ROS 2, this is a result and no error.
        Ok(Err(Failure::TimedOut)) => Err(RMW_RET_TIMEOUT),
        Ok(Err(failure)) => {
            error_state::set(&failure.to_string(), function, 0);
            Err(failure.ret())
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_default();
            error_state::set(&format!("rmw_crossdock failed inside: {text}"), function, 0);
            Err(RMW_RET_ERROR)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::shared::RMW_RET_INVALID_ARGUMENT;

    #[test]
    fn a_panic_becomes_an_error() {
        assert_eq!(answer("test", || panic!("on purpose")), RMW_RET_ERROR);
        assert_eq!(answer("test", || Err(Failure::Null { name: "x" })), RMW_RET_INVALID_ARGUMENT);
        assert!(answer_with::<u8>("test", || panic!("on purpose")).is_null());
    }
}
