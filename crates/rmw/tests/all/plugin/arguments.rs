//! Null arguments, and handles of another implementation, for every function that takes one.

use super::{DEFAULT, NO_TIME, PLAIN, Plain, Ros, options, own_domain, service_support, zeroed};
use rmw_crossdock::abi::current::{EVENTS, Gid, MessageInfo, RET_OF_MISSING, ServiceInfo};
use rmw_crossdock::abi::shared::{
    Event, PublisherOptions, QosProfile, RMW_RET_INCORRECT_RMW_IMPLEMENTATION as FOREIGN,
    RMW_RET_INVALID_ARGUMENT as NULL, RMW_RET_OK, RMW_RET_UNSUPPORTED, Ret,
};
use rmw_crossdock::introspection::Language;
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

/// Calls with the handle as one of another implementation, and gives it back as it was. Of memory
/// that was freed, the identifier may point nowhere.
macro_rules! foreign {
    ($handle:expr, $call:expr) => {{
        // SAFETY: a handle of the plug-in.
        let own = unsafe { (*$handle).implementation_identifier };
        // SAFETY: as above.
        unsafe { (*$handle).implementation_identifier = std::ptr::dangling() };
        // SAFETY: what the plug-in must refuse.
        let result: Ret = unsafe { $call };
        // SAFETY: as above.
        unsafe { (*$handle).implementation_identifier = own };
        assert_eq!(result, FOREIGN, stringify!($call));
    }};
}

macro_rules! null {
    ($($call:expr;)*) => {$(
        // SAFETY: what the plug-in must refuse.
        assert_eq!(unsafe { $call }, NULL, stringify!($call));
    )*};
}

/// Of some functions older distributions ask for another answer.
macro_rules! missing {
    ($($call:expr;)*) => {$(
        // SAFETY: what the plug-in must refuse.
        assert_eq!(unsafe { $call }, RET_OF_MISSING, stringify!($call));
    )*};
}

