//! Intersection: paths that cross in one node, each from an input to the output of its number.

use super::{crunching, newest};
use crate::cruncher::primes;
use crate::messages::reference_interfaces::Message4kb;
use crate::passage::{Input, Output};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup, Trigger};

/// Ports of the paths.
const PATHS: [[&str; 2]; 2] = [["input_1", "output_1"], ["input_2", "output_2"]];

/// Computes for each message on any input, and passes it on on the output of the same number.
#[derive(Debug)]
pub struct Intersection {
    paths: [(Input, Output); 2],
    limit: u64,
}

impl NodeType for Intersection {
    const NAME: &'static str = "intersection";

    fn description() -> NodeDescription {
        let mut interface = NodeDescription::new()
            .doc("Computes for each message, and passes it on on the output of the same number.");
        for [input, output] in PATHS {
            interface = interface.subscriber::<Message4kb>(input).qos(newest(1));
            interface = interface.publisher::<Message4kb>(output);
        }
        crunching(interface)
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let mut path = |[input, output]: [&str; 2]| -> Result<(Input, Output), NodeError> {
            let input = Input::new(setup.subscriber(input)?);
            Ok((input, Output::new(setup.publisher(output)?, setup.node())))
        };
        let paths = [path(PATHS[0])?, path(PATHS[1])?];
        Ok(Self { paths, limit: setup.parameter("number_crunch_limit")? })
    }
}

impl Node for Intersection {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let begun_ns = context.now_ns();
        let Trigger::Input(port) = context.trigger() else { return Ok(()) };
        let path = PATHS.iter().position(|[input, _]| *input == port);
        let Some((input, output)) = path.map(|path| &mut self.paths[path]) else { return Ok(()) };
        let Some(taken) = input.take()? else { return Ok(()) };
        let result = primes(self.limit);
        let mut message = output.begin()?;
        message.merge(&taken);
        message.publish(begun_ns, result)
    }
}
