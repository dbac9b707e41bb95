//! Fuzzes the readers of traces: files, and the memory in which a hostile process shows its rings.
//! What is read is summed up, drawn and converted.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_fuzz::memory::HostileMemory;
use crossdock_trace::{
    Events, ExecutorTrace, PictureOptions, PublisherTrace, Summary, Trace, TraceView, ctf,
    descriptors, init, perfetto, picture,
};
use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Which reader an input is for.
const STREAM: u8 = 0;
const DESCRIPTION: u8 = 1;
const MEMORY: u8 = 2;
const KINDS: u8 = 3;

/// Words of a process's head, its threads and the first definitions; behind them, in an input,
/// stand the words of the first ring.
const FRONT_WORDS: usize = 4096;
const RINGS: usize = (64 + 64 * 16 + (1_usize << 19)).next_multiple_of(512);

/// What this process says of itself when it is traced, in each form.
struct Honest {
    folder: PathBuf,
    description: Vec<u8>,
    stream: (PathBuf, Vec<u8>),
    switch: HostileMemory,
    record: HostileMemory,
}

fn honest() -> &'static Honest {
    static HONEST: OnceLock<Honest> = OnceLock::new();
    HONEST.get_or_init(|| {
        init("fuzz");
        let [switch, record] = descriptors().expect("memory of a trace");
        let mut view = TraceView::open("fuzz", switch, record).expect("a trace");
        view.trace(Events::all());
        let publisher = PublisherTrace::new("camera", "/image", 4, [7; 16]);
        let executor = ExecutorTrace::default();
        for number in 0..20 {
            publisher.loan(|| 4096, number);
            publisher.publish(|| 4096, publisher.stamp_ns());
            executor.next();
        }
        let mut trace = Trace::new();
        view.read(&mut trace);
        trace.sort();
        assert!(trace.events.len() > 60, "the trace has events");
        let (folder, description, stream) = files(&trace);
        let like = |words: rustix::fd::BorrowedFd<'_>| {
            let bytes = rustix::fs::fstat(words).expect("its size").st_size;
            HostileMemory::like(words, bytes as usize)
        };
        Honest { folder, description, stream, switch: like(switch), record: like(record) }
    })
}

/// Writes a trace; gives its folder, its description and its longest stream.
fn files(trace: &Trace) -> (PathBuf, Vec<u8>, (PathBuf, Vec<u8>)) {
    // The engine ends the process without dropping anything: the next run removes what this one
    // leaves.
    let folder = PathBuf::from("target/trace");
    let _ = std::fs::remove_dir_all(&folder);
    let mut writer = ctf::TraceWriter::create(&folder, trace).expect("a folder");
    writer.append(trace).expect("room");
    writer.finish().expect("room");
    let read = |path: &Path| std::fs::read(path).expect("a file");
    let description = read(&folder.join("metadata"));
    let entries = std::fs::read_dir(&folder).expect("files");
    let paths = entries.map(|entry| entry.expect("a file").path());
    let streams = paths.filter(|path| !path.ends_with("metadata"));
    let streams = streams.map(|path| (path.clone(), read(&path)));
    let stream = streams.max_by_key(|(_, bytes)| bytes.len()).expect("a stream");
    (folder, description, stream)
}

fn seeds() -> Vec<Vec<u8>> {
    let honest = honest();
    let stream = [&[STREAM], &honest.stream.1[..]].concat();
    let description = [&[DESCRIPTION], &honest.description[..]].concat();
    let changes = (0..80u16).map(|word| {
        [&[MEMORY], &word.to_le_bytes()[..], &u64::from(u32::MAX).to_le_bytes()].concat()
    });
    let seeds = [stream, description].into_iter().chain(changes).collect();
    let _ = std::fs::remove_dir_all(&honest.folder);
    seeds
}

/// All that is done with a trace.
fn used(trace: &Trace) {
    let summary = Summary::of(trace);
    let _ = summary.kernel_times();
    assert!(!perfetto::write(trace).is_empty() || trace.events.is_empty());
    let _ = picture(
        trace,
        &PictureOptions { from_ns: 0, length_ns: 1_000_000_000, title: String::new() },
    );
}

fn read_files(honest: &Honest) {
    if let Ok(read) = ctf::read(&honest.folder) {
        used(&read.trace);
    }
}

/// Changes words of the memory, reads it twice, and puts the words back.
fn read_memory(honest: &Honest, mut input: Input<'_>) {
    let record = &honest.record;
    let mut before = Vec::new();
    while !input.is_empty() {
        let place = usize::from(input.u16());
        let place = if place < FRONT_WORDS { place } else { RINGS + place - FRONT_WORDS };
        before.push((place, record.word(place)));
        record.set(place, input.u64());
    }
    if let Ok(mut view) = TraceView::open("hostile", honest.switch.fd(), record.fd()) {
        let mut trace = Trace::new();
        view.read(&mut trace);
        view.read(&mut trace);
        trace.sort();
        used(&trace);
    }
    for (place, value) in before.into_iter().rev() {
        record.set(place, value);
    }
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let honest = honest();
    let mut input = Input::new(data);
    match input.u8() % KINDS {
        STREAM => {
            std::fs::write(&honest.stream.0, input.rest()).expect("room");
            read_files(honest);
        }
        DESCRIPTION => {
            std::fs::write(honest.folder.join("metadata"), input.rest()).expect("room");
            std::fs::write(&honest.stream.0, &honest.stream.1).expect("room");
            read_files(honest);
            std::fs::write(honest.folder.join("metadata"), &honest.description).expect("room");
        }
        _ => read_memory(honest, input),
    }
});
