//! The package's nodes: ports and parameters round the algorithms of this crate.
//!
//! Each node publishes exactly one message per image, with the image's header. Nothing here
//! computes on pixels.

mod compensation;
mod decode;
mod features;
mod gaussian_blur;
mod image_projection;
mod lane_control;
mod lane_following;
mod lane_planner;
mod light;
mod message;
mod polyfit;
mod room;
mod simulator;
mod slam;
mod snapshot;
mod traffic_light;

pub use compensation::ImageCompensation;
pub use decode::Decode;
pub use features::{CloudError, Features, key_points_of};
pub use gaussian_blur::GaussianBlurNode;
pub use image_projection::ImageProjection;
pub use lane_control::LaneControlNode;
pub use lane_following::LaneFollowing;
pub use lane_planner::LanePlanner;
pub use light::{GreenLight, RedLight};
pub use message::{PictureError, lane_of, rgb_of, shown_of, stamp_ns};
pub use polyfit::Polyfit;
pub use simulator::Simulator;
pub use slam::{SlamNode, map_points_of, plane_pose_of, slam_parameters_of};
pub use snapshot::Snapshot;
pub use traffic_light::TrafficLightNode;

use crate::control_setup::control_setup_of;
use crate::lane_setup::lane_setup_of;
use crate::light_setup::{green_light_setup_of, red_light_setup_of};
use crate::projection_setup::projection_setup_of;
use crate::stripe_setup::following_setup_of;
use crossdock_executor::Package;

/// The package with all its node types, and what makes the sources of their hardware.
pub fn package() -> Package {
    Package::new("autorace")
        .uploaders(crossdock_offload::uploaders())
        .node::<Decode>()
        .node::<ImageCompensation>()
        .node::<GaussianBlurNode>()
        .node::<LanePlanner>()
        .node::<Polyfit>()
        .node::<ImageProjection>()
        .node::<LaneFollowing>()
        .node::<LaneControlNode>()
        .node::<RedLight>()
        .node::<GreenLight>()
        .node::<TrafficLightNode>()
        .node::<Features>()
        .node::<SlamNode>()
        .node::<Snapshot>()
        .node::<Simulator>()
        .set_up("lane-setup", |it| Ok(lane_setup_of(it)?))
        .set_up("projection-setup", |it| Ok(projection_setup_of(it)?))
        .set_up("following-setup", |it| Ok(following_setup_of(it)?))
        .set_up("control-setup", |it| Ok(control_setup_of(it)?))
        .set_up("red-light-setup", |it| Ok(red_light_setup_of(it)?))
        .set_up("green-light-setup", |it| Ok(green_light_setup_of(it)?))
}
