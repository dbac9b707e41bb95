//! What the algorithms are set to where a test says nothing else: the values of the shipped graphs.

use crossdock_autorace::camera::{Camera, Homography};
use crossdock_autorace::hsv::{Hsv, HsvRange};
use crossdock_autorace::lane_view::ViewParameters;
use crossdock_autorace::light::{LampParameters, LampSearch};

fn range(low: [u8; 3], high: [u8; 3]) -> HsvRange {
    HsvRange {
        low: Hsv { h: low[0], s: low[1], v: low[2] },
        high: Hsv { h: high[0], s: high[1], v: high[2] },
    }
}

pub(crate) fn lamp(low: [u8; 3], high: [u8; 3]) -> LampSearch {
    LampSearch::new(lamp_parameters(low, high))
}

pub(crate) fn lamp_parameters(low: [u8; 3], high: [u8; 3]) -> LampParameters {
    LampParameters {
        range: range(low, high),
        area_min: 40,
        area_max: 20_000,
        fill_permille: 350,
        aspect_permille: 2200,
        rows_permille: 700,
        housing_permille: 400,
        housing_value_max: 110,
    }
}

pub(crate) fn view(camera: Option<Camera>, homography: Homography) -> ViewParameters {
    ViewParameters {
        camera,
        homography,
        yellow: range([15, 75, 100], [36, 255, 255]),
        white: range([0, 0, 110], [179, 70, 255]),
        contrast_min: 12,
    }
}
