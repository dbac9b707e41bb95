//! What the lane planner in hardware is made with: camera, colours and the way from the front
//! picture to the view, as the SystemVerilog file `lane_planner_setup.sv`.
//!
//! The view is taken from the tables of the software ([`crate::lane_view`]). Hardware has no room
//! for the place of each pixel: it follows a line of equal steps through one front row per view
//! row, in fixed point. [`lane_setup`] finds such lines and checks each of their pixels against the
//! tables, so the view has the same bits. If pictures are to be rectified, the places of the rows
//! that the view uses are steps that change, see [`PlaceSteps`]. Set-up code.

use crate::built_in::{BuiltIn, BuiltInError, colour_text};
use crate::camera::{Camera, Homography, HomographyError};
use crate::hsv::HsvRange;
use crate::lane_view::{OUTSIDE, VIEW_HEIGHT, VIEW_WIDTH, ViewParameters, ViewTables, Window};
use crossdock_graph::HardwarePackage;
use crossdock_rectify::hardware::{self, PlaceSteps, PlaceStepsError};
use std::ops::Range;
use thiserror::Error;

/// Bits behind the point of a place in a front row.
const SHIFT: u32 = 22;
/// Whole bits of a step: below 2 pixels, so that 8 of them are at most 16.
const STEP_MAX: i64 = 2 << SHIFT;
/// Places beyond this many pixels left or right of the row have no bits.
const PLACE_MAX: i64 = 2000 << SHIFT;
/// Steps on either side of the nearest one that are tried.
const TRIED: i64 = 64;

/// Why there is no lane planner in hardware for these parameters.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaneSetupError {
    /// The node type or a value is missing.
    #[error(transparent)]
    BuiltIn(#[from] BuiltInError),
    /// The homography has no inverse.
    #[error(transparent)]
    Homography(#[from] HomographyError),
    /// The camera's lens.
    #[error(transparent)]
    Places(#[from] PlaceStepsError),
    /// The picture's size.
    #[error(
        "pictures are {width} x {height}, but the lane planner in hardware needs a `width` that is a \
         multiple of 32 and at most 1984, and a `height` of at most 2047"
    )]
    Size {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// The homography leads nowhere.
    #[error("no pixel of the view is in the picture: measure the `homography` again")]
    Empty,
    /// A view row does not come from one front row by equal steps.
    #[error(
        "with this `homography`, row {row} of the view is no line of equal steps through one row of the \
         picture, from left to right and from the top: hardware needs a camera without roll"
    )]
    Row {
        /// Row of the view.
        row: usize,
    },
}

/// A view row: the front row in the band, and the line through it.
#[derive(Clone, Copy, Debug, Default)]
struct ViewLine {
    front: usize,
    first: i64,
    step: i64,
}

/// The text of `lane_planner_setup.sv` for the values under `built_in` of a hardware package file.
///
/// # Errors
/// [`LaneSetupError`]: a value is missing, or hardware cannot do what it says.
pub fn lane_setup_of(package: &HardwarePackage) -> Result<String, LaneSetupError> {
    let values = BuiltIn::of(package, "lane_planner")?;
    let range = |low, high| -> Result<HsvRange, LaneSetupError> {
        Ok(HsvRange { low: values.colour(low)?, high: values.colour(high)? })
    };
    let expected = "true or false: whether the pictures are distorted by the lens";
    let rectify = values.bool("rectify", expected)?;
    let camera = camera(&values)?;
    let expected = "a number of levels, 0 to 255";
    let contrast = values.integer("contrast_min", expected)?;
    let parameters = ViewParameters {
        camera: rectify.then_some(camera),
        homography: Homography::new(values.homography()?)?,
        yellow: range("yellow_low", "yellow_high")?,
        white: range("white_low", "white_high")?,
        contrast_min: u8::try_from(contrast)
            .map_err(|_| values.missing("contrast_min", expected))?,
    };
    lane_setup(parameters, values.side("width")?, values.side("height")?)
}

/// The camera, as the software node has it.
fn camera(values: &BuiltIn<'_>) -> Result<Camera, BuiltInError> {
    let (name, expected) = ("intrinsics", "fx, fy, cx, cy in pixels, fx and fy above 0");
    let intrinsics: [f64; 4] = values.numbers(name, expected)?;
    let [fx, fy, ..] = intrinsics;
    if !(fx > 0.0 && fy > 0.0) {
        return Err(values.missing(name, expected));
    }
    Ok(Camera::plumb_bob(intrinsics, values.numbers("distortion", "k1, k2, p1, p2, k3")?))
}

