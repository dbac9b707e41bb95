//! A context: this process's membership in one domain, and what its threads wait with.

use crate::bell::{PortBell, lock};
use crate::callbacks::Hub;
use crate::failure::Failure;
use crate::idle::Idle;
use crate::waiting::EntityId;
use crossdock_comm::{
    DoorbellOptions, Event, GraphView, Maker, Participant, ParticipantOptions, SharedDoorbell,
    Troubles,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Prints what other processes give reason to: ROS 2 has no call that asks for it.
fn tell_troubles() -> impl FnMut(Event) + Send + 'static {
    let mut troubles = Troubles::default();
    move |event| {
        if let Some(text) = troubles.news(&event) {
            // Nobody may be reading standard error, and that is no failure.
            let _ = writeln!(std::io::stderr(), "[WARN] [rmw_crossdock]: {text}");
        }
    }
}

/// See the head of this file. Nodes, ports, guard conditions and wait sets keep it.
pub(crate) struct Context {
    pub(crate) participant: Participant,
    pub(crate) doorbell: SharedDoorbell,
    pub(crate) hub: Arc<Hub>,
    pub(crate) graph: Arc<GraphView>,
    pub(crate) idle: Arc<Idle>,
    /// Guard conditions of nodes that are triggered when the graph changes.
    graph_guards: Arc<Mutex<Vec<EntityId>>>,
    /// The security enclave, which is only shown.
    pub(crate) enclave: String,
    is_shut_down: AtomicBool,
}

impl Context {
    /// Joins a domain. Allocates, makes files and a thread.
    pub(crate) fn open(domain_id: u32, enclave: &str) -> Result<Arc<Self>, Failure> {
        let options = ParticipantOptions::new(domain_id, &process_name());
        let participant = Participant::open(ParticipantOptions { maker: Maker::Rmw, ..options })?;
        participant.set_event_callback(tell_troubles());
        let doorbell = participant.shared_doorbell(DoorbellOptions::default())?;
        let hub = Arc::new(Hub::new(PortBell::new(doorbell.clone())));
        let graph = Arc::new(participant.graph()?);
        let graph_guards = Arc::<Mutex<Vec<EntityId>>>::default();
        let (of_hub, guards) = (Arc::downgrade(&hub), Arc::clone(&graph_guards));
        let idle = Arc::<Idle>::default();
        let (ports, bell) = (Arc::clone(&idle), doorbell.clone());
        // Nothing of this blocks: it needs no thread of its own.
        graph.set_prompt_callback(move || {
            ports.settle();
            bell.settle();
            if let Some(hub) = of_hub.upgrade() {
                lock(&guards).iter().for_each(|guard| hub.waiting.trigger(*guard));
            }
        });
        Ok(Arc::new(Self {
            participant,
            doorbell,
            hub,
            graph,
            idle,
            graph_guards,
            enclave: enclave.to_owned(),
            is_shut_down: AtomicBool::new(false),
        }))
    }

    /// From now on the guard condition is triggered when the graph changes.
    pub(crate) fn watch_graph(&self, guard: EntityId) {
        lock(&self.graph_guards).push(guard);
    }

    /// It is not any more.
    pub(crate) fn unwatch_graph(&self, guard: EntityId) {
        lock(&self.graph_guards).retain(|other| *other != guard);
    }

    /// Nothing new is made any more, and no thread waits for long. What exists can be used until
    /// it is destroyed.
    pub(crate) fn shut_down(&self) {
        self.is_shut_down.store(true, Ordering::Release);
        self.hub.waiting.end();
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Ordering::Acquire)
    }

    /// Refuses what is to be made after the shutdown.
    pub(crate) fn check_open(&self) -> Result<(), Failure> {
        if self.is_shut_down() { Err(Failure::ShutDown) } else { Ok(()) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.hub.stop();
    }
}

/// What the process is called: the file name of its program, or of the script that Python runs.
fn process_name() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let script = std::env::args_os().skip(1).map(PathBuf::from);
    let name = name_of(&program, script);
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(32).collect();
    if name.is_empty() { "ros".to_owned() } else { name }
}

fn name_of(program: &Path, mut arguments: impl Iterator<Item = PathBuf>) -> String {
    let file = |path: &Path| path.file_name().map(|it| it.to_string_lossy().into_owned());
    let name = file(program).unwrap_or_default();
    if !name.starts_with("python") {
        return name;
    }
    // Options come first; `-c` begins a program that has no name.
    let is_option = |it: &&PathBuf| it.as_os_str().as_encoded_bytes().starts_with(b"-");
    let first = arguments.find(|it| it.as_os_str() == "-c" || !is_option(&it));
    first.filter(|it| it.as_os_str() != "-c").as_deref().and_then(file).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_called_by_its_program_or_its_script() {
        let name = |program: &str, arguments: &[&str]| {
            name_of(Path::new(program), arguments.iter().map(PathBuf::from))
        };
        assert_eq!(name("/opt/ros/lib/demo/talker", &["--ros-args"]), "talker");
        let script = ["-u", "/opt/ros/lib/demo/listener", "--ros-args"];
        assert_eq!(name("/usr/bin/python3.12", &script), "listener");
        assert_eq!(name("/usr/bin/python3.12", &[]), "python3.12");
        assert_eq!(name("/usr/bin/python3.12", &["-c", "import rclpy"]), "python3.12");
    }
}
