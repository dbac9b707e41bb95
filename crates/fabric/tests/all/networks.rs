//! Networks are built once, survive damage and killed builders, and run the same every time.

use crate::support;
use crossdock_fabric::{Cache, Library, Model, Progress, RunError, Search, Sink, Source, Stop};
use crossdock_test_support::{hardware_tools, workspace};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use support::{DATA_BYTES, frame, network};

const PERIOD_PS: u64 = 10_000;
const FOREVER_PS: u64 = 1 << 60;

fn search() -> Search {
    Search { tools: Some(hardware_tools().to_owned()), ..Search::from_environment() }
}

/// Kept from run to run: what has not changed is not built again.
fn kept() -> Cache {
    Cache::at(workspace().join("target/hw/cache"))
}

/// A cache of the test's own, empty.
fn fresh(test: &str) -> Cache {
    let folder =
        workspace().join("target/tmp").join(format!("fabric-{test}-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    Cache::at(folder)
}

fn library(publishers: usize, subscribers: usize) -> Library {
    let generated = network(publishers, subscribers, "/data");
    let built = Library::build(&generated, &search(), &kept(), &mut |_| {});
    built.unwrap_or_else(|error| panic!("{error}"))
}

fn model(library: &Library, seed: u32) -> Model {
    library.model(seed, &[PERIOD_PS]).expect("one clock")
}

/// What was told while a library was built.
fn told(progress: Progress<'_>) -> String {
    match progress {
        Progress::Building { what, .. } => format!("building {what}"),
        Progress::Waiting { what } => format!("waiting for {what}"),
        Progress::Damaged { what } => format!("damaged {what}"),
        Progress::Built { what, .. } => format!("built {what}"),
    }
}

#[test]
fn a_library_is_built_once_and_a_damaged_one_again() {
    let cache = fresh("damage");
    let generated = network(1, 1, "/data");
    let build = || {
        let mut heard = Vec::new();
        let built = Library::build(&generated, &search(), &cache, &mut |it| heard.push(told(it)));
        let library = built.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(library.ports().len(), 2);
        heard
    };
    let network = "the simulation of network_board";
    let runtime = "Verilator's runtime";
    let building = [format!("building {network}"), format!("building {runtime}")];
    let built = [format!("built {runtime}"), format!("built {network}")];
    assert_eq!(build(), [&building[..], &built[..]].concat());
    assert!(build().is_empty());

    let entries = std::fs::read_dir(cache.folder().join("networks")).expect("a folder");
    let entries: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(entries.len(), 1);
    let file = entries[0].join("network.so");
    let mut content = std::fs::read(&file).expect("the library");
    let middle = content.len() / 2;
    content[middle] ^= 1;
    // A new file: this process has the old one loaded.
    std::fs::remove_file(&file).expect("the library");
    std::fs::write(&file, &content[..]).expect("the damaged library");
    let again = [format!("damaged {network}"), building[0].clone(), built[1].clone()];
    assert_eq!(build(), again);
    assert!(build().is_empty());
    std::fs::remove_dir_all(cache.folder()).expect("the cache");
}

/// A process that builds the network of the example and sends a message through it.
fn builder(cache: &Path) -> Child {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().nth(2).expect("the folder of the profile");
    Command::new(profile.join("examples/one_message"))
        .env("CROSSDOCK_CACHE", cache)
        .env("CROSSDOCK_TOOLS", hardware_tools())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example is built with the tests")
}

#[test]
fn of_two_processes_one_builds_and_neither_minds_one_that_was_killed() {
    let cache = fresh("processes");
    let mut killed = builder(cache.folder());
    let mut lines = BufReader::new(killed.stdout.take().expect("a pipe")).lines();
    let line = lines.next().expect("a line").expect("text");
    assert!(line.starts_with("building the simulation of network_board"), "{line}");
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");

    let both = [builder(cache.folder()), builder(cache.folder())];
    let outputs = both.map(|child| child.wait_with_output().expect("it ends"));
    let texts = outputs.map(|output| {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    });
    for text in &texts {
        assert!(text.ends_with("3104 bytes in 388 cycles\n"), "{text}");
    }
    let count = |text: &String| text.matches("building the simulation").count();
    assert_eq!(texts.iter().map(count).sum::<usize>(), 1, "{texts:?}");
    let left = std::fs::read_dir(cache.folder().join("building")).expect("a folder").count();
    assert_eq!(left, 0, "a folder of a builder is left");
    std::fs::remove_dir_all(cache.folder()).expect("the cache");
}

/// Sends a message of each publisher at once; what each subscriber got, in order, with its times.
fn exchange(library: &Library, model: &mut Model, frames: &[Vec<u8>]) -> Vec<(Vec<u8>, u64, u64)> {
    let ports = library.ports().iter().zip(0_u32..);
    let (publishers, subscribers): (Vec<_>, Vec<_>) = ports.partition(|(port, _)| port.publishes);
    let mut sources: Vec<Source<'_>> = publishers
        .iter()
        .zip(frames)
        .map(|((_, index), frame)| Source::new(*index, frame))
        .collect();
    let mut taken = Vec::new();
    for _ in frames {
        let mut buffers = vec![vec![0; DATA_BYTES + 32]; subscribers.len()];
        let indexes = subscribers.iter().map(|(_, index)| *index);
        let mut sinks: Vec<Sink<'_>> = buffers
            .iter_mut()
            .zip(indexes)
            .map(|(buffer, index)| Sink::new(index, buffer))
            .collect();
        while sinks.iter().any(|sink| sink.done_ps().is_none()) {
            let stop = model.run(&mut sources, &mut sinks, FOREVER_PS).expect("a run");
            assert_eq!(stop, Stop::Done);
        }
        let ends: Vec<_> = (sinks.iter())
            .map(|sink| {
                assert!(!sink.is_damaged());
                (
                    sink.received(),
                    sink.first_ps().expect("a beat"),
                    sink.done_ps().expect("the end"),
                )
            })
            .collect();
        for (mut buffer, (bytes, first_ps, done_ps)) in buffers.into_iter().zip(ends) {
            buffer.truncate(bytes as usize);
            taken.push((buffer, first_ps, done_ps));
        }
    }
    taken
}

#[test]
fn messages_of_two_publishers_reach_both_subscribers_whole_and_in_the_same_cycles_with_any_seed() {
    let library = library(2, 2);
    let ids: Vec<u16> = library.ports().iter().map(|port| port.publisher_id).collect();
    let frames = [frame(ids[0], 1, 1000), frame(ids[1], 2, 999)];
    let mut runs = [7, 7, 8].map(|seed| exchange(&library, &mut model(&library, seed), &frames));
    for run in &mut runs {
        let bytes: Vec<&[u8]> = run.iter().map(|(bytes, ..)| bytes.as_slice()).collect();
        assert_eq!(bytes, [&frames[0][..], &frames[0], &frames[1], &frames[1]]);
    }
    // 129 beats each, one cycle through the arbiter and one through the broadcast.
    let done: Vec<u64> = runs[0].iter().map(|(_, _, done_ps)| done_ps / PERIOD_PS).collect();
    assert_eq!(done, [131, 131, 260, 260]);
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

#[test]
fn a_subscriber_that_is_not_served_holds_its_topic_up_and_nothing_is_lost() {
    let library = library(2, 2);
    let mut model = model(&library, 1);
    let ports = library.ports();
    let sent = frame(ports[0].publisher_id, 3, 500);
    let (mut first, mut second) = (vec![0; 532], vec![0; 300]);
    let mut sources = [Source::new(0, &sent)];
    let mut served = [Sink::new(2, &mut first)];
    let stop = model.run(&mut sources, &mut served, 100 * PERIOD_PS).expect("a run");
    assert_eq!((stop, model.now_ps()), (Stop::Time, 100 * PERIOD_PS));
    assert!(served[0].done_ps().is_none() && served[0].received() < 64, "{served:?}");
    // The second subscriber comes late, and its memory is too short: the rest is counted only.
    let mut late = Sink::new(3, &mut second);
    while served[0].done_ps().is_none() || late.done_ps().is_none() {
        let [first] = served;
        let mut both = [first, late];
        assert_eq!(model.run(&mut sources, &mut both, FOREVER_PS), Ok(Stop::Done));
        let [first, second] = both;
        (served, late) = ([first], second);
    }
    assert_eq!((served[0].received(), late.received()), (532, 532));
    assert_eq!(first, sent);
    assert_eq!(second, sent[..300]);
}

#[test]
fn what_a_network_does_not_have_is_refused_and_changes_nothing() {
    let library = library(2, 2);
    assert!(library.model(1, &[]).is_none());
    assert!(library.model(1, &[0]).is_none());
    assert!(library.model(1, &[1, 1]).is_none());
    let mut model = model(&library, 1);
    let sent = frame(1, 1, 8);
    let error = model.run(&mut [Source::new(2, &sent)], &mut [], FOREVER_PS);
    assert_eq!(error, Err(RunError::Port { port: 2, wanted: "publishes", ports: 4 }));
    let mut room = [0; 8];
    let error = model.run(&mut [], &mut [Sink::new(9, &mut room)], FOREVER_PS);
    assert_eq!(error, Err(RunError::Port { port: 9, wanted: "subscribes", ports: 4 }));
    let mut twice = [Source::new(0, &sent), Source::new(0, &sent)];
    assert_eq!(model.run(&mut twice, &mut [], FOREVER_PS), Err(RunError::Twice { port: 0 }));
    let error = model.run(&mut [Source::new(0, &[])], &mut [], FOREVER_PS);
    assert_eq!(error, Err(RunError::Empty { port: 0 }));
    let error = model.run(&mut [], &mut [], u64::MAX);
    assert_eq!(error, Err(RunError::Time { until_ps: u64::MAX }));
    assert_eq!((model.now_ps(), model.edges()), (0, 0));
}

#[test]
fn a_network_that_does_not_compile_says_what_the_tool_said() {
    let mut generated = network(1, 1, "/data");
    let name = format!("{}.sv", generated.network.module);
    generated.files.insert(name.clone(), "module network_board; wrong endmodule\n".to_owned());
    let cache = fresh("wrong");
    let built = Library::build(&generated, &search(), &cache, &mut |_| {});
    let error = built.expect_err("it is no Verilog").to_string();
    assert!(error.starts_with("the simulation of network_board could not be built:"), "{error}");
    assert!(error.contains(&name), "{error}");
    std::fs::remove_dir_all(cache.folder()).expect("the cache");
}
