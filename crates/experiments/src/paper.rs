//! What the fpgaDDS paper prints, and the model of its board that follows from a part of it.
//!
//! *fpgaDDS: An Intra-FPGA Data Distribution Service for ROS 2 Robotics Applications* (Lienen,
//! Platzner, 2023), table I: "Communication times and speedup for CycloneDDS and fpgaDDS for
//! different message sizes".

/// Where the figures are printed.
pub(crate) const TABLE_I: &str = "fpgaDDS paper, table I";

/// A row of table I.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Bytes of the message: the sizes are printed in kB; they belong to square images of 3 bytes
    /// a pixel, 32 to 1024 pixels wide.
    pub(crate) bytes: u64,
    /// Message size as printed, kB.
    pub(crate) size: &'static str,
    /// Software-mapped (CycloneDDS), ms: mean and deviation.
    pub(crate) software: [&'static str; 2],
    /// Hardware-mapped (fpgaDDS), ms: mean and deviation.
    pub(crate) hardware: [&'static str; 2],
    /// Speedup of the second over the first.
    pub(crate) speedup: &'static str,
}

const fn transfer(
    pixels: u64,
    size: &'static str,
    software: [&'static str; 2],
    hardware: [&'static str; 2],
    speedup: &'static str,
) -> Transfer {
    Transfer { bytes: pixels * pixels * 3, size, software, hardware, speedup }
}

/// Table I.
pub(crate) const TRANSFERS: [Transfer; 6] = [
    transfer(32, "3", ["0.06", "0.11"], ["<0.01", "<0.01"], "17.21"),
    transfer(64, "12", ["0.07", "0.06"], ["0.02", "<0.01"], "4.71"),
    transfer(128, "50", ["0.19", "0.08"], ["0.06", "<0.01"], "3.11"),
    transfer(256, "196", ["0.63", "0.04"], ["0.24", "<0.01"], "2.54"),
    transfer(512, "786", ["2.34", "0.03"], ["0.98", "<0.01"], "2.38"),
    transfer(1024, "3146", ["9.24", "0.04"], ["3.93", "<0.01"], "2.35"),
];

/// The largest sizes, on which alone the software-mapped column is fitted.
pub(crate) const FITTED: usize = 4;
/// Bits of a beat and period of the clock of the paper's board are those of the profile of this
/// name.
pub(crate) const PROFILE: &str = "zcu104-paper";

/// How long a software-mapped transfer takes on the paper's board: a constant and a time per byte,
/// on which the host memory of its profile ([`PROFILE`]) is fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoftwareMapped {
    /// What every message takes, ms.
    pub(crate) fixed_ms: f64,
    /// What every byte takes, ms.
    pub(crate) byte_ms: f64,
}

impl SoftwareMapped {
    /// Least squares over the largest sizes, all with the same weight: the printed deviations
    /// hardly depend on the size.
    pub(crate) fn fitted() -> Self {
        let points = TRANSFERS[TRANSFERS.len() - FITTED..].iter();
        let points: Vec<(f64, f64)> =
            points.map(|it| (it.bytes as f64, printed(it.software[0]).0)).collect();
        let count = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
        let products = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y));
        let squares = points.iter().map(|(x, _)| (x - mean_x).powi(2));
        let byte_ms = products.sum::<f64>() / squares.sum::<f64>();
        Self { fixed_ms: mean_y - byte_ms * mean_x, byte_ms }
    }
}

/// A printed figure as a number, and its decimals; `<0.01` counts as 0 with two.
fn printed(text: &str) -> (f64, usize) {
    let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    // The texts are those above: whatever is no number begins with `<`.
    (text.parse().unwrap_or(0.0), decimals)
}

/// Whether a predicted value is as printed: it rounds to the printed digits, or lies within 20 %.
pub(crate) fn holds(text: &str, value: f64) -> bool {
    let (printed, decimals) = printed(text);
    if text.starts_with('<') {
        return value < 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
    }
    format!("{value:.decimals$}") == text || (value / printed - 1.0).abs() <= 0.2
}

/// How far a value is from the printed one, in percent of that; `None` where only a bound is
/// printed.
pub(crate) fn residual_percent(text: &str, value: f64) -> Option<f64> {
    (!text.starts_with('<')).then(|| (value / printed(text).0 - 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_fabric::Profile;

    #[test]
    fn the_fit_goes_through_its_points_and_near_the_others() {
        let model = SoftwareMapped::fitted();
        assert!((model.fixed_ms - 0.0485).abs() < 0.0001, "{model:?}");
        assert!((model.byte_ms * 1e6 - 2.9215).abs() < 0.0001, "{model:?}");
        for transfer in &TRANSFERS[2..] {
            let ms = model.fixed_ms + model.byte_ms * transfer.bytes as f64;
            let off = ms - printed(transfer.software[0]).0;
            assert!(off.abs() < 0.01, "{transfer:?}: {off}");
        }
    }

    #[test]
    fn the_profile_of_the_paper_s_board_has_the_fit() {
        let model = SoftwareMapped::fitted();
        let profile = Profile::named(PROFILE).expect("the profile");
        let software = profile.memory.software_ns.expect("what software takes");
        assert!((f64::from(software.value) / 1e6 - model.fixed_ms).abs() < 1e-4, "{model:?}");
        // Whole cycles and 1/256 of one come no closer than 0.15 % to the slope.
        let ms = |index: usize| profile.software_mapped_ms(TRANSFERS[index].bytes, 0);
        let bytes = TRANSFERS[5].bytes - TRANSFERS[2].bytes;
        let byte_ms = (ms(5) - ms(2)) / bytes as f64;
        assert!((byte_ms / model.byte_ms - 1.0).abs() < 0.0015, "{byte_ms} and {model:?}");
        for (index, transfer) in TRANSFERS.iter().enumerate().skip(TRANSFERS.len() - FITTED) {
            assert!(holds(transfer.software[0], ms(index)), "{transfer:?}: {}", ms(index));
        }
    }

    #[test]
    fn a_prediction_holds_by_its_digits_or_within_a_fifth() {
        assert!(holds("<0.01", 0.0039) && !holds("<0.01", 0.011));
        assert!(holds("0.02", 0.0154) && holds("0.06", 0.0492) && !holds("0.06", 0.0475));
        assert!(holds("3.93", 3.932) && holds("3.93", 4.7) && !holds("3.93", 4.8));
        assert_eq!(residual_percent("<0.01", 1.0), None);
        assert!((residual_percent("2.00", 1.5).unwrap() + 25.0).abs() < 1e-9);
    }
}
