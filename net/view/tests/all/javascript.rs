//! A viewer in JavaScript, with what Foxglove's makers have written for their protocol.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The viewer, and the packages that it needs: pinned, with their hashes.
const FILES: [&str; 3] = ["viewer.js", "package.json", "package-lock.json"];

/// Nothing of a package is run that installs it, and nobody is told of what is installed.
const INSTALL: [&str; 5] =
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"];

/// Runs the viewer and reads the JSON that it prints. `None`: it cannot be made, and the test is
/// skipped by name.
pub(crate) fn run(arguments: &[&str]) -> Option<serde_json::Value> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = match MADE.get_or_init(made) {
        Ok(folder) => folder,
        Err(why) => {
            crossdock_test_support::skip(why);
            return None;
        }
    };
    let mut viewer = Command::new("node");
    let output = viewer.arg(folder.join(FILES[0])).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}\n{errors}", output.status);
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The folder with the viewer and its packages.
fn made() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("viewer");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/viewer");
    let (installed, lock) = (folder.join("installed"), source.join(FILES[2]));
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
    let (wanted, has) = (read(&lock)?, read(&installed).unwrap_or_default());
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for file in FILES {
        let copied = std::fs::copy(source.join(file), folder.join(file));
        copied.map_err(|error| format!("{file}: {error}"))?;
    }
    if has != wanted {
        let npm = Command::new("npm").args(INSTALL).current_dir(&folder).output();
        let output = npm.map_err(|error| format!("npm, which comes with Node.js: {error}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("npm: {}", why.lines().next().unwrap_or_default()));
        }
        std::fs::write(installed, wanted).map_err(|error| error.to_string())?;
    }
    Ok(folder)
}
