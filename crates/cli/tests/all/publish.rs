//! `crossdock topic pub` against a subscriber that runs in the test, and `topic echo` with a
//! quality of service: as a user types them.

use crate::place::{Place, Program};
use crossdock_comm::{
    Access, AnySubscriber, Doorbell, DoorbellOptions, Participant, ParticipantOptions,
    PublisherOptions, Qos, Rendezvous, SubscriberOptions,
};
use crossdock_msg::{JsonOptions, Schema};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const TOPIC: &str = "/note";

/// How long messages are waited for that will surely come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A subscriber of the test.
struct Heard {
    subscriber: AnySubscriber,
    doorbell: Doorbell,
    _participant: Participant,
}

impl Heard {
    fn start(place: &Place, qos: Qos) -> Self {
        let participant = place.participant("listener");
        let doorbell =
            participant.doorbell(DoorbellOptions { spin: Duration::ZERO }).expect("a doorbell");
        let subscriber = participant
            .any_subscriber(SubscriberOptions {
                node: "ear",
                topic: TOPIC,
                qos,
                doorbell: Some(&doorbell),
                group: None,
            })
            .expect("a subscriber");
        Self { subscriber, doorbell, _participant: participant }
    }

    fn next(&self) -> Value {
        let end = std::time::Instant::now() + PATIENCE;
        loop {
            if let Some(sample) = self.subscriber.take().expect("a message") {
                let schema = Arc::clone(sample.schema());
                return schema.to_json_with(sample.block(), JsonOptions::default()).expect("JSON");
            }
            assert!(std::time::Instant::now() < end, "a message is missing");
            self.doorbell.drain(|_| {});
            let handle = self.subscriber.handle();
            self.doorbell.sleep(Some(Duration::from_secs(1)), || handle.arm());
        }
    }
}

fn now_sec() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs()
}

fn spawn(place: &Place, arguments: &[&str]) -> Program {
    let mut command = place.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Program::start(command)
}

#[test]
fn messages_in_yaml_reach_a_subscriber_as_often_as_was_said() {
    let place = Place::new("publish");
    let heard = Heard::start(&place, Qos::reliable(10, PATIENCE));
    let once =
        ["topic", "pub", "--once", TOPIC, "std_msgs/msg/Header", "{frame_id: map, stamp: now}"];
    let before = now_sec();
    let said = place.said(&once);
    assert!(
        said.starts_with(
            "publisher: beginning loop\npublishing #1: std_msgs/msg/Header {\"stamp\":"
        ),
        "{said}"
    );
    let message = heard.next();
    let sec = message["stamp"]["sec"].as_u64().expect("seconds");
    assert!((before..=now_sec()).contains(&sec), "{message}");
    assert_eq!(message["frame_id"], "map");
    // The short name of a type, a rate, every second message printed, in JSON.
    let times = [
        "topic",
        "pub",
        "note",
        "std_msgs/Header",
        "-t",
        "3",
        "-r",
        "500",
        "-p",
        "2",
        "--json",
        "--node-name",
        "voice",
    ];
    let said = place.said(&times);
    let lines: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let nothing = json!({ "stamp": { "sec": 0, "nanosec": 0 }, "frame_id": "" });
    assert_eq!(lines.len(), 1, "{said}");
    assert_eq!((&lines[0]["seq"], &lines[0]["message"]), (&json!(2), &nothing));
    (0..3).for_each(|_| assert_eq!(heard.next(), nothing));
    // What echo prints is what a file may hold: each message once, and as many as were asked for.
    let file = place.folder().join("notes.yaml");
    std::fs::write(&file, "frame_id: a\n---\nframe_id: b\n---\nframe_id: c\n---\n")
        .expect("a file");
    let file = file.to_str().expect("text");
    let all = [
        "topic",
        "pub",
        TOPIC,
        "std_msgs/Header",
        "--yaml-file",
        file,
        "-r",
        "500",
        "-w",
        "1",
        "-p",
        "0",
    ];
    assert_eq!(place.said(&all), "publisher: beginning loop\n");
    ["a", "b", "c"].iter().for_each(|frame| assert_eq!(heard.next()["frame_id"], *frame));
    let two =
        ["topic", "pub", TOPIC, "std_msgs/Header", "--yaml-file", file, "-r", "500", "-t", "2"];
    place.said(&two);
    ["a", "b"].iter().for_each(|frame| assert_eq!(heard.next()["frame_id"], *frame));
    // From standard input.
    let mut child = spawn(&place, &["topic", "pub", TOPIC, "std_msgs/Header", "--stdin", "-1"]);
    let mut keyboard = child.child().stdin.take().expect("a pipe");
    keyboard.write_all(b"frame_id: \"typed\"\n").expect("typed");
    drop(keyboard);
    assert!(child.end().status.success());
    assert_eq!(heard.next()["frame_id"], "typed");
    assert!(heard.subscriber.take().expect("no error").is_none(), "nothing else was published");
}

