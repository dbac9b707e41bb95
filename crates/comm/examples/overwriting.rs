//! How long a publish takes beside a reader that runs and beside one that stands still, if the
//! publisher overwrites. Prints the distribution of both and their quotient.
//!
//! `cargo run -p crossdock-comm --release --example overwriting`

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crossdock_comm::{
    DoorbellOptions, Participant, ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous,
    SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use rustix::process::{Pid, Signal, kill_process};

const TOPIC: &str = "/image";
const QOS: Qos = Qos::reliable(4, Duration::from_secs(1)).overwriting();
const BYTES: usize = 64 << 10;
/// Rounds, each with both readers, so that both see the same load of the computer.
const ROUNDS: usize = 10;
const MESSAGES: usize = 1000;
/// Between two messages.
const PAUSE: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(10);

fn open(name: &str, domain_id: u32) -> Result<Participant, Box<dyn Error>> {
    let options = ParticipantOptions::new(domain_id, name);
    Ok(Participant::open(ParticipantOptions { rendezvous: Rendezvous::Abstract, ..options })?)
}

/// Takes all that comes, until it is killed.
fn read(domain_id: u32) -> Result<(), Box<dyn Error>> {
    let participant = open("reader", domain_id)?;
    let bell = participant.doorbell(DoorbellOptions::default())?;
    let options = SubscriberOptions {
        node: "reader",
        topic: TOPIC,
        qos: QOS,
        doorbell: Some(&bell),
        group: None,
    };
    let input = participant.subscriber::<Image>(options)?;
    let handle = input.handle();
    loop {
        bell.drain(|_| ());
        while input.take()?.is_some() {}
        bell.sleep(Some(Duration::from_millis(100)), || handle.arm());
    }
}

fn measure(output: &Publisher<Image>) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut times = Vec::with_capacity(MESSAGES);
    for number in 0..MESSAGES {
        let started = Instant::now();
        let mut loan = output.loan(Extra::none().bytes(BYTES))?;
        loan.message().set_height(number as u32);
        loan.message().data_uninit(BYTES)?.fill(number as u8);
        loan.publish().map_err(|refused| refused.reason)?;
        times.push(started.elapsed().as_nanos() as u64);
        std::thread::sleep(PAUSE);
    }
    Ok(times)
}

fn signal(child: &Child, signal: Signal) -> Result<(), Box<dyn Error>> {
    Ok(kill_process(Pid::from_raw(child.id() as i32).ok_or("no process")?, signal)?)
}

fn report(what: &str, times: &mut [u64]) -> f64 {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    println!("{what}: p50 {:.1} us, p99 {:.1} us, max {:.1} us", at(0.5), at(0.99), at(1.0));
    at(0.99)
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(domain) = std::env::args().nth(1) {
        return read(domain.parse()?);
    }
    let domain = std::process::id();
    let participant = open("writer", domain)?;
    let options = PublisherOptions {
        node: "writer",
        topic: TOPIC,
        qos: QOS,
        max_bytes: Some(BYTES + 1024),
        group: None,
    };
    let output = participant.publisher::<Image>(options)?;
    let mut reader = Command::new(std::env::current_exe()?)
        .arg(domain.to_string())
        .stdin(Stdio::null())
        .spawn()?;
    if !participant.wait_until(PATIENCE, || output.peers() == 1) {
        return Err("the reader does not come".into());
    }
    measure(&output)?;
    let (mut running, mut stopped) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        running.extend(measure(&output)?);
        signal(&reader, Signal::STOP)?;
        stopped.extend(measure(&output)?);
        signal(&reader, Signal::CONT)?;
    }
    let beside_running = report("beside a running reader", &mut running);
    let beside_stopped = report("beside a stopped reader", &mut stopped);
    println!("quotient of p99: {:.2} (at most 1.5)", beside_stopped / beside_running);
    reader.kill()?;
    reader.wait()?;
    Ok(())
}
