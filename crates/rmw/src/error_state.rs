//! The error state of the calling thread, which librcutils keeps.
//!
//! librcutils is not linked: the one that the client library has loaded is found, whatever loaded
//! it. Under Python it is not in the global scope, so it is asked for by name, without loading it.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

type Set = unsafe extern "C" fn(*const c_char, *const c_char, usize);
type Reset = unsafe extern "C" fn();

/// Names of the library: ROS's own, and Debian's.
const NAMES: [&std::ffi::CStr; 3] = [c"librcutils.so", c"librcutils.so.1d", c"librcutils.so.0d"];

struct Functions {
    set: Set,
    reset: Reset,
}

/// The functions of the loaded librcutils; none if it is not loaded so far.
fn functions() -> Option<&'static Functions> {
    static FOUND: OnceLock<Functions> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Some(found);
    }
    let found = library().into_iter().chain([libc::RTLD_DEFAULT]).find_map(|library| {
        let set = symbol(library, c"rcutils_set_error_state")?;
        let reset = symbol(library, c"rcutils_reset_error")?;
        // SAFETY: the function has this type in every distribution.
        let set = unsafe { std::mem::transmute::<*mut c_void, Set>(set) };
        // SAFETY: as above.
        let reset = unsafe { std::mem::transmute::<*mut c_void, Reset>(reset) };
        Some(Functions { set, reset })
    })?;
    Some(FOUND.get_or_init(|| found))
}

fn library() -> Option<*mut c_void> {
    NAMES.iter().find_map(|name| {
        // SAFETY: the name is a text of C; RTLD_NOLOAD runs no code of a library.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        (!handle.is_null()).then_some(handle)
    })
}

fn symbol(library: *mut c_void, name: &std::ffi::CStr) -> Option<*mut c_void> {
    // SAFETY: a handle of `dlopen` that is never closed, or RTLD_DEFAULT.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Sets the error of the calling thread; an earlier one is replaced. Nothing happens in a process
/// without librcutils.
pub(crate) fn set(message: &str, file: &str, line: u32) {
    let Some(functions) = functions() else { return };
    // A NUL would end the text early.
    let clean = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
    let (message, file) = (clean(message), clean(file));
    reset();
    // SAFETY: two texts of C, which the function copies, shortened to its room.
    unsafe { (functions.set)(message.as_ptr(), file.as_ptr(), line as usize) };
}

/// Forgets the error of the calling thread.
pub(crate) fn reset() {
    if let Some(functions) = functions() {
        // SAFETY: it takes nothing and changes the calling thread's state alone.
        unsafe { (functions.reset)() };
    }
}
