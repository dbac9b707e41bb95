//! What a generated message type offers to everything that moves or stores messages.
//!
//! The trait is safe: every read through a view is checked against its block, so that a wrong
//! implementation gives wrong values or errors, never an access outside the block.

#![forbid(unsafe_code)]

use crate::block::{Block, BlockMut, Extra, FlatError, Record, RecordMut};
use crate::cdr::{self, CdrBuffer, CdrError, CdrReader, CdrSink, CdrSlices, FlatSize};
use crate::hash::{LayoutHash, TypeHash};
use crate::layout::Layout;

/// A message type. Implemented by the generated marker types; values of it are never made.
///
/// Reading goes through [`Message::View`], writing through [`Message::Builder`], both in place in
/// the flat layout. No method blocks or locks; none allocates except growth of an output buffer
/// that is used for the first time.
pub trait Message: Sized + 'static {
    /// Full ROS 2 name, such as `sensor_msgs/msg/Image`.
    const TYPE_NAME: &'static str;
    /// Its definition and the definitions of all types it uses, in recordings' `ros2msg` form.
    const DEFINITION: &'static str;
    /// RIHS01 type hash.
    const TYPE_HASH: TypeHash;
    /// Hash of the flat layout v1.
    const LAYOUT_HASH: LayoutHash;
    /// Size of the root struct in bytes.
    const ROOT_BYTES: usize;
    /// Alignment of the root struct in bytes: 1, 2, 4 or 8.
    const ROOT_ALIGNMENT: usize;
    /// Least bytes that a message takes as CDR, padding not counted; at least 1.
    const CDR_BYTES_MIN: usize;
    /// Byte offset of `header.stamp` {i32 sec, u32 nanosec} when the first field is a
    /// `std_msgs/msg/Header`.
    const STAMP_OFFSET: Option<usize>;

    /// Reads a message in place.
    type View<'a>: Copy + From<Record<'a, Self>> + Into<Record<'a, Self>>;
    /// Builds a message in place.
    type Builder<'a>: From<RecordMut<'a, Self>>;

    /// Views a block as a message of this type.
    ///
    /// # Errors
    ///
    /// The block is too short for the root struct or not aligned. Whether it was published as this
    /// type is the caller's to know (type and layout hash).
    #[inline]
    fn view(block: Block<'_>) -> Result<Self::View<'_>, FlatError> {
        Ok(Record::root(block)?.into())
    }

    /// Starts (or goes on with) a message in writable memory: the root struct is zeroed the first
    /// time, so that every field is 0, false or empty.
    ///
    /// # Panics
    ///
    /// The memory is shorter than [`Message::ROOT_BYTES`] or not aligned to 8 bytes.
    #[inline]
    fn builder(memory: BlockMut<'_>) -> Self::Builder<'_> {
        RecordMut::root(memory).into()
    }

    /// Writes the fields as CDR. Generated, straight-line; callers use [`Message::encode_cdr`].
    ///
    /// # Errors
    ///
    /// The message's references are damaged.
    fn write_cdr<'a, S: CdrSink<'a>>(view: Self::View<'a>, out: &mut S) -> Result<(), FlatError>;

    /// Reads the fields from CDR. Generated; callers use [`Message::decode_cdr`].
    ///
    /// # Errors
    ///
    /// The input is cut off or damaged, or the message's memory is too small.
    fn read_cdr(input: &mut CdrReader<'_>, message: &mut Self::Builder<'_>)
    -> Result<(), CdrError>;

    /// Walks over the fields and adds up the memory that they need. Generated; callers use
    /// [`Message::cdr_extra`].
    ///
    /// # Errors
    ///
    /// The input is cut off or damaged.
    fn scan_cdr(input: &mut CdrReader<'_>, size: &mut FlatSize) -> Result<(), CdrError>;

    /// Encodes a message as one contiguous piece of CDR (XCDR1 little endian with its 4-byte
    /// header), replacing the buffer's contents. Allocates only when the buffer has to grow.
    ///
    /// # Errors
    ///
    /// The message's references are damaged.
    fn encode_cdr(view: Self::View<'_>, out: &mut CdrBuffer) -> Result<(), FlatError> {
        out.start(view.into().block().len());
        Self::write_cdr(view, out)
    }

    /// Encodes a message as CDR whose large arrays stay where they are: the pieces of `out` in
    /// order are the encoding. Allocates only when the head buffer has to grow.
    ///
    /// # Errors
    ///
    /// The message's references are damaged.
    fn encode_cdr_slices<'a>(
        view: Self::View<'a>,
        out: &mut CdrSlices<'_, 'a>,
    ) -> Result<(), FlatError> {
        out.start(view.into().block().len());
        Self::write_cdr(view, out)
    }

    /// Decodes CDR into a message under construction. Allocates only for input that is not XCDR1
    /// little endian, and for errors.
    ///
    /// # Errors
    ///
    /// The input is cut off or damaged, neither XCDR1 nor XCDR2, or the message's memory is too
    /// small: reserve [`Message::cdr_extra`]. The error names the field.
    fn decode_cdr(bytes: &[u8], builder: &mut Self::Builder<'_>) -> Result<(), CdrError> {
        let mut decode = |bytes: &[u8]| {
            let mut input = CdrReader::new(bytes)?;
            Self::read_cdr(&mut input, builder)?;
            input.finish()
        };
        decode(bytes).or_else(|error| decode(&rewritten::<Self>(bytes, error)?))
    }

    /// The room behind the root struct that [`Message::decode_cdr`] needs for this input. Allocates
    /// as that does.
    ///
    /// # Errors
    ///
    /// The input is cut off or damaged, or neither XCDR1 nor XCDR2. The error names the field.
    fn cdr_extra(bytes: &[u8]) -> Result<Extra, CdrError> {
        let scan = |bytes: &[u8]| {
            let mut input = CdrReader::new(bytes)?;
            let mut size = FlatSize::of_root(Self::ROOT_BYTES);
            Self::scan_cdr(&mut input, &mut size)?;
            input.finish()?;
            Ok(Extra::exactly(size.total() - Self::ROOT_BYTES))
        };
        scan(bytes).or_else(|error| scan(&rewritten::<Self>(bytes, error)?))
    }
}

/// Input of a generated type that failed with `error` as XCDR1 little endian, if it is in another
/// encoding; else the error with the field's path.
#[cold]
fn rewritten<M: Message>(bytes: &[u8], error: CdrError) -> Result<Vec<u8>, CdrError> {
    match Layout::of_text(M::TYPE_NAME, M::DEFINITION) {
        Some(layout) => cdr::rewritten_or(&layout, bytes, error),
        // The generator has written a definition that can be read.
        None => Err(error),
    }
}
