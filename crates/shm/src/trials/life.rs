//! One life of a publisher: its contract, and the steps that it goes through.

use super::Lot;
use super::books::{Books, Claim, User};
use super::readers::{Chain, Reader, Terms, check, write};
use crate::PAGE_BYTES;
use crate::lifeline::Lifeline;
use crate::local::LocalOptions;
use crate::pool::chunk_bytes;
use crate::publisher::{LoanError, ParkedLoan, PublishError, RawLoan};
use crate::subscriber::{SubscriberConfig, SubscriberControl};
use crate::tables::{ConnTable, PeerConns};
use crate::{
    Marks, Meta, PeerConfig, Reliability, RingConfig, RingControl, RingObserver, RingPublisher,
    RingSubscriber, Sizing,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Readers, links and open loans at one time.
const READERS_MAX: usize = 5;
const CHAINS_MAX: usize = 2;
const LOANS_MAX: usize = 4;
/// Memory of lives in which it grows: more than their messages can need.
const GROWING_BYTES: u64 = 24 << 20;

/// Memory of lives whose messages creep upwards, before they do.
const CREEPING_BYTES: u64 = 1 << 20;
/// Messages that creep upwards end here.
const CREEP_BYTES: usize = 200_000;

/// What maps segments for the peers of a publisher whose memory grows.
type Mappers = Arc<Mutex<Vec<(u32, SubscriberControl)>>>;

/// What a life is about, beside its contract.
#[derive(Clone, Copy, Debug)]
struct Mood {
    /// Does memory grow?
    grows: bool,
    /// Does it follow messages that get larger and larger?
    creeps: bool,
    /// Do devices write and copy messages?
    devices: bool,
    /// Does the publisher wait until somebody moves or dies, or not at all?
    patient: bool,
    /// Takes of a slow reader are so seldom.
    slowness: u64,
}

/// See the head of this file.
pub(super) struct Life<'p> {
    lot: Lot,
    mood: Mood,
    contract: RingConfig,
    publisher: &'p RingPublisher,
    control: Arc<RingControl>,
    table: (ConnTable, PeerConns),
    mappers: Mappers,
    books: Books,
    /// Bytes of the largest message so far, if they creep upwards.
    largest: usize,
    /// Numbers of loans, readers and links so far.
    marks: u64,
    numbers: u64,
    loans: Vec<(u64, RawLoan<'p>)>,
    parked: Vec<(u64, ParkedLoan)>,
    readers: Vec<Reader>,
    chains: Vec<Chain>,
    observer: Option<RingObserver>,
}

/// A contract by lot.
fn contract(lot: &mut Lot) -> (RingConfig, Mood) {
    let depth = 1 + lot.index(8);
    let slots = lot.of(&[(depth + 1).next_power_of_two(), 16, 64, 1024]);
    let transient_local = lot.one_in(4);
    let grows = lot.one_in(5);
    let mood = Mood {
        grows,
        creeps: grows && lot.one_in(2),
        devices: lot.one_in(3),
        patient: lot.one_in(2),
        slowness: lot.of(&[1, 3, 20]),
    };
    let timeout = if mood.patient { Duration::from_secs(60) } else { Duration::ZERO };
    let large = !mood.grows && lot.one_in(6);
    let chunk = if large { 64 << 10 } else { lot.of(&[64, 200]) };
    let holds_per_subscriber = 1 + lot.index(4);
    let chunks = depth + holds_per_subscriber + 1 + lot.of(&[0, lot.clone().index(60), 200]);
    let chunks = if large { chunks.min(24) } else { chunks };
    let pool = chunk_bytes(chunk as u64).expect("a size") * chunks as u64;
    let contract = RingConfig {
        slots: slots.max((depth + 1).next_power_of_two()),
        depth,
        history: if lot.one_in(3) { lot.index(depth + 1) } else { 0 },
        chunk_bytes: chunk,
        sizing: if mood.creeps { Sizing::Messages } else { Sizing::Contract },
        holds_per_subscriber,
        memory_limit_bytes: match mood {
            Mood { creeps: true, .. } => CREEPING_BYTES,
            Mood { grows: true, .. } => GROWING_BYTES,
            _ => pool,
        },
        transient_local,
        reliability: match lot.one_in(2) {
            true => Reliability::Reliable { timeout, lifespan: None },
            false => Reliability::BestEffort,
        },
        prefault_chunks: lot.index(3),
        growth_timeout: Duration::from_secs(60),
    };
    (contract, mood)
}

impl<'p> Life<'p> {
    /// A life of so many steps.
    pub(super) fn run(lot: &mut Lot, steps: u64) {
        let (contract, mood) = contract(lot);
        let publisher = RingPublisher::create("p", contract.clone()).expect("a ring");
        let conns = ConnTable::create("readers").expect("memory");
        let peer_conns = PeerConns::open("readers", conns.fd()).expect("a mapping");
        let control = publisher.control();
        let mappers = Mappers::default();
        if mood.grows {
            let (mappers, control) = (Arc::clone(&mappers), Arc::downgrade(&control));
            publisher.control().set_notifier(move || {
                let Some(control) = control.upgrade() else { return };
                for (peer, mapper) in &*mappers.lock().expect("no panic") {
                    control.share_segments(mapper);
                    control.acknowledge(*peer, u32::MAX);
                }
            });
        }
        let observer = (!mood.grows && lot.one_in(4)).then(|| {
            let (fd, geometry) = (control.ring_fd(), control.geometry());
            RingObserver::open("p", fd, geometry, u64::MAX).expect("a mapping")
        });
        let mut life = Life {
            lot: lot.clone(),
            mood,
            contract,
            publisher: &publisher,
            control,
            table: (conns, peer_conns),
            mappers,
            books: Books::default(),
            largest: 64,
            marks: 0,
            numbers: 0,
            loans: Vec::new(),
            parked: Vec::new(),
            readers: Vec::new(),
            chains: Vec::new(),
            observer,
        };
        if life.lot.one_in(2) {
            life.link_or_unlink();
        }
        for _ in 0..steps {
            life.step();
            life.look();
        }
        life.end();
    }

    fn depth(&self) -> u64 {
        self.contract.depth as u64
    }

    fn is_reliable(&self) -> bool {
        matches!(self.contract.reliability, Reliability::Reliable { .. })
    }

    fn step(&mut self) {
        match self.lot.below(100) {
            0..=34 => self.message(),
            35..=41 if self.loans.len() < LOANS_MAX => self.open_loan(),
            42..=48 if !self.loans.is_empty() => {
                let place = self.lot.index(self.loans.len());
                let (mark, loan) = self.loans.swap_remove(place);
                self.publish(mark, loan);
            }
            49..=51 if !self.loans.is_empty() => {
                let place = self.lot.index(self.loans.len());
                let (mark, loan) = self.loans.swap_remove(place);
                self.books.end(User::Loan(mark));
                drop(loan);
            }
            52..=53 => self.park_or_resume(),
            54..=55 => (0..self.lot.below(3 * self.depth() + 40)).for_each(|_| self.message()),
            56..=79 => self.take(),
            80..=87 => self.drop_sample(),
            88..=90 if self.readers.len() < READERS_MAX => self.attach(),
            91..=92 if !self.readers.is_empty() => self.part(),
            93 => self.link_or_unlink(),
            94..=95 => self.advance(),
            96 => self.observe(),
            97 => self.publisher.settle(),
            98 => self
                .readers
                .iter_mut()
                .for_each(|it| it.drain(&mut self.books, self.contract.depth as u64)),
            _ => self.drop_samples(),
        }
    }

    /// Everything that is held is what it was; who has gone and holds nothing any more is let go.
    fn look(&mut self) {
        for reader in &self.readers {
            reader.samples.check(&self.books);
        }
        for chain in &self.chains {
            chain.samples.check(&self.books);
        }
        for (mark, loan) in &mut self.loans {
            check(loan.bytes_mut(), *mark, "loan", *mark);
        }
        let control = &self.control;
        self.readers.retain(|reader| reader.is_there() || !reader.is_over(control));
        self.chains.retain(|chain| chain.link.is_some() || chain.samples.len() > 0);
        assert_eq!(self.publisher.counters().messages, self.books.last());
        let (used_bytes, limit_bytes) = self.publisher.memory_bytes();
        let limit_bytes = if self.mood.creeps { 2 * limit_bytes } else { limit_bytes };
        assert!(used_bytes <= limit_bytes, "{used_bytes} bytes of {limit_bytes} are used");
    }

    // ---- loans and messages ----

    fn bytes(&mut self) -> usize {
        if self.mood.creeps && self.lot.one_in(2) {
            self.largest = (self.largest + self.largest / 20 + 1).min(CREEP_BYTES);
            return self.largest;
        }
        match self.mood.grows && self.lot.one_in(8) {
            true => self.lot.of(&[3000, PAGE_BYTES, 5000, 20_000]),
            false => self.lot.of(&[8, 64, self.contract.chunk_bytes]),
        }
    }

    /// A loan with its mark written into it; `None`: memory is used up, for a reason.
    fn loan(&mut self) -> Option<(u64, RawLoan<'p>)> {
        let bytes = self.bytes();
        let mut loan = match self.publisher.loan(bytes) {
            Ok(loan) => loan,
            Err(error) => {
                self.is_used_up(&error);
                return None;
            }
        };
        self.marks += 1;
        let (memory, meta) = loan.parts_mut();
        self.books.loaned(memory.as_ptr().addr(), self.marks);
        write(memory, self.marks);
        *meta = Meta { len: bytes, stamp_ns: self.marks, ..Meta::default() };
        Some((self.marks, loan))
    }

    /// Is there a reason for which no chunk is free?
    fn is_used_up(&self, error: &LoanError) {
        let may_be = !self.mood.grows || self.mood.creeps;
        assert!(matches!(error, LoanError::Exhausted { .. }) && may_be, "{error}");
        let waited = self.readers.iter().filter(|it| it.reliable && it.is_there());
        let wanted = waited.map(|it| it.claim.next());
        let chains = self.chains.iter().filter_map(|it| it.wanted(&self.books, self.depth()));
        let wanted: Vec<u64> = wanted.chain(chains).collect();
        let is_open = self.control.peers() > 0 || self.contract.transient_local;
        let needed = self.books.needed(self.depth(), is_open, &wanted);
        let chunk = chunk_bytes(self.contract.chunk_bytes as u64).expect("a size");
        let all = match self.mood.creeps {
            // Half of the limit is for the messages of today.
            true => {
                let largest = self.largest.max(20_000).next_multiple_of(PAGE_BYTES) as u64;
                self.publisher.memory_bytes().1 / 2 / largest
            }
            false => self.contract.memory_limit_bytes / chunk,
        };
        assert!(needed as u64 >= all, "{error}; {needed} of {all} are in use for a reason");
    }

    fn open_loan(&mut self) {
        let loan = self.loan();
        self.loans.extend(loan);
    }

    fn message(&mut self) {
        if let Some((mark, loan)) = self.loan() {
            self.publish(mark, loan);
        }
    }

    fn park_or_resume(&mut self) {
        match (self.loans.pop(), self.parked.pop()) {
            (Some((mark, loan)), None) => self.parked.push((mark, loan.park())),
            (loan, parked) => {
                self.loans.extend(loan);
                if let Some((mark, parked)) = parked {
                    let loan = self.publisher.resume(parked).expect("its own loan");
                    self.loans.push((mark, loan));
                }
            }
        }
    }

    fn publish(&mut self, mark: u64, mut loan: RawLoan<'p>) {
        let marks = [8, 10].map(|times| self.mood.devices && self.lot.one_in(times));
        let sets = marks.into_iter().zip([Marks::EARLY, Marks::UPLOADED]);
        let set = sets.filter(|(is_set, _)| *is_set).map(|(_, mark)| mark);
        loan.meta_mut().marks = set.fold(Marks::default(), Marks::or);
        let is_full = self.chains.iter().any(Chain::is_full);
        let has_room = self.publisher.has_room();
        let outcome = match has_room || is_full || !self.mood.patient {
            true => loan.publish_prepared(),
            false => self.publish_waiting(loan),
        };
        match outcome {
            Ok(seq) => {
                assert!(!is_full && (has_room || self.mood.patient), "published without room");
                self.books.published(mark, seq, marks);
            }
            Err(refused) => {
                match *refused.reason {
                    PublishError::LinkFull { .. } => assert!(is_full, "{}", refused.reason),
                    PublishError::TimedOut { .. } => {
                        assert!(!has_room && !self.mood.patient, "{}", refused.reason);
                        self.is_waited_for(&refused.reason);
                    }
                    ref other => panic!("{other}"),
                }
                self.loans.push((mark, refused.loan));
                if self.loans.len() > LOANS_MAX {
                    let (mark, _) = self.loans.swap_remove(0);
                    self.books.end(User::Loan(mark));
                }
            }
        }
    }

    /// Is there a reader that the publisher has a right to wait for?
    fn is_waited_for(&self, error: &PublishError) {
        let (next, depth) = (self.books.last() + 1, self.depth());
        let mut readers = self.readers.iter().filter(|it| it.reliable && it.is_there());
        assert!(readers.any(|it| it.claim.next() + depth <= next), "{error}, but all keep up");
    }

    /// Publishes while the readers that it waits for move, leave or die, and others come and go.
    /// What ends the wait is one step, the last one: so all happens in the same way in each run.
    fn publish_waiting(
        &mut self,
        loan: RawLoan<'p>,
    ) -> Result<u64, crate::PublishRefused<RawLoan<'p>>> {
        let newcomer = self.lot.one_in(4) && self.readers.len() < READERS_MAX;
        let mut newcomer = newcomer.then(|| self.terms());
        if let Some((config, _)) = &mut newcomer {
            // A deeper one would end the wait.
            config.depth = config.depth.min(self.contract.depth);
        }
        let depth = self.depth();
        let Life { lot, control, readers, books, mappers, .. } = self;
        std::thread::scope(|scope| {
            let _others = scope.spawn(move || {
                while !control.is_blocked() {
                    std::thread::yield_now();
                }
                let waited = readers.iter().enumerate().filter(|(_, it)| it.reliable);
                let slowest = waited.min_by_key(|(_, it)| it.wants()).map(|(place, _)| place);
                let mut slowest = readers.swap_remove(slowest.expect("a reader to wait for"));
                if let Some(terms) = newcomer {
                    let reader = join(control, terms);
                    mappers.lock().expect("no panic").push(reader.mapper());
                    readers.push(reader);
                }
                let all_die = lot.one_in(2);
                for mut reader in std::mem::take(readers) {
                    if all_die || lot.one_in(4) {
                        reader.die(control, books);
                        continue;
                    }
                    if reader.reliable {
                        reader.drain(books, depth);
                    }
                    readers.push(reader);
                }
                match lot.below(3) {
                    0 if depth > 1 && slowest.can_jump() => {
                        slowest.jump();
                        readers.push(slowest);
                    }
                    1 => {
                        slowest.leave();
                        readers.push(slowest);
                    }
                    _ => slowest.die(control, books),
                }
            });
            loan.publish_prepared()
        })
    }

    // ---- readers ----

    /// What the next reader asks for.
    fn terms(&mut self) -> (PeerConfig, Terms) {
        let asked = self.lot.of(&[1, 2, self.contract.depth, 20, 300, 1023, 16_384]);
        let reliable = self.lot.one_in(2);
        let conn = self.table.0.allocate().expect("a connection");
        let shared = self.readers.iter().find(|it| it.conn.index() == conn.index());
        let shared = shared.map(|it| it.peer);
        assert_eq!(shared, None, "the place of this peer is free before the publisher let it go");
        self.numbers += 1;
        let config = PeerConfig {
            label: format!("reader {}", self.numbers),
            conns: self.table.1.clone(),
            conn: conn.index(),
            depth: asked,
            reliable,
            may_fall_behind: !reliable,
            trusted: true,
            history: self.lot.index(self.contract.depth + 2),
            wake: None,
        };
        let terms = Terms {
            number: self.numbers,
            peer: 0,
            conn,
            keeps: if self.lot.one_in(2) { u64::MAX } else { asked as u64 },
            reliable: reliable && self.is_reliable(),
            holds: 1 + self.lot.index(self.contract.holds_per_subscriber),
            claim: Claim::new(1, 1),
        };
        (config, terms)
    }

    fn attach(&mut self) {
        let closed = self.control.peers() == 0 && !self.contract.transient_local;
        if closed && self.lot.one_in(2) {
            // Who has gone is forgotten, so the ring is closed and will be opened behind the last
            // message.
            self.publisher.settle();
            self.books.opens();
        }
        let terms = self.terms();
        let mut reader = join(&self.control, terms);
        self.mappers.lock().expect("no panic").push(reader.mapper());
        let first = reader.claim.next();
        if self.contract.transient_local
            && reader.can_jump()
            && self.lot.one_in(2)
            && reader.take(&mut self.books, self.contract.depth as u64)
        {
            assert_eq!(reader.claim.next(), first + 1, "the history is not whole");
        }
        self.readers.push(reader);
    }

    /// A reader leaves, or its process dies.
    fn part(&mut self) {
        let place = self.lot.index(self.readers.len());
        if self.lot.one_in(2) {
            self.readers[place].leave();
        } else {
            let reader = self.readers.swap_remove(place);
            reader.die(&self.control, &mut self.books);
        }
    }

    fn link_or_unlink(&mut self) {
        if !self.chains.is_empty() && self.lot.one_in(2) {
            let place = self.lot.index(self.chains.len());
            self.chains[place].link = None;
        } else if self.chains.len() < CHAINS_MAX {
            self.numbers += 1;
            let options = LocalOptions {
                label: format!("link {}", self.numbers),
                depth: self.lot.of(&[1, 2, 5, 30, 500]),
                reliable: self.lot.one_in(3),
                holds: 1 + self.lot.index(4),
            };
            let chain = Chain::new(self.numbers, options, &self.books);
            if let Some(link) = &chain.link {
                self.publisher.link(link).expect("a new link");
            }
            self.chains.push(chain);
        }
    }

    fn take(&mut self) {
        let depth = self.depth();
        let Life { lot, mood, books, readers, chains, .. } = self;
        for (place, reader) in readers.iter_mut().enumerate() {
            // The first one is quick, whatever the others are.
            if place == 0 || lot.one_in(mood.slowness) {
                match lot.below(4) {
                    0 => reader.drain(books, depth),
                    1 => reader.skip(books, depth),
                    _ => {
                        reader.take(books, depth);
                    }
                }
            }
        }
        for chain in chains {
            match lot.below(3) {
                0 => chain.drain(books, depth),
                1 => {
                    chain.take(books, depth);
                }
                _ => {}
            }
        }
    }

    fn drop_sample(&mut self) {
        let Life { lot, books, readers, chains, .. } = self;
        let all = readers.iter_mut().map(|it| &mut it.samples);
        let all = all.chain(chains.iter_mut().map(|it| &mut it.samples));
        for samples in all.filter(|it| it.len() > 0) {
            if lot.one_in(2) {
                let place = lot.index(samples.len());
                samples.drop_at(place, books);
            }
        }
    }

    fn drop_samples(&mut self) {
        self.readers.iter_mut().for_each(|it| it.samples.drop_all(&mut self.books));
        self.chains.iter_mut().for_each(|it| it.samples.drop_all(&mut self.books));
    }

    // ---- devices, observers, the end ----

    /// Devices are done with some more messages.
    fn advance(&mut self) {
        let steps = self.lot.below(20);
        for (which, timeline) in
            [self.publisher.timeline(), self.publisher.uploaded()].iter().enumerate()
        {
            timeline.advance(self.books.advance(which, steps));
        }
    }

    fn observe(&mut self) {
        let Some(observer) = &mut self.observer else { return };
        let mut payload = Vec::new();
        while let Some((seq, _)) =
            observer.copy_next(&mut payload, usize::MAX).expect("an honest publisher")
        {
            check(&payload, self.books.written(seq), "observed message", seq);
        }
    }

    /// All let go: then all the memory can be had again.
    fn end(mut self) {
        self.drop_samples();
        for reader in self.readers.drain(..) {
            self.control.detach(reader.peer);
        }
        self.chains.clear();
        for (mark, parked) in self.parked.drain(..) {
            self.loans.push((mark, self.publisher.resume(parked).expect("its own loan")));
        }
        for (mark, _) in self.loans.drain(..) {
            self.books.end(User::Loan(mark));
        }
        for (which, timeline) in
            [self.publisher.timeline(), self.publisher.uploaded()].iter().enumerate()
        {
            timeline.advance(self.books.advance(which, u64::from(u32::MAX)));
        }
        self.publisher.settle();
        if self.mood.creeps {
            return self.look_at_what_is_left();
        }
        if self.mood.grows {
            return;
        }
        let mut loans = Vec::new();
        while let Ok(mut loan) = self.publisher.loan(8) {
            self.marks += 1;
            self.books.loaned(loan.bytes_mut().as_ptr().addr(), self.marks);
            loans.push(loan);
        }
        let chunk = chunk_bytes(self.contract.chunk_bytes as u64).expect("a size");
        let all = (self.contract.memory_limit_bytes / chunk) as usize;
        let kept = if self.contract.transient_local { self.contract.depth } else { 0 };
        assert!(loans.len() + kept >= all, "{} of {all} chunks are left", loans.len());
    }
}