#[test]
fn ports_of_topics_refuse_null_and_foreign_arguments() {
    let Some(ros) = Ros::new(own_domain(), "arguments") else { return };
    let (api, node, support) = (ros.api, ros.node, ros.support(Language::C, PLAIN));
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    let mut message: Plain = [0.0; 43];
    let message: *mut c_void = message.as_mut_ptr().cast();
    let (mut taken, mut count, mut lent) = (false, 0, null_mut());
    let mut info: MessageInfo = zeroed();
    let (mut qos, mut gid): (QosProfile, Gid) = (DEFAULT, zeroed());
    let none = null_mut();
    null! {
        (api.rmw_publish)(null(), message, none);
        (api.rmw_publish)(publisher, null(), none);
        (api.rmw_publish_serialized_message)(null(), null(), none);
        (api.rmw_publish_serialized_message)(publisher, null(), none);
        (api.rmw_borrow_loaned_message)(null(), support, &mut lent);
        (api.rmw_borrow_loaned_message)(publisher, null(), &mut lent);
        (api.rmw_borrow_loaned_message)(publisher, support, null_mut());
        (api.rmw_return_loaned_message_from_publisher)(null(), message);
        (api.rmw_return_loaned_message_from_publisher)(publisher, none);
        (api.rmw_publish_loaned_message)(null(), message, none);
        (api.rmw_publish_loaned_message)(publisher, none, none);
        (api.rmw_publisher_count_matched_subscriptions)(null(), &mut count);
        (api.rmw_publisher_count_matched_subscriptions)(publisher, null_mut());
        (api.rmw_publisher_get_actual_qos)(null(), &mut qos);
        (api.rmw_publisher_get_actual_qos)(publisher, null_mut());
        (api.rmw_publisher_assert_liveliness)(null());
        (api.rmw_publisher_wait_for_all_acked)(null(), NO_TIME);
        (api.rmw_get_gid_for_publisher)(null(), &mut gid);
        (api.rmw_get_gid_for_publisher)(publisher, null_mut());
        (api.rmw_compare_gids_equal)(null(), &gid, &mut taken);
        (api.rmw_take)(null(), message, &mut taken, none);
        (api.rmw_take)(subscription, none, &mut taken, none);
        (api.rmw_take)(subscription, message, null_mut(), none);
        (api.rmw_take_with_info)(subscription, message, &mut taken, null_mut(), none);
        (api.rmw_take_serialized_message)(subscription, null_mut(), &mut taken, none);
        (api.rmw_take_sequence)(subscription, 1, null_mut(), null_mut(), &mut count, none);
        (api.rmw_take_loaned_message_with_info)(subscription, null_mut(), &mut taken, &mut info, none);
        (api.rmw_return_loaned_message_from_subscription)(subscription, none);
        (api.rmw_subscription_count_matched_publishers)(subscription, null_mut());
        (api.rmw_subscription_get_actual_qos)(null(), &mut qos);
        (api.rmw_destroy_publisher)(null_mut(), publisher);
        (api.rmw_destroy_publisher)(node, null_mut());
        (api.rmw_destroy_subscription)(null_mut(), subscription);
        (api.rmw_destroy_subscription)(node, null_mut());
        (api.rmw_subscription_set_on_new_message_callback)(null_mut(), None, null());
    }
    foreign!(publisher, (api.rmw_publish)(publisher, message, none));
    foreign!(publisher, (api.rmw_borrow_loaned_message)(publisher, support, &mut lent));
    foreign!(publisher, (api.rmw_publisher_count_matched_subscriptions)(publisher, &mut count));
    foreign!(publisher, (api.rmw_publisher_get_actual_qos)(publisher, &mut qos));
    foreign!(publisher, (api.rmw_get_gid_for_publisher)(publisher, &mut gid));
    foreign!(publisher, (api.rmw_destroy_publisher)(node, publisher));
    foreign!(node, (api.rmw_destroy_publisher)(node, publisher));
    foreign!(subscription, (api.rmw_take)(subscription, message, &mut taken, none));
    foreign!(
        subscription,
        (api.rmw_take_with_info)(subscription, message, &mut taken, &mut info, none)
    );
    foreign!(subscription, (api.rmw_subscription_get_actual_qos)(subscription, &mut qos));
    foreign!(subscription, (api.rmw_destroy_subscription)(node, subscription));
    foreign!(node, (api.rmw_destroy_subscription)(node, subscription));
    // SAFETY: as the API asks.
    unsafe {
        assert_eq!((api.rmw_destroy_subscription)(node, subscription), RMW_RET_OK);
        assert_eq!((api.rmw_destroy_publisher)(node, publisher), RMW_RET_OK);
    }
}

