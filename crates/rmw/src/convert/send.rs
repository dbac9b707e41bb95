//! From a ROS program's message to the flat layout: one walk for both passes.

use super::memory::{LENGTH_MAX, Place};
use super::plan::{Of, Step, Text};
use super::{ConvertError, Plan};
use crate::introspection::{Access, Language};
use crossdock_msg::block::{BLOCK_ALIGNMENT, REFERENCE_BYTES, array_alignment};

/// What a pass does with what the walk finds. Offsets are bytes from the start of the block.
trait Pass {
    /// Claims room in the tail.
    fn claim(&mut self, bytes: usize, alignment: usize) -> Result<usize, ConvertError>;

    /// Room for bytes of the message; `None` in a pass that only sums.
    fn room(&mut self, at: usize, bytes: usize) -> Option<&mut [u8]>;

    /// Sets a reference; an empty one keeps its zeros.
    fn refer(&mut self, at: usize, offset: usize, length: usize, capacity: usize) {
        let words = [offset as u64, length as u64 | ((capacity as u64) << 32)];
        if let Some(place) = self.room(at, REFERENCE_BYTES) {
            place[..8].copy_from_slice(&words[0].to_le_bytes());
            place[8..].copy_from_slice(&words[1].to_le_bytes());
        }
    }
}

/// The first pass: sums.
struct Sum {
    top: usize,
}

impl Pass for Sum {
    fn claim(&mut self, bytes: usize, alignment: usize) -> Result<usize, ConvertError> {
        let start = self.top.checked_next_multiple_of(alignment).unwrap_or(usize::MAX);
        self.top = start.saturating_add(bytes);
        Ok(start)
    }

    fn room(&mut self, _: usize, _: usize) -> Option<&mut [u8]> {
        None
    }
}

/// The second pass: writes. Every offset that it is given lies in the root struct or in a claim, so
/// inside the memory.
struct Writing<'a> {
    memory: &'a mut [u8],
    top: usize,
}

impl Pass for Writing<'_> {
    fn claim(&mut self, bytes: usize, alignment: usize) -> Result<usize, ConvertError> {
        let start = self.top.checked_next_multiple_of(alignment).unwrap_or(usize::MAX);
        let (wanted, room) = (start.saturating_add(bytes), self.memory.len());
        if wanted > room {
            return Err(ConvertError::Room { wanted, room });
        }
        self.top = wanted;
        Ok(start)
    }

    fn room(&mut self, at: usize, bytes: usize) -> Option<&mut [u8]> {
        Some(&mut self.memory[at..at + bytes])
    }
}

/// # Safety
///
/// As for `Plan::flat_bytes`.
pub(super) unsafe fn measure(plan: &Plan, message: Place) -> Result<usize, ConvertError> {
    let mut pass = Sum { top: plan.programs[0].flat_bytes };
    // SAFETY: the root's program belongs to the message (caller).
    unsafe { walk(plan, 0, message, 0, &mut pass) }?;
    Ok(pass.top)
}

/// # Safety
///
/// As for `Plan::write`.
pub(super) unsafe fn write(
    plan: &Plan,
    message: Place,
    memory: &mut [u8],
) -> Result<usize, ConvertError> {
    let (wanted, room) = (plan.programs[0].flat_bytes, memory.len());
    let root = memory.get_mut(..wanted).ok_or(ConvertError::Room { wanted, room })?;
    root.fill(0);
    let mut pass = Writing { memory, top: wanted };
    // SAFETY: the root's program belongs to the message (caller).
    unsafe { walk(plan, 0, message, 0, &mut pass) }?;
    Ok(pass.top)
}

/// Carries out one program for the struct at `from`, which lies at byte `at` of the block. Nesting
/// is bounded by introspection.
///
/// # Safety
///
/// The struct at `from` is of the program's type and the plan's language.
unsafe fn walk<P: Pass>(
    plan: &Plan,
    program: usize,
    from: Place,
    at: usize,
    pass: &mut P,
) -> Result<(), ConvertError> {
    for step in &plan.programs[program].steps {
        match *step {
            Step::Run { ros, flat, bytes } => {
                if let Some(room) = pass.room(at + flat, bytes) {
                    // SAFETY: the plan says that numbers of as many bytes lie there.
                    unsafe { from.at(ros).copy_to(room) };
                }
            }
            Step::Bools { .. } => {}
            Step::Texts { ros, flat, count, text } => {
                // SAFETY: the plan says that as many texts lie there.
                unsafe { texts(plan, text, from.at(ros), at + flat, count, pass) }?;
            }
            Step::Structs { ros, flat, count, program } => {
                // SAFETY: the plan says that as many structs of the program's type lie there.
                unsafe { structs(plan, program, from.at(ros), at + flat, count, pass) }?;
            }
            Step::Sequence { ros, flat, bound, access, of } => {
                // SAFETY: the plan says that a sequence with these functions lies there.
                unsafe { sequence(plan, (bound, &access, of), from.at(ros), at + flat, pass) }?;
            }
        }
    }
    Ok(())
}

