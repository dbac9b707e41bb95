//! Places in messages of a ROS program: the one module that reads and writes their memory.
//!
//! Messages of C: texts and sequences are {data, size, capacity}, their memory comes from `malloc`,
//! as that of rosidl's own functions. All elements up to the capacity of a sequence are
//! initialised; only `size` of them count. Messages of C++ are left to the shim and to the
//! functions of the type support.

use super::ConvertError;
use crate::abi::shared::{CSequence, CString, CWideString, Function};
use crate::introspection::{Access, Language};
use crate::shim::{self, outcome};
use std::ffi::{c_int, c_void};
use std::ptr;

/// Most elements that a reference of the flat layout can name.
pub(super) const LENGTH_MAX: usize = (crossdock_msg::block::EXTERNAL_BUFFER - 2) as usize;

/// `MSG_INIT_ALL` of both languages: every field has its default value, or is 0, false or empty.
const INIT_ALL: c_int = 0;

/// Size of a text's struct.
pub(super) fn text_bytes(language: Language, is_wide: bool) -> usize {
    match (language, is_wide) {
        (Language::C, false) => size_of::<CString>(),
        (Language::C, true) => size_of::<CWideString>(),
        (Language::Cpp, false) => shim::string_bytes(),
        (Language::Cpp, true) => shim::wide_string_bytes(),
    }
}

/// # Safety
///
/// As for `Plan::init`.
pub(super) unsafe fn init(function: Function, message: *mut c_void) -> Result<(), ConvertError> {
    if function.is_none() {
        return Err(ConvertError::Threw);
    }
    // SAFETY: the type's own function, for memory of the type's size (caller).
    outcome(unsafe { shim::crossdock_rmw_init(function, message, INIT_ALL) })
}

/// # Safety
///
/// As for `Plan::fini`.
pub(super) unsafe fn fini(function: Function, message: *mut c_void) -> Result<(), ConvertError> {
    if function.is_none() {
        return Err(ConvertError::Threw);
    }
    // SAFETY: the type's own function, for an initialised message (caller).
    outcome(unsafe { shim::crossdock_rmw_fini(function, message) })
}

/// A place in a message that is read. Its maker promises that the message is whole and stays so;
/// the functions below need a field of the kind that they name at the place.
#[derive(Clone, Copy)]
pub(crate) struct Place(*const u8);

impl Place {
    /// A place to read from; nothing is read here.
    pub(crate) fn of(message: *const c_void) -> Self {
        Self(message.cast())
    }

    /// `bytes` bytes further on.
    #[inline]
    pub(super) fn at(self, bytes: usize) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// # Safety
    ///
    /// `out.len()` initialised bytes lie here.
    #[inline]
    pub(super) unsafe fn copy_to(self, out: &mut [u8]) {
        // SAFETY: as many bytes lie here (caller), and `out` is Rust's own.
        unsafe { ptr::copy_nonoverlapping(self.0, out.as_mut_ptr(), out.len()) };
    }

    /// The bytes or units of a text.
    ///
    /// # Safety
    ///
    /// A text of this kind lies here.
    pub(super) unsafe fn text(
        self,
        language: Language,
        is_wide: bool,
    ) -> Result<(Self, usize), ConvertError> {
        let mut length = 0;
        let data = match (language, is_wide) {
            // Both kinds of texts begin as every sequence does.
            // SAFETY: a text of C lies here (caller).
            (Language::C, _) => return unsafe { self.c_elements() },
            (Language::Cpp, false) => {
                // SAFETY: a std::string lies here (caller).
                let data = unsafe { shim::crossdock_rmw_string_view(self.0.cast(), &mut length) };
                data.cast::<u8>()
            }
            (Language::Cpp, true) => {
                // SAFETY: a std::u16string lies here (caller).
                let data =
                    unsafe { shim::crossdock_rmw_wide_string_view(self.0.cast(), &mut length) };
                data.cast::<u8>()
            }
        };
        Ok((Self(data), length))
    }

    /// The elements of a sequence that is no `std::vector<bool>`, one after the other.
    ///
    /// # Safety
    ///
    /// A sequence with these functions lies here.
    pub(super) unsafe fn elements(
        self,
        language: Language,
        access: &Access,
    ) -> Result<(Self, usize), ConvertError> {
        if language == Language::C && !access.is_buffer {
            // SAFETY: a sequence of C lies here (caller).
            return unsafe { self.c_elements() };
        }
        let (mut first, mut count) = (ptr::null(), 0);
        let (size, get) = (access.size, access.get_const);
        // SAFETY: the functions are the member's (caller).
        let result = unsafe {
            shim::crossdock_rmw_elements(self.0.cast(), size, get, &mut first, &mut count)
        };
        outcome(result)?;
        Self(first.cast()).checked(count)
    }

    /// # Safety
    ///
    /// A text or sequence of C lies here.
    unsafe fn c_elements(self) -> Result<(Self, usize), ConvertError> {
        // SAFETY: texts and sequences of C begin with these fields (caller).
        let head = unsafe { self.0.cast::<CSequence>().read() };
        Self(head.data.cast_const().cast()).checked(head.size)
    }

