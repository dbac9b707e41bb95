//! Fuzzes a publisher against a hostile subscriber's memory: the input writes connections, bells,
//! ready, relayed and armed words, comes and goes under any numbers, and has messages published.
//!
//! Whatever it writes, an honest subscriber gets every message as it was published, a loan is
//! refused only while the hostile one may claim to hold the memory, and no call may loop.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_fuzz::memory::HostileMemory;
use crossdock_shm::{
    BellMemory, ConnTable, Doorbell, DoorbellOptions, Lifeline, Meta, PairMemory, PeerBell,
    PeerConfig, PeerConns, PeerPair, Reliability, RingConfig, RingControl, RingPublisher,
    RingSubscriber, Sizing, SubscriberConfig, WakeTarget,
};
use libfuzzer_sys::fuzz_target;
use rustix::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};

/// Writes, messages, comings and goings of one input.
const STEPS_MAX: usize = 200;
const BYTES: usize = 64;
/// Hostile subscribers at a time.
const PEERS_MAX: usize = 8;

struct World {
    conns: ConnTable,
    /// Connections, bells, and what a pair shares; and what an honest process has there.
    hostile: [(HostileMemory, HostileMemory); 3],
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let conns = ConnTable::create("conns").expect("memory");
        let bells = BellMemory::new("bells");
        let doorbell = Doorbell::create(&bells, DoorbellOptions::default()).expect("memory");
        let control = doorbell.control();
        let (_, bell) = control.bell().expect("a bell");
        let pair = PairMemory::create("pair").expect("memory");
        let both = |fd: BorrowedFd<'_>| {
            let bytes = rustix::fs::fstat(fd).expect("its size").st_size as usize;
            (HostileMemory::like(fd, bytes), HostileMemory::like(fd, bytes))
        };
        let hostile = [both(conns.fd()), both(bell), both(pair.fd())];
        World { conns: ConnTable::create("honest").expect("memory"), hostile }
    })
}

/// Numbers that matter: small ones, those round the end, single bits, any.
fn number(input: &mut Input<'_>) -> u64 {
    match input.u8() % 4 {
        0 => u64::from(input.u8()),
        1 => u64::MAX - u64::from(input.u8()),
        2 => 1 << (input.u8() % 64),
        _ => input.u64(),
    }
}

struct Run {
    world: &'static World,
    publisher: RingPublisher,
    control: Arc<RingControl>,
    honest: RingSubscriber,
    hostile: Vec<u32>,
    written: Vec<(usize, usize)>,
    published: u64,
}

impl Run {
    fn new(world: &'static World) -> Option<Run> {
        let config = RingConfig {
            slots: 8,
            depth: 2,
            history: 1,
            chunk_bytes: BYTES,
            sizing: Sizing::Contract,
            holds_per_subscriber: 4,
            memory_limit_bytes: 1 << 14,
            transient_local: false,
            reliability: Reliability::BestEffort,
            prefault_chunks: 0,
            growth_timeout: std::time::Duration::from_millis(1),
        };
        let publisher = RingPublisher::create("publisher", config).ok()?;
        let control = publisher.control();
        let conn = world.conns.allocate().ok()?;
        let attached = control.attach(PeerConfig {
            label: "honest".into(),
            conns: PeerConns::open("honest", world.conns.fd()).ok()?,
            conn: conn.index(),
            depth: 2,
            reliable: false,
            may_fall_behind: true,
            history: 0,
            trusted: true,
            wake: None,
        });
        let config = SubscriberConfig {
            label: "honest".into(),
            publisher: "publisher".into(),
            conn,
            armed: None,
            depth: 2,
            reliable: false,
            holds: 4,
            memory_limit_bytes: 1 << 20,
            lifeline: Lifeline::none(),
            source: [0; 16],
        };
        let (ring, geometry) = (control.ring_fd(), control.geometry());
        let honest = RingSubscriber::connect(config, ring, geometry, attached.ok()?).ok()?;
        let (hostile, written) = (vec![], vec![]);
        let control = publisher.control();
        Some(Run { world, publisher, control, honest, hostile, written, published: 0 })
    }

