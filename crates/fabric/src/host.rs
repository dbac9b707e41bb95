//! The host's side of a board in virtual time: registers, queues, what the board may reach, and the
//! words of its gateways.
//!
//! Everything goes over the board's AXI4-Lite port for registers, one access after the other, as a
//! driver of a real board does it: a word is sent by three writes, and when the doorbell rings the
//! waiting entries are counted, read and acknowledged.

use crate::loaded::{Access, HostRun, MemoryTiming, Sink, Source, Traffic};
use crate::model::{Model, RunError, Stop};
use crossdock_hwgen::network::HOST_PORT_ADDRESS;
use crossdock_shm::Region;
use std::collections::VecDeque;

/// Windows of host memory that a board has.
pub const WINDOWS: usize = 16;
/// Words that a client's queue takes: what is under way to a gateway and not yet answered for.
pub const WORDS: usize = 32;

/// Cycles of the longest lease that has an end.
pub const LEASE_CYCLES_MAX: u64 = (1 << 48) - 2;
/// Cycles of the slowest clock in which a restart ends: 64 bursts of 64 beats in each direction at
/// the slowest pace of host memory, 256 cycles a beat, while others have three quarters of it.
const RESTART_CYCLES: u64 = 1 << 22;

/// Cycles without anything after which a board may stand still: more than a beat needs from one
/// stream to the next through anything in the library.
pub const IDLE_CYCLES: u32 = 256;

/// The byte address of a register of `hw/host_port`, by its number there.
const fn register(number: u32) -> u32 {
    HOST_PORT_ADDRESS + 8 * number
}

/// The byte address of `CONTROL` of a gateway of a board, see `hw/gateway`.
#[must_use]
pub const fn gateway_control(gateway: u32) -> u32 {
    register(port::GATEWAY + 16 * gateway)
}

/// Registers of `hw/osif`, by number.
mod osif {
    pub(super) const UP_WRITTEN: u32 = 0;
    pub(super) const UP_TAKEN: u32 = 1;
    pub(super) const DOWN_SEND: u32 = 2;
    pub(super) const DOWN_WORD: u32 = 8;
    pub(super) const UP_ENTRY: u32 = 16;
    pub(super) const UP_DEPTH: u32 = 64;
}

/// Registers of `hw/host_port`, by number.
mod port {
    pub(super) const GATEWAY: u32 = 0x800;
    pub(super) const WINDOW_FIRST: u32 = 0xc00;
    pub(super) const WINDOW_SET: u32 = 0xc03;
}

/// Registers of `hw/host_lease`, by number.
mod lease {
    pub(super) const RESTART: u32 = 0xd00;
    pub(super) const LEASE: u32 = 0xd01;
}

/// Kinds of words, see `hw/gateway_words`.
mod word {
    pub(super) const MESSAGE: u64 = 0x01;
    pub(super) const STAMP: u64 = 0x02;
    pub(super) const SEGMENT: u64 = 0x03;
    pub(super) const SENT: u64 = 0x04;
    pub(super) const CREDIT: u64 = 0x11;
    pub(super) const ARRIVED: u64 = 0x12;
}

/// How a message's way over host memory ended; all false is good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Longer than the room for it: what did not fit is gone.
    pub cut: bool,
    /// Not as long as announced, or marked by its publisher.
    pub damaged: bool,
    /// Host memory answered with an error.
    pub memory_error: bool,
    /// Nothing was sent.
    pub refused: bool,
}

impl Status {
    fn of(bits: u64) -> Self {
        let bit = |number: u64| bits >> number & 1 == 1;
        Self { cut: bit(0), damaged: bit(1), memory_error: bit(2), refused: bit(3) }
    }

    /// Whether the message is whole.
    #[must_use]
    pub fn is_good(self) -> bool {
        self == Self::default()
    }
}

