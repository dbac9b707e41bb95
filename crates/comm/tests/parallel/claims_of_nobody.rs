//! Claims of nobody: a member writes into a shared buffer's table that the owner, or a number that
//! nobody has, has claimed a part. The owner tells them from its own and from those of the living,
//! and takes them back.

use crate::common;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place};
use crossdock_comm::{
    Claim, ClaimError, ClaimRefusal, ClaimSnapshot, Part, Participant, Publisher, PublisherOptions,
    SharedBuffer, SubscriberOptions, Token,
};
use crossdock_msg::Extra;
use crossdock_msg::types::crossdock_interfaces::SharedBuffer as Message;

const COUNT: u64 = 1 << 8;

/// Of the state of a place, as `crossdock_shm::protocol`'s file on claims describes it.
const TAKEN: u64 = 1;
const READ: u64 = 2;
const WRITE: u64 = 3;
const ENDING: u64 = 1 << 2;
const PLACES: u64 = 64;

/// The number of a buffer's owner.
const OWNER: u64 = 0;
/// The number of the only member here.
const SCRIBBLER: u64 = 1;

fn state(kind: u64, member: u64) -> u64 {
    kind | member << 16
}

/// Writes a claim of elements `first` to `end` into the table, past all rules.
fn scribble(buffer: &SharedBuffer<u32>, place: u64, state: u64, (first, end): (u64, u64)) {
    use std::os::unix::fs::FileExt;
    // The table lies in the four pages before the elements, behind the first: states, then entries.
    let table = buffer.address() as u64 - 3 * 4096;
    let memory = std::fs::File::options().write(true).open("/proc/self/mem").unwrap();
    let write = |word: u64, at: u64| memory.write_all_at(&word.to_ne_bytes(), at).unwrap();
    let name = u64::from_le_bytes(*b"mallory\0");
    let entry = [first, 1, end - first, 4711, name, 0, 0, 0];
    for (number, word) in (0..).zip(entry) {
        write(word, table + 8 * (PLACES + 8 * place + number));
    }
    write(state, table + 8 * place);
}

fn elements(first: u64, end: u64) -> Part {
    Part::range(first, end)
}

fn refusal<T: std::fmt::Debug>(claimed: Result<T, ClaimError>) -> ClaimRefusal {
    claimed.unwrap_err().reason
}

