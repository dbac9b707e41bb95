//! What C holds: structs that name the implementation that made them, and point to what they stand
//! for.

use super::node::NodeData;
use crate::abi::current;
use crate::abi::shared::{self, Allocator};
use crate::bell::Rings;
use crate::callbacks::Hub;
use crate::context;
use crate::failure::Failure;
use crate::ports::Registered;
use crate::ports::events::Happenings;
use crate::ports::{client, publisher, service, subscription};
use std::ffi::{CStr, CString, c_char, c_void};

/// What `RMW_IMPLEMENTATION` says, and every handle that this library makes.
pub(super) static IDENTIFIER: &CStr = c"rmw_crossdock";

/// A struct of C, and what it stands for.
pub(super) trait Handle {
    type Data: Belongs;
    fn identifier(&self) -> *const c_char;
    fn data(&self) -> *mut c_void;
    /// From now on it stands for nothing.
    fn clear(&mut self);
}

/// What a struct of C stands for belongs to a context, and so to the process that has opened it.
pub(super) trait Belongs {
    fn hub(&self) -> &Hub;
}

impl Belongs for context::Context {
    fn hub(&self) -> &Hub {
        &self.hub
    }
}

impl<P: Rings + 'static> Belongs for Registered<P> {
    fn hub(&self) -> &Hub {
        &self.context.hub
    }
}

impl Belongs for publisher::Publisher {
    fn hub(&self) -> &Hub {
        self.happenings.hub()
    }
}

impl Belongs for Happenings {
    fn hub(&self) -> &Hub {
        self.hub()
    }
}

macro_rules! handles {
    ($($of:ty => $data:ty, $field:ident;)*) => {$(
        impl Handle for $of {
            type Data = $data;

            fn identifier(&self) -> *const c_char {
                self.implementation_identifier
            }

            fn data(&self) -> *mut c_void {
                self.$field
            }

            fn clear(&mut self) {
                self.$field = std::ptr::null_mut();
            }
        }
    )*};
}

handles! {
    current::Context => context::Context, impl_;
    current::Node => NodeData, data;
    current::GuardCondition => super::wait::Guard, data;
    current::Subscription => Registered<subscription::Subscription>, data;
    shared::Publisher => publisher::Publisher, data;
    shared::Client => Registered<client::Client>, data;
    shared::Service => Registered<service::Service>, data;
    shared::WaitSet => super::wait::WaitSetData, data;
    shared::Event => Happenings, data;
}

/// Made where there is one only: a failure has parts to drop, which costs each call that makes one.
#[cold]
fn null(name: &'static str) -> Failure {
    Failure::Null { name }
}

/// As [`null`], of a handle that stands for nothing any more.
#[cold]
fn destroyed(name: &'static str) -> Failure {
    Failure::Argument { name, what: "it was destroyed before" }
}

/// Refuses a null pointer.
pub(super) fn given<T>(pointer: *const T, name: &'static str) -> Result<*const T, Failure> {
    if pointer.is_null() { Err(Failure::Null { name }) } else { Ok(pointer) }
}

/// Whether an identifier is this library's. What it points to is not read: client libraries pass
/// structs that they have freed, and this has to be an error then.
pub(super) fn check_identifier(
    identifier: *const c_char,
    name: &'static str,
) -> Result<(), Failure> {
    if identifier == IDENTIFIER.as_ptr() { Ok(()) } else { Err(Failure::Foreign { name }) }
}

/// A struct of C that this library has made.
///
/// # Safety
///
/// The pointer is null or valid for `'a`.
pub(super) unsafe fn handle<'a, H: Handle>(
    pointer: *const H,
    name: &'static str,
) -> Result<&'a H, Failure> {
    // SAFETY: null or valid (caller).
    let handle = unsafe { pointer.as_ref() }.ok_or_else(|| null(name))?;
    check_identifier(handle.identifier(), name)?;
    Ok(handle)
}

/// What a struct of C that this library has made stands for. In a forked child it is the parent's,
/// and refused.
///
/// # Safety
///
/// As [`handle`]; what it stands for is not destroyed during `'a`.
pub(super) unsafe fn data<'a, H: Handle>(
    pointer: *const H,
    name: &'static str,
) -> Result<&'a H::Data, Failure> {
    // SAFETY: as the caller says.
    let handle = unsafe { handle(pointer, name) }?;
    let data = handle.data().cast::<H::Data>();
    // SAFETY: what this library has put there, or null in a struct that was finalised.
    let data = unsafe { data.as_ref() };
    let data = data.ok_or_else(|| destroyed(name))?;
    data.hub().check_process()?;
    Ok(data)
}

/// A text of C.
///
/// # Safety
///
/// It is null or a text of C, unchanged for `'a`.
pub(super) unsafe fn text<'a>(from: *const c_char, name: &'static str) -> Result<&'a str, Failure> {
    given(from, name)?;
    // SAFETY: a text of C (caller).
    let text = unsafe { CStr::from_ptr(from) }.to_str();
    text.map_err(|_| Failure::Argument { name, what: "it is no UTF-8" })
}

