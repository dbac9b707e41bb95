//! Processes killed or stopped at random moments: messages stay whole, nobody hangs, nothing is
//! left behind, and who is started again is back.
//!
//! A few hundred kills; with CROSSDOCK_LONG=1 ten thousand. The seed is printed;
//! CROSSDOCK_SEED=<seed> repeats a run's decisions (the moments are the machine's).

use crate::{common, turn};
use std::time::{Duration, Instant};

use common::child::{Process, hear, role, tell};
use common::{
    LIMIT, Place, check, comes_to, drain, open_abstract, publish, publisher, reliable,
    settled_resources, subscriber,
};
use crossdock_comm::{
    Access, Doorbell, DoorbellOptions, Event, Observer, ObserverOptions, Participant, Publisher,
    Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_test_support::{Random, done};
use rustix::process::Signal;

/// Kills of one test.
fn kills() -> u32 {
    if std::env::var_os("CROSSDOCK_LONG").is_some() { 1700 } else { 150 }
}

/// Publishes until it is killed.
fn publish_for_ever(participant: &Participant) {
    let output = publisher(participant, "/image", reliable(8));
    let mut number = 0;
    while hear_nothing_more().is_none() {
        number += 1;
        if common::try_publish(&output, number).is_err() {
            return;
        }
    }
}

/// The children of this file end by being killed, or with their parent.
fn hear_nothing_more() -> Option<()> {
    (std::os::unix::process::parent_id() == 1).then_some(())
}

#[test]
fn a_publisher_that_dies_while_a_device_writes_its_message_hangs_nobody() {
    let _turn = turn();
    let test = "kills::a_publisher_that_dies_while_a_device_writes_its_message_hangs_nobody";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let output = publisher(&participant, "/image", reliable(8));
        assert!(participant.wait_until(LIMIT, || output.matched() == 1));
        for _ in 0..3 {
            let mut loan = output.loan(Extra::none().bytes(8)).unwrap();
            loan.message().data_uninit(8).unwrap().fill(1);
            loan.publish_early().unwrap();
        }
        tell("published");
        while hear_nothing_more().is_none() {
            hear();
        }
        return;
    }
    let place = Place::new("killed-early");
    let participant = place.open("parent");
    let input = subscriber(&participant, "/image", reliable(8));
    let alone = settled_resources();
    for _ in 0..kills() / 30 {
        let mut child = Process::start(test, "early", place.path());
        child.expect("published");
        child.kill();
        while input.is_ready() {
            assert!(input.take().unwrap().is_none());
        }
        assert!(participant.wait_until(LIMIT, || input.matched() == 0));
        // A take lets go of the connection, once the subscriber's thread has been told that it is
        // gone.
        comes_to(alone, "it is killed", || assert!(input.take().unwrap().is_none()));
    }
    assert_eq!(input.counters().corrupt, u64::from(kills() / 30) * 3);
}

#[test]
fn publishers_killed_at_random_moments_leave_whole_messages_and_nothing_else() {
    let _turn = turn();
    let test = "kills::publishers_killed_at_random_moments_leave_whole_messages_and_nothing_else";
    if let Some((_, place)) = role() {
        return publish_for_ever(&Place::of_parent(&place, "child"));
    }
    let mut random = Random::new(test);
    let place = Place::new("killed-publishers");
    let participant = place.open("parent");
    let input = subscriber(&participant, "/image", reliable(8));
    let alone = settled_resources();
    let mut taken = 0;
    for round in 0..kills() {
        let child = Process::start(test, "publish", place.path());
        let wanted = random.below(200);
        // One in four is killed while it starts and connects.
        let patient = random.below(4) != 0;
        let mut held = Vec::new();
        let mut expected = None;
        let mut looks = random.below(20_000);
        let mut handle = |sample: crossdock_comm::Sample<_>, keep: bool| {
            let number = check(&sample);
            assert!(expected.is_none_or(|expected| expected == number), "{number} after a gap");
            expected = Some(number + 1);
            if keep {
                held.push((number, sample));
            }
        };
        let mut count = 0;
        while count < wanted && (patient || looks > 0) {
            looks = looks.saturating_sub(1);
            if let Some(sample) = input.take().unwrap() {
                count += 1;
                handle(sample, count <= 5);
            } else {
                std::thread::yield_now();
            }
        }
        child.kill();
        assert!(
            participant
                .wait_until(LIMIT, || { input.matched() == 0 && participant.peers().is_empty() })
        );
        while let Some(sample) = input.take().unwrap() {
            count += 1;
            handle(sample, false);
        }
        taken += count;
        for (number, sample) in held.drain(..) {
            assert_eq!(check(&sample), number);
        }
        assert!(!input.is_ready());
        if round % 10 == 0 {
            comes_to(alone, "it is killed", || {});
        }
    }
    assert_eq!(input.lost(), 0);
    assert_eq!(input.counters().taken, taken);
    assert!(taken > u64::from(kills()), "the children published: {taken}");
    done(kills().into(), "kills");
    drop((input, participant));
    drop(place.open("next"));
    assert_eq!(place.files(), 0);
}

