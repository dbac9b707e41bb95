//! What the tests of the executor share: a package of small nodes, and how to run a graph of them
//! in the test's own process. Everything that happens is written to a log of the test's thread.

#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]

pub mod nodes;

use std::cell::RefCell;
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossdock_comm::{
    Access, Observer, ObserverOptions, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Quiescence, Rendezvous,
};
use crossdock_executor::{
    Executor, ExecutorOptions, Package, Remote, RunEnd, RunError, Statistics,
};
use crossdock_graph::{
    Graph, Mapping, Pacing, PackageDescriptions, Plan, ProcessPlan, RunOptions, Time, check,
};
use crossdock_msg::types::geometry_msgs::PointStamped;

/// How long connections may take to stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Simulated time as fast as it goes.
pub const SIMULATED: Time = Time::Simulated { pacing: Pacing::Max };

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes what a node does: in a launched process in the node's file in the test's folder, else in
/// this thread's log.
pub fn log(line: String) {
    if std::env::var_os("CROSSDOCK_CONTROL").is_none() {
        return LOG.with_borrow_mut(|log| log.push(line));
    }
    let folder = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR").expect("a folder"));
    let node = line.split(':').next().expect("a node");
    let path = folder.join(node).with_extension("log");
    let mut file = File::options().create(true).append(true).open(path).expect("a log file");
    // In one write: a process that is killed leaves a whole line or none, never one that the next
    // life of its node would end.
    file.write_all(format!("{line}\n").as_bytes()).expect("written");
}

/// Everything logged on this thread since the last call.
pub fn take_log() -> Vec<String> {
    LOG.take()
}

/// Stops an executor when the test is done with it, well or not.
pub struct Stop<'a>(pub &'a Remote);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops an executor if what it waits for has failed: the test ends with that failure and does not
/// hang.
pub struct StopOnPanic(pub Remote);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// The number of this thread.
pub fn this_thread() -> i32 {
    let path = std::fs::read_link("/proc/thread-self").expect("procfs");
    let id = path.file_name().and_then(|id| id.to_str()).and_then(|id| id.parse().ok());
    id.expect("a number")
}

/// Waits until a thread of this process sleeps, and gives how often it has done so.
pub fn asleep(thread: i32) -> u64 {
    let end = Instant::now() + Duration::from_secs(60);
    let path = |file: &str| format!("/proc/self/task/{thread}/{file}");
    let count = || {
        let status = std::fs::read_to_string(path("status")).expect("procfs");
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
        let words = line.expect("a counter").split_whitespace();
        words.last().and_then(|count| count.parse().ok()).expect("a number")
    };
    let (mut before, mut quiet) = (0, 0);
    while quiet < 20 {
        assert!(Instant::now() < end, "the executor does not come to rest");
        let stat = std::fs::read_to_string(path("stat")).expect("procfs");
        let sleeps = stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S"));
        let now = count();
        quiet = if sleeps && now == before { quiet + 1 } else { 0 };
        before = now;
        std::thread::yield_now();
    }
    before
}

