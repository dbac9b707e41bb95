//! The binary interface of ROS 2, one module per distribution. All of them are compiled; a feature
//! of the crate chooses the one that the library speaks, [`current`].
//!
//! The declarations are our own; sizes and offsets were taken from the headers and are held by
//! assertions of the compiler. `make rmw-abi ROS=PREFIX` compares them with the headers of an
//! installation.

pub mod humble;
pub mod jazzy;
pub mod kilted;
pub mod lyrical;
pub mod shared;
pub mod symbols;

#[cfg(feature = "humble")]
pub use humble as current;
#[cfg(feature = "jazzy")]
pub use jazzy as current;
#[cfg(feature = "kilted")]
pub use kilted as current;
#[cfg(feature = "lyrical")]
pub use lyrical as current;

const DISTRIBUTIONS: usize = cfg!(feature = "humble") as usize
    + cfg!(feature = "jazzy") as usize
    + cfg!(feature = "kilted") as usize
    + cfg!(feature = "lyrical") as usize;
const _: () = assert!(
    DISTRIBUTIONS == 1,
    "choose one distribution: --no-default-features --features humble (jazzy, kilted, lyrical)"
);

/// The name of the distribution that the library is for, as `ROS_DISTRO` has it.
pub const DISTRIBUTION: &str = if cfg!(feature = "humble") {
    "humble"
} else if cfg!(feature = "jazzy") {
    "jazzy"
} else if cfg!(feature = "kilted") {
    "kilted"
} else {
    "lyrical"
};

/// Size and offsets of a type of C.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The type's name in C.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// Names and byte offsets of the fields.
    pub fields: &'static [(&'static str, usize)],
}

/// Declares the table `LAYOUTS` of a module and holds the module's types to it.
macro_rules! layouts {
    ($(#[$doc:meta])* $($name:literal, $of:ty, $bytes:literal, { $($field:ident = $offset:literal),* $(,)? })*) => {
        $(const _: () = {
            assert!(size_of::<$of>() == $bytes, $name);
            $(assert!(std::mem::offset_of!($of, $field) == $offset, $name);)*
        };)*
        $(#[$doc])*
        pub const LAYOUTS: &[super::Layout] = &[
            $(super::Layout {
                name: $name,
                bytes: $bytes,
                fields: &[$((stringify!($field), $offset)),*],
            }),*
        ];
    };
}
use layouts;

/// Declares constants of C and a table of them.
macro_rules! constants {
    ($(#[$doc:meta])* $table:ident: $of:ty { $($name:ident = $value:literal),* $(,)? }) => {
        $(pub const $name: $of = $value;)*
        $(#[$doc])*
        pub const $table: &[(&str, i64)] = &[$((stringify!($name), $value)),*];
    };
}
use constants;