impl Life<'_> {
    /// Nobody holds anything: only the newest segment is left when the ring has nothing else.
    fn look_at_what_is_left(mut self) {
        self.largest = CREEP_BYTES;
        let largest = 2 * CREEP_BYTES;
        for _ in 0..=self.contract.depth {
            let loan = self.publisher.loan(largest).expect("room for as many");
            let meta = Meta { len: largest, ..Meta::default() };
            loan.publish(meta).expect("nobody to wait for");
        }
        drop(self.publisher.loan(largest).expect("room for one more"));
        let segments = self.control.segments().expect("descriptors");
        assert_eq!(
            segments.len(),
            1,
            "segments that are left, given: {:b}",
            self.control.given_back()
        );
    }
}

/// Connects a reader.
fn join(control: &RingControl, (config, terms): (PeerConfig, Terms)) -> Reader {
    let (label, reliable) = (config.label.clone(), config.reliable);
    let attached = control.attach(config).expect("a place");
    let config = SubscriberConfig {
        label,
        publisher: "p".to_owned(),
        conn: terms.conn.clone(),
        armed: None,
        depth: terms.keeps,
        reliable,
        holds: terms.holds,
        memory_limit_bytes: u64::MAX,
        lifeline: Lifeline::none(),
        source: [0; 16],
    };
    let subscriber =
        RingSubscriber::connect_mapped(config, &control.memory(), attached).expect("a ring");
    control.share_segments(&subscriber.control());
    let claim = Claim::new(attached.start, attached.joined);
    Reader::new(subscriber, Terms { peer: attached.peer, claim, ..terms })
}
