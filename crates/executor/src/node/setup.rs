//! What a node gets while it is made: its ports on the topics of the plan, and its parameters.

use std::fmt;
use std::sync::Arc;

use crossdock_comm::{
    BackPressure, Bridge, BridgeOptions, Buffers, Client, ClientOptions, Directions, Doorbell,
    Introspection, MemoryMaker, Participant, PortError, PortGroup, Publisher, PublisherHandle,
    PublisherOptions, Qos, Reading, Server, ServerOptions, StatusTable, Subscriber,
    SubscriberOptions,
};
use crossdock_graph::{Chain, Copies, DevicePlan, InputReading, NodePlan, OutputPlan, Time};
use crossdock_msg::{Message, Schema, Service};

use crate::node::logger::{self, Logger};
use crate::node::opened::{Opened, OpenedCalls, OpenedInput, Purpose};
use crate::node::parameter::Parameter;
use crate::node::qos::transport_qos;
use crate::node::time_jump::JumpThreshold;
use crate::node::uploaders::{UploadSite, Uploaders};
use crate::origin::Tracing;

/// What a node gets while it is made: it opens its ports and reads its parameters here. Opening a
/// port makes system calls and allocates. No method waits for another process.
#[derive(Debug)]
pub struct Setup<'a> {
    plan: &'a NodePlan,
    participant: &'a Participant,
    doorbell: &'a Doorbell,
    group: &'a PortGroup,
    chains: &'a [Chain],
    /// What time means in the run. In a run without pacing, publishers outside wait for inputs of
    /// conditions, whatever these make of the messages; in a stepped one messages wake nobody.
    time: Time,
    /// What the node has opened, beside `plan.inputs` and `plan.outputs`.
    inputs: Vec<Option<OpenedInput>>,
    outputs: Vec<Option<PublisherHandle>>,
    /// Beside `plan.clients` and `plan.servers`.
    calls: OpenedCalls,
    /// Makes instances of shared buffers on devices, and memory that drivers move.
    uploaders: Option<&'static dyn Uploaders>,
    warnings: Vec<String>,
    jumps: Option<JumpThreshold>,
}

impl<'a> Setup<'a> {
    pub(crate) fn new(
        plan: &'a NodePlan,
        participant: &'a Participant,
        doorbell: &'a Doorbell,
        group: &'a PortGroup,
        chains: &'a [Chain],
        time: Time,
    ) -> Self {
        let inputs = vec![None; plan.inputs.len()];
        let outputs = vec![None; plan.outputs.len()];
        let calls = OpenedCalls {
            clients: vec![None; plan.clients.len()],
            servers: vec![None; plan.servers.len()],
        };
        Self {
            plan,
            participant,
            doorbell,
            group,
            chains,
            time,
            inputs,
            outputs,
            calls,
            uploaders: None,
            warnings: Vec::new(),
            jumps: None,
        }
    }

    /// Gives it the package's maker of instances of shared buffers and of memory that drivers move.
    pub(crate) fn know_devices_by(&mut self, uploaders: Option<&'static dyn Uploaders>) {
        self.uploaders = uploaders;
    }

