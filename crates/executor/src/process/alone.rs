//! A package binary that runs by itself, as `ros2 run` starts one: one node, without launcher,
//! graph file or mapping.
//!
//! The node's topics are called like its ports, below its namespace, unless `--ros-args` remaps
//! them. A thread of the process takes the launcher's part on the control socket, so that a node
//! lives by the same protocol here as in a run. What the user should know goes to standard error.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write as _};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use crossdock_graph::limits;
use crossdock_graph::{
    Graph, LogLevel, Mapping, NodeTypeDescription, PackageDescriptions, ParameterArgument, Plan,
    ProcessPlan, RosArguments, RosParameters, RunOptions, Violation, check, logger_name,
};
use rustix::process::Signal;

use crate::node::package::Package;
use crate::node::shown::Shown;
use crate::process::event::ProcessEvent;
use crate::process::node_process::{PackageError, Process};
use crate::process::protocol::{Report, Request};
use crate::process::socket::{ControlError, ControlSocket, Received, readable};
use crate::run::outcome::RunError;
use crate::run::panics;

/// The variable with the ROS domain id, as in ROS 2.
const DOMAIN_VARIABLE: &str = "ROS_DOMAIN_ID";

/// A binary that is started with this variable, whatever its value, ends with its standard input: a
/// pipe whose other end the starting program keeps. So it does not outlive one that was killed.
pub const LIFELINE_VARIABLE: &str = "CROSSDOCK_LIFELINE";

/// Bytes of a file that are read: more than its format allows.
const FILE_BYTES_MAX: u64 = 2 << 20;

/// Runs the node of this command line until a signal comes or the node ends.
pub(crate) fn run(
    package: &Package,
    words: impl IntoIterator<Item = String>,
) -> Result<(), PackageError> {
    let (ros, words) = RosArguments::taken_from(words).map_err(|error| alone(error.to_string()))?;
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return print(&usage(package));
    }
    let (package_name, description) = chosen(package, &words)?;
    let (plan, warnings) = planned(package, &package_name, &description, &ros)?;
    for word in &ros.without_effect {
        say(&format!("warning: --ros-args: {word} has no effect here"));
    }
    warnings.iter().chain(&plan.warnings).for_each(|warning| say(&format!("warning: {warning}")));
    let [process]: [ProcessPlan; 1] =
        plan.processes.try_into().map_err(|_| alone("the node has no process".to_owned()))?;
    live(package, process)
}

pub(super) fn alone(sentence: String) -> PackageError {
    PackageError::Alone { sentence }
}

/// What is wrong with a file or the command line, a sentence a line. What a sentence quotes begins
/// none: it has a margin of its own.
pub(super) fn refused(violations: Vec<Violation>) -> PackageError {
    let lines: Vec<String> = violations.iter().map(|it| Shown::new(it).to_string()).collect();
    alone(lines.join("\n"))
}

