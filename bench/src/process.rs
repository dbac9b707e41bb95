//! A child process of a benchmark: this very program again, or a peer's, which is told what
//! to be on its command line and talks in lines of JSON over its standard input and output. Knows
//! no measurement.

use crate::Failure;
use crate::failure::While;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longest time for a child to answer: its own patience and then some.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// One process under measurement.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    name: String,
}

impl Process {
    /// Starts this program as `child PLAN`; `name` is for errors.
    pub fn start(plan: &impl Serialize, name: String) -> Result<Self, Failure> {
        let program = std::env::current_exe().during("finding this program")?;
        Self::start_program(&program, plan, name)
    }

    /// Starts `program` as `child PLAN`; `name` is for errors.
    pub fn start_program(
        program: &Path,
        plan: &impl Serialize,
        name: String,
    ) -> Result<Self, Failure> {
        let text = serde_json::to_string(plan).during("writing the plan of a process")?;
        let mut child = std::process::Command::new(program)
            .args(["child", &text])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .during("starting a process")?;
        let input = child.stdin.take();
        let output = child.stdout.take().during("reading from a process")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines, name })
    }

    /// Sends one line.
    pub fn order(&mut self, command: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(command).during("writing a command")?;
        line.push(b'\n');
        let input = self.input.as_mut().during("sending a command")?;
        input.write_all(&line).during(&format!("sending a command to {}", self.name))
    }

    /// Waits for one line.
    pub fn answer<R: DeserializeOwned>(&mut self) -> Result<R, Failure> {
        let line = self.lines.recv_timeout(ANSWER_WITHIN);
        let line = line.during(&format!("waiting for {}", self.name))?;
        serde_json::from_str(&line).during(&format!("understanding {}: {line:?}", self.name))
    }

    /// For errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Nothing more will be said: the child ends.
    pub fn close(&mut self) {
        self.input = None;
    }
}

impl Drop for Process {
    /// Lets the process end by itself for a while, then ends it.
    fn drop(&mut self) {
        self.close();
        for _ in 0..200 {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
