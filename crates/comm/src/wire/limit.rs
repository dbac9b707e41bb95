//! The limits beyond which a process refuses another one, as a byte of a frame. Each side has its
//! own words for them: a stranger's would have to be believed.

/// See the head of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Connected processes of one user.
    ProcessesOfUser,
    /// Connected processes of all users who are not trusted.
    Processes,
    /// Connections of one user that are no process's, or not yet.
    VisitsOfUser,
    /// The same of all users who are not trusted.
    Visits,
    /// Connections of everybody.
    Peers,
    /// Publishers of one process.
    Publishers,
    /// Descriptors that keep the memory of publishers.
    Descriptors,
    /// Address space for copies of messages.
    Addresses,
}

impl Limit {
    const ALL: [Limit; 8] = [
        Limit::ProcessesOfUser,
        Limit::Processes,
        Limit::VisitsOfUser,
        Limit::Visits,
        Limit::Peers,
        Limit::Publishers,
        Limit::Descriptors,
        Limit::Addresses,
    ];

    /// Does a process go on that exceeds it, without some of its publishers?
    pub(crate) fn leaves_out_publishers(self) -> bool {
        matches!(self, Limit::Descriptors | Limit::Addresses)
    }

    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    pub(crate) fn of_number(number: u8) -> Option<Limit> {
        Limit::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_its_number() {
        for limit in Limit::ALL {
            assert_eq!(Limit::of_number(limit.number()), Some(limit));
        }
        assert_eq!(Limit::of_number(Limit::ALL.len() as u8), None);
    }
}
