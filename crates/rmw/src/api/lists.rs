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

/// Memory of an allocator of C that is being filled. Dropped, it frees all of it; what is kept
/// ([`Making::keep`]) is the caller's of C. So a list is made whole or not at all.
pub(super) struct Making {
    allocator: Allocator,
    made: Vec<*mut c_void>,
}

impl Making {
    /// # Safety
    ///
    /// The allocator is one of C.
    pub(super) unsafe fn new(allocator: &Allocator) -> Self {
        Self { allocator: *allocator, made: Vec::new() }
    }

    /// Everything that was made is C's now.
    pub(super) fn keep(mut self) {
        self.made.clear();
    }

    /// Room for `count` values; null of none.
    fn room<T>(&mut self, count: usize) -> Result<*mut T, Failure> {
        if count == 0 {
            return Ok(null_mut());
        }
        let bytes = count.saturating_mul(size_of::<T>());
        // SAFETY: an allocator of C (maker).
        let memory = unsafe { allocate(&self.allocator, bytes, "a list") }?;
        self.made.push(memory);
        Ok(memory.cast())
    }

    /// Values one after the other; null of none.
    pub(super) fn values<T>(&mut self, values: Vec<T>) -> Result<*mut T, Failure> {
        let first = self.room::<T>(values.len())?;
        for (place, value) in values.into_iter().enumerate() {
            // SAFETY: there is room for as many.
            let to = unsafe { first.add(place) };
            // SAFETY: as above.
            unsafe { to.write(value) };
        }
        Ok(first)
    }

    /// A text.
    pub(super) fn text(&mut self, text: &str) -> Result<*mut c_char, Failure> {
        let bytes = text.bytes().chain([0]).map(|byte| byte as c_char).collect();
        self.values(bytes)
    }

    /// A list of texts.
    pub(super) fn texts<'a>(
        &mut self,
        from: impl Iterator<Item = &'a str>,
    ) -> Result<StringArray, Failure> {
        let texts = from.map(|text| self.text(text)).collect::<Result<Vec<_>, _>>()?;
        let (size, allocator) = (texts.len(), self.allocator);
        Ok(StringArray { size, data: self.values(texts)?, allocator })
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        for memory in self.made.drain(..) {
            // SAFETY: of this allocator, and given to nobody.
            unsafe { deallocate(&self.allocator, memory) };
        }
    }
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
