//! A private Python environment with ROS 2's own tools for interfaces, and numpy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Pinned, with what they need.
const PACKAGES: &[&str] = &[
    "ros-rosidl-generator-type-description==4.9.5",
    "ros-rosidl-adapter==4.9.5",
    "ros-rosidl-parser==4.9.5",
    "ros-rosidl-cli==4.9.5",
    "ros-ament-index-python==1.11.0",
    "empy==4.2.1",
    "lark-parser==0.12.0",
    "numpy==2.4.6",
];

/// The interpreter; without it the test is skipped by name.
pub(crate) fn environment() -> Option<PathBuf> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("msg-python-env");
    let made = MADE.get_or_init(|| make(&folder));
    if let Err(why) = made {
        crossdock_test_support::skip(why);
    }
    made.clone().ok()
}

fn make(folder: &Path) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let (stamp, wanted) = (folder.join("installed"), PACKAGES.join(" "));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let _ = std::fs::remove_dir_all(folder);
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))
        .map_err(|why| format!("no Python environment could be made: {why}"))?;
    // A short time-out, because a machine without network must not wait long.
    let options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--timeout", "15"];
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install"]).args(options).args(["--retries", "1"]).args(PACKAGES);
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
