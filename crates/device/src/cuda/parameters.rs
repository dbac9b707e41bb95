//! The parameters of a launch as the driver takes them: a pointer to each value. A span is two
//! parameters, where its memory starts on the device and its offset, as `prelude.h` declares them.
//!
//! It must not call the driver.

use crate::driver::RawSpan;
use crate::kernel::Argument;
use std::ffi::c_void;
use std::ptr;

/// Parameters of one launch at most: more than any kernel here has, and a launch allocates nothing.
pub(super) const PARAMETERS_MAX: usize = 128;

/// The values of a launch's parameters, each in a word of its own.
#[derive(Debug)]
pub(super) struct Parameters {
    values: [u64; PARAMETERS_MAX],
    count: usize,
}

impl Parameters {
    /// The parameters of `arguments`; `on_device` gives the address of a span's memory. `None`: too
    /// many.
    pub(super) fn of(
        arguments: &[Argument<'_>],
        on_device: impl Fn(RawSpan) -> u64,
    ) -> Option<Self> {
        let mut parameters = Self { values: [0; PARAMETERS_MAX], count: 0 };
        for argument in arguments {
            match argument {
                Argument::In(span) | Argument::Out(span) => {
                    let span = span.raw();
                    parameters.push(on_device(span).to_ne_bytes())?;
                    parameters.push(span.offset.to_ne_bytes())?;
                }
                Argument::U32(value) => parameters.push(value.to_ne_bytes())?,
                Argument::I32(value) => parameters.push(value.to_ne_bytes())?,
                Argument::F32(value) => parameters.push(value.to_ne_bytes())?,
                Argument::U64(value) => parameters.push(value.to_ne_bytes())?,
            }
        }
        Some(parameters)
    }

    /// The driver reads as many bytes as the parameter has, from the start of the word.
    fn push<const BYTES: usize>(&mut self, value: [u8; BYTES]) -> Option<()> {
        let place = self.values.get_mut(self.count)?;
        let mut word = [0; 8];
        word[..BYTES].copy_from_slice(&value);
        *place = u64::from_ne_bytes(word);
        self.count += 1;
        Some(())
    }

    /// A pointer to each value, valid while this is borrowed; the rest is null.
    pub(super) fn pointers(&mut self) -> [*mut c_void; PARAMETERS_MAX] {
        let mut pointers = [ptr::null_mut(); PARAMETERS_MAX];
        for (pointer, value) in pointers.iter_mut().zip(&mut self.values[..self.count]) {
            *pointer = ptr::from_mut(value).cast();
        }
        pointers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that the driver would read for a parameter of that type.
    fn read<T: Copy>(pointer: *mut c_void) -> T {
        // SAFETY: a pointer to 8 bytes that live, aligned to 8.
        unsafe { *pointer.cast::<T>() }
    }

    #[test]
    fn numbers_are_read_back_in_the_type_of_their_parameter() {
        let arguments =
            [Argument::U32(7), Argument::I32(-7), Argument::F32(0.5), Argument::U64(u64::MAX - 1)];
        let mut parameters = Parameters::of(&arguments, |_| unreachable!()).expect("few");
        let pointers = parameters.pointers();
        assert_eq!(read::<u32>(pointers[0]), 7);
        assert_eq!(read::<i32>(pointers[1]), -7);
        assert_eq!(read::<f32>(pointers[2]), 0.5);
        assert_eq!(read::<u64>(pointers[3]), u64::MAX - 1);
        assert!(pointers[4..].iter().all(|pointer| pointer.is_null()));
    }

    #[test]
    fn more_parameters_than_there_is_room_for_are_refused() {
        let most = [Argument::U32(1); PARAMETERS_MAX];
        assert!(Parameters::of(&most, |_| unreachable!()).is_some());
        let many = [Argument::U32(1); PARAMETERS_MAX + 1];
        assert!(Parameters::of(&many, |_| unreachable!()).is_none());
    }
}
