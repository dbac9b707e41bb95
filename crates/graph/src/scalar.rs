//! What a scalar of a file means: the core schema of YAML 1.2 (null, booleans, integers, floats).
//!
//! `yes`, `on` and the like are text, as YAML 1.2 says.

use crate::yaml::{Data, Tree};

/// A scalar by its meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    /// An integer that has no 64-bit form.
    TooLarge,
    Double(f64),
    Text(String),
}

impl Scalar {
    /// The meaning of a value; `None` for lists and maps.
    pub(crate) fn of(tree: &Tree) -> Option<Self> {
        match &tree.data {
            Data::Scalar { text, plain: true } => Some(Self::resolve(text)),
            Data::Scalar { text, plain: false } => Some(Self::Text(text.clone())),
            Data::List(_) | Data::Map(_) => None,
        }
    }

    /// The meaning of text without quotes.
    pub(crate) fn resolve(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "true" | "True" | "TRUE" => return Self::Bool(true),
            "false" | "False" | "FALSE" => return Self::Bool(false),
            ".nan" | ".NaN" | ".NAN" => return Self::Double(f64::NAN),
            _ => {}
        }
        if let Some(integer) = integer(text) {
            return integer;
        }
        match text.strip_prefix(['+', '-']).unwrap_or(text) {
            ".inf" | ".Inf" | ".INF" if text.starts_with('-') => Self::Double(f64::NEG_INFINITY),
            ".inf" | ".Inf" | ".INF" => Self::Double(f64::INFINITY),
            unsigned if is_float(unsigned) => match text.parse() {
                Ok(value) => Self::Double(value),
                Err(_) => Self::Text(text.to_owned()),
            },
            _ => Self::Text(text.to_owned()),
        }
    }

    /// What the value is, for a message.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::TooLarge => "an integer beyond 64 bits",
            Self::Double(value) if !value.is_finite() => "not a finite number",
            Self::Double(_) => "a number",
            Self::Text(_) => "text",
        }
    }
}

fn integer(text: &str) -> Option<Scalar> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (parsed, valid) = if let Some(hex) = text.strip_prefix("0x") {
        (i64::from_str_radix(hex, 16), all(hex, |c| c.is_ascii_hexdigit()))
    } else if let Some(octal) = text.strip_prefix("0o") {
        (i64::from_str_radix(octal, 8), all(octal, |c| ('0'..='7').contains(&c)))
    } else {
        (text.parse(), all(digits, |c| c.is_ascii_digit()))
    };
    valid.then(|| parsed.map_or(Scalar::TooLarge, Scalar::Integer))
}

fn all(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(allowed)
}

/// `[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?` with at least one digit before the exponent.
fn is_float(unsigned: &str) -> bool {
    let (number, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = number.chars().filter(char::is_ascii_digit).count();
    let points = number.chars().filter(|c| *c == '.').count();
    let exponent_fits = exponent.is_none_or(|exponent| {
        all(exponent.strip_prefix(['+', '-']).unwrap_or(exponent), |c| c.is_ascii_digit())
    });
    digits > 0 && points <= 1 && digits + points == number.chars().count() && exponent_fits
}

#[cfg(test)]
mod tests {
    use super::Scalar::{self, Bool, Double, Integer, Null, Text, TooLarge};

    #[test]
    fn plain_text_means_what_the_core_schema_says() {
        for (text, meaning) in [
            ("", Null),
            ("true", Bool(true)),
            ("yes", Text("yes".into())),
            ("12", Integer(12)),
            ("-0x1", Text("-0x1".into())),
            ("0x1F", Integer(31)),
            ("0o17", Integer(15)),
            ("99999999999999999999", TooLarge),
            ("1.5", Double(1.5)),
            ("-.5e3", Double(-500.0)),
            ("1e3", Double(1000.0)),
            ("1.", Double(1.0)),
            (".", Text(".".into())),
            ("e3", Text("e3".into())),
            ("-.inf", Double(f64::NEG_INFINITY)),
            ("1_000", Text("1_000".into())),
            ("/a", Text("/a".into())),
        ] {
            assert_eq!(Scalar::resolve(text), meaning, "{text}");
        }
    }
}
