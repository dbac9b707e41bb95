//! Simulator: the closed course as a node; the loop's one source of time.

use crate::control::Command;
use crate::messages::autorace_msgs::TrafficLight;
use crate::nodes::message::{Shape, set_light_state};
use crate::score::Shown;
use crate::simulator::drive::Drive;
use crate::simulator::lights::Light;
use crate::simulator::renderer::Mount;
use crate::trig::sin_cos;
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::TwistStamped;
use crossdock_msg::types::nav_msgs::Odometry;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs::HeaderBuilder;
use std::time::Duration;

/// Drives the vehicle with the commands that come back and renders what its camera sees.
///
/// The timer `step` moves the vehicle by the time since the last step under the newest command,
/// then publishes odometry, the state of the light ahead and the picture, in this order and with
/// one stamp. Ends the run after `laps` laps; leaving the lane is an error.
#[derive(Debug)]
pub struct Simulator {
    command: Subscriber<TwistStamped>,
    image: Publisher<Image>,
    odometry: Option<Publisher<Odometry>>,
    light: Option<Publisher<TrafficLight>>,
    laps: u32,
    drive: Drive,
    last: Command,
}

const CAMERA_FRAME: &str = "camera";
const ODOMETRY_FRAME: &str = "odom";
const VEHICLE_FRAME: &str = "base_link";

impl NodeType for Simulator {
    const NAME: &'static str = "simulator";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("A closed course with lights, seen by the camera of a small vehicle.")
            .timer("step", Duration::from_nanos(66_666_667))
            .subscriber_latest::<TwistStamped>("command")
            .publisher::<Image>("image")
            .publisher::<Odometry>("odometry")
            .optional()
            .publisher::<TrafficLight>("light")
            .optional()
            .parameter("seed", 1, "seed of lights and surfaces")
            .parameter("start_offset_m", 0.0, "start to the left of the lane's middle, m")
            .parameter("laps", 0, "laps until the run ends; 0: no end")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let offset_m: f64 = setup.parameter("start_offset_m")?;
        if !(-0.1..=0.1).contains(&offset_m) {
            return Err(NodeError::new(format!(
                "start_offset_m is {offset_m} m, but the lane allows -0.1 to 0.1 m"
            )));
        }
        Ok(Self {
            command: setup.subscriber("command")?,
            image: setup.publisher("image")?,
            odometry: setup.optional_publisher("odometry")?,
            light: setup.optional_publisher("light")?,
            laps: setup.parameter("laps")?,
            drive: Drive::new(setup.parameter("seed")?, offset_m),
            last: Command::default(),
        })
    }
}

impl Node for Simulator {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if let Some(sample) = self.command.latest()? {
            let twist = sample.message().twist();
            self.last = Command { linear: twist.linear().x(), angular: twist.angular().z() };
        }
        let now_ns = i64::try_from(context.now_ns()).unwrap_or(i64::MAX);
        let drive = &mut self.drive;
        drive.advance(self.last, now_ns)?;
        if self.laps > 0 && drive.outcome().laps >= f64::from(self.laps) {
            context.finish(drive.outcome().to_string());
            return Ok(());
        }
        let stamp = context.now_stamp();
        if let Some(publisher) = &self.odometry {
            publish_odometry(publisher, drive, stamp)?;
        }
        if let Some(publisher) = &self.light {
            let mut loan = publisher.loan(Extra::none().text(CAMERA_FRAME.len()))?;
            let mut out = loan.message();
            set_header(out.header(), stamp, CAMERA_FRAME)?;
            let shown = match drive.light_ahead() {
                None => Shown::None,
                Some(Light::Red) => Shown::Red,
                Some(Light::Green) => Shown::Green,
            };
            set_light_state(&mut out, shown);
            loan.publish()?;
        }
        publish_picture(&self.image, drive, stamp)
    }
}

fn set_header(
    mut header: HeaderBuilder<'_>,
    stamp: (i32, u32),
    frame: &str,
) -> Result<(), NodeError> {
    header.stamp().set_sec(stamp.0);
    header.stamp().set_nanosec(stamp.1);
    header.set_frame_id(frame)?;
    Ok(())
}

fn publish_odometry(
    publisher: &Publisher<Odometry>,
    drive: &Drive,
    stamp: (i32, u32),
) -> Result<(), NodeError> {
    let extra = Extra::none().text(ODOMETRY_FRAME.len()).text(VEHICLE_FRAME.len());
    let mut loan = publisher.loan(extra)?;
    let mut out = loan.message();
    set_header(out.header(), stamp, ODOMETRY_FRAME)?;
    out.set_child_frame_id(VEHICLE_FRAME)?;
    let (pose, motion) = (drive.pose(), drive.motion());
    let (sin, cos) = sin_cos(pose.yaw / 2.0);
    let mut with_covariance = out.pose();
    let mut place = with_covariance.pose();
    place.position().set_x(pose.x);
    place.position().set_y(pose.y);
    place.orientation().set_z(sin);
    place.orientation().set_w(cos);
    let mut with_covariance = out.twist();
    let mut twist = with_covariance.twist();
    twist.linear().set_x(motion.linear);
    twist.angular().set_z(motion.angular);
    loan.publish()?;
    Ok(())
}

fn publish_picture(
    publisher: &Publisher<Image>,
    drive: &mut Drive,
    stamp: (i32, u32),
) -> Result<(), NodeError> {
    let shape = Shape::rgb8(Mount::SHIPPED.width, Mount::SHIPPED.height);
    let mut loan = publisher.loan(shape.extra(Extra::none().text(CAMERA_FRAME.len())))?;
    let mut out = loan.message();
    set_header(out.header(), stamp, CAMERA_FRAME)?;
    drive.render(shape.begin(&mut out)?);
    loan.publish()?;
    Ok(())
}
