//! Hashes of types on the wire. ROS 2 Humble has none and says so.

use super::shown;
use crossdock_msg::{ParseHashError, TypeHash};
use std::fmt;
use std::str::FromStr;

/// What ROS 2 Humble writes in the place of a hash.
const NOT_SUPPORTED: &str = "TypeHashNotSupported";

/// The hash of a type as an endpoint says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WireHash {
    /// Of ROS 2 Iron and later.
    Rihs01([u8; 32]),
    /// Of ROS 2 Humble.
    NotSupported,
}

impl fmt::Display for WireHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireHash::Rihs01(hash) => TypeHash(*hash).fmt(f),
            WireHash::NotSupported => f.write_str(NOT_SUPPORTED),
        }
    }
}

impl FromStr for WireHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            NOT_SUPPORTED => Ok(WireHash::NotSupported),
            text => match TypeHash::from_str(text) {
                Ok(TypeHash(hash)) => Ok(WireHash::Rihs01(hash)),
                Err(_) => Err(ParseHashError::Form { text: shown(text) }),
            },
        }
    }
}

/// Whether the network's endpoints have hashes: all of those that meet have, or none has, because
/// the hash is a part of the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hashes {
    /// ROS 2 Jazzy and later.
    #[default]
    Rihs01,
    /// ROS 2 Humble.
    NotSupported,
}

impl Hashes {
    /// The hash of a type of ours as the network has it.
    #[must_use]
    pub fn on_wire(self, hash: [u8; 32]) -> WireHash {
        match self {
            Hashes::Rihs01 => WireHash::Rihs01(hash),
            Hashes::NotSupported => WireHash::NotSupported,
        }
    }
}
