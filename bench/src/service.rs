//! What a call costs between two processes, beside two hops of topics that carry the same bytes:
//! the measuring process calls and publishes, the other one answers and publishes back. Also what a
//! call costs while other clients are connected, on rings of their own (as services are) and on one
//! topic of responses that all clients subscribe to and look for theirs in (what services could
//! have been).

use crate::Failure;
use crate::failure::While;
use crate::machine::pin;
use crossdock_comm::service::RequestLoan;
use crossdock_comm::{
    Client, ClientOptions, Doorbell, DoorbellOptions, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Rendezvous, Server, ServerOptions, Subscriber, SubscriberHandle,
    SubscriberOptions,
};
use crossdock_msg::types::std_msgs::UInt8MultiArray;
use crossdock_msg::{Extra, Service, TypeHash};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Clients beside the one that is measured, where there are others.
pub const OTHERS: usize = 7;

const LIMIT: Duration = Duration::from_secs(20);
/// Room for the parts of a message around its bytes.
const AROUND_BYTES: usize = 256;

/// Bytes there, bytes back: the message of the topics.
#[derive(Debug)]
pub enum Echo {}

impl Service for Echo {
    const TYPE_NAME: &'static str = "bench/srv/Echo";
    const TYPE_HASH: TypeHash = TypeHash([1; 32]);
    type Request = UInt8MultiArray;
    type Response = UInt8MultiArray;
}

/// How a side waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It looks again and again.
    Polling,
    /// It sleeps in the kernel.
    Asleep,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Two topics, reliable as services are.
    Topics,
    /// A call.
    Service,
    /// Two topics; other sleeping subscribers also take the second one.
    Filtered,
}

/// One set-up of both processes.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Bytes of a message each way; the first eight are written and read.
    pub bytes: usize,
    /// How both sides wait.
    pub waits: Waits,
    /// Whether [`OTHERS`] clients and subscribers are there that do not call.
    pub crowded: bool,
    /// Processors of the measuring process and of the other one.
    pub cpus: [usize; 2],
}

fn open(folder: &Path) -> Result<Participant, Failure> {
    let rendezvous = Rendezvous::Folder(folder.join("crossdock"));
    let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "bench") };
    Participant::open(options).during("opening a participant")
}

fn qos() -> Qos {
    Qos::reliable(8, LIMIT)
}

fn publisher(
    participant: &Participant,
    topic: &str,
    bytes: usize,
) -> Result<Publisher<UInt8MultiArray>, Failure> {
    let max_bytes = Some(bytes + AROUND_BYTES);
    let options = PublisherOptions { node: "bench", topic, qos: qos(), max_bytes, group: None };
    participant.publisher(options).during("making a publisher")
}

fn subscriber(
    participant: &Participant,
    topic: &str,
    doorbell: &Doorbell,
) -> Result<Subscriber<UInt8MultiArray>, Failure> {
    let doorbell = Some(doorbell);
    let options = SubscriberOptions { node: "bench", topic, qos: qos(), doorbell, group: None };
    participant.subscriber(options).during("making a subscriber")
}

fn publish(out: &Publisher<UInt8MultiArray>, number: u64, bytes: usize) -> Result<(), Failure> {
    let mut loan = out.loan(Extra::none().bytes(bytes)).during("loaning")?;
    let mut message = loan.message();
    message.data_uninit(bytes).during("building")?[..8].copy_from_slice(&number.to_le_bytes());
    loan.publish().map_err(|refused| Failure::new("publishing", refused.reason))
}

fn number_of(data: &[u8]) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&data[..8]);
    u64::from_le_bytes(number)
}

/// The answering process, and the others' process; both end with the measuring one.
#[derive(Debug)]
pub struct Answering {
    children: Vec<Child>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It has ended already, or ends now.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The role of a child process, as words of its command line.
pub const CHILD: &str = "answer";

impl Case {
    fn words(&self, role: &str) -> [String; 5] {
        let waits = if self.waits == Waits::Asleep { "asleep" } else { "polling" };
        [
            CHILD.to_owned(),
            role.to_owned(),
            self.bytes.to_string(),
            waits.to_owned(),
            self.cpus[1].to_string(),
        ]
    }

