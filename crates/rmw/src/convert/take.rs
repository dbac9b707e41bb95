//! From the flat layout to a ROS program's message, with the memory that the message has.
//!
//! The flat message may be in memory that its publisher still writes. Each reference is fetched
//! once and checked against the block; elements are numbers or bytes, for which any value will do.
//! References together cover no more than the block, so that a damaged message cannot ask for more
//! memory than it has itself.

use super::memory::PlaceMut;
use super::plan::{Of, Step, Text};
use super::{ConvertError, Plan};
use crate::introspection::{Access, Language};
use crossdock_msg::block::{BLOCK_ALIGNMENT, REFERENCE_BYTES, Reference};
use crossdock_msg::{Block, FlatError};

struct Taking<'a> {
    plan: &'a Plan,
    block: Block<'a>,
    /// Bytes that references may still cover.
    left: usize,
}

/// # Safety
///
/// As for `Plan::take`.
pub(super) unsafe fn take(
    plan: &Plan,
    block: Block<'_>,
    message: PlaceMut,
) -> Result<(), ConvertError> {
    let root_bytes = plan.programs[0].flat_bytes;
    if block.len() < root_bytes {
        let block_bytes = block.len();
        return Err(FlatError::TooShort { block_bytes, root_bytes }.into());
    }
    if !(block.as_ptr() as usize).is_multiple_of(BLOCK_ALIGNMENT) {
        return Err(FlatError::Misaligned { at: 0, alignment: BLOCK_ALIGNMENT }.into());
    }
    let mut taking = Taking { plan, block, left: block.len() };
    // SAFETY: the root's program belongs to the message (caller).
    unsafe { taking.walk(0, 0, message) }
}

