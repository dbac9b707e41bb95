//! Textured parallelograms in a perspective picture, with a depth buffer.
//!
//! A parallelogram `corner + u * across + v * down` (0 <= u, v <= 1) in camera axes (x right,
//! y down, z ahead) is drawn without clipping: the inverse of the matrix of its three vectors turns
//! a pixel's ray into `(u, v, 1) / z`, linear along a row, and the visible span of a row is where
//! five linear functions are not negative.

use crate::simulator::texture::Texture;

/// Focal length and principal point of a picture without distortion.
#[derive(Clone, Copy, Debug)]
pub struct Lens {
    /// Focal length, pixels.
    pub focal: f64,
    /// Principal point, pixels.
    pub centre: (f64, f64),
}

/// The picture being drawn.
#[derive(Debug)]
pub struct Canvas<'a> {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// rgb8 bytes.
    pub rgb: &'a mut [u8],
    /// 1 / depth of each pixel, 0 if nothing was drawn, 1/m.
    pub nearness: &'a mut [f32],
}

/// A parallelogram in camera axes, m.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    /// Upper left corner.
    pub corner: [f64; 3],
    /// From the upper left to the upper right corner.
    pub across: [f64; 3],
    /// From the upper left to the lower left corner.
    pub down: [f64; 3],
    /// How often the texture repeats across and down.
    pub repeat: (f64, f64),
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A function `x * per_x + at_zero` of the column.
#[derive(Clone, Copy)]
struct Linear {
    per_x: f64,
    at_zero: f64,
}

impl Linear {
    fn at(self, x: f64) -> f64 {
        x * self.per_x + self.at_zero
    }

    fn minus(self, other: Self) -> Self {
        Self { per_x: self.per_x - other.per_x, at_zero: self.at_zero - other.at_zero }
    }
}

impl Canvas<'_> {
    /// Draws `panel` where it is seen from its front (upper left, upper right, lower left turn
    /// clockwise) and nearer than what is there already. Does not allocate or block.
    pub fn draw(&mut self, lens: Lens, panel: &Panel, texture: &Texture) {
        let inverse = [
            cross(panel.down, panel.corner),
            cross(panel.corner, panel.across),
            cross(panel.across, panel.down),
        ];
        let determinant: f64 = (0..3).map(|i| panel.corner[i] * inverse[2][i]).sum();
        // Seen from behind, or edge on.
        if determinant <= 1e-12 {
            return;
        }
        let rows = self.rows(lens, panel);
        for y in rows {
            let ray_y = (y as f64 - lens.centre.1) / lens.focal;
            let [u, v, w] = inverse.map(|row| Linear {
                per_x: row[0] / lens.focal / determinant,
                at_zero: (row[1] * ray_y + row[2] - row[0] * lens.centre.0 / lens.focal)
                    / determinant,
            });
            let (mut first, mut last) = (0.0, (self.width - 1) as f64);
            for side in [u, w.minus(u), v, w.minus(v), w] {
                if side.per_x > 0.0 {
                    first = f64::max(first, -side.at_zero / side.per_x);
                } else if side.per_x < 0.0 {
                    last = f64::min(last, -side.at_zero / side.per_x);
                } else if side.at_zero < 0.0 {
                    last = -1.0;
                }
            }
            if first <= last {
                self.draw_span(
                    y,
                    first.ceil() as usize..last.floor() as usize + 1,
                    [u, v, w],
                    panel,
                    texture,
                );
            }
        }
    }

    /// Rows that the panel can touch.
    fn rows(&self, lens: Lens, panel: &Panel) -> std::ops::Range<usize> {
        let (mut top, mut bottom) = (f64::MAX, f64::MIN);
        for (u, v) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            let at = |i: usize| panel.corner[i] + u * panel.across[i] + v * panel.down[i];
            if at(2) < 0.01 {
                return 0..self.height;
            }
            let y = at(1) / at(2) * lens.focal + lens.centre.1;
            (top, bottom) = (top.min(y), bottom.max(y));
        }
        let end = self.height as f64;
        top.ceil().clamp(0.0, end) as usize..(bottom.floor() + 1.0).clamp(0.0, end) as usize
    }

    fn draw_span(
        &mut self,
        y: usize,
        columns: std::ops::Range<usize>,
        [u, v, w]: [Linear; 3],
        panel: &Panel,
        texture: &Texture,
    ) {
        let scale_u = panel.repeat.0 * texture.width as f64;
        let scale_v = panel.repeat.1 * texture.height as f64;
        let (mask_u, mask_v) = (texture.width - 1, texture.height - 1);
        for x in columns {
            let at = y * self.width + x;
            let (x, nearness) = (x as f64, w.at(x as f64));
            if nearness as f32 <= self.nearness[at] {
                continue;
            }
            self.nearness[at] = nearness as f32;
            let depth = 1.0 / nearness;
            let (tu, tv) =
                ((u.at(x) * depth * scale_u) as usize, (v.at(x) * depth * scale_v) as usize);
            let texel = texture.texels[(tv & mask_v) * texture.width + (tu & mask_u)];
            self.rgb[at * 3..at * 3 + 3].copy_from_slice(&texel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Canvas, Lens, Panel};
    use crate::simulator::texture::Texture;

    #[test]
    fn a_panel_covers_the_pixels_of_its_projection_and_hides_what_is_behind() {
        let texture = |colour| Texture { width: 1, height: 1, texels: vec![colour] };
        let (mut rgb, mut nearness) = (vec![0; 40 * 30 * 3], vec![0.0; 40 * 30]);
        let mut canvas = Canvas { width: 40, height: 30, rgb: &mut rgb, nearness: &mut nearness };
        let lens = Lens { focal: 20.0, centre: (20.0, 15.0) };
        let panel = |z: f64, half: f64| Panel {
            corner: [-half, -half, z],
            across: [2.0 * half, 0.0, 0.0],
            down: [0.0, 2.0 * half, 0.0],
            repeat: (1.0, 1.0),
        };
        canvas.draw(lens, &panel(2.0, 0.5), &texture([1, 0, 0]));
        canvas.draw(lens, &panel(4.0, 2.0), &texture([2, 0, 0]));
        let count = |value: u8| rgb.chunks(3).filter(|p| p[0] == value).count();
        // 1 m at 2 m: 10 px and both edges; 4 m at 4 m: 20 px and both edges.
        assert_eq!((count(1), count(2)), (11 * 11, 21 * 21 - 11 * 11));
    }
}
