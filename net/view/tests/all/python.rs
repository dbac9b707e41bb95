//! A private Python environment with what others have written for Foxglove's protocol, ROS's
//! encoding, and browsers.

use crossdock_test_support::{ROSBAGS, python};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Pinned, with what they need: WebSockets, and a browser.
const PACKAGES: &[&str] = &["websockets==17.4", "playwright==1.65.2", "greenlet==3.5.6"];

/// Runs a script of this folder and reads the JSON that it prints. `None`: there is no environment,
/// and the test is skipped by name.
pub(crate) fn run(script: &str, arguments: &[&str]) -> Option<serde_json::Value> {
    let output = command(script, arguments)?.stderr(Stdio::piped()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}\n{errors}", output.status);
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// A script of this folder with its output on a pipe. `None`: as [`run`].
pub(crate) fn command(script: &str, arguments: &[&str]) -> Option<Command> {
    let mut command = Command::new(environment()?);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all").join(script));
    command.args(arguments).stdout(Stdio::piped());
    Some(command)
}

/// The interpreter.
fn environment() -> Option<PathBuf> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let made = MADE.get_or_init(|| python(&folder, &[ROSBAGS, PACKAGES].concat()));
    if let Err(why) = made {
        crossdock_test_support::skip(why);
    }
    made.clone().ok()
}
