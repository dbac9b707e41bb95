//! Frames for the testbench of nodes that make a picture of a picture: recorded pictures, chance
//! ones, and what is no picture or no message; with each what the software node makes of it.

use crate::twin;
use crossdock_autorace::messages::autorace_msgs::Lane;
use crossdock_autorace::nodes::{PictureError, lane_of, package, rgb_of};
use crossdock_autorace::recording;
use crossdock_hardware_tests::must;
use crossdock_msg::block::Text;
use crossdock_msg::frame::{FrameHeader, FramePlan, HEADER_BYTES};
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_msg::{Block, BlockMut, Extra, FlatBuffer, Message, Schema};
use crossdock_test_support::workspace;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Seeded chance (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// 0 to `end` - 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }
}

/// An image message before it is one.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) stamp: (i32, u32),
    pub(crate) frame_id: Vec<u8>,
    pub(crate) height: u32,
    pub(crate) width: u32,
    pub(crate) encoding: Vec<u8>,
    pub(crate) is_bigendian: u8,
    pub(crate) step: u32,
    pub(crate) data: Vec<u8>,
}

impl Fields {
    /// An rgb8 picture.
    pub(crate) fn picture(width: usize, height: usize, data: Vec<u8>) -> Self {
        Self {
            stamp: (0, 0),
            frame_id: b"camera".to_vec(),
            height: height as u32,
            width: width as u32,
            encoding: b"rgb8".to_vec(),
            is_bigendian: 0,
            step: width as u32 * 3,
            data,
        }
    }

    /// A mono8 picture.
    pub(crate) fn grey(width: usize, height: usize, data: Vec<u8>) -> Self {
        let (encoding, step) = (b"mono8".to_vec(), width as u32);
        Self { encoding, step, ..Self::picture(width, height, data) }
    }

    pub(crate) fn block(&self) -> FlatBuffer {
        let (frame_id, encoding) = (self.frame_id.len(), self.encoding.len());
        let extra = Extra::none().text(frame_id).text(encoding).bytes(self.data.len());
        let mut memory = FlatBuffer::with_bytes(Image::ROOT_BYTES + extra.total());
        let mut top = 0;
        let mut to = Image::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
        to.header().stamp().set_sec(self.stamp.0);
        to.header().stamp().set_nanosec(self.stamp.1);
        must(to.header().set_frame_id_text(Text::new(&self.frame_id)));
        to.set_height(self.height);
        to.set_width(self.width);
        must(to.set_encoding_text(Text::new(&self.encoding)));
        to.set_is_bigendian(self.is_bigendian);
        to.set_step(self.step);
        must(to.data_uninit(self.data.len())).copy_from_slice(&self.data);
        memory
    }
}

/// A frame as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    bytes: Vec<u8>,
    damaged: bool,
}

impl Sent {
    /// Beats of 8 bytes.
    pub(crate) fn beats(&self) -> u64 {
        self.bytes.len().div_ceil(8) as u64
    }
}

/// What messages may be as long as, and pictures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bound of `data` at the node's ports.
    pub(crate) bound: u32,
    /// The node's MAX_BYTES.
    pub(crate) max_bytes: u32,
    /// The node's MAX_WIDTH; a node without one takes pictures of any width.
    pub(crate) max_width: u32,
    /// The only size of pictures that the node takes, if it has one.
    pub(crate) size: Option<(u32, u32)>,
}

/// A software node: its type and its output; its input is `image`.
pub(crate) type Twin = (&'static str, &'static str);