/// What a gateway tells its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// The memory of a message that goes down may be used again.
    Sent {
        /// Number of the gateway on its board.
        gateway: u32,
        /// As given to [`Board::send`].
        tag: u16,
        /// How it ended.
        status: Status,
    },
    /// A message from hardware lies in memory.
    Arrived {
        /// Number of the gateway on its board.
        gateway: u32,
        /// As given to [`Board::lend`].
        tag: u16,
        /// Bytes of the frame, its header included.
        bytes: u32,
        /// Who published it.
        publisher_id: u16,
        /// Its number at its publisher.
        sequence: u32,
        /// How it ended.
        status: Status,
    },
    /// A word that no gateway of this form sends.
    Unknown {
        /// Client of the osif.
        client: u64,
        /// The word, lower half first.
        word: [u64; 2],
    },
}

/// A message to be sent: where its payload lies.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Comes back with [`HostEvent::Sent`].
    pub tag: u16,
    /// Of the header.
    pub sequence: u32,
    /// Of the header, ns.
    pub stamp_ns: u64,
    /// Of all segments together.
    pub payload_bytes: u32,
    /// Addresses in this process, inside regions that the board reaches, and bytes.
    pub segments: &'a [(usize, u32)],
}

/// What a driver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// For the doorbell, or for something to do.
    Idle,
    /// For the number of entries.
    Count,
    /// For so many entries.
    Read(u32),
}

/// How long a board may reach host memory without hearing of its host.
#[derive(Clone, Copy, Debug)]
struct Lease {
    cycles: u64,
    /// From one renewal to the next.
    half_ps: u64,
    /// When to renew it; `None`: it is given back.
    due_ps: Option<u64>,
}

/// A board with its host's driver. As [`Model`], with one thread at a time.
#[derive(Debug)]
pub struct Board {
    model: Model,
    step: Step,
    /// Accesses that wait, and accesses of the batch under way.
    waiting: VecDeque<Access>,
    batch: Vec<Access>,
    done: u32,
    taken: u32,
    access_cycles: u32,
    events: VecDeque<HostEvent>,
    windows: usize,
    idle_cycles: u32,
    lease: Option<Lease>,
}

impl Board {
    /// The host of a board in reset state. An access to a register takes `access_cycles` cycles of
    /// the board's own clock. `None`: the model is a network without gateways, or a value of
    /// `timing` is out of its range.
    #[must_use]
    pub fn new(mut model: Model, timing: &MemoryTiming, access_cycles: u32) -> Option<Self> {
        if access_cycles == 0 || !model.handle().memory(timing) {
            return None;
        }
        Some(Self {
            model,
            step: Step::Idle,
            waiting: VecDeque::new(),
            batch: Vec::new(),
            done: 0,
            taken: 0,
            access_cycles,
            events: VecDeque::new(),
            windows: 0,
            idle_cycles: 0,
            lease: None,
        })
    }

    /// Makes the board fit for this host, as another one has left it, or lets it go: it does
    /// nothing more for anybody and reaches no memory. What was under way to or from host memory
    /// has been answered for then, everything else that was under way is lost, and all is as in a
    /// new board: windows, gateways, words of `control`, no lease. Takes the time of some accesses,
    /// and the time until memory has answered.
    ///
    /// # Errors
    /// Memory or a clock stands still; or as [`Model::run`].
    pub fn restart(&mut self) -> Result<(), RunError> {
        self.waiting.clear();
        // An access that a run has cut goes on in the next one.
        if let Some(cut) = self.batch.get_mut(self.done as usize) {
            self.model.access(std::slice::from_mut(cut), self.access_cycles)?;
        }
        self.model.access(&mut [write(lease::RESTART, 1)], self.access_cycles)?;
        let longest_ps = self.model.slowest_ps().saturating_mul(RESTART_CYCLES);
        let end_ps = self.now_ps().saturating_add(longest_ps);
        // Time passes with each read.
        loop {
            let mut state = [Access::read(register(lease::RESTART))];
            self.model.access(&mut state, self.access_cycles)?;
            if state[0].value() & 1 == 0 {
                break;
            }
            if self.now_ps() > end_ps {
                return Err(RunError::Restart { cycles: RESTART_CYCLES });
            }
        }
        self.batch.clear();
        self.events.clear();
        self.step = Step::Idle;
        (self.done, self.taken, self.windows, self.lease) = (0, 0, 0, None);
        // Never more than there are windows.
        self.model.handle().reach(Vec::new());
        Ok(())
    }

