//! Type support by introspection: what the generators of ROS 2 write about a message type, read
//! once into values of our own.
//!
//! A type support is asked for C's introspection first, then for C++'s. Distributions differ in the
//! structs that they read ([`Interface`]), not in what is read.

use crate::abi::shared::{self, Function};
use crate::abi::{humble, jazzy, lyrical};
use crate::shim;
use crossdock_msg::definition::{Primitive, Shape};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

/// Deepest nesting of message types, as in `msg`.
const DEPTH_MAX: usize = 64;
/// Most members of one type: more than any type has, few enough to be a bound.
const MEMBERS_MAX: u32 = 1 << 16;

/// The language whose memory layout a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Structs that `rosidl_generator_c` writes.
    C,
    /// Structs that `rosidl_generator_cpp` writes.
    Cpp,
}

impl Language {
    const fn identifier(self) -> &'static CStr {
        match self {
            Self::C => c"rosidl_typesupport_introspection_c",
            Self::Cpp => c"rosidl_typesupport_introspection_cpp",
        }
    }
}

/// A message type as its type support describes it.
#[derive(Debug)]
pub struct Type {
    /// Full name, such as `sensor_msgs/msg/Image`.
    pub name: String,
    /// Size of the struct in bytes.
    pub bytes: usize,
    /// Members in order.
    pub members: Vec<Member>,
    pub(crate) init: Function,
    pub(crate) fini: Function,
}

/// A member of a message type.
#[derive(Debug)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Type of one element.
    pub element: Element,
    /// How many elements.
    pub shape: Shape,
    /// Offset in the struct in bytes.
    pub offset: usize,
    pub(crate) access: Access,
}

/// Type of one element of a member.
#[derive(Clone, Debug)]
pub enum Element {
    /// A number or bool.
    Primitive(Primitive),
    /// `string`.
    Text {
        /// Most bytes.
        bound: Option<u32>,
    },
    /// `wstring`.
    WideText {
        /// Most UTF-16 units.
        bound: Option<u32>,
    },
    /// Another message type.
    Message(Arc<Type>),
}

/// How the elements of a sequence are reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) size: Function,
    pub(crate) get_const: Function,
    pub(crate) get: Function,
    pub(crate) resize: Function,
    /// The member is a `rosidl::Buffer`: only its functions reach the elements.
    pub(crate) is_buffer: bool,
}

/// A type as it was found: its language, and the hash that its type support claims.
#[derive(Debug)]
pub struct Found {
    /// The language of its messages.
    pub language: Language,
    /// The type.
    pub root: Arc<Type>,
    /// RIHS01 hash of the type support; Humble has none.
    pub hash: Option<crossdock_msg::TypeHash>,
}

/// A service's type as it was found: those of its two messages, and the hash that its type support
/// claims.
#[derive(Debug)]
pub struct FoundService {
    /// Full name, such as `example_interfaces/srv/AddTwoInts`.
    pub name: String,
    /// The type of requests.
    pub request: Found,
    /// The type of responses.
    pub response: Found,
    /// RIHS01 hash of the type support; Humble has none.
    pub hash: Option<crossdock_msg::TypeHash>,
}

/// Why a type support cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypeError {
    /// There is none.
    #[error(
        "the type support is null: pass the one that the generators of ROS 2 made for the type"
    )]
    Null,
    /// It has no introspection.
    #[error(
        "the type support `{found}` has no introspection for C or C++: build the interface package with \
         rosidl_typesupport_introspection_c and _cpp, which every distribution does by default"
    )]
    NoIntrospection {
        /// Its identifier.
        found: String,
    },
    /// A member's type is not one of a `.msg` file.
    #[error(
        "member `{member}` of {type_name} has the type {type_id}, which no `.msg` file can say (long double, wchar, \
         char of IDL): use another type"
    )]
    Member {
        /// The type that has the member.
        type_name: String,
        /// The member.
        member: String,
        /// Number of its type.
        type_id: u8,
    },
    /// Types are nested too deeply, or a type contains itself.
    #[error("{type_name} nests message types more than {limit} deep: flatten it")]
    TooDeep {
        /// A type on the way.
        type_name: String,
        /// Deepest nesting.
        limit: usize,
    },
    /// A description contradicts itself.
    #[error("the type support of {type_name} is damaged: {what}; build its package again")]
    Damaged {
        /// The type.
        type_name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The type has no schema.
    #[error("{type_name}: {cause}")]
    Schema {
        /// The type.
        type_name: String,
        /// Why.
        cause: crossdock_msg::SchemaError,
    },
    /// The members give another hash than the type support says.
    #[error(
        "the members of {type_name} hash to {of_members}, but its type support says {claimed}: the package was built \
         from parts of two versions; build it again from clean"
    )]
    Hash {
        /// The type.
        type_name: String,
        /// Hash of the members.
        of_members: crossdock_msg::TypeHash,
        /// Hash of the type support.
        claimed: crossdock_msg::TypeHash,
    },
}

