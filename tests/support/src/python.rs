//! Private Python environments with what others have written, for tests that compare with it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Arrays of numbers; the one that all environments have.
pub const NUMPY: &str = "numpy==2.4.6";

/// Messages of ROS 2 from definitions and CDR, as others have written it; pinned, with what it
/// needs.
pub const ROSBAGS: &[&str] = &[
    "rosbags==0.11.9",
    NUMPY,
    "lz4==4.4.5",
    "ruamel.yaml==0.19.1",
    "backports.zstd==1.8.0",
    "apsw==3.54.1.0",
    "typing_extensions==4.16.0",
];

/// The interpreter of an environment in this folder that has these packages, pinned, with what they
/// need; it is made if it is not there. Make it once per process.
///
/// # Errors
/// Why it cannot be made. Each test that needs it is skipped for that reason ([`crate::skip`]).
pub fn python(folder: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let (stamp, wanted) = (folder.join("installed"), packages.join(" "));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    // What is there is of other packages.
    let _ = std::fs::remove_dir_all(folder);
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))
        .map_err(|why| format!("no Python environment could be made: {why}"))?;
    // A short time-out, because a machine without network must not wait long.
    let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--timeout", "15"];
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install"]).args(options).args(["--retries", "1"]).args(packages);
    run(&mut install).map_err(|why| format!("Python packages could not be installed: {why}"))?;
    std::fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let why = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(why.lines().last().unwrap_or_default().to_owned()),
    }
}
