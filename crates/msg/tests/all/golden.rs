//! Committed generated text is what the generator writes: the shipped types, and a user's package.

use crossdock_msg::generate::{GeneratedFile, Generator};
use std::path::Path;

/// Set to write the files in the place of comparing them.
const REGENERATE: &str = "CROSSDOCK_REGENERATE";

#[test]
fn the_committed_types_are_what_the_generator_writes() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut generator = Generator::new();
    generator.add_folder(&crate_folder.join("interfaces")).unwrap();
    compare(&crate_folder.join("src/types"), &generator.tree_files().unwrap());
}

#[test]
fn a_users_committed_package_is_what_the_generator_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/user");
    let mut generator = Generator::new();
    generator.add_folder(&folder.join("interfaces")).unwrap();
    assert_eq!(generator.packages().collect::<Vec<_>>(), ["block", "odd_msgs"]);
    compare(&folder, &generator.package_files().unwrap());
}

fn compare(folder: &Path, files: &[GeneratedFile]) {
    for file in files {
        let path = folder.join(&file.path);
        if std::env::var_os(REGENERATE).is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &file.text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == file.text,
            "{} differs: run this test with {REGENERATE}=1 and commit the result",
            path.display()
        );
    }
}
