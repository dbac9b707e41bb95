//! Runs a shipped graph in this process, each of its processes with a participant of its own, and
//! gives what the scheduler has published. Two test programs use it: `cpu_gpu` and `deaths`.

use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use crossdock_cpu_gpu::messages::cpu_gpu_interfaces::Run as Message;
use crossdock_cpu_gpu::nodes;
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, RunEnd, RunError, Setup, Statistics, Subscriber,
};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, Plan, RunOptions, check};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// The first launch of a kernel may take a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// One run, as it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) right: bool,
    pub(crate) fault: String,
    pub(crate) native_ns: [u64; 2],
    pub(crate) copied_bytes: u64,
    pub(crate) host_instances: u32,
    pub(crate) device_instances: u32,
    pub(crate) in_place: bool,
}

/// What has been heard; one graph runs at a time.
static HEARD: Mutex<Vec<Run>> = Mutex::new(Vec::new());
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Hears of runs.
struct Sink {
    run: Subscriber<Message>,
}

impl NodeType for Sink {
    const NAME: &'static str = "sink";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<Message>("run")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { run: setup.subscriber("run")? })
    }
}

impl Node for Sink {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.run.take()? else { return Ok(()) };
        let run = sample.message();
        HEARD.lock().expect("no panic").push(Run {
            right: run.right(),
            fault: run.fault()?.string_lossy(),
            native_ns: [run.native_paper_ns(), run.native_best_ns()],
            copied_bytes: run.copied_bytes(),
            host_instances: run.host_instances(),
            device_instances: run.device_instances(),
            in_place: run.in_place(),
        });
        Ok(())
    }
}

/// A file that is shipped.
pub(crate) fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(path).expect("the file is shipped")
}

/// The shipped node types, and the sink.
pub(crate) fn package() -> Package {
    nodes::package().with(tests())
}

/// The node types of tests.
pub(crate) fn tests() -> Package {
    Package::new("cpu_gpu_tests").node::<Sink>()
}

/// A shipped graph, changed.
pub(crate) struct Case<'a> {
    /// Its file.
    pub(crate) graph: &'a str,
    /// Lines of parameters (`node: { .. }`).
    pub(crate) parameters: &'a [(&'a str, String)],
    /// The nodes of each executor, by process.
    pub(crate) processes: &'a [&'a [&'a str]],
    /// The device of the nodes whose names begin with `gpu_`; empty: none, they are on processors.
    pub(crate) device: &'a str,
    /// How a shared array gets there, as the mapping says it.
    pub(crate) model: &'a str,
    /// What there is beside the shipped node types.
    pub(crate) package: fn() -> Package,
    /// Any other change of the graph's text.
    pub(crate) change: &'a dyn Fn(String) -> String,
}

/// A shipped graph with these lines of parameters (`node: { .. }`), mapped so: the nodes of each
/// executor, by process. Gives what its runs were. A shared array gets to the device as suits that.
pub(crate) fn run(
    graph: &str,
    parameters: &[(&str, String)],
    processes: &[&[&str]],
    device: &str,
) -> Result<Vec<Run>, RunError> {
    run_by(graph, parameters, processes, (device, "auto"))
}

/// The same with a model of the mapping's for a shared array.
pub(crate) fn run_by(
    graph: &str,
    parameters: &[(&str, String)],
    processes: &[&[&str]],
    (device, model): (&str, &str),
) -> Result<Vec<Run>, RunError> {
    let change = |text| text;
    Case { graph, parameters, processes, device, model, package, change: &change }.run()
}

