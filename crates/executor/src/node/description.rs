//! What a node type offers and needs, declared once in code: ports, timers, parameters. Topics and
//! processes are data of a run.

use std::time::Duration;

use crossdock_graph::{
    InputDescription, InputReading, NodeTypeDescription, OutputDescription, ParameterDescription,
    ParameterValue, PredicateDescription, QosRequest, ServicePortDescription, TimerClock,
    TimerDescription,
};
use crossdock_msg::types::crossdock_interfaces::SharedBuffer;
use crossdock_msg::{Message, Service};

/// The line that opens the definition of tokens inside a definition whose messages have some.
const TOKEN_SECTION: &str = "MSG: crossdock_interfaces/SharedBuffer";

/// The ports, timers and parameters of a node type, in the order in which they were declared.
///
/// [`NodeType::description`](crate::NodeType::description) returns it. Each method declares one
/// thing and returns the description, so that declarations form a chain; none blocks, all allocate.
/// [`optional`](Self::optional) and [`qos`](Self::qos) apply to the port declared just before them.
///
/// ```
/// use crossdock_executor::NodeDescription;
/// use crossdock_msg::types::{geometry_msgs::TwistStamped, sensor_msgs::Image};
/// use std::time::Duration;
///
/// let description = NodeDescription::new()
///     .doc("Renders the course and moves the vehicle.")
///     .timer("step", Duration::from_millis(66))
///     .subscriber_latest::<TwistStamped>("cmd_vel")
///     .publisher::<Image>("image")
///     .publisher::<Image>("bird_view")
///     .optional()
///     .parameter("laps", 3, "laps until the run ends");
/// assert_eq!(description.data().outputs.len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct NodeDescription {
    data: NodeTypeDescription,
    last: LastPort,
}

/// The port to which `optional` and `qos` apply.
#[derive(Clone, Copy, Debug, Default)]
enum LastPort {
    #[default]
    None,
    Subscriber,
    Publisher,
    Client,
    Server,
}

impl NodeDescription {
    /// An empty description.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says in one sentence what the node type does.
    #[must_use]
    pub fn doc(mut self, sentence: &str) -> Self {
        sentence.clone_into(&mut self.data.doc);
        self
    }

    /// Declares a subscriber whose messages each run the node, unless the graph file says
    /// otherwise.
    #[must_use]
    pub fn subscriber<T: Message>(self, port: &str) -> Self {
        let mut description = self.subscriber_latest::<T>(port);
        description.last_subscriber().trigger = true;
        description
    }

    /// Declares a subscriber that runs nothing: its messages wait until the node asks for them. It
    /// never holds a publisher up, reliable or not: beyond its depth the oldest message is passed
    /// over and counted as skipped.
    #[must_use]
    pub fn subscriber_latest<T: Message>(mut self, port: &str) -> Self {
        self.data.inputs.push(InputDescription {
            port: port.to_owned(),
            message_type: T::TYPE_NAME.to_owned(),
            type_hash: Some(T::TYPE_HASH.to_string()),
            trigger: false,
            reading: None,
            optional: false,
            qos: QosRequest::default(),
        });
        self.last = LastPort::Subscriber;
        self
    }

    /// Like [`subscriber_latest`](Self::subscriber_latest), for a node that wants all messages
    /// since its last execution: [`Subscriber::read`](crate::Subscriber::read) gives them, oldest
    /// first, at most as many as the port's depth.
    #[must_use]
    pub fn subscriber_since_last<T: Message>(self, port: &str) -> Self {
        let mut description = self.subscriber_latest::<T>(port);
        description.last_subscriber().reading = Some(InputReading::SinceLast);
        description
    }

    /// Declares a predicate that a condition in a graph file may name, and says in one sentence
    /// when it holds. [`Node::holds`](crate::Node::holds) answers it.
    #[must_use]
    pub fn predicate(mut self, name: &str, doc: &str) -> Self {
        let (name, doc) = (name.to_owned(), doc.to_owned());
        self.data.predicates.push(PredicateDescription { name, doc });
        self
    }

    /// Declares a publisher.
    #[must_use]
    pub fn publisher<T: Message>(mut self, port: &str) -> Self {
        self.data.outputs.push(OutputDescription {
            port: port.to_owned(),
            message_type: T::TYPE_NAME.to_owned(),
            type_hash: Some(T::TYPE_HASH.to_string()),
            tokens: has_tokens::<T>(),
            optional: false,
            qos: QosRequest::default(),
        });
        self.last = LastPort::Publisher;
        self
    }

    /// Declares a client of a service: the end of each of its calls runs the node.
    #[must_use]
    pub fn client<S: Service>(mut self, port: &str) -> Self {
        self.data.clients.push(service_port::<S>(port));
        self.last = LastPort::Client;
        self
    }

