//! The codec for types that are known only at run time: carries out a plan's steps.

#![forbid(unsafe_code)]

use super::plan::{Op, Plan};
use super::{CdrError, CdrReader, CdrSink, FlatSize, WideText};
use crate::block::{BLOCK_ALIGNMENT, Block, FlatError, REFERENCE_BYTES, array_alignment};

/// Size of the flat layout that this input decodes to.
pub(crate) fn flat_bytes(plan: &Plan, bytes: &[u8]) -> Result<usize, CdrError> {
    let mut input = CdrReader::new(bytes)?;
    let size = flat_bytes_at(plan, &mut input)?;
    input.finish()?;
    Ok(size)
}

/// The same of a message that is a part of another one: from where `input` stands.
pub(crate) fn flat_bytes_at(plan: &Plan, input: &mut CdrReader<'_>) -> Result<usize, CdrError> {
    let mut size = FlatSize::of_root(plan.root().stride);
    scan(plan, 0, input, &mut size)?;
    Ok(size.total())
}

/// Decodes into `memory` and gives the bytes used.
pub(crate) fn decode(plan: &Plan, bytes: &[u8], memory: &mut [u8]) -> Result<usize, CdrError> {
    let wanted = flat_bytes(plan, bytes)?;
    let room = memory.len();
    let Some(memory) = memory.get_mut(..wanted) else {
        return Err(CdrError::Room { wanted, room });
    };
    decode_at(plan, &mut CdrReader::new(bytes)?, memory)
}

/// Decodes a message from where `input` stands, and gives the bytes used. `memory` has room for it
/// ([`flat_bytes_at`]).
pub(crate) fn decode_at(
    plan: &Plan,
    input: &mut CdrReader<'_>,
    memory: &mut [u8],
) -> Result<usize, CdrError> {
    let root = plan.root().stride;
    memory[..root].fill(0);
    let mut decoder = Decoder { plan, memory, top: root };
    decoder.run(0, 0, input)?;
    Ok(decoder.top)
}

/// Encodes a flat message.
pub(crate) fn encode<'a, S: CdrSink<'a>>(
    plan: &Plan,
    block: Block<'a>,
    out: &mut S,
) -> Result<(), FlatError> {
    let root_bytes = plan.root().stride;
    if block.len() < root_bytes {
        return Err(FlatError::TooShort { block_bytes: block.len(), root_bytes });
    }
    if !(block.as_ptr() as usize).is_multiple_of(BLOCK_ALIGNMENT) {
        return Err(FlatError::Misaligned { at: 0, alignment: BLOCK_ALIGNMENT });
    }
    write(plan, 0, 0, block, out)
}

fn scan(
    plan: &Plan,
    program: usize,
    input: &mut CdrReader<'_>,
    size: &mut FlatSize,
) -> Result<(), CdrError> {
    for op in &plan.programs[program].ops {
        match *op {
            Op::Run { bytes, alignment, .. } => {
                input.run(bytes as usize, alignment as usize)?;
            }
            Op::Text { bound, .. } => {
                let length = input.text()?.len();
                check_bound(input, length, bound)?;
                size.text(length);
            }
            Op::WideText { bound, .. } => {
                let length = input.wide_text()?.len();
                check_bound(input, length, bound)?;
                size.array(2 * length);
            }
            Op::Array { size: one, bound, .. } => {
                let bytes = input.array(one as usize)?.len();
                check_bound(input, bytes / one as usize, bound)?;
                size.array(bytes);
            }
            Op::Sequence { program, bound, .. } => {
                let element = &plan.programs[program];
                let count = input.length(element.bytes_min)?;
                check_bound(input, count, bound)?;
                size.records(count, element.stride);
                match element.whole {
                    Some(alignment) if count > 0 => {
                        input.run(count.saturating_mul(element.stride), alignment as usize)?;
                    }
                    Some(_) => {}
                    None => (0..count).try_for_each(|_| scan(plan, program, input, size))?,
                }
            }
            Op::Repeat { count, program, .. } => {
                (0..count).try_for_each(|_| scan(plan, program, input, size))?;
            }
        }
    }
    Ok(())
}

