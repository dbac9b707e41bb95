//! Nodes in processes of their own: the control protocol, the same nodes in other mappings, the
//! end of the launcher, idleness, replay. This test binary is also the package binary that it
//! launches.

mod lockstep;
mod quoting;
mod replaying;
mod standing;
pub(crate) mod time_set;
use crate::support;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crossdock_comm::status_records::kind;
use crossdock_comm::{Access, Observer, ObserverOptions, Rendezvous, Uploader};
use crossdock_executor::launch::{LaunchedProcess, ProcessEvent, ProcessOutput, SpawnOptions};
use crossdock_executor::status::{node_counter, running};
use crossdock_executor::{Package, UploadSite, Uploaders};
use crossdock_graph::{
    Chain, CopyModel, DeviceUpload, ExecutorPlan, Graph, ManagedTopic, Mapping, Plan, Time,
};
use crossdock_test_support::skip;
use support::{Folder, checked};

/// How long a process may take for anything that a test waits for.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

/// How long a test looks at one process before it looks at the others.
const SLICE: Duration = Duration::from_millis(50);

/// Not a test of its own: what this binary does when a test launches it as a package.
#[test]
fn package_binary() {
    if std::env::var_os("CROSSDOCK_CONTROL").is_some() {
        // Ends here, so that the test runner's own words about this process do not appear.
        std::process::exit(i32::from(package().main().is_err()));
    }
}

/// The nodes of this binary.
pub(crate) fn package() -> Package {
    time_set::package().node::<quoting::Quoting>().uploaders(&NoDevices)
}

/// Has no device to open.
#[derive(Debug)]
struct NoDevices;

