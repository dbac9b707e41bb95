//! The library modules that networks are made of, with their sources: part of the program, so that
//! an installed one needs no other file.

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
    /// Counts what nodes drop.
    EventCount,
    /// Puts messages together.
    FramePublish,
    /// Takes messages apart.
    FrameTake,
    /// Puts a header in front of a payload.
    AxisHeader,
    /// Joins segments at 8 bytes.
    AxisPack,
    /// Joins a topic and host memory.
    Gateway,
    /// Takes the host's words apart.
    GatewayDown,
    /// Gives messages their credits.
    GatewayUp,
    /// The words between gateway and host; a package.
    GatewayWords,
    /// How long the host may reach memory, and the restart for the next one.
    HostLease,
    /// The host's registers.
    HostPort,
    /// Passes bursts on or refuses them.
    MemifGate,
    /// Windows of host memory.
    MemifMmu,
    /// Reads host memory.
    MemifRead,
    /// Shares a port of host memory.
    MemifShare,
    /// Brings a port of host memory to rest.
    MemifStop,
    /// Writes host memory.
    MemifWrite,
    /// Queues of words to and from the host.
    Osif,
    /// Register slice.
    AxisReg,
    /// Page tables of host memory.
    MemifTlb,
    /// Stands round the kernel of a node.
    NodeShell,
    /// Other lengths of beats.
    ByteGear,
    /// Rows above and below a row.
    LineWindow,
    /// Whether a message is a picture.
    PictureCheck,
    /// What a node that makes a picture of a picture needs beside its kernel.
    PictureShell,
    /// The pixels of a picture as its bytes pass.
    PixelGear,
    /// Hue, saturation and value of a pixel.
    PixelHsv,
    /// Histogram of a picture, and its bytes through a table.
    PixelLevels,
    /// Stores a message and sends it again.
    Replay,
    /// Which marked pixels of a row stand out of those beside them.
    RowContrast,
    /// A view of stored rows, along a line through one of them for each of its own.
    RowWarp,
    /// Pixels left and right of a beat.
    RowWindow,
    /// What a node that gives a short message for each one needs beside its kernel.
    MessageShell,
    /// A parabola from the sums of its points.
    LineSolve,
    /// The most likely base of a line for each slope.
    LineVote,
    /// Sums of the points near a parabola.
    PointMoments,
    /// Runs of marked pixels.
    RowRuns,
    /// Whole numbers as floating-point ones.
    ToDouble,
    /// Floating-point numbers as whole ones.
    FromDouble,
    /// Products, quotients and square roots, a bit per cycle.
    SerialMath,
    /// Messages of one stamp, one of each input.
    StampJoin,
    /// Runs of marked pixels, all of them.
    MarkRuns,
    /// Patches of runs that touch.
    RunPatches,
    /// Marks of a picture, counted in the margin of a box.
    MarginCount,
    /// A picture at places between the pixels of another one.
    BandRemap,
    /// Places of such a picture, as steps that change.
    RemapPlaces,
    /// The host's way to all registers.
    RegisterBridge,
    /// Words of one clock that the host reads and writes.
    RegisterWords,
    /// Makes a reset of a clock out of any other.
    ResetSync,
    /// Host memory as in published systems, for reproductions.
    PaperMemif,
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

/// The text of a module by its name.
macro_rules! source {
    ($name:literal) => {
        include_str!(concat!("../../../hw/", $name, "/", $name, ".sv"))
    };
}

/// The same of a kernel.
macro_rules! kernel {
    ($name:literal) => {
        include_str!(concat!("../../../hw/kernels/", $name, "/", $name, ".sv"))
    };
}