impl Limits {
    /// Bounds of the node's ports.
    pub(crate) fn bounds(self, encoding: u32) -> [(&'static str, u32); 3] {
        [("data", self.bound), ("header.frame_id", 64), ("encoding", encoding)]
    }

    pub(crate) fn plan(self) -> FramePlan {
        plan(&self.bounds(16))
    }
}

fn plan(bounds: &[(&str, u32)]) -> FramePlan {
    let bounds: BTreeMap<_, _> =
        bounds.iter().map(|(at, bound)| ((*at).to_owned(), *bound)).collect();
    must(FramePlan::new(&must(Schema::of::<Image>()), &bounds))
}

/// The frame of an image, whatever its bounds.
pub(crate) fn frame(fields: &Fields, random: &mut Random) -> Sent {
    let plan = plan(&[("data", 1 << 24), ("header.frame_id", 4096), ("encoding", 4096)]);
    framed(&fields.block(), &plan, random)
}

/// The frame of a message.
pub(crate) fn framed(block: &FlatBuffer, plan: &FramePlan, random: &mut Random) -> Sent {
    let mut payload = Vec::new();
    must(plan.encode(Block::new(block.as_slice()), &mut payload));
    let header = FrameHeader {
        publisher_id: random.next() as u16,
        payload_bytes: payload.len() as u32,
        sequence: random.next() as u32,
        stamp_ns: random.next(),
    };
    Sent { bytes: [&header.to_bytes()[..], &payload].concat(), damaged: false }
}

/// A picture of noise.
pub(crate) fn noise(width: usize, height: usize, random: &mut Random) -> Fields {
    let data = (0..width * height * 3).map(|_| 20 + random.next() as u8 / 2);
    Fields::picture(width, height, data.collect())
}

/// An rgb8 picture of chance: noise, a narrow range, two levels, a ramp, blank; any size.
pub(crate) fn picture(random: &mut Random, limits: Limits) -> Fields {
    let pixels = limits.max_bytes as usize / 3;
    let most = [1, 3, 40, pixels][random.below(4)];
    let width = 1 + random.below(most.min(limits.max_width as usize));
    let height = 1 + random.below(most / width);
    let (width, height) =
        limits.size.map_or((width, height), |(width, height)| (width as usize, height as usize));
    let low = random.below(256);
    let high = low + random.below(256 - low);
    let kind = random.below(5);
    let count = width * height * 3;
    let data = (0..count).map(|at| match kind {
        0 => random.next() as u8,
        1 => (low + random.below(high - low + 1)) as u8,
        2 => [low, high][random.below(2)] as u8,
        3 => (low + (high - low) * at / count) as u8,
        _ => low as u8,
    });
    let mut fields = Fields::picture(width, height, data.collect());
    fields.stamp = (random.next() as i32, random.next() as u32);
    fields.frame_id = (0..random.below(65)).map(|_| random.next() as u8).collect();
    fields.is_bigendian = [0, 0, 1, 255][random.below(4)];
    fields
}

/// Makes of a picture what may be no picture: one thing is not as it should be.
pub(crate) fn odd(
    mut fields: Fields,
    number: usize,
    limits: Limits,
    random: &mut Random,
) -> Fields {
    let encodings: [&[u8]; 8] =
        [b"bgr8", b"mono8", b"rgb16", b"RGB8", b"rgb8\0", b"rgb", b"", b"rgb8rgb8rgb8rgb8"];
    let length = fields.data.len();
    match number % 23 {
        0 | 1 => fields.encoding = encodings[random.below(8)].to_vec(),
        2 => fields.step += 1 + random.below(8) as u32,
        3 => fields.step = fields.width,
        4 => fields.step |= 1 << 31,
        5 => fields.height += 1,
        6 => fields.height -= 1,
        // The area is the same modulo 2^32.
        7 => fields.height |= 1 << 31,
        8 => fields.data.push(7),
        9 => fields.data.truncate(length - 1),
        10 => fields.data.clear(),
        // Without pixels, but with a size: a picture.
        11 => (fields.data, fields.height) = (vec![], 0),
        12 => (fields.data, fields.width, fields.step) = (vec![], 0, 0),
        13 => {
            let width = 1 << 30;
            (fields.data, fields.height, fields.width) = (vec![], 0, width);
            fields.step = width.wrapping_mul(3);
        }
        14 => (fields.data, fields.width, fields.step, fields.height) = (vec![], 0, 0, u32::MAX),
        15 => {
            let rows = limits.max_bytes / 3 + 1 + random.below(3) as u32;
            fields = Fields::picture(1, rows as usize, vec![9; rows as usize * 3]);
        }
        16 => {
            let rows = limits.bound / 3 + 1 + random.below(300) as u32;
            fields = Fields::picture(1, rows as usize, vec![9; rows as usize * 3]);
        }
        // Its data are as long as its rows, but the rows are not as long as its pixels.
        17 => fields.width += 1,
        18 => fields.width |= 1 << 30,
        19 => (fields.data, fields.height, fields.step) = (vec![], 0, fields.step + 3),
        20 => fields.frame_id = vec![b'f'; 65],
        21 if limits.max_width < limits.max_bytes / 3 => {
            let width = limits.max_width as usize + 1 + random.below(3);
            fields = Fields::picture(width, 1, vec![9; width * 3]);
        }
        22 if limits.size.is_some() => {
            let Fields { width, height, data, .. } = fields;
            fields = Fields::picture(width as usize / 2, height as usize * 2, data);
        }
        _ => fields.encoding = vec![b'r'; 17],
    }
    fields
}

/// Damages a frame.
pub(crate) fn damage(mut sent: Sent, number: usize, random: &mut Random) -> Sent {
    let bytes = &mut sent.bytes;
    let length = bytes.len();
    match number % 8 {
        0 => sent.damaged = true,
        1 => bytes.truncate(1 + random.below(length - 1)),
        2 => bytes.extend((0..=random.below(600)).map(|it| it as u8)),
        3 => bytes[4 + random.below(3)] ^= 1 << random.below(8),
        4 => bytes[random.below(2)] ^= 4,
        5 => {
            let cut = HEADER_BYTES + random.below(length - HEADER_BYTES);
            bytes.truncate(cut.max(HEADER_BYTES + 1));
            let payload = (bytes.len() - HEADER_BYTES) as u32;
            bytes[4..8].copy_from_slice(&payload.to_le_bytes());
        }
        // Cut where its data begin or end.
        6 => bytes.truncate(length - 1),
        _ => sent = Sent { bytes: bytes[..HEADER_BYTES].to_vec(), damaged: true },
    }
    sent
}

/// Good pictures, and between them odd and damaged ones, as many as both together.
pub(crate) fn chance(
    seed: u64,
    count: usize,
    limits: Limits,
    picture: fn(&mut Random, Limits) -> Fields,
) -> Vec<Sent> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for number in 0..count {
        let good = picture(&mut random, limits);
        all.push(frame(&good, &mut random));
        let other = picture(&mut random, limits);
        all.push(match number % 3 {
            0 => frame(&odd(other, number / 3, limits, &mut random), &mut random),
            1 => damage(frame(&other, &mut random), number / 3, &mut random),
            _ => frame(&other, &mut random),
        });
    }
    all
}

