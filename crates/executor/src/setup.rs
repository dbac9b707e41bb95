//! What a node gets while it is made: its ports, opened on the topics of the plan, and its
//! parameters. It must not know how the executor will run the node.

use std::fmt;
use std::sync::Arc;

use crossdock_comm::service::{ClientHandle, ServerHandle};
use crossdock_comm::{
    BackPressure, Bridge, BridgeOptions, Buffers, Client, ClientOptions, Directions, Doorbell,
    Durability, InputHandle, MemoryMaker, OutputHandle, Participant, PortError, PortGroup,
    Publisher, PublisherOptions, Qos, Reading, Reliability, Server, ServerOptions, StatusTable,
    Subscriber, SubscriberOptions,
};
use crossdock_graph::{Chain, Copies, DevicePlan, InputPlan, InputReading, NodePlan, OutputPlan};
use crossdock_msg::{Message, Schema, Service};

use crate::origin::Tracing;
use crate::parameter::Parameter;
use crate::slots::Purpose;
use crate::uploaders::{UploadSite, Uploaders};

/// What a node gets while it is made. Opening a port makes system calls and allocates; nothing
/// here waits for another process.
#[derive(Debug)]
pub struct Setup<'a> {
    plan: &'a NodePlan,
    participant: &'a Participant,
    doorbell: &'a Doorbell,
    group: &'a PortGroup,
    chains: &'a [Chain],
    /// Publishers outside wait for inputs of conditions, whatever these make of the messages.
    holds_up_outside: bool,
    /// The run is stepped: messages wake nobody.
    stepped: bool,
    /// What the node has opened, beside `plan.inputs` and `plan.outputs`.
    inputs: Vec<Option<OpenedInput>>,
    outputs: Vec<Option<OutputHandle>>,
    /// Beside `plan.clients` and `plan.servers`.
    calls: OpenedCalls,
    /// Who knows devices.
    uploaders: Option<&'static dyn Uploaders>,
    warnings: Vec<String>,
}

/// The clients and servers that a node has opened.
#[derive(Debug, Default)]
pub(crate) struct OpenedCalls {
    pub(crate) clients: Vec<Option<ClientHandle>>,
    pub(crate) servers: Vec<Option<ServerHandle>>,
}

/// The handles of all ports of a node, beside those of its plan.
pub(crate) type Opened = (Vec<OpenedInput>, Vec<OutputHandle>, OpenedCalls);

impl OpenedCalls {
    /// Connected ports that the node has not opened.
    fn unopened<'p>(&self, plan: &'p NodePlan) -> Vec<&'p str> {
        let clients = plan.clients.iter().zip(&self.clients);
        let clients = clients.filter(|(_, handle)| handle.is_none());
        let servers = plan.servers.iter().zip(&self.servers);
        let servers = servers.filter(|(_, handle)| handle.is_none());
        let ports = clients.map(|(plan, _)| plan.port.as_str());
        ports.chain(servers.map(|(plan, _)| plan.port.as_str())).collect()
    }
}

/// An input that a node has opened.
#[derive(Clone, Debug)]
pub(crate) struct OpenedInput {
    pub(crate) handle: InputHandle,
    /// What it is watched for; `None`: its messages wait until the node asks for them.
    pub(crate) purpose: Option<Purpose>,
}