impl Uploaders for NoDevices {
    fn open(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String> {
        match site.plan.device.as_str() {
            "host:0" => Ok(None),
            _ => Err(format!("{} sees no device", site.node)),
        }
    }
}

/// How this binary is launched as a package.
fn own_binary(folder: &Path) -> SpawnOptions {
    let words =
        ["processes::package_binary", "--exact", "--nocapture", "--test-threads=1", "--quiet"];
    SpawnOptions {
        program: std::env::current_exe().expect("this test's own file"),
        arguments: words.map(OsString::from).to_vec(),
        environment: vec![("XDG_RUNTIME_DIR".into(), folder.into())],
    }
}

fn spawn(folder: &Path) -> LaunchedProcess {
    LaunchedProcess::spawn(&own_binary(folder)).expect("launched")
}

/// The next event but what the environment may ask for beside it.
fn event(process: &mut LaunchedProcess) -> ProcessEvent {
    loop {
        match process.event(PATIENCE).expect("the control protocol").expect("an event in time") {
            ProcessEvent::Backtrace(_) => {}
            event => return event,
        }
    }
}

/// The next event of this process; whatever happens to another one before is a fault.
fn event_of(processes: &mut [LaunchedProcess], wanted: usize) -> ProcessEvent {
    let deadline = Instant::now() + PATIENCE.expect("an end");
    while Instant::now() < deadline {
        for (place, process) in processes.iter_mut().enumerate() {
            let looked = if place == wanted { SLICE } else { Duration::ZERO };
            match process.event(Some(looked)).expect("the control protocol") {
                None | Some(ProcessEvent::Backtrace(_)) => {}
                Some(event) if place == wanted => return event,
                Some(other) => panic!("process {place} of the plan: {other:?}"),
            }
        }
    }
    panic!("process {wanted} of the plan says nothing")
}

/// Launches and starts a process for each part of a plan, as soon as all are ready.
fn start(plan: &Plan, folder: &Folder) -> Vec<LaunchedProcess> {
    let mut processes: Vec<_> = plan.processes.iter().map(|_| spawn(folder.path())).collect();
    for (process, plan) in processes.iter_mut().zip(&plan.processes) {
        process.launch(plan).expect("sent");
    }
    for process in &mut processes {
        assert_eq!(event(process), ProcessEvent::Ready);
    }
    // Those last that begin something by themselves, as the launcher of a run does it.
    for sources in [false, true] {
        for (process, plan) in processes.iter_mut().zip(&plan.processes) {
            if plan.executors.iter().any(ExecutorPlan::has_timers) == sources {
                process.start().expect("sent");
            }
        }
    }
    processes
}

/// Stops processes and checks that they end well.
fn stop(mut processes: Vec<LaunchedProcess>) {
    for process in &mut processes {
        process.stop().expect("sent");
    }
    for process in &mut processes {
        match event(process) {
            ProcessEvent::Exited(status) => assert!(status.success(), "{status}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_package_started_by_hand_says_how_it_is_started() {
    let error = support::nodes::package().main_with([]).expect_err("it has several node types");
    let sentence = "name a node type\n    This program holds the nodes of package `probe`.";
    assert!(error.to_string().starts_with(sentence), "{error}");
    assert!(error.to_string().contains("crossdock-probe NODE_TYPE [--ros-args"), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
}

/// The words that a user has started this binary with.
const WORDS: &str = "XD_TEST_WORDS";

/// Not a test of its own: what this binary does when a test starts it as a user starts a package.
#[test]
fn package_by_hand() {
    if let Ok(words) = std::env::var(WORDS) {
        let ended = package().main_with(words.split(' ').map(str::to_owned));
        if let Err(error) = &ended {
            eprintln!("{error}");
        }
        std::process::exit(i32::from(ended.is_err()));
    }
}

/// Whether a package that a user starts with these words in this domain ends well, and what it
/// says.
fn by_hand(folder: &Folder, words: &str, domain: &str) -> (bool, String) {
    let ran = Command::new(std::env::current_exe().expect("this test's own file"))
        .args(["processes::package_by_hand", "--exact", "--nocapture", "--test-threads=1"])
        .env(WORDS, words)
        .env("XDG_RUNTIME_DIR", folder.path())
        .env("ROS_DOMAIN_ID", domain)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    (ran.status.success(), String::from_utf8(ran.stderr).expect("text"))
}

#[test]
fn a_node_started_by_hand_has_its_parameters_from_a_file_and_its_domain_from_the_environment() {
    let folder = Folder::new("by_hand");
    let file = folder.path().join("parameters.yaml");
    std::fs::write(&file, "source:\n  ros__parameters:\n    count: 3\n").expect("written");
    let words = format!("source --ros-args --params-file {}", file.display());
    let (ended_well, said) = by_hand(&folder, &words, "7");
    assert!(ended_well && said.contains("the node has ended the run: 3 numbers"), "{said}");
    assert!(folder.path().join("crossdock").join("7").exists(), "its domain");
    let (ended_well, said) = by_hand(&folder, &format!("{words}.not"), "7");
    assert!(!ended_well && said.contains("parameters.yaml.not cannot be read"), "{said}");
    let (ended_well, said) = by_hand(&folder, &words, "seven");
    assert!(!ended_well && said.contains("ROS_DOMAIN_ID is no number of a domain"), "{said}");
}

#[test]
fn a_process_that_is_killed_tells_its_signal_and_its_output_ends() {
    let folder = Folder::new("kill");
    let options = own_binary(folder.path());
    let mut process =
        LaunchedProcess::spawn_with(&options, ProcessOutput::Piped).expect("launched");
    let output = process.take_output().expect("pipes");
    assert!(process.take_output().is_none(), "they are somebody's");
    process.kill();
    match event(&mut process) {
        ProcessEvent::Exited(status) => assert_eq!(status.signal(), Some(9)),
        other => panic!("{other:?}"),
    }
    for pipe in [output.stdout, output.stderr] {
        let mut said = Vec::new();
        File::from(pipe).read_to_end(&mut said).expect("the end");
    }
}

#[test]
fn why_no_driver_moves_messages_and_nothing_uploads_them_are_warnings() {
    let text = b"crossdock: 1
name: unmanaged
nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { finish: false } }
";
    let graph = Graph::from_yaml("unmanaged", text).expect("a graph");
    let mut plan = checked(&graph, &Mapping::one_chain_per_package(&graph), Time::Wall);
    let (name, device) = ("/a".to_owned(), "cuda:0".to_owned());
    let node = &mut plan.processes[0].executors[0].nodes[0];
    node.managed.push(ManagedTopic { name, device, tokens: false });
    for (topic, device, tokens) in
        [("/a", "cuda:1", false), ("/a", "host:0", false), ("/a", "cuda:2", true)]
    {
        node.uploads.push(DeviceUpload {
            topic: topic.to_owned(),
            device: device.to_owned(),
            model: CopyModel::Auto,
            executors: 2,
            executors_here: 2,
            tokens,
        });
    }
    let folder = Folder::new("unmanaged");
    let mut process = spawn(folder.path());
    process.launch(&plan.processes[0]).expect("sent");
    let warning = "node `source`: its messages on `/a` do not lie in memory that cuda:0 moves, and \
                   are copied to it: the uploaders of its package make none";
    assert_eq!(event(&mut process), ProcessEvent::Warning(warning.to_owned()));
    let warning = "node `source`: `/a` is not uploaded to cuda:1, so each executor that reads it \
                   there copies it: source sees no device";
    assert_eq!(event(&mut process), ProcessEvent::Warning(warning.to_owned()));
    assert_eq!(event(&mut process), ProcessEvent::Ready);
    stop(vec![process]);
}

#[test]
fn the_processor_time_of_a_process_is_known_when_it_has_exited() {
    // Until it has used 50 ms: fields 14 and 15 are user and system time in ticks of 10 ms.
    let script = "until [ $((u + s)) -ge 5 ]; do read -r stat < /proc/$$/stat; set -- ${stat#*) }; \
                  shift 11; u=$1 s=$2; done";
    let mut process = LaunchedProcess::spawn(&SpawnOptions {
        program: "/bin/sh".into(),
        arguments: ["-c", script].map(OsString::from).to_vec(),
        environment: Vec::new(),
    })
    .expect("a shell");
    assert_eq!(process.processor_ns(), 0);
    match event(&mut process) {
        ProcessEvent::Exited(status) => assert!(status.success(), "{status}"),
        other => panic!("{other:?}"),
    }
    assert!(process.processor_ns() >= 50_000_000, "{}", process.processor_ns());
    assert_eq!(process.processor_ns() % 10_000_000, 0);
}

#[test]
fn a_large_plan_reaches_the_process_whole() {
    let folder = Folder::new("large");
    let graph = witness();
    let mut plan = checked(&graph, &Mapping::one_chain_per_package(&graph), Time::Wall);
    let chains = &mut plan.processes[0].chains;
    for number in 0..20_000 {
        chains.push(Chain {
            name: format!("chain_{number}"),
            from: format!("/from/{number}"),
            to: format!("/to/{number}"),
            max_latency: None,
        });
    }
    stop(start(&plan, &folder));
}

/// A graph of one node without ports.
fn witness() -> Graph {
    let text = b"crossdock: 1\nname: one\nnodes:\n  witness: { package: probe, type: witness }\n";
    Graph::from_yaml("witness", text).expect("a graph")
}

/// A graph whose nodes all write down what they see.
fn diamond() -> Graph {
    let text = b"crossdock: 1
name: diamond
nodes:
  source: { package: probe, type: source, outputs: { out: /a },
            parameters: { count: 50, finish: false } }
  left: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b },
          parameters: { add: 0.5 } }
  right: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /c } }
  join: { package: probe, type: join, inputs: { a: /b, b: /c },
          condition: { all_of: [a, b], same: stamp }, parameters: { finish_at: 50.5 } }
";
    Graph::from_yaml("diamond", text).expect("a graph")
}