/// The text of `lane_planner_setup.sv` for pictures of `width` x `height`.
///
/// Allocates some megabytes while it works.
///
/// # Errors
/// [`LaneSetupError`]: what hardware cannot do with these parameters.
pub fn lane_setup(
    parameters: ViewParameters,
    width: usize,
    height: usize,
) -> Result<String, LaneSetupError> {
    if width == 0 || !width.is_multiple_of(32) || width > 1984 || height > 2047 {
        return Err(LaneSetupError::Size { width, height });
    }
    let tables = ViewTables::new(parameters, width, height);
    if tables.rows.is_empty() {
        return Err(LaneSetupError::Empty);
    }
    let (size, rows) = (tables.size, tables.rows.clone());
    let places = match &tables.parameters.camera {
        Some(camera) => Some(PlaceSteps::new(camera, size, rows)?.cropped()?),
        None => None,
    };
    let inverse = tables.parameters.homography.inverse();
    let mut lines = Vec::with_capacity(VIEW_HEIGHT);
    let mut front = 0;
    for (row, places) in tables.warp.chunks_exact(VIEW_WIDTH).enumerate() {
        let place = |x: usize| inverse.apply(x as f64, row as f64).0;
        let slope = (place(VIEW_WIDTH - 1) - place(0)) / (VIEW_WIDTH - 1) as f64;
        let line = view_line(places, width, slope).ok_or(LaneSetupError::Row { row })?;
        if let Some(line) = line {
            if line.front < front {
                return Err(LaneSetupError::Row { row });
            }
            front = line.front;
        }
        lines.push(line);
    }
    Ok(text(&tables, &lines, places))
}

/// The line of a view row, about so many pixels per step; within: none if no pixel of the row is in
/// the picture. None if it is no line.
fn view_line(places: &[u32], width: usize, slope: f64) -> Option<Option<ViewLine>> {
    let inside = |place: &u32| *place != OUTSIDE;
    let (Some(first), Some(last)) =
        (places.iter().position(inside), places.iter().rposition(inside))
    else {
        return Some(None);
    };
    let front = places[first] as usize / width;
    let column = |x: usize| i64::from(places[x]) - (front * width) as i64;
    if !(first..=last).all(|x| (0..width as i64).contains(&column(x))) {
        return None;
    }
    // Not a number or too large: no step fits.
    let nearest =
        (slope * f64::from(1 << SHIFT)).round().clamp(-PLACE_MAX as f64, PLACE_MAX as f64);
    let nearest = nearest as i64;
    let tried = (0..=TRIED).flat_map(|it| [nearest - it, nearest + it]);
    let fits = |step: i64| {
        let (mut low, mut high) = (-PLACE_MAX, PLACE_MAX);
        for x in 0..places.len() {
            let moved = x as i64 * step;
            if (first..=last).contains(&x) {
                low = low.max((column(x) << SHIFT) - moved);
                high = high.min(((column(x) + 1) << SHIFT) - 1 - moved);
            } else if x < first {
                high = high.min(-1 - moved);
            } else {
                low = low.max(((width as i64) << SHIFT) - moved);
            }
        }
        (low <= high).then_some(low + (high - low) / 2)
    };
    let found = tried
        .filter(|step| (0..STEP_MAX).contains(step))
        .find_map(|step| fits(step).map(|first| ViewLine { front, first, step }));
    found.map(Some)
}

