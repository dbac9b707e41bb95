//! What a node type offers and needs, said once in code: ports, timers, parameters.
//! It must not know graphs, topics or processes; those are data of a run.

use std::time::Duration;

use crossdock_graph::{
    InputDescription, InputReading, NodeTypeDescription, OutputDescription, ParameterDescription,
    ParameterValue, PredicateDescription, QosRequest, ServicePortDescription, TimerDescription,
};
use crossdock_msg::types::crossdock_interfaces::SharedBuffer;
use crossdock_msg::{Message, Service};

/// Head of what a definition says of the tokens that are part of its messages.
const TOKEN_SECTION: &str = "MSG: crossdock_interfaces/SharedBuffer";

/// The ports, timers and parameters of a node type, in the order in which they were declared.
///
/// Pure data, made by [`NodeType::description`](crate::NodeType::description). No method blocks; all
/// allocate. [`optional`](Self::optional) and [`qos`](Self::qos) say more of the port declared
/// just before them.
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
/// assert_eq!(description.description().outputs.len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct NodeDescription {
    description: NodeTypeDescription,
    last: LastPort,
}

/// The port that `optional` and `qos` are about.
#[derive(Clone, Copy, Debug, Default)]
enum LastPort {
    #[default]
    None,
    Input,
    Output,
    Client,
    Server,
}

impl NodeDescription {
    /// An description with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One sentence on what the node type does.
    #[must_use]
    pub fn doc(mut self, sentence: &str) -> Self {
        sentence.clone_into(&mut self.description.doc);
        self
    }

    /// An input on which each message runs the node, unless the graph says otherwise.
    #[must_use]
    pub fn subscriber<T: Message>(self, port: &str) -> Self {
        self.any_input::<T>(port, true)
    }

    /// An input that runs nothing: its messages wait until the node asks for them. It never holds
    /// a publisher up, reliable or not: beyond its depth the oldest is passed over and counted as
    /// skipped.
    #[must_use]
    pub fn subscriber_latest<T: Message>(self, port: &str) -> Self {
        self.any_input::<T>(port, false)
    }

    /// As [`subscriber_latest`](Self::subscriber_latest), for a node that wants all messages since its last
    /// execution: [`Subscriber::read`](crate::Subscriber::read) gives them, oldest first, as many as
    /// the input's depth.
    #[must_use]
    pub fn subscriber_since_last<T: Message>(self, port: &str) -> Self {
        let mut description = self.any_input::<T>(port, false);
        description.last_input().reading = Some(InputReading::SinceLast);
        description
    }

    /// A predicate that a graph's condition may name, and one sentence on when it holds:
    /// [`Node::holds`](crate::Node::holds) answers it.
    #[must_use]
    pub fn predicate(mut self, name: &str, doc: &str) -> Self {
        let (name, doc) = (name.to_owned(), doc.to_owned());
        self.description.predicates.push(PredicateDescription { name, doc });
        self
    }

    /// An output.
    #[must_use]
    pub fn publisher<T: Message>(mut self, port: &str) -> Self {
        self.description.outputs.push(OutputDescription {
            port: port.to_owned(),
            message_type: T::TYPE_NAME.to_owned(),
            type_hash: Some(T::TYPE_HASH.to_string()),
            tokens: has_tokens::<T>(),
            optional: false,
            qos: QosRequest::default(),
        });
        self.last = LastPort::Output;
        self
    }

    /// A client of a service: the end of each of its calls runs the node.
    #[must_use]
    pub fn client<S: Service>(mut self, port: &str) -> Self {
        self.description.clients.push(service_port::<S>(port));
        self.last = LastPort::Client;
        self
    }

    /// A server: each request runs the node.
    #[must_use]
    pub fn server<S: Service>(mut self, port: &str) -> Self {
        self.description.servers.push(service_port::<S>(port));
        self.last = LastPort::Server;
        self
    }

    /// A graph may leave the port just declared unconnected.
    ///
    /// # Panics
    ///
    /// When no port was declared before.
    #[must_use]
    pub fn optional(mut self) -> Self {
        match self.last {
            LastPort::Input => self.last_input().optional = true,
            LastPort::Output => self.last_output().optional = true,
            LastPort::Client => last_port(&mut self.description.clients).optional = true,
            LastPort::Server => last_port(&mut self.description.servers).optional = true,
            LastPort::None => panic!("`optional` is about a port: declare one before it"),
        }
        self
    }

    /// The quality of service of the port just declared, unless the graph says otherwise.
    ///
    /// # Panics
    ///
    /// When no port was declared before, or it is one of a service: what these offer is settled.
    #[must_use]
    pub fn qos(mut self, qos: QosRequest) -> Self {
        match self.last {
            LastPort::Input => self.last_input().qos = qos,
            LastPort::Output => self.last_output().qos = qos,
            LastPort::None | LastPort::Client | LastPort::Server => {
                panic!("`qos` is about an input or output: declare one before it")
            }
        }
        self
    }

    /// A timer that runs the node, with its period unless the graph says otherwise.
    #[must_use]
    pub fn timer(self, name: &str, period: Duration) -> Self {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        self.any_timer(name, Some(period_ns))
    }

    /// A timer that runs the node and whose period every graph has to say.
    #[must_use]
    pub fn timer_of_graph(self, name: &str) -> Self {
        self.any_timer(name, None)
    }

    /// A parameter with its default, which also fixes its type, and one line of documentation that
    /// names the unit.
    #[must_use]
    pub fn parameter(mut self, name: &str, default: impl Into<ParameterValue>, doc: &str) -> Self {
        self.description.parameters.push(ParameterDescription {
            name: name.to_owned(),
            default: default.into(),
            doc: doc.to_owned(),
        });
        self
    }

    /// It can leave its work to a device: where the mapping says so,
    /// [`Setup::device`](crate::Setup::device) names one.
    #[must_use]
    pub fn on_device(mut self) -> Self {
        self.description.on_device = true;
        self
    }

    /// The same as data, without the name of the node type.
    #[must_use]
    pub fn description(&self) -> &NodeTypeDescription {
        &self.description
    }

    pub(crate) fn into_description(mut self, node_type: &str) -> NodeTypeDescription {
        node_type.clone_into(&mut self.description.node_type);
        self.description
    }

    fn any_input<T: Message>(mut self, port: &str, trigger: bool) -> Self {
        self.description.inputs.push(InputDescription {
            port: port.to_owned(),
            message_type: T::TYPE_NAME.to_owned(),
            type_hash: Some(T::TYPE_HASH.to_string()),
            trigger,
            reading: None,
            optional: false,
            qos: QosRequest::default(),
        });
        self.last = LastPort::Input;
        self
    }

    fn any_timer(mut self, name: &str, period_ns: Option<u64>) -> Self {
        self.description.timers.push(TimerDescription { name: name.to_owned(), period_ns });
        self
    }

    fn last_input(&mut self) -> &mut InputDescription {
        self.description.inputs.last_mut().expect("`last` says that there is an input")
    }

    fn last_output(&mut self) -> &mut OutputDescription {
        self.description.outputs.last_mut().expect("`last` says that there is an output")
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
    fn outputs_say_whether_they_hand_out_shared_buffers() {
        let description =
            NodeDescription::new().publisher::<SharedBuffer>("turn").publisher::<Image>("image");
        let tokens: Vec<bool> =
            description.description.outputs.iter().map(|it| it.tokens).collect();
        assert_eq!(tokens, [true, false]);
    }
}
