//! A trace in the protobuf form that ui.perfetto.dev opens: threads and the queues of devices as
//! tracks, executions and kernels as slices, messages as arrows between them, events of node
//! authors as marks with their values.
//!
//! The few messages that this takes are encoded here by hand, with the field numbers of Perfetto's
//! `trace_packet.proto`.

use crate::model::{Event, Trace, Value};
use crate::schema::{EventKind, FieldType};
use crate::summary::{KernelRun, Names, Summary};
use std::collections::HashMap;

/// Field numbers.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;

    pub(super) const PACKET_TIMESTAMP: u32 = 8;
    pub(super) const PACKET_SEQUENCE: u32 = 10;
    pub(super) const PACKET_EVENT: u32 = 11;
    pub(super) const PACKET_SEQUENCE_FLAGS: u32 = 13;
    pub(super) const PACKET_TRACK: u32 = 60;

    pub(super) const TRACK_UUID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const TRACK_PROCESS: u32 = 3;
    pub(super) const TRACK_THREAD: u32 = 4;
    pub(super) const TRACK_PARENT: u32 = 5;
    pub(super) const PROCESS_PID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;
    pub(super) const THREAD_PID: u32 = 1;
    pub(super) const THREAD_TID: u32 = 2;
    pub(super) const THREAD_NAME: u32 = 5;

    pub(super) const EVENT_ANNOTATION: u32 = 4;
    pub(super) const EVENT_TYPE: u32 = 9;
    pub(super) const EVENT_TRACK: u32 = 11;
    pub(super) const EVENT_CATEGORY: u32 = 22;
    pub(super) const EVENT_NAME: u32 = 23;
    pub(super) const EVENT_FLOW: u32 = 47;
    pub(super) const EVENT_LAST_FLOW: u32 = 48;

    pub(super) const ANNOTATION_UNSIGNED: u32 = 3;
    pub(super) const ANNOTATION_SIGNED: u32 = 4;
    pub(super) const ANNOTATION_FLOAT: u32 = 5;
    pub(super) const ANNOTATION_TEXT: u32 = 6;
    pub(super) const ANNOTATION_POINTER: u32 = 7;
    pub(super) const ANNOTATION_NAME: u32 = 10;
}

/// Values of `TrackEvent.type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

/// One protobuf message under construction.
#[derive(Default)]
struct Proto(Vec<u8>);

impl Proto {
    fn varint(&mut self, mut value: u64) {
        // At most ten bytes.
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn fixed(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u32, message: Proto) -> Self {
        self.bytes(field, &message.0)
    }
}

/// The bytes of a `.perfetto-trace` file, for a trace in order of time.
#[must_use]
pub fn write(trace: &Trace) -> Vec<u8> {
    let names = Names::of(trace);
    let summary = Summary::of(trace);
    let mut out = Out { bytes: Proto::default(), first: true };
    out.tracks(trace, &names);
    // Slices and flows of executions; the rest as marks.
    let mut marks: Vec<(u64, usize, Proto)> = Vec::new();
    let mut flows: Vec<Vec<u64>> = vec![Vec::new(); summary.executions.len()];
    for (number, message) in summary.messages.iter().enumerate() {
        let flow = number as u64 + 1;
        let published = event(INSTANT, message.from).text(field::EVENT_CATEGORY, "ros2");
        let published = published
            .text(field::EVENT_NAME, &format!("publish {}", message.topic))
            .fixed(field::EVENT_FLOW, flow);
        marks.push((message.published_ns, 1, published));
        match message.execution {
            Some(execution) => flows[execution].push(flow),
            None => {
                let taken = event(INSTANT, message.to)
                    .text(field::EVENT_NAME, &format!("take {}", message.topic))
                    .fixed(field::EVENT_LAST_FLOW, flow);
                marks.push((message.taken_ns, 1, taken));
            }
        }
    }
    for (execution, flows) in summary.executions.iter().zip(flows) {
        let name = if execution.node.is_empty() { &execution.symbol } else { &execution.node };
        let begin = event(BEGIN, execution.thread)
            .text(field::EVENT_CATEGORY, "ros2")
            .text(field::EVENT_NAME, name);
        let symbol = Proto::default()
            .text(field::ANNOTATION_NAME, "symbol")
            .text(field::ANNOTATION_TEXT, &execution.symbol);
        let begin = begin.message(field::EVENT_ANNOTATION, symbol);
        let begin =
            flows.into_iter().fold(begin, |it, flow| it.fixed(field::EVENT_LAST_FLOW, flow));
        marks.push((execution.start_ns, 0, begin));
        marks.push((execution.end_ns, 2, event(END, execution.thread)));
    }
    kernels(&summary.kernels, &mut out, &mut marks);
    for it in &trace.events {
        if let Some(mark) = mark(trace, &names, it) {
            marks.push((it.at_ns, 1, mark));
        }
    }
    // Of one time, what begins comes first and what ends last.
    marks.sort_by_key(|(at_ns, order, _)| (*at_ns, *order));
    for (at_ns, _, mark) in marks {
        out.packet(Some(at_ns), field::PACKET_EVENT, mark);
    }
    out.bytes.0
}

/// A track for each queue of a device, and its kernels there.
fn kernels(runs: &[KernelRun], out: &mut Out, marks: &mut Vec<(u64, usize, Proto)>) {
    // Queues by their handles, and when the last kernel there ended.
    let mut queues: HashMap<u64, (u64, u64)> = HashMap::new();
    for run in runs {
        let next = queues.len() as u64;
        let (number, last_ns) = queues.entry(run.queue).or_insert_with(|| {
            let track = Proto::default()
                .number(field::TRACK_UUID, queue_track(next))
                .number(field::TRACK_PARENT, process_track(run.pid))
                .text(field::TRACK_NAME, &format!("{} of {}", run.device, run.executor));
            out.packet(None, field::PACKET_TRACK, track);
            (next, 0)
        });
        // A queue runs one kernel after the other, but their times are only as exact as they are.
        let begin_ns = run.begin_ns.max(*last_ns);
        let end_ns = run.end_ns.max(begin_ns);
        *last_ns = end_ns;
        let uncertain = Proto::default()
            .text(field::ANNOTATION_NAME, "uncertainty_ns")
            .number(field::ANNOTATION_UNSIGNED, run.uncertainty_ns);
        let begin = on_track(BEGIN, queue_track(*number))
            .text(field::EVENT_CATEGORY, "crossdock")
            .text(field::EVENT_NAME, &run.kernel)
            .message(field::EVENT_ANNOTATION, uncertain);
        marks.push((begin_ns, 0, begin));
        marks.push((end_ns, 2, on_track(END, queue_track(*number))));
    }
}

struct Out {
    bytes: Proto,
    first: bool,
}

impl Out {
    fn packet(&mut self, at_ns: Option<u64>, field: u32, message: Proto) {
        let mut packet = Proto::default();
        if let Some(at_ns) = at_ns {
            packet = packet.number(field::PACKET_TIMESTAMP, at_ns);
        }
        packet = packet.number(field::PACKET_SEQUENCE, 1);
        if std::mem::take(&mut self.first) {
            // What came before on this sequence (nothing) is not needed.
            packet = packet.number(field::PACKET_SEQUENCE_FLAGS, 1);
        }
        let packet = packet.message(field, message);
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = bytes.message(field::TRACE_PACKET, packet);
    }

