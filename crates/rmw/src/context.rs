//! A context: this process's membership in one domain, and what its threads wait with.

use crate::bell::{PortBell, lock};
use crate::callbacks::Hub;
use crate::failure::Failure;
use crate::idle::Idle;
use crate::waiting::EntityId;
use crossdock_comm::{
    DoorbellOptions, GraphView, Maker, Participant, ParticipantOptions, SharedDoorbell,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// See the head of this file. Nodes, ports, guard conditions and wait sets keep it.
pub(crate) struct Context {
    pub(crate) participant: Participant,
    pub(crate) doorbell: SharedDoorbell,
    pub(crate) hub: Arc<Hub>,
    pub(crate) graph: GraphView,
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
        let doorbell = participant.shared_doorbell(DoorbellOptions::default())?;
        let hub = Arc::new(Hub::new(PortBell::new(doorbell.clone())));
        let graph = participant.graph()?;
        let graph_guards = Arc::<Mutex<Vec<EntityId>>>::default();
        let (of_hub, guards) = (Arc::downgrade(&hub), Arc::clone(&graph_guards));
        let idle = Arc::<Idle>::default();
        let (ports, bell) = (Arc::clone(&idle), doorbell.clone());
        let told = graph.set_callback(move || {
            ports.settle();
            bell.settle();
            if let Some(hub) = of_hub.upgrade() {
                lock(&guards).iter().for_each(|guard| hub.waiting.trigger(*guard));
            }
        });
        told.map_err(Failure::Thread)?;
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

/// What the process is called: the file name of its program.
fn process_name() -> String {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(|path| path.file_name());
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(32).collect();
    if name.is_empty() { "ros".to_owned() } else { name }
}