impl LibraryModule {
    /// All of them: what the sources of nodes may name.
    pub const ALL: [Self; 56] = [
        Self::AxisArb,
        Self::AxisBcast,
        Self::AxisCdc,
        Self::AxisFifo,
        Self::AxisFifoLast,
        Self::AxisProbe,
        Self::AxisWidth,
        Self::EventCount,
        Self::FramePublish,
        Self::FrameTake,
        Self::AxisHeader,
        Self::AxisPack,
        Self::Gateway,
        Self::GatewayDown,
        Self::GatewayUp,
        Self::GatewayWords,
        Self::HostLease,
        Self::HostPort,
        Self::MemifGate,
        Self::MemifMmu,
        Self::MemifRead,
        Self::MemifShare,
        Self::MemifStop,
        Self::MemifWrite,
        Self::Osif,
        Self::AxisReg,
        Self::MemifTlb,
        Self::NodeShell,
        Self::ByteGear,
        Self::LineWindow,
        Self::PictureCheck,
        Self::PictureShell,
        Self::PixelGear,
        Self::PixelHsv,
        Self::PixelLevels,
        Self::Replay,
        Self::RowContrast,
        Self::RowWarp,
        Self::RowWindow,
        Self::MessageShell,
        Self::LineSolve,
        Self::LineVote,
        Self::PointMoments,
        Self::RowRuns,
        Self::ToDouble,
        Self::FromDouble,
        Self::SerialMath,
        Self::StampJoin,
        Self::MarkRuns,
        Self::RunPatches,
        Self::MarginCount,
        Self::BandRemap,
        Self::RemapPlaces,
        Self::RegisterBridge,
        Self::RegisterWords,
        Self::ResetSync,
    ];

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

