//! Child processes of the tests: the test binary itself, started again for one test with a role.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const ROLE: &str = "CROSSDOCK_TEST_ROLE";
const PLACE: &str = "CROSSDOCK_TEST_PLACE";

/// What a child was started for: its role and the rendezvous folder (empty: abstract names).
pub fn role() -> Option<(String, String)> {
    Some((std::env::var(ROLE).ok()?, std::env::var(PLACE).ok()?))
}

/// A child that is killed when it is dropped.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts the test called `test` of this binary in a child with a role.
    pub fn start(test: &str, role: &str, place: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
        Process::spawn(&mut command, role, place)
    }

    /// Starts a command that ends in a test binary and its arguments.
    pub fn spawn(command: &mut Command, role: &str, place: &str) -> Process {
        let mut child = command
            .env(ROLE, role)
            .env(PLACE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Process { child, input, output }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The rest of the next line of its output that starts with `> `; `None` at its end.
    pub fn read(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The test runner prints on the same line before.
            if let Some((_, said)) = line.split_once("> ") {
                return Some(said.trim_end().to_string());
            }
        }
    }

    pub fn expect(&mut self, wanted: &str) {
        assert_eq!(self.read().as_deref(), Some(wanted));
    }

    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGKILL, and the moment of it; it must not have ended by itself, as it does when a check of
    /// its own fails.
    pub fn kill_running(&mut self) -> std::time::Instant {
        let moment = std::time::Instant::now();
        self.child.kill().unwrap();
        moment
    }

    /// After [`Process::kill_running`].
    pub fn was_killed(mut self) {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "a child failed by itself: {status}");
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// SIGSTOP; all its threads stand still behind this call.
    pub fn stop(&self) {
        self.signal(rustix::process::Signal::STOP);
        let end = std::time::Instant::now() + super::LIMIT;
        let stands = || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
            let stats =
                tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("stat")));
            // Behind the name, which ends with a bracket.
            stats.flatten().all(|stat| stat.rsplit(") ").next().is_some_and(|s| s.starts_with('T')))
        };
        while !stands() {
            assert!(std::time::Instant::now() < end, "a process goes on in spite of SIGSTOP");
            std::thread::yield_now();
        }
    }

    /// Ends its input and waits for its end.
    pub fn finish(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child says something to its parent.
pub fn tell(line: &str) {
    println!("> {line}");
}

/// A child hears its parent; `None` when that has gone.
pub fn hear() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end().to_string()),
    }
}