#[test]
fn ports_of_services_refuse_null_and_foreign_arguments() {
    let Some(ros) = Ros::new(own_domain(), "arguments") else { return };
    let (api, node) = (ros.api, ros.node);
    let (client, service) = (ros.client("/move"), ros.service("/move"));
    let mut message: Plain = [0.0; 43];
    let message: *mut c_void = message.as_mut_ptr().cast();
    let (mut taken, mut number) = (false, 0);
    let mut info: ServiceInfo = zeroed();
    let mut gid: Gid = zeroed();
    null! {
        (api.rmw_send_request)(null(), message, &mut number);
        (api.rmw_send_request)(client, null(), &mut number);
        (api.rmw_send_request)(client, message, null_mut());
        (api.rmw_take_response)(null(), &mut info, message, &mut taken);
        (api.rmw_take_response)(client, null_mut(), message, &mut taken);
        (api.rmw_take_response)(client, &mut info, null_mut(), &mut taken);
        (api.rmw_take_response)(client, &mut info, message, null_mut());
        (api.rmw_take_request)(null(), &mut info, message, &mut taken);
        (api.rmw_take_request)(service, null_mut(), message, &mut taken);
        (api.rmw_take_request)(service, &mut info, null_mut(), &mut taken);
        (api.rmw_take_request)(service, &mut info, message, null_mut());
        (api.rmw_send_response)(null(), &mut info.request_id, message);
        (api.rmw_send_response)(service, null_mut(), message);
        (api.rmw_send_response)(service, &mut info.request_id, null_mut());
        (api.rmw_get_gid_for_client)(null(), &mut gid);
        (api.rmw_destroy_client)(null_mut(), client);
        (api.rmw_destroy_client)(node, null_mut());
        (api.rmw_destroy_service)(null_mut(), service);
        (api.rmw_destroy_service)(node, null_mut());
    }
    foreign!(client, (api.rmw_send_request)(client, message, &mut number));
    foreign!(client, (api.rmw_take_response)(client, &mut info, message, &mut taken));
    missing! {
        (api.rmw_service_server_is_available)(null(), client, &mut taken);
        (api.rmw_service_server_is_available)(node, null(), &mut taken);
        (api.rmw_service_server_is_available)(node, client, null_mut());
    }
    foreign!(client, (api.rmw_service_server_is_available)(node, client, &mut taken));
    foreign!(client, (api.rmw_destroy_client)(node, client));
    foreign!(service, (api.rmw_take_request)(service, &mut info, message, &mut taken));
    foreign!(service, (api.rmw_send_response)(service, &mut info.request_id, message));
    foreign!(service, (api.rmw_destroy_service)(node, service));
    foreign!(node, (api.rmw_destroy_service)(node, service));
    // SAFETY: as the API asks.
    unsafe {
        assert_eq!((api.rmw_destroy_client)(node, client), RMW_RET_OK);
        assert_eq!((api.rmw_destroy_service)(node, service), RMW_RET_OK);
    }
}

#[test]
fn makers_give_null_for_null_and_foreign_arguments() {
    let Some(mut ros) = Ros::new(own_domain(), "arguments") else { return };
    let (api, node) = (ros.api, ros.node);
    let (message, service) = (ros.support(Language::C, PLAIN), service_support(ros.types));
    let name = c"/name".as_ptr();
    let offers = PublisherOptions {
        rmw_specific_publisher_payload: null_mut(),
        require_unique_network_flow_endpoints: 0,
    };
    let requests = options();
    // SAFETY: what the plug-in must refuse.
    let all = |node, message, service, name: *const c_char, qos, offers, requests| unsafe {
        [
            (api.rmw_create_publisher)(node, message, name, qos, offers).is_null(),
            (api.rmw_create_subscription)(node, message, name, qos, requests).is_null(),
            (api.rmw_create_client)(node, service, name, qos).is_null(),
            (api.rmw_create_service)(node, service, name, qos).is_null(),
        ]
    };
    assert_eq!(all(null(), message, service, name, &DEFAULT, &offers, &requests), [true; 4]);
    assert_eq!(all(node, null(), null(), name, &DEFAULT, &offers, &requests), [true; 4]);
    assert_eq!(all(node, message, service, null(), &DEFAULT, &offers, &requests), [true; 4]);
    assert_eq!(all(node, message, service, name, null(), &offers, &requests), [true; 4]);
    // SAFETY: a handle of the plug-in, and what it must refuse.
    unsafe {
        let own = std::mem::replace(&mut (*node).implementation_identifier, c"other".as_ptr());
        assert_eq!(all(node, message, service, name, &DEFAULT, &offers, &requests), [true; 4]);
        (*node).implementation_identifier = own;
        assert!((api.rmw_create_publisher)(node, message, name, &DEFAULT, null()).is_null());
        assert!((api.rmw_create_subscription)(node, message, name, &DEFAULT, null()).is_null());
        assert!((api.rmw_node_get_graph_guard_condition)(null()).is_null());
        assert!((api.rmw_create_node)(null_mut(), name, name).is_null());
        assert!((api.rmw_create_wait_set)(null_mut(), 0).is_null());
        assert!((api.rmw_create_guard_condition)(null_mut()).is_null());
        let context = &mut *ros.context;
        assert!((api.rmw_create_node)(context, null(), c"/".as_ptr()).is_null());
        assert!((api.rmw_create_node)(context, c"a".as_ptr(), null()).is_null());
    }
}

