//! Two machines: networks of the test's own, with a wire between them that loses, delays and limits
//! packets, and can be cut without a word. Needs root, `/dev/net/tun`, `ip` and `nsenter`.

use crate::graphs::{Place, hear, heard, listener, meet, reliable, say, talker, until};
use crate::restarts::{RIGHT_AGAIN, publishers};
use crate::running::Computer;
use crossdock_comm::PortKind;
use crossdock_sight::lost_of;
use crossdock_suite::Running;
use crossdock_test_support::skip;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What is known of a peer that says nothing is forgotten after so long.
const LEASE: Duration = Duration::from_secs(2);

/// Two computers with a wire between them.
struct Machines {
    computers: [Computer; 2],
    wire: Child,
}

/// How good the wire is.
#[derive(Clone, Copy, Default)]
struct Quality {
    /// Share of packets.
    loss: f64,
    delay_ms: u32,
    /// Each way; 0: no limit.
    rate_mbit: u32,
    is_cut: bool,
}

impl Machines {
    /// `None`, and a skip: this process may not make networks.
    fn new(test: &str) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/machines.py");
        let mut command = Command::new("python3");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut wire = command.spawn().ok()?;
        let mut line = String::new();
        BufReader::new(wire.stdout.as_mut()?).read_line(&mut line).ok()?;
        let Ok(processes) = serde_json::from_str::<[u32; 2]>(&line) else {
            let said = wire.wait_with_output().ok()?;
            let said = String::from_utf8_lossy(&said.stderr);
            skip(&format!("no networks of its own: {}", said.lines().last().unwrap_or_default()));
            return None;
        };
        let computer = |number: usize| {
            let mut computer = Computer::new(&format!("{test}-{number}"));
            computer.network_of = Some(processes[number]);
            computer
        };
        Some(Self { computers: [0, 1].map(computer), wire })
    }

    fn set(&mut self, quality: Quality) {
        let Quality { loss, delay_ms, rate_mbit, is_cut } = quality;
        let order = json!({
            "loss": loss, "delay_ms": delay_ms, "rate_mbit": rate_mbit, "is_cut": is_cut
        });
        writeln!(self.wire.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    /// Starts the command on both: a router on the first, a client on the second.
    fn join(&self) -> [Running; 2] {
        let places = ["listen", "connect"];
        let modes = ["router", "client"];
        [0, 1].map(|number| {
            let (mode, place) = (modes[number], places[number]);
            let file = self.computers[number].folder.join("net.json5");
            let text = json!({
                "mode": mode,
                place: { "endpoints": ["tcp/10.77.0.1:7447"] },
                "scouting": { "multicast": { "enabled": false } },
                "timestamping": { "enabled": true },
                "transport": { "link": { "tx": { "lease": LEASE.as_millis() as u64 } } },
            });
            std::fs::write(&file, text.to_string()).unwrap();
            let file = file.to_str().unwrap();
            Running::spawn(self.computers[number].crossdock(&["net", "--config", file]))
        })
    }

    fn graphs(&self) -> [Place; 2] {
        [0, 1].map(|number| Place::below(&self.computers[number].folder))
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.wire.stdin.take());
        let _ = self.wire.wait();
    }
}

fn lost_of_talkers(graph: &Place) -> u64 {
    graph.look().ports(PortKind::Publisher).map(|(_, port)| lost_of(port).network).sum()
}

#[test]
#[ignore = "long: needs root and networks of its own"]
fn a_wire_that_loses_and_delays_packets_loses_no_reliable_message() {
    let Some(mut machines) = Machines::new("bad-wire") else { return };
    machines.set(Quality { loss: 0.01, delay_ms: 10, rate_mbit: 20, ..Quality::default() });
    let _commands = machines.join();
    let [here, there] = machines.graphs();
    let (here, there) = (here.open("here"), there.open("there"));
    let talks = talker(&here, "/chatter", reliable(1000));
    let listens = listener(&there, "/chatter", reliable(1000));
    meet(&talks, &[&listens]);
    let texts: Vec<String> = (0..500).map(|number| format!("{number:0200}")).collect();
    texts.iter().for_each(|text| say(&talks, text));
    assert_eq!(hear(&listens, texts.len()), texts);
}

#[test]
#[ignore = "long: needs root and networks of its own"]
fn a_cut_that_nobody_hears_of_is_noticed_after_the_lease_and_heals() {
    let Some(mut machines) = Machines::new("cut") else { return };
    let _commands = machines.join();
    let [left, right] = machines.graphs();
    let (here, there) = (left.open("here"), right.open("there"));
    let talks = talker(&here, "/chatter", reliable(100));
    let listens = listener(&there, "/chatter", reliable(100));
    let kept = reliable(1).transient_local();
    let keeps = talker(&here, "/map", kept);
    say(&keeps, "kept");
    meet(&talks, &[&listens]);
    assert_eq!(hear(&listener(&there, "/map", kept), 1), ["kept"]);
    let view = there.graph().unwrap();
    until("the far talker is seen", || publishers(&view, "/chatter") == 1);

    machines.set(Quality { is_cut: true, ..Quality::default() });
    let cut = Instant::now();
    // Before this side notices: later on it is said to nobody.
    say(&talks, "lost");
    until("the far talker is gone", || publishers(&view, "/chatter") == 0);
    let took = cut.elapsed();
    // The lease is looked at four times in its time.
    assert!(took < LEASE + LEASE / 4 + RIGHT_AGAIN, "{took:?}");

    machines.set(Quality::default());
    until("the far talker is back", || publishers(&view, "/chatter") == 1);
    meet(&talks, &[&listens]);
    say(&talks, "once");
    assert_eq!(hear(&listens, 1), ["once"]);
    until("what was lost in the cut is counted", || lost_of_talkers(&right) >= 1);
    assert_eq!(hear(&listener(&there, "/map", kept), 1), ["kept"]);
    assert_eq!(publishers(&view, "/chatter"), 1);
    assert_eq!(heard(&listens), Vec::<String>::new());
}
