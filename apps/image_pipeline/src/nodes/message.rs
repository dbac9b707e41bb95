//! Between messages and the plain values of the computations.

use crate::picture::Picture;
use crossdock_comm::Publisher;
use crossdock_executor::NodeError;
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_msg::types::std_msgs::{HeaderBuilder, HeaderView};
use crossdock_msg::{Extra, FlatError};

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
    to.set_frame_id_bytes(from.frame_id()?)?;
    Ok(())
}

/// Room for a header's frame name.
pub(crate) fn header_extra(header: HeaderView<'_>) -> Result<Extra, FlatError> {
    Ok(Extra::none().text(header.frame_id()?.len()))
}

/// Publishes an image of another size with the header and encoding of `image`, whose picture has so many
/// `channels`; `fill` writes the pixels in place.
pub(crate) fn publish_image(
    publisher: &Publisher<Image>,
    image: ImageView<'_>,
    channels: usize,
    (width, height): (usize, usize),
    fill: impl FnOnce(&mut [u8]),
) -> Result<(), NodeError> {
    let (encoding, bytes) = (image.encoding()?, width * height * channels);
    let extra = header_extra(image.header())?.text(encoding.len()).bytes(bytes);
    let mut loan = publisher.loan(extra)?;
    let mut message = loan.message();
    copy_header(image.header(), message.header())?;
    message.set_width(width as u32);
    message.set_height(height as u32);
    message.set_encoding_bytes(encoding)?;
    message.set_step((width * channels) as u32);
    fill(message.data_uninit(bytes)?);
    loan.publish()?;
    Ok(())
}
