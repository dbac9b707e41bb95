//! JPEG to rgb8, always with the same bits: the decoder is built without its SIMD paths.
//!
//! Knows JPEG only; the message around it is the decode node's business.

use std::panic::{AssertUnwindSafe, catch_unwind};
use thiserror::Error;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Largest side that is decoded, pixels: bounds the memory that a file can ask for.
pub const SIDE_MAX: usize = 8192;

/// Why bytes are not a picture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The decoder refused them.
    #[error(
        "{bytes} bytes are not a JPEG picture of at most {SIDE_MAX} x {SIDE_MAX} pixels \
         ({reason}): check the recording or the camera's compressed_image_transport"
    )]
    Jpeg {
        /// Length of the input.
        bytes: usize,
        /// The decoder's words.
        reason: String,
    },
    /// The picture does not fit the memory given for it.
    #[error("a picture of {width} x {height} needs {needed} bytes of {available}: raise max_bytes")]
    Room {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
        /// Bytes of the decoded picture.
        needed: usize,
        /// Bytes that there are.
        available: usize,
    },
}

/// A JPEG whose head has been read: its size is known before memory is taken for it.
pub struct Jpeg<'a> {
    decoder: JpegDecoder<ZCursor<&'a [u8]>>,
    bytes: usize,
    width: usize,
    height: usize,
}

impl<'a> Jpeg<'a> {
    /// Reads the head of `bytes`.
    ///
    /// Allocates the decoder's tables; does not block.
    ///
    /// # Errors
    /// [`DecodeError::Jpeg`] when the bytes are something else or too large.
    pub fn open(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let refused = |reason: String| DecodeError::Jpeg { bytes: bytes.len(), reason };
        let options = DecoderOptions::default()
            .set_max_width(SIDE_MAX)
            .set_max_height(SIDE_MAX)
            .jpeg_set_out_colorspace(ColorSpace::RGB);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        decoder.decode_headers().map_err(|error| refused(error.to_string()))?;
        let (width, height) =
            decoder.dimensions().ok_or_else(|| refused("it has no size".to_owned()))?;
        Ok(Self { decoder, bytes: bytes.len(), width, height })
    }

    /// Pixels per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Decodes into `out`, which must hold `width * height * 3` bytes; more stay untouched.
    ///
    /// Allocates the decoder's scratch rows; does not block.
    ///
    /// # Errors
    /// [`DecodeError::Room`] when `out` is too short, [`DecodeError::Jpeg`] when the data is bad.
    pub fn decode(mut self, out: &mut [u8]) -> Result<(), DecodeError> {
        let (width, height, needed) = (self.width, self.height, self.width * self.height * 3);
        let available = out.len();
        let out =
            out.get_mut(..needed).ok_or(DecodeError::Room { width, height, needed, available })?;
        // The decoder (zune-jpeg 0.5.15) panics at some bytes that are no picture. It is not used
        // again, and what it has written so far is of no use to anybody.
        let decoded = catch_unwind(AssertUnwindSafe(|| self.decoder.decode_into(out)));
        let reason = match decoded {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its parts contradict each other".to_owned(),
        };
        Err(DecodeError::Jpeg { bytes: self.bytes, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::Jpeg;

    #[test]
    fn a_picture_whose_parts_contradict_each_other_is_refused() {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
        bytes.extend([1; 64]);
        // 17 x 9 pixels; the second component has four columns for each of the others.
        bytes.extend([0xff, 0xc0, 0, 17, 8, 0, 9, 0, 17, 3, 1, 0x11, 0, 2, 0x41, 0, 3, 0x11, 0]);
        for class in [0x00, 0x10] {
            bytes.extend([0xff, 0xc4, 0, 20, class, 1]);
            bytes.extend([0; 16]);
        }
        // A scan of the first component alone.
        bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
        bytes.extend([0; 16]);
        bytes.extend([0xff, 0xd9]);
        let picture = Jpeg::open(&bytes).expect("a head");
        let mut out = vec![0; picture.width() * picture.height() * 3];
        let error = picture.decode(&mut out).expect_err("it is none").to_string();
        assert!(error.contains("contradict"), "{error}");
    }

    #[test]
    fn text_is_refused_with_its_length() {
        let error = Jpeg::open(b"not a picture").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("13 bytes are not a JPEG picture"), "{error}");
    }
}
