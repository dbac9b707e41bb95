//! Rectification of 8-bit pictures: from a camera's calibration to a table of fixed-point
//! positions, which is made once and applied to every picture, on the processor
//! ([`RectificationTable`]) or on a device ([`RectificationOnDevice`]). Both give the same bits.
//!
//! # Bit-exact specification
//!
//! Pictures have 1 or 3 bytes per pixel ([`CHANNELS_MAX`]) and packed rows; the rectified picture
//! is as large as the raw one, `w` x `h`.
//!
//! 1. [`Camera::raw_of_rectified`] says where the rectified pixel `(u, v)` lies in the raw picture:
//!    `+ - * /` on f64 in the written order, nothing else, so that the table has the same bits on
//!    every machine.
//! 2. The table holds that position in units of 1 / 1024 pixel, `(px, py)`: rounded to nearest,
//!    ties away from zero. Where `px <= -1024`, `py <= -1024`, `px >= 1024 w`, `py >= 1024 h` or
//!    one of them is not a number, no neighbour lies in the picture, and the pixel is 0.
//! 3. With `x = px >> 10`, `fx = px & 1023` (arithmetic shift; the same for y), and neighbours
//!    outside the picture read as 0, each channel is
//!    `(top + bottom + 2^19) >> 20` with
//!    `top = (1024 - fy) ((1024 - fx) p(x, y) + fx p(x + 1, y))` and
//!    `bottom = fy ((1024 - fx) p(x, y + 1) + fx p(x + 1, y + 1))`.
//!    All sums fit 32 bits unsigned.
//!
//! [`RectificationTable::of_places`] makes a table of other places, of a picture of another size;
//! steps 2 and 3 are the same. [`hardware`] writes tables as memories of modules in hardware.
//!
//! The position is off by at most 1 / 2048 pixel in each direction, so that the result is off by at
//! most `510 / 2048 + 1 / 2` levels from exact bilinear interpolation before it is rounded: every
//! pixel is within 1 level of it.
//!
//! Unsafe code is in `gpu.rs` alone.
#![deny(unsafe_code)]

mod camera;
mod gpu;
pub mod hardware;
mod table;

pub use camera::Camera;
pub use gpu::RectificationOnDevice;
pub use table::{FRACTION_BITS, MakeTableError, NOWHERE, RectificationTable, mix};

/// Bytes per pixel at most.
pub const CHANNELS_MAX: usize = 3;
/// Longest side of a picture, pixels: its bytes can be counted in 32 bits.
pub const SIDE_MAX: usize = 16_384;