/// `places`: of the rectified rows, and the rows of the picture that they are made of.
fn text(
    tables: &ViewTables,
    lines: &[Option<ViewLine>],
    places: Option<(PlaceSteps, Range<usize>)>,
) -> String {
    let ViewTables { parameters, size: (width, height), rows, windows, .. } = tables;
    let rectifies = u8::from(places.is_some());
    let (places, raw) = places.unwrap_or_else(|| (PlaceSteps::none(), rows.clone()));
    let reach = windows.iter().map(|it| it.outer).max().unwrap_or(1);
    let constants = [
        ("Width", width.to_string()),
        ("Height", height.to_string()),
        // The rows of the picture that are needed, and the rows of the rectified one in the view.
        ("FirstRaw", raw.start.to_string()),
        ("RawRows", raw.len().to_string()),
        ("Rows", rows.len().to_string()),
        ("Rectifies", rectifies.to_string()),
        ("ViewWidth", VIEW_WIDTH.to_string()),
        ("ViewHeight", VIEW_HEIGHT.to_string()),
        ("Shift", SHIFT.to_string()),
        ("Reach", reach.to_string()),
        ("Contrast", parameters.contrast_min.to_string()),
        ("YellowLow", colour_text(parameters.yellow.low)),
        ("YellowHigh", colour_text(parameters.yellow.high)),
        ("WhiteLow", colour_text(parameters.white.low)),
        ("WhiteHigh", colour_text(parameters.white.high)),
    ];
    let constants = constants.into_iter().chain(places.constants());
    let made_by = ["crossdock-autorace lane-setup", "apps/autorace/src/lane_setup.rs"];
    let mut text = hardware::head("the lane planner", made_by, "lane_planner_setup", constants);
    let words = lines.iter().map(|line| {
        let (seen, ViewLine { front, first, step }) = (line.is_some(), line.unwrap_or_default());
        let parts = [(step, 3 + SHIFT), (first, 12 + SHIFT), (front as i64, 11)];
        hardware::word(parts.into_iter().chain([(i64::from(seen), 1)]))
    });
    let about = "Rows of the view: whether it is seen, its front row, its first place, its steps.";
    text += &hardware::memory(about, "lane_planner_lines", 27 + 2 * SHIFT, words);
    let words = windows
        .iter()
        .map(|Window { inner, outer }| hardware::word([(*inner as i64, 10), (*outer as i64, 10)]));
    let about = "Front rows: the contrast window's outer and inner end.";
    text += &hardware::memory(about, "lane_planner_windows", 20, words);
    text + &places.memories("lane_planner_place") + hardware::TAIL
}

#[cfg(test)]
mod tests {
    use super::{LaneSetupError, SHIFT, lane_setup, lane_setup_of, view_line};
    use crate::camera::{Camera, Homography};
    use crate::hsv::{Hsv, HsvRange};
    use crate::lane_view::{OUTSIDE, ViewParameters};
    use crossdock_graph::HardwarePackage;
    use crossdock_rectify::hardware::PlaceStepsError;

    fn parameters(rows: [[f64; 3]; 3]) -> ViewParameters {
        let all = HsvRange { low: Hsv { h: 0, s: 0, v: 0 }, high: Hsv { h: 179, s: 255, v: 255 } };
        let homography = Homography::new(rows).unwrap();
        ViewParameters { camera: None, homography, yellow: all, white: all, contrast_min: 12 }
    }

    /// Of the closed course.
    const COURSE: [[f64; 3]; 3] = [
        [0.382_990_706_843, 0.580_384_420_189, -173.163_645_610_251],
        [0.0, 2.714_192_101_124, -591.261_324_050_140],
        [0.0, 0.001_813_701_313, -0.158_744_108_668],
    ];

    #[test]
    fn lines_give_the_places_that_they_were_made_of() {
        let width = 64;
        // A slope of 5 / 8 from 3 places left of the row; row 2 of the band.
        let place = |x: i64| (x * 5 - 24).div_euclid(8);
        let places: Vec<u32> = (0..640)
            .map(|x| match place(x) {
                u @ 0..64 => 2 * width as u32 + u as u32,
                _ => OUTSIDE,
            })
            .collect();
        let line = view_line(&places, width, 0.625).unwrap().unwrap();
        assert_eq!(line.front, 2);
        for x in 0..640 {
            let found = (line.first + x * line.step) >> SHIFT;
            let (inside, is) = ((0..64).contains(&place(x)), (0..64).contains(&found));
            assert!(inside == is && (!inside || found == place(x)), "{x}: {found}");
        }
        assert!(view_line(&[OUTSIDE; 640], width, 0.0).unwrap().is_none());
        let mut bent = places;
        bent[40] += 3;
        assert!(view_line(&bent, width, 0.625).is_none());
    }

