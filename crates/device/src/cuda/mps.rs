//! Whether processes share a GPU at the same time through NVIDIA's Multi-Process Service (MPS), or
//! take turns. The driver says so itself from CUDA 12 on; for an older one the service's own folder
//! is looked at, as its clients find it: the environment variable `CUDA_MPS_PIPE_DIRECTORY`, else
//! `/tmp/nvidia-mps`, in which the control daemon keeps a socket and the number of its process.
//!
//! It must not call the driver.

use crate::capability::Mps;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The variable that names the folder.
const FOLDER: &str = "CUDA_MPS_PIPE_DIRECTORY";
const DEFAULT: &str = "/tmp/nvidia-mps";
/// What a client connects to.
const CONTROL: &str = "control";
/// Where the daemon writes the number of its process.
const PID_FILE: &str = "nvidia-cuda-mps-control.pid";
/// A number has fewer bytes; what has more is something else.
const PID_BYTES_MAX: u64 = 64;

/// The driver's answer if it has one, else the folder's.
pub(super) fn state(driver_says: Option<bool>) -> Mps {
    let folder = folder(std::env::var_os(FOLDER));
    match driver_says {
        Some(true) => Mps { in_use: true, why: "the driver says so".to_owned() },
        Some(false) => {
            // Whether a daemon is there tells what is missing.
            let why = match daemon(&folder, is_alive) {
                Mps { in_use: true, why } => {
                    format!("the driver does not use it although {why}: start this process again")
                }
                Mps { why, .. } => why,
            };
            Mps { in_use: false, why }
        }
        None => daemon(&folder, is_alive),
    }
}

fn folder(variable: Option<OsString>) -> PathBuf {
    variable.filter(|value| !value.is_empty()).map_or_else(|| DEFAULT.into(), PathBuf::from)
}

/// Whether a control daemon serves in `folder`; `is_alive` tells whether there is a process of a
/// number.
fn daemon(folder: &Path, is_alive: impl Fn(u32) -> bool) -> Mps {
    let no = |why| Mps { in_use: false, why };
    let at = folder.display();
    let control = folder.join(CONTROL);
    match fs::symlink_metadata(&control).map(|found| found.file_type()) {
        Ok(kind) if kind.is_socket() || kind.is_fifo() => {}
        Ok(_) => return no(format!("{} is no socket of its control daemon", control.display())),
        Err(_) => return no(format!("its control daemon has no socket in {at}")),
    }
    match pid(&folder.join(PID_FILE)) {
        Some(pid) if is_alive(pid) => {
            Mps { in_use: true, why: format!("its control daemon (process {pid}) serves in {at}") }
        }
        Some(pid) => no(format!("its control daemon (process {pid}, of {at}) is not there")),
        None => no(format!("{at} does not say which process its control daemon is")),
    }
}

fn pid(path: &Path) -> Option<u32> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > PID_BYTES_MAX {
        return None;
    }
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn the_folder_is_that_of_the_variable_or_nvidias_own() {
        assert_eq!(folder(None), Path::new("/tmp/nvidia-mps"));
        assert_eq!(folder(Some("".into())), Path::new("/tmp/nvidia-mps"));
        assert_eq!(folder(Some("/run/mps".into())), Path::new("/run/mps"));
    }

    #[test]
    fn a_daemon_is_there_when_it_has_a_socket_and_its_process_lives() {
        let folder = std::env::temp_dir().join(format!("crossdock-mps-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let expect = |in_use: bool, part: &str| {
            let state = daemon(&folder, |pid| pid == 4711);
            assert!(state.in_use == in_use && state.why.contains(part), "{state:?}, not {part}");
        };
        expect(false, "has no socket in");
        fs::create_dir_all(&folder).expect("a folder");
        expect(false, "has no socket in");
        fs::write(folder.join(CONTROL), "").expect("a file");
        expect(false, "control is no socket of its control daemon");
        fs::remove_file(folder.join(CONTROL)).expect("removed");
        let _listener = UnixListener::bind(folder.join(CONTROL)).expect("a socket");
        expect(false, "does not say which process");
        for wrong in ["", "daemon", "-1", &"4711".repeat(100)] {
            fs::write(folder.join(PID_FILE), wrong).expect("a file");
            expect(false, "does not say which process");
        }
        fs::write(folder.join(PID_FILE), "4712\n").expect("a file");
        expect(false, "(process 4712, of ");
        fs::write(folder.join(PID_FILE), "4711\n").expect("a file");
        expect(true, "(process 4711) serves in");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn what_the_driver_says_counts() {
        assert!(state(Some(true)).in_use);
        assert!(!state(Some(false)).in_use);
    }

    #[test]
    fn processes_are_looked_for() {
        assert!(is_alive(std::process::id()));
        // Above the largest number that Linux gives.
        assert!(!is_alive(1 << 30));
    }
}
