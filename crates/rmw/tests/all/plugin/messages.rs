//! Messages between nodes of one process, in both languages.

use super::{DEFAULT, IMAGE, On, PLAIN, Plain, Ros, options, own_domain, zeroed};
use crate::rosidl::Message;
use rmw_crossdock::abi::current::{Gid, MessageInfo, SubscriptionOptions};
use rmw_crossdock::abi::shared::{
    MessageInfoSequence, MessageSequence, QosProfile, RMW_RET_INVALID_ARGUMENT, RMW_RET_OK,
    RMW_RET_UNSUPPORTED, SerializedMessage,
};
use rmw_crossdock::introspection::Language;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Sets or compares a message with known values, by code that rosidl has generated.
fn known(ros: &Ros, function: &str, message: *mut c_void) -> bool {
    let function = ros.types.symbol(function);
    // SAFETY: a function of this type, of the type of the message.
    let function =
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void) -> bool>(function) };
    function(message)
}

#[test]
fn an_image_goes_from_c_to_cpp_and_from_cpp_to_c() {
    let Some(mut ros) = Ros::new(own_domain(), "images") else { return };
    let set = ros.wait_set();
    for (from, to, fill, is) in [
        (Language::C, Language::Cpp, "fill_c_image", "is_cpp_image"),
        (Language::Cpp, Language::C, "fill_cpp_image", "is_c_image"),
    ] {
        let publisher = ros.publisher("/image", ros.support(from, IMAGE), &DEFAULT);
        let subscription = ros.subscription("/image", ros.support(to, IMAGE), &DEFAULT, &options());
        assert_eq!(ros.matched(publisher), 1);
        let (sent, taken) = (ros.types.plan(from, IMAGE), ros.types.plan(to, IMAGE));
        let (mut sent, mut taken) = (Message::new(&sent), Message::new(&taken));
        known(&ros, fill, sent.at_mut());
        let on = On { subscriptions: vec![subscription], ..On::default() };
        let mut gid: Gid = zeroed();
        for number in 1..=3 {
            assert!(!ros.take(subscription, taken.at_mut()));
            ros.publish(publisher, sent.at());
            ros.wait_for(set, &on);
            let (mut is_taken, mut info) = (false, zeroed::<MessageInfo>());
            // SAFETY: as the API asks.
            unsafe {
                let ret = (ros.api.rmw_take_with_info)(
                    subscription,
                    taken.at_mut(),
                    &mut is_taken,
                    &mut info,
                    null_mut(),
                );
                assert_eq!((ret, is_taken), (RMW_RET_OK, true));
                (ros.api.rmw_get_gid_for_publisher)(publisher, &mut gid);
                let mut is_same = false;
                (ros.api.rmw_compare_gids_equal)(&gid, &info.publisher_gid, &mut is_same);
                assert!(is_same);
            }
            assert!(known(&ros, is, taken.at_mut()));
            assert_eq!(info.publication_sequence_number, number);
            assert!(info.source_timestamp > 0 && info.received_timestamp >= info.source_timestamp);
        }
        // SAFETY: as the API asks.
        unsafe {
            assert_eq!((ros.api.rmw_destroy_subscription)(ros.node, subscription), RMW_RET_OK);
            assert_eq!((ros.api.rmw_destroy_publisher)(ros.node, publisher), RMW_RET_OK);
        }
    }
    // SAFETY: as the API asks.
    assert_eq!(unsafe { (ros.api.rmw_destroy_wait_set)(set) }, RMW_RET_OK);
}

