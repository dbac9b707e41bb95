//! Type support of every distribution: that of Debian's rosidl, whose structs are Humble's, laid
//! out anew with the structs of the others. The functions stay those that rosidl wrote.

use crate::rosidl::{LANGUAGES, Message, types};
use crate::values::random;
use crossdock_msg::Block;
use crossdock_test_support::Random;
use rmw_crossdock::Plan;
use rmw_crossdock::abi::shared::{Function, ROS_TYPE_UINT8, TypeHash};
use rmw_crossdock::abi::{current, humble, jazzy, lyrical};
use rmw_crossdock::introspection::{Humble, Interface, Jazzy, Language, Lyrical, TypeError, read};
use std::ffi::{c_char, c_void};
use std::ptr::null;

/// The members of a type support by introspection.
fn members_of(support: *const humble::MessageSupport) -> &'static humble::MessageMembers {
    // SAFETY: a type support of a library that stays loaded.
    let data = unsafe { (*support).data };
    // SAFETY: the data of an introspection are its members.
    unsafe { &*data.cast() }
}

/// The given hash of every type support that is made here.
static HASH: std::sync::Mutex<[u8; 32]> = std::sync::Mutex::new([0; 32]);

extern "C" fn no_hash<S>(_: *const S) -> *const TypeHash {
    null()
}

extern "C" fn set_hash<S>(_: *const S) -> *const TypeHash {
    Box::leak(Box::new(TypeHash { version: 1, value: *HASH.lock().unwrap() }))
}

/// Gives the type support if it is of the language that is asked for, as rosidl's function does.
extern "C" fn same(
    support: *const jazzy::MessageSupport,
    identifier: *const c_char,
) -> *const jazzy::MessageSupport {
    // SAFETY: a type support that was made here.
    let own = unsafe { (*support).typesupport_identifier };
    // SAFETY: two texts of C.
    let is_same = unsafe { libc::strcmp(own, identifier) } == 0;
    if is_same { support } else { null() }
}

macro_rules! translation {
    ($function:ident, $module:ident, |$member:ident| { $($further:ident: $value:expr),* }) => {
        /// The same type support with the structs of another distribution. It is never freed.
        fn $function(
            support: *const humble::MessageSupport,
            hash: extern "C" fn(*const $module::MessageSupport) -> *const TypeHash,
        ) -> *const $module::MessageSupport {
            let old = members_of(support);
            // SAFETY: the members of a type support.
            let list = unsafe { std::slice::from_raw_parts(old.members_, old.member_count_ as usize) };
            let list: Vec<_> = list.iter().map(|$member| $module::MessageMember {
                name_: $member.name_,
                type_id_: $member.type_id_,
                string_upper_bound_: $member.string_upper_bound_,
                members_: match $member.members_.is_null() {
                    true => null(),
                    false => $function($member.members_, no_hash),
                },
                is_key_: true,
                is_array_: $member.is_array_,
                array_size_: $member.array_size_,
                is_upper_bound_: $member.is_upper_bound_,
                offset_: $member.offset_,
                default_value_: $member.default_value_,
                size_function: $member.size_function,
                get_const_function: $member.get_const_function,
                get_function: $member.get_function,
                fetch_function: $member.fetch_function,
                assign_function: $member.assign_function,
                resize_function: $member.resize_function,
                $($further: $value),*
            }).collect();
            let members = Box::leak(Box::new($module::MessageMembers {
                message_namespace_: old.message_namespace_,
                message_name_: old.message_name_,
                member_count_: old.member_count_,
                size_of_: old.size_of_,
                has_any_key_member_: true,
                members_: list.leak().as_ptr(),
                init_function: old.init_function,
                fini_function: old.fini_function,
            }));
            // SAFETY: only the number of arguments counts; it is called as what it is.
            let func = unsafe { std::mem::transmute::<*const c_void, Function>(
                same as *const c_void,
            ) };
            Box::leak(Box::new($module::MessageSupport {
                // SAFETY: a type support of a library that stays loaded.
                typesupport_identifier: unsafe { (*support).typesupport_identifier },
                data: std::ptr::from_ref(members).cast(),
                func,
                get_type_hash_func: Some(hash),
                get_type_description_func: None,
                get_type_description_sources_func: None,
            }))
        }
    };
}

