//! The keeper: lets the death of this process be heard before its memory is torn down.
//!
//! The kernel gives a dead process's memory back before it closes its descriptors, so peers hear
//! end of file late: 34 ms late with 512 MiB. Memory lives as long as anything uses it, and the
//! keeper uses it: one more task that shares this process's memory, not its descriptors, and waits
//! for the process to end. The descriptors then close at once, peers know, and the memory goes with
//! the keeper. See docs/decisions/0007-keeper.md.
//!
//! 1. The keeper holds two descriptors: the reading end of a pipe and a pidfd of this process.
//! 2. It ends when the pipe says anything (this process lets it go, runs another program, or has
//!    died) or when the process has died. It never outlives the process by more than its own end.
//! 3. After its first steps, during which its maker waits, it may poll and exit, nothing else:
//!    seccomp holds that, so that it keeps no rights which the process gives up later.
//! 4. It runs on the thread pointer of its maker, so it uses no thread-local variable: no `errno`
//!    once its maker goes on, no allocation, no panic.

use crate::fork::{ForkMark, PrivateFd};
use crate::futex;
use crate::per_process::PerProcess;
use crate::tables::lock;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::pipe::PipeFlags;
use rustix::process::PidfdFlags;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The keeper's stack: its few calls need less than a page each in a debug build.
const STACK_BYTES: usize = 64 << 10;

/// How long its maker waits for its first steps, and for its end. It may have been stopped.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two looks at a word of the keeper's.
const LOOK_AGAIN: Duration = Duration::from_micros(100);

/// No keeper: deaths are heard as late as the kernel tells them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The kernel refused one step.
    #[error(
        "the keeper cannot be started: {step} failed ({source}); peers will hear of the death of \
         this process only when its memory is gone; check the limits on processes and open files"
    )]
    System {
        /// The step that failed.
        step: &'static str,
        /// The kernel's reason.
        source: Errno,
    },
    /// It was started and did not become ready.
    #[error(
        "the keeper did not become ready; peers will hear of the death of this process only when \
         its memory is gone; check whether a security policy forbids seccomp or close_range"
    )]
    Silent,
}

fn failed(step: &'static str) -> impl Fn(Errno) -> KeepError {
    move |source| KeepError::System { step, source }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// What the keeper reads. Constant while it lives, but for the words.
#[derive(Debug)]
struct Orders {
    pipe: c_int,
    process: c_int,
    /// 1 when its first steps are done.
    ready: AtomicU32,
    /// 1 while it lives; the kernel clears it.
    alive: AtomicU32,
}

#[derive(Debug)]
struct Stack(NonNull<c_void>);

// SAFETY: a mapping may be undone on any thread; nobody reads through the pointer.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    fn map() -> Result<Stack, KeepError> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that
        // exists.
        let mapped = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                STACK_BYTES,
                protection,
                MapFlags::PRIVATE,
            )
        };
        let start = mapped.map_err(failed("mapping its stack"))?;
        NonNull::new(start).map(Stack).ok_or(KeepError::Silent)
    }

    fn top(&self) -> *mut c_void {
        self.0.as_ptr().wrapping_byte_add(STACK_BYTES)
    }

    fn unmap(&self) {
        // SAFETY: mapped by `map`; the caller has seen that the keeper runs no more.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr(), STACK_BYTES) };
    }
}

/// Keeps this process's memory until its descriptors are closed. One per process, shared.
///
/// The last handle that goes ends it and takes its remains, in at most a second. A handle that a
/// forked child inherits does nothing.
#[derive(Debug)]
pub struct Keeper {
    orders: NonNull<Orders>,
    stack: Stack,
    task: c_int,
    /// Closed by the kernel when this process dies or runs another program.
    pipe: Option<PrivateFd>,
    fork: ForkMark,
}

// SAFETY: the orders are constant but for atomics.
unsafe impl Send for Keeper {}
// SAFETY: as above.
unsafe impl Sync for Keeper {}

static OF_PROCESS: PerProcess<Mutex<Weak<Keeper>>> = PerProcess::new();

