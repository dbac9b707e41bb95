//! A town beside the road: houses whose fronts all differ, so that a mapper finds what it saw
//! before.

use crate::simulator::texture::{Texture, WALL_TEXELS, scatter};

/// A house on the ground: west, south, size east, size north, height; m.
pub type House = (f64, f64, f64, f64, f64);

/// Houses round the course and inside it. None stands nearer to the road than [`CLEARANCE_M`].
pub const HOUSES: [House; 24] = [
    // South of the first straight.
    (-0.55, -0.66, 0.35, 0.27, 0.70),
    (0.00, -0.66, 0.45, 0.28, 0.55),
    (0.52, -0.66, 0.40, 0.26, 0.85),
    (1.50, -0.66, 0.42, 0.28, 0.65),
    (2.08, -0.66, 0.45, 0.27, 0.90),
    (2.75, -0.66, 0.40, 0.27, 0.60),
    // East.
    (3.43, 0.22, 0.28, 0.45, 0.75),
    (3.43, 1.35, 0.27, 0.48, 0.95),
    (3.35, 2.32, 0.35, 0.38, 0.65),
    // North.
    (2.15, 2.88, 0.42, 0.27, 0.80),
    (1.48, 2.88, 0.40, 0.28, 0.60),
    (0.32, 2.88, 0.45, 0.27, 0.90),
    (-0.40, 2.88, 0.42, 0.28, 0.70),
    // West.
    (-1.22, 2.42, 0.32, 0.40, 0.85),
    (-1.32, 1.25, 0.28, 0.55, 0.65),
    (-1.25, -0.45, 0.34, 0.42, 0.75),
    // Inside the course.
    (0.00, 0.40, 0.28, 0.30, 0.55),
    (0.75, 0.40, 0.42, 0.28, 0.70),
    (1.28, 0.40, 0.38, 0.36, 0.60),
    (1.80, 0.42, 0.42, 0.30, 0.85),
    (2.28, 0.78, 0.36, 0.42, 0.65),
    (1.76, 1.70, 0.34, 0.28, 0.75),
    (1.05, 1.52, 0.48, 0.36, 0.60),
    (-0.22, 1.15, 0.36, 0.50, 0.80),
];

/// Distance of every house from the middle of the road, at least, m: the lane planner's view ends
/// there on a straight.
pub const CLEARANCE_M: f64 = 0.36;

/// Texels between the middles of two windows, across and down.
const WINDOW: (usize, usize) = (14, 16);
/// Colours of plaster, none of them a line's or a lamp's.
const PLASTER: [[u8; 3]; 6] =
    [[118, 78, 62], [70, 92, 124], [104, 112, 74], [92, 70, 104], [78, 108, 104], [122, 94, 70]];

/// The front of a house: windows of many shades, some of them closed, and signs between them.
pub fn front(seed: u64, number: u64) -> Texture {
    let seed = scatter(seed, number, 0x70f0);
    let plaster = PLASTER[(scatter(seed, 0, 1) % PLASTER.len() as u64) as usize];
    let texel = |index: usize| {
        let (x, y) = (index % WALL_TEXELS, index / WALL_TEXELS);
        let (column, row) = (x / WINDOW.0, y / WINDOW.1);
        let draw = scatter(seed, column as u64, row as u64);
        let part = |shift: u64, count: u64| (draw >> shift) % count;
        // Each window has its own place and size.
        let left = 1 + part(0, 4) as usize;
        let top = 1 + part(8, 4) as usize;
        let right = WINDOW.0 - 1 - part(16, 4) as usize;
        let bottom = WINDOW.1 - 1 - part(24, 4) as usize;
        let (u, v) = (x % WINDOW.0, y % WINDOW.1);
        let inside = (left..right).contains(&u) && (top..bottom).contains(&v);
        let bar = u == (left + right) / 2 && part(32, 2) == 0
            || v == (top + bottom) / 2 && part(33, 2) == 0;
        let shade =
            |colour: [u8; 3], by: i32| colour.map(|c| (i32::from(c) + by).clamp(16, 190) as u8);
        let grain = (scatter(seed ^ 1, x as u64 / 2, y as u64 / 2) % 13) as i32 - 6;
        match (inside, part(40, 8)) {
            (true, 0) => shade(plaster, 44 + grain),
            (true, _) if bar => [40, 36, 34],
            (true, 1 | 2) => shade([96, 84, 40], part(44, 48) as i32 - 10),
            (true, _) => shade([20, 26, 38], part(44, 70) as i32),
            (false, _) => shade(plaster, grain),
        }
    };
    let texels = (0..WALL_TEXELS * WALL_TEXELS).map(texel).collect();
    Texture { width: WALL_TEXELS, height: WALL_TEXELS, texels }
}

#[cfg(test)]
mod tests {
    use super::{CLEARANCE_M, HOUSES, front};
    use crate::simulator::course::Course;

    #[test]
    fn no_house_stands_near_the_road() {
        let course = Course::new();
        for (west, south, dx, dy, _) in HOUSES {
            for step in 0..=20 {
                let part = f64::from(step) / 20.0;
                for (x, y) in [(west + part * dx, south), (west + part * dx, south + dy)]
                    .into_iter()
                    .chain([(west, south + part * dy), (west + dx, south + part * dy)])
                {
                    let near = course.nearest(x, y, CLEARANCE_M);
                    assert_eq!(near, None, "house at {west} {south}");
                }
            }
        }
    }

    #[test]
    fn every_front_differs_and_a_seed_repeats_it() {
        let fronts: Vec<_> = (0..8).map(|number| front(3, number).texels).collect();
        assert_eq!(fronts[5], front(3, 5).texels);
        for (i, a) in fronts.iter().enumerate() {
            for b in &fronts[i + 1..] {
                let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
                assert!(same < a.len() / 3, "{same}");
            }
        }
    }
}