    /// From now on the board reaches host memory only on a lease of so many cycles of its own
    /// clock: what is under way waits when it is over. It begins with the next message or memory
    /// that the board is given, [`Board::run`] renews it when half of it is over, and
    /// [`Board::rest`] ends it. 1 to [`LEASE_CYCLES_MAX`]; false, and nothing has happened, for
    /// another number. Without a call, or after [`Board::restart`]: a lease without end.
    pub fn set_lease(&mut self, cycles: u64) -> bool {
        let is_good = (1..=LEASE_CYCLES_MAX).contains(&cycles);
        if is_good {
            let half_ps = (cycles / 2).saturating_mul(self.model.period_ps());
            self.lease = Some(Lease { cycles, half_ps, due_ps: None });
        }
        is_good
    }

    /// Gives the lease back, if there is one: until the board is given something the next time, it
    /// reaches no memory. For a host that will sleep, when the board has nothing to do. False, and
    /// nothing has happened: the port for registers is in use, and is free after a later run.
    ///
    /// # Errors
    /// As [`Model::run`].
    pub fn rest(&mut self) -> Result<bool, RunError> {
        if self.lease.is_none_or(|lease| lease.due_ps.is_none()) {
            return Ok(true);
        }
        if !self.access(&mut [write(lease::LEASE, 0)])? {
            return Ok(false);
        }
        if let Some(lease) = &mut self.lease {
            lease.due_ps = None;
        }
        Ok(true)
    }

    /// Renews the lease where it is time for that.
    fn renew(&mut self) {
        let now_ps = self.now_ps();
        if let Some(lease) = &mut self.lease
            && lease.due_ps.is_some_and(|due_ps| due_ps <= now_ps)
        {
            self.waiting.push_front(lease.renewed(now_ps));
        }
    }

    /// Lets runs end with [`Stop::Idle`] when nothing has happened for so many cycles of every
    /// clock: [`IDLE_CYCLES`], or more. 0, as in a new board: they never do.
    pub fn set_idle_cycles(&mut self, cycles: u32) {
        self.idle_cycles = cycles;
    }

    /// Lets time pass up to this moment without simulating it, after a run that ended idle. The
    /// clocks tick on afterwards as if their edges had come; what counts cycles on the board,
    /// probes among it, has not counted them. False, and nothing has happened, when the last run
    /// did not end idle, or time would go back or past its end. Does not block.
    pub fn skip_to(&mut self, now_ps: u64) -> bool {
        self.model.skip_to(now_ps)
    }

    /// Lets the board reach these regions and no others. At most [`WINDOWS`]; false, and nothing
    /// has happened, when there are more. What is under way to a region that is left out is
    /// answered with an error.
    pub fn reach(&mut self, regions: &[Region]) -> bool {
        if regions.len() > WINDOWS || !self.model.handle().reach(regions.to_vec()) {
            return false;
        }
        for number in 0..self.windows.max(regions.len()) {
            let region = regions.get(number);
            let pages = region.map_or((0, 0), |region| {
                let first = region.address() as u64 >> 12;
                (first, first + (region.bytes() as u64 >> 12) - 1)
            });
            let rights = region.map_or(0, |it| 1 << 8 | u64::from(it.is_writable()) << 9);
            let first = port::WINDOW_FIRST;
            self.waiting.extend([
                write(first, pages.0),
                write(first + 1, pages.1),
                write(first + 2, 0),
                write(port::WINDOW_SET, number as u64 | rights),
            ]);
        }
        self.windows = regions.len();
        true
    }

    /// The same on a board with the way to host memory of published systems
    /// ([`crossdock_hwgen::paper`]): what it reaches is what the page tables below `root` say, in
    /// the form of `hw/memif_tlb`, three levels; they and what they name must lie in `regions`.
    /// Addresses given to this driver afterwards are those of the tables. False as there.
    pub fn reach_by_table(&mut self, regions: &[Region], root: usize) -> bool {
        if regions.len() > WINDOWS || !self.model.handle().reach(regions.to_vec()) {
            return false;
        }
        self.waiting.extend([
            write(port::WINDOW_FIRST, root as u64 >> 12),
            write(port::WINDOW_SET, 1 << 8),
        ]);
        true
    }

