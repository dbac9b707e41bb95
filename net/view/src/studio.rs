//! Foxglove's server: channels for topics, services, parameters, time and the graph. The `foxglove`
//! crate speaks the protocol.
//!
//! It listens on an address that nobody can guess, of the 2^24 that only this computer has, and a
//! port of the system's choice: `front` lets connections in and passes them on.

use crate::parameters::Parameters;
use crate::watcher::Shared;
use crossdock_comm::{GraphSnapshot, PortKind};
use crossdock_msg::Schema;
use foxglove::websocket::service::Service;
use foxglove::websocket::{
    Capability, ChannelView, Client, ConnectionGraph, Parameter, ServerListener, Status,
    StatusLevel,
};
use foxglove::{
    ChannelBuilder, ChannelId, Context, FoxgloveError, PartialMetadata, RawChannel,
    WebSocketServerHandle,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::runtime::Handle;

/// How messages, requests and responses are encoded, and their types.
const ENCODING: &str = "cdr";
const SCHEMA_ENCODING: &str = "ros2msg";

/// Frames that wait for one client until its relay reads them; the oldest messages go first. Large
/// ones are bounded by `flow`. More answers than the shortest words that the relay passes at once
/// can cause: a client whose answers find no room is let go.
const BACKLOG: usize = 512;

/// The server with its channels.
pub(crate) struct Studio {
    context: Arc<Context>,
    server: WebSocketServerHandle,
    address: SocketAddr,
}

impl Studio {
    /// Starts it on a runtime. `shared` hears of clients and their wishes, but for those of
    /// `parameters`.
    ///
    /// # Errors
    /// No address of this computer can be listened on.
    pub(crate) fn start(
        runtime: &Handle,
        shared: &Arc<Shared>,
        name: &str,
        parameters: Option<Parameters>,
    ) -> Result<Self, FoxgloveError> {
        let context = Context::new();
        let [a, b, c, _] = random_bytes().to_ne_bytes();
        // Of 127.0.0.0/8, but not the first and last address.
        let address = IpAddr::V4(Ipv4Addr::new(127, a, b, c.clamp(1, 254)));
        let mut server = context
            .websocket_server()
            .name(name)
            .bind(address.to_string(), 0)
            .capabilities([Capability::Time, Capability::Services, Capability::ConnectionGraph])
            .supported_encodings([ENCODING])
            .message_backlog_size(BACKLOG)
            .listener(Arc::new(Listener(Arc::clone(shared))))
            .tokio_runtime(runtime);
        if let Some(parameters) = parameters {
            server = server.parameter_handler(Arc::new(parameters));
        }
        let server = runtime.block_on(server.start())?;
        let address = SocketAddr::new(address, server.port());
        Ok(Self { context, server, address })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether a client is connected.
    pub(crate) fn has_clients(&self) -> bool {
        self.server.client_count() > 0
    }

    /// Offers a topic.
    ///
    /// # Errors
    /// None for a channel with an encoding.
    pub(crate) fn offer(&self, topic: &str, schema: &Schema) -> Result<Channel, FoxgloveError> {
        let channel = ChannelBuilder::new(topic)
            .context(&self.context)
            .message_encoding(ENCODING)
            .schema(foxglove_schema(schema))
            .build_raw()?;
        Ok(Channel { channel })
    }

    pub(crate) fn add_service(&self, service: Service) -> Result<(), FoxgloveError> {
        self.server.add_services([service])
    }

    pub(crate) fn remove_service(&self, name: &str) {
        self.server.remove_services([name]);
    }

    /// Tells the clients that follow these parameters.
    pub(crate) fn tell_parameters(&self, parameters: Vec<Parameter>) {
        self.server.publish_parameter_values(parameters);
    }

    /// Tells clients the time of the graph.
    pub(crate) fn tell_time(&self, now_ns: u64) {
        self.server.broadcast_time(now_ns);
    }

    /// Shows a note about a topic until it is taken back.
    pub(crate) fn note(&self, topic: &str, sentence: String) {
        self.server.publish_status(Status::new(StatusLevel::Info, sentence).with_id(topic));
    }

    /// Says how many large messages no viewer got so far.
    pub(crate) fn tell_left_out(&self, left_out: u64) {
        let sentence = format!(
            "{left_out} large messages were left out: all viewers together take them more slowly \
             than they are published; show fewer topics, or close viewers"
        );
        self.server.publish_status(Status::new(StatusLevel::Warning, sentence).with_id("behind"));
    }

    pub(crate) fn take_note_back(&self, topic: &str) {
        self.server.remove_status(vec![topic.to_owned()]);
    }

    /// Shows who publishes, subscribes and serves what.
    pub(crate) fn show_graph(&self, snapshot: &GraphSnapshot) {
        let by_name = |kind: PortKind| {
            let mut ends: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (_, port) in snapshot.ports(kind) {
                ends.entry(&port.topic).or_default().push(&port.node);
            }
            ends
        };
        let mut graph = ConnectionGraph::new();
        for (topic, nodes) in by_name(PortKind::Publisher) {
            graph.set_published_topic(topic, nodes);
        }
        for (topic, nodes) in by_name(PortKind::Subscriber) {
            graph.set_subscribed_topic(topic, nodes);
        }
        for (service, nodes) in by_name(PortKind::Server) {
            graph.set_advertised_service(service, nodes);
        }
        // It fails only for a server without this capability.
        let _ = self.server.publish_connection_graph(graph);
    }
}

/// A topic as clients see it. Dropping it takes it back.
pub(crate) struct Channel {
    channel: Arc<RawChannel>,
}

impl Channel {
    pub(crate) fn id(&self) -> ChannelId {
        self.channel.id()
    }

    /// Whether a client has subscribed to it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.channel.has_sinks()
    }

    /// Sends a message to the clients that have subscribed.
    pub(crate) fn send(&self, cdr: &[u8], stamp_ns: u64) {
        self.channel.log_with_meta(cdr, PartialMetadata::with_log_time(stamp_ns));
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.channel.close();
    }
}

/// What Foxglove is told of a service's type.
pub(crate) fn service_schema(
    schema: &crossdock_msg::ServiceSchema,
) -> foxglove::websocket::service::ServiceSchema {
    foxglove::websocket::service::ServiceSchema::new(schema.type_name())
        .with_request(ENCODING, foxglove_schema(schema.request()))
        .with_response(ENCODING, foxglove_schema(schema.response()))
}

fn foxglove_schema(schema: &Schema) -> foxglove::Schema {
    let text = schema.definition().as_bytes().to_vec();
    foxglove::Schema::new(schema.type_name(), SCHEMA_ENCODING, text)
}

/// Wakes the watcher when clients come, go, subscribe and unsubscribe.
struct Listener(Arc<Shared>);

impl ServerListener for Listener {
    fn on_subscribe(&self, _client: Client, channel: ChannelView<'_>) {
        self.0.follow_channel(channel.id(), |viewers| viewers + 1);
    }

    fn on_unsubscribe(&self, _client: Client, channel: ChannelView<'_>) {
        self.0.follow_channel(channel.id(), |viewers| viewers.saturating_sub(1));
    }

    fn on_client_connect(&self) {
        self.0.wake();
    }

    fn on_parameters_subscribe(&self, names: Vec<String>) {
        self.0.followed.add(&names);
        self.0.wake();
    }

    fn on_parameters_unsubscribe(&self, names: Vec<String>) {
        self.0.followed.remove(&names);
        self.0.wake();
    }
}

fn random_bytes() -> u32 {
    let mut bytes = [0; 4];
    // At worst the address is the same in each run: the gate of `front` stays what it is.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u32::from_ne_bytes(bytes)
}