/// Where a result goes.
///
/// # Safety
///
/// The pointer is null or valid for `'a`, and nobody else uses it.
pub(super) unsafe fn out<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut T, Failure> {
    // SAFETY: null or valid (caller).
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// Writes a result; what was there is not looked at.
///
/// # Safety
///
/// The pointer is valid for writing.
pub(super) unsafe fn set<T>(pointer: *mut T, value: T) {
    // SAFETY: as the caller says.
    unsafe { pointer.write(value) };
}

/// A copy of a text for C, until [`free_text`].
pub(super) fn new_text(text: &str) -> *const c_char {
    // A checked name has no NUL.
    CString::new(text).unwrap_or_default().into_raw()
}

/// Frees a text of [`new_text`].
///
/// # Safety
///
/// It is one, or null, and is not used afterwards.
pub(super) unsafe fn free_text(text: *const c_char) {
    if !text.is_null() {
        // SAFETY: `new_text` has made it (caller).
        drop(unsafe { CString::from_raw(text.cast_mut()) });
    }
}

/// Frees a struct of C that this library has made with `Box`, and gives what it stands for. In a
/// forked child it is left alone: dropping it would take locks that nobody there gives back.
///
/// # Safety
///
/// Its data are a `Box`; neither is used afterwards.
pub(super) unsafe fn destroy<H: Handle>(pointer: *mut H) -> Result<Box<H::Data>, Failure> {
    // SAFETY: made by this library (caller).
    unsafe { data(pointer.cast_const(), "handle") }?.hub().handles.remove(pointer.addr());
    // SAFETY: made by this library with `Box` (caller).
    let handle = unsafe { Box::from_raw(pointer) };
    // SAFETY: as above.
    Ok(unsafe { Box::from_raw(handle.data().cast()) })
}

/// Gives C the handle of a port. What it stands for ends with the node, if not before.
pub(super) fn hand_out<H: Handle>(node: &NodeData, handle: H) -> *mut H {
    let pointer = Box::into_raw(Box::new(handle));
    let node_at = std::ptr::from_ref(node).addr();
    node.hub().handles.add(node_at, pointer.expose_provenance(), end::<H>);
    pointer
}

/// Ends what the handle of a port stands for. The handle stays: what uses it hears that it was
/// destroyed.
///
/// # Safety
///
/// [`hand_out`] has given the address out, nobody has destroyed the handle, and nobody uses it now.
unsafe fn end<H: Handle>(address: usize) {
    let pointer = std::ptr::with_exposed_provenance_mut::<H>(address);
    // SAFETY: as the caller says.
    let handle = unsafe { &mut *pointer };
    let data = handle.data().cast::<H::Data>();
    handle.clear();
    // SAFETY: data of a port are a `Box`, and nothing points to them any more.
    drop(unsafe { Box::from_raw(data) });
}

/// Whether an allocator has all its functions.
pub(super) fn check_allocator(allocator: &Allocator, name: &'static str) -> Result<(), Failure> {
    let is_whole = allocator.allocate.is_some()
        && allocator.deallocate.is_some()
        && allocator.reallocate.is_some()
        && allocator.zero_allocate.is_some();
    if is_whole {
        Ok(())
    } else {
        Err(Failure::Argument { name, what: "its allocator is not whole" })
    }
}

/// Memory from an allocator of C.
///
/// # Safety
///
/// The allocator is one of C.
pub(super) unsafe fn allocate(
    allocator: &Allocator,
    bytes: usize,
    name: &'static str,
) -> Result<*mut c_void, Failure> {
    let Allocator { allocate: Some(allocate), state, .. } = *allocator else {
        return Err(Failure::Argument { name, what: "its allocator is not whole" });
    };
    // SAFETY: a function of the allocator gets its state (caller).
    let memory = unsafe { allocate(bytes, state) };
    if memory.is_null() { Err(Failure::Allocator { name, bytes }) } else { Ok(memory) }
}

/// Gives memory back to its allocator.
///
/// # Safety
///
/// It is null or of this allocator, and not used afterwards.
pub(super) unsafe fn deallocate(allocator: &Allocator, memory: *mut c_void) {
    if let Allocator { deallocate: Some(deallocate), state, .. } = *allocator
        && !memory.is_null()
    {
        // SAFETY: a function of the allocator gets memory of it, and its state (caller).
        unsafe { deallocate(memory, state) };
    }
}

/// A copy of a text of C in memory of an allocator; null of null.
///
/// # Safety
///
/// As [`allocate`]; the text is null or one of C.
pub(super) unsafe fn copy_text(
    allocator: &Allocator,
    from: *const c_char,
    name: &'static str,
) -> Result<*mut c_char, Failure> {
    if from.is_null() {
        return Ok(std::ptr::null_mut());
    }
    // SAFETY: a text of C (caller).
    let bytes = unsafe { CStr::from_ptr(from) }.to_bytes_with_nul();
    // SAFETY: as the caller says.
    let copy = unsafe { allocate(allocator, bytes.len(), name) }?.cast::<c_char>();
    // SAFETY: there is room for as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), copy, bytes.len()) };
    Ok(copy)
}
