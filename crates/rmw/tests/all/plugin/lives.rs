//! Options, contexts and nodes from their beginning to their end.

use super::{ALLOCATOR, DEFAULT, IMAGE, Ros, own_domain, plugin, text, zeroed};
use crate::rosidl::types;
use rmw_crossdock::abi::current::{Context, InitOptions};
use rmw_crossdock::abi::shared::{
    RMW_RET_INCORRECT_RMW_IMPLEMENTATION, RMW_RET_INVALID_ARGUMENT, RMW_RET_OK,
};
use rmw_crossdock::abi::symbols;
use rmw_crossdock::introspection::Language;
use std::ffi::CStr;
use std::ptr::null_mut;

#[test]
fn the_plug_in_has_every_function_of_its_distribution() {
    let api = plugin();
    let is_old = cfg!(feature = "humble");
    let mut names = symbols::ALL.to_vec();
    if cfg!(any(feature = "humble", feature = "jazzy")) {
        names.extend(symbols::UP_TO_JAZZY);
    }
    if !is_old {
        names.extend(symbols::FROM_JAZZY);
    }
    if cfg!(feature = "lyrical") {
        names.extend(symbols::FROM_LYRICAL);
    }
    let missing = names.iter().filter(|name| super::api::symbol(api.library, name).is_null());
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "{missing:?}");
    // SAFETY: the function takes nothing and gives a static text.
    let name = unsafe {
        let function = super::api::symbol(api.library, "rmw_get_implementation_identifier");
        let function = std::mem::transmute::<
            *mut std::ffi::c_void,
            extern "C" fn() -> *const std::ffi::c_char,
        >(function);
        CStr::from_ptr(function())
    };
    assert_eq!(name, c"rmw_crossdock");
}

#[test]
fn options_are_initialised_copied_and_finalised_once() {
    let api = plugin();
    let mut options: InitOptions = zeroed();
    let mut copy: InitOptions = zeroed();
    // SAFETY: as the API asks, or null or zeros, which it refuses.
    unsafe {
        let none = rmw_crossdock::abi::shared::Allocator { allocate: None, ..ALLOCATOR };
        assert_eq!((api.rmw_init_options_init)(&mut options, none), RMW_RET_INVALID_ARGUMENT);
        assert_eq!((api.rmw_init_options_init)(null_mut(), ALLOCATOR), RMW_RET_INVALID_ARGUMENT);
        assert_eq!((api.rmw_init_options_fini)(&mut options), RMW_RET_INVALID_ARGUMENT);
        assert_eq!((api.rmw_init_options_init)(&mut options, ALLOCATOR), RMW_RET_OK);
        assert_eq!((api.rmw_init_options_init)(&mut options, ALLOCATOR), RMW_RET_INVALID_ARGUMENT);
        options.enclave = libc::strdup(c"/enclave".as_ptr());
        assert_eq!((api.rmw_init_options_copy)(&options, &mut copy), RMW_RET_OK);
        assert_eq!(CStr::from_ptr(copy.enclave), c"/enclave");
        assert_ne!(copy.enclave, options.enclave);
        assert_eq!((api.rmw_init_options_copy)(&options, &mut copy), RMW_RET_INVALID_ARGUMENT);
        let own = std::mem::replace(&mut options.implementation_identifier, c"other".as_ptr());
        let foreign = RMW_RET_INCORRECT_RMW_IMPLEMENTATION;
        assert_eq!((api.rmw_init_options_fini)(&mut options), foreign);
        options.implementation_identifier = own;
        for options in [&mut options, &mut copy] {
            assert_eq!((api.rmw_init_options_fini)(options), RMW_RET_OK);
            assert_eq!((api.rmw_init_options_fini)(options), RMW_RET_INVALID_ARGUMENT);
        }
    }
}

