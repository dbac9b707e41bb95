//! The steps that convert a type with bounds between flat layout and payload, worked out once.
//!
//! Unlike the steps of CDR they belong to one place in the type, not to a struct: bounds are given
//! by path, so that two fields of one type may have different ones. Consecutive plain fields
//! without a gap become one run; gaps are not copied, because a payload's padding is zero and what
//! lies in a block's gaps has no meaning.

use super::{DATA_ALIGNMENT, HEADER_BYTES, PAYLOAD_BYTES_MAX};
use crate::block::{EXTERNAL_BUFFER, FlatBuffer, REFERENCE_BYTES};
use crate::definition::{Primitive, Shape};
use crate::layout::{ElementLayout, Layout};
use crate::schema::Schema;
use std::collections::BTreeMap;

/// Most steps of one type: nested fields multiply.
const STEPS_MAX: usize = 65_536;

/// Most elements that a reference can name; its capacity counts a text's NUL byte, too.
const LENGTH_MAX: u32 = EXTERNAL_BUFFER - 2;

/// A front is a multiple of this, so that a frame's payload begins where DMA can write whole beats.
const FRONT_ALIGNMENT: usize = 64;

/// A message type with a bound on every sequence and text, and how its messages are converted
/// between the flat layout and the payload of frames.
///
/// Immutable; may be shared between threads. Making one allocates; [`FramePlan::gather`] and
/// [`FramePlan::adopt`] do not, except for an error's text and for the first growth of a list of
/// segments. Nothing blocks.
#[derive(Clone, Debug)]
pub struct FramePlan {
    /// The root's program is the first.
    pub(super) programs: Vec<Program>,
    pub(super) root_bytes: usize,
}

/// Steps for the root, or for the elements of one array or sequence.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// Bytes of an element in the flat layout.
    pub(super) stride: usize,
    /// Where an element begins in the payload: the next multiple of this.
    pub(super) alignment: usize,
    /// All elements have one length: payload and flat layout are alike, gaps included.
    pub(super) fixed: bool,
    /// There are no gaps either: the bytes are the same.
    pub(super) dense: bool,
    /// Longest element in the payload, bytes.
    payload_max: u64,
}

/// One step, and the field's path from the program's root on.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    pub(super) field: Box<str>,
}

/// What to do. `at` is the byte offset in the element in the flat layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Zeros up to the next multiple.
    Align { alignment: usize },
    /// Plain fields without gaps, from a multiple of `alignment` on.
    Run { at: usize, bytes: usize, alignment: usize },
    /// A text.
    Text { at: usize, bound: u32 },
    /// A sequence of numbers of `size` bytes, or a wide text.
    Numbers { at: usize, size: usize, bound: u32 },
    /// A sequence of structs or texts.
    Records { at: usize, program: usize, bound: u32 },
    /// An array of structs or texts that are not plain.
    Repeat { at: usize, count: usize, program: usize },
}

/// Why a type has no longest message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramePlanError {
    /// Fields without a bound.
    #[error(
        "{type_name} has no longest message, because nothing bounds {}: set `bounds` in the graph \
         file",
        fields.join(", ")
    )]
    Unbounded {
        /// The type.
        type_name: String,
        /// Paths of the fields.
        fields: Vec<String>,
    },
    /// A bound for something that is no sequence or text.
    #[error("{type_name} has no sequence or text `{field}`: remove its bound")]
    UnknownField {
        /// The type.
        type_name: String,
        /// The path as given.
        field: String,
    },
    /// A number that hardware does not know.
    #[error(
        "`{field}` of {type_name} is a `long double`: hardware has no such numbers, use double"
    )]
    LongDouble {
        /// The message type.
        type_name: String,
        /// The field.
        field: String,
    },
    /// A bound above the type's.
    #[error("the bound {given} of `{field}` is above its type's {bound}: lower it")]
    AboveType {
        /// Path of the field.
        field: String,
        /// Bound as given.
        given: u32,
        /// Bound of the type.
        bound: u32,
    },
    /// Too long or too nested.
    #[error(
        "{type_name} with these bounds is longer than {limit} bytes or nests too many fields: lower \
         its bounds"
    )]
    TooLarge {
        /// The type.
        type_name: String,
        /// Longest payload in bytes.
        limit: u64,
    },
}