    /// The name of the node in the graph.
    #[must_use]
    pub fn node(&self) -> &'a str {
        &self.plan.name
    }

    /// The device on which the node's work runs, and how the messages of its topics get there.
    /// `None`: the node computes on the processor. Only a node type that declares
    /// [`NodeDescription::on_device`] is given a device.
    ///
    /// [`NodeDescription::on_device`]: crate::NodeDescription::on_device
    #[must_use]
    pub fn device(&self) -> Option<&'a DevicePlan> {
        self.plan.device.as_ref()
    }

    /// Shows the user of the run one sentence about this node, for example that it goes on without
    /// what its mapping prefers.
    pub fn warn(&mut self, sentence: String) {
        self.warnings.push(format!("node `{}`: {sentence}", self.plan.name));
    }

    /// Has the node told of jumps of simulated time that are at least so large
    /// ([`Node::before_time_jump`](crate::Node::before_time_jump) and
    /// [`Node::after_time_jump`](crate::Node::after_time_jump)). Each message on `/clock` is looked
    /// at by itself. Without simulated time, nothing jumps; `crossdock replay` goes in steps and
    /// tells nothing.
    pub fn tell_time_jumps(&mut self, threshold: JumpThreshold) {
        self.jumps = Some(threshold);
    }

    /// What [`Setup::tell_time_jumps`] has set.
    pub(crate) fn time_jumps(&self) -> Option<JumpThreshold> {
        self.jumps
    }

    /// The node's logger. Its lines go to `/rosout`, see [`Logger`].
    ///
    /// # Errors
    ///
    /// The publisher on `/rosout` cannot be made, for example for want of memory or descriptors.
    pub fn logger(&self) -> Result<Logger, SetupError> {
        Logger::new(self.participant, &self.plan.name, self.plan.log_level)
            .map_err(|error| self.error(logger::TOPIC, SetupErrorKind::Port(error)))
    }

    /// The sentences of [`Setup::warn`].
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// How to carry on the origins of a topic's messages, for nodes that take them from a bridge.
    #[must_use]
    pub fn tracing(&self, topic: &str) -> Tracing {
        Tracing::of(topic, self.chains)
    }

    /// The status table of the process, for nodes that show more than their ports and executions.
    #[must_use]
    pub fn status_table(&self) -> &'a StatusTable {
        self.participant.status_table()
    }

    /// The process's membership in its domain, for nodes that carry topics of any name and type to
    /// other programs, such as views and networks. What the node opens with it is its own affair:
    /// it is not in the plan, and messages there do not run the node.
    #[must_use]
    pub fn participant(&self) -> &'a Participant {
        self.participant
    }

    /// Opens the subscriber of a port. Open every connected port exactly once.
    ///
    /// # Errors
    ///
    /// The description has no such subscriber, the graph leaves it unconnected, it has another
    /// type, it is open already, or the system refuses it.
    pub fn subscriber<T: Message>(&mut self, port: &str) -> Result<Subscriber<T>, SetupError> {
        let index = self.plan.inputs.iter().position(|input| input.port == port);
        let index =
            index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("subscriber")))?;
        let input = &self.plan.inputs[index];
        self.check(port, (&input.message_type, T::TYPE_NAME), self.inputs[index].as_ref())?;
        let purpose = Purpose::of(self.plan, input);
        let options = SubscriberOptions {
            node: &self.plan.name,
            topic: &input.topic,
            qos: transport_qos(&input.qos),
            doorbell: purpose.map(|_| self.doorbell).filter(|_| !self.time.is_stepped()),
            group: Some(self.group),
        };
        let back_pressure = match purpose {
            Some(Purpose::Trigger | Purpose::Command | Purpose::Polled) => BackPressure::All,
            // All messages of a step are looked at in their turn; more than there is room for is an
            // error, from any publisher.
            Some(Purpose::Condition) if self.time.is_stepped() => BackPressure::All,
            // The counterpart may never come, and a publisher on this thread cannot wait for it.
            Some(Purpose::Condition) if self.time.is_unpaced() || !is_choosy(self.plan) => {
                BackPressure::Outside
            }
            // The condition takes the newest or best fitting of the messages that are there.
            Some(Purpose::Condition) => BackPressure::Never,
            // The node may never ask.
            None => BackPressure::Never,
        };
        let device = self.plan.device.as_ref();
        let topic = device.and_then(|device| device.topics.get(&input.topic));
        let opened = match topic.is_some_and(|topic| topic.in_slabs) {
            // The node finds out whether it uses them when it opens its device.
            true => self.participant.subscriber_for_device::<T>(options, back_pressure),
            false => self.participant.subscriber_with::<T>(options, back_pressure),
        };
        let subscriber = opened.map_err(|error| self.error(port, SetupErrorKind::Port(error)))?;
        subscriber.set_reading(match input.reading {
            InputReading::Next => Reading::Next,
            InputReading::Latest => Reading::Latest,
            InputReading::SinceLast => Reading::SinceLast,
        });
        self.inputs[index] = Some(OpenedInput { handle: subscriber.handle(), purpose });
        Ok(subscriber)
    }

    /// The shared buffers that the node makes, or whose tokens it receives. Allocates.
    #[must_use]
    pub fn buffers(&self) -> Buffers {
        self.participant.buffers(&self.plan.name)
    }

    /// Like [`buffers`](Self::buffers), for a node that passes tokens on through `publisher`. If
    /// nodes of one device receive them in several executors and copy what they claim, all of these
    /// share one instance of each buffer in the device's memory. This opens the device: it blocks,
    /// for a second the first time in a process.
    ///
    /// If there can be no such instance, the run says so and each executor has its own.
    #[must_use]
    pub fn buffers_for<T: Message>(&mut self, publisher: &Publisher<T>) -> Buffers {
        let handle = publisher.handle();
        let wanted = self.plan.uploads.iter().filter(|plan| plan.topic == handle.topic());
        let (mut makers, mut warnings) = (Vec::new(), Vec::new());
        for plan in wanted {
            let (node, status_table) = (self.plan.name.as_str(), self.participant.status_table());
            let site = UploadSite { node, plan, status_table };
            match self.uploaders.map(|uploaders| uploaders.instances(&site)) {
                None | Some(Ok(None)) => {}
                Some(Ok(Some(maker))) => makers.push(maker),
                Some(Err(error)) => warnings.push(format!(
                    "its shared buffers have no instance on {} that all executors there share, so \
                     each executor has its own: {error}",
                    plan.device
                )),
            }
        }
        warnings.into_iter().for_each(|sentence| self.warn(sentence));
        let topic = handle.topic().to_owned();
        self.buffers_by(&topic).with_instances(makers)
    }

    /// Like [`buffers`](Self::buffers), for a node that passes tokens on in requests of `client`.
    /// If the mapping says `managed` of that service, the buffers lie in memory that the driver of
    /// a device moves.
    #[must_use]
    pub fn buffers_for_calls<S: Service>(&mut self, client: &Client<S>) -> Buffers {
        let service = client.service().to_owned();
        self.buffers_by(&service)
    }

    fn buffers_by(&mut self, name: &str) -> Buffers {
        match self.managed(name, Content::Tokens) {
            None => self.buffers(),
            Some(Ok(memory)) => self.buffers().in_memory(memory),
            Some(Err(why)) => {
                self.warn(format!("its shared buffers {why}"));
                self.buffers()
            }
        }
    }

    /// If a driver is to move the memory of a topic's messages, or of the buffers whose tokens the
    /// topic carries: what makes that memory, or why nothing can, as the rest of a sentence.
    fn managed(
        &self,
        name: &str,
        content: Content,
    ) -> Option<Result<Box<dyn MemoryMaker>, String>> {
        let tokens = content == Content::Tokens;
        let plan = self.plan.managed.iter().find(|it| it.name == name && it.tokens == tokens)?;
        let made = self.uploaders.ok_or_else(|| {
            "its package names nothing that opens devices (`Package::uploaders`)".to_owned()
        });
        Some(made.and_then(|uploaders| uploaders.memory(&plan.device)).map_err(|why| {
            let device = &plan.device;
            format!("do not lie in memory that {device} moves, and are copied to it: {why}")
        }))
    }

    /// Opens both ends of a topic for a node that carries it to another medium, see
    /// [`Participant::bridge`]. The messages of port `subscriber` go out; what comes in is
    /// published on port `publisher`, which is on the same topic. Give at least one of the two.
    ///
    /// A message on the subscriber has the node polled ([`Trigger::Poll`](crate::Trigger::Poll))
    /// and waits until the node takes it. A taken message counts as processed when the node says so
    /// ([`SubscriberHandle::mark_processed`]), because it may still be under way in the other
    /// medium when `execute` returns. A node that leaves messages until one comes on another input
    /// says so ([`SubscriberHandle::mark_waiting`]): it is not polled for them until then. Before
    /// that it arms the input ([`SubscriberHandle::arm_to_gather`]): it is polled for the next one,
    /// and says so again, because a run that drains its graph waits for each message.
    ///
    /// [`SubscriberHandle::arm_to_gather`]: crossdock_comm::SubscriberHandle::arm_to_gather
    /// [`SubscriberHandle::mark_processed`]: crossdock_comm::SubscriberHandle::mark_processed
    /// [`SubscriberHandle::mark_waiting`]: crossdock_comm::SubscriberHandle::mark_waiting
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber), or the two ports are on different topics.
    pub fn bridge(
        &mut self,
        schema: &Arc<Schema>,
        subscriber: Option<&str>,
        publisher: Option<&str>,
    ) -> Result<Bridge, SetupError> {
        let plan = self.plan;
        let port = subscriber.or(publisher).unwrap_or_default();
        if self.time.is_stepped() {
            return Err(self.error(port, SetupErrorKind::Stepped));
        }
        let not_connected = |port, what| self.error(port, SetupErrorKind::NotConnected(what));
        let find = |port: &str| plan.inputs.iter().position(|it| it.port == port);
        let input = subscriber.map(|it| find(it).ok_or_else(|| not_connected(it, "subscriber")));
        let input = input.transpose()?;
        let find = |port: &str| plan.outputs.iter().position(|it| it.port == port);
        let output = publisher.map(|it| find(it).ok_or_else(|| not_connected(it, "publisher")));
        let output = output.transpose()?;
        let of_input = input.map(|index| &plan.inputs[index]);
        let of_output = output.map(|index| &plan.outputs[index]);
        let (topic, directions) = match (of_input, of_output) {
            (Some(input), Some(output)) if input.topic != output.topic => {
                let (from, to) = (input.topic.clone(), output.topic.clone());
                return Err(self.error(port, SetupErrorKind::TwoTopics { from, to }));
            }
            (Some(input), Some(_)) => (&input.topic, Directions::Both),
            (Some(input), None) => (&input.topic, Directions::Out),
            (None, Some(output)) => (&output.topic, Directions::In),
            (None, None) => return Err(not_connected(port, "bridge")),
        };
        let name = schema.type_name();
        if let Some(index) = input {
            let planned = &plan.inputs[index].message_type;
            self.check(port, (planned, name), self.inputs[index].as_ref())?;
        }
        if let Some(index) = output {
            let planned = &plan.outputs[index].message_type;
            self.check(port, (planned, name), self.outputs[index].as_ref())?;
        }
        let requested = of_input.map(|it| transport_qos(&it.qos));
        let offered = of_output.map(|it| transport_qos(&it.qos));
        let any = Qos::best_effort(1);
        let options = BridgeOptions {
            node: &plan.name,
            topic,
            offered: offered.unwrap_or(any),
            requested: requested.unwrap_or(any),
            directions,
            max_bytes: of_output.and_then(max_bytes),
            doorbell: Some(self.doorbell),
        };
        let bridge = self.participant.bridge(schema, options);
        let bridge = bridge.map_err(|error| self.error(port, SetupErrorKind::Port(error)))?;
        if let (Some(index), Some(subscriber)) = (input, &bridge.subscriber) {
            let (handle, purpose) = (subscriber.handle(), Some(Purpose::Polled));
            self.inputs[index] = Some(OpenedInput { handle, purpose });
        }
        if let (Some(index), Some(publisher)) = (output, &bridge.publisher) {
            self.outputs[index] = Some(publisher.handle());
        }
        Ok(bridge)
    }

    /// Opens the publisher of a port. Open every connected port exactly once.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn publisher<T: Message>(&mut self, port: &str) -> Result<Publisher<T>, SetupError> {
        let index = self.plan.outputs.iter().position(|output| output.port == port);
        let index =
            index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("publisher")))?;
        let output = &self.plan.outputs[index];
        self.check(port, (&output.message_type, T::TYPE_NAME), self.outputs[index].as_ref())?;
        let options = PublisherOptions {
            node: &self.plan.name,
            topic: &output.topic,
            qos: transport_qos(&output.qos),
            max_bytes: max_bytes(output),
            group: Some(self.group),
        };
        let opened = match self.managed(&output.topic, Content::Messages) {
            None => self.participant.publisher::<T>(options),
            Some(Ok(memory)) => self.participant.publisher_in::<T>(options, memory),
            Some(Err(why)) if output.copies != Copies::Allowed => {
                return Err(self.error(port, SetupErrorKind::Unmanaged(why)));
            }
            Some(Err(why)) => {
                self.warn(format!("its messages on `{}` {why}", output.topic));
                self.participant.publisher::<T>(options)
            }
        };
        let publisher = opened.map_err(|error| self.error(port, SetupErrorKind::Port(error)))?;
        self.outputs[index] = Some(publisher.handle());
        Ok(publisher)
    }

    /// Opens the subscriber of an optional port; `None` if the graph leaves it unconnected.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn optional_subscriber<T: Message>(
        &mut self,
        port: &str,
    ) -> Result<Option<Subscriber<T>>, SetupError> {
        let connected = self.plan.inputs.iter().any(|input| input.port == port);
        connected.then(|| self.subscriber(port)).transpose()
    }

    /// Opens the publisher of an optional port; `None` if the graph leaves it unconnected.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn optional_publisher<T: Message>(
        &mut self,
        port: &str,
    ) -> Result<Option<Publisher<T>>, SetupError> {
        let connected = self.plan.outputs.iter().any(|output| output.port == port);
        connected.then(|| self.publisher(port)).transpose()
    }

    /// Opens the client of a port. Open every connected port exactly once.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn client<S: Service>(&mut self, port: &str) -> Result<Client<S>, SetupError> {
        let index = self.plan.clients.iter().position(|client| client.port == port);
        let index =
            index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("client")))?;
        let plan = &self.plan.clients[index];
        let opened = self.calls.clients[index].as_ref();
        self.check(port, (&plan.service_type, S::TYPE_NAME), opened)?;
        let options = ClientOptions {
            node: &self.plan.name,
            service: &plan.service,
            depth: plan.depth as usize,
            max_request_bytes: bytes(plan.max_request_bytes),
            doorbell: Some(self.doorbell),
            group: Some(self.group),
            introspection: introspection(plan.introspection),
            ..ClientOptions::default()
        };
        let client = self.participant.client::<S>(options);
        let client = client.map_err(|error| self.error(port, SetupErrorKind::Port(error)))?;
        self.calls.clients[index] = Some(client.handle());
        Ok(client)
    }

    /// Opens the client of an optional port; `None` if the graph leaves it unconnected.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn optional_client<S: Service>(
        &mut self,
        port: &str,
    ) -> Result<Option<Client<S>>, SetupError> {
        let connected = self.plan.clients.iter().any(|client| client.port == port);
        connected.then(|| self.client(port)).transpose()
    }

    /// Opens the server of a port. Open every connected port exactly once.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn server<S: Service>(&mut self, port: &str) -> Result<Server<S>, SetupError> {
        let index = self.plan.servers.iter().position(|server| server.port == port);
        let index =
            index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("server")))?;
        let plan = &self.plan.servers[index];
        let opened = self.calls.servers[index].as_ref();
        self.check(port, (&plan.service_type, S::TYPE_NAME), opened)?;
        let options = ServerOptions {
            node: &self.plan.name,
            service: &plan.service,
            max_response_bytes: bytes(plan.max_response_bytes),
            doorbell: Some(self.doorbell),
            group: Some(self.group),
            introspection: introspection(plan.introspection),
            ..ServerOptions::default()
        };
        let server = self.participant.server::<S>(options);
        let server = server.map_err(|error| self.error(port, SetupErrorKind::Port(error)))?;
        self.calls.servers[index] = Some(server.handle());
        Ok(server)
    }

    /// Opens the server of an optional port; `None` if the graph leaves it unconnected.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn optional_server<S: Service>(
        &mut self,
        port: &str,
    ) -> Result<Option<Server<S>>, SetupError> {
        let connected = self.plan.servers.iter().any(|server| server.port == port);
        connected.then(|| self.server(port)).transpose()
    }

    /// The value of a parameter: from the graph file, else its default.
    ///
    /// # Errors
    ///
    /// The description has no such parameter, or its value does not fit the type.
    pub fn parameter<P: Parameter>(&self, name: &str) -> Result<P, SetupError> {
        let value = self.plan.parameters.get(name);
        let value = value.ok_or_else(|| self.error(name, SetupErrorKind::NoParameter))?;
        P::from_value(value).ok_or_else(|| {
            let found = format!("{value:?}");
            self.error(name, SetupErrorKind::Value { accepts: P::ACCEPTS, found })
        })
    }

    /// The handles of all ports, beside the ports of the plan.
    pub(crate) fn finish(self) -> Result<Opened, SetupError> {
        let inputs = self.plan.inputs.iter().zip(&self.inputs);
        let outputs = self.plan.outputs.iter().zip(&self.outputs);
        let unopened = inputs
            .filter_map(|(plan, handle)| handle.is_none().then_some(plan.port.as_str()))
            .chain(self.calls.unopened(self.plan))
            .chain(
                outputs.filter_map(|(plan, handle)| handle.is_none().then_some(plan.port.as_str())),
            )
            .next();
        if let Some(port) = unopened {
            return Err(self.error(port, SetupErrorKind::NotOpened));
        }
        Ok((
            self.inputs.into_iter().flatten().collect(),
            self.outputs.into_iter().flatten().collect(),
            self.calls,
        ))
    }

    /// Whether a port that the node opens has the planned type and is not open yet.
    fn check<H>(
        &self,
        port: &str,
        (planned, asked): (&str, &str),
        opened: Option<&H>,
    ) -> Result<(), SetupError> {
        if opened.is_some() {
            return Err(self.error(port, SetupErrorKind::OpenedTwice));
        }
        if planned != asked {
            let (planned, asked) = (planned.to_owned(), asked.to_owned());
            return Err(self.error(port, SetupErrorKind::Type { planned, asked }));
        }
        Ok(())
    }

    fn error(&self, name: &str, what: SetupErrorKind) -> SetupError {
        SetupError { node_type: self.plan.node_type.clone(), name: name.to_owned(), what }
    }
}

