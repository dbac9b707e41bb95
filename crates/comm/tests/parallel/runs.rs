//! Which processes belong to a run of a graph: everybody can read its number in the names of its
//! sockets, and take a name with it.
//!
//! Tests of two users need root; elsewhere they are skipped, and counted as skipped.

use crate::common;
use std::time::Duration;

use common::child::{Process, hear, role, tell};
use common::users::{Shared, Users, is_root, told};
use common::{LIMIT, Place, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::step::{EndPublisher, Grant, StepPublisher, StepSubscriber};
use crossdock_comm::{
    DoorbellOptions, Event, ObserverOptions, Participant, ParticipantOptions, Qos, Quiescence,
    Rendezvous, RunId, SubscriberOptions,
};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs;

/// A participant of a run at the place of two users.
fn of_run(shared: &Shared, name: &str, run: Option<RunId>) -> Participant {
    let options = shared.place.options(name);
    Participant::open(ParticipantOptions { run, access: shared.access, ..options }).unwrap()
}

fn options(shared: &Shared) -> ObserverOptions {
    ObserverOptions {
        domain_id: 0,
        name: "observer".to_string(),
        rendezvous: Rendezvous::Folder(shared.place.0.clone()),
        access: shared.access,
    }
}

/// Takes a name of the run of this number, and ports on the topics of the run: one that fits, one
/// that does not, one that publishes. It never takes a message.
fn intruder(number: &str) {
    let run = RunId::from_u64(number.parse().unwrap());
    let options = ParticipantOptions::new(0, "intruder");
    let participant = Participant::open(ParticipantOptions { run: Some(run), ..options }).unwrap();
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let port = |topic| SubscriberOptions {
        node: "intruder",
        topic,
        qos: Qos::reliable(4, Duration::from_secs(60)),
        doorbell: Some(&bell),
        group: None,
    };
    let _fits = participant.subscriber::<Image>(port("/image")).unwrap();
    let _other_type = participant.subscriber::<std_msgs::String>(port("/image")).unwrap();
    let talks = publisher(&participant, "/other", reliable(4));
    tell("there");
    while hear().is_some() {
        publish(&talks, 1);
        tell("published");
    }
}

/// The intruder in the run, as another user.
fn intrude(shared: &Shared, test: &str, run: RunId) -> Process {
    let mut child = shared.start(test, &run.to_u64().to_string());
    child.expect("there");
    child
}

#[test]
fn a_stranger_whose_name_is_of_a_run_is_not_of_the_run() {
    let test = "runs::a_stranger_whose_name_is_of_a_run_is_not_of_the_run";
    if let Some((role, _)) = role() {
        return intruder(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("of-a-run", Users::Two);
    let run = RunId::random().unwrap();
    // A process that belongs to no run waits for no stranger either.
    for ours in [Some(run), None] {
        let one = of_run(&shared, "one", ours);
        let output = publisher(&one, "/image", reliable(4));
        let input = subscriber(&one, "/other", Qos::best_effort(4));
        let child = intrude(&shared, test, run);
        let mut clashes = Vec::new();
        let connected = one.wait_until(LIMIT, || {
            clashes.extend(one.take_events().0.into_iter().filter_map(|event| match event {
                Event::Mismatch(mismatch) => Some(mismatch),
                _ => None,
            }));
            (output.matched(), input.matched(), clashes.is_empty()) == (1, 1, false)
        });
        assert!(connected, "{clashes:?}");
        assert!(clashes.iter().all(|clash| !clash.within_run), "{clashes:?}");
        let in_run = || (output.handle().matched_in_run(), input.handle().matched_in_run());
        assert_eq!(in_run(), (0, 0));
        let of_topics = ["/image", "/other"].map(|topic| one.topic_connections(topic));
        assert_eq!(of_topics.map(|it| it.incoming + it.outgoing), [0, 0]);
        let two = of_run(&shared, "two", ours);
        let _hears = subscriber(&two, "/image", Qos::best_effort(4));
        let _talks = publisher(&two, "/other", reliable(4));
        assert!(one.wait_until(LIMIT, || in_run() == (1, 1)), "{:?}", in_run());
        child.finish();
    }
}

#[test]
fn quiescence_does_not_wait_for_strangers_whatever_their_names() {
    let test = "runs::quiescence_does_not_wait_for_strangers_whatever_their_names";
    if let Some((role, _)) = role() {
        return intruder(&role);
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("quiet-run", Users::Two);
    let run = RunId::random().unwrap();
    let player = of_run(&shared, "player", Some(run));
    let output = publisher(&player, "/image", reliable(4));
    let heard = subscriber(&player, "/image", reliable(4));
    let input = subscriber(&player, "/other", reliable(4));
    let mut child = intrude(&shared, test, run);
    let connected = || (output.peers(), input.matched()) == (2, 1);
    assert!(player.wait_until(LIMIT, connected), "{:?}", player.take_events());
    let open = || Quiescence::open(options(&shared)).unwrap();
    for mut quiescence in [open().of_run(run), open()] {
        assert_eq!(quiescence.processes(), 1);
        assert!(quiescence.waits_for(player.peer_name()));
        let told = quiescence.refresh().unwrap().join("\n");
        assert!(told.contains("user 64101"), "{told}");
        for number in 0..8 {
            publish(&output, number);
            child.say("publish");
            child.expect("published");
            assert!(quiescence.wait(LIMIT));
            assert_eq!((drain(&heard), drain(&input)), (vec![number], vec![1]));
        }
    }
    child.finish();
}

#[test]
fn only_processes_of_a_run_step_it_and_ask_for_its_end() {
    let place = Place::new("run-steps");
    let open = |name, run| {
        let run = Some(RunId::from_u64(run));
        Participant::open(ParticipantOptions { run, ..place.options(name) }).unwrap()
    };
    let (player, nodes, beside) = (open("player", 1), open("nodes", 1), open("beside", 2));
    let conductor = StepPublisher::open(&player, "player").unwrap();
    let stepped = StepSubscriber::open(&nodes, "node", None, None).unwrap();
    let others = StepPublisher::open(&beside, "other_player").unwrap();
    let other_end = EndPublisher::open(&beside, "other_node").unwrap();
    told(&nodes, "`/_crossdock/step` of process");
    told(&player, "`/_crossdock/end` of process");
    others.grant(Grant { step: 1000, phase: 9, now_ns: 5 }).unwrap();
    other_end.ask();

    let end = EndPublisher::open(&nodes, "node").unwrap();
    assert!(player.wait_until(LIMIT, || conductor.connected() == (1, 1)));
    let grant = Grant { step: 1, phase: 2, now_ns: 3 };
    conductor.grant(grant).unwrap();
    let mut granted = None;
    assert!(nodes.wait_until(LIMIT, || {
        granted = stepped.latest().unwrap();
        granted.is_some()
    }));
    assert_eq!(granted, Some(grant));
    assert!(!conductor.is_end_asked());
    end.ask();
    assert!(player.wait_until(LIMIT, || conductor.is_end_asked()));
}
