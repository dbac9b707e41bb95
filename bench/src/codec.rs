//! Conversions of large messages between the flat layout and CDR, beside a copy of the same bytes
//! by `memcpy` in the same round.

use crossdock_msg::types::sensor_msgs::{Image, PointCloud2};
use crossdock_msg::{Block, BlockMut, CdrBuffer, CdrSlices, Extra, FlatBuffer, Message, Schema};
use std::hint::black_box;
use std::time::Instant;

/// Bytes of a point: x, y, z and intensity as float32.
const POINT_BYTES: usize = 16;

/// Times of one operation, ns, a sample for each round.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<u64>);

impl Times {
    /// Adds what was measured elsewhere, but for its first round.
    fn add(&mut self, Times(times): Times) {
        self.0.extend(times.into_iter().skip(1));
    }

    /// The median.
    pub fn p50_ns(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(0) as f64
    }
}

/// What was measured of one type at one size.
#[derive(Clone, Debug, Default)]
pub struct Conversion {
    /// Name of the type and bytes of its large array.
    pub what: String,
    /// A copy of the flat message, which `encode` reads.
    pub copy_flat: Times,
    /// A copy of the encoding, which `decode` reads.
    pub copy_cdr: Times,
    /// Flat layout to one piece of CDR, by generated code.
    pub encode: Times,
    /// CDR to flat layout, by generated code, the look for its size included.
    pub decode: Times,
    /// The same two by code for types known at run time.
    pub encode_any: Times,
    /// As `encode_any`.
    pub decode_any: Times,
    /// Flat layout to a head, the large array left where it is.
    pub head_ns: f64,
}

impl Conversion {
    /// Adds the rounds of one set of buffers.
    fn add(&mut self, here: Conversion) {
        self.copy_flat.add(here.copy_flat);
        self.copy_cdr.add(here.copy_cdr);
        self.encode.add(here.encode);
        self.decode.add(here.decode);
        self.encode_any.add(here.encode_any);
        self.decode_any.add(here.decode_any);
    }
}

/// An image of `bytes` bytes of pixels.
pub fn image(bytes: usize) -> FlatBuffer {
    let extra = Extra::none().text("camera_optical_frame".len()).text("rgb8".len()).bytes(bytes);
    built::<Image>(extra, |mut image| {
        image.header().set_frame_id("camera_optical_frame").expect("room");
        image.set_encoding("rgb8").expect("room");
        image.set_step(1920 * 3);
        image.data_uninit(bytes).expect("room").fill(7);
    })
}

/// A cloud of `bytes` bytes of points.
pub fn cloud(bytes: usize) -> FlatBuffer {
    let names = ["x", "y", "z", "intensity"];
    let text = |extra: Extra, name: &str| extra.text(name.len());
    let extra = names.into_iter().fold(Extra::none().text(5), text);
    let extra = extra.sequence::<crossdock_msg::types::sensor_msgs::PointField>(4).bytes(bytes);
    built::<PointCloud2>(extra, |mut cloud| {
        cloud.header().set_frame_id("lidar").expect("room");
        let mut fields = cloud.fields(names.len()).expect("room");
        for (index, name) in names.into_iter().enumerate() {
            fields.at(index).set_name(name).expect("room");
        }
        cloud.set_point_step(POINT_BYTES as u32);
        cloud.data_uninit(bytes).expect("room").fill(7);
    })
}

