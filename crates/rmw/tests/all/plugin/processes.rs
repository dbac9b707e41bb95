//! Two processes, one of which is killed.

use super::calls::{answer, is_available, send, take_request, take_response};
use super::{DEFAULT, On, PLAIN, Plain, Ros, options, own_domain, plugin};
use rmw_crossdock::introspection::Language;
use std::process::{Child, Command, Stdio};

/// What makes a process of this program the other side.
const DOMAIN: &str = "CROSSDOCK_RMW_OTHER_SIDE";

/// Gives back each message on `/ping` as one on `/pong`, and answers each request with the next
/// number. Does nothing unless a test has started it.
#[test]
fn the_other_side() {
    let Some(domain) = std::env::var(DOMAIN).ok() else { return };
    let Some(mut ros) = Ros::new(domain.parse().unwrap(), "other") else { return };
    let support = ros.support(Language::Cpp, PLAIN);
    let pong = ros.publisher("/pong", support, &DEFAULT);
    let ping = ros.subscription("/ping", support, &DEFAULT, &options());
    let (service, set) = (ros.service("/move"), ros.wait_set());
    let on = On { subscriptions: vec![ping], services: vec![service], ..On::default() };
    let mut message: Plain = [0.0; 43];
    // Until it is killed, or left alone.
    while ros.wait(set, &on, super::PATIENCE).contains(&true) {
        while ros.take(ping, message.as_mut_ptr().cast()) {
            ros.publish(pong, message.as_ptr().cast());
        }
        while let Some((id, value)) = take_request(&ros, service) {
            answer(&ros, service, id, value + 1.0);
        }
    }
}

pub(super) fn other_side(domain: usize) -> Child {
    plugin();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "plugin::processes::the_other_side"]).env(DOMAIN, domain.to_string());
    command.stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn messages_and_calls_go_to_another_process_until_it_is_killed() {
    let domain = own_domain();
    let Some(mut ros) = Ros::new(domain, "here") else { return };
    let support = ros.support(Language::C, PLAIN);
    let ping = ros.publisher("/ping", support, &DEFAULT);
    let pong = ros.subscription("/pong", support, &DEFAULT, &options());
    let (client, set) = (ros.client("/move"), ros.wait_set());
    let mut message: Plain = [0.0; 43];
    for round in 0..3 {
        let mut other = other_side(domain);
        ros.until(|| ros.matched(ping) == 1 && is_available(&ros, client));
        let mut publishers = 0;
        // SAFETY: as the API asks.
        ros.until(|| unsafe {
            (ros.api.rmw_subscription_count_matched_publishers)(pong, &mut publishers);
            publishers == 1
        });
        for value in 0..20 {
            let value = f64::from(round * 100 + value);
            ros.publish(ping, [value; 43].as_ptr().cast());
            ros.wait_for(set, &On { subscriptions: vec![pong], ..On::default() });
            assert!(ros.take(pong, message.as_mut_ptr().cast()));
            assert_eq!(message, [value; 43]);
            let sequence = send(&ros, client, value);
            ros.wait_for(set, &On { clients: vec![client], ..On::default() });
            assert_eq!(take_response(&ros, client), Some((sequence, value + 1.0)));
        }
        other.kill().unwrap();
        other.wait().unwrap();
        ros.until(|| ros.matched(ping) == 0 && !is_available(&ros, client));
        // Nobody hears these; both are no error.
        ros.publish(ping, message.as_ptr().cast());
        assert!(send(&ros, client, 0.0) < 0);
    }
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_wait_set)(set);
        (ros.api.rmw_destroy_client)(ros.node, client);
        (ros.api.rmw_destroy_subscription)(ros.node, pong);
        (ros.api.rmw_destroy_publisher)(ros.node, ping);
    }
}