#[test]
fn publishing_goes_on_until_it_is_ended() {
    let place = Place::new("publish-on");
    let heard = Heard::start(&place, Qos::best_effort(10));
    let line = ["topic", "pub", TOPIC, "geometry_msgs/msg/Point", "{x: -1.5}", "--rate", "200"];
    let _publishing = spawn(&place, &line);
    for _ in 0..5 {
        assert_eq!(heard.next(), json!({ "x": -1.5, "y": 0.0, "z": 0.0 }));
    }
}

#[test]
fn what_cannot_be_published_is_refused_before_anything_is() {
    let place = Place::new("publish-not");
    let refused = |words: &[&str], part: &str| {
        let error = place.refused(&[&["topic", "pub", TOPIC], words].concat());
        assert!(error.contains(part), "{words:?}: {error}");
    };
    refused(&["std_msgs/msg/Strin"], "--interfaces");
    refused(&["std_msgs/msg/String", "{date: 1}"], "has no field `date`; its fields are data");
    refused(&["std_msgs/msg/String", "{data: [1]}"], "`data` is [1], but a text is expected");
    refused(&["std_srvs/srv/SetBool"], "is a service, not a message; `crossdock service call`");
    refused(&["std_msgs/msg/String", "hello"], "a map of fields of std_msgs/msg/String");
    refused(&["std_msgs/msg/String", ""], "VALUES is empty");
    refused(&["std_msgs/msg/String", "{data: [}"], "VALUES:1");
    refused(&["std_msgs/msg/String", "--yaml-file", "nothing.yaml"], "nothing.yaml");
    refused(&["std_msgs/msg/String", "-1", "-t", "2"], "cannot be used with");
    refused(&["std_msgs/msg/String", "{}", "--stdin"], "cannot be used with");
    refused(&["std_msgs/msg/String", "-r", "0"], "above 0");
    refused(&["std_msgs/msg/String", "--max-wait-time-secs", "1"], "needs something to wait for");
    let patient = ["std_msgs/msg/String", "-w", "2", "--max-wait-time-secs", "0.05"];
    refused(&patient, "/note has 0 of the 2 subscribers that were waited for");
    // A subscriber that does not fit is told of while the wait goes on.
    let heard = Heard::start(&place, Qos::reliable(1, PATIENCE).transient_local());
    let latched = ["std_msgs/msg/String", "-1", "--max-wait-time-secs", "2"];
    refused(&latched, "volatile is offered, transient local is requested");
    let fitting =
        ["topic", "pub", TOPIC, "std_msgs/String", "-1", "--qos-profile", "best_available"];
    place.said(&fitting);
    assert_eq!(heard.next(), json!({ "data": "" }));
}

#[test]
fn echo_of_a_type_waits_for_the_first_publisher() {
    let place = Place::new("echo-early");
    let words = ["topic", "echo", TOPIC, "std_msgs/msg/String"];
    assert_eq!(place.said(&[&words[..], &["--timeout", "0.05"]].concat()), "");
    let mut early = spawn(&place, &[&words[..], &["--once", "--csv"]].concat());
    let errors = early.child().stderr.take().expect("a pipe");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(errors));
    let line = lines.next().expect("a note").expect("text");
    assert!(line.contains("nobody publishes /note yet"), "{line}");
    let _publishing = spawn(&place, &["topic", "pub", TOPIC, "std_msgs/msg/String", "{data: hi}"]);
    let mut heard = early.child().stdout.take().expect("a pipe");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut heard, &mut said).expect("text");
    assert_eq!(said, "hi\n");
}

#[test]
fn echo_shows_what_a_subscriber_of_the_wished_quality_gets() {
    let place = Place::new("echo-qos");
    let participant = place.participant("speaker");
    let schema = Arc::new(Schema::shipped("std_msgs/msg/String").expect("a type"));
    let publisher = participant
        .any_publisher(
            Arc::clone(&schema),
            PublisherOptions {
                node: "mouth",
                topic: TOPIC,
                qos: Qos::best_effort(3).transient_local(),
                max_bytes: None,
                group: None,
            },
        )
        .expect("a publisher");
    for word in ["a", "b", "c"] {
        let cdr = schema.cdr_of_json(&json!({ "data": word })).expect("a message");
        publisher.publish_cdr(&cdr, 1, [0; 2]).expect("published");
    }
    let kept = ["topic", "echo", TOPIC, "--qos-durability", "transient_local", "--csv", "-n", "3"];
    let kept = place.said(&kept);
    assert_eq!(kept, "a\nb\nc\n", "a late subscriber gets what was kept");
    let newest =
        ["topic", "echo", TOPIC, "--qos-profile", "action_status_default", "--csv", "--once"];
    assert_eq!(place.said(&newest), "c\n", "depth 1, and what all publishers offer");
    // Nothing comes any more, from its ring and as a subscriber.
    for line in [
        &["topic", "echo", TOPIC, "--timeout", "0.05"][..],
        &["topic", "echo", TOPIC, "--timeout", "0.05", "--qos-depth", "1"],
    ] {
        assert_eq!(place.said(line), "", "{line:?}");
    }
    // One that asks for more than is offered is told so, and gets nothing.
    let mut child = spawn(&place, &["topic", "echo", TOPIC, "--qos-reliability", "reliable"]);
    let errors = child.child().stderr.take().expect("a pipe");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(errors));
    let line = lines.next().expect("a note").expect("text");
    assert!(line.contains("best effort is offered, reliable is requested"), "{line}");
}

