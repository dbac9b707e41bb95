//! A whole network, byte by byte, and that nothing but graph and mapping decides it. Record what is
//! meant to change with `CROSSDOCK_RECORD_GOLDEN=1`.

use crate::support;
use std::collections::BTreeMap;
use std::path::Path;
use support::{DRIVE, DRIVE_MAPPING, generated};

/// Files that are copies of the hardware library, or the same for every network.
const COPIES: [&str; 5] = ["axis_", "frame_", "reset_sync.", "network.h", "crossdock_hls.hpp"];

#[test]
fn the_network_of_the_driving_graph_is_what_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let found: BTreeMap<String, String> = (generated(DRIVE, DRIVE_MAPPING).unwrap().files)
        .into_iter()
        .filter(|(name, _)| !COPIES.iter().any(|copy| name.starts_with(copy)))
        .collect();
    if std::env::var_os("CROSSDOCK_RECORD_GOLDEN").is_some() {
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in &found {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    let golden: BTreeMap<String, String> = (std::fs::read_dir(&folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    assert_eq!(found.keys().collect::<Vec<_>>(), golden.keys().collect::<Vec<_>>());
    for (name, text) in &found {
        let differs = text.lines().zip(golden[name].lines()).position(|(a, b)| a != b);
        assert!(text == &golden[name], "{name}, line {:?}", differs.map(|line| line + 1));
    }
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    assert_eq!(generated(DRIVE, DRIVE_MAPPING), generated(DRIVE, DRIVE_MAPPING));
}

#[test]
fn a_network_holds_the_library_modules_that_it_uses_and_no_others() {
    let files = generated(DRIVE, DRIVE_MAPPING).unwrap().files;
    let sources: Vec<&str> = files["sources.f"].lines().collect();
    let messages: Vec<&str> = files["messages.f"].lines().collect();
    let resets = "reset_sync.sv"; // of the module for block designs
    for name in files.keys().filter(|name| name.ends_with(".sv") && *name != resets) {
        assert!(sources.contains(&name.as_str()) != messages.contains(&name.as_str()), "{name}");
    }
    for used in ["axis_arb", "axis_bcast", "axis_fifo", "axis_fifo_last", "axis_width", "axis_cdc"]
    {
        assert!(files.contains_key(&format!("{used}.sv")), "{used}");
    }
    assert!(!files.contains_key("axis_reg.sv"));
}

#[test]
fn the_network_has_wires_and_instances_only() {
    let files = generated(DRIVE, DRIVE_MAPPING).unwrap().files;
    let made = |name: &&String| name.starts_with("hmt_") || name.starts_with("network_");
    for name in files.keys().filter(|name| name.ends_with(".sv")).filter(made) {
        for word in ["always", "case", "if (", " ? ", "&&", "||", "<=", "~", "reg "] {
            assert!(!files[name].contains(word), "{name} holds {word:?}");
        }
    }
}

#[test]
fn the_project_script_names_every_source_in_order_and_says_that_it_was_not_run() {
    let files = generated(DRIVE, DRIVE_MAPPING).unwrap().files;
    let script = &files["vivado.tcl"];
    assert!(script.contains("NOT RUN"), "{script}");
    let named: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let mut sources: Vec<&str> = files["sources.f"].lines().collect();
    sources.extend(["reset_sync.sv", "network_board_block.v"]);
    let named: Vec<&str> =
        named.into_iter().filter(|name| name.ends_with(".sv") || name.ends_with(".v")).collect();
    assert_eq!(named, sources);
    assert!(!script.contains('@'), "a place was not filled in");
}

#[test]
fn a_network_with_two_clocks_brings_the_constraints_of_its_crossings() {
    let files = generated(DRIVE, DRIVE_MAPPING).unwrap().files;
    assert!(files["axis_cdc.xdc"].contains("set_max_delay -datapath_only"));
    assert!(files["vivado.tcl"].contains("set scoped {\n  axis_cdc\n  reset_sync\n}"));
    let one = DRIVE_MAPPING.replace("clock: memory, ", "").replace("clock: pixel, ", "");
    let files = generated(DRIVE, &one.replace("clock: pixel", "width: 128")).unwrap().files;
    assert!(!files.contains_key("axis_cdc.xdc"));
    assert!(files["vivado.tcl"].contains("set scoped {\n  reset_sync\n}"));
}

#[test]
fn every_clock_of_the_module_for_block_designs_has_a_reset_of_its_own_made_of_the_one() {
    let files = generated(DRIVE, DRIVE_MAPPING).unwrap().files;
    let block = &files["network_board_block.v"];
    assert_eq!(block.matches("input wire rst").count(), 1);
    for (clk, rst) in [("clk", "rst"), ("pixel_clk", "pixel_rst"), ("memory_clk", "memory_rst")] {
        let own =
            format!("(\n    .clk({clk}),\n    .request(rst),\n    .rst({rst}_synchronous)\n  );");
        assert!(block.contains(&own), "{own}");
        assert!(block.contains(&format!(".{rst}({rst}_synchronous)")));
        assert_eq!(block.contains(&format!("input wire {rst},")), rst == "rst");
    }
}

#[test]
fn a_network_that_is_larger_than_a_part_says_so() {
    // Three slots of a picture in beats of 128 bits: more block memory than a ZCU104 has, but it
    // has UltraRAM for them. A KV260 has not.
    let large = generated(DRIVE, DRIVE_MAPPING).unwrap();
    let report = &large.files["report.md"];
    assert!(
        report.contains(
            "| ZCU104 | 230400 | 460800 | 624 | 96 | 1728 | as far as is known: yes, with 9 blocks and "
        ),
        "{report}"
    );
    assert!(report.contains("| KV260 | 117120 | 234240 | 288 | 64 | 1248 | no |"), "{report}");
    let [warning] = large.warnings.as_slice() else { panic!("{:?}", large.warnings) };
    let (told, small) = warning.split_once(" parts have: ").unwrap();
    assert!(small.starts_with("XCK26 (KV260) has 288 blocks and 64 of UltraRAM, "), "{warning}");
    // Its nodes are edges of the board.
    let edges = ", without `compensation`, `control`, `stop`, `blur`, `follow`, `red`, `green`, as no \
                 hardware package file";
    assert!(told.contains(edges), "{warning}");
    let small = DRIVE_MAPPING.replace("      red: { image: { keep_last: 1 } }\n", "");
    let small = generated(DRIVE, &small).unwrap();
    assert!(small.files["report.md"].contains("| 624 | 96 | 1728 | as far as is known: yes |"));
    assert!(small.warnings.is_empty(), "{:?}", small.warnings);
}
