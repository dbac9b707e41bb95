//! Another process, for people.

use std::fmt;

/// Another process, as the kernel and its own words describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerProcess {
    /// Name that it gave itself; empty when it was cut off before it said one.
    pub name: String,
    /// Process id as the kernel told it.
    pub pid: u32,
    /// User id as the kernel told it.
    pub uid: u32,
}

impl fmt::Display for PeerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "process {} of user {}", self.pid, self.uid),
            name => write!(f, "process `{name}` (pid {}, user {})", self.pid, self.uid),
        }
    }
}