    /// Whether a gateway waits for its host with messages up (reliable) or drops what finds no
    /// room.
    pub fn set_reliable(&mut self, gateway: u32, reliable: bool) {
        let control = gateway_control(gateway);
        self.waiting.push_back(Access::write(control, u64::from(reliable)));
    }

    /// Sends a message down. Its memory is the board's until [`HostEvent::Sent`]. At most [`WORDS`]
    /// words may be under way to one gateway: two per message and one per segment.
    pub fn send(&mut self, gateway: u32, message: &Outgoing<'_>) {
        let &Outgoing { tag, sequence, stamp_ns, payload_bytes, segments } = message;
        let client = u64::from(2 * gateway);
        let count = segments.len() as u64;
        let first =
            word::MESSAGE | count << 8 | u64::from(tag) << 16 | u64::from(payload_bytes) << 32;
        self.word(client, [first, u64::from(sequence)]);
        self.word(client, [word::STAMP, stamp_ns]);
        for (address, bytes) in segments {
            self.word(client, [word::SEGMENT | u64::from(*bytes) << 32, *address as u64]);
        }
    }

    /// Lends memory for one message up: the board's until [`HostEvent::Arrived`].
    pub fn lend(&mut self, gateway: u32, tag: u16, address: usize, capacity: u32) {
        let client = u64::from(2 * gateway + 1);
        let first = word::CREDIT | u64::from(tag) << 16 | u64::from(capacity) << 32;
        self.word(client, [first, address as u64]);
    }

    fn word(&mut self, client: u64, [low, high]: [u64; 2]) {
        let now_ps = self.now_ps();
        if let Some(lease) = &mut self.lease
            && lease.due_ps.is_none()
        {
            self.waiting.push_back(lease.renewed(now_ps));
        }
        self.waiting.extend([
            write(osif::DOWN_WORD, low),
            write(osif::DOWN_WORD + 1, high),
            write(osif::DOWN_SEND, client),
        ]);
    }