/// A folder of this test's own, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xd-{test}-{}", std::process::id()));
        DirBuilder::new().mode(0o700).recursive(true).create(&path).expect("a folder");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What a node of a launched process logged.
    pub fn read(&self, node: &str) -> String {
        std::fs::read_to_string(self.0.join(node).with_extension("log")).expect("a log file")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The checked plan of a graph of test nodes.
pub fn checked(graph: &Graph, mapping: &Mapping, time: Time) -> Plan {
    checked_with(&nodes::package(), graph, mapping, time)
}

/// The checked plan of a graph of nodes of a package.
pub fn checked_with(package: &Package, graph: &Graph, mapping: &Mapping, time: Time) -> Plan {
    let descriptions = PackageDescriptions {
        binaries: vec![package.description()],
        ..PackageDescriptions::default()
    };
    let options = RunOptions { time, ..RunOptions::PLAIN };
    check(graph, mapping, &descriptions, &options).expect("a plan")
}

/// A process's plan, with what it needs to run here.
pub struct Process {
    pub folder: Folder,
    pub participant: Participant,
    pub plan: ProcessPlan,
    pub package: Package,
    pub statistics: Statistics,
    pub duration_ns: Option<u64>,
}

impl Process {
    pub fn new(test: &str, plan: Plan) -> Self {
        Self::with_package(test, plan, nodes::package())
    }

    pub fn with_package(test: &str, plan: Plan, package: Package) -> Self {
        let folder = Folder::new(test);
        let mut options = ParticipantOptions::new(0, test);
        options.rendezvous = Rendezvous::Folder(folder.path().to_owned());
        let participant = Participant::open(options).expect("a participant");
        let plan = plan.processes.into_iter().next().expect("a process");
        let statistics = Statistics::On;
        Self { folder, participant, plan, package, statistics, duration_ns: None }
    }

    /// Sees this process from outside.
    pub fn observer(&self) -> Observer {
        Observer::open(self.watching()).expect("an observer")
    }

    /// Tells when this process has nothing left to do.
    pub fn quiescence(&self) -> Quiescence {
        Quiescence::open(self.watching()).expect("an observer")
    }

    fn watching(&self) -> ObserverOptions {
        ObserverOptions {
            domain_id: 0,
            name: "observer".to_owned(),
            rendezvous: Rendezvous::Folder(self.folder.path().to_owned()),
            access: Access::SameUser,
        }
    }

    /// The executor of this index, made on this thread, connected.
    pub fn executor(&self, index: usize, remote: &Remote) -> Result<Executor, RunError> {
        self.executor_within(index, remote, CONNECT_TIMEOUT)
    }

    /// The same with another patience for connections.
    pub fn executor_within(
        &self,
        index: usize,
        remote: &Remote,
        patience: Duration,
    ) -> Result<Executor, RunError> {
        let mut executor = Executor::new(ExecutorOptions {
            participant: &self.participant,
            package: &self.package,
            plan: &self.plan.executors[index],
            duration_ns: self.duration_ns,
            time: self.plan.time,
            chains: &self.plan.chains,
            statistics: self.statistics,
            remote: remote.clone(),
        })?;
        executor.connect(patience)?;
        Ok(executor)
    }
}

/// Runs a graph on this thread until one of its nodes asks for the end or fails, and gives what
/// its nodes logged.
pub fn run(test: &str, graph: &str, mode: &str, time: Time) -> Result<Vec<String>, RunError> {
    Prepared::new(test, graph, mode, time).finish_after(&[], || ())
}

/// All nodes of a graph in one executor, which is to run on this thread.
pub struct Prepared {
    process: Process,
}

impl Prepared {
    pub fn new(test: &str, graph: &str, mode: &str, time: Time) -> Self {
        take_log();
        let graph = format!("crossdock: 1\nname: {test}\n{graph}");
        let graph = Graph::from_yaml("test.graph.yaml", graph.as_bytes()).expect("a graph");
        let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
        let nodes = names.join(", ");
        let executor = format!("{{ mode: {mode}, nodes: [{nodes}] }}");
        let mapping =
            format!("crossdock: 1\nprocesses: {{ main: {{ executors: [ {executor} ] }} }}\n");
        let mapping = Mapping::from_yaml("test.mapping.yaml", mapping.as_bytes());
        let plan = checked(&graph, &mapping.expect("a mapping"), time);
        Self { process: Process::new(test, plan) }
    }

    /// A process of one executor.
    pub fn of(process: Process) -> Self {
        Self { process }
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    /// A publisher outside the executor.
    pub fn publisher(&self, topic: &str) -> Publisher<PointStamped> {
        let options = PublisherOptions {
            node: "outside",
            topic,
            qos: Qos::reliable(16, CONNECT_TIMEOUT),
            max_bytes: None,
            group: None,
        };
        self.process.participant.publisher(options).expect("a publisher")
    }

    /// Connects, waits until these publishers have a subscriber, publishes, and runs until the end.
    pub fn finish_after(
        self,
        publishers: &[&Publisher<PointStamped>],
        publish: impl FnOnce(),
    ) -> Result<Vec<String>, RunError> {
        let mut executor = self.process.executor(0, &Remote::new())?;
        let connected = || publishers.iter().all(|publisher| publisher.matched() > 0);
        assert!(self.process.participant.wait_until(CONNECT_TIMEOUT, connected));
        publish();
        match executor.run()? {
            RunEnd::Finished { .. } => Ok(take_log()),
            RunEnd::Stopped | RunEnd::AtRest => panic!("nobody stopped this executor"),
            RunEnd::NodeDropped(error) => panic!("{error}"),
        }
    }
}
