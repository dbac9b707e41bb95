//! What lane following in hardware is made with: colours and the size of pictures, as the
//! SystemVerilog file `lane_following_setup.sv`. Set-up code.

use crate::built_in::{BuiltIn, BuiltInError, colour_text};
use crate::stripes::{BANDS, StripeError, WINDOW, check_size};
use crossdock_graph::HardwarePackage;
use std::fmt::Write as _;
use thiserror::Error;

/// Why there is no lane following in hardware for these values.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StripeSetupError {
    /// The node type or a value is missing.
    #[error(transparent)]
    BuiltIn(#[from] BuiltInError),
    /// The size of pictures.
    #[error(transparent)]
    Stripe(#[from] StripeError),
}

/// The text of `lane_following_setup.sv` for the values under `built_in` of a hardware package
/// file.
///
/// # Errors
/// [`StripeSetupError`]: a value is missing, or cannot be used.
pub fn following_setup_of(package: &HardwarePackage) -> Result<String, StripeSetupError> {
    let values = BuiltIn::of(package, "lane_following")?;
    let (width, height) = (values.side("width")?, values.side("height")?);
    check_size((width, height))?;
    let expected = "a number of levels, 0 to 255";
    let contrast = values.integer("contrast_min", expected)?;
    let contrast = u8::try_from(contrast).map_err(|_| values.missing("contrast_min", expected))?;
    let mut text = String::from(
        "// What lane following is made with. Generated: `crossdock-autorace following-setup`; see\n\
         // apps/autorace/src/stripe_setup.rs.\n`default_nettype none\n\n\
         package lane_following_setup;\n",
    );
    for (name, value) in [
        ("Width", width.to_string()),
        ("Height", height.to_string()),
        ("Bands", BANDS.to_string()),
        ("Inner", WINDOW.inner.to_string()),
        ("Outer", WINDOW.outer.to_string()),
        ("Contrast", contrast.to_string()),
        ("YellowLow", colour_text(values.colour("yellow_low")?)),
        ("YellowHigh", colour_text(values.colour("yellow_high")?)),
        ("WhiteLow", colour_text(values.colour("white_low")?)),
        ("WhiteHigh", colour_text(values.colour("white_high")?)),
    ] {
        let _ = writeln!(text, "  localparam int unsigned {name} = {value};");
    }
    text += "endpackage\n\n`default_nettype wire\n";
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::following_setup_of;
    use crossdock_graph::HardwarePackage;

    /// What is wrong with the package file as it is shipped, but for this.
    fn refused(from: &str, to: &str) -> String {
        let text = include_str!("../hardware/autorace.hardware.yaml");
        let (others, node) = text.split_once("  lane_following:\n").unwrap();
        assert!(node.contains(from), "{from}");
        let text = format!("{others}  lane_following:\n{}", node.replacen(from, to, 1));
        let package = HardwarePackage::from_yaml("autorace", text.as_bytes()).unwrap();
        following_setup_of(&package).unwrap_err().to_string()
    }

    #[test]
    fn values_that_hardware_cannot_be_made_with_are_told() {
        for (from, to, told) in [
            ("width: 1000", "width: 1001", "are 1001 x 600, but lane following needs"),
            ("height: 600", "height: 620", "a multiple of 12 and at most"),
            ("contrast_min: 12", "contrast_min: 256", "is 256, and has to be a number of levels"),
            ("white_low: [0, 0", "white_low: [180, 0", "and has to be [h, s, v]"),
        ] {
            let found = refused(from, to);
            assert!(found.contains(told), "{found}");
        }
    }
}
