//! All of a view: its server, its thread that watches the graph, and their end.

use crate::connections;
use crate::front::{self, Front};
use crate::gate::Gate;
use crate::looks::Looks;
use crate::parameters::Parameters;
use crate::studio::Studio;
use crate::watcher::{Shared, Watcher};
use crossdock_comm::{GraphView, ObserveError, Observer, ObserverOptions, Participant};
use crossdock_msg::find::FindError;
use crossdock_sight::Definitions;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Threads that wait on behalf of viewers: for services, looks and a trace.
const WAITING_MAX: usize = 10;

/// How long connections may take to end.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// What a view needs to know.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// The node to which its ports belong.
    pub node: String,
    /// Where it listens.
    pub address: IpAddr,
    /// The port; 0: one that is free.
    pub port: u16,
    /// Who may connect.
    pub gate: Gate,
    /// Folders with definitions of service types.
    pub interfaces: Vec<PathBuf>,
}

/// A view could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The address cannot be listened on.
    #[error(
        "{address} cannot be listened on: {source}; it must be an address of this computer. If \
         another view has the port, choose another one (`crossdock view --port PORT`, `crossdock \
         run --view=PORT`, or the node's parameter `port`)"
    )]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Foxglove's server does not start.
    #[error("the server for Foxglove does not start: {0}")]
    Foxglove(#[from] foxglove::FoxgloveError),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}; is the limit of threads reached?")]
    Thread(io::Error),
    /// The graph cannot be looked at.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// The process's own status table cannot be mapped.
    #[error("the graph cannot be watched: {0}")]
    Graph(String),
    /// A folder of definitions cannot be read.
    #[error("interfaces: {0}")]
    Interfaces(#[from] FindError),
}

/// Serves viewers of the graph of a domain until it is dropped.
///
/// `Send`. It has a thread that watches the graph, one for the web, and up to ten that wait for
/// services, looks and traces; all sleep while nobody looks. Nothing of it runs on threads of
/// others.
pub struct View {
    /// Tells of changes.
    _graph: GraphView,
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
    address: SocketAddr,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("address", &self.address).finish_non_exhaustive()
    }
}

impl View {
    /// Starts to serve. Allocates, starts threads, opens sockets; blocks while the processes that
    /// are there answer, at most a second.
    ///
    /// # Errors
    /// [`ViewError`] says what is in the way.
    pub fn start(participant: &Participant, options: ViewOptions) -> Result<View, ViewError> {
        let ViewOptions { node, address, port, gate, interfaces } = options;
        let address = SocketAddr::new(address, port);
        let listening = |source| ViewError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(listening)?;
        listener.set_nonblocking(true).map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let definitions = Definitions::read(&interfaces)?;
        let observer = Observer::open(ObserverOptions::new(participant.domain_id(), &node))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(WAITING_MAX)
            .thread_name("view-web")
            .enable_all()
            .build()
            .map_err(ViewError::Thread)?;
        let shared = Arc::new(Shared::default());
        let name = format!("Crossdock, domain {}", participant.domain_id());
        let graph = || participant.graph().map_err(|error| ViewError::Graph(error.to_string()));
        let parameters = Parameters::new(participant, graph()?, &node, &definitions);
        let studio = Studio::start(runtime.handle(), &shared, &name, parameters)?;
        let domain_id = participant.domain_id();
        let (listener, looks) = {
            let _entered = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener).map_err(listening)?;
            (listener, Looks::start(domain_id, &node)?)
        };
        let router = front::router(Front {
            gate,
            studio: studio.address(),
            shared: Arc::clone(&shared),
            looks,
            domain_id,
            tracing: Arc::default(),
            places: Front::places(),
        });
        // It ends with the runtime.
        drop(runtime.spawn(connections::serve(listener, router)));
        let watcher = {
            let shared = Arc::clone(&shared);
            let participant = participant.clone();
            Watcher::new(participant, observer, node, definitions, studio, shared)
        };
        let watcher = std::thread::Builder::new()
            .name("view-graph".to_owned())
            .spawn(move || watcher.run())
            .map_err(ViewError::Thread)?;
        let graph = graph()?;
        let told = Arc::clone(&shared);
        graph.set_callback(move || told.tell_graph_change()).map_err(ViewError::Thread)?;
        let (watcher, runtime) = (Some(watcher), Some(runtime));
        Ok(View { _graph: graph, shared, watcher, runtime, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it still serves: its thread has not panicked.
    pub fn is_alive(&self) -> bool {
        self.watcher.as_ref().is_some_and(|watcher| !watcher.is_finished())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(watcher) = self.watcher.take() {
            // A panic has been reported by the panic hook.
            let _ = watcher.join();
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END_TIMEOUT);
        }
    }
}
