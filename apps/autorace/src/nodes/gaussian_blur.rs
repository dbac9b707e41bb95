//! 5 x 5 Gaussian blur (topic B of the papers).

use crate::blur::Blur;
use crate::gpu::BlurOnDevice;
use crate::nodes::message::{Shape, publish_by_device, publish_image, rgb_of};
use crate::nodes::room::{MAX_BYTES, MAX_WIDTH, Room};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_offload::DeviceStage;

/// Low-pass filter; see [`crate::blur`].
#[derive(Debug)]
pub struct GaussianBlurNode {
    image: Subscriber<Image>,
    blurred: Publisher<Image>,
    blur: Blur,
    room: Room,
    device: Option<DeviceStage<BlurOnDevice>>,
}

/// Pictures up to this width need no memory after the start, pixels.
const WIDTH_PREPARED: usize = 1920;

impl NodeType for GaussianBlurNode {
    const NAME: &'static str = "gaussian_blur";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Blurs rgb8 images with a 5 x 5 Gaussian, exact in integers.")
            .subscriber::<Image>("image")
            .publisher::<Image>("blurred")
            .parameter(MAX_WIDTH.0, 0, MAX_WIDTH.1)
            .parameter(MAX_BYTES.0, 0, MAX_BYTES.1)
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (image, blurred) = (setup.subscriber("image")?, setup.publisher("blurred")?);
        let device = DeviceStage::of(setup, &image, &blurred, BlurOnDevice::new)?;
        let (blur, room) = (Blur::new(WIDTH_PREPARED), Room::of(setup)?);
        Ok(Self { image, blurred, blur, room, device })
    }
}

impl Node for GaussianBlurNode {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let message = sample.message();
        let picture = rgb_of(message)?;
        self.room.expect(picture)?;
        let shape = Shape::rgb8(picture.width(), picture.height());
        if let Some(device) = &mut self.device {
            let sides = (shape.width as u32, shape.height as u32, 3);
            return publish_by_device(
                &self.blurred,
                device,
                sample,
                shape,
                |blur, work, from, to| blur.run(work, sides, from, to),
            );
        }
        publish_image(&self.blurred, message.header(), shape, |out| {
            self.blur.blur(picture, out);
            Ok(())
        })
    }
}
