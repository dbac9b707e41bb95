//! Simulator: the closed course as a node; the loop's one source of time.

use crate::control::Command;
use crate::messages::autorace_msgs::TrafficLight;
use crate::nodes::message::{Shape, set_header, set_light_state};
use crate::score::Shown;
use crate::simulator::course::Pose;
use crate::simulator::drive::Drive;
use crate::simulator::lights::Light;
use crate::simulator::renderer::Mount;
use crate::simulator::wheels::{WheelErrors, Wheels};
use crate::trig::sin_cos;
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::TwistStamped;
use crossdock_msg::types::nav_msgs::Odometry;
use crossdock_msg::types::sensor_msgs::Image;
use std::time::Duration;

/// Drives the vehicle with the commands that come back and renders what its camera sees.
///
/// The timer `step` moves the vehicle by the time since the last step under the newest command,
/// then publishes its pose, what its wheels say of it, the state of the light ahead and the
/// picture,
/// in this order and with one stamp. Ends the run after `laps` laps; leaving the lane is an error.
#[derive(Debug)]
pub struct Simulator {
    command: Subscriber<TwistStamped>,
    image: Publisher<Image>,
    odometry: Option<Publisher<Odometry>>,
    light: Option<Publisher<TrafficLight>>,
    wheels_said: Option<Publisher<Odometry>>,
    wheels: Wheels,
    laps: u32,
    drive: Drive,
    last: Command,
    last_ns: Option<i64>,
}

const CAMERA_FRAME: &str = "camera";
const ODOMETRY_FRAME: &str = "odom";
const WHEELS_FRAME: &str = "wheels";
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
            .publisher::<Odometry>("wheels")
            .optional()
            .parameter("seed", 1, "seed of lights and surfaces")
            .parameter("start_offset_m", 0.0, "start to the left of the lane's middle, m")
            .parameter("laps", 0, "laps until the run ends; 0: no end")
            .parameter("buildings", false, "whether houses stand beside the road")
            .parameter("track_m", 0.16, "distance between the wheels, m")
            .parameter("left_error", 0.0, "share by which the left wheel counts too much")
            .parameter("right_error", 0.0, "share by which the right wheel counts too much")
            .parameter(
                "wheel_noise_m",
                0.0,
                "noise of a wheel after 1 m, m; it grows with the root",
            )
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let offset_m: f64 = setup.parameter("start_offset_m")?;
        if !(-0.1..=0.1).contains(&offset_m) {
            return Err(NodeError::new(format!(
                "start_offset_m is {offset_m} m, but the lane allows -0.1 to 0.1 m"
            )));
        }
        let seed = setup.parameter("seed")?;
        let drive = Drive::new(seed, offset_m);
        let buildings = setup.parameter("buildings")?;
        Ok(Self {
            command: setup.subscriber("command")?,
            image: setup.publisher("image")?,
            odometry: setup.optional_publisher("odometry")?,
            light: setup.optional_publisher("light")?,
            wheels_said: setup.optional_publisher("wheels")?,
            wheels: Wheels::new(wheel_errors(setup, seed)?),
            laps: setup.parameter("laps")?,
            drive: if buildings { drive.with_buildings(seed) } else { drive },
            last: Command::default(),
            last_ns: None,
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
            let said = (drive.pose(), drive.motion());
            publish_odometry(publisher, ODOMETRY_FRAME, said, stamp)?;
        }
        if let Some(publisher) = &self.wheels_said {
            let seconds = (now_ns - self.last_ns.unwrap_or(now_ns)) as f64 * 1e-9;
            let (pose, way, turn) = self.wheels.follow(drive.pose());
            let rate = |v: f64| if seconds > 0.0 { v / seconds } else { 0.0 };
            let motion = Command { linear: rate(way), angular: rate(turn) };
            publish_odometry(publisher, WHEELS_FRAME, (pose, motion), stamp)?;
        }
        self.last_ns = Some(now_ns);
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

/// What the wheels are told to do wrong.
fn wheel_errors(setup: &Setup<'_>, seed: u64) -> Result<WheelErrors, NodeError> {
    let number = |name: &str, least: f64, most: f64| -> Result<f64, NodeError> {
        let value: f64 = setup.parameter(name)?;
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(NodeError::new(format!("{name} is {value}, but must be {least} to {most}")))
        }
    };
    Ok(WheelErrors {
        track_m: number("track_m", 0.02, 10.0)?,
        left: number("left_error", -0.5, 0.5)?,
        right: number("right_error", -0.5, 0.5)?,
        noise_m: number("wheel_noise_m", 0.0, 0.1)?,
        seed,
    })
}

fn publish_odometry(
    publisher: &Publisher<Odometry>,
    frame: &str,
    (pose, motion): (Pose, Command),
    stamp: (i32, u32),
) -> Result<(), NodeError> {
    let extra = Extra::none().text(frame.len()).text(VEHICLE_FRAME.len());
    let mut loan = publisher.loan(extra)?;
    let mut out = loan.message();
    set_header(out.header(), stamp, frame)?;
    out.set_child_frame_id(VEHICLE_FRAME)?;
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
