//! SLAM: a map, the vehicle's place in it and the driven path, from key points and odometry.

use crate::messages::autorace_msgs::{SlamState, SlamStateBuilder};
use crate::nodes::features::{
    CloudError, CloudField, FLOAT32, begin_cloud, cloud_extra, float_at, key_points_of, points_of,
};
use crate::nodes::message::{set_header, stamp_ns};
use crate::slam::odometry::OdometryNoise;
use crate::slam::pose::Pose;
use crate::slam::sight::Sight;
use crate::slam::{KEYFRAMES_MAX, Localised, POINTS_MAX, Slam, SlamParameters};
use crate::trig::sin_cos;
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_graph::{Graph, GraphNode, ParameterValue};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::{
    PoseBuilder, PoseStamped, PoseView, PoseWithCovarianceStamped,
};
use crossdock_msg::types::nav_msgs::{Odometry, Path};
use crossdock_msg::types::sensor_msgs::{PointCloud2, PointCloud2View};

/// Simultaneous localisation and mapping; see [`crate::slam`].
///
/// Runs on messages with the same stamp: the graph gives it the condition
/// `{ all_of: [points, odometry], same: stamp }`. Pose and state come with every picture, path and
/// map with every `publish_every`-th. Allocates; a keyframe costs an optimisation.
#[derive(Debug)]
pub struct SlamNode {
    points: Subscriber<PointCloud2>,
    odometry: Subscriber<Odometry>,
    pose: Publisher<PoseWithCovarianceStamped>,
    state: Option<Publisher<SlamState>>,
    path: Option<Publisher<Path>>,
    map: Option<Publisher<PointCloud2>>,
    publish_every: u32,
    pictures: u32,
    slam: Slam,
}

const MAP_FRAME: &str = "map";
const MAP_FIELDS: [CloudField; 3] =
    [("x", 0, FLOAT32, 1), ("y", 4, FLOAT32, 1), ("z", 8, FLOAT32, 1)];
const MAP_POINT_BYTES: usize = 12;
/// Most places of the path.
const PATH_MAX: usize = 4096;

/// Name, default, least, most, and what it is, of each parameter that is a number.
const NUMBERS: [(&str, f64, f64, f64, &str); 7] = [
    ("focal", 530.0, 10.0, 1e5, "focal length, pixels"),
    ("camera_height_m", 0.17, 0.01, 10.0, "camera above the floor, m"),
    ("camera_forward_m", 0.07, -10.0, 10.0, "camera ahead of the axle's middle, m"),
    ("camera_pitch", 0.279_252_680_319, -1.0, 1.5, "camera downward, rad"),
    ("odometry_m_per_m", 0.03, 1e-4, 1.0, "deviation of odometry's way, m for each metre"),
    ("odometry_rad_per_m", 0.08, 1e-4, 10.0, "deviation of its direction, rad for each metre"),
    ("keyframe_m", 0.10, 0.01, 10.0, "way from keyframe to keyframe, m"),
];
/// The same of each that is a count.
const COUNTS: [(&str, usize, usize, usize, &str); 5] = [
    ("width", 640, 64, 8192, "columns of the picture"),
    ("height", 480, 64, 8192, "rows of the picture"),
    ("keyframes_max", 600, 2, KEYFRAMES_MAX, "keyframes beyond which the map does not grow"),
    ("publish_every", 30, 1, 1_000_000, "pictures from one path and map to the next"),
    ("points_max", 30_000, 16, POINTS_MAX, "points beyond which the map does not grow"),
];

impl NodeType for SlamNode {
    const NAME: &'static str = "slam";

    fn description() -> NodeDescription {
        let mut description = NodeDescription::new()
            .doc("Maps what the camera sees and finds the vehicle in the map.")
            .subscriber::<PointCloud2>("points")
            .subscriber::<Odometry>("odometry")
            .publisher::<PoseWithCovarianceStamped>("pose")
            .publisher::<SlamState>("state")
            .optional()
            .publisher::<Path>("path")
            .optional()
            .publisher::<PointCloud2>("map")
            .optional()
            .parameter("close_loops", true, "whether places are known again");
        for (name, default, .., what) in COUNTS {
            description = description.parameter(name, default as i64, what);
        }
        for (name, default, .., what) in NUMBERS {
            description = description.parameter(name, default, what);
        }
        description
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let number = |name: &str| Ok(setup.parameter::<f64>(name)?);
        let count = |name: &str| Ok(setup.parameter::<i64>(name)?);
        let parameters = parameters(number, count, setup.parameter("close_loops")?)?;
        let publish_every = setup.parameter::<u32>("publish_every")?;
        Ok(Self {
            points: setup.subscriber("points")?,
            odometry: setup.subscriber("odometry")?,
            pose: setup.publisher("pose")?,
            state: setup.optional_publisher("state")?,
            path: setup.optional_publisher("path")?,
            map: setup.optional_publisher("map")?,
            publish_every,
            pictures: 0,
            slam: Slam::new(parameters),
        })
    }
}