impl<'a> Setup<'a> {
    pub(crate) fn new(
        plan: &'a NodePlan,
        participant: &'a Participant,
        doorbell: &'a Doorbell,
        group: &'a PortGroup,
        chains: &'a [Chain],
        stepped: bool,
    ) -> Self {
        let inputs = vec![None; plan.inputs.len()];
        let outputs = vec![None; plan.outputs.len()];
        let holds_up_outside = false;
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
            holds_up_outside,
            stepped,
            inputs,
            outputs,
            calls,
            uploaders: None,
            warnings: Vec::new(),
        }
    }

    /// Who knows devices: makes instances of shared buffers, and memory that drivers move.
    pub(crate) fn know_devices_by(&mut self, uploaders: Option<&'static dyn Uploaders>) {
        self.uploaders = uploaders;
    }

    /// Whether publishers outside wait for inputs of all conditions: where nothing may be lost.
    pub(crate) fn hold_up_outside(&mut self, holds_up_outside: bool) {
        self.holds_up_outside = holds_up_outside;
    }

    /// The name of the node in the graph.
    #[must_use]
    pub fn node(&self) -> &'a str {
        &self.plan.name
    }

    /// The device that the node leaves its work to, and how the messages of its topics get there; `None`:
    /// it computes on the processor. Only for node types that say [`NodeDescription::on_device`].
    ///
    /// [`NodeDescription::on_device`]: crate::NodeDescription::on_device
    #[must_use]
    pub fn device(&self) -> Option<&'a DevicePlan> {
        self.plan.device.as_ref()
    }

    /// Has the run tell its user something about this node, once: that it goes on without what its
    /// mapping prefers. A sentence.
    pub fn warn(&mut self, sentence: String) {
        self.warnings.push(format!("node `{}`: {sentence}", self.plan.name));
    }

    /// What has been said by [`Setup::warn`].
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// What to make of the origins of a topic's messages, for nodes that take them by a bridge.
    #[must_use]
    pub fn tracing(&self, topic: &str) -> Tracing {
        Tracing::of(topic, self.chains)
    }

    /// The status table on which the process shows what it does: for nodes that have more to tell than their
    /// ports and executions.
    #[must_use]
    pub fn status_table(&self) -> &'a StatusTable {
        self.participant.status_table()
    }

    /// The subscriber of an input port. Every connected port is opened once.
    ///
    /// # Errors
    ///
    /// The description has no such input, the graph leaves it unconnected, its type is another, it is
    /// open already, or the port cannot be had.
    pub fn subscriber<T: Message>(&mut self, port: &str) -> Result<Subscriber<T>, SetupError> {
        let index = self.plan.inputs.iter().position(|input| input.port == port);
        let index = index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("input")))?;
        let input = &self.plan.inputs[index];
        self.check::<T>(port, &input.message_type, self.inputs[index].is_some())?;
        let purpose = Purpose::of(self.plan, input);
        let options = SubscriberOptions {
            node: &self.plan.name,
            topic: &input.topic,
            qos: qos(&input.qos),
            doorbell: purpose.map(|_| self.doorbell).filter(|_| !self.stepped),
            group: Some(self.group),
        };
        let back_pressure = match purpose {
            Some(Purpose::Trigger | Purpose::Command | Purpose::Polled) => BackPressure::All,
            // All that comes within a step is looked at in its turn; more than has room is an error,
            // whoever publishes it.
            Some(Purpose::Condition) if self.stepped => BackPressure::All,
            // The counterpart may never come, and a publisher on this thread cannot wait for it.
            Some(Purpose::Condition) if self.holds_up_outside || !is_choosy(self.plan) => {
                BackPressure::Outside
            }
            // It takes the newest or what fits best, of what is there.
            Some(Purpose::Condition) => BackPressure::Never,
            // The node may never ask.
            None => BackPressure::Never,
        };
        let device = self.plan.device.as_ref();
        let topic = device.and_then(|device| device.topics.get(&input.topic));
        let opened = match topic.is_some_and(|topic| topic.in_slabs) {
            // Whether it does the node finds out when it opens its device.
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

    /// The shared buffers that the node makes or is given tokens of. Allocates.
    #[must_use]
    pub fn buffers(&self) -> Buffers {
        self.participant.buffers(&self.plan.name)
    }

    /// The same for a node that hands out tokens of what it makes with this publisher: where nodes of one device
    /// get them in several executors and copy what they claim, the buffers stand in memory of that device
    /// once, for all of them. Opens the device then: blocks, for a second the first time in a process.
    ///
    /// Where that is not possible the run says so, and each of these executors has memory of its own.
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
                    "its shared buffers have no memory of {} for all who copy to it, and each executor \
                     there has its own: {error}",
                    plan.device
                )),
            }
        }
        warnings.into_iter().for_each(|sentence| self.warn(sentence));
        let topic = handle.topic().to_owned();
        self.buffers_by(&topic).with_instances(makers)
    }

    /// The same for a node that hands out tokens of what it makes in requests of a service: where the mapping says
    /// `managed` of it, the buffers lie in memory that the driver of a device moves.
    #[must_use]
    pub fn buffers_for_calls<S: Service>(&mut self, client: &Client<S>) -> Buffers {
        let service = client.service().to_owned();
        self.buffers_by(&service)
    }

    fn buffers_by(&mut self, name: &str) -> Buffers {
        match self.managed(name, true) {
            None => self.buffers(),
            Some(Ok(memory)) => self.buffers().in_memory(memory),
            Some(Err(why)) => {
                self.warn(format!("its shared buffers {why}"));
                self.buffers()
            }
        }
    }

    /// Who makes the memory of a topic's messages, or of the buffers whose tokens it carries, where a driver is to
    /// move it; or why there is nobody: the rest of a sentence.
    fn managed(&self, name: &str, tokens: bool) -> Option<Result<Box<dyn MemoryMaker>, String>> {
        let plan = self.plan.managed.iter().find(|it| it.name == name && it.tokens == tokens)?;
        let made = self.uploaders.ok_or_else(|| {
            "its package does not say who knows devices (`Package::uploaders`)".to_owned()
        });
        Some(made.and_then(|uploaders| uploaders.memory(&plan.device)).map_err(|why| {
            let device = &plan.device;
            format!("do not lie in memory that {device} moves, and are copied to it: {why}")
        }))
    }

    /// Both ends of a topic for a node that carries it to another medium, see
    /// [`Participant::bridge`]: the messages of input port `input` go out, what comes in is published
    /// on output port `output`, which is on the same topic. At least one of them is given.
    ///
    /// A message on the input has the node polled ([`Trigger::Poll`](crate::Trigger::Poll)) and waits
    /// until it is taken. What is taken counts as processed when the node says so
    /// ([`InputHandle::mark_processed`]): it may be under way in the other medium when `execute`
    /// returns.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber), or the two ports are on different topics.
    pub fn bridge(
        &mut self,
        schema: &Arc<Schema>,
        input: Option<&str>,
        output: Option<&str>,
    ) -> Result<Bridge, SetupError> {
        let plan = self.plan;
        let port = input.or(output).unwrap_or_default();
        if self.stepped {
            return Err(self.error(port, SetupErrorKind::Stepped));
        }
        let not_connected = |port, what| self.error(port, SetupErrorKind::NotConnected(what));
        let find = |port: &str| plan.inputs.iter().position(|it| it.port == port);
        let input = input.map(|it| find(it).ok_or_else(|| not_connected(it, "input")));
        let input = input.transpose()?;
        let find = |port: &str| plan.outputs.iter().position(|it| it.port == port);
        let output = output.map(|it| find(it).ok_or_else(|| not_connected(it, "output")));
        let output = output.transpose()?;
        let of_input = input.map(|index| &plan.inputs[index]);
        let of_output = output.map(|index| &plan.outputs[index]);
        let (topic, directions) = match (of_input, of_output) {
            (Some(input), Some(output)) if input.topic != output.topic => {
                let (input, output) = (input.topic.clone(), output.topic.clone());
                return Err(self.error(port, SetupErrorKind::TwoTopics { input, output }));
            }
            (Some(input), Some(_)) => (&input.topic, Directions::Both),
            (Some(input), None) => (&input.topic, Directions::Out),
            (None, Some(output)) => (&output.topic, Directions::In),
            (None, None) => return Err(not_connected(port, "bridge")),
        };
        let name = schema.type_name();
        if let Some(input) = of_input {
            self.check_type(port, (&input.message_type, name), self.is_open(input))?;
        }
        if let (Some(output), Some(index)) = (of_output, output) {
            self.check_type(port, (&output.message_type, name), self.outputs[index].is_some())?;
        }
        let requested = of_input.map(|it| qos(&it.qos));
        let offered = of_output.map(|it| qos(&it.qos));
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

    fn is_open(&self, input: &InputPlan) -> bool {
        let mut ports = self.plan.inputs.iter().zip(&self.inputs);
        ports.any(|(plan, opened)| plan.port == input.port && opened.is_some())
    }

    /// The publisher of an output port. Every connected port is opened once.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn publisher<T: Message>(&mut self, port: &str) -> Result<Publisher<T>, SetupError> {
        let index = self.plan.outputs.iter().position(|output| output.port == port);
        let index =
            index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("output")))?;
        let output = &self.plan.outputs[index];
        self.check::<T>(port, &output.message_type, self.outputs[index].is_some())?;
        let options = PublisherOptions {
            node: &self.plan.name,
            topic: &output.topic,
            qos: qos(&output.qos),
            max_bytes: max_bytes(output),
            group: Some(self.group),
        };
        let opened = match self.managed(&output.topic, false) {
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

    /// The subscriber of an optional input port; `None` when the graph leaves it unconnected.
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

    /// The publisher of an optional output port; `None` when the graph leaves it unconnected.
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

    /// The client of a port. Every connected port is opened once.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn client<S: Service>(&mut self, port: &str) -> Result<Client<S>, SetupError> {
        let index = self.plan.clients.iter().position(|client| client.port == port);
        let index =
            index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("client")))?;
        let plan = &self.plan.clients[index];
        let open = self.calls.clients[index].is_some();
        self.check_type(port, (&plan.service_type, S::TYPE_NAME), open)?;
        let options = ClientOptions {
            node: &self.plan.name,
            service: &plan.service,
            depth: plan.depth as usize,
            max_request_bytes: bytes(plan.max_request_bytes),
            doorbell: Some(self.doorbell),
            group: Some(self.group),
            ..ClientOptions::default()
        };
        let client = self.participant.client::<S>(options);
        let client = client.map_err(|error| self.error(port, SetupErrorKind::Port(error)))?;
        self.calls.clients[index] = Some(client.handle());
        Ok(client)
    }

    /// The client of an optional port; `None` when the graph leaves it unconnected.
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

    /// The server of a port. Every connected port is opened once.
    ///
    /// # Errors
    ///
    /// As for [`subscriber`](Self::subscriber).
    pub fn server<S: Service>(&mut self, port: &str) -> Result<Server<S>, SetupError> {
        let index = self.plan.servers.iter().position(|server| server.port == port);
        let index =
            index.ok_or_else(|| self.error(port, SetupErrorKind::NotConnected("server")))?;
        let plan = &self.plan.servers[index];
        let open = self.calls.servers[index].is_some();
        self.check_type(port, (&plan.service_type, S::TYPE_NAME), open)?;
        let options = ServerOptions {
            node: &self.plan.name,
            service: &plan.service,
            max_response_bytes: bytes(plan.max_response_bytes),
            doorbell: Some(self.doorbell),
            group: Some(self.group),
            ..ServerOptions::default()
        };
        let server = self.participant.server::<S>(options);
        let server = server.map_err(|error| self.error(port, SetupErrorKind::Port(error)))?;
        self.calls.servers[index] = Some(server.handle());
        Ok(server)
    }

    /// The server of an optional port; `None` when the graph leaves it unconnected.
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

    /// The value of a parameter: from the graph, else its default.
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

    /// The handles of all ports, beside those of the plan.
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

    fn check<T: Message>(&self, port: &str, planned: &str, open: bool) -> Result<(), SetupError> {
        self.check_type(port, (planned, T::TYPE_NAME), open)
    }

    fn check_type(
        &self,
        port: &str,
        (planned, asked): (&str, &str),
        open: bool,
    ) -> Result<(), SetupError> {
        if open {
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

/// Whether a node's condition chooses among the messages that are there: most have no counterpart.
fn is_choosy(plan: &NodePlan) -> bool {
    plan.condition.as_ref().is_some_and(|condition| {
        condition.approximate_time.is_some()
            || condition.all_of.is_empty() && condition.any_of.is_empty()
    })
}

fn qos(plan: &crossdock_graph::Qos) -> Qos {
    use std::time::Duration;
    let timeout = Duration::from_millis(plan.timeout_ms.into());
    Qos {
        reliability: match plan.reliability {
            crossdock_graph::Reliability::Reliable => Reliability::Reliable { timeout },
            crossdock_graph::Reliability::BestEffort => Reliability::BestEffort,
        },
        depth: plan.depth as usize,
        durability: match plan.durability {
            crossdock_graph::Durability::Volatile => Durability::Volatile,
            crossdock_graph::Durability::TransientLocal => Durability::TransientLocal,
        },
    }
}

fn bytes(limit: Option<u64>) -> Option<usize> {
    limit.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn max_bytes(output: &OutputPlan) -> Option<usize> {
    output.max_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Why a node could not have a port or a parameter.
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
        input: String,
        output: String,
    },
    Port(PortError),
    /// Its messages have to be copied, and may not be: the rest of a sentence.
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
            SetupErrorKind::TwoTopics { input, output } => write!(
                f,
                "node type `{node_type}` opens a bridge at port `{name}` from {input} to {output}; \
                 both ends of a bridge are on one topic"
            ),
            SetupErrorKind::Unmanaged(why) => write!(
                f,
                "node type `{node_type}`: messages of port `{name}` {why}; the graph forbids copies of the \
                 topic"
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
