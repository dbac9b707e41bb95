//! Image projection's core: the road seen from above, in a picture of its own size.
//!
//! Bit-exact specification: the pixel (u, v) of the projected picture lies at the inverse
//! homography of its centre in the camera's picture. Place and value are those of steps 2 and 3 of
//! [`crossdock_rectify`]: in units of 1 / 1024 pixel, bilinear, 0 outside of the picture.

use crate::camera::Homography;
use crate::image::{ImageError, Rgb};
use crossdock_rectify::RectificationTable;

/// Columns of the projected picture, if nothing else is told.
pub const PROJECTED_WIDTH: usize = 1000;
/// Rows of the projected picture, if nothing else is told.
pub const PROJECTED_HEIGHT: usize = 600;

/// The table of one camera.
#[derive(Debug)]
pub struct Projection {
    made: (usize, usize),
    table: RectificationTable,
}

impl Projection {
    /// Builds the table from pictures of the size `camera` to projected ones of the size `made`,
    /// which `homography` leads to; allocates 8 bytes per projected pixel.
    ///
    /// # Panics
    /// When a side is longer than [`crossdock_rectify::SIDE_MAX`]: a programmer's error.
    pub fn new(homography: &Homography, camera: (usize, usize), made: (usize, usize)) -> Self {
        let front = homography.inverse();
        let table = RectificationTable::of_places(camera, made, |u, v| front.apply(u, v));
        Self { made, table }
    }

    /// Width and height of projected pictures.
    pub fn size(&self) -> (usize, usize) {
        self.made
    }

    /// Projects `image` into `out`, which has 3 bytes for each projected pixel.
    ///
    /// Does not allocate or block.
    ///
    /// # Errors
    /// [`ImageError::Size`] when the picture has another size than the table.
    ///
    /// # Panics
    /// When `out` has another length: a programmer's error.
    pub fn project(&self, image: Rgb<'_>, out: &mut [u8]) -> Result<(), ImageError> {
        let (width, height) = self.table.size();
        image.expect_size(width, height)?;
        self.table.apply::<3>(image.data(), 0..self.made.1, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Projection;
    use crate::camera::Homography;
    use crate::image::Rgb;

    #[test]
    fn a_projected_pixel_is_between_those_at_its_place() {
        // Twice as wide, three times as high, two pixels to the right.
        let homography = [[2.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]];
        let projection = Projection::new(&Homography::new(homography).unwrap(), (3, 2), (8, 4));
        let raw: Vec<u8> =
            [30, 60, 90, 120, 150, 180].into_iter().flat_map(|v| [v, v + 1, 255 - v]).collect();
        let mut out = vec![9; 8 * 4 * 3];
        projection.project(Rgb::new(3, 2, &raw).unwrap(), &mut out).unwrap();
        let at = |x: usize, y: usize| [0, 1, 2].map(|c| out[(y * 8 + x) * 3 + c]);
        assert_eq!(at(2, 0), [30, 31, 225]);
        assert_eq!(at(3, 0), [45, 46, 210]);
        assert_eq!(at(2, 1), [60, 61, 195]);
        // Half a pixel left of the picture, and further away.
        assert_eq!((at(1, 0), at(0, 0)), ([15, 16, 113], [0; 3]));
        assert!(projection.project(Rgb::new(2, 3, &raw).unwrap(), &mut out).is_err());
    }
}
