//! Transform: one message in, one message out.

use super::{crunching, newest};
use crate::cruncher::primes;
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::{Input, Output};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};

/// Computes for each message, and passes it on.
#[derive(Debug)]
pub struct Transform {
    input: Input,
    output: Output,
    limit: u64,
}

impl NodeType for Transform {
    const NAME: &'static str = "transform";

    fn description() -> NodeDescription {
        let interface = NodeDescription::new()
            .doc("Computes for each message, and passes it on.")
            .subscriber::<Message4kb>("input_1")
            .qos(newest(1))
            .publisher::<Message4kb>("output_1");
        crunching(interface)
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            input: Input::new(setup.subscriber("input_1")?),
            output: Output::new(setup.publisher("output_1")?, setup.node()),
            limit: setup.parameter("number_crunch_limit")?,
        })
    }
}

impl Node for Transform {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let begun_ns = context.now_ns();
        let Some(taken) = self.input.take()? else { return Ok(()) };
        let result = primes(self.limit);
        let mut message = self.output.begin()?;
        message.merge(&taken);
        message.publish(begun_ns, result)
    }
}
