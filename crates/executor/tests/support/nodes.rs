//! Nodes that do next to nothing, so that what the executor does can be seen.

use std::time::Duration;

use crossdock_comm::{Publisher, Subscriber};
use crossdock_executor::{
    Context, Miss, Node, NodeDescription, NodeError, NodeType, Package, Setup, Trigger,
};
use crossdock_msg::Extra;
use crossdock_msg::types::geometry_msgs::PointStamped;
use crossdock_msg::types::rosgraph_msgs::Clock;

use super::log;

/// All nodes of this file.
pub fn package() -> Package {
    Package::new("probe")
        .node::<Source>()
        .node::<Relay>()
        .node::<Side>()
        .node::<Join>()
        .node::<Faulty>()
        .node::<Simulator>()
        .node::<Ticker>()
        .node::<Clockwork>()
        .node::<Witness>()
        .node::<Stuck>()
        .node::<Guard>()
        .node::<Counter>()
}

/// Publishes `x` with the stamp of `x` seconds.
pub fn publish(publisher: &Publisher<PointStamped>, x: f64) -> Result<(), NodeError> {
    let mut loan = publisher.loan(Extra::none())?;
    let mut message = loan.message();
    message.header().stamp().set_sec(x as i32);
    message.point().set_x(x);
    loan.publish()?;
    Ok(())
}

/// Takes the next message and gives its `x`.
fn take(subscriber: &Subscriber<PointStamped>) -> Result<Option<f64>, NodeError> {
    let sample = subscriber.take()?;
    Ok(sample.map(|sample| sample.message().point().x()))
}

/// Publishes the numbers from 1 on, `burst` of them each time, leaving out multiples of `gap`, and
/// ends the run after `count`.
pub struct Source {
    out: Publisher<PointStamped>,
    next: i64,
    count: i64,
    burst: i64,
    gap: i64,
    finish: bool,
}

impl NodeType for Source {
    const NAME: &'static str = "source";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_millis(1))
            .publisher::<PointStamped>("out")
            .parameter("count", 1, "numbers")
            .parameter("burst", 1, "numbers each time")
            .parameter("gap", 0, "multiples of this are left out; 0: none")
            .parameter("finish", true, "whether the end of its numbers is that of the run")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            out: setup.publisher("out")?,
            next: 1,
            count: setup.parameter("count")?,
            burst: setup.parameter("burst")?,
            gap: setup.parameter("gap")?,
            finish: setup.parameter("finish")?,
        })
    }
}

impl Node for Source {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        for _ in 0..self.burst.min(self.count + 1 - self.next) {
            if self.gap == 0 || self.next % self.gap != 0 {
                publish(&self.out, self.next as f64)?;
            }
            self.next += 1;
        }
        if self.next > self.count && self.finish {
            context.finish(format!("{} numbers", self.count));
        }
        Ok(())
    }
}

/// Publishes what it takes, `copies` times, with `add` added to it.
pub struct Relay {
    input: Subscriber<PointStamped>,
    out: Option<Publisher<PointStamped>>,
    add: f64,
    copies: i64,
    finish_at: f64,
    take: bool,
}

impl NodeType for Relay {
    const NAME: &'static str = "relay";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<PointStamped>("out")
            .optional()
            .parameter("add", 0.0, "added to x")
            .parameter("copies", 1, "messages published for each")
            .parameter("finish_at", 0.0, "x at which the run is to end; 0: none")
            .parameter("take", true, "whether it takes its message at all")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            input: setup.subscriber("in")?,
            out: setup.optional_publisher("out")?,
            add: setup.parameter("add")?,
            copies: setup.parameter("copies")?,
            finish_at: setup.parameter("finish_at")?,
            take: setup.parameter("take")?,
        })
    }
}

impl Node for Relay {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        assert_eq!(context.trigger(), Trigger::Input("in"));
        if !self.take {
            log(format!("{}:not taken", context.node()));
            return Ok(());
        }
        let x = take(&self.input)?.ok_or_else(|| NodeError::new("released without a message"))?;
        log(format!("{}:{x}", context.node()));
        for _ in 0..self.copies {
            if let Some(out) = &self.out {
                publish(out, x + self.add)?;
            }
        }
        if x == self.finish_at {
            context.finish(format!("{x} has come"));
        }
        Ok(())
    }
}

/// Looks at its non-triggering input when it is released by the other.
pub struct Side {
    input: Subscriber<PointStamped>,
    side: Subscriber<PointStamped>,
}

impl NodeType for Side {
    const NAME: &'static str = "side";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .subscriber_latest::<PointStamped>("side")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")?, side: setup.subscriber("side")? })
    }
}

