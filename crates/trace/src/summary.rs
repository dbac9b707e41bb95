//! Sums up a trace: executions of nodes, messages from publication to take, and how the time of
//! the graph divides into computation and the passing of messages.
//!
//! - An *execution* is from `ros2:callback_start` to `ros2:callback_end` on one thread.
//! - A *message* is a `ros2:rmw_take` and the `ros2:rmw_publish` on its topic with the same time.
//! - *Passing* is counted for messages that run a node: from the publication, or the end of the
//!   execution before on the taking thread if that is later (until then the thread computed), to
//!   the start of the execution that the message ran. *Computation* is the time of all executions.

use crate::model::{Event, Trace};
use crate::schema::EventKind;
use std::collections::{BTreeMap, HashMap};

/// One execution of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The node; empty if its definition is missing.
    pub node: String,
    /// What ran it, in words.
    pub symbol: String,
    /// Its thread, as a place in [`Trace::threads`].
    pub thread: usize,
    /// From when, ns.
    pub start_ns: u64,
    /// Until when, ns.
    pub end_ns: u64,
    callback: u64,
}

/// One message from publication to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its topic.
    pub topic: String,
    /// When it was published, ns.
    pub published_ns: u64,
    /// When it was taken, ns.
    pub taken_ns: u64,
    /// Thread that published it.
    pub from: usize,
    /// Thread that took it.
    pub to: usize,
    /// The execution in which it was taken, as a place in [`Summary::executions`].
    pub execution: Option<usize>,
    /// Whether it ran that execution.
    pub triggered: bool,
    /// Time of its passing, ns; 0 if it ran no execution.
    pub passing_ns: u64,
}

/// One run of a kernel on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRun {
    /// The device; empty if its definition is missing.
    pub device: String,
    /// The executor whose work it was.
    pub executor: String,
    /// The kernel; empty if its definition is missing.
    pub kernel: String,
    /// Process of the executor.
    pub pid: u32,
    /// Tells queues of executors on devices apart.
    pub queue: u64,
    /// From when, ns.
    pub begin_ns: u64,
    /// Until when, ns.
    pub end_ns: u64,
    /// How exact both are, ns.
    pub uncertainty_ns: u64,
}

/// Times of something that happened several times, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How often.
    pub count: usize,
    /// Their sum.
    pub total_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// Of 100, 99 are at most this long.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Times {
    fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let rank = |of_100: usize| {
            let rank = (times.len() * of_100).div_ceil(100).max(1) - 1;
            times.get(rank).copied().unwrap_or(0)
        };
        Self {
            count: times.len(),
            total_ns: times.iter().fold(0, |sum, time_ns| sum.saturating_add(*time_ns)),
            p50_ns: rank(50),
            p99_ns: rank(99),
            max_ns: times.last().copied().unwrap_or(0),
        }
    }
}

/// The executions of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSummary {
    /// The node.
    pub node: String,
    /// How long they took.
    pub executions: Times,
}

/// The messages of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSummary {
    /// The topic.
    pub topic: String,
    /// Messages published.
    pub published: usize,
    /// From publication to take.
    pub latency: Times,
}

/// How the time of the graph divides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Executions, ns.
    pub computation_ns: u64,
    /// Passing of messages that ran a node, ns.
    pub passing_ns: u64,
    /// Such messages.
    pub messages: usize,
}

impl Share {
    /// The passing of messages, of both together, in per cent.
    #[must_use]
    pub fn passing_percent(&self) -> f64 {
        let all = self.computation_ns as f64 + self.passing_ns as f64;
        if all == 0.0 { 0.0 } else { 100.0 * self.passing_ns as f64 / all }
    }
}

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// First and last run-time event, ns.
    pub span_ns: (u64, u64),
    /// Run-time events.
    pub events: usize,
    /// Events that were lost.
    pub discarded: u64,
    /// By name.
    pub nodes: Vec<NodeSummary>,
    /// By name.
    pub topics: Vec<TopicSummary>,
    /// The whole graph.
    pub share: Share,
    /// In order of their starts.
    pub executions: Vec<Execution>,
    /// In order of their takes.
    pub messages: Vec<Message>,
    /// Kernels on devices, in the order in which their ends were told.
    pub kernels: Vec<KernelRun>,
}

