//! Samples that are held through every end of a connection: for want of address space, descriptors
//! or memory, and when one side cuts the other off. A held sample never changes, its memory is not
//! used again before it is dropped, and then it is.

use crate::{common, turn};
use std::os::fd::OwnedFd;
use std::time::Instant;

use common::child::{Process, hear, role, tell};
use common::{
    LIMIT, Place, check, comes_to, drain, publish, publisher, reliable, settled_resources,
    subscriber,
};
use crossdock_comm::{Event, Participant, Publisher, PublisherOptions, Qos, Sample};
use crossdock_comm::{Subscriber, SubscriberOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs::Header;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

/// Messages that use all memory of a small publisher several times.
const MANY: u32 = 500;

/// `None`: as much as this process may have.
pub(crate) fn set_limit(resource: Resource, current: Option<u64>) {
    let Rlimit { maximum, .. } = getrlimit(resource);
    setrlimit(resource, Rlimit { current: current.or(maximum), maximum }).unwrap();
}

/// Lets this process map `more` bytes than it has now.
pub(crate) fn limit_address_space(more: u64) {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    set_limit(Resource::As, Some(pages * 4096 + more));
}

/// Uses up the descriptors but for `free` of them.
fn use_up_descriptors(free: usize) -> Vec<OwnedFd> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = open.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let highest = numbers.map(|number| number.parse::<u64>().unwrap()).max().unwrap();
    set_limit(Resource::Nofile, Some(highest + 1));
    let dup = || rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 0);
    let mut filled: Vec<OwnedFd> = std::iter::from_fn(|| dup().ok()).collect();
    filled.truncate(filled.len().saturating_sub(free));
    set_limit(Resource::Nofile, Some(highest + 1 + free.saturating_sub(filled.len()) as u64));
    filled
}

/// A publisher whose memory grows with its messages.
fn growing(participant: &Participant, topic: &str) -> Publisher<Image> {
    let qos = Qos::best_effort(8);
    let options = PublisherOptions { node: "source", topic, qos, max_bytes: None, group: None };
    participant.publisher(options).unwrap()
}

fn publish_large(output: &Publisher<Image>, number: u32, bytes: usize) -> Result<(), String> {
    let extra = Extra::none().text(4).bytes(bytes);
    let mut loan = output.loan(extra).map_err(|error| error.to_string())?;
    let mut image = loan.message();
    image.set_height(number);
    image.set_width(bytes as u32);
    image.set_encoding("rgb8").unwrap();
    image.data_uninit(bytes).unwrap().fill(number as u8);
    loan.set_origin([u64::from(number), !u64::from(number)]);
    loan.publish().map_err(|refused| refused.reason.to_string())
}

/// Writes to all memory that a publisher takes for free, and gives it back.
fn use_all_memory(output: &Publisher<Image>) {
    let mut loans = Vec::new();
    // Of each size that messages have here, more than any pool has chunks that were used before.
    for bytes in [100, 1000] {
        for _ in 0..300 {
            let Ok(mut loan) = output.loan(Extra::none().text(4).bytes(bytes)) else { break };
            loan.message().data_uninit(bytes).unwrap().fill(0xEE);
            loans.push(loan);
        }
    }
    assert!(loans.len() > 4);
}

/// What a child does as its parent says; it ends with its parent's last word.
struct Child {
    participant: Participant,
    input: Subscriber<Image>,
    output: Publisher<Image>,
    held: Vec<(u32, Sample<Image>)>,
    filled: Vec<OwnedFd>,
    number: u32,
}

impl Child {
    fn new(place: &str) -> Child {
        let participant = Place::of_parent(place, "child");
        let input = subscriber(&participant, "/down", Qos::best_effort(8));
        let output = publisher(&participant, "/up", reliable(4));
        assert!(participant.wait_until(LIMIT, || input.matched() == 1 && output.peers() == 1));
        let (held, filled) = (Vec::new(), Vec::new());
        Child { participant, input, output, held, filled, number: 0 }
    }