/// The structs of a distribution, as far as introspection reads them.
pub trait Interface {
    /// `rosidl_message_type_support_t`.
    type Support;
    /// `rosidl_service_type_support_t`.
    type ServiceSupport;
    #[doc(hidden)]
    type ServiceMembers;
    #[doc(hidden)]
    type Members;
    #[doc(hidden)]
    type Member;
    #[doc(hidden)]
    fn support(support: &Self::Support) -> SupportFields;
    #[doc(hidden)]
    fn hash_function(support: &Self::Support) -> HashFunction<Self::Support>;
    #[doc(hidden)]
    fn service_support(support: &Self::ServiceSupport) -> SupportFields;
    #[doc(hidden)]
    fn service_hash_function(support: &Self::ServiceSupport) -> HashFunction<Self::ServiceSupport>;
    #[doc(hidden)]
    fn service_members(members: &Self::ServiceMembers) -> ServiceFields<Self::Members>;
    #[doc(hidden)]
    fn members(members: &Self::Members) -> MembersFields<Self::Member>;
    #[doc(hidden)]
    fn member(member: &Self::Member) -> MemberFields<Self::Support>;
}

#[doc(hidden)]
pub type HashFunction<S> = Option<unsafe extern "C" fn(*const S) -> *const shared::TypeHash>;

#[doc(hidden)]
#[derive(Debug)]
pub struct SupportFields {
    identifier: *const c_char,
    data: *const c_void,
    find: Function,
}

#[doc(hidden)]
#[derive(Debug)]
pub struct ServiceFields<M> {
    namespace: *const c_char,
    name: *const c_char,
    request: *const M,
    response: *const M,
}

#[doc(hidden)]
#[derive(Debug)]
pub struct MembersFields<M> {
    namespace: *const c_char,
    name: *const c_char,
    count: u32,
    bytes: usize,
    first: *const M,
    init: Function,
    fini: Function,
}

#[doc(hidden)]
#[derive(Debug)]
pub struct MemberFields<S> {
    name: *const c_char,
    type_id: u8,
    text_bound: usize,
    nested: *const S,
    is_array: bool,
    array_size: usize,
    is_bound: bool,
    offset: u32,
    access: Access,
}

