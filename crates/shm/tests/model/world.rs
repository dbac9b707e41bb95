//! What a model shares and who acts in it: memory, publisher, subscriber, kernel.
#![allow(unreachable_pub, missing_docs)]

use crossdock_shm::pool::{Chunk, Class, Pool, Taken};
use crossdock_shm::protocol::weaken::{self, spot};
use crossdock_shm::protocol::*;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::sync::{Arc, Mutex};
use loom::thread;

pub const CHUNK_BYTES: u64 = 64;

/// What the control thread leaves in the inbox: a peer comes, or goes.
pub enum Note {
    Attach(usize),
    Detach(usize),
}

/// Everything that is shared between the processes of one model.
pub struct World {
    pub head: Head,
    pub slots: Vec<Slot>,
    pub conns: Vec<Conn>,
    pub chunks: Vec<UnsafeCell<u64>>,
    pub armed: ArmedLine,
    pub inbox: Inbox<Note>,
    pub published: AtomicU64,
}

// Only the cells are not Sync; loom itself reports any race on them.
unsafe impl Sync for World {}
unsafe impl Send for World {}

impl World {
    pub fn new(slots: usize, chunks: usize, subscribers: usize) -> Arc<World> {
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

    pub fn ring(&self) -> Ring<'_> {
        Ring { head: &self.head, slots: &self.slots }
    }

    pub fn write(&self, chunk: Chunk, value: u64) {
        self.chunks[(chunk.offset / CHUNK_BYTES) as usize].with_mut(|cell| {
            // SAFETY: the cell is alive; the model checker fails the run if anybody else uses it
            // now.
            unsafe { *cell = value }
        });
    }

    pub fn check(&self, offset: u64, value: u64) {
        let found = self.chunks[(offset / CHUNK_BYTES) as usize].with(|cell| {
            // SAFETY: the cell is alive; the model checker fails the run if anybody writes it now.
            unsafe { *cell }
        });
        assert_eq!(found, value, "the payload was overwritten");
    }
}

/// The order of calls of `publisher::engine`, over the product's own pool, ring and inbox.
pub struct Publisher<'w> {
    pub world: &'w World,
    pub pool: Pool,
    /// In force; the contract's may be less.
    pub depth: u64,
    pub contract: u64,
    pub seq: u64,
    pub peers: Vec<usize>,
    pub held: Vec<u64>,
    pub open: bool,
}

impl<'w> Publisher<'w> {
    pub fn new(world: &'w World, depth: u64, peers: Vec<usize>) -> Self {
        let chunks = world.chunks.len() as u64;
        let class = Class::new(0, CHUNK_BYTES, 0, chunks);
        let pool = Pool::new(class, 4, chunks * CHUNK_BYTES);
        Publisher {
            world,
            pool,
            depth,
            contract: depth,
            seq: 0,
            peers,
            held: Vec::new(),
            open: true,
        }
    }

    pub fn absorb(&mut self) {
        if !self.world.inbox.is_empty() {
            for note in self.world.inbox.take_all() {
                match note {
                    Note::Attach(peer) => self.peers.push(peer),
                    Note::Detach(peer) => self.peers.retain(|it| *it != peer),
                }
            }
            if self.open && self.peers.is_empty() {
                self.evict_up_to(self.seq);
                self.open = false;
            }
            if !self.open && !self.peers.is_empty() {
                self.world.ring().open(self.seq);
                self.open = true;
            }
        }
    }

    pub fn evict_up_to(&mut self, last: u64) {
        while let Some(seq) = self.pool.retire_oldest(last) {
            self.world.ring().evict(seq);
        }
    }

    pub fn scan(&mut self) {
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

    pub fn trim(&mut self, history: u64) {
        let wanted = self.peers.iter().map(|peer| self.world.conns[*peer].wanted(1)).min();
        let passed = wanted.unwrap_or(u64::MAX).saturating_sub(1);
        self.evict_up_to(passed.min(self.seq.saturating_sub(history)));
    }

    pub fn loan(&mut self) -> Option<Chunk> {
        if weaken::is(spot::EVICT_IN_LOAN) {
            self.evict_up_to((self.seq + 1).saturating_sub(self.depth));
        }
        let mut scanned = false;
        loop {
            match self.pool.take(0, 1, self.peers.len(), scanned, false) {
                Taken::Chunk(chunk) => return Some(chunk),
                Taken::Nothing if self.pool.live() as u64 > self.contract => {
                    self.evict_up_to(self.seq - self.contract);
                    scanned = false;
                }
                Taken::Nothing => return None,
                Taken::Scan => {
                    self.scan();
                    scanned = true;
                }
            }
        }
    }

    pub fn publish(&mut self, chunk: Chunk) {
        let seq = self.seq + 1;
        if self.open {
            self.world.ring().publish(seq, &[chunk.offset, seq * 100]);
            self.pool.publish_live(seq, chunk);
        } else {
            self.pool.give_back(chunk);
        }
        self.seq = seq;
        self.world.published.store(seq, Release);
        if self.open {
            self.evict_up_to(seq.saturating_sub(self.depth));
        }
    }

    /// One message from loan to ring; false if every chunk is held.
    pub fn message(&mut self) -> bool {
        let Some(chunk) = self.loan() else { return false };
        self.world.write(chunk, self.seq + 1);
        self.publish(chunk);
        true
    }
}

/// A subscriber as in `subscriber`, without counters.
pub struct Subscriber<'w> {
    pub world: &'w World,
    pub conn: &'w Conn,
    pub next: u64,
    pub lost: u64,
    pub got: u64,
}

impl<'w> Subscriber<'w> {
    pub fn new(world: &'w World, me: usize, next: u64) -> Self {
        Subscriber { world, conn: &world.conns[me], next, lost: 0, got: 0 }
    }

    pub fn lapped(&mut self) {
        let oldest = self.world.ring().oldest(self.next).expect("an honest publisher");
        self.lost += oldest - self.next;
        self.next = oldest;
        self.conn.move_cursor(self.next, None);
    }

    /// Holds the next message and gives its chunk's offset.
    pub fn take(&mut self) -> Option<(u64, &'w AtomicU64)> {
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

    pub fn look(&mut self) {
        let seq = self.next;
        if let Some((offset, hold)) = self.take() {
            self.world.check(offset, seq);
            Conn::drop_hold(hold);
        }
    }
}

/// The kernel's side of futex words: sleepers in a queue, comparison and queueing in one step. A
/// sleeper that nobody wakes looks for ever, which exceeds the branches of a model.
pub struct Kernel {
    pub queue: Mutex<Vec<bool>>,
    pub woken: Vec<AtomicU64>,
}

impl Kernel {
    pub fn new(sleepers: usize) -> Arc<Kernel> {
        let woken = (0..sleepers).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Kernel { queue: Mutex::new(vec![false; sleepers]), woken })
    }

    pub fn wait(&self, sleeper: usize, unchanged: impl FnOnce() -> bool) {
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

    pub fn wake(&self, sleeper: usize) -> bool {
        let mut queue = self.queue.lock().unwrap();
        let sleeps = std::mem::take(&mut queue[sleeper]);
        if sleeps {
            self.woken[sleeper].store(1, Release);
        }
        sleeps
    }
}
