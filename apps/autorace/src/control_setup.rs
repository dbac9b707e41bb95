//! What lane control in hardware is made with: the constants of [`crate::control`] as the
//! SystemVerilog file `lane_control_setup.sv`. Set-up code.

use crate::built_in::{BuiltIn, BuiltInError};
use crate::control::{ControlConstants, ControlError, ControlParameters};
use crossdock_graph::HardwarePackage;
use std::fmt::Write as _;
use thiserror::Error;

/// Why there is no lane control in hardware for these parameters.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlSetupError {
    /// The node type or a value is missing.
    #[error(transparent)]
    BuiltIn(#[from] BuiltInError),
    /// The values fit no vehicle.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// The text of `lane_control_setup.sv` for the values under `built_in` of a hardware package file.
///
/// # Errors
/// [`ControlSetupError`]: a value is missing, or cannot be used.
pub fn control_setup_of(package: &HardwarePackage) -> Result<String, ControlSetupError> {
    let values = BuiltIn::of(package, "lane_control")?;
    let value = |name| values.double(name, "a number, as of the software node");
    let constants = ControlConstants::new(&ControlParameters {
        metres_per_column: value("metres_per_column")?,
        near_m: value("near_m")?,
        far_m: value("far_m")?,
        look_ahead_m: value("look_ahead_m")?,
        linear_max: value("linear_max")?,
        angular_max: value("angular_max")?,
        slowing: value("slowing")?,
        // Parameters of the module.
        stop_area: 0,
        blind_images: 0,
    })?;
    Ok(text(&constants))
}

fn text(constants: &ControlConstants) -> String {
    let mut text = String::from(
        "// What lane control is made with. Generated: `crossdock-autorace control-setup`; see\n\
         // apps/autorace/src/control_setup.rs.\n`default_nettype none\n\n\
         package lane_control_setup;\n",
    );
    let ahead = constants.ahead;
    writeln!(text, "  localparam bit AheadNegative = 1'b{};", u8::from(ahead < 0)).expect("text");
    for (name, value) in [
        ("AheadSize", ahead.abs()),
        ("Stretch", constants.stretch),
        ("Half", constants.half),
        ("Distance", constants.distance),
        ("Bend", constants.bend),
        ("Slowing", constants.slowing),
        ("LinearMax", constants.linear_max),
        ("AngularMax", constants.angular_max),
    ] {
        writeln!(text, "  localparam logic [63:0] {name} = 64'd{value};").expect("text");
    }
    text += "endpackage\n\n`default_nettype wire\n";
    text
}