macro_rules! interface {
    ($(#[$doc:meta])* $name:ident, $module:ident, $hash:expr, $service_hash:expr, $buffer:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Interface for $name {
            type Support = $module::MessageSupport;
            type ServiceSupport = $module::ServiceSupport;
            type ServiceMembers = $module::ServiceMembers;
            type Members = $module::MessageMembers;
            type Member = $module::MessageMember;

            fn support(support: &Self::Support) -> SupportFields {
                SupportFields {
                    identifier: support.typesupport_identifier,
                    data: support.data,
                    find: support.func,
                }
            }

            fn hash_function(support: &Self::Support) -> HashFunction<Self::Support> {
                ($hash)(support)
            }

            fn service_support(support: &Self::ServiceSupport) -> SupportFields {
                SupportFields {
                    identifier: support.typesupport_identifier,
                    data: support.data,
                    find: support.func,
                }
            }

            fn service_hash_function(
                support: &Self::ServiceSupport,
            ) -> HashFunction<Self::ServiceSupport> {
                ($service_hash)(support)
            }

            fn service_members(members: &Self::ServiceMembers) -> ServiceFields<Self::Members> {
                ServiceFields {
                    namespace: members.service_namespace_,
                    name: members.service_name_,
                    request: members.request_members_,
                    response: members.response_members_,
                }
            }

            fn members(members: &Self::Members) -> MembersFields<Self::Member> {
                MembersFields {
                    namespace: members.message_namespace_,
                    name: members.message_name_,
                    count: members.member_count_,
                    bytes: members.size_of_,
                    first: members.members_,
                    init: members.init_function,
                    fini: members.fini_function,
                }
            }

            fn member(member: &Self::Member) -> MemberFields<Self::Support> {
                MemberFields {
                    name: member.name_,
                    type_id: member.type_id_,
                    text_bound: member.string_upper_bound_,
                    nested: member.members_,
                    is_array: member.is_array_,
                    array_size: member.array_size_,
                    is_bound: member.is_upper_bound_,
                    offset: member.offset_,
                    access: Access {
                        size: member.size_function,
                        get_const: member.get_const_function,
                        get: member.get_function,
                        resize: member.resize_function,
                        is_buffer: ($buffer)(member),
                    },
                }
            }
        }
    };
}

interface!(
    /// Humble's structs.
    Humble, humble, |_: &humble::MessageSupport| None, |_: &humble::ServiceSupport| None,
    |_: &humble::MessageMember| false);
interface!(
    /// Jazzy's and Kilted's structs.
    Jazzy, jazzy, |it: &jazzy::MessageSupport| it.get_type_hash_func,
    |it: &jazzy::ServiceSupport| it.get_type_hash_func, |_: &jazzy::MessageMember| false);
interface!(
    /// Lyrical's structs.
    Lyrical, lyrical, |it: &lyrical::MessageSupport| it.get_type_hash_func,
    |it: &lyrical::ServiceSupport| it.get_type_hash_func,
    |it: &lyrical::MessageMember| it.is_rosidl_buffer_);

/// The structs of the distribution that the library is for.
#[cfg(feature = "humble")]
pub type Current = Humble;
/// The structs of the distribution that the library is for.
#[cfg(any(feature = "jazzy", feature = "kilted"))]
pub type Current = Jazzy;
/// The structs of the distribution that the library is for.
#[cfg(feature = "lyrical")]
pub type Current = Lyrical;

/// Reads what a type support says of its type. Allocates.
///
/// # Errors
///
/// There is no introspection, or it describes a type that no `.msg` file can say.
///
/// # Safety
///
/// `support` is null or a type support of distribution `I`, whole and with all that it points to,
/// as the generators write it.
pub unsafe fn read<I: Interface>(support: *const I::Support) -> Result<Found, TypeError> {
    // SAFETY: null or valid (caller).
    let outer = unsafe { support.as_ref() }.ok_or(TypeError::Null)?;
    let hash = match I::hash_function(outer) {
        // SAFETY: a function of the type support is called with the type support.
        Some(function) => unsafe { function(support) },
        None => ptr::null(),
    };
    // SAFETY: null, or a hash in the library of the type support.
    let hash = unsafe { hash.as_ref() }.filter(|hash| hash.version == 1);
    let hash = hash.map(|hash| crossdock_msg::TypeHash(hash.value));
    let fields = I::support(outer);
    for language in [Language::C, Language::Cpp] {
        // SAFETY: `support` is valid (caller), its function takes it and an identifier.
        let found = unsafe { find(fields.find, support.cast(), language) };
        // SAFETY: what a type support gives is a type support.
        if let Some(found) = unsafe { found.cast::<I::Support>().as_ref() } {
            let mut reader = Reader::<I> { language, known: HashMap::new() };
            // SAFETY: the introspection's data are its members (caller).
            let root = unsafe { reader.members(I::support(found).data.cast(), 0) }?;
            return Ok(Found { language, root, hash });
        }
    }
    // SAFETY: identifiers are static texts (caller).
    Err(TypeError::NoIntrospection { found: unsafe { text(fields.identifier) } })
}