    fn run(mut self) {
        tell("ready");
        while let Some(line) = hear() {
            match line.as_str() {
                "hold" => {
                    let sample = self.input.take().unwrap().unwrap();
                    self.held.push((check(&sample), sample));
                }
                "few bytes" => limit_address_space(24 << 20),
                "no descriptors" => self.filled = use_up_descriptors(0),
                "lift" => {
                    self.filled.clear();
                    set_limit(Resource::As, None);
                    set_limit(Resource::Nofile, None);
                }
                "look" => self.held.iter().for_each(|(number, sample)| {
                    assert_eq!(check(sample), *number, "a held sample has changed");
                }),
                "drop" => self.held.clear(),
                "take" => drop(drain(&self.input)),
                "ended" => {
                    let ended = || self.input.matched() == 0 && self.output.peers() == 0;
                    assert!(self.participant.wait_until(LIMIT, ended));
                    drain(&self.input);
                }
                "publish" => {
                    self.number += 1;
                    publish(&self.output, self.number);
                }
                "publish many" => {
                    (0..MANY).for_each(|_| {
                        self.number += 1;
                        publish(&self.output, self.number);
                    });
                    use_all_memory(&self.output);
                }
                "connected" => {
                    let connected = || {
                        drain(&self.input);
                        self.input.matched() == 1 && self.output.peers() == 1
                    };
                    let done = self.participant.wait_until(LIMIT, connected);
                    assert!(done, "{:?}", self.participant.take_events());
                }
                "trouble" => {
                    let mut texts = Vec::new();
                    let heard = || {
                        let events = self.participant.take_events().0;
                        texts.extend(events.iter().filter_map(|event| match event {
                            Event::Trouble(text) => Some(text.clone()),
                            _ => None,
                        }));
                        !texts.is_empty()
                    };
                    assert!(self.participant.wait_until(LIMIT, heard));
                    tell(&texts.join("; "));
                    continue;
                }
                other => panic!("{other}"),
            }
            tell("done");
        }
    }
}

fn order(child: &mut Process, line: &str) {
    child.say(line);
    child.expect("done");
}

/// The parent's half: what it publishes and what it hears of its child.
struct Parent {
    _place: Place,
    participant: Participant,
    output: Publisher<Image>,
    /// Makes messages go on through the ring, with other subscribers or without: memory is used
    /// again then.
    _witness: Subscriber<Image>,
    input: Subscriber<Image>,
    child: Process,
    number: u32,
    /// Mappings and descriptors before there was a child.
    alone: (usize, usize),
}

impl Parent {
    fn new(test: &str) -> Parent {
        let place = Place::new(test);
        let participant = place.open("parent");
        let output = growing(&participant, "/down");
        let _witness = subscriber(&participant, "/down", Qos::best_effort(8));
        let input = subscriber(&participant, "/up", reliable(4));
        assert!(participant.wait_until(LIMIT, || output.peers() == 1));
        // What is made once is there, memory for all but the largest messages too.
        (0..100).for_each(|number| publish(&output, number));
        let alone = settled_resources();
        let child = Process::start(test, "child", place.path());
        let mut parent =
            Parent { _place: place, participant, output, _witness, input, child, number: 0, alone };
        parent.child.expect("ready");
        assert!(parent.participant.wait_until(LIMIT, || parent.input.matched() == 1));
        parent
    }

    fn publish(&mut self) {
        self.number += 1;
        publish(&self.output, self.number);
    }

    /// As many messages as use all memory again and again.
    fn publish_many(&mut self) {
        (0..MANY).for_each(|_| self.publish());
        use_all_memory(&self.output);
    }

    fn order(&mut self, line: &str) {
        order(&mut self.child, line);
    }

    /// Memory of another class, which every subscriber has to map.
    fn grow(&mut self, bytes: usize) {
        self.number += 1;
        publish_large(&self.output, self.number, bytes).unwrap();
    }

    /// Everything that the child had here is gone, but for the pipes to it and `segments` of our
    /// own.
    fn settles(&self, segments: usize) {
        let wanted = (self.alone.0 + segments, self.alone.1 + segments + 2);
        comes_to(wanted, "the child is gone", || {
            // Who does not look sees neither that its publisher is gone nor that its subscriber is.
            drain(&self.input);
            publish(&self.output, self.number);
        });
    }
}

