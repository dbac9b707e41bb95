//! Rectify: removes the distortion of the lens.

use super::message::{picture_of, publish_by_device, publish_image};
use crate::calibration::{Calibration, Projection};
use crate::gpu::RectifyOnDevice;
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::{CameraInfo, Image};
use crossdock_offload::DeviceStage;
use crossdock_rectify::RectificationTable;
use std::path::Path;

/// Rectifies images; see [`crossdock_rectify`]. Allocates when an image comes whose calibration
/// differs from the one before, 8 bytes per pixel, and never otherwise. A calibration alone
/// allocates nothing: its size is only claimed, and an image has its size in memory.
#[derive(Debug)]
pub struct Rectify {
    image: Subscriber<Image>,
    camera_info: Option<Subscriber<CameraInfo>>,
    rectified: Publisher<Image>,
    projection: Projection,
    /// The newest one.
    calibration: Option<Calibration>,
    /// Made for the calibration that is beside it.
    table: Option<(Calibration, RectificationTable)>,
    /// Its kernel belongs to `table`; `None`: not made yet.
    device: Option<DeviceStage<Option<RectifyOnDevice>>>,
}

impl NodeType for Rectify {
    const NAME: &'static str = "rectify";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Removes the distortion of the lens from mono8, rgb8 and bgr8 images.")
            .subscriber::<Image>("image")
            .subscriber_latest::<CameraInfo>("camera_info")
            .optional()
            .publisher::<Image>("image_rect")
            .parameter(
                "calibration",
                "",
                "camera info YAML file, where camera_info is not connected",
            )
            .parameter(
                "projection",
                "camera_info",
                "intrinsics of rectified images: camera_info (of P) or camera_matrix (of K)",
            )
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let projection = setup.parameter::<String>("projection")?;
        let Some(projection) = Projection::named(&projection) else {
            return Err(NodeError::new(format!(
                "projection is `{projection}`, but must be camera_info or camera_matrix"
            )));
        };
        let camera_info = setup.optional_subscriber("camera_info")?;
        let file: String = setup.parameter("calibration")?;
        let calibration = match (&camera_info, file.is_empty()) {
            (Some(_), true) => None,
            (None, false) => Some(Calibration::read(Path::new(&file), projection)?),
            (Some(_), false) => {
                return Err(NodeError::new(
                    "the calibration comes from the input `camera_info` and from the parameter \
                     `calibration`: leave one of them out",
                ));
            }
            (None, true) => {
                return Err(NodeError::new(
                    "there is no calibration: connect the input `camera_info`, or name a file in the \
                     parameter `calibration`",
                ));
            }
        };
        let (image, rectified) = (setup.subscriber("image")?, setup.publisher("image_rect")?);
        let device = DeviceStage::of(setup, &image, &rectified, |_| Ok(None))?;
        let table = None;
        let mut node =
            Self { image, camera_info, rectified, projection, calibration, table, device };
        if let Some(calibration) = calibration {
            // The user names the file: the first image does not wait for the table.
            node.prepare(calibration)?;
        }
        Ok(node)
    }
}

impl Rectify {
    /// Takes what has come of the camera's calibration.
    fn learn(&mut self) -> Result<(), NodeError> {
        let Some(camera_info) = &self.camera_info else { return Ok(()) };
        for sample in camera_info.read() {
            self.calibration = Some(Calibration::of_info(sample?.message(), self.projection)?);
        }
        Ok(())
    }

    /// Makes the table of `calibration` and the kernel for it, if they are not those that are
    /// there. The kernel before serves what is under way.
    fn prepare(&mut self, calibration: Calibration) -> Result<(), NodeError> {
        if self.table.as_ref().is_some_and(|(known, _)| *known == calibration) {
            return Ok(());
        }
        // Two tables at once are not needed.
        self.table = None;
        let Calibration { width, height, camera } = &calibration;
        let table = RectificationTable::try_new(camera, *width, *height)?;
        if let Some(device) = &mut self.device {
            device.kernels = Some(RectifyOnDevice::new(&device.device(), &table)?);
        }
        self.table = Some((calibration, table));
        Ok(())
    }
}

impl Node for Rectify {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        self.learn()?;
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let image = sample.message();
        let picture = picture_of(image)?;
        let Some(calibration) = self.calibration else {
            return Err(NodeError::new(
                "an image has come before any calibration: give the node the condition `{ all_of: \
                 [image, camera_info], same: stamp }` and `trigger: true` on camera_info in the graph file",
            ));
        };
        let ((width, height), expected) = (picture.size(), (calibration.width, calibration.height));
        if (width, height) != expected {
            return Err(NodeError::new(format!(
                "the image is {width} x {height}, but the calibration is for {} x {}: calibrate the camera as \
                 it is used, or set its resolution",
                expected.0, expected.1
            )));
        }
        self.prepare(calibration)?;
        let channels = picture.channels();
        if let Some(device) = &mut self.device {
            let rectified = &self.rectified;
            return publish_by_device(
                rectified,
                device,
                sample,
                channels,
                expected,
                |kernel, work, from, to| {
                    let kernel = kernel.as_mut().expect("it was made with the table");
                    kernel.run(work, channels as u32, from, to)
                },
            );
        }
        let (_, table) = self.table.as_ref().expect("it is prepared");
        publish_image(&self.rectified, image, channels, expected, |out| match channels {
            1 => table.apply::<1>(picture.pixels(), 0..height, out),
            _ => table.apply::<3>(picture.pixels(), 0..height, out),
        })
    }
}
