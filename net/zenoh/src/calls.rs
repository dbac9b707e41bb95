//! Calls of services, both ways, on one thread.
//!
//! A server over there has a server here, of its node's name. The thread takes each request from
//! it, asks the network once, and hands the first answer to the client. A client over there has a
//! client here as long as a server is here: what it asks over the network is sent to that server
//! once, and the answer goes back. Nothing is asked twice.
//!
//! Each call ends: with an answer, with the server or the client that goes, or after
//! [`CALL_FOR`]. What waits is bounded: calls by the depths of clients here, by
//! [`CALLS_OF_CLIENT`] of one client over there and by [`CALLS_MAX`] of all; requests that have
//! come from the network and are not sent yet by number and bytes.

mod asking;
mod inbox;
mod serving;

use crate::counters::Counters;
use crate::shared::Shared;
use asking::{Asked, Unnamed};
use crossdock_comm::service::{AnyClient, AnyServer};
use crossdock_comm::{AnyThread, CallId, DoorbellOptions, Participant, PortError, SharedDoorbell};
use crossdock_wire::Gid;
pub(crate) use inbox::Inbox;
use inbox::{Notes, Order, Question};
use serving::Served;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use zenoh::Session;

/// Calls that one client over there has under way here, at most.
pub(crate) const CALLS_OF_CLIENT: usize = 128;

/// Calls under way in each direction, at most.
const CALLS_MAX: usize = 4096;

/// How long a call may take. zenoh keeps something of each call so long, even of those that have
/// been answered: it cannot be as long as one likes.
const CALL_FOR: Duration = Duration::from_secs(600);

/// The same if the answer is what an action has led to, which may take its time.
const RESULT_FOR: Duration = Duration::from_secs(24 * 3600);
const RESULT: &str = "/_action/get_result";

/// How long a call waits for the token of its client, and for its client to meet the server.
const MEET_FOR: Duration = Duration::from_secs(2);

/// Between two looks while a call waits for one of them.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Between two looks at calls that have been given up, or take too long.
const SWEEP: Duration = Duration::from_secs(1);

/// Requests or answers that are moved for one port before the next one is looked at.
const TURN_MAX: usize = 64;

/// How long a call of a service may take.
fn limit(service: &str) -> Duration {
    if service.ends_with(RESULT) { RESULT_FOR } else { CALL_FOR }
}

/// Carries calls until it is dropped: those under way end without an answer then.
pub(crate) struct Calls {
    inbox: Arc<Inbox>,
    /// Where the ports ring.
    pub(crate) bell: SharedDoorbell,
    thread: Option<JoinHandle<()>>,
}

/// The thread that carries calls could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallsError {
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("a thread cannot be started: {0}; is the limit of threads reached?")]
    Thread(#[from] std::io::Error),
}

impl Calls {
    pub(crate) fn start(
        participant: &Participant,
        session: &Session,
        shared: &Arc<Shared>,
    ) -> Result<Self, CallsError> {
        let bell = participant.shared_doorbell(DoorbellOptions::default())?;
        let inbox = Arc::new(Inbox::new(bell.control(), Arc::clone(shared)));
        let mut carrier = Carrier {
            inbox: Arc::clone(&inbox),
            session: session.clone(),
            bell: bell.clone(),
            shared: Arc::clone(shared),
            ports: Ports::default(),
            next: 0,
            asked: BTreeMap::new(),
            unnamed: VecDeque::new(),
            served: BTreeMap::new(),
            unmet: VecDeque::new(),
            strange: BTreeMap::new(),
            swept: Instant::now(),
        };
        let thread = std::thread::Builder::new()
            .name("net-calls".to_owned())
            .spawn(move || carrier.run())?;
        Ok(Self { inbox, bell, thread: Some(thread) })
    }

