//! What a process uses, counted and compared with docs/limits.md, and graphs of many topics under
//! the usual limit on descriptors.

use crate::{common, turn};
use std::collections::BTreeMap;
use std::path::PathBuf;

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place, check, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::{DoorbellOptions, Participant, Qos};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the tables of docs/limits.md: cells without their backquotes.
fn published() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let cells = |line: &str| {
        let inner = line.trim().trim_matches('|');
        inner.split('|').map(|cell| cell.trim().replace('`', "")).collect::<Vec<_>>()
    };
    text.lines().filter(|line| line.starts_with('|')).map(cells).collect()
}

/// Descriptors, and mapped memory objects of ours.
fn used() -> (i64, i64) {
    let (maps, fds) = common::resources();
    (fds as i64, maps as i64)
}

/// Sockets of this process.
fn sockets() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let names = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    names.filter(|name| name.to_string_lossy().starts_with("socket:")).count()
}

/// The number that stays the same while the control threads finish what they do.
fn settled<T: PartialEq + std::fmt::Debug>(mut look: impl FnMut() -> T) -> T {
    let mut last = look();
    let mut same = 0;
    while same < 20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let now = look();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// Descriptors of this process that a child of it needs: its input and output.
const PIPES_OF_CHILD: i64 = 2;

struct Counter {
    counted: BTreeMap<String, (i64, i64)>,
    before: (i64, i64),
}

impl Counter {
    /// Notes what has come for each of `number` things, without descriptors of the test itself.
    fn note(&mut self, what: &str, number: i64, own: i64) {
        let now = settled(used);
        let (fds, maps) = (now.0 - self.before.0 - own, now.1 - self.before.1);
        self.counted.insert(what.to_string(), (fds / number, maps / number));
        self.before = now;
    }
}

/// A process that makes ports as it is told.
fn obey(place: &str) {
    let participant = Place::of_parent(place, "other");
    let (mut outputs, mut inputs) = (vec![], vec![]);
    tell("ready");
    while let Some(line) = hear() {
        let (kind, topic) = line.split_once(' ').unwrap();
        match kind {
            "publish" => outputs.push(publisher(&participant, topic, reliable(4))),
            _ => inputs.push(subscriber(&participant, topic, reliable(4))),
        }
    }
}

#[test]
fn a_process_uses_what_is_published() {
    let _turn = turn();
    let test = "limits::a_process_uses_what_is_published";
    // In a process of its own, whose descriptors nobody else opens.
    match role() {
        None => {
            let place = Place::new("limits");
            return Process::start(test, "counted", place.path()).finish();
        }
        Some((role, place)) if role == "other" => return obey(&place),
        _ => {}
    }
    let place = role().unwrap().1;
    let mut counter = Counter { counted: BTreeMap::new(), before: used() };
    let participant = Place::of_parent(&place, "counted");
    counter.note("a participant", 1, 0);
    let _bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    counter.note("an executor", 1, 0);
    let outputs: Vec<_> =
        ["/a", "/b"].map(|topic| publisher(&participant, topic, reliable(4))).into();
    counter.note("a publisher", 2, 0);
    let inputs: Vec<_> =
        ["/c", "/d"].map(|topic| subscriber(&participant, topic, reliable(4))).into();
    counter.note("a subscriber", 2, 0);
    let own_sockets = sockets();
    let mut other = Process::start(test, "other", &place);
    other.expect("ready");
    assert!(participant.wait_until(LIMIT, || participant.peers().len() == 1));
    // The pipes to the child are no part of what is counted.
    counter.note("a peer process", 1, PIPES_OF_CHILD);
    let steps = [
        ("publish /c", "the first publisher of a peer that is subscribed to"),
        ("publish /d", "each further publisher of it"),
        ("subscribe /a", "the first subscriber of a peer that is published to"),
        ("subscribe /b", "each further subscriber of it"),
    ];
    for (number, (command, what)) in steps.into_iter().enumerate() {
        other.say(command);
        let connections = || {
            let incoming: usize = inputs.iter().map(|input| input.matched()).sum();
            incoming + outputs.iter().map(|output| output.peers()).sum::<usize>()
        };
        assert!(participant.wait_until(LIMIT, || connections() == number + 1));
        counter.note(what, 1, 0);
    }
    assert_eq!(sockets(), own_sockets + 1, "one control socket for a pair of processes");
    let _buffer = participant.buffers("node").create::<f32>("array", 4096).unwrap();
    counter.note("a shared buffer of its own", 1, 0);
    let local = subscriber(&participant, "/a", reliable(4));
    assert!(participant.wait_until(LIMIT, || local.matched() == 1));
    counter.note("the first connection inside the process", 1, 0);
    let further = subscriber(&participant, "/b", reliable(4));
    assert!(participant.wait_until(LIMIT, || further.matched() == 1));
    counter.note("each further connection inside it", 1, 0);
    let rows: BTreeMap<_, _> = published()
        .into_iter()
        .filter(|row| row.len() == 3)
        .filter_map(|row| Some((row[0].clone(), (row[1].parse().ok()?, row[2].parse().ok()?))))
        .collect();
    assert_eq!(counter.counted, rows, "docs/limits.md says otherwise");
    other.finish();
}

#[test]
fn the_published_limits_are_those_of_the_source() {
    let _turn = turn();
    let rows: Vec<_> = published().into_iter().filter(|row| row.len() == 4).collect();
    let is_head = |row: &[String]| row[0] == "constant" || row[0].starts_with('-');
    let rows: Vec<_> = rows.into_iter().filter(|row| !is_head(row)).collect();
    assert!(rows.len() > 10);
    for row in rows {
        let (name, value, file) = (&row[0], &row[1], &row[2]);
        let source = std::fs::read_to_string(root().join(file)).unwrap();
        let line = source.lines().find(|line| line.contains(&format!("const {name}: ")));
        let line = line.unwrap_or_else(|| panic!("{file} has no {name}"));
        let text = line.split_once("= ").unwrap().1.trim_end_matches(';').replace('_', "");
        let number = |text: &str| text.trim().parse::<u64>().unwrap();
        let found = match text.split_once("<<") {
            Some((base, shift)) => number(base) << number(shift),
            None => number(&text),
        };
        assert_eq!(found, number(value), "{name} in docs/limits.md and in {file}");
    }
}

// ---- many topics -----------------------------------------------------------------------------

/// Topics of the graphs.
const TOPICS: usize = 200;
/// Processes that publish all of them, and that subscribe to all of them.
const PUBLISHING: usize = 2;
const SUBSCRIBING: usize = 8;

fn usual_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(1024), maximum }).unwrap();
}