#[test]
fn a_type_that_is_not_known_is_answered_with_the_nearest_one() {
    let place = Place::new("near");
    for line in
        [&["interface", "show", "std_msgs/msg/Strin"][..], &["topic", "pub", "/a", "String"]]
    {
        let error = place.refused(line);
        assert!(error.contains("did you mean `std_msgs/msg/String`?"), "{error}");
    }
    // A type that is known, of others that are not.
    let folder = place.path("interfaces/my_msgs/msg");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("Thing.msg"), "none_msgs/Other other\n").expect("a file");
    let error = place.refused(&["topic", "pub", "/a", "my_msgs/msg/Thing"]);
    assert!(error.contains("none_msgs") && !error.contains("did you mean"), "{error}");
    // `ros2 interface show -` reads the name.
    let mut command = place.command(&["interface", "show", "-"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("crossdock starts");
    let mut input = child.stdin.take().expect("its input");
    std::io::Write::write_all(&mut input, b"std_msgs/msg/String\n").expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "string data\n");
}

/// Processes of one user that another user's process lets in.
const OF_USER: usize = 32;

/// A folder where the members of a group meet.
fn meeting_of(place: &Place, group: u32) -> std::path::PathBuf {
    use std::os::unix::fs::{PermissionsExt, chown};
    let meeting = place.path("meeting");
    std::fs::create_dir(&meeting).expect("a folder");
    chown(&meeting, Some(0), Some(group)).expect("we are root");
    let mode = std::fs::Permissions::from_mode(0o2770);
    std::fs::set_permissions(&meeting, mode).expect("our own folder");
    meeting
}

#[test]
fn commands_of_a_user_who_has_too_many_processes_say_who_refuses_them_and_node_list_sees_all() {
    if !rustix::process::geteuid().is_root() {
        return crossdock_test_support::skip("only root can start processes of other users");
    }
    // A group that no machine has.
    let (place, group) = (Place::new("refused"), 64_100);
    let meeting = meeting_of(&place, group);
    let program = place.path("crossdock");
    std::fs::copy(env!("CARGO_BIN_EXE_crossdock"), &program).expect("room");
    let of_daemon = |arguments: &[&str]| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid", "daemon", "--regid", &group.to_string(), "--clear-groups"]);
        command.arg(&program).args(arguments).current_dir("/").stdin(Stdio::null());
        command.env("CROSSDOCK_RENDEZVOUS", &meeting).env_remove("ROS_DOMAIN_ID");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let options = ParticipantOptions {
        rendezvous: Rendezvous::Folder(meeting.clone()),
        access: Access::Group(group),
        ..ParticipantOptions::new(0, "victim")
    };
    let victim = Participant::open(options).expect("a participant");
    let input = SubscriberOptions {
        node: "ear",
        topic: TOPIC,
        qos: Qos::best_effort(1),
        doorbell: None,
        group: None,
    };
    let _input = victim.any_subscriber(input).expect("a subscriber");
    let others = ["topic", "pub", "/other", "std_msgs/msg/Empty", "--rate", "0.01"];
    let others: Vec<_> = (0..OF_USER).map(|_| Program::start(of_daemon(&others))).collect();
    assert!(victim.wait_until(PATIENCE, || victim.peers().len() == OF_USER));
    let words =
        ["process `victim` (pid ", ", user 0) does not let this process in", "32 processes"];
    let publish = ["topic", "pub", "-w", "1", "--max-wait-time-secs", "1", TOPIC];
    // The one folder where that user may write.
    let bag = meeting.join("bag").display().to_string();
    for (arguments, succeeds) in [
        (&[&publish[..], &["std_msgs/msg/Header"]].concat()[..], false),
        (&["topic", "echo", TOPIC, "--timeout", "1", "--qos-depth", "1"], true),
        (&["bag", "record", TOPIC, "--duration", "1", "--output", &bag], false),
    ] {
        let output = of_daemon(arguments).output().expect("crossdock starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(words.iter().all(|word| errors.contains(word)), "{arguments:?}: {errors}");
        assert_eq!(output.status.success(), succeeds, "{arguments:?}: {errors}");
    }
    let output = of_daemon(&["node", "list"]).output().expect("crossdock starts");
    let nodes = String::from_utf8_lossy(&output.stdout);
    assert!(nodes.contains("ear"), "{nodes}{}", String::from_utf8_lossy(&output.stderr));
    drop(others);
}
