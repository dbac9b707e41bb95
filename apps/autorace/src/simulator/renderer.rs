//! The camera's picture of the course: floor by fixed-point steps, everything upright as panels.

use crate::camera::{Homography, HomographyError};
use crate::lane_view::{LANE_WIDTH, VIEW_HEIGHT, VIEW_WIDTH};
use crate::simulator::buildings::{HOUSES, front};
use crate::simulator::course::{Course, LANE_WIDTH_M, Pose};
use crate::simulator::lights::{Light, Lights};
use crate::simulator::raster::{Canvas, Lens, Panel};
use crate::simulator::texture::{FLOOR_MARGIN_M, FLOOR_TEXEL_M, Floor, Texture, WALL_TEXELS};
use crate::trig::sin_cos;

/// Where the camera sits and what it sees.
#[derive(Clone, Copy, Debug)]
pub struct Mount {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Focal length, pixels.
    pub focal: f64,
    /// Above the floor, m.
    pub height_m: f64,
    /// Ahead of the axle, m.
    pub forward_m: f64,
    /// Downward, rad.
    pub pitch: f64,
}

impl Mount {
    /// The camera of the shipped vehicle: 640 x 480, 17 cm high, looking 16 degrees down.
    pub const SHIPPED: Self = Self {
        width: 640,
        height: 480,
        focal: 530.0,
        height_m: 0.17,
        forward_m: 0.07,
        pitch: 0.279_252_680_319_092_7,
    };

    /// Homography from the picture to a bird's-eye view of 640 x 960 whose lane is 320 columns
    /// wide and whose rows reach from `near_m` (y = 959) to `far_m` (y = -1) ahead of the camera.
    ///
    /// # Errors
    /// [`HomographyError`] when the distances are equal.
    pub fn view(&self, near_m: f64, far_m: f64) -> Result<Homography, HomographyError> {
        let lens = self.lens();
        let (sin, cos) = sin_cos(self.pitch);
        // Of a pixel, its ray sinks by w = wy y + wc per unit of depth; the floor point is
        // right = height rx / w and ahead = height (ay y + ac) / w.
        let f = self.focal;
        let (wy, wc) = (cos / f, sin - lens.centre.1 / f * cos);
        let (ay, ac) = (-sin / f, cos + lens.centre.1 / f * sin);
        let columns = f64::from(LANE_WIDTH) / LANE_WIDTH_M * self.height_m;
        let middle = VIEW_WIDTH as f64 / 2.0;
        let rows = VIEW_HEIGHT as f64 / (far_m - near_m);
        let bottom = (VIEW_HEIGHT - 1) as f64 + rows * near_m;
        let scaled = rows * self.height_m;
        Homography::new([
            [columns / f, middle * wy, middle * wc - columns * lens.centre.0 / f],
            [0.0, bottom * wy - scaled * ay, bottom * wc - scaled * ac],
            [0.0, wy, wc],
        ])
    }

    fn lens(&self) -> Lens {
        let centre = ((self.width as f64 - 1.0) / 2.0, (self.height as f64 - 1.0) / 2.0);
        Lens { focal: self.focal, centre }
    }
}

/// An upright rectangle in the world.
#[derive(Clone, Copy, Debug)]
struct Upright {
    /// Foot of its left edge as seen from its front, m.
    left: (f64, f64),
    /// Foot of its right edge, m.
    right: (f64, f64),
    /// Lower and upper edge above the floor, m.
    rise: (f64, f64),
}

#[derive(Clone, Copy, Debug)]
struct Surface {
    upright: Upright,
    texture: usize,
    repeat: (f64, f64),
}

/// Draws pictures; owns the floor and the textures.
#[derive(Debug)]
pub struct Renderer {
    mount: Mount,
    floor: Floor,
    surfaces: Vec<Surface>,
    textures: Vec<Texture>,
    lamps: [Texture; 2],
    lights: Vec<Upright>,
    nearness: Vec<f32>,
}

