//! The camera's model, which all packages share, and the plane homography of the road view.
//!
//! Set-up code: it makes the tables that the image nodes use. Arithmetic is `+ - * /` on f64 in
//! the written order only, so the tables have the same bits on every machine.

pub use crossdock_rectify::Camera;

use thiserror::Error;

/// A projective map of the plane, row by row; applied to (x, y, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Homography([[f64; 3]; 3]);

/// Why nine numbers are not a usable homography.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HomographyError {
    /// It cannot be inverted.
    #[error(
        "the `homography` {matrix:?} is singular (determinant {determinant}): measure it again from \
         four points, no three of them on one line"
    )]
    Singular {
        /// The nine numbers.
        matrix: [[f64; 3]; 3],
        /// Its determinant.
        determinant: f64,
    },
}

impl Homography {
    /// Takes a matrix that has an inverse.
    ///
    /// # Errors
    /// [`HomographyError::Singular`] when it has none or a number is not finite.
    pub fn new(matrix: [[f64; 3]; 3]) -> Result<Self, HomographyError> {
        let determinant = determinant(&matrix);
        if determinant.is_finite() && determinant != 0.0 {
            Ok(Self(matrix))
        } else {
            Err(HomographyError::Singular { matrix, determinant })
        }
    }

    /// The nine numbers, row by row.
    pub fn matrix(&self) -> [[f64; 3]; 3] {
        self.0
    }

    /// Image of a point; infinite or not a number on the vanishing line.
    pub fn apply(&self, x: f64, y: f64) -> (f64, f64) {
        let m = &self.0;
        let w = m[2][0] * x + m[2][1] * y + m[2][2];
        ((m[0][0] * x + m[0][1] * y + m[0][2]) / w, (m[1][0] * x + m[1][1] * y + m[1][2]) / w)
    }

    /// The opposite map.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let m = &self.0;
        let d = determinant(m);
        let mut inverse = [[0.0; 3]; 3];
        for (row, out) in inverse.iter_mut().enumerate() {
            for (column, value) in out.iter_mut().enumerate() {
                // Cofactor of the transposed place; cyclic indices carry the sign.
                let (a, b) = ((column + 1) % 3, (column + 2) % 3);
                let (c, e) = ((row + 1) % 3, (row + 2) % 3);
                *value = (m[a][c] * m[b][e] - m[a][e] * m[b][c]) / d;
            }
        }
        Self(inverse)
    }
}

fn determinant(m: &[[f64; 3]; 3]) -> f64 {
    m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
}

#[cfg(test)]
mod tests {
    use super::Homography;

    #[test]
    fn a_homography_and_its_inverse_cancel() {
        let h = Homography::new([[-0.38, -1.12, 437.9], [0.0, -3.96, 1188.3], [0.0, -0.0036, 1.0]])
            .unwrap();
        let (x, y) = h.apply(123.0, 400.0);
        let (u, v) = h.inverse().apply(x, y);
        assert!((u - 123.0).abs() < 1e-9 && (v - 400.0).abs() < 1e-9, "{u} {v}");
        assert!(Homography::new([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]]).is_err());
    }
}