    fn memory(&self, which: usize) -> &'static HostileMemory {
        &self.world.hostile[which % 3].0
    }

    /// Mostly where things lie: the first words of connections, bells and lines.
    fn write(&mut self, input: &mut Input<'_>) {
        let which = usize::from(input.u8()) % 3;
        let at = match input.u8() % 4 {
            0 => usize::from(input.u16()) * 8,
            _ => 8 + usize::from(input.u8()),
        };
        let memory = self.memory(which);
        memory.set(at, number(input));
        self.written.push((which, at % memory.len()));
    }

    fn come(&mut self, input: &mut Input<'_>) {
        if self.hostile.len() == PEERS_MAX {
            return;
        }
        let Ok(conns) = PeerConns::open("hostile", self.memory(0).fd()) else { return };
        let wake = match input.u8() % 4 {
            0 => None,
            _ => self.wake(input),
        };
        let (conn, depth) = (u32::from(input.u16()), number(input) as usize);
        let reliable = input.u8() % 2 == 1;
        let config = PeerConfig {
            label: "hostile".into(),
            conns,
            conn,
            depth,
            reliable,
            may_fall_behind: !reliable,
            history: usize::from(input.u8()),
            trusted: true,
            wake,
        };
        if let Ok(attached) = self.control.attach(config) {
            self.hostile.push(attached.peer);
        }
    }

    fn wake(&self, input: &mut Input<'_>) -> Option<WakeTarget> {
        Some(WakeTarget {
            pair: PeerPair::open("hostile", self.memory(2).fd()).ok()?,
            bell: PeerBell::open("hostile", self.memory(1).fd()).ok()?,
            armed_line: input.u16() % 8,
            armed_bit: input.u16(),
            ready_line: input.u16() % 520,
            input: input.u16(),
            index: input.u16() % 520,
        })
    }

    fn publish(&mut self) {
        let mut loan = match self.publisher.loan(BYTES) {
            Ok(loan) => loan,
            Err(error) => return assert!(!self.hostile.is_empty(), "{error}"),
        };
        self.published += 1;
        let byte = self.published as u8;
        loan.bytes_mut().fill(byte);
        loan.publish(Meta { len: BYTES, ..Meta::default() }).expect("best effort waits for nobody");
        let sample = self.honest.take().expect("an honest publisher").expect("the message");
        assert!(sample.bytes().len() == BYTES && sample.bytes().iter().all(|found| *found == byte));
        assert_eq!(self.honest.lost(), 0);
    }

    fn go(&mut self, input: &mut Input<'_>) {
        if !self.hostile.is_empty() {
            let peer = self.hostile.swap_remove(usize::from(input.u8()) % self.hostile.len());
            self.control.detach(peer);
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.u8() % 8 {
            0..=2 => self.write(input),
            3 => self.come(input),
            4 => self.go(input),
            _ => self.publish(),
        }
    }

    /// All of them gone, everything is as before.
    fn end(mut self) {
        for peer in self.hostile.drain(..) {
            self.control.detach(peer);
        }
        (0..16).for_each(|_| self.publish());
        for (which, at) in self.written {
            let (hostile, honest) = &self.world.hostile[which];
            hostile.set(at, honest.word(at));
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let come = |wake: u8| {
        let target: &[u8] = if wake == 0 { &[] } else { &[0; 10] };
        [&[3, wake], target, &[0, 0, 0, 4, 0, 1]].concat()
    };
    let script = |steps: &[&[u8]]| steps.concat();
    vec![
        script(&[&[7, 7, 7]]),
        script(&[&come(0), &[7], &[0, 0, 1, 8, 0, 1], &[7, 7, 7, 7, 7, 7, 7]]),
        script(&[&come(1), &[0, 2, 1, 8, 3], &[255; 8], &[7, 7], &[0, 1, 1, 8, 0, 1], &[7]]),
        script(&[&come(1), &come(1), &[7, 7, 4, 0, 7, 4, 0, 7]]),
    ]
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let Some(mut run) = Run::new(world()) else { return };
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        run.step(&mut input);
    }
    run.end();
});