/// Metres that one repetition of a wall texture covers.
const WALL_REPEAT_M: f64 = 0.64;
const WALL_HEIGHT_M: f64 = 1.28;
/// Size of a light's front, its lower edge above the floor, and its middle right of the course, m.
const LIGHT_WIDTH_M: f64 = 0.1;
const LIGHT_HEIGHT_M: f64 = 0.2;
const LIGHT_FOOT_M: f64 = 0.06;
const LIGHT_OFFSET_M: f64 = 0.215;

/// Boxes: west, south, size east, size north, height (m) and texture.
const BOXES: [(f64, f64, f64, f64, f64, usize); 8] = [
    (0.35, 0.85, 0.30, 0.25, 0.35, 1),
    (1.45, 0.95, 0.35, 0.35, 0.45, 2),
    (2.15, 1.35, 0.25, 0.40, 0.30, 3),
    (1.05, -0.62, 0.30, 0.20, 0.40, 2),
    (3.35, 0.85, 0.25, 0.35, 0.50, 1),
    (2.75, 2.78, 0.30, 0.25, 0.35, 3),
    (0.95, 2.85, 0.35, 0.20, 0.45, 1),
    (-1.25, 0.55, 0.25, 0.30, 0.40, 3),
];

impl Renderer {
    /// Paints the course for `mount`; allocates about 8 MB.
    pub fn new(course: &Course, mount: Mount, seed: u64) -> Self {
        let tints = [[128, 116, 108], [92, 104, 128], [126, 108, 92], [110, 110, 118]];
        let textures =
            tints.iter().zip(0_u64..).map(|(t, i)| Texture::blocks(seed ^ i, *t)).collect();
        let [west, south, east, north] = course.bounds();
        let m = FLOOR_MARGIN_M;
        let room = (west - m, south - m, east + m, north + m);
        let mut surfaces = walls(room);
        for (west, south, dx, dy, height, texture) in BOXES {
            let faces = faces((west, south, west + dx, south + dy), height, texture);
            surfaces.extend_from_slice(&faces);
        }
        let lights = (0..Lights::COUNT).map(|i| light_front(course, Lights::place_m(i))).collect();
        Self {
            mount,
            floor: Floor::new(course, seed),
            surfaces,
            textures,
            lamps: [Light::Red, Light::Green].map(Texture::lamps),
            lights,
            nearness: vec![0.0; mount.width * mount.height],
        }
    }

    /// The same with a town beside the road ([`crate::simulator::buildings`]); allocates 5 MB more.
    #[must_use]
    pub fn with_buildings(mut self, seed: u64) -> Self {
        for (west, south, dx, dy, height) in HOUSES {
            let first = self.textures.len();
            let mut sides = faces((west, south, west + dx, south + dy), height, first);
            for (side, number) in sides.iter_mut().zip(first..) {
                side.texture = number;
                self.textures.push(front(seed, number as u64));
            }
            self.surfaces.extend_from_slice(&sides);
        }
        self
    }

    /// Draws what the camera of a vehicle at `vehicle` sees into the rgb8 picture `out`.
    ///
    /// Does not allocate or block.
    ///
    /// # Panics
    /// When `out` has another size than the mount's picture: a programmer's error.
    pub fn render(&mut self, vehicle: Pose, lights: &Lights, now_ns: i64, out: &mut [u8]) {
        let mount = self.mount;
        assert_eq!(out.len(), mount.width * mount.height * 3, "output is the camera's picture");
        let eye = Eye::new(mount, vehicle);
        self.nearness.fill(0.0);
        draw_floor(&self.floor, &eye, out);
        let mut nearness = std::mem::take(&mut self.nearness);
        let mut canvas =
            Canvas { width: mount.width, height: mount.height, rgb: out, nearness: &mut nearness };
        let lens = mount.lens();
        for surface in &self.surfaces {
            let panel = eye.panel(&surface.upright, surface.repeat);
            canvas.draw(lens, &panel, &self.textures[surface.texture]);
        }
        for (index, upright) in self.lights.iter().enumerate() {
            let lamps = &self.lamps[usize::from(lights.shown(index, now_ns) == Light::Green)];
            canvas.draw(lens, &eye.panel(upright, (1.0, 1.0)), lamps);
            let back = Upright { left: upright.right, right: upright.left, ..*upright };
            // The wall texture's mortar corner: plain grey.
            canvas.draw(lens, &eye.panel(&back, (0.01, 0.01)), &self.textures[0]);
        }
        self.nearness = nearness;
    }
}

