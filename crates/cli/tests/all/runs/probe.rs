//! Nodes for the tests of runs, and how a test starts `crossdock` on a graph of them. The test's
//! own program is the package binary.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "each test uses a part of it"
)]

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crossdock_comm::{
    Access, GraphSnapshot, Observer, ObserverOptions, Participant, ParticipantOptions, Publisher,
    Rendezvous, Subscriber,
};
use crossdock_executor::{
    Context, Logger, Node, NodeDescription, NodeError, NodeType, Package, Setup, log_info,
};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::PointStamped;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longer than anything takes: what waits for so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Publishes numbers from 1 on with stamps of as many seconds; prints a line for each where asked.
struct Source {
    out: Publisher<PointStamped>,
    prints: bool,
    next: f64,
}

impl NodeType for Source {
    const NAME: &'static str = "source";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(10))
            .publisher::<PointStamped>("out")
            .parameter("prints", false, "whether it prints what it publishes")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (out, prints) = (setup.publisher("out")?, setup.parameter("prints")?);
        Ok(Self { out, prints, next: 1.0 })
    }
}

impl Node for Source {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let mut loan = self.out.loan(Extra::none())?;
        loan.message().header().stamp().set_sec(self.next as i32);
        loan.message().point().set_x(self.next);
        loan.publish()?;
        if self.prints {
            println!("source: {}", self.next);
            eprintln!("source on standard error: {}", self.next);
        }
        self.next += 1.0;
        Ok(())
    }
}

/// Hands on what it takes; its predicate panics at one number.
struct Relay {
    input: Subscriber<PointStamped>,
    out: Option<Publisher<PointStamped>>,
    panics_at: f64,
}

impl NodeType for Relay {
    const NAME: &'static str = "relay";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<PointStamped>("out")
            .optional()
            .predicate("calm", "It is not the number at which it panics.")
            .parameter("panics_at", 0.0, "number at which its predicate panics")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let panics_at = setup.parameter("panics_at")?;
        Ok(Self {
            input: setup.subscriber("in")?,
            out: setup.optional_publisher("out")?,
            panics_at,
        })
    }
}

impl Node for Relay {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.input.take()? else { return Ok(()) };
        let Some(out) = &self.out else { return Ok(()) };
        let mut loan = out.loan(Extra::none())?;
        loan.message().header().stamp().set_sec(sample.message().header().stamp().sec());
        loan.message().point().set_x(sample.message().point().x());
        loan.publish()?;
        Ok(())
    }

    fn holds(&self, _: &str) -> Result<bool, NodeError> {
        let first = self.input.waiting().first().map(|message| message.point().x());
        assert_ne!(first, Some(self.panics_at), "cannot stand this number");
        Ok(true)
    }
}

/// Takes messages of one stamp.
struct Join {
    a: Subscriber<PointStamped>,
    b: Subscriber<PointStamped>,
}

impl NodeType for Join {
    const NAME: &'static str = "join";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<PointStamped>("a").subscriber::<PointStamped>("b")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { a: setup.subscriber("a")?, b: setup.subscriber("b")? })
    }
}

impl Node for Join {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let (a, b) = (self.a.take()?, self.b.take()?);
        let x = |sample: Option<crossdock_comm::Sample<PointStamped>>| {
            sample.map(|sample| sample.message().point().x())
        };
        match (x(a), x(b)) {
            (Some(a), Some(b)) if a == b => Ok(()),
            other => Err(NodeError::new(format!("{other:?} have been joined"))),
        }
    }
}

/// A type of a user's own package, which is not shipped.
mod block {
    include!("../../../../msg/tests/user/block.rs");
}

/// Prints what it takes of that type.
struct Teller {
    input: Subscriber<block::Thing>,
}

impl NodeType for Teller {
    const NAME: &'static str = "teller";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<block::Thing>("in")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")? })
    }
}

impl Node for Teller {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.input.take()? else { return Ok(()) };
        println!("taken: {} {}", sample.message().a(), sample.message().b());
        Ok(())
    }
}

/// Logs a line at each tick.
struct Clerk(Logger);

impl NodeType for Clerk {
    const NAME: &'static str = "clerk";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("tick", Duration::from_millis(50))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self(setup.logger()?))
    }
}

impl Node for Clerk {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        log_info!(self.0, "a line");
        Ok(())
    }
}

pub fn package() -> Package {
    let package = Package::new("probe").node::<Source>().node::<Relay>().node::<Join>();
    package.node::<Teller>().node::<Clerk>()
}

/// What the program of a test does when it is launched as a package: ends the process, so that the
/// test runner's own words about it do not appear. What it says first goes nowhere.
pub fn be_package(package: Package) -> ! {
    let output = std::fs::File::options().write(true).open("/proc/self/fd/3").expect("a pipe");
    rustix::stdio::dup2_stdout(output).expect("standard output");
    std::process::exit(i32::from(package.main().is_err()));
}

/// The same where a test starts it by hand with these words.
pub fn run_alone(words: impl Iterator<Item = String>) -> ! {
    let output = std::fs::File::options().write(true).open("/proc/self/fd/3").expect("a pipe");
    rustix::stdio::dup2_stdout(output).expect("standard output");
    let ran = package().main_with(words);
    if let Err(error) = &ran {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(ran.is_err()));
}

/// A folder of one test: its rendezvous, its files, its package binary.
pub struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