fn built<M: Message>(extra: Extra, fill: impl FnOnce(M::Builder<'_>)) -> FlatBuffer {
    let mut memory = FlatBuffer::with_bytes(M::ROOT_BYTES + extra.total());
    let mut used = 0;
    fill(M::builder(BlockMut::new(memory.as_mut_slice(), &mut used)));
    FlatBuffer::from_bytes(&memory.as_slice()[..used])
}

/// How often all buffers are made anew. Which physical pages a buffer gets seems to decide a part
/// of the time of a copy that is larger than a core's own cache.
const PLACEMENTS: usize = 9;

/// Measures one type: in each round each operation once, so that all meet the same machine. What
/// reads the same bytes goes in turn first, because the second finds them in the cache.
pub fn measure<M: Message>(what: &str, made: impl Fn() -> FlatBuffer, rounds: usize) -> Conversion {
    let mut found = Conversion { what: what.to_owned(), ..Conversion::default() };
    for _ in 0..PLACEMENTS {
        measure_placed::<M>(&made(), rounds.div_ceil(PLACEMENTS), &mut found);
    }
    found.head_ns = head_ns::<M>(Block::new(made().as_slice()));
    found
}

/// Adds rounds in one set of buffers.
fn measure_placed<M: Message>(message: &FlatBuffer, rounds: usize, found: &mut Conversion) {
    let schema = Schema::of::<M>().expect("a shipped type");
    let block = Block::new(message.as_slice());
    let mut cdr = CdrBuffer::new();
    M::encode_cdr(M::view(block).expect("a message"), &mut cdr).expect("a message");
    let encoded = cdr.as_bytes().to_vec();
    let mut flat_copy = vec![0u8; message.as_slice().len()];
    let mut cdr_copy = vec![0u8; encoded.len()];
    let mut any = Vec::new();
    let wanted = M::ROOT_BYTES + M::cdr_extra(&encoded).expect("CDR").total();
    let mut flat = FlatBuffer::with_bytes(wanted);
    let time = |times: &mut Times, operation: &mut dyn FnMut()| {
        let start = Instant::now();
        operation();
        times.0.push(start.elapsed().as_nanos() as u64);
    };
    let mut here = Conversion::default();
    // One more: the first brings the memory.
    for round in 0..=rounds {
        for turn in 0..3 {
            match (round + turn) % 3 {
                0 => time(&mut here.copy_flat, &mut || {
                    black_box(&mut flat_copy).copy_from_slice(black_box(message.as_slice()));
                }),
                1 => time(&mut here.encode, &mut || {
                    let view = M::view(black_box(block)).expect("a message");
                    M::encode_cdr(view, &mut cdr).expect("a message");
                }),
                _ => time(&mut here.encode_any, &mut || {
                    schema.encode_cdr(black_box(block), &mut any).expect("a message");
                }),
            }
        }
        for turn in 0..3 {
            match (round + turn) % 3 {
                0 => time(&mut here.copy_cdr, &mut || {
                    black_box(&mut cdr_copy).copy_from_slice(black_box(&encoded));
                }),
                1 => time(&mut here.decode, &mut || {
                    let bytes = black_box(encoded.as_slice());
                    let _ = black_box(M::cdr_extra(bytes).expect("CDR"));
                    let mut used = 0;
                    let memory = BlockMut::new(flat.as_mut_slice(), &mut used);
                    M::decode_cdr(bytes, &mut M::builder(memory)).expect("CDR");
                }),
                _ => time(&mut here.decode_any, &mut || {
                    let bytes = black_box(encoded.as_slice());
                    schema.decode_cdr(bytes, flat.as_mut_slice()).expect("CDR");
                }),
            }
        }
    }
    found.add(here);
}

/// One conversion to a head, the mean of many: one is too short for the clock. The least of some
/// rounds, since the rest is the machine's.
fn head_ns<M: Message>(block: Block<'_>) -> f64 {
    const BATCH: u32 = 100_000;
    let mut buffer = CdrBuffer::new();
    let mut least = f64::INFINITY;
    for _ in 0..9 {
        let start = Instant::now();
        for _ in 0..BATCH {
            let view = M::view(black_box(block)).expect("a message");
            let mut slices = CdrSlices::new(&mut buffer);
            M::encode_cdr_slices(view, &mut slices).expect("a message");
            black_box(slices.total_bytes());
        }
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(BATCH));
    }
    least
}
