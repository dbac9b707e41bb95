//! Snapshot: every so many images one is passed on, for recordings that need not hold them all.

use crate::nodes::message::{Shape, publish_image, rgb_of};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::Image;

/// Passes every n-th image on, the first one included.
#[derive(Debug)]
pub struct Snapshot {
    image: Subscriber<Image>,
    snapshot: Publisher<Image>,
    every: u64,
    seen: u64,
}

impl NodeType for Snapshot {
    const NAME: &'static str = "snapshot";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Passes every n-th image on.")
            .subscriber::<Image>("image")
            .publisher::<Image>("snapshot")
            .parameter("every", 30, "images from one that is passed on to the next, from 1")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let every: u64 = setup.parameter("every")?;
        if every == 0 {
            return Err(NodeError::new("every is 0 images, but must be 1 or more"));
        }
        let (image, snapshot) = (setup.subscriber("image")?, setup.publisher("snapshot")?);
        Ok(Self { image, snapshot, every, seen: 0 })
    }
}

impl Node for Snapshot {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let number = self.seen;
        self.seen += 1;
        if !number.is_multiple_of(self.every) {
            return Ok(());
        }
        let message = sample.message();
        let picture = rgb_of(message)?;
        let shape = Shape::rgb8(picture.width(), picture.height());
        publish_image(&self.snapshot, message.header(), shape, |out| {
            out.copy_from_slice(picture.data());
            Ok(())
        })
    }
}
