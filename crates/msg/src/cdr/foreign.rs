//! CDR that is not XCDR1 little endian, and the field in which damaged CDR is damaged.
//!
//! Big-endian input and XCDR2 are rare, so they are rewritten field by field as XCDR1 little
//! endian, which everything else reads. The same walk over a damaged message names the field
//! where it ends.
//!
//! XCDR2 aligns to 4 bytes at most, puts a length before collections of texts and structs, and,
//! for appendable types, before each struct. ROS 2's own type support leaves these lengths out,
//! and writes wide texts as in XCDR1. No header says so. Each form is tried; all lengths have to
//! be right and the input has to end with the message, so that a wrong form does not pass for the
//! right one.

#![forbid(unsafe_code)]

use super::{CdrError, HEADER_BYTES, HEADER_LITTLE_ENDIAN, PADDING_MAX};
use crate::definition::Shape;
use crate::layout::{ElementLayout, FieldLayout, Layout};
use std::fmt::Write as _;

/// How wide texts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wide {
    /// Count of units, 4 bytes each.
    Units4,
    /// Count of bytes, 2 for each unit.
    Bytes,
}

/// What a header does not say, and what follows from it.
#[derive(Clone, Copy, Debug)]
struct Form {
    big_endian: bool,
    alignment_max: usize,
    /// A length before each struct.
    structs: bool,
    /// A length before each collection of texts or structs.
    collections: bool,
    wide: Wide,
}

impl Form {
    const XCDR1: Self = Self {
        big_endian: false,
        alignment_max: 8,
        structs: false,
        collections: false,
        wide: Wide::Units4,
    };

    /// The forms that an encapsulation header allows, the standard's first. None: not readable.
    fn of_header(header: [u8; 2]) -> Vec<Self> {
        let [0, low] = header else { return Vec::new() };
        let big_endian = low.is_multiple_of(2);
        let structs = match low {
            0 | 1 => return vec![Self { big_endian, ..Self::XCDR1 }],
            6 | 7 | 0x10 | 0x11 => false,
            8 | 9 | 0x14 | 0x15 => true,
            _ => return Vec::new(),
        };
        let mut forms = Vec::new();
        for collections in [true, false] {
            for wide in [Wide::Bytes, Wide::Units4] {
                forms.push(Self { big_endian, alignment_max: 4, structs, collections, wide });
            }
        }
        forms
    }
}

/// Input that failed with `error` as XCDR1 little endian, if it is in another encoding that can be
/// read; else the error with the field's path. Allocates.
#[cold]
pub(crate) fn rewritten_or(
    layout: &Layout,
    bytes: &[u8],
    error: CdrError,
) -> Result<Vec<u8>, CdrError> {
    match rewritten(layout, bytes)? {
        Some(rewritten) => Ok(rewritten),
        None => Err(located(layout, bytes, error)),
    }
}

/// The message as XCDR1 little endian, if `bytes` is in another encoding that can be read; nothing
/// if it is in none, or in XCDR1 little endian already. Allocates.
///
/// # Errors
///
/// The input is cut off or damaged; the error names the field.
fn rewritten(layout: &Layout, bytes: &[u8]) -> Result<Option<Vec<u8>>, CdrError> {
    let Some(&[first, second, _, options]) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    if [first, second] == HEADER_LITTLE_ENDIAN[..2] {
        return Ok(None);
    }
    let mut padded = None;
    let mut furthest: Option<(usize, CdrError)> = None;
    for form in Form::of_header([first, second]) {
        let mut rewriter = Rewriter::new(layout, bytes, form);
        let end = rewriter.message();
        match end {
            // Writers of XCDR2 say how many bytes follow the message.
            Ok(padding) if padding == usize::from(options & 3) => return Ok(Some(rewriter.out)),
            Ok(_) => {
                padded.get_or_insert(rewriter.out);
            }
            Err(error) => {
                if furthest.as_ref().is_none_or(|(at, _)| rewriter.at > *at) {
                    furthest = Some((rewriter.at, rewriter.in_field(error)));
                }
            }
        }
    }
    match (padded, furthest) {
        (Some(out), _) => Ok(Some(out)),
        (None, Some((_, error))) => Err(error),
        (None, None) => Ok(None),
    }
}

