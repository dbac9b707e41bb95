//! Features: key points of each image, the front end of a mapper.

use crate::features::{Feature, FeatureParameters, FeatureSearch, PER_CELL_MAX};
use crate::nodes::message::{copy_header, header_extra, rgb_of};
use crate::slam::features::{Seen, descriptor};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::types::sensor_msgs::{
    Image, PointCloud2, PointCloud2Builder, PointCloud2View, PointField,
};
use crossdock_msg::{BuildError, Extra, FlatError};
use thiserror::Error;

/// FAST corners with ORB-like descriptors; see [`crate::features`]. Not a mapper.
///
/// A cloud of one row; each point has x and y in pixels and z = 0 (float32), score and direction
/// (1/32 turn) as uint16, and its 256-bit descriptor as `uint8[32]`.
#[derive(Debug)]
pub struct Features {
    image: Subscriber<Image>,
    points: Publisher<PointCloud2>,
    parameters: FeatureParameters,
    search: FeatureSearch,
    size: (usize, usize),
}

pub(super) const FLOAT32: u8 = 7;
const UINT16: u8 = 4;
const UINT8: u8 = 2;

/// Name, byte offset, data type and count of a field of a point.
pub(super) type CloudField = (&'static str, u32, u8, u32);

const FIELDS: [CloudField; 6] = [
    ("x", 0, FLOAT32, 1),
    ("y", 4, FLOAT32, 1),
    ("z", 8, FLOAT32, 1),
    ("score", 12, UINT16, 1),
    ("direction", 14, UINT16, 1),
    ("descriptor", 16, UINT8, 32),
];
const POINT_BYTES: usize = 48;

/// Why a cloud is none of key points or of a map.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CloudError {
    /// Its points have other fields.
    #[error(
        "the cloud's points have {0} than expected: take the topic of the node `features` for key \
         points, and of the node `slam` for a map"
    )]
    Fields(&'static str),
    /// The message is damaged.
    #[error(transparent)]
    Flat(#[from] FlatError),
}

/// The points of a cloud that has exactly these fields and bytes.
pub(super) fn points_of<'a>(
    cloud: PointCloud2View<'a>,
    expected: &[CloudField],
    point_bytes: usize,
) -> Result<std::slice::ChunksExact<'a, u8>, CloudError> {
    let fields = cloud.fields()?;
    let step = cloud.point_step() as usize;
    if fields.len() != expected.len() || cloud.is_bigendian() || step != point_bytes {
        return Err(CloudError::Fields("other fields"));
    }
    for (field, &(name, offset, datatype, count)) in fields.iter().zip(expected) {
        let found = (field.offset(), field.datatype(), field.count());
        if field.name()? != name || found != (offset, datatype, count) {
            return Err(CloudError::Fields("other fields"));
        }
    }
    let count = u64::from(cloud.width()) * u64::from(cloud.height());
    let data = cloud.data()?;
    if count.checked_mul(point_bytes as u64) != Some(data.len() as u64) {
        return Err(CloudError::Fields("another number of bytes"));
    }
    Ok(data.chunks_exact(point_bytes))
}

/// A number of a point's bytes.
pub(super) fn float_at(point: &[u8], at: usize) -> f32 {
    f32::from_le_bytes(std::array::from_fn(|i| point[at + i]))
}

/// The key points of a cloud that the node `features` has published.
///
/// # Errors
/// [`CloudError`]: other fields, fewer bytes than points, a damaged message.
pub fn key_points_of(cloud: PointCloud2View<'_>) -> Result<Vec<Seen>, CloudError> {
    let point = |point: &[u8]| Seen {
        at: [0, 4].map(|at| f64::from(float_at(point, at))),
        descriptor: descriptor(&std::array::from_fn(|i| point[16 + i])),
    };
    Ok(points_of(cloud, &FIELDS, POINT_BYTES)?.map(point).collect())
}

impl NodeType for Features {
    const NAME: &'static str = "features";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .doc("Finds corners with binary descriptors: a front end for mapping, not a mapper.")
            .subscriber::<Image>("image")
            .publisher::<PointCloud2>("points")
            .parameter("threshold", 25, "levels by which a corner differs from its circle")
            .parameter("per_cell", 5, "corners kept per cell of 64 x 48 pixels, at most 32")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let per_cell: usize = setup.parameter("per_cell")?;
        if !(1..=PER_CELL_MAX).contains(&per_cell) {
            return Err(NodeError::new(format!(
                "per_cell is {per_cell}, but must be 1 to {PER_CELL_MAX} corners"
            )));
        }
        let parameters = FeatureParameters { threshold: setup.parameter("threshold")?, per_cell };
        let size = (640, 480);
        Ok(Self {
            image: setup.subscriber("image")?,
            points: setup.publisher("points")?,
            parameters,
            search: FeatureSearch::new(parameters, size.0, size.1),
            size,
        })
    }
}

impl Node for Features {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.image.take()? else { return Ok(()) };
        let message = sample.message();
        let picture = rgb_of(message)?;
        let size = (picture.width(), picture.height());
        if size != self.size {
            self.search = FeatureSearch::new(self.parameters, size.0, size.1);
            self.size = size;
        }
        let found = self.search.find(picture)?;
        let header = header_extra(message.header())?;
        let mut loan = self.points.loan(cloud_extra(header, &FIELDS, found.len() * POINT_BYTES))?;
        let mut out = loan.message();
        copy_header(message.header(), out.header())?;
        write_points(&mut out, found)?;
        loan.publish()?;
        Ok(())
    }
}

fn write_points(out: &mut PointCloud2Builder<'_>, found: &[Feature]) -> Result<(), NodeError> {
    let data = begin_cloud(out, &FIELDS, found.len(), POINT_BYTES)?;
    for (point, feature) in data.chunks_exact_mut(POINT_BYTES).zip(found) {
        point[0..4].copy_from_slice(&f32::from(feature.x).to_le_bytes());
        point[4..8].copy_from_slice(&f32::from(feature.y).to_le_bytes());
        point[8..12].fill(0);
        point[12..14].copy_from_slice(&feature.score.to_le_bytes());
        point[14..16].copy_from_slice(&u16::from(feature.direction).to_le_bytes());
        point[16..48].copy_from_slice(&feature.descriptor);
    }
    Ok(())
}

/// Room behind the root struct of a cloud.
pub(super) fn cloud_extra(header: Extra, fields: &[CloudField], bytes: usize) -> Extra {
    let names = fields.iter().fold(Extra::none(), |extra, field| extra.text(field.0.len()));
    header.sequence::<PointField>(fields.len()).bytes(names.total() + bytes)
}

/// Sets all of a cloud of one row but its header and gives the bytes of its points.
pub(super) fn begin_cloud<'a>(
    out: &'a mut PointCloud2Builder<'_>,
    fields: &[CloudField],
    points: usize,
    point_bytes: usize,
) -> Result<&'a mut [u8], BuildError> {
    out.set_height(1);
    out.set_width(points as u32);
    out.set_is_dense(true);
    out.set_point_step(point_bytes as u32);
    out.set_row_step((points * point_bytes) as u32);
    let mut list = out.fields(fields.len())?;
    for (index, &(name, offset, datatype, count)) in fields.iter().enumerate() {
        let mut field = list.at(index);
        field.set_name(name)?;
        field.set_offset(offset);
        field.set_datatype(datatype);
        field.set_count(count);
    }
    out.data_uninit(points * point_bytes)
}
