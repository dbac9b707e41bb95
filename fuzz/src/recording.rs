//! Small recordings written by the product, for the targets that read some.

use crossdock_record::{BagWriter, Compression, OfferedQos, TopicDescription, WriterOptions};
use std::io::IoSlice;
use std::path::Path;

/// Kinds of MCAP records that carry a checksum, and its place behind their kind and length.
const CHECKSUMS: [(u8, usize); 3] = [(0x02, 16), (0x06, 24), (0x0f, 0)];
/// Kind and length of a record.
const HEAD_BYTES: usize = 9;
/// What an MCAP file begins and ends with.
const MAGIC_BYTES: usize = 8;

/// A text message as CDR.
#[must_use]
pub fn cdr_of_text(text: &str) -> Vec<u8> {
    let length = (text.len() as u32 + 1).to_le_bytes();
    [&[0, 1, 0, 0], &length[..], text.as_bytes(), &[0]].concat()
}

/// A recording with messages on two topics, in two chunks. It has no checksums, which the format
/// allows: with them nearly every change would end at the same place.
///
/// # Panics
/// The recording cannot be written.
#[must_use]
pub fn recording(compression: Compression, messages: u64) -> Vec<u8> {
    let folder = Path::new("target/tmp");
    std::fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(format!("seed-{}.mcap", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let options = WriterOptions { chunk_bytes: 150, ..WriterOptions::new(compression) };
    let mut writer = BagWriter::create(&path, options).expect("a new file");
    let qos = OfferedQos { depth: 4, ..OfferedQos::DEFAULT };
    let topics = ["/a", "/b"].map(|name| {
        let schema = crossdock_msg::Schema::shipped("std_msgs/msg/String").expect("shipped");
        let topic = TopicDescription {
            name: name.to_owned(),
            type_name: schema.type_name().to_owned(),
            definition: schema.definition().to_owned(),
            type_hash: schema.type_hash().to_string(),
            qos: vec![qos],
        };
        writer.add_topic(topic).expect("a topic")
    });
    for number in 0..messages {
        let cdr = cdr_of_text(&format!("message {number}"));
        let time_ns = 1_000_000 * number;
        let topic = topics[(number % 2) as usize];
        writer.write(topic, time_ns, time_ns, &[IoSlice::new(&cdr)]).expect("a message");
    }
    writer.finish().expect("a whole file");
    let mut bytes = std::fs::read(&path).expect("the file");
    let _ = std::fs::remove_file(&path);
    clear_checksums(&mut bytes);
    bytes
}

/// Zeros every checksum: zero stands for none.
fn clear_checksums(bytes: &mut [u8]) {
    let mut at = MAGIC_BYTES;
    while let Some(head) = bytes.get(at..at + HEAD_BYTES) {
        let length: [u8; 8] = std::array::from_fn(|index| head[1 + index]);
        let content = at + HEAD_BYTES;
        let place = CHECKSUMS.iter().find(|(kind, _)| *kind == head[0]);
        let checksum = place.and_then(|(_, place)| bytes.get_mut(content + place..));
        if let Some(checksum) = checksum.and_then(|rest| rest.get_mut(..4)) {
            checksum.fill(0);
        }
        at = content.saturating_add(u64::from_le_bytes(length) as usize);
    }
}
