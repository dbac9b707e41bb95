//! Services by which a process is controlled: strangers call them in vain.
//!
//! These tests need root; elsewhere they are skipped, and counted as skipped.

use std::time::Instant;

use crate::common::LIMIT;
use crate::common::child::{hear, role, tell};
use crate::common::users::{Shared, Users, is_root, join, told};
use crossdock_comm::{CallError, ClientOptions, Participant, Server, ServerOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::rosbag2_interfaces::srv::Snapshot;

const SERVICE: &str = "/recorder/snapshot";

/// Calls the service; whether it did what was asked.
fn call(participant: &Participant) -> Result<bool, CallError> {
    let options = ClientOptions { service: SERVICE, ..ClientOptions::default() };
    let client = participant.client::<Snapshot>(options).unwrap();
    assert!(client.wait_for_server(LIMIT), "{:?}", participant.take_events());
    let response = client.loan(Extra::none()).unwrap().call(LIMIT)?;
    Ok(response.message().success())
}

/// Serves until something has ended; gives how many requests were taken.
fn serve_until(server: &Server<Snapshot>, mut has_ended: impl FnMut() -> bool) -> usize {
    let (mut taken, end) = (0, Instant::now() + LIMIT);
    while !has_ended() {
        assert!(Instant::now() < end, "nobody has called");
        if let Some(request) = server.take().unwrap() {
            let mut response = request.loan(Extra::none()).unwrap();
            response.message().set_success(true);
            response.send().unwrap();
            taken += 1;
        }
        std::thread::yield_now();
    }
    taken
}

/// Calls twice, and says how the calls ended.
fn stranger() {
    let participant = join("stranger");
    for _ in 0..2 {
        let ended = call(&participant);
        assert!(matches!(ended, Err(CallError::Unanswered { .. })), "{ended:?}");
    }
    tell("refused");
    while hear().is_some() {}
}

#[test]
fn a_service_that_controls_a_process_obeys_no_stranger_and_tells_it_once() {
    let test =
        "control_services::a_service_that_controls_a_process_obeys_no_stranger_and_tells_it_once";
    if role().is_some() {
        return stranger();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("control", Users::Two);
    let victim = shared.open("victim");
    let options = ServerOptions { service: SERVICE, ..ServerOptions::default() };
    let server = victim.server::<Snapshot>(options).unwrap();
    std::thread::scope(|scope| {
        let refused = scope.spawn(|| {
            let mut child = shared.start(test, "stranger");
            child.expect("refused");
            child
        });
        assert_eq!(serve_until(&server, || refused.is_finished()), 0);
        let child = refused.join().unwrap();
        let text = told(&victim, "who is not trusted, calls service `/recorder/snapshot`");
        assert!(text.contains("CROSSDOCK_TRUST"), "{text}");
        let (events, _) = victim.take_events();
        let again = events.iter().any(|event| event.to_string().contains("calls service"));
        assert!(!again, "{events:?}");
        child.finish();
        // The own user is obeyed.
        let own = scope.spawn(|| call(&shared.open("own")));
        assert_eq!(serve_until(&server, || own.is_finished()), 1);
        assert!(own.join().unwrap().unwrap());
    });
}
