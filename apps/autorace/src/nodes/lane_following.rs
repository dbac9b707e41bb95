//! Lane following (topic D of the fpgaDDS paper): the lane's stripes in the projected image.

use crate::messages::autorace_msgs::Lane;
use crate::nodes::lane_planner::{hsv_range, side};
use crate::nodes::message::{copy_header, header_extra, rgb_of, set_lane, stamp_ns};
use crate::projection::{PROJECTED_HEIGHT, PROJECTED_WIDTH};
use crate::stripes::{StripeParameters, Stripes};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::Image;

/// Finds the lane's left and right stripe at one height; see [`crate::stripes`].
#[derive(Debug)]
pub struct LaneFollowing {
    image: Subscriber<Image>,
    lane: Publisher<Lane>,
    stripes: Stripes,
}

impl NodeType for LaneFollowing {
    const NAME: &'static str = "lane_following";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Finds the lane's left and right stripe in a projected image, at one height.")
            .subscriber::<Image>("image")
            .publisher::<Lane>("lane")
            .parameter("width", PROJECTED_WIDTH as i64, "width of the images, pixels")
            .parameter("height", PROJECTED_HEIGHT as i64, "height of the images, pixels")
            .parameter("yellow_low", vec![15, 75, 100], "h (0 to 179), s, v of the yellow line")
            .parameter("yellow_high", vec![36, 255, 255], "h, s, v of the yellow line")
            .parameter("white_low", vec![0, 0, 110], "h, s, v of the white line")
            .parameter("white_high", vec![179, 70, 255], "h, s, v of the white line")
            .parameter("contrast_min", 12, "levels by which white exceeds the road beside it")
            .parameter("gate", 110, "half width of the search for a stripe, pixels")
            .parameter("points_min", 60, "points that a valid stripe has at least")
            .parameter("bands_min", 3, "bands (of 12) in which a valid stripe is found")
            .parameter("track_age_ms", 500, "how old stripes may be to be expected again")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let track_age_ms: u32 = setup.parameter("track_age_ms")?;
        let parameters = StripeParameters {
            size: (side(setup, "width")?, side(setup, "height")?),
            yellow: hsv_range(setup, "yellow_low", "yellow_high")?,
            white: hsv_range(setup, "white_low", "white_high")?,
            contrast_min: setup.parameter("contrast_min")?,
            gate: setup.parameter("gate")?,
            points_min: setup.parameter("points_min")?,
            bands_min: setup.parameter("bands_min")?,
            track_age_ns: i64::from(track_age_ms) * 1_000_000,
        };
        Ok(Self {
            image: setup.subscriber("image")?,
            lane: setup.publisher("lane")?,
            stripes: Stripes::new(parameters)?,
        })
    }
}

impl Node for LaneFollowing {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let message = sample.message();
        let header = message.header();
        let lane = self.stripes.find(rgb_of(message)?, stamp_ns(header))?;
        let mut loan = self.lane.loan(header_extra(header)?)?;
        let mut out = loan.message();
        copy_header(header, out.header())?;
        set_lane(&mut out, &lane);
        loan.publish()?;
        Ok(())
    }
}
