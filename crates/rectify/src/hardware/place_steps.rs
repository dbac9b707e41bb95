//! The places of rows of a rectified picture as steps that change, for the kernel `remap_places`.
//!
//! Hardware has no room for the table of the software, 8 bytes per pixel. Along a row of any usual
//! lens the step from place to place changes by a few units of 1 / 1024 pixel. So each row has its
//! first place and its first step, and each pixel by how much the next step differs: 6 bits for
//! both axes of a usual lens. Nothing is rounded:
//! [`crate::RectificationTable`] has the same places.

use crate::hardware::{band_of, memory, rows_needed, word};
use crate::{Camera, FRACTION_BITS};
use std::ops::Range;
use thiserror::Error;

/// Steps in a word of the memory.
const WORD_STEPS: usize = 64;
/// Shorter rows end before the memory has the next one.
const SIDE_MIN: usize = 8;
/// Bits of a change of a step, at most.
const CHANGE_BITS_MAX: u32 = 8;
/// Steps have 15 bits with their sign, places 25.
const STEP_MAX: i64 = (1 << 14) - 1;
const PLACE_MAX: i64 = (1 << 24) - 1;
/// Rows that hardware can keep.
const BAND_MAX: usize = 1024;
/// Rows that `band_remap` keeps at least.
const BAND_MIN: usize = 4;
/// Block memory of the largest part that a board of Crossdock's profiles has, bits: 312 of 36 kbit.
const MEMORY_BITS_MAX: u64 = 312 * 36 * 1024;

/// Why hardware cannot rectify with a camera.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlaceStepsError {
    /// Rows are too short.
    #[error(
        "images are {width} x {height}, but hardware rectifies images of {SIDE_MIN} pixels a side at \
         least: keep the node in software"
    )]
    Side {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// The lens is too strong.
    #[error(
        "at column {column} of row {row} {what}: hardware does not rectify such a lens, keep the node \
         in software"
    )]
    Lens {
        /// Pixel.
        column: usize,
        /// Row of the rectified image.
        row: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// All of it would be black.
    #[error(
        "no pixel of rows {first} to {last} of the rectified image lies in the camera's: calibrate the \
         camera again"
    )]
    Nowhere {
        /// First row of the rectified image.
        first: usize,
        /// Last row.
        last: usize,
    },
    /// Too many rows lie between what is needed at once.
    #[error(
        "one row of the rectified image needs {rows} rows of the camera's at once, hardware keeps \
         {BAND_MAX}: keep the node in software"
    )]
    Band {
        /// Rows.
        rows: usize,
    },
    /// It does not fit.
    #[error(
        "rectification needs {bits} bits of block memory, a ZCU104 has {MEMORY_BITS_MAX}: calibrate \
         the camera at a lower resolution, or keep the node in software"
    )]
    Memory {
        /// Bits.
        bits: u64,
    },
}

/// A row of the rectified picture.
#[derive(Clone, Debug)]
struct Line {
    /// First place and first step: x, y.
    place: [i64; 2],
    step: [i64; 2],
    /// By how much the step behind each pixel differs.
    changes: Vec<[i64; 2]>,
    /// Rows of the picture that have to be there, and the first one that this row or one below it
    /// needs.
    rows: (usize, usize),
}

/// The places of rows of a rectified picture, as hardware makes them. Set-up code.
#[derive(Clone, Debug)]
pub struct PlaceSteps {
    width: usize,
    /// The first row of the rectified picture.
    first: usize,
    lines: Vec<Line>,
    bits: [u32; 2],
    band: usize,
}

