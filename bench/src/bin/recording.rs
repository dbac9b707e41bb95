//! Measures how fast recordings are written and read, beside the `mcap` crate with the same raw
//! bytes and the same compression, in the same run.
//!
//! Prints a row for each kind of message and compression: megabytes per second of both, their
//! ratio, and the least and the largest ratio of a round. Files are in the folder of temporary
//! files. Arguments choose rows: bytes of a message, names of compressions.

use crossdock_bench::scope::Scope;
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
/// Rounds, in which both write and read in turn; the medians count.
const ROUNDS: usize = 7;
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
    let scope = Scope::for_files()?;
    measure(scope.folder())
}

/// Whether a row is asked for: an argument is a number of bytes or the name of a compression.
fn is_asked_for(bytes: usize, compression: Compression) -> bool {
    let (bytes, name) = (bytes.to_string(), format!("{compression:?}").to_lowercase());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, names): (Vec<_>, Vec<_>) =
        arguments.into_iter().partition(|argument| argument.parse::<usize>().is_ok());
    let chosen = |among: Vec<String>, one: String| among.is_empty() || among.contains(&one);
    chosen(numbers, bytes) && chosen(names, name)
}

fn measure(folder: &Path) -> Done<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "MB/s, medians of {ROUNDS} rounds; in brackets the ratios of single rounds")?;
    writeln!(
        out,
        "  bytes  packed  {:30}   {}",
        "write: here, mcap, ratio", "read: here, mcap, ratio"
    )?;
    for bytes in [100, 10_000, 1_000_000] {
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            if !is_asked_for(bytes, compression) {
                continue;
            }
            let [written, read] = rounds(folder, compression, &payloads(bytes))?;
            let name = format!("{compression:?}");
            writeln!(out, "{bytes:7}  {name:6}  {written}   {read}")?;
        }
    }
    Ok(())
}

/// What both took in each round, in seconds: here, and the peer.
#[derive(Default)]
struct Beside([Vec<f64>; 2]);

impl Beside {
    fn note(&mut self, here: Duration, peer: Duration) {
        self.0[0].push(here.as_secs_f64());
        self.0[1].push(peer.as_secs_f64());
    }
}

impl std::fmt::Display for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let median = |mut list: Vec<f64>| {
            list.sort_by(f64::total_cmp);
            list.get(list.len() / 2).copied().unwrap_or(f64::NAN)
        };
        let rate = |list: &Vec<f64>| TOTAL_BYTES as f64 / 1e6 / median(list.clone());
        let [here, peer] = &self.0;
        let ratios: Vec<f64> = here.iter().zip(peer).map(|(here, peer)| peer / here).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let (here, peer) = (rate(here), rate(peer));
        write!(f, "{here:6.0} {peer:6.0} {:5.2} ({least:.2} to {most:.2})", here / peer)
    }
}

/// Writing and reading, some rounds of both in turn. Who begins changes, so that neither always
/// finds what the other has left.
fn rounds(folder: &Path, compression: Compression, payloads: &[Vec<u8>]) -> Done<[Beside; 2]> {
    let (mut written, mut read) = (Beside::default(), Beside::default());
    for round in 0..ROUNDS {
        let [ours, theirs] = ["here", "peer"].map(|name| folder.join(format!("{name}.mcap")));
        let write_peer = || write_peer(&theirs, compression, payloads);
        let write_here = || write_here(&ours, compression, payloads);
        let (here, peer) = in_turn(round, write_here, write_peer)?;
        written.note(here, peer);
        // Both read the peer's file.
        let ((here, sum), (peer, other)) =
            in_turn(round, || read_here(&theirs), || read_peer(&theirs))?;
        assert_eq!(sum, other, "both have read the same");
        read.note(here, peer);
        fs::remove_file(&ours)?;
        fs::remove_file(&theirs)?;
    }
    Ok([written, read])
}

fn in_turn<T>(
    round: usize,
    here: impl FnOnce() -> Done<T>,
    peer: impl FnOnce() -> Done<T>,
) -> Done<(T, T)> {
    if round % 2 == 0 {
        let here = here()?;
        return Ok((here, peer()?));
    }
    let peer = peer()?;
    Ok((here()?, peer))
}
