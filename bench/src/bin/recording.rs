//! Measures how fast recordings are written and read, beside the `mcap` crate with the same raw
//! bytes and the same compression, in the same run.
//!
//! Prints a row for each kind of message and compression: megabytes per second of both and their
//! ratio, the best of a few rounds in turn. Files are in the folder of temporary files.

use crossdock_record::{
    BagReader, BagWriter, Compression, OfferedQos, TopicDescription, WriterOptions,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, IoSlice, Read, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of payload in each recording.
const TOTAL_BYTES: usize = 256 << 20;
/// Rounds; the best one counts.
const ROUNDS: usize = 5;
/// Payloads that are written in turn, so that no round writes one only.
const KINDS: usize = 16;
/// Bytes of a chunk in both.
const CHUNK_BYTES: usize = 1 << 20;

type Done<T> = Result<T, Box<dyn Error>>;

/// Payloads that are as compressible as a camera's picture: noise in the low bits.
fn payloads(bytes: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state
    };
    let payload = |_| {
        let data = (0..bytes).map(|at| ((at / 64) as u8).wrapping_add((next() & 7) as u8));
        [0, 1, 0, 0].into_iter().chain(data).collect()
    };
    (0..KINDS).map(payload).collect()
}

fn write_here(path: &Path, compression: Compression, payloads: &[Vec<u8>]) -> Done<Duration> {
    let options = WriterOptions { chunk_bytes: CHUNK_BYTES, ..WriterOptions::new(compression) };
    let began = Instant::now();
    let mut writer = BagWriter::create(path, options)?;
    let topic = writer.add_topic(TopicDescription {
        name: "/a".to_owned(),
        type_name: "std_msgs/msg/ByteMultiArray".to_owned(),
        definition: "byte[] data\n".to_owned(),
        type_hash: String::new(),
        qos: vec![OfferedQos::DEFAULT],
    })?;
    for (number, payload) in payloads.iter().cycle().take(count(payloads)).enumerate() {
        // As a recorder gives it: the head that it has encoded, and the array where it lies.
        let (head, array) = payload.split_at(8.min(payload.len()));
        let slices = [IoSlice::new(head), IoSlice::new(array)];
        writer.write(topic, number as u64, number as u64, &slices)?;
    }
    writer.finish()?;
    Ok(began.elapsed())
}

fn write_peer(path: &Path, compression: Compression, payloads: &[Vec<u8>]) -> Done<Duration> {
    let compression = match compression {
        Compression::Lz4 => Some(mcap::Compression::Lz4),
        Compression::Zstd => Some(mcap::Compression::Zstd),
        _ => None,
    };
    let options = mcap::WriteOptions::new()
        .profile("ros2")
        .compression(compression)
        .compression_threads(0)
        .chunk_size(Some(CHUNK_BYTES as u64));
    let began = Instant::now();
    let mut writer = options.create(BufWriter::new(File::create_new(path)?))?;
    let schema = writer.add_schema("std_msgs/msg/ByteMultiArray", "ros2msg", b"byte[] data\n")?;
    let channel_id = writer.add_channel(schema, "/a", "cdr", &BTreeMap::new())?;
    for (number, payload) in payloads.iter().cycle().take(count(payloads)).enumerate() {
        let time = number as u64;
        let header = mcap::records::MessageHeader {
            channel_id,
            sequence: number as u32,
            log_time: time,
            publish_time: time,
        };
        writer.write_to_known_channel(&header, payload)?;
    }
    writer.finish()?;
    let file = writer.into_inner().into_inner().map_err(|error| error.into_error())?;
    file.sync_all()?;
    Ok(began.elapsed())
}

fn count(payloads: &[Vec<u8>]) -> usize {
    TOTAL_BYTES / payloads[0].len()
}

/// A sum over the payloads, so that none is left unread.
fn touch(data: &[u8]) -> u64 {
    data.iter().step_by(64).map(|byte| u64::from(*byte)).sum()
}

fn read_here(path: &Path) -> Done<(Duration, u64)> {
    let began = Instant::now();
    let reader = BagReader::open(path)?;
    let (mut messages, mut sum) = (reader.messages(), 0);
    while let Some(message) = messages.next_message() {
        sum += touch(message?.data);
    }
    Ok((began.elapsed(), sum))
}

/// The peer's reader of files that are not mapped into memory. It compares the checksums of
/// chunks, as the reader here always does. It keeps no order across chunks.
fn read_peer(path: &Path) -> Done<(Duration, u64)> {
    let began = Instant::now();
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let options = mcap::sans_io::LinearReaderOptions::default().with_validate_chunk_crcs(true);
    let mut reader = mcap::sans_io::LinearReader::new_with_options(options);
    let mut sum = 0;
    while let Some(event) = reader.next_event() {
        match event? {
            mcap::sans_io::LinearReadEvent::ReadRequest(need) => {
                let read = file.read(reader.insert(need))?;
                reader.notify_read(read);
            }
            mcap::sans_io::LinearReadEvent::Record { data, opcode } => {
                if opcode == mcap::records::op::MESSAGE {
                    // What stands in front of the payload has 22 bytes.
                    sum += touch(&data[22..]);
                }
            }
        }
    }
    Ok((began.elapsed(), sum))
}

fn main() -> Done<()> {
    let folder = std::env::temp_dir().join(format!("crossdock-recording-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let done = measure(&folder);
    fs::remove_dir_all(&folder)?;
    done
}

fn measure(folder: &Path) -> Done<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "MB/s, best of {ROUNDS}        write                      read")?;
    writeln!(out, "message  compression   here   mcap  ratio        here   mcap  ratio")?;
    for bytes in [100, 10_000, 1_000_000] {
        let payloads = payloads(bytes);
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            let mut best = [Duration::MAX; 4];
            for round in 0..ROUNDS {
                let [ours, theirs] =
                    ["here", "peer"].map(|name| folder.join(format!("{name}{round}.mcap")));
                let written = [
                    write_here(&ours, compression, &payloads)?,
                    write_peer(&theirs, compression, &payloads)?,
                ];
                // Both read the peer's file, in turn.
                let (read, sum) = read_here(&theirs)?;
                let (peer, other) = read_peer(&theirs)?;
                assert_eq!(sum, other, "both have read the same");
                for (best, taken) in best.iter_mut().zip([written[0], written[1], read, peer]) {
                    *best = (*best).min(taken);
                }
                fs::remove_file(&ours)?;
                fs::remove_file(&theirs)?;
            }
            let [here, peer, read, read_peer] =
                best.map(|taken| (TOTAL_BYTES as f64 / 1e6) / taken.as_secs_f64());
            writeln!(
                out,
                "{bytes:7}  {:11} {here:6.0} {peer:6.0} {:6.2}      {read:6.0} {read_peer:6.0} {:6.2}",
                format!("{compression:?}"),
                here / peer,
                read / read_peer,
            )?;
        }
    }
    Ok(())
}