fn topics() -> impl Iterator<Item = String> {
    (0..TOPICS).map(|topic| format!("/topic_{topic}"))
}

fn be_publisher(participant: &Participant) {
    let qos = reliable(4);
    let outputs: Vec<_> = topics().map(|topic| publisher(participant, &topic, qos)).collect();
    let all = || outputs.iter().all(|output| output.peers() == SUBSCRIBING);
    assert!(participant.wait_until(4 * LIMIT, all), "{:?}", participant.take_events());
    tell("connected");
    while hear().is_some() {
        outputs.iter().for_each(|output| publish(output, 1));
        tell("published");
    }
}

fn be_subscriber(participant: &Participant) {
    let qos = reliable(4);
    let inputs: Vec<_> = topics().map(|topic| subscriber(participant, &topic, qos)).collect();
    let all = || inputs.iter().all(|input| input.matched() == PUBLISHING);
    assert!(participant.wait_until(4 * LIMIT, all), "{:?}", participant.take_events());
    tell("connected");
    while hear().is_some() {
        let mut left = vec![PUBLISHING; TOPICS];
        while left.iter().any(|left| *left > 0) {
            for (input, left) in inputs.iter().zip(&mut left) {
                while let Some(sample) = input.take().unwrap() {
                    assert_eq!(check(&sample), 1);
                    *left -= 1;
                }
            }
            std::thread::yield_now();
        }
        let (maps, fds) = common::resources();
        tell(&format!("taken {fds} {maps}"));
    }
}

#[test]
fn two_hundred_topics_between_ten_processes_need_no_higher_limit() {
    let _turn = turn();
    let test = "limits::two_hundred_topics_between_ten_processes_need_no_higher_limit";
    if let Some((role, place)) = role() {
        usual_limit();
        let participant = Place::of_parent(&place, &role);
        return match role.as_str() {
            "publish" => be_publisher(&participant),
            _ => be_subscriber(&participant),
        };
    }
    let place = Place::new("topics");
    let start = |role: &str| Process::start(test, role, place.path());
    let mut publishers: Vec<_> = (0..PUBLISHING).map(|_| start("publish")).collect();
    let mut subscribers: Vec<_> = (0..SUBSCRIBING).map(|_| start("subscribe")).collect();
    publishers.iter_mut().chain(&mut subscribers).for_each(|child| child.expect("connected"));
    for _ in 0..3 {
        publishers.iter_mut().for_each(|child| child.say("publish"));
        subscribers.iter_mut().for_each(|child| child.say("take"));
        publishers.iter_mut().for_each(|child| child.expect("published"));
        for child in &mut subscribers {
            let said = child.read().unwrap();
            let fds: usize = said.split(' ').nth(1).unwrap().parse().unwrap();
            assert!(fds < 1024, "{said}");
        }
    }
    publishers.into_iter().chain(subscribers).for_each(Process::finish);
    assert_eq!(place.files(), 0);
}

#[test]
fn two_hundred_topics_in_one_process_need_no_higher_limit() {
    let _turn = turn();
    let test = "limits::two_hundred_topics_in_one_process_need_no_higher_limit";
    let Some((_, place)) = role() else {
        let place = Place::new("topics_in_one");
        return Process::start(test, "all", place.path()).finish();
    };
    usual_limit();
    let participant = Place::of_parent(&place, "all");
    let qos = Qos::best_effort(4);
    let outputs: Vec<_> = topics()
        .flat_map(|topic| {
            [publisher(&participant, &topic, qos), publisher(&participant, &topic, qos)]
        })
        .collect();
    let inputs: Vec<_> = (0..SUBSCRIBING)
        .flat_map(|_| {
            topics().map(|topic| subscriber(&participant, &topic, qos)).collect::<Vec<_>>()
        })
        .collect();
    let all = || inputs.iter().all(|input| input.matched() == PUBLISHING);
    assert!(participant.wait_until(4 * LIMIT, all), "{:?}", participant.take_events());
    outputs.iter().for_each(|output| publish(output, 1));
    assert!(inputs.iter().all(|input| drain(input) == [1, 1]));
    let (maps, fds) = common::resources();
    println!("{fds} descriptors, {maps} mapped objects");
    assert!(fds < 1024);
}
