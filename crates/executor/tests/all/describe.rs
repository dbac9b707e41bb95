//! Asking package binaries what they offer.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossdock_executor::describe;
use crossdock_executor::launch::{LaunchedProcess, SpawnOptions};

const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("describe-{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn script(&self, text: &str) -> PathBuf {
        let path = self.0.join("crossdock-script");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("room");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("our own file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_package_describes_its_nodes() {
    let folder = Folder::new("package");
    let program = std::env::current_exe().expect("this test's own file");
    let words = "processes::package_binary --exact --nocapture --test-threads=1 --quiet";
    let script = folder.script(&format!("exec '{}' {words}", program.display()));
    let description = describe(&script, PATIENCE).expect("a description");
    assert_eq!(description, crate::processes::package().description());
}

#[test]
fn a_program_that_is_no_package_is_an_error() {
    let error = describe(Path::new("/bin/true"), PATIENCE).expect_err("no package").to_string();
    assert!(error.contains("/bin/true did not answer like a package binary"), "{error}");
    let options = SpawnOptions {
        program: "/no/such/program".into(),
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    let launched = LaunchedProcess::spawn(&options).expect_err("no program").to_string();
    let described = describe(&options.program, PATIENCE).expect_err("no program").to_string();
    for error in [launched, described] {
        assert!(error.contains("/no/such/program cannot be started"), "{error}");
    }
}

#[test]
fn a_binary_that_is_no_package_is_refused_with_what_it_printed() {
    let folder = Folder::new("foreign");
    // More than a pipe holds: it must not wait for a reader.
    let script = folder.script(
        "head -c 200000 /dev/zero | tr '\\0' x >&2\necho on standard output\n\
         echo the library is missing >&2\nexit 3",
    );
    let error = describe(&script, PATIENCE).expect_err("no package").to_string();
    assert!(error.contains("did not answer like a package binary"), "{error}");
    assert!(error.ends_with("the library is missing"), "{error}");
    assert!(!error.contains("standard output") && error.len() < 3000, "{error}");
}

#[test]
fn a_binary_that_hangs_is_killed_with_what_it_has_started() {
    let folder = Folder::new("hangs");
    let pids = folder.0.join("pids");
    let script = folder.script(&format!("sleep 1000 &\necho $! $$ > {}\nwait", pids.display()));
    // Long enough that the script has begun; nothing depends on it being exact.
    let error = describe(&script, Duration::from_secs(2)).expect_err("no package").to_string();
    assert!(error.contains("did not describe its nodes within 2 s"), "{error}");
    assert_ended(&pids);
}

#[test]
fn what_a_binary_that_is_no_package_has_started_ends_with_it() {
    let folder = Folder::new("leaves");
    let pids = folder.0.join("pids");
    let script = folder.script(&format!("sleep 1000 &\necho $! > {}\nexit 0", pids.display()));
    let error = describe(&script, PATIENCE).expect_err("no package").to_string();
    assert!(error.contains("did not answer like a package binary"), "{error}");
    assert_ended(&pids);
}

#[test]
fn a_package_that_has_answered_and_does_not_end_is_killed() {
    let folder = Folder::new("lingers");
    let ended = folder.0.join("ended");
    let program = std::env::current_exe().expect("this test's own file");
    let words = "processes::package_binary --exact --nocapture --test-threads=1 --quiet";
    let program = program.display();
    let script =
        folder.script(&format!("'{program}' {words}\nsleep 100\necho > '{}'", ended.display()));
    describe(&script, PATIENCE).expect("a description");
    assert!(!ended.exists());
}

/// Waits until the processes have ended whose numbers a file holds.
fn assert_ended(pids: &Path) {
    let pids = std::fs::read_to_string(pids).expect("it has begun");
    let deadline = Instant::now() + PATIENCE;
    for pid in pids.split_whitespace() {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // It ends as soon as it has its turn. A zombie waits only for its new parent.
        while !state().is_empty() && !state().contains(") Z") {
            assert!(Instant::now() < deadline, "{}", state());
            std::thread::yield_now();
        }
    }
}