/// What handles stand for.
#[derive(Default)]
pub(crate) struct Names {
    nodes: HashMap<u64, String>,
    /// Transport's halves of publishers and subscribers.
    publishers: HashMap<u64, String>,
    subscriptions: HashMap<u64, (String, u64)>,
    /// Library's halves of subscribers: transport's half and node.
    rclcpp: HashMap<u64, (u64, u64)>,
    /// Subscribers: transport's half and node.
    rcl: HashMap<u64, (u64, u64)>,
    timers: HashMap<u64, u64>,
    callbacks: HashMap<u64, Callback>,
    pub(crate) processes: BTreeMap<u32, String>,
    pub(crate) chains: HashMap<u64, String>,
    /// Queues on devices: the device and the executor.
    queues: HashMap<u64, (String, String)>,
    kernels: HashMap<u64, String>,
}

#[derive(Clone, Default)]
struct Callback {
    node: u64,
    symbol: String,
    /// Transport's half of the subscriber whose messages run it.
    subscription: Option<u64>,
    /// Whether a timer runs it.
    of_timer: bool,
}

impl Names {
    /// Those that the initialisation events of a trace say.
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut names = Self::default();
        // Timers are linked to nodes after their callbacks are added.
        let mut timer_callbacks = Vec::new();
        for event in &trace.events {
            let Some(kind) = event.kind() else { continue };
            let (first, second, third) = (event.word(0), event.word(1), event.word(2));
            match kind {
                EventKind::ProcessInit => {
                    let pid = trace.threads[event.thread].pid;
                    names.processes.insert(pid, event.text(1).to_owned());
                }
                EventKind::RclNodeInit => _ = names.nodes.insert(first, event.text(2).to_owned()),
                EventKind::RclPublisherInit => {
                    names.publishers.insert(third, event.text(3).to_owned());
                }
                EventKind::RclSubscriptionInit => {
                    names.subscriptions.insert(third, (event.text(3).to_owned(), second));
                    names.rcl.insert(first, (third, second));
                }
                EventKind::RclcppSubscriptionInit => {
                    let known = names.rcl.get(&first).copied().unwrap_or_default();
                    names.rclcpp.insert(second, known);
                }
                EventKind::RclcppSubscriptionCallbackAdded => {
                    let (rmw, node) = names.rclcpp.get(&first).copied().unwrap_or_default();
                    let callback = names.callbacks.entry(second).or_default();
                    (callback.subscription, callback.node) = (Some(rmw), node);
                }
                EventKind::RclcppTimerCallbackAdded => timer_callbacks.push((first, second)),
                EventKind::RclcppTimerLinkNode => _ = names.timers.insert(first, second),
                EventKind::RclcppCallbackRegister => {
                    event.text(1).clone_into(&mut names.callbacks.entry(first).or_default().symbol);
                }
                EventKind::NodeCallbackAdded => {
                    names.callbacks.entry(second).or_default().node = first;
                }
                EventKind::DeviceQueueInit => {
                    let known = (event.text(1).to_owned(), event.text(2).to_owned());
                    names.queues.insert(first, known);
                }
                EventKind::DeviceKernelInit => {
                    names.kernels.insert(first, event.text(1).to_owned());
                }
                EventKind::ChainInit => _ = names.chains.insert(first, event.text(1).to_owned()),
                _ => {}
            }
        }
        for (timer, callback) in timer_callbacks {
            let node = names.timers.get(&timer).copied().unwrap_or_default();
            let callback = names.callbacks.entry(callback).or_default();
            (callback.node, callback.of_timer) = (node, true);
        }
        names
    }

    fn node_of(&self, callback: &Callback) -> String {
        self.nodes.get(&callback.node).cloned().unwrap_or_default()
    }
}

