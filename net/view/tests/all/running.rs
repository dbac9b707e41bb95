//! A graph of the product and a view of it, as a user starts them. The product's binaries are those
//! that `make net-test` builds, or those in the folder that `CROSSDOCK_BINARIES` names.

use crossdock_comm::Rendezvous;
use crossdock_suite::{Running, until};
use crossdock_test_support::workspace;
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The closed course, one process per node: its topics are on rings.
pub(crate) const ON_RINGS: [&str; 3] =
    ["apps/autorace/course.graph.yaml", "--mapping", "apps/autorace/course.processes.mapping.yaml"];

/// The closed course in one chain: its topics are on no ring.
pub(crate) const IN_A_CHAIN: [&str; 1] = ["apps/autorace/course.graph.yaml"];

fn binaries() -> PathBuf {
    let named = std::env::var_os("CROSSDOCK_BINARIES").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| workspace().join("target/debug"));
    assert!(
        folder.join("crossdock-autorace").is_file(),
        "{} has no crossdock-autorace: run `cargo build` in the clone",
        folder.display()
    );
    folder
}

/// A scratch folder with a rendezvous of its own, so that tests do not meet each other.
pub(crate) struct Domain {
    folder: PathBuf,
}

impl Domain {
    pub(crate) fn new(test: &str) -> Self {
        static DOMAINS: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), DOMAINS.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(format!("crossdock-view-{test}-{process}-{number}"));
        std::fs::create_dir_all(folder.join("runtime")).unwrap();
        Self { folder }
    }

    fn at_home(&self, mut command: Command) -> Command {
        command
            .current_dir(workspace())
            .env("XDG_RUNTIME_DIR", self.folder.join("runtime"))
            .env("CROSSDOCK_PACKAGE_PATH", view_program().parent().unwrap())
            .env_remove("ROS_DOMAIN_ID")
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        command
    }

    /// A file in the scratch folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where a participant of the test meets the others.
    pub(crate) fn rendezvous(&self) -> Rendezvous {
        let runtime = self.folder.join("runtime");
        Rendezvous::of_variables(rustix::process::getuid().as_raw(), |name| {
            (name == "XDG_RUNTIME_DIR").then(|| runtime.clone().into())
        })
    }

    /// `crossdock ARGUMENTS`.
    pub(crate) fn crossdock(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binaries().join("crossdock"));
        command.args(arguments);
        self.at_home(command)
    }

    /// Rows of `crossdock topic list --json` for a topic.
    pub(crate) fn topic(&self, topic: &str) -> Value {
        let output = self.crossdock(&["topic", "list", "--json"]).output().unwrap();
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rows = rows.as_array().cloned().unwrap_or_default();
        rows.into_iter().find(|row| row["topic"] == topic).unwrap_or_default()
    }

    /// Whether messages of a topic have been published.
    pub(crate) fn is_published(&self, topic: &str) -> bool {
        self.topic(topic)["messages"].as_u64() > Some(0)
    }

    /// Starts `crossdock run ARGUMENTS`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Running {
        let mut command = self.crossdock(&["run"]);
        command.args(arguments);
        Running::spawn(command)
    }

    /// Starts `crossdock view`, and waits until it can be connected to. Gives its address, too.
    pub(crate) fn view(&self) -> (Running, String) {
        let port = free_port();
        let port_text = port.to_string();
        let view = self.crossdock(&["view", "--no-browser", "--port", &port_text]);
        let view = Running::spawn(view);
        let address = format!("127.0.0.1:{port}");
        until("the view listens", || TcpStream::connect(&address).is_ok());
        (view, address)
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A folder that cannot be removed is no reason to fail a test that has passed.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn view_program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_crossdock-view"))
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
