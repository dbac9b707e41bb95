//! The functions of the plug-in, found by their names.

use rmw_crossdock::abi::current::{
    Context, Gid, GuardCondition, InitOptions, MessageInfo, MessageSupport, Node, RequestId,
    ServiceInfo, ServiceSupport, Subscription, SubscriptionOptions, TopicEndpointInfo,
};
use rmw_crossdock::abi::shared::{
    Allocator, Client, Clients, EndpointInfoArray, Event, EventCallback, Events, GuardConditions,
    MessageInfoSequence, MessageSequence, NamesAndTypes, Publisher, PublisherOptions, QosProfile,
    Ret, SerializedMessage, Service, Services, StringArray, Subscriptions, Time, WaitSet,
};
use std::ffi::{CString, c_char, c_void};

macro_rules! api {
    ($($name:ident($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        pub(super) struct Api {
            pub(super) library: usize,
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Api {
            /// The same functions in this program, whose allocations are counted.
            pub(super) fn linked() -> Self {
                Self { library: 0, $($name: rmw_crossdock::api::$name,)* }
            }

            pub(super) fn load() -> Self {
                let library = open();
                Self {
                    library,
                    $($name: {
                        let found = symbol(library, stringify!($name));
                        assert!(!found.is_null(), "the plug-in has no {}", stringify!($name));
                        // SAFETY: rmw's API says that the function of this name has this type.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($argument),*) -> $result,
                            >(found)
                        }
                    },)*
                }
            }
        }
    };
}

/// Loads the library that cargo has built beside this program.
fn open() -> usize {
    let program = std::env::current_exe().unwrap();
    let path = program.parent().unwrap().join("librmw_crossdock.so");
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the library under test, never unloaded.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "{} does not load", path.display());
    library as usize
}

/// The address of a function; null if there is none.
pub(super) fn symbol(library: usize, name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: a loaded library and a text.
    unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) }
}

