//! A client that breaks the rules, which no program can by the public interface.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::convert::Infallible;

use super::*;
use crate::service::AnswerError;
use crate::wire::status_records::server_counter;
use crate::{Client, ParticipantOptions, Rendezvous, Server, ServerOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;

const LIMIT: Duration = Duration::from_secs(20);

/// Sends a request, under way or not.
fn send(client: &ClientCore) {
    let mut loan = client.loan(client.request_root_bytes).unwrap();
    loan.bytes_mut()[..client.request_root_bytes].fill(0);
    loan.meta_mut().len = client.request_root_bytes;
    client.requests.publish(loan).map_err(|refused| refused.reason).unwrap();
}

#[test]
fn answers_without_room_at_a_client_that_asks_too_much_are_dropped_counted_and_told_once() {
    let folder = std::env::temp_dir().join(format!("xd-greedy-{}", std::process::id()));
    let open = |name| {
        let rendezvous = Rendezvous::Folder(folder.clone());
        let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, name) };
        Participant::open(options).unwrap()
    };
    let (serving, asking) = (open("serving"), open("asking"));
    let service = "/add_two_ints";
    let server: Server<AddTwoInts> =
        serving.server(ServerOptions { service, ..ServerOptions::default() }).unwrap();
    let options = ClientOptions { service, depth: 1, ..ClientOptions::default() };
    let greedy =
        ClientCore::create(&asking, &options, None, ServiceType::of::<AddTwoInts>()).unwrap();
    let honest: Client<AddTwoInts> = asking.client(options).unwrap();
    let ready = || server.clients() == 2 && greedy.server().is_some() && honest.is_connected();
    assert!(serving.wait_until(LIMIT, ready));

    const ASKED: u64 = 6;
    for number in 0..ASKED {
        send(&greedy);
        assert!(server.wait(LIMIT).unwrap());
        let request = server.take().unwrap().unwrap();
        if number % 2 == 0 {
            let response = request.loan(Extra::none()).unwrap();
            response.send().expect("it is the client's fault");
            continue;
        }
        // As a node that answers later, and as the plug-in for ROS 2.
        let ticket = request.into_ticket();
        let answered: Result<(), AnswerError<Infallible>> =
            server.answer(&ticket, Extra::none(), |_| Ok(()));
        answered.expect("it is the client's fault");
    }
    let counted = [server_counter::RESPONSES, server_counter::UNWANTED, server_counter::UNANSWERED];
    let [sent, unwanted, unanswered] = counted.map(|it| server.counter(it));
    assert!(sent < ASKED && unwanted > 0, "{sent} were sent");
    assert_eq!((sent + unwanted, unanswered), (ASKED, 0));
    let told: Vec<_> = serving.take_events().0.iter().map(ToString::to_string).collect();
    let told: Vec<_> = told.iter().filter(|text| text.contains("has no room")).collect();
    assert_eq!(told.len(), 1, "{told:?}");

    honest.loan(Extra::none()).unwrap().send(LIMIT).map_err(|refused| refused.reason).unwrap();
    assert!(server.wait(LIMIT).unwrap());
    server.take().unwrap().unwrap().loan(Extra::none()).unwrap().send().unwrap();
    assert!(
        asking.wait_until(LIMIT, || honest.take().unwrap().is_some_and(|it| it.result.is_ok()))
    );
    drop((honest, greedy, server, asking, serving));
    std::fs::remove_dir_all(folder).unwrap();
}
