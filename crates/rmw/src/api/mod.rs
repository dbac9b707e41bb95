//! The functions that C calls.
//!
//! Each of them runs under [`answer`]: a panic becomes an error, an error becomes a text in
//! rcutils' error state and a number. Arguments are checked for null before they are used. Texts of
//! errors are those of the crate's error types.

mod serialization;

pub use serialization::{
    rmw_deserialize, rmw_get_implementation_identifier, rmw_get_serialization_format,
    rmw_get_serialized_message_size, rmw_serialize,
};

use crate::abi::shared::{
    RMW_RET_BAD_ALLOC, RMW_RET_ERROR, RMW_RET_INVALID_ARGUMENT, RMW_RET_OK, RMW_RET_UNSUPPORTED,
    Ret,
};
use crate::convert::ConvertError;
use crate::error_state;
use crate::introspection::TypeError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a function of the API fails.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("argument `{name}` is null")]
    Null { name: &'static str },
    #[error("argument `{name}` is not initialised: {what}")]
    Argument { name: &'static str, what: &'static str },
    #[error("{what} is not supported")]
    Unsupported { what: &'static str },
    #[error("the allocator of `{name}` gave no memory for {bytes} bytes")]
    Allocator { name: &'static str, bytes: usize },
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error(transparent)]
    Convert(#[from] ConvertError),
    #[error(transparent)]
    Flat(#[from] crossdock_msg::FlatError),
    #[error(transparent)]
    Cdr(#[from] crossdock_msg::CdrError),
}

impl Failure {
    fn ret(&self) -> Ret {
        match self {
            Self::Null { .. } | Self::Argument { .. } => RMW_RET_INVALID_ARGUMENT,
            Self::Unsupported { .. } => RMW_RET_UNSUPPORTED,
            Self::Allocator { .. } | Self::Convert(ConvertError::NoMemory) => RMW_RET_BAD_ALLOC,
            _ => RMW_RET_ERROR,
        }
    }
}

/// Carries out a function of the API and gives what C gets.
fn answer(function: &'static str, run: impl FnOnce() -> Result<(), Failure>) -> Ret {
    // Nothing of ours is left half-changed: what `run` changes belongs to the caller, or is not
    // shared.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => RMW_RET_OK,
        Ok(Err(failure)) => {
            error_state::set(&failure.to_string(), function, 0);
            failure.ret()
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_default();
            error_state::set(&format!("rmw_crossdock failed inside: {text}"), function, 0);
            RMW_RET_ERROR
        }
    }
}

/// Refuses a null pointer.
fn given<T>(pointer: *const T, name: &'static str) -> Result<*const T, Failure> {
    if pointer.is_null() { Err(Failure::Null { name }) } else { Ok(pointer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        assert_eq!(answer("test", || panic!("on purpose")), RMW_RET_ERROR);
        assert_eq!(answer("test", || Err(Failure::Null { name: "x" })), RMW_RET_INVALID_ARGUMENT);
    }
}
