//! Fuzzes the reader of SQLite files: any bytes as a .db3 file, any as the log beside it.
//!
//! Nothing may panic, hang or take memory beyond the reader's limits, no more bytes come out than
//! the files have, and after an error comes nothing.
#![no_main]

use crossdock_fuzz::rows::{bag, log, sign};
use crossdock_record::{BagReader, ReaderOptions};
use libfuzzer_sys::fuzz_target;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::MemfdFlags;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Largest message that the reader accepts, and most memory for order.
const LIMIT_BYTES: u64 = 1 << 20;

/// The file and the log beside it, as files in memory behind links in a folder.
struct Files {
    folder: PathBuf,
    file: OwnedFd,
    log: OwnedFd,
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = Path::new("target/tmp").join(format!("rows-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let [file, log] = ["a.db3", "a.db3-wal"].map(|name| {
            let flags = MemfdFlags::CLOEXEC;
            let file = rustix::fs::memfd_create(c"rows", flags).expect("a file in memory");
            let target = format!("/proc/self/fd/{}", file.as_raw_fd());
            std::os::unix::fs::symlink(target, folder.join(name)).expect("a link");
            file
        });
        Files { folder, file, log }
    })
}

/// The input: two bytes that say how many bytes the log has, the log, the file.
fn seeds() -> Vec<Vec<u8>> {
    let join = |log: &[u8], file: &[u8]| [&(log.len() as u16).to_le_bytes(), log, file].concat();
    let (sound, empty) = (bag(9), bag(0));
    vec![
        join(&[], &sound),
        join(&[], &empty),
        join(&log(&sound, &[2, 4, 5]), &sound),
        join(&log(&sound, &[1, 1, 6, 7, 99]), &empty),
        join(&[], &sound[..sound.len() * 2 / 3]),
    ]
}

fn fill(file: &OwnedFd, bytes: &[u8]) {
    rustix::fs::ftruncate(file, 0).expect("memory can be cut");
    let written = rustix::io::pwrite(file, bytes, 0).expect("memory can be written");
    assert_eq!(written, bytes.len());
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let Some((length, rest)) = data.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (log, file) = rest.split_at(length);
    let mut log = log.to_vec();
    sign(&mut log);
    let files = files();
    fill(&files.file, file);
    fill(&files.log, &log);
    let options = ReaderOptions {
        record_bytes_max: LIMIT_BYTES,
        order_bytes_max: LIMIT_BYTES,
        expansion_max: 64,
        expansion_bytes_free: 4 * LIMIT_BYTES,
        ..ReaderOptions::default()
    };
    let Ok(reader) = BagReader::open_with(files.folder.join("a.db3"), options) else { return };
    let mut messages = reader.messages();
    let (mut ended, mut delivered) = (false, 0);
    while let Some(message) = messages.next_message() {
        assert!(!ended, "something after the final error");
        match message {
            // A compressed one may be longer than the file.
            Ok(message) => delivered += message.data.len().min(file.len()),
            Err(_) => ended = true,
        }
    }
    let most = 64 * (file.len() + log.len());
    assert!(delivered <= most, "{delivered} bytes out of {} and {}", file.len(), log.len());
    for topic in reader.topics() {
        std::hint::black_box(topic.schema()).ok();
    }
});