    /// Starts the other processes of the case.
    pub fn start(&self, folder: &Path) -> Result<Answering, Failure> {
        let mut children = Vec::new();
        for role in ["server", "others"].into_iter().take(1 + usize::from(self.crowded)) {
            let program = std::env::current_exe().during("finding this program")?;
            let child = Command::new(program)
                .args(self.words(role))
                .arg(folder)
                .stdin(Stdio::piped())
                .spawn()
                .during("starting a process")?;
            children.push(child);
        }
        Ok(Answering { children })
    }
}

/// Plays the part of a child process whose words these are.
pub fn answer(words: &[String]) -> Result<(), Failure> {
    let [_, role, bytes, waits, cpu, folder] = words else {
        return Err(Failure::new("reading the part to play", "six words are expected"));
    };
    let bytes = bytes.parse().during("reading a number of bytes")?;
    let cpu = cpu.parse().during("reading a processor")?;
    // The parent's end closes the pipe.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let folder = Path::new(folder);
    match (role.as_str(), waits.as_str()) {
        ("server", "asleep") => serve(folder, bytes, Waits::Asleep, cpu),
        ("server", _) => serve(folder, bytes, Waits::Polling, cpu),
        _ => crowd(folder, cpu),
    }
}

fn serve(folder: &Path, bytes: usize, waits: Waits, cpu: usize) -> Result<(), Failure> {
    pin(cpu)?;
    let participant = open(folder)?;
    let bell = participant.doorbell(DoorbellOptions::default()).during("making a doorbell")?;
    let lanes = [("/ping", "/pong"), ("/ping_all", "/pong_all")];
    let mut topics = Vec::new();
    for (ping, pong) in lanes {
        let pings = subscriber(&participant, ping, &bell)?;
        topics.push((pings.handle(), pings, publisher(&participant, pong, bytes)?));
    }
    let server: Server<Echo> = participant
        .server(ServerOptions {
            service: "/echo",
            max_response_bytes: Some(bytes + AROUND_BYTES),
            doorbell: Some(&bell),
            ..ServerOptions::default()
        })
        .during("making a server")?;
    let handle = server.handle();
    loop {
        let mut idle = true;
        for (_, pings, pongs) in &topics {
            if let Some(sample) = pings.take().during("taking")? {
                let number = number_of(sample.message().data().during("reading")?);
                drop(sample);
                publish(pongs, number, bytes)?;
                idle = false;
            }
        }
        if let Some(request) = server.take().during("taking a request")? {
            let number = number_of(request.message().data().during("reading")?);
            let mut response = request.loan(Extra::none().bytes(bytes)).during("loaning")?;
            let mut message = response.message();
            let data = message.data_uninit(bytes).during("building")?;
            data[..8].copy_from_slice(&number.to_le_bytes());
            response.send().map_err(|refused| Failure::new("answering", refused.reason))?;
            idle = false;
        }
        match waits {
            Waits::Asleep if idle => {
                bell.drain(|_| {});
                let arm = |handle: &SubscriberHandle| handle.arm();
                bell.sleep(None, || {
                    let ready = topics.iter().fold(false, |ready, it| arm(&it.0) | ready);
                    handle.arm() | ready
                });
            }
            Waits::Polling if idle => std::hint::spin_loop(),
            _ => {}
        }
    }
}

/// Clients and subscribers that are there and ask for nothing.
fn crowd(folder: &Path, cpu: usize) -> Result<(), Failure> {
    pin(cpu)?;
    let threads = (0..OTHERS).map(|_| {
        let participant = open(folder)?;
        Ok(std::thread::spawn(move || -> Result<(), Failure> {
            let bell = participant.doorbell(DoorbellOptions::default());
            let bell = bell.during("making a doorbell")?;
            let pongs = subscriber(&participant, "/pong_all", &bell)?;
            let _client: Client<Echo> = participant
                .client(ClientOptions {
                    service: "/echo",
                    doorbell: Some(&bell),
                    ..ClientOptions::default()
                })
                .during("making a client")?;
            loop {
                while pongs.take().during("taking")?.is_some() {}
                bell.drain(|_| {});
                bell.sleep(None, || pongs.handle().arm());
            }
        }))
    });
    let threads: Result<Vec<_>, Failure> = threads.collect();
    for thread in threads? {
        thread.join().map_err(|_| Failure::new("running a client", "it panicked"))??;
    }
    Ok(())
}

/// The measuring side.
#[derive(Debug)]
pub struct Measuring {
    case: Case,
    bell: Doorbell,
    client: Client<Echo>,
    lanes: [(Publisher<UInt8MultiArray>, Subscriber<UInt8MultiArray>); 2],
    number: u64,
    _participant: Participant,
}

impl Measuring {
    /// Opens all ports and waits until they are connected.
    pub fn open(case: Case, folder: &Path) -> Result<Self, Failure> {
        pin(case.cpus[0])?;
        let participant = open(folder)?;
        let bell = participant.doorbell(DoorbellOptions::default()).during("making a doorbell")?;
        let lane = |ping, pong| -> Result<_, Failure> {
            Ok((publisher(&participant, ping, case.bytes)?, subscriber(&participant, pong, &bell)?))
        };
        let lanes = [lane("/ping", "/pong")?, lane("/ping_all", "/pong_all")?];
        let client: Client<Echo> = participant
            .client(ClientOptions {
                service: "/echo",
                max_request_bytes: Some(case.bytes + AROUND_BYTES),
                ..ClientOptions::default()
            })
            .during("making a client")?;
        let joined =
            |lane: &(Publisher<_>, Subscriber<_>)| lane.0.matched() == 1 && lane.1.matched() == 1;
        let connected = || lanes.iter().all(joined) && client.is_connected();
        let connected = participant.wait_until(LIMIT, connected);
        connected.then_some(()).during("awaiting the other side")?;
        // The others of a crowd are nobody's peers here.
        std::thread::sleep(Duration::from_millis(if case.crowded { 300 } else { 20 }));
        Ok(Self { case, bell, client, lanes, number: 0, _participant: participant })
    }