#[test]
fn waits_and_events_refuse_null_and_foreign_arguments() {
    let Some(mut ros) = Ros::new(own_domain(), "arguments") else { return };
    let (guard, set, api) = (ros.guard(), ros.wait_set(), ros.api);
    let publisher = ros.publisher("/pose", ros.support(Language::C, PLAIN), &DEFAULT);
    let lost = EVENTS.iter().find(|(name, _)| *name == "RMW_EVENT_OFFERED_QOS_INCOMPATIBLE");
    let (kind, mut event): (u32, Event) = (lost.unwrap().1 as u32, zeroed());
    let (mut taken, mut status) = (false, [0_u64; 8]);
    let status: *mut c_void = status.as_mut_ptr().cast();
    let no = (null_mut(), null_mut(), null_mut(), null_mut(), null_mut());
    null! {
        (api.rmw_wait)(no.0, no.1, no.2, no.3, no.4, null_mut(), &NO_TIME);
        (api.rmw_trigger_guard_condition)(null());
        (api.rmw_destroy_guard_condition)(null_mut());
        (api.rmw_publisher_event_init)(null_mut(), publisher, kind);
        (api.rmw_publisher_event_init)(&mut event, null(), kind);
        (api.rmw_subscription_event_init)(&mut event, null(), kind);
        (api.rmw_take_event)(null(), status, &mut taken);
        (api.rmw_event_set_callback)(null_mut(), None, null());
        (api.rmw_set_log_severity)(7);
        (api.rmw_qos_profile_check_compatible)(DEFAULT, DEFAULT, null_mut(), null_mut(), 0);
    }
    foreign!(set, (api.rmw_wait)(no.0, no.1, no.2, no.3, no.4, set, &NO_TIME));
    missing! { (api.rmw_destroy_wait_set)(null_mut()); }
    foreign!(set, (api.rmw_destroy_wait_set)(set));
    foreign!(guard, (api.rmw_trigger_guard_condition)(guard));
    foreign!(guard, (api.rmw_destroy_guard_condition)(guard));
    // SAFETY: as the API asks, or what the plug-in must refuse.
    unsafe {
        assert_eq!((api.rmw_publisher_event_init)(&mut event, publisher, 999), RMW_RET_UNSUPPORTED);
        assert_eq!((api.rmw_publisher_event_init)(&mut event, publisher, kind), RMW_RET_OK);
        assert_eq!((api.rmw_publisher_event_init)(&mut event, publisher, kind), NULL);
        assert_eq!((api.rmw_take_event)(&event, null_mut(), &mut taken), NULL);
        assert_eq!((api.rmw_take_event)(&event, status, null_mut()), NULL);
        assert_eq!((api.rmw_set_log_severity)(20), RMW_RET_OK);
        let (mut fits, mut why) = (9, [1 as c_char; 12]);
        let best_effort = QosProfile { reliability: 2, ..DEFAULT };
        let check = api.rmw_qos_profile_check_compatible;
        assert_eq!(check(best_effort, DEFAULT, &mut fits, why.as_mut_ptr(), 12), RMW_RET_OK);
        assert_eq!((fits, why[11]), (2, 0));
        assert_eq!((api.rmw_destroy_publisher)(ros.node, publisher), RMW_RET_OK);
        assert_eq!((api.rmw_destroy_guard_condition)(guard), RMW_RET_OK);
        assert_eq!((api.rmw_destroy_wait_set)(set), RMW_RET_OK);
    }
}