#[test]
fn a_serialised_message_goes_in_and_comes_out() {
    let Some(ros) = Ros::new(own_domain(), "serialised") else { return };
    let support = ros.support(Language::C, IMAGE);
    let publisher = ros.publisher("/image", support, &DEFAULT);
    let subscription = ros.subscription("/image", support, &DEFAULT, &options());
    let plan = ros.types.plan(Language::C, IMAGE);
    let mut message = Message::new(&plan);
    known(&ros, "fill_c_image", message.at_mut());
    ros.publish(publisher, message.at());
    let mut cdr: SerializedMessage = zeroed();
    cdr.allocator = super::ALLOCATOR;
    let mut taken = false;
    // SAFETY: as the API asks.
    unsafe {
        let ret =
            (ros.api.rmw_take_serialized_message)(subscription, &mut cdr, &mut taken, null_mut());
        assert_eq!((ret, taken), (RMW_RET_OK, true));
        let ret = (ros.api.rmw_publish_serialized_message)(publisher, &cdr, null_mut());
        assert_eq!(ret, RMW_RET_OK);
    }
    let mut again = Message::new(&plan);
    assert!(ros.take(subscription, again.at_mut()));
    assert!(known(&ros, "is_c_image", again.at_mut()));
    // SAFETY: memory of its allocator; handles of the plug-in.
    unsafe {
        libc::free(cdr.buffer.cast());
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

#[test]
fn a_plain_message_is_lent_on_both_sides_and_lies_at_one_place() {
    let Some(ros) = Ros::new(own_domain(), "loans") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    // SAFETY: as the API asks, or as it refuses.
    unsafe {
        assert!((*publisher).can_loan_messages && (*subscription).can_loan_messages);
        for value in [1.5, 2.5, 3.5] {
            let mut lent = null_mut();
            let borrow = ros.api.rmw_borrow_loaned_message;
            assert_eq!(borrow(publisher, support, &mut lent), RMW_RET_OK);
            assert_eq!(borrow(publisher, support, &mut lent), RMW_RET_INVALID_ARGUMENT);
            lent.cast::<Plain>().write([value; 43]);
            let publish = ros.api.rmw_publish_loaned_message;
            assert_eq!(publish(publisher, lent, null_mut()), RMW_RET_OK);
            assert_eq!(publish(publisher, lent, null_mut()), RMW_RET_INVALID_ARGUMENT);
            let (mut read, mut taken) = (null_mut(), false);
            let mut info: MessageInfo = zeroed();
            let ret = (ros.api.rmw_take_loaned_message_with_info)(
                subscription,
                &mut read,
                &mut taken,
                &mut info,
                null_mut(),
            );
            assert_eq!((ret, taken), (RMW_RET_OK, true));
            assert_eq!(*read.cast::<Plain>(), [value; 43]);
            let give_back = ros.api.rmw_return_loaned_message_from_subscription;
            assert_eq!(give_back(subscription, read), RMW_RET_OK);
            assert_eq!(give_back(subscription, read), RMW_RET_INVALID_ARGUMENT);
        }
        let mut lent = null_mut();
        (ros.api.rmw_borrow_loaned_message)(publisher, support, &mut lent);
        let give_back = ros.api.rmw_return_loaned_message_from_publisher;
        assert_eq!(give_back(publisher, lent), RMW_RET_OK);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
    let support = ros.support(Language::C, IMAGE);
    let publisher = ros.publisher("/image", support, &DEFAULT);
    // SAFETY: as above.
    unsafe {
        assert!(!(*publisher).can_loan_messages);
        let mut lent = null_mut();
        let ret = (ros.api.rmw_borrow_loaned_message)(publisher, support, &mut lent);
        assert_eq!(ret, RMW_RET_UNSUPPORTED);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

#[test]
fn a_subscription_keeps_the_last_messages_and_takes_several_at_once() {
    let Some(ros) = Ros::new(own_domain(), "depths") else { return };
    let support = ros.support(Language::C, PLAIN);
    let last = QosProfile { depth: 3, ..DEFAULT };
    let publisher = ros.publisher("/pose", support, &last);
    let subscription = ros.subscription("/pose", support, &last, &options());
    for value in 0..7 {
        let message: Plain = [f64::from(value); 43];
        ros.publish(publisher, message.as_ptr().cast());
    }
    let mut room = [[0.0; 43]; 5];
    let mut places = room.each_mut().map(|message| message.as_mut_ptr().cast::<c_void>());
    let mut infos: [MessageInfo; 5] = zeroed();
    let mut messages =
        MessageSequence { data: places.as_mut_ptr(), size: 0, capacity: 5, allocator: null_mut() };
    let mut infos = MessageInfoSequence {
        data: infos.as_mut_ptr(),
        size: 0,
        capacity: 5,
        allocator: null_mut(),
    };
    let mut taken = 9;
    // SAFETY: as the API asks.
    unsafe {
        let take = ros.api.rmw_take_sequence;
        let too_many = take(subscription, 6, &mut messages, &mut infos, &mut taken, null_mut());
        assert_eq!(too_many, RMW_RET_INVALID_ARGUMENT);
        let ret = take(subscription, 5, &mut messages, &mut infos, &mut taken, null_mut());
        assert_eq!((ret, taken, messages.size, infos.size), (RMW_RET_OK, 3, 3, 3));
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
    assert_eq!([room[0][0], room[1][0], room[2][0]], [4.0, 5.0, 6.0]);
}

#[test]
fn a_late_subscription_gets_what_a_transient_local_publisher_has_said() {
    let Some(mut ros) = Ros::new(own_domain(), "late") else { return };
    let support = ros.support(Language::C, PLAIN);
    let latched = QosProfile { durability: 1, depth: 1, ..DEFAULT };
    let publisher = ros.publisher("/pose", support, &latched);
    let message: Plain = [4.5; 43];
    ros.publish(publisher, message.as_ptr().cast());
    let subscription = ros.subscription("/pose", support, &latched, &options());
    let set = ros.wait_set();
    ros.wait_for(set, &On { subscriptions: vec![subscription], ..On::default() });
    let mut taken: Plain = [0.0; 43];
    assert!(ros.take(subscription, taken.as_mut_ptr().cast()));
    assert_eq!(taken, message);
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_wait_set)(set);
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

#[test]
fn a_subscription_can_pass_over_what_its_own_process_publishes() {
    let Some(ros) = Ros::new(own_domain(), "own") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let deaf = SubscriptionOptions { ignore_local_publications: true, ..options() };
    let deaf = ros.subscription("/pose", support, &DEFAULT, &deaf);
    let hears = ros.subscription("/pose", support, &DEFAULT, &options());
    let mut message: Plain = [4.5; 43];
    ros.publish(publisher, message.as_ptr().cast());
    assert!(!ros.take(deaf, message.as_mut_ptr().cast()));
    assert!(ros.take(hears, message.as_mut_ptr().cast()));
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_subscription)(ros.node, deaf);
        (ros.api.rmw_destroy_subscription)(ros.node, hears);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

#[test]
fn a_reliable_publisher_goes_on_beside_a_subscription_that_takes_nothing() {
    let Some(ros) = Ros::new(own_domain(), "stopped") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    let message: Plain = [0.5; 43];
    for _ in 0..1000 {
        ros.publish(publisher, message.as_ptr().cast());
    }
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}