#[test]
fn subscribers_killed_at_random_moments_hold_nobody_up() {
    let _turn = turn();
    let test = "kills::subscribers_killed_at_random_moments_hold_nobody_up";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let input = subscriber(&participant, "/image", reliable(8));
        let mut held = std::collections::VecDeque::new();
        while hear_nothing_more().is_none() {
            match input.take().unwrap() {
                Some(sample) => held.push_back((check(&sample), sample)),
                None => std::thread::yield_now(),
            }
            if held.len() > 4 {
                let (number, sample) = held.pop_front().unwrap();
                assert_eq!(check(&sample), number);
            }
        }
        return;
    }
    let mut random = Random::new(test);
    let place = Place::new("killed-subscribers");
    let participant = place.open("parent");
    let output = publisher(&participant, "/image", reliable(8));
    let witness = subscriber(&participant, "/image", reliable(8));
    participant.wait_until(LIMIT, || output.peers() == 1);
    let alone = settled_resources();
    let mut number = 0;
    let mut witnessed = 0;
    let mut publish_some = |count: u64| {
        for _ in 0..count {
            number += 1;
            publish(&output, number);
            for taken in drain(&witness) {
                witnessed += 1;
                assert_eq!(taken, witnessed);
            }
        }
    };
    for round in 0..kills() {
        let child = Process::start(test, "subscribe", place.path());
        if random.below(4) != 0 {
            participant.wait_until(LIMIT, || output.peers() == 2);
        }
        publish_some(random.below(500));
        child.kill();
        publish_some(20);
        assert!(
            participant
                .wait_until(LIMIT, || { output.peers() == 1 && participant.peers().is_empty() })
        );
        publish_some(1);
        if round % 10 == 0 {
            comes_to(alone, "it is killed", || {});
        }
    }
    assert_eq!((witness.lost(), output.counters().timeouts), (0, 0));
    done(kills().into(), "kills");
    drop((output, witness, participant));
    drop(place.open("next"));
    assert_eq!(place.files(), 0);
}

#[test]
fn kills_under_abstract_names_leave_nothing_at_all() {
    let _turn = turn();
    let test = "kills::kills_under_abstract_names_leave_nothing_at_all";
    if let Some((_, place)) = role() {
        return publish_for_ever(&Place::of_parent(&place, "child"));
    }
    let mut random = Random::new(test);
    let participant = open_abstract("parent");
    let input = subscriber(&participant, "/image", Qos::best_effort(8));
    for _ in 0..kills() {
        let child = Process::start(test, "publish", "");
        let mut looks = random.below(20_000);
        let wanted = random.below(50);
        let mut count = 0;
        while count < wanted && looks > 0 {
            looks -= 1;
            count += drain(&input).len() as u64;
            std::thread::yield_now();
        }
        child.kill();
        assert!(
            participant
                .wait_until(LIMIT, || { input.matched() == 0 && participant.peers().is_empty() })
        );
        drain(&input);
    }
    let pid = std::process::id();
    let ours = format!("/{pid}/");
    drop((input, participant));
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let left = table.lines().filter(|line| line.contains("@crossdock/") && line.contains(&ours));
    assert_eq!(left.count(), 0);
    done(kills().into(), "kills");
}

