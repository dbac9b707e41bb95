//! The steps that convert a type between flat layout and CDR, worked out once per type.
//!
//! Consecutive plain fields become one run, which is one memcpy both ways. A run starts with its
//! most strictly aligned field, so that it starts at the same alignment in CDR and in the struct,
//! and every field behind it has the same distance from the start in both. Code generation prints
//! these steps, the dynamic codec carries them out: both convert alike.

#![forbid(unsafe_code)]

use crate::block::REFERENCE_BYTES;
use crate::definition::Shape;
use crate::layout::{ElementLayout, Layout, LayoutError};
use std::collections::HashMap;

/// Most steps of one type. A type that nests thousands of fields takes minutes to compile, too.
const OPS_MAX: usize = 65_536;

/// Steps for a type and the types it uses in sequences.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The root's program is the first.
    pub(crate) programs: Vec<Program>,
}

/// Steps for one struct.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) target: Target,
    pub(crate) ops: Vec<Op>,
    /// Size of the struct in the flat layout.
    pub(crate) stride: usize,
    /// Least bytes in CDR, padding not counted; at least 1.
    pub(crate) bytes_min: usize,
    /// Alignment, when an array of these structs is the same bytes in CDR.
    pub(crate) whole: Option<u32>,
}

/// One step. `at` is the byte offset in the struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Plain fields: `bytes` bytes, equal in both.
    Run { at: u32, bytes: u32, alignment: u32 },
    /// A text.
    Text { at: u32, bound: Option<u32> },
    /// A wide text.
    WideText { at: u32, bound: Option<u32> },
    /// A sequence of numbers of `size` bytes.
    Array { at: u32, size: u32, bound: Option<u32> },
    /// A sequence of structs or references.
    Sequence { at: u32, program: usize, bound: Option<u32> },
    /// A fixed array of structs or references that is not plain.
    Repeat { at: u32, count: u32, program: usize },
}

/// What a program converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// A struct: its position in the layout.
    Struct(usize),
    /// A text or wide text.
    Element(ElementLayout),
}

struct Planner<'a> {
    layout: &'a Layout,
    programs: Vec<Program>,
    /// Their positions.
    known: HashMap<Target, usize>,
    ops: usize,
}

impl Plan {
    /// Plans the conversion of a layout's root.
    ///
    /// # Errors
    ///
    /// The type takes too many steps.
    pub(crate) fn of(layout: &Layout) -> Result<Self, LayoutError> {
        let (programs, known) = (Vec::new(), HashMap::new());
        let mut planner = Planner { layout, programs, known, ops: 0 };
        planner.program(Target::Struct(0))?;
        Ok(Self { programs: planner.programs })
    }

    pub(crate) fn root(&self) -> &Program {
        &self.programs[0]
    }
}

