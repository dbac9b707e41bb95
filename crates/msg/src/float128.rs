//! IEEE 754 binary128, the `long double` of OMG IDL, from and to float64.

#![forbid(unsafe_code)]

/// Bits of the fraction.
const FRACTION: u32 = 112;
/// All bits of the exponent: infinite or not a number.
const SPECIAL: u128 = 0x7fff;
const BIAS: i32 = 16383;

/// Bits of the fraction and exponent bias of float64.
const FRACTION_64: u32 = 52;
const BIAS_64: i32 = 1023;

/// The binary128 with this value: exact.
pub(crate) fn from_f64(value: f64) -> u128 {
    let bits = value.to_bits();
    let sign = u128::from(bits >> 63) << 127;
    let exponent = (bits >> FRACTION_64) & 0x7ff;
    let fraction = bits & ((1 << FRACTION_64) - 1);
    let put = |exponent: i32, fraction: u64| {
        let fraction = u128::from(fraction) << (FRACTION - FRACTION_64);
        sign | ((exponent as u128) << FRACTION) | fraction
    };
    match (exponent, fraction) {
        (0, 0) => sign,
        (0x7ff, fraction) => put(SPECIAL as i32, fraction),
        // Below float64's normal numbers, inside binary128's.
        (0, fraction) => {
            let shift = fraction.leading_zeros() - (63 - FRACTION_64);
            let fraction = (fraction << shift) & ((1 << FRACTION_64) - 1);
            put(1 - shift as i32 - BIAS_64 + BIAS, fraction)
        }
        (exponent, fraction) => put(exponent as i32 - BIAS_64 + BIAS, fraction),
    }
}

/// The float64 next to a binary128.
pub(crate) fn to_f64(bits: u128) -> f64 {
    let exponent = (bits >> FRACTION) & SPECIAL;
    let fraction = bits & ((1 << FRACTION) - 1);
    let size = match exponent {
        SPECIAL if fraction == 0 => f64::INFINITY,
        SPECIAL => f64::NAN,
        0 => scaled(fraction as f64, 1 - BIAS - FRACTION as i32),
        exponent => {
            let significand = fraction | (1 << FRACTION);
            scaled(significand as f64, exponent as i32 - BIAS - FRACTION as i32)
        }
    };
    if bits >> 127 == 1 { -size } else { size }
}

/// `value` times 2 to the power of `exponent`, in steps that float64 can hold.
fn scaled(mut value: f64, mut exponent: i32) -> f64 {
    const STEP: i32 = 1000;
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-STEP, STEP);
        value *= 2f64.powi(step);
        exponent -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_float64_goes_to_binary128_and_back() {
        let one = from_f64(1.0);
        assert_eq!(one, 0x3fff << FRACTION);
        assert_eq!(from_f64(-2.0) >> FRACTION, 0xc000);
        let values = [0.0, -0.0, 1.5, -1e300, f64::MIN_POSITIVE, 5e-324, 3e-310, f64::MAX, 0.1];
        for value in values.into_iter().chain([f64::INFINITY, f64::NEG_INFINITY]) {
            assert_eq!(to_f64(from_f64(value)).to_bits(), value.to_bits(), "{value}");
        }
        assert!(to_f64(from_f64(f64::NAN)).is_nan());
        assert_eq!(to_f64((0x7ffe << FRACTION) | 1), f64::INFINITY, "beyond float64");
        assert_eq!(to_f64(1), 0.0);
    }
}
