//! The daemon of Eclipse iceoryx, without which Cyclone DDS has no shared memory. Started for a
//! run, with room for its largest messages, and ended with it.

use crate::Failure;
use crate::failure::While;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

const PROGRAM: &str = "iox-roudi";
/// What it says when it serves.
const READY: &str = "ready for clients";
const READY_WITHIN: Duration = Duration::from_secs(20);
/// Chunk sizes and how many there are of each: for ten nodes that keep four messages each. Beside
/// a message a chunk holds headers.
const POOLS: [(usize, usize); 6] = [
    (1 << 10, 1000),
    (20 << 10, 500),
    (80 << 10, 300),
    (300 << 10, 200),
    ((1 << 20) + (4 << 10), 200),
    ((8 << 20) + (4 << 10), 40),
];

/// The daemon, as long as this is there.
#[derive(Debug)]
pub struct Roudi(Child);

impl Roudi {
    /// Starts it and waits until it serves.
    pub fn start(folder: &Path) -> Result<Self, Failure> {
        let mut text = String::from("[general]\nversion = 1\n[[segment]]\n");
        for (size, count) in POOLS {
            // Writing into a string cannot fail.
            let _ = write!(text, "[[segment.mempool]]\nsize = {size}\ncount = {count}\n");
        }
        let file = folder.join("roudi.toml");
        std::fs::write(&file, text).during("writing the daemon's configuration")?;
        let child = Command::new(PROGRAM)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut daemon = Self(child.during(&format!("starting {PROGRAM} (package iceoryx)"))?);
        let output = daemon.0.stdout.take().during("reading from the daemon")?;
        let (sender, ready) = channel();
        // Reads to the end, so that the daemon never waits for a reader.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if line.contains(READY) {
                    // Nobody listens any more: nothing is lost.
                    let _ = sender.send(());
                }
            }
        });
        let why = |_| format!("it has not said {READY:?}; another one may be running");
        ready.recv_timeout(READY_WITHIN).map_err(why).during(&format!("starting {PROGRAM}"))?;
        Ok(daemon)
    }
}

impl Drop for Roudi {
    fn drop(&mut self) {
        // It has no children and keeps nothing but shared memory, which it removes on SIGTERM.
        let id = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.0.wait();
    }
}