/// # Safety
///
/// As many texts of this kind lie at `from`.
unsafe fn texts<P: Pass>(
    plan: &Plan,
    text: Text,
    from: Place,
    at: usize,
    count: usize,
    pass: &mut P,
) -> Result<(), ConvertError> {
    for index in 0..count {
        let (from, at) = (from.at(index * text.ros_bytes), at + index * REFERENCE_BYTES);
        // SAFETY: a text lies there (caller).
        let (data, length) = unsafe { from.text(plan.language, text.is_wide) }?;
        check(length, text.bound)?;
        if length == 0 {
            continue;
        }
        let (bytes, end, alignment) = match text.is_wide {
            true => (2 * length, 0, array_alignment(2 * length)),
            false => (length, 1, 1),
        };
        let start = pass.claim(bytes + end, alignment)?;
        pass.refer(at, start, length, length + end);
        if let Some(room) = pass.room(start, bytes + end) {
            room[bytes..].fill(0);
            // SAFETY: the text has as many bytes.
            unsafe { data.copy_to(&mut room[..bytes]) };
        }
    }
    Ok(())
}

/// # Safety
///
/// As many structs of the program's type lie at `from`.
unsafe fn structs<P: Pass>(
    plan: &Plan,
    program: usize,
    from: Place,
    at: usize,
    count: usize,
    pass: &mut P,
) -> Result<(), ConvertError> {
    let (ros, flat) = (plan.programs[program].ros_bytes, plan.programs[program].flat_bytes);
    for index in 0..count {
        // SAFETY: a struct of the type lies there (caller).
        unsafe { walk(plan, program, from.at(index * ros), at + index * flat, pass) }?;
    }
    Ok(())
}

/// # Safety
///
/// A sequence with these functions and elements lies at `from`.
unsafe fn sequence<P: Pass>(
    plan: &Plan,
    (bound, access, of): (usize, &Access, Of),
    from: Place,
    at: usize,
    pass: &mut P,
) -> Result<(), ConvertError> {
    if let (Of::Numbers { are_bools: true, .. }, Language::Cpp) = (of, plan.language) {
        // SAFETY: bools of C++ are a std::vector<bool>.
        return unsafe { bools(bound, from, at, pass) };
    }
    // SAFETY: a sequence with these functions lies there (caller).
    let (first, count) = unsafe { from.elements(plan.language, access) }?;
    check(count, bound)?;
    if count == 0 {
        return Ok(());
    }
    let whole = match of {
        Of::Numbers { bytes, .. } => Some((bytes, array_alignment(count.saturating_mul(bytes)))),
        Of::Structs(program) if plan.programs[program].is_whole => {
            Some((plan.programs[program].flat_bytes, BLOCK_ALIGNMENT))
        }
        Of::Structs(_) | Of::Texts(_) => None,
    };
    let stride = match (whole, of) {
        (Some((bytes, alignment)), _) => {
            let bytes = count.saturating_mul(bytes);
            let start = pass.claim(bytes, alignment)?;
            pass.refer(at, start, count, count);
            if let Some(room) = pass.room(start, bytes) {
                // SAFETY: as many elements of as many bytes each lie there, without padding.
                unsafe { first.copy_to(room) };
            }
            return Ok(());
        }
        (None, Of::Structs(program)) => plan.programs[program].flat_bytes,
        (None, _) => REFERENCE_BYTES,
    };
    let bytes = count.saturating_mul(stride);
    let start = pass.claim(bytes, BLOCK_ALIGNMENT)?;
    pass.refer(at, start, count, count);
    if let Some(room) = pass.room(start, bytes) {
        room.fill(0);
    }
    match of {
        // SAFETY: as many structs lie there.
        Of::Structs(program) => unsafe { structs(plan, program, first, start, count, pass) },
        // SAFETY: as many texts lie there.
        Of::Texts(text) => unsafe { texts(plan, text, first, start, count, pass) },
        Of::Numbers { .. } => Ok(()),
    }
}

/// # Safety
///
/// A `std::vector<bool>` lies at `from`.
unsafe fn bools<P: Pass>(
    bound: usize,
    from: Place,
    at: usize,
    pass: &mut P,
) -> Result<(), ConvertError> {
    // SAFETY: a std::vector<bool> lies there (caller).
    let count = unsafe { from.bools() };
    check(count, bound)?;
    if count == 0 {
        return Ok(());
    }
    let start = pass.claim(count, array_alignment(count))?;
    pass.refer(at, start, count, count);
    if let Some(room) = pass.room(start, count) {
        // SAFETY: it has as many elements.
        unsafe { from.copy_bools(room) };
    }
    Ok(())
}

fn check(length: usize, bound: usize) -> Result<(), ConvertError> {
    let bound = bound.min(LENGTH_MAX);
    if length > bound { Err(ConvertError::OverBound { length, bound }) } else { Ok(()) }
}
