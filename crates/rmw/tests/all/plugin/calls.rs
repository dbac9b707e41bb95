//! Requests and responses.

use super::{DEFAULT, NO_TIME, On, Plain, Ros, own_domain, zeroed};
use rmw_crossdock::abi::current::{RequestId, ServiceInfo};
use rmw_crossdock::abi::shared::{Client, QosProfile, RMW_RET_ERROR, RMW_RET_OK, Service, Time};

pub(super) fn send(ros: &Ros, client: *const Client, value: f64) -> i64 {
    let (request, mut sequence): (Plain, i64) = ([value; 43], 0);
    // SAFETY: as the API asks.
    let ret = unsafe { (ros.api.rmw_send_request)(client, request.as_ptr().cast(), &mut sequence) };
    assert_eq!(ret, RMW_RET_OK);
    sequence
}

pub(super) fn take_request(ros: &Ros, service: *const Service) -> Option<(RequestId, f64)> {
    let (mut request, mut taken): (Plain, bool) = ([0.0; 43], false);
    let mut info: ServiceInfo = zeroed();
    // SAFETY: as the API asks.
    let ret = unsafe {
        (ros.api.rmw_take_request)(service, &mut info, request.as_mut_ptr().cast(), &mut taken)
    };
    assert_eq!(ret, RMW_RET_OK);
    taken.then_some((info.request_id, request[42]))
}

pub(super) fn answer(ros: &Ros, service: *const Service, mut id: RequestId, value: f64) -> i32 {
    let mut response: Plain = [value; 43];
    // SAFETY: as the API asks.
    unsafe { (ros.api.rmw_send_response)(service, &mut id, response.as_mut_ptr().cast()) }
}

pub(super) fn take_response(ros: &Ros, client: *const Client) -> Option<(i64, f64)> {
    let (mut response, mut taken): (Plain, bool) = ([0.0; 43], false);
    let mut info: ServiceInfo = zeroed();
    // SAFETY: as the API asks.
    let ret = unsafe {
        (ros.api.rmw_take_response)(client, &mut info, response.as_mut_ptr().cast(), &mut taken)
    };
    assert_eq!(ret, RMW_RET_OK);
    taken.then_some((info.request_id.sequence_number, response[42]))
}

pub(super) fn is_available(ros: &Ros, client: *const Client) -> bool {
    let mut is_available = false;
    // SAFETY: as the API asks.
    let ret =
        unsafe { (ros.api.rmw_service_server_is_available)(ros.node, client, &mut is_available) };
    assert_eq!(ret, RMW_RET_OK);
    is_available
}

#[test]
fn a_hundred_and_twenty_eight_open_requests_are_answered_in_any_order() {
    let Some(mut ros) = Ros::new(own_domain(), "calls") else { return };
    let client = ros.client("/move");
    assert!(!is_available(&ros, client));
    assert_eq!([1.0, 2.0].map(|it| send(&ros, client, it)), [1, 2], "nobody hears them");
    let (service, set) = (ros.service("/move"), ros.wait_set());
    // That they meet is neither a request nor a response.
    let on = On { services: vec![service], clients: vec![client], ..On::default() };
    assert_eq!(ros.wait(set, &on, Time { sec: 0, nsec: 50_000_000 }), [false, false]);
    ros.until(|| is_available(&ros, client));
    assert_eq!(ros.wait(set, &on, NO_TIME), [false, false]);
    let numbers: Vec<i64> = (0..128).map(|value| send(&ros, client, f64::from(value))).collect();
    assert_eq!(
        numbers,
        (3..131).collect::<Vec<_>>(),
        "the lost ones have had numbers of their own"
    );
    ros.wait_for(set, &On { services: vec![service], ..On::default() });
    let mut open = Vec::new();
    ros.until(|| {
        open.extend(std::iter::from_fn(|| take_request(&ros, service)));
        open.len() == numbers.len()
    });
    for (id, value) in open.iter().rev() {
        assert_eq!(answer(&ros, service, *id, value + 1000.0), RMW_RET_OK);
    }
    assert_eq!(answer(&ros, service, open[0].0, 0.0), RMW_RET_ERROR, "answered already");
    ros.wait_for(set, &On { clients: vec![client], ..On::default() });
    let mut answers: Vec<_> = std::iter::from_fn(|| take_response(&ros, client)).collect();
    answers.reverse();
    let wanted = numbers.iter().zip(0..).map(|(it, value)| (*it, f64::from(value) + 1000.0));
    let wanted: Vec<_> = wanted.collect();
    assert_eq!(answers, wanted);
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_wait_set)(set);
        assert_eq!((ros.api.rmw_destroy_service)(ros.node, service), RMW_RET_OK);
    }
    ros.until(|| !is_available(&ros, client));
    // SAFETY: as the API asks.
    assert_eq!(unsafe { (ros.api.rmw_destroy_client)(ros.node, client) }, RMW_RET_OK);
}

