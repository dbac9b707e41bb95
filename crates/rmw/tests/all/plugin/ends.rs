//! How it ends where a process does something unusual: it forks, has two contexts, exits without a
//! shutdown, is of another distribution, or has no ROS at all.

use super::waits::{Pointer, Shared};
use super::{
    ALLOCATOR, DEFAULT, NO_TIME, On, PLAIN, Plain, Ros, options, own_domain, plugin, zeroed,
};
use crate::rosidl::types;
use rmw_crossdock::abi::current::{Context, InitOptions};
use rmw_crossdock::abi::shared::{
    RMW_RET_ERROR, RMW_RET_INVALID_ARGUMENT, RMW_RET_OK, RMW_RET_TIMEOUT, RMW_RET_UNSUPPORTED, Ret,
    SECURITY_ENFORCE,
};
use rmw_crossdock::introspection::Language;
use std::ffi::{CStr, c_char, c_void};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// What makes a process of this program play a part; its value is a domain.
const PART: &str = "CROSSDOCK_RMW_PART";

/// Runs a part of this file in a process of its own, to its end.
fn play(part: &str, domain: usize, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", &format!("plugin::ends::{part}")]);
    command.env(PART, domain.to_string()).envs(environment.iter().copied());
    command.output().unwrap()
}

/// The domain of a part; none if this process plays none.
fn part() -> Option<usize> {
    std::env::var(PART).ok()?.parse().ok()
}

/// Forks, and gives what `child` has said; an empty text is good.
fn in_child(child: impl FnOnce()) -> String {
    let (reading, writing) = std::io::pipe().unwrap();
    // SAFETY: the child goes on with this thread alone. What other threads hold at this moment is
    // what the test is about; the C library's allocator is made for it.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // A hook would write to what the runner of tests may hold.
        std::panic::set_hook(Box::new(|_| {}));
        let said = catch_unwind(AssertUnwindSafe(child));
        let said = said.err().map(|panic| match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => panic.downcast_ref::<&str>().map_or("?", |text| text).to_owned(),
        });
        let said = said.unwrap_or_default();
        // SAFETY: as many bytes lie there; nobody looks at a pipe that is full.
        unsafe { libc::write(writing.as_raw_fd(), said.as_ptr().cast(), said.len()) };
        // SAFETY: ends the child without what the parent has registered.
        unsafe { libc::_exit(0) };
    }
    drop(writing);
    let said = std::io::read_to_string(reading).unwrap();
    let mut status = 0;
    // SAFETY: waits for the child.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    if libc::WIFEXITED(status) { said } else { format!("{said}, and a signal: {status}") }
}

unsafe extern "C" fn nothing(_: *const c_void, _: usize) {}

