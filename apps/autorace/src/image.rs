//! Borrowed pictures: a size and the bytes, wherever they live (a sample, a loan, a vector).
//!
//! Knows no message type and owns no memory.

use thiserror::Error;

/// A picture with three bytes per pixel in the order red, green, blue; rows without padding.
#[derive(Clone, Copy, Debug)]
pub struct Rgb<'a> {
    width: usize,
    height: usize,
    data: &'a [u8],
}

/// Why bytes are not a picture of the stated size.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The byte count does not fit the size.
    #[error(
        "a {width} x {height} picture with {channels} bytes per pixel needs {expected} bytes, \
         but there are {found}: send packed rows (step = width * {channels})"
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
    /// The node was set up for another size.
    #[error(
        "the picture is {width} x {height}, but this node was set up for \
         {expected_width} x {expected_height}: set its parameters width and height"
    )]
    Size {
        /// Pixels per row of the picture.
        width: usize,
        /// Rows of the picture.
        height: usize,
        /// Pixels per row that the node expects.
        expected_width: usize,
        /// Rows that the node expects.
        expected_height: usize,
    },
    /// The node has no room for it.
    #[error(
        "the picture is {width} pixels wide and has {bytes} bytes, but this node takes {}: send smaller ones, \
         or change {}",
        room(*width_max, *bytes_max),
        if *width_max < usize::MAX { "its max_width and max_bytes" } else { "its max_bytes" }
    )]
    Large {
        /// Pixels per row of the picture.
        width: usize,
        /// Its bytes.
        bytes: usize,
        /// Pixels per row at most; `usize::MAX`: any.
        width_max: usize,
        /// Bytes at most; `usize::MAX`: any.
        bytes_max: usize,
    },
}

fn room(width_max: usize, bytes_max: usize) -> String {
    let pixels = (width_max < usize::MAX).then(|| format!("{width_max} pixels"));
    let bytes = (bytes_max < usize::MAX).then(|| format!("{bytes_max} bytes"));
    let both: Vec<String> = pixels.into_iter().chain(bytes).collect();
    format!("{} at most", both.join(" and "))
}

fn check(width: usize, height: usize, channels: usize, found: usize) -> Result<(), ImageError> {
    let expected = width.saturating_mul(height).saturating_mul(channels);
    if expected == found {
        Ok(())
    } else {
        Err(ImageError::Length { width, height, channels, expected, found })
    }
}

impl<'a> Rgb<'a> {
    /// Wraps packed rgb8 bytes.
    ///
    /// # Errors
    /// [`ImageError::Length`] when `data` is not `width * height * 3` bytes long.
    pub fn new(width: usize, height: usize, data: &'a [u8]) -> Result<Self, ImageError> {
        check(width, height, 3, data.len())?;
        Ok(Self { width, height, data })
    }

    /// Pixels per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All bytes, row by row.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The bytes of row `y`; `y` must be below the height.
    pub fn row(&self, y: usize) -> &'a [u8] {
        &self.data[y * self.width * 3..(y + 1) * self.width * 3]
    }

    /// Fails unless the picture has exactly this size.
    ///
    /// # Errors
    /// [`ImageError::Size`] names both sizes.
    pub fn expect_size(&self, width: usize, height: usize) -> Result<(), ImageError> {
        if (self.width, self.height) == (width, height) {
            return Ok(());
        }
        Err(ImageError::Size {
            width: self.width,
            height: self.height,
            expected_width: width,
            expected_height: height,
        })
    }
}

/// A picture with one byte per pixel; rows without padding.
#[derive(Clone, Copy, Debug)]
pub struct Gray<'a> {
    width: usize,
    height: usize,
    data: &'a [u8],
}

impl<'a> Gray<'a> {
    /// Wraps packed mono8 bytes.
    ///
    /// # Errors
    /// [`ImageError::Length`] when `data` is not `width * height` bytes long.
    pub fn new(width: usize, height: usize, data: &'a [u8]) -> Result<Self, ImageError> {
        check(width, height, 1, data.len())?;
        Ok(Self { width, height, data })
    }

    /// Pixels per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All bytes, row by row.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The bytes of row `y`; `y` must be below the height.
    pub fn row(&self, y: usize) -> &'a [u8] {
        &self.data[y * self.width..(y + 1) * self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::{Gray, Rgb};

    #[test]
    fn a_picture_of_the_wrong_length_is_refused_with_both_lengths() {
        let error = Rgb::new(4, 2, &[0; 23]).unwrap_err().to_string();
        assert!(error.contains("24 bytes") && error.contains("23"), "{error}");
        assert!(Gray::new(4, 2, &[0; 8]).is_ok());
    }
}
