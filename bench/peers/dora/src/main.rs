//! dora as its users have it: a dataflow file, which `dora run` runs, and a process for each node.
//! This program is three things: the child of `peers`, which starts dora and counts what it and all
//! nodes use; the nodes; and of these the head, which takes its commands over a socket.

use crossdock_bench::control::{ChildPlan, Control, Reply, Shape};
use crossdock_bench::failure::While;
use crossdock_bench::findings::report;
use crossdock_bench::machine::pin;
use crossdock_bench::nodes::part_name;
use crossdock_bench::payload::Payload;
use crossdock_bench::rounds::{self, Gate, now_ns};
use crossdock_bench::usage::Usage;
use crossdock_bench::{Failure, child, programs};
use dora_node_api::dora_core::config::DataId;
use dora_node_api::{DoraNode, Event, EventStream};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};

/// Tells a node its part.
const PLAN: &str = "CROSSDOCK_BENCH_NODE";
const POSITION: &str = "CROSSDOCK_BENCH_POSITION";
const OUT: &str = "out";

/// A node of the dataflow and the nodes that it takes from.
struct Member {
    name: String,
    from: Vec<String>,
    publishes: bool,
}

/// The first is the head.
fn members(shape: Shape) -> Vec<Member> {
    let member = |name: &str, from: &[String], publishes| Member {
        name: name.to_owned(),
        from: from.to_vec(),
        publishes,
    };
    let mut members = vec![member("head", &[], true)];
    let mut last = vec!["head".to_owned()];
    let mut add = |members: &mut Vec<Member>, name: &str, publishes| {
        members.push(member(name, &last, publishes));
        last = vec![name.to_owned()];
    };
    match shape {
        Shape::Chain(nodes) => {
            for index in 1..nodes - 1 {
                add(&mut members, &format!("relay-{index}"), true);
            }
            add(&mut members, "tail", false);
        }
        Shape::Fork(workers) => {
            add(&mut members, "source", true);
            let names: Vec<String> =
                (0..workers).map(|worker| part_name(worker).replace('_', "-")).collect();
            let source = ["source".to_owned()];
            members.extend(names.iter().map(|name| member(name, &source, true)));
            members.push(member("tail", &names, false));
        }
    }
    members
}

/// The dataflow file.
fn dataflow(plan: &ChildPlan, program: &Path) -> Result<String, Failure> {
    let shape = plan.way.shape.during("finding the shape")?;
    let text = serde_json::to_string(plan).during("writing the plan of the nodes")?;
    let mut file = String::from("nodes:\n");
    for (position, Member { name, from, publishes }) in members(shape).iter().enumerate() {
        // Writing into a string cannot fail.
        let _ = writeln!(file, "  - id: {name}\n    path: {}", program.display());
        let _ =
            writeln!(file, "    env:\n      {POSITION}: \"{position}\"\n      {PLAN}: '{text}'");
        for (index, from) in from.iter().enumerate() {
            let head = if index == 0 { "    inputs:\n" } else { "" };
            let _ = writeln!(file, "{head}      in_{index}: {from}/{OUT}");
        }
        if *publishes {
            let _ = writeln!(file, "    outputs: [{OUT}]");
        }
    }
    Ok(file)
}

/// `dora` lies beside this program, or wherever commands are looked for.
fn dora_program(own: &Path) -> PathBuf {
    let beside = own.with_file_name("dora");
    if beside.exists() { beside } else { PathBuf::from("dora") }
}

/// What `dora run` and everything that it has started have used.
fn usage_of(dora: &Child) -> Result<Usage, Failure> {
    Usage::of_tree(dora.id())
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It ends its nodes when it is asked to end; our parent's wait bounds this wait.
        let id = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
        }
        let _ = self.0.wait();
    }
}

fn socket_path(plan: &ChildPlan) -> PathBuf {
    plan.folder.join(format!("dora-{}.socket", plan.case_name))
}