/// Stamps of the pictures of a recording, ns.
pub(crate) fn stamps(bag: &Path) -> Vec<i64> {
    must(recording::read(bag)).image_stamps_ns
}

/// The pictures of a recording with these stamps.
pub(crate) fn recorded(bag: &Path, stamps: &[i64]) -> Vec<Fields> {
    let mut found = Vec::new();
    must(recording::pictures(bag, stamps, |picture| {
        let mut fields = Fields::picture(picture.width, picture.height, picture.rgb);
        let (sec, nanosec) = (picture.stamp_ns / 1_000_000_000, picture.stamp_ns % 1_000_000_000);
        fields.stamp = (sec as i32, nanosec as u32);
        found.push(fields);
    }));
    found
}

/// The messages of frames, with their headers; none where a frame is damaged or above its bounds.
pub(crate) fn messages(sent: &[Sent], plan: &FramePlan) -> Vec<Option<(FrameHeader, FlatBuffer)>> {
    let message = |sent: &Sent| {
        let header = FrameHeader::read(&sent.bytes).ok()?;
        let payload = &sent.bytes[HEADER_BYTES..];
        let is_whole = header.payload_bytes as usize == payload.len() && !sent.damaged;
        let block = is_whole.then(|| plan.decode(payload).ok())??;
        Some((header, block))
    };
    sent.iter().map(message).collect()
}

/// The frame that a node publishes for a message with this header, of sequence and publisher 0.
pub(crate) fn published(header: &FrameHeader, block: &FlatBuffer, plan: &FramePlan) -> Vec<u8> {
    let mut payload = Vec::new();
    must(plan.encode(Block::new(block.as_slice()), &mut payload));
    let payload_bytes = payload.len() as u32;
    let header = FrameHeader { publisher_id: 0, payload_bytes, sequence: 0, ..*header };
    [&header.to_bytes()[..], &payload].concat()
}

/// Numbers that `picture_check` has for what is wrong with a picture.
pub(crate) const ENCODING: u32 = 1;
pub(crate) const ROWS: u32 = 2;
pub(crate) const ROOM: u32 = 3;
pub(crate) const DATA: u32 = 4;
pub(crate) const SIZE: u32 = 5;

/// All that is wrong with a picture, each thing at its number - 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wrong([bool; 5]);

impl Wrong {
    /// For a node with these limits that takes these encodings with so many bytes per pixel.
    pub(crate) fn of(view: ImageView<'_>, encodings: &[(&str, u64)], limits: Limits) -> Self {
        let (width, height) = (u64::from(view.width()), u64::from(view.height()));
        let (step, length) = (u64::from(view.step()), must(view.data()).len() as u64);
        let encoding = must(view.encoding());
        let found = encodings.iter().find(|(name, _)| encoding == *name);
        let is_wide = width > u64::from(limits.max_width) && length > 0;
        let size = limits.size.unwrap_or((view.width(), view.height()));
        Self([
            found.is_none(),
            found.is_some_and(|(_, channels)| step != width * channels),
            is_wide || length > u64::from(limits.max_bytes),
            length != step * height,
            size != (view.width(), view.height()),
        ])
    }

