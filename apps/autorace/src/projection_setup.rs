//! What image projection in hardware is made with: camera and places, as the SystemVerilog file
//! `image_projection_setup.sv`.
//!
//! Hardware has no room for the place of each pixel. If the camera does not roll, a row of the
//! projected picture lies in one row of the camera's, and its places have equal steps. So each row
//! has its first place and its step, with `SHIFT` bits behind the unit of a place.
//! [`projection_setup`] checks each place of these lines against [`crate::projection`], so the
//! pictures have the same bits. Set-up code.

use crate::built_in::{BuiltIn, BuiltInError};
use crate::camera::{Homography, HomographyError};
use crossdock_graph::HardwarePackage;
use crossdock_rectify::{FRACTION_BITS, hardware};
use thiserror::Error;

/// Bits behind the unit of a place, 1 / 1024 pixel.
const SHIFT: u32 = 20;
/// Places have 25 bits with their sign, and steps 15, before [`SHIFT`] ones.
const PLACE_MAX: f64 = ((1_i64 << 24) - 1) as f64;
const STEP_MAX: f64 = ((1_i64 << 14) - 1) as f64;
/// Steps on either side of the nearest one that are tried.
const TRIED: i64 = 64;
/// Sides of both pictures: shorter rows end before the next line is there.
const SIDES: std::ops::RangeInclusive<usize> = 8..=2048;
/// Rows of the camera's picture that hardware keeps.
const BAND_MAX: usize = 32;

/// Why there is no image projection in hardware for these parameters.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProjectionSetupError {
    /// The node type or a value is missing.
    #[error(transparent)]
    BuiltIn(#[from] BuiltInError),
    /// The homography has no inverse.
    #[error(transparent)]
    Homography(#[from] HomographyError),
    /// A side of a picture.
    #[error(
        "`{name}` is {value}, but image projection in hardware needs sides of {} to {} pixels, and \
         projected rows of a multiple of 8: choose another size, or keep the node in software",
        SIDES.start(), SIDES.end()
    )]
    Side {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: usize,
    },
    /// The homography leads nowhere.
    #[error("no pixel of the projected picture is in the camera's: measure the `homography` again")]
    Empty,
    /// A row is no line of equal steps.
    #[error(
        "with this `homography`, row {row} of the projected picture is no line of equal steps through one \
         row of the camera's picture: hardware needs a camera without roll, and no place further away than 16000 pixels"
    )]
    Row {
        /// Row of the projected picture.
        row: usize,
    },
    /// Too many rows lie between what is needed at once.
    #[error(
        "the projected picture needs {rows} rows of the camera's at once, hardware keeps {BAND_MAX}: \
         its rows have to come from the camera's rows in their order, from the top"
    )]
    Band {
        /// Rows.
        rows: usize,
    },
}

/// The places of a projected row: `(first + u step) >> SHIFT`, and the row of the camera's picture.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: i64,
    step: i64,
    row: i64,
}

/// The text of `image_projection_setup.sv` for the values under `built_in` of a hardware package
/// file.
///
/// # Errors
/// [`ProjectionSetupError`]: a value is missing, or hardware cannot do what it says.
pub fn projection_setup_of(package: &HardwarePackage) -> Result<String, ProjectionSetupError> {
    let values = BuiltIn::of(package, "image_projection")?;
    let homography = Homography::new(values.homography()?)?;
    let side = |name| -> Result<usize, ProjectionSetupError> {
        let value = values.side(name)?;
        match SIDES.contains(&value) {
            true => Ok(value),
            false => Err(ProjectionSetupError::Side { name, value }),
        }
    };
    let camera = (side("width")?, side("height")?);
    let name = "projected_width";
    let made = (side(name)?, side("projected_height")?);
    if !made.0.is_multiple_of(8) {
        return Err(ProjectionSetupError::Side { name, value: made.0 });
    }
    projection_setup(&homography, camera, made)
}

/// The text of `image_projection_setup.sv` from pictures of the size `camera` to those of the size
/// `made`.
///
/// # Errors
/// [`ProjectionSetupError`]: what hardware cannot do with these parameters.
pub fn projection_setup(
    homography: &Homography,
    camera: (usize, usize),
    made: (usize, usize),
) -> Result<String, ProjectionSetupError> {
    let front = homography.inverse();
    let (mut lines, mut needed) = (Vec::new(), Vec::new());
    for row in 0..made.1 {
        let exact: Vec<_> = (0..made.0).map(|u| front.apply(u as f64, row as f64)).collect();
        let (line, places) = line(&exact).ok_or(ProjectionSetupError::Row { row })?;
        lines.push(line);
        needed.push(hardware::rows_needed(places.iter().map(|x| [*x, line.row]), camera));
    }
    if needed.iter().all(|(need, _)| *need == 0) {
        return Err(ProjectionSetupError::Empty);
    }
    let rows = hardware::band_of(&mut needed);
    let band = rows.next_power_of_two().max(4);
    if band > BAND_MAX {
        return Err(ProjectionSetupError::Band { rows });
    }
    let constants = [
        ("Width", camera.0),
        ("Height", camera.1),
        ("ProjectedWidth", made.0),
        ("ProjectedHeight", made.1),
        ("Band", band),
        ("Shift", SHIFT as usize),
    ];
    let constants = constants.map(|(name, value)| (name, value.to_string()));
    let made_by = ["crossdock-autorace projection-setup", "apps/autorace/src/projection_setup.rs"];
    let mut text = hardware::head("image projection", made_by, "image_projection_setup", constants);
    let words = lines.iter().zip(&needed).map(|(line, (need, keep))| {
        hardware::word([
            (line.first, 25 + SHIFT),
            (line.step, 15 + SHIFT),
            (line.row, 25),
            (*need as i64, 15),
            (*keep as i64, 15),
        ])
    });
    let about =
        "Rows: the first place, the step, the camera's row, rows that are needed, the first one.";
    text += &hardware::memory(about, "image_projection_lines", 95 + 2 * SHIFT, words);
    Ok(text + hardware::TAIL)
}