#[test]
fn a_killed_subscriber_that_is_started_again_is_connected_again() {
    let _turn = turn();
    let test = "kills::a_killed_subscriber_that_is_started_again_is_connected_again";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let input = subscriber(&participant, "/image", reliable(4));
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        tell("matched");
        while input.take().unwrap().is_none() {
            std::hint::spin_loop();
        }
        tell("taken");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("again");
    let participant = place.open("parent");
    let output = publisher(&participant, "/image", reliable(4));
    let alone = settled_resources();
    for round in 0..10 {
        let mut child = Process::start(test, "subscribe", place.path());
        child.expect("matched");
        publish(&output, round);
        child.expect("taken");
        child.kill();
        assert!(participant.wait_until(LIMIT, || output.peers() == 0));
        output.handle().settle();
        participant.wait_until(LIMIT, || participant.peers().is_empty());
        comes_to(alone, "it is killed", || {});
    }
    drop((output, participant));
    drop(place.open("next"));
    assert_eq!(place.files(), 0);
}

// ---- a graph of ten processes ----------------------------------------------------------------

/// Processes of the graph, besides the one that looks on.
const STATIONS: usize = 10;
/// Neighbours that each one hears: itself apart, the one before it and the third before it.
const HEARS: [usize; 2] = [1, 3];
/// Bits of a message's number that count within one life of its station.
const LIFE_BITS: u32 = 20;

fn topic_of(station: usize) -> String {
    format!("/station_{station}")
}

/// Publishes a message that also says how many neighbours have been heard in this life.
fn report(output: &Publisher<Image>, number: u32, heard: u32) -> Result<(), String> {
    let bytes = 64 + (number as usize * 37) % 1000;
    let loan = output.loan(Extra::none().text(4).bytes(bytes));
    let mut loan = loan.map_err(|error| error.to_string())?;
    let mut image = loan.message();
    image.set_height(number);
    image.set_width(bytes as u32);
    image.set_step(heard);
    image.set_encoding("rgb8").unwrap();
    image.data_uninit(bytes).unwrap().fill(number as u8);
    loan.set_origin([u64::from(number), !u64::from(number)]);
    loan.publish().map(|_| ()).map_err(|refused| refused.reason.to_string())
}

fn woken_by(participant: &Participant, topic: &str, bell: &Doorbell) -> Subscriber<Image> {
    let doorbell = Some(bell);
    let options =
        SubscriberOptions { node: "sink", topic, qos: reliable(8), doorbell, group: None };
    participant.subscriber(options).unwrap()
}

/// Each life of a publisher counts from its start, and nothing is missing in between.
#[derive(Default)]
struct Lives {
    last: Option<u32>,
}

impl Lives {
    fn next(&mut self, number: u32) {
        let life = |number: u32| number >> LIFE_BITS;
        if let Some(last) = self.last.replace(number) {
            let follows = number == last + 1 || life(number) > life(last);
            assert!(follows, "{number:#x} after {last:#x}");
        }
    }
}

/// One process of the graph: says something every few milliseconds, and hears its neighbours and
/// the one that looks on.
fn station(place: &str, role: &str) {
    let mut words = role.split(' ').skip(1).map(|word| word.parse::<u32>().unwrap());
    let (index, life) = (words.next().unwrap() as usize, words.next().unwrap());
    let participant = Place::of_parent(place, &format!("station{index}"));
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let output = publisher(&participant, &topic_of(index), reliable(8));
    let mut inputs: Vec<_> = HEARS
        .iter()
        .map(|back| topic_of((index + STATIONS - back) % STATIONS))
        .chain(["/onlooker".to_string()])
        .map(|topic| (woken_by(&participant, &topic, &bell), Lives::default(), 0))
        .collect();
    let mut number = life << LIFE_BITS;
    let mut next = Instant::now();
    while hear_nothing_more().is_none() {
        bell.drain(|_| ());
        for (input, lives, heard) in &mut inputs {
            while let Some(sample) = input.take().unwrap() {
                lives.next(check(&sample));
                *heard = 1;
            }
            assert_eq!(input.lost(), 0);
        }
        if Instant::now() >= next {
            number += 1;
            let heard = inputs.iter().map(|(.., heard)| heard).sum();
            report(&output, number, heard).unwrap();
            next += Duration::from_millis(5);
        }
        let left = next.saturating_duration_since(Instant::now());
        bell.sleep(Some(left), || inputs.iter().any(|(input, ..)| input.handle().arm()));
    }
}

