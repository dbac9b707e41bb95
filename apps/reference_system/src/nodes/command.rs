//! Command: the end of a path.

use super::newest;
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::{Input, passages_of};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup, Tracepoint};

/// Messages that wait for it at most, as in the reference system.
const DEPTH: u32 = 10;

/// Takes messages, and tells a trace how many nodes each has passed and how many were missed before
/// it. What is in them is evaluated from a recording (`crossdock-reference-system report`).
#[derive(Debug)]
pub struct Command {
    input: Input,
    arrived: Tracepoint<(u32, u32)>,
}

impl NodeType for Command {
    const NAME: &'static str = "command";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Takes messages, and tells a trace which arrived.")
            .subscriber::<Message4kb>("input_1")
            .qos(newest(DEPTH))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            input: Input::new(setup.subscriber("input_1")?),
            arrived: Tracepoint::new("arrived", ["nodes", "missed"])?,
        })
    }
}

impl Node for Command {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        if let Some((sample, missed)) = self.input.take()? {
            self.arrived.emit((passages_of(sample.message()), missed));
        }
        Ok(())
    }
}