/// Ends a package binary that has commands of its own beside its nodes: prints what the command has
/// found, or says what was wrong behind the name of the program. That nobody reads it is no error.
pub fn end_program(program: &str, outcome: Result<String, PackageError>) -> ExitCode {
    match outcome.and_then(|found| print(&found)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // As in `say`; the error has its margins already.
            let _ = writeln!(std::io::stderr(), "{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints to standard output. Its reader may have gone.
fn print(text: &str) -> Result<(), PackageError> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(alone(format!(
            "standard output cannot be written: {error}; send it elsewhere, or make room there"
        ))),
        _ => Ok(()),
    }
}

fn say(line: &str) {
    // Nobody is left to hear that it could not be said.
    let _ = writeln!(std::io::stderr(), "{}", Shown::new(line));
}

/// The node type that the words name; a package with one needs no word.
fn chosen(
    package: &Package,
    words: &[String],
) -> Result<(String, NodeTypeDescription), PackageError> {
    let all = package.description().packages.into_iter();
    let mut all: Vec<(String, NodeTypeDescription)> =
        all.flat_map(|it| it.nodes.into_iter().map(move |node| (it.name.clone(), node))).collect();
    let place = match words {
        [] if all.len() == 1 => Some(0),
        [word] => all.iter().position(|(_, node)| node.node_type == *word),
        _ => None,
    };
    match place {
        Some(place) => Ok(all.swap_remove(place)),
        None => {
            let named = match words {
                [] => "name a node type".to_owned(),
                [word] => format!("there is no node type `{}`", shown(word)),
                [_, word, ..] => format!("`{}` is one word too many", shown(word)),
            };
            Err(alone(format!("{named}\n{}", usage(package))))
        }
    }
}

fn shown(word: &str) -> String {
    word.chars().take(60).filter(|c| !c.is_control()).collect()
}

fn usage(package: &Package) -> String {
    let (name, program) = (package.name(), package.program());
    let mut text = format!(
        "This program holds the nodes of package `{name}`. `crossdock run GRAPH` runs graphs of \
         them.\nOne node by itself:\n  {program} NODE_TYPE [--ros-args -r FROM:=TO \
         -r __ns:=/NAMESPACE -r __node:=NAME\n    -p NAME:=VALUE --params-file FILE --log-level \
         LEVEL --enclave NAME]\nNode types:\n"
    );
    for package in package.description().packages {
        for node in package.nodes {
            let doc = node.doc.lines().next().unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {:<24} {doc}", node.node_type);
        }
    }
    let commands: Vec<String> = package.set_ups().map(|it| it.usage(&program)).collect();
    if !commands.is_empty() {
        text.push_str("Sources of its hardware, for other values than the package file's:\n");
    }
    text.extend(commands);
    text
}

/// The plan of one node, checked like the plan of a graph.
fn planned(
    package: &Package,
    package_name: &str,
    description: &NodeTypeDescription,
    ros: &RosArguments,
) -> Result<(Plan, Vec<Violation>), PackageError> {
    let text = graph_text(package_name, description);
    let graph = Graph::from_yaml("", text.as_bytes()).map_err(refused)?;
    let (graph, _, mut warnings) = graph.remapped(&ros.remaps).map_err(refused)?;
    let mut parameters = Vec::new();
    for source in &ros.parameters {
        parameters.push(match source {
            ParameterArgument::Rule(text) => RosParameters::from_rule(text).map_err(refused)?,
            ParameterArgument::File(name) => {
                RosParameters::from_yaml(name, &read("parameter", name)?).map_err(refused)?
            }
        });
    }
    let descriptions = PackageDescriptions {
        binaries: vec![package.description()],
        ..PackageDescriptions::default()
    };
    let (graph, unused) = graph.with_ros_parameters(&parameters, &descriptions);
    warnings.extend(unused);
    let mapping = Mapping::one_chain_per_package(&graph);
    let options = RunOptions { domain_id: domain_id()?, ..RunOptions::PLAIN };
    let mut plan = check(&graph, &mapping, &descriptions, &options).map_err(refused)?;
    let level = level(&graph.nodes[0].name, &ros.log_levels);
    let executors = plan.processes.iter_mut().flat_map(|process| &mut process.executors);
    for node in executors.flat_map(|it| &mut it.nodes) {
        node.log_level = level;
        node.enclave.clone_from(&ros.enclave);
    }
    Ok((plan, warnings))
}

/// The graph of one node: each port is on a topic or service of its name, which others may have,
/// too. Of two ports of one name, what the node gives is private to it.
fn graph_text(package: &str, description: &NodeTypeDescription) -> String {
    let node_type = &description.node_type;
    let inputs: Vec<&str> = description.inputs.iter().map(|it| it.port.as_str()).collect();
    let clients: Vec<&str> = description.clients.iter().map(|it| it.port.as_str()).collect();
    let outputs: Vec<&str> = description.outputs.iter().map(|it| it.port.as_str()).collect();
    let servers: Vec<&str> = description.servers.iter().map(|it| it.port.as_str()).collect();
    let table = |ports: &[&str], others: &[&str]| {
        let name = |port: &str| match others.contains(&port) {
            true => format!("{port}: ~/{port}"),
            false => format!("{port}: {port}"),
        };
        ports.iter().map(|port| name(port)).collect::<Vec<_>>().join(", ")
    };
    let external = |ports: &[&str]| {
        let ports: Vec<String> =
            ports.iter().map(|port| format!("{port}: {{ external: true }}")).collect();
        ports.join(", ")
    };
    format!(
        "crossdock: 1\nname: {package}\ntopics: {{ {} }}\nservices: {{ {} }}\nnodes:\n  \
         {node_type}:\n    package: {package}\n    type: {node_type}\n    inputs: {{ {} }}\n    \
         outputs: {{ {} }}\n    clients: {{ {} }}\n    servers: {{ {} }}\n",
        external(&inputs),
        external(&clients),
        table(&inputs, &[]),
        table(&outputs, &inputs),
        table(&clients, &[]),
        table(&servers, &clients),
    )
}

/// The content of a file that a word of the command line names, `what` kind it is.
pub(super) fn read(what: &str, name: &str) -> Result<Vec<u8>, PackageError> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(name)
        .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let name = shown(name);
            Err(alone(format!("the {what} file {name} cannot be read: {error}; check its name")))
        }
    }
}

