//! Type hashes of all interfaces of the corpus against those of ROS 2's own generator, for
//! messages, services and actions with everything that is derived from them.

use crate::common;
use crossdock_msg::definition::TypeName;
use crossdock_msg::find;
use crossdock_msg::resolve::Library;
use crossdock_msg::rihs::type_hash;
use crossdock_msg::{LayoutHash, Schema};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Types for which ROS 2's generator gives no hash, and why.
const NOT_COMPARED: [(&str, &str); 1] = [(
    "rosidl_parser/msg/MyMessage",
    "has a `long double`, which the generator's table of types lacks",
)];

/// Everything in a folder.
fn library(folder: &Path) -> Library {
    let mut library = Library::new();
    for file in find::below(folder).unwrap() {
        find::add(&mut library, &file).unwrap();
    }
    library
}

/// All types that files define, and those that are derived from them.
fn names(library: &Library) -> BTreeSet<TypeName> {
    let services = library.services().map(|service| &service.type_name);
    let actions = library.actions().map(|action| &action.type_name);
    let whole: Vec<_> = services.chain(actions).cloned().collect();
    let derived = whole.iter().flat_map(|name| library.derived_from(name));
    let messages = library.iter().map(|message| message.type_name.clone());
    messages.chain(derived).chain(whole.iter().cloned()).collect()
}

#[test]
fn every_type_of_the_corpus_is_laid_out() {
    let Some(data) = crossdock_test_support::data() else { return };
    let library = library(&data.join("interfaces"));
    assert_eq!(library.services().count(), 35 + 3, "three of them in two packages");
    assert_eq!(library.actions().count(), 4 + 1);
    let names = names(&library);
    assert!(names.len() > 400, "{}", names.len());
    let layouts: BTreeSet<LayoutHash> = names.iter().map(|name| layout(&library, name)).collect();
    assert!(layouts.len() > 300, "{}", layouts.len());
    for name in ["reference_interfaces/msg/Message4kb", "test_msgs/idl/IdlOnlyTypes"] {
        assert!(names.contains(&TypeName::parse(name).unwrap()), "{name}");
    }
    let whole = Schema::from_library(&library, "reference_interfaces/msg/Message4kb").unwrap();
    assert_eq!(whole.root_bytes(), 4096);
}

fn layout(library: &Library, name: &TypeName) -> LayoutHash {
    Schema::from_library(library, &name.to_string()).unwrap().layout_hash()
}

#[test]
fn every_type_hashes_as_ros_2_s_own_generator_does() {
    let Some(data) = crossdock_test_support::data() else { return };
    let Some(python) = common::python::environment() else { return };
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("type-hashes");
    let _ = std::fs::remove_dir_all(&scratch);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/type_hashes.py");
    let folder = data.join("interfaces");
    let output = Command::new(python).arg(script).arg(&folder).arg(&scratch).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let (refused, theirs): (Vec<_>, Vec<_>) = lines.partition(|(_, hash)| hash.starts_with('-'));
    let theirs: BTreeMap<&str, &str> = theirs.into_iter().collect();
    // What the generator refuses is named above, with the reason.
    assert_eq!(refused.len(), NOT_COMPARED.len(), "{:?}", &refused[..refused.len().min(5)]);
    let ours = library(&folder);
    let converted = library(&scratch);
    let mut compared = 0;
    for name in names(&ours) {
        let text = name.to_string();
        if NOT_COMPARED.iter().any(|(name, _)| *name == text) {
            continue;
        }
        let Some(wanted) = theirs.get(text.as_str()) else { panic!("{text} is missing") };
        let hash = |library: &Library| type_hash(&library.resolve(&name).unwrap()).to_string();
        assert_eq!(hash(&ours), *wanted, "{text}");
        // The `.idl` files that ROS 2 makes of the others mean the same types.
        if converted.get(&name).is_some() && !text.contains("Idl") {
            assert_eq!(hash(&converted), *wanted, "{text} from .idl");
        }
        compared += 1;
    }
    assert!(compared > 400, "{compared}");
}