/// A sample is held while the memory of its publisher grows and there is no room for it.
fn grows_out_of_reach(test: &str, shortage: &str) {
    if let Some((_, place)) = role() {
        return Child::new(&place).run();
    }
    let mut parent = Parent::new(test);
    parent.publish();
    parent.order("hold");
    parent.order(shortage);
    parent.grow(1 << 20);
    parent.publish_many();
    parent.order("look");
    parent.child.say("trouble");
    let text = parent.child.read().unwrap();
    assert!(text.contains("/down") && text.contains("tried again"), "{text}");
    parent.publish_many();
    parent.order("look");
    // With room it is connected again, while it still holds what it held before.
    parent.order("lift");
    parent.order("connected");
    parent.publish_many();
    parent.order("look");
    parent.order("drop");
    parent.order("take");
    parent.publish();
    parent.order("hold");
    parent.order("look");
    parent.child.say("drop");
    parent.child.expect("done");
    let Parent { child, .. } = &parent;
    child.signal(Signal::KILL);
    assert!(parent.participant.wait_until(LIMIT, || parent.output.peers() == 1));
    parent.settles(1);
}

#[test]
fn a_held_sample_stays_whole_when_there_is_no_address_space_for_more_memory() {
    let _turn = turn();
    let test = "held::a_held_sample_stays_whole_when_there_is_no_address_space_for_more_memory";
    grows_out_of_reach(test, "few bytes");
}

#[test]
fn a_held_sample_stays_whole_when_no_descriptor_is_free_for_more_memory() {
    let _turn = turn();
    let test = "held::a_held_sample_stays_whole_when_no_descriptor_is_free_for_more_memory";
    grows_out_of_reach(test, "no descriptors");
}

/// Every shortage of a range while samples are held: a connection that stands needs more memory,
/// and another one is made.
fn sweep(place: &str) {
    let participant = Place::of_parent(place, "child");
    let mut filled = Vec::new();
    let mut inputs = Vec::new();
    let mut held: Vec<(u32, Sample<Image>)> = Vec::new();
    tell("ready");
    while let Some(line) = hear() {
        let (order, argument) = line.split_once(' ').unwrap();
        match order {
            "subscribe" => inputs.push(subscriber(&participant, argument, Qos::best_effort(8))),
            "hold" => {
                let input = inputs.last().unwrap();
                assert!(participant.wait_until(LIMIT, || input.is_ready()));
                let sample = input.take().unwrap().unwrap();
                held.push((check(&sample), sample));
            }
            "descriptors" => filled = use_up_descriptors(argument.parse().unwrap()),
            "kibibytes" => limit_address_space(argument.parse::<u64>().unwrap() << 10),
            "look" => held.iter().for_each(|(number, sample)| {
                assert_eq!(check(sample), *number, "a held sample has changed");
            }),
            "lift" => {
                filled.clear();
                set_limit(Resource::As, None);
                set_limit(Resource::Nofile, None);
                let connected = || {
                    inputs.iter().for_each(|input| drop(drain(input)));
                    inputs.iter().all(|input| input.matched() == 1)
                };
                let done = participant.wait_until(LIMIT, connected);
                assert!(done, "{argument}: {:?}", participant.take_events());
            }
            "end" => {
                held.clear();
                inputs.clear();
            }
            other => panic!("{other}"),
        }
        tell("done");
    }
}

#[test]
fn held_samples_stay_whole_at_every_shortage_of_a_range_while_connections_are_made_and_grow() {
    let _turn = turn();
    let test = "held::held_samples_stay_whole_at_every_shortage_of_a_range_while_connections_are_made_and_grow";
    if let Some((_, place)) = role() {
        return sweep(&place);
    }
    let place = Place::new("held-sweep");
    let participant = place.open("parent");
    let mut child = Process::start(test, "sweep", place.path());
    child.expect("ready");
    let long = std::env::var_os("CROSSDOCK_LONG").is_some();
    let free = if long { 0..=8 } else { 0..=3 };
    let shortages = free.map(|free| format!("descriptors {free}"));
    let room: Vec<u64> = if long { (0..64).collect() } else { vec![0, 2, 6, 20] };
    let room = room.iter().map(|mib| format!("kibibytes {}", 2048 + (mib << 10)));
    for (round, shortage) in shortages.chain(room).enumerate() {
        let topic = format!("/round{round}");
        let output = growing(&participant, &topic);
        order(&mut child, &format!("subscribe {topic}"));
        assert!(participant.wait_until(LIMIT, || output.peers() == 1));
        publish(&output, 1);
        order(&mut child, "hold it");
        order(&mut child, &shortage);
        publish_large(&output, 2, 1 << 20).unwrap();
        order(&mut child, &format!("subscribe {topic}"));
        (3..60).for_each(|number| publish(&output, number));
        use_all_memory(&output);
        order(&mut child, "look closely");
        order(&mut child, &format!("lift {shortage}"));
        assert!(participant.wait_until(LIMIT, || output.peers() == 2), "{shortage}");
        publish_large(&output, 60, 3 << 20).unwrap();
        (61..120).for_each(|number| publish(&output, number));
        use_all_memory(&output);
        order(&mut child, "look closely");
        order(&mut child, "end it");
        assert!(participant.wait_until(LIMIT, || output.peers() == 0), "{shortage}");
    }
    child.finish();
}