#[test]
fn one_chain_and_a_process_for_each_node_give_the_same_payloads() {
    let graph = diamond();
    let logs = [Mapping::one_chain_per_package(&graph), Mapping::one_process_per_node(&graph)];
    let logs = logs.map(|mapping| {
        let plan = checked(&graph, &mapping, Time::Wall);
        let folder = Folder::new(&format!("same_{}", plan.processes.len()));
        let mut processes = start(&plan, &folder);
        let finisher = processes.last_mut().expect("a process");
        let finished = ProcessEvent::Finished { reason: "50.5 has come".to_owned() };
        assert_eq!(event(finisher), finished);
        stop(processes);
        ["left", "right", "join"].map(|node| folder.read(node))
    });
    assert_eq!(logs[0], logs[1]);
    let lines = logs[0].each_ref().map(|log| log.lines().count());
    assert_eq!(lines, [50, 50, 50]);
}

#[test]
fn a_closed_loop_in_lockstep_runs_the_same_in_one_chain_and_in_several_processes() {
    let graph = Graph::from_yaml(
        "loop",
        b"crossdock: 1
name: loop
nodes:
  simulator: { package: probe, type: simulator, inputs: { command: /command },
               outputs: { out: /image }, lockstep: { timer: step, command: command },
               parameters: { steps: 200 } }
  first: { package: probe, type: relay, inputs: { in: /image }, outputs: { out: /lane },
           parameters: { add: 0.25 } }
  second: { package: probe, type: relay, inputs: { in: /lane }, outputs: { out: /command },
            parameters: { add: 0.5 } }
",
    )
    .expect("a graph");
    let logs = [Mapping::one_chain_per_package(&graph), Mapping::one_process_per_node(&graph)];
    let logs = logs.map(|mapping| {
        let plan = checked(&graph, &mapping, support::SIMULATED);
        let folder = Folder::new(&format!("loop_{}", plan.processes.len()));
        let mut processes = start(&plan, &folder);
        let finished = ProcessEvent::Finished { reason: "200 steps".to_owned() };
        assert_eq!(event(&mut processes[0]), finished);
        stop(processes);
        ["simulator", "first", "second"].map(|node| folder.read(node))
    });
    assert_eq!(logs[0], logs[1]);
    assert!(logs[0][0].ends_with("simulator:201 after Some(200.75)\n"), "{}", logs[0][0]);
}

