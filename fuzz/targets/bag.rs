//! Fuzzes the reader of MCAP files: any bytes as a recording, its messages decoded.
//!
//! Nothing may panic, hang or take memory beyond the reader's limits; after an error comes nothing.
#![no_main]

use crossdock_fuzz::recording::{cdr_of_text, recording};
use crossdock_msg::{Block, FlatBuffer};
use crossdock_record::{BagReader, Compression, ReaderOptions};
use libfuzzer_sys::fuzz_target;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::MemfdFlags;
use std::sync::OnceLock;

/// Largest record that the reader accepts, and most memory for order.
const LIMIT_BYTES: u64 = 1 << 20;

fn seeds() -> Vec<Vec<u8>> {
    let compressions = [Compression::None, Compression::Lz4, Compression::Zstd];
    let mut seeds: Vec<_> =
        compressions.iter().map(|compression| recording(*compression, 6)).collect();
    seeds.push(recording(Compression::None, 0));
    let cut = seeds[0].len() * 2 / 3;
    seeds.push(seeds[0][..cut].to_vec());
    assert_eq!(cdr_of_text("").len(), 9);
    seeds
}

/// A file that is in no file system.
fn file() -> &'static OwnedFd {
    static FILE: OnceLock<OwnedFd> = OnceLock::new();
    FILE.get_or_init(|| {
        rustix::fs::memfd_create(c"bag", MemfdFlags::CLOEXEC).expect("a file in memory")
    })
}

fn read(reader: &BagReader) {
    let schemas: Vec<_> = reader.topics().iter().map(|topic| topic.schema()).collect();
    let mut messages = reader.messages();
    let mut ended = false;
    while let Some(message) = messages.next_message() {
        assert!(!ended, "something after the final error");
        let Ok(message) = message else {
            ended = true;
            continue;
        };
        assert!(message.data.len() as u64 <= LIMIT_BYTES);
        let Ok(schema) = &schemas[message.topic] else { continue };
        let Ok(wanted) = schema.flat_bytes_of_cdr(message.data) else { continue };
        // A definition may ask for a root struct of gigabytes.
        if wanted <= 1 << 22 {
            let mut flat = FlatBuffer::with_bytes(wanted);
            assert_eq!(schema.decode_cdr(message.data, flat.as_mut_slice()), Ok(wanted));
            assert_eq!(schema.validate(Block::new(flat.as_slice())), Ok(()));
        }
    }
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let file = file();
    rustix::fs::ftruncate(file, 0).expect("memory can be cut");
    let written = rustix::io::pwrite(file, data, 0).expect("memory can be written");
    assert_eq!(written, data.len());
    let options = ReaderOptions {
        record_bytes_max: LIMIT_BYTES,
        order_bytes_max: LIMIT_BYTES,
        expansion_max: 64,
        expansion_bytes_free: 4 * LIMIT_BYTES,
        ..ReaderOptions::default()
    };
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    if let Ok(reader) = BagReader::open_with(path, options) {
        read(&reader);
    }
});
