//! The committed types are what the generator writes from the shipped definitions.

use crossdock_msg::generate::Generator;
use std::path::Path;

/// Set to write the files in the place of comparing them.
const REGENERATE: &str = "CROSSDOCK_REGENERATE";

#[test]
fn the_committed_types_are_what_the_generator_writes() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut generator = Generator::new();
    generator.add_folder(&crate_folder.join("interfaces")).unwrap();
    let folder = crate_folder.join("src/types");
    for file in generator.tree_files().unwrap() {
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
