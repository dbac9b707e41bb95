//! Makes the message types, one for each size, with Cyclone DDS's own compiler, and compiles them
//! with the part of this program that is C. Needs Debian's `cyclonedds-dev`, `cyclonedds-tools`
//! and `libiceoryx-binding-c-dev`, or the same from elsewhere.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// All sizes that the benchmarks use: what goes through shared memory has a fixed size.
const SIZES: [usize; 10] =
    [64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 23];

fn main() {
    println!("cargo::rerun-if-changed=src/link.c");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let (mut types, mut table) = (String::from("module sizes {\n"), String::new());
    for bytes in SIZES {
        // Writing into a string cannot fail.
        let _ = writeln!(types, "  @final struct Bytes{bytes} {{ octet data[{bytes}]; }};");
        let _ = writeln!(table, "{{ {bytes}, &sizes_Bytes{bytes}_desc }},");
    }
    types.push_str("};\n");
    std::fs::write(folder.join("sizes.idl"), types).expect("room for the types");
    std::fs::write(folder.join("table.inc"), table).expect("room for the table");
    let made = Command::new("idlc").current_dir(&folder).args(["-l", "c", "sizes.idl"]).status();
    let made = made.expect("idlc, of the package cyclonedds-tools");
    assert!(made.success(), "idlc has failed");
    cc::Build::new()
        .file("src/link.c")
        .file(folder.join("sizes.c"))
        .include(&folder)
        // Headers of Cyclone DDS name those of iceoryx.
        .include("/usr/include/iceoryx/v2.0.3")
        .warnings(false)
        .compile("cyclone_link");
    println!("cargo::rustc-link-lib=ddsc");
}
