//! Where two flat messages of one type differ first, for people who compare recordings.
//!
//! Bounded memory: nothing is made of what is equal.

#![forbid(unsafe_code)]

use crate::block::{Block, FlatError};
use crate::definition::Shape;
use crate::json::{Conversion, JsonOptions, numbers};
use crate::layout::{ElementLayout, FieldLayout, Layout};
use crate::walk::Walk;
use serde_json::Value;

/// The first field in which two messages differ, in the order of the definition.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldDifference {
    /// Names and indexes: `poses[3].position.x`; `data.length` if one has more elements and all
    /// before are the same.
    pub path: String,
    /// Its value in the one message.
    pub left: Value,
    /// Its value in the other.
    pub right: Value,
}

/// Two walks side by side, and the way to where they are.
struct Pair<'a> {
    left: Walk<'a>,
    right: Walk<'a>,
    path: String,
}

type Found = Result<Option<FieldDifference>, FlatError>;

pub(crate) fn first_difference(layout: &Layout, left: Block<'_>, right: Block<'_>) -> Found {
    let (left, right) = (Walk::new(layout, left)?, Walk::new(layout, right)?);
    Pair { left, right, path: String::new() }.structs(0, 0, 0)
}

impl Pair<'_> {
    /// Goes on with `inner` one name or index further.
    fn within(&mut self, part: &str, inner: impl FnOnce(&mut Self) -> Found) -> Found {
        let before = self.path.len();
        if !part.starts_with('[') && before > 0 {
            self.path.push('.');
        }
        self.path.push_str(part);
        let found = inner(self)?;
        self.path.truncate(before);
        Ok(found)
    }

    fn structs(&mut self, index: usize, left: usize, right: usize) -> Found {
        let layout = self.left.layout;
        for field in &layout.structs[index].fields {
            let offset = field.offset as usize;
            let found =
                self.within(&field.name, |pair| pair.field(field, left + offset, right + offset))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn field(&mut self, field: &FieldLayout, left: usize, right: usize) -> Found {
        let stride = self.left.layout.element_bytes(field.element).0 as usize;
        let (left, right) = match field.shape {
            Shape::One => return self.element(field.element, left, right),
            Shape::Array(count) => ((left, count as usize), (right, count as usize)),
            Shape::Sequence { bound } => {
                let start = |walk: &mut Walk<'_>, at| match field.element {
                    ElementLayout::Primitive(primitive) => numbers(walk, primitive, at, bound),
                    _ => walk.records(at, stride, bound).map(|(start, count, _)| (start, count)),
                };
                (start(&mut self.left, left)?, start(&mut self.right, right)?)
            }
        };
        let common = left.1.min(right.1);
        // Numbers are compared in one piece; what differs is looked at one by one.
        let first = match field.element {
            ElementLayout::Primitive(_) => {
                let bytes = common * stride;
                let (one, other) =
                    (self.left.block.bytes(left.0, bytes), self.right.block.bytes(right.0, bytes));
                let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
                let differing = one.iter().zip(other).position(|(one, other)| one != other);
                differing.map_or(common, |byte| byte / stride.max(1))
            }
            _ => 0,
        };
        for index in first..common {
            let (left, right) = (left.0 + index * stride, right.0 + index * stride);
            let found = self
                .within(&format!("[{index}]"), |pair| pair.element(field.element, left, right))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        if left.1 == right.1 {
            return Ok(None);
        }
        let (path, left, right) = (format!("{}.length", self.path), left.1, right.1);
        Ok(Some(FieldDifference { path, left: left.into(), right: right.into() }))
    }

    fn element(&mut self, element: ElementLayout, left: usize, right: usize) -> Found {
        let same = match element {
            ElementLayout::Struct(index) => return self.structs(index, left, right),
            ElementLayout::Primitive(primitive) => {
                let bytes = primitive.bytes() as usize;
                self.left.block.bytes(left, bytes) == self.right.block.bytes(right, bytes)
            }
            ElementLayout::Text { bound } => {
                self.left.text(left, bound)? == self.right.text(right, bound)?
            }
            ElementLayout::WideText { bound } => {
                self.left.slice::<u16>(left, bound)?.0 == self.right.slice::<u16>(right, bound)?.0
            }
        };
        if same {
            return Ok(None);
        }
        let options = JsonOptions::default();
        // The walk's budget is spent on what was compared; a walk of their own shows the two
        // values.
        let show = |walk: &Walk<'_>, at| {
            Conversion::new(walk.layout, walk.block, options)?.element(element, at)
        };
        let (left, right) = (show(&self.left, left)?, show(&self.right, right)?);
        Ok(Some(FieldDifference { path: self.path.clone(), left, right }))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Block, FlatBuffer, Schema};
    use serde_json::json;

    /// CDR of std_msgs/msg/Float32MultiArray: one dimension, then the data.
    fn array(label: &str, data: &[f32]) -> Vec<u8> {
        let mut cdr = vec![0, 1, 0, 0];
        let word = |cdr: &mut Vec<u8>, value: u32| cdr.extend(value.to_le_bytes());
        word(&mut cdr, 1);
        word(&mut cdr, label.len() as u32 + 1);
        cdr.extend(label.as_bytes());
        cdr.push(0);
        cdr.resize(cdr.len().next_multiple_of(4), 0);
        [3, 3, 0].into_iter().for_each(|value| word(&mut cdr, value));
        word(&mut cdr, data.len() as u32);
        data.iter().for_each(|value| cdr.extend(value.to_le_bytes()));
        cdr
    }

    #[test]
    fn the_first_field_that_differs_is_named_with_both_values() {
        let schema = Schema::shipped("std_msgs/msg/Float32MultiArray").expect("shipped");
        let flat = |cdr: &[u8]| {
            let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(cdr).expect("sound"));
            schema.decode_cdr(cdr, flat.as_mut_slice()).expect("sound");
            flat
        };
        let one = flat(&array("row", &[1.0, 2.0, 3.0]));
        let differs = |label: &str, data: &[f32]| {
            let other = flat(&array(label, data));
            schema
                .first_difference(Block::new(one.as_slice()), Block::new(other.as_slice()))
                .expect("sound")
                .map(|found| (found.path, found.left, found.right))
        };
        assert_eq!(differs("row", &[1.0, 2.0, 3.0]), None);
        let label = ("layout.dim[0].label".to_owned(), json!("row"), json!("rows"));
        assert_eq!(differs("rows", &[1.0, 5.0, 3.0]), Some(label));
        let value = ("data[1]".to_owned(), json!(2.0), json!(5.0));
        assert_eq!(differs("row", &[1.0, 5.0, 3.0, 4.0]), Some(value));
        let length = ("data.length".to_owned(), json!(3), json!(2));
        assert_eq!(differs("row", &[1.0, 2.0]), Some(length));
        let zero = flat(&array("row", &[0.0]));
        let minus = flat(&array("row", &[-0.0]));
        let found =
            schema.first_difference(Block::new(zero.as_slice()), Block::new(minus.as_slice()));
        assert_eq!(found.expect("sound").expect("bits differ").path, "data[0]");
    }
}
