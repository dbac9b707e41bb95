//! Requests of a recorded service that are sent again.

use crate::common;
use crate::play_and_record::{Domain, PATIENCE};
use common::{Scratch, options, string_topic};
use crossdock_comm::{Participant, Server, ServerOptions};
use crossdock_msg::types::std_srvs::srv::SetBool;
use crossdock_msg::{Block, EventHead, EventKind, EventSchema, Extra, FlatBuffer, ServiceSchema};
use crossdock_record::{
    BagReader, BagWriter, Compression, PlayTopics, Player, PlayerOptions, Rate, RequestSource,
    RequestsToPlay, TopicDescription, TopicToPlay,
};
use std::io::IoSlice;
use std::path::{Path, PathBuf};

const TOPIC: &str = "/lamp/_service_event";

/// The server that the requests are for, and its process.
fn lamp(domain: &Domain) -> (Participant, Server<SetBool>) {
    let serving = domain.participant("serving");
    let options = ServerOptions { service: "/lamp", ..ServerOptions::default() };
    let server = serving.server(options).unwrap();
    (serving, server)
}

/// What the requests of a bag are sent again with.
fn player(playing: &Participant, bag: &Path, source: RequestSource) -> Player {
    player_at(playing, bag, source, Rate::Factor(1.0))
}

fn player_at(playing: &Participant, bag: &Path, source: RequestSource, rate: Rate) -> Player {
    let requests = Some(RequestsToPlay { service: "/lamp".to_owned(), source });
    let topics = PlayTopics::Only(vec![TopicToPlay { requests, ..TopicToPlay::new(TOPIC) }]);
    let options = PlayerOptions::new("player", topics, rate);
    let player = Player::start(playing, BagReader::open(bag).unwrap(), options).unwrap();
    player.play();
    player
}

/// A bag with the events of calls, as client and server tell them: whether the lamp shall be on.
fn events_of_calls(scratch: &Scratch, calls: &[(EventKind, bool)]) -> PathBuf {
    let calls: Vec<_> = calls.iter().map(|(kind, on)| (*kind, Some(*on))).collect();
    events(scratch, &calls)
}

