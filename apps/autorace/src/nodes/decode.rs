//! Decode: JPEG from a camera or a recording to rgb8.
//!
//! The only node that allocates after start-up: the JPEG library has no way to keep the tables and
//! scratch rows of one picture for the next. A picture of 640 x 480 costs it 17 allocations of
//! 109 kB in all; tests/allocation.rs holds the bound. The picture itself is decoded in place.

use crate::jpeg::Jpeg;
use crate::nodes::message::{Shape, publish_image};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::{CompressedImage, Image};

/// Decodes compressed images; the same bits on every machine.
#[derive(Debug)]
pub struct Decode {
    compressed: Subscriber<CompressedImage>,
    image: Publisher<Image>,
}

impl NodeType for Decode {
    const NAME: &'static str = "decode";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Decodes JPEG images to rgb8.")
            .subscriber::<CompressedImage>("compressed")
            .publisher::<Image>("image")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { compressed: setup.subscriber("compressed")?, image: setup.publisher("image")? })
    }
}

impl Node for Decode {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.compressed.take()? else { return Ok(()) };
        let message = sample.message();
        let jpeg = Jpeg::open(message.data()?)?;
        let shape = Shape::rgb8(jpeg.width(), jpeg.height());
        publish_image(&self.image, message.header(), shape, |out| Ok(jpeg.decode(out)?))
    }
}