/// Camera position and axes in the world.
struct Eye {
    mount: Mount,
    x: f64,
    y: f64,
    yaw: (f64, f64),
    pitch: (f64, f64),
}

impl Eye {
    fn new(mount: Mount, vehicle: Pose) -> Self {
        let yaw = sin_cos(vehicle.yaw);
        Self {
            mount,
            x: vehicle.x + mount.forward_m * yaw.1,
            y: vehicle.y + mount.forward_m * yaw.0,
            yaw,
            pitch: sin_cos(mount.pitch),
        }
    }

    /// World vector (east, north, up) to camera axes.
    fn turn(&self, [east, north, up]: [f64; 3]) -> [f64; 3] {
        let ahead = east * self.yaw.1 + north * self.yaw.0;
        let right = east * self.yaw.0 - north * self.yaw.1;
        let (sin, cos) = self.pitch;
        [right, -ahead * sin - up * cos, ahead * cos - up * sin]
    }

    fn panel(&self, upright: &Upright, repeat: (f64, f64)) -> Panel {
        let Upright { left, right, rise } = *upright;
        Panel {
            corner: self.turn([left.0 - self.x, left.1 - self.y, rise.1 - self.mount.height_m]),
            across: self.turn([right.0 - left.0, right.1 - left.1, 0.0]),
            down: self.turn([0.0, 0.0, rise.0 - rise.1]),
            repeat,
        }
    }
}

/// Fractional bits of a floor position, in texels.
const FLOOR_BITS: u32 = 16;
/// Beyond this distance the floor is hidden by the walls, m.
const FLOOR_FAR_M: f64 = 12.0;

fn draw_floor(floor: &Floor, eye: &Eye, out: &mut [u8]) {
    let mount = eye.mount;
    let lens = mount.lens();
    let (yaw_sin, yaw_cos) = eye.yaw;
    let (pitch_sin, pitch_cos) = eye.pitch;
    let fixed = |texels: f64| (texels * f64::from(1 << FLOOR_BITS)).round() as i32;
    for (v, row) in out.chunks_exact_mut(mount.width * 3).enumerate() {
        let ray_y = (v as f64 - lens.centre.1) / lens.focal;
        let (sink, ahead) = (pitch_sin + ray_y * pitch_cos, pitch_cos - ray_y * pitch_sin);
        if sink * FLOOR_FAR_M <= mount.height_m {
            row.fill(150);
            continue;
        }
        let reach = mount.height_m / sink;
        // World position of column 0, and the step from one column to the next.
        let right = reach * -lens.centre.0 / lens.focal;
        let step = reach / lens.focal / FLOOR_TEXEL_M;
        let x = eye.x + reach * ahead * yaw_cos + right * yaw_sin - floor.origin.0;
        let y = eye.y + reach * ahead * yaw_sin - right * yaw_cos - floor.origin.1;
        let (mut x, mut y) = (fixed(x / FLOOR_TEXEL_M), fixed(y / FLOOR_TEXEL_M));
        let (dx, dy) = (fixed(step * yaw_sin), fixed(-step * yaw_cos));
        for pixel in row.chunks_exact_mut(3) {
            pixel.copy_from_slice(&floor.colour(x >> FLOOR_BITS, y >> FLOOR_BITS));
            x = x.wrapping_add(dx);
            y = y.wrapping_add(dy);
        }
    }
}

