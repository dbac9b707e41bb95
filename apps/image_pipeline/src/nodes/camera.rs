//! Camera: pictures of a pattern that moves, for runs without a camera or a recording.

use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_rectify::SIDE_MAX;
use std::time::Duration;

const FRAME: &str = "camera";
const ENCODING: &str = "rgb8";
/// Squares of the pattern, pixels.
const SQUARE: usize = 40;

/// Publishes a picture at each time of its timer `step`, or, in lock step, when the picture that
/// was made of the one before has come at `made`. Does not allocate.
#[derive(Debug)]
pub struct Camera {
    made: Option<Subscriber<Image>>,
    image: Publisher<Image>,
    size: (usize, usize),
    pictures: usize,
}

impl NodeType for Camera {
    const NAME: &'static str = "camera";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("A pattern of squares that moves, as an rgb8 image.")
            .timer("step", Duration::from_nanos(33_333_333))
            .subscriber_latest::<Image>("made")
            .optional()
            .publisher::<Image>("image")
            .parameter("width", 640, "pixels")
            .parameter("height", 480, "pixels")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (width, height): (usize, usize) =
            (setup.parameter("width")?, setup.parameter("height")?);
        if [width, height].iter().any(|side| !(1..=SIDE_MAX).contains(side)) {
            return Err(NodeError::new(format!(
                "images would be {width} x {height}, but they have 1 to {SIDE_MAX} pixels a side: set \
                 width and height"
            )));
        }
        let (made, image) = (setup.optional_subscriber("made")?, setup.publisher("image")?);
        Ok(Self { made, image, size: (width, height), pictures: 0 })
    }
}

impl Node for Camera {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if let Some(made) = &self.made {
            made.latest()?;
        }
        let (width, height) = self.size;
        let bytes = width * height * 3;
        let extra = Extra::none().text(FRAME.len()).text(ENCODING.len()).bytes(bytes);
        let (sec, nanosec) = context.now_stamp();
        let mut loan = self.image.loan(extra)?;
        let mut message = loan.message();
        message.header().stamp().set_sec(sec);
        message.header().stamp().set_nanosec(nanosec);
        message.header().set_frame_id(FRAME)?;
        message.set_width(width as u32);
        message.set_height(height as u32);
        message.set_encoding(ENCODING)?;
        message.set_step((width * 3) as u32);
        draw(message.data_uninit(bytes)?, width, self.pictures);
        loan.publish()?;
        self.pictures += 1;
        Ok(())
    }
}

/// Dark and bright squares, each with a ramp of its own in every channel.
fn draw(pixels: &mut [u8], width: usize, moved: usize) {
    for (y, row) in pixels.chunks_exact_mut(width * 3).enumerate() {
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let (column, line) = (x + 3 * moved, y + moved);
            let bright = (column / SQUARE + line / SQUARE).is_multiple_of(2);
            let base = if bright { 150 } else { 20 };
            pixel[0] = (base + 2 * (column % SQUARE)) as u8;
            pixel[1] = (base + 2 * (line % SQUARE)) as u8;
            pixel[2] = (base + (column * 7 + line * 13) % 83) as u8;
        }
    }
}