#[test]
fn a_forked_child_is_refused_its_parents_context_and_has_one_of_its_own() {
    const CHILDREN: usize = 20;
    let domain = own_domain();
    let Some(mut ros) = Ros::new(domain, "parent") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let subscription = ros.subscription("/from_child", support, &DEFAULT, &options());
    // A thread of the context runs that no child has.
    // SAFETY: as the API asks.
    let ret = unsafe {
        (ros.api.rmw_subscription_set_on_new_message_callback)(
            subscription,
            Some(nothing),
            std::ptr::null(),
        )
    };
    assert_eq!(ret, RMW_RET_OK);
    let (client, guard, set) = (ros.client("/move"), ros.guard(), ros.wait_set());
    let message: Plain = [0.5; 43];
    let child = |ros: &Ros, number: usize| {
        let api = ros.api;
        // SAFETY: as the API asks; all of these are the parent's.
        unsafe {
            let bytes = message.as_ptr().cast();
            assert_eq!((api.rmw_publish)(publisher, bytes, null_mut()), RMW_RET_ERROR);
            let mut taken = [0.0; 43];
            let mut is_taken = true;
            let to = taken.as_mut_ptr().cast();
            let take = (api.rmw_take)(subscription, to, &mut is_taken, null_mut());
            assert_eq!(take, RMW_RET_ERROR);
            assert!(
                (api.rmw_create_node)(
                    std::ptr::from_ref(&*ros.context).cast_mut(),
                    c"late".as_ptr(),
                    c"/".as_ptr()
                )
                .is_null()
            );
            // Destructors find no error. Those of rclcpp trigger, too.
            assert_eq!((api.rmw_trigger_guard_condition)(guard), RMW_RET_OK);
            let end = api.rmw_subscription_set_on_new_message_callback;
            assert_eq!(end(subscription, None, std::ptr::null()), RMW_RET_OK);
            assert_eq!(end(subscription, Some(nothing), std::ptr::null()), RMW_RET_ERROR);
            assert_eq!((api.rmw_destroy_wait_set)(set), RMW_RET_OK);
            assert_eq!((api.rmw_destroy_guard_condition)(guard), RMW_RET_OK);
            assert_eq!((api.rmw_destroy_client)(ros.node, client), RMW_RET_OK);
            assert_eq!((api.rmw_destroy_subscription)(ros.node, subscription), RMW_RET_OK);
            assert_eq!((api.rmw_destroy_publisher)(ros.node, publisher), RMW_RET_OK);
            assert_eq!((api.rmw_destroy_node)(ros.node), RMW_RET_OK);
            let context = std::ptr::from_ref(&*ros.context).cast_mut();
            assert_eq!((api.rmw_shutdown)(context), RMW_RET_OK);
            assert_eq!((api.rmw_context_fini)(context), RMW_RET_OK);
        }
        let own = Ros::new(domain, "child").unwrap();
        let publisher = own.publisher("/from_child", support, &DEFAULT);
        own.until(|| own.matched(publisher) == 1);
        own.publish(publisher, [number as f64; 43].as_ptr().cast());
        // SAFETY: as the API asks.
        let ret = unsafe { (own.api.rmw_destroy_publisher)(own.node, publisher) };
        assert_eq!(ret, RMW_RET_OK);
    };
    let is_over = AtomicBool::new(false);
    let (shared, is_over) = (Shared(&ros), &is_over);
    std::thread::scope(|scope| {
        // Threads that hold the context's locks most of the time.
        let end = Pointer(guard);
        scope.spawn(move || {
            let (Shared(ros), Pointer(guard)) = (shared, end);
            while !is_over.load(Ordering::Relaxed) {
                // SAFETY: as the API asks.
                unsafe { (ros.api.rmw_trigger_guard_condition)(guard) };
            }
        });
        let ends = (Pointer(guard), Pointer(set));
        scope.spawn(move || {
            let (Shared(ros), (Pointer(guard), Pointer(set))) = (shared, ends);
            let on = On { guards: vec![guard], ..On::default() };
            while !is_over.load(Ordering::Relaxed) {
                ros.wait(set, &on, NO_TIME);
            }
        });
        // Ends the threads, also if this one fails.
        let _over = Over(is_over);
        let mut taken: Plain = [0.0; 43];
        for number in 1..=CHILDREN {
            let said = in_child(|| child(&ros, number));
            assert_eq!(said, "", "of child {number}");
            // What it has published is there, and the parent's ports are whole.
            ros.until(|| ros.take(subscription, taken.as_mut_ptr().cast()));
            assert_eq!(taken, [number as f64; 43]);
        }
    });
    let heard = ros.subscription("/pose", support, &DEFAULT, &options());
    ros.publish(publisher, message.as_ptr().cast());
    let mut taken: Plain = [0.0; 43];
    ros.until(|| ros.take(heard, taken.as_mut_ptr().cast()));
    assert_eq!(taken, message);
    // SAFETY: as the API asks.
    unsafe {
        assert_eq!((ros.api.rmw_destroy_wait_set)(set), RMW_RET_OK);
        assert_eq!((ros.api.rmw_destroy_guard_condition)(guard), RMW_RET_OK);
        assert_eq!((ros.api.rmw_destroy_client)(ros.node, client), RMW_RET_OK);
        for subscription in [subscription, heard] {
            assert_eq!((ros.api.rmw_destroy_subscription)(ros.node, subscription), RMW_RET_OK);
        }
        assert_eq!((ros.api.rmw_destroy_publisher)(ros.node, publisher), RMW_RET_OK);
    }
}