impl Place {
    /// `crossdock-probe` there is this test's own program, with these words behind its own.
    pub fn new(test: &str, environment: &str) -> Self {
        let place = Self::without_package(test);
        place.package("probe", "runs::package_binary", environment);
        place
    }

    /// A folder with a rendezvous and nothing else.
    pub fn without_package(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xd-run-{test}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("runtime")).expect("a folder");
        Self(folder)
    }

    /// Makes this test's own program a package binary, which runs `test`.
    pub fn package(&self, package: &str, test: &str, environment: &str) {
        let own = std::env::current_exe().expect("this test's own file");
        let script = format!(
            "#!/bin/sh\n{environment}\nexec {} {test} --exact --nocapture --test-threads=1 --quiet \
             3>&1 >/dev/null\n",
            own.display()
        );
        let program = self.file(&format!("crossdock-{package}"));
        std::fs::write(&program, script).expect("a script");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("its mode");
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    pub fn written(&self, name: &str, content: &str) -> String {
        std::fs::write(self.file(name), content).expect("a file");
        self.text(name)
    }

    pub fn runtime(&self) -> PathBuf {
        self.0.join("runtime")
    }

    /// Where processes meet.
    pub fn rendezvous(&self) -> PathBuf {
        self.runtime().join("crossdock")
    }

    /// The sockets under which they meet, in domain 0.
    pub fn names(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.rendezvous().join("0")).expect("the domain's folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    /// A process beside the graph, that belongs to no run.
    pub fn outsider(&self, name: &str) -> Participant {
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(self.rendezvous()),
            ..ParticipantOptions::new(0, name)
        };
        Participant::open(options).expect("a participant")
    }

    /// `crossdock run GRAPH ARGUMENTS`, its output on pipes.
    pub fn run(&self, graph: &str, arguments: &[&str]) -> Command {
        let graph = self.written("graph.yaml", &format!("crossdock: 1\nname: probed\n{graph}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
        command.args(["run", &graph]).args(arguments);
        self.prepare(&mut command);
        command
    }

    /// Where a command meets the others of the test.
    pub fn prepare(&self, command: &mut Command) {
        command
            .env("XDG_RUNTIME_DIR", self.runtime())
            .env("CROSSDOCK_PACKAGE_PATH", &self.0)
            .env_remove("ROS_DOMAIN_ID")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// A mapping with a process for each of these lists of nodes, with more to say of each.
    pub fn mapping(&self, processes: &[(&str, &str, &str)]) -> String {
        let mut text = "crossdock: 1\nprocesses:\n".to_owned();
        for (name, nodes, more) in processes {
            text += &format!(
                "  {name}: {{ {more} executors: [ {{ mode: chain, nodes: [{nodes}] }} ] }}\n"
            );
        }
        self.written("mapping.yaml", &text)
    }
}

/// A `crossdock` that ends with the test.
pub struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How one ended.
pub struct Ended {
    pub code: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Ended {
    /// The closing table.
    pub fn summary(&self) -> Value {
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.output, self.errors))
    }

    pub fn notes(&self) -> String {
        self.summary()["notes"].to_string()
    }
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        Self(Some(command.spawn().expect("crossdock starts")))
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it runs")
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().expect("it runs").id()
    }

    pub fn signal(&self, signal: Signal) {
        send(self.id(), signal);
    }

    /// Whether it has ended. It is not waited for.
    pub fn has_ended(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with(['Z', 'X']))
    }

    /// The processes of nodes.
    pub fn nodes(&self) -> Vec<u32> {
        let id = self.id();
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("its threads");
        let mut children: Vec<u32> = Vec::new();
        for task in tasks.flatten() {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            children.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        let is_node = |pid: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            !name.starts_with("crossdock-keep")
        };
        children.retain(is_node);
        children
    }

    /// Waits for the end, and no longer than [`PATIENCE`].
    pub fn end(mut self) -> Ended {
        let (stdout, stderr) = (self.child().stdout.take(), self.child().stderr.take());
        let output = std::thread::spawn(move || read(stdout));
        let errors = std::thread::spawn(move || read(stderr));
        until("the end of the run", || self.has_ended());
        let mut child = self.0.take().expect("it runs");
        let code = child.wait().expect("its end").code();
        let output = output.join().expect("what it says");
        Ended { code, output, errors: errors.join().expect("what it says") }
    }
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).expect("what it writes");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process id");
    kill_process(pid, signal).expect("a signal");
}

/// What the processes show that meet in this folder; `None` if they cannot be asked.
pub fn look(folder: &Path) -> Option<GraphSnapshot> {
    let options = ObserverOptions {
        domain_id: 0,
        name: "looking".to_owned(),
        rendezvous: Rendezvous::Folder(folder.to_owned()),
        access: Access::SameUser,
    };
    Observer::open(options).and_then(|mut observer| observer.snapshot()).ok()
}

/// Looks again until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Stops a process and waits until all its threads stand.
pub fn stop(pid: u32) {
    send(pid, Signal::STOP);
    until("a process that stands still", || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
        let stats = tasks.flatten().map(|it| std::fs::read_to_string(it.path().join("stat")));
        stats.flatten().all(|stat| stat.rsplit(") ").next().is_some_and(|it| it.starts_with('T')))
    });
}

/// Bytes of a file.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |it| it.len())
}
