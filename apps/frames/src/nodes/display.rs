//! The display: shows frames.

use crate::gpu::Screen;
use crate::messages::frames_interfaces::Shown;
use crate::nodes::ENCODING;
use crate::scene::{Scene, Size};
use crossdock_comm::TakeError;
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Publisher, Setup, Subscriber,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_offload::{DeviceInput, DeviceOutput, OffloadError, Queue};

/// Copies each frame to where a window would have it, in memory of its device or its own, and says
/// so, while the device still copies. Allocates when a frame comes that is larger than all before,
/// and to compare one.
#[derive(Debug)]
pub struct Display {
    frame: Subscriber<Image>,
    shown: Publisher<Shown>,
    drawn: bool,
    /// Which frame is compared, from 1; 0: none.
    compared: u64,
    frames: u64,
    /// What is shown, and of a frame that is compared what should be.
    pixels: [Vec<u8>; 2],
    device: Option<OnDevice>,
}

#[derive(Debug)]
struct OnDevice {
    queue: Queue,
    frame: DeviceInput,
    shown: DeviceOutput,
    screen: Option<Screen>,
}

impl NodeType for Display {
    const NAME: &'static str = "display";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Copies bgra8 frames to where a window would have them.")
            .subscriber::<Image>("frame")
            .publisher::<Shown>("shown")
            .parameter(
                "drawn",
                true,
                "false: frames are only taken and given back, nothing is copied",
            )
            .parameter(
                "compared",
                0,
                "which frame is compared with what a processor draws, from 1; 0: none",
            )
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (frame, shown) = (setup.subscriber("frame")?, setup.publisher("shown")?);
        let device = match Queue::of(setup)? {
            None => None,
            Some(queue) => {
                let (frame, shown) = (queue.input(setup, &frame)?, queue.output(setup, &shown)?);
                Some(OnDevice { queue, frame, shown, screen: None })
            }
        };
        let compared: i64 = setup.parameter("compared")?;
        let compared = u64::try_from(compared).map_err(|_| {
            NodeError::new(format!("compared is {compared}, but must not be negative"))
        })?;
        let drawn = setup.parameter("drawn")?;
        let pixels = [Vec::new(), Vec::new()];
        Ok(Self { frame, shown, drawn, compared, frames: 0, pixels, device })
    }
}

impl Node for Display {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.frame.take()? else { return Ok(()) };
        let image = sample.message();
        let size = size_of(image)?;
        let stamp = (image.header().stamp().sec(), image.header().stamp().nanosec());
        self.frames += 1;
        let compares = self.drawn && self.frames == self.compared;
        let mut loan = self.shown.loan(Extra::none())?;
        let mut message = loan.message();
        message.stamp().set_sec(stamp.0);
        message.stamp().set_nanosec(stamp.1);
        message.set_compared(compares);
        let [shown, expected] = &mut self.pixels;
        if compares {
            shown.resize(size.bytes(), 0);
            expected.resize(size.bytes(), 0);
            Scene::at(size, f64::from(stamp.0) + f64::from(stamp.1) / 1e9).draw(expected);
        }
        let Some(OnDevice { queue, frame, shown: output, screen }) = &mut self.device else {
            if self.drawn {
                shown.resize(size.bytes(), 0);
                shown.copy_from_slice(image.data()?);
            }
            loan.message().set_right(compares && shown == expected);
            loan.publish()?;
            return Ok(());
        };
        if screen.as_ref().is_none_or(|it| it.bytes() < size.bytes() as u64) {
            *screen = Some(Screen::new(&queue.device(), size.bytes() as u64)?);
        }
        let mut work = queue.begin()?;
        let from = match work.read(frame, &sample, image.data()?) {
            // The run ends: who drew it is gone.
            Err(OffloadError::Take(TakeError::Unfinished(it))) if it.publisher_gone => {
                return Ok(());
            }
            from => from?,
        };
        if let (true, Some(screen)) = (self.drawn, &*screen) {
            screen.show(&mut work, &from)?;
            if compares {
                screen.read(&mut work, shown)?;
                loan.message().set_right(shown == expected);
            }
        }
        Ok(work.publish(output, loan, sample)?)
    }
}

/// The sides of a frame, if it is one.
fn size_of(image: crossdock_msg::types::sensor_msgs::ImageView<'_>) -> Result<Size, NodeError> {
    let (width, height) = (image.width(), image.height());
    let size = Size::new(width, height).filter(|size| {
        image.encoding().is_ok_and(|it| it == ENCODING.as_bytes())
            && image.data().is_ok_and(|it| it.len() == size.bytes())
    });
    size.ok_or_else(|| {
        NodeError::new(format!(
            "an image of {width} x {height} is no frame: frames are {ENCODING}, with packed rows; connect the output \
             of a `renderer`"
        ))
    })
}
