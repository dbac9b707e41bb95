//! Literals and names of constants in OMG IDL as values.

use super::super::{DefinitionError, Element, FieldType, Primitive, Shape, Value, in_range};
use super::Parser;
use super::token::Kind;

/// A value whose type is not known yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// As written, with its sign.
    Number(String),
    Bool(bool),
    Text(String),
    /// A constant's value.
    Known(Value),
    /// A name that is no constant: a word that an annotation takes.
    Word(String),
}

impl Parser<'_> {
    /// A literal, or the name of a constant that was defined before.
    pub(super) fn literal(&mut self) -> Result<Literal, DefinitionError> {
        let at = self.at;
        let mut sign = "";
        if self.take("-") {
            sign = "-";
        } else {
            self.take("+");
        }
        match self.next().kind {
            Kind::Number(text) => Ok(Literal::Number(format!("{sign}{text}"))),
            Kind::Text(mut text) if sign.is_empty() => {
                // Texts side by side are one.
                while let Kind::Text(next) = self.peek() {
                    text.push_str(&next.clone());
                    self.next();
                }
                Ok(Literal::Text(text))
            }
            Kind::Word(word) if word == "TRUE" => Ok(Literal::Bool(true)),
            Kind::Word(word) if word == "FALSE" => Ok(Literal::Bool(false)),
            Kind::Word(word) => {
                let name = self.scoped(word)?.join("::");
                match self.constant_of(&name) {
                    Some(Value::Integer(value)) if sign == "-" => {
                        Ok(Literal::Known(Value::Integer(-value)))
                    }
                    Some(Value::Float(value)) if sign == "-" => {
                        Ok(Literal::Known(Value::Float(-value)))
                    }
                    Some(value) if sign.is_empty() => Ok(Literal::Known(value)),
                    _ => Ok(Literal::Word(name)),
                }
            }
            _ => Err(self.expected_at(at, "a number, a text, TRUE, FALSE or a constant")),
        }
    }

    /// The constant of this name: in the modules around, or in a module of constants beside.
    fn constant_of(&self, name: &str) -> Option<Value> {
        let exact = self.candidates(name).find_map(|path| self.constants.get(&path));
        let (_, constant) = exact.or_else(|| {
            let beside = self.path("");
            let ending = format!("_Constants::{name}");
            let found = self.constants.iter();
            let found =
                found.filter(|(path, _)| path.starts_with(&beside) && path.ends_with(&ending));
            found.map(|(_, constant)| constant).next()
        })?;
        Some(constant.value.clone())
    }

    /// The value of this type that follows.
    pub(super) fn value_of(
        &mut self,
        element: &Element,
        shape: Shape,
    ) -> Result<Value, DefinitionError> {
        let at = self.at;
        let literal = self.literal()?;
        self.converted(at, &literal, &FieldType { element: element.clone(), shape })
    }

    /// A literal as a value of this type; `at` is the token for the error.
    pub(super) fn converted(
        &self,
        at: usize,
        literal: &Literal,
        field_type: &FieldType,
    ) -> Result<Value, DefinitionError> {
        if field_type.shape != Shape::One {
            let list = match literal {
                Literal::Text(text) => list(&field_type.element, text),
                _ => None,
            };
            let expected = "a text with a list of values, such as \"(1, 2)\"";
            return list.map(Value::List).ok_or_else(|| self.expected_at(at, expected));
        }
        let found = match (&field_type.element, literal) {
            (Element::Text { bound }, Literal::Text(text)) => {
                let fits = bound.is_none_or(|bound| text.len() <= bound as usize);
                fits.then(|| Value::Text(text.clone()))
            }
            (Element::WideText { bound }, Literal::Text(text)) => {
                let units = text.encode_utf16().count();
                let fits = bound.is_none_or(|bound| units <= bound as usize);
                fits.then(|| Value::Text(text.clone()))
            }
            (Element::Text { .. } | Element::WideText { .. }, Literal::Known(value)) => {
                matches!(value, Value::Text(_)).then(|| value.clone())
            }
            (Element::Primitive(primitive), literal) => number(*primitive, literal),
            _ => None,
        };
        let wanted = match &field_type.element {
            Element::Primitive(primitive) => primitive.name().to_owned(),
            Element::Message(name) => format!("{name}, which cannot have one"),
            Element::Text { .. } => "string".to_owned(),
            Element::WideText { .. } => "wstring".to_owned(),
        };
        let constant = match literal {
            Literal::Word(_) => ", or a constant that is defined above",
            _ => "",
        };
        found.ok_or_else(|| self.expected_at(at, &format!("a value of type {wanted}{constant}")))
    }
}

/// The default of an array or sequence, which ROS 2's converter writes as a list in a text.
fn list(element: &Element, text: &str) -> Option<Vec<Value>> {
    let inner = text.trim().trim_matches(['(', ')', '[', ']']);
    let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty());
    let values = parts.map(|part| match element {
        Element::Primitive(Primitive::Bool) => match part {
            "True" | "TRUE" | "true" => Some(Value::Bool(true)),
            "False" | "FALSE" | "false" => Some(Value::Bool(false)),
            _ => None,
        },
        Element::Primitive(primitive) => number(*primitive, &Literal::Number(part.to_owned())),
        Element::Message(_) => None,
        Element::Text { .. } | Element::WideText { .. } => {
            Some(Value::Text(part.trim_matches(['\'', '"']).to_owned()))
        }
    });
    values.collect()
}

fn number(primitive: Primitive, literal: &Literal) -> Option<Value> {
    let is_float =
        matches!(primitive, Primitive::Float32 | Primitive::Float64 | Primitive::Float128);
    match (primitive, literal) {
        (Primitive::Bool, Literal::Bool(value) | Literal::Known(Value::Bool(value))) => {
            Some(Value::Bool(*value))
        }
        (Primitive::Bool, _) => None,
        (_, Literal::Number(text)) if is_float => {
            text.trim_end_matches(['d', 'D', 'f', 'F']).parse().ok().map(Value::Float)
        }
        (_, Literal::Known(Value::Float(value))) if is_float => Some(Value::Float(*value)),
        (_, Literal::Known(Value::Integer(value))) if is_float => Some(Value::Float(*value as f64)),
        // The character of a char.
        (Primitive::Char8 | Primitive::Wchar | Primitive::Byte, Literal::Text(text)) => {
            let mut characters = text.chars();
            let value = i128::from(u32::from(characters.next()?));
            let is_one = characters.next().is_none() && in_range(primitive, value);
            is_one.then_some(Value::Integer(value))
        }
        (_, Literal::Number(text)) => {
            integer(text).filter(|value| in_range(primitive, *value)).map(Value::Integer)
        }
        (_, Literal::Known(Value::Integer(value))) => {
            in_range(primitive, *value).then_some(Value::Integer(*value))
        }
        _ => None,
    }
}

/// Decimal, octal with a leading 0, or hexadecimal with a leading 0x.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => i128::from_str_radix(digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => i128::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    value.ok().map(|value| if negative { -value } else { value })
}
