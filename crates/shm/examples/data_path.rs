//! Prints what the data path costs on this machine, to be compared with an earlier run on the same
//! machine.
//!
//! `cargo run --release -p crossdock-shm --example data_path`. Not a test: figures from a shared
//! machine are ratios.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use crossdock_shm::*;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Median and best of some rounds of `each`, in ns per call.
fn measure(name: &str, calls: u32, mut each: impl FnMut()) {
    let mut rounds: Vec<f64> = (0..31)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                each();
            }
            started.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:58} p50 {:8.1} ns   min {:8.1} ns", rounds[15], rounds[0]);
}

fn send(publisher: &RingPublisher) {
    let mut loan = publisher.loan(64).unwrap();
    loan.bytes_mut()[0] = 1;
    black_box(loan.publish(Meta { len: 64, ..Meta::default() }).unwrap());
}

fn one_thread() {
    let publisher = RingPublisher::create("bench", config()).unwrap();
    measure("publish, nobody connected", 10_000, || send(&publisher));
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("reader"));
    measure("empty poll", 10_000, || assert!(!black_box(subscriber.is_ready())));
    measure("empty take", 10_000, || assert!(black_box(subscriber.take()).unwrap().is_none()));
    measure("publish + take + drop, best effort", 10_000, || {
        send(&publisher);
        black_box(subscriber.take().unwrap().unwrap());
    });
    let contract = RingConfig { reliability: reliable(1000), ..config() };
    let publisher = RingPublisher::create("bench", contract).unwrap();
    let how = Join { reliable: true, ..join("reader") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    measure("publish + take + drop, reliable", 10_000, || {
        send(&publisher);
        black_box(subscriber.take().unwrap().unwrap());
    });
    let publisher = RingPublisher::create("bench", config()).unwrap();
    let link =
        LocalLink::new(LocalOptions { label: "link".into(), depth: 8, reliable: true, holds: 4 });
    publisher.link(&link).unwrap();
    measure("publish + take + drop, local link", 10_000, || {
        send(&publisher);
        black_box(link.take().unwrap().unwrap());
    });
}

fn many_connected() {
    for (processes, count) in [(1, 8), (1, 128), (16, 128), (128, 128)] {
        let publisher = RingPublisher::create("bench", config()).unwrap();
        let mut kept = Vec::new();
        let sides: Vec<_> = (0..processes).map(|_| side()).collect();
        for index in 0..count {
            let (side, peer) = &sides[index % processes];
            let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
            let how = Join { doorbell: Some((doorbell.control(), 0)), ..join("idle") };
            let subscriber = connect(&publisher.control(), side, peer, how).0;
            kept.push((doorbell, subscriber));
        }
        let name = format!("publish, {count} triggering in {processes} processes, not armed");
        measure(&name, 10_000, || send(&publisher));
    }
}

fn armed_sleepers(count: usize) {
    let publisher = RingPublisher::create("bench", config()).unwrap();
    let (side, peer) = side();
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..count)
        .map(|_| {
            let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
            let control = doorbell.control();
            let how = Join { doorbell: Some((control.clone(), 0)), ..join("sleeper") };
            let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
            let stop = stop.clone();
            let thread = std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    doorbell.drain(|_| ());
                    while subscriber.take().unwrap().is_some() {}
                    doorbell.sleep(Some(Duration::from_millis(500)), || subscriber.arm());
                }
            });
            (control, thread)
        })
        .collect();
    let mut costs: Vec<u128> = (0..40)
        .map(|_| {
            // All of them sleep by then; the figure is the publisher's time, not theirs.
            std::thread::sleep(Duration::from_millis(20));
            let started = Instant::now();
            send(&publisher);
            started.elapsed().as_nanos()
        })
        .collect();
    costs.sort_unstable();
    let counters = publisher.counters();
    println!(
        "publish, {count:3} armed sleepers in one process                p50 {:8} ns   max {:8} \
         ns   ({} woken, {} relayed)",
        costs[20], costs[39], counters.wakes, counters.relayed
    );
    stop.store(true, Ordering::Relaxed);
    for (control, thread) in threads {
        control.wake();
        thread.join().unwrap();
    }
}

fn large(bytes: usize) {
    let contract = RingConfig {
        chunk_bytes: bytes,
        memory_limit_bytes: 1 << 30,
        prefault_chunks: 4,
        ..config()
    };
    let publisher = RingPublisher::create("bench", contract).unwrap();
    let (side, peer) = side();
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, join("reader"));
    measure(&format!("{bytes} bytes written and read"), 20, || {
        let mut loan = publisher.loan(bytes).unwrap();
        loan.bytes_mut().fill(1);
        loan.publish(Meta { len: bytes, ..Meta::default() }).unwrap();
        let sample = subscriber.take().unwrap().unwrap();
        black_box(sample.bytes().iter().map(|byte| u64::from(*byte)).sum::<u64>());
    });
}

fn main() {
    one_thread();
    many_connected();
    for count in [1, 4, 8, 128] {
        armed_sleepers(count);
    }
    large(1 << 20);
    large(8 << 20);
}