fn refuse_long_doubles(layout: &Layout) -> Result<(), FramePlanError> {
    let wanted = ElementLayout::Primitive(Primitive::Float128);
    for one in &layout.structs {
        if let Some(field) = one.fields.iter().find(|field| field.element == wanted) {
            let (type_name, field) = (one.type_name.clone(), field.name.clone());
            return Err(FramePlanError::LongDouble { type_name, field });
        }
    }
    Ok(())
}

impl FramePlan {
    /// Plans a type. `bounds` has elements or bytes of text by path (`data`, `header.frame_id`,
    /// `names.element` for the texts of a sequence `names`), for fields without a bound of their
    /// own or to lower it.
    ///
    /// # Errors
    ///
    /// A field has no bound, a bound fits no field, or the longest message is too long.
    pub fn new(schema: &Schema, bounds: &BTreeMap<String, u32>) -> Result<Self, FramePlanError> {
        let layout = schema.layout();
        refuse_long_doubles(layout)?;
        let mut planner = Planner {
            layout,
            fixed: layout.fixed_structs(),
            bounds,
            programs: Vec::new(),
            known: Vec::new(),
            unbounded: Vec::new(),
            steps: 0,
        };
        planner.program(ElementLayout::Struct(0), "")?;
        let Planner { programs, known, unbounded, .. } = planner;
        let type_name = || schema.type_name().to_owned();
        if let Some(field) = bounds.keys().find(|path| !known.contains(path)) {
            return Err(FramePlanError::UnknownField {
                type_name: type_name(),
                field: field.clone(),
            });
        }
        if !unbounded.is_empty() {
            return Err(FramePlanError::Unbounded { type_name: type_name(), fields: unbounded });
        }
        let plan = Self { programs, root_bytes: schema.root_bytes() };
        let longest = [plan.payload_bytes_max(), plan.behind_bytes(0)];
        if longest.iter().any(|bytes| *bytes > PAYLOAD_BYTES_MAX) {
            return Err(too_large(layout));
        }
        Ok(plan)
    }

    /// Bytes of the longest payload.
    pub fn payload_bytes_max(&self) -> u64 {
        self.programs[0].payload_max
    }

    /// Whether every message has a payload of the same length.
    pub fn is_fixed(&self) -> bool {
        self.programs[0].fixed
    }

    /// Bytes to keep free in front of a frame that is to be adopted: the root struct, rounded up to
    /// a multiple of 64.
    pub fn front_bytes(&self) -> usize {
        self.root_bytes.next_multiple_of(FRONT_ALIGNMENT)
    }

    /// Bytes that [`FramePlan::adopt`] writes behind the longest frame at most: the structs of
    /// sequences whose elements differ in length, the references of sequences of texts, and the end
    /// mark of a text. 8 for types without such sequences.
    pub fn behind_bytes_max(&self) -> usize {
        // `new` has refused what does not fit.
        usize::try_from(self.behind_bytes(0)).unwrap_or(usize::MAX)
    }

    /// Bytes of a chunk that holds any adopted message of this type.
    pub fn chunk_bytes_max(&self) -> usize {
        let payload = usize::try_from(self.payload_bytes_max()).unwrap_or(usize::MAX);
        (self.front_bytes() + HEADER_BYTES)
            .saturating_add(payload)
            .saturating_add(self.behind_bytes_max())
    }

