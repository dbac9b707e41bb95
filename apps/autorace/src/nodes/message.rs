//! Between messages and the plain values of the algorithms.

use crate::image::{Gray, ImageError, Rgb};
use crate::lane::{Lane, Line};
use crate::light::Lamp;
use crate::messages::autorace_msgs::{
    LaneBuilder, LaneView, TrafficLightBuilder, TrafficLightView,
};
use crate::score::Shown;
use crossdock_comm::{Publisher, Sample};
use crossdock_executor::NodeError;
use crossdock_msg::types::sensor_msgs::{Image, ImageBuilder, ImageView};
use crossdock_msg::types::std_msgs::{HeaderBuilder, HeaderView};
use crossdock_msg::{BuildError, Extra, FlatError};
use crossdock_offload::{DeviceStage, OffloadError, Place, Target, Work};
use thiserror::Error;

/// Why an image message is not a picture that the nodes work on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// Another pixel format.
    #[error("the image is `{found}`, the node works on `{expected}`: convert it before")]
    Encoding {
        /// Encoding of the message.
        found: String,
        /// Encoding that the node works on.
        expected: &'static str,
    },
    /// Padding between rows.
    #[error("the image has {step} bytes per row of {width} pixels: send packed rows")]
    Step {
        /// Bytes from row to row.
        step: u32,
        /// Pixels per row.
        width: u32,
    },
    /// The message is damaged.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// The bytes do not fit the size.
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// The message's stamp in ns.
pub fn stamp_ns(header: HeaderView<'_>) -> i64 {
    let stamp = header.stamp();
    i64::from(stamp.sec()) * 1_000_000_000 + i64::from(stamp.nanosec())
}

fn packed<'a>(
    image: ImageView<'a>,
    expected: &'static str,
    channels: u32,
) -> Result<(usize, usize, &'a [u8]), PictureError> {
    let encoding = image.encoding()?;
    if encoding != expected {
        let found = encoding.string_lossy();
        return Err(PictureError::Encoding { found, expected });
    }
    let (width, step) = (image.width(), image.step());
    if u64::from(step) != u64::from(width) * u64::from(channels) {
        return Err(PictureError::Step { step, width });
    }
    Ok((width as usize, image.height() as usize, image.data()?))
}

/// The picture of an rgb8 message, without copying it.
///
/// # Errors
/// [`PictureError`]: another encoding, padded rows, a damaged message.
pub fn rgb_of(image: ImageView<'_>) -> Result<Rgb<'_>, PictureError> {
    let (width, height, data) = packed(image, "rgb8", 3)?;
    Ok(Rgb::new(width, height, data)?)
}

/// The picture of a mono8 message.
pub(crate) fn gray_of(image: ImageView<'_>) -> Result<Gray<'_>, PictureError> {
    let (width, height, data) = packed(image, "mono8", 1)?;
    Ok(Gray::new(width, height, data)?)
}

/// Copies stamp and frame.
pub(crate) fn copy_header(
    from: HeaderView<'_>,
    mut to: HeaderBuilder<'_>,
) -> Result<(), NodeError> {
    to.stamp().set_sec(from.stamp().sec());
    to.stamp().set_nanosec(from.stamp().nanosec());
    to.set_frame_id_text(from.frame_id()?)?;
    Ok(())
}

/// Sets stamp, in seconds and nanoseconds, and frame.
pub(crate) fn set_header(
    mut header: HeaderBuilder<'_>,
    stamp: (i32, u32),
    frame: &str,
) -> Result<(), NodeError> {
    header.stamp().set_sec(stamp.0);
    header.stamp().set_nanosec(stamp.1);
    header.set_frame_id(frame)?;
    Ok(())
}

/// Room for a header's frame name.
pub(crate) fn header_extra(header: HeaderView<'_>) -> Result<Extra, FlatError> {
    Ok(Extra::none().text(header.frame_id()?.len()))
}

/// Format and size of an image message to be published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) encoding: &'static str,
    pub(crate) channels: usize,
}

impl Shape {
    pub(crate) const fn rgb8(width: usize, height: usize) -> Self {
        Self { width, height, encoding: "rgb8", channels: 3 }
    }

    pub(crate) const fn mono8(width: usize, height: usize) -> Self {
        Self { width, height, encoding: "mono8", channels: 1 }
    }

    fn bytes(self) -> usize {
        self.width * self.height * self.channels
    }

    /// Sets the fields of an image and gives its pixels, contents unspecified.
    pub(crate) fn begin<'a>(
        self,
        message: &'a mut ImageBuilder<'_>,
    ) -> Result<&'a mut [u8], BuildError> {
        message.set_width(self.width as u32);
        message.set_height(self.height as u32);
        message.set_encoding(self.encoding)?;
        message.set_step((self.width * self.channels) as u32);
        message.data_uninit(self.bytes())
    }

    /// Room behind the root struct.
    pub(crate) fn extra(self, header: Extra) -> Extra {
        header.text(self.encoding.len()).bytes(self.bytes())
    }
}

