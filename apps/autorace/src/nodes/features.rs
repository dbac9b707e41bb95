//! Features: key points of each image, the front end of a mapper.

use crate::features::{Feature, FeatureParameters, FeatureSearch, PER_CELL_MAX};
use crate::nodes::message::{copy_header, header_extra, rgb_of};
use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::{Image, PointCloud2, PointCloud2Builder, PointField};

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

const FLOAT32: u8 = 7;
const UINT16: u8 = 4;
const UINT8: u8 = 2;

/// Name, byte offset, data type and count of each field of a point.
const FIELDS: [(&str, u32, u8, u32); 6] = [
    ("x", 0, FLOAT32, 1),
    ("y", 4, FLOAT32, 1),
    ("z", 8, FLOAT32, 1),
    ("score", 12, UINT16, 1),
    ("direction", 14, UINT16, 1),
    ("descriptor", 16, UINT8, 32),
];
const POINT_BYTES: usize = 48;

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
        let names = FIELDS.iter().fold(Extra::none(), |extra, field| extra.text(field.0.len()));
        let extra = header_extra(message.header())?
            .sequence::<PointField>(FIELDS.len())
            .bytes(names.total() + found.len() * POINT_BYTES);
        let mut loan = self.points.loan(extra)?;
        let mut out = loan.message();
        copy_header(message.header(), out.header())?;
        write_points(&mut out, found)?;
        loan.publish()?;
        Ok(())
    }
}

fn write_points(out: &mut PointCloud2Builder<'_>, found: &[Feature]) -> Result<(), NodeError> {
    out.set_height(1);
    out.set_width(found.len() as u32);
    out.set_is_dense(true);
    out.set_point_step(POINT_BYTES as u32);
    out.set_row_step((found.len() * POINT_BYTES) as u32);
    let mut fields = out.fields(FIELDS.len())?;
    for (index, (name, offset, datatype, count)) in FIELDS.into_iter().enumerate() {
        let mut field = fields.at(index);
        field.set_name(name)?;
        field.set_offset(offset);
        field.set_datatype(datatype);
        field.set_count(count);
    }
    let data = out.data_uninit(found.len() * POINT_BYTES)?;
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
