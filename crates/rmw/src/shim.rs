//! The functions of `shim/shim.cpp`: what only C++ can do with a message, none of which lets an
//! exception out.

use crate::abi::shared::Function;
use crate::convert::ConvertError;
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    static crossdock_rmw_string_bytes: usize;
    static crossdock_rmw_wide_string_bytes: usize;
    pub(crate) fn crossdock_rmw_find(
        find: Function,
        support: *const c_void,
        identifier: *const c_char,
        found: *mut *const c_void,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_string_view(
        string: *const c_void,
        length: *mut usize,
    ) -> *const c_char;
    pub(crate) fn crossdock_rmw_string_assign(
        string: *mut c_void,
        data: *const c_char,
        length: usize,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_wide_string_view(
        string: *const c_void,
        length: *mut usize,
    ) -> *const u16;
    pub(crate) fn crossdock_rmw_wide_string_assign(
        string: *mut c_void,
        data: *const u16,
        length: usize,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_elements(
        member: *const c_void,
        size: Function,
        get: Function,
        first: *mut *const c_void,
        count: *mut usize,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_vector_assign(
        vector: *mut c_void,
        data: *const c_void,
        count: usize,
        bytes: usize,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_resize_cpp(
        member: *mut c_void,
        resize: Function,
        get: Function,
        count: usize,
        first: *mut *mut c_void,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_resize_c(
        member: *mut c_void,
        resize: Function,
        count: usize,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_bools_length(vector: *const c_void) -> usize;
    pub(crate) fn crossdock_rmw_bools_copy(vector: *const c_void, out: *mut u8, count: usize);
    pub(crate) fn crossdock_rmw_bools_assign(
        vector: *mut c_void,
        data: *const u8,
        count: usize,
    ) -> c_int;
    pub(crate) fn crossdock_rmw_init(init: Function, message: *mut c_void, how: c_int) -> c_int;
    pub(crate) fn crossdock_rmw_fini(fini: Function, message: *mut c_void) -> c_int;
}

/// Size of `std::string` in bytes.
pub(crate) fn string_bytes() -> usize {
    // SAFETY: a constant of the shim, never written.
    unsafe { crossdock_rmw_string_bytes }
}

/// Size of `std::u16string` in bytes.
pub(crate) fn wide_string_bytes() -> usize {
    // SAFETY: a constant of the shim, never written.
    unsafe { crossdock_rmw_wide_string_bytes }
}

/// What a function of the shim has said.
pub(crate) fn outcome(result: c_int) -> Result<(), ConvertError> {
    match result {
        0 => Ok(()),
        1 => Err(ConvertError::NoMemory),
        _ => Err(ConvertError::Threw),
    }
}