fn check_bound(input: &CdrReader<'_>, length: usize, bound: Option<u32>) -> Result<(), CdrError> {
    bound.map_or(Ok(()), |bound| input.check_bound(length, bound as usize))
}

struct Decoder<'a> {
    plan: &'a Plan,
    memory: &'a mut [u8],
    top: usize,
}

impl Decoder<'_> {
    /// Decodes one struct that lies at byte `base`.
    fn run(
        &mut self,
        program: usize,
        base: usize,
        input: &mut CdrReader<'_>,
    ) -> Result<(), CdrError> {
        let plan = self.plan;
        for op in &plan.programs[program].ops {
            match *op {
                Op::Run { at, bytes, alignment } => {
                    let from = input.run(bytes as usize, alignment as usize)?;
                    self.place(base + at as usize, from.len())?.copy_from_slice(from);
                }
                Op::Text { at, .. } => {
                    let text = input.text()?;
                    if !text.is_empty() {
                        let start = self.claim(text.len() + 1, 1)?;
                        let place = self.place(start, text.len() + 1)?;
                        place[..text.len()].copy_from_slice(text);
                        place[text.len()] = 0;
                        self.refer(base + at as usize, start, text.len(), text.len() + 1)?;
                    }
                }
                Op::WideText { at, .. } => {
                    let wide = input.wide_text()?;
                    self.wide_text(base + at as usize, wide)?;
                }
                Op::Array { at, size, .. } => {
                    let values = input.array(size as usize)?;
                    self.array(base + at as usize, values, size as usize)?;
                }
                Op::Sequence { at, program, .. } => {
                    self.sequence(base + at as usize, program, input)?;
                }
                Op::Repeat { at, count, program } => {
                    let stride = plan.programs[program].stride;
                    for index in 0..count as usize {
                        self.run(program, base + at as usize + index * stride, input)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn sequence(
        &mut self,
        at: usize,
        program: usize,
        input: &mut CdrReader<'_>,
    ) -> Result<(), CdrError> {
        let element = &self.plan.programs[program];
        let count = input.length(element.bytes_min)?;
        if count == 0 {
            return Ok(());
        }
        let bytes = count.saturating_mul(element.stride);
        let start = self.claim(bytes, BLOCK_ALIGNMENT)?;
        self.refer(at, start, count, count)?;
        if let Some(alignment) = element.whole {
            let from = input.run(bytes, alignment as usize)?;
            self.place(start, bytes)?.copy_from_slice(from);
            return Ok(());
        }
        let stride = element.stride;
        self.place(start, bytes)?.fill(0);
        (0..count).try_for_each(|index| self.run(program, start + index * stride, input))
    }

    fn wide_text(&mut self, at: usize, wide: WideText<'_>) -> Result<(), CdrError> {
        let (count, bytes) = (wide.len(), 2 * wide.len());
        if count == 0 {
            return Ok(());
        }
        let start = self.claim(bytes, array_alignment(bytes))?;
        for (place, unit) in self.place(start, bytes)?.chunks_exact_mut(2).zip(wide.units()) {
            place.copy_from_slice(&unit.to_le_bytes());
        }
        self.refer(at, start, count, count)
    }

    fn array(&mut self, at: usize, values: &[u8], size: usize) -> Result<(), CdrError> {
        if values.is_empty() {
            return Ok(());
        }
        let start = self.claim(values.len(), array_alignment(values.len()))?;
        self.place(start, values.len())?.copy_from_slice(values);
        let count = values.len() / size;
        self.refer(at, start, count, count)
    }

    fn claim(&mut self, bytes: usize, alignment: usize) -> Result<usize, CdrError> {
        let start = self.top.next_multiple_of(alignment);
        self.place(start, bytes)?;
        self.top = start + bytes;
        Ok(start)
    }

    /// `bytes` bytes at `start`. The scan made the memory large enough, so this does not fail for
    /// input that stays as it was.
    fn place(&mut self, start: usize, bytes: usize) -> Result<&mut [u8], CdrError> {
        let room = self.memory.len();
        let end = start.saturating_add(bytes);
        self.memory.get_mut(start..end).ok_or(CdrError::Room { wanted: end, room })
    }

    fn refer(
        &mut self,
        at: usize,
        offset: usize,
        length: usize,
        capacity: usize,
    ) -> Result<(), CdrError> {
        let counts = length as u64 | ((capacity as u64) << 32);
        let place = self.place(at, REFERENCE_BYTES)?;
        place[..8].copy_from_slice(&(offset as u64).to_le_bytes());
        place[8..].copy_from_slice(&counts.to_le_bytes());
        Ok(())
    }
}

/// Encodes one struct that lies at byte `base`.
fn write<'a, S: CdrSink<'a>>(
    plan: &Plan,
    program: usize,
    base: usize,
    block: Block<'a>,
    out: &mut S,
) -> Result<(), FlatError> {
    for op in &plan.programs[program].ops {
        match *op {
            Op::Run { at, bytes, alignment } => {
                let (at, bytes) = (base + at as usize, bytes as usize);
                out.run(inside(block, at, bytes)?, alignment as usize);
            }
            Op::Text { at, bound } => out.text(slice(block, base + at as usize, bound)?)?,
            Op::WideText { at, bound } => {
                out.wide_text(slice(block, base + at as usize, bound)?)?
            }
            Op::Array { at, size: 1, bound } => {
                out.array::<u8>(slice(block, base + at as usize, bound)?)?;
            }
            Op::Array { at, size: 2, bound } => {
                out.array::<u16>(slice(block, base + at as usize, bound)?)?;
            }
            Op::Array { at, size: 4, bound } => {
                out.array::<u32>(slice(block, base + at as usize, bound)?)?;
            }
            Op::Array { at, size: 16, bound } => {
                let (at, size) = (base + at as usize, 16);
                let (start, count) = block.records_of(block.reference(at)?, size, at)?;
                check_length(at, count, bound)?;
                out.sequence(count, size)?;
                if count > 0 {
                    out.run(inside(block, start, count * size)?, BLOCK_ALIGNMENT);
                }
            }
            Op::Array { at, bound, .. } => {
                out.array::<u64>(slice(block, base + at as usize, bound)?)?;
            }
            Op::Sequence { at, program, bound } => {
                let (at, element) = (base + at as usize, &plan.programs[program]);
                let reference = block.reference(at)?;
                let (start, count) = block.records_of(reference, element.stride, at)?;
                check_length(at, count, bound)?;
                out.sequence(count, element.stride)?;
                match element.whole {
                    Some(alignment) if count > 0 => {
                        let bytes = inside(block, start, count * element.stride)?;
                        out.run(bytes, alignment as usize);
                    }
                    Some(_) => {}
                    None => (0..count).try_for_each(|index| {
                        write(plan, program, start + index * element.stride, block, out)
                    })?,
                }
            }
            Op::Repeat { at, count, program } => {
                let stride = plan.programs[program].stride;
                (0..count as usize).try_for_each(|index| {
                    write(plan, program, base + at as usize + index * stride, block, out)
                })?;
            }
        }
    }
    Ok(())
}

fn inside(block: Block<'_>, at: usize, bytes: usize) -> Result<&[u8], FlatError> {
    block.bytes(at, bytes).ok_or(FlatError::OutOfBlock {
        at,
        offset: at as u64,
        bytes: bytes as u64,
        block_bytes: block.len(),
    })
}

fn slice<V: crate::block::Plain>(
    block: Block<'_>,
    at: usize,
    bound: Option<u32>,
) -> Result<&[V], FlatError> {
    let values = block.slice(at)?;
    check_length(at, values.len(), bound)?;
    Ok(values)
}

pub(crate) fn check_length(at: usize, length: usize, bound: Option<u32>) -> Result<(), FlatError> {
    bound.map_or(Ok(()), |bound| crate::block::check_bound(at, length, bound as usize))
}