impl KernelRun {
    fn of(names: &Names, event: &Event, pid: u32) -> Self {
        let [queue, kernel, begin_ns, end_ns, uncertainty_ns] =
            [0, 1, 2, 3, 4].map(|at| event.word(at));
        let (device, executor) = names.queues.get(&queue).cloned().unwrap_or_default();
        let kernel = names.kernels.get(&kernel).cloned().unwrap_or_default();
        Self { device, executor, kernel, pid, queue, begin_ns, end_ns, uncertainty_ns }
    }
}

/// A callback that has started on a thread.
struct Open {
    callback: u64,
    start_ns: u64,
    /// Messages taken in it.
    messages: Vec<usize>,
}

/// One thread while its events are gone through.
#[derive(Default)]
struct OnThread {
    open: Option<Open>,
    last_end_ns: u64,
}

impl Summary {
    /// Of a trace in order of time.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
        let names = Names::of(trace);
        let mut summary = Self { discarded: trace.discarded(), ..Self::default() };
        let published = published(trace, &names);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut threads: Vec<OnThread> = Vec::new();
        threads.resize_with(trace.threads.len(), OnThread::default);
        for event in &trace.events {
            let kind = event.kind();
            if kind.is_some_and(EventKind::is_init) {
                continue;
            }
            summary.note(event.at_ns);
            let thread = &mut threads[event.thread];
            match kind {
                Some(EventKind::CallbackStart) => {
                    let (callback, start_ns) = (event.word(0), event.at_ns);
                    thread.open = Some(Open { callback, start_ns, messages: Vec::new() });
                }
                Some(EventKind::CallbackEnd) => {
                    let open = thread.open.take().filter(|open| open.callback == event.word(0));
                    let previous_ns = std::mem::replace(&mut thread.last_end_ns, event.at_ns);
                    if let Some(open) = open {
                        summary.close(&names, open, (event.thread, event.at_ns), previous_ns);
                    }
                }
                Some(EventKind::RmwPublish) => {
                    if let Some(topic) = names.publishers.get(&event.word(0)) {
                        *counts.entry(topic.clone()).or_default() += 1;
                    }
                }
                Some(EventKind::RmwTake) => {
                    let Some((topic, _)) = names.subscriptions.get(&event.word(0)) else {
                        continue;
                    };
                    let found = published.get(&(topic.as_str(), event.word(2)));
                    let Some(&(published_ns, from)) = found else { continue };
                    summary.messages.push(Message {
                        topic: topic.clone(),
                        published_ns,
                        taken_ns: event.at_ns,
                        from,
                        to: event.thread,
                        execution: None,
                        triggered: false,
                        passing_ns: 0,
                    });
                    if let Some(open) = &mut thread.open {
                        let number = summary.messages.len() - 1;
                        let callback = names.callbacks.get(&open.callback);
                        let runs = callback.and_then(|it| it.subscription) == Some(event.word(0));
                        let first = open.messages.iter().all(|it| !summary.messages[*it].triggered);
                        summary.messages[number].triggered = runs && first;
                        open.messages.push(number);
                    }
                }
                Some(EventKind::DeviceKernel) => {
                    let pid = trace.threads[event.thread].pid;
                    summary.kernels.push(KernelRun::of(&names, event, pid));
                }
                _ => {}
            }
        }
        summary.count(counts);
        summary.share = summary.share_of(|_| true);
        summary
    }

    /// Counts a run-time event.
    fn note(&mut self, at_ns: u64) {
        self.events += 1;
        if self.events == 1 {
            self.span_ns.0 = at_ns;
        }
        self.span_ns.1 = at_ns;
    }

    /// How the time of some nodes divides: their executions, and the messages that ran these.
    #[must_use]
    pub fn share_of(&self, is_one: impl Fn(&str) -> bool) -> Share {
        let is_one = |execution: &&Execution| is_one(&execution.node);
        let mut share = Share::default();
        for execution in self.executions.iter().filter(is_one) {
            let took_ns = execution.end_ns.saturating_sub(execution.start_ns);
            share.computation_ns = share.computation_ns.saturating_add(took_ns);
        }
        for message in self.messages.iter().filter(|message| message.triggered) {
            if message.execution.and_then(|it| self.executions.get(it)).as_ref().is_some_and(is_one)
            {
                share.passing_ns = share.passing_ns.saturating_add(message.passing_ns);
                share.messages += 1;
            }
        }
        share
    }

    /// How long kernels ran, by device and kernel.
    #[must_use]
    pub fn kernel_times(&self) -> Vec<(&str, &str, Times)> {
        let mut kernels: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
        for run in &self.kernels {
            let took_ns = run.end_ns.saturating_sub(run.begin_ns);
            kernels.entry((&run.device, &run.kernel)).or_default().push(took_ns);
        }
        let times = |((device, kernel), times)| (device, kernel, Times::of(times));
        kernels.into_iter().map(times).collect()
    }

    /// A condition has released a node: of the messages that the execution took, the one that was
    /// published last completed their set, and ran it.
    fn released(&mut self, taken: &[usize]) {
        let last = taken.iter().max_by_key(|message| self.messages[**message].published_ns);
        if let Some(last) = last {
            self.messages[*last].triggered = true;
        }
    }

    fn close(
        &mut self,
        names: &Names,
        open: Open,
        (thread, end_ns): (usize, u64),
        previous_ns: u64,
    ) {
        let callback = names.callbacks.get(&open.callback).cloned().unwrap_or_default();
        if callback.subscription.is_none() && !callback.of_timer {
            self.released(&open.messages);
        }
        for message in open.messages {
            let message = &mut self.messages[message];
            message.execution = Some(self.executions.len());
            if message.triggered {
                let from_ns = message.published_ns.max(previous_ns);
                message.passing_ns = open.start_ns.saturating_sub(from_ns);
            }
        }
        self.executions.push(Execution {
            node: names.node_of(&callback),
            symbol: callback.symbol,
            thread,
            start_ns: open.start_ns,
            end_ns,
            callback: open.callback,
        });
    }

    fn count(&mut self, published: BTreeMap<String, usize>) {
        let mut nodes: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for execution in &self.executions {
            let node = match execution.node.as_str() {
                "" => format!("callback {:#x}", execution.callback),
                node => node.to_owned(),
            };
            let took_ns = execution.end_ns.saturating_sub(execution.start_ns);
            nodes.entry(node).or_default().push(took_ns);
        }
        let nodes = nodes.into_iter();
        self.nodes =
            nodes.map(|(node, times)| NodeSummary { node, executions: Times::of(times) }).collect();
        let mut topics: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        published.keys().for_each(|topic| _ = topics.entry(topic.clone()).or_default());
        for message in &self.messages {
            let latency_ns = message.taken_ns.saturating_sub(message.published_ns);
            topics.entry(message.topic.clone()).or_default().push(latency_ns);
        }
        let topics = topics.into_iter().map(|(topic, times)| TopicSummary {
            published: published.get(&topic).copied().unwrap_or(0),
            topic,
            latency: Times::of(times),
        });
        self.topics = topics.collect();
    }
}

/// When and on which thread each message was published, by topic and the time that it carries.
fn published<'a>(trace: &Trace, names: &'a Names) -> HashMap<(&'a str, u64), (u64, usize)> {
    let publishes = trace.events.iter().filter(|it| it.kind() == Some(EventKind::RmwPublish));
    let known = publishes.filter_map(|event| {
        let topic = names.publishers.get(&event.word(0))?;
        Some(((topic.as_str(), event.word(2)), (event.at_ns, event.thread)))
    });
    known.collect()
}
