//! One field of a flat message, by its path: `pose.position.x`, `ranges[3]`. Nothing else of the
//! message is read.

#![forbid(unsafe_code)]

use crate::block::{Block, FlatError};
use crate::definition::Shape;
use crate::json::{Conversion, JsonOptions, numbers};
use crate::layout::{ElementLayout, FieldLayout, Layout};
use crate::walk::Walk;
use serde_json::Value;

/// Why a field could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// A name in the path is no field.
    #[error("{type_name} has no field `{field}`; it has {known}")]
    Unknown {
        /// The message type.
        type_name: String,
        /// The name.
        field: String,
        /// The fields that there are.
        known: String,
    },
    /// The path goes on behind something that has no parts, or breaks off.
    #[error("`{path}`: {problem}; write a path like pose.position.x or ranges[3]")]
    Path {
        /// The path.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// There are fewer elements.
    #[error("`{path}` has {count} elements, counted from 0: there is no element {index}")]
    Index {
        /// The array or sequence.
        path: String,
        /// Its elements.
        count: usize,
        /// The element that was asked for.
        index: usize,
    },
    /// The message is damaged.
    #[error(transparent)]
    Flat(#[from] FlatError),
}

/// Where a path has led so far.
enum Place<'a> {
    /// A struct at this byte: its position in the layout.
    Struct(usize, usize),
    /// A field at this byte.
    Field(&'a FieldLayout, usize),
    /// An element that is not a struct, at this byte.
    Element(ElementLayout, usize),
}

/// The field at `path` as JSON.
pub(crate) fn read(
    layout: &Layout,
    block: Block<'_>,
    path: &str,
    options: JsonOptions,
) -> Result<Value, FieldError> {
    let mut walk = Walk::new(layout, block)?;
    let mut place = Place::Struct(0, 0);
    let mut done = 0;
    for step in path.split('.') {
        let (name, indices) =
            step.split_once('[').map_or((step, ""), |(name, _)| (name, &step[name.len()..]));
        place = named(layout, place, path, name)?;
        done += name.len();
        for index in indices.split_terminator(']') {
            let index = index.strip_prefix('[').and_then(|it| it.parse::<usize>().ok());
            let whole = indices.ends_with(']');
            let Some(index) = index.filter(|_| whole) else {
                return Err(wrong(path, "a number in [ ] is expected"));
            };
            place = element(&mut walk, place, &path[..done], index)?;
        }
        done += indices.len() + 1;
    }
    // The walk's budget is spent on what was passed; a walk of its own reads what was found.
    let mut conversion = Conversion::new(layout, block, options)?;
    Ok(match place {
        Place::Struct(index, at) => conversion.element(ElementLayout::Struct(index), at)?,
        Place::Field(field, at) => conversion.field(field, at)?,
        Place::Element(element, at) => conversion.element(element, at)?,
    })
}

fn wrong(path: &str, problem: &str) -> FieldError {
    FieldError::Path { path: path.to_owned(), problem: problem.to_owned() }
}

/// The field of a struct.
fn named<'a>(
    layout: &'a Layout,
    place: Place<'a>,
    path: &str,
    name: &str,
) -> Result<Place<'a>, FieldError> {
    let (index, base) = match place {
        Place::Struct(index, base) => (index, base),
        Place::Field(
            FieldLayout { element: ElementLayout::Struct(index), shape: Shape::One, .. },
            at,
        ) => (*index, at),
        _ => return Err(wrong(path, &format!("what stands before `{name}` has no fields"))),
    };
    let one = &layout.structs[index];
    let Some(field) = one.fields.iter().find(|field| field.name == name) else {
        let names = one.fields.iter().filter(|_| !one.is_empty()).map(|it| it.name.as_str());
        let names: Vec<_> = names.collect();
        return Err(FieldError::Unknown {
            type_name: one.type_name.clone(),
            field: name.to_owned(),
            known: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
        });
    };
    Ok(Place::Field(field, base + field.offset as usize))
}

/// An element of an array or sequence.
fn element<'a>(
    walk: &mut Walk<'_>,
    place: Place<'a>,
    path: &str,
    index: usize,
) -> Result<Place<'a>, FieldError> {
    let Place::Field(field, at) = place else {
        return Err(wrong(path, "it has no elements"));
    };
    let stride = walk.layout.element_bytes(field.element).0 as usize;
    let (start, count) = match (field.shape, field.element) {
        (Shape::One, _) => return Err(wrong(path, "it has no elements")),
        (Shape::Array(count), _) => (at, count as usize),
        (Shape::Sequence { bound }, ElementLayout::Primitive(primitive)) => {
            numbers(walk, primitive, at, bound)?
        }
        (Shape::Sequence { bound }, _) => {
            let (start, count, _) = walk.records(at, stride, bound)?;
            (start, count)
        }
    };
    if index >= count {
        return Err(FieldError::Index { path: path.to_owned(), count, index });
    }
    let at = start + index * stride;
    Ok(match field.element {
        ElementLayout::Struct(index) => Place::Struct(index, at),
        element => Place::Element(element, at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlatBuffer, Schema};
    use serde_json::json;

    #[test]
    fn a_path_finds_fields_and_elements_and_errors_say_what_there_is() {
        let text = "P[] poses\nfloat32[3] v\nstring[] names\nE e\n===\nMSG: a_msgs/P\nX[2] x\n\
                    ===\nMSG: a_msgs/X\nint32 i\nwstring w\n===\nMSG: a_msgs/E\n";
        let schema = Schema::parse("a_msgs/A", text).expect("right");
        let value = json!({
            "poses": [{}, { "x": [{ "i": 7, "w": "ä" }, {}] }],
            "v": [1.0, 2.0, 0.1],
            "names": ["a", "bc"],
        });
        let cdr = schema.cdr_of_json(&value).expect("fits");
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&cdr).expect("right"));
        schema.decode_cdr(&cdr, flat.as_mut_slice()).expect("right");
        let block = Block::new(flat.as_slice());
        let found = |path: &str| schema.field_json(block, path, JsonOptions::default());
        assert_eq!(found("poses[1].x[0].i"), Ok(json!(7)));
        assert_eq!(found("poses[1].x[0].w"), Ok(json!("ä")));
        assert_eq!(found("poses[1].x[1]"), Ok(json!({ "i": 0, "w": "" })));
        assert_eq!(found("v[2]"), Ok(json!(0.1)));
        assert_eq!(found("names"), Ok(json!(["a", "bc"])));
        assert_eq!(found("names[1]"), Ok(json!("bc")));
        assert_eq!(found("e"), Ok(json!({})));
        for (path, part) in [
            ("", "has no field ``; it has poses, v, names, e"),
            ("poses[2]", "`poses` has 2 elements"),
            ("poses[1].x[7].i", "`poses[1].x` has 2 elements"),
            ("poses.x", "has no fields"),
            ("v[0].x", "has no fields"),
            ("v[0][0]", "no elements"),
            ("v[a]", "a number in [ ]"),
            ("v[1", "a number in [ ]"),
            ("v[1]b", "a number in [ ]"),
            ("e.x", "it has none"),
            ("poses[1].", "has no field ``"),
        ] {
            let error = found(path).expect_err(path).to_string();
            assert!(error.contains(part), "{path}: {error}");
        }
    }
}
