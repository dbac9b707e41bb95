//! What a design takes of an UltraScale+ part, as Yosys counts it.
//!
//! The figures come from one version of Yosys and from no vendor's tool; no clock rate comes with
//! them, because no open tool gives the rate of an UltraScale+ part.

use crate::cache::{Cache, CacheError, Key, Kind, Progress, Wanted};
use crate::tools::{FindToolError, Search, run, yosys, yowasp_cache};
use crossdock_hwgen::Generated;
use serde_json::Value;
use std::fmt::Write as _;
use std::process::Command;

const AREAS: Kind = Kind { name: "area", kept: 4096 };
const STATISTICS: &str = "statistics.json";

/// Resources of an UltraScale+ part (Yosys, family xcup).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Look-up tables, those that serve as memory included.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Block memory in units of 18 kbit.
    pub bram18: u64,
    /// UltraRAM in units of 288 kbit.
    pub uram: u64,
    /// Multipliers (DSP48E2).
    pub dsp: u64,
}

/// There is no figure for a design.
#[derive(Debug, thiserror::Error)]
pub enum AreaError {
    /// Yosys is missing.
    #[error(transparent)]
    Tool(#[from] FindToolError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Yosys failed.
    #[error("{module} could not be synthesised: {output}")]
    Failed {
        /// The design.
        module: String,
        /// What Yosys wrote last.
        output: String,
    },
    /// What Yosys wrote is not understood.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
}

/// The statistics of Yosys are not as they are known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatisticsError {
    /// Not JSON with cells by type.
    #[error("the statistics of Yosys have no cells by type; use the tested version, 0.70")]
    Form,
    /// A cell of unknown cost.
    #[error("the netlist has a cell {cell} of unknown cost; use the tested version of Yosys, 0.70")]
    Cell {
        /// Type of the cell.
        cell: String,
    },
}

impl Area {
    /// The area of a generated network, all of it flat, without pads and clock buffers: a network
    /// is part of something larger. Gives the version of Yosys too.
    ///
    /// Blocks: milliseconds with what is in the cache, else seconds to a minute. Allocates.
    ///
    /// # Errors
    /// Yosys is missing or fails, or the cache cannot be written.
    pub fn of(
        generated: &Generated,
        search: &Search,
        cache: &Cache,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Self, String), AreaError> {
        let (yosys, version) = yosys(search)?;
        let module = &generated.network.module;
        let mut script = String::new();
        let sources = generated.listed("sources.f");
        for (source, _) in &sources {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(script, "read_verilog -sv {source}");
        }
        let _ = writeln!(
            script,
            "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {module}\n\
             tee -q -o {STATISTICS} stat -json"
        );
        let parts = sources.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]);
        let what = format!("area figure of {module}");
        let wanted = Wanted {
            kind: AREAS,
            key: Key::of([version.as_str(), &script].into_iter().chain(parts)),
            what: &what,
            seconds: 15,
            files: &[STATISTICS],
        };
        let failed = |output| AreaError::Failed { module: module.clone(), output };
        let entry = cache.entry(&wanted, progress, |folder, _| {
            let script = (&"job.ys".to_owned(), &script);
            for (name, text) in sources.iter().copied().chain([script]) {
                let path = folder.join(name);
                let written = std::fs::write(&path, text);
                written.map_err(|source| CacheError::File { what: "writing", path, source })?;
            }
            // Names relative to the folder: Yosys as a Python package has a /tmp of its own.
            let mut command = Command::new(&yosys);
            command.current_dir(folder).args(["-q", "-s", "job.ys"]);
            yowasp_cache(&mut command, search);
            run(command).map_err(failed)
        })?;
        let path = entry.join(STATISTICS);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|source| CacheError::File { what: "reading", path, source })?;
        Ok((Self::of_statistics(&text)?, version))
    }

    /// The sum over the cells of a netlist of family xcup: what `stat -json` wrote.
    ///
    /// # Errors
    /// There are no cells by type, or one of unknown cost.
    pub fn of_statistics(text: &str) -> Result<Self, StatisticsError> {
        // Before the JSON object the file may hold the command's own heading.
        let json = text.find('{').map_or("", |at| &text[at..]);
        let value: Value = serde_json::from_str(json).map_err(|_| StatisticsError::Form)?;
        let cells = value["design"]["num_cells_by_type"].as_object();
        let mut area = Self::default();
        for (cell, count) in cells.ok_or(StatisticsError::Form)? {
            let count = count.as_u64().ok_or(StatisticsError::Form)?;
            let cost = cost(cell).ok_or_else(|| StatisticsError::Cell { cell: cell.clone() })?;
            area.lut += count * cost.lut;
            area.ff += count * cost.ff;
            area.bram18 += count * cost.bram18;
            area.uram += count * cost.uram;
            area.dsp += count * cost.dsp;
        }
        Ok(area)
    }
}

/// What one cell of an UltraScale+ netlist takes.
fn cost(cell: &str) -> Option<Area> {
    let lut = |lut| Some(Area { lut, ..Area::default() });
    match cell {
        "RAMB36E2" => Some(Area { bram18: 2, ..Area::default() }),
        "RAMB18E2" => Some(Area { bram18: 1, ..Area::default() }),
        "URAM288" => Some(Area { uram: 1, ..Area::default() }),
        "DSP48E2" => Some(Area { dsp: 1, ..Area::default() }),
        "RAM32M16" | "RAM64M8" | "RAM64X8SW" | "RAM32X16DR8" | "RAM256X1D" => lut(8),
        "RAM32M" | "RAM64M" | "RAM128X1D" => lut(4),
        "RAM32X1D" | "RAM64X1D" => lut(2),
        "INV" | "SRL16E" | "SRLC32E" | "RAM32X1S" | "RAM64X1S" => lut(1),
        // They sit beside the look-up tables of the same slice, or are no hardware at all.
        "$scopeinfo" | "CARRY4" | "CARRY8" | "MUXF7" | "MUXF8" | "MUXF9" | "GND" | "VCC" => lut(0),
        _ if cell.starts_with("LUT") => lut(1),
        _ if cell.starts_with("FD") => Some(Area { ff: 1, ..Area::default() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_by_what_they_take() {
        let text = "2. Printing statistics.\n{\"design\": {\"num_cells_by_type\": \
                    {\"LUT6\": 3, \"FDRE\": 5, \"RAMB36E2\": 1, \"CARRY4\": 9, \"SRL16E\": 2, \
                    \"DSP48E2\": 4, \"URAM288\": 6}}}";
        let area = Area::of_statistics(text);
        assert_eq!(area, Ok(Area { lut: 5, ff: 5, bram18: 2, uram: 6, dsp: 4 }));
    }

    #[test]
    fn what_is_not_understood_is_no_figure() {
        assert_eq!(Area::of_statistics("{}"), Err(StatisticsError::Form));
        let odd = "{\"design\": {\"num_cells_by_type\": {\"PLL\": 1}}}";
        let cell = "PLL".to_owned();
        assert_eq!(Area::of_statistics(odd), Err(StatisticsError::Cell { cell }));
        let negative = "{\"design\": {\"num_cells_by_type\": {\"LUT6\": -1}}}";
        assert_eq!(Area::of_statistics(negative), Err(StatisticsError::Form));
    }
}
