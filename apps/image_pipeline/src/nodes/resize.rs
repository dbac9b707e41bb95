//! Resize: images of another size, and the camera info that belongs to them.

use super::message::{copy_header, header_extra, picture_of, publish_by_device, publish_image};
use crate::gpu::ResizeOnDevice;
use crate::resize::{Interpolation, Resizer};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::{CameraInfo, CameraInfoView, Image};
use crossdock_offload::DeviceStage;

/// Resizes images; see [`crate::resize`]. Allocates when an image has another size than the image
/// before, and never otherwise.
///
/// Camera infos are scaled as `image_proc` does it: rows of K and P, and the region of interest,
/// times the ratio of the sizes.
#[derive(Debug)]
pub struct Resize {
    image: Subscriber<Image>,
    camera_info: Option<Subscriber<CameraInfo>>,
    resized: Publisher<Image>,
    resized_info: Option<Publisher<CameraInfo>>,
    target: Target,
    interpolation: Interpolation,
    room: Room,
    resizer: Option<Resizer>,
    /// Its kernel belongs to `resizer`.
    device: Option<DeviceStage<Option<ResizeOnDevice>>>,
}

/// Which size images get.
#[derive(Clone, Copy, Debug)]
enum Target {
    Factor(f64),
    Size(usize, usize),
}

impl Target {
    /// The size for images of this one: to the nearest pixel, ties to even ones.
    fn of(self, (width, height): (usize, usize)) -> (usize, usize) {
        let scaled = |side: usize, factor: f64| (side as f64 * factor).round_ties_even() as usize;
        match self {
            Self::Factor(factor) => (scaled(width, factor), scaled(height, factor)),
            Self::Size(width, height) => (width, height),
        }
    }
}

/// What hardware has memory for, if the graph says it; 0: any.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Of an image that comes: hardware keeps some of its rows, and none of those that leave.
    width: usize,
    /// Of an image that comes or leaves.
    bytes: usize,
}

impl Room {
    /// Refuses a target that has no room in colour: like hardware, which is made for it before it
    /// knows of any image.
    fn expect_target(self, target: Target) -> Result<(), NodeError> {
        let Target::Size(width, height) = target else { return Ok(()) };
        if fits(bytes((width, height), 3), self.bytes) {
            return Ok(());
        }
        Err(NodeError::new(format!(
            "{width} x {height} pixels, three bytes each, are more than max_bytes, {}: make width or \
             height smaller, or raise max_bytes",
            self.bytes
        )))
    }

    /// Refuses an image that comes and is larger.
    fn expect(self, size: (usize, usize), channels: usize) -> Result<(), NodeError> {
        match fits(size.0, self.width) {
            true => self.expect_bytes(size, channels),
            false => Err(self.refusal(size, channels)),
        }
    }

    /// Refuses an image that comes or leaves and has more bytes.
    fn expect_bytes(self, size: (usize, usize), channels: usize) -> Result<(), NodeError> {
        match fits(bytes(size, channels), self.bytes) {
            true => Ok(()),
            false => Err(self.refusal(size, channels)),
        }
    }

    fn refusal(self, size: (usize, usize), channels: usize) -> NodeError {
        let ((width, height), bytes) = (size, bytes(size, channels));
        let Self { width: width_max, bytes: bytes_max } = self;
        NodeError::new(format!(
            "an image of {width} x {height} has {bytes} bytes, but max_width is {width_max} pixels and \
             max_bytes is {bytes_max}: send smaller ones, or change these parameters"
        ))
    }
}

fn bytes((width, height): (usize, usize), channels: usize) -> usize {
    width.saturating_mul(height).saturating_mul(channels)
}

fn fits(value: usize, most: usize) -> bool {
    most == 0 || value <= most
}

impl NodeType for Resize {
    const NAME: &'static str = "resize";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Resizes mono8, rgb8 and bgr8 images, and scales the camera info that belongs to them.")
            .subscriber::<Image>("image")
            .subscriber_latest::<CameraInfo>("camera_info")
            .optional()
            .publisher::<Image>("resized")
            .publisher::<CameraInfo>("resized_info")
            .optional()
            .parameter("factor", 0.5, "new side by old one, where width and height are 0")
            .parameter("width", 0, "new width, pixels")
            .parameter("height", 0, "new height, pixels")
            .parameter("interpolation", "bilinear", "bilinear, or area (to smaller images only)")
            .parameter("max_width", 0, "width of an image that comes, at most, as in hardware, pixels; 0: any")
            .parameter("max_bytes", 0, "bytes of an image that comes or leaves, at most, as in hardware; 0: any")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let interpolation = match setup.parameter::<String>("interpolation")?.as_str() {
            "bilinear" => Interpolation::Bilinear,
            "area" => Interpolation::Area,
            other => {
                return Err(NodeError::new(format!(
                    "interpolation is `{other}`, but must be bilinear or area"
                )));
            }
        };
        let (width, height) = (setup.parameter("width")?, setup.parameter("height")?);
        let factor: f64 = setup.parameter("factor")?;
        let target = match (width, height) {
            (0, 0) if factor > 0.0 => Target::Factor(factor),
            (0, 0) => {
                return Err(NodeError::new(format!("factor is {factor}, but must be above 0")));
            }
            (0, _) | (_, 0) => {
                return Err(NodeError::new(format!(
                    "width is {width} and height is {height}: set both, or neither and factor instead"
                )));
            }
            size => Target::Size(size.0, size.1),
        };
        let room =
            Room { width: setup.parameter("max_width")?, bytes: setup.parameter("max_bytes")? };
        room.expect_target(target)?;
        let camera_info = setup.optional_subscriber("camera_info")?;
        let resized_info = setup.optional_publisher("resized_info")?;
        if camera_info.is_some() != resized_info.is_some() {
            return Err(NodeError::new(
                "resized_info is made of camera_info: connect both of them or neither",
            ));
        }
        let (image, resized) = (setup.subscriber("image")?, setup.publisher("resized")?);
        let resizer = None;
        let device = DeviceStage::of(setup, &image, &resized, |_| Ok(None))?;
        Ok(Self {
            image,
            camera_info,
            resized,
            resized_info,
            target,
            interpolation,
            room,
            resizer,
            device,
        })
    }
}