/// The same; `None`: the event has no contents.
fn events(scratch: &Scratch, calls: &[(EventKind, Option<bool>)]) -> PathBuf {
    let path = scratch.path("calls.mcap");
    let mut writer = BagWriter::create(&path, options(Compression::None, 5000)).unwrap();
    let service = ServiceSchema::shipped("std_srvs/srv/SetBool").unwrap();
    let events = EventSchema::of(&service).unwrap();
    let topic = TopicDescription {
        name: TOPIC.to_owned(),
        type_name: events.schema().type_name().to_owned(),
        definition: events.schema().definition().to_owned(),
        type_hash: events.schema().type_hash().to_string(),
        ..string_topic(TOPIC)
    };
    let topic = writer.add_topic(topic).unwrap();
    for (number, (kind, on)) in (0..).zip(calls) {
        let mut request = FlatBuffer::with_bytes(service.request().root_bytes());
        let cdr = [0, 1, 0, 0, u8::from(*on == Some(true))];
        service.request().decode_cdr(&cdr, request.as_mut_slice()).unwrap();
        let contents = on.map(|_| Block::new(request.as_slice()));
        let (stamp_ns, client_gid, sequence_number) = (number, [3; 16], number);
        let head = EventHead { kind: *kind, stamp_ns, client_gid, sequence_number };
        let mut flat = FlatBuffer::with_bytes(events.bytes(contents.map(Block::len)));
        events.write(&head, contents, flat.as_mut_slice()).unwrap();
        let mut event = Vec::new();
        events.schema().encode_cdr(Block::new(flat.as_slice()), &mut event).unwrap();
        writer.write(topic, number, number, &[IoSlice::new(&event)]).unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn each_request_is_sent_once_as_the_side_that_was_asked_for_has_told_it() {
    let domain = Domain::new("requests");
    let (sent, received) = (EventKind::RequestSent, EventKind::RequestReceived);
    let calls = [(sent, true), (received, true), (sent, false), (received, false), (sent, true)];
    let bag = events_of_calls(&domain.scratch, &calls);
    let (_serving, server) = lamp(&domain);
    for (source, wanted) in [
        (RequestSource::Client, vec![true, false, true]),
        (RequestSource::Server, vec![true, false]),
    ] {
        let playing = domain.participant("playing");
        let player = player(&playing, &bag, source);
        let mut heard = Vec::new();
        while heard.len() < wanted.len() {
            assert!(server.wait(PATIENCE).unwrap(), "{source:?}: {heard:?}");
            let request = server.take().unwrap().unwrap();
            heard.push(request.message().data());
            request.loan(Extra::none()).unwrap().send().unwrap();
        }
        let report = player.wait().unwrap();
        assert_eq!((heard, report.topics[0].first_error.clone()), (wanted.clone(), None));
        assert_eq!(report.topics[0].published, wanted.len() as u64);
        assert!(server.take().unwrap().is_none(), "{source:?}");
    }
}

#[test]
fn a_request_without_an_answer_is_not_played_and_its_reason_is_said() {
    let domain = Domain::new("unanswered");
    let bag = events_of_calls(&domain.scratch, &[(EventKind::RequestReceived, true); 3]);
    let (_serving, server) = lamp(&domain);
    let playing = domain.participant("playing");
    let player = player(&playing, &bag, RequestSource::Server);
    for answers in [true, false, false] {
        assert!(server.wait(PATIENCE).unwrap());
        let request = server.take().unwrap().unwrap();
        if answers {
            request.loan(Extra::none()).unwrap().send().unwrap();
        }
    }
    let report = player.wait().unwrap();
    let topic = &report.topics[0];
    assert_eq!((topic.published, topic.refused), (1, 2));
    let reason = topic.first_error.as_deref().unwrap();
    assert!(reason.contains("dropped the request without an answer"), "{reason}");
}

#[test]
fn events_that_hold_no_request_are_counted_and_the_way_to_record_them_is_said() {
    let domain = Domain::new("metadata");
    let bag = events(&domain.scratch, &[(EventKind::RequestReceived, None); 2]);
    let (_serving, server) = lamp(&domain);
    let playing = domain.participant("playing");
    let report = player(&playing, &bag, RequestSource::Server).wait().unwrap();
    let topic = &report.topics[0];
    assert_eq!((topic.published, topic.refused, topic.mismatched), (0, 2, 0));
    let reason = topic.first_error.as_deref().unwrap();
    assert!(reason.contains("introspection: contents"), "{reason}");
    assert!(server.take().unwrap().is_none());
}

#[test]
fn at_maximum_rate_each_answer_is_waited_for() {
    let domain = Domain::new("requests-max");
    let bag = events_of_calls(&domain.scratch, &[(EventKind::RequestReceived, true); 3]);
    let (_serving, server) = lamp(&domain);
    let playing = domain.participant("playing");
    let player = player_at(&playing, &bag, RequestSource::Server, domain.max(PATIENCE));
    for answers in [true, false, true] {
        assert!(server.wait(PATIENCE).unwrap());
        let request = server.take().unwrap().unwrap();
        // The next one comes after the answer, or after it is known that none comes.
        assert!(server.take().unwrap().is_none());
        if answers {
            request.loan(Extra::none()).unwrap().send().unwrap();
        }
    }
    let report = player.wait().unwrap();
    let topic = &report.topics[0];
    assert_eq!((topic.published, topic.refused), (2, 1));
    // That is known of the message, and not only of the topic.
    let reason = topic.first_error.as_deref().unwrap();
    assert!(reason.contains("message 2 of topic /lamp,"), "{reason}");
}
