//! Image projection (topic C of the fpgaDDS paper): the road seen from above.

use crate::camera::Homography;
use crate::nodes::lane_planner::{numbers, side};
use crate::nodes::message::{Shape, publish_image, rgb_of};
use crate::projection::{PROJECTED_HEIGHT, PROJECTED_WIDTH, Projection};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::Image;

/// Warps images to an orthogonal view of the road; see [`crate::projection`].
#[derive(Debug)]
pub struct ImageProjection {
    image: Subscriber<Image>,
    projected: Publisher<Image>,
    projection: Projection,
}

impl NodeType for ImageProjection {
    const NAME: &'static str = "image_projection";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Warps images to an orthogonal view of the road, of another size.")
            .subscriber::<Image>("image")
            .publisher::<Image>("projected")
            .parameter("width", 640, "width of the images, pixels")
            .parameter("height", 480, "height of the images, pixels")
            .parameter("projected_width", PROJECTED_WIDTH as i64, "width of the view, pixels")
            .parameter("projected_height", PROJECTED_HEIGHT as i64, "height of the view, pixels")
            .parameter(
                "homography",
                vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                "image to the projected view, in pixels, row by row",
            )
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let [a, b, c, d, e, f, g, h, i] = numbers(setup, "homography")?;
        let homography = Homography::new([[a, b, c], [d, e, f], [g, h, i]])?;
        let camera = (side(setup, "width")?, side(setup, "height")?);
        let made = (side(setup, "projected_width")?, side(setup, "projected_height")?);
        Ok(Self {
            image: setup.subscriber("image")?,
            projected: setup.publisher("projected")?,
            projection: Projection::new(&homography, camera, made),
        })
    }
}

impl Node for ImageProjection {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let message = sample.message();
        let picture = rgb_of(message)?;
        let (width, height) = self.projection.size();
        publish_image(&self.projected, message.header(), Shape::rgb8(width, height), |out| {
            Ok(self.projection.project(picture, out)?)
        })
    }
}
