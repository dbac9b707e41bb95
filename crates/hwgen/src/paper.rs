//! A board with ReconROS's way to host memory, for the reproduction of published figures
//! and nothing else: chunks of 256 bytes, one burst open at any time, a small translation buffer
//! with page tables of three levels. Must not decide anything about the network.

use crate::Generated;
use crate::board::{ADDRESS_WIDTH, FIXED, Way, axi, pairs};
use crate::library::{LibraryModule, Parameter};
use crate::verilog::Body;

/// Bytes of the longest burst.
const CHUNK_BYTES: u32 = 256;
/// Pages whose addresses are kept.
const TRANSLATIONS: u32 = 16;

/// The same network with such a board: only the files of the board are others. Where there is no
/// board, there is none here.
///
/// Its host opens memory by page tables in the form of `hw/memif_tlb`, three levels: the register
/// of a window's first page holds the page of the root, and setting a readable window makes it
/// valid.
///
/// Allocates; does not block.
#[must_use]
pub fn with_paper_board(mut generated: Generated) -> Generated {
    if !generated.files.contains_key("board.f") {
        return generated;
    }
    let Generated { network, registers, files, .. } = &mut generated;
    let listed = |list: &str| -> Vec<String> {
        files.get(list).map_or("", String::as_str).lines().map(str::to_owned).collect()
    };
    let lists = (listed("sources.f"), listed("nodes.f"));
    crate::board_files(network, registers, Way::Paper, lists, files);
    generated
}

/// The bursts of a gateway.
pub(crate) fn bursts(width: u32) -> [(&'static str, Parameter); 2] {
    let beats = Parameter::Number(u64::from(CHUNK_BYTES * 8 / width));
    [("READ_BURST_BEATS", beats), ("WRITE_BURST_BEATS", beats)]
}

/// All gateways behind one state machine. Returns the clock of the port of host memory.
pub(crate) fn way(body: &mut Body, gateways: usize, width: u32) -> String {
    let mut connections = pairs(&["clk", "count_refused", "refused_address", "refused_write"]);
    let to = |port: &str, to: &str| (port.to_owned(), to.to_owned());
    connections.extend([
        to("rst", "rst_host"),
        to("table_write", "window_write"),
        to("table_valid", "window_readable"),
        to("table_root", "window_first"),
        to("count_walks", ""),
    ]);
    for (signal, _, _) in axi(width) {
        if !FIXED.contains(&signal) {
            connections.push((format!("s_axi_{signal}"), format!("gateways_{signal}")));
            connections.push((format!("m_axi_{signal}"), format!("allowed_{signal}")));
        }
    }
    connections.extend(FIXED.map(|signal| (format!("m_axi_{signal}"), String::new())));
    let parameters = [
        ("WIDTH", Parameter::Number(width.into())),
        ("ADDRESS_WIDTH", Parameter::Number(ADDRESS_WIDTH.into())),
        ("PORTS", Parameter::Number(gateways as u64)),
        ("ENTRIES", Parameter::Number(TRANSLATIONS.into())),
    ];
    body.line(
        "  // A page table instead of windows: nobody reads the rest.\n  wire unused_window = &{1'b0, \
         window_number, window_last, window_offset, window_writable};\n",
    );
    body.instance(LibraryModule::PaperMemif, "u_paper", &parameters, &connections);
    "clk".to_owned()
}