/// The error of a message in XCDR1 little endian, with the field in which the input is damaged.
fn located(layout: &Layout, bytes: &[u8], error: CdrError) -> CdrError {
    use CdrError::{Build, Encoding, Room};
    if matches!(error, Room { .. } | Build(_) | Encoding { .. }) || bytes.len() < HEADER_BYTES {
        return error;
    }
    let mut rewriter = Rewriter::new(layout, bytes, Form::XCDR1);
    match rewriter.message() {
        Ok(_) => error,
        Err(_) => rewriter.in_field(error),
    }
}

/// A step of the way to a field.
#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
}

struct Rewriter<'a> {
    layout: &'a Layout,
    bytes: &'a [u8],
    at: usize,
    form: Form,
    out: Vec<u8>,
    /// The way to the field that is read. It stays where an error is met.
    path: Vec<Step<'a>>,
}

impl<'a> Rewriter<'a> {
    fn new(layout: &'a Layout, bytes: &'a [u8], form: Form) -> Self {
        let out = HEADER_LITTLE_ENDIAN.to_vec();
        Self { layout, bytes, at: HEADER_BYTES, form, out, path: Vec::new() }
    }

    /// Reads the whole message and gives the number of bytes behind it.
    fn message(&mut self) -> Result<usize, CdrError> {
        self.structure(0)?;
        match self.bytes.len() - self.at {
            padding if padding <= PADDING_MAX => Ok(padding),
            _ => Err(CdrError::Trailing { at: self.at, bytes: self.bytes.len() }),
        }
    }

    fn in_field(&self, cause: CdrError) -> CdrError {
        let mut field = String::new();
        for step in &self.path {
            let dot = if field.is_empty() { "" } else { "." };
            let _ = match step {
                Step::Field(name) => write!(field, "{dot}{name}"),
                Step::Index(index) => write!(field, "[{index}]"),
            };
        }
        match field.is_empty() {
            true => cause,
            false => CdrError::InField { field: field.into(), cause: Box::new(cause) },
        }
    }

    /// Nesting is bounded by `resolve`, the number of elements by the input's length.
    fn structure(&mut self, index: usize) -> Result<(), CdrError> {
        let end = if self.form.structs { Some(self.delimiter()?) } else { None };
        let layout = self.layout;
        for field in &layout.structs[index].fields {
            self.path.push(Step::Field(&field.name));
            self.field(field)?;
            self.path.pop();
        }
        self.ends_at(end)
    }

    fn field(&mut self, field: &'a FieldLayout) -> Result<(), CdrError> {
        let is_number = matches!(field.element, ElementLayout::Primitive(_));
        let delimited = self.form.collections && !is_number && field.shape != Shape::One;
        let end = if delimited { Some(self.delimiter()?) } else { None };
        let count = match field.shape {
            Shape::One => return self.element(field.element),
            Shape::Array(count) => count as usize,
            Shape::Sequence { bound } => {
                let count = self.length(self.bytes_min(field.element))?;
                self.check_bound(count, bound)?;
                self.put_count(count);
                count
            }
        };
        match field.element {
            ElementLayout::Primitive(primitive) => {
                self.numbers(count, primitive.bytes() as usize)?;
            }
            element => {
                for index in 0..count {
                    self.path.push(Step::Index(index));
                    self.element(element)?;
                    self.path.pop();
                }
            }
        }
        self.ends_at(end)
    }

    fn element(&mut self, element: ElementLayout) -> Result<(), CdrError> {
        match element {
            ElementLayout::Primitive(primitive) => self.numbers(1, primitive.bytes() as usize),
            ElementLayout::Struct(index) => self.structure(index),
            ElementLayout::Text { bound } => {
                let length = self.length(1)?;
                let start = self.at;
                let text = self.run(length, 1)?;
                match text.split_last() {
                    Some((0, text)) => self.check_bound(text.len(), bound)?,
                    None => {}
                    Some(_) => return Err(CdrError::NotTerminated { at: start }),
                }
                self.put_count(length.max(1));
                self.out.extend_from_slice(text);
                if length == 0 {
                    self.out.push(0);
                }
                Ok(())
            }
            ElementLayout::WideText { bound } => self.wide_text(bound),
        }
    }

