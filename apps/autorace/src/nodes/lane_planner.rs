//! Lane planner (topic C of the papers): the lines seen from above.

use crate::camera::{Camera, Homography};
use crate::gpu::LaneViewOnDevice;
use crate::hsv::{Hsv, HsvRange};
use crate::lane_view::{LaneView, VIEW_HEIGHT, VIEW_WIDTH, ViewParameters};
use crate::nodes::message::{Shape, publish_by_device, publish_image, rgb_of};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_device::Device;
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_offload::DeviceStage;

/// Rectification, HSV masks and bird's-eye view; see [`crate::lane_view`].
#[derive(Debug)]
pub struct LanePlanner {
    image: Subscriber<Image>,
    view: Publisher<Image>,
    marker: Marker,
}

/// What marks the lines.
#[derive(Debug)]
enum Marker {
    Processor(Box<LaneView>),
    Device(Box<DeviceStage<LaneViewOnDevice>>),
}

impl NodeType for LanePlanner {
    const NAME: &'static str = "lane_planner";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Marks yellow and white line pixels in a bird's-eye view of the road.")
            .subscriber::<Image>("image")
            .publisher::<Image>("view")
            .parameter("width", 640, "width of the images, pixels")
            .parameter("height", 480, "height of the images, pixels")
            .parameter("rectify", true, "whether the images are distorted by the lens")
            .parameter("intrinsics", vec![530.0, 530.0, 319.5, 239.5], "fx, fy, cx, cy, pixels")
            .parameter("distortion", vec![0.0; 5], "plumb_bob k1, k2, p1, p2, k3")
            .parameter(
                "homography",
                vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                "rectified image to bird's-eye view of 640 x 960 pixels, row by row",
            )
            .parameter("yellow_low", vec![15, 75, 100], "h (0 to 179), s, v of the yellow line")
            .parameter("yellow_high", vec![36, 255, 255], "h, s, v of the yellow line")
            .parameter("white_low", vec![0, 0, 110], "h, s, v of the white line")
            .parameter("white_high", vec![179, 70, 255], "h, s, v of the white line")
            .parameter("contrast_min", 12, "levels by which white exceeds the road beside it")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let homography: [f64; 9] = numbers(setup, "homography")?;
        let row = |i: usize| [homography[i], homography[i + 1], homography[i + 2]];
        let rectify: bool = setup.parameter("rectify")?;
        let camera =
            Camera::plumb_bob(numbers(setup, "intrinsics")?, numbers(setup, "distortion")?);
        let [fx, fy, ..] = camera.intrinsics;
        if !(fx > 0.0 && fy > 0.0) {
            return Err(NodeError::new(format!(
                "the focal lengths in intrinsics are {fx} and {fy}, but must be above 0: take \
                 k[0] and k[4] of the camera's CameraInfo"
            )));
        }
        let parameters = ViewParameters {
            camera: rectify.then_some(camera),
            homography: Homography::new([row(0), row(3), row(6)])?,
            yellow: hsv_range(setup, "yellow_low", "yellow_high")?,
            white: hsv_range(setup, "white_low", "white_high")?,
            contrast_min: setup.parameter("contrast_min")?,
        };
        let (width, height) = (side(setup, "width")?, side(setup, "height")?);
        let (image, view) = (setup.subscriber("image")?, setup.publisher("view")?);
        let make =
            |device: &Device| LaneViewOnDevice::new(device, parameters.clone(), width, height);
        let marker = match DeviceStage::of(setup, &image, &view, make)? {
            Some(device) => Marker::Device(Box::new(device)),
            None => Marker::Processor(Box::new(LaneView::new(parameters, width, height))),
        };
        Ok(Self { image, view, marker })
    }
}

impl Node for LanePlanner {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let message = sample.message();
        let picture = rgb_of(message)?;
        let shape = Shape::mono8(VIEW_WIDTH, VIEW_HEIGHT);
        match &mut self.marker {
            Marker::Processor(lane_view) => {
                publish_image(&self.view, message.header(), shape, |out| {
                    Ok(lane_view.mark(picture, out)?)
                })
            }
            Marker::Device(device) => {
                let (width, height) = device.kernels.size();
                picture.expect_size(width, height)?;
                publish_by_device(&self.view, device, sample, shape, |it, work, from, to| {
                    it.run(work, from, to)
                })
            }
        }
    }
}

/// A parameter that is a side of images.
pub(crate) fn side(setup: &Setup<'_>, name: &str) -> Result<usize, NodeError> {
    let value = setup.parameter(name)?;
    if (1..=crate::jpeg::SIDE_MAX).contains(&value) {
        return Ok(value);
    }
    Err(NodeError::new(format!(
        "{name} is {value} pixels, but images have 1 to {}: give the images' size",
        crate::jpeg::SIDE_MAX
    )))
}

/// A list parameter of exactly `N` numbers.
pub(crate) fn numbers<const N: usize>(
    setup: &Setup<'_>,
    name: &str,
) -> Result<[f64; N], NodeError> {
    let list: Vec<f64> = setup.parameter(name)?;
    let found = list.len();
    list.try_into().map_err(|_| {
        NodeError::new(format!("{name} has {found} numbers, but needs {N}: see its documentation"))
    })
}

/// Two list parameters as the ends of an HSV range.
pub(crate) fn hsv_range(setup: &Setup<'_>, low: &str, high: &str) -> Result<HsvRange, NodeError> {
    let end = |name: &str| -> Result<Hsv, NodeError> {
        let list: Vec<i64> = setup.parameter(name)?;
        let parts: Option<Vec<u8>> = list.iter().map(|v| u8::try_from(*v).ok()).collect();
        match parts.as_deref() {
            Some(&[h, s, v]) if h < 180 => Ok(Hsv { h, s, v }),
            _ => Err(NodeError::new(format!(
                "{name} is {list:?}, but must be [h, s, v] with h from 0 to 179, s and v from 0 \
                 to 255"
            ))),
        }
    };
    Ok(HsvRange { low: end(low)?, high: end(high)? })
}