    /// Bytes of scratch that [`FramePlan::gather`] needs at most when sequences from
    /// `in_place_bytes_min` bytes on stay in place.
    pub fn scratch_bytes_max(&self, in_place_bytes_min: usize) -> usize {
        let bytes = self.scratch_bytes(0, in_place_bytes_min as u64).min(self.payload_bytes_max());
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Segments that [`FramePlan::gather`] gives at most when sequences from `in_place_bytes_min`
    /// bytes on stay in place.
    pub fn segments_max(&self, in_place_bytes_min: usize) -> usize {
        let least = (in_place_bytes_min as u64).max(DATA_ALIGNMENT as u64);
        let pieces = self.pieces(0, least).min(self.payload_bytes_max() / least);
        usize::try_from(pieces.saturating_mul(2).saturating_add(1)).unwrap_or(usize::MAX)
    }

    /// An empty chunk of [`FramePlan::chunk_bytes_max`] bytes in this process's own memory.
    pub fn chunk(&self) -> FlatBuffer {
        FlatBuffer::with_bytes(self.chunk_bytes_max())
    }

    fn behind_bytes(&self, program: usize) -> u64 {
        let sum = self.programs[program].steps.iter().map(|step| match step.op {
            Op::Records { program, bound, .. } if !self.programs[program].fixed => {
                let one = (self.programs[program].stride as u64)
                    .saturating_add(self.behind_bytes(program));
                one.saturating_mul(u64::from(bound))
            }
            Op::Repeat { count, program, .. } => {
                self.behind_bytes(program).saturating_mul(count as u64)
            }
            _ => 0,
        });
        // Strides of such elements are multiples of 8, so only the first array needs padding, which
        // is also where the NUL goes.
        let first = if program == 0 { DATA_ALIGNMENT as u64 } else { 0 };
        sum.fold(first, u64::saturating_add)
    }

    fn scratch_bytes(&self, program: usize, in_place_min: u64) -> u64 {
        // A length with the padding before and behind it.
        const LENGTH: u64 = 3 + 4 + 4;
        let most = |bytes: u64| bytes.min(in_place_min.max(DATA_ALIGNMENT as u64) - 1);
        let many = |program: usize, count: u64| {
            let padding = self.programs[program].alignment as u64 - 1;
            self.scratch_bytes(program, in_place_min).saturating_add(padding).saturating_mul(count)
        };
        let sum = self.programs[program].steps.iter().map(|step| match step.op {
            Op::Align { alignment } => alignment as u64 - 1,
            Op::Run { bytes, alignment, .. } => (bytes + alignment - 1) as u64,
            Op::Text { bound, .. } => LENGTH + u64::from(bound),
            Op::Numbers { size, bound, .. } => LENGTH + most(size as u64 * u64::from(bound)),
            Op::Records { program, bound, .. } if self.programs[program].dense => {
                LENGTH + most((self.programs[program].stride as u64) * u64::from(bound))
            }
            Op::Records { program, bound, .. } => {
                many(program, u64::from(bound)).saturating_add(LENGTH)
            }
            Op::Repeat { count, program, .. } => many(program, count as u64),
        });
        sum.fold(0, u64::saturating_add)
    }

    /// Most pieces of at least `least` bytes.
    fn pieces(&self, program: usize, least: u64) -> u64 {
        let large = |bytes: u64| u64::from(bytes >= least);
        let sum = self.programs[program].steps.iter().map(|step| match step.op {
            Op::Align { .. } | Op::Text { .. } => 0,
            Op::Run { bytes, .. } => large(bytes as u64),
            Op::Numbers { size, bound, .. } => large(size as u64 * u64::from(bound)),
            Op::Records { program, bound, .. } if self.programs[program].dense => {
                large((self.programs[program].stride as u64) * u64::from(bound))
            }
            Op::Records { program, bound, .. } => {
                self.pieces(program, least).saturating_mul(u64::from(bound))
            }
            Op::Repeat { count, program, .. } => {
                self.pieces(program, least).saturating_mul(count as u64)
            }
        });
        sum.fold(0, u64::saturating_add)
    }
}

struct Planner<'a> {
    layout: &'a Layout,
    fixed: Vec<bool>,
    bounds: &'a BTreeMap<String, u32>,
    programs: Vec<Program>,
    /// Paths that can have a bound.
    known: Vec<String>,
    unbounded: Vec<String>,
    steps: usize,
}

/// A program under construction: its steps, and where the longest element's next field goes.
struct Draft {
    steps: Vec<Step>,
    longest: u64,
    /// Alignment of the element's first byte, in the flat layout and in the payload.
    alignment: usize,
}