/// The process that looks on: hears every station, and is heard by all.
struct Onlooker {
    participant: Participant,
    output: Publisher<Image>,
    inputs: Vec<(Subscriber<Image>, Lives)>,
    said: u32,
    /// By station: its life whose messages say that it hears everybody.
    complete: Vec<Option<u32>>,
    gone: usize,
    cut_off: Vec<String>,
}

impl Onlooker {
    fn new(place: &Place) -> Onlooker {
        let participant = place.open("onlooker");
        let output = publisher(&participant, "/onlooker", reliable(8));
        let input = |station| subscriber(&participant, &topic_of(station), reliable(8));
        let inputs = (0..STATIONS).map(|station| (input(station), Lives::default())).collect();
        let complete = vec![None; STATIONS];
        Onlooker { participant, output, inputs, said: 0, complete, gone: 0, cut_off: vec![] }
    }

    /// Takes what is there, says something, notes who has gone.
    fn look(&mut self) {
        for ((input, lives), complete) in self.inputs.iter_mut().zip(&mut self.complete) {
            while let Some(sample) = input.take().unwrap() {
                let number = check(&sample);
                lives.next(number);
                if sample.message().step() == HEARS.len() as u32 + 1 {
                    *complete = Some(number >> LIFE_BITS);
                }
            }
            assert_eq!(input.lost(), 0);
        }
        for event in self.participant.take_events().0 {
            match event {
                Event::PeerLeft(_) => self.gone += 1,
                Event::PeerJoined(_) => {}
                other => self.cut_off.push(other.to_string()),
            }
        }
        assert!(self.cut_off.is_empty(), "{:?}", self.cut_off);
    }

    fn say(&mut self) {
        self.said += 1;
        report(&self.output, self.said, 0).unwrap();
    }

    /// Looks and speaks until it holds.
    fn until(&mut self, what: &str, mut holds: impl FnMut(&Onlooker) -> bool) {
        let end = Instant::now() + LIMIT;
        loop {
            self.look();
            if holds(self) {
                return;
            }
            assert!(Instant::now() < end, "{what}: {:?}", self.complete);
            self.say();
            self.participant.wait_change(self.participant.changes(), Duration::from_millis(2));
        }
    }
}

/// Descriptors and memory objects of a process.
fn held_by(pid: u32) -> (usize, usize) {
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    (fds, maps.lines().filter(|line| line.contains("memfd:crossdock")).count())
}

/// The keepers of these processes: who runs under that name as a child of one of them.
fn keepers_of(pids: &[u32]) -> Vec<u32> {
    let of_one = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let parent = field("PPid:").and_then(|parent| parent.trim().parse().ok());
        field("Name:").is_some_and(|name| name.trim() == "crossdock-keep")
            && parent.is_some_and(|parent| pids.contains(&parent))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(of_one).collect()
}