/// What the messages of a topic are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The data itself.
    Messages,
    /// Tokens of shared buffers that hold the data.
    Tokens,
}

/// Whether a node's condition chooses among the messages that are there: most have no counterpart.
fn is_choosy(plan: &NodePlan) -> bool {
    plan.condition.as_ref().is_some_and(|condition| {
        condition.approximate_time.is_some()
            || condition.all_of.is_empty() && condition.any_of.is_empty()
    })
}

fn introspection(told: crossdock_graph::Introspection) -> Introspection {
    match told {
        crossdock_graph::Introspection::Disabled => Introspection::Off,
        crossdock_graph::Introspection::Metadata => Introspection::Metadata,
        crossdock_graph::Introspection::Contents => Introspection::Contents,
    }
}

fn bytes(limit: Option<u64>) -> Option<usize> {
    limit.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn max_bytes(output: &OutputPlan) -> Option<usize> {
    output.max_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Why a node could not open a port or read a parameter.
#[derive(Debug)]
pub struct SetupError {
    node_type: String,
    /// The port or parameter.
    name: String,
    what: SetupErrorKind,
}

#[derive(Debug)]
enum SetupErrorKind {
    NotConnected(&'static str),
    OpenedTwice,
    NotOpened,
    Type {
        planned: String,
        asked: String,
    },
    TwoTopics {
        from: String,
        to: String,
    },
    Port(PortError),
    /// Its messages have to be copied, which the graph forbids: the rest of a sentence.
    Unmanaged(String),
    Stepped,
    NoParameter,
    Value {
        accepts: &'static str,
        found: String,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node_type, name, what } = self;
        match what {
            SetupErrorKind::NotConnected(kind) => write!(
                f,
                "node type `{node_type}` opens {kind} `{name}`, which is not connected; declare it \
                 in `description`, and open it with `optional_..` if a graph may leave it out"
            ),
            SetupErrorKind::OpenedTwice => write!(
                f,
                "node type `{node_type}` opens port `{name}` twice; open it once in `create`"
            ),
            SetupErrorKind::NotOpened => write!(
                f,
                "node type `{node_type}` declares port `{name}` and does not open it; open every \
                 connected port in `create`"
            ),
            SetupErrorKind::Type { planned, asked } => write!(
                f,
                "node type `{node_type}` opens port `{name}` as {asked}, but its description says \
                 {planned}; make them the same"
            ),
            SetupErrorKind::TwoTopics { from, to } => write!(
                f,
                "node type `{node_type}` opens a bridge at port `{name}` from {from} to {to}; \
                 connect both ports of a bridge to one topic"
            ),
            SetupErrorKind::Unmanaged(why) => write!(
                f,
                "node type `{node_type}`: messages of port `{name}` {why}; the graph forbids \
                 copies of the topic"
            ),
            SetupErrorKind::Stepped => write!(
                f,
                "node type `{node_type}` opens a bridge at port `{name}` to another medium, which \
                 takes its own time, so that the run cannot be repeated bit by bit; play the \
                 recording with `crossdock run --input`, or leave the node out of the graph"
            ),
            SetupErrorKind::Port(error) => {
                write!(f, "port `{name}` of node type `{node_type}` cannot be opened: {error}")
            }
            SetupErrorKind::NoParameter => write!(
                f,
                "node type `{node_type}` reads parameter `{name}`, which its description does not \
                 have; declare it there"
            ),
            SetupErrorKind::Value { accepts, found } => write!(
                f,
                "parameter `{name}` of node type `{node_type}` is {found}, but the node accepts \
                 {accepts}"
            ),
        }
    }
}

impl std::error::Error for SetupError {}