    /// Those that join a network and a host.
    pub const OF_BOARDS: [Self; 10] = [
        Self::Gateway,
        Self::HostLease,
        Self::HostPort,
        Self::MemifMmu,
        Self::MemifShare,
        Self::MemifStop,
        Self::Osif,
        Self::RegisterBridge,
        Self::RegisterWords,
        Self::ResetSync,
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
            Self::EventCount => "event_count",
            Self::FramePublish => "frame_publish",
            Self::FrameTake => "frame_take",
            Self::AxisHeader => "axis_header",
            Self::AxisPack => "axis_pack",
            Self::Gateway => "gateway",
            Self::GatewayDown => "gateway_down",
            Self::GatewayUp => "gateway_up",
            Self::GatewayWords => "gateway_words",
            Self::HostLease => "host_lease",
            Self::HostPort => "host_port",
            Self::MemifGate => "memif_gate",
            Self::MemifMmu => "memif_mmu",
            Self::MemifRead => "memif_read",
            Self::MemifShare => "memif_share",
            Self::MemifStop => "memif_stop",
            Self::MemifWrite => "memif_write",
            Self::Osif => "osif",
            Self::AxisReg => "axis_reg",
            Self::MemifTlb => "memif_tlb",
            Self::NodeShell => "node_shell",
            Self::BandRemap => "band_remap",
            Self::RemapPlaces => "remap_places",
            Self::ByteGear => "byte_gear",
            Self::LineWindow => "line_window",
            Self::PictureCheck => "picture_check",
            Self::PictureShell => "picture_shell",
            Self::PixelGear => "pixel_gear",
            Self::PixelHsv => "pixel_hsv",
            Self::PixelLevels => "pixel_levels",
            Self::Replay => "replay",
            Self::RowContrast => "row_contrast",
            Self::RowWarp => "row_warp",
            Self::RowWindow => "row_window",
            Self::MessageShell => "message_shell",
            Self::LineSolve => "line_solve",
            Self::LineVote => "line_vote",
            Self::PointMoments => "point_moments",
            Self::RowRuns => "row_runs",
            Self::ToDouble => "to_double",
            Self::FromDouble => "from_double",
            Self::SerialMath => "serial_math",
            Self::StampJoin => "stamp_join",
            Self::MarkRuns => "mark_runs",
            Self::RunPatches => "run_patches",
            Self::MarginCount => "margin_count",
            Self::RegisterBridge => "register_bridge",
            Self::RegisterWords => "register_words",
            Self::ResetSync => "reset_sync",
            Self::PaperMemif => "paper_memif",
        }
    }

    /// The modules that are inside this one, at any depth, packages first.
    #[must_use]
    pub fn parts(self) -> &'static [Self] {
        match self {
            Self::Gateway => &[
                Self::GatewayWords,
                Self::GatewayDown,
                Self::GatewayUp,
                Self::MemifRead,
                Self::MemifWrite,
                Self::AxisFifo,
                Self::AxisHeader,
                Self::AxisPack,
            ],
            Self::MemifMmu | Self::MemifTlb => &[Self::MemifGate],
            Self::BandRemap => &[Self::ByteGear],
            Self::PictureShell => &[Self::PictureCheck],
            Self::PixelLevels => &[Self::PixelGear, Self::Replay],
            _ => &[],
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
            Self::EventCount => include_str!("../../../hw/event_count/event_count.sv"),
            Self::FramePublish => include_str!("../../../hw/frame_publish/frame_publish.sv"),
            Self::FrameTake => include_str!("../../../hw/frame_take/frame_take.sv"),
            Self::AxisHeader => include_str!("../../../hw/axis_header/axis_header.sv"),
            Self::AxisPack => include_str!("../../../hw/axis_pack/axis_pack.sv"),
            Self::Gateway => include_str!("../../../hw/gateway/gateway.sv"),
            Self::GatewayDown => include_str!("../../../hw/gateway_down/gateway_down.sv"),
            Self::GatewayUp => include_str!("../../../hw/gateway_up/gateway_up.sv"),
            Self::GatewayWords => include_str!("../../../hw/gateway_words/gateway_words.sv"),
            Self::HostLease => source!("host_lease"),
            Self::HostPort => include_str!("../../../hw/host_port/host_port.sv"),
            Self::MemifGate => include_str!("../../../hw/memif_gate/memif_gate.sv"),
            Self::MemifMmu => include_str!("../../../hw/memif_mmu/memif_mmu.sv"),
            Self::MemifRead => include_str!("../../../hw/memif_read/memif_read.sv"),
            Self::MemifShare => include_str!("../../../hw/memif_share/memif_share.sv"),
            Self::MemifStop => source!("memif_stop"),
            Self::MemifWrite => include_str!("../../../hw/memif_write/memif_write.sv"),
            Self::Osif => include_str!("../../../hw/osif/osif.sv"),
            Self::AxisReg => include_str!("../../../hw/axis_reg/axis_reg.sv"),
            Self::MemifTlb => include_str!("../../../hw/memif_tlb/memif_tlb.sv"),
            Self::NodeShell => include_str!("../../../hw/node_shell/node_shell.sv"),
            Self::BandRemap => include_str!("../../../hw/kernels/band_remap/band_remap.sv"),
            Self::ByteGear => include_str!("../../../hw/kernels/byte_gear/byte_gear.sv"),
            Self::LineWindow => include_str!("../../../hw/kernels/line_window/line_window.sv"),
            Self::PictureCheck => {
                include_str!("../../../hw/kernels/picture_check/picture_check.sv")
            }
            Self::PictureShell => {
                include_str!("../../../hw/kernels/picture_shell/picture_shell.sv")
            }
            Self::PixelGear => include_str!("../../../hw/kernels/pixel_gear/pixel_gear.sv"),
            Self::PixelHsv => include_str!("../../../hw/kernels/pixel_hsv/pixel_hsv.sv"),
            Self::PixelLevels => include_str!("../../../hw/kernels/pixel_levels/pixel_levels.sv"),
            Self::Replay => include_str!("../../../hw/kernels/replay/replay.sv"),
            Self::RowContrast => kernel!("row_contrast"),
            Self::RowWarp => include_str!("../../../hw/kernels/row_warp/row_warp.sv"),
            Self::RowWindow => include_str!("../../../hw/kernels/row_window/row_window.sv"),
            Self::MessageShell => {
                include_str!("../../../hw/kernels/message_shell/message_shell.sv")
            }
            Self::LineSolve => include_str!("../../../hw/kernels/line_solve/line_solve.sv"),
            Self::LineVote => include_str!("../../../hw/kernels/line_vote/line_vote.sv"),
            Self::PointMoments => kernel!("point_moments"),
            Self::RowRuns => include_str!("../../../hw/kernels/row_runs/row_runs.sv"),
            Self::ToDouble => include_str!("../../../hw/kernels/to_double/to_double.sv"),
            Self::FromDouble => include_str!("../../../hw/kernels/from_double/from_double.sv"),
            Self::SerialMath => include_str!("../../../hw/kernels/serial_math/serial_math.sv"),
            Self::StampJoin => include_str!("../../../hw/kernels/stamp_join/stamp_join.sv"),
            Self::MarkRuns => include_str!("../../../hw/kernels/mark_runs/mark_runs.sv"),
            Self::RunPatches => include_str!("../../../hw/kernels/run_patches/run_patches.sv"),
            Self::MarginCount => kernel!("margin_count"),
            Self::RemapPlaces => kernel!("remap_places"),
            Self::RegisterBridge => source!("register_bridge"),
            Self::RegisterWords => source!("register_words"),
            Self::ResetSync => include_str!("../../../hw/reset_sync/reset_sync.sv"),
            Self::PaperMemif => include_str!("../../../hw/paper_memif/paper_memif.sv"),
        }
    }

    /// Timing constraints of the module for Vivado, scoped to it: its file is the name with `.xdc`.
    #[must_use]
    pub fn constraints(self) -> Option<&'static str> {
        match self {
            Self::AxisCdc => Some(include_str!("../../../hw/axis_cdc/axis_cdc.xdc")),
            Self::ResetSync => Some(include_str!("../../../hw/reset_sync/reset_sync.xdc")),
            _ => None,
        }
    }

    /// The constraints of the modules whose files are among these.
    pub(crate) fn constraints_of(files: &[String]) -> Vec<(Self, &'static str)> {
        let has = |module: &Self| files.iter().any(|file| *file == format!("{module}.sv"));
        let named = Self::ALL.into_iter().filter(has);
        named.filter_map(|module| Some((module, module.constraints()?))).collect()
    }
}

