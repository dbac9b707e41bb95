//! Names, texts and files of strangers, and what of them gets to the terminal: no control
//! character, and no line that they begin.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossdock_comm::{Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs;
use crossdock_record::{BagWriter, Compression, TopicDescription, WriterOptions};

/// A name that goes on behind the end of a line, as a sentence of ours begins.
const FORGED_LINE: &str = "\nerror: forged";

/// What names are made of: sequences that drive a terminal, each in a way of its own, and plain
/// text.
const PIECES: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "\u{9b}31m",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}",
    "\r",
    "\u{8}",
    "\u{85}",
    "\u{0}",
    "\u{c}",
    "\u{61c}",
    "\u{2028}",
    FORGED_LINE,
    "plain",
    "\u{e9}",
    " ",
    "/",
    "'\"",
    "{}",
    "%n",
];

/// A folder of the test, removed at the end.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Place {
    fn new(test: &str) -> Self {
        let name = format!("hostile-{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
        command.args(arguments).env("XDG_RUNTIME_DIR", &self.0).env_remove("ROS_DOMAIN_ID");
        command.current_dir(&self.0).output().expect("crossdock starts")
    }

    /// Runs a command; nothing that it prints drives a terminal or forges a line, and JSON is JSON.
    fn check(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        for bytes in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(bytes).expect("UTF-8");
            let found = text.chars().find(|c| is_control(*c));
            assert!(found.is_none(), "{arguments:?} printed {found:?} in {text:?}");
            let forged = text.lines().find(|line| line.starts_with(FORGED_LINE.trim_start()));
            assert!(forged.is_none(), "{arguments:?} printed a line of a stranger: {text}");
        }
        assert_ne!(output.status.code(), Some(101), "{arguments:?} panicked: {output:?}");
        if arguments.contains(&"--json") && !output.stdout.is_empty() {
            let values = serde_json::Deserializer::from_slice(&output.stdout);
            for value in values.into_iter::<serde_json::Value>() {
                value.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"));
            }
        }
        output
    }
}

fn is_control(c: char) -> bool {
    let turns = ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
    turns || c == '\u{61c}' || c == '\u{2028}' || (c.is_control() && c != '\n' && c != '\t')
}

/// A name of a few pieces.
fn hostile(random: &mut u64) -> String {
    let mut next = || {
        *random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*random >> 33) as usize
    };
    let count = 1 + next() % 4;
    (0..count).map(|_| PIECES[next() % PIECES.len()]).collect()
}

/// As YAML and JSON write a text.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text")
}

/// A graph file with the name at one of its places.
fn graph(place: usize, name: &str) -> String {
    let name = quoted(name);
    let at =
        |wanted: usize, usual: &str| if place == wanted { name.clone() } else { usual.to_owned() };
    format!(
        "crossdock: 1\nname: {}\n{}: 1\narguments: {{ {}: {{ node: n, parameter: p, doc: {} }} }}\n\
         topics: {{ {}: {{ type: {}, external: true }} }}\nnodes:\n  {}:\n    package: {}\n    \
         type: {}\n    inputs: {{ {}: {} }}\n    parameters: {{ {}: {} }}\n    {}: 2\nchains: {{ {}: \
         {{ from: /i, to: /o }} }}\n",
        at(0, "g"),
        at(1, "domain"),
        at(2, "p"),
        at(3, "words"),
        at(4, "/i"),
        at(5, "std_msgs/msg/String"),
        at(6, "n"),
        at(7, "nobody"),
        at(8, "t"),
        at(9, "i"),
        at(10, "/i"),
        at(11, "p"),
        at(12, "1"),
        at(13, "more"),
        at(14, "c"),
    )
}

#[test]
fn names_in_files_do_not_drive_the_terminal() {
    let place = Place::new("files");
    let mut random = crossdock_test_support::seed();
    let rounds = if crossdock_test_support::long() { 20 } else { 1 };
    for at in (0..15).cycle().take(15 * rounds) {
        let name = hostile(&mut random);
        std::fs::write(place.0.join("g.yaml"), graph(at, &name)).expect("room");
        place.check(&["check", "g.yaml"]);
        place.check(&["check", "g.yaml", "--json"]);
        place.check(&["graph", "g.yaml"]);
        place.check(&["graph", "g.yaml", "--json"]);
        place.check(&["graph", "g.yaml", "--format", "svg"]);
        place.check(&["run", "g.yaml", "--help"]);
        place.check(&["run", "g.yaml", "--json"]);
        place.check(&["gen", "hw", "g.yaml", "--mapping", "g.yaml", "-o", "out"]);
    }
    std::fs::write(place.0.join("g.yaml"), graph(99, "")).expect("room");
    for _ in 0..4 * rounds {
        let name = quoted(&hostile(&mut random));
        for (file, text) in [
            (
                "m.yaml",
                format!("crossdock: 1\nprocesses: {{ {name}: {{ executors: {{ {name}: 1 }} }} }}"),
            ),
            ("p.yaml", format!("{name}: {{ ros__parameters: {{ {name}: {name} }} }}")),
            ("i.json", format!("{{ {name}: 1, \"nodes\": [{{ \"name\": {name}, {name}: [] }}] }}")),
        ] {
            std::fs::write(place.0.join(file), text).expect("room");
        }
        place.check(&["check", "g.yaml", "--mapping", "m.yaml"]);
        place.check(&["check", "g.yaml", "--params", "p.yaml", "--json"]);
        place.check(&["graph", "import", "i.json"]);
        place.check(&["map", "g.yaml", "--placement", "m.yaml"]);
    }
}