/// The child: a member that scribbles what it hears (`place state first end`), claims (`claim first
/// end`), and tries to claim (`try first end`).
fn scribbler(place: &str) {
    let participant = Place::of_parent(place, "child");
    let qos = common::reliable(4);
    let options =
        SubscriberOptions { node: "worker", topic: "/work", qos, doorbell: None, group: None };
    let input = participant.subscriber::<Message>(options).unwrap();
    let end = Instant::now() + LIMIT;
    let token = loop {
        if let Some(sample) = input.take().unwrap() {
            break Token::of(sample.message()).unwrap();
        }
        assert!(Instant::now() < end, "no token came");
        std::thread::yield_now();
    };
    let buffer = participant.buffers("worker").open::<u32>(&token).unwrap();
    tell("open");
    let mut held = Vec::new();
    while let Some(line) = hear() {
        let (word, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<u64> = numbers.split(' ').map(|it| it.parse().unwrap()).collect();
        match (word, &numbers[..]) {
            ("claim", [first, end]) => {
                held.push(buffer.write(elements(*first, *end)).unwrap());
                tell("held");
            }
            ("try", [first, end]) => match buffer.write(elements(*first, *end)) {
                Ok(_) => tell("granted"),
                Err(error) => tell(&error.reason.to_string()),
            },
            ("scribble", [place, state, first, end]) => {
                scribble(&buffer, *place, *state, (*first, *end));
                tell("done");
            }
            _ => panic!("{line}"),
        }
    }
}

struct Ends {
    participant: Participant,
    buffer: SharedBuffer<u32>,
    child: Process,
    _work: Publisher<Message>,
    _place: Place,
}

impl Ends {
    fn start(test: &str) -> Ends {
        let place = Place::new("claims-of-nobody");
        let participant = place.open("parent");
        let qos = common::reliable(4);
        let options = PublisherOptions {
            node: "scheduler",
            topic: "/work",
            qos,
            max_bytes: Some(512),
            group: None,
        };
        let work = participant.publisher::<Message>(options).unwrap();
        let buffer = participant.buffers("scheduler").create::<u32>("array", COUNT).unwrap();
        let mut child = Process::start(test, "scribbler", place.path());
        assert!(participant.wait_until(LIMIT, || work.matched() == 1));
        let mut loan = work.loan(Extra::none()).unwrap();
        buffer.token(Part::NONE, Part::NONE, 1).write(&mut loan.message());
        loan.publish().map_err(|refused| refused.reason).unwrap();
        child.expect("open");
        Ends { participant, buffer, child, _work: work, _place: place }
    }

    fn scribble(&mut self, place: u64, state: u64, (first, end): (u64, u64)) {
        self.child.say(&format!("scribble {place} {state} {first} {end}"));
        self.child.expect("done");
    }

    fn try_claim(&mut self, (first, end): (u64, u64)) -> String {
        self.child.say(&format!("try {first} {end}"));
        self.child.read().unwrap()
    }

    fn abandoned(&self) -> Vec<ClaimSnapshot> {
        self.buffer.claims().into_iter().filter(|claim| claim.abandoned).collect()
    }
}

#[test]
fn claims_of_nobody_are_abandoned_and_those_of_the_living_are_not() {
    let test = "claims_of_nobody::claims_of_nobody_are_abandoned_and_those_of_the_living_are_not";
    if let Some((_, place)) = role() {
        return scribbler(&place);
    }
    let mut ends = Ends::start(test);
    let mine = ends.buffer.write(elements(0, 8)).unwrap();
    ends.child.say("claim 8 16");
    ends.child.expect("held");
    // Place 40 is nobody's; so are these: of the owner's number, of numbers not given yet or never.
    let nobodies = [OWNER, 2, 77, 4096, 4097, 0xffff];
    let kinds = [(WRITE, true), (READ, false), (WRITE | ENDING, true)];
    for (number, (kind, writes)) in nobodies.iter().flat_map(|it| kinds.map(|kind| (*it, kind))) {
        ends.scribble(40, state(kind, number), (32, 64));
        // A member cannot tell, and is refused; the owner is told what it is, at once.
        if kind & ENDING == 0 {
            let said = ends.try_claim((40, 41));
            assert!(said.contains("`mallory` of process 4711") && !said.contains("died"), "{said}");
        }
        let ClaimRefusal::Abandoned(left) = refusal(ends.buffer.write(elements(63, 64))) else {
            panic!("number {number} is nobody's");
        };
        assert_eq!((left.part, left.writes), (elements(32, 64), writes));
        // From then on everybody is.
        let said = ends.try_claim((40, 41));
        assert!(said.contains("has died or is no member"), "{said}");
        assert_eq!(ends.buffer.accept_abandoned().unwrap(), [*left]);
        drop(ends.buffer.write(elements(16, COUNT)).unwrap());
        // Nobody who lives has lost anything.
        assert!(mine.is_held() && !ends.buffer.has_abandoned());
        assert!(matches!(refusal(ends.buffer.write(elements(8, 9))), ClaimRefusal::Conflict(_)));
    }
    // Seen without wanting it.
    ends.scribble(40, state(READ, OWNER), (0, 1));
    assert!(ends.buffer.has_abandoned());
    assert_eq!(ends.abandoned().len(), 1);
    // A living member's number is that member's, as long as it lives.
    ends.scribble(41, state(WRITE, SCRIBBLER), (100, 101));
    assert_eq!(ends.buffer.accept_abandoned().unwrap().len(), 1);
    assert!(matches!(refusal(ends.buffer.read(elements(100, 101))), ClaimRefusal::Conflict(_)));
    let Ends { participant, buffer, child, .. } = ends;
    child.kill();
    assert!(participant.wait_until(LIMIT, || buffer.has_abandoned()));
    let mut left: Vec<Part> =
        buffer.accept_abandoned().unwrap().iter().map(|claim| claim.part).collect();
    left.sort_by_key(|part| part.first());
    assert_eq!(left, [elements(8, 16), elements(100, 101)]);
    assert!(mine.is_held());
    drop(mine);
    drop(buffer.write(elements(0, COUNT)).unwrap());
    assert!(buffer.claims().is_empty());
}

#[test]
fn places_that_nobody_holds_are_found_again() {
    let test = "claims_of_nobody::places_that_nobody_holds_are_found_again";
    if let Some((_, place)) = role() {
        return scribbler(&place);
    }
    let mut ends = Ends::start(test);
    let mine = ends.buffer.write(elements(0, 8)).unwrap();
    // Taken and never announced: they are in nobody's way, but keep a place each.
    for (number, kind) in [(OWNER, TAKEN), (77, TAKEN), (OWNER, TAKEN | 8)] {
        (1..PLACES).for_each(|place| ends.scribble(place, state(kind, number), (0, 0)));
        assert!(ends.try_claim((40, 41)).contains("all 64 claims of the buffer"));
        // The owner has them freed as soon as it misses one.
        let other = ends.buffer.write(elements(8, 16)).unwrap();
        assert_eq!(ends.buffer.claims().len(), 2);
        assert_eq!(ends.try_claim((40, 41)), "granted");
        drop(other);
    }
    // Announced: those have to be accepted.
    (1..PLACES).for_each(|place| ends.scribble(place, state(READ, OWNER), (200, 201)));
    assert!(matches!(refusal(ends.buffer.write(elements(8, 16))), ClaimRefusal::Full));
    assert_eq!(ends.buffer.accept_abandoned().unwrap().len(), PLACES as usize - 1);
    drop(ends.buffer.write(elements(8, COUNT)).unwrap());
    assert!(mine.is_held());
    ends.child.finish();
}

#[test]
fn the_owners_threads_lose_nothing_while_it_looks_for_claims_of_nobody() {
    let place = Place::new("buffer-own");
    let participant = place.open("one");
    let owner = participant.buffers("scheduler").create::<u64>("array", 8).unwrap();
    let looks = AtomicBool::new(true);
    let added: u64 = std::thread::scope(|scope| {
        let threads = [0, 1].map(|half| {
            let (buffer, looks) = (owner.clone(), &looks);
            scope.spawn(move || {
                let mut added = 0;
                while added < 40_000 || looks.load(Ordering::Relaxed) {
                    // Nobody else wants these.
                    let claim = buffer.write(elements(4 * half, 4 * half + 4)).unwrap();
                    claim.update(|_, value| value + 1);
                    assert!(claim.is_held());
                    added += claim.count();
                }
                added
            })
        });
        (0..10_000).for_each(|_| assert!(!owner.has_abandoned()));
        looks.store(false, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(owner.read(elements(0, 8)).unwrap().iter().sum::<u64>(), added);
    assert!(owner.claims().is_empty());
}
