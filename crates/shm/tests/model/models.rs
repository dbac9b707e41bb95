//! The models: small programs over a `World`, each with what must hold in every interleaving.
#![allow(unreachable_pub, missing_docs)]

use crate::world::*;
use crossdock_shm::protocol::weaken::{self, spot};
use crossdock_shm::protocol::*;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::*;
use loom::sync::atomic::{AtomicBool, AtomicU64};
use loom::thread;

#[derive(Clone, Copy)]
pub struct Size {
    pub slots: usize,
    pub depth: u64,
    pub chunks: usize,
    pub subscribers: usize,
    pub messages: u64,
    pub looks: usize,
}

pub const ONE: Size = Size { slots: 2, depth: 1, chunks: 3, subscribers: 1, messages: 4, looks: 2 };
/// The chunks are two, so that the third message reuses the first one's chunk, unless a subscriber
/// holds it.
pub const TWO: Size = Size { chunks: 2, subscribers: 2, messages: 3, looks: 1, ..ONE };

/// Publisher and subscribers at full speed: no torn descriptor, no overwritten payload, exact
/// counts.
pub fn holding(size: Size) {
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
pub fn trimming() {
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
pub fn credits() {
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
pub fn several_loans() {
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
pub fn late_joiner() {
    let world = World::new(2, 3, 1);
    let other = world.clone();
    let mut publisher = Publisher::new(&world, 1, vec![]);
    assert!(publisher.message());
    let thread = thread::spawn(move || {
        // The control thread's part of the connection.
        other.inbox.push(Note::Attach(0));
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
pub fn opening() {
    let world = World::new(2, 3, 1);
    let other = world.clone();
    let thread = thread::spawn(move || {
        other.inbox.push(Note::Attach(0));
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

/// Memory is short of what a deep subscriber asks for: a loan takes messages out of the ring while
/// the subscriber reads them, and their chunks are used again.
pub fn sparing() {
    let world = World::new(4, 3, 1);
    let other = world.clone();
    let thread = thread::spawn(move || {
        let mut subscriber = Subscriber::new(&other, 0, 1);
        for _ in 0..2 {
            subscriber.look();
        }
        assert_eq!(subscriber.next, 1 + subscriber.got + subscriber.lost);
    });
    let mut publisher = Publisher::new(&world, 3, vec![0]);
    publisher.contract = 1;
    for _ in 0..5 {
        assert!(publisher.message(), "one sample is held, and one message need be kept");
    }
    thread.join().unwrap();
}

/// The only subscriber goes, so that the ring is closed, and comes back: what it then takes is what
/// was written.
pub fn reopening() {
    let world = World::new(2, 3, 2);
    let other = world.clone();
    let mut publisher = Publisher::new(&world, 1, vec![0]);
    assert!(publisher.message());
    let thread = thread::spawn(move || {
        other.inbox.push(Note::Detach(0));
        other.inbox.push(Note::Attach(1));
        other.inbox.attached();
        let start = other.published.load(Acquire) + 1;
        let mut subscriber = Subscriber::new(&other, 1, start);
        for _ in 0..2 {
            subscriber.look();
        }
        subscriber.next
    });
    for _ in 0..3 {
        publisher.absorb();
        assert!(publisher.message());
    }
    let next = thread.join().unwrap();
    publisher.absorb();
    assert!(publisher.message());
    let mut subscriber = Subscriber::new(&world, 1, next);
    for _ in 0..3 {
        subscriber.look();
    }
    assert_eq!(subscriber.next, 6, "the subscriber waits for a message that does not come");
}

/// A sample is dropped on another thread and its hold word is used again at once.
pub fn dropped_elsewhere() {
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
pub fn reliable_joiner() {
    let world = World::new(2, 4, 1);
    let other = world.clone();
    let thread = thread::spawn(move || {
        other.inbox.push(Note::Attach(0));
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
pub fn doorbell() {
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

/// The bell alone: a ring between the last look and the sleep. The input must be seen, whichever
/// thread sleeps.
pub fn bell_alone() {
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

/// A wake-up without an input: the flag is looked at before each sleep, never between the last look
/// and the sleep, and must be seen all the same.
pub fn nudged() {
    let bell = Arc::new((Bell::default(), Nudge::default()));
    let flag = Arc::new(AtomicBool::new(false));
    let kernel = Kernel::new(1);
    let (its_bell, its_flag, its_kernel) = (bell.clone(), flag.clone(), kernel.clone());
    let executor = thread::spawn(move || {
        for _ in 0..4 {
            if its_flag.load(Relaxed) {
                return;
            }
            let before = its_bell.0.before_look();
            if its_bell.1.take() {
                continue;
            }
            let Some(value) = its_bell.0.announce(before) else { continue };
            its_kernel.wait(0, || its_bell.0.word.load(Relaxed) == value);
            its_bell.0.awake();
            its_bell.1.take();
        }
        panic!("woken once, awake four times, and the flag is not seen");
    });
    flag.store(true, Relaxed);
    if bell.0.ring_nudge(&bell.1) {
        kernel.wake(0);
    }
    executor.join().unwrap();
}

/// A triggered subscriber comes while a message is published: it sees the message or is woken by
/// it.
pub fn doorbell_late_joiner() {
    let world = World::new(2, 2, 1);
    let bell = Arc::new((Bell::default(), ReadyLine::default()));
    let kernel = Kernel::new(1);
    let (other, its_bell, its_kernel) = (world.clone(), bell.clone(), kernel.clone());
    let executor = thread::spawn(move || {
        other.inbox.push(Note::Attach(0));
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
pub fn back_pressure() {
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
pub fn wake_relay() {
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

/// A flight recorder's writer and a reader that is late: what is read is whole and in its place,
/// and everything is read or counted as lost.
pub fn overwriting() {
    let memory = Arc::new((
        AtomicU64::new(0),
        AtomicU64::new(0),
        [(); 2 * RECORD_WORDS].map(|()| AtomicU64::new(0)),
    ));
    let other = memory.clone();
    let writer = thread::spawn(move || {
        let ring = overwrite_ring(&other);
        for number in 0..4 {
            ring.write(number, [number + 1, (number + 1) * 10]);
        }
    });
    let ring = overwrite_ring(&memory);
    let (mut next, mut seen, mut copies) = (0, 0, Vec::new());
    for _ in 0..2 {
        seen += look_at(&ring, &mut next, &mut copies);
    }
    writer.join().unwrap();
    seen += look_at(&ring, &mut next, &mut copies);
    assert_eq!((next, seen), (4, 4));
}

type OverwriteMemory = (AtomicU64, AtomicU64, [AtomicU64; 2 * RECORD_WORDS]);

fn overwrite_ring(memory: &OverwriteMemory) -> OverwriteRing<'_> {
    OverwriteRing { begun: &memory.0, done: &memory.1, words: &memory.2, batch: 1 }
}

/// Gives how many records were read or lost.
fn look_at(ring: &OverwriteRing<'_>, next: &mut u64, copies: &mut Vec<[u64; RECORD_WORDS]>) -> u64 {
    let (now, lost) = ring.read(*next, copies);
    let first = now - copies.len() as u64;
    assert_eq!(first, *next + lost);
    for (number, copy) in (first..).zip(copies.iter()) {
        assert_eq!(*copy, [number + 1, (number + 1) * 10]);
    }
    *next = now;
    copies.len() as u64 + lost
}

/// What is claimed of [`Elements`]: a bit for each.
fn claim(table: &ClaimTable, member: &Member, kind: ClaimKind, bits: u64) -> Option<Ticket> {
    table.claim(member, kind, &[bits], |[other]| other & bits != 0).ok()
}

/// A table of claims, the owner and two more members, and two elements that only claims keep apart.
pub struct Elements {
    table: ClaimTable,
    members: [Member; 3],
    cells: [UnsafeCell<u32>; 2],
}

// SAFETY: loom reports every access to a cell that is not ordered with the others.
unsafe impl Sync for Elements {}

impl Elements {
    fn new() -> Arc<Self> {
        Arc::new(Elements {
            table: ClaimTable::default(),
            members: [0, 1, 2].map(Member::new),
            cells: [0, 0].map(UnsafeCell::new),
        })
    }

    /// Claims the elements of `bits`, adds to them and releases them; false: refused.
    fn add(&self, member: usize, bits: u64) -> bool {
        let member = &self.members[member];
        let Some(ticket) = claim(&self.table, member, ClaimKind::Write, bits) else {
            return false;
        };
        for (bit, cell) in self.cells.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0) {
            // SAFETY: claimed; if it is not, loom says so.
            cell.with_mut(|value| unsafe { *value += 1 + bit as u32 });
        }
        self.table.release(member, &ticket);
        true
    }

    /// Claims the first element and reads it.
    fn read(&self, member: usize) -> Option<u32> {
        let member = &self.members[member];
        let ticket = claim(&self.table, member, ClaimKind::Read, 1)?;
        // SAFETY: as in `add`.
        let value = self.cells[0].with(|value| unsafe { *value });
        self.table.release(member, &ticket);
        Some(value)
    }
}

/// Two members claim what overlaps: never both have it, and what one wrote the next one sees.
pub fn claiming() {
    let elements = Elements::new();
    let other = elements.clone();
    let thread = thread::spawn(move || {
        let first = u32::from(other.add(2, 0b11));
        // A place is used again, for something else.
        (first, u32::from(other.add(2, 0b10)))
    });
    let mine = u32::from(elements.add(1, 0b01));
    let (first, second) = thread.join().unwrap();
    assert!(mine + first >= 1 || mine + first == 0 && second == 1, "all alone and refused");
    assert_eq!(elements.read(1), Some(mine + first));
    // Nobody is left, so the table is free again.
    assert!(claim(&elements.table, &elements.members[1], ClaimKind::Write, 0b11).is_some());
}

/// Two that read are not in each other's way; one that writes is in the way of both.
pub fn claiming_to_read() {
    let elements = Elements::new();
    let other = elements.clone();
    let thread = thread::spawn(move || other.read(2));
    let mine = elements.read(1);
    assert_eq!((mine, thread.join().unwrap()), (Some(0), Some(0)));
    let other = elements.clone();
    let thread = thread::spawn(move || other.add(2, 0b01));
    let mine = elements.read(1);
    let added = u32::from(thread.join().unwrap());
    assert!(mine.is_none_or(|value| value <= added));
    assert_eq!(elements.read(1), Some(added));
}

/// The owner takes a member for dead while that goes on: its claim is either over, or abandoned
/// until the owner accepts.
pub fn abandoning() {
    let elements = Elements::new();
    let other = elements.clone();
    let thread = thread::spawn(move || other.add(2, 0b01));
    let abandoned = elements.table.abandon(&elements.members[0], |member| member == 2);
    let mine = elements.add(0, 0b01);
    let theirs = thread.join().unwrap();
    assert!(abandoned == 0 || !mine, "abandoned claims stay in the way");
    let mut left = 0;
    elements.table.accept(|member| member == 2, |_| left += 1);
    assert_eq!(left, abandoned);
    assert_eq!(elements.read(0), Some(u32::from(mine) + u32::from(theirs)));
}

/// The owner looks for claims of nobody while a thread of its own claims: it finds that of a
/// stranger that carries its number, and takes none of its own for one.
pub fn telling_strangers() {
    let elements = Elements::new();
    let stranger = Member::new(0);
    assert!(claim(&elements.table, &stranger, ClaimKind::Write, 0b10).is_some());
    let other = elements.clone();
    let thread = thread::spawn(move || {
        // A place is used again.
        assert!(other.add(0, 0b01), "nobody is in the way, and nobody ends it");
        assert!(other.add(0, 0b01), "nor the second time");
    });
    let found = elements.table.abandon(&elements.members[0], |_| false);
    thread.join().unwrap();
    assert_eq!(found, 1, "the stranger's alone");
    let mut left = Vec::new();
    elements.table.accept(|_| true, |seen| left.push(seen.entry));
    assert_eq!(left, [[0b10]]);
    assert!(claim(&elements.table, &elements.members[1], ClaimKind::Write, 0b11).is_some());
}
