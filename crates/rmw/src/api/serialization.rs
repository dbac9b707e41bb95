//! Serialised messages: CDR (XCDR1, little endian), with its header of 4 bytes.
//!
//! A type is planned at each call, because a type support may be unloaded between two calls.

use super::answer;
use super::handles::given;
use crate::Plan;
use crate::abi::current::MessageSupport;
use crate::abi::shared::{Allocator, Ret, SerializedMessage};
use crate::failure::Failure;
use crate::introspection::{Current, read};
use crossdock_msg::{Block, FlatBuffer};
use std::ffi::c_void;

/// Encodes a message as CDR. The serialised message grows by its own allocator if it has too little
/// room. Allocates.
///
/// # Safety
///
/// Each pointer is null or what rmw's API says: an initialised message of the type, which nobody
/// changes meanwhile, a type support, and a serialised message that was initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmw_serialize(
    ros_message: *const c_void,
    type_support: *const MessageSupport,
    serialized_message: *mut SerializedMessage,
) -> Ret {
    answer("rmw_serialize", || {
        let message = given(ros_message, "ros_message")?;
        given(type_support, "type_support")?;
        given(serialized_message, "serialized_message")?;
        // SAFETY: a type support (caller).
        let found = unsafe { read::<Current>(type_support) }?;
        let plan = Plan::of(&found)?;
        // SAFETY: a message of the type (caller).
        let bytes = unsafe { plan.flat_bytes(message) }?;
        let mut flat = FlatBuffer::with_bytes(bytes);
        // SAFETY: as above.
        let used = unsafe { plan.write(message, flat.as_mut_slice()) }?;
        let block = Block::new(flat.as_slice().get(..used).unwrap_or_default());
        let mut cdr = Vec::with_capacity(plan.schema().cdr_bytes(block)?);
        plan.schema().encode_cdr(block, &mut cdr)?;
        // SAFETY: a serialised message (caller), which nobody else uses.
        let out = unsafe { &mut *serialized_message };
        // SAFETY: as above.
        unsafe { set(out, &cdr) }
    })
}

/// Decodes CDR into a message, which keeps the memory that it has. Allocates.
///
/// # Safety
///
/// Each pointer is null or what rmw's API says: a serialised message, a type support, and an
/// initialised message of the type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmw_deserialize(
    serialized_message: *const SerializedMessage,
    type_support: *const MessageSupport,
    ros_message: *mut c_void,
) -> Ret {
    answer("rmw_deserialize", || {
        given(serialized_message, "serialized_message")?;
        given(type_support, "type_support")?;
        given(ros_message, "ros_message")?;
        // SAFETY: a serialised message (caller).
        let input = unsafe { &*serialized_message };
        // SAFETY: a type support (caller).
        let found = unsafe { read::<Current>(type_support) }?;
        let plan = Plan::of(&found)?;
        // SAFETY: a serialised message (caller).
        let cdr = unsafe { bytes(input) }?;
        let mut flat = FlatBuffer::with_bytes(plan.schema().flat_bytes_of_cdr(cdr)?);
        let used = plan.schema().decode_cdr(cdr, flat.as_mut_slice())?;
        let block = Block::new(flat.as_slice().get(..used).unwrap_or_default());
        // SAFETY: a message of the type (caller).
        Ok(unsafe { plan.take(block, ros_message) }?)
    })
}

/// Not supported: the size depends on the message. ROS 2's client libraries do not call it.
///
/// # Safety
///
/// No pointer is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmw_get_serialized_message_size(
    _type_support: *const MessageSupport,
    _message_bounds: *const c_void,
    _size: *mut usize,
) -> Ret {
    answer("rmw_get_serialized_message_size", || {
        Err(Failure::Unsupported { what: "the size of a type's serialised messages" })
    })
}

/// The bytes of a serialised message.
///
/// # Safety
///
/// It is initialised, and nobody changes it.
pub(super) unsafe fn bytes(of: &SerializedMessage) -> Result<&[u8], Failure> {
    if of.buffer.is_null() || of.buffer_length > isize::MAX as usize {
        return Err(Failure::Argument { name: "serialized_message", what: "it has no bytes" });
    }
    // SAFETY: as many bytes lie there (caller).
    Ok(unsafe { std::slice::from_raw_parts(of.buffer, of.buffer_length) })
}

/// Sets the bytes of a serialised message.
///
/// # Safety
///
/// `out` is initialised: its buffer has its capacity, and comes from its allocator.
pub(super) unsafe fn set(out: &mut SerializedMessage, cdr: &[u8]) -> Result<(), Failure> {
    let name = "serialized_message";
    if out.buffer.is_null() || out.buffer_capacity < cdr.len() {
        let Allocator { reallocate: Some(reallocate), state, .. } = out.allocator else {
            return Err(Failure::Argument { name, what: "it has no allocator" });
        };
        // SAFETY: the buffer is null or of this allocator (caller).
        let buffer = unsafe { reallocate(out.buffer.cast(), cdr.len(), state) };
        if buffer.is_null() {
            return Err(Failure::Allocator { name, bytes: cdr.len() });
        }
        (out.buffer, out.buffer_capacity) = (buffer.cast(), cdr.len());
    }
    // SAFETY: the buffer has at least as many bytes and belongs to the caller of the API.
    unsafe { std::ptr::copy_nonoverlapping(cdr.as_ptr(), out.buffer, cdr.len()) };
    out.buffer_length = cdr.len();
    Ok(())
}