impl PlaceSteps {
    /// For the rows `rows` of the rectified picture of a camera whose pictures have this size.
    /// Allocates 16 bytes per pixel.
    ///
    /// # Errors
    /// [`PlaceStepsError`]: what hardware cannot do with this camera.
    ///
    /// # Panics
    /// When the picture has no such rows: a programmer's error.
    pub fn new(
        camera: &Camera,
        (width, height): (usize, usize),
        rows: Range<usize>,
    ) -> Result<Self, PlaceStepsError> {
        assert!(!rows.is_empty() && rows.end <= height, "{rows:?} of {height} rows");
        if width.min(height) < SIDE_MIN {
            return Err(PlaceStepsError::Side { width, height });
        }
        let first = rows.start;
        let lines = rows.map(|row| line(camera, (width, height), row));
        let mut lines: Vec<Line> = lines.collect::<Result<_, _>>()?;
        let mut needed: Vec<_> = lines.iter().map(|line| line.rows).collect();
        let kept = band_of(&mut needed);
        for (line, needed) in lines.iter_mut().zip(needed) {
            line.rows = needed;
        }
        let band = kept.next_power_of_two().max(BAND_MIN);
        if band > BAND_MAX {
            return Err(PlaceStepsError::Band { rows: kept });
        }
        let bits = change_bits(first, &lines)?;
        let pairs = width.div_ceil(WORD_STEPS) * WORD_STEPS * lines.len();
        let memory = pairs as u64 * u64::from(bits[0] + bits[1]) + (band * width * 24) as u64;
        if memory > MEMORY_BITS_MAX {
            return Err(PlaceStepsError::Memory { bits: memory });
        }
        Ok(Self { width, first, lines, bits, band })
    }

    /// What stands in the file of a module that does not rectify, so that all its names have a
    /// meaning: one row of two pixels that needs nothing.
    pub fn none() -> Self {
        let line = Line { place: [0; 2], step: [0; 2], changes: vec![[0; 2]; 2], rows: (0, 0) };
        Self { width: 2, first: 0, lines: vec![line], bits: [1; 2], band: BAND_MIN }
    }

    /// The same of a raw picture from which all rows have been cut that nothing here uses, and the
    /// rows that are left of it.
    ///
    /// # Errors
    /// [`PlaceStepsError`]: nothing is left, or a place is too far away from it.
    pub fn cropped(mut self) -> Result<(Self, Range<usize>), PlaceStepsError> {
        let start = self.lines[0].rows.1;
        let end = self.lines.iter().map(|line| line.rows.0).max().unwrap_or(0);
        if start >= end {
            let last = self.first + self.lines.len() - 1;
            return Err(PlaceStepsError::Nowhere { first: self.first, last });
        }
        for (number, line) in self.lines.iter_mut().enumerate() {
            line.place[1] -= (start << FRACTION_BITS) as i64;
            if line.place[1] < -PLACE_MAX {
                let row = self.first + number;
                return Err(PlaceStepsError::Lens { column: 0, row, what: FAR_AWAY });
            }
            let (need, keep) = line.rows;
            line.rows = (need.saturating_sub(start), keep.min(end) - start);
        }
        Ok((self, start..end))
    }

