//! Cyclic: a timer, and whatever has come meanwhile.

use super::{crunching, newest};
use crate::cruncher::primes;
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::{Input, Output};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};

/// Inputs that a graph may connect.
const INPUTS_MAX: usize = 8;

/// Computes at the times of its timer, and passes on the newest of what has come since the last
/// one.
#[derive(Debug)]
pub struct Cyclic {
    inputs: Vec<Input>,
    output: Output,
    limit: u64,
}

fn port(number: usize) -> String {
    format!("input_{}", number + 1)
}

impl NodeType for Cyclic {
    const NAME: &'static str = "cyclic";

    fn description() -> NodeDescription {
        let mut interface = NodeDescription::new()
            .doc("Computes at the times of its timer, and passes on what has come meanwhile.")
            .timer_of_graph("step")
            .publisher::<Message4kb>("output_1");
        for number in 0..INPUTS_MAX {
            let port = port(number);
            interface = interface.subscriber_latest::<Message4kb>(&port).qos(newest(1)).optional();
        }
        crunching(interface)
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let mut inputs = Vec::with_capacity(INPUTS_MAX);
        for number in 0..INPUTS_MAX {
            inputs.extend(setup.optional_subscriber(&port(number))?.map(Input::new));
        }
        Ok(Self {
            inputs,
            output: Output::new(setup.publisher("output_1")?, setup.node()),
            limit: setup.parameter("number_crunch_limit")?,
        })
    }
}

impl Node for Cyclic {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let begun_ns = context.now_ns();
        let result = primes(self.limit);
        let mut message = self.output.begin()?;
        for input in &mut self.inputs {
            if let Some(taken) = input.latest()? {
                message.merge(&taken);
            }
        }
        message.publish(begun_ns, result)
    }
}
