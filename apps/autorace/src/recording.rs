//! What this package's topics hold in a recording.

use crate::jpeg::{DecodeError, Jpeg};
use crate::lane::Lane;
use crate::messages::autorace_msgs::{Lane as LaneMessage, SlamState, TrafficLight};
use crate::nodes::{
    CloudError, PictureError, key_points_of, lane_of, map_points_of, plane_pose_of, rgb_of,
    shown_of, stamp_ns,
};
use crate::score::{Reading, Readings, Shown};
use crate::slam::features::Seen;
use crate::slam::pose::Pose;
use crossdock_msg::types::geometry_msgs::{PoseStampedView, PoseWithCovarianceStamped};
use crossdock_msg::types::nav_msgs::{Odometry, Path as PathMessage};
use crossdock_msg::types::sensor_msgs::{CompressedImage, Image, PointCloud2};
use crossdock_msg::{FlatError, Message};
use crossdock_record::{BagMessage, BagReader, BagTopic, with_message};
use std::path::Path;
use thiserror::Error;

pub use crossdock_record::RecordingError;

/// Lanes of the recording.
pub const LANE_TOPIC: &str = "/lane";
/// Lights that were detected.
pub const LIGHT_TOPIC: &str = "/traffic_light";
/// Lights as the simulator shows them.
pub const COURSE_LIGHT_TOPIC: &str = "/course/light";
/// Poses of the vehicle.
pub const ODOMETRY_TOPIC: &str = "/odom";
/// What the wheels say of the poses.
pub const WHEELS_TOPIC: &str = "/wheels";
/// Key points of the pictures.
pub const FEATURES_TOPIC: &str = "/features";
/// Poses, path, points and state of the map.
pub const SLAM_TOPICS: [&str; 4] = ["/slam/pose", "/slam/path", "/slam/map", "/slam/state"];
/// Topics that pictures are taken from; the first one that a recording has is used.
pub const IMAGE_TOPICS: [&str; 3] =
    ["/camera/snapshot", "/camera/image_raw", "/camera/image_raw/compressed"];

/// What is wrong with one message.
#[derive(Debug, Error)]
enum MessageError {
    #[error(transparent)]
    Message(#[from] crossdock_record::DecodeError),
    #[error(transparent)]
    Flat(#[from] FlatError),
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Cloud(#[from] CloudError),
}

/// A traffic light message with its box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightSeen {
    /// State.
    pub shown: Shown,
    /// Leftmost column, top row, width, height; pixels.
    pub bounds: [i32; 4],
}

/// Pose of the vehicle, m and rad / 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// East, m.
    pub x: f64,
    /// North, m.
    pub y: f64,
}

/// What a recording says of a map; of path, points and state the last message.
#[derive(Clone, Debug, Default)]
pub struct Mapped {
    /// Poses as they were published.
    pub poses: Vec<Reading<Pose>>,
    /// The driven path.
    pub path: Vec<Reading<Pose>>,
    /// Points: ahead, left and above the first pose, m.
    pub points: Vec<[f32; 3]>,
    /// Keyframes, points and loop closures.
    pub counts: Option<[u32; 3]>,
}

/// What a recording says of a drive, without its pictures.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Smallest stamp of any image, lane or light, ns.
    pub first_stamp_ns: Option<i64>,
    /// `/lane`.
    pub lanes: Vec<Reading<Lane>>,
    /// `/traffic_light`.
    pub lights: Vec<Reading<LightSeen>>,
    /// `/course/light`.
    pub course_lights: Vec<Reading<Shown>>,
    /// `/odom`.
    pub places: Vec<Reading<Place>>,
    /// `/wheels`.
    pub wheels: Vec<Reading<Pose>>,
    /// `/slam/...`.
    pub mapped: Mapped,
    /// Stamps of the topic that pictures are taken from.
    pub image_stamps_ns: Vec<i64>,
}

impl Recorded {
    /// What the score needs.
    pub fn readings(&self) -> Readings {
        let state = |light: &Reading<LightSeen>| Reading {
            stamp_ns: light.stamp_ns,
            value: light.value.shown,
        };
        Readings {
            first_stamp_ns: self.first_stamp_ns.unwrap_or(0),
            lanes: self.lanes.clone(),
            lights: self.lights.iter().map(state).collect(),
        }
    }

    /// Adds what another recording of the same drive holds.
    pub fn join(&mut self, other: Self) {
        let stamps = [self.first_stamp_ns, other.first_stamp_ns];
        self.first_stamp_ns = stamps.into_iter().flatten().min();
        self.lanes.extend(other.lanes);
        self.lights.extend(other.lights);
        self.course_lights.extend(other.course_lights);
        self.places.extend(other.places);
        self.wheels.extend(other.wheels);
        if self.mapped.poses.is_empty() {
            self.mapped = other.mapped;
        }
        if self.image_stamps_ns.is_empty() {
            self.image_stamps_ns = other.image_stamps_ns;
        }
    }
}

