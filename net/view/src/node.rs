//! The node that a mapping places, or that `crossdock view` starts.

use crate::browser;
use crate::gate::Gate;
use crate::view::{View, ViewOptions};
use crossdock_executor::{
    Context, Logger, Node, NodeDescription, NodeError, NodeType, Setup, TimerClock, log_info,
};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Where Foxglove looks for servers, unless it is told.
const PORT: i64 = 8765;

/// How often the node looks whether its view is alive.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// Serves a page and Foxglove with all topics of the graph. It has no ports of its own: it reads
/// topics while somebody looks at them.
#[derive(Debug)]
pub struct ViewNode {
    view: View,
    /// Its lines are there for those who come later, as long as it is.
    _logger: Logger,
}

impl NodeType for ViewNode {
    const NAME: &'static str = "view";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Shows the running graph in a browser and in Foxglove.")
            .timer("check", CHECK_PERIOD)
            .on_clock(TimerClock::Steady)
            .parameter("address", "127.0.0.1", "address of this computer to listen on")
            .parameter("port", PORT, "TCP port; 0: one that is free")
            .parameter(
                "hosts",
                Vec::<String>::new(),
                "names by which browsers reach this computer, beside localhost and addresses",
            )
            .parameter(
                "origins",
                Vec::<String>::new(),
                "further pages that may connect as Foxglove does, such as https://viewer.example",
            )
            .parameter("interfaces", Vec::<String>::new(), "folders with service definitions")
            .parameter("announce", false, "whether standard error says where the view is")
            .parameter("browser", false, "whether to open the page in the user's browser")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let address: String = setup.parameter("address")?;
        let address: IpAddr = address.parse().map_err(|_| {
            NodeError::new(format!(
                "parameter `address` is `{address}`, which is no address; set it to 127.0.0.1 or to \
                 another address of this computer"
            ))
        })?;
        let interfaces: Vec<String> = setup.parameter("interfaces")?;
        let options = ViewOptions {
            node: setup.node().to_owned(),
            address,
            port: setup.parameter("port")?,
            gate: Gate::new(setup.parameter("hosts")?, setup.parameter("origins")?).map_err(
                |error| NodeError::new(format!("parameter `hosts` or `origins`: {error}")),
            )?,
            interfaces: interfaces.into_iter().map(PathBuf::from).collect(),
        };
        let view = View::start(setup.participant(), options)
            .map_err(|error| NodeError::new(error.to_string()))?;
        let address = view.address();
        let (logger, place) = (setup.logger()?, browser::place(address));
        log_info!(logger, "http://{place} shows the graph; Foxglove connects to ws://{place}");
        if setup.parameter("announce")? {
            browser::announce(address);
        }
        if setup.parameter("browser")? {
            browser::open(address);
        }
        Ok(Self { view, _logger: logger })
    }
}

impl Node for ViewNode {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        match self.view.is_alive() {
            true => Ok(()),
            false => Err(NodeError::new("the thread that watches the graph has ended")),
        }
    }
}