#[test]
fn two_contexts_of_a_process_talk_and_the_end_of_one_leaves_the_other_whole() {
    let domain = own_domain();
    let Some(mut first) = Ros::new(domain, "first") else { return };
    let mut second = Ros::new(domain, "second").unwrap();
    let elsewhere = Ros::new(own_domain(), "elsewhere").unwrap();
    let support = first.support(Language::C, PLAIN);
    let subscription = second.subscription("/pose", support, &DEFAULT, &options());
    let other = elsewhere.subscription("/pose", support, &DEFAULT, &options());
    let (set, of_first) = (second.wait_set(), first.guard());
    let on = On { subscriptions: vec![subscription], ..On::default() };
    let mut message: Plain = [0.0; 43];
    for (round, ros) in [&first, &second].into_iter().enumerate() {
        let publisher = ros.publisher("/pose", support, &DEFAULT);
        ros.until(|| ros.matched(publisher) == 1);
        ros.publish(publisher, [round as f64; 43].as_ptr().cast());
        second.wait_for(set, &on);
        assert!(second.take(subscription, message.as_mut_ptr().cast()));
        assert_eq!(message, [round as f64; 43]);
        // SAFETY: as the API asks.
        unsafe { (ros.api.rmw_destroy_publisher)(ros.node, publisher) };
    }
    assert!(!elsewhere.take(other, message.as_mut_ptr().cast()), "another domain");
    // A wait set takes conditions of any context.
    let both = On { subscriptions: vec![subscription], guards: vec![of_first], ..On::default() };
    let alone = On { guards: vec![of_first], ..On::default() };
    assert_eq!(second.wait(set, &both, NO_TIME), [false, false]);
    assert_eq!(second.wait(set, &alone, NO_TIME), [false]);
    // SAFETY: as the API asks.
    let trigger = || unsafe { (first.api.rmw_trigger_guard_condition)(of_first) };
    trigger();
    assert_eq!(second.wait(set, &both, super::PATIENCE), [false, true]);
    trigger();
    second.wait_for(set, &alone);
    let publisher = first.publisher("/pose", support, &DEFAULT);
    first.until(|| first.matched(publisher) == 1);
    std::thread::scope(|scope| {
        let (shared, publisher) = (Shared(&first), Pointer(publisher));
        // Whichever comes first, the wait or the message.
        scope.spawn(move || {
            let (Shared(first), Pointer(publisher)) = (shared, publisher);
            first.publish(publisher, [5.0; 43].as_ptr().cast());
        });
        assert_eq!(second.wait(set, &both, super::PATIENCE), [true, false]);
    });
    assert!(second.take(subscription, message.as_mut_ptr().cast()));
    // SAFETY: as the API asks.
    unsafe { (first.api.rmw_destroy_publisher)(first.node, publisher) };
    // SAFETY: as the API asks.
    unsafe { (first.api.rmw_destroy_guard_condition)(of_first) };
    drop(first);
    let publisher = second.publisher("/pose", support, &DEFAULT);
    second.publish(publisher, [7.0; 43].as_ptr().cast());
    second.wait_for(set, &on);
    assert!(second.take(subscription, message.as_mut_ptr().cast()));
    // SAFETY: as the API asks.
    unsafe {
        (second.api.rmw_destroy_publisher)(second.node, publisher);
        (second.api.rmw_destroy_wait_set)(set);
        (second.api.rmw_destroy_subscription)(second.node, subscription);
        (elsewhere.api.rmw_destroy_subscription)(elsewhere.node, other);
    }
}

/// Says that something is over when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Descriptors and threads of this process.
fn held() -> (usize, usize) {
    let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    (count("fd"), count("task"))
}

