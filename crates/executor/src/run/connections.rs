//! The barrier before the start: every connection that the plan expects of an executor's ports.

use std::time::{Duration, Instant};

use crossdock_comm::event::Event;
use crossdock_comm::service::{ClientHandle, ServerHandle};
use crossdock_comm::{Mismatch, Participant, PublisherHandle, SubscriberHandle, Troubles};
use crossdock_graph::NodePlan;

use crate::node::opened::OpenedCalls;
use crate::run::outcome::RunError;
use crate::run::remote::Remote;

/// Longest wait for a change of the connections until the next look at whether the executor is to
/// stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// The connections that the ports of an executor wait for.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    expected: Vec<Expected>,
}

#[derive(Debug)]
struct Expected {
    node: String,
    port: String,
    topic: String,
    handle: Handle,
    count: usize,
}

#[derive(Debug)]
enum Handle {
    Input(SubscriberHandle),
    Output(PublisherHandle),
    Client(ClientHandle),
    Server(ServerHandle),
    /// Of the executor itself, for simulated time.
    Clock(SubscriberHandle),
    /// Of the executor itself, for a chain with a latency limit.
    Watch(SubscriberHandle),
}

impl Connections {
    /// Adds the ports of a node; the handles are beside the ports of the plan.
    pub(crate) fn add<'a>(
        &mut self,
        plan: &NodePlan,
        inputs: impl Iterator<Item = &'a SubscriberHandle>,
        outputs: &[PublisherHandle],
    ) {
        let expected =
            |port: &str, topic: &str, routes: crossdock_graph::Routes, handle| Expected {
                node: plan.name.clone(),
                port: port.to_owned(),
                topic: topic.to_owned(),
                handle,
                count: routes.in_thread as usize + routes.ring as usize,
            };
        for (input, handle) in plan.inputs.iter().zip(inputs) {
            let handle = Handle::Input(handle.clone());
            self.expected.push(expected(&input.port, &input.topic, input.routes, handle));
        }
        for (output, handle) in plan.outputs.iter().zip(outputs) {
            let handle = Handle::Output(handle.clone());
            self.expected.push(expected(&output.port, &output.topic, output.routes, handle));
        }
    }

    /// Adds the clients and servers of a node: the other ends that are in the graph.
    pub(crate) fn add_calls(&mut self, plan: &NodePlan, calls: &OpenedCalls) {
        let node = || plan.name.clone();
        for (client, handle) in plan.clients.iter().zip(calls.clients.iter().flatten()) {
            self.expected.push(Expected {
                node: node(),
                port: client.port.clone(),
                topic: client.service.clone(),
                handle: Handle::Client(handle.clone()),
                count: usize::from(client.expected),
            });
        }
        for (server, handle) in plan.servers.iter().zip(calls.servers.iter().flatten()) {
            self.expected.push(Expected {
                node: node(),
                port: server.port.clone(),
                topic: server.service.clone(),
                handle: Handle::Server(handle.clone()),
                count: server.clients as usize,
            });
        }
    }

    /// Adds the one publisher of simulated time that timers need.
    pub(crate) fn add_clock(&mut self, executor: &str, handle: &SubscriberHandle) {
        self.expected.push(Expected {
            node: String::new(),
            port: executor.to_owned(),
            topic: handle.topic().to_owned(),
            handle: Handle::Clock(handle.clone()),
            count: 1,
        });
    }

    /// Adds the publishers of a topic on which a chain begins that an executor watches.
    pub(crate) fn add_watch(
        &mut self,
        executor: &str,
        handle: &SubscriberHandle,
        publishers: usize,
    ) {
        self.expected.push(Expected {
            node: String::new(),
            port: executor.to_owned(),
            topic: handle.topic().to_owned(),
            handle: Handle::Watch(handle.clone()),
            count: publishers,
        });
    }

    /// Waits until all stand, at most `timeout`, or until the executor is stopped. What others give
    /// reason to be told of meanwhile is added to `warnings`.
    pub(crate) fn wait(
        &self,
        participant: &Participant,
        timeout: Duration,
        remote: &Remote,
        warnings: &mut Vec<String>,
    ) -> Result<(), RunError> {
        let mut troubles = Troubles::default();
        let deadline = Instant::now() + timeout;
        loop {
            let seen = participant.changes();
            // All of them are looked at: a server takes in its clients when it is.
            let missing = self.expected.iter().filter(|expected| !expected.stands());
            let Some(missing) = missing.reduce(|first, _| first) else { return Ok(()) };
            if remote.is_stopped() {
                return Ok(());
            }
            for event in participant.take_events().0 {
                match event {
                    Event::Mismatch(mismatch) if mismatch.within_run => {
                        return Err(misfit(participant, &mismatch));
                    }
                    event => warnings.extend(troubles.news(&event)),
                }
            }
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(missing.error(timeout));
            }
            participant.wait_change(seen, rest.min(STOP_INTERVAL));
        }
    }
}

/// A connection of the run cannot be made because its two sides do not fit.
fn misfit(participant: &Participant, mismatch: &Mismatch) -> RunError {
    let ours = [&mismatch.publisher, &mismatch.subscriber]
        .into_iter()
        .find(|side| side.process == participant.process());
    let node = ours.map(|side| side.node.clone()).unwrap_or_default();
    RunError { node, error: mismatch.to_string() }
}

impl Expected {
    fn matched(&self) -> usize {
        match &self.handle {
            Handle::Input(input) | Handle::Clock(input) | Handle::Watch(input) => {
                input.matched_in_run()
            }
            Handle::Output(output) => output.matched_in_run(),
            Handle::Client(client) => usize::from(client.is_connected()),
            Handle::Server(server) => server.clients_in_run(),
        }
    }

    fn stands(&self) -> bool {
        self.matched() >= self.count
    }

    fn error(&self, timeout: Duration) -> RunError {
        let Self { node, port, topic, count, .. } = self;
        let (matched, waited_s) = (self.matched(), timeout.as_secs());
        let advice = "look at what the processes that hold the others report";
        let error = match self.handle {
            Handle::Input(_) => format!(
                "subscriber `{port}` on topic {topic} has {matched} of its {count} publishers after \
                 {waited_s} s; {advice}"
            ),
            Handle::Output(_) => format!(
                "publisher `{port}` on topic {topic} has {matched} of its {count} subscribers after \
                 {waited_s} s; {advice}"
            ),
            Handle::Client(_) => format!(
                "client `{port}` has no server of {topic} after {waited_s} s; the process of the \
                 server may have failed, or another one serves it"
            ),
            Handle::Server(_) => format!(
                "server `{port}` of {topic} is connected to {matched} of {count} clients after \
                 {waited_s} s; the process of a client may have failed"
            ),
            Handle::Watch(_) => format!(
                "executor `{port}`, which watches a chain from topic {topic}, has {matched} of its \
                 {count} publishers after {waited_s} s; {advice}"
            ),
            Handle::Clock(_) => format!(
                "executor `{port}` goes by simulated time, but nobody publishes on {topic} after \
                 {waited_s} s; play a recording, or add a node that publishes it"
            ),
        };
        RunError { node: node.clone(), error }
    }
}
