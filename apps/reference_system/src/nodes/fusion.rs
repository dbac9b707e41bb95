//! Fusion: two inputs, one output.

use super::{crunching, newest};
use crate::cruncher::primes;
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::{Input, Output};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};

/// Computes for a message of each input, and passes both on as one.
///
/// Runs when something has come on both since it ran last: the graph gives it the condition
/// `{ fresh: [input_1, input_2] }`.
#[derive(Debug)]
pub struct Fusion {
    inputs: [Input; 2],
    output: Output,
    limit: u64,
}

impl NodeType for Fusion {
    const NAME: &'static str = "fusion";

    fn description() -> NodeDescription {
        let interface = NodeDescription::new()
            .doc("Computes for a message of each input, and passes both on as one.")
            .subscriber::<Message4kb>("input_1")
            .qos(newest(1))
            .subscriber::<Message4kb>("input_2")
            .qos(newest(1))
            .publisher::<Message4kb>("output_1");
        crunching(interface)
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let inputs = [setup.subscriber("input_1")?, setup.subscriber("input_2")?];
        Ok(Self {
            inputs: inputs.map(Input::new),
            output: Output::new(setup.publisher("output_1")?, setup.node()),
            limit: setup.parameter("number_crunch_limit")?,
        })
    }
}

impl Node for Fusion {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let begun_ns = context.now_ns();
        let [first, second] = &mut self.inputs;
        let (Some(first), Some(second)) = (first.take()?, second.take()?) else {
            return Err(NodeError::new(
                "a fusion node needs a message on both inputs: give it the condition \
                 `{ fresh: [input_1, input_2] }` in the graph file",
            ));
        };
        let result = primes(self.limit);
        let mut message = self.output.begin()?;
        message.merge(&first);
        message.merge(&second);
        message.publish(begun_ns, result)
    }
}
