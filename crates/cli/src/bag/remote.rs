//! Services by which nodes and people steer a recorder or a player, with the names and types of
//! rosbag2: `ros2 service call /rosbag2_recorder/snapshot rosbag2_interfaces/srv/Snapshot`.
//!
//! A thread of its own takes the requests and hands them to the command's main thread, which
//! answers them. It sleeps while there are none.

use anyhow::{Context, Result};
use crossdock_comm::service::AnyServer;
use crossdock_comm::{
    Doorbell, DoorbellControl, DoorbellOptions, Participant, PortError, ServerOptions,
};
use crossdock_msg::{JsonOptions, ServiceSchema};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A service behind the name of the node, and its type in `rosbag2_interfaces`.
pub(super) type Offered = (&'static str, &'static str);

/// A request. Dropping it refuses it.
pub(super) struct Call {
    pub(super) service: &'static str,
    pub(super) request: Value,
    reply: Sender<Value>,
}

impl Call {
    pub(super) fn answer(self, response: Value) {
        // The thread waits for it, unless it has panicked.
        let _ = self.reply.send(response);
    }
}

/// The services. Dropping them refuses what was not answered.
pub(super) struct Remote {
    /// `None`: the thread is told to end.
    calls: Option<Receiver<Call>>,
    stop: Arc<AtomicBool>,
    bell: DoorbellControl,
    thread: Option<JoinHandle<()>>,
}

impl Remote {
    /// Offers services as a node; `wake` is called after each request.
    pub(super) fn open(
        participant: &Participant,
        node: &str,
        offered: &'static [Offered],
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let (hand_over, calls) = channel();
        let (participant, told) = (participant.clone(), Arc::clone(&stop));
        let node = node.to_owned();
        let serve = move || {
            let desk = match Desk::open(&participant, &node, offered) {
                Ok(desk) => desk,
                Err(error) => {
                    // The thread that opens the services waits for this.
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            if ready.send(Ok(desk.doorbell.control())).is_ok() {
                desk.serve(&participant, &told, &hand_over, wake);
            }
        };
        let thread = std::thread::Builder::new().name("crossdock-bag".to_owned()).spawn(serve)?;
        let bell = is_ready.recv().context("the thread of the services has ended")??;
        Ok(Self { calls: Some(calls), stop, bell, thread: Some(thread) })
    }

    /// The next request, if there is one.
    pub(super) fn next(&self) -> Option<Call> {
        self.calls.as_ref()?.try_recv().ok()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.calls = None;
        self.stop.store(true, Ordering::Release);
        self.bell.wake();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by its hook.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Desk {
    doorbell: Doorbell,
    servers: Vec<(&'static str, AnyServer)>,
}

impl Desk {
    fn open(participant: &Participant, node: &str, offered: &'static [Offered]) -> Result<Self> {
        let doorbell = participant.doorbell(DoorbellOptions { spin: Duration::ZERO })?;
        let mut servers = Vec::new();
        for (name, type_name) in offered {
            let type_name = format!("rosbag2_interfaces/srv/{type_name}");
            let schema = Arc::new(ServiceSchema::shipped(&type_name)?);
            let service = format!("/{node}/{name}");
            let options = ServerOptions {
                node,
                service: &service,
                doorbell: Some(&doorbell),
                ..ServerOptions::default()
            };
            let server: Result<AnyServer, PortError> = participant.any_server(schema, options);
            servers.push((*name, server.with_context(|| format!("service {service}"))?));
        }
        Ok(Self { doorbell, servers })
    }

    /// Until the end.
    fn serve(
        &self,
        participant: &Participant,
        stop: &AtomicBool,
        calls: &Sender<Call>,
        wake: impl Fn(),
    ) {
        while !stop.load(Ordering::Acquire) {
            let answered = self.servers.iter().fold(false, |any, (name, server)| {
                Self::answer_one(name, server, calls, &wake).is_some() | any
            });
            if !answered {
                self.doorbell.drain(|_| {});
                participant.announce_idle();
                let arm = || self.servers.iter().fold(false, |any, (_, it)| it.arm() | any);
                self.doorbell.sleep(None, arm);
            }
        }
    }

    /// Takes a request and answers it; `None`: there was none.
    fn answer_one(
        service: &'static str,
        server: &AnyServer,
        calls: &Sender<Call>,
        wake: &impl Fn(),
    ) -> Option<()> {
        // A damaged request is counted at the port, and passed over.
        let (request, ticket) = server.take().ok()??;
        let schema = server.schema();
        let value = schema.request().to_json_with(request.block(), JsonOptions::shown(usize::MAX));
        drop(request);
        let answer = value.ok().and_then(|request| {
            let (reply, answer) = channel();
            calls.send(Call { service, request, reply }).ok()?;
            wake();
            answer.recv().ok()
        });
        let cdr = answer.and_then(|answer| schema.response().cdr_of_json(&answer).ok());
        let sent = cdr.is_some_and(|cdr| server.answer_cdr(&ticket, &cdr).is_ok());
        if !sent {
            server.refuse(&ticket);
        }
        Some(())
    }
}
