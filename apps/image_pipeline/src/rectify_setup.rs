//! What rectification in hardware is made with: the places of all pixels, as the SystemVerilog file
//! `rectify_setup.sv`.
//!
//! Hardware has no room for the table of the software, 8 bytes per pixel. Along a row of any usual
//! lens the step from place to place changes by a few units of 1 / 1024 pixel. So each row has its
//! first place and its first step, and each pixel by how much the next step differs: 6 bits for
//! both axes of a lens like the shipped one. Nothing is rounded: the places are those of
//! [`crossdock_rectify::RectificationTable`]. Set-up code.

use crate::calibration::{Calibration, CalibrationError, Projection};
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_rectify::{Camera, FRACTION_BITS, hardware};
use sha2::{Digest, Sha256};
use std::path::Path;
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
/// Block memory of the largest part that a board of Crossdock's profiles has, bits: 312 of 36 kbit.
const MEMORY_BITS_MAX: u64 = 312 * 36 * 1024;

/// Why there is no rectification in hardware for a camera.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RectifySetupError {
    /// The package file does not name a camera.
    #[error(
        "`built_in` of rectify needs `{name}`: {expected}; name the hardware package file of \
         image_pipeline"
    )]
    Value {
        /// Name of the parameter.
        name: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// The calibration.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
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
        /// Row.
        row: usize,
        /// What is wrong there.
        what: &'static str,
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

/// The text of `rectify_setup.sv` for the values under `built_in` of a hardware package file. Reads
/// the calibration that they name. The last line has the digest of this file, for the key
/// `made_from`.
///
/// # Errors
/// [`RectifySetupError`]: a value is missing, the file is no calibration, or hardware cannot do
/// what it says.
pub fn rectify_setup_of(package: &HardwarePackage) -> Result<String, RectifySetupError> {
    let values = package.node_type("rectify").map(|node| &node.built_in);
    let text = |name, expected| match values.and_then(|values| values.get(name)) {
        Some(ParameterValue::String(text)) => Ok(text.as_str()),
        _ => Err(RectifySetupError::Value { name, expected }),
    };
    let file = text("calibration", "camera info YAML file")?;
    let expected = "camera_info or camera_matrix";
    let projection = Projection::named(text("projection", expected)?)
        .ok_or(RectifySetupError::Value { name: "projection", expected })?;
    let file = Path::new(file);
    let text = Calibration::text(file)?;
    let setup = rectify_setup(&Calibration::from_yaml(file, &text, projection)?)?;
    let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{setup}// Made from a calibration with the SHA-256\n// {digest}.\n"))
}

/// The text of `rectify_setup.sv` for a camera.
///
/// # Errors
/// [`RectifySetupError`]: what hardware cannot do with it.
pub fn rectify_setup(calibration: &Calibration) -> Result<String, RectifySetupError> {
    let Calibration { width, height, camera } = *calibration;
    if width.min(height) < SIDE_MIN {
        return Err(RectifySetupError::Side { width, height });
    }
    let lines = (0..height).map(|row| line(&camera, (width, height), row));
    let mut lines: Vec<Line> = lines.collect::<Result<_, _>>()?;
    let mut needed: Vec<_> = lines.iter().map(|line| line.rows).collect();
    let rows = hardware::band_of(&mut needed);
    for (line, needed) in lines.iter_mut().zip(needed) {
        line.rows = needed;
    }
    let band = rows.next_power_of_two().max(4);
    if band > BAND_MAX {
        return Err(RectifySetupError::Band { rows });
    }
    let bits = [0, 1].map(|axis| {
        let changes = lines.iter().flat_map(|line| &line.changes);
        changes.map(|change| signed_bits(change[axis])).max().unwrap_or(1)
    });
    let line_of = |axis: usize, (row, line): (usize, &Line)| {
        let column = line.changes.iter().position(|it| signed_bits(it[axis]) > CHANGE_BITS_MAX)?;
        Some((row, column))
    };
    let bent = [0, 1]
        .iter()
        .find_map(|axis| lines.iter().enumerate().find_map(|numbered| line_of(*axis, numbered)));
    if let Some((row, column)) = bent {
        let what = "the step from pixel to pixel changes too fast";
        return Err(RectifySetupError::Lens { column, row, what });
    }
    let pairs = width.div_ceil(WORD_STEPS) * WORD_STEPS * height;
    let memory = pairs as u64 * u64::from(bits[0] + bits[1]) + (band * width * 24) as u64;
    if memory > MEMORY_BITS_MAX {
        return Err(RectifySetupError::Memory { bits: memory });
    }
    Ok(text((width, height), &lines, bits, band))
}

/// Bits of a number with its sign.
fn signed_bits(number: i64) -> u32 {
    let magnitude = if number < 0 { !number } else { number };
    i64::BITS - magnitude.leading_zeros() + 1
}

/// A row, whose first needed row is of the row alone.
fn line(
    camera: &Camera,
    (width, height): (usize, usize),
    row: usize,
) -> Result<Line, RectifySetupError> {
    let wrong = |column, what| RectifySetupError::Lens { column, row, what };
    let mut places = Vec::with_capacity(width);
    for column in 0..width {
        let (x, y) = camera.raw_of_rectified(column as f64, row as f64);
        // As `RectificationTable` has it.
        let place = [x, y].map(|it| (it * f64::from(1 << FRACTION_BITS)).round());
        if !place.iter().all(|it| it.abs() <= PLACE_MAX as f64) {
            return Err(wrong(column, "the place in the camera's image is far away, or nowhere"));
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
    let rows = hardware::rows_needed(places.iter().copied(), (width, height));
    Ok(Line { place: places[0], step: steps[0], changes, rows })
}

fn text((width, height): (usize, usize), lines: &[Line], bits: [u32; 2], band: usize) -> String {
    // A word of one step would have to be there a cycle behind the one before.
    let word_steps = if width % WORD_STEPS == 1 { WORD_STEPS - 1 } else { WORD_STEPS };
    let constants = [
        ("Width", width),
        ("Height", height),
        ("Band", band),
        ("WordSteps", word_steps),
        ("XBits", bits[0] as usize),
        ("YBits", bits[1] as usize),
    ];
    let made_by =
        ["crossdock-image-pipeline rectify-setup", "apps/image_pipeline/src/rectify_setup.rs"];
    let constants = constants.map(|(name, value)| (name, value.to_string()));
    let mut text = hardware::head("rectification", made_by, "rectify_setup", constants);
    let words = lines.iter().map(|line| {
        let Line { place: [x, y], step: [dx, dy], rows: (need, keep), .. } = line;
        let parts =
            [(*x, 25), (*y, 25), (*dx, 15), (*dy, 15), (*need as i64, 15), (*keep as i64, 15)];
        hardware::word(parts)
    });
    let about = "Rows: the first place, the first step, rows that are needed, the first one.";
    text += &hardware::memory(about, "rectify_lines", 110, words);
    let words = lines.iter().flat_map(|line| line.changes.chunks(word_steps));
    let words = words
        .map(|word| hardware::word(word.iter().flat_map(|[x, y]| [(*x, bits[0]), (*y, bits[1])])));
    let about = "Steps: by how much the next one differs, the first pixel lowest.";
    let all: Vec<String> = words.collect();
    let word_bits = word_steps as u32 * (bits[0] + bits[1]);
    text += &hardware::memory(about, "rectify_steps", word_bits, all.into_iter());
    text + hardware::TAIL
}

#[cfg(test)]
mod tests {
    use super::{Calibration, line, rectify_setup, signed_bits};
    use crossdock_rectify::{Camera, NOWHERE, RectificationTable};

    const LENS: Camera =
        Camera::plumb_bob([60.0, 60.0, 33.0, 23.0], [-0.3, 0.1, 0.001, -0.002, 0.0]);

    fn told(width: usize, height: usize, camera: Camera) -> String {
        let calibration = Calibration { width, height, camera };
        rectify_setup(&calibration).map_err(|error| error.to_string()).unwrap_or_else(|it| it)
    }

    #[test]
    fn steps_lead_to_the_places_of_the_table() {
        let size = (64, 48);
        let positions: Vec<_> =
            RectificationTable::new(&LENS, size.0, size.1).positions().collect();
        let mut seen = 0;
        for (row, expected) in positions.chunks(size.0).enumerate() {
            let line = line(&LENS, size, row).expect("a lens");
            let (mut place, mut step) = (line.place, line.step);
            for (at, change) in expected.iter().zip(&line.changes) {
                if *at != [NOWHERE; 2] {
                    assert_eq!(place, at.map(i64::from));
                    let rows = (place[1] >> 10).max(0) as usize..;
                    assert!(line.rows.1 <= rows.start && line.rows.0 > rows.start);
                    seen += 1;
                }
                for axis in [0, 1] {
                    place[axis] += step[axis];
                    step[axis] += change[axis];
                }
            }
        }
        assert!(seen > 2000, "{seen}");
    }

    #[test]
    fn a_number_has_as_many_bits_as_it_needs_with_its_sign() {
        assert_eq!([-4, 3, 4, 0, -1].map(signed_bits), [3, 3, 4, 1, 1]);
    }

    #[test]
    fn lenses_that_hardware_cannot_rectify_are_refused_with_the_next_step() {
        assert!(told(64, 48, LENS).contains("package rectify_setup"));
        assert!(told(7, 48, LENS).contains("8 pixels a side at least"));
        let wild = Camera { distortion: [0.9, -8.0, 0.03, -0.02, 6.0, 0.3, 0.02, 0.0], ..LENS };
        let text = told(640, 480, wild);
        assert!(text.contains("keep the node in software"), "{text}");
        // A quarter turn: what is right of it is behind the camera.
        let rotation = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]];
        assert!(told(64, 48, Camera { rotation, ..LENS }).contains("nowhere"));
        let large = Camera::plumb_bob([3000.0, 3000.0, 600.0, 600.0], [-0.3, 0.1, 0.0, 0.0, 0.0]);
        // A quarter roll: one row crosses the whole picture.
        let rotation = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        assert!(
            told(1200, 1200, Camera { rotation, ..large }).contains("rows of the camera's at once")
        );
        assert!(told(2000, 2000, large).contains("block memory"));
    }
}
