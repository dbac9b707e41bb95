//! A `crossdock` that runs beside the test, and the terminal that it may run on.

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long anything may take that a test waits for: only there so that a broken product ends it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again until it is so.
///
/// # Panics
/// When it is not so within a minute.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about within a minute");
        std::thread::yield_now();
    }
}

/// What is seen once a second has passed in which it did not change.
///
/// # Panics
/// When there is no such second within a minute.
pub fn settled<T: PartialEq>(what: &str, look: impl Fn() -> T) -> T {
    let mut seen = look();
    until(what, || {
        std::thread::sleep(Duration::from_secs(1));
        let now = look();
        let is_same = now == seen;
        seen = now;
        is_same
    });
    seen
}

/// The processes that a process has started. Its keeper is none of them.
///
/// # Panics
/// When the kernel lists what is no process id.
#[must_use]
pub fn children(parent: u32) -> Vec<u32> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let children = children.split_whitespace().map(|pid| pid.parse().expect("a process id"));
    let is_keeper = |pid: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim_end() == "crossdock-keep")
    };
    children.filter(|pid| !is_keeper(pid)).collect()
}

/// A process that ends with the test, even when that fails.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a command.
    #[must_use]
    pub fn spawn(mut command: Command) -> Self {
        Self(command.spawn().expect("the command starts"))
    }

    /// Starts a command whose standard error, a pipe, the test reads.
    #[must_use]
    pub fn with_errors(mut command: Command) -> (Self, ChildStderr) {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the command starts");
        let errors = child.stderr.take().expect("its errors are a pipe");
        (Self(child), errors)
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("a signal");
    }

    /// Whether it has ended. It is not waited for.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap_or_default();
        stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with(['Z', 'X']))
    }

    /// What Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// The next line that it writes to its standard output, which is a pipe; `None` at its end.
    /// Lines are read one by one: nothing is lost to a later look.
    pub fn line(&mut self) -> Option<String> {
        let output = self.0.stdout.as_mut().expect("its output is a pipe");
        let mut line = String::new();
        BufReader::with_capacity(1, output).read_line(&mut line).expect("its output");
        (!line.is_empty()).then_some(line)
    }

    /// Counts the lines that it writes to its standard output, which is a pipe, from now on. They
    /// are read by a thread, so that it never waits for room; the thread ends with the process.
    pub fn count_lines(&mut self) -> Arc<AtomicUsize> {
        let output = self.0.stdout.take().expect("its output is a pipe");
        let count = Arc::new(AtomicUsize::new(0));
        let shared = Arc::clone(&count);
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n') {
                if line.is_err() {
                    return;
                }
                shared.fetch_add(1, Ordering::Relaxed);
            }
        });
        count
    }

    /// Waits for the end; what it wrote to its standard output, where that is a pipe.
    #[must_use]
    pub fn end(mut self) -> (ExitStatus, String) {
        let mut text = String::new();
        if let Some(mut output) = self.0.stdout.take() {
            output.read_to_string(&mut text).expect("its output");
        }
        (self.0.wait().expect("its end"), text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A child that has ended already is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A pseudo terminal whose text the test reads.
#[derive(Debug)]
pub struct Terminal {
    /// Where the programs write. Kept open, so that the reader does not see an end before.
    side: OwnedFd,
    keyboard: File,
    text: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Opens a terminal. A thread reads it until the end of the test's process.
    #[must_use]
    pub fn open() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal that may be opened");
        unlockpt(&master).expect("a terminal that is not locked");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let name = name.into_string().expect("a name in UTF-8");
        let side = File::options().read(true).write(true).open(name).expect("its other side");
        let text = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&text);
        let mut master = File::from(master);
        let keyboard = master.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Ends when all programs and the test have closed their side.
            while let Ok(count @ 1..) = master.read(&mut buffer) {
                let mut text = shared.lock().unwrap_or_else(PoisonError::into_inner);
                text.extend_from_slice(&buffer[..count]);
            }
        });
        Self { side: side.into(), keyboard, text }
    }

    /// Presses keys.
    pub fn press(&self, keys: &str) {
        (&self.keyboard).write_all(keys.as_bytes()).expect("keys");
    }

    /// The side for a program's output or input.
    #[must_use]
    pub fn side(&self) -> Stdio {
        self.side.as_fd().try_clone_to_owned().expect("a descriptor").into()
    }

    /// What has been written so far.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}
