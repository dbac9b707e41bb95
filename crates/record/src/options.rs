//! The limits of a reader: bags are other people's input. And who hears how far opening one is.

/// Limits of a reader.
#[derive(Debug, Clone, Copy)]
pub struct ReaderOptions {
    /// Largest chunk (decompressed) or message in bytes that is read; larger ones are damage.
    pub record_bytes_max: u64,
    /// Bytes of decompressed chunks held at a time in order to bring chunks that overlap in time
    /// into log-time order; beyond it messages come in the order of their chunks.
    pub order_bytes_max: u64,
    /// A file without an index, as after an interrupted recording, has all its chunks decompressed
    /// when it is opened. They may expand to this many times the file...
    pub expansion_max: u64,
    /// ... and to this many bytes more, so that small files of zeros are read whole.
    pub expansion_bytes_free: u64,
}

/// Is told now and then how far the opening of a file is: bytes that were looked through, and bytes
/// of the file. Files with an index are opened at once, others are looked through.
pub type OpeningProgress<'p> = &'p dyn Fn(u64, u64);

/// How a bag is opened: the limits, and who is told how far that is.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'p> {
    pub(crate) options: ReaderOptions,
    pub(crate) progress: OpeningProgress<'p>,
}

impl Opening<'static> {
    /// Nobody is told.
    pub(crate) fn silent(options: ReaderOptions) -> Self {
        Self { options, progress: &|_, _| {} }
    }
}

/// Bytes of a record: a chunk holds about 1 MiB, or one message if that is larger.
const RECORD_BYTES_MAX: u64 = 256 << 20;
/// Bytes that are held for the order. With the buffers that wait to be used again, and two chunks
/// of the usual size, a reader stays below 200 MB.
const ORDER_BYTES_MAX: u64 = 128 << 20;
/// How many times larger than a file its chunks are. Recordings expand 2 to 20 times.
const EXPANSION_MAX: u64 = 256;
/// Bytes beyond that.
const EXPANSION_BYTES_FREE: u64 = 1 << 30;

impl Default for ReaderOptions {
    /// The limits in docs/limits.md.
    fn default() -> Self {
        Self {
            record_bytes_max: RECORD_BYTES_MAX,
            order_bytes_max: ORDER_BYTES_MAX,
            expansion_max: EXPANSION_MAX,
            expansion_bytes_free: EXPANSION_BYTES_FREE,
        }
    }
}
