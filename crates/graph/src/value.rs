//! Parameter values of nodes: the types that ROS 2 parameters have, byte arrays left out.
//!
//! Pure data.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a [`ParameterValue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ParameterType {
    /// `true` or `false`.
    Bool,
    /// Signed 64-bit integer.
    Integer,
    /// Finite IEEE 754 binary64.
    Double,
    /// UTF-8 text.
    String,
    /// Sequence of [`ParameterType::Bool`].
    BoolArray,
    /// Sequence of [`ParameterType::Integer`].
    IntegerArray,
    /// Sequence of [`ParameterType::Double`].
    DoubleArray,
    /// Sequence of [`ParameterType::String`].
    StringArray,
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::String => "string",
            Self::BoolArray => "array of bool",
            Self::IntegerArray => "array of integer",
            Self::DoubleArray => "array of double",
            Self::StringArray => "array of string",
        })
    }
}

/// One parameter value of a node.
///
/// As JSON it is tagged with its type, `{"double": 1.0}`, so that neither `1.0` and `1` nor two
/// empty arrays can be mistaken for each other on the way to a package binary. Doubles are finite:
/// the file readers and [`check`](crate::check) refuse NaN and infinities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ParameterValue {
    /// `true` or `false`.
    Bool(bool),
    /// Signed 64-bit integer.
    Integer(i64),
    /// Finite IEEE 754 binary64.
    Double(f64),
    /// UTF-8 text.
    String(String),
    /// Sequence of booleans.
    BoolArray(Vec<bool>),
    /// Sequence of integers.
    IntegerArray(Vec<i64>),
    /// Sequence of finite doubles.
    DoubleArray(Vec<f64>),
    /// Sequence of texts.
    StringArray(Vec<String>),
}

impl ParameterValue {
    /// The type of the value. Does not allocate.
    #[must_use]
    pub fn parameter_type(&self) -> ParameterType {
        match self {
            Self::Bool(_) => ParameterType::Bool,
            Self::Integer(_) => ParameterType::Integer,
            Self::Double(_) => ParameterType::Double,
            Self::String(_) => ParameterType::String,
            Self::BoolArray(_) => ParameterType::BoolArray,
            Self::IntegerArray(_) => ParameterType::IntegerArray,
            Self::DoubleArray(_) => ParameterType::DoubleArray,
            Self::StringArray(_) => ParameterType::StringArray,
        }
    }

    /// The value as `wanted`, if that loses nothing: an integer whose double is exact, an array
    /// of such integers, an empty array of any type. `None` when the types do not fit.
    #[must_use]
    pub fn converted_to(&self, wanted: ParameterType) -> Option<Self> {
        if self.parameter_type() == wanted {
            return Some(self.clone());
        }
        match (self, wanted) {
            (Self::Integer(value), ParameterType::Double) => exact_double(*value).map(Self::Double),
            (Self::IntegerArray(values), ParameterType::DoubleArray) => values
                .iter()
                .map(|value| exact_double(*value))
                .collect::<Option<Vec<f64>>>()
                .map(Self::DoubleArray),
            (value, wanted) if value.is_empty_array() => match wanted {
                ParameterType::BoolArray => Some(Self::BoolArray(Vec::new())),
                ParameterType::IntegerArray => Some(Self::IntegerArray(Vec::new())),
                ParameterType::DoubleArray => Some(Self::DoubleArray(Vec::new())),
                ParameterType::StringArray => Some(Self::StringArray(Vec::new())),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether every double in the value is finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        match self {
            Self::Double(value) => value.is_finite(),
            Self::DoubleArray(values) => values.iter().all(|value| value.is_finite()),
            _ => true,
        }
    }

    fn is_empty_array(&self) -> bool {
        match self {
            Self::BoolArray(values) => values.is_empty(),
            Self::IntegerArray(values) => values.is_empty(),
            Self::DoubleArray(values) => values.is_empty(),
            Self::StringArray(values) => values.is_empty(),
            _ => false,
        }
    }
}

/// The double that is exactly this integer.
pub(crate) fn exact_double(value: i64) -> Option<f64> {
    /// Every integer up to 2^53 has an exact double.
    const EXACT_MAX: u64 = 1 << 53;
    (value.unsigned_abs() <= EXACT_MAX).then_some(value as f64)
}

macro_rules! from_plain {
    ($($plain:ty => $variant:ident),* $(,)?) => {$(
        impl From<$plain> for ParameterValue {
            fn from(value: $plain) -> Self { Self::$variant(value) }
        }
    )*};
}
from_plain! {
    bool => Bool, i64 => Integer, f64 => Double, String => String, Vec<bool> => BoolArray,
    Vec<i64> => IntegerArray, Vec<f64> => DoubleArray, Vec<String> => StringArray,
}

impl From<&str> for ParameterValue {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}