/// Does a task still run (its remains may wait for process 1)?
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// Private memory of this process in KiB.
fn private_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_graph_of_ten_processes_bears_random_kills() {
    let _turn = turn();
    let test = "kills::a_graph_of_ten_processes_bears_random_kills";
    if let Some((role, place)) = role() {
        return station(&place, &role);
    }
    let mut random = Random::new(test);
    let kills = if std::env::var_os("CROSSDOCK_LONG").is_some() { 5000 } else { 60 };
    let place = Place::new("ten");
    let mut onlooker = Onlooker::new(&place);
    let alone = settled_resources();
    let start = |station: usize, life: u32| {
        Process::start(test, &format!("station {station} {life}"), place.path())
    };
    let mut lives = vec![1; STATIONS];
    let mut stations: Vec<_> = (0..STATIONS).map(|station| start(station, 1)).collect();
    let all_back = |onlooker: &mut Onlooker, lives: &[u32]| {
        onlooker.until("the graph is whole", |seen| {
            seen.complete.iter().zip(lives).all(|(complete, life)| *complete == Some(*life))
                && seen.participant.peers().len() == STATIONS
        });
    };
    all_back(&mut onlooker, &lives);
    let at_start: Vec<_> = stations.iter().map(|station| held_by(station.pid())).collect();
    let mut known_us = vec![];
    let mut private = None;
    let mut killed = 0;
    while killed < kills {
        // One at a time, or several at once; sometimes one that stands still.
        let count = if random.below(4) == 0 { 1 + random.below(4) as usize } else { 1 };
        let mut victims: Vec<usize> = vec![];
        while victims.len() < count {
            let victim = random.below(STATIONS as u64) as usize;
            if !victims.contains(&victim) {
                victims.push(victim);
            }
        }
        for _ in 0..random.below(4) {
            onlooker.look();
            onlooker.say();
        }
        let before = onlooker.gone;
        let mut moment = Instant::now();
        for victim in &victims {
            if random.below(8) == 0 {
                stations[*victim].signal(Signal::STOP);
            }
            moment = stations[*victim].kill_running();
        }
        onlooker.until("deaths are known", |seen| seen.gone == before + count);
        known_us.push(moment.elapsed().as_micros() as u64);
        for victim in victims {
            killed += 1;
            lives[victim] += 1;
            let next = start(victim, lives[victim]);
            std::mem::replace(&mut stations[victim], next).was_killed();
        }
        // Half of the time the next kill comes while the graph is not whole again.
        if random.below(2) == 0 {
            all_back(&mut onlooker, &lives);
        } else {
            let live = STATIONS;
            onlooker.until("all have joined", |seen| seen.participant.peers().len() == live);
        }
        if killed >= kills / 4 {
            private.get_or_insert_with(private_kib);
        }
    }
    all_back(&mut onlooker, &lives);
    for (station, held) in stations.iter().zip(&at_start) {
        let end = Instant::now() + LIMIT;
        while held_by(station.pid()) != *held && Instant::now() < end {
            onlooker.look();
            onlooker.say();
        }
        assert_eq!(held_by(station.pid()), *held, "descriptors and mappings of a survivor");
    }
    let grown_kib = private_kib().saturating_sub(private.unwrap());
    // The address sanitizer keeps what was freed, hundreds of MiB of it.
    let is_sanitized = std::env::var_os("ASAN_OPTIONS").is_some();
    assert!(is_sanitized || grown_kib < 8 << 10, "{grown_kib} KiB more after 3/4 of the kills");
    let pids: Vec<_> = stations.iter().map(Process::pid).collect();
    let keepers = keepers_of(&pids);
    assert_eq!(keepers.len(), STATIONS, "each process has one keeper");
    stations.iter_mut().for_each(|station| _ = station.kill_running());
    stations.into_iter().for_each(Process::was_killed);
    onlooker.until("everybody has gone", |seen| seen.participant.peers().is_empty());
    onlooker.output.handle().settle();
    comes_to(alone, "it is killed", || {});
    let end = Instant::now() + LIMIT;
    while keepers.iter().any(|keeper| runs(*keeper)) {
        assert!(Instant::now() < end, "a keeper outlives its process");
        std::thread::yield_now();
    }
    known_us.sort_unstable();
    let at = |part: usize| known_us[(known_us.len() * part / 100).min(known_us.len() - 1)];
    println!("deaths were known after {} us (p50), {} us (p99)", at(50), at(99));
    done(killed as u64, "kills");
    drop(onlooker);
    drop(place.open("next"));
    assert_eq!(place.files(), 0);
}

// ---- processes that stand still --------------------------------------------------------------

