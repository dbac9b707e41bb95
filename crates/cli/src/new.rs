//! `crossdock new`: a package with two nodes, a message type of its own and a graph, which builds
//! and runs.

use crate::arguments::NewArguments;
use crate::output::print_result;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The files of a package, with `@PACKAGE@`, `@BINARY@` and `@CROSSDOCK@` in names and contents.
const FILES: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("new/Cargo.toml.template")),
    ("build.rs", include_str!("new/build.rs.template")),
    ("src/main.rs", include_str!("new/main.rs.template")),
    ("interfaces/@PACKAGE@_msgs/msg/Greeting.msg", include_str!("new/Greeting.msg.template")),
    ("@PACKAGE@.graph.yaml", include_str!("new/graph.yaml.template")),
    ("processes.mapping.yaml", include_str!("new/processes.mapping.yaml.template")),
    ("README.md", include_str!("new/README.md.template")),
    (".gitignore", "/target\n"),
];

/// Folder with the sources that this command was built from.
const BUILT_FROM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Makes the folder of a package.
pub(crate) fn new(arguments: &NewArguments) -> Result<ExitCode> {
    let folder = &arguments.folder;
    let package = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if let Some(fault) = fault(package) {
        bail!("`{package}` is no package name: {fault}; a package is named like `my_robot`");
    }
    let sources = sources(arguments.crossdock.as_deref())?;
    let sources = sources.to_str().context("the path of Crossdock's sources is not UTF-8")?;
    // In TOML's basic strings these two are special.
    let sources = sources.replace('\\', "\\\\").replace('"', "\\\"");
    std::fs::create_dir(folder).with_context(|| {
        format!("{} cannot be made; name a folder that does not exist", folder.display())
    })?;
    let filled = |text: &str| {
        text.replace("@PACKAGE@", package)
            .replace("@BINARY@", &package.replace('_', "-"))
            .replace("@CROSSDOCK@", &sources)
    };
    for (name, template) in FILES {
        let path = folder.join(filled(name));
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, filled(template)))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    print_result(&format!(
        "{folder} holds a package with two nodes. To build and run it:\n\n    cd {folder}\n    cargo build \
         --release\n    crossdock run {package}.graph.yaml --package-path target/release\n",
        folder = folder.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What is wrong with the name of a package, which is part of names in Rust and in ROS.
fn fault(name: &str) -> Option<&'static str> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    if !name.starts_with(is_letter) {
        return Some("it must begin with a small letter");
    }
    if !name.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '_') {
        return Some("only small letters, digits and `_` may be in it");
    }
    // As in ROS 2.
    (name.contains("__") || name.ends_with('_'))
        .then_some("`_` must stand between letters or digits")
}

/// The absolute path of Crossdock's sources.
pub(crate) fn sources(named: Option<&Path>) -> Result<PathBuf> {
    let folder = named.unwrap_or(Path::new(BUILT_FROM));
    let found = folder.join("crates/executor/Cargo.toml").is_file();
    let absolute = folder.canonicalize().ok().filter(|_| found);
    absolute.with_context(|| match named {
        Some(folder) => format!(
            "--crossdock {}: no sources of Crossdock lie there; name the folder of a clone",
            folder.display()
        ),
        None => {
            "the sources that this command was built from are gone; name a clone with `--crossdock \
                 FOLDER`"
                .to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn names_of_packages_are_those_of_ros_2_and_of_rust() {
        for good in ["a", "my_robot", "x2"] {
            assert_eq!(fault(good), None, "{good}");
        }
        for bad in ["", "My", "2x", "my-robot", "a__b", "a_", "_a", "a b", "é"] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }
}