impl fmt::Display for LibraryModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names between `mark` and `until`.
    fn between<'a>(text: &'a str, mark: &str, until: &str) -> Vec<&'a str> {
        text.split(mark).skip(1).filter_map(|rest| Some(rest.split_once(until)?.0)).collect()
    }

    #[test]
    fn constraints_name_registers_and_clocks_that_the_module_has() {
        let mut seen = 0;
        for module in LibraryModule::ALL {
            let (Some(constraints), source) = (module.constraints(), module.source()) else {
                continue;
            };
            let cells = between(constraints, "get_cells {", "_reg[");
            assert_eq!(cells.len(), constraints.matches("get_cells").count(), "{module}");
            for cell in cells {
                assert!(source.contains(&format!(" {cell} <= ")), "{module} has no {cell}");
                seen += 1;
            }
            for port in between(constraints, "get_ports ", "]") {
                assert!(source.contains(&format!(" {port},\n")), "{module} has no {port}");
            }
        }
        assert!(seen > 0);
    }

    #[test]
    fn every_register_that_takes_another_clocks_value_is_marked_and_constrained() {
        // By ports: a module with two clocks has a crossing in each direction, and reset_sync one
        // for the request, which belongs to any clock.
        let mut seen = Vec::new();
        for module in LibraryModule::ALL {
            let source = module.source();
            let has = |port: &str| source.contains(&format!(" {port},\n"));
            let (crossings, registers) = match (has("s_clk") && has("m_clk"), has("request")) {
                (true, _) => (2, "*"),
                (false, true) => (1, "0"),
                _ => continue,
            };
            let constraints = module.constraints().unwrap();
            let marked = between(source, "(* ASYNC_REG = \"TRUE\" *) logic ", ";");
            assert_eq!(marked.len(), crossings, "{module}: registers that are marked");
            for register in marked {
                let name = register.split(" = ").next().and_then(|it| it.rsplit(' ').next());
                let cells = format!("-to [get_cells {{{}_reg[{registers}]}}]", name.unwrap());
                assert!(constraints.contains(&cells), "{module}: {cells}");
            }
            seen.push(module);
        }
        assert_eq!(seen, [LibraryModule::AxisCdc, LibraryModule::ResetSync]);
    }
}
