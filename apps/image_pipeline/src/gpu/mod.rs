//! Rectification and resizing on a device, with the same bits as on the processor.
//!
//! Each is a struct that holds its compiled kernel and its tables (uploaded once), and whose
//! `launch` puts the work for one picture into a stream and returns at once. Pictures begin at the
//! start of their spans, in packed rows. Nothing here knows messages, or when a picture is ready.

mod rectify;
mod resize;

pub use rectify::RectifyOnDevice;
pub use resize::ResizeOnDevice;