/// The domain; a variable that is set and empty means 0, as in ROS 2.
fn domain_id() -> Result<u32, PackageError> {
    let text = std::env::var_os(DOMAIN_VARIABLE).unwrap_or_default();
    text.to_str().and_then(limits::domain_id).ok_or_else(|| {
        let max = limits::DOMAIN_ID_MAX;
        alone(format!("{DOMAIN_VARIABLE} is no number of a domain; set it to 0 to {max}"))
    })
}

/// The level of the node's log: the last one that is for it.
fn level(node: &str, levels: &[(Option<String>, LogLevel)]) -> LogLevel {
    let mut level = LogLevel::default();
    for (named, wanted) in levels {
        match named {
            Some(named) if logger_name(named) != logger_name(node) => {
                let named = shown(named);
                say(&format!("warning: --log-level {named}:=...: the node is `{node}`"));
            }
            _ => level = *wanted,
        }
    }
    level
}

/// Runs the process of the node, and a thread that takes the launcher's part.
fn live(package: &Package, plan: ProcessPlan) -> Result<(), PackageError> {
    panics::keep();
    let (ours, theirs) = ControlSocket::pair()?;
    let theirs = ControlSocket::adopt(theirs)?;
    let (heard, signals) = UnixStream::pair().map_err(ControlError::Socket)?;
    heard.set_nonblocking(true).map_err(ControlError::Socket)?;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let signals = signals.try_clone().map_err(ControlError::Socket)?;
        signal_hook::low_level::pipe::register(signal.as_raw(), signals)
            .map_err(ControlError::Socket)?;
    }
    let launcher = thread::Builder::new()
        .name("alone".to_owned())
        .spawn(move || lead(ours, &heard))
        .map_err(ControlError::Socket)?;
    let ran = Process::new(package.clone(), plan, None, theirs)?.run();
    // It ends with its socket.
    let led = launcher.join().unwrap_or_else(|_| Err(alone("the process has panicked".to_owned())));
    led.and(ran)
}

