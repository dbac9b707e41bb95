//! A private Python environment with ROS 2's own tools for interfaces, and numpy.

use std::path::{Path, PathBuf};
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
    crossdock_test_support::NUMPY,
];

/// The interpreter; without it the test is skipped by name.
pub(crate) fn environment() -> Option<PathBuf> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("msg-python-env");
    let made = MADE.get_or_init(|| crossdock_test_support::python(&folder, PACKAGES));
    if let Err(why) = made {
        crossdock_test_support::skip(why);
    }
    made.clone().ok()
}
