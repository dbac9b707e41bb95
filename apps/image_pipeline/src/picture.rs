//! Borrowed pictures: a size, channels and the bytes, wherever they live. Knows no message type and
//! owns no memory.

use crossdock_msg::block::Text;
use crossdock_rectify::SIDE_MAX;
use thiserror::Error;

/// Encodings that the nodes work on, with their bytes per pixel.
const ENCODINGS: [(&str, usize); 3] = [("mono8", 1), ("rgb8", 3), ("bgr8", 3)];

/// A picture of 8-bit channels in packed rows.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    width: usize,
    height: usize,
    channels: usize,
    pixels: &'a [u8],
}

/// Why bytes are not a picture that the nodes work on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// Another pixel format.
    #[error(
        "the image is `{found}`, this node works on mono8, rgb8 and bgr8: convert it before, or have the \
         camera's driver publish one of them"
    )]
    Encoding {
        /// Encoding of the message.
        found: String,
    },
    /// No size.
    #[error(
        "the image is {width} x {height}, but images have 1 to {SIDE_MAX} pixels a side: check what \
         publishes it"
    )]
    Side {
        /// Pixels per row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// Padding between rows.
    #[error("the image has {step} bytes per row of {width} pixels: send packed rows")]
    Step {
        /// Bytes from row to row.
        step: u32,
        /// Pixels per row.
        width: u32,
    },
    /// The byte count does not fit the size.
    #[error(
        "a {width} x {height} image with {channels} bytes per pixel needs {expected} bytes, but there are \
         {found}: check what publishes it"
    )]
    Length {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
        /// Bytes per pixel.
        channels: usize,
        /// Bytes that the size asks for.
        expected: usize,
        /// Bytes that are there.
        found: usize,
    },
}

impl<'a> Picture<'a> {
    /// Wraps the bytes of an image: `step` bytes from row to row.
    ///
    /// # Errors
    /// [`PictureError`]: another encoding or size than the nodes work on, padding, another length.
    pub fn new(
        (width, height, step): (u32, u32, u32),
        encoding: Text<'_>,
        pixels: &'a [u8],
    ) -> Result<Self, PictureError> {
        let Some((_, channels)) = ENCODINGS.iter().find(|(name, _)| encoding == *name) else {
            let found = encoding.string_lossy();
            return Err(PictureError::Encoding { found });
        };
        let side = |side: u32| (1..=SIDE_MAX).contains(&(side as usize));
        if !side(width) || !side(height) {
            return Err(PictureError::Side { width, height });
        }
        if step as usize != width as usize * channels {
            return Err(PictureError::Step { step, width });
        }
        let (width, height, channels) = (width as usize, height as usize, *channels);
        let (expected, found) = (width * height * channels, pixels.len());
        if expected != found {
            return Err(PictureError::Length { width, height, channels, expected, found });
        }
        Ok(Self { width, height, channels, pixels })
    }

    /// Pixels per row, and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Bytes per pixel: 1 or 3.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// All bytes, row by row.
    pub fn pixels(&self) -> &'a [u8] {
        self.pixels
    }
}

#[cfg(test)]
mod tests {
    use super::Picture;

    #[test]
    fn what_is_no_picture_is_refused_with_the_reason_and_the_next_step() {
        let told = |sides, encoding: &str, bytes: usize| {
            let data = vec![0; bytes];
            Picture::new(sides, encoding.into(), &data).unwrap_err().to_string()
        };
        let text = told((4, 2, 8), "yuv422", 16);
        assert!(text.contains("`yuv422`") && text.contains("mono8, rgb8 and bgr8"), "{text}");
        assert!(told((4, 2, 16), "bgr8", 32).contains("16 bytes per row of 4 pixels"));
        assert!(told((4, 2, 12), "rgb8", 23).contains("needs 24 bytes, but there are 23"));
        assert!(told((0, 2, 0), "mono8", 0).contains("0 x 2"));
        assert!(told((1, u32::MAX, 1), "mono8", 1).contains("1 to 16384 pixels"));
        assert!(Picture::new((4, 2, 12), "bgr8".into(), &[0; 24]).is_ok());
    }
}
