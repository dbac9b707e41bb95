//! Clients and servers that write garbage into their own rings: cut off and reported, while the
//! others on the same port go on.
//!
//! The seed is printed; CROSSDOCK_SEED=<seed> repeats a run.

use crate::common;
use std::cell::Cell;
use std::time::{Duration, Instant};

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place};
use crossdock_comm::status_records::server_counter;
use crossdock_comm::{
    CallError, Client, ClientOptions, Event, Participant, Qos, Request, Server, ServerOptions,
    SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest};
use crossdock_test_support::OwnMemory;

const SERVICE: &str = "/add_two_ints";
/// Time-out of calls to a server that may not answer any more.
const SOON: Duration = Duration::from_millis(20);

/// Writes garbage into what this process lets others read.
struct Scribbler {
    state: u64,
    memory: OwnMemory,
    ranges: Vec<std::ops::Range<u64>>,
}

impl Scribbler {
    fn new() -> Scribbler {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let given = std::env::var("CROSSDOCK_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(now.as_nanos() as u64);
        println!("CROSSDOCK_SEED={seed}");
        let memory = OwnMemory::open();
        let ranges = memory.shared("");
        Scribbler { state: seed | 1, memory, ranges }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % end
    }

    /// Half of the time what looks like a descriptor of a message that comes next, with garbage in
    /// it; else any word.
    fn scribble(&mut self) {
        let place = self.below(self.ranges.len() as u64) as usize;
        let range = self.ranges[place].clone();
        let lines = (range.end - range.start).min(16 << 10) / 64;
        let at = range.start + 64 * self.below(lines);
        if self.below(2) == 0 {
            let mut line = [self.below(16); 8];
            line[1..].fill_with(|| self.below(u64::MAX));
            return self.memory.write(at, &line);
        }
        let word = match self.below(4) {
            0 => self.below(1 << 10),
            1 => u64::MAX - self.below(1 << 10),
            2 => 1 << self.below(64),
            _ => self.below(u64::MAX),
        };
        let at = at + 8 * self.below(8);
        self.memory.write(at, &[word]);
    }
}

fn client(participant: &Participant) -> Client<AddTwoInts> {
    let options = ClientOptions { service: SERVICE, ..ClientOptions::default() };
    participant.client(options).unwrap()
}

fn server(participant: &Participant) -> Server<AddTwoInts> {
    participant.server(ServerOptions { service: SERVICE, ..ServerOptions::default() }).unwrap()
}

fn try_ask(client: &Client<AddTwoInts>, a: i64, timeout: Duration) -> Result<(), String> {
    let mut request = client.loan(Extra::none()).map_err(|error| error.to_string())?;
    request.message().set_a(a);
    request.message().set_b(1);
    request.send(timeout).map(drop).map_err(|error| error.to_string())
}

fn ask(client: &Client<AddTwoInts>, a: i64, timeout: Duration) -> bool {
    try_ask(client, a, timeout).is_ok()
}

/// Answers, as far as its client takes it.
fn answer(request: &Request<AddTwoInts>) {
    let Ok(mut response) = request.loan(Extra::none()) else { return };
    response.message().set_sum(request.message().a() + request.message().b());
    let _ = response.send();
}

fn is_parent_there() -> bool {
    std::os::unix::process::parent_id() != 1
}

/// A client that is served once, and then asks with garbage all around.
fn hostile_client(place: &str) {
    let participant = Place::of_parent(place, "mallory");
    let client = client(&participant);
    assert!(client.wait_for_server(LIMIT));
    assert!(ask(&client, 1, LIMIT));
    while client.take().unwrap().is_none() {
        std::thread::yield_now();
    }
    let mut scribbler = Scribbler::new();
    tell("garbage");
    // Its own ports stand on what it spoils: it leaves them alone.
    while is_parent_there() {
        scribbler.scribble();
    }
}

/// A server that answers once, and then with garbage all around.
fn hostile_server(place: &str) {
    let participant = Place::of_parent(place, "mallory");
    let server = server(&participant);
    tell("serving");
    assert!(server.wait(LIMIT).unwrap());
    answer(&server.take().unwrap().unwrap());
    assert_eq!(hear().as_deref(), Some("go"));
    let mut scribbler = Scribbler::new();
    while is_parent_there() {
        scribbler.scribble();
    }
}

/// What a participant has heard of others.
#[derive(Default)]
struct Heard(Vec<String>);

impl Heard {
    /// Whether it has heard of a corrupt ring of mallory's.
    fn of_corruption(&mut self, participant: &Participant) -> bool {
        self.0.extend(participant.take_events().0.iter().map(Event::to_string));
        self.0.iter().any(|text| text.contains("is corrupt") && text.contains("mallory"))
    }
}

/// How long garbage may go on: some of it is never looked at, because it hides the message that
/// comes next.
const LIFE: Duration = Duration::from_secs(2);

/// How often a peer is to be found out: in which way it breaks its ring is a matter of chance.
fn lives() -> usize {
    if std::env::var_os("CROSSDOCK_LONG").is_some() { 200 } else { 5 }
}

#[test]
fn a_client_that_corrupts_its_ring_is_cut_off_and_the_server_serves_the_others() {
    let test = "hostile_services::a_client_that_corrupts_its_ring_is_cut_off_and_the_server_serves_the_others";
    if let Some((_, place)) = role() {
        return hostile_client(&place);
    }
    let place = Place::new("hostile-client");
    let (serving, asking) = (place.open("serving"), place.open("asking"));
    let (server, honest) = (server(&serving), client(&asking));
    let leaves = Cell::new(false);
    // As an executor does it, for a node that takes its requests and one that leaves them: no look
    // and no take is an error, whatever mallory does.
    let serve = || {
        while server.handle().is_ready().unwrap() {
            match leaves.get() {
                true => assert!(server.handle().discard(), "it was ready"),
                false => answer(&server.take().unwrap().expect("it was ready")),
            }
            server.handle().mark_processed();
        }
        server.handle().arm();
    };
    let mut sum = 0;
    let mut call = || {
        let end = Instant::now() + LIMIT;
        // The server takes a client in when it looks.
        while !honest.wait_for_server(Duration::ZERO) {
            serve();
            assert!(Instant::now() < end, "the server is not there");
        }
        assert_eq!(try_ask(&honest, sum, LIMIT), Ok(()));
        loop {
            serve();
            if let Some(outcome) = honest.take().unwrap() {
                sum += 1;
                return match outcome.result {
                    Err(CallError::Unanswered { .. }) if leaves.get() => {}
                    result => assert_eq!(result.unwrap().message().sum(), sum),
                };
            }
            assert!(Instant::now() < end, "the honest client is not served");
        }
    };
    let (mut found, begin) = (0, Instant::now());
    while found < lives() {
        assert!(begin.elapsed() < 3 * LIMIT, "mallory was found out only {found} times");
        let served = || server.counter(server_counter::RESPONSES);
        let before = served();
        let mut mallory = Process::start(test, "client", place.path());
        let end = Instant::now() + LIMIT;
        while served() == before {
            serve();
            assert!(Instant::now() < end, "mallory is not served at first");
        }
        mallory.expect("garbage");
        let (mut heard, born) = (Heard::default(), Instant::now());
        while !heard.of_corruption(&serving) && born.elapsed() < LIFE {
            leaves.set(!leaves.get());
            call();
        }
        found += usize::from(heard.of_corruption(&serving));
        mallory.kill();
        leaves.set(false);
        call();
    }
}

#[test]
fn a_server_that_corrupts_its_ring_is_cut_off_and_its_calls_end() {
    let test = "hostile_services::a_server_that_corrupts_its_ring_is_cut_off_and_its_calls_end";
    if let Some((_, place)) = role() {
        return hostile_server(&place);
    }
    let place = Place::new("hostile-server");
    let asking = place.open("asking");
    let client = client(&asking);
    let ended = || {
        let end = Instant::now() + LIMIT;
        while !client.handle().is_ready() {
            client.handle().arm();
            assert!(Instant::now() < end, "a call does not end");
            client.handle().expire();
        }
    };
    // As an executor does it, for a node that takes its responses and one that leaves them: no look
    // and no take is an error, whatever mallory does.
    let outcome = || {
        ended();
        client.take().unwrap().expect("it was ready").result
    };
    let leave = || {
        ended();
        assert!(client.handle().skip().unwrap(), "it was ready");
        client.handle().mark_processed();
    };
    let mut leaves = false;
    let (mut found, begin) = (0, Instant::now());
    while found < lives() {
        assert!(begin.elapsed() < 3 * LIMIT, "mallory was found out only {found} times");
        let mut mallory = Process::start(test, "server", place.path());
        mallory.expect("serving");
        assert!(client.wait_for_server(LIMIT) && ask(&client, 1, LIMIT));
        assert_eq!(outcome().unwrap().message().sum(), 2);
        mallory.say("go");
        let (mut heard, born) = (Heard::default(), Instant::now());
        while !heard.of_corruption(&asking) && born.elapsed() < LIFE {
            if !ask(&client, 1, SOON) {
                continue;
            }
            leaves = !leaves;
            if leaves {
                leave();
                continue;
            }
            match outcome() {
                // What a scribbler answers is anything; that it ends is what counts.
                Ok(_) | Err(CallError::TimedOut { .. } | CallError::Unanswered { .. }) => {}
                Err(CallError::ServerGone { .. } | CallError::Take(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        found += usize::from(heard.of_corruption(&asking));
        mallory.kill();
        assert!(asking.wait_until(LIMIT, || asking.peers().is_empty()));
        // Until the last of them have timed out.
        while client.under_way() > 0 {
            client.handle().expire();
            let _ = client.take().unwrap();
        }
    }
    let honest = place.open("honest");
    let server = server(&honest);
    assert!(honest.wait_until(LIMIT, || server.clients() == 1));
    assert!(client.wait_for_server(LIMIT) && ask(&client, 3, LIMIT));
    assert!(server.wait(LIMIT).unwrap());
    answer(&server.take().unwrap().unwrap());
    assert_eq!(outcome().unwrap().message().sum(), 4);
}

#[test]
fn whoever_subscribes_to_a_name_below_a_service_takes_no_servers_place() {
    let place = Place::new("inner-names");
    let (asking, spying, serving) =
        (place.open("asking"), place.open("spy"), place.open("serving"));
    let client = client(&asking);
    let subscriber = |topic: &'static str| {
        spying.subscriber::<AddTwoIntsRequest>(SubscriberOptions {
            node: "spy",
            topic,
            qos: Qos::best_effort(1),
            doorbell: None,
            group: None,
        })
    };
    let names = ["/add_two_ints/_request", "/rq/add_two_ints", "/add_two_ints"];
    let spies: Vec<_> = names.iter().map(|topic| subscriber(topic).unwrap()).collect();
    let error = subscriber("rq/add_two_ints").unwrap_err().to_string();
    assert!(error.contains("it must begin with `/`"), "{error}");
    // The spy is a peer before the server is.
    assert!(asking.wait_until(LIMIT, || asking.peers().iter().any(|name| name == "spy")));
    let server = server(&serving);
    assert!(serving.wait_until(LIMIT, || server.clients() == 1));
    assert!(client.wait_for_server(LIMIT) && ask(&client, 1, LIMIT));
    assert!(server.wait(LIMIT).unwrap());
    answer(&server.take().unwrap().unwrap());
    assert!(spies.iter().all(|spy| spy.matched() == 0));
}
