//! What the kernel tells of processes and threads: processor time, context switches, memory.
//!
//! Everything is read from `/proc`, which the processes do not notice.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Threads of one process that are looked at.
const THREADS_MAX: usize = 4096;

/// A process as the kernel sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessUse {
    /// Whether it stands still: stopped by a signal or by a debugger.
    pub is_stopped: bool,
    /// Bytes of memory that are resident.
    pub resident_bytes: u64,
    /// By thread id.
    pub threads: BTreeMap<u32, ThreadUse>,
}

/// What a thread has used since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUse {
    /// Nanoseconds on a processor.
    pub processor_ns: u64,
    /// Context switches, its own and those forced on it.
    pub switches: u64,
}

impl ProcessUse {
    /// Reads a process from `/proc`; `None` when it is not there or belongs to somebody else.
    pub fn read(pid: u32) -> Option<Self> {
        let folder = Path::new("/proc").join(pid.to_string());
        let status = fs::read_to_string(folder.join("status")).ok()?;
        let mut threads = BTreeMap::new();
        for task in fs::read_dir(folder.join("task")).ok()?.flatten().take(THREADS_MAX) {
            let id = task.file_name().to_str().and_then(|name| name.parse().ok());
            // A thread may end while it is looked at.
            if let Some((id, used)) = id.zip(ThreadUse::read(&task.path())) {
                threads.insert(id, used);
            }
        }
        let state = field(&status, "State:").unwrap_or("");
        Some(Self {
            is_stopped: state.starts_with(['T', 't']),
            resident_bytes: number(field(&status, "VmRSS:")).saturating_mul(1024),
            threads,
        })
    }

    /// All its threads together.
    pub fn total(&self) -> ThreadUse {
        let add = |sum: ThreadUse, one: &ThreadUse| ThreadUse {
            processor_ns: sum.processor_ns.saturating_add(one.processor_ns),
            switches: sum.switches.saturating_add(one.switches),
        };
        self.threads.values().fold(ThreadUse::default(), add)
    }
}

impl ThreadUse {
    fn read(task: &Path) -> Option<Self> {
        let status = fs::read_to_string(task.join("status")).ok()?;
        let switches = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
        let switches = switches.map(|name| number(field(&status, name)));
        // Kernels without scheduler statistics count in ticks, 100 in a second.
        let processor_ns = match fs::read_to_string(task.join("schedstat")) {
            Ok(text) => number(Some(&text)),
            Err(_) => {
                ticks(&fs::read_to_string(task.join("stat")).ok()?).saturating_mul(10_000_000)
            }
        };
        Some(Self { processor_ns, switches: switches[0].saturating_add(switches[1]) })
    }
}

/// The rest of the line that begins with `name`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// The number that a text begins with; 0 without one.
fn number(text: Option<&str>) -> u64 {
    let first = text.and_then(|text| text.split_whitespace().next());
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Ticks in user and kernel mode of a line of `stat`, in which a name stands in parentheses that
/// may hold anything.
fn ticks(stat: &str) -> u64 {
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut words = rest.split_whitespace().skip(11);
    number(words.next()).saturating_add(number(words.next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_with_this_thread_and_what_it_uses() {
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        // The kernel's list of threads may end early if one of them just ends.
        let seen =
            || ProcessUse::read(std::process::id()).filter(|it| it.threads.contains_key(&own));
        let before = std::iter::repeat_with(seen).take(1000).flatten().next().unwrap();
        let mut sum = 0u64;
        while ProcessUse::read(std::process::id()).unwrap().total().processor_ns
            <= before.total().processor_ns
        {
            sum = (0..100_000).fold(sum, |sum: u64, more| sum.wrapping_mul(31).wrapping_add(more));
        }
        assert!(before.resident_bytes > 100_000 && !before.is_stopped, "{sum}");
        assert_eq!(ProcessUse::read(u32::MAX), None);
    }

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_ticks() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4 100 0 0 0 30 12 0 0 20 0 1 0 5 6 7";
        assert_eq!(ticks(stat), 42);
    }
}
