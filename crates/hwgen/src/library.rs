//! The library modules that networks are made of, with their sources: part of the program, so that
//! an installed one needs no other file. Must not know networks.

use std::fmt;

/// A module of the hardware library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LibraryModule {
    /// Joins publishers.
    AxisArb,
    /// Serves subscribers.
    AxisBcast,
    /// Crosses clocks.
    AxisCdc,
    /// Keep-all FIFO.
    AxisFifo,
    /// Keep-last FIFO.
    AxisFifoLast,
    /// Counts for the host.
    AxisProbe,
    /// Converts widths.
    AxisWidth,
    /// Puts messages together.
    FramePublish,
    /// Takes messages apart.
    FrameTake,
}

/// The value of a parameter, as its type in the module wants it written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A number.
    Number(u64),
    /// A number that is written with its 32 bits.
    Word(u64),
    /// One bit.
    Bit(bool),
}

impl Parameter {
    /// The value as a number.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Number(value) | Self::Word(value) => value,
            Self::Bit(value) => u64::from(value),
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Word(value) => write!(f, "32'd{value}"),
            Self::Bit(value) => write!(f, "1'b{}", u8::from(*value)),
        }
    }
}

/// A library module as a network uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Which module.
    pub module: LibraryModule,
    /// Its parameters.
    pub parameters: Vec<(&'static str, Parameter)>,
}

impl LibraryModule {
    /// Those that networks are made of.
    pub const OF_NETWORKS: [Self; 7] = [
        Self::AxisArb,
        Self::AxisBcast,
        Self::AxisCdc,
        Self::AxisFifo,
        Self::AxisFifoLast,
        Self::AxisProbe,
        Self::AxisWidth,
    ];

    /// Name of the module; its file is the name with `.sv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AxisArb => "axis_arb",
            Self::AxisBcast => "axis_bcast",
            Self::AxisCdc => "axis_cdc",
            Self::AxisFifo => "axis_fifo",
            Self::AxisFifoLast => "axis_fifo_last",
            Self::AxisProbe => "axis_probe",
            Self::AxisWidth => "axis_width",
            Self::FramePublish => "frame_publish",
            Self::FrameTake => "frame_take",
        }
    }

    /// Text of the module's file.
    #[must_use]
    pub fn source(self) -> &'static str {
        match self {
            Self::AxisArb => include_str!("../../../hw/axis_arb/axis_arb.sv"),
            Self::AxisBcast => include_str!("../../../hw/axis_bcast/axis_bcast.sv"),
            Self::AxisCdc => include_str!("../../../hw/axis_cdc/axis_cdc.sv"),
            Self::AxisFifo => include_str!("../../../hw/axis_fifo/axis_fifo.sv"),
            Self::AxisFifoLast => include_str!("../../../hw/axis_fifo_last/axis_fifo_last.sv"),
            Self::AxisProbe => include_str!("../../../hw/axis_probe/axis_probe.sv"),
            Self::AxisWidth => include_str!("../../../hw/axis_width/axis_width.sv"),
            Self::FramePublish => include_str!("../../../hw/frame_publish/frame_publish.sv"),
            Self::FrameTake => include_str!("../../../hw/frame_take/frame_take.sv"),
        }
    }
}

impl fmt::Display for LibraryModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