translation!(of_jazzy, jazzy, |member| {});

translation!(of_lyrical, lyrical, |member| {
    // Marked as a buffer, so that only its functions are used.
    is_rosidl_buffer_: member.type_id_ == ROS_TYPE_UINT8 && member.resize_function.is_some()
});

/// The type support with the structs of the distribution that the library is for.
#[cfg(feature = "humble")]
pub(crate) fn of_humble(support: *const humble::MessageSupport) -> *const current::MessageSupport {
    support
}
#[cfg(any(feature = "jazzy", feature = "kilted"))]
pub(crate) fn of_humble(support: *const humble::MessageSupport) -> *const current::MessageSupport {
    of_jazzy(support, no_hash::<jazzy::MessageSupport>)
}
#[cfg(feature = "lyrical")]
pub(crate) fn of_humble(support: *const humble::MessageSupport) -> *const current::MessageSupport {
    of_lyrical(support, no_hash::<jazzy::MessageSupport>)
}

fn converts<I: Interface>(support: *const I::Support, name: &str, seed: &mut Random) {
    // SAFETY: a type support of this distribution.
    let found = unsafe { read::<I>(support) }.unwrap();
    let plan = Plan::of(&found).unwrap();
    let mut message = Message::new(&plan);
    for _ in 0..4 {
        let (flat, _) = random(plan.schema(), seed);
        message.take(flat.as_slice()).unwrap();
        let again = message.flat().unwrap();
        let (left, right) = (Block::new(flat.as_slice()), Block::new(again.as_slice()));
        let difference = plan.schema().first_difference(left, right).unwrap();
        assert!(difference.is_none(), "{name}: {difference:?}");
    }
}

#[test]
fn the_structs_of_every_distribution_describe_the_same_types() {
    let Some(types) = types() else { return };
    let mut seed = Random::new("distributions");
    for name in ["test_msgs/msg/MultiNested", "sensor_msgs/msg/Image", "test_msgs/msg/WStrings"] {
        for language in LANGUAGES {
            let support = types.support(language, name);
            converts::<Humble>(support, name, &mut seed);
            converts::<Jazzy>(of_jazzy(support, no_hash), name, &mut seed);
            converts::<Lyrical>(of_lyrical(support, no_hash), name, &mut seed);
        }
    }
}

#[test]
fn the_hash_of_the_members_must_be_that_of_the_type_support() {
    let Some(types) = types() else { return };
    let name = "std_msgs/msg/String";
    let support = of_jazzy(types.support(Language::C, name), set_hash);
    let hash = types.plan(Language::C, name).schema().type_hash();
    *HASH.lock().unwrap() = hash.0;
    // SAFETY: a type support with Jazzy's structs.
    let found = unsafe { read::<Jazzy>(support) }.unwrap();
    assert_eq!(found.hash, Some(hash));
    assert!(Plan::of(&found).is_ok());
    HASH.lock().unwrap()[5] ^= 1;
    // SAFETY: as above.
    let found = unsafe { read::<Jazzy>(support) }.unwrap();
    let error = Plan::of(&found).unwrap_err();
    assert!(matches!(&error, TypeError::Hash { of_members, .. } if *of_members == hash), "{error}");
}

#[test]
fn a_type_support_without_introspection_is_refused_by_name() {
    let function: extern "C" fn(*const jazzy::MessageSupport, *const c_char) -> *const c_void =
        none;
    extern "C" fn none(_: *const jazzy::MessageSupport, _: *const c_char) -> *const c_void {
        null()
    }
    let support = jazzy::MessageSupport {
        typesupport_identifier: c"rosidl_typesupport_other".as_ptr(),
        data: null(),
        // SAFETY: only the number of arguments counts; it is called as what it is.
        func: unsafe { std::mem::transmute::<*const c_void, Function>(function as *const c_void) },
        get_type_hash_func: None,
        get_type_description_func: None,
        get_type_description_sources_func: None,
    };
    // SAFETY: a type support that has nothing.
    let error = unsafe { read::<Jazzy>(&support) }.unwrap_err();
    assert!(error.to_string().contains("rosidl_typesupport_other"), "{error}");
    // SAFETY: null is allowed.
    assert_eq!(unsafe { read::<Jazzy>(null()) }.unwrap_err(), TypeError::Null);
}