/// Reads what a service's type support says of its type. Allocates.
///
/// # Errors
///
/// As [`read`].
///
/// # Safety
///
/// As for [`read`], of a service.
pub unsafe fn read_service<I: Interface>(
    support: *const I::ServiceSupport,
) -> Result<FoundService, TypeError> {
    // SAFETY: null or valid (caller).
    let outer = unsafe { support.as_ref() }.ok_or(TypeError::Null)?;
    let hash = match I::service_hash_function(outer) {
        // SAFETY: a function of the type support is called with the type support.
        Some(function) => unsafe { function(support) },
        None => ptr::null(),
    };
    // SAFETY: null, or a hash in the library of the type support.
    let hash = unsafe { hash.as_ref() }.filter(|hash| hash.version == 1);
    let hash = hash.map(|hash| crossdock_msg::TypeHash(hash.value));
    let fields = I::service_support(outer);
    for language in [Language::C, Language::Cpp] {
        // SAFETY: `support` is valid (caller), its function takes it and an identifier.
        let found = unsafe { find(fields.find, support.cast(), language) };
        // SAFETY: what a type support gives is a type support.
        let Some(found) = (unsafe { found.cast::<I::ServiceSupport>().as_ref() }) else { continue };
        let data = I::service_support(found).data.cast::<I::ServiceMembers>();
        // SAFETY: the introspection's data are its members (caller).
        let service = I::service_members(unsafe { data.as_ref() }.ok_or(TypeError::Null)?);
        // SAFETY: static texts (caller).
        let name = unsafe { full_name(service.namespace, service.name) };
        let mut reader = Reader::<I> { language, known: HashMap::new() };
        // SAFETY: the members of the service's messages (caller).
        let request = unsafe { reader.members(service.request, 0) }?;
        // SAFETY: as above.
        let response = unsafe { reader.members(service.response, 0) }?;
        let of_message = |root| Found { language, root, hash: None };
        let (request, response) = (of_message(request), of_message(response));
        return Ok(FoundService { name, request, response, hash });
    }
    // SAFETY: identifiers are static texts (caller).
    Err(TypeError::NoIntrospection { found: unsafe { text(fields.identifier) } })
}

/// Asks a type support for one of a language; null if it has none or its function throws.
///
/// # Safety
///
/// `support` is valid, and `function` its function.
unsafe fn find(function: Function, support: *const c_void, language: Language) -> *const c_void {
    let mut found = ptr::null();
    if function.is_none() {
        return found;
    }
    let identifier = language.identifier().as_ptr();
    // SAFETY: the function is the type support's own (caller); the identifier is static.
    let result = unsafe { shim::crossdock_rmw_find(function, support, identifier, &mut found) };
    // A type support that lacks the language has set the error state, which would hide a later
    // error.
    if found.is_null() || result != 0 {
        crate::error_state::reset();
        return ptr::null();
    }
    found
}

struct Reader<I: Interface> {
    language: Language,
    known: HashMap<*const I::Members, Arc<Type>>,
}

impl<I: Interface> Reader<I> {
    /// # Safety
    ///
    /// `members` is null or valid, with all that it points to.
    unsafe fn members(
        &mut self,
        members: *const I::Members,
        depth: usize,
    ) -> Result<Arc<Type>, TypeError> {
        if let Some(known) = self.known.get(&members) {
            return Ok(Arc::clone(known));
        }
        // SAFETY: null or valid (caller).
        let found = unsafe { members.as_ref() };
        let fields = I::members(found.ok_or(TypeError::Null)?);
        // SAFETY: static texts (caller).
        let name = unsafe { full_name(fields.namespace, fields.name) };
        if depth >= DEPTH_MAX {
            return Err(TypeError::TooDeep { type_name: name, limit: DEPTH_MAX });
        }
        if fields.first.is_null() || fields.count == 0 || fields.count > MEMBERS_MAX {
            return Err(TypeError::Damaged { type_name: name, what: "it has no members" });
        }
        // SAFETY: `count` members begin there (caller).
        let list = unsafe { std::slice::from_raw_parts(fields.first, fields.count as usize) };
        let mut read = Vec::with_capacity(list.len());
        for member in list {
            // SAFETY: a member of a valid type (caller).
            read.push(unsafe { self.member(&name, I::member(member), depth) }?);
        }
        let (init, fini) = (fields.init, fields.fini);
        let read = Arc::new(Type { name, bytes: fields.bytes, members: read, init, fini });
        self.known.insert(members, Arc::clone(&read));
        Ok(read)
    }