/// Leaves so many frames for a process that stands still that it is cut off.
fn overwhelm(participant: &Participant) {
    let options = SubscriberOptions {
        node: "odd",
        topic: "/odd",
        qos: reliable(1),
        doorbell: None,
        group: None,
    };
    let end = Instant::now() + LIMIT;
    loop {
        // The child is told of each why it is not connected.
        for _ in 0..512 {
            drop(participant.subscriber::<Header>(options).unwrap());
        }
        let events = participant.take_events().0;
        let is_cut_off = |event: &Event| matches!(event, Event::PeerCutOff { .. });
        if events.iter().any(is_cut_off) {
            return;
        }
        assert!(Instant::now() < end, "{:?}", events.last());
    }
}

#[test]
fn a_sample_that_a_stopped_reader_holds_stays_whole_when_it_is_cut_off() {
    let _turn = turn();
    let test = "held::a_sample_that_a_stopped_reader_holds_stays_whole_when_it_is_cut_off";
    if let Some((_, place)) = role() {
        let child = Child::new(&place);
        let _odd = publisher(&child.participant, "/odd", reliable(1));
        return child.run();
    }
    let mut parent = Parent::new(test);
    parent.publish();
    parent.order("hold");
    parent.child.stop();
    overwhelm(&parent.participant);
    // Nobody waits for it any more, not even where memory grows.
    parent.publish_many();
    parent.grow(1 << 20);
    parent.publish_many();
    parent.child.signal(Signal::CONT);
    parent.order("look");
    parent.publish_many();
    parent.order("look");
    // With its last sample everything that it had of us goes.
    // It hears that it was cut off, and holds what it holds.
    parent.order("ended");
    // Whatever the control thread does about it, it has the time to; nobody who comes now is for
    // that peer.
    for _ in 0..20 {
        drop(subscriber(&parent.participant, "/up", reliable(4)));
        parent.publish_many();
        parent.order("look");
    }
    parent.order("drop");
    parent.settles(1);
    parent.child.signal(Signal::KILL);
}

#[test]
fn a_sample_of_a_publisher_that_is_cut_off_stays_whole_while_that_goes_on() {
    let _turn = turn();
    let test = "held::a_sample_of_a_publisher_that_is_cut_off_stays_whole_while_that_goes_on";
    if let Some((_, place)) = role() {
        let child = Child::new(&place);
        let _odd = publisher(&child.participant, "/odd", reliable(1));
        return child.run();
    }
    let mut parent = Parent::new(test);
    parent.order("publish");
    let sample = parent.input.take().unwrap().unwrap();
    parent.child.stop();
    overwhelm(&parent.participant);
    assert_eq!(parent.input.matched(), 0);
    parent.child.signal(Signal::CONT);
    // A reliable publisher waits for nobody that has cut it off.
    parent.order("publish many");
    parent.order("publish many");
    assert_eq!(check(&sample), 1);
    drop(sample);
    drain(&parent.input);
    // The child sees that it is over when it looks.
    parent.order("ended");
    parent.settles(0);
    parent.order("publish");
    parent.child.signal(Signal::KILL);
}

#[test]
fn samples_that_outlive_their_participant_stay_whole_and_end_with_the_last_of_them() {
    let _turn = turn();
    let test =
        "held::samples_that_outlive_their_participant_stay_whole_and_end_with_the_last_of_them";
    if let Some((_, place)) = role() {
        return Child::new(&place).run();
    }
    let parent = Parent::new(test);
    let Parent { _place, participant, output, _witness, input, mut child, .. } = parent;
    order(&mut child, "publish");
    let sample = input.take().unwrap().unwrap();
    drop((input, _witness, output, participant));
    order(&mut child, "publish many");
    assert_eq!(check(&sample), 1);
    drop(sample);
    order(&mut child, "publish many");
    child.signal(Signal::KILL);
}
