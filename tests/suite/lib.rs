//! What the tests of the whole share: the product's binaries, run as a user runs them.
//!
//! It must not use a library crate of the product: these tests know what a user knows.
#![forbid(unsafe_code)]

mod running;

pub use running::{Running, Terminal, children, settled, until};

use crossdock_test_support::workspace;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The folder with the product's binaries, built in the profile of the tests (once per process).
pub fn binaries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // A test runs from <target>/<profile>/deps.
        let test = std::env::current_exe().expect("the path of this test");
        let folder = test.ancestors().nth(2).expect("the folder of the profile").to_owned();
        let release = folder.file_name().is_some_and(|name| name == "release");
        // Examples bring the features that tests ask of dependencies. Without them these have
        // others and the whole product is compiled once more beside what the tests have compiled.
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--workspace", "--bins", "--examples"])
            .args(release.then_some("--release"))
            .arg("--target-dir")
            .arg(folder.parent().expect("the target folder"))
            .current_dir(workspace())
            .status()
            .expect("cargo runs");
        assert!(built.success(), "the binaries are built");
        folder
    })
}

/// Lets `cargo` under this command build a user's package beside the tests. Its dependencies have
/// other features than in the workspace, so what the tests have built is of no use to it: it is
/// built as fast as can be, once for all tests.
pub fn build_beside_tests(command: &mut Command) {
    command
        .env("CARGO_TARGET_DIR", binaries().parent().expect("the target folder"))
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_PROFILE_DEV_DEBUG", "none");
}

/// `crossdock` with a rendezvous folder of its own, so that tests do not meet each other.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
}

impl Run {
    /// An empty scratch folder for the test of this name, which also holds the rendezvous.
    #[must_use]
    pub fn new(test: &str) -> Self {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let (process, run) = (std::process::id(), RUNS.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(format!("crossdock-{test}-{process}-{run}"));
        let run = Self { folder };
        std::fs::create_dir_all(run.runtime()).expect("a scratch folder");
        run
    }

    /// A file in the scratch folder.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What `XDG_RUNTIME_DIR` is for the processes of the test: holds their rendezvous.
    #[must_use]
    pub fn runtime(&self) -> PathBuf {
        self.folder.join("runtime")
    }

    /// The sockets under which processes meet in a domain.
    ///
    /// # Panics
    /// No process has met there yet.
    #[must_use]
    pub fn names(&self, domain: u32) -> Vec<PathBuf> {
        let folder = self.runtime().join("crossdock").join(domain.to_string());
        let entries = std::fs::read_dir(folder).expect("the domain's folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    /// `crossdock ARGUMENTS`, to be started in the workspace root.
    #[must_use]
    pub fn crossdock(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binaries().join("crossdock"));
        command
            .args(arguments)
            .current_dir(workspace())
            .env("XDG_RUNTIME_DIR", self.runtime())
            .env_remove("ROS_DOMAIN_ID")
            .env_remove("CROSSDOCK_PACKAGE_PATH");
        command
    }

    /// Runs `crossdock ARGUMENTS` to its end.
    #[must_use]
    pub fn output(&self, arguments: &[&str]) -> Output {
        self.crossdock(arguments).output().expect("crossdock starts")
    }

    /// Starts `crossdock ARGUMENTS`, with its output and errors on pipes.
    #[must_use]
    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.crossdock(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::spawn(command)
    }

    /// Messages published on a topic so far, as an observer counts them; 0 while there is no topic.
    #[must_use]
    pub fn published(&self, topic: &str) -> u64 {
        let output = self.output(&["topic", "list", "--json"]);
        let list = serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap_or_default();
        let rows = list.as_array().cloned().unwrap_or_default();
        let row = rows.iter().find(|row| row["topic"] == topic);
        row.and_then(|row| row["messages"].as_u64()).unwrap_or(0)
    }

    /// Runs `crossdock ARGUMENTS`, which must succeed, and reads its standard output as JSON.
    #[must_use]
    pub fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let output = self.output(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "crossdock {arguments:?}: {}\n{errors}", output.status);
        serde_json::from_slice(&output.stdout).expect("JSON on standard output")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A folder that cannot be removed is no reason to fail a test that has passed.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