    /// # Safety
    ///
    /// `fields` are the fields of a valid member.
    unsafe fn member(
        &mut self,
        of: &str,
        fields: MemberFields<I::Support>,
        depth: usize,
    ) -> Result<Member, TypeError> {
        // SAFETY: a static text (caller).
        let name = unsafe { text(fields.name) };
        let damaged = |what| TypeError::Damaged { type_name: of.to_owned(), what };
        let bound = |value: usize| match value {
            0 => Ok(None),
            _ => u32::try_from(value).map(Some).map_err(|_| damaged("a bound is too large")),
        };
        let element = match fields.type_id {
            shared::ROS_TYPE_STRING => Element::Text { bound: bound(fields.text_bound)? },
            shared::ROS_TYPE_WSTRING => Element::WideText { bound: bound(fields.text_bound)? },
            shared::ROS_TYPE_MESSAGE => {
                // SAFETY: a member of a message type names its type support (caller).
                let nested = unsafe { fields.nested.as_ref() };
                let nested = nested.ok_or_else(|| damaged("a nested type is missing"))?;
                // A nested type support is of the same language and is not asked for it.
                let data = I::support(nested).data.cast();
                // SAFETY: the introspection's data are its members (caller).
                Element::Message(unsafe { self.members(data, depth + 1) }?)
            }
            type_id => match primitive(type_id) {
                Some(primitive) => Element::Primitive(primitive),
                None => {
                    let type_name = of.to_owned();
                    return Err(TypeError::Member { type_name, member: name, type_id });
                }
            },
        };
        let shape = match (fields.is_array, bound(fields.array_size)?) {
            (false, _) => Shape::One,
            (true, Some(count)) if !fields.is_bound => Shape::Array(count),
            (true, bound) => Shape::Sequence { bound },
        };
        let access = fields.access;
        let is_bools = matches!(element, Element::Primitive(Primitive::Bool));
        if matches!(shape, Shape::Sequence { .. }) && !(is_bools && self.language == Language::Cpp)
        {
            let all = [access.size, access.get_const, access.get, access.resize];
            if all.iter().any(Option::is_none) {
                return Err(damaged("a sequence lacks a function"));
            }
        }
        Ok(Member { name, element, shape, offset: fields.offset as usize, access })
    }
}

/// Full name of a type, such as `std_msgs/msg/Header`.
///
/// # Safety
///
/// Both are null or texts of C.
unsafe fn full_name(namespace: *const c_char, name: *const c_char) -> String {
    // SAFETY: null or a text of C (caller).
    let namespace = unsafe { text(namespace) };
    // SAFETY: as above.
    let name = unsafe { text(name) };
    format!("{}/{name}", namespace.replace("::", "/").replace("__", "/"))
}

fn primitive(type_id: u8) -> Option<Primitive> {
    Some(match type_id {
        shared::ROS_TYPE_FLOAT => Primitive::Float32,
        shared::ROS_TYPE_DOUBLE => Primitive::Float64,
        shared::ROS_TYPE_BOOLEAN => Primitive::Bool,
        shared::ROS_TYPE_OCTET => Primitive::Byte,
        shared::ROS_TYPE_UINT8 => Primitive::Uint8,
        shared::ROS_TYPE_INT8 => Primitive::Int8,
        shared::ROS_TYPE_UINT16 => Primitive::Uint16,
        shared::ROS_TYPE_INT16 => Primitive::Int16,
        shared::ROS_TYPE_UINT32 => Primitive::Uint32,
        shared::ROS_TYPE_INT32 => Primitive::Int32,
        shared::ROS_TYPE_UINT64 => Primitive::Uint64,
        shared::ROS_TYPE_INT64 => Primitive::Int64,
        _ => return None,
    })
}

/// # Safety
///
/// `from` is null or a text of C.
unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: a text of C (caller).
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}
