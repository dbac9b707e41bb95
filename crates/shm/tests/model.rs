//! Model checking of the protocol: every interleaving up to a preemption bound, under the C11
//! memory model.
//!
//! Payloads are loom cells, so a publisher that writes a chunk which somebody still reads is a
//! reported data race. The kernel's futex queue is a mutex and a flag per sleeper, so a lost
//! wake-up is a model without end. Each ordering has a negative control: a run without it, which
//! must fail. A run that reaches its time limit fails too: it has proved nothing.
//!
//! Quick: `RUSTFLAGS="--cfg loom" cargo test --release -p crossdock-shm --test model --target-dir
//! target/loom`. Full: the same with `-- --include-ignored`.
#![cfg(loom)]

use crossdock_shm::pool::{Chunk, Class, Pool, Taken};
use crossdock_shm::protocol::weaken::{self, spot};
use crossdock_shm::protocol::*;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::time::{Duration, Instant};

const CHUNK_BYTES: u64 = 64;

/// Everything that is shared between the processes of one model.
struct World {
    head: Head,
    slots: Vec<Slot>,
    conns: Vec<Conn>,
    chunks: Vec<UnsafeCell<u64>>,
    armed: ArmedLine,
    inbox: Inbox<usize>,
    published: AtomicU64,
}

// Only the cells are not Sync; loom itself reports any race on them.
unsafe impl Sync for World {}
unsafe impl Send for World {}

impl World {
    fn new(slots: usize, chunks: usize, subscribers: usize) -> Arc<World> {
        Arc::new(World {
            head: Head::default(),
            slots: (0..slots).map(|_| Slot::default()).collect(),
            conns: (0..subscribers).map(|_| Conn::default()).collect(),
            chunks: (0..chunks).map(|_| UnsafeCell::new(0)).collect(),
            armed: ArmedLine::default(),
            inbox: Inbox::default(),
            published: AtomicU64::new(0),
        })
    }

    fn ring(&self) -> Ring<'_> {
        Ring { head: &self.head, slots: &self.slots }
    }

    fn write(&self, chunk: Chunk, value: u64) {
        self.chunks[(chunk.offset / CHUNK_BYTES) as usize]
            .with_mut(|cell| unsafe { *cell = value });
    }

    fn check(&self, offset: u64, value: u64) {
        let found = self.chunks[(offset / CHUNK_BYTES) as usize].with(|cell| unsafe { *cell });
        assert_eq!(found, value, "the payload was overwritten");
    }
}

/// The order of calls of `publisher::engine`, over the product's own pool, ring and inbox.
struct Publisher<'w> {
    world: &'w World,
    pool: Pool,
    depth: u64,
    seq: u64,
    peers: Vec<usize>,
    held: Vec<u64>,
    open: bool,
}

impl<'w> Publisher<'w> {
    fn new(world: &'w World, depth: u64, peers: Vec<usize>) -> Self {
        let chunks = world.chunks.len() as u64;
        let class = Class::new(0, CHUNK_BYTES, 0, chunks);
        let pool = Pool::new(class, 4, chunks * CHUNK_BYTES);
        Publisher { world, pool, depth, seq: 0, peers, held: Vec::new(), open: true }
    }

    fn absorb(&mut self) {
        if !self.world.inbox.is_empty() {
            self.peers.extend(self.world.inbox.take_all());
            if !self.open {
                self.world.ring().open(self.seq);
                self.open = true;
            }
        }
    }

    fn evict_up_to(&mut self, last: u64) {
        while self.pool.live() > 0 && self.seq + 1 - self.pool.live() as u64 <= last {
            let oldest = self.seq + 1 - self.pool.live() as u64;
            self.world.ring().evict(oldest);
            self.pool.retire_oldest(oldest);
        }
    }

    fn scan(&mut self) {
        self.world.ring().begin_scan();
        if !weaken::is(spot::SCAN_INBOX) {
            self.absorb();
        }
        self.held.clear();
        for peer in &self.peers {
            self.world.conns[*peer].collect_holds(1, &mut self.held);
        }
        let held = &self.held;
        self.pool.reclaim(|seq| held.contains(&seq));
    }