#[test]
fn names_of_files_and_words_of_the_command_line_do_not_drive_the_terminal() {
    let place = Place::new("names");
    let mut random = crossdock_test_support::seed();
    for _ in 0..4 {
        let name = hostile(&mut random).replace(['/', '\0'], "-") + ".yaml";
        std::fs::write(place.0.join(&name), "crossdock: [").expect("room");
        for arguments in [
            &["check", &name][..],
            &["check", &name, "--json"],
            &["check", "g.yaml", "--mapping", &name],
            &["run", "g.yaml", "--input", &name],
            &["run", &name, "--record", &name],
            &["replay", "--compare", &name, &name],
            &["trace", "show", &name],
            &["topic", "echo", &name],
            &["topic", "info", &name, "--json"],
            &["node", "info", &name],
            &["service", "call", &name, "std_srvs/srv/SetBool"],
            &["device", "compile", &name],
        ] {
            place.check(arguments);
        }
    }
}

#[test]
fn names_in_recordings_do_not_drive_the_terminal() {
    let place = Place::new("bags");
    let mut random = crossdock_test_support::seed();
    std::fs::write(place.0.join("g.yaml"), graph(99, "")).expect("room");
    for round in 0..4 {
        let bags = [0, 1].map(|which| place.0.join(format!("{round}-{which}.mcap")));
        let names = [hostile(&mut random), hostile(&mut random)];
        for (bag, text) in bags.iter().zip(["left", "right"]) {
            let mut writer =
                BagWriter::create(bag, WriterOptions::new(Compression::None)).expect("a bag");
            for name in &names {
                let topic = TopicDescription {
                    name: name.clone(),
                    type_name: name.clone(),
                    definition: format!("string {name}\n"),
                    type_hash: name.clone(),
                    qos: Vec::new(),
                };
                let topic = writer.add_topic(topic).expect("a topic");
                writer.write(topic, 1, 1, &[IoSlice::new(text.as_bytes())]).expect("room");
            }
            writer.finish().expect("a bag");
        }
        let [left, right] = bags.each_ref().map(|bag| bag.to_str().expect("UTF-8"));
        place.check(&["replay", "--compare", left, right]);
        place.check(&["replay", "--compare", left, right, "--json"]);
        place.check(&["check", "g.yaml", "--input", left]);
        place.check(&["run", "g.yaml", "--input", left, "--json"]);
        place.check(&["replay", "g.yaml", left]);
        place.check(&["bag", "info", left]);
        place.check(&["bag", "check", left]);
        place.check(&["bag", "play", left, "--rate", "max"]);
    }
}

#[test]
fn a_topic_of_a_recording_begins_no_line_of_what_bag_play_says() {
    let place = Place::new("line");
    let bag = place.0.join("line.mcap");
    let mut writer = BagWriter::create(&bag, WriterOptions::new(Compression::None)).expect("a bag");
    let topic = TopicDescription {
        name: format!("/a{FORGED_LINE}\n/b"),
        type_name: "std_msgs/msg/String".to_owned(),
        definition: "string data\n".to_owned(),
        type_hash: String::new(),
        qos: Vec::new(),
    };
    let topic = writer.add_topic(topic).expect("a topic");
    writer.write(topic, 1, 1, &[IoSlice::new(&[0, 1, 0, 0, 1, 0, 0, 0, 0])]).expect("room");
    writer.finish().expect("a bag");
    let bag = bag.to_str().expect("UTF-8");
    let output = place.check(&["bag", "play", bag, "--rate", "max"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((said.lines().count(), output.status.code()), (1, Some(1)), "{said}");
    assert!(said.contains("error: topic /a\u{fffd}error: forged\u{fffd}/b of the bag"), "{said}");
}

#[test]
fn texts_in_messages_do_not_drive_the_terminal() {
    let place = Place::new("messages");
    let options = ParticipantOptions {
        rendezvous: Rendezvous::Folder(place.0.join("crossdock")),
        ..ParticipantOptions::new(0, "talker")
    };
    let participant = Participant::open(options).expect("a participant");
    let (ended, text) = (Arc::new(AtomicBool::new(false)), PIECES.concat().replace('\0', ""));
    let (is_ended, said) = (Arc::clone(&ended), text.clone());
    let (ready, is_ready) = std::sync::mpsc::channel();
    let talker = std::thread::spawn(move || {
        let qos = Qos::best_effort(4);
        let options = PublisherOptions {
            node: "talker",
            topic: "/words",
            qos,
            max_bytes: Some(4096),
            group: None,
        };
        let publisher = participant.publisher::<std_msgs::String>(options).expect("a publisher");
        ready.send(()).expect("the test waits");
        while !is_ended.load(Ordering::Relaxed) {
            let mut loan = publisher.loan(Extra::none().text(said.len())).expect("memory");
            loan.message().set_data(&said).expect("room");
            loan.publish().expect("published");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
    });
    is_ready.recv().expect("a talker");
    for arguments in [
        &["topic", "echo", "/words", "--once"][..],
        &["topic", "echo", "/words", "--once", "--json"],
        &["topic", "list", "--json"],
        &["top", "--once"],
        &["graph", "--live", "--interval", "0.05"],
    ] {
        let output = place.check(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    let echoed = place.run(&["topic", "echo", "/words", "--once", "--json"]);
    let echoed: serde_json::Value = serde_json::from_slice(&echoed.stdout).expect("JSON");
    assert_eq!(echoed["message"]["data"], text.as_str(), "JSON means the text itself");
    ended.store(true, Ordering::Relaxed);
    talker.join().expect("the talker ends");
}