/// Parameters within their bounds.
fn parameters(
    number: impl Fn(&str) -> Result<f64, NodeError>,
    count: impl Fn(&str) -> Result<i64, NodeError>,
    close_loops: bool,
) -> Result<SlamParameters, NodeError> {
    let refuse = |name: &str, value: String, least: String, most: String| {
        NodeError::new(format!("{name} is {value}, but must be {least} to {most}"))
    };
    let mut numbers = [0.0; NUMBERS.len()];
    for (place, (name, _, least, most, _)) in numbers.iter_mut().zip(NUMBERS) {
        *place = number(name)?;
        if !(least..=most).contains(place) {
            return Err(refuse(name, place.to_string(), least.to_string(), most.to_string()));
        }
    }
    let mut counts = [0; COUNTS.len()];
    for (place, (name, _, least, most, _)) in counts.iter_mut().zip(COUNTS) {
        let value = count(name)?;
        *place = usize::try_from(value).unwrap_or(0);
        if !(least..=most).contains(place) {
            return Err(refuse(name, value.to_string(), least.to_string(), most.to_string()));
        }
    }
    let [focal, height_m, forward_m, pitch, m_per_m, rad_per_m, keyframe_m] = numbers;
    let [width, height, keyframes_max, _, points_max] = counts;
    Ok(SlamParameters {
        sight: Sight::new(width, height, focal, [height_m, forward_m, pitch]),
        noise: OdometryNoise { m_per_m, rad_per_m },
        keyframe_m,
        close_loops,
        keyframes_max,
        points_max,
        path_max: PATH_MAX,
    })
}

/// What the node of this type in a graph is told; the defaults if there is no such node.
///
/// # Errors
/// A parameter is out of its bounds.
pub fn slam_parameters_of(graph: Option<&Graph>) -> Result<SlamParameters, NodeError> {
    let is_slam = |n: &&GraphNode| n.package == "autorace" && n.node_type == "slam";
    let node = graph.and_then(|graph| graph.nodes.iter().find(is_slam));
    let value = |name: &str| node.and_then(|node| node.parameters.get(name));
    let number = |name: &str| {
        let default = NUMBERS.iter().find(|n| n.0 == name).map_or(0.0, |n| n.1);
        Ok(match value(name) {
            Some(ParameterValue::Double(value)) => *value,
            Some(ParameterValue::Integer(value)) => *value as f64,
            _ => default,
        })
    };
    let count = |name: &str| {
        let default = COUNTS.iter().find(|n| n.0 == name).map_or(0, |n| n.1 as i64);
        Ok(match value(name) {
            Some(ParameterValue::Integer(value)) => *value,
            _ => default,
        })
    };
    parameters(number, count, value("close_loops") != Some(&ParameterValue::Bool(false)))
}

/// The pose of a message, seen from above.
pub fn plane_pose_of(pose: PoseView<'_>) -> Pose {
    let (position, turn) = (pose.position(), pose.orientation());
    let (x, y, z, w) = (turn.x(), turn.y(), turn.z(), turn.w());
    let yaw = (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z));
    Pose { x: position.x(), y: position.y(), yaw }
}

/// The points of a map.
///
/// # Errors
/// [`CloudError`]: other fields, fewer bytes than points, a damaged message.
pub fn map_points_of(cloud: PointCloud2View<'_>) -> Result<Vec<[f32; 3]>, CloudError> {
    let point = |point: &[u8]| [0, 4, 8].map(|at| float_at(point, at));
    Ok(points_of(cloud, &MAP_FIELDS, MAP_POINT_BYTES)?.map(point).collect())
}