impl Node for Side {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let x = take(&self.input)?.ok_or_else(|| NodeError::new("released without a message"))?;
        let side = self.side.latest()?.map(|sample| sample.message().point().x());
        log(format!("{}:{x}/{side:?}", context.node()));
        Ok(())
    }
}

/// Waits for messages of one stamp on both inputs, and publishes that of `a`.
pub struct Join {
    a: Subscriber<PointStamped>,
    b: Subscriber<PointStamped>,
    out: Option<Publisher<PointStamped>>,
    finish_at: f64,
}

impl NodeType for Join {
    const NAME: &'static str = "join";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("a")
            .subscriber::<PointStamped>("b")
            .publisher::<PointStamped>("out")
            .optional()
            .parameter("finish_at", 0.0, "x of `a` at which the run is to end; 0: none")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            a: setup.subscriber("a")?,
            b: setup.subscriber("b")?,
            out: setup.optional_publisher("out")?,
            finish_at: setup.parameter("finish_at")?,
        })
    }
}

impl Node for Join {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        assert_eq!(context.trigger(), Trigger::Condition);
        let (a, b) = (take(&self.a)?, take(&self.b)?);
        log(format!("{}:{a:?}+{b:?}", context.node()));
        if let (Some(out), Some(a)) = (&self.out, a) {
            publish(out, a)?;
        }
        if a == Some(self.finish_at) {
            context.finish(format!("{} has come", self.finish_at));
        }
        Ok(())
    }
}

/// Fails or panics at its n-th message.
pub struct Faulty {
    input: Subscriber<PointStamped>,
    panics: bool,
    at: f64,
}

impl NodeType for Faulty {
    const NAME: &'static str = "faulty";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .parameter("panics", false, "panic instead of an error")
            .parameter("at", 1.0, "x at which it fails")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            input: setup.subscriber("in")?,
            panics: setup.parameter("panics")?,
            at: setup.parameter("at")?,
        })
    }
}

impl Node for Faulty {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let x = take(&self.input)?;
        if x == Some(self.at) {
            assert!(!self.panics, "cannot bear {x:?}");
            return Err(NodeError::new(format!("does not like {x:?}")));
        }
        Ok(())
    }
}

/// The simulator of a closed loop: publishes the time and takes the command that answers it.
pub struct Simulator {
    out: Publisher<PointStamped>,
    command: Subscriber<PointStamped>,
    steps: i64,
    left: i64,
    fails: bool,
}

impl NodeType for Simulator {
    const NAME: &'static str = "simulator";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_secs(1))
            .subscriber_latest::<PointStamped>("command")
            .publisher::<PointStamped>("out")
            .parameter("steps", 3, "steps until the end")
            .parameter("fails", false, "whether it then fails")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let steps = setup.parameter("steps")?;
        Ok(Self {
            out: setup.publisher("out")?,
            command: setup.subscriber("command")?,
            steps,
            left: steps,
            fails: setup.parameter("fails")?,
        })
    }
}

impl Node for Simulator {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        assert_eq!(context.trigger(), Trigger::Timer("step"));
        let command = self.command.latest()?.map(|sample| sample.message().point().x());
        let (seconds, _) = context.now_stamp();
        log(format!("{}:{seconds} after {command:?}", context.node()));
        if self.left == 0 {
            if self.fails {
                return Err(NodeError::new("can do no more"));
            }
            context.finish(format!("{} steps", self.steps));
            return Ok(());
        }
        self.left -= 1;
        publish(&self.out, seconds.into())
    }
}

/// Publishes what it takes as the time in seconds.
pub struct Clockwork {
    input: Subscriber<PointStamped>,
    clock: Publisher<Clock>,
    finish_at: f64,
}

impl NodeType for Clockwork {
    const NAME: &'static str = "clockwork";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<Clock>("clock")
            .parameter("finish_at", 0.0, "x at which the run is to end; 0: none")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self {
            input: setup.subscriber("in")?,
            clock: setup.publisher("clock")?,
            finish_at: setup.parameter("finish_at")?,
        })
    }
}

impl Node for Clockwork {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let x = take(&self.input)?.ok_or_else(|| NodeError::new("released without a message"))?;
        let mut loan = self.clock.loan(Extra::none())?;
        let mut message = loan.message();
        message.clock().set_sec(x as i32);
        message.clock().set_nanosec((x.fract() * 1e9) as u32);
        loan.publish()?;
        if x == self.finish_at {
            context.finish(format!("{x} has come"));
        }
        Ok(())
    }
}