/// Makes nodes and leaves their ports behind, as rclpy does with one service of each node.
#[test]
fn one_that_leaves_ports_behind() {
    let Some(domain) = part() else { return };
    let Some(mut stays) = Ros::new(domain, "stays") else { return };
    let mut before = None;
    for _ in 0..8 {
        let ros = Ros::new(domain, "goes").unwrap();
        let support = ros.support(Language::C, PLAIN);
        let (publisher, service) =
            (ros.publisher("/pose", support, &DEFAULT), ros.service("/move"));
        let (_, client) =
            (ros.subscription("/pose", support, &DEFAULT, &options()), ros.client("/move"));
        drop(ros);
        // What is left says so.
        let (api, mut number) = (plugin(), 0);
        let message: Plain = [0.0; 43];
        // SAFETY: handles stay until the program gives them up.
        unsafe {
            let message = message.as_ptr().cast();
            let ret = (api.rmw_publish)(publisher, message, null_mut());
            assert_eq!(ret, RMW_RET_INVALID_ARGUMENT);
            let ret = (api.rmw_send_request)(client, message, &mut number);
            assert_eq!(ret, RMW_RET_INVALID_ARGUMENT);
            assert!((*service).data.is_null());
        }
        // Others see them go, and nothing of them stays.
        let set = stays.wait_set();
        let name = c"/pose";
        stays.until(|| {
            let mut count = 1;
            // SAFETY: as the API asks.
            unsafe { (api.rmw_count_publishers)(stays.node, name.as_ptr(), &mut count) };
            count == 0
        });
        match before {
            // Some of what is on its way out may be counted here, but not that of seven rounds.
            None => before = Some(held()),
            Some((files, threads)) => stays.until(|| {
                let now = held();
                now.0 <= files && now.1 <= threads
            }),
        }
        // SAFETY: as the API asks.
        unsafe { (api.rmw_destroy_wait_set)(set) };
    }
}

