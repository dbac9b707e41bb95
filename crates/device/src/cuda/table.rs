//! A macro that makes a table of a library's functions, read from the library when the program
//! runs.
//!
//! `cudarc` has such functions, but its own panic when the library or one of them is missing, and
//! they give results as Rust enums, which a newer library's codes are not values of. So only its
//! types, constants and signatures are used: the compiler holds every entry of a table against the
//! signature that `cudarc` has generated from the maker's headers, and a result is a plain number.

use std::ffi::c_uint;

/// What a function of one of these libraries returns: 0, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Code(pub(super) c_uint);

impl Code {
    /// All is well.
    pub(super) const SUCCESS: Self = Self(0);
}

/// `struct TABLE of SYS, RESULT`: functions that are needed, those that may be missing, and those
/// whose signature `cudarc` has with an enum where a number may be unknown to it.
macro_rules! table {
    (
        $(#[$about:meta])*
        struct $Table:ident of $sys:ident, $result:ty;
        needed { $(fn $needed:ident($($need:ty),* $(,)?);)* }
        optional { $(fn $optional:ident($($option:ty),* $(,)?);)* }
        unlike { $(fn $unlike:ident($($number:ty),* $(,)?);)* }
    ) => {
        $(const _: unsafe fn($($need),*) -> $result = $sys::$needed;)*
        $(const _: unsafe fn($($option),*) -> $result = $sys::$optional;)*

        $(#[$about])*
        #[allow(non_snake_case, clippy::type_complexity)]
        #[derive(Debug)]
        pub(super) struct $Table {
            $(pub(super) $needed: unsafe extern "C" fn($($need),*) -> Code,)*
            $(pub(super) $optional: Option<unsafe extern "C" fn($($option),*) -> Code>,)*
            $(pub(super) $unlike: unsafe extern "C" fn($($number),*) -> Code,)*
        }

        impl $Table {
            /// The functions of a library; the name of one that it lacks.
            fn of(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($needed: {
                        type Function = unsafe extern "C" fn($($need),*) -> Code;
                        let symbol = concat!(stringify!($needed), "\0").as_bytes();
                        // SAFETY: the function of that name has this signature (checked above),
                        // with a result that is a C enum: a number. It stays while the library
                        // does.
                        match unsafe { library.get::<Function>(symbol) } {
                            Ok(function) => *function,
                            Err(_) => return Err(stringify!($needed)),
                        }
                    },)*
                    $($optional: {
                        type Function = unsafe extern "C" fn($($option),*) -> Code;
                        let symbol = concat!(stringify!($optional), "\0").as_bytes();
                        // SAFETY: as above.
                        unsafe { library.get::<Function>(symbol) }.ok().map(|function| *function)
                    },)*
                    $($unlike: {
                        type Function = unsafe extern "C" fn($($number),*) -> Code;
                        let symbol = concat!(stringify!($unlike), "\0").as_bytes();
                        // SAFETY: as above; where the header has an enum, this has a number.
                        match unsafe { library.get::<Function>(symbol) } {
                            Ok(function) => *function,
                            Err(_) => return Err(stringify!($unlike)),
                        }
                    },)*
                })
            }
        }
    };
}

pub(super) use table;
