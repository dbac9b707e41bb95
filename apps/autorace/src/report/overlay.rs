//! Draws a lane and a light into the camera's picture.

use crate::camera::{Camera, Homography};
use crate::lane::{Lane, Line, row_of_t};
use crate::recording::{LightSeen, Picture};
use crate::score::Shown;

/// From the bird's-eye view to the raw picture.
#[derive(Clone, Copy, Debug)]
pub struct Projection {
    front: Homography,
    camera: Option<Camera>,
}

/// Steps along a line from the near to the far edge of the view.
const STEPS: usize = 2000;
const LEFT: [u8; 3] = [255, 160, 0];
const RIGHT: [u8; 3] = [0, 200, 255];
const SURFACE: [u8; 3] = [0, 200, 90];
const RED: [u8; 3] = [255, 40, 40];
const GREEN: [u8; 3] = [40, 255, 80];

impl Projection {
    /// Of a picture that `view` maps to the bird's-eye view once `camera` is rectified.
    pub fn new(view: &Homography, camera: Option<Camera>) -> Self {
        Self { front: view.inverse(), camera }
    }

    /// Place of a point of the view in the raw picture.
    fn raw(&self, x: f64, y: f64) -> (f64, f64) {
        let (u, v) = self.front.apply(x, y);
        self.camera.map_or((u, v), |camera| camera.raw_of_rectified(u, v))
    }

    fn on_line(&self, line: &Line, t: f64) -> (f64, f64) {
        self.raw(line.at(t), row_of_t(t))
    }
}

/// Draws what was found in this picture.
pub(super) fn draw(
    picture: &mut Picture,
    lane: Option<&Lane>,
    light: Option<&LightSeen>,
    projection: Option<&Projection>,
) {
    if let (Some(lane), Some(projection)) = (lane, projection) {
        draw_lane(picture, lane, projection);
    }
    match light.map(|light| (light.shown, light.bounds)) {
        Some((Shown::Red, bounds)) => draw_box(picture, bounds, RED),
        Some((Shown::Green, bounds)) => draw_box(picture, bounds, GREEN),
        _ => {}
    }
}

fn draw_lane(picture: &mut Picture, lane: &Lane, projection: &Projection) {
    let ts = (0..STEPS).map(|step| step as f64 / STEPS as f64);
    if let (Some(left), Some(right)) = (&lane.left, &lane.right) {
        // Marked first and blended once: the steps overlap.
        let mut marked = vec![false; picture.width * picture.height];
        for t in ts.clone() {
            let (from, to) = (projection.on_line(left, t), projection.on_line(right, t));
            let steps =
                ((to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil() as usize).min(4000);
            for step in 0..=steps {
                let share = step as f64 / steps.max(1) as f64;
                let x = from.0 + (to.0 - from.0) * share;
                let y = from.1 + (to.1 - from.1) * share;
                if let Some(index) = pixel(picture, x, y) {
                    marked[index] = true;
                }
            }
        }
        let pixels = picture.rgb.chunks_exact_mut(3).zip(&marked).filter(|(_, marked)| **marked);
        for (pixel, _) in pixels {
            for (value, surface) in pixel.iter_mut().zip(SURFACE) {
                *value = ((u16::from(*value) * 2 + u16::from(surface)) / 3) as u8;
            }
        }
    }
    for (line, colour) in [(&lane.left, LEFT), (&lane.right, RIGHT)] {
        let Some(line) = line else { continue };
        for t in ts.clone() {
            let (x, y) = projection.on_line(line, t);
            dot(picture, x, y, colour);
        }
    }
}

/// Index of the pixel at a place, if it is inside.
fn pixel(picture: &Picture, x: f64, y: f64) -> Option<usize> {
    let (x, y) = (x.round(), y.round());
    let inside = x >= 0.0 && y >= 0.0 && x < picture.width as f64 && y < picture.height as f64;
    inside.then(|| y as usize * picture.width + x as usize)
}

fn dot(picture: &mut Picture, x: f64, y: f64, colour: [u8; 3]) {
    for dy in -1..=1 {
        for dx in -1..=1 {
            if let Some(index) = pixel(picture, x + f64::from(dx), y + f64::from(dy)) {
                picture.rgb[index * 3..index * 3 + 3].copy_from_slice(&colour);
            }
        }
    }
}

fn draw_box(picture: &mut Picture, [left, top, width, height]: [i32; 4], colour: [u8; 3]) {
    let (x0, y0) = (f64::from(left) - 3.0, f64::from(top) - 3.0);
    let (x1, y1) =
        (f64::from(left) + f64::from(width) + 2.0, f64::from(top) + f64::from(height) + 2.0);
    // A box of a damaged message may have any size; only what is inside the picture is drawn.
    let (w, h) = (picture.width as f64, picture.height as f64);
    let (mut x, x_end) = (x0.clamp(-2.0, w), x1.clamp(-2.0, w));
    while x <= x_end {
        dot(picture, x, y0, colour);
        dot(picture, x, y1, colour);
        x += 1.0;
    }
    let (mut y, y_end) = (y0.clamp(-2.0, h), y1.clamp(-2.0, h));
    while y <= y_end {
        dot(picture, x0, y, colour);
        dot(picture, x1, y, colour);
        y += 1.0;
    }
}
