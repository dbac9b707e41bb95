//! Types by name: a running server, and a port on another computer, say the name and hash of their
//! type, not its definition.
//!
//! Known are the shipped types, those of the sourced ROS 2 environment, and those of folders that
//! the user names.

use crossdock_msg::find::{self, FindError, InterfaceFile};
use crossdock_msg::generate::Generator;
use crossdock_msg::resolve::Library;
use crossdock_msg::{Schema, ServiceSchema};
use std::path::{Path, PathBuf};

/// Prefixes of the sourced environment, the topmost first.
const PREFIXES_VARIABLE: &str = "AMENT_PREFIX_PATH";

/// The known definitions.
#[derive(Debug)]
pub struct Definitions {
    library: Library,
}

impl Definitions {
    /// Reads the definitions, the later in the place of the earlier: shipped ones, those of the
    /// environment, those below `folders`. Reads files.
    ///
    /// # Errors
    /// A folder that the user names cannot be read. What is found without being named may be
    /// broken: its types are not known then.
    pub fn read(folders: &[PathBuf]) -> Result<Self, FindError> {
        let mut library = Generator::new().into_library();
        let variable = std::env::var_os(PREFIXES_VARIABLE).unwrap_or_default();
        let mut prefixes: Vec<PathBuf> = std::env::split_paths(&variable).collect();
        prefixes.reverse();
        for prefix in prefixes.iter().filter(|path| !path.as_os_str().is_empty()) {
            for file in &find::in_prefix(prefix) {
                // Nobody has named it: a broken one is not known.
                let _ = find::add(&mut library, file);
            }
        }
        for folder in folders {
            add_folder(&mut library, folder)?;
        }
        Ok(Self { library })
    }

    /// The service type of this name and hash, if it is known. Allocates.
    #[must_use]
    pub fn service(&self, type_name: &str, hash: [u8; 32]) -> Option<ServiceSchema> {
        self.service_of_any_hash(type_name).filter(|schema| schema.type_hash().0 == hash)
    }

    /// The service type of this name, for those who do not know its hash. Allocates.
    #[must_use]
    pub fn service_of_any_hash(&self, type_name: &str) -> Option<ServiceSchema> {
        ServiceSchema::from_library(&self.library, type_name).ok()
    }

    /// The message type of this name and hash, if it is known. Allocates.
    #[must_use]
    pub fn message(&self, type_name: &str, hash: [u8; 32]) -> Option<Schema> {
        self.message_of_any_hash(type_name).filter(|schema| schema.type_hash().0 == hash)
    }

    /// The message type of this name, for those who do not know its hash. Allocates.
    #[must_use]
    pub fn message_of_any_hash(&self, type_name: &str) -> Option<Schema> {
        Schema::from_library(&self.library, type_name).ok()
    }
}

fn add_folder(library: &mut Library, folder: &Path) -> Result<(), FindError> {
    let files: Vec<InterfaceFile> = find::below(folder)?;
    for file in &files {
        find::add(library, file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_type_is_known_by_name_and_hash() {
        let definitions = Definitions::read(&[]).unwrap();
        let shipped = ServiceSchema::shipped("std_srvs/srv/SetBool").unwrap();
        let hash = shipped.type_hash().0;
        assert!(definitions.service("std_srvs/srv/SetBool", hash).is_some());
        assert!(definitions.service("std_srvs/srv/SetBool", [0; 32]).is_none());
        assert!(definitions.service("no_such/srv/Type", hash).is_none());
    }

    #[test]
    fn a_message_type_is_known_by_name_and_hash() {
        let definitions = Definitions::read(&[]).unwrap();
        let hash = Schema::shipped("std_msgs/msg/String").unwrap().type_hash().0;
        assert!(definitions.message("std_msgs/msg/String", hash).is_some());
        assert!(definitions.message("std_msgs/msg/String", [0; 32]).is_none());
        assert!(definitions.message("no_such/msg/Type", hash).is_none());
    }
}