impl<'a> Taking<'a> {
    /// Carries out one program for the struct at `to`, from byte `at` of the block on. Nesting is
    /// bounded by introspection.
    ///
    /// # Safety
    ///
    /// The struct at `to` is of the program's type and the plan's language.
    unsafe fn walk(&mut self, program: usize, at: usize, to: PlaceMut) -> Result<(), ConvertError> {
        let plan = self.plan;
        for step in &plan.programs[program].steps {
            match *step {
                Step::Run { ros, flat, bytes } => {
                    let from = self.bytes(at + flat, bytes)?;
                    // SAFETY: the plan says that numbers of as many bytes lie there.
                    unsafe { to.at(ros).copy_from(from) };
                }
                Step::Bools { ros, count } => {
                    // SAFETY: the plan says that as many bools lie there; the run before has set
                    // them.
                    unsafe { to.at(ros).make_bools(count) };
                }
                Step::Texts { ros, flat, count, text } => {
                    // SAFETY: the plan says that as many texts lie there.
                    unsafe { self.texts(text, at + flat, count, to.at(ros)) }?;
                }
                Step::Structs { ros, flat, count, program } => {
                    // SAFETY: the plan says that as many structs of the program's type lie there.
                    unsafe { self.structs(program, at + flat, count, to.at(ros)) }?;
                }
                Step::Sequence { ros, flat, bound, access, of } => {
                    // SAFETY: the plan says that a sequence with these functions lies there.
                    unsafe { self.sequence((bound, &access, of), at + flat, to.at(ros)) }?;
                }
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As many texts of this kind lie at `to`.
    unsafe fn texts(
        &mut self,
        text: Text,
        at: usize,
        count: usize,
        to: PlaceMut,
    ) -> Result<(), ConvertError> {
        let language = self.plan.language;
        for index in 0..count {
            let (at, to) = (at + index * REFERENCE_BYTES, to.at(index * text.ros_bytes));
            let reference = self.reference(at, text.bound)?;
            if text.is_wide {
                let units = self.block.slice_of::<u16>(reference, at)?;
                self.cover(2 * units.len())?;
                // SAFETY: a wide text lies there (caller).
                unsafe { to.set_wide_text(language, units) }?;
            } else {
                let bytes = self.block.slice_of::<u8>(reference, at)?;
                self.cover(bytes.len())?;
                // SAFETY: a text lies there (caller).
                unsafe { to.set_text(language, bytes) }?;
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As many structs of the program's type lie at `to`.
    unsafe fn structs(
        &mut self,
        program: usize,
        at: usize,
        count: usize,
        to: PlaceMut,
    ) -> Result<(), ConvertError> {
        let (ros, flat) =
            (self.plan.programs[program].ros_bytes, self.plan.programs[program].flat_bytes);
        for index in 0..count {
            // SAFETY: a struct of the type lies there (caller).
            unsafe { self.walk(program, at + index * flat, to.at(index * ros)) }?;
        }
        Ok(())
    }

    /// # Safety
    ///
    /// A sequence with these functions and elements lies at `to`.
    unsafe fn sequence(
        &mut self,
        (bound, access, of): (usize, &Access, Of),
        at: usize,
        to: PlaceMut,
    ) -> Result<(), ConvertError> {
        let (plan, language) = (self.plan, self.plan.language);
        let reference = self.reference(at, bound)?;
        let stride = match of {
            Of::Numbers { bytes, are_bools } => {
                let numbers = self.numbers(reference, bytes, at)?;
                // SAFETY: a sequence of such numbers lies there (caller).
                return unsafe { self.set_numbers((access, bytes, are_bools), numbers, to) };
            }
            Of::Structs(program) => plan.programs[program].flat_bytes,
            Of::Texts(_) => REFERENCE_BYTES,
        };
        let (start, count) = self.block.records_of(reference, stride, at)?;
        self.cover(count * stride)?;
        // SAFETY: a sequence with these functions lies there (caller).
        let first = unsafe { to.resize(language, access, count) }?;
        match of {
            Of::Structs(program) if plan.programs[program].is_whole => {
                let bytes = self.bytes(start, count * stride)?;
                if count > 0 {
                    // SAFETY: as many structs of as many bytes lie there now.
                    unsafe { first.copy_from(bytes) };
                }
                Ok(())
            }
            // SAFETY: as many structs of the type lie there now.
            Of::Structs(program) => unsafe { self.structs(program, start, count, first) },
            // SAFETY: as many texts lie there now.
            Of::Texts(text) => unsafe { self.texts(text, start, count, first) },
            Of::Numbers { .. } => Ok(()),
        }
    }

    /// # Safety
    ///
    /// A sequence of numbers of `bytes` bytes with these functions lies at `to`.
    unsafe fn set_numbers(
        &mut self,
        (access, bytes, are_bools): (&Access, usize, bool),
        numbers: &[u8],
        to: PlaceMut,
    ) -> Result<(), ConvertError> {
        let language = self.plan.language;
        self.cover(numbers.len())?;
        if are_bools && language == Language::Cpp {
            // SAFETY: bools of C++ are a std::vector<bool>.
            return unsafe { to.set_bools(numbers) };
        }
        // SAFETY: as the caller says.
        unsafe { to.set_numbers(language, access, numbers, bytes) }?;
        if are_bools && !numbers.is_empty() {
            // SAFETY: a sequence of C lies there, which has just got as many elements.
            return unsafe { to.make_elements_bools(access, numbers.len()) };
        }
        Ok(())
    }

    /// The bytes of numbers that a reference names, aligned as numbers of their size must be.
    fn numbers(
        &self,
        reference: Reference,
        bytes: usize,
        at: usize,
    ) -> Result<&'a [u8], ConvertError> {
        use crossdock_msg::block::as_bytes;
        let block = self.block;
        Ok(match bytes {
            1 => block.slice_of::<u8>(reference, at)?,
            2 => as_bytes(block.slice_of::<u16>(reference, at)?),
            4 => as_bytes(block.slice_of::<u32>(reference, at)?),
            _ => as_bytes(block.slice_of::<u64>(reference, at)?),
        })
    }

    /// Fetches a reference, once.
    fn reference(&self, at: usize, bound: usize) -> Result<Reference, ConvertError> {
        let reference = self.block.reference(at)?;
        let length = reference.length as usize;
        if length > bound {
            return Err(FlatError::OverBound { at, length, bound }.into());
        }
        Ok(reference)
    }

    fn bytes(&self, at: usize, count: usize) -> Result<&'a [u8], ConvertError> {
        self.block.bytes(at, count).ok_or_else(|| {
            let (offset, bytes, block_bytes) = (at as u64, count as u64, self.block.len());
            ConvertError::Flat(FlatError::OutOfBlock { at, offset, bytes, block_bytes })
        })
    }

    /// Counts bytes that a reference covers.
    fn cover(&mut self, bytes: usize) -> Result<(), ConvertError> {
        let overlap = || ConvertError::Flat(FlatError::Overlap { block_bytes: self.block.len() });
        self.left = self.left.checked_sub(bytes).ok_or_else(overlap)?;
        Ok(())
    }
}