/// Logs the time at which its timers fire.
pub struct Ticker;

impl NodeType for Ticker {
    const NAME: &'static str = "ticker";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("fast", Duration::from_millis(400))
            .timer("slow", Duration::from_millis(1000))
    }

    fn create(_: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self)
    }
}

impl Node for Ticker {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        log(format!(
            "{}:{} at {} ms",
            context.node(),
            context.trigger(),
            context.now_ns() / 1_000_000
        ));
        Ok(())
    }
}

/// Never returns from its first execution, or from being made.
pub struct Stuck;

impl NodeType for Stuck {
    const NAME: &'static str = "stuck";

    fn description() -> NodeDescription {
        let description = NodeDescription::new().timer("step", Duration::from_millis(1));
        description.parameter("made", true, "whether it can be made")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        if setup.parameter("made")? {
            return Ok(Self);
        }
        stay(format!("{}:is made", setup.node()))
    }
}

impl Node for Stuck {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        stay(format!("{}:executes", context.node()))
    }
}

fn stay(line: String) -> ! {
    log(line);
    loop {
        std::thread::park();
    }
}

/// Swallows what it takes, for at least `busy_us`; logs the limits that it has missed, publishes
/// their number, and ends the run after `misses` of them.
pub struct Guard {
    input: Subscriber<PointStamped>,
    out: Option<Publisher<PointStamped>>,
    busy: Duration,
    missed: i64,
    misses: i64,
}

impl NodeType for Guard {
    const NAME: &'static str = "guard";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .publisher::<PointStamped>("out")
            .optional()
            .parameter("busy_us", 0, "how long it computes, microseconds")
            .parameter("misses", 0, "missed limits after which the run ends; 0: it goes on")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let busy_us: u32 = setup.parameter("busy_us")?;
        Ok(Self {
            input: setup.subscriber("in")?,
            out: setup.optional_publisher("out")?,
            busy: Duration::from_micros(busy_us.into()),
            missed: 0,
            misses: setup.parameter("misses")?,
        })
    }
}

impl Node for Guard {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let begin = std::time::Instant::now();
        take(&self.input)?;
        while begin.elapsed() < self.busy {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn limit_missed(
        &mut self,
        miss: &Miss<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), NodeError> {
        let what = match miss {
            Miss::Budget { took_ns, budget_ns } if took_ns > budget_ns => "budget",
            Miss::Age { input: "in", age_ns, max_age_ns } if age_ns > max_age_ns => "age",
            Miss::Stalled { chain: "whole", waited_ns, max_latency_ns }
                if waited_ns >= max_latency_ns =>
            {
                "stalled"
            }
            Miss::Late { chain: "whole", latency_ns, max_latency_ns }
                if latency_ns > max_latency_ns =>
            {
                "late"
            }
            other => return Err(NodeError::new(format!("{other:?}"))),
        };
        assert_eq!(context.trigger(), Trigger::Limit);
        log(format!("{}:{what}", context.node()));
        self.missed += 1;
        if let Some(out) = &self.out {
            publish(out, self.missed as f64)?;
        }
        if self.missed == self.misses {
            context.finish(format!("{} misses", self.misses));
        }
        Ok(())
    }
}

/// Tells that it has been dropped.
pub struct Witness {
    name: String,
}

impl NodeType for Witness {
    const NAME: &'static str = "witness";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("step", Duration::from_millis(1))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { name: setup.node().to_owned() })
    }
}

impl Node for Witness {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        Ok(())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        log(format!("{}:dropped", self.name));
    }
}

/// Counts what it takes, from the last that it read on `base`.
pub struct Counter {
    input: Subscriber<PointStamped>,
    base: Subscriber<PointStamped>,
    out: Publisher<PointStamped>,
    count: f64,
    last: Option<f64>,
}

impl NodeType for Counter {
    const NAME: &'static str = "counter";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<PointStamped>("in")
            .subscriber_latest::<PointStamped>("base")
            .publisher::<PointStamped>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (input, base) = (setup.subscriber("in")?, setup.subscriber("base")?);
        Ok(Self { input, base, out: setup.publisher("out")?, count: 0.0, last: None })
    }
}

impl Node for Counter {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let x = take(&self.input)?.ok_or_else(|| NodeError::new("released without a message"))?;
        let base = self.base.latest()?.map(|sample| sample.message().point().x());
        let base = base.or(self.last);
        self.last = base;
        self.count += 1.0;
        log(format!("{}:{x} is number {} after {base:?}", context.node(), self.count));
        publish(&self.out, self.count)
    }
}