    /// Declares a server of a service: each request runs the node.
    #[must_use]
    pub fn server<S: Service>(mut self, port: &str) -> Self {
        self.data.servers.push(service_port::<S>(port));
        self.last = LastPort::Server;
        self
    }

    /// Lets a graph file leave the port just declared unconnected.
    ///
    /// # Panics
    ///
    /// When no port was declared before.
    #[must_use]
    pub fn optional(mut self) -> Self {
        match self.last {
            LastPort::Subscriber => self.last_subscriber().optional = true,
            LastPort::Publisher => self.last_publisher().optional = true,
            LastPort::Client => last_port(&mut self.data.clients).optional = true,
            LastPort::Server => last_port(&mut self.data.servers).optional = true,
            LastPort::None => panic!("`optional` is about a port: declare one before it"),
        }
        self
    }

    /// Sets the quality of service of the port just declared, unless the graph file says otherwise.
    ///
    /// # Panics
    ///
    /// When no port was declared before, or the port is a client or server: theirs is fixed.
    #[must_use]
    pub fn qos(mut self, qos: QosRequest) -> Self {
        match self.last {
            LastPort::Subscriber => self.last_subscriber().qos = qos,
            LastPort::Publisher => self.last_publisher().qos = qos,
            LastPort::None | LastPort::Client | LastPort::Server => {
                panic!("`qos` is about a subscriber or publisher: declare one before it")
            }
        }
        self
    }

    /// Declares a timer that runs the node with this period, unless the graph file says otherwise.
    #[must_use]
    pub fn timer(self, name: &str, period: Duration) -> Self {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        self.any_timer(name, Some(period_ns))
    }

    /// Declares a timer that runs the node and whose period every graph file has to set.
    #[must_use]
    pub fn timer_of_graph(self, name: &str) -> Self {
        self.any_timer(name, None)
    }

    /// Sets the clock of the timer that was declared last. Without this, a timer goes by ROS time:
    /// simulated time if the node has it, else real time, which then never jumps.
    ///
    /// # Panics
    ///
    /// When no timer is declared.
    #[must_use]
    pub fn on_clock(mut self, clock: TimerClock) -> Self {
        let timer = self.data.timers.last_mut();
        timer.expect("`on_clock` is about a timer: declare one before it").clock = clock;
        self
    }

    /// A parameter with its default, which also fixes its type, and one line of documentation that
    /// names the unit.
    #[must_use]
    pub fn parameter(mut self, name: &str, default: impl Into<ParameterValue>, doc: &str) -> Self {
        self.data.parameters.push(ParameterDescription {
            name: name.to_owned(),
            default: default.into(),
            doc: doc.to_owned(),
        });
        self
    }

    /// Declares that the node can have its work run on a device: if the mapping says so,
    /// [`Setup::device`](crate::Setup::device) names the device.
    #[must_use]
    pub fn on_device(mut self) -> Self {
        self.data.on_device = true;
        self
    }

    /// The declarations as plain data, without the name of the node type.
    #[must_use]
    pub fn data(&self) -> &NodeTypeDescription {
        &self.data
    }

    /// The declarations as plain data under the name of their node type.
    pub(crate) fn into_data(mut self, node_type: &str) -> NodeTypeDescription {
        node_type.clone_into(&mut self.data.node_type);
        self.data
    }

    fn any_timer(mut self, name: &str, period_ns: Option<u64>) -> Self {
        self.data.timers.push(TimerDescription {
            name: name.to_owned(),
            period_ns,
            clock: TimerClock::default(),
        });
        self
    }

    fn last_subscriber(&mut self) -> &mut InputDescription {
        self.data.inputs.last_mut().expect("`last` says that there is a subscriber")
    }

    fn last_publisher(&mut self) -> &mut OutputDescription {
        self.data.outputs.last_mut().expect("`last` says that there is a publisher")
    }
}

fn service_port<S: Service>(port: &str) -> ServicePortDescription {
    ServicePortDescription {
        port: port.to_owned(),
        service_type: S::TYPE_NAME.to_owned(),
        type_hash: Some(S::TYPE_HASH.to_string()),
        optional: false,
    }
}

fn last_port(ports: &mut [ServicePortDescription]) -> &mut ServicePortDescription {
    ports.last_mut().expect("`last` says that there is a port")
}

/// Whether messages of the type are tokens of shared buffers, or have some in them.
fn has_tokens<T: Message>() -> bool {
    let is_inside = || T::DEFINITION.lines().any(|line| line.trim() == TOKEN_SECTION);
    T::TYPE_NAME == SharedBuffer::TYPE_NAME || is_inside()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_msg::types::sensor_msgs::Image;

    #[test]
    fn publishers_say_whether_they_hand_out_shared_buffers() {
        let description =
            NodeDescription::new().publisher::<SharedBuffer>("turn").publisher::<Image>("image");
        let tokens: Vec<bool> = description.data.outputs.iter().map(|it| it.tokens).collect();
        assert_eq!(tokens, [true, false]);
    }
}