impl Keeper {
    /// The keeper of this process, started if there is none.
    ///
    /// Allocates, takes a lock, makes one task and one descriptor; waits for the task's first
    /// steps, some 100 us.
    ///
    /// # Errors
    /// [`KeepError`]; everything else works without it.
    pub fn of_process() -> Result<Arc<Keeper>, KeepError> {
        let mut known = lock(OF_PROCESS.of_process());
        if let Some(keeper) = known.upgrade() {
            return Ok(keeper);
        }
        let keeper = Arc::new(Keeper::start()?);
        *known = Arc::downgrade(&keeper);
        Ok(keeper)
    }

    /// Number of the keeper's task, for people.
    pub fn task(&self) -> u32 {
        self.task.unsigned_abs()
    }

    fn start() -> Result<Keeper, KeepError> {
        let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .map_err(failed("making its pipe"))?;
        let process = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())
            .map_err(failed("opening a pidfd of this process"))?;
        let stack = Stack::map()?;
        let orders = Box::new(Orders {
            pipe: reading.as_raw_fd(),
            process: process.as_raw_fd(),
            ready: AtomicU32::new(0),
            alive: AtomicU32::new(1),
        });
        let orders = NonNull::from(Box::leak(orders));
        let task = make_task(&stack, orders);
        let task = task.inspect_err(|_| {
            stack.unmap();
            // SAFETY: leaked above; no task was made that could read it.
            drop(unsafe { Box::from_raw(orders.as_ptr()) });
        })?;
        // From here on its end is waited for before what it uses is given back.
        let keeper =
            Keeper { orders, stack, task, pipe: Some(writing.into()), fork: ForkMark::new() };
        if !reaches(&keeper.orders().ready, 1) {
            return Err(KeepError::Silent);
        }
        Ok(keeper)
    }

    fn orders(&self) -> &Orders {
        // SAFETY: leaked in `start`, given back in `drop` only; shared, constant but for atomics.
        unsafe { self.orders.as_ref() }
    }
}

/// Waits until a word has a value; false if that takes too long. Looks again and again: once it
/// may only poll and exit, the keeper wakes nobody.
fn reaches(word: &AtomicU32, wanted: u32) -> bool {
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = word.load(Ordering::Acquire);
        if seen == wanted {
            return true;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        futex::wait(word, seen, Some(left.min(LOOK_AGAIN)));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.fork.in_child() {
            return;
        }
        // Written, too: a child that was made by other means than `fork` may hold a copy of its
        // end.
        if let Some(pipe) = self.pipe.take() {
            let _ = rustix::io::write(&pipe, &[1]);
        }
        if !reaches(&self.orders().alive, 0) {
            // Stopped by somebody, it would run on its stack when it goes on: both stay.
            return;
        }
        let mut status = 0;
        // SAFETY: the kernel writes one integer. It has begun to end, so this is short; a task of
        // no exit signal is found by this flag alone.
        let _ = unsafe { libc::waitpid(self.task, &raw mut status, libc::__WCLONE) };
        self.stack.unmap();
        // SAFETY: leaked in `start`; the task that read it has ended.
        drop(unsafe { Box::from_raw(self.orders.as_ptr()) });
    }
}

/// Rules 1 and 4: a task with our memory, a copy of our descriptors, and no signal but SIGKILL.
fn make_task(stack: &Stack, orders: NonNull<Orders>) -> Result<c_int, KeepError> {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: writes one signal set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: reads the set that was just filled, writes the other one.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    // Untraced: a debugger that follows new tasks takes this one for neither thread nor child.
    let flags = libc::CLONE_VM | libc::CLONE_UNTRACED | libc::CLONE_CHILD_CLEARTID;
    // SAFETY: the field lies in the orders, which live longer than the task.
    let alive = unsafe { &raw const (*orders.as_ptr()).alive };
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: the task runs `keep` on a stack of its own, which is unmapped only when it has ended;
    // what it reads is shared and outlives it.
    let task =
        unsafe { libc::clone(keep, stack.top(), flags, orders.as_ptr().cast(), none, none, alive) };
    let made = if task < 0 { Err(failed("making its task")(last_errno())) } else { Ok(task) };
    // SAFETY: reads the set that the first call wrote.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    made
}