/// The four inner sides of the room (west, south, east, north).
fn walls((west, south, east, north): (f64, f64, f64, f64)) -> Vec<Surface> {
    let corners = [(west, south), (west, north), (east, north), (east, south)];
    (0..4)
        .map(|i| {
            let (left, right) = (corners[i], corners[(i + 1) % 4]);
            let length = (right.0 - left.0).abs() + (right.1 - left.1).abs();
            Surface {
                upright: Upright { left, right, rise: (0.0, WALL_HEIGHT_M) },
                texture: 0,
                repeat: (length / WALL_REPEAT_M, WALL_HEIGHT_M / WALL_REPEAT_M),
            }
        })
        .collect()
}

/// The four outer sides of a box.
fn faces(
    (west, south, east, north): (f64, f64, f64, f64),
    height: f64,
    texture: usize,
) -> [Surface; 4] {
    let corners = [(west, south), (east, south), (east, north), (west, north)];
    std::array::from_fn(|i| {
        let (left, right) = (corners[i], corners[(i + 1) % 4]);
        let length = (right.0 - left.0).abs() + (right.1 - left.1).abs();
        Surface {
            upright: Upright { left, right, rise: (0.0, height) },
            texture,
            repeat: (length / WALL_REPEAT_M, height / WALL_REPEAT_M),
        }
    })
}

/// Front of the light at distance `s_m`, facing the vehicles that come.
fn light_front(course: &Course, s_m: f64) -> Upright {
    let at = course.pose(s_m);
    let (sin, cos) = sin_cos(at.yaw);
    let beside = |offset: f64| (at.x + offset * sin, at.y - offset * cos);
    Upright {
        left: beside(LIGHT_OFFSET_M - LIGHT_WIDTH_M / 2.0),
        right: beside(LIGHT_OFFSET_M + LIGHT_WIDTH_M / 2.0),
        rise: (LIGHT_FOOT_M, LIGHT_FOOT_M + LIGHT_HEIGHT_M),
    }
}

const _: () = assert!(WALL_TEXELS.is_power_of_two(), "textures repeat by masking");

#[cfg(test)]
mod tests {
    use super::{BOXES, Mount, Renderer};
    use crate::simulator::course::{Course, LANE_WIDTH_M};
    use crate::simulator::lights::Lights;

    #[test]
    fn no_box_stands_on_the_lane() {
        let course = Course::new();
        for (west, south, dx, dy, ..) in BOXES {
            for step in 0..=20 {
                let part = f64::from(step) / 20.0;
                for (x, y) in [(west + part * dx, south), (west + part * dx, south + dy)]
                    .into_iter()
                    .chain([(west, south + part * dy), (west + dx, south + part * dy)])
                {
                    assert_eq!(course.nearest(x, y, LANE_WIDTH_M), None, "box at {west} {south}");
                }
            }
        }
    }

    #[test]
    fn the_view_puts_the_lines_of_a_straight_at_their_columns_and_the_picture_repeats() {
        let course = Course::new();
        let mut renderer = Renderer::new(&course, Mount::SHIPPED, 3);
        let lights = Lights::new(&course, 3);
        let [mut first, mut second] = [0, 0].map(|_| vec![0; 640 * 480 * 3]);
        renderer.render(course.pose(0.4), &lights, 0, &mut first);
        renderer.render(course.pose(0.4), &lights, 0, &mut second);
        assert_eq!(first, second);
        let front = Mount::SHIPPED.view(0.22, 0.70).unwrap().inverse();
        for y in [100.0, 400.0] {
            let colour = |x: f64| {
                let (u, v) = front.apply(x, y);
                let at = (v.round() as usize * 640 + u.round() as usize) * 3;
                [first[at], first[at + 1], first[at + 2]]
            };
            let [r, g, b] = colour(160.0);
            assert!(r > 200 && g > 180 && b < 100, "yellow at row {y}: {r} {g} {b}");
            assert!(colour(480.0).iter().all(|v| *v > 200), "white at row {y}");
            assert!(colour(320.0).iter().all(|v| *v < 100), "asphalt at row {y}");
        }
    }
}
