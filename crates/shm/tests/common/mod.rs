//! A publisher and subscribers joined inside one process, over the same memory objects that a
//! socket would carry.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use crossdock_shm::*;
use std::time::Duration;

/// What a subscribing process has: its connections, its bells, and what it shares with the
/// publishing one.
pub struct Side {
    pub conns: ConnTable,
    pub bells: BellMemory,
    pub pair: PairMemory,
}

/// The same, as the publishing process maps it.
#[derive(Clone)]
pub struct Peer {
    pub conns: PeerConns,
    pub pair: PeerPair,
}

pub fn side() -> (Side, Peer) {
    let side = Side {
        conns: ConnTable::create("conns").unwrap(),
        bells: BellMemory::new("bells"),
        pair: PairMemory::create("pair").unwrap(),
    };
    let peer = Peer {
        conns: PeerConns::open("conns", side.conns.fd()).unwrap(),
        pair: PeerPair::open("pair", side.pair.fd()).unwrap(),
    };
    (side, peer)
}

/// What subscribers call the publisher.
pub const SOURCE: [u8; 16] = *b"one of the tests";

/// A budget that is never used up.
pub fn boundless() -> std::sync::Arc<Budget> {
    std::sync::Arc::new(Budget::new(u64::MAX))
}

pub fn config() -> RingConfig {
    RingConfig {
        slots: 64,
        depth: 8,
        history: 1,
        chunk_bytes: 64,
        sizing: Sizing::Contract,
        holds_per_subscriber: 4,
        memory_limit_bytes: 1 << 20,
        transient_local: false,
        reliability: Reliability::BestEffort,
        prefault_chunks: 0,
        growth_timeout: Duration::from_secs(5),
    }
}

pub fn reliable(timeout_ms: u64) -> Reliability {
    Reliability::Reliable { timeout: Duration::from_millis(timeout_ms), lifespan: None }
}

/// How a subscriber joins.
#[derive(Clone)]
pub struct Join {
    pub label: String,
    pub depth: u64,
    pub reliable: bool,
    pub history: usize,
    /// Does the publisher wait for it in any way?
    pub trusted: bool,
    /// The subscriber does not trust the publisher: what the publisher's memory may take.
    pub allowance: Option<Allowance>,
    /// Its executor and its input there.
    pub doorbell: Option<(DoorbellControl, u16)>,
}

pub fn join(label: &str) -> Join {
    Join {
        label: label.into(),
        depth: u64::MAX,
        reliable: false,
        history: 0,
        trusted: true,
        allowance: None,
        doorbell: None,
    }
}

/// Connects; the number is the peer's at the publisher.
pub fn connect(
    control: &RingControl,
    side: &Side,
    peer: &Peer,
    join: Join,
) -> (RingSubscriber, u32) {
    let conn = side.conns.allocate().unwrap();
    // One number per publisher of the peer.
    let key = std::ptr::from_ref(control).addr() as u64;
    let armed = join.doorbell.as_ref().map(|_| side.pair.allocate_armed(key).unwrap());
    let wake = join.doorbell.as_ref().map(|(doorbell, input)| {
        let joined = doorbell.join(&side.pair).unwrap();
        let (armed_line, armed_bit) = armed.as_ref().unwrap().place();
        WakeTarget {
            pair: peer.pair.clone(),
            bell: PeerBell::open("bell", side.bells.fd(joined.bell).unwrap()).unwrap(),
            armed_line,
            armed_bit,
            ready_line: joined.ready_line,
            input: *input,
            index: joined.bell,
        }
    });
    let attached = control
        .attach(PeerConfig {
            label: join.label.clone(),
            conns: peer.conns.clone(),
            conn: conn.index(),
            depth: if join.depth == u64::MAX { 1 } else { join.depth as usize },
            reliable: join.reliable,
            may_fall_behind: !join.reliable,
            trusted: join.trusted,
            history: join.history,
            wake,
        })
        .unwrap();
    let config = SubscriberConfig {
        label: join.label,
        publisher: control.label().into(),
        conn,
        armed,
        depth: join.depth,
        reliable: join.reliable,
        holds: 15,
        memory_limit_bytes: 1 << 32,
        lifeline: Lifeline::none(),
        source: SOURCE,
    };
    let (ring, geometry, limit) =
        (control.ring_fd(), control.geometry(), config.memory_limit_bytes);
    let memory = match &join.allowance {
        None => RingMemory::open(&config.publisher, ring, geometry, limit),
        Some(it) => RingMemory::open_distant(&config.publisher, ring, geometry, limit, it),
    };
    let subscriber = RingSubscriber::connect_mapped(config, &memory.unwrap(), attached).unwrap();
    for segment in control.segments().unwrap() {
        use std::os::fd::AsFd;
        subscriber.control().add_segment(segment.index, segment.bytes, segment.fd.as_fd()).unwrap();
    }
    (subscriber, attached.peer)
}

/// As many descriptors as that for the memory of a stranger's publishers.
pub fn allowance(descriptors: u64) -> Allowance {
    Allowance { descriptors: std::sync::Arc::new(Budget::new(descriptors)) }
}

/// Publishes `value` as 8 bytes.
pub fn publish(publisher: &RingPublisher, value: u64) -> u64 {
    let mut loan = publisher.loan(8).unwrap();
    loan.bytes_mut().copy_from_slice(&value.to_le_bytes());
    loan.publish(Meta { len: 8, ..Meta::default() }).unwrap()
}

pub fn value(sample: &RawSample) -> u64 {
    u64::from_le_bytes(sample.bytes().try_into().unwrap())
}

/// Takes one message that must be there.
pub fn take(subscriber: &mut RingSubscriber) -> u64 {
    value(&subscriber.take().unwrap().expect("a message"))
}
