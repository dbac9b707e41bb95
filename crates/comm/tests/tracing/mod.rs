//! A child under `ptrace`: runs to marks, single instructions and system calls, and is killed
//! there.
//!
//! Tracing belongs to a thread: everything here is called on the one that has started the child.

#![allow(unreachable_pub, reason = "a module of tests")]

use std::time::Instant;

use crate::common::LIMIT;
use crate::common::child::Process;

/// The signal that marks a place. Who is traced never gets it.
const MARK: i32 = libc::SIGUSR1;
/// Of a stop at a system call (`PTRACE_O_TRACESYSGOOD`).
const SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;

/// The child: here its parent begins, or ends.
pub fn mark() {
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    let process = std::process::id() as i32;
    // SAFETY: sends a signal to this very thread.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, MARK) };
    assert_eq!(sent, 0);
}

/// Why stepping ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the wanted moment.
    Moment,
    /// At the next mark, before.
    Mark,
}

/// Threads of one child.
pub struct Tracee {
    process: i32,
    /// The one that sets marks.
    thread: i32,
    /// All that are traced.
    threads: Vec<i32>,
}

enum Stop {
    Signal(i32),
    /// A new thread, or a new one's first stop.
    Event,
    Ended,
}

fn ptrace(request: u32, thread: i32, data: i64) -> bool {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: no request used here reads or writes memory of this process.
    unsafe { libc::ptrace(request, thread, none, data) == 0 }
}

impl Tracee {
    /// Begins to trace a thread of a child, and those that it makes from now on; `None`: not
    /// permitted.
    pub fn seize(process: u32, thread: i32) -> Option<Tracee> {
        let options =
            libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
        let seized = ptrace(libc::PTRACE_SEIZE, thread, i64::from(options));
        seized.then(|| Tracee { process: process as i32, thread, threads: vec![thread] })
    }

    /// The next stop of any thread.
    fn wait(&mut self) -> (i32, Stop) {
        let end = Instant::now() + LIMIT;
        loop {
            for thread in self.threads.clone() {
                let mut status = 0;
                // SAFETY: writes one integer.
                let found =
                    unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) };
                if found == 0 {
                    continue;
                }
                if found != thread || !libc::WIFSTOPPED(status) {
                    self.threads.retain(|known| *known != thread);
                    return (thread, Stop::Ended);
                }
                let event = status >> 16;
                if event == libc::PTRACE_EVENT_CLONE {
                    self.threads.extend(new_thread(thread));
                }
                let stop =
                    if event == 0 { Stop::Signal(libc::WSTOPSIG(status)) } else { Stop::Event };
                return (thread, stop);
            }
            assert!(Instant::now() < end, "no thread of {} stops", self.process);
            std::thread::yield_now();
        }
    }

    /// Lets everything run until the first mark; false: the child has ended.
    pub fn run_to_mark(&mut self) -> bool {
        loop {
            let (thread, stop) = self.wait();
            match stop {
                Stop::Signal(MARK) => return true,
                Stop::Ended if thread == self.thread => return false,
                Stop::Ended => {}
                Stop::Event => _ = ptrace(libc::PTRACE_CONT, thread, 0),
                Stop::Signal(signal) => _ = ptrace(libc::PTRACE_CONT, thread, i64::from(signal)),
            }
        }
    }

    /// From a mark: so many instructions of the thread that has set it; less if it sets another
    /// one. The other threads run. Answers how many these were.
    pub fn step(&mut self, count: u64) -> (End, u64) {
        let mut steps = 0;
        while steps < count {
            assert!(ptrace(libc::PTRACE_SINGLESTEP, self.thread, 0));
            match self.wait() {
                (_, Stop::Signal(MARK)) => return (End::Mark, steps),
                (_, Stop::Signal(libc::SIGTRAP)) => steps += 1,
                (thread, _) => panic!("thread {thread} stops for another reason"),
            }
        }
        (End::Moment, steps)
    }

    /// From a mark: until the stop number `call` at a system call of any thread (each has two,
    /// before and behind it), and so many instructions of that thread on. Answers how many stops
    /// there were.
    pub fn run_to_call(&mut self, call: u64, behind: u64) -> (End, u64) {
        let (mut calls, mut steps) = (0, 0);
        // Of the thread that has reached it.
        let mut stepped = None;
        let mut thread = self.thread;
        let mut signal = 0;
        loop {
            if stepped.is_some() && steps == behind {
                return (End::Moment, calls);
            }
            let how = if stepped == Some(thread) {
                libc::PTRACE_SINGLESTEP
            } else {
                libc::PTRACE_SYSCALL
            };
            // One that has ended meanwhile need not go on.
            let _ = ptrace(how, thread, i64::from(signal));
            let stop;
            (thread, stop) = self.wait();
            signal = 0;
            match stop {
                Stop::Signal(MARK) => return (End::Mark, calls),
                Stop::Signal(SYSTEM_CALL) if stepped.is_none() => {
                    calls += 1;
                    if calls == call {
                        stepped = Some(thread);
                    }
                }
                Stop::Signal(libc::SIGTRAP) if stepped == Some(thread) => steps += 1,
                Stop::Signal(SYSTEM_CALL | libc::SIGTRAP) | Stop::Event => {}
                Stop::Ended if stepped == Some(thread) => return (End::Moment, calls),
                Stop::Ended => assert_ne!(thread, self.thread, "the child ended by itself"),
                Stop::Signal(other) => signal = other,
            }
        }
    }

    /// SIGKILL. Returns when it is dead.
    pub fn kill(self, mut child: Process) {
        child.kill_running();
        for thread in self.threads.iter().filter(|thread| **thread != self.process) {
            let mut status = 0;
            // Its end is told to its tracer; before that the process does not end.
            loop {
                // SAFETY: writes one integer.
                let found = unsafe { libc::waitpid(*thread, &raw mut status, libc::__WALL) };
                if found != *thread || !libc::WIFSTOPPED(status) {
                    break;
                }
            }
        }
        child.was_killed();
    }
}

/// The thread that another one has just made.
fn new_thread(maker: i32) -> Option<i32> {
    let mut made: libc::c_ulong = 0;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: writes one integer.
    let told = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, maker, none, &raw mut made) };
    (told == 0).then_some(made as i32)
}
