//! Image compensation (topic A of the papers).

use crate::compensation::compensate;
use crate::gpu::CompensationOnDevice;
use crate::nodes::message::{Shape, publish_by_device, publish_image, rgb_of};
use crate::nodes::room::{MAX_BYTES, Room};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_device::Device;
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_offload::DeviceStage;

/// Stretches the brightness; see [`crate::compensation`].
#[derive(Debug)]
pub struct ImageCompensation {
    image: Subscriber<Image>,
    compensated: Publisher<Image>,
    clip_per_myriad: u32,
    room: Room,
    device: Option<DeviceStage<CompensationOnDevice>>,
}

impl NodeType for ImageCompensation {
    const NAME: &'static str = "image_compensation";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Stretches the brightness so that a share of outlier pixels saturates.")
            .subscriber::<Image>("image")
            .publisher::<Image>("compensated")
            .parameter("clip_percent", 1.0, "share of pixels that saturate, percent, 0 to 50")
            .parameter(MAX_BYTES.0, 0, MAX_BYTES.1)
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let clip_percent: f64 = setup.parameter("clip_percent")?;
        if !(0.0..=50.0).contains(&clip_percent) {
            return Err(NodeError::new(format!(
                "clip_percent is {clip_percent}, but only 0 to 50 percent of the pixels can \
                 saturate: 1.0 is usual"
            )));
        }
        let clip_per_myriad = (clip_percent * 100.0).round() as u32;
        let (image, compensated) = (setup.subscriber("image")?, setup.publisher("compensated")?);
        let make = |device: &Device| CompensationOnDevice::new(device, clip_per_myriad);
        let device = DeviceStage::of(setup, &image, &compensated, make)?;
        Ok(Self { image, compensated, clip_per_myriad, room: Room::of_bytes(setup)?, device })
    }
}

impl Node for ImageCompensation {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let message = sample.message();
        let picture = rgb_of(message)?;
        self.room.expect(picture)?;
        let shape = Shape::rgb8(picture.width(), picture.height());
        if let Some(device) = &mut self.device {
            let sides = (shape.width as u32, shape.height as u32);
            let compensated = &self.compensated;
            return publish_by_device(compensated, device, sample, shape, |it, work, from, to| {
                it.run(work, sides, from, to)
            });
        }
        publish_image(&self.compensated, message.header(), shape, |out| {
            compensate(picture, self.clip_per_myriad, out);
            Ok(())
        })
    }
}
