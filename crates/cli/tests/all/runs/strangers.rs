//! A stranger whose ports are on the topics of a run or of a player, with a name of the run.

use std::io::{IoSlice, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crossdock_comm::{
    DoorbellOptions, Participant, ParticipantOptions, Qos, RunId, SubscriberOptions,
};
use crossdock_msg::types::geometry_msgs::PointStamped;
use crossdock_msg::types::std_msgs;
use crossdock_record::{BagWriter, Compression, TopicDescription, WriterOptions};
use crossdock_test_support::skip;

use super::probe::{PATIENCE, Place, Running};
use super::{DAEMON, GROUP, SOURCE, open_to_another_user};

/// The run of the first process that is seen here, which is in its name.
fn run_that_comes() -> RunId {
    let folder = std::env::var("CROSSDOCK_RENDEZVOUS").expect("a folder") + "/0";
    let end = Instant::now() + PATIENCE;
    loop {
        let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
        if let Some(name) = names.find(|name| name.len() == 32 && !name.starts_with('.')) {
            return RunId::from_u64(u64::from_str_radix(&name[16..], 16).expect("a number"));
        }
        assert!(Instant::now() < end, "nobody comes");
        std::thread::yield_now();
    }
}

/// The stranger: subscribes to `/a` with the right type and with another one, takes nothing, and
/// ends with its standard input.
pub(super) fn intrude() -> ! {
    let joins = std::env::var("PROBE_INTRUDES").is_ok_and(|word| word == "run");
    std::io::stderr().write_all(b"waiting\n").expect("the test reads");
    let options = ParticipantOptions::new(0, "intruder");
    let run = joins.then(run_that_comes);
    let participant = Participant::open(ParticipantOptions { run, ..options }).expect("let in");
    let bell = participant.doorbell(DoorbellOptions::default()).expect("memory");
    let port = || SubscriberOptions {
        node: "intruder",
        topic: "/a",
        qos: Qos::reliable(4, Duration::from_secs(60)),
        doorbell: Some(&bell),
        group: None,
    };
    let _point = participant.subscriber::<PointStamped>(port()).expect("a port");
    let _text = participant.subscriber::<std_msgs::String>(port()).expect("a port");
    std::io::stderr().write_all(b"there\n").expect("the test reads");
    let _ = std::io::read_to_string(std::io::stdin());
    std::process::exit(0);
}

/// Starts the stranger; `until`: the line after which it is as the test wants it.
fn intruder(place: &Place, meeting: &str, how: &str, until: &str) -> Running {
    use std::io::BufRead;
    let mut command = Command::new("setpriv");
    command.args(["--reuid", DAEMON, "--regid", &GROUP.to_string(), "--clear-groups"]);
    command.arg(place.file("crossdock-probe"));
    place.prepare(&mut command);
    command.env("CROSSDOCK_RENDEZVOUS", meeting).env("PROBE_INTRUDES", how).current_dir("/");
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let errors = running.child().stderr.as_mut().expect("a pipe");
    let mut lines = std::io::BufReader::new(errors).lines();
    assert!(lines.any(|line| line.expect("a line") == until), "it does not come");
    running
}

#[test]
fn a_stranger_with_a_name_of_a_run_keeps_it_from_nothing() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can start processes of other users");
    }
    let place = Place::new("intruded", "");
    let (_, meeting) = open_to_another_user(&place);
    let stranger = intruder(&place, &meeting, "run", "waiting");
    let bag = place.text("out.mcap");
    let words = ["--duration", "1", "--record", &bag, "--json"];
    let mut command = place.run(SOURCE, &words);
    command.env("CROSSDOCK_RENDEZVOUS", &meeting);
    let ended = Running::start(command).end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    assert!(!ended.notes().contains("still busy"), "{}", ended.notes());
    drop(stranger);
}

#[test]
fn a_player_at_maximum_rate_does_not_wait_for_a_stranger_and_says_so() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can start processes of other users");
    }
    let place = Place::new("passed", "");
    let (_, meeting) = open_to_another_user(&place);
    let bag = place.file("a.mcap");
    let mut writer = BagWriter::create(&bag, WriterOptions::new(Compression::None)).expect("a bag");
    let topic = TopicDescription {
        name: "/a".to_owned(),
        type_name: "std_msgs/msg/String".to_owned(),
        definition: "string data\n".to_owned(),
        type_hash: String::new(),
        qos: Vec::new(),
    };
    let topic = writer.add_topic(topic).expect("a topic");
    for time in 0..20 {
        let text = [0, 1, 0, 0, 1, 0, 0, 0, 0];
        writer.write(topic, time, time, &[IoSlice::new(&text)]).expect("room");
    }
    writer.finish().expect("a bag");
    let stranger = intruder(&place, &meeting, "domain", "there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
    command.args(["bag", "play", &place.text("a.mcap"), "--rate", "max"]);
    place.prepare(&mut command);
    command.env("CROSSDOCK_RENDEZVOUS", &meeting);
    let ended = Running::start(command).end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let told = "subscribers of user 1, who is not trusted, are not waited for";
    assert_eq!(ended.errors.matches(told).count(), 1, "{}", ended.errors);
    drop(stranger);
}
