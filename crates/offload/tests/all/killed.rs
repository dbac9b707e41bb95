//! Processes of the tests that are killed: this program again, in a role.

use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use crossdock_executor::{Executor, ExecutorOptions, Package, Remote, Statistics};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, check};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ROLE: &str = "CROSSDOCK_TEST_ROLE";
const PLACE: &str = "CROSSDOCK_TEST_PLACE";

/// What this process is to be, and where it meets the others; `None`: it is the test.
pub(crate) fn role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, std::env::var_os(PLACE).expect("a place").into()))
}

/// A folder where processes of a test meet.
pub(crate) fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("xd-kills-{name}-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&place).expect("a folder");
    place
}

pub(crate) fn participant(name: &str, place: &Path) -> Participant {
    let options = ParticipantOptions::new(0, name);
    let rendezvous = Rendezvous::Folder(place.to_owned());
    Participant::open(ParticipantOptions { rendezvous, ..options }).expect("a participant")
}

/// Runs one process of a graph until it is killed or its parent is gone.
pub(crate) fn run(name: &str, place: &Path, (graph, mapping): (&str, &str), package: &Package) {
    let graph = Graph::from_yaml("graph", graph.as_bytes()).expect("a graph");
    let mapping = Mapping::from_yaml("mapping", mapping.as_bytes()).expect("a mapping");
    let interfaces = PackageDescriptions {
        binaries: vec![package.description()],
        ..PackageDescriptions::default()
    };
    let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).expect("a plan");
    let process = plan.processes.iter().find(|process| process.name == name).expect("a process");
    let participant = participant(name, place);
    let remote = Remote::new();
    let watched = remote.clone();
    // The end of this process's input is the end of the parent.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        watched.stop();
    });
    let executor = Executor::new(ExecutorOptions {
        participant: &participant,
        package,
        plan: &process.executors[0],
        time: process.time,
        duration_ns: None,
        chains: &[],
        statistics: Statistics::On,
        remote,
    });
    executor.expect("an executor").run().expect("the others' deaths are no failure here");
}

fn command(test: &str, role: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(PLACE, place);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command
}

/// One of them, killed when dropped.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(test: &str, role: &str, place: &Path) -> Running {
        Running::spawn(&mut command(test, role, place))
    }

    /// With one more variable of the environment.
    pub(crate) fn start_with(
        test: &str,
        role: &str,
        place: &Path,
        variable: (&str, &str),
    ) -> Running {
        Running::spawn(command(test, role, place).env(variable.0, variable.1))
    }

    fn spawn(command: &mut Command) -> Running {
        Running(command.spawn().expect("it starts"))
    }

    /// It ends by itself and without a failure.
    pub(crate) fn succeed(mut self) {
        let status = self.0.wait().expect("a child");
        assert!(status.success(), "{status}");
    }

    /// SIGKILL; it must not have ended by itself.
    pub(crate) fn kill(&mut self) {
        assert_eq!(self.0.try_wait().expect("a child"), None, "it ended by itself");
        self.0.kill().expect("killed");
        self.0.wait().expect("reaped");
    }

    /// Descriptors that it has open.
    pub(crate) fn open(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.0.id()));
        open.expect("descriptors").count()
    }

    /// Memory objects that it has mapped.
    pub(crate) fn mapped(&self) -> usize {
        self.mapped_as("")
    }

    /// Those whose names begin so.
    pub(crate) fn mapped_as(&self, name: &str) -> usize {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.0.id()));
        let name = format!("/memfd:crossdock:{name}");
        maps.expect("maps").lines().filter(|line| line.contains(&name)).count()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