impl Planner<'_> {
    /// Position of the program for elements below `path`. Nesting is bounded by `resolve`.
    fn program(&mut self, element: ElementLayout, path: &str) -> Result<usize, FramePlanError> {
        let index = self.programs.len();
        let (stride, alignment, fixed) = self.size(element);
        self.programs.push(Program {
            steps: Vec::new(),
            stride,
            alignment,
            fixed,
            dense: false,
            payload_max: 0,
        });
        let mut draft = Draft { steps: Vec::new(), longest: 0, alignment };
        match element {
            ElementLayout::Struct(one) => self.flatten(one, 0, path, "", &mut draft)?,
            other => self.single(other, 0, path, "", &mut draft)?,
        }
        let whole = [Op::Run { at: 0, bytes: stride, alignment }];
        let program = &mut self.programs[index];
        program.dense = draft.steps.iter().map(|step| step.op).eq(whole);
        program.payload_max = draft.longest;
        program.steps = draft.steps;
        Ok(index)
    }

    /// Bytes in the flat layout, alignment in the payload, and whether the length is fixed.
    fn size(&self, element: ElementLayout) -> (usize, usize, bool) {
        match element {
            ElementLayout::Primitive(primitive) => {
                (primitive.bytes() as usize, primitive.bytes() as usize, true)
            }
            ElementLayout::Struct(index) => {
                let structure = &self.layout.structs[index];
                let fixed = self.fixed[index];
                let alignment = if fixed { structure.alignment as usize } else { DATA_ALIGNMENT };
                (structure.bytes as usize, alignment, fixed)
            }
            _ => (REFERENCE_BYTES, DATA_ALIGNMENT, false),
        }
    }

    /// Appends the steps of a struct that lies at byte `base` of its element; `path` is from the
    /// message's root on, `field` from the element's.
    fn flatten(
        &mut self,
        one: usize,
        base: usize,
        path: &str,
        field: &str,
        draft: &mut Draft,
    ) -> Result<(), FramePlanError> {
        let layout = self.layout;
        let structure = &layout.structs[one];
        let below = |outer: &str, name: &str| match outer {
            "" => name.to_owned(),
            _ => format!("{outer}.{name}"),
        };
        let mut end = 0;
        for member in &structure.fields {
            let (path, field) = (below(path, &member.name), below(field, &member.name));
            let at = base + member.offset as usize;
            let (size, ..) = self.size(member.element);
            end = member.offset as usize + size;
            match member.shape {
                Shape::One => self.single(member.element, at, &path, &field, draft)?,
                Shape::Array(count) => {
                    end = member.offset as usize + size * count as usize;
                    self.array(member.element, at, count as usize, &path, &field, draft)?;
                }
                Shape::Sequence { bound } => {
                    let bound = self.bound(&path, bound)?;
                    self.sequence(member.element, at, bound, &path, &field, draft)?;
                }
            }
        }
        if self.fixed[one] && end != structure.bytes as usize {
            self.push(Op::Align { alignment: structure.alignment as usize }, field, draft)?;
        }
        Ok(())
    }

    fn single(
        &mut self,
        element: ElementLayout,
        at: usize,
        path: &str,
        field: &str,
        draft: &mut Draft,
    ) -> Result<(), FramePlanError> {
        match element {
            ElementLayout::Primitive(primitive) => {
                let bytes = primitive.bytes() as usize;
                self.push(Op::Run { at, bytes, alignment: bytes }, field, draft)
            }
            ElementLayout::Text { bound } => {
                let bound = self.bound(path, bound)?;
                self.push(Op::Text { at, bound }, field, draft)
            }
            ElementLayout::WideText { bound } => {
                let bound = self.bound(path, bound)?;
                self.push(Op::Numbers { at, size: 2, bound }, field, draft)
            }
            ElementLayout::Struct(one) => {
                let (_, alignment, _) = self.size(element);
                if self.first_alignment(one) < alignment {
                    self.push(Op::Align { alignment }, field, draft)?;
                }
                self.flatten(one, at, path, field, draft)
            }
        }
    }

    /// Alignment at which a struct's first field begins by itself.
    fn first_alignment(&self, one: usize) -> usize {
        let Some(first) = self.layout.structs[one].fields.first() else { return 1 };
        match (first.shape, first.element) {
            (Shape::Sequence { .. }, _) => 4,
            (Shape::One, ElementLayout::Text { .. } | ElementLayout::WideText { .. }) => 4,
            (Shape::One, ElementLayout::Struct(inner)) => {
                self.first_alignment(inner).max(self.size(first.element).1)
            }
            (_, element) => self.size(element).1,
        }
    }

    fn array(
        &mut self,
        element: ElementLayout,
        at: usize,
        count: usize,
        path: &str,
        field: &str,
        draft: &mut Draft,
    ) -> Result<(), FramePlanError> {
        if let ElementLayout::Primitive(primitive) = element {
            let size = primitive.bytes() as usize;
            return self.push(Op::Run { at, bytes: size * count, alignment: size }, field, draft);
        }
        let program = self.program(element, &format!("{path}[]"))?;
        let Program { stride, alignment, dense, .. } = self.programs[program];
        let op = match dense {
            true => Op::Run { at, bytes: stride * count, alignment },
            false => Op::Repeat { at, count, program },
        };
        self.push(op, field, draft)
    }

    fn sequence(
        &mut self,
        element: ElementLayout,
        at: usize,
        bound: u32,
        path: &str,
        field: &str,
        draft: &mut Draft,
    ) -> Result<(), FramePlanError> {
        let op = match element {
            ElementLayout::Primitive(primitive) => {
                Op::Numbers { at, size: primitive.bytes() as usize, bound }
            }
            other => Op::Records { at, program: self.program(other, &format!("{path}[]"))?, bound },
        };
        self.push(op, field, draft)
    }

    /// Appends a step: plain bytes to the last run when nothing lies between, else a step of its
    /// own. A run begins with its most strictly aligned field, so that the fields behind it have
    /// the same distance from its start in payload and flat layout.
    fn push(&mut self, op: Op, field: &str, draft: &mut Draft) -> Result<(), FramePlanError> {
        let op = match (draft.steps.is_empty(), op) {
            (true, Op::Align { .. }) => return Ok(()),
            // Nothing lies before the first byte, whatever the alignment.
            (true, Op::Run { at, bytes, .. }) => Op::Run { at, bytes, alignment: draft.alignment },
            _ => op,
        };
        self.advance(op, &mut draft.longest);
        if let Op::Run { at, bytes, alignment } = op
            && let Some(Step {
                op: Op::Run { at: start, bytes: length, alignment: widest }, ..
            }) = draft.steps.last_mut()
            && alignment <= *widest
            && at == *start + *length
        {
            *length += bytes;
            return Ok(());
        }
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(too_large(self.layout));
        }
        draft.steps.push(Step { op, field: field.into() });
        Ok(())
    }

    /// Moves the end of the longest element behind a step: every step grows with what is before.
    fn advance(&self, op: Op, end: &mut u64) {
        let align = |end: u64, to: usize| end.saturating_add(to as u64 - 1) / to as u64 * to as u64;
        let data = align(align(*end, 4).saturating_add(4), DATA_ALIGNMENT);
        let many = |start: u64, program: usize, count: u64| {
            let one = self.programs[program].payload_max;
            let stride = align(one, self.programs[program].alignment);
            match count.checked_sub(1) {
                // The last element is not followed by padding.
                Some(others) => {
                    start.saturating_add(stride.saturating_mul(others).saturating_add(one))
                }
                None => start,
            }
        };
        *end = match op {
            Op::Align { alignment } => align(*end, alignment),
            Op::Run { bytes, alignment, .. } => align(*end, alignment) + bytes as u64,
            Op::Text { bound, .. } => data.saturating_add(u64::from(bound)),
            Op::Numbers { size, bound, .. } => data.saturating_add(size as u64 * u64::from(bound)),
            Op::Records { program, bound, .. } => many(data, program, u64::from(bound)),
            Op::Repeat { count, program, .. } => {
                many(align(*end, self.programs[program].alignment), program, count as u64)
            }
        }
        // Far above every limit, far below overflow.
        .min(1 << 48);
    }

    fn bound(&mut self, path: &str, of_type: Option<u32>) -> Result<u32, FramePlanError> {
        // A bound holds for every element of the sequences around it. Texts that are elements
        // themselves have no name of their own.
        let field = match path.strip_suffix("[]") {
            Some(texts) => format!("{}.element", texts.replace("[]", "")),
            None => path.replace("[]", ""),
        };
        if !self.known.contains(&field) {
            self.known.push(field.clone());
        }
        match (self.bounds.get(&field).copied(), of_type) {
            (Some(given), Some(bound)) if given > bound => {
                Err(FramePlanError::AboveType { field, given, bound })
            }
            (Some(bound), _) | (None, Some(bound)) if bound > LENGTH_MAX => {
                Err(too_large(self.layout))
            }
            (Some(bound), _) | (None, Some(bound)) => Ok(bound),
            (None, None) => {
                if !self.unbounded.contains(&field) {
                    self.unbounded.push(field);
                }
                Ok(0)
            }
        }
    }
}

fn too_large(layout: &Layout) -> FramePlanError {
    let type_name = layout.root().type_name.clone();
    FramePlanError::TooLarge { type_name, limit: PAYLOAD_BYTES_MAX }
}