/// The launcher's part: lets the node begin, tells what it reports, ends it if a signal comes.
fn lead(mut socket: ControlSocket, signals: &UnixStream) -> Result<(), PackageError> {
    let mut failure = None;
    let mut lifeline = std::env::var_os(LIFELINE_VARIABLE).map(|_| std::io::stdin());
    loop {
        let lines = lifeline.iter().map(AsFd::as_fd);
        let heard: Vec<_> = [socket.as_fd(), signals.as_fd()].into_iter().chain(lines).collect();
        readable(&heard, None)?;
        let mut bytes = [0; 16];
        // Nothing is ever written to the lifeline: what can be read there is its end.
        if let Some(line) = &lifeline
            && readable(&[line.as_fd()], Some(Instant::now()))?
        {
            lifeline = None;
            ask(&socket, &Request::Stop)?;
        }
        let mut stream = signals;
        // The other end is not closed before the process ends.
        if stream.read(&mut bytes).is_ok() {
            ask(&socket, &Request::Stop)?;
        }
        match socket.receive::<Report>(Some(Duration::ZERO))? {
            Received::Nothing | Received::Frame(Report::Speaks(_) | Report::Description(_)) => {}
            Received::Closed | Received::Frame(Report::Stopped) => break,
            Received::Frame(Report::Event(event)) => match event {
                ProcessEvent::Ready => ask(&socket, &Request::Start { made_ns: 0 })?,
                ProcessEvent::Finished { reason } => {
                    say(&format!("the node has ended the run: {reason}"));
                    ask(&socket, &Request::Stop)?;
                }
                ProcessEvent::Failed { node, error, .. } => {
                    failure.get_or_insert(RunError { node, error }.to_string());
                    ask(&socket, &Request::Stop)?;
                }
                ProcessEvent::NodeDropped { node, error } => {
                    say(&format!("node `{node}` was taken out: {error}"));
                }
                ProcessEvent::Backtrace(text) | ProcessEvent::Warning(text) => say(&text),
                // Nobody asks for rest here.
                ProcessEvent::AtRest => {}
                ProcessEvent::Exited(_) => break,
            },
        }
    }
    failure.map_or(Ok(()), |failure| Err(alone(failure)))
}

/// Asks the process for something. One that is gone is found by the end of the socket.
fn ask(socket: &ControlSocket, request: &Request) -> Result<(), PackageError> {
    match socket.send(request) {
        Ok(()) | Err(ControlError::Closed) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::context::Context;
    use crate::node::description::NodeDescription;
    use crate::node::error::NodeError;
    use crate::node::node_type::{Node, NodeType};
    use crate::node::setup::Setup;

    struct Plain<const IS_SECOND: bool>;

    impl<const IS_SECOND: bool> NodeType for Plain<IS_SECOND> {
        const NAME: &'static str = if IS_SECOND { "second" } else { "first" };

        fn description() -> NodeDescription {
            NodeDescription::new()
        }

        fn create(_: &mut Setup<'_>) -> Result<Self, NodeError> {
            Ok(Self)
        }
    }

    impl<const IS_SECOND: bool> Node for Plain<IS_SECOND> {
        fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
            Ok(())
        }
    }

    #[test]
    fn a_package_with_one_node_type_needs_no_word_and_others_exactly_one() {
        let one = Package::new("plain").node::<Plain<false>>();
        let two = one.clone().node::<Plain<true>>();
        let chosen = |package: &Package, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            match chosen(package, &words) {
                Ok((package, node)) => format!("{package}/{}", node.node_type),
                Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
            }
        };
        assert_eq!(chosen(&one, &[]), "plain/first");
        assert_eq!(chosen(&one, &["first"]), "plain/first");
        assert_eq!(chosen(&two, &["second"]), "plain/second");
        assert_eq!(chosen(&two, &[]), "name a node type");
        assert_eq!(chosen(&two, &["th\tird"]), "there is no node type `third`");
        assert_eq!(chosen(&two, &["first", "second"]), "`second` is one word too many");
    }

    #[test]
    fn the_last_level_that_is_for_the_node_counts() {
        let level = |words: &[(Option<&str>, LogLevel)]| {
            let levels: Vec<_> =
                words.iter().map(|(named, level)| (named.map(str::to_owned), *level)).collect();
            level("camera/left", &levels)
        };
        let own = Some("camera.left");
        assert_eq!(level(&[]), LogLevel::Info);
        assert_eq!(level(&[(None, LogLevel::Debug)]), LogLevel::Debug);
        assert_eq!(level(&[(own, LogLevel::Debug), (None, LogLevel::Error)]), LogLevel::Error);
        assert_eq!(level(&[(None, LogLevel::Error), (own, LogLevel::Debug)]), LogLevel::Debug);
        let other = (Some("camera.right"), LogLevel::Fatal);
        assert_eq!(level(&[(own, LogLevel::Warn), other]), LogLevel::Warn);
    }
}