    fn checked(self, length: usize) -> Result<(Self, usize), ConvertError> {
        match length {
            0 => Ok((self, 0)),
            _ if self.0.is_null() => Err(ConvertError::NoData { length }),
            _ => Ok((self, length)),
        }
    }

    /// Length of a `std::vector<bool>`.
    ///
    /// # Safety
    ///
    /// One lies here.
    pub(super) unsafe fn bools(self) -> usize {
        // SAFETY: a std::vector<bool> lies here (caller).
        unsafe { shim::crossdock_rmw_bools_length(self.0.cast()) }
    }

    /// # Safety
    ///
    /// A `std::vector<bool>` with at least `out.len()` elements lies here.
    pub(super) unsafe fn copy_bools(self, out: &mut [u8]) {
        // SAFETY: as the caller says.
        unsafe { shim::crossdock_rmw_bools_copy(self.0.cast(), out.as_mut_ptr(), out.len()) };
    }
}

/// A place in a message that is written. As [`Place`].
#[derive(Clone, Copy)]
pub(crate) struct PlaceMut(*mut u8);

impl PlaceMut {
    /// A place to write to; nothing is written here.
    pub(crate) fn of(message: *mut c_void) -> Self {
        Self(message.cast())
    }

    /// `bytes` bytes further on.
    #[inline]
    pub(super) fn at(self, bytes: usize) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// # Safety
    ///
    /// Numbers of `from.len()` bytes lie here.
    #[inline]
    pub(super) unsafe fn copy_from(self, from: &[u8]) {
        // SAFETY: there is room for as many bytes (caller). `from` may be a block that its
        // publisher still writes: then the bytes are of either time, and any bytes are numbers.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.0, from.len()) };
    }

