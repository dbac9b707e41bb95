//! From the value of a parameter in the plan to the Rust type that a node asks for.

use crossdock_graph::ParameterValue;

/// A Rust type that a parameter can be read as: `bool`, the integers, `f64`, `String` and vectors
/// of `bool`, `i64`, `f64` and `String`.
pub trait Parameter: Sized {
    /// What the type accepts, for error messages.
    const ACCEPTS: &'static str;

    /// The value, when the type can hold it. Never rounds.
    fn from_value(value: &ParameterValue) -> Option<Self>;
}

macro_rules! plain {
    ($($rust:ty => $variant:ident, $accepts:literal);* $(;)?) => {$(
        impl Parameter for $rust {
            const ACCEPTS: &'static str = $accepts;

            fn from_value(value: &ParameterValue) -> Option<Self> {
                match value {
                    ParameterValue::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }
        }
    )*};
}
plain! {
    bool => Bool, "a bool";
    i64 => Integer, "an integer";
    f64 => Double, "a double";
    String => String, "a string";
    Vec<bool> => BoolArray, "an array of bool";
    Vec<i64> => IntegerArray, "an array of integers";
    Vec<f64> => DoubleArray, "an array of doubles";
    Vec<String> => StringArray, "an array of strings";
}

macro_rules! narrow {
    ($($rust:ty => $accepts:literal);* $(;)?) => {$(
        impl Parameter for $rust {
            const ACCEPTS: &'static str = $accepts;

            fn from_value(value: &ParameterValue) -> Option<Self> {
                i64::from_value(value).and_then(|value| value.try_into().ok())
            }
        }
    )*};
}
narrow! {
    u8 => "an integer from 0 to 255";
    u16 => "an integer from 0 to 65535";
    u32 => "an integer from 0 to 4294967295";
    u64 => "an integer from 0";
    usize => "an integer from 0";
    i8 => "an integer from -128 to 127";
    i16 => "an integer from -32768 to 32767";
    i32 => "an integer from -2147483648 to 2147483647";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_rounded_or_cut() {
        assert_eq!(u8::from_value(&ParameterValue::Integer(255)), Some(255));
        assert_eq!(u8::from_value(&ParameterValue::Integer(256)), None);
        assert_eq!(u64::from_value(&ParameterValue::Integer(-1)), None);
        assert_eq!(i64::from_value(&ParameterValue::Double(1.0)), None);
        assert_eq!(f64::from_value(&ParameterValue::Double(1.5)), Some(1.5));
        let texts = ParameterValue::StringArray(vec!["a".to_owned()]);
        assert_eq!(Vec::<String>::from_value(&texts), Some(vec!["a".to_owned()]));
    }
}