    /// The size, too, if this is so.
    pub(crate) fn or_size(mut self, is_wrong: bool) -> Self {
        self.0[SIZE as usize - 1] |= is_wrong;
        self
    }

    /// Whether there is no memory for it.
    pub(crate) fn has_no_room(self) -> bool {
        self.0[ROOM as usize - 1]
    }

    /// The number that hardware gives, see picture_check; 0: nothing is wrong.
    pub(crate) fn first(self) -> u32 {
        match self.0 {
            [true, ..] => ENCODING,
            [_, true, ..] => ROWS,
            [_, _, true, _, false] => ROOM,
            [_, _, false, true, _] => DATA,
            [.., true] => SIZE,
            _ => 0,
        }
    }

    /// The same, beside the number of what software says. Software looks in another order: what it
    /// says has to be among what is wrong.
    pub(crate) fn first_beside(self, said: u32) -> u32 {
        let first = self.first();
        let is_among = said > 0 && self.0[said as usize - 1];
        assert!(said == first || is_among, "{said} in software, {first} in hardware: {self:?}");
        first
    }
}

/// What a node does with a frame.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// It publishes this one, of sequence and publisher 0.
    Published(Vec<u8>),
    /// It refuses it with this number; 0: it is no message at all.
    Refused(u32),
}