    fn trim(&mut self, history: u64) {
        let wanted = self.peers.iter().map(|peer| self.world.conns[*peer].wanted(1)).min();
        let passed = wanted.unwrap_or(u64::MAX).saturating_sub(1);
        self.evict_up_to(passed.min(self.seq.saturating_sub(history)));
    }

    fn loan(&mut self) -> Option<Chunk> {
        if weaken::is(spot::EVICT_IN_LOAN) {
            self.evict_up_to((self.seq + 1).saturating_sub(self.depth));
        }
        let mut scanned = false;
        loop {
            match self.pool.take(0, self.peers.len(), scanned) {
                Taken::Chunk(chunk) => return Some(chunk),
                Taken::Nothing => return None,
                Taken::Scan => {
                    self.scan();
                    scanned = true;
                }
            }
        }
    }

    fn publish(&mut self, chunk: Chunk) {
        let seq = self.seq + 1;
        if self.open {
            self.evict_up_to(seq.saturating_sub(self.depth));
            self.world.ring().publish(seq, &[chunk.offset, seq * 100]);
            self.pool.publish_live(chunk);
        } else {
            self.pool.give_back(chunk);
        }
        self.seq = seq;
        self.world.published.store(seq, Release);
    }

    /// One message from loan to ring; false if every chunk is held.
    fn message(&mut self) -> bool {
        let Some(chunk) = self.loan() else { return false };
        self.world.write(chunk, self.seq + 1);
        self.publish(chunk);
        true
    }
}

/// A subscriber as in `subscriber`, without counters.
struct Subscriber<'w> {
    world: &'w World,
    conn: &'w Conn,
    next: u64,
    lost: u64,
    got: u64,
}

impl<'w> Subscriber<'w> {
    fn new(world: &'w World, me: usize, next: u64) -> Self {
        Subscriber { world, conn: &world.conns[me], next, lost: 0, got: 0 }
    }

    fn lapped(&mut self) {
        let oldest = self.world.ring().oldest(self.next).expect("an honest publisher");
        self.lost += oldest - self.next;
        self.next = oldest;
        self.conn.move_cursor(self.next, None);
    }

    /// Holds the next message and gives its chunk's offset.
    fn take(&mut self) -> Option<(u64, &'w AtomicU64)> {
        match self.world.ring().peek(self.next) {
            Peek::Empty => return None,
            Peek::Lapped => {
                self.lapped();
                return None;
            }
            Peek::Ready => {}
        }
        let (_, hold) = self.conn.free_hold(1)?;
        let Some(words) = self.world.ring().take(self.next, hold) else {
            self.lapped();
            return None;
        };
        assert_eq!(words[1], self.next * 100, "torn descriptor");
        self.next += 1;
        self.got += 1;
        self.conn.move_cursor(self.next, None);
        Some((words[0], hold))
    }

    fn look(&mut self) {
        let seq = self.next;
        if let Some((offset, hold)) = self.take() {
            self.world.check(offset, seq);
            Conn::drop_hold(hold);
        }
    }
}

/// The kernel's side of futex words: sleepers in a queue, comparison and queueing in one step. A
/// sleeper that nobody wakes looks for ever, which exceeds the branches of a model.
struct Kernel {
    queue: Mutex<Vec<bool>>,
    woken: Vec<AtomicU64>,
}

impl Kernel {
    fn new(sleepers: usize) -> Arc<Kernel> {
        let woken = (0..sleepers).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Kernel { queue: Mutex::new(vec![false; sleepers]), woken })
    }

    fn wait(&self, sleeper: usize, unchanged: impl FnOnce() -> bool) {
        {
            let mut queue = self.queue.lock().unwrap();
            if !unchanged() {
                return;
            }
            queue[sleeper] = true;
        }
        while self.woken[sleeper].load(Acquire) == 0 {
            thread::yield_now();
        }
        self.woken[sleeper].store(0, Relaxed);
    }

    fn wake(&self, sleeper: usize) -> bool {
        let mut queue = self.queue.lock().unwrap();
        let sleeps = std::mem::take(&mut queue[sleeper]);
        if sleeps {
            self.woken[sleeper].store(1, Release);
        }
        sleeps
    }
}

