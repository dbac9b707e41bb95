//! Between messages and the plain values of the computations.

use crate::picture::Picture;
use crossdock_comm::{Loan, Publisher, Sample};
use crossdock_executor::NodeError;
use crossdock_msg::types::sensor_msgs::{Image, ImageBuilder, ImageView};
use crossdock_msg::types::std_msgs::{HeaderBuilder, HeaderView};
use crossdock_msg::{Extra, FlatError};
use crossdock_offload::{DeviceStage, OffloadError, Place, Target, Work};

/// The picture of a message, without copying it.
pub(crate) fn picture_of(image: ImageView<'_>) -> Result<Picture<'_>, NodeError> {
    let sides = (image.width(), image.height(), image.step());
    Ok(Picture::new(sides, image.encoding()?, image.data()?)?)
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

/// Room for a header's frame name.
pub(crate) fn header_extra(header: HeaderView<'_>) -> Result<Extra, FlatError> {
    Ok(Extra::none().text(header.frame_id()?.len()))
}

/// Publishes an image of another size with the header and encoding of the one that a device makes
/// it of, whose picture has so many `channels`.
pub(crate) fn publish_by_device<K>(
    publisher: &Publisher<Image>,
    stage: &mut DeviceStage<K>,
    sample: Sample<Image>,
    channels: usize,
    size: (usize, usize),
    launch: impl FnOnce(&mut K, &mut Work<'_>, &Place, &Place) -> Result<(), OffloadError>,
) -> Result<(), NodeError> {
    let image = sample.message();
    let mut loan = loan(publisher, image, channels, size)?;
    let region = loan.region();
    let mut message = loan.message();
    let target = Target::new(region, begin(&mut message, image, channels, size)?);
    stage.publish(sample, |sample| Ok(sample.message().data()?), (loan, target), launch)
}

/// Publishes an image of another size with the header and encoding of `image`, whose picture has so
/// many `channels`; `fill` writes the pixels in place.
pub(crate) fn publish_image(
    publisher: &Publisher<Image>,
    image: ImageView<'_>,
    channels: usize,
    size: (usize, usize),
    fill: impl FnOnce(&mut [u8]),
) -> Result<(), NodeError> {
    let mut loan = loan(publisher, image, channels, size)?;
    let mut message = loan.message();
    fill(begin(&mut message, image, channels, size)?);
    loan.publish()?;
    Ok(())
}

/// Room for an image with the header and encoding of `image`.
fn loan<'a>(
    publisher: &'a Publisher<Image>,
    image: ImageView<'_>,
    channels: usize,
    (width, height): (usize, usize),
) -> Result<Loan<'a, Image>, NodeError> {
    let (encoding, bytes) = (image.encoding()?, width * height * channels);
    let extra = header_extra(image.header())?.text(encoding.len()).bytes(bytes);
    Ok(publisher.loan(extra)?)
}

/// Sets the fields of such an image and gives its pixels, contents unspecified.
fn begin<'a>(
    message: &'a mut ImageBuilder<'_>,
    image: ImageView<'_>,
    channels: usize,
    (width, height): (usize, usize),
) -> Result<&'a mut [u8], NodeError> {
    copy_header(image.header(), message.header())?;
    message.set_width(width as u32);
    message.set_height(height as u32);
    message.set_encoding_text(image.encoding()?)?;
    message.set_step((width * channels) as u32);
    Ok(message.data_uninit(width * height * channels)?)
}