    /// Times of round trips, in ns.
    pub fn measure(&mut self, way: Way, count: usize) -> Result<Vec<u64>, Failure> {
        let mut samples_ns = Vec::with_capacity(count);
        let mut before = Instant::now();
        for _ in 0..count {
            self.number += 1;
            match way {
                Way::Topics => self.hop_twice(0)?,
                Way::Filtered => self.hop_twice(1)?,
                Way::Service => self.call()?,
            }
            let now = Instant::now();
            samples_ns.push((now - before).as_nanos() as u64);
            before = now;
        }
        Ok(samples_ns)
    }

    #[inline]
    fn hop_twice(&self, lane: usize) -> Result<(), Failure> {
        let (pings, pongs) = &self.lanes[lane];
        publish(pings, self.number, self.case.bytes)?;
        loop {
            if let Some(sample) = pongs.take().during("taking")? {
                return self.check(sample.message().data().during("reading")?);
            }
            match self.case.waits {
                Waits::Polling => std::hint::spin_loop(),
                Waits::Asleep => {
                    self.bell.drain(|_| {});
                    self.bell.sleep(Some(LIMIT), || pongs.handle().arm());
                }
            }
        }
    }

    #[inline]
    fn call(&self) -> Result<(), Failure> {
        let bytes = self.case.bytes;
        let mut request: RequestLoan<'_, Echo> =
            self.client.loan(Extra::none().bytes(bytes)).during("loaning")?;
        let mut message = request.message();
        let data = message.data_uninit(bytes).during("building")?;
        data[..8].copy_from_slice(&self.number.to_le_bytes());
        if self.case.waits == Waits::Asleep {
            let response = request.call(LIMIT).during("calling")?;
            return self.check(response.message().data().during("reading")?);
        }
        request.send(LIMIT).map_err(|refused| Failure::new("sending", refused.reason))?;
        loop {
            if let Some(outcome) = self.client.take().during("taking")? {
                let response = outcome.result.during("calling")?;
                return self.check(response.message().data().during("reading")?);
            }
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn check(&self, data: &[u8]) -> Result<(), Failure> {
        match number_of(data) == self.number && data.len() == self.case.bytes {
            true => Ok(()),
            false => Err(Failure::new("reading", "it is the answer to something else")),
        }
    }
}