#[test]
fn a_context_is_shut_down_before_it_is_finalised_and_may_begin_again() {
    let api = plugin();
    let mut options: InitOptions = zeroed();
    let mut context: Context = zeroed();
    // SAFETY: as the API asks, or in an order that it refuses.
    unsafe {
        assert_eq!((api.rmw_init_options_init)(&mut options, ALLOCATOR), RMW_RET_OK);
        options.domain_id = own_domain();
        assert_eq!((api.rmw_init)(&options, &mut context), RMW_RET_INVALID_ARGUMENT, "no enclave");
        options.enclave = libc::strdup(c"/".as_ptr());
        assert_eq!((api.rmw_shutdown)(&mut context), RMW_RET_INVALID_ARGUMENT);
        for _ in 0..2 {
            assert_eq!((api.rmw_init)(&options, &mut context), RMW_RET_OK);
            assert_eq!(context.actual_domain_id, options.domain_id);
            assert_eq!((api.rmw_init)(&options, &mut context), RMW_RET_INVALID_ARGUMENT);
            assert_eq!((api.rmw_context_fini)(&mut context), RMW_RET_INVALID_ARGUMENT);
            assert_eq!((api.rmw_shutdown)(&mut context), RMW_RET_OK);
            assert_eq!((api.rmw_shutdown)(&mut context), RMW_RET_OK);
            let node = (api.rmw_create_node)(&mut context, c"late".as_ptr(), c"/".as_ptr());
            assert!(node.is_null());
            assert_eq!((api.rmw_context_fini)(&mut context), RMW_RET_OK);
            assert_eq!((api.rmw_context_fini)(&mut context), RMW_RET_INVALID_ARGUMENT);
        }
        assert_eq!((api.rmw_init_options_fini)(&mut options), RMW_RET_OK);
    }
}

#[test]
fn names_and_profiles_that_ros_refuses_are_refused() {
    let Some(mut ros) = Ros::new(own_domain(), "strict") else { return };
    for (name, namespace) in
        [("", "/"), ("a b", "/"), ("a/b", "/"), ("1a", "/"), ("a", ""), ("a", "b"), ("a", "/b c")]
    {
        let (name, namespace) = (text(name), text(namespace));
        let (name, namespace) = (name.as_ptr(), namespace.as_ptr());
        // SAFETY: texts.
        let node = unsafe { (ros.api.rmw_create_node)(&mut *ros.context, name, namespace) };
        assert!(node.is_null());
    }
    let support = ros.support(Language::C, IMAGE);
    let unknown = rmw_crossdock::abi::shared::QosProfile { history: 3, ..DEFAULT };
    for (topic, qos) in [("", &DEFAULT), ("a", &DEFAULT), ("/a b", &DEFAULT), ("/a", &unknown)] {
        let topic = text(topic);
        let options = super::options();
        // SAFETY: as the API asks, but for what is refused.
        let made = unsafe {
            (ros.api.rmw_create_subscription)(ros.node, support, topic.as_ptr(), qos, &options)
        };
        assert!(made.is_null());
    }
    // Outside ROS's conventions a name may lack its slash.
    let native =
        rmw_crossdock::abi::shared::QosProfile { avoid_ros_namespace_conventions: true, ..DEFAULT };
    let publisher = ros.publisher("native", support, &native);
    // SAFETY: as the API asks.
    assert_eq!(unsafe { (ros.api.rmw_destroy_publisher)(ros.node, publisher) }, RMW_RET_OK);
}

#[test]
fn an_error_is_set_for_the_calling_thread() {
    let (api, Some(types)) = (plugin(), types()) else { return };
    // SAFETY: functions of librcutils that take nothing.
    let (is_set, reset) = unsafe {
        (
            std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn() -> bool>(
                types.symbol("rcutils_error_is_set"),
            ),
            std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn()>(
                types.symbol("rcutils_reset_error"),
            ),
        )
    };
    reset();
    // SAFETY: null is refused.
    unsafe { (api.rmw_shutdown)(null_mut()) };
    assert!(is_set());
    reset();
    assert!(!is_set());
}
