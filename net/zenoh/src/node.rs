//! The node that a mapping places, or that `crossdock net` starts.

use crate::bridge::{Net, NetOptions};
use crate::kept::KEPT_BYTES_MAX;
use crate::session::Joining;
use crossdock_comm::ParticipantOptions;
use crossdock_executor::{
    Context, Logger, Node, NodeDescription, NodeError, NodeType, Setup, TimerClock, log_info,
};
use crossdock_wire::Hashes;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// How often the node says what its bridge has to say.
const CHECK_PERIOD: Duration = Duration::from_millis(500);

/// More than any topic allows.
const BYTES_MAX: i64 = 1 << 36;

/// Joins the graph to a network in the format of rmw_zenoh. It has no ports of its own: ports of
/// nodes over there are here while they are there.
#[derive(Debug)]
pub struct NetNode {
    net: Net,
    announces: bool,
    logger: Logger,
}

impl NodeType for NetNode {
    const NAME: &'static str = "net";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Joins the graph to other computers over zenoh, as rmw_zenoh does.")
            .timer("check", CHECK_PERIOD)
            .on_clock(TimerClock::Steady)
            .parameter("router", false, "whether to be a router; else a router is connected to")
            .parameter(
                "listen",
                Vec::<String>::new(),
                "where the router listens, such as tcp/0.0.0.0:7447; empty: this computer only",
            )
            .parameter(
                "connect",
                Vec::<String>::new(),
                "routers to connect to, such as tcp/robot.lan:7447; empty: the one here",
            )
            .parameter("config", "", "configuration file of zenoh, instead of these; empty: none")
            .parameter("humble", false, "whether ROS 2 Humble is spoken with, without type hashes")
            .parameter("max_bytes", BYTES_MAX, "largest message from the network")
            .parameter(
                "max_kept_bytes",
                KEPT_BYTES_MAX.cast_signed(),
                "memory that publishers on the network may take here, in bytes",
            )
            .parameter("interfaces", Vec::<String>::new(), "folders with definitions of types")
            .parameter("announce", false, "whether standard error says what the log says")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let config: String = setup.parameter("config")?;
        let (listen, connect) = (setup.parameter("listen")?, setup.parameter("connect")?);
        let router: bool = setup.parameter("router")?;
        let joining = match (config.is_empty(), router) {
            (false, _) => Joining::File(PathBuf::from(config)),
            (true, true) => Joining::Router { listen, connect },
            (true, false) => Joining::Client { connect },
        };
        let humble: bool = setup.parameter("humble")?;
        let interfaces: Vec<String> = setup.parameter("interfaces")?;
        let options = NetOptions {
            participant: ParticipantOptions::new(setup.participant().domain_id(), setup.node()),
            joining,
            hashes: if humble { Hashes::NotSupported } else { Hashes::Rihs01 },
            interfaces: interfaces.into_iter().map(PathBuf::from).collect(),
            bytes_max: Some(bytes_max(setup.parameter("max_bytes")?)?),
            kept_bytes_max: kept_bytes_max(setup.parameter("max_kept_bytes")?)?,
        };
        let net = Net::start(options).map_err(|error| NodeError::new(error.to_string()))?;
        Ok(Self { net, announces: setup.parameter("announce")?, logger: setup.logger()? })
    }
}

/// The largest message that the parameter `max_bytes` lets in.
fn bytes_max(parameter: i64) -> Result<usize, NodeError> {
    usize::try_from(parameter).ok().filter(|max| *max > 0).ok_or_else(|| {
        NodeError::new(format!(
            "parameter `max_bytes` is {parameter}, and a message has at least one byte; set it to \
             the size of the largest message that may come from the network, or leave it out"
        ))
    })
}

/// The memory that the parameter `max_kept_bytes` allows.
fn kept_bytes_max(parameter: i64) -> Result<u64, NodeError> {
    u64::try_from(parameter).map_err(|_| {
        NodeError::new(format!(
            "parameter `max_kept_bytes` is {parameter}, and memory has no less than 0 bytes; set it to \
             what publishers on the network may take here, or leave it out"
        ))
    })
}

impl NetNode {
    fn say(&self, note: &str) {
        log_info!(self.logger, "{note}");
        if self.announces {
            // Nobody is left to hear that it could not be said.
            let _ = writeln!(std::io::stderr(), "{note}");
        }
    }
}

impl Drop for NetNode {
    /// At the end it says what it has carried, and what was lost.
    fn drop(&mut self) {
        self.net.end();
        self.net.take_notes().iter().for_each(|note| self.say(note));
        self.net.counters().sentences().iter().for_each(|sentence| self.say(sentence));
    }
}

impl Node for NetNode {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        self.net.take_notes().iter().for_each(|note| self.say(note));
        match self.net.is_alive() {
            true => Ok(()),
            false => Err(NodeError::new("the thread that compares both sides has ended")),
        }
    }
}