fn explore(name: &str, preemptions: usize, limit_s: u64, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 5_000;
    let limit = Duration::from_secs(limit_s);
    builder.max_duration = Some(limit);
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = runs.clone();
    let started = Instant::now();
    builder.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    let took = started.elapsed();
    let runs = runs.load(std::sync::atomic::Ordering::Relaxed);
    assert!(
        took < limit,
        "{name}: {runs} executions did not finish within {limit:?}: proves nothing"
    );
    println!("{name}, {preemptions} preemptions: {runs} executions in {took:.1?}");
}

// ---- models
// --------------------------------------------------------------------------------------

#[derive(Clone, Copy)]
struct Size {
    slots: usize,
    depth: u64,
    chunks: usize,
    subscribers: usize,
    messages: u64,
    looks: usize,
}

const ONE: Size = Size { slots: 2, depth: 1, chunks: 3, subscribers: 1, messages: 4, looks: 2 };

/// Publisher and subscribers at full speed: no torn descriptor, no overwritten payload, exact
/// counts.
fn holding(size: Size) {
    let world = World::new(size.slots, size.chunks, size.subscribers);
    let threads: Vec<_> = (0..size.subscribers)
        .map(|me| {
            let world = world.clone();
            thread::spawn(move || {
                let mut subscriber = Subscriber::new(&world, me, 1);
                for _ in 0..size.looks {
                    subscriber.look();
                }
                assert_eq!(subscriber.got + subscriber.lost + 1, subscriber.next);
            })
        })
        .collect();
    let mut publisher = Publisher::new(&world, size.depth, (0..size.subscribers).collect());
    for _ in 0..size.messages {
        if !publisher.message() {
            break;
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Large chunks: evicted as soon as the cursor has passed them, while they may be held.
fn trimming() {
    let world = World::new(4, 2, 1);
    let other = world.clone();
    let thread = thread::spawn(move || {
        let mut subscriber = Subscriber::new(&other, 0, 1);
        for _ in 0..2 {
            subscriber.look();
        }
    });
    let mut publisher = Publisher::new(&world, 2, vec![0]);
    for _ in 0..4 {
        publisher.trim(1);
        if publisher.pool.retired() > 0 {
            publisher.scan();
        }
        if !publisher.message() {
            break;
        }
    }
    thread.join().unwrap();
}

/// A subscriber without holds (a device) moves its cursor after use; a reliable publisher waits for
/// it.
fn credits() {
    let world = World::new(4, 2, 1);
    let other = world.clone();
    let thread = thread::spawn(move || {
        let conn = &other.conns[0];
        let mut next = 1;
        conn.move_cursor(next, None);
        for _ in 0..3 {
            if other.ring().peek(next) == Peek::Ready {
                let words = other.ring().read(next).expect("not evicted before the cursor passes");
                other.check(words[0], next);
                next += 1;
                conn.move_cursor(next, None);
            }
        }
    });
    let mut publisher = Publisher::new(&world, 1, vec![0]);
    for _ in 0..3 {
        let last = (publisher.seq + 1).saturating_sub(publisher.depth);
        if world.conns[0].wanted(1) <= last || !publisher.message() {
            break;
        }
    }
    thread.join().unwrap();
}

/// Several loans are open, one is abandoned, and they are published in another order than taken.
/// Depth 1: from the first message on, a reader of the latest value always finds one.
fn several_loans() {
    let world = World::new(2, 4, 2);
    let mut publisher = Publisher::new(&world, 1, vec![0, 1]);
    assert!(publisher.message());
    let first = publisher.loan().expect("a chunk");
    let second = publisher.loan().expect("a chunk");
    let mut latest = Subscriber::new(&world, 1, world.ring().newest());
    latest.look();
    assert_eq!(latest.got, 1, "the latest value is not there while loans are open");
    let other = world.clone();
    let thread = thread::spawn(move || {
        let mut subscriber = Subscriber::new(&other, 0, other.ring().newest());
        // Each look that finds the message gone has moved on to one that was there then.
        for _ in 0..3 {
            subscriber.look();
            if subscriber.got > 0 {
                return;
            }
            assert!(subscriber.lost > 0, "depth 1, and yet there is nothing to read");
        }
    });
    world.write(first, 77);
    world.write(second, 2);
    publisher.publish(second);
    publisher.pool.give_back(first);
    publisher.message();
    thread.join().unwrap();
}

/// A subscriber comes while the publisher runs: the very next scan counts its holds, and it finds
/// the last message although a loan is open.
fn late_joiner() {
    let world = World::new(2, 3, 1);
    let other = world.clone();
    let mut publisher = Publisher::new(&world, 1, vec![]);
    assert!(publisher.message());
    let thread = thread::spawn(move || {
        // The control thread's part of the connection.
        other.inbox.push(0);
        other.inbox.attached();
        let newest = other.ring().newest();
        let mut subscriber = Subscriber::new(&other, 0, newest);
        subscriber.look();
        assert!(subscriber.got + subscriber.lost > 0, "a late joiner found nothing");
    });
    let open_loan = publisher.loan();
    for _ in 0..2 {
        if !publisher.message() {
            break;
        }
    }
    if let Some(chunk) = open_loan {
        publisher.pool.give_back(chunk);
    }
    thread.join().unwrap();
}

/// A ring that nobody read opens for its first subscriber at the current number.
fn opening() {
    let world = World::new(2, 3, 1);
    let other = world.clone();
    let thread = thread::spawn(move || {
        other.inbox.push(0);
        other.inbox.attached();
        let start = other.published.load(Acquire) + 1;
        let mut subscriber = Subscriber::new(&other, 0, start);
        for _ in 0..3 {
            subscriber.look();
        }
        (subscriber.next, subscriber.got)
    });
    let mut publisher = Publisher::new(&world, 1, vec![]);
    publisher.open = false;
    for _ in 0..3 {
        publisher.absorb();
        publisher.message();
    }
    let (next, _) = thread.join().unwrap();
    // Whatever it saw: it goes on from there without waiting for a message that was never written.
    publisher.absorb();
    assert!(publisher.message());
    let mut subscriber = Subscriber::new(&world, 0, next);
    for _ in 0..3 {
        subscriber.look();
    }
    assert_eq!(subscriber.next, 5, "the subscriber waits for a message that does not come");
}

/// A sample is dropped on another thread and its hold word is used again at once.
fn dropped_elsewhere() {
    let world = World::new(2, 3, 1);
    let mut publisher = Publisher::new(&world, 1, vec![0]);
    assert!(publisher.message());
    let mut before = Subscriber::new(&world, 0, 1);
    let (offset, _) = before.take().expect("message 1");
    assert!(publisher.message());
    let (third, other) = (world.clone(), world.clone());
    let dropper = thread::spawn(move || {
        third.check(offset, 1);
        Conn::drop_hold(&third.conns[0].hold[0]);
    });
    let reader = thread::spawn(move || Subscriber::new(&other, 0, 2).look());
    for _ in 0..2 {
        if !publisher.message() {
            break;
        }
    }
    dropper.join().unwrap();
    reader.join().unwrap();
}

/// A reliable subscriber comes while the publisher runs: from the number that it is told on,
/// nothing is lost.
fn reliable_joiner() {
    let world = World::new(2, 4, 1);
    let other = world.clone();
    let thread = thread::spawn(move || {
        other.inbox.push(0);
        other.inbox.attached();
        let joined = other.published.load(Acquire) + 1;
        other.conns[0].cursor.store(joined, Relaxed);
        let mut subscriber = Subscriber::new(&other, 0, joined);
        subscriber.look();
        assert_eq!(subscriber.lost, 0, "a reliable late joiner lost a message");
    });
    let mut publisher = Publisher::new(&world, 1, vec![]);
    for _ in 0..3 {
        let last = (publisher.seq + 1).saturating_sub(publisher.depth);
        // 0 as the number joined at: the model's publisher stops for a peer that has not started.
        if publisher.peers.iter().any(|peer| world.conns[*peer].wanted(0) <= last) {
            break;
        }
        if !publisher.message() {
            break;
        }
        world.ring().before_doors();
        publisher.absorb();
    }
    thread.join().unwrap();
}

/// An executor that arms, looks and sleeps is woken by the message.
fn doorbell() {
    let world = World::new(2, 2, 1);
    let bell = Arc::new((Bell::default(), ReadyLine::default()));
    let kernel = Kernel::new(1);
    let (other, its_bell, its_kernel) = (world.clone(), bell.clone(), kernel.clone());
    let executor = thread::spawn(move || {
        for _ in 0..3 {
            its_bell.1.drain(|_| ());
            if other.ring().arm(&other.armed.words[0], 1, 1) {
                return;
            }
            let before = its_bell.0.before_look();
            if its_bell.1.any() {
                continue;
            }
            let Some(value) = its_bell.0.announce(before) else { continue };
            its_kernel.wait(0, || its_bell.0.word.load(Relaxed) == value);
            its_bell.0.awake();
        }
        panic!("woken three times for one message");
    });
    let mut publisher = Publisher::new(&world, 1, vec![]);
    publisher.message();
    world.ring().before_doors();
    if fired(&world.armed.words[0]) != 0 && bell.0.ring_for(&bell.1, 0) {
        kernel.wake(0);
    }
    executor.join().unwrap();
}

/// The bell alone: a ring between the last look and the sleep. The input must be seen, whoever
/// sleeps.
fn bell_alone() {
    let bell = Arc::new((Bell::default(), ReadyLine::default()));
    let kernel = Kernel::new(1);
    let (its_bell, its_kernel) = (bell.clone(), kernel.clone());
    let executor = thread::spawn(move || {
        for _ in 0..3 {
            let mut found = false;
            its_bell.1.drain(|_| found = true);
            if found {
                return;
            }
            let before = its_bell.0.before_look();
            if its_bell.1.any() {
                continue;
            }
            let Some(value) = its_bell.0.announce(before) else { continue };
            its_kernel.wait(0, || its_bell.0.word.load(Relaxed) == value);
            its_bell.0.awake();
        }
        panic!("rung once, awake three times, nothing found");
    });
    if bell.0.ring_for(&bell.1, 0) {
        kernel.wake(0);
    }
    executor.join().unwrap();
}

/// A triggered subscriber comes while a message is published: it sees the message or is woken by
/// it.
fn doorbell_late_joiner() {
    let world = World::new(2, 2, 1);
    let bell = Arc::new((Bell::default(), ReadyLine::default()));
    let kernel = Kernel::new(1);
    let (other, its_bell, its_kernel) = (world.clone(), bell.clone(), kernel.clone());
    let executor = thread::spawn(move || {
        other.inbox.push(0);
        other.inbox.attached();
        let next = other.ring().newest() + 1;
        if next > 1 {
            return;
        }
        if other.ring().arm(&other.armed.words[0], 1, next) {
            return;
        }
        let before = its_bell.0.before_look();
        if its_bell.1.any() {
            return;
        }
        let Some(value) = its_bell.0.announce(before) else { return };
        its_kernel.wait(0, || its_bell.0.word.load(Relaxed) == value);
        its_bell.0.awake();
    });
    let mut publisher = Publisher::new(&world, 1, vec![]);
    publisher.absorb();
    publisher.message();
    world.ring().before_doors();
    if !weaken::is(spot::DOOR_INBOX) {
        publisher.absorb();
    }
    if !publisher.peers.is_empty()
        && fired(&world.armed.words[0]) != 0
        && bell.0.ring_for(&bell.1, 0)
    {
        kernel.wake(0);
    }
    executor.join().unwrap();
}

/// A blocked reliable publisher sleeps on the slow peer's cursor and is woken when that moves.
fn back_pressure() {
    let world = World::new(2, 3, 1);
    let kernel = Kernel::new(1);
    world.conns[0].cursor.store(1, Relaxed);
    let mut publisher = Publisher::new(&world, 1, vec![0]);
    assert!(publisher.message());
    let (other, its_kernel) = (world.clone(), kernel.clone());
    let thread = thread::spawn(move || {
        let subscriber = Subscriber::new(&other, 0, 1);
        assert_eq!(other.ring().peek(1), Peek::Ready, "a reliable message was evicted");
        if subscriber.conn.move_cursor(2, Some(&other.head.waiting)) {
            its_kernel.wake(0);
        }
    });
    // Message 2 needs the place of message 1.
    let last = 1;
    for round in 0.. {
        assert!(round < 3, "woken three times for one step");
        world.ring().announce_wait(last);
        let seen = world.conns[0].cursor.load(Acquire);
        if seen > last {
            break;
        }
        kernel.wait(0, || world.conns[0].cursor.load(Relaxed) == seen);
    }
    world.ring().end_wait();
    publisher.message();
    thread.join().unwrap();
}

/// Two sleepers of one process, one futex wake by the publisher: the first wakes the second.
fn wake_relay() {
    let bells = Arc::new([Bell::default(), Bell::default()]);
    let lines = Arc::new((ReadyLine::default(), RelayLine::default()));
    let kernel = Kernel::new(2);
    let executors: Vec<_> = (0..2)
        .map(|me| {
            let (bells, lines, kernel) = (bells.clone(), lines.clone(), kernel.clone());
            thread::spawn(move || {
                let bell = &bells[me];
                let before = bell.before_look();
                if lines.0.any() {
                    return;
                }
                let Some(value) = bell.announce(before) else { return };
                kernel.wait(me, || bell.word.load(Relaxed) == value);
                bell.awake();
                while let Some(other) = lines.1.claim() {
                    if usize::from(other) != me && kernel.wake(usize::from(other)) {
                        break;
                    }
                }
            })
        })
        .collect();
    let asleep: Vec<u16> =
        (0..2).filter(|i| bells[usize::from(*i)].ring_for(&lines.0, *i)).collect();
    let ask = || lines.1.ask(&asleep);
    if !weaken::is(spot::RELAY_ORDER) {
        ask();
    }
    for index in &asleep {
        if kernel.wake(usize::from(*index)) {
            break;
        }
    }
    if weaken::is(spot::RELAY_ORDER) {
        ask();
    }
    for executor in executors {
        executor.join().unwrap();
    }
}

// ---- the protocol as it is
// -----------------------------------------------------------------------

#[test]
fn one_subscriber_reads_what_was_written() {
    explore("one subscriber", 3, 240, || holding(ONE));
}

#[test]
fn two_subscribers_read_what_was_written() {
    let size = Size { subscribers: 2, messages: 4, looks: 1, ..ONE };
    explore("two subscribers", 2, 240, move || holding(size));
}

#[test]
fn a_deeper_ring_reads_what_was_written() {
    let size = Size { slots: 4, depth: 2, chunks: 4, messages: 5, ..ONE };
    explore("depth two", 2, 240, move || holding(size));
}

#[test]
fn trimmed_chunks_are_not_reused_while_held() {
    explore("trim", 3, 240, trimming);
}

#[test]
fn credits_protect_what_is_not_held() {
    explore("credits", 3, 240, credits);
}

#[test]
fn several_open_loans_and_an_abandoned_one_change_nothing() {
    explore("several loans", 3, 240, several_loans);
}

#[test]
fn a_late_joiner_is_seen_by_the_very_next_scan() {
    explore("late joiner", 3, 240, late_joiner);
}

#[test]
fn a_reliable_late_joiner_loses_nothing() {
    explore("reliable joiner", 3, 240, reliable_joiner);
}

#[test]
fn a_closed_ring_opens_for_its_first_subscriber() {
    explore("opening", 3, 240, opening);
}

#[test]
fn a_sample_dropped_on_another_thread_frees_its_hold() {
    explore("dropped elsewhere", 3, 240, dropped_elsewhere);
}

#[test]
fn no_wake_up_is_lost() {
    explore("doorbell", 4, 240, doorbell);
    explore("bell alone", 4, 240, bell_alone);
}

#[test]
fn a_new_triggered_subscriber_sees_the_message_or_is_woken() {
    explore("doorbell, late joiner", 3, 240, doorbell_late_joiner);
}

#[test]
fn a_blocked_publisher_is_woken() {
    explore("back-pressure", 4, 240, back_pressure);
}

#[test]
fn relayed_sleepers_are_woken() {
    explore("wake relay", 3, 240, wake_relay);
}

// ---- the same, larger
// ----------------------------------------------------------------------------

#[test]
#[ignore = "long: part of make test-long"]
fn long_one_subscriber() {
    let size = Size { messages: 5, looks: 3, ..ONE };
    explore("one subscriber, long", 4, 3600, move || holding(size));
}

#[test]
#[ignore = "long: part of make test-long"]
fn long_two_subscribers() {
    let size = Size { subscribers: 2, messages: 4, looks: 1, ..ONE };
    explore("two subscribers, long", 3, 3600, move || holding(size));
}

#[test]
#[ignore = "long: part of make test-long"]
fn long_late_joiner_and_dropped_elsewhere() {
    explore("late joiner, long", 4, 1800, late_joiner);
    explore("dropped elsewhere, long", 3, 1800, dropped_elsewhere);
}

// ---- negative controls
// ---------------------------------------------------------------------------

/// Runs `model` without one ordering; it must fail, and not by its time limit.
fn caught(spot: u32, name: &str, preemptions: usize, model: fn()) {
    // Expected failures are silent, real ones on other threads are not.
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if weaken::is(0) {
                usual(info);
            }
        }));
    });
    weaken::set(spot);
    let name_of = name.to_owned();
    let outcome = std::panic::catch_unwind(move || explore(&name_of, preemptions, 240, model));
    weaken::set(0);
    let Err(reason) = outcome else { panic!("not caught: {name}") };
    let reason = reason
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| reason.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default();
    assert!(!reason.contains("proves nothing"), "not caught in time: {name}");
    println!("caught: {name}: {}", reason.lines().next().unwrap_or(""));
}