/// The line of a row with these places in pixels, and its columns in units; none if it is no line.
fn line(exact: &[(f64, f64)]) -> Option<(Line, Vec<i64>)> {
    let unit = f64::from(1 << FRACTION_BITS);
    // As `RectificationTable` has it.
    let rounded = |value: f64| (value * unit).round();
    let (x, row) = (exact[0].0, rounded(exact[0].1));
    let is_near = |value: f64| rounded(value).abs() <= PLACE_MAX;
    if !exact.iter().all(|(x, y)| is_near(*x) && is_near(*y) && rounded(*y) == row) {
        return None;
    }
    let columns: Vec<i64> = exact.iter().map(|(x, _)| rounded(*x) as i64).collect();
    let slope = (exact[exact.len() - 1].0 - x) * unit / (exact.len() - 1) as f64;
    if slope.abs() > STEP_MAX {
        return None;
    }
    let nearest = (slope * f64::from(1 << SHIFT)).round() as i64;
    let fits = |step: i64| {
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        for (u, column) in columns.iter().enumerate() {
            let moved = u as i64 * step;
            low = low.max((column << SHIFT) - moved);
            high = high.min(((column + 1) << SHIFT) - 1 - moved);
        }
        (low <= high).then_some(low + (high - low) / 2)
    };
    let mut tried = (0..=TRIED).flat_map(|it| [nearest - it, nearest + it]);
    let (first, step) = tried.find_map(|step| fits(step).map(|first| (first, step)))?;
    Some((Line { first, step, row: row as i64 }, columns))
}

#[cfg(test)]
mod tests {
    use super::{ProjectionSetupError, SHIFT, line, projection_setup};
    use crate::camera::Homography;

    /// Of the closed course.
    const COURSE: [[f64; 3]; 3] = [
        [0.382_990_706_843, 0.906_850_656_529, -201.737_585_170_491],
        [0.0, 1.695_689_925_210, -369.478_798_490_587],
        [0.0, 0.001_813_701_313, -0.158_744_108_668],
    ];

    fn told(rows: [[f64; 3]; 3], camera: (usize, usize)) -> Result<String, ProjectionSetupError> {
        projection_setup(&Homography::new(rows).unwrap(), camera, (1000, 600))
    }

    #[test]
    fn lines_lead_to_the_places_that_they_were_made_of() {
        let front = Homography::new(COURSE).unwrap().inverse();
        for row in [0, 1, 299, 598, 599] {
            let exact: Vec<_> =
                (0..1000).map(|u| front.apply(f64::from(u), f64::from(row))).collect();
            let (line, columns) = line(&exact).unwrap();
            for (u, (x, y)) in exact.iter().enumerate() {
                let found = (line.first + u as i64 * line.step) >> SHIFT;
                assert_eq!(found, (x * 1024.0).round() as i64, "{u} of row {row}");
                assert_eq!((found, line.row), (columns[u], (y * 1024.0).round() as i64));
            }
        }
    }

    #[test]
    fn the_course_has_a_setup_that_keeps_a_few_rows() {
        let text = told(COURSE, (640, 480)).unwrap();
        assert!(text.contains("Band = 4;") && text.contains("w[599]=135'h"));
    }

    #[test]
    fn what_hardware_cannot_do_is_refused_with_what_to_do_instead() {
        let refused = |rows| told(rows, (640, 480)).unwrap_err();
        let rolled = [[0.38, 0.91, -201.0], [0.02, 1.7, -369.0], [0.0, 0.001_8, -0.158]];
        assert!(matches!(refused(rolled), ProjectionSetupError::Row { .. }));
        let away = [[1.0, 0.0, 5000.0], [0.0, 1.0, 5000.0], [0.0, 0.0, 1.0]];
        assert!(matches!(refused(away), ProjectionSetupError::Empty));
        let upside_down = [[1.0, 0.0, 0.0], [0.0, -1.0, 480.0], [0.0, 0.0, 1.0]];
        assert!(matches!(refused(upside_down), ProjectionSetupError::Band { rows: 480 }));
    }
}
