//! A walk over the fields of a flat message of a type known at run time: the validator, and what
//! the validator and the JSON form share.

#![forbid(unsafe_code)]

use crate::block::{BLOCK_ALIGNMENT, Block, FlatError, Plain, Reference, Text};
use crate::cdr::check_length;
use crate::definition::Shape;
use crate::layout::{ElementLayout, FieldLayout, Layout};

/// A block and how many of its bytes references may still cover. A message whose references do not
/// overlap never covers more than its block; the budget bounds the walk when they do.
pub(crate) struct Walk<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) block: Block<'a>,
    left: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(layout: &'a Layout, block: Block<'a>) -> Result<Self, FlatError> {
        let root_bytes = layout.root().bytes as usize;
        if block.len() < root_bytes {
            return Err(FlatError::TooShort { block_bytes: block.len(), root_bytes });
        }
        if !(block.as_ptr() as usize).is_multiple_of(BLOCK_ALIGNMENT) {
            return Err(FlatError::Misaligned { at: 0, alignment: BLOCK_ALIGNMENT });
        }
        Ok(Self { layout, block, left: block.len() })
    }

    /// The numbers that a reference names, taken off the budget.
    pub(crate) fn slice<V: Plain>(
        &mut self,
        at: usize,
        bound: Option<u32>,
    ) -> Result<(&'a [V], Reference), FlatError> {
        let reference = self.block.reference(at)?;
        let values: &[V] = self.block.slice_of(reference, at)?;
        check_length(at, values.len(), bound)?;
        self.spend(size_of_val(values))?;
        Ok((values, reference))
    }

    /// The text that a reference names, taken off the budget.
    pub(crate) fn text(&mut self, at: usize, bound: Option<u32>) -> Result<Text<'a>, FlatError> {
        Ok(Text::new(self.slice::<u8>(at, bound)?.0))
    }

    /// Start and count of the structs or references that a reference names, taken off the budget.
    pub(crate) fn records(
        &mut self,
        at: usize,
        stride: usize,
        bound: Option<u32>,
    ) -> Result<(usize, usize, Reference), FlatError> {
        let reference = self.block.reference(at)?;
        let (start, count) = self.block.records_of(reference, stride, at)?;
        check_length(at, count, bound)?;
        self.spend(count * stride)?;
        Ok((start, count, reference))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), FlatError> {
        let overlap = FlatError::Overlap { block_bytes: self.block.len() };
        self.left = self.left.checked_sub(bytes).ok_or(overlap)?;
        Ok(())
    }
}

/// Checks all rules of the flat layout in a whole message. Allocates only for an error.
pub(crate) fn validate(layout: &Layout, block: Block<'_>) -> Result<(), FlatError> {
    let mut walk = Walk::new(layout, block)?;
    check_struct(&mut walk, 0, 0)
}

/// Nesting is bounded by `resolve`, the sum of all elements by the walk's budget.
fn check_struct(walk: &mut Walk<'_>, index: usize, base: usize) -> Result<(), FlatError> {
    let layout = walk.layout;
    layout.structs[index].fields.iter().try_for_each(|field| {
        check_field(walk, field, base + field.offset as usize)
            .map_err(|error| in_field(&field.name, error))
    })
}

fn check_field(walk: &mut Walk<'_>, field: &FieldLayout, at: usize) -> Result<(), FlatError> {
    let stride = walk.layout.element_bytes(field.element).0 as usize;
    let (start, count) = match (field.shape, field.element) {
        (Shape::One, element) => return check_element(walk, element, at),
        (_, ElementLayout::Primitive(_)) => return check_numbers(walk, field, at),
        (Shape::Array(count), _) => (at, count as usize),
        (Shape::Sequence { bound }, _) => {
            let (start, count, reference) = walk.records(at, stride, bound)?;
            check_place(walk, at, reference, stride, BLOCK_ALIGNMENT)?;
            (start, count)
        }
    };
    (0..count).try_for_each(|index| {
        check_element(walk, field.element, start + index * stride)
            .map_err(|error| in_field(&format!("[{index}]"), error))
    })
}

fn check_numbers(walk: &mut Walk<'_>, field: &FieldLayout, at: usize) -> Result<(), FlatError> {
    let Shape::Sequence { bound } = field.shape else { return Ok(()) };
    let size = walk.layout.element_bytes(field.element).0 as usize;
    let reference = match size {
        1 => walk.slice::<u8>(at, bound)?.1,
        2 => walk.slice::<u16>(at, bound)?.1,
        4 => walk.slice::<u32>(at, bound)?.1,
        16 => walk.records(at, size, bound)?.2,
        _ => walk.slice::<u64>(at, bound)?.1,
    };
    check_place(walk, at, reference, size, BLOCK_ALIGNMENT)
}

fn check_element(walk: &mut Walk<'_>, element: ElementLayout, at: usize) -> Result<(), FlatError> {
    match element {
        ElementLayout::Primitive(_) => Ok(()),
        ElementLayout::Struct(index) => check_struct(walk, index, at),
        ElementLayout::WideText { bound } => {
            let (_, reference) = walk.slice::<u16>(at, bound)?;
            check_place(walk, at, reference, 2, BLOCK_ALIGNMENT)
        }
        ElementLayout::Text { bound } => {
            let (_, reference) = walk.slice::<u8>(at, bound)?;
            let Reference { offset, length, capacity } = reference;
            if length == 0 {
                return Ok(());
            }
            check_place(walk, at, reference, 1, 1)?;
            // `slice` checked that offset and length are inside the block.
            let end = walk.block.read::<u8>(offset as usize + length as usize);
            if capacity <= length || end != Some(0) {
                return Err(FlatError::Capacity { at, length, capacity });
            }
            Ok(())
        }
    }
}

/// Checks what safe access does not need: the alignment that readers may count on, the capacity,
/// and that nothing points into the root struct.
fn check_place(
    walk: &Walk<'_>,
    at: usize,
    reference: Reference,
    size: usize,
    alignment: usize,
) -> Result<(), FlatError> {
    let Reference { offset, length, capacity } = reference;
    if length == 0 {
        return Ok(());
    }
    if capacity < length {
        return Err(FlatError::Capacity { at, length, capacity });
    }
    if !offset.is_multiple_of(alignment as u64) {
        return Err(FlatError::Misaligned { at, alignment });
    }
    let bytes = u64::from(capacity) * size as u64;
    let end = offset.checked_add(bytes);
    let block_bytes = walk.block.len();
    let root_bytes = u64::from(walk.layout.root().bytes);
    if offset < root_bytes || end.is_none_or(|end| end > block_bytes as u64) {
        return Err(FlatError::OutOfBlock { at, offset, bytes, block_bytes });
    }
    Ok(())
}

/// The error with a field's name or an index before its path.
fn in_field(name: &str, error: FlatError) -> FlatError {
    match error {
        FlatError::InField { field, cause } => {
            let dot = if field.starts_with('[') { "" } else { "." };
            FlatError::InField { field: format!("{name}{dot}{field}").into(), cause }
        }
        cause => FlatError::InField { field: name.into(), cause: Box::new(cause) },
    }
}