/// What a node does with each frame, if `make` gives what its twin publishes for all messages that
/// have no number of a reason against them.
pub(crate) fn answers(
    sent: &[Sent],
    [came, left]: [&FramePlan; 2],
    reason: impl Fn(ImageView<'_>) -> u32,
    make: impl FnOnce(Vec<FlatBuffer>) -> Vec<FlatBuffer>,
) -> Vec<Answer> {
    let of_message = |(header, block): (FrameHeader, FlatBuffer)| {
        let reason = reason(must(Image::view(Block::new(block.as_slice()))));
        if reason == 0 { Ok((header, block)) } else { Err(reason) }
    };
    let messages = messages(sent, came).into_iter();
    let all: Vec<_> = messages.map(|it| it.map_or(Err(0), of_message)).collect();
    let taken: Vec<_> = all.iter().flatten().map(|(_, block)| block.clone()).collect();
    let count = taken.len();
    let made = make(taken);
    assert_eq!(made.len(), count, "one message for each picture");
    let mut made = made.iter();
    let answer = |it: Result<(FrameHeader, FlatBuffer), u32>| match it {
        Ok((header, _)) => {
            Answer::Published(published(&header, made.next().expect("as many"), left))
        }
        Err(reason) => Answer::Refused(reason),
    };
    all.into_iter().map(answer).collect()
}

/// A stamp of so many nanoseconds.
pub(crate) fn stamp_of(ns: i64) -> (i32, u32) {
    (ns.div_euclid(1_000_000_000) as i32, ns.rem_euclid(1_000_000_000) as u32)
}

/// The file of these frames for the testbench with the lanes that the software node, which is told
/// this, publishes on `lane` for what comes on `input`, and how many lanes that are; and in how
/// many of these both lines, and at least one are valid.
pub(crate) fn of_lanes(
    sent: &[Sent],
    limits: Limits,
    reason: impl Fn(ImageView<'_>) -> u32,
    (node, input): (&str, &str),
    told: &str,
) -> (PathBuf, u64, [usize; 2]) {
    let bounds = BTreeMap::from([("header.frame_id".to_owned(), 64)]);
    let plan = must(FramePlan::new(&must(Schema::of::<Lane>()), &bounds));
    let mut lanes = Vec::new();
    let expected = answers(sent, [&limits.plan(), &plan], reason, |blocks| {
        lanes = twin::published::<Lane>(package(), node, [input, "lane"], told, blocks);
        lanes.clone()
    });
    let lines = |block: &FlatBuffer| {
        let lane = lane_of(must(Lane::view(Block::new(block.as_slice()))));
        usize::from(lane.left.is_some()) + usize::from(lane.right.is_some())
    };
    let found: Vec<usize> = lanes.iter().map(lines).collect();
    let count = |least| found.iter().filter(|lines| **lines >= least).count();
    let (path, published) = written(sent, &expected);
    (path, published, [count(2), count(1)])
}

/// Why a node for pictures of rgb8 refuses one, by its number; 0: it does not. The parameters of
/// the software node need not say how much room hardware has.
pub(crate) fn reason_of_rgb(view: ImageView<'_>, limits: Limits) -> u32 {
    let wrong = Wrong::of(view, &[("rgb8", 3)], limits);
    let said = match rgb_of(view) {
        Err(PictureError::Encoding { .. }) => ENCODING,
        Err(PictureError::Step { .. }) => ROWS,
        Err(PictureError::Image(_)) => DATA,
        Err(other) => panic!("{other}"),
        Ok(picture) => match limits.size {
            Some((width, height)) => {
                let sized = picture.expect_size(width as usize, height as usize);
                sized.map_or(SIZE, |()| 0)
            }
            None => u32::from(wrong.has_no_room()) * ROOM,
        },
    };
    wrong.first_beside(said)
}

/// What the node does with each frame: what the software node publishes, or why it refuses it; it
/// is no message if it is damaged or above its bounds.
pub(crate) fn expected(
    sent: &[Sent],
    limits: Limits,
    (node, output): Twin,
    told: &str,
) -> Vec<Answer> {
    let plans = [&limits.plan(), &Limits { bound: 1 << 24, ..limits }.plan()];
    let reason = |view: ImageView<'_>| reason_of_rgb(view, limits);
    answers(sent, plans, reason, |blocks| {
        twin::published::<Image>(package(), node, ["image", output], told, blocks)
    })
}

/// The file of these frames and what the node does with each of them, named by its content; and how
/// many messages it publishes.
pub(crate) fn written(sent: &[Sent], expected: &[Answer]) -> (PathBuf, u64) {
    let mut bytes = (sent.len() as u32).to_le_bytes().to_vec();
    let mut count = 0;
    for (sent, expected) in sent.iter().zip(expected) {
        put(&mut bytes, sent);
        let (reason, frame) = match expected {
            Answer::Published(frame) => (0, frame.as_slice()),
            Answer::Refused(reason) => (*reason, &[][..]),
        };
        bytes.extend(reason.to_le_bytes());
        put_bytes(&mut bytes, frame);
        count += u64::from(!frame.is_empty());
    }
    (saved(&bytes), count)
}

/// A frame that is sent when others have been.
#[derive(Clone, Debug)]
pub(crate) struct InOrder {
    pub(crate) sent: Sent,
    /// Frames of the other inputs that have been sent before.
    pub(crate) after: u32,
    /// Messages that the node has published or dropped before.
    pub(crate) behind: u32,
}

impl From<&Sent> for InOrder {
    /// At any time.
    fn from(sent: &Sent) -> Self {
        Self { sent: sent.clone(), after: 0, behind: 0 }
    }
}

/// The file of the frames of several inputs, how many of them are dropped, the numbers of the
/// reasons in the order of the frames, and what is published for all of them, named by its content.
pub(crate) fn written_joined(
    inputs: &[Vec<InOrder>],
    (dropped, reasons): (usize, &[u32]),
    expected: &[Vec<u8>],
) -> PathBuf {
    let mut bytes = Vec::new();
    for frames in inputs {
        bytes.extend((frames.len() as u32).to_le_bytes());
        for frame in frames {
            bytes.extend(frame.after.to_le_bytes());
            bytes.extend(frame.behind.to_le_bytes());
            put(&mut bytes, &frame.sent);
        }
    }
    bytes.extend((dropped as u32).to_le_bytes());
    bytes.extend((reasons.len() as u32).to_le_bytes());
    bytes.extend(reasons.iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend((expected.len() as u32).to_le_bytes());
    expected.iter().for_each(|frame| put_bytes(&mut bytes, frame));
    saved(&bytes)
}

fn put(bytes: &mut Vec<u8>, sent: &Sent) {
    bytes.extend(u32::from(sent.damaged).to_le_bytes());
    put_bytes(bytes, &sent.bytes);
}

fn put_bytes(bytes: &mut Vec<u8>, frame: &[u8]) {
    bytes.extend((frame.len() as u32).to_le_bytes());
    bytes.extend(frame);
}

fn saved(bytes: &[u8]) -> PathBuf {
    let digest = Sha256::digest(bytes);
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let folder = workspace().join("target/hw/vectors");
    must(std::fs::create_dir_all(&folder));
    let path = folder.join(format!("{name}.bin"));
    // Whole or not at all, even if another test writes it at the same time.
    let thread = std::thread::current().id();
    let unfinished = folder.join(format!("{name}.{}.{thread:?}", std::process::id()));
    must(std::fs::write(&unfinished, bytes));
    must(std::fs::rename(&unfinished, &path));
    path
}
