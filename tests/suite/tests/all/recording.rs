//! What recordings of runs say, and what is said of recordings that are played.

use crossdock_suite::Run;
use crossdock_test_support::data;
use std::collections::BTreeMap;
use std::path::Path;

const COURSE: &str = "apps/autorace/course.graph.yaml";
const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Log time and publish time of the messages of a recording, by topic, in the order of the file.
fn times(path: &Path) -> BTreeMap<String, Vec<(u64, u64)>> {
    let bytes = std::fs::read(path).expect("the recording");
    let mut topics: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("MCAP") {
        let message = message.expect("a message");
        let times = (message.log_time, message.publish_time);
        topics.entry(message.channel.topic.clone()).or_default().push(times);
    }
    topics
}

#[test]
fn without_pacing_messages_have_the_same_times_in_every_run_and_mapping() {
    let run = Run::new("recorded_times");
    let mut recordings = Vec::new();
    for (name, mapping) in [("a", "processes"), ("b", "processes"), ("c", "chain")] {
        let out = run.file(&format!("{name}.mcap"));
        let mapping = format!("apps/autorace/course.{mapping}.mapping.yaml");
        let what = ["run", COURSE, "--mapping", &mapping, "--rate", "max", "--duration", "2"];
        let _ = run.json(&[&what[..], &["--record", text(&out), "--json"]].concat());
        recordings.push(times(&out));
    }
    let [first, others @ ..] = recordings.as_slice() else { panic!("three recordings") };
    assert_eq!(first["/camera/image_raw"].len(), 30, "2 s at 15 Hz");
    for (topic, times) in first {
        for other in others {
            assert_eq!(times, &other[topic], "{topic}");
        }
        assert!(times.iter().all(|(logged, published)| logged == published), "{topic}");
        assert!(times.is_sorted(), "{topic}: {times:?}");
    }
}

#[test]
fn a_recording_played_without_pacing_is_recorded_with_its_times() {
    let Some(data) = data() else { return };
    let run = Run::new("played_times");
    let bag = data.join("driving/highway_a_25hz");
    let mut recordings = Vec::new();
    for mapping in ["processes", "chain"] {
        let out = run.file(&format!("{mapping}.mcap"));
        let mapping = format!("apps/autorace/highway.{mapping}.mapping.yaml");
        let what = ["run", HIGHWAY, "--mapping", &mapping, "--input", text(&bag), "--rate", "max"];
        let _ = run.json(&[&what[..], &["--record", text(&out), "--json"]].concat());
        recordings.push(times(&out));
    }
    assert_eq!(recordings[0], recordings[1]);
    let [file] = std::fs::read_dir(&bag)
        .expect("the bag")
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "mcap"))
        .collect::<Vec<_>>()
        .try_into()
        .expect("one file");
    let played = times(&file);
    let images: Vec<u64> =
        played["/camera/image_raw/compressed"].iter().map(|(logged, _)| *logged).collect();
    // Each picture leads to one of each kind, at the simulated time at which it was played.
    for (topic, times) in &recordings[0] {
        for (logged, published) in times {
            assert!(logged == published && images.binary_search(logged).is_ok(), "{topic}");
        }
    }
}

#[test]
fn a_recording_without_one_of_its_files_is_said_first_and_is_a_failure() {
    let Some(data) = data() else { return };
    let run = Run::new("missing_split");
    let (bag, copy) = (data.join("driving/highway_a_25hz"), run.file("bag"));
    std::fs::create_dir(&copy).expect("a folder");
    for file in std::fs::read_dir(bag).expect("the bag") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), copy.join(file.file_name())).expect("room");
    }
    let metadata = copy.join("metadata.yaml");
    let described = std::fs::read_to_string(&metadata).expect("a description");
    let line = described.find("relative_file_paths:").expect("its files");
    let at = line + described[line..].find("\n").expect("a line") + 1;
    let indented = described[at..].split('-').next().expect("a list");
    let changed = format!("{}{indented}- gone_1.mcap\n{}", &described[..at], &described[at..]);
    std::fs::write(&metadata, changed).expect("room");
    for what in [&["check", HIGHWAY][..], &["run", HIGHWAY, "--rate", "max", "--json"]] {
        let output = run.output(&[what, &["--input", text(&copy)]].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{what:?}: {errors}");
        let first = errors.lines().next().unwrap_or_default();
        assert!(first.contains("not complete") && first.contains("gone_1.mcap"), "{errors}");
    }
}
