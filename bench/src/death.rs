//! Deaths: how long it takes from SIGKILL until the others know, and until nobody answers under the
//! dead process's name, by the private memory that it had. The dead process is this program again.

use crate::Failure;
use crate::failure::While;
use crate::samples::{Percentiles, percentiles};
use crossdock_comm::{
    Access, Event, Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous,
    SubscriberOptions,
};
use crossdock_msg::types::std_msgs::UInt8MultiArray;
use crossdock_shm::rendezvous::{Location, PeerName, RendezvousConfig, Visit};
use serde::Serialize;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// One size of process, with or without its keeper.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Private memory of the dead process, all of it touched, in pages of 4 KiB.
    pub private_mib: usize,
    /// Did it have a keeper?
    pub keeper: bool,
    /// From SIGKILL until a peer's thread has the event and its ports are disconnected.
    pub known: Percentiles,
    /// From SIGKILL until a connection to its name is refused: a new one may take its place.
    pub name_free: Percentiles,
    /// Kills.
    pub samples: usize,
}

fn options(folder: &Path, name: &str) -> ParticipantOptions {
    let rendezvous = Rendezvous::Folder(folder.to_path_buf());
    ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, name) }
}

/// The process that will be killed: `MIB KEEPER FOLDER`.
pub fn victim(arguments: &[String]) -> Result<(), Failure> {
    let [mib, keeper, folder] = arguments else {
        return Err(Failure::new("reading what to be", "usage: death victim MIB KEEPER FOLDER"));
    };
    let mib: usize = mib.parse().during("reading the size")?;
    let memory = private_memory(mib << 20)?;
    let mut options = options(Path::new(folder), "victim");
    options.keeper = keeper == "true";
    let participant = Participant::open(options).during("joining")?;
    let qos = Qos::best_effort(4);
    let output = PublisherOptions {
        node: "victim",
        topic: "/from",
        qos,
        max_bytes: Some(4096),
        group: None,
    };
    let publisher = participant.publisher::<UInt8MultiArray>(output).during("publishing")?;
    let input =
        SubscriberOptions { node: "victim", topic: "/to", qos, doorbell: None, group: None };
    let subscriber = participant.subscriber::<UInt8MultiArray>(input).during("subscribing")?;
    let connected = || publisher.peers() == 1 && subscriber.matched() == 1;
    participant.wait_until(PATIENCE, connected).then_some(()).during("connecting")?;
    println!("{}", participant.peer_name());
    std::io::stdout().flush().during("saying the name")?;
    // Until it is killed, or the one who would do it has gone.
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    std::hint::black_box(memory);
    Ok(())
}

/// Touched, in small pages as a heap that grew has them.
fn private_memory(bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes).during("reserving memory")?;
    let start = memory.as_mut_ptr() as usize;
    let first = start.next_multiple_of(4096);
    let inside = (start + memory.capacity()).saturating_sub(first) / 4096 * 4096;
    // SAFETY: whole pages of a block that this process owns; only the kind of pages is chosen.
    let advised = unsafe {
        rustix::mm::madvise(first as *mut _, inside, rustix::mm::Advice::LinuxNoHugepage)
    };
    if bytes > 1 << 20 {
        advised.during("asking for small pages")?;
    }
    memory.resize(bytes, 1);
    Ok(memory)
}

fn start(mib: usize, keeper: bool, folder: &Path) -> Result<(Child, PeerName), Failure> {
    let program = std::env::current_exe().during("finding this program")?;
    let mut child = Command::new(program)
        .args(["victim", &mib.to_string(), &keeper.to_string()])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .during("starting a process")?;
    let output = child.stdout.take().during("hearing it")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).during("hearing its name")?;
    let name = line.trim().parse().during("reading its name")?;
    Ok((child, name))
}

/// Kills `samples` processes.
pub fn measure(mib: usize, keeper: bool, samples: usize, folder: &Path) -> Result<Row, Failure> {
    let folder: PathBuf = folder.join(format!("death-{mib}-{keeper}"));
    let participant = Participant::open(options(&folder, "survivor")).during("joining")?;
    let qos = Qos::best_effort(4);
    let output = PublisherOptions {
        node: "survivor",
        topic: "/to",
        qos,
        max_bytes: Some(4096),
        group: None,
    };
    let publisher = participant.publisher::<UInt8MultiArray>(output).during("publishing")?;
    let input =
        SubscriberOptions { node: "survivor", topic: "/from", qos, doorbell: None, group: None };
    let subscriber = participant.subscriber::<UInt8MultiArray>(input).during("subscribing")?;
    let config = RendezvousConfig {
        location: Location::Folder(folder.clone()),
        domain_id: 0,
        access: Access::SameUser,
    };
    let visit = Visit::open(&config).during("visiting")?;
    let (mut known, mut free) = (vec![], vec![]);
    for _ in 0..samples {
        let (mut child, name) = start(mib, keeper, &folder)?;
        let connected = || publisher.peers() == 1 && subscriber.matched() == 1;
        participant.wait_until(PATIENCE, connected).then_some(()).during("connecting")?;
        // What its start has left in the queues of both is done.
        std::thread::sleep(Duration::from_millis(5));
        participant.take_events();
        let killed = Instant::now();
        child.kill().during("killing it")?;
        let mut left = false;
        let heard = participant.wait_until(PATIENCE, || {
            left |= (participant.take_events().0.iter())
                .any(|event| matches!(event, Event::PeerLeft(_)));
            left && publisher.peers() == 0 && subscriber.matched() == 0
        });
        heard.then_some(()).during("hearing of its death")?;
        known.push(killed.elapsed().as_nanos() as u64);
        while visit.connect(name).during("asking for its name")?.is_some() {
            (killed.elapsed() < PATIENCE).then_some(()).during("waiting for its name")?;
            std::thread::yield_now();
        }
        free.push(killed.elapsed().as_nanos() as u64);
        child.wait().during("taking its remains")?;
    }
    let row = |samples: &mut Vec<u64>| percentiles(samples, 1.0).during("counting kills");
    Ok(Row {
        private_mib: mib,
        keeper,
        known: row(&mut known)?,
        name_free: row(&mut free)?,
        samples,
    })
}
