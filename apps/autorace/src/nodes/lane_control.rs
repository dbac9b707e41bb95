//! Lane control: the drive command of one image.

use crate::control::{ControlParameters, LaneControl};
use crate::messages::autorace_msgs::{Lane, TrafficLight};
use crate::nodes::message::{copy_header, header_extra, lamp_of, lane_of};
use crate::score::Shown;
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::geometry_msgs::TwistStamped;

/// Follows the lane, stops at red, starts at green; see [`crate::control`].
///
/// Runs on messages with the same stamp: the graph gives it the condition
/// `{ all_of: [lane, red, green], same: stamp }`.
#[derive(Debug)]
pub struct LaneControlNode {
    lane: Subscriber<Lane>,
    red: Subscriber<TrafficLight>,
    green: Subscriber<TrafficLight>,
    command: Publisher<TwistStamped>,
    control: LaneControl,
}

impl NodeType for LaneControlNode {
    const NAME: &'static str = "lane_control";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Drives along the lane; stops at red and starts at green.")
            .subscriber::<Lane>("lane")
            .subscriber::<TrafficLight>("red")
            .subscriber::<TrafficLight>("green")
            .publisher::<TwistStamped>("command")
            .parameter("metres_per_column", 0.000_837_5, "width of a view column, m")
            .parameter("near_m", 0.29, "distance of the view's near edge from the axle, m")
            .parameter("far_m", 0.77, "distance of the view's far edge from the axle, m")
            .parameter("look_ahead_m", 0.40, "distance ahead at which the lane is followed, m")
            .parameter("linear_max", 0.22, "speed on a straight, m/s")
            .parameter("angular_max", 2.84, "turn rate at most, rad/s")
            .parameter("slowing", 0.1, "how much a curvature of 1/m slows down")
            .parameter("stop_area", 3000, "area of a red lamp that is near enough to stop, pixels")
            .parameter("blind_images", 10, "images without a lane until the vehicle stops")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let parameters = ControlParameters {
            metres_per_column: setup.parameter("metres_per_column")?,
            near_m: setup.parameter("near_m")?,
            far_m: setup.parameter("far_m")?,
            look_ahead_m: setup.parameter("look_ahead_m")?,
            linear_max: setup.parameter("linear_max")?,
            angular_max: setup.parameter("angular_max")?,
            slowing: setup.parameter("slowing")?,
            stop_area: setup.parameter("stop_area")?,
            blind_images: setup.parameter("blind_images")?,
        };
        Ok(Self {
            lane: setup.subscriber("lane")?,
            red: setup.subscriber("red")?,
            green: setup.subscriber("green")?,
            command: setup.publisher("command")?,
            control: LaneControl::new(&parameters)?,
        })
    }
}

impl Node for LaneControlNode {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let (lane, red, green) = (self.lane.take()?, self.red.take()?, self.green.take()?);
        let (Some(lane), Some(red), Some(green)) = (lane, red, green) else { return Ok(()) };
        let red = lamp_of(red.message(), Shown::Red);
        let green = lamp_of(green.message(), Shown::Green);
        let command = self.control.step(&lane_of(lane.message()), red, green);
        let header = lane.message().header();
        let mut loan = self.command.loan(header_extra(header)?)?;
        let mut out = loan.message();
        copy_header(header, out.header())?;
        out.twist().linear().set_x(command.linear);
        out.twist().angular().set_z(command.angular);
        loan.publish()?;
        Ok(())
    }
}
