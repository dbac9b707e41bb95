//! Polyfit (topic D of the papers): the lane's two lines.

use crate::image::ImageError;
use crate::lane_fit::{FitParameters, GATE_MAX, LaneFit};
use crate::lane_view::{VIEW_HEIGHT, VIEW_WIDTH};
use crate::messages::autorace_msgs::Lane;
use crate::nodes::message::{copy_header, gray_of, header_extra, set_lane, stamp_ns};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::Image;

/// Least squares through the marked pixels; see [`crate::lane_fit`].
#[derive(Debug)]
pub struct Polyfit {
    view: Subscriber<Image>,
    lane: Publisher<Lane>,
    fit: LaneFit,
}

impl NodeType for Polyfit {
    const NAME: &'static str = "polyfit";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Fits a parabola to each of the lane's two lines.")
            .subscriber::<Image>("view")
            .publisher::<Lane>("lane")
            .parameter("gate", 70, "half width of the search for a line, view pixels, 10 to 160")
            .parameter("points_min", 60, "rows in which a valid line is seen at least")
            .parameter("bands_min", 3, "bands of 60 rows, of 16, in which a valid line is seen")
            .parameter("track_age_ms", 500, "age up to which the last lines are expected again, ms")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let gate: i32 = setup.parameter("gate")?;
        if !(10..=GATE_MAX).contains(&gate) {
            return Err(NodeError::new(format!(
                "gate is {gate} pixels, but must be 10 to {GATE_MAX}: beyond that the lines are \
                 mistaken for each other"
            )));
        }
        let track_age_ms: u32 = setup.parameter("track_age_ms")?;
        let parameters = FitParameters {
            gate,
            points_min: setup.parameter("points_min")?,
            bands_min: setup.parameter("bands_min")?,
            track_age_ns: i64::from(track_age_ms) * 1_000_000,
        };
        Ok(Self {
            view: setup.subscriber("view")?,
            lane: setup.publisher("lane")?,
            fit: LaneFit::new(parameters),
        })
    }
}

impl Node for Polyfit {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.view.take()? else { return Ok(()) };
        let message = sample.message();
        let view = gray_of(message)?;
        let (width, height) = (view.width(), view.height());
        if (width, height) != (VIEW_WIDTH, VIEW_HEIGHT) {
            let (expected_width, expected_height) = (VIEW_WIDTH, VIEW_HEIGHT);
            return Err(ImageError::Size { width, height, expected_width, expected_height }.into());
        }
        let header = message.header();
        let fit = self.fit.fit(view.data(), stamp_ns(header));
        let mut loan = self.lane.loan(header_extra(header)?)?;
        let mut out = loan.message();
        copy_header(header, out.header())?;
        set_lane(&mut out, &fit.lane);
        loan.publish()?;
        Ok(())
    }
}