/// One picture of a recording.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Its stamp, ns.
    pub stamp_ns: i64,
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// rgb8 bytes.
    pub rgb: Vec<u8>,
}

/// Decodes one message and hands its view to `use_it`.
fn decoded<T: Message, R>(
    data: &[u8],
    use_it: impl FnOnce(T::View<'_>) -> Result<R, MessageError>,
) -> Result<R, MessageError> {
    with_message::<T, _>(data, use_it)?
}

/// The topic of `reader` that pictures are taken from.
fn image_topic(reader: &BagReader) -> Option<usize> {
    IMAGE_TOPICS.iter().find_map(|name| reader.topics().iter().position(|t| t.name == *name))
}

/// Reads everything but the pictures. Blocks on the file system; allocates.
///
/// # Errors
/// [`RecordingError`]: not a recording, a topic of another type, a damaged message.
pub fn read(path: &Path) -> Result<Recorded, RecordingError> {
    let reader = BagReader::open(path)?;
    for topic in reader.topics() {
        match topic.name.as_str() {
            LANE_TOPIC => topic.check_type_in::<LaneMessage>(path)?,
            LIGHT_TOPIC | COURSE_LIGHT_TOPIC => topic.check_type_in::<TrafficLight>(path)?,
            ODOMETRY_TOPIC | WHEELS_TOPIC => topic.check_type_in::<Odometry>(path)?,
            "/slam/pose" => topic.check_type_in::<PoseWithCovarianceStamped>(path)?,
            "/slam/path" => topic.check_type_in::<PathMessage>(path)?,
            "/slam/map" => topic.check_type_in::<PointCloud2>(path)?,
            "/slam/state" => topic.check_type_in::<SlamState>(path)?,
            _ => {}
        }
    }
    let images = image_topic(&reader);
    let mut recorded = Recorded::default();
    let mut messages = reader.messages();
    while let Some(message) = messages.next_message() {
        let message = message?;
        let topic = &reader.topics()[message.topic];
        note(&mut recorded, topic, images == Some(message.topic), message)
            .map_err(|error| RecordingError::damaged(topic, message.number, error))?;
    }
    Ok(recorded)
}

fn note(
    recorded: &mut Recorded,
    topic: &BagTopic,
    is_picture: bool,
    message: BagMessage<'_>,
) -> Result<(), MessageError> {
    let data = message.data;
    match topic.name.as_str() {
        LANE_TOPIC => {
            let lane = decoded::<LaneMessage, _>(data, |lane| {
                Ok(Reading { stamp_ns: stamp_ns(lane.header()), value: lane_of(lane) })
            })?;
            recorded.note_stamp(lane.stamp_ns);
            recorded.lanes.push(lane);
        }
        LIGHT_TOPIC => {
            let light = decoded::<TrafficLight, _>(data, |light| {
                let value = LightSeen { shown: shown_of(light), bounds: light.r#box() };
                Ok(Reading { stamp_ns: stamp_ns(light.header()), value })
            })?;
            recorded.note_stamp(light.stamp_ns);
            recorded.lights.push(light);
        }
        COURSE_LIGHT_TOPIC => {
            recorded.course_lights.push(decoded::<TrafficLight, _>(data, |light| {
                Ok(Reading { stamp_ns: stamp_ns(light.header()), value: shown_of(light) })
            })?)
        }
        ODOMETRY_TOPIC => recorded.places.push(decoded::<Odometry, _>(data, |odometry| {
            let position = odometry.pose().pose().position();
            let value = Place { x: position.x(), y: position.y() };
            Ok(Reading { stamp_ns: stamp_ns(odometry.header()), value })
        })?),
        WHEELS_TOPIC => recorded.wheels.push(decoded::<Odometry, _>(data, |odometry| {
            let value = plane_pose_of(odometry.pose().pose());
            Ok(Reading { stamp_ns: stamp_ns(odometry.header()), value })
        })?),
        name if SLAM_TOPICS.contains(&name) => note_map(&mut recorded.mapped, name, data)?,
        _ if is_picture => {
            let stamp = image_stamp(topic, data)?;
            recorded.note_stamp(stamp);
            recorded.image_stamps_ns.push(stamp);
        }
        _ => {}
    }
    Ok(())
}

fn note_map(mapped: &mut Mapped, topic: &str, data: &[u8]) -> Result<(), MessageError> {
    match topic {
        "/slam/pose" => {
            mapped.poses.push(decoded::<PoseWithCovarianceStamped, _>(data, |message| {
                let value = plane_pose_of(message.pose().pose());
                Ok(Reading { stamp_ns: stamp_ns(message.header()), value })
            })?);
        }
        "/slam/path" => {
            mapped.path = decoded::<PathMessage, _>(data, |message| {
                let place = |pose: PoseStampedView<'_>| Reading {
                    stamp_ns: stamp_ns(pose.header()),
                    value: plane_pose_of(pose.pose()),
                };
                Ok(message.poses()?.iter().map(place).collect())
            })?;
        }
        "/slam/map" => {
            mapped.points = decoded::<PointCloud2, _>(data, |cloud| Ok(map_points_of(cloud)?))?;
        }
        _ => {
            mapped.counts = Some(decoded::<SlamState, _>(data, |state| {
                Ok([state.keyframes(), state.map_points(), state.loop_closures()])
            })?);
        }
    }
    Ok(())
}

/// Calls `each` with the stamp and the key points of every picture, as `/features` has them.
///
/// # Errors
/// [`RecordingError`]: not a recording, another type, a damaged message.
pub fn key_points(path: &Path, mut each: impl FnMut(i64, Vec<Seen>)) -> Result<(), RecordingError> {
    let reader = BagReader::open(path)?;
    let Some(index) = reader.topics().iter().position(|t| t.name == FEATURES_TOPIC) else {
        return Ok(());
    };
    let topic = &reader.topics()[index];
    topic.check_type_in::<PointCloud2>(path)?;
    let mut messages = reader.messages();
    while let Some(message) = messages.next_message() {
        let message = message?;
        if message.topic != index {
            continue;
        }
        let cloud = decoded::<PointCloud2, _>(message.data, |cloud| {
            Ok((stamp_ns(cloud.header()), key_points_of(cloud)?))
        });
        let (stamp, seen) =
            cloud.map_err(|error| RecordingError::damaged(topic, message.number, error))?;
        each(stamp, seen);
    }
    Ok(())
}

impl Recorded {
    fn note_stamp(&mut self, stamp_ns: i64) {
        self.first_stamp_ns = Some(self.first_stamp_ns.map_or(stamp_ns, |v| v.min(stamp_ns)));
    }
}

/// The stamp at the head of an image message; the rest is not looked at.
fn image_stamp(topic: &BagTopic, data: &[u8]) -> Result<i64, MessageError> {
    if topic.type_name == CompressedImage::TYPE_NAME {
        decoded::<CompressedImage, _>(data, |image| Ok(stamp_ns(image.header())))
    } else {
        decoded::<Image, _>(data, |image| Ok(stamp_ns(image.header())))
    }
}

/// Calls `each` with the pictures of the recording whose stamps are in `wanted` (sorted).
///
/// # Errors
/// [`RecordingError`]: not a recording, a damaged message or picture.
pub fn pictures(
    path: &Path,
    wanted: &[i64],
    mut each: impl FnMut(Picture),
) -> Result<(), RecordingError> {
    let reader = BagReader::open(path)?;
    let Some(images) = image_topic(&reader) else { return Ok(()) };
    let topic = &reader.topics()[images];
    let mut messages = reader.messages();
    while let Some(message) = messages.next_message() {
        let message = message?;
        if message.topic != images {
            continue;
        }
        let picture = picture(topic, message.data, wanted)
            .map_err(|error| RecordingError::damaged(topic, message.number, error))?;
        if let Some(picture) = picture {
            each(picture);
        }
    }
    Ok(())
}

fn picture(topic: &BagTopic, data: &[u8], wanted: &[i64]) -> Result<Option<Picture>, MessageError> {
    let is_wanted = |stamp: i64| wanted.binary_search(&stamp).is_ok();
    if topic.type_name == CompressedImage::TYPE_NAME {
        return decoded::<CompressedImage, _>(data, |image| {
            let stamp = stamp_ns(image.header());
            if !is_wanted(stamp) {
                return Ok(None);
            }
            let jpeg = Jpeg::open(image.data()?)?;
            let (width, height) = (jpeg.width(), jpeg.height());
            let mut rgb = vec![0; width * height * 3];
            jpeg.decode(&mut rgb)?;
            Ok(Some(Picture { stamp_ns: stamp, width, height, rgb }))
        });
    }
    decoded::<Image, _>(data, |image| {
        let stamp = stamp_ns(image.header());
        if !is_wanted(stamp) {
            return Ok(None);
        }
        let rgb = rgb_of(image)?;
        let (width, height) = (rgb.width(), rgb.height());
        Ok(Some(Picture { stamp_ns: stamp, width, height, rgb: rgb.data().to_vec() }))
    })
}