    /// What callbacks of the network leave their calls in.
    pub(crate) fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.inbox)
    }

    /// A server here that stands for one over there; `key`: where it is asked.
    pub(crate) fn add_server(&self, gid: Gid, key: &str, server: AnyServer<AnyThread>) {
        let server = ServerHere { key: key.to_owned(), limit: limit(server.service()), server };
        self.inbox.order(Order::AddServer(gid, server));
    }

    /// A client here that stands for one over there.
    pub(crate) fn add_client(&self, gid: Gid, key: &str, service: &str, client: Client) {
        let client = ClientHere { key: key.to_owned(), limit: limit(service), client };
        self.inbox.order(Order::AddClient(gid, client));
    }

    /// A server or a client over there has gone.
    pub(crate) fn remove(&self, gid: Gid) {
        self.inbox.order(Order::Remove(gid));
    }

    /// The clients here as the network knows them, by their GID here.
    pub(crate) fn name(&self, names: BTreeMap<[u8; 16], Gid>) {
        self.inbox.order(Order::Name(names));
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.inbox.end();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

type Client = AnyClient<AnyThread>;

/// See [`Calls::add_server`].
struct ServerHere {
    key: String,
    limit: Duration,
    server: AnyServer<AnyThread>,
}

/// See [`Calls::add_client`].
struct ClientHere {
    key: String,
    limit: Duration,
    client: Client,
}

/// The ports here that stand for those over there, and the clients here by the names that the
/// network has for them.
#[derive(Default)]
struct Ports {
    servers: BTreeMap<Gid, ServerHere>,
    clients: BTreeMap<Gid, ClientHere>,
    names: BTreeMap<[u8; 16], Gid>,
}

/// The thread.
struct Carrier {
    inbox: Arc<Inbox>,
    session: Session,
    bell: SharedDoorbell,
    shared: Arc<Shared>,
    ports: Ports,
    /// The number of the next call that goes out.
    next: u64,
    /// Calls of clients here that the network has been asked for.
    asked: BTreeMap<u64, Asked>,
    /// Calls of clients here that the network does not know yet.
    unnamed: VecDeque<Unnamed>,
    /// Calls from the network that a server here has been sent, by the client over there.
    served: BTreeMap<(Gid, CallId), Served>,
    /// Calls from the network whose client has not met the server yet.
    unmet: VecDeque<Question>,
    /// Clients over there that stand for GIDs without a token.
    strange: BTreeMap<Gid, Gid>,
    swept: Instant,
}

impl Carrier {
    fn run(&mut self) {
        loop {
            let Notes { is_over, orders, questions, ends, .. } = self.inbox.take();
            if is_over {
                return;
            }
            let mut moved = orders.len() + questions.len() + ends.len();
            orders.into_iter().for_each(|order| self.follow(order));
            ends.into_iter().for_each(|(number, end)| self.end(number, end));
            self.ask_unnamed();
            moved += self.take_requests();
            self.unmet.extend(questions);
            self.serve_unmet();
            moved += self.take_answers();
            if self.swept.elapsed() >= SWEEP || self.asked.values().any(Asked::is_silent) {
                self.sweep();
            }
            self.count_waiting();
            if moved == 0 {
                self.sleep();
            }
        }
    }

    fn follow(&mut self, order: Order) {
        let Ports { servers, clients, names } = &mut self.ports;
        match order {
            Order::AddServer(gid, server) => drop(servers.insert(gid, server)),
            Order::AddClient(gid, client) => drop(clients.insert(gid, client)),
            Order::Name(known) => *names = known,
            Order::Remove(gid) => {
                // Their clients hear that the server has gone.
                if servers.remove(&gid).is_some() {
                    self.forget_server(gid);
                }
                if self.ports.clients.remove(&gid).is_some() {
                    self.forget_client(gid);
                }
            }
        }
    }

    fn sleep(&self) {
        let is_looking = !self.unnamed.is_empty() || !self.unmet.is_empty();
        let is_ending = self.asked.values().any(Asked::is_ending);
        let waits = !self.asked.is_empty() || !self.served.is_empty();
        let timeout = match (is_looking || is_ending, waits) {
            (true, _) => Some(LOOK_AGAIN),
            (false, true) => Some(SWEEP),
            (false, false) => None,
        };
        let Ports { servers, clients, .. } = &self.ports;
        let arm = || {
            let served = servers.values().fold(false, |any, it| it.server.arm() | any);
            clients.values().fold(served, |any, it| it.client.arm() | any)
        };
        self.bell.wait(timeout, arm, |_| {});
    }

    /// Ends what has been given up, or takes too long.
    fn sweep(&mut self) {
        self.swept = Instant::now();
        self.sweep_asked(|_| true);
        self.sweep_served();
    }

    fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    fn count_waiting(&self) {
        let waiting = self.asked.len() + self.unnamed.len() + self.served.len() + self.unmet.len();
        let counter = &self.counters().calls_waiting;
        counter.store(waiting as u64, std::sync::atomic::Ordering::Relaxed);
    }
}
