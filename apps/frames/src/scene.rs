//! A picture of a robot's arm, drawn as with a pencil on grainy paper. Pure.
//!
//! A pixel belongs to the arm if it is near one of its links, which are lines between joints.
//! Joints are rounded to whole pixels on the host; everything after that is integer arithmetic, so
//! that a kernel ([`crate::gpu`]) gives the same bits. With a link from `a` to `b`, `d = b - a`,
//! and a pixel `p`: the nearest point of the link is `along / 4096` of the way,
//! `along = 4096 * clamp((p - a) . d, 0, d . d) / (d . d)`, and the distance is the length of `p -
//! a` from `along * d / 4096`; all divisions round towards zero.

/// Joints, the base and the tip among them.
pub const JOINTS: usize = 4;
/// Sides are at most this: products of three fit into 64 bits, of two into 32.
pub const SIDE_MAX: u32 = 8192;
/// Bytes of a pixel: blue, green, red, and 255.
pub const PIXEL_BYTES: usize = 4;

/// Length of each link, thousandths of the picture's height.
const LINKS: [f64; JOINTS - 1] = [300.0, 220.0, 140.0];
/// How far each joint swings (radians), how fast (radians per second), and where it begins
/// (radians).
const SWINGS: [[f64; 3]; JOINTS - 1] = [[0.6, 0.9, 0.0], [0.9, 1.7, 1.0], [1.2, 2.3, 2.0]];
/// Steps along a link.
const STEPS: i64 = 4096;

/// Sides of a picture, pixels; none is 0, none above [`SIDE_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Size {
    /// These sides; `None`: they cannot be.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Option<Self> {
        let fits = |side| (1..=SIDE_MAX).contains(&side);
        (fits(width) && fits(height)).then_some(Self { width, height })
    }

    /// Bytes of a picture; rows are packed.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.width as usize * self.height as usize * PIXEL_BYTES
    }
}

/// A picture that can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scene {
    /// Its sides.
    pub size: Size,
    /// Where the joints are, from the base on, pixels from the left and from the top, inside the
    /// picture.
    pub joints: [[i32; 2]; JOINTS],
    /// A pixel that is no further from a link belongs to the arm.
    pub radius: i32,
    /// The outermost pixels of the arm are its outline.
    pub outline: i32,
}

impl Scene {
    /// The arm at a time, seconds.
    #[must_use]
    pub fn at(size: Size, seconds: f64) -> Self {
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        let mut place = [width / 2.0, height * 0.9];
        let mut angle = 0.0_f64;
        let inside = |[x, y]: [f64; 2]| {
            let within = |at: f64, side: f64| at.round().clamp(0.0, side - 1.0) as i32;
            [within(x, width), within(y, height)]
        };
        let mut joints = [inside(place); JOINTS];
        for ((link, [far, fast, first]), joint) in LINKS.iter().zip(SWINGS).zip(&mut joints[1..]) {
            angle += far * (fast * seconds + first).sin();
            let length = link / 1000.0 * height;
            place = [place[0] + length * angle.sin(), place[1] - length * angle.cos()];
            *joint = inside(place);
        }
        let part = |of: u32, least: u32| (size.height / of).max(least) as i32;
        Self { size, joints, radius: part(40, 2), outline: part(180, 1) }
    }

    /// Draws it on a processor, into [`Size::bytes`] bytes. Does not allocate.
    ///
    /// # Panics
    /// When there are fewer or more bytes: a programmer's error.
    pub fn draw(&self, pixels: &mut [u8]) {
        assert_eq!(pixels.len(), self.size.bytes(), "bytes of {:?}", self.size);
        let (pixels, _) = pixels.as_chunks_mut::<PIXEL_BYTES>();
        for (y, row) in pixels.chunks_exact_mut(self.size.width as usize).enumerate() {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = self.pixel(x as i32, y as i32);
            }
        }
    }

    fn pixel(&self, x: i32, y: i32) -> [u8; PIXEL_BYTES] {
        let links = self.joints.iter().zip(&self.joints[1..]);
        let near = links.map(|(a, b)| distance_squared(*a, *b, [x, y])).min().unwrap_or(i32::MAX);
        let inner = self.radius - self.outline;
        if near <= inner * inner {
            let hatched = ((x + y) / (2 * self.outline)) & 1;
            return [200 - 20 * hatched as u8, 190, 180, 255];
        }
        if near <= self.radius * self.radius {
            return [40, 36, 32, 255];
        }
        let paper = 238 - 40 * y / self.size.height as i32 - grain(x as u32, y as u32);
        [paper as u8 - 8, paper as u8 - 4, paper as u8, 255]
    }
}

fn distance_squared(a: [i32; 2], b: [i32; 2], p: [i32; 2]) -> i32 {
    let (d, p) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let length = d[0] * d[0] + d[1] * d[1];
    let reach = (p[0] * d[0] + p[1] * d[1]).clamp(0, length);
    let along = if length == 0 { 0 } else { (STEPS * i64::from(reach) / i64::from(length)) as i32 };
    let left = [0, 1].map(|at| p[at] - along * d[at] / STEPS as i32);
    left[0] * left[0] + left[1] * left[1]
}

/// How much darker the paper is at a pixel: 0 to 7.
fn grain(x: u32, y: u32) -> i32 {
    let mut mixed = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77);
    mixed ^= mixed >> 15;
    (mixed.wrapping_mul(0x2c1b_3c6d) >> 29) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 320, height: 200 };

    #[test]
    fn sides_have_limits() {
        for (width, height) in [(0, 1), (1, 0), (SIDE_MAX + 1, 1), (1, SIDE_MAX + 1)] {
            assert_eq!(Size::new(width, height), None);
        }
        assert_eq!(Size::new(3840, 2160).map(Size::bytes), Some(33_177_600));
    }

    #[test]
    fn the_distance_is_that_of_the_nearest_point_of_a_link() {
        let squared = |p| distance_squared([10, 10], [50, 10], p);
        assert_eq!([squared([30, 17]), squared([30, 10]), squared([4, 18])], [49, 0, 100]);
        assert_eq!(squared([53, 6]), 25, "behind its end");
        assert_eq!(distance_squared([5, 5], [5, 5], [8, 9]), 25, "a link without length");
    }

    #[test]
    fn the_arm_moves_inside_the_picture_and_is_drawn_round_its_joints() {
        let draw = |seconds| {
            let scene = Scene::at(SIZE, seconds);
            let mut pixels = vec![0; SIZE.bytes()];
            scene.draw(&mut pixels);
            (scene, pixels)
        };
        let (scene, pixels) = draw(0.0);
        assert_ne!(pixels, draw(0.5).1);
        for [x, y] in scene.joints {
            assert!((0..320).contains(&x) && (0..200).contains(&y));
            let at = (y as usize * 320 + x as usize) * PIXEL_BYTES;
            assert_eq!(pixels[at + 1], 190, "fill at {x}, {y}");
        }
        let dark = pixels.as_chunks::<4>().0.iter().filter(|pixel| pixel[1] == 36).count();
        assert!(dark > 100, "an outline: {dark}");
        assert!(pixels.as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 255));
    }
}