#[test]
fn a_process_that_is_stopped_at_any_moment_makes_nobody_hang() {
    let _turn = turn();
    let test = "kills::a_process_that_is_stopped_at_any_moment_makes_nobody_hang";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "still");
        let input = subscriber(&participant, "/image", reliable(4));
        let output = publisher(&participant, "/still", Qos::reliable(4, Duration::from_millis(1)));
        let mut number = 0;
        while hear_nothing_more().is_none() {
            number += u32::from(common::try_publish(&output, number).is_ok());
            drain(&input);
            std::thread::yield_now();
        }
        return;
    }
    let mut random = Random::new(test);
    let place = Place::new("still");
    let participant = place.open("parent");
    let patience = Duration::from_millis(20);
    let output = publisher(&participant, "/image", Qos::reliable(4, patience));
    let input = subscriber(&participant, "/still", reliable(4));
    // What the others have to do with each other goes on.
    let (steady, witness) = {
        let steady = publisher(&participant, "/steady", reliable(4));
        let friend = place.open("friend");
        let witness = subscriber(&friend, "/steady", reliable(4));
        assert!(friend.wait_until(LIMIT, || witness.matched() == 1));
        assert!(participant.wait_until(LIMIT, || steady.peers() == 1));
        (steady, (friend, witness))
    };
    let alone = settled_resources();
    let mut number = 0;
    for round in 0..if std::env::var_os("CROSSDOCK_LONG").is_some() { 300 } else { 12 } {
        let child = Process::start(test, "still", place.path());
        // While it starts, connects, or runs.
        let connected = |_: ()| output.peers() == 1 && input.matched() == 1;
        if round % 3 != 0 {
            assert!(participant.wait_until(LIMIT, || connected(())));
        }
        for _ in 0..random.below(50) {
            std::thread::yield_now();
        }
        child.stop();
        // A process that waits is told for whom; none waits longer than it wanted to.
        let mut refused = None;
        for _ in 0..10 {
            let began = Instant::now();
            if let Err(text) = common::try_publish(&output, 1) {
                refused = Some(text);
                break;
            }
            assert!(began.elapsed() < LIMIT);
        }
        if round % 3 != 0 {
            let text = refused.expect("a reliable subscriber that takes nothing is waited for");
            assert!(text.contains("still"), "{text}");
        }
        number += 1;
        publish(&steady, number);
        assert!(drain(&witness.1).ends_with(&[number]));
        drain(&input);
        // Others come and go meanwhile, and see what there is.
        let late = place.open("late");
        let late_input = subscriber(&late, "/steady", Qos::best_effort(1));
        assert!(late.wait_until(LIMIT, || late_input.matched() == 1));
        drop((late_input, late));
        // One that had not come up yet is nowhere to be seen.
        if round % 4 == 1 && round % 3 != 0 {
            let options = ObserverOptions {
                domain_id: 0,
                name: "observer".to_string(),
                rendezvous: Rendezvous::Folder(place.0.clone()),
                access: Access::SameUser,
            };
            let seen = Observer::open(options).unwrap().snapshot().unwrap();
            assert_eq!(seen.processes.len(), 2);
            assert!(seen.unreachable[0].contains("stopped"), "{:?}", seen.unreachable);
        }
        if round % 2 == 0 {
            child.signal(Signal::CONT);
            assert!(participant.wait_until(LIMIT, || connected(())), "it goes on");
            let end = Instant::now() + LIMIT;
            while let Err(text) = common::try_publish(&output, 1) {
                assert!(Instant::now() < end, "{text}");
            }
        }
        child.kill();
        let gone = || output.peers() == 0 && input.matched() == 0 && participant.peers().len() == 1;
        assert!(participant.wait_until(LIMIT, gone), "{:?}", participant.peers());
        drain(&input);
        common::try_publish(&output, 1).unwrap();
        let events = participant.take_events().0;
        let bad = |event: &&Event| !matches!(event, Event::PeerJoined(_) | Event::PeerLeft(_));
        assert!(!events.iter().any(|event| bad(&event)), "{events:?}");
    }
    assert_eq!(witness.1.lost(), 0);
    output.handle().settle();
    comes_to(alone, "it is killed", || {});
}
