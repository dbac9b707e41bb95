//! For which GPUs kernels are compiled: names such as `sm_87`.

use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A CUDA architecture: compute capability 8.7 is `sm_87`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Architecture(u32);

/// The text names no architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no CUDA architecture: give `sm_` and a number, such as sm_87 for Jetson Orin")]
pub struct ParseArchitectureError(String);

impl Architecture {
    /// Those that Crossdock's own tests compile all kernels for: T4, Jetson Orin, GH200, Jetson
    /// Thor.
    pub const TESTED: [Self; 4] = [Self(75), Self(87), Self(90), Self(110)];

    /// From what a driver says of a device.
    pub(crate) const fn of_capability(major: u32, minor: u32) -> Self {
        Self(major * 10 + minor)
    }

    pub(crate) const fn of_number(number: u32) -> Self {
        Self(number)
    }

    /// As a compiler counts it: 87 for `sm_87`.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl FromStr for Architecture {
    type Err = ParseArchitectureError;

    fn from_str(text: &str) -> Result<Self, ParseArchitectureError> {
        let wrong = || ParseArchitectureError(text.to_owned());
        let digits = text.strip_prefix("sm_").ok_or_else(wrong)?;
        // Two or three digits, as they are printed.
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
            && (2..=3).contains(&digits.len())
            && !digits.starts_with('0');
        plain.then(|| digits.parse().ok()).flatten().map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "sm_{}", self.0)
    }
}

impl Serialize for Architecture {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_read_as_they_are_printed() {
        for number in [52, 75, 87, 90, 110, 121] {
            let text = format!("sm_{number}");
            let read: Architecture = text.parse().expect("an architecture");
            assert_eq!((read.number(), read.to_string()), (number, text));
        }
        for wrong in ["", "87", "sm_", "sm_7", "sm_075", "sm_1200", "sm_9a", "sm_+87", "compute_87"]
        {
            let refused = wrong.parse::<Architecture>().expect_err(wrong).to_string();
            assert!(refused.contains("such as sm_87"), "{refused}");
        }
    }

    #[test]
    fn a_capability_is_an_architecture() {
        assert_eq!(Architecture::of_capability(8, 7).to_string(), "sm_87");
        assert_eq!(Architecture::of_capability(12, 1).to_string(), "sm_121");
    }
}
