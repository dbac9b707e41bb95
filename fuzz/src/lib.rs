//! What the fuzz targets share: an input that is read piece by piece, and seeds.

pub mod graphs;
pub mod memory;
pub mod recording;
pub mod rows;

use std::path::Path;

/// A fuzzer's input, read from its front. Past its end there are zeros, so that every input is
/// valid and the engine is free to cut it anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Up to `count` bytes.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// `N` bytes, zeros where the input has ended.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.take(N);
        std::array::from_fn(|index| taken.get(index).copied().unwrap_or(0))
    }

    /// One byte.
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Two bytes, little endian.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Eight bytes, little endian.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// Everything that is left.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Called by every target before its first input. With `CROSSDOCK_FUZZ_SEEDS` set, writes the
/// target's seeds into that folder and ends the process; else does nothing.
///
/// # Panics
/// The folder cannot be written.
pub fn seeds(make: impl FnOnce() -> Vec<Vec<u8>>) {
    let Some(folder) = std::env::var_os("CROSSDOCK_FUZZ_SEEDS") else { return };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).expect("the folder of the seeds can be made");
    for (number, seed) in make().iter().enumerate() {
        let file = folder.join(format!("seed-{number:03}"));
        std::fs::write(file, seed).expect("a seed can be written");
    }
    std::process::exit(0);
}