impl Node for SlamNode {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let (Some(points), Some(odometry)) = (self.points.take()?, self.odometry.take()?) else {
            return Ok(());
        };
        let header = points.message().header();
        let (now_ns, stamp) = (stamp_ns(header), (header.stamp().sec(), header.stamp().nanosec()));
        let seen = key_points_of(points.message())?;
        let odometry = plane_pose_of(odometry.message().pose().pose());
        let localised = self.slam.step(now_ns, odometry, seen)?;
        self.publish_pose(&localised, stamp)?;
        if let Some(publisher) = &self.state {
            let mut loan = publisher.loan(Extra::none().text(MAP_FRAME.len()))?;
            let mut out = loan.message();
            set_header(out.header(), stamp, MAP_FRAME)?;
            set_state(&mut out, &localised, &self.slam);
            loan.publish()?;
        }
        if self.pictures == 0 {
            self.publish_path(stamp)?;
            self.publish_map(stamp)?;
        }
        self.pictures = (self.pictures + 1) % self.publish_every;
        Ok(())
    }
}

impl SlamNode {
    fn publish_pose(&self, localised: &Localised, stamp: (i32, u32)) -> Result<(), NodeError> {
        let mut loan = self.pose.loan(Extra::none().text(MAP_FRAME.len()))?;
        let mut out = loan.message();
        set_header(out.header(), stamp, MAP_FRAME)?;
        let mut with_covariance = out.pose();
        set_pose(with_covariance.pose(), localised.pose);
        // Of x, y, z and turns about them: x, y and the turn about z are uncertain.
        let mut covariance = [0.0; 36];
        for (i, row) in [0, 1, 5].into_iter().enumerate() {
            for (k, column) in [0, 1, 5].into_iter().enumerate() {
                covariance[row * 6 + column] = localised.covariance[i][k];
            }
        }
        with_covariance.set_covariance(&covariance);
        loan.publish()?;
        Ok(())
    }

    fn publish_path(&self, stamp: (i32, u32)) -> Result<(), NodeError> {
        let Some(publisher) = &self.path else { return Ok(()) };
        let count = self.slam.path_len();
        let extra = Extra::none().text(MAP_FRAME.len()).sequence::<PoseStamped>(count);
        let mut loan = publisher.loan(extra)?;
        let mut out = loan.message();
        set_header(out.header(), stamp, MAP_FRAME)?;
        let mut poses = out.poses(count)?;
        // The frame is the path's; each pose has its own stamp.
        for (index, (stamp_ns, pose)) in self.slam.path().enumerate() {
            let mut place = poses.at(index);
            let mut header = place.header();
            header.stamp().set_sec((stamp_ns / 1_000_000_000) as i32);
            header.stamp().set_nanosec((stamp_ns % 1_000_000_000) as u32);
            set_pose(place.pose(), pose);
        }
        loan.publish()?;
        Ok(())
    }

    fn publish_map(&self, stamp: (i32, u32)) -> Result<(), NodeError> {
        let Some(publisher) = &self.map else { return Ok(()) };
        let count = self.slam.map().count();
        let header = Extra::none().text(MAP_FRAME.len());
        let mut loan = publisher.loan(cloud_extra(header, &MAP_FIELDS, count * MAP_POINT_BYTES))?;
        let mut out = loan.message();
        set_header(out.header(), stamp, MAP_FRAME)?;
        let data = begin_cloud(&mut out, &MAP_FIELDS, count, MAP_POINT_BYTES)?;
        for (to, (_, point)) in data.chunks_exact_mut(MAP_POINT_BYTES).zip(self.slam.map().points())
        {
            for (to, value) in to.chunks_exact_mut(4).zip(point.spot) {
                to.copy_from_slice(&(value as f32).to_le_bytes());
            }
        }
        loan.publish()?;
        Ok(())
    }
}

fn set_pose(mut to: PoseBuilder<'_>, pose: Pose) {
    let (sin, cos) = sin_cos(pose.yaw / 2.0);
    to.position().set_x(pose.x);
    to.position().set_y(pose.y);
    to.orientation().set_z(sin);
    to.orientation().set_w(cos);
}

fn set_state(out: &mut SlamStateBuilder<'_>, localised: &Localised, slam: &Slam) {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    out.set_tracked(localised.tracked);
    out.set_matches(number(localised.matches));
    out.set_keyframes(number(slam.map().keyframes().len()));
    out.set_map_points(number(slam.map().count()));
    out.set_loop_closures(number(slam.map().closures.len()));
}