impl Case<'_> {
    /// Runs it in this process. Gives what its runs were.
    pub(crate) fn run(&self) -> Result<Vec<Run>, RunError> {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("xd-cpu-gpu-{}", std::process::id()));
        HEARD.lock().expect("no panic").clear();
        self.run_here(&folder, |_| true)?;
        Ok(std::mem::take(&mut *HEARD.lock().expect("no panic")))
    }

    /// Runs those of its processes that `is_here` names, and meets the others in `folder`, which it
    /// removes.
    pub(crate) fn run_here(
        &self,
        folder: &Path,
        is_here: impl Fn(&str) -> bool,
    ) -> Result<(), RunError> {
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(folder).expect("a folder");
        let end = execute(&self.plan(), self.package, folder, is_here);
        let _ = std::fs::remove_dir_all(folder);
        end
    }

    fn plan(&self) -> Plan {
        let mut text = file(self.graph);
        for (node, said) in self.parameters {
            let at = text.find(&format!("  {node}:\n")).expect("the graph has the node");
            let place = at
                + text[at..].find("parameters: { ").expect("it has some")
                + "parameters: { ".len();
            text.insert_str(place, &format!("{said}, "));
        }
        // The first run shall begin at once.
        text = text.replace(
            "    type: scheduler\n",
            "    type: scheduler\n    timers: { look: { period_ms: 5 } }\n",
        );
        text += "  sink: { package: cpu_gpu_tests, type: sink, inputs: { run: /run } }\n";
        text = (self.change)(text);
        let graph = Graph::from_yaml(self.graph, text.as_bytes())
            .unwrap_or_else(|it| panic!("{it:#?}\n{text}"));
        let mut mapping = "crossdock: 1\nprocesses:\n".to_owned();
        for (number, executors) in self.processes.iter().enumerate() {
            let executors: Vec<String> = executors
                .iter()
                .map(|nodes| format!("{{ mode: event, nodes: [{nodes}] }}"))
                .collect();
            mapping += &format!("  p{number}: {{ executors: [{}] }}\n", executors.join(", "));
        }
        let names = graph.nodes.iter().map(|node| node.name.as_str());
        let on_device: Vec<&str> = names.filter(|it| it.starts_with("gpu_")).collect();
        if !self.device.is_empty() {
            let (device, nodes, model) = (self.device, on_device.join(", "), self.model);
            let asked_by = if graph.name.ends_with("service") { "/work" } else { "/turn" };
            mapping += &format!(
                "devices: {{ gpu: {{ device: \"{device}\", nodes: [{nodes}], topics: {{ {asked_by}: {model} }} }} }}\n"
            );
        }
        let mapping = Mapping::from_yaml("mapping", mapping.as_bytes()).expect("a mapping");
        let binaries = vec![(self.package)().description()];
        let interfaces = PackageDescriptions { binaries, ..PackageDescriptions::default() };
        let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN);
        plan.unwrap_or_else(|violations| panic!("{violations:#?}"))
    }
}

/// Runs all executors of a plan that are here, each in a thread, until one of them has finished or
/// failed.
fn execute(
    plan: &Plan,
    package: fn() -> Package,
    folder: &Path,
    is_here: impl Fn(&str) -> bool,
) -> Result<(), RunError> {
    let here: Vec<_> = plan.processes.iter().filter(|process| is_here(&process.name)).collect();
    let participants: Vec<Participant> = here
        .iter()
        .map(|process| {
            let mut options = ParticipantOptions::new(0, &process.name);
            options.rendezvous = Rendezvous::Folder(folder.to_owned());
            Participant::open(options).expect("a participant")
        })
        .collect();
    let executors: Vec<_> = (here.iter().zip(&participants))
        .flat_map(|(process, participant)| {
            process.executors.iter().map(move |executor| (process, participant, executor))
        })
        .collect();
    let remotes: Vec<Remote> = executors.iter().map(|_| Remote::new()).collect();
    let ends: Vec<Result<RunEnd, RunError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (executors.iter().zip(&remotes))
            .map(|(&(process, participant, plan), remote)| {
                let remotes = &remotes;
                scope.spawn(move || {
                    let executor = Executor::new(ExecutorOptions {
                        participant,
                        package: &package(),
                        plan,
                        time: process.time,
                        duration_ns: None,
                        chains: &[],
                        statistics: Statistics::On,
                        remote: remote.clone(),
                    });
                    let executor = executor.and_then(|mut it| it.connect(PATIENCE).map(|()| it));
                    let end = executor.and_then(|mut executor| {
                        let end = executor.run();
                        remotes.iter().for_each(Remote::stop);
                        end
                    });
                    if end.is_err() {
                        remotes.iter().for_each(Remote::stop);
                    }
                    end
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    drop(participants);
    // A process that could not connect was stopped: the first one that failed says why.
    ends.into_iter().find_map(Result::err).map_or(Ok(()), Err)
}