impl Planner<'_> {
    /// Position of the program for `target`, made when there is none yet. Nesting is bounded by
    /// `resolve`.
    fn program(&mut self, target: Target) -> Result<usize, LayoutError> {
        if let Some(known) = self.known.get(&target) {
            return Ok(*known);
        }
        let index = self.programs.len();
        self.known.insert(target, index);
        let unfinished = Program { target, ops: Vec::new(), stride: 0, bytes_min: 1, whole: None };
        self.programs.push(unfinished);
        let mut ops = Vec::new();
        let (stride, alignment) = match target {
            Target::Struct(one) => {
                self.flatten(one, 0, &mut ops)?;
                (self.layout.structs[one].bytes, self.layout.structs[one].alignment)
            }
            Target::Element(element) => {
                self.push_one(element, 0, &mut ops)?;
                (REFERENCE_BYTES as u32, 8)
            }
        };
        let whole = Op::Run { at: 0, bytes: stride, alignment };
        let bytes_min = ops.iter().fold(0usize, |sum, op| sum.saturating_add(self.bytes_min(op)));
        self.programs[index] = Program {
            target,
            whole: (ops == [whole]).then_some(alignment),
            ops,
            stride: stride as usize,
            bytes_min: bytes_min.max(1),
        };
        Ok(index)
    }

    fn bytes_min(&self, op: &Op) -> usize {
        match op {
            Op::Run { bytes, .. } => *bytes as usize,
            Op::Repeat { count, program, .. } => {
                self.programs[*program].bytes_min.saturating_mul(*count as usize)
            }
            _ => 4,
        }
    }

    /// Appends the steps of a struct that lies at byte `base` of the outer one.
    fn flatten(&mut self, one: usize, base: u32, ops: &mut Vec<Op>) -> Result<(), LayoutError> {
        for index in 0..self.layout.structs[one].fields.len() {
            let field = &self.layout.structs[one].fields[index];
            let (at, element) = (base + field.offset, field.element);
            match field.shape {
                Shape::One => self.push_one(element, at, ops)?,
                Shape::Array(count) => self.push_array(element, at, count, ops)?,
                Shape::Sequence { bound } => self.push_sequence(element, at, bound, ops)?,
            }
        }
        Ok(())
    }

    fn push_one(
        &mut self,
        element: ElementLayout,
        at: u32,
        ops: &mut Vec<Op>,
    ) -> Result<(), LayoutError> {
        self.count()?;
        match element {
            ElementLayout::Primitive(primitive) => {
                push_run(ops, at, primitive.bytes(), primitive.alignment());
            }
            ElementLayout::Text { bound } => ops.push(Op::Text { at, bound }),
            ElementLayout::WideText { bound } => ops.push(Op::WideText { at, bound }),
            ElementLayout::Struct(one) => self.flatten(one, at, ops)?,
        }
        Ok(())
    }

    fn push_array(
        &mut self,
        element: ElementLayout,
        at: u32,
        count: u32,
        ops: &mut Vec<Op>,
    ) -> Result<(), LayoutError> {
        self.count()?;
        if let ElementLayout::Primitive(primitive) = element {
            push_run(ops, at, primitive.bytes() * count, primitive.alignment());
            return Ok(());
        }
        let program = self.program(target_of(element))?;
        match self.programs[program].whole {
            // The layout bounds the product.
            Some(alignment) => {
                push_run(ops, at, self.programs[program].stride as u32 * count, alignment);
            }
            None => ops.push(Op::Repeat { at, count, program }),
        }
        Ok(())
    }

    fn push_sequence(
        &mut self,
        element: ElementLayout,
        at: u32,
        bound: Option<u32>,
        ops: &mut Vec<Op>,
    ) -> Result<(), LayoutError> {
        self.count()?;
        let op = match element {
            ElementLayout::Primitive(primitive) => Op::Array { at, size: primitive.bytes(), bound },
            other => Op::Sequence { at, program: self.program(target_of(other))?, bound },
        };
        ops.push(op);
        Ok(())
    }

    fn count(&mut self) -> Result<(), LayoutError> {
        self.ops += 1;
        if self.ops > OPS_MAX {
            let type_name = self.layout.root().type_name.clone();
            return Err(LayoutError::TooComplex { type_name, limit: OPS_MAX });
        }
        Ok(())
    }
}

fn target_of(element: ElementLayout) -> Target {
    match element {
        ElementLayout::Struct(one) => Target::Struct(one),
        other => Target::Element(other),
    }
}

/// Appends plain bytes: to the last run when CDR has them at the same distance, else as a new run.
fn push_run(ops: &mut Vec<Op>, at: u32, bytes: u32, alignment: u32) {
    if let Some(Op::Run { at: start, bytes: length, alignment: widest }) = ops.last_mut()
        && alignment <= *widest
        && at == (*start + *length).next_multiple_of(alignment)
    {
        *length = at + bytes - *start;
        return;
    }
    ops.push(Op::Run { at, bytes, alignment });
}
