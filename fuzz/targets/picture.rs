//! Fuzzes what the driving application makes of pictures: JPEG from a camera or a recording, and
//! image messages of any size and shape.
#![no_main]

use crossdock_autorace::blur::Blur;
use crossdock_autorace::compensation::compensate;
use crossdock_autorace::features::{FeatureParameters, FeatureSearch};
use crossdock_autorace::image::Rgb;
use crossdock_autorace::jpeg::Jpeg;
use crossdock_autorace::nodes::rgb_of;
use crossdock_fuzz::Input;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Block, BlockMut, Extra, FlatBuffer, Message};
use libfuzzer_sys::fuzz_target;

/// Pixels that are decoded: larger pictures only take longer.
const PIXELS_MAX: usize = 1 << 18;

/// A JPEG of one colour: every block has the same value, so one code of one bit each is enough.
fn jpeg(components: u8, width: u8, height: u8, start_of_frame: u8) -> Vec<u8> {
    let mut out = vec![0xff, 0xd8];
    let mut segment = |marker: u8, content: &[u8]| {
        out.extend([0xff, marker]);
        out.extend((content.len() as u16 + 2).to_be_bytes());
        out.extend(content);
    };
    segment(0xdb, &[&[0], [1; 64].as_slice()].concat());
    let mut frame = vec![8, 0, height, 0, width, components];
    (1..=components).for_each(|id| frame.extend([id, 0x11, 0]));
    segment(start_of_frame, &frame);
    // One code of length 1, for the value 0: no difference, and end of block.
    for class in [0x00, 0x10] {
        segment(0xc4, &[&[class, 1], [0; 15].as_slice(), &[0]].concat());
    }
    let mut scan = vec![components];
    (1..=components).for_each(|id| scan.extend([id, 0]));
    // Progressive: the first scan has the lowest frequency only.
    scan.extend([0, if start_of_frame == 0xc2 { 0 } else { 63 }, 0]);
    segment(0xda, &scan);
    out.extend([0; 16]);
    out.extend([0xff, 0xd9]);
    out
}

fn raw(width: u32, height: u32, step: u32, data: &[u8]) -> Vec<u8> {
    let numbers = [width, height, step].map(u32::to_le_bytes).concat();
    [&[1], &numbers[..], data].concat()
}

fn seeds() -> Vec<Vec<u8>> {
    let jpegs = [jpeg(1, 8, 8, 0xc0), jpeg(3, 17, 9, 0xc0), jpeg(3, 16, 16, 0xc2)];
    let mut seeds: Vec<_> = jpegs.iter().map(|jpeg| [&[0], &jpeg[..]].concat()).collect();
    seeds.push(raw(4, 2, 12, &[9; 24]));
    seeds.push(raw(40, 40, 120, &[200; 4800]));
    seeds.push(raw(1, 1, 3, &[1, 2, 3]));
    seeds.push(raw(0, 0, 0, &[]));
    seeds
}

/// What the nodes do with a picture.
fn seen(picture: Rgb<'_>) {
    let mut out = vec![0; picture.data().len()];
    compensate(picture, 100, &mut out);
    Blur::new(64).blur(picture, &mut out);
    let parameters = FeatureParameters { threshold: 25, per_cell: 5 };
    let mut search = FeatureSearch::new(parameters, picture.width(), picture.height());
    search.find(picture).expect("the size that it was made for");
}

fn decoded(bytes: &[u8]) {
    let Ok(jpeg) = Jpeg::open(bytes) else { return };
    let (width, height) = (jpeg.width(), jpeg.height());
    if width * height > PIXELS_MAX {
        return;
    }
    let mut pixels = vec![0; width * height * 3];
    if jpeg.decode(&mut pixels).is_ok() {
        seen(Rgb::new(width, height, &pixels).expect("the size that was decoded"));
    }
}

fn message(mut input: Input<'_>) {
    let [width, height, step] = std::array::from_fn(|_| u32::from_le_bytes(input.array()));
    let data = input.rest();
    let extra = Extra::none().text(4).bytes(data.len());
    let mut flat = FlatBuffer::with_bytes(Image::ROOT_BYTES + extra.total());
    let mut used = 0;
    let mut image = Image::builder(BlockMut::new(flat.as_mut_slice(), &mut used));
    image.set_width(width);
    image.set_height(height);
    image.set_step(step);
    image.set_encoding("rgb8").expect("room");
    image.data_uninit(data.len()).expect("room").copy_from_slice(data);
    let image = Image::view(Block::new(flat.as_slice())).expect("it was just built");
    if let Ok(picture) = rgb_of(image) {
        seen(picture);
    }
}

/// A panic of the decoder, which the product catches, is no failure: the hook that ends the process
/// goes. Any other panic still ends it.
fn begin() {
    drop(std::panic::take_hook());
    crossdock_fuzz::seeds(seeds);
}

fuzz_target!(init: begin(), |data: &[u8]| {
    let mut input = Input::new(data);
    match input.u8() & 1 {
        0 => decoded(input.rest()),
        _ => message(input),
    }
});