/// What the keeper does.
extern "C" fn keep(orders: *mut c_void) -> c_int {
    // SAFETY: the orders of `make_task`, alive until this task has ended.
    let orders = unsafe { &*orders.cast::<Orders>() };
    // While its maker waits: these calls may write its `errno`.
    let is_ready = close_others(orders.pipe, orders.process) && leave_places() && give_up_calls();
    if is_ready {
        orders.ready.store(1, Ordering::Release);
        watch(orders);
    }
    // SAFETY: ends this task only; allowed by `give_up_calls`.
    unsafe { libc::_exit(0) }
}

/// Rule 2.
fn watch(orders: &Orders) {
    // SAFETY: copies of its maker's descriptors, open until this task ends.
    let pipe = unsafe { BorrowedFd::borrow_raw(orders.pipe) };
    // SAFETY: as above.
    let process = unsafe { BorrowedFd::borrow_raw(orders.process) };
    let mut both = [
        PollFd::from_borrowed_fd(pipe, PollFlags::IN),
        PollFd::from_borrowed_fd(process, PollFlags::IN),
    ];
    // Ends with the process; no signal interrupts it but a stop.
    while rustix::event::poll(&mut both, None) == Err(Errno::INTR) {}
}

/// Rule 1: copies of our sockets would keep them open.
fn close_others(one: c_int, other: c_int) -> bool {
    let (low, high) = if one < other { (one, other) } else { (other, one) };
    let close = |from: c_int, to: c_int| {
        // SAFETY: closes copies in this task's own table.
        from > to || unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) } == 0
    };
    close(0, low - 1) && close(low + 1, high - 1) && close(high + 1, c_int::MAX)
}

/// Keeps no folder busy, and has a name of its own.
fn leave_places() -> bool {
    // SAFETY: a constant path; this task has a working folder of its own.
    unsafe { libc::chdir(c"/".as_ptr()) };
    // SAFETY: a constant name of less than 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"crossdock-keep".as_ptr()) };
    true
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Rule 3. Any other call ends the keeper.
fn give_up_calls() -> bool {
    #[cfg(target_arch = "x86_64")]
    let polls = [libc::SYS_poll, libc::SYS_ppoll];
    #[cfg(not(target_arch = "x86_64"))]
    let polls = [libc::SYS_ppoll, libc::SYS_ppoll];
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let jump = |k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt,
        jf,
        k,
    };
    let answer = |value: u32| statement(libc::BPF_RET | libc::BPF_K, value);
    // Offsets in `seccomp_data`: 4 the architecture, 0 the number of the call.
    let mut program = [
        load(4),
        jump(ARCHITECTURE, 0, 6),
        load(0),
        jump(polls[0] as u32, 5, 0),
        jump(polls[1] as u32, 4, 0),
        jump(libc::SYS_restart_syscall as u32, 3, 0),
        jump(libc::SYS_exit_group as u32, 2, 0),
        jump(libc::SYS_exit as u32, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: of this task only.
    let no_more = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    let filter: *const libc::sock_fprog = &raw const filter;
    // SAFETY: the kernel copies the program, which lives on this stack.
    let filtered =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, filter, 0, 0) };
    ARCHITECTURE != 0 && no_more == 0 && filtered == 0
}

/// As another thread has it at the moment of a fork.
#[cfg(test)]
pub(crate) fn lock_of_process() -> std::sync::MutexGuard<'static, Weak<Keeper>> {
    lock(OF_PROCESS.of_process())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(task: u32) -> Option<String> {
        let status = std::fs::read_to_string(format!("/proc/{task}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("State:"))?;
        Some(line.to_string())
    }

    #[test]
    fn one_keeper_serves_a_process_and_leaves_with_its_last_handle() {
        let keeper = Keeper::of_process().unwrap();
        let again = Keeper::of_process().unwrap();
        assert_eq!(keeper.task(), again.task());
        let task = keeper.task();
        assert!(state(task).is_some());
        let open = std::fs::read_dir(format!("/proc/{task}/fd")).unwrap().count();
        assert_eq!(open, 2, "it holds nothing else open");
        let status = std::fs::read_to_string(format!("/proc/{task}/status")).unwrap();
        assert!(status.contains("Seccomp:\t2"), "{status}");
        drop(keeper);
        assert!(state(task).is_some());
        drop(again);
        assert_eq!(state(task), None);
    }
}