#[test]
fn a_failing_node_is_reported_and_ends_its_process() {
    let graph = Graph::from_yaml(
        "failing",
        b"crossdock: 1
name: failing
nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 1000000 } }
  faulty: { package: probe, type: faulty, inputs: { in: /a }, parameters: { at: 3 } }
",
    )
    .expect("a graph");
    let plan = checked(&graph, &Mapping::one_process_per_node(&graph), Time::Wall);
    let folder = Folder::new("failing_process");
    let mut processes = start(&plan, &folder);
    match event(&mut processes[1]) {
        ProcessEvent::Failed { node, error, .. } => {
            assert_eq!(node, "faulty");
            assert!(error.ends_with("it failed: does not like Some(3.0)"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // Until it is stopped the process shows what it has done.
    let mut observer = observer(&folder);
    let seen = observer.snapshot().expect("the status tables").processes;
    let records = seen.iter().filter(|it| it.pid == processes[1].id()).flat_map(|it| &it.others);
    let mut nodes = records.filter(|it| it.kind == kind::NODE);
    let executions = nodes.next().map(|it| it.counters[node_counter::EXECUTIONS]);
    assert_eq!(executions, Some(3));
    stop(processes);
}

#[test]
fn a_panic_in_a_process_is_reported_with_its_place() {
    let text = b"crossdock: 1
name: panicking
nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { finish: false } }
  faulty: { package: probe, type: faulty, inputs: { in: /a }, parameters: { panics: true } }
";
    let graph = Graph::from_yaml("panicking", text).expect("a graph");
    let plan = checked(&graph, &Mapping::one_chain_per_package(&graph), Time::Wall);
    let folder = Folder::new("panicking_process");
    let mut processes = start(&plan, &folder);
    match event(&mut processes[0]) {
        ProcessEvent::Failed { node, error, .. } => {
            assert_eq!(node, "faulty");
            let place = error.split("it panicked at ").nth(1).unwrap_or_default();
            assert!(place.contains("nodes.rs:"), "{error}");
            assert!(place.ends_with(": cannot bear Some(1.0)"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    stop(processes);
}

#[test]
fn a_process_whose_launcher_is_gone_ends_cleanly() {
    let graph = witness();
    let plan = checked(&graph, &Mapping::one_chain_per_package(&graph), Time::Wall);
    let folder = Folder::new("orphan");
    let processes = start(&plan, &folder);
    let id = processes[0].id();
    drop(processes);
    assert!(!Path::new(&format!("/proc/{id}")).exists());
    assert_eq!(folder.read("witness"), "witness:dropped\n");
}

#[test]
fn a_node_that_never_returns_is_named_and_left_behind() {
    let planned = |parameters: &str| {
        let text = format!(
            "crossdock: 1\nname: stuck\nnodes:\n  stuck: {{ package: probe, type: stuck{parameters} }}\n"
        );
        let graph = Graph::from_yaml("stuck", text.as_bytes()).expect("a graph");
        checked(&graph, &Mapping::one_chain_per_package(&graph), Time::Wall)
    };
    // From its execution, and from being made.
    let folders = [Folder::new("stuck"), Folder::new("stuck_made")];
    let mut processes = start(&planned(""), &folders[0]);
    let mut process = spawn(folders[1].path());
    process.launch(&planned(", parameters: { made: false }").processes[0]).expect("sent");
    processes.push(process);
    for (process, folder) in processes.iter_mut().zip(&folders) {
        while !folder.path().join("stuck.log").exists() {
            std::thread::yield_now();
        }
        process.stop().expect("sent");
    }
    for mut process in processes {
        match event(&mut process) {
            ProcessEvent::Failed { node, error, .. } => {
                assert_eq!(node, "stuck");
                assert!(error.contains("did not return from its work within 10 s"), "{error}");
            }
            other => panic!("{other:?}"),
        }
        match event(&mut process) {
            ProcessEvent::Exited(status) => assert!(!status.success(), "{status}"),
            other => panic!("{other:?}"),
        }
    }
}

/// An observer of a test's processes, which has seen all that are there.
fn observer(folder: &Folder) -> Observer {
    let observer = Observer::open(ObserverOptions {
        domain_id: 0,
        name: "looking".to_owned(),
        rendezvous: Rendezvous::Folder(folder.path().join("crossdock")),
        access: Access::SameUser,
    });
    let mut observer = observer.expect("the domain");
    // One that is busy may not answer at the first time.
    let deadline = Instant::now() + PATIENCE.expect("an end");
    while !observer.refresh().expect("the status tables").is_empty() {
        assert!(Instant::now() < deadline, "a process does not answer");
    }
    observer
}

#[test]
fn the_board_of_a_killed_process_says_which_node_ran_on_what() {
    let graph = Graph::from_yaml(
        "stuck",
        b"crossdock: 1\nname: stuck\nnodes:\n  stuck: { package: probe, type: stuck }\n",
    )
    .expect("a graph");
    let plan = checked(&graph, &Mapping::one_chain_per_package(&graph), Time::Wall);
    let folder = Folder::new("killed");
    let mut processes = start(&plan, &folder);
    let observer = observer(&folder);
    while !folder.path().join("stuck.log").exists() {
        std::thread::yield_now();
    }
    let pid = processes[0].id();
    let signalled = rustix::process::Pid::from_raw(pid as i32).expect("a process id");
    rustix::process::kill_process(signalled, rustix::process::Signal::KILL).expect("a signal");
    match event(&mut processes[0]) {
        ProcessEvent::Exited(status) => assert!(!status.success(), "{status}"),
        other => panic!("{other:?}"),
    }
    let left =
        observer.status_tables().into_iter().find(|it| it.pid == pid).expect("its status table");
    let mut nodes = left.others.iter().filter(|it| it.kind == kind::NODE);
    let word = nodes.next().expect("the node").counters[node_counter::RUNNING];
    let node = &plan.processes[0].executors[0].nodes[0];
    assert_eq!(running(node, word).as_deref(), Some("timer `step`"));
    assert_eq!(running(node, 0), None);
    // What a broken process may have written is no reason to fail.
    assert!(running(node, u64::MAX).is_some() && running(node, 3 << 32 | 7).is_some());
}

/// The diamond with a node that fails or panics at its third message, and is taken out.
fn diamond_with_a_faulty_node(panics: bool) -> Graph {
    let graph = format!(
        "{}  faulty: {{ package: probe, type: faulty, inputs: {{ in: /a }}, on_failure: drop_node,
            parameters: {{ at: 3, panics: {panics} }} }}
",
        diamond().to_yaml()
    );
    Graph::from_yaml("faulty", graph.as_bytes()).expect("a graph")
}

#[test]
fn a_node_that_is_taken_out_changes_nothing_for_the_others() {
    let logs = |graph: &Graph, mapping: &Mapping, test: &str, drops: bool| {
        let plan = checked(graph, mapping, Time::Wall);
        let folder = Folder::new(test);
        let mut processes = start(&plan, &folder);
        let runs = |node: &str| {
            plan.processes.iter().position(|process| {
                let mut nodes = process.executors.iter().flat_map(|it| &it.nodes);
                nodes.any(|it| it.name == node)
            })
        };
        if let (true, Some(faulty)) = (drops, runs("faulty")) {
            match event_of(&mut processes, faulty) {
                ProcessEvent::NodeDropped { node, error } => {
                    assert_eq!(node, "faulty");
                    assert!(error.starts_with("released by the message on input `in`"), "{error}");
                }
                other => panic!("{other:?}"),
            }
        }
        let join = runs("join").expect("the join");
        let finished = ProcessEvent::Finished { reason: "50.5 has come".to_owned() };
        assert_eq!(event_of(&mut processes, join), finished);
        stop(processes);
        ["left", "right", "join"].map(|node| folder.read(node))
    };
    let without = diamond();
    let mapping = Mapping::one_chain_per_package(&without);
    let expected = logs(&without, &mapping, "without_faulty", false);
    for panics in [false, true] {
        let graph = diamond_with_a_faulty_node(panics);
        let mappings =
            [Mapping::one_chain_per_package(&graph), Mapping::one_process_per_node(&graph)];
        for mapping in mappings {
            let test = format!("faulty_{panics}_{}", mapping.processes.len());
            assert_eq!(logs(&graph, &mapping, &test, true), expected, "{test}");
        }
    }
}

/// The plan of one node with what its process asks of the computer.
fn claiming(process: &str, executor: &str) -> Plan {
    let graph = witness();
    let mapping = format!(
        "crossdock: 1
processes:
  main: {{ {process} executors: [ {{ mode: chain, nodes: [witness], {executor} }} ] }}
"
    );
    let mapping = Mapping::from_yaml("claiming", mapping.as_bytes()).expect("a mapping");
    checked(&graph, &mapping, Time::Wall)
}

/// Launches a process as root without rights, or as the user who runs the test.
fn spawn_without_rights(folder: &Path) -> LaunchedProcess {
    let drop = if rustix::process::geteuid().is_root() {
        "setpriv --bounding-set=-sys_nice,-ipc_lock"
    } else {
        ""
    };
    let options = own_binary(folder);
    let script = format!("ulimit -l 64 && ulimit -r 0 && exec {drop} \"$0\" \"$@\"");
    let script = [OsString::from("-c"), script.into(), options.program.into()];
    LaunchedProcess::spawn(&SpawnOptions {
        program: "/bin/bash".into(),
        arguments: script.into_iter().chain(options.arguments).collect(),
        environment: options.environment,
    })
    .expect("launched")
}

#[test]
fn what_the_computer_refuses_ends_the_start_or_is_a_warning_as_the_mapping_says() {
    let claims = [
        ("", "affinity: [1023]", "executor `main` asks for CPU 1023 (`affinity`), but"),
        ("", "priority: 70", "the line `:"),
        ("lock_memory: true,", "", "(RLIMIT_MEMLOCK) is 64 KiB"),
    ];
    for (index, (process, executor, sentence)) in claims.into_iter().enumerate() {
        let folder = Folder::new(&format!("refused_{index}"));
        let mut refused = spawn_without_rights(folder.path());
        refused.launch(&claiming(process, executor).processes[0]).expect("sent");
        match event(&mut refused) {
            ProcessEvent::Failed { node, error, .. } => {
                assert_eq!(node, "");
                assert!(error.contains(sentence), "{error}");
                assert!(error.contains("`realtime: preferred`"), "{error}");
            }
            ProcessEvent::Exited(status) if matches!(status.code(), Some(1 | 127)) => {
                return skip("setpriv is not there or cannot take rights away");
            }
            other => panic!("{other:?}"),
        }
        stop(vec![refused]);
        let mut goes_on = spawn_without_rights(folder.path());
        let process = format!("realtime: preferred, {process}");
        goes_on.launch(&claiming(&process, executor).processes[0]).expect("sent");
        match event(&mut goes_on) {
            ProcessEvent::Warning(text) => assert!(text.contains(sentence), "{text}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(event(&mut goes_on), ProcessEvent::Ready);
        goes_on.start().expect("sent");
        stop(vec![goes_on]);
    }
}

#[test]
fn an_executor_has_the_priority_and_the_cpus_that_the_mapping_says() {
    let folder = Folder::new("claimed");
    let cpus = rustix::thread::sched_getaffinity(None).expect("CPUs");
    let cpu = (0..1024).find(|cpu| cpus.is_set(*cpu)).expect("a CPU");
    let executor = format!("priority: 3, affinity: [{cpu}]");
    let mut process = spawn(folder.path());
    process.launch(&claiming("lock_memory: true,", &executor).processes[0]).expect("sent");
    match event(&mut process) {
        ProcessEvent::Ready => {}
        ProcessEvent::Failed { error, .. } => {
            stop(vec![process]);
            return skip(&error);
        }
        other => panic!("{other:?}"),
    }
    let tasks = format!("/proc/{}/task", process.id());
    let tasks = std::fs::read_dir(tasks).expect("threads").map(|it| it.expect("a thread").path());
    let read = |task: &Path, file: &str| std::fs::read_to_string(task.join(file)).expect("text");
    let own = tasks.into_iter().find(|task| {
        read(task, "comm").trim() == "main" && {
            // The main thread has the name of the program.
            !read(task, "status").contains(&format!("\nPid:\t{}\n", process.id()))
        }
    });
    let own = own.expect("the executor's thread");
    let status = read(&own, "status");
    assert!(status.contains(&format!("Cpus_allowed_list:\t{cpu}\n")), "{status}");
    assert!(!status.contains("VmLck:\t       0 kB"), "{status}");
    // Locked from the first use of a page on, so that what is only reserved costs nothing.
    let mappings = read(Path::new("/proc"), &format!("{}/smaps", process.id()));
    let mut flags = mappings.lines().filter(|line| line.starts_with("VmFlags:"));
    assert!(flags.any(|line| line.contains(" lo ") && line.contains(" lf")), "{mappings}");
    let stat = read(&own, "stat");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    // rt_priority and policy are fields 40 and 41, and `state` is field 3.
    let policy: u32 = fields[38].parse().expect("a policy");
    assert_eq!((fields[37], policy & 0xff), ("3", 1), "{stat}");
    stop(vec![process]);
}

#[test]
fn a_process_that_comes_to_rest_begins_nothing_new_and_serves_what_comes() {
    let graph = Graph::from_yaml(
        "rest",
        b"crossdock: 1
name: rest
nodes:
  source: { package: probe, type: source, outputs: { out: /a }, parameters: { count: 1000000 } }
  sink: { package: probe, type: relay, inputs: { in: /a } }
",
    )
    .expect("a graph");
    let plan = checked(&graph, &Mapping::one_process_per_node(&graph), Time::Wall);
    let folder = Folder::new("rest");
    let mut processes = start(&plan, &folder);
    while !folder.path().join("sink.log").exists() {
        std::thread::yield_now();
    }
    for process in &mut processes {
        process.drain().expect("sent");
    }
    for process in &mut processes {
        assert_eq!(event(process), ProcessEvent::AtRest);
    }
    let options = observer(&folder).options().clone();
    let mut quiescence = crossdock_comm::Quiescence::open(options).expect("the domain");
    assert!(quiescence.wait(Duration::from_secs(60)), "the source goes on");
    let seen = observer(&folder).snapshot().expect("the status tables").processes;
    let count = |process: &str, counter: usize| -> u64 {
        let status_table = seen.iter().find(|it| it.process == process).expect("a status table");
        let ports = status_table.publishers.iter().chain(&status_table.subscribers);
        ports.map(|port| port.counters[counter]).sum()
    };
    let published = count("source", crossdock_comm::status_records::counter::MESSAGES);
    let served = folder.read("sink").lines().count() as u64;
    assert_eq!(served, published);
    stop(processes);
}

/// The sockets by which the processes of a test meet.
fn sockets(folder: &Folder) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let domain = folder.path().join("crossdock").join("0");
    let entries = std::fs::read_dir(domain).expect("the domain's folder");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let sockets = entries.filter(|entry| entry.file_type().expect("a type").is_socket());
    sockets.map(|entry| entry.path()).collect()
}

#[test]
fn processes_that_end_well_leave_nothing_behind() {
    let graph = diamond();
    let plan = checked(&graph, &Mapping::one_process_per_node(&graph), Time::Wall);
    let folder = Folder::new("tidy");
    let processes = start(&plan, &folder);
    assert_eq!(sockets(&folder).len(), 4);
    stop(processes);
    assert_eq!(sockets(&folder), Vec::<PathBuf>::new());
}

/// Context switches of all threads of a process since it began.
fn context_switches(process: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let statuses = tasks.flatten().map(|task| {
        std::fs::read_to_string(task.path().join("status")).expect("a thread's status")
    });
    statuses
        .flat_map(|status| {
            let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
            lines
                .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok())
                .collect::<Vec<_>>()
        })
        .sum()
}

#[test]
fn an_idle_process_makes_no_context_switch_in_five_seconds() {
    let graph = Graph::from_yaml(
        "idle",
        b"crossdock: 1
name: idle
topics: { /a: { external: true } }
nodes:
  first: { package: probe, type: relay, inputs: { in: /a }, outputs: { out: /b } }
  second: { package: probe, type: relay, inputs: { in: /b } }
",
    )
    .expect("a graph");
    let plan = checked(&graph, &Mapping::one_process_per_node(&graph), Time::Wall);
    let folder = Folder::new("idle");
    let processes = start(&plan, &folder);
    let count = || processes.iter().map(|process| context_switches(process.id())).sum::<u64>();
    // The start has to come to rest first: 100 ms without a switch, tried for a minute.
    let rest = Duration::from_millis(100);
    let rested = (0..600).any(|_| {
        let before = count();
        std::thread::sleep(rest);
        count() == before
    });
    assert!(rested, "the processes do not come to rest");
    let before = count();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(count() - before, 0);
    stop(processes);
}
