//! Nodes whose outputs tell everything that they have seen: a digest of triggers, times, stamps and
//! messages, so that two runs agree only if each node has seen the same in the same order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossdock_comm::{Publisher, Sample, Subscriber};
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Package, Setup, Trigger,
};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::PointStamped;

/// Decides how long executions take; another number in each run.
static DELAYS: AtomicU64 = AtomicU64::new(0);

pub(super) fn set_delays(seed: u64) {
    DELAYS.store(seed, Ordering::Relaxed);
}

/// Now and then an execution takes up to two milliseconds, whichever node comes first.
fn delay() {
    let number = mixed(DELAYS.fetch_add(1, Ordering::Relaxed), 1);
    if number.is_multiple_of(5) {
        std::thread::sleep(Duration::from_micros(number / 5 % 2000));
    }
}

/// The next state of a digest (splitmix64).
pub(super) fn mixed(state: u64, value: u64) -> u64 {
    let mut z = state.wrapping_add(value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

pub(super) fn package() -> Package {
    Package::new("mixing").node::<Mixer>().node::<Ticker>()
}

const TRIGGERS: [&str; 2] = ["a", "b"];

struct Mixing {
    triggers: [Option<Subscriber<PointStamped>>; 2],
    latest: Option<Subscriber<PointStamped>>,
    all: Option<Subscriber<PointStamped>>,
    x: Option<Publisher<PointStamped>>,
    y: Option<Publisher<PointStamped>>,
    state: u64,
    executions: i64,
    finish_after: i64,
    asks_the_time: bool,
}

impl Mixing {
    fn description() -> NodeDescription {
        let port = |it: NodeDescription, name| it.subscriber::<PointStamped>(name).optional();
        let it = ["a", "b", "latest", "all"].into_iter().fold(NodeDescription::new(), port);
        let it =
            it.publisher::<PointStamped>("x").optional().publisher::<PointStamped>("y").optional();
        it.parameter("finish_after", 0, "executions after which the run is to end; 0: none")
            .parameter("asks_the_time", false, "whether it publishes what no replay repeats")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let name = setup.node().bytes().fold(0, |state, byte| mixed(state, byte.into()));
        let [a, b] = TRIGGERS.map(|port| setup.optional_subscriber(port));
        Ok(Self {
            triggers: [a?, b?],
            latest: setup.optional_subscriber("latest")?,
            all: setup.optional_subscriber("all")?,
            x: setup.optional_publisher("x")?,
            y: setup.optional_publisher("y")?,
            state: name,
            executions: 0,
            finish_after: setup.parameter("finish_after")?,
            asks_the_time: setup.parameter("asks_the_time")?,
        })
    }

    fn see(&mut self, value: u64) {
        self.state = mixed(self.state, value);
    }

    fn see_message(&mut self, sample: &Sample<PointStamped>) {
        self.see(sample.stamp_ns());
        let message = sample.message();
        self.see(message.header().stamp().sec() as u64);
        self.see(message.header().stamp().nanosec().into());
        self.see(message.point().x().to_bits());
    }

    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.see(context.now_ns());
        if self.asks_the_time {
            self.see(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64);
        }
        let taken = match context.trigger() {
            Trigger::Input(port) => [port == "a", port == "b"],
            Trigger::Condition => [true, true],
            _ => [false, false],
        };
        for (place, _) in taken.into_iter().enumerate().filter(|(_, taken)| *taken) {
            self.see(place as u64);
            let port = self.triggers[place].as_ref();
            let sample = port.map(Subscriber::take).transpose()?.flatten();
            let sample = sample.ok_or_else(|| NodeError::new("released without a message"))?;
            self.see_message(&sample);
        }
        let latest = self.latest.as_ref().map(Subscriber::latest).transpose()?.flatten();
        if let Some(sample) = &latest {
            self.see_message(sample);
        }
        // Bounded by the input's depth for each publisher.
        while let Some(sample) = self.all.as_ref().map(Subscriber::take).transpose()?.flatten() {
            self.see_message(&sample);
        }
        delay();
        if let Some(x) = &self.x {
            publish(x, context, self.state)?;
        }
        if let Some(y) = &self.y {
            for part in 0..[0, 0, 1, 2][(self.state % 4) as usize] {
                publish(y, context, mixed(self.state, part))?;
            }
        }
        self.executions += 1;
        if self.executions == self.finish_after {
            context.finish(format!("{} executions", self.executions));
        }
        Ok(())
    }
}

fn publish(
    publisher: &Publisher<PointStamped>,
    context: &Context<'_>,
    state: u64,
) -> Result<(), NodeError> {
    let mut loan = publisher.loan(Extra::none())?;
    let (seconds, nanoseconds) = context.now_stamp();
    let mut message = loan.message();
    message.header().stamp().set_sec(seconds);
    message.header().stamp().set_nanosec(nanoseconds);
    // A double holds 53 bits exactly.
    message.point().set_x((state >> 11) as f64);
    loan.publish()?;
    Ok(())
}

/// Runs for messages only.
pub(super) struct Mixer(Mixing);

impl NodeType for Mixer {
    const NAME: &'static str = "mixer";

    fn description() -> NodeDescription {
        Mixing::description()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Mixing::create(setup).map(Self)
    }
}

impl Node for Mixer {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.0.execute(context)
    }
}

/// Runs for a timer as well.
pub(super) struct Ticker(Mixing);

impl NodeType for Ticker {
    const NAME: &'static str = "ticker";

    fn description() -> NodeDescription {
        Mixing::description().timer_of_graph("tick")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Mixing::create(setup).map(Self)
    }
}

impl Node for Ticker {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.0.execute(context)
    }
}
