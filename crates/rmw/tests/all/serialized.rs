//! Serialised messages through the functions that C calls.

use crate::rosidl::{LANGUAGES, Message, types};
use crossdock_test_support::data;
use rmw_crossdock::abi::shared::{
    Allocator, RMW_RET_BAD_ALLOC, RMW_RET_ERROR, RMW_RET_INVALID_ARGUMENT, RMW_RET_OK,
    RMW_RET_UNSUPPORTED, SerializedMessage,
};
use rmw_crossdock::api::{
    rmw_deserialize, rmw_get_implementation_identifier, rmw_get_serialization_format,
    rmw_get_serialized_message_size, rmw_serialize,
};
use rmw_crossdock::introspection::Language;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

unsafe extern "C" fn reallocate(old: *mut c_void, bytes: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: null, or memory of this allocator.
    unsafe { libc::realloc(old, bytes) }
}

unsafe extern "C" fn refuse(_: *mut c_void, _: usize, _: *mut c_void) -> *mut c_void {
    null_mut()
}

type Reallocate = unsafe extern "C" fn(*mut c_void, usize, *mut c_void) -> *mut c_void;

fn serialized(with: Option<Reallocate>) -> SerializedMessage {
    let allocator = Allocator {
        allocate: None,
        deallocate: None,
        reallocate: with,
        zero_allocate: None,
        state: null_mut(),
    };
    SerializedMessage { buffer: null_mut(), buffer_length: 0, buffer_capacity: 0, allocator }
}

fn bytes(of: &SerializedMessage) -> &[u8] {
    // SAFETY: the buffer has as many bytes.
    unsafe { std::slice::from_raw_parts(of.buffer, of.buffer_length) }
}

fn of_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) * 16 + digit(pair[1])).collect()
}

#[test]
fn golden_vectors_become_messages_of_programs_and_the_same_bytes_again() {
    let (Some(types), Some(data)) = (types(), data()) else { return };
    let text = std::fs::read_to_string(data.join("cdr_vectors.jsonl")).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = vector["type"].as_str().unwrap();
        if !types.names.iter().any(|known| known == name) {
            continue;
        }
        let mut cdr = of_hex(vector["cdr_hex"].as_str().unwrap());
        for language in LANGUAGES {
            let (plan, support) = (types.plan(language, name), types.current(language, name));
            let mut message = Message::new(&plan);
            let mut input = serialized(None);
            (input.buffer, input.buffer_length) = (cdr.as_mut_ptr(), cdr.len());
            // SAFETY: a serialised message, a type support and a message of the type.
            let result = unsafe { rmw_deserialize(&input, support, message.at_mut()) };
            assert_eq!(result, RMW_RET_OK, "{name}");
            let mut output = serialized(Some(reallocate));
            // SAFETY: as above.
            let result = unsafe { rmw_serialize(message.at(), support, &mut output) };
            assert_eq!(result, RMW_RET_OK, "{name}");
            assert_eq!(bytes(&output), cdr, "{name} in {language:?}");
            // SAFETY: it came of realloc.
            unsafe { libc::free(output.buffer.cast()) };
        }
        count += 1;
    }
    assert!(count > 150, "{count} vectors");
}

#[test]
fn a_buffer_with_room_stays_where_it_is_and_one_without_grows() {
    let Some(types) = types() else { return };
    let name = "std_msgs/msg/String";
    let (plan, support) = (types.plan(Language::C, name), types.current(Language::C, name));
    let message = Message::new(&plan);
    let mut memory = [0; 64];
    let mut output = serialized(Some(refuse));
    (output.buffer, output.buffer_capacity) = (memory.as_mut_ptr(), memory.len());
    // SAFETY: a message, a type support and a serialised message.
    let result = unsafe { rmw_serialize(message.at(), support, &mut output) };
    assert_eq!(result, RMW_RET_OK);
    assert_eq!(output.buffer, memory.as_mut_ptr());
    assert_eq!(bytes(&output), [0, 1, 0, 0, 1, 0, 0, 0, 0]);
    output.buffer_capacity = 3;
    // SAFETY: as above.
    let result = unsafe { rmw_serialize(message.at(), support, &mut output) };
    assert_eq!(result, RMW_RET_BAD_ALLOC);
    assert_eq!((output.buffer, output.buffer_capacity), (memory.as_mut_ptr(), 3));
}

#[test]
fn wrong_arguments_are_errors_with_a_text_in_rcutils_error_state() {
    let Some(types) = types() else { return };
    let name = "std_msgs/msg/String";
    let (plan, support) = (types.plan(Language::Cpp, name), types.current(Language::Cpp, name));
    let mut message = Message::new(&plan);
    let mut zeroed = serialized(None);
    let invalid = RMW_RET_INVALID_ARGUMENT;
    let said = |wanted: &str| assert!(error(types).contains(wanted), "{}", error(types));
    // SAFETY: null is allowed in every place.
    assert_eq!(unsafe { rmw_serialize(null(), support, &mut zeroed) }, invalid);
    said("`ros_message` is null");
    // SAFETY: as above.
    assert_eq!(unsafe { rmw_serialize(message.at(), null(), &mut zeroed) }, invalid);
    said("`type_support` is null");
    // SAFETY: as above.
    assert_eq!(unsafe { rmw_serialize(message.at(), support, null_mut()) }, invalid);
    // SAFETY: as above.
    assert_eq!(unsafe { rmw_serialize(message.at(), support, &mut zeroed) }, invalid);
    said("it has no allocator");
    // SAFETY: as above.
    assert_eq!(unsafe { rmw_deserialize(&zeroed, support, message.at_mut()) }, invalid);
    // SAFETY: as above.
    assert_eq!(unsafe { rmw_deserialize(null(), support, message.at_mut()) }, invalid);
    let mut cut = [0, 1, 0, 0, 9, 0, 0, 0, b'a'];
    (zeroed.buffer, zeroed.buffer_length) = (cut.as_mut_ptr(), cut.len());
    // SAFETY: as above.
    assert_eq!(unsafe { rmw_deserialize(&zeroed, support, null_mut()) }, invalid);
    // SAFETY: as above.
    let result = unsafe { rmw_deserialize(&zeroed, support, message.at_mut()) };
    assert_eq!(result, RMW_RET_ERROR);
    said("it was cut off");
    let mut size = 0;
    // SAFETY: as above.
    let result = unsafe { rmw_get_serialized_message_size(support, null(), &mut size) };
    assert_eq!(result, RMW_RET_UNSUPPORTED);
}

/// The error of the calling thread.
fn error(types: &crate::rosidl::Types) -> String {
    #[repr(C)]
    struct ErrorString([c_char; 1024]);
    let symbol = types.symbol("rcutils_get_error_string");
    // SAFETY: the function has this type.
    let get = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> ErrorString>(symbol) };
    let text = get();
    // SAFETY: rcutils ends its text with NUL.
    unsafe { CStr::from_ptr(text.0.as_ptr()) }.to_string_lossy().into_owned()
}

#[test]
fn the_names_are_those_that_rcl_asks_for() {
    // SAFETY: static texts.
    let identifier = unsafe { CStr::from_ptr(rmw_get_implementation_identifier()) };
    assert_eq!(identifier, c"rmw_crossdock");
    // SAFETY: static texts.
    let format = unsafe { CStr::from_ptr(rmw_get_serialization_format()) };
    assert_eq!(format, c"cdr");
}
