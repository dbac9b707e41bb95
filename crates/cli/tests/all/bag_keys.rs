//! `crossdock bag play` and `record` on a terminal: the bar, and what each key does.

use crate::bag::{recorded, say, talker};
use crate::place::{Place, Program};
use crate::runs::probe::{look, until};
use crossdock_comm::status_records::counter;
use crossdock_comm::{
    AnySubscriber, Doorbell, DoorbellOptions, Participant, Qos, SubscriberOptions,
};
use crossdock_msg::JsonOptions;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long is waited for what will surely come.
const PATIENCE: Duration = Duration::from_secs(60);

const SPACE: &str = " ";
const RIGHT: &str = "\x1b[C";
const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";

/// A terminal, and the person at it.
struct Terminal {
    side: File,
    keyboard: File,
    shown: Arc<(Mutex<String>, Condvar)>,
    /// Bytes of the text that the person has read.
    read: usize,
}

impl Terminal {
    fn open() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal that may be opened");
        unlockpt(&master).expect("a terminal that is not locked");
        let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("UTF-8");
        let side = File::options().read(true).write(true).open(name).expect("its other side");
        let shown = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let screen = Arc::clone(&shown);
        let mut master = File::from(master);
        let keyboard = master.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Ends when nobody has the other side any more.
            while let Ok(count @ 1..) = master.read(&mut buffer) {
                let mut text = screen.0.lock().unwrap_or_else(PoisonError::into_inner);
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
                screen.1.notify_all();
            }
        });
        Self { side, keyboard, shown, read: 0 }
    }

    fn stdio(&self) -> Stdio {
        self.side.try_clone().expect("a descriptor").into()
    }

    fn press(&self, keys: &str) {
        (&self.keyboard).write_all(keys.as_bytes()).expect("keys");
    }

    /// Waits until these words are shown behind those that were waited for before.
    fn must_show(&mut self, words: &str) {
        let end = Instant::now() + PATIENCE;
        let mut text = self.shown.0.lock().expect("no panic");
        loop {
            if let Some(at) = text[self.read..].find(words) {
                self.read += at + words.len();
                return;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "`{words}` is missing behind byte {} of: {text}", self.read);
            text = self.shown.1.wait_timeout(text, left).expect("no panic").0;
        }
    }

    /// Whether it hands out lines and shows what is typed.
    fn is_as_found(&self) -> bool {
        let modes = tcgetattr(&self.side).expect("its settings").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }
}

/// Who hears what is played.
struct Listener {
    subscriber: AnySubscriber,
    doorbell: Doorbell,
    _participant: Participant,
}

impl Listener {
    fn of(place: &Place, topic: &str) -> Self {
        let participant = place.participant("listener");
        let doorbell =
            participant.doorbell(DoorbellOptions { spin: Duration::ZERO }).expect("a doorbell");
        let qos = Qos::reliable(5, PATIENCE);
        let options =
            SubscriberOptions { node: "ear", topic, qos, doorbell: Some(&doorbell), group: None };
        let subscriber = participant.any_subscriber(options).expect("a subscriber");
        Self { subscriber, doorbell, _participant: participant }
    }

    fn next(&self) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(sample) = self.subscriber.take().expect("a message") {
                let options = JsonOptions::default();
                let value = sample.schema().to_json_with(sample.block(), options).expect("JSON");
                return value["data"].as_str().expect("text").to_owned();
            }
            assert!(Instant::now() < end, "a message is missing");
            self.doorbell.drain(|_| {});
            let handle = self.subscriber.handle();
            self.doorbell.sleep(Some(Duration::from_secs(1)), || handle.arm());
        }
    }
}

#[test]
fn keys_pause_step_and_pace_a_bag_that_is_played_on_a_terminal_with_a_bar() {
    let place = Place::new("keys");
    // 100 s, of which one or two are played.
    place.bag("long", 10_000);
    let listener = Listener::of(&place, "/a");
    let mut terminal = Terminal::open();
    assert!(terminal.is_as_found());
    let line = ["bag", "play", "long", "--start-paused", "--topics", "/a"];
    let mut command = place.command(&line);
    command.stdin(terminal.stdio()).stderr(terminal.stdio()).stdout(Stdio::piped());
    let playing = Program::start(command);
    terminal.must_show("space: pause");
    assert!(!terminal.is_as_found(), "keys come at once and are not shown");
    // A step is one message; nothing comes without one.
    for text in ["text 0000", "text 0002"] {
        assert!(listener.subscriber.take().expect("no error").is_none());
        terminal.press(RIGHT);
        assert_eq!(listener.next(), text);
    }
    // The bar is shown while it is paused, too.
    terminal.must_show("[------------------------------]   0 %  ");
    // Of the topic that is played.
    terminal.must_show(" of 5000 messages");
    terminal.press(SPACE);
    terminal.must_show("playing");
    for number in [4, 6, 8] {
        assert_eq!(listener.next(), format!("text {number:04}"));
    }
    terminal.press(UP);
    terminal.must_show("rate 1.10");
    terminal.press(DOWN);
    terminal.must_show("rate 1.00");
    terminal.press(SPACE);
    terminal.must_show("paused");
    terminal.press("q");
    let output = playing.end();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.ends_with(" messages of 1 topic\n"), "{said}");
    assert!(terminal.is_as_found(), "the terminal is as it was");
}

/// Messages that all subscribers of the place have taken so far.
pub(crate) fn taken(place: &Place) -> u64 {
    let Some(snapshot) = look(&place.path("crossdock")) else { return 0 };
    let ports = snapshot.processes.iter().flat_map(|process| &process.subscribers);
    ports.map(|port| port.counters[counter::MESSAGES]).sum()
}

#[test]
fn the_space_bar_pauses_a_recording_on_a_terminal() {
    let place = Place::new("record-keys");
    let (talking, publisher) = talker(&place);
    let mut terminal = Terminal::open();
    let mut command = place.command(&["bag", "record", "-a", "-o", "out"]);
    command.stdin(terminal.stdio()).stderr(terminal.stdio()).stdout(Stdio::piped());
    let recording = Program::start(command);
    terminal.must_show("space: pause");
    terminal.must_show("recording /a");
    let connected = || talking.topic_connections("/a").outgoing > 0;
    assert!(talking.wait_until(PATIENCE, connected));
    say(&publisher, 0..3);
    // What was not taken by then is passed over.
    until("three messages", || taken(&place) == 3);
    terminal.press(SPACE);
    terminal.must_show("paused");
    say(&publisher, 3..5);
    terminal.press(SPACE);
    terminal.must_show("recording");
    say(&publisher, 5..7);
    terminal.press("q");
    let output = recording.end();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(said, "5 messages of 1 topic, 0 lost\n");
    assert_eq!(recorded(&place.path("out")), [0, 1, 2, 5, 6]);
    assert!(terminal.is_as_found(), "the terminal is as it was");
}
