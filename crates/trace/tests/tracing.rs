//! What is emitted is what is read: from the rings, from files, and by babeltrace2, field by field.
#![allow(missing_docs)]

use crossdock_trace::{
    DeviceTrace, EVENTS, Event, EventKind, Events, ExecutorTrace, FieldType, GatewayTrace,
    KernelRun, PublisherTrace, SubscriptionTrace, Summary, Trace, TraceView, Tracepoint, Value,
    Way, ctf, descriptors, init, monotonic_ns, perfetto,
};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// There is one tracer in a process: the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

struct Probe {
    view: TraceView,
    trace: Trace,
    _turn: MutexGuard<'static, ()>,
}

impl Probe {
    /// The tracer of this process, looked at as by another one, from now on.
    fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        init("probe");
        let [switch, record] = descriptors().expect("memory");
        let mut view = TraceView::open("probe", switch, record).expect("a trace");
        view.trace(Events::all());
        view.skip();
        Self { view, trace: Trace::new(), _turn: turn }
    }

    /// What has happened since the last call, and all definitions at the first.
    fn read(&mut self) -> Trace {
        self.trace.events.clear();
        self.view.read(&mut self.trace);
        self.trace.clone()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.view.trace(Events::none());
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("crossdock-trace-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Emits every kind of event; gives the values of those that happen at run time, in order.
fn emit_everything(
    publisher: &PublisherTrace,
    subscription: &SubscriptionTrace,
) -> Vec<(EventKind, Vec<u64>)> {
    let executor = ExecutorTrace::default();
    let gateway = GatewayTrace::new("/image", "board");
    let queue = DeviceTrace::new("opencl:0", "perception");
    let timer = executor.timer("filter", 40_000_000, "pack::filter::execute(step)");
    let condition = executor.callback("filter", "pack::filter::execute()");
    let chain = executor.chain("reaction", "/image", "/command");
    let callback = subscription.callback("pack::filter::execute(image)");
    assert_eq!(chain, executor.chain("reaction", "/image", "/command"), "defined once");
    publisher.loan(|| 0x7f00_0000_1040, 6_220_800);
    publisher.publish(|| 0x7f00_0000_1040, 1_790_000_000_123_456_789);
    executor.next();
    executor.wait(Some(Duration::from_nanos(1500)));
    executor.wait(None);
    executor.chain_start(chain, 1_790_000_000_123_456_789, None);
    executor.start(callback, true, None);
    subscription.take(|| 0x7f11_0000_1040, 1_790_000_000_123_456_789);
    subscription.release().released(|| 0x7f11_0000_1040);
    executor.end(callback, None);
    executor.chain_end(chain, 1_234_567, None);
    gateway.message(Way::Down, || 0x7f00_0000_2000, 4096);
    gateway.fabric_message(Way::Up, 77_000);
    gateway.message(Way::Up, || 0x7f00_0000_3000, 8192);
    assert!(queue.is_on());
    queue.kernel("blur", (5_000_000_100, 5_000_000_900), 40);
    queue.kernel("blur", (5_000_000_890, 5_000_001_700), 40);
    executor.start(timer, false, None);
    executor.end(timer, None);
    let _ = condition;
    use EventKind::*;
    let stamp = 1_790_000_000_123_456_789;
    vec![
        (Loan, vec![0, 0x7f00_0000_1040, 6_220_800]),
        (RclcppPublish, vec![0x7f00_0000_1040]),
        (RclPublish, vec![0, 0x7f00_0000_1040]),
        (RmwPublish, vec![0, 0x7f00_0000_1040, stamp]),
        (ExecutorGetNextReady, vec![]),
        (ExecutorWaitForWork, vec![1500]),
        (ExecutorWaitForWork, vec![-1_i64 as u64]),
        (ChainStart, vec![chain, stamp]),
        (ExecutorExecute, vec![callback]),
        (CallbackStart, vec![callback, 1]),
        (RmwTake, vec![0, 0x7f11_0000_1040, stamp, 1]),
        (RclTake, vec![0x7f11_0000_1040]),
        (RclcppTake, vec![0x7f11_0000_1040]),
        (Release, vec![0x7f11_0000_1040]),
        (CallbackEnd, vec![callback]),
        (ChainEnd, vec![chain, 1_234_567]),
        (GatewayDown, vec![0, 0x7f00_0000_2000, 4096]),
        (FabricMessage, vec![0, 1, 77_000]),
        (GatewayUp, vec![0, 0x7f00_0000_3000, 8192]),
        (DeviceKernel, vec![0, 0, 5_000_000_100, 5_000_000_900, 40]),
        (DeviceKernel, vec![0, 0, 5_000_000_890, 5_000_001_700, 40]),
        (ExecutorExecute, vec![timer]),
        (CallbackStart, vec![timer, 0]),
        (CallbackEnd, vec![timer]),
    ]
}

/// A trace with every kind of event, and what was emitted.
fn everything() -> (Trace, Vec<(EventKind, Vec<u64>)>) {
    let mut probe = Probe::new();
    let gid = std::array::from_fn(|place| place as u8 * 3);
    let publisher = PublisherTrace::new("camera", "/image", 4, gid);
    let subscription = SubscriptionTrace::new("filter", "/image", 2, gid);
    let emitted = emit_everything(&publisher, &subscription);
    let point = Tracepoint::<(u32, i32, u64, i64, f64, bool)>::new(
        "everything",
        ["small", "negative", "large", "below", "real", "flag"],
    );
    point.expect("free").emit((7, -7, u64::MAX, i64::MIN, -0.25, true));
    Tracepoint::<()>::new("nothing", []).expect("free").emit(());
    (probe.read(), emitted)
}

/// How babeltrace2 shows a value.
fn shown(kind: FieldType, value: &Value) -> String {
    match value {
        Value::Unsigned(number) if kind == FieldType::Handle => format!("0x{number:X}"),
        Value::Unsigned(number) => number.to_string(),
        Value::Signed(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => format!("\"{text}\""),
        Value::Gid(gid) => {
            let bytes = gid.iter().enumerate().map(|(place, byte)| format!("[{place}] = {byte}"));
            format!("[ {} ]", bytes.collect::<Vec<_>>().join(", "))
        }
    }
}

/// How babeltrace2 shows an event.
fn line(trace: &Trace, event: &Event) -> String {
    let (class, thread) = (&trace.classes[event.class], &trace.threads[event.thread]);
    let fields = class.fields.iter().zip(&event.values);
    let fields: Vec<_> =
        fields.map(|((name, kind), value)| format!("{name} = {}", shown(*kind, value))).collect();
    let fields =
        if fields.is_empty() { "{ }".to_owned() } else { format!("{{ {} }}", fields.join(", ")) };
    let at_ns = event.at_ns as i64 + trace.epoch_offset_ns;
    // A thread's name has room for 16 bytes.
    let name: String = thread.name.chars().take(16).collect();
    format!(
        "[{}.{:09}] {}: {{ cpu_id = {} }}, {{ vpid = {}, vtid = {}, procname = \"{name}\" }}, {fields}",
        at_ns / 1_000_000_000,
        at_ns % 1_000_000_000,
        class.full_name(),
        event.thread,
        thread.pid,
        thread.tid,
    )
}

#[test]
fn what_is_read_from_the_rings_is_what_was_emitted() {
    let before_ns = monotonic_ns();
    let (trace, emitted) = everything();
    let own = trace
        .threads
        .iter()
        .position(|it| it.tid == rustix::thread::gettid().as_raw_nonzero().get() as u32);
    let own = own.expect("this thread");
    let runs = trace
        .events
        .iter()
        .filter(|event| event.thread == own && event.kind().is_some_and(|kind| !kind.is_init()));
    let runs: Vec<_> = runs.collect();
    assert_eq!(runs.len(), emitted.len());
    let mut last_ns = before_ns;
    for (event, (kind, words)) in runs.iter().zip(&emitted) {
        assert_eq!(event.kind(), Some(*kind));
        assert!(event.at_ns >= last_ns && event.at_ns <= monotonic_ns(), "{kind:?}");
        last_ns = event.at_ns;
        assert_eq!(event.values.len(), words.len(), "{kind:?}");
        // Handles that the emitter does not know are told by the definitions.
        for (place, word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
            assert_eq!(event.word(place), *word, "{kind:?} {place}");
        }
    }
    let users: Vec<_> = trace.events.iter().filter(|event| event.class >= EVENTS.len()).collect();
    assert_eq!(trace.classes[users[0].class].full_name(), "user:everything");
    assert_eq!(
        users[0].values,
        [
            Value::Unsigned(7),
            Value::Signed(-7),
            Value::Unsigned(u64::MAX),
            Value::Signed(i64::MIN),
            Value::Float(-0.25),
            Value::Unsigned(1),
        ]
    );
    assert_eq!(trace.threads[own].discarded, 0);
}

#[test]
fn babeltrace2_reads_every_field_of_every_event_as_it_was_emitted() {
    let (mut trace, _) = everything();
    trace.sort();
    let kinds: std::collections::BTreeSet<_> =
        trace.events.iter().filter_map(Event::kind).collect();
    assert_eq!(kinds.len(), EventKind::ALL.len(), "every kind of event is in it");
    let folder = Folder::new("babeltrace");
    let mut writer = ctf::TraceWriter::create(&folder.0, &trace).expect("a folder");
    writer.append(&trace).expect("room");
    writer.finish().expect("room");
    let read = ctf::read(&folder.0).expect("our own");
    assert_eq!((read.trace.events.len(), read.damage.len()), (trace.events.len(), 0));
    let output = Command::new("babeltrace2")
        .args(["--clock-seconds", "--no-delta"])
        .arg(&folder.0)
        .output()
        .expect("babeltrace2 is installed (`make packages`)");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("text");
    // Events of one time may stand in another order.
    let (mut found, mut expected): (Vec<_>, Vec<_>) =
        (text.lines().collect(), trace.events.iter().map(|it| line(&trace, it)).collect());
    found.sort_unstable();
    expected.sort_unstable();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn lost_events_are_told_by_rings_by_files_and_by_babeltrace2() {
    let mut probe = Probe::new();
    let executor = ExecutorTrace::default();
    let count = crossdock_trace::RING_RECORDS + 1000;
    std::thread::Builder::new()
        .name("busy".into())
        .spawn(move || (0..count).for_each(|_| executor.next()))
        .expect("a thread")
        .join()
        .expect("it ends");
    let trace = probe.read();
    let busy = trace.threads.iter().position(|it| it.name == "busy").expect("its thread");
    let kept = trace.events.iter().filter(|event| event.thread == busy).count();
    assert_eq!(kept as u64 + trace.threads[busy].discarded, count as u64);
    assert!(trace.threads[busy].discarded >= 1000);
    assert!(kept >= crossdock_trace::RING_RECORDS - 64, "the last MiB is there");
    let folder = Folder::new("lost");
    let mut writer = ctf::TraceWriter::create(&folder.0, &trace).expect("a folder");
    writer.append(&trace).expect("room");
    writer.finish().expect("room");
    let read = ctf::read(&folder.0).expect("our own").trace;
    let of_busy = read.threads.iter().find(|it| it.name == "busy").expect("its thread");
    assert_eq!(of_busy.discarded, trace.threads[busy].discarded);
    let output = Command::new("babeltrace2").arg(&folder.0).output().expect("babeltrace2 runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains(&format!("discarded {} events", of_busy.discarded)), "{errors}");
}

#[test]
fn nothing_is_recorded_while_tracing_is_off_and_only_what_is_asked_for_while_it_is_on() {
    let mut probe = Probe::new();
    let publisher = PublisherTrace::new("camera", "/quiet", 1, [0; 16]);
    let point = Tracepoint::<(u64,)>::new("quiet", ["number"]).expect("free");
    let runs = |trace: &Trace| {
        let runs = trace.events.iter().filter(|it| it.kind().is_none_or(|kind| !kind.is_init()));
        runs.map(|event| trace.classes[event.class].full_name()).collect::<Vec<_>>()
    };
    for (names, expected) in [
        (vec![], vec![]),
        (vec!["user"], vec!["user:quiet"]),
        (vec!["ros2:rmw_publish", "crossdock:loan"], vec!["crossdock:loan", "ros2:rmw_publish"]),
    ] {
        probe.view.trace(Events::named(names).expect("known"));
        publisher.loan(|| 1, 1);
        publisher.publish(|| 1, publisher.stamp_ns());
        point.emit((1,));
        let trace = probe.read();
        assert_eq!(runs(&trace), expected);
    }
}

#[test]
fn a_message_is_followed_from_its_publication_to_the_execution_that_it_ran() {
    let mut probe = Probe::new();
    let publisher = PublisherTrace::new("camera", "/followed", 1, [1; 16]);
    let subscription = SubscriptionTrace::new("follower", "/followed", 1, [2; 16]);
    let executor = ExecutorTrace::default();
    let timer = executor.timer("camera", 1_000_000, "camera step");
    let callback = subscription.callback("follower followed");
    let at = monotonic_ns();
    executor.start(timer, false, Some(at));
    let stamp_ns = publisher.stamp_ns();
    publisher.publish(|| 64, stamp_ns);
    let end_ns = monotonic_ns();
    executor.end(timer, Some(end_ns));
    let started_ns = end_ns + 250;
    executor.start(callback, true, Some(started_ns));
    // The take reads the clock itself, and comes after the start.
    while monotonic_ns() <= started_ns {
        std::hint::spin_loop();
    }
    subscription.take(|| 64, stamp_ns);
    executor.end(callback, Some(monotonic_ns() + 1000));
    let mut trace = probe.read();
    trace.sort();
    let summary = Summary::of(&trace);
    let nodes: Vec<_> =
        summary.nodes.iter().map(|it| (it.node.as_str(), it.executions.count)).collect();
    assert_eq!(nodes, [("camera", 1), ("follower", 1)]);
    assert_eq!(summary.messages.len(), 1);
    assert!(summary.messages[0].triggered);
    // Until the camera's execution had ended its thread computed.
    assert_eq!((summary.share.messages, summary.share.passing_ns), (1, 250));
    let topic = summary.topics.iter().find(|it| it.topic == "/followed").expect("the topic");
    assert_eq!((topic.published, topic.latency.count), (1, 1));
}

#[test]
fn the_last_message_of_the_set_that_released_a_node_is_the_one_that_ran_it() {
    let mut probe = Probe::new();
    let topics = ["/joined/image", "/joined/info"];
    let publishers = topics.map(|topic| PublisherTrace::new("camera", topic, 1, [1; 16]));
    let subscriptions = topics.map(|topic| SubscriptionTrace::new("rectify", topic, 1, [2; 16]));
    let executor = ExecutorTrace::default();
    let callback = executor.callback("rectify", "rectify");
    let timer = executor.timer("rectify", 1_000_000, "rectify step");
    let stamps: Vec<u64> = publishers
        .iter()
        .map(|publisher| {
            let stamp_ns = publisher.stamp_ns();
            publisher.publish(|| 64, stamp_ns);
            stamp_ns
        })
        .collect();
    let take_all = || {
        // In the other order: what counts is which one was there last.
        for (subscription, stamp_ns) in subscriptions.iter().zip(&stamps).rev() {
            subscription.take(|| 64, *stamp_ns);
        }
    };
    for callback in [callback, timer] {
        executor.start(callback, false, None);
        take_all();
        executor.end(callback, None);
    }
    let mut trace = probe.read();
    trace.sort();
    let summary = Summary::of(&trace);
    let ran: Vec<_> = summary.messages.iter().filter(|it| it.triggered).collect();
    assert_eq!(ran.len(), 1, "the timer ran by itself: {:?}", summary.messages);
    assert_eq!((ran[0].topic.as_str(), ran[0].execution), ("/joined/info", Some(0)));
    let passing_ns = summary.executions[0].start_ns - ran[0].published_ns;
    assert_eq!((summary.share.messages, summary.share.passing_ns), (1, passing_ns));
}

/// Fields of a protobuf message: number, and the bytes of those that have a length.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    let varint = |bytes: &mut &[u8]| {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    };
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let content = match key & 7 {
            0 => varint(&mut bytes).to_le_bytes().to_vec(),
            1 => {
                let (content, rest) = bytes.split_at(8);
                bytes = rest;
                content.to_vec()
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                content.to_vec()
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, content));
    }
    found
}

#[test]
fn perfetto_gets_slices_for_executions_and_kernels_and_a_flow_for_each_message() {
    let (mut trace, _) = everything();
    trace.sort();
    let summary = Summary::of(&trace);
    let packets = fields(&perfetto::write(&trace));
    assert!(packets.iter().all(|(number, _)| *number == 1));
    let events = packets.iter().flat_map(|(_, packet)| fields(packet));
    let events: Vec<_> =
        events.filter(|(number, _)| *number == 11).map(|(_, it)| fields(&it)).collect();
    let kinds = |kind: u64| {
        let is_kind = |it: &&Vec<(u64, Vec<u8>)>| it.contains(&(9, kind.to_le_bytes().to_vec()));
        events.iter().filter(is_kind).count()
    };
    assert!(!summary.executions.is_empty());
    let of_blur = |run: &KernelRun| {
        (run.device.as_str(), run.executor.as_str(), run.kernel.as_str())
            == ("opencl:0", "perception", "blur")
            && run.pid == std::process::id()
    };
    assert!(summary.kernels.len() == 2 && summary.kernels.iter().all(of_blur));
    let slices = summary.executions.len() + summary.kernels.len();
    assert_eq!(kinds(1), slices, "slices begin");
    assert_eq!(kinds(2), slices, "slices end");
    // The queue has a track of its own; of two kernels that seem to overlap the later one is cut.
    let packets: Vec<_> = packets.iter().map(|(_, packet)| fields(packet)).collect();
    let tracks = packets.iter().flatten().filter(|(number, _)| *number == 60);
    let names = tracks.flat_map(|(_, it)| fields(it)).filter(|(number, _)| *number == 2);
    assert_eq!(names.filter(|(_, name)| name == b"opencl:0 of perception").count(), 1);
    let track = (11, (1_u64 << 41).to_le_bytes().to_vec());
    let of_queue = packets.iter().filter(|packet| {
        packet.iter().any(|(number, it)| *number == 11 && fields(it).contains(&track))
    });
    let times = of_queue.flatten().filter(|(number, _)| *number == 8);
    let times: Vec<_> =
        times.map(|(_, it)| u64::from_le_bytes(it[..].try_into().expect("8 bytes"))).collect();
    assert_eq!(times, [5_000_000_100, 5_000_000_900, 5_000_000_900, 5_000_001_700]);
    let flows = |number: u64| events.iter().flatten().filter(|(it, _)| *it == number).count();
    assert!(!summary.messages.is_empty());
    assert_eq!((flows(47), flows(48)), (summary.messages.len(), summary.messages.len()));
}

#[test]
fn a_damaged_file_is_named_and_the_others_are_read() {
    let (trace, _) = everything();
    let folder = Folder::new("damaged");
    let mut writer = ctf::TraceWriter::create(&folder.0, &trace).expect("a folder");
    writer.append(&trace).expect("room");
    writer.finish().expect("room");
    assert!(ctf::TraceWriter::create(&folder.0, &trace).is_err(), "nothing is written over");
    let mut seed = crossdock_test_support::seed();
    println!("seed {seed}");
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    let of_thread = |thread| trace.events.iter().filter(|event| event.thread == thread).count();
    let of_one = (0..trace.threads.len()).map(of_thread).max().unwrap_or(0);
    let files = std::fs::read_dir(&folder.0).expect("files").map(|it| it.expect("a file").path());
    for path in files.collect::<Vec<_>>() {
        let whole = std::fs::read(&path).expect("a file");
        for _ in 0..100 {
            let mut bytes = whole.clone();
            match random() % 2 {
                0 => bytes.truncate(random() % whole.len()),
                _ => bytes[random() % whole.len()] ^= 1 << (random() % 8),
            }
            std::fs::write(&path, bytes).expect("room");
            // Whatever it gives, it gives it without a panic and without much memory.
            let _ = ctf::read(&folder.0).map(|mut read| {
                read.trace.sort();
                (Summary::of(&read.trace), perfetto::write(&read.trace))
            });
        }
        std::fs::write(&path, &whole[..whole.len() / 2]).expect("room");
        let name = path.file_name().expect("a name").to_str().expect("UTF-8");
        match ctf::read(&folder.0) {
            // Without the whole description nothing can be read.
            Err(error) => assert!(name == "metadata" && error.to_string().contains(name)),
            Ok(read) => {
                // The others are there, and of this one what lies before the damage.
                let [damage] = read.damage.as_slice() else { panic!("{:?}", read.damage) };
                assert!(damage.to_string().contains(name), "{damage}");
                assert!(read.trace.events.len() >= trace.events.len() - of_one, "{damage}");
            }
        }
        std::fs::write(&path, &whole).expect("room");
    }
}

#[test]
fn a_file_is_refused_by_its_first_bytes_however_long_it_is() {
    let (trace, _) = everything();
    let folder = Folder::new("long");
    let mut writer = ctf::TraceWriter::create(&folder.0, &trace).expect("a folder");
    writer.append(&trace).expect("room");
    writer.finish().expect("room");
    // More than memory has, in holes: no bytes of a packet, and one packet as long as its file.
    let bytes = 1_u64 << 40;
    let file = |name: &str| std::fs::File::create(folder.0.join(name)).expect("room");
    file("zzz").set_len(bytes).expect("a file with holes");
    let mut head = 0xC1FC_1FC1_u32.to_le_bytes().to_vec();
    head.resize(4 + 16 + 4 + 16, 0);
    head.extend([8 * bytes, 8 * bytes].iter().flat_map(|word| word.to_le_bytes()));
    let mut packet = file("zzzz");
    std::io::Write::write_all(&mut packet, &head).expect("room");
    packet.set_len(bytes).expect("a file with holes");
    let read = ctf::read(&folder.0).expect("our own");
    assert_eq!(read.trace.events.len(), trace.events.len(), "the others are read");
    let damage: Vec<_> = read.damage.iter().map(ToString::to_string).collect();
    let [none, long] = damage.as_slice() else { panic!("{damage:?}") };
    assert!(none.contains("/zzz is damaged at byte 4: no packet begins here"), "{none}");
    assert!(long.contains("/zzzz is damaged at byte 76: the packet is longer"), "{long}");
    // The description, too.
    file("metadata").set_len(bytes).expect("a file with holes");
    let error = ctf::read(&folder.0).expect_err("no description").to_string();
    assert!(error.contains("more than 16777216 bytes"), "{error}");
}