    /// What modules have to be told: rows of the raw picture that are kept, steps in a word, words,
    /// and the bits of a change along x and along y.
    pub fn constants(&self) -> [(&'static str, String); 5] {
        let [x, y] = self.bits;
        let word_steps = self.word_steps();
        let words = self.lines.len() * self.width.div_ceil(word_steps);
        [
            ("Band", self.band.to_string()),
            ("WordSteps", word_steps.to_string()),
            ("Words", words.to_string()),
            ("XBits", x.to_string()),
            ("YBits", y.to_string()),
        ]
    }

    /// The memories of `remap_places`: the modules `<prefix>_lines` and `<prefix>_steps`.
    pub fn memories(&self, prefix: &str) -> String {
        let words = self.lines.iter().map(|line| {
            let Line { place: [x, y], step: [dx, dy], rows: (need, keep), .. } = line;
            let parts =
                [(*x, 25), (*y, 25), (*dx, 15), (*dy, 15), (*need as i64, 15), (*keep as i64, 15)];
            word(parts)
        });
        let about = "Rows: the first place, the first step, rows that are needed, the first one.";
        let lines = memory(about, &format!("{prefix}_lines"), 110, words);
        let (word_steps, [x_bits, y_bits]) = (self.word_steps(), self.bits);
        let words = self.lines.iter().flat_map(|line| line.changes.chunks(word_steps));
        let words =
            words.map(|steps| word(steps.iter().flat_map(|[x, y]| [(*x, x_bits), (*y, y_bits)])));
        let about = "Steps: by how much the next one differs, the first pixel lowest.";
        let all: Vec<String> = words.collect();
        let word_bits = word_steps as u32 * (x_bits + y_bits);
        lines + &memory(about, &format!("{prefix}_steps"), word_bits, all.into_iter())
    }

    fn word_steps(&self) -> usize {
        let most = WORD_STEPS.min(self.width);
        // A word of one step would have to be there a cycle behind the one before.
        if self.width % most == 1 { most - 1 } else { most }
    }
}

const FAR_AWAY: &str = "the place in the camera's image is far away, or nowhere";

/// Bits of a number with its sign.
fn signed_bits(number: i64) -> u32 {
    let magnitude = if number < 0 { !number } else { number };
    i64::BITS - magnitude.leading_zeros() + 1
}

/// As many bits as the changes of a step need along each axis, of rows from this one on.
fn change_bits(first: usize, lines: &[Line]) -> Result<[u32; 2], PlaceStepsError> {
    let mut bits = [1; 2];
    for axis in [0, 1] {
        for (number, line) in lines.iter().enumerate() {
            for (column, change) in line.changes.iter().enumerate() {
                let needed = signed_bits(change[axis]);
                if needed > CHANGE_BITS_MAX {
                    let what = "the step from pixel to pixel changes too fast";
                    return Err(PlaceStepsError::Lens { column, row: first + number, what });
                }
                bits[axis] = needed.max(bits[axis]);
            }
        }
    }
    Ok(bits)
}

/// A row, whose first needed row is of the row alone.
fn line(
    camera: &Camera,
    (width, height): (usize, usize),
    row: usize,
) -> Result<Line, PlaceStepsError> {
    let wrong = |column, what| PlaceStepsError::Lens { column, row, what };
    let mut places = Vec::with_capacity(width);
    for column in 0..width {
        let (x, y) = camera.raw_of_rectified(column as f64, row as f64);
        // As `RectificationTable` has it.
        let place = [x, y].map(|it| (it * f64::from(1 << FRACTION_BITS)).round());
        if !place.iter().all(|it| it.abs() <= PLACE_MAX as f64) {
            return Err(wrong(column, FAR_AWAY));
        }
        places.push(place.map(|it| it as i64));
    }
    let between = |a: &[i64; 2], b: &[i64; 2]| [b[0] - a[0], b[1] - a[1]];
    let steps: Vec<_> = places.windows(2).map(|it| between(&it[0], &it[1])).collect();
    if let Some(column) = steps.iter().position(|it| it.iter().any(|it| it.abs() > STEP_MAX)) {
        return Err(wrong(column, "the next pixel is far away in the camera's image"));
    }
    let changes = steps.windows(2).map(|it| between(&it[0], &it[1]));
    let changes: Vec<_> = changes.chain([[0; 2]; 2]).collect();
    let rows = rows_needed(places.iter().copied(), (width, height));
    Ok(Line { place: places[0], step: steps[0], changes, rows })
}

#[cfg(test)]
mod tests {
    use super::{PlaceSteps, PlaceStepsError, signed_bits};
    use crate::{Camera, NOWHERE, RectificationTable};

    const LENS: Camera =
        Camera::plumb_bob([60.0, 60.0, 33.0, 23.0], [-0.3, 0.1, 0.001, -0.002, 0.0]);

    /// Places of a row, and the rows that are needed and kept.
    type Row = (Vec<[i64; 2]>, (usize, usize));

    /// The places that steps lead to.
    fn places(steps: &PlaceSteps) -> Vec<Row> {
        let of_row = |line: &super::Line| {
            let (mut place, mut step) = (line.place, line.step);
            let along = line.changes.iter().map(|change| {
                let here = place;
                for axis in [0, 1] {
                    place[axis] += step[axis];
                    step[axis] += change[axis];
                }
                here
            });
            (along.collect(), line.rows)
        };
        steps.lines.iter().map(of_row).collect()
    }

