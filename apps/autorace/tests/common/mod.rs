//! Reading of the recordings and truth files beside the repository, for this package's tests.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::print_stdout, reason = "skips are printed")]

use crossdock_autorace::jpeg::Jpeg;
use std::path::Path;

/// One decoded camera image.
pub struct Frame {
    pub stamp_ns: i64,
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

/// Calls `each` with every compressed image of the recording `bag` in file order.
pub fn frames(bag: &Path, mut each: impl FnMut(Frame)) {
    let bytes = std::fs::read(bag).expect("recording is readable");
    for message in mcap::MessageStream::new(&bytes).expect("recording is MCAP") {
        let message = message.expect("recording is whole");
        if message.channel.topic != "/camera/image_raw/compressed" {
            continue;
        }
        let (stamp_ns, jpeg) = compressed_image(&message.data);
        let (width, height, rgb) = decode(jpeg);
        each(Frame { stamp_ns, width, height, rgb });
    }
}

/// The first compressed images of the recording `bag`, at most `count` of them.
pub fn pictures(bag: &Path, count: usize) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(bag).expect("recording is readable");
    let messages = mcap::MessageStream::new(&bytes).expect("recording is MCAP");
    let messages = messages.map(|message| message.expect("recording is whole"));
    messages
        .filter(|message| message.channel.topic == "/camera/image_raw/compressed")
        .map(|message| compressed_image(&message.data).1.to_vec())
        .take(count)
        .collect()
}

/// Width, height and rgb8 bytes of a JPEG.
pub fn decode(jpeg: &[u8]) -> (usize, usize, Vec<u8>) {
    let picture = Jpeg::open(jpeg).expect("image is JPEG");
    let (width, height) = (picture.width(), picture.height());
    let mut rgb = vec![0; width * height * 3];
    picture.decode(&mut rgb).expect("image decodes");
    (width, height, rgb)
}

/// Stamp and data of a CDR sensor_msgs/CompressedImage.
fn compressed_image(cdr: &[u8]) -> (i64, &[u8]) {
    let word = |at: usize| u32::from_le_bytes(cdr[at..at + 4].try_into().expect("four bytes"));
    let stamp_ns = i64::from(word(4)) * 1_000_000_000 + i64::from(word(8));
    // Header, then frame_id and format (strings), then the data (a sequence of bytes).
    let after = |at: usize| (at + 4 + word(at) as usize).next_multiple_of(4);
    let data = after(after(12));
    (stamp_ns, &cdr[data + 4..data + 4 + word(data) as usize])
}

/// Parsed JSON file.
pub fn json(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).expect("truth is readable");
    serde_json::from_str(&text).expect("truth is JSON")
}

/// Saves rgb8 as PNG, for looking at.
pub fn save_png(path: &Path, width: usize, height: usize, rgb: &[u8]) {
    let file = std::fs::File::create(path).expect("picture can be written");
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("head can be written");
    writer.write_image_data(rgb).expect("pixels can be written");
}