    fn wide_text(&mut self, bound: Option<u32>) -> Result<(), CdrError> {
        let (size, count) = match self.form.wide {
            Wide::Units4 => (4, self.length(4)?),
            Wide::Bytes => {
                let bytes = self.length(1)?;
                let at = self.at;
                if !bytes.is_multiple_of(2) {
                    return Err(CdrError::Delimiter { at: at + bytes, says: at + bytes + 1 });
                }
                (2, bytes / 2)
            }
        };
        self.check_bound(count, bound)?;
        let start = self.at;
        let units = self.run(count * size, 1)?;
        self.put_count(count);
        for (index, bytes) in units.chunks_exact(size).enumerate() {
            let unit = self.number(bytes);
            if unit > 0xffff {
                return Err(CdrError::WideUnit { at: start + size * index, unit });
            }
            self.out.extend_from_slice(&unit.to_le_bytes());
        }
        Ok(())
    }

    /// At most 4 bytes as a number.
    fn number(&self, bytes: &[u8]) -> u32 {
        let add = |sum: u32, byte: &u8| (sum << 8) | u32::from(*byte);
        match self.form.big_endian {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        }
    }

    fn numbers(&mut self, count: usize, size: usize) -> Result<(), CdrError> {
        if count == 0 {
            return Ok(());
        }
        let values = self.run(count.saturating_mul(size), size)?;
        self.align_out(size);
        match self.form.big_endian && size > 1 {
            true => values.chunks_exact(size).for_each(|it| self.out.extend(it.iter().rev())),
            false => self.out.extend_from_slice(values),
        }
        Ok(())
    }

    /// Where a part ends, as the length before it says. What the part holds is read first: if the
    /// input is cut off, the error names the field.
    fn delimiter(&mut self) -> Result<usize, CdrError> {
        let bytes = self.length(0)?;
        Ok(self.at.saturating_add(bytes))
    }

    fn ends_at(&self, end: Option<usize>) -> Result<(), CdrError> {
        match end {
            Some(end) if end != self.at => Err(CdrError::Delimiter { at: self.at, says: end }),
            _ => Ok(()),
        }
    }

    /// A length, refused if what it counts cannot fit.
    fn length(&mut self, bytes_min: usize) -> Result<usize, CdrError> {
        let word = self.run(4, 4)?;
        let length = self.number(word) as usize;
        let (wanted, bytes) = (length.saturating_mul(bytes_min), self.bytes.len());
        if wanted > bytes - self.at {
            return Err(CdrError::TooShort { at: self.at, wanted, bytes });
        }
        Ok(length)
    }

    fn bytes_min(&self, element: ElementLayout) -> usize {
        match element {
            ElementLayout::Primitive(primitive) => primitive.bytes() as usize,
            ElementLayout::Struct(_) => 1,
            _ => 4,
        }
    }

    fn check_bound(&self, length: usize, bound: Option<u32>) -> Result<(), CdrError> {
        match bound {
            Some(bound) if length > bound as usize => {
                Err(CdrError::OverBound { at: self.at, length, bound: bound as usize })
            }
            _ => Ok(()),
        }
    }

    /// The next `count` bytes, aligned as numbers of `size` bytes are in this form.
    fn run(&mut self, count: usize, size: usize) -> Result<&'a [u8], CdrError> {
        let alignment = size.min(self.form.alignment_max);
        let start = (self.at - HEADER_BYTES).next_multiple_of(alignment) + HEADER_BYTES;
        let found = start.checked_add(count).and_then(|end| self.bytes.get(start..end));
        let short = CdrError::TooShort { at: start, wanted: count, bytes: self.bytes.len() };
        let found = found.ok_or(short)?;
        self.at = start + count;
        Ok(found)
    }

    fn align_out(&mut self, size: usize) {
        let at = self.out.len() - HEADER_BYTES;
        let end = at.next_multiple_of(size.min(Form::XCDR1.alignment_max)) + HEADER_BYTES;
        self.out.resize(end, 0);
    }

    fn put_count(&mut self, count: usize) {
        self.align_out(4);
        // It was read from four bytes.
        self.out.extend_from_slice(&(count as u32).to_le_bytes());
    }
}