macro_rules! negative_controls {
    ($($test:ident: $spot:ident, $preemptions:expr, $model:expr;)*) => {$(
        #[test]
        fn $test() {
            caught(spot::$spot, stringify!($test), $preemptions, $model);
        }
    )*};
}

negative_controls! {
    caught_take_without_fence: TAKE_FENCE, 3, || holding(ONE);
    caught_scan_without_fence: SCAN_FENCE, 3, || holding(ONE);
    caught_scan_relaxed: SCAN_ACQUIRE, 3, || holding(ONE);
    caught_drop_relaxed: DROP_RELEASE, 3, || holding(ONE);
    caught_rewrite_without_fence: BUSY_FENCE, 3, || holding(Size { messages: 5, ..ONE });
    caught_no_second_look: NO_RECHECK, 3, || holding(ONE);
    caught_publish_to_armed_without_fence: DOOR_FENCE, 4, doorbell;
    caught_arm_without_fence: ARM_FENCE, 4, doorbell;
    caught_fields_to_seq_without_fence: READ_FENCE, 3, || holding(Size { messages: 5, ..ONE });
    caught_head_and_seq_relaxed: HEAD_RELEASE, 3, || holding(ONE);
    caught_hold_relaxed: HOLD_RELEASE, 3, || holding(Size { messages: 5, ..ONE });
    caught_hold_searched_relaxed: SEARCH_ACQUIRE, 3, dropped_elsewhere;
    caught_attach_without_fence: ATTACH_FENCE, 3, reliable_joiner;
    caught_scan_without_inbox: SCAN_INBOX, 3, late_joiner;
    caught_doors_without_inbox: DOOR_INBOX, 3, doorbell_late_joiner;
    caught_cursor_without_fence: CURSOR_FENCE, 4, back_pressure;
    caught_waiting_without_fence: WAITING_FENCE, 4, back_pressure;
    caught_evict_relaxed: EVICT_RELEASE, 3, || holding(ONE);
    caught_bell_before_ready: BELL_ORDER, 4, bell_alone;
    caught_cursor_stored_relaxed: CURSOR_RELEASE, 3, credits;
    caught_eviction_in_loan: EVICT_IN_LOAN, 3, several_loans;
    caught_relay_after_wake: RELAY_ORDER, 3, wake_relay;
}
