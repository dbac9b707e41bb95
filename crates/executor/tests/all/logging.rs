//! What nodes log, as a reader of `/rosout` sees it.

use crate::support;
use std::cell::Cell;
use std::time::Duration;

use crossdock_comm::{Qos, SubscriberOptions};
use crossdock_executor::{
    Context, LogLevel, Logger, Node, NodeDescription, NodeError, NodeType, Package, Remote, RunEnd,
    Setup, log_debug, log_error, log_fatal, log_info, log_warn,
};
use crossdock_graph::{Graph, Mapping, Time};
use crossdock_msg::types::rcl_interfaces::Log;
use support::{Process, checked_with};

const GRAPH: &[u8] = b"crossdock: 1
name: talking
nodes: { talker: { package: logs, type: talker } }
";

/// Ticks of the talker.
const TICKS: u32 = 5;

/// Logs at each tick, in all ways.
struct Talker {
    logger: Logger,
    ticks: u32,
}

impl NodeType for Talker {
    const NAME: &'static str = "talker";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("tick", Duration::from_millis(1))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { logger: setup.logger()?, ticks: 0 })
    }
}

impl Node for Talker {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        self.ticks += 1;
        let evaluated = Cell::new(false);
        log_debug!(self.logger, "debug {:?}", evaluated.replace(true));
        assert_eq!(evaluated.get(), self.logger.level() == LogLevel::Debug);
        log_info!(self.logger.throttle(Duration::from_secs(3600)), "an hour {}", self.ticks);
        log_info!(self.logger.throttle(Duration::from_nanos(1)), "always {}", self.ticks);
        log_warn!(self.logger.once(), "once {}", self.ticks);
        if self.ticks == TICKS {
            log_error!(&self.logger, "error");
            self.logger.set_level(LogLevel::Fatal);
            log_error!(self.logger, "nobody reads this");
            log_fatal!(self.logger, "{}", "long ".repeat(1000));
            context.finish("it has ticked");
        }
        Ok(())
    }
}

/// A line as it came: level and text.
fn lines(level: LogLevel) -> Vec<(u8, String)> {
    let package = || Package::new("logs").node::<Talker>();
    let graph = Graph::from_yaml("logs", GRAPH).expect("a graph");
    let mapping = Mapping::one_process_per_node(&graph);
    let mut plan = checked_with(&package(), &graph, &mapping, Time::Wall);
    plan.processes[0].executors[0].nodes[0].log_level = level;
    let process = Process::with_package(&format!("logging_{}", level.name()), plan, package());
    let reader = process
        .participant
        .subscriber::<Log>(SubscriberOptions {
            node: "reader",
            topic: "/rosout",
            qos: Qos::best_effort(64),
            doorbell: None,
            group: None,
        })
        .expect("a subscriber");
    let mut executor = process.executor(0, &Remote::new()).expect("an executor");
    assert!(matches!(executor.run(), Ok(RunEnd::Finished { .. })));
    let mut lines = Vec::new();
    while let Some(sample) = reader.take().expect("a sound message") {
        let line = sample.message();
        let text = |text: crossdock_msg::block::Text<'_>| text.string_lossy();
        assert_eq!(text(line.name().expect("a name")), "talker");
        assert!(text(line.file().expect("a file")).ends_with("logging.rs") && line.line() > 0);
        assert!(line.stamp().sec() > 1_700_000_000);
        lines.push((line.level(), text(line.msg().expect("a text"))));
    }
    assert_eq!(reader.lost(), 0);
    lines
}

#[test]
fn lines_below_the_level_cost_nothing_and_others_arrive_once_throttled_or_whole() {
    let debug = lines(LogLevel::Debug);
    let of = |level: LogLevel| debug.iter().filter(move |(of, _)| *of == level as u8);
    assert_eq!(of(LogLevel::Debug).count(), TICKS as usize);
    let texts = |level| of(level).map(|(_, text)| text.as_str()).collect::<Vec<_>>();
    let always: Vec<String> = (1..=TICKS).map(|tick| format!("always {tick}")).collect();
    let infos = texts(LogLevel::Info);
    assert_eq!(infos[0], "an hour 1");
    assert_eq!(infos[1..], always);
    assert_eq!(texts(LogLevel::Warn), ["once 1"]);
    assert_eq!(texts(LogLevel::Error), ["error"]);
    let fatal = texts(LogLevel::Fatal);
    assert!(fatal.len() == 1 && fatal[0].len() == 1024 && fatal[0].ends_with("..."), "{fatal:?}");
    // The places have passed their lines in this process already.
    let errors = lines(LogLevel::Warn);
    let levels: Vec<u8> = errors.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [LogLevel::Error as u8, LogLevel::Fatal as u8]);
}
