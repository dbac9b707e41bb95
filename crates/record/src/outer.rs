//! Compression around what a file holds, as rosbag2 writes it: of whole files (its mode FILE), and
//! of messages one by one (its mode MESSAGE). Both are Zstandard with the plain size in the frame,
//! which ROS 2 asks for.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// The level of Zstandard that rosbag2 uses.
const LEVEL: i32 = 1;
/// What stands behind the name of a file that is compressed as a whole.
const ENDING: &str = ".zstd";
/// And behind that, as long as it is not complete.
const UNFINISHED: &str = ".unfinished";

/// What is compressed beside the chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outer {
    Nothing,
    Files,
    Messages,
}

impl Outer {
    /// What metadata.yaml says of files with these names: that they are compressed if one of them
    /// is. A recorder may have been killed before it compressed the last one, or had no room for
    /// it.
    pub(crate) fn of_files<'a>(self, mut names: impl Iterator<Item = &'a str>) -> Self {
        match names.any(|name| name.ends_with(ENDING)) {
            true => Outer::Files,
            false if self == Outer::Files => Outer::Nothing,
            false => self,
        }
    }

    /// `compression_format` and `compression_mode` in metadata.yaml.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Outer::Nothing => ("", ""),
            Outer::Files => ("zstd", "FILE"),
            Outer::Messages => ("zstd", "MESSAGE"),
        }
    }
}

/// Compresses messages one at a time.
pub(crate) struct MessageEncoder {
    compressor: zstd::bulk::Compressor<'static>,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

impl MessageEncoder {
    pub(crate) fn new() -> io::Result<Self> {
        let compressor = zstd::bulk::Compressor::new(LEVEL)?;
        Ok(Self { compressor, plain: Vec::new(), packed: Vec::new() })
    }

    /// The message whose bytes are the concatenation of `slices`, compressed. Allocates if it is
    /// longer than those before.
    pub(crate) fn encode(&mut self, slices: &[IoSlice<'_>]) -> io::Result<&[u8]> {
        let plain: &[u8] = match slices {
            [one] => one,
            several => {
                self.plain.clear();
                several.iter().for_each(|slice| self.plain.extend_from_slice(slice));
                &self.plain
            }
        };
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        self.compressor.compress_to_buffer(plain, &mut self.packed)?;
        Ok(&self.packed)
    }
}

/// A complete file that is compressed on a thread of its own.
pub(crate) struct FileCompression {
    /// The plain file.
    path: PathBuf,
    thread: JoinHandle<io::Result<()>>,
}

impl FileCompression {
    /// Begins to compress the file at `path`.
    ///
    /// # Errors
    /// When the thread cannot be started; the file stays as it is.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let (path, own) = (path.to_owned(), path.to_owned());
        let named = std::thread::Builder::new().name("bag-compression".to_owned());
        Ok(Self { path, thread: named.spawn(move || compress(&own))? })
    }

    /// The plain file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the end. The file has the name of [`compressed_name`] then.
    ///
    /// # Errors
    /// When it could not be compressed; the plain file stays as it is.
    pub(crate) fn wait(self) -> io::Result<()> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread has ended")))
    }
}

/// What a file is called when it is compressed.
pub(crate) fn compressed_name(name: &str) -> String {
    format!("{name}{ENDING}")
}

/// Puts a compressed file in the place of the plain one: whole, or not at all.
fn compress(path: &Path) -> io::Result<()> {
    let behind = |name: &Path, ending: &str| {
        let mut name = OsString::from(name);
        name.push(ending);
        PathBuf::from(name)
    };
    let compressed = behind(path, ENDING);
    let unfinished = behind(&compressed, UNFINISHED);
    let target = OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
    let done = pack(path, target).and_then(|()| fs::rename(&unfinished, &compressed));
    if done.is_err() {
        // The error to report is the first one; the plain file is whole.
        let _ = fs::remove_file(&unfinished);
        return done;
    }
    fs::remove_file(path)
}

fn pack(path: &Path, target: File) -> io::Result<()> {
    let mut source = File::open(path)?;
    let mut encoder = zstd::Encoder::new(target, LEVEL)?;
    encoder.include_contentsize(true)?;
    encoder.set_pledged_src_size(Some(source.metadata()?.len()))?;
    io::copy(&mut source, &mut encoder)?;
    encoder.finish()?.sync_all()
}
