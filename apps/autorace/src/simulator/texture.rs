//! Pictures of surfaces, made from a seed: asphalt with the lines, walls, boxes, lamps.

use crate::simulator::course::{Course, LANE_WIDTH_M, LINE_WIDTH_M};

/// Side of a wall texture, texels; a power of two.
pub const WALL_TEXELS: usize = 128;
/// Size of a floor texel, m.
pub const FLOOR_TEXEL_M: f64 = 0.002;
/// Floor that is drawn beyond the middle line, m.
pub const FLOOR_MARGIN_M: f64 = 0.7;

/// A mixing function: seeded, no two neighbours alike.
pub fn scatter(seed: u64, x: u64, y: u64) -> u64 {
    let mut v =
        seed ^ x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ y.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}

/// The floor from above, one palette index per texel.
#[derive(Debug)]
pub struct Floor {
    /// West and south edge, m.
    pub origin: (f64, f64),
    /// Texels from west to east.
    pub width: usize,
    /// Texels from south to north.
    pub height: usize,
    texels: Vec<u8>,
    palette: [[u8; 3]; 256],
}

const ASPHALT: u8 = 0;
const WHITE_LINE: u8 = 64;
const YELLOW_LINE: u8 = 128;

impl Floor {
    /// Paints the course; allocates one byte per texel.
    pub fn new(course: &Course, seed: u64) -> Self {
        let [west, south, east, north] = course.bounds();
        let origin = (west - FLOOR_MARGIN_M, south - FLOOR_MARGIN_M);
        let texels = |span: f64| ((span + 2.0 * FLOOR_MARGIN_M) / FLOOR_TEXEL_M).ceil() as usize;
        let (width, height) = (texels(east - west), texels(north - south));
        let mut floor =
            Self { origin, width, height, texels: vec![0; width * height], palette: palette() };
        for y in 0..height {
            for x in 0..width {
                let grain = (scatter(seed, x as u64 / 3, y as u64 / 3) % 48) as u8;
                floor.texels[y * width + x] = ASPHALT + grain;
            }
        }
        floor.paint_lines(course);
        floor
    }

    /// Marks the texels under the two lines, walking along the course in steps below a texel.
    fn paint_lines(&mut self, course: &Course) {
        let half_texel = FLOOR_TEXEL_M / 2.0;
        let steps = (course.length_m() / half_texel).ceil();
        let across = (LINE_WIDTH_M / half_texel).round() as i32;
        for step in 0..steps as u32 {
            let at = course.pose(course.length_m() * f64::from(step) / steps);
            let (sin, cos) = crate::trig::sin_cos(at.yaw);
            for (side, class) in [(1.0, YELLOW_LINE), (-1.0, WHITE_LINE)] {
                for part in 0..=across {
                    let offset = side * LANE_WIDTH_M / 2.0
                        + (f64::from(part) / f64::from(across) - 0.5) * LINE_WIDTH_M;
                    self.mark(at.x - offset * sin, at.y + offset * cos, class);
                }
            }
        }
    }

    fn mark(&mut self, x: f64, y: f64, class: u8) {
        let texel = |v: f64, origin: f64| ((v - origin) / FLOOR_TEXEL_M).floor() as i64;
        let (x, y) = (texel(x, self.origin.0), texel(y, self.origin.1));
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        if x < self.width && y < self.height {
            let texel = &mut self.texels[y * self.width + x];
            *texel = class + (*texel & 0x3f);
        }
    }

    /// Colour of the texel, or of bare floor beyond the painted part.
    pub fn colour(&self, x: i32, y: i32) -> [u8; 3] {
        let inside = (x as u32 as usize) < self.width && (y as u32 as usize) < self.height;
        let index = if inside { self.texels[y as usize * self.width + x as usize] } else { 20 };
        self.palette[usize::from(index)]
    }
}

fn palette() -> [[u8; 3]; 256] {
    std::array::from_fn(|index| {
        let grain = (index & 0x3f) as u8;
        match index & 0xc0 {
            0 => [38 + grain / 2, 38 + grain / 2, 42 + grain / 2],
            64 => [225 + grain / 4, 225 + grain / 4, 222 + grain / 4],
            _ => [228 + grain / 4, 212 + grain / 4, 24 + grain / 4],
        }
    })
}

/// A square rgb picture that repeats, or a panel that does not.
#[derive(Debug)]
pub struct Texture {
    /// Texels per row; a power of two.
    pub width: usize,
    /// Rows; a power of two.
    pub height: usize,
    /// Texel colours, row by row from the top.
    pub texels: Vec<[u8; 3]>,
}

impl Texture {
    /// Courses of blocks with mortar between them, each block in its own shade of `tint`.
    pub fn blocks(seed: u64, tint: [u8; 3]) -> Self {
        let texel = |index: usize| {
            let (x, y) = (index % WALL_TEXELS, index / WALL_TEXELS);
            let layer = y / 16;
            let shifted = (x + (layer % 2) * 16) % WALL_TEXELS;
            let block = shifted / 32;
            if y % 16 < 2 || shifted % 32 < 2 {
                return [88, 86, 84];
            }
            let shade = scatter(seed, block as u64, layer as u64);
            let grain = (scatter(seed ^ 1, x as u64 / 2, y as u64 / 2) % 24) as i32 - 12;
            std::array::from_fn(|c| {
                let part = ((shade >> (8 * c)) & 63) as i32 - 32;
                (i32::from(tint[c]) + part / 2 + (shade >> 32) as i32 % 40 - 20 + grain)
                    .clamp(20, 200) as u8
            })
        };
        let texels = (0..WALL_TEXELS * WALL_TEXELS).map(texel).collect();
        Self { width: WALL_TEXELS, height: WALL_TEXELS, texels }
    }

    /// Front of a traffic light, red lamp above green; the named one is lit.
    pub fn lamps(lit: crate::simulator::lights::Light) -> Self {
        use crate::simulator::lights::Light;
        let (width, height) = (64, 128);
        let colour = |x: i32, y: i32| {
            let inside = |centre_y: i32| (x - 32).pow(2) + (y - centre_y).pow(2) <= 24 * 24;
            match (inside(32), inside(96)) {
                (true, _) if lit == Light::Red => [252, 20, 16],
                (_, true) if lit == Light::Green => [16, 250, 40],
                (true, _) => [60, 22, 22],
                (_, true) => [20, 52, 28],
                _ => [18, 18, 20],
            }
        };
        let texels = (0..width * height).map(|i| colour(i % width, i / width)).collect();
        Self { width: width as usize, height: height as usize, texels }
    }
}