    /// Makes every byte 0 or 1.
    ///
    /// # Safety
    ///
    /// `count` bytes that are to be bools lie here.
    pub(super) unsafe fn make_bools(self, count: usize) {
        // SAFETY: as many initialised bytes lie here (caller).
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.0, count) };
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }

    /// Makes every element of a sequence of C 0 or 1.
    ///
    /// # Safety
    ///
    /// A sequence of C with these functions and `count` elements that are to be bools lies here.
    pub(super) unsafe fn make_elements_bools(
        self,
        access: &Access,
        count: usize,
    ) -> Result<(), ConvertError> {
        // SAFETY: as the caller says.
        let (first, length) = unsafe { Place(self.0).elements(Language::C, access) }?;
        // SAFETY: as many elements lie there.
        unsafe { Self(first.0.cast_mut()).make_bools(length.min(count)) };
        Ok(())
    }

    /// Sets a text.
    ///
    /// # Safety
    ///
    /// A text of this language lies here.
    pub(super) unsafe fn set_text(
        self,
        language: Language,
        text: &[u8],
    ) -> Result<(), ConvertError> {
        if language == Language::Cpp {
            let (data, length) = (text.as_ptr().cast(), text.len());
            // SAFETY: a std::string lies here (caller).
            return outcome(unsafe {
                shim::crossdock_rmw_string_assign(self.0.cast(), data, length)
            });
        }
        // SAFETY: a text of C lies here (caller), whose elements are bytes.
        let first = unsafe { self.c_room(text.len() + 1, 1) }?;
        // SAFETY: there is room for the text and a NUL byte.
        unsafe { first.copy_from(text) };
        // SAFETY: as above.
        unsafe { first.at(text.len()).copy_from(&[0]) };
        // SAFETY: a text of C lies here (caller).
        unsafe { self.c_set_size(text.len()) };
        Ok(())
    }

    /// Sets a wide text.
    ///
    /// # Safety
    ///
    /// A wide text of this language lies here.
    pub(super) unsafe fn set_wide_text(
        self,
        language: Language,
        text: &[u16],
    ) -> Result<(), ConvertError> {
        if language == Language::Cpp {
            // SAFETY: a std::u16string lies here (caller).
            return outcome(unsafe {
                shim::crossdock_rmw_wide_string_assign(self.0.cast(), text.as_ptr(), text.len())
            });
        }
        // SAFETY: a wide text of C lies here (caller), whose elements have 2 bytes.
        let first = unsafe { self.c_room(text.len() + 1, 2) }?;
        // SAFETY: there is room for the text and a zero.
        unsafe { first.copy_from(crossdock_msg::block::as_bytes(text)) };
        // SAFETY: as above.
        unsafe { first.at(2 * text.len()).copy_from(&[0, 0]) };
        // SAFETY: a wide text of C lies here (caller).
        unsafe { self.c_set_size(text.len()) };
        Ok(())
    }

    /// Sets a sequence of numbers of `bytes` bytes each; it is no `std::vector<bool>`.
    ///
    /// # Safety
    ///
    /// A sequence of such numbers with these functions lies here.
    pub(super) unsafe fn set_numbers(
        self,
        language: Language,
        access: &Access,
        numbers: &[u8],
        bytes: usize,
    ) -> Result<(), ConvertError> {
        let count = numbers.len() / bytes;
        if access.is_buffer {
            // SAFETY: a sequence with these functions lies here (caller).
            let first = unsafe { self.resize_by_function(language, access, count) }?;
            // SAFETY: the sequence now has as many elements.
            unsafe { first.copy_from(numbers) };
            return Ok(());
        }
        if language == Language::Cpp {
            let (vector, data) = (self.0.cast(), numbers.as_ptr().cast());
            // SAFETY: a std::vector of numbers of this size lies here (caller).
            let result = unsafe { shim::crossdock_rmw_vector_assign(vector, data, count, bytes) };
            return outcome(result);
        }
        if count > 0 {
            // SAFETY: a sequence of C of such numbers lies here (caller).
            let first = unsafe { self.c_room(count, bytes) }?;
            // SAFETY: there is room for as many numbers.
            unsafe { first.copy_from(numbers) };
        }
        // SAFETY: a sequence of C lies here (caller).
        unsafe { self.c_set_size(count) };
        Ok(())
    }

    /// Sets a `std::vector<bool>`.
    ///
    /// # Safety
    ///
    /// One lies here.
    pub(super) unsafe fn set_bools(self, bools: &[u8]) -> Result<(), ConvertError> {
        let (data, count) = (bools.as_ptr(), bools.len());
        // SAFETY: a std::vector<bool> lies here (caller).
        outcome(unsafe { shim::crossdock_rmw_bools_assign(self.0.cast(), data, count) })
    }

    /// Gives a sequence of texts or messages `count` elements, and says where they begin. Elements
    /// that stay keep their memory.
    ///
    /// # Safety
    ///
    /// A sequence with these functions lies here.
    pub(super) unsafe fn resize(
        self,
        language: Language,
        access: &Access,
        count: usize,
    ) -> Result<Self, ConvertError> {
        if language == Language::C {
            // SAFETY: a sequence of C lies here (caller).
            let head = unsafe { self.0.cast::<CSequence>().read() };
            if count <= head.capacity && (count == 0 || !head.data.is_null()) {
                // SAFETY: elements up to the capacity are initialised.
                unsafe { self.c_set_size(count) };
                return Ok(Self(head.data.cast()));
            }
        }
        // SAFETY: as the caller says.
        unsafe { self.resize_by_function(language, access, count) }
    }

    /// # Safety
    ///
    /// A sequence with these functions lies here.
    unsafe fn resize_by_function(
        self,
        language: Language,
        access: &Access,
        count: usize,
    ) -> Result<Self, ConvertError> {
        let member = self.0.cast();
        let mut first = ptr::null_mut();
        if language == Language::Cpp {
            let (resize, get) = (access.resize, access.get);
            // SAFETY: the functions are the member's (caller).
            outcome(unsafe {
                shim::crossdock_rmw_resize_cpp(member, resize, get, count, &mut first)
            })?;
            return Ok(Self(first.cast()));
        }
        // SAFETY: the function is the member's (caller).
        outcome(unsafe { shim::crossdock_rmw_resize_c(member, access.resize, count) })?;
        // SAFETY: a sequence with these functions lies here (caller).
        let (elements, length) = unsafe { Place(self.0).elements(language, access) }?;
        if length != count {
            return Err(ConvertError::NoMemory);
        }
        Ok(Self(elements.0.cast_mut()))
    }

    /// Room for `count` plain elements of `bytes` bytes in a text or sequence of C. Its size is set
    /// later.
    ///
    /// # Safety
    ///
    /// A text or sequence of C with such elements lies here.
    unsafe fn c_room(self, count: usize, bytes: usize) -> Result<Self, ConvertError> {
        let place = self.0.cast::<CSequence>();
        // SAFETY: it begins with these fields (caller).
        let head = unsafe { place.read() };
        if count <= head.capacity && !head.data.is_null() {
            return Ok(Self(head.data.cast()));
        }
        // The old elements are not moved: a new message replaces them. If there is no memory, the
        // message is empty, and valid. SAFETY: null, or memory that rosidl has of malloc.
        unsafe { libc::free(head.data) };
        let wanted = count.checked_mul(bytes).ok_or(ConvertError::NoMemory);
        // SAFETY: malloc takes any size.
        let data = wanted.map(|wanted| unsafe { libc::malloc(wanted) });
        let (data, capacity) = match data {
            Ok(data) if !data.is_null() => (data, count),
            _ => (ptr::null_mut(), 0),
        };
        // SAFETY: as above.
        unsafe { place.write(CSequence { data, size: 0, capacity }) };
        if data.is_null() { Err(ConvertError::NoMemory) } else { Ok(Self(data.cast())) }
    }

    /// # Safety
    ///
    /// A text or sequence of C with as many initialised elements lies here.
    unsafe fn c_set_size(self, size: usize) {
        // SAFETY: it begins with these fields (caller).
        let head = unsafe { &mut *self.0.cast::<CSequence>() };
        head.size = size;
    }
}
