//! The two hashes that publisher and subscriber compare before they connect.
//!
//! Only the values and their text form live here; `rihs` and `layout` compute them.

#![forbid(unsafe_code)]

use std::fmt;

/// RIHS01 hash of a message type: equal on two sides when names, types and order of all fields are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeHash(pub [u8; 32]);

/// Hash of a type's flat layout v1: equal on two sides when every byte offset is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayoutHash(pub [u8; 32]);

/// What a text was refused for as a type hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseHashError {
    /// The text is not `RIHS01_` and 64 hexadecimal digits.
    #[error(
        "`{text}` is not a type hash: expected RIHS01_ followed by 64 hexadecimal digits; copy it \
         from the recording's metadata or leave it out"
    )]
    Form {
        /// The text as given.
        text: String,
    },
}

const PREFIX: &str = "RIHS01_";

impl fmt::Display for TypeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        write_hex(&self.0, formatter)
    }
}

impl fmt::Debug for TypeHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for LayoutHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}

impl fmt::Debug for LayoutHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::str::FromStr for TypeHash {
    type Err = ParseHashError;

    /// Reads the text that `Display` writes: `RIHS01_` and 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        let wrong = || ParseHashError::Form { text: text.to_owned() };
        let digits = text.strip_prefix(PREFIX).ok_or_else(wrong)?.as_bytes();
        if digits.len() != 64 {
            return Err(wrong());
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16).ok_or_else(wrong)?;
            let low = char::from(pair[1]).to_digit(16).ok_or_else(wrong)?;
            *byte = (high * 16 + low) as u8;
        }
        Ok(Self(hash))
    }
}

fn write_hex(bytes: &[u8], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_hash_reads_what_it_prints_and_refuses_other_texts() {
        let hash = TypeHash(std::array::from_fn(|index| index as u8 * 7));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for text in ["", "RIHS01_", "RIHS01_12", &hash.to_string()[1..], &"é".repeat(36)] {
            assert!(text.parse::<TypeHash>().is_err(), "{text}");
        }
    }
}
