//! Traffic light: joins what the red and the green light node say of one image.

use crate::messages::autorace_msgs::TrafficLight;
use crate::nodes::message::{copy_header, header_extra, lamp_of, set_light};
use crate::score::Shown;
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};

/// One message per image: red if red is seen, else green if green is seen, else none.
///
/// Runs on messages with the same stamp: the graph gives it the condition
/// `{ all_of: [red, green], same: stamp }`.
#[derive(Debug)]
pub struct TrafficLightNode {
    red: Subscriber<TrafficLight>,
    green: Subscriber<TrafficLight>,
    light: Publisher<TrafficLight>,
}

impl NodeType for TrafficLightNode {
    const NAME: &'static str = "traffic_light";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Joins red and green light of one image; red wins.")
            .subscriber::<TrafficLight>("red")
            .subscriber::<TrafficLight>("green")
            .publisher::<TrafficLight>("light")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            red: setup.subscriber("red")?,
            green: setup.subscriber("green")?,
            light: setup.publisher("light")?,
        })
    }
}

impl Node for TrafficLightNode {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let (Some(red), Some(green)) = (self.red.take()?, self.green.take()?) else {
            return Ok(());
        };
        let (red, green) = (red.message(), green.message());
        let header = red.header();
        let mut loan = self.light.loan(header_extra(header)?)?;
        let mut out = loan.message();
        copy_header(header, out.header())?;
        match lamp_of(red, Shown::Red) {
            Some(lamp) => set_light(&mut out, Shown::Red, Some(lamp)),
            None => set_light(&mut out, Shown::Green, lamp_of(green, Shown::Green)),
        }
        loan.publish()?;
        Ok(())
    }
}