api! {
    rmw_init_options_init(*mut InitOptions, Allocator) -> Ret;
    rmw_init_options_copy(*const InitOptions, *mut InitOptions) -> Ret;
    rmw_init_options_fini(*mut InitOptions) -> Ret;
    rmw_init(*const InitOptions, *mut Context) -> Ret;
    rmw_shutdown(*mut Context) -> Ret;
    rmw_context_fini(*mut Context) -> Ret;
    rmw_create_node(*mut Context, *const c_char, *const c_char) -> *mut Node;
    rmw_destroy_node(*mut Node) -> Ret;
    rmw_node_get_graph_guard_condition(*const Node) -> *mut GuardCondition;
    rmw_create_publisher(*const Node, *const MessageSupport, *const c_char, *const QosProfile, *const PublisherOptions) -> *mut Publisher;
    rmw_destroy_publisher(*mut Node, *mut Publisher) -> Ret;
    rmw_publish(*const Publisher, *const c_void, *mut c_void) -> Ret;
    rmw_publish_serialized_message(*const Publisher, *const SerializedMessage, *mut c_void) -> Ret;
    rmw_borrow_loaned_message(*const Publisher, *const MessageSupport, *mut *mut c_void) -> Ret;
    rmw_return_loaned_message_from_publisher(*const Publisher, *mut c_void) -> Ret;
    rmw_publish_loaned_message(*const Publisher, *mut c_void, *mut c_void) -> Ret;
    rmw_publisher_count_matched_subscriptions(*const Publisher, *mut usize) -> Ret;
    rmw_publisher_get_actual_qos(*const Publisher, *mut QosProfile) -> Ret;
    rmw_publisher_assert_liveliness(*const Publisher) -> Ret;
    rmw_publisher_wait_for_all_acked(*const Publisher, Time) -> Ret;
    rmw_create_subscription(*const Node, *const MessageSupport, *const c_char, *const QosProfile, *const SubscriptionOptions) -> *mut Subscription;
    rmw_destroy_subscription(*mut Node, *mut Subscription) -> Ret;
    rmw_subscription_count_matched_publishers(*const Subscription, *mut usize) -> Ret;
    rmw_subscription_get_actual_qos(*const Subscription, *mut QosProfile) -> Ret;
    rmw_take(*const Subscription, *mut c_void, *mut bool, *mut c_void) -> Ret;
    rmw_take_with_info(*const Subscription, *mut c_void, *mut bool, *mut MessageInfo, *mut c_void) -> Ret;
    rmw_take_sequence(*const Subscription, usize, *mut MessageSequence, *mut MessageInfoSequence<MessageInfo>, *mut usize, *mut c_void) -> Ret;
    rmw_take_serialized_message(*const Subscription, *mut SerializedMessage, *mut bool, *mut c_void) -> Ret;
    rmw_take_loaned_message_with_info(*const Subscription, *mut *mut c_void, *mut bool, *mut MessageInfo, *mut c_void) -> Ret;
    rmw_return_loaned_message_from_subscription(*const Subscription, *mut c_void) -> Ret;
    rmw_create_client(*const Node, *const ServiceSupport, *const c_char, *const QosProfile) -> *mut Client;
    rmw_destroy_client(*mut Node, *mut Client) -> Ret;
    rmw_send_request(*const Client, *const c_void, *mut i64) -> Ret;
    rmw_take_response(*const Client, *mut ServiceInfo, *mut c_void, *mut bool) -> Ret;
    rmw_service_server_is_available(*const Node, *const Client, *mut bool) -> Ret;
    rmw_create_service(*const Node, *const ServiceSupport, *const c_char, *const QosProfile) -> *mut Service;
    rmw_destroy_service(*mut Node, *mut Service) -> Ret;
    rmw_take_request(*const Service, *mut ServiceInfo, *mut c_void, *mut bool) -> Ret;
    rmw_send_response(*const Service, *mut RequestId, *mut c_void) -> Ret;
    rmw_create_guard_condition(*mut Context) -> *mut GuardCondition;
    rmw_destroy_guard_condition(*mut GuardCondition) -> Ret;
    rmw_trigger_guard_condition(*const GuardCondition) -> Ret;
    rmw_create_wait_set(*mut Context, usize) -> *mut WaitSet;
    rmw_destroy_wait_set(*mut WaitSet) -> Ret;
    rmw_wait(*mut Subscriptions, *mut GuardConditions, *mut Services, *mut Clients, *mut Events, *mut WaitSet, *const Time) -> Ret;
    rmw_publisher_event_init(*mut Event, *const Publisher, u32) -> Ret;
    rmw_subscription_event_init(*mut Event, *const Subscription, u32) -> Ret;
    rmw_take_event(*const Event, *mut c_void, *mut bool) -> Ret;
    rmw_event_set_callback(*mut Event, EventCallback, *const c_void) -> Ret;
    rmw_subscription_set_on_new_message_callback(*mut Subscription, EventCallback, *const c_void) -> Ret;
    rmw_service_set_on_new_request_callback(*mut Service, EventCallback, *const c_void) -> Ret;
    rmw_client_set_on_new_response_callback(*mut Client, EventCallback, *const c_void) -> Ret;
    rmw_get_node_names(*const Node, *mut StringArray, *mut StringArray) -> Ret;
    rmw_count_publishers(*const Node, *const c_char, *mut usize) -> Ret;
    rmw_count_subscribers(*const Node, *const c_char, *mut usize) -> Ret;
    rmw_get_topic_names_and_types(*const Node, *mut Allocator, bool, *mut NamesAndTypes) -> Ret;
    rmw_get_service_names_and_types_by_node(*const Node, *mut Allocator, *const c_char, *const c_char, *mut NamesAndTypes) -> Ret;
    rmw_get_publishers_info_by_topic(*const Node, *mut Allocator, *const c_char, bool, *mut EndpointInfoArray<TopicEndpointInfo>) -> Ret;
    rmw_get_subscriptions_info_by_topic(*const Node, *mut Allocator, *const c_char, bool, *mut EndpointInfoArray<TopicEndpointInfo>) -> Ret;
    rmw_get_gid_for_publisher(*const Publisher, *mut Gid) -> Ret;
    rmw_get_gid_for_client(*const Client, *mut Gid) -> Ret;
    rmw_compare_gids_equal(*const Gid, *const Gid, *mut bool) -> Ret;
    rmw_qos_profile_check_compatible(QosProfile, QosProfile, *mut u32, *mut c_char, usize) -> Ret;
    rmw_set_log_severity(u32) -> Ret;
}