    /// Lets time pass until a source or sink is done, a gateway has told something
    /// ([`Board::event`]), or `until_ps` is reached; or nothing happens any more, if that was
    /// asked for by [`Board::set_idle_cycles`].
    ///
    /// # Errors
    /// As [`Model::run`].
    pub fn run(
        &mut self,
        sources: &mut [Source<'_>],
        sinks: &mut [Sink<'_>],
        until_ps: u64,
    ) -> Result<Stop, RunError> {
        let ended = |sources: &[Source<'_>], sinks: &[Sink<'_>]| {
            sources.iter().filter(|it| it.done_ps().is_some()).count()
                + sinks.iter().filter(|it| it.done_ps().is_some()).count()
        };
        let before = ended(sources, sinks);
        // Each turn does accesses, hears the doorbell, goes up to a renewal, or ends.
        loop {
            if !self.events.is_empty() {
                return Ok(Stop::Done);
            }
            self.renew();
            let due_ps = self.lease.and_then(|lease| lease.due_ps);
            let cut_ps = due_ps.map_or(until_ps, |due_ps| until_ps.min(due_ps));
            if self.batch.is_empty() {
                let batch = self.waiting.len().min(64);
                self.batch.extend(self.waiting.drain(..batch));
                self.done = 0;
            }
            let mut host = HostRun {
                accesses: &mut self.batch,
                done: self.done,
                cycles: self.access_cycles,
                doorbell: self.step == Step::Idle,
                idle_cycles: self.idle_cycles,
            };
            let stop = self.model.run_with(sources, sinks, &mut host, cut_ps)?;
            let rings = host.doorbell;
            self.done = host.done;
            if self.done as usize == self.batch.len() {
                self.finish_batch(rings);
            }
            if stop == Stop::Time && cut_ps < until_ps {
                continue;
            }
            if stop != Stop::Done || ended(sources, sinks) > before {
                return Ok(stop);
            }
        }
    }

    /// All accesses of the batch are done: the next step of the driver.
    fn finish_batch(&mut self, rings: bool) {
        match self.step {
            Step::Idle => {
                self.batch.clear();
                if rings && self.waiting.is_empty() {
                    self.batch.push(Access::read(register(osif::UP_WRITTEN)));
                    self.done = 0;
                    self.step = Step::Count;
                }
            }
            Step::Count => {
                let written = self.batch.first().map_or(self.taken, |it| it.value() as u32);
                // What hardware says is believed as far as its queue reaches.
                let count = written.wrapping_sub(self.taken).min(osif::UP_DEPTH);
                self.batch.clear();
                self.done = 0;
                for number in 0..count {
                    let slot = self.taken.wrapping_add(number) % osif::UP_DEPTH;
                    let entry = osif::UP_ENTRY + 16 * slot;
                    self.batch.extend([0, 1, 2].map(|part| Access::read(register(entry + part))));
                }
                self.step = if count == 0 { Step::Idle } else { Step::Read(count) };
            }
            Step::Read(count) => {
                for entry in self.batch.chunks_exact(3) {
                    let [client, low, high] = [0, 1, 2].map(|part| entry[part].value());
                    self.events.push_back(event(client, [low, high]));
                }
                self.taken = self.taken.wrapping_add(count);
                self.batch.clear();
                self.done = 0;
                self.waiting.push_front(write(osif::UP_TAKEN, u64::from(self.taken)));
                self.step = Step::Idle;
            }
        }
    }

    /// Reads and writes registers, one access after the other: the time of as many accesses passes,
    /// in which no source or sink takes part. `docs/formats/hardware-network.md` has the map.
    /// False, and nothing has happened: the port for registers is in use, and is free after a later
    /// run.
    /// Allocates nothing.
    ///
    /// # Errors
    /// There is no register at an address, or it cannot be written; or as [`Model::run`].
    pub fn access(&mut self, accesses: &mut [Access]) -> Result<bool, RunError> {
        let free = self.batch.is_empty() && self.waiting.is_empty();
        if self.step != Step::Idle || !free {
            return Ok(false);
        }
        self.model.access(accesses, self.access_cycles)?;
        Ok(true)
    }

    /// Reads registers by their byte addresses, as [`Board::access`]. Allocates.
    ///
    /// # Errors
    /// As there.
    pub fn read_status(&mut self, words: &mut [(u32, u64)]) -> Result<bool, RunError> {
        let mut accesses: Vec<Access> = words.iter().map(|word| Access::read(word.0)).collect();
        if !self.access(&mut accesses)? {
            return Ok(false);
        }
        for ((_, value), access) in words.iter_mut().zip(&accesses) {
            *value = access.value();
        }
        Ok(true)
    }

    /// What a gateway has told, oldest first.
    pub fn event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// What has passed between board and host memory.
    pub fn traffic(&mut self) -> Traffic {
        self.model.handle().traffic().unwrap_or_default()
    }

    /// The time, picoseconds.
    #[must_use]
    pub fn now_ps(&self) -> u64 {
        self.model.now_ps()
    }
}

impl Lease {
    /// The access that begins it anew.
    fn renewed(&mut self, now_ps: u64) -> Access {
        // At least a cycle on, so that time passes between two.
        self.due_ps = Some(now_ps.saturating_add(self.half_ps.max(1)));
        write(lease::LEASE, self.cycles)
    }
}

/// Writes a register of `hw/host_port`, by its number there.
fn write(number: u32, value: u64) -> Access {
    Access::write(register(number), value)
}

fn event(client: u64, word: [u64; 2]) -> HostEvent {
    let [low, high] = word;
    let gateway = (client / 2) as u32;
    let (tag, status) = ((low >> 16) as u16, Status::of(low >> 8 & 0xff));
    match (low & 0xff, client % 2) {
        (word::SENT, 0) => HostEvent::Sent { gateway, tag, status },
        (word::ARRIVED, 1) => HostEvent::Arrived {
            gateway,
            tag,
            bytes: (low >> 32) as u32,
            publisher_id: high as u16,
            sequence: (high >> 32) as u32,
            status,
        },
        _ => HostEvent::Unknown { client, word },
    }
}
