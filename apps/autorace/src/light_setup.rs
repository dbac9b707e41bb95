//! What the red and the green light in hardware are made with: colours and shares of
//! [`crate::light`], as the SystemVerilog files `red_light_setup.sv` and
//! `green_light_setup.sv`. Set-up code.

use crate::built_in::{BuiltIn, BuiltInError, colour_text};
use crate::light::{RUNS_MAX, permille};
use crossdock_graph::HardwarePackage;
use std::fmt::Write as _;

/// The text of `red_light_setup.sv` for the values under `built_in` of a hardware package file.
///
/// # Errors
/// [`BuiltInError`]: a value is missing, or no light can have it.
pub fn red_light_setup_of(package: &HardwarePackage) -> Result<String, BuiltInError> {
    text("red_light", &BuiltIn::of(package, "red_light")?)
}

/// The same of `green_light_setup.sv`.
///
/// # Errors
/// As of [`red_light_setup_of`].
pub fn green_light_setup_of(package: &HardwarePackage) -> Result<String, BuiltInError> {
    text("green_light", &BuiltIn::of(package, "green_light")?)
}

fn text(node_type: &str, values: &BuiltIn<'_>) -> Result<String, BuiltInError> {
    let share = |name, most, expected| {
        permille(values.double(name, expected)?, most).ok_or(values.missing(name, expected))
    };
    let one = "a share, 0 to 1";
    let number = |value: u32| format!("32'd{value}");
    let command = node_type.replace('_', "-");
    let mut text = format!(
        "// What the node of type {node_type} is made with. Generated: `crossdock-autorace\n\
         // {command}-setup`; see apps/autorace/src/light_setup.rs.\n\
         `default_nettype none\n\npackage {node_type}_setup;\n"
    );
    for (name, value) in [
        ("Runs", number(RUNS_MAX as u32)),
        ("Low", colour_text(values.colour("low")?)),
        ("High", colour_text(values.colour("high")?)),
        ("Rows", number(share("rows", 1.0, one)?)),
        ("Fill", number(share("fill", 1.0, one)?)),
        ("Aspect", number(share("aspect_max", 100.0, "a number, 0 to 100")?)),
        ("Housing", number(share("housing", 1.0, one)?)),
    ] {
        let _ = writeln!(text, "  localparam int unsigned {name} = {value};");
    }
    text += "endpackage\n\n`default_nettype wire\n";
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{green_light_setup_of, red_light_setup_of};
    use crossdock_graph::HardwarePackage;

    /// What is wrong with the package file as it is shipped, but for this.
    fn refused(from: &str, to: &str) -> String {
        let text = include_str!("../hardware/autorace.hardware.yaml");
        let (others, lights) = text.split_once("  red_light:\n").unwrap();
        assert!(lights.contains(from), "{from}");
        let text = format!("{others}  red_light:\n{}", lights.replacen(from, to, 1));
        let package = HardwarePackage::from_yaml("autorace", text.as_bytes()).unwrap();
        red_light_setup_of(&package).and(green_light_setup_of(&package)).unwrap_err().to_string()
    }

    #[test]
    fn values_that_hardware_cannot_be_made_with_are_told() {
        for (from, to, told) in [
            ("rows: 0.7", "rows: 1.1", "`rows` of red_light is 1.1, and has to be a share, 0 to 1"),
            ("aspect_max: 2.2", "aspect_max: -1.0", "is -1.0, and has to be a number, 0 to 100"),
            ("low: [0, 200", "low: [180, 200", "has to be [h, s, v] with h from 0 to 179"),
            ("      fill: 0.35\n", "", "`fill` of red_light is missing under `built_in`, and has"),
            ("  green_light:", "  blue_light:", "has no node type `green_light`"),
        ] {
            let found = refused(from, to);
            assert!(found.contains(told), "{found}");
        }
    }
}