/// Sends five calls and answers those that the service takes: their numbers, and those of the
/// responses that the client takes.
fn five_calls(ros: &mut Ros, client: *mut Client, service: *mut Service) -> [Vec<i64>; 2] {
    let set = ros.wait_set();
    let (on_service, on_client) = (
        On { services: vec![service], ..On::default() },
        On { clients: vec![client], ..On::default() },
    );
    ros.until(|| is_available(ros, client));
    let numbers: Vec<i64> = (0..5).map(|value| send(ros, client, f64::from(value))).collect();
    let first = numbers[0];
    let mut taken = Vec::new();
    ros.wait_for(set, &on_service);
    while let Some((id, value)) = take_request(ros, service) {
        assert_eq!(answer(ros, service, id, value), RMW_RET_OK);
        taken.push(id.sequence_number - first);
        // What waits is there for the next wait, too.
        let is_last = taken.last() == Some(&4);
        assert_eq!(ros.wait(set, &on_service, NO_TIME), [!is_last]);
    }
    ros.wait_for(set, &on_client);
    let mut responses = Vec::new();
    while let Some((number, _)) = take_response(ros, client) {
        responses.push(number - first);
        let is_last = responses.last() == Some(&4);
        assert_eq!(ros.wait(set, &on_client, NO_TIME), [!is_last]);
    }
    // SAFETY: as the API asks.
    unsafe { (ros.api.rmw_destroy_wait_set)(set) };
    [taken, responses]
}

#[test]
fn a_service_with_a_small_depth_keeps_the_newest_calls_of_all_clients() {
    let Some(ros) = Ros::new(own_domain(), "newest_of_all") else { return };
    let service = ros.service_with("/newest", &QosProfile { depth: 2, ..DEFAULT });
    let clients = [(); 4].map(|()| {
        let client = ros.client("/newest");
        ros.until(|| is_available(&ros, client));
        client
    });
    for order in [[3, 2, 1, 0], [2, 0, 3, 1], [0, 1, 2, 3], [1, 3, 0, 2]] {
        for client in order {
            assert!(send(&ros, clients[client], client as f64) > 0);
        }
        let mut values = Vec::new();
        while let Some((id, value)) = take_request(&ros, service) {
            assert_eq!(answer(&ros, service, id, value), RMW_RET_OK);
            values.push(value);
        }
        assert_eq!(values, order[2..].iter().map(|it| *it as f64).collect::<Vec<_>>());
    }
    // SAFETY: as the API asks.
    unsafe {
        for client in clients {
            (ros.api.rmw_destroy_client)(ros.node, client);
        }
        (ros.api.rmw_destroy_service)(ros.node, service);
    }
}

#[test]
fn a_small_depth_of_a_service_or_a_client_keeps_the_newest_calls() {
    let Some(mut ros) = Ros::new(own_domain(), "newest") else { return };
    let small = QosProfile { depth: 2, ..DEFAULT };
    for (of_client, of_service, taken, responses) in [
        (&small, &DEFAULT, vec![0, 1, 2, 3, 4], vec![3, 4]),
        (&DEFAULT, &small, vec![3, 4], vec![3, 4]),
        (&DEFAULT, &DEFAULT, vec![0, 1, 2, 3, 4], vec![0, 1, 2, 3, 4]),
    ] {
        let client = ros.client_with("/newest", of_client);
        let service = ros.service_with("/newest", of_service);
        assert_eq!(five_calls(&mut ros, client, service), [taken, responses]);
        // SAFETY: as the API asks.
        unsafe {
            assert_eq!((ros.api.rmw_destroy_service)(ros.node, service), RMW_RET_OK);
            assert_eq!((ros.api.rmw_destroy_client)(ros.node, client), RMW_RET_OK);
        }
    }
}
