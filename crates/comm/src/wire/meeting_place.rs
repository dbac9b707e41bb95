//! Where the processes of a domain meet.

use std::ffi::OsString;
use std::path::PathBuf;

use crossdock_shm::rendezvous::{Location, RendezvousConfig};
use crossdock_shm::socket::Access;

/// Where the processes of a domain meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rendezvous {
    /// In this folder, one subfolder for each domain; see [`Rendezvous::default_folder`].
    Folder(PathBuf),
    /// In the abstract socket names of our network namespace: nothing in the file system, not
    /// seen from other containers.
    Abstract,
}

impl Rendezvous {
    /// `$CROSSDOCK_RENDEZVOUS` if that is set, else `$XDG_RUNTIME_DIR/crossdock`, or
    /// `/tmp/crossdock-<uid>` if no runtime folder is set.
    pub fn default_folder() -> Rendezvous {
        Location::default_folder().into()
    }

    /// The same for a process of another user or with other variables.
    pub fn of_variables(uid: u32, variable: impl Fn(&str) -> Option<OsString>) -> Rendezvous {
        Location::of_variables(uid, variable).into()
    }

    /// Whom the place is for: the members of its group, if it is the folder that
    /// `CROSSDOCK_RENDEZVOUS` names, root or we own it, its group may write to it and its entries
    /// belong to that group (mode 3770); else our own user. Looks at the folder.
    pub fn access(&self) -> Access {
        self.location().access()
    }

    fn location(&self) -> Location {
        match self {
            Rendezvous::Folder(path) => Location::Folder(path.clone()),
            Rendezvous::Abstract => Location::Abstract,
        }
    }

    pub(crate) fn config(&self, domain_id: u32, access: Access) -> RendezvousConfig {
        RendezvousConfig { location: self.location(), domain_id, access }
    }
}

impl From<Location> for Rendezvous {
    fn from(location: Location) -> Rendezvous {
        match location {
            Location::Folder(path) => Rendezvous::Folder(path),
            Location::Abstract => Rendezvous::Abstract,
        }
    }
}
