//! Which pictures a node takes, if its graph says so: those that its twin in hardware has memory
//! for. So a picture that does not fit ends a run wherever the mapping has the node.

use crate::image::{ImageError, Rgb};
use crossdock_executor::{NodeError, Setup};

/// How the parameter for [`Room`]'s bytes is described.
pub(crate) const MAX_BYTES: (&str, &str) =
    ("max_bytes", "bytes of an image at most, what hardware has memory for; 0: any");
/// How the parameter for [`Room`]'s width is described.
pub(crate) const MAX_WIDTH: (&str, &str) =
    ("max_width", "width of an image at most, what hardware has memory for, pixels; 0: any");
/// How the parameters for [`size`] are described.
pub(crate) const SIDES: [(&str, &str); 2] = [
    ("width", "width of the images, which hardware is made for, pixels; 0: any"),
    ("height", "height of the images, which hardware is made for, pixels; 0: any"),
];

/// The largest picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    width: usize,
    bytes: usize,
}

impl Room {
    /// Of a node that has the parameter `max_bytes` alone.
    pub(crate) fn of_bytes(setup: &Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { width: usize::MAX, bytes: most(setup, MAX_BYTES.0)? })
    }

    /// Of a node that has `max_width`, too.
    pub(crate) fn of(setup: &Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { width: most(setup, MAX_WIDTH.0)?, ..Self::of_bytes(setup)? })
    }

    /// Fails if a picture is larger. One without pixels fits.
    pub(crate) fn expect(self, picture: Rgb<'_>) -> Result<(), ImageError> {
        let (width, bytes) = (picture.width(), picture.data().len());
        let Self { width: width_max, bytes: bytes_max } = self;
        if bytes == 0 || width <= width_max && bytes <= bytes_max {
            return Ok(());
        }
        Err(ImageError::Large { width, bytes, width_max, bytes_max })
    }
}

/// A parameter that is the most of something, 0 for no such limit.
fn most(setup: &Setup<'_>, name: &str) -> Result<usize, NodeError> {
    let most: usize = setup.parameter(name)?;
    Ok(if most == 0 { usize::MAX } else { most })
}

/// The only size of pictures that a node with the parameters [`SIDES`] takes; `None`: any.
pub(crate) fn size(setup: &Setup<'_>) -> Result<Option<(usize, usize)>, NodeError> {
    match (setup.parameter("width")?, setup.parameter("height")?) {
        (0, 0) => Ok(None),
        (width, height) if width > 0 && height > 0 => Ok(Some((width, height))),
        (width, height) => Err(NodeError::new(format!(
            "width is {width} and height is {height}: set both to the size of the images, or neither"
        ))),
    }
}