#[test]
fn ports_that_a_program_leaves_behind_end_with_their_node() {
    plugin();
    if types().is_none() {
        return;
    }
    let output = play("one_that_leaves_ports_behind", own_domain(), &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// Publishes and hears itself, by a callback on a thread of the plug-in, and exits in the middle.
#[test]
fn one_that_exits_without_shutdown() {
    let Some(domain) = part() else { return };
    let Some(mut ros) = Ros::new(domain, "hasty") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let heard = ros.subscription("/pose", support, &DEFAULT, &options());
    // SAFETY: as the API asks.
    unsafe {
        let set = ros.api.rmw_subscription_set_on_new_message_callback;
        assert_eq!(set(heard, Some(nothing), std::ptr::null()), RMW_RET_OK);
    }
    let (guard, set) = (ros.guard(), ros.wait_set());
    // The parent is there.
    ros.until(|| ros.matched(publisher) == 2);
    let (shared, ends) = (Shared(&ros), (Pointer(guard), Pointer(set)));
    std::thread::scope(|scope| {
        // A thread waits, as an executor's does, while the process exits.
        scope.spawn(move || {
            let (Shared(ros), (Pointer(guard), Pointer(set))) = (shared, ends);
            ros.wait(set, &On { guards: vec![guard], ..On::default() }, super::PATIENCE);
        });
        for value in 0..100 {
            ros.publish(publisher, [f64::from(value); 43].as_ptr().cast());
        }
        // Runs what the C library runs at an exit, as `main` does when it returns.
        std::process::exit(7);
    });
}

#[test]
fn a_process_that_exits_without_shutdown_is_gone_and_its_messages_are_not() {
    let domain = own_domain();
    let Some(ros) = Ros::new(domain, "stays") else { return };
    let support = ros.support(Language::C, PLAIN);
    let subscription = ros.subscription("/pose", support, &DEFAULT, &options());
    for _ in 0..5 {
        let output = play("one_that_exits_without_shutdown", domain, &[]);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        let mut message: Plain = [0.0; 43];
        let mut last = -1.0;
        // It may have been matched there and exited before it was met here.
        ros.until(|| {
            while ros.take(subscription, message.as_mut_ptr().cast()) {
                assert!(message[0] > last, "{} behind {last}", message[0]);
                last = message[0];
            }
            last == 99.0
        });
        let mut publishers = 1;
        // SAFETY: as the API asks.
        ros.until(|| unsafe {
            (ros.api.rmw_subscription_count_matched_publishers)(subscription, &mut publishers);
            publishers == 0
        });
    }
    // SAFETY: as the API asks.
    unsafe { (ros.api.rmw_destroy_subscription)(ros.node, subscription) };
}

/// A context, if the plug-in makes one; it is given up at once.
fn open_and_end(domain: usize) -> Ret {
    open_with(domain, 0)
}

/// The same, with this word on security.
fn open_with(domain: usize, enforce_security: u32) -> Ret {
    let api = plugin();
    let (mut options, mut context): (InitOptions, Context) = (zeroed(), zeroed());
    // SAFETY: as the API asks.
    unsafe {
        assert_eq!((api.rmw_init_options_init)(&mut options, ALLOCATOR), RMW_RET_OK);
        options.domain_id = domain;
        options.security_options.enforce_security = enforce_security;
        options.enclave = libc::strdup(c"/".as_ptr());
        let ret = (api.rmw_init)(&options, &mut context);
        if ret == RMW_RET_OK {
            let node = (api.rmw_create_node)(&mut context, c"alone".as_ptr(), c"/".as_ptr());
            assert!(!node.is_null());
            let set = (api.rmw_create_wait_set)(&mut context, 0);
            let wait = (api.rmw_wait)(
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                set,
                &NO_TIME,
            );
            assert_eq!(wait, RMW_RET_TIMEOUT);
            assert_eq!((api.rmw_destroy_wait_set)(set), RMW_RET_OK);
            assert_eq!((api.rmw_destroy_node)(node), RMW_RET_OK);
            assert_eq!((api.rmw_shutdown)(&mut context), RMW_RET_OK);
            assert_eq!((api.rmw_context_fini)(&mut context), RMW_RET_OK);
        } else {
            assert!(context.implementation_identifier.is_null(), "it stays as it was");
        }
        assert_eq!((api.rmw_init_options_fini)(&mut options), RMW_RET_OK);
        ret
    }
}

#[repr(C)]
struct ErrorString([c_char; 1024]);

#[test]
fn one_of_another_distribution() {
    let Some(domain) = part() else { return };
    let Some(types) = types() else { return };
    assert_eq!(open_and_end(domain), RMW_RET_ERROR);
    // SAFETY: a function of librcutils that takes nothing.
    let text = unsafe {
        std::mem::transmute::<*mut c_void, extern "C" fn() -> ErrorString>(
            types.symbol("rcutils_get_error_string"),
        )
    }();
    // SAFETY: librcutils ends the text.
    println!("it says: {}", unsafe { CStr::from_ptr(text.0.as_ptr()) }.to_str().unwrap());
}

#[test]
fn a_process_of_another_distribution_is_refused_in_words() {
    plugin();
    if types().is_none() {
        return;
    }
    let output = play("one_of_another_distribution", own_domain(), &[("ROS_DISTRO", "foxy")]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        said.contains("and ROS_DISTRO is `foxy`: load the one that was built for it"),
        "{said}"
    );
}

#[test]
fn security_that_is_enforced_is_refused() {
    plugin();
    let domain = own_domain();
    assert_eq!(open_with(domain, SECURITY_ENFORCE), RMW_RET_UNSUPPORTED);
    assert_eq!(open_with(domain, 0), RMW_RET_OK);
}

#[test]
fn one_without_ros() {
    let Some(domain) = part() else { return };
    let api = plugin();
    let loaded = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!loaded.contains("librcutils"), "{loaded}");
    // SAFETY: null is refused.
    assert_eq!(unsafe { (api.rmw_shutdown)(null_mut()) }, RMW_RET_INVALID_ARGUMENT);
    assert_eq!(open_and_end(domain), RMW_RET_OK);
}

#[test]
fn the_plug_in_works_in_a_process_without_ros() {
    plugin();
    let output = play("one_without_ros", own_domain(), &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}
