//! Prints what claims of shared buffers cost on this machine, beside so many others.
//!
//! `cargo run --release -p crossdock-comm --example claims`. Not a test: figures from a shared
//! machine are ratios.
#![allow(clippy::print_stdout, reason = "it prints figures")]

use crossdock_comm::{BufferError, ClaimError, Part, Participant, ParticipantOptions, Rendezvous};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const COUNT: u64 = 1 << 20;

/// Median and best of some rounds of `each`, in ns per call.
fn measure<E>(name: &str, mut each: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    const CALLS: u32 = 10_000;
    let mut rounds = Vec::new();
    for _ in 0..31 {
        let started = Instant::now();
        for _ in 0..CALLS {
            each()?;
        }
        rounds.push(started.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    rounds.sort_by(f64::total_cmp);
    println!("{name:58} p50 {:8.1} ns   min {:8.1} ns", rounds[15], rounds[0]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = ParticipantOptions::new(0, "claims");
    let participant =
        Participant::open(ParticipantOptions { rendezvous: Rendezvous::Abstract, ..options })?;
    let buffers = participant.buffers("node");
    let buffer = buffers.create::<f32>("array", COUNT)?;
    let right = Part::every(2, COUNT / 2, COUNT)?;
    for others in [0, 1, 4, 31, 63] {
        let odd = Part::every(2, 1, COUNT)?;
        let held = (0..others).map(|index| buffer.read(odd.share(index, others)));
        let held = held.collect::<Result<Vec<_>, _>>()?;
        let name = format!("claim + release, {} others held", held.len());
        measure::<ClaimError>(&name, || buffer.write(right).map(|claim| drop(black_box(claim))))?;
    }
    let token = buffer.token(right, Part::NONE, 1);
    measure::<BufferError>("open of a token's buffer, known", || {
        buffers.open::<f32>(&token).map(|buffer| drop(black_box(buffer)))
    })?;
    Ok(())
}
