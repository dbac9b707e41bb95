//! Fuzzes rosbag2 folders: any text as metadata.yaml beside a sound recording.
//!
//! Whatever metadata.yaml says, only files of the folder are read, and every message is delivered
//! at most once.
#![no_main]

use crossdock_fuzz::recording::recording;
use crossdock_record::{BagReader, Compression};
use libfuzzer_sys::fuzz_target;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::MemfdFlags;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Messages of the recording.
const MESSAGES: u64 = 6;

/// A folder that holds the recording `a.mcap`, and metadata.yaml as a file in memory: it is written
/// for every input. The folder stays in the build's folder of temporary files.
fn folder() -> &'static (PathBuf, OwnedFd) {
    static FOLDER: OnceLock<(PathBuf, OwnedFd)> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new("target/tmp").join(format!("bag-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let bytes = recording(Compression::None, MESSAGES);
        std::fs::write(folder.join("a.mcap"), bytes).expect("the recording");
        let flags = MemfdFlags::CLOEXEC;
        let file = rustix::fs::memfd_create(c"metadata", flags).expect("a file in memory");
        let target = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::os::unix::fs::symlink(target, folder.join("metadata.yaml")).expect("a link");
        (folder, file)
    })
}

fn metadata(storage: &str, paths: &str, compression: &str, topics: &str) -> Vec<u8> {
    format!(
        "rosbag2_bagfile_information:\n  version: 9\n  storage_identifier: {storage}\n  \
         relative_file_paths:\n{paths}  compression_format: \"{compression}\"\n  \
         compression_mode: \"{compression}\"\n  topics_with_message_count:\n{topics}"
    )
    .into_bytes()
}

fn seeds() -> Vec<Vec<u8>> {
    let topic = "    - topic_metadata:\n        name: /a\n        type: std_msgs/msg/String\n        \
                 serialization_format: cdr\n        type_description_hash: RIHS01_00\n        \
                 offered_qos_profiles:\n          - history: keep_last\n            depth: 4\n            \
                 reliability: reliable\n            durability: volatile\n      message_count: 3\n";
    let old = "    - topic_metadata:\n        name: /b\n        offered_qos_profiles: \"- history: \
               3\\n  depth: 1\\n  reliability: 1\\n  durability: 2\\n  deadline:\\n    sec: 1\\n    \
               nsec: 0\\n\"\n";
    vec![
        metadata("mcap", "    - a.mcap\n", "", topic),
        metadata("mcap", "    - a.mcap\n    - a.mcap\n    - ../a.mcap\n", "", old),
        metadata("sqlite3", "    - a.db3\n", "zstd", "    []\n"),
        metadata("mcap", "    []\n", "file", topic),
        b"rosbag2_bagfile_information: {version: 4, relative_file_paths: [b.mcap, ./a.mcap]}\n"
            .to_vec(),
        Vec::new(),
    ]
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let (folder, metadata) = folder();
    rustix::fs::ftruncate(metadata, 0).expect("memory can be cut");
    rustix::io::pwrite(metadata, data, 0).expect("memory can be written");
    let Ok(reader) = BagReader::open(folder) else { return };
    let mut messages = reader.messages();
    let mut count = 0;
    while let Some(message) = messages.next_message() {
        count += u64::from(message.is_ok());
    }
    assert!(count <= MESSAGES, "{count} messages: a file was read twice, or another one was");
    for topic in reader.topics() {
        std::hint::black_box(topic.schema()).ok();
    }
});