    #[test]
    fn what_hardware_cannot_do_is_refused_with_what_to_do_instead() {
        let rolled = [[0.38, 0.58, -173.0], [0.02, 2.71, -591.0], [0.0, 0.001_8, -0.158]];
        let refused = |parameters, width| lane_setup(parameters, width, 480).unwrap_err();
        assert!(matches!(refused(parameters(rolled), 640), LaneSetupError::Row { .. }));
        assert!(matches!(refused(parameters(COURSE), 648), LaneSetupError::Size { .. }));
        let wild = Camera::plumb_bob([90.0, 90.0, 319.5, 239.5], [0.9, -8.0, 0.03, 0.0, 6.0]);
        let distorted = ViewParameters { camera: Some(wild), ..parameters(COURSE) };
        let error = refused(distorted, 640);
        assert!(matches!(error, LaneSetupError::Places(PlaceStepsError::Lens { .. })), "{error}");
        assert!(error.to_string().contains("keep the node in software"), "{error}");
        let flat = [[1e-200, 0.0, 0.0], [0.0, 1e-100, 0.0], [0.0, 0.0, 1e-20]];
        lane_setup(parameters(flat), 640, 480).unwrap_err();
        let away = [[1.0, 0.0, 5000.0], [0.0, 1.0, 5000.0], [0.0, 0.0, 1.0]];
        assert!(matches!(refused(parameters(away), 640), LaneSetupError::Empty));
    }

    #[test]
    fn the_course_has_a_setup_in_hardware() {
        let text = lane_setup(parameters(COURSE), 640, 480).unwrap();
        assert!(text.contains("package lane_planner_setup;") && text.contains("w[959]="));
    }

    /// The value of a constant of a setup.
    fn constant(text: &str, name: &str) -> usize {
        let (_, rest) = text.split_once(&format!(" {name} = ")).expect("a constant");
        rest.split(';').next().unwrap().parse().unwrap()
    }

    #[test]
    fn rectification_is_of_the_rows_that_the_view_uses() {
        let plain = lane_setup(parameters(COURSE), 640, 480).unwrap();
        assert_eq!(constant(&plain, "Rectifies"), 0);
        let [first, rows] = ["FirstRaw", "Rows"].map(|name| constant(&plain, name));
        assert_eq!(constant(&plain, "RawRows"), rows);
        let lens = [-0.2, 0.05, 0.0005, -0.0005, 0.0];
        let camera = Camera::plumb_bob([530.0, 530.0, 319.5, 239.5], lens);
        let distorted = ViewParameters { camera: Some(camera), ..parameters(COURSE) };
        let text = lane_setup(distorted, 640, 480).unwrap();
        assert_eq!(constant(&text, "Rectifies"), 1);
        assert_eq!(constant(&text, "Rows"), rows);
        let [raw, raw_rows] = ["FirstRaw", "RawRows"].map(|name| constant(&text, name));
        // The lens moves rows to the middle of the picture: from below its row 240 up.
        assert!(raw <= first && raw + 20 > first, "{raw} of {first}");
        assert!(raw + raw_rows < first + rows && raw_rows + 40 > rows, "{raw_rows} of {rows}");
        assert!(text.contains(&format!("[109:0] w [{rows}];")));
        assert_eq!(constant(&text, "WordSteps"), 64);
        assert!(text.contains(&format!("w [{}];", rows * 10)));
    }

    #[test]
    fn values_of_the_package_file_are_those_of_the_software_node() {
        let shipped = include_str!("../hardware/autorace.hardware.yaml");
        let made = |from: &str, to: &str| {
            assert_eq!(shipped.matches(from).count(), 1, "{from}");
            // The name of a value that is taken away stands there, too.
            let shipped = shipped.replace("sized_by: [width, height, rectify]", "sized_by: []");
            let text = shipped.replace(from, to);
            let package = HardwarePackage::from_yaml("file", text.as_bytes());
            lane_setup_of(&package.expect("a package file")).map_err(|error| error.to_string())
        };
        let rectify = "      rectify: false\n";
        assert!(made(rectify, "      rectify: true\n").unwrap().contains("Rectifies = 1;"));
        let error = made(rectify, "").unwrap_err();
        assert!(error.contains("`rectify` of lane_planner is missing under `built_in`"), "{error}");
        let error = made("intrinsics: [530.0,", "intrinsics: [0.0,").unwrap_err();
        assert!(error.contains("has to be fx, fy, cx, cy in pixels, fx and"), "{error}");
        let error = made("distortion: [0.0,", "distortion: [").unwrap_err();
        assert!(error.contains("has to be k1, k2, p1, p2, k3"), "{error}");
    }
}
