//! What rectification in hardware is made with: the places of all pixels, as the SystemVerilog file
//! `rectify_setup.sv`. Places are steps that change along each row, see [`PlaceSteps`]. Set-up
//! code.

use crate::calibration::{Calibration, CalibrationError, Projection};
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_rectify::hardware::{self, PlaceSteps, PlaceStepsError};
use sha2::{Digest, Sha256};
use std::path::Path;
use thiserror::Error;

/// Why there is no rectification in hardware for a camera.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RectifySetupError {
    /// The package file does not name a camera.
    #[error(
        "`{name}` of rectify has to be {expected}: say so, and name the hardware package file of \
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
    /// The camera.
    #[error(transparent)]
    Places(#[from] PlaceStepsError),
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
    let file = text("calibration", "the name of a camera info YAML file")?;
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
    let places = PlaceSteps::new(&camera, (width, height), 0..height)?;
    let size = [("Width", width.to_string()), ("Height", height.to_string())];
    let constants = size.into_iter().chain(places.constants());
    let made_by =
        ["crossdock-image-pipeline rectify-setup", "apps/image_pipeline/src/rectify_setup.rs"];
    let head = hardware::head("rectification", made_by, "rectify_setup", constants);
    Ok(head + &places.memories("rectify") + hardware::TAIL)
}

#[cfg(test)]
mod tests {
    use super::{Calibration, rectify_setup};
    use crossdock_rectify::Camera;

    #[test]
    fn a_camera_has_a_setup_or_is_refused_with_the_next_step() {
        let camera = Camera::plumb_bob([60.0, 60.0, 33.0, 23.0], [-0.3, 0.1, 0.001, -0.002, 0.0]);
        let told = |width, height| rectify_setup(&Calibration { width, height, camera });
        let text = told(64, 48).expect("a usual lens");
        assert!(text.contains("package rectify_setup") && text.contains("Height = 48;"));
        assert!(text.contains("module rectify_lines") && text.contains("module rectify_steps"));
        let refused = told(7, 48).expect_err("rows are too short").to_string();
        assert!(refused.contains("keep the node in software"), "{refused}");
    }
}
