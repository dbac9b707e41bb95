//! The wire format of rmw_zenoh: names and keys, liveliness tokens, quality of service as text,
//! attachments of messages. Pure: texts and bytes in, values out, and back.
//!
//! Everything that comes from the network passes here first. What breaks a rule is an error; names
//! that are no legal names of ROS are, too.

mod attachment;
mod hash;
mod qos;
mod token;
mod types;

pub use attachment::{Attachment, AttachmentError};
pub use hash::{Hashes, WireHash};
pub use qos::{QosError, qos_of_text, qos_text};
pub use token::{
    Endpoint, Gid, NodeNames, Token, TokenError, gid_of, tokens_of_all_domains, tokens_of_domain,
};
pub use types::{TypeError, ros_type, wire_type};

use std::fmt;

/// A text of a stranger as an error shows it: short, and without control characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(120).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Why a number is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a number from 0 to {max}")]
pub struct NumberError {
    text: String,
    max: u64,
}

/// A number in decimal digits alone.
fn number<N: TryFrom<u64>>(text: &str, max: u64) -> Result<N, NumberError> {
    let wrong = || NumberError { text: shown(text), max };
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value: u64 = is_plain.then(|| text.parse().ok()).flatten().ok_or_else(wrong)?;
    N::try_from(value).ok().filter(|_| value <= max).ok_or_else(wrong)
}

/// Where messages of a topic, and calls of a service, go on the network.
///
/// `name` is absolute, `type_name` in ROS's form.
#[must_use]
pub fn key(domain_id: u32, name: &str, type_name: &str, hash: &WireHash) -> String {
    let name = name.trim_matches('/');
    format!("{domain_id}/{name}/{}/{hash}", wire_type(type_name))
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