/// Publishes an image with the header of another one, which it is made of by a device.
pub(crate) fn publish_by_device<K>(
    publisher: &Publisher<Image>,
    stage: &mut DeviceStage<K>,
    sample: Sample<Image>,
    shape: Shape,
    launch: impl FnOnce(&mut K, &mut Work<'_>, &Place, &Place) -> Result<(), OffloadError>,
) -> Result<(), NodeError> {
    let header = sample.message().header();
    let mut loan = publisher.loan(shape.extra(header_extra(header)?))?;
    let region = loan.region();
    let mut message = loan.message();
    copy_header(header, message.header())?;
    let target = Target::new(region, shape.begin(&mut message)?);
    stage.publish(sample, |sample| Ok(sample.message().data()?), (loan, target), launch)
}

/// Publishes an image with the header of another message; `fill` writes the pixels in place.
pub(crate) fn publish_image(
    publisher: &Publisher<Image>,
    header: HeaderView<'_>,
    shape: Shape,
    fill: impl FnOnce(&mut [u8]) -> Result<(), NodeError>,
) -> Result<(), NodeError> {
    let mut loan = publisher.loan(shape.extra(header_extra(header)?))?;
    let mut message = loan.message();
    copy_header(header, message.header())?;
    fill(shape.begin(&mut message)?)?;
    loan.publish()?;
    Ok(())
}

/// Writes the lines of `lane`.
pub(crate) fn set_lane(message: &mut LaneBuilder<'_>, lane: &Lane) {
    message.set_left_valid(lane.left.is_some());
    message.set_right_valid(lane.right.is_some());
    message.set_left(&lane.left.map_or([0.0; 3], |line| line.0));
    message.set_right(&lane.right.map_or([0.0; 3], |line| line.0));
}

/// The lines of a message.
pub fn lane_of(message: LaneView<'_>) -> Lane {
    Lane {
        left: message.left_valid().then(|| Line(message.left())),
        right: message.right_valid().then(|| Line(message.right())),
    }
}

/// State numbers of `autorace_msgs/msg/TrafficLight`.
const STATES: [(u8, Shown); 3] = [(0, Shown::None), (1, Shown::Red), (2, Shown::Green)];

/// Writes what is shown; without a lamp that is nothing.
pub(crate) fn set_light(message: &mut TrafficLightBuilder<'_>, shown: Shown, lamp: Option<Lamp>) {
    set_light_state(message, if lamp.is_some() { shown } else { Shown::None });
    message.set_area(lamp.map_or(0, |lamp| lamp.area));
    message.set_box(&lamp.map_or([0; 4], |lamp| lamp.bounds));
}

/// Writes what is shown, without a lamp's area and box.
pub(crate) fn set_light_state(message: &mut TrafficLightBuilder<'_>, shown: Shown) {
    let state = STATES.iter().find(|(_, s)| *s == shown).map_or(0, |(state, _)| *state);
    message.set_state(state);
}

/// What a message shows; an unknown state counts as none.
pub fn shown_of(message: TrafficLightView<'_>) -> Shown {
    let state = message.state();
    STATES.iter().find(|(s, _)| *s == state).map_or(Shown::None, |(_, shown)| *shown)
}

/// The lamp of a message that shows `shown`.
pub(crate) fn lamp_of(message: TrafficLightView<'_>, shown: Shown) -> Option<Lamp> {
    let lamp = Lamp { area: message.area(), bounds: message.r#box() };
    (shown_of(message) == shown).then_some(lamp)
}
