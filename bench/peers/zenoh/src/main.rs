//! Eclipse Zenoh as its users have it on one machine: peers that are joined directly, without a
//! router, over Unix sockets; messages in its shared memory from the size on at which zenoh itself
//! would put them there; no batching (`express`); a channel, on which the receiver sleeps.

use crossdock_bench::control::{ChildPlan, Role};
use crossdock_bench::failure::While;
use crossdock_bench::findings::report;
use crossdock_bench::payload::Payload;
use crossdock_bench::systems::{Link, Opener, PATIENCE, Topics, Use};
use crossdock_bench::{Failure, child, programs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use zenoh::handlers::FifoChannelHandler;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::Sample;
use zenoh::shm::{
    BlockOn, GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder,
};
use zenoh::{Config, Wait};

/// Below this zenoh's default is to send bytes along.
const SHARED_FROM_BYTES: usize = 3072;
/// Messages that may be under way, and then some room for what the provider keeps beside them.
const MESSAGES: usize = 8;
/// For declarations on their way when the last subscriber says that it is there.
const SETTLE: Duration = Duration::from_millis(300);

struct Zenoh;

struct ZenohLink<'a> {
    publisher: Option<Publisher<'a>>,
    subscriber: Option<Subscriber<FifoChannelHandler<Sample>>>,
    provider: Option<ShmProvider<PosixShmProviderBackend>>,
    folder: PathBuf,
    /// Names the files with which subscribers of `out` say that they are there.
    heard_by: Option<String>,
    payload: Payload,
    /// Unshared messages are written here.
    plain: Vec<u8>,
}

fn plain(topic: &str) -> String {
    topic.replace(['/', '-'], "_")
}

fn socket(folder: &Path, topic: &str) -> String {
    format!("[\"unixsock-stream/{}/z_{}\"]", folder.display(), plain(topic))
}

/// The publisher of a topic listens, and its subscribers connect.
fn config(plan: &ChildPlan, topics: &Topics) -> Result<Config, Failure> {
    let mut config = Config::default();
    let mut set = |key: &str, value: &str| {
        config.insert_json5(key, value).during(&format!("setting zenoh's {key} to {value}"))
    };
    set("mode", "\"peer\"")?;
    set("scouting/multicast/enabled", "false")?;
    set("scouting/gossip/enabled", "false")?;
    set("transport/shared_memory/enabled", "true")?;
    let alone = plan.role == Role::HandOver;
    let of = |topic: &Option<String>| match topic {
        Some(topic) if !alone => socket(&plan.folder, topic),
        _ => "[]".to_owned(),
    };
    set("listen/endpoints", &of(&topics.out))?;
    set("connect/endpoints", &of(&topics.into))?;
    set("connect/timeout_ms", &PATIENCE.as_millis().to_string())?;
    set("connect/exit_on_failure", "true")?;
    let retry = "{ period_init_ms: 20, period_max_ms: 50, period_increase_factor: 1 }";
    set("connect/retry", retry)?;
    Ok(config)
}

impl Opener for Zenoh {
    fn open(&self, plan: &ChildPlan, work: impl Use) -> Result<(), Failure> {
        let topics = Topics::of(plan);
        let config = config(plan, &topics)?;
        let session = zenoh::open(config).wait().during("opening a zenoh session")?;
        let shared = plan.payload_bytes >= SHARED_FROM_BYTES && topics.out.is_some();
        let room = plan.payload_bytes * MESSAGES + (1 << 16);
        let provider = shared.then(|| ShmProviderBuilder::default_backend(room).wait());
        let provider = provider.transpose().during("making zenoh's shared memory")?;
        let publisher = topics.out.as_deref().map(|topic| {
            let publisher = session.declare_publisher(plain(topic)).express(true);
            publisher.congestion_control(CongestionControl::Block).wait()
        });
        let publisher = publisher.transpose().during("declaring a publisher")?;
        let subscriber =
            topics.into.as_deref().map(|topic| session.declare_subscriber(plain(topic)).wait());
        let subscriber = subscriber.transpose().during("declaring a subscriber")?;
        if let Some(topic) = &topics.into {
            let name = format!("zenoh-{}-{}", plain(topic), std::process::id());
            std::fs::write(plan.folder.join(name), "").during("telling that this side is there")?;
        }
        let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
        work.run(&mut ZenohLink {
            publisher,
            subscriber,
            provider,
            folder: plan.folder.clone(),
            heard_by: topics.out.map(|topic| format!("zenoh-{}-", plain(&topic))),
            payload,
            plain: vec![0; payload.bytes],
        })
    }
}

impl Link for ZenohLink<'_> {
    fn connected(&mut self, peers: usize) -> Result<bool, Failure> {
        let (Some(prefix), Some(publisher)) = (&self.heard_by, &self.publisher) else {
            return Ok(true);
        };
        let mut there = 0;
        for file in std::fs::read_dir(&self.folder).during("looking for subscribers")? {
            let name = file.during("looking for subscribers")?.file_name();
            there += usize::from(name.to_string_lossy().starts_with(prefix));
        }
        let status = publisher.matching_status().wait().during("looking for subscribers")?;
        if there != peers || !status.matching() {
            return Ok(false);
        }
        std::thread::sleep(SETTLE);
        Ok(true)
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let publisher = self.publisher.as_ref().during("publishing")?;
        if let Some(provider) = &self.provider {
            let policy =
                provider.alloc(self.payload.bytes).with_policy::<BlockOn<GarbageCollect>>();
            let mut memory = policy.wait().during("allocating shared memory")?;
            self.payload.write(&mut memory, number);
            return publisher.put(memory).wait().during("publishing");
        }
        self.payload.write(&mut self.plain, number);
        publisher.put(self.plain.as_slice()).wait().during("publishing")
    }

    fn receive(&mut self, number: u64) -> Result<(), Failure> {
        let subscriber = self.subscriber.as_ref().during("receiving")?;
        // Bounded by the coordinator, which ends processes that do not answer.
        let sample = subscriber.recv().during("receiving")?;
        self.payload.read(&sample.payload().to_bytes(), number)
    }

    fn poll(&mut self) -> Result<bool, Failure> {
        let subscriber = self.subscriber.as_ref().during("polling")?;
        Ok(subscriber.try_recv().during("polling")?.is_some())
    }
}

fn main() -> ExitCode {
    match programs::plan_of_child() {
        Some(Ok(plan)) => {
            child::run_peer(&plan, &Zenoh);
            ExitCode::SUCCESS
        }
        Some(Err(failure)) => report(Err(failure)),
        None => report(Err(Failure::new("starting", "this is started by `peers`"))),
    }
}
