//! Lists of texts for C, in memory of C's allocators: what its caller frees by rcutils' and rmw's
//! own functions.

use super::handles::{allocate, deallocate};
use crate::abi::shared::{Allocator, NamesAndTypes, StringArray};
use crate::failure::Failure;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

unsafe extern "C" fn malloc(bytes: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: it takes any size.
    unsafe { libc::malloc(bytes) }
}

unsafe extern "C" fn free(memory: *mut c_void, _: *mut c_void) {
    // SAFETY: of this allocator (caller).
    unsafe { libc::free(memory) };
}

unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: of this allocator (caller).
    unsafe { libc::realloc(memory, bytes) }
}

unsafe extern "C" fn calloc(count: usize, bytes: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: it takes any size.
    unsafe { libc::calloc(count, bytes) }
}

/// The allocator of C's library, as `rcutils_get_default_allocator`.
pub(super) const DEFAULT: Allocator = Allocator {
    allocate: Some(malloc),
    deallocate: Some(free),
    reallocate: Some(realloc),
    zero_allocate: Some(calloc),
    state: null_mut(),
};

/// A text for C.
///
/// # Safety
///
/// The allocator is one of C.
pub(super) unsafe fn new_text(allocator: &Allocator, text: &str) -> Result<*mut c_char, Failure> {
    // SAFETY: as the caller says.
    let memory = unsafe { allocate(allocator, text.len() + 1, "a name") }?.cast::<c_char>();
    // SAFETY: there is room for the text and a NUL byte.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), memory, text.len()) };
    // SAFETY: as above.
    unsafe { memory.add(text.len()).write(0) };
    Ok(memory)
}

/// Room for `count` values; null of none.
///
/// # Safety
///
/// The allocator is one of C.
pub(super) unsafe fn room<T>(allocator: &Allocator, count: usize) -> Result<*mut T, Failure> {
    if count == 0 {
        return Ok(null_mut());
    }
    let bytes = count.saturating_mul(size_of::<T>());
    // SAFETY: as the caller says.
    Ok(unsafe { allocate(allocator, bytes, "a list") }?.cast())
}

/// A list of texts for C.
///
/// # Safety
///
/// The allocator is one of C.
pub(super) unsafe fn texts<'a>(
    allocator: &Allocator,
    from: impl ExactSizeIterator<Item = &'a str>,
) -> Result<StringArray, Failure> {
    // SAFETY: as the caller says.
    let data = unsafe { room::<*mut c_char>(allocator, from.len()) }?;
    let mut array = StringArray { size: 0, data, allocator: *allocator };
    for text in from {
        // SAFETY: as the caller says.
        match unsafe { new_text(allocator, text) } {
            Ok(text) => {
                // SAFETY: there is room for as many.
                unsafe { data.add(array.size).write(text) };
                array.size += 1;
            }
            Err(error) => {
                // SAFETY: just made, and given to nobody.
                unsafe { free_texts(&array) };
                return Err(error);
            }
        }
    }
    Ok(array)
}

/// Frees a list of [`texts`].
///
/// # Safety
///
/// It is one, and is not used afterwards.
pub(super) unsafe fn free_texts(array: &StringArray) {
    for place in 0..array.size {
        // SAFETY: as many texts lie there.
        let text = unsafe { *array.data.add(place) };
        // SAFETY: of this allocator.
        unsafe { deallocate(&array.allocator, text.cast()) };
    }
    // SAFETY: as above.
    unsafe { deallocate(&array.allocator, array.data.cast()) };
}

/// Whether a list is as C zeroes it.
pub(super) fn check_zero(array: &StringArray, name: &'static str) -> Result<(), Failure> {
    let is_zero = array.size == 0 && array.data.is_null();
    if is_zero { Ok(()) } else { Err(Failure::Argument { name, what: "it is not zero" }) }
}

/// As [`check_zero`].
pub(super) fn check_zero_names(list: &NamesAndTypes, name: &'static str) -> Result<(), Failure> {
    check_zero(&list.names, name)?;
    let what = "it is not zero";
    if list.types.is_null() { Ok(()) } else { Err(Failure::Argument { name, what }) }
}

/// Names, each with its types.
///
/// # Safety
///
/// The allocator is one of C.
pub(super) unsafe fn names_and_types(
    allocator: &Allocator,
    from: &[(&str, Vec<&str>)],
) -> Result<NamesAndTypes, Failure> {
    // SAFETY: as the caller says.
    let names = unsafe { texts(allocator, from.iter().map(|(name, _)| *name)) }?;
    // SAFETY: as above.
    let types = unsafe { room::<StringArray>(allocator, from.len()) };
    let types = types.inspect_err(|_| {
        // SAFETY: just made, and given to nobody.
        unsafe { free_texts(&names) };
    })?;
    for (place, (_, of)) in from.iter().enumerate() {
        // SAFETY: as the caller says.
        match unsafe { texts(allocator, of.iter().copied()) } {
            // SAFETY: there is room for as many.
            Ok(of) => unsafe { types.add(place).write(of) },
            Err(error) => {
                for made in 0..place {
                    // SAFETY: made above.
                    let made = unsafe { &*types.add(made) };
                    // SAFETY: given to nobody.
                    unsafe { free_texts(made) };
                }
                // SAFETY: of this allocator.
                unsafe { deallocate(allocator, types.cast()) };
                // SAFETY: just made, and given to nobody.
                unsafe { free_texts(&names) };
                return Err(error);
            }
        }
    }
    Ok(NamesAndTypes { names, types })
}
