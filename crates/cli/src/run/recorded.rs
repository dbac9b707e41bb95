//! What the launcher records of a run, and how: topics with the quality of service of their
//! publishers.

use super::{calls, log};
use crossdock_comm::Qos;
use crossdock_executor::transport_qos;
use crossdock_graph::{OutputPlan, Plan, ProcessPlan, Time};
use crossdock_record::{BagReader, LogTime, RecorderOptions, TopicToRecord};

/// The launcher records with the quality of service that publishers offer, so that a reliable topic
/// is recorded whole and a best-effort one is never held up.
pub(super) fn recorder_options(
    plan: &Plan,
    bag: Option<&BagReader>,
    chosen: &[String],
) -> RecorderOptions {
    let recorded = plan.topics.iter().filter(|topic| topic.recorded);
    let topics = recorded.map(|topic| to_record(plan, &topic.name));
    let topics = topics.chain(log::to_record(plan, chosen));
    let topics = topics.chain(calls::to_record(plan, chosen, LIVE_DEPTH));
    let simulated = plan.all_processes().any(|process| process.time != Time::Wall);
    let log_time = match (&plan.steps, simulated, bag) {
        (Some(_), ..) => LogTime::Stepped,
        (None, true, Some(bag)) => LogTime::Simulated { start_ns: bag.start_ns() },
        // Without a recording a node in lock step makes the time.
        (None, true, None) => LogTime::Lockstep,
        (None, false, _) => LogTime::Wall,
    };
    RecorderOptions::new("recorder", topics.collect(), log_time)
}

/// How many messages of a live topic may wait for the recorder. Beyond it they are lost, and
/// counted.
const LIVE_DEPTH: usize = 256;

/// A topic as it is recorded. In simulated time, publishers wait for the recorder as they wait for
/// nodes. In real time they never do: a slow disk costs messages of the recording, not of the
/// graph.
fn to_record(plan: &Plan, topic: &str) -> TopicToRecord {
    let offered = offered(plan, topic);
    let live = plan.all_processes().all(|process| process.time == Time::Wall);
    let qos = match live {
        true => Qos {
            durability: offered.durability,
            ..Qos::best_effort(offered.depth.max(LIVE_DEPTH))
        },
        false => offered,
    };
    TopicToRecord { offered: vec![offered.into()], ..TopicToRecord::new(topic, qos) }
}

/// The weakest quality of service that any publisher of the topic in the graph offers. Publishers
/// wait for the recorder when the deepest of their subscribers is full: in steps it is as deep as
/// they are.
fn offered(plan: &Plan, topic: &str) -> Qos {
    let nodes = || plan.all_processes().flat_map(ProcessPlan::nodes);
    let qos = weakest(nodes().flat_map(|node| &node.outputs), topic);
    let inputs = nodes().flat_map(|node| &node.inputs).filter(|input| input.topic == topic);
    let deepest = inputs.map(|input| input.qos.depth as usize).max().unwrap_or(0);
    match plan.steps {
        Some(_) => Qos { depth: qos.depth.max(deepest), ..qos },
        None => qos,
    }
}

fn weakest<'p>(outputs: impl Iterator<Item = &'p OutputPlan>, topic: &str) -> Qos {
    let offers =
        outputs.filter(|output| output.topic == topic).map(|output| transport_qos(&output.qos));
    let weakest = offers.min_by_key(Qos::is_reliable);
    weakest.unwrap_or(Qos::best_effort(16))
}
