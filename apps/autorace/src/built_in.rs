//! Values under `built_in` of a hardware package file, with which modules are made. Set-up code.

use crate::hsv::Hsv;
use crossdock_graph::{HardwareNode, HardwarePackage, ParameterType, ParameterValue};
use thiserror::Error;

/// Why modules cannot be made of a hardware package file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuiltInError {
    /// The package file has no such node type.
    #[error("the hardware package file has no node type `{node_type}`: name the file of autorace")]
    NoNode {
        /// The node type.
        node_type: &'static str,
    },
    /// A value is missing, or not as it has to be.
    #[error("`{name}` of {node_type} {is}, and has to be {expected}", is = is(found.as_ref()))]
    Value {
        /// The node type.
        node_type: &'static str,
        /// Name of the parameter.
        name: &'static str,
        /// What it has to be.
        expected: &'static str,
        /// What it is; `None`: it is missing under `built_in`.
        found: Option<ParameterValue>,
    },
}

fn is(found: Option<&ParameterValue>) -> String {
    found.map_or_else(
        || "is missing under `built_in`".to_owned(),
        |found| format!("is {}", found.to_yaml()),
    )
}

/// The values of a node type.
pub(crate) struct BuiltIn<'a> {
    node_type: &'static str,
    node: &'a HardwareNode,
}

impl<'a> BuiltIn<'a> {
    pub(crate) fn of(
        package: &'a HardwarePackage,
        node_type: &'static str,
    ) -> Result<Self, BuiltInError> {
        let node = package.node_type(node_type).ok_or(BuiltInError::NoNode { node_type })?;
        Ok(Self { node_type, node })
    }

    pub(crate) fn missing(&self, name: &'static str, expected: &'static str) -> BuiltInError {
        let found = self.node.built_in.get(name).cloned();
        BuiltInError::Value { node_type: self.node_type, name, expected, found }
    }

    pub(crate) fn find(&self, name: &str, wanted: ParameterType) -> Option<ParameterValue> {
        self.node.built_in.get(name)?.converted_to(wanted)
    }

    pub(crate) fn integer(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<i64, BuiltInError> {
        match self.find(name, ParameterType::Integer) {
            Some(ParameterValue::Integer(value)) => Ok(value),
            _ => Err(self.missing(name, expected)),
        }
    }

    /// A side of the pictures.
    pub(crate) fn side(&self, name: &'static str) -> Result<usize, BuiltInError> {
        let expected = "a side of the pictures in pixels";
        usize::try_from(self.integer(name, expected)?).map_err(|_| self.missing(name, expected))
    }

    pub(crate) fn double(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<f64, BuiltInError> {
        match self.find(name, ParameterType::Double) {
            Some(ParameterValue::Double(value)) => Ok(value),
            _ => Err(self.missing(name, expected)),
        }
    }

    pub(crate) fn bool(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<bool, BuiltInError> {
        match self.find(name, ParameterType::Bool) {
            Some(ParameterValue::Bool(value)) => Ok(value),
            _ => Err(self.missing(name, expected)),
        }
    }

    /// Exactly so many numbers.
    pub(crate) fn numbers<const N: usize>(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<[f64; N], BuiltInError> {
        let found = match self.find(name, ParameterType::DoubleArray) {
            Some(ParameterValue::DoubleArray(values)) => values,
            _ => Vec::new(),
        };
        found.try_into().map_err(|_| self.missing(name, expected))
    }

    /// A map of the plane, row by row.
    pub(crate) fn homography(&self) -> Result<[[f64; 3]; 3], BuiltInError> {
        let [a, b, c, d, e, f, g, h, i] = self.numbers("homography", "nine numbers, row by row")?;
        Ok([[a, b, c], [d, e, f], [g, h, i]])
    }

    pub(crate) fn colour(&self, name: &'static str) -> Result<Hsv, BuiltInError> {
        let found = match self.find(name, ParameterType::IntegerArray) {
            Some(ParameterValue::IntegerArray(values)) => values,
            _ => Vec::new(),
        };
        let parts: Option<Vec<u8>> = found.iter().map(|value| u8::try_from(*value).ok()).collect();
        match parts.as_deref() {
            Some(&[h, s, v]) if h < 180 => Ok(Hsv { h, s, v }),
            _ => Err(self.missing(name, "[h, s, v] with h from 0 to 179, s and v from 0 to 255")),
        }
    }
}

/// A colour as [`crate::hsv`] has it for hardware: a byte each, hue above saturation above value.
pub(crate) fn colour_text(Hsv { h, s, v }: Hsv) -> String {
    format!("32'h00_{h:02x}_{s:02x}_{v:02x}")
}