    fn tracks(&mut self, trace: &Trace, names: &Names) {
        let mut processes: Vec<u32> = trace.threads.iter().map(|thread| thread.pid).collect();
        processes.sort_unstable();
        processes.dedup();
        for pid in processes {
            let name = names.processes.get(&pid).cloned().unwrap_or_default();
            let process = Proto::default()
                .number(field::PROCESS_PID, pid.into())
                .text(field::PROCESS_NAME, &name);
            let track = Proto::default()
                .number(field::TRACK_UUID, process_track(pid))
                .message(field::TRACK_PROCESS, process);
            self.packet(None, field::PACKET_TRACK, track);
        }
        for (number, thread) in trace.threads.iter().enumerate() {
            let described = Proto::default()
                .number(field::THREAD_PID, thread.pid.into())
                .number(field::THREAD_TID, thread.tid.into())
                .text(field::THREAD_NAME, &thread.name);
            let track = Proto::default()
                .number(field::TRACK_UUID, thread_track(number))
                .number(field::TRACK_PARENT, process_track(thread.pid))
                .text(field::TRACK_NAME, &thread.name)
                .message(field::TRACK_THREAD, described);
            self.packet(None, field::PACKET_TRACK, track);
        }
    }
}

fn thread_track(thread: usize) -> u64 {
    thread as u64 + 1
}

fn process_track(pid: u32) -> u64 {
    1 << 40 | u64::from(pid)
}

fn queue_track(queue: u64) -> u64 {
    1 << 41 | queue
}

fn event(kind: u64, thread: usize) -> Proto {
    on_track(kind, thread_track(thread))
}

fn on_track(kind: u64, track: u64) -> Proto {
    Proto::default().number(field::EVENT_TYPE, kind).number(field::EVENT_TRACK, track)
}

/// What is shown as a mark: events of node authors, of gateways and of spans.
fn mark(trace: &Trace, names: &Names, it: &Event) -> Option<Proto> {
    let class = &trace.classes[it.class];
    let shown = match it.kind() {
        None => true,
        Some(
            EventKind::GatewayDown
            | EventKind::GatewayUp
            | EventKind::FabricMessage
            | EventKind::ChainStart
            | EventKind::ChainEnd
            | EventKind::ExecutorWaitForWork,
        ) => true,
        Some(_) => false,
    };
    if !shown {
        return None;
    }
    let name = match names.chains.get(&it.word(0)) {
        Some(chain) => format!("{} {chain}", class.name),
        None => class.name.clone(),
    };
    let mark = event(INSTANT, it.thread)
        .text(field::EVENT_CATEGORY, &class.provider)
        .text(field::EVENT_NAME, &name);
    let values = class.fields.iter().zip(&it.values);
    Some(values.fold(mark, |mark, ((name, kind), value)| {
        let annotation = Proto::default().text(field::ANNOTATION_NAME, name);
        let annotation = match value {
            Value::Unsigned(value) if *kind == FieldType::Handle => {
                annotation.number(field::ANNOTATION_POINTER, *value)
            }
            Value::Unsigned(value) => annotation.number(field::ANNOTATION_UNSIGNED, *value),
            Value::Signed(value) => annotation.number(field::ANNOTATION_SIGNED, *value as u64),
            Value::Float(value) => annotation.fixed(field::ANNOTATION_FLOAT, value.to_bits()),
            Value::Text(value) => annotation.text(field::ANNOTATION_TEXT, value),
            Value::Gid(_) => annotation,
        };
        mark.message(field::EVENT_ANNOTATION, annotation)
    }))
}