impl Node for Resize {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        self.pass_infos_on()?;
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let image = sample.message();
        let picture = picture_of(image)?;
        let size = picture.size();
        let channels = picture.channels();
        self.room.expect(size, channels)?;
        self.room.expect_bytes(self.target.of(size), channels)?;
        if self.resizer.as_ref().is_none_or(|resizer| resizer.from() != size) {
            let resizer = Resizer::new(size, self.target.of(size), self.interpolation)?;
            if let Some(device) = &mut self.device {
                device.kernels = Some(ResizeOnDevice::new(&device.device(), &resizer)?);
            }
            self.resizer = Some(resizer);
        }
        let Some(resizer) = &self.resizer else { return Ok(()) };
        if let Some(device) = &mut self.device {
            let size = resizer.to();
            return publish_by_device(
                &self.resized,
                device,
                sample,
                channels,
                size,
                |kernel, work, from, to| {
                    let kernel = kernel.as_mut().expect("it was made with the resizer");
                    kernel.run(work, channels as u32, from, to)
                },
            );
        }
        publish_image(&self.resized, image, channels, resizer.to(), |out| match channels {
            1 => resizer.apply::<1>(picture.pixels(), out),
            _ => resizer.apply::<3>(picture.pixels(), out),
        })
    }
}

impl Resize {
    fn pass_infos_on(&mut self) -> Result<(), NodeError> {
        let (Some(infos), Some(publisher)) = (&self.camera_info, &self.resized_info) else {
            return Ok(());
        };
        for sample in infos.read() {
            publish_info(publisher, sample?.message(), self.target)?;
        }
        Ok(())
    }
}

/// Publishes `info` for images of the target's size.
fn publish_info(
    publisher: &Publisher<CameraInfo>,
    info: CameraInfoView<'_>,
    target: Target,
) -> Result<(), NodeError> {
    let (model, distortion) = (info.distortion_model()?, info.d()?);
    let extra = header_extra(info.header())?.text(model.len()).values::<f64>(distortion.len());
    let (width, height) = target.of((info.width() as usize, info.height() as usize));
    let scale = [
        width as f64 / f64::from(info.width().max(1)),
        height as f64 / f64::from(info.height().max(1)),
    ];
    let mut loan = publisher.loan(extra)?;
    let mut message = loan.message();
    copy_header(info.header(), message.header())?;
    message.set_width(width as u32);
    message.set_height(height as u32);
    message.set_distortion_model_text(model)?;
    message.set_d(distortion)?;
    message.set_r(&info.r());
    let (mut k, mut p) = (info.k(), info.p());
    for (row, scale) in scale.iter().enumerate() {
        k[row * 3..row * 3 + 3].iter_mut().for_each(|number| *number *= scale);
        p[row * 4..row * 4 + 4].iter_mut().for_each(|number| *number *= scale);
    }
    message.set_k(&k);
    message.set_p(&p);
    message.set_binning_x(info.binning_x());
    message.set_binning_y(info.binning_y());
    let (from, mut to) = (info.roi(), message.roi());
    let scaled = |pixels: u32, scale: f64| (f64::from(pixels) * scale) as u32;
    to.set_x_offset(scaled(from.x_offset(), scale[0]));
    to.set_width(scaled(from.width(), scale[0]));
    to.set_y_offset(scaled(from.y_offset(), scale[1]));
    to.set_height(scaled(from.height(), scale[1]));
    to.set_do_rectify(from.do_rectify());
    loan.publish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Room, Target};

    const ROOM: Room = Room { width: 640, bytes: 640 * 480 * 3 };

    #[test]
    fn a_target_needs_room_for_three_bytes_a_pixel_before_any_image_comes() {
        ROOM.expect_target(Target::Size(640, 480)).expect("as many bytes as there are");
        // Its rows are not kept.
        ROOM.expect_target(Target::Size(921_600 / 3, 1)).expect("as many bytes as there are");
        let error = ROOM.expect_target(Target::Size(641, 480)).expect_err("641 x 480 has no room");
        let said = "641 x 480 pixels, three bytes each, are more than max_bytes, 921600:";
        assert!(error.to_string().contains(said), "{error}");
        Room { bytes: 0, ..ROOM }.expect_target(Target::Size(16384, 16384)).expect("any has room");
        // Not known before there are images.
        ROOM.expect_target(Target::Factor(100.0)).expect("small ones fit");
    }

    #[test]
    fn images_that_come_have_the_width_and_images_that_leave_the_bytes() {
        ROOM.expect((640, 480), 3).expect("it has room");
        ROOM.expect((640, 1440), 1).expect("it has room");
        for (size, channels) in [((641, 1), 1), ((640, 481), 3), ((640, 1441), 1)] {
            let error = ROOM.expect(size, channels).expect_err("it has no room");
            assert!(error.to_string().contains("max_width is 640 pixels"), "{error}");
        }
        ROOM.expect_bytes((700, 400), 3).expect("it has room");
        ROOM.expect_bytes((700, 440), 3).expect_err("it has 924000 bytes");
    }
}
