//! Sensor: publishes at the times of its timer.

use crate::messages::reference_interfaces::Message4kb;
use crate::passage::Output;
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};

/// Begins a path with each time of its timer.
#[derive(Debug)]
pub struct Sensor {
    output: Output,
}

impl NodeType for Sensor {
    const NAME: &'static str = "sensor";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Publishes at the times of its timer.")
            .timer_of_graph("step")
            .publisher::<Message4kb>("output_1")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { output: Output::new(setup.publisher("output_1")?, setup.node()) })
    }
}

impl Node for Sensor {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let begun_ns = context.now_ns();
        self.output.begin()?.publish(begun_ns, 0)
    }
}