    #[test]
    fn steps_lead_to_the_places_of_the_table() {
        let size = (64, 48);
        let positions: Vec<_> =
            RectificationTable::new(&LENS, size.0, size.1).positions().collect();
        for rows in [0..48, 17..40] {
            let whole = PlaceSteps::new(&LENS, size, rows.clone()).unwrap();
            let (cropped, raw) = whole.clone().cropped().unwrap();
            let of_rows = &positions[rows.start * size.0..rows.end * size.0];
            let tops = of_rows.iter().filter(|at| **at != [NOWHERE; 2]).map(|at| at[1] >> 10);
            let (first, last) = (tops.clone().min().unwrap(), tops.max().unwrap());
            assert_eq!(raw, first.max(0) as usize..(last as usize + 2).min(size.1));
            let mut seen = 0;
            for (steps, first) in [(whole, 0), (cropped, raw.start)] {
                let found = places(&steps);
                assert_eq!(found.len(), rows.len());
                for ((found, (need, keep)), row) in found.into_iter().zip(rows.clone()) {
                    for (found, at) in found.iter().zip(&positions[row * size.0..]) {
                        if *at == [NOWHERE; 2] {
                            continue;
                        }
                        assert_eq!([found[0], found[1] + 1024 * first as i64], at.map(i64::from));
                        let top = (at[1] >> 10).max(0) as usize - first;
                        assert!(keep <= top && need > top);
                        assert!(need - keep <= steps.band);
                        seen += 1;
                    }
                }
            }
            assert!(seen > 2 * rows.len() * 50, "{seen}");
        }
    }

    #[test]
    fn memories_have_a_word_for_each_row_and_each_64_pixels_of_it() {
        let camera = Camera::plumb_bob([60.0, 60.0, 33.0, 23.0], [0.0; 5]);
        let steps = PlaceSteps::new(&camera, (130, 48), 10..13).unwrap();
        let text = steps.memories("of_lens");
        assert!(text.contains("module of_lens_lines (") && text.contains("[109:0] w [3];"));
        assert!(text.contains("module of_lens_steps (") && text.contains("[127:0] w [9];"));
        let expected =
            [("Band", "4"), ("WordSteps", "64"), ("Words", "9"), ("XBits", "1"), ("YBits", "1")];
        assert_eq!(steps.constants(), expected.map(|(name, value)| (name, value.to_owned())));
        // No word of one step.
        let steps = PlaceSteps::new(&camera, (129, 48), 10..13).unwrap();
        assert_eq!(steps.constants()[1].1, "63");
        assert!(PlaceSteps::none().memories("none").contains("[3:0] w [1];"));
    }

    #[test]
    fn a_number_has_as_many_bits_as_it_needs_with_its_sign() {
        assert_eq!([-4, 3, 4, 0, -1].map(signed_bits), [3, 3, 4, 1, 1]);
    }

    fn refused(camera: Camera, width: usize, height: usize) -> String {
        let made = PlaceSteps::new(&camera, (width, height), 0..height);
        made.unwrap_err().to_string()
    }

    #[test]
    fn lenses_that_hardware_cannot_rectify_are_refused_with_the_next_step() {
        assert!(refused(LENS, 7, 48).contains("8 pixels a side at least"));
        let wild = Camera { distortion: [0.9, -8.0, 0.03, -0.02, 6.0, 0.3, 0.02, 0.0], ..LENS };
        let text = refused(wild, 640, 480);
        assert!(text.contains("keep the node in software"), "{text}");
        // A quarter turn: what is right of it is behind the camera.
        let rotation = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]];
        assert!(refused(Camera { rotation, ..LENS }, 64, 48).contains("nowhere"));
        let large = Camera::plumb_bob([3000.0, 3000.0, 600.0, 600.0], [-0.3, 0.1, 0.0, 0.0, 0.0]);
        // A quarter roll: one row crosses the whole picture.
        let rotation = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let text = refused(Camera { rotation, ..large }, 1200, 1200);
        assert!(text.contains("rows of the camera's at once"), "{text}");
        assert!(refused(large, 2000, 2000).contains("block memory"));
    }

    #[test]
    fn rows_that_lie_beside_the_picture_are_refused_if_it_is_cropped() {
        let beside = Camera { rectified: [60.0, 60.0, 33.0, 2023.0], ..LENS };
        let beside = Camera { distortion: [0.0; 8], ..beside };
        let steps = PlaceSteps::new(&beside, (64, 48), 3..9).unwrap();
        let error = steps.cropped().unwrap_err();
        assert!(matches!(error, PlaceStepsError::Nowhere { first: 3, last: 8 }), "{error}");
    }
}