/// The child of `peers`.
fn serve(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    let own = std::env::current_exe().during("finding this program")?;
    let file = plan.folder.join(format!("dora-{}.yml", plan.case_name));
    std::fs::write(&file, dataflow(plan, &own)?).during("writing the dataflow")?;
    let listener = UnixListener::bind(socket_path(plan)).during("listening for the head")?;
    let program = dora_program(&own);
    let dora = std::process::Command::new(&program)
        .arg("run")
        .arg(&file)
        .current_dir(&plan.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let running = Running(dora.during(&format!("starting {}", program.display()))?);
    // Bounded by the coordinator, which ends processes that do not answer.
    let (socket, _) = listener.accept().during("waiting for the head")?;
    let mut output = socket.try_clone().during("talking to the head")?;
    let mut input = BufReader::new(socket);
    let mut answer = || -> Result<Reply, Failure> {
        let mut line = String::new();
        input.read_line(&mut line).during("listening to the head")?;
        serde_json::from_str(&line).during(&format!("understanding the head: {line:?}"))
    };
    control.reply(&answer()?)?;
    while let Some(command) = control.await_command()? {
        let before = usage_of(&running.0)?;
        let mut line = serde_json::to_vec(&command).during("writing a command")?;
        line.push(b'\n');
        output.write_all(&line).during("talking to the head")?;
        let reply = match answer()? {
            Reply::Block { samples_ns, seconds_ns, .. } => {
                let usage = usage_of(&running.0)?.since(before);
                Reply::Block { samples_ns, seconds_ns, usage }
            }
            other => other,
        };
        control.reply(&reply)?;
    }
    Ok(())
}

/// A node of the dataflow.
fn node(plan: &ChildPlan, position: usize) -> Result<(), Failure> {
    let cpus = &plan.way.cpus;
    pin(*cpus.get(position % cpus.len().max(1)).unwrap_or(&plan.cpu))?;
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    let gate = Gate::open(plan)?;
    let (mut node, mut events) = DoraNode::init_from_env().during("starting a dora node")?;
    if position == 0 {
        let socket = UnixStream::connect(socket_path(plan)).during("finding the coordinator")?;
        rustix::stdio::dup2_stdin(&socket).during("taking commands")?;
        rustix::stdio::dup2_stdout(&socket).during("answering")?;
        return rounds::serve(&mut Control, &gate, |number| send(&mut node, payload, number));
    }
    let shape = plan.way.shape.during("finding the shape")?;
    let members = members(shape);
    let member = members.get(position).during("finding the part of this node")?;
    let mut number = 1;
    loop {
        for _ in &member.from {
            if !receive(&mut events, payload, number)? {
                return Ok(());
            }
        }
        match member.publishes {
            true => send(&mut node, payload, number)?,
            false => gate.arrived(number, now_ns())?,
        }
        number += 1;
    }
}

fn send(node: &mut DoraNode, payload: Payload, number: u64) -> Result<(), Failure> {
    let write = |memory: &mut [u8]| payload.write(memory, number);
    let sent = node.send_output_raw(
        DataId::from(OUT.to_owned()),
        Default::default(),
        payload.bytes,
        write,
    );
    sent.during("sending")
}

/// False: there will be no more.
fn receive(events: &mut EventStream, payload: Payload, number: u64) -> Result<bool, Failure> {
    loop {
        match events.recv() {
            Some(Event::Input { data, .. }) => {
                let bytes: &[u8] = (&data).try_into().during("reading a message")?;
                return payload.read(bytes, number).map(|()| true);
            }
            Some(Event::Stop(_)) | None => return Ok(false),
            Some(_) => {}
        }
    }
}

fn main() -> ExitCode {
    if let Some(plan) = std::env::var_os(PLAN) {
        let plan = serde_json::from_str::<ChildPlan>(&plan.to_string_lossy());
        let position = std::env::var(POSITION).ok().and_then(|text| text.parse().ok());
        let played = plan
            .during("understanding the part")
            .and_then(|plan| node(&plan, position.during("finding the position of this node")?));
        return report(played);
    }
    match programs::plan_of_child() {
        Some(Ok(plan)) => {
            child::live(&plan, |control| serve(&plan, control));
            ExitCode::SUCCESS
        }
        Some(Err(failure)) => report(Err(failure)),
        None => report(Err(Failure::new("starting", "this is started by `peers`"))),
    }
}
